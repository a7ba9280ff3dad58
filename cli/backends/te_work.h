/* SPDX-License-Identifier: Apache-2.0 */
/*
 * te_work.h: one case in hand: its memory on the device, and the library's tensors and settings made for it. The first call that fails
 * writes the message, and those after it do nothing: a sequence is checked once, at its end.
 */
#ifndef FP4_TE_WORK_H
#define FP4_TE_WORK_H

#include "backend.h"
#include "te_library.h"

#define TE_MEMORY_MAX 24
#define TE_OBJECTS_MAX 16

struct te_memory { /* bytes of the device with BACKEND_GUARD_BYTES of poison behind them */
    char name[TENSOR_NAME_MAX];
    uint8_t *device;
    size_t bytes;
};

struct te_work {
    const struct te_library *l;
    const struct fp4_case *c;
    struct case_tensors *t;
    uint8_t poison; /* of this run */
    struct te_memory memory[TE_MEMORY_MAX];
    size_t memories;
    te_tensor tensors[TE_OBJECTS_MAX];
    te_config configs[TE_OBJECTS_MAX];
    size_t tensor_count, config_count;
    bool failed;
    struct fp4_error *err;
};

void te_work_begin(struct te_work *w, const struct te_library *l, const struct fp4_case *c, struct case_tensors *t,
                   struct fp4_error *err);
/* Waits for the device, looks at its errors and at every guard. */
void te_work_synchronize(struct te_work *w);
void te_work_end(struct te_work *w);
int te_fail(struct te_work *w, int error, const char *what);

/* Poisoned memory; from: what to fill it with, or NULL. NULL after a failure. */
void *te_memory(struct te_work *w, const char *name, size_t bytes, const void *from);
/* The tensor name + suffix of the case; NULL when it has none. */
struct tensor *te_case_tensor(const struct te_work *w, const char *name, const char *suffix);
/* The input of that name on the device; NULL when the case has none. */
void *te_input(struct te_work *w, const char *name, const char *suffix);
void te_copy(struct te_work *w, void *to, const void *from, size_t bytes, enum te_copy kind);
/* Brings the output or stage back, marked as written, if somebody wants it. */
void te_output(struct te_work *w, const char *name, const char *suffix, const void *device);

/* Block scales in rows of TE's padded shape, and back. */
size_t te_scales_rows(size_t lines);
size_t te_scales_cols(size_t blocks);
void *te_scales_in(struct te_work *w, const char *name, const uint8_t *dense, size_t lines, size_t blocks);
void te_scales_out(struct te_work *w, const void *device, struct tensor *dense);

te_tensor te_new_tensor(struct te_work *w, enum te_mode mode);
/* One parameter of a tensor: memory of rows x cols elements, or of `cols` elements when rows is 0. Nothing for memory NULL. */
void te_set(struct te_work *w, te_tensor tensor, enum te_param param, void *memory, enum te_dtype dtype, size_t rows, size_t cols);
void te_set_flag(struct te_work *w, te_tensor tensor, enum te_param param);
te_config te_new_config(struct te_work *w);
void te_set_switch(struct te_work *w, te_config config, enum te_attribute attribute, uint8_t value);

enum te_dtype te_dtype_of(enum fp4_dtype dtype); /* f32, f16, bf16 */

#endif

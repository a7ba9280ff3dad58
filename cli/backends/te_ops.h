/* SPDX-License-Identifier: Apache-2.0 */
/* te_ops.h: the calls that each kernel of Transformer Engine needs. */
#ifndef FP4_TE_OPS_H
#define FP4_TE_OPS_H

#include "te_path.h"
#include "te_work.h"

/* Runs the case by these kernels and brings its outputs back. */
void te_run_quantize(struct te_work *w, enum te_path path);
void te_run_hadamard(struct te_work *w, enum te_path path);
void te_run_dequantize(struct te_work *w);
void te_run_swizzle(struct te_work *w, bool back);

/* ---- one call of a quantizer: te_quantize.c ------------------------------------------------------------------------------------------- */

struct te_direction { /* of its output; all NULL and 0 when it is not asked for */
    const char *suffix;
    size_t lines, length;
    void *codes, *scales, *amax;
    bool given; /* the case gives the amax */
};
struct te_call {
    size_t rows, cols; /* of its input */
    te_tensor in, out;
    te_config config;
    struct te_direction row, col;
};

/* Memory, output tensor and settings. row, col: the suffixes of the case's tensors, or NULL. swapped: as the library's columnwise Hadamard
 * kernel has it, whose transposed output stands in the slots of a rowwise one. */
void te_call_begin(struct te_work *w, struct te_call *call, te_tensor in, size_t rows, size_t cols, const char *row,
                   const char *col, bool swapped);
/* Outputs to the host, once the device has finished. */
void te_call_fetch(struct te_work *w, const struct te_call *call);
/* Amaxes that the case does not give, and the quantizer. */
void te_call_quantize(struct te_work *w, const struct te_call *call, enum te_path path);

#endif

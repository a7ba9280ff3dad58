/* SPDX-License-Identifier: Apache-2.0 */
#include "te_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the case ------------------------------------------------------------------------------------------------------------------------------ */

int te_fail(struct te_work *w, int error, const char *what)
{
    if (!w->failed)
        fp4_fail(w->err, FP4_EIO, "CUDA: %s: %s", what, w->l->cuda.error_text(error));
    w->failed = true;
    return -1;
}

static bool failed_for_want_of_places(struct te_work *w, size_t count, size_t most)
{
    if (!w->failed && count == most) {
        fp4_fail(w->err, FP4_EIO, "the case needs more than %zu objects", most);
        w->failed = true;
    }
    return w->failed;
}

void te_work_begin(struct te_work *w, const struct te_library *l, const struct fp4_case *c, struct case_tensors *t,
                   struct fp4_error *err)
{
    size_t i;

    memset(w, 0, sizeof *w);
    w->l = l;
    w->c = c;
    w->t = t;
    w->err = err;
    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_OUTPUT)
            w->poison = backend_poison_of(&t->t[i]);
}

static void check_guard(struct te_work *w, const struct te_memory *m)
{
    uint8_t guard[BACKEND_GUARD_BYTES];
    size_t end = sizeof guard;

    te_copy(w, guard, m->device + m->bytes, sizeof guard, TE_TO_HOST);
    while (!w->failed && end && guard[end - 1] == w->poison)
        end--;
    if (!w->failed && end) {
        fp4_fail(w->err, FP4_EFORMAT, "the library wrote beyond the end of '%s' (%zu bytes), up to %zu past it", m->name, m->bytes,
                 end);
        w->failed = true;
    }
}

void te_work_synchronize(struct te_work *w)
{
    size_t i;
    int error;

    if (w->failed)
        return;
    if ((error = w->l->cuda.last_error()))
        te_fail(w, error, "launch");
    else if ((error = w->l->cuda.synchronize()))
        te_fail(w, error, "kernel");
    for (i = 0; i < w->memories && !w->failed; i++)
        check_guard(w, &w->memory[i]);
}

void te_work_end(struct te_work *w)
{
    size_t i;

    for (i = 0; i < w->tensor_count; i++)
        w->l->api.destroy_tensor(w->tensors[i]);
    for (i = 0; i < w->config_count; i++)
        w->l->api.destroy_config(w->configs[i]);
    for (i = 0; i < w->memories; i++)
        w->l->cuda.release(w->memory[i].device);
}

/* ---- memory --------------------------------------------------------------------------------------------------------------------------------- */

void te_copy(struct te_work *w, void *to, const void *from, size_t bytes, enum te_copy kind)
{
    int error = w->failed || bytes == 0 ? 0 : w->l->cuda.copy(to, from, bytes, (int)kind);

    if (error)
        te_fail(w, error, "copy");
}

void *te_memory(struct te_work *w, const char *name, size_t bytes, const void *from)
{
    struct te_memory *m = &w->memory[w->memories];
    void *device = NULL;
    int error;

    if (failed_for_want_of_places(w, w->memories, TE_MEMORY_MAX))
        return NULL;
    if ((error = w->l->cuda.allocate(&device, bytes + BACKEND_GUARD_BYTES))) {
        te_fail(w, error, "memory for a tensor");
        return NULL;
    }
    snprintf(m->name, sizeof m->name, "%s", name);
    m->device = device;
    m->bytes = bytes;
    w->memories++;
    if ((error = w->l->cuda.fill(device, w->poison, bytes + BACKEND_GUARD_BYTES)))
        te_fail(w, error, "filling memory");
    if (from)
        te_copy(w, device, from, bytes, TE_TO_DEVICE);
    return w->failed ? NULL : device;
}

struct tensor *te_case_tensor(const struct te_work *w, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX];

    snprintf(full, sizeof full, "%s%s", name, suffix);
    return tensor_find(w->t, full);
}

void *te_input(struct te_work *w, const char *name, const char *suffix)
{
    const struct tensor *t = te_case_tensor(w, name, suffix);

    return t ? te_memory(w, t->name, t->bytes, t->data) : NULL;
}

void te_output(struct te_work *w, const char *name, const char *suffix, const void *device)
{
    struct tensor *t = te_case_tensor(w, name, suffix);

    if (!t || !t->data)
        return;
    te_copy(w, t->data, device, t->bytes, TE_TO_HOST);
    t->written = !w->failed;
}

/* ---- block scales --------------------------------------------------------------------------------------------------------------------------- */

size_t te_scales_rows(size_t lines)
{
    return (lines + 127) / 128 * 128;
}

size_t te_scales_cols(size_t blocks)
{
    return (blocks + 3) / 4 * 4;
}

/* Memory of the host in the padded shape; NULL after a failure. */
static uint8_t *padded(struct te_work *w, size_t lines, size_t blocks)
{
    uint8_t *bytes = w->failed ? NULL : malloc(te_scales_rows(lines) * te_scales_cols(blocks));

    if (!bytes && !w->failed) {
        fp4_fail(w->err, FP4_EIO, "out of memory");
        w->failed = true;
    }
    return bytes;
}

void *te_scales_in(struct te_work *w, const char *name, const uint8_t *dense, size_t lines, size_t blocks)
{
    size_t stride = te_scales_cols(blocks), bytes = te_scales_rows(lines) * stride, r;
    uint8_t *rows = padded(w, lines, blocks);
    void *device;

    if (!rows)
        return NULL;
    memset(rows, w->poison, bytes);
    for (r = 0; r < lines; r++)
        memcpy(rows + r * stride, dense + r * blocks, blocks);
    device = te_memory(w, name, bytes, rows);
    free(rows);
    return device;
}

void te_scales_out(struct te_work *w, const void *device, struct tensor *dense)
{
    size_t lines = dense->dims[0], blocks = dense->dims[1], stride = te_scales_cols(blocks), r;
    uint8_t *rows = padded(w, lines, blocks);

    te_copy(w, rows, device, te_scales_rows(lines) * stride, TE_TO_HOST);
    for (r = 0; r < lines && !w->failed; r++)
        memcpy(dense->data + r * blocks, rows + r * stride, blocks);
    dense->written = !w->failed;
    free(rows);
}

/* ---- the library's objects ------------------------------------------------------------------------------------------------------------------ */

te_tensor te_new_tensor(struct te_work *w, enum te_mode mode)
{
    if (failed_for_want_of_places(w, w->tensor_count, TE_OBJECTS_MAX))
        return NULL;
    return w->tensors[w->tensor_count++] = w->l->api.create_tensor((int)mode);
}

void te_set(struct te_work *w, te_tensor tensor, enum te_param param, void *memory, enum te_dtype dtype, size_t rows, size_t cols)
{
    struct te_basic_tensor basic;

    if (w->failed || !memory)
        return;
    memset(&basic, 0, sizeof basic);
    basic.data = memory;
    basic.dtype = (int)dtype;
    basic.shape.ndim = rows ? 2 : 1;
    basic.shape.dims[0] = rows ? rows : cols;
    basic.shape.dims[1] = rows ? cols : 0;
    w->l->api.set_tensor_param(tensor, (int)param, &basic, sizeof basic);
}

void te_set_flag(struct te_work *w, te_tensor tensor, enum te_param param)
{
    const uint8_t on = 1;

    if (!w->failed)
        w->l->api.set_tensor_param(tensor, (int)param, &on, sizeof on);
}

te_config te_new_config(struct te_work *w)
{
    if (failed_for_want_of_places(w, w->config_count, TE_OBJECTS_MAX))
        return NULL;
    return w->configs[w->config_count++] = w->l->api.create_config();
}

void te_set_switch(struct te_work *w, te_config config, enum te_attribute attribute, uint8_t value)
{
    if (!w->failed)
        w->l->api.set_config(config, (int)attribute, &value, sizeof value);
}

enum te_dtype te_dtype_of(enum fp4_dtype dtype)
{
    return dtype == FP4_F32 ? TE_FLOAT32 : dtype == FP4_F16 ? TE_FLOAT16 : TE_BFLOAT16;
}

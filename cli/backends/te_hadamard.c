/* SPDX-License-Identifier: Apache-2.0 */
/* te_hadamard.c: op rht-quantize, by the transform and a quantizer, or by one of the fused kernels. */
#include "te_ops.h"

#include <stdlib.h>
#include <string.h>

/* diag(s) H / 4 in bf16: what the fused kernels take as their matrix. */
static void matrix_of(uint16_t sign_mask, uint16_t matrix[16][16])
{
    unsigned k, n;

    for (k = 0; k < 16; k++)
        for (n = 0; n < 16; n++)
            matrix[k][n] = (uint16_t)(0x3E80 | ((sign_mask >> k & 1) ^ (__builtin_popcount(k & n) & 1)) << 15);
}

/* The stage: the library's bf16, widened. */
static void fetch_transformed(struct te_work *w, const void *device)
{
    struct tensor *t = te_case_tensor(w, "transformed", ".t");
    size_t count = t ? t->bytes / sizeof(float) : 0, i;
    bf16_t *bytes;

    if (!t || !t->data || w->failed)
        return;
    bytes = malloc(count * sizeof *bytes + 1);
    if (!bytes) {
        fp4_fail(w->err, FP4_EIO, "out of memory");
        w->failed = true;
        return;
    }
    te_copy(w, bytes, device, count * sizeof *bytes, TE_TO_HOST);
    for (i = 0; i < count && !w->failed; i++) {
        float wide = bf16_to_f32(bytes[i]);

        memcpy(t->data + i * sizeof wide, &wide, sizeof wide);
    }
    t->written = !w->failed;
    free(bytes);
}

static void run_unfused(struct te_work *w, te_tensor x, enum te_path path)
{
    const struct fp4_case *c = w->c;
    te_tensor y = te_new_tensor(w, TE_PLAIN);
    void *transformed = te_memory(w, "transformed.t", 2 * c->rows * c->cols, NULL);
    bool both = c->knob[KNOB_OUT] == 2;
    struct te_call plain, call;

    te_set(w, y, TE_ROW_DATA, transformed, TE_BFLOAT16, c->cols, c->rows);
    if (!w->failed)
        w->l->api.hadamard(x, y, 0, knob_sign_mask(c->knob[KNOB_SIGNS]), NULL);
    te_call_begin(w, &call, y, c->cols, c->rows, ".t", NULL, false);
    te_call_quantize(w, &call, path);
    if (both) {
        te_call_begin(w, &plain, x, c->rows, c->cols, "", NULL, false);
        te_call_quantize(w, &plain, path);
    }
    te_work_synchronize(w);
    if (both)
        te_call_fetch(w, &plain);
    fetch_transformed(w, transformed);
    te_call_fetch(w, &call);
}

static void fused_amaxes(struct te_work *w, const struct te_call *call)
{
    te_tensor out;

    if (call->col.given)
        return;
    out = te_new_tensor(w, TE_NVFP4);
    te_set(w, out, TE_ROW_AMAX, call->row.amax, TE_FLOAT32, 0, 1);
    te_set(w, out, TE_COL_AMAX, call->col.amax, TE_FLOAT32, 0, 1);
    if (!w->failed)
        w->l->api.hadamard_amax(call->in, out, 0, knob_sign_mask(w->c->knob[KNOB_SIGNS]), NULL);
}

static void run_fused(struct te_work *w, te_tensor x, enum te_path path)
{
    const struct fp4_case *c = w->c;
    te_tensor matrix = te_new_tensor(w, TE_PLAIN), workspace = te_new_tensor(w, TE_PLAIN);
    uint16_t values[16][16];
    struct te_call call;

    matrix_of(knob_sign_mask(c->knob[KNOB_SIGNS]), values);
    te_set(w, matrix, TE_ROW_DATA, te_memory(w, "matrix", sizeof values, values), TE_BFLOAT16, 16, 16);
    te_call_begin(w, &call, x, c->rows, c->cols, c->knob[KNOB_OUT] == 2 ? "" : NULL, ".t", path == TE_PATH_HADAMARD_COL);
    fused_amaxes(w, &call);
    if (path == TE_PATH_HADAMARD_GROUP)
        te_set(w, workspace, TE_ROW_DATA, te_memory(w, "workspace", 256, NULL), TE_BYTE, 0, 256);
    if (!w->failed && path == TE_PATH_HADAMARD_COL)
        w->l->api.hadamard_col(x, call.out, matrix, call.config, NULL);
    else if (!w->failed && path == TE_PATH_HADAMARD_ROWCOL)
        w->l->api.hadamard_rowcol(x, call.out, matrix, call.config, NULL);
    else if (!w->failed)
        w->l->api.hadamard_group(x, &call.out, matrix, &c->rows, 1, call.config, workspace, NULL);
    te_work_synchronize(w);
    te_call_fetch(w, &call);
}

void te_run_hadamard(struct te_work *w, enum te_path path)
{
    te_tensor x = te_new_tensor(w, TE_PLAIN);

    te_set(w, x, TE_ROW_DATA, te_input(w, "x", ""), TE_BFLOAT16, w->c->rows, w->c->cols);
    if (path == TE_PATH_HADAMARD_TUNED || path == TE_PATH_HADAMARD_VECTOR)
        run_unfused(w, x, path);
    else
        run_fused(w, x, path);
}

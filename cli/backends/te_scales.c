/* SPDX-License-Identifier: Apache-2.0 */
/* te_scales.c: ops that take quantized tensors: dequantize, swizzle. */
#include "te_ops.h"

void te_run_dequantize(struct te_work *w)
{
    const struct fp4_case *c = w->c;
    const struct tensor *scales = te_case_tensor(w, "scales", ""), *made = te_case_tensor(w, "dequantized", "");
    te_tensor in = te_new_tensor(w, TE_NVFP4), out = te_new_tensor(w, TE_PLAIN);
    size_t blocks = c->cols / 16;
    bool by_row = c->knob[KNOB_AMAX] == 1, swizzled = c->knob[KNOB_LAYOUT] == 1;
    int bound = (int)knob_bound(c->knob[KNOB_BOUND]);
    void *memory = te_memory(w, made->name, made->bytes, NULL);

    te_set(w, in, TE_ROW_DATA, te_input(w, "codes", ""), TE_FLOAT4E2M1, c->rows, c->cols);
    te_set(w, in, TE_ROW_SCALES, swizzled ? te_input(w, "scales", "") : te_scales_in(w, "scales", scales->data, c->rows, blocks),
           TE_FLOAT8E4M3, te_scales_rows(c->rows), te_scales_cols(blocks));
    te_set(w, in, TE_ROW_AMAX, te_input(w, "amax", ""), TE_FLOAT32, 0, by_row ? c->rows : 1);
    if (swizzled)
        te_set_flag(w, in, TE_SWIZZLED);
    if (by_row)
        te_set_flag(w, in, TE_ROW_SCALED);
    if (!w->failed)
        w->l->api.set_tensor_param(in, TE_BOUND, &bound, sizeof bound);
    te_set(w, out, TE_ROW_DATA, memory, te_dtype_of(c->dtype), c->rows, c->cols);
    if (!w->failed)
        w->l->api.dequantize(in, out, NULL);
    te_work_synchronize(w);
    te_output(w, "dequantized", "", memory);
}

/* The library swizzles the scales of a tensor whose codes it wants to see, but does not read. */
void te_run_swizzle(struct te_work *w, bool back)
{
    const struct fp4_case *c = w->c;
    te_tensor in = te_new_tensor(w, TE_NVFP4), out = te_new_tensor(w, TE_NVFP4);
    size_t rows = te_scales_rows(c->rows), cols = te_scales_cols(c->cols);
    void *codes = te_memory(w, "codes", c->rows * c->cols * 8, NULL), *made = te_memory(w, "made", rows * cols, NULL);
    const struct tensor *dense = te_case_tensor(w, "scales", "");

    te_set(w, in, TE_ROW_DATA, codes, TE_FLOAT4E2M1, c->rows, c->cols * 16);
    te_set(w, out, TE_ROW_DATA, codes, TE_FLOAT4E2M1, c->rows, c->cols * 16);
    te_set(w, in, TE_ROW_SCALES, back ? te_input(w, "swizzled", "") : te_scales_in(w, "scales", dense->data, c->rows, c->cols),
           TE_FLOAT8E4M3, rows, cols);
    te_set(w, out, TE_ROW_SCALES, made, TE_FLOAT8E4M3, rows, cols);
    te_set_flag(w, back ? in : out, TE_SWIZZLED);
    if (!w->failed && back)
        w->l->api.unswizzle(in, out, NULL);
    else if (!w->failed)
        w->l->api.swizzle(in, out, NULL);
    te_work_synchronize(w);
    if (back)
        te_scales_out(w, made, te_case_tensor(w, "scales", ""));
    else
        te_output(w, "swizzled", "", made);
}

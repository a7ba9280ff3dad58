/* SPDX-License-Identifier: Apache-2.0 */
/* linear: equals fp4_linear_forward and fp4_linear_backward, as launches of the other kernels. */
#include "fp4kernels.h"

#include <cstring>
#include <cuda_runtime.h>

/* *with: q with an amax that keeps NaN, computed where none was given. */
static int layer_amax(const struct fp4_quantized *q, const uint16_t *d_x, size_t rows, size_t cols, bool row_scaled,
                      struct fp4_quantized *with, void *stream)
{
    *with = *q;
    if (q->given_amax)
        return 0;
    with->given_amax = q->amax;
    return fp4k_amax(row_scaled ? FP4K_AMAX_ROWS : FP4K_AMAX_TENSOR, d_x, FP4_BF16, rows, cols, true, q->amax, stream);
}

static int product(const struct fp4_linear_params *p, size_t m, size_t n, size_t k, const struct fp4_quantized *a, bool row_scaled,
                   unsigned bound, const struct fp4_quantized *b, const uint16_t *d_bias, uint16_t *d_y, void *stream)
{
    struct fp4_gemm_params g = { FP4_RECIPE_TORCHAO, m, n, k, p->sum, p->divide_factor, FP4_BF16 };
    struct fp4_operand oa = { a->codes, a->scales, a->amax, row_scaled, bound };
    struct fp4_operand ob = { b->codes, b->scales, b->amax, false, p->bound };

    return fp4k_gemm(&g, &oa, &ob, d_bias, d_y, NULL, stream);
}

extern "C" int fp4k_linear_forward(enum fp4k_isa isa, const struct fp4_linear_params *p, const uint16_t *d_x, const uint16_t *d_w,
                                   const uint16_t *d_bias, const struct fp4_linear_tensors *t, uint16_t *d_y, void *stream)
{
    struct fp4_four_params xq = fp4_linear_x_quantizer(p), wq = fp4_linear_w_quantizer(p);
    bool transposes = fp4_backward_mode(p) == FP4_BACKWARD_QUANTIZED;
    struct fp4_quantized x, w, xt = t->xt, wt = t->wt;
    int error = layer_amax(&t->x, d_x, p->m, p->k, p->row_scaled, &x, stream);

    if (error == 0)
        error = layer_amax(&t->w, d_w, p->n, p->k, false, &w, stream);
    if (error)
        return error;
    xt.given_amax = x.given_amax;
    wt.given_amax = w.given_amax;
    error = fp4k_four_over_six(isa, &xq, d_x, &x, transposes ? &xt : NULL, NULL, NULL, stream);
    if (error == 0)
        error = fp4k_four_over_six(isa, &wq, d_w, &w, transposes ? &wt : NULL, NULL, NULL, stream);
    return error ? error : product(p, p->m, p->n, p->k, &x, p->row_scaled, p->bound, &w, d_bias, d_y, stream);
}

static int backward_quantized(enum fp4k_isa isa, const struct fp4_linear_params *p, const uint16_t *d_dy,
                              const struct fp4_linear_tensors *t, uint16_t *d_grad_input, uint16_t *d_grad_weight, void *stream)
{
    struct fp4_quantize_params q;
    struct fp4_quantized row, col = t->dyt;
    int error = layer_amax(&t->dy, d_dy, p->m, p->n, false, &row, stream);

    memset(&q, 0, sizeof q);
    q.recipe = FP4_RECIPE_TORCHAO;
    q.input = FP4_BF16;
    q.rows = p->m;
    q.cols = p->n;
    col.given_amax = row.given_amax;
    if (error == 0)
        error = fp4k_quantize(isa, &q, d_dy, &row, &col, stream);
    if (error == 0 && d_grad_input)
        error = product(p, p->m, p->k, p->n, &row, false, 448, &t->wt, NULL, d_grad_input, stream);
    if (error == 0 && d_grad_weight)
        error = product(p, p->n, p->k, p->m, &col, false, 448, &t->xt, NULL, d_grad_weight, stream);
    return error;
}

/* dx = dy w, dw = dy^T x in bf16. */
static int backward_bf16(const struct fp4_linear_params *p, const uint16_t *d_x, const uint16_t *d_w, const uint16_t *d_dy,
                         uint16_t *d_grad_input, uint16_t *d_grad_weight, void *stream)
{
    int error = 0;

    if (d_grad_input)
        error = fp4k_bf16_matmul(p->m, p->k, p->n, d_dy, false, d_w, false, d_grad_input, stream);
    if (error == 0 && d_grad_weight)
        error = fp4k_bf16_matmul(p->n, p->k, p->m, d_dy, true, d_x, false, d_grad_weight, stream);
    return error;
}

static int values_of(const struct fp4_linear_params *p, const struct fp4_quantized *q, size_t rows, bool row_scaled,
                     uint16_t *d_out, void *stream)
{
    struct fp4_dequantize_params d = { rows, p->k, row_scaled, p->bound, false, FP4_BF16 };

    return fp4k_dequantize(&d, q->codes, q->scales, q->amax, d_out, NULL, stream);
}

extern "C" int fp4k_linear_backward(enum fp4k_isa isa, const struct fp4_linear_params *p, const uint16_t *d_x, const uint16_t *d_w,
                                    const uint16_t *d_dy, const struct fp4_linear_tensors *t, uint16_t *d_grad_input,
                                    uint16_t *d_grad_weight, uint16_t *d_grad_bias, void *stream)
{
    enum fp4_backward mode = fp4_backward_mode(p);
    int error = 0;

    if (mode == FP4_BACKWARD_QUANTIZED) {
        error = backward_quantized(isa, p, d_dy, t, d_grad_input, d_grad_weight, stream);
    } else if (mode == FP4_BACKWARD_DEQUANTIZED) {
        error = values_of(p, &t->x, p->m, p->row_scaled, t->x_values, stream);
        if (error == 0)
            error = values_of(p, &t->w, p->n, false, t->w_values, stream);
        if (error == 0)
            error = backward_bf16(p, t->x_values, t->w_values, d_dy, d_grad_input, d_grad_weight, stream);
    } else {
        error = backward_bf16(p, d_x, d_w, d_dy, d_grad_input, d_grad_weight, stream);
    }
    if (error == 0 && d_grad_bias)
        error = fp4k_bf16_column_sums(d_dy, p->m, p->n, d_grad_bias, stream);
    return error;
}

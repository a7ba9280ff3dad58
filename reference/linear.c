/* SPDX-License-Identifier: Apache-2.0 */
/* The linear layer of the four-over-six recipe, forward and backward (fp4gemm.h). */
#include "fp4arith.h"
#include "fp4ref.h"

/* ---- names and checks ------------------------------------------------------------------------------------------------------------------- */

static const char *const backward_names[] = { "default", "quantized", "high-precision", "dequantized" };

const char *fp4_backward_name(enum fp4_backward backward)
{
    return (unsigned)backward < 4 ? backward_names[backward] : NULL;
}

int fp4_backward_from_name(const char *name)
{
    int i;

    for (i = 0; i < 4; i++)
        if (strcmp(name, backward_names[i]) == 0)
            return i;
    return -1;
}

enum fp4_backward fp4_backward_mode(const struct fp4_linear_params *p)
{
    if (p->backward != FP4_BACKWARD_DEFAULT)
        return p->backward;
    return p->row_scaled ? FP4_BACKWARD_HIGH_PRECISION : FP4_BACKWARD_QUANTIZED;
}

static struct fp4_four_params quantizer(const struct fp4_linear_params *p, size_t rows, bool block_16x16, bool row_scaled)
{
    struct fp4_four_params q;

    memset(&q, 0, sizeof q);
    q.recipe = FP4_RECIPE_TORCHAO;
    q.input = FP4_BF16;
    q.rows = rows;
    q.cols = p->k;
    q.block_16x16 = block_16x16;
    q.row_scaled = row_scaled;
    q.bound = p->bound;
    q.error = p->error;
    q.nan = p->nan;
    return q;
}

struct fp4_four_params fp4_linear_x_quantizer(const struct fp4_linear_params *p)
{
    return quantizer(p, p->m, false, p->row_scaled);
}

struct fp4_four_params fp4_linear_w_quantizer(const struct fp4_linear_params *p)
{
    return quantizer(p, p->n, p->weight_16x16, false);
}

static int check_size(const char *name, size_t size, struct fp4_error *err)
{
    if (size == 0 || size % 128)
        return fp4_fail(err, FP4_EUSAGE, "the layer needs %s to be a multiple of 128, not %zu", name, size);
    return 0;
}

int fp4_linear_check(const struct fp4_linear_params *p, struct fp4_error *err)
{
    struct fp4_four_params x = fp4_linear_x_quantizer(p), w = fp4_linear_w_quantizer(p);

    if (check_size("m", p->m, err) || check_size("k", p->k, err) || check_size("n", p->n, err))
        return -1;
    if (!fp4_backward_name(p->backward))
        return fp4_fail(err, FP4_EUSAGE, "the backward mode is quantized, high-precision or dequantized, not number %d",
                        (int)p->backward);
    if (p->backward == FP4_BACKWARD_QUANTIZED && p->row_scaled)
        return fp4_fail(err, FP4_ESUPPORT, "backward mode quantized has one amax for the activations, not one a row");
    if (fp4_four_check(&x, true, false, err) || fp4_four_check(&w, true, false, err))
        return -1;
    return 0;
}

static int check_buffers(const struct fp4_quantized *q, const char *name, struct fp4_error *err)
{
    if (!q->codes || !q->scales || !q->amax)
        return fp4_fail(err, FP4_EUSAGE, "the layer needs buffers for the codes, scales and amax of %s", name);
    return 0;
}

/* ---- products ------------------------------------------------------------------------------------------------------------------------------- */

static struct fp4_operand operand(const struct fp4_quantized *q, bool row_scaled, unsigned bound)
{
    struct fp4_operand o = { q->codes, q->scales, q->amax, row_scaled, bound };

    return o;
}

static int product(const struct fp4_linear_params *p, size_t m, size_t n, size_t k, struct fp4_operand a, struct fp4_operand b,
                   const uint16_t *bias, uint16_t *y, struct fp4_error *err)
{
    struct fp4_gemm_params g = { FP4_RECIPE_TORCHAO, m, n, k, p->sum, p->divide_factor, FP4_BF16 };

    return fp4_gemm(&g, &a, &b, bias, y, NULL, err);
}

/* NaN is kept in every amax of the layer, whatever the blocks do. */
static void layer_amax(const struct fp4_quantized *q, const void *x, size_t rows, size_t cols, bool row_scaled,
                       struct fp4_quantized *with)
{
    *with = *q;
    if (q->given_amax)
        return;
    if (row_scaled)
        fp4_amax_rows(x, FP4_BF16, rows, cols, true, q->amax);
    else
        fp4_amax(x, FP4_BF16, rows, cols, true, q->amax);
    with->given_amax = q->amax;
}

int fp4_linear_forward(const struct fp4_linear_params *p, const uint16_t *x, const uint16_t *w, const uint16_t *bias,
                       const struct fp4_linear_tensors *t, uint16_t *y, struct fp4_error *err)
{
    struct fp4_four_params xq = fp4_linear_x_quantizer(p), wq = fp4_linear_w_quantizer(p);
    bool transposes = fp4_backward_mode(p) == FP4_BACKWARD_QUANTIZED;
    struct fp4_quantized qx, qw, qxt = t->xt, qwt = t->wt;

    if (fp4_linear_check(p, err) || check_buffers(&t->x, "x", err) || check_buffers(&t->w, "w", err))
        return -1;
    if (transposes && (check_buffers(&t->xt, "x transposed", err) || check_buffers(&t->wt, "w transposed", err)))
        return -1;
    layer_amax(&t->x, x, p->m, p->k, p->row_scaled, &qx);
    layer_amax(&t->w, w, p->n, p->k, false, &qw);
    qxt.given_amax = qx.given_amax;
    qwt.given_amax = qw.given_amax;
    if (fp4_four_over_six(&xq, x, &qx, transposes ? &qxt : NULL, NULL, NULL, err) ||
        fp4_four_over_six(&wq, w, &qw, transposes ? &qwt : NULL, NULL, NULL, err))
        return -1;
    return product(p, p->m, p->n, p->k, operand(&qx, p->row_scaled, p->bound), operand(&qw, false, p->bound), bias, y, err);
}

/* ---- backward --------------------------------------------------------------------------------------------------------------------------------- */

static int backward_quantized(const struct fp4_linear_params *p, const uint16_t *dy, const struct fp4_linear_tensors *t,
                              uint16_t *grad_input, uint16_t *grad_weight, struct fp4_error *err)
{
    struct fp4_quantize_params q;
    struct fp4_quantized row, col = t->dyt;

    if (check_buffers(&t->xt, "x transposed", err) || check_buffers(&t->wt, "w transposed", err) ||
        check_buffers(&t->dy, "the gradient", err) || check_buffers(&t->dyt, "the gradient transposed", err))
        return -1;
    memset(&q, 0, sizeof q);
    q.recipe = FP4_RECIPE_TORCHAO;
    q.input = FP4_BF16;
    q.rows = p->m;
    q.cols = p->n;
    layer_amax(&t->dy, dy, p->m, p->n, false, &row);
    col.given_amax = row.given_amax;
    if (fp4_quantize(&q, dy, &row, &col, err))
        return -1;
    if (grad_input &&
        product(p, p->m, p->k, p->n, operand(&row, false, 448), operand(&t->wt, false, p->bound), NULL, grad_input, err))
        return -1;
    if (grad_weight &&
        product(p, p->n, p->k, p->m, operand(&col, false, 448), operand(&t->xt, false, p->bound), NULL, grad_weight, err))
        return -1;
    return 0;
}

/* dx = dy w, dw = dy^T x in bf16. */
static void backward_bf16(const struct fp4_linear_params *p, const uint16_t *x, const uint16_t *w, const uint16_t *dy,
                          uint16_t *grad_input, uint16_t *grad_weight)
{
    if (grad_input)
        fp4_bf16_matmul(p->m, p->k, p->n, dy, false, w, false, grad_input);
    if (grad_weight)
        fp4_bf16_matmul(p->n, p->k, p->m, dy, true, x, false, grad_weight);
}

static int values_of(const struct fp4_linear_params *p, const struct fp4_quantized *q, size_t rows, bool row_scaled, uint16_t *out,
                     struct fp4_error *err)
{
    struct fp4_dequantize_params d = { rows, p->k, row_scaled, p->bound, false, FP4_BF16 };

    return fp4_dequantize(&d, q->codes, q->scales, q->amax, out, NULL, err);
}

static int backward_dequantized(const struct fp4_linear_params *p, const uint16_t *dy, const struct fp4_linear_tensors *t,
                                uint16_t *grad_input, uint16_t *grad_weight, struct fp4_error *err)
{
    if (check_buffers(&t->x, "x", err) || check_buffers(&t->w, "w", err))
        return -1;
    if (!t->x_values || !t->w_values)
        return fp4_fail(err, FP4_EUSAGE, "backward mode dequantized needs buffers for the values of x and w");
    if (values_of(p, &t->x, p->m, p->row_scaled, t->x_values, err) || values_of(p, &t->w, p->n, false, t->w_values, err))
        return -1;
    backward_bf16(p, t->x_values, t->w_values, dy, grad_input, grad_weight);
    return 0;
}

/* Columns of dy summed. */
static void bias_gradient(const struct fp4_linear_params *p, const uint16_t *dy, uint16_t *grad_bias)
{
    size_t i, j;

    for (j = 0; j < p->n; j++) {
        float acc = 0.0f;

        for (i = 0; i < p->m; i++)
            acc = fp4a_add(acc, fp4a_from_bf16(dy[i * p->n + j]));
        grad_bias[j] = (uint16_t)fp4a_to_bf16(acc);
    }
}

int fp4_linear_backward(const struct fp4_linear_params *p, const uint16_t *x, const uint16_t *w, const uint16_t *dy,
                        const struct fp4_linear_tensors *t, uint16_t *grad_input, uint16_t *grad_weight, uint16_t *grad_bias,
                        struct fp4_error *err)
{
    enum fp4_backward mode = fp4_backward_mode(p);

    if (fp4_linear_check(p, err))
        return -1;
    if (mode == FP4_BACKWARD_HIGH_PRECISION && (!x || !w))
        return fp4_fail(err, FP4_EUSAGE, "backward mode high-precision needs x and w");
    if (mode == FP4_BACKWARD_QUANTIZED && backward_quantized(p, dy, t, grad_input, grad_weight, err))
        return -1;
    if (mode == FP4_BACKWARD_DEQUANTIZED && backward_dequantized(p, dy, t, grad_input, grad_weight, err))
        return -1;
    if (mode == FP4_BACKWARD_HIGH_PRECISION)
        backward_bf16(p, x, w, dy, grad_input, grad_weight);
    if (grad_bias)
        bias_gradient(p, dy, grad_bias);
    return 0;
}

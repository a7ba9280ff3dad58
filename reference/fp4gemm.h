/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4gemm.h: matrix products of quantized operands, and the linear layer of the four-over-six recipe with its three backward modes.
 * Part of the public header: fp4ref.h includes it and explains the conventions. docs/numerics.md, "Products", has the sources.
 *
 * A product of two codes is a multiple of 1/4; the sum over a block of 16 and its product with both scales are exact in binary32. What
 * rounds is the sum over blocks, whose order no hardware manual gives, and the factor at the end. So the order is a parameter here.
 */
#ifndef FP4REF_H
#include "fp4ref.h" /* includes this header, after what it needs */
#elif !defined(FP4GEMM_H)
#define FP4GEMM_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- gemm: y = a b^T ----------------------------------------------------------------------------------------------------------------- */

enum fp4_gemm_sum {
    FP4_GEMM_SEQ,  /* binary32, blocks in ascending order, each addition rounded: Transformer Engine's Python reference */
    FP4_GEMM_EXACT /* one rounding of the exact sum, which 64 bits hold for k up to 2^20 */
};

/* One operand, packed along k: L lines (m for a, n for b). */
struct fp4_operand {
    const uint8_t *codes;  /* [L][k/2] */
    const uint8_t *scales; /* [L][k/16] E4M3 */
    const float *amax;     /* [1], or [L] when row_scaled */
    bool row_scaled;
    unsigned bound; /* 448 or 256: the one it was quantized with; the operands' may differ */
};

/*
 * With acc[i][j] the sum over k of both operands' codes times block scales:
 *   FP4_RECIPE_TE_REF   y = RN(alpha * acc), alpha = RN(RN(amax_a * amax_b) / (36 * bound_a * bound_b)). Amaxes of the line where an
 *                       operand is row-scaled; either or both may be
 *   FP4_RECIPE_TORCHAO  y = RN(RN(g(amax_a) * g(amax_b)) * acc). With a row-scaled: y = RN(RN(RN(c * g(amax_b)) * acc) * amax_a[i]), c the
 *                       binary32 nearest to 1 / (6 * bound_a). b is not row-scaled
 * g(A) = A / (6 * bound) is written with a host number for the divisor, which PyTorch makes RN(A * c) on a GPU and RN(A / (6 * bound)) on
 * a CPU: divide_factor says which. Then y is rounded to bf16 where that is the output, and a bias is added and the sum rounded to the
 * output's type once more.
 */
struct fp4_gemm_params {
    enum fp4_recipe recipe;
    size_t m, n, k; /* k a multiple of 16; recipe te-ref: k of 32 and n of 8 */
    enum fp4_gemm_sum sum;
    bool divide_factor;    /* recipe torchao: g by division (CPU) instead of by multiplication (GPU) */
    enum fp4_dtype output; /* f32 or bf16: of y and bias */
};

/* y: [m][n]. bias: [n] or NULL. acc, a stage: [m][n] or NULL. A NaN scale makes NaN, whatever the codes. */
int fp4_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, const void *bias, void *y,
             float *acc, struct fp4_error *err);

/* What fp4_gemm would say to these parameters; the operands' pointers are not looked at. */
int fp4_gemm_check(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b,
                   struct fp4_error *err);

/* g of the comment above. */
float fp4_gemm_factor(float amax, unsigned bound, bool divide);

/* The plain bf16 product of this library: out[i][j] = bf16 of the binary32 sum of a[i][l] * b[l][j], l ascending from +0, each product
 * and each addition rounded. PyTorch and cuBLAS leave the order open. a is stored [m][k], or [k][m] when a_transposed; b [k][n], or
 * [n][k] when b_transposed; out [m][n]. */
void fp4_bf16_matmul(size_t m, size_t n, size_t k, const uint16_t *a, bool a_transposed, const uint16_t *b, bool b_transposed,
                     uint16_t *out);

/* ---- the linear layer (torchao's four_over_six_mm): y = x w^T + bias ------------------------------------------------------------------ */

enum fp4_backward {
    FP4_BACKWARD_DEFAULT,        /* quantized; high-precision where activations are row-scaled */
    FP4_BACKWARD_QUANTIZED,      /* FP4 products of the gradient, quantized plainly, with x^T and w^T, four-over-six */
    FP4_BACKWARD_HIGH_PRECISION, /* bf16 products with x and w themselves */
    FP4_BACKWARD_DEQUANTIZED     /* bf16 products with what the forward's codes stand for */
};

struct fp4_linear_params {
    size_t m, n, k; /* x [m][k], w [n][k], y and dy [m][n]: multiples of 128 */
    unsigned bound; /* of x and w; gradients have 448 */
    enum fp4_four_error error;
    enum fp4_four_nan nan;
    bool row_scaled;   /* activations: one amax a row of x */
    bool weight_16x16; /* blocks of w; x and gradients have 1x16 */
    enum fp4_backward backward;
    enum fp4_gemm_sum sum;
    bool divide_factor;
};

/*
 * The tensors between the calls, all of the caller. Of each struct fp4_quantized codes, scales and amax are needed where the mode uses
 * it, other stages may be NULL, and given_amax NULL means max |.|, NaN kept.
 *
 *                  forward writes    backward reads                backward writes
 * quantized        x w xt wt         xt wt                         dy dyt
 * high-precision   x w               (x and w of the caller)
 * dequantized      x w               x w                           x_values w_values
 */
struct fp4_linear_tensors {
    struct fp4_quantized x, w;     /* rowwise: [m][k], [n][k] */
    struct fp4_quantized xt, wt;   /* of the transposes: [k][m], [k][n]. Made from x and w, not from their codes */
    struct fp4_quantized dy, dyt;  /* [m][n], [n][m]: nearest, 1x16, bound 448, one amax for both */
    uint16_t *x_values, *w_values; /* [m][k], [n][k] bf16: x and w dequantized */
};

/* The mode with FP4_BACKWARD_DEFAULT resolved. */
enum fp4_backward fp4_backward_mode(const struct fp4_linear_params *p);
/* How the layer quantizes x and w. */
struct fp4_four_params fp4_linear_x_quantizer(const struct fp4_linear_params *p);
struct fp4_four_params fp4_linear_w_quantizer(const struct fp4_linear_params *p);
/* "default", "quantized", "high-precision", "dequantized". NULL and -1 for what is not known. */
const char *fp4_backward_name(enum fp4_backward backward);
int fp4_backward_from_name(const char *name);

/* 0, or -1 and why the parameters make no layer: shapes, the mode, quantized with row-scaled activations, then the quantizer's own. */
int fp4_linear_check(const struct fp4_linear_params *p, struct fp4_error *err);

/* x [m][k], w [n][k], bias [n] or NULL, y [m][n]: all bf16. */
int fp4_linear_forward(const struct fp4_linear_params *p, const uint16_t *x, const uint16_t *w, const uint16_t *bias,
                       const struct fp4_linear_tensors *t, uint16_t *y, struct fp4_error *err);

/* dy [m][n]; grad_input [m][k], grad_weight [n][k], grad_bias [n]: bf16, each may be NULL. x and w are read in mode high-precision alone
 * and may be NULL in the others. grad_bias is the sum over m in binary32, ascending, rounded to bf16 once. */
int fp4_linear_backward(const struct fp4_linear_params *p, const uint16_t *x, const uint16_t *w, const uint16_t *dy,
                        const struct fp4_linear_tensors *t, uint16_t *grad_input, uint16_t *grad_weight, uint16_t *grad_bias,
                        struct fp4_error *err);

#ifdef __cplusplus
}
#endif
#endif

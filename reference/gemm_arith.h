/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_arith.h: the second-level scales of a product, written once for the C reference and the CUDA kernels; private, as block.h. */
#ifndef FP4_GEMM_ARITH_H
#define FP4_GEMM_ARITH_H

#include "fp4arith.h"
#include "fp4ref.h"

/* binary32 of 1 / (6 * bound) */
FP4_FN float gemm_inverse(unsigned bound)
{
    return fp4a_float(bound == 448 ? FP4_INV_2688 : FP4_INV_1536);
}

/* fp4_gemm_factor */
FP4_FN float gemm_factor(float amax, unsigned bound, bool divide)
{
    return fp4a_canonical(divide ? fp4a_div(amax, 6.0f * (float)bound) : fp4a_mul(amax, gemm_inverse(bound)));
}

FP4_FN float gemm_amax(const struct fp4_operand *o, size_t line)
{
    return o->amax[o->row_scaled ? line : 0];
}

/* acc with both second-level scales, in binary32. */
FP4_FN float gemm_scaled(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, size_t i,
                         size_t j, float acc)
{
    float alpha, y;

    if (p->recipe == FP4_RECIPE_TE_REF) {
        alpha = fp4a_div(fp4a_mul(gemm_amax(a, i), gemm_amax(b, j)), 36.0f * (float)a->bound * (float)b->bound);
        return fp4a_mul(alpha, acc);
    }
    alpha = a->row_scaled ? gemm_inverse(a->bound) : gemm_factor(a->amax[0], a->bound, p->divide_factor);
    alpha = fp4a_mul(alpha, gemm_factor(b->amax[0], b->bound, p->divide_factor));
    y = fp4a_mul(alpha, acc);
    return a->row_scaled ? fp4a_mul(y, a->amax[i]) : y;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4divide.h: the quotients by 6, 1536 and 2688 without a division: a product with the rounded reciprocal and one correction by the
 * exact remainder. Equal to the rounded quotient for every one of the 2^32 floats (tests/unit/test_divide.c, `fp4check exhaustive
 * divide`); small numbers, whose quotients are subnormal and can be ties, and numbers that are not finite take the division. C and CUDA
 * compile it, as fp4arith.h.
 */
#ifndef FP4DIVIDE_H
#define FP4DIVIDE_H

#include "fp4arith.h"

/* 1/divisor, rounded, for the three divisors. */
FP4_FN float fp4a_reciprocal_of(uint32_t divisor)
{
    return fp4a_float(divisor == 6 ? FP4_SIXTH : divisor == 1536 ? FP4_INV_1536 : FP4_INV_2688);
}

/* v / divisor, rounded once. reciprocal: fp4a_reciprocal_of the divisor. */
FP4_FN float fp4a_divide_by(float v, float divisor, float reciprocal)
{
    uint32_t a = fp4a_bits(v) & 0x7FFFFFFFu;
    float q;

    if (a - 0x0D800000u > FP4_FLT_MAX - 0x0D800000u) /* below 2^-100, or not finite */
        return a ? fp4a_div(v, divisor) : v;
    q = fp4a_mul(v, reciprocal);
    return fp4a_fma(fp4a_fma(-q, divisor, v), reciprocal, q);
}

#endif

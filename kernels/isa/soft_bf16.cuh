/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soft_bf16.cuh: nearest E2M1 codes of x * e for a bf16 x without an FP4 instruction, from one conversion to binary16.
 *
 * With the product scaled by 2^-14, E2M1's smallest normal number becomes that of binary16, and the code's index is the bits of the magnitude
 * from bit 9 up; cutting to binary16 keeps every comparison with a midpoint between two codes, because the midpoints are binary16 numbers. So
 * adding one at bit 8 rounds, ties away from zero. E2M1 wants 0.25, 1.25, 2.5 and 5 rounded down (their significands are 1 and 1.25), 0.75, 1.75
 * and 3.5 up (1.5 and 1.75).
 *
 * An 8-bit x meets a midpoint for few e only, and for each significand of the midpoints at most one x does. What is left is a property of e
 * (isa_bf16_multiplier):
 *   plain    no x of the lower kind meets its midpoint, or e a little smaller moves that x below it and changes no other code
 *   ties     both kinds meet: then x is 1q or 5q and 3q or 7q, and e is 2^n / q. e a little smaller moves all four just below, and every other
 *            product is further from a midpoint than a step of binary16: adding the index's last bit at bit 0 lifts the odd ones alone
 *   neither  rounded by isa_rn_pair
 */
#ifndef FP4_ISA_SOFT_BF16_CUH
#define FP4_ISA_SOFT_BF16_CUH

#include "common.cuh"

/* Products with a multiplier are for magnitudes below this: (7 - 1/32) * 2^-14. From 7 on the index does not fit; a multiplier a little smaller
 * than e brings a 7 below it, where the ties kind would lift it again. A NaN or Inf in either is none of them. */
#define ISA_BF16_LIMIT 0x1.bep-12f

/* The bf16 significand that can bring a product with significand e, in [1, 2), to a midpoint's, s; |x * e / s - 1| < 2^-20 for no other. */
__device__ __forceinline__ float isa_bf16_meeting(float s, float reciprocal)
{
    return __uint_as_float(isa_cvt_bf16x2(0.0f, fp4a_mul(s, reciprocal)) << 16);
}

/* Whether the multiplier m instead of e, both with significands near 1 and 2, gives every code that e gives. */
__device__ __forceinline__ bool isa_bf16_equal(float e, float m, const float x[4])
{
    return fp4a_mul(x[0], e) > 1.0f == fp4a_mul(x[0], m) >= 1.0f && fp4a_mul(x[1], e) > 1.25f == fp4a_mul(x[1], m) >= 1.25f &&
           fp4a_mul(x[2], e) >= 1.5f == fp4a_mul(x[2], m) >= 1.5f && fp4a_mul(x[3], e) >= 1.75f == fp4a_mul(x[3], m) >= 1.75f;
}

/* Whether a product is within 2^-20 of the midpoint's significand s. */
__device__ __forceinline__ bool isa_bf16_near(float product, float s)
{
    return fabsf(product - s) <= 0x1p-20f;
}

/* e * 2^-14, perhaps a little less (plain); the negative of it, a little less (ties); Inf (neither). e below 2^-100 is not looked at. */
__device__ __forceinline__ float isa_bf16_multiplier(float e)
{
    uint32_t bits = __float_as_uint(e), one = (bits & 0x007FFFFFu) | 0x3F800000u;
    float s = __uint_as_float(one), r = __frcp_rn(s);
    const float x[4] = { isa_bf16_meeting(1.0f, r), isa_bf16_meeting(1.25f, r), isa_bf16_meeting(1.5f, r),
                         isa_bf16_meeting(1.75f, r) };
    const bool near[4] = { isa_bf16_near(fp4a_mul(x[0], s), 1.0f), isa_bf16_near(fp4a_mul(x[1], s), 1.25f),
                           isa_bf16_near(fp4a_mul(x[2], s), 1.5f), isa_bf16_near(fp4a_mul(x[3], s), 1.75f) };

    if (!(e >= 0x1p-100f && e <= fp4a_float(FP4_FLT_MAX)))
        return __uint_as_float(0x7F800000u);
#pragma unroll 1
    for (uint32_t less = 0; less < 4; less++)
        if (isa_bf16_equal(s, __uint_as_float(one - less), x))
            return fp4a_mul(__uint_as_float(bits - less), 0x1p-14f);
    /* what is met goes just below; the last bit of the index lifts it again, so all of it is to be a tie or its neighbour on the wanted side */
    if ((near[0] || near[1]) && (near[2] || near[3]) && !(near[0] && fp4a_mul(x[0], s) > 1.0f) &&
        !(near[1] && fp4a_mul(x[1], s) > 1.25f) && !(near[2] && fp4a_mul(x[2], s) < 1.5f) &&
        !(near[3] && fp4a_mul(x[3], s) < 1.75f))
        return -fp4a_mul(__uint_as_float(bits - 4), 0x1p-14f);
    return __uint_as_float(0x7F800000u);
}

/* The upper bytes of the four halves of two conversions, s000iiix: sign, index, the bit below it. */
__device__ __forceinline__ uint32_t isa_upper_bytes(uint32_t a, uint32_t b)
{
    return __byte_perm(a, b, 0x7531);
}

/* Eight codes from two such words, values 0, 2, 4, 6 in even and 1, 3, 5, 7 in odd: one is added to each iiix. eight is 8, in a register so that
 * the multiplier shifts, which has less to do than the shifter. */
__device__ __forceinline__ uint32_t isa_pack_bytes(uint32_t even, uint32_t odd, uint32_t eight)
{
    uint32_t e = isa_select_bits(0x80808080u, even, even * eight + 0x08080808u);
    uint32_t o = isa_select_bits(0x80808080u, odd, odd * eight + 0x08080808u);

    return isa_select_bits(0xF0F0F0F0u, o, e >> 4);
}

/* Codes of x * e, |x * m| < ISA_BF16_LIMIT. TIES: m may be of that kind, and odd is 02000200 where it is, else 0: the last bits of the indices. */
template <bool TIES> __device__ __forceinline__ uint32_t isa_mul_rn_bf16x8(const float x[8], float m, uint32_t odd)
{
    uint32_t h[4];

    m = fabsf(m);
#pragma unroll
    for (int i = 0; i < 4; i++) { /* 0, 2; 1, 3; 4, 6; 5, 7 */
        h[i] = isa_cvt_rz_f16x2(fp4a_mul(x[i / 2 * 4 + i % 2 + 2], m), fp4a_mul(x[i / 2 * 4 + i % 2], m));
        if (TIES)
            h[i] += (h[i] & odd) >> 9;
    }
    return isa_pack_bytes(isa_upper_bytes(h[0], h[2]), isa_upper_bytes(h[1], h[3]), isa_unknown.eight);
}

__device__ __forceinline__ uint32_t isa_bf16_odd(float m)
{
    return m < 0.0f ? 0x02000200u : 0u;
}

#endif

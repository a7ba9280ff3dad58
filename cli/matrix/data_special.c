/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros, extremes, NaN and Inf. */
#include "data_make.h"

#define INF_BITS 0x7F800000u

uint32_t value_zeros(const struct maker *m, size_t r, size_t c)
{
    (void)m;
    (void)r;
    (void)c;
    return 0;
}

uint32_t value_negzero(const struct maker *m, size_t r, size_t c)
{
    (void)m;
    (void)r;
    (void)c;
    return 0x80000000u;
}

/* Field report 46: everything that rounds to a zero, of both signs, beside a block maximum that makes the scale 1. */
uint32_t value_signedzero(const struct maker *m, size_t r, size_t c)
{
    static const float values[8] = { -0.0f, 0.0f, -0x1p-14f, 0x1p-14f, -0.2f, 0.2f, -0.25f, 0.25f };
    struct spot s = spot_of(m, r, c);

    if (s.top)
        return fp4_f32_bits(s.anchor ? 2688.0f : 6.0f);
    return fp4_f32_bits(values[(s.at + s.block) % 8] * (s.anchor ? 448.0f : 1.0f));
}

/* Field report 35: zero blocks where the tensor's amax is 1, and where it is 6. Every second block is zero, every eighth mixes the two
 * zeros. */
uint32_t value_zeroblocks(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);

    if (s.anchor && s.top)
        return fp4_f32_bits(m->c->seed % 2 ? 6.0f : 1.0f);
    if (s.block % 8 == 3)
        return (uint32_t)(element_bits(m, r, c, 0) >> 63) << 31;
    if (s.block % 2)
        return 0;
    return fp4_f32_bits(element_normal(m, r, c) * 0x1p-4f);
}

uint32_t value_constant(const struct maker *m, size_t r, size_t c)
{
    static const float values[4] = { 1.0f, 2.5f, -3.0f, 35.0f };

    (void)r;
    (void)c;
    return fp4_f32_bits(values[m->c->seed % 4]);
}

/* The two lowest exponents of the type: subnormals and the smallest normal numbers. */
uint32_t value_subnormal(const struct maker *m, size_t r, size_t c)
{
    uint64_t z = element_bits(m, r, c, 0);
    uint32_t sign = (uint32_t)(z >> 63);

    if (m->dtype == FP4_F16) {
        f16_t h = { (uint16_t)(sign << 15 | (uint32_t)(z & 0x7FF)) };

        return fp4_f32_bits(f16_to_f32(h));
    }
    if (m->dtype == FP4_BF16)
        return sign << 31 | (uint32_t)(z & 0xFF) << 16;
    return sign << 31 | (uint32_t)(z & 0xFFFFFF);
}

/* Field reports 38, 39: amaxes on both sides of where 2688/amax overflows (bits 05280000, TE 2.1), and subnormal ones. */
uint32_t value_tiny(const struct maker *m, size_t r, size_t c)
{
    static const float amaxes[6] = { 7.89e-36f, 7.91e-36f, 1e-38f, 1e-40f, 0x1.5p-117f, 0x1.52p-117f };
    float amax = amaxes[m->c->seed % 6], sixteenths;
    struct spot s = spot_of(m, r, c);
    uint64_t z = element_bits(m, r, c, 0);

    if (s.anchor && s.top)
        return fp4_f32_bits(amax);
    if (s.block % 5 == 4)
        return (uint32_t)(z >> 63) << 31;
    sixteenths = (float)(z % 16) * 0x1p-4f;
    return fp4_f32_bits(amax * (z >> 63 ? -sixteenths : sixteenths));
}

uint32_t value_huge(const struct maker *m, size_t r, size_t c)
{
    return fp4_f32_bits(element_normal(m, r, c) * pow2f(m->dtype == FP4_F16 ? 12 : 120));
}

/* The largest finite number of the type, once in 64 elements, among numbers of all sizes below it. */
uint32_t value_dtypemax(const struct maker *m, size_t r, size_t c)
{
    uint64_t z = element_bits(m, r, c, 0);
    uint32_t sign = (uint32_t)(z >> 63) << 31;
    uint32_t top = m->dtype == FP4_F32 ? 0x7F7FFFFFu : m->dtype == FP4_BF16 ? 0x7F7F0000u : 0x477FE000u;

    if (z % 64 == 0 || (r == 0 && c == 0))
        return sign | top;
    return fp4_f32_bits(element_normal(m, r, c) * pow2f((m->dtype == FP4_F16 ? 11 : 122) - (int)(z >> 32 & 15)));
}

/* ---- NaN and Inf: eight kinds of block go round ------------------------------------------------------------------------------------------ */

static uint32_t nan_bits(uint64_t z)
{
    static const uint32_t nans[8] = { 0x7FC00000u, 0xFFC00000u, 0x7FFFFFFFu, 0x7F800001u,
                                      0xFF800001u, 0xFFBFFFFFu, 0x7FA50000u, 0xFFE10000u };

    return nans[z % 8];
}

static uint32_t ordinary(const struct maker *m, size_t r, size_t c)
{
    return fp4_f32_bits(element_normal(m, r, c));
}

uint32_t value_inf(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    unsigned kind = (unsigned)(s.block % 4), at = (unsigned)(s.block / 4 % 16);

    if (kind == 1 && s.at == at)
        return INF_BITS;
    if (kind == 2 && s.at == at)
        return INF_BITS | 0x80000000u;
    if (kind == 3 && (s.at == at || s.at == (at + 5) % 16))
        return INF_BITS | (s.at == at ? 0x80000000u : 0);
    return ordinary(m, r, c);
}

/* One NaN among ordinary values, a block of NaNs, negative and signalling ones, zeros beside a NaN. */
uint32_t value_nan(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    unsigned kind = (unsigned)(s.block % 6), at = (unsigned)(s.block / 6 % 16);
    uint64_t z = element_bits(m, r, c, 0);

    if ((kind == 1 || kind == 4) && s.at == at)
        return nan_bits(s.block / 6);
    if (kind == 4)
        return (uint32_t)(z >> 63) << 31;
    if (kind == 2)
        return nan_bits(z);
    if (kind == 3 && z % 4 == 0)
        return nan_bits(z >> 8);
    return ordinary(m, r, c);
}

uint32_t value_naninf(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    uint64_t z = element_bits(m, r, c, 0);

    if (s.block % 3 == 0)
        return value_nan(m, r, c);
    if (s.block % 3 == 1)
        return value_inf(m, r, c);
    if (z % 8 == 0)
        return nan_bits(z >> 8);
    return z % 8 == 1 ? INF_BITS | (uint32_t)(z >> 63) << 31 : ordinary(m, r, c);
}

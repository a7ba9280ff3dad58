/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constructions for the transform: groups of 16 tokens of one feature. With s the signs, the sums are t[n] = sum over k of
 * s[k] * H[k][n] * x[k] / 4, so one value v in a group gives 16 sums of magnitude |v| / 4, and two values a and b give sums of
 * magnitude |a + b| / 4 and |a - b| / 4, eight each: that is how sums are put on a rounding boundary.
 */
#include "data_make.h"

/* The places of the two values; all pairs of different places come round. */
static void pair_of(const struct spot *s, unsigned *first, unsigned *second)
{
    *first = (unsigned)(s->block % 16);
    *second = (unsigned)((s->block + 1 + s->block / 16 % 15) % 16);
}

/* RHT 4.4, the inputs of its known answers. */
uint32_t value_rht_kat(const struct maker *m, size_t r, size_t c)
{
    static const uint16_t cancel[3] = { 0x3f80, 0x3f80, 0xb200 };
    static const uint16_t cut[16] = { 0x3f81, 0xbf93, 0x3bd5, 0x3a6b, 0xb4f7, 0x3f21, 0xbe7d, 0x3c03,
                                      0xb777, 0x3d59, 0xbf6f, 0x3eab, 0x33ff, 0xb901, 0x3f55, 0xbdcd };
    struct spot s = spot_of(m, r, c);

    switch (s.block % 5) {
    case 0:
        return fp4_f32_bits(1.0f);
    case 1:
        return fp4_f32_bits((float)(s.at + 1));
    case 2:
        return fp4_f32_bits(s.at == 3 ? 1.0f : 0.0f);
    case 3:
        return s.at < 3 ? (uint32_t)cancel[s.at] << 16 : 0;
    default:
        return (uint32_t)cut[s.at] << 16;
    }
}

static uint32_t spread_value(const struct maker *m, size_t r, size_t c, unsigned spread)
{
    struct spot s = spot_of(m, r, c);
    uint64_t z = element_bits(m, r, c, 0);
    unsigned width = spread + (unsigned)(block_bits(m, s.block) % 8);
    int e = s.at == s.block % 16 ? 0 : s.at == (s.block + 7) % 16 ? -(int)width : -(int)((z >> 32) % (width + 1));
    float v = (float)(128 + (z & 127)) * pow2f(e - 7);

    return fp4_f32_bits(z >> 63 ? -v : v);
}

/* RHT 4.2, class cut: exponents 19 to 26 apart, so that products lose bits in the tensor core. */
uint32_t value_rht_cut(const struct maker *m, size_t r, size_t c)
{
    return spread_value(m, r, c, 19);
}

/* Class aligned (and cut, for the widest): exponents 11 to 18 apart. */
uint32_t value_rht_aligned(const struct maker *m, size_t r, size_t c)
{
    return spread_value(m, r, c, 11);
}

/* Sums of magnitude 6 * s and mid * s: scale s, scaled values 6 and mid. a = 2 * (6 + mid) * s has at most 5 significant bits. */
static uint32_t two_values(const struct spot *s, float mid, float scale, int ulps)
{
    unsigned first, second;

    pair_of(s, &first, &second);
    if (s->at == first)
        return fp4_f32_bits(2.0f * (6.0f + mid) * scale);
    if (s->at == second)
        return fp4_f32_bits(step_ulp(2.0f * (6.0f - mid) * scale, FP4_BF16, ulps));
    return 0;
}

/* The anchor's sums are all 2688 in magnitude, so the global scale of the transformed output is 1. */
static uint32_t anchor_value(const struct spot *s, float amax)
{
    return fp4_f32_bits(s->at == 5 ? 4.0f * amax : 0.0f);
}

uint32_t value_rht_ties(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);

    if (s.anchor)
        return anchor_value(&s, 2688.0f);
    return two_values(&s, e2m1_midpoints[s.block % 7], pow2f((int)(s.block / 7 % 18) - 9), (int)(s.block / 126 % 3) - 1);
}

/* Half of the codes are the random bits themselves: a stream's mapping can be read off (RHT 5.3). */
uint32_t value_rht_midpoint(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);

    if (s.anchor)
        return anchor_value(&s, 2688.0f);
    return two_values(&s, 2.5f, 1.0f, 0);
}

/* Amaxes 1.5, 3, 6, 500, 12, 0.75 (RHT 5.3) with group maxima on E4M3 midpoints and on 0.75 * amax * 2^-j (RHT 2.3). */
uint32_t value_rht_scale_ties(const struct maker *m, size_t r, size_t c)
{
    static const float amaxes[6] = { 1.5f, 3.0f, 6.0f, 500.0f, 12.0f, 0.75f };
    struct spot s = spot_of(m, r, c);
    float amax = amaxes[m->c->seed % 6], factor, v;

    if (s.anchor)
        return anchor_value(&s, amax);
    if (s.at != s.block % 16)
        return 0;
    if (s.block % 4 == 3)
        return fp4_f32_bits(4.0f * 0.75f * amax * pow2f(-(int)(s.block / 4 % 12)));
    factor = fp4_global_scale(FP4_RECIPE_TE, amax, 448) * fp4_f32_from_bits(0x3E2AAAABu);
    v = step_ulp(e4m3_midpoint((unsigned)(s.block % 126)) / factor, FP4_BF16, (int)(s.block / 126 % 3) - 1);
    return fp4_f32_bits(4.0f * v);
}

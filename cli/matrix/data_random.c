/* SPDX-License-Identifier: Apache-2.0 */
/* Random constructions. Each value is made of integers and scaled exactly. */
#include "data_make.h"

static bool is_converter(const struct maker *m)
{
    return m->c->op <= OP_SR_BF16X8;
}

uint32_t value_normal(const struct maker *m, size_t r, size_t c)
{
    float scale = is_converter(m) ? 2.0f : 1.0f; /* so that every E2M1 cell is met */

    return fp4_f32_bits(element_normal(m, r, c) * scale);
}

/* [-1, 1) in steps of 2^-23; [-8, 8) for the converters. */
uint32_t value_uniform(const struct maker *m, size_t r, size_t c)
{
    int n = (int)(element_bits(m, r, c, 0) >> 40) - (1 << 23);

    return fp4_f32_bits((float)n * (is_converter(m) ? 0x1p-20f : 0x1p-23f));
}

/* Normal times 2^k, k geometric: half of the values k = 0, a quarter 1, ... at most 10. */
uint32_t value_heavy(const struct maker *m, size_t r, size_t c)
{
    uint64_t z = element_bits(m, r, c, 0) | 1u << 10;
    int k = 0;

    for (; !(z & 1); z >>= 1)
        k++;
    return fp4_f32_bits(element_normal(m, r, c) * pow2f(k));
}

/* Eight significant bits, ten binades: numbers that bf16 (and f16) hold exactly. Differently ordered scale formulas part here. */
uint32_t value_grid(const struct maker *m, size_t r, size_t c)
{
    uint64_t z = element_bits(m, r, c, 0);
    float v = (float)(128 + (z & 127)) * pow2f(-7 - (int)((z >> 8) % 10));

    return fp4_f32_bits(z >> 63 ? -v : v);
}

uint32_t value_outliers(const struct maker *m, size_t r, size_t c)
{
    uint64_t z = element_bits(m, r, c, 0);
    float v;

    if (z % 256)
        return fp4_f32_bits(element_normal(m, r, c) * 0x1p-4f);
    v = 100.0f * (float)(8 + (z >> 8) % 8) * 0.125f;
    return fp4_f32_bits(z >> 63 ? -v : v);
}

/* One power of two for each block, over 25 binades: every block scale from zero and the subnormal ones to 448 is met. */
uint32_t value_bands(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    int e = (int)(block_bits(m, s.block) % 25);

    return fp4_f32_bits(element_normal(m, r, c) * pow2f(m->dtype == FP4_F16 ? e / 2 - 8 : e - 16));
}

/* Every exponent of the type alike, subnormals included. The top ones are left out, so that a sum of 16 stays finite. */
uint32_t value_spread(const struct maker *m, size_t r, size_t c)
{
    uint64_t z = element_bits(m, r, c, 0);
    uint32_t sign = (uint32_t)(z >> 63);

    if (m->dtype == FP4_F16) {
        f16_t h = { (uint16_t)(sign << 15 | (uint32_t)((z >> 32) % 31) << 10 | (uint32_t)(z & 0x3FF)) };

        return fp4_f32_bits(f16_to_f32(h));
    }
    return sign << 31 | (uint32_t)((z >> 32) % 249) << 23 | (uint32_t)(z & 0x7FFFFF);
}

/* Pairs along the block that cancel, wholly or all but one unit in the last place; the last pair is tiny, so that the residue of a group
 * is what is left of the large ones. */
uint32_t value_cancel(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    uint64_t z = mix64(m->c->seed, m->stream, s.block * 128 + s.at / 2);
    float v = round_to((float)(128 + (z & 127)) * pow2f(-7 - (int)((z >> 8) % 3)), m->dtype);

    if (s.at % 16 >= 14)
        v = v * (m->dtype == FP4_F16 ? 0x1p-12f : 0x1p-27f);
    if (z >> 62 & 1)
        v = -v;
    if (s.at % 2 == 0)
        return fp4_f32_bits(v);
    return fp4_f32_bits(z >> 63 ? step_ulp(-v, m->dtype, 1) : -v);
}

/* One value a block, its place going round: through a transform it prints the matrix row by row. */
uint32_t value_impulses(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    uint64_t z = block_bits(m, s.block);
    float v = (float)(8 + (z & 7)) * pow2f((int)(z >> 8 & 7) - 6);

    if (s.at != s.block % s.size)
        return 0;
    return fp4_f32_bits(z >> 63 ? -v : v);
}

/* What dequantizing gives: code * scale * global, in TE's order (TE 7). Requantising it meets scales and codes that are nearly exact. */
uint32_t value_requantised(const struct maker *m, size_t r, size_t c)
{
    static const float amaxes[] = { 35.0f, 2688.0f, 3.0f, 7.25f, 0.75f, 1000.0f, 1.0f, 50.0f };
    struct spot s = spot_of(m, r, c);
    uint64_t z = element_bits(m, r, c, 0);
    e4m3_t scale = { (uint8_t)(s.anchor ? 0x7E : 0x10 + block_bits(m, s.block) % 0x6F) };
    e2m1_t code = { (uint8_t)(s.top ? 7 | (z & 8) : z & 15) };
    float f = (e4m3_to_f32(scale) * amaxes[m->c->seed % 8]) * fp4_f32_from_bits(0x39C30C31u);

    return fp4_f32_bits(e2m1_to_f32(code) * f);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tie-directed constructions: values that come to lie on a rounding boundary of E2M1 or E4M3 after the real chain of scales.
 *
 * The block that carries the tensor's amax (the anchor) holds 2688 * 2^k, which makes the global scale exactly 2^-k; a block whose
 * largest element is 6 * s * 2^k then gets the scale byte of s, and an element mid * s * 2^k is scaled to mid, exactly where s is a
 * power of two and within a unit in the last place elsewhere. The "any" constructions start from amaxes that are no such numbers and
 * divide by the factor of the chain instead: single IEEE operations, so the same everywhere.
 */
#include "data_make.h"

#include <assert.h>
#include <string.h>

#define ANCHOR_SCALE 448.0f

/* The global scale is 2^-k: 1, 2, 256 and 1/8 by seed. Exact for f16 too: 2688 * 8 is below its largest number. */
static float seed_unit(const struct maker *m)
{
    static const int k[4] = { 0, -1, -8, 3 };

    return pow2f(k[m->c->seed % 4]);
}

struct tie {
    float mid;
    int ulps;
    float sign;
};

/* All 42 of 7 midpoints, -1..1 ulp and two signs, in an order that t runs through. */
static struct tie tie_of(size_t t)
{
    struct tie tie;

    tie.mid = e2m1_midpoints[t % 7];
    tie.ulps = (int)(t / 7 % 3) - 1;
    tie.sign = t / 21 % 2 ? -1.0f : 1.0f;
    return tie;
}

/* Scale bytes 01..7E go round; each time round the ties of a block go on where they stopped, so that three rounds show every tie with
 * every scale. */
uint32_t value_ties(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    e4m3_t scale = { (uint8_t)(s.anchor ? 0x7E : 1 + s.block % 126) };
    float unit = e4m3_to_f32(scale) * seed_unit(m);
    struct tie tie;

    if (s.top)
        return fp4_f32_bits(s.block % 2 ? -6.0f * unit : 6.0f * unit);
    tie = tie_of((s.size - 1) * (s.block / 126) + s.at - 1 + m->c->seed / 4);
    return fp4_f32_bits(step_ulp(tie.sign * tie.mid * unit, m->dtype, tie.ulps));
}

/* Amaxes with awkward quotients: 35 (field report 27), 1.5 * 2^k (SR 5.4 A13), and others. */
static float seed_amax(const struct maker *m)
{
    static const float amaxes[10] = { 35.0f, 1.5f, 3.0f, 50.0f, 500.0f, 6.0f, 0.75f, 7.0f, 12.0f, 1000.0f };

    return amaxes[m->c->seed % 10];
}

/* A number with 8 significant bits between amax / 2048 and amax. */
static float block_amax_below(const struct maker *m, size_t block, float amax)
{
    uint64_t z = block_bits(m, block);
    float b = amax * pow2f(-1 - (int)(z >> 8 & 7)) * (float)(128 + (z & 127)) * 0x1p-7f;

    return round_to(b, FP4_BF16);
}

uint32_t value_ties_any(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    float amax = seed_amax(m), top = s.anchor ? amax : block_amax_below(m, s.block, amax), x;
    struct tie tie = tie_of(s.at + s.block * 5);
    uint8_t scale;
    float factor;

    if (s.top)
        return fp4_f32_bits(top);
    factor = chain_factor(amax, top, &scale);
    if (scale == 0)
        return 0;
    x = step_ulp(tie.mid / factor, m->dtype, tie.ulps);
    if (x >= top) /* the scale was rounded up so far that this midpoint lies above the maximum */
        x = step_ulp(e2m1_midpoints[0] / factor, m->dtype, tie.ulps);
    return fp4_f32_bits(tie.sign * x);
}

/* Elements below a block maximum: fifteenths of it, both signs. */
static uint32_t below(const struct maker *m, size_t r, size_t c, float top)
{
    uint64_t z = element_bits(m, r, c, 0);
    float x = top * (float)(z % 15) * 0x1p-4f;

    return fp4_f32_bits(z >> 63 ? -x : x);
}

/* Block maxima on the 126 midpoints between E4M3 codes, and up to two units in the last place beside them (two, because one f32 unit of
 * the maximum can vanish in the product with 1/6). */
uint32_t value_scale_ties(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    float unit = seed_unit(m), top;

    if (s.anchor)
        top = 6.0f * ANCHOR_SCALE * unit;
    else
        top = step_ulp(6.0f * e4m3_midpoint((unsigned)(s.block % 126)) * unit, m->dtype, (int)(s.block / 126 % 5) - 2);
    if (s.top)
        return fp4_f32_bits(s.block % 2 ? -top : top);
    return below(m, r, c, top);
}

/* The same for awkward amaxes; every fourth block is one of 0.75 * amax * 2^-j, where S/6 and S * fl(1/6) part (SR 5.4 A13). */
uint32_t value_scale_ties_any(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    float amax = seed_amax(m), top;

    if (s.anchor) {
        top = amax;
    } else if (s.block % 4 == 3) {
        top = 0.75f * amax * pow2f(-(int)(s.block / 4 % 12));
    } else {
        float factor = fp4_global_scale(FP4_RECIPE_TE, amax, 448) * fp4_f32_from_bits(0x3E2AAAABu);

        top = step_ulp(e4m3_midpoint((unsigned)(s.block % 126)) / factor, m->dtype, (int)(s.block / 126 % 5) - 2);
    }
    if (s.top)
        return fp4_f32_bits(top);
    return below(m, r, c, top);
}

/* ---- scale 1: the scaled value is the element ------------------------------------------------------------------------------------------- */

static uint32_t unit_value(const struct spot *s, float v)
{
    float unit = s->anchor ? ANCHOR_SCALE : 1.0f;

    return fp4_f32_bits(s->top ? 6.0f * unit : v * unit);
}

/* Exact code values: no rounding may move them, whatever the random bits (field report 62). */
uint32_t value_codes(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    e2m1_t code = { (uint8_t)(element_bits(m, r, c, 0) & 15) };

    return unit_value(&s, e2m1_to_f32(code));
}

/* Field report 60: one midpoint everywhere, so that the codes are the random bits. */
uint32_t value_midpoint(const struct maker *m, size_t r, size_t c)
{
    static const float mids[4] = { 2.5f, 0.25f, 5.0f, -1.75f };
    struct spot s = spot_of(m, r, c);

    return unit_value(&s, mids[m->c->seed % 4]);
}

static const float cell_low[7] = { 0, 0.5f, 1, 1.5f, 2, 3, 4 };
static const float cell_step[7] = { 0.5f, 0.5f, 0.5f, 0.5f, 1, 1, 2 };

/* Field report 61: quarter points of every cell. */
uint32_t value_quarters(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    size_t t = (s.size - 1) * s.block + s.at;
    float v = cell_low[t % 7] + cell_step[t % 7] * (float)(t / 7 % 3 + 1) * 0.25f;

    return unit_value(&s, t / 21 % 2 ? -v : v);
}

/* Field report 62: n/256 of every cell, n = 0..255. */
uint32_t value_fractions(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    size_t t = (s.size - 1) * s.block + s.at;
    float v = cell_low[t % 7] + cell_step[t % 7] * (float)(t / 7 % 256) * 0x1p-8f;

    return unit_value(&s, t / 1792 % 2 ? -v : v);
}

/* Field report 4: the scale byte of block (i, j) is 1 + (i * blocks + j) mod 125, so every scale names its place. */
uint32_t value_coords(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    e4m3_t scale = { (uint8_t)(s.anchor ? 0x7E : 1 + s.block % 125) };
    e2m1_t code = { (uint8_t)(s.top ? 7 : (s.at + s.block) & 15) };

    return fp4_f32_bits(e2m1_to_f32(code) * e4m3_to_f32(scale));
}

/* ---- lists of blocks ---------------------------------------------------------------------------------------------------------------------- */

struct block {
    float v[16];
};

#define A2688       \
    {               \
        {           \
            2688.0f \
        }           \
    } /* makes the global scale 1 */

/* Field reports 1, 2, 3, 22, 44, 49: all codes in order; all sixes; codes that differ within a word (64). */
static const struct block codes_blocks[] = {
    A2688,
    { { 0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6 } },
    { { 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6 } },
    { { 6, .5f, -4, 1, -3, 1.5f, 2, -6, 3, -2, 4, -1.5f, 0, -1, -.5f, 6 } },
};

/* 12: block amax 6.2, 6.7, 1.0 and all ones tell nearest, up and toward zero apart. 24: 1.8131605 as scale. */
static const struct block scale_rule_blocks[] = {
    A2688,
    { { 6.2f, -3.1f, 1.55f, .775f } },
    { { 6.7f, -3.35f, 1.675f, .8375f } },
    { { 1, -1, 1, -1, .5f, -.5f, .25f, -.25f } },
    { { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { { 10.878963f, -5.4394815f, 1, -1 } },
    { { -10.878963f, 2, -4, 8 } },
};

/* 13, 27: amax 35; maxima 21.25 and 3.90625, where the order of amax, 6 and S decides the byte. */
static const struct block division_blocks[] = {
    { { 35 } },
    { { 21.25f, -10.625f, 5.3125f, 17.75f } },
    { { 3.90625f, -1.953125f, .9765625f, 3.25f } },
    { { -21.25f, 21.125f, -21, 0 } },
    { { -3.90625f, 3.890625f, -3.875f, 0 } },
};

/* 18: maxima that bf16 rounding lifts over a threshold (f32). */
static const struct block amax_bf16_blocks[] = {
    A2688,
    { { 6.376f, -3.188f, 1.594f } },
    { { 0x1.FFCp+1f, 1, -2, 3 } },
    { { 0x1.FFCp-3f, .125f, -.0625f } },
    { { 0x1.FFCp+6f, 64, -32, 16 } },
    { { -6.376f, 6.25f, 6.375f } },
};

/* 21, 25: double rounding. Scale 1.0626220703125 through fp16; elements 0.250244 and 2.501953125 through bf16; 20: just above a tie. */
static const struct block double_blocks[] = {
    A2688,
    { { 6.375732421875f, 1, -1, 2 } },
    { { 6, 0x1.004p-2f, -0x1.004p-2f, 2.501953125f, -2.501953125f, 0x1.000002p-2f, 0x1.FFFFFEp-3f, 5.0009765625f } },
    { { 6, 1.25048828125f, -1.25048828125f, 1.2495117f, 1.75048828125f, 3.50048828125f, -.75048828125f, .7495117f } },
};

/* 23, 41: a tie, half the smallest E4M3 number and the smallest, -0, beyond the largest, as elements and as block maxima. */
static const struct block profile_blocks[] = {
    A2688,
    { { 6, .25f, .125f, -0.0f, 7, -7, .5f, .5625f } },
    { { 6.375f, 1 } },
    { { 6 * 0x1p-10f, 0x1p-12f } },
    { { 6 * 0x1p-9f, 0x1p-10f, -0x1p-11f } },
    { { -0.0f, 0, -0.0f, 0 } },
    { { 2688, 2304, -1904, 1120 } },
};

/* 26: scale byte 07 and values where x / s and x * fl(1 / s) part. */
static const struct block reciprocal_blocks[] = {
    A2688,
    { { 0x1.5p-4f, 0x1.87FFFEp-6f, -0x1.87FFFEp-6f, 0x1.88p-6f, 0x1.880002p-6f, 0x1.17FFFEp-6f, 0x1.18p-6f, 0x1.5p-7f } },
    { { 0x1.2p-4f, 0x1.4FFFFEp-6f, -0x1.5p-6f, 0x1.500002p-6f, 0x1.DFFFFEp-7f, 0x1.Ep-7f } },
};

/* 36, 37, 38: zero block, the tie at 2^-10, the next bf16 above it, blocks whose scale is 00 though they are not zero. */
static const struct block underflow_blocks[] = {
    A2688,
    { { 0 } },
    { { 0.005859375f, -.0029296875f, .001f } },
    { { 0x1.82p-8f, -.0029296875f, .001f } },
    { { 0.001f } },
    { { -0.0058f, .0058f, 0, -0.0f, .00001f } },
    { { 0x1p-24f, -0x1p-24f, 0, -0.0f } },
    { { 6, 1, -2, .5f } },
};

/* 40, 41, 42: block maxima up to and beyond 448 * 6 with a given amax of 2688. */
static const struct block saturate_blocks[] = {
    { { 2688, 1 } },           { { 2694, -2694, 100 } },          { { 2704, -1352, 100 } },
    { { 2784, -2784, 1392 } }, { { 0x1.5C0002p+11f, -2784, 1 } }, { { 2790, 2688, -2688 } },
    { { 2880, -2880, 448 } },  { { 5376, -5376, 2688, 0 } },      { { 6000, -448, 2240, -0.0f } },
    { { 0.001f, -.001f, 0 } },
};

/* 45: scales 01..07, elements equal to the maximum. */
#define SUBNORMAL(k)                                                                                          \
    {                                                                                                         \
        {                                                                                                     \
            6 * (k)*0x1p-9f, 6 * (k)*0x1p-9f, -6 * (k)*0x1p-9f, 3 * (k)*0x1p-9f, (k)*0x1p-9f, 2 * (k)*0x1p-9f \
        }                                                                                                     \
    }
static const struct block subnormal_scale_blocks[] = {
    A2688, SUBNORMAL(1), SUBNORMAL(2), SUBNORMAL(3), SUBNORMAL(4), SUBNORMAL(5), SUBNORMAL(6), SUBNORMAL(7), SUBNORMAL(8),
};

/* 20: -0.625 with scale 0.5; 0.5 and 0.50000018 with scale 2. 22: 0.25000003. */
static const struct block second_copy_blocks[] = {
    A2688,
    { { 3, -0.625f, 0.625f, -.125f, 0x1.000002p-3f, -1.25f, 1.75f, 2.5f } },
    { { 12, 0.5f, 0x1.000006p-1f, -0.5f, -0x1.000006p-1f, 1.5f, 2.5f, 10 } },
    { { 6, 0x1.000002p-2f, -0x1.000002p-2f, 0.25f, -0.25f } },
};

/* TE Appendix A, finite rows: amax 10 is carried by a block of its own. */
static const struct block appendix_blocks[] = {
    { { 10 } },
    { { 0, -.25f, .5f, -.75f, 1, -1.25f, 1.5f, -1.75f, 2, -2.25f, 2.5f, -2.75f, 3, -3.25f, 3.5f, -3.75f } },
    { { 0x1p-20f, -0x1p-20f, 0, -0.0f } },
    { { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
};

#define LIST(blocks)                             \
    {                                            \
        blocks, sizeof blocks / sizeof blocks[0] \
    }

static const struct {
    const struct block *blocks;
    size_t count;
} lists[] = {
    [LIST_CODES] = LIST(codes_blocks),
    [LIST_SCALE_RULES] = LIST(scale_rule_blocks),
    [LIST_DIVISION] = LIST(division_blocks),
    [LIST_AMAX_BF16] = LIST(amax_bf16_blocks),
    [LIST_DOUBLE] = LIST(double_blocks),
    [LIST_PROFILE] = LIST(profile_blocks),
    [LIST_RECIPROCAL] = LIST(reciprocal_blocks),
    [LIST_UNDERFLOW] = LIST(underflow_blocks),
    [LIST_SATURATE] = LIST(saturate_blocks),
    [LIST_SUBNORMAL_SCALES] = LIST(subnormal_scale_blocks),
    [LIST_SECOND_COPY] = LIST(second_copy_blocks),
    [LIST_APPENDIX] = LIST(appendix_blocks),
};

/* Blocks in the order of the list, round and round; the first (which carries the amax) is met in every tensor and, with one amax a line,
 * in every line. In a 16x16 tile every line is the block of the tile, moved on by one place a line. */
uint32_t value_listed(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    size_t which;
    unsigned at = s.at % 16;

    assert(m->row->param < sizeof lists / sizeof lists[0]);
    which = s.anchor ? 0 : s.block % lists[m->row->param].count;
    if (s.size == 256)
        at = (s.at + s.at / 16) % 16;
    return fp4_f32_bits(lists[m->row->param].blocks[which].v[at]);
}

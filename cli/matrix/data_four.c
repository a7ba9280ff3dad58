/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of four-over-six: the five constructions of torchao's sweep (FOS 6), blocks whose two candidates have errors that are equal or
 * one unit in the last place apart, block maxima around the boundaries of both scales, and the worked blocks.
 */
#include "data_make.h"

#include <math.h>

/* ---- torchao's sweep ---------------------------------------------------------------------------------------------------------------- */

/* Draw i (from 0) of the generator splitmix64 that starts at `state`: its state is a counter, so that any draw can be made alone. */
static uint64_t split_mix(uint64_t state, uint64_t i)
{
    uint64_t z = state + (i + 1) * UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t sweep_state(const struct maker *m)
{
    return m->c->seed ? mix64(m->c->seed, m->stream, 0) : 0x46;
}

/* In place of a normal distribution: twelve 16-bit numbers of three draws, added. The stream runs through the tensor in memory order. */
uint32_t value_ao_random(const struct maker *m, size_t r, size_t c)
{
    uint64_t state = sweep_state(m), i = 3 * ((uint64_t)r * m->cols + c);
    int sum = 0;
    unsigned k;

    for (k = 0; k < 12; k++)
        sum += (int)(split_mix(state, i + k / 4) >> k % 4 * 16 & 0xFFFF);
    return fp4_f32_bits((float)(2 * sum - 12 * 65535) * 0x1p-17f);
}

/* linspace(-12, 12, n / 2) as a device computes it, each value followed by its neighbour 0.001 further from 0. */
uint32_t value_ao_boundary(const struct maker *m, size_t r, size_t c)
{
    size_t at = r * m->cols + c, steps = m->rows * m->cols / 2, i = at / 2;
    float step = steps > 1 ? 24.0f / (float)(steps - 1) : 0.0f, base;

    base = i < steps / 2 ? fmaf(step, (float)i, -12.0f) : fmaf(-step, (float)(steps - 1 - i), 12.0f);
    if (at % 2)
        base = base < 0.0f ? base - 1e-3f : base + 1e-3f;
    return fp4_f32_bits(base);
}

uint32_t value_ao_maxes(const struct maker *m, size_t r, size_t c)
{
    (void)r;
    (void)c;
    return m->dtype == FP4_F32 ? 0x7F7FFFFFu : m->dtype == FP4_BF16 ? 0x7F7F0000u : 0x477FE000u;
}

/* (u - 0.5) * 2^-126 with 24 random bits in u; f16: * 2^-14, so that its values are subnormal too. */
uint32_t value_ao_denormal(const struct maker *m, size_t r, size_t c)
{
    int n = (int)(element_bits(m, r, c, 0) >> 40) - (1 << 23);

    return fp4_f32_bits((float)n * 0x1p-24f * (m->dtype == FP4_F16 ? 0x1p-14f : 0x1p-126f));
}

uint32_t value_ao_negzero(const struct maker *m, size_t r, size_t c)
{
    return r % 2 == 0 && c % 3 == 0 ? 0x80000000u : value_ao_random(m, r, c);
}

/* ---- near ties ------------------------------------------------------------------------------------------------------------------------ */

#define TIE_AMAXES 7
#define TIE_BLOCKS 24

static const float tie_amaxes[TIE_AMAXES] = { 157, 145, 13, 77, 50, 10, 35 };

/*
 * Which of the blocks of tie_element are near ties under each amax: found by search, three for each of the eight settings (bound 256 mae,
 * mse, bound 448 mae, mse, then the same with the error in the scaled domain): the errors e4 and e6 equal, e4 one unit in the last place
 * above e6, e4 one below. test_data_four.c measures each through the reference.
 */
static const uint32_t tie_index[2 /* in order, as a tree */][TIE_AMAXES][TIE_BLOCKS] = {
#include "data_four_ties.inc"
};

/* Element `at` of block `index`: up to 16 neighbours that are not zero, each a whole number up to 255 times a power of two, so that bf16
 * and f16 hold it exactly; all below the amax. */
static float tie_element(float amax, uint32_t index, unsigned at)
{
    uint64_t z = mix64(0, 0xF046, index), y;
    unsigned count = 2 + (unsigned)(z % 15), from = (unsigned)(z >> 16 & 15), place = (at - from) & 15;
    int e = (int)(fp4_f32_bits(amax) >> 23) - 127 - 8 - (int)(z >> 8 & 3);
    float v;

    if (place >= count)
        return 0.0f;
    y = mix64(1 + place, 0xF046, index);
    v = (float)(1 + (y & 0xFFFFFF) % 255) * pow2f(e);
    return y >> 63 ? -v : v;
}

/* 1x16: the blocks of one amax go round. 16x16: a tile holds one such block, alone in a row or, where the 16 errors of the rows are added
 * as a tree, alone in a column; all else is zero. One amax a line: each line has another of the amaxes. */
uint32_t value_four_ties(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    size_t line = m->anchor_lines ? (m->transposed ? c : r) : 0;
    unsigned which = (unsigned)((m->c->seed + line) % TIE_AMAXES), row = s.at / 16, col = s.at % 16;
    unsigned in_row = (unsigned)(s.block / 2 % 16);
    bool tree = s.size == 256 && s.block % 2;

    if (s.anchor)
        return s.top ? fp4_f32_bits(tie_amaxes[which]) : 0;
    if (s.size == 256 && (tree ? col : row) != in_row)
        return 0;
    return fp4_f32_bits(
        tie_element(tie_amaxes[which], tie_index[tree][which][s.block / (s.size == 256 ? 2 : 1) % TIE_BLOCKS], tree ? row : col));
}

/* ---- the boundaries of both scales ------------------------------------------------------------------------------------------------------ */

/* Given amax 1536 * 2^k (even seeds) or 2688 * 2^k: the global scale is exactly 2^-k for bound 256 or for bound 448. */
static float scale_unit(const struct fp4_case *c)
{
    static const int k[3] = { 0, -9, 4 };

    return pow2f(k[c->seed / 2 % 3]);
}

float four_scale_amax(const struct fp4_case *c)
{
    return (c->seed % 2 ? 2688.0f : 1536.0f) * scale_unit(c);
}

/* Block maxima that bring the map-to-6 scale, and then the map-to-4 scale, to each midpoint of E4M3, -2..2 ulp; then to and above 448,
 * where both are capped. */
uint32_t value_four_scales(const struct maker *m, size_t r, size_t c)
{
    static const float over[6] = { 448.0f, 464.0f, 480.0f, 298.6875f, 1000.0f, 0x1p-10f };
    struct spot s = spot_of(m, r, c);
    size_t t = s.block;
    float target = t % 132 < 126 ? e4m3_midpoint((unsigned)(t % 132)) : over[t % 132 - 126], top, x;
    uint64_t z = element_bits(m, r, c, 0);

    top = step_ulp((t / 132 % 2 ? 4.0f : 6.0f) * target * scale_unit(m->c), m->dtype, (int)(t / 264 % 5) - 2);
    if (s.top)
        return fp4_f32_bits(s.block % 2 ? -top : top);
    x = top * (float)(z % 15) * 0x1p-4f;
    return fp4_f32_bits(z >> 63 ? -x : x);
}

/* ---- lists ------------------------------------------------------------------------------------------------------------------------------ */

struct listed_block {
    float v[16];
};

struct listed_group {
    float amax;
    unsigned count;
    struct listed_block blocks[7];
};

/* FOS 1.4, 8 (P1 to P16), 9; field reports 28, 29, 30: by amax. The block that carries it comes first. */
static const struct listed_group worked[] = {
    { 157,
      7,
      { { { 3 } },
        { { 10, -1, 12, 1 } },
        { { 6, 5, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 2, 2, 1, 1 } },
        { { 12, -1, 10, 1 } },
        { { -10, 1, -12, -1 } },
        { { 1, 12, -1, 10 } },
        { { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, -1, 12, 1 } } } },
    { 145, 3, { { { -1, 3 } }, { { 1, -3 } }, { { 0, 0, 0, 0, 0, 0, 0, -1, 3 } } } },
    { 12,
      4,
      { { { 9 } },
        { { 12, 10, 10, 10, -10, 9, 9, -9, 8, 8, 8, 8, -8, 7, 7, 7 } },
        { { 12, -9 } },
        { { 7, 7, 7, -8, 8, 8, 8, 8, -9, 9, 9, -10, 10, 10, 10, 12 } } } },
    { 224, 3, { { { 175 } }, { { 11, 56, 49, -4, 23 } }, { { -175, 56 } } } },
    { 96, 2, { { { 25, 3 } }, { { -25, -3 } } } },
    { 128, 2, { { { -25 } }, { { 25, 1 } } } },
    { 60, 1, { { { 0, 0, 0, 0, 0, 0, 40, 5, 0, 0, -25 } } } },
    { 80, 1, { { { -12, -17 } } } },
    { 16, 2, { { { 4, 11 } }, { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } } } },
    { 10, 1, { { { 0, 0, 0, 0, 4, 0, 0, 1, 3, -5, 1, -1 } } } },
    { 77, 2, { { { -12, 10, -1, 0, -1 } }, { { -1, 0, -1, 10, -12 } } } },
    { 42.75f, 1, { { { 0, 0, 0, 0, -1 } } } },
    { 448, 1, { { { 100, -3, .5f, 7, -77, 50, 33, -20, 91, -66, 12, 1, -1, 0, 2, 5 } } } },
    { 50, 2, { { { 5.46875f, 18.625f, 19.5f, 5.4375f } }, { { -5.46875f, 18.625f, -19.5f, 5.4375f } } } },
    { 6, 3, { { { 6, 5.25f } }, { { 6, 5.21875f } }, { { -5.25f, 0, 6 } } } },
    { 1,
      3,
      { { { 1 } },
        { { 1, -0.0f } },
        { { -1, .5f, -.25f, .125f, -.0625f, 0, -0.0f, 1, .75f, -.75f, .3125f, -.3125f, .625f, -.625f, .875f, -.875f } } } },
    { 1536,
      4,
      { { { 7.5f * 0x1p-9f } }, { { 0x1p-8f, -0x1p-20f } }, { { 1.5f * 0x1p-8f, -0x1p-20f } }, { { 0x1p-7f, -0x1p-10f } } } },
    { 0x1p-127f, 1, { { { 0x1p-127f, -0x1p-133f } } } },
    { 12 * 0x1p124f,
      1,
      { { { 12 * 0x1p124f, 10 * 0x1p124f, 10 * 0x1p124f, 10 * 0x1p124f, -10 * 0x1p124f, 9 * 0x1p124f, 9 * 0x1p124f, -9 * 0x1p124f,
            8 * 0x1p124f, 8 * 0x1p124f, 8 * 0x1p124f, 8 * 0x1p124f, -8 * 0x1p124f, 7 * 0x1p124f, 7 * 0x1p124f, 7 * 0x1p124f } } } },
};

#define NAN_ (-12345.0f) /* stand-ins: a list holds no NaN of the compiler's */
#define INF_ (-12346.0f)
#define MINF_ (-12347.0f)

/* FOS 3: with their given amax. */
static const struct listed_group special[] = {
    { 1,
      6,
      { { { NAN_, 1, -1, .5f } },
        { { NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_, NAN_ } },
        { { 0, -0.0f, 0, -0.0f } },
        { { INF_, 1, -1, .5f, MINF_ } },
        { { 1, -.75f, .5f, 0, -0.0f, .25f } },
        { { 4, -3, 2, NAN_ } } } },
    { NAN_, 3, { { { 1, -1, .5f, -0.0f, .25f } }, { { 0, -0.0f } }, { { NAN_, 1 } } } },
    { INF_, 3, { { { INF_, 1, -1, .5f, MINF_ } }, { { 3, 1, -1, .5f } }, { { 0, -0.0f } } } },
    { 0, 3, { { { 3, 1, -1, .5f, -0.0f, .3f } }, { { 0, -0.0f, 0, -0.0f } }, { { NAN_, 2 } } } },
    { 0x1p-127f, 2, { { { 0x1p-127f, -0x1p-133f } }, { { 0, -0.0f } } } },
    { 1536, 4, { { { 0x1p-8f, -0x1p-20f } }, { { 1.5f * 0x1p-8f, -0x1p-20f } }, { { 0x1p-7f, -0x1p-10f } }, { { 4096, 3, -2 } } } },
};

static uint32_t listed_bits(float v)
{
    return v == NAN_ ? 0x7FC00000u : v == INF_ ? 0x7F800000u : v == MINF_ ? 0xFF800000u : fp4_f32_bits(v);
}

/* The group of a case; with one amax a line, of a line. */
static size_t group_of(const struct fp4_case *c, size_t line, size_t groups)
{
    return (c->seed + (c->knob[KNOB_AMAX] ? line : 0)) % groups;
}

uint32_t four_special_amax(const struct fp4_case *c, size_t line)
{
    return listed_bits(special[group_of(c, line, sizeof special / sizeof special[0])].amax);
}

/* In a 16x16 tile the block stands in the first row, or in the first column (FOS 8, P7); the rest is zero. */
static uint32_t group_element(const struct listed_group *g, const struct spot *s, size_t block)
{
    unsigned at = s->at;

    if (s->size == 256) {
        bool column = block / g->count % 2;

        if ((column ? at % 16 : at / 16) != 0)
            return 0;
        at = column ? at / 16 : at % 16;
    }
    return listed_bits(g->blocks[block % g->count].v[at]);
}

uint32_t value_four_worked(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);
    const struct listed_group *g = &worked[group_of(m->c, m->transposed ? c : r, sizeof worked / sizeof worked[0])];

    if (s.anchor)
        return s.top ? fp4_f32_bits(g->amax) : 0;
    return group_element(g, &s, s.block - 1);
}

uint32_t value_four_special(const struct maker *m, size_t r, size_t c)
{
    struct spot s = spot_of(m, r, c);

    return group_element(&special[group_of(m->c, m->transposed ? c : r, sizeof special / sizeof special[0])], &s, s.block);
}

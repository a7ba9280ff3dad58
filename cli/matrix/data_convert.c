/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of the converters: cvt-rn, cvt-rs and the sr- helpers. A construction is either a value for each element or one value for a
 * whole row. Values that bf16 cannot hold reach the bf16 helpers through their scale: x is 1 or -1 and the scale is the magnitude.
 */
#include "data_make.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* ---- lists ------------------------------------------------------------------------------------------------------------------------------- */

static const uint32_t special_bits[] = {
    0x00000000u, 0x80000000u, 0x7F800000u, 0xFF800000u, 0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0xFF800001u,
    0xFFBFFFFFu, 0x7FFFFFFFu, 0xFFFFFFFFu, 0x7FA00000u, 0x00000001u, 0x80000001u, 0x007FFFFFu, 0x807FFFFFu,
    0x00800000u, 0x80800000u, 0x7F7FFFFFu, 0xFF7FFFFFu, 0x7F7F0000u, 0x40C00000u, 0xC0C00000u, 0x40C00001u,
    0xC0C00001u, 0x40E00000u, 0x40BFFFFFu, 0xC0BFFFFFu, 0x3F800000u, 0xBF800000u,
};

/* SR 2.7, rule probes: the value in all four slots, one random byte four times. */
static const struct {
    uint32_t x;
    uint8_t byte;
} rule_probes[] = {
    { 0x3ac00000u, 0xFF }, { 0x3affffffu, 0xFF }, { 0x3b000000u, 0xFF }, { 0x3f803000u, 0xFF }, { 0x3f802000u, 0xFF },
    { 0x3fc02000u, 0xFF }, { 0x40003000u, 0xFF }, { 0x40803000u, 0xFF }, { 0xbf803000u, 0xFF }, { 0x3f7fffffu, 0x00 },
    { 0x40bfffffu, 0x00 }, { 0x3f800000u, 0xFF }, { 0x40000000u, 0x00 }, { 0x40800000u, 0x00 }, { 0x3fa00000u, 0x81 },
    { 0x3fa00000u, 0x7E }, { 0x40a00000u, 0x80 }, { 0x80000000u, 0xFF }, { 0x80000001u, 0xFF }, { 0x7fc00000u, 0x5A },
    { 0xffc00000u, 0x5A }, { 0xff800001u, 0x5A }, { 0x40c00000u, 0xFF }, { 0x40e00000u, 0xFF }, { 0x7f800000u, 0xFF },
    { 0x3a810000u, 0xFF }, { 0x3b410000u, 0xFE }, { 0xbccffffdu, 0xF3 }, { 0x3e000000u, 0xC0 }, { 0x3f5066a4u, 0x5F },
    { 0xbfe0fa00u, 0x7C }, { 0xc0bebe7eu, 0x05 }, { 0x40814000u, 0xFB },
};

/* SR 2.7, golden vectors: nibbles 0 to 3 and the word. */
static const uint32_t vectors[][5] = {
    { 0x3ac00000u, 0x3f803000u, 0x3fc03000u, 0x40003000u, 0xffffffffu },
    { 0x3f802000u, 0x3fc02000u, 0x40403000u, 0x40803000u, 0xffffffffu },
    { 0x3affffffu, 0x3b000000u, 0x3b7fffffu, 0x3e7fffffu, 0xffffffffu },
    { 0x3f7fffffu, 0x3fffffffu, 0x407fffffu, 0x40bfffffu, 0x00000000u },
    { 0x3fa00000u, 0x40a00000u, 0x3f400000u, 0x40200000u, 0x80808080u },
    { 0x3fa00000u, 0x40a00000u, 0x3f400000u, 0x40200000u, 0x81818181u },
    { 0xbfa00000u, 0xc0a00000u, 0xbf400000u, 0xc0200000u, 0x7e7e7e7eu },
    { 0x00000000u, 0x80000000u, 0x7fc00000u, 0xffc00000u, 0xffffffffu },
    { 0xff800001u, 0x7f800000u, 0xff800000u, 0xc0c00001u, 0x5a5a5a5au },
    { 0x00000001u, 0x807fffffu, 0x3a7fffffu, 0xba800000u, 0xffffffffu },
    { 0x3dcccccdu, 0x3f19999au, 0xbfb33333u, 0x40a33333u, 0x12345678u },
    { 0x40a33333u, 0xbfb33333u, 0x3f19999au, 0x3dcccccdu, 0x12345678u },
    { 0x3dcccccdu, 0x3f19999au, 0xbfb33333u, 0x40a33333u, 0xdeadbeefu },
    { 0x40b00000u, 0x40b00000u, 0x40b00000u, 0x40b00000u, 0x40c020e0u },
};

#define PROBE_COUNT (COUNT(rule_probes) + COUNT(vectors))

static const float cell_low[7] = { 0, 0.5f, 1, 1.5f, 2, 3, 4 };
static const float cell_step[7] = { 0.5f, 0.5f, 0.5f, 0.5f, 1, 1, 2 };

/* Around every multiple of step / 512 from 0 to 6, which holds every grid point, midpoint and random threshold: -2..2 ulp, both signs. */
#define MULTIPLES (7u * 512u + 1u)
#define BOUNDARY_COUNT (MULTIPLES * 10u)

static float boundary(size_t i, enum fp4_dtype dtype)
{
    size_t k = i / 10;
    float v = k == MULTIPLES - 1 ? 6.0f : cell_low[k / 512] + cell_step[k / 512] * (float)(k % 512) * 0x1p-9f;

    return step_ulp(i % 2 ? -v : v, dtype, (int)(i / 2 % 5) - 2);
}

/* Every exponent from 2^-149 to 2^127, -1..1 ulp, both signs. */
#define EXPONENT_COUNT (277u * 6u)

static float exponent(size_t i, enum fp4_dtype dtype)
{
    float v = step_ulp(pow2f((int)(i / 6) - 149), dtype, (int)(i / 2 % 3) - 1);

    return i % 2 ? -v : v;
}

static float fraction(size_t cell, size_t n)
{
    return cell_low[cell] + cell_step[cell] * (float)n * 0x1p-8f;
}

/* n of N entries, in an order that a shorter tensor samples evenly. step has no factor in common with any N used here. */
static size_t sampled(size_t i, size_t n)
{
    return (size_t)((uint64_t)i * 10007u % n);
}

/* ---- one value and one word a row ---------------------------------------------------------------------------------------------------------- */

struct row_input {
    uint32_t x[4]; /* by nibble */
    uint32_t word;
    bool random; /* the words are random instead */
};

static void same(struct row_input *in, uint32_t x)
{
    in->x[0] = in->x[1] = in->x[2] = in->x[3] = x;
}

/* Seeds choose the word for all 65,536 values: the telling bytes first, then the 32 one-bit words, then random ones. */
static uint32_t word_of_seed(uint64_t seed, size_t row)
{
    static const uint32_t words[] = { 0x00000000u, 0xFFFFFFFFu, 0x80808080u, 0x7F7F7F7Fu, 0x01010101u, 0xFEFEFEFEu, 0x81818181u };

    if (seed < COUNT(words))
        return words[seed];
    if (seed < COUNT(words) + 32)
        return 1u << (seed - COUNT(words));
    return (uint32_t)mix64(seed, 1, row);
}

static void probe_row(struct row_input *in, size_t i)
{
    size_t k = i % PROBE_COUNT;

    if (k < COUNT(rule_probes)) {
        same(in, rule_probes[k].x);
        in->word = rule_probes[k].byte * 0x01010101u;
        return;
    }
    memcpy(in->x, vectors[k - COUNT(rule_probes)], sizeof in->x);
    in->word = vectors[k - COUNT(rule_probes)][4];
}

/* 0.25 flips on the bit of weight 128; 0.5 - 2^(j-9) on bits of weight 2^j and more (j = 0: on any bit). */
static void map_probe_row(struct row_input *in, size_t i)
{
    size_t j = i / 32 % 9;

    in->word = 1u << (i % 32);
    same(in, fp4_f32_bits(j == 8 ? 0.25f : 0.5f - pow2f((int)j - 9)));
}

static struct row_input row_input_of(const struct fp4_case *c, unsigned kind, size_t r)
{
    struct row_input in = { { 0 }, 0, false };
    size_t i;
    float v;

    switch (kind) {
    case CONVERT_ALLBF16:
        same(&in, (uint32_t)(r * 40503u % 65536u) << 16); /* an odd factor: all values, in an order that mixes exponents */
        in.word = word_of_seed(c->seed, r);
        break;
    case CONVERT_PROBES:
        probe_row(&in, r);
        break;
    case CONVERT_MAP_PROBES:
        map_probe_row(&in, r);
        break;
    case CONVERT_FRACTIONS:
        i = sampled(r, 3584);
        v = fraction(i / 256 % 7, i % 256);
        same(&in, fp4_f32_bits(i / 1792 ? -v : v));
        in.random = true;
        break;
    default: /* CONVERT_ALLBYTES: 7 cells, 256 fractions, 256 bytes */
        i = (size_t)((uint64_t)r * 100003u % (7u * 65536u));
        v = fraction(i / 65536, i % 256);
        same(&in, fp4_f32_bits(r & 1 ? -v : v));
        in.word = (uint32_t)(i / 256 % 256) * 0x01010101u;
        break;
    }
    return in;
}

static bool is_by_row(unsigned kind)
{
    return kind == CONVERT_ALLBF16 || kind == CONVERT_PROBES || kind == CONVERT_MAP_PROBES || kind == CONVERT_FRACTIONS ||
           kind == CONVERT_ALLBYTES;
}

/* ---- writing ----------------------------------------------------------------------------------------------------------------------------------- */

struct target {
    const struct fp4_case *c;
    struct maker m;
    struct tensor *x, *scale, *coefficient, *rbits;
};

static void put_f32(struct tensor *t, size_t i, uint32_t bits)
{
    if (t)
        memcpy(t->data + 4 * i, &bits, 4);
}

static void put_multiplier(struct target *t, size_t r, unsigned side, uint32_t bits)
{
    put_f32(t->scale, 2 * r + side, bits);
    if (t->coefficient && side == 0)
        store_bits(t->coefficient, r, bits);
}

static bool is_finite_nonzero(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) != 0 && (bits & 0x7FFFFFFFu) < 0x7F800000u;
}

/* bf16 input with a multiplier: one magnitude for the even and one for the odd elements (one for all where there is one coefficient). */
static void put_through_scale(struct target *t, size_t r, const uint32_t pair[2])
{
    size_t i;

    for (i = 0; i < t->c->cols; i++) {
        uint32_t bits = pair[t->scale ? i % 2 : 0];

        store_bits(t->x, r * t->c->cols + i, (bits & 0x80000000u) | 0x3F800000u);
    }
    put_multiplier(t, r, 0, pair[0] & 0x7FFFFFFFu);
    put_multiplier(t, r, 1, pair[1] & 0x7FFFFFFFu);
}

static void put_row(struct target *t, size_t r, const uint32_t x[4])
{
    size_t i;

    for (i = 0; i < t->c->cols; i++)
        store_bits(t->x, r * t->c->cols + i, x[i % 4]);
    put_multiplier(t, r, 0, 0x3F800000u);
    put_multiplier(t, r, 1, 0x3F800000u);
}

static bool all_same(const uint32_t x[4])
{
    return x[0] == x[1] && x[1] == x[2] && x[2] == x[3];
}

static void fill_by_row(struct target *t, unsigned kind)
{
    size_t words = t->c->cols / 4, r, i;

    for (r = 0; r < t->c->rows; r++) {
        struct row_input in = row_input_of(t->c, kind, r);
        uint32_t pair[2] = { in.x[0], in.x[0] };

        if (t->x->dtype == FP4_BF16 && kind != CONVERT_ALLBF16 && all_same(in.x) && is_finite_nonzero(in.x[0]))
            put_through_scale(t, r, pair);
        else
            put_row(t, r, in.x);
        for (i = 0; t->rbits && !in.random && i < words; i++)
            put_f32(t->rbits, r * words + i, in.word);
    }
}

static uint32_t listed_value(const struct target *t, unsigned kind, size_t i)
{
    enum fp4_dtype dtype = t->coefficient && t->coefficient->dtype == FP4_BF16 ? FP4_BF16 : FP4_F32;

    if (kind == CONVERT_BOUNDARIES)
        return fp4_f32_bits(boundary(sampled(i + (size_t)t->c->seed, BOUNDARY_COUNT), dtype));
    if (kind == CONVERT_EXPONENTS)
        return fp4_f32_bits(exponent(i % EXPONENT_COUNT, dtype));
    return special_bits[i % COUNT(special_bits)];
}

/* Every fourth row of specials has them in the multiplier: 0 * Inf, Inf * 0, NaN * x. */
static void special_row(struct target *t, size_t r)
{
    size_t i;

    for (i = 0; i < t->c->cols; i++)
        store_bits(t->x, r * t->c->cols + i, special_bits[(r * t->c->cols + i) % COUNT(special_bits)]);
    for (i = 0; i < 2; i++)
        put_multiplier(t, r, (unsigned)i, r % 4 == 3 ? special_bits[(r + i) % COUNT(special_bits)] : 0x3F800000u);
}

static void fill_listed(struct target *t, unsigned kind)
{
    size_t cols = t->c->cols, r, i;

    for (r = 0; r < t->c->rows; r++) {
        if (kind == CONVERT_SPECIALS) {
            special_row(t, r);
        } else if (t->x->dtype == FP4_BF16) {
            size_t each = t->scale ? 2 : 1;
            uint32_t pair[2] = { listed_value(t, kind, each * r), listed_value(t, kind, each * r + 1) };

            put_through_scale(t, r, pair);
        } else {
            for (i = 0; i < cols; i++)
                store_bits(t->x, r * cols + i, listed_value(t, kind, r * cols + i));
            put_multiplier(t, r, 0, 0x3F800000u);
            put_multiplier(t, r, 1, 0x3F800000u);
        }
    }
}

/* A multiplier in [0.25, 4) with 24 significant bits, different for even and odd elements: exchanging the two shows. */
static uint32_t random_multiplier(const struct fp4_case *c, size_t i)
{
    uint64_t z = mix64(c->seed, stream_of("multiplier"), i);

    return (uint32_t)(125 + (z >> 60) % 4) << 23 | (uint32_t)(z & 0x7FFFFF);
}

static void fill_values(struct target *t)
{
    size_t cols = t->c->cols, r, i;

    for (r = 0; r < t->c->rows; r++) {
        for (i = 0; i < cols; i++)
            store_bits(t->x, r * cols + i, t->m.row->value(&t->m, r, i));
        put_multiplier(t, r, 0, random_multiplier(t->c, 2 * r));
        put_multiplier(t, r, 1, random_multiplier(t->c, 2 * r + 1));
    }
}

/* Beside boundaries, the words that decide: half of them are 00, FF, 80 and 7F bytes. */
static void sharpen_words(struct target *t)
{
    static const uint32_t words[4] = { 0x00000000u, 0xFFFFFFFFu, 0x80808080u, 0x7F7F7F7Fu };
    size_t i, n = t->rbits->bytes / 4;

    for (i = 0; i < n; i += 2)
        put_f32(t->rbits, i, words[mix64(t->c->seed, 7, i) % 4]);
}

int generate_convert(const struct fp4_case *c, const struct data_row *row, struct case_tensors *tensors, struct fp4_error *err)
{
    struct target t;

    (void)err;
    t.c = c;
    t.x = tensor_find(tensors, "x");
    t.scale = tensor_find(tensors, "scale");
    t.coefficient = tensor_find(tensors, "coefficient");
    t.rbits = tensor_find(tensors, "rbits");
    t.m = maker_of(c, row, t.x->dtype);
    if (t.rbits)
        fill_random_words(c, t.rbits);
    if (is_by_row(row->param))
        fill_by_row(&t, row->param);
    else if (row->param == CONVERT_VALUES)
        fill_values(&t);
    else
        fill_listed(&t, row->param);
    if (t.rbits && row->param == CONVERT_BOUNDARIES)
        sharpen_words(&t);
    return 0;
}

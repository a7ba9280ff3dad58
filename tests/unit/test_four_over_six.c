/* SPDX-License-Identifier: Apache-2.0 */
/* four-over-six: every recipe, block, error and stage against the slow version; known answers; what each mistake would change. */
#include "check.h"
#include "kat.h"
#include "slow_four.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xA5, GUARD = 16 };

/* ---- outputs, every stage, with guard bytes ------------------------------------------------------------------------------------- */

struct outputs {
    size_t lines, packed, blocks, amaxes;
    struct fp4_quantized q;
    struct fp4_four_stages s;
};

static void *guarded(size_t bytes)
{
    uint8_t *p = malloc(bytes + GUARD);

    cr_assert(p);
    memset(p, POISON, bytes + GUARD);
    return p;
}

static void release(void *p, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++)
        CHECK(((uint8_t *)p)[bytes + i] == POISON, "written beyond the end of %zu bytes", bytes);
    free(p);
}

static struct outputs outputs_of(const struct fp4_four_params *p, bool transposed)
{
    struct outputs o = { .lines = transposed ? p->cols : p->rows, .packed = transposed ? p->rows : p->cols };

    o.blocks = o.packed / 16;
    o.amaxes = p->row_scaled ? o.lines : 1;
    o.q.codes = guarded(o.lines * o.packed / 2);
    o.q.scales = guarded(o.lines * o.blocks);
    o.q.amax = guarded(4 * o.amaxes);
    o.q.global_scale = guarded(4 * o.amaxes);
    o.q.block_amax = guarded(4 * o.lines * o.blocks);
    o.q.scaled = guarded(4 * o.lines * o.packed);
    o.q.dequantized = guarded(4 * o.lines * o.packed);
    for (int c = 0; c < 2; c++) {
        o.s.scales[c] = guarded(o.lines * o.blocks);
        o.s.codes[c] = guarded(o.lines * o.packed / 2);
        o.s.errors[c] = guarded(4 * o.lines * o.blocks);
    }
    o.s.pick = guarded(o.lines * o.blocks);
    return o;
}

static void outputs_release(struct outputs *o)
{
    release(o->q.codes, o->lines * o->packed / 2);
    release(o->q.scales, o->lines * o->blocks);
    release(o->q.amax, 4 * o->amaxes);
    release(o->q.global_scale, 4 * o->amaxes);
    release(o->q.block_amax, 4 * o->lines * o->blocks);
    release(o->q.scaled, 4 * o->lines * o->packed);
    release(o->q.dequantized, 4 * o->lines * o->packed);
    for (int c = 0; c < 2; c++) {
        release(o->s.scales[c], o->lines * o->blocks);
        release(o->s.codes[c], o->lines * o->packed / 2);
        release(o->s.errors[c], 4 * o->lines * o->blocks);
    }
    release(o->s.pick, o->lines * o->blocks);
}

static unsigned code_at(const uint8_t *codes, size_t i)
{
    return codes[i / 2] >> (i % 2 ? 4 : 0) & 15u;
}

/* Arithmetic promises no NaN payload, but an output has the canonical one. */
static bool same_stage(float got, float want)
{
    if (slow_is_nan(slow_bits(want)))
        return slow_bits(got) == 0x7FFFFFFFu;
    return slow_bits(got) == slow_bits(want);
}

static void compare(const struct outputs *got, const struct slow_four *want, const char *what)
{
    for (size_t i = 0; i < got->lines * got->blocks; i++) {
        CHECK(got->q.scales[i] == want->q.scale[i], "%s block %zu: scale %02x, not %02x", what, i, got->q.scales[i],
              want->q.scale[i]);
        CHECK(got->s.pick[i] == want->pick[i], "%s block %zu: pick %d, not %d", what, i, got->s.pick[i], want->pick[i]);
        CHECK(same_stage(got->q.block_amax[i], want->q.block_amax[i]), "%s block %zu: amax", what, i);
        for (int c = 0; c < 2; c++) {
            CHECK(got->s.scales[c][i] == want->scale[c][i], "%s block %zu: scale %d is %02x, not %02x", what, i, c,
                  got->s.scales[c][i], want->scale[c][i]);
            CHECK(same_stage(got->s.errors[c][i], want->error[c][i]), "%s block %zu: error %d is %08" PRIx32 ", not %08" PRIx32,
                  what, i, c, slow_bits(got->s.errors[c][i]), slow_bits(want->error[c][i]));
        }
    }
    for (size_t i = 0; i < got->lines * got->packed; i++) {
        CHECK(code_at(got->q.codes, i) == want->q.code[i], "%s element %zu: code %x, not %x", what, i, code_at(got->q.codes, i),
              want->q.code[i]);
        for (int c = 0; c < 2; c++)
            CHECK(code_at(got->s.codes[c], i) == want->code[c][i], "%s element %zu: candidate %d has another code", what, i, c);
        CHECK(same_stage(got->q.scaled[i], want->q.scaled[i]), "%s element %zu: scaled", what, i);
        CHECK(same_stage(got->q.dequantized[i], want->q.dequantized[i]), "%s element %zu: dequantized", what, i);
    }
    for (size_t i = 0; i < got->amaxes; i++) {
        CHECK(same_stage(got->q.amax[i], want->q.amax[i]), "%s: amax of line %zu", what, i);
        CHECK(same_stage(got->q.global_scale[i], want->q.global_scale[i]), "%s: global scale of line %zu", what, i);
    }
}

/* ---- data -------------------------------------------------------------------------------------------------------------------------- */

static void put(void *x, enum fp4_dtype dtype, size_t i, float v)
{
    uint16_t half;

    if (dtype == FP4_F32) {
        memcpy((float *)x + i, &v, sizeof v);
        return;
    }
    half = dtype == FP4_BF16 ? f32_to_bf16(v).bits : f32_to_f16(v).bits;
    memcpy((uint16_t *)x + i, &half, sizeof half);
}

enum kind { NORMAL, INTEGERS, WIDE, SPECIALS, TINY, KINDS };

static float draw(enum kind kind, struct slow_random *g)
{
    static const uint32_t special[] = { 0x7FC00000u, 0xFFC00001u, 0x7F800000u, 0xFF800000u, 0x80000000u, 0x00000000u,
                                        0x80000001u, 0x00800000u, 0x3F800000u, 0xBF800000u, 0x40C00000u, 0x7F7F0000u };

    switch (kind) {
    case INTEGERS: /* the grid on which ties lie */
        return (float)((int)(slow_draw(g) % 33) - 16);
    case WIDE:
        return slow_float((slow_draw(g) & 0x807FFFFFu) | (115u + slow_draw(g) % 16) << 23);
    case SPECIALS:
        return slow_draw(g) % 24 == 0 ? slow_float(special[slow_draw(g) % 12]) : slow_draw(g) % 3 ? slow_draw_normal(g) : 0.0F;
    case TINY:
        return slow_float(slow_draw(g) & 0x80FFFFFFu);
    default:
        return slow_draw_normal(g);
    }
}

static void *data_of(enum kind kind, enum fp4_dtype dtype, size_t rows, size_t cols, uint64_t seed)
{
    void *x = malloc(4 * rows * cols + 4);
    struct slow_random g = { seed };

    cr_assert(x);
    for (size_t i = 0; i < rows * cols; i++) {
        /* every fourth block is zeros of either sign, or is NaN throughout where there are NaN */
        const size_t block = i % cols / 16 + i / cols;
        const bool empty = kind == SPECIALS && block % 4 == 1;

        put(x, dtype, i, empty ? (block % 8 == 1 ? (i % 3 ? 0.0F : -0.0F) : slow_float(0x7FC00000u)) : draw(kind, &g));
    }
    return x;
}

/* ---- against the slow version ------------------------------------------------------------------------------------------------------ */

static void both_directions(const struct fp4_four_params *p, const void *x, const float *given, const char *what)
{
    const bool row = fp4_four_check(p, true, false, NULL) == 0;
    const bool col = fp4_four_check(p, row, true, NULL) == 0;
    struct outputs r = outputs_of(p, false), c = outputs_of(p, true);
    struct slow_four want;
    struct fp4_error err;
    char name[128];

    cr_assert(row);
    r.q.given_amax = c.q.given_amax = given;
    cr_assert_eq(fp4_four_over_six(p, x, &r.q, col ? &c.q : NULL, &r.s, col ? &c.s : NULL, &err), 0, "%s: %s", what, err.msg);
    slow_four_over_six(p, SLOW_RIGHT, x, false, given, &want);
    snprintf(name, sizeof name, "%s row", what);
    compare(&r, &want, name);
    slow_four_release(&want);
    if (col) {
        slow_four_over_six(p, SLOW_RIGHT, x, true, given, &want);
        snprintf(name, sizeof name, "%s transposed", what);
        compare(&c, &want, name);
        slow_four_release(&want);
    }
    outputs_release(&r);
    outputs_release(&c);
}

/* Everything that a recipe takes, on every kind of data. */
static void sweep(enum fp4_recipe recipe)
{
    static const enum fp4_dtype dtypes[] = { FP4_F32, FP4_BF16, FP4_F16 };
    unsigned ran = 0;

    for (unsigned knobs = 0; knobs < 64; knobs++) {
        for (unsigned d = 0; d < 3; d++) {
            for (enum kind kind = NORMAL; kind < KINDS; kind++) {
                const struct fp4_four_params p = { .recipe = recipe,
                                                   .input = dtypes[d],
                                                   .rows = 32,
                                                   .cols = 48,
                                                   .block_16x16 = knobs & 1,
                                                   .row_scaled = knobs & 2,
                                                   .bound = knobs & 4 ? 448 : 256,
                                                   .error = knobs & 8 ? FP4_FOUR_MSE : FP4_FOUR_MAE,
                                                   .fast_error = knobs & 16,
                                                   .nan = knobs & 32 ? FP4_FOUR_NAN_PROPAGATE : FP4_FOUR_NAN_DROP };
                char what[64];

                if (fp4_four_check(&p, true, false, NULL) != 0)
                    continue;
                void *x = data_of(kind, p.input, p.rows, p.cols, 7 * knobs + kind + 1);

                snprintf(what, sizeof what, "recipe %d knobs %u %s data %d", (int)recipe, knobs, fp4_dtype_name(p.input),
                         (int)kind);
                both_directions(&p, x, NULL, what);
                free(x);
                ran++;
            }
        }
    }
    cr_expect_geq(ran, 20u, "recipe %d: only %u combinations", (int)recipe, ran);
}

Test(four_over_six, torchao_against_the_slow_version)
{
    sweep(FP4_RECIPE_TORCHAO);
}

Test(four_over_six, te_against_the_slow_version)
{
    sweep(FP4_RECIPE_TE);
}

Test(four_over_six, te_fast_against_the_slow_version)
{
    sweep(FP4_RECIPE_TE_FAST);
}

Test(four_over_six, te_ref_against_the_slow_version)
{
    sweep(FP4_RECIPE_TE_REF);
}

Test(four_over_six, flashinfer_against_the_slow_version)
{
    sweep(FP4_RECIPE_FLASHINFER);
}

Test(four_over_six, fouroversix_against_the_slow_version)
{
    sweep(FP4_RECIPE_FOUROVERSIX);
}

/* Amaxes that are not the data's: too small, too large, zero, Inf, NaN, subnormal. */
Test(four_over_six, amaxes_that_are_given)
{
    static const uint32_t amaxes[] = { 0,           0x80000000u, 0x7F800000u, 0x7FC00000u, 0x3E800000u, 0x47000000u,
                                       0x00400000u, 0x05280000u, 0x7F7FFFFFu, 0x04C00000u, 0x00000001u, 0x3F800000u };
    static const struct {
        enum fp4_recipe recipe;
        enum fp4_four_nan nan;
    } recipes[] = { { FP4_RECIPE_TORCHAO, FP4_FOUR_NAN_DROP },     { FP4_RECIPE_TORCHAO, FP4_FOUR_NAN_PROPAGATE },
                    { FP4_RECIPE_TE, FP4_FOUR_NAN_DROP },          { FP4_RECIPE_TE_FAST, FP4_FOUR_NAN_DROP },
                    { FP4_RECIPE_TE_REF, FP4_FOUR_NAN_PROPAGATE }, { FP4_RECIPE_FLASHINFER, FP4_FOUR_NAN_DROP },
                    { FP4_RECIPE_FOUROVERSIX, FP4_FOUR_NAN_DROP } };

    for (unsigned r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        for (unsigned a = 0; a < sizeof amaxes / sizeof amaxes[0]; a++) {
            for (unsigned kind = 0; kind < 2 * KINDS; kind++) {
                struct fp4_four_params p = { .recipe = recipes[r].recipe,
                                             .input = FP4_BF16,
                                             .rows = 16,
                                             .cols = 32,
                                             .bound = 256,
                                             .row_scaled = kind >= KINDS,
                                             .nan = recipes[r].nan };
                float given[32];
                char what[64];

                if (fp4_four_check(&p, true, false, NULL) != 0)
                    continue;
                for (unsigned i = 0; i < 32; i++)
                    given[i] = slow_float(amaxes[(a + (kind >= KINDS ? i : 0)) % (sizeof amaxes / sizeof amaxes[0])]);
                void *x = data_of(kind % KINDS, p.input, p.rows, p.cols, 100 + kind);

                snprintf(what, sizeof what, "recipe %u amax %08" PRIx32 " data %u", r, amaxes[a], kind);
                both_directions(&p, x, given, what);
                free(x);
            }
        }
    }
}

Test(four_over_six, te_takes_the_rowwise_amax_for_both_directions)
{
    const struct fp4_four_params p = { .recipe = FP4_RECIPE_TE, .input = FP4_F32, .rows = 32, .cols = 32, .bound = 448 };
    void *x = data_of(NORMAL, FP4_F32, 32, 32, 5);
    struct outputs r = outputs_of(&p, false), c = outputs_of(&p, true);
    const float given = 9.0F, other = 20.0F;

    r.q.given_amax = &given;
    cr_assert_eq(fp4_four_over_six(&p, x, &r.q, &c.q, NULL, NULL, NULL), 0);
    cr_expect_eq(c.q.amax[0], given);
    c.q.given_amax = &other;
    cr_assert_eq(fp4_four_over_six(&p, x, &r.q, &c.q, NULL, NULL, NULL), 0);
    cr_expect_eq(c.q.amax[0], other);
    outputs_release(&r);
    outputs_release(&c);
    free(x);
}

/* Stages and the other direction change no byte; nothing but codes and scales is needed. */
Test(four_over_six, stages_are_optional)
{
    const struct fp4_four_params p = {
        .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16, .rows = 32, .cols = 64, .bound = 256, .block_16x16 = true
    };
    void *x = data_of(NORMAL, FP4_BF16, p.rows, p.cols, 11);
    struct outputs o = outputs_of(&p, false);
    uint8_t codes[32 * 32], scales[32 * 4];
    const struct fp4_quantized bare = { .codes = codes, .scales = scales };

    cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, &o.s, NULL, NULL), 0);
    cr_assert_eq(fp4_four_over_six(&p, x, &bare, NULL, NULL, NULL, NULL), 0);
    cr_expect_eq(memcmp(codes, o.q.codes, sizeof codes), 0);
    cr_expect_eq(memcmp(scales, o.q.scales, sizeof scales), 0);
    outputs_release(&o);
    free(x);
}

Test(four_over_six, a_row_scaled_row_is_that_row_alone)
{
    struct fp4_four_params p = {
        .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16, .rows = 64, .cols = 256, .bound = 256, .row_scaled = true
    };
    uint16_t *x = data_of(WIDE, FP4_BF16, p.rows, p.cols, 3);
    struct outputs all = outputs_of(&p, false);

    cr_assert_eq(fp4_four_over_six(&p, x, &all.q, NULL, NULL, NULL, NULL), 0);
    p.rows = 1;
    p.row_scaled = false;
    for (size_t r = 0; r < 64; r += 17) {
        struct outputs one = outputs_of(&p, false);

        cr_assert_eq(fp4_four_over_six(&p, x + r * p.cols, &one.q, NULL, NULL, NULL, NULL), 0);
        cr_expect_eq(memcmp(one.q.codes, all.q.codes + r * p.cols / 2, p.cols / 2), 0, "row %zu", r);
        cr_expect_eq(memcmp(one.q.scales, all.q.scales + r * p.cols / 16, p.cols / 16), 0, "row %zu", r);
        outputs_release(&one);
    }
    outputs_release(&all);
    free(x);
}

/* ---- known answers -------------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum slow_mistake mistake;
} mistakes[] = {
    { "standard-association", SLOW_STANDARD_ASSOCIATION },
    { "sixth", SLOW_SIXTH },
    { "inverted-amax", SLOW_INVERTED_AMAX },
    { "error-by-reciprocal", SLOW_ERROR_BY_RECIPROCAL },
    { "error-by-decode", SLOW_ERROR_BY_DECODE },
    { "error-by-dequantizer", SLOW_ERROR_BY_DEQUANTIZER },
    { "error-divided-first", SLOW_ERROR_DIVIDED_FIRST },
    { "error-fast", SLOW_ERROR_FAST },
    { "sum-pairwise", SLOW_SUM_PAIRWISE },
    { "sum-halves", SLOW_SUM_HALVES },
    { "sum-reversed", SLOW_SUM_REVERSED },
    { "sum-fused", SLOW_SUM_FUSED },
    { "tie-to-4", SLOW_TIE_TO_4 },
    { "flush", SLOW_FLUSH },
    { "no-saturation", SLOW_NO_SATURATION },
    { "cap-at-bound", SLOW_CAP_AT_BOUND },
};

static enum slow_mistake mistake_named(const struct kat *k, unsigned word)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        if (strcmp(kat_text(k, word), mistakes[i].name) == 0)
            return mistakes[i].mistake;
    }
    cr_assert_fail("%s line %u: no mistake is called '%s'", k->name, k->line_number, kat_text(k, word));
    return SLOW_RIGHT;
}

static float decimal(const char *text)
{
    const char *at = strchr(text, '*'); /* A*2^B, exact */

    return at ? ldexpf(strtof(text, NULL), atoi(at + 3)) : strtof(text, NULL);
}

/* A line's block: word `first` on are its elements, index=value where some are left out. */
static void elements(const struct kat *k, unsigned first, enum fp4_dtype dtype, size_t count, void *x)
{
    size_t at = 0;

    memset(x, 0, 4 * count);
    for (unsigned w = first; w < k->count; w++) {
        const char *word = kat_text(k, w), *equals = strchr(word, '=');

        if (equals)
            at = (size_t)atoi(word);
        cr_assert(at < count, "%s line %u: too many elements", k->name, k->line_number);
        put(x, dtype, at++, decimal(equals ? equals + 1 : word));
    }
}

/* BOUND ERROR AMAX SCALE CODES from word `first`: the parameters to *p and *amax. */
static void settings(const struct kat *k, unsigned first, struct fp4_four_params *p, float *amax)
{
    p->recipe = FP4_RECIPE_TORCHAO;
    p->input = FP4_BF16;
    p->rows = 1;
    p->cols = 16;
    p->bound = (unsigned)kat_decimal(k, first);
    p->error = (enum fp4_four_error)fp4_four_error_from_name(kat_text(k, first + 1));
    *amax = decimal(kat_text(k, first + 2));
}

static void expect_bytes(const struct kat *k, const char *who, unsigned scale, const uint8_t codes[8], unsigned word)
{
    char text[17];

    for (int i = 0; i < 8; i++)
        snprintf(text + 2 * i, 3, "%02x", codes[i]);
    CHECK(scale == kat_hex(k, word), "%s line %u: %s scale %02x, not %s", k->name, k->line_number, who, scale, kat_text(k, word));
    CHECK(strcmp(text, kat_text(k, word + 1)) == 0, "%s line %u: %s codes %s, not %s", k->name, k->line_number, who, text,
          kat_text(k, word + 1));
}

/* block BOUND ERROR AMAX SCALE CODES elements */
static void check_block(const struct kat *k)
{
    struct fp4_four_params p = { 0 };
    float amax, x[16];

    settings(k, 1, &p, &amax);
    elements(k, 6, p.input, 16, x);
    struct outputs o = outputs_of(&p, false);

    o.q.given_amax = &amax;
    cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, &o.s, NULL, NULL), 0);
    expect_bytes(k, "four-over-six", o.q.scales[0], o.q.codes, 4);
    outputs_release(&o);
}

/* errors BOUND ERROR AMAX exact|fast E6 E4 elements */
static void check_errors(const struct kat *k)
{
    struct fp4_four_params p = { 0 };
    float amax, x[16];

    settings(k, 1, &p, &amax);
    p.recipe = strcmp(kat_text(k, 4), "fast") == 0 ? FP4_RECIPE_TE_FAST : FP4_RECIPE_TE;
    elements(k, 7, p.input, 16, x);
    struct outputs o = outputs_of(&p, false);

    o.q.given_amax = &amax;
    cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, &o.s, NULL, NULL), 0);
    for (unsigned c = 0; c < 2; c++)
        CHECK(slow_bits(o.s.errors[c][0]) == kat_hex(k, 5 + c), "%s line %u: error %u is %08" PRIx32 ", not %s", k->name,
              k->line_number, c, slow_bits(o.s.errors[c][0]), kat_text(k, 5 + c));
    outputs_release(&o);
}

/* mistake NAME BOUND ERROR AMAX RIGHT-SCALE RIGHT-CODES WRONG-SCALE WRONG-CODES elements */
static void check_mistake(const struct kat *k)
{
    struct fp4_four_params p = { 0 };
    float amax, x[16];
    struct slow_four wrong;
    uint8_t codes[8];

    settings(k, 2, &p, &amax);
    elements(k, 9, p.input, 16, x);
    struct outputs o = outputs_of(&p, false);

    o.q.given_amax = &amax;
    cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, NULL, NULL, NULL), 0);
    expect_bytes(k, "right", o.q.scales[0], o.q.codes, 5);
    slow_four_over_six(&p, mistake_named(k, 1), x, false, &amax, &wrong);
    for (int i = 0; i < 8; i++)
        codes[i] = (uint8_t)(wrong.q.code[2 * i] | wrong.q.code[2 * i + 1] << 4);
    expect_bytes(k, kat_text(k, 1), wrong.q.scale[0], codes, 7);
    cr_expect(wrong.q.scale[0] != o.q.scales[0] || memcmp(codes, o.q.codes, 8) != 0, "line %u does not show the mistake",
              k->line_number);
    slow_four_release(&wrong);
    outputs_release(&o);
}

/* global RECIPE BOUND AMAX S */
static void check_global(const struct kat *k)
{
    struct fp4_four_params p = { .bound = (unsigned)kat_decimal(k, 2), .recipe = FP4_RECIPE_TORCHAO };

    if (strcmp(kat_text(k, 1), "propagate") == 0)
        p.nan = FP4_FOUR_NAN_PROPAGATE;
    else
        cr_assert_str_eq(kat_text(k, 1), "drop");
    const float got = fp4_four_global_scale(&p, slow_float((uint32_t)kat_hex(k, 3)));

    CHECK(slow_bits(got) == kat_hex(k, 4), "%s line %u: S is %08" PRIx32 ", not %s", k->name, k->line_number, slow_bits(got),
          kat_text(k, 4));
}

Test(four_over_six, known_answers)
{
    static const struct {
        const char *name;
        void (*check)(const struct kat *k);
    } kinds[] = { { "block", check_block }, { "errors", check_errors }, { "mistake", check_mistake }, { "global", check_global } };
    unsigned seen[4] = { 0 };
    struct kat k;

    for (kat_open(&k, "four-over-six"); kat_next(&k);) {
        size_t i = 0;

        while (i < 4 && strcmp(kat_text(&k, 0), kinds[i].name) != 0)
            i++;
        cr_assert(i < 4, "line %u: '%s'?", k.line_number, kat_text(&k, 0));
        kinds[i].check(&k);
        seen[i]++;
    }
    for (size_t i = 0; i < 4; i++)
        cr_expect_gt(seen[i], 5u, "only %u lines '%s'", seen[i], kinds[i].name);
    cr_expect_geq(seen[2], sizeof mistakes / sizeof mistakes[0]);
}

/* ---- digests of whole tensors -------------------------------------------------------------------------------------------------------- */

static uint32_t crc32_of(const void *data, size_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;

    for (size_t i = 0; i < bytes; i++) {
        crc ^= ((const uint8_t *)data)[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1u ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* About normal: twelve 16-bit integers added and centred. */
static float ih12(uint64_t *state)
{
    int32_t sum = 0;

    for (int word = 0; word < 3; word++) {
        const uint64_t z = splitmix(state);

        for (int i = 0; i < 4; i++)
            sum += (int32_t)(z >> 16 * i & 0xFFFFu);
    }
    return (float)(2 * sum - 786420) / 131072.0F;
}

/* A line from -12 to 12 of n / 2 points and each point's neighbour, a thousandth away from zero. */
static float boundary(size_t i, size_t n)
{
    const size_t points = n / 2, at = i / 2;
    const float step = slow_div(24.0F, (float)(points - 1));
    const float base = at < points / 2 ? slow_fma(step, (float)at, -12.0F) : slow_fma(-step, (float)(points - 1 - at), 12.0F);

    return i % 2 == 0 ? base : slow_add(base, base < 0 ? -1e-3F : 1e-3F);
}

/* DATA ROWS COLS DTYPE INPUT BLOCK AMAX, then CODES SCALES PICKS for mae 256, mae 448, mse 256, mse 448 */
Test(four_over_six, digests)
{
    unsigned lines = 0;
    struct kat k;

    for (kat_open(&k, "four-over-six-digests"); kat_next(&k); lines++) {
        struct fp4_four_params p = { .recipe = FP4_RECIPE_TORCHAO,
                                     .input = (enum fp4_dtype)fp4_dtype_from_name(kat_text(&k, 3)),
                                     .rows = kat_decimal(&k, 1),
                                     .cols = kat_decimal(&k, 2),
                                     .block_16x16 = strcmp(kat_text(&k, 5), "16x16") == 0,
                                     .row_scaled = strcmp(kat_text(&k, 6), "row") == 0 };
        const size_t n = p.rows * p.cols;
        void *x = malloc(4 * n);
        uint64_t state = 0x46;

        cr_assert(x);
        for (size_t i = 0; i < n; i++)
            put(x, p.input, i, strcmp(kat_text(&k, 0), "boundary") == 0 ? boundary(i, n) : ih12(&state));
        const uint32_t input = crc32_of(x, fp4_dtype_bytes(p.input, n));

        cr_assert_eq(input, kat_hex(&k, 4), "line %u: the input is %08" PRIx32, k.line_number, input);
        for (unsigned setting = 0; setting < 4; setting++) {
            p.error = setting / 2 ? FP4_FOUR_MSE : FP4_FOUR_MAE;
            p.bound = setting % 2 ? 448 : 256;
            struct outputs o = outputs_of(&p, false);
            unsigned picks = 0;

            cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, &o.s, NULL, NULL), 0);
            for (size_t i = 0; i < n / 16; i++)
                picks += o.s.pick[i];
            const uint32_t codes = crc32_of(o.q.codes, n / 2), scales = crc32_of(o.q.scales, n / 16);

            CHECK(codes == kat_hex(&k, 7 + 3 * setting) && scales == kat_hex(&k, 8 + 3 * setting) &&
                      picks == kat_decimal(&k, 9 + 3 * setting),
                  "digests line %u setting %u: %08" PRIx32 " %08" PRIx32 " %u", k.line_number, setting, codes, scales, picks);
            outputs_release(&o);
        }
        free(x);
    }
    cr_expect_eq(lines, 44u, "%u lines", lines);
}

/* ---- NaN, Inf, zero -------------------------------------------------------------------------------------------------------------------- */

static struct outputs one_block(enum fp4_four_nan nan, const float *x, float amax)
{
    const struct fp4_four_params p = {
        .recipe = FP4_RECIPE_TORCHAO, .input = FP4_F32, .rows = 1, .cols = 16, .bound = 256, .nan = nan
    };
    struct outputs o = outputs_of(&p, false);

    o.q.given_amax = &amax;
    cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, &o.s, NULL, NULL), 0);
    o.q.given_amax = NULL;
    return o;
}

Test(four_over_six, nan_is_dropped_or_propagated)
{
    const float nan = slow_float(0xFFC00123u);
    const float some[16] = { nan, 1, -1, 0.5F };
    float all[16], none[16] = { 1, -1, 0.5F, -0.0F, 0.25F };
    struct outputs o;

    for (int i = 0; i < 16; i++)
        all[i] = nan;
    o = one_block(FP4_FOUR_NAN_DROP, some, 1);
    cr_expect(o.q.scales[0] == 0x78 && memcmp(o.q.codes, "\x77\x5F\0\0\0\0\0\0", 8) == 0, "the others decide the scale");
    cr_expect(slow_bits(o.s.errors[0][0]) == 0x7FFFFFFFu && o.s.pick[0] == FP4_MAP_TO_6);
    outputs_release(&o);
    o = one_block(FP4_FOUR_NAN_DROP, all, 1);
    cr_expect(o.q.scales[0] == 0x00 && memcmp(o.q.codes, "wwwwwwww", 8) == 0, "nothing but NaN");
    outputs_release(&o);
    o = one_block(FP4_FOUR_NAN_DROP, none, nan);
    cr_expect(o.q.scales[0] == 0x7E && memcmp(o.q.codes, "\xF7\x87\x07\0\0\0\0\0", 8) == 0, "an amax of NaN");
    outputs_release(&o);
    o = one_block(FP4_FOUR_NAN_PROPAGATE, some, 1);
    cr_expect(o.q.scales[0] == 0x7F && memcmp(o.q.codes, "wwwwwwww", 8) == 0, "the whole block is NaN");
    outputs_release(&o);
    o = one_block(FP4_FOUR_NAN_PROPAGATE, none, nan);
    cr_expect(o.q.scales[0] == 0x7F && memcmp(o.q.codes, "wwwwwwww", 8) == 0, "an amax of NaN");
    cr_expect_eq(slow_bits(o.q.global_scale[0]), 0x7FFFFFFFu);
    outputs_release(&o);
}

/* One NaN in a tile: all of its rows have scale 0x7F, or the other elements decide and map-to-6 is stored. */
Test(four_over_six, nan_in_a_tile)
{
    struct fp4_four_params p = {
        .recipe = FP4_RECIPE_TORCHAO, .input = FP4_F32, .rows = 16, .cols = 16, .bound = 256, .block_16x16 = true
    };
    float x[256];
    const float amax = 16;

    for (int i = 0; i < 256; i++)
        x[i] = (float)(i % 16 + 1);
    x[16 * 3 + 5] = slow_float(0x7FC00000u);
    for (p.nan = FP4_FOUR_NAN_DROP; p.nan <= FP4_FOUR_NAN_PROPAGATE; p.nan++) {
        struct outputs o = outputs_of(&p, false);

        o.q.given_amax = &amax;
        cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, &o.s, NULL, NULL), 0);
        for (int r = 0; r < 16; r++) {
            CHECK(o.q.scales[r] == (p.nan == FP4_FOUR_NAN_DROP ? 0x78 : 0x7F), "row %d: %02x", r, o.q.scales[r]);
            CHECK(o.s.pick[r] == FP4_MAP_TO_6, "row %d", r);
        }
        cr_expect_eq(code_at(o.q.codes, 16 * 3 + 5), 7u);
        outputs_release(&o);
    }
}

/* Python code, which has no sign for a scaled zero, and FlashInfer, which does not look at the signs of a block of zeros. */
Test(four_over_six, minus_zero)
{
    static const struct {
        enum fp4_recipe recipe;
        unsigned beside_one, alone;
    } rows[] = { { FP4_RECIPE_TORCHAO, 0x87, 0x80 },
                 { FP4_RECIPE_TE, 0x87, 0x80 },
                 { FP4_RECIPE_TE_REF, 0x07, 0x00 },
                 { FP4_RECIPE_FLASHINFER, 0x87, 0x00 },
                 { FP4_RECIPE_FOUROVERSIX, 0x87, 0x80 } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct fp4_four_params p = { .recipe = rows[i].recipe,
                                           .input = FP4_BF16,
                                           .rows = 2,
                                           .cols = 16,
                                           .bound = 256,
                                           .nan =
                                               rows[i].recipe == FP4_RECIPE_TE_REF ? FP4_FOUR_NAN_PROPAGATE : FP4_FOUR_NAN_DROP };
        uint16_t x[32] = { 0x3F80, 0x8000, [16] = 0, 0x8000 };
        struct outputs o = outputs_of(&p, false);

        cr_assert_eq(fp4_four_over_six(&p, x, &o.q, NULL, NULL, NULL, NULL), 0);
        CHECK(o.q.codes[0] == rows[i].beside_one && o.q.codes[8] == rows[i].alone, "recipe %d: %02x %02x", (int)rows[i].recipe,
              o.q.codes[0], o.q.codes[8]);
        outputs_release(&o);
    }
}

/* ---- tiles -------------------------------------------------------------------------------------------------------------------------------- */

/* The two directions sum the same 256 terms in two orders, and here choose differently; a serial sum over the lines would not. */
Test(four_over_six, the_directions_of_a_tile_choose_on_their_own)
{
    const struct fp4_four_params p = {
        .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16, .rows = 16, .cols = 16, .bound = 256, .block_16x16 = true
    };
    uint16_t x[256] = { 0x4120, 0xBF80, 0x4140, 0x3F80 }; /* 10, -1, 12, 1 */
    struct outputs r = outputs_of(&p, false), c = outputs_of(&p, true);
    struct slow_four wrong;
    const float amax = 157;

    r.q.given_amax = c.q.given_amax = &amax;
    cr_assert_eq(fp4_four_over_six(&p, x, &r.q, &c.q, &r.s, &c.s, NULL), 0);
    cr_expect(r.s.pick[0] == FP4_MAP_TO_6 && r.q.scales[0] == 0x5A, "%02x", r.q.scales[0]);
    cr_expect(c.s.pick[0] == FP4_MAP_TO_4 && c.q.scales[0] == 0x5F, "%02x", c.q.scales[0]);
    slow_four_over_six(&p, SLOW_TILE_SERIAL, x, true, &amax, &wrong);
    cr_expect_eq(wrong.q.scale[0], 0x5A);
    slow_four_release(&wrong);
    outputs_release(&r);
    outputs_release(&c);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------------------------------ */

Test(four_over_six, refusals)
{
    enum { ROW = 1, COL = 2 };
    static const struct {
        /* recipe, input, rows, cols, 16x16, row-scaled, bound, error, fast, nan */
        struct fp4_four_params p;
        int directions;
        enum fp4_code code;
        const char *words;
    } rows[] = {
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 64, 0, 0, 256, 0, 0, 0 }, 0, FP4_EUSAGE, "neither" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 64, 0, 0, 384, 0, 0, 0 }, ROW, FP4_EUSAGE, "not 384" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 64, 0, 0, 256, 2, 0, 0 }, ROW, FP4_EUSAGE, "mae or mse" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 64, 0, 0, 256, 0, 0, 2 }, ROW, FP4_EUSAGE, "drop or propagate" },
        { { FP4_RECIPE_TORCHAO, FP4_U8, 32, 64, 0, 0, 256, 0, 0, 0 }, ROW, FP4_EUSAGE, "not u8" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 72, 0, 0, 256, 0, 0, 0 }, ROW, FP4_EUSAGE, "not 72" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 24, 64, 0, 0, 256, 0, 0, 0 }, COL, FP4_EUSAGE, "not 24" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 24, 64, 1, 0, 256, 0, 0, 0 }, ROW, FP4_EUSAGE, "not 24" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 72, 1, 0, 256, 0, 0, 0 }, COL, FP4_EUSAGE, "not 72" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 64, 1, 1, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "16x16" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 32, 64, 0, 0, 256, 0, 1, 0 }, ROW, FP4_ESUPPORT, "fast error" },
        { { FP4_RECIPE_FP4SM120, FP4_BF16, 32, 64, 0, 0, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "no four-over-six" },
        { { FP4_RECIPE_TE, FP4_BF16, 32, 64, 0, 1, 256, 0, 0, 0 }, ROW | COL, FP4_ESUPPORT, "transposed" },
        { { FP4_RECIPE_TE_FAST, FP4_BF16, 32, 64, 0, 1, 256, 0, 0, 0 }, COL, FP4_ESUPPORT, "transposed" },
        { { FP4_RECIPE_TE, FP4_BF16, 32, 64, 1, 0, 256, 0, 0, 0 }, COL, FP4_ESUPPORT, "rowwise" },
        { { FP4_RECIPE_TE, FP4_BF16, 32, 64, 0, 0, 256, 0, 0, 1 }, ROW, FP4_ESUPPORT, "propagate" },
        { { FP4_RECIPE_TE_REF, FP4_BF16, 32, 64, 0, 0, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "drop" },
        { { FP4_RECIPE_FLASHINFER, FP4_F32, 32, 64, 0, 0, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "f32" },
        { { FP4_RECIPE_FLASHINFER, FP4_BF16, 32, 64, 1, 0, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "16x16" },
        { { FP4_RECIPE_FLASHINFER, FP4_BF16, 32, 64, 0, 0, 256, 0, 0, 0 }, COL, FP4_ESUPPORT, "transposed" },
        { { FP4_RECIPE_FOUROVERSIX, FP4_BF16, 32, 64, 0, 0, 448, 0, 0, 0 }, ROW, FP4_ESUPPORT, "256" },
        { { FP4_RECIPE_FOUROVERSIX, FP4_BF16, 32, 64, 0, 1, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "one amax" },
        { { FP4_RECIPE_FOUROVERSIX, FP4_BF16, 32, 64, 0, 0, 256, 0, 1, 0 }, ROW, FP4_ESUPPORT, "exact" },
        { { FP4_RECIPE_FOUROVERSIX, FP4_F32, 32, 64, 0, 0, 256, 0, 0, 0 }, ROW, FP4_ESUPPORT, "f32" },
        { { FP4_RECIPE_TORCHAO, FP4_BF16, 0, 64, 0, 0, 256, 0, 0, 0 }, ROW | COL, FP4_OK, "" }, /* nothing to do is no fault */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };
        const int status = fp4_four_check(&rows[i].p, rows[i].directions & ROW, rows[i].directions & COL, &err);

        cr_expect_eq(status, rows[i].code == FP4_OK ? 0 : -1, "row %zu", i);
        cr_expect_eq(err.code, rows[i].code, "row %zu: %s", i, err.msg);
        cr_expect(strstr(err.msg, rows[i].words) != NULL, "row %zu: '%s' does not say '%s'", i, err.msg, rows[i].words);
    }
}

Test(four_over_six, refuses_missing_buffers)
{
    const struct fp4_four_params p = { .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16, .rows = 16, .cols = 64, .bound = 256 };
    uint8_t codes[1];
    const struct fp4_quantized no_scales = { .codes = codes };
    const uint16_t x[1] = { 0 };
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(fp4_four_over_six(&p, x, &no_scales, NULL, NULL, NULL, &err), -1);
    cr_expect_eq(err.code, FP4_EUSAGE);
}

Test(four_over_six, names)
{
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(fp4_four_error_from_name(fp4_four_error_name((enum fp4_four_error)i)), i);
        cr_expect_eq(fp4_four_nan_from_name(fp4_four_nan_name((enum fp4_four_nan)i)), i);
    }
    cr_expect_eq(fp4_four_error_from_name("MAE"), -1);
    cr_expect_eq(fp4_four_nan_from_name(""), -1);
    cr_expect_null(fp4_four_error_name((enum fp4_four_error)2));
    cr_expect_null(fp4_four_nan_name((enum fp4_four_nan)2));
}

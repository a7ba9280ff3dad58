/* SPDX-License-Identifier: Apache-2.0 */
/* quantize: every recipe, block shape, output and stage against the naive version; worked blocks; special values. */
#include "check.h"
#include "kat.h"
#include "slow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, POISON = 0xA5 };

/* ---- outputs with guard bytes ---------------------------------------------------------------------------------------------- */

static void *guarded(size_t bytes)
{
    uint8_t *p = malloc(bytes + GUARD);

    cr_assert(p);
    memset(p, POISON, bytes + GUARD);
    return p;
}

static bool guard_intact(const void *p, size_t bytes)
{
    for (size_t i = 0; i < GUARD; i++) {
        if (((const uint8_t *)p)[bytes + i] != POISON)
            return false;
    }
    return true;
}

struct sizes {
    size_t lines, packed, blocks, amaxes;
};

static struct sizes sizes_of(const struct fp4_quantize_params *p, bool transposed)
{
    const size_t lines = transposed ? p->cols : p->rows;
    const size_t packed = transposed ? p->rows : p->cols;

    return (struct sizes){ lines, packed, (packed + 15) / 16, p->row_scaled ? lines : 1 };
}

static struct fp4_quantized outputs(struct sizes s)
{
    struct fp4_quantized q = { 0 };

    q.codes = guarded(s.lines * (s.packed / 2));
    q.scales = guarded(s.lines * s.blocks);
    q.amax = guarded(s.amaxes * 4);
    q.global_scale = guarded(s.amaxes * 4);
    q.block_amax = guarded(s.lines * s.blocks * 4);
    q.scaled = guarded(s.lines * s.packed * 4);
    q.rbits = guarded(s.lines * ((s.packed + 3) / 4) * 4);
    q.dequantized = guarded(s.lines * s.packed * 4);
    return q;
}

static void release(struct fp4_quantized *q)
{
    free(q->codes);
    free(q->scales);
    free(q->amax);
    free(q->global_scale);
    free(q->block_amax);
    free(q->scaled);
    free(q->rbits);
    free(q->dequantized);
}

static unsigned code_at(const struct fp4_quantized *q, struct sizes s, size_t line, size_t k)
{
    return (unsigned)q->codes[line * (s.packed / 2) + k / 2] >> (k % 2 * 4) & 15u;
}

static void check_direction(const char *what, const struct fp4_quantize_params *p, bool transposed, const struct fp4_quantized *got,
                            const struct slow_quantized *want)
{
    const struct sizes s = sizes_of(p, transposed);
    const char *direction = transposed ? "col" : "row";
    const size_t words = (s.packed + 3) / 4;

    for (size_t line = 0; line < s.lines; line++) {
        const size_t a = p->row_scaled ? line : 0;

        CHECK(slow_bits(got->amax[a]) == slow_bits(want->amax[line]), "%s %s line %zu: amax %08" PRIx32 ", not %08" PRIx32, what,
              direction, line, slow_bits(got->amax[a]), slow_bits(want->amax[line]));
        CHECK(slow_bits(got->global_scale[a]) == slow_bits(want->global_scale[line]),
              "%s %s line %zu: global scale %08" PRIx32 ", not %08" PRIx32, what, direction, line, slow_bits(got->global_scale[a]),
              slow_bits(want->global_scale[line]));
        for (size_t b = 0; b < s.blocks; b++) {
            const size_t i = line * s.blocks + b;

            CHECK(slow_bits(got->block_amax[i]) == slow_bits(want->block_amax[i]),
                  "%s %s line %zu block %zu: block amax %08" PRIx32 ", not %08" PRIx32, what, direction, line, b,
                  slow_bits(got->block_amax[i]), slow_bits(want->block_amax[i]));
            CHECK(got->scales[i] == want->scale[i], "%s %s line %zu block %zu: scale %02x, not %02x", what, direction, line, b,
                  got->scales[i], want->scale[i]);
        }
        for (size_t w = 0; w < words && p->stochastic; w++)
            CHECK(got->rbits[line * words + w] == want->rbits[line * words + w],
                  "%s %s line %zu word %zu: %08" PRIx32 ", not %08" PRIx32, what, direction, line, w, got->rbits[line * words + w],
                  want->rbits[line * words + w]);
        for (size_t k = 0; k < s.packed; k++) {
            const size_t i = line * s.packed + k;

            CHECK(slow_bits(got->scaled[i]) == slow_bits(want->scaled[i]),
                  "%s %s line %zu element %zu: scaled %08" PRIx32 ", not %08" PRIx32, what, direction, line, k,
                  slow_bits(got->scaled[i]), slow_bits(want->scaled[i]));
            CHECK(code_at(got, s, line, k) == want->code[i], "%s %s line %zu element %zu: code %x, not %x", what, direction, line,
                  k, code_at(got, s, line, k), want->code[i]);
            CHECK(slow_bits(got->dequantized[i]) == slow_bits(want->dequantized[i]),
                  "%s %s line %zu element %zu: dequantized %08" PRIx32 ", not %08" PRIx32, what, direction, line, k,
                  slow_bits(got->dequantized[i]), slow_bits(want->dequantized[i]));
        }
    }
    CHECK(guard_intact(got->codes, s.lines * (s.packed / 2)), "%s %s: codes written too far", what, direction);
    CHECK(guard_intact(got->scales, s.lines * s.blocks), "%s %s: scales written too far", what, direction);
    CHECK(guard_intact(got->amax, s.amaxes * 4) && guard_intact(got->global_scale, s.amaxes * 4), "%s %s: amax too far", what,
          direction);
    CHECK(guard_intact(got->block_amax, s.lines * s.blocks * 4), "%s %s: block amax written too far", what, direction);
    CHECK(guard_intact(got->scaled, s.lines * s.packed * 4), "%s %s: scaled written too far", what, direction);
    CHECK(guard_intact(got->rbits, s.lines * words * 4), "%s %s: words written too far", what, direction);
    CHECK(guard_intact(got->dequantized, s.lines * s.packed * 4), "%s %s: dequantized written too far", what, direction);
}

enum { ROW = 1, COL = 2 };

struct given {
    const float *row_amax, *col_amax;
    const uint32_t *row_rbits, *col_rbits;
};

static const struct given nothing_given;

/* Runs both versions and compares everything. what names the row in messages. */
static void check_case(const char *what, const struct fp4_quantize_params *p, const void *x, unsigned directions,
                       struct given given)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_quantized out[2];
    char name[256];

    snprintf(name, sizeof name, "%s: recipe %d %s %zux%zu%s%s%s", what, p->recipe, fp4_dtype_name(p->input), p->rows, p->cols,
             p->block_16x16 ? " 16x16" : "", p->row_scaled ? " row-scaled" : "", p->stochastic ? " sr" : "");
    for (unsigned d = 0; d < 2; d++)
        out[d] = outputs(sizes_of(p, d == 1));
    out[0].given_amax = given.row_amax;
    out[1].given_amax = given.col_amax;
    out[0].given_rbits = given.row_rbits;
    out[1].given_rbits = given.col_rbits;
    cr_assert_eq(fp4_quantize(p, x, directions & ROW ? &out[0] : NULL, directions & COL ? &out[1] : NULL, &err), 0, "%s: %s", name,
                 err.msg);
    for (unsigned d = 0; d < 2; d++) {
        if (directions & (d == 0 ? ROW : COL)) {
            struct slow_quantized want;

            slow_quantize(p, x, d == 1, directions == (ROW | COL), d == 0 ? given.row_amax : given.col_amax,
                          d == 0 ? given.row_rbits : given.col_rbits, &want);
            check_direction(name, p, d == 1, &out[d], &want);
            slow_quantized_release(&want);
        }
        release(&out[d]);
    }
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------------ */

enum data { NORMAL, GRID, HEAVY, TIES, SMALL, SPECIAL, DATA_COUNT };
static const char *const data_name[DATA_COUNT] = { "normal", "grid", "heavy", "ties", "small", "special" };

/* A value for one element. TIES: with the block maximum 6 and amax 6 * 2^k all products fall on or next to E2M1 boundaries. */
static float draw_value(struct slow_random *g, enum data data, size_t r, size_t c)
{
    static const float middle[8] = { 0.25F, 0.75F, 1.25F, 1.75F, 2.5F, 3.5F, 5.0F, 6.0F };
    static const uint32_t special[10] = { 0x7FC00000u, 0xFFC00001u, 0x7F800000u, 0xFF800000u, 0x80000000u,
                                          0x00000000u, 0x00010000u, 0x80400000u, 0x7F7F0000u, 0xFF810000u };
    const float v = slow_draw_normal(g);

    switch (data) {
    case GRID:
        return (float)((int)(slow_draw(g) % 49) - 24) / 4.0F;
    case HEAVY:
        return slow_draw(g) % 50 == 0 ? v * 256.0F : v * 0.03125F;
    case TIES:
        if ((r + c) % 16 == 0)
            return 6.0F;
        return slow_draw(g) % 2 ? middle[slow_draw(g) % 8] : -middle[slow_draw(g) % 8];
    case SMALL:
        if (slow_draw(g) % 3 == 0)
            return slow_draw(g) % 2 ? -0.0F : 0.0F;
        return slow_float((slow_draw(g) & 0x80FFFFFFu) % 0x80FFFFFFu); /* subnormals and the smallest binade */
    case SPECIAL:
        if (slow_draw(g) % 12 == 0)
            return slow_float(special[slow_draw(g) % 10]);
        return v;
    default:
        return v;
    }
}

/* A matrix in the storage of its dtype. Now and then a block of 16 is all zero. */
static void *make_input(struct slow_random *g, enum fp4_dtype dtype, enum data data, size_t rows, size_t cols)
{
    void *x = calloc(rows * cols, 4);

    cr_assert(x);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < cols; c++) {
            const float v = (r / 16 + c / 16) % 5 == 4 ? 0.0F : draw_value(g, data, r, c);

            if (dtype == FP4_F32)
                ((float *)x)[r * cols + c] = v;
            else
                ((uint16_t *)x)[r * cols + c] = (uint16_t)(dtype == FP4_BF16 ? slow_bf16(v) : slow_f16(v));
        }
    }
    return x;
}

static const size_t sizes[][2] = { { 32, 32 }, { 64, 96 }, { 16, 16 }, { 48, 80 }, { 20, 36 }, { 2, 2 }, { 6, 34 }, { 160, 128 } };
enum { SIZES = sizeof sizes / sizeof sizes[0] };
static const enum fp4_dtype dtypes[3] = { FP4_F32, FP4_F16, FP4_BF16 };

static struct fp4_quantize_params params(enum fp4_recipe recipe, enum fp4_dtype input, const size_t size[2])
{
    return (struct fp4_quantize_params){
        .recipe = recipe, .input = input, .rows = size[0], .cols = size[1], .stream = FP4_STREAM_AUTO, .philox_rounds = 10
    };
}

/* ---- nearest ------------------------------------------------------------------------------------------------------------------- */

static void sweep_recipe(enum fp4_recipe recipe, bool with_specials)
{
    struct slow_random g = { 31 + (uint64_t)recipe };

    for (size_t s = 0; s < SIZES; s++) {
        for (size_t d = 0; d < 3; d++) {
            for (int data = 0; data < (with_specials ? DATA_COUNT : SPECIAL); data++) {
                struct fp4_quantize_params p = params(recipe, dtypes[d], sizes[s]);
                void *x = make_input(&g, dtypes[d], (enum data)data, p.rows, p.cols);

                check_case(data_name[data], &p, x, ROW | COL, nothing_given);
                check_case(data_name[data], &p, x, ROW, nothing_given);
                check_case(data_name[data], &p, x, COL, nothing_given);
                p.block_16x16 = true;
                check_case(data_name[data], &p, x, ROW | COL, nothing_given);
                p.block_16x16 = false;
                p.row_scaled = true;
                check_case(data_name[data], &p, x, ROW, nothing_given);
                free(x);
            }
        }
    }
}

Test(quantize, te_nearest)
{
    sweep_recipe(FP4_RECIPE_TE, true);
}

Test(quantize, te_reference_nearest)
{
    sweep_recipe(FP4_RECIPE_TE_REF, false);
}

Test(quantize, torchao_nearest)
{
    sweep_recipe(FP4_RECIPE_TORCHAO, false);
}

Test(quantize, te_fast_math_nearest_and_stochastic)
{
    static const struct fp4_rs_model models[] = { { FP4_RS_TRUNC, FP4_MAP_B300, NULL },
                                                  { FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT, NULL } };
    struct slow_random g = { 32 };

    for (size_t s = 0; s < SIZES; s++) {
        if (sizes[s][0] % 32 != 0 || sizes[s][1] % 32 != 0)
            continue; /* fast math exists in the tuned kernel only */
        for (int data = 0; data < DATA_COUNT; data++) {
            struct fp4_quantize_params p = params(FP4_RECIPE_TE_FAST, FP4_BF16, sizes[s]);
            void *x = make_input(&g, FP4_BF16, (enum data)data, p.rows, p.cols);

            check_case(data_name[data], &p, x, ROW | COL, nothing_given);
            check_case(data_name[data], &p, x, ROW, nothing_given);
            p.stochastic = true;
            p.seed = 5;
            for (size_t m = 0; m < 2; m++) {
                p.rs = models[m];
                check_case(data_name[data], &p, x, ROW | COL, nothing_given);
            }
            p.stochastic = false;
            p.row_scaled = true;
            check_case(data_name[data], &p, x, ROW, nothing_given);
            free(x);
        }
    }
}

/* TE 10.24: the fast coefficient is bf16(S_enc / sf), not bf16(1 / (sf * (1 / S_enc))). The two differ only next to a tie
 * of two bf16 numbers, so amaxes are searched for that lead there. */
Test(quantize, te_fast_math_divides_the_global_scale_by_the_block_scale)
{
    static const size_t size[2] = { 32, 32 };
    const struct fp4_quantize_params p = params(FP4_RECIPE_TE_FAST, FP4_BF16, size);
    struct slow_random g = { 41 };
    unsigned found = 0;

    for (unsigned i = 0; i < 2000 && found < 40; i++) {
        const float sf = (float)slow_e4m3_value(8 + slow_draw(&g) % 119);
        const float tie = slow_float(0x3F808000u + (slow_draw(&g) % 256 << 16));
        const float amax = slow_div(2688.0F, slow_mul(tie, sf));
        const float s_enc = slow_global_scale(FP4_RECIPE_TE, amax, 448);
        const float direct = slow_div(s_enc, sf);
        const float detour = slow_div(1.0F, slow_mul(sf, slow_div(1.0F, s_enc)));
        uint16_t x[32 * 32];

        if (slow_bf16(direct) == slow_bf16(detour))
            continue;
        found++;
        for (size_t k = 0; k < 32 * 32; k++)
            x[k] = (uint16_t)slow_bf16((k % 16 == 5 ? 6.0F : slow_draw_uniform(&g, -6.0F, 6.0F)) * (sf / s_enc));
        check_case("bf16 coefficient", &p, x, ROW | COL, (struct given){ &amax, &amax, NULL, NULL });
    }
    cr_assert_eq(found, 40u, "only %u pairs found", found);
}

Test(quantize, row_scaled_with_both_outputs)
{
    struct slow_random g = { 33 };

    for (size_t s = 0; s < 2; s++) {
        for (int data = 0; data < DATA_COUNT; data++) {
            struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_BF16, sizes[s]);
            void *x = make_input(&g, FP4_BF16, (enum data)data, p.rows, p.cols);

            p.row_scaled = true;
            check_case(data_name[data], &p, x, ROW | COL, nothing_given);
            if (data != SPECIAL) {
                p.recipe = FP4_RECIPE_TE_REF;
                check_case(data_name[data], &p, x, ROW | COL, nothing_given);
            }
            free(x);
        }
    }
}

/* 96 x 64 blocks, each with its own maximum, against amaxes of every kind: the scale bytes meet all codes and many ties. */
Test(quantize, scale_bytes_on_and_next_to_e4m3_ties)
{
    static const float amax[] = { 1.0F, 1.5F, 3.0F, 6.0F, 12.0F, 0.75F, 2688.0F, 448.0F, 500.0F, 1000.0F, 0.001F, 7.0F, 10.0F };
    static const size_t size[2] = { 64, 1536 };
    struct slow_random g = { 34 };
    float *x = calloc(size[0] * size[1], sizeof *x);

    cr_assert(x);
    for (size_t a = 0; a < sizeof amax / sizeof amax[0]; a++) {
        const struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_F32, size);

        for (size_t b = 0; b < size[0] * size[1] / 16; b++) {
            /* a block maximum near tie * amax / 448, where tie lies between two E4M3 codes */
            const unsigned code = slow_draw(&g) % 0x7E;
            const double tie = (slow_e4m3_value(code) + slow_e4m3_value(code + 1)) / 2;
            const float vmax = slow_float(slow_bits((float)(tie / 448.0 * (double)amax[a])) + slow_draw(&g) % 3 - 1);

            for (size_t k = 0; k < 16; k++)
                x[16 * b + k] = k == 3 ? -vmax : slow_draw_uniform(&g, -1.0F, 1.0F) * vmax;
        }
        check_case("e4m3 ties", &p, x, ROW, (struct given){ &amax[a], NULL, NULL, NULL });
    }
    free(x);
}

/* ---- stochastic ------------------------------------------------------------------------------------------------------------------ */

static const struct fp4_rs_model sr_models[] = { { FP4_RS_TRUNC, FP4_MAP_B300, NULL },
                                                 { FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT, NULL },
                                                 { FP4_RS_HALF, FP4_MAP_REVERSE, NULL },
                                                 { FP4_RS_HASH32, FP4_MAP_B300, NULL } };

Test(quantize, te_stochastic_with_te_dispatch)
{
    struct slow_random g = { 35 };

    for (size_t s = 0; s < SIZES; s++) {
        for (size_t d = 0; d < 3; d++) {
            for (size_t m = 0; m < 4; m++) {
                struct fp4_quantize_params p = params(FP4_RECIPE_TE, dtypes[d], sizes[s]);
                void *x = make_input(&g, dtypes[d], m == 3 ? SPECIAL : NORMAL, p.rows, p.cols);

                p.stochastic = true;
                p.rs = sr_models[m];
                p.seed = UINT64_C(0x0123456789ABCDEF) + m;
                p.offset = m == 2 ? UINT32_MAX : m == 3 ? UINT64_MAX - 1 : 7;
                p.philox_rounds = m == 1 ? 7 : 10;
                check_case("te sr", &p, x, ROW | COL, nothing_given);
                check_case("te sr", &p, x, ROW, nothing_given);
                check_case("te sr", &p, x, COL, nothing_given);
                p.block_16x16 = true;
                check_case("te sr", &p, x, ROW | COL, nothing_given);
                check_case("te sr", &p, x, ROW, nothing_given);
                check_case("te sr", &p, x, COL, nothing_given);
                free(x);
            }
        }
    }
}

Test(quantize, every_stream_by_name)
{
    static const enum fp4_stream row_and_col[] = { FP4_STREAM_TUNED, FP4_STREAM_2D, FP4_STREAM_VECTOR };
    static const size_t size[2] = { 160, 288 };
    struct slow_random g = { 36 };
    void *x = make_input(&g, FP4_BF16, NORMAL, size[0], size[1]);
    struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_BF16, size);

    p.stochastic = true;
    p.rs = sr_models[0];
    p.seed = 12345;
    for (size_t i = 0; i < 3; i++) {
        p.stream = row_and_col[i];
        check_case("stream", &p, x, ROW | COL, nothing_given);
        check_case("stream", &p, x, ROW, nothing_given);
    }
    p.stream = FP4_STREAM_GROUP;
    check_case("group stream", &p, x, ROW, nothing_given);
    free(x);
}

Test(quantize, given_words)
{
    struct slow_random g = { 37 };

    for (size_t s = 0; s < SIZES; s++) {
        const size_t row_words = sizes[s][0] * ((sizes[s][1] + 3) / 4);
        const size_t col_words = sizes[s][1] * ((sizes[s][0] + 3) / 4);
        uint32_t *words = calloc(row_words + col_words, sizeof *words);
        struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_F32, sizes[s]);
        void *x = make_input(&g, FP4_F32, NORMAL, p.rows, p.cols);

        cr_assert(words);
        for (size_t i = 0; i < row_words + col_words; i++)
            words[i] = slow_draw(&g);
        p.stochastic = true;
        p.stream = FP4_STREAM_RBITS;
        for (size_t m = 0; m < 4; m++) {
            p.rs = sr_models[m];
            check_case("given words", &p, x, ROW | COL, (struct given){ NULL, NULL, words, words + row_words });
        }
        free(x);
        free(words);
    }
}

/* ---- amax ------------------------------------------------------------------------------------------------------------------------- */

Test(quantize, each_direction_has_its_own_given_amax_but_vector_blockwise_has_one)
{
    static const size_t size[2] = { 64, 64 };
    const float four = 4.0F;
    const float nine = 9.0F;
    struct slow_random g = { 38 };
    struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_BF16, size);
    void *x = make_input(&g, FP4_BF16, NORMAL, size[0], size[1]);
    struct fp4_quantized row = outputs(sizes_of(&p, false));
    struct fp4_quantized col = outputs(sizes_of(&p, true));
    struct slow_quantized want;

    check_case("two amaxes", &p, x, ROW | COL, (struct given){ &four, &nine, NULL, NULL });
    p.stream = FP4_STREAM_VECTOR;
    row.given_amax = &four;
    col.given_amax = &nine;
    cr_assert_eq(fp4_quantize(&p, x, &row, &col, NULL), 0);
    slow_quantize(&p, x, true, true, &four, NULL, &want);
    check_direction("vector, one amax", &p, true, &col, &want);
    slow_quantized_release(&want);
    check_case("vector, columnwise only", &p, x, COL, (struct given){ NULL, &nine, NULL, NULL });
    release(&row);
    release(&col);
    free(x);
}

Test(amax, drops_or_keeps_nan)
{
    const uint32_t bits[6] = { 0x3F800000u, 0xFFC00001u, 0xC0400000u, 0x40000000u, 0x80000000u, 0x00000001u };
    const uint16_t halves[6] = { 0x3C00, 0xFE00, 0xC200, 0x4000, 0x8000, 0x0001 };
    float x[6];
    float out[3];

    memcpy(x, bits, sizeof x);
    fp4_amax(x, FP4_F32, 2, 3, false, out);
    cr_expect_eq(slow_bits(out[0]), 0x40400000u);
    fp4_amax(x, FP4_F32, 2, 3, true, out);
    cr_expect_eq(slow_bits(out[0]), 0x7FFFFFFFu);
    fp4_amax_rows(x, FP4_F32, 2, 3, false, out);
    cr_expect(slow_bits(out[0]) == 0x40400000u && slow_bits(out[1]) == 0x40000000u);
    fp4_amax_rows(x, FP4_F32, 2, 3, true, out);
    cr_expect(slow_bits(out[0]) == 0x7FFFFFFFu && slow_bits(out[1]) == 0x40000000u);
    fp4_amax_cols(x, FP4_F32, 2, 3, false, out);
    cr_expect(slow_bits(out[0]) == 0x40000000u && slow_bits(out[1]) == 0u && slow_bits(out[2]) == 0x40400000u);
    fp4_amax_cols(x, FP4_F32, 2, 3, true, out);
    cr_expect(slow_bits(out[1]) == 0x7FFFFFFFu && slow_bits(out[2]) == 0x40400000u);
    fp4_amax(halves, FP4_F16, 2, 3, false, out);
    cr_expect_eq(slow_bits(out[0]), 0x40400000u);
}

Test(global_scale, against_the_slow_version)
{
    static const uint32_t edge[] = { 0,           0x80000000u, 1,           0x00800000u, 0x05280000u, 0x05280001u, 0x7F7FFFFFu,
                                     0x7F800000u, 0x7FFFFFFFu, 0x04C00000u, 0x04C00001u, 0x40800000u, 0x3F800000u };
    static const unsigned bound[2] = { 448, 256 };
    struct slow_random g = { 39 };

    for (unsigned i = 0; i < 20000; i++) {
        const size_t edges = sizeof edge / sizeof edge[0];
        const float amax = slow_float(i < edges ? edge[i] : slow_draw(&g) & 0x7F7FFFFFu);

        for (int recipe = 0; recipe < FP4_RECIPE_COUNT; recipe++) {
            for (unsigned b = 0; b < 2; b++) {
                const float got = fp4_global_scale((enum fp4_recipe)recipe, amax, bound[b]);
                const float want = slow_global_scale((enum fp4_recipe)recipe, amax, bound[b]);

                CHECK(slow_bits(got) == slow_bits(want), "recipe %d amax %08" PRIx32 " bound %u: %08" PRIx32 ", not %08" PRIx32,
                      recipe, slow_bits(amax), bound[b], slow_bits(got), slow_bits(want));
            }
        }
    }
}

/* ---- worked blocks and special values ------------------------------------------------------------------------------------------ */

Test(quantize, worked_blocks)
{
    static const size_t size[2] = { 1, 16 };
    struct kat k;

    for (kat_open(&k, "te-quantize"); kat_next(&k);) {
        if (strcmp(kat_text(&k, 0), "scale") == 0) {
            const float got = fp4_global_scale(FP4_RECIPE_TE, slow_float((uint32_t)kat_hex(&k, 1)), 448);

            CHECK(slow_bits(got) == kat_hex(&k, 2), "te-quantize line %u: %08" PRIx32 ", not %s", k.line_number, slow_bits(got),
                  kat_text(&k, 2));
            continue;
        }
        const enum fp4_dtype input = strcmp(kat_text(&k, 1), "bf16") == 0 ? FP4_BF16 : FP4_F32;
        const struct fp4_quantize_params p = params(FP4_RECIPE_TE, input, size);
        const float amax = slow_float((uint32_t)kat_hex(&k, 2));
        const float e = slow_float((uint32_t)kat_hex(&k, 6));
        struct fp4_quantized q = outputs(sizes_of(&p, false));
        uint32_t wide[16];
        uint16_t narrow[16];
        uint64_t bytes = 0;

        for (unsigned i = 0; i < 16; i++) {
            wide[i] = (uint32_t)kat_hex(&k, 8 + i);
            narrow[i] = (uint16_t)kat_hex(&k, 8 + i);
        }
        float x[16];

        memcpy(x, wide, sizeof x);
        q.given_amax = &amax;
        cr_assert_eq(fp4_quantize(&p, input == FP4_BF16 ? (const void *)narrow : x, &q, NULL, NULL), 0);
        for (unsigned i = 0; i < 8; i++)
            bytes = bytes << 8 | q.codes[i];
        CHECK(slow_bits(q.global_scale[0]) == kat_hex(&k, 3), "te-quantize line %u: S_enc %08" PRIx32, k.line_number,
              slow_bits(q.global_scale[0]));
        const float d = slow_mul(q.block_amax[0], slow_mul(q.global_scale[0], slow_float(0x3E2AAAABu)));

        CHECK(slow_bits(slow_min_drop(d, slow_float(0x7F7FFFFFu))) == kat_hex(&k, 4), "te-quantize line %u: d", k.line_number);
        CHECK(q.scales[0] == kat_hex(&k, 5), "te-quantize line %u: scale %02x, not %s", k.line_number, q.scales[0],
              kat_text(&k, 5));
        for (unsigned i = 0; i < 16; i++) {
            const float xi = input == FP4_BF16 ? slow_float((uint32_t)narrow[i] << 16) : x[i];

            CHECK(slow_bits(q.scaled[i]) == slow_bits(slow_mul(xi, e)), "te-quantize line %u element %u: scaled %08" PRIx32,
                  k.line_number, i, slow_bits(q.scaled[i]));
        }
        CHECK(bytes == kat_hex(&k, 7), "te-quantize line %u: codes %016" PRIx64 ", not %s", k.line_number, bytes, kat_text(&k, 7));
        release(&q);
    }
}

/* TE 6, block by block. Codes of the first eight elements, element 0 first; the rest are zeros. */
Test(quantize, the_table_of_special_values)
{
    static const size_t size[2] = { 1, 16 };
    static const struct {
        const char *what;
        uint32_t amax;
        uint32_t x[8];
        unsigned scale;
        const char *codes;
        bool nan_rest;
    } row[] = {
        { "all zero, -0 keeps its sign", 0x40800000u, { 0, 0x80000000u, 0, 0x80000000u }, 0x00, "08080000", false },
        { "scale rounds to 0: all saturates", 0x447A0000u, { 0x38D1B717u, 0xB8D1B717u, 0, 0x80000000u }, 0x00, "7F080000", false },
        { "NaN of either sign is code 7",
          0x40800000u,
          { 0x7FC00000u, 0xFFC00000u, 0x40800000u, 0xC0800000u },
          0x7E,
          "777F0000",
          false },
        { "all NaN", 0x40800000u, { 0 }, 0x00, "77777777", true },
        { "Inf, finite amax", 0x40800000u, { 0x7F800000u, 0xFF800000u, 0x40800000u, 0x3F800000u }, 0x7E, "7F730000", false },
        { "Inf, amax Inf", 0x7F800000u, { 0x7F800000u, 0xFF800000u, 0x43E00000u, 0x44600000u }, 0x7E, "7F240000", false },
        { "amax NaN: all saturates", 0x7FC00000u, { 0x3F800000u, 0xBF800000u, 0, 0x80000000u }, 0x7E, "7F080000", false },
        { "amax 0, data not", 0, { 0x40C00000u, 0xC0400000u, 0x3F800000u, 0 }, 0x38, "7D200000", false },
        { "amax too small", 0x3F800000u, { 0x42C80000u, 0xC2C80000u, 0x41200000u, 0x3F800000u }, 0x7E, "7F770000", false },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        for (unsigned sr = 0; sr < 3; sr++) {
            struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_F32, size);
            struct fp4_quantized q = outputs(sizes_of(&p, false));
            const uint32_t words[4] = { 0, 0, 0, 0 };
            const float amax = slow_float(row[i].amax);
            float x[16];

            for (unsigned k = 0; k < 16; k++)
                x[k] = slow_float(row[i].nan_rest ? 0xFFC12345u : k < 8 ? row[i].x[k] : 0);
            p.stochastic = sr > 0;
            p.stream = sr > 0 ? FP4_STREAM_RBITS : FP4_STREAM_AUTO;
            p.rs = sr_models[sr == 2 ? 1 : 0];
            q.given_amax = &amax;
            q.given_rbits = words;
            cr_assert_eq(fp4_quantize(&p, x, &q, NULL, NULL), 0);
            CHECK(q.scales[0] == row[i].scale, "%s: scale %02x, not %02x", row[i].what, q.scales[0], row[i].scale);
            for (unsigned k = 0; k < 8; k++) {
                const char digit = "0123456789ABCDEF"[code_at(&q, sizes_of(&p, false), 0, k)];

                CHECK(digit == row[i].codes[k], "%s%s, element %u: %c, not %c", row[i].what, sr ? " (sr)" : "", k, digit,
                      row[i].codes[k]);
            }
            release(&q);
        }
    }
}

/* What the Python references keep and the kernels drop: a NaN in a block makes its scale NaN. TE's reference then stores
 * code 0 (no interval matches); the codes of torchao's are left open by their authors. */
Test(quantize, python_references_keep_nan_in_the_block_amax)
{
    static const size_t size[2] = { 1, 32 };
    const float four = 4.0F;
    float x[32] = { 1.0F, 2.0F, 3.0F };
    struct fp4_quantize_params p = params(FP4_RECIPE_TE_REF, FP4_F32, size);
    struct fp4_quantized q = outputs(sizes_of(&p, false));

    x[1] = slow_float(0x7FC00000u);
    x[16] = 4.0F;
    q.given_amax = &four;
    cr_assert_eq(fp4_quantize(&p, x, &q, NULL, NULL), 0);
    cr_expect_eq(q.scales[0], 0x7F, "te-ref scale %02x", q.scales[0]);
    cr_expect_eq(q.scales[1], 0x7E);
    for (size_t k = 0; k < 8; k++)
        cr_expect_eq(q.codes[k], 0, "te-ref byte %zu: %02x", k, q.codes[k]);
    p.recipe = FP4_RECIPE_TORCHAO;
    cr_assert_eq(fp4_quantize(&p, x, &q, NULL, NULL), 0);
    cr_expect_eq(q.scales[0], 0x7F, "torchao scale %02x", q.scales[0]);
    cr_expect_eq(q.scales[1], 0x7E);
    release(&q);
}

Test(quantize, a_scaled_minus_zero)
{
    static const size_t size[2] = { 32, 32 };
    uint16_t x[32 * 32] = { 0x4080, 0x8000, 0x8001 }; /* 4, -0, a tiny negative number */
    static const struct {
        enum fp4_recipe recipe;
        unsigned minus_zero;
    } row[] = { { FP4_RECIPE_TE, 8 }, { FP4_RECIPE_TE_FAST, 0 }, { FP4_RECIPE_TE_REF, 0 }, { FP4_RECIPE_TORCHAO, 8 } };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const struct fp4_quantize_params p = params(row[i].recipe, FP4_BF16, size);
        struct fp4_quantized q = outputs(sizes_of(&p, false));

        cr_assert_eq(fp4_quantize(&p, x, &q, NULL, NULL), 0);
        cr_expect_eq(q.codes[0] >> 4, row[i].minus_zero, "recipe %d: -0 is code %x", row[i].recipe, q.codes[0] >> 4);
        cr_expect_eq(q.codes[1] & 15, 8, "recipe %d: a tiny negative number is code %x", row[i].recipe, q.codes[1] & 15);
        release(&q);
    }
}

/* Stages that are not asked for are not needed. */
Test(quantize, stages_are_optional)
{
    static const size_t size[2] = { 16, 48 };
    struct slow_random g = { 40 };
    const struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_F32, size);
    void *x = make_input(&g, FP4_F32, NORMAL, size[0], size[1]);
    struct fp4_quantized all = outputs(sizes_of(&p, false));
    uint8_t codes[16 * 24];
    uint8_t scales[16 * 3];
    const struct fp4_quantized few = { .codes = codes, .scales = scales };

    cr_assert_eq(fp4_quantize(&p, x, &all, NULL, NULL), 0);
    cr_assert_eq(fp4_quantize(&p, x, &few, NULL, NULL), 0);
    cr_expect(memcmp(codes, all.codes, sizeof codes) == 0);
    cr_expect(memcmp(scales, all.scales, sizeof scales) == 0);
    release(&all);
    free(x);
}

Test(quantize, refuses_what_makes_no_sense)
{
    static const size_t odd_cols[2] = { 16, 17 };
    static const size_t odd_rows[2] = { 15, 16 };
    static const float x[16 * 17];
    uint8_t codes[512];
    uint8_t scales[512];
    const struct fp4_quantized q = { .codes = codes, .scales = scales };
    struct fp4_quantize_params p = params(FP4_RECIPE_TE, FP4_F32, odd_cols);
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(fp4_quantize(&p, x, &q, NULL, &err), -1, "an odd number of columns");
    cr_expect(err.code != FP4_OK && err.msg[0] != '\0');
    p = params(FP4_RECIPE_TE, FP4_F32, odd_rows);
    cr_expect_eq(fp4_quantize(&p, x, NULL, &q, &err), -1, "an odd number of rows, transposed");
    cr_expect_eq(fp4_quantize(&p, x, &q, NULL, NULL), 0, "an odd number of rows does not matter to the rowwise output");
    cr_expect_eq(fp4_quantize(&p, x, NULL, NULL, &err), -1, "no output");
    p.input = FP4_U8;
    cr_expect_eq(fp4_quantize(&p, x, &q, NULL, &err), -1, "input of bytes");
    p.input = FP4_F32;
    p.stochastic = true;
    p.stream = FP4_STREAM_RBITS;
    p.philox_rounds = 10;
    cr_expect_eq(fp4_quantize(&p, x, &q, NULL, &err), -1, "given words that were not given");
}

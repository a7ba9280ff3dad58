/* SPDX-License-Identifier: Apache-2.0 */
/* rht-quantize: matrix, sums by three models, classes, the scale chain, the whole op against the naive version. */
#include "check.h"
#include "kat.h"
#include "slow.h"

#include <stdlib.h>
#include <string.h>

static const enum fp4_rht_sum sums[3] = { FP4_SUM_TC, FP4_SUM_SEQ, FP4_SUM_EXACT };
static const char *const sum_name[3] = { "tc", "seq", "exact" };

static float bf16_float(unsigned bits)
{
    return slow_float((uint32_t)bits << 16);
}

static void check_group(const char *what, const float x[16], uint16_t mask, bool inverse)
{
    for (unsigned s = 0; s < 3; s++) {
        float got[16];
        float want[16];

        fp4_rht_group(x, mask, inverse, sums[s], got);
        slow_rht_group(x, mask, inverse, sums[s], want);
        for (unsigned n = 0; n < 16; n++)
            CHECK(slow_same(got[n], want[n]), "%s, %s, mask %04x%s, sum %u: %08" PRIx32 ", not %08" PRIx32, what, sum_name[s], mask,
                  inverse ? " inverse" : "", n, slow_bits(got[n]), slow_bits(want[n]));
    }
}

/* ---- matrix ------------------------------------------------------------------------------------------------------------------- */

Test(rht_matrix, known_rows)
{
    struct kat k;

    for (kat_open(&k, "rht"); kat_next(&k);) {
        if (strcmp(kat_text(&k, 0), "mask") != 0)
            continue;
        const bool inverse = strcmp(kat_text(&k, 1), "inverse") == 0;
        const uint16_t mask = strcmp(kat_text(&k, 1), "plain") == 0 ? 0 : FP4_RHT_SIGN_MASK;
        const unsigned row = (unsigned)kat_decimal(&k, 2);
        float x[16] = { 0 };
        float y[16];
        unsigned got = 0;

        cr_assert(row < 16);
        x[row] = 1.0F;
        fp4_rht_group(x, mask, inverse, FP4_SUM_TC, y);
        for (unsigned n = 0; n < 16; n++) {
            CHECK(y[n] == 0.25F || y[n] == -0.25F, "rht line %u: entry %u is %a", k.line_number, n, (double)y[n]);
            got |= y[n] < 0 ? 1u << n : 0u;
        }
        CHECK(got == kat_hex(&k, 3), "rht line %u: %04x, not %s", k.line_number, got, kat_text(&k, 3));
        CHECK(slow_rht_row(row, mask, inverse) == kat_hex(&k, 3), "rht line %u: the slow version says otherwise", k.line_number);
    }
}

Test(rht_matrix, the_inverse_undoes_the_transform)
{
    struct slow_random g = { 71 };

    for (unsigned i = 0; i < 200; i++) {
        const uint16_t mask = i == 0 ? FP4_RHT_SIGN_MASK : (uint16_t)slow_draw(&g);
        float x[16];
        float y[16];
        float back[16];

        for (unsigned k = 0; k < 16; k++)
            x[k] = (float)(slow_draw(&g) % 9) - 4.0F; /* small integers: all sums are exact, and are bf16 numbers */
        fp4_rht_group(x, mask, false, FP4_SUM_EXACT, y);
        fp4_rht_group(y, mask, true, FP4_SUM_EXACT, back);
        for (unsigned k = 0; k < 16; k++)
            CHECK(x[k] == back[k], "mask %04x element %u: %a, not %a", mask, k, (double)back[k], (double)x[k]);
    }
}

/* ---- sums ----------------------------------------------------------------------------------------------------------------------- */

Test(rht_sums, known_answers)
{
    struct kat k;

    for (kat_open(&k, "rht"); kat_next(&k);) {
        if (strcmp(kat_text(&k, 0), "sum") != 0)
            continue;
        const bool as_bf16 = strcmp(kat_text(&k, 1), "bf16") == 0;
        const char *model = kat_text(&k, 2);
        const uint16_t mask = strcmp(kat_text(&k, 3), "plain") == 0 ? 0 : FP4_RHT_SIGN_MASK;
        const bool inverse = strcmp(kat_text(&k, 3), "inverse") == 0;
        unsigned tried = 0;
        float x[16];

        for (unsigned i = 0; i < 16; i++)
            x[i] = bf16_float((unsigned)kat_hex(&k, 4 + i));
        for (unsigned s = 0; s < 3; s++) {
            float y[16];

            if (strcmp(model, "all") != 0 && strcmp(model, sum_name[s]) != 0)
                continue;
            tried++;
            fp4_rht_group(x, mask, inverse, sums[s], y);
            for (unsigned n = 0; n < 16; n++) {
                const uint32_t got = as_bf16 ? f32_to_bf16(y[n]).bits : slow_bits(y[n]);

                CHECK(got == kat_hex(&k, 20 + n), "rht line %u, %s, sum %u: %" PRIx32 ", not %s", k.line_number, sum_name[s], n,
                      got, kat_text(&k, 20 + n));
            }
        }
        CHECK(tried > 0, "rht line %u: no model is called '%s'", k.line_number, model);
        check_group("known answer", x, mask, inverse);
    }
}

Test(rht_sums, random_groups_of_many_spreads)
{
    struct slow_random g = { 72 };

    for (unsigned spread = 4; spread <= 30; spread++) {
        for (unsigned i = 0; i < 3000; i++) {
            const uint16_t mask = i % 2 ? FP4_RHT_SIGN_MASK : (uint16_t)slow_draw(&g);
            const unsigned base = 1 + slow_draw(&g) % (253 - spread);
            float x[16];

            for (unsigned k = 0; k < 16; k++)
                x[k] = bf16_float((slow_draw(&g) & 0x807Fu) | (base + slow_draw(&g) % (spread + 1)) << 7);
            check_group("spread", x, mask, i % 3 == 2);
        }
    }
}

Test(rht_sums, all_bf16_patterns_in_random_groups)
{
    struct slow_random g = { 73 };

    for (unsigned i = 0; i < 60000; i++) {
        float x[16];

        for (unsigned k = 0; k < 16; k++)
            x[k] = bf16_float(slow_draw(&g) & 0xFFFFu);
        check_group("any pattern", x, FP4_RHT_SIGN_MASK, false);
    }
}

Test(rht_sums, groups_that_cancel)
{
    struct slow_random g = { 74 };

    for (unsigned i = 0; i < 30000; i++) {
        float x[16];

        for (unsigned k = 0; k < 16; k += 2) { /* pairs of equal magnitude, and here and there a tiny third value */
            const unsigned bits = 0x3F00u + slow_draw(&g) % 512;

            x[k] = bf16_float(bits);
            x[k + 1] = bf16_float(bits | (slow_draw(&g) % 2 ? 0x8000u : 0));
        }
        if (i % 2)
            x[slow_draw(&g) % 16] = bf16_float(0x2000u + slow_draw(&g) % 0x1800u);
        check_group("cancelling", x, i % 4 < 2 ? FP4_RHT_SIGN_MASK : 0, false);
    }
}

Test(rht_sums, specials_overflow_and_subnormals)
{
    static const uint16_t special[10] = { 0x7F80, 0xFF80, 0x7FC0, 0xFFFF, 0x8000, 0x0001, 0x8001, 0x007F, 0x7F7F, 0xFF7F };
    struct slow_random g = { 75 };

    for (unsigned i = 0; i < 20000; i++) {
        float x[16];

        for (unsigned k = 0; k < 16; k++) {
            if (i % 4 == 0) /* only tiny ones */
                x[k] = bf16_float(slow_draw(&g) & 0x81FFu);
            else if (i % 4 == 1) /* near overflow */
                x[k] = bf16_float((slow_draw(&g) & 0x80FFu) | 0x7E00u | (slow_draw(&g) % 2) << 8);
            else
                x[k] = slow_draw(&g) % 20 == 0 ? bf16_float(special[slow_draw(&g) % 10]) : bf16_float(slow_draw(&g) & 0xBFFFu);
        }
        check_group("special", x, FP4_RHT_SIGN_MASK, false);
    }
}

Test(rht_sums, nan_is_canonical)
{
    float x[16] = { 1.0F };

    x[7] = bf16_float(0xFFC1);
    for (unsigned s = 0; s < 3; s++) {
        float y[16];

        fp4_rht_group(x, FP4_RHT_SIGN_MASK, false, sums[s], y);
        for (unsigned n = 0; n < 16; n++)
            CHECK(slow_bits(y[n]) == 0x7FFFFFFFu, "%s, sum %u: %08" PRIx32, sum_name[s], n, slow_bits(y[n]));
    }
}

/* ---- classes ---------------------------------------------------------------------------------------------------------------------- */

/* Sums in another order: pairwise, from the top, in two halves as Ampere's tensor cores do. */
static void other_orders(const float x[16], float out[3][16])
{
    for (unsigned n = 0; n < 16; n++) {
        volatile float term[16];
        volatile float down = 0.0F;
        volatile float half[2] = { 0.0F, 0.0F };
        const unsigned row = slow_rht_row(n, 0, false);

        for (unsigned k = 0; k < 16; k++) {
            const bool minus = ((row >> k) ^ (FP4_RHT_SIGN_MASK >> k)) & 1u;

            term[k] = x[k] * (minus ? -0.25F : 0.25F);
        }
        for (unsigned k = 16; k-- > 0;)
            down = down + term[k];
        for (unsigned k = 0; k < 16; k++)
            half[k / 8] = half[k / 8] + term[k];
        for (unsigned width = 8; width > 0; width /= 2) {
            for (unsigned k = 0; k < width; k++)
                term[k] = term[k] + term[k + width];
        }
        out[0][n] = down;
        out[1][n] = half[0] + half[1];
        out[2][n] = term[0];
    }
}

static float toward_zero(const float x[16], unsigned n)
{
    /* Class aligned: the model is RZ(exact). RZ is RN or its neighbour nearer to zero: decide with the exact sum less RN. */
    float exact[16];
    double rest = 0;

    slow_rht_group(x, FP4_RHT_SIGN_MASK, false, FP4_SUM_EXACT, exact);
    for (unsigned k = 0; k < 16; k++) {
        const bool minus = (slow_rht_row(k, FP4_RHT_SIGN_MASK, false) >> n) & 1u;

        rest += (double)x[k] * (minus ? -0.25 : 0.25); /* at most 18 + 8 + 4 bits: exact in a double */
    }
    rest -= (double)exact[n];
    if (exact[n] > 0 && rest < 0)
        return slow_float(slow_bits(exact[n]) - 1);
    if (exact[n] < 0 && rest > 0)
        return slow_float(slow_bits(exact[n]) - 1);
    return exact[n];
}

Test(rht_class, against_the_definition_and_what_each_class_promises)
{
    struct slow_random g = { 76 };
    unsigned seen[3] = { 0 };
    unsigned safe = 0;
    unsigned unsafe = 0;

    for (unsigned i = 0; i < 60000; i++) {
        const unsigned spread = i % 30;
        const unsigned base = 60 + slow_draw(&g) % 100;
        float x[16];
        float y[3][16];
        float o[3][16];

        for (unsigned k = 0; k < 16; k++) {
            x[k] = bf16_float((slow_draw(&g) & 0x807Fu) | (base + slow_draw(&g) % (spread + 1)) << 7);
            if (slow_draw(&g) % 10 == 0)
                x[k] = slow_draw(&g) % 2 ? 0.0F : -0.0F;
        }
        const unsigned class = fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false);
        const unsigned want = slow_rht_class(x);

        CHECK((class & ~4u) == want, "spread %u: class %u, not %u", spread, class & ~4u, want);
        for (unsigned s = 0; s < 3; s++)
            slow_rht_group(x, FP4_RHT_SIGN_MASK, false, sums[s], y[s]);
        other_orders(x, o);
        seen[want]++;
        safe += (class & FP4_RHT_SAFE_BIT) != 0;
        unsafe += (class & FP4_RHT_SAFE_BIT) == 0;
        for (unsigned n = 0; n < 16; n++) {
            if (want == FP4_RHT_EXACT)
                CHECK(slow_same(y[0][n], y[2][n]) && slow_same(y[1][n], y[2][n]) && slow_same(o[0][n], y[2][n]) &&
                          slow_same(o[1][n], y[2][n]) && slow_same(o[2][n], y[2][n]),
                      "an exact group depends on the order");
            if (want == FP4_RHT_ALIGNED)
                CHECK(slow_same(y[0][n], toward_zero(x, n)), "aligned, sum %u: %08" PRIx32 " is not the exact sum cut, %08" PRIx32,
                      n, slow_bits(y[0][n]), slow_bits(toward_zero(x, n)));
            if (class & FP4_RHT_SAFE_BIT) {
                const unsigned b = slow_bf16(y[2][n]);

                CHECK(slow_bf16(y[0][n]) == b && slow_bf16(y[1][n]) == b && slow_bf16(o[0][n]) == b && slow_bf16(o[1][n]) == b &&
                          slow_bf16(o[2][n]) == b,
                      "spread %u: a group called safe depends on the order in bf16", spread);
            }
        }
    }
    cr_assert(seen[0] > 1000 && seen[1] > 1000 && seen[2] > 1000, "classes %u %u %u", seen[0], seen[1], seen[2]);
    cr_assert(safe > 1000 && unsafe > 1000, "safe %u, not safe %u", safe, unsafe);
}

Test(rht_class, known_groups)
{
    static const uint16_t cut[16] = { 0x3f81, 0xbf93, 0x3bd5, 0x3a6b, 0xb4f7, 0x3f21, 0xbe7d, 0x3c03,
                                      0xb777, 0x3d59, 0xbf6f, 0x3eab, 0x33ff, 0xb901, 0x3f55, 0xbdcd };
    float x[16] = { 0 };

    cr_expect_eq(fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false) & 3, FP4_RHT_EXACT, "zeros");
    x[3] = slow_float(0x7F800000u);
    cr_expect_eq(fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false) & 3, FP4_RHT_EXACT, "Inf");
    x[3] = slow_float(0x7FC00000u);
    cr_expect_eq(fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false) & 3, FP4_RHT_EXACT, "NaN");
    for (unsigned k = 0; k < 16; k++)
        x[k] = bf16_float(cut[k]);
    cr_expect_eq(fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false) & 3, FP4_RHT_CUT, "RHT 4.4, last vector");
    memset(x, 0, sizeof x);
    x[0] = x[1] = 1.0F;
    x[2] = bf16_float(0xB200); /* -2^-27 */
    cr_expect_eq(fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false), FP4_RHT_CUT, "1, 1, -2^-27 cancels to a sign of zero: not safe");
    /* Without signs every column of {1, t, 1, t} is either (2 + 2 t) / 4 give or take signs, or cancels exactly, and then a
     * sequential sum that has lost the first t keeps the second. */
    memset(x, 0, sizeof x);
    x[0] = x[2] = 1.0F;
    x[1] = x[3] = bf16_float(0x3200); /* 2^-27 */
    cr_expect_eq(fp4_rht_classify(x, 0, false), FP4_RHT_CUT, "1, 2^-27, 1, 2^-27 cancels to zero: not safe");
}

/* ---- the op ------------------------------------------------------------------------------------------------------------------------ */

static struct fp4_rht_params params(size_t rows, size_t cols)
{
    return (struct fp4_rht_params){ .recipe = FP4_RECIPE_TE,
                                    .kernel = FP4_RHT_KERNEL_COL,
                                    .rows = rows,
                                    .cols = cols,
                                    .sign_mask = FP4_RHT_SIGN_MASK,
                                    .sum = FP4_SUM_TC,
                                    .bf16_round_trip = true,
                                    .stream = FP4_STREAM_AUTO,
                                    .philox_rounds = 10 };
}

static uint16_t *make_input(struct slow_random *g, size_t rows, size_t cols, bool specials)
{
    static const uint16_t special[8] = { 0x7FC0, 0xFF81, 0x7F80, 0xFF80, 0x8000, 0x0001, 0x7F7F, 0x0000 };
    uint16_t *x = calloc(rows * cols, sizeof *x);

    cr_assert(x);
    for (size_t i = 0; i < rows * cols; i++) {
        if (i / cols / 16 % 4 == 3 && i % cols % 3 == 0)
            continue; /* groups of zeros */
        x[i] = specials && slow_draw(g) % 200 == 0 ? special[slow_draw(g) % 8] : (uint16_t)slow_bf16(slow_draw_normal(g));
    }
    return x;
}

struct outputs {
    struct fp4_quantized q;
    size_t lines, packed;
};

static struct outputs outputs(size_t lines, size_t packed)
{
    struct outputs o = { .lines = lines, .packed = packed };
    const size_t blocks = (packed + 15) / 16;

    o.q.codes = calloc(lines * packed / 2 + 1, 1);
    o.q.scales = calloc(lines * blocks + 1, 1);
    o.q.amax = calloc(1, sizeof(float));
    o.q.global_scale = calloc(1, sizeof(float));
    o.q.block_amax = calloc(lines * blocks + 1, sizeof(float));
    o.q.scaled = calloc(lines * packed + 1, sizeof(float));
    o.q.rbits = calloc(lines * packed / 4 + 1, sizeof(uint32_t));
    o.q.dequantized = calloc(lines * packed + 1, sizeof(float));
    cr_assert(o.q.codes && o.q.scales && o.q.amax && o.q.global_scale && o.q.block_amax && o.q.scaled && o.q.rbits &&
              o.q.dequantized);
    return o;
}

static void release(struct outputs *o)
{
    free(o->q.codes);
    free(o->q.scales);
    free(o->q.amax);
    free(o->q.global_scale);
    free(o->q.block_amax);
    free(o->q.scaled);
    free(o->q.rbits);
    free(o->q.dequantized);
}

static void compare(const char *what, const struct outputs *got, const struct slow_quantized *want, bool stochastic)
{
    CHECK(slow_bits(got->q.amax[0]) == slow_bits(want->amax[0]), "%s: amax %08" PRIx32 ", not %08" PRIx32, what,
          slow_bits(got->q.amax[0]), slow_bits(want->amax[0]));
    CHECK(slow_bits(got->q.global_scale[0]) == slow_bits(want->global_scale[0]), "%s: global scale %08" PRIx32 ", not %08" PRIx32,
          what, slow_bits(got->q.global_scale[0]), slow_bits(want->global_scale[0]));
    for (size_t i = 0; i < want->lines * want->blocks; i++) {
        CHECK(slow_bits(got->q.block_amax[i]) == slow_bits(want->block_amax[i]),
              "%s line %zu block %zu: block amax %08" PRIx32 ", not %08" PRIx32, what, i / want->blocks, i % want->blocks,
              slow_bits(got->q.block_amax[i]), slow_bits(want->block_amax[i]));
        CHECK(got->q.scales[i] == want->scale[i], "%s line %zu block %zu: scale %02x, not %02x", what, i / want->blocks,
              i % want->blocks, got->q.scales[i], want->scale[i]);
    }
    for (size_t i = 0; i < want->lines * want->packed; i++) {
        const unsigned code = (unsigned)got->q.codes[i / 2] >> (i % 2 * 4) & 15u;

        if (stochastic)
            CHECK(got->q.rbits[i / 4] == want->rbits[i / 4], "%s line %zu element %zu: word %08" PRIx32 ", not %08" PRIx32, what,
                  i / want->packed, i % want->packed, got->q.rbits[i / 4], want->rbits[i / 4]);
        CHECK(slow_bits(got->q.scaled[i]) == slow_bits(want->scaled[i]),
              "%s line %zu element %zu: scaled %08" PRIx32 ", not %08" PRIx32, what, i / want->packed, i % want->packed,
              slow_bits(got->q.scaled[i]), slow_bits(want->scaled[i]));
        CHECK(code == want->code[i], "%s line %zu element %zu: code %x, not %x", what, i / want->packed, i % want->packed, code,
              want->code[i]);
        CHECK(slow_bits(got->q.dequantized[i]) == slow_bits(want->dequantized[i]),
              "%s line %zu element %zu: dequantized %08" PRIx32 ", not %08" PRIx32, what, i / want->packed, i % want->packed,
              slow_bits(got->q.dequantized[i]), slow_bits(want->dequantized[i]));
    }
}

static void check_op(const char *what, const struct fp4_rht_params *p, const uint16_t *x, const float *given_amax, bool with_row)
{
    struct outputs col = outputs(p->cols, p->rows);
    struct outputs row = outputs(p->rows, p->cols);
    float *transformed = calloc(p->rows * p->cols, sizeof *transformed);
    float *want_transformed = calloc(p->rows * p->cols, sizeof *want_transformed);
    uint8_t *class = calloc(p->cols * (p->rows / 16), 1);
    const struct fp4_rht_stages stages = { transformed, class };
    struct fp4_error err = { FP4_OK, "" };
    struct slow_quantized want;

    cr_assert(transformed && want_transformed && class);
    col.q.given_amax = given_amax;
    cr_assert_eq(fp4_rht_quantize(p, x, with_row ? &row.q : NULL, &col.q, &stages, &err), 0, "%s: %s", what, err.msg);
    slow_rht_quantize(p, x, with_row, given_amax, &want, want_transformed);
    for (size_t i = 0; i < p->rows * p->cols; i++)
        CHECK(slow_bits(transformed[i]) == slow_bits(want_transformed[i]),
              "%s feature %zu token %zu: transformed %08" PRIx32 ", not %08" PRIx32, what, i / p->rows, i % p->rows,
              slow_bits(transformed[i]), slow_bits(want_transformed[i]));
    for (size_t i = 0; i < p->cols * (p->rows / 16); i++) {
        float group[16];

        for (size_t k = 0; k < 16; k++)
            group[k] = bf16_float(x[(i % (p->rows / 16) * 16 + k) * p->cols + i / (p->rows / 16)]);
        CHECK((class[i] & 3) == slow_rht_class(group), "%s group %zu: class %u", what, i, class[i]);
    }
    compare(what, &col, &want, p->stochastic);
    slow_quantized_release(&want);
    if (with_row) {
        slow_rht_quantize_row(p, x, NULL, &want);
        compare(what, &row, &want, p->stochastic);
        slow_quantized_release(&want);
    }
    release(&col);
    release(&row);
    free(transformed);
    free(want_transformed);
    free(class);
}

Test(rht_quantize, every_kernel_recipe_and_sum)
{
    static const enum fp4_rht_kernel kernels[] = { FP4_RHT_KERNEL_COL, FP4_RHT_KERNEL_ROWCOL, FP4_RHT_KERNEL_UNFUSED };
    static const enum fp4_recipe recipes[] = { FP4_RECIPE_TE, FP4_RECIPE_TE_REF, FP4_RECIPE_FP4SM120 };
    static const float amax[] = { 4.0F, 1.5F, 0.001F, 1000.0F, 3.0F };
    struct slow_random g = { 81 };

    for (unsigned i = 0; i < 2; i++) {
        uint16_t *x = make_input(&g, 128, 64, i == 1);

        for (size_t k = 0; k < 3; k++) {
            for (size_t r = 0; r < 3; r++) {
                for (unsigned s = 0; s < 3; s++) {
                    struct fp4_rht_params p = params(128, 64);

                    if (recipes[r] == FP4_RECIPE_TE_REF && (i == 1 || kernels[k] == FP4_RHT_KERNEL_ROWCOL))
                        continue; /* TE's Python reference: finite data only, and it has no kernels */
                    if (recipes[r] == FP4_RECIPE_FP4SM120 && kernels[k] != FP4_RHT_KERNEL_COL)
                        continue;
                    p.recipe = recipes[r];
                    p.kernel = kernels[k];
                    p.sum = sums[s];
                    check_op("amax from data", &p, x, NULL, false);
                    check_op("amax given", &p, x, &amax[(r + s) % 5], false);
                    p.sign_mask = 0;
                    check_op("no signs", &p, x, NULL, false);
                    p.inverse = true;
                    p.sign_mask = 0x17EB;
                    check_op("inverse", &p, x, NULL, false);
                }
            }
        }
        free(x);
    }
}

Test(rht_quantize, special_amaxes)
{
    static const uint32_t amax[] = { 0, 0x7F800000u, 0x7FFFFFFFu, 1, 0x05280000u, 0x7F7F0000u };
    static const enum fp4_rht_kernel kernels[] = { FP4_RHT_KERNEL_COL, FP4_RHT_KERNEL_ROWCOL };
    struct slow_random g = { 82 };
    uint16_t *x = make_input(&g, 64, 32, true);

    for (size_t a = 0; a < sizeof amax / sizeof amax[0]; a++) {
        const float given = slow_float(amax[a]);

        for (size_t k = 0; k < 2; k++) {
            struct fp4_rht_params p = params(64, 32);

            p.kernel = kernels[k];
            check_op("special amax", &p, x, &given, false);
        }
        struct fp4_rht_params p = params(64, 32);

        p.recipe = FP4_RECIPE_FP4SM120;
        check_op("special amax, the public port", &p, x, &given, false);
    }
    free(x);
}

Test(rht_quantize, rowwise_output_is_the_plain_input)
{
    struct slow_random g = { 83 };

    for (unsigned i = 0; i < 2; i++) {
        uint16_t *x = make_input(&g, 128, 128, i == 1);
        struct fp4_rht_params p = params(128, 128);

        p.kernel = FP4_RHT_KERNEL_ROWCOL;
        check_op("row and column", &p, x, NULL, true);
        p.stochastic = true;
        p.seed = 12345;
        p.rs = (struct fp4_rs_model){ FP4_RS_TRUNC, FP4_MAP_B300, NULL };
        p.stream = FP4_STREAM_RHT_ROWCOL;
        check_op("row and column, sr", &p, x, NULL, true);
        p.stream = FP4_STREAM_RHT_GROUP;
        check_op("row and column, sr, group", &p, x, NULL, true);
        free(x);
    }
}

Test(rht_quantize, stochastic_with_each_stream)
{
    struct slow_random g = { 84 };
    uint16_t *x = make_input(&g, 192, 256, false);
    struct fp4_rht_params p = params(192, 256);

    p.stochastic = true;
    p.seed = UINT64_C(0xFEDCBA9876543210);
    p.offset = 3;
    p.rs = (struct fp4_rs_model){ FP4_RS_TRUNC, FP4_MAP_B300, NULL };
    check_op("auto", &p, x, NULL, false);
    p.stream = FP4_STREAM_RHT_COL;
    p.k_tile = 128;
    check_op("rht-col, k_tile 128", &p, x, NULL, false);
    p.k_tile = 2048;
    p.philox_rounds = 7;
    p.offset = UINT64_MAX - 1; /* the calls carry into the subsequence */
    check_op("rht-col, k_tile 2048", &p, x, NULL, false);
    p.recipe = FP4_RECIPE_FP4SM120;
    p.stream = FP4_STREAM_RHT_FP4SM120;
    p.rs = (struct fp4_rs_model){ FP4_RS_HALF, FP4_MAP_REVERSE, NULL };
    check_op("the public port", &p, x, NULL, false);
    p.stream = FP4_STREAM_AUTO;
    check_op("the public port, auto", &p, x, NULL, false);
    p = params(192, 256);
    p.stochastic = true;
    p.kernel = FP4_RHT_KERNEL_ROWCOL;
    check_op("row and column, auto", &p, x, NULL, true);
    p.kernel = FP4_RHT_KERNEL_UNFUSED;
    check_op("unfused, auto", &p, x, NULL, false);
    check_op("unfused, auto, both", &p, x, NULL, true);
    p.stream = FP4_STREAM_VECTOR;
    check_op("unfused, vector-blockwise", &p, x, NULL, true);
    free(x);
    x = make_input(&g, 48, 80, false);
    p = params(48, 80);
    p.stochastic = true;
    p.kernel = FP4_RHT_KERNEL_UNFUSED;
    check_op("unfused, odd shape", &p, x, NULL, true);
    free(x);
}

static int8_t *synthetic_table(void)
{
    struct slow_random g = { 85 };
    int8_t *table = malloc((size_t)1 << 23);

    cr_assert(table);
    for (size_t i = 0; i < (size_t)1 << 23; i++)
        table[i] = (int8_t)((int)(slow_draw(&g) % 3) - 1);
    table[0] = 0;
    return table;
}

Test(rht_quantize, fast_math_leaves_out_the_round_trip_and_takes_a_reciprocal_by_table)
{
    struct slow_random g = { 86 };
    uint16_t *x = make_input(&g, 128, 96, true);
    int8_t *table = synthetic_table();
    const float amax = 4.0F;
    struct fp4_rht_params p = params(128, 96);

    p.recipe = FP4_RECIPE_TE_FAST;
    p.bf16_round_trip = false;
    check_op("no round trip", &p, x, NULL, false);
    p.approx_rcp = true;
    check_op("no table: IEEE with flushes", &p, x, NULL, false);
    p.rcp_table = table;
    check_op("a table", &p, x, NULL, false);
    check_op("a table, amax 4", &p, x, &amax, false);
    free(table);
    free(x);
}

Test(rcp_approx, a_table_of_ulps_and_flushes)
{
    int8_t *table = synthetic_table();
    struct slow_random g = { 87 };

    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0), table)), 0x7F800000u);
    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0x80000000u), table)), 0xFF800000u);
    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0x007FFFFFu), table)), 0x7F800000u, "a subnormal counts as zero");
    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0xFF800000u), table)), 0x80000000u);
    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0x7E800001u), table)), 0u, "just above 2^126");
    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0x7E800000u), table)), 0x00800000u, "2^126");
    cr_expect_eq(slow_bits(fp4_rcp_approx_ftz(slow_float(0xFFC00001u), table)), 0x7FFFFFFFu);
    for (unsigned i = 0; i < 200000; i++) {
        const uint32_t bits = (slow_draw(&g) & 0x807FFFFFu) | (1 + slow_draw(&g) % 252) << 23;
        const float exact = slow_div(1.0F, slow_float(bits));
        const uint32_t want = slow_bits(exact) + (uint32_t)(int32_t)table[bits & 0x7FFFFFu];

        CHECK(slow_bits(fp4_rcp_approx_ftz(slow_float(bits), table)) == want, "%08" PRIx32 ": %08" PRIx32 ", not %08" PRIx32, bits,
              slow_bits(fp4_rcp_approx_ftz(slow_float(bits), table)), want);
        CHECK(slow_bits(fp4_rcp_approx_ftz(slow_float(bits), NULL)) == slow_bits(exact), "%08" PRIx32 " without a table", bits);
    }
    free(table);
}

/* RHT 2.2, the table of consequences. One group of 16 tokens whose transform is (v, 0, 0, ...) when all tokens are v / 4. */
Test(rht_quantize, consequences_of_the_scale_chain)
{
    static const struct {
        const char *what;
        uint32_t amax;
        uint32_t x; /* every token, bf16 */
        uint32_t global_scale;
        unsigned scale;
        unsigned first, rest;
    } row[] = {
        { "amax 4, {4, 0...}", 0x40800000u, 0x3F80, 0x44280000u, 0x7E, 7, 0 },
        { "amax 0, zeros", 0, 0, 0x3F800000u, 0x00, 0, 0 },
        { "amax 4, zeros", 0x40800000u, 0, 0x44280000u, 0x00, 0, 0 },
        { "amax 1000, about 1e-4", 0x447A0000u, 0x37D1, 0x402C0831u, 0x00, 7, 0 },
        { "amax too small", 0x3A83126Fu, 0xBF80, 0, 0x7E, 15, 0 },
        { "NaN", 0x40800000u, 0x7FC0, 0x44280000u, 0x7F, 7, 7 },
        { "amax NaN", 0x7FFFFFFFu, 0x3F80, 0x7FFFFFFFu, 0x7F, 7, 7 },
        { "amax Inf: as amax 1", 0x7F800000u, 0x3FC0, 0x3F800000u, 0x38, 7, 0 },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct fp4_rht_params p = params(16, 1);
        struct outputs o = outputs(1, 16);
        const float amax = slow_float(row[i].amax);
        uint16_t x[16];

        for (unsigned k = 0; k < 16; k++)
            x[k] = (uint16_t)row[i].x;
        p.sign_mask = 0;
        o.q.given_amax = &amax;
        cr_assert_eq(fp4_rht_quantize(&p, x, NULL, &o.q, NULL, NULL), 0);
        CHECK(row[i].global_scale == 0 || slow_bits(o.q.global_scale[0]) == row[i].global_scale, "%s: global scale %08" PRIx32,
              row[i].what, slow_bits(o.q.global_scale[0]));
        CHECK(o.q.scales[0] == row[i].scale, "%s: scale %02x, not %02x", row[i].what, o.q.scales[0], row[i].scale);
        for (unsigned k = 0; k < 16; k++) {
            const unsigned code = (unsigned)o.q.codes[k / 2] >> (k % 2 * 4) & 15u;

            CHECK(code == (k == 0 ? row[i].first : row[i].rest), "%s: code %u is %x", row[i].what, k, code);
        }
        release(&o);
    }
}

/* RHT 2.3: the row_cast_col family. amax NaN gives a global scale of 1, amax Inf gives 0, scale byte 00 and all codes 7. */
Test(rht_quantize, row_cast_col_takes_special_amaxes_otherwise)
{
    struct fp4_rht_params p = params(16, 1);
    struct outputs o = outputs(1, 16);
    const float inf = slow_float(0x7F800000u);
    const float nan = slow_float(0x7FFFFFFFu);
    uint16_t x[16];

    for (unsigned k = 0; k < 16; k++)
        x[k] = 0x3FC0; /* the first sum is 6, the others are 0 */
    p.kernel = FP4_RHT_KERNEL_ROWCOL;
    p.sign_mask = 0;
    o.q.given_amax = &nan;
    cr_assert_eq(fp4_rht_quantize(&p, x, NULL, &o.q, NULL, NULL), 0);
    cr_expect(slow_bits(o.q.global_scale[0]) == 0x3F800000u && o.q.scales[0] == 0x38 && o.q.codes[0] == 0x07);
    o.q.given_amax = &inf;
    cr_assert_eq(fp4_rht_quantize(&p, x, NULL, &o.q, NULL, NULL), 0);
    cr_expect(slow_bits(o.q.global_scale[0]) == 0 && o.q.scales[0] == 0x00);
    for (unsigned k = 0; k < 8; k++)
        cr_expect_eq(o.q.codes[k], 0x77);
    release(&o);
}

/* RHT 2.3: fl(g * fl(1/6)) against fl(g / 6); SR 5.4, A13. */
Test(rht_quantize, the_public_port_divides_by_six)
{
    struct fp4_rht_params p = params(16, 1);
    struct outputs o = outputs(1, 16);
    const float amax = 1.5F;
    uint16_t x[16];

    for (unsigned k = 0; k < 16; k++)
        x[k] = 0x3E90; /* 0.28125: the first sum is 1.125 */
    p.sign_mask = 0;
    o.q.given_amax = &amax;
    cr_assert_eq(fp4_rht_quantize(&p, x, NULL, &o.q, NULL, NULL), 0);
    cr_expect_eq(o.q.scales[0], 0x7B, "%02x", o.q.scales[0]);
    p.recipe = FP4_RECIPE_FP4SM120;
    cr_assert_eq(fp4_rht_quantize(&p, x, NULL, &o.q, NULL, NULL), 0);
    cr_expect_eq(o.q.scales[0], 0x7A, "%02x", o.q.scales[0]);
    release(&o);
}

/* RHT 3.6: unfused, the transform is an ordinary bf16 matrix for the ordinary quantizer. */
Test(rht_quantize, unfused_is_transform_then_quantize)
{
    struct slow_random g = { 88 };
    uint16_t *x = make_input(&g, 64, 48, true);
    struct fp4_rht_params p = params(64, 48);
    struct outputs o = outputs(48, 64);
    struct outputs q = outputs(48, 64);
    float *transformed = calloc(64 * 48, sizeof *transformed);
    const struct fp4_rht_stages stages = { transformed, NULL };
    const struct fp4_quantize_params ordinary = {
        .recipe = FP4_RECIPE_TE, .input = FP4_F32, .rows = 48, .cols = 64, .stream = FP4_STREAM_AUTO, .philox_rounds = 10
    };

    cr_assert(transformed);
    p.kernel = FP4_RHT_KERNEL_UNFUSED;
    cr_assert_eq(fp4_rht_quantize(&p, x, NULL, &o.q, &stages, NULL), 0);
    cr_assert_eq(fp4_quantize(&ordinary, transformed, &q.q, NULL, NULL), 0);
    cr_expect(memcmp(o.q.codes, q.q.codes, 64 * 48 / 2) == 0);
    cr_expect(memcmp(o.q.scales, q.q.scales, 64 * 48 / 16) == 0);
    cr_expect_eq(slow_bits(o.q.amax[0]), slow_bits(q.q.amax[0]));
    free(transformed);
    free(x);
    release(&o);
    release(&q);
}

Test(rht_quantize, refuses_what_makes_no_sense)
{
    static const uint16_t x[17 * 16];
    struct fp4_rht_params p = params(17, 16);
    struct outputs o = outputs(32, 32);
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(fp4_rht_quantize(&p, x, NULL, &o.q, NULL, &err), -1, "17 tokens");
    cr_expect(err.code != FP4_OK && err.msg[0] != '\0');
    release(&o);
}

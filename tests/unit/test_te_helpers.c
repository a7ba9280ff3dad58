/* SPDX-License-Identifier: Apache-2.0 */
/* TE's stochastic conversion helpers (SR 3): products, lanes, which scale belongs to which element, -0. */
#include "check.h"
#include "slow.h"

static struct fp4_rs_model model_number(unsigned i)
{
    return (struct fp4_rs_model){ (enum fp4_rs_rule)(i / FP4_MAP_COUNT), (enum fp4_byte_map)(i % FP4_MAP_COUNT), NULL };
}

enum { MODELS = FP4_RS_RULE_COUNT * FP4_MAP_COUNT };

static bf16_t random_bf16(struct slow_random *g)
{
    const uint32_t kind = slow_draw(g) % 16;

    if (kind == 0)
        return (bf16_t){ (uint16_t)slow_draw(g) };
    if (kind == 1)
        return (bf16_t){ (uint16_t)(slow_draw(g) % 2 ? 0x8000u : 0u) };
    return (bf16_t){ (uint16_t)slow_bf16(slow_draw_uniform(g, -6.0F, 6.0F)) };
}

static float as_float(bf16_t v)
{
    return slow_float((uint32_t)v.bits << 16);
}

Test(sr_helpers, against_the_slow_version_for_every_model)
{
    struct slow_random g = { 11 };

    for (unsigned i = 0; i < 20000; i++) {
        const struct fp4_rs_model m = model_number(i % MODELS);
        const float scale[2] = { slow_draw_uniform(&g, 0.1F, 2.1F), slow_draw_uniform(&g, 0.1F, 2.1F) };
        const uint32_t w0 = slow_draw(&g);
        const uint32_t w1 = slow_draw(&g);
        bf16_t b[8];
        float f[4];
        uint32_t want_b4 = 0;
        uint32_t want_f4 = 0;
        uint32_t want_plain = 0;
        uint32_t want_8 = 0;

        for (unsigned e = 0; e < 8; e++)
            b[e] = random_bf16(&g);
        for (unsigned e = 0; e < 4; e++)
            f[e] = slow_draw_uniform(&g, -6.0F, 6.0F);
        for (unsigned e = 0; e < 4; e++) {
            want_b4 |= slow_rs_word(m, slow_mul(as_float(b[e]), scale[e % 2]), w0, e) << (4 * e);
            want_f4 |= slow_rs_word(m, slow_mul(f[e], scale[e % 2]), w0, e) << (4 * e);
            want_plain |= slow_rs_word(m, f[e], w0, e) << (4 * e);
        }
        for (unsigned e = 0; e < 8; e++)
            want_8 |= slow_rs_word(m, slow_mul(as_float(b[e]), scale[0]), e < 4 ? w0 : w1, e % 4) << (4 * e);
        CHECK(fp4_sr_bf16x4(m, b, scale, w0) == want_b4, "bf16x4 row %u model %u", i, i % MODELS);
        CHECK(fp4_sr_fp32x4_scaled(m, f, scale, w0) == want_f4, "fp32x4 scaled row %u model %u", i, i % MODELS);
        CHECK(fp4_sr_fp32x4(m, f, w0) == want_plain, "fp32x4 row %u model %u", i, i % MODELS);
        CHECK(fp4_sr_bf16x8(m, b, scale[0], w0, w1) == want_8, "bf16x8 row %u model %u", i, i % MODELS);
    }
}

Test(sr_helpers, bf16_coefficient_against_the_slow_version)
{
    struct slow_random g = { 12 };

    for (unsigned i = 0; i < 20000; i++) {
        const struct fp4_rs_model m = model_number(i % MODELS);
        const bf16_t s = { (uint16_t)slow_bf16(slow_draw_uniform(&g, 0.0625F, 2.0F)) };
        const uint32_t w0 = slow_draw(&g);
        const uint32_t w1 = slow_draw(&g);
        bf16_t b[8];
        uint32_t want = 0;

        for (unsigned e = 0; e < 8; e++) {
            float y;

            b[e] = random_bf16(&g);
            y = slow_mul(as_float(b[e]), as_float(s));
            if (as_float(b[e]) == 0.0F && m.rule != FP4_RS_FMA_FLOOR)
                y = 0.0F; /* -0 * s + (+0) = +0; the software fallback only multiplies */
            want |= slow_rs_word(m, y, e < 4 ? w0 : w1, e % 4) << (4 * e);
        }
        CHECK(fp4_sr_bf16x8_coef_bf16(m, b, s, w0, w1) == want, "row %u model %u: %08" PRIx32 ", not %08" PRIx32, i, i % MODELS,
              fp4_sr_bf16x8_coef_bf16(m, b, s, w0, w1), want);
    }
}

/* SR 5.2, bug O4: every caller in TE passes the same scale twice, so only this sees an exchange. */
Test(sr_helpers, scale_x_is_for_even_elements_and_scale_y_for_odd_ones)
{
    const struct fp4_rs_model m = { FP4_RS_TRUNC, FP4_MAP_B300, NULL };
    const bf16_t ones[4] = { { 0x3F80 }, { 0x3F80 }, { 0x3F80 }, { 0x3F80 } };
    const float f[4] = { 1.0F, 1.0F, 1.0F, 1.0F };
    const float scale[2] = { 1.0F, 2.0F };

    cr_expect_eq(fp4_sr_bf16x4(m, ones, scale, 0), 0x4242);
    cr_expect_eq(fp4_sr_fp32x4_scaled(m, f, scale, 0), 0x4242);
}

Test(sr_helpers, element_i_is_nibble_i)
{
    const struct fp4_rs_model m = { FP4_RS_TRUNC, FP4_MAP_STRAIGHT, NULL };
    const float f[4] = { 0.0F, 0.5F, 1.0F, 1.5F };
    const float one[2] = { 1.0F, 1.0F };
    const bf16_t b[8] = { { 0 }, { 0x3F00 }, { 0x3F80 }, { 0x3FC0 }, { 0x4000 }, { 0x4040 }, { 0x4080 }, { 0x40C0 } };

    cr_expect_eq(fp4_sr_fp32x4(m, f, 0xFFFFFFFFu), 0x3210);
    cr_expect_eq(fp4_sr_fp32x4_scaled(m, f, one, 0xFFFFFFFFu), 0x3210);
    cr_expect_eq(fp4_sr_bf16x4(m, b, one, 0xFFFFFFFFu), 0x3210);
    cr_expect_eq(fp4_sr_bf16x8(m, b, 1.0F, 0xFFFFFFFFu, 0xFFFFFFFFu), 0x76543210u);
    cr_expect_eq(fp4_sr_bf16x8_coef_bf16(m, b, (bf16_t){ 0x3F80 }, 0xFFFFFFFFu, 0xFFFFFFFFu), 0x76543210u);
}

Test(sr_helpers, the_first_word_is_for_elements_0_to_3)
{
    const struct fp4_rs_model m = { FP4_RS_TRUNC, FP4_MAP_STRAIGHT, NULL };
    const bf16_t quarter[8] = { { 0x3E80 }, { 0x3E80 }, { 0x3E80 }, { 0x3E80 }, { 0x3E80 }, { 0x3E80 }, { 0x3E80 }, { 0x3E80 } };

    cr_expect_eq(fp4_sr_bf16x8(m, quarter, 1.0F, 0xFFFFFFFFu, 0), 0x00001111u);
    cr_expect_eq(fp4_sr_bf16x8(m, quarter, 1.0F, 0, 0xFFFFFFFFu), 0x11110000u);
    cr_expect_eq(fp4_sr_bf16x8_coef_bf16(m, quarter, (bf16_t){ 0x3F80 }, 0xFFFFFFFFu, 0), 0x00001111u);
}

Test(sr_helpers, an_exact_minus_zero_loses_its_sign_only_with_a_bf16_coefficient)
{
    const bf16_t zeros[8] = { { 0x8000 }, { 0 }, { 0x8000 }, { 0x8000 }, { 0x8000 }, { 0x8000 }, { 0x8000 }, { 0x8000 } };
    const bf16_t tiny[8] = { { 0x8001 }, { 0x8001 }, { 0x8001 }, { 0x8001 }, { 0x8001 }, { 0x8001 }, { 0x8001 }, { 0x8001 } };
    const bf16_t half = { 0x3F00 };
    const bf16_t small = { 0x0080 };

    for (unsigned i = 0; i < MODELS; i++) {
        const struct fp4_rs_model m = model_number(i);
        const uint32_t want = m.rule == FP4_RS_FMA_FLOOR ? 0x88888808u : 0u;

        CHECK(fp4_sr_bf16x8(m, zeros, 0.5F, 0, 0) == 0x88888808u, "float coefficient, model %u", i);
        CHECK(fp4_sr_bf16x8_coef_bf16(m, zeros, half, 0, 0) == want, "bf16 coefficient, model %u: %08" PRIx32, i,
              fp4_sr_bf16x8_coef_bf16(m, zeros, half, 0, 0));
        /* a negative product that underflows keeps its sign everywhere */
        CHECK(fp4_sr_bf16x8_coef_bf16(m, tiny, small, 0, 0) == 0x88888888u, "tiny product, model %u", i);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* E2M1, E4M3, bf16, f16: decoding by formula, encoding against the nearest code found by search. */
#include "check.h"
#include "kat.h"
#include "slow.h"

#include <string.h>

static void check_encoders(uint32_t bits)
{
    const float x = slow_float(bits);

    CHECK(f32_to_e2m1(x).bits == slow_e2m1(x), "e2m1 %08" PRIx32 ": %x, not %x", bits, f32_to_e2m1(x).bits, slow_e2m1(x));
    CHECK(f32_to_e4m3(x).bits == slow_e4m3(x), "e4m3 %08" PRIx32 ": %02x, not %02x", bits, f32_to_e4m3(x).bits, slow_e4m3(x));
    CHECK(f32_to_bf16(x).bits == slow_bf16(x), "bf16 %08" PRIx32 ": %04x, not %04x", bits, f32_to_bf16(x).bits, slow_bf16(x));
    CHECK(f32_to_f16(x).bits == slow_f16(x), "f16 %08" PRIx32 ": %04x, not %04x", bits, f32_to_f16(x).bits, slow_f16(x));
}

/* The number at bits and its neighbours up to reach ulp away, both signs. */
static void check_around(uint32_t bits, int reach)
{
    for (int step = -reach; step <= reach; step++) {
        const uint32_t near = (bits & 0x7FFFFFFFu) + (uint32_t)step;

        check_encoders(near);
        check_encoders(near ^ 0x80000000u);
    }
}

Test(e2m1_decode, all_sixteen_codes)
{
    for (unsigned code = 0; code < 16; code++) {
        const float got = e2m1_to_f32((e2m1_t){ (uint8_t)code });
        const float want = (float)slow_e2m1_value(code);

        CHECK(slow_bits(got) == slow_bits(want), "code %x: %a, not %a", code, (double)got, (double)want);
    }
}

Test(e2m1_decode, negative_zero_keeps_its_sign)
{
    cr_assert(slow_bits(e2m1_to_f32((e2m1_t){ 8 })) == 0x80000000u);
}

Test(e4m3_decode, all_256_codes)
{
    for (unsigned code = 0; code < 256; code++) {
        const float got = e4m3_to_f32((e4m3_t){ (uint8_t)code });

        if ((code & 0x7Fu) == 0x7Fu)
            CHECK(slow_bits(got) == 0x7FFFFFFFu, "code %02x: %08" PRIx32 ", not the canonical NaN", code, slow_bits(got));
        else
            CHECK(slow_bits(got) == slow_bits((float)slow_e4m3_value(code)), "code %02x: %a", code, (double)got);
    }
}

Test(bf16_decode, all_65536_codes)
{
    for (unsigned code = 0; code < 65536; code++) {
        const uint32_t got = slow_bits(bf16_to_f32((bf16_t){ (uint16_t)code }));
        const unsigned mag = code & 0x7FFFu;
        uint32_t want;

        if (mag > 0x7F80u)
            want = 0x7FFFFFFFu;
        else if (mag == 0x7F80u)
            want = code & 0x8000u ? 0xFF800000u : 0x7F800000u;
        else
            want = slow_bits((float)slow_bf16_value(code));
        CHECK(got == want, "code %04x: %08" PRIx32 ", not %08" PRIx32, code, got, want);
    }
}

Test(f16_decode, all_65536_codes)
{
    for (unsigned code = 0; code < 65536; code++) {
        const uint32_t got = slow_bits(f16_to_f32((f16_t){ (uint16_t)code }));
        const unsigned mag = code & 0x7FFFu;
        uint32_t want;

        if (mag > 0x7C00u)
            want = 0x7FFFFFFFu;
        else if (mag == 0x7C00u)
            want = code & 0x8000u ? 0xFF800000u : 0x7F800000u;
        else
            want = slow_bits((float)slow_f16_value(code));
        CHECK(got == want, "code %04x: %08" PRIx32 ", not %08" PRIx32, code, got, want);
    }
}

Test(formats, decoding_then_encoding_gives_the_code_back)
{
    for (unsigned code = 0; code < 16; code++)
        CHECK(f32_to_e2m1(e2m1_to_f32((e2m1_t){ (uint8_t)code })).bits == code, "e2m1 %x", code);
    for (unsigned code = 0; code < 256; code++) {
        const unsigned back = f32_to_e4m3(e4m3_to_f32((e4m3_t){ (uint8_t)code })).bits;

        CHECK(back == ((code & 0x7Fu) == 0x7Fu ? 0x7Fu : code), "e4m3 %02x gives %02x", code, back);
    }
    for (unsigned code = 0; code < 65536; code++) {
        const unsigned b = f32_to_bf16(bf16_to_f32((bf16_t){ (uint16_t)code })).bits;
        const unsigned h = f32_to_f16(f16_to_f32((f16_t){ (uint16_t)code })).bits;

        CHECK(b == ((code & 0x7FFFu) > 0x7F80u ? 0x7FFFu : code), "bf16 %04x gives %04x", code, b);
        CHECK(h == ((code & 0x7FFFu) > 0x7C00u ? 0x7FFFu : code), "f16 %04x gives %04x", code, h);
    }
}

Test(encode, every_exponent_boundary)
{
    for (uint32_t field = 0; field < 256; field++)
        check_around(field << 23, 4);
}

Test(encode, every_nan_is_canonical)
{
    for (uint32_t bit = 0; bit < 23; bit++) {
        check_encoders(0x7F800000u | 1u << bit);
        check_encoders(0xFF800000u | 1u << bit);
    }
    check_encoders(0x7FFFFFFFu);
    check_encoders(0xFFFFFFFFu);
}

Test(e2m1_encode, ties_go_to_the_even_code)
{
    for (unsigned code = 0; code < 7; code++) {
        const float tie = (float)((slow_e2m1_value(code) + slow_e2m1_value(code + 1)) / 2);
        const unsigned even = code % 2 == 0 ? code : code + 1;

        CHECK(f32_to_e2m1(tie).bits == even, "%a: %x, not %x", (double)tie, f32_to_e2m1(tie).bits, even);
        CHECK(f32_to_e2m1(-tie).bits == (even | 8u), "%a: %x, not %x", (double)-tie, f32_to_e2m1(-tie).bits, even | 8u);
        check_around(slow_bits(tie), 2);
        check_around(slow_bits((float)slow_e2m1_value(code + 1)), 2);
    }
}

Test(e4m3_encode, all_rounding_boundaries)
{
    for (unsigned code = 0; code < 0x7E; code++) {
        check_around(slow_bits((float)((slow_e4m3_value(code) + slow_e4m3_value(code + 1)) / 2)), 2);
        check_around(slow_bits((float)slow_e4m3_value(code)), 2);
    }
    check_around(slow_bits(448.0F), 2);
    check_around(slow_bits(464.0F), 2);
    check_around(slow_bits(480.0F), 2);
}

Test(bf16_encode, all_rounding_boundaries)
{
    for (uint32_t code = 0; code < 0x7F80u; code++) {
        for (uint32_t low = 0x7FFEu; low <= 0x8002u; low++) {
            for (uint32_t sign = 0; sign < 2; sign++) {
                const float x = slow_float(sign << 31 | code << 16 | low);

                CHECK(f32_to_bf16(x).bits == slow_bf16(x), "%08" PRIx32 ": %04x, not %04x", slow_bits(x), f32_to_bf16(x).bits,
                      slow_bf16(x));
            }
        }
    }
}

Test(f16_encode, all_rounding_boundaries)
{
    for (unsigned code = 0; code < 0x7C00u; code++) {
        const uint32_t tie = slow_bits((float)((slow_f16_value(code) + slow_f16_value(code + 1)) / 2));

        for (int step = -2; step <= 2; step++) {
            for (uint32_t sign = 0; sign < 2; sign++) {
                const float x = slow_float((tie + (uint32_t)step) | sign << 31);

                CHECK(f32_to_f16(x).bits == slow_f16(x), "%08" PRIx32 ": %04x, not %04x", slow_bits(x), f32_to_f16(x).bits,
                      slow_f16(x));
            }
        }
    }
}

Test(encode, a_strided_sweep_of_all_numbers)
{
    const uint64_t stride = slow_stride(7919);

    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
        check_encoders((uint32_t)bits);
}

Test(encode, known_answers)
{
    struct kat k;

    for (kat_open(&k, "cvt-rn"); kat_next(&k);) {
        const float x = slow_float((uint32_t)kat_hex(&k, 1));
        const unsigned want = (unsigned)kat_hex(&k, 2);
        const bool e4m3 = strcmp(kat_text(&k, 0), "e4m3") == 0;
        const unsigned got = e4m3 ? f32_to_e4m3(x).bits : f32_to_e2m1(x).bits;

        CHECK(e4m3 || strcmp(kat_text(&k, 0), "e2m1") == 0, "cvt-rn line %u: '%s'?", k.line_number, kat_text(&k, 0));
        CHECK(got == want, "cvt-rn line %u: %x, not %x", k.line_number, got, want);
        CHECK(want == (e4m3 ? slow_e4m3(x) : slow_e2m1(x)), "cvt-rn line %u: the slow version says otherwise", k.line_number);
    }
}

Test(cvt_rn, the_first_operand_is_the_high_half)
{
    cr_assert_eq(fp4_cvt_rn_e2m1x2(1.0F, -6.0F), 0x2F);
    cr_assert_eq(fp4_cvt_rn_e2m1x4(0.5F, 1.0F, 1.5F, -2.0F), 0x123C);
    cr_assert_eq(fp4_cvt_rn_e4m3x2(1.0F, -448.0F), 0x38FE);
}

Test(load, widens_exactly_and_keeps_the_payload_of_f32)
{
    const uint32_t words[3] = { 0xFFC12345u, 0x00000001u, 0x80000000u };
    const uint16_t halves[4] = { 0x8001u, 0x3C01u, 0x7F80u, 0xFFFFu };
    float f[3];

    memcpy(f, words, sizeof f);
    for (size_t i = 0; i < 3; i++)
        CHECK(slow_bits(fp4_load(f, FP4_F32, i)) == words[i], "f32 %zu: %08" PRIx32, i, slow_bits(fp4_load(f, FP4_F32, i)));
    cr_expect_eq(slow_bits(fp4_load(halves, FP4_BF16, 0)), 0x80010000u);
    cr_expect_eq(slow_bits(fp4_load(halves, FP4_F16, 1)), 0x3F802000u);
    cr_expect_eq(slow_bits(fp4_load(halves, FP4_BF16, 2)), 0x7F800000u);
    cr_expect(slow_is_nan(slow_bits(fp4_load(halves, FP4_F16, 3))));
}

Test(bits, there_and_back)
{
    cr_assert_eq(fp4_f32_bits(-2.0F), 0xC0000000u);
    cr_assert_eq(slow_bits(fp4_f32_from_bits(0x3E2AAAABu)), 0x3E2AAAABu);
}

Test(dtype, names_and_sizes)
{
    static const char *const name[FP4_DTYPE_COUNT] = { "f32", "f16", "bf16", "e2m1", "e4m3", "u8", "u32", "u64" };
    static const size_t bytes_of_7[FP4_DTYPE_COUNT] = { 28, 14, 14, 4, 7, 7, 28, 56 };

    for (int d = 0; d < FP4_DTYPE_COUNT; d++) {
        CHECK(strcmp(fp4_dtype_name((enum fp4_dtype)d), name[d]) == 0, "dtype %d is called %s", d,
              fp4_dtype_name((enum fp4_dtype)d));
        CHECK(fp4_dtype_from_name(name[d]) == d, "name %s", name[d]);
        CHECK(fp4_dtype_bytes((enum fp4_dtype)d, 7) == bytes_of_7[d], "bytes of 7 x %s", name[d]);
    }
    cr_expect_eq(fp4_dtype_from_name("fp4"), -1);
    cr_expect_eq(fp4_dtype_bytes(FP4_E2M1, 0), 0);
}

/* The exact arithmetic of slow.c against the host's, so that a slip there is not taken for one of the library. */
Test(slow, products_and_quotients_agree_with_the_host)
{
    struct slow_random g = { 77 };

    for (unsigned i = 0; i < 1000000; i++) {
        uint32_t a = slow_draw(&g);
        uint32_t b = slow_draw(&g);

        if (i % 3 == 0) /* small exponents, so that results become subnormal */
            a = (a & 0x807FFFFFu) | (slow_draw(&g) % 40) << 23;
        if (i % 5 == 0)
            b = (b & 0x807F0000u) | (110 + slow_draw(&g) % 30) << 23;
        volatile float x = slow_float(a);
        volatile float y = slow_float(b);
        volatile float product = x * y;
        volatile float quotient = x / y;

        CHECK(slow_same(slow_mul(x, y), product), "%08" PRIx32 " * %08" PRIx32, a, b);
        CHECK(slow_same(slow_div(x, y), quotient), "%08" PRIx32 " / %08" PRIx32, a, b);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize: all codes with all scales, the amax of special values, three output types, swizzled scales. */
#include "check.h"
#include "slow.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 256, COLS = 16 };

/* Row r has scale byte r; element k has code k. */
static void check_all_codes(float amax, unsigned bound)
{
    uint8_t codes[ROWS * COLS / 2];
    uint8_t scales[ROWS];
    float out[ROWS * COLS];
    uint16_t half[ROWS * COLS];
    float block[ROWS];
    struct fp4_dequantize_params p = { .rows = ROWS, .cols = COLS, .bound = bound, .output = FP4_F32 };

    for (unsigned r = 0; r < ROWS; r++) {
        scales[r] = (uint8_t)r;
        for (unsigned k = 0; k < COLS / 2; k++)
            codes[r * COLS / 2 + k] = (uint8_t)(2 * k | (2 * k + 1) << 4);
    }
    cr_assert_eq(fp4_dequantize(&p, codes, scales, &amax, out, block, NULL), 0);
    for (unsigned r = 0; r < ROWS; r++) {
        CHECK(slow_bits(block[r]) == slow_bits(slow_dequantize_block(r, amax, bound)),
              "amax %08" PRIx32 " scale %02x: block scale %08" PRIx32, slow_bits(amax), r, slow_bits(block[r]));
        for (unsigned k = 0; k < COLS; k++) {
            const float want = slow_dequantize(k, r, amax, bound);

            CHECK(slow_bits(out[r * COLS + k]) == slow_bits(want),
                  "amax %08" PRIx32 " scale %02x code %x: %08" PRIx32 ", not %08" PRIx32, slow_bits(amax), r, k,
                  slow_bits(out[r * COLS + k]), slow_bits(want));
        }
    }
    p.output = FP4_BF16;
    cr_assert_eq(fp4_dequantize(&p, codes, scales, &amax, half, NULL, NULL), 0);
    for (unsigned i = 0; i < ROWS * COLS; i++)
        CHECK(half[i] == slow_bf16(out[i]), "bf16 of %08" PRIx32 ": %04x", slow_bits(out[i]), half[i]);
    p.output = FP4_F16;
    cr_assert_eq(fp4_dequantize(&p, codes, scales, &amax, half, NULL, NULL), 0);
    for (unsigned i = 0; i < ROWS * COLS; i++)
        CHECK(half[i] == slow_f16(out[i]), "f16 of %08" PRIx32 ": %04x", slow_bits(out[i]), half[i]);
}

Test(dequantize, all_codes_with_all_scales_and_many_amaxes)
{
    static const uint32_t amax[] = { 0,           0x80000000u, 1,           0x00800000u, 0x3F800000u, 0x40400000u, 0x420C0000u,
                                     0x7F7FFFFFu, 0x7F800000u, 0x7FFFFFFFu, 0xC0800000u, 0x477FE000u, 0x49742400u };
    struct slow_random g = { 51 };

    for (size_t i = 0; i < sizeof amax / sizeof amax[0]; i++) {
        check_all_codes(slow_float(amax[i]), 448);
        check_all_codes(slow_float(amax[i]), 256);
    }
    for (unsigned i = 0; i < 100; i++)
        check_all_codes(slow_float(slow_draw(&g) & 0x7F7FFFFFu), i % 2 ? 448 : 256);
}

/* TE 7: the constants 1 / (6 * bound), and a value whose bf16 shows the order of operations (amax 35, scale 1.375, code 3, bound 256). */
Test(dequantize, the_order_of_operations)
{
    struct fp4_dequantize_params p = { .rows = 1, .cols = 16, .bound = 448, .output = FP4_F32 };
    const uint8_t codes[8] = { 0x32 };
    const uint8_t one = 0x38;
    const uint8_t scale = 0x3B;
    const float unit = 1.0F;
    const float amax = 35.0F;
    float out[16];
    uint16_t half[16];

    cr_assert_eq(fp4_dequantize(&p, codes, &one, &unit, out, NULL, NULL), 0);
    cr_expect_eq(slow_bits(out[0]), 0x39C30C31u);
    p.bound = 256;
    cr_assert_eq(fp4_dequantize(&p, codes, &one, &unit, out, NULL, NULL), 0);
    cr_expect_eq(slow_bits(out[0]), 0x3A2AAAABu);
    p.output = FP4_BF16;
    cr_assert_eq(fp4_dequantize(&p, codes, &scale, &amax, half, NULL, NULL), 0);
    cr_expect_eq(half[1], 0x3D41, "%04x", half[1]);
}

Test(dequantize, one_amax_a_row_and_swizzled_scales)
{
    enum { R = 150, C = 80 };
    struct slow_random g = { 52 };
    uint8_t codes[R * C / 2];
    uint8_t scales[R * C / 16];
    float amax[R];
    float out[R * C];
    float again[R * C];
    uint8_t *swizzled = calloc(fp4_swizzle_bytes(R, C / 16), 1);
    struct fp4_dequantize_params p = { .rows = R, .cols = C, .row_scaled = true, .bound = 448, .output = FP4_F32 };

    cr_assert(swizzled);
    for (size_t i = 0; i < sizeof codes; i++)
        codes[i] = (uint8_t)slow_draw(&g);
    for (size_t i = 0; i < sizeof scales; i++)
        scales[i] = (uint8_t)(slow_draw(&g) & 0x7F);
    for (size_t i = 0; i < R; i++)
        amax[i] = slow_draw_uniform(&g, 0.0F, 100.0F);
    cr_assert_eq(fp4_dequantize(&p, codes, scales, amax, out, NULL, NULL), 0);
    for (size_t r = 0; r < R; r++) {
        for (size_t c = 0; c < C; c++) {
            const unsigned code = (unsigned)codes[(r * C + c) / 2] >> (c % 2 * 4) & 15u;
            const float want = slow_dequantize(code, scales[r * (C / 16) + c / 16], amax[r], 448);

            CHECK(slow_bits(out[r * C + c]) == slow_bits(want), "(%zu, %zu): %08" PRIx32, r, c, slow_bits(out[r * C + c]));
        }
    }
    fp4_swizzle(R, C / 16, scales, swizzled);
    p.swizzled = true;
    cr_assert_eq(fp4_dequantize(&p, codes, swizzled, amax, again, NULL, NULL), 0);
    cr_expect(memcmp(out, again, sizeof out) == 0);
    free(swizzled);
}

Test(dequantize, refuses_what_makes_no_sense)
{
    static const uint8_t bytes[64];
    const float amax = 1.0F;
    float out[64];
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_dequantize_params p = { .rows = 1, .cols = 24, .bound = 448, .output = FP4_F32 };

    cr_expect_eq(fp4_dequantize(&p, bytes, bytes, &amax, out, NULL, &err), -1, "24 columns");
    cr_expect(err.code != FP4_OK && err.msg[0] != '\0');
    p.cols = 16;
    p.bound = 440;
    cr_expect_eq(fp4_dequantize(&p, bytes, bytes, &amax, out, NULL, &err), -1, "bound 440");
    p.bound = 448;
    p.output = FP4_E4M3;
    cr_expect_eq(fp4_dequantize(&p, bytes, bytes, &amax, out, NULL, &err), -1, "output e4m3");
}

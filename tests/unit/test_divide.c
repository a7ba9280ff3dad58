/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients by 6, 1536 and 2688: the machine's division, the form without a division and the long division of fp4second.h are one. */
#include "check.h"
#include "fp4divide.h"
#include "fp4second.h"
#include "slow.h"

static const uint32_t divisors[3] = { 6, 1536, 2688 };

static void check_quotient(uint32_t bits, uint32_t divisor)
{
    const float v = fp4a_float(bits), d = (float)divisor;
    const uint32_t want = fp4x_divide(bits, divisor);
    const uint32_t got = fp4a_bits(fp4a_canonical(fp4a_divide_by(v, d, fp4a_reciprocal_of(divisor))));
    const uint32_t machine = fp4a_bits(fp4a_canonical(fp4a_div(v, d)));

    CHECK(got == want, "%08" PRIx32 " / %" PRIu32 ": %08" PRIx32 ", not %08" PRIx32, bits, divisor, got, want);
    CHECK(machine == want, "%08" PRIx32 " / %" PRIu32 " by the machine: %08" PRIx32 ", not %08" PRIx32, bits, divisor, machine,
          want);
}

/* All 2^32 with FP4_TEST_STRIDE=1. */
Test(divide, floats_by_stride, .timeout = 7200)
{
    const uint64_t stride = slow_stride(4099);

    for (unsigned k = 0; k < 3; k++)
        for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += stride)
            check_quotient((uint32_t)bits, divisors[k]);
}

Test(divide, every_bf16)
{
    for (unsigned k = 0; k < 3; k++)
        for (uint32_t bits = 0; bits < 0x10000u; bits++)
            check_quotient(bits << 16, divisors[k]);
}

/* Subnormal quotients that lie in the middle of two numbers, and the numbers beside them. */
Test(divide, subnormal_ties)
{
    for (unsigned k = 0; k < 3; k++)
        for (uint32_t odd = 1; odd < 2000; odd += 2) {
            const uint32_t tie = fp4a_bits((float)odd * (float)divisors[k] * 0.5f * 0x1p-149f);

            for (uint32_t near = tie - 1; near != tie + 2; near++)
                check_quotient(near, divisors[k]);
        }
}

Test(divide, known_answers)
{
    static const struct {
        uint32_t bits, divisor, quotient;
    } rows[] = {
        { 0x3F800000, 6, 0x3E2AAAAB }, { 0x3F800000, 1536, 0x3A2AAAAB }, { 0x3F800000, 2688, 0x39C30C31 },
        { 0xC0C00000, 6, 0xBF800000 }, { 0x80000000, 6, 0x80000000 },    { 0x7F800000, 6, 0x7F800000 },
        { 0x7FC00001, 6, 0x7FFFFFFF }, { 0x00000003, 6, 0x00000000 },    { 0x00000009, 6, 0x00000002 },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_quotient(rows[i].bits, rows[i].divisor);
        CHECK(fp4x_divide(rows[i].bits, rows[i].divisor) == rows[i].quotient, "row %u", i);
    }
}

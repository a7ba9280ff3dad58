// SPDX-License-Identifier: Apache-2.0
// kernels/isa/soft_bf16.cuh against the reference's arithmetic: for significands of the scale e the code of every bf16 significand times e, in
// every binade whose codes are not all zero. Significands: every STRIDEth (1: all, a few minutes), and those next to 2^n / q for odd q,
// where products meet the midpoints between two codes.
// usage: products [STRIDE]
#include <cuda_runtime.h>

#include "isa/soft_bf16.cuh"

static uint64_t plain, less, ties, neither, wrong;

static void check_codes(float e, float m, const float x[8])
{
    uint32_t codes[2] = { isa_mul_rn_bf16x8<true>(x, m, isa_bf16_odd(m)), m < 0 ? 0 : isa_mul_rn_bf16x8<false>(x, m, 0) };

    for (int i = 0; i < 8; i++) {
        float y = fp4a_mul(x[i], e);
        uint32_t want = fp4a_to_e2m1(y);

        if (!(fp4a_mul(fabsf(x[i]), fabsf(m)) < ISA_BF16_LIMIT)) /* as the kernels ask */
            continue;
        for (int k = 0; k < (m < 0 ? 1 : 2); k++) {
            uint32_t got = codes[k] >> 4 * i & 15u;

            if (got != want && wrong++ < 10)
                fprintf(stderr, "products: %a * %a: code %x, not %x\n", x[i], e, got, want);
        }
    }
}

static void check(uint32_t fraction)
{
    float e = __uint_as_float(0x3F800000u | (fraction & 0x7FFFFFu)), m = isa_bf16_multiplier(e);

    if (std::isinf(m)) {
        neither++;
        return;
    }
    (m < 0 ? ties : m == e * 0x1p-14f ? plain : less)++;
    for (int n = -4; n < 3; n++)
        for (uint32_t s = 128; s < 256; s += 8) {
            float x[8];

            for (int i = 0; i < 8; i++)
                x[i] = ldexpf((float)(s + i), n - 7) * (i % 2 ? -1.0f : 1.0f);
            check_codes(e, m, x);
        }
}

int main(int argc, char **argv)
{
    uint32_t stride = argc > 1 ? (uint32_t)strtoul(argv[1], nullptr, 0) : 251;

    for (uint32_t f = 0; f < 1u << 23; f += stride ? stride : 1)
        check(f);
    for (uint32_t q = 1; q < 256; q += 2)
        for (int nudge = -8; nudge <= 8; nudge++)
            check(__float_as_uint(1.0f / (float)q) + (uint32_t)nudge);
    printf("products: %lu scales as they are, %lu made less, %lu with ties, %lu left to the other rounding; %lu codes differ\n",
           (unsigned long)plain, (unsigned long)less, (unsigned long)ties, (unsigned long)neither, (unsigned long)wrong);
    return wrong != 0 || !plain || !less || !ties || !neither;
}

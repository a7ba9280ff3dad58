/* SPDX-License-Identifier: Apache-2.0 */
/* soft.cuh: no FP4 instruction at all; any architecture from sm_80 on. */
#ifndef FP4_ISA_SOFT_CUH
#define FP4_ISA_SOFT_CUH

#include "common.cuh"

struct isa_soft {
    static constexpr bool available = true;
    static constexpr bool native_rs = false;

    /* Two of cvt.rn.satfinite.e2m1x2.f32: four values to bits 15:0, v0 in nibble 0. What is above bit 15 is not defined, in every layer. */
    static __device__ __forceinline__ uint32_t cvt_rn_e2m1x4(float v0, float v1, float v2, float v3)
    {
        uint32_t r = isa_rn_pair(v0, v1) + isa_rn_pair(v2, v3) * 256; /* nibbles 0, 2, 1, 3 at bits 0, 8, 16, 24 */

        return r + (r >> 12);
    }

    /* Nearest codes of x * e, for |x * e| < 7, e >= 2^-100 and no NaN: eight values to 32 bits. */
    static __device__ __forceinline__ uint32_t mul_cvt_rn_e2m1x8_small(const float x[8], float e)
    {
        float e23 = fp4a_mul(e, 0x1p-23f), e24 = fp4a_mul(e, 0x1p-24f), e25 = fp4a_mul(e, 0x1p-25f);
        uint32_t b[4];

#pragma unroll
        for (int i = 0; i < 4; i++)
            b[i] = isa_pair_byte(isa_mul_rn_pair_small(x[2 * i], x[2 * i + 1], e23, e24, e25));
        return __byte_perm(__byte_perm(b[0], b[1], 0x0040), __byte_perm(b[2], b[3], 0x0040), 0x5410);
    }

    static __device__ __forceinline__ uint32_t cvt_rs_e2m1x4(int rule, int map, float v0, float v1, float v2, float v3,
                                                             uint32_t rbits)
    {
        return isa_rs_soft_x4(rule, map, v0, v1, v2, v3, rbits);
    }
};

#endif

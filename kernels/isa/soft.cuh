/* SPDX-License-Identifier: Apache-2.0 */
/* soft.cuh: no FP4 instruction at all; any architecture from sm_80 on. */
#ifndef FP4_ISA_SOFT_CUH
#define FP4_ISA_SOFT_CUH

#include "soft_bf16.cuh"

struct isa_soft {
    static constexpr bool available = true;
    static constexpr bool native_rs = false;
    static constexpr bool native_rn = false; /* the fast kernels use soft_bf16.cuh */

    /* Two of cvt.rn.satfinite.e2m1x2.f32: four values to bits 15:0, v0 in nibble 0. What is above bit 15 is not defined, in every layer. */
    static __device__ __forceinline__ uint32_t cvt_rn_e2m1x4(float v0, float v1, float v2, float v3)
    {
        uint32_t r = isa_rn_pair(v0, v1) + isa_rn_pair(v2, v3) * 256; /* nibbles 0, 2, 1, 3 at bits 0, 8, 16, 24 */

        return r + (r >> 12);
    }

    static __device__ __forceinline__ uint32_t cvt_rs_e2m1x4(int rule, int map, float v0, float v1, float v2, float v3,
                                                             uint32_t rbits)
    {
        return isa_rs_soft_x4(rule, map, v0, v1, v2, v3, rbits);
    }
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* soft.cuh: no FP4 instruction at all; any architecture from sm_80 on. */
#ifndef FP4_ISA_SOFT_CUH
#define FP4_ISA_SOFT_CUH

#include "common.cuh"

struct isa_soft {
    static constexpr bool available = true;
    static constexpr bool native_rs = false;

    /* Two of cvt.rn.satfinite.e2m1x2.f32: four values to 16 bits, v0 in nibble 0. */
    static __device__ __forceinline__ uint32_t cvt_rn_e2m1x4(float v0, float v1, float v2, float v3)
    {
        /* Bits 23 and up of the indices fall out of the sixteen that count. */
        uint32_t low = (isa_rn_index(v0) | isa_sign_nibble(v0)) + (isa_rn_index(v1) | isa_sign_nibble(v1)) * 16;
        uint32_t high = (isa_rn_index(v2) | isa_sign_nibble(v2)) + (isa_rn_index(v3) | isa_sign_nibble(v3)) * 16;

        return (low + high * 256) & 0xFFFFu;
    }

    static __device__ __forceinline__ uint32_t cvt_rs_e2m1x4(int rule, int map, float v0, float v1, float v2, float v3, uint32_t rbits)
    {
        return isa_rs_soft_x4(rule, map, v0, v1, v2, v3, rbits);
    }
};

#endif

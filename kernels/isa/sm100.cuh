/* SPDX-License-Identifier: Apache-2.0 */
/* sm100.cuh: data-centre Blackwell (sm_100a, sm_103a): nearest and stochastic conversions by hardware. */
#ifndef FP4_ISA_SM100_CUH
#define FP4_ISA_SM100_CUH

#include "sm120.cuh"

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define FP4_HAS_CVT_RS_E2M1 1
#endif

struct isa_sm100 {
#ifdef FP4_HAS_CVT_RS_E2M1
    static constexpr bool available = true;
#else
    static constexpr bool available = false;
#endif
    static constexpr bool native_rs = true;
    static constexpr bool native_rn = true;

    static __device__ __forceinline__ uint32_t cvt_rn_e2m1x4(float v0, float v1, float v2, float v3)
    {
        return isa_sm120::cvt_rn_e2m1x4(v0, v1, v2, v3);
    }

    static __device__ __forceinline__ uint32_t mul_cvt_rn_e2m1x8(const float x[8], float e)
    {
        return isa_sm120::mul_cvt_rn_e2m1x8(x, e);
    }

    /* cvt.rs.satfinite.e2m1x4.f32 (PTX 8.7; sm_100a, sm_103a): operands in descending order give ascending nibbles. Which random byte serves
     * which operand, and in which bit order, the text leaves to a figure; rule and map are ignored here. */
    static __device__ __forceinline__ uint32_t cvt_rs_e2m1x4(int, int, float v0, float v1, float v2, float v3, uint32_t rbits)
    {
#ifdef FP4_HAS_CVT_RS_E2M1
        uint16_t r;

        asm("cvt.rs.satfinite.e2m1x4.f32 %0, {%4, %3, %2, %1}, %5;" : "=h"(r) : "f"(v0), "f"(v1), "f"(v2), "f"(v3), "r"(rbits));
        return r;
#else
        return 0;
#endif
    }
};

#endif

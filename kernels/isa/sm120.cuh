/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sm120.cuh: consumer Blackwell: cvt.rn.satfinite.e2m1x2 by hardware (sm_120a, sm_121a; also sm_100a, sm_103a, to be compared on the same
 * card), no cvt.rs: stochastic rounding is a polyfill that equals a chosen rs-model.
 */
#ifndef FP4_ISA_SM120_CUH
#define FP4_ISA_SM120_CUH

#include "common.cuh"

#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL) || defined(__CUDA_ARCH_FEAT_SM120_ALL) || \
    defined(__CUDA_ARCH_FEAT_SM121_ALL)
#define FP4_HAS_CVT_RN_E2M1 1
#endif

struct isa_sm120 {
#ifdef FP4_HAS_CVT_RN_E2M1
    static constexpr bool available = true;
#else
    static constexpr bool available = false;
#endif
    static constexpr bool native_rs = false;
    static constexpr bool native_rn = true;

    /* cvt.rn.satfinite.e2m1x2.f32 (PTX 8.6; sm_100a, sm_120a and their families), twice: the second operand goes to the low nibble. With
     * zero bytes above them ptxas lets the second conversion merge into the first one's result: two instructions, nothing to pack. */
    static __device__ __forceinline__ uint32_t cvt_rn_e2m1x4(float v0, float v1, float v2, float v3)
    {
#ifdef FP4_HAS_CVT_RN_E2M1
        uint32_t r;

        asm("{\n"
            "  .reg .b32 none;\n"
            "  .reg .b8 lo, hi, n0, n1, n2, n3;\n"
            "  mov.b32 none, 0;\n"
            "  mov.b32 {n0, n1, n2, n3}, none;\n"
            "  cvt.rn.satfinite.e2m1x2.f32 lo, %2, %1;\n"
            "  cvt.rn.satfinite.e2m1x2.f32 hi, %4, %3;\n"
            "  mov.b32 %0, {lo, hi, n2, n3};\n"
            "}"
            : "=r"(r)
            : "f"(v0), "f"(v1), "f"(v2), "f"(v3));
        return r;
#else
        return 0;
#endif
    }

    /* Nearest codes of x * e, any: the products (mul.rn.f32x2, PTX 8.6, two at once from sm_100 on where the machine has it), then four
     * conversions, each merging into the one before. */
    static __device__ __forceinline__ uint32_t mul_cvt_rn_e2m1x8(const float x[8], float e)
    {
#ifdef FP4_HAS_CVT_RN_E2M1
        uint32_t r;

        asm("{\n"
            "  .reg .b8 b0, b1, b2, b3;\n"
            "  .reg .b64 e, p0, p1, p2, p3;\n"
            "  .reg .f32 v0, v1, v2, v3, v4, v5, v6, v7;\n"
            "  mov.b64 e, {%9, %9};\n"
            "  mov.b64 p0, {%1, %2};\n"
            "  mov.b64 p1, {%3, %4};\n"
            "  mov.b64 p2, {%5, %6};\n"
            "  mov.b64 p3, {%7, %8};\n"
            "  mul.rn.f32x2 p0, p0, e;\n"
            "  mul.rn.f32x2 p1, p1, e;\n"
            "  mul.rn.f32x2 p2, p2, e;\n"
            "  mul.rn.f32x2 p3, p3, e;\n"
            "  mov.b64 {v0, v1}, p0;\n"
            "  mov.b64 {v2, v3}, p1;\n"
            "  mov.b64 {v4, v5}, p2;\n"
            "  mov.b64 {v6, v7}, p3;\n"
            "  cvt.rn.satfinite.e2m1x2.f32 b0, v1, v0;\n"
            "  cvt.rn.satfinite.e2m1x2.f32 b1, v3, v2;\n"
            "  cvt.rn.satfinite.e2m1x2.f32 b2, v5, v4;\n"
            "  cvt.rn.satfinite.e2m1x2.f32 b3, v7, v6;\n"
            "  mov.b32 %0, {b0, b1, b2, b3};\n"
            "}"
            : "=r"(r)
            : "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "f"(x[4]), "f"(x[5]), "f"(x[6]), "f"(x[7]), "f"(e));
        return r;
#else
        return 0;
#endif
    }

    /* Integer steps for every rs-model. Rule trunc, the one that is measured, has its codes as integers, two a register, and packs them with
     * six instructions; cvt.rn would first want all four widened to binary32 and scaled back. */
    static __device__ __forceinline__ uint32_t cvt_rs_e2m1x4(int rule, int map, float v0, float v1, float v2, float v3,
                                                             uint32_t rbits)
    {
        return isa_rs_soft_x4(rule, map, v0, v1, v2, v3, rbits);
    }
};

#endif

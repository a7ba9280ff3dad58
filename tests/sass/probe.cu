/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function of each ISA layer on exactly four elements, for sass-test.sh to count instructions in. Every kernel loads one float4 (and,
 * where it rounds stochastically, one random word) and stores one word; what else is in its SASS is the conversion.
 */
#include "isa/sm100.cuh"
#include "isa/soft.cuh"

#define PROBE_RN(layer)                                                           \
    extern "C" __global__ void probe_rn_##layer(const float4 *x, uint32_t *codes) \
    {                                                                             \
        if constexpr (isa_##layer::available) {                                   \
            float4 v = *x;                                                        \
            *codes = isa_##layer::cvt_rn_e2m1x4(v.x, v.y, v.z, v.w);              \
        }                                                                         \
    }

#define PROBE_RS(name, layer, rule, map)                                                                       \
    extern "C" __global__ void probe_##name##_##layer(const float4 *x, const uint32_t *rbits, uint32_t *codes) \
    {                                                                                                          \
        if constexpr (isa_##layer::available) {                                                                \
            float4 v = *x;                                                                                     \
            *codes = isa_##layer::cvt_rs_e2m1x4(rule, map, v.x, v.y, v.z, v.w, *rbits);                        \
        }                                                                                                      \
    }

/* The quantizers' conversion of eight products |x * e| < 7; layer soft: of bf16 values, with the multiplier of isa/soft_bf16.cuh. */
#define PROBE_RN8(layer)                                                                           \
    extern "C" __global__ void probe_rn8_##layer(const float4 *x, const float *e, uint32_t *codes) \
    {                                                                                              \
        if constexpr (isa_##layer::available) {                                                    \
            float4 v = x[0], w = x[1];                                                             \
            float eight[8] = { v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w };                           \
                                                                                                   \
            *codes = isa_##layer::mul_cvt_rn_e2m1x8(eight, *e);                              \
        }                                                                                          \
    }

PROBE_RN(soft)
PROBE_RN(sm120)
PROBE_RN(sm100)

extern "C" __global__ void probe_rn8_soft(const float4 *x, const float *m, uint32_t *codes)
{
    float4 v = x[0], w = x[1];
    float eight[8] = { v.x, v.y, v.z, v.w, w.x, w.y, w.z, w.w };

    *codes = isa_mul_rn_bf16x8<false>(eight, *m, 0);
}

PROBE_RN8(sm120)
PROBE_RN8(sm100)

PROBE_RS(b300, soft, FP4_RS_TRUNC, FP4_MAP_B300)
PROBE_RS(straight, soft, FP4_RS_TRUNC, FP4_MAP_STRAIGHT)
PROBE_RS(fp4sm120, soft, FP4_RS_HALF, FP4_MAP_REVERSE)
PROBE_RS(tesoft, soft, FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT)
PROBE_RS(hash32, soft, FP4_RS_HASH32, FP4_MAP_STRAIGHT)
PROBE_RS(b300, sm120, FP4_RS_TRUNC, FP4_MAP_B300)
PROBE_RS(straight, sm120, FP4_RS_TRUNC, FP4_MAP_STRAIGHT)
PROBE_RS(fp4sm120, sm120, FP4_RS_HALF, FP4_MAP_REVERSE)
PROBE_RS(tesoft, sm120, FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT)
PROBE_RS(hash32, sm120, FP4_RS_HASH32, FP4_MAP_STRAIGHT)
PROBE_RS(native, sm100, FP4_RS_TRUNC, FP4_MAP_B300)

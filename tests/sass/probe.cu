/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One function of each ISA layer on exactly four elements, for sass-test.sh to count instructions in. Every kernel loads one float4 (and,
 * where it rounds stochastically, one word) and stores one value; what is left in its SASS is the conversion. probe_NOTHING_* are the
 * same loads and stores around nothing: what to subtract.
 */
#include "isa/sm100.cuh"
#include "isa/soft.cuh"

struct layer_soft : isa_soft {
};
struct layer_sm120 : isa_sm120 {
};
struct layer_sm100 : isa_sm100 {
};

#define PROBE_RN(layer)                                                           \
    extern "C" __global__ void probe_rn_##layer(const float4 *x, uint16_t *codes) \
    {                                                                             \
        if constexpr (layer_##layer::available) {                                 \
            float4 v = *x;                                                        \
            *codes = (uint16_t)layer_##layer::cvt_rn_e2m1x4(v.x, v.y, v.z, v.w);  \
        }                                                                         \
    }

#define PROBE_RS(name, layer, rule, map)                                                                       \
    extern "C" __global__ void probe_##name##_##layer(const float4 *x, const uint32_t *rbits, uint16_t *codes) \
    {                                                                                                          \
        if constexpr (layer_##layer::available) {                                                              \
            float4 v = *x;                                                                                     \
            *codes = (uint16_t)layer_##layer::cvt_rs_e2m1x4(rule, map, v.x, v.y, v.z, v.w, *rbits);            \
        }                                                                                                      \
    }

PROBE_RN(soft)
PROBE_RN(sm120)
PROBE_RN(sm100)

PROBE_RS(b300, soft, FP4_RS_TRUNC, FP4_MAP_B300)
PROBE_RS(straight, soft, FP4_RS_TRUNC, FP4_MAP_STRAIGHT)
PROBE_RS(half, soft, FP4_RS_HALF, FP4_MAP_REVERSE)
PROBE_RS(fma, soft, FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT)
PROBE_RS(hash32, soft, FP4_RS_HASH32, FP4_MAP_STRAIGHT)
PROBE_RS(b300, sm120, FP4_RS_TRUNC, FP4_MAP_B300)
PROBE_RS(straight, sm120, FP4_RS_TRUNC, FP4_MAP_STRAIGHT)
PROBE_RS(half, sm120, FP4_RS_HALF, FP4_MAP_REVERSE)
PROBE_RS(fma, sm120, FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT)
PROBE_RS(hash32, sm120, FP4_RS_HASH32, FP4_MAP_STRAIGHT)
PROBE_RS(b300, sm100, FP4_RS_TRUNC, FP4_MAP_B300)

extern "C" __global__ void probe_nothing_rn(const float4 *x, uint16_t *codes)
{
    float4 v = *x;

    *codes = (uint16_t)(__float_as_uint(v.x) ^ __float_as_uint(v.y) ^ __float_as_uint(v.z) ^ __float_as_uint(v.w));
}

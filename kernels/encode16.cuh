/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode16.cuh: the fast form of one block: 16 bf16 values in eight registers to eight bytes of codes and a scale byte, for the exact
 * recipe of TE's kernels. quantize_block.cuh is the slow form that does everything; a run without stages takes this one, and the
 * adapter compares the two.
 */
#ifndef FP4_ENCODE16_CUH
#define FP4_ENCODE16_CUH

#include "quantize_block.cuh"

/* What the maximum of a block says: its value as the recipe wants it, and whether a NaN is in the block. */
struct block_max {
    float amax;
    bool nan;
};

/* From the NaN-propagating maximum of a block, in the low half of pair. Without KEEP_NAN a NaN is dropped, which is rare and done again. */
template <bool KEEP_NAN> __device__ __forceinline__ struct block_max block_max_of(uint32_t pair, const float x[16])
{
    struct block_max m = { __uint_as_float(pair << 16 & 0x7FFFFFFFu), (pair & 0x7FFFu) > 0x7F80u };

    if (!KEEP_NAN && m.nan) {
        m.amax = 0.0f;
        for (int i = 0; i < 16; i++)
            m.amax = fmaxf(m.amax, fabsf(x[i]));
    }
    return m;
}

__device__ __forceinline__ uint32_t abs_max16(const uint32_t w[8])
{
    uint32_t acc = 0;

#pragma unroll
    for (int i = 0; i < 8; i++)
        acc = isa_abs_max_nan_bf16x2(acc, w[i]);
    return isa_abs_max_nan_bf16x2(acc, acc >> 16);
}

/* The element scale of every scale byte of a tensor, made once by each block of threads (TE 3.2, RHT 2.2). */
struct element_scales {
    float e[128];
};

template <bool KEEP_NAN>
__device__ __forceinline__ void element_scales_fill(struct element_scales *t, const struct chain_globals &g)
{
    for (uint32_t byte = threadIdx.x; byte < 128; byte += blockDim.x) {
        float r = __frcp_rn(fp4a_mul(fp4a_from_e4m3(byte), g.dec)), big = fp4a_float(FP4_FLT_MAX);

        t->e[byte] = KEEP_NAN ? isa_min_nan(r, big) : fminf(r, big);
    }
}

template <typename ISA, bool SR>
__device__ __forceinline__ uint32_t codes8(const float x[8], float e, bool small, int rule, int map, uint32_t word0, uint32_t word1)
{
    float y[8];
    uint32_t low, high;

    if (!SR && small)
        return ISA::mul_cvt_rn_e2m1x8_small(x, e);
#pragma unroll
    for (int i = 0; i < 8; i++)
        y[i] = fp4a_mul(x[i], e);
    low = SR ? ISA::cvt_rs_e2m1x4(rule, map, y[0], y[1], y[2], y[3], word0) : ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]);
    high = SR ? ISA::cvt_rs_e2m1x4(rule, map, y[4], y[5], y[6], y[7], word1) : ISA::cvt_rn_e2m1x4(y[4], y[5], y[6], y[7]);
    return __byte_perm(low, high, 0x5410);
}

/* All of it. words: the four random words in packed order. The chain's clamp of the product before the cast changes no byte, since the cast
 * saturates. */
template <typename ISA, bool SR>
__device__ __forceinline__ uint2 encode16(const float x[16], const struct chain_globals &g, const struct element_scales &t,
                                          struct block_max m, int rule, int map, const uint32_t words[4], uint8_t *scale)
{
    uint32_t byte = isa_cvt_rn_e4m3(fp4a_mul(m.amax, g.mult));
    float e = t.e[byte & 127u];
    bool small = !m.nan && e >= 0x1p-100f && fp4a_mul(m.amax, e) < 7.0f;
    uint2 codes;

    *scale = (uint8_t)byte;
    codes.x = codes8<ISA, SR>(x, e, small, rule, map, SR ? words[0] : 0, SR ? words[1] : 0);
    codes.y = codes8<ISA, SR>(x + 8, e, small, rule, map, SR ? words[2] : 0, SR ? words[3] : 0);
    return codes;
}

__device__ __forceinline__ void widen16(const uint32_t w[8], float x[16])
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x[2 * i] = __uint_as_float(w[i] << 16);
        x[2 * i + 1] = __uint_as_float(w[i] & 0xFFFF0000u);
    }
}

/* Whether nothing but codes and scales is asked for. */
static inline bool only_outputs(const struct fp4_quantized &q)
{
    return !q.global_scale && !q.block_amax && !q.scaled && !q.rbits && !q.dequantized;
}

#endif

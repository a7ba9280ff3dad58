/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode16.cuh: the fast form of one block: 16 bf16 values in eight registers to eight bytes of codes and a scale byte, for the exact
 * recipe of TE's kernels. quantize_block.cuh is the slow form that does everything; a run without stages takes this one, and the
 * adapter compares the two.
 */
#ifndef FP4_ENCODE16_CUH
#define FP4_ENCODE16_CUH

#include "quantize_block.cuh"

/* The maximum of a block as the recipe wants it, from the one that keeps a NaN, in the low half of pair. Without KEEP_NAN a NaN is dropped,
 * which is rare and done again. */
template <bool KEEP_NAN> __device__ __forceinline__ float block_max_of(uint32_t pair, const float x[16])
{
    float amax = __uint_as_float(pair << 16 & 0x7FFFFFFFu);

    if (!KEEP_NAN && (pair & 0x7FFFu) > 0x7F80u) {
        amax = 0.0f;
        for (int i = 0; i < 16; i++)
            amax = fmaxf(amax, fabsf(x[i]));
    }
    return amax;
}

/* The maximum of the magnitudes of N pairs, each half by itself; a NaN stays, the signs mean nothing. */
template <int N> __device__ __forceinline__ uint32_t abs_max_pairs(const uint32_t w[N])
{
    if constexpr (N == 1)
        return w[0];
    else
        return isa_abs_max_nan_bf16x2(abs_max_pairs<N / 2>(w), abs_max_pairs<N / 2>(w + N / 2));
}

__device__ __forceinline__ uint32_t abs_max16(const uint32_t w[8])
{
    uint32_t acc = abs_max_pairs<8>(w);

    return isa_abs_max_nan_bf16x2(acc, acc >> 16);
}

/* The element scale of every scale byte of a tensor (TE 3.2, RHT 2.2), made once by each block of threads, and what layers without an FP4
 * instruction multiply by instead (isa/soft_bf16.cuh). */
struct element_scales {
    float e[128], m[128];
};

/* Whether the thread made a multiplier of kind ties. */
template <typename ISA, bool SR, bool KEEP_NAN>
__device__ __forceinline__ bool element_scales_fill(struct element_scales *t, const struct chain_globals &g)
{
    bool ties = false;

    for (uint32_t byte = threadIdx.x; byte < 128; byte += blockDim.x) {
        float r = __frcp_rn(fp4a_mul(fp4a_from_e4m3(byte), g.dec)), big = fp4a_float(FP4_FLT_MAX);

        t->e[byte] = KEEP_NAN ? isa_min_nan(r, big) : fminf(r, big);
        if (!SR && !ISA::native_rn) {
            t->m[byte] = isa_bf16_multiplier(t->e[byte]);
            ties |= t->m[byte] < 0.0f;
        }
    }
    return ties;
}

template <typename ISA, bool SR>
__device__ __forceinline__ uint32_t codes8(const float x[8], float e, int rule, int map, uint32_t word0, uint32_t word1)
{
    if constexpr (!SR && ISA::native_rn) {
        return ISA::mul_cvt_rn_e2m1x8(x, e);
    } else {
        float y[8];
        uint32_t low, high;

#pragma unroll
        for (int i = 0; i < 8; i++)
            y[i] = fp4a_mul(x[i], e);
        low = SR ? ISA::cvt_rs_e2m1x4(rule, map, y[0], y[1], y[2], y[3], word0) : ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]);
        high = SR ? ISA::cvt_rs_e2m1x4(rule, map, y[4], y[5], y[6], y[7], word1) : ISA::cvt_rn_e2m1x4(y[4], y[5], y[6], y[7]);
        return __byte_perm(low, high, 0x5410);
    }
}

/* All of it, for any block. max: the maximum of the block's magnitudes that keeps a NaN, in the low half; words: the four random words in
 * packed order. The chain's clamp of the product before the cast changes no byte, since the cast saturates. */
template <typename ISA, bool SR, bool KEEP_NAN>
__device__ __forceinline__ uint2 encode16(const float x[16], const struct chain_globals &g, const struct element_scales &t,
                                          uint32_t max, int rule, int map, const uint32_t words[4], uint8_t *scale)
{
    uint32_t byte = isa_cvt_rn_e4m3(fp4a_mul(block_max_of<KEEP_NAN>(max, x), g.mult));
    float e = t.e[byte & 127u];
    uint2 codes;

    *scale = (uint8_t)byte;
    codes.x = codes8<ISA, SR>(x, e, rule, map, SR ? words[0] : 0, SR ? words[1] : 0);
    codes.y = codes8<ISA, SR>(x + 8, e, rule, map, SR ? words[2] : 0, SR ? words[3] : 0);
    return codes;
}

/* Whether a layer rounds to nearest with multipliers. */
template <typename ISA, bool SR> constexpr bool by_multiplier = !SR && !ISA::native_rn;

/* encode16 for nearly all blocks in a few instructions; x may come from isa_upper_bf16. false: what it stored is void, and encode16 is to be asked. TIES: the table has
 * multipliers of that kind. */
template <bool TIES>
__device__ __forceinline__ bool encode16_fast(const float x[16], const struct chain_globals &g, const struct element_scales &t,
                                              uint32_t max, uint2 *codes, uint8_t *scale)
{
    float amax = __uint_as_float(max << 16 & 0x7FFFFFFFu);
    uint32_t byte = isa_cvt_rn_e4m3(fp4a_mul(amax, g.mult)), odd;
    float m = t.m[byte & 127u];

    *scale = (uint8_t)byte;
    odd = TIES ? isa_bf16_odd(m) : 0;
    *codes = make_uint2(isa_mul_rn_bf16x8<TIES>(x, m, odd), isa_mul_rn_bf16x8<TIES>(x + 8, m, odd));
    return fp4a_mul(amax, fabsf(m)) < ISA_BF16_LIMIT;
}

/* The upper half of a pair; FAST: see isa_upper_bf16. */
template <bool FAST> __device__ __forceinline__ float widen_upper(uint32_t pair)
{
    return FAST ? isa_upper_bf16(pair) : __uint_as_float(pair & 0xFFFF0000u);
}

template <bool FAST> __device__ __forceinline__ void widen16(const uint32_t w[8], float x[16])
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        x[2 * i] = __uint_as_float(w[i] << 16);
        x[2 * i + 1] = widen_upper<FAST>(w[i]);
    }
}

/* A block whose 16 values lie side by side. */
struct block16 {
    uint32_t max; /* as abs_max16 */
    float x[16];
};

template <bool FAST> __device__ __forceinline__ struct block16 block16_of(const uint4 &low, const uint4 &high)
{
    const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
    struct block16 b;

    b.max = abs_max16(w);
    widen16<FAST>(w, b.x);
    return b;
}

/* Whether nothing but codes and scales is asked for. */
static inline bool only_outputs(const struct fp4_quantized &q)
{
    return !q.global_scale && !q.block_amax && !q.scaled && !q.rbits && !q.dequantized;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode16.cuh: the fast form of one block: 16 bf16 values in eight registers to eight bytes of codes and a scale byte, for the exact
 * recipe of TE's kernels. quantize_block.cuh is the slow form that does everything; a run without stages takes this one, and the
 * adapter compares the two.
 */
#ifndef FP4_ENCODE16_CUH
#define FP4_ENCODE16_CUH

#include "quantize_block.cuh"

/* The larger magnitude of each half. */
template <bool KEEP_NAN> __device__ __forceinline__ uint32_t abs_max16(const uint32_t w[8])
{
    uint32_t acc = 0;

#pragma unroll
    for (int i = 0; i < 8; i++)
        acc = KEEP_NAN ? isa_max_nan_bf16x2(acc, w[i] & 0x7FFF7FFFu) : isa_max_bf16x2(acc, w[i] & 0x7FFF7FFFu);
    return acc;
}

template <bool KEEP_NAN> __device__ __forceinline__ float block_amax16(const uint32_t w[8])
{
    uint32_t pair = abs_max16<KEEP_NAN>(w);

    pair = KEEP_NAN ? isa_max_nan_bf16x2(pair, pair >> 16) : isa_max_bf16x2(pair, pair >> 16);
    return __uint_as_float(pair << 16);
}

/* Scale byte and element scale of a block maximum (TE 3.2, RHT 2.2). */
template <bool KEEP_NAN> __device__ __forceinline__ uint32_t scale16(const struct chain_globals &g, float block_amax, float *e)
{
    float d = fp4a_mul(block_amax, g.mult);
    uint32_t byte = isa_cvt_rn_e4m3(KEEP_NAN ? d : fminf(d, fp4a_float(FP4_FLT_MAX)));
    float r = __frcp_rn(fp4a_mul(isa_cvt_e4m3_f32(byte), g.dec));

    *e = KEEP_NAN ? isa_min_nan(r, fp4a_float(FP4_FLT_MAX)) : fminf(r, fp4a_float(FP4_FLT_MAX));
    return byte;
}

template <typename ISA, bool SR>
__device__ __forceinline__ uint32_t codes8(const uint32_t w[4], float e, int rule, int map, uint32_t word0, uint32_t word1)
{
    float y[8];
    uint32_t low, high;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        y[2 * i] = fp4a_mul(__uint_as_float(w[i] << 16), e);
        y[2 * i + 1] = fp4a_mul(__uint_as_float(w[i] & 0xFFFF0000u), e);
    }
    low = SR ? ISA::cvt_rs_e2m1x4(rule, map, y[0], y[1], y[2], y[3], word0) : ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]);
    high = SR ? ISA::cvt_rs_e2m1x4(rule, map, y[4], y[5], y[6], y[7], word1) : ISA::cvt_rn_e2m1x4(y[4], y[5], y[6], y[7]);
    return __byte_perm(low, high, 0x5410);
}

/* All of it. words: the four random words in packed order. */
template <typename ISA, bool SR, bool KEEP_NAN>
__device__ __forceinline__ uint2 encode16(const uint32_t w[8], const struct chain_globals &g, float block_amax, int rule, int map,
                                          const uint32_t words[4], uint8_t *scale)
{
    float e;
    uint2 codes;

    *scale = (uint8_t)scale16<KEEP_NAN>(g, block_amax, &e);
    codes.x = codes8<ISA, SR>(w, e, rule, map, SR ? words[0] : 0, SR ? words[1] : 0);
    codes.y = codes8<ISA, SR>(w + 4, e, rule, map, SR ? words[2] : 0, SR ? words[3] : 0);
    return codes;
}

/* Whether nothing but codes and scales is asked for. */
static inline bool only_outputs(const struct fp4_quantized &q)
{
    return !q.global_scale && !q.block_amax && !q.scaled && !q.rbits && !q.dequantized;
}

#endif

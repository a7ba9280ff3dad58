/* SPDX-License-Identifier: Apache-2.0 */
/*
 * four_block.cuh: one line of a block of 16 through both candidates of four-over-six, on the device. The arithmetic is the shared text of
 * reference/four_arith.h; only the conversions come from the ISA layer.
 */
#ifndef FP4_FOUR_BLOCK_CUH
#define FP4_FOUR_BLOCK_CUH

#include "four_arith.h"
#include "launch.cuh"

struct four_args { /* one direction of output */
    struct four_chain ch;
    struct fp4_quantized out; /* device pointers */
    struct fp4_four_stages stages;
    const void *x;
    size_t lines, packed, blocks, line_stride, packed_stride;
    bool row_scaled;
    float factor; /* fl(1 / (6 * bound)), for dequantized */
};

/* The exchange over the 16 lanes that hold the lines of a tile, and its levels in the pinned order. */
template <typename F> __device__ __forceinline__ float tile_fold(float v, F fold)
{
#pragma unroll
    for (int step = 8; step > 0; step /= 2)
        v = fold(v, __shfl_xor_sync(0xFFFFFFFFu, v, step));
    return v;
}

__device__ __forceinline__ float tile_max(float v)
{
    return tile_fold(v, [](float a, float b) { return __uint_as_float(max(__float_as_uint(a), __float_as_uint(b))); });
}

__device__ __forceinline__ float tile_sum(float v)
{
    return tile_fold(v, [](float a, float b) { return fp4a_add(a, b); });
}

/* The reference's exceptions to the instruction's codes. */
__device__ __forceinline__ uint32_t four_patch(const struct four_chain &ch, uint32_t codes, const float y[4])
{
    if (ch.chain.nan_code_zero || ch.chain.drop_minus_zero)
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (chain_code(&ch.chain, y[i], 1) == 0)
                codes &= ~(15u << 4 * i);
    return codes;
}

/* Codes of four values, in bits 15:0, and their errors added to *sum. e and f: element scale and value of the scale byte. */
template <typename ISA>
__device__ __forceinline__ uint32_t four_step(const struct four_chain &ch, const struct chain_globals &g, const float x[4], float e,
                                              float f, bool zeros, float *sum)
{
    uint32_t codes;
    float y[4];

#pragma unroll
    for (int i = 0; i < 4; i++)
        y[i] = zeros ? 0.0f : chain_scaled(&ch.chain, x[i], e);
    codes = four_patch(ch, ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]), y) & 0xFFFFu;
#pragma unroll
    for (int i = 0; i < 4; i++)
        *sum = four_error_step(&ch, &g, *sum, fp4a_from_e2m1(codes >> 4 * i & 15u), f, x[i]);
    return codes;
}

/* Defined in four_fast.cu: 0 launched, -1 not one of the fast cases, else a cudaError_t. amax is in place. */
int four_fast(enum fp4k_isa isa, const struct fp4_four_params *p, const struct four_args *d, cudaStream_t stream);

#endif

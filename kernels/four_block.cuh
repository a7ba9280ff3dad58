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

/* Both scale bytes, map-to-6 in bits 7:0 and map-to-4 in bits 15:8, from the maximum over 6 times the global scale. The conversion
 * saturates at 448, which is the sources' cap. */
__device__ __forceinline__ uint32_t four_scale_bytes(float base)
{
    return isa_cvt_rn_e4m3x2(fp4a_mul(base, 1.5f), base);
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

struct four_line { /* 16 elements in memory */
    const void *x;
    size_t from, stride;
};

struct four_candidate { /* of a line of a block */
    uint32_t byte;
    uint2 codes; /* eight bytes */
    float error;
};

/* By the shared text, for any recipe. zeros: all is written as 0. The loop is kept: unrolled, it is nothing but divisions. */
template <typename ISA, typename T>
__device__ __forceinline__ struct four_candidate candidate_of(const struct four_chain &ch, const struct chain_globals &g,
                                                              const struct four_line &l, uint32_t byte, bool zeros)
{
    struct four_candidate c = { zeros ? 0 : byte, make_uint2(0, 0), 0.0f };
    float e = chain_element_scale(&ch.chain, &g, c.byte), f = fp4a_from_e4m3(c.byte);

#pragma unroll 1
    for (int w = 0; w < 4; w++) {
        float x[4], y[4];
        uint32_t codes;

#pragma unroll
        for (int i = 0; i < 4; i++) {
            x[i] = load_element<T>(l.x, l.from + (4 * w + i) * l.stride);
            y[i] = zeros ? 0.0f : chain_scaled(&ch.chain, x[i], e);
        }
        codes = four_patch(ch, ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]), y) & 0xFFFFu;
#pragma unroll
        for (int i = 0; i < 4; i++)
            c.error = four_error_step(&ch, &g, c.error, fp4a_from_e2m1(codes >> 4 * i & 15u), f, x[i]);
        c.codes.x = c.codes.x >> 16 | c.codes.y << 16;
        c.codes.y = c.codes.y >> 16 | codes << 16;
    }
    return c;
}

/* Defined in four_fast.cu: 0 launched, -1 not one of the fast cases, else a cudaError_t. amax is in place. */
int four_fast(enum fp4k_isa isa, const struct fp4_four_params *p, const struct four_args *d, cudaStream_t stream);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_block.cuh: one block of 16 on the device, the counterpart of reference/block.c. The scale chain is the shared text of
 * reference/block.h; only the conversions come from the ISA layer.
 */
#ifndef FP4_QUANTIZE_BLOCK_CUH
#define FP4_QUANTIZE_BLOCK_CUH

#include "fp4stream.h"
#include "launch.cuh"

struct direction_args {
    struct fp4_chain chain;
    struct fp4_quantized out; /* device pointers */
    size_t lines, packed, blocks, words;
    bool row_scaled, transposed;
    struct fp4_rs_model rs;
    enum fp4_stream stream;
    struct fp4_stream_shape shape;
    uint64_t seed, offset;
    unsigned rounds;
};

static inline struct direction_args direction_make(const struct fp4_chain *chain, const struct fp4_quantized *out, size_t rows,
                                                   size_t cols, bool transposed)
{
    struct direction_args d;

    memset(&d, 0, sizeof d);
    d.chain = *chain;
    d.out = *out;
    d.transposed = transposed;
    d.lines = transposed ? cols : rows;
    d.packed = transposed ? rows : cols;
    d.blocks = (d.packed + 15) / 16;
    d.words = (d.packed + 3) / 4;
    return d;
}

/* Takes over an amax that the caller gave; a NaN becomes the canonical one. */
__global__ static void given_amax_kernel(float *to, const float *from, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = fp4a_canonical(from[i]);
}

static inline int given_amax(float *d_to, const float *d_from, size_t n, cudaStream_t stream)
{
    if (d_to == d_from) /* in place already */
        return 0;
    given_amax_kernel<<<grid_for(n, 256), 256, 0, stream>>>(d_to, d_from, n);
    return (int)cudaGetLastError();
}

/* The four words of one Philox draw. */
__device__ __forceinline__ void draw_words(const struct direction_args &d, uint64_t subsequence, uint64_t call, uint32_t draw[4])
{
    uint64_t n = d.offset + call;
    uint64_t s = subsequence + (n < d.offset);
    uint32_t counter[4] = { (uint32_t)n, (uint32_t)(n >> 32), (uint32_t)s, (uint32_t)(s >> 32) };
    uint32_t key[2] = { (uint32_t)d.seed, (uint32_t)(d.seed >> 32) };

    if (d.rounds == 10)
        fp4a_philox(counter, key, 10, draw);
    else
        fp4a_philox(counter, key, d.rounds, draw);
}

/* The words of a block, in packed order. One draw serves a block in every mapping but the SM120 port's, where two do. */
__device__ __forceinline__ void block_words(const struct direction_args &d, size_t line, size_t b, uint32_t words[4])
{
    size_t first = 4 * b, w;
    uint32_t draw[4];
    struct fp4_stream_place last = {};
    bool drawn = false;

#pragma unroll
    for (w = 0; w < 4; w++) {
        words[w] = 0;
        if (first + w >= d.words)
            continue;
        if (d.stream == FP4_STREAM_RBITS) {
            words[w] = d.out.given_rbits[line * d.words + first + w];
        } else {
            size_t at = 4 * (first + w);
            struct fp4_stream_place p = d.transposed ? stream_locate(d.stream, &d.shape, true, at, line)
                                                     : stream_locate(d.stream, &d.shape, false, line, at);

            if (!drawn || p.subsequence != last.subsequence || p.call != last.call)
                draw_words(d, p.subsequence, p.call, draw);
            drawn = true;
            last = p;
            words[w] = p.word == 0 ? draw[0] : p.word == 1 ? draw[1] : p.word == 2 ? draw[2] : draw[3];
        }
        if (d.out.rbits)
            d.out.rbits[line * d.words + first + w] = words[w];
    }
}

/* The reference's two exceptions to the instruction's codes, for the recipes that have them. */
__device__ __forceinline__ uint32_t patch_codes(const struct fp4_chain &ch, uint32_t codes, const float y[4])
{
    if (ch.nan_code_zero || ch.drop_minus_zero)
        for (int i = 0; i < 4; i++)
            if (chain_code(&ch, y[i], 1) == 0)
                codes &= ~(15u << 4 * i);
    return codes;
}

template <typename ISA, bool SR>
__device__ __forceinline__ void encode_block(const struct direction_args &d, size_t line, size_t b, const float v[16],
                                             float block_amax)
{
    size_t at = d.row_scaled ? line : 0, first = 16 * b, n = d.packed - first < 16 ? d.packed - first : 16;
    struct chain_globals g = chain_globals_of(&d.chain, d.out.amax[at], 2688.0f);
    uint32_t byte = isa_cvt_rn_e4m3(d.chain.keep_nan ? fp4a_mul(block_amax, g.mult)
                                                     : fp4a_min_drop(fp4a_mul(block_amax, g.mult), fp4a_float(FP4_FLT_MAX)));
    float e = chain_element_scale(&d.chain, &g, byte);
    float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(byte), g.amax), fp4a_float(FP4_INV_2688));
    uint8_t *codes = d.out.codes + (line * d.packed + first) / 2;
    uint32_t words[4] = { 0, 0, 0, 0 };

    d.out.scales[line * d.blocks + b] = (uint8_t)byte;
    if (d.out.global_scale && b == 0 && (d.row_scaled || line == 0))
        d.out.global_scale[at] = fp4a_canonical(g.enc);
    if (d.out.block_amax)
        d.out.block_amax[line * d.blocks + b] = fp4a_canonical(block_amax);
    if (SR)
        block_words(d, line, b, words);
#pragma unroll
    for (int w = 0; w < 4; w++) {
        float y[4];
        uint32_t c;

#pragma unroll
        for (int i = 0; i < 4; i++)
            y[i] = chain_scaled(&d.chain, v[4 * w + i], e);
        c = SR ? ISA::cvt_rs_e2m1x4((int)d.rs.rule, (int)d.rs.map, y[0], y[1], y[2], y[3], words[w])
               : ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]);
        c = patch_codes(d.chain, c, y);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if ((size_t)(4 * w + i) >= n)
                continue;
            if (i % 2 == 0)
                codes[2 * w + i / 2] = (uint8_t)(c >> 4 * i);
            if (d.out.scaled)
                d.out.scaled[line * d.packed + first + 4 * w + i] = y[i];
            if (d.out.dequantized)
                d.out.dequantized[line * d.packed + first + 4 * w + i] =
                    fp4a_canonical(fp4a_mul(fp4a_from_e2m1(c >> 4 * i & 15u), scale));
        }
    }
}

#endif

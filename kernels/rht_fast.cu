/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rht_fast.cu: the transformed output of the exact recipe (bf16 round trip), no stages, in tiles of 128 tokens by 64 features.
 *
 *   load    128 x 64 bf16 into shared memory, rows padded so that ldmatrix meets no bank twice
 *   sums    a warp for each group of 16 tokens: ldmatrix.trans and two MMAs for 16 features at a time; rounded to bf16 and written
 *           transposed (features by tokens) to shared memory again
 *   encode  a thread for each group of 16 sums, as in the rowwise quantizer; eight neighbouring lanes write 64 bytes of a feature
 */
#include "encode16.cuh"
#include "rht_tile.cuh"

#define THREADS 256
#define TOKENS 128
#define FEATURES 64
#define IN_PITCH 72   /* bf16 a token row: 144 bytes */
#define OUT_PITCH 144 /* bf16 a feature row: 288 bytes */

/* RHT 3.1 and 3.2 for the transposed output, in 32-bit arithmetic. */
__device__ __forceinline__ void rht_words(const struct direction_args &d, uint32_t f, uint32_t g, uint32_t k_col, uint32_t words[4])
{
    uint32_t t = 16 * g, across = ((uint32_t)d.shape.cols + 127) / 128, subsequence, call;

    if (d.stream == FP4_STREAM_RHT_COL) {
        uint32_t tn = t / 64, l = tn / k_col * across + f / 128;

        subsequence = f % 128 + 256 * (tn % k_col) + 256 * k_col * l;
        call = t % 64 / 16;
    } else {
        uint32_t tn = t / 128, l = tn / k_col * across + f / 128;

        subsequence = 128 + f % 128 + 512 * (tn % k_col) + 512 * k_col * l;
        call = t % 128 / 16;
    }
    draw_words(d, subsequence, call, words);
}

template <typename ISA, bool SR, bool KEEP_NAN>
__global__ void __launch_bounds__(THREADS) rht_tile_kernel(struct rht_args a, uint32_t k_col, uint32_t tiles)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint16_t in[TOKENS * IN_PITCH], out[FEATURES * OUT_PITCH];
        const struct direction_args &d = a.d;
        struct chain_globals gl = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
        uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, across = (uint32_t)(a.cols / FEATURES), b[2][2];

        rht_fragment(b[0], lane, 0, a.mask, a.inverse);
        rht_fragment(b[1], lane, 2, a.mask, a.inverse);
        for (uint32_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            uint32_t token0 = tile / across * TOKENS, feature0 = tile % across * FEATURES;
            uint2 sums[FEATURES / 16][2];

#pragma unroll
            for (uint32_t i = 0; i < TOKENS * FEATURES / 8 / THREADS; i++) {
                uint32_t k = threadIdx.x + i * THREADS, t = k / (FEATURES / 8), c = k % (FEATURES / 8);

                *(uint4 *)(in + t * IN_PITCH + 8 * c) = __ldg((const uint4 *)(a.x + (size_t)(token0 + t) * a.cols + feature0) + c);
            }
            __syncthreads();
#pragma unroll
            for (uint32_t f = 0; f < FEATURES / 16; f++) {
                uint32_t x[4];
                float d0[4], d1[4];

                isa_ldmatrix_x4_trans(x, in + (16 * warp + lane % 8 + (lane >= 16 ? 8 : 0)) * IN_PITCH + 16 * f + lane / 8 % 2 * 8);
                isa_mma_bf16(d0, x, b[0]);
                isa_mma_bf16(d1, x, b[1]);
#pragma unroll
                for (int h = 0; h < 2; h++)
                    sums[f][h] = make_uint2(isa_cvt_bf16x2(d0[2 * h + 1], d0[2 * h]), isa_cvt_bf16x2(d1[2 * h + 1], d1[2 * h]));
            }
            /* A buffer of its own for the sums: one barrier after them, and the next tile may be loaded while they are read. */
#pragma unroll
            for (uint32_t f = 0; f < FEATURES / 16; f++)
#pragma unroll
                for (uint32_t h = 0; h < 2; h++)
                    *(uint2 *)(out + (16 * f + lane / 4 + 8 * h) * OUT_PITCH + 16 * warp + lane % 4 * 4) = sums[f][h];
            __syncthreads();
#pragma unroll
            for (uint32_t i = 0; i < TOKENS * FEATURES / 16 / THREADS; i++) {
                uint32_t k = threadIdx.x + i * THREADS, g = k % (TOKENS / 16), f = k / (TOKENS / 16), words[4] = { 0, 0, 0, 0 };
                const uint4 *from = (const uint4 *)(out + f * OUT_PITCH + 16 * g);
                uint4 low = from[0], high = from[1];
                const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
                size_t at = (size_t)(feature0 + f) * d.blocks + token0 / 16 + g;
                float v[16];

                if (SR)
                    rht_words(d, feature0 + f, token0 / 16 + g, k_col, words);
                widen16(w, v);
                *(uint2 *)(d.out.codes + 8 * at) = encode16<ISA, SR, KEEP_NAN>(v, gl, block_max_of<KEEP_NAN>(abs_max16(w), v), FP4_RS_TRUNC,
                                                                               (int)d.rs.map, words, d.out.scales + at);
            }
        }
    }
}

template <typename ISA, bool SR, bool KEEP_NAN> static void launch_tiles(const struct rht_args &a, uint32_t k_col, cudaStream_t stream)
{
    unsigned tiles = (unsigned)(a.rows / TOKENS * (a.cols / FEATURES));

    rht_tile_kernel<ISA, SR, KEEP_NAN>
        <<<resident_blocks(rht_tile_kernel<ISA, SR, KEEP_NAN>, THREADS, tiles), THREADS, 0, stream>>>(a, k_col, tiles);
}

template <typename ISA> static void launch(const struct rht_args &a, bool sr, uint32_t k_col, cudaStream_t stream)
{
    if (sr && a.d.chain.keep_nan)
        launch_tiles<ISA, true, true>(a, k_col, stream);
    else if (a.d.chain.keep_nan)
        launch_tiles<ISA, false, true>(a, k_col, stream);
    else
        launch_tiles<ISA, false, false>(a, k_col, stream);
}

int rht_fast(enum fp4k_isa isa, const struct fp4_rht_params *p, const struct rht_args *a, cudaStream_t stream)
{
    const struct fp4_chain *ch = &a->d.chain;
    uint32_t k_tile, k_col;

    if (!a->trip || a->sum != FP4_SUM_TC || ch->element != ELEMENT_IEEE || ch->drop_minus_zero || ch->nan_code_zero || a->transformed ||
        !only_outputs(a->d.out) || a->rows % TOKENS || a->cols % FEATURES || (uintptr_t)a->x % 16 || a->rows >= 1u << 24 ||
        a->cols >= 1u << 24)
        return -1;
    if (p->stochastic && (!ch->keep_nan || (isa != FP4K_SM100 && p->rs.rule != FP4_RS_TRUNC) ||
                          (a->d.stream != FP4_STREAM_RHT_COL && a->d.stream != FP4_STREAM_RHT_ROWCOL)))
        return -1;
    k_tile = p->k_tile ? p->k_tile : stream_rht_k_tile(a->rows, a->cols);
    k_col = a->d.stream == FP4_STREAM_RHT_COL ? (uint32_t)(a->rows < k_tile ? a->rows : k_tile) / 64
                                              : (uint32_t)((a->rows < 1024 ? a->rows : 1024) + 127) / 128;
    FP4_BY_ISA(isa, launch<ISA>(*a, p->stochastic, k_col, stream));
    return (int)cudaGetLastError();
}

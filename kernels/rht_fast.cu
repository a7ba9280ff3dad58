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

/* The 128 tokens from *from on; line: bytes of a token. */
__device__ __forceinline__ void tile_fetch(uint16_t *in, const char *from, size_t line)
{
    uint32_t t = threadIdx.x / 8, c = threadIdx.x % 8;
    const char *at = from + t * line + 16 * c;

#pragma unroll
    for (uint32_t i = 0; i < TOKENS * FEATURES / 8 / THREADS; i++, at += 32 * line)
        isa_cp_async16(in + (t + 32 * i) * IN_PITCH + 8 * c, at);
    isa_cp_async_commit();
}

/* A block walks down one strip of 64 features, fetching a tile while it works on the one before. */
template <typename ISA, bool SR, bool KEEP_NAN>
__global__ void __launch_bounds__(THREADS) rht_tile_kernel(struct rht_args a, uint32_t k_col)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16)
            uint16_t buffer[2][TOKENS * IN_PITCH]; /* the sums take the place of their inputs: FEATURES * OUT_PITCH */
        __shared__ struct element_scales es;
        const struct direction_args &d = a.d;
        struct chain_globals gl = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
        uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, tiles = (uint32_t)(a.rows / TOKENS),
                 feature0 = blockIdx.x * FEATURES;
        uint32_t t = blockIdx.y, turn = 0, g = threadIdx.x % 8, f = threadIdx.x / 8, b[2][2];
        size_t line = 2 * a.cols, place = (size_t)(feature0 + f) * d.blocks + g;
        const char *from = (const char *)a.x + (size_t)t * TOKENS * line + 2 * feature0;
        uint32_t in_at = (16 * warp + lane % 8 + (lane >= 16 ? 8 : 0)) * IN_PITCH + lane / 8 % 2 * 8;
        uint32_t out_at = lane / 4 * OUT_PITCH + 16 * warp + lane % 4 * 4;

        rht_fragment(b[0], lane, 0, a.mask, a.inverse);
        rht_fragment(b[1], lane, 2, a.mask, a.inverse);
        element_scales_fill<KEEP_NAN>(&es, gl); /* read after the first barrier of the loop */
        if (t < tiles)
            tile_fetch(buffer[0], from, line);
        for (; t < tiles; t += gridDim.y, turn ^= 1) {
            uint16_t *shared = buffer[turn];
            uint2 sums[FEATURES / 16][2];
            size_t at = place + (size_t)t * (TOKENS / 16);

            from += (size_t)gridDim.y * TOKENS * line;
            if (t + gridDim.y < tiles) {
                tile_fetch(buffer[turn ^ 1], from, line);
                isa_cp_async_wait<1>();
            } else {
                isa_cp_async_wait<0>();
            }
            __syncthreads();
#pragma unroll
            for (uint32_t k = 0; k < FEATURES / 16; k++) {
                uint32_t x[4];
                float d0[4], d1[4];

                isa_ldmatrix_x4_trans(x, shared + in_at + 16 * k);
                isa_mma_bf16(d0, x, b[0]);
                isa_mma_bf16(d1, x, b[1]);
#pragma unroll
                for (int h = 0; h < 2; h++)
                    sums[k][h] = make_uint2(isa_cvt_bf16x2(d0[2 * h + 1], d0[2 * h]), isa_cvt_bf16x2(d1[2 * h + 1], d1[2 * h]));
            }
            __syncthreads();
#pragma unroll
            for (uint32_t k = 0; k < 2 * FEATURES / 16; k++)
                *(uint2 *)(shared + out_at + 8 * k * OUT_PITCH) = sums[k / 2][k % 2];
            __syncthreads();
#pragma unroll
            for (uint32_t i = 0; i < TOKENS * FEATURES / 16 / THREADS; i++, at += 32 * d.blocks) {
                const uint4 *sum = (const uint4 *)(shared + (f + 32 * i) * OUT_PITCH + 16 * g);
                uint4 low = sum[0], high = sum[1];
                const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
                uint32_t words[4] = { 0, 0, 0, 0 };
                float v[16];

                if (SR)
                    rht_words(d, feature0 + f + 32 * i, t * (TOKENS / 16) + g, k_col, words);
                widen16(w, v);
                ((uint2 *)d.out.codes)[at] = encode16<ISA, SR>(v, gl, es, block_max_of<KEEP_NAN>(abs_max16(w), v), FP4_RS_TRUNC,
                                                               (int)d.rs.map, words, d.out.scales + at);
            }
            __syncthreads(); /* the next turn fetches into this buffer */
        }
    }
}

static_assert(FEATURES * OUT_PITCH <= TOKENS * IN_PITCH, "the sums of a tile fit where its inputs were");

template <typename ISA, bool SR, bool KEEP_NAN>
static void launch_tiles(const struct rht_args &a, uint32_t k_col, cudaStream_t stream)
{
    unsigned strips = (unsigned)(a.cols / FEATURES), tiles = (unsigned)(a.rows / TOKENS);

    rht_tile_kernel<ISA, SR, KEEP_NAN>
        <<<dim3(strips, strip_blocks(rht_tile_kernel<ISA, SR, KEEP_NAN>, THREADS, 1, strips, tiles)), THREADS, 0, stream>>>(a,
                                                                                                                            k_col);
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

    if (!a->trip || a->sum != FP4_SUM_TC || ch->element != ELEMENT_IEEE || ch->drop_minus_zero || ch->nan_code_zero ||
        a->transformed || !only_outputs(a->d.out) || a->rows % TOKENS || a->cols % FEATURES || (uintptr_t)a->x % 16 ||
        a->rows >= 1u << 24 || a->cols >= 1u << 24)
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

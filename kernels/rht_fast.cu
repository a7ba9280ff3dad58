/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rht_fast.cu: the transformed output of the exact recipe (bf16 round trip), no stages, in tiles of TOKENS tokens by 64 features.
 *
 *   load    bf16 into shared memory, rows padded so that ldmatrix meets no bank twice; a few tiles ahead
 *   sums    a warp for 64 tokens by 16 features: ldmatrix.trans and two MMAs for 16 tokens at a time; rounded to bf16 they take the place of
 *           the warp's own input, so that only its own lanes wait
 *   encode  a lane for each group of 16 sums, as in the rowwise quantizer; four neighbouring lanes write 32 bytes of a feature
 */
#include "encode16.cuh"
#include "rht_tile.cuh"

#ifndef FP4_RHT_VARIANT
#define FP4_RHT_VARIANT 0
#endif
#if FP4_RHT_VARIANT < 2
#define TOKENS 128
#define STAGES 2
#define MIN_BLOCKS (FP4_RHT_VARIANT == 0 ? 3 : 4)
#else
#define TOKENS 64
#define STAGES 3
#define MIN_BLOCKS (FP4_RHT_VARIANT == 2 ? 6 : 8)
#endif
#define FEATURES 64
#define THREADS (TOKENS / 64 * FEATURES / 16 * 32)
#define PITCH 72 /* bf16 a token row: 144 bytes */

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

/* The tokens of a tile from *from on; line: bytes of a token. */
__device__ __forceinline__ void tile_fetch(uint16_t *in, const char *from, size_t line)
{
    uint32_t t = threadIdx.x / 8, c = threadIdx.x % 8;
    const char *at = from + t * line + 16 * c;

#pragma unroll
    for (uint32_t i = 0; i < TOKENS * FEATURES / 8 / THREADS; i++, at += THREADS / 8 * line)
        isa_cp_async16(in + (t + THREADS / 8 * i) * PITCH + 8 * c, at);
}

/* Where a warp keeps the 16 sums of feature f and 16-token group g: one of its 64 token rows. Neither the four lanes of each of four features
 * that write a group nor the eight that read four groups of two features meet a bank twice. */
__device__ __forceinline__ uint32_t sums_row(uint32_t f, uint32_t g)
{
    return 2 * ((f + g / 2 * 2) % 16) + g % 2 + g / 2 * 32;
}

/* A block walks down one strip of 64 features, fetching the next STAGES - 1 tiles while it works on one. The one barrier of a turn says both that
 * the tile is there and that the tile before it is no longer used. */
template <typename ISA, bool SR, bool KEEP_NAN>
__global__ void __launch_bounds__(THREADS, SR ? 1 : MIN_BLOCKS) rht_tile_kernel(struct rht_args a, uint32_t k_col)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint16_t buffer[STAGES][TOKENS * PITCH];
        __shared__ struct element_scales es;
        const struct direction_args &d = a.d;
        struct chain_globals gl = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
        uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, tiles = (uint32_t)(a.rows / TOKENS),
                 feature0 = blockIdx.x * FEATURES + warp % 4 * 16;
        uint32_t t = blockIdx.y, turn = 0, g = lane % 4, f = lane / 4, b[2][2];
        size_t line = 2 * a.cols, step = (size_t)gridDim.y * TOKENS * line;
        size_t place = (size_t)(feature0 + f) * d.blocks + warp / 4 * 4 + g;
        const char *from = (const char *)a.x + (size_t)t * TOKENS * line + 2 * FEATURES * blockIdx.x;
        uint32_t corner = warp / 4 * 64 * PITCH + warp % 4 * 16; /* of the warp's part of a tile */
        uint32_t in_at = corner + (lane % 8 + (lane >= 16 ? 8 : 0)) * PITCH + lane / 8 % 2 * 8;
        bool ties;

#pragma unroll
        for (uint32_t s = 0; s < STAGES - 1; s++, from += step) {
            if (t + s * gridDim.y < tiles)
                tile_fetch(buffer[s], from, line);
            isa_cp_async_commit();
        }
        rht_fragment(b[0], lane, 0, a.mask, a.inverse);
        rht_fragment(b[1], lane, 2, a.mask, a.inverse);
        ties = __syncthreads_or(element_scales_fill<ISA, SR, KEEP_NAN>(&es, gl));
        for (; t < tiles; t += gridDim.y, turn = turn + 1 == STAGES ? 0 : turn + 1, from += step) {
            uint16_t *shared = buffer[turn];
            uint2 sums[4][2];
            size_t at = place + (size_t)t * (TOKENS / 16);

            isa_cp_async_wait<STAGES - 2>();
            __syncthreads();
            if (t + (STAGES - 1) * gridDim.y < tiles)
                tile_fetch(buffer[turn ? turn - 1 : STAGES - 1], from, line);
            isa_cp_async_commit();
#pragma unroll
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t x[4];
                float d0[4], d1[4];

                isa_ldmatrix_x4_trans(x, shared + in_at + 16 * k * PITCH);
                isa_mma_bf16(d0, x, b[0]);
                isa_mma_bf16(d1, x, b[1]);
#pragma unroll
                for (int h = 0; h < 2; h++)
                    sums[k][h] = make_uint2(isa_cvt_bf16x2(d0[2 * h + 1], d0[2 * h]), isa_cvt_bf16x2(d1[2 * h + 1], d1[2 * h]));
            }
            __syncwarp(); /* the warp's part of the tile has been read */
#pragma unroll
            for (uint32_t k = 0; k < 8; k++)
                *(uint2 *)(shared + corner + sums_row(lane / 4 + k % 2 * 8, k / 2) * PITCH + lane % 4 * 4) = sums[k / 2][k % 2];
            __syncwarp();
#pragma unroll
            for (uint32_t i = 0; i < 2; i++, at += 8 * d.blocks) {
                const uint4 *sum = (const uint4 *)(shared + corner + sums_row(f + 8 * i, g) * PITCH);
                uint4 low = sum[0], high = sum[1];
                const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
                uint32_t words[4] = { 0, 0, 0, 0 };
                float v[16];

                if (SR)
                    rht_words(d, feature0 + f + 8 * i, t * (TOKENS / 16) + warp / 4 * 4 + g, k_col, words);
                widen16(w, v);
                ((uint2 *)d.out.codes)[at] = encode16<ISA, SR, KEEP_NAN>(v, gl, es, ties, abs_max16(w), FP4_RS_TRUNC, (int)d.rs.map,
                                                                         words, d.out.scales + at);
            }
        }
    }
}

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

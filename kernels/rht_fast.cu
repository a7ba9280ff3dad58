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
#include "tile_queue.cuh"

#ifndef FP4_RHT_VARIANT
#define FP4_RHT_VARIANT 0
#endif
#define TOKENS (FP4_RHT_VARIANT < 2 ? 128 : 64)
#define FEATURES (FP4_RHT_VARIANT == 3 ? 128 : 64)
#define ACROSS (FEATURES / 16) /* warps */
#define THREADS (TOKENS / 64 * ACROSS * 32)
#define MIN_BLOCKS (1024 / THREADS)
#define PITCH (FEATURES + 8) /* bf16 a token row: rows start in different banks */
#define TILE (TOKENS * PITCH)

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

/* This thread's part of a tile, 16 bytes of every so many tokens; line: bytes of a token. */
__device__ __forceinline__ void tile_fetch(uint16_t *to, const char *from, size_t line)
{
    constexpr uint32_t tokens = THREADS / (FEATURES / 8);

#pragma unroll
    for (uint32_t i = 0; i < TOKENS / tokens; i++, from += tokens * line)
        isa_cp_async16(to + tokens * i * PITCH, from);
    isa_cp_async_commit();
}

/* Where a warp keeps the 16 sums of feature f and 16-token group g: one of its 64 token rows. Neither the four lanes of each of four features
 * that write a group nor the eight that read four groups of two features meet a bank twice. */
__device__ __forceinline__ uint32_t sums_row(uint32_t f, uint32_t g)
{
    return 2 * (f ^ (g / 2 * 2)) + g % 2 + g / 2 * 32;
}

/* The sums of a lane: features f (i = 0) and f + 8 (i = 1) of its group; from: the place of the first. */
template <bool FAST> __device__ __forceinline__ struct block16 sums_block(const uint16_t *from, uint32_t i)
{
    const uint4 *sum = (const uint4 *)(from + i * (sums_row(8, 0) * PITCH));

    return block16_of<FAST>(sum[0], sum[1]);
}

template <bool TIES>
__device__ __forceinline__ bool encode_sums_fast(const struct direction_args &d, const struct chain_globals &g,
                                                 const struct element_scales &es, const uint16_t *from, uint32_t at)
{
    bool good = true;

#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        struct block16 v = sums_block<true>(from, i);
        uint32_t place = at + 8 * i * (uint32_t)d.blocks;

        good &= encode16_fast<TIES>(v.x, g, es, v.max, (uint2 *)d.out.codes + place, d.out.scales + place);
    }
    return good;
}

/* The next tile is on its way while a block works on one. The one barrier of a turn says that a tile is there, that the one before is no longer
 * used, and which is the next. */
template <typename ISA, bool SR, bool KEEP_NAN>
__global__ void __launch_bounds__(THREADS, SR ? 1 : MIN_BLOCKS) rht_tile_kernel(struct rht_args a, uint32_t k_col, struct tile_queue queue)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint16_t buffer[2 * TILE];
        __shared__ struct element_scales es;
        __shared__ struct tile_place places[2];
        const struct direction_args &d = a.d;
        struct chain_globals gl = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
        uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, turn = 0, g = lane % 4, f = lane / 4, b[2][2], taken = 0;
        uint32_t first_f = warp % ACROSS * 16 + f, first_g = warp / ACROSS * 4 + g; /* this lane's first block in a tile */
        uint32_t corner = warp / ACROSS * 64 * PITCH + warp % ACROSS * 16;          /* of the warp's part of a tile */
        uint32_t in = corner + (lane % 8 + (lane >= 16 ? 8 : 0)) * PITCH + lane / 8 % 2 * 8;
        uint32_t blocks = (uint32_t)d.blocks;
        size_t line = 2 * a.cols;
        const char *from = (const char *)a.x + threadIdx.x / (FEATURES / 8) * line + threadIdx.x % (FEATURES / 8) * 16;
        uint16_t *to = buffer + threadIdx.x / (FEATURES / 8) * PITCH + threadIdx.x % (FEATURES / 8) * 8;
        struct tile_place here = tile_place_of(queue, blockIdx.x);
        bool ties, more;

        tile_fetch(to, from + (size_t)(here.y * TOKENS) * line + here.x * (2 * FEATURES), line);
        if (threadIdx.x == 0)
            places[0] = tile_place_of(queue, taken = tile_take(queue, blockIdx.x));
        rht_fragment(b[0], lane, 0, a.mask, a.inverse);
        rht_fragment(b[1], lane, 2, a.mask, a.inverse);
        ties = __syncthreads_or(element_scales_fill<ISA, SR, KEEP_NAN>(&es, gl));
        do {
            uint16_t *tile = buffer + turn * TILE;
            uint32_t at = (here.x * FEATURES + first_f) * blocks + here.y * (TOKENS / 16) + first_g;
            struct tile_place next;
            uint2 sums[4][2];
            bool good = false;

            isa_cp_async_wait<0>();
            __syncthreads();
            next = places[turn];
            more = next.y < queue.down;
            if (more) {
                tile_fetch(to + (turn ? 0 : TILE), from + (size_t)(next.y * TOKENS) * line + next.x * (2 * FEATURES), line);
                if (threadIdx.x == 0)
                    taken = tile_take(queue, taken);
            }
#pragma unroll
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t x[4];
                float d0[4], d1[4];

                isa_ldmatrix_x4_trans(x, tile + in + 16 * k * PITCH);
                isa_mma_bf16(d0, x, b[0]);
                isa_mma_bf16(d1, x, b[1]);
#pragma unroll
                for (int h = 0; h < 2; h++)
                    sums[k][h] = make_uint2(isa_cvt_bf16x2(d0[2 * h + 1], d0[2 * h]), isa_cvt_bf16x2(d1[2 * h + 1], d1[2 * h]));
            }
            __syncwarp(); /* the warp's part of the tile has been read */
#pragma unroll
            for (uint32_t k = 0; k < 8; k++)
                *(uint2 *)(tile + corner + sums_row(lane / 4 + k % 2 * 8, k / 2) * PITCH + lane % 4 * 4) = sums[k / 2][k % 2];
            __syncwarp();
            tile += corner + sums_row(f, g) * PITCH;
            if constexpr (by_multiplier<ISA, SR>)
                good = ties ? encode_sums_fast<true>(d, gl, es, tile, at) : encode_sums_fast<false>(d, gl, es, tile, at);
            if (!good) {
#pragma unroll(by_multiplier<ISA, SR> ? 1 : 2)
                for (uint32_t i = 0; i < 2; i++) {
                    struct block16 v = sums_block<false>(tile, i);
                    uint32_t place = at + 8 * i * blocks, words[4] = { 0, 0, 0, 0 };

                    if (SR)
                        rht_words(d, here.x * FEATURES + first_f + 8 * i, here.y * (TOKENS / 16) + first_g, k_col, words);
                    ((uint2 *)d.out.codes)[place] = encode16<ISA, SR, KEEP_NAN>(v.x, gl, es, v.max, FP4_RS_TRUNC, (int)d.rs.map,
                                                                                words, d.out.scales + place);
                }
            }
            turn ^= 1;
            if (threadIdx.x == 0 && more)
                places[turn] = tile_place_of(queue, taken);
            here = next;
        } while (more);
    }
}

template <typename ISA, bool SR, bool KEEP_NAN>
static void launch_tiles(const struct rht_args &a, uint32_t k_col, cudaStream_t stream)
{
    struct tile_queue queue = tile_queue_make(a.cols / FEATURES, a.rows / TOKENS);

    rht_tile_kernel<ISA, SR, KEEP_NAN><<<tile_blocks(rht_tile_kernel<ISA, SR, KEEP_NAN>, THREADS, queue), THREADS, 0, stream>>>(a, k_col,
                                                                                                                             queue);
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
        a->rows >= 1u << 24 || a->cols >= 1u << 24 || (uint64_t)a->rows * a->cols >= 1ull << 36)
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_fast.cu: recipe te, bf16, 1x16, one amax, no stages.
 *
 * rowwise alone: a thread a block of 16, straight from global memory.
 * both:          tiles of 128 rows by 64 columns in shared memory, the next one on its way while one is encoded; transposed blocks are made
 *                two columns a thread at a time.
 */
#include "encode16.cuh"
#include "quantize_fast.cuh"
#include "tile_queue.cuh"

#ifndef FP4_BOTH_VARIANT
#define FP4_BOTH_VARIANT 0
#endif
#define ROW_THREADS 256
#define TILE_ROWS (FP4_BOTH_VARIANT < 2 ? 128 : 64)
#define TILE_COLS (FP4_BOTH_VARIANT == 3 ? 128 : 64)
#define MIN_BLOCKS (1024 / THREADS)
#define GROUPS (TILE_ROWS / 16)
#define THREADS (TILE_COLS / 2 * GROUPS)
#define PITCH (TILE_COLS / 2 + 4) /* words a row: neighbouring rows start in different banks */
#define SKEW (32 / GROUPS)        /* words between 16-row groups: the groups of a column start in different banks */
#define TILE_WORDS (TILE_ROWS * PITCH + GROUPS * SKEW)
/* From a thread's first rowwise block to its second. */
#define NEXT_ROW (TILE_COLS == 64 ? TILE_ROWS / 2 : 0)
#define NEXT_BLOCK (TILE_COLS == 64 ? 0 : 4)

/* ---- random words of the tuned kernel (TE 5.3), in 32-bit arithmetic ---------------------------------------------------------------------- */

__device__ __forceinline__ void tuned_row_words(const struct direction_args &d, uint32_t r, uint32_t b, uint32_t words[4])
{
    uint32_t c = 16 * b, tile = c / 128 + r / 128 * ((uint32_t)(d.shape.cols + 127) / 128), draw[4];
    uint32_t stage = 2 * (r % 128 / 64) + c % 128 / 64, t = r % 32 * 4 + c % 64 / 16, g = r / 4 % 2;

    draw_words(d, (uint32_t)(t + 128 * tile), (d.shape.colwise ? 4 : 2) * stage + r % 64 / 32, draw);
    words[0] = g ? draw[2] : draw[0];
    words[1] = g ? draw[3] : draw[1];
    words[2] = g ? draw[0] : draw[2];
    words[3] = g ? draw[1] : draw[3];
}

__device__ __forceinline__ void tuned_col_words(const struct direction_args &d, uint32_t c, uint32_t b, uint32_t words[4])
{
    uint32_t r = 16 * b, tile = c / 128 + r / 128 * ((uint32_t)(d.shape.cols + 127) / 128);
    uint32_t stage = 2 * (r % 128 / 64) + c % 128 / 64, lane = c % 64 / 2, warp = (r % 64 / 16 + 64 - lane / 2) % 4;

    draw_words(d, (uint32_t)(32 * warp + lane + 128 * tile), 4 * stage + 2 + c % 2, words);
}

/* ---- rowwise ---------------------------------------------------------------------------------------------------------------------------------- */

/* Block b of row r, whose place in the output is at. */
template <typename ISA, bool SR>
__device__ __forceinline__ void encode_row_block(const struct direction_args &d, const struct chain_globals &g,
                                                 const struct element_scales &es, uint32_t r, uint32_t b, const struct block16 &v,
                                                 uint32_t at)
{
    uint32_t words[4] = { 0, 0, 0, 0 };

    if (SR)
        tuned_row_words(d, r, b, words);
    ((uint2 *)d.out.codes)[at] =
        encode16<ISA, SR, false>(v.x, g, es, v.max, FP4_RS_TRUNC, (int)d.rs.map, words, d.out.scales + at);
}

template <bool TIES>
__device__ __forceinline__ bool encode_row_block_fast(const struct direction_args &d, const struct chain_globals &g,
                                                      const struct element_scales &es, const struct block16 &v, uint32_t at)
{
    return encode16_fast<TIES>(v.x, g, es, v.max, (uint2 *)d.out.codes + at, d.out.scales + at);
}

template <typename ISA, bool SR>
__global__ void __launch_bounds__(ROW_THREADS) quantize_rows_kernel(struct direction_args d, const uint4 *x)
{
    if constexpr (ISA::available) {
        struct chain_globals g = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
        __shared__ struct element_scales es;
        uint32_t blocks = (uint32_t)d.blocks, b = blockIdx.x * blockDim.x + threadIdx.x;
        bool ties = __syncthreads_or(element_scales_fill<ISA, SR, false>(&es, g));

        if (b >= blocks)
            return;
        for (uint32_t r = blockIdx.y; r < d.lines; r += gridDim.y) {
            uint32_t at = r * blocks + b;
            uint4 low = __ldg(x + 2 * at), high = __ldg(x + 2 * at + 1);

            if constexpr (by_multiplier<ISA, SR>) {
                struct block16 v = block16_of<true>(low, high);

                if (ties ? encode_row_block_fast<true>(d, g, es, v, at) : encode_row_block_fast<false>(d, g, es, v, at))
                    continue;
            }
            encode_row_block<ISA, SR>(d, g, es, r, b, block16_of<false>(low, high), at);
        }
    }
}

/* ---- rowwise and transposed, or transposed alone ---------------------------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t tile_word(uint32_t row, uint32_t pair)
{
    return row * PITCH + row / 16 * SKEW + pair;
}

/* Two columns of 16 rows, and the larger magnitude of each: the low halves are one block, the high halves the next. */
struct column_pair {
    uint32_t v[16], max;
};

__device__ __forceinline__ struct column_pair column_pair_of(const uint32_t *from)
{
    struct column_pair p;

#pragma unroll
    for (uint32_t k = 0; k < 16; k++)
        p.v[k] = from[k * PITCH];
    p.max = abs_max_pairs<16>(p.v);
    return p;
}

template <bool FAST> __device__ __forceinline__ void widen_column(const struct column_pair &p, uint32_t half, float x[16])
{
#pragma unroll
    for (uint32_t k = 0; k < 16; k++)
        x[k] = half ? widen_upper<FAST>(p.v[k]) : __uint_as_float(p.v[k] << 16);
}

/* What a thread does in a tile. */
struct part {
    const uint32_t *row, *col; /* where: rowwise (row r, block b) and one more; columns c and c + 1, 16-row group g */
    uint32_t at_row, at_col;   /* in the outputs */
    uint32_t r, b, c, g;       /* counted in the matrix */
};

/* The thread's two rowwise and two transposed blocks. UNROLL: 1 where this is rare. */
template <typename ISA, bool SR, bool ROWS, int UNROLL>
__device__ __forceinline__ void encode_part(const struct direction_args &row, const struct direction_args &col,
                                            const struct chain_globals &gr, const struct chain_globals &gc,
                                            const struct element_scales &er, const struct element_scales &ec, const struct part &p)
{
    struct column_pair pair;

    if (ROWS) {
#pragma unroll UNROLL
        for (uint32_t i = 0; i < 2; i++) {
            const uint4 *w = (const uint4 *)(p.row + i * tile_word(NEXT_ROW, 8 * NEXT_BLOCK));

            encode_row_block<ISA, SR>(row, gr, er, p.r + i * NEXT_ROW, p.b + i * NEXT_BLOCK, block16_of<false>(w[0], w[1]),
                                      p.at_row + i * (NEXT_ROW * (uint32_t)row.blocks + NEXT_BLOCK));
        }
    }
    if (UNROLL > 1)
        pair = column_pair_of(p.col);
#pragma unroll UNROLL
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t at = p.at_col + half * (uint32_t)col.blocks;
        uint32_t words[4] = { 0, 0, 0, 0 };
        float x[16];

        if (UNROLL == 1) /* registers are dearer than loads */
            pair = column_pair_of(p.col);
        widen_column<false>(pair, half, x);
        if (SR)
            tuned_col_words(col, p.c + half, p.g, words);
        ((uint2 *)col.out.codes)[at] = encode16<ISA, SR, false>(x, gc, ec, half ? pair.max >> 16 : pair.max, FP4_RS_TRUNC,
                                                                (int)col.rs.map, words, col.out.scales + at);
    }
}

/* The same in nearly all cases, rowwise and transposed; false: all are to be done again. */
template <bool TIES>
__device__ __forceinline__ bool encode_rows_fast(const struct direction_args &d, const struct chain_globals &g,
                                                 const struct element_scales &es, const struct part &p)
{
    bool good = true;

#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint4 *w = (const uint4 *)(p.row + i * tile_word(NEXT_ROW, 8 * NEXT_BLOCK));

        good &= encode_row_block_fast<TIES>(d, g, es, block16_of<true>(w[0], w[1]),
                                            p.at_row + i * (NEXT_ROW * (uint32_t)d.blocks + NEXT_BLOCK));
    }
    return good;
}

template <bool TIES>
__device__ __forceinline__ bool encode_columns_fast(const struct direction_args &d, const struct chain_globals &g,
                                                    const struct element_scales &es, const struct part &p)
{
    bool good = true;
    struct column_pair pair = column_pair_of(p.col);

#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t at = p.at_col + half * (uint32_t)d.blocks;
        float x[16];

        widen_column<true>(pair, half, x);
        good &= encode16_fast<TIES>(x, g, es, half ? pair.max >> 16 : pair.max, (uint2 *)d.out.codes + at, d.out.scales + at);
    }
    return good;
}

/* This thread's part of a tile, 16 bytes of every so many rows; line: bytes of a row of the matrix. */
__device__ __forceinline__ void tile_fetch(uint32_t *to, const char *from, size_t line)
{
    constexpr uint32_t rows = THREADS / (TILE_COLS / 8);

#pragma unroll
    for (uint32_t i = 0; i < TILE_ROWS / rows; i++, from += rows * line)
        isa_cp_async16(to + i * tile_word(rows, 0), from);
    isa_cp_async_commit();
}

/* rows a multiple of TILE_ROWS, columns of TILE_COLS. The next tile is on its way while a block works on one. The one barrier of a turn says that
 * a tile is there, that the one before is no longer read, and which is the next. */
template <typename ISA, bool SR, bool ROWS>
__global__ void __launch_bounds__(THREADS, SR ? 1 : MIN_BLOCKS)
    quantize_tile_kernel(struct direction_args row, struct direction_args col, const char *x, struct tile_queue queue)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint32_t tile[2 * TILE_WORDS];
        __shared__ struct element_scales es[2]; /* transposed, rowwise */
        __shared__ struct tile_place places[2];
        struct chain_globals gc = chain_globals_of(&col.chain, col.out.amax[0], 2688.0f), gr = gc;
        uint32_t r = threadIdx.x / 4, b = threadIdx.x % 4, g = threadIdx.x % GROUPS, pair = threadIdx.x / GROUPS, own = 0, turn = 0;
        uint32_t row_blocks = (uint32_t)row.blocks, col_blocks = (uint32_t)col.blocks, taken = 0;
        size_t line = 2 * col.lines;
        const char *from = x + threadIdx.x / (TILE_COLS / 8) * line + threadIdx.x % (TILE_COLS / 8) * 16;
        uint32_t *to = tile + tile_word(threadIdx.x / (TILE_COLS / 8), threadIdx.x % (TILE_COLS / 8) * 4);
        struct tile_place here = tile_place_of(queue, blockIdx.x);
        bool ties, more;

        tile_fetch(to, from + (size_t)(here.y * TILE_ROWS) * line + here.x * (2 * TILE_COLS), line);
        if (threadIdx.x == 0)
            places[0] = tile_place_of(queue, taken = tile_take(queue, blockIdx.x));
        ties = __syncthreads_or(element_scales_fill<ISA, SR, false>(&es[0], gc));
        if (ROWS) {
            gr = chain_globals_of(&row.chain, row.out.amax[0], 2688.0f);
            own = gr.dec != gc.dec; /* nearly always one table serves both */
            if (own)
                ties |= __syncthreads_or(element_scales_fill<ISA, SR, false>(&es[1], gr));
        }
        do {
            struct tile_place next;
            struct part p = { tile + turn * TILE_WORDS + tile_word(r, 8 * b),
                              tile + turn * TILE_WORDS + tile_word(16 * g, pair), /* groups in neighbouring lanes: whole sectors of codes */
                              (here.y * TILE_ROWS + r) * row_blocks + here.x * (TILE_COLS / 16) + b,
                              (here.x * TILE_COLS + 2 * pair) * col_blocks + here.y * GROUPS + g,
                              here.y * TILE_ROWS + r,
                              here.x * (TILE_COLS / 16) + b,
                              here.x * TILE_COLS + 2 * pair,
                              here.y * GROUPS + g };
            bool good = false;

            isa_cp_async_wait<0>();
            __syncthreads();
            next = places[turn];
            more = next.y < queue.down;
            if (more) {
                tile_fetch(to + (turn ? 0 : TILE_WORDS), from + (size_t)(next.y * TILE_ROWS) * line + next.x * (2 * TILE_COLS), line);
                if (threadIdx.x == 0)
                    taken = tile_take(queue, taken);
            }
            if constexpr (by_multiplier<ISA, SR>) {
                good = ties ? encode_columns_fast<true>(col, gc, es[0], p) : encode_columns_fast<false>(col, gc, es[0], p);
                if (ROWS)
                    good &= ties ? encode_rows_fast<true>(row, gr, es[own], p) : encode_rows_fast<false>(row, gr, es[own], p);
            }
            if (!good)
                encode_part<ISA, SR, ROWS, by_multiplier<ISA, SR> ? 1 : 2>(row, col, gr, gc, es[own], es[0], p);
            turn ^= 1;
            if (threadIdx.x == 0 && more)
                places[turn] = tile_place_of(queue, taken);
            here = next;
        } while (more);
    }
}

/* ---- launcher ------------------------------------------------------------------------------------------------------------------------------------- */

template <typename ISA, bool SR> static void launch_rows(const struct direction_args &d, const void *x, cudaStream_t stream)
{
    unsigned threads = d.blocks >= ROW_THREADS ? ROW_THREADS : (unsigned)(d.blocks + 31) / 32 * 32;
    unsigned gx = ((unsigned)d.blocks + threads - 1) / threads,
             gy = (unsigned)(d.lines < 132 * 16 / gx + 1 ? d.lines : 132 * 16 / gx + 1);

    quantize_rows_kernel<ISA, SR><<<dim3(gx, gy), threads, 0, stream>>>(d, (const uint4 *)x);
}

template <typename ISA, bool SR, bool ROWS>
static void launch_tiles(const struct direction_args &row, const struct direction_args &col, const void *x, cudaStream_t stream)
{
    struct tile_queue queue = tile_queue_make(col.lines / TILE_COLS, col.packed / TILE_ROWS);

    quantize_tile_kernel<ISA, SR, ROWS><<<tile_blocks(quantize_tile_kernel<ISA, SR, ROWS>, THREADS, queue), THREADS, 0, stream>>>(
        row, col, (const char *)x, queue);
}

template <typename ISA>
static void launch(const struct direction_args *row, const struct direction_args *col, const void *x, bool sr, cudaStream_t stream)
{
    if (!col && sr)
        launch_rows<ISA, true>(*row, x, stream);
    else if (!col)
        launch_rows<ISA, false>(*row, x, stream);
    else if (row && sr)
        launch_tiles<ISA, true, true>(*row, *col, x, stream);
    else if (row)
        launch_tiles<ISA, false, true>(*row, *col, x, stream);
    else if (sr)
        launch_tiles<ISA, true, false>(*col, *col, x, stream);
    else
        launch_tiles<ISA, false, false>(*col, *col, x, stream);
}

int quantize_fast(enum fp4k_isa isa, const struct fp4_quantize_params *p, const void *x, const struct direction_args *row,
                  const struct direction_args *col, cudaStream_t stream)
{
    const struct direction_args *any = row ? row : col;

    if (p->recipe != FP4_RECIPE_TE || p->input != FP4_BF16 || p->block_16x16 || p->row_scaled || (uintptr_t)x % 16 ||
        p->cols % 16 || (row && !only_outputs(row->out)) || (col && !only_outputs(col->out)) || p->rows >= 1u << 24 ||
        p->cols >= 1u << 24 || (uint64_t)p->rows * p->cols >= 1ull << 36)
        return -1;
    if (col && (p->rows % TILE_ROWS || p->cols % TILE_COLS))
        return -1;
    if (p->stochastic && (any->stream != FP4_STREAM_TUNED || (isa != FP4K_SM100 && p->rs.rule != FP4_RS_TRUNC)))
        return -1;
    FP4_BY_ISA(isa, launch<ISA>(row, col, x, p->stochastic, stream));
    return (int)cudaGetLastError();
}

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

#ifndef FP4_BOTH_VARIANT
#define FP4_BOTH_VARIANT 0
#endif
#define ROW_THREADS 256
#if FP4_BOTH_VARIANT < 2
#define TILE_ROWS 128
#define STAGES 2
#define MIN_BLOCKS (FP4_BOTH_VARIANT == 0 ? 3 : 4)
#else
#define TILE_ROWS 64
#define STAGES 3
#define MIN_BLOCKS (FP4_BOTH_VARIANT == 2 ? 6 : 8)
#endif
#define TILE_COLS 64
#define GROUPS (TILE_ROWS / 16)
#define THREADS (TILE_COLS / 2 * GROUPS)
#define PITCH (TILE_COLS / 2 + 4) /* words a row: neighbouring rows start in different banks */
#define SKEW (32 / GROUPS)        /* words between 16-row groups: the groups of a column start in different banks */

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

/* Block b of row r, at codes and scale. */
template <typename ISA, bool SR>
__device__ __forceinline__ void encode_row_block(const struct direction_args &d, const struct chain_globals &g,
                                                 const struct element_scales &es, bool ties, uint32_t r, uint32_t b,
                                                 const uint4 &low, const uint4 &high, uint2 *codes, uint8_t *scale)
{
    const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };
    uint32_t words[4] = { 0, 0, 0, 0 };
    float v[16];

    if (SR)
        tuned_row_words(d, r, b, words);
    widen16(w, v);
    *codes = encode16<ISA, SR, false>(v, g, es, ties, abs_max16(w), FP4_RS_TRUNC, (int)d.rs.map, words, scale);
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
            size_t at = (size_t)r * blocks + b;

            encode_row_block<ISA, SR>(d, g, es, ties, r, b, __ldg(x + 2 * at), __ldg(x + 2 * at + 1), (uint2 *)d.out.codes + at,
                                      d.out.scales + at);
        }
    }
}

/* ---- rowwise and transposed, or transposed alone ---------------------------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t tile_word(uint32_t row, uint32_t pair)
{
    return row * PITCH + row / 16 * SKEW + pair;
}

/* Two columns of 16 rows: the low halves are one block, the high halves the next. at: the first one's place in the output. */
template <typename ISA, bool SR>
__device__ __forceinline__ void encode_column_pair(const struct direction_args &d, const struct chain_globals &g,
                                                   const struct element_scales &es, bool ties, const uint32_t *from, uint32_t c,
                                                   uint32_t b, size_t at)
{
    uint32_t v[16], acc = 0;

#pragma unroll
    for (uint32_t k = 0; k < 16; k++) {
        v[k] = from[k * PITCH];
        acc = isa_abs_max_nan_bf16x2(acc, v[k]);
    }
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t words[4] = { 0, 0, 0, 0 };
        float x[16];

#pragma unroll
        for (uint32_t k = 0; k < 16; k++)
            x[k] = __uint_as_float(half ? v[k] & 0xFFFF0000u : v[k] << 16);
        if (SR)
            tuned_col_words(d, c + half, b, words);
        ((uint2 *)d.out.codes)[at] = encode16<ISA, SR, false>(x, g, es, ties, half ? acc >> 16 : acc, FP4_RS_TRUNC, (int)d.rs.map,
                                                              words, d.out.scales + at);
        at += d.blocks;
    }
}

/* The rows of a tile from *from on, 16 bytes a thread at a time; line: bytes of a row of the matrix. */
__device__ __forceinline__ void tile_fetch(uint32_t *tile, const char *from, size_t line)
{
    uint32_t r = threadIdx.x / 8, c = threadIdx.x % 8;
    const char *at = from + r * line + 16 * c;

#pragma unroll
    for (uint32_t i = 0; i < TILE_ROWS * TILE_COLS / 8 / THREADS; i++, at += THREADS / 8 * line)
        isa_cp_async16(tile + tile_word(r + THREADS / 8 * i, 4 * c), at);
}

/* rows a multiple of TILE_ROWS, columns of 64. A block walks down one strip of 64 columns, fetching the next STAGES - 1 tiles while it works on
 * one. The one barrier of a turn says both that the tile is there and that the tile before it is no longer read. */
template <typename ISA, bool SR, bool ROWS>
__global__ void __launch_bounds__(THREADS, SR ? 1 : MIN_BLOCKS)
    quantize_tile_kernel(struct direction_args row, struct direction_args col, const char *x)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint32_t tile[STAGES][TILE_ROWS * PITCH + GROUPS * SKEW];
        __shared__ struct element_scales es[2]; /* transposed, rowwise */
        struct chain_globals gr, gc = chain_globals_of(&col.chain, col.out.amax[0], 2688.0f);
        uint32_t tiles = (uint32_t)(col.packed / TILE_ROWS), col0 = blockIdx.x * TILE_COLS, turn = 0, t = blockIdx.y;
        /* this thread's blocks: rowwise (row r, block b) and half a tile below; transposed columns c and c + 1, 16-row group rb */
        uint32_t r = threadIdx.x / 4, b = threadIdx.x % 4, rb = threadIdx.x % GROUPS, pair = threadIdx.x / GROUPS;
        size_t line = 2 * col.lines, at_col = (size_t)(col0 + 2 * pair) * col.blocks + rb;
        size_t step = (size_t)gridDim.y * TILE_ROWS * line;
        const char *from = x + (size_t)t * TILE_ROWS * line + 2 * col0;
        bool ties_col, ties_row = false;

#pragma unroll
        for (uint32_t s = 0; s < STAGES - 1; s++, from += step) {
            if (t + s * gridDim.y < tiles)
                tile_fetch(tile[s], from, line);
            isa_cp_async_commit();
        }
        ties_col = __syncthreads_or(element_scales_fill<ISA, SR, false>(&es[0], gc));
        if (ROWS) {
            gr = chain_globals_of(&row.chain, row.out.amax[0], 2688.0f);
            ties_row = __syncthreads_or(element_scales_fill<ISA, SR, false>(&es[1], gr));
        }
        for (; t < tiles; t += gridDim.y, turn = turn + 1 == STAGES ? 0 : turn + 1, from += step) {
            isa_cp_async_wait<STAGES - 2>();
            __syncthreads();
            if (t + (STAGES - 1) * gridDim.y < tiles)
                tile_fetch(tile[turn ? turn - 1 : STAGES - 1], from, line);
            isa_cp_async_commit();
            if (ROWS) {
                size_t at = (size_t)(t * TILE_ROWS + r) * row.blocks + col0 / 16 + b;
                const uint32_t *w = tile[turn] + tile_word(r, 8 * b);

#pragma unroll
                for (uint32_t i = 0; i < 2; i++, at += TILE_ROWS / 2 * row.blocks, w += TILE_ROWS / 2 * PITCH + GROUPS / 2 * SKEW)
                    encode_row_block<ISA, SR>(row, gr, es[1], ties_row, t * TILE_ROWS + r + TILE_ROWS / 2 * i, col0 / 16 + b,
                                              *(const uint4 *)w, *(const uint4 *)(w + 4), (uint2 *)row.out.codes + at,
                                              row.out.scales + at);
            }
            /* the 16-row groups in neighbouring lanes: whole sectors of codes in a row of the output */
            encode_column_pair<ISA, SR>(col, gc, es[0], ties_col, tile[turn] + tile_word(16 * rb, pair), col0 + 2 * pair,
                                        t * GROUPS + rb, at_col + (size_t)t * GROUPS);
        }
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
    unsigned strips = (unsigned)(col.lines / TILE_COLS), tiles = (unsigned)(col.packed / TILE_ROWS);

    quantize_tile_kernel<ISA, SR, ROWS>
        <<<dim3(strips, strip_blocks(quantize_tile_kernel<ISA, SR, ROWS>, THREADS, 2, strips, tiles)), THREADS, 0, stream>>>(
            row, col, (const char *)x);
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
        p->cols >= 1u << 24)
        return -1;
    if (col && (p->rows % TILE_ROWS || p->cols % TILE_COLS))
        return -1;
    if (p->stochastic && (any->stream != FP4_STREAM_TUNED || (isa != FP4K_SM100 && p->rs.rule != FP4_RS_TRUNC)))
        return -1;
    FP4_BY_ISA(isa, launch<ISA>(row, col, x, p->stochastic, stream));
    return (int)cudaGetLastError();
}

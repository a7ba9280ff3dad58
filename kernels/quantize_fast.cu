/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize_fast.cu: recipe te, bf16, 1x16, one amax, no stages.
 *
 * rowwise alone: a thread a block of 16, straight from global memory.
 * both:          a tile of 128 rows by 64 columns; the rowwise blocks are encoded from registers on the way into shared memory, the
 *                transposed ones from there, two columns a thread at a time.
 */
#include "encode16.cuh"
#include "quantize_fast.cuh"

#define THREADS 256
#define TILE_ROWS 128
#define TILE_COLS 64
#define ROW_WORDS (TILE_COLS / 2)
#define SKEW 4 /* words between 16-row groups: the eight groups of a column start in different banks */

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

/* Block b of row r; words is unused without SR. */
template <typename ISA, bool SR>
__device__ __forceinline__ void encode_row_block(const struct direction_args &d, const struct chain_globals &g, uint32_t r, uint32_t b,
                                                 const uint32_t w[8])
{
    uint32_t words[4] = { 0, 0, 0, 0 };
    size_t at = (size_t)r * d.blocks + b;
    float v[16];

    if (SR)
        tuned_row_words(d, r, b, words);
    widen16(w, v);
    *(uint2 *)(d.out.codes + 8 * at) = encode16<ISA, SR, false>(v, g, block_max_of<false>(abs_max16(w), v), FP4_RS_TRUNC, (int)d.rs.map, words, d.out.scales + at);
}

template <typename ISA, bool SR> __global__ void __launch_bounds__(THREADS) quantize_rows_kernel(struct direction_args d, const uint4 *x)
{
    if constexpr (ISA::available) {
        struct chain_globals g = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
        uint32_t blocks = (uint32_t)d.blocks, b = blockIdx.x * blockDim.x + threadIdx.x;

        if (b >= blocks)
            return;
        for (uint32_t r = blockIdx.y; r < d.lines; r += gridDim.y) {
            size_t at = (size_t)r * blocks + b;
            uint4 low = __ldg(x + 2 * at), high = __ldg(x + 2 * at + 1);
            const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };

            encode_row_block<ISA, SR>(d, g, r, b, w);
        }
    }
}

/* ---- rowwise and transposed, or transposed alone ---------------------------------------------------------------------------------------------- */

__device__ __forceinline__ uint32_t tile_word(uint32_t row, uint32_t pair)
{
    return row * ROW_WORDS + row / 16 * SKEW + pair;
}

/* Two columns of 16 rows: the low halves are one block, the high halves the next. */
template <typename ISA, bool SR>
__device__ __forceinline__ void encode_column_pair(const struct direction_args &d, const struct chain_globals &g, const uint32_t *tile,
                                                   uint32_t row0, uint32_t col0, uint32_t rb, uint32_t pair)
{
    uint32_t v[16], acc = 0;

#pragma unroll
    for (uint32_t k = 0; k < 16; k++) {
        v[k] = tile[tile_word(16 * rb + k, pair)];
        acc = isa_abs_max_nan_bf16x2(acc, v[k]);
    }
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t c = col0 + 2 * pair + half, b = row0 / 16 + rb, words[4] = { 0, 0, 0, 0 };
        float x[16];
        size_t at = (size_t)c * d.blocks + b;

#pragma unroll
        for (uint32_t k = 0; k < 16; k++)
            x[k] = __uint_as_float(half ? v[k] & 0xFFFF0000u : v[k] << 16);
        if (SR)
            tuned_col_words(d, c, b, words);
        *(uint2 *)(d.out.codes + 8 * at) = encode16<ISA, SR, false>(x, g, block_max_of<false>(half ? acc >> 16 : acc, x), FP4_RS_TRUNC,
                                                                    (int)d.rs.map, words, d.out.scales + at);
    }
}

/* rows a multiple of 128, columns of 64. Blocks walk over the tiles, so that the global scales are made once. */
template <typename ISA, bool SR, bool ROWS>
__global__ void __launch_bounds__(THREADS) quantize_tile_kernel(struct direction_args row, struct direction_args col, const uint4 *x,
                                                                uint32_t tiles)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint32_t shared[2][TILE_ROWS * ROW_WORDS + TILE_ROWS / 16 * SKEW];
        struct chain_globals gr, gc = chain_globals_of(&col.chain, col.out.amax[0], 2688.0f);
        uint32_t across = (uint32_t)(col.lines / TILE_COLS), turn = 0;

        if (ROWS)
            gr = chain_globals_of(&row.chain, row.out.amax[0], 2688.0f);
        for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x, turn ^= 1) {
            uint32_t row0 = t / across * TILE_ROWS, col0 = t % across * TILE_COLS, *tile = shared[turn];

#pragma unroll
            for (uint32_t i = 0; i < TILE_ROWS * TILE_COLS / 16 / THREADS; i++) {
                uint32_t k = threadIdx.x + i * THREADS, r = k / 4, b = k % 4;
                const uint4 *from = x + ((size_t)(row0 + r) * col.lines + col0 + 16 * b) / 8;
                uint4 low = __ldg(from), high = __ldg(from + 1);

                *(uint4 *)(tile + tile_word(r, 8 * b)) = low;
                *(uint4 *)(tile + tile_word(r, 8 * b + 4)) = high;
                if (ROWS) {
                    const uint32_t w[8] = { low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w };

                    encode_row_block<ISA, SR>(row, gr, row0 + r, col0 / 16 + b, w);
                }
            }
            /* Two buffers: whoever writes the next tile has passed this barrier after everybody read the one before. */
            __syncthreads();
            /* eight 16-row groups in neighbouring lanes: 64 bytes of codes in a row of the output */
            encode_column_pair<ISA, SR>(col, gc, tile, row0, col0, threadIdx.x % 8, threadIdx.x / 8);
        }
    }
}

/* ---- launcher ------------------------------------------------------------------------------------------------------------------------------------- */

template <typename ISA, bool SR> static void launch_rows(const struct direction_args &d, const void *x, cudaStream_t stream)
{
    unsigned threads = d.blocks >= THREADS ? THREADS : (unsigned)(d.blocks + 31) / 32 * 32;
    unsigned gx = ((unsigned)d.blocks + threads - 1) / threads, gy = (unsigned)(d.lines < 132 * 16 / gx + 1 ? d.lines : 132 * 16 / gx + 1);

    quantize_rows_kernel<ISA, SR><<<dim3(gx, gy), threads, 0, stream>>>(d, (const uint4 *)x);
}

template <typename ISA, bool SR, bool ROWS>
static void launch_tiles(const struct direction_args &row, const struct direction_args &col, const void *x, cudaStream_t stream)
{
    unsigned tiles = (unsigned)(col.packed / TILE_ROWS * (col.lines / TILE_COLS));

    quantize_tile_kernel<ISA, SR, ROWS>
        <<<resident_blocks(quantize_tile_kernel<ISA, SR, ROWS>, THREADS, tiles), THREADS, 0, stream>>>(row, col, (const uint4 *)x, tiles);
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

    if (p->recipe != FP4_RECIPE_TE || p->input != FP4_BF16 || p->block_16x16 || p->row_scaled || (uintptr_t)x % 16 || p->cols % 16 ||
        (row && !only_outputs(row->out)) || (col && !only_outputs(col->out)) || p->rows >= 1u << 24 || p->cols >= 1u << 24)
        return -1;
    if (col && (p->rows % TILE_ROWS || p->cols % TILE_COLS))
        return -1;
    if (p->stochastic && (any->stream != FP4_STREAM_TUNED || (isa != FP4K_SM100 && p->rs.rule != FP4_RS_TRUNC)))
        return -1;
    FP4_BY_ISA(isa, launch<ISA>(row, col, x, p->stochastic, stream));
    return (int)cudaGetLastError();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* four-over-six: equals fp4_four_over_six. */
#include "four_block.cuh"
#include "quantize_block.cuh"

/* ---- any recipe, type, block shape, direction, with or without stages: a thread a line of a block ------------------------------------- */

template <typename T> __device__ __forceinline__ float line_max(const struct four_chain &ch, const struct four_line &l)
{
    float acc = 0.0f;
    int nans = 0;

    for (int i = 0; i < 16; i++) {
        float x = load_element<T>(l.x, l.from + i * l.stride);

        nans += fp4a_is_nan(x);
        acc = chain_max(&ch.chain, acc, x);
    }
    return ch.all_nan_keeps && nans == 16 ? fp4a_float(FP4_QNAN) : acc;
}

/* Stages of candidate k of block number at. */
__device__ __forceinline__ void store_candidate(const struct fp4_four_stages &to, int k, const struct four_candidate &c, size_t at)
{
    if (to.scales[k])
        to.scales[k][at] = (uint8_t)c.byte;
    if (to.codes[k])
        ((uint2 *)to.codes[k])[at] = c.codes;
    if (to.errors[k])
        to.errors[k][at] = fp4a_canonical(c.error);
}

/* What is stored of a block. */
template <typename T>
__device__ __forceinline__ void store_block(const struct four_args &d, const struct chain_globals &g,
                                            const struct four_candidate &c, const struct four_line &l, bool zeros, size_t at)
{
    float e = chain_element_scale(&d.ch.chain, &g, c.byte);
    float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(c.byte), g.amax), d.factor);

    d.out.scales[at] = (uint8_t)c.byte;
    ((uint2 *)d.out.codes)[at] = c.codes;
    if (d.out.scaled)
        for (int i = 0; i < 16; i++)
            d.out.scaled[16 * at + i] = zeros ? 0.0f : chain_scaled(&d.ch.chain, load_element<T>(l.x, l.from + i * l.stride), e);
    if (d.out.dequantized)
        for (int i = 0; i < 16; i++)
            d.out.dequantized[16 * at + i] =
                fp4a_canonical(fp4a_mul(fp4a_from_e2m1((i < 8 ? c.codes.x : c.codes.y) >> 4 * (i % 8) & 15u), scale));
}

/* Thread i: line i / blocks, block i % blocks; with tiles, lane i % 16 has that line of tile i / 16. Threads behind the last one do again
 * what another one does and store nothing: the lanes of a warp stay together. */
template <typename ISA, typename T, bool TILE> __global__ void __launch_bounds__(128, 6) four_any_kernel(struct four_args d)
{
    if constexpr (ISA::available) {
        size_t count = d.lines * d.blocks;

        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (count + 31) / 32 * 32;
             i += (size_t)gridDim.x * blockDim.x) {
            size_t k = i < count ? i : TILE ? i - 16 : count - 1, block = TILE ? k / 16 : k;
            size_t line = TILE ? block / d.blocks * 16 + k % 16 : block / d.blocks, b = block % d.blocks;
            size_t at = line * d.blocks + b;
            struct four_line l = { d.x, line * d.line_stride + 16 * b * d.packed_stride, d.packed_stride };
            struct chain_globals g = four_globals(&d.ch, d.out.amax[d.row_scaled ? line : 0]);
            float amax = TILE ? tile_max(line_max<T>(d.ch, l)) : line_max<T>(d.ch, l);
            bool zeros = (d.ch.zero_block && amax == 0.0f) || (d.ch.zero_amax && g.amax == 0.0f);
            uint32_t bytes = four_scale_bytes(fp4a_mul(fp4a_div(amax, 6.0f), g.enc));
            struct four_candidate six = candidate_of<ISA, T>(d.ch, g, l, bytes & 255u, zeros);
            struct four_candidate four = candidate_of<ISA, T>(d.ch, g, l, bytes >> 8, zeros), best;
            int pick;

            if (TILE) {
                six.error = tile_sum(six.error);
                four.error = tile_sum(four.error);
            }
            pick = four_pick(six.error, four.error);
            best = six;
            if (pick == FP4_MAP_TO_4)
                best = four;
            if (i >= count)
                continue;
            store_candidate(d.stages, FP4_MAP_TO_6, six, at);
            store_candidate(d.stages, FP4_MAP_TO_4, four, at);
            if (d.stages.pick)
                d.stages.pick[at] = (uint8_t)pick;
            if (d.out.block_amax)
                d.out.block_amax[at] = fp4a_canonical(amax);
            if (d.out.global_scale && b == 0 && (d.row_scaled || line == 0))
                d.out.global_scale[line] = fp4a_canonical(g.enc);
            store_block<T>(d, g, best, l, zeros, at);
        }
    }
}

/* ---- launchers ---------------------------------------------------------------------------------------------------------------------------- */

static struct four_args four_direction(const struct fp4_four_params *p, const struct four_chain *ch, const void *x,
                                       const struct fp4_quantized *out, const struct fp4_four_stages *stages, bool transposed)
{
    struct four_args d;

    memset(&d, 0, sizeof d);
    d.ch = *ch;
    d.out = *out;
    if (stages)
        d.stages = *stages;
    d.x = x;
    d.lines = transposed ? p->cols : p->rows;
    d.packed = transposed ? p->rows : p->cols;
    d.blocks = d.packed / 16;
    d.line_stride = transposed ? 1 : p->cols;
    d.packed_stride = transposed ? p->cols : 1;
    d.row_scaled = p->row_scaled;
    d.factor = fp4a_float(p->bound == 448 ? FP4_INV_2688 : FP4_INV_1536);
    return d;
}

template <typename ISA, typename T> static void launch_any(const struct four_args &d, bool tile, cudaStream_t stream)
{
    unsigned grid = grid_for(d.lines * d.blocks, 128);

    if (tile)
        four_any_kernel<ISA, T, true><<<grid, 128, 0, stream>>>(d);
    else
        four_any_kernel<ISA, T, false><<<grid, 128, 0, stream>>>(d);
}

static int launch_direction(enum fp4k_isa isa, const struct fp4_four_params *p, const struct four_args *d, const float *given,
                            bool transposed, cudaStream_t stream)
{
    enum fp4k_amax_kind kind = !p->row_scaled ? FP4K_AMAX_TENSOR : transposed ? FP4K_AMAX_COLS : FP4K_AMAX_ROWS;
    int error = given ? given_amax(d->out.amax, given, p->row_scaled ? d->lines : 1, stream)
                      : fp4k_amax(kind, d->x, p->input, p->rows, p->cols, d->ch.chain.keep_nan, d->out.amax, stream);

    if (error)
        return error;
    error = four_fast(isa, p, d, stream);
    if (error != -1)
        return error;
    FP4_BY_ISA(isa, FP4_BY_DTYPE(p->input, (launch_any<ISA, T>(*d, p->block_16x16, stream))));
    return (int)cudaGetLastError();
}

extern "C" int fp4k_four_over_six(enum fp4k_isa isa, const struct fp4_four_params *p, const void *d_x,
                                  const struct fp4_quantized *row, const struct fp4_quantized *col,
                                  const struct fp4_four_stages *row_stages, const struct fp4_four_stages *col_stages, void *stream)
{
    bool te = p->recipe == FP4_RECIPE_TE || p->recipe == FP4_RECIPE_TE_FAST;
    struct four_chain ch = four_chain_of(p);
    struct four_args d;
    int error = 0;

    if (row) {
        d = four_direction(p, &ch, d_x, row, row_stages, false);
        error = launch_direction(isa, p, &d, row->given_amax, false, (cudaStream_t)stream);
    }
    if (col && error == 0) {
        d = four_direction(p, &ch, d_x, col, col_stages, true);
        error = launch_direction(isa, p, &d, te && !col->given_amax && row ? row->given_amax : col->given_amax, true,
                                 (cudaStream_t)stream);
    }
    return error;
}

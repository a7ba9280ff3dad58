/* SPDX-License-Identifier: Apache-2.0 */
/* quantize: equals fp4_quantize. */
#include "quantize_fast.cuh"

/* ---- kernels ---------------------------------------------------------------------------------------------------------------------------- */

/* Any recipe, type, block shape, direction, with or without stages: one thread a block of 16. */
template <typename ISA, typename T, bool SR>
__global__ void quantize_any_kernel(struct direction_args d, const void *x, size_t line_stride, size_t packed_stride, bool tile)
{
    if constexpr (ISA::available) {
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < d.lines * d.blocks;
             i += (size_t)gridDim.x * blockDim.x) {
            size_t line = i / d.blocks, b = i % d.blocks, first = 16 * b, n = d.packed - first < 16 ? d.packed - first : 16;
            size_t l0 = tile ? line / 16 * 16 : line, l1 = tile ? (l0 + 16 < d.lines ? l0 + 16 : d.lines) : line + 1;
            float v[16], acc = 0.0f;

            for (size_t l = l0; l < l1; l++)
                for (size_t k = 0; k < n; k++)
                    acc = chain_max(&d.chain, acc, load_element<T>(x, l * line_stride + (first + k) * packed_stride));
#pragma unroll
            for (int k = 0; k < 16; k++)
                v[k] = (size_t)k < n ? load_element<T>(x, line * line_stride + (first + k) * packed_stride) : 0.0f;
            encode_block<ISA, SR>(d, line, b, v, acc);
        }
    }
}

/* ---- launchers ---------------------------------------------------------------------------------------------------------------------------- */

template <typename ISA, typename T>
static void launch_any(const struct direction_args &d, const void *x, size_t line_stride, size_t packed_stride, bool tile, bool sr,
                       cudaStream_t stream)
{
    unsigned threads = 128, grid = grid_for(d.lines * d.blocks, threads);

    if (sr)
        quantize_any_kernel<ISA, T, true><<<grid, threads, 0, stream>>>(d, x, line_stride, packed_stride, tile);
    else
        quantize_any_kernel<ISA, T, false><<<grid, threads, 0, stream>>>(d, x, line_stride, packed_stride, tile);
}

/* amax of a direction: copied from what was given, or computed. */
static int direction_amax(const struct fp4_quantize_params *p, const struct direction_args *d, const void *x, cudaStream_t stream)
{
    size_t n = p->row_scaled ? d->lines : 1;

    if (d->out.given_amax)
        return given_amax(d->out.amax, d->out.given_amax, n, stream);
    return fp4k_amax(!p->row_scaled  ? FP4K_AMAX_TENSOR
                     : d->transposed ? FP4K_AMAX_COLS
                                     : FP4K_AMAX_ROWS,
                     x, p->input, p->rows, p->cols, d->chain.keep_nan, d->out.amax, stream);
}

static int launch_direction(enum fp4k_isa isa, const struct fp4_quantize_params *p, const struct direction_args &d, const void *x,
                            cudaStream_t stream)
{
    size_t line_stride = d.transposed ? 1 : p->cols, packed_stride = d.transposed ? p->cols : 1;

    FP4_BY_ISA(
        isa, FP4_BY_DTYPE(p->input, (launch_any<ISA, T>(d, x, line_stride, packed_stride, p->block_16x16, p->stochastic, stream))));
    return (int)cudaGetLastError();
}

extern "C" int fp4k_quantize(enum fp4k_isa isa, const struct fp4_quantize_params *p, const void *d_x,
                             const struct fp4_quantized *row, const struct fp4_quantized *col, void *stream)
{
    struct fp4_chain chain = chain_quantize(p->recipe, p->stochastic && p->rs.rule == FP4_RS_FMA_FLOOR);
    enum fp4_stream kernel = fp4_stream_te_dispatch(p->input, p->rows, p->cols, p->block_16x16, row != NULL, col != NULL);
    enum fp4_stream words = p->stream == FP4_STREAM_AUTO ? kernel : p->stream;
    bool vector = p->recipe == FP4_RECIPE_TE && (p->stream == FP4_STREAM_RBITS ? kernel : words) == FP4_STREAM_VECTOR;
    struct direction_args d[2];
    bool wanted[2] = { row != NULL, col != NULL };
    int error = 0;

    for (int k = 0; k < 2 && error == 0; k++) {
        if (!wanted[k])
            continue;
        d[k] = direction_make(&chain, k ? col : row, p->rows, p->cols, k == 1);
        d[k].row_scaled = p->row_scaled;
        d[k].rs = p->rs;
        d[k].stream = words;
        d[k].shape.rows = p->rows;
        d[k].shape.cols = p->cols;
        d[k].shape.rowwise = wanted[0];
        d[k].shape.colwise = wanted[1];
        d[k].seed = p->seed;
        d[k].offset = p->offset;
        d[k].rounds = p->philox_rounds ? p->philox_rounds : 10;
        if (k && row && row->given_amax && vector && !p->row_scaled)
            d[k].out.given_amax = row->given_amax;
        error = direction_amax(p, &d[k], d_x, (cudaStream_t)stream);
    }
    if (error)
        return error;
    error = quantize_fast(isa, p, d_x, wanted[0] ? &d[0] : NULL, wanted[1] ? &d[1] : NULL, (cudaStream_t)stream);
    if (error != -1)
        return error;
    error = 0;
    for (int k = 0; k < 2 && error == 0; k++)
        if (wanted[k])
            error = launch_direction(isa, p, d[k], d_x, (cudaStream_t)stream);
    return error;
}

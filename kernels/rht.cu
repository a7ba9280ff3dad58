/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rht-quantize: equals fp4_rht_quantize. The sums are made by warp MMA: a 16x16 tile of the input, transposed on its way into registers
 * (features by tokens), times M (tokens by outputs). M's columns are dealt to the two m16n8k16 instructions so that each lane ends up with four
 * consecutive outputs of two features: one word of random bits, one 16-bit piece of codes.
 */
#include "rht_tile.cuh"

#define WARPS 4
#define TILE 16
#define PITCH 24 /* bf16 elements a row in shared memory: rows 16-byte aligned, eight of them in different banks */

/* Sums in k order, for the seq model: outputs n..n+3 of a feature of the tile. */
__device__ __forceinline__ void rht_sequential(const uint16_t *tile, uint32_t feature, uint32_t n, uint32_t mask, bool inverse,
                                               float v[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        float acc = 0.0f;

        for (uint32_t k = 0; k < 16; k++)
            acc = fp4a_add(acc, fp4a_mul(__uint_as_float((uint32_t)tile[k * PITCH + feature] << 16),
                                         rht_negative(k, n + i, mask, inverse) ? -0.25f : 0.25f));
        v[i] = fp4a_canonical(acc);
    }
}

/* One tile of 16 tokens by 16 features from global to shared memory; what lies beyond the matrix is zero. */
__device__ __forceinline__ void rht_load(uint16_t *tile, const struct rht_args &a, size_t g, size_t c0, uint32_t lane)
{
    for (uint32_t i = lane; i < TILE * TILE; i += 32) {
        size_t c = c0 + i % TILE;

        tile[i / TILE * PITCH + i % TILE] = c < a.cols ? a.x[(16 * g + i / TILE) * a.cols + c] : 0;
    }
    __syncwarp();
}

/* Outputs 4q..4q+3 of features f and f + 8, q = lane % 4, f = lane / 4; rounded to bf16 when asked. */
__device__ __forceinline__ void rht_sums(const struct rht_args &a, const uint16_t *tile, uint32_t lane, const uint32_t b[2][2],
                                         float v[2][4])
{
    if (a.sum == FP4_SUM_TC) {
        uint32_t x[4];
        float d0[4], d1[4];

        isa_ldmatrix_x4_trans(x, tile + (lane % 8 + (lane >= 16 ? 8 : 0)) * PITCH + (lane / 8 % 2) * 8);
        isa_mma_bf16(d0, x, b[0]);
        isa_mma_bf16(d1, x, b[1]);
        for (int f = 0; f < 2; f++) {
            v[f][0] = d0[2 * f];
            v[f][1] = d0[2 * f + 1];
            v[f][2] = d1[2 * f];
            v[f][3] = d1[2 * f + 1];
        }
    } else {
        for (uint32_t f = 0; f < 2; f++)
            rht_sequential(tile, lane / 4 + 8 * f, lane % 4 * 4, a.mask, a.inverse, v[f]);
    }
    if (a.trip)
        for (int f = 0; f < 2; f++)
            for (int i = 0; i < 4; i++)
                v[f][i] = fp4a_round_bf16(v[f][i]);
}

/* A block maximum over the four lanes of a feature. */
__device__ __forceinline__ float quad_max(const struct fp4_chain &ch, const float v[4])
{
    float acc = 0.0f;

    for (int i = 0; i < 4; i++)
        acc = chain_max(&ch, acc, v[i]);
    acc = chain_max(&ch, acc, __shfl_xor_sync(0xFFFFFFFFu, acc, 1));
    return chain_max(&ch, acc, __shfl_xor_sync(0xFFFFFFFFu, acc, 2));
}

/* amax after the transform: bf16 values, NaN dropped or kept, one integer maximum. */
__global__ void rht_amax_kernel(struct rht_args a, bool keep_nan, unsigned *out)
{
    __shared__ __align__(16) uint16_t tiles[WARPS][TILE * PITCH];
    uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, b[2][2], acc = 0;
    size_t groups = a.rows / 16, across = (a.cols + TILE - 1) / TILE;

    rht_fragment(b[0], lane, 0, a.mask, a.inverse);
    rht_fragment(b[1], lane, 2, a.mask, a.inverse);
    for (size_t t = blockIdx.x * (size_t)WARPS + warp; t < groups * across; t += (size_t)gridDim.x * WARPS) {
        float v[2][4];

        rht_load(tiles[warp], a, t / across, t % across * TILE, lane);
        rht_sums(a, tiles[warp], lane, b, v);
        for (int i = 0; i < 8; i++) {
            uint32_t bits = __float_as_uint(fp4a_round_bf16(v[i / 4][i % 4])) & 0x7FFFFFFFu;

            if (bits <= 0x7F800000u || keep_nan)
                acc = max(acc, bits > 0x7F800000u ? FP4_QNAN : bits);
        }
        __syncwarp();
    }
    acc = __reduce_max_sync(0xFFFFFFFFu, acc);
    if (lane == 0)
        atomicMax(out, acc);
}

template <typename ISA, bool SR>
__device__ __forceinline__ void rht_encode(const struct rht_args &a, size_t g, size_t c, uint32_t q, const float v[4],
                                           float block_amax)
{
    const struct direction_args &d = a.d;
    struct chain_globals gl = chain_globals_of(&d.chain, d.out.amax[0], 2688.0f);
    float product = fp4a_mul(block_amax, gl.mult);
    uint32_t byte = isa_cvt_rn_e4m3(d.chain.keep_nan ? product : fp4a_min_drop(product, fp4a_float(FP4_FLT_MAX)));
    float e = chain_element_scale(&d.chain, &gl, byte), y[4];
    float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(byte), gl.amax), fp4a_float(FP4_INV_2688));
    size_t first = c * a.rows + 16 * g + 4 * q;
    uint32_t word = 0, codes;

    for (int i = 0; i < 4; i++)
        y[i] = chain_scaled(&d.chain, v[i], e);
    if (SR) {
        size_t at = 16 * g + 4 * q, w = c * d.words + at / 4;

        if (d.stream == FP4_STREAM_RBITS) {
            word = d.out.given_rbits[w];
        } else {
            struct fp4_stream_place p =
                d.transposed ? stream_locate(d.stream, &d.shape, true, at, c) : stream_locate(d.stream, &d.shape, false, c, at);
            uint32_t draw[4];

            draw_words(d, p.subsequence, p.call, draw);
            word = p.word == 0 ? draw[0] : p.word == 1 ? draw[1] : p.word == 2 ? draw[2] : draw[3];
        }
        if (d.out.rbits)
            d.out.rbits[w] = word;
    }
    codes = SR ? ISA::cvt_rs_e2m1x4((int)d.rs.rule, (int)d.rs.map, y[0], y[1], y[2], y[3], word)
               : ISA::cvt_rn_e2m1x4(y[0], y[1], y[2], y[3]);
    codes = patch_codes(d.chain, codes, y);
    *(uint16_t *)(d.out.codes + first / 2) = (uint16_t)codes;
    if (q == 0) {
        d.out.scales[c * d.blocks + g] = (uint8_t)byte;
        if (d.out.block_amax)
            d.out.block_amax[c * d.blocks + g] = fp4a_canonical(block_amax);
        if (d.out.global_scale && c == 0 && g == 0)
            d.out.global_scale[0] = fp4a_canonical(gl.enc);
    }
    for (int i = 0; i < 4; i++) {
        if (a.transformed)
            a.transformed[first + i] = fp4a_canonical(v[i]);
        if (d.out.scaled)
            d.out.scaled[first + i] = y[i];
        if (d.out.dequantized)
            d.out.dequantized[first + i] = fp4a_canonical(fp4a_mul(fp4a_from_e2m1(codes >> 4 * i & 15u), scale));
    }
}

template <typename ISA, bool SR> __global__ void rht_any_kernel(struct rht_args a)
{
    if constexpr (ISA::available) {
        __shared__ __align__(16) uint16_t tiles[WARPS][TILE * PITCH];
        uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, b[2][2];
        size_t groups = a.rows / 16, across = (a.cols + TILE - 1) / TILE;

        rht_fragment(b[0], lane, 0, a.mask, a.inverse);
        rht_fragment(b[1], lane, 2, a.mask, a.inverse);
        for (size_t t = blockIdx.x * (size_t)WARPS + warp; t < groups * across; t += (size_t)gridDim.x * WARPS) {
            size_t g = t / across, c0 = t % across * TILE;
            float v[2][4];

            rht_load(tiles[warp], a, g, c0, lane);
            rht_sums(a, tiles[warp], lane, b, v);
            for (int f = 0; f < 2; f++) {
                size_t c = c0 + lane / 4 + 8 * f;
                float amax = quad_max(a.d.chain, v[f]);

                if (c < a.cols)
                    rht_encode<ISA, SR>(a, g, c, lane % 4, v[f], amax);
            }
            __syncwarp();
        }
    }
}

/* The plain rowwise output of the row_cast_col family: the same chain without the transform. */
template <typename ISA, bool SR> __global__ void rht_plain_kernel(struct direction_args d, const uint16_t *x)
{
    if constexpr (ISA::available) {
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < d.lines * d.blocks;
             i += (size_t)gridDim.x * blockDim.x) {
            size_t line = i / d.blocks, b = i % d.blocks;
            float v[16], acc = 0.0f;

#pragma unroll
            for (int k = 0; k < 16; k++) {
                v[k] = 16 * b + k < d.packed ? load_element<bf16_tag>(x, line * d.packed + 16 * b + k) : 0.0f;
                acc = chain_max(&d.chain, acc, fp4a_canonical(v[k]));
            }
            encode_block<ISA, SR>(d, line, b, v, acc);
        }
    }
}

/* ---- launchers -------------------------------------------------------------------------------------------------------------------------------- */

static struct direction_args rht_direction(const struct fp4_rht_params *p, const struct fp4_chain *chain,
                                           const struct fp4_quantized *out, bool transposed, bool both)
{
    struct direction_args d = direction_make(chain, out, p->rows, p->cols, transposed);

    d.rs = p->rs;
    d.stream = rht_stream_for(p, transposed);
    d.shape.rows = p->rows;
    d.shape.cols = p->cols;
    d.shape.rowwise = both;
    d.shape.colwise = true;
    d.shape.k_tile = p->k_tile;
    if (stream_is_quantizer(d.stream)) { /* unfused: the quantizer sees a rowwise matrix of its own */
        d.shape.rows = d.lines;
        d.shape.cols = d.packed;
        d.shape.rowwise = true;
        d.shape.colwise = false;
        d.transposed = false;
    }
    d.seed = p->seed;
    d.offset = p->offset;
    d.rounds = p->philox_rounds ? p->philox_rounds : 10;
    return d;
}

static int given_or(const struct direction_args &d, cudaStream_t stream, bool *given)
{
    *given = d.out.given_amax != NULL;
    if (*given)
        return given_amax(d.out.amax, d.out.given_amax, 1, stream);
    return (int)cudaMemsetAsync(d.out.amax, 0, sizeof(float), stream);
}

template <typename ISA> static void launch_plain(const struct direction_args &d, const uint16_t *x, bool sr, cudaStream_t stream)
{
    if (sr)
        rht_plain_kernel<ISA, true><<<grid_for(d.lines * d.blocks, 128), 128, 0, stream>>>(d, x);
    else
        rht_plain_kernel<ISA, false><<<grid_for(d.lines * d.blocks, 128), 128, 0, stream>>>(d, x);
}

template <typename ISA> static void launch_any(const struct rht_args &a, bool sr, unsigned grid, cudaStream_t stream)
{
    if (sr)
        rht_any_kernel<ISA, true><<<grid, 32 * WARPS, 0, stream>>>(a);
    else
        rht_any_kernel<ISA, false><<<grid, 32 * WARPS, 0, stream>>>(a);
}

static int launch_row(enum fp4k_isa isa, const struct fp4_rht_params *p, const struct direction_args &d, const uint16_t *x,
                      cudaStream_t stream)
{
    bool given;
    int error = given_or(d, stream, &given);

    if (error == 0 && !given)
        error = fp4k_amax(FP4K_AMAX_TENSOR, x, FP4_BF16, p->rows, p->cols, d.chain.nan_code_zero, d.out.amax, stream);
    if (error)
        return error;
    FP4_BY_ISA(isa, launch_plain<ISA>(d, x, p->stochastic, stream));
    return (int)cudaGetLastError();
}

extern "C" int fp4k_rht_quantize(enum fp4k_isa isa, const struct fp4_rht_params *p, const uint16_t *d_x,
                                 const struct fp4_quantized *row, const struct fp4_quantized *col,
                                 const struct fp4_rht_stages *stages, void *stream)
{
    struct fp4_chain chain = chain_rht(p);
    cudaStream_t s = (cudaStream_t)stream;
    size_t tiles = p->rows / 16 * ((p->cols + TILE - 1) / TILE);
    unsigned grid = grid_for(tiles, WARPS);
    struct rht_args a;
    bool given;
    int error;

    chain.rcp_table = NULL;
    memset(&a, 0, sizeof a);
    a.d = rht_direction(p, &chain, col, true, row != NULL);
    a.x = d_x;
    a.rows = p->rows;
    a.cols = p->cols;
    a.mask = p->sign_mask;
    a.inverse = p->inverse;
    a.trip = p->bf16_round_trip;
    a.sum = p->sum;
    a.transformed = stages ? stages->transformed : NULL;
    error = row ? launch_row(isa, p, rht_direction(p, &chain, row, false, true), d_x, s) : 0;
    if (error == 0)
        error = given_or(a.d, s, &given);
    if (error)
        return error;
    if (!given)
        rht_amax_kernel<<<min(grid, 4096u), 32 * WARPS, 0, s>>>(a, chain.nan_code_zero, (unsigned *)a.d.out.amax);
    error = rht_fast(isa, p, &a, s);
    if (error != -1)
        return error;
    FP4_BY_ISA(isa, launch_any<ISA>(a, p->stochastic, grid, s));
    return (int)cudaGetLastError();
}

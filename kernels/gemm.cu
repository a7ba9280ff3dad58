/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm: equals fp4_gemm and fp4_bf16_matmul. Written for the pinned order of sums, not for a tensor core: a block of 256 threads makes a
 * tile of 64 x 64 outputs, a thread 4 x 4 of them, and walks along k in chunks that it holds in shared memory.
 */
#include "gemm_arith.h"
#include "launch.cuh"

#define TILE 64
#define THREADS 256
#define SIDE 16 /* threads along a side of the tile; a thread's outputs are SIDE apart */
#define EACH (TILE / SIDE)

/* ---- FP4: sums of 16 products as integers ------------------------------------------------------------------------------------------------ */

#define CHUNK 4          /* blocks of 16 along k */
#define LINE_WORDS 20    /* 16 words of codes, four a block; 20 apart, eight lines start in different banks */
#define MAGIC 0x4B400000 /* 1.5 * 2^23: an integer added to these bits is added to the number */

struct gemm_args {
    struct fp4_gemm_params p;
    struct fp4_operand a, b; /* device pointers */
    const void *bias;
    void *y;
    float *acc;
};

struct gemm_side {                /* a chunk of an operand's 64 lines */
    int codes[TILE * LINE_WORDS]; /* 2 q, four a word */
    float scales[TILE][CHUNK];
};

/* 2 q of four codes, as four signed bytes. */
__device__ __forceinline__ int twice4(uint32_t codes)
{
    uint32_t out = 0;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t c = codes >> 4 * i & 15u, v = 0xC8643210u >> 4 * (c & 7u) & 15u;

        out |= ((c & 8u ? 0u - v : v) & 255u) << 8 * i;
    }
    return (int)out;
}

/* Lines from `first` on, blocks from `block` on; what lies outside is zero. */
__device__ __forceinline__ void gemm_load(struct gemm_side *side, const struct fp4_operand &o, size_t lines, size_t first,
                                          size_t blocks, size_t block)
{
    size_t l = threadIdx.x / CHUNK, b = threadIdx.x % CHUNK, at = (first + l) * blocks + block + b;
    bool inside = first + l < lines && block + b < blocks;
    const uint16_t *from = (const uint16_t *)o.codes + 4 * at;

#pragma unroll
    for (int i = 0; i < 4; i++)
        side->codes[l * LINE_WORDS + 4 * b + i] = inside ? twice4(from[i]) : 0;
    side->scales[l][b] = inside ? fp4a_from_e4m3(o.scales[at]) : 0.0f;
}

/* Four times a block's sum of products: below 2^12, so the number behind the magic bits holds it. */
__device__ __forceinline__ int gemm_block(const int4 &a, const int4 &b, int start)
{
    return __dp4a(a.w, b.w, __dp4a(a.z, b.z, __dp4a(a.y, b.y, __dp4a(a.x, b.x, start))));
}

/* The sum over blocks, one type for each model: in binary32 one rounding a block, in integers exact. */
struct sum_seq {
    float acc = 0.0f;

    __device__ __forceinline__ void add(const int4 &a, const int4 &b, float fa, float fb)
    {
        float four = fp4a_add(__int_as_float(gemm_block(a, b, MAGIC)), -12582912.0f);

        acc = fp4a_add(acc, fp4a_mul(fp4a_mul(fa, fb), fp4a_mul(four, 0.25f)));
    }
    __device__ __forceinline__ float value() const
    {
        return acc;
    }
};

struct sum_exact {
    long long acc = 0;
    bool nan = false;

    __device__ __forceinline__ void add(const int4 &a, const int4 &b, float fa, float fb)
    {
        nan = nan || fp4a_is_nan(fa) || fp4a_is_nan(fb);
        if (!nan)
            acc += (long long)(int)fp4a_mul(fa, 512.0f) * (int)fp4a_mul(fb, 512.0f) * gemm_block(a, b, 0);
    }
    __device__ __forceinline__ float value() const
    {
        return nan ? fp4a_float(FP4_QNAN) : fp4a_mul((float)acc, 0x1p-20f);
    }
};

__device__ __forceinline__ void gemm_finish(const struct gemm_args &g, size_t i, size_t j, float sum)
{
    size_t at = i * g.p.n + j;
    float v = gemm_scaled(&g.p, &g.a, &g.b, i, j, sum);

    if (g.acc)
        g.acc[at] = fp4a_canonical(sum);
    if (g.p.output == FP4_BF16) {
        v = fp4a_round_bf16(v);
        if (g.bias)
            v = fp4a_add(v, load_element<bf16_tag>(g.bias, j));
        ((uint16_t *)g.y)[at] = (uint16_t)fp4a_to_bf16(v);
    } else {
        if (g.bias)
            v = fp4a_add(v, load_element<f32_tag>(g.bias, j));
        ((float *)g.y)[at] = fp4a_canonical(v);
    }
}

template <typename SUM> __global__ void __launch_bounds__(THREADS) gemm_kernel(struct gemm_args g)
{
    __shared__ __align__(16) struct gemm_side a, b;
    size_t row0 = blockIdx.y * (size_t)TILE, col0 = blockIdx.x * (size_t)TILE, blocks = g.p.k / 16;
    int r = (int)threadIdx.x / SIDE, c = (int)threadIdx.x % SIDE;
    SUM sum[EACH][EACH];

    for (size_t block = 0; block < blocks; block += CHUNK) {
        gemm_load(&a, g.a, g.p.m, row0, blocks, block);
        gemm_load(&b, g.b, g.p.n, col0, blocks, block);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < CHUNK; k++) {
            int4 qb[EACH];
            float fb[EACH];

            if (block + k >= blocks) /* a NaN of what lies outside must not be made, nor +0 be added to -0 */
                break;
#pragma unroll
            for (int j = 0; j < EACH; j++) {
                qb[j] = *(const int4 *)(b.codes + (c + SIDE * j) * LINE_WORDS + 4 * k);
                fb[j] = b.scales[c + SIDE * j][k];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                int4 qa = *(const int4 *)(a.codes + (r + SIDE * i) * LINE_WORDS + 4 * k);
                float fa = a.scales[r + SIDE * i][k];

#pragma unroll
                for (int j = 0; j < EACH; j++)
                    sum[i][j].add(qa, qb[j], fa, fb[j]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            size_t row = row0 + r + SIDE * i, col = col0 + c + SIDE * j;

            if (row < g.p.m && col < g.p.n)
                gemm_finish(g, row, col, sum[i][j].value());
        }
}

extern "C" int fp4k_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b,
                         const void *d_bias, void *d_y, float *d_acc, void *stream)
{
    struct gemm_args g = { *p, *a, *b, d_bias, d_y, d_acc };
    dim3 grid(grid_for(p->n, TILE), grid_for(p->m, TILE));

    if (p->m == 0 || p->n == 0)
        return 0;
    if (p->sum == FP4_GEMM_EXACT)
        gemm_kernel<struct sum_exact><<<grid, THREADS, 0, (cudaStream_t)stream>>>(g);
    else
        gemm_kernel<struct sum_seq><<<grid, THREADS, 0, (cudaStream_t)stream>>>(g);
    return (int)cudaGetLastError();
}

/* ---- bf16: one product and one addition an element of k, each rounded -------------------------------------------------------------------- */

#define DEPTH 16 /* elements of k in shared memory */

struct matrix { /* element (line, k) at x[line * line_stride + k * k_stride] */
    const uint16_t *x;
    size_t lines, line_stride, k_stride;
};

/* Neighbouring threads read neighbouring elements, whichever way the matrix lies. */
__device__ __forceinline__ void bf16_load(float (*to)[TILE + 1], const struct matrix &m, size_t first, size_t k0, size_t k)
{
#pragma unroll
    for (unsigned i = 0; i < TILE * DEPTH / THREADS; i++) {
        unsigned t = threadIdx.x + THREADS * i, l = m.k_stride == 1 ? t / DEPTH : t % TILE,
                 d = m.k_stride == 1 ? t % DEPTH : t / TILE;
        bool inside = first + l < m.lines && k0 + d < k;

        to[d][l] = inside ? load_element<bf16_tag>(m.x, (first + l) * m.line_stride + (k0 + d) * m.k_stride) : 0.0f;
    }
}

__global__ void __launch_bounds__(THREADS) bf16_matmul_kernel(struct matrix ma, struct matrix mb, size_t k, uint16_t *out)
{
    __shared__ float a[DEPTH][TILE + 1], b[DEPTH][TILE + 1];
    size_t row0 = blockIdx.y * (size_t)TILE, col0 = blockIdx.x * (size_t)TILE;
    unsigned r = threadIdx.x / SIDE, c = threadIdx.x % SIDE;
    float acc[EACH][EACH] = {};

    for (size_t k0 = 0; k0 < k; k0 += DEPTH) {
        size_t depth = k - k0 < DEPTH ? k - k0 : DEPTH;

        bf16_load(a, ma, row0, k0, k);
        bf16_load(b, mb, col0, k0, k);
        __syncthreads();
        for (size_t d = 0; d < depth; d++) {
#pragma unroll
            for (int i = 0; i < EACH; i++)
#pragma unroll
                for (int j = 0; j < EACH; j++)
                    acc[i][j] = fp4a_add(acc[i][j], fp4a_mul(a[d][r + SIDE * i], b[d][c + SIDE * j]));
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++) {
            size_t row = row0 + r + SIDE * i, col = col0 + c + SIDE * j;

            if (row < ma.lines && col < mb.lines)
                out[row * mb.lines + col] = (uint16_t)fp4a_to_bf16(acc[i][j]);
        }
}

extern "C" int fp4k_bf16_matmul(size_t m, size_t n, size_t k, const uint16_t *d_a, bool a_transposed, const uint16_t *d_b,
                                bool b_transposed, uint16_t *d_out, void *stream)
{
    struct matrix a = { d_a, m, a_transposed ? 1 : k, a_transposed ? m : 1 };
    struct matrix b = { d_b, n, b_transposed ? k : 1, b_transposed ? 1 : n };

    if (m == 0 || n == 0)
        return 0;
    bf16_matmul_kernel<<<dim3(grid_for(n, TILE), grid_for(m, TILE)), THREADS, 0, (cudaStream_t)stream>>>(a, b, k, d_out);
    return (int)cudaGetLastError();
}

/* ---- sums of columns ----------------------------------------------------------------------------------------------------------------------- */

__global__ void bf16_column_sums_kernel(const uint16_t *x, size_t rows, size_t cols, uint16_t *out)
{
    for (size_t c = blockIdx.x * (size_t)blockDim.x + threadIdx.x; c < cols; c += (size_t)gridDim.x * blockDim.x) {
        float acc = 0.0f;

        for (size_t r = 0; r < rows; r++)
            acc = fp4a_add(acc, load_element<bf16_tag>(x, r * cols + c));
        out[c] = (uint16_t)fp4a_to_bf16(acc);
    }
}

extern "C" int fp4k_bf16_column_sums(const uint16_t *d_x, size_t rows, size_t cols, uint16_t *d_out, void *stream)
{
    bf16_column_sums_kernel<<<grid_for(cols, 128), 128, 0, (cudaStream_t)stream>>>(d_x, rows, cols, d_out);
    return (int)cudaGetLastError();
}

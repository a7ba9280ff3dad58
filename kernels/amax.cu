/* SPDX-License-Identifier: Apache-2.0 */
/* amax: equals fp4_amax, fp4_amax_rows, fp4_amax_cols. Bits of non-negative floats order as integers, and 7FFFFFFF is above them all, so
 * one integer maximum serves both NaN policies. */
#include "launch.cuh"

template <typename T> __device__ __forceinline__ uint32_t amax_bits(const void *x, size_t i, bool keep_nan)
{
    uint32_t a = __float_as_uint(load_element<T>(x, i)) & 0x7FFFFFFFu;

    if (a > 0x7F800000u)
        return keep_nan ? FP4_QNAN : 0u;
    return a;
}

__device__ __forceinline__ uint32_t warp_max(uint32_t v)
{
    return __reduce_max_sync(0xFFFFFFFFu, v);
}

template <typename T> __global__ void amax_tensor_kernel(const void *x, size_t n, bool keep_nan, unsigned *out)
{
    uint32_t acc = 0;

    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        acc = max(acc, amax_bits<T>(x, i, keep_nan));
    acc = warp_max(acc);
    if (threadIdx.x % 32 == 0)
        atomicMax(out, acc);
}

/* One warp a row. */
template <typename T> __global__ void amax_rows_kernel(const void *x, size_t rows, size_t cols, bool keep_nan, unsigned *out)
{
    for (size_t r = blockIdx.x * (size_t)(blockDim.x / 32) + threadIdx.x / 32; r < rows;
         r += (size_t)gridDim.x * (blockDim.x / 32)) {
        uint32_t acc = 0;

        for (size_t c = threadIdx.x % 32; c < cols; c += 32)
            acc = max(acc, amax_bits<T>(x, r * cols + c, keep_nan));
        acc = warp_max(acc);
        if (threadIdx.x % 32 == 0)
            out[r] = acc;
    }
}

/* One thread a column of a band of rows. */
template <typename T> __global__ void amax_cols_kernel(const void *x, size_t rows, size_t cols, bool keep_nan, unsigned *out)
{
    for (size_t c = blockIdx.x * (size_t)blockDim.x + threadIdx.x; c < cols; c += (size_t)gridDim.x * blockDim.x) {
        uint32_t acc = 0;

        for (size_t r = blockIdx.y; r < rows; r += gridDim.y)
            acc = max(acc, amax_bits<T>(x, r * cols + c, keep_nan));
        atomicMax(&out[c], acc);
    }
}

template <typename T>
static void launch(enum fp4k_amax_kind kind, const void *x, size_t rows, size_t cols, bool keep_nan, unsigned *out,
                   cudaStream_t stream)
{
    if (kind == FP4K_AMAX_TENSOR)
        amax_tensor_kernel<T><<<min(grid_for(rows * cols, 256), 4096u), 256, 0, stream>>>(x, rows * cols, keep_nan, out);
    else if (kind == FP4K_AMAX_ROWS)
        amax_rows_kernel<T><<<min(grid_for(rows, 8), 65535u), 256, 0, stream>>>(x, rows, cols, keep_nan, out);
    else
        amax_cols_kernel<T><<<dim3(grid_for(cols, 128), (unsigned)(rows < 64 ? (rows ? rows : 1) : 64)), 128, 0, stream>>>(
            x, rows, cols, keep_nan, out);
}

extern "C" int fp4k_amax(enum fp4k_amax_kind kind, const void *d_x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan,
                         float *d_out, void *stream)
{
    size_t n = kind == FP4K_AMAX_TENSOR ? 1 : kind == FP4K_AMAX_ROWS ? rows : cols;
    cudaError_t error = cudaMemsetAsync(d_out, 0, n * sizeof(float), (cudaStream_t)stream);

    if (error != cudaSuccess)
        return (int)error;
    FP4_BY_DTYPE(dtype, launch<T>(kind, d_x, rows, cols, keep_nan, (unsigned *)d_out, (cudaStream_t)stream));
    return (int)cudaGetLastError();
}

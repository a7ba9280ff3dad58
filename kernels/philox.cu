/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32: equals fp4_philox_next; and the toolkit's own generator beside it. */
#include "launch.cuh"

#include <curand_kernel.h>

__global__ void philox_kernel(const uint64_t *seed, const uint64_t *subsequence, const uint64_t *offset, size_t n, size_t words,
                              unsigned rounds, bool curand, uint32_t *out)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n * words; i += (size_t)gridDim.x * blockDim.x) {
        size_t r = i / words, w = i % words + (curand ? offset[r] % 4 : 0);
        uint64_t first = curand ? offset[r] / 4 : offset[r], at = first + w / 4, s = subsequence[r] + (at < first);
        uint32_t counter[4] = { (uint32_t)at, (uint32_t)(at >> 32), (uint32_t)s, (uint32_t)(s >> 32) };
        uint32_t key[2] = { (uint32_t)seed[r], (uint32_t)(seed[r] >> 32) }, block[4];

        fp4a_philox(counter, key, rounds, block);
        out[i] = block[w % 4];
    }
}

__global__ void philox_curand_kernel(const uint64_t *seed, const uint64_t *subsequence, const uint64_t *offset, size_t n,
                                     size_t words, uint32_t *out)
{
    for (size_t r = blockIdx.x * (size_t)blockDim.x + threadIdx.x; r < n; r += (size_t)gridDim.x * blockDim.x) {
        curandStatePhilox4_32_10_t state;

        curand_init(seed[r], subsequence[r], offset[r], &state);
        for (size_t w = 0; w < words; w++)
            out[r * words + w] = curand(&state);
    }
}

extern "C" int fp4k_philox(const uint64_t *d_seed, const uint64_t *d_subsequence, const uint64_t *d_offset, size_t n, size_t words,
                           unsigned rounds, bool curand, uint32_t *d_out, void *stream)
{
    philox_kernel<<<grid_for(n * words, 256), 256, 0, (cudaStream_t)stream>>>(d_seed, d_subsequence, d_offset, n, words, rounds,
                                                                              curand, d_out);
    return (int)cudaGetLastError();
}

extern "C" int fp4k_philox_curand_header(const uint64_t *d_seed, const uint64_t *d_subsequence, const uint64_t *d_offset, size_t n,
                                         size_t words, uint32_t *d_out, void *stream)
{
    philox_curand_kernel<<<grid_for(n, 64), 64, 0, (cudaStream_t)stream>>>(d_seed, d_subsequence, d_offset, n, words, d_out);
    return (int)cudaGetLastError();
}

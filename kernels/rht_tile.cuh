/* SPDX-License-Identifier: Apache-2.0 */
/* rht_tile.cuh: the matrix of the transform as MMA fragments, for rht.cu and rht_fast.cu. */
#ifndef FP4_RHT_TILE_CUH
#define FP4_RHT_TILE_CUH

#include "quantize_block.cuh"

struct rht_args {
    struct direction_args d; /* of the transposed output */
    const uint16_t *x;
    size_t rows, cols;
    uint32_t mask;
    bool inverse, trip;
    enum fp4_rht_sum sum;
    float *transformed;
    uint8_t *exactness; /* not made on the device */
};

/* Whether M[k][n] is negative. */
__device__ __forceinline__ uint32_t rht_negative(uint32_t k, uint32_t n, uint32_t mask, bool inverse)
{
    return (uint32_t)(__popc(k & n) & 1) ^ (mask >> (inverse ? n : k) & 1u);
}

/* Fragment of M for outputs first + 4 * (j / 2) + j % 2, j = 0..7: bf16 +-0.25. */
__device__ __forceinline__ void rht_fragment(uint32_t b[2], uint32_t lane, uint32_t first, uint32_t mask, bool inverse)
{
    uint32_t j = lane / 4, n = first + 4 * (j / 2) + j % 2;

    for (uint32_t half = 0; half < 2; half++) {
        uint32_t k = lane % 4 * 2 + 8 * half;

        b[half] = (0x3E80u | rht_negative(k, n, mask, inverse) << 15) | (0x3E80u | rht_negative(k + 1, n, mask, inverse) << 15)
                                                                            << 16;
    }
}

/* The fast kernel (rht_fast.cu), for what it can do: 0 launched, -1 not one of its cases, else a cudaError_t. amax is in place. */
int rht_fast(enum fp4k_isa isa, const struct fp4_rht_params *p, const struct rht_args *a, cudaStream_t stream);

#endif

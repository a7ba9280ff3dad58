/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_fast.cuh: what quantize.cu asks for before it takes the general kernel. 0: launched; -1: the case is not one of the fast ones;
 * else a cudaError_t. */
#ifndef FP4_QUANTIZE_FAST_CUH
#define FP4_QUANTIZE_FAST_CUH

#include "quantize_block.cuh"

/* amax of both directions is in place. row or col may be NULL. */
int quantize_fast(enum fp4k_isa isa, const struct fp4_quantize_params *p, const void *x, const struct direction_args *row,
                  const struct direction_args *col, cudaStream_t stream);

#endif

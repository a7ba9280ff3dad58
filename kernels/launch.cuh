/* SPDX-License-Identifier: Apache-2.0 */
/* launch.cuh: what the launchers share: grids, ISA dispatch, element access. */
#ifndef FP4_LAUNCH_CUH
#define FP4_LAUNCH_CUH

#include "fp4kernels.h"
#include "isa/sm100.cuh"
#include "isa/soft.cuh"

#include <cuda_runtime.h>

static inline unsigned grid_for(size_t items, unsigned threads)
{
    size_t blocks = (items + threads - 1) / threads;

    return (unsigned)(blocks > 0x7FFFFFFFu ? 0x7FFFFFFFu : blocks ? blocks : 1);
}

/* Calls F<ISA>(arguments) for a run-time ISA. */
#define FP4_BY_ISA(isa, CALL)             \
    do {                                  \
        if ((isa) == FP4K_SOFT) {         \
            using ISA = isa_soft;         \
            CALL;                         \
        } else if ((isa) == FP4K_SM120) { \
            using ISA = isa_sm120;        \
            CALL;                         \
        } else {                          \
            using ISA = isa_sm100;        \
            CALL;                         \
        }                                 \
    } while (0)

struct bf16_tag {
};
struct f16_tag {
};
struct f32_tag {
};

template <typename T> __device__ __forceinline__ float load_element(const void *x, size_t i);
template <> __device__ __forceinline__ float load_element<f32_tag>(const void *x, size_t i)
{
    return static_cast<const float *>(x)[i];
}
template <> __device__ __forceinline__ float load_element<bf16_tag>(const void *x, size_t i)
{
    return __uint_as_float((uint32_t) static_cast<const uint16_t *>(x)[i] << 16);
}
template <> __device__ __forceinline__ float load_element<f16_tag>(const void *x, size_t i)
{
    return fp4a_from_f16(static_cast<const uint16_t *>(x)[i]);
}

#define FP4_BY_DTYPE(dtype, CALL)         \
    do {                                  \
        if ((dtype) == FP4_F32) {         \
            using T = f32_tag;            \
            CALL;                         \
        } else if ((dtype) == FP4_BF16) { \
            using T = bf16_tag;           \
            CALL;                         \
        } else {                          \
            using T = f16_tag;            \
            CALL;                         \
        }                                 \
    } while (0)

#endif

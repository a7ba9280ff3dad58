/* SPDX-License-Identifier: Apache-2.0 */
/* cvt-rn, cvt-rs and TE's helpers, elementwise: equal fp4_cvt_rn_e2m1x4, fp4_cvt_rs_e2m1x4, fp4_sr_*. One thread a group of four. */
#include "launch.cuh"

/* ---- kernels ----------------------------------------------------------------------------------------------------------------------------- */

/* Raw inputs may be NaN of any sign; nearest gives code 7 for all of them. */
template <typename ISA> __global__ void cvt_rn_kernel(const float *x, size_t groups, uint16_t *codes)
{
    if constexpr (ISA::available)
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < groups; i += (size_t)gridDim.x * blockDim.x)
            codes[i] = (uint16_t)ISA::cvt_rn_e2m1x4(fp4a_canonical(x[4 * i]), fp4a_canonical(x[4 * i + 1]),
                                                    fp4a_canonical(x[4 * i + 2]), fp4a_canonical(x[4 * i + 3]));
}

/* Rules half, half-old and hash32 look at the sign of a NaN, so only rule trunc, whose device version does not, gets it cleared. */
template <typename ISA> __device__ __forceinline__ uint32_t convert_rs(struct fp4_rs_model m, const float v[4], uint32_t rbits)
{
    if (!ISA::native_rs && m.rule == FP4_RS_TRUNC)
        return ISA::cvt_rs_e2m1x4((int)m.rule, (int)m.map, fp4a_canonical(v[0]), fp4a_canonical(v[1]), fp4a_canonical(v[2]),
                                  fp4a_canonical(v[3]), rbits);
    return ISA::cvt_rs_e2m1x4((int)m.rule, (int)m.map, v[0], v[1], v[2], v[3], rbits);
}

template <typename ISA>
__global__ void cvt_rs_kernel(struct fp4_rs_model m, const float *x, const uint32_t *rbits, size_t groups, uint16_t *codes)
{
    if constexpr (ISA::available)
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < groups; i += (size_t)gridDim.x * blockDim.x)
            codes[i] = (uint16_t)convert_rs<ISA>(m, x + 4 * i, rbits[i]);
}

template <typename ISA, typename T>
__global__ void sr_x4_kernel(struct fp4_rs_model m, const void *x, size_t rows, size_t words, const float *scale,
                             const uint32_t *rbits, float *scaled, uint16_t *codes)
{
    if constexpr (ISA::available) {
        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < rows * words; i += (size_t)gridDim.x * blockDim.x) {
            float y[4];

            for (int k = 0; k < 4; k++) {
                y[k] = load_element<T>(x, 4 * i + k);
                if (scale)
                    y[k] = fp4a_canonical(fp4a_mul(y[k], scale[2 * (i / words) + k % 2]));
                if (scaled)
                    scaled[4 * i + k] = y[k];
            }
            codes[i] = (uint16_t)convert_rs<ISA>(m, y, rbits[i]);
        }
    }
}

template <typename ISA>
__global__ void sr_x8_kernel(struct fp4_rs_model m, const uint16_t *x, size_t rows, size_t words, const void *coefficient,
                             bool narrow, const uint32_t *rbits, float *scaled, uint16_t *codes)
{
    if constexpr (ISA::available) {
        /* The fused operation of the bf16 coefficient turns an exact -0 into +0; TE's fallback multiplies. */
        bool plus = narrow && m.rule != FP4_RS_FMA_FLOOR;

        for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < rows * words; i += (size_t)gridDim.x * blockDim.x) {
            size_t r = i / words;
            float s = narrow ? load_element<bf16_tag>(coefficient, r) : static_cast<const float *>(coefficient)[r];
            float y[4];

            for (int k = 0; k < 4; k++) {
                float v = load_element<bf16_tag>(x, 4 * i + k);

                y[k] = fp4a_canonical(plus ? fp4a_fma(v, s, 0.0f) : fp4a_mul(v, s));
                if (scaled)
                    scaled[4 * i + k] = y[k];
            }
            codes[i] = (uint16_t)convert_rs<ISA>(m, y, rbits[i]);
        }
    }
}

/* ---- launchers ------------------------------------------------------------------------------------------------------------------------------ */

extern "C" int fp4k_cvt_rn(enum fp4k_isa isa, const float *d_x, size_t n, uint8_t *d_codes, void *stream)
{
    FP4_BY_ISA(isa, (cvt_rn_kernel<ISA><<<grid_for(n / 4, 256), 256, 0, (cudaStream_t)stream>>>(d_x, n / 4, (uint16_t *)d_codes)));
    return (int)cudaGetLastError();
}

extern "C" int fp4k_cvt_rs(enum fp4k_isa isa, struct fp4_rs_model model, const float *d_x, const uint32_t *d_rbits, size_t n,
                           uint8_t *d_codes, void *stream)
{
    FP4_BY_ISA(isa, (cvt_rs_kernel<ISA>
                     <<<grid_for(n / 4, 256), 256, 0, (cudaStream_t)stream>>>(model, d_x, d_rbits, n / 4, (uint16_t *)d_codes)));
    return (int)cudaGetLastError();
}

template <typename ISA>
static void launch_x4(struct fp4_rs_model model, const void *x, enum fp4_dtype dtype, size_t rows, size_t words, const float *scale,
                      const uint32_t *rbits, float *scaled, uint8_t *codes, cudaStream_t stream)
{
    unsigned grid = grid_for(rows * words, 256);

    if (dtype == FP4_BF16)
        sr_x4_kernel<ISA, bf16_tag><<<grid, 256, 0, stream>>>(model, x, rows, words, scale, rbits, scaled, (uint16_t *)codes);
    else
        sr_x4_kernel<ISA, f32_tag><<<grid, 256, 0, stream>>>(model, x, rows, words, scale, rbits, scaled, (uint16_t *)codes);
}

extern "C" int fp4k_sr_x4(enum fp4k_isa isa, struct fp4_rs_model model, const void *d_x, enum fp4_dtype dtype, size_t rows,
                          size_t cols, const float *d_scale, const uint32_t *d_rbits, float *d_scaled, uint8_t *d_codes,
                          void *stream)
{
    FP4_BY_ISA(isa, launch_x4<ISA>(model, d_x, dtype, rows, cols / 4, d_scale, d_rbits, d_scaled, d_codes, (cudaStream_t)stream));
    return (int)cudaGetLastError();
}

extern "C" int fp4k_sr_x8(enum fp4k_isa isa, struct fp4_rs_model model, const uint16_t *d_x, size_t rows, size_t cols,
                          const void *d_coefficient, bool coefficient_bf16, const uint32_t *d_rbits, float *d_scaled,
                          uint8_t *d_codes, void *stream)
{
    FP4_BY_ISA(isa, (sr_x8_kernel<ISA><<<grid_for(rows * cols / 4, 256), 256, 0, (cudaStream_t)stream>>>(
                        model, d_x, rows, cols / 4, d_coefficient, coefficient_bf16, d_rbits, d_scaled, (uint16_t *)d_codes)));
    return (int)cudaGetLastError();
}

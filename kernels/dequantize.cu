/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize: equals fp4_dequantize. One thread a block of 16. */
#include "launch.cuh"

template <typename T> __device__ __forceinline__ void store_element(void *out, size_t i, float v);
template <> __device__ __forceinline__ void store_element<f32_tag>(void *out, size_t i, float v)
{
    static_cast<float *>(out)[i] = fp4a_canonical(v);
}
template <> __device__ __forceinline__ void store_element<bf16_tag>(void *out, size_t i, float v)
{
    static_cast<uint16_t *>(out)[i] = (uint16_t)fp4a_to_bf16(v);
}
template <> __device__ __forceinline__ void store_element<f16_tag>(void *out, size_t i, float v)
{
    static_cast<uint16_t *>(out)[i] = (uint16_t)fp4a_to_f16(v);
}

/* GEMM layout of scales, TE 1.5. */
__host__ __device__ static inline size_t swizzle_index(size_t scale_cols, size_t r, size_t c)
{
    return (r / 128 * ((scale_cols + 3) / 4) + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

template <typename T>
__global__ void dequantize_kernel(const uint8_t *codes, const uint8_t *scales, const float *amax, void *out, float *block_scale,
                                  size_t rows, size_t blocks, bool row_scaled, bool swizzled, float factor)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < rows * blocks; i += (size_t)gridDim.x * blockDim.x) {
        size_t r = i / blocks, b = i % blocks;
        uint8_t byte = scales[swizzled ? swizzle_index(blocks, r, b) : i];
        float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(byte), amax[row_scaled ? r : 0]), factor);

        if (block_scale)
            block_scale[i] = fp4a_canonical(scale);
        for (int k = 0; k < 8; k++) {
            uint32_t two = codes[8 * i + k];

            store_element<T>(out, 16 * i + 2 * k, fp4a_mul(fp4a_from_e2m1(two & 15u), scale));
            store_element<T>(out, 16 * i + 2 * k + 1, fp4a_mul(fp4a_from_e2m1(two >> 4), scale));
        }
    }
}

/* The value of the nibble at bits 31:28: its magnitude bits as the top of a binary32 that is 2^126 too small. */
__device__ __forceinline__ float top_nibble(uint32_t v)
{
    return fp4a_mul(__uint_as_float((uint32_t)((int32_t)v >> 6) & 0x81C00000u), __uint_as_float(253u << 23));
}

/* bf16 output, linear scales, no stage: a thread for eight values, one 16-byte store. */
__global__ void __launch_bounds__(256)
    dequantize_bf16_kernel(const uint32_t *codes, const uint8_t *scales, const float *amax, uint4 *out, size_t eights,
                           uint32_t eights_a_row, bool row_scaled, float factor)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < eights; i += (size_t)gridDim.x * blockDim.x) {
        uint32_t c = __ldg(codes + i), r[4];
        float a = __ldg(amax + (row_scaled ? i / eights_a_row : 0));
        float scale = fp4a_mul(fp4a_mul(isa_cvt_e4m3_f32(__ldg(scales + i / 2) & 0x7Fu), a), factor);

        if (__ldg(scales + i / 2) & 0x80u) /* no quantizer sets it; a decoder honours it */
            scale = -scale;
#pragma unroll
        for (int k = 0; k < 4; k++)
            r[k] = isa_cvt_bf16x2(fp4a_mul(top_nibble(c << (24 - 8 * k)), scale), fp4a_mul(top_nibble(c << (28 - 8 * k)), scale));
        out[i] = make_uint4(r[0], r[1], r[2], r[3]);
    }
}

static bool dequantize_fast(const struct fp4_dequantize_params *p, const uint8_t *codes, const uint8_t *scales, const float *amax,
                            void *out, float factor, cudaStream_t stream)
{
    size_t eights = p->rows * p->cols / 8;

    if (p->output != FP4_BF16 || p->swizzled || (uintptr_t)codes % 4 || (uintptr_t)out % 16 || p->cols / 8 > 0xFFFFFFFFu)
        return false;
    dequantize_bf16_kernel<<<grid_for(eights, 256), 256, 0, stream>>>((const uint32_t *)codes, scales, amax, (uint4 *)out, eights,
                                                                      (uint32_t)(p->cols / 8), p->row_scaled, factor);
    return true;
}

extern "C" int fp4k_dequantize(const struct fp4_dequantize_params *p, const uint8_t *d_codes, const uint8_t *d_scales,
                               const float *d_amax, void *d_out, float *d_block_scale, void *stream)
{
    size_t blocks = p->cols / 16;
    float factor = fp4a_float(p->bound == 448 ? FP4_INV_2688 : FP4_INV_1536);

    if (!d_block_scale && dequantize_fast(p, d_codes, d_scales, d_amax, d_out, factor, (cudaStream_t)stream))
        return (int)cudaGetLastError();
    FP4_BY_DTYPE(p->output,
                 (dequantize_kernel<T><<<grid_for(p->rows * blocks, 256), 256, 0, (cudaStream_t)stream>>>(
                     d_codes, d_scales, d_amax, d_out, d_block_scale, p->rows, blocks, p->row_scaled, p->swizzled, factor)));
    return (int)cudaGetLastError();
}

/* ---- swizzle: equals fp4_swizzle, fp4_unswizzle; the padding of the swizzled buffer is zero --------------------------------------------- */

__global__ void swizzle_kernel(size_t rows, size_t scale_cols, const uint8_t *linear, uint8_t *swizzled, bool back, uint8_t *out)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < rows * scale_cols; i += (size_t)gridDim.x * blockDim.x) {
        size_t at = swizzle_index(scale_cols, i / scale_cols, i % scale_cols);

        if (back)
            out[i] = swizzled[at];
        else
            swizzled[at] = linear[i];
    }
}

extern "C" int fp4k_swizzle(size_t rows, size_t scale_cols, const uint8_t *d_linear, uint8_t *d_swizzled, void *stream)
{
    cudaError_t error = cudaMemsetAsync(d_swizzled, 0, fp4_swizzle_bytes(rows, scale_cols), (cudaStream_t)stream);

    if (error != cudaSuccess)
        return (int)error;
    swizzle_kernel<<<grid_for(rows * scale_cols, 256), 256, 0, (cudaStream_t)stream>>>(rows, scale_cols, d_linear, d_swizzled,
                                                                                       false, NULL);
    return (int)cudaGetLastError();
}

extern "C" int fp4k_unswizzle(size_t rows, size_t scale_cols, const uint8_t *d_swizzled, uint8_t *d_linear, void *stream)
{
    swizzle_kernel<<<grid_for(rows * scale_cols, 256), 256, 0, (cudaStream_t)stream>>>(rows, scale_cols, NULL,
                                                                                       (uint8_t *)d_swizzled, true, d_linear);
    return (int)cudaGetLastError();
}

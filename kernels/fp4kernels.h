/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4kernels.h: the CUDA kernels under test, behind plain C functions, so that cli/ compiles without the toolkit.
 *
 * Each launcher equals one function of fp4ref.h in shapes, layouts and results, with device pointers in place of host pointers, and runs
 * on a stream (0: the default one). Nothing prints or exits; the return value is 0 or a cudaError_t, and fp4k_error_text explains it.
 * Launches are asynchronous: errors of the kernel itself show at the next fp4k_synchronize.
 *
 * ISA layers (kernels/isa/):
 *   soft   no FP4 instruction: any device from sm_80 on
 *   sm120  cvt.rn.satfinite.e2m1x2 by hardware, stochastic rounding as a polyfill: sm_120a, sm_121a, and sm_100a, sm_103a
 *   sm100  cvt.rs.satfinite.e2m1x4 by hardware: sm_100a, sm_103a; its rs-model is the device's own
 */
#ifndef FP4KERNELS_H
#define FP4KERNELS_H

#include "fp4ref.h"
#include "fp4second.h"

#ifdef __cplusplus
extern "C" {
#endif

enum fp4k_isa { FP4K_SOFT, FP4K_SM120, FP4K_SM100, FP4K_ISA_COUNT };

struct fp4k_device {
    char name[128];
    int major, minor;
    int driver, runtime; /* CUDA versions as 13000 */
    int sm_count;
    size_t memory;
};

/* Devices that the driver shows (CUDA_VISIBLE_DEVICES is honoured); 0 when there is no driver or no GPU, with the reason. */
int fp4k_device_count(char *reason, size_t size);
int fp4k_device_info(int device, struct fp4k_device *out);
int fp4k_device_select(int device);
/* 0 when code for the ISA layer is in this build and runs on a device of that capability; else -1 and the reason. */
int fp4k_supports(enum fp4k_isa isa, int major, int minor, char *reason, size_t size);
const char *fp4k_architectures(void); /* what the build holds: "sm_80 sm_90 sm_100a ..." */
const char *fp4k_error_text(int error);

/* Memory and copies, so that adapters need no CUDA header. */
int fp4k_malloc(void **d_pointer, size_t bytes);
int fp4k_free(void *d_pointer);
int fp4k_fill(void *d_pointer, int byte, size_t bytes);
int fp4k_upload(void *d_to, const void *from, size_t bytes);
int fp4k_download(void *to, const void *d_from, size_t bytes);
int fp4k_copy(void *d_to, const void *d_from, size_t bytes, void *stream); /* device to device, asynchronous */
int fp4k_synchronize(void);

/* Events for benchmarks: elapsed milliseconds between two of them. */
int fp4k_event_create(void **event);
int fp4k_event_destroy(void *event);
int fp4k_event_record(void *event, void *stream);
int fp4k_event_elapsed(void *from, void *to, float *milliseconds);

/* max |x|, NaN dropped or kept: fp4_amax, fp4_amax_rows, fp4_amax_cols. d_out: 1, rows or cols floats. */
enum fp4k_amax_kind { FP4K_AMAX_TENSOR, FP4K_AMAX_ROWS, FP4K_AMAX_COLS };
int fp4k_amax(enum fp4k_amax_kind kind, const void *d_x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan,
              float *d_out, void *stream);

/* fp4_cvt_rn_e2m1x4 over n values (n a multiple of 4): d_codes n / 2 bytes. */
int fp4k_cvt_rn(enum fp4k_isa isa, const float *d_x, size_t n, uint8_t *d_codes, void *stream);
/* fp4_cvt_rs_e2m1x4 over n values; d_rbits n / 4 words. sm100 ignores the model: the silicon has its own. */
int fp4k_cvt_rs(enum fp4k_isa isa, struct fp4_rs_model model, const float *d_x, const uint32_t *d_rbits, size_t n, uint8_t *d_codes,
                void *stream);
/* TE's helpers over a matrix: fp4_sr_bf16x4, fp4_sr_fp32x4(_scaled) (d_scale [rows][2] or NULL), fp4_sr_bf16x8(_coef_bf16)
 * (d_coefficient [rows], f32 or bf16). d_scaled may be NULL. */
int fp4k_sr_x4(enum fp4k_isa isa, struct fp4_rs_model model, const void *d_x, enum fp4_dtype dtype, size_t rows, size_t cols,
               const float *d_scale, const uint32_t *d_rbits, float *d_scaled, uint8_t *d_codes, void *stream);
int fp4k_sr_x8(enum fp4k_isa isa, struct fp4_rs_model model, const uint16_t *d_x, size_t rows, size_t cols,
               const void *d_coefficient, bool coefficient_bf16, const uint32_t *d_rbits, float *d_scaled, uint8_t *d_codes,
               void *stream);

/* fp4_quantize. Pointers inside row and col are device pointers. amax must not be NULL in row and col: it is computed there when
 * given_amax is NULL. */
int fp4k_quantize(enum fp4k_isa isa, const struct fp4_quantize_params *p, const void *d_x, const struct fp4_quantized *row,
                  const struct fp4_quantized *col, void *stream);

/* fp4_rht_quantize with the sums made by warp MMA (m16n8k16, bf16, FP32 accumulate): sum model tc is the device's own; seq is computed in
 * FP32; exact is not available. rcp_table is not used: approx_rcp is the device's instruction. amax as above. */
int fp4k_rht_quantize(enum fp4k_isa isa, const struct fp4_rht_params *p, const uint16_t *d_x, const struct fp4_quantized *row,
                      const struct fp4_quantized *col, const struct fp4_rht_stages *stages, void *stream);

/* fp4_four_over_six. Pointers inside are device pointers; amax must not be NULL, as above. */
int fp4k_four_over_six(enum fp4k_isa isa, const struct fp4_four_params *p, const void *d_x, const struct fp4_quantized *row,
                       const struct fp4_quantized *col, const struct fp4_four_stages *row_stages,
                       const struct fp4_four_stages *col_stages, void *stream);

/* fp4_gemm; pointers in the operands are device pointers. The same in every ISA layer: nothing here is a tensor-core instruction. */
int fp4k_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, const void *d_bias,
              void *d_y, float *d_acc, void *stream);
/* fp4_bf16_matmul, and the column sums of fp4_linear_backward. */
int fp4k_bf16_matmul(size_t m, size_t n, size_t k, const uint16_t *d_a, bool a_transposed, const uint16_t *d_b, bool b_transposed,
                     uint16_t *d_out, void *stream);
int fp4k_bf16_column_sums(const uint16_t *d_x, size_t rows, size_t cols, uint16_t *d_out, void *stream);

/* fp4_linear_forward and fp4_linear_backward; all pointers, those in *t too, are device pointers. */
int fp4k_linear_forward(enum fp4k_isa isa, const struct fp4_linear_params *p, const uint16_t *d_x, const uint16_t *d_w,
                        const uint16_t *d_bias, const struct fp4_linear_tensors *t, uint16_t *d_y, void *stream);
int fp4k_linear_backward(enum fp4k_isa isa, const struct fp4_linear_params *p, const uint16_t *d_x, const uint16_t *d_w,
                         const uint16_t *d_dy, const struct fp4_linear_tensors *t, uint16_t *d_grad_input, uint16_t *d_grad_weight,
                         uint16_t *d_grad_bias, void *stream);

/* fp4_dequantize, fp4_swizzle, fp4_unswizzle. */
int fp4k_dequantize(const struct fp4_dequantize_params *p, const uint8_t *d_codes, const uint8_t *d_scales, const float *d_amax,
                    void *d_out, float *d_block_scale, void *stream);
int fp4k_swizzle(size_t rows, size_t scale_cols, const uint8_t *d_linear, uint8_t *d_swizzled, void *stream);
int fp4k_unswizzle(size_t rows, size_t scale_cols, const uint8_t *d_swizzled, uint8_t *d_linear, void *stream);

/* fp4_philox_next of n generators, `words` words each. curand: offsets counted in words. */
int fp4k_philox(const uint64_t *d_seed, const uint64_t *d_subsequence, const uint64_t *d_offset, size_t n, size_t words,
                unsigned rounds, bool curand, uint32_t *d_out, void *stream);
/* The same words from the toolkit's own device header (curand_init, curand): what fp4k_philox is compared with. 10 rounds, as cuRAND. */
int fp4k_philox_curand_header(const uint64_t *d_seed, const uint64_t *d_subsequence, const uint64_t *d_offset, size_t n,
                              size_t words, uint32_t *d_out, void *stream);

/* Inputs (first + i) * stride, i < count, of a sweep (fp4second.h) through the ISA layer, compared on the device with the second
 * formulation; adds to *d_out. model: rule and map of FP4X_RS_BYTES and FP4X_RS_MAP. sm100 has no rule and no map of its own: its
 * outputs are held against the given model. count is at most 2^38; some 2^28 make a launch that ends within a second or so. */
int fp4k_exhaustive(enum fp4k_isa isa, enum fp4x_sweep sweep, struct fp4_rs_model model, uint64_t first, uint64_t count,
                    uint32_t stride, struct fp4x_result *d_out, void *stream);

#ifdef __cplusplus
}
#endif
#endif

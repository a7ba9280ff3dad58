/* SPDX-License-Identifier: Apache-2.0 */
/* Codes, scales and amax back to numbers (TE 7). */
#include "fp4arith.h"
#include "fp4ref.h"

static void store(void *out, enum fp4_dtype dtype, size_t i, float v)
{
    uint32_t word;
    uint16_t half;

    if (dtype == FP4_F32) {
        word = fp4a_bits(fp4a_canonical(v));
        memcpy((char *)out + 4 * i, &word, 4);
        return;
    }
    half = (uint16_t)(dtype == FP4_F16 ? fp4a_to_f16(v) : fp4a_to_bf16(v));
    memcpy((char *)out + 2 * i, &half, 2);
}

static int check(const struct fp4_dequantize_params *p, struct fp4_error *err)
{
    if (p->cols % 16)
        return fp4_fail(err, FP4_EUSAGE, "dequantize needs a multiple of 16 columns, not %zu", p->cols);
    if (p->bound != 448 && p->bound != 256)
        return fp4_fail(err, FP4_EUSAGE, "the E4M3 bound is 448 or 256, not %u", p->bound);
    if (p->output != FP4_F32 && p->output != FP4_F16 && p->output != FP4_BF16)
        return fp4_fail(err, FP4_EUSAGE, "dequantize writes f32, f16 or bf16, not %s", fp4_dtype_name(p->output));
    return 0;
}

int fp4_dequantize(const struct fp4_dequantize_params *p, const uint8_t *codes, const uint8_t *scales, const float *amax, void *out,
                   float *block_scale, struct fp4_error *err)
{
    float factor = fp4a_float(p->bound == 448 ? FP4_INV_2688 : FP4_INV_1536);
    size_t blocks = p->cols / 16, r, b, i;

    if (check(p, err))
        return -1;
    for (r = 0; r < p->rows; r++) {
        float a = amax[p->row_scaled ? r : 0];

        for (b = 0; b < blocks; b++) {
            uint8_t byte = scales[p->swizzled ? fp4_swizzle_index(blocks, r, b) : r * blocks + b];
            float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(byte), a), factor);

            if (block_scale)
                block_scale[r * blocks + b] = fp4a_canonical(scale);
            for (i = 0; i < 16; i++) {
                size_t at = r * p->cols + 16 * b + i;
                uint32_t code = codes[at / 2] >> 4 * (at & 1) & 15u;

                store(out, p->output, at, fp4a_mul(fp4a_from_e2m1(code), scale));
            }
        }
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Products of quantized operands, and the plain bf16 product (fp4gemm.h). */
#include "gemm_arith.h"

/* ---- what is taken -------------------------------------------------------------------------------------------------------------------- */

static int check_operand(const struct fp4_operand *o, const char *name, struct fp4_error *err)
{
    if (o->bound != 256 && o->bound != 448)
        return fp4_fail(err, FP4_EUSAGE, "operand %s: the E4M3 bound is 448 or 256, not %u", name, o->bound);
    return 0;
}

int fp4_gemm_check(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, struct fp4_error *err)
{
    if (p->recipe != FP4_RECIPE_TE_REF && p->recipe != FP4_RECIPE_TORCHAO)
        return fp4_fail(err, FP4_ESUPPORT, "the recipe has no gemm");
    if (p->sum != FP4_GEMM_SEQ && p->sum != FP4_GEMM_EXACT)
        return fp4_fail(err, FP4_EUSAGE, "the sum of a gemm is seq or exact, not number %d", (int)p->sum);
    if (p->output != FP4_F32 && p->output != FP4_BF16)
        return fp4_fail(err, FP4_EUSAGE, "gemm writes f32 or bf16, not %s", fp4_dtype_name(p->output));
    if (check_operand(a, "a", err) || check_operand(b, "b", err))
        return -1;
    if (p->k % 16)
        return fp4_fail(err, FP4_EUSAGE, "gemm needs k in blocks of 16, not %zu", p->k);
    if (p->sum == FP4_GEMM_EXACT && p->k > (size_t)1 << 20)
        return fp4_fail(err, FP4_ESUPPORT, "the exact sum holds k up to 2^20, not %zu", p->k);
    if (p->recipe == FP4_RECIPE_TE_REF) {
        if (p->divide_factor)
            return fp4_fail(err, FP4_ESUPPORT, "the way of the factor is a choice of recipe torchao only");
        if (p->k % 32 || p->n % 8)
            return fp4_fail(err, FP4_EUSAGE, "recipe te-ref needs k in 32s and n in 8s, not k %zu and n %zu", p->k, p->n);
    } else if (b->row_scaled) {
        return fp4_fail(err, FP4_ESUPPORT, "recipe torchao has one amax for operand b, not one a row");
    }
    return 0;
}

/* ---- sums over blocks ------------------------------------------------------------------------------------------------------------------- */

static const int8_t twice[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 }; /* 2 q of each code */

/* 4 times the sum of 16 products of codes. */
static int32_t block_sum(const uint8_t *a, const uint8_t *b)
{
    int32_t sum = 0;
    int i;

    for (i = 0; i < 8; i++) {
        sum += twice[a[i] & 15u] * twice[b[i] & 15u];
        sum += twice[a[i] >> 4] * twice[b[i] >> 4];
    }
    return sum;
}

static float sum_seq(const uint8_t *qa, const uint8_t *sa, const uint8_t *qb, const uint8_t *sb, size_t blocks)
{
    float acc = 0.0f;
    size_t i;

    for (i = 0; i < blocks; i++) {
        float scale = fp4a_mul(fp4a_from_e4m3(sa[i]), fp4a_from_e4m3(sb[i]));

        acc = fp4a_add(acc, fp4a_mul(scale, (float)block_sum(qa + 8 * i, qb + 8 * i) * 0.25f));
    }
    return acc;
}

/* An E4M3 number in units of its smallest, 2^-9. Not for NaN. */
static int32_t e4m3_units(uint32_t byte)
{
    return (int32_t)(fp4a_from_e4m3(byte) * 512.0f);
}

/* Terms are multiples of 2^-20 and below 2^27, so 2^16 of them fit 64 bits, and the conversion to binary32 is the one rounding. */
static float sum_exact(const uint8_t *qa, const uint8_t *sa, const uint8_t *qb, const uint8_t *sb, size_t blocks)
{
    int64_t acc = 0;
    size_t i;

    for (i = 0; i < blocks; i++) {
        if ((sa[i] & 0x7Fu) == 0x7Fu || (sb[i] & 0x7Fu) == 0x7Fu)
            return fp4a_float(FP4_QNAN);
        acc += (int64_t)e4m3_units(sa[i]) * e4m3_units(sb[i]) * block_sum(qa + 8 * i, qb + 8 * i);
    }
    return (float)acc * 0x1p-20f;
}

/* ---- outputs ------------------------------------------------------------------------------------------------------------------------------ */

float fp4_gemm_factor(float amax, unsigned bound, bool divide)
{
    return gemm_factor(amax, bound, divide);
}

static void put_bf16(void *y, size_t at, float v)
{
    uint16_t half = (uint16_t)fp4a_to_bf16(v);

    memcpy((char *)y + 2 * at, &half, 2);
}

static void finish(enum fp4_dtype output, const void *bias, void *y, size_t at, size_t column, float v)
{
    uint32_t word;

    if (output == FP4_BF16)
        v = fp4a_round_bf16(v);
    if (bias)
        v = fp4a_add(v, fp4_load(bias, output, column));
    if (output == FP4_BF16) {
        put_bf16(y, at, v);
        return;
    }
    word = fp4a_bits(fp4a_canonical(v));
    memcpy((char *)y + 4 * at, &word, 4);
}

int fp4_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, const void *bias, void *y,
             float *acc, struct fp4_error *err)
{
    size_t blocks = p->k / 16, bytes = p->k / 2, i, j;

    if (fp4_gemm_check(p, a, b, err))
        return -1;
    for (i = 0; i < p->m; i++) {
        const uint8_t *qa = a->codes + i * bytes, *sa = a->scales + i * blocks;

        for (j = 0; j < p->n; j++) {
            const uint8_t *qb = b->codes + j * bytes, *sb = b->scales + j * blocks;
            float sum = p->sum == FP4_GEMM_EXACT ? sum_exact(qa, sa, qb, sb, blocks) : sum_seq(qa, sa, qb, sb, blocks);

            if (acc)
                acc[i * p->n + j] = fp4a_canonical(sum);
            finish(p->output, bias, y, i * p->n + j, j, gemm_scaled(p, a, b, i, j, sum));
        }
    }
    return 0;
}

/* ---- bf16 ------------------------------------------------------------------------------------------------------------------------------------- */

void fp4_bf16_matmul(size_t m, size_t n, size_t k, const uint16_t *a, bool a_transposed, const uint16_t *b, bool b_transposed,
                     uint16_t *out)
{
    size_t a_line = a_transposed ? 1 : k, a_step = a_transposed ? m : 1;
    size_t b_line = b_transposed ? k : 1, b_step = b_transposed ? 1 : n;
    size_t i, j, l;

    for (i = 0; i < m; i++) {
        for (j = 0; j < n; j++) {
            float acc = 0.0f;

            for (l = 0; l < k; l++)
                acc =
                    fp4a_add(acc, fp4a_mul(fp4a_from_bf16(a[i * a_line + l * a_step]), fp4a_from_bf16(b[j * b_line + l * b_step])));
            put_bf16(out, i * n + j, acc);
        }
    }
}

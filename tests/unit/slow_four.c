/* SPDX-License-Identifier: Apache-2.0 */
#include "slow_four.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t QNAN = 0x7FFFFFFFu, MAX = 0x7F7FFFFFu, SIXTH = 0x3E2AAAABu, SMALLEST_NORMAL = 0x00800000u;

static void *zeroed(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p)
        abort();
    return p;
}

/* ---- sums ------------------------------------------------------------------------------------------------------------------------- */

/* Binary64 has more than twice the digits of binary32 and two, so that rounding a sum twice is rounding it once; where binary32 is
 * subnormal, sums are exact. */
float slow_add(float a, float b)
{
    const float s = (float)((double)a + (double)b);

    return slow_is_nan(slow_bits(s)) ? slow_float(QNAN) : s;
}

/* The product is exact in binary64. Its sum with c is rounded to odd there, so that the second rounding sees on which side it lay. */
float slow_fma(float a, float b, float c)
{
    const double p = (double)a * (double)b;
    double s = p + (double)c;

    if (isfinite(s)) {
        const double part = s - p;
        const double rest = (p - (s - part)) + ((double)c - part);
        uint64_t bits;

        memcpy(&bits, &s, sizeof bits);
        if (rest != 0 && bits % 2 == 0)
            s = nextafter(s, rest > 0 ? INFINITY : -INFINITY);
    }
    return isnan(s) ? slow_float(QNAN) : (float)s;
}

/* ---- one block --------------------------------------------------------------------------------------------------------------------- */

struct job {
    const struct fp4_four_params *p;
    enum slow_mistake mistake;
    const void *x;
    bool transposed;
    float amax, s, d; /* of the line */
};

static float flushed(const struct job *j, float v)
{
    const uint32_t bits = slow_bits(v);

    return j->mistake == SLOW_FLUSH && (bits & 0x7FFFFFFFu) < SMALLEST_NORMAL ? slow_float(bits & 0x80000000u) : v;
}

static float mul(const struct job *j, float a, float b)
{
    return flushed(j, slow_mul(flushed(j, a), flushed(j, b)));
}

static float divide(const struct job *j, float a, float b)
{
    return flushed(j, slow_div(flushed(j, a), flushed(j, b)));
}

static float add(const struct job *j, float a, float b)
{
    return flushed(j, slow_add(flushed(j, a), flushed(j, b)));
}

static float element(const struct job *j, size_t line, size_t k)
{
    const size_t cols = j->p->cols;

    return flushed(j, slow_load(j->x, j->p->input, j->transposed ? k * cols + line : line * cols + k));
}

static bool keeps_nan(const struct fp4_four_params *p)
{
    return p->nan == FP4_FOUR_NAN_PROPAGATE;
}

/* The larger magnitude, by the recipe's view of NaN. */
static float larger(const struct fp4_four_params *p, float acc, float v)
{
    if (slow_is_nan(slow_bits(v)) || slow_is_nan(slow_bits(acc)))
        return keeps_nan(p) ? slow_float(QNAN) : acc;
    return fabsf(v) > acc ? fabsf(v) : acc;
}

static float numerator(const struct fp4_four_params *p)
{
    return (float)(6 * p->bound);
}

static float global_scale(const struct job *j)
{
    const struct fp4_four_params *p = j->p;
    const float quotient = divide(j, numerator(p), j->amax);
    const float inverted = mul(j, divide(j, 1.0F, j->amax), numerator(p));
    const bool inverts = j->mistake == SLOW_INVERTED_AMAX || (p->recipe == FP4_RECIPE_FLASHINFER && !p->row_scaled);
    float s = inverts ? inverted : quotient;

    if (p->recipe == FP4_RECIPE_FOUROVERSIX)
        return s;
    if (keeps_nan(p))
        s = slow_min_keep(s, slow_float(MAX));
    else
        s = slow_min_drop(s, slow_float(MAX));
    if (p->recipe == FP4_RECIPE_FLASHINFER) {
        if (!p->row_scaled)
            return s;
        return j->amax == 0 ? 0.0F : s == 0 ? 1.0F : s;
    }
    if (p->recipe == FP4_RECIPE_TE_REF && j->amax == 0)
        return slow_float(MAX);
    return j->amax == 0 || s == 0 ? 1.0F : s;
}

static unsigned scale_byte(const struct job *j, float v)
{
    const float cap = j->mistake == SLOW_CAP_AT_BOUND ? (float)j->p->bound : 448.0F;

    return slow_is_nan(slow_bits(v)) ? 0x7F : slow_e4m3(slow_min_keep(v, cap));
}

static void scale_bytes(const struct job *j, float bamax, unsigned byte[2])
{
    float base;

    if (j->mistake == SLOW_STANDARD_ASSOCIATION)
        base = mul(j, bamax, mul(j, j->s, slow_float(SIXTH)));
    else if (j->mistake == SLOW_SIXTH)
        base = mul(j, mul(j, bamax, slow_float(SIXTH)), j->s);
    else
        base = mul(j, divide(j, bamax, 6.0F), j->s);
    byte[0] = scale_byte(j, base);
    byte[1] = scale_byte(j, mul(j, base, 1.5F));
}

static float value_of_scale(unsigned byte)
{
    return (byte & 0x7Fu) == 0x7Fu ? slow_float(QNAN) : (float)slow_e4m3_value(byte);
}

static unsigned encode(const struct job *j, float y)
{
    if (j->p->recipe == FP4_RECIPE_TE_REF && (slow_is_nan(slow_bits(y)) || y == 0))
        return 0;
    if (j->mistake == SLOW_NO_SATURATION && fabsf(y) >= 7)
        return y < 0 ? 0 : 8;
    return slow_e2m1(y);
}

/* What the error takes a code for: with no saturation the even number that overran it. */
static float meaning(const struct job *j, unsigned code, float y)
{
    return j->mistake == SLOW_NO_SATURATION && fabsf(y) >= 7 ? 2 * rintf(y / 2) : (float)slow_e2m1_value(code);
}

/* The error of one element before the absolute value or the square. */
static float difference(const struct job *j, float q, float f, float x)
{
    const struct fp4_four_params *p = j->p;
    const float den = numerator(p), inverse = slow_div(1.0F, den);
    const float qf = mul(j, q, f);
    float v;

    if (p->fast_error || p->recipe == FP4_RECIPE_TE_FAST || j->mistake == SLOW_ERROR_FAST) {
        const float half = slow_is_nan(slow_bits(qf)) ? qf : (float)slow_f16_value(slow_f16(qf));

        return add(j, half, -mul(j, x, j->s));
    }
    if (j->mistake == SLOW_ERROR_BY_RECIPROCAL)
        v = mul(j, mul(j, qf, j->amax), inverse);
    else if (j->mistake == SLOW_ERROR_BY_DEQUANTIZER)
        v = mul(j, q, mul(j, mul(j, f, j->amax), inverse));
    else if (j->mistake == SLOW_ERROR_DIVIDED_FIRST)
        v = mul(j, divide(j, qf, den), j->amax);
    else if (j->mistake == SLOW_ERROR_BY_DECODE || (p->recipe == FP4_RECIPE_FLASHINFER && !p->row_scaled))
        v = mul(j, qf, j->d);
    else
        v = divide(j, mul(j, qf, j->amax), den);
    return add(j, v, -x);
}

static float serial(const struct job *j, const float *t, int first, int last)
{
    float sum = 0.0F;

    for (int i = first; i < last; i++)
        sum = add(j, sum, t[i]);
    return sum;
}

static float pairwise(const struct job *j, const float *t, int count)
{
    return count == 1 ? t[0] : add(j, pairwise(j, t, count / 2), pairwise(j, t + count / 2, count / 2));
}

static float group_error(const struct job *j, const float d[16])
{
    const bool mse = j->p->error == FP4_FOUR_MSE;
    float term[16], sum = 0.0F;

    if (mse && (j->p->recipe == FP4_RECIPE_FOUROVERSIX || j->mistake == SLOW_SUM_FUSED)) {
        for (int i = 0; i < 16; i++)
            sum = slow_fma(d[i], d[i], sum);
        return sum;
    }
    for (int i = 0; i < 16; i++) {
        const int at = j->mistake == SLOW_SUM_REVERSED ? 15 - i : i;

        term[at] = mse ? mul(j, d[i], d[i]) : slow_float(slow_bits(d[i]) & 0x7FFFFFFFu);
    }
    if (j->mistake == SLOW_SUM_PAIRWISE)
        return pairwise(j, term, 16);
    if (j->mistake == SLOW_SUM_HALVES)
        return add(j, serial(j, term, 0, 8), serial(j, term, 8, 16));
    return serial(j, term, 0, 16);
}

/* (((e0+e8)+(e4+e12)) + ((e2+e10)+(e6+e14))) + (((e1+e9)+(e5+e13)) + ((e3+e11)+(e7+e15))), written out as in the sources. */
static float tile_error(const struct job *j, const float e[16])
{
    if (j->mistake == SLOW_TILE_SERIAL)
        return serial(j, e, 0, 16);
    return add(j, add(j, add(j, add(j, e[0], e[8]), add(j, e[4], e[12])), add(j, add(j, e[2], e[10]), add(j, e[6], e[14]))),
               add(j, add(j, add(j, e[1], e[9]), add(j, e[5], e[13])), add(j, add(j, e[3], e[11]), add(j, e[7], e[15]))));
}

/* The maximum of a block or tile of `height` lines. */
static float block_max(const struct job *j, size_t line, size_t height, size_t block)
{
    float acc = 0.0F;
    size_t nans = 0;

    for (size_t i = 0; i < 16 * height; i++) {
        const float v = element(j, line + i / 16, 16 * block + i % 16);

        nans += slow_is_nan(slow_bits(v));
        acc = larger(j->p, acc, v);
    }
    return j->p->recipe == FP4_RECIPE_FLASHINFER && nans == 16 ? slow_float(QNAN) : acc;
}

static bool only_zeros(const struct job *j, float bamax)
{
    switch (j->p->recipe) {
    case FP4_RECIPE_FLASHINFER:
        return bamax == 0 || (j->p->row_scaled && j->amax == 0);
    case FP4_RECIPE_FOUROVERSIX:
        return j->amax == 0;
    default:
        return false;
    }
}

/* Candidate c of every line of the block: codes, scaled values (all of it to out and scaled), and the error that is compared. */
static float candidate(const struct job *j, size_t line, size_t height, size_t block, unsigned byte, bool zeros, int c,
                       struct slow_four *out, float *scaled)
{
    const float f = value_of_scale(byte);
    const float plain = divide(j, 1.0F, mul(j, f, j->d));
    const float e = keeps_nan(j->p) ? slow_min_keep(plain, slow_float(MAX)) : slow_min_drop(plain, slow_float(MAX));
    float line_error[16] = { 0 };

    for (size_t i = 0; i < height; i++) {
        float d[16];

        for (size_t k = 0; k < 16; k++) {
            const float x = element(j, line + i, 16 * block + k);
            const float y = zeros ? 0.0F : mul(j, x, e);
            const unsigned code = encode(j, y);

            out->code[c][(line + i) * out->q.packed + 16 * block + k] = (uint8_t)code;
            scaled[16 * i + k] = y;
            d[k] = difference(j, meaning(j, code, y), f, x);
        }
        line_error[i] = group_error(j, d);
    }
    return height == 16 ? tile_error(j, line_error) : line_error[0];
}

static void one_block(const struct job *j, size_t line, size_t height, size_t block, struct slow_four *out)
{
    const float bamax = block_max(j, line, height, block);
    const bool zeros = only_zeros(j, bamax);
    float scaled[2][256], error[2];
    unsigned byte[2];

    scale_bytes(j, bamax, byte);
    for (int c = 0; c < 2; c++) {
        byte[c] = zeros ? 0 : byte[c];
        error[c] = candidate(j, line, height, block, byte[c], zeros, c, out, scaled[c]);
    }
    const int pick = error[1] < error[0] || (j->mistake == SLOW_TIE_TO_4 && error[1] == error[0]);

    for (size_t i = 0; i < height; i++) {
        const size_t at = (line + i) * out->q.blocks + block;

        for (int c = 0; c < 2; c++) {
            out->scale[c][at] = (uint8_t)byte[c];
            out->error[c][at] = error[c];
        }
        out->pick[at] = (uint8_t)pick;
        out->q.scale[at] = (uint8_t)byte[pick];
        out->q.block_amax[at] = bamax;
        for (size_t k = 16 * block; k < 16 * block + 16; k++) {
            const size_t here = (line + i) * out->q.packed + k;

            out->q.code[here] = out->code[pick][here];
            out->q.scaled[here] = scaled[pick][16 * i + k % 16];
            out->q.dequantized[here] = slow_dequantize(out->q.code[here], byte[pick], j->amax, j->p->bound);
        }
    }
}

void slow_four_over_six(const struct fp4_four_params *p, enum slow_mistake mistake, const void *x, bool transposed,
                        const float *given_amax, struct slow_four *out)
{
    struct job j = { .p = p, .mistake = mistake, .x = x, .transposed = transposed };
    const size_t lines = transposed ? p->cols : p->rows, packed = transposed ? p->rows : p->cols;
    const size_t height = p->block_16x16 ? 16 : 1;
    float tensor = 0.0F;

    slow_quantized_init(&out->q, lines, packed);
    for (int c = 0; c < 2; c++) {
        out->scale[c] = zeroed(lines * out->q.blocks, 1);
        out->code[c] = zeroed(lines * packed, 1);
        out->error[c] = zeroed(lines * out->q.blocks, sizeof(float));
    }
    out->pick = zeroed(lines * out->q.blocks, 1);
    for (size_t i = 0; i < lines * packed; i++)
        tensor = larger(p, tensor, element(&j, i / packed, i % packed));
    for (size_t line = 0; line < lines; line++) {
        j.amax = tensor;
        if (given_amax) {
            j.amax = given_amax[p->row_scaled ? line : 0];
        } else if (p->row_scaled) {
            j.amax = 0.0F;
            for (size_t k = 0; k < packed; k++)
                j.amax = larger(p, j.amax, element(&j, line, k));
        }
        j.amax = flushed(&j, j.amax);
        j.s = global_scale(&j);
        j.d = divide(&j, 1.0F, j.s);
        out->q.amax[line] = j.amax;
        out->q.global_scale[line] = j.s;
        for (size_t block = 0; line % height == 0 && block < out->q.blocks; block++)
            one_block(&j, line, height, block, out);
    }
}

void slow_four_release(struct slow_four *f)
{
    slow_quantized_release(&f->q);
    for (int c = 0; c < 2; c++) {
        free(f->scale[c]);
        free(f->code[c]);
        free(f->error[c]);
    }
    free(f->pick);
}

/* ---- gemm ---------------------------------------------------------------------------------------------------------------------------- */

/* Code times block scale: 6 digits at most. */
static double term(const struct fp4_operand *o, size_t line, size_t length, size_t k)
{
    const size_t at = line * length + k;
    const unsigned code = o->codes[at / 2] >> (at % 2 ? 4 : 0) & 15u;
    const unsigned scale = o->scales[line * (length / 16) + k / 16];

    return (scale & 0x7Fu) == 0x7Fu ? (double)NAN : slow_e2m1_value(code) * slow_e4m3_value(scale);
}

static float factor(const struct fp4_gemm_params *p, float amax, unsigned bound)
{
    return p->divide_factor ? slow_div(amax, (float)(6 * bound)) : slow_mul(amax, slow_div(1.0F, (float)(6 * bound)));
}

float slow_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, size_t i, size_t j,
                float *acc)
{
    const float amax_a = a->amax[a->row_scaled ? i : 0], amax_b = b->amax[b->row_scaled ? j : 0];
    float sum = 0.0F;
    bool nan = false;
    slow_i128 exact = 0;

    for (size_t first = 0; first < p->k; first += 16) {
        double block = 0; /* exact: 47 digits are enough */

        for (size_t k = first; k < first + 16; k++)
            block += term(a, i, p->k, k) * term(b, j, p->k, k);
        nan = nan || isnan(block);
        sum = slow_add(sum, (float)block);
        if (!nan)
            exact += (slow_i128)(block * 0x1p20);
    }
    if (p->sum == FP4_GEMM_EXACT) { /* a search: the nearest binary32 of an integer, by halves of what is left */
        const bool negative = exact < 0;
        slow_u128 mag = (slow_u128)(negative ? -exact : exact), unit = 1;

        while (mag / unit >= (1u << 24))
            unit *= 2;
        slow_u128 kept = mag / unit, rest = mag % unit;

        if (2 * rest > unit || (2 * rest == unit && kept % 2 == 1))
            kept++;
        sum = (float)((double)kept * (double)unit * 0x1p-20) * (negative ? -1.0F : 1.0F);
    }
    if (nan)
        sum = slow_float(QNAN);
    if (acc)
        *acc = sum;
    if (p->recipe == FP4_RECIPE_TE_REF)
        return slow_mul(slow_div(slow_mul(amax_a, amax_b), (float)(36 * a->bound * b->bound)), sum);
    if (a->row_scaled)
        return slow_mul(slow_mul(slow_mul(slow_div(1.0F, (float)(6 * a->bound)), factor(p, amax_b, b->bound)), sum), amax_a);
    return slow_mul(slow_mul(factor(p, amax_a, a->bound), factor(p, amax_b, b->bound)), sum);
}

unsigned slow_bf16_dot(const uint16_t *x, size_t x_step, const uint16_t *y, size_t y_step, size_t count)
{
    float sum = 0.0F;

    for (size_t i = 0; i < count; i++)
        sum = slow_add(sum, slow_mul(slow_load(x, FP4_BF16, i * x_step), slow_load(y, FP4_BF16, i * y_step)));
    return slow_bf16(sum);
}

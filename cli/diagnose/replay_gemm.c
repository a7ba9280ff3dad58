/* SPDX-License-Identifier: Apache-2.0 */
/* replay_gemm.c: products of quantized operands, right and wrong. A fault of order is one of operand a: of both it would cancel. */
#include "replay.h"

#include "case_build.h"

#include <stdlib.h>
#include <string.h>

struct operand {
    const uint8_t *codes, *scales, *amax;
    bool row_scaled, reordered;
    size_t lines, scale_bytes;
};

struct product {
    const struct replay *r;
    struct operand a, b;
    size_t k, blocks;
    bool exact, divided, te_ref;
};

static float amax_of(const struct product *p, const struct operand *o, size_t line)
{
    uint32_t bits;
    bool own = o->row_scaled && slot_of(p->r, SLOT_AMAX) != AMAX_SHARED;

    memcpy(&bits, o->amax + 4 * (own ? line : 0), 4);
    return fp4a_float(bits);
}

/* ---- the sum ---------------------------------------------------------------------------------------------------------------------- */

static float code_value(const struct product *p, const struct operand *o, size_t line, size_t i)
{
    unsigned code = o->reordered ? replay_code_at(p->r, o->codes, p->k, line, i)
                                 : (unsigned)(o->codes[(line * p->k + i) / 2] >> (line * p->k + i) % 2 * 4) & 15u;

    if (slot_of(p->r, SLOT_SCALE_READ) == READ_CODES_WRONG && (code & 7u) < 2)
        return (code & 8u ? -1.0f : 1.0f) * (code & 1u ? 0.75f : 0.5f);
    return fp4a_from_e2m1(code);
}

static float scale_value(const struct product *p, const struct operand *o, size_t line, size_t block)
{
    return replay_e4m3(p->r, o->scales[replay_scale_index(p->r, false, o->lines, p->blocks, line, block, o->scale_bytes)]);
}

/* Products of codes are multiples of 1/16, here of 1/4 where the codes are read right: the sum of 16 is exact. */
static float block_sum(const struct product *p, size_t i, size_t j, size_t block)
{
    float sum = 0.0f;

    for (size_t l = 16 * block; l < 16 * block + 16; l++)
        sum = fp4a_add(sum, fp4a_mul(code_value(p, &p->a, i, l), code_value(p, &p->b, j, l)));
    return sum;
}

/* In units of 2^-22: terms are below 2^27, so a double is not enough, and 64 bits are. */
static float sum_of(const struct product *p, size_t i, size_t j)
{
    float acc = 0.0f;
    int64_t units = 0;
    bool nan = false;

    for (size_t block = 0; block < p->blocks; block++) {
        float sa = scale_value(p, &p->a, i, block), sb = scale_value(p, &p->b, j, block), sum = block_sum(p, i, j, block);

        acc = fp4a_add(acc, fp4a_mul(fp4a_mul(sa, sb), sum));
        nan |= fp4a_is_nan(sa) || fp4a_is_nan(sb);
        if (p->exact && !nan)
            units += (int64_t)((double)sa * sb * sum * 4194304.0);
    }
    if (!p->exact)
        return acc;
    return nan ? fp4a_float(FP4_QNAN) : (float)units * 0x1p-22f;
}

/* ---- the factor --------------------------------------------------------------------------------------------------------------------- */

static float factor(const struct product *p, float amax)
{
    float numerator = p->r->numerator;
    bool divided = p->divided;

    if (slot_of(p->r, SLOT_DECODE_SCALE))
        divided = slot_of(p->r, SLOT_DECODE_SCALE) == DECODE_AMAX_DIVIDED;
    return fp4a_canonical(divided ? fp4a_div(amax, numerator) : fp4a_mul(amax, fp4a_div(1.0f, numerator)));
}

static float scaled(const struct product *p, size_t i, size_t j, float acc)
{
    float a = amax_of(p, &p->a, i), b = amax_of(p, &p->b, j), alpha, y;

    if (p->te_ref) {
        alpha = fp4a_div(fp4a_mul(a, b), p->r->numerator * p->r->numerator);
    } else {
        alpha = p->a.row_scaled ? fp4a_div(1.0f, p->r->numerator) : factor(p, a);
        alpha = fp4a_mul(alpha, factor(p, b));
    }
    if (slot_of(p->r, SLOT_GLOBAL) == GLOBAL_INVERSE)
        alpha = fp4a_div(1.0f, alpha);
    if (slot_of(p->r, SLOT_GLOBAL) == GLOBAL_TWICE)
        alpha = fp4a_mul(alpha, alpha);
    if (slot_of(p->r, SLOT_GLOBAL) == GLOBAL_LEFT_OUT)
        alpha = 1.0f;
    y = fp4a_mul(alpha, acc);
    return p->a.row_scaled && !p->te_ref ? fp4a_mul(y, a) : y;
}

static void finish(const struct product *p, const uint8_t *bias, uint8_t *y, size_t at, size_t column, float v)
{
    enum fp4_dtype dtype = p->r->c->dtype;
    uint32_t word;
    uint16_t half;

    if (dtype == FP4_BF16)
        v = slot_of(p->r, SLOT_NEAREST) == NEAREST_TRUNCATED ? fp4a_from_bf16(fp4a_bits(fp4a_canonical(v)) >> 16)
                                                             : fp4a_round_bf16(v);
    if (bias)
        v = fp4a_add(v, fp4_load(bias, dtype, column));
    if (slot_of(p->r, SLOT_WRITE) == WRITE_ZERO_CODES)
        v = 0.0f;
    if (dtype == FP4_BF16) {
        half = (uint16_t)fp4a_to_bf16(v);
        memcpy(y + 2 * at, &half, 2);
        return;
    }
    word = fp4a_bits(fp4a_canonical(v));
    memcpy(y + 4 * at, &word, 4);
}

/* ---- the case ------------------------------------------------------------------------------------------------------------------------- */

static struct operand operand_of(const struct replay *r, const char *name, size_t lines, bool row_scaled)
{
    struct operand o = { .codes = replay_data(r, name, "-codes"),
                         .scales = replay_data(r, name, "-scale"),
                         .amax = replay_data(r, name, "-amax"),
                         .row_scaled = row_scaled,
                         .lines = lines };

    o.reordered = *name == 'a';
    o.scale_bytes = lines * (r->c->cols / 16);
    return o;
}

int replay_gemm(const struct replay *r, struct fp4_error *err)
{
    const struct fp4_case *c = r->c;
    const uint8_t *bias = replay_data(r, "bias", "");
    uint8_t *y = replay_data(r, "y", "");
    struct product p = { .r = r, .k = c->cols, .blocks = c->cols / 16 };

    if (case_is_layer(c))
        return fp4_fail(err, FP4_ESUPPORT, "layers are not replayed");
    p.a = operand_of(r, "a", c->rows, c->knob[KNOB_AMAX] == 1);
    p.b = operand_of(r, "b", c->depth, false);
    p.exact = slot_of(r, SLOT_SUM) ? slot_of(r, SLOT_SUM) == SUM_EXACT : c->knob[KNOB_SUM] == FP4_GEMM_EXACT;
    p.divided = c->knob[KNOB_FACTOR] == 1;
    p.te_ref = c->recipe == CR_TE_REF;
    if (slot_of(r, SLOT_WRITE) == WRITE_NO_CODES)
        return 0;
    for (size_t i = 0; i < c->rows; i++)
        for (size_t j = 0; j < c->depth; j++)
            finish(&p, bias, y, i * c->depth + j, j, scaled(&p, i, j, sum_of(&p, i, j)));
    return 0;
}

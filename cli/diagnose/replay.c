/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: a case in a dialect: converters, the generator, and the way to the other ops. */
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t *replay_data(const struct replay *r, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX + 4];

    snprintf(full, sizeof full, "%s%s", name, suffix);
    struct tensor *t = tensor_find(r->t, full);
    return t ? t->data : NULL;
}

static float widen(const uint8_t *data, enum fp4_dtype dtype, size_t i)
{
    uint32_t word;
    uint16_t half;

    if (dtype == FP4_F32) {
        memcpy(&word, data + 4 * i, sizeof word);
        return fp4a_float(word);
    }
    memcpy(&half, data + 2 * i, sizeof half);
    if (dtype == FP4_BF16)
        return fp4a_float((uint32_t)half << 16);
    float v = fp4a_from_f16(half);
    return fp4a_is_nan(v) ? fp4a_float(FP4_QNAN | (uint32_t)(half & 0x8000u) << 16) : v;
}

float replay_load(const struct replay *r, const uint8_t *data, enum fp4_dtype dtype, size_t i)
{
    float v = widen(data, dtype, i);

    if (fp4a_is_nan(v))
        return v;
    switch (slot_of(r, SLOT_LOAD)) {
    case LOAD_BF16:
        return fp4a_round_bf16(v);
    case LOAD_F16:
        return fp4a_from_f16(fp4a_to_f16(v));
    case LOAD_FLUSHED:
        return fp4a_abs(v) < 1.17549435e-38f ? fp4a_float(fp4a_bits(v) & 0x80000000u) : v;
    default:
        return v;
    }
}

size_t replay_index(const struct replay *r, size_t rows, size_t cols, size_t row, size_t col)
{
    size_t n = rows * cols;

    switch (slot_of(r, SLOT_LOAD)) {
    case LOAD_COLUMN_MAJOR:
        return col * rows + row;
    case LOAD_PITCH_128:
        return (row * ((cols + 127) / 128 * 128) + col) % n;
    case LOAD_PITCH_DOUBLE:
        return (row * 2 * cols + col) % n;
    default:
        return row * cols + col;
    }
}

/* ---- converters -------------------------------------------------------------------------------------------------------------- */

static uint32_t u32_at(const uint8_t *p, size_t i)
{
    uint32_t v;

    memcpy(&v, p + 4 * i, sizeof v);
    return v;
}

static uint64_t u64_at(const uint8_t *p, size_t i)
{
    uint64_t v;

    memcpy(&v, p + 8 * i, sizeof v);
    return v;
}

/* The factor of element col of a row: one of a pair, one coefficient, or none. */
static float factor_at(const struct replay *r, size_t row, size_t col)
{
    const uint8_t *scale = replay_data(r, "scale", ""), *coefficient = replay_data(r, "coefficient", "");
    unsigned odd = col & 1u;

    if (slot_of(r, SLOT_PAIR) == PAIR_EXCHANGED)
        odd = !odd;
    if (slot_of(r, SLOT_PAIR) == PAIR_FIRST)
        odd = 0;
    if (scale)
        return fp4a_float(u32_at(scale, 2 * row + odd));
    return coefficient ? widen(coefficient, r->c->knob[KNOB_COEF] ? FP4_BF16 : FP4_F32, row) : 1.0f;
}

static uint32_t converted(const struct replay *r, const uint8_t *x, const uint8_t *rbits, size_t row, size_t col)
{
    const struct fp4_case *c = r->c;
    size_t at = row * c->cols + col;
    float v = replay_load(r, x, c->dtype, replay_index(r, c->rows, c->cols, row, col)), y = v;
    bool scaled = c->op == OP_SR_BF16X4 || c->op == OP_SR_BF16X8 || (c->op == OP_SR_FP32X4 && !c->knob[KNOB_SCALE]);

    if (scaled)
        y = replay_product(r, v, factor_at(r, row, col),
                           c->op == OP_SR_BF16X8 && c->knob[KNOB_COEF] && r->model.rule != FP4_RS_FMA_FLOOR);
    if (c->op == OP_CVT_RN)
        return replay_nearest(r, y, v);
    return replay_random(r, y, v, u32_at(rbits, at / 4), (unsigned)(col % 4));
}

static int replay_converter(const struct replay *r, struct fp4_error *err)
{
    const struct fp4_case *c = r->c;
    const uint8_t *x = replay_data(r, "x", ""), *rbits = replay_data(r, "rbits", "");
    uint8_t *codes = malloc(c->rows * c->cols);

    if (!codes)
        return fp4_fail(err, FP4_EIO, "out of memory");
    for (size_t row = 0; row < c->rows; row++)
        for (size_t col = 0; col < c->cols; col++)
            codes[row * c->cols + col] = (uint8_t)converted(r, x, rbits, row, col);
    replay_pack(r, codes, c->rows, c->cols, replay_data(r, "codes", ""));
    free(codes);
    return 0;
}

/* ---- the generator ------------------------------------------------------------------------------------------------------------ */

static int replay_generator(const struct replay *r)
{
    const uint8_t *seed = replay_data(r, "seed", ""), *subsequence = replay_data(r, "subsequence", ""),
                  *offset = replay_data(r, "offset", "");
    uint8_t *words = replay_data(r, "words", "");
    bool counts_words = r->c->recipe == CR_CURAND && slot_of(r, SLOT_GENERATOR) != GENERATOR_OFFSET_BLOCKS;

    for (size_t row = 0; row < r->c->rows; row++) {
        struct word_at at = { u64_at(seed, row), u64_at(subsequence, row), u64_at(offset, row), 0,
                              knob_rounds(r->c->knob[KNOB_ROUNDS]) };
        size_t skip = 0;
        uint32_t block[4];

        if (counts_words) {
            skip = at.offset % 4;
            at.offset /= 4;
        }
        for (size_t i = 0; i < r->c->cols; i++) {
            if (i == 0 || (i + skip) % 4 == 0) {
                at.call = (i + skip) / 4;
                replay_philox(r, &at, block);
            }
            memcpy(words + 4 * (row * r->c->cols + i), &block[(i + skip) % 4], 4);
        }
    }
    return 0;
}

/* ---- a case -------------------------------------------------------------------------------------------------------------------- */

static struct fp4_rs_model model_in(const struct dialect *d, const struct fp4_case *c)
{
    struct fp4_rs_model m = rs_model_row(c->knob[KNOB_RS])->model;

    if (d->slot[SLOT_MODEL])
        m = fp4_rs_models[d->slot[SLOT_MODEL] - 1].model;
    if (d->slot[SLOT_RULE] && d->slot[SLOT_RULE] <= FP4_RS_RULE_COUNT)
        m.rule = (enum fp4_rs_rule)(d->slot[SLOT_RULE] - 1);
    if (d->slot[SLOT_MAP])
        m.map = (enum fp4_byte_map)(d->slot[SLOT_MAP] - 1);
    return m;
}

static float numerator_of(const struct dialect *d, const struct fp4_case *c)
{
    bool narrow = (c->op == OP_FOUR_OVER_SIX || c->op == OP_GEMM) && knob_bound(c->knob[KNOB_BOUND]) == 256;

    if (d->slot[SLOT_GLOBAL] == GLOBAL_BOUND)
        narrow = !narrow;
    return narrow ? 1536.0f : 2688.0f;
}

static void mark_written(struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_OUTPUT && t->t[i].data)
            t->t[i].written = true;
}

static struct dialect of_op(const struct dialect *d, enum fp4_op op)
{
    struct dialect own = *d;

    for (int i = 0; i < SLOT_COUNT; i++) {
        const struct deviation *row = own.slot[i] ? deviation_of((enum slot)i, own.slot[i]) : NULL;

        if (!row || !(row->ops >> op & 1u))
            own.slot[i] = 0;
    }
    return own;
}

int replay_case(const struct dialect *d, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const struct dialect own = of_op(d, c->op);
    const struct replay r = { &own, c, t, numerator_of(&own, c), model_in(&own, c) };
    int status;

    switch (c->op) {
    case OP_QUANTIZE:
    case OP_RHT_QUANTIZE:
    case OP_FOUR_OVER_SIX:
        status = replay_quantizer(&r, err);
        break;
    case OP_GEMM:
        status = replay_gemm(&r, err);
        break;
    case OP_DEQUANTIZE:
        status = replay_dequantize(&r);
        break;
    case OP_SWIZZLE:
        status = replay_swizzle(&r);
        break;
    case OP_PHILOX:
        status = replay_generator(&r);
        break;
    case OP_CVT_RN:
    case OP_CVT_RS:
    case OP_SR_BF16X4:
    case OP_SR_FP32X4:
    case OP_SR_BF16X8:
        status = replay_converter(&r, err);
        break;
    default:
        return fp4_fail(err, FP4_ESUPPORT, "this op is not replayed");
    }
    if (status == 0)
        mark_written(t);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* replay_dequantize.c: codes and scales back to numbers, right and wrong. */
#include "replay.h"

#include <string.h>

struct decoder {
    const struct replay *r;
    float factor; /* 1 / (6 * bound), rounded */
    float bound6; /* 6 * bound */
};

static float decoded_code(const struct replay *r, unsigned code)
{
    static const float wrong[2] = { 0.5f, 0.75f }; /* codes 0 and 1 without a subnormal branch */

    if (slot_of(r, SLOT_SCALE_READ) == READ_CODES_WRONG && (code & 7u) < 2)
        return code & 8u ? -wrong[code & 1u] : wrong[code & 1u];
    return fp4a_from_e2m1(code);
}

static float global_of(const struct decoder *d, float amax)
{
    switch (slot_of(d->r, SLOT_GLOBAL)) {
    case GLOBAL_INVERSE:
        return fp4a_div(1.0f, fp4a_mul(amax, d->factor));
    case GLOBAL_LEFT_OUT:
        return 1.0f;
    case GLOBAL_RECIPROCAL:
        return fp4a_div(1.0f, fp4a_div(d->bound6, amax));
    case GLOBAL_TWICE:
        return fp4a_mul(fp4a_mul(amax, d->factor), fp4a_mul(amax, d->factor));
    default:
        return fp4a_mul(amax, d->factor);
    }
}

static float value_of(const struct decoder *d, unsigned code, float sf, float amax)
{
    float q = decoded_code(d->r, code), scale;

    switch (slot_of(d->r, SLOT_GLOBAL)) {
    case GLOBAL_INVERSE:
    case GLOBAL_LEFT_OUT:
    case GLOBAL_RECIPROCAL:
    case GLOBAL_TWICE:
        return fp4a_mul(q, fp4a_mul(sf, global_of(d, amax)));
    default:
        break;
    }
    switch (slot_of(d->r, SLOT_FORMULA)) {
    case FORMULA_MULTIPLIED:
        return fp4a_mul(q, fp4a_mul(sf, fp4a_mul(amax, d->factor)));
    case FORMULA_DIVIDED:
        return fp4a_mul(q, fp4a_div(fp4a_mul(sf, amax), d->bound6));
    case FORMULA_LAST_DIVIDED:
        return fp4a_div(fp4a_mul(fp4a_mul(q, sf), amax), d->bound6);
    case FORMULA_BLOCK_MULTIPLIED:
        return fp4a_mul(fp4a_mul(q, sf), fp4a_mul(amax, d->factor));
    case FORMULA_BLOCK_DIVIDED:
        return fp4a_mul(q, fp4a_mul(sf, fp4a_div(amax, d->bound6)));
    default:
        scale = fp4a_mul(fp4a_mul(sf, amax), d->factor);
        if (slot_of(d->r, SLOT_RECIPROCAL) == RECIPROCAL_FLUSHED && fp4a_abs(scale) < 1.17549435e-38f)
            scale = 0.0f;
        return fp4a_mul(q, scale);
    }
}

static void store(const struct replay *r, uint8_t *out, size_t i, float v)
{
    uint32_t word;
    uint16_t half;

    v = fp4a_canonical(v);
    if (slot_of(r, SLOT_PRODUCT) == PRODUCT_BF16)
        v = fp4a_round_bf16(v);
    if (slot_of(r, SLOT_PRODUCT) == PRODUCT_F16)
        v = fp4a_from_f16(fp4a_to_f16(v));
    if (slot_of(r, SLOT_SIGN) && v == 0.0f)
        v = 0.0f;
    if (r->c->dtype == FP4_F32) {
        word = fp4a_bits(fp4a_canonical(v));
        if (slot_of(r, SLOT_SIGN) && !(word << 1))
            word = 0;
        memcpy(out + 4 * i, &word, 4);
        return;
    }
    half = (uint16_t)(r->c->dtype == FP4_F16 ? fp4a_to_f16(v) : fp4a_to_bf16(v));
    if (slot_of(r, SLOT_NEAREST) == NEAREST_TRUNCATED && r->c->dtype == FP4_BF16 && !fp4a_is_nan(v))
        half = (uint16_t)(fp4a_bits(v) >> 16);
    if (slot_of(r, SLOT_SIGN) && half == 0x8000u)
        half = 0;
    memcpy(out + 2 * i, &half, 2);
}

int replay_dequantize(const struct replay *r)
{
    const struct fp4_case *c = r->c;
    const struct tensor *scales = tensor_find(r->t, "scales");
    const uint8_t *codes = replay_data(r, "codes", ""), *amax = replay_data(r, "amax", "");
    uint8_t *out = replay_data(r, "dequantized", "");
    bool narrow = (knob_bound(c->knob[KNOB_BOUND]) == 256) != (slot_of(r, SLOT_GLOBAL) == GLOBAL_BOUND);
    const struct decoder d = { r, fp4a_float(narrow ? FP4_INV_1536 : FP4_INV_2688), narrow ? 1536.0f : 2688.0f };
    bool by_row = c->knob[KNOB_AMAX] == 1 && slot_of(r, SLOT_AMAX) != AMAX_SHARED;
    size_t blocks = c->cols / 16;

    if (slot_of(r, SLOT_WRITE) == WRITE_NO_CODES)
        return 0;
    for (size_t row = 0; row < c->rows; row++) {
        uint32_t bits;

        memcpy(&bits, amax + 4 * (by_row ? row : 0), 4);
        for (size_t col = 0; col < c->cols; col++) {
            size_t at = replay_scale_index(r, c->knob[KNOB_LAYOUT], c->rows, blocks, row, col / 16, scales->bytes);
            float v = value_of(&d, replay_code_at(r, codes, c->cols, row, col), replay_e4m3(r, scales->data[at]), fp4a_float(bits));

            store(r, out, row * c->cols + col, slot_of(r, SLOT_WRITE) == WRITE_ZERO_CODES ? 0.0f : v);
        }
    }
    return 0;
}

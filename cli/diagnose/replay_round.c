/* SPDX-License-Identifier: Apache-2.0 */
/* replay_round.c: from a scaled value to a code, right and wrong. */
#include "replay.h"

#include <math.h>

float replay_product(const struct replay *r, float x, float e, bool fused)
{
    unsigned how = slot_of(r, SLOT_PRODUCT);

    if (how == PRODUCT_PLUS_ZERO)
        fused = true;
    if (how == PRODUCT_PLAIN)
        fused = false;
    float y = fp4a_canonical(fused ? fp4a_fma(x, e, 0.0f) : fp4a_mul(x, e));
    if (how == PRODUCT_BF16)
        return fp4a_round_bf16(y);
    return how == PRODUCT_F16 ? fp4a_from_f16(fp4a_to_f16(y)) : y;
}

/* ---- the end: sign and special values ------------------------------------------------------------------------------------------ */

/* magnitude 8: one beyond the largest code, where nothing saturates it. */
static uint32_t finish(const struct replay *r, float y, float source, uint32_t magnitude)
{
    uint32_t sign = fp4a_bits(y) >> 28 & 8u;

    if (fp4a_is_nan(y)) {
        if (slot_of(r, SLOT_SPECIAL) == SPECIAL_NAN_ZERO || slot_of(r, SLOT_SPECIAL) == SPECIAL_NAN_INF_ZERO)
            return 0;
        return slot_of(r, SLOT_SPECIAL) == SPECIAL_NAN_SIGNED ? 7u | (fp4a_bits(source) >> 28 & 8u) : magnitude;
    }
    if (slot_of(r, SLOT_SPECIAL) == SPECIAL_NAN_INF_ZERO && (fp4a_bits(y) & 0x7FFFFFFFu) == 0x7F800000u)
        return 0;
    if (slot_of(r, SLOT_SPECIAL) == SPECIAL_INF_WRAPS && fp4a_abs(y) >= 7.0f)
        magnitude = 8;
    if (slot_of(r, SLOT_SIGN) == SIGN_COMPARED && y == 0.0f)
        sign = 0;
    if (slot_of(r, SLOT_SIGN) == SIGN_LOST_AT_ZERO && magnitude == 0)
        sign = 0;
    return (sign + magnitude) & 15u;
}

/* ---- nearest --------------------------------------------------------------------------------------------------------------------- */

static const float grid[9] = { 0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f, 8.0f };

/* The largest code whose value is not above a; a below 8. */
static uint32_t cell_of(float a)
{
    uint32_t c = 0;

    while (c < 7 && a >= grid[c + 1])
        c++;
    return c;
}

static uint32_t nearest_magnitude(unsigned how, float y)
{
    uint32_t bits = fp4a_bits(y) & 0x7FFFFFFFu, c;
    float a = fp4a_float(bits), middle;

    if (!how || a >= 6.0f)
        return fp4a_e2m1_index(bits);
    c = cell_of(a);
    middle = 0.5f * (grid[c] + grid[c + 1]);
    if (how == NEAREST_TRUNCATED || a < middle)
        return c;
    if (a > middle)
        return c + 1;
    bool away = how == NEAREST_AWAY || (how == NEAREST_UPWARD && !(fp4a_bits(y) >> 31));
    return c + away;
}

uint32_t replay_nearest(const struct replay *r, float y, float source)
{
    return finish(r, y, source, fp4a_is_nan(y) ? 7 : nearest_magnitude(slot_of(r, SLOT_NEAREST), y));
}

/* ---- stochastic ------------------------------------------------------------------------------------------------------------------- */

static uint32_t byte_for(const struct replay *r, uint32_t word, unsigned nibble)
{
    uint32_t b;

    switch (slot_of(r, SLOT_BYTE)) {
    case BYTE_SHARED:
        nibble = 0;
        break;
    case BYTE_NEXT:
        nibble = (nibble + 1) % 4;
        break;
    case BYTE_SHIFTED:
        word = word >> 4 | word << 28;
        break;
    default:
        break;
    }
    b = fp4_rs_model_byte(r->model, word, nibble);
    return slot_of(r, SLOT_BYTE) == BYTE_REVERSED ? fp4a_reverse8(b) : b;
}

/* Rule `half` without its maximum. */
static uint32_t unclamped(float a, uint32_t b)
{
    float u = a < 2.0f ? 0.5f : a < 4.0f ? 1.0f : 2.0f;

    return fp4a_e2m1_index(fp4a_bits(fp4a_abs(fp4a_add(a, fp4a_mul(((float)b - 127.5f) * 0.00390625f, u)))));
}

/* The grid of step 1 goes on above 4, and 5 has no code. */
static uint32_t step_of_one(float a, uint32_t b)
{
    float whole = (float)(uint32_t)a;

    if (256.0f * (a - whole) + (float)b >= 256.0f)
        whole += 1.0f;
    return fp4a_e2m1_index(fp4a_bits(whole));
}

/* Rules that no public model has. a below 6 (RULE_OVERFLOW: anything), b the random byte. */
static uint32_t odd_rule(unsigned rule, float a, uint32_t b, bool negative)
{
    uint32_t c = cell_of(a);
    double f = ((double)a - grid[c]) / ((double)grid[c + 1] - grid[c]); /* exact */

    switch (rule) {
    case RULE_UNCLAMPED:
        return unclamped(a, b);
    case RULE_OF_255:
        return c + (f * 255.0 + b >= 255.0);
    case RULE_PLUS_1:
        return c + (floor(f * 256.0) + b + 1.0 >= 256.0);
    case RULE_PLUS_HALF:
        return c + (f * 256.0 + b + 0.5 >= 256.0);
    case RULE_SIGNED:
        return c + (negative ? b < f * 256.0 : f * 256.0 + b >= 256.0);
    case RULE_STEP_1:
        return a >= 4.0f ? step_of_one(a, b) : c + (f * 256.0 + b >= 256.0);
    case RULE_DOWN:
        return c;
    case RULE_UP:
        return c + (f > 0);
    case RULE_COMPLEMENT:
        return c + (floor(f * 256.0) + (255.0 - b) >= 256.0);
    default: /* RULE_OVERFLOW, below 6 */
        return c + (floor(f * 256.0) + b >= 256.0);
    }
}

static uint32_t overflowing(float a, uint32_t b)
{
    if (a >= 8.0f)
        return 8;
    return 7u + ((uint32_t)((a - 6.0f) * 128.0f) + b >= 256);
}

uint32_t replay_random(const struct replay *r, float y, float source, uint32_t word, unsigned nibble)
{
    unsigned rule = slot_of(r, SLOT_RULE);
    float a = fp4a_abs(y);
    uint32_t b, code;

    if (rule == RULE_NEAREST)
        return replay_nearest(r, y, source);
    if (r->model.rule == FP4_RS_HASH32 && rule <= RULE_HASH32) {
        code = fp4a_rs_hash32(fp4a_bits(y), word, nibble);
        return fp4a_is_nan(y) && !slot_of(r, SLOT_SPECIAL) ? code : finish(r, y, source, code & 7u);
    }
    b = byte_for(r, word, nibble);
    if (rule <= RULE_HASH32) {
        code = fp4a_rs_byte_rule((int)r->model.rule, y, b);
        return fp4a_is_nan(y) && !slot_of(r, SLOT_SPECIAL) ? code : finish(r, y, source, code & 7u);
    }
    if (rule == RULE_OVERFLOW && a >= 6.0f)
        return finish(r, y, source, overflowing(a, b));
    if (fp4a_is_nan(y) || a >= 6.0f)
        return finish(r, y, source, 7);
    return finish(r, y, source, odd_rule(rule, a, b, fp4a_bits(y) >> 31));
}

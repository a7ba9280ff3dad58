/* SPDX-License-Identifier: Apache-2.0 */
/* replay_scale.c: from an amax to the scale byte and the factor of the elements, right and wrong. */
#include "replay.h"

#include "backend_rows.h"

#define FLT_BIG fp4a_float(FP4_FLT_MAX)

/* ---- the global scale ----------------------------------------------------------------------------------------------------------- */

static float quotient(const struct replay *r, unsigned how, float amax)
{
    switch (how) {
    case GLOBAL_RECIPROCAL:
        return fp4a_mul(fp4a_div(1.0f, amax), r->numerator);
    case GLOBAL_ONLY_448:
        return fp4a_div(r->numerator / 6.0f, amax);
    case GLOBAL_STEPS:
        return fp4a_mul(fp4a_div(r->numerator / 6.0f, amax), 6.0f);
    default:
        return fp4a_div(r->numerator, amax);
    }
}

static float of_nan(unsigned edge, enum chain_global global)
{
    if (edge == EDGE_NAN_ONE)
        return 1.0f;
    if (edge == EDGE_NAN_DROPPED)
        return FLT_BIG;
    if (edge == EDGE_NAN_KEPT)
        return fp4a_float(FP4_QNAN);
    if (global == GLOBAL_ROWCOL)
        return 1.0f;
    return global == GLOBAL_TE || global == GLOBAL_TOKEN || global == GLOBAL_INVERTED ? FLT_BIG : fp4a_float(FP4_QNAN);
}

static float of_zero(unsigned edge, enum chain_global global)
{
    if (global == GLOBAL_BARE)
        return fp4a_float(0x7F800000u);
    if (global == GLOBAL_TOKEN)
        return 0.0f;
    return edge == EDGE_ZERO_UNGUARDED || global == GLOBAL_TE_REF || global == GLOBAL_INVERTED ? FLT_BIG : 1.0f;
}

static float encode_scale(const struct replay *r, enum chain_global global, float amax)
{
    unsigned edge = slot_of(r, SLOT_GLOBAL_EDGE), how = slot_of(r, SLOT_GLOBAL);
    bool guarded = global != GLOBAL_ROWCOL && global != GLOBAL_INVERTED && global != GLOBAL_BARE;
    float s;

    if (fp4a_is_nan(amax))
        return of_nan(edge, global);
    if (amax == 0.0f)
        return of_zero(edge, global);
    if (global == GLOBAL_ROWCOL && amax < 0.0f)
        return 1.0f;
    s = quotient(r, !how && global == GLOBAL_INVERTED ? GLOBAL_RECIPROCAL : how, amax);
    if (edge != EDGE_UNCLAMPED && global != GLOBAL_BARE && s > FLT_BIG)
        s = FLT_BIG;
    return s == 0.0f && guarded && edge != EDGE_INF_UNGUARDED ? 1.0f : s;
}

struct globals replay_globals(const struct replay *r, const struct fp4_chain *ch, float amax)
{
    struct globals g = { fp4a_canonical(amax), encode_scale(r, ch->global, amax), 0.0f };

    if (slot_of(r, SLOT_GLOBAL) == GLOBAL_INVERSE)
        g.enc = fp4a_div(1.0f, g.enc);
    if (slot_of(r, SLOT_GLOBAL) == GLOBAL_TWICE)
        g.enc = fp4a_mul(g.enc, g.enc);
    if (slot_of(r, SLOT_GLOBAL) == GLOBAL_LEFT_OUT)
        g.enc = 1.0f;
    g.dec = fp4a_div(1.0f, g.enc);
    if (slot_of(r, SLOT_DECODE_SCALE) == DECODE_AMAX_DIVIDED)
        g.dec = fp4a_div(g.amax, r->numerator);
    if (slot_of(r, SLOT_DECODE_SCALE) == DECODE_AMAX_MULTIPLIED)
        g.dec = fp4a_mul(g.amax, fp4a_div(1.0f, r->numerator));
    return g;
}

/* ---- the scale byte --------------------------------------------------------------------------------------------------------------- */

static float formula(unsigned how, const struct globals *g, float b)
{
    float sixth = fp4a_float(FP4_SIXTH);

    switch (how) {
    case FORMULA_DIVIDED:
        return fp4a_mul(b, fp4a_div(g->enc, 6.0f));
    case FORMULA_BLOCK_DIVIDED:
        return fp4a_mul(fp4a_div(b, 6.0f), g->enc);
    case FORMULA_BLOCK_MULTIPLIED:
        return fp4a_mul(fp4a_mul(b, sixth), g->enc);
    case FORMULA_LAST_DIVIDED:
        return fp4a_div(fp4a_mul(b, g->enc), 6.0f);
    case FORMULA_DECODED:
        return fp4a_div(b, fp4a_mul(6.0f, g->dec));
    default:
        return fp4a_mul(b, fp4a_mul(g->enc, sixth));
    }
}

float replay_unrounded_scale(const struct replay *r, const struct fp4_chain *ch, const struct globals *g, float block_amax)
{
    unsigned how = slot_of(r, SLOT_FORMULA);
    unsigned usual = r->c->op == OP_FOUR_OVER_SIX ? FORMULA_BLOCK_DIVIDED
                     : ch->divide_by_six          ? FORMULA_DIVIDED
                                                  : FORMULA_MULTIPLIED;
    float d = formula(how ? how : usual, g, block_amax);

    return ch->keep_nan || r->c->op == OP_FOUR_OVER_SIX ? d : fp4a_min_drop(d, FLT_BIG);
}

static uint32_t to_e4m3(unsigned how, float v)
{
    uint32_t byte = fp4a_to_e4m3(v), sign = byte & 0x80u, lower;
    double a = (double)fp4a_abs(v), low, high;

    if (how == SCALE_BF16)
        return fp4a_to_e4m3(fp4a_round_bf16(v));
    if (how == SCALE_F16)
        return fp4a_to_e4m3(fp4a_from_f16(fp4a_to_f16(v)));
    if (how == SCALE_POWER)
        return byte < 8 ? byte : byte & ~7u;
    if (!how || fp4a_is_nan(v) || a >= 448.0)
        return byte;
    lower = byte & 0x7Fu;
    if ((double)fp4a_from_e4m3(lower) > a)
        lower--;
    low = (double)fp4a_from_e4m3(lower);
    high = (double)fp4a_from_e4m3(lower + 1);
    if (how == SCALE_UP)
        return sign | (lower + (a > low));
    if (how == SCALE_TO_ZERO)
        return sign | lower;
    if (a - low != high - a)
        return byte;
    return sign | (lower + (how == SCALE_TIES_AWAY));
}

uint32_t replay_scale_byte(const struct replay *r, const struct fp4_chain *ch, const struct globals *g, float block_amax)
{
    return replay_to_scale(r, replay_unrounded_scale(r, ch, g, block_amax), block_amax, g->enc);
}

uint32_t replay_to_scale(const struct replay *r, float d, float block_amax, float scale)
{
    unsigned edge = slot_of(r, SLOT_SCALE_EDGE);
    uint32_t byte;
    float a;

    if (edge == SCALE_ZERO_ONE && block_amax == 0.0f)
        d = scale; /* 1 in place of block_amax / 6 */
    a = fp4a_abs(d);
    byte = to_e4m3(slot_of(r, SLOT_SCALE_ROUND), d);
    switch (edge) {
    case SCALE_INF_NAN:
        return block_amax > FLT_BIG ? 0x7Fu : byte;
    case SCALE_UNSATURATED:
    case SCALE_ZERO_ONE:
        return a > 464.0f ? 0x7Fu : byte;
    case SCALE_FLUSHED:
        return (byte & 0x7Fu) < 8 ? 0u : byte;
    case SCALE_NAN_ZERO:
        return byte == 0x7Fu ? 0u : byte;
    case SCALE_ZERO_EPSILON:
        return byte ? byte : 1u;
    case SCALE_AT_256:
        return byte > 0x78u && byte != 0x7Fu ? 0x78u : byte;
    default:
        return byte;
    }
}

/* ---- the factor of the elements ------------------------------------------------------------------------------------------------------ */

float replay_e4m3(const struct replay *r, uint32_t byte)
{
    uint32_t e = byte >> 3 & 15u;

    if (slot_of(r, SLOT_SCALE_READ) == READ_SUBNORMALS_WRONG && e == 0 && byte & 7u)
        return (byte & 0x80u ? -1.0f : 1.0f) * (float)(8 + (byte & 7u)) * 0.0009765625f; /* as if 2^(e-10) held for e = 0 */
    if (slot_of(r, SLOT_SCALE_READ) == READ_UNSIGNED)
        byte &= 0x7Fu;
    return fp4a_from_e4m3(byte);
}

static float approximate(const struct fp4_chain *ch, float q)
{
    return fp4_rcp_approx_ftz(q, ch->rcp_table ? ch->rcp_table : rcp_table_h200(NULL));
}

/* Without its clamp. */
static float inverse(const struct replay *r, const struct fp4_chain *ch, const struct globals *g, float sf)
{
    float q = fp4a_mul(sf, g->dec);

    switch (slot_of(r, SLOT_RECIPROCAL)) {
    case RECIPROCAL_OF_QUOTIENT:
        return fp4a_div(g->enc, sf);
    case RECIPROCAL_OF_SCALE:
        return fp4a_mul(fp4a_div(1.0f, sf), g->enc);
    case RECIPROCAL_APPROXIMATE:
        return approximate(ch, q);
    case RECIPROCAL_IEEE:
        return fp4a_div(1.0f, q);
    case RECIPROCAL_FLUSHED:
        return fp4a_div(1.0f, fp4a_abs(q) < 1.17549435e-38f ? 0.0f : q);
    default:
        return ch->element == ELEMENT_APPROX ? approximate(ch, q) : fp4a_div(1.0f, q);
    }
}

static float clamped(const struct replay *r, const struct fp4_chain *ch, float e, bool branch)
{
    switch (slot_of(r, SLOT_CLAMP)) {
    case CLAMP_NONE:
        return e;
    case CLAMP_BRANCH: /* q == 0 ? FLT_MAX : 1 / q */
        return branch ? FLT_BIG : e;
    case CLAMP_NAN_DROPPED:
        return fp4a_min_drop(e, FLT_BIG);
    default:
        return ch->keep_nan ? fp4a_min_keep(e, FLT_BIG) : fp4a_min_drop(e, FLT_BIG);
    }
}

struct element_scale replay_element_scale(const struct replay *r, const struct fp4_chain *ch, const struct globals *g,
                                          float block_amax, uint32_t byte)
{
    float sf = slot_of(r, SLOT_SCALE_READ) == READ_UNROUNDED ? replay_unrounded_scale(r, ch, g, block_amax) : replay_e4m3(r, byte);
    struct element_scale s = { .zeros = slot_of(r, SLOT_CLAMP) == CLAMP_ZEROS && sf == 0.0f };

    if (slot_of(r, SLOT_RECIPROCAL) == RECIPROCAL_DIVISION) {
        s.divide = true;
        s.e = fp4a_mul(sf, g->dec);
    } else if (ch->element == ELEMENT_BF16 && !slot_of(r, SLOT_RECIPROCAL)) {
        s.e = fp4a_round_bf16(fp4a_min_drop(fp4a_div(g->enc, sf), fp4a_float(FP4_BF16_MAX)));
    } else {
        s.e = clamped(r, ch, inverse(r, ch, g, sf), fp4a_mul(sf, g->dec) == 0.0f);
    }
    return s;
}

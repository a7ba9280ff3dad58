/* SPDX-License-Identifier: Apache-2.0 */
/* explain_round.c: the boundaries around a value, how far they are, and what other ways of rounding would make of it. */
#include "explain.h"
#include "scale_rules.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const float e2m1_midpoints[] = { 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f };
enum { MIDPOINTS = 7 };

static uint32_t ulps_between(float a, float b)
{
    return fp4_f32_bits(a > b ? a : b) - fp4_f32_bits(a > b ? b : a); /* neither is negative */
}

/* "0.75 is 3 ulps (1.8e-07) below" */
static void distance(struct explain *e, const char *between, float v, float boundary)
{
    uint32_t ulps = ulps_between(v, boundary);

    explain_remark(e, "%s%.9g is %" PRIu32 " ulp%s (%.3g) %s", between, (double)boundary, ulps, ulps == 1 ? "" : "s",
                   fabs((double)v - (double)boundary), boundary < v ? "below" : "above");
}

static void boundaries(struct explain *e, float v, bool tie, float at, bool has_below, float below, bool has_above, float above)
{
    explain_note(e, "boundaries", "%s", "");
    if (tie) {
        explain_remark(e, "exactly on %.9g: a tie", (double)at);
        return;
    }
    if (has_below)
        distance(e, "", v, below);
    if (has_above)
        distance(e, has_below ? ", " : "", v, above);
    if (!has_above)
        explain_remark(e, "%sabove that all saturates", has_below ? ", " : "");
}

/* ---- E2M1 ------------------------------------------------------------------------------------------------------------------------------ */

static unsigned code_ties(float y, int away)
{
    float a = fabsf(y);
    unsigned code = 0, sign = fp4_f32_bits(y) >> 28 & 8u;

    while (code < MIDPOINTS && (a > e2m1_midpoints[code] || (away && a == e2m1_midpoints[code])))
        code++;
    return code | sign;
}

static void other_code(struct explain *e, unsigned code, unsigned other, const char *rule)
{
    if (other != code)
        explain_note(e, "other rule", "%s: code %x", rule, other);
}

void explain_e2m1_nearest(struct explain *e, float y)
{
    float a = fabsf(y);
    unsigned code = f32_to_e2m1(y).bits;
    size_t i = 0;

    if (y != y) {
        explain_note(e, "boundaries", "NaN: code 7 whatever its sign; code %x if the sign is kept, 0 if a NaN is dropped",
                     7u | (fp4_f32_bits(y) >> 28 & 8u));
        return;
    }
    while (i < MIDPOINTS && a > e2m1_midpoints[i])
        i++;
    boundaries(e, a, i < MIDPOINTS && a == e2m1_midpoints[i], i < MIDPOINTS ? e2m1_midpoints[i] : 0.0f, i > 0,
               i > 0 ? e2m1_midpoints[i - 1] : 0.0f, i < MIDPOINTS, i < MIDPOINTS ? e2m1_midpoints[i] : 0.0f);
    other_code(e, code, code_ties(y, 1), "ties away from zero");
    other_code(e, code, code_ties(y, 0), "ties toward zero");
    other_code(e, code, f32_to_e2m1(bf16_to_f32(f32_to_bf16(y))).bits, "rounded to bf16 first");
    other_code(e, code, f32_to_e2m1(f16_to_f32(f32_to_f16(y))).bits, "rounded to f16 first");
    if (code == 8)
        explain_note(e, "other rule", "sign dropped when the result is zero: code 0");
}

static void explain_threshold(struct explain *e, struct fp4_rs_model model, float y, unsigned byte)
{
    static const float grid[] = { 0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f };
    float a = fabsf(y);
    unsigned low = 0, up;
    double f;
    int rule;

    if (!(a < 6.0f)) {
        explain_note(e, "threshold", "%s: the same code for every byte", y != y ? "NaN" : "6 or more");
        return;
    }
    while (a >= grid[low + 1])
        low++;
    f = 256.0 * ((double)a - (double)grid[low]) / ((double)grid[low + 1] - (double)grid[low]);
    up = stat_bytes_up(model.rule, y);
    explain_note(e, "cell", "%g to %g, 256 * fraction = %.9g (n = %d, rest %.3g)", (double)grid[low], (double)grid[low + 1], f,
                 (int)f, f - (int)f);
    if (up)
        explain_note(e, "threshold", "rule %s: up for %u of 256 bytes, 0x%02x and more; byte 0x%02x goes %s",
                     rs_rule_name(model.rule), up, 256 - up, byte, byte >= 256 - up ? "up" : "down");
    else
        explain_note(e, "threshold", "rule %s: up for no byte; byte 0x%02x goes down", rs_rule_name(model.rule), byte);
    for (rule = 0; rule < FP4_RS_HASH32; rule++) {
        unsigned other = stat_bytes_up((enum fp4_rs_rule)rule, y);

        if (other != up)
            explain_note(e, "other rule", "%s: up for %u of 256 bytes; byte 0x%02x goes %s", rs_rule_name((enum fp4_rs_rule)rule),
                         other, byte, byte >= 256 - other ? "up" : "down");
    }
}

static void explain_bits(struct explain *e, struct fp4_rs_model model, unsigned nibble)
{
    unsigned j;

    if (model.map != FP4_MAP_CUSTOM) {
        struct fp4_rs_map bits;

        fp4_rs_map_expand(model.map, &bits);
        explain_remark(e, "nibble %u takes byte %u%s of the word (map %s)", nibble, bits.source[nibble][0] / 8,
                       bits.source[nibble][0] > bits.source[nibble][7] ? ", bits reversed," : "", rs_map_name(model.map));
        return;
    }
    explain_remark(e, "nibble %u takes bits", nibble);
    for (j = 0; j < 8; j++)
        if (model.custom->source[nibble][j] < 32)
            explain_remark(e, " %u", model.custom->source[nibble][j]);
        else
            explain_remark(e, " -");
    explain_remark(e, " (weight 1 first)");
}

void explain_e2m1_stochastic(struct explain *e, float y, uint32_t word, unsigned nibble)
{
    const struct fp4_rs_model_row *row = rs_model_row(e->c.knob[KNOB_RS]);
    unsigned byte;

    if (row->model.rule == FP4_RS_HASH32) {
        explain_value(e, "lane hash", FP4_U32, fp4_rs_hash32(word, nibble), "goes up when below 2^32 * fraction of the cell");
        return;
    }
    byte = fp4_rs_model_byte(row->model, word, nibble);
    explain_value(e, "random byte", FP4_U8, byte, "%s", "");
    explain_bits(e, row->model, nibble);
    explain_remark(e, ", rs-model %s", row->name);
    explain_threshold(e, row->model, y, byte);
}

/* ---- E4M3 -------------------------------------------------------------------------------------------------------------------------------- */

void explain_e4m3(struct explain *e, float v)
{
    unsigned byte = f32_to_e4m3(v).bits, low;
    float at, below = 0, above = 0, edge;
    int r;

    if (v != v || v < 0)
        return;
    if (v >= 448.0f) {
        explain_note(e, "boundaries", "448 or more: saturates (7e); %s",
                     v > 464.0f ? "an encoder without saturation gives NaN (7f)" : "up to 464 the nearest is 448 anyway");
        return;
    }
    at = e4m3_to_f32((e4m3_t){ (uint8_t)byte });
    low = at > v ? byte - 1 : byte;
    edge = (e4m3_to_f32((e4m3_t){ (uint8_t)low }) + e4m3_to_f32((e4m3_t){ (uint8_t)(low + 1) })) * 0.5f;
    if (byte > 0)
        below = byte == low ? (e4m3_to_f32((e4m3_t){ (uint8_t)(low ? low - 1 : 0) }) + at) * 0.5f : edge;
    above = byte == low ? edge : (at + e4m3_to_f32((e4m3_t){ (uint8_t)(byte + 1) })) * 0.5f;
    boundaries(e, v, v == edge, edge, byte > 0, below, byte < 0x7E, above);
    for (r = 1; r < SCALE_ROUNDINGS; r++)
        if (scale_round(v, r) != byte)
            explain_note(e, "other rule", "scale rounded %s: 0x%02x", scale_roundings[r], scale_round(v, r));
}

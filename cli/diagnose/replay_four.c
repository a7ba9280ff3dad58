/* SPDX-License-Identifier: Apache-2.0 */
/* replay_four.c: the two candidates of four-over-six, their errors and the pick, right and wrong. */
#include "replay_plane.h"

#include "case_build.h"

#include <string.h>

struct candidate { /* one of the two, over the lines of the block */
    uint32_t byte;
    float f; /* its value */
    uint8_t code[16][16];
    float difference[16][16];
};

void replay_four_chain(struct plane *p)
{
    struct fp4_four_params params;

    case_four_params(p->r->c, &params);
    p->four = four_chain_of(&params);
    p->chain = p->four.chain;
}

/* ---- errors ----------------------------------------------------------------------------------------------------------------------- */

static float value_of(const struct plane *p, const struct globals *g, float q, float f)
{
    float v = fp4a_mul(q, f), numerator = p->r->numerator;

    switch (slot_of(p->r, SLOT_ERROR)) {
    case ERROR_TIMES:
        return fp4a_mul(fp4a_mul(v, g->amax), fp4a_div(1.0f, numerator));
    case ERROR_DECODE:
        return fp4a_mul(v, g->dec);
    case ERROR_DEQUANTIZER:
        return fp4a_mul(q, fp4a_mul(fp4a_mul(f, g->amax), fp4a_div(1.0f, numerator)));
    case ERROR_DIVIDED_FIRST:
        return fp4a_mul(fp4a_div(v, numerator), g->amax);
    case ERROR_BOUND:
        return fp4a_div(fp4a_mul(v, g->amax), numerator == 2688.0f ? 1536.0f : 2688.0f);
    default:
        return fp4a_div(fp4a_mul(v, g->amax), numerator);
    }
}

static float difference_of(const struct plane *p, const struct globals *g, float q, float f, float x)
{
    unsigned how = slot_of(p->r, SLOT_ERROR);
    enum four_value usual = p->four.value;

    if (how == ERROR_SCALED || (!how && usual == FOUR_VALUE_SCALED))
        return fp4a_add(fp4a_mul(q, f), -fp4a_mul(x, g->enc));
    if (!how && usual == FOUR_VALUE_DECODE)
        return fp4a_add(fp4a_mul(fp4a_mul(q, f), g->dec), -x);
    return fp4a_add(value_of(p, g, q, f), -x);
}

static float term(const struct plane *p, float d)
{
    bool mse = p->four.mse != (slot_of(p->r, SLOT_METRIC) == METRIC_EXCHANGED);

    return mse ? fp4a_mul(d, d) : fp4a_abs(d);
}

static float step(const struct plane *p, float sum, float d)
{
    bool mse = p->four.mse != (slot_of(p->r, SLOT_METRIC) == METRIC_EXCHANGED), fused = p->four.fused;

    if (slot_of(p->r, SLOT_ERROR_SUM) == ERRORS_FUSED)
        fused = true;
    if (slot_of(p->r, SLOT_ERROR_SUM) == ERRORS_UNFUSED)
        fused = false;
    return mse && fused ? fp4a_fma(d, d, sum) : fp4a_add(sum, term(p, d));
}

static float pairwise(const struct plane *p, const float d[16])
{
    float e[16];

    for (int i = 0; i < 16; i++)
        e[i] = term(p, d[i]);
    for (int n = 16; n > 1; n /= 2)
        for (int i = 0; i < n / 2; i++)
            e[i] = fp4a_add(e[2 * i], e[2 * i + 1]);
    return e[0];
}

static float sum_of(const struct plane *p, const float d[16])
{
    float e = 0.0f, second = 0.0f;

    switch (slot_of(p->r, SLOT_ERROR_SUM)) {
    case ERRORS_PAIRWISE:
        return pairwise(p, d);
    case ERRORS_HALVES:
        for (int i = 0; i < 8; i++) {
            e = step(p, e, d[i]);
            second = step(p, second, d[i + 8]);
        }
        return fp4a_add(e, second);
    case ERRORS_REVERSED:
        for (int i = 15; i >= 0; i--)
            e = step(p, e, d[i]);
        return e;
    default:
        for (int i = 0; i < 16; i++)
            e = step(p, e, d[i]);
        return e;
    }
}

static float error_of(const struct plane *p, const struct candidate *c, size_t height)
{
    bool turned = slot_of(p->r, SLOT_TILE) == TILE_OTHER_AXIS;
    float line[16], d[16], serial = 0.0f;

    for (size_t i = 0; i < height; i++) {
        for (size_t k = 0; k < 16; k++)
            d[k] = turned && height == 16 ? c->difference[k][i] : c->difference[i][k];
        line[i] = sum_of(p, d);
        serial = fp4a_add(serial, line[i]);
    }
    if (height == 1)
        return line[0];
    return slot_of(p->r, SLOT_TILE) == TILE_SERIAL ? serial : four_tree_sum(line);
}

static int pick(const struct plane *p, float error6, float error4)
{
    switch (slot_of(p->r, SLOT_PICK)) {
    case PICK_TIES_TO_4:
        return error4 <= error6 ? FP4_MAP_TO_4 : FP4_MAP_TO_6;
    case PICK_6:
        return FP4_MAP_TO_6;
    case PICK_4:
        return FP4_MAP_TO_4;
    case PICK_WORSE:
        return error4 > error6 ? FP4_MAP_TO_4 : FP4_MAP_TO_6;
    default:
        return four_pick(error6, error4);
    }
}

/* ---- a block ------------------------------------------------------------------------------------------------------------------------ */

static void encode(const struct plane *p, const struct globals *g, size_t line, size_t height, size_t b, bool zeros,
                   struct candidate *c)
{
    float amax = p->block_amax[line * p->blocks + b];
    const struct element_scale s = replay_element_scale(p->r, &p->chain, g, amax, c->byte);

    c->f = replay_e4m3(p->r, c->byte);
    for (size_t i = 0; i < height; i++)
        for (size_t k = 0; k < 16; k++) {
            float x = p->v[(line + i) * p->packed + 16 * b + k], y;

            y = zeros ? 0.0f : s.divide ? fp4a_canonical(fp4a_div(x, s.e)) : replay_product(p->r, x, s.e, false);
            c->code[i][k] = s.zeros ? 0 : (uint8_t)chain_code(&p->chain, y, replay_nearest(p->r, y, x));
            c->difference[i][k] = difference_of(p, g, fp4a_from_e2m1(c->code[i][k]), c->f, x);
        }
}

/* The bytes of both candidates: base, and base times 1.5, each rounded on its own. */
static void scale_pair(const struct plane *p, const struct globals *g, float amax, uint32_t byte[2])
{
    float base = replay_unrounded_scale(p->r, &p->chain, g, amax);

    byte[FP4_MAP_TO_6] = replay_to_scale(p->r, base, amax, g->enc);
    if (slot_of(p->r, SLOT_CANDIDATE) == CANDIDATE_FROM_BYTE)
        base = fp4a_from_e4m3(byte[FP4_MAP_TO_6]);
    byte[FP4_MAP_TO_4] = replay_to_scale(p->r, fp4a_mul(base, 1.5f), amax, g->enc);
}

void replay_four_block(const struct plane *p, const struct globals *g, size_t line, size_t b)
{
    size_t height = plane_has_tiles(p) ? 16 : 1;
    float amax = p->block_amax[line * p->blocks + b];
    bool zeros = (p->four.zero_block && amax == 0.0f) || (p->four.zero_amax && g->amax == 0.0f);
    struct candidate c[2];
    uint32_t byte[2];

    scale_pair(p, g, amax, byte);
    for (int i = 0; i < 2; i++) {
        c[i].byte = zeros ? 0 : byte[i];
        encode(p, g, line, height, b, zeros, &c[i]);
    }
    const struct candidate *chosen = &c[pick(p, error_of(p, &c[FP4_MAP_TO_6], height), error_of(p, &c[FP4_MAP_TO_4], height))];
    for (size_t i = 0; i < height; i++) {
        p->scale[(line + i) * p->blocks + b] = (uint8_t)chosen->byte;
        memcpy(p->code + (line + i) * p->packed + 16 * b, chosen->code[i], 16);
    }
}

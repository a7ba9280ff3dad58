/* SPDX-License-Identifier: Apache-2.0 */
/* replay_transform.c: the Hadamard transform of rht-quantize, right and wrong. */
#include "replay.h"

#include "backend_rows.h"

#include <string.h>

static uint16_t reversed16(uint16_t v)
{
    return (uint16_t)(fp4a_reverse8(v & 255u) << 8 | fp4a_reverse8(v >> 8));
}

static uint16_t signs_in(const struct replay *r, uint16_t mask)
{
    switch (slot_of(r, SLOT_SIGNS)) {
    case SIGNS_NONE:
        return 0;
    case SIGNS_REVERSED:
        return reversed16(mask);
    case SIGNS_INVERTED:
        return (uint16_t)~mask;
    default:
        return mask;
    }
}

/* Row n of the Sylvester matrix has as many sign changes as the Gray code of the reversed n says: place of sequency k. */
static unsigned sequency_row(unsigned k)
{
    unsigned gray = k ^ k >> 1;

    return fp4a_reverse8(gray) >> 4;
}

static void reorder(float v[16])
{
    float from[16];

    memcpy(from, v, sizeof from);
    for (unsigned k = 0; k < 16; k++)
        v[k] = from[sequency_row(k)];
}

/* A canonical NaN stays one. */
static float cut_to_bf16(float v)
{
    return fp4a_from_bf16(fp4a_bits(v) >> 16);
}

static float trip(const struct replay *r, float v, bool due)
{
    switch (slot_of(r, SLOT_TRIP)) {
    case TRIP_LEFT_OUT:
        return v;
    case TRIP_TRUNCATED:
        return due ? cut_to_bf16(v) : v;
    case TRIP_ADDED:
        return fp4a_round_bf16(v);
    case TRIP_F16:
        return due ? fp4a_from_f16(fp4a_to_f16(v)) : v;
    default:
        return due ? fp4a_round_bf16(v) : v;
    }
}

struct group_of {
    uint16_t mask;
    bool inverse, due;
    enum fp4_rht_sum sum;
};

static void transform_group(const struct replay *r, const struct group_of *how, const float in[16], float out[16])
{
    static const float factors[] = { 1.0f, [FACTOR_ONE] = 4.0f, [FACTOR_TWICE] = 0.25f };

    fp4_rht_group(in, how->mask, how->inverse, how->sum, out);
    if (slot_of(r, SLOT_HADAMARD) == HADAMARD_SEQUENCY)
        reorder(out);
    for (unsigned k = 0; k < 16; k++)
        out[k] = trip(r, fp4a_canonical(fp4a_mul(out[k], factors[slot_of(r, SLOT_FACTOR)])), how->due);
}

static float loaded(const struct replay *r, const uint8_t *x, size_t rows, size_t cols, size_t row, size_t col)
{
    return fp4a_canonical(replay_load(r, x, FP4_BF16, replay_index(r, rows, cols, row, col)));
}

/* A group along the features of one token; its sums go where those features' values of that token belong. */
static void transform_features(const struct replay *r, const struct group_of *how, const uint8_t *x, size_t rows, size_t cols,
                               float *out)
{
    float in[16], v[16];

    for (size_t row = 0; row < rows; row++)
        for (size_t g = 0; g + 16 <= cols; g += 16) {
            for (size_t k = 0; k < 16; k++)
                in[k] = loaded(r, x, rows, cols, row, g + k);
            transform_group(r, how, in, v);
            for (size_t k = 0; k < 16; k++)
                out[(g + k) * rows + row] = v[k];
        }
}

static void transform_tokens(const struct replay *r, const struct group_of *how, const uint8_t *x, size_t rows, size_t cols,
                             float *out)
{
    size_t shift = slot_of(r, SLOT_HADAMARD) == HADAMARD_SHIFTED ? 8 : 0;
    float in[16], v[16];

    for (size_t col = 0; col < cols; col++)
        for (size_t g = 0; g < rows; g += 16) {
            for (size_t k = 0; k < 16; k++)
                in[k] = loaded(r, x, rows, cols, (g + k + shift) % rows, col);
            transform_group(r, how, in, v);
            for (size_t k = 0; k < 16; k++)
                out[col * rows + (g + k + shift) % rows] = v[k];
        }
}

static void copy_transposed(const struct replay *r, const uint8_t *x, size_t rows, size_t cols, float *out)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t col = 0; col < cols; col++)
            out[col * rows + row] = loaded(r, x, rows, cols, row, col);
}

void replay_transform(const struct replay *r, const uint8_t *x, size_t rows, size_t cols, float *out)
{
    struct fp4_rht_params p;

    rht_params_of(r->c, &p);
    const struct group_of how = { signs_in(r, p.sign_mask), p.inverse != (slot_of(r, SLOT_SIGNS) == SIGNS_OTHER_SIDE),
                                  p.bf16_round_trip, slot_of(r, SLOT_SUM) ? (enum fp4_rht_sum)(slot_of(r, SLOT_SUM) - 1) : p.sum };
    if (slot_of(r, SLOT_HADAMARD) == HADAMARD_LEFT_OUT)
        copy_transposed(r, x, rows, cols, out);
    else if (slot_of(r, SLOT_HADAMARD) == HADAMARD_FEATURES && cols % 16 == 0)
        transform_features(r, &how, x, rows, cols, out);
    else
        transform_tokens(r, &how, x, rows, cols, out);
}

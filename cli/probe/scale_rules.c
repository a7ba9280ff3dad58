/* SPDX-License-Identifier: Apache-2.0 */
#include "scale_rules.h"

static const float sixth = 1.0f / 6.0f;

static float order_mult(float v, float s)
{
    float m = s * sixth;
    return v * m;
}
static float order_s_by_six(float v, float s)
{
    float m = s / 6.0f;
    return v * m;
}
static float order_v_by_six(float v, float s)
{
    float m = v / 6.0f;
    return m * s;
}
static float order_v_sixth(float v, float s)
{
    float m = v * sixth;
    return m * s;
}
static float order_divided(float v, float s)
{
    float d = 1.0f / s, m = 6.0f * d;
    return v / m;
}

const struct scale_order scale_orders[SCALE_ORDERS] = { { "amax * (S * (1/6))", order_mult },
                                                        { "amax * (S / 6)", order_s_by_six },
                                                        { "(amax / 6) * S", order_v_by_six },
                                                        { "(amax * (1/6)) * S", order_v_sixth },
                                                        { "amax / (6 * (1/S))", order_divided } };
const char *const scale_roundings[SCALE_ROUNDINGS] = { "nearest even", "nearest away", "nearest down", "up", "down" };

unsigned scale_round(float v, int rounding)
{
    unsigned down, near = f32_to_e4m3(v).bits;
    float at, next;

    if (!(v < 448.0f))
        return near;
    down = e4m3_to_f32((e4m3_t){ (uint8_t)near }) > v ? near - 1 : near;
    at = e4m3_to_f32((e4m3_t){ (uint8_t)down });
    if (at == v || rounding == 0)
        return near;
    next = e4m3_to_f32((e4m3_t){ (uint8_t)(down + 1) });
    if (rounding == 3)
        return down + 1;
    if (rounding == 4)
        return down;
    if ((double)v - (double)at == (double)next - (double)v)
        return rounding == 1 ? down + 1 : down;
    return near;
}

const char *const element_rules[ELEMENT_RULES] = { "1 / (scale * (1/S))",
                                                   "S / scale",
                                                   "1 / (scale * (1/S)), approximate reciprocal (table of an H200)",
                                                   "1 / (scale * (A/2688))",
                                                   "1 / (scale * (A * (1/2688)))",
                                                   "x / (scale * (1/S))" };

float element_scaled(enum element_rule how, float x, unsigned byte, float a, float s, const int8_t *table)
{
    float sf = e4m3_to_f32((e4m3_t){ (uint8_t)byte });
    float dec = how == RCP_DEC_DIVIDED ? a / 2688.0f : how == RCP_DEC_SCALED ? a * (1.0f / 2688.0f) : 1.0f / s;
    float q = sf * dec, e;

    if (how == RCP_X_DIVIDED)
        return x / q;
    e = how == RCP_DIVIDE_S ? s / sf : how == RCP_APPROX ? fp4_rcp_approx_ftz(q, table) : 1.0f / q;
    return x * e;
}

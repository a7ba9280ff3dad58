/* SPDX-License-Identifier: Apache-2.0 */
/* cvt-rn, cvt-rs with every public model of its random bits, and TE's four stochastic helpers. */
#include "fp4arith.h"
#include "fp4ref.h"

uint8_t fp4_cvt_rn_e2m1x2(float a, float b)
{
    return (uint8_t)(fp4a_to_e2m1(a) << 4 | fp4a_to_e2m1(b));
}

uint16_t fp4_cvt_rn_e2m1x4(float a, float b, float e, float f)
{
    return (uint16_t)((uint32_t)fp4_cvt_rn_e2m1x2(a, b) << 8 | fp4_cvt_rn_e2m1x2(e, f));
}

uint16_t fp4_cvt_rn_e4m3x2(float a, float b)
{
    return (uint16_t)(fp4a_to_e4m3(a) << 8 | fp4a_to_e4m3(b));
}

#define MODEL(name, rule, map, note)          \
    {                                         \
        name, { rule, map, NULL }, true, note \
    }
#define COMBINATION(name, rule, map)         \
    {                                        \
        name, { rule, map, NULL }, false, "" \
    }

const struct fp4_rs_model_row fp4_rs_models[] = {
    MODEL("b300", FP4_RS_TRUNC, FP4_MAP_B300, "published exhaustive probe of a B300 (sm_103a): the only measured one"),
    MODEL("ptx-x", FP4_RS_TRUNC, FP4_MAP_PTX_X, "fits the PTX text; candidate for sm_100a, not measured"),
    MODEL("ptx-y", FP4_RS_TRUNC, FP4_MAP_PTX_Y, "fits the PTX text; candidate for sm_100a, not measured"),
    MODEL("straight", FP4_RS_TRUNC, FP4_MAP_STRAIGHT, "quack's software version; candidate for sm_100a, not measured"),
    MODEL("te-soft", FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT, "Transformer Engine where the instruction is missing"),
    MODEL("fp4sm120", FP4_RS_HALF, FP4_MAP_REVERSE, "the public SM120 port, current"),
    MODEL("fp4sm120-old", FP4_RS_HALF_OLD, FP4_MAP_REVERSE, "the public SM120 port before its noise was centred"),
    MODEL("hash32", FP4_RS_HASH32, FP4_MAP_STRAIGHT, "the public SM120 port's software variant: same distribution, other numbers"),
    COMBINATION("trunc+reverse", FP4_RS_TRUNC, FP4_MAP_REVERSE),
    COMBINATION("half+b300", FP4_RS_HALF, FP4_MAP_B300),
    COMBINATION("half+ptx-x", FP4_RS_HALF, FP4_MAP_PTX_X),
    COMBINATION("half+ptx-y", FP4_RS_HALF, FP4_MAP_PTX_Y),
    COMBINATION("half+straight", FP4_RS_HALF, FP4_MAP_STRAIGHT),
    COMBINATION("half-old+b300", FP4_RS_HALF_OLD, FP4_MAP_B300),
    COMBINATION("half-old+ptx-x", FP4_RS_HALF_OLD, FP4_MAP_PTX_X),
    COMBINATION("half-old+ptx-y", FP4_RS_HALF_OLD, FP4_MAP_PTX_Y),
    COMBINATION("half-old+straight", FP4_RS_HALF_OLD, FP4_MAP_STRAIGHT),
    COMBINATION("fma-floor+b300", FP4_RS_FMA_FLOOR, FP4_MAP_B300),
    COMBINATION("fma-floor+ptx-x", FP4_RS_FMA_FLOOR, FP4_MAP_PTX_X),
    COMBINATION("fma-floor+ptx-y", FP4_RS_FMA_FLOOR, FP4_MAP_PTX_Y),
    COMBINATION("fma-floor+reverse", FP4_RS_FMA_FLOOR, FP4_MAP_REVERSE),
};

const size_t fp4_rs_model_count = sizeof fp4_rs_models / sizeof fp4_rs_models[0];

uint8_t fp4_rs_byte(enum fp4_byte_map map, uint32_t rbits, unsigned nibble)
{
    return (uint8_t)fp4a_map_byte((int)map, rbits, nibble);
}

static uint8_t gather(const struct fp4_rs_map *map, uint32_t rbits, unsigned nibble)
{
    uint32_t byte = 0;
    unsigned j;

    for (j = 0; j < 8; j++) {
        uint8_t bit = map->source[nibble][j];

        if (bit < 32)
            byte |= (rbits >> bit & 1u) << j;
    }
    return (uint8_t)byte;
}

uint8_t fp4_rs_model_byte(struct fp4_rs_model model, uint32_t rbits, unsigned nibble)
{
    return model.map == FP4_MAP_CUSTOM ? gather(model.custom, rbits, nibble) : fp4_rs_byte(model.map, rbits, nibble);
}

void fp4_rs_map_expand(enum fp4_byte_map map, struct fp4_rs_map *out)
{
    unsigned nibble, bit, j;

    for (nibble = 0; nibble < 4; nibble++)
        for (bit = 0; bit < 32; bit++)
            for (j = 0; j < 8; j++)
                if (fp4a_map_byte((int)map, (uint32_t)1 << bit, nibble) == 1u << j)
                    out->source[nibble][j] = (uint8_t)bit;
}

e2m1_t fp4_rs_round(enum fp4_rs_rule rule, float x, uint8_t byte)
{
    return (e2m1_t){ (uint8_t)fp4a_rs_byte_rule((int)rule, x, byte) };
}

uint32_t fp4_rs_hash32(uint32_t rbits, unsigned lane)
{
    return fp4a_hash32(rbits, lane);
}

e2m1_t fp4_rs_round_word(struct fp4_rs_model model, float x, uint32_t rbits, unsigned nibble)
{
    if (model.rule == FP4_RS_HASH32)
        return (e2m1_t){ (uint8_t)fp4a_rs_hash32(fp4a_bits(x), rbits, nibble) };
    return (e2m1_t){ (uint8_t)fp4a_rs_byte_rule((int)model.rule, x, fp4_rs_model_byte(model, rbits, nibble)) };
}

uint16_t fp4_cvt_rs_e2m1x4(struct fp4_rs_model model, float a, float b, float e, float f, uint32_t rbits)
{
    uint32_t n0 = fp4_rs_round_word(model, f, rbits, 0).bits;
    uint32_t n1 = fp4_rs_round_word(model, e, rbits, 1).bits;
    uint32_t n2 = fp4_rs_round_word(model, b, rbits, 2).bits;
    uint32_t n3 = fp4_rs_round_word(model, a, rbits, 3).bits;

    return (uint16_t)(n3 << 12 | n2 << 8 | n1 << 4 | n0);
}

uint16_t fp4_sr_fp32x4(struct fp4_rs_model model, const float x[4], uint32_t rbits)
{
    return fp4_cvt_rs_e2m1x4(model, x[3], x[2], x[1], x[0], rbits);
}

uint16_t fp4_sr_fp32x4_scaled(struct fp4_rs_model model, const float x[4], const float scale[2], uint32_t rbits)
{
    float p[4];
    int i;

    for (i = 0; i < 4; i++)
        p[i] = fp4a_canonical(fp4a_mul(x[i], scale[i & 1])); /* rule hash32 keeps the sign of a NaN: not the host's */
    return fp4_sr_fp32x4(model, p, rbits);
}

uint16_t fp4_sr_bf16x4(struct fp4_rs_model model, const bf16_t x[4], const float scale[2], uint32_t rbits)
{
    float wide[4];
    int i;

    for (i = 0; i < 4; i++)
        wide[i] = fp4a_from_bf16(x[i].bits);
    return fp4_sr_fp32x4_scaled(model, wide, scale, rbits);
}

uint32_t fp4_sr_bf16x8(struct fp4_rs_model model, const bf16_t x[8], float coefficient, uint32_t rbits03, uint32_t rbits47)
{
    const float scale[2] = { coefficient, coefficient };

    return fp4_sr_bf16x4(model, x, scale, rbits03) | (uint32_t)fp4_sr_bf16x4(model, x + 4, scale, rbits47) << 16;
}

uint32_t fp4_sr_bf16x8_coef_bf16(struct fp4_rs_model model, const bf16_t x[8], bf16_t coefficient, uint32_t rbits03,
                                 uint32_t rbits47)
{
    float s = fp4a_from_bf16(coefficient.bits);
    float p[8];
    int i;

    for (i = 0; i < 8; i++) {
        float v = fp4a_from_bf16(x[i].bits);

        /* The product of two bf16 has 16 significant bits; added to +0 it is the product, but for an exact -0. */
        p[i] = fp4a_canonical(model.rule == FP4_RS_FMA_FLOOR ? fp4a_mul(v, s) : fp4a_fma(v, s, 0.0f));
    }
    return fp4_sr_fp32x4(model, p, rbits03) | (uint32_t)fp4_sr_fp32x4(model, p + 4, rbits47) << 16;
}

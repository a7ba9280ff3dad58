/* SPDX-License-Identifier: Apache-2.0 */
/*
 * four_arith.h: the arithmetic of four-over-six, written once for the C reference and the CUDA kernels; private, as block.h, whose
 * struct fp4_chain holds what the recipes share with the plain quantizer. Every line is one binary32 operation, nearest even, in the
 * order written; a kernel may put a faster exact form in the place of a division by a constant. docs/numerics.md, "Four-over-six".
 */
#ifndef FP4_FOUR_ARITH_H
#define FP4_FOUR_ARITH_H

#include "block.h"

enum four_value {                    /* what a code stands for in its error */
                  FOUR_VALUE_AMAX,   /* ((q * f) * amax) / (6 * bound) */
                  FOUR_VALUE_DECODE, /* (q * f) * S_dec: FlashInfer with one amax a tensor */
                  FOUR_VALUE_SCALED  /* q * f, against x * S_enc. A product of FP16, which never rounds */
};

struct four_chain {
    struct fp4_chain chain; /* global scale, NaN, element scale, codes */
    enum four_value value;
    bool mse;
    bool fused;         /* mse by fma(d, d, e): fouroversix as nvcc builds it */
    bool zero_block;    /* a block whose maximum is 0 is written as zeros, whatever its signs (FlashInfer) */
    bool zero_amax;     /* amax 0: nothing but zeros (FlashInfer's rows, fouroversix) */
    bool all_nan_keeps; /* a block of nothing but NaN has a NaN maximum (FlashInfer) */
    float numerator;    /* 6 * bound: 1536 or 2688 */
};

static inline struct four_chain four_chain_of(const struct fp4_four_params *p)
{
    struct four_chain ch;

    memset(&ch, 0, sizeof ch);
    ch.chain = chain_quantize(p->recipe == FP4_RECIPE_TE_FAST ? FP4_RECIPE_TE : p->recipe, false);
    ch.numerator = 6.0f * (float)p->bound;
    ch.mse = p->error == FP4_FOUR_MSE;
    if (p->fast_error || p->recipe == FP4_RECIPE_TE_FAST)
        ch.value = FOUR_VALUE_SCALED;
    if (p->recipe == FP4_RECIPE_TORCHAO && p->nan == FP4_FOUR_NAN_DROP) {
        ch.chain.global = GLOBAL_TE;
        ch.chain.keep_nan = false;
    } else if (p->recipe == FP4_RECIPE_FLASHINFER) {
        ch.zero_block = ch.all_nan_keeps = true;
        ch.zero_amax = p->row_scaled;
        if (!p->row_scaled) {
            ch.chain.global = GLOBAL_INVERTED;
            if (ch.value == FOUR_VALUE_AMAX)
                ch.value = FOUR_VALUE_DECODE;
        }
    } else if (p->recipe == FP4_RECIPE_FOUROVERSIX) {
        ch.fused = ch.zero_amax = true;
    }
    return ch;
}

/* Globals of an amax; the field mult belongs to the plain quantizer and is not used here. */
FP4_FN struct chain_globals four_globals(const struct four_chain *ch, float amax)
{
    return chain_globals_of(&ch->chain, amax, ch->numerator);
}

/* The bytes of both candidates from the maximum of the block or tile. The sources cap both numbers at 448 before the conversion, which
 * saturates there anyway; a NaN gives 0x7F. */
FP4_FN void four_scale_pair(const struct chain_globals *g, float block_amax, uint32_t byte[2])
{
    float base = fp4a_mul(fp4a_div(block_amax, 6.0f), g->enc);
    float larger = fp4a_mul(base, 1.5f);

    byte[FP4_MAP_TO_6] = fp4a_to_e4m3(base);
    byte[FP4_MAP_TO_4] = fp4a_to_e4m3(larger);
}

/* What a code of value q and a scale of value f stand for, less x; both in the domain of the error. */
FP4_FN float four_difference(enum four_value value, float numerator, const struct chain_globals *g, float q, float f, float x)
{
    float v = fp4a_mul(q, f);

    if (value == FOUR_VALUE_SCALED)
        return fp4a_add(v, -fp4a_mul(x, g->enc));
    if (value == FOUR_VALUE_DECODE)
        return fp4a_add(fp4a_mul(v, g->dec), -x);
    return fp4a_add(fp4a_div(fp4a_mul(v, g->amax), numerator), -x);
}

/* The sum of the errors before it with that of one difference. */
FP4_FN float four_error_add(bool mse, bool fused, float sum, float d)
{
    if (!mse)
        return fp4a_add(sum, fp4a_abs(d));
    return fused ? fp4a_fma(d, d, sum) : fp4a_add(sum, fp4a_mul(d, d));
}

/* Both for one element. */
FP4_FN float four_error_step(const struct four_chain *ch, const struct chain_globals *g, float sum, float q, float f, float x)
{
    return four_error_add(ch->mse, ch->fused, sum, four_difference(ch->value, ch->numerator, g, q, f, x));
}

/* The sum of a tile's 16 line errors: halves added to halves. A butterfly over lanes (xor 8, 4, 2, 1) gives the same bits. */
FP4_FN float four_tree_sum(const float line[16])
{
    float e[8];
    int i, width;

    for (i = 0; i < 8; i++)
        e[i] = fp4a_add(line[i], line[i + 8]);
    for (width = 4; width > 0; width /= 2)
        for (i = 0; i < width; i++)
            e[i] = fp4a_add(e[i], e[i + width]);
    return e[0];
}

/* The pick: a smaller error stores map-to-4; an equal one, or a NaN on either side, map-to-6. */
FP4_FN int four_pick(float error6, float error4)
{
    return error4 < error6 ? FP4_MAP_TO_4 : FP4_MAP_TO_6;
}

#endif

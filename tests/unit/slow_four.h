/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_four.h: the slow, obvious second version of four-over-six, gemm and the linear layer, as slow.h for the rest. It can also make,
 * one at a time, the mistakes that people make there, so that a test can show which input tells a mistake from the right thing.
 */
#ifndef SLOW_FOUR_H
#define SLOW_FOUR_H

#include "slow.h"

enum slow_mistake {
    SLOW_RIGHT,
    SLOW_STANDARD_ASSOCIATION, /* b * (S * fl(1/6)), as the plain quantizer */
    SLOW_SIXTH,                /* b * fl(1/6) for b / 6 */
    SLOW_INVERTED_AMAX,        /* S = (1 / A) * 6B */
    SLOW_ERROR_BY_RECIPROCAL,  /* (q f A) * fl(1 / 6B) */
    SLOW_ERROR_BY_DECODE,      /* (q f) * (1 / S) */
    SLOW_ERROR_BY_DEQUANTIZER, /* q * ((f A) * fl(1 / 6B)) */
    SLOW_ERROR_DIVIDED_FIRST,  /* ((q f) / 6B) * A */
    SLOW_ERROR_FAST,           /* q f - x S */
    SLOW_SUM_PAIRWISE,
    SLOW_SUM_HALVES,   /* elements 0..7 and 8..15 apart, then added */
    SLOW_SUM_REVERSED, /* from element 15 down */
    SLOW_SUM_FUSED,    /* mse by fused multiply-add */
    SLOW_TILE_SERIAL,  /* the 16 lines of a tile one after the other */
    SLOW_TIE_TO_4,
    SLOW_FLUSH,         /* subnormal operands and results are zero */
    SLOW_NO_SATURATION, /* scaled values of 7 and more run over into code 8 */
    SLOW_CAP_AT_BOUND   /* scale bytes stop at the bound instead of at 448 */
};

float slow_add(float a, float b);
float slow_fma(float a, float b, float c);

struct slow_four {
    struct slow_quantized q;
    uint8_t *scale[2]; /* [lines][blocks]; 0: map-to-6, 1: map-to-4 */
    uint8_t *code[2];  /* [lines][packed] */
    float *error[2];   /* [lines][blocks] */
    uint8_t *pick;     /* [lines][blocks] */
};

void slow_four_over_six(const struct fp4_four_params *p, enum slow_mistake mistake, const void *x, bool transposed,
                        const float *given_amax, struct slow_four *out);
void slow_four_release(struct slow_four *f);

/* One element of a gemm: line i of a by line j of b. acc may be NULL. */
float slow_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, size_t i, size_t j,
                float *acc);
/* bf16 of the sum of count products x[i * x_step] * y[i * y_step], i ascending. */
unsigned slow_bf16_dot(const uint16_t *x, size_t x_step, const uint16_t *y, size_t y_step, size_t count);

#endif

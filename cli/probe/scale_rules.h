/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale_rules.h: ways in which implementations make a block scale of a block amax and an element of a value. The rule of Transformer
 * Engine is the first of each (docs/numerics.md 4.2, 4.3); the others are what ports, libraries and faults do (11.3).
 */
#ifndef FP4_SCALE_RULES_H
#define FP4_SCALE_RULES_H

#include "fp4ref.h"

enum { SCALE_ORDERS = 5, SCALE_ROUNDINGS = 5 };

extern const struct scale_order {
    const char *name;                    /* "amax * (S * (1/6))" */
    float (*value)(float amax, float s); /* before rounding to E4M3; s: the global scale */
} scale_orders[SCALE_ORDERS];

extern const char *const scale_roundings[SCALE_ROUNDINGS]; /* "nearest even", "nearest away", "nearest down", "up", "down" */
/* E4M3 byte of a value that is not negative; 448 and more saturate under every rounding, NaN is 7F. */
unsigned scale_round(float v, int rounding);

enum element_rule { RCP_IEEE, RCP_DIVIDE_S, RCP_APPROX, RCP_DEC_DIVIDED, RCP_DEC_SCALED, RCP_X_DIVIDED, ELEMENT_RULES };
extern const char *const element_rules[ELEMENT_RULES];
/* What is rounded to E2M1. byte: the block scale; a: the tensor's amax; s: the global scale; table: rcp_table_h200(). */
float element_scaled(enum element_rule how, float x, unsigned byte, float a, float s, const int8_t *table);

#endif

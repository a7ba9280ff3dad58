/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.h: the whole life of one element, stage by stage. The reference is run; what is no stage of it (scale before rounding, element
 * scale, place of the random word) is replayed with its own arithmetic, and the replay has to end in the reference's bytes. Other
 * backends and dumps are put beside it, with what they have.
 *
 * An explanation is a list of lines. A line has a key, a note, or values: the raw bits of one element for each side.
 */
#ifndef FP4_EXPLAIN_H
#define FP4_EXPLAIN_H

#include "diff.h"

#define EXPLAIN_SIDES_MAX 6
#define EXPLAIN_LINES_MAX 96

struct explain_side {
    char label[128];
    struct case_tensors t;
};

struct explain_line {
    char key[24];
    char note[240]; /* "" when the values say all */
    bool values;    /* side 0 is there */
    enum fp4_dtype dtype;
    bool has[EXPLAIN_SIDES_MAX];
    uint64_t bits[EXPLAIN_SIDES_MAX];
};

struct explain {
    struct fp4_case c;
    char name[CASE_NAME_MAX];
    size_t row, col;                              /* of the input matrix */
    bool transposed;                              /* which output of a quantizer */
    struct explain_side sides[EXPLAIN_SIDES_MAX]; /* the first is the reference */
    size_t side_count;
    struct explain_line lines[EXPLAIN_LINES_MAX];
    size_t line_count;
};

/* Fills the lines; sides are there. */
int explain_element(struct explain *e, struct fp4_error *err);
/* The first line on which a side differs from the reference, or NULL; *side says which. */
const struct explain_line *explain_difference(const struct explain *e, size_t *side);
void explain_print(const struct explain *e, FILE *out);
void explain_json(const struct explain *e, FILE *out);

/* ---- for the files of cli/explain ---------------------------------------------------------------------------------------------------------- */

/* Element i of a tensor of all sides that have it; false when the reference has not. */
bool explain_tensor(struct explain *e, const char *key, const char *tensor, size_t i);
void explain_value(struct explain *e, const char *key, enum fp4_dtype dtype, uint64_t bits, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
void explain_note(struct explain *e, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Adds a note to the last line. */
void explain_remark(struct explain *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Bits of the reference. */
bool explain_ref(struct explain *e, const char *tensor, size_t i, uint64_t *bits);
/* "0x3f800000 = 1" */
void explain_number(char text[64], enum fp4_dtype dtype, uint64_t bits);

/* explain_round.c: what lies around a value that is rounded. */
void explain_e2m1_nearest(struct explain *e, float y);
void explain_e2m1_stochastic(struct explain *e, float y, uint32_t word, unsigned nibble);
void explain_e4m3(struct explain *e, float v);

/* One op each. */
int explain_convert(struct explain *e, struct fp4_error *err);
int explain_quantizer(struct explain *e, struct fp4_error *err);
int explain_dequantize(struct explain *e, struct fp4_error *err);
int explain_swizzle(struct explain *e, struct fp4_error *err);
int explain_philox(struct explain *e, struct fp4_error *err);
int explain_four(struct explain *e, struct fp4_error *err);
int explain_gemm(struct explain *e, struct fp4_error *err);

#endif

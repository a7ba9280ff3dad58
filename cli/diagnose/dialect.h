/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h: arithmetic that parts from the reference in chosen places, and the evaluator that runs a case with it.
 *
 * A dialect has one slot for each decision of the pipeline, in the order of the pipeline; 0 in all slots is what the reference does, and
 * replay_case() then gives its bytes exactly (tests/unit/test_diagnose.c holds it to the default suite). A deviation is one value of
 * one slot; faults that are stacked are several slots that are not 0.
 *
 * The evaluator is for explaining, not for speed or elegance of the arithmetic: it keeps every stage as an array, so that a fault can be
 * put between any two of them. It shares rounding helpers with the reference (fp4arith.h) and nothing else.
 *
 * To add a deviation: a value here, its effect in the replay_*.c of its stage, a row in deviations.c (docs/numerics.md 11.3 names the
 * letters). docs/extending.md has the steps; `fp4check selftest`
 * runs each row as a wrong backend.
 */
#ifndef FP4_DIALECT_H
#define FP4_DIALECT_H

#include "matrix.h"

enum slot { /* in pipeline order */
            SLOT_LOAD,
            SLOT_TAIL,
            SLOT_SIGNS,
            SLOT_HADAMARD,
            SLOT_FACTOR,
            SLOT_SUM,
            SLOT_TRIP,
            SLOT_AMAX,
            SLOT_AMAX_NAN,
            SLOT_GLOBAL,
            SLOT_GLOBAL_EDGE,
            SLOT_DECODE_SCALE,
            SLOT_FORMULA,
            SLOT_BLOCK_AMAX,
            SLOT_SCALE_ROUND,
            SLOT_SCALE_EDGE,
            SLOT_SCALE_READ,
            SLOT_RECIPROCAL,
            SLOT_CLAMP,
            SLOT_PRODUCT,
            SLOT_PAIR,
            SLOT_GENERATOR,
            SLOT_STREAM,
            SLOT_MODEL,
            SLOT_RULE,
            SLOT_MAP,
            SLOT_BYTE,
            SLOT_NEAREST,
            SLOT_SIGN,
            SLOT_SPECIAL,
            SLOT_CANDIDATE,
            SLOT_ERROR,
            SLOT_METRIC,
            SLOT_ERROR_SUM,
            SLOT_TILE,
            SLOT_PICK,
            SLOT_ORDER,
            SLOT_LAYOUT,
            SLOT_WRITE,
            SLOT_COUNT
};

/* Values of the slots; 0 is the reference's. */
enum { LOAD_EXCHANGED = 1, LOAD_COLUMN_MAJOR, LOAD_PITCH_128, LOAD_PITCH_DOUBLE, LOAD_BF16, LOAD_F16, LOAD_FLUSHED };
enum { TAIL_LEAKS = 1, TAIL_DROPPED, TAIL_NAN };
enum { SIGNS_NONE = 1, SIGNS_OTHER_SIDE, SIGNS_REVERSED, SIGNS_INVERTED };
enum { HADAMARD_SEQUENCY = 1, HADAMARD_FEATURES, HADAMARD_ROWWISE_TOO, HADAMARD_LEFT_OUT, HADAMARD_SHIFTED };
enum { FACTOR_ONE = 1, FACTOR_TWICE };
enum { SUM_TC = 1, SUM_SEQ, SUM_EXACT };
enum { TRIP_LEFT_OUT = 1, TRIP_TRUNCATED, TRIP_ADDED, TRIP_F16 };
enum { AMAX_BEFORE = 1, AMAX_SHARED, AMAX_SIGNED, AMAX_NEGATED, AMAX_BF16, AMAX_LOST, AMAX_PER_LINE, AMAX_COMPUTED };
enum { NAN_KEPT = 1, NAN_DROPPED };
enum { GLOBAL_INVERSE = 1, GLOBAL_TWICE, GLOBAL_LEFT_OUT, GLOBAL_BOUND, GLOBAL_RECIPROCAL, GLOBAL_ONLY_448, GLOBAL_STEPS };
enum { EDGE_NAN_DROPPED = 1, EDGE_NAN_KEPT, EDGE_NAN_ONE, EDGE_ZERO_UNGUARDED, EDGE_INF_UNGUARDED, EDGE_UNCLAMPED };
enum { DECODE_AMAX_DIVIDED = 1, DECODE_AMAX_MULTIPLIED };
enum {
    FORMULA_DIVIDED = 1,      /* b * fl(S / 6) */
    FORMULA_MULTIPLIED,       /* b * fl(S * fl(1/6)) */
    FORMULA_BLOCK_DIVIDED,    /* fl(b / 6) * S */
    FORMULA_BLOCK_MULTIPLIED, /* fl(b * fl(1/6)) * S */
    FORMULA_LAST_DIVIDED,     /* fl(b * S) / 6 */
    FORMULA_DECODED           /* b / fl(6 * S_dec) */
};
enum { BLOCK_NAN_DROPPED = 1, BLOCK_NAN_KEPT, BLOCK_NEGATED, BLOCK_SIGNED, BLOCK_BF16, BLOCK_HALF, BLOCK_32, BLOCK_ROW };
enum { SCALE_UP = 1, SCALE_TO_ZERO, SCALE_TIES_DOWN, SCALE_TIES_AWAY, SCALE_BF16, SCALE_F16, SCALE_POWER };
enum { SCALE_INF_NAN = 1, SCALE_UNSATURATED, SCALE_FLUSHED, SCALE_NAN_ZERO, SCALE_ZERO_EPSILON, SCALE_ZERO_ONE, SCALE_AT_256 };
enum { READ_SUBNORMALS_WRONG = 1, READ_UNROUNDED, READ_CODES_WRONG, READ_UNSIGNED };
enum {
    RECIPROCAL_OF_QUOTIENT = 1,
    RECIPROCAL_APPROXIMATE,
    RECIPROCAL_IEEE,
    RECIPROCAL_DIVISION,
    RECIPROCAL_FLUSHED,
    RECIPROCAL_OF_SCALE
};
enum { CLAMP_NONE = 1, CLAMP_BRANCH, CLAMP_ZEROS, CLAMP_NAN_DROPPED };
enum { PRODUCT_BF16 = 1, PRODUCT_F16, PRODUCT_PLUS_ZERO, PRODUCT_PLAIN };
enum { PAIR_EXCHANGED = 1, PAIR_FIRST };
enum {
    GENERATOR_COUNTER = 1,
    GENERATOR_7,
    GENERATOR_10,
    GENERATOR_MULTIPLIERS,
    GENERATOR_KEY,
    GENERATOR_SEED_32,
    GENERATOR_SEED_BIT,
    GENERATOR_NO_CARRY,
    GENERATOR_OFFSET_IGNORED,
    GENERATOR_OFFSET_WORDS,
    GENERATOR_OFFSET_BLOCKS,
    GENERATOR_OFFSET_PLUS_1,
    GENERATOR_SUBSEQUENCE_32,
    GENERATOR_WORDS_REVERSED
};
enum {
    STREAM_SHARED = 1,
    STREAM_ONE_CALL,
    STREAM_ONE_WORD,
    STREAM_ONE_TILE,
    STREAM_LINEAR,
    STREAM_K_TILE_512,
    STREAM_K_TILE_1024,
    STREAM_K_TILE_2048,
    STREAM_BOTH,
    STREAM_KERNEL /* + enum fp4_stream */
};
/* SLOT_MODEL: 1 + index into fp4_rs_models; SLOT_MAP: 1 + enum fp4_byte_map */
enum {
    RULE_TRUNC = 1,
    RULE_HALF,
    RULE_HALF_OLD,
    RULE_FMA_FLOOR,
    RULE_HASH32,
    RULE_NEAREST,
    RULE_UNCLAMPED,
    RULE_OF_255,
    RULE_PLUS_1,
    RULE_PLUS_HALF,
    RULE_SIGNED,
    RULE_OVERFLOW,
    RULE_STEP_1,
    RULE_DOWN,
    RULE_UP,
    RULE_COMPLEMENT
};
enum { BYTE_SHARED = 1, BYTE_REVERSED, BYTE_NEXT, BYTE_SHIFTED };
enum { NEAREST_AWAY = 1, NEAREST_TO_ZERO, NEAREST_UPWARD, NEAREST_TRUNCATED };
enum { SIGN_COMPARED = 1, SIGN_LOST_AT_ZERO };
enum { SPECIAL_NAN_ZERO = 1, SPECIAL_NAN_INF_ZERO, SPECIAL_NAN_SIGNED, SPECIAL_INF_WRAPS };
/* four-over-six */
enum { CANDIDATE_FROM_BYTE = 1 };
enum { ERROR_TIMES = 1, ERROR_DECODE, ERROR_DEQUANTIZER, ERROR_SCALED, ERROR_EXACT, ERROR_DIVIDED_FIRST, ERROR_BOUND };
enum { METRIC_EXCHANGED = 1 };
enum { ERRORS_PAIRWISE = 1, ERRORS_HALVES, ERRORS_REVERSED, ERRORS_FUSED, ERRORS_UNFUSED };
enum { TILE_SERIAL = 1, TILE_OTHER_AXIS };
enum { PICK_TIES_TO_4 = 1, PICK_6, PICK_4, PICK_WORSE };
enum { ORDER_NIBBLES = 1, ORDER_BYTES, ORDER_FOURS, ORDER_HALVES_8, ORDER_HALVES_16, ORDER_EVEN_ODD, ORDER_WIDE };
enum {
    LAYOUT_SWIZZLED = 1,
    LAYOUT_UNSWIZZLED,
    LAYOUT_COLUMN_MAJOR,
    LAYOUT_AXIS,
    LAYOUT_PITCH_4,
    LAYOUT_TILES,
    LAYOUT_FLOOR,
    LAYOUT_PADDING,
    LAYOUT_TWICE
};
enum { WRITE_NO_CODES = 1, WRITE_ZERO_CODES, WRITE_ZERO_SCALES, WRITE_ZERO_AMAX, WRITE_HALF };

struct dialect {
    uint8_t slot[SLOT_COUNT];
};

struct deviation {
    const char *name; /* "nibbles-exchanged" */
    const char *spec; /* letters of docs/numerics.md 11.3: "R2"; "" when it has none */
    enum slot slot;
    uint8_t value;
    uint32_t ops;     /* bit 1 << op: where it can show */
    const char *says; /* what the wrong side does, as a finding */
    const char *also; /* names of deviations that are the same fault in other words, separated by spaces; "" */
};
extern const struct deviation fp4_deviations[];
extern const size_t fp4_deviation_count;
const struct deviation *deviation_find(const char *name);            /* NULL when unknown */
const struct deviation *deviation_of(enum slot slot, uint8_t value); /* NULL when no row has it */

/* Computes the outputs of the case in that dialect; inputs must be there, and memory for the outputs. Deviations that the table does not
 * give to the case's op are left out. Bytes that a deviation leaves unwritten stay as they are. */
int replay_case(const struct dialect *d, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);

#endif

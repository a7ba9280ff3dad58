/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deviations.c: everything that a backend may do otherwise, as one table: the hypotheses of the diagnosis and the mutants of the
 * self-test. Where two rows explain a difference equally well the earlier one is named first, so within a stage the plainer fault
 * comes first.
 *
 * spec: R rounding, O order, G generator, A amax and scale, S structure, T transform (docs/numerics.md 11.3); F a fault of the reports
 * that the constructions were made from.
 */
#include "dialect.h"

#include <string.h>

#define OP(op) (1u << OP_##op)
#define Q OP(QUANTIZE)
#define H OP(RHT_QUANTIZE)
#define D OP(DEQUANTIZE)
#define W OP(SWIZZLE)
#define P OP(PHILOX)
#define RN OP(CVT_RN)
#define RS (OP(CVT_RS) | OP(SR_BF16X4) | OP(SR_FP32X4) | OP(SR_BF16X8))
#define SC (OP(SR_BF16X4) | OP(SR_FP32X4) | OP(SR_BF16X8))
#define F OP(FOUR_OVER_SIX)
#define G OP(GEMM)
#define S (Q | H) /* what draws random words */
#define QH (Q | H | F)
#define CODES (QH | RN | RS)
#define RANDOM (S | RS)

const struct deviation fp4_deviations[] = {
    /* ---- order of codes and places of scales: first, because nothing else explains all of a permutation ------------------------- */
    { "nibbles-exchanged", "O2", SLOT_ORDER, ORDER_NIBBLES, CODES | D | G, "the two nibbles of every byte are exchanged", "" },
    { "bytes-exchanged", "O3", SLOT_ORDER, ORDER_BYTES, CODES | D | G, "the two bytes of every four codes are exchanged", "" },
    { "fours-reversed", "O1", SLOT_ORDER, ORDER_FOURS, CODES | D | G, "every four codes are in reversed order (operands ascending)",
      "" },
    { "halves-of-8-exchanged", "O5", SLOT_ORDER, ORDER_HALVES_8, CODES | D | G, "the two words of every eight codes are exchanged",
      "" },
    { "half-blocks-exchanged", "", SLOT_ORDER, ORDER_HALVES_16, CODES | D | G, "the two halves of every block of 16 are exchanged",
      "" },
    { "even-before-odd", "", SLOT_ORDER, ORDER_EVEN_ODD, CODES | D | G, "the even elements of a block come before the odd ones",
      "" },
    { "one-a-byte", "F3", SLOT_ORDER, ORDER_WIDE, CODES, "codes are written one a byte (8-bit spacing)", "" },
    { "scales-swizzled", "S4", SLOT_LAYOUT, LAYOUT_SWIZZLED, QH | D | G,
      "scales are in the swizzled 128x4 layout where linear is due", "" },
    { "scales-linear", "S4", SLOT_LAYOUT, LAYOUT_UNSWIZZLED, QH | D | W,
      "scales are taken from or put to the linear layout where the swizzled one is due", "" },
    { "scales-column-major", "", SLOT_LAYOUT, LAYOUT_COLUMN_MAJOR, QH | D | W | G, "scales are stored column by column", "" },
    { "scale-pitch", "F5", SLOT_LAYOUT, LAYOUT_PITCH_4, QH | D | W, "scale rows lie at a pitch padded to 4 (stale stride)", "" },
    { "wrong-axis", "S5", SLOT_LAYOUT, LAYOUT_AXIS, QH | W, "quantized along the other axis (swizzle: rows of a tile in order)",
      "" },
    { "tiles-by-column", "", SLOT_LAYOUT, LAYOUT_TILES, W, "tiles of 128x4 follow one another by columns", "" },
    { "columns-floored", "", SLOT_LAYOUT, LAYOUT_FLOOR, W, "the last partial tile of columns is not counted", "" },
    { "padding-from-extent", "F9", SLOT_LAYOUT, LAYOUT_PADDING, W, "padding holds data: the extent is that of the padded shape",
      "" },
    { "swizzled-twice", "F51", SLOT_LAYOUT, LAYOUT_TWICE, W, "scales are swizzled twice", "" },

    /* ---- nothing written, zeros ----------------------------------------------------------------------------------------------------- */
    { "codes-zero", "S1", SLOT_WRITE, WRITE_ZERO_CODES, CODES | D | G,
      "all codes are zero: a conversion that is missing on this architecture", "" },
    { "not-written", "S2", SLOT_WRITE, WRITE_NO_CODES, CODES | D | W | G, "the output is not written", "" },
    { "scales-zero", "F50", SLOT_WRITE, WRITE_ZERO_SCALES, QH | W, "all scale bytes are zero", "" },
    { "amax-zero", "", SLOT_WRITE, WRITE_ZERO_AMAX, QH, "the stored amax is zero", "" },
    { "second-half-zero", "F69", SLOT_WRITE, WRITE_HALF, CODES, "the second half of the codes is zero", "" },

    /* ---- loading --------------------------------------------------------------------------------------------------------------------- */
    { "rows-cols-exchanged", "S3", SLOT_LOAD, LOAD_EXCHANGED, QH, "rows and columns are exchanged at a call", "" },
    { "read-by-column", "", SLOT_LOAD, LOAD_COLUMN_MAJOR, CODES, "the input is read column by column", "" },
    { "pitch-128", "F5", SLOT_LOAD, LOAD_PITCH_128, CODES, "input rows are read at a pitch padded to 128", "" },
    { "pitch-double", "F71", SLOT_LOAD, LOAD_PITCH_DOUBLE, CODES, "input rows are read at twice their pitch (a view's stride)",
      "" },
    { "input-bf16", "F25", SLOT_LOAD, LOAD_BF16, CODES, "the input is rounded to bf16 first", "" },
    { "input-f16", "", SLOT_LOAD, LOAD_F16, CODES, "the input is rounded to f16 first", "" },
    { "input-flushed", "P11", SLOT_LOAD, LOAD_FLUSHED, CODES, "subnormal inputs are flushed to zero", "" },
    { "tail-leaks", "F10", SLOT_TAIL, TAIL_LEAKS, Q, "a partial block's maximum takes in what lies behind it: padding leaks in",
      "" },
    { "tail-dropped", "", SLOT_TAIL, TAIL_DROPPED, Q, "partial blocks are written as zeros", "" },
    { "tail-nan", "F7", SLOT_TAIL, TAIL_NAN, Q, "partial blocks get the NaN scale of poisoned padding", "" },

    /* ---- the transform ---------------------------------------------------------------------------------------------------------------- */
    { "signs-left-out", "T1", SLOT_SIGNS, SIGNS_NONE, H, "the transform has no random signs", "" },
    { "signs-other-side", "T2", SLOT_SIGNS, SIGNS_OTHER_SIDE, H, "signs after the transform where before is due (or the reverse)",
      "" },
    { "signs-reversed", "T12", SLOT_SIGNS, SIGNS_REVERSED, H, "the sign mask is read from the other end", "" },
    { "signs-inverted", "", SLOT_SIGNS, SIGNS_INVERTED, H, "every sign of the mask is inverted", "" },
    { "factor-left-out", "T3", SLOT_FACTOR, FACTOR_ONE, H,
      "the factor 1/4 of the transform is missing: the amax is 4 times too large", "" },
    { "factor-twice", "T3", SLOT_FACTOR, FACTOR_TWICE, H, "the factor 1/4 of the transform is applied twice", "" },
    { "sequency-order", "T4", SLOT_HADAMARD, HADAMARD_SEQUENCY, H, "the rows of the Hadamard matrix are in sequency order", "" },
    { "transform-features", "T5", SLOT_HADAMARD, HADAMARD_FEATURES, H, "the transform runs along features instead of tokens", "" },
    { "rowwise-transformed", "T6", SLOT_HADAMARD, HADAMARD_ROWWISE_TOO, H, "the rowwise output is transformed too", "" },
    { "transform-left-out", "", SLOT_HADAMARD, HADAMARD_LEFT_OUT, H, "there is no transform", "" },
    { "groups-shifted", "T7", SLOT_HADAMARD, HADAMARD_SHIFTED, H, "groups of 16 tokens begin at another token", "" },
    { "sums-in-order", "T13", SLOT_SUM, SUM_SEQ, H | G, "products are added one after the other in binary32", "sums-exact" },
    { "sums-exact", "T13", SLOT_SUM, SUM_EXACT, H | G, "the sum of products is rounded once", "sums-in-order" },
    { "sums-tensor-core", "", SLOT_SUM, SUM_TC, H, "the sum of 16 products is a tensor core's", "" },
    { "bf16-trip-missing", "T8", SLOT_TRIP, TRIP_LEFT_OUT, H, "the sums are not rounded to bf16", "" },
    { "bf16-trip-truncates", "T9", SLOT_TRIP, TRIP_TRUNCATED, H, "the sums are cut to bf16 instead of rounded", "" },
    { "bf16-trip-added", "A22", SLOT_TRIP, TRIP_ADDED, H, "the sums are rounded to bf16 where that is not due", "" },
    { "trip-f16", "", SLOT_TRIP, TRIP_F16, H, "the sums are rounded to f16", "" },

    /* ---- amax and global scale ----------------------------------------------------------------------------------------------------------- */
    { "amax-before-transform", "A20 T10", SLOT_AMAX, AMAX_BEFORE, H, "the amax is taken before the transform", "" },
    { "amax-shared", "T11", SLOT_AMAX, AMAX_SHARED, S | D | G, "one amax serves both outputs (dequantize: all rows)", "" },
    { "amax-signed", "", SLOT_AMAX, AMAX_SIGNED, QH, "the amax is the largest value, not the largest magnitude", "" },
    { "amax-negzero", "A18", SLOT_AMAX, AMAX_NEGATED, QH, "the amax is max(x, -x), which keeps -0", "" },
    { "amax-bf16", "", SLOT_AMAX, AMAX_BF16, QH, "the amax is rounded to bf16", "" },
    { "amax-lost-tiles", "A21", SLOT_AMAX, AMAX_LOST, QH, "the amax lacks the last quarter of the lines (late or lost tiles)", "" },
    { "amax-per-line", "F53", SLOT_AMAX, AMAX_PER_LINE, QH,
      "each line takes its own amax (or all take one where each is due its own)", "" },
    { "amax-recomputed", "", SLOT_AMAX, AMAX_COMPUTED, QH, "the given amax is ignored and computed from the data", "" },
    { "amax-keeps-nan", "", SLOT_AMAX_NAN, NAN_KEPT, QH, "the tensor's amax keeps NaN", "" },
    { "amax-drops-nan", "", SLOT_AMAX_NAN, NAN_DROPPED, QH, "the tensor's amax drops NaN", "" },
    { "global-inverted", "F51", SLOT_GLOBAL, GLOBAL_INVERSE, QH | D | G, "the global scale is inverted", "" },
    { "global-twice", "F51", SLOT_GLOBAL, GLOBAL_TWICE, QH | D | G, "the global scale is applied twice", "" },
    { "global-left-out", "F40", SLOT_GLOBAL, GLOBAL_LEFT_OUT, QH | D | G, "the global scale is not applied", "" },
    { "bound-256", "P10", SLOT_GLOBAL, GLOBAL_BOUND, QH | D | G, "the E4M3 bound is 256 where 448 is due (or the reverse)", "" },
    { "global-by-reciprocal", "P3", SLOT_GLOBAL, GLOBAL_RECIPROCAL, QH | D, "2688 / amax is computed as (1 / amax) * 2688", "" },
    { "global-448", "", SLOT_GLOBAL, GLOBAL_ONLY_448, QH, "the global scale is 448 / amax: the 6 is missing", "" },
    { "global-in-steps", "", SLOT_GLOBAL, GLOBAL_STEPS, QH, "2688 / amax is computed as (448 / amax) * 6", "" },
    { "global-drops-nan", "A3", SLOT_GLOBAL_EDGE, EDGE_NAN_DROPPED, QH, "a NaN amax gives FLT_MAX as global scale", "" },
    { "global-keeps-nan", "", SLOT_GLOBAL_EDGE, EDGE_NAN_KEPT, QH, "a NaN amax gives a NaN global scale", "" },
    { "global-nan-one", "", SLOT_GLOBAL_EDGE, EDGE_NAN_ONE, QH, "a NaN amax gives 1 as global scale", "" },
    { "amax-zero-unguarded", "A19", SLOT_GLOBAL_EDGE, EDGE_ZERO_UNGUARDED, QH,
      "an amax of 0 is not guarded: FLT_MAX as global scale", "" },
    { "amax-inf-unguarded", "", SLOT_GLOBAL_EDGE, EDGE_INF_UNGUARDED, QH, "an amax of Inf is not guarded: 0 as global scale", "" },
    { "global-unclamped", "F39", SLOT_GLOBAL_EDGE, EDGE_UNCLAMPED, QH, "2688 / amax may overflow to Inf", "" },
    { "decode-scale-divided", "A15 P4", SLOT_DECODE_SCALE, DECODE_AMAX_DIVIDED, QH | G,
      "S_dec is amax / 2688 instead of 1 / S_enc (gemm: factors by division)", "" },
    { "decode-scale-multiplied", "A15 P4", SLOT_DECODE_SCALE, DECODE_AMAX_MULTIPLIED, QH | G,
      "S_dec is amax * (1 / 2688) instead of 1 / S_enc (gemm: factors by multiplication)", "" },

    /* ---- block maximum and scale byte ------------------------------------------------------------------------------------------------------ */
    { "block-amax-drops-nan", "A1", SLOT_BLOCK_AMAX, BLOCK_NAN_DROPPED, QH, "the block maximum drops NaN", "" },
    { "block-amax-keeps-nan", "F31", SLOT_BLOCK_AMAX, BLOCK_NAN_KEPT, QH, "the block maximum keeps NaN", "" },
    { "block-amax-negzero", "A18", SLOT_BLOCK_AMAX, BLOCK_NEGATED, QH, "the block maximum is max(x, -x), which keeps -0", "" },
    { "block-amax-signed", "", SLOT_BLOCK_AMAX, BLOCK_SIGNED, QH, "the block maximum is the largest value, not magnitude", "" },
    { "block-amax-bf16", "F18", SLOT_BLOCK_AMAX, BLOCK_BF16, QH, "the block maximum is rounded to bf16", "" },
    { "block-amax-half", "", SLOT_BLOCK_AMAX, BLOCK_HALF, QH, "the block maximum sees 8 of 16 elements", "" },
    { "block-of-32", "", SLOT_BLOCK_AMAX, BLOCK_32, QH, "32 elements share a maximum", "" },
    { "tile-by-row", "", SLOT_BLOCK_AMAX, BLOCK_ROW, Q | F, "a 16x16 tile is scaled row by row", "" },
    { "mult-divided-by-6", "A13", SLOT_FORMULA, FORMULA_DIVIDED, QH | D,
      "S_enc / 6 where S_enc * (1/6) is due (dequantize: / 2688)", "" },
    { "mult-times-sixth", "P1", SLOT_FORMULA, FORMULA_MULTIPLIED, QH | D,
      "scale as block amax * (S_enc * (1/6)) (dequantize: amax * factor first)", "" },
    { "block-over-6", "F13", SLOT_FORMULA, FORMULA_BLOCK_DIVIDED, QH | D, "scale as (block amax / 6) * S_enc", "" },
    { "block-times-sixth", "P2", SLOT_FORMULA, FORMULA_BLOCK_MULTIPLIED, QH | D, "scale as (block amax * (1/6)) * S_enc", "" },
    { "product-over-6", "A9", SLOT_FORMULA, FORMULA_LAST_DIVIDED, QH | D, "scale as (block amax * S_enc) / 6", "" },
    { "block-over-decode", "", SLOT_FORMULA, FORMULA_DECODED, QH, "scale as block amax / (6 * S_dec)", "" },
    { "scale-up", "F12", SLOT_SCALE_ROUND, SCALE_UP, QH, "scales are rounded up", "" },
    { "scale-toward-zero", "F12", SLOT_SCALE_ROUND, SCALE_TO_ZERO, QH, "scales are rounded toward zero", "" },
    { "scale-ties-down", "A7", SLOT_SCALE_ROUND, SCALE_TIES_DOWN, QH, "ties of the scale's rounding go down", "" },
    { "scale-ties-away", "A8", SLOT_SCALE_ROUND, SCALE_TIES_AWAY, QH, "ties of the scale's rounding go away from zero", "" },
    { "scale-via-bf16", "F18", SLOT_SCALE_ROUND, SCALE_BF16, QH, "the scale is rounded twice, by way of bf16", "" },
    { "scale-via-f16", "F21", SLOT_SCALE_ROUND, SCALE_F16, QH, "the scale is rounded twice, by way of f16", "" },
    { "scale-power-of-two", "F16", SLOT_SCALE_ROUND, SCALE_POWER, QH, "scales are powers of two", "" },
    { "scale-inf-nan", "A10", SLOT_SCALE_EDGE, SCALE_INF_NAN, QH, "an infinite block maximum gives scale 7f", "" },
    { "scale-unsaturated", "A11", SLOT_SCALE_EDGE, SCALE_UNSATURATED, QH, "scales above 464 become NaN (7f)", "" },
    { "scale-subnormals-flushed", "A12", SLOT_SCALE_EDGE, SCALE_FLUSHED, QH, "subnormal scales are flushed to zero", "" },
    { "scale-nan-zero", "F32", SLOT_SCALE_EDGE, SCALE_NAN_ZERO, QH, "a NaN scale is stored as 00", "" },
    { "scale-zero-epsilon", "F37", SLOT_SCALE_EDGE, SCALE_ZERO_EPSILON, QH, "a zero scale is stored as the smallest one", "" },
    { "scale-zero-one", "F35", SLOT_SCALE_EDGE, SCALE_ZERO_ONE, QH, "a zero block is scaled as if a sixth of its maximum were 1",
      "" },
    { "scale-cap-256", "P16", SLOT_SCALE_EDGE, SCALE_AT_256, QH, "scales are capped at 256", "" },
    { "scale-read-subnormal", "F45", SLOT_SCALE_READ, READ_SUBNORMALS_WRONG, QH | D | G,
      "subnormal scale bytes are decoded as normal ones", "" },
    { "scale-not-requantized", "", SLOT_SCALE_READ, READ_UNROUNDED, QH, "elements are scaled by the scale before its rounding",
      "" },
    { "codes-read-subnormal", "F44", SLOT_SCALE_READ, READ_CODES_WRONG, D | G, "codes 0 and 1 are decoded as 0.5 and 0.75", "" },
    { "scale-read-unsigned", "F47", SLOT_SCALE_READ, READ_UNSIGNED, D | G, "the sign bit of a scale byte is ignored", "" },

    /* ---- the factor of the elements -------------------------------------------------------------------------------------------------------- */
    { "reciprocal-of-quotient", "A14", SLOT_RECIPROCAL, RECIPROCAL_OF_QUOTIENT, QH, "element scale as S_enc / scale", "" },
    { "reciprocal-of-scale", "F26", SLOT_RECIPROCAL, RECIPROCAL_OF_SCALE, QH, "element scale as (1 / scale) * S_enc", "" },
    { "reciprocal-ieee", "A16", SLOT_RECIPROCAL, RECIPROCAL_IEEE, QH, "IEEE reciprocal where the recipe has another", "" },
    { "reciprocal-approximate", "A16", SLOT_RECIPROCAL, RECIPROCAL_APPROXIMATE, QH,
      "approximate reciprocal where the IEEE one is due", "" },
    { "division", "", SLOT_RECIPROCAL, RECIPROCAL_DIVISION, QH, "elements are divided where a reciprocal is due", "" },
    { "reciprocal-flushed", "A17", SLOT_RECIPROCAL, RECIPROCAL_FLUSHED, QH | D, "a subnormal scale product is flushed to zero",
      "" },
    { "clamp-missing", "A4", SLOT_CLAMP, CLAMP_NONE, QH, "1 / q is not clamped at FLT_MAX: zero blocks turn into NaN", "" },
    { "clamp-drops-nan", "A2", SLOT_CLAMP, CLAMP_NAN_DROPPED, QH, "the clamp of 1 / q drops NaN", "" },
    { "clamp-branch", "A5", SLOT_CLAMP, CLAMP_BRANCH, QH, "a branch on q == 0 instead of the clamp", "" },
    { "zero-scale-zeros", "A6", SLOT_CLAMP, CLAMP_ZEROS, QH, "a block whose scale is 00 is written as zeros", "" },
    { "product-via-bf16", "F25", SLOT_PRODUCT, PRODUCT_BF16, QH | SC | D, "scaled values are rounded to bf16 first", "" },
    { "product-via-f16", "F21", SLOT_PRODUCT, PRODUCT_F16, QH | SC | D, "scaled values are rounded to f16 first", "" },
    { "product-plus-zero", "", SLOT_PRODUCT, PRODUCT_PLUS_ZERO, QH | SC, "x * s + 0 loses the sign of -0", "" },
    { "product-plain", "", SLOT_PRODUCT, PRODUCT_PLAIN, QH | SC, "x * s keeps -0 where x * s + 0 is due", "" },
    { "scale-pair-exchanged", "O4", SLOT_PAIR, PAIR_EXCHANGED, SC, "scale.x and scale.y are exchanged", "" },
    { "scale-pair-first", "", SLOT_PAIR, PAIR_FIRST, SC, "scale.x serves the odd elements too", "" },

    /* ---- rounding ------------------------------------------------------------------------------------------------------------------------------ */
    { "rule-half", "R2", SLOT_RULE, RULE_HALF, RANDOM, "stochastic rule half", "" },
    { "rule-half-old", "R1", SLOT_RULE, RULE_HALF_OLD, RANDOM, "stochastic rule half-old", "" },
    { "rule-fma-floor", "R4", SLOT_RULE, RULE_FMA_FLOOR, RANDOM, "stochastic rule fma-floor", "" },
    { "rule-trunc", "", SLOT_RULE, RULE_TRUNC, RANDOM, "stochastic rule trunc", "" },
    { "rule-hash32", "", SLOT_RULE, RULE_HASH32, RANDOM, "stochastic rule hash32", "" },
    { "random-ignored", "R3", SLOT_RULE, RULE_NEAREST, RANDOM, "rounded to nearest: the random bits are ignored", "" },
    { "noise-unclamped", "R5", SLOT_RULE, RULE_UNCLAMPED, RANDOM, "rule half without its clamp at the lower neighbour", "" },
    { "noise-of-255", "R6", SLOT_RULE, RULE_OF_255, RANDOM, "noise r / 255: exact values may rise", "" },
    { "noise-plus-1", "R6", SLOT_RULE, RULE_PLUS_1, RANDOM, "noise (r + 1) / 256: exact values may rise", "" },
    { "noise-plus-half", "R7", SLOT_RULE, RULE_PLUS_HALF, RANDOM, "noise (r + 1/2) / 256", "" },
    { "rounding-signed", "R8", SLOT_RULE, RULE_SIGNED, RANDOM, "random bits are added to the signed value: negatives are mirrored",
      "" },
    { "carry-overflows", "R9", SLOT_RULE, RULE_OVERFLOW, RANDOM, "the carry leaves the largest code: 6 becomes -0", "" },
    { "step-1-above-4", "R10", SLOT_RULE, RULE_STEP_1, RANDOM, "step 1 is kept above 4", "" },
    { "always-down", "F61", SLOT_RULE, RULE_DOWN, RANDOM, "never rounds up", "" },
    { "always-up", "", SLOT_RULE, RULE_UP, RANDOM, "always rounds up", "" },
    { "byte-complemented", "F62", SLOT_RULE, RULE_COMPLEMENT, RANDOM, "the random byte is complemented", "" },
    { "ties-away", "R15", SLOT_NEAREST, NEAREST_AWAY, QH | RN, "ties of nearest rounding go away from zero", "" },
    { "ties-to-zero", "R15", SLOT_NEAREST, NEAREST_TO_ZERO, QH | RN, "ties of nearest rounding go toward zero", "" },
    { "ties-upward", "", SLOT_NEAREST, NEAREST_UPWARD, QH | RN, "ties of nearest rounding go toward +Inf", "" },
    { "truncated", "", SLOT_NEAREST, NEAREST_TRUNCATED, QH | RN | D | G, "values are cut toward zero instead of rounded", "" },
    { "sign-compared", "R11 P13", SLOT_SIGN, SIGN_COMPARED, CODES | D, "the sign is x < 0: -0 loses it", "" },
    { "sign-lost-at-zero", "R12", SLOT_SIGN, SIGN_LOST_AT_ZERO, CODES | D, "whatever rounds to zero loses its sign", "" },
    { "nan-zero", "R13 P14", SLOT_SPECIAL, SPECIAL_NAN_ZERO, CODES, "NaN gives code 0", "" },
    { "nan-inf-zero", "R13", SLOT_SPECIAL, SPECIAL_NAN_INF_ZERO, CODES, "NaN and Inf give code 0", "" },
    { "nan-signed", "R14", SLOT_SPECIAL, SPECIAL_NAN_SIGNED, CODES, "NaN keeps its sign", "" },
    { "unsaturated", "F41 P12", SLOT_SPECIAL, SPECIAL_INF_WRAPS, CODES, "values beyond 6 wrap around", "" },

    /* ---- four-over-six ------------------------------------------------------------------------------------------------------------- */
    { "candidate-from-byte", "", SLOT_CANDIDATE, CANDIDATE_FROM_BYTE, F, "the map-to-4 scale is made from the rounded map-to-6 one",
      "" },
    { "error-by-reciprocal", "P5", SLOT_ERROR, ERROR_TIMES, F, "the error multiplies by 1 / (6 * bound) where it should divide",
      "" },
    { "error-by-decode-scale", "P5c", SLOT_ERROR, ERROR_DECODE, F, "the error takes code * scale * S_dec", "" },
    { "error-as-dequantized", "P5d", SLOT_ERROR, ERROR_DEQUANTIZER, F, "the error has the dequantizer's order of products", "" },
    { "error-scaled", "P5e", SLOT_ERROR, ERROR_SCALED, F, "the fast error, in the scaled domain", "" },
    { "error-exact", "", SLOT_ERROR, ERROR_EXACT, F, "the exact error where the recipe has another one", "" },
    { "error-divided-first", "P15", SLOT_ERROR, ERROR_DIVIDED_FIRST, F, "the error divides before it multiplies by the amax", "" },
    { "error-bound", "P10", SLOT_ERROR, ERROR_BOUND, F, "the error divides by the other bound", "" },
    { "metric-exchanged", "P9", SLOT_METRIC, METRIC_EXCHANGED, F, "mae and mse are exchanged", "" },
    { "errors-pairwise", "P6", SLOT_ERROR_SUM, ERRORS_PAIRWISE, F, "the errors of a group are added pairwise", "" },
    { "errors-in-halves", "P6b", SLOT_ERROR_SUM, ERRORS_HALVES, F, "the errors of a group are added in two halves", "" },
    { "errors-reversed", "P6c", SLOT_ERROR_SUM, ERRORS_REVERSED, F, "the errors of a group are added from the last to the first",
      "" },
    { "errors-fused", "P6d", SLOT_ERROR_SUM, ERRORS_FUSED, F, "squares are added by fused multiply-add", "" },
    { "errors-unfused", "", SLOT_ERROR_SUM, ERRORS_UNFUSED, F, "squares are added in two roundings where the recipe fuses", "" },
    { "tile-errors-serial", "P7", SLOT_TILE, TILE_SERIAL, F, "the row errors of a tile are added one after the other", "" },
    { "tile-errors-turned", "P7", SLOT_TILE, TILE_OTHER_AXIS, F, "the errors of a tile are those of its transpose", "" },
    { "tie-to-map-4", "P8", SLOT_PICK, PICK_TIES_TO_4, F, "equal errors store map-to-4", "" },
    { "always-map-to-6", "", SLOT_PICK, PICK_6, F, "map-to-6 is always stored", "" },
    { "always-map-to-4", "", SLOT_PICK, PICK_4, F, "map-to-4 is always stored", "" },
    { "worse-candidate", "", SLOT_PICK, PICK_WORSE, F, "the candidate with the larger error is stored", "" },

    /* ---- random bytes ------------------------------------------------------------------------------------------------------------------------------ */
    { "map-b300", "O6", SLOT_MAP, 1 + FP4_MAP_B300, RANDOM, "byte map b300", "" },
    { "map-ptx-x", "O6", SLOT_MAP, 1 + FP4_MAP_PTX_X, RANDOM, "byte map ptx-x", "" },
    { "map-ptx-y", "O6", SLOT_MAP, 1 + FP4_MAP_PTX_Y, RANDOM, "byte map ptx-y", "" },
    { "map-straight", "O6", SLOT_MAP, 1 + FP4_MAP_STRAIGHT, RANDOM, "byte map straight", "" },
    { "map-reverse", "O6", SLOT_MAP, 1 + FP4_MAP_REVERSE, RANDOM, "byte map reverse", "" },
    { "byte-shared", "O7", SLOT_BYTE, BYTE_SHARED, RANDOM, "one random byte serves all four elements", "" },
    { "byte-reversed", "", SLOT_BYTE, BYTE_REVERSED, RANDOM, "every random byte is bit-reversed", "" },
    { "byte-of-neighbour", "F64", SLOT_BYTE, BYTE_NEXT, RANDOM, "each element takes its neighbour's random byte", "" },
    { "word-shifted", "", SLOT_BYTE, BYTE_SHIFTED, RANDOM, "the random word is shifted by four bits", "" },

    /* ---- random words ------------------------------------------------------------------------------------------------------------------------------ */
    { "counter-exchanged", "G1", SLOT_GENERATOR, GENERATOR_COUNTER, S | P, "Philox counter { subsequence, offset }", "" },
    { "rounds-7", "G2", SLOT_GENERATOR, GENERATOR_7, S | P, "Philox with 7 rounds", "" },
    { "rounds-10", "G2", SLOT_GENERATOR, GENERATOR_10, S | P, "Philox with 10 rounds", "" },
    { "multipliers-exchanged", "G3", SLOT_GENERATOR, GENERATOR_MULTIPLIERS, S | P, "Philox with its multipliers exchanged", "" },
    { "key-exchanged", "", SLOT_GENERATOR, GENERATOR_KEY, S | P, "Philox with the words of the seed exchanged", "" },
    { "seed-32", "G4", SLOT_GENERATOR, GENERATOR_SEED_32, S | P, "the seed is cut to 32 bits", "" },
    { "seed-bit-0", "F64", SLOT_GENERATOR, GENERATOR_SEED_BIT, S | P, "bit 0 of the seed is ignored", "" },
    { "offset-no-carry", "G5", SLOT_GENERATOR, GENERATOR_NO_CARRY, S | P, "no carry out of the low word of the offset", "" },
    { "offset-ignored", "", SLOT_GENERATOR, GENERATOR_OFFSET_IGNORED, S | P, "the offset is ignored", "" },
    { "offset-in-words", "G9", SLOT_GENERATOR, GENERATOR_OFFSET_WORDS, S | P, "the offset is multiplied by 4", "" },
    { "offset-in-blocks", "", SLOT_GENERATOR, GENERATOR_OFFSET_BLOCKS, P, "the offset counts blocks where words are due", "" },
    { "offset-plus-1", "", SLOT_GENERATOR, GENERATOR_OFFSET_PLUS_1, S | P, "the offset is one too large", "" },
    { "subsequence-32", "", SLOT_GENERATOR, GENERATOR_SUBSEQUENCE_32, S | P, "the subsequence is cut to 32 bits", "" },
    { "words-reversed", "", SLOT_GENERATOR, GENERATOR_WORDS_REVERSED, S | P, "the four words of a draw are used in reverse", "" },
    { "stream-shared", "G6", SLOT_STREAM, STREAM_SHARED, S, "the transposed output takes the rowwise output's random words", "" },
    { "stream-one-call", "G8", SLOT_STREAM, STREAM_ONE_CALL, S, "the generator does not advance between draws", "" },
    { "stream-one-word", "F60", SLOT_STREAM, STREAM_ONE_WORD, S, "only the first word of each draw is used", "" },
    { "stream-one-tile", "F60", SLOT_STREAM, STREAM_ONE_TILE, S, "every tile repeats the random words of the first one", "" },
    { "stream-linear", "G7", SLOT_STREAM, STREAM_LINEAR, S, "random words are numbered through the output in order", "" },
    { "stream-both-outputs", "G7", SLOT_STREAM, STREAM_BOTH, S, "random words are numbered as if both outputs were made", "" },
    { "stream-ktile-512", "G7", SLOT_STREAM, STREAM_K_TILE_512, H, "random stream of k tile 512", "" },
    { "stream-ktile-1024", "G7", SLOT_STREAM, STREAM_K_TILE_1024, H, "random stream of k tile 1024", "" },
    { "stream-ktile-2048", "G7", SLOT_STREAM, STREAM_K_TILE_2048, H, "random stream of k tile 2048", "" },
    { "stream-tuned", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_TUNED, S, "random stream of the tuned kernel", "" },
    { "stream-2d", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_2D, S, "random stream of the 2-D kernel", "" },
    { "stream-group", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_GROUP, Q, "random stream of the group kernel", "" },
    { "stream-vector", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_VECTOR, S, "random stream of the vector-blockwise kernel",
      "" },
    { "stream-rht-col", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_RHT_COL, H, "random stream of the columnwise Hadamard kernel",
      "" },
    { "stream-rht-rowcol", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_RHT_ROWCOL, H, "random stream of the row_cast_col kernel",
      "" },
    { "stream-rht-group", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_RHT_GROUP, H,
      "random stream of the grouped row_cast_col kernel", "" },
    { "stream-fp4sm120", "G7", SLOT_STREAM, STREAM_KERNEL + FP4_STREAM_RHT_FP4SM120, H, "random stream of the SM120 port", "" },

    /* ---- whole rs-models: last, so that a rule or a map alone is named where it is enough --------------------------------------------------- */
    { "model-b300", "", SLOT_MODEL, 1, RANDOM, "rs-model b300", "" },
    { "model-ptx-x", "", SLOT_MODEL, 2, RANDOM, "rs-model ptx-x", "" },
    { "model-ptx-y", "", SLOT_MODEL, 3, RANDOM, "rs-model ptx-y", "" },
    { "model-straight", "", SLOT_MODEL, 4, RANDOM, "rs-model straight", "" },
    { "model-te-soft", "", SLOT_MODEL, 5, RANDOM, "rs-model te-soft", "" },
    { "model-fp4sm120", "", SLOT_MODEL, 6, RANDOM, "rs-model fp4sm120", "" },
    { "model-fp4sm120-old", "", SLOT_MODEL, 7, RANDOM, "rs-model fp4sm120-old", "" },
    { "model-hash32", "", SLOT_MODEL, 8, RANDOM, "rs-model hash32", "" },
    { "model-trunc+reverse", "", SLOT_MODEL, 9, RANDOM, "rs-model trunc+reverse", "" },
    { "model-half+b300", "", SLOT_MODEL, 10, RANDOM, "rs-model half+b300", "" },
    { "model-half+ptx-x", "", SLOT_MODEL, 11, RANDOM, "rs-model half+ptx-x", "" },
    { "model-half+ptx-y", "", SLOT_MODEL, 12, RANDOM, "rs-model half+ptx-y", "" },
    { "model-half+straight", "", SLOT_MODEL, 13, RANDOM, "rs-model half+straight", "" },
    { "model-half-old+b300", "", SLOT_MODEL, 14, RANDOM, "rs-model half-old+b300", "" },
    { "model-half-old+ptx-x", "", SLOT_MODEL, 15, RANDOM, "rs-model half-old+ptx-x", "" },
    { "model-half-old+ptx-y", "", SLOT_MODEL, 16, RANDOM, "rs-model half-old+ptx-y", "" },
    { "model-half-old+straight", "", SLOT_MODEL, 17, RANDOM, "rs-model half-old+straight", "" },
    { "model-fma-floor+b300", "", SLOT_MODEL, 18, RANDOM, "rs-model fma-floor+b300", "" },
    { "model-fma-floor+ptx-x", "", SLOT_MODEL, 19, RANDOM, "rs-model fma-floor+ptx-x", "" },
    { "model-fma-floor+ptx-y", "", SLOT_MODEL, 20, RANDOM, "rs-model fma-floor+ptx-y", "" },
    { "model-fma-floor+reverse", "", SLOT_MODEL, 21, RANDOM, "rs-model fma-floor+reverse", "" },
};
const size_t fp4_deviation_count = sizeof fp4_deviations / sizeof fp4_deviations[0];

const struct deviation *deviation_of(enum slot slot, uint8_t value)
{
    for (size_t i = 0; i < fp4_deviation_count; i++)
        if (fp4_deviations[i].slot == slot && fp4_deviations[i].value == value)
            return &fp4_deviations[i];
    return NULL;
}

const struct deviation *deviation_find(const char *name)
{
    for (size_t i = 0; i < fp4_deviation_count; i++)
        if (strcmp(fp4_deviations[i].name, name) == 0)
            return &fp4_deviations[i];
    return NULL;
}

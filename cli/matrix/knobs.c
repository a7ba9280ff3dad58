/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knob table, in the order in which tokens stand in a name. Within one operation no token belongs to two knobs, so a name can be
 * read without saying which knob is meant. test_matrix.c checks that.
 */
#include "case_build.h"

#include <assert.h>

#define OP(op) (1u << OP_##op)
#define QUANTIZERS (OP(QUANTIZE) | OP(RHT_QUANTIZE))
#define CONVERTERS (OP(CVT_RS) | OP(SR_BF16X4) | OP(SR_FP32X4) | OP(SR_BF16X8))

#define FOUR OP(FOUR_OVER_SIX)
#define GEMM OP(GEMM)

static const char *const round_tokens[] = { "rn", "sr", NULL };
static const char *const block_tokens[] = { "1x16", "16x16", NULL };
static const char *const out_tokens[] = { "row", "col", "both", NULL };
static const char *const rht_out_tokens[] = { "", "col", "both", NULL };
static const char *const amax_tokens[] = { "amax-tensor", "amax-row", NULL };
static const char *const stream_tokens[] = { "auto", "rbits", "tuned", "2d", "group", "vector", NULL };
static const char *const rht_stream_tokens[] = { "auto",       "rbits",     "tuned",        "",  "", "vector", "rht-col",
                                                 "rht-rowcol", "rht-group", "rht-fp4sm120", NULL };
static const char *const signs_tokens[] = { "signs", "nosigns", "signs-17e8", "signs-0001", "signs-8000", "signs-ffff", NULL };
static const char *const direction_tokens[] = { "forward", "inverse", NULL };
static const char *const sum_tokens[] = { "sum-tc", "sum-seq", "sum-exact", NULL };
static const char *const trip_tokens[] = { "", "trip-bf16", "trip-none", NULL };
static const char *const rcp_tokens[] = { "", "rcp-ieee", "rcp-approx", NULL };
static const char *const kernel_tokens[] = { "kernel-col", "kernel-rowcol", "kernel-unfused", NULL };
static const char *const ktile_tokens[] = { "", "ktile-2048", NULL };
static const char *const scale_tokens[] = { "scaled", "unscaled", NULL };
static const char *const coef_tokens[] = { "coef-f32", "coef-bf16", NULL };
static const char *const bound_tokens[] = { "bound-448", "bound-256", NULL };
static const char *const layout_tokens[] = { "linear", "swizzled", NULL };
static const char *const swizzle_tokens[] = { "swizzle", "unswizzle", NULL };
static const char *const pack_tokens[] = { "x4", "x2", NULL };
static const char *const rounds_tokens[] = { "r10", "r7", NULL };
static const char *const error_tokens[] = { "mae", "mse", NULL };
static const char *const mode_tokens[] = { "product", "quantized", "high-precision", "dequantized", NULL };
static const char *const gemm_sum_tokens[] = { "sum-seq", "sum-exact", NULL };
static const char *const factor_tokens[] = { "factor-multiply", "factor-divide", NULL };
static const char *const bias_tokens[] = { "nobias", "bias", NULL };
static const char *const fast_tokens[] = { "error-exact", "error-fast", NULL };
static const char *const nan_tokens[] = { "", "nan-drop", "nan-propagate", NULL };

const struct knob_row fp4_knobs[] = {
    { KNOB_ROUND, QUANTIZERS, round_tokens, 0, true, "round to nearest even, or stochastically" },
    { KNOB_MODE, GEMM, mode_tokens, 0, true, "the product of given operands, or a layer with one of its three backward modes" },
    { KNOB_ERROR, GEMM, error_tokens, 0, false, "the error of a candidate: sum of |d|, or of d * d" },
    { KNOB_BLOCK, GEMM, block_tokens, 1, false, "block of the weight" },
    { KNOB_ERROR, FOUR, error_tokens, 0, true, "the error of a candidate: sum of |d|, or of d * d" },
    { KNOB_BLOCK, OP(QUANTIZE) | FOUR, block_tokens, 0, true, "one scale for 16 elements, or for a 16x16 tile" },
    { KNOB_OUT, OP(QUANTIZE) | FOUR, out_tokens, 0, false, "rowwise output, transposed output, or both from one call" },
    { KNOB_OUT, OP(RHT_QUANTIZE), rht_out_tokens, 1, false,
      "the transformed and transposed output alone, or the plain rowwise one too" },
    { KNOB_AMAX, OP(QUANTIZE) | OP(DEQUANTIZE) | FOUR | GEMM, amax_tokens, 0, false,
      "one amax a tensor, or one a row (a column, transposed; gemm: of x)" },
    { KNOB_RS, CONVERTERS, rs_model_tokens, 0, true, "rule and byte map of the random bits" },
    { KNOB_RS, QUANTIZERS, rs_model_tokens, 0, false, "rule and byte map of the random bits" },
    { KNOB_STREAM, OP(QUANTIZE), stream_tokens, 0, false, "which random word an element takes; rbits: the words are an input" },
    { KNOB_STREAM, OP(RHT_QUANTIZE), rht_stream_tokens, 0, false,
      "which random word an element takes; rbits: the words are an input" },
    { KNOB_SIGNS, OP(RHT_QUANTIZE), signs_tokens, 0, false, "sign vector of the transform: TE's d7e8, none, or another mask" },
    { KNOB_DIRECTION, OP(RHT_QUANTIZE), direction_tokens, 0, false, "signs before the transform, or after it" },
    { KNOB_SUM, OP(RHT_QUANTIZE), sum_tokens, 0, false, "how the 16 products are added: tensor core, in order, one rounding" },
    { KNOB_TRIP, OP(RHT_QUANTIZE), trip_tokens, 0, false, "whether the sums are rounded to bf16; not given: as the recipe does" },
    { KNOB_RCP, OP(RHT_QUANTIZE), rcp_tokens, 0, false, "IEEE or approximate reciprocal; not given: as the recipe does" },
    { KNOB_KERNEL, OP(RHT_QUANTIZE), kernel_tokens, 0, false, "columnwise fusion, row_cast_col family, or two separate kernels" },
    { KNOB_KTILE, OP(RHT_QUANTIZE), ktile_tokens, 0, false, "k tile of stream rht-col; not given: TE's table" },
    { KNOB_SCALE, OP(SR_FP32X4), scale_tokens, 0, false, "with or without a multiplication before the conversion" },
    { KNOB_COEF, OP(SR_BF16X8), coef_tokens, 0, false, "type of the coefficient" },
    { KNOB_BOUND, OP(DEQUANTIZE), bound_tokens, 0, false, "largest block scale that the tensor was made for" },
    { KNOB_BOUND, FOUR | GEMM, bound_tokens, 1, false, "largest block scale that the global scale leaves room for" },
    { KNOB_FAST, FOUR, fast_tokens, 0, false, "errors in the input's domain, or in the scaled one (te-ref, flashinfer)" },
    { KNOB_NAN, FOUR | GEMM, nan_tokens, 0, false, "NaN makes the scale NaN, or is left out of it; not given: as the recipe does" },
    { KNOB_SUM, GEMM, gemm_sum_tokens, 0, false, "blocks added in order, each addition rounded, or one rounding" },
    { KNOB_FACTOR, GEMM, factor_tokens, 0, false, "amax / (6 * bound): by the reciprocal, as on a GPU, or by division" },
    { KNOB_BIAS, GEMM, bias_tokens, 0, false, "without or with a bias" },
    { KNOB_LAYOUT, OP(DEQUANTIZE), layout_tokens, 0, false, "layout of the scales" },
    { KNOB_SWIZZLE, OP(SWIZZLE), swizzle_tokens, 0, false, "to the GEMM layout, or back" },
    { KNOB_PACK, OP(CVT_RN), pack_tokens, 0, false, "values a conversion" },
    { KNOB_ROUNDS, QUANTIZERS | OP(PHILOX), rounds_tokens, 0, false, "rounds of Philox4x32" },
};
const size_t fp4_knob_rows = sizeof fp4_knobs / sizeof fp4_knobs[0];

const struct knob_row *knob_find(enum fp4_knob knob, enum fp4_op op)
{
    size_t i;

    for (i = 0; i < fp4_knob_rows; i++)
        if (fp4_knobs[i].knob == knob && (fp4_knobs[i].ops & 1u << op))
            return &fp4_knobs[i];
    return NULL;
}

const char *knob_name(enum fp4_knob knob)
{
    static const char *const names[KNOB_COUNT] = {
        [KNOB_ROUND] = "round",   [KNOB_BLOCK] = "block",     [KNOB_OUT] = "out",     [KNOB_AMAX] = "amax",
        [KNOB_RS] = "rs",         [KNOB_STREAM] = "stream",   [KNOB_SIGNS] = "signs", [KNOB_DIRECTION] = "direction",
        [KNOB_SUM] = "sum",       [KNOB_TRIP] = "trip",       [KNOB_RCP] = "rcp",     [KNOB_KERNEL] = "kernel",
        [KNOB_KTILE] = "ktile",   [KNOB_SCALE] = "scale",     [KNOB_COEF] = "coef",   [KNOB_BOUND] = "bound",
        [KNOB_LAYOUT] = "layout", [KNOB_SWIZZLE] = "swizzle", [KNOB_PACK] = "pack",   [KNOB_ROUNDS] = "rounds",
        [KNOB_ERROR] = "error",   [KNOB_FAST] = "fast",       [KNOB_NAN] = "nan",     [KNOB_MODE] = "mode",
        [KNOB_FACTOR] = "factor", [KNOB_BIAS] = "bias",
    };

    return names[knob];
}

uint16_t knob_sign_mask(unsigned value)
{
    static const uint16_t masks[] = { FP4_RHT_SIGN_MASK, 0, 0x17E8, 0x0001, 0x8000, 0xFFFF };

    assert(value < sizeof masks / sizeof masks[0]);
    return masks[value];
}

unsigned knob_k_tile(unsigned value)
{
    return value ? 2048 : 0;
}

unsigned knob_rounds(unsigned value)
{
    return value ? 7 : 10;
}

unsigned knob_bound(unsigned value)
{
    return value ? 256 : 448;
}

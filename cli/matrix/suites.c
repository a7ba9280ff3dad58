/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suites. A row is a product: every recipe with every knob variant, dtype, data construction, shape and seed. Combinations that
 * are not defined (case_check) are left out, and a case that two rows give is there once, where the first one put it.
 *
 * To add cases: a row. Words in a field are separated by spaces. A knob variant is tokens joined by "/", "-" for none; {rs} in it
 * stands for every rs-model and {named} for the published ones. Data {input} are the tensors of --input, in their own shape.
 *
 * The default suite is to run in seconds on two cores with the scalar reference: few elements a case, many cases.
 */
#include "case_build.h"
#include "suite_build.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SMOKE 1u
#define DEFAULT 2u
#define FULL 4u
#define INPUT 8u
#define SWEEP 16u
#define FOUR_TIES 32u
#define TE 64u
#define TE_SM90 128u
#define TE_BOTH (TE | TE_SM90)
#define BOTH (DEFAULT | FULL)

const struct suite_row fp4_suites[] = {
    { "smoke", "every op, recipe and data construction in small shapes: a fraction of a second" },
    { "default", "every knob, construction, rs-model and stream mapping, in modest shapes: seconds" },
    { "full", "the default suite, larger shapes (up to 8192x8192) and more seeds: minutes to hours" },
    { "input", "what --input gave: the quantizers over each tensor" },
    { "four-over-six-440", "torchao's sweep of four-over-six: 160 + 160 + 120 cases" },
    { "four-over-six-ties", "four-over-six where candidates tie, scales tie or are capped, and where NaN, Inf and zeros stand" },
    { "te", "Transformer Engine's library, every kernel that a case reaches: for backend te" },
    { "te-sm90", "the part of suite te that Transformer Engine computes on compute capability 9.0" },
};
const size_t fp4_suite_count = sizeof fp4_suites / sizeof fp4_suites[0];

static const unsigned suite_bits[] = { SMOKE, DEFAULT, FULL, INPUT, SWEEP, FOUR_TIES, TE, TE_SM90 };

struct suite_cases {
    enum fp4_op op;
    const char *recipes, *knobs, *dtypes, *data, *shapes;
    unsigned seeds;
    unsigned suites;
};

#define RANDOM "normal uniform heavy grid outliers bands spread requantised impulses cancel "
#define TIES "ties ties-any scale-ties scale-ties-any "
#define EXACT "exact midpoint quarters fractions coords "
#define REPORTS \
    "identity scalerules division amaxbf16 double profile reciprocal underflow subnormalscales secondcopy worked saturate "
#define EXTREMES "zeros negzero signedzero zeroblocks constant subnormal tiny huge dtypemax inf nan naninf "
#define GIVEN "amax0 amaxinf amaxnan amaxstale amaxlarge amaxtiny amax4 naninf4 "
#define WEIGHTS "minilm-embed minilm-query minilm-ffn-in minilm-ffn-out minilm-norm "
#define QUANTIZE_DATA RANDOM TIES EXACT REPORTS EXTREMES GIVEN

#define RHT_RANDOM "normal uniform heavy grid outliers bands spread impulses cancel "
#define RHT_OWN "rht-kat rht-cut rht-aligned rht-ties rht-scale-ties rht-midpoint "
#define RHT_EXTREMES "zeros negzero zeroblocks constant subnormal tiny huge inf nan naninf "
#define RHT_DATA RHT_RANDOM RHT_OWN RHT_EXTREMES GIVEN

#define FOUR_SWEEP "ao-random ao-boundary ao-maxes ao-denormal ao-negzero "
#define FOUR_OWN FOUR_SWEEP "four-ties four-worked four-scales four-special "
#define FOUR_EXTREMES "zeros negzero signedzero zeroblocks constant subnormal tiny huge dtypemax inf nan naninf "
#define FOUR_DATA "normal uniform heavy grid outliers bands spread requantised ties " FOUR_EXTREMES GIVEN FOUR_OWN
#define FOUR_KNOBS(block) "mae/" block " mse/" block " mae/" block "/bound-448 mse/" block "/bound-448 "

#define ALL_FLOATS "bf16 f32 f16"
#define TAILS "1x16 1x48 17x34 33x144 31x80 7x2 100x50"
#define TAILS_T "16x1 48x1 34x17 144x33 80x31 2x7 50x100"

static const struct suite_cases rows[] = {
    /* ---- smoke ------------------------------------------------------------------------------------------------------------------- */
    { OP_CVT_RN, "ptx", "- x2", "f32", "boundaries", "256x4", 1, SMOKE | BOTH },
    { OP_CVT_RN, "ptx", "-", "f32", "allbf16 exponents specials", "64x4", 1, SMOKE | BOTH },
    { OP_CVT_RS, "ptx", "b300", "f32", "boundaries probes mapprobes fractions allbytes specials", "64x4", 1, SMOKE | BOTH },
    { OP_CVT_RS, "ptx", "te-soft fp4sm120 hash32", "f32", "probes", "64x4", 1, SMOKE | BOTH },
    { OP_SR_BF16X4, "te", "b300", "bf16", "normal", "64x4", 1, SMOKE | BOTH },
    { OP_SR_FP32X4, "te", "b300 b300/unscaled", "f32", "normal uniform", "64x4", 1, SMOKE | BOTH },
    { OP_SR_BF16X8, "te", "b300 b300/coef-bf16", "bf16", "normal", "64x8", 1, SMOKE | BOTH },
    { OP_QUANTIZE, "te", "rn/1x16", "bf16", QUANTIZE_DATA WEIGHTS, "16x64", 1, SMOKE | BOTH },
    { OP_QUANTIZE, "te", "rn/1x16", "f32", REPORTS "tiny", "16x64", 1, SMOKE | BOTH },
    { OP_QUANTIZE, "te", "sr/1x16 rn/16x16/both sr/16x16/col", "bf16", "normal", "32x64", 1, SMOKE | BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/both", "f32 f16", "heavy", "32x64", 1, SMOKE | BOTH },
    { OP_QUANTIZE, "te-fast", "rn/1x16 sr/1x16", "bf16", "normal ties", "32x64", 1, SMOKE | BOTH },
    { OP_QUANTIZE, "te-ref torchao", "rn/1x16", "bf16", "normal ties", "16x64", 1, SMOKE | BOTH },
    { OP_RHT_QUANTIZE, "te", "rn", "bf16", RHT_OWN "normal cancel spread", "64x16", 1, SMOKE | BOTH },
    { OP_RHT_QUANTIZE, "te te-fast fp4sm120", "sr", "bf16", "normal", "64x128", 1, SMOKE | BOTH },
    { OP_RHT_QUANTIZE, "te-ref", "rn", "bf16", "normal", "32x16", 1, SMOKE | BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/both/kernel-rowcol rn/kernel-unfused", "bf16", "normal", "64x128", 1, SMOKE | BOTH },
    { OP_FOUR_OVER_SIX, "torchao", "mae/1x16", "bf16", FOUR_OWN, "16x64", 1, SMOKE | BOTH },
    { OP_FOUR_OVER_SIX, "torchao", "mse/16x16/bound-448", "bf16", "four-ties ao-boundary", "32x64", 1, SMOKE | BOTH },
    { OP_FOUR_OVER_SIX, "te te-fast te-ref flashinfer fouroversix", "mae/1x16", "bf16", "four-ties", "16x64", 1, SMOKE | BOTH },
    { OP_DEQUANTIZE, "torchao", "bound-256", "bf16", "normal", "16x256", 1, SMOKE | BOTH },
    { OP_GEMM, "torchao te-ref", "product", "bf16", "normal", "16x16x64", 1, SMOKE | BOTH },
    { OP_GEMM, "torchao", "quantized", "bf16", "normal", "128x128x128", 1, SMOKE | BOTH },
    { OP_DEQUANTIZE, "te", "-", "bf16", "allcodes normal heavy zeros random anybytes amaxspecial globals coords", "16x256", 1,
      SMOKE | BOTH },
    { OP_DEQUANTIZE, "te", "swizzled amax-row", "f32", "normal", "32x64", 1, SMOKE | BOTH },
    { OP_SWIZZLE, "te", "- unswizzle", "e4m3", "coords poison random", "144x3", 1, SMOKE | BOTH },
    { OP_PHILOX, "te curand", "-", "u32", "kat carry random", "16x16", 1, SMOKE | BOTH },

    /* ---- conversions -------------------------------------------------------------------------------------------------------------- */
    { OP_CVT_RN, "ptx", "- x2", "f32", "boundaries", "8963x4", 2, BOTH },
    { OP_CVT_RN, "ptx", "- x2", "f32", "exponents", "416x4", 1, BOTH },
    { OP_CVT_RN, "ptx", "- x2", "f32", "specials normal uniform", "60x4 64x64", 1, BOTH },
    { OP_CVT_RN, "ptx", "-", "f32", "allbf16", "65536x4", 1, BOTH },
    { OP_CVT_RS, "ptx", "b300", "f32", "allbf16", "65536x4", 3, BOTH },
    { OP_CVT_RS, "ptx", "{named}", "f32", "allbf16", "8192x4", 3, BOTH },
    { OP_CVT_RS, "ptx", "{rs}", "f32", "probes mapprobes specials", "47x4 288x4", 1, BOTH },
    { OP_CVT_RS, "ptx", "{rs}", "f32", "boundaries fractions", "3584x4", 1, BOTH },
    { OP_CVT_RS, "ptx", "{rs}", "f32", "exponents", "416x4", 1, BOTH },
    { OP_CVT_RS, "ptx", "{rs}", "f32", "normal uniform", "64x128", 1, BOTH },
    { OP_CVT_RS, "ptx", "{named}", "f32", "boundaries", "8963x4", 1, BOTH },
    { OP_CVT_RS, "ptx", "{named}", "f32", "allbytes", "16384x4", 1, BOTH },
    { OP_SR_BF16X4, "te", "{rs}", "bf16", "normal boundaries", "1792x4", 1, BOTH },
    { OP_SR_BF16X4, "te", "{named}", "bf16", "uniform probes mapprobes fractions exponents specials allbytes", "832x4", 1, BOTH },
    { OP_SR_BF16X4, "te", "b300", "bf16", "allbf16", "65536x4", 1, BOTH },
    { OP_SR_FP32X4, "te", "{rs} {rs}/unscaled", "f32", "normal", "256x4", 1, BOTH },
    { OP_SR_FP32X4, "te", "{named} {named}/unscaled", "f32", "uniform probes boundaries specials fractions", "832x4", 1, BOTH },
    { OP_SR_FP32X4, "te", "b300", "f32", "exponents mapprobes allbytes allbf16", "3584x4", 1, BOTH },
    { OP_SR_BF16X8, "te", "{rs} {rs}/coef-bf16", "bf16", "normal", "256x8", 1, BOTH },
    { OP_SR_BF16X8, "te", "{named} {named}/coef-bf16", "bf16", "uniform probes boundaries specials fractions", "832x8", 1, BOTH },
    { OP_SR_BF16X8, "te", "b300 b300/coef-bf16", "bf16", "exponents mapprobes allbytes", "3584x8", 1, BOTH },
    { OP_SR_BF16X8, "te", "b300", "bf16", "allbf16", "65536x8", 1, BOTH },

    /* ---- quantize ------------------------------------------------------------------------------------------------------------------ */
    { OP_QUANTIZE, "te", "rn/1x16 sr/1x16", ALL_FLOATS, QUANTIZE_DATA, "32x64", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16/col rn/1x16/both", ALL_FLOATS, "normal grid ties nan amaxstale", "64x128 48x80", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/col sr/1x16/both sr/16x16 sr/16x16/both", ALL_FLOATS, "normal midpoint", "64x128 48x80", 1,
      BOTH },
    { OP_QUANTIZE, "te", "rn/16x16", ALL_FLOATS, QUANTIZE_DATA, "64x64", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/16x16/col rn/16x16/both", ALL_FLOATS, "normal grid ties nan", "64x128 33x48 48x80", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16", ALL_FLOATS, TIES, "48x320", 4, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16/col", ALL_FLOATS, TIES, "320x48", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16", "bf16 f32", "scale-ties-any grid requantised", "48x320", 10, BOTH },
    { OP_QUANTIZE, "te", "rn/16x16", "bf16 f32", TIES, "256x320", 1, BOTH },
    { OP_QUANTIZE, "te-fast", "rn/1x16 rn/1x16/both sr/1x16", "bf16", QUANTIZE_DATA, "32x64", 1, BOTH },
    { OP_QUANTIZE, "te-fast", "rn/1x16 rn/1x16/both", "bf16", TIES "grid", "64x320", 2, BOTH },
    { OP_QUANTIZE, "te-ref", "rn/1x16 rn/16x16/both", "bf16 f32", QUANTIZE_DATA, "32x64", 1, BOTH },
    { OP_QUANTIZE, "torchao", "rn/1x16", "bf16 f32", QUANTIZE_DATA, "32x64", 1, BOTH },
    { OP_QUANTIZE, "te-ref torchao", "rn/1x16", "bf16 f32", TIES "grid", "48x320", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16/amax-row sr/1x16/amax-row rn/1x16/both/amax-row", ALL_FLOATS,
      "normal heavy ties nan zeroblocks amaxstale amax0", "32x64 64x160", 1, BOTH },
    { OP_QUANTIZE, "te-fast", "rn/1x16/amax-row", "bf16", "normal ties", "32x64", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16 sr/1x16 rn/16x16", "bf16 f32", "normal ties nan coords", TAILS, 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16/col sr/1x16/col", "bf16 f32", "normal ties nan", TAILS_T, 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16/both", "bf16", "normal", "16x272 18x34 66x126 130x258", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16 sr/1x16", "bf16", "normal", "32x96 32x128 32x160 32x192 32x256 8x2048 8x3072 8x4096", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16 sr/1x16", "bf16", "normal", "8193x16", 1, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16", "bf16", "normal", "20005x16 65552x16", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/vector sr/1x16/tuned sr/1x16/group sr/1x16/rbits", "bf16", "normal midpoint fractions",
      "64x128 160x256", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/both/vector sr/1x16/both/tuned sr/1x16/both/rbits sr/1x16/col/vector", "bf16", "normal midpoint",
      "64x128 160x256", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/16x16/2d sr/16x16/both/2d sr/16x16/col/2d sr/16x16/vector sr/16x16/both/rbits", "bf16",
      "normal midpoint", "64x128 160x256", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/rbits sr/1x16/vector", "f32 f16", "normal quarters fractions", "32x64 33x144", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/{rs} sr/1x16/{rs}/rbits", "bf16", "normal fractions", "32x64", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/{named}/rbits", "f32", "ties fractions signedzero naninf4", "32x64", 1, BOTH },
    { OP_QUANTIZE, "te-fast", "sr/1x16/{named}", "bf16", "normal signedzero", "32x64", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/r7 sr/16x16/r7 sr/1x16/te-soft/r7", "bf16", "normal", "32x64", 1, BOTH },
    { OP_QUANTIZE, "te", "sr/1x16", "bf16", "normal midpoint", "64x128", 8, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16 sr/1x16", "bf16 f32", "tiny zeroblocks constant exact", "32x64", 6, BOTH },
    { OP_QUANTIZE, "te", "rn/1x16 rn/16x16 sr/1x16 rn/1x16/col", ALL_FLOATS, WEIGHTS, "32x384", 1, BOTH },
    { OP_QUANTIZE, "te-ref torchao", "rn/1x16", "bf16 f32", WEIGHTS, "32x384", 1, BOTH },

    /* ---- rht-quantize -------------------------------------------------------------------------------------------------------------- */
    { OP_RHT_QUANTIZE, "te", "rn", "bf16", RHT_DATA WEIGHTS, "64x128", 1, BOTH },
    { OP_RHT_QUANTIZE, "te-fast te-ref fp4sm120", "rn", "bf16", RHT_DATA, "32x64", 1, BOTH },
    { OP_RHT_QUANTIZE, "te", "rn/kernel-rowcol rn/both/kernel-rowcol rn/kernel-unfused rn/both/kernel-unfused", "bf16", RHT_DATA,
      "32x64", 1, BOTH },
    { OP_RHT_QUANTIZE, "te te-fast",
      "rn/nosigns rn/signs-17e8 rn/signs-0001 rn/signs-8000 rn/signs-ffff rn/inverse rn/nosigns/inverse", "bf16",
      "normal impulses rht-kat rht-ties", "64x64", 1, BOTH },
    { OP_RHT_QUANTIZE, "te te-fast",
      "rn/sum-seq rn/sum-exact rn/trip-none rn/trip-bf16 rn/rcp-approx rn/rcp-ieee rn/sum-seq/trip-none", "bf16",
      "normal rht-kat rht-cut rht-aligned cancel rht-ties amax4", "64x32", 1, BOTH },
    { OP_RHT_QUANTIZE, "te te-fast fp4sm120", "rn", "bf16", "rht-ties rht-scale-ties normal", "256x64", 6, BOTH },
    { OP_RHT_QUANTIZE, "te", "sr", "bf16", "normal rht-midpoint", "64x128 192x128 256x128 128x256 512x256 1024x128 320x384", 1,
      BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/ktile-2048 sr/rht-col", "bf16", "rht-midpoint", "64x128 192x128 2048x64", 1, BOTH },
    { OP_RHT_QUANTIZE, "te",
      "sr/kernel-rowcol sr/rht-rowcol/kernel-rowcol sr/both/kernel-rowcol sr/rht-group/kernel-rowcol "
      "sr/both/rht-group/kernel-rowcol",
      "bf16", "normal rht-midpoint", "128x128 64x64 192x192", 1, BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/both/kernel-rowcol sr/both/rht-group/kernel-rowcol", "bf16", "rht-midpoint", "1152x64", 1, BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/kernel-unfused sr/tuned/kernel-unfused sr/vector/kernel-unfused sr/both/kernel-unfused", "bf16",
      "normal", "64x128 160x192", 1, BOTH },
    { OP_RHT_QUANTIZE, "fp4sm120", "sr sr/fp4sm120/rht-fp4sm120 sr/fp4sm120-old sr/hash32", "bf16", "normal rht-midpoint",
      "64x128 192x256", 1, BOTH },
    { OP_RHT_QUANTIZE, "te te-fast", "sr sr/rbits sr/both/rbits/kernel-rowcol sr/r7", "bf16", "normal naninf4 rht-ties zeros",
      "64x128", 1, BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/{rs}", "bf16", "normal", "64x64", 1, BOTH },
    { OP_RHT_QUANTIZE, "te", "rn sr", "bf16", "normal", "16x16 16x2 48x80 16x272 32x17 8208x16", 1, BOTH },
    { OP_RHT_QUANTIZE, "te", "rn sr", "bf16", WEIGHTS, "64x384", 1, BOTH },

    /* ---- four-over-six ------------------------------------------------------------------------------------------------------------- */
    { OP_FOUR_OVER_SIX, "torchao", "mae/1x16 mse/16x16", "bf16", FOUR_DATA WEIGHTS, "16x64", 1, BOTH },
    { OP_FOUR_OVER_SIX, "torchao te te-ref", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16 f32", FOUR_OWN, "32x32", 1, BOTH },
    { OP_FOUR_OVER_SIX, "te te-fast te-ref", FOUR_KNOBS("1x16/both") FOUR_KNOBS("16x16/both") "mae/1x16/col mse/1x16/col",
      "bf16 f32", "normal grid four-ties four-special", "32x48", 1, BOTH },
    { OP_FOUR_OVER_SIX, "torchao te te-fast te-ref flashinfer", "mae/1x16/amax-row mse/1x16/amax-row mae/1x16/amax-row/bound-448",
      ALL_FLOATS, "normal grid zeroblocks amax0 amaxstale four-ties four-worked four-special", "16x64", 1, BOTH },
    { OP_FOUR_OVER_SIX, "te-fast flashinfer fouroversix", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16 f16",
      FOUR_OWN "normal grid nan", "32x32", 1, BOTH },
    { OP_FOUR_OVER_SIX, "te-ref flashinfer", "mae/1x16/error-fast mse/1x16/error-fast mae/16x16/error-fast", "bf16",
      "normal grid four-ties four-worked four-special", "16x64", 1, BOTH },
    { OP_FOUR_OVER_SIX, "torchao",
      "mae/1x16/nan-propagate mse/16x16/nan-propagate mae/1x16/amax-row/nan-propagate mae/1x16/nan-drop", "bf16 f32",
      "nan naninf naninf4 amaxnan four-special normal", "16x64", 1, BOTH },
    { OP_FOUR_OVER_SIX, "torchao te", "mae/1x16", "bf16", "normal grid", "1x16 100x64 17x48 7x512", 1, BOTH },
    { OP_FOUR_OVER_SIX, "te", "mae/1x16 mse/16x16", "bf16", WEIGHTS, "16x384", 1, BOTH },

    /* ---- gemm ------------------------------------------------------------------------------------------------------------------------- */
    { OP_GEMM, "torchao te-ref", "product product/amax-row product/bound-448 product/sum-exact product/bias product/amax-row/bias",
      "f32 bf16", "normal heavy grid outliers bands zeros negzero inf nan random anybytes", "16x24x64", 1, BOTH },
    { OP_GEMM, "torchao te-ref", "product", "f32 bf16", "normal random", "1x8x32 17x40x96 16x16x2048", 1, BOTH },
    { OP_GEMM, "torchao te-ref", "product", "f32", "allcodes", "512x16x32", 1, BOTH },
    { OP_GEMM, "torchao", "product/factor-divide product/amax-row/factor-divide", "f32", "normal random", "16x24x128", 2, BOTH },
    { OP_GEMM, "torchao", "quantized high-precision dequantized high-precision/amax-row dequantized/amax-row", "bf16",
      "normal grid", "128x128x128", 1, BOTH },
    { OP_GEMM, "torchao",
      "quantized/mse/1x16/bound-448/sum-exact/bias dequantized/mse/1x16/amax-row/bias quantized/bias/factor-divide "
      "quantized/nan-propagate quantized/nan-drop high-precision/bias",
      "bf16", "normal nan", "128x128x128", 1, BOTH },

    /* ---- dequantize, swizzle, philox ------------------------------------------------------------------------------------------------- */
    { OP_DEQUANTIZE, "te", "- amax-row bound-256 swizzled amax-row/swizzled", ALL_FLOATS,
      "allcodes normal heavy zeros random anybytes amaxspecial globals coords", "32x256", 1, BOTH },
    { OP_DEQUANTIZE, "torchao", "bound-256 bound-256/amax-row -", ALL_FLOATS, "allcodes normal heavy anybytes amaxspecial",
      "16x256", 1, BOTH },
    { OP_DEQUANTIZE, "te", "- swizzled", ALL_FLOATS, "allcodes random", "1x16 129x80 144x48 7x2896", 1, BOTH },
    { OP_DEQUANTIZE, "te", "-", ALL_FLOATS, "amaxspecial globals allcodes", "16x256", 12, BOTH },
    { OP_SWIZZLE, "te", "- unswizzle", "e4m3", "coords poison random",
      "1x1 7x4 31x4 32x8 128x4 127x3 129x5 144x3 8x16 16x8 256x45 2880x9", 1, BOTH },
    { OP_SWIZZLE, "te", "- unswizzle", "e4m3", "coords", "300x20", 4, BOTH },
    { OP_PHILOX, "te curand", "- r7", "u32", "kat carry", "216x16", 1, BOTH },
    { OP_PHILOX, "te curand", "- r7", "u32", "random", "64x64 1x4096 5000x4", 2, BOTH },

    /* ---- full ------------------------------------------------------------------------------------------------------------------------ */
    { OP_CVT_RS, "ptx", "{named}", "f32", "allbf16", "65536x4", 64, FULL },
    { OP_CVT_RS, "ptx", "{rs}", "f32", "allbytes", "458752x4", 1, FULL },
    { OP_CVT_RS, "ptx", "{rs}", "f32", "boundaries", "8963x4", 8, FULL },
    { OP_QUANTIZE, "te te-ref", "rn/1x16 rn/1x16/col rn/16x16/both", ALL_FLOATS, TIES "grid requantised bands", "1024x1024", 4,
      FULL },
    { OP_QUANTIZE, "te", "rn/1x16/both sr/1x16/both rn/16x16/both sr/16x16/both", "bf16", "normal heavy grid",
      "1024x1024 256x272 304x304 2048x2048 8192x512 8192x5120 8192x8192", 2, FULL },
    { OP_QUANTIZE, "te-fast", "rn/1x16/both sr/1x16", "bf16", "normal grid", "1024x1024 2048x2048 8192x5120", 2, FULL },
    { OP_QUANTIZE, "torchao", "rn/1x16", "bf16 f32", "normal grid", "1024x1024 4096x4096", 2, FULL },
    { OP_QUANTIZE, "te", "sr/1x16 sr/1x16/both", "f32", "normal", "8193x48 20004x32 20005x32 65540x16 8192x2688", 2, FULL },
    { OP_QUANTIZE, "te", "rn/1x16 sr/1x16", "bf16", QUANTIZE_DATA, "256x512", 4, FULL },
    { OP_RHT_QUANTIZE, "te te-fast fp4sm120", "rn sr", "bf16", "normal rht-cut rht-ties rht-scale-ties",
      "256x128 1024x1024 2048x2048 8192x5120 8192x512 512x8192 5120x8192 8192x10240", 2, FULL },
    { OP_RHT_QUANTIZE, "te", "rn/both/kernel-rowcol sr/both/kernel-rowcol sr/both/rht-group/kernel-rowcol sr/kernel-unfused",
      "bf16", "normal grid", "1024x1024 2048x1024 8192x5120", 2, FULL },
    { OP_DEQUANTIZE, "te", "- amax-row swizzled", ALL_FLOATS, "normal random anybytes", "1024x1024 8192x2880", 2, FULL },
    { OP_SWIZZLE, "te", "- unswizzle", "e4m3", "random poison", "8192x512 2880x180", 2, FULL },
    { OP_FOUR_OVER_SIX, "torchao te", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16") "mae/1x16/amax-row", "bf16", "normal grid four-ties",
      "256x272 304x304 1024x1024 2048x1024", 1, FULL },
    { OP_FOUR_OVER_SIX, "te te-fast", "mae/1x16/both mse/16x16/both", "bf16 f32", "normal grid", "256x1024 2048x2048", 1, FULL },
    { OP_FOUR_OVER_SIX, "torchao", "mae/1x16 mae/16x16", "bf16", "normal", "8192x7168", 1, FULL },
    { OP_GEMM, "torchao", "quantized high-precision dequantized dequantized/mse/1x16/amax-row", "bf16", "normal", "256x384x512", 1,
      FULL },
    { OP_PHILOX, "te curand", "- r7", "u32", "random", "65536x16", 8, FULL },

    /* ---- torchao's sweep, in its order; ties ------------------------------------------------------------------------------------------ */
    { OP_FOUR_OVER_SIX, "torchao", FOUR_KNOBS("1x16"), "bf16 f32", FOUR_SWEEP, "128x256 64x1024 384x256 100x320", 1, SWEEP | FULL },
    { OP_FOUR_OVER_SIX, "torchao", FOUR_KNOBS("1x16/amax-row"), "bf16 f32", FOUR_SWEEP, "128x256 64x1024 384x256 100x320", 1,
      SWEEP | FULL },
    { OP_FOUR_OVER_SIX, "torchao", FOUR_KNOBS("16x16"), "bf16 f32", FOUR_SWEEP, "128x256 64x1024 384x256", 1, SWEEP | FULL },
    { OP_FOUR_OVER_SIX, "torchao te te-fast te-ref", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16 f32", "four-ties", "64x192", 7,
      FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "flashinfer fouroversix", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16 f16", "four-ties", "64x192", 7,
      FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "torchao", FOUR_KNOBS("1x16/amax-row"), "bf16 f32", "four-ties four-worked four-special", "48x192", 1,
      FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "torchao te te-fast te-ref flashinfer fouroversix", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16",
      "four-worked", "32x64", 19, FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "torchao te te-ref", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16 f32", "four-scales", "96x256", 6,
      FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "torchao te te-fast te-ref flashinfer fouroversix", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16",
      "four-special", "32x64", 6, FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "torchao", "mae/1x16/nan-propagate mae/16x16/nan-propagate", "bf16 f32", "four-special nan naninf4",
      "32x64", 6, FOUR_TIES | FULL },
    { OP_FOUR_OVER_SIX, "torchao te", FOUR_KNOBS("1x16") FOUR_KNOBS("16x16"), "bf16 f32",
      "zeros negzero zeroblocks signedzero inf amax0 amaxinf amaxnan amaxstale amaxlarge subnormal tiny", "32x64", 1,
      FOUR_TIES | FULL },

    /* ---- input ------------------------------------------------------------------------------------------------------------------------ */
    { OP_QUANTIZE, "te te-fast te-ref torchao", "rn/1x16 sr/1x16 rn/1x16/both rn/16x16/both sr/1x16/both", ALL_FLOATS, "{input}",
      "-", 1, INPUT },
    { OP_RHT_QUANTIZE, "te te-fast", "rn sr rn/both/kernel-rowcol", "bf16", "{input}", "-", 1, INPUT },
    { OP_FOUR_OVER_SIX, "torchao te-fast", "mae/1x16 mse/1x16 mae/1x16/amax-row mae/16x16 mse/16x16", ALL_FLOATS, "{input}", "-", 1,
      INPUT },

    /* ---- te: the vector-blockwise kernel, stochastic, as on every device without cvt.rs ------------------------------------------------ */
    { OP_QUANTIZE, "te", "sr/1x16/te-soft", "f32 f16", QUANTIZE_DATA, "32x64", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/te-soft", "bf16", QUANTIZE_DATA, "48x80", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/col/te-soft sr/1x16/both/te-soft", "f32 f16", QUANTIZE_DATA, "64x128", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/col/te-soft sr/1x16/both/te-soft", "bf16", QUANTIZE_DATA, "48x80", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/col/te-soft", "bf16", "normal ties midpoint nan amaxstale", "64x128 32x64 160x256", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/16x16/te-soft sr/16x16/both/te-soft sr/16x16/col/te-soft", "f32 f16",
      "normal grid ties midpoint nan coords amaxstale", "64x128 33x48 48x80", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/16x16/te-soft sr/16x16/both/te-soft sr/16x16/col/te-soft", "bf16",
      "normal grid ties midpoint nan coords", "48x80 34x18 130x258", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/te-soft/vector sr/1x16/both/te-soft/vector sr/1x16/col/te-soft/vector", "f32 f16",
      "midpoint fractions", "128x128 256x384 160x256 130x258 1040x272", 2, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/16x16/both/te-soft/vector", "f32", "midpoint fractions", "128x128 256x384 130x258", 2, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/te-soft", "bf16 f32", "normal ties nan coords", TAILS, 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/col/te-soft", "bf16 f32", "normal ties nan", "16x2 48x2 34x18 144x34 80x32 2x8 50x100", 1,
      TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/te-soft sr/1x16/both/te-soft", "f32", "normal heavy", "1024x1024 2048x544 8192x512", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/te-soft", "f32 f16", WEIGHTS, "32x384", 1, TE_BOTH },
    { OP_QUANTIZE, "te", "sr/1x16/te-soft", "f32", "normal midpoint", "64x128", 16, TE_BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/kernel-unfused/te-soft", "bf16", RHT_DATA, "48x80 64x48 80x64", 1, TE_BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/kernel-unfused/te-soft/vector sr/kernel-unfused/both/te-soft", "bf16",
      "normal rht-midpoint spread", "16x16 16x272 272x16 144x176 1040x272 8208x16", 1, TE_BOTH },
    { OP_RHT_QUANTIZE, "te",
      "sr/kernel-unfused/te-soft/nosigns sr/kernel-unfused/te-soft/signs-17e8 sr/kernel-unfused/te-soft/signs-0001 "
      "sr/kernel-unfused/te-soft/signs-8000 sr/kernel-unfused/te-soft/signs-ffff",
      "bf16", "normal impulses rht-kat rht-ties cancel", "48x80", 1, TE_BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/kernel-unfused/te-soft", "bf16", "rht-ties rht-scale-ties rht-cut rht-aligned normal spread",
      "272x80", 6, TE_BOTH },
    { OP_RHT_QUANTIZE, "te", "sr/kernel-unfused/te-soft", "bf16", WEIGHTS, "48x384", 1, TE_BOTH },
    { OP_DEQUANTIZE, "te", "- amax-row bound-256 swizzled amax-row/swizzled", ALL_FLOATS,
      "allcodes normal heavy zeros random anybytes amaxspecial globals coords", "32x256", 1, TE_BOTH },
    { OP_DEQUANTIZE, "te", "- swizzled", ALL_FLOATS, "allcodes random", "1x16 129x80 144x48 7x2896 1024x1024", 1, TE_BOTH },
    { OP_SWIZZLE, "te", "- unswizzle", "e4m3", "coords poison random",
      "1x1 7x4 31x4 32x8 128x4 127x3 129x5 144x3 8x16 16x8 256x45 2880x9 8192x512", 1, TE_BOTH },

    /* ---- te: the kernels of Blackwell ------------------------------------------------------------------------------------------------------ */
    { OP_QUANTIZE, "te", "rn/1x16 rn/1x16/both rn/16x16/both", ALL_FLOATS, QUANTIZE_DATA, "32x64", 1, TE },
    { OP_QUANTIZE, "te", "rn/1x16 rn/1x16/col rn/16x16", ALL_FLOATS, "normal ties nan", "48x80 160x256", 1, TE },
    { OP_QUANTIZE, "te-fast", "rn/1x16 rn/1x16/both", "bf16", QUANTIZE_DATA, "32x64", 1, TE },
    { OP_QUANTIZE, "te",
      "sr/1x16 sr/1x16/both sr/16x16/both sr/1x16/group sr/1x16/te-soft sr/1x16/both/te-soft sr/16x16/both/te-soft "
      "sr/1x16/te-soft/group",
      "bf16", "normal midpoint fractions", "64x128 160x256 1024x1024", 1, TE },
    { OP_QUANTIZE, "te-fast", "sr/1x16 sr/1x16/both sr/1x16/te-soft", "bf16", "normal midpoint signedzero", "64x128", 1, TE },
    { OP_QUANTIZE, "te", "sr/1x16 sr/1x16/both sr/16x16/both", "f32 f16", "normal midpoint fractions", "64x128 48x80", 1, TE },
    { OP_QUANTIZE, "te", "rn/1x16/amax-row rn/1x16/both/amax-row sr/1x16/amax-row sr/1x16/te-soft/amax-row", ALL_FLOATS,
      "normal heavy ties nan zeroblocks", "32x64 64x160", 1, TE },
    { OP_FOUR_OVER_SIX, "te te-fast", FOUR_KNOBS("1x16") FOUR_KNOBS("1x16/both") FOUR_KNOBS("16x16/both"), ALL_FLOATS, FOUR_OWN,
      "32x64", 1, TE },
    { OP_FOUR_OVER_SIX, "te te-fast", "mae/1x16/amax-row mse/1x16/amax-row/bound-448", "bf16 f32", "four-ties normal grid ties nan",
      "48x64", 1, TE },
    { OP_RHT_QUANTIZE, "te te-fast", "rn rn/kernel-rowcol rn/both/kernel-rowcol rn/kernel-unfused", "bf16", RHT_DATA, "64x128", 1,
      TE },
    { OP_RHT_QUANTIZE, "te", "sr sr/kernel-rowcol sr/both/kernel-rowcol sr/both/rht-group/kernel-rowcol sr/kernel-unfused", "bf16",
      "normal rht-midpoint", "128x128 256x384 1152x128", 1, TE },
    { OP_RHT_QUANTIZE, "te", "sr/kernel-unfused/te-soft", "bf16", "normal rht-midpoint", "64x128 160x192", 1, TE },
};

/* ---- expansion ------------------------------------------------------------------------------------------------------------------------- */

#define WORD_MAX 64

/* Takes the next word; false at the end. */
static bool next_word(const char **at, char word[WORD_MAX])
{
    size_t n;

    *at += strspn(*at, " ");
    n = strcspn(*at, " ");
    if (n == 0)
        return false;
    assert(n < WORD_MAX);
    memcpy(word, *at, n);
    word[n] = '\0';
    *at += n;
    return true;
}

static int set_knobs(struct fp4_case *c, const char *variant, const char *model, struct fp4_error *err)
{
    char token[WORD_MAX];
    const char *at = variant;

    if (strcmp(variant, "-") == 0)
        return 0;
    for (;;) {
        size_t n = strcspn(at, "/");

        memcpy(token, at, n);
        token[n] = '\0';
        if (!case_set_knob(c, token[0] == '{' ? model : token, err))
            return -1;
        if (!at[n])
            return 0;
        at += n + 1;
    }
}

struct expansion {
    const struct suite_cases *row;
    struct suite_builder *builder;
    struct fp4_error *err;
};

static int add_defined(const struct expansion *x, const struct fp4_case *c)
{
    struct fp4_case seeded = *c;
    unsigned seed;

    if (case_check(c, NULL))
        return 0;
    for (seed = 0; seed < x->row->seeds; seed++) {
        seeded.seed = seed;
        if (suite_builder_add(x->builder, &seeded, x->err) < 0)
            return -1;
    }
    return 0;
}

static int expand_inputs(const struct expansion *x, struct fp4_case *c)
{
    enum fp4_dtype dtype;
    size_t i;

    for (i = 0; i < input_count(); i++) {
        input_shape(i, &c->rows, &c->cols, &dtype);
        if (dtype != c->dtype && c->op != OP_RHT_QUANTIZE) /* the transform reads bf16 only: others are rounded */
            continue;
        if (case_set_data(c, input_data_name(i), x->err) || add_defined(x, c))
            return -1;
    }
    return 0;
}

static int expand_data(const struct expansion *x, struct fp4_case *c)
{
    const char *data = x->row->data, *shapes;
    char word[WORD_MAX];

    if (strcmp(data, "{input}") == 0)
        return expand_inputs(x, c);
    while (next_word(&data, word)) {
        if (case_set_data(c, word, x->err))
            return -1;
        for (shapes = x->row->shapes; next_word(&shapes, word);)
            if (case_set_shape(c, word, x->err) || add_defined(x, c))
                return -1;
    }
    return 0;
}

static int expand_variant(const struct expansion *x, const char *recipe, const char *variant, const char *model)
{
    struct fp4_case made = case_make(x->row->op, CR_TE, FP4_F32, NULL, 1, 1, 0), c;
    const char *dtypes = x->row->dtypes;
    char word[WORD_MAX];

    if (case_set_recipe(&made, recipe, x->err) || set_knobs(&made, variant, model, x->err))
        return -1;
    while (next_word(&dtypes, word)) {
        c = made;
        if (case_set_dtype(&c, word, x->err) || expand_data(x, &c))
            return -1;
    }
    return 0;
}

static int expand_models(const struct expansion *x, const char *recipe, const char *variant)
{
    bool named = strstr(variant, "{named}") != NULL;
    size_t i;

    if (!named && !strstr(variant, "{rs}"))
        return expand_variant(x, recipe, variant, NULL);
    for (i = 0; i < fp4_rs_model_count; i++)
        if ((!named || fp4_rs_models[i].named) && expand_variant(x, recipe, variant, fp4_rs_models[i].name))
            return -1;
    return 0;
}

static int expand_row(const struct suite_cases *row, struct suite_builder *b, struct fp4_error *err)
{
    struct expansion x = { row, b, err };
    const char *recipes = row->recipes, *knobs;
    char recipe[WORD_MAX], variant[WORD_MAX];

    while (next_word(&recipes, recipe))
        for (knobs = row->knobs; next_word(&knobs, variant);)
            if (expand_models(&x, recipe, variant))
                return -1;
    return 0;
}

int suite_expand(const char *name, struct suite_builder *b, struct fp4_error *err)
{
    unsigned bits = 0;
    size_t i;

    for (i = 0; i < fp4_suite_count; i++)
        if (strcmp(name, fp4_suites[i].name) == 0)
            bits = suite_bits[i];
    if (bits == INPUT && input_count() == 0)
        return fp4_fail(err, FP4_EUSAGE, "suite 'input' needs a tensor: give a file with --input");
    for (i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].suites & bits && expand_row(&rows[i], b, err))
            return fp4_fail_in(err, "suites.c, row %zu", i);
    return 0;
}

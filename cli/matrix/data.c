/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data constructions. To add one: a row here and a value function (or a kind for the ops that read bytes); test_matrix.c fails
 * until a suite uses it.
 *
 * Field reports and where their inputs are:
 *
 *    1, 2, 3     identity
 *    4, 6        coords (quantize, dequantize, swizzle)
 *    5, 71       a pitch between rows: a matter of the backend, no other input
 *    7, 8, 9     poison; coords in shapes with padding
 *    10, 11      every construction in shapes with tails
 *    12          scalerules, constant
 *    13, 27      division, scale-ties-any, grid
 *    14 - 17     E8M0 scales: no format of ours
 *    18          amaxbf16
 *    19          ties, ties-any
 *    20, 22      secondcopy, ties
 *    21, 25      double
 *    23          profile
 *    24          scalerules, scale-ties
 *    26          reciprocal, ties-any
 *    28, 29, 30  four-worked, four-ties: with every recipe and with error-fast
 *    31, 32      nan, naninf
 *    33          inf, amaxinf
 *    34          naninf4, specials
 *    35, 36      zeroblocks, underflow
 *    37, 38      underflow, tiny
 *    39          tiny, amaxtiny
 *    40, 41, 42  saturate
 *    43, 44, 49  allcodes (the NVFP4 side of 43)
 *    45          subnormalscales
 *    46          signedzero, negzero
 *    47, 48      globals, anybytes, amaxspecial
 *    50, 51      globals
 *    52          test_data.c: only zeros and negzero are all zero
 *    53          amaxstale: a shard's amax instead of the tensor's
 *    54          every stochastic case
 *    55, 57, 58  builds and canaries: no input of their own (the canary uses identity)
 *    56          shapes with 64, 96, 128, 160, 192, 256 columns
 *    59          the stages of every case
 *    60          midpoint, rht-midpoint, constant
 *    61          quarters, allbytes
 *    62          fractions, exact, allbytes
 *    63          the seeds of every stochastic case
 *    64          identity, mapprobes
 *    65          stream rbits, cvt-rs, sr-*
 *    66          knob r7, philox kat
 *    67          ranks: two seeds
 *    68 - 70     sizes near 2^31: by name, no suite holds them
 *    72 - 74     shapes with 8193, 20005, 65540, 65552 rows and 2048, 3072, 4096 columns
 *    75 - 78     comparators: no input of their own (78: double, subnormal)
 */
#include "data_make.h"

#include <string.h>

#define OP(op) (1u << OP_##op)
#define Q OP(QUANTIZE)
#define H OP(RHT_QUANTIZE)
#define F OP(FOUR_OVER_SIX)
#define QH (Q | H)
#define QF (Q | F)
#define QHF (Q | H | F)
#define G OP(GEMM)
#define D OP(DEQUANTIZE)
#define W OP(SWIZZLE)
#define P OP(PHILOX)
#define RS (OP(CVT_RS) | OP(SR_BF16X4) | OP(SR_FP32X4) | OP(SR_BF16X8))
#define C (OP(CVT_RN) | RS)

#define F32 (1u << FP4_F32)
#define BF16 (1u << FP4_BF16)

#define VALUES(name, ops, value, help, source)                          \
    {                                                                   \
        name, ops, help, source, generate_inputs, 0, false, 0, 0, value \
    }
#define WIDE(name, ops, value, help, source)                                     \
    {                                                                            \
        name, ops, help, source, generate_inputs, 0, false, F32 | BF16, 0, value \
    }
#define LISTED(name, list, help, source)                                        \
    {                                                                           \
        name, Q, help, source, generate_inputs, list, false, 0, 0, value_listed \
    }
#define GIVEN(name, ops, given, value, help, source)                       \
    {                                                                      \
        name, ops, help, source, generate_inputs, 0, true, 0, given, value \
    }
#define KIND(name, ops, kind, help, source)                               \
    {                                                                     \
        name, ops, help, source, generate_inputs, kind, false, 0, 0, NULL \
    }
#define WEIGHTS(name, slice, help)                                                                \
    {                                                                                             \
        name, QHF, help, "weights/README.md", generate_weights, slice, false, 0, 0, value_weights \
    }

const struct data_row fp4_data[] = {
    /* random */
    VALUES("normal", QHF | G | C | D, value_normal, "bell-shaped, variance 1 (converters: 4)", "design 4"),
    VALUES("uniform", QHF | C, value_uniform, "uniform in [-1, 1) (converters: [-8, 8))", "design 4"),
    VALUES("heavy", QHF | G | D, value_heavy, "bell-shaped times 2^k, k geometric up to 10", "design 4"),
    VALUES("grid", QHF | G, value_grid, "eight significant bits, ten binades: exact in bf16", "field reports: on inputs; 13"),
    VALUES("outliers", QHF | G, value_outliers, "small values, one in 256 near +-100 to 200", "RHT 5.1"),
    VALUES("bands", QHF | G, value_bands, "each block has its own power of two, over 25 binades", "field reports 36, 37"),
    VALUES("spread", QHF, value_spread, "every exponent of the type alike, subnormals included", "RHT 5.3"),
    VALUES("requantised", QF, value_requantised, "what dequantizing gives: code * scale * amax", "field reports: on inputs"),
    VALUES("impulses", QH, value_impulses, "one value a block, its place going round", "RHT 5.3"),
    VALUES("cancel", QH, value_cancel, "pairs that cancel, to zero or to one unit in the last place", "RHT 5.3"),

    /* ties and exact values */
    VALUES("ties", QF, value_ties, "E2M1 midpoints -1..1 ulp under every scale byte; global scale a power of two",
           "design 4; field reports 19, 22"),
    VALUES("ties-any", Q, value_ties_any, "E2M1 midpoints -1..1 ulp under scales that are no powers of two",
           "field report 26, SR 5.4 A14"),
    VALUES("scale-ties", Q, value_scale_ties, "block maxima on the 126 E4M3 midpoints -2..2 ulp",
           "design 4; field report 24, SR 5.4 A7, A8"),
    VALUES("scale-ties-any", Q, value_scale_ties_any, "the same for amaxes 35, 1.5, 3, 50, 500, ...; and 0.75 amax 2^-j",
           "field reports 13, 27, SR 5.4 A13"),
    VALUES("exact", Q, value_codes, "code values under scale 1: no rounding may move them", "field report 62"),
    VALUES("midpoint", Q, value_midpoint, "one midpoint everywhere: the codes are the random bits", "field report 60"),
    VALUES("quarters", Q, value_quarters, "quarter points of every cell under scale 1", "field report 61"),
    { "fractions", Q | RS, "n/256 of every cell, n = 0..255", "field report 62", generate_inputs, CONVERT_FRACTIONS, false, 0, 0,
      value_fractions },
    { "coords", Q | D | W, "every scale byte names its place", "field reports 4, 6", generate_inputs, BYTES_COORDS, false, 0, 0,
      value_coords },

    /* blocks of field reports, each list beside a block that makes the global scale what the report says */
    LISTED("identity", LIST_CODES, "blocks of all 16 codes in order, all sixes, distinct codes in a word",
           "field reports 1, 2, 3, 64"),
    LISTED("scalerules", LIST_SCALE_RULES, "block maxima 6.2, 6.7, 1.0: nearest, up or toward zero", "field reports 12, 24"),
    LISTED("division", LIST_DIVISION, "amax 35 and block maxima 21.25, 3.90625: order of the scale formula",
           "field reports 13, 27"),
    { "amaxbf16", Q, "block maxima that a rounding to bf16 lifts over a threshold", "field report 18", generate_inputs,
      LIST_AMAX_BF16, false, F32, 0, value_listed },
    { "double", Q, "values that round differently by way of f16 or bf16", "field reports 21, 25", generate_inputs, LIST_DOUBLE,
      false, F32, 0, value_listed },
    LISTED("profile", LIST_PROFILE, "a tie, half of the smallest and the smallest number, -0, beyond the largest",
           "field report 23"),
    { "reciprocal", Q, "scale byte 07 and values where x / s and x * fl(1 / s) part", "field report 26", generate_inputs,
      LIST_RECIPROCAL, false, F32, 0, value_listed },
    LISTED("underflow", LIST_UNDERFLOW, "zero blocks, the tie at 2^-10, blocks whose scale is 00", "field reports 36, 37, 38"),
    LISTED("subnormalscales", LIST_SUBNORMAL_SCALES, "scales 01 to 08 with elements equal to the maximum", "field report 45"),
    LISTED("secondcopy", LIST_SECOND_COPY, "-0.625 under 0.5, 0.5 under 2, 0.25 plus one ulp", "field reports 20, 22"),
    LISTED("worked", LIST_APPENDIX, "amax 10 and the finite worked blocks", "TE Appendix A"),
    { "saturate", Q, "block maxima up to and beyond 448 * 6 where the given amax is 2688", "field reports 40, 41, 42",
      generate_inputs, LIST_SATURATE, true, 0, GIVEN_2688, value_listed },

    /* zeros and extremes */
    VALUES("zeros", QHF | G | D, value_zeros, "all +0", "field report 35"),
    VALUES("negzero", QHF | G, value_negzero, "all -0", "field report 46, SR 5.4 A18"),
    VALUES("signedzero", QF, value_signedzero, "values of both signs that round to zero", "field report 46"),
    VALUES("zeroblocks", QHF, value_zeroblocks, "zero blocks in tensors of amax 1 and 6", "field reports 35, 36"),
    VALUES("constant", QHF, value_constant, "one value everywhere: 1, 2.5, -3 or 35 by seed", "field report 12, RHT 5.1"),
    VALUES("subnormal", QHF, value_subnormal, "subnormal and smallest normal numbers", "field report 39, SR 5.4 A17"),
    WIDE("tiny", QHF, value_tiny, "amaxes where 2688/amax overflows, or just does not", "field reports 38, 39"),
    VALUES("huge", QHF, value_huge, "bell-shaped times 2^120 (f16: 2^12)", "field report 40"),
    VALUES("dtypemax", QF, value_dtypemax, "the type's largest number among others", "field report 40"),
    VALUES("inf", QHF | G, value_inf, "blocks with +Inf, -Inf, both", "field reports 31, 33"),
    VALUES("nan", QHF | G, value_nan, "one NaN in a block, all NaN, zeros beside NaN; payloads and signs",
           "field reports 31, 32, 34"),
    VALUES("naninf", QHF, value_naninf, "NaN and Inf in the same tensor", "field reports 31, 33"),

    /* a given amax */
    GIVEN("amax0", QHF, GIVEN_ZERO, value_normal, "bell-shaped with a given amax of 0", "field report 39, SR 5.4 A19"),
    GIVEN("amaxinf", QHF, GIVEN_INF, value_normal, "bell-shaped with a given amax of Inf", "field report 33, SR 5.4"),
    GIVEN("amaxnan", QHF, GIVEN_NAN, value_normal, "bell-shaped with a given amax of NaN", "SR 5.4 A3"),
    GIVEN("amaxstale", QHF, GIVEN_STALE, value_normal, "bell-shaped with a quarter of the real amax",
          "field report 53, SR 5.4 A11, A21"),
    GIVEN("amaxlarge", QHF, GIVEN_LARGE, value_normal, "bell-shaped with 1024 times the real amax: scales become subnormal or zero",
          "field report 37, SR 5.4 A6"),
    GIVEN("amaxtiny", QHF, GIVEN_TINY, value_zeroblocks, "an amax whose 2688/amax overflows, with zero blocks", "field report 39"),
    GIVEN("amax4", QHF, GIVEN_4, value_normal, "bell-shaped with a given amax of 4", "RHT 5.1"),
    GIVEN("naninf4", QHF, GIVEN_4, value_naninf, "NaN and Inf where the given amax is 4", "field report 34, SR 5.4 A1, A2, A10"),

    /* the transform */
    VALUES("rht-kat", H, value_rht_kat, "groups with known answers: ones, ramp, one value, cancellation, class cut", "RHT 4.4"),
    VALUES("rht-cut", H, value_rht_cut, "groups with exponents 19 to 26 apart: class cut", "RHT 4.2, 5.3"),
    VALUES("rht-aligned", H, value_rht_aligned, "groups with exponents 11 to 18 apart: class aligned", "RHT 4.2"),
    VALUES("rht-ties", H, value_rht_ties, "sums on E2M1 midpoints -1..1 ulp", "RHT 5.3"),
    VALUES("rht-scale-ties", H, value_rht_scale_ties, "amaxes 1.5, 3, 6, 500 with group maxima on E4M3 midpoints", "RHT 2.3, 5.3"),
    VALUES("rht-midpoint", H, value_rht_midpoint, "half of the sums on one midpoint: codes are the random bits",
           "field report 60, RHT 5.3"),

    /* four-over-six */
    VALUES("ao-random", F, value_ao_random, "torchao's sweep: bell-shaped, from splitmix64 in place of its normal numbers",
           "FOS 6"),
    VALUES("ao-boundary", F, value_ao_boundary, "torchao's sweep: linspace from -12 to 12, and 0.001 further out", "FOS 6"),
    VALUES("ao-maxes", F, value_ao_maxes, "torchao's sweep: the type's largest number everywhere", "FOS 6"),
    VALUES("ao-denormal", F, value_ao_denormal, "torchao's sweep: subnormal numbers up to 2^-127", "FOS 6"),
    VALUES("ao-negzero", F, value_ao_negzero, "torchao's sweep: ao-random with -0 in every second row, every third column",
           "FOS 6"),
    VALUES("four-ties", F, value_four_ties, "blocks whose candidates' errors are equal, or one ulp apart either way",
           "design 4; field report 28"),
    VALUES("four-worked", F, value_four_worked, "worked blocks and those that show a mistake; the seed chooses their amax",
           "FOS 1.4, 8, 9; field reports 28, 29, 30"),
    GIVEN("four-scales", F, GIVEN_FOUR_SCALES, value_four_scales,
          "both candidates' scales on the midpoints of E4M3 -2..2 ulp, and at their cap of 448", "FOS 1.4, 8 P16"),
    GIVEN("four-special", F, GIVEN_FOUR_SPECIAL, value_four_special,
          "blocks with NaN, Inf, zeros and underflow; given amaxes 1, NaN, Inf, 0, 2^-127, 1536 by seed", "FOS 3"),

    /* real weights */
    WEIGHTS("minilm-embed", 0, "word embeddings of all-MiniLM-L6-v2"),
    WEIGHTS("minilm-query", 1, "an attention query weight of it"),
    WEIGHTS("minilm-ffn-in", 2, "a feed-forward intermediate weight of it"),
    WEIGHTS("minilm-ffn-out", 3, "a feed-forward output weight of it"),
    WEIGHTS("minilm-norm", 4, "a LayerNorm vector of it, repeated"),

    /* converters */
    KIND("allbf16", C, CONVERT_ALLBF16, "every bf16 value in all four slots; the seed chooses the word", "SR 2.5"),
    KIND("boundaries", C, CONVERT_BOUNDARIES, "every multiple of step/512 from 0 to 6, -2..2 ulp, both signs",
         "SR 2.5; field reports 19, 20, 22"),
    KIND("exponents", C, CONVERT_EXPONENTS, "every power of two of f32, -1..1 ulp, both signs", "design 4"),
    KIND("specials", C, CONVERT_SPECIALS, "zeros, Inf, NaN payloads, subnormals, the edge at 6; in scales too",
         "field report 34, SR 2.4"),
    KIND("probes", RS, CONVERT_PROBES, "rule probes and golden vectors", "SR 2.7"),
    KIND("mapprobes", RS, CONVERT_MAP_PROBES, "one-bit words against 0.25 and 0.5 - 2^(j-9)", "SR 2.7; field report 64"),
    KIND("allbytes", RS, CONVERT_ALLBYTES, "7 cells, 256 fractions, 256 random bytes", "field reports 61, 62"),

    /* bytes and integers */
    KIND("allcodes", D | G, BYTES_ALLCODES, "all 16 codes under all 256 scale bytes; gemm: all pairs of codes",
         "field reports 43, 44, 49"),
    KIND("random", D | W | P | G, BYTES_RANDOM, "random bytes (scales without NaN), random 64-bit numbers", "design 4"),
    KIND("anybytes", D | G, BYTES_ANY, "random bytes, NaN scales and sign bits included", "field report 47"),
    KIND("amaxspecial", D, BYTES_AMAXSPECIAL, "amax 0, Inf, NaN, tiny, huge", "field report 48"),
    KIND("globals", D, BYTES_GLOBAL, "amaxes that a misread global scale would give, under telling scales",
         "field reports 47, 48, 50, 51"),
    KIND("poison", W, BYTES_POISON, "as coords, padding filled with 7F", "field reports 7, 9"),
    KIND("kat", P, PHILOX_KAT, "known answers", "SR 3.1, TE Appendix A; field report 66"),
    KIND("carry", P, PHILOX_CARRY, "offsets, subsequences and seeds at the edges of 32 and 64 bits", "SR 5.3"),
};
const size_t fp4_data_count = sizeof fp4_data / sizeof fp4_data[0];

static int made_elsewhere(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    (void)c;
    (void)t;
    return fp4_fail(err, FP4_ESUPPORT,
                    "the inputs of data '%s' are made by a command such as probe: a name alone does not say them", row->name);
}

const struct data_row data_made = {
    .name = "made", .ops = 0xFFFFFFFFu, .help = "inputs of a probe", .source = "SR 2.7", .generate = made_elsewhere
};
const struct data_row data_made_amax = { .name = "made-amax",
                                         .ops = Q | H,
                                         .help = "inputs of a probe, amax among them",
                                         .source = "SR 2.7",
                                         .generate = made_elsewhere,
                                         .gives_amax = true };

const struct data_row *data_find(const char *name)
{
    const struct data_row *const made[] = { &data_made, &data_made_amax };
    size_t i;

    for (i = 0; i < 2; i++)
        if (strcmp(made[i]->name, name) == 0)
            return made[i];

    for (i = 0; i < fp4_data_count; i++)
        if (strcmp(fp4_data[i].name, name) == 0)
            return &fp4_data[i];
    return NULL;
}

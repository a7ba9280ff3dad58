/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data_make.h: what the generators share. Inputs are functions of (seed, stream, index), so any element can be made alone. Only
 * integers, exact scaling and single IEEE operations are used: the bytes are the same on every machine.
 */
#ifndef FP4_DATA_MAKE_H
#define FP4_DATA_MAKE_H

#include "matrix.h"

/* ---- the generator ------------------------------------------------------------------------------------------------------------------ */

/* 64 bits for a counter: a keyed multiply, then twice "fold the upper bits down, multiply by an odd number". Each step is a bijection of
 * the 64-bit state, and every input bit reaches every output bit. Not for cryptography. */
static inline uint64_t mix64(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t z =
        index * UINT64_C(0x9E3779B97F4A7C15) + (seed ^ (stream << 32 | stream >> 32)) * UINT64_C(0xD6E8FEB86659FD93) + stream;

    z ^= z >> 32;
    z *= UINT64_C(0xFF51AFD7ED558CCD);
    z ^= z >> 29;
    z *= UINT64_C(0xC4CEB9FE1A85EC53);
    z ^= z >> 32;
    return z;
}

/* Stream of a name (a construction, a tensor): constructions do not share random numbers. */
static inline uint64_t stream_of(const char *name)
{
    uint64_t h = UINT64_C(0xCBF29CE484222325); /* FNV-1a */

    for (; *name; name++)
        h = (h ^ (uint8_t)*name) * UINT64_C(0x100000001B3);
    return h;
}

/* 2^e, for -149 <= e <= 127. */
static inline float pow2f(int e)
{
    return fp4_f32_from_bits(e >= -126 ? (uint32_t)(e + 127) << 23 : 1u << (e + 149));
}

/* ---- what a value function knows ------------------------------------------------------------------------------------------------------- */

struct maker {
    const struct fp4_case *c;
    const struct data_row *row;
    enum fp4_dtype dtype; /* of x */
    size_t rows, cols;
    bool transposed;   /* blocks run along the rows: the transposed output alone is made, or the transform */
    bool tile;         /* blocks are 16x16 */
    size_t blocks;     /* blocks a line (tiles a row of tiles) */
    bool anchor_lines; /* one amax a line: each line has its own block that carries the amax */
    uint64_t stream;
};

/* Where an element lies among the blocks that share a scale. */
struct spot {
    size_t block;  /* number of the block in the tensor */
    unsigned at;   /* 0..15, or 0..255 in a tile */
    unsigned size; /* 16 or 256 */
    bool anchor;   /* the block carries the tensor's (line's) largest magnitude */
    bool top;      /* the element that is to be the block's largest */
};

struct maker maker_of(const struct fp4_case *c, const struct data_row *row, enum fp4_dtype dtype);
struct spot spot_of(const struct maker *m, size_t r, size_t c);
/* 64 bits of an element, and of a block. */
uint64_t element_bits(const struct maker *m, size_t r, size_t c, unsigned draw);
uint64_t block_bits(const struct maker *m, size_t block);
/* A bell-shaped value: 12 uniform 16-bit numbers added. Mean 0, variance 1 (less 2^-32), within +-6; a multiple of 2^-17, so exact. */
float element_normal(const struct maker *m, size_t r, size_t c);

/* ---- storing ----------------------------------------------------------------------------------------------------------------------------- */

/* Rounds to nearest even; NaN keeps sign and the upper payload bits. */
uint16_t bf16_of_bits(uint32_t bits);
uint16_t f16_of_bits(uint32_t bits);
void store_bits(struct tensor *x, size_t i, uint32_t bits);
/* The value n units in the last place of dtype away from v (which is first rounded to dtype); away from zero for n > 0. Stays where it
 * would leave the finite numbers or cross zero. */
float step_ulp(float v, enum fp4_dtype dtype, int n);
float round_to(float v, enum fp4_dtype dtype);

/* The 7 midpoints between E2M1 magnitudes. */
extern const float e2m1_midpoints[7];
/* The midpoint between the E4M3 codes i and i + 1, 0 <= i < 126. */
float e4m3_midpoint(unsigned i);
/* TE's chain for a tensor amax and a block amax: the scale byte and the factor of the elements (TE 3.2). */
float chain_factor(float amax, float block_amax, uint8_t *scale);

/* ---- shared generators ----------------------------------------------------------------------------------------------------------------------- */

enum given_amax {
    GIVEN_ZERO,
    GIVEN_INF,
    GIVEN_NAN,
    GIVEN_STALE,
    GIVEN_LARGE,
    GIVEN_TINY,
    GIVEN_4,
    GIVEN_2688,
    GIVEN_FOUR_SCALES,
    GIVEN_FOUR_SPECIAL
};

/* The generator of most rows: quantizers take row->value and row->given, the other ops go by row->param. */
int generate_inputs(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
/* rng-state, rbits and given-amax of a quantizer whose x is there. */
void generate_rest(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t);
void fill_random_words(const struct fp4_case *c, struct tensor *words);

/* Value functions (binary32 bits), by file. */
typedef uint32_t value_function(const struct maker *m, size_t r, size_t c);
/* data_random.c */
value_function value_normal, value_uniform, value_heavy, value_grid, value_outliers, value_bands, value_spread, value_cancel,
    value_impulses, value_requantised;
/* data_special.c */
value_function value_zeros, value_negzero, value_signedzero, value_zeroblocks, value_constant, value_subnormal, value_tiny,
    value_huge, value_dtypemax, value_inf, value_nan, value_naninf;
/* data_ties.c */
value_function value_ties, value_ties_any, value_scale_ties, value_scale_ties_any, value_codes, value_midpoint, value_quarters,
    value_fractions, value_coords, value_listed;
/* data_hadamard.c */
value_function value_rht_kat, value_rht_cut, value_rht_aligned, value_rht_ties, value_rht_scale_ties, value_rht_midpoint;
/* data_four.c */
value_function value_ao_random, value_ao_boundary, value_ao_maxes, value_ao_denormal, value_ao_negzero, value_four_ties,
    value_four_scales, value_four_worked, value_four_special;
/* The amaxes that four-scales and four-special give; line 0 when there is one for the tensor. */
float four_scale_amax(const struct fp4_case *c);
uint32_t four_special_amax(const struct fp4_case *c, size_t line);
/* data_weights.c */
value_function value_weights; /* after generate_weights has unpacked them */
int generate_weights(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
/* data_convert.c */
int generate_convert(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
/* data_gemm.c */
int generate_gemm(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
/* data_bytes.c */
int generate_dequantize(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
int generate_swizzle(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
int generate_philox(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);

/* Lists of whole blocks for value_listed, by data_row.param. */
enum listed {
    LIST_CODES,
    LIST_SCALE_RULES,
    LIST_DIVISION,
    LIST_AMAX_BF16,
    LIST_DOUBLE,
    LIST_PROFILE,
    LIST_RECIPROCAL,
    LIST_UNDERFLOW,
    LIST_SATURATE,
    LIST_SUBNORMAL_SCALES,
    LIST_SECOND_COPY,
    LIST_APPENDIX
};

/* By data_row.param: constructions of the converters (0: row->value for each element), ... */
enum convert {
    CONVERT_VALUES,
    CONVERT_ALLBF16,
    CONVERT_BOUNDARIES,
    CONVERT_EXPONENTS,
    CONVERT_SPECIALS,
    CONVERT_PROBES,
    CONVERT_MAP_PROBES,
    CONVERT_FRACTIONS,
    CONVERT_ALLBYTES
};
/* ... and of dequantize (0: row->value for each element, quantized), swizzle and philox. */
enum bytes {
    BYTES_QUANTISED,
    BYTES_COORDS,
    BYTES_RANDOM,
    BYTES_POISON,
    BYTES_ALLCODES,
    BYTES_ANY,
    BYTES_AMAXSPECIAL,
    BYTES_GLOBAL,
    PHILOX_KAT,
    PHILOX_CARRY
};

#endif

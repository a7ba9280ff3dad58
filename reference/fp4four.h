/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4four.h: four-over-six, the adaptive NVFP4 recipe. Part of the public header: fp4ref.h includes it and explains the conventions.
 *
 * Each block of 16 is encoded twice, with the scale that maps its maximum to 6 and with one 1.5 times as large that maps it to 4, and
 * the candidate with the lower error is stored; equal errors, and NaN ones, store map-to-6. In 16x16 mode a tile takes one candidate,
 * by the sum of its 16 lines' errors. docs/numerics.md, "Four-over-six", has the arithmetic, the recipes and the sources.
 */
#ifndef FP4REF_H
#include "fp4ref.h" /* includes this header, after what it needs */
#elif !defined(FP4FOUR_H)
#define FP4FOUR_H

#ifdef __cplusplus
extern "C" {
#endif

enum { FP4_MAP_TO_6 = 0, FP4_MAP_TO_4 = 1 }; /* candidates: indices below, and the values of the pick */

enum fp4_four_error {
    FP4_FOUR_MAE, /* sum of |v - x| over the 16 elements, one after the other */
    FP4_FOUR_MSE  /* sum of (v - x)^2, the square rounded before it is added */
};

enum fp4_four_nan {
    FP4_FOUR_NAN_DROP,     /* as kernels do: maxima ignore NaN, a NaN element is code 7 */
    FP4_FOUR_NAN_PROPAGATE /* as PyTorch code does: a block (tile) that holds a NaN, or whose amax is NaN, has scale 0x7F. What its
                              codes are there depends on the payload the machine made: they compare with nothing. Here: all 7 */
};

/*
 * recipe                  inputs         block        amax            directions  nan
 * FP4_RECIPE_TORCHAO      f32 f16 bf16   1x16 16x16   tensor, row *   both        drop (its kernel), propagate (its body)
 * FP4_RECIPE_TE           f32 f16 bf16   1x16 16x16   tensor, row *   both *      drop
 * FP4_RECIPE_TE_FAST      te with fast_error
 * FP4_RECIPE_TE_REF       f32 f16 bf16   1x16 16x16   tensor, row *   both        propagate (scale 0x7F, codes 0)
 * FP4_RECIPE_FLASHINFER   f16 bf16       1x16         tensor, row     row         drop (a block of nothing but NaN: scale 0x7F)
 * FP4_RECIPE_FOUROVERSIX  f16 bf16       1x16 16x16   tensor          row         drop; bound 256 alone
 * * one amax a row excludes 16x16, and in te and te-fast the transposed output; in te and te-fast 16x16 needs the rowwise output.
 * Refused: FP4_EUSAGE for values out of range and shapes that do not fit, FP4_ESUPPORT for combinations that a recipe lacks.
 */
struct fp4_four_params {
    enum fp4_recipe recipe;
    enum fp4_dtype input;
    size_t rows, cols; /* the packed dimension a multiple of 16; both with 16x16; 0 is allowed */
    bool block_16x16;
    bool row_scaled; /* one amax a line of output: a row, or a column for the transposed output */
    unsigned bound;  /* 256 or 448: the numerator of the global scale is 6 * bound; scale bytes stop at 448 all the same */
    enum fp4_four_error error;
    bool fast_error; /* errors in the scaled domain, |q * f - x * S|. te, te-ref and flashinfer have it; te-fast implies it */
    enum fp4_four_nan nan;
};

/* Stages of one direction, both candidates: [0] map-to-6, [1] map-to-4. L lines, P packed length, as in struct fp4_quantized; each
 * pointer may be NULL. */
struct fp4_four_stages {
    uint8_t *scales[2]; /* [L][P/16] E4M3 */
    uint8_t *codes[2];  /* [L][P/2] */
    float *errors[2];   /* [L][P/16]: what was compared; in 16x16 mode the tile's sum, on each of its 16 lines */
    uint8_t *pick;      /* [L][P/16]: FP4_MAP_TO_6 or FP4_MAP_TO_4 */
};

/*
 * Quantizes x. row and col may be NULL, not both; col receives the transposed output, whose lines are x's columns. Stages are NULL or
 * belong to the direction of the same place. Of struct fp4_quantized: codes and scales are needed; amax, global_scale, block_amax (of
 * the tile in 16x16 mode), scaled (by the stored candidate) and dequantized (fp4_dequantize to f32, with the bound) may be NULL; rbits
 * and given_rbits are not used. given_amax NULL: computed from the data, NaN kept under FP4_FOUR_NAN_PROPAGATE; under te and te-fast a
 * transposed output without one takes the rowwise one's.
 * The two directions choose on their own: a tile may be map-to-6 in one and map-to-4 in the other.
 */
int fp4_four_over_six(const struct fp4_four_params *p, const void *x, const struct fp4_quantized *row,
                      const struct fp4_quantized *col, const struct fp4_four_stages *row_stages,
                      const struct fp4_four_stages *col_stages, struct fp4_error *err);

/* Says whether fp4_four_over_six would take these parameters for these directions: 0, or -1 and the reason. */
int fp4_four_check(const struct fp4_four_params *p, bool rowwise, bool transposed, struct fp4_error *err);

/* The global scale of an amax. */
float fp4_four_global_scale(const struct fp4_four_params *p, float amax);

/* "mae", "mse"; "drop", "propagate". NULL and -1 for what is not known. */
const char *fp4_four_error_name(enum fp4_four_error error);
int fp4_four_error_from_name(const char *name);
const char *fp4_four_nan_name(enum fp4_four_nan nan);
int fp4_four_nan_from_name(const char *name);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow.h: the slow, obvious second version of every piece of arithmetic in libfp4ref.
 *
 * It shares no text with reference/. Rounding is a search for the nearest of all codes on exact integers, a product or a
 * quotient is an exact rational rounded once, a random stream is a loop over threads that hands out words in the order in
 * which a thread would draw them. Nothing here is meant to be fast; what it is meant to be is easy to believe.
 *
 * The short source names (PTX, TE, RHT, SR) are those of fp4ref.h.
 */
#ifndef SLOW_H
#define SLOW_H

#include "fp4ref.h"

__extension__ typedef __int128 slow_i128;
__extension__ typedef unsigned __int128 slow_u128;

/* ---- bits ------------------------------------------------------------------------------------------------------------ */

uint32_t slow_bits(float v);
float slow_float(uint32_t bits);
bool slow_is_nan(uint32_t bits);
/* True when the two are the same bits, or both NaN (no payload is promised by arithmetic). */
bool slow_same(float a, float b);

/* ---- decode by formula, encode by search ------------------------------------------------------------------------------ */

double slow_e2m1_value(unsigned code); /* -0.0 for 8 */
double slow_e4m3_value(unsigned code); /* not for 0x7F, 0xFF */
double slow_bf16_value(unsigned code); /* finite codes */
double slow_f16_value(unsigned code);  /* finite codes */

unsigned slow_e2m1(float v);
unsigned slow_e4m3(float v);
unsigned slow_bf16(float v);
unsigned slow_f16(float v);

/* ---- binary32 arithmetic as exact rationals, rounded once -------------------------------------------------------------- */

float slow_mul(float a, float b);
float slow_div(float a, float b);
float slow_min_drop(float a, float b); /* C fminf: a NaN operand is dropped */
float slow_min_keep(float a, float b); /* a NaN operand wins */

/* ---- stochastic rounding (SR 2.3) --------------------------------------------------------------------------------------- */

/* A finite |x| < 6 in the frame 256 f = n + rest / unit of its cell. */
struct slow_frame {
    bool nan, top; /* |x| >= 6 or Inf: top */
    bool sign;
    bool quiet; /* NaN: the first fraction bit */
    bool below_quarter;
    unsigned cell;
    unsigned n;
    slow_u128 rest, unit;
    slow_u128 mag; /* |x| in units of 2^-60; a stand-in that behaves the same when |x| is below 2^-37 */
};

struct slow_frame slow_frame_of(float x);
unsigned slow_rs_decide(enum fp4_rs_rule rule, const struct slow_frame *f, unsigned r);
/* The rules half and half-old step by step in binary32, as SR 2.3 writes them. */
unsigned slow_half_steps(float x, unsigned r, float middle);
unsigned slow_rs_word(struct fp4_rs_model model, float x, uint32_t rbits, unsigned nibble);
unsigned slow_rs_byte(enum fp4_byte_map map, uint32_t rbits, unsigned nibble);
uint32_t slow_hash32(uint32_t rbits, unsigned lane);

/* ---- Philox ------------------------------------------------------------------------------------------------------------- */

void slow_philox(uint64_t seed, uint64_t subsequence, uint64_t block, unsigned rounds, uint32_t out[4]);

/* ---- streams -------------------------------------------------------------------------------------------------------------- */

/* Fills place[r * cols + c] for all elements of one direction by running the kernel's threads; false when the stream has no
 * such direction. Elements that no thread visits keep subsequence UINT64_MAX. */
bool slow_stream(enum fp4_stream stream, const struct fp4_stream_shape *shape, bool transposed, struct fp4_stream_place *place);

/* ---- quantize ------------------------------------------------------------------------------------------------------------- */

/* One line-oriented output: everything unpacked, one entry an element or a block. */
struct slow_quantized {
    size_t lines, packed, blocks;
    uint8_t *code;       /* [lines][packed] */
    uint8_t *scale;      /* [lines][blocks] */
    float *amax;         /* [lines] always; the tensor's value is repeated */
    float *global_scale; /* [lines] */
    float *block_amax;   /* [lines][blocks] */
    float *scaled;       /* [lines][packed] */
    uint32_t *rbits;     /* [lines][ceil(packed / 4)] */
    float *dequantized;  /* [lines][packed] */
};

void slow_quantized_init(struct slow_quantized *q, size_t lines, size_t packed);
void slow_quantized_release(struct slow_quantized *q);

float slow_global_scale(enum fp4_recipe recipe, float amax, unsigned bound);

/* One direction. given_amax NULL: from the data. given_rbits for FP4_STREAM_RBITS. */
void slow_quantize(const struct fp4_quantize_params *p, const void *x, bool transposed, bool other_direction,
                   const float *given_amax, const uint32_t *given_rbits, struct slow_quantized *out);

/* Element i of an array of f32, bf16 or f16, widened; NaN payloads are kept for f32. */
float slow_load(const void *x, enum fp4_dtype dtype, size_t i);

float slow_dequantize_block(unsigned scale, float amax, unsigned bound);
float slow_dequantize(unsigned code, unsigned scale, float amax, unsigned bound);

/* ---- RHT -------------------------------------------------------------------------------------------------------------------- */

/* Row k of the matrix as a mask: bit n is set when the entry is negative. */
uint16_t slow_rht_row(unsigned k, uint16_t sign_mask, bool inverse);
void slow_rht_group(const float x[16], uint16_t sign_mask, bool inverse, enum fp4_rht_sum sum, float out[16]);
unsigned slow_rht_class(const float x[16]); /* without the safe bit */

/* The transformed, transposed output; transformed: [cols][rows]. with_row: the call makes the rowwise output, too. */
void slow_rht_quantize(const struct fp4_rht_params *p, const uint16_t *x, bool with_row, const float *given_amax,
                       struct slow_quantized *out, float *transformed);
/* The plain rowwise output of the same call. */
void slow_rht_quantize_row(const struct fp4_rht_params *p, const uint16_t *x, const float *given_amax, struct slow_quantized *out);

/* ---- swizzle ---------------------------------------------------------------------------------------------------------------- */

/* index[r * scale_cols + c] by walking the tiles of the buffer; also the bytes of the buffer. */
size_t slow_swizzle(size_t rows, size_t scale_cols, size_t *index);

/* ---- test data -------------------------------------------------------------------------------------------------------------- */

/* A small generator of its own (xorshift64*), so that tests do not draw their inputs from the Philox under test. */
struct slow_random {
    uint64_t state;
};
uint32_t slow_draw(struct slow_random *g);
float slow_draw_uniform(struct slow_random *g, float lo, float hi);
/* About normal: a sum of uniform integers, scaled exactly. */
float slow_draw_normal(struct slow_random *g);

/* FP4_TEST_STRIDE as a number, or the default. */
uint32_t slow_stride(uint32_t normal);

#endif

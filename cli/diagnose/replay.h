/* SPDX-License-Identifier: Apache-2.0 */
/* replay.h: what the files of the evaluator share; private to replay*.c. */
#ifndef FP4_REPLAY_H
#define FP4_REPLAY_H

#include "dialect.h"

/* The choices of recipe and kernel (struct fp4_chain) are read from the reference's table; the arithmetic on them is here. */
#include "block.h"

struct replay { /* one case in one dialect */
    const struct dialect *d;
    const struct fp4_case *c;
    struct case_tensors *t;
    float numerator;           /* 6 * bound of the global scale */
    struct fp4_rs_model model; /* after SLOT_MODEL and SLOT_MAP; the rule after SLOT_RULE where that is one of the reference's */
};

static inline unsigned slot_of(const struct replay *r, enum slot s)
{
    return r->d->slot[s];
}
uint8_t *replay_data(const struct replay *r, const char *name,
                     const char *suffix); /* NULL when there is none, or no memory for it */
/* Bits of element i of an array of f32, f16 or bf16, widened; a NaN keeps its sign. Sees SLOT_LOAD's conversions. */
float replay_load(const struct replay *r, const uint8_t *data, enum fp4_dtype dtype, size_t i);
/* Where the element of a dense [rows][cols] array of n elements is read. */
size_t replay_index(const struct replay *r, size_t rows, size_t cols, size_t row, size_t col);

/* replay_round.c: the product and the code of one value. source: the value before scaling, whose sign a NaN may keep. */
float replay_product(const struct replay *r, float x, float e, bool fused);
uint32_t replay_nearest(const struct replay *r, float y, float source);
uint32_t replay_random(const struct replay *r, float y, float source, uint32_t word, unsigned nibble);

/* replay_stream.c */
struct word_at {
    uint64_t seed, subsequence, offset, call;
    unsigned rounds;
};
void replay_philox(const struct replay *r, const struct word_at *at, uint32_t out[4]);
/* The word of packed elements 4 * w .. of a line; rows, cols: the input's shape as this direction's kernel sees it. */
struct stream_use {
    enum fp4_stream stream;
    struct fp4_stream_shape shape;
    bool transposed;
    size_t lines, packed;
    uint64_t seed, offset;
    unsigned rounds;
};
uint32_t replay_word(const struct replay *r, const struct stream_use *u, size_t line, size_t w);

/* replay_scale.c */
struct globals {
    float amax, enc, dec;
};
struct globals replay_globals(const struct replay *r, const struct fp4_chain *ch, float amax);
uint32_t replay_scale_byte(const struct replay *r, const struct fp4_chain *ch, const struct globals *g, float block_amax);
struct element_scale {
    float e; /* factor, or divisor when divide is set */
    bool divide;
    bool zeros; /* the block is written as zeros */
};
struct element_scale replay_element_scale(const struct replay *r, const struct fp4_chain *ch, const struct globals *g,
                                          float block_amax, uint32_t byte);
float replay_e4m3(const struct replay *r, uint32_t byte); /* decoding as the dialect reads it */
/* The byte of a scale d before rounding, of a block with that maximum; scale: S_enc. */
uint32_t replay_to_scale(const struct replay *r, float d, float block_amax, float scale);
/* fl(block_amax through the formula of the scale), before its rounding to E4M3 */
float replay_unrounded_scale(const struct replay *r, const struct fp4_chain *ch, const struct globals *g, float block_amax);

/* replay_pack.c */
void replay_pack(const struct replay *r, const uint8_t *codes, size_t lines, size_t packed, uint8_t *out);
unsigned replay_code_at(const struct replay *r, const uint8_t *packed_codes, size_t cols, size_t row, size_t col);
/* scales: one byte a block, [lines][blocks] */
void replay_store_scales(const struct replay *r, const uint8_t *scales, size_t lines, size_t blocks, uint8_t *out, size_t bytes);
size_t replay_scale_index(const struct replay *r, bool swizzled, size_t rows, size_t blocks, size_t row, size_t block,
                          size_t bytes);
int replay_swizzle(const struct replay *r);

/* replay_transform.c: planes [cols][rows] of sums after the round trip */
void replay_transform(const struct replay *r, const uint8_t *x, size_t rows, size_t cols, float *out);

/* replay_quantize.c, replay_dequantize.c */
int replay_quantizer(const struct replay *r, struct fp4_error *err);
int replay_dequantize(const struct replay *r);
int replay_gemm(const struct replay *r, struct fp4_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4ref.h: the public header of libfp4ref, the pinned software reference of NVFP4.
 *
 * Everything here is plain C17 (and C++/CUDA clean), needs libc alone (fmaf may live in libm), allocates nothing, prints nothing and never exits.
 * All arithmetic is IEEE-754 binary32, round to nearest even, subnormals kept, no contraction; where something else is
 * computed, the comment says so. docs/numerics.md gives the rules in full, with the source of each; the short source names
 * used below (PTX, TE, RHT, SR) are explained at its top.
 *
 * Conventions
 *   shapes     an input is a matrix x[rows][cols], row-major and dense: element (r, c) at index r * cols + c.
 *   block      16 consecutive elements along the packed dimension (1x16), or an aligned 16x16 tile.
 *   codes      two E2M1 codes a byte; the element with the even index along the packed dimension is in bits 3:0.
 *   scales     one E4M3 byte a block, row-major, one row of scales for each row of codes; in 16x16 mode a tile's byte is
 *              repeated on each of its 16 rows.
 *   transposed (or columnwise) outputs are stored as the row-major matrix [cols][rows], packed along rows.
 *   ownership  the caller owns all memory; pointers documented "may be NULL" switch that output off.
 *   errors     functions return 0, or -1 and a complete one-line message in *err (untouched on success).
 */
#ifndef FP4REF_H
#define FP4REF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum fp4_code {
    FP4_OK = 0,
    FP4_EUSAGE,  /* an argument that makes no sense */
    FP4_EIO,     /* the operating system said no */
    FP4_EFORMAT, /* a file that is not what it should be */
    FP4_ESUPPORT /* well-formed, but not defined or not implemented */
};

struct fp4_error {
    enum fp4_code code;
    char msg[480];
};

/* Writes a message (lower case, no full stop) and returns -1. err may be NULL. */
int fp4_fail(struct fp4_error *err, enum fp4_code code, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* Puts "prefix: " in front of the message already in *err; returns -1. */
int fp4_fail_in(struct fp4_error *err, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

/* ---- formats: types that do not mix ------------------------------------------------------------------------------- */

typedef struct {
    uint8_t bits;
} e2m1_t; /* bits 3:0; bit 3 is the sign; 0, .5, 1, 1.5, 2, 3, 4, 6 */
typedef struct {
    uint8_t bits;
} e4m3_t; /* FN: bias 7, no Inf, 0x7F/0xFF NaN, largest 448 */
typedef struct {
    uint16_t bits;
} bf16_t; /* upper half of a binary32 */
typedef struct {
    uint16_t bits;
} f16_t; /* binary16 */

enum fp4_dtype { FP4_F32, FP4_F16, FP4_BF16, FP4_E2M1, FP4_E4M3, FP4_U8, FP4_U32, FP4_U64, FP4_DTYPE_COUNT };

const char *fp4_dtype_name(enum fp4_dtype dtype);           /* "f32", "f16", "bf16", "e2m1", "e4m3", "u8", "u32", "u64" */
int fp4_dtype_from_name(const char *name);                  /* -1 when unknown */
size_t fp4_dtype_bytes(enum fp4_dtype dtype, size_t count); /* bytes of count elements; E2M1: (count + 1) / 2 */

/* Decoding is exact. NaN comes back as the canonical quiet NaN 7FFFFFFF whatever the payload was. */
float e2m1_to_f32(e2m1_t v);
float e4m3_to_f32(e4m3_t v);
float bf16_to_f32(bf16_t v);
float f16_to_f32(f16_t v);

/* Encoding rounds to nearest, ties to even.
 * E2M1 (PTX cvt.rn.satfinite.e2m1x2.f32): saturates at 6; keeps the sign of zero; NaN of either sign is code 7.
 * E4M3 (PTX cvt.rn.satfinite.e4m3x2.f32): saturates at 448; keeps the sign of zero; NaN of either sign is 0x7F.
 * bf16, f16: overflow to Inf; NaN is 0x7FFF. */
e2m1_t f32_to_e2m1(float v);
e4m3_t f32_to_e4m3(float v);
bf16_t f32_to_bf16(float v);
f16_t f32_to_f16(float v);

uint32_t fp4_f32_bits(float v);
float fp4_f32_from_bits(uint32_t bits);

/* Reads element i of an array of f32, f16 or bf16, widened exactly. NaN payloads are kept for f32. */
float fp4_load(const void *data, enum fp4_dtype dtype, size_t i);

/* ---- cvt-rn: the packed nearest conversions (PTX) ------------------------------------------------------------------ */

/* cvt.rn.satfinite.e2m1x2.f32 d, a, b: a in bits 7:4, b in bits 3:0. */
uint8_t fp4_cvt_rn_e2m1x2(float a, float b);
/* Two of the above: a -> nibble 3, b -> nibble 2, e -> nibble 1, f -> nibble 0. */
uint16_t fp4_cvt_rn_e2m1x4(float a, float b, float e, float f);
/* cvt.rn.satfinite.e4m3x2.f32 d, a, b: a in the high byte. */
uint16_t fp4_cvt_rn_e4m3x2(float a, float b);

/* ---- cvt-rs: stochastic rounding, every public model of it (SR 2) --------------------------------------------------- */

enum fp4_rs_rule {
    FP4_RS_TRUNC,     /* carry out of an integer addition: up iff n + r >= 256 (PTX text; measured on a B300) */
    FP4_RS_HALF,      /* (r - 127.5)/256 of a step added, then nearest */
    FP4_RS_HALF_OLD,  /* (r - 128)/256 of a step added, then nearest */
    FP4_RS_FMA_FLOOR, /* one fused multiply-add, then floor: TE's software fallback */
    FP4_RS_HASH32,    /* lane hash of the whole word against a 32-bit threshold; no byte map */
    FP4_RS_RULE_COUNT
};

enum fp4_byte_map {
    FP4_MAP_B300,     /* nibbles 0..3 take bytes 2, 0 reversed, 3, 1 reversed */
    FP4_MAP_PTX_X,    /* 2, 0, 3, 1 */
    FP4_MAP_PTX_Y,    /* 0, 2, 1, 3 */
    FP4_MAP_STRAIGHT, /* 0, 1, 2, 3 */
    FP4_MAP_REVERSE,  /* 3, 2, 1, 0 */
    FP4_MAP_COUNT,
    FP4_MAP_CUSTOM = FP4_MAP_COUNT /* bit by bit, as fp4_rs_model.custom says: a map that was measured */
};

#define FP4_RS_NO_BIT 0xFFu

/* source[nibble][j]: the bit of rbits (0..31) that a nibble's random byte takes with weight 2^j; FP4_RS_NO_BIT: that bit is 0. */
struct fp4_rs_map {
    uint8_t source[4][8];
};

struct fp4_rs_model {
    enum fp4_rs_rule rule;
    enum fp4_byte_map map;           /* ignored by FP4_RS_HASH32 */
    const struct fp4_rs_map *custom; /* with FP4_MAP_CUSTOM, owned by the caller; else not looked at. Kernels do not have it */
};

struct fp4_rs_model_row {
    const char *name; /* "b300", "ptx-x", ..., or "rule+map" for the combinations without a name of their own */
    struct fp4_rs_model model;
    bool named;       /* one of the published models of docs/numerics.md */
    const char *note; /* who uses it, and how well it is known */
};

extern const struct fp4_rs_model_row fp4_rs_models[]; /* row 0 is the default, b300 */
extern const size_t fp4_rs_model_count;

/* The byte that a nibble (0..3) consumes, bit-reversed where the map says so. */
uint8_t fp4_rs_byte(enum fp4_byte_map map, uint32_t rbits, unsigned nibble);
/* The same by a model's map, FP4_MAP_CUSTOM included. */
uint8_t fp4_rs_model_byte(struct fp4_rs_model model, uint32_t rbits, unsigned nibble);
/* A named map bit by bit. */
void fp4_rs_map_expand(enum fp4_byte_map map, struct fp4_rs_map *out);
/* One value, one random byte. Not for FP4_RS_HASH32, which needs the word: see fp4_rs_round_word. */
e2m1_t fp4_rs_round(enum fp4_rs_rule rule, float x, uint8_t byte);
/* One value in the slot of a nibble, with the whole random word: any rule. */
e2m1_t fp4_rs_round_word(struct fp4_rs_model model, float x, uint32_t rbits, unsigned nibble);
/* cvt.rs.satfinite.e2m1x4.f32 d, {a, b, e, f}, rbits: a -> nibble 3 ... f -> nibble 0. */
uint16_t fp4_cvt_rs_e2m1x4(struct fp4_rs_model model, float a, float b, float e, float f, uint32_t rbits);
/* The lane hash of FP4_RS_HASH32 (lane = nibble). */
uint32_t fp4_rs_hash32(uint32_t rbits, unsigned lane);

/* ---- TE's four stochastic conversion helpers (SR 3) ----------------------------------------------------------------- */

/* scale[0] belongs to the even elements, scale[1] to the odd ones; nibble i is element i. */
uint16_t fp4_sr_bf16x4(struct fp4_rs_model model, const bf16_t x[4], const float scale[2], uint32_t rbits);
uint16_t fp4_sr_fp32x4_scaled(struct fp4_rs_model model, const float x[4], const float scale[2], uint32_t rbits);
uint16_t fp4_sr_fp32x4(struct fp4_rs_model model, const float x[4], uint32_t rbits);
/* Elements 0..3 in the low half with rbits03, 4..7 in the high half with rbits47. */
uint32_t fp4_sr_bf16x8(struct fp4_rs_model model, const bf16_t x[8], float coefficient, uint32_t rbits03, uint32_t rbits47);
/* bf16 coefficient: x * s + (+0) in one rounding, so that an exact -0 becomes code 0. With rule fma-floor (TE's software
 * fallback, a plain multiply) it stays code 8. */
uint32_t fp4_sr_bf16x8_coef_bf16(struct fp4_rs_model model, const bf16_t x[8], bf16_t coefficient, uint32_t rbits03,
                                 uint32_t rbits47);

/* ---- Philox4x32 (SR 3.1, TE 5.1) ------------------------------------------------------------------------------------- */

struct fp4_philox {
    uint32_t counter[4];
    uint32_t key[2];
    unsigned rounds;
    unsigned word; /* words already used of the current block; cuRAND counting only */
};

/* As TE counts: offset in 128-bit blocks. counter = { offset.lo, offset.hi, subsequence.lo, subsequence.hi }. */
void fp4_philox_init(struct fp4_philox *p, uint64_t seed, uint64_t subsequence, uint64_t offset, unsigned rounds);
/* As cuRAND's curand_init counts: offset in 32-bit words. */
void fp4_philox_init_curand(struct fp4_philox *p, uint64_t seed, uint64_t subsequence, uint64_t offset, unsigned rounds);
/* The next block of four words; the 128-bit counter then goes up by one, with carry. */
void fp4_philox_next4(struct fp4_philox *p, uint32_t out[4]);
/* The next single word, as cuRAND's curand() hands them out after fp4_philox_init_curand. */
uint32_t fp4_philox_next(struct fp4_philox *p);

/* ---- random streams: which word an element of a quantized output gets (TE 5, RHT 3) ---------------------------------- */

enum fp4_stream {
    FP4_STREAM_AUTO,         /* as the kernel does: quantize by TE's dispatch (TE 8.1), rht-quantize by kernel and recipe */
    FP4_STREAM_RBITS,        /* the words are given: one for 4 consecutive packed elements, row-major */
    FP4_STREAM_TUNED,        /* TE tuned 1-D (TE 5.3) */
    FP4_STREAM_2D,           /* TE 2-D kernel (TE 5.4) */
    FP4_STREAM_GROUP,        /* TE group quantize, rowwise only (TE 5.5) */
    FP4_STREAM_VECTOR,       /* TE vector-blockwise (TE 5.6) */
    FP4_STREAM_RHT_COL,      /* TE columnwise Hadamard fusion (RHT 3.1) */
    FP4_STREAM_RHT_ROWCOL,   /* TE row_cast_col (RHT 3.2) */
    FP4_STREAM_RHT_GROUP,    /* TE group_row_cast_col (RHT 3.3) */
    FP4_STREAM_RHT_FP4SM120, /* the public SM120 port (RHT 3.4) */
    FP4_STREAM_COUNT
};

struct fp4_stream_shape {
    size_t rows, cols;     /* of the input */
    bool rowwise, colwise; /* which outputs are made in the call: it changes the numbering */
    unsigned k_tile;       /* FP4_STREAM_RHT_COL: k_tile_size; 0 = TE's table */
};

struct fp4_stream_place {
    uint64_t subsequence;
    uint64_t call; /* generate4 calls before the one used: the counter is offset + call */
    unsigned word; /* 0..3 */
};

/* The place of the word that element (r, c) of the input takes in the rowwise (transposed = false) or the transposed output.
 * The element is nibble (packed index mod 4) of that word's conversion. */
struct fp4_stream_place fp4_stream_locate(enum fp4_stream stream, const struct fp4_stream_shape *shape, bool transposed, size_t r,
                                          size_t c);

/* TE's choice of kernel for nvte_quantize_v2 (TE 8.1): tuned, 2d or vector. */
enum fp4_stream fp4_stream_te_dispatch(enum fp4_dtype input, size_t rows, size_t cols, bool block_16x16, bool rowwise,
                                       bool colwise);

/* ---- quantize (TE 2, 3, 6) -------------------------------------------------------------------------------------------- */

enum fp4_recipe {
    FP4_RECIPE_TE,          /* Transformer Engine's kernels, exact */
    FP4_RECIPE_TE_FAST,     /* the same with NVTE_USE_FAST_MATH: quantize (bf16, 1x16), rht-quantize */
    FP4_RECIPE_TE_REF,      /* TE's Python reference: scaled -0 gives code 0, amax 0 gives FLT_MAX, NaN gives code 0 */
    FP4_RECIPE_TORCHAO,     /* torchao's standard nearest quantizer: NaN stays in the block amax */
    FP4_RECIPE_FP4SM120,    /* rht-quantize: the public SM120 port (RHT 2.3) */
    FP4_RECIPE_FLASHINFER,  /* four-over-six: FlashInfer's strict build */
    FP4_RECIPE_FOUROVERSIX, /* four-over-six: the CUDA kernel of mit-han-lab/fouroversix */
    FP4_RECIPE_COUNT
};

struct fp4_quantize_params {
    enum fp4_recipe recipe;
    enum fp4_dtype input; /* f32, f16, bf16 */
    size_t rows, cols;    /* rowwise output: cols even; transposed output: rows even. Partial blocks count as zero-filled */
    bool block_16x16;
    bool row_scaled; /* one amax a row (and one a column for the transposed output) instead of one a tensor */
    bool stochastic;
    struct fp4_rs_model rs;
    enum fp4_stream stream;
    uint64_t seed, offset;
    unsigned philox_rounds;
};

/* One direction of output. All arrays dense; L = lines (rows, or cols when transposed), P = packed length (cols, or rows). */
struct fp4_quantized {
    uint8_t *codes;  /* [L][P/2] bytes */
    uint8_t *scales; /* [L][ceil(P/16)] E4M3 bytes, logical region only: padding is never written */
    /* stages, each may be NULL */
    float *amax;         /* [1], or [L] when row_scaled: the amax used */
    float *global_scale; /* as amax: S_enc */
    float *block_amax;   /* [L][ceil(P/16)] */
    float *scaled;       /* [L][P]: x * e, what is rounded */
    uint32_t *rbits;     /* [L][ceil(P/4)]: the random words, stochastic only */
    float *dequantized;  /* [L][P], as fp4_dequantize with f32 output */
    /* inputs */
    const float *given_amax;     /* [1] or [L]; NULL: computed from the data */
    const uint32_t *given_rbits; /* [L][ceil(P/4)], for FP4_STREAM_RBITS */
};

/* Quantizes x. row and col may be NULL (but not both); col receives the transposed output. In FP4_STREAM_VECTOR one global
 * amax serves both directions under FP4_RECIPE_TE, else each has its own given_amax. */
int fp4_quantize(const struct fp4_quantize_params *p, const void *x, const struct fp4_quantized *row,
                 const struct fp4_quantized *col, struct fp4_error *err);

/* max |x| over a tensor (lines = 1) or over each row / column, NaN dropped (or kept, as 7FFFFFFF, when keep_nan). */
void fp4_amax(const void *x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan, float *out);
void fp4_amax_rows(const void *x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan, float *out);
void fp4_amax_cols(const void *x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan, float *out);

/* S_enc from an amax (TE 2.1 and its variants), for bound 448 or 256: numerator 6 * bound. FlashInfer's is that of one amax a row;
 * fp4four.h has the other one. */
float fp4_global_scale(enum fp4_recipe recipe, float amax, unsigned bound);

/* ---- rht-quantize (RHT) ------------------------------------------------------------------------------------------------- */

#define FP4_RHT_SIGN_MASK 0xD7E8u /* bit i set: s[i] = -1. TE's fixed vector */

enum fp4_rht_sum {
    FP4_SUM_TC,   /* Hopper / Blackwell tensor cores: products cut at 2^(Emax-25), exact sum, round toward zero (RHT 4.1) */
    FP4_SUM_SEQ,  /* binary32, k ascending, nearest even */
    FP4_SUM_EXACT /* one rounding of the exact sum, nearest even */
};

enum fp4_rht_kernel {
    FP4_RHT_KERNEL_COL,    /* columnwise-only fusion: global scale of RHT 2.2 */
    FP4_RHT_KERNEL_ROWCOL, /* row_cast_col family: amax NaN gives 1, Inf gives 0 (RHT 2.3) */
    FP4_RHT_KERNEL_UNFUSED /* transform to bf16, then the ordinary quantizer and its stream */
};

enum fp4_rht_class { /* of a group of 16, RHT 4.2 */
                     FP4_RHT_EXACT = 0,
                     FP4_RHT_ALIGNED = 1,
                     FP4_RHT_CUT = 2,
                     FP4_RHT_SAFE_BIT = 4 /* or-ed in: every bf16 value of the group is the same whichever the order */
};

struct fp4_rht_params {
    enum fp4_recipe recipe; /* FP4_RECIPE_TE, FP4_RECIPE_TE_FAST, FP4_RECIPE_FP4SM120, FP4_RECIPE_TE_REF */
    enum fp4_rht_kernel kernel;
    size_t rows, cols;  /* rows = tokens (a multiple of 16), cols = features; input is bf16 */
    uint16_t sign_mask; /* FP4_RHT_SIGN_MASK, 0 for no signs, or any other */
    bool inverse;       /* H * D / 4 instead of D * H / 4 */
    enum fp4_rht_sum sum;
    bool bf16_round_trip;    /* default true; TE's fast math leaves it out */
    bool approx_rcp;         /* rcp.approx.ftz by the table below instead of the IEEE reciprocal */
    const int8_t *rcp_table; /* 2^23 bytes: approximate minus IEEE reciprocal of a significand, in ulps; NULL if unused */
    bool stochastic;
    struct fp4_rs_model rs;
    enum fp4_stream stream;
    unsigned k_tile; /* for FP4_STREAM_RHT_COL; 0 = TE's table */
    uint64_t seed, offset;
    unsigned philox_rounds;
};

struct fp4_rht_stages { /* each may be NULL */
    float *transformed; /* [cols][rows]: the sums after the bf16 round trip, if there is one */
    uint8_t *exactness; /* [cols][rows/16]: enum fp4_rht_class */
};

/* col receives the transformed and transposed output [cols][rows]; row, if not NULL, the plain rowwise one.
 * col->given_amax is the amax after the transform; NULL computes it from the bf16-rounded sums, as TE's amax kernel does. */
int fp4_rht_quantize(const struct fp4_rht_params *p, const uint16_t *x, const struct fp4_quantized *row,
                     const struct fp4_quantized *col, const struct fp4_rht_stages *stages, struct fp4_error *err);

/* The 16 sums of one group. */
void fp4_rht_group(const float x[16], uint16_t sign_mask, bool inverse, enum fp4_rht_sum sum, float out[16]);
/* The class of a group (enum fp4_rht_class, FP4_RHT_SAFE_BIT or-ed in). Groups with Inf or NaN are FP4_RHT_EXACT. */
uint8_t fp4_rht_classify(const float x[16], uint16_t sign_mask, bool inverse);
/* rcp.approx.ftz.f32 by a table of differences (see rcp_table above); table NULL: the IEEE reciprocal, with the same flushes. */
float fp4_rcp_approx_ftz(float x, const int8_t *table);

/* ---- dequantize (TE 7) ---------------------------------------------------------------------------------------------------- */

struct fp4_dequantize_params {
    size_t rows, cols;     /* cols a multiple of 16 */
    bool row_scaled;       /* amax has rows entries */
    unsigned bound;        /* 448 or 256 */
    bool swizzled;         /* scales in the GEMM layout, padded to 128 x 4 */
    enum fp4_dtype output; /* f32, f16, bf16 */
};

/* y = e2m1 * ((e4m3 * amax) * fl(1 / (6 * bound))), then one rounding to the output type. block_scale (f32, [rows][cols/16]) may
 * be NULL. */
int fp4_dequantize(const struct fp4_dequantize_params *p, const uint8_t *codes, const uint8_t *scales, const float *amax, void *out,
                   float *block_scale, struct fp4_error *err);

/* ---- swizzle (TE 1.5, 9.8) -------------------------------------------------------------------------------------------------- */

/* Bytes of the swizzled buffer: rows padded to 128, scale columns to 4. */
size_t fp4_swizzle_bytes(size_t rows, size_t scale_cols);
/* Where scale (r, c) of a matrix with scale_cols columns lies. */
size_t fp4_swizzle_index(size_t scale_cols, size_t r, size_t c);
/* linear is [rows][scale_cols] dense; padding of the swizzled buffer is written as zero. */
void fp4_swizzle(size_t rows, size_t scale_cols, const uint8_t *linear, uint8_t *swizzled);
void fp4_unswizzle(size_t rows, size_t scale_cols, const uint8_t *swizzled, uint8_t *linear);

#ifdef __cplusplus
}
#endif

#include "fp4four.h" /* four-over-six */
#include "fp4gemm.h" /* products of quantized operands, the linear layer */

#endif

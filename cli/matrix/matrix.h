/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix.h: what can be run. Ops, knobs, data constructions and shapes are tables (ops.c, knobs.c, data.c, suites.c); a case is
 * one point of their product and its name is printed from that point and parsed back to it, so name and meaning are one.
 *
 *   name    op / recipe / knob tokens / dtype / data / ROWSxCOLS / sSEED      (gemm: MxNxK)
 *           quantize/te/sr/1x16/bf16/heavy/256x128/s0
 *           Knob tokens come in the order of the knob table; knobs that are not "always shown" appear only when they differ from
 *           their default.
 *
 * To add a case: a row in suites.c (or a line in a user's suite file). To add a data construction: a row in data.c and its
 * generator function. To add a knob: a row in knobs.c. To add an op: a row in ops.c, its tensor list, and a case in each
 * backend's run function. tests/unit/test_matrix.c checks that names round-trip, that no two cases share a name, and that every
 * op and every data construction is in a suite.
 */
#ifndef FP4_MATRIX_H
#define FP4_MATRIX_H

#include "fp4ref.h"

enum fp4_op {
    OP_CVT_RN,
    OP_CVT_RS,
    OP_SR_BF16X4,
    OP_SR_FP32X4,
    OP_SR_BF16X8,
    OP_QUANTIZE,
    OP_RHT_QUANTIZE,
    OP_FOUR_OVER_SIX,
    OP_DEQUANTIZE,
    OP_GEMM,
    OP_SWIZZLE,
    OP_PHILOX,
    OP_COUNT
};

enum case_recipe {         /* the recipe segment of a name; which ones an op has is in ops.c */
                   CR_PTX, /* cvt-rn, cvt-rs */
                   CR_TE,
                   CR_TE_FAST,
                   CR_TE_REF,
                   CR_TORCHAO,
                   CR_FP4SM120,
                   CR_FLASHINFER,  /* four-over-six */
                   CR_FOUROVERSIX, /* four-over-six */
                   CR_CURAND,      /* philox: offsets counted in words */
                   CR_COUNT
};

enum fp4_knob {
    KNOB_ROUND,     /* rn | sr */
    KNOB_BLOCK,     /* 1x16 | 16x16 */
    KNOB_OUT,       /* row | col | both */
    KNOB_AMAX,      /* amax-tensor | amax-row */
    KNOB_RS,        /* rs-model: rs_model_row() */
    KNOB_STREAM,    /* auto and enum fp4_stream */
    KNOB_SIGNS,     /* signs | nosigns | signs-17e8 | ...; knob_sign_mask gives the mask */
    KNOB_DIRECTION, /* forward | inverse */
    KNOB_SUM,       /* sum-tc | sum-seq | sum-exact */
    KNOB_TRIP,      /* by recipe | trip-bf16 | trip-none */
    KNOB_RCP,       /* by recipe | rcp-ieee | rcp-approx */
    KNOB_KERNEL,    /* kernel-col | kernel-rowcol | kernel-unfused */
    KNOB_KTILE,     /* by TE's table | ktile-2048 */
    KNOB_SCALE,     /* scaled | unscaled (sr-fp32x4) */
    KNOB_COEF,      /* coef-f32 | coef-bf16 (sr-bf16x8) */
    KNOB_BOUND,     /* bound-448 | bound-256 */
    KNOB_LAYOUT,    /* linear | swizzled (dequantize) */
    KNOB_SWIZZLE,   /* swizzle | unswizzle (op swizzle) */
    KNOB_PACK,      /* x4 | x2 (cvt-rn) */
    KNOB_ROUNDS,    /* r10 | r7 (philox, and every stochastic op) */
    KNOB_ERROR,     /* mae | mse: what four-over-six makes smaller */
    KNOB_FAST,      /* error-exact | error-fast (four-over-six): the scaled domain */
    KNOB_NAN,       /* by recipe | nan-drop | nan-propagate (four-over-six, gemm) */
    KNOB_MODE,      /* product | quantized | high-precision | dequantized (gemm) */
    KNOB_FACTOR,    /* factor-multiply | factor-divide (gemm) */
    KNOB_BIAS,      /* nobias | bias (gemm) */
    KNOB_COUNT
};

struct knob_row {
    enum fp4_knob knob;
    uint32_t ops;              /* bit 1 << op: the ops that have it */
    const char *const *tokens; /* NULL-ended; the value is the index; token "" = cannot be written (default by recipe) */
    unsigned def;              /* default value */
    bool shown;                /* always part of the name */
    const char *help;
};

extern const struct knob_row fp4_knobs[]; /* in name order; a knob may have several rows with disjoint ops */
extern const size_t fp4_knob_rows;
const struct knob_row *knob_find(enum fp4_knob knob, enum fp4_op op); /* NULL when the op does not have it */
const char *knob_name(enum fp4_knob knob);                            /* "round", "block", ...: keys of a suite file */
uint16_t knob_sign_mask(unsigned value); /* what a value of KNOB_SIGNS means: a mask for fp4_rht_params */
unsigned knob_k_tile(unsigned value);    /* KNOB_KTILE: 0 = TE's table */
unsigned knob_rounds(unsigned value);    /* KNOB_ROUNDS: 10 or 7 */
unsigned knob_bound(unsigned value);     /* KNOB_BOUND: 448 or 256 */

/*
 * rs-models as values of KNOB_RS: first those of the reference, then measured ones. A measured one comes from a file (docs/probe.md) or
 * from `probe`; it is called rs-file-XXXXXXXX in case names, by a digest of its rule and map. Whatever equals a model of the reference
 * is that one.
 */
#define RS_MODELS_MAX 64
const struct fp4_rs_model_row *rs_model_row(unsigned value); /* value below rs_model_count() */
size_t rs_model_count(void);
int rs_model_find(const char *name); /* value, or -1 */
/* Adds a rule with a bit map; returns its value, or -1 when there are too many. */
int rs_model_add(enum fp4_rs_rule rule, const struct fp4_rs_map *map, struct fp4_error *err);
/* NAME of a model, or the path of a model file (it holds a '/' or a '.'); returns the value, or -1. */
int rs_model_from_text(const char *text, struct fp4_error *err);
const char *rs_rule_name(enum fp4_rs_rule rule); /* "trunc", "half", "half-old", "fma-floor", "hash32" */
const char *rs_map_name(enum fp4_byte_map map);  /* "b300", ..., "custom" */
/* A model as the text of a model file; caller frees, NULL when out of memory. */
char *rs_model_text(enum fp4_rs_rule rule, const struct fp4_rs_map *map);

struct op_row {
    enum fp4_op op;
    const char *name;
    uint32_t recipes; /* bit 1 << case_recipe */
    uint32_t dtypes;  /* bit 1 << fp4_dtype: the dtype segment (input type; dequantize: output type) */
    const char *help;
    const char *source; /* which section of docs/numerics.md */
};

extern const struct op_row fp4_ops[OP_COUNT];
const char *case_recipe_name(enum case_recipe recipe);
const char *case_recipe_help(enum case_recipe recipe);
enum fp4_recipe case_recipe_ref(enum case_recipe recipe); /* for quantize and rht-quantize */

/*
 * Tensors of each op, in stage order (I input, O output, S stage). R, C: the case's rows and cols; L, P: lines and packed length of a
 * direction (R, C rowwise; C, R transposed); b = ceil(P / 16), w = ceil(P / 4). A transposed direction's names end in ".t".
 *
 *   cvt-rn        I x f32 [R,C]   O codes e2m1 [R,C]                              (C a multiple of 4; x2: of 2)
 *   cvt-rs        I x f32 [R,C]   I rbits u32 [R,C/4]   O codes e2m1 [R,C]
 *   sr-bf16x4     I x bf16 [R,C]  I scale f32 [R,2]     I rbits u32 [R,C/4]   S scaled f32 [R,C]   O codes e2m1 [R,C]
 *   sr-fp32x4     as sr-bf16x4 with x f32; unscaled: neither scale nor scaled
 *   sr-bf16x8     I x bf16 [R,C]  I coefficient f32|bf16 [R]  I rbits u32 [R,C/4]  S scaled f32 [R,C]  O codes e2m1 [R,C]  (C % 8 == 0)
 *   quantize      I x dtype [R,C]
 *                 I rng-state u64 [2] = seed, offset                              (sr, unless the stream is rbits)
 *                 I given-amax f32 [1]|[L]                                        per direction, when data->gives_amax
 *                 I rbits u32 [L,w]                                               per direction, when the stream is rbits
 *                 then for each direction that KNOB_OUT asks for, rowwise first:
 *                 O amax f32 [1]|[L]   S global-scale f32 (as amax)   S block-amax f32 [L,b]   O block-scale e4m3 [L,b]
 *                 S scaled f32 [L,P]   S random u32 [L,w] (sr, stream not rbits)   O codes e2m1 [L,P]   S dequantized f32 [L,P]
 *   rht-quantize  as quantize with bf16 x; the transposed direction is always there and begins with
 *                 S transformed.t f32 [C,R]   S exactness.t u8 [C,R/16]; KNOB_OUT both adds the plain rowwise direction, first
 *   four-over-six I x dtype [R,C]   I given-amax, as quantize
 *                 then for each direction that KNOB_OUT asks for, rowwise first; *-6 and *-4 belong to the two candidates:
 *                 O amax f32 [1]|[L]   S global-scale f32 (as amax)   S block-amax f32 [L,b]   S scale-6, scale-4 e4m3 [L,b]
 *                 S codes-6, codes-4 e2m1 [L,P]   S error-6, error-4 f32 [L,b]   S pick u8 [L,b]: 0 map-to-6, 1 map-to-4
 *                 O block-scale e4m3 [L,b]   S scaled f32 [L,P]   O codes e2m1 [L,P]   S dequantized f32 [L,P]
 *   dequantize    I codes e2m1 [R,C]   I scales e4m3 [R,C/16] (swizzled: [fp4_swizzle_bytes(R, C/16)])   I amax f32 [1]|[R]
 *                 S decoded-scale f32 [R,C/16]   O dequantized dtype [R,C]
 *   gemm          (rows M, depth N, cols K)
 *     product     I a-codes e2m1 [M,K]  I a-scale e4m3 [M,K/16]  I a-amax f32 [1]|[M]  I b-codes [N,K]  I b-scale  I b-amax [1]
 *                 I bias dtype [N]   S acc f32 [M,N]   O y dtype [M,N]
 *     the layers  I x bf16 [M,K]  I w bf16 [N,K]  I bias bf16 [N]  I dy bf16 [M,N]
 *                 x-, w-codes, -scale, -amax (outputs where the mode saves them, stages elsewhere); quantized: O xt-, wt- [K,M], [K,N]
 *                 O y bf16 [M,N]; quantized: S dy-, dyt- codes, scale, amax; dequantized: S x-values [M,K], w-values [N,K] bf16
 *                 O grad-input bf16 [M,K]   O grad-weight bf16 [N,K]   O grad-bias bf16 [N] (bias)
 *   swizzle       swizzle: I scales e4m3 [R,C]  O swizzled e4m3 [bytes];  unswizzle: I swizzled [bytes]  O scales [R,C]
 *   philox        I seed u64 [R]  I subsequence u64 [R]  I offset u64 [R]  O words u32 [R,C]   (C a multiple of 4)
 */

/* ---- tensors of a case ---------------------------------------------------------------------------------------------------- */

enum tensor_role { TENSOR_INPUT, TENSOR_OUTPUT, TENSOR_STAGE };

#define TENSOR_NAME_MAX 24
#define CASE_TENSORS_MAX 32

struct tensor {
    char name[TENSOR_NAME_MAX]; /* "codes", "block-scale", "amax", ...; transposed direction: "codes.t", ... */
    enum tensor_role role;
    enum fp4_dtype dtype; /* E2M1: two a byte along the last dimension, which dims[] counts in elements */
    unsigned ndim;        /* 1 or 2 */
    size_t dims[2];
    size_t bytes;
    uint8_t *data; /* NULL until allocated; stages a backend cannot give stay NULL */
    bool written;  /* set by a backend for outputs and stages that it produced */
};

struct case_tensors { /* in stage order: a diff names the first one that differs */
    struct tensor t[CASE_TENSORS_MAX];
    size_t count;
};

/* ---- data constructions ------------------------------------------------------------------------------------------------------ */

struct fp4_case;
struct maker; /* data_make.h: what a value function knows about its case */

struct data_row {
    const char *name;   /* the data segment of a case name */
    uint32_t ops;       /* ops it makes sense for */
    const char *help;   /* one line, for list --data */
    const char *source; /* e.g. "field report 27", "SR 2.7", "design 4" */
    /* Fills every input tensor of the case (allocated, dtype and dims set). Integers and exact scaling only: the same bytes on every
     * machine. */
    int (*generate)(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err);
    unsigned param;  /* free for the generator, so that one function can serve several rows */
    bool gives_amax; /* quantize, rht-quantize: the case has given-amax inputs, which generate fills */
    uint32_t dtypes; /* bit 1 << fp4_dtype: the dtypes it makes sense for; 0 = every dtype of the op */
    unsigned given;  /* enum given_amax of data_make.h, when gives_amax */
    /* For generate_values: the binary32 bits of element (r, c), before rounding to the case's dtype. */
    uint32_t (*value)(const struct maker *m, size_t r, size_t c);
};

extern const struct data_row fp4_data[];
extern const size_t fp4_data_count;
const struct data_row *data_find(const char *name);
/* Inputs that the caller of backend_run_prepared makes; not in fp4_data, and no case of a suite has it. data_made_amax: with given-amax
 * inputs. A worker process is sent their bytes. */
extern const struct data_row data_made, data_made_amax;

/* A user's tensor as a data construction: its name in cases is "file-" and 16 hex digits of the XXH3-64 of dtype, shape and
 * bytes. Tensors of 1, 2 or more dimensions: the last is cols, the others are flattened to rows. */
struct input_tensor;
/* spec is FILE.safetensors[:TENSOR]; without TENSOR every f32, f16 and bf16 tensor of the file is registered. Returns how many. */
int input_register(const char *spec, struct fp4_error *err);
size_t input_count(void);
const char *input_data_name(size_t i);   /* "file-0123456789abcdef" */
const char *input_tensor_name(size_t i); /* as in the file */
void input_shape(size_t i, size_t *rows, size_t *cols, enum fp4_dtype *dtype);
void input_release_all(void);

/* ---- cases ---------------------------------------------------------------------------------------------------------------------- */

#define CASE_NAME_MAX 192
#define CASE_DIM_MAX ((size_t)1 << 31)

struct fp4_case {
    enum fp4_op op;
    enum case_recipe recipe;
    uint8_t knob[KNOB_COUNT]; /* value of each knob; those that the op lacks hold 0 */
    enum fp4_dtype dtype;
    const struct data_row *data; /* NULL for a user's tensor */
    char input[24];              /* "file-..." when data is NULL */
    size_t rows, cols;
    uint64_t seed;
    size_t depth; /* gemm: N; 0 elsewhere */
};

/* A case with every knob at its default. */
struct fp4_case case_make(enum fp4_op op, enum case_recipe recipe, enum fp4_dtype dtype, const struct data_row *data, size_t rows,
                          size_t cols, uint64_t seed);
void case_name(const struct fp4_case *c, char name[CASE_NAME_MAX]);
/* Parses and checks a whole name; the message says which segment is wrong and what would be right there. */
int case_parse(const char *name, struct fp4_case *out, struct fp4_error *err);
/* Whether the combination is defined (te-fast needs bf16 and 1x16, cols even, ...). The message is the reason. */
int case_check(const struct fp4_case *c, struct fp4_error *err);

/* gemm: whether the case is a layer, forward and backward, instead of the product of given operands. */
bool case_is_layer(const struct fp4_case *c);
void case_linear_params(const struct fp4_case *c, struct fp4_linear_params *p);
/* The product's operands have sizes and bounds, not yet data. */
void case_gemm_params(const struct fp4_case *c, struct fp4_gemm_params *p, struct fp4_operand *a, struct fp4_operand *b);

/* four-over-six: whether NaN is propagated (knob, then recipe), and the parameters of a case. */
bool case_four_keeps_nan(const struct fp4_case *c);
void case_four_params(const struct fp4_case *c, struct fp4_four_params *p);

/* rht-quantize: whether the sums are rounded to bf16, and whether the reciprocal is the approximate one (knobs, then recipe). */
bool case_rht_round_trip(const struct fp4_case *c);
bool case_rht_approx_rcp(const struct fp4_case *c);

/* The tensors of the case in stage order, with dims and bytes, data NULL. */
int case_describe(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
/* Allocates the inputs and generates them. */
int case_inputs(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
void case_release(struct case_tensors *t);
struct tensor *tensor_find(struct case_tensors *t, const char *name); /* NULL when there is none */

/* ---- suites ------------------------------------------------------------------------------------------------------------------------ */

struct case_list {
    struct fp4_case *items;
    size_t count, capacity;
};
void case_list_release(struct case_list *list);
int case_list_add(struct case_list *list, const struct fp4_case *c, struct fp4_error *err);

struct suite_row {
    const char *name;
    const char *help;
};
extern const struct suite_row fp4_suites[];
extern const size_t fp4_suite_count;

struct selection {            /* --suite, --case, --op, --shard, --seed */
    const char *suite;        /* name, or a path that ends in .json; NULL: "default", or none if full names are given */
    const char *const *globs; /* NULL-ended; a full name without *, ? and [ selects a case of no suite too */
    const char *const *ops;   /* NULL-ended op names */
    unsigned shard, shards;   /* 1-based; 0, 0: all */
    bool has_seed;
    uint64_t seed; /* added to the seed of each case of a suite */
};
/* Expands a selection in a fixed order. An empty result is an error. */
int suite_select(const struct selection *sel, struct case_list *out, struct fp4_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: one block of 16 through the scale chain, private to reference/. What TE's text fixes for all is code; what a kernel or a
 * port chose is a field of struct fp4_chain, so that quantize.c and rht.c differ in tables only.
 */
#ifndef FP4_BLOCK_H
#define FP4_BLOCK_H

#include "fp4arith.h"
#include "fp4ref.h"

enum chain_global {                  /* amax -> S_enc */
                    GLOBAL_TE,       /* TE 2.1: NaN gives FLT_MAX, 0 and Inf give 1 */
                    GLOBAL_TE_REF,   /* TE's Python reference: 0 gives FLT_MAX, Inf 1, NaN stays */
                    GLOBAL_KEEP_NAN, /* RHT 2.2 and torchao: NaN stays NaN, 0 and Inf give 1 */
                    GLOBAL_ROWCOL,   /* RHT 2.3: NaN and 0 give 1, Inf gives 0 */
                    GLOBAL_TOKEN,    /* FlashInfer, one amax a row: 0 gives 0, Inf 1, NaN FLT_MAX */
                    GLOBAL_INVERTED, /* FlashInfer, one amax a tensor: (1 / amax) * numerator, at most FLT_MAX */
                    GLOBAL_BARE      /* fouroversix: the division and nothing else */
};

enum chain_element {                 /* stored scale -> element scale */
                     ELEMENT_IEEE,   /* min(1 / (sf * S_dec), FLT_MAX) */
                     ELEMENT_APPROX, /* the same with rcp.approx.ftz */
                     ELEMENT_BF16    /* bf16(min(S_enc / sf, bf16 max)): TE 3.3 variant B */
};

struct fp4_chain {
    enum chain_global global;
    enum chain_element element;
    bool divide_by_six;   /* S_enc / 6 where TE multiplies by the rounded 1/6 (RHT 2.3, the SM120 port) */
    bool keep_nan;        /* NaN stays in block maxima and element scales (Hadamard kernels, Python reference, torchao) */
    bool zero_to_plus;    /* x = -0 gives +0: fma(x, e, +0) of variant B */
    bool drop_minus_zero; /* a scaled -0 gives code 0: the Python reference's comparisons (TE 10.9) */
    bool nan_code_zero;   /* NaN gives code 0 (Python reference) instead of 7 */
    const int8_t *rcp_table;
};

struct chain_globals {
    float amax, enc, dec, mult;
};

FP4_FN float chain_global_scale(const struct fp4_chain *ch, float amax, float numerator)
{
    float big = fp4a_float(FP4_FLT_MAX);
    float s;

    if (ch->global == GLOBAL_ROWCOL)
        return amax > 0 ? fp4a_min_keep(fp4a_div(numerator, amax), big) : 1.0f;
    if (ch->global == GLOBAL_INVERTED)
        return fp4a_min_drop(fp4a_mul(fp4a_div(1.0f, amax), numerator), big);
    if (ch->global == GLOBAL_TOKEN && amax == 0.0f)
        return 0.0f;
    s = fp4a_div(numerator, amax);
    if (ch->global == GLOBAL_BARE)
        return s;
    s = ch->global == GLOBAL_TE || ch->global == GLOBAL_TOKEN ? fp4a_min_drop(s, big) : fp4a_min_keep(s, big);
    if (s == 0.0f || (amax == 0.0f && ch->global != GLOBAL_TE_REF))
        return 1.0f;
    if (amax == 0.0f)
        return big; /* whatever the sign of the zero */
    return s;
}

FP4_FN struct chain_globals chain_globals_of(const struct fp4_chain *ch, float amax, float numerator)
{
    struct chain_globals g;

    g.amax = fp4a_canonical(amax);
    g.enc = chain_global_scale(ch, amax, numerator);
    g.dec = fp4a_div(1.0f, g.enc);
    g.mult = ch->divide_by_six ? fp4a_div(g.enc, 6.0f) : fp4a_mul(g.enc, fp4a_float(FP4_SIXTH));
    return g;
}

FP4_FN float chain_max(const struct fp4_chain *ch, float acc, float v)
{
    v = fp4a_abs(v);
    if (fp4a_is_nan(v))
        return ch->keep_nan ? fp4a_float(FP4_QNAN) : acc;
    return v > acc ? v : acc; /* a NaN acc stays */
}

/* The stored byte of a block maximum. */
FP4_FN uint32_t chain_scale_byte(const struct fp4_chain *ch, const struct chain_globals *g, float block_amax)
{
    float d = fp4a_mul(block_amax, g->mult);

    if (!ch->keep_nan)
        d = fp4a_min_drop(d, fp4a_float(FP4_FLT_MAX));
    return fp4a_to_e4m3(d);
}

/* rcp.approx.ftz: the instruction on a device (kernels/isa/ defines it), the measured table elsewhere. */
#if defined(__CUDACC__)
__device__ __forceinline__ float isa_rcp_approx_ftz(float x);
#endif
FP4_FN float chain_rcp_approx(const struct fp4_chain *ch, float x)
{
#if defined(__CUDA_ARCH__)
    (void)ch;
    return isa_rcp_approx_ftz(x);
#elif defined(__CUDACC__)
    (void)ch;
    return x; /* kernels only */
#else
    return fp4_rcp_approx_ftz(x, ch->rcp_table);
#endif
}

/* The element scale e of a stored byte. */
FP4_FN float chain_element_scale(const struct fp4_chain *ch, const struct chain_globals *g, uint32_t byte)
{
    float sf = fp4a_from_e4m3(byte), big = fp4a_float(FP4_FLT_MAX), e;

    if (ch->element == ELEMENT_BF16)
        return fp4a_round_bf16(fp4a_min_drop(fp4a_div(g->enc, sf), fp4a_float(FP4_BF16_MAX)));
    e = fp4a_mul(sf, g->dec);
    e = ch->element == ELEMENT_APPROX ? chain_rcp_approx(ch, e) : fp4a_div(1.0f, e);
    return ch->keep_nan ? fp4a_min_keep(e, big) : fp4a_min_drop(e, big);
}

FP4_FN float chain_scaled(const struct fp4_chain *ch, float x, float e)
{
    return fp4a_canonical(ch->zero_to_plus ? fp4a_fma(x, e, 0.0f) : fp4a_mul(x, e));
}

/* The code of a scaled value, after whichever rounding gave `code`. */
FP4_FN uint32_t chain_code(const struct fp4_chain *ch, float y, uint32_t code)
{
    if (ch->nan_code_zero && fp4a_is_nan(y))
        return 0;
    if (ch->drop_minus_zero && fp4a_bits(y) == 0x80000000u)
        return 0;
    return code;
}

/* ---- the choices of each recipe and kernel ------------------------------------------------------------------------------------------------- */

/* soft: stochastic rounding by TE's software fallback, which multiplies where the native path has the fused operation, so -0 survives. */
static inline struct fp4_chain chain_quantize(enum fp4_recipe recipe, bool soft)
{
    struct fp4_chain ch;

    memset(&ch, 0, sizeof ch);
    ch.global = GLOBAL_TE;
    if (recipe == FP4_RECIPE_TE_FAST) {
        ch.element = ELEMENT_BF16;
        ch.zero_to_plus = !soft;
    } else if (recipe == FP4_RECIPE_TE_REF) {
        ch.global = GLOBAL_TE_REF;
        ch.keep_nan = ch.drop_minus_zero = ch.nan_code_zero = true;
    } else if (recipe == FP4_RECIPE_TORCHAO) {
        ch.global = GLOBAL_KEEP_NAN;
        ch.keep_nan = true;
    } else if (recipe == FP4_RECIPE_FLASHINFER) {
        ch.global = GLOBAL_TOKEN;
    } else if (recipe == FP4_RECIPE_FOUROVERSIX) {
        ch.global = GLOBAL_BARE;
    }
    return ch;
}

static inline struct fp4_chain chain_rht(const struct fp4_rht_params *p)
{
    struct fp4_chain ch;

    if (p->recipe == FP4_RECIPE_TE_REF)
        return chain_quantize(FP4_RECIPE_TE_REF, false);
    if (p->kernel == FP4_RHT_KERNEL_UNFUSED) /* the ordinary quantizer on bf16 input; its fast math is variant B */
        return chain_quantize(p->recipe, p->stochastic && p->rs.rule == FP4_RS_FMA_FLOOR);
    memset(&ch, 0, sizeof ch);
    ch.global = p->kernel == FP4_RHT_KERNEL_ROWCOL ? GLOBAL_ROWCOL : GLOBAL_KEEP_NAN;
    ch.keep_nan = true;
    if (p->recipe == FP4_RECIPE_FP4SM120) {
        ch.global = GLOBAL_TE;
        ch.divide_by_six = true;
    }
    if (p->approx_rcp) {
        ch.element = ELEMENT_APPROX;
        ch.rcp_table = p->rcp_table;
    }
    return ch;
}

static inline bool stream_is_quantizer(enum fp4_stream s)
{
    return s == FP4_STREAM_TUNED || s == FP4_STREAM_VECTOR || s == FP4_STREAM_2D || s == FP4_STREAM_GROUP;
}

/* The stream of rht-quantize where the caller left the choice. */
static inline enum fp4_stream rht_stream_for(const struct fp4_rht_params *p, bool transposed)
{
    if (p->stream != FP4_STREAM_AUTO)
        return p->stream;
    if (p->kernel == FP4_RHT_KERNEL_UNFUSED)
        return transposed ? fp4_stream_te_dispatch(FP4_BF16, p->cols, p->rows, false, true, false)
                          : fp4_stream_te_dispatch(FP4_BF16, p->rows, p->cols, false, true, false);
    if (p->recipe == FP4_RECIPE_FP4SM120)
        return FP4_STREAM_RHT_FP4SM120;
    return p->kernel == FP4_RHT_KERNEL_ROWCOL ? FP4_STREAM_RHT_ROWCOL : FP4_STREAM_RHT_COL;
}

#ifndef __CUDACC__

/* ---- one direction of output, shared by quantize.c and rht.c (block.c) ---------------------------------------------------------- */

struct direction {
    const struct fp4_chain *chain;
    const struct fp4_quantized *out;
    size_t lines, packed; /* L, P */
    size_t blocks, words; /* ceil(P / 16), ceil(P / 4) */
    bool stochastic;
    struct fp4_rs_model rs;
    enum fp4_stream stream; /* resolved */
    struct fp4_stream_shape shape;
    bool transposed; /* line = input column, packed index = input row */
    uint64_t seed, offset;
    unsigned rounds;
    struct chain_globals globals; /* of the current line */
    /* the last Philox draw, since the four words of one serve neighbours */
    bool drawn;
    uint64_t drawn_subsequence, drawn_call;
    uint32_t draw[4];
};

/* Sizes of a direction of an input [rows][cols]; everything else zero. */
void direction_begin(struct direction *d, const struct fp4_chain *chain, const struct fp4_quantized *out, size_t rows, size_t cols,
                     bool transposed);
/* Writes amax and global-scale stages of a line (row-scaled) or of the tensor (line 0) and makes them current. */
void direction_set_amax(struct direction *d, size_t line, float amax);
/* Encodes up to 16 values of block b of a line whose block amax is known: scale byte, codes and stages. */
void direction_block(struct direction *d, size_t line, size_t b, const float v[16], float block_amax);

#endif
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Backend "ref": libfp4ref on the CPU, scalar and pinned. Everything else is compared with it. */
#include "ref_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint8_t *data_of(struct case_tensors *t, const char *name)
{
    struct tensor *x = tensor_find(t, name);

    return x ? x->data : NULL;
}

static uint32_t u32_at(const uint8_t *p, size_t i)
{
    uint32_t v;

    memcpy(&v, p + 4 * i, 4);
    return v;
}

static uint64_t u64_at(const uint8_t *p, size_t i)
{
    uint64_t v;

    memcpy(&v, p + 8 * i, 8);
    return v;
}

static float f32_at(const uint8_t *p, size_t i)
{
    return fp4_f32_from_bits(u32_at(p, i));
}

static bf16_t bf16_at(const uint8_t *p, size_t i)
{
    bf16_t v;

    memcpy(&v.bits, p + 2 * i, 2);
    return v;
}

static void put_u16(uint8_t *p, size_t i, uint16_t v)
{
    p[2 * i] = (uint8_t)v;
    p[2 * i + 1] = (uint8_t)(v >> 8);
}

static void put_f32(uint8_t *p, size_t i, float v)
{
    uint32_t bits = fp4_f32_bits(v);

    if (p)
        memcpy(p + 4 * i, &bits, 4);
}

static struct fp4_rs_model model_of(const struct fp4_case *c)
{
    return rs_model_row(c->knob[KNOB_RS])->model;
}

/* ---- conversions ----------------------------------------------------------------------------------------------------------------- */

static int run_cvt_rn(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const uint8_t *x = data_of(t, "x");
    uint8_t *codes = data_of(t, "codes");
    size_t n = c->rows * c->cols, i;

    (void)err;
    if (c->knob[KNOB_PACK]) {
        for (i = 0; i < n / 2; i++)
            codes[i] = fp4_cvt_rn_e2m1x2(f32_at(x, 2 * i + 1), f32_at(x, 2 * i));
        return 0;
    }
    for (i = 0; i < n / 4; i++)
        put_u16(codes, i, fp4_cvt_rn_e2m1x4(f32_at(x, 4 * i + 3), f32_at(x, 4 * i + 2), f32_at(x, 4 * i + 1), f32_at(x, 4 * i)));
    return 0;
}

static int run_cvt_rs(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const uint8_t *x = data_of(t, "x"), *rbits = data_of(t, "rbits");
    uint8_t *codes = data_of(t, "codes");
    struct fp4_rs_model model = model_of(c);
    size_t n = c->rows * c->cols / 4, i;

    (void)err;
    for (i = 0; i < n; i++)
        put_u16(codes, i,
                fp4_cvt_rs_e2m1x4(model, f32_at(x, 4 * i + 3), f32_at(x, 4 * i + 2), f32_at(x, 4 * i + 1), f32_at(x, 4 * i),
                                  u32_at(rbits, i)));
    return 0;
}

/* The stage of the x4 and x8 helpers: one product a value, or the fused operation that adds +0. */
static void scaled_stage(uint8_t *scaled, size_t i, float x, float s, bool fused)
{
    float y = fused ? fmaf(x, s, 0.0f) : x * s;

    put_f32(scaled, i, y == y ? y : fp4_f32_from_bits(0x7FFFFFFFu));
}

static int run_sr_x4(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const uint8_t *x = data_of(t, "x"), *rbits = data_of(t, "rbits"), *scale = data_of(t, "scale");
    uint8_t *codes = data_of(t, "codes"), *scaled = data_of(t, "scaled");
    struct fp4_rs_model model = model_of(c);
    size_t words = c->cols / 4, r, w, k;

    (void)err;
    for (r = 0; r < c->rows; r++)
        for (w = 0; w < words; w++) {
            size_t at = r * words + w;
            uint32_t word = u32_at(rbits, at);
            float pair[2] = { scale ? f32_at(scale, 2 * r) : 1.0f, scale ? f32_at(scale, 2 * r + 1) : 1.0f };
            float v[4];
            bf16_t h[4];

            for (k = 0; k < 4; k++) {
                h[k] = bf16_at(x, c->op == OP_SR_BF16X4 ? 4 * at + k : 0);
                v[k] = c->op == OP_SR_BF16X4 ? bf16_to_f32(h[k]) : f32_at(x, 4 * at + k);
                if (scaled)
                    scaled_stage(scaled, 4 * at + k, v[k], pair[k & 1], false);
            }
            put_u16(codes, at,
                    c->op == OP_SR_BF16X4 ? fp4_sr_bf16x4(model, h, pair, word)
                    : scale               ? fp4_sr_fp32x4_scaled(model, v, pair, word)
                                          : fp4_sr_fp32x4(model, v, word));
        }
    return 0;
}

static int run_sr_x8(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const uint8_t *x = data_of(t, "x"), *rbits = data_of(t, "rbits"), *coefficient = data_of(t, "coefficient");
    uint8_t *codes = data_of(t, "codes"), *scaled = data_of(t, "scaled");
    struct fp4_rs_model model = model_of(c);
    bool narrow = c->knob[KNOB_COEF] == 1;
    size_t groups = c->cols / 8, r, g, k;

    (void)err;
    for (r = 0; r < c->rows; r++)
        for (g = 0; g < groups; g++) {
            size_t at = r * groups + g;
            bf16_t h[8];
            float s = narrow ? bf16_to_f32(bf16_at(coefficient, r)) : f32_at(coefficient, r);
            uint32_t codes8;

            for (k = 0; k < 8; k++) {
                h[k] = bf16_at(x, 8 * at + k);
                if (scaled)
                    scaled_stage(scaled, 8 * at + k, bf16_to_f32(h[k]), s, narrow && model.rule != FP4_RS_FMA_FLOOR);
            }
            codes8 = narrow ? fp4_sr_bf16x8_coef_bf16(model, h, bf16_at(coefficient, r), u32_at(rbits, 2 * at),
                                                      u32_at(rbits, 2 * at + 1))
                            : fp4_sr_bf16x8(model, h, s, u32_at(rbits, 2 * at), u32_at(rbits, 2 * at + 1));
            put_u16(codes, 2 * at, (uint16_t)codes8);
            put_u16(codes, 2 * at + 1, (uint16_t)(codes8 >> 16));
        }
    return 0;
}

/* ---- quantizers -------------------------------------------------------------------------------------------------------------------- */

void *ref_named(struct case_tensors *t, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX];

    snprintf(full, sizeof full, "%s%s", name, suffix);
    return data_of(t, full);
}

void *ref_place(void *t, const char *name, const char *suffix)
{
    return ref_named(t, name, suffix);
}

struct fp4_quantized ref_direction_of(struct case_tensors *t, const char *suffix)
{
    return quantized_of(ref_place, t, suffix);
}

static int run_quantize(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct fp4_quantized row = ref_direction_of(t, ""), col = ref_direction_of(t, ".t");
    struct fp4_quantize_params p;

    quantize_params_of(c, &p);
    rng_state_of(t, &p.seed, &p.offset);
    return fp4_quantize(&p, data_of(t, "x"), row.codes ? &row : NULL, col.codes ? &col : NULL, err);
}

static int run_rht(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct fp4_quantized row = ref_direction_of(t, ""), col = ref_direction_of(t, ".t");
    struct fp4_rht_stages stages = { ref_named(t, "transformed", ".t"), ref_named(t, "exactness", ".t") };
    struct fp4_rht_params p;

    rht_params_of(c, &p);
    if (p.approx_rcp && !(p.rcp_table = rcp_table_h200(err)))
        return -1;
    rng_state_of(t, &p.seed, &p.offset);
    return fp4_rht_quantize(&p, ref_named(t, "x", ""), row.codes ? &row : NULL, &col, &stages, err);
}

/* ---- the others ------------------------------------------------------------------------------------------------------------------------ */

static int run_dequantize(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct fp4_dequantize_params p;

    dequantize_params_of(c, &p);
    return fp4_dequantize(&p, data_of(t, "codes"), data_of(t, "scales"), ref_named(t, "amax", ""), data_of(t, "dequantized"),
                          ref_named(t, "decoded-scale", ""), err);
}

static int run_swizzle(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    (void)err;
    if (c->knob[KNOB_SWIZZLE])
        fp4_unswizzle(c->rows, c->cols, data_of(t, "swizzled"), data_of(t, "scales"));
    else
        fp4_swizzle(c->rows, c->cols, data_of(t, "scales"), data_of(t, "swizzled"));
    return 0;
}

static int run_philox(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const uint8_t *seed = data_of(t, "seed"), *subsequence = data_of(t, "subsequence"), *offset = data_of(t, "offset");
    uint8_t *words = data_of(t, "words");
    unsigned rounds = knob_rounds(c->knob[KNOB_ROUNDS]);
    size_t r, i;

    (void)err;
    for (r = 0; r < c->rows; r++) {
        struct fp4_philox p;

        if (c->recipe == CR_CURAND)
            fp4_philox_init_curand(&p, u64_at(seed, r), u64_at(subsequence, r), u64_at(offset, r), rounds);
        else
            fp4_philox_init(&p, u64_at(seed, r), u64_at(subsequence, r), u64_at(offset, r), rounds);
        for (i = 0; i < c->cols; i++) {
            uint32_t word = fp4_philox_next(&p);

            memcpy(words + 4 * (r * c->cols + i), &word, 4);
        }
    }
    return 0;
}

/* ---- the row ------------------------------------------------------------------------------------------------------------------------------ */

static int run(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    static int (*const by_op[OP_COUNT])(const struct fp4_case *, struct case_tensors *, struct fp4_error *) = {
        [OP_CVT_RN] = run_cvt_rn,    [OP_CVT_RS] = run_cvt_rs,          [OP_SR_BF16X4] = run_sr_x4,
        [OP_SR_FP32X4] = run_sr_x4,  [OP_SR_BF16X8] = run_sr_x8,        [OP_QUANTIZE] = run_quantize,
        [OP_RHT_QUANTIZE] = run_rht, [OP_DEQUANTIZE] = run_dequantize,  [OP_SWIZZLE] = run_swizzle,
        [OP_PHILOX] = run_philox,    [OP_FOUR_OVER_SIX] = ref_run_four, [OP_GEMM] = ref_run_gemm,
    };
    size_t i;

    if (by_op[c->op](c, t, err))
        return -1;
    for (i = 0; i < t->count; i++)
        if (t->t[i].role != TENSOR_INPUT && t->t[i].data)
            t->t[i].written = true;
    return 0;
}

static int available(struct fp4_error *err)
{
    (void)err;
    return 0;
}

static int supports(const struct fp4_case *c, struct fp4_error *err)
{
    return case_check(c, err);
}

static void describe(char *text, size_t size)
{
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#else
    const char *compiler = "gcc " __VERSION__;
#endif
    snprintf(text, size, "C reference, %s, %s -std=c17 -ffp-contract=off", compiler, FP4_BUILD_FLAGS);
}

const struct backend_row backend_ref = {
    .name = "ref",
    .help = "the software reference in C: scalar, pinned, every op",
    .available = available,
    .supports = supports,
    .run = run,
    .describe = describe,
    .threads = true,
};

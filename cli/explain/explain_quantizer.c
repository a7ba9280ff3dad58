/* SPDX-License-Identifier: Apache-2.0 */
/* explain_quantizer.c: quantize and rht-quantize: input, transform, amax, scale, scaled value, random word, code. */
#include "backend_rows.h"
#include "block.h" /* the chain itself: what is no stage is replayed with it */
#include "explain.h"
#include "scale_rules.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct place { /* of the element in its output */
    const char *suffix;
    size_t line, at, lines, packed, blocks, words;
    bool row_scaled;
    struct fp4_chain chain;
    struct chain_globals globals;
};

static const char *named(const struct place *p, const char *name)
{
    static char full[4][TENSOR_NAME_MAX];
    static unsigned next;
    char *text = full[next++ % 4];

    snprintf(text, TENSOR_NAME_MAX, "%s%s", name, p->suffix);
    return text;
}

static float ref_f32(struct explain *e, const char *tensor, size_t i)
{
    uint64_t bits = 0;

    return explain_ref(e, tensor, i, &bits) ? fp4_f32_from_bits((uint32_t)bits) : 0.0f;
}

static bool has_output(struct explain *e, const char *suffix)
{
    char full[TENSOR_NAME_MAX];
    const struct tensor *t;

    snprintf(full, sizeof full, "codes%s", suffix);
    t = tensor_find(&e->sides[0].t, full);
    return t && t->data;
}

/* ---- the transform ------------------------------------------------------------------------------------------------------------------------ */

static const char *class_text(uint8_t class)
{
    return class & FP4_RHT_SAFE_BIT   ? "safe: bf16 values are the same whichever the order"
           : class == FP4_RHT_EXACT   ? "exact: every order gives the same sums"
           : class == FP4_RHT_ALIGNED ? "aligned: the order of the additions may show"
                                      : "cut: a tensor core drops bits of the smaller products";
}

static void explain_transform(struct explain *e, const struct place *p)
{
    static const char *const names[] = { "sum, tensor core", "sum, in order", "sum, exact" };
    struct fp4_rht_params r;
    const struct tensor *x = tensor_find(&e->sides[0].t, "x");
    size_t first = e->row / 16 * 16, i;
    float v[16], out[16];
    int sum;

    rht_params_of(&e->c, &r);
    for (i = 0; i < 16; i++) {
        char key[24];

        v[i] = fp4_load(x->data, x->dtype, (first + i) * e->c.cols + e->col);
        snprintf(key, sizeof key, "x[%zu]", first + i);
        explain_tensor(e, key, "x", (first + i) * e->c.cols + e->col);
        explain_remark(e, "sign %c", r.sign_mask >> i & 1 ? '-' : '+');
    }
    for (sum = 0; sum < 3; sum++) {
        fp4_rht_group(v, r.sign_mask, r.inverse, (enum fp4_rht_sum)sum, out);
        explain_value(e, names[sum], FP4_F32, fp4_f32_bits(out[e->row % 16]), "%s",
                      sum == (int)r.sum ? "the one that the case asks for" : "");
    }
    explain_note(e, "exactness", "%s", class_text(fp4_rht_classify(v, r.sign_mask, r.inverse)));
    explain_tensor(e, "transformed", named(p, "transformed"), p->line * p->packed + p->at);
    explain_remark(e, "%s", r.bf16_round_trip ? "rounded to bf16" : "not rounded to bf16");
}

/* ---- the scale -------------------------------------------------------------------------------------------------------------------------------- */

static void other_scale(struct explain *e, unsigned byte, float v, const char *what)
{
    unsigned other = f32_to_e4m3(v).bits;

    if (other != byte)
        explain_note(e, "other rule", "%s: 0x%02x", what, other);
}

static int explain_scale(struct explain *e, struct place *p, float *element, struct fp4_error *err)
{
    size_t block = p->line * p->blocks + p->at / 16, line = p->row_scaled ? p->line : 0;
    float block_amax = ref_f32(e, named(p, "block-amax"), block), raw;
    unsigned byte;
    uint64_t recorded = 0;
    int o;

    p->globals = chain_globals_of(&p->chain, ref_f32(e, named(p, "amax"), line), 2688.0f);
    explain_tensor(e, "amax", named(p, "amax"), line);
    explain_tensor(e, "global scale", named(p, "global-scale"), line);
    explain_remark(e, "S = 2688 / amax");
    explain_value(e, "S / 6", FP4_F32, fp4_f32_bits(fp4a_canonical(p->globals.mult)), "%s",
                  p->chain.divide_by_six ? "divided by 6" : "S times 1/6 rounded");
    explain_value(e, "1 / S", FP4_F32, fp4_f32_bits(fp4a_canonical(p->globals.dec)), "%s", "");
    explain_tensor(e, "block amax", named(p, "block-amax"), block);
    raw = fp4a_mul(block_amax, p->globals.mult);
    byte = chain_scale_byte(&p->chain, &p->globals, block_amax);
    explain_value(e, "scale, raw", FP4_F32, fp4_f32_bits(fp4a_canonical(raw)), "block amax * (S / 6)");
    explain_value(e, "scale, clamped", FP4_F32,
                  fp4_f32_bits(fp4a_canonical(p->chain.keep_nan ? raw : fp4a_min_drop(raw, fp4a_float(FP4_FLT_MAX)))), "%s",
                  p->chain.keep_nan ? "a NaN stays" : "to the largest float; a NaN is dropped there");
    explain_e4m3(e, raw);
    explain_tensor(e, "block scale", named(p, "block-scale"), block);
    for (o = 0; o < SCALE_ORDERS; o++)
        other_scale(e, byte, scale_orders[o].value(block_amax, p->globals.enc), scale_orders[o].name);
    other_scale(e, byte, fp4a_mul(bf16_to_f32(f32_to_bf16(block_amax)), p->globals.mult), "block amax rounded to bf16 first");
    other_scale(e, byte, bf16_to_f32(f32_to_bf16(raw)), "scale rounded to bf16 first");
    other_scale(e, byte, f16_to_f32(f32_to_f16(raw)), "scale rounded to f16 first");
    *element = chain_element_scale(&p->chain, &p->globals, byte);
    explain_value(e, "multiplier", FP4_F32, fp4_f32_bits(fp4a_canonical(*element)), "%s",
                  p->chain.element == ELEMENT_BF16 ? "bf16(S / scale)" : "1 / (scale * (1 / S)), at most the largest float");
    if (byte == 0 && p->chain.element != ELEMENT_BF16)
        explain_remark(e, "; the scale is 0: without that limit a zero becomes 0 * Inf = NaN (code 7)");
    if (!explain_ref(e, named(p, "block-scale"), block, &recorded) || recorded != byte)
        return fp4_fail(err, FP4_EFORMAT, "explain replays scale %02x where the reference gave %02x", byte, (unsigned)recorded);
    return 0;
}

/* ---- the random word ---------------------------------------------------------------------------------------------------------------------------- */

static enum fp4_stream stream_of(const struct explain *e)
{
    enum fp4_stream s = (enum fp4_stream)e->c.knob[KNOB_STREAM];
    struct fp4_rht_params r;

    if (e->c.op == OP_RHT_QUANTIZE) {
        rht_params_of(&e->c, &r);
        return rht_stream_for(&r, e->transposed);
    }
    if (s != FP4_STREAM_AUTO)
        return s;
    return fp4_stream_te_dispatch(e->c.dtype, e->c.rows, e->c.cols, e->c.knob[KNOB_BLOCK] == 1, e->c.knob[KNOB_OUT] != 1,
                                  e->c.knob[KNOB_OUT] != 0);
}

static struct fp4_stream_place locate(struct explain *e, const struct place *p, enum fp4_stream stream)
{
    struct fp4_stream_shape shape = { e->c.rows, e->c.cols, has_output(e, ""), has_output(e, ".t"),
                                      knob_k_tile(e->c.knob[KNOB_KTILE]) };
    size_t first = p->at / 4 * 4;

    if (e->c.op == OP_RHT_QUANTIZE && stream_is_quantizer(stream)) { /* unfused: a rowwise matrix of its own */
        shape = (struct fp4_stream_shape){ e->transposed ? e->c.cols : e->c.rows, p->packed, true, false, 0 };
        return fp4_stream_locate(stream, &shape, false, p->line, first);
    }
    return e->transposed ? fp4_stream_locate(stream, &shape, true, first, p->line)
                         : fp4_stream_locate(stream, &shape, false, p->line, first);
}

static int explain_word(struct explain *e, const struct place *p, uint32_t *word, struct fp4_error *err)
{
    enum fp4_stream stream = stream_of(e);
    const char *tensor = named(p, stream == FP4_STREAM_RBITS ? "rbits" : "random");
    size_t at = p->line * p->words + p->at / 4;
    uint64_t bits = 0, seed = 0, offset = 0, call, subsequence;
    struct fp4_stream_place place;
    struct fp4_philox state;
    uint32_t four[4];

    if (!explain_ref(e, tensor, at, &bits))
        return fp4_fail(err, FP4_EFORMAT, "the reference gave no random words");
    *word = (uint32_t)bits;
    explain_tensor(e, "random word", tensor, at);
    if (stream == FP4_STREAM_RBITS) {
        explain_remark(e, "an input of the case");
        return 0;
    }
    explain_ref(e, "rng-state", 0, &seed);
    explain_ref(e, "rng-state", 1, &offset);
    place = locate(e, p, stream);
    call = offset + place.call;
    subsequence = place.subsequence + (call < offset);
    explain_remark(e, "word %u of Philox: seed 0x%" PRIx64 ", subsequence 0x%" PRIx64 ", offset 0x%" PRIx64, place.word, seed,
                   subsequence, call);
    fp4_philox_init(&state, seed, subsequence, call, knob_rounds(e->c.knob[KNOB_ROUNDS]));
    fp4_philox_next4(&state, four);
    return four[place.word] == *word ? 0 : fp4_fail(err, FP4_EFORMAT, "explain draws another random word than the reference");
}

/* A scale byte below 8, read as if it were a normal number. */
static void other_decode(struct explain *e, const struct place *p, float v, unsigned byte, unsigned code)
{
    float sf = (float)(8 + byte) * 0x1p-10f;
    unsigned other = f32_to_e2m1(v * (1.0f / (sf * p->globals.dec))).bits;

    if (byte >= 1 && byte < 8 && other != code)
        explain_note(e, "other rule", "scale read as a normal number (%.9g): code %x", (double)sf, other);
}

/* ---- the element ---------------------------------------------------------------------------------------------------------------------------------- */

static void other_elements(struct explain *e, const struct place *p, float v, unsigned byte, unsigned code)
{
    struct fp4_error ignored;
    const int8_t *table = rcp_table_h200(&ignored);
    int how;

    for (how = 0; how < ELEMENT_RULES; how++) {
        float y;
        unsigned other;

        if (how == RCP_APPROX && !table)
            continue;
        y = element_scaled((enum element_rule)how, v, byte, p->globals.amax, p->globals.enc, table);
        other = f32_to_e2m1(y).bits;
        if (y == y && other != code)
            explain_note(e, "other rule", "%s%s: %.9g, code %x", element_rules[how], how == RCP_X_DIVIDED ? "" : " * x", (double)y,
                         other);
    }
}

static int explain_code(struct explain *e, struct place *p, float element, struct fp4_error *err)
{
    size_t at = p->line * p->packed + p->at;
    bool transformed = tensor_find(&e->sides[0].t, named(p, "transformed")) != NULL && e->c.op == OP_RHT_QUANTIZE && e->transposed;
    const struct tensor *x = tensor_find(&e->sides[0].t, "x");
    float v = transformed ? ref_f32(e, named(p, "transformed"), at) : fp4_load(x->data, x->dtype, e->row * e->c.cols + e->col);
    float y = chain_scaled(&p->chain, v, element);
    bool stochastic = e->c.knob[KNOB_ROUND] == 1;
    uint32_t word = 0;
    uint64_t code = 0, scale = 0;

    if (fp4_f32_bits(y) != fp4_f32_bits(ref_f32(e, named(p, "scaled"), at)))
        return fp4_fail(err, FP4_EFORMAT, "explain replays another scaled value than the reference's");
    explain_tensor(e, "scaled", named(p, "scaled"), at);
    explain_remark(e, "what is rounded to E2M1");
    explain_ref(e, named(p, "codes"), at, &code);
    explain_ref(e, named(p, "block-scale"), p->line * p->blocks + p->at / 16, &scale);
    if (v != v && !p->chain.keep_nan && scale != 0x7F)
        explain_note(e, "other rule", "a NaN that stays in the block amax: scale 0x7f and code 7 everywhere in the block");
    if (stochastic) {
        if (explain_word(e, p, &word, err))
            return -1;
        explain_e2m1_stochastic(e, y, word, (unsigned)(p->at % 4));
    } else {
        explain_e2m1_nearest(e, y);
        other_elements(e, p, v, (unsigned)scale, (unsigned)code);
        other_decode(e, p, v, (unsigned)scale, (unsigned)code);
    }
    explain_tensor(e, "code", named(p, "codes"), at);
    explain_remark(e, "byte %zu of the codes, %s nibble", at / 2, at % 2 ? "high" : "low");
    explain_tensor(e, "dequantized", named(p, "dequantized"), at);
    return 0;
}

int explain_quantizer(struct explain *e, struct fp4_error *err)
{
    struct place p = { 0 };
    struct fp4_quantize_params q;
    struct fp4_rht_params r;
    float element = 0;

    if (!e->transposed && !has_output(e, ""))
        e->transposed = true; /* the case has that output alone */
    p.suffix = e->transposed ? ".t" : "";
    if (!has_output(e, p.suffix))
        return fp4_fail(err, FP4_EUSAGE, "the case has no transposed output");
    p.line = e->transposed ? e->col : e->row;
    p.at = e->transposed ? e->row : e->col;
    p.packed = e->transposed ? e->c.rows : e->c.cols;
    p.blocks = (p.packed + 15) / 16;
    p.words = (p.packed + 3) / 4;
    p.row_scaled = e->c.op == OP_QUANTIZE && e->c.knob[KNOB_AMAX] == 1;
    quantize_params_of(&e->c, &q);
    rht_params_of(&e->c, &r);
    if (e->c.op == OP_RHT_QUANTIZE && r.approx_rcp && !(r.rcp_table = rcp_table_h200(err)))
        return -1;
    p.chain = e->c.op == OP_QUANTIZE ? chain_quantize(q.recipe, q.stochastic && q.rs.rule == FP4_RS_FMA_FLOOR) : chain_rht(&r);
    explain_note(e, "place", "%s %zu, block %zu, element %zu of it, nibble %zu of its word", e->transposed ? "column" : "row",
                 p.line, p.at / 16, p.at % 16, p.at % 4);
    if (e->c.op == OP_RHT_QUANTIZE && e->transposed)
        explain_transform(e, &p);
    else
        explain_tensor(e, "input", "x", e->row * e->c.cols + e->col);
    return explain_scale(e, &p, &element, err) || explain_code(e, &p, element, err) ? -1 : 0;
}

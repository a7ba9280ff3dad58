/* SPDX-License-Identifier: Apache-2.0 */
/* The probe over backends that do one thing otherwise: what it says of them, and that it says nothing else. */
#include "backend_rows.h"
#include "check.h"
#include "probe.h"
#include "scale_rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int always(struct fp4_error *err)
{
    (void)err;
    return 0;
}

static void no_words(char *text, size_t size)
{
    snprintf(text, size, "a backend of a test");
}

typedef int run_fn(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);

static struct backend_row backend_of(run_fn *run)
{
    return (struct backend_row){
        .name = "fake", .help = "", .available = always, .supports = backend_ref.supports, .run = run, .describe = no_words
    };
}

static const char *finding(const struct profile *p, const char *group, const char *key)
{
    for (size_t i = 0; i < p->count; i++)
        if (strcmp(p->findings[i].group, group) == 0 && strcmp(p->findings[i].key, key) == 0)
            return p->findings[i].value;
    return "(no such finding)";
}

static struct profile profile_of_ref;

static const struct profile *ref_profile(void)
{
    struct fp4_error err = { 0 };

    if (!profile_of_ref.count)
        cr_assert(probe_backend(&backend_ref, 0, &profile_of_ref, &err) == 0, "%s", err.msg);
    return &profile_of_ref;
}

struct wanted {
    const char *group, *key, *value; /* a * at the end: anything more; group NULL: the end */
};

/* What is listed is so; what is not listed is as for the reference. */
static void expect_findings(run_fn *run, const struct wanted *list)
{
    struct backend_row b = backend_of(run);
    const struct profile *ref = ref_profile();
    struct profile *p = calloc(1, sizeof *p);
    struct fp4_error err = { 0 };

    cr_assert(p && probe_backend(&b, 0, p, &err) == 0, "%s", err.msg);
    for (const struct wanted *w = list; w->group; w++) {
        const char *got = finding(p, w->group, w->key);
        size_t n = strlen(w->value);
        bool same = w->value[n - 1] == '*' ? strncmp(got, w->value, n - 1) == 0 : strcmp(got, w->value) == 0;

        CHECK(same, "%s, %s: '%s'", w->group, w->key, got);
    }
    for (size_t i = 0; i < ref->count; i++) {
        const struct profile_finding *f = &ref->findings[i];
        const struct wanted *w = list;

        while (w->group && (strcmp(w->group, f->group) != 0 || strcmp(w->key, f->key) != 0))
            w++;
        CHECK(w->group || strcmp(finding(p, f->group, f->key), f->value) == 0, "%s, %s: '%s' where nothing was changed", f->group,
              f->key, finding(p, f->group, f->key));
    }
    free(p);
}

Test(probe, findings_are_no_more_than_a_profile_holds)
{
    cr_expect(ref_profile()->count > 40 && ref_profile()->count < PROFILE_FINDINGS_MAX, "%zu findings", ref_profile()->count);
}

/* ---- the nearest conversion --------------------------------------------------------------------------------------------------------------- */

static int run_swapped(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes");
    int status = backend_ref.run(c, t, err);

    for (size_t i = 0; c->op == OP_CVT_RN && i < codes->bytes; i++)
        codes->data[i] = (uint8_t)(codes->data[i] << 4 | codes->data[i] >> 4);
    return status;
}

Test(probe, nibbles_exchanged)
{
    static const struct wanted list[] = { { "cvt-rn", "packing", "nibbles of each byte exchanged" },
                                          { "cvt-rn", "packing x2", "nibbles of each byte exchanged" },
                                          { NULL, NULL, NULL } };

    expect_findings(run_swapped, list);
}

static unsigned away_code(float x)
{
    static const float mid[7] = { 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f };
    unsigned code = 0, sign = signbit(x) ? 8 : 0;

    if (isnan(x))
        return 7 | sign; /* and the sign of a NaN is kept */
    while (code < 7 && fabsf(x) >= mid[code])
        code++;
    return code || sign == 0 ? code | sign : 0; /* and that of zero is lost */
}

static int run_away(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes"), *x = tensor_find(t, "x");
    int status = backend_ref.run(c, t, err);

    for (size_t i = 0; c->op == OP_CVT_RN && i < codes->bytes; i++)
        codes->data[i] =
            (uint8_t)(away_code(fp4_load(x->data, FP4_F32, 2 * i)) | away_code(fp4_load(x->data, FP4_F32, 2 * i + 1)) << 4);
    return status;
}

Test(probe, ties_away_signs_of_nan_and_zero)
{
    static const struct wanted list[] = { { "cvt-rn", "ties", "away from zero" },
                                          { "cvt-rn", "nan", "7fc00000 7, ffc00000 f, 7f800001 7, ffbfffff f" },
                                          { "cvt-rn", "minus zero", "lost (code 0), of tiny negatives too" },
                                          { "cvt-rn", "subnormals", "00000001 negative gives 0*" },
                                          { NULL, NULL, NULL } };

    expect_findings(run_away, list);
}

static int run_by_bf16(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes"), *x = tensor_find(t, "x");
    int status = backend_ref.run(c, t, err);

    for (size_t i = 0; c->op == OP_CVT_RN && i < codes->bytes; i++)
        codes->data[i] = fp4_cvt_rn_e2m1x2(bf16_to_f32(f32_to_bf16(fp4_load(x->data, FP4_F32, 2 * i + 1))),
                                           bf16_to_f32(f32_to_bf16(fp4_load(x->data, FP4_F32, 2 * i))));
    return status;
}

Test(probe, rounded_to_bf16_first)
{
    static const struct wanted list[] = { { "cvt-rn", "rounded first", "to bf16*" }, { NULL, NULL, NULL } };

    expect_findings(run_by_bf16, list);
}

/* ---- the stochastic conversion -------------------------------------------------------------------------------------------------------------- */

/* Any function of value and word in place of the model. */
static int run_rs(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err,
                  unsigned (*code)(float x, uint32_t word, unsigned nibble))
{
    struct tensor *codes = tensor_find(t, "codes"), *x = tensor_find(t, "x"), *words = tensor_find(t, "rbits");
    int status = backend_ref.run(c, t, err);

    if (c->op != OP_CVT_RS)
        return status;
    for (size_t i = 0; i < 2 * codes->bytes; i++) {
        uint32_t word;
        unsigned v;

        memcpy(&word, words->data + i / 4 * 4, 4);
        v = code(fp4_load(x->data, FP4_F32, i), word, (unsigned)(i % 4));
        codes->data[i / 2] = (uint8_t)(i & 1 ? (codes->data[i / 2] & 0x0F) | v << 4 : (codes->data[i / 2] & 0xF0) | v);
    }
    return status;
}

static unsigned code_seven_bits(float x, uint32_t word, unsigned nibble) /* the lowest bit of the byte is not looked at */
{
    return fp4_rs_round(FP4_RS_TRUNC, x, (uint8_t)(word >> 8 * nibble & 0xFEu)).bits;
}

static int run_seven_bits(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return run_rs(c, t, err, code_seven_bits);
}

Test(probe, a_bit_that_is_ignored)
{
    struct backend_row b = backend_of(run_seven_bits);
    struct profile *p = calloc(1, sizeof *p);
    struct fp4_error err = { 0 };

    cr_assert(probe_backend(&b, 0, p, &err) == 0, "%s", err.msg);
    cr_expect_str_eq(finding(p, "cvt-rs", "nibble 1"), "bits - 9 10 11 12 13 14 15 (weight 1 first)");
    cr_expect_str_eq(finding(p, "cvt-rs", "rule"), "trunc");
    cr_expect(p->rs.differ == 0 && p->rs.model >= (int)fp4_rs_model_count);
    free(p);
}

static unsigned code_one_more(float x, uint32_t word, unsigned nibble) /* (r + 1)/256 */
{
    unsigned byte = word >> 8 * nibble & 255u;

    return byte == 255 ? fp4_rs_round(FP4_RS_TRUNC, nextafterf(x, x < 0 ? -7 : 7), 255).bits
                       : fp4_rs_round(FP4_RS_TRUNC, x, (uint8_t)(byte + 1)).bits;
}

static int run_one_more(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return run_rs(c, t, err, code_one_more);
}

static unsigned code_crossed(float x, uint32_t word, unsigned nibble) /* the byte of a lane depends on another lane's */
{
    uint32_t mixed = word ^ (word >> 8 & word);

    return fp4_rs_round(FP4_RS_TRUNC, x, (uint8_t)(mixed >> 8 * nibble)).bits;
}

static int run_crossed(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return run_rs(c, t, err, code_crossed);
}

/* No model is made up for what no model explains. */
Test(probe, rules_and_maps_that_nobody_knows)
{
    run_fn *const runs[] = { run_one_more, run_crossed };

    for (size_t i = 0; i < 2; i++) {
        struct backend_row b = backend_of(runs[i]);
        struct profile *p = calloc(1, sizeof *p);
        struct fp4_error err = { 0 };

        cr_assert(probe_backend(&b, 0, p, &err) == 0, "%s", err.msg);
        cr_expect(p->rs.model == -1, "%zu: model %d", i, p->rs.model);
        cr_expect_str_eq(finding(p, "cvt-rs", "rs-model"), "none");
        cr_expect(strncmp(finding(p, "cvt-rs", i ? "check" : "rule"), i ? "0 of" : "trunc", i ? 4 : 5) != 0, "%s",
                  finding(p, "cvt-rs", i ? "check" : "rule"));
        free(p);
    }
}

/* ---- the generator, the streams ------------------------------------------------------------------------------------------------------------- */

static int run_other_philox(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    int status = backend_ref.run(c, t, err);

    for (size_t r = 0; c->op == OP_PHILOX && c->recipe == CR_TE && r < c->rows; r++) {
        uint64_t v[3];
        struct fp4_philox g;
        static const char *const names[3] = { "seed", "subsequence", "offset" };

        for (size_t i = 0; i < 3; i++)
            memcpy(&v[i], tensor_find(t, names[i])->data + 8 * r, 8);
        fp4_philox_init(&g, (uint32_t)v[0], v[2], v[1], 7); /* seed cut, 7 rounds, offset and subsequence exchanged */
        for (size_t i = 0; i < c->cols; i += 4) {
            uint32_t four[4];

            fp4_philox_next4(&g, four);
            memcpy(tensor_find(t, "words")->data + 4 * (r * c->cols + i), four, sizeof four);
        }
    }
    return status;
}

Test(probe, another_generator)
{
    static const struct wanted list[] = { { "philox", "counter", "{subsequence, offset}" },
                                          { "philox", "rounds", "7" },
                                          { "philox", "seed", "32 bits" },
                                          { NULL, NULL, NULL } };

    expect_findings(run_other_philox, list);
}

/* The random state that a quantizer sees. */
static int run_with_state(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err, uint64_t seed_mask,
                          uint64_t offset_mask)
{
    struct tensor *state = tensor_find(t, "rng-state");
    uint64_t kept[2], v[2];
    int status;

    if (!state)
        return backend_ref.run(c, t, err);
    memcpy(kept, state->data, sizeof kept);
    v[0] = kept[0] & seed_mask;
    v[1] = kept[1] & offset_mask;
    memcpy(state->data, v, sizeof v);
    status = backend_ref.run(c, t, err);
    memcpy(state->data, kept, sizeof kept);
    return status;
}

static int run_cut_seed(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return run_with_state(c, t, err, 0xFFFFFFFFu, UINT64_MAX);
}

static int run_no_offset(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return run_with_state(c, t, err, UINT64_MAX, 0);
}

Test(probe, seeds_and_offsets_of_streams)
{
    static const struct wanted cut[] = {
        { "stream", "quantize row", "tuned, seed cut to 32 bits*" }, { "stream", "quantize both", "tuned, seed cut to 32 bits*" },
        { "stream", "quantize f32", "vector, seed cut to 32 bits" }, { "stream", "quantize 16x16", "2d, seed cut to 32 bits" },
        { "stream", "rht col", "rht-col, seed cut to 32 bits*" },    { "stream", "rht rowcol", "rht-rowcol, seed cut to 32 bits*" },
        { "stream", "rht unfused", "tuned, seed cut to 32 bits*" },  { NULL, NULL, NULL }
    };
    static const struct wanted none[] = {
        { "stream", "quantize row", "tuned, offset ignored or in words; the offset changes nothing*" },
        { "stream", "quantize both", "tuned, offset ignored or in words; the offset changes nothing*" },
        { "stream", "quantize f32", "vector, offset ignored or in words; the offset changes nothing*" },
        { "stream", "quantize 16x16", "2d, offset ignored or in words; the offset changes nothing*" },
        { "stream", "rht col", "rht-col, offset ignored or in words; the offset changes nothing*" },
        { "stream", "rht rowcol", "rht-rowcol, offset ignored or in words; the offset changes nothing*" },
        { "stream", "rht unfused", "tuned, offset ignored or in words; the offset changes nothing*" },
        { NULL, NULL, NULL }
    };

    expect_findings(run_cut_seed, cut);
    expect_findings(run_no_offset, none);
}

/* ---- scales ------------------------------------------------------------------------------------------------------------------------------------ */

/* A quantizer of its own: amax * (S / 6), rounded up, x divided by the scale. */
static int run_other_scales(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    int status = backend_ref.run(c, t, err);
    struct tensor *x = tensor_find(t, "x"), *codes = tensor_find(t, "codes"), *scales = tensor_find(t, "block-scale");
    float amax, s;

    if (status || c->op != OP_QUANTIZE || c->data != &data_made || c->dtype != FP4_F32 || c->rows != 1 || c->cols < 1000)
        return status;
    amax = fp4_load(tensor_find(t, "amax")->data, FP4_F32, 0);
    s = 2688.0f / amax;
    for (size_t b = 0; b < scales->bytes; b++) {
        float max = 0, v, q;
        unsigned byte;

        for (size_t i = 0; i < 16; i++)
            max = fmaxf(max, fabsf(fp4_load(x->data, FP4_F32, 16 * b + i)));
        v = s / 6.0f;
        v = max * v;
        for (byte = 0; byte < 0x7E && e4m3_to_f32((e4m3_t){ (uint8_t)byte }) < v; byte++)
            ;
        scales->data[b] = (uint8_t)byte;
        q = e4m3_to_f32((e4m3_t){ (uint8_t)byte }) * (1.0f / s);
        for (size_t i = 0; i < 16; i += 2)
            codes->data[8 * b + i / 2] =
                fp4_cvt_rn_e2m1x2(fp4_load(x->data, FP4_F32, 16 * b + i + 1) / q, fp4_load(x->data, FP4_F32, 16 * b + i) / q);
    }
    return 0;
}

Test(probe, another_order_and_rounding_of_scales)
{
    static const struct wanted list[] = { { "scale", "order", "amax * (S / 6)" },
                                          { "scale", "rounding", "up" },
                                          { "scale", "elements", "x / (scale * (1/S))" },
                                          { NULL, NULL, NULL } };

    expect_findings(run_other_scales, list);
}

/* Bytes that reports name: 6.2, 6.7 and 1.0 under S = 1 (field report 12); 21.25 and 3.90625 under an amax of 35 (13, 27); the quotient
 * 3CC3FFFF / (7/512) (26). */
Test(scale_rules, known_answers)
{
    static const struct {
        float amax, block;
        int rounding;
        unsigned byte;
    } rows[] = { { 2688, 6.2f, 0, 0x38 }, { 2688, 6.2f, 3, 0x39 }, { 2688, 6.2f, 4, 0x38 }, { 2688, 6.7f, 0, 0x39 },
                 { 2688, 6.7f, 4, 0x38 }, { 2688, 1.0f, 0, 0x23 }, { 2688, 1.0f, 4, 0x22 }, { 2688, 912, 0, 0x72 },
                 { 2688, 912, 2, 0x71 },  { 2688, 816, 0, 0x70 },  { 2688, 816, 1, 0x71 },  { 2688, 2688, 0, 0x7E } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned got = scale_round(scale_orders[0].value(rows[i].block, 2688.0f / rows[i].amax), rows[i].rounding);

        /* 152 and 136 are ties only where the product is exact */
        if (rows[i].block == 912 || rows[i].block == 816)
            got = scale_round(rows[i].block / 6.0f, rows[i].rounding);
        CHECK(got == rows[i].byte, "row %zu: %02x", i, got);
    }
    cr_expect(scale_round(scale_orders[0].value(21.25f, 2688.0f / 35), 0) == 0x79);
    cr_expect(scale_round(scale_orders[1].value(21.25f, 2688.0f / 35), 0) == 0x78);
    cr_expect(scale_round(scale_orders[2].value(21.25f, 2688.0f / 35), 0) == 0x79);
    cr_expect(scale_round(scale_orders[1].value(3.90625f, 2688.0f / 35), 0) == 0x64);
    cr_expect(scale_round(scale_orders[2].value(3.90625f, 2688.0f / 35), 0) == 0x65);
    cr_expect(scale_round(NAN, 0) == 0x7F && scale_round(1000, 3) == 0x7E && scale_round(0, 3) == 0);
    cr_expect(f32_to_e2m1(element_scaled(RCP_IEEE, fp4_f32_from_bits(0x3CC3FFFF), 7, 2688, 1, NULL)).bits == 4);
    cr_expect(f32_to_e2m1(element_scaled(RCP_X_DIVIDED, fp4_f32_from_bits(0x3CC3FFFF), 7, 2688, 1, NULL)).bits == 3);
}

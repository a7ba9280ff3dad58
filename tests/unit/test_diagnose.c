/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator of deviations, and the diagnosis that replays them. */
#include "backend.h"
#include "case_build.h"
#include "check.h"
#include "diff.h"
#include "mutants.h"
#include "replay.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the evaluator ----------------------------------------------------------------------------------------------------------------- */

static void give_outputs(struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_OUTPUT)
            t->t[i].data = calloc(1, t->t[i].bytes + 1);
}

static void check_replay(const struct fp4_case *c)
{
    static const struct dialect right;
    struct case_tensors made = { 0 }, again;
    struct fp4_error err = { 0 };
    char name[CASE_NAME_MAX];

    case_name(c, name);
    cr_assert(case_describe(c, &made, &err) == 0 && case_inputs(c, &made, &err) == 0, "%s: %s", name, err.msg);
    again = made;
    give_outputs(&made);
    give_outputs(&again);
    cr_assert(backend_find("ref")->run(c, &made, &err) == 0, "%s: %s", name, err.msg);
    cr_assert(replay_case(&right, c, &again, &err) == 0, "%s: %s", name, err.msg);
    for (size_t i = 0; i < made.count; i++)
        if (made.t[i].role == TENSOR_OUTPUT) {
            CHECK(memcmp(made.t[i].data, again.t[i].data, made.t[i].bytes) == 0, "%s: the replay's %s differs", name,
                  made.t[i].name);
            free(again.t[i].data);
        }
    case_release(&made);
}

Test(replay, without_a_deviation_it_is_the_reference_on_the_default_suite, .timeout = 600)
{
    const struct selection all = { .suite = "default" };
    struct case_list list = { 0 };
    size_t checked = 0;

    cr_assert(suite_select(&all, &list, NULL) == 0);
    for (size_t i = 0; i < list.count; i++)
        if (list.items[i].rows * list.items[i].cols <= 20000 && !case_is_layer(&list.items[i])) {
            check_replay(&list.items[i]);
            checked++;
        }
    cr_expect(checked * 10 > list.count * 9, "%zu of %zu", checked, list.count);
    case_list_release(&list);
}

static struct dialect with(const char *name)
{
    const struct deviation *row = deviation_find(name);
    struct dialect d = { { 0 } };

    cr_assert(row, "no deviation '%s'", name);
    d.slot[row->slot] = row->value;
    return d;
}

/* Wrong and right codes of one value and one byte in all four places (SR 5.1). */
Test(replay, rounding_faults_give_the_codes_of_their_description)
{
    static const struct {
        const char *name;
        uint32_t x;
        uint8_t byte, wrong, right;
    } rows[] = {
        { "rule-half-old", 0x3fa00000, 0x80, 2, 3 },
        { "rule-half-old", 0x3b000000, 0xff, 0, 1 },
        { "rule-half", 0x3f803000, 0xff, 3, 2 },
        { "rule-half", 0x40bfffff, 0x00, 7, 6 },
        { "random-ignored", 0x3ea00000, 0x42, 1, 0 },
        { "rule-fma-floor", 0x3affffff, 0xff, 1, 0 },
        { "rule-fma-floor", 0x3b7fffff, 0xfe, 1, 0 },
        { "noise-unclamped", 0x40000000, 0x00, 3, 4 },
        { "noise-unclamped", 0x40800000, 0x00, 5, 6 },
        { "noise-of-255", 0x3f800000, 0xff, 3, 2 },
        { "noise-plus-1", 0x3f800000, 0xff, 3, 2 },
        { "noise-plus-half", 0x3f802000, 0xff, 3, 2 },
        { "rounding-signed", 0xbf880000, 0x00, 0xB, 0xA },
        { "rounding-signed", 0xbf880000, 0xff, 0xA, 0xB },
        { "carry-overflows", 0x40e00000, 0x81, 8, 7 },
        { "carry-overflows", 0xc0e00000, 0x81, 0, 0xF },
        { "step-1-above-4", 0x40a00000, 0x81, 6, 7 },
        { "step-1-above-4", 0x40900000, 0xff, 6, 7 },
        { "sign-compared", 0x80000000, 0x00, 0, 8 },
        { "sign-lost-at-zero", 0xb0000000, 0x00, 0, 8 },
        { "nan-zero", 0x7fc00000, 0x00, 0, 7 },
        { "nan-inf-zero", 0x7f800000, 0x00, 0, 7 },
        { "nan-signed", 0xffc00000, 0x00, 0xF, 7 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const struct dialect right;
        struct fp4_case c = case_make(OP_CVT_RS, CR_PTX, FP4_F32, NULL, 1, 4, 0);
        struct dialect d = with(rows[i].name);
        struct replay r = { &d, &c, NULL, 2688.0f, { FP4_RS_TRUNC, FP4_MAP_B300, NULL } }, good = r;
        float x = fp4_f32_from_bits(rows[i].x);
        uint32_t word = rows[i].byte * 0x01010101u;

        good.d = &right;
        if (d.slot[SLOT_RULE] && d.slot[SLOT_RULE] <= FP4_RS_RULE_COUNT)
            r.model.rule = (enum fp4_rs_rule)(d.slot[SLOT_RULE] - 1);
        cr_expect(replay_random(&r, x, x, word, 0) == rows[i].wrong, "%s %08x: %x", rows[i].name, (unsigned)rows[i].x,
                  (unsigned)replay_random(&r, x, x, word, 0));
        cr_expect(replay_random(&good, x, x, word, 0) == rows[i].right, "%08x", (unsigned)rows[i].x);
    }
    struct fp4_case rn = case_make(OP_CVT_RN, CR_PTX, FP4_F32, NULL, 1, 4, 0);
    struct dialect away = with("ties-away"), down = with("ties-to-zero");
    const struct replay a = { &away, &rn, NULL, 2688.0f, { 0 } }, z = { &down, &rn, NULL, 2688.0f, { 0 } };
    cr_expect(replay_nearest(&a, 0.25f, 0.25f) == 1 && replay_nearest(&z, 0.75f, 0.75f) == 1);
}

/* Scale bytes of a tensor amax and a block amax (SR 5.4). */
Test(replay, scale_faults_give_the_bytes_of_their_description)
{
    static const struct {
        const char *name;
        float amax, block;
        uint8_t wrong, right;
    } rows[] = {
        { "scale-ties-down", 2688, 912, 0x71, 0x72 },
        { "scale-ties-away", 2688, 816, 0x71, 0x70 },
        { "scale-inf-nan", 1, __builtin_inff(), 0x7F, 0x7E },
        { "scale-unsaturated", 1, 999, 0x7F, 0x7E },
        { "scale-subnormals-flushed", 2688, 0.006f, 0x00, 0x01 },
        { "mult-divided-by-6", 1.5f, 1.125f, 0x7A, 0x7B },
        { "scale-up", 2688, 6.2f, 0x39, 0x38 },
        { "scale-toward-zero", 2688, 6.7f, 0x38, 0x39 },
        { "scale-toward-zero", 2688, 1.0f, 0x22, 0x23 },
        { "scale-zero-one", 1, 0, 0x7F, 0x00 },
        { "scale-zero-one", 6, 0, 0x7E, 0x00 },
        { "block-over-6", 12, 9, 0x7A, 0x7B },
    };
    struct fp4_case c = case_make(OP_QUANTIZE, CR_TE, FP4_F32, NULL, 1, 16, 0);
    const struct fp4_chain te = chain_quantize(FP4_RECIPE_TE, false);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const struct dialect right;
        struct dialect d = with(rows[i].name);
        const struct replay r = { &d, &c, NULL, 2688.0f, { 0 } }, good = { &right, &c, NULL, 2688.0f, { 0 } };
        struct globals g = replay_globals(&r, &te, rows[i].amax), h = replay_globals(&good, &te, rows[i].amax);
        unsigned wrong = replay_scale_byte(&r, &te, &g, rows[i].block), as_is = replay_scale_byte(&good, &te, &h, rows[i].block);

        cr_expect(wrong == rows[i].wrong && as_is == rows[i].right, "%s: %02x, %02x", rows[i].name, wrong, as_is);
    }
}

Test(replay, generator_faults_give_the_words_of_their_description)
{
    static const struct {
        const char *name;
        uint64_t seed, subsequence, offset;
        uint32_t first;
    } rows[] = {
        { "counter-exchanged", 12345, 1, 0, 0x00b66929 },     { "rounds-7", 12345, 1, 0, 0xf69c45fa },
        { "multipliers-exchanged", 12345, 1, 0, 0xd7639296 }, { "seed-32", (UINT64_C(1) << 32) + 12345, 1, 0, 0x7c2d3f06 },
        { "offset-in-words", 12345, 0, 1, 0x954d7580 },       { "offset-ignored", 12345, 0, 7, 0xd1fa3e81 },
    };
    struct fp4_case c = case_make(OP_PHILOX, CR_TE, FP4_U32, NULL, 1, 4, 0);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dialect d = with(rows[i].name);
        const struct replay r = { &d, &c, NULL, 2688.0f, { 0 } };
        const struct word_at at = { rows[i].seed, rows[i].subsequence, rows[i].offset, 0, 10 };
        uint32_t out[4];

        replay_philox(&r, &at, out);
        cr_expect(out[0] == rows[i].first, "%s: %08x", rows[i].name, (unsigned)out[0]);
    }
}

/* One impulse through the transform: the sum's value, in quarters (RHT 6). */
Test(replay, transform_faults_give_the_sums_of_their_description)
{
    static const struct {
        const char *name;
        unsigned k, n;
        float wrong, right;
    } rows[] = {
        { "signs-left-out", 3, 0, 0.25f, -0.25f },   { "signs-other-side", 0, 3, -0.25f, 0.25f },
        { "signs-other-side", 3, 1, -0.25f, 0.25f }, { "signs-reversed", 0, 5, -0.25f, 0.25f },
        { "factor-left-out", 0, 0, 1.0f, 0.25f },    { "factor-twice", 0, 0, 0.0625f, 0.25f },
    };
    struct fp4_case c = case_make(OP_RHT_QUANTIZE, CR_TE, FP4_BF16, NULL, 16, 2, 0);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const struct dialect right;
        struct dialect d = with(rows[i].name);
        const struct replay r = { &d, &c, NULL, 2688.0f, { 0 } }, good = { &right, &c, NULL, 2688.0f, { 0 } };
        uint16_t x[32] = { 0 };
        float wrong[32], as_is[32];

        x[2 * rows[i].k] = 0x3f80;
        replay_transform(&r, (const uint8_t *)x, 16, 2, wrong);
        replay_transform(&good, (const uint8_t *)x, 16, 2, as_is);
        cr_expect(wrong[rows[i].n] == rows[i].wrong && as_is[rows[i].n] == rows[i].right, "%s: %g, %g", rows[i].name,
                  (double)wrong[rows[i].n], (double)as_is[rows[i].n]);
    }
    /* cut, not rounded: 1 + 1.5 * 2^-7 in quarters lies above the middle of two bf16 numbers */
    struct dialect cut = with("bf16-trip-truncates"), none = with("bf16-trip-missing");
    const struct replay rc = { &cut, &c, NULL, 2688.0f, { 0 } }, rn = { &none, &c, NULL, 2688.0f, { 0 } };
    uint16_t x[32] = { [0] = 0x3f80, [2] = 0x3c40 };
    float v[32], w[32];
    replay_transform(&rc, (const uint8_t *)x, 16, 2, v);
    replay_transform(&rn, (const uint8_t *)x, 16, 2, w);
    cr_expect(v[0] == 0.251953125f && w[0] == 0.2529296875f, "%.10g %.10g", (double)v[0], (double)w[0]);
}

/* ---- the table -------------------------------------------------------------------------------------------------------------------------- */

Test(deviations, names_are_unique_and_values_fit_their_slots)
{
    for (size_t i = 0; i < fp4_deviation_count; i++) {
        const struct deviation *row = &fp4_deviations[i];

        CHECK(deviation_find(row->name) == row, "%s is there twice", row->name);
        CHECK(row->value > 0 && row->slot < SLOT_COUNT && row->ops, "%s", row->name);
        for (size_t k = 0; k < i; k++)
            CHECK(fp4_deviations[k].slot != row->slot || fp4_deviations[k].value != row->value, "%s and %s are one", row->name,
                  fp4_deviations[k].name);
        if (*row->also)
            CHECK(deviation_find(row->also), "%s: no '%s'", row->name, row->also);
        if (row->slot == SLOT_MODEL)
            CHECK(row->value <= fp4_rs_model_count && strcmp(row->name + 6, fp4_rs_models[row->value - 1].name) == 0, "%s",
                  row->name);
    }
    cr_expect(deviation_find("no-such") == NULL);
    for (size_t i = 0; i < mutant_pair_count; i++)
        for (size_t k = 0; k < MUTANT_STACK; k++)
            CHECK(deviation_find(mutant_pairs[i][k]), "pair %zu: %s", i, mutant_pairs[i][k]);
    cr_expect_eq(mutant_pair_count, 40u);
}

static bool letter_is_there(const char *wanted)
{
    for (size_t i = 0; i < fp4_deviation_count; i++) {
        const char *at = fp4_deviations[i].spec;
        size_t n = strlen(wanted);

        for (; (at = strstr(at, wanted)); at += n)
            if (!isdigit((unsigned char)at[n]) && (at == fp4_deviations[i].spec || at[-1] == ' '))
                return true;
    }
    return false;
}

Test(deviations, every_fault_of_the_lists_is_there)
{
    static const struct {
        char letter;
        unsigned count;
    } lists[] = { { 'R', 15 }, { 'O', 7 }, { 'G', 9 }, { 'A', 22 }, { 'S', 5 }, { 'T', 13 } };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (unsigned k = 1; k <= lists[i].count; k++) {
            char wanted[8];

            snprintf(wanted, sizeof wanted, "%c%u", lists[i].letter, k);
            CHECK(letter_is_there(wanted), "no deviation is %s", wanted);
        }
    for (unsigned k = 1; k <= 16; k++) { /* of four-over-six */
        char wanted[8];

        snprintf(wanted, sizeof wanted, "P%u", k);
        CHECK(letter_is_there(wanted), "no deviation is %s", wanted);
    }
}

/* ---- the diagnosis ------------------------------------------------------------------------------------------------------------------------ */

/* What `as` makes of the case's inputs, recorded under the case's name. */
struct recorded {
    struct fp4_case c;
    struct case_tensors t;
    struct dump_case view;
};

static void record(struct recorded *x, const char *name, unsigned model, const struct dialect *d)
{
    struct fp4_error err = { 0 };
    struct fp4_case as;

    memset(x, 0, sizeof *x);
    cr_assert(case_parse(name, &x->c, &err) == 0, "%s", err.msg);
    cr_assert(case_describe(&x->c, &x->t, &err) == 0 && case_inputs(&x->c, &x->t, &err) == 0, "%s", err.msg);
    give_outputs(&x->t);
    as = x->c;
    as.knob[KNOB_RS] = (uint8_t)model;
    if (d)
        cr_assert(replay_case(d, &as, &x->t, &err) == 0, "%s", err.msg);
    else
        cr_assert(backend_find("ref")->run(&as, &x->t, &err) == 0, "%s", err.msg);
    for (size_t i = 0; i < x->t.count; i++)
        x->t.t[i].written = x->t.t[i].role == TENSOR_OUTPUT;
    cr_assert(case_view(name, "b", DUMP_OK, NULL, &x->t, &x->view, &err) == 0, "%s", err.msg);
}

static void forget(struct recorded *x)
{
    case_view_release(&x->view);
    case_release(&x->t);
}

static struct diagnosis diagnose(struct recorded *x, size_t n)
{
    struct diagnoser *g = diagnoser_new();
    struct diagnosis out;
    struct fp4_error err = { 0 };

    for (size_t i = 0; i < n; i++)
        diagnoser_add(g, 'b', &x[i].view, &x[i].view.results[0], true);
    cr_assert(diagnoser_conclude(g, &out, &err) == 0, "%s", err.msg);
    diagnoser_free(g);
    return out;
}

static const char *const rs_cases[] = { "cvt-rs/ptx/b300/f32/probes/64x4/s0", "cvt-rs/ptx/b300/f32/fractions/64x4/s0",
                                        "quantize/te/sr/1x16/f32/fractions/32x64/s0", "rht-quantize/te/sr/bf16/normal/32x17/s0" };
#define RS_CASES (sizeof rs_cases / sizeof rs_cases[0])

Test(diagnosis, the_reference_is_accused_of_nothing)
{
    struct mutant_set *set = mutant_set_open(NULL);

    cr_assert(set);
    for (size_t i = 0; i < mutant_set_count(set); i++) {
        struct recorded x;
        struct fp4_case c;

        cr_assert(case_parse(mutant_set_case(set, i), &c, NULL) == 0);
        record(&x, mutant_set_case(set, i), c.knob[KNOB_RS], NULL);
        struct diagnosis d = diagnose(&x, 1);
        cr_expect(d.count == 0 && d.considered == 0 && d.differing == 1, "%s: %s", mutant_set_case(set, i),
                  d.count && d.findings[0].depth ? d.findings[0].stack[0]->name : "?");
        forget(&x);
    }
    mutant_set_close(set);
}

Test(diagnosis, another_rs_model_is_named_exactly, .timeout = 300)
{
    for (unsigned m = 1; m < fp4_rs_model_count; m++) {
        struct recorded x[RS_CASES];

        for (size_t i = 0; i < RS_CASES; i++)
            record(&x[i], rs_cases[i], m, NULL);
        struct diagnosis d = diagnose(x, RS_CASES);
        const struct diagnosis_finding *f = &d.findings[0];
        CHECK(d.count == 1 && f->whole == f->cases && f->broken == 0 && strcmp(f->model, fp4_rs_models[m].name) == 0,
              "%s: %zu findings, the first is %s, model '%s', explains %zu of %zu", fp4_rs_models[m].name, d.count,
              d.count && f->depth ? f->stack[0]->name : "none", d.count ? f->model : "", f->explained, f->differing);
        for (size_t i = 0; i < RS_CASES; i++)
            forget(&x[i]);
    }
}

Test(diagnosis, digests_are_enough)
{
    struct recorded x;
    struct dialect swapped = with("nibbles-exchanged");

    record(&x, "quantize/te/rn/1x16/bf16/normal/256x64/s0", 0, &swapped);
    for (size_t i = 0; i < x.view.results[0].count; i++) {
        struct dump_tensor *t = &x.view.results[0].t[i];
        size_t blocks = (t->bytes + DUMP_BLOCK_BYTES - 1) / DUMP_BLOCK_BYTES;

        t->blocks = t->bytes > DUMP_BLOCK_BYTES ? calloc(blocks, sizeof *t->blocks) : NULL;
        for (size_t b = 0; t->blocks && b < blocks; b++)
            t->blocks[b] = digest64_bytes(t->data + b * DUMP_BLOCK_BYTES, t->bytes - b * DUMP_BLOCK_BYTES < DUMP_BLOCK_BYTES
                                                                              ? t->bytes - b * DUMP_BLOCK_BYTES
                                                                              : DUMP_BLOCK_BYTES);
        t->data = NULL;
    }
    struct diagnosis d = diagnose(&x, 1);
    cr_assert_eq(d.count, 1u);
    cr_expect(d.findings[0].by_digest && d.findings[0].depth == 1 && d.findings[0].differing == 2 && d.findings[0].explained == 2);
    cr_expect_str_eq(d.findings[0].stack[0]->name, "nibbles-exchanged");
    for (size_t i = 0; i < x.view.results[0].count; i++)
        free(x.view.results[0].t[i].blocks);
    forget(&x);
}

Test(diagnosis, two_faults_are_named_in_the_order_of_the_pipeline)
{
    struct recorded x[2];
    struct dialect d = with("nibbles-exchanged");

    d.slot[SLOT_SCALE_ROUND] = SCALE_UP;
    record(&x[0], "quantize/te/rn/1x16/bf16/normal/16x64/s0", 0, &d);
    record(&x[1], "quantize/te/rn/1x16/bf16/scale-ties/16x64/s0", 0, &d);
    struct diagnosis g = diagnose(x, 2);
    cr_assert(g.count == 1 && g.findings[0].depth == 2);
    cr_expect_str_eq(g.findings[0].stack[0]->name, "scale-up");
    cr_expect_str_eq(g.findings[0].stack[1]->name, "nibbles-exchanged");
    cr_expect(g.findings[0].whole == 2 && g.findings[0].explained == g.findings[0].differing && g.findings[0].place_count > 0);
    cr_expect(g.findings[0].alone[0] < g.findings[0].explained && g.findings[0].alone[1] < g.findings[0].explained);
    forget(&x[0]);
    forget(&x[1]);
}

Test(diagnosis, different_faults_of_two_ops_are_two_findings)
{
    struct recorded x[2];
    struct dialect order = with("nibbles-exchanged"), seed = with("seed-32");

    record(&x[0], "quantize/te/rn/1x16/bf16/normal/16x64/s0", 0, &order);
    record(&x[1], "philox/te/u32/random/16x16/s0", 0, &seed);
    struct diagnosis g = diagnose(x, 2);
    cr_assert_eq(g.count, 2u);
    cr_expect(g.findings[0].depth == 1 && g.findings[1].depth == 1 && g.findings[0].stack[0] != g.findings[1].stack[0]);
    forget(&x[0]);
    forget(&x[1]);
}

Test(diagnosis, noise_has_no_known_cause)
{
    struct recorded x;
    uint32_t state = 1;

    record(&x, "quantize/te/rn/1x16/bf16/normal/32x64/s0", 0, NULL);
    uint8_t *codes = tensor_find(&x.t, "codes")->data;
    for (size_t i = 0; i < tensor_find(&x.t, "codes")->bytes; i++) {
        state = state * 1664525u + 1013904223u;
        codes[i] ^= (uint8_t)(state >> 24);
    }
    struct diagnosis d = diagnose(&x, 1);
    cr_assert_eq(d.count, 1u);
    cr_expect(d.findings[0].depth == 0 && d.findings[0].cases == 1, "%s", d.findings[0].depth ? d.findings[0].stack[0]->name : "");
    forget(&x);
}

Test(diagnosis, what_cannot_be_made_again_is_left_out)
{
    struct recorded x;

    record(&x, "quantize/te/rn/1x16/bf16/normal/16x64/s0", 0, NULL);
    tensor_find(&x.t, "codes")->data[0] ^= 1;
    x.view.inputs[0].digest = digest_bytes("other", 5);
    struct diagnosis d = diagnose(&x, 1);
    cr_expect(d.count == 0 && d.differing == 1 && d.considered == 0 && d.left_out == 1);
    snprintf(x.view.name, sizeof x.view.name, "quantize/te/rn/1x16/bf16/file-0123456789abcdef/16x64/s0");
    d = diagnose(&x, 1);
    cr_expect(d.count == 0 && d.differing == 1 && d.considered == 0 && d.left_out == 1);
    forget(&x);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Selection flips of four-over-six: distances of errors, and what is a flip and what is not. tests/cli/t-four-over-six.sh has the rest. */
#include "backend.h"
#include "diff.h"

#include <criterion/criterion.h>
#include <string.h>

Test(picks, measure_errors_in_units_in_the_last_place)
{
    static const struct {
        uint32_t six, four;
        bool known;
        int64_t ulps;
    } rows[] = {
        { 0x3F800000u, 0x3F800000u, true, 0 },          { 0x3F800000u, 0x3F800001u, true, 1 },
        { 0x3F800000u, 0x3F7FFFFFu, true, -1 },         { 0x00000000u, 0x00000001u, true, 1 },
        { 0x7F800000u, 0x7F800000u, true, 0 },          { 0x7F800000u, 0x7F7FFFFFu, true, -1 },
        { 0x00000000u, 0x7F800000u, true, 0x7F800000 }, { 0x7FFFFFFFu, 0x3F800000u, false, 0 },
        { 0x3F800000u, 0x7FC00000u, false, 0 },         { 0xFFC00000u, 0x3F800000u, false, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t error[2];
        int64_t ulps = -77;

        error[FP4_MAP_TO_6] = rows[i].six;
        error[FP4_MAP_TO_4] = rows[i].four;
        cr_expect_eq(pick_distance(error, &ulps), rows[i].known, "row %zu", i);
        cr_expect_eq(ulps, rows[i].known ? rows[i].ulps : -77, "row %zu", i);
    }
}

/* ---- a run of the reference against a changed copy of it -------------------------------------------------------------------------- */

struct pair {
    struct case_tensors a, b;
    char name[CASE_NAME_MAX];
};

static void *data_of(struct case_tensors *t, const char *name)
{
    struct tensor *x = tensor_find(t, name);

    cr_assert(x && x->data, "%s", name);
    return x->data;
}

static void pair_init(struct pair *p, const char *name)
{
    struct fp4_error err = { FP4_OK, "" };
    struct case_tensors *both[2] = { &p->a, &p->b };
    struct fp4_case c;

    snprintf(p->name, sizeof p->name, "%s", name);
    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    for (size_t i = 0; i < 2; i++) {
        memset(both[i], 0, sizeof *both[i]);
        cr_assert_eq(backend_run_case(backend_find("ref"), &c, both[i], &err), 0, "%s", err.msg);
    }
}

static void pair_diff(struct pair *p, const struct diff_policy *policy, struct case_diff *d)
{
    struct fp4_error err = { FP4_OK, "" };
    struct case_context ctx = { 0 };
    struct dump_case a, b;

    cr_assert_eq(case_view(p->name, "a", DUMP_OK, NULL, &p->a, &a, &err), 0);
    cr_assert_eq(case_view(p->name, "b", DUMP_OK, NULL, &p->b, &b, &err), 0);
    const struct diff_side left = { "a.json:a", "a.json", "a", &a, &a.results[0] };
    const struct diff_side right = { "b.json:b", "b.json", "b", &b, &b.results[0] };
    cr_assert_eq(case_compare(&left, &right, policy, &ctx, d, &err), 0, "%s", err.msg);
    case_context_release(&ctx);
    case_view_release(&a);
    case_view_release(&b);
}

static void pair_release(struct pair *p)
{
    case_release(&p->a);
    case_release(&p->b);
}

/* Stores the other candidate of block `at` in B: outputs alone. */
static void flip(struct pair *p, size_t at)
{
    static const char *const scales[2] = { "scale-6", "scale-4" }, *const codes[2] = { "codes-6", "codes-4" };
    int other = !((uint8_t *)data_of(&p->b, "pick"))[at];

    ((uint8_t *)data_of(&p->b, "block-scale"))[at] = ((uint8_t *)data_of(&p->b, scales[other]))[at];
    memcpy((uint8_t *)data_of(&p->b, "codes") + 8 * at, (uint8_t *)data_of(&p->b, codes[other]) + 8 * at, 8);
}

Test(picks, are_told_one_by_one_and_leave_no_place)
{
    struct pair p;
    struct case_diff d;

    pair_init(&p, "four-over-six/torchao/mse/1x16/bf16/normal/32x64/s0");
    for (size_t at = 3; at < 128; at += 5)
        flip(&p, at);
    pair_diff(&p, &diff_policy_default, &d);
    cr_expect_eq(d.verdict, VERDICT_DIFFERS);
    cr_expect_eq(d.picks.flips, 25);
    cr_expect_eq(d.picks.listed, PICKS_MAX);
    cr_expect_eq(d.picks.blocks, 128);
    cr_expect_eq(d.picks.list[1].row, 2);
    cr_expect_eq(d.picks.list[1].block, 0);
    for (size_t i = 0; i < d.picks.listed; i++) {
        const struct pick_flip *f = &d.picks.list[i];
        int64_t ulps;

        cr_expect(f->own_a && f->own_b && !f->transposed);
        cr_expect_eq(f->pick_a, 1 - f->pick_b);
        cr_expect(pick_distance(f->error_a, &ulps));
        cr_expect_eq(ulps < 0, f->pick_a == FP4_MAP_TO_4, "A is the reference: it took the smaller error");
    }
    for (size_t i = 0; i < d.tensor_count; i++)
        cr_expect(d.tensors[i].differing == 0 && d.tensors[i].place_count == 0 && !d.tensors[i].equal && d.tensors[i].flipped, "%s",
                  d.tensors[i].name);
    cr_expect_eq(strncmp(d.reason, "25 selection flips in 128 blocks", 32), 0, "%s", d.reason);
    case_diff_release(&d);
    pair_release(&p);
}

/* The scale of one candidate with the codes of the other is neither. */
Test(picks, need_scale_and_codes_of_a_candidate)
{
    struct pair p;
    struct case_diff d;

    pair_init(&p, "four-over-six/torchao/mae/1x16/bf16/normal/16x64/s0");
    uint8_t kept = ((uint8_t *)data_of(&p.b, "block-scale"))[9];
    flip(&p, 9);
    ((uint8_t *)data_of(&p.b, "block-scale"))[9] = kept;
    pair_diff(&p, &diff_policy_default, &d);
    cr_expect_eq(d.verdict, VERDICT_DIFFERS);
    cr_expect_eq(d.picks.flips, 0);
    cr_expect_eq(d.tensor_count, 1);
    cr_expect(d.tensors[0].differing > 0 && d.tensors[0].flipped == 0);
    case_diff_release(&d);
    pair_release(&p);
}

/* Where the scales are capped both candidates are the same: nothing can flip, and a wrong byte is a wrong byte. */
Test(picks, are_not_guessed_where_the_candidates_are_the_same)
{
    struct pair p;
    struct case_diff d;

    pair_init(&p, "four-over-six/torchao/mae/1x16/bound-448/bf16/ao-maxes/16x64/s0");
    ((uint8_t *)data_of(&p.b, "block-scale"))[5] ^= 1;
    pair_diff(&p, &diff_policy_default, &d);
    cr_expect_eq(d.verdict, VERDICT_DIFFERS);
    cr_expect_eq(d.picks.flips, 0);
    cr_expect_eq(d.tensors[0].differing, 1);
    case_diff_release(&d);
    pair_release(&p);
}

/* A finite block is no matter of NaN policy, and neither is a scale that is NaN without cause. */
Test(picks, do_not_excuse_a_nan_that_the_input_does_not_explain)
{
    struct diff_policy policy = diff_policy_default;
    struct pair p;
    struct case_diff d;

    policy.nan_equal = true;
    pair_init(&p, "four-over-six/torchao/mae/1x16/bf16/four-special/16x64/s0");
    cr_assert_eq(((uint8_t *)data_of(&p.a, "block-scale"))[2], 0);
    ((uint8_t *)data_of(&p.b, "block-scale"))[2] = 0x7F; /* a block of zeros */
    pair_diff(&p, &policy, &d);
    cr_expect_eq(d.verdict, VERDICT_DIFFERS);
    cr_expect(d.picks.nan_blocks == 0 && d.picks.nan_payloads == 0);
    cr_expect_eq(d.tensors[0].differing, 1);
    case_diff_release(&d);
    pair_release(&p);
}

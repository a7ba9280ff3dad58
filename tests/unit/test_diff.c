/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of two results: verdicts, classes, places, policies, hypotheses, selectors, sums. */
#include "diff_fixture.h"
#include "options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CASE "unknown/op/case"

/* Two equal results of ROWS x COLS: amax, block-scale, scaled (a stage), codes. */
struct pair {
    struct fixture a, b;
    uint8_t *amax[2], *scale[2], *scaled[2], *codes[2];
    size_t rows, cols;
};

static void pair_init(struct pair *p, size_t rows, size_t cols)
{
    struct fixture *f[2] = { &p->a, &p->b };

    memset(p, 0, sizeof *p);
    p->rows = rows;
    p->cols = cols;
    for (int i = 0; i < 2; i++) {
        fixture_init(f[i], CASE, i ? "soft" : "ref");
        p->amax[i] = fixture_tensor(f[i], "amax", TENSOR_OUTPUT, FP4_F32, 1, 0);
        p->scale[i] = fixture_tensor(f[i], "block-scale", TENSOR_OUTPUT, FP4_E4M3, rows, (cols + 15) / 16);
        p->scaled[i] = fixture_tensor(f[i], "scaled", TENSOR_STAGE, FP4_F32, rows, cols);
        p->codes[i] = fixture_tensor(f[i], "codes", TENSOR_OUTPUT, FP4_E2M1, rows, cols);
        for (size_t k = 0; k < rows * ((cols + 15) / 16); k++)
            p->scale[i][k] = (uint8_t)(0x30 + k % 32);
        for (size_t k = 0; k < rows * cols; k++)
            set_code(p->codes[i], k, (unsigned)(k * 7 + k / 16) % 16);
    }
}

static void pair_release(struct pair *p)
{
    fixture_release(&p->a);
    fixture_release(&p->b);
}

static struct case_diff compare(struct pair *p, const struct diff_policy *policy, bool bytes_a, bool bytes_b)
{
    struct case_diff d;
    struct fp4_error err = { 0 };

    fixture_seal(&p->a, bytes_a);
    fixture_seal(&p->b, bytes_b);
    const struct diff_side a = fixture_side(&p->a, "a.json:ref"), b = fixture_side(&p->b, "b.json:soft");
    cr_assert(case_compare(&a, &b, policy, NULL, &d, &err) == 0, "%s", err.msg);
    return d;
}

static enum verdict verdict_of(struct pair *p, const struct diff_policy *policy)
{
    struct case_diff d = compare(p, policy, true, true);

    case_diff_release(&d);
    return d.verdict;
}

static struct diff_policy tolerant(const char *share)
{
    struct diff_policy p = diff_policy_default;

    cr_assert(tolerance_parse(share, &p.tolerance, NULL) == 0);
    return p;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------------------- */

Test(case_compare, equal_bytes_are_equal_with_and_without_bytes_in_the_dumps)
{
    struct pair p;

    pair_init(&p, 16, 64);
    for (unsigned keep = 0; keep < 4; keep++) {
        struct case_diff d = compare(&p, &diff_policy_default, keep & 1, keep & 2);

        cr_expect(d.verdict == VERDICT_EQUAL && d.tensor_count == 0 && d.compared == 4 && !d.reason[0], "%u: %s", keep, d.reason);
        case_diff_release(&d);
    }
    pair_release(&p);
}

Test(case_compare, the_first_differing_stage_is_the_first_tensor_listed)
{
    struct pair p;

    pair_init(&p, 16, 64);
    p.codes[1][3] ^= 1;
    p.scaled[1][100] ^= 1;
    struct case_diff d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_DIFFERS && d.tensor_count == 2);
    cr_expect_str_eq(d.tensors[0].name, "scaled");
    cr_expect_str_eq(d.tensors[1].name, "codes");
    cr_expect(strstr(d.reason, "scaled: 1 of 1024 differ"), "%s", d.reason);
    cr_expect(strstr(d.repro, "--case '" CASE "' --backend soft") && strstr(d.repro, "--stages"), "%s", d.repro);
    case_diff_release(&d);
    pair_release(&p);
}

Test(case_compare, other_inputs_are_not_comparable_and_the_input_is_named)
{
    struct pair p;
    struct case_diff d;

    pair_init(&p, 16, 16);
    p.b.inputs[0].digest = digest_bytes("other", 5);
    d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_NOT_COMPARABLE && strstr(d.reason, "'x' has other bytes"), "%s", d.reason);
    p.b.inputs[0].digest = p.a.inputs[0].digest;
    p.b.inputs[0].dtype = FP4_BF16;
    d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_NOT_COMPARABLE && strstr(d.reason, "type or shape"), "%s", d.reason);
    p.b.inputs[0] = p.a.inputs[0];
    p.b.inputs[1] = p.a.inputs[0];
    strcpy(p.b.inputs[1].name, "rbits");
    p.b.c.input_count = 2;
    d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_NOT_COMPARABLE && strstr(d.reason, "'rbits' is only in B"), "%s", d.reason);
    pair_release(&p);
}

Test(case_compare, error_outweighs_skipped_and_both_come_before_any_comparison)
{
    static char why_a[] = "no device", why_b[] = "illegal instruction";
    static const struct {
        enum dump_status a, b;
        enum verdict verdict;
        const char *says;
    } rows[] = {
        { DUMP_SKIPPED, DUMP_OK, VERDICT_SKIPPED, "a.json:ref: no device" },
        { DUMP_OK, DUMP_SKIPPED, VERDICT_SKIPPED, "b.json:soft: illegal instruction" },
        { DUMP_SKIPPED, DUMP_ERROR, VERDICT_ERROR, "b.json:soft: illegal instruction" },
        { DUMP_ERROR, DUMP_OK, VERDICT_ERROR, "a.json:ref: no device" },
    };
    struct pair p;

    pair_init(&p, 16, 16);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        p.a.c.results[0].status = rows[i].a;
        p.b.c.results[0].status = rows[i].b;
        p.a.c.results[0].reason = why_a;
        p.b.c.results[0].reason = why_b;
        struct case_diff d = compare(&p, &diff_policy_default, true, true);
        cr_expect(d.verdict == rows[i].verdict && strcmp(d.reason, rows[i].says) == 0, "%zu: %s", i, d.reason);
        case_diff_release(&d);
    }
    pair_release(&p);
}

Test(case_compare, an_output_on_one_side_only_differs_but_a_stage_does_not)
{
    struct pair p;
    struct case_diff d;

    pair_init(&p, 16, 16);
    fixture_tensor(&p.b, "dequantized", TENSOR_STAGE, FP4_F32, 16, 16);
    d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_EQUAL, "%s", d.reason);
    case_diff_release(&d);
    fixture_tensor(&p.b, "codes.t", TENSOR_OUTPUT, FP4_E2M1, 16, 16);
    d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_DIFFERS && strstr(d.reason, "codes.t: only in B"), "%s", d.reason);
    case_diff_release(&d);
    pair_release(&p);
}

Test(case_compare, two_results_without_a_common_output_are_no_pass)
{
    struct pair p;

    pair_init(&p, 16, 16);
    p.a.c.results[0].count = p.b.c.results[0].count = 0;
    cr_expect(verdict_of(&p, &diff_policy_default) == VERDICT_DIFFERS);
    pair_release(&p);
}

Test(case_compare, another_shape_differs)
{
    struct pair p;

    pair_init(&p, 16, 16);
    p.b.outputs[3].dims[0] = 8;
    p.b.outputs[3].dims[1] = 32;
    struct case_diff d = compare(&p, &diff_policy_default, true, true);
    cr_expect(d.verdict == VERDICT_DIFFERS && d.tensors[0].shape_differs, "%s", d.reason);
    case_diff_release(&d);
    pair_release(&p);
}

Test(case_compare, digests_alone_name_the_blocks_of_4_kib)
{
    struct pair p;

    pair_init(&p, 128, 256); /* codes: 16384 bytes, four blocks */
    p.codes[1][4096] ^= 1;
    p.codes[1][16383] ^= 1;
    struct case_diff d = compare(&p, &diff_policy_default, true, false);
    cr_expect(d.verdict == VERDICT_DIFFERS && d.tensor_count == 1);
    const struct tensor_diff *t = &d.tensors[0];
    cr_expect(!t->located && strcmp(t->no_bytes, "b") == 0);
    cr_expect(t->blocks == 4 && t->blocks_differing == 2 && t->block_list[0] == 1 && t->block_list[1] == 3);
    case_diff_release(&d);
    pair_release(&p);
}

/* ---- tolerance --------------------------------------------------------------------------------------------------------------- */

/* Moves n codes of B by one step (code 5 becomes 4). */
static void move_codes(struct pair *p, size_t n, unsigned from, unsigned to)
{
    for (size_t i = 0; i < p->rows * p->cols && n; i++)
        if (tensor_element(p->codes[1], FP4_E2M1, i) == from && n--)
            set_code(p->codes[1], i, to);
}

Test(tolerance, counts_are_judged_on_both_sides_of_the_limit)
{
    static const struct {
        size_t rows, cols, moved;
        enum verdict verdict;
    } rows[] = {
        { 1, 1000, 0, VERDICT_EQUAL },  { 1, 1000, 1, VERDICT_DIFFERS }, { 7, 143, 1, VERDICT_WITHIN }, /* 1001 codes */
        { 1, 998, 1, VERDICT_DIFFERS }, { 64, 64, 4, VERDICT_WITHIN },   { 64, 64, 5, VERDICT_DIFFERS },
        { 40, 50, 1, VERDICT_WITHIN },  { 40, 50, 2, VERDICT_DIFFERS },
    };
    const struct diff_policy policy = tolerant("0.1%");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pair p;

        pair_init(&p, rows[i].rows, rows[i].cols);
        move_codes(&p, rows[i].moved, 5, 4);
        enum verdict v = verdict_of(&p, &policy);
        cr_expect(v == rows[i].verdict, "%zu of %zu: %s", rows[i].moved, rows[i].rows * rows[i].cols, verdict_name(v));
        pair_release(&p);
    }
}

Test(tolerance, one_code_may_move_by_one_step_and_no_further)
{
    static const struct {
        unsigned from, to;
        enum verdict verdict;
    } rows[] = {
        { 5, 6, VERDICT_WITHIN },  { 5, 4, VERDICT_WITHIN },  { 5, 7, VERDICT_DIFFERS },  { 5, 3, VERDICT_DIFFERS },
        { 0, 8, VERDICT_WITHIN },  { 8, 0, VERDICT_WITHIN },  { 8, 1, VERDICT_WITHIN },   { 0, 9, VERDICT_WITHIN },
        { 1, 9, VERDICT_DIFFERS }, { 9, 1, VERDICT_DIFFERS }, { 7, 15, VERDICT_DIFFERS }, { 15, 14, VERDICT_WITHIN },
    };
    const struct diff_policy policy = tolerant("0.1%");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pair p;

        pair_init(&p, 64, 64);
        move_codes(&p, 1, rows[i].from, rows[i].to);
        enum verdict v = verdict_of(&p, &policy);
        cr_expect(v == rows[i].verdict, "%u to %u: %s", rows[i].from, rows[i].to, verdict_name(v));
        pair_release(&p);
    }
}

Test(tolerance, scales_and_amax_must_be_equal_but_stages_are_not_judged)
{
    const struct diff_policy policy = tolerant("50%");
    struct pair p;
    struct case_diff d;

    pair_init(&p, 64, 64);
    p.scaled[1][0] ^= 1;
    d = compare(&p, &policy, true, true);
    cr_expect(d.verdict == VERDICT_WITHIN && strstr(d.reason, "scaled") && d.tensor_count == 1, "%s", d.reason);
    case_diff_release(&d);
    p.scale[1][17] ^= 1;
    d = compare(&p, &policy, true, true);
    cr_expect(d.verdict == VERDICT_DIFFERS && strstr(d.reason, "block-scale: 1 of 256 differ"), "%s", d.reason);
    case_diff_release(&d);
    p.scale[1][17] ^= 1;
    p.amax[1][0] ^= 1;
    cr_expect(verdict_of(&p, &policy) == VERDICT_DIFFERS);
    pair_release(&p);
}

Test(tolerance, without_bytes_nothing_is_within_and_the_reason_says_how_to_get_them)
{
    const struct diff_policy policy = tolerant("50%");
    struct pair p;

    pair_init(&p, 64, 64);
    move_codes(&p, 1, 5, 6);
    struct case_diff d = compare(&p, &policy, true, false);
    cr_expect(d.verdict == VERDICT_DIFFERS && strstr(d.reason, "bytes of B are missing") && strstr(d.reason, "--bytes all"), "%s",
              d.reason);
    case_diff_release(&d);
    pair_release(&p);
}

/* ---- classes, places, policies ----------------------------------------------------------------------------------------------- */

static struct tensor_diff scan(enum fp4_dtype dtype, const void *a, const void *b, size_t rows, size_t cols,
                               const struct diff_policy *policy)
{
    struct tensor_diff d = { .name = "codes", .dtype = dtype, .ndim = 2, .dims = { rows, cols }, .elements = rows * cols };

    tensor_scan(a, b, policy, &d);
    return d;
}

Test(tensor_scan, every_element_falls_into_one_class)
{
    static const struct {
        enum fp4_dtype dtype;
        uint32_t a, b;
        struct diff_classes want;
    } rows[] = {
        { FP4_F32, 0x3f800000, 0x3f800001, { .one_step = 1 } },
        { FP4_F32, 0x00000001, 0x80000000, { .one_step = 1 } },
        { FP4_F32, 0x00000001, 0x80000001, { .more_steps = 1 } },
        { FP4_F32, 0x00000000, 0x80000000, { .zero_sign = 1 } },
        { FP4_F32, 0x7fc00000, 0xffc00001, { .nan_only = 1 } },
        { FP4_F32, 0x7f800001, 0x7f800000, { .nan_number = 1 } },
        { FP4_F32, 0x7f800000, 0x7f7fffff, { .one_step = 1 } },
        { FP4_BF16, 0x7f81, 0xff81, { .nan_only = 1 } },
        { FP4_BF16, 0x3f80, 0x3f82, { .more_steps = 1 } },
        { FP4_F16, 0x7c01, 0x3c00, { .nan_number = 1 } },
        { FP4_E4M3, 0x38, 0x39, { .one_step = 1 } },
        { FP4_E4M3, 0x38, 0x36, { .more_steps = 1 } },
        { FP4_E4M3, 0x00, 0x80, { .zero_sign = 1 } },
        { FP4_E4M3, 0x7f, 0xff, { .nan_only = 1 } },
        { FP4_E4M3, 0x7f, 0x7e, { .nan_number = 1 } },
        { FP4_U32, 7, 8, { .other = 1 } },
        { FP4_U8, 7, 8, { .other = 1 } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct tensor_diff d = scan(rows[i].dtype, &rows[i].a, &rows[i].b, 1, 1, &diff_policy_default);

        cr_expect(d.differing == 1 && !d.equal, "row %zu", i);
        cr_expect(memcmp(&d.classes, &rows[i].want, sizeof d.classes) == 0, "row %zu", i);
    }
}

Test(tensor_scan, all_256_pairs_of_codes_are_classified_by_distance)
{
    for (unsigned a = 0; a < 16; a++)
        for (unsigned b = 0; b < 16; b++) {
            const uint8_t x = (uint8_t)a, y = (uint8_t)b;
            const struct tensor_diff d = scan(FP4_E2M1, &x, &y, 1, 2, &diff_policy_default);
            size_t steps = code_distance(a, b);

            cr_expect(d.differing == (a != b) && d.equal == (a == b), "%u %u", a, b);
            cr_expect(d.classes.zero_sign == (a != b && steps == 0) && d.classes.one_step == (steps == 1) &&
                          d.classes.more_steps == (steps > 1),
                      "%u %u", a, b);
        }
}

Test(tensor_scan, places_hold_row_column_block_and_nibble)
{
    enum { ROWS = 40, COLS = 96 };
    uint8_t a[ROWS * COLS / 2] = { 0 }, b[ROWS * COLS / 2] = { 0 };

    for (size_t i = 0; i < ROWS * COLS; i++) { /* one difference at a time: every place is found, and found right */
        set_code(b, i, 3);
        const struct tensor_diff d = scan(FP4_E2M1, a, b, ROWS, COLS, &diff_policy_default);
        const struct diff_place *p = &d.places[0];

        cr_assert(d.differing == 1 && d.place_count == 1, "element %zu", i);
        cr_assert(p->row == i / COLS && p->col == i % COLS && p->block == p->col / 16 && p->nibble == p->col % 4, "element %zu", i);
        cr_assert(p->a == 0 && p->b == 3, "element %zu", i);
        set_code(b, i, 0);
    }
}

Test(tensor_scan, places_are_limited_and_counts_are_not)
{
    uint8_t a[4096] = { 0 }, b[4096];
    struct diff_policy policy = diff_policy_default;

    memset(b, 0x11, sizeof b);
    for (size_t limit = 0; limit <= 100; limit += 10) {
        policy.max_places = limit;
        const struct tensor_diff d = scan(FP4_E2M1, a, b, 64, 128, &policy);

        cr_expect(d.place_count == (limit < PLACES_MAX ? limit : PLACES_MAX) && d.differing == 8192, "%zu", limit);
    }
}

Test(tensor_scan, the_unused_nibble_of_an_odd_count_is_compared_too)
{
    const uint8_t a[2] = { 0x21, 0x03 }, b[2] = { 0x21, 0xf3 };
    const struct tensor_diff d = scan(FP4_E2M1, a, b, 1, 3, &diff_policy_default);

    cr_expect(d.differing == 0 && d.padding_differs && !d.equal);
}

Test(policy, signed_zero_and_nan_are_equal_only_when_asked_and_are_counted)
{
    struct diff_policy zero = diff_policy_default, nan = diff_policy_default;
    struct pair p;
    struct case_diff d;

    zero.signed_zero_equal = true;
    nan.nan_equal = true;
    pair_init(&p, 64, 64);
    move_codes(&p, 3, 0, 8);
    cr_expect(verdict_of(&p, &diff_policy_default) == VERDICT_DIFFERS);
    cr_expect(verdict_of(&p, &nan) == VERDICT_DIFFERS);
    d = compare(&p, &zero, true, true);
    cr_expect(d.verdict == VERDICT_EQUAL && d.tensor_count == 1 && d.tensors[0].policy_zero == 3 && d.tensors[0].differing == 0,
              "%s", d.reason);
    case_diff_release(&d);
    p.scale[0][9] = 0x7f;
    p.scale[1][9] = 0xff;
    cr_expect(verdict_of(&p, &zero) == VERDICT_DIFFERS);
    nan.signed_zero_equal = true;
    d = compare(&p, &nan, true, true);
    cr_expect(d.verdict == VERDICT_EQUAL && d.tensor_count == 2 && d.tensors[0].policy_nan == 1, "%s", d.reason);
    case_diff_release(&d);
    p.scale[1][9] = 0x7e; /* NaN against a number is always a difference */
    cr_expect(verdict_of(&p, &nan) == VERDICT_DIFFERS);
    pair_release(&p);
}

Test(policy, cannot_be_applied_to_digests)
{
    struct diff_policy zero = diff_policy_default;
    struct pair p;

    zero.signed_zero_equal = true;
    pair_init(&p, 64, 64);
    move_codes(&p, 3, 0, 8);
    struct case_diff d = compare(&p, &zero, false, false);
    cr_expect(d.verdict == VERDICT_DIFFERS && strstr(d.reason, "policy cannot be applied"), "%s", d.reason);
    case_diff_release(&d);
    pair_release(&p);
}

Test(policy, elements_equal_by_policy_do_not_count_against_the_tolerance)
{
    struct diff_policy policy = tolerant("0.1%");
    struct pair p;

    pair_init(&p, 64, 64);
    move_codes(&p, 100, 0, 8);
    move_codes(&p, 4, 5, 6);
    cr_expect(verdict_of(&p, &policy) == VERDICT_DIFFERS);
    policy.signed_zero_equal = true;
    cr_expect(verdict_of(&p, &policy) == VERDICT_WITHIN);
    pair_release(&p);
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------------------- */

enum change { EXCHANGE, REVERSE4, BYTES, ZERO_B, ZERO_SIGN, WIDE, TRANSPOSE, SWIZZLE, UNSWIZZLE, SHUFFLE, LOWER, HIGHER, CHANGES };

static const struct hypothesis_row {
    enum fp4_dtype dtype;
    const char *says;
} hypothesis_rows[CHANGES] = {
    [EXCHANGE] = { FP4_E2M1, "exchanging the two nibbles" },
    [REVERSE4] = { FP4_E2M1, "reversing every four" },
    [BYTES] = { FP4_E2M1, "exchanging the two bytes" },
    [ZERO_B] = { FP4_E2M1, "all codes of B are zero" },
    [ZERO_SIGN] = { FP4_E2M1, "sign of zero" },
    [WIDE] = { FP4_E2M1, "B holds one code a byte" },
    [TRANSPOSE] = { FP4_E2M1, "transposed" },
    [SWIZZLE] = { FP4_E4M3, "B is A in the swizzled" },
    [UNSWIZZLE] = { FP4_E4M3, "A is B in the swizzled" },
    [SHUFFLE] = { FP4_E4M3, "in other places" },
    [LOWER] = { FP4_E4M3, "one code below" },
    [HIGHER] = { FP4_E4M3, "one code above" },
};

#define N 128 /* rows and columns; scales: 128 x 128 bytes, codes: half of that */

static void make_change(enum change change, const uint8_t *a, uint8_t *b, size_t bytes)
{
    memcpy(b, a, bytes);
    for (size_t i = 0; i < bytes; i++)
        switch (change) {
        case EXCHANGE:
            b[i] = (uint8_t)(a[i] << 4 | a[i] >> 4);
            break;
        case REVERSE4:
            b[i] = (uint8_t)(a[i ^ 1] << 4 | a[i ^ 1] >> 4);
            break;
        case BYTES:
            b[i] = a[i ^ 1];
            break;
        case ZERO_B:
            b[i] = 0;
            break;
        case ZERO_SIGN:
            b[i] = (uint8_t)(a[i] & 7 ? a[i] : a[i] ^ 8);
            break;
        case WIDE:
            b[i] = (uint8_t)tensor_element(a, FP4_E2M1, i);
            break;
        case TRANSPOSE:
            set_code(b, 2 * i, (unsigned)tensor_element(a, FP4_E2M1, 2 * i % N * N + 2 * i / N));
            set_code(b, 2 * i + 1, (unsigned)tensor_element(a, FP4_E2M1, (2 * i + 1) % N * N + (2 * i + 1) / N));
            break;
        case SHUFFLE:
            b[i] = a[(i + 12345) % bytes];
            break;
        case LOWER:
            b[i] = (uint8_t)(a[i] - (i % 100 == 0));
            break;
        case HIGHER:
            b[i] = (uint8_t)(a[i] + (i % 100 == 0));
            break;
        default:
            break;
        }
    if (change == SWIZZLE)
        fp4_swizzle(N, N, a, b);
    if (change == UNSWIZZLE)
        fp4_unswizzle(N, N, a, b);
}

Test(hypotheses, each_names_its_fault_and_one_more_difference_silences_it)
{
    static uint8_t a[N * N], b[N * N];
    uint32_t state = 1;

    for (size_t i = 0; i < sizeof a; i++) {
        state = state * 1664525u + 1013904223u;
        a[i] = (uint8_t)(1 + (state >> 24) % 0x70);
    }
    for (int c = 0; c < CHANGES; c++) {
        enum fp4_dtype dtype = hypothesis_rows[c].dtype;
        size_t bytes = fp4_dtype_bytes(dtype, N * N);

        make_change((enum change)c, a, b, bytes);
        struct tensor_diff d = scan(dtype, a, b, N, N, &diff_policy_default);
        const char *says = hypothesis_find(&d, a, b, bytes);
        cr_expect(d.differing > 0 && says && strstr(says, hypothesis_rows[c].says), "change %d: %s", c, says ? says : "nothing");
        b[777] = (uint8_t)(a[777] ^ 0x25); /* now the fault does not explain everything */
        d = scan(dtype, a, b, N, N, &diff_policy_default);
        says = hypothesis_find(&d, a, b, bytes);
        cr_expect(!says, "change %d and one more: %s", c, says ? says : "");
    }
}

Test(hypotheses, say_nothing_about_noise)
{
    static uint8_t a[N * N / 2], b[N * N / 2];

    for (size_t i = 0; i < sizeof a; i++)
        a[i] = b[i] = (uint8_t)(i * 37 + i / 64);
    for (size_t i = 5; i < sizeof a; i += 1000)
        b[i] ^= 1;
    const struct tensor_diff d = scan(FP4_E2M1, a, b, N, N, &diff_policy_default);
    cr_expect(d.differing > 0 && !hypothesis_find(&d, a, b, sizeof a));
}

/* ---- selectors and pairs ----------------------------------------------------------------------------------------------------- */

Test(selector, the_backend_is_split_off_only_when_the_whole_is_no_file)
{
    static const struct {
        const char *text, *path, *backend;
    } rows[] = {
        { "a.json", "a.json", "" },
        { "a.json:ref", "a.json", "ref" },
        { "dir:x/a.json", "dir:x/a.json", "" },
        { "dir:x/a.json:sm100@ptx", "dir:x/a.json", "sm100@ptx" },
        { "a.json:plugin:./my.so", "a.json", "plugin:./my.so" },
        { "a.json:", "a.json:", "" },
        { ":ref", ":ref", "" },
        { "a.json:not a backend", "a.json:not a backend", "" },
        { "a.json:-x", "a.json:-x", "" },
        { "a.json:a-name-that-is-too-long-for-a-backend", "a.json:a-name-that-is-too-long-for-a-backend", "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct diff_selector s;

        cr_assert(diff_selector_parse(rows[i].text, &s, NULL) == 0, "%s", rows[i].text);
        cr_expect(strcmp(s.path, rows[i].path) == 0 && strcmp(s.backend, rows[i].backend) == 0, "%s: '%s' and '%s'", rows[i].text,
                  s.path, s.backend);
        diff_selector_release(&s);
    }
}

Test(selector, a_file_with_a_colon_in_its_name_is_taken_whole)
{
    char name[] = "/tmp/fp4check-XXXXXX:ref";
    struct diff_selector s;
    int fd = mkstemps(name, 4);

    cr_assert(fd >= 0);
    close(fd);
    cr_assert(diff_selector_parse(name, &s, NULL) == 0);
    cr_expect(strcmp(s.path, name) == 0 && !s.backend[0]);
    diff_selector_release(&s);
    unlink(name);
    struct fp4_error err = { 0 };
    cr_expect(diff_selector_parse("", &s, &err) < 0);
}

Test(pairs, backends_are_paired_by_selection_then_alone_then_by_name)
{
    const struct diff_names ref = { "r.json", { "ref" }, 1 }, soft = { "s.json", { "soft" }, 1 };
    const struct diff_names two = { "t.json", { "ref", "soft" }, 2 }, gpu = { "g.json", { "sm100", "soft", "ref" }, 3 };
    const struct diff_names other = { "o.json", { "te", "cpu" }, 2 }, none = { "n.json", { NULL }, 0 };
    static const char *const no = "";
    const struct {
        const struct diff_names *a;
        const char *select_a;
        const struct diff_names *b;
        const char *select_b;
        const char *want; /* "a=b a=b", or NULL: refused */
    } rows[] = {
        { &ref, no, &soft, no, "ref=soft" },
        { &two, no, &gpu, no, "ref=ref soft=soft" },
        { &two, "ref", &two, "soft", "ref=soft" },
        { &two, "ref", &soft, no, "ref=soft" },
        { &soft, no, &gpu, "sm100", "soft=sm100" },
        { &two, "soft", &gpu, no, "soft=soft" },
        { &gpu, "sm100", &two, no, NULL },
        { &two, no, &other, no, NULL },
        { &ref, no, &other, no, NULL },
        { &ref, "soft", &soft, no, NULL },
        { &ref, no, &soft, "ref", NULL },
        { &ref, no, &none, no, NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct diff_pair pairs[DUMP_RESULTS_MAX];
        struct fp4_error err = { 0 };
        size_t count = 0;
        char got[200] = "";
        int status = diff_pair_up(rows[i].a, rows[i].select_a, rows[i].b, rows[i].select_b, pairs, &count, &err);

        for (size_t k = 0; k < count; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s=%s", k ? " " : "", pairs[k].a, pairs[k].b);
        if (rows[i].want)
            cr_expect(status == 0 && strcmp(got, rows[i].want) == 0, "row %zu: '%s' %s", i, got, err.msg);
        else
            cr_expect(status < 0 && err.code == FP4_EUSAGE && strstr(err.msg, ".json' holds "), "row %zu: '%s' %s", i, got,
                      err.msg);
    }
}

/* ---- a series ---------------------------------------------------------------------------------------------------------------- */

struct seen {
    size_t items, detailed;
    struct diff_summary summary;
};

static int see_begin(void *arg, const struct diff_heading *h, struct fp4_error *err)
{
    (void)arg, (void)h, (void)err;
    return 0;
}

static int see_item(void *arg, const struct case_diff *d, struct fp4_error *err)
{
    struct seen *s = arg;

    (void)err;
    s->items++;
    s->detailed += d->detailed;
    return 0;
}

static int see_end(void *arg, const struct diff_summary *summary, struct fp4_error *err)
{
    (void)err;
    ((struct seen *)arg)->summary = *summary;
    return 0;
}

/* A series of cases, one letter each: = equal, ! differs, s skipped, e error, n not comparable, a / b only there. */
static struct seen series(const char *letters, const struct diff_policy *policy)
{
    struct seen seen = { 0 };
    const struct diff_sink sink = { see_begin, see_item, see_end, &seen };
    const struct diff_heading heading = { .a = { .label = "a.json:ref", .path = "a.json", .backend = "ref" },
                                          .b = { .label = "b.json:soft", .path = "b.json", .backend = "soft" } };
    struct diff_run run;

    cr_assert(diff_run_begin(&run, &heading, policy, &sink, NULL) == 0);
    for (const char *c = letters; *c; c++) {
        struct pair p;

        pair_init(&p, 16, 16);
        snprintf(p.a.c.name, sizeof p.a.c.name, "op%d/x/case%zu", (int)(c - letters) % 30, (size_t)(c - letters));
        if (*c == '!')
            p.codes[1][0] ^= 1;
        if (*c == 's' || *c == 'e')
            p.b.c.results[0].status = *c == 's' ? DUMP_SKIPPED : DUMP_ERROR;
        if (*c == 'n')
            p.b.inputs[0].digest = digest_bytes("z", 1);
        fixture_seal(&p.a, true);
        fixture_seal(&p.b, true);
        const struct diff_side a = fixture_side(&p.a, "a.json:ref"), b = fixture_side(&p.b, "b.json:soft");
        cr_assert((*c == 'a' || *c == 'b' ? diff_run_missing(&run, p.a.c.name, *c, NULL) : diff_run_case(&run, &a, &b, NULL)) == 0);
        pair_release(&p);
    }
    cr_assert(diff_run_end(&run, NULL) == 0);
    diff_run_release(&run);
    return seen;
}

Test(series, verdicts_add_up_and_give_the_exit_status)
{
    static const struct {
        const char *letters;
        size_t compared;
        int exit_status;
    } rows[] = {
        { "=", 1, 0 },
        { "====", 4, 0 },
        { "=!", 2, 1 },
        { "", 0, 2 },
        { "sss", 0, 2 },
        { "s=", 1, 0 },
        { "=e", 1, 1 },
        { "e", 0, 1 },
        { "=n", 1, 1 },
        { "n", 0, 1 },
        { "=a", 1, 1 },
        { "=b", 1, 1 },
        { "sa", 0, 1 },
        { "=!senab", 2, 1 },
        { "======================================================================", 70, 0 }, /* more ops than the table holds */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct seen s = series(rows[i].letters, &diff_policy_default);
        size_t sum = 0;

        for (size_t v = 0; v < VERDICT_COUNT; v++)
            sum += s.summary.verdicts[v];
        cr_expect(sum == strlen(rows[i].letters) && s.summary.total == sum && s.items == sum, "'%s'", rows[i].letters);
        cr_expect(diff_compared(&s.summary) == rows[i].compared, "'%s': %zu compared", rows[i].letters, diff_compared(&s.summary));
        cr_expect(diff_exit_status(&s.summary) == rows[i].exit_status, "'%s': exit %d", rows[i].letters,
                  diff_exit_status(&s.summary));
    }
}

Test(series, only_so_many_cases_are_detailed_but_all_are_delivered)
{
    struct diff_policy policy = diff_policy_default;

    for (size_t limit = 0; limit < 8; limit++) {
        policy.max_cases = limit;
        const struct seen s = series("!!=!!=!!", &policy);

        cr_expect(s.items == 8 && s.detailed == (limit < 6 ? limit : 6), "%zu: %zu", limit, s.detailed);
    }
}

/* ---- fresh results ----------------------------------------------------------------------------------------------------------- */

Test(case_view, shows_computed_tensors_as_a_dump_case)
{
    static uint8_t x[4] = { 1, 2, 3, 4 }, out[4] = { 5, 6, 7, 8 }, stage[4];
    struct case_tensors t = { .count = 4 };
    struct dump_case view;

    t.t[0] = (struct tensor){ "x", TENSOR_INPUT, FP4_U8, 1, { 4, 0 }, 4, x, false };
    t.t[1] = (struct tensor){ "scaled", TENSOR_STAGE, FP4_U8, 1, { 4, 0 }, 4, stage, false }; /* not written: left out */
    t.t[2] = (struct tensor){ "codes", TENSOR_OUTPUT, FP4_U8, 1, { 4, 0 }, 4, out, true };
    t.t[3] = (struct tensor){ "random", TENSOR_STAGE, FP4_U8, 1, { 4, 0 }, 4, NULL, false };
    cr_assert(case_view("a/b", "ref", DUMP_OK, NULL, &t, &view, NULL) == 0);
    const struct dump_case_result *r = dump_case_result_find(&view, "ref");
    cr_assert(r && r->count == 1 && view.input_count == 1);
    cr_expect_str_eq(view.name, "a/b");
    cr_expect_str_eq(r->t[0].name, "codes");
    cr_expect(r->t[0].data == out && digest_equal(r->t[0].digest, digest_bytes(out, 4)));
    case_view_release(&view);
    cr_assert(case_view("a/b", "ref", DUMP_SKIPPED, "no device", NULL, &view, NULL) == 0);
    cr_expect_str_eq(view.results[0].reason, "no device");
    case_view_release(&view);
}

/* ---- bytes that only a digest stands for ------------------------------------------------------------------------------------- */

#define RECOVER "quantize/te/rn/1x16/bf16/normal/128x256/s0"

/* The reference's own results as a dump without bytes, codes spoilt by a known fault. */
Test(recover, bytes_come_back_when_a_digest_proves_the_guess)
{
    struct case_context ctx = { 0 };
    struct dump_case c = { 0 };
    struct dump_tensor t = { .name = "codes", .role = TENSOR_OUTPUT, .dtype = FP4_E2M1, .ndim = 2, .dims = { 128, 256 } };

    strcpy(c.name, RECOVER);
    cr_assert(case_context_run(&ctx, &c), "%s", ctx.why);
    const struct tensor *codes = tensor_find(&ctx.runs[0].t, "codes");
    uint8_t *spoilt = malloc(codes->bytes);
    cr_assert(spoilt != NULL);
    t.bytes = codes->bytes;
    for (int fault = 0; fault < 4; fault++) {
        for (size_t i = 0; i < t.bytes; i++)
            spoilt[i] = fault == 0   ? codes->data[i]
                        : fault == 1 ? (uint8_t)(codes->data[i] << 4 | codes->data[i] >> 4)
                        : fault == 2 ? 0
                                     : (uint8_t)(codes->data[i] + 1);
        t.digest = digest_bytes(spoilt, t.bytes);
        const uint8_t *found = case_context_bytes(&ctx, &c, "elsewhere", &t);
        cr_expect(fault == 3 ? !found : found && memcmp(found, spoilt, t.bytes) == 0, "fault %d", fault);
    }
    free(spoilt);
    case_context_release(&ctx);
}

Test(recover, nothing_is_explained_when_the_case_or_its_inputs_are_unknown)
{
    struct dump_tensor x = { .name = "x", .bytes = 65536 };
    struct dump_case c = { .inputs = &x, .input_count = 1 };
    static const struct {
        const char *name, *why;
    } rows[] = {
        { RECOVER, "another input 'x'" },
        { "no/such/case", "does not know the case" },
        { "quantize/te/rn/1x16/bf16/file-0123456789abcdef/128x256/s0", "--input FILE.safetensors" },
        { "quantize/te/rn/1x16/f32/normal/65536x65536/s0", "MiB" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_context ctx = { 0 };

        strcpy(c.name, rows[i].name);
        cr_expect(!case_context_run(&ctx, &c) && strstr(ctx.why, rows[i].why), "%s: %s", rows[i].name, ctx.why);
        case_context_release(&ctx);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* diff_run.c: a series of comparisons, counted by verdict and by op, each handed to the sink. */
#include "diff.h"
#include "options.h"
#include "picks.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t diff_compared(const struct diff_summary *s)
{
    return s->verdicts[VERDICT_EQUAL] + s->verdicts[VERDICT_WITHIN] + s->verdicts[VERDICT_DIFFERS] - s->only_a - s->only_b;
}

int diff_exit_status(const struct diff_summary *s)
{
    if (s->verdicts[VERDICT_DIFFERS] || s->verdicts[VERDICT_ERROR] || s->verdicts[VERDICT_NOT_COMPARABLE])
        return EXIT_DIFFERS;
    return diff_compared(s) ? EXIT_PASS : EXIT_TROUBLE;
}

static struct diff_op_count *count_of(struct diff_summary *s, const char *op)
{
    for (size_t i = 0; i < s->op_count; i++)
        if (strcmp(s->ops[i].op, op) == 0)
            return &s->ops[i];
    if (s->op_count == DIFF_OPS_MAX)
        return &s->ops[DIFF_OPS_MAX - 1];
    struct diff_op_count *row = &s->ops[s->op_count++];
    snprintf(row->op, sizeof row->op, "%s", s->op_count == DIFF_OPS_MAX ? "other" : op);
    return row;
}

static void check_sums(const struct diff_summary *s)
{
    size_t all = 0, by_op = 0;

    for (size_t v = 0; v < VERDICT_COUNT; v++)
        all += s->verdicts[v];
    for (size_t i = 0; i < s->op_count; i++)
        for (size_t v = 0; v < VERDICT_COUNT; v++)
            by_op += s->ops[i].verdicts[v];
    assert(all == s->total);
    assert(by_op == s->total);
    assert(s->only_a + s->only_b + s->matched == s->total);
    (void)all;
    (void)by_op;
}

static void tally_policy(struct diff_summary *s, const struct case_diff *d)
{
    size_t zero = 0, nan = 0;

    for (size_t i = 0; i < d->tensor_count; i++) {
        zero += d->tensors[i].policy_zero;
        nan += d->tensors[i].policy_nan;
    }
    s->policy_zero += zero;
    s->policy_nan += nan;
    s->policy_cases += zero + nan > 0 && (d->verdict == VERDICT_EQUAL || d->verdict == VERDICT_WITHIN);
}

static void tally_missing(struct diff_summary *s, const struct case_diff *d)
{
    bool in_a = d->only[0] == 'a';
    char *first = in_a ? s->first_only_a : s->first_only_b;
    size_t *count = in_a ? &s->only_a : &s->only_b;

    if (!d->only[0]) {
        s->matched++;
        return;
    }
    if (++*count == 1)
        memcpy(first, d->name, sizeof d->name);
}

static int deliver(struct diff_run *run, const struct case_diff *d, struct fp4_error *err)
{
    struct diff_summary *s = &run->summary;
    struct diff_op_count *op = count_of(s, d->op);

    s->total++;
    s->verdicts[d->verdict]++;
    op->total++;
    op->verdicts[d->verdict]++;
    tally_missing(s, d);
    tally_policy(s, d);
    return run->sink->item(run->sink->arg, d, err);
}

int diff_run_begin(struct diff_run *run, const struct diff_heading *h, const struct diff_policy *policy,
                   const struct diff_sink *sink, struct fp4_error *err)
{
    *run = (struct diff_run){ .heading = *h, .policy = policy, .sink = sink };
    run->heading.policy = policy;
    if (!policy->no_diagnosis && !(run->diagnoser = diagnoser_new()))
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (sink->begin(sink->arg, &run->heading, err)) {
        diff_run_release(run);
        return -1;
    }
    return 0;
}

/* Outputs are what a diagnosis goes by; a difference in stages alone has none. */
static bool outputs_differ(const struct case_diff *d)
{
    for (size_t i = 0; i < d->tensor_count; i++)
        if (d->tensors[i].role == TENSOR_OUTPUT && !d->tensors[i].equal)
            return true;
    return false;
}

static void keep_evidence(struct diff_run *run, const struct diff_side *a, const struct diff_side *b, const struct case_diff *d)
{
    bool differs = d->verdict == VERDICT_DIFFERS;

    if (!run->diagnoser || d->only[0] || !d->outputs || (d->verdict != VERDICT_EQUAL && !(differs && outputs_differ(d))))
        return;
    diagnoser_add(run->diagnoser, 'a', a->c, a->r, differs);
    diagnoser_add(run->diagnoser, 'b', b->c, b->r, differs);
}

/* The reference is run again where a verdict hangs on bytes that the dumps left out, and for the cases that are printed in full. */
int diff_run_case(struct diff_run *run, const struct diff_side *a, const struct diff_side *b, struct fp4_error *err)
{
    const struct diff_policy *p = run->policy;
    bool statistical = p->statistical.set && a->c && statistical_applies(a->c), judged;
    bool bytes_decide = p->tolerance.set || p->signed_zero_equal || p->nan_equal || statistical;
    bool room = run->detailed < p->max_cases;
    struct case_context ctx = { 0 };
    struct case_diff d;
    int status = -1;

    if (case_compare(a, b, p, bytes_decide || room || picks_apply(a->c->name) ? &ctx : NULL, &d, err))
        goto cleanup;
    if (statistical && d.verdict == VERDICT_DIFFERS && !d.only[0] &&
        statistical_judge(&d, a, b, p, &ctx, run->family ? run->family : 1, &run->memory, &judged, err))
        goto cleanup;
    if (room && !d.only[0] && d.verdict == VERDICT_DIFFERS) {
        d.detailed = true;
        run->detailed++;
        case_explain(&d, a->c, &ctx);
    }
    keep_evidence(run, a, b, &d);
    status = deliver(run, &d, err);
cleanup:
    case_diff_release(&d);
    case_context_release(&ctx);
    return status;
}

int diff_run_missing(struct diff_run *run, const char *name, char side, struct fp4_error *err)
{
    struct case_diff d = { .verdict = VERDICT_DIFFERS, .only = { side } };
    const struct diff_heading_side *with = side == 'a' ? &run->heading.a : &run->heading.b;
    const struct diff_heading_side *without = side == 'a' ? &run->heading.b : &run->heading.a;

    snprintf(d.name, sizeof d.name, "%s", name);
    snprintf(d.op, sizeof d.op, "%.*s", (int)strcspn(name, "/"), name);
    snprintf(d.backend_a, sizeof d.backend_a, "%s", run->heading.a.backend);
    snprintf(d.backend_b, sizeof d.backend_b, "%s", run->heading.b.backend);
    snprintf(d.reason, sizeof d.reason, "the case is only in %.120s, not in %.120s", with->path, without->path);
    return deliver(run, &d, err);
}

int diff_run_end(struct diff_run *run, struct fp4_error *err)
{
    struct diagnosis *found = run->diagnoser ? calloc(1, sizeof *found) : NULL;
    int status = 0;

    check_sums(&run->summary);
    if (found && run->summary.verdicts[VERDICT_DIFFERS])
        status = diagnoser_conclude(run->diagnoser, found, err);
    run->summary.diagnosis = found && (found->count || found->left_out) ? found : NULL;
    if (status == 0)
        status = run->sink->end(run->sink->arg, &run->summary, err);
    run->summary.diagnosis = NULL;
    free(found);
    return status;
}

void diff_run_release(struct diff_run *run)
{
    statistical_forget(&run->memory);
    diagnoser_free(run->diagnoser);
    run->diagnoser = NULL;
}

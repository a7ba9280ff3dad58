/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.c: what the terminal shows: who against whom, the table of verdicts, missing cases, differences, the last line. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define MISSING_MAX 10

static size_t case_limit(const struct report *r)
{
    return r->section->diff ? r->section->diff->policy->max_cases : diff_policy_default.max_cases;
}

/* ---- while the cases come ---------------------------------------------------------------------------------------------------- */

static void keep_skip(struct report *r, const char *reason)
{
    for (size_t i = 0; i < r->skip_kinds; i++)
        if (strcmp(r->skips[i].reason, reason) == 0) {
            r->skips[i].count++;
            return;
        }
    if (r->skip_kinds == sizeof r->skips / sizeof r->skips[0])
        return;
    char *copy = strdup(reason);
    if (!copy)
        return;
    r->skips[r->skip_kinds].reason = copy;
    r->skips[r->skip_kinds++].count = 1;
}

static void keep_missing(struct report *r, const struct report_case *c)
{
    if (r->missing == 0)
        text_add(&r->text, "\nmissing cases, which count as differing:\n");
    if (++r->missing > MISSING_MAX)
        return;
    text_printf(&r->text, "  only in %c: ", c->diff->only[0] == 'a' ? 'A' : 'B');
    plain_text(&r->text, c->name);
    text_add(&r->text, "\n");
}

static void add_brief(struct report *r, const struct report_case *c)
{
    text_printf(&r->rest, "\n%s", term_on(r->out, STYLE_BOLD));
    plain_text(&r->rest, c->name);
    text_printf(&r->rest, "%s\n  %s%s%s: ", term_off(r->out), term_on(r->out, STYLE_BAD), c->status, term_off(r->out));
    plain_text(&r->rest, c->reason ? c->reason : "");
    text_add(&r->rest, "\n");
}

static void keep_failure(struct report *r, const struct report_case *c)
{
    const struct case_diff *d = c->diff;

    if (d && d->detailed) {
        text_add(&r->rest, "\n");
        case_text(d, "", r->out, &r->rest);
    } else if (r->shown < case_limit(r) && !(d && d->verdict == VERDICT_DIFFERS)) {
        r->shown++;
        if (d)
            text_add(&r->rest, "\n");
        if (d)
            case_text(d, "", r->out, &r->rest);
        else
            add_brief(r, c);
    } else {
        r->not_shown++;
    }
}

/* What passed only thanks to the tolerance is named, with the stages that nobody judged. */
static void keep_within(struct report *r, const struct report_case *c)
{
    if (r->within++ >= case_limit(r))
        return;
    text_add(&r->passed, r->within == 1 ? "\nwithin tolerance:\n  " : "  ");
    plain_text(&r->passed, c->name);
    text_add(&r->passed, ": ");
    plain_text(&r->passed, c->reason ? c->reason : "");
    text_add(&r->passed, "\n");
    statistics_text(c->diff, "  ", &r->passed);
}

static void text_item(struct report *r, const struct report_case *c)
{
    if (c->outcome == REPORT_SKIP)
        keep_skip(r, c->reason ? c->reason : "");
    else if (c->diff && c->diff->only[0])
        keep_missing(r, c);
    else if (c->outcome != REPORT_PASS)
        keep_failure(r, c);
    else if (c->diff && c->diff->verdict == VERDICT_WITHIN)
        keep_within(r, c);
}

/* ---- at the end -------------------------------------------------------------------------------------------------------------- */

static void write_plain(FILE *out, const char *s)
{
    struct text t = { 0 };

    plain_text(&t, s);
    if (t.data)
        fputs(t.data, out);
    text_release(&t);
}

static void write_side(FILE *out, char letter, const struct diff_heading_side *s)
{
    const char *const facts[] = { s->tool, s->os, s->arch, s->build };
    const char *joint = "  (";

    fprintf(out, "%c  %s", letter, term_on(out, STYLE_BOLD));
    write_plain(out, s->label);
    fputs(term_off(out), out);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i] && *facts[i]) {
            fputs(joint, out);
            write_plain(out, facts[i]);
            joint = ", ";
        }
    fprintf(out, "%s\n", *joint == ',' ? ")" : "");
    if (!s->complete)
        fprintf(out, "   %sincomplete: its run was interrupted, cases may be missing%s\n", term_on(out, STYLE_WARN), term_off(out));
}

static void write_heading(FILE *out, const struct report_section *s, struct text *line)
{
    if (!s->diff) {
        fprintf(out, "%s\n", s->title);
        return;
    }
    write_side(out, 'A', &s->diff->a);
    write_side(out, 'B', &s->diff->b);
    rule_text(s->diff->policy, line);
    fprintf(out, "rule  %s\n", line->data ? line->data : "");
}

static void write_counts(FILE *out, int width, const char *label, size_t total, const size_t *verdicts)
{
    fprintf(out, "%-*s %7zu", width, label, total);
    for (size_t v = 0; v < VERDICT_COUNT; v++)
        fprintf(out, " %*zu", v == VERDICT_NOT_COMPARABLE ? 14 : 8, verdicts[v]);
    fputc('\n', out);
}

static void write_table(FILE *out, const struct diff_summary *s)
{
    int width = 5;

    for (size_t i = 0; i < s->op_count; i++)
        if ((int)strlen(s->ops[i].op) > width)
            width = (int)strlen(s->ops[i].op);
    fprintf(out, "\n%-*s %7s %8s %8s %8s %8s %8s %14s\n", width, "op", "cases", "equal", "within", "differs", "skipped", "error",
            "not-comparable");
    for (size_t i = 0; i < s->op_count; i++)
        write_counts(out, width, s->ops[i].op, s->ops[i].total, s->ops[i].verdicts);
    if (s->op_count > 1)
        write_counts(out, width, "total", s->total, s->verdicts);
}

static void write_skips(FILE *out, const struct report *r, size_t skipped)
{
    size_t named = 0;

    for (size_t i = 0; i < r->skip_kinds; i++) {
        fprintf(out, "%sskipped, %zu: ", i ? "" : "\n", r->skips[i].count);
        write_plain(out, r->skips[i].reason);
        fputc('\n', out);
        named += r->skips[i].count;
    }
    if (named && named < skipped)
        fprintf(out, "skipped, %zu: for other reasons\n", skipped - named);
}

static void write_policy(FILE *out, const struct diff_summary *s)
{
    if (s->policy_zero + s->policy_nan)
        fprintf(out, "\nby policy: %zu sign%s of zero and %zu NaN%s counted as equal; %zu case%s passed only so\n", s->policy_zero,
                s->policy_zero == 1 ? "" : "s", s->policy_nan, s->policy_nan == 1 ? "" : "s", s->policy_cases,
                s->policy_cases == 1 ? "" : "s");
}

static void write_diagnosis(struct report *r, const struct diff_summary *s)
{
    const struct diff_heading *h = r->section->diff;
    struct text t = { 0 };

    if (!s->diagnosis)
        return;
    diagnosis_text(s->diagnosis, h ? h->a.label : NULL, h ? h->b.label : NULL, "  ", r->out, &t);
    fprintf(r->out, "\n%sdiagnosis%s, against the reference:\n%s", term_on(r->out, STYLE_BOLD), term_off(r->out),
            t.data ? t.data : "");
    text_release(&t);
}

static void write_body(struct report *r)
{
    if (r->passed.data)
        fputs(r->passed.data, r->out);
    if (r->within > case_limit(r))
        fprintf(r->out, "  and %zu more\n", r->within - case_limit(r));
    if (r->text.data)
        fputs(r->text.data, r->out);
    if (r->missing > MISSING_MAX)
        fprintf(r->out, "  and %zu more\n", r->missing - MISSING_MAX);
    if (r->rest.data)
        fputs(r->rest.data, r->out);
    if (r->not_shown)
        fprintf(r->out, "\nand %zu more case%s that do%s not pass (--max-cases shows more)\n", r->not_shown,
                r->not_shown == 1 ? "" : "s", r->not_shown == 1 ? "es" : "");
}

static void text_forget(struct report *r)
{
    text_release(&r->text);
    text_release(&r->rest);
    text_release(&r->passed);
    for (size_t i = 0; i < r->skip_kinds; i++)
        free(r->skips[i].reason);
    r->skip_kinds = r->shown = r->not_shown = r->missing = r->within = 0;
}

static void text_end(struct report *r, const struct report_totals *t)
{
    struct text line = { 0 };
    bool good = t->outcomes[REPORT_FAIL] + t->outcomes[REPORT_ERROR] == 0 && t->outcomes[REPORT_PASS];

    if (r->sections > 1)
        fputc('\n', r->out);
    write_heading(r->out, r->section, &line);
    text_release(&line);
    if (t->diff)
        write_table(r->out, t->diff);
    write_skips(r->out, r, t->outcomes[REPORT_SKIP]);
    write_body(r);
    if (t->diff) {
        write_policy(r->out, t->diff);
        write_diagnosis(r, t->diff);
        summary_text(t->diff, &line);
    } else {
        text_printf(&line, "%zu cases: %zu passed, %zu failed, %zu errors, %zu skipped", t->total, t->outcomes[REPORT_PASS],
                    t->outcomes[REPORT_FAIL], t->outcomes[REPORT_ERROR], t->outcomes[REPORT_SKIP]);
    }
    fprintf(r->out, "\n%s%s%s\n", term_on(r->out, good ? STYLE_GOOD : STYLE_BAD), line.data ? line.data : "", term_off(r->out));
    text_release(&line);
    text_forget(r);
}

const struct report_format report_text = { .name = "text", .item = text_item, .end = text_end };

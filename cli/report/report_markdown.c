/* SPDX-License-Identifier: Apache-2.0 */
/* report_markdown.c: a summary for a pull-request comment or GITHUB_STEP_SUMMARY; both are cut off when long: cases are limited. */
#include "report.h"

#include <string.h>

#define CASES_SHOWN 20
#define DETAILS_SHOWN 5

/* For a table cell: a bar would end it, a line feed the row, and angle brackets or stars would become markup. */
static void add_cell(struct text *t, const char *s)
{
    for (; *s; s++) {
        if (*s == '\n' || *s == '\r')
            text_add(t, " ");
        else if (*s == '<')
            text_add(t, "&lt;");
        else if (*s == '&')
            text_add(t, "&amp;");
        else if (strchr("|*_`[]\\~#@", *s)) /* '@' would call somebody */
            text_printf(t, "&#%d;", *s);
        else
            text_addn(t, s, 1);
    }
}

/* Names and commands hold no backtick, but a bar ends a cell even in code. */
static void add_code(struct text *t, const char *s)
{
    text_add(t, "`");
    for (; *s; s++) {
        if (*s == '|')
            text_add(t, "\\|");
        else
            text_addn(t, *s == '`' || *s == '\n' ? "'" : s, 1);
    }
    text_add(t, "`");
}

static void add_failure(struct report *r, const struct report_case *c)
{
    if (r->shown++ >= CASES_SHOWN)
        return;
    text_add(&r->text, "| ");
    add_code(&r->text, c->name);
    text_add(&r->text, " | ");
    add_cell(&r->text, c->status);
    text_add(&r->text, " | ");
    add_cell(&r->text, c->reason ? c->reason : "");
    text_add(&r->text, " |\n");
}

/* Indented code needs no fence, so nothing in it can end it. */
static void add_details(struct report *r, const struct report_case *c)
{
    if (!c->diff || !c->diff->detailed || r->missing++ >= DETAILS_SHOWN)
        return;
    case_text(c->diff, "    ", NULL, &r->rest);
    text_add(&r->rest, "\n");
}

static void markdown_item(struct report *r, const struct report_case *c)
{
    if (c->outcome != REPORT_FAIL && c->outcome != REPORT_ERROR)
        return;
    add_failure(r, c);
    add_details(r, c);
}

static void add_side(struct text *t, char letter, const struct diff_heading_side *s)
{
    text_printf(t, "- %c: ", letter);
    add_code(t, s->label);
    const char *const facts[] = { s->tool, s->os, s->arch, s->build };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i] && *facts[i]) {
            text_add(t, ", ");
            add_cell(t, facts[i]);
        }
    text_add(t, s->complete ? "\n" : ", **incomplete**\n");
}

static void add_row(struct text *t, const char *label, size_t total, const size_t *verdicts)
{
    text_printf(t, "| %s | %zu |", label, total);
    for (size_t v = 0; v < VERDICT_COUNT; v++)
        text_printf(t, " %zu |", verdicts[v]);
    text_add(t, "\n");
}

static void add_table(struct text *t, const struct diff_summary *s)
{
    text_add(t, "\n| op | cases | equal | within tolerance | differs | skipped | error | not comparable |\n"
                "|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < s->op_count; i++)
        add_row(t, s->ops[i].op, s->ops[i].total, s->ops[i].verdicts);
    if (s->op_count != 1)
        add_row(t, "**total**", s->total, s->verdicts);
}

static void add_top(struct text *t, const struct report *r, const struct report_totals *totals)
{
    bool good = totals->outcomes[REPORT_FAIL] + totals->outcomes[REPORT_ERROR] == 0 && totals->outcomes[REPORT_PASS];

    text_printf(t, "### fp4check %s: %s\n\n", r->command ? r->command : "", good ? "pass" : "**fail**");
    if (!totals->diff) {
        add_cell(t, r->section->title);
        text_printf(t, "\n\n%zu cases: %zu passed, %zu failed, %zu errors, %zu skipped\n", totals->total,
                    totals->outcomes[REPORT_PASS], totals->outcomes[REPORT_FAIL], totals->outcomes[REPORT_ERROR],
                    totals->outcomes[REPORT_SKIP]);
        return;
    }
    summary_text(totals->diff, t);
    text_add(t, "\n\n");
    add_side(t, 'A', &r->section->diff->a);
    add_side(t, 'B', &r->section->diff->b);
    text_add(t, "- rule: ");
    rule_text(r->section->diff->policy, t);
    text_add(t, "\n");
    add_table(t, totals->diff);
}

static void add_failures(struct text *t, const struct report *r)
{
    if (!r->shown)
        return;
    text_add(t, "\n| case | verdict | why |\n|---|---|---|\n");
    text_add(t, r->text.data ? r->text.data : "");
    if (r->shown > CASES_SHOWN)
        text_printf(t, "\nand %zu more\n", r->shown - CASES_SHOWN);
    if (r->rest.length)
        text_printf(t, "\n<details><summary>first places</summary>\n\n%s\n</details>\n", r->rest.data);
}

static void markdown_end(struct report *r, const struct report_totals *totals)
{
    struct text page = { 0 };

    if (r->sections > 1)
        text_add(&page, "\n");
    add_top(&page, r, totals);
    if (totals->diff && totals->diff->diagnosis) {
        text_add(&page, "\n**diagnosis**, against the reference:\n\n");
        diagnosis_text(totals->diff->diagnosis, NULL, NULL, "    ", NULL, &page);
    }
    add_failures(&page, r);
    if (page.data)
        fputs(page.data, r->out);
    r->text.failed |= page.failed;
    text_release(&page);
    r->text.length = r->rest.length = r->shown = r->missing = 0;
    if (r->text.data)
        r->text.data[0] = '\0';
}

const struct report_format report_markdown = { .name = "Markdown", .spool = true, .item = markdown_item, .end = markdown_end };

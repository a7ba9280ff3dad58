/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_junit.c: JUnit XML: a testsuite for each op, a testcase for each case. A testsuite begins with its counts, which are known
 * only at the end, so the test cases of each op wait in a temporary file: memory stays small however many cases there are.
 */
#include "report.h"

#include <string.h>

static struct report_op_file *op_file(struct report *r, const char *op)
{
    for (size_t i = 0; i < r->op_count; i++)
        if (strcmp(r->ops[i].op, op) == 0)
            return &r->ops[i];
    if (r->op_count == REPORT_OPS_MAX)
        return &r->ops[REPORT_OPS_MAX - 1];
    struct report_op_file *f = &r->ops[r->op_count];
    *f = (struct report_op_file){ .body = tmpfile() };
    if (!f->body) {
        r->text.failed = true; /* told by report_finish */
        return NULL;
    }
    snprintf(f->op, sizeof f->op, "%s", r->op_count == REPORT_OPS_MAX - 1 ? "other" : op);
    r->op_count++;
    return f;
}

static void add_escaped(struct text *t, const char *s)
{
    struct text clean = { 0 };

    utf8_text(&clean, s);
    text_xml(t, clean.data ? clean.data : "");
    t->failed |= clean.failed;
    text_release(&clean);
}

/* An attribute is one line: an XML reader would turn a line feed in it into a space anyway. */
static void attribute(struct text *t, const char *name, const char *value)
{
    struct text line = { 0 };

    plain_text(&line, value);
    text_printf(t, " %s=\"", name);
    text_xml(t, line.data ? line.data : "");
    text_add(t, "\"");
    t->failed |= line.failed;
    text_release(&line);
}

static void add_outcome(struct text *t, const struct report_case *c)
{
    static const char *const elements[] = { [REPORT_FAIL] = "failure", [REPORT_ERROR] = "error", [REPORT_SKIP] = "skipped" };
    const char *element = elements[c->outcome], *reason = c->reason ? c->reason : "";
    struct text details = { 0 };

    text_printf(t, "      <%s", element);
    attribute(t, "message", *reason ? reason : c->status);
    if (c->outcome == REPORT_SKIP) {
        text_add(t, "/>\n");
        return;
    }
    attribute(t, "type", c->status);
    if (c->diff)
        case_text(c->diff, "", NULL, &details);
    text_add(t, ">");
    add_escaped(t, details.data ? details.data : reason);
    text_printf(t, "</%s>\n", element);
    text_release(&details);
}

static void junit_item(struct report *r, const struct report_case *c)
{
    struct report_op_file *f = op_file(r, c->op);
    char class[64];

    if (!f)
        return;
    f->outcomes[c->outcome]++;
    r->text.length = 0;
    snprintf(class, sizeof class, "fp4check.%s", c->op);
    text_add(&r->text, "    <testcase");
    attribute(&r->text, "classname", class);
    attribute(&r->text, "name", c->name);
    if (c->outcome == REPORT_PASS) {
        text_add(&r->text, "/>\n");
    } else {
        text_add(&r->text, ">\n");
        add_outcome(&r->text, c);
        text_add(&r->text, "    </testcase>\n");
    }
    if (r->text.data)
        fwrite(r->text.data, 1, r->text.length, f->body);
}

static void add_counts(struct text *t, const size_t *n)
{
    text_printf(t, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
                n[REPORT_PASS] + n[REPORT_FAIL] + n[REPORT_ERROR] + n[REPORT_SKIP], n[REPORT_FAIL], n[REPORT_ERROR],
                n[REPORT_SKIP]);
}

static void append(FILE *from, FILE *to, struct report *r)
{
    char buffer[8192];
    size_t n;

    if (fflush(from) || ferror(from))
        r->text.failed = true;
    rewind(from);
    while ((n = fread(buffer, 1, sizeof buffer, from)) > 0)
        fwrite(buffer, 1, n, to);
}

static void junit_forget(struct report *r)
{
    for (size_t i = 0; i < r->op_count; i++)
        fclose(r->ops[i].body);
    r->op_count = 0;
}

static void junit_end(struct report *r, const struct report_totals *t)
{
    struct text line = { 0 };
    char name[800];

    if (r->sections == 1)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fp4check\">\n", r->out);
    for (size_t i = 0; i < r->op_count; i++) {
        line.length = 0;
        snprintf(name, sizeof name, "%s: %s", r->ops[i].op, r->section->title);
        text_add(&line, "  <testsuite");
        attribute(&line, "name", name);
        add_counts(&line, r->ops[i].outcomes);
        text_add(&line, ">\n");
        fputs(line.data ? line.data : "", r->out);
        append(r->ops[i].body, r->out, r);
        fputs("  </testsuite>\n", r->out);
    }
    (void)t;
    r->text.failed |= line.failed;
    text_release(&line);
    junit_forget(r);
}

static void junit_finish(struct report *r, int exit_status)
{
    (void)exit_status;
    if (r->sections == 0)
        fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"fp4check\">\n", r->out);
    fputs("</testsuites>\n", r->out);
}

const struct report_format report_junit = {
    .name = "JUnit", .spool = true, .item = junit_item, .end = junit_end, .finish = junit_finish, .release = junit_forget
};

/* SPDX-License-Identifier: Apache-2.0 */
/* report_github.c: workflow commands for GitHub Actions, which shows ten error annotations a step and drops the others silently. */
#include "report.h"

#define ANNOTATIONS_MAX 10

void github_escape(struct text *out, const char *s, bool property)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ',')))
            text_printf(out, "%%%02X", c);
        else
            text_addn(out, s, 1);
    }
}

static void annotate(struct report *r, const char *level, const char *title, const char *message)
{
    struct text line = { 0 };

    text_printf(&line, "::%s title=", level);
    github_escape(&line, title, true);
    text_add(&line, "::");
    github_escape(&line, message, false);
    fprintf(r->out, "%s\n", line.data ? line.data : "");
    r->text.failed |= line.failed;
    text_release(&line);
}

static void github_item(struct report *r, const struct report_case *c)
{
    struct text title = { 0 }, message = { 0 };

    if (c->outcome != REPORT_FAIL && c->outcome != REPORT_ERROR)
        return;
    if (r->shown == ANNOTATIONS_MAX) {
        r->not_shown++;
        return;
    }
    r->shown++;
    text_printf(&title, "fp4check: %s", c->status);
    text_printf(&message, "%s\n%s", c->name, c->reason ? c->reason : "");
    for (size_t i = 0; c->diff && i < c->diff->tensor_count; i++)
        if (c->diff->tensors[i].looks_like)
            text_printf(&message, "\n%s looks like: %s", c->diff->tensors[i].name, c->diff->tensors[i].looks_like);
    if (c->diff && c->diff->repro[0])
        text_printf(&message, "\n%s", c->diff->repro);
    annotate(r, "error", title.data ? title.data : "", message.data ? message.data : "");
    text_release(&title);
    text_release(&message);
}

/* As a notice: an eleventh error would not be shown. */
static void github_finish(struct report *r, int exit_status)
{
    char message[80];

    (void)exit_status;
    if (!r->not_shown)
        return;
    snprintf(message, sizeof message, "and %zu more case%s that do%s not pass", r->not_shown, r->not_shown == 1 ? "" : "s",
             r->not_shown == 1 ? "es" : "");
    annotate(r, "notice", "fp4check", message);
}

const struct report_format report_github = { .name = "GitHub", .item = github_item, .finish = github_finish };

/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: the set of reports that a command writes: opening, feeding, and moving into place. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum report_outcome report_outcome_of(enum verdict v)
{
    switch (v) {
    case VERDICT_EQUAL:
    case VERDICT_WITHIN:
        return REPORT_PASS;
    case VERDICT_SKIPPED:
        return REPORT_SKIP;
    case VERDICT_ERROR:
        return REPORT_ERROR;
    case VERDICT_DIFFERS:
    case VERDICT_NOT_COMPARABLE:
    case VERDICT_COUNT:
        break;
    }
    return REPORT_FAIL;
}

/* ---- opening ----------------------------------------------------------------------------------------------------------------- */

static int open_stream(struct report *r, FILE *stream, struct fp4_error *err)
{
    r->direct = true;
    r->out = stream;
    if (!r->format->spool)
        return 0;
    r->target = stream;
    r->out = tmpfile();
    return r->out ? 0
                  : fp4_fail(err, FP4_EIO, "cannot make a temporary file for the %s report: %s", r->format->name, strerror(errno));
}

/* A pipe or a device cannot be replaced by renaming. */
static bool is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_file(struct report *r, const char *path, struct fp4_error *err)
{
    const char *suffix = is_special(path) ? "" : ".partial";

    r->direct = !*suffix;
    r->path = strdup(path);
    r->partial = malloc(strlen(path) + strlen(suffix) + 1);
    if (!r->path || !r->partial)
        return fp4_fail(err, FP4_EIO, "out of memory");
    strcat(strcpy(r->partial, path), suffix);
    r->out = fopen(r->partial, "w");
    if (!r->out)
        return fp4_fail(err, FP4_EIO, "cannot write the %s report to '%s': %s", r->format->name, r->partial, strerror(errno));
    return 0;
}

static void release(struct report *r)
{
    if (r->format->release)
        r->format->release(r);
    if (r->out && (r->path || r->target))
        fclose(r->out);
    text_release(&r->text);
    text_release(&r->rest);
    text_release(&r->passed);
    for (size_t i = 0; i < r->skip_kinds; i++)
        free(r->skips[i].reason);
    free(r->path);
    free(r->partial);
    *r = (struct report){ .format = r->format };
}

int report_add(struct report_set *set, const struct report_format *format, const char *path, FILE *stream, struct fp4_error *err)
{
    if (set->count == REPORTS_MAX)
        return fp4_fail(err, FP4_EUSAGE, "too many reports: at most %d", REPORTS_MAX);
    struct report *r = &set->items[set->count];
    *r = (struct report){ .format = format, .command = set->command };
    bool to_stream = !path || strcmp(path, "-") == 0;
    if (to_stream ? open_stream(r, path ? stdout : stream, err) : open_file(r, path, err)) {
        release(r);
        return -1;
    }
    set->count++;
    if (format->open)
        format->open(r);
    return 0;
}

/* ---- feeding ----------------------------------------------------------------------------------------------------------------- */

void report_begin(struct report_set *set, const struct report_section *s)
{
    set->section = *s;
    set->totals = (struct report_totals){ 0 };
    for (size_t i = 0; i < set->count; i++) {
        struct report *r = &set->items[i];

        r->section = &set->section;
        r->sections++;
        r->cases = 0;
        if (r->format->begin)
            r->format->begin(r, &set->section);
    }
}

void report_item(struct report_set *set, const struct report_case *c)
{
    set->totals.total++;
    set->totals.outcomes[c->outcome]++;
    for (size_t i = 0; i < set->count; i++) {
        struct report *r = &set->items[i];

        if (r->format->item)
            r->format->item(r, c);
        r->cases++;
    }
}

void report_end(struct report_set *set, const struct diff_summary *diff)
{
    set->totals.diff = diff;
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].format->end)
            set->items[i].format->end(&set->items[i], &set->totals);
}

static int sink_begin(void *arg, const struct diff_heading *h, struct fp4_error *err)
{
    struct report_set *set = arg;

    (void)err;
    snprintf(set->title, sizeof set->title, "%.330s against %.330s", h->a.label, h->b.label);
    report_begin(set, &(struct report_section){ .title = set->title, .diff = h });
    return 0;
}

static int sink_item(void *arg, const struct case_diff *d, struct fp4_error *err)
{
    (void)err;
    report_item(arg, &(struct report_case){ .name = d->name,
                                            .op = d->op,
                                            .outcome = report_outcome_of(d->verdict),
                                            .status = verdict_name(d->verdict),
                                            .reason = d->reason,
                                            .diff = d });
    return 0;
}

static int sink_end(void *arg, const struct diff_summary *s, struct fp4_error *err)
{
    (void)err;
    report_end(arg, s);
    return 0;
}

struct diff_sink report_sink(struct report_set *set)
{
    return (struct diff_sink){ sink_begin, sink_item, sink_end, set };
}

/* ---- ending ------------------------------------------------------------------------------------------------------------------ */

static int copy_out(struct report *r)
{
    char buffer[8192];
    size_t n;

    rewind(r->out);
    while ((n = fread(buffer, 1, sizeof buffer, r->out)) > 0)
        if (fwrite(buffer, 1, n, r->target) != n)
            return -1;
    return ferror(r->out) ? -1 : 0;
}

static int settle(struct report *r, struct fp4_error *err)
{
    const char *where = r->path ? r->path : "standard output";
    bool bad = ferror(r->out) || fflush(r->out) || r->text.failed || r->rest.failed || r->passed.failed;

    if (!bad && r->target)
        bad = copy_out(r) || fflush(r->target) || ferror(r->target);
    if (!bad && r->path && !r->direct)
        bad = fsync(fileno(r->out)) != 0;
    if (r->path) {
        bad |= fclose(r->out) != 0;
        r->out = NULL;
    }
    if (!bad && r->path && !r->direct)
        bad = rename(r->partial, r->path) != 0;
    if (!bad)
        return 0;
    int error = errno;
    if (r->path && !r->direct)
        unlink(r->partial);
    return fp4_fail(err, FP4_EIO, "cannot write the %s report to '%s': %s", r->format->name, where,
                    error ? strerror(error) : "write error");
}

int report_finish(struct report_set *set, int exit_status, struct fp4_error *err)
{
    int status = 0;

    for (size_t i = 0; i < set->count; i++) {
        struct report *r = &set->items[i];

        errno = 0;
        if (r->format->finish)
            r->format->finish(r, exit_status);
        if (settle(r, status ? NULL : err))
            status = -1;
        release(r);
    }
    set->count = 0;
    return status;
}

void report_drop(struct report_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct report *r = &set->items[i];

        if (r->path && !r->direct)
            unlink(r->partial);
        release(r);
    }
    set->count = 0;
}

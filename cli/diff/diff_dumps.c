/* SPDX-License-Identifier: Apache-2.0 */
/* diff_dumps.c: two opened dumps, one case at a time in the order of the first; memory is that of one case on each side. */
#include "diff.h"
#include "term.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

struct walk {
    struct dump_file *a, *b;
    const char *backend_a, *backend_b;
    char label_a[320], label_b[320];
    const char *const *globs;
    bool *seen; /* cases of b that a has too */
    struct diff_run run;
    struct progress progress;
};

static bool selected(const struct walk *w, const char *name)
{
    if (!w->globs || !w->globs[0])
        return true;
    for (size_t i = 0; w->globs[i]; i++)
        if (fnmatch(w->globs[i], name, 0) == 0)
            return true;
    return false;
}

static void describe_side(const struct dump_file *f, const char *backend, const char *label, struct diff_heading_side *out)
{
    *out = (struct diff_heading_side){
        .label = label,
        .path = dump_path(f),
        .backend = backend,
        .tool = dump_provenance_text(f, "tool"),
        .os = dump_provenance_text(f, "os"),
        .arch = dump_provenance_text(f, "arch"),
        .build = dump_provenance_build(f, backend),
        .suite = dump_suite(f),
        .complete = dump_complete(f),
    };
}

static struct diff_side side_of(const struct dump_file *f, const char *label, const char *backend, const struct dump_case *c)
{
    return (struct diff_side){ label, dump_path(f), backend, c, dump_case_result_find(c, backend) };
}

static int compare_matched(struct walk *w, const struct dump_case *ca, size_t index_b, struct fp4_error *err)
{
    struct dump_case cb = { 0 };

    w->seen[index_b] = true;
    if (dump_case_read(w->b, index_b, &cb, err))
        return -1;
    const struct diff_side a = side_of(w->a, w->label_a, w->backend_a, ca);
    const struct diff_side b = side_of(w->b, w->label_b, w->backend_b, &cb);
    int status = diff_run_case(&w->run, &a, &b, err);
    dump_case_release(&cb);
    return status;
}

static int walk_a(struct walk *w, size_t i, struct fp4_error *err)
{
    struct dump_case c = { 0 };
    int status = 0;

    if (dump_case_read(w->a, i, &c, err))
        return -1;
    ptrdiff_t j = dump_find(w->b, c.name);
    if (!selected(w, c.name)) {
        if (j >= 0)
            w->seen[j] = true;
    } else {
        progress_step(&w->progress, i, c.name);
        status = j >= 0 ? compare_matched(w, &c, (size_t)j, err) : diff_run_missing(&w->run, c.name, 'a', err);
    }
    dump_case_release(&c);
    return status;
}

static int walk_rest_of_b(struct walk *w, size_t i, struct fp4_error *err)
{
    struct dump_case c = { 0 };
    int status = 0;

    if (w->seen[i])
        return 0;
    if (dump_case_read(w->b, i, &c, err))
        return -1;
    if (selected(w, c.name))
        status = diff_run_missing(&w->run, c.name, 'b', err);
    dump_case_release(&c);
    return status;
}

static int walk_all(struct walk *w, struct fp4_error *err)
{
    size_t count_a = dump_count(w->a), count_b = dump_count(w->b);

    for (size_t i = 0; i < count_a + count_b; i++) {
        if (term_interrupted)
            return fp4_fail(err, FP4_EIO, "interrupted after %zu cases", w->run.summary.total);
        if (i < count_a ? walk_a(w, i, err) : walk_rest_of_b(w, i - count_a, err))
            return -1;
    }
    return 0;
}

static int nothing_in_common(const struct walk *w, struct fp4_error *err)
{
    const struct diff_summary *s = &w->run.summary;

    if (s->total == 0)
        return fp4_fail(err, FP4_EUSAGE, "no case of '%s' or '%s' matches --case", dump_path(w->a), dump_path(w->b));
    return fp4_fail(err, FP4_EUSAGE, "nothing to compare: '%.100s' and '%.100s' have no case in common (%zu and %zu%s%.140s)",
                    dump_path(w->a), dump_path(w->b), s->only_a, s->only_b, s->only_a ? ", the first is " : "", s->first_only_a);
}

static int check_not_empty(const struct dump_file *f, struct fp4_error *err)
{
    if (dump_count(f))
        return 0;
    return fp4_fail(err, FP4_EUSAGE, "nothing to compare: '%s' holds no cases%s", dump_path(f),
                    dump_complete(f) ? "" : " (it is the dump of an interrupted run)");
}

static int compare_all(struct walk *w, const struct diff_policy *policy, const struct diff_sink *sink, struct fp4_error *err)
{
    struct diff_heading heading = { .policy = policy };
    int status = -1;

    describe_side(w->a, w->backend_a, w->label_a, &heading.a);
    describe_side(w->b, w->backend_b, w->label_b, &heading.b);
    if (diff_run_begin(&w->run, &heading, policy, sink, err))
        return -1;
    w->run.family = dump_count(w->a);
    progress_start(&w->progress, "diff", dump_count(w->a));
    status = walk_all(w, err);
    progress_end(&w->progress);
    if (status == 0 && w->run.summary.matched == 0)
        status = nothing_in_common(w, err);
    return status == 0 ? diff_run_end(&w->run, err) : -1;
}

int diff_dumps(struct dump_file *a, const char *backend_a, struct dump_file *b, const char *backend_b, const char *const *globs,
               const struct diff_policy *policy, const struct diff_sink *sink, struct diff_summary *out, struct fp4_error *err)
{
    struct walk w = { .a = a, .b = b, .backend_a = backend_a, .backend_b = backend_b, .globs = globs };

    if (check_not_empty(a, err) || check_not_empty(b, err))
        return -1;
    snprintf(w.label_a, sizeof w.label_a, "%s:%s", dump_path(a), backend_a);
    snprintf(w.label_b, sizeof w.label_b, "%s:%s", dump_path(b), backend_b);
    w.seen = calloc(dump_count(b), sizeof *w.seen);
    if (!w.seen)
        return fp4_fail(err, FP4_EIO, "out of memory");
    int status = compare_all(&w, policy, sink, err);
    free(w.seen);
    diff_run_release(&w.run);
    *out = w.run.summary;
    return status;
}

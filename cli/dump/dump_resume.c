/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_resume.c: what a run that did not end has left in PATH.partial. Cases are taken as the bytes they are, so a resumed run writes
 * the same file as one that was never interrupted.
 */
#include "dump_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct resume {
    struct dump_file *f;
    const struct dump_header *h;
    struct fp4_error *err;
};

static int disagrees(const struct resume *r, const char *what, const char *there, const char *here)
{
    char a[DUMP_QUOTED_MAX], b[DUMP_QUOTED_MAX];

    return fp4_fail(r->err, FP4_EUSAGE, "cannot resume from '%s': its %s is %s, but this run's is %s", r->f->path, what,
                    dump_quote(a, there), dump_quote(b, here));
}

static int check_text(const struct resume *r, const char *what, const char *there, const char *here)
{
    there = there ? there : "";
    here = here ? here : "";
    return strcmp(there, here) == 0 ? 0 : disagrees(r, what, there, here);
}

static int check_numbers(const struct resume *r)
{
    unsigned shard = r->h->shard ? r->h->shard : 1, shards = r->h->shards ? r->h->shards : 1;
    char there[32], here[32];

    snprintf(there, sizeof there, "%u/%u", r->f->shard, r->f->shards);
    snprintf(here, sizeof here, "%u/%u", shard, shards);
    if (check_text(r, "shard", there, here))
        return -1;
    snprintf(there, sizeof there, "0x%" PRIx64, r->f->seed);
    snprintf(here, sizeof here, "0x%" PRIx64, r->h->seed);
    return check_text(r, "seed", there, here);
}

static int check_backends(const struct resume *r)
{
    if (r->f->backend_count != r->h->backend_count)
        return fp4_fail(r->err, FP4_EUSAGE, "cannot resume from '%s': it has %zu backends, but this run has %zu", r->f->path,
                        r->f->backend_count, r->h->backend_count);
    for (size_t i = 0; i < r->h->backend_count; i++)
        if (check_text(r, "list of backends", r->f->backends[i], r->h->backends[i]))
            return -1;
    return 0;
}

/* Time, host and command may differ. Results of two tools or of two builds of a backend must not end up in one file, because its
 * provenance could name only one of them. */
static int check_makers(const struct resume *r)
{
    const struct dump_provenance *p = &r->h->provenance;

    if (p->tool && check_text(r, "tool", dump_provenance_text(r->f, "tool"), p->tool))
        return -1;
    for (size_t i = 0; i < p->build_count; i++)
        if (check_text(r, "build of a backend", dump_provenance_build(r->f, p->builds[i].backend), p->builds[i].build))
            return -1;
    return 0;
}

typedef int keep_case(const char *name, const char *text, void *arg);

static int take_case(const struct resume *r, size_t i, const char *text, keep_case *keep, void *arg)
{
    cJSON *tree = dump_case_tree(r->f, i, text, r->err);
    struct dump_case c;
    int status = 0;

    if (!tree || dump_case_take(r->f, i, tree, &c, r->err))
        return -1;
    if (keep(c.name, text, arg))
        status = fp4_fail(r->err, FP4_EIO, "cannot resume from '%s': case '%s' was refused", r->f->path, c.name);
    dump_case_release(&c);
    return status;
}

static int take_cases(const struct resume *r, keep_case *keep, void *arg, size_t *found)
{
    int status = 0;

    for (size_t i = 0; i < r->f->count && !status; i++) {
        char *text = dump_case_text(r->f, i, r->err);
        status = text ? take_case(r, i, text, keep, arg) : -1;
        free(text);
        *found += !status;
    }
    return status;
}

static int resume_from(const struct resume *r, keep_case *keep, void *arg, size_t *found)
{
    struct fp4_error why = { 0 };

    if (source_open(&r->f->source, r->f->path, &why))
        return fp4_fail(r->err, why.code, "cannot resume from '%s': %s", r->f->path, why.msg);
    if (dump_scan(r->f, SCAN_PARTIAL, &why))
        return fp4_fail(r->err, why.code, "cannot resume: %s", why.msg);
    if (!(r->f->seen >> MEMBER_CASES & 1))
        return 0; /* cut off before the first case */
    if (check_text(r, "suite", r->f->suite, r->h->suite) || check_numbers(r) || check_backends(r) || check_makers(r))
        return -1;
    return take_cases(r, keep, arg, found);
}

int dump_resume(const char *path, const struct dump_header *h, int (*keep)(const char *name, const char *text, void *arg),
                void *arg, size_t *found, struct fp4_error *err)
{
    char *target = dump_target_path(path), *partial = target ? dump_partial_path(target) : NULL;
    struct resume r = { .h = h, .err = err };
    struct stat st;
    int status = 0;

    *found = 0;
    if (!partial)
        status = fp4_fail(err, FP4_EIO, "out of memory");
    else if (stat(partial, &st) && errno != ENOENT && errno != ENOTDIR)
        status = fp4_fail(err, FP4_EIO, "cannot resume from '%s': %s", partial, strerror(errno));
    else if (stat(partial, &st) == 0 && st.st_size > 0) {
        r.f = dump_file_new(partial, err);
        status = r.f ? resume_from(&r, keep, arg, found) : -1;
    }
    dump_read_close(r.f);
    free(partial);
    free(target);
    return status;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "run_diagnosis.h"

#include "report.h"

#include <stdlib.h>
#include <string.h>

static const struct case_tensors *result_of(const struct dump_result *results, size_t count, const char *backend)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].backend, backend) == 0 && results[i].status == DUMP_OK)
            return results[i].t;
    return NULL;
}

static bool outputs_differ(const struct case_tensors *a, const struct case_tensors *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->t[i].role == TENSOR_OUTPUT && a->t[i].written && b->t[i].written &&
            memcmp(a->t[i].data, b->t[i].data, a->t[i].bytes) != 0)
            return true;
    return false;
}

static size_t side_of(struct run_diagnosis *d, const char *backend)
{
    size_t i = 0;

    while (i < d->count && strcmp(d->sides[i].backend, backend) != 0)
        i++;
    if (i == d->count && d->count < DUMP_RESULTS_MAX)
        snprintf(d->sides[d->count++].backend, sizeof d->sides[0].backend, "%s", backend);
    return i;
}

static void keep(struct diagnoser *g, const char *name, const struct dump_result *r)
{
    struct dump_case view;

    if (case_view(name, r->backend, DUMP_OK, NULL, r->t, &view, NULL))
        return;
    diagnoser_add(g, 'b', &view, &view.results[0], true);
    case_view_release(&view);
}

void run_diagnosis_case(struct run_diagnosis *d, const char *name, const struct dump_result *results, size_t count)
{
    const struct case_tensors *ref = result_of(results, count, "ref");

    for (size_t i = 0; ref && i < count; i++) {
        if (results[i].status != DUMP_OK || results[i].t == ref)
            continue;
        size_t at = side_of(d, results[i].backend);
        if (at == DUMP_RESULTS_MAX)
            continue;
        d->sides[at].compared++;
        if (!outputs_differ(ref, results[i].t))
            continue;
        d->sides[at].differing++;
        if (!d->sides[at].diagnoser)
            d->sides[at].diagnoser = diagnoser_new();
        if (d->sides[at].diagnoser)
            keep(d->sides[at].diagnoser, name, &results[i]);
    }
}

static int print_side(const struct run_diagnosis *d, size_t i, FILE *out, struct fp4_error *err)
{
    struct diagnosis *g = calloc(1, sizeof *g);
    struct text t = { 0 };
    int status = g ? diagnoser_conclude(d->sides[i].diagnoser, g, err) : fp4_fail(err, FP4_EIO, "out of memory");

    if (status == 0) {
        diagnosis_text(g, NULL, d->sides[i].backend, "  ", out, &t);
        fprintf(out, "\nbackend '%s' differs from ref in %zu of %zu cases; diagnosis:\n%s", d->sides[i].backend,
                d->sides[i].differing, d->sides[i].compared, t.data ? t.data : "");
    }
    text_release(&t);
    free(g);
    return status;
}

int run_diagnosis_print(const struct run_diagnosis *d, FILE *out, struct fp4_error *err)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->sides[i].diagnoser && print_side(d, i, out, err))
            return -1;
    return 0;
}

void run_diagnosis_release(struct run_diagnosis *d)
{
    for (size_t i = 0; i < d->count; i++)
        diagnoser_free(d->sides[i].diagnoser);
    d->count = 0;
}

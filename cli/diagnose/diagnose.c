/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose.c: collects evidence, and turns it into findings, op by op. */
#include "diagnose.h"

#include "search.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_DIFFERING 40 /* of each op and side */
#define KEPT_EQUAL 32
#define ROUNDS 6 /* findings of an op, before the rest has no known cause */
#define KEPT_BYTES ((size_t)256 << 20)

struct diagnoser {
    struct evidence *items;
    size_t count, capacity;
    size_t bytes;
    size_t differing; /* handed in */
};

struct diagnoser *diagnoser_new(void)
{
    return calloc(1, sizeof(struct diagnoser));
}

void diagnoser_free(struct diagnoser *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->count; i++)
        evidence_release(&g->items[i]);
    free(g->items);
    free(g);
}

/* ---- collecting ------------------------------------------------------------------------------------------------------------------- */

static size_t weight(const struct evidence *e)
{
    size_t bytes = 0;

    for (size_t i = 0; i < e->count; i++)
        bytes += e->seen[i].data ? e->seen[i].bytes : 0;
    return bytes;
}

/* Room for e: a free slot, or that of the largest one of its kind if that is larger. */
static struct evidence *room_for(struct diagnoser *g, const struct evidence *e)
{
    size_t limit = e->differs ? KEPT_DIFFERING : KEPT_EQUAL, kind = 0;
    struct evidence *largest = NULL;

    for (size_t i = 0; i < g->count; i++) {
        struct evidence *x = &g->items[i];

        if (x->side != e->side || x->differs != e->differs || x->c.op != e->c.op)
            continue;
        kind++;
        if (!largest || x->elements > largest->elements)
            largest = x;
    }
    if (kind >= limit || g->bytes > KEPT_BYTES) {
        if (!largest || largest->elements <= e->elements)
            return NULL;
        g->bytes -= weight(largest);
        evidence_release(largest);
        return largest;
    }
    if (g->count == g->capacity) {
        size_t capacity = g->capacity ? 2 * g->capacity : 64;
        struct evidence *grown = realloc(g->items, capacity * sizeof *grown);

        if (!grown)
            return NULL;
        g->items = grown;
        g->capacity = capacity;
    }
    return &g->items[g->count++];
}

void diagnoser_add(struct diagnoser *g, char side, const struct dump_case *recorded, const struct dump_case_result *r, bool differs)
{
    struct evidence e, *slot;

    g->differing += differs;
    if (!evidence_copy(&e, side, recorded, r, differs) || !(slot = room_for(g, &e))) {
        evidence_release(&e);
        return;
    }
    g->bytes += weight(&e);
    *slot = e;
}

/* ---- concluding ---------------------------------------------------------------------------------------------------------------------- */

static bool among(const struct diagnosis_finding *f, const struct deviation *row)
{
    for (size_t i = 0; i < f->same_count; i++)
        if (f->same[i] == row)
            return true;
    return false;
}

/* What one op cannot tell apart another one may: where f would be explained as well by what explains g, and not the other way round, it is
 * called that. */
static void rename_by(struct diagnosis_finding *f, const struct diagnosis_finding *g)
{
    if (f == g || f->side != g->side || f->depth != 1 || g->depth != 1 || f->stack[0] == g->stack[0] || !among(f, g->stack[0]) ||
        among(g, f->stack[0]))
        return;
    for (size_t i = 0; i < f->same_count; i++)
        if (f->same[i] == g->stack[0])
            f->same[i] = f->stack[0];
    f->stack[0] = g->stack[0];
    memcpy(f->model, g->model, sizeof f->model);
}

/* The same cause in another op of the same side. */
static bool merge(struct diagnosis *out, const struct diagnosis_finding *f)
{
    for (size_t i = 0; i < out->count; i++) {
        struct diagnosis_finding *x = &out->findings[i];

        if (x->side != f->side || x->depth != f->depth || !f->depth || x->by_digest != f->by_digest ||
            memcmp(x->stack, f->stack, sizeof f->stack) != 0)
            continue;
        for (size_t k = 0; k < f->depth; k++)
            x->alone[k] += f->alone[k];
        x->cases += f->cases;
        x->whole += f->whole;
        x->differing += f->differing;
        x->explained += f->explained;
        x->broken += f->broken;
        x->others += f->others;
        x->others_broken += f->others_broken;
        x->ops |= f->ops;
        if (strcmp(x->model, f->model) != 0)
            x->model[0] = '\0';
        /* what explains one op as well must explain the other too */
        for (size_t k = 0; k < x->same_count;) {
            if (among(f, x->same[k]))
                k++;
            else
                x->same[k] = x->same[--x->same_count];
        }
        for (size_t k = 0; k < f->place_count && x->place_count < DIAGNOSIS_PLACES; k++)
            x->places[x->place_count++] = f->places[k];
        return true;
    }
    return false;
}

struct raw { /* findings op by op, before they are brought together */
    struct diagnosis_finding items[2 * DIAGNOSIS_FINDINGS];
    size_t count;
};

static void bring_together(struct raw *raw, struct diagnosis *out)
{
    for (size_t i = 0; i < raw->count; i++)
        for (size_t k = 0; k < raw->count; k++)
            rename_by(&raw->items[i], &raw->items[k]);
    for (size_t i = 0; i < raw->count; i++)
        if (!merge(out, &raw->items[i]) && out->count < DIAGNOSIS_FINDINGS)
            out->findings[out->count++] = raw->items[i];
}

/* The most certain first: causes before the unknown, then by the number of cases. */
static int by_weight(const void *a, const void *b)
{
    const struct diagnosis_finding *x = a, *y = b;

    if (!x->depth != !y->depth)
        return x->depth ? -1 : 1;
    if (x->cases != y->cases)
        return x->cases > y->cases ? -1 : 1;
    return x->side - y->side;
}

static int conclude_op(struct diagnoser *g, char side, enum fp4_op op, struct raw *raw, struct diagnosis *out,
                       struct fp4_error *err)
{
    struct evidence **cases = malloc((g->count + 1) * sizeof *cases);
    struct diagnosis_finding f;
    size_t differing = 0, equal;

    if (!cases)
        return fp4_fail(err, FP4_EIO, "out of memory for a diagnosis");
    for (size_t i = 0; i < g->count; i++)
        if (g->items[i].side == side && g->items[i].c.op == op && g->items[i].differs && evidence_open(&g->items[i])) {
            out->left_out--;
            if (g->items[i].differing)
                cases[differing++] = &g->items[i];
        }
    equal = differing;
    for (size_t i = 0; differing && i < g->count; i++)
        if (g->items[i].side == side && g->items[i].c.op == op && !g->items[i].differs && evidence_open(&g->items[i]) &&
            !g->items[i].differing)
            cases[equal++] = &g->items[i];
    out->considered += differing;
    for (size_t round = 1; search_next(cases, differing, equal - differing, round > ROUNDS, &f); round++) {
        f.side = side;
        if (raw->count < sizeof raw->items / sizeof raw->items[0])
            raw->items[raw->count++] = f;
    }
    for (size_t i = 0; i < g->count; i++)
        if (g->items[i].side == side && g->items[i].c.op == op)
            evidence_close(&g->items[i]);
    free(cases);
    return 0;
}

int diagnoser_conclude(struct diagnoser *g, struct diagnosis *out, struct fp4_error *err)
{
    struct raw *raw = calloc(1, sizeof *raw);
    int status = 0;

    *out = (struct diagnosis){ .differing = g->differing, .left_out = g->differing };
    if (!raw)
        return fp4_fail(err, FP4_EIO, "out of memory for a diagnosis");
    for (const char *side = "ab"; *side; side++)
        for (int op = 0; op < OP_COUNT; op++)
            if (status == 0)
                status = conclude_op(g, *side, (enum fp4_op)op, raw, out, err);
    bring_together(raw, out);
    qsort(out->findings, out->count, sizeof out->findings[0], by_weight);
    free(raw);
    return status;
}

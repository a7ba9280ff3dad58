/* SPDX-License-Identifier: Apache-2.0 */
/* search.c: which deviation, or stack of deviations, explains the cases. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEARCH_CASES 6        /* that every hypothesis is tried on; the rest is for those that did best */
#define SEARCH_ELEMENTS 32768 /* of a case that every hypothesis is tried on, where there are such */
#define PAIR_ELEMENTS 8192    /* of the case on which pairs are tried */
#define PAIR_SINGLES 96
#define WORTH 0.5 /* of the differing units less the broken ones, to be named */
#define EPSILON 1e-9
#define NO_CHANCE (-1e9)
#define PENALTY 0.25 /* the most that a case can count against a hypothesis that another case may still owe its fault to */

struct candidate {
    const struct deviation *row;
    double score;
    double wide; /* over all cases, where several have one score */
    size_t equal_broken;
};

static struct dialect with(const struct dialect *base, const struct deviation *row)
{
    struct dialect d = *base;

    d.slot[row->slot] = row->value;
    return d;
}

/* 1: explains everything and breaks nothing. */
static double grade(const struct evidence *e, const struct score *s)
{
    double g = ((double)s->explained - (double)s->broken) / (double)e->differing;

    return g < -PENALTY ? -PENALTY : g;
}

static bool whole(const struct score *s)
{
    return s->missed == 0 && s->broken == 0;
}

static bool open_to(const struct deviation *row, const struct dialect *base, enum fp4_op op)
{
    return row->ops >> op & 1u && !base->slot[row->slot];
}

/* ---- one deviation on top of a dialect ------------------------------------------------------------------------------------------- */

/* The sum of the grades; NO_CHANCE as soon as it cannot reach `least` any more, since most hypotheses fail on the first case. */
static double score_reaching(struct evidence **cases, size_t n, const struct dialect *d, double least)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++) {
        struct score s = evidence_score(cases[i], d);

        sum += grade(cases[i], &s);
        if (sum + (double)(n - i - 1) < least - EPSILON)
            return NO_CHANCE;
    }
    return sum;
}

static double score_all(struct evidence **cases, size_t n, const struct dialect *d)
{
    return score_reaching(cases, n, d, NO_CHANCE);
}

static size_t equal_broken(struct evidence **equal, size_t n, const struct dialect *d)
{
    size_t broken = 0;

    for (size_t i = 0; i < n; i++)
        broken += evidence_score(equal[i], d).broken > 0;
    return broken;
}

struct hunt {
    struct evidence **cases; /* to search on */
    size_t count;
    struct evidence **wide; /* all that are not settled: for ties */
    size_t wide_count;
    struct evidence **equal;
    size_t equal_count;
    enum fp4_op op;
    struct candidate *all; /* of the last step, in table order */
};

/* Among those that explain the chosen cases equally well: the one that explains most of all cases, leaves more of the equal ones alone,
 * stands first in the table. A single one is spared the trouble. */
static struct candidate break_ties(struct hunt *h, const struct dialect *base, double top)
{
    struct candidate best = { 0 };
    double best_wide = 0;
    size_t tied = 0;

    for (size_t i = 0; i < fp4_deviation_count; i++)
        tied += h->all[i].row && h->all[i].score >= top - EPSILON;
    for (size_t i = 0; i < fp4_deviation_count; i++) {
        struct candidate *c = &h->all[i];

        if (!c->row || c->score < top - EPSILON)
            continue;
        struct dialect d = with(base, c->row);
        c->wide = tied > 1 ? score_all(h->wide, h->wide_count, &d) : 0;
        c->equal_broken = tied > 1 ? equal_broken(h->equal, h->equal_count, &d) : 0;
        if (!best.row || c->wide > best_wide + EPSILON || (c->wide > best_wide - EPSILON && c->equal_broken < best.equal_broken)) {
            best = *c;
            best_wide = c->wide;
        }
    }
    return best;
}

/* The best deviation on top of base; its row is NULL when there is none at all. */
static struct candidate best_on(struct hunt *h, const struct dialect *base)
{
    struct candidate best = { .score = NO_CHANCE };

    for (size_t i = 0; i < fp4_deviation_count; i++) {
        const struct deviation *row = &fp4_deviations[i];
        struct candidate *c = &h->all[i];

        *c = (struct candidate){ .score = NO_CHANCE };
        if (!open_to(row, base, h->op))
            continue;
        struct dialect d = with(base, row);
        *c = (struct candidate){ .row = row, .score = score_reaching(h->cases, h->count, &d, best.score) };
        if (c->score > best.score)
            best = *c;
    }
    if (!best.row)
        return best;
    return break_ties(h, base, best.score);
}

/* ---- pairs -------------------------------------------------------------------------------------------------------------------------- */

/* Deviations that change the case, each outcome once. */
static size_t telling(struct evidence *e, const struct deviation *rows[PAIR_SINGLES])
{
    static const struct dialect right;
    uint64_t hashes[PAIR_SINGLES];
    size_t n = 0;

    for (size_t i = 0; i < fp4_deviation_count && n < PAIR_SINGLES; i++) {
        struct dialect d = with(&right, &fp4_deviations[i]);
        bool known = false;

        if (!open_to(&fp4_deviations[i], &right, e->c.op))
            continue;
        evidence_score(e, &d);
        hashes[n] = evidence_hash(e);
        for (size_t k = 0; k < n; k++)
            known |= hashes[k] == hashes[n];
        if (!known && !evidence_same_as_reference(e))
            rows[n++] = &fp4_deviations[i];
    }
    return n;
}

static bool best_pair(struct hunt *h, struct dialect *found, double *score)
{
    static const struct dialect right;
    const struct deviation *rows[PAIR_SINGLES];
    struct evidence *small = h->cases[0];
    double best = WORTH;
    bool any = false;

    for (size_t i = 1; i < h->count; i++)
        if (h->cases[i]->elements < small->elements)
            small = h->cases[i];
    if (small->elements > PAIR_ELEMENTS)
        return false;
    size_t n = telling(small, rows);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            if (rows[i]->slot == rows[k]->slot)
                continue;
            struct dialect d = with(&right, rows[i]);
            d = with(&d, rows[k]);
            struct score s = evidence_score(small, &d);
            double g = grade(small, &s);

            if (g > best + EPSILON) {
                best = g;
                *found = d;
                any = true;
            }
        }
    if (any)
        *score = score_all(h->cases, h->count, found);
    return any;
}

/* ---- a stack ------------------------------------------------------------------------------------------------------------------------- */

static size_t depth_of(const struct dialect *d)
{
    size_t n = 0;

    for (size_t i = 0; i < SLOT_COUNT; i++)
        n += d->slot[i] != 0;
    return n;
}

static bool all_whole(struct hunt *h, const struct dialect *d)
{
    for (size_t i = 0; i < h->count; i++) {
        struct score s = evidence_score(h->cases[i], d);

        if (!whole(&s) && grade(h->cases[i], &s) > 0)
            return false;
    }
    return true;
}

/* Peels on: adds deviations as long as each takes away half of what is left. */
static double peel(struct hunt *h, struct dialect *d, double score)
{
    while (depth_of(d) < DIAGNOSIS_STACK && score < (double)h->count - 1e-9 && !all_whole(h, d)) {
        struct candidate next = best_on(h, d);

        if (!next.row || (double)h->count - next.score > 0.5 * ((double)h->count - score))
            break;
        *d = with(d, next.row);
        score = next.score;
    }
    return score;
}

/* Where the chosen cases are explained and others only nearly, a second fault shows in those: it is looked for there. */
static void peel_rest(struct hunt *h, struct dialect *d)
{
    struct evidence *nearly[SEARCH_CASES];
    struct hunt rest = *h;

    rest.cases = nearly;
    rest.count = 0;
    for (size_t i = 0; i < h->wide_count && rest.count < SEARCH_CASES; i++) {
        struct score s = evidence_score(h->wide[i], d);

        if (h->wide[i]->elements <= SEARCH_ELEMENTS && !whole(&s) && grade(h->wide[i], &s) >= WORTH)
            nearly[rest.count++] = h->wide[i];
    }
    if (rest.count)
        peel(&rest, d, score_all(rest.cases, rest.count, d));
}

static void note_same(const struct hunt *h, const struct candidate *best, struct diagnosis_finding *out)
{
    for (size_t i = 0; i < fp4_deviation_count && out->same_count < DIAGNOSIS_SAME; i++) {
        const struct candidate *c = &h->all[i];

        if (c->row && c->row != best->row && c->score >= best->score - EPSILON && c->wide >= best->wide - EPSILON &&
            c->equal_broken == best->equal_broken)
            out->same[out->same_count++] = c->row;
    }
}

/* The dialect that explains most of the cases of h. Fills out->same. */
static double hunt_down(struct hunt *h, struct dialect *found, struct diagnosis_finding *out)
{
    static const struct dialect right;
    struct candidate first = best_on(h, &right);
    struct dialect pair;
    double score, pair_score;

    *found = right;
    if (!first.row)
        return -1.0;
    note_same(h, &first, out);
    *found = with(&right, first.row);
    score = peel(h, found, first.score);
    if (score < (double)h->count * 0.999 && best_pair(h, &pair, &pair_score) && pair_score > score + EPSILON) {
        *found = pair;
        score = peel(h, found, pair_score);
    }
    peel_rest(h, found);
    if (depth_of(found) > 1)
        out->same_count = 0;
    return score;
}

/* ---- a finding -------------------------------------------------------------------------------------------------------------------------- */

static void write_stack(const struct dialect *d, struct diagnosis_finding *out)
{
    for (int i = 0; i < SLOT_COUNT; i++)
        if (d->slot[i])
            out->stack[out->depth++] = deviation_of((enum slot)i, d->slot[i]);
}

/* The rs-model that a rule, a map or both make of the cases' own. */
static const char *model_name(const struct dialect *d, const struct fp4_case *c)
{
    struct fp4_rs_model m = rs_model_row(c->knob[KNOB_RS])->model;

    if (d->slot[SLOT_MODEL])
        return fp4_rs_models[d->slot[SLOT_MODEL] - 1].name;
    if (d->slot[SLOT_RULE] > FP4_RS_RULE_COUNT || (!d->slot[SLOT_RULE] && !d->slot[SLOT_MAP]))
        return "";
    if (d->slot[SLOT_RULE])
        m.rule = (enum fp4_rs_rule)(d->slot[SLOT_RULE] - 1);
    if (d->slot[SLOT_MAP])
        m.map = (enum fp4_byte_map)(d->slot[SLOT_MAP] - 1);
    for (size_t i = 0; i < fp4_rs_model_count; i++)
        if (fp4_rs_models[i].model.rule == m.rule && (fp4_rs_models[i].model.map == m.map || m.rule == FP4_RS_HASH32))
            return fp4_rs_models[i].name;
    return "";
}

static void take_case(struct evidence *e, const struct dialect *d, const struct score *s, struct diagnosis_finding *out)
{
    const char *model = model_name(d, &e->c);

    if (out->cases++ == 0)
        snprintf(out->model, sizeof out->model, "%s", model);
    else if (strcmp(out->model, model) != 0)
        out->model[0] = '\0';
    out->whole += whole(s);
    out->differing += e->differing;
    out->explained += s->explained;
    out->broken += s->broken;
    out->by_digest |= e->by_digest;
    out->ops |= 1u << e->c.op;
    out->place_count += evidence_places(e, out->places + out->place_count, DIAGNOSIS_PLACES - out->place_count);
    for (size_t i = 0; i < out->depth; i++) {
        static const struct dialect right;
        struct dialect one = with(&right, out->stack[i]);

        out->alone[i] += out->depth == 1 ? s->explained : evidence_score(e, &one).explained;
    }
    e->settled = true;
}

static void settle(struct evidence **cases, size_t differing, struct hunt *h, const struct dialect *d,
                   struct diagnosis_finding *out)
{
    write_stack(d, out);
    for (size_t i = 0; i < differing; i++) {
        if (cases[i]->settled)
            continue;
        struct score s = evidence_score(cases[i], d);
        if (grade(cases[i], &s) >= WORTH)
            take_case(cases[i], d, &s, out);
    }
    out->others = h->equal_count;
    out->others_broken = equal_broken(h->equal, h->equal_count, d);
}

/* Nothing explains them: they are settled as such, with what came nearest. */
static void give_up(struct evidence **cases, size_t differing, const struct dialect *nearest, struct diagnosis_finding *out)
{
    size_t same_count = 0;

    for (int i = 0; i < SLOT_COUNT && !same_count; i++)
        if (nearest->slot[i])
            out->same[same_count++] = deviation_of((enum slot)i, nearest->slot[i]);
    out->same_count = same_count;
    for (size_t i = 0; i < differing; i++)
        if (!cases[i]->settled) {
            struct score s = evidence_score(cases[i], nearest);

            out->cases++;
            out->differing += cases[i]->differing;
            out->explained += s.explained;
            out->broken += s.broken;
            out->by_digest |= cases[i]->by_digest;
            out->ops |= 1u << cases[i]->c.op;
            cases[i]->settled = true;
        }
}

static int by_elements(const void *a, const void *b)
{
    const struct evidence *x = *(struct evidence *const *)a, *y = *(struct evidence *const *)b;

    return x->elements != y->elements ? (x->elements > y->elements ? 1 : -1) : strcmp(x->name, y->name);
}

/* Small cases are cheap, and several of different data tell more than one: half from the small end, half spread over the rest; one alone
 * where all are large. */
static size_t choose(struct evidence **left, size_t n, struct evidence **chosen)
{
    size_t count = 0;

    if (n)
        qsort(left, n, sizeof *left, by_elements);
    while (n > 1 && left[n - 1]->elements > SEARCH_ELEMENTS)
        n--;
    for (size_t i = 0; i < SEARCH_CASES && i < n; i++) {
        size_t half = SEARCH_CASES / 2;
        size_t at = n <= SEARCH_CASES || i < half ? i : half + (i - half) * (n - half) / (SEARCH_CASES - half);

        chosen[count++] = left[at];
    }
    return count;
}

bool search_next(struct evidence **cases, size_t differing, size_t equal, bool last, struct diagnosis_finding *out)
{
    struct evidence *chosen[SEARCH_CASES];
    struct hunt h = { .cases = chosen, .equal = cases + differing, .equal_count = equal };
    struct dialect found = { { 0 } };

    *out = (struct diagnosis_finding){ 0 };
    h.wide = malloc((differing + 1) * sizeof *h.wide);
    h.all = malloc(fp4_deviation_count * sizeof *h.all);
    for (size_t i = 0; h.wide && i < differing; i++)
        if (!cases[i]->settled)
            h.wide[h.wide_count++] = cases[i];
    bool any = h.wide_count && h.all;
    if (any && !last) {
        h.count = choose(h.wide, h.wide_count, chosen);
        h.op = chosen[0]->c.op;
        hunt_down(&h, &found, out);
        settle(cases, differing, &h, &found, out);
    }
    if (any && !out->cases) {
        *out = (struct diagnosis_finding){ 0 };
        give_up(cases, differing, &found, out);
    }
    free(h.wide);
    free(h.all);
    return any;
}

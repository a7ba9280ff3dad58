/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistical.c: --statistical. Codes of stochastic outputs are judged by stat.h, each side for itself, against the probabilities that the
 * values of the reference have under the case's rule; every other output has to be equal byte for byte.
 */
#include "backend.h"
#include "case_build.h"
#include "diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool statistical_applies(const struct dump_case *c)
{
    struct fp4_error ignored;
    struct fp4_case parsed;

    return case_parse(c->name, &parsed, &ignored) == 0 && case_uses_rs_model(&parsed);
}

/* ---- the values that were rounded ------------------------------------------------------------------------------------------------------- */

static struct tensor *find_with(struct case_tensors *t, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX];
    struct tensor *found;

    snprintf(full, sizeof full, "%s%s", name, suffix);
    found = tensor_find(t, full);
    return found && found->data ? found : NULL;
}

/* What the codes were made of: the stage, or the input itself where nothing is scaled. */
static const float *values_of(struct case_tensors *t, const char *suffix)
{
    struct tensor *v = find_with(t, "scaled", suffix);

    if (!v)
        v = find_with(t, "x", "");
    return v && v->dtype == FP4_F32 ? (const float *)(const void *)v->data : NULL;
}

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Random words that are an input: whether they look like a draw, that is, hardly any comes twice. */
static bool words_are_random(struct case_tensors *t)
{
    static const char *const names[] = { "rbits", "rbits.t" };
    bool random = true;

    for (size_t k = 0; k < 2 && random; k++) {
        struct tensor *words = find_with(t, names[k], "");
        size_t n = words ? words->bytes / 4 : 0, distinct = n > 0;
        uint32_t *sorted = n ? malloc(words->bytes) : NULL;

        if (!sorted)
            continue;
        memcpy(sorted, words->data, words->bytes);
        qsort(sorted, n, sizeof *sorted, compare_words);
        for (size_t i = 1; i < n; i++)
            distinct += sorted[i] != sorted[i - 1];
        random = distinct * 10 >= n * 9;
        free(sorted);
    }
    return random;
}

/* ---- one side ------------------------------------------------------------------------------------------------------------------------------ */

struct sheets {
    struct stat_sheet row, col;
};

static void release_sheets(struct sheets *s)
{
    stat_sheet_release(&s->row);
    stat_sheet_release(&s->col);
}

/* codes of a side: of the dump, or made anew. NULL: not at hand. */
static const uint8_t *codes_of(const struct diff_side *side, const char *name, struct case_context *ctx,
                               const struct dump_tensor **t)
{
    for (size_t i = 0; i < side->r->count; i++)
        if (strcmp(side->r->t[i].name, name) == 0) {
            *t = &side->r->t[i];
            return (*t)->data ? (*t)->data : case_context_bytes(ctx, side->c, side->backend, *t);
        }
    return NULL;
}

static int make_sheet(struct stat_book *book, const struct diff_side *side, const char *suffix, struct case_context *ctx,
                      struct fp4_rs_model model, struct stat_sheet *out, bool *missing, struct fp4_error *err)
{
    const float *values = values_of(&ctx->runs[0].t, suffix);
    const struct dump_tensor *t = NULL;
    char name[TENSOR_NAME_MAX];

    snprintf(name, sizeof name, "codes%s", suffix);
    if (!values || !find_with(&ctx->runs[0].t, "codes", suffix))
        return 0;
    const uint8_t *codes = codes_of(side, name, ctx, &t);
    if (!codes || t->ndim != 2) {
        *missing = true;
        return 0;
    }
    return stat_sheet_make(book, model, values, codes, t->dims[0], t->dims[1], out, err);
}

static int make_sheets(struct stat_book *book, const struct diff_side *side, struct case_context *ctx, struct fp4_rs_model model,
                       struct sheets *s, bool *missing, struct fp4_error *err)
{
    return make_sheet(book, side, "", ctx, model, &s->row, missing, err) ||
                   make_sheet(book, side, ".t", ctx, model, &s->col, missing, err)
               ? -1
               : 0;
}

/* ---- other seeds of the same case --------------------------------------------------------------------------------------------------------- */

#define KEPT_CASES 32
#define KEPT_ELEMENTS ((size_t)1 << 14)

struct statistical_memory {
    struct {
        char name[CASE_NAME_MAX]; /* up to the seed */
        uint64_t seed;
        struct sheets sides[2];
    } kept[KEPT_CASES];
    size_t next;
};

void statistical_forget(struct statistical_memory **memory)
{
    for (size_t i = 0; *memory && i < KEPT_CASES; i++)
        for (size_t k = 0; k < 2; k++)
            release_sheets(&(*memory)->kept[i].sides[k]);
    free(*memory);
    *memory = NULL;
}

static void name_without_seed(const struct fp4_case *c, char name[CASE_NAME_MAX])
{
    case_name(c, name);
    *strrchr(name, '/') = '\0';
}

static void test_seeds(struct stat_book *book, const struct statistical_memory *memory, const struct fp4_case *c, size_t side,
                       const struct sheets *s)
{
    char name[CASE_NAME_MAX];

    name_without_seed(c, name);
    for (size_t i = 0; memory && i < KEPT_CASES; i++) {
        const struct sheets *other = &memory->kept[i].sides[side];

        if (strcmp(memory->kept[i].name, name) != 0 || memory->kept[i].seed == c->seed)
            continue;
        if (s->row.residual && other->row.residual)
            stat_test_pair(book, "draws: another seed of the case", &s->row, &other->row);
        if (s->col.residual && other->col.residual)
            stat_test_pair(book, "draws: another seed of the case", &s->col, &other->col);
        return;
    }
}

/* The sheets are the memory's from here on, when it takes them. Cases whose words are an input are no draws of a seed. */
static void remember(struct statistical_memory **memory, const struct fp4_case *c, size_t side, struct sheets *s)
{
    struct statistical_memory *m = *memory ? *memory : calloc(1, sizeof *m);
    size_t at;

    *memory = m;
    if (!m || s->row.lines * s->row.packed > KEPT_ELEMENTS || s->col.lines * s->col.packed > KEPT_ELEMENTS)
        return;
    at = side == 0 ? m->next : (m->next + KEPT_CASES - 1) % KEPT_CASES; /* A goes first */
    if (side == 0) {
        for (size_t k = 0; k < 2; k++)
            release_sheets(&m->kept[at].sides[k]);
        name_without_seed(c, m->kept[at].name);
        m->kept[at].seed = c->seed;
        m->next = (m->next + 1) % KEPT_CASES;
    } else if (m->kept[at].seed != c->seed || !m->kept[at].sides[0].row.residual != !s->row.residual) {
        return; /* A was not taken */
    }
    m->kept[at].sides[side] = *s;
    *s = (struct sheets){ 0 };
}

/* Where the case itself gives both directions the same words (kernel-unfused: two calls with one random state), that is no finding. */
static bool directions_share_words(struct case_tensors *t)
{
    const struct tensor *row = find_with(t, "random", ""), *col = find_with(t, "random", ".t");
    size_t same = 0, count = 0;

    for (size_t i = 0; row && col && i < row->dims[0] && i < col->dims[0]; i++)
        for (size_t j = 0; j < row->dims[1] && j < col->dims[1]; j++) {
            same += tensor_element(row->data, FP4_U32, i * row->dims[1] + j) ==
                    tensor_element(col->data, FP4_U32, i * col->dims[1] + j);
            count++;
        }
    return same * 20 > count;
}

static void test_sheets(struct stat_book *book, const struct sheets *s, struct case_tensors *t)
{
    const struct stat_sheet *const all[] = { &s->row, &s->col };

    for (size_t i = 0; i < 2; i++)
        if (all[i]->residual) {
            stat_test_values(book, all[i]);
            stat_test_independence(book, all[i]);
        }
    if (s->row.residual && s->col.residual) {
        if (!directions_share_words(t))
            stat_test_pair(book, "rowwise, transposed: same place", &s->row, &s->col);
        stat_test_transposed(book, &s->row, &s->col);
    }
}

/* A rule under which the side does not fail, when it fails under its own. */
static void name_rule(struct stat_side *out, const struct diff_side *side, struct case_context *ctx, enum fp4_rs_rule own,
                      double rate, size_t family)
{
    for (int rule = 0; rule < FP4_RS_RULE_COUNT; rule++) {
        struct stat_book *book = calloc(1, sizeof *book);
        struct fp4_rs_model model = { (enum fp4_rs_rule)rule, FP4_MAP_STRAIGHT, NULL };
        struct sheets s = { 0 };
        bool missing = false, passes = false;

        if (book && rule != (int)own && make_sheets(book, side, ctx, model, &s, &missing, NULL) == 0) {
            test_sheets(book, &s, &ctx->runs[0].t);
            stat_verdict(book, rate, family);
            passes = !book->side.fails;
        }
        release_sheets(&s);
        free(book);
        if (passes) {
            snprintf(out->rule, sizeof out->rule, "%s", rs_rule_name((enum fp4_rs_rule)rule));
            return;
        }
    }
}

/* ---- other draws: backends that can be run here ------------------------------------------------------------------------------------------------ */

static int run_draw(const struct backend_row *b, struct case_context *ctx, uint64_t seed, uint64_t offset, struct case_tensors *t)
{
    struct fp4_case c = ctx->fp4;
    struct case_tensors *given = &ctx->runs[0].t;
    struct fp4_error ignored;
    const uint64_t state[2] = { seed, offset };

    c.data = find_with(given, "given-amax", "") || find_with(given, "given-amax.t", "") ? &data_made_amax : &data_made;
    if (b->supports(&c, &ignored) || case_describe(&c, t, &ignored))
        return -1;
    for (size_t i = 0; i < t->count; i++) {
        struct tensor *from = t->t[i].role == TENSOR_INPUT ? find_with(given, t->t[i].name, "") : NULL;

        if (t->t[i].role != TENSOR_INPUT)
            continue;
        t->t[i].data = from && from->bytes == t->t[i].bytes ? malloc(from->bytes + 1) : NULL;
        if (!t->t[i].data)
            return -1;
        memcpy(t->t[i].data, from->data, from->bytes);
        if (strcmp(t->t[i].name, "rng-state") == 0)
            memcpy(t->t[i].data, state, sizeof state);
    }
    return backend_run_prepared(b, &c, t, &ignored);
}

/* The codes of another draw against those of the side: independent, or the backend does not look at what was changed. */
static int test_draw(struct stat_book *book, const char *name, struct case_tensors *t, struct case_context *ctx,
                     struct fp4_rs_model model, const struct sheets *s, struct fp4_error *err)
{
    static const char *const suffixes[] = { "", ".t" };
    const struct stat_sheet *const mine[] = { &s->row, &s->col };

    for (size_t i = 0; i < 2; i++) {
        struct stat_book other = { 0 };
        struct stat_sheet sheet;
        struct tensor *codes = find_with(t, "codes", suffixes[i]);

        if (!codes || !mine[i]->residual)
            continue;
        if (stat_sheet_make(&other, model, values_of(&ctx->runs[0].t, suffixes[i]), codes->data, codes->dims[0], codes->dims[1],
                            &sheet, err))
            return -1;
        stat_test_pair(book, name, mine[i], &sheet);
        stat_sheet_release(&sheet);
    }
    return 0;
}

static int test_draws(struct stat_book *book, const struct diff_side *side, bool live, struct case_context *ctx,
                      struct fp4_rs_model model, const struct sheets *s, struct fp4_error *err)
{
    static const struct {
        const char *name;
        uint64_t seed, offset;
    } changes[] = { { "draws: the next offset", 0, 1 }, { "draws: another seed", 1, 0 } };
    const struct backend_row *b = backend_find(side->backend);
    struct tensor *state = find_with(&ctx->runs[0].t, "rng-state", "");
    uint64_t now[2];
    int status = 0;

    if (!b || !state || !(live || b->threads))
        return 0;
    memcpy(now, state->data, sizeof now);
    for (size_t i = 0; i < 2 && status == 0; i++) {
        struct case_tensors t;

        memset(&t, 0, sizeof t);
        if (run_draw(b, ctx, now[0] + changes[i].seed, now[1] + changes[i].offset, &t) == 0)
            status = test_draw(book, changes[i].name, &t, ctx, model, s, err);
        case_release(&t);
    }
    return status;
}

/* ---- the case ------------------------------------------------------------------------------------------------------------------------------------ */

static int judge_side(const struct diff_side *const *sides, size_t number, const struct diff_policy *policy,
                      struct case_context *ctx, size_t family, struct statistical_memory **memory, struct stat_side *out,
                      bool *missing, struct fp4_error *err)
{
    struct fp4_rs_model model = rs_model_row(ctx->fp4.knob[KNOB_RS])->model;
    struct stat_book *book = calloc(1, sizeof *book);
    const struct diff_side *side = sides[number];
    bool live = number == 1 && policy->statistical.live_b;
    struct sheets s = { 0 };
    int status = book ? make_sheets(book, side, ctx, model, &s, missing, err) : fp4_fail(err, FP4_EIO, "out of memory");

    if (status == 0 && !*missing) {
        test_sheets(book, &s, &ctx->runs[0].t);
        test_seeds(book, *memory, &ctx->fp4, number, &s);
        status = test_draws(book, side, live, ctx, model, &s, err);
    }
    if (status == 0 && !*missing) {
        stat_verdict(book, policy->statistical.error_rate, family);
        *out = book->side;
        if (out->fails)
            name_rule(out, side, ctx, model.rule, policy->statistical.error_rate, family);
        remember(memory, &ctx->fp4, number, &s);
    }
    release_sheets(&s);
    free(book);
    return status;
}

static bool is_codes(const struct tensor_diff *t)
{
    return t->dtype == FP4_E2M1 && strncmp(t->name, "codes", 5) == 0;
}

int statistical_judge(struct case_diff *d, const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy,
                      struct case_context *ctx, size_t family, struct statistical_memory **memory, bool *judged,
                      struct fp4_error *err)
{
    const struct diff_side *const sides[] = { a, b };
    bool codes_differ = false;

    *judged = false;
    for (size_t i = 0; i < d->tensor_count; i++) {
        const struct tensor_diff *t = &d->tensors[i];

        if (t->equal || t->role != TENSOR_OUTPUT)
            continue;
        if (!is_codes(t) || t->only[0] || t->shape_differs)
            return 0; /* what is no code has to be equal: the exact rule says so */
        codes_differ = true;
    }
    if (!codes_differ || !ctx || !case_context_run(ctx, a->c))
        return 0;
    if (!words_are_random(&ctx->runs[0].t)) {
        size_t used = strlen(d->reason);

        snprintf(d->reason + used, sizeof d->reason - used, "; the random words are an input and no draw: no statistics");
        return 0;
    }
    for (size_t i = 0; i < 2; i++) {
        bool missing = false;

        /* Two sides: twice as many verdicts as cases. */
        if (judge_side(sides, i, policy, ctx, 2 * family, memory, &d->statistics[i], &missing, err))
            return -1;
        if (missing) {
            snprintf(d->reason, sizeof d->reason, "statistics need the codes of %s, which are missing: run with --bytes all",
                     i ? "B" : "A");
            d->verdict = VERDICT_DIFFERS;
            *judged = true;
            return 0;
        }
    }
    *judged = d->statistical = true;
    for (size_t i = 0; i < 2; i++)
        if (d->statistics[i].fails) {
            const struct stat_side *s = &d->statistics[i];

            d->verdict = VERDICT_DIFFERS;
            if (s->impossible)
                snprintf(d->reason, sizeof d->reason,
                         "statistics of %c: %zu codes that no random bits give, first at row %zu, column %zu", i ? 'B' : 'A',
                         s->impossible, s->impossible_row, s->impossible_col);
            else
                snprintf(d->reason, sizeof d->reason, "statistics of %c: %s, p %.2g (at most %.2g fails)", i ? 'B' : 'A',
                         s->worst[0].name, s->worst[0].p, s->threshold);
            return 0;
        }
    d->verdict = VERDICT_WITHIN;
    snprintf(d->reason, sizeof d->reason, "codes pass as two honest draws (%zu and %zu tests)", d->statistics[0].tests,
             d->statistics[1].tests);
    return 0;
}

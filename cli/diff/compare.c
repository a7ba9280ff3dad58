/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: two results of one case -> verdict, reason, and the tensors that differ. */
#include "diff.h"
#include "picks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdict_name(enum verdict v)
{
    static const char *const names[VERDICT_COUNT] = {
        [VERDICT_EQUAL] = "equal",     [VERDICT_WITHIN] = "within-tolerance",
        [VERDICT_DIFFERS] = "differs", [VERDICT_SKIPPED] = "skipped",
        [VERDICT_ERROR] = "error",     [VERDICT_NOT_COMPARABLE] = "not-comparable",
    };

    return names[v];
}

void case_diff_release(struct case_diff *d)
{
    free(d->tensors);
    d->tensors = NULL;
    d->tensor_count = 0;
}

__attribute__((format(printf, 3, 4))) static void conclude(struct case_diff *d, enum verdict v, const char *fmt, ...)
{
    va_list args;

    d->verdict = v;
    va_start(args, fmt);
    vsnprintf(d->reason, sizeof d->reason, fmt, args);
    va_end(args);
}

/* ---- states that forbid a comparison ----------------------------------------------------------------------------------------- */

static const char *reason_of(const struct diff_side *s)
{
    return s->r->reason && *s->r->reason ? s->r->reason : "no reason given";
}

static bool settle_missing(const struct diff_side *a, const struct diff_side *b, struct case_diff *d)
{
    if (a->r && b->r)
        return false;
    if (!a->r && !b->r) {
        conclude(d, VERDICT_SKIPPED, "no result of '%s' in A nor of '%s' in B", a->backend, b->backend);
        return true;
    }
    const struct diff_side *with = a->r ? a : b, *without = a->r ? b : a;
    strcpy(d->only, a->r ? "a" : "b");
    conclude(d, VERDICT_DIFFERS, "only %s has a result: none of '%s' in %s", with->label, without->backend, without->path);
    return true;
}

static bool settle_status(const struct diff_side *a, const struct diff_side *b, struct case_diff *d)
{
    static const struct {
        enum dump_status status;
        enum verdict verdict;
    } order[] = { { DUMP_ERROR, VERDICT_ERROR }, { DUMP_SKIPPED, VERDICT_SKIPPED } };

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        bool in_a = a->r->status == order[i].status, in_b = b->r->status == order[i].status;

        if (!in_a && !in_b)
            continue;
        if (in_a && in_b && strcmp(reason_of(a), reason_of(b)) == 0)
            conclude(d, order[i].verdict, "%.250s (both sides)", reason_of(a));
        else
            conclude(d, order[i].verdict, "%.60s: %.240s", in_b ? b->label : a->label, reason_of(in_b ? b : a));
        return true;
    }
    return false;
}

const struct dump_tensor *find_tensor(const struct dump_tensor *t, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(t[i].name, name) == 0)
            return &t[i];
    return NULL;
}

static bool same_shape(const struct dump_tensor *a, const struct dump_tensor *b)
{
    return a->dtype == b->dtype && a->ndim == b->ndim && a->bytes == b->bytes && a->dims[0] == b->dims[0] &&
           (a->ndim < 2 || a->dims[1] == b->dims[1]);
}

static bool settle_inputs(const struct diff_side *a, const struct diff_side *b, struct case_diff *d)
{
    for (size_t i = 0; i < a->c->input_count; i++) {
        const struct dump_tensor *x = &a->c->inputs[i];
        const struct dump_tensor *y = find_tensor(b->c->inputs, b->c->input_count, x->name);
        const char *why = !y                                    ? "is only in A"
                          : !same_shape(x, y)                   ? "has another type or shape"
                          : !digest_equal(x->digest, y->digest) ? "has other bytes"
                                                                : NULL;

        if (why) {
            conclude(d, VERDICT_NOT_COMPARABLE, "inputs differ: '%s' %s", x->name, why);
            return true;
        }
    }
    for (size_t i = 0; i < b->c->input_count; i++)
        if (!find_tensor(a->c->inputs, a->c->input_count, b->c->inputs[i].name)) {
            conclude(d, VERDICT_NOT_COMPARABLE, "inputs differ: '%s' is only in B", b->c->inputs[i].name);
            return true;
        }
    return false;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------------------- */

const uint8_t *bytes_of(const struct dump_tensor *t, const struct diff_side *side, struct case_context *ctx)
{
    return t->data || !ctx ? t->data : case_context_bytes(ctx, side->c, side->backend, t);
}

static void compare_blocks(const struct dump_tensor *a, const struct dump_tensor *b, struct tensor_diff *d)
{
    size_t listed = 0;

    d->blocks = (a->bytes + DUMP_BLOCK_BYTES - 1) / DUMP_BLOCK_BYTES;
    if (!a->blocks || !b->blocks) {
        d->blocks_differing = d->blocks == 1;
        return;
    }
    for (size_t i = 0; i < d->blocks; i++)
        if (a->blocks[i] != b->blocks[i]) {
            d->blocks_differing++;
            if (listed < PLACES_MAX)
                d->block_list[listed++] = i;
        }
}

static void describe_tensor(const struct dump_tensor *t, struct tensor_diff *d)
{
    *d = (struct tensor_diff){ .role = t->role, .dtype = t->dtype, .ndim = t->ndim };
    snprintf(d->name, sizeof d->name, "%s", t->name);
    d->dims[0] = t->dims[0];
    d->dims[1] = t->ndim == 2 ? t->dims[1] : 1;
    d->elements = d->dims[0] * d->dims[1];
}

/* What is to be compared; the digests have already been found to differ, or both sides have bytes. */
struct tensor_pair {
    const struct dump_tensor *a, *b;
    const uint8_t *bytes_a, *bytes_b;
};

static bool byte_equal(const struct dump_tensor *a, const struct dump_tensor *b)
{
    if (!same_shape(a, b))
        return false;
    if (a->data && b->data)
        return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
    return digest_equal(a->digest, b->digest);
}

static void compare_tensor(struct tensor_pair *p, const struct diff_side *a, const struct diff_side *b,
                           const struct diff_policy *policy, struct case_context *ctx, struct tensor_diff *d)
{
    describe_tensor(p->a, d);
    if (!same_shape(p->a, p->b)) {
        d->shape_differs = true;
        return;
    }
    p->bytes_a = bytes_of(p->a, a, ctx);
    p->bytes_b = bytes_of(p->b, b, ctx);
    if (!p->bytes_a || !p->bytes_b) {
        strcpy(d->no_bytes, p->bytes_a ? "b" : p->bytes_b ? "a" : "*");
        compare_blocks(p->a, p->b, d);
        return;
    }
    tensor_scan(p->bytes_a, p->bytes_b, policy, d);
    d->looks_like = hypothesis_find(d, p->bytes_a, p->bytes_b, p->a->bytes);
}

static int append(struct case_diff *d, const struct tensor_diff *t, struct fp4_error *err)
{
    struct tensor_diff *grown = realloc(d->tensors, (d->tensor_count + 1) * sizeof *grown);

    if (!grown)
        return fp4_fail(err, FP4_EIO, "out of memory for the differences of '%s'", d->name);
    d->tensors = grown;
    grown[d->tensor_count++] = *t;
    return 0;
}

static int lonely_tensor(const struct dump_tensor *t, const char *side, struct case_diff *d, struct fp4_error *err)
{
    struct tensor_diff td;

    if (t->role != TENSOR_OUTPUT) /* a backend need not give its stages */
        return 0;
    describe_tensor(t, &td);
    strcpy(td.only, side);
    return append(d, &td, err);
}

static int compare_tensors(const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy,
                           struct case_context *ctx, struct case_diff *d, struct fp4_error *err)
{
    struct tensor_diff td;
    int status = 0;

    for (size_t i = 0; i < a->r->count && status == 0; i++) {
        struct tensor_pair p = { .a = &a->r->t[i] };

        p.b = find_tensor(b->r->t, b->r->count, p.a->name);
        if (!p.b) {
            status = lonely_tensor(p.a, "a", d, err);
            continue;
        }
        d->compared++;
        d->outputs += p.a->role == TENSOR_OUTPUT;
        if (byte_equal(p.a, p.b))
            continue;
        compare_tensor(&p, a, b, policy, ctx, &td);
        status = append(d, &td, err);
    }
    for (size_t i = 0; i < b->r->count && status == 0; i++)
        if (!find_tensor(a->r->t, a->r->count, b->r->t[i].name))
            status = lonely_tensor(&b->r->t[i], "b", d, err);
    return status;
}

/* ---- verdict ----------------------------------------------------------------------------------------------------------------- */

static const char *missing_side(const struct tensor_diff *t)
{
    return t->no_bytes[0] == '*' ? "A and B" : t->no_bytes[0] == 'a' ? "A" : "B";
}

/* One clause about one tensor: "codes: 3 of 32768 differ". */
static void clause(const struct tensor_diff *t, char *text, size_t size)
{
    if (t->only[0])
        snprintf(text, size, "%s: only in %s", t->name, t->only[0] == 'a' ? "A" : "B");
    else if (t->shape_differs)
        snprintf(text, size, "%s: another type or shape", t->name);
    else if (t->located && t->differing == 0 && !t->padding_differs)
        picks_clause(t, text, size);
    else if (t->located && t->differing == 0)
        snprintf(text, size, "%s: the unused last nibble differs", t->name);
    else if (t->located)
        snprintf(text, size, "%s: %zu of %zu differ", t->name, t->differing, t->elements);
    else if (t->blocks_differing)
        snprintf(text, size, "%s: bytes differ (in %zu of %zu blocks of 4 KiB)", t->name, t->blocks_differing, t->blocks);
    else
        snprintf(text, size, "%s: bytes differ", t->name);
}

static const struct tensor_diff *first_unequal(const struct case_diff *d, bool outputs_only, size_t *count)
{
    const struct tensor_diff *first = NULL;

    *count = 0;
    for (size_t i = 0; i < d->tensor_count; i++) {
        const struct tensor_diff *t = &d->tensors[i];

        if (t->equal || (outputs_only && t->role != TENSOR_OUTPUT))
            continue;
        if (!first)
            first = t;
        ++*count;
    }
    return first;
}

/* A policy can be applied to bytes only. */
static bool policy_needs_bytes(const struct diff_policy *policy, const struct tensor_diff *t)
{
    bool zero = t->dtype != FP4_U8 && t->dtype != FP4_U32 && t->dtype != FP4_U64;
    bool nan = zero && t->dtype != FP4_E2M1;

    return !t->located && !t->only[0] && !t->shape_differs && ((policy->signed_zero_equal && zero) || (policy->nan_equal && nan));
}

static void judge_exact(struct case_diff *d, const struct diff_policy *policy)
{
    size_t count;
    const struct tensor_diff *first = first_unequal(d, false, &count);
    char text[160], more[48] = "";

    if (!first)
        return;
    if (picks_settle(d))
        return;
    clause(first, text, sizeof text);
    if (count > 1)
        snprintf(more, sizeof more, "; %zu more tensor%s", count - 1, count == 2 ? "" : "s");
    if (policy_needs_bytes(policy, first))
        conclude(d, VERDICT_DIFFERS, "%s%s; the bytes of %s are missing, so the policy cannot be applied: run with --bytes all%s",
                 text, more, missing_side(first), first->role == TENSOR_STAGE ? " --stages" : "");
    else
        conclude(d, VERDICT_DIFFERS, "%s%s", text, more);
}

/* Whether the rule of --tolerance lets this output pass; if not, *why. */
static bool tolerable(const struct tensor_diff *t, const struct tolerance *tol, char *why, size_t size)
{
    char text[160];

    clause(t, text, sizeof text);
    if (t->only[0] || t->shape_differs || t->padding_differs || t->flipped || t->nan_policy)
        snprintf(why, size, "%s", text);
    else if (t->dtype != FP4_E2M1)
        snprintf(why, size, "%s, and every output but the codes must be equal", text);
    else if (!t->located)
        snprintf(why, size, "%s, but the bytes of %s are missing, so the tolerance cannot be judged: run with --bytes all", text,
                 missing_side(t));
    else if (t->classes.more_steps)
        snprintf(why, size, "%s, %zu of them by more than one step", text, t->classes.more_steps);
    else if (!tolerance_allows(tol, t->differing, t->elements))
        snprintf(why, size, "%s, which is not fewer than %s", text, tol->text);
    else
        return true;
    return false;
}

/* "; not judged: scaled, scaled.t": with a tolerance stages are listed, but decide nothing. */
static void list_stages(const struct case_diff *d, char *text, size_t size)
{
    size_t used = 0;

    *text = '\0';
    for (size_t i = 0; i < d->tensor_count && used < size; i++)
        if (!d->tensors[i].equal && d->tensors[i].role == TENSOR_STAGE)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "; not judged: ", d->tensors[i].name);
}

static void judge_tolerance(struct case_diff *d, const struct diff_policy *policy)
{
    char why[280], stages[160];
    size_t count;
    const struct tensor_diff *first = first_unequal(d, true, &count);

    for (size_t i = 0; i < d->tensor_count; i++) {
        const struct tensor_diff *t = &d->tensors[i];

        if (t->equal || t->role != TENSOR_OUTPUT)
            continue;
        if (!tolerable(t, &policy->tolerance, why, sizeof why)) {
            conclude(d, VERDICT_DIFFERS, "%s", why);
            return;
        }
    }
    list_stages(d, stages, sizeof stages);
    if (first) {
        clause(first, why, sizeof why);
        conclude(d, VERDICT_WITHIN, "%.120s%s%s", why, count > 1 ? "; and in more codes" : "", stages);
    } else if (stages[0]) {
        conclude(d, VERDICT_WITHIN, "outputs equal%s", stages);
    }
}

/* ---- the command that shows it again ----------------------------------------------------------------------------------------- */

/* What has to be run: B's backend, or A's when B is the reference; both when neither is. */
static void write_repro(struct case_diff *d)
{
    bool ref_a = strcmp(d->backend_a, "ref") == 0, ref_b = strcmp(d->backend_b, "ref") == 0;
    bool two = !ref_a && !ref_b && strcmp(d->backend_a, d->backend_b) != 0, stages = false;

    for (size_t i = 0; i < d->tensor_count; i++)
        stages |= d->tensors[i].role == TENSOR_STAGE;
    snprintf(d->repro, sizeof d->repro, "fp4check run --case '%s' --backend %s%s%s%s --bytes all%s -o again.json", d->name,
             ref_b ? d->backend_a : d->backend_b, two ? " --backend " : "", two ? d->backend_a : "",
             strstr(d->name, "/file-") ? " --input FILE.safetensors" : "", stages ? " --stages" : "");
}

static void name_case(const struct diff_side *a, const struct diff_side *b, struct case_diff *d)
{
    *d = (struct case_diff){ .verdict = VERDICT_EQUAL };
    snprintf(d->name, sizeof d->name, "%s", a->c ? a->c->name : b->c->name);
    snprintf(d->op, sizeof d->op, "%.*s", (int)strcspn(d->name, "/"), d->name);
    snprintf(d->backend_a, sizeof d->backend_a, "%s", a->backend);
    snprintf(d->backend_b, sizeof d->backend_b, "%s", b->backend);
    write_repro(d);
}

int case_compare(const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy, struct case_context *ctx,
                 struct case_diff *out, struct fp4_error *err)
{
    name_case(a, b, out);
    if (settle_missing(a, b, out) || settle_status(a, b, out) || settle_inputs(a, b, out))
        return 0;
    if (compare_tensors(a, b, policy, ctx, out, err))
        return -1;
    if (picks_find(a, b, policy, ctx, out, err))
        return -1;
    if (out->outputs == 0)
        conclude(out, VERDICT_DIFFERS, "no output in common");
    else if (policy->tolerance.set)
        judge_tolerance(out, policy);
    else
        judge_exact(out, policy);
    write_repro(out);
    return 0;
}

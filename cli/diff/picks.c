/* SPDX-License-Identifier: Apache-2.0 */
/* picks.c: finds blocks of four-over-six that took the other candidate, and those that a NaN policy decides. */
#include "picks.h"

#include "grain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool picks_apply(const char *name)
{
    return strncmp(name, "four-over-six/", 14) == 0;
}

bool pick_distance(const uint32_t error[2], int64_t *ulps)
{
    if (error[0] > 0x7F800000u || error[1] > 0x7F800000u) /* sums of magnitudes: never negative, so the bits count in ulps */
        return false;
    *ulps = (int64_t)error[FP4_MAP_TO_4] - (int64_t)error[FP4_MAP_TO_6];
    return true;
}

/* ---- one direction ----------------------------------------------------------------------------------------------------------- */

enum block_state { BLOCK_PLAIN, BLOCK_FLIPPED, BLOCK_POLICY, BLOCK_PAYLOAD };

struct half { /* the tensors of one side */
    const struct diff_side *side;
    const uint8_t *scales, *codes;
    const uint8_t *errors[2]; /* NULL: the side gave no stages */
};

struct direction {
    const char *suffix;
    struct half a, b;
    const struct tensor *scales[2], *codes[2], *errors[2]; /* the reference's, by FP4_MAP_TO_* */
    size_t lines, blocks, height;
    uint8_t *state; /* [lines][blocks] */
};

static const char *const scale_names[2] = { "scale-6", "scale-4" }, *const code_names[2] = { "codes-6", "codes-4" },
                         *const error_names[2] = { "error-6", "error-4" };

static const char *full_name(char name[TENSOR_NAME_MAX], const char *stem, const char *suffix)
{
    snprintf(name, TENSOR_NAME_MAX, "%s%s", stem, suffix);
    return name;
}

static const struct tensor *made(struct case_context *ctx, const char *stem, const char *suffix)
{
    char name[TENSOR_NAME_MAX];
    const struct tensor *t = tensor_find(&ctx->runs[0].t, full_name(name, stem, suffix));

    return t && t->data && t->written ? t : NULL;
}

/* The bytes of a side's tensor, if it has the size of the reference's. */
static const uint8_t *given(const struct diff_side *side, const char *stem, const char *suffix, const struct tensor *like,
                            struct case_context *ctx)
{
    char name[TENSOR_NAME_MAX];
    const struct dump_tensor *t = find_tensor(side->r->t, side->r->count, full_name(name, stem, suffix));

    return t && t->dtype == like->dtype && t->bytes == like->bytes ? bytes_of(t, side, ctx) : NULL;
}

static bool open_half(struct half *h, const struct diff_side *side, const struct direction *d, struct case_context *ctx)
{
    h->side = side;
    h->scales = given(side, "block-scale", d->suffix, d->scales[0], ctx);
    h->codes = given(side, "codes", d->suffix, d->codes[0], ctx);
    for (int k = 0; k < 2; k++)
        h->errors[k] = given(side, error_names[k], d->suffix, d->errors[k], ctx);
    return h->scales && h->codes;
}

static bool open_direction(struct direction *d, const char *suffix, const struct diff_side *a, const struct diff_side *b,
                           struct case_context *ctx)
{
    *d = (struct direction){ .suffix = suffix };
    for (int k = 0; k < 2; k++) {
        d->scales[k] = made(ctx, scale_names[k], suffix);
        d->codes[k] = made(ctx, code_names[k], suffix);
        d->errors[k] = made(ctx, error_names[k], suffix);
        if (!d->scales[k] || !d->codes[k] || !d->errors[k])
            return false;
    }
    d->lines = d->scales[0]->dims[0];
    d->blocks = d->scales[0]->dims[1];
    d->height = ctx->fp4.knob[KNOB_BLOCK] == 1 ? 16 : 1;
    return open_half(&d->a, a, d, ctx) && open_half(&d->b, b, d, ctx);
}

/* ---- the block at line, block ------------------------------------------------------------------------------------------------- */

struct spot {
    size_t line, block;
};

static bool block_equals(const struct direction *d, struct spot s, const uint8_t *scales_a, const uint8_t *codes_a,
                         const uint8_t *scales_b, const uint8_t *codes_b)
{
    for (size_t i = 0; i < d->height; i++) {
        size_t at = (s.line + i) * d->blocks + s.block;

        if (scales_a[at] != scales_b[at] || memcmp(codes_a + 8 * at, codes_b + 8 * at, 8) != 0)
            return false;
    }
    return true;
}

/* Which candidate of the reference a side stored; -1 for neither, or when both are the same. */
static int pick_of(const struct direction *d, const struct half *h, struct spot s)
{
    bool is[2];

    for (int k = 0; k < 2; k++)
        is[k] = block_equals(d, s, h->scales, h->codes, d->scales[k]->data, d->codes[k]->data);
    return is[0] == is[1] ? -1 : is[FP4_MAP_TO_4] ? FP4_MAP_TO_4 : FP4_MAP_TO_6;
}

static void set_state(const struct direction *d, struct spot s, enum block_state state)
{
    for (size_t i = 0; i < d->height; i++)
        d->state[(s.line + i) * d->blocks + s.block] = (uint8_t)state;
}

static bool errors_of(const struct direction *d, const struct half *h, size_t at, uint32_t error[2])
{
    bool own = h->errors[0] && h->errors[1];

    for (int k = 0; k < 2; k++)
        error[k] = (uint32_t)tensor_element(own ? h->errors[k] : d->errors[k]->data, FP4_F32, at);
    return own;
}

static bool note_flip(const struct direction *d, struct spot s, struct pick_diff *out)
{
    size_t at = s.line * d->blocks + s.block;
    struct pick_flip f = { .transposed = *d->suffix != '\0', .row = s.line, .block = s.block };

    f.pick_a = pick_of(d, &d->a, s);
    f.pick_b = pick_of(d, &d->b, s);
    if (f.pick_a < 0 || f.pick_b < 0 || f.pick_a == f.pick_b)
        return false;
    f.own_a = errors_of(d, &d->a, at, f.error_a);
    f.own_b = errors_of(d, &d->b, at, f.error_b);
    set_state(d, s, BLOCK_FLIPPED);
    out->flips++;
    if (out->listed < PICKS_MAX)
        out->list[out->listed++] = f;
    return true;
}

/* ---- NaN policy ---------------------------------------------------------------------------------------------------------------- */

/* All elements of a block, scale and codes, as the two policies have them. */
static bool policy_block(const struct direction *d, struct nan_policies *n, struct spot s, bool a_propagates)
{
    const struct half *p = a_propagates ? &d->a : &d->b, *q = a_propagates ? &d->b : &d->a;
    char scale[TENSOR_NAME_MAX], codes[TENSOR_NAME_MAX];

    full_name(scale, "block-scale", d->suffix);
    full_name(codes, "codes", d->suffix);
    for (size_t i = 0; i < d->height; i++) {
        size_t at = (s.line + i) * d->blocks + s.block;

        if (!nan_policy_explains(n, scale, at, p->scales[at], q->scales[at]))
            return false;
        for (size_t k = 16 * at; k < 16 * at + 16; k++)
            if (!nan_policy_explains(n, codes, k, tensor_element(p->codes, FP4_E2M1, k), tensor_element(q->codes, FP4_E2M1, k)))
                return false;
    }
    return true;
}

static bool note_policy(const struct direction *d, struct nan_policies *n, struct spot s, struct pick_diff *out)
{
    for (int side = 0; side < 2; side++) {
        const char *name = side ? "b" : "a";

        if ((out->nan_side[0] && strcmp(out->nan_side, name) != 0) || !policy_block(d, n, s, side == 0))
            continue;
        strcpy(out->nan_side, name);
        set_state(d, s, BLOCK_POLICY);
        out->nan_blocks++;
        return true;
    }
    return false;
}

/* Both sides have a NaN scale, where NaN propagated gives one: the codes come from payloads and mean nothing. */
static bool note_payload(const struct direction *d, struct nan_policies *n, struct spot s, struct pick_diff *out)
{
    char name[TENSOR_NAME_MAX];

    full_name(name, "block-scale", d->suffix);
    for (size_t i = 0; i < d->height; i++) {
        size_t at = (s.line + i) * d->blocks + s.block;

        if (d->a.scales[at] != d->b.scales[at] || !nan_policy_scale_is_nan(n, name, at, d->a.scales[at]))
            return false;
    }
    set_state(d, s, BLOCK_PAYLOAD);
    out->nan_payloads++;
    return true;
}

static void search_direction(struct direction *d, struct nan_policies *n, struct pick_diff *out)
{
    for (size_t line = 0; line + d->height <= d->lines; line += d->height)
        for (size_t block = 0; block < d->blocks; block++) {
            struct spot s = { line, block };

            out->blocks++;
            if (block_equals(d, s, d->a.scales, d->a.codes, d->b.scales, d->b.codes))
                continue;
            if (!(n->ok && (note_payload(d, n, s, out) || note_policy(d, n, s, out))))
                note_flip(d, s, out);
        }
}

/* ---- counting what is left ------------------------------------------------------------------------------------------------------ */

static void put_element(uint8_t *to, const uint8_t *from, enum fp4_dtype dtype, size_t i)
{
    size_t width = fp4_dtype_bytes(dtype, 1);

    if (dtype != FP4_E2M1)
        memcpy(to + width * i, from + width * i, width);
    else
        to[i / 2] = (uint8_t)(i % 2 ? (to[i / 2] & 0x0F) | (from[i / 2] & 0xF0) : (to[i / 2] & 0xF0) | (from[i / 2] & 0x0F));
}

/* The candidates themselves and their errors are no matter of the pick. */
static bool follows_pick(const char *name)
{
    static const char *const stems[] = { "pick", "block-scale", "scaled", "codes", "dequantized" };

    for (size_t i = 0; i < sizeof stems / sizeof stems[0]; i++) {
        size_t n = strlen(stems[i]);

        if (strncmp(name, stems[i], n) == 0 && (!name[n] || strcmp(name + n, ".t") == 0))
            return true;
    }
    return false;
}

static enum block_state state_at(const struct direction *d, const struct tensor_diff *t, size_t i)
{
    struct grain g = grain_of(t->name);

    if (!g.columns || t->ndim != 2 || t->elements != d->lines * d->blocks * 16 / g.columns)
        return BLOCK_PLAIN;
    return (enum block_state)d->state[i / t->dims[1] * d->blocks + i % t->dims[1] * g.columns / 16];
}

struct recount {
    const struct direction *d;
    struct nan_policies *n;
    const struct diff_policy *policy;
    const struct pick_diff *picks;
};

static bool by_policy(const struct recount *rc, const struct tensor_diff *t, size_t i, uint64_t a, uint64_t b)
{
    bool swap = rc->picks->nan_side[0] == 'b';

    return rc->picks->nan_blocks && nan_policy_explains(rc->n, t->name, i, swap ? b : a, swap ? a : b);
}

/* Explained elements are made equal in a copy of B, which is scanned again. */
static int recount(const struct recount *rc, const uint8_t *a, const uint8_t *b, struct tensor_diff *t, struct fp4_error *err)
{
    size_t bytes = fp4_dtype_bytes(t->dtype, t->elements), flipped = 0, nan = 0;
    struct tensor_diff left = *t;
    uint8_t *masked = malloc(bytes + 1);

    if (!masked)
        return fp4_fail(err, FP4_EIO, "out of memory for the differences of '%s'", t->name);
    memcpy(masked, b, bytes);
    for (size_t i = 0; i < t->elements; i++) {
        uint64_t va = tensor_element(a, t->dtype, i), vb = tensor_element(b, t->dtype, i);

        if (va == vb)
            continue;
        if (by_policy(rc, t, i, va, vb) || state_at(rc->d, t, i) == BLOCK_PAYLOAD)
            nan++;
        else if (state_at(rc->d, t, i) == BLOCK_FLIPPED && follows_pick(t->name))
            flipped++;
        else
            continue;
        put_element(masked, a, t->dtype, i);
    }
    left.differing = left.place_count = left.policy_zero = left.policy_nan = 0;
    left.classes = (struct diff_classes){ 0 };
    tensor_scan(a, masked, rc->policy, &left);
    free(masked);
    left.flipped = flipped;
    *(rc->policy->nan_equal ? &left.policy_nan : &left.nan_policy) += nan;
    left.equal = left.equal && !left.flipped && !left.nan_policy;
    if (!left.differing)
        left.looks_like = NULL;
    *t = left;
    return 0;
}

static int recount_all(const struct recount *rc, struct case_context *ctx, struct case_diff *d, struct fp4_error *err)
{
    const struct diff_side *a = rc->d->a.side, *b = rc->d->b.side;

    for (size_t i = 0; i < d->tensor_count; i++) {
        struct tensor_diff *t = &d->tensors[i];

        if (!t->located || t->padding_differs || strcmp(grain_of(t->name).suffix, rc->d->suffix) != 0)
            continue;
        const uint8_t *bytes_a = bytes_of(find_tensor(a->r->t, a->r->count, t->name), a, ctx);
        const uint8_t *bytes_b = bytes_of(find_tensor(b->r->t, b->r->count, t->name), b, ctx);
        if (bytes_a && bytes_b && recount(rc, bytes_a, bytes_b, t, err))
            return -1;
    }
    return 0;
}

/* ---- the call ------------------------------------------------------------------------------------------------------------------ */

static int find_in(const char *suffix, const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy,
                   struct case_context *ctx, struct nan_policies *n, struct case_diff *d, struct fp4_error *err)
{
    struct direction dir;
    struct recount rc = { &dir, n, policy, &d->picks };
    size_t before = d->picks.flips + d->picks.nan_blocks + d->picks.nan_payloads;
    int status = 0;

    if (!open_direction(&dir, suffix, a, b, ctx))
        return 0;
    dir.state = calloc(dir.lines * dir.blocks + 1, 1);
    if (!dir.state)
        return fp4_fail(err, FP4_EIO, "out of memory for the differences of '%s'", d->name);
    search_direction(&dir, n, &d->picks);
    if (d->picks.flips + d->picks.nan_blocks + d->picks.nan_payloads > before)
        status = recount_all(&rc, ctx, d, err);
    free(dir.state);
    return status;
}

int picks_find(const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy, struct case_context *ctx,
               struct case_diff *d, struct fp4_error *err)
{
    struct nan_policies n;

    if (!ctx || !d->tensor_count || !picks_apply(d->name) || !case_context_run(ctx, a->c))
        return 0;
    nan_policies_run(ctx, &n);
    return find_in("", a, b, policy, ctx, &n, d, err) || find_in(".t", a, b, policy, ctx, &n, d, err) ? -1 : 0;
}

/* ---- in words ------------------------------------------------------------------------------------------------------------------- */

void picks_clause(const struct tensor_diff *t, char *text, size_t size)
{
    if (t->flipped && t->nan_policy)
        snprintf(text, size, "%s: %zu of %zu in blocks with the other candidate, %zu by NaN policy", t->name, t->flipped,
                 t->elements, t->nan_policy);
    else if (t->flipped)
        snprintf(text, size, "%s: %zu of %zu, all in blocks with the other candidate", t->name, t->flipped, t->elements);
    else
        snprintf(text, size, "%s: %zu of %zu, all by NaN policy", t->name, t->nan_policy, t->elements);
}

/* The largest distance between the errors of the listed flips on either side. */
static void say_distance(const struct pick_diff *p, char *text, size_t size)
{
    uint64_t widest = 0;
    int64_t ulps;

    *text = '\0';
    for (size_t i = 0; i < p->listed; i++)
        for (int side = 0; side < 2; side++) {
            if (!pick_distance(side ? p->list[i].error_b : p->list[i].error_a, &ulps))
                return;
            uint64_t apart = (uint64_t)(ulps < 0 ? -ulps : ulps);
            widest = apart > widest ? apart : widest;
        }
    if (p->listed == p->flips)
        snprintf(text, size, ", errors %s%llu ulp%s apart", p->flips > 1 ? "at most " : "", (unsigned long long)widest,
                 widest == 1 ? "" : "s");
}

bool picks_settle(struct case_diff *d)
{
    const struct pick_diff *p = &d->picks;
    char apart[64], flips[160] = "", nan[192] = "", payloads[224] = "";

    if (!p->flips && !p->nan_blocks && !p->nan_payloads)
        return false;
    for (size_t i = 0; i < d->tensor_count; i++) {
        const struct tensor_diff *t = &d->tensors[i];

        if (!t->equal && (!t->located || t->differing || t->padding_differs))
            return false;
    }
    say_distance(p, apart, sizeof apart);
    if (p->flips)
        snprintf(flips, sizeof flips, "%zu selection flip%s in %zu blocks%s", p->flips, p->flips == 1 ? "" : "s", p->blocks, apart);
    if (p->nan_blocks)
        snprintf(nan, sizeof nan, "%sNaN policy: %s propagates NaN, %s drops it, in %zu of %zu blocks", p->flips ? "; " : "",
                 p->nan_side[0] == 'a' ? "A" : "B", p->nan_side[0] == 'a' ? "B" : "A", p->nan_blocks, p->blocks);
    if (p->nan_payloads)
        snprintf(payloads, sizeof payloads,
                 "%sNaN policy: in %zu of %zu blocks both scales are NaN and codes, which mean nothing there, differ",
                 p->flips || p->nan_blocks ? "; " : "", p->nan_payloads, p->blocks);
    d->verdict = VERDICT_DIFFERS;
    snprintf(d->reason, sizeof d->reason, "%s%s%s%s", flips, nan, payloads,
             p->nan_blocks || p->nan_payloads ? ": --nan=equal accepts that" : "");
    return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nan_policy.c: the documented divergence of four-over-six on NaN. PyTorch code keeps NaN in the maxima, so that a block with one has the
 * scale 7F, whose codes then come from the payload that the machine made and compare with nothing; kernels leave NaN out of the maxima.
 */
#include "backend.h"
#include "grain.h"
#include "picks.h"

#include <stdio.h>
#include <string.h>

#define SCALE_NAN 0x7Fu

static bool holds_nan(struct case_tensors *t)
{
    static const char *const names[] = { "block-scale", "block-scale.t" };

    for (size_t k = 0; k < 2; k++) {
        const struct tensor *scale = tensor_find(t, names[k]);

        for (size_t i = 0; scale && i < scale->bytes; i++)
            if (scale->data[i] == SCALE_NAN)
                return true;
    }
    return false;
}

/* NaN comes from the input or from an amax that is given. */
static bool input_holds_nan(const struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct tensor *x = &t->t[i];

        if (x->role != TENSOR_INPUT || (x->dtype != FP4_F32 && x->dtype != FP4_F16 && x->dtype != FP4_BF16))
            continue;
        for (size_t k = 0; k < x->bytes / fp4_dtype_bytes(x->dtype, 1); k++)
            if ((fp4_f32_bits(fp4_load(x->data, x->dtype, k)) & 0x7FFFFFFFu) > 0x7F800000u)
                return true;
    }
    return false;
}

/* The reference's run of the case under one policy, made once. */
static struct case_rerun *run_under(struct case_context *ctx, const char *label, unsigned policy)
{
    const struct backend_row *ref = backend_find("ref");
    struct fp4_case changed = ctx->fp4;
    struct fp4_error err = { 0 };
    struct case_rerun *run;

    for (size_t i = 0; i < ctx->run_count; i++)
        if (strcmp(ctx->runs[i].backend, label) == 0)
            return &ctx->runs[i];
    if (!ref || ctx->run_count == CONTEXT_RUNS)
        return NULL;
    run = &ctx->runs[ctx->run_count++];
    snprintf(run->backend, sizeof run->backend, "%s", label);
    changed.knob[KNOB_NAN] = (uint8_t)policy;
    run->ok = !ref->supports(&changed, &err) && !backend_run_case(ref, &changed, &run->t, &err);
    return run;
}

void nan_policies_run(struct case_context *ctx, struct nan_policies *n)
{
    *n = (struct nan_policies){ 0 };
    if (ctx->fp4.op != OP_FOUR_OVER_SIX || !input_holds_nan(&ctx->runs[0].t))
        return;
    n->propagate = run_under(ctx, "ref/nan-propagate", 2);
    if (!n->propagate || !n->propagate->ok || !holds_nan(&n->propagate->t))
        return;
    n->drop = run_under(ctx, "ref/nan-drop", 1);
    n->ok = n->drop && n->drop->ok;
}

/* Whether element i of the tensor lies in a block whose scale is NaN. */
static bool in_nan_block(struct nan_policies *n, const struct tensor *x, size_t i)
{
    struct grain g = grain_of(x->name);
    char name[TENSOR_NAME_MAX];

    snprintf(name, sizeof name, "block-scale%s", g.suffix);
    const struct tensor *scale = tensor_find(&n->propagate->t, name);
    if (!scale || g.columns == 0 || x->ndim != 2)
        return false;
    size_t block = i % x->dims[1] * g.columns / 16;
    return scale->data[i / x->dims[1] * scale->dims[1] + block] == SCALE_NAN;
}

static bool is_nan_f32(const struct tensor *x, uint64_t bits)
{
    return x->dtype == FP4_F32 && (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

bool nan_policy_scale_is_nan(struct nan_policies *n, const char *name, size_t i, uint8_t scale)
{
    const struct tensor *p = n->ok ? tensor_find(&n->propagate->t, name) : NULL;

    return p && scale == SCALE_NAN && p->data[i] == SCALE_NAN;
}

bool nan_policy_explains(struct nan_policies *n, const char *name, size_t i, uint64_t propagates, uint64_t drops)
{
    const struct tensor *p = n->ok ? tensor_find(&n->propagate->t, name) : NULL;
    const struct tensor *d = n->ok ? tensor_find(&n->drop->t, name) : NULL;

    if (!p || !d || !p->data || !d->data)
        return false;
    uint64_t wanted = tensor_element(p->data, p->dtype, i);
    bool same = propagates == wanted || (is_nan_f32(p, propagates) && is_nan_f32(p, wanted));
    if (!same && p->dtype != FP4_E4M3)
        same = in_nan_block(n, p, i);
    return same && drops == tensor_element(d->data, d->dtype, i);
}

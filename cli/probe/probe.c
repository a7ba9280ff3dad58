/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c: made cases, and the order of the groups. */
#include "probe.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void profile_add(struct probe *p, const char *group, const char *key, const char *fmt, ...)
{
    struct profile_finding *f = &p->out->findings[p->out->count];
    va_list args;

    if (p->out->count == PROFILE_FINDINGS_MAX)
        return;
    p->out->count++;
    snprintf(f->group, sizeof f->group, "%s", group);
    snprintf(f->key, sizeof f->key, "%s", key);
    va_start(args, fmt);
    vsnprintf(f->value, sizeof f->value, fmt, args);
    va_end(args);
}

void probe_case_make(struct probe_case *pc, enum fp4_op op, enum case_recipe recipe, enum fp4_dtype dtype, size_t rows, size_t cols,
                     bool given_amax)
{
    memset(pc, 0, sizeof *pc);
    pc->c = case_make(op, recipe, dtype, given_amax ? &data_made_amax : &data_made, rows, cols, 0);
}

int probe_case_inputs(struct probe_case *pc, struct fp4_error *err)
{
    size_t i;

    if (case_describe(&pc->c, &pc->t, err))
        return -1;
    for (i = 0; i < pc->t.count; i++) {
        struct tensor *x = &pc->t.t[i];

        if (x->role != TENSOR_INPUT)
            continue;
        x->data = calloc(x->bytes ? x->bytes : 1, 1);
        if (!x->data)
            return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", x->bytes, x->name);
    }
    return 0;
}

int probe_case_run(const struct probe *p, struct probe_case *pc, struct fp4_error *err)
{
    char name[CASE_NAME_MAX];
    struct fp4_error reason;

    if (p->b->supports(&pc->c, &reason))
        return 1;
    if (backend_run_prepared(p->b, &pc->c, &pc->t, err) == 0)
        return 0;
    case_name(&pc->c, name);
    return fp4_fail_in(err, "%s", name);
}

int probe_reference(struct probe_case *pc, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const struct backend_row *ref = backend_find("ref");
    struct fp4_error ignored;
    size_t i;

    if (!ref || ref->supports(c, &ignored) || case_describe(c, t, err))
        return -1;
    for (i = 0; i < t->count; i++) {
        const struct tensor *given = tensor_find(&pc->t, t->t[i].name);

        if (t->t[i].role != TENSOR_INPUT)
            continue;
        if (!given || !given->data || given->bytes != t->t[i].bytes)
            return fp4_fail(err, FP4_EUSAGE, "the probe made no input '%s'", t->t[i].name);
        t->t[i].data = given->data;
    }
    return backend_run_prepared(ref, c, t, err);
}

void probe_reference_release(struct case_tensors *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_INPUT)
            t->t[i].data = NULL;
    case_release(t);
}

void probe_case_release(struct probe_case *pc)
{
    case_release(&pc->t);
}

uint8_t *probe_data(struct probe_case *pc, const char *tensor)
{
    return tensor_find(&pc->t, tensor)->data;
}

void probe_put_f32(struct probe_case *pc, const char *tensor, size_t i, uint32_t bits)
{
    memcpy(probe_data(pc, tensor) + 4 * i, &bits, 4);
}

unsigned probe_code(struct probe_case *pc, const char *tensor, size_t i)
{
    return probe_data(pc, tensor)[i / 2] >> 4 * (i & 1) & 15u;
}

/* SplitMix64, upper half. */
uint32_t probe_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

bool probe_same(struct case_tensors *a, struct case_tensors *b, const char *tensor)
{
    const struct tensor *x = tensor_find(a, tensor), *y = tensor_find(b, tensor);

    return (!x && !y) || (x && y && x->data && y->data && x->bytes == y->bytes && memcmp(x->data, y->data, x->bytes) == 0);
}

int probe_backend(const struct backend_row *b, unsigned rs, struct profile *out, struct fp4_error *err)
{
    static int (*const groups[])(struct probe *, struct fp4_error *) = { probe_nearest, probe_stochastic, probe_scale,
                                                                         probe_philox,  probe_streams,    probe_sums };
    struct probe p = { b, rs, out };
    size_t i;

    memset(out, 0, sizeof *out);
    snprintf(out->backend, sizeof out->backend, "%s", b->name);
    out->rs.model = -1;
    for (i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i](&p, err))
            return fp4_fail_in(err, "probe of backend '%s'", b->name);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What every backend gets around its functions: the way to its worker, canary, poisoned and guarded outputs, a second run. */
#include "run_checks.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

const struct backend_row *backend_find(const char *name)
{
    size_t i;

    for (i = 0; i < fp4_backend_count; i++)
        if (strcmp(fp4_backends[i]->name, name) == 0)
            return fp4_backends[i];
    return NULL;
}

/* ---- in a worker or here ----------------------------------------------------------------------------------------------------------------- */

static bool elsewhere(const struct backend_row *b)
{
    return b->isolated && !worker_is_child;
}

int backend_available(const struct backend_row *b, struct fp4_error *err)
{
    return elsewhere(b) ? worker_available(b, err) : b->available(err);
}

void backend_describe(const struct backend_row *b, char *text, size_t size)
{
    if (elsewhere(b))
        worker_describe(b, text, size);
    else
        b->describe(text, size);
}

/* ---- poison and guards --------------------------------------------------------------------------------------------------------------------- */

static int allocate(struct tensor *t, uint8_t poison, struct fp4_error *err)
{
    t->data = malloc(t->bytes + BACKEND_GUARD_BYTES);
    if (!t->data)
        return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", t->bytes, t->name);
    memset(t->data, poison, t->bytes + BACKEND_GUARD_BYTES);
    t->written = false;
    return 0;
}

uint8_t backend_poison_of(const struct tensor *t)
{
    return t->data[t->bytes];
}

static bool all_poison(const uint8_t *p, size_t n, uint8_t poison)
{
    return n == 0 || (p[0] == poison && memcmp(p, p + 1, n - 1) == 0);
}

static int check_guard(const struct backend_row *b, const struct tensor *t, uint8_t poison, struct fp4_error *err)
{
    const uint8_t *guard = t->data + t->bytes;
    size_t changed = 0, last = 0, i;

    if (all_poison(guard, BACKEND_GUARD_BYTES, poison))
        return 0;
    for (i = 0; i < BACKEND_GUARD_BYTES; i++)
        if (guard[i] != poison) {
            changed++;
            last = i + 1;
        }
    return fp4_fail(err, FP4_EFORMAT, "backend '%s' wrote %zu byte%s beyond the end of '%s' (%zu bytes), up to %zu past it%s",
                    b->name, changed, changed == 1 ? "" : "s", t->name, t->bytes, last,
                    last == BACKEND_GUARD_BYTES ? " or further" : "");
}

int run_over(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, uint8_t poison, bool stages,
             struct fp4_error *err)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if ((t->t[i].role == TENSOR_OUTPUT || (stages && t->t[i].role == TENSOR_STAGE)) && allocate(&t->t[i], poison, err))
            return -1;
    if (b->run(c, t, err))
        return -1;
    for (i = 0; i < t->count; i++) {
        const struct tensor *o = &t->t[i];

        if (o->role == TENSOR_INPUT || !o->data)
            continue;
        if (check_guard(b, o, poison, err))
            return -1;
        if (o->role == TENSOR_OUTPUT && !o->written)
            return fp4_fail(err, FP4_EFORMAT, "backend '%s' did not produce the output '%s'", b->name, o->name);
        /* A second run finds less than that. */
        if (o->written && o->bytes >= 16 && all_poison(o->data, o->bytes, poison))
            return fp4_fail(err, FP4_EFORMAT, "backend '%s' never wrote '%s': its %zu bytes are still the poison 0x%02x", b->name,
                            o->name, o->bytes, poison);
    }
    return 0;
}

/* ---- one case ---------------------------------------------------------------------------------------------------------------------------------- */

int backend_run_prepared(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    if (elsewhere(b))
        return worker_run(b, c, t, err);
    return b->isolated ? run_checked(b, c, t, err) : run_over(b, c, t, POISON, true, err);
}

int backend_run_case(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    if (case_describe(c, t, err) || case_inputs(c, t, err))
        return -1;
    return backend_run_prepared(b, c, t, err);
}

/* The identity block: with S_enc = 1 its codes are 0..15 in order and its scale is 0x38, so a wrong order, a missing conversion and a
 * constant zero all show (field reports 1, 54, 58). */
int backend_canary(const struct backend_row *b, struct fp4_error *err)
{
    static const uint8_t wanted[8] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE };
    struct case_tensors t;
    struct fp4_case c;
    const struct tensor *codes, *scales;
    const char *name = b->canary ? b->canary() : NULL;
    int status = -1;

    if (elsewhere(b))
        return 0; /* its workers have passed before they said that they can run */
    memset(&t, 0, sizeof t);
    if (case_parse(name ? name : "quantize/te/rn/1x16/f32/identity/1x32/s0", &c, err))
        return -1;
    if (b->supports(&c, err) == 0 && backend_run_case(b, &c, &t, err) == 0) {
        codes = tensor_find(&t, "codes");
        scales = tensor_find(&t, "block-scale");
        /* The first block holds the 2688 that makes the global scale 1; the second one is the identity. */
        if (memcmp(codes->data + 8, wanted, sizeof wanted) != 0 || scales->data[1] != 0x38)
            fp4_fail(err, FP4_EFORMAT,
                     "canary: the identity block gave codes %02x %02x %02x %02x.. and scale %02x instead of 10 32 54 76.. and 38",
                     codes->data[8], codes->data[9], codes->data[10], codes->data[11], scales->data[1]);
        else
            status = 0;
    }
    case_release(&t);
    return status;
}

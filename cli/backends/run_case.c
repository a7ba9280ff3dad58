/* SPDX-License-Identifier: Apache-2.0 */
/* What every backend gets around its run function: canary, poisoned and guarded outputs. */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES 64
#define POISON 0xCA /* neither zero nor a likely code, scale or number */

static int allocate(struct tensor *t, struct fp4_error *err)
{
    t->data = malloc(t->bytes + GUARD_BYTES);
    if (!t->data)
        return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", t->bytes, t->name);
    memset(t->data, POISON, t->bytes + GUARD_BYTES);
    t->written = false;
    return 0;
}

static bool all_poison(const uint8_t *p, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (p[i] != POISON)
            return false;
    return true;
}

static int check_written(const struct backend_row *b, const struct tensor *t, struct fp4_error *err)
{
    size_t end = t->bytes + GUARD_BYTES;

    if (!all_poison(t->data + t->bytes, GUARD_BYTES)) {
        while (t->data[end - 1] == POISON)
            end--;
        return fp4_fail(err, FP4_EFORMAT, "backend '%s' wrote at least %zu bytes beyond the end of '%s' (%zu bytes)", b->name, end - t->bytes,
                        t->name, t->bytes);
    }
    if (t->role == TENSOR_OUTPUT && !t->written)
        return fp4_fail(err, FP4_EFORMAT, "backend '%s' did not produce the output '%s'", b->name, t->name);
    if (t->written && t->bytes >= 16 && all_poison(t->data, t->bytes))
        return fp4_fail(err, FP4_EFORMAT, "backend '%s' never wrote '%s': its %zu bytes are still the poison 0x%02x", b->name, t->name,
                        t->bytes, POISON);
    return 0;
}

int backend_run_prepared(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    size_t i;

    if (b->isolated && !worker_is_child)
        return b->run(c, t, err);
    for (i = 0; i < t->count; i++)
        if (t->t[i].role != TENSOR_INPUT && allocate(&t->t[i], err))
            return -1;
    if (b->run(c, t, err))
        return -1;
    for (i = 0; i < t->count; i++)
        if (t->t[i].role != TENSOR_INPUT && check_written(b, &t->t[i], err))
            return -1;
    return 0;
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
    int status = -1;

    memset(&t, 0, sizeof t);
    if (case_parse("quantize/te/rn/1x16/f32/identity/1x32/s0", &c, err))
        return -1;
    if (b->supports(&c, err) == 0 && backend_run_case(b, &c, &t, err) == 0) {
        codes = tensor_find(&t, "codes");
        scales = tensor_find(&t, "block-scale");
        /* The first block holds the 2688 that makes the global scale 1; the second one is the identity. */
        if (memcmp(codes->data + 8, wanted, sizeof wanted) != 0 || scales->data[1] != 0x38)
            fp4_fail(err, FP4_EFORMAT, "canary: the identity block gave codes %02x %02x %02x %02x.. and scale %02x instead of 10 32 54 76.. and 38",
                     codes->data[8], codes->data[9], codes->data[10], codes->data[11], scales->data[1]);
        else
            status = 0;
    }
    case_release(&t);
    return status;
}

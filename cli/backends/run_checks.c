/* SPDX-License-Identifier: Apache-2.0 */
#include "run_checks.h"

#include "case_build.h"

#include <stdlib.h>
#include <string.h>

/* ---- inputs with surroundings ------------------------------------------------------------------------------------------------------ */

/* The padding of scales in the GEMM layout belongs to no row: rows and columns of scales, 0 when t has none. */
static void swizzled_extent(const struct fp4_case *c, const struct tensor *t, size_t *rows, size_t *cols)
{
    bool scales = c->op == OP_DEQUANTIZE && c->knob[KNOB_LAYOUT] && strcmp(t->name, "scales") == 0;
    bool swizzled = c->op == OP_SWIZZLE && c->knob[KNOB_SWIZZLE] && strcmp(t->name, "swizzled") == 0;

    *rows = scales || swizzled ? c->rows : 0;
    *cols = scales ? c->cols / 16 : c->cols;
}

/* Overwrites padding; leaves the scales of the rows as they are. */
static int poison_padding(const struct fp4_case *c, struct tensor *t, uint8_t poison, struct fp4_error *err)
{
    size_t rows, cols;
    uint8_t *linear;

    swizzled_extent(c, t, &rows, &cols);
    if (!rows)
        return 0;
    linear = malloc(rows * cols + 1);
    if (!linear)
        return fp4_fail(err, FP4_EIO, "out of memory for the padding of '%s'", t->name);
    fp4_unswizzle(rows, cols, t->data, linear);
    memset(t->data, poison, t->bytes);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < cols; k++)
            t->data[fp4_swizzle_index(cols, r, k)] = linear[r * cols + k];
    free(linear);
    return 0;
}

struct surroundings {
    uint8_t behind; /* fills BACKEND_GUARD_BYTES behind every input */
    bool padding;   /* padding is filled too */
    uint8_t in_padding;
};

static void release_own(struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->t[i].data);
}

/* Copies of the inputs of *from, and no outputs. */
static int surround(const struct fp4_case *c, const struct case_tensors *from, const struct surroundings *s,
                    struct case_tensors *to, struct fp4_error *err)
{
    *to = *from;
    for (size_t i = 0; i < to->count; i++)
        to->t[i].data = NULL;
    for (size_t i = 0; i < to->count; i++) {
        struct tensor *t = &to->t[i];

        if (t->role != TENSOR_INPUT)
            continue;
        if (!(t->data = malloc(t->bytes + BACKEND_GUARD_BYTES))) {
            release_own(to);
            return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", t->bytes, t->name);
        }
        memcpy(t->data, from->t[i].data, t->bytes);
        memset(t->data + t->bytes, s->behind, BACKEND_GUARD_BYTES);
        if (s->padding && poison_padding(c, t, s->in_padding, err)) {
            release_own(to);
            return -1;
        }
    }
    return 0;
}

/* ---- one more run ---------------------------------------------------------------------------------------------------------------------- */

struct checked {
    const struct backend_row *b;
    const struct fp4_case *c;
    const struct case_tensors *first; /* inputs as generated, results of the first run */
};

/* A run without stages; *t holds its inputs and outputs and is released by the caller, after a failure too. */
static int another_run(const struct checked *k, const struct surroundings *s, uint8_t poison, struct case_tensors *t,
                       struct fp4_error *err)
{
    t->count = 0;
    if (surround(k->c, k->first, s, t, err)) {
        t->count = 0;
        return -1;
    }
    return run_over(k->b, k->c, t, poison, false, err);
}

/* The first tensor that both made and whose bytes differ; NULL when there is none. */
static const struct tensor *first_difference(const struct case_tensors *a, const struct case_tensors *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->t[i].role != TENSOR_INPUT && b->t[i].data && a->t[i].written && b->t[i].written &&
            memcmp(a->t[i].data, b->t[i].data, a->t[i].bytes) != 0)
            return &a->t[i];
    return NULL;
}

/* ---- twice -------------------------------------------------------------------------------------------------------------------------------- */

struct unlike { /* bytes that differ between two runs over different poison */
    size_t unwritten, differ, at_unwritten, at_differ;
};

static struct unlike count_unlike(const struct tensor *first, const struct tensor *second)
{
    struct unlike u = { 0 };

    for (size_t i = 0; i < first->bytes; i++) {
        if (first->data[i] == second->data[i])
            continue;
        if (first->data[i] == POISON && second->data[i] == POISON_AGAIN)
            u.at_unwritten = u.unwritten++ ? u.at_unwritten : i;
        else
            u.at_differ = u.differ++ ? u.at_differ : i;
    }
    return u;
}

static int never_wrote(const struct backend_row *b, const struct tensor *t, const struct unlike *u, struct fp4_error *err)
{
    if (u->unwritten == t->bytes)
        return fp4_fail(err, FP4_EFORMAT, "backend '%s' never wrote '%s' (%zu bytes)", b->name, t->name, t->bytes);
    return fp4_fail(err, FP4_EFORMAT, "backend '%s' never wrote %zu of the %zu bytes of '%s', first byte %zu", b->name,
                    u->unwritten, t->bytes, t->name, u->at_unwritten);
}

/* ---- surroundings --------------------------------------------------------------------------------------------------------------------------- */

static const struct surroundings as_first = { POISON, false, 0 }, other_around = { POISON_AGAIN, true, POISON_AGAIN };

/* Runs over the surroundings of the first run but for one thing: if the result is the first run's again without it, that was it. -1 with a
 * message when bytes that are no input decide, 0 when they do not, or when the run itself fails. */
static int blame_surroundings(const struct checked *k, const struct tensor *t, struct fp4_error *err)
{
    static const struct {
        struct surroundings s;
        const char *what;
    } tries[] = {
        { { POISON, true, POISON_AGAIN }, "lie behind the end of an input: it reads past the end" },
        { { POISON_AGAIN, false, 0 }, "are padding of an input: padding leaks in" },
        { { POISON, false, 0 }, "lie behind the end of an input, and on padding" },
    };
    size_t at = (size_t)(t - k->first->t);
    int status = 0;

    for (size_t i = 0; i < sizeof tries / sizeof tries[0] && status == 0; i++) {
        struct case_tensors again;
        struct fp4_error ignored;

        if (another_run(k, &tries[i].s, POISON_AGAIN, &again, &ignored) == 0 && again.t[at].written &&
            memcmp(again.t[at].data, t->data, t->bytes) == 0)
            status = fp4_fail(err, FP4_EFORMAT, "backend '%s': '%s' depends on bytes that %s", k->b->name, t->name, tries[i].what);
        release_own(&again);
    }
    return status;
}

/* ---- call order ------------------------------------------------------------------------------------------------------------------------------- */

/* Every number of the inputs that decide an amax, eight times as large, as far as the type goes. */
static void other_amax(struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++) {
        struct tensor *x = &t->t[i];
        bool decides = strcmp(x->name, "x") == 0 || strncmp(x->name, "given-amax", 10) == 0 || strcmp(x->name, "amax") == 0;
        unsigned width = x->dtype == FP4_F32 ? 4 : 2, shift = x->dtype == FP4_F32 ? 23 : x->dtype == FP4_BF16 ? 7 : 10;
        uint32_t mask = x->dtype == FP4_F16 ? 31 : 255;

        if (x->role != TENSOR_INPUT || !decides || (x->dtype != FP4_F32 && x->dtype != FP4_BF16 && x->dtype != FP4_F16))
            continue;
        for (size_t at = 0; at + width <= x->bytes; at += width) {
            uint32_t bits = 0;

            memcpy(&bits, x->data + at, width); /* little-endian, as all hosts of this program */
            if ((bits >> shift & mask) && (bits >> shift & mask) + 3 < mask)
                bits += 3u << shift;
            memcpy(x->data + at, &bits, width);
        }
    }
}

static bool other_shape(const struct fp4_case *c, struct fp4_case *out)
{
    static const size_t more[][2] = { { 0, 64 }, { 64, 0 }, { 64, 64 }, { 128, 128 } };

    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        *out = *c;
        out->rows += more[i][0];
        out->cols += more[i][1];
        if (case_check(out, NULL) == 0)
            return true;
    }
    return false;
}

enum between { BETWEEN_AMAX = 1, BETWEEN_SHAPE = 2, BETWEEN_BOTH = 3 }; /* what is another one in a call between */

/* A call whose result nobody looks at. 1 when it cannot be made. */
static int call_between(const struct checked *k, enum between what, struct fp4_error *err)
{
    struct case_tensors made = { 0 }, t;
    struct fp4_case c = *k->c;
    int status = 1;

    if (!c.data || (what & BETWEEN_SHAPE && !other_shape(k->c, &c)) || k->b->supports(&c, NULL) || case_describe(&c, &made, NULL) ||
        case_inputs(&c, &made, NULL)) {
        case_release(&made);
        return 1;
    }
    if (what & BETWEEN_AMAX)
        other_amax(&made);
    if (surround(&c, &made, &as_first, &t, err) == 0) {
        status = run_over(k->b, &c, &t, POISON, false, err);
        release_own(&t);
    }
    case_release(&made);
    return status < 0 ? fp4_fail_in(err, "a call of another shape or amax between two of the case") : status;
}

/* Another call, then the case again: settled is what it gives when nothing came between. */
static int after_another(const struct checked *k, const struct case_tensors *settled, enum between what, struct fp4_error *err)
{
    struct case_tensors t = { .count = 0 };
    int status = call_between(k, what, err);

    if (status)
        return status > 0 ? 0 : -1;
    status = another_run(k, &other_around, POISON_AGAIN, &t, err);
    const struct tensor *unlike = status == 0 ? first_difference(settled, &t) : NULL;
    if (unlike)
        status = fp4_fail(err, FP4_EFORMAT, "backend '%s': '%s' is another one after a call with another %s: %s", k->b->name,
                          unlike->name, what == BETWEEN_SHAPE ? "shape" : "amax",
                          what == BETWEEN_SHAPE ? "a stride or an extent of the call before is used"
                                                : "an amax of the call before is used, the right one comes too late");
    release_own(&t);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------------------------------- */

/* Why two runs differ in t: what lies around the inputs, what was called before, or nobody knows. What two more runs agree on is free of
 * what was called before them. */
static int explain_unlike(const struct checked *k, const struct tensor *t, const struct unlike *u, struct fp4_error *err)
{
    struct case_tensors settled = { .count = 0 }, again = { .count = 0 };
    struct fp4_error ignored;
    int status = 0;

    if (another_run(k, &other_around, POISON_AGAIN, &settled, &ignored) == 0 &&
        another_run(k, &other_around, POISON_AGAIN, &again, &ignored) == 0 && !first_difference(&settled, &again)) {
        if (first_difference(k->first, &settled))
            status = blame_surroundings(k, t, err);
        if (status == 0)
            status = after_another(k, &settled, BETWEEN_AMAX, err);
        if (status == 0)
            status = after_another(k, &settled, BETWEEN_SHAPE, err);
    }
    release_own(&settled);
    release_own(&again);
    if (status == 0)
        status = fp4_fail(err, FP4_EFORMAT,
                          "two runs of backend '%s' differ in %zu of the %zu bytes of '%s', first in byte %zu: not "
                          "deterministic, or another function without stages",
                          k->b->name, u->differ, t->bytes, t->name, u->at_differ);
    return status;
}

static int compare_twice(const struct checked *k, const struct case_tensors *second, struct fp4_error *err)
{
    for (size_t i = 0; i < second->count; i++) {
        const struct tensor *a = &k->first->t[i], *b = &second->t[i];

        if (a->role == TENSOR_INPUT || !b->data)
            continue;
        if (a->written != b->written)
            return fp4_fail(err, FP4_EFORMAT, "backend '%s' produced '%s' in one of two runs only: not deterministic", k->b->name,
                            a->name);
        if (!a->written || memcmp(a->data, b->data, a->bytes) == 0)
            continue;
        const struct unlike u = count_unlike(a, b);
        return u.differ ? explain_unlike(k, a, &u, err) : never_wrote(k->b, a, &u, err);
    }
    return 0;
}

/* The first run reads its inputs out of copies with surroundings too; its results go to *t. */
static int first_run(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct case_tensors own;

    if (surround(c, t, &as_first, &own, err))
        return -1;
    int status = run_over(b, c, &own, POISON, true, err);
    for (size_t i = 0; i < t->count; i++) {
        if (t->t[i].role == TENSOR_INPUT) {
            free(own.t[i].data);
            continue;
        }
        t->t[i].data = own.t[i].data;
        t->t[i].written = own.t[i].written;
    }
    return status;
}

int run_checked(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const struct checked k = { b, c, t };
    struct case_tensors second = { .count = 0 };
    int status = first_run(b, c, t, err);

    if (status == 0 && c->rows * c->cols <= CALL_ORDER_ELEMENTS && call_between(&k, BETWEEN_BOTH, err) < 0)
        status = -1;
    if (status == 0)
        status = another_run(&k, &other_around, POISON_AGAIN, &second, err);
    if (status == 0)
        status = compare_twice(&k, &second, err);
    release_own(&second);
    return status;
}

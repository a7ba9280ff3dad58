/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: lines, and which op explains itself how. */
#include "explain.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct explain_line *add_line(struct explain *e, const char *key)
{
    struct explain_line *l = &e->lines[e->line_count < EXPLAIN_LINES_MAX - 1 ? e->line_count++ : e->line_count];

    memset(l, 0, sizeof *l);
    snprintf(l->key, sizeof l->key, "%s", key);
    return l;
}

static const struct tensor *of_side(struct explain *e, size_t side, const char *name, size_t i)
{
    const struct tensor *t = tensor_find(&e->sides[side].t, name);
    size_t count = t ? t->dims[0] * (t->ndim == 2 ? t->dims[1] : 1) : 0;

    return t && t->data && i < count && (t->role == TENSOR_INPUT || t->written) ? t : NULL;
}

bool explain_ref(struct explain *e, const char *tensor, size_t i, uint64_t *bits)
{
    const struct tensor *t = of_side(e, 0, tensor, i);

    if (t)
        *bits = tensor_element(t->data, t->dtype, i);
    return t != NULL;
}

bool explain_tensor(struct explain *e, const char *key, const char *tensor, size_t i)
{
    const struct tensor *ref = of_side(e, 0, tensor, i);
    struct explain_line *l;
    size_t s;

    if (!ref)
        return false;
    l = add_line(e, key);
    l->values = true;
    l->dtype = ref->dtype;
    for (s = 0; s < e->side_count; s++) {
        const struct tensor *t = of_side(e, s, tensor, i);

        l->has[s] = t != NULL;
        l->bits[s] = t ? tensor_element(t->data, t->dtype, i) : 0;
    }
    return true;
}

void explain_value(struct explain *e, const char *key, enum fp4_dtype dtype, uint64_t bits, const char *fmt, ...)
{
    struct explain_line *l = add_line(e, key);
    va_list args;

    l->values = l->has[0] = true;
    l->dtype = dtype;
    l->bits[0] = bits;
    va_start(args, fmt);
    vsnprintf(l->note, sizeof l->note, fmt, args);
    va_end(args);
}

void explain_note(struct explain *e, const char *key, const char *fmt, ...)
{
    struct explain_line *l = add_line(e, key);
    va_list args;

    va_start(args, fmt);
    vsnprintf(l->note, sizeof l->note, fmt, args);
    va_end(args);
}

void explain_remark(struct explain *e, const char *fmt, ...)
{
    struct explain_line *l = &e->lines[e->line_count - 1];
    size_t used = strlen(l->note);
    va_list args;

    va_start(args, fmt);
    vsnprintf(l->note + used, sizeof l->note - used, fmt, args);
    va_end(args);
}

const struct explain_line *explain_difference(const struct explain *e, size_t *side)
{
    size_t i, s;

    for (i = 0; i < e->line_count; i++)
        for (s = 1; s < e->side_count; s++)
            if (e->lines[i].values && e->lines[i].has[s] && e->lines[i].bits[s] != e->lines[i].bits[0]) {
                *side = s;
                return &e->lines[i];
            }
    return NULL;
}

int explain_element(struct explain *e, struct fp4_error *err)
{
    size_t rows = e->c.rows, cols = e->c.op == OP_GEMM ? e->c.depth : e->c.cols;

    if (e->row >= rows || e->col >= cols)
        return fp4_fail(err, FP4_EUSAGE, "--at %zu,%zu lies outside of the %zux%zu elements of the case", e->row, e->col, rows,
                        cols);
    switch (e->c.op) {
    case OP_QUANTIZE:
    case OP_RHT_QUANTIZE:
        return explain_quantizer(e, err);
    case OP_DEQUANTIZE:
        return explain_dequantize(e, err);
    case OP_SWIZZLE:
        return explain_swizzle(e, err);
    case OP_PHILOX:
        return explain_philox(e, err);
    case OP_FOUR_OVER_SIX:
        return explain_four(e, err);
    case OP_GEMM:
        return explain_gemm(e, err);
    case OP_CVT_RN:
    case OP_CVT_RS:
    case OP_SR_BF16X4:
    case OP_SR_FP32X4:
    case OP_SR_BF16X8:
        return explain_convert(e, err);
    case OP_COUNT:
        break;
    }
    return fp4_fail(err, FP4_ESUPPORT, "explain does not know the op of '%s'", e->name);
}

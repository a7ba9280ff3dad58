/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a case: which there are, their shapes, and their memory. The list is the comment of matrix.h in code. */
#include "case_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- describing ---------------------------------------------------------------------------------------------------------------------- */

static void add(struct case_tensors *t, enum tensor_role role, const char *name, bool transposed, enum fp4_dtype dtype, size_t d0,
                size_t d1)
{
    struct tensor *x = &t->t[t->count++];

    memset(x, 0, sizeof *x);
    snprintf(x->name, sizeof x->name, "%s%s", name, transposed ? ".t" : "");
    x->role = role;
    x->dtype = dtype;
    x->ndim = d1 ? 2 : 1;
    x->dims[0] = d0;
    x->dims[1] = d1;
    x->bytes = fp4_dtype_bytes(dtype, d1 ? d0 * d1 : d0);
}

static void add_input(struct case_tensors *t, const char *name, enum fp4_dtype dtype, size_t d0, size_t d1)
{
    add(t, TENSOR_INPUT, name, false, dtype, d0, d1);
}

static void add_output(struct case_tensors *t, const char *name, enum fp4_dtype dtype, size_t d0, size_t d1)
{
    add(t, TENSOR_OUTPUT, name, false, dtype, d0, d1);
}

static void describe_convert(const struct fp4_case *c, struct case_tensors *t)
{
    size_t rows = c->rows, cols = c->cols;
    bool scaled = c->op == OP_SR_BF16X4 || (c->op == OP_SR_FP32X4 && c->knob[KNOB_SCALE] == 0);

    add_input(t, "x", c->dtype, rows, cols);
    if (scaled)
        add_input(t, "scale", FP4_F32, rows, 2);
    if (c->op == OP_SR_BF16X8)
        add_input(t, "coefficient", c->knob[KNOB_COEF] ? FP4_BF16 : FP4_F32, rows, 0);
    if (c->op != OP_CVT_RN)
        add_input(t, "rbits", FP4_U32, rows, cols / 4);
    if (scaled || c->op == OP_SR_BF16X8)
        add(t, TENSOR_STAGE, "scaled", false, FP4_F32, rows, cols);
    add_output(t, "codes", FP4_E2M1, rows, cols);
}

struct direction {
    bool transposed;
    size_t lines, packed, blocks, words;
    size_t amaxes; /* second dimension 0: a vector */
};

static struct direction direction_of(const struct fp4_case *c, bool transposed)
{
    struct direction d;

    d.transposed = transposed;
    d.lines = transposed ? c->cols : c->rows;
    d.packed = transposed ? c->rows : c->cols;
    d.blocks = (d.packed + 15) / 16;
    d.words = (d.packed + 3) / 4;
    d.amaxes = c->knob[KNOB_AMAX] == 1 ? d.lines : 1;
    return d;
}

static void describe_candidates(const struct direction *d, struct case_tensors *t)
{
    bool tr = d->transposed;

    add(t, TENSOR_STAGE, "scale-6", tr, FP4_E4M3, d->lines, d->blocks);
    add(t, TENSOR_STAGE, "scale-4", tr, FP4_E4M3, d->lines, d->blocks);
    add(t, TENSOR_STAGE, "codes-6", tr, FP4_E2M1, d->lines, d->packed);
    add(t, TENSOR_STAGE, "codes-4", tr, FP4_E2M1, d->lines, d->packed);
    add(t, TENSOR_STAGE, "error-6", tr, FP4_F32, d->lines, d->blocks);
    add(t, TENSOR_STAGE, "error-4", tr, FP4_F32, d->lines, d->blocks);
    add(t, TENSOR_STAGE, "pick", tr, FP4_U8, d->lines, d->blocks);
}

static void describe_direction(const struct fp4_case *c, const struct direction *d, struct case_tensors *t)
{
    bool tr = d->transposed;

    add(t, TENSOR_OUTPUT, "amax", tr, FP4_F32, d->amaxes, 0);
    add(t, TENSOR_STAGE, "global-scale", tr, FP4_F32, d->amaxes, 0);
    add(t, TENSOR_STAGE, "block-amax", tr, FP4_F32, d->lines, d->blocks);
    if (c->op == OP_FOUR_OVER_SIX)
        describe_candidates(d, t);
    add(t, TENSOR_OUTPUT, "block-scale", tr, FP4_E4M3, d->lines, d->blocks);
    add(t, TENSOR_STAGE, "scaled", tr, FP4_F32, d->lines, d->packed);
    if (case_is_stochastic(c) && c->knob[KNOB_STREAM] != FP4_STREAM_RBITS)
        add(t, TENSOR_STAGE, "random", tr, FP4_U32, d->lines, d->words);
    add(t, TENSOR_OUTPUT, "codes", tr, FP4_E2M1, d->lines, d->packed);
    add(t, TENSOR_STAGE, "dequantized", tr, FP4_F32, d->lines, d->packed);
}

static void describe_quantizer(const struct fp4_case *c, struct case_tensors *t)
{
    struct direction d[2];
    size_t n = 0, i;

    if (case_has_row(c))
        d[n++] = direction_of(c, false);
    if (case_has_col(c))
        d[n++] = direction_of(c, true);
    add_input(t, "x", c->dtype, c->rows, c->cols);
    if (case_is_stochastic(c) && c->knob[KNOB_STREAM] != FP4_STREAM_RBITS)
        add_input(t, "rng-state", FP4_U64, 2, 0);
    for (i = 0; i < n && case_gives_amax(c); i++)
        add(t, TENSOR_INPUT, "given-amax", d[i].transposed, FP4_F32, d[i].amaxes, 0);
    for (i = 0; i < n && case_is_stochastic(c) && c->knob[KNOB_STREAM] == FP4_STREAM_RBITS; i++)
        add(t, TENSOR_INPUT, "rbits", d[i].transposed, FP4_U32, d[i].lines, d[i].words);
    for (i = 0; i < n; i++) {
        if (c->op == OP_RHT_QUANTIZE && d[i].transposed) {
            add(t, TENSOR_STAGE, "transformed", true, FP4_F32, c->cols, c->rows);
            add(t, TENSOR_STAGE, "exactness", true, FP4_U8, c->cols, c->rows / 16);
        }
        describe_direction(c, &d[i], t);
    }
}

/* Codes, scales and amax of one quantized matrix of a product. */
static void describe_operand(struct case_tensors *t, enum tensor_role role, const char *which, size_t lines, size_t packed,
                             size_t amaxes)
{
    char name[TENSOR_NAME_MAX];

    snprintf(name, sizeof name, "%s-codes", which);
    add(t, role, name, false, FP4_E2M1, lines, packed);
    snprintf(name, sizeof name, "%s-scale", which);
    add(t, role, name, false, FP4_E4M3, lines, packed / 16);
    snprintf(name, sizeof name, "%s-amax", which);
    add(t, role, name, false, FP4_F32, amaxes, 0);
}

static void describe_product(const struct fp4_case *c, struct case_tensors *t)
{
    size_t m = c->rows, n = c->depth, k = c->cols;

    describe_operand(t, TENSOR_INPUT, "a", m, k, c->knob[KNOB_AMAX] ? m : 1);
    describe_operand(t, TENSOR_INPUT, "b", n, k, 1);
    if (c->knob[KNOB_BIAS])
        add_input(t, "bias", c->dtype, n, 0);
    add(t, TENSOR_STAGE, "acc", false, FP4_F32, m, n);
    add_output(t, "y", c->dtype, m, n);
}

/* Saved for the backward pass: outputs. Made on the way: stages. */
static void describe_layer(const struct fp4_case *c, struct case_tensors *t)
{
    size_t m = c->rows, n = c->depth, k = c->cols, amaxes = c->knob[KNOB_AMAX] ? m : 1;
    bool quantized = c->knob[KNOB_MODE] == FP4_BACKWARD_QUANTIZED, decoded = c->knob[KNOB_MODE] == FP4_BACKWARD_DEQUANTIZED;

    add_input(t, "x", FP4_BF16, m, k);
    add_input(t, "w", FP4_BF16, n, k);
    if (c->knob[KNOB_BIAS])
        add_input(t, "bias", FP4_BF16, n, 0);
    add_input(t, "dy", FP4_BF16, m, n);
    describe_operand(t, decoded ? TENSOR_OUTPUT : TENSOR_STAGE, "x", m, k, amaxes);
    describe_operand(t, decoded ? TENSOR_OUTPUT : TENSOR_STAGE, "w", n, k, 1);
    if (quantized) {
        describe_operand(t, TENSOR_OUTPUT, "xt", k, m, 1);
        describe_operand(t, TENSOR_OUTPUT, "wt", k, n, 1);
    }
    add_output(t, "y", FP4_BF16, m, n);
    if (quantized) {
        describe_operand(t, TENSOR_STAGE, "dy", m, n, 1);
        describe_operand(t, TENSOR_STAGE, "dyt", n, m, 1);
    }
    if (decoded) {
        add(t, TENSOR_STAGE, "x-values", false, FP4_BF16, m, k);
        add(t, TENSOR_STAGE, "w-values", false, FP4_BF16, n, k);
    }
    add_output(t, "grad-input", FP4_BF16, m, k);
    add_output(t, "grad-weight", FP4_BF16, n, k);
    if (c->knob[KNOB_BIAS])
        add_output(t, "grad-bias", FP4_BF16, n, 0);
}

static void describe_dequantize(const struct fp4_case *c, struct case_tensors *t)
{
    size_t blocks = c->cols / 16;

    add_input(t, "codes", FP4_E2M1, c->rows, c->cols);
    if (c->knob[KNOB_LAYOUT])
        add_input(t, "scales", FP4_E4M3, fp4_swizzle_bytes(c->rows, blocks), 0);
    else
        add_input(t, "scales", FP4_E4M3, c->rows, blocks);
    add_input(t, "amax", FP4_F32, c->knob[KNOB_AMAX] ? c->rows : 1, 0);
    add(t, TENSOR_STAGE, "decoded-scale", false, FP4_F32, c->rows, blocks);
    add_output(t, "dequantized", c->dtype, c->rows, c->cols);
}

static void describe_swizzle(const struct fp4_case *c, struct case_tensors *t)
{
    size_t bytes = fp4_swizzle_bytes(c->rows, c->cols);

    if (c->knob[KNOB_SWIZZLE]) {
        add_input(t, "swizzled", FP4_E4M3, bytes, 0);
        add_output(t, "scales", FP4_E4M3, c->rows, c->cols);
    } else {
        add_input(t, "scales", FP4_E4M3, c->rows, c->cols);
        add_output(t, "swizzled", FP4_E4M3, bytes, 0);
    }
}

static void describe_philox(const struct fp4_case *c, struct case_tensors *t)
{
    add_input(t, "seed", FP4_U64, c->rows, 0);
    add_input(t, "subsequence", FP4_U64, c->rows, 0);
    add_input(t, "offset", FP4_U64, c->rows, 0);
    add_output(t, "words", FP4_U32, c->rows, c->cols);
}

int case_describe(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    memset(t, 0, sizeof *t);
    if (case_check(c, err))
        return -1;
    if (c->cols >
        ((size_t)1 << 40) / c->rows) /* stages take 4 bytes an element: no overflow below, and a message instead of a crash */
        return fp4_fail(err, FP4_ESUPPORT, "%zux%zu has more than 2^40 elements", c->rows, c->cols);
    if (c->depth > ((size_t)1 << 40) / (c->rows > c->cols ? c->rows : c->cols))
        return fp4_fail(err, FP4_ESUPPORT, "%zux%zux%zu has a matrix of more than 2^40 elements", c->rows, c->depth, c->cols);
    switch (c->op) {
    case OP_QUANTIZE:
    case OP_RHT_QUANTIZE:
    case OP_FOUR_OVER_SIX:
        describe_quantizer(c, t);
        break;
    case OP_DEQUANTIZE:
        describe_dequantize(c, t);
        break;
    case OP_GEMM:
        if (case_is_layer(c))
            describe_layer(c, t);
        else
            describe_product(c, t);
        break;
    case OP_SWIZZLE:
        describe_swizzle(c, t);
        break;
    case OP_PHILOX:
        describe_philox(c, t);
        break;
    default:
        describe_convert(c, t);
        break;
    }
    return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------------------------- */

static int allocate(struct tensor *x, struct fp4_error *err)
{
    x->data = aligned_alloc(64, (x->bytes + 63) / 64 * 64 + 64);
    if (!x->data)
        return fp4_fail(err, FP4_EIO, "out of memory: tensor %s needs %zu bytes", x->name, x->bytes);
    return 0;
}

int case_inputs(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    char name[CASE_NAME_MAX];
    size_t i;

    if (case_describe(c, t, err))
        return -1;
    for (i = 0; i < t->count; i++) {
        if (t->t[i].role != TENSOR_INPUT)
            continue;
        if (allocate(&t->t[i], err))
            goto fail;
        memset(t->t[i].data, 0, t->t[i].bytes);
    }
    if (c->data ? c->data->generate(c, c->data, t, err) : generate_file(c, t, err))
        goto fail;
    return 0;
fail:
    case_release(t);
    case_name(c, name);
    return fp4_fail_in(err, "inputs of %s", name);
}

void case_release(struct case_tensors *t)
{
    size_t i;

    for (i = 0; i < t->count; i++) {
        free(t->t[i].data);
        t->t[i].data = NULL;
        t->t[i].written = false;
    }
}

struct tensor *tensor_find(struct case_tensors *t, const char *name)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if (strcmp(t->t[i].name, name) == 0)
            return &t->t[i];
    return NULL;
}

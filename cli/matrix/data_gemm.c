/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of gemm: the matrices of a layer, or operands that are quantized already. */
#include "data_make.h"

#include <stdlib.h>
#include <string.h>

/* Each matrix is made as the input of a quantizer would be, with random numbers of its own: the lowest byte of the seed, by which some
 * constructions count, stays. */
static void fill_matrix(const struct fp4_case *c, const struct data_row *row, const char *name, size_t rows, size_t cols,
                        struct tensor *x)
{
    struct fp4_case own = case_make(OP_FOUR_OVER_SIX, CR_TORCHAO, x->dtype, row, rows, cols, c->seed);
    struct maker m;
    size_t i;

    own.seed = (mix64(c->seed, stream_of(name), 0) & ~(uint64_t)0xFF) | (c->seed & 0xFF);
    m = maker_of(&own, row, x->dtype);
    for (i = 0; i < rows * cols; i++)
        store_bits(x, i, row->value(&m, i / cols, i % cols));
}

static int generate_layer(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t)
{
    struct tensor *bias = tensor_find(t, "bias");

    fill_matrix(c, row, "x", c->rows, c->cols, tensor_find(t, "x"));
    fill_matrix(c, row, "w", c->depth, c->cols, tensor_find(t, "w"));
    fill_matrix(c, row, "dy", c->rows, c->depth, tensor_find(t, "dy"));
    if (bias)
        fill_matrix(c, row, "bias", 1, c->depth, bias);
    return 0;
}

/* ---- operands ----------------------------------------------------------------------------------------------------------------------------- */

struct operand {
    struct tensor *codes, *scales, *amax;
    size_t lines, packed;
};

static struct operand operand_of(struct case_tensors *t, const char *codes, const char *scales, const char *amax)
{
    struct operand o = { tensor_find(t, codes), tensor_find(t, scales), tensor_find(t, amax), 0, 0 };

    o.lines = o.codes->dims[0];
    o.packed = o.codes->dims[1];
    return o;
}

/* Random codes; scales without NaN, or any. Amaxes between 2^-7 and 2^8. */
static void random_operand(const struct fp4_case *c, const struct data_row *row, const struct operand *o)
{
    size_t i;

    for (i = 0; i < o->codes->bytes; i++)
        o->codes->data[i] = (uint8_t)mix64(c->seed, stream_of(o->codes->name), i);
    for (i = 0; i < o->scales->bytes; i++) {
        uint64_t z = mix64(c->seed, stream_of(o->scales->name), i);
        bool any = row->param == BYTES_ANY;

        /* any: sign bits too, and a NaN once in a while: it makes a whole line of the product NaN */
        o->scales->data[i] = (uint8_t)(z % 0x7F | (any ? z >> 32 & 0x80 : 0));
        if (any && (z >> 40) % 1024 == 0)
            o->scales->data[i] = 0x7F;
    }
    for (i = 0; i < o->amax->dims[0]; i++) {
        uint64_t z = mix64(c->seed, stream_of(o->amax->name), i);
        uint32_t bits = (uint32_t)(120 + z % 15) << 23 | (uint32_t)(z >> 32 & 0x7FFFFF);

        memcpy(o->amax->data + 4 * i, &bits, 4);
    }
}

/* What four-over-six makes of a matrix. */
static int quantized_operand(const struct fp4_case *c, const struct data_row *row, const char *name, const struct operand *o,
                             struct fp4_error *err)
{
    struct fp4_four_params p = { .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16, .rows = o->lines, .cols = o->packed };
    struct tensor x = { .dtype = FP4_BF16, .bytes = 2 * o->lines * o->packed };
    struct fp4_quantized q;
    int status;

    x.data = malloc(x.bytes);
    if (!x.data)
        return fp4_fail(err, FP4_EIO, "out of memory");
    fill_matrix(c, row, name, o->lines, o->packed, &x);
    memset(&q, 0, sizeof q);
    p.bound = knob_bound(c->knob[KNOB_BOUND]);
    p.row_scaled = o->amax->dims[0] > 1;
    q.codes = o->codes->data;
    q.scales = o->scales->data;
    q.amax = (float *)(void *)o->amax->data;
    status = fp4_four_over_six(&p, x.data, &q, NULL, NULL, NULL, err);
    free(x.data);
    return status;
}

/* Each line holds one code: all 256 pairs in every 16 rows and 16 columns of y. Over 512 rows of a each scale byte is met with two codes,
 * one of which is no zero. */
static void counted_operand(const struct operand *o, bool is_a)
{
    static const uint32_t one = 0x3F800000u;
    size_t line, i;

    for (line = 0; line < o->lines; line++) {
        size_t code = (line + line / 256) % 16;

        memset(o->codes->data + line * o->packed / 2, (int)(code * 0x11), o->packed / 2);
        memset(o->scales->data + line * o->packed / 16, is_a ? (int)(line % 256) : 0x38, o->packed / 16);
    }
    for (i = 0; i < o->amax->dims[0]; i++)
        memcpy(o->amax->data + 4 * i, &one, 4);
}

static int generate_operands(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    struct operand a = operand_of(t, "a-codes", "a-scale", "a-amax"), b = operand_of(t, "b-codes", "b-scale", "b-amax");
    struct tensor *bias = tensor_find(t, "bias");
    const struct data_row *normal = data_find("normal");

    if (bias)
        fill_matrix(c, row->value ? row : normal, "bias", 1, c->depth, bias);
    if (row->value)
        return quantized_operand(c, row, "a", &a, err) || quantized_operand(c, row, "b", &b, err) ? -1 : 0;
    if (row->param == BYTES_ALLCODES) {
        counted_operand(&a, true);
        counted_operand(&b, false);
        return 0;
    }
    random_operand(c, row, &a);
    random_operand(c, row, &b);
    return 0;
}

int generate_gemm(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    return case_is_layer(c) ? generate_layer(c, row, t) : generate_operands(c, row, t, err);
}

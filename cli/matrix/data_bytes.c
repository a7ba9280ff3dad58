/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the ops that read bytes and integers: dequantize, swizzle, philox. */
#include "data_make.h"

#include <stdlib.h>
#include <string.h>

static void put32(struct tensor *t, size_t i, uint32_t bits)
{
    memcpy(t->data + 4 * i, &bits, 4);
}

static void put64(struct tensor *t, size_t i, uint64_t value)
{
    memcpy(t->data + 8 * i, &value, 8);
}

static uint8_t random_byte(const struct fp4_case *c, const char *name, size_t i)
{
    return (uint8_t)(mix64(c->seed, stream_of(name), i / 8) >> i % 8 * 8);
}

/* ---- dequantize ------------------------------------------------------------------------------------------------------------------------ */

/* Zero, Inf, NaN, the ends of the range, the largest amax whose 2688/amax overflows, and ordinary ones. */
static uint32_t special_amax(size_t i)
{
    static const uint32_t bits[] = { 0x00000000u, 0x7F800000u, 0x7FC00000u, 0x00000001u, 0x00800000u, 0x05280000u,
                                     0x7F7FFFFFu, 0x80000000u, 0x7F7F0000u, 0x45280000u, 0x3F800000u, 0x007FFFFFu };

    return bits[i % (sizeof bits / sizeof bits[0])];
}

/* Field reports 50, 51: 672 as bf16 read as f32 is 2.4e-41 or 673.06, by its neighbour; 4.0 and both of its global scales. */
static uint32_t global_amax(size_t i)
{
    static const uint32_t bits[] = { 0x44280000u, 0x00004428u, 0x44284428u, 0x40800000u, 0x3AC30C31u, 0x41000000u };

    return bits[i % (sizeof bits / sizeof bits[0])];
}

static uint32_t amax_of(const struct fp4_case *c, unsigned kind, size_t i)
{
    static const uint32_t ordinary[4] = { 0x45280000u, 0x3F800000u, 0x420C0000u, 0x3DCCCCCDu };

    switch (kind) {
    case BYTES_AMAXSPECIAL:
        return special_amax((size_t)c->seed + i);
    case BYTES_GLOBAL:
        return global_amax((size_t)c->seed + i);
    case BYTES_RANDOM:
    case BYTES_ANY: /* an amax between 2^-7 and 2^8 */
        return (uint32_t)(120 + mix64(c->seed, 11, i) % 15) << 23 | (uint32_t)(mix64(c->seed, 12, i) & 0x7FFFFF);
    default:
        return ordinary[(c->seed + i) % 4];
    }
}

static uint8_t scale_of(const struct fp4_case *c, unsigned kind, size_t r, size_t k)
{
    size_t i = r * (c->cols / 16) + k;

    switch (kind) {
    case BYTES_ALLCODES:
        return (uint8_t)i; /* all 256, NaN and sign bit included */
    case BYTES_COORDS:
        return (uint8_t)(1 + i % 125);
    case BYTES_ANY:
        return random_byte(c, "scales", i);
    case BYTES_GLOBAL: /* field reports 47, 48: 448, 1, the smallest, NaN, 1 with its sign bit */
        return (uint8_t[]){ 0x7E, 0x38, 0x01, 0x7F, 0xB8, 0x08, 0x07, 0x00 }[i % 8];
    default:
        return random_byte(c, "scales", i) % 0x7F;
    }
}

static uint8_t code_byte_of(const struct fp4_case *c, unsigned kind, size_t i)
{
    if (kind == BYTES_ALLCODES || kind == BYTES_COORDS || kind == BYTES_AMAXSPECIAL || kind == BYTES_GLOBAL)
        return (uint8_t)(2 * i % 16 | (2 * i % 16 + 1) << 4);
    return random_byte(c, "codes", i);
}

static void decode_bytes(const struct fp4_case *c, unsigned kind, struct case_tensors *t, uint8_t *scales)
{
    struct tensor *codes = tensor_find(t, "codes"), *amax = tensor_find(t, "amax");
    size_t blocks = c->cols / 16, i;

    for (i = 0; i < codes->bytes; i++)
        codes->data[i] = code_byte_of(c, kind, i);
    for (i = 0; i < c->rows * blocks; i++)
        scales[i] = scale_of(c, kind, i / blocks, i % blocks);
    for (i = 0; i < amax->dims[0]; i++)
        put32(amax, i, amax_of(c, kind, i));
}

/* What the reference quantizer makes of a generated f32 tensor. */
static int decode_quantised(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, uint8_t *scales,
                            struct fp4_error *err)
{
    struct fp4_quantize_params p = { .recipe = FP4_RECIPE_TE, .input = FP4_F32, .rows = c->rows, .cols = c->cols };
    struct maker m = maker_of(c, row, FP4_F32);
    struct fp4_quantized q;
    uint32_t *x = malloc(4 * c->rows * c->cols);
    size_t i;
    int status;

    if (!x)
        return fp4_fail(err, FP4_EIO, "out of memory");
    for (i = 0; i < c->rows * c->cols; i++)
        x[i] = row->value(&m, i / c->cols, i % c->cols);
    memset(&q, 0, sizeof q);
    p.row_scaled = c->knob[KNOB_AMAX] == 1;
    q.codes = tensor_find(t, "codes")->data;
    q.scales = scales;
    q.amax = (float *)(void *)tensor_find(t, "amax")->data;
    status = fp4_quantize(&p, x, &q, NULL, err);
    free(x);
    return status;
}

int generate_dequantize(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *scales = tensor_find(t, "scales");
    size_t blocks = c->cols / 16;
    uint8_t *linear = malloc(c->rows * blocks);
    int status = 0;

    if (!linear)
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (row->param == BYTES_QUANTISED)
        status = decode_quantised(c, row, t, linear, err);
    else
        decode_bytes(c, row->param, t, linear);
    if (c->knob[KNOB_LAYOUT])
        fp4_swizzle(c->rows, blocks, linear, scales->data);
    else
        memcpy(scales->data, linear, c->rows * blocks);
    free(linear);
    return status;
}

/* ---- swizzle --------------------------------------------------------------------------------------------------------------------------- */

/* coords: byte k of the index by seed, so that a few seeds together name each place in full. Never zero, which is what padding holds. */
static uint8_t place_byte(const struct fp4_case *c, unsigned kind, size_t i)
{
    if (kind == BYTES_RANDOM)
        return random_byte(c, "scales", i);
    if (c->seed % 4 == 0)
        return (uint8_t)(1 + i % 125);
    return (uint8_t)(i >> (c->seed % 4 - 1) * 8);
}

/* poison (field reports 7, 9): the logical entries as for coords, all padding of the swizzled buffer 7F. */
int generate_swizzle(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *in = &t->t[0];
    size_t r, k;

    (void)err;
    if (c->knob[KNOB_SWIZZLE] == 0) {
        for (k = 0; k < in->bytes; k++)
            in->data[k] = place_byte(c, row->param, k);
        return 0;
    }
    if (row->param == BYTES_POISON)
        memset(in->data, 0x7F, in->bytes);
    for (r = 0; r < c->rows; r++)
        for (k = 0; k < c->cols; k++)
            in->data[fp4_swizzle_index(c->cols, r, k)] = place_byte(c, row->param, r * c->cols + k);
    return 0;
}

/* ---- philox ---------------------------------------------------------------------------------------------------------------------------- */

struct philox_input {
    uint64_t seed, subsequence, offset;
};

/* SR 3.1 and TE Appendix A. */
static const struct philox_input philox_known[] = {
    { 0, 0, 0 },
    { 12345, 0, 0 },
    { 12345, 1, 0 },
    { 12345, 0, 1 },
    { 12345, 0, 4 },
    { (UINT64_C(1) << 32) + 12345, 1, 0 },
    { 12345, UINT64_C(1) << 32, 0 },
    { 12345, 7, UINT64_C(0xFFFFFFFF) },
    { 12345, 7, UINT64_C(1) << 32 },
    { 1, 0, 0 },
    { 0, 1, 0 },
    { UINT64_C(0x123456789ABCDEF0), 5, UINT64_C(0x1FFFFFFFE) },
    { UINT64_C(0x0123456789ABCDEF), 660, 7 },
    { UINT64_C(0x0123456789ABCDEF), 678, 7 },
    { UINT64_C(0x0123456789ABCDEF), 1324, 7 },
};

static struct philox_input philox_carry(size_t i)
{
    static const uint64_t edges[] = { 0, 1, UINT64_C(0xFFFFFFFF), UINT64_C(0x100000000), UINT64_C(0x7FFFFFFFFFFFFFFF), UINT64_MAX };
    struct philox_input in;

    in.offset = edges[i % 6] - i / 36 % 5;
    in.subsequence = edges[i / 6 % 6];
    in.seed = edges[i / 36 % 6] ^ (i / 216);
    return in;
}

static struct philox_input philox_input_of(const struct fp4_case *c, unsigned kind, size_t i)
{
    struct philox_input in;

    if (kind == PHILOX_KAT)
        return philox_known[i % (sizeof philox_known / sizeof philox_known[0])];
    if (kind == PHILOX_CARRY)
        return philox_carry(i);
    in.seed = mix64(c->seed, 21, i);
    in.subsequence = mix64(c->seed, 22, i) >> mix64(c->seed, 24, i) % 64;
    in.offset = mix64(c->seed, 23, i) >> mix64(c->seed, 25, i) % 64;
    return in;
}

int generate_philox(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    size_t i;

    (void)err;
    for (i = 0; i < c->rows; i++) {
        struct philox_input in = philox_input_of(c, row->param, i);

        put64(tensor_find(t, "seed"), i, in.seed);
        put64(tensor_find(t, "subsequence"), i, in.subsequence);
        put64(tensor_find(t, "offset"), i, in.offset);
    }
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What all generators share: places among the blocks, storing, and the inputs of a quantizer besides x. */
#include "data_make.h"

#include "case_build.h"

#include <string.h>

const float e2m1_midpoints[7] = { 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f };

/* ---- places ---------------------------------------------------------------------------------------------------------------------------- */

struct maker maker_of(const struct fp4_case *c, const struct data_row *row, enum fp4_dtype dtype)
{
    bool blocks = c->op == OP_QUANTIZE || c->op == OP_FOUR_OVER_SIX;
    struct maker m;

    memset(&m, 0, sizeof m);
    m.c = c;
    m.row = row;
    m.dtype = dtype;
    m.rows = c->rows;
    m.cols = c->cols;
    m.transposed = c->op == OP_RHT_QUANTIZE || (blocks && !case_has_row(c));
    m.tile = blocks && c->knob[KNOB_BLOCK] == 1;
    m.anchor_lines = blocks && c->knob[KNOB_AMAX] == 1;
    m.blocks = ((m.transposed && !m.tile ? c->rows : c->cols) + 15) / 16;
    m.stream = stream_of(row->name);
    return m;
}

struct spot spot_of(const struct maker *m, size_t r, size_t c)
{
    struct spot s;

    if (m->tile) {
        s.block = r / 16 * m->blocks + c / 16;
        s.at = (unsigned)(r % 16 * 16 + c % 16);
        s.size = 256;
        s.anchor = s.block == 0;
        s.top = s.at == 0;
        return s;
    }
    if (m->transposed) {
        size_t swap = r;

        r = c;
        c = swap;
    }
    s.block = r * m->blocks + c / 16;
    s.at = (unsigned)(c % 16);
    s.size = 16;
    s.anchor = m->anchor_lines ? c < 16 : s.block == 0;
    s.top = s.at == 0;
    return s;
}

uint64_t element_bits(const struct maker *m, size_t r, size_t c, unsigned draw)
{
    return mix64(m->c->seed, m->stream + draw, (uint64_t)r * m->cols + c);
}

uint64_t block_bits(const struct maker *m, size_t block)
{
    return mix64(m->c->seed, m->stream ^ UINT64_C(0xB10C), block);
}

static unsigned sum_of_quarters(uint64_t z)
{
    return (unsigned)(z & 0xFFFF) + (unsigned)(z >> 16 & 0xFFFF) + (unsigned)(z >> 32 & 0xFFFF) + (unsigned)(z >> 48);
}

float element_normal(const struct maker *m, size_t r, size_t c)
{
    unsigned sum = sum_of_quarters(element_bits(m, r, c, 1)) + sum_of_quarters(element_bits(m, r, c, 2)) +
                   sum_of_quarters(element_bits(m, r, c, 3));

    return (float)(2 * (int)sum - 12 * 65535) * 0x1p-17f;
}

/* ---- storing --------------------------------------------------------------------------------------------------------------------------- */

static bool bits_are_nan(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

uint16_t bf16_of_bits(uint32_t bits)
{
    if (bits_are_nan(bits)) /* a payload in the lower half alone must not turn into an infinity */
        return (uint16_t)(bits >> 16 | ((bits & 0x7F0000u) == 0));
    return f32_to_bf16(fp4_f32_from_bits(bits)).bits;
}

uint16_t f16_of_bits(uint32_t bits)
{
    if (bits_are_nan(bits)) {
        uint32_t payload = bits >> 13 & 0x3FF;

        return (uint16_t)((bits >> 16 & 0x8000) | 0x7C00 | (payload ? payload : 1));
    }
    return f32_to_f16(fp4_f32_from_bits(bits)).bits;
}

void store_bits(struct tensor *x, size_t i, uint32_t bits)
{
    uint16_t half;

    if (x->dtype == FP4_F32) {
        memcpy(x->data + 4 * i, &bits, 4);
        return;
    }
    half = x->dtype == FP4_BF16 ? bf16_of_bits(bits) : f16_of_bits(bits);
    memcpy(x->data + 2 * i, &half, 2);
}

float round_to(float v, enum fp4_dtype dtype)
{
    if (dtype == FP4_BF16)
        return bf16_to_f32(f32_to_bf16(v));
    if (dtype == FP4_F16)
        return f16_to_f32(f32_to_f16(v));
    return v;
}

/* Magnitude bits moved by n within [1, top]; else left alone. */
static uint32_t moved(uint32_t magnitude, int n, uint32_t top)
{
    int64_t to = (int64_t)magnitude + n;

    return to < 1 || to > (int64_t)top ? magnitude : (uint32_t)to;
}

float step_ulp(float v, enum fp4_dtype dtype, int n)
{
    uint32_t bits = fp4_f32_bits(v), sign = bits & 0x80000000u;

    if (dtype == FP4_BF16) {
        uint32_t b = f32_to_bf16(fp4_f32_from_bits(bits & 0x7FFFFFFFu)).bits;

        return fp4_f32_from_bits(sign | moved(b, n, 0x7F7F) << 16);
    }
    if (dtype == FP4_F16) {
        f16_t h = { (uint16_t)moved(f32_to_f16(fp4_f32_from_bits(bits & 0x7FFFFFFFu)).bits, n, 0x7BFF) };

        return fp4_f32_from_bits(sign | fp4_f32_bits(f16_to_f32(h)));
    }
    return fp4_f32_from_bits(sign | moved(bits & 0x7FFFFFFFu, n, 0x7F7FFFFF));
}

/* ---- scales ---------------------------------------------------------------------------------------------------------------------------- */

float e4m3_midpoint(unsigned i)
{
    e4m3_t low = { (uint8_t)i }, high = { (uint8_t)(i + 1) };

    return (e4m3_to_f32(low) + e4m3_to_f32(high)) * 0.5f; /* exact: five significant bits */
}

float chain_factor(float amax, float block_amax, uint8_t *scale)
{
    float s_enc = fp4_global_scale(FP4_RECIPE_TE, amax, 448);
    float m = s_enc * fp4_f32_from_bits(0x3E2AAAABu);
    float d = block_amax * m;
    float s_dec = 1.0f / s_enc;
    e4m3_t byte;

    byte = f32_to_e4m3(d);
    *scale = byte.bits;
    return byte.bits ? 1.0f / (e4m3_to_f32(byte) * s_dec) : 0.0f;
}

/* ---- the inputs of a quantizer --------------------------------------------------------------------------------------------------------- */

void fill_random_words(const struct fp4_case *c, struct tensor *words)
{
    uint64_t stream = stream_of(words->name);
    size_t i, n = words->bytes / 4;

    for (i = 0; i < n; i++) {
        uint32_t word = (uint32_t)mix64(c->seed, stream, i);

        memcpy(words->data + 4 * i, &word, 4);
    }
}

/* Seeds use all 64 bits. Offsets are small for most case seeds; every fourth one starts just below 2^32, so that the counter carries. */
static void fill_rng_state(const struct fp4_case *c, struct tensor *state)
{
    uint64_t value[2];

    value[0] = mix64(c->seed, stream_of("rng-state"), 0);
    value[1] = mix64(c->seed, stream_of("rng-state"), 1) % 4096;
    if (c->seed % 4 == 3)
        value[1] = UINT64_C(0xFFFFFFFF) - value[1] % 4;
    memcpy(state->data, value, sizeof value);
}

/* Largest finite magnitude of line i (all of the tensor when there is one amax), as binary32 bits: an integer maximum. */
static uint32_t largest(const struct fp4_case *c, const struct tensor *x, bool transposed, size_t line, bool all)
{
    size_t stride = all || !transposed ? 1 : c->cols;
    size_t count = all ? c->rows * c->cols : transposed ? c->rows : c->cols;
    size_t start = all ? 0 : transposed ? line : line * c->cols;
    uint32_t best = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        uint32_t bits = fp4_f32_bits(fp4_load(x->data, x->dtype, start + i * stride)) & 0x7FFFFFFFu;

        if (bits < 0x7F800000u && bits > best)
            best = bits;
    }
    return best;
}

static uint32_t given_bits(const struct fp4_case *c, enum given_amax kind, const struct tensor *x, bool transposed, size_t line,
                           bool all)
{
    float real;

    switch (kind) {
    case GIVEN_ZERO:
        return 0;
    case GIVEN_INF:
        return 0x7F800000u;
    case GIVEN_NAN:
        return 0x7FC00000u;
    case GIVEN_TINY:
        return c->seed % 2 ? 0x00000001u : 0x05280000u; /* the largest amax whose 2688/amax overflows (TE 2.1) */
    case GIVEN_4:
        return 0x40800000u;
    case GIVEN_2688:
        return 0x45280000u;
    case GIVEN_FOUR_SCALES:
        return fp4_f32_bits(four_scale_amax(c));
    case GIVEN_FOUR_SPECIAL:
        return four_special_amax(c, all ? 0 : line);
    default:
        real = fp4_f32_from_bits(largest(c, x, transposed, line, all));
        return fp4_f32_bits(kind == GIVEN_STALE ? real * 0.25f : real * 1024.0f);
    }
}

static void fill_given(const struct fp4_case *c, const struct data_row *row, const struct tensor *x, struct tensor *given,
                       bool transposed)
{
    size_t i, n = given->dims[0];

    for (i = 0; i < n; i++) {
        uint32_t bits = given_bits(c, (enum given_amax)row->given, x, transposed, i, n == 1);

        memcpy(given->data + 4 * i, &bits, 4);
    }
}

void generate_rest(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t)
{
    static const char *const given[2] = { "given-amax", "given-amax.t" }, *const words[2] = { "rbits", "rbits.t" };
    struct tensor *x = tensor_find(t, "x"), *other;
    int transposed;

    other = tensor_find(t, "rng-state");
    if (other)
        fill_rng_state(c, other);
    for (transposed = 0; transposed < 2; transposed++) {
        other = tensor_find(t, given[transposed]);
        if (other)
            fill_given(c, row, x, other, transposed);
        other = tensor_find(t, words[transposed]);
        if (other)
            fill_random_words(c, other);
    }
}

static int generate_quantizer(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t)
{
    struct tensor *x = tensor_find(t, "x");
    struct maker m = maker_of(c, row, x->dtype);
    size_t r, col;

    for (r = 0; r < c->rows; r++)
        for (col = 0; col < c->cols; col++)
            store_bits(x, r * c->cols + col, row->value(&m, r, col));
    generate_rest(c, row, t);
    return 0;
}

int generate_inputs(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    switch (c->op) {
    case OP_QUANTIZE:
    case OP_RHT_QUANTIZE:
    case OP_FOUR_OVER_SIX:
        return generate_quantizer(c, row, t);
    case OP_DEQUANTIZE:
        return generate_dequantize(c, row, t, err);
    case OP_GEMM:
        return generate_gemm(c, row, t, err);
    case OP_SWIZZLE:
        return generate_swizzle(c, row, t, err);
    case OP_PHILOX:
        return generate_philox(c, row, t, err);
    default:
        return generate_convert(c, row, t, err);
    }
}

int generate_file(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    if (input_fill(c, tensor_find(t, "x"), err))
        return -1;
    generate_rest(c, NULL, t);
    return 0;
}

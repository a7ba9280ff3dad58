/* SPDX-License-Identifier: Apache-2.0 */
#include "block.h"

void direction_begin(struct direction *d, const struct fp4_chain *chain, const struct fp4_quantized *out, size_t rows, size_t cols,
                     bool transposed)
{
    memset(d, 0, sizeof *d);
    d->chain = chain;
    d->out = out;
    d->lines = transposed ? cols : rows;
    d->packed = transposed ? rows : cols;
    d->blocks = (d->packed + 15) / 16;
    d->words = (d->packed + 3) / 4;
    d->transposed = transposed;
}

void direction_set_amax(struct direction *d, size_t line, float amax)
{
    d->globals = chain_globals_of(d->chain, amax, 2688.0f);
    if (d->out->amax)
        d->out->amax[line] = d->globals.amax;
    if (d->out->global_scale)
        d->out->global_scale[line] = fp4a_canonical(d->globals.enc);
}

/* The random word of packed elements 4 * w .. 4 * w + 3 of a line. */
static uint32_t random_word(struct direction *d, size_t line, size_t w)
{
    struct fp4_stream_place p;

    if (d->stream == FP4_STREAM_RBITS)
        return d->out->given_rbits[line * d->words + w];
    p = d->transposed ? fp4_stream_locate(d->stream, &d->shape, true, 4 * w, line)
                      : fp4_stream_locate(d->stream, &d->shape, false, line, 4 * w);
    if (!d->drawn || p.subsequence != d->drawn_subsequence || p.call != d->drawn_call) {
        struct fp4_philox state;

        /* offset + call carries into the subsequence, since the counter has 128 bits. */
        fp4_philox_init(&state, d->seed, p.subsequence + (d->offset + p.call < d->offset), d->offset + p.call, d->rounds);
        fp4_philox_next4(&state, d->draw);
        d->drawn = true;
        d->drawn_subsequence = p.subsequence;
        d->drawn_call = p.call;
    }
    return d->draw[p.word];
}

static void dequantize_block(struct direction *d, size_t line, size_t first, size_t n, uint32_t byte, const uint32_t code[16])
{
    float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(byte), d->globals.amax), fp4a_float(FP4_INV_2688));
    float *out = d->out->dequantized + line * d->packed + first;
    size_t i;

    for (i = 0; i < n; i++)
        out[i] = fp4a_canonical(fp4a_mul(fp4a_from_e2m1(code[i]), scale));
}

void direction_block(struct direction *d, size_t line, size_t b, const float v[16], float block_amax)
{
    const struct fp4_quantized *out = d->out;
    size_t first = 16 * b, n = d->packed - first < 16 ? d->packed - first : 16, i;
    uint32_t byte = chain_scale_byte(d->chain, &d->globals, block_amax);
    float e = chain_element_scale(d->chain, &d->globals, byte);
    uint32_t code[16], word = 0;
    uint8_t *codes = out->codes + (line * d->packed + first) / 2;

    out->scales[line * d->blocks + b] = (uint8_t)byte;
    if (out->block_amax)
        out->block_amax[line * d->blocks + b] = fp4a_canonical(block_amax);
    for (i = 0; i < n; i++) {
        float y = chain_scaled(d->chain, v[i], e);

        if (d->stochastic) {
            if (i % 4 == 0) {
                word = random_word(d, line, (first + i) / 4);
                if (out->rbits)
                    out->rbits[line * d->words + (first + i) / 4] = word;
            }
            code[i] = chain_code(d->chain, y, fp4_rs_round_word(d->rs, y, word, i % 4).bits);
        } else {
            code[i] = chain_code(d->chain, y, fp4a_to_e2m1(y));
        }
        if (out->scaled)
            out->scaled[line * d->packed + first + i] = y;
    }
    for (i = 0; i + 1 < n; i += 2)
        codes[i / 2] = (uint8_t)(code[i] | code[i + 1] << 4);
    if (out->dequantized)
        dequantize_block(d, line, first, n, byte, code);
}

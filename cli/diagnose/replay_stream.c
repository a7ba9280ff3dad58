/* SPDX-License-Identifier: Apache-2.0 */
/* replay_stream.c: which random word an element takes, and how it is drawn, right and wrong. */
#include "replay.h"

/* As fp4a_philox, with the two multipliers exchanged. */
static void exchanged_philox(const uint32_t counter[4], const uint32_t key[2], unsigned rounds, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];

    for (unsigned i = 0; i < rounds; i++) {
        uint64_t p = (uint64_t)0xCD9E8D57u * c0, q = (uint64_t)0xD2511F53u * c2;

        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void set_pair(uint32_t pair[2], uint64_t v)
{
    pair[0] = (uint32_t)v;
    pair[1] = (uint32_t)(v >> 32);
}

static uint64_t offset_in(const struct replay *r, uint64_t offset)
{
    switch (slot_of(r, SLOT_GENERATOR)) {
    case GENERATOR_OFFSET_IGNORED:
        return 0;
    case GENERATOR_OFFSET_WORDS:
        return 4 * offset;
    case GENERATOR_OFFSET_PLUS_1:
        return offset + 1;
    default:
        return offset;
    }
}

static void counter_of(const struct replay *r, const struct word_at *at, uint32_t counter[4])
{
    uint64_t offset = offset_in(r, at->offset), low = offset + at->call, subsequence = at->subsequence;

    if (slot_of(r, SLOT_GENERATOR) == GENERATOR_SUBSEQUENCE_32)
        subsequence = (uint32_t)subsequence;
    if (slot_of(r, SLOT_GENERATOR) == GENERATOR_COUNTER) {
        low = subsequence + at->call;
        set_pair(counter, low);
        set_pair(counter + 2, offset + (low < subsequence));
        return;
    }
    if (slot_of(r, SLOT_GENERATOR) == GENERATOR_NO_CARRY)
        low = (offset & 0xFFFFFFFF00000000u) | (uint32_t)low;
    else
        subsequence += low < offset; /* the counter has 128 bits */
    set_pair(counter, low);
    set_pair(counter + 2, subsequence);
}

static void key_of(const struct replay *r, uint64_t seed, uint32_t key[2])
{
    set_pair(key, seed);
    switch (slot_of(r, SLOT_GENERATOR)) {
    case GENERATOR_KEY:
        set_pair(key, seed << 32 | seed >> 32);
        break;
    case GENERATOR_SEED_32:
        key[1] = 0;
        break;
    case GENERATOR_SEED_BIT:
        key[0] &= ~1u;
        break;
    default:
        break;
    }
}

void replay_philox(const struct replay *r, const struct word_at *at, uint32_t out[4])
{
    unsigned how = slot_of(r, SLOT_GENERATOR);
    unsigned rounds = how == GENERATOR_7 ? 7 : how == GENERATOR_10 ? 10 : at->rounds;
    uint32_t counter[4], key[2], drawn[4];

    counter_of(r, at, counter);
    key_of(r, at->seed, key);
    (how == GENERATOR_MULTIPLIERS ? exchanged_philox : fp4a_philox)(counter, key, rounds, drawn);
    for (unsigned i = 0; i < 4; i++)
        out[i] = drawn[how == GENERATOR_WORDS_REVERSED ? 3 - i : i];
}

/* ---- streams ---------------------------------------------------------------------------------------------------------------------- */

static struct fp4_stream_place locate(const struct replay *r, const struct stream_use *u, size_t line, size_t w)
{
    unsigned how = slot_of(r, SLOT_STREAM);
    enum fp4_stream stream = how >= STREAM_KERNEL ? (enum fp4_stream)(how - STREAM_KERNEL) : u->stream;
    struct fp4_stream_shape shape = u->shape;
    bool transposed = u->transposed;

    if (how == STREAM_K_TILE_512 || how == STREAM_K_TILE_1024 || how == STREAM_K_TILE_2048)
        shape.k_tile = how == STREAM_K_TILE_512 ? 512 : how == STREAM_K_TILE_1024 ? 1024 : 2048;
    if (how == STREAM_BOTH)
        shape.rowwise = shape.colwise = true;
    if (how == STREAM_SHARED && transposed) { /* as if this were the rowwise output of a matrix of this shape */
        shape.rows = u->lines;
        shape.cols = u->packed;
        transposed = false;
    }
    return transposed ? fp4_stream_locate(stream, &shape, true, 4 * w, line)
                      : fp4_stream_locate(stream, &shape, false, line, 4 * w);
}

uint32_t replay_word(const struct replay *r, const struct stream_use *u, size_t line, size_t w)
{
    struct fp4_stream_place p = locate(r, u, line, w);
    uint32_t drawn[4];

    switch (slot_of(r, SLOT_STREAM)) {
    case STREAM_ONE_CALL:
        p.call = 0;
        break;
    case STREAM_ONE_WORD:
        p.word = 0;
        break;
    case STREAM_ONE_TILE:
        p.subsequence %= 128;
        break;
    case STREAM_LINEAR:
        p = (struct fp4_stream_place){ (line * ((u->packed + 3) / 4) + w) / 4, 0,
                                       (unsigned)((line * ((u->packed + 3) / 4) + w) % 4) };
        break;
    default:
        break;
    }
    const struct word_at at = { u->seed, p.subsequence, u->offset, p.call, u->rounds };
    replay_philox(r, &at, drawn);
    return drawn[p.word];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4stream.h: which random word an element takes: the thread, the draw and the word of every kernel that TE (and the public SM120 port)
 * runs. Private to reference/ and kernels/; fp4_stream_locate is the public face.
 *
 * Formulas: docs/numerics.md 6, from TE 5.3 to 5.7 and RHT 3.1 to 3.4. Subsequences that the kernels form in 32-bit arithmetic wrap
 * here as they wrap on the device.
 */
#ifndef FP4STREAM_H
#define FP4STREAM_H

#include "fp4arith.h"
#include "fp4ref.h"

FP4_FN size_t stream_ceil_div(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

FP4_FN struct fp4_stream_place stream_place(uint64_t subsequence, size_t call, size_t word)
{
    struct fp4_stream_place p = { subsequence, call, (unsigned)word };

    return p;
}

FP4_FN size_t stream_tile_of(const struct fp4_stream_shape *s, size_t r, size_t c)
{
    return c / 128 + r / 128 * stream_ceil_div(s->cols, 128);
}

/* Word of a rowwise element where the two halves of a block are exchanged when swap is 1. */
FP4_FN size_t stream_swapped_word(size_t c, size_t swap)
{
    return 2 * ((c % 16 / 8) ^ swap) + c % 8 / 4;
}

FP4_FN struct fp4_stream_place stream_tuned(const struct fp4_stream_shape *s, bool transposed, size_t r, size_t c)
{
    size_t stage = 2 * (r % 128 / 64) + c % 128 / 64;
    uint32_t base = (uint32_t)(128 * stream_tile_of(s, r, c));
    size_t lane, warp;

    if (!transposed) {
        size_t t = r % 32 * 4 + c % 64 / 16;

        return stream_place(base + (uint32_t)t, (s->colwise ? 4 : 2) * stage + r % 64 / 32, stream_swapped_word(c, r / 4 % 2));
    }
    lane = c % 64 / 2;
    warp = (r % 64 / 16 + 4 * 16 - lane / 2) % 4;
    return stream_place(base + (uint32_t)(32 * warp + lane), 4 * stage + 2 + c % 2, r % 16 / 4);
}

FP4_FN struct fp4_stream_place stream_two_d(const struct fp4_stream_shape *s, bool transposed, size_t r, size_t c)
{
    size_t stage = r % 128 / 32;
    size_t nt = s->colwise ? 2 : 0, nr = s->rowwise ? 2 : 0;
    uint64_t base = (uint64_t)128 * stream_tile_of(s, r, c);

    if (transposed)
        return stream_place(base + c % 128, stage * (nt + nr) + r % 32 / 16, r % 16 / 4);
    return stream_place(base + r % 16 * 8 + c % 128 / 16, stage * (nt + nr) + nt + r % 32 / 16, stream_swapped_word(c, r / 2 % 2));
}

FP4_FN struct fp4_stream_place stream_vector(const struct fp4_stream_shape *s, bool transposed, size_t r, size_t c)
{
    uint64_t base = (uint64_t)256 * stream_tile_of(s, r, c);

    if (!transposed)
        return stream_place(base + r % 32 * 8 + c % 128 / 16, r % 128 / 32, c % 16 / 4);
    return stream_place(base + c % 64 / 2 * 8 + r % 128 / 16, (s->rowwise ? 4 : 0) + 2 * (c % 128 / 64) + c % 2, r % 16 / 4);
}

/* TE's host function picks the k tile by exact shapes; rows are tokens, cols features, and the table is symmetric. */
FP4_FN unsigned stream_rht_k_tile(size_t rows, size_t cols)
{
    size_t other = rows == 8192 ? cols : rows;

    if (rows == 8192 || cols == 8192) {
        if (other == 5120 || other == 3584)
            return 512;
        if (other == 10240 || other == 11328)
            return 1024;
        if (other == 2560)
            return 1280;
        if (other == 512)
            return 256;
    }
    return rows < 1024 || cols < 1024 ? 512 : 1024;
}

/* RHT 3.1: f = feature, t = token. */
FP4_FN struct fp4_stream_place stream_rht_col(const struct fp4_stream_shape *s, size_t t, size_t f)
{
    size_t k_tile = s->k_tile ? s->k_tile : stream_rht_k_tile(s->rows, s->cols);
    size_t k = (s->rows < k_tile ? s->rows : k_tile) / 64;
    size_t tn = t / 64, l;

    if (k == 0)
        k = 1; /* fewer than 64 tokens: TE refuses; one tile is the only reading */
    l = tn / k * stream_ceil_div(s->cols, 128) + f / 128;
    return stream_place((uint32_t)(f % 128 + 256 * (tn % k) + 256 * k * l), t % 64 / 16, t % 16 / 4);
}

/* RHT 3.2 and 3.3: one tile number, three thread layouts. */
FP4_FN struct fp4_stream_place stream_rht_rowcol(const struct fp4_stream_shape *s, bool group, bool transposed, size_t t, size_t f)
{
    size_t rows = s->rows < 1024 ? s->rows : 1024;
    size_t k = group ? rows / 128 : stream_ceil_div(rows, 128);
    size_t tiles_m = stream_ceil_div(s->cols, 128), tn = t / 128, l, u;

    if (k == 0)
        k = 1; /* fewer than 128 tokens in the grouped kernel: refused by TE */
    l = tn / k * tiles_m + f / 128;
    if (transposed)
        return stream_place((uint32_t)(128 + f % 128 + 512 * (tn % k) + 512 * k * l), t % 128 / 16, t % 16 / 4);
    if (group) {
        u = 8 * (t % 32) + f % 128 / 16;
        return stream_place(
            (uint32_t)(256 + u + 512 * (tn % k + 1) + 512 * k * l + 512 * k * tiles_m * stream_ceil_div(s->rows, 128)),
            t % 128 / 32, f % 16 / 4);
    }
    u = 2 * (t % 128) + f % 128 / 64;
    return stream_place((uint32_t)(256 + u + 512 * (tn % k + 1) + 512 * k * l), f % 64 / 16, f % 16 / 4);
}

/* RHT 3.4: two threads a group, and words 2 and 3 of each draw are never used. */
FP4_FN struct fp4_stream_place stream_rht_fp4sm120(const struct fp4_stream_shape *s, size_t t, size_t f)
{
    uint64_t gx = stream_ceil_div(s->cols, 128), gy = stream_ceil_div(s->rows, 64);
    uint64_t thread = 2 * (f % 128) + t % 16 / 8;

    return stream_place(thread + 256 * (uint64_t)(f / 128) + 256 * gx * (t / 64) + 256 * gx * gy * (t % 64 / 16), 0, t % 8 / 4);
}

FP4_FN struct fp4_stream_place stream_locate(enum fp4_stream stream, const struct fp4_stream_shape *shape, bool transposed,
                                             size_t r, size_t c)
{
    struct fp4_stream_shape group;

    switch (stream) {
    case FP4_STREAM_2D:
        return stream_two_d(shape, transposed, r, c);
    case FP4_STREAM_GROUP:
        group = *shape;
        group.colwise = false;
        group.rowwise = true;
        return stream_two_d(&group, false, r, c);
    case FP4_STREAM_VECTOR:
        return stream_vector(shape, transposed, r, c);
    case FP4_STREAM_RHT_COL:
        return stream_rht_col(shape, r, c);
    case FP4_STREAM_RHT_ROWCOL:
        return stream_rht_rowcol(shape, false, transposed, r, c);
    case FP4_STREAM_RHT_GROUP:
        return stream_rht_rowcol(shape, true, transposed, r, c);
    case FP4_STREAM_RHT_FP4SM120:
        return stream_rht_fp4sm120(shape, r, c);
    default:
        return stream_tuned(shape, transposed, r, c);
    }
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Random streams: worked numbers, loop models of the kernels' threads, and that no random byte serves two elements. */
#include "check.h"
#include "kat.h"
#include "slow.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum fp4_stream stream;
} streams[] = {
    { "tuned", FP4_STREAM_TUNED },         { "2d", FP4_STREAM_2D },
    { "group", FP4_STREAM_GROUP },         { "vector", FP4_STREAM_VECTOR },
    { "rht-col", FP4_STREAM_RHT_COL },     { "rht-rowcol", FP4_STREAM_RHT_ROWCOL },
    { "rht-group", FP4_STREAM_RHT_GROUP }, { "rht-fp4sm120", FP4_STREAM_RHT_FP4SM120 },
};

static enum fp4_stream stream_named(const char *name)
{
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        if (strcmp(streams[i].name, name) == 0)
            return streams[i].stream;
    }
    cr_assert(0, "no stream is called %s", name);
    return FP4_STREAM_AUTO;
}

/* Words i.. of a line: STREAM ROWS COLS OUTPUTS K_TILE DIRECTION r c */
struct asked {
    enum fp4_stream stream;
    struct fp4_stream_shape shape;
    bool transposed;
    size_t r, c;
};

static struct asked asked_at(const struct kat *k, unsigned i)
{
    const char *outputs = kat_text(k, i + 3);
    struct asked a = { .stream = stream_named(kat_text(k, i)) };

    a.shape.rows = (size_t)kat_decimal(k, i + 1);
    a.shape.cols = (size_t)kat_decimal(k, i + 2);
    a.shape.rowwise = strcmp(outputs, "col") != 0;
    a.shape.colwise = strcmp(outputs, "row") != 0;
    a.shape.k_tile = (unsigned)kat_decimal(k, i + 4);
    a.transposed = strcmp(kat_text(k, i + 5), "col") == 0;
    a.r = (size_t)kat_decimal(k, i + 6);
    a.c = (size_t)kat_decimal(k, i + 7);
    return a;
}

Test(stream, worked_numbers)
{
    struct kat k;

    for (kat_open(&k, "stream"); kat_next(&k);) {
        const bool word_line = strcmp(kat_text(&k, 0), "word") == 0;
        const struct asked a = asked_at(&k, word_line ? 3 : 1);
        const struct fp4_stream_place p = fp4_stream_locate(a.stream, &a.shape, a.transposed, a.r, a.c);
        const size_t packed = a.transposed ? a.r : a.c;

        if (word_line) {
            struct fp4_philox philox;
            uint32_t block[4] = { 0 };

            fp4_philox_init(&philox, kat_hex(&k, 1), p.subsequence, kat_hex(&k, 2) + p.call, 10);
            fp4_philox_next4(&philox, block);
            CHECK(block[p.word & 3u] == kat_hex(&k, 11), "stream line %u: %08" PRIx32 ", not %s", k.line_number, block[p.word & 3u],
                  kat_text(&k, 11));
            CHECK(fp4_rs_byte(FP4_MAP_STRAIGHT, block[p.word & 3u], packed % 4) == kat_hex(&k, 12), "stream line %u: byte",
                  k.line_number);
        } else {
            CHECK(p.subsequence == kat_decimal(&k, 9) && p.call == kat_decimal(&k, 10) && p.word == kat_decimal(&k, 11),
                  "stream line %u: %" PRIu64 " %" PRIu64 " %u, not %s %s %s", k.line_number, p.subsequence, p.call, p.word,
                  kat_text(&k, 9), kat_text(&k, 10), kat_text(&k, 11));
            CHECK(packed % 4 == kat_decimal(&k, 12), "stream line %u: nibble", k.line_number);
        }
    }
}

struct used {
    uint64_t subsequence, slot; /* slot: (call * 4 + word) * 4 + nibble */
};

static int by_value(const void *a, const void *b)
{
    const struct used *x = a;
    const struct used *y = b;

    if (x->subsequence != y->subsequence)
        return x->subsequence < y->subsequence ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* Every element of the directions against the loop model; and no two elements of the call share a random byte. */
static void check_shape(enum fp4_stream stream, const char *name, struct fp4_stream_shape shape)
{
    const size_t n = shape.rows * shape.cols;
    struct fp4_stream_place *want = calloc(n, sizeof *want);
    struct used *used = calloc(2 * n, sizeof *used);
    size_t count = 0;

    cr_assert(want && used);
    for (int transposed = 0; transposed < 2; transposed++) {
        if (!(transposed ? shape.colwise : shape.rowwise) || !slow_stream(stream, &shape, transposed, want))
            continue;
        for (size_t r = 0; r < shape.rows; r++) {
            for (size_t c = 0; c < shape.cols; c++) {
                const struct fp4_stream_place got = fp4_stream_locate(stream, &shape, transposed, r, c);
                const struct fp4_stream_place *w = &want[r * shape.cols + c];

                CHECK(w->subsequence != UINT64_MAX, "%s %zux%zu: no thread visits (%zu, %zu)", name, shape.rows, shape.cols, r, c);
                CHECK(got.subsequence == w->subsequence && got.call == w->call && got.word == w->word,
                      "%s %zux%zu k_tile %u %s (%zu, %zu): %" PRIu64 " %" PRIu64 " %u, not %" PRIu64 " %" PRIu64 " %u", name,
                      shape.rows, shape.cols, shape.k_tile, transposed ? "col" : "row", r, c, got.subsequence, got.call, got.word,
                      w->subsequence, w->call, w->word);
                used[count].subsequence = got.subsequence;
                used[count++].slot = (got.call * 4 + got.word) * 4 + (transposed ? r : c) % 4;
            }
        }
    }
    qsort(used, count, sizeof *used, by_value);
    for (size_t i = 1; i < count; i++)
        CHECK(by_value(&used[i - 1], &used[i]) != 0, "%s %zux%zu: subsequence %" PRIu64 " slot %" PRIu64 " serves two elements",
              name, shape.rows, shape.cols, used[i].subsequence, used[i].slot);
    cr_assert(count > 0, "%s has no direction", name);
    free(want);
    free(used);
}

Test(stream, te_quantizers_as_their_threads_draw)
{
    static const size_t size[][2] = { { 128, 128 }, { 256, 384 }, { 32, 32 }, { 160, 96 }, { 64, 320 }, { 288, 160 } };
    static const enum fp4_stream kinds[] = { FP4_STREAM_TUNED, FP4_STREAM_2D, FP4_STREAM_VECTOR };

    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++) {
        for (size_t k = 0; k < 3; k++) {
            check_shape(kinds[k], streams[k == 2 ? 3 : k].name, (struct fp4_stream_shape){ size[i][0], size[i][1], true, true, 0 });
            check_shape(kinds[k], streams[k == 2 ? 3 : k].name,
                        (struct fp4_stream_shape){ size[i][0], size[i][1], true, false, 0 });
            if (kinds[k] != FP4_STREAM_TUNED) /* TE never runs it without a rowwise output */
                check_shape(kinds[k], streams[k == 2 ? 3 : k].name,
                            (struct fp4_stream_shape){ size[i][0], size[i][1], false, true, 0 });
        }
        check_shape(FP4_STREAM_GROUP, "group", (struct fp4_stream_shape){ size[i][0], size[i][1], true, false, 0 });
    }
}

Test(stream, vector_blockwise_takes_any_shape)
{
    static const size_t size[][2] = { { 2, 2 }, { 6, 34 }, { 130, 130 }, { 20, 258 }, { 136, 24 } };

    for (size_t i = 0; i < sizeof size / sizeof size[0]; i++)
        check_shape(FP4_STREAM_VECTOR, "vector", (struct fp4_stream_shape){ size[i][0], size[i][1], true, true, 0 });
}

Test(stream, hadamard_kernels_as_their_threads_draw)
{
    /* tokens, features; 64, 192 and 1088 tokens do not divide into the windows of K tiles */
    static const size_t col[][2] = { { 64, 128 }, { 192, 128 }, { 128, 256 }, { 1088, 128 }, { 1024, 1024 }, { 2048, 256 } };
    static const size_t both[][2] = { { 128, 128 }, { 256, 384 }, { 1152, 128 }, { 64, 192 },
                                      { 192, 64 },  { 192, 256 }, { 320, 384 },  { 1280, 256 } };
    static const unsigned k_tile[] = { 0, 64, 256, 512, 1024, 2048 };

    for (size_t i = 0; i < sizeof col / sizeof col[0]; i++) {
        for (size_t k = 0; k < sizeof k_tile / sizeof k_tile[0]; k++)
            check_shape(FP4_STREAM_RHT_COL, "rht-col", (struct fp4_stream_shape){ col[i][0], col[i][1], false, true, k_tile[k] });
        check_shape(FP4_STREAM_RHT_FP4SM120, "rht-fp4sm120", (struct fp4_stream_shape){ col[i][0], col[i][1], false, true, 0 });
    }
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++) {
        check_shape(FP4_STREAM_RHT_ROWCOL, "rht-rowcol", (struct fp4_stream_shape){ both[i][0], both[i][1], true, true, 0 });
        if (both[i][0] % 128 == 0 && both[i][1] % 128 == 0)
            check_shape(FP4_STREAM_RHT_GROUP, "rht-group", (struct fp4_stream_shape){ both[i][0], both[i][1], true, true, 0 });
    }
}

/* RHT 3.1: the k-tile sizes of TE's table, seen through the subsequence of one element in the second window. */
Test(stream, the_k_tile_table_of_the_columnwise_kernel)
{
    static const struct {
        size_t tokens, features;
        unsigned k_tile;
    } row[] = {
        { 8192, 5120, 512 },  { 5120, 8192, 512 },   { 8192, 10240, 1024 }, { 10240, 8192, 1024 },
        { 8192, 2560, 1280 }, { 2560, 8192, 1280 },  { 8192, 512, 256 },    { 512, 8192, 256 },
        { 8192, 3584, 512 },  { 3584, 8192, 512 },   { 2048, 512, 512 },    { 2048, 896, 512 },
        { 2048, 1024, 1024 }, { 4096, 16384, 1024 }, { 576, 2048, 512 },    { 8192, 11264, 1024 },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const size_t c = 130;
        const size_t r = row[i].tokens - 3;
        const struct fp4_stream_shape shape = { row[i].tokens, row[i].features, false, true, 0 };
        const struct fp4_stream_place got = fp4_stream_locate(FP4_STREAM_RHT_COL, &shape, true, r, c);
        const uint64_t k = (row[i].tokens < row[i].k_tile ? row[i].tokens : row[i].k_tile) / 64;
        const uint64_t tile = r / 64;
        const uint64_t item = tile / k * (row[i].features / 128) + c / 128;

        CHECK(got.subsequence == c % 128 + 256 * (tile % k) + 256 * k * item, "%zux%zu: %" PRIu64, row[i].tokens, row[i].features,
              got.subsequence);
    }
}

/* RHT 3: computed in 32 bits, then widened; the SM120 port computes in 64 (3.4). */
Test(stream, hadamard_subsequences_wrap_at_32_bits)
{
    const struct fp4_stream_shape shape = { (size_t)1 << 22, 65536, true, true, 1024 };
    const size_t r = shape.rows - 1;
    const size_t c = shape.cols - 1;
    const uint64_t item64 = (uint64_t)(r / 64 / 16) * 512 + c / 128;
    const uint64_t col = 127 + 256 * (r / 64 % 16) + UINT64_C(256) * 16 * item64;
    const uint64_t item128 = (uint64_t)(r / 128 / 8) * 512 + c / 128;
    const uint64_t rowcol = 128 + 127 + 512 * (r / 128 % 8) + UINT64_C(512) * 8 * item128;
    const uint64_t gx = shape.cols / 128;
    const uint64_t port = 255 + 256 * (c / 128) + 256 * gx * (r / 64) + 256 * gx * (shape.rows / 64) * 3;

    cr_expect_eq(fp4_stream_locate(FP4_STREAM_RHT_COL, &shape, true, r, c).subsequence, col & UINT32_MAX);
    cr_expect_eq(fp4_stream_locate(FP4_STREAM_RHT_ROWCOL, &shape, true, r, c).subsequence, rowcol & UINT32_MAX);
    cr_expect_eq(fp4_stream_locate(FP4_STREAM_RHT_FP4SM120, &shape, true, r, c).subsequence, port);
    cr_expect(port > UINT32_MAX && col > UINT32_MAX && rowcol > UINT32_MAX);
    cr_expect_eq(fp4_stream_locate(FP4_STREAM_TUNED, &shape, false, r, c).subsequence,
                 127 + 128 * (((uint64_t)r / 128 + 1) * 512 - 1));
}

/* TE 8.1 */
Test(stream, te_dispatch)
{
    static const struct {
        enum fp4_dtype input;
        size_t rows, cols;
        bool block_16x16, rowwise, colwise;
        enum fp4_stream want;
    } row[] = {
        { FP4_BF16, 64, 96, false, true, false, FP4_STREAM_TUNED },  { FP4_BF16, 64, 96, false, true, true, FP4_STREAM_TUNED },
        { FP4_BF16, 64, 96, true, true, true, FP4_STREAM_2D },       { FP4_BF16, 64, 96, true, false, true, FP4_STREAM_2D },
        { FP4_BF16, 64, 96, false, false, true, FP4_STREAM_VECTOR }, { FP4_BF16, 48, 96, false, true, true, FP4_STREAM_VECTOR },
        { FP4_BF16, 64, 80, true, true, true, FP4_STREAM_VECTOR },   { FP4_F32, 64, 96, false, true, true, FP4_STREAM_VECTOR },
        { FP4_F16, 128, 128, true, true, true, FP4_STREAM_VECTOR },
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        CHECK(fp4_stream_te_dispatch(row[i].input, row[i].rows, row[i].cols, row[i].block_16x16, row[i].rowwise, row[i].colwise) ==
                  row[i].want,
              "row %zu", i);
}

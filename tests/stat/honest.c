/* SPDX-License-Identifier: Apache-2.0 */
/*
 * honest.c: whether --statistical keeps its word. usage: honest SEEDS
 *
 *   error rate   SEEDS honest draws of several kinds; at each stated error rate no more of them may fail than that, but for three
 *                standard deviations of the count
 *   power        conversions that are wrong in one way, on data where it shows: each has to be found
 *
 * Exit status 1 when either is not so.
 */
#include "stat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 64, PACKED = 64, ELEMENTS = LINES * PACKED };

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Any fraction in any binade up to 8; values of eight bits; one value for all. */
static void fill_values(float *v, size_t count, int kind, uint64_t seed)
{
    uint64_t state = seed * 3 + (uint64_t)kind;
    size_t i;

    for (i = 0; i < count; i++) {
        uint64_t z = mix(&state);
        uint32_t exponent = 118 + (uint32_t)(z >> 56) % 12, fraction = (uint32_t)z & (kind == 1 ? 0x7F0000u : 0x7FFFFFu);

        v[i] = fp4_f32_from_bits((uint32_t)(z >> 32 & 1) << 31 | exponent << 23 | fraction);
        if (kind == 2)
            v[i] = 2.5f;
    }
}

/* ---- conversions, honest and not ----------------------------------------------------------------------------------------------------------- */

enum fault { HONEST, RULE_HALF, RULE_HALF_OLD, NEAREST, ONE_BYTE, WORD_AGAIN, LINE_AGAIN, NOISE_ONE_MORE, MIRRORED, FAULTS };
static const char *const fault_names[FAULTS] = { "honest",
                                                 "rule half where trunc is wanted",
                                                 "rule half-old where trunc is wanted",
                                                 "rounds to nearest",
                                                 "one random byte for all lanes",
                                                 "every word is used twice",
                                                 "every line has the same words",
                                                 "(r + 1)/256 instead of r/256",
                                                 "negative values rounded with p and 1 - p exchanged" };

static uint32_t word_of(enum fault fault, uint64_t seed, size_t line, size_t w)
{
    struct fp4_philox g;
    uint32_t four[4];

    if (fault == LINE_AGAIN)
        line = 0;
    if (fault == WORD_AGAIN)
        w /= 2;
    fp4_philox_init(&g, seed, line, w / 4, 10);
    fp4_philox_next4(&g, four);
    return four[w % 4];
}

/* Faults that are no rule: from the cell and 256 times the fraction. */
static unsigned code_by_fraction(enum fault fault, float y, unsigned byte)
{
    static const double grid[] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };
    double a = fabs((double)y), n;
    unsigned cell = 0, sign = fp4_f32_bits(y) >> 28 & 8u;

    if (a >= 6)
        return 7u | sign;
    while (a >= grid[cell + 1])
        cell++;
    n = floor(256 * (a - grid[cell]) / (grid[cell + 1] - grid[cell]));
    if (fault == NOISE_ONE_MORE)
        return (cell + (n + byte + 1 >= 256)) | sign;
    return (cell + (sign ? n + byte < 256 && n > 0 : n + byte >= 256)) | sign; /* MIRRORED */
}

static unsigned code_of(enum fault fault, float y, uint32_t word, unsigned nibble)
{
    struct fp4_rs_model model = { FP4_RS_TRUNC, FP4_MAP_B300, NULL };
    uint8_t byte = fp4_rs_byte(FP4_MAP_B300, word, nibble);

    switch (fault) {
    case RULE_HALF:
        model.rule = FP4_RS_HALF;
        break;
    case RULE_HALF_OLD:
        model.rule = FP4_RS_HALF_OLD;
        break;
    case NEAREST:
        return f32_to_e2m1(y).bits;
    case ONE_BYTE:
        return fp4_rs_round(FP4_RS_TRUNC, y, (uint8_t)word).bits;
    case NOISE_ONE_MORE:
    case MIRRORED:
        return code_by_fraction(fault, y, byte);
    default:
        break;
    }
    return fp4_rs_round_word(model, y, word, nibble).bits;
}

static void convert(enum fault fault, const float *v, uint8_t *codes, size_t lines, size_t packed, uint64_t seed)
{
    size_t i;

    for (i = 0; i < lines * packed; i += 2) {
        uint32_t word = word_of(fault, seed, i / packed, i % packed / 4);
        unsigned low = code_of(fault, v[i], word, (unsigned)(i % 4)), high = code_of(fault, v[i + 1], word, (unsigned)(i % 4 + 1));

        codes[i / 2] = (uint8_t)(low | high << 4);
    }
}

static void judge(struct stat_book *book, const float *v, const uint8_t *codes, size_t lines, size_t packed, double rate)
{
    struct fp4_rs_model model = { FP4_RS_TRUNC, FP4_MAP_B300, NULL };
    struct stat_sheet s;

    memset(book, 0, sizeof *book);
    if (stat_sheet_make(book, model, v, codes, lines, packed, &s, NULL))
        exit(2);
    stat_test_values(book, &s);
    stat_test_independence(book, &s);
    stat_verdict(book, rate, 1);
    stat_sheet_release(&s);
}

/* ---- the error rate: made data, and Transformer Engine's streams through the reference's quantizer ------------------------------------------ */

static const double rates[] = { 0.05, 0.01, 0.001 };
enum { RATES = sizeof rates / sizeof rates[0] };

static bool within(const char *what, size_t fails, size_t seeds, double rate)
{
    double allowed = rate * (double)seeds + 3 * sqrt(rate * (1 - rate) * (double)seeds);
    bool good = (double)fails <= allowed;

    printf("%-36s stated %-6g %6zu of %zu fail (%.2g); at most %.0f%s\n", what, rate, fails, seeds, (double)fails / (double)seeds,
           allowed, good ? "" : "  TOO MANY");
    return good;
}

static bool made_data(size_t seeds)
{
    static const char *const kinds[] = { "any fraction", "eight-bit values", "one value for all" };
    static struct stat_book book;
    static float v[ELEMENTS];
    static uint8_t codes[ELEMENTS / 2];
    bool good = true;
    size_t s, r;
    int kind;

    for (kind = 0; kind < 3; kind++) {
        size_t fails[RATES] = { 0 };

        for (s = 0; s < seeds; s++) {
            fill_values(v, ELEMENTS, kind, s);
            convert(HONEST, v, codes, LINES, PACKED, s);
            judge(&book, v, codes, LINES, PACKED, 0.5);
            for (r = 0; r < RATES; r++) {
                stat_verdict(&book, rates[r], 1);
                fails[r] += book.side.fails;
            }
        }
        for (r = 0; r < RATES; r++)
            good &= within(kinds[kind], fails[r], seeds, rates[r]);
    }
    return good;
}

static void quantize(struct stat_book *book, uint64_t seed, bool both)
{
    enum { ROWS = 32, COLS = 64, N = ROWS * COLS };
    static uint16_t x[N];
    static uint8_t codes[2][N / 2], scales[2][N / 16];
    static float scaled[2][N];
    struct fp4_quantized row = { .codes = codes[0], .scales = scales[0], .scaled = scaled[0] };
    struct fp4_quantized col = { .codes = codes[1], .scales = scales[1], .scaled = scaled[1] };
    struct fp4_quantize_params p = { .recipe = FP4_RECIPE_TE,
                                     .input = FP4_BF16,
                                     .rows = ROWS,
                                     .cols = COLS,
                                     .stochastic = true,
                                     .seed = seed * 77,
                                     .offset = seed % 5,
                                     .philox_rounds = 10 };
    struct fp4_rs_model model = { FP4_RS_TRUNC, FP4_MAP_B300, NULL };
    struct stat_sheet a, b;
    uint64_t state = seed;
    size_t i;

    p.rs = model;
    for (i = 0; i < N; i++)
        x[i] = (uint16_t)(mix(&state) & 0x80FFu) | 0x3F00u;
    memset(book, 0, sizeof *book);
    if (fp4_quantize(&p, x, &row, both ? &col : NULL, NULL) ||
        stat_sheet_make(book, model, scaled[0], codes[0], ROWS, COLS, &a, NULL))
        exit(2);
    stat_test_values(book, &a);
    stat_test_independence(book, &a);
    if (both) {
        if (stat_sheet_make(book, model, scaled[1], codes[1], COLS, ROWS, &b, NULL))
            exit(2);
        stat_test_values(book, &b);
        stat_test_independence(book, &b);
        stat_test_pair(book, "same place", &a, &b);
        stat_test_transposed(book, &a, &b);
        stat_sheet_release(&b);
    }
    stat_sheet_release(&a);
}

static bool streams(size_t seeds)
{
    static struct stat_book book;
    size_t fails[RATES] = { 0 }, s, r;
    bool good = true;

    for (s = 0; s < seeds; s++) {
        quantize(&book, s, s & 1);
        for (r = 0; r < RATES; r++) {
            stat_verdict(&book, rates[r], 1);
            fails[r] += book.side.fails;
        }
    }
    for (r = 0; r < RATES; r++)
        good &= within("quantize, streams of the kernels", fails[r], seeds, rates[r]);
    return good;
}

/* ---- power ------------------------------------------------------------------------------------------------------------------------------------ */

static bool power(void)
{
    enum { SIDE = 1024 };
    static struct stat_book book;
    /* Which data a fault shows on: half-old where eight bits are all (2.5 everywhere), the others on any fraction. */
    static const int kinds[FAULTS] = { [RULE_HALF_OLD] = 2, [NOISE_ONE_MORE] = 1 };
    float *v = malloc(sizeof *v * SIDE * SIDE);
    uint8_t *codes = malloc((size_t)SIDE * SIDE / 2);
    bool good = v && codes;
    int fault;

    for (fault = RULE_HALF; fault < FAULTS && good; fault++) {
        char text[512];

        fill_values(v, (size_t)SIDE * SIDE, kinds[fault], 1);
        convert((enum fault)fault, v, codes, SIDE, SIDE, 1);
        judge(&book, v, codes, SIDE, SIDE, 1e-6);
        stat_text(&book.side, text, sizeof text);
        printf("%-52s %s: %s\n", fault_names[fault], book.side.fails ? "found" : "NOT FOUND", text);
        good &= book.side.fails;
    }
    free(v);
    free(codes);
    return good;
}

int main(int argc, char **argv)
{
    size_t seeds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 200;
    bool good = made_data(seeds);

    good &= streams(seeds);
    good &= power();
    return good ? 0 : 1;
}

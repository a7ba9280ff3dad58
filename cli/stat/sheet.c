/* SPDX-License-Identifier: Apache-2.0 */
/* sheet.c: each element's outcome against its probability, and the tests over them. */
#include "stat.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stat_add(struct stat_book *book, double p, const char *fmt, ...)
{
    struct stat_test *t;
    va_list args;

    assert(book->count < STAT_TESTS_MAX);
    t = &book->tests[book->count++];
    t->p = p;
    va_start(args, fmt);
    vsnprintf(t->name, sizeof t->name, fmt, args);
    va_end(args);
}

/* ---- outcomes ------------------------------------------------------------------------------------------------------------------------------ */

static const float grid[] = { 0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f };

/* T / 2^32 of rule hash32. */
static double hash_probability(float a, unsigned cell)
{
    float p = (a - grid[cell]) / (grid[cell + 1] - grid[cell]);

    return floor((double)p * 4294967296.0) / 4294967296.0;
}

static void impossible(struct stat_book *book, size_t line, size_t at)
{
    if (book->side.impossible++ == 0) {
        book->side.impossible_row = line;
        book->side.impossible_col = at;
    }
}

static void outcome(struct stat_book *book, struct fp4_rs_model model, float y, unsigned code, size_t line, size_t at,
                    float *residual, float *probability)
{
    float a = fabsf(y);
    unsigned cell = 0, magnitude = code & 7u;
    double p;

    *residual = *probability = 0;
    if (!(a < 6.0f)) { /* saturated, Inf, NaN: the same for every bit */
        if (code != fp4_rs_round_word(model, y, 0, 0).bits)
            impossible(book, line, at);
        return;
    }
    while (a >= grid[cell + 1])
        cell++;
    p = model.rule == FP4_RS_HASH32 ? hash_probability(a, cell) : stat_bytes_up(model.rule, y) / 256.0;
    if ((code >> 3) != fp4_f32_bits(y) >> 31 || magnitude < cell || magnitude > cell + 1 || (magnitude == cell && p >= 1) ||
        (magnitude > cell && p <= 0)) {
        impossible(book, line, at);
        return;
    }
    if (p <= 0 || p >= 1)
        return;
    *probability = (float)p;
    *residual = (float)((magnitude > cell) - p);
    book->side.draws++;
}

int stat_sheet_make(struct stat_book *book, struct fp4_rs_model model, const float *scaled, const uint8_t *codes, size_t lines,
                    size_t packed, struct stat_sheet *out, struct fp4_error *err)
{
    size_t count = lines * packed, i;

    *out = (struct stat_sheet){ lines, packed, malloc(count * sizeof(float) + 1), malloc(count * sizeof(float) + 1) };
    if (!out->residual || !out->probability) {
        stat_sheet_release(out);
        return fp4_fail(err, FP4_EIO, "out of memory for statistics of %zu elements", count);
    }
    for (i = 0; i < count; i++)
        outcome(book, model, scaled[i], codes[i / 2] >> 4 * (i & 1) & 15u, i / packed, i % packed, &out->residual[i],
                &out->probability[i]);
    book->side.judged = true;
    book->side.elements += count;
    return 0;
}

void stat_sheet_release(struct stat_sheet *s)
{
    free(s->residual);
    free(s->probability);
    *s = (struct stat_sheet){ 0 };
}

/* ---- values ----------------------------------------------------------------------------------------------------------------------------------- */

#define EXPECTED_MIN 20.0 /* of each of the two outcomes of a group, for chi-square */

void stat_test_values(struct stat_book *book, const struct stat_sheet *s)
{
    uint64_t n[257] = { 0 }, up[257] = { 0 };
    double expected[257] = { 0 }, square = 0, sum = 0, variance = 0;
    size_t count = s->lines * s->packed, i, freedom = 0;

    for (i = 0; i < count; i++) {
        double p = s->probability[i];
        unsigned k = (unsigned)(p * 256 + 0.5);

        if (p <= 0)
            continue;
        n[k]++;
        up[k] += s->residual[i] > 0;
        expected[k] += p;
        sum += s->residual[i];
        variance += p * (1 - p);
    }
    for (i = 0; i <= 256; i++) {
        double p = n[i] ? expected[i] / (double)n[i] : 0, spread;

        if (!n[i])
            continue;
        stat_add(book, stat_binomial(up[i], n[i], p), "value %zu/256: %llu of %llu up", i, (unsigned long long)up[i],
                 (unsigned long long)n[i]);
        if (expected[i] < EXPECTED_MIN || (double)n[i] - expected[i] < EXPECTED_MIN)
            continue;
        spread = (double)up[i] - expected[i];
        square += spread * spread / (expected[i] * (1 - p));
        freedom++;
    }
    if (freedom > 1)
        stat_add(book, stat_gamma_q((double)freedom / 2, square / 2), "chi-square %.4g, %zu degrees", square, freedom);
    if (variance > 0)
        stat_add(book, stat_bernstein(sum, variance), "bias");
    book->sum += sum;
    book->variance += variance;
}

/* ---- independence --------------------------------------------------------------------------------------------------------------------------------- */

struct product {
    double sum, variance;
    size_t count;
};

/* The second factor's mean is 0 whatever the first one is; |first| is at most the larger of p and 1 - p. */
static void multiply(struct product *x, const struct stat_sheet *a, size_t i, const struct stat_sheet *b, size_t j)
{
    double p = a->probability[i], q = b->probability[j], most = p > 0.5 ? p : 1 - p;

    if (p <= 0 || q <= 0)
        return;
    x->sum += (double)a->residual[i] * (double)b->residual[j];
    x->variance += most * most * q * (1 - q);
    x->count++;
}

static void test_lag(struct stat_book *book, const struct stat_sheet *s, size_t lag, size_t number, const char *what)
{
    struct product x = { 0 };
    size_t count = s->lines * s->packed, i;

    for (i = 0; i + lag < count; i++)
        multiply(&x, s, i, s, i + lag);
    if (x.count >= 8)
        stat_add(book, stat_bernstein(x.sum, x.variance), "%zu %s apart", number, what);
}

static void test_lanes(struct stat_book *book, const struct stat_sheet *s)
{
    size_t i, j, w, line;

    for (i = 0; i < 4; i++)
        for (j = i + 1; j < 4; j++) {
            struct product x = { 0 };

            for (line = 0; line < s->lines; line++)
                for (w = 0; w + j < s->packed; w += 4)
                    multiply(&x, s, line * s->packed + w + i, s, line * s->packed + w + j);
            if (x.count >= 8)
                stat_add(book, stat_bernstein(x.sum, x.variance), "lanes %zu, %zu of a word", i, j);
        }
}

void stat_test_independence(struct stat_book *book, const struct stat_sheet *s)
{
    static const size_t words[] = { 1, 2, 3, 4, 8, 16, 32 }, lines[] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    size_t i;

    test_lanes(book, s);
    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (4 * words[i] < s->packed)
            test_lag(book, s, 4 * words[i], words[i], "words");
    for (i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (lines[i] < s->lines)
            test_lag(book, s, lines[i] * s->packed, lines[i], "lines");
}

void stat_test_pair(struct stat_book *book, const char *name, const struct stat_sheet *a, const struct stat_sheet *b)
{
    size_t lines = a->lines < b->lines ? a->lines : b->lines, packed = a->packed < b->packed ? a->packed : b->packed, i, j;
    struct product x = { 0 };

    for (i = 0; i < lines; i++)
        for (j = 0; j < packed; j++)
            multiply(&x, a, i * a->packed + j, b, i * b->packed + j);
    if (x.count >= 8)
        stat_add(book, stat_bernstein(x.sum, x.variance), "%s", name);
}

void stat_test_transposed(struct stat_book *book, const struct stat_sheet *a, const struct stat_sheet *b)
{
    struct product x = { 0 };
    size_t i, j;

    for (i = 0; i < a->lines && i < b->packed; i++)
        for (j = 0; j < a->packed && j < b->lines; j++)
            multiply(&x, a, i * a->packed + j, b, j * b->packed + i);
    if (x.count >= 8)
        stat_add(book, stat_bernstein(x.sum, x.variance), "rowwise, transposed: same element");
}

/* ---- verdict ---------------------------------------------------------------------------------------------------------------------------------------- */

static void keep_worst(struct stat_side *s, const struct stat_test *t)
{
    size_t i = s->worst_count < STAT_FOUND_MAX ? s->worst_count++ : STAT_FOUND_MAX - 1;

    if (s->worst_count == STAT_FOUND_MAX && i == STAT_FOUND_MAX - 1 && *s->worst[i].name && s->worst[i].p <= t->p)
        return;
    for (; i > 0 && s->worst[i - 1].p > t->p; i--)
        s->worst[i] = s->worst[i - 1];
    s->worst[i] = *t;
}

void stat_verdict(struct stat_book *book, double error_rate, size_t family)
{
    struct stat_side *s = &book->side;
    double share, deviation;
    size_t i;

    memset(s->worst, 0, sizeof s->worst);
    s->worst_count = 0;
    s->tests = book->count;
    s->threshold = error_rate / ((double)(family ? family : 1) * (double)(book->count ? book->count : 1));
    for (i = 0; i < book->count; i++)
        keep_worst(s, &book->tests[i]);
    s->fails = s->impossible > 0 || (s->worst_count && s->worst[0].p <= s->threshold);
    if (!s->draws)
        return;
    share = error_rate / (double)(family ? family : 1);
    deviation = sqrt(book->variance) / (double)s->draws;
    s->bias = book->sum / (double)s->draws;
    s->bias_margin = stat_normal_quantile(share / 2) * deviation;
    s->detectable = (stat_normal_quantile(s->threshold / 2) + stat_normal_quantile(0.05)) * deviation;
}

void stat_text(const struct stat_side *s, char *text, size_t size)
{
    size_t used;

    if (!s->judged) {
        snprintf(text, size, "not judged");
        return;
    }
    snprintf(text, size, "%zu draws, bias %+.2g +- %.2g steps (%.2g would be found), %zu tests, smallest p %.2g (%s)", s->draws,
             s->bias, s->bias_margin, s->detectable, s->tests, s->worst_count ? s->worst[0].p : 1.0,
             s->worst_count ? s->worst[0].name : "none");
    used = strlen(text);
    if (s->impossible)
        snprintf(text + used, size - used, "; %zu impossible codes, first at %zu,%zu", s->impossible, s->impossible_row,
                 s->impossible_col);
    used = strlen(text);
    if (s->rule[0])
        snprintf(text + used, size - used, "; rule %s explains it", s->rule);
}

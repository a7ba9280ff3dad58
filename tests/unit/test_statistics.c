/* SPDX-License-Identifier: Apache-2.0 */
/* Tails of distributions against values of SciPy 1.x, and what the tests of stat.h make of small made-up outcomes. */
#include "check.h"
#include "stat.h"

#include <math.h>
#include <string.h>

static void near(double got, double want, const char *what, size_t i)
{
    double scale = fabs(want) > 1e-300 ? fabs(want) : 1;

    CHECK(fabs(got - want) <= 1e-9 * scale, "%s, row %zu: %.15g, not %.15g", what, i, got, want);
}

Test(statistics, incomplete_beta)
{
    static const double rows[][4] = {
        { 0.5, 0.5, 0.3, 0.369010119565545 },
        { 2, 3, 0.4, 0.5248 },
        { 10, 1, 0.9, 0.3486784401 },
        { 1, 400, 0.001, 0.32981409399326 },
        { 123.5, 456.25, 0.2, 0.224254676470002 },
        { 5000, 5200, 0.48, 0.0196760036011513 },
        { 30000, 200000, 0.13, 0.268222181449307 },
        { 1, 1048576, 0.00390625, 1 },
        { 3, 4, 0, 0 },
        { 3, 4, 1, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        near(stat_beta_inc(rows[i][0], rows[i][1], rows[i][2]), rows[i][3], "beta", i);
}

Test(statistics, incomplete_gamma)
{
    static const double rows[][3] = {
        { 0.5, 0.2, 0.527089256865538 },      { 1, 3, 0.049787068367864 },      { 5, 4.5, 0.532103576374715 },
        { 11.5, 30, 3.82055795922989e-05 },   { 127.5, 110, 0.94488239403838 }, { 127.5, 200, 1.66000252441234e-08 },
        { 1000, 1200, 1.28816060862814e-09 }, { 3, 0.001, 0.999999999833458 },  { 2, 0, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        near(stat_gamma_q(rows[i][0], rows[i][1]), rows[i][2], "gamma", i);
}

Test(statistics, binomial_tails)
{
    static const struct {
        uint64_t k, n;
        double p, want;
    } rows[] = {
        { 0, 100, 0.1, 5.3122797775175e-05 },
        { 3, 10, 0.5, 0.34375 },
        { 5, 10, 0.5, 1 },
        { 519568, 1048576, 0.5, 3.03159341838194e-20 },
        { 488, 91182, 0.00390625, 3.89147595711407e-11 },
        { 0, 2000, 0.00390625, 0.00079700352072447 },
        { 255, 256, 0.99609375, 1 },
        { 9, 11, 0.390625, 0.00982328676195005 },
        { 1, 4096, 0.00390625, 3.72186004981845e-06 },
        { 0, 50, 0, 1 },
        { 1, 50, 0, 0 },
        { 50, 50, 1, 1 },
        { 49, 50, 1, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        near(stat_binomial(rows[i].k, rows[i].n, rows[i].p), rows[i].want, "binomial", i);
}

/* Against sums over all outcomes, which need no special function. */
Test(statistics, small_binomials_by_summation)
{
    for (unsigned n = 1; n <= 40; n += 3)
        for (unsigned c = 1; c < 8; c++) {
            double p = c / 8.0, term[41], below = 0, total = 0;

            for (unsigned k = 0; k <= n; k++) {
                double ways = 1;

                for (unsigned j = 0; j < k; j++)
                    ways = ways * (n - j) / (j + 1);
                term[k] = ways * pow(p, k) * pow(1 - p, n - k);
                total += term[k];
            }
            CHECK(fabs(total - 1) < 1e-12, "the terms of n = %u add up to %.15g", n, total);
            for (unsigned k = 0; k <= n; k++) {
                double above = 1 - below, two;

                below += term[k];
                two = 2 * (below < above ? below : above);
                CHECK(fabs(stat_binomial(k, n, p) - (two > 1 ? 1 : two)) < 1e-10, "k = %u of %u, p = %g", k, n, p);
            }
        }
}

Test(statistics, normal_quantiles)
{
    static const double rows[][2] = { { 0.5, 0 },
                                      { 0.05, 1.64485362695147 },
                                      { 0.025, 1.95996398454005 },
                                      { 0.001, 3.09023230616781 },
                                      { 1e-06, 4.7534243088229 },
                                      { 1e-12, 7.03448382530113 } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect(fabs(stat_normal_quantile(rows[i][0]) - rows[i][1]) < 1e-9, "row %zu", i);
}

/* The bound lies above the exact tail of a sum of coins, everywhere. */
Test(statistics, bernstein_is_a_bound)
{
    for (unsigned n = 8; n <= 512; n *= 2)
        for (unsigned k = 0; k <= n; k++) {
            double exact = stat_binomial(k, n, 0.5) / 2, bound = stat_bernstein(k - n / 2.0, n / 4.0);

            CHECK(exact <= bound * (1 + 1e-9), "%u of %u: %.3g above the bound %.3g", k, n, exact, bound);
        }
}

Test(statistics, bytes_up_by_counting)
{
    static const uint32_t values[] = { 0x00000000, 0x3A800000, 0x3AC00000, 0x3AFFFFFF, 0x3B000000, 0x3E7FFFFF, 0x3E800000,
                                       0x3EFF0000, 0x3F3FFFFF, 0x3F400000, 0x3F7FFFFF, 0x3F9FF000, 0x3FA00000, 0x3FC02000,
                                       0x40A00000, 0x40BFFFFF, 0x40C00000, 0x7F800000, 0x7FC00000, 0xBF5066A4, 0xC0BEBE7E };

    for (int rule = 0; rule < FP4_RS_HASH32; rule++)
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            float y = fp4_f32_from_bits(values[i]), a = fabsf(y);
            unsigned up = 0, low = a >= 4 ? 6 : a >= 3 ? 5 : a >= 2 ? 4 : a >= 1.5f ? 3 : a >= 1 ? 2 : a >= 0.5f ? 1 : 0;

            for (unsigned r = 0; r < 256 && a < 6; r++)
                up += (fp4_rs_round((enum fp4_rs_rule)rule, y, (uint8_t)r).bits & 7u) != low;
            CHECK(stat_bytes_up((enum fp4_rs_rule)rule, y) == up, "rule %d, %08x: %u, not %u", rule, values[i],
                  stat_bytes_up((enum fp4_rs_rule)rule, y), up);
        }
}

/* ---- sheets -------------------------------------------------------------------------------------------------------------------------------- */

static struct stat_book book;
static const struct fp4_rs_model trunc_model = { FP4_RS_TRUNC, FP4_MAP_B300, NULL };

static struct stat_sheet sheet_of(const float *v, const uint8_t *codes, size_t lines, size_t packed)
{
    struct stat_sheet s;

    memset(&book, 0, sizeof book);
    cr_assert(stat_sheet_make(&book, trunc_model, v, codes, lines, packed, &s, NULL) == 0);
    return s;
}

Test(statistics, what_no_byte_gives_is_impossible)
{
    /* .75: 1 or 2.  1: exact, 2.  -0.0009: never up.  7: 7.  NaN: 7.  -0: 8.  3.5: 5 or 6.  -5: e or f */
    static const float v[8] = { 0.75f, 1.0f, -0.0009f, 7.0f, NAN, -0.0f, 3.5f, -5.0f };
    static const uint8_t good[4] = { 0x21, 0x78, 0x87, 0xF6 };
    static const struct {
        size_t at;
        unsigned code;
    } bad[] = { { 0, 3 }, { 0, 0 }, { 0, 9 },  { 1, 3 }, { 1, 1 }, { 2, 9 },
                { 2, 0 }, { 3, 6 }, { 4, 15 }, { 5, 0 }, { 6, 7 }, { 7, 6 } };
    struct stat_sheet s = sheet_of(v, good, 1, 8);

    cr_expect(book.side.impossible == 0, "%zu of the good codes are called impossible", book.side.impossible);
    cr_expect(book.side.draws == 3);
    stat_sheet_release(&s);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint8_t codes[4];

        memcpy(codes, good, sizeof codes);
        codes[bad[i].at / 2] = bad[i].at & 1 ? (uint8_t)((codes[bad[i].at / 2] & 0x0F) | bad[i].code << 4)
                                             : (uint8_t)((codes[bad[i].at / 2] & 0xF0) | bad[i].code);
        s = sheet_of(v, codes, 1, 8);
        stat_verdict(&book, 1e-3, 1);
        CHECK(book.side.impossible == 1 && book.side.impossible_col == bad[i].at && book.side.fails, "row %zu", i);
        stat_sheet_release(&s);
    }
}

/* 64 values of 0.75, 40 of which went up, by hand: mean 32, variance 16. */
Test(statistics, counts_and_bias_by_hand)
{
    float v[64];
    uint8_t codes[32];
    struct stat_sheet s;

    for (size_t i = 0; i < 64; i++)
        v[i] = 0.75f;
    for (size_t i = 0; i < 32; i++)
        codes[i] = i < 20 ? 0x22 : 0x11;
    s = sheet_of(v, codes, 1, 64);
    stat_test_values(&book, &s);
    cr_assert(book.count == 2); /* one value, bias; one group is no chi-square */
    cr_expect(fabs(book.tests[0].p - stat_binomial(40, 64, 0.5)) < 1e-12);
    cr_expect_str_eq(book.tests[0].name, "value 128/256: 40 of 64 up");
    cr_expect(fabs(book.sum - 8) < 1e-6 && fabs(book.variance - 16) < 1e-6);
    stat_verdict(&book, 0.05, 1);
    cr_expect(fabs(book.side.bias - 0.125) < 1e-6);
    cr_expect(fabs(book.side.bias_margin - 1.95996398454005 * 4 / 64) < 1e-6);
    cr_expect(!book.side.fails);
    stat_verdict(&book, 0.5, 1);
    cr_expect(book.side.fails, "p %.3g against %.3g", book.side.worst[0].p, book.side.threshold);
    stat_verdict(&book, 0.5, 100); /* one of a hundred cases */
    cr_expect(!book.side.fails && fabs(book.side.threshold - 0.5 / 200) < 1e-12);
    stat_sheet_release(&s);
}

/* All lanes of a word alike, words independent: the six pairs come first. */
Test(statistics, lanes_that_move_together)
{
    enum { N = 4096 };
    static float v[N];
    static uint8_t codes[N / 2];
    struct fp4_philox g;
    struct stat_sheet s;
    size_t below = 0;

    fp4_philox_init(&g, 4, 0, 0, 10);
    for (size_t w = 0; w < N / 4; w++) {
        unsigned up = fp4_philox_next(&g) & 1u;

        for (size_t k = 0; k < 4; k++)
            v[4 * w + k] = 1.25f;
        codes[2 * w] = codes[2 * w + 1] = up ? 0x33 : 0x22;
    }
    s = sheet_of(v, codes, 32, N / 32);
    stat_test_independence(&book, &s);
    stat_verdict(&book, 1e-3, 1);
    for (size_t i = 0; i < book.count; i++)
        below += book.tests[i].p < 1e-6 && strncmp(book.tests[i].name, "lanes", 5) == 0;
    cr_expect(below == 6, "%zu pairs of lanes", below);
    cr_expect(book.side.fails && strncmp(book.side.worst[0].name, "lanes", 5) == 0);
    stat_sheet_release(&s);
}

Test(statistics, the_worst_come_first)
{
    static const double p[] = { 0.5, 0.01, 0.3, 0.02, 0.9, 0.001, 0.4 };

    memset(&book, 0, sizeof book);
    for (size_t i = 0; i < sizeof p / sizeof p[0]; i++)
        stat_add(&book, p[i], "test %zu", i);
    stat_verdict(&book, 0.007, 1);
    cr_assert(book.side.worst_count == STAT_FOUND_MAX);
    cr_expect_str_eq(book.side.worst[0].name, "test 5");
    cr_expect_str_eq(book.side.worst[1].name, "test 1");
    cr_expect_str_eq(book.side.worst[2].name, "test 3");
    cr_expect_str_eq(book.side.worst[3].name, "test 2");
    cr_expect(book.side.fails && fabs(book.side.threshold - 0.001) < 1e-15);
}

/* Words of one stream at equal places, and of two; the same for an element and its place in the transposed matrix. */
Test(statistics, directions_that_share_words)
{
    enum { SIDE = 64, N = SIDE * SIDE };
    static float v[N];
    static uint8_t codes[3][N / 2]; /* a, another draw, a transposed */
    struct stat_sheet a, other, turned;
    struct fp4_philox g;

    fp4_philox_init(&g, 8, 0, 0, 10);
    memset(codes, 0, sizeof codes);
    for (size_t i = 0; i < N; i++) {
        unsigned first = 2 + (fp4_philox_next(&g) & 1u), second = 2 + (fp4_philox_next(&g) & 1u);
        size_t t = i % SIDE * SIDE + i / SIDE;

        v[i] = 1.25f;
        codes[0][i / 2] |= (uint8_t)(first << 4 * (i & 1));
        codes[1][i / 2] |= (uint8_t)(second << 4 * (i & 1));
        codes[2][t / 2] |= (uint8_t)(first << 4 * (t & 1));
    }
    a = sheet_of(v, codes[0], SIDE, SIDE);
    other = sheet_of(v, codes[1], SIDE, SIDE);
    turned = sheet_of(v, codes[2], SIDE, SIDE);
    book.count = 0;
    stat_test_pair(&book, "the same", &a, &a);
    stat_test_pair(&book, "another", &a, &other);
    stat_test_pair(&book, "turned, by place", &a, &turned);
    stat_test_transposed(&book, &a, &turned);
    stat_test_transposed(&book, &a, &other);
    cr_assert(book.count == 5);
    cr_expect(book.tests[0].p < 1e-100 && book.tests[3].p < 1e-100, "%.3g, %.3g", book.tests[0].p, book.tests[3].p);
    cr_expect(book.tests[1].p > 1e-3 && book.tests[2].p > 1e-3 && book.tests[4].p > 1e-3, "%.3g, %.3g, %.3g", book.tests[1].p,
              book.tests[2].p, book.tests[4].p);
    stat_sheet_release(&a);
    stat_sheet_release(&other);
    stat_sheet_release(&turned);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stat.h: whether codes look like an honest stochastic rounding of given values. Each value has an exact probability of going up, k/256 by
 * the rule of the case's rs-model (2^32nds for hash32), so nothing is estimated:
 *
 *   impossible   a code that no random byte gives: one is enough
 *   value k/256  of all values with the same k, how many went up: exact binomial test, two-sided
 *   chi-square   over those groups together
 *   bias         the mean of (went up - probability), in steps of the grid
 *   lanes i, j   two nibbles of one word, six pairs
 *   lag n        a word and the n-th after it in the output; lines n: the same place n lines further
 *   directions   the rowwise and the transposed output, by place and by element
 *   draws        the same case with another seed, another offset
 *
 * The p-values of the correlations are Bernstein's (Freedman's) bound, which holds for every size and needs no normal approximation; they
 * err to the safe side. A side fails when the smallest p-value is at most error rate / (family * tests): Holm's first step within the side,
 * Bonferroni over the family, which is two sides for each case of the comparison. So the chance that any honest case fails is at most the
 * error rate.
 */
#ifndef FP4_STAT_H
#define FP4_STAT_H

#include "matrix.h"

/* ---- functions, checked against published values in tests/unit/test_statistics.c ------------------------------------------------------------ */

double stat_beta_inc(double a, double b, double x);     /* regularized incomplete beta I_x(a, b) */
double stat_gamma_q(double a, double x);                /* regularized upper incomplete gamma */
double stat_binomial(uint64_t k, uint64_t n, double p); /* twice the smaller tail, at most 1; p = 0 and 1 are exact */
double stat_bernstein(double sum, double variance);     /* of a sum of terms of at most 1 with that total variance */
double stat_normal_quantile(double tail);               /* z with P(Z > z) = tail, tail in (0, 0.5] */
unsigned stat_bytes_up(enum fp4_rs_rule rule, float y); /* how many of 256 bytes round away from zero; not for hash32 */

/* ---- one output of one case -------------------------------------------------------------------------------------------------------------------- */

#define STAT_TESTS_MAX 640 /* two directions of 257 values and two dozen others, and what compares them: none is left out */
#define STAT_FOUND_MAX 4

struct stat_test {
    double p;
    char name[40];
};

struct stat_sheet { /* the outcome of each element: what went up beyond its probability */
    size_t lines, packed;
    float *residual;    /* [lines][packed]: up - p; 0 where nothing is random */
    float *probability; /* p; 0 where nothing is random */
};

struct stat_side { /* what was found of one side of a comparison */
    bool judged, fails;
    size_t elements, draws, impossible; /* draws: elements with 0 < p < 1 */
    size_t impossible_row, impossible_col;
    size_t tests;
    double bias, bias_margin, detectable;   /* mean in steps; half width of its interval; smallest bias found with 95 % power */
    struct stat_test worst[STAT_FOUND_MAX]; /* by p-value */
    size_t worst_count;
    double threshold; /* a p-value at or below it fails */
    char rule[16];    /* when it fails: another rule that does not; "" */
};

/* Collects tests of one side. Zero-initialise; release after the verdict. */
struct stat_book {
    struct stat_test tests[STAT_TESTS_MAX];
    size_t count;
    double sum, variance; /* of up - p */
    struct stat_side side;
};

/* Fills a sheet from scaled values and codes [lines][packed] (two a byte), and counts what is impossible. */
int stat_sheet_make(struct stat_book *book, struct fp4_rs_model model, const float *scaled, const uint8_t *codes, size_t lines,
                    size_t packed, struct stat_sheet *out, struct fp4_error *err);
void stat_sheet_release(struct stat_sheet *s);
/* Values, chi-square, bias. */
void stat_test_values(struct stat_book *book, const struct stat_sheet *s);
/* Lanes, lags, lines. */
void stat_test_independence(struct stat_book *book, const struct stat_sheet *s);
/* Two sheets that share no random bits: by place, up to the smaller of both. */
void stat_test_pair(struct stat_book *book, const char *name, const struct stat_sheet *a, const struct stat_sheet *b);
/* Element (i, j) of one against (j, i) of the other. */
void stat_test_transposed(struct stat_book *book, const struct stat_sheet *a, const struct stat_sheet *b);
void stat_add(struct stat_book *book, double p, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The verdict: book->side is complete then. */
void stat_verdict(struct stat_book *book, double error_rate, size_t family);

/* "65536 draws, bias -0.0001 +- 0.0089 steps, ..." */
void stat_text(const struct stat_side *s, char *text, size_t size);

#endif

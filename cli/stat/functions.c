/* SPDX-License-Identifier: Apache-2.0 */
/* functions.c: tails of the binomial, chi-square and normal distributions. Reported to three digits: the last bits may differ from one C
 * library to the next, no output but a p-value does. */
#include "stat.h"

#include <math.h>

#define ITERATIONS 10000
#define TINY 1e-300

static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* The continued fraction of the incomplete beta function, by Lentz's method; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0), h;
    int m;

    d = 1.0 / (fabs(d) < TINY ? TINY : d);
    h = d;
    for (m = 1; m < ITERATIONS; m++) {
        double n = m, even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n));
        double odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1)), step;

        d = 1.0 + even * d;
        d = 1.0 / (fabs(d) < TINY ? TINY : d);
        c = 1.0 + even / c;
        c = fabs(c) < TINY ? TINY : c;
        h *= d * c;
        d = 1.0 + odd * d;
        d = 1.0 / (fabs(d) < TINY ? TINY : d);
        c = 1.0 + odd / c;
        c = fabs(c) < TINY ? TINY : c;
        step = d * c;
        h *= step;
        if (fabs(step - 1.0) < 1e-15)
            break;
    }
    return h;
}

double stat_beta_inc(double a, double b, double x)
{
    double front;

    if (x <= 0)
        return 0;
    if (x >= 1)
        return 1;
    front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* Series below a + 1, continued fraction above. */
double stat_gamma_q(double a, double x)
{
    double front, sum, term, b, c, d, h;
    int n;

    if (x <= 0)
        return 1;
    front = exp(a * log(x) - x - log_gamma(a));
    if (x < a + 1) {
        for (sum = term = 1 / a, n = 1; n < ITERATIONS && term > sum * 1e-16; n++) {
            term *= x / (a + n);
            sum += term;
        }
        return 1 - front * sum;
    }
    b = x + 1 - a;
    c = 1 / TINY;
    d = 1 / b;
    h = d;
    for (n = 1; n < ITERATIONS; n++) {
        double an = -n * (n - a), step;

        b += 2;
        d = an * d + b;
        d = 1 / (fabs(d) < TINY ? TINY : d);
        c = b + an / c;
        c = fabs(c) < TINY ? TINY : c;
        step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return front * h;
}

double stat_binomial(uint64_t k, uint64_t n, double p)
{
    double below, above, p2;

    if (p <= 0)
        return k == 0 ? 1 : 0;
    if (p >= 1)
        return k == n ? 1 : 0;
    above = k == 0 ? 1 : stat_beta_inc((double)k, (double)(n - k) + 1, p);     /* P(X >= k) */
    below = k == n ? 1 : stat_beta_inc((double)(n - k), (double)k + 1, 1 - p); /* P(X <= k) */
    p2 = 2 * (below < above ? below : above);
    return p2 > 1 ? 1 : p2;
}

double stat_bernstein(double sum, double variance)
{
    double t = fabs(sum), p;

    if (t == 0)
        return 1;
    p = 2 * exp(-t * t / 2 / (variance + t / 3));
    return p > 1 ? 1 : p;
}

double stat_normal_quantile(double tail)
{
    double low = 0, high = 40;
    int i;

    for (i = 0; i < 200; i++) {
        double mid = (low + high) / 2;

        if (0.5 * erfc(mid / sqrt(2.0)) > tail)
            low = mid;
        else
            high = mid;
    }
    return (low + high) / 2;
}

/* The up-most byte of all rules is 255, and what one byte lifts every larger one lifts. */
unsigned stat_bytes_up(enum fp4_rs_rule rule, float y)
{
    static const float grid[] = { 0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f };
    float a = fabsf(y);
    unsigned cell = 0, low = 0, high = 256;

    if (!(a < 6.0f))
        return 0;
    while (a >= grid[cell + 1])
        cell++;
    while (low < high) { /* the smallest byte that goes up, or 256 */
        unsigned mid = (low + high) / 2;

        if ((fp4_rs_round(rule, y, (uint8_t)mid).bits & 7u) > cell)
            high = mid;
        else
            low = mid + 1;
    }
    return 256 - low;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* --tolerance: what is a share, and on which side of every limit a tensor falls. */
#include "diff.h"

#include <criterion/criterion.h>

Test(tolerance_parse, shares_become_exact_fractions)
{
    static const struct {
        const char *text;
        uint64_t num, den;
    } rows[] = {
        { "0.1%", 1, 1000 },
        { "0.001", 1, 1000 },
        { "1%", 1, 100 },
        { "100%", 100, 100 },
        { "1", 1, 1 },
        { "0.1", 1, 10 },
        { "0.10%", 1, 1000 },
        { "2.5%", 25, 1000 },
        { "00.1%", 1, 1000 },
        { "0.100000000000%", 1, 1000 },
        { "0.000000001", 1, 1000000000 },
        { "0.0000001%", 1, 1000000000 },
        { "99.9%", 999, 1000 },
        { "1.0", 1, 1 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tolerance t = { 0 };
        struct fp4_error err = { 0 };

        cr_expect(tolerance_parse(rows[i].text, &t, &err) == 0, "%s: %s", rows[i].text, err.msg);
        cr_expect(t.set, "%s", rows[i].text);
        /* as a fraction: equal after cross-multiplication */
        cr_expect(t.num * rows[i].den == rows[i].num * t.den, "%s: %llu/%llu", rows[i].text, (unsigned long long)t.num,
                  (unsigned long long)t.den);
    }
}

Test(tolerance_parse, anything_else_is_refused_with_the_text_in_the_message)
{
    static const char *const rows[] = {
        "",
        "%",
        "-1",
        "+1",
        "1e-3",
        "0.1 %",
        " 0.1%",
        "0.1% ",
        "0.1%%",
        ".5",
        "5.",
        "5.%",
        "0x1",
        "nan",
        "inf",
        "0,1%",
        "1..2",
        "0",
        "0%",
        "0.000",
        "101%",
        "1.1",
        "2",
        "100.1%",
        "99999999999999999999999999",
        "0.0000000001",
        "0.00000001%",
        "0.99999999999999999999",
        "1/1000",
        "0.1\n",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tolerance t = { 0 };
        struct fp4_error err = { 0 };

        cr_expect(tolerance_parse(rows[i], &t, &err) < 0, "'%s' was taken as %llu/%llu", rows[i], (unsigned long long)t.num,
                  (unsigned long long)t.den);
        cr_expect(err.code == FP4_EUSAGE && strstr(err.msg, rows[i]), "'%s': %s", rows[i], err.msg);
        cr_expect(!t.set);
    }
}

Test(tolerance_allows, strictly_fewer_than_the_share_passes)
{
    static const struct {
        const char *text;
        size_t differing, total;
        bool allowed;
    } rows[] = {
        { "0.1%", 0, 1000, true },
        { "0.1%", 1, 1000, false },
        { "0.1%", 1, 1001, true },
        { "0.1%", 1, 999, false },
        { "0.1%", 2, 2000, false },
        { "0.1%", 2, 2001, true },
        { "0.1%", 4, 4096, true },
        { "0.1%", 5, 4096, false },
        { "0.1%", 0, 0, false },
        { "100%", 16, 16, false },
        { "100%", 15, 16, true },
        { "0.000000001", 1, (size_t)1 << 30, true },
        { "0.000000001", 2, (size_t)1 << 30, false },
        { "0.999999999", (size_t)1 << 30, (size_t)1 << 30, false },
        { "0.999999999", ((size_t)1 << 30) - 2, (size_t)1 << 30, true },
        { "0.999999999", ((size_t)1 << 30) - 1, (size_t)1 << 30, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tolerance t;

        cr_assert(tolerance_parse(rows[i].text, &t, NULL) == 0);
        cr_expect(tolerance_allows(&t, rows[i].differing, rows[i].total) == rows[i].allowed, "%zu of %zu at %s", rows[i].differing,
                  rows[i].total, rows[i].text);
    }
}

/* Positions on the number line written out, in halves, against the formula of the engine. */
Test(code_distance, is_the_number_of_grid_steps_between_two_codes)
{
    static const int position[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 0, -1, -2, -3, -4, -5, -6, -7 };

    for (unsigned a = 0; a < 16; a++)
        for (unsigned b = 0; b < 16; b++)
            cr_expect(code_distance(a, b) == (size_t)abs(position[a] - position[b]), "%u and %u", a, b);
    cr_expect(code_distance(0, 8) == 0);
    cr_expect(code_distance(1, 9) == 2);
    cr_expect(code_distance(7, 15) == 14);
}

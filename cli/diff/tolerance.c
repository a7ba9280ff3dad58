/* SPDX-License-Identifier: Apache-2.0 */
/* tolerance.c: the share of codes that may differ, as an exact fraction. */
#include "diff.h"

#include <string.h>

const struct diff_policy diff_policy_default = { .statistical = { .error_rate = 1e-3 }, .max_places = 8, .max_cases = 10 };

/* Nine places after the point, the two of the per cent sign included: with at most 2^30 codes in a tensor no product overflows. */
#define TOLERANCE_PLACES 9u

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits(const char *s)
{
    size_t n = 0;

    while (is_digit(s[n]))
        n++;
    return n;
}

static int bad(const char *text, const char *why, struct fp4_error *err)
{
    return fp4_fail(err, FP4_EUSAGE, "tolerance '%.40s': %s (try 0.1%% or 0.001)", text, why);
}

int tolerance_parse(const char *text, struct tolerance *out, struct fp4_error *err)
{
    size_t whole = digits(text);
    size_t places = 0, used = whole;
    uint64_t num = 0, den = 1;

    if (text[used] == '.') {
        places = digits(text + used + 1);
        used += 1 + places;
    }
    bool percent = text[used] == '%';
    if (!whole || (used > whole && !places) || text[used + percent] != '\0')
        return bad(text, "not a share, which is digits with an optional point and '%'", err);
    while (places && text[whole + places] == '0') /* 0.1000 is 0.1 */
        places--;
    if (places + (percent ? 2 : 0) > TOLERANCE_PLACES)
        return bad(text, "too many digits after the point", err);
    for (size_t i = 0; i < whole; i++) {
        num = num * 10 + (uint64_t)(text[i] - '0');
        if (num > 100)
            return bad(text, "more than everything", err);
    }
    for (size_t i = 0; i < places; i++) {
        num = num * 10 + (uint64_t)(text[whole + 1 + i] - '0');
        den *= 10;
    }
    if (percent)
        den *= 100;
    if (num > den)
        return bad(text, "more than everything", err);
    if (num == 0)
        return bad(text, "nothing is fewer than none: leave the option out to compare bit for bit", err);
    if (strlen(text) >= sizeof out->text)
        return bad(text, "too long", err);
    *out = (struct tolerance){ .set = true, .num = num, .den = den };
    strcpy(out->text, text);
    return 0;
}

bool tolerance_allows(const struct tolerance *t, size_t differing, size_t total)
{
    return (uint64_t)differing * t->den < (uint64_t)total * t->num;
}

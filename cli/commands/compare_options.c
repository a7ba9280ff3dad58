/* SPDX-License-Identifier: Apache-2.0 */
#include "compare_options.h"

#include "select.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

static int parse_count(const char *name, const char *text, size_t limit, size_t *out, struct fp4_error *err)
{
    uint64_t value;

    if (!text)
        return 0;
    if (u64_from_text(text, &value) || value > limit)
        return fp4_fail(err, FP4_EUSAGE, "--%s takes a number from 0 to %zu, not '%.40s'", name, limit, text);
    *out = (size_t)value;
    return 0;
}

static int parse_mode(const char *name, const char *text, bool *equal, struct fp4_error *err)
{
    if (!text || strcmp(text, "strict") == 0)
        return 0;
    if (strcmp(text, "equal") != 0)
        return fp4_fail(err, FP4_EUSAGE, "--%s is strict or equal, not '%.40s'", name, text);
    *equal = true;
    return 0;
}

static int parse_statistical(const struct compare_options *o, struct diff_policy *p, struct fp4_error *err)
{
    char *end;

    p->statistical.set = o->statistical;
    if (o->statistical && o->tolerance)
        return fp4_fail(err, FP4_EUSAGE, "--statistical and --tolerance exclude each other");
    if (!o->error_rate)
        return 0;
    if (!o->statistical)
        return fp4_fail(err, FP4_EUSAGE, "--error-rate belongs to --statistical");
    p->statistical.error_rate = strtod(o->error_rate, &end);
    if (!strchr("0123456789.", *o->error_rate) || *end || !(p->statistical.error_rate >= 1e-12 && p->statistical.error_rate <= 0.5))
        return fp4_fail(err, FP4_EUSAGE, "--error-rate is a number from 1e-12 to 0.5, not '%.40s'", o->error_rate);
    return 0;
}

int compare_policy(const struct compare_options *o, struct diff_policy *p, struct fp4_error *err)
{
    *p = diff_policy_default;
    if (o->tolerance && tolerance_parse(o->tolerance, &p->tolerance, err))
        return -1;
    if (parse_statistical(o, p, err))
        return -1;
    if (parse_mode("signed-zero", o->signed_zero, &p->signed_zero_equal, err) || parse_mode("nan", o->nan, &p->nan_equal, err) ||
        parse_count("places", o->places, PLACES_MAX, &p->max_places, err))
        return -1;
    return parse_count("max-cases", o->max_cases, 1000000, &p->max_cases, err);
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int compare_reports(const struct compare_options *o, struct report_set *set, struct fp4_error *err)
{
    int taken = is_stdout(o->json) + is_stdout(o->junit) + is_stdout(o->markdown);
    FILE *human = taken ? stderr : stdout;

    if (taken > 1)
        return fp4_fail(err, FP4_EUSAGE, "only one report can go to standard output ('-')");
    if (o->json && report_add(set, &report_json, o->json, NULL, err))
        return -1;
    if (o->junit && report_add(set, &report_junit, o->junit, NULL, err))
        return -1;
    if (o->markdown && report_add(set, &report_markdown, o->markdown, NULL, err))
        return -1;
    if (!(taken && term_quiet) && report_add(set, &report_text, NULL, human, err))
        return -1;
    return o->github ? report_add(set, &report_github, NULL, human, err) : 0;
}

int worse_status(int a, int b)
{
    return a > b ? a : b;
}

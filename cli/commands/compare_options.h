/* SPDX-License-Identifier: Apache-2.0 */
/* compare_options.h: the options of every command that compares (diff, verify, bless): policies, limits and reports. */
#ifndef FP4_COMPARE_OPTIONS_H
#define FP4_COMPARE_OPTIONS_H

#include "options.h"
#include "report.h"

struct compare_options {
    const char *tolerance, *signed_zero, *nan, *places, *max_cases;
    const char *json, *junit, *markdown;
    const char *error_rate;
    bool statistical, github;
};

/* Rows for an option table; o is a struct compare_options variable. */
#define COMPARE_OPTIONS(o)                                                                                                           \
    { "tolerance", 't',           OPT_STRING, "SHARE", "fewer than this share of the codes may differ, each by one grid step: 0.1%", \
      NULL,        &(o).tolerance },                                                                                                 \
        { "statistical",                                                                                                             \
          0,                                                                                                                         \
          OPT_FLAG,                                                                                                                  \
          NULL,                                                                                                                      \
          "judge stochastic codes as draws, each side for itself; all else is equal or differs",                                     \
          NULL,                                                                                                                      \
          &(o).statistical },                                                                                                        \
        { "error-rate", 0, OPT_STRING, "P", "chance that any honest case fails --statistical (0.001)", NULL, &(o).error_rate },      \
        { "signed-zero",   0, OPT_STRING, "MODE", "strict (default): -0 and +0 differ; equal: they do not", "strict equal",          \
          &(o).signed_zero },                                                                                                        \
        { "nan",                                                                                                                     \
          0,                                                                                                                         \
          OPT_STRING,                                                                                                                \
          "MODE",                                                                                                                    \
          "strict (default): NaNs are compared as bytes; equal: any NaN equals any NaN",                                             \
          "strict equal",                                                                                                            \
          &(o).nan },                                                                                                                \
        { "places", 0, OPT_STRING, "N", "places shown for each tensor (default 8, at most 64)", NULL, &(o).places },                 \
        { "max-cases", 0, OPT_STRING, "N", "differing cases shown in full (default 10)", NULL, &(o).max_cases },                     \
        { "json", 0, OPT_STRING, "FILE", "write a JSON report ('-': standard output)", "file", &(o).json },                          \
        { "junit", 0, OPT_STRING, "FILE", "write a JUnit XML report ('-': standard output)", "file", &(o).junit },                   \
        { "markdown", 0, OPT_STRING, "FILE", "write a Markdown summary ('-': standard output)", "file", &(o).markdown },             \
    {                                                                                                                                \
        "github", 0, OPT_FLAG, NULL, "print annotations for GitHub Actions", NULL, &(o).github                                       \
    }

int compare_policy(const struct compare_options *o, struct diff_policy *p, struct fp4_error *err);
/* A report on standard output has it for itself: everything else goes to stderr then, so that the output can be parsed. */
int compare_reports(const struct compare_options *o, struct report_set *set, struct fp4_error *err);
/* Trouble outweighs a difference, a difference a pass. */
int worse_status(int a, int b);

#endif

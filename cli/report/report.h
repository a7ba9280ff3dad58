/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h: results as text, JSON, JUnit XML, Markdown and GitHub annotations, behind one small table of functions.
 *
 * A report is a sequence of sections (one pair of dumps, or one run), each a sequence of cases. A set holds the reports that the
 * user asked for and feeds them all:
 *
 *   struct report_set set = { .command = "diff" };
 *   report_add(&set, &report_junit, "junit.xml", NULL, err);      (a file: written beside it and renamed by report_finish)
 *   report_add(&set, &report_text, NULL, stdout, err);
 *   struct diff_sink sink = report_sink(&set);                    (diff, verify: every case_diff becomes a report_case)
 *   diff_dumps(..., &sink, ...);
 *   report_finish(&set, exit_status, err)   or   report_drop(&set)
 *
 * A command without a diff (run) calls report_begin, report_item and report_end itself.
 *
 * To add a format: a struct report_format in a file of its own, and an option of the commands that offer it.
 *
 * JSON (format "fp4check-report", version 1). Keys come in this order; those in [] only when there is something to say. Bits and
 * other 64-bit values are strings "0x...", decoded values are strings too ("nan" is no JSON number), counts are numbers.
 *
 *   { "format", "version", "command", "tool",
 *     "sections": [ { "title", ["a", "b": { "label", "path", "backend", ["tool", "os", "arch", "build"], "complete" }],
 *                     ["rule": { "tolerance": "0.1%" | null, ["statistical": { "error_rate" }], "signed_zero": "strict" | "equal",
 *                                "nan": "strict" | "equal" }],
 *       "cases": [ { "case", "op", "verdict", ["reason"], ["only": "a" | "b"], ["first": NAME],
 *         ["statistics": { "a", "b": { "fails", "draws", "impossible", "tests", "threshold", "bias", "bias_margin", "detectable_bias",
 *                        "worst": [ { "test", "p" } ], ["rule"] } }]   (numbers of three digits)
 *         ["no_context"], ["repro"],
 *         ["selection": { "blocks", "flips", "nan_policy_blocks", "nan_payload_blocks", ["nan_propagates": "a" | "b"], "list": [ { "transposed", "row",
 *                        "block", "a": 6 | 4, "b": 6 | 4, "a_error6", "a_error6_bits", "a_error4", "a_error4_bits", ["a_ulps"],
 *                        "a_recomputed", "b_error6", ... } ] }]   (ulps: error 4 minus error 6)
 *         ["tensors": [ { "name", "role", "dtype", "shape", "elements", "equal", ["only"], ["shape_differs": true], "located",
 *            located:  "differing", "one_step", "more_steps", "zero_sign", "nan_only", "nan_number", "other", "policy_zero",
 *                      "policy_nan", ["flipped"], ["nan_policy"], ["padding_differs": true], ["looks_like"],
 *                      "places": [ { "row", "col", "block", ["nibble"], ["input_row", "input_col"], ["input", "input_bits"],
 *                        ["block_amax", "block_amax_bits"], ["scale", "scale_bits"], ["scaled", "scaled_bits"], ["rbits"],
 *                        ["byte"],
 *                        "a", "a_bits", "b", "b_bits", ["ref", "ref_bits"] } ]
 *            otherwise: "no_bytes": "a" | "b" | "*", "blocks", "blocks_differing", "block_list" } ]] } ],
 *       "totals": { "total", "compared", "equal", "within_tolerance", "differs", "skipped", "error", "not_comparable", "only_a",
 *                   "only_b", "policy_cases", "policy_zero", "policy_nan" },
 *       ["diagnosis": { "differing", "considered", "left_out", "findings": [ { "side": "a" | "b", "cause": [ { "name", "spec", "says", "alone" } ],
 *         "same": [NAME], ["model"], "ops": [NAME], "cases", "whole", "units": "bytes" | "blocks", "differing", "explained", "broken",
 *         "others", "others_broken", "places": [ { "case", "tensor", "row", "col", "reference_bits", "seen_bits" } ] } ] }] } ],
 *             an empty "cause" is "no known cause"; "same" then holds what came nearest
 *     "exit": 0 | 1 | 2 }
 */
#ifndef FP4_REPORT_H
#define FP4_REPORT_H

#include "diff.h"
#include "term.h"

#include <stdio.h>

enum report_outcome { REPORT_PASS, REPORT_FAIL, REPORT_ERROR, REPORT_SKIP };
enum report_outcome report_outcome_of(enum verdict v); /* not-comparable and differs are failures */

struct report_section {
    const char *title;               /* "a.json:ref against b.json:soft" */
    const struct diff_heading *diff; /* NULL when nothing is compared */
};

struct report_case {
    const char *name, *op;
    enum report_outcome outcome;
    const char *status;           /* verdict_name(), or the word of another command: "ok" */
    const char *reason;           /* "" or NULL when there is none */
    const struct case_diff *diff; /* NULL when nothing was compared */
};

struct report_totals {
    size_t total, outcomes[REPORT_SKIP + 1];
    const struct diff_summary *diff; /* NULL when nothing was compared */
};

#define REPORT_OPS_MAX 24

struct report_op_file { /* JUnit: the test cases of one op, until their number is known */
    char op[24];
    FILE *body;
    size_t outcomes[REPORT_SKIP + 1];
};

/* One report being written. The fields after out are for the formats. */
struct report {
    const struct report_format *format;
    char *path, *partial; /* NULL for a stream that was handed in */
    FILE *out;
    bool direct;  /* out is the caller's, or not a regular file: nothing to rename */
    FILE *target; /* where a spooled report goes at the end */
    const char *command;
    const struct report_section *section;
    size_t sections, cases, shown; /* so far: of the report, of the section, of what is limited */
    size_t not_shown, missing, within;
    struct text text, rest, passed;
    struct {
        char *reason;
        size_t count;
    } skips[8];
    size_t skip_kinds;
    struct report_op_file ops[REPORT_OPS_MAX];
    size_t op_count;
};

/* Any function may be NULL. Write errors are found by report_finish through ferror(). */
struct report_format {
    const char *name;
    bool spool; /* on a stream: write to a temporary file first, so that a failed command leaves no half document on stdout */
    void (*begin)(struct report *r, const struct report_section *s);
    void (*item)(struct report *r, const struct report_case *c);
    void (*end)(struct report *r, const struct report_totals *t);
    void (*finish)(struct report *r, int exit_status);
    void (*open)(struct report *r);
    void (*release)(struct report *r);
};
extern const struct report_format report_text, report_json, report_junit, report_markdown, report_github;

#define REPORTS_MAX 8
struct report_set {
    const char *command; /* "diff" */
    struct report items[REPORTS_MAX];
    size_t count;
    struct report_section section;
    char title[700];
    struct report_totals totals;
};

/* path NULL: to the stream; path "-": to standard output; else to the file, by way of PATH.partial. */
int report_add(struct report_set *set, const struct report_format *format, const char *path, FILE *stream, struct fp4_error *err);
void report_begin(struct report_set *set, const struct report_section *s);
void report_item(struct report_set *set, const struct report_case *c);
void report_end(struct report_set *set, const struct diff_summary *diff); /* diff may be NULL */
/* Ends every report and renames the files into place. Releases the set in any case. */
int report_finish(struct report_set *set, int exit_status, struct fp4_error *err);
/* Throws all reports away: files stay as they were. */
void report_drop(struct report_set *set);
/* The set as a sink of the comparison engine. It must not move while the sink is in use. */
struct diff_sink report_sink(struct report_set *set);

/* ---- shared by the formats --------------------------------------------------------------------------------------------------- */

/* An element in decimal ("-0", "0.5", "nan", "448") and in hex with the width of its type ("0x3f800000"). */
#define ELEMENT_TEXT_MAX 40
const char *element_value(enum fp4_dtype dtype, uint64_t bits, char text[ELEMENT_TEXT_MAX]);
const char *element_hex(enum fp4_dtype dtype, uint64_t bits, char text[ELEMENT_TEXT_MAX]);
/* "0.00916%", from integers: three significant digits, "<0.0001%" below that. */
const char *share_text(size_t part, size_t whole, char text[ELEMENT_TEXT_MAX]);
/* "bit-exact", or the tolerance and the policies in words. */
void rule_text(const struct diff_policy *p, struct text *out);
/* "1642 cases compared: 1640 equal, 2 differ; 3 only in A" */
void summary_text(const struct diff_summary *s, struct text *out);
/* One line about a tensor: what kind, how many, of which classes. */
void tensor_text(const struct tensor_diff *t, struct text *out);
/* Selection flips and NaN policy of four-over-six; nothing when there are none. */
void picks_text(const struct case_diff *d, const char *indent, struct text *out);
/* The same as ,"selection":{...}. */
void picks_json(const struct case_diff *d, struct text *out);
/* Everything about a case that differs, as the terminal shows it; indent goes before every line. styled: the stream whose colours
 * are used, or NULL. */
void case_text(const struct case_diff *d, const char *indent, FILE *styled, struct text *out);
/* The causes that were found, one paragraph each; indent goes before every line. a, b: who the sides are, or NULL. */
void diagnosis_text(const struct diagnosis *g, const char *a, const char *b, const char *indent, FILE *styled, struct text *out);
/* Two lines about the statistics of both sides, or nothing. */
void statistics_text(const struct case_diff *d, const char *indent, struct text *out);
/* For a terminal: control characters become spaces, so that a string out of a file can neither break a line nor send commands. */
void plain_text(struct text *out, const char *s);
/* Bytes that are no UTF-8 (a path may hold any, a long reason may be cut anywhere) become '?'. */
void utf8_text(struct text *out, const char *s);
/* %, CR, LF escaped for a workflow command; in a property also ':' and ','. */
void github_escape(struct text *out, const char *s, bool property);

#endif

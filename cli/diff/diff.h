/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h: compares two results of one case, tensor by tensor in stage order, and says what differs.
 *
 * Comparison is of bytes. Digests decide equality; places need bytes, which come from the dump when it kept them, or from running
 * the case again: where the digest of a recomputed tensor agrees with the one in the dump, its bytes are the dump's. The rule of
 * --tolerance: every output but the codes byte-equal, fewer than P of the codes different, each by at most one
 * grid step.
 *
 * Three levels, each built on the one before:
 *
 *   case_compare   two results of one case  ->  struct case_diff
 *   diff_run_*     a series of cases from anywhere (a dump against fresh results, say), counted and handed to a sink
 *   diff_dumps     two opened dumps, one case at a time in the order of the first
 *
 * To add a hypothesis about a difference ("looks like: ..."): a row in hypotheses.c. To add a report: report/report.h.
 */
#ifndef FP4_DIFF_H
#define FP4_DIFF_H

#include "diagnose.h"
#include "dump.h"
#include "stat.h"

enum verdict {
    VERDICT_EQUAL,
    VERDICT_WITHIN,
    VERDICT_DIFFERS,
    VERDICT_SKIPPED,
    VERDICT_ERROR,
    VERDICT_NOT_COMPARABLE,
    VERDICT_COUNT
};
const char *verdict_name(enum verdict v); /* "equal", "within-tolerance", "differs", "skipped", "error", "not-comparable" */

/* ---- policy ------------------------------------------------------------------------------------------------------------------ */

struct tolerance {
    bool set;
    uint64_t num, den; /* differing * den < total * num; den at most 10^9, so that no product of a dump's counts overflows */
    char text[24];     /* as the user wrote it */
};
/* "0.1%" or "0.001": digits with an optional point and per cent sign, more than 0 and at most 100%. Exact: no floating point. */
int tolerance_parse(const char *text, struct tolerance *out, struct fp4_error *err);
/* Strictly fewer than the share. */
bool tolerance_allows(const struct tolerance *t, size_t differing, size_t total);

struct diff_policy {
    struct tolerance tolerance;
    /* --signed-zero=equal: codes 0 and 8, scale bytes 00 and 80, and +-0 floats count as equal (and are counted) */
    bool signed_zero_equal;
    /* --nan=equal: NaNs of any sign and payload count as equal (E4M3 7F/FF, floats) */
    bool nan_equal;
    struct {
        bool set;
        double error_rate; /* of the whole comparison: that any honest case of it fails */
        bool live_b;       /* B is run here: other draws may be asked of it */
    } statistical;
    bool no_diagnosis; /* causes are not looked for */
    size_t max_places; /* places kept of a tensor */
    size_t max_cases;  /* differing cases printed in full */
};
extern const struct diff_policy diff_policy_default; /* bit-exact, strict, 8 places, 10 cases */

/* ---- what is found ----------------------------------------------------------------------------------------------------------- */

#define PLACES_MAX 64

enum { /* which context fields of a place hold something */
       PLACE_REF = 1,
       PLACE_INPUT = 2,
       PLACE_AMAX = 4,
       PLACE_SCALE = 8,
       PLACE_SCALED = 16,
       PLACE_RBITS = 32,
       PLACE_BYTE = 64,
       PLACE_INPUT_AT = 128 /* input_row, input_col */
};

struct diff_place {     /* one differing element */
    size_t row, col;    /* in the tensor's own shape (one dimension: row) */
    size_t block;       /* of 16 along the packed dimension; for scales the column itself */
    unsigned nibble;    /* codes: 0..3 within its conversion */
    uint64_t a, b, ref; /* raw bits of the element on both sides and in the reference */
    unsigned has;       /* PLACE_* */
    /* The reference's values at this place. */
    size_t input_row, input_col; /* in the input: a transposed tensor's place, turned back */
    enum fp4_dtype input_dtype;
    uint64_t input;              /* raw bits; rht-quantize, transposed: of the transformed value */
    uint32_t block_amax, scaled; /* binary32 bits */
    uint8_t scale;
    uint32_t rbits;
    uint8_t byte; /* the random byte that this nibble consumes */
};

struct diff_classes { /* disjoint; they add up to the differing elements */
    size_t one_step;  /* neighbours: on the number line of the format (codes, scales, floats) */
    size_t more_steps;
    size_t zero_sign;  /* +0 against -0 */
    size_t nan_only;   /* NaN on both sides, other bits */
    size_t nan_number; /* NaN on one side */
    size_t other;      /* u8, u32, u64: no number line */
};

struct tensor_diff {
    char name[TENSOR_NAME_MAX];
    enum tensor_role role;
    enum fp4_dtype dtype;
    unsigned ndim;
    size_t dims[2];
    size_t elements;
    bool equal;         /* only by policy, or it would not be listed */
    char only[2];       /* "a" or "b": the tensor is on that side alone */
    bool shape_differs; /* dtype or shape: nothing else was compared */
    bool located;       /* bytes of both sides were there: differing and places are exact */
    size_t differing;   /* elements, without those equal by policy */
    struct diff_classes classes;
    size_t policy_zero, policy_nan; /* equal by policy */
    /* four-over-six: elements that differ only because the block took the other candidate, and because one side propagates NaN; they
     * are in neither differing nor the places */
    size_t flipped, nan_policy;
    bool padding_differs;   /* the unused nibble of an odd count */
    const char *looks_like; /* a hypothesis that explains every difference of this tensor; NULL */
    /* not located */
    char no_bytes[2];                /* "a", "b", or "*" for both: whose bytes are missing */
    size_t blocks, blocks_differing; /* 4 KiB blocks; blocks_differing is 0 when there were no block digests */
    size_t block_list[PLACES_MAX];   /* the first ones */
    /* located */
    struct diff_place places[PLACES_MAX];
    size_t place_count;
};

/* four-over-six (picks.c): what differs because the other candidate was stored, or because NaN is treated in another documented way. */
#define PICKS_MAX 16

struct pick_flip { /* one block, or one tile: as one finding */
    bool transposed;
    size_t row, block;               /* 16x16: the first line of the tile */
    int pick_a, pick_b;              /* FP4_MAP_TO_6, FP4_MAP_TO_4 */
    uint32_t error_a[2], error_b[2]; /* of both candidates on both sides, by FP4_MAP_TO_*: binary32 bits */
    bool own_a, own_b;               /* the side's own stages; else recomputed by the reference */
};

struct pick_diff {
    size_t blocks;       /* blocks (tiles) of the directions compared */
    size_t flips;        /* those that took the other candidate */
    size_t nan_blocks;   /* those that one side makes NaN and the other does not, each as its policy says */
    char nan_side[2];    /* which side propagates NaN: "a" or "b" */
    size_t nan_payloads; /* those with a NaN scale on both sides, whose codes mean nothing */
    struct pick_flip list[PICKS_MAX];
    size_t listed;
};
/* e4 - e6 in units in the last place; false when one of them is NaN. */
bool pick_distance(const uint32_t error[2], int64_t *ulps);

struct case_diff {
    char name[CASE_NAME_MAX];
    char op[24]; /* first segment of the name */
    char backend_a[32], backend_b[32];
    enum verdict verdict;
    char only[2];     /* "a" or "b": the case is on that side alone (verdict differs) */
    char reason[640]; /* for everything but equal */
    struct tensor_diff
        *tensors; /* only those that are not byte-equal, in stage order; the first is "the first stage that differs" */
    size_t tensor_count;
    size_t compared;                /* tensors present on both sides */
    size_t outputs;                 /* outputs among them: without one nothing was verified */
    bool statistical;               /* statistics of both sides are there */
    struct stat_side statistics[2]; /* A, B */
    struct pick_diff picks;
    char no_context[320]; /* why the places have no context; "" when they have, or when nobody asked */
    bool detailed;        /* worth printing in full (within max_cases) */
    char repro[640];      /* command line */
};
void case_diff_release(struct case_diff *d);

/* ---- one case ---------------------------------------------------------------------------------------------------------------- */

/* Sides of a comparison. All memory is owned by the caller. */
struct diff_side {
    const char *label; /* "a.json:ref" */
    const char *path;
    const char *backend;
    const struct dump_case *c;
    const struct dump_case_result *r; /* NULL: the case holds no result of that backend */
};

/* Runs of one case made anew, each when first needed and at most once: by the reference to explain a difference, and by a backend
 * of this build (one that runs on the CPU) for bytes that a dump left out. Zero-initialised. */
#define CONTEXT_BYTES_MAX ((size_t)96 << 20) /* of one run; a larger case is not run again */
#define CONTEXT_RUNS 5                       /* the reference, two backends, two NaN policies */
#define CONTEXT_RECOVERED 16
struct case_rerun {
    char backend[32];
    bool ok;
    struct case_tensors t;
};
struct case_context {
    bool tried, ok;
    struct fp4_case fp4;
    struct case_rerun runs[CONTEXT_RUNS]; /* the first is the reference's */
    size_t run_count;
    uint8_t *recovered[CONTEXT_RECOVERED]; /* bytes found by recover.c that are no run's */
    size_t recovered_count;
    char why[320]; /* why the reference could not be run */
};
/* Runs the reference; false, with ctx->why set, when that cannot be done or when the inputs made now are not those recorded. */
bool case_context_run(struct case_context *ctx, const struct dump_case *recorded);
/* The run by that backend, if it is one of this build that leaves devices alone; NULL otherwise. */
const struct case_rerun *case_context_rerun(struct case_context *ctx, const char *backend);
/* The bytes of a tensor that a dump holds only as a digest, if a run made now, or a known fault of it, gives the same digest; else
 * NULL. */
const uint8_t *case_context_bytes(struct case_context *ctx, const struct dump_case *recorded, const char *backend,
                                  const struct dump_tensor *t);
void case_context_release(struct case_context *ctx);

/* ctx may be NULL: nothing is recomputed. Fails only for want of memory. */
int case_compare(const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy, struct case_context *ctx,
                 struct case_diff *out, struct fp4_error *err);
/* --statistical: whether a case rounds stochastically; and a verdict on one that was compared, *judged when it gave one. family: how many
 * cases the comparison has at most. memory: outcomes of the cases before, since two seeds of one case must not draw the same. */
struct statistical_memory;
bool statistical_applies(const struct dump_case *c);
int statistical_judge(struct case_diff *d, const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy,
                      struct case_context *ctx, size_t family, struct statistical_memory **memory, bool *judged,
                      struct fp4_error *err);
void statistical_forget(struct statistical_memory **memory);
/* Adds input, amax, scale, scaled value, random bits and the reference's value to the places of a difference. */
void case_explain(struct case_diff *d, const struct dump_case *recorded, struct case_context *ctx);

/* A dump_case over results that were just computed: digests are taken now, bytes are borrowed from t. For DUMP_SKIPPED and
 * DUMP_ERROR give the reason; t may then be NULL or hold the inputs alone. */
int case_view(const char *name, const char *backend, enum dump_status status, const char *reason, const struct case_tensors *t,
              struct dump_case *out, struct fp4_error *err);
void case_view_release(struct dump_case *view);

/* Pieces with a test of their own. */
size_t code_distance(unsigned a, unsigned b); /* steps between two E2M1 codes: 0 and 8 are the same place, 1 and 9 two apart */
uint64_t tensor_element(const uint8_t *data, enum fp4_dtype dtype, size_t i); /* raw bits */
/* Compares bytes and fills counts, classes and places of out, whose dtype, ndim, dims and elements are set. */
void tensor_scan(const uint8_t *a, const uint8_t *b, const struct diff_policy *policy, struct tensor_diff *out);
/* The first hypothesis that explains every difference of two tensors, or NULL. */
const char *hypothesis_find(const struct tensor_diff *d, const uint8_t *a, const uint8_t *b, size_t bytes);

/* ---- a series of cases ------------------------------------------------------------------------------------------------------- */

#define DIFF_OPS_MAX 24

struct diff_op_count {
    char op[24];
    size_t total, verdicts[VERDICT_COUNT];
};

struct diff_summary {
    size_t verdicts[VERDICT_COUNT];
    size_t total;                   /* cases looked at = sum of verdicts */
    size_t matched;                 /* those that both sides have */
    size_t only_a, only_b;          /* on one side only: counted as differing */
    size_t policy_cases;            /* equal (or within) only thanks to a policy */
    size_t policy_zero, policy_nan; /* elements */
    char first_only_a[CASE_NAME_MAX], first_only_b[CASE_NAME_MAX];
    struct diff_op_count ops[DIFF_OPS_MAX]; /* in order of appearance; the last one takes what does not fit */
    size_t op_count;
    const struct diagnosis *diagnosis; /* during the sink's end(), when something differed; else NULL */
};
/* Cases whose bytes were compared: equal, within tolerance, or differing on both sides. */
size_t diff_compared(const struct diff_summary *s);
/* 0, 1 or 2: anything that differs, errors or cannot be compared gives 1; nothing compared gives 2. */
int diff_exit_status(const struct diff_summary *s);

struct diff_heading_side { /* strings may be NULL but for label, path and backend */
    const char *label, *path, *backend;
    const char *tool, *os, *arch, *build, *suite;
    bool complete;
};
struct diff_heading {
    struct diff_heading_side a, b;
    const struct diff_policy *policy;
};

/* Where results go. Each function returns 0, or -1 with a message. case_diff and strings live only for the call, the heading until
 * end() has returned. */
struct diff_sink {
    int (*begin)(void *arg, const struct diff_heading *h, struct fp4_error *err);
    int (*item)(void *arg, const struct case_diff *d, struct fp4_error *err);
    int (*end)(void *arg, const struct diff_summary *s, struct fp4_error *err);
    void *arg;
};

struct diff_run {
    struct diff_heading heading;
    const struct diff_policy *policy;
    const struct diff_sink *sink;
    struct diff_summary summary;
    size_t detailed;
    size_t family; /* cases at most, for --statistical; the caller sets it after diff_run_begin */
    struct statistical_memory *memory;
    struct diagnoser *diagnoser; /* of differences; NULL when the policy wants none */
};
/* Cases must come in a fixed order, from one thread. */
int diff_run_begin(struct diff_run *run, const struct diff_heading *h, const struct diff_policy *policy,
                   const struct diff_sink *sink, struct fp4_error *err);
int diff_run_case(struct diff_run *run, const struct diff_side *a, const struct diff_side *b, struct fp4_error *err);
/* A case that only one side has: 'a' or 'b'. */
int diff_run_missing(struct diff_run *run, const char *name, char side, struct fp4_error *err);
/* Finds the causes and hands the sums to the sink. */
int diff_run_end(struct diff_run *run, struct fp4_error *err);
/* Frees what a run holds, ended or not. */
void diff_run_release(struct diff_run *run);

/* ---- two dumps --------------------------------------------------------------------------------------------------------------- */

struct diff_selector { /* FILE[:BACKEND] */
    char *path;
    char backend[32]; /* "" when none was given */
};
/* Splits at the last ':' only if the whole text is no file and what follows looks like a backend's name. */
int diff_selector_parse(const char *text, struct diff_selector *out, struct fp4_error *err);
void diff_selector_release(struct diff_selector *s);

struct diff_names { /* the backends that a file holds */
    const char *path;
    const char *items[DUMP_RESULTS_MAX];
    size_t count;
};
void diff_names_of(const struct dump_file *f, struct diff_names *out);
struct diff_pair {
    const char *a, *b;
};
/* Which backend is compared with which: what was selected; else one against one whatever their names; else equal names. The message
 * lists what each file holds. */
int diff_pair_up(const struct diff_names *a, const char *select_a, const struct diff_names *b, const char *select_b,
                 struct diff_pair out[DUMP_RESULTS_MAX], size_t *count, struct fp4_error *err);

/* Compares backend_a of one dump with backend_b of another, case by case in the order of the first. globs (NULL-ended, or NULL)
 * keeps only matching names. Fails when a file turns out bad, when a dump is empty or when the two have no case in common: nothing
 * was compared then, and the sink's end is not called. */
int diff_dumps(struct dump_file *a, const char *backend_a, struct dump_file *b, const char *backend_b, const char *const *globs,
               const struct diff_policy *policy, const struct diff_sink *sink, struct diff_summary *out, struct fp4_error *err);

#endif

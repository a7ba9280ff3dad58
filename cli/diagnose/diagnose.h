/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.h: the cause of differences. What a side of a comparison made of its cases is held against what each deviation of
 * deviations.c would have made of them.
 *
 *   struct diagnoser *g = diagnoser_new();
 *   diagnoser_add(g, 'b', recorded_case, result, true)    each case that differs, and cases that do not as counter-evidence
 *   diagnoser_conclude(g, &diagnosis)                      runs the replays
 *   diagnoser_free(g)
 *
 * Evidence is the output tensors: their bytes, or, where a dump holds digests only, the digests of their blocks of 4 KiB. A side is
 * held against the reference, whichever the other side was: one that agrees with the reference has no finding.
 *
 * A cause is a stack of up to three deviations, found greedily: the one that explains most and breaks least, then, with that one
 * replayed, the next, as long as the rest shrinks; where no single one explains half, pairs are tried. Cases that a cause does not explain
 * are searched again on their own, so that different faults in different kernels are different findings. A cause is named only when it
 * explains at least half of the differing bytes of its cases, less those equal ones that it would break.
 */
#ifndef FP4_DIAGNOSE_H
#define FP4_DIAGNOSE_H

#include "dialect.h"
#include "dump.h"

#define DIAGNOSIS_STACK 3
#define DIAGNOSIS_SAME 12
#define DIAGNOSIS_PLACES 3
#define DIAGNOSIS_FINDINGS 12
#define DIAGNOSIS_ELEMENTS_MAX ((size_t)1 << 18) /* of a case: larger ones are not replayed */

struct diagnosis_place { /* a differing element that the cause explains */
    char name[CASE_NAME_MAX], tensor[TENSOR_NAME_MAX];
    size_t row, col; /* one dimension: row */
    enum fp4_dtype dtype;
    uint64_t reference, seen; /* raw bits */
};

struct diagnosis_finding {
    char side;                                      /* 'a' or 'b' */
    const struct deviation *stack[DIAGNOSIS_STACK]; /* in pipeline order */
    size_t depth;                                   /* 0: no known cause */
    size_t alone[DIAGNOSIS_STACK];                  /* differing units that each explains without the others */
    const struct deviation *same[DIAGNOSIS_SAME];   /* explain just as well; when depth is 0 the nearest one, if any */
    size_t same_count;
    char model[32];                      /* the rs-model that the cause amounts to, "" when it is none or not one */
    bool by_digest;                      /* units are blocks of 4 KiB, not bytes */
    size_t cases, whole;                 /* differing cases looked at; explained to the last unit */
    size_t differing, explained, broken; /* units */
    size_t others, others_broken;        /* equal cases of the same ops that were tried; that would change */
    uint32_t ops;
    struct diagnosis_place places[DIAGNOSIS_PLACES];
    size_t place_count;
};

struct diagnosis {
    struct diagnosis_finding findings[DIAGNOSIS_FINDINGS];
    size_t count;
    size_t differing;  /* results of differing cases that were handed in: both sides of each */
    size_t considered; /* of these, those that differ from the reference and were replayed */
    size_t left_out;   /* of these, those that were not looked at: enough others, too large, or not to be made again here */
};

struct diagnoser;
struct diagnoser *diagnoser_new(void); /* NULL when out of memory */
void diagnoser_free(struct diagnoser *g);
/* Copies what it needs. recorded: the case with its inputs; r: what the side made of it. Cases that cannot be made again here (a user's
 * file that is not given, another version's inputs) and results without outputs are counted and left out. */
void diagnoser_add(struct diagnoser *g, char side, const struct dump_case *recorded, const struct dump_case_result *r,
                   bool differs);
int diagnoser_conclude(struct diagnoser *g, struct diagnosis *out, struct fp4_error *err);

#endif

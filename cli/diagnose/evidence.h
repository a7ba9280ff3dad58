/* SPDX-License-Identifier: Apache-2.0 */
/* evidence.h: one side's result of one case, its inputs made again, and scores of replays against it; private to diagnose*.c. */
#ifndef FP4_EVIDENCE_H
#define FP4_EVIDENCE_H

#include "diagnose.h"

#define EVIDENCE_OUTPUTS 8

struct seen { /* an output as recorded */
    char name[TENSOR_NAME_MAX];
    size_t bytes;
    uint8_t *data;    /* or NULL */
    uint64_t *blocks; /* digests of 4 KiB, or NULL */
    digest128 digest;
};

struct evidence {
    char side;
    bool differs;
    char name[CASE_NAME_MAX];
    struct fp4_case c;
    size_t elements;
    digest128 inputs; /* of the recorded inputs' digests, in order */
    size_t input_count;
    struct seen seen[EVIDENCE_OUTPUTS];
    size_t count;

    bool opened, usable;   /* inputs and reference are there; they are those that were recorded */
    struct case_tensors t; /* inputs, and outputs that a replay writes */
    uint8_t *reference[EVIDENCE_OUTPUTS];
    size_t differing; /* units */
    bool by_digest;
    bool settled; /* a finding explains it */
};

struct score {
    size_t explained, missed, broken; /* units */
};

bool evidence_copy(struct evidence *e, char side, const struct dump_case *recorded, const struct dump_case_result *r, bool differs);
/* Makes inputs and reference, counts what differs. False when the case cannot be made again as it was. */
bool evidence_open(struct evidence *e);
void evidence_close(struct evidence *e); /* what open has made */
void evidence_release(struct evidence *e);
/* Replays the case in that dialect and counts. */
struct score evidence_score(struct evidence *e, const struct dialect *d);
/* Whether the replay gives the reference's outputs. */
bool evidence_same_as_reference(struct evidence *e);
uint64_t evidence_hash(struct evidence *e); /* of the last replay's outputs */
/* Places that the last replay explains. */
size_t evidence_places(struct evidence *e, struct diagnosis_place *out, size_t capacity);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h: finds out what a backend does by what comes out of it. Inputs are made here (SR 2.7 and its own search), taken through the
 * backend like any case, and the outputs are compared with what each hypothesis would give. Nothing that the backend says of itself is
 * used, stages neither.
 *
 * A profile is a list of findings, each a group, a key and a value, in a fixed order: the same backend gives the same bytes. A group whose
 * op the backend lacks is one finding, "unsupported". docs/probe.md lists them.
 *
 * To add a finding: in the file of its group (probe_convert.c, probe_rs.c, probe_scale.c, probe_stream.c, probe_sum.c) a made input, and
 * profile_add.
 */
#ifndef FP4_PROBE_H
#define FP4_PROBE_H

#include "backend.h"
#include "term.h"

#define PROFILE_FINDINGS_MAX 64

struct profile_finding {
    char group[16], key[24];
    char value[160];
};

struct probe_rs {          /* what was measured of the stochastic conversion */
    bool measured;         /* an op with given random words is there */
    bool additive;         /* each bit has one weight in each lane, no two the same: a byte a lane */
    struct fp4_rs_map map; /* when additive */
    bool rule_found;
    enum fp4_rs_rule rule;
    int model;              /* value of KNOB_RS that explains everything; -1 */
    size_t checked, differ; /* conversions of random words, and how many the model does not explain */
};

struct profile {
    char backend[32];
    struct profile_finding findings[PROFILE_FINDINGS_MAX];
    size_t count;
    struct probe_rs rs;
};

/* Measures a backend that has passed its canary; cases name the rs-model `rs` (a value of KNOB_RS), which a backend in software obeys.
 * Fails when the backend fails on a case that it said it supports. */
int probe_backend(const struct backend_row *b, unsigned rs, struct profile *out, struct fp4_error *err);

void profile_print(const struct profile *p, FILE *out);
/* A JSON object without line breaks: for the dump, findings alone as "group.key": "value"; for a file, all. */
void profile_json_short(const struct profile *p, struct text *t);
void profile_json(const struct profile *p, struct text *t);

/* ---- for the files of cli/probe --------------------------------------------------------------------------------------------------------- */

struct probe {
    const struct backend_row *b;
    unsigned rs;
    struct profile *out;
};

struct probe_case {
    struct fp4_case c;
    struct case_tensors t;
};

void profile_add(struct probe *p, const char *group, const char *key, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* A case of made inputs, all zero; knobs may be changed between the two calls. */
void probe_case_make(struct probe_case *pc, enum fp4_op op, enum case_recipe recipe, enum fp4_dtype dtype, size_t rows, size_t cols,
                     bool given_amax);
int probe_case_inputs(struct probe_case *pc, struct fp4_error *err);
/* 1: not supported; 0: done; -1: failed. */
int probe_case_run(const struct probe *p, struct probe_case *pc, struct fp4_error *err);
/* The reference on the same inputs under other knobs: outputs in *t, which shares the inputs of pc. -1 when it cannot. */
int probe_reference(struct probe_case *pc, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
void probe_reference_release(struct case_tensors *t);
void probe_case_release(struct probe_case *pc);
void probe_put_f32(struct probe_case *pc, const char *tensor, size_t i, uint32_t bits);
uint8_t *probe_data(struct probe_case *pc, const char *tensor);
unsigned probe_code(struct probe_case *pc, const char *tensor, size_t i);
uint32_t probe_random(uint64_t *state); /* 32 bits of a counter: the same everywhere */
bool probe_same(struct case_tensors *a, struct case_tensors *b, const char *tensor);

int probe_nearest(struct probe *p, struct fp4_error *err);
int probe_stochastic(struct probe *p, struct fp4_error *err);
int probe_scale(struct probe *p, struct fp4_error *err);
int probe_philox(struct probe *p, struct fp4_error *err);
int probe_streams(struct probe *p, struct fp4_error *err);
int probe_model_by_codes(struct probe *p, struct fp4_error *err); /* for a backend that takes no random words */
int probe_sums(struct probe *p, struct fp4_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutants.h: the self-test. Every deviation is run as a backend that is wrong in that way, over cases of the default suite; a
 * comparison with the reference must notice it, and its diagnosis, which sees outputs alone, must name it.
 *
 * To add a mutant: a row in deviations.c. To add a case: a line in probes of mutants.c; it must be in the default suite.
 */
#ifndef FP4_MUTANTS_H
#define FP4_MUTANTS_H

#include "backend.h"
#include "diff.h"

#define MUTANT_PROBES_MAX 128
#define MUTANT_STACK 2

struct mutant_set; /* the cases, with inputs and what the reference makes of them */
struct mutant_set *mutant_set_open(struct fp4_error *err);
void mutant_set_close(struct mutant_set *s);
size_t mutant_set_count(const struct mutant_set *s);
const char *mutant_set_case(const struct mutant_set *s, size_t i);

/* Whether the row is a fault of its own in the cases above: not an rs-model, nor what those cases do anyway. */
bool mutant_is_one(const struct deviation *row);

extern const char *const mutant_pairs[][MUTANT_STACK]; /* names; ended by NULL */
extern const size_t mutant_pair_count;

enum mutant_probe { PROBE_NONE = ' ', PROBE_EQUAL = '.', PROBE_DIFFERS = '#', PROBE_ERROR = '!' };

struct mutant_result {
    const struct deviation *rows[MUTANT_STACK]; /* in pipeline order */
    size_t depth;
    char probes[MUTANT_PROBES_MAX + 1]; /* one enum mutant_probe a case */
    size_t applied, killed;             /* cases */
    char error[160];                    /* of the first case that ended in one: found by the run itself */
    struct diagnosis diagnosis;
    bool right; /* the first finding is these rows, or rows that the table calls the same */
    bool joint; /* not right, but they are among those that would explain just as much */
};

/* Thread-safe. rows: depth of them. */
int mutant_run(struct mutant_set *s, const struct deviation *const *rows, size_t depth, struct mutant_result *out,
               struct fp4_error *err);
/* A backend that is wrong in these ways in the thread that calls this; until the next call. */
const struct backend_row *mutant_backend(const struct deviation *const *rows, size_t depth);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* run_diagnosis.h: what `run` says when its own backends disagree: how many cases of each differ from ref, and why. */
#ifndef FP4_RUN_DIAGNOSIS_H
#define FP4_RUN_DIAGNOSIS_H

#include "diagnose.h"

#include <stdio.h>

struct run_diagnosis { /* zero-initialised */
    struct {
        char backend[32];
        size_t compared, differing;
        struct diagnoser *diagnoser;
    } sides[DUMP_RESULTS_MAX];
    size_t count;
};

/* The results of one case by all backends, ref among them (else nothing is compared). One thread at a time. */
void run_diagnosis_case(struct run_diagnosis *d, const char *name, const struct dump_result *results, size_t count);
/* Prints a paragraph for each backend that differed. */
int run_diagnosis_print(const struct run_diagnosis *d, FILE *out, struct fp4_error *err);
void run_diagnosis_release(struct run_diagnosis *d);

#endif

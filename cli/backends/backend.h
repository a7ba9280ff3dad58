/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backend.h: something that computes a case. One file and one line in registry.c each.
 *
 * To add a backend: write a struct backend_row in a file of its own, name it in registry.c, and let supports() say in one sentence
 * what it cannot do. tests/cli checks `list --backends`; the canary below is run before the first case.
 */
#ifndef FP4_BACKEND_H
#define FP4_BACKEND_H

#include "matrix.h"

struct backend_row {
    const char *name; /* "ref", "soft", ... */
    const char *help; /* one line */
    /* 0 when it can run on this machine; else -1 and the reason. */
    int (*available)(struct fp4_error *err);
    /* 0 when it can run the case; else -1 and the reason. */
    int (*supports)(const struct fp4_case *c, struct fp4_error *err);
    /* Computes all outputs, and the stages whose data is not NULL, from the inputs; sets written. Thread-safe when threads is true. */
    int (*run)(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
    /* Compiler, flags, device, driver: one line for provenance. */
    void (*describe)(char *text, size_t size);
    bool threads;
    bool isolated; /* run belongs in a worker process (worker.h), which poisons, guards and checks */
};

extern const struct backend_row *const fp4_backends[];
extern const size_t fp4_backend_count;
const struct backend_row *backend_find(const char *name);
/* Converts a known block and checks the bytes: an architecture that compiles but writes zeros is found here. */
int backend_canary(const struct backend_row *b, struct fp4_error *err);
/* Inputs generated, outputs poisoned and guarded, run, guards and poison checked. t is released by the caller. */
int backend_run_case(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
/* The same from inputs that t already holds (outputs not yet allocated). */
int backend_run_prepared(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);

#endif

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

/* Behind every output and stage lie as many bytes of poison, for what is written beyond the end. */
#define BACKEND_GUARD_BYTES 4096

struct backend_row {
    const char *name; /* "ref", "soft", ... */
    const char *help; /* one line */
    /* 0 when it can run on this machine; else -1 and the reason, with the code FP4_ESUPPORT when it is simply not for this machine. */
    int (*available)(struct fp4_error *err);
    /* 0 when it can run the case; else -1 and the reason. Asked in the program itself, of isolated backends too. */
    int (*supports)(const struct fp4_case *c, struct fp4_error *err);
    /* Computes all outputs, and the stages whose data is not NULL, from the inputs; sets written. Outputs and stages come filled with a
     * poison byte, BACKEND_GUARD_BYTES behind their end included: a backend that computes elsewhere takes them there and brings them
     * back with their guards. Thread-safe when threads is true. */
    int (*run)(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
    /* Compiler, flags, device, driver: one line for provenance. */
    void (*describe)(char *text, size_t size);
    /* The kernel that computes the case, of several that a library chooses from, by name; for the dump. NULL: nothing to name. */
    const char *(*path)(const struct fp4_case *c);
    /* Full name of the canary's case on this device, made of data `identity`, of 1x32; NULL, or a NULL name: the usual one. */
    const char *(*canary)(void);
    bool threads;
    bool
        isolated; /* not trusted: available, run and describe are called in a worker process for each device (worker.h), a result may
                      depend on nothing but the inputs (run_checks.h), and a crash costs the case */
};

extern const struct backend_row *const fp4_backends[];
extern const size_t fp4_backend_count;
const struct backend_row *backend_find(const char *name);

/* As the functions of the row, of isolated backends by way of their workers, which have passed the canary then. */
int backend_available(const struct backend_row *b, struct fp4_error *err);
void backend_describe(const struct backend_row *b, char *text, size_t size);
/* Converts a known block and checks the bytes: an architecture that compiles but writes zeros is found here. */
int backend_canary(const struct backend_row *b, struct fp4_error *err);
/* Inputs generated, outputs poisoned and guarded, run, guards and poison checked. t is released by the caller. */
int backend_run_case(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
/* The same from inputs that t already holds (outputs not yet allocated). Isolated backends take as many cases at a time as there are
 * devices, and further callers wait. */
int backend_run_prepared(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
/* The byte that fills this output or stage until the backend writes it, and BACKEND_GUARD_BYTES behind it and behind every input of an
 * isolated backend: for backends with memory of their own. */
uint8_t backend_poison_of(const struct tensor *t);

#endif

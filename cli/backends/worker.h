/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h: backends that must not take the program down with them run in a process of their own: `fp4check worker NAME`, the same
 * program, over two pipes. A crash, a hang or a sticky device error costs one case; the next one gets a fresh process. The parent never
 * touches the device.
 */
#ifndef FP4_WORKER_H
#define FP4_WORKER_H

#include "backend.h"

/* Command-line words that every worker gets behind its name (--input FILE, --device N); the strings must stay. */
int worker_argument(const char *word);
/* Seconds that a case may take before its worker is killed (default 120). */
void worker_set_timeout(unsigned seconds);

/* Asks a worker whether the backend can run here; describe receives its one line. */
int worker_available(const struct backend_row *b, char *describe, size_t size, struct fp4_error *err);
/* Runs the case in the backend's worker; outputs and stages of t are allocated and filled. Not thread-safe. */
int worker_run(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
/* Ends all workers. */
void worker_stop_all(void);

/* The other side: serves requests on descriptors 3 (in) and 4 (out) until the parent closes them; returns an exit status. */
int worker_serve(const struct backend_row *b);
extern bool worker_is_child;

#endif

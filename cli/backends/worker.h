/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h: backends that must not take the program down with them run in processes of their own: `fp4check worker NAME`, the same
 * program, at the other end of a socket; one process for each backend and device. A crash, a hang or a sticky device error costs one
 * case; the next one gets a fresh process. The parent never touches a device.
 *
 * A worker is started when it is first needed, or when its predecessor has died or failed a case, and says first whether the backend
 * can run on its device and passes the canary. It has its own process group, so that Ctrl-C at the terminal reaches the parent alone; it
 * ends when the parent is gone, whatever it is doing. Its standard output is the parent's standard error, its standard input is empty.
 */
#ifndef FP4_WORKER_H
#define FP4_WORKER_H

#include "backend.h"

#define WORKER_DEVICES_MAX 16
#define WORKER_TIMEOUT_DEFAULT 120

/* ---- settings, before the first use ---------------------------------------------------------------------------------------------- */

/* Command-line words that every worker gets behind its name (--input FILE); the strings must stay. */
int worker_argument(const char *word);
/* Devices that share the cases, as the CUDA runtime counts them; without a call it is device 0. */
void worker_set_devices(const unsigned *devices, size_t count);
size_t worker_device_count(void);
void worker_devices_text(char *text, size_t size); /* "device 0", "devices 0,1" */
/* Seconds that a case may take before its worker is killed. */
void worker_set_timeout(unsigned seconds);

/* ---- use: thread-safe ---------------------------------------------------------------------------------------------------------------- */

/* Asks a worker on each device whether the backend can run there and passes its canary. Devices of different kinds are an error
 * (FP4_EUSAGE), as the cases are dealt to whichever is free. */
int worker_available(const struct backend_row *b, struct fp4_error *err);
/* What the workers said of themselves when they were available: the kind of device, not which, as the bytes do not depend on that. */
void worker_describe(const struct backend_row *b, char *text, size_t size);
/* Runs the case in a free worker of the backend, and waits for one when all are busy; outputs and stages of t are allocated and filled.
 * A device on which no worker can be started any more is left out; the others go on. The code FP4_ESUPPORT: supports(), asked on the
 * device, has refused the case. */
int worker_run(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
/* Ends all workers, once no thread uses them. */
void worker_stop_all(void);

/* ---- the other side ------------------------------------------------------------------------------------------------------------------ */

extern bool worker_is_child;
extern unsigned worker_device; /* of this worker */
/* Serves requests until the parent has no more; returns an exit status. */
int worker_serve(const struct backend_row *b);
/* Answers the present request with this error and ends the process; for signal handlers. */
_Noreturn void worker_last_words(const char *text);

#endif

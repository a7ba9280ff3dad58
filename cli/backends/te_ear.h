/* SPDX-License-Identifier: Apache-2.0 */
/*
 * te_ear.h: what the library says. It reports errors by C++ exceptions, which end a C program, and its kernels report by printing; both
 * arrive on the standard descriptors. In a worker process these lead to a file in memory from te_ear_open on.
 */
#ifndef FP4_TE_EAR_H
#define FP4_TE_EAR_H

#include "fp4ref.h"

int te_ear_open(struct fp4_error *err);
/* From now to te_ear_end an exception, or anything else that aborts, answers the present request with its text and ends the process. */
void te_ear_begin(void);
/* What was printed since: an error of a kernel makes an error here, anything else goes on to the standard error of the program. */
int te_ear_end(struct fp4_error *err);

#endif

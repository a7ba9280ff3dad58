/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_checks.h: what an isolated backend has to stand besides being compared: its result may depend on nothing but the inputs of the case.
 * Private to backends/.
 *
 *   twice         over different poison, the second time without stages: bytes never written, results that are not deterministic
 *   surroundings  the second time other bytes lie behind every input, and in the padding of swizzled scales: reads past the end,
 *                 padding that leaks in (field reports 5, 7, 9, 10)
 *   call order    between the two, a call of another shape with another amax: an amax that arrives late, a stride or an extent kept
 *                 from the call before (field reports 5, 71; SR 5.4 A21). Large cases are spared this
 *
 * Where the two runs differ, more runs tell which it was.
 */
#ifndef FP4_RUN_CHECKS_H
#define FP4_RUN_CHECKS_H

#include "backend.h"

#define POISON 0xCA /* neither zero nor a likely code, scale or number; large as a float, where the other one is small */
#define POISON_AGAIN 0x35
#define CALL_ORDER_ELEMENTS ((size_t)1 << 17)

/* run_case.c: one run over poison, guards checked. Outputs, and stages if asked for, are allocated. */
int run_over(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, uint8_t poison, bool stages,
             struct fp4_error *err);
/* The run whose result is kept, and the checks of it. */
int run_checked(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* ref_ops.h: what the files of backend "ref" share; private to them. */
#ifndef FP4_REF_OPS_H
#define FP4_REF_OPS_H

#include "backend_rows.h"

/* The data of tensor name + suffix; NULL when the case has none, or none was allocated. Tensors come from malloc, so casting them back to
 * what they hold is sound. */
void *ref_named(struct case_tensors *t, const char *name, const char *suffix);
/* The same as a tensor_place; t: a struct case_tensors. */
void *ref_place(void *t, const char *name, const char *suffix);
/* The tensors of one direction ("" rowwise, ".t" transposed) of a quantizer. */
struct fp4_quantized ref_direction_of(struct case_tensors *t, const char *suffix);

int ref_run_four(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err); /* ref_four.c */
int ref_run_gemm(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err); /* ref_gemm.c */

#endif

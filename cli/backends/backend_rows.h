/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FP4_BACKEND_ROWS_H
#define FP4_BACKEND_ROWS_H

#include "backend.h"

extern const struct backend_row backend_ref;                                /* ref_backend.c */
extern const struct backend_row backend_soft, backend_sm120, backend_sm100; /* cuda_backend.c */
extern const struct backend_row backend_te;                                 /* te_backend.c */

/* A case's knobs as parameters of the reference and of the kernels; seed, offset and rcp_table are left zero. */
void quantize_params_of(const struct fp4_case *c, struct fp4_quantize_params *p);
void rht_params_of(const struct fp4_case *c, struct fp4_rht_params *p);
void dequantize_params_of(const struct fp4_case *c, struct fp4_dequantize_params *p);
/* The two numbers of the input "rng-state"; zeros when the case has none. */
void rng_state_of(struct case_tensors *t, uint64_t *seed, uint64_t *offset);
/* Where the tensor name + suffix lies: in the host's memory or a device's. NULL for one that the case does not have. */
typedef void *tensor_place(void *from, const char *name, const char *suffix);
/* The tensors of one direction (suffix "" or ".t"), wherever they lie; of four-over-six its stages; of gemm an operand ("a", "b") and
 * those of a layer. */
struct fp4_quantized quantized_of(tensor_place *buffer, void *from, const char *suffix);
struct fp4_four_stages four_stages_of(tensor_place *buffer, void *from, const char *suffix);
void operand_of(tensor_place *buffer, void *from, const char *name, struct fp4_operand *o);
struct fp4_linear_tensors linear_tensors_of(tensor_place *buffer, void *from);

/* The approximate-reciprocal table measured on an H200: 2^23 signed bytes, unpacked at first use; NULL and a message when it cannot be.
 * Origin: rcp.approx.ftz.f32 minus the IEEE reciprocal, in ulps, for each significand; docs/numerics.md 7. */
const int8_t *rcp_table_h200(struct fp4_error *err);

#endif

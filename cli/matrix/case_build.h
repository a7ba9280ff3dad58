/* SPDX-License-Identifier: Apache-2.0 */
/* case_build.h: setting one segment of a case at a time; for case_name.c and the suites. Errors say what would be right. */
#ifndef FP4_CASE_BUILD_H
#define FP4_CASE_BUILD_H

#include "matrix.h"

int case_op_from_text(const char *text, enum fp4_op *op, struct fp4_error *err);
/* These need c->op. */
int case_set_recipe(struct fp4_case *c, const char *text, struct fp4_error *err);
int case_set_dtype(struct fp4_case *c, const char *text, struct fp4_error *err);
int case_set_data(struct fp4_case *c, const char *text, struct fp4_error *err);
/* The knob that has the token; NULL and a message when the op has none. */
const struct knob_row *case_set_knob(struct fp4_case *c, const char *token, struct fp4_error *err);
int case_set_shape(struct fp4_case *c, const char *text, struct fp4_error *err);
int case_seed_from_text(const char *text, uint64_t *seed, struct fp4_error *err); /* decimal, without the leading s */

/* Whether the rounding is stochastic: decides which knobs, inputs and stages there are. */
bool case_is_stochastic(const struct fp4_case *c);
/* Whether the codes depend on random bits: stochastic quantizers and the conversions that are given them. */
bool case_uses_rs_model(const struct fp4_case *c);
/* quantize and rht-quantize: which directions are made. */
bool case_has_row(const struct fp4_case *c);
bool case_has_col(const struct fp4_case *c);
bool case_gives_amax(const struct fp4_case *c);
/* case_four.c, case_gemm.c: whether a case is defined. */
int case_check_four(const struct fp4_case *c, struct fp4_error *err);
int case_check_gemm(const struct fp4_case *c, struct fp4_error *err);
bool case_is_file_name(const char *text); /* file- and 16 lower-case hex digits */

/* rs_models.c: the tokens of KNOB_RS, NULL-ended. */
extern const char *rs_model_tokens[];

/* input_tensor.c: index of a registered tensor by its data name, or -1; fills x from it. */
int input_find(const char *data_name);
int input_fill(const struct fp4_case *c, struct tensor *x, struct fp4_error *err);

/* data_make.c: the inputs of a quantizer besides x, and x from a user's tensor. */
int generate_file(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);

#endif

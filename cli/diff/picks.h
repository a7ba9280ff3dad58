/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picks.h: four-over-six in a diff; private to the diff engine. A block that took the other candidate differs in its scale and in up to
 * 16 codes, and one that a NaN policy decides does too: both are taken out of the tensors' counts and places and told as one finding.
 */
#ifndef FP4_PICKS_H
#define FP4_PICKS_H

#include "diff.h"

/* Whether a case of that name is one of four-over-six. */
bool picks_apply(const char *name);
/* After the tensors were compared. ctx NULL: nothing is found, as the candidates come from the reference. Fails for want of memory. */
int picks_find(const struct diff_side *a, const struct diff_side *b, const struct diff_policy *policy, struct case_context *ctx,
               struct case_diff *d, struct fp4_error *err);
/* Verdict and reason, when selection flips and NaN policy explain all that differs; else false. */
bool picks_settle(struct case_diff *d);
/* "codes: 16 elements in blocks with another candidate", for a tensor that differs in nothing else. */
void picks_clause(const struct tensor_diff *t, char *text, size_t size);

/* nan_policy.c: the reference's runs of the case under both NaN policies, where the recipe has both. */
struct nan_policies {
    bool ok; /* false where there is nothing to tell apart: another op or recipe, no NaN, a run that fails */
    struct case_rerun *propagate, *drop;
};
/* ctx: the reference has been run. The runs belong to it. */
void nan_policies_run(struct case_context *ctx, struct nan_policies *n);
/* Whether the scale is NaN, here and where NaN is propagated. */
bool nan_policy_scale_is_nan(struct nan_policies *n, const char *name, size_t i, uint8_t scale);
/* Whether one side's element is that of NaN propagated and the other's that of NaN dropped; `propagates` is the side of the former.
 * Inside a block whose scale is NaN the propagating side's bits are free. */
bool nan_policy_explains(struct nan_policies *n, const char *name, size_t i, uint64_t propagates, uint64_t drops);

/* compare.c */
const uint8_t *bytes_of(const struct dump_tensor *t, const struct diff_side *side, struct case_context *ctx);
const struct dump_tensor *find_tensor(const struct dump_tensor *t, size_t count, const char *name);

#endif

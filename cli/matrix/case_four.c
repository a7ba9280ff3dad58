/* SPDX-License-Identifier: Apache-2.0 */
/* What the knobs of four-over-six mean, and which of its combinations are defined: the reference says, but for names. */
#include "case_build.h"

bool case_four_keeps_nan(const struct fp4_case *c)
{
    if (c->knob[KNOB_NAN])
        return c->knob[KNOB_NAN] == 2;
    return c->recipe == CR_TE_REF;
}

void case_four_params(const struct fp4_case *c, struct fp4_four_params *p)
{
    *p = (struct fp4_four_params){
        .recipe = case_recipe_ref(c->recipe),
        .input = c->dtype,
        .rows = c->rows,
        .cols = c->cols,
        .block_16x16 = c->knob[KNOB_BLOCK] == 1,
        .row_scaled = c->knob[KNOB_AMAX] == 1,
        .bound = knob_bound(c->knob[KNOB_BOUND]),
        .error = c->knob[KNOB_ERROR] ? FP4_FOUR_MSE : FP4_FOUR_MAE,
        .fast_error = c->knob[KNOB_FAST] == 1 || c->recipe == CR_TE_FAST,
        .nan = case_four_keeps_nan(c) ? FP4_FOUR_NAN_PROPAGATE : FP4_FOUR_NAN_DROP,
    };
}

int case_check_four(const struct fp4_case *c, struct fp4_error *err)
{
    struct fp4_four_params p;

    if (c->knob[KNOB_FAST] && (c->recipe == CR_TE || c->recipe == CR_TE_FAST)) /* one case, one name */
        return fp4_fail(err, FP4_ESUPPORT, "error-fast is recipe te-fast");
    case_four_params(c, &p);
    return fp4_four_check(&p, case_has_row(c), case_has_col(c), err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Backend "ref": four-over-six. */
#include "ref_ops.h"

int ref_run_four(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct fp4_quantized row = ref_direction_of(t, ""), col = ref_direction_of(t, ".t");
    struct fp4_four_stages row_stages = four_stages_of(ref_place, t, ""), col_stages = four_stages_of(ref_place, t, ".t");
    struct fp4_four_params p;

    case_four_params(c, &p);
    return fp4_four_over_six(&p, ref_named(t, "x", ""), row.codes ? &row : NULL, col.codes ? &col : NULL, &row_stages, &col_stages,
                             err);
}

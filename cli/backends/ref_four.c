/* SPDX-License-Identifier: Apache-2.0 */
/* Backend "ref": four-over-six. */
#include "ref_ops.h"

static struct fp4_four_stages stages_of(struct case_tensors *t, const char *suffix)
{
    struct fp4_four_stages s = {
        { ref_named(t, "scale-6", suffix), ref_named(t, "scale-4", suffix) },
        { ref_named(t, "codes-6", suffix), ref_named(t, "codes-4", suffix) },
        { ref_named(t, "error-6", suffix), ref_named(t, "error-4", suffix) },
        ref_named(t, "pick", suffix),
    };

    return s;
}

int ref_run_four(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct fp4_quantized row = ref_direction_of(t, ""), col = ref_direction_of(t, ".t");
    struct fp4_four_stages row_stages = stages_of(t, ""), col_stages = stages_of(t, ".t");
    struct fp4_four_params p;

    case_four_params(c, &p);
    return fp4_four_over_six(&p, ref_named(t, "x", ""), row.codes ? &row : NULL, col.codes ? &col : NULL, &row_stages, &col_stages,
                             err);
}

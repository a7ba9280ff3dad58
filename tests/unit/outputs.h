/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the outputs and stages of a case, for tests that call the reference themselves. case_release gives it back. */
#ifndef FP4_TEST_OUTPUTS_H
#define FP4_TEST_OUTPUTS_H

#include "matrix.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static inline void allocate_outputs(struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (!t->t[i].data)
            cr_assert_not_null(t->t[i].data = malloc(t->t[i].bytes));
}

#endif

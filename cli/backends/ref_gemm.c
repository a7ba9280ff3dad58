/* SPDX-License-Identifier: Apache-2.0 */
/* Backend "ref": gemm. A layer's stages that nobody asked for get memory of their own: the computation passes through them. */
#include "ref_ops.h"

#include <stdlib.h>

static int run_product(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct fp4_gemm_params p;
    struct fp4_operand a, b;

    case_gemm_params(c, &p, &a, &b);
    operand_of(ref_place, t, "a", &a);
    operand_of(ref_place, t, "b", &b);
    return fp4_gemm(&p, &a, &b, ref_named(t, "bias", ""), ref_named(t, "y", ""), ref_named(t, "acc", ""), err);
}

/* The same tensors with memory for every stage; the inputs and outputs are shared. */
static int with_stages(const struct case_tensors *t, struct case_tensors *all, struct fp4_error *err)
{
    size_t i;

    *all = *t;
    for (i = 0; i < all->count; i++)
        if (!all->t[i].data && !(all->t[i].data = malloc(all->t[i].bytes + 1)))
            return fp4_fail(err, FP4_EIO, "out of memory for '%s'", all->t[i].name);
    return 0;
}

static void release_added(const struct case_tensors *t, struct case_tensors *all)
{
    size_t i;

    for (i = 0; i < all->count; i++)
        if (!t->t[i].data)
            free(all->t[i].data);
}

static int run_layer(const struct fp4_case *c, struct case_tensors *given, struct fp4_error *err)
{
    struct fp4_linear_tensors l;
    struct fp4_linear_params p;
    struct case_tensors all, *t = &all;
    const uint16_t *x, *w, *dy;
    int status = -1;

    case_linear_params(c, &p);
    if (with_stages(given, &all, err))
        goto cleanup;
    x = ref_named(t, "x", "");
    w = ref_named(t, "w", "");
    dy = ref_named(t, "dy", "");
    l = linear_tensors_of(ref_place, t);
    status = fp4_linear_forward(&p, x, w, ref_named(t, "bias", ""), &l, ref_named(t, "y", ""), err);
    if (status == 0)
        status = fp4_linear_backward(&p, x, w, dy, &l, ref_named(t, "grad-input", ""), ref_named(t, "grad-weight", ""),
                                     ref_named(t, "grad-bias", ""), err);
cleanup:
    release_added(given, &all);
    return status;
}

int ref_run_gemm(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return case_is_layer(c) ? run_layer(c, t, err) : run_product(c, t, err);
}

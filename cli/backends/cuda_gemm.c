/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backends' gemm: products and layers. */
#include "backend_rows.h"
#include "cuda_ops.h"

#ifdef FP4_HAVE_CUDA
static int launch_product(const struct fp4_case *c, const struct cuda_case *b)
{
    struct fp4_gemm_params p;
    struct fp4_operand a, o;

    case_gemm_params(c, &p, &a, &o);
    operand_of(cuda_place, &b, "a", &a);
    operand_of(cuda_place, &b, "b", &o);
    return fp4k_gemm(&p, &a, &o, cuda_buffer(b, "bias", ""), cuda_buffer(b, "y", ""), cuda_buffer(b, "acc", ""), NULL);
}

static int run_layer(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    const uint16_t *x = cuda_buffer(b, "x", ""), *w = cuda_buffer(b, "w", ""), *dy = cuda_buffer(b, "dy", "");
    struct fp4_linear_tensors l;
    struct fp4_linear_params p;
    int error;

    case_linear_params(c, &p);
    l = linear_tensors_of(cuda_place, &b);
    error = fp4k_linear_forward(isa, &p, x, w, cuda_buffer(b, "bias", ""), &l, cuda_buffer(b, "y", ""), NULL);
    if (error == 0)
        error = fp4k_linear_backward(isa, &p, x, w, dy, &l, cuda_buffer(b, "grad-input", ""), cuda_buffer(b, "grad-weight", ""),
                                     cuda_buffer(b, "grad-bias", ""), NULL);
    return error;
}

/* A layer passes through all its stages: those that nobody asked for get device memory for the time of the call. */
static int launch_layer(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    struct cuda_case all = *b;
    size_t i;
    int error = 0, waited;

    for (i = 0; i < b->t->count && error == 0; i++)
        if (!b->d[i])
            error = fp4k_malloc((void **)&all.d[i], b->t->t[i].bytes);
    if (error == 0)
        error = run_layer(isa, c, &all);
    waited = fp4k_synchronize();
    for (i = 0; i < b->t->count; i++)
        if (all.d[i] && !b->d[i])
            fp4k_free(all.d[i]);
    return error ? error : waited;
}

int cuda_launch_gemm(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    return case_is_layer(c) ? launch_layer(isa, c, b) : launch_product(c, b);
}
#endif

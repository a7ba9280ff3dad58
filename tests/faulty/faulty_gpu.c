/* SPDX-License-Identifier: Apache-2.0 */
/* Faulty backends on a GPU: soft, and a kernel that does harm. */
#include "faulty.h"

#ifdef FP4_HAVE_CUDA
#include "cuda_backend.h"
#include "faulty_cuda.h"

#include <string.h>

static const struct tensor *tensor_of(const struct cuda_case *b, const char *name)
{
    return tensor_find(b->t, name);
}

static int soft(const struct fp4_case *c, const struct cuda_case *b)
{
    return cuda_launch(FP4K_SOFT, c, b);
}

/* ---- faults ------------------------------------------------------------------------------------------------------------------------------ */

static int fault_gpu_far(const struct fp4_case *c, const struct cuda_case *b)
{
    int error = soft(c, b);

    return error ? error : faulty_cuda_write((uint8_t *)cuda_buffer(b, "codes", "") + ((size_t)1 << 42), 0, 1);
}

static int fault_gpu_near(const struct fp4_case *c, const struct cuda_case *b)
{
    int error = soft(c, b);

    return error ? error : faulty_cuda_write((uint8_t *)cuda_buffer(b, "codes", "") + tensor_of(b, "codes")->bytes + 100, 0, 200);
}

static int fault_gpu_onebyte(const struct fp4_case *c, const struct cuda_case *b)
{
    int error = soft(c, b);

    return error ? error : faulty_cuda_write((uint8_t *)cuda_buffer(b, "codes", "") + tensor_of(b, "codes")->bytes, 0, 1);
}

static int fault_gpu_input(const struct fp4_case *c, const struct cuda_case *b)
{
    int error = soft(c, b);

    return error ? error : faulty_cuda_write((uint8_t *)cuda_buffer(b, "x", "") + tensor_of(b, "x")->bytes, 0, 4);
}

static int fault_gpu_partial(const struct fp4_case *c, const struct cuda_case *b)
{
    const struct tensor *codes = tensor_of(b, "codes");
    int error = soft(c, b);

    return error ? error
                 : faulty_cuda_write((uint8_t *)cuda_buffer(b, "codes", "") + codes->bytes - 1, backend_poison_of(codes), 1);
}

static int fault_gpu_silent(const struct fp4_case *c, const struct cuda_case *b)
{
    (void)c;
    (void)b;
    return 0;
}

static int fault_gpu_random(const struct fp4_case *c, const struct cuda_case *b)
{
    static uint8_t times;
    int error = soft(c, b);

    return error ? error : faulty_cuda_add((uint8_t *)cuda_buffer(b, "codes", "") + 5, ++times);
}

static int fault_gpu_hang(const struct fp4_case *c, const struct cuda_case *b)
{
    (void)c;
    (void)b;
    return faulty_cuda_hang();
}

static int fault_gpu_trap(const struct fp4_case *c, const struct cuda_case *b)
{
    (void)c;
    (void)b;
    return faulty_cuda_trap();
}

static int fault_gpu_launch(const struct fp4_case *c, const struct cuda_case *b)
{
    (void)c;
    (void)b;
    return faulty_cuda_launch();
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------------------------ */

static int available(struct fp4_error *err)
{
    return cuda_available(FP4K_SOFT, err);
}

#define ROW(id, name_text, help_text)                                                              \
    static int launch_##id(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b) \
    {                                                                                              \
        (void)isa;                                                                                 \
        return faulty_case(c) ? fault_##id(c, b) : soft(c, b);                                     \
    }                                                                                              \
    static int run_##id(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)   \
    {                                                                                              \
        faulty_log(c);                                                                             \
        return cuda_run(launch_##id, FP4K_SOFT, c, t, err);                                        \
    }                                                                                              \
    const struct backend_row faulty_##id = {                                                       \
        .name = name_text,                                                                         \
        .help = help_text,                                                                         \
        .available = available,                                                                    \
        .supports = cuda_supports,                                                                 \
        .run = run_##id,                                                                           \
        .describe = cuda_describe,                                                                 \
        .isolated = true,                                                                          \
    };
FAULTY_GPU(ROW)
#else
typedef int not_empty; /* a file without a declaration is not C */
#endif

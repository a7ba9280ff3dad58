/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_backend.h: what backends share that launch kernels. All of it but cuda_supports is called in worker processes only. */
#ifndef FP4_CUDA_BACKEND_H
#define FP4_CUDA_BACKEND_H

#include "backend.h"

int cuda_supports(const struct fp4_case *c, struct fp4_error *err);

#ifdef FP4_HAVE_CUDA
#include "fp4kernels.h"

struct cuda_case { /* a case with its tensors on the device */
    struct case_tensors *t;
    uint8_t *d[CASE_TENSORS_MAX];
};
/* The device memory of tensor name + suffix; NULL when the case has none. */
void *cuda_buffer(const struct cuda_case *b, const char *name, const char *suffix);

/* Launches the kernels of a case; 0 or a cudaError_t. */
typedef int cuda_launcher(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b);
int cuda_launch(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b);

/* The three functions of a row: on device worker_device, with this launcher. */
int cuda_available(enum fp4k_isa isa, struct fp4_error *err);
int cuda_run(cuda_launcher *launcher, enum fp4k_isa isa, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);
void cuda_describe(char *text, size_t size);
#endif

#endif

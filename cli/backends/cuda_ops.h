/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_ops.h: launchers of single ops in files of their own; private to the CUDA backends. */
#ifndef FP4_CUDA_OPS_H
#define FP4_CUDA_OPS_H

#include "cuda_backend.h"

#ifdef FP4_HAVE_CUDA
/* cuda_buffer as a tensor_place; from: the address of a pointer to the struct cuda_case. */
void *cuda_place(void *from, const char *name, const char *suffix);
int cuda_launch_gemm(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b); /* cuda_gemm.c */
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* faulty_cuda.h: kernels that do one thing that a kernel must not do. Launchers as those of fp4kernels.h. */
#ifndef FP4_FAULTY_CUDA_H
#define FP4_FAULTY_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int faulty_cuda_write(uint8_t *d, uint8_t byte, size_t n); /* wherever d points */
int faulty_cuda_add(uint8_t *d, uint8_t what);             /* to one byte */
int faulty_cuda_hang(void);
int faulty_cuda_trap(void);
int faulty_cuda_launch(void); /* of a grid that cannot be */

#ifdef __cplusplus
}
#endif
#endif

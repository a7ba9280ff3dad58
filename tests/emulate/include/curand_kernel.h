/* SPDX-License-Identifier: Apache-2.0 */
/* The toolkit's generator is not emulated: tests/oracle compares with its own header. This is the library's Philox under its names. */
#ifndef FP4_EMULATE_CURAND_KERNEL_H
#define FP4_EMULATE_CURAND_KERNEL_H

#include "fp4ref.h"

struct curandStatePhilox4_32_10_t {
    struct fp4_philox p;
};
static inline void curand_init(uint64_t seed, uint64_t subsequence, uint64_t offset, curandStatePhilox4_32_10_t *s)
{
    fp4_philox_init_curand(&s->p, seed, subsequence, offset, 10);
}
static inline unsigned curand(curandStatePhilox4_32_10_t *s)
{
    return fp4_philox_next(&s->p);
}

#endif

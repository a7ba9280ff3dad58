/* SPDX-License-Identifier: Apache-2.0 */
/* grain.h: where a tensor's elements lie in terms of the matrix that is quantized; private to the diff engine. */
#ifndef FP4_GRAIN_H
#define FP4_GRAIN_H

#include <stddef.h>

struct grain {          /* one element stands for `columns` neighbours of a line */
    const char *suffix; /* ".t" or "" */
    size_t columns;     /* 0: one for the whole line or tensor, or unknown */
};
struct grain grain_of(const char *name);

#endif

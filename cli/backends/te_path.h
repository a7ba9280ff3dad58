/* SPDX-License-Identifier: Apache-2.0 */
/* te_path.h: which of Transformer Engine's kernels a case reaches, and where these run. Source: docs/numerics.md 14.1, 14.2 (TE 8). */
#ifndef FP4_TE_PATH_H
#define FP4_TE_PATH_H

#include "matrix.h"

enum te_path {
    TE_PATH_NONE, /* the library has nothing like it */
    TE_PATH_TUNED,
    TE_PATH_2D,
    TE_PATH_VECTOR,
    TE_PATH_GROUP,
    TE_PATH_FOUR,         /* four-over-six */
    TE_PATH_HADAMARD_COL, /* fused, columnwise only */
    TE_PATH_HADAMARD_ROWCOL,
    TE_PATH_HADAMARD_GROUP,
    TE_PATH_HADAMARD_TUNED, /* transform, then a quantizer */
    TE_PATH_HADAMARD_VECTOR,
    TE_PATH_DEQUANTIZE,
    TE_PATH_SWIZZLE,
    TE_PATH_UNSWIZZLE
};

/* The kernels of a case; TE_PATH_NONE and the reason when the library cannot be asked for it on any device. */
enum te_path te_path_of(const struct fp4_case *c, struct fp4_error *err);
const char *te_path_name(enum te_path path);

/* 0 when these kernels compute the case on a device of that compute capability, else -1 and the reason. */
int te_path_runs(const struct fp4_case *c, enum te_path path, int major, int minor, struct fp4_error *err);

#endif

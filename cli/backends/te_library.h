/* SPDX-License-Identifier: Apache-2.0 */
/* te_library.h: Transformer Engine's library in this process, checked, with its device. For worker processes: what is loaded stays. */
#ifndef FP4_TE_LIBRARY_H
#define FP4_TE_LIBRARY_H

#include "fp4ref.h"
#include "te_abi.h"

struct te_library {
    struct te_api api;
    struct te_cuda cuda;
    int major, minor; /* compute capability of the device */
    char device[64];
    char version[32]; /* of the wheel; "" when nothing says it */
    char build_id[48];
    char unresolved[160]; /* "" or the first symbol that the libraries below it do not have */
    int driver, runtime;  /* CUDA versions, 13000: 13.0 */
};

/* Finds, loads and checks the library, and takes device number `device`. Every message says what is missing, of which library. */
int te_library_open(struct te_library *l, unsigned device, struct fp4_error *err);

#endif

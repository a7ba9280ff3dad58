/* SPDX-License-Identifier: Apache-2.0 */
/*
 * te_abi.h: what backend `te` knows of libtransformer_engine.so, and of the CUDA runtime that this library is linked to: values, layouts
 * and prototypes of their C interfaces (LP64), as functions to be found at run time. Nothing here is linked.
 *
 * Source: docs/numerics.md 14.3, TE 9; the wheel transformer-engine-cu13 2.20.2 exports all of these symbols. The size of
 * te_basic_tensor is compared with what the library says of itself before anything else is called (te_library.c).
 */
#ifndef FP4_TE_ABI_H
#define FP4_TE_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *te_tensor; /* a handle: an index, not an address; 0 is none */
typedef void *te_config;
typedef void *te_stream; /* cudaStream_t; NULL: the default one */

enum te_dtype { TE_BYTE = 0, TE_INT64 = 3, TE_FLOAT32 = 4, TE_FLOAT16 = 5, TE_BFLOAT16 = 6, TE_FLOAT8E4M3 = 7, TE_FLOAT4E2M1 = 10 };
enum te_mode { TE_PLAIN = 0, TE_NVFP4 = 4 }; /* scaling mode: of ordinary tensors, and of NVFP4, 1x16 and 16x16 */
enum te_param {
    TE_ROW_DATA = 0,
    TE_COL_DATA = 1, /* transposed: [cols, rows] */
    TE_ROW_AMAX = 3,
    TE_ROW_SCALES = 4,
    TE_COL_SCALES = 5,
    TE_COL_AMAX = 6,
    TE_SWIZZLED = 7,   /* u8 */
    TE_ROW_SCALED = 8, /* u8 */
    TE_BOUND = 9       /* int: 448 or 256 */
};
enum te_attribute {                   /* u8, but for the first */
                    TE_RNG_STATE = 4, /* a te_tensor */
                    TE_TILES = 5,
                    TE_STOCHASTIC = 6,
                    TE_FAST_MATH = 7,
                    TE_FOUR_MODE = 8, /* four-over-six: 0 off, 1 mae, 2 mse */
                    TE_FOUR_FAST_ERROR = 9
};

struct te_shape {
    size_t dims[15];
    size_t ndim;
};
struct te_basic_tensor { /* data NULL only together with the shape {0}: the library takes anything else for memory */
    void *data;
    int dtype;
    struct te_shape shape; /* in elements */
};
_Static_assert(sizeof(struct te_basic_tensor) == 144, "as the library's");

struct te_api {
    te_tensor (*create_tensor)(int mode);
    void (*destroy_tensor)(te_tensor);
    void (*set_tensor_param)(te_tensor, int param, const void *value, size_t bytes);
    void (*get_tensor_param)(te_tensor, int param, void *value, size_t bytes, size_t *written);
    te_config (*create_config)(void);
    void (*set_config)(te_config, int attribute, const void *value, size_t bytes);
    void (*destroy_config)(te_config);
    void (*compute_amax)(te_tensor in, te_tensor out, te_stream);
    void (*quantize)(te_tensor in, te_tensor out, te_config, te_stream);
    void (*dequantize)(te_tensor in, te_tensor out, te_stream);
    /* Each of these may be missing from a library of another version: NULL. */
    void (*group_quantize)(te_tensor in, te_tensor *outs, const size_t *rows, size_t count, te_config, te_stream);
    void (*swizzle)(te_tensor in, te_tensor out, te_stream);
    void (*unswizzle)(te_tensor in, te_tensor out, te_stream);
    void (*hadamard)(te_tensor in, te_tensor out, int mask, int mask_transposed, te_stream);
    void (*hadamard_amax)(te_tensor in, te_tensor out, int mask, int mask_transposed, te_stream);
    void (*hadamard_rowcol)(te_tensor in, te_tensor out, te_tensor matrix, te_config, te_stream);
    void (*hadamard_col)(te_tensor in, te_tensor out, te_tensor matrix, te_config, te_stream);
    void (*hadamard_group)(te_tensor in, te_tensor *outs, te_tensor matrix, const size_t *rows, size_t count, te_config,
                           te_tensor workspace, te_stream);
};

/* The CUDA runtime; int: cudaError_t, 0 is success. */
enum te_copy { TE_TO_DEVICE = 1, TE_TO_HOST = 2, TE_ON_DEVICE = 3 };
enum te_device_attribute { TE_CC_MAJOR = 75, TE_CC_MINOR = 76 };

struct te_cuda {
    int (*device_count)(int *count);
    int (*set_device)(int device);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*driver_version)(int *version);
    int (*runtime_version)(int *version);
    int (*allocate)(void **memory, size_t bytes);
    int (*release)(void *memory);
    int (*fill)(void *memory, int byte, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes, int kind);
    int (*synchronize)(void);
    int (*last_error)(void);
    const char *(*error_text)(int error);
    int (*properties)(void *properties, int device); /* begins with the device's name: 256 bytes; may be missing */
};

#endif

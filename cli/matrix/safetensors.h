/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h: the header of a safetensors file, read strictly. Tensor bytes are left where they are. */
#ifndef FP4_SAFETENSORS_H
#define FP4_SAFETENSORS_H

#include "fp4ref.h"

#define SAFETENSORS_HEADER_MAX ((size_t)16 << 20)

struct st_tensor {
    char *name;
    const char *type;     /* as in the file: "F32", "BF16", ... */
    enum fp4_dtype dtype; /* when usable */
    const char *unusable; /* NULL, or why fp4check cannot take it as a matrix */
    size_t rows, cols;    /* leading dimensions flattened */
    uint64_t begin, end;  /* bytes after the header */
};

struct st_header {
    struct st_tensor *tensors; /* ordered by begin */
    size_t count;
};

/* text: the JSON of the header; data_bytes: how many bytes follow it. Every tensor is checked: keys, types, sizes, offsets; together
 * they cover the data without gap or overlap. */
int st_parse(const char *text, size_t size, uint64_t data_bytes, struct st_header *out, struct fp4_error *err);
const struct st_tensor *st_find(const struct st_header *h, const char *name);
void st_release(struct st_header *h);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Real weights: slices of a small language model that the program carries (cli/matrix/weights/README.md), tiled to the case's shape. */
#include "data_make.h"
#include "embed.h"
#include "safetensors.h"

#include <pthread.h>
#include <string.h>
#include <zstd.h>

#define RAW_MAX ((size_t)1 << 20)
#define SLICES 5

static const char *const slice_names[SLICES] = { "embed", "query", "ffn-in", "ffn-out", "norm" };

static struct {
    pthread_once_t once;
    uint8_t raw[RAW_MAX]; /* in the zero pages of the program until it is used */
    struct {
        size_t at, rows, cols;
    } slice[SLICES];
    struct fp4_error err;
    int status;
} weights = { .once = PTHREAD_ONCE_INIT };

static int find_slices(const struct st_header *h, size_t base)
{
    size_t i;

    for (i = 0; i < SLICES; i++) {
        const struct st_tensor *t = st_find(h, slice_names[i]);

        if (!t || t->unusable || t->dtype != FP4_F32)
            return fp4_fail(&weights.err, FP4_EFORMAT, "the embedded weights lack '%s'", slice_names[i]);
        weights.slice[i].at = base + (size_t)t->begin;
        weights.slice[i].rows = t->rows;
        weights.slice[i].cols = t->cols;
    }
    return 0;
}

static int unpack(void)
{
    size_t packed_bytes, raw_bytes;
    const uint8_t *packed = embedded_weights(&packed_bytes);
    struct st_header header;
    uint64_t text_bytes = 0;
    int i, status;

    raw_bytes = ZSTD_decompress(weights.raw, RAW_MAX, packed, packed_bytes);
    if (ZSTD_isError(raw_bytes) || raw_bytes < 8)
        return fp4_fail(&weights.err, FP4_EFORMAT, "the embedded weights cannot be unpacked");
    for (i = 7; i >= 0; i--)
        text_bytes = text_bytes << 8 | weights.raw[i];
    if (text_bytes > raw_bytes - 8)
        return fp4_fail(&weights.err, FP4_EFORMAT, "the embedded weights are cut off");
    if (st_parse((const char *)weights.raw + 8, (size_t)text_bytes, raw_bytes - 8 - text_bytes, &header, &weights.err))
        return fp4_fail_in(&weights.err, "embedded weights");
    status = find_slices(&header, (size_t)text_bytes + 8);
    st_release(&header);
    return status;
}

static void unpack_once(void)
{
    weights.status = unpack();
}

uint32_t value_weights(const struct maker *m, size_t r, size_t c)
{
    size_t i = m->row->param, cols = weights.slice[i].cols;
    const uint8_t *p = weights.raw + weights.slice[i].at + 4 * (r % weights.slice[i].rows * cols + c % cols);

    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int generate_weights(const struct fp4_case *c, const struct data_row *row, struct case_tensors *t, struct fp4_error *err)
{
    pthread_once(&weights.once, unpack_once);
    if (weights.status) {
        if (err)
            *err = weights.err;
        return -1;
    }
    return generate_inputs(c, row, t, err);
}

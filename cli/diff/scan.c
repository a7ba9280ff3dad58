/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c: walks the bytes of two tensors of one shape; counts, classifies and locates the elements that differ. */
#include "diff.h"

#include <string.h>

/* What the raw bits of a format with sign and magnitude mean. max is the largest magnitude that is a number. */
struct number_line {
    uint64_t sign, max;
};

static bool line_of(enum fp4_dtype dtype, struct number_line *line)
{
    static const struct number_line lines[FP4_DTYPE_COUNT] = {
        [FP4_F32] = { 0x80000000u, 0x7f800000u },
        [FP4_F16] = { 0x8000u, 0x7c00u },
        [FP4_BF16] = { 0x8000u, 0x7f80u },
        [FP4_E2M1] = { 0x8u, 0x7u },
        [FP4_E4M3] = { 0x80u, 0x7eu },
    };

    *line = lines[dtype];
    return line->sign != 0;
}

static uint64_t steps_between(const struct number_line *line, uint64_t a, uint64_t b)
{
    uint64_t ma = a & ~line->sign, mb = b & ~line->sign;

    if ((a ^ b) & line->sign)
        return ma + mb;
    return ma > mb ? ma - mb : mb - ma;
}

size_t code_distance(unsigned a, unsigned b)
{
    static const struct number_line codes = { 0x8u, 0x7u };

    return (size_t)steps_between(&codes, a & 15u, b & 15u);
}

uint64_t tensor_element(const uint8_t *data, enum fp4_dtype dtype, size_t i)
{
    uint16_t h;
    uint32_t w;
    uint64_t d;

    switch (dtype) {
    case FP4_E2M1:
        return (data[i / 2] >> (i % 2 * 4)) & 15u;
    case FP4_F16:
    case FP4_BF16:
        memcpy(&h, data + 2 * i, sizeof h);
        return h;
    case FP4_F32:
    case FP4_U32:
        memcpy(&w, data + 4 * i, sizeof w);
        return w;
    case FP4_U64:
        memcpy(&d, data + 8 * i, sizeof d);
        return d;
    case FP4_E4M3:
    case FP4_U8:
    case FP4_DTYPE_COUNT:
        break;
    }
    return data[i];
}

enum step_class { CLASS_ONE, CLASS_MORE, CLASS_ZERO, CLASS_NAN, CLASS_NAN_NUMBER, CLASS_OTHER };

static enum step_class classify(enum fp4_dtype dtype, uint64_t a, uint64_t b)
{
    struct number_line line;

    if (!line_of(dtype, &line))
        return CLASS_OTHER;
    bool nan_a = (a & ~line.sign) > line.max, nan_b = (b & ~line.sign) > line.max;
    if (nan_a || nan_b)
        return nan_a && nan_b ? CLASS_NAN : CLASS_NAN_NUMBER;
    uint64_t steps = steps_between(&line, a, b);
    return steps == 0 ? CLASS_ZERO : steps == 1 ? CLASS_ONE : CLASS_MORE;
}

static void count_class(struct diff_classes *c, enum step_class k)
{
    size_t *const counter[] = { &c->one_step, &c->more_steps, &c->zero_sign, &c->nan_only, &c->nan_number, &c->other };

    ++*counter[k];
}

/* How many neighbours along a line share one block of 16. */
static size_t block_columns(const struct tensor_diff *d)
{
    if (d->dtype == FP4_E4M3 || d->dtype == FP4_U8 || strncmp(d->name, "block-amax", 10) == 0 ||
        strncmp(d->name, "error-", 6) == 0 || strcmp(d->name, "decoded-scale") == 0)
        return 1;
    return d->dtype == FP4_U32 ? 4 : 16; /* a random word serves four elements */
}

static void keep_place(struct tensor_diff *d, const struct diff_policy *policy, size_t i, uint64_t a, uint64_t b)
{
    if (d->place_count >= PLACES_MAX || d->place_count >= policy->max_places)
        return;
    struct diff_place *p = &d->places[d->place_count++];
    *p = (struct diff_place){ .row = i, .a = a, .b = b };
    if (d->ndim == 2) {
        p->row = i / d->dims[1];
        p->col = i % d->dims[1];
        p->block = p->col / block_columns(d);
        p->nibble = (unsigned)(p->col % 4);
    }
}

static void scan_element(struct tensor_diff *d, const struct diff_policy *policy, size_t i, uint64_t a, uint64_t b)
{
    enum step_class k = classify(d->dtype, a, b);

    if (k == CLASS_ZERO && policy->signed_zero_equal) {
        d->policy_zero++;
        return;
    }
    if (k == CLASS_NAN && policy->nan_equal) {
        d->policy_nan++;
        return;
    }
    d->differing++;
    count_class(&d->classes, k);
    keep_place(d, policy, i, a, b);
}

/* Elements that lie wholly or partly in bytes from .. to. */
static void scan_range(const uint8_t *a, const uint8_t *b, const struct diff_policy *policy, struct tensor_diff *d, size_t from,
                       size_t to)
{
    size_t width = fp4_dtype_bytes(d->dtype, 1);
    size_t first = d->dtype == FP4_E2M1 ? from * 2 : from / width;
    size_t end = d->dtype == FP4_E2M1 ? to * 2 : to / width;

    for (size_t i = first; i < end && i < d->elements; i++) {
        uint64_t ea = tensor_element(a, d->dtype, i), eb = tensor_element(b, d->dtype, i);

        if (ea != eb)
            scan_element(d, policy, i, ea, eb);
    }
}

void tensor_scan(const uint8_t *a, const uint8_t *b, const struct diff_policy *policy, struct tensor_diff *d)
{
    enum { CHUNK = 1024 }; /* a multiple of every element's width */
    size_t bytes = fp4_dtype_bytes(d->dtype, d->elements);

    d->located = true;
    for (size_t at = 0; at < bytes; at += CHUNK) {
        size_t n = bytes - at < CHUNK ? bytes - at : CHUNK;

        if (memcmp(a + at, b + at, n) != 0)
            scan_range(a, b, policy, d, at, at + n);
    }
    if (d->dtype == FP4_E2M1 && d->elements % 2)
        d->padding_differs = (a[bytes - 1] ^ b[bytes - 1]) >> 4 != 0;
    d->equal = d->differing == 0 && !d->padding_differs;
}

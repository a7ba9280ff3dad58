/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hypotheses.c: what a difference looks like, when that is certain. A hypothesis is a test on the bytes of one tensor that holds
 * only if it explains every difference; the first row that holds is printed. The order goes from the narrow to the wide: a
 * permutation of scales is named only when no layout that we know explains it.
 *
 * To add one: a function and a row. tests/unit/test_diff.c has one example and one near miss for each row.
 */
#include "diff.h"

#include <stdlib.h>
#include <string.h>

struct evidence {
    const struct tensor_diff *d;
    const uint8_t *a, *b;
    size_t bytes;
};

static bool all_zero(const uint8_t *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i])
            return false;
    return true;
}

static bool a_is_zero(const struct evidence *e)
{
    return all_zero(e->a, e->bytes) && e->d->classes.zero_sign < e->d->differing;
}

static bool b_is_zero(const struct evidence *e)
{
    return all_zero(e->b, e->bytes) && e->d->classes.zero_sign < e->d->differing;
}

static bool only_zero_signs(const struct evidence *e)
{
    return e->d->classes.zero_sign == e->d->differing;
}

static bool only_nans(const struct evidence *e)
{
    return e->d->classes.nan_only == e->d->differing;
}

static uint8_t exchanged(uint8_t byte)
{
    return (uint8_t)(byte << 4 | byte >> 4);
}

static bool nibbles_exchanged(const struct evidence *e)
{
    for (size_t i = 0; i < e->bytes; i++)
        if (e->a[i] != exchanged(e->b[i]))
            return false;
    return true;
}

static bool fours_reversed(const struct evidence *e)
{
    if (e->bytes % 2)
        return false;
    for (size_t i = 0; i < e->bytes; i += 2)
        if (e->a[i] != exchanged(e->b[i + 1]) || e->a[i + 1] != exchanged(e->b[i]))
            return false;
    return true;
}

static bool pairs_of_bytes_exchanged(const struct evidence *e)
{
    if (e->bytes % 2)
        return false;
    for (size_t i = 0; i < e->bytes; i += 2)
        if (e->a[i] != e->b[i + 1] || e->a[i + 1] != e->b[i])
            return false;
    return true;
}

/* wide holds the first elements of packed, one a byte. Less than a block shows no spacing. */
static bool one_a_byte(const uint8_t *packed, const uint8_t *wide, size_t bytes)
{
    if (bytes < 8)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (wide[i] != tensor_element(packed, FP4_E2M1, i))
            return false;
    return true;
}

static bool b_one_a_byte(const struct evidence *e)
{
    return one_a_byte(e->a, e->b, e->bytes);
}

static bool a_one_a_byte(const struct evidence *e)
{
    return one_a_byte(e->b, e->a, e->bytes);
}

static bool is_transposed(const struct evidence *e)
{
    size_t n = e->d->dims[0];

    if (e->d->ndim != 2 || n != e->d->dims[1] || n < 4)
        return false;
    for (size_t r = 0; r < n; r++)
        for (size_t c = 0; c < n; c++)
            if (tensor_element(e->a, e->d->dtype, r * n + c) != tensor_element(e->b, e->d->dtype, c * n + r))
                return false;
    return true;
}

/* The GEMM layout of a whole number of 128 x 4 tiles has as many bytes as the linear one, so that a mix-up keeps the size. */
static bool swizzled_from(const struct evidence *e, const uint8_t *linear, const uint8_t *other)
{
    const size_t *dims = e->d->dims;
    bool same = false;

    if (e->d->ndim != 2 || dims[0] % 128 || dims[1] % 4 || !e->bytes)
        return false;
    uint8_t *expected = malloc(e->bytes);
    if (!expected)
        return false;
    fp4_swizzle(dims[0], dims[1], linear, expected);
    same = memcmp(expected, other, e->bytes) == 0;
    free(expected);
    return same;
}

static bool b_is_swizzled(const struct evidence *e)
{
    return swizzled_from(e, e->a, e->b);
}

static bool a_is_swizzled(const struct evidence *e)
{
    return swizzled_from(e, e->b, e->a);
}

/* Two or three exchanged bytes could be chance; eight that only moved are a matter of layout. */
static bool is_permutation(const struct evidence *e)
{
    size_t count_a[256] = { 0 }, count_b[256] = { 0 };

    if (e->d->differing < 8)
        return false;
    for (size_t i = 0; i < e->bytes; i++) {
        count_a[e->a[i]]++;
        count_b[e->b[i]]++;
    }
    return memcmp(count_a, count_b, sizeof count_a) == 0;
}

/* Every difference is one code in one direction: two rounding rules, not noise. A single one shows no direction. */
static bool one_code_apart(const struct evidence *e, int direction)
{
    if (e->d->differing < 4 || e->d->classes.one_step != e->d->differing)
        return false;
    for (size_t i = 0; i < e->bytes; i++)
        if (e->a[i] != e->b[i] && (int)e->b[i] - (int)e->a[i] != direction)
            return false;
    return true;
}

static bool b_one_lower(const struct evidence *e)
{
    return one_code_apart(e, -1);
}

static bool b_one_higher(const struct evidence *e)
{
    return one_code_apart(e, 1);
}

#define ON(dtype) (1u << (dtype))
#define CODES ON(FP4_E2M1)
#define SCALES ON(FP4_E4M3)
#define FLOATS (ON(FP4_F32) | ON(FP4_F16) | ON(FP4_BF16))

static const struct hypothesis {
    uint32_t dtypes;
    bool (*holds)(const struct evidence *e);
    const char *says;
} hypotheses[] = {
    { CODES, b_is_zero,
      "all codes of B are zero, those of A are not: a conversion that this architecture lacks, or that never ran" },
    { CODES, a_is_zero,
      "all codes of A are zero, those of B are not: a conversion that this architecture lacks, or that never ran" },
    { SCALES, b_is_zero, "all scale bytes of B are zero, those of A are not" },
    { SCALES, a_is_zero, "all scale bytes of A are zero, those of B are not" },
    { CODES, only_zero_signs, "only the sign of zero differs (codes 0 and 8): --signed-zero=equal accepts that" },
    { SCALES | FLOATS, only_zero_signs, "only the sign of zero differs: --signed-zero=equal accepts that" },
    { SCALES | FLOATS, only_nans, "only sign or payload of NaNs differ: --nan=equal accepts that" },
    { CODES, nibbles_exchanged, "nibble order: equal after exchanging the two nibbles of every byte" },
    { CODES, fours_reversed, "element order: equal after reversing every four codes" },
    { CODES, pairs_of_bytes_exchanged, "byte order: equal after exchanging the two bytes of every four codes" },
    { CODES, b_one_a_byte, "B holds one code a byte (8-bit spacing), A two: half of the codes are missing in B" },
    { CODES, a_one_a_byte, "A holds one code a byte (8-bit spacing), B two: half of the codes are missing in A" },
    { CODES | SCALES, is_transposed, "B is A transposed" },
    { SCALES, b_is_swizzled, "scale layout: B is A in the swizzled 128x4 layout of the GEMM" },
    { SCALES, a_is_swizzled, "scale layout: A is B in the swizzled 128x4 layout of the GEMM" },
    { SCALES, is_permutation, "scale layout: B holds the scale bytes of A in other places" },
    { SCALES, b_one_lower, "scale rounding: every differing scale byte of B is one code below A's" },
    { SCALES, b_one_higher, "scale rounding: every differing scale byte of B is one code above A's" },
};

const char *hypothesis_find(const struct tensor_diff *d, const uint8_t *a, const uint8_t *b, size_t bytes)
{
    const struct evidence e = { d, a, b, bytes };

    if (d->differing == 0 || d->padding_differs || !bytes)
        return NULL;
    for (size_t i = 0; i < sizeof hypotheses / sizeof hypotheses[0]; i++)
        if (hypotheses[i].dtypes & ON(d->dtype) && hypotheses[i].holds(&e))
            return hypotheses[i].says;
    return NULL;
}

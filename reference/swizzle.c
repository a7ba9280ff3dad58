/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM layout of block scales: 128 x 4 tiles of 512 bytes (TE 1.5). */
#include "fp4ref.h"

#include <string.h>

size_t fp4_swizzle_bytes(size_t rows, size_t scale_cols)
{
    return (rows + 127) / 128 * ((scale_cols + 3) / 4) * 512;
}

size_t fp4_swizzle_index(size_t scale_cols, size_t r, size_t c)
{
    return (r / 128 * ((scale_cols + 3) / 4) + c / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + c % 4;
}

void fp4_swizzle(size_t rows, size_t scale_cols, const uint8_t *linear, uint8_t *swizzled)
{
    size_t r, c;

    memset(swizzled, 0, fp4_swizzle_bytes(rows, scale_cols));
    for (r = 0; r < rows; r++)
        for (c = 0; c < scale_cols; c++)
            swizzled[fp4_swizzle_index(scale_cols, r, c)] = linear[r * scale_cols + c];
}

void fp4_unswizzle(size_t rows, size_t scale_cols, const uint8_t *swizzled, uint8_t *linear)
{
    size_t r, c;

    for (r = 0; r < rows; r++)
        for (c = 0; c < scale_cols; c++)
            linear[r * scale_cols + c] = swizzled[fp4_swizzle_index(scale_cols, r, c)];
}

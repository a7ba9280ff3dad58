/* SPDX-License-Identifier: Apache-2.0 */
/* The GEMM layout of block scales against a walk through its tiles. */
#include "check.h"
#include "slow.h"

#include <stdlib.h>
#include <string.h>

static const size_t shapes[][2] = { { 128, 4 }, { 1, 1 },    { 32, 4 },  { 33, 5 }, { 128, 8 },
                                    { 129, 4 }, { 256, 12 }, { 300, 7 }, { 127, 3 } };
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

Test(swizzle, every_index_as_the_tiles_are_laid_out)
{
    for (size_t s = 0; s < SHAPES; s++) {
        const size_t rows = shapes[s][0];
        const size_t cols = shapes[s][1];
        size_t *index = calloc(rows * cols, sizeof *index);

        cr_assert(index);
        CHECK(fp4_swizzle_bytes(rows, cols) == slow_swizzle(rows, cols, index), "%zux%zu: %zu bytes", rows, cols,
              fp4_swizzle_bytes(rows, cols));
        for (size_t r = 0; r < rows; r++) {
            for (size_t c = 0; c < cols; c++)
                CHECK(fp4_swizzle_index(cols, r, c) == index[r * cols + c], "%zux%zu (%zu, %zu): %zu, not %zu", rows, cols, r, c,
                      fp4_swizzle_index(cols, r, c), index[r * cols + c]);
        }
        free(index);
    }
}

Test(swizzle, there_and_back_with_zero_padding)
{
    struct slow_random g = { 61 };

    for (size_t s = 0; s < SHAPES; s++) {
        const size_t rows = shapes[s][0];
        const size_t cols = shapes[s][1];
        const size_t bytes = fp4_swizzle_bytes(rows, cols);
        uint8_t *linear = malloc(rows * cols);
        uint8_t *back = malloc(rows * cols);
        uint8_t *swizzled = malloc(bytes);
        size_t *index = calloc(rows * cols, sizeof *index);
        size_t nonzero = 0;

        cr_assert(linear && back && swizzled && index);
        for (size_t i = 0; i < rows * cols; i++)
            linear[i] = (uint8_t)(1 + slow_draw(&g) % 255);
        memset(swizzled, 0xA5, bytes);
        fp4_swizzle(rows, cols, linear, swizzled);
        slow_swizzle(rows, cols, index);
        for (size_t i = 0; i < rows * cols; i++)
            CHECK(swizzled[index[i]] == linear[i], "%zux%zu entry %zu", rows, cols, i);
        for (size_t i = 0; i < bytes; i++)
            nonzero += swizzled[i] != 0;
        CHECK(nonzero == rows * cols, "%zux%zu: %zu bytes are not zero", rows, cols, nonzero);
        fp4_unswizzle(rows, cols, swizzled, back);
        CHECK(memcmp(back, linear, rows * cols) == 0, "%zux%zu does not come back", rows, cols);
        free(linear);
        free(back);
        free(swizzled);
        free(index);
    }
}

Test(swizzle, worked_indices)
{
    /* TE 1.5: idx(r, c) = ((r / 128) T + c / 4) 512 + (r % 32) 16 + (r % 128 / 32) 4 + c % 4 */
    cr_expect_eq(fp4_swizzle_index(8, 0, 0), 0);
    cr_expect_eq(fp4_swizzle_index(8, 1, 0), 16);
    cr_expect_eq(fp4_swizzle_index(8, 32, 0), 4);
    cr_expect_eq(fp4_swizzle_index(8, 0, 5), 513);
    cr_expect_eq(fp4_swizzle_index(8, 128, 0), 1024);
    cr_expect_eq(fp4_swizzle_index(5, 255, 4), 3 * 512 + 31 * 16 + 3 * 4);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fp4stream.h"

struct fp4_stream_place fp4_stream_locate(enum fp4_stream stream, const struct fp4_stream_shape *shape, bool transposed, size_t r,
                                          size_t c)
{
    return stream_locate(stream, shape, transposed, r, c);
}

enum fp4_stream fp4_stream_te_dispatch(enum fp4_dtype input, size_t rows, size_t cols, bool block_16x16, bool rowwise, bool colwise)
{
    if (input == FP4_BF16 && rows % 32 == 0 && cols % 32 == 0 && (rowwise || (colwise && block_16x16)))
        return block_16x16 ? FP4_STREAM_2D : FP4_STREAM_TUNED;
    return FP4_STREAM_VECTOR;
}

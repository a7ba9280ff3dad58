/* SPDX-License-Identifier: Apache-2.0 */
/* replay_pack.c: the order of codes in bytes and of scales in buffers, right and wrong. */
#include "replay.h"

#include <stdlib.h>
#include <string.h>

/* ---- codes ------------------------------------------------------------------------------------------------------------------------ */

/* The element of a line whose code stands at place k. */
static size_t element_at(const struct replay *r, size_t packed, size_t k)
{
    static const uint8_t flips[] = {
        [ORDER_NIBBLES] = 1, [ORDER_BYTES] = 2, [ORDER_FOURS] = 3, [ORDER_HALVES_8] = 4, [ORDER_HALVES_16] = 8
    };
    unsigned order = slot_of(r, SLOT_ORDER);
    size_t from = k;

    if (order == ORDER_EVEN_ODD)
        from = k / 16 * 16 + (k % 16 < 8 ? 2 * (k % 16) : 2 * (k % 16 - 8) + 1);
    else if (order && order != ORDER_WIDE)
        from = k ^ flips[order];
    return from < packed ? from : k;
}

void replay_pack(const struct replay *r, const uint8_t *codes, size_t lines, size_t packed, uint8_t *out)
{
    size_t n = lines * packed, from = 0;

    if (slot_of(r, SLOT_WRITE) == WRITE_NO_CODES)
        return;
    for (size_t i = 0; i < n; i++) {
        uint8_t code = codes[i / packed * packed + element_at(r, packed, i % packed)];

        if (slot_of(r, SLOT_WRITE) == WRITE_ZERO_CODES || (slot_of(r, SLOT_WRITE) == WRITE_HALF && i >= n / 2))
            code = 0;
        if (slot_of(r, SLOT_ORDER) == ORDER_WIDE) /* a code a byte: the second half of the elements finds no room */
            code = i % 2 ? 0 : codes[from++];
        out[i / 2] = (uint8_t)(i % 2 ? (out[i / 2] & 0x0Fu) | code << 4 : code);
    }
}

unsigned replay_code_at(const struct replay *r, const uint8_t *packed_codes, size_t cols, size_t row, size_t col)
{
    size_t i = row * cols + element_at(r, cols, col);

    return packed_codes[i / 2] >> i % 2 * 4 & 15u;
}

/* ---- scales ------------------------------------------------------------------------------------------------------------------------- */

static bool whole_tiles(size_t lines, size_t blocks)
{
    return lines % 128 == 0 && blocks % 4 == 0;
}

static size_t stored_at(const struct replay *r, size_t lines, size_t blocks, size_t line, size_t b)
{
    switch (slot_of(r, SLOT_LAYOUT)) {
    case LAYOUT_SWIZZLED:
        return whole_tiles(lines, blocks) ? fp4_swizzle_index(blocks, line, b) : line * blocks + b;
    case LAYOUT_COLUMN_MAJOR:
        return b * lines + line;
    case LAYOUT_PITCH_4:
        return line * ((blocks + 3) / 4 * 4) + b;
    default:
        return line * blocks + b;
    }
}

void replay_store_scales(const struct replay *r, const uint8_t *scales, size_t lines, size_t blocks, uint8_t *out, size_t bytes)
{
    if (slot_of(r, SLOT_WRITE) == WRITE_ZERO_SCALES) {
        memset(out, 0, bytes);
        return;
    }
    if (slot_of(r, SLOT_LAYOUT) == LAYOUT_PITCH_4)
        memset(out, 0, bytes);
    for (size_t line = 0; line < lines; line++)
        for (size_t b = 0; b < blocks; b++) {
            size_t at = stored_at(r, lines, blocks, line, b);

            if (slot_of(r, SLOT_LAYOUT) == LAYOUT_UNSWIZZLED && whole_tiles(lines, blocks))
                out[line * blocks + b] = scales[fp4_swizzle_index(blocks, line, b)];
            else if (at < bytes)
                out[at] = scales[line * blocks + b];
        }
}

size_t replay_scale_index(const struct replay *r, bool swizzled, size_t rows, size_t blocks, size_t row, size_t block, size_t bytes)
{
    switch (slot_of(r, SLOT_LAYOUT)) {
    case LAYOUT_SWIZZLED:
        swizzled = true;
        break;
    case LAYOUT_UNSWIZZLED:
        swizzled = false;
        break;
    case LAYOUT_COLUMN_MAJOR:
        return (block * rows + row) % bytes;
    case LAYOUT_PITCH_4:
        return (row * ((blocks + 3) / 4 * 4) + block) % bytes;
    default:
        break;
    }
    return (swizzled ? fp4_swizzle_index(blocks, row, block) : row * blocks + block) % bytes;
}

/* ---- the op swizzle ------------------------------------------------------------------------------------------------------------------ */

static size_t tile_index(size_t rows, size_t row, size_t col)
{
    return (col / 4 * ((rows + 127) / 128) + row / 128) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + col % 4;
}

static size_t place_of(const struct replay *r, size_t rows, size_t cols, size_t row, size_t col)
{
    size_t inside = row % 32 * 16 + row % 128 / 32 * 4 + col % 4, at;

    switch (slot_of(r, SLOT_LAYOUT)) {
    case LAYOUT_UNSWIZZLED:
        return row * cols + col;
    case LAYOUT_PITCH_4:
        return row * ((cols + 3) / 4 * 4) + col;
    case LAYOUT_COLUMN_MAJOR:
        return col * rows + row;
    case LAYOUT_TILES:
        return tile_index(rows, row, col);
    case LAYOUT_FLOOR:
        return (row / 128 * (cols / 4) + col / 4) * 512 + inside;
    case LAYOUT_AXIS: /* rows of 4 and groups of 32 exchanged inside a tile */
        return (row / 128 * ((cols + 3) / 4) + col / 4) * 512 + row % 128 * 4 + col % 4;
    case LAYOUT_TWICE:
        at = fp4_swizzle_index(cols, row, col);
        return cols % 4 ? at : fp4_swizzle_index(cols, at / cols, at % cols);
    default:
        return fp4_swizzle_index(cols, row, col);
    }
}

static void fill_padding(const struct replay *r, const uint8_t *linear, uint8_t *swizzled)
{
    size_t rows = r->c->rows, cols = r->c->cols, n = rows * cols;

    memset(swizzled, 0, fp4_swizzle_bytes(rows, cols));
    if (slot_of(r, SLOT_LAYOUT) != LAYOUT_PADDING)
        return;
    /* the extent of the padded shape: what lies behind the rows is taken for scales */
    for (size_t row = 0; row < (rows + 127) / 128 * 128; row++)
        for (size_t col = 0; col < (cols + 3) / 4 * 4; col++)
            swizzled[fp4_swizzle_index(cols, row, col)] = linear[(row * cols + col) % n];
}

int replay_swizzle(const struct replay *r)
{
    size_t rows = r->c->rows, cols = r->c->cols, bytes = fp4_swizzle_bytes(rows, cols);
    uint8_t *linear = replay_data(r, "scales", ""), *swizzled = replay_data(r, "swizzled", "");
    bool back = r->c->knob[KNOB_SWIZZLE];

    if (slot_of(r, SLOT_WRITE) == WRITE_NO_CODES)
        return 0;
    if (!back)
        fill_padding(r, linear, swizzled);
    for (size_t row = 0; row < rows; row++)
        for (size_t col = 0; col < cols; col++) {
            size_t at = place_of(r, rows, cols, row, col);

            if (back)
                linear[row * cols + col] = swizzled[at % bytes];
            else if (at < bytes)
                swizzled[at] = linear[row * cols + col];
        }
    if (slot_of(r, SLOT_WRITE) == WRITE_ZERO_SCALES)
        memset(back ? linear : swizzled, 0, back ? rows * cols : bytes);
    return 0;
}

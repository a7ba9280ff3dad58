/* SPDX-License-Identifier: Apache-2.0 */
/* explain_other.c: dequantize, swizzle, philox. */
#include "explain.h"

#include <inttypes.h>
#include <string.h>

int explain_dequantize(struct explain *e, struct fp4_error *err)
{
    size_t at = e->row * e->c.cols + e->col, blocks = e->c.cols / 16, block = e->col / 16;
    bool swizzled = e->c.knob[KNOB_LAYOUT] == 1;
    size_t scale = swizzled ? fp4_swizzle_index(blocks, e->row, block) : e->row * blocks + block;
    float factor = 1.0f / (6.0f * (float)knob_bound(e->c.knob[KNOB_BOUND]));

    (void)err;
    explain_tensor(e, "code", "codes", at);
    explain_remark(e, "byte %zu of the codes, %s nibble", at / 2, at % 2 ? "high" : "low");
    explain_tensor(e, "scale", "scales", scale);
    explain_remark(e, "byte %zu of the %s layout", scale, swizzled ? "swizzled" : "linear");
    explain_tensor(e, "amax", "amax", e->c.knob[KNOB_AMAX] == 1 ? e->row : 0);
    explain_value(e, "1 / (6 * bound)", FP4_F32, fp4_f32_bits(factor), "%s", "");
    explain_tensor(e, "decoded scale", "decoded-scale", e->row * blocks + block);
    explain_remark(e, "(scale * amax) * (1 / (6 * bound))");
    explain_tensor(e, "dequantized", "dequantized", at);
    return 0;
}

int explain_swizzle(struct explain *e, struct fp4_error *err)
{
    size_t linear = e->row * e->c.cols + e->col, there = fp4_swizzle_index(e->c.cols, e->row, e->col);
    bool back = e->c.knob[KNOB_SWIZZLE] == 1;
    uint64_t a = 0, b = 0;

    explain_tensor(e, back ? "swizzled" : "linear", back ? "swizzled" : "scales", back ? there : linear);
    explain_remark(e, "byte %zu", back ? there : linear);
    explain_note(e, "place", "tile %zu of 128x4, row %zu and column %zu of it: byte %zu of its 512", there / 512, e->row % 128,
                 e->col % 4, there % 512);
    explain_tensor(e, back ? "linear" : "swizzled", back ? "scales" : "swizzled", back ? linear : there);
    explain_remark(e, "byte %zu", back ? linear : there);
    explain_ref(e, "scales", linear, &a);
    explain_ref(e, "swizzled", there, &b);
    return a == b ? 0 : fp4_fail(err, FP4_EFORMAT, "explain finds another byte than the reference");
}

int explain_philox(struct explain *e, struct fp4_error *err)
{
    uint64_t seed = 0, subsequence = 0, offset = 0, word = 0, block;
    bool words = e->c.recipe == CR_CURAND;
    unsigned rounds = knob_rounds(e->c.knob[KNOB_ROUNDS]);
    struct fp4_philox g;
    uint32_t four[4];

    explain_tensor(e, "seed", "seed", e->row);
    explain_tensor(e, "subsequence", "subsequence", e->row);
    explain_tensor(e, "offset", "offset", e->row);
    explain_remark(e, words ? "in words" : "in blocks of four words");
    explain_ref(e, "seed", e->row, &seed);
    explain_ref(e, "subsequence", e->row, &subsequence);
    explain_ref(e, "offset", e->row, &offset);
    block = words ? offset / 4 + (offset % 4 + e->col) / 4 : offset + e->col / 4;
    if (block < (words ? offset / 4 : offset))
        subsequence++;
    fp4_philox_init(&g, seed, subsequence, block, rounds);
    explain_note(e, "counter",
                 "%08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 ", key %08" PRIx32 " %08" PRIx32 ", %u rounds",
                 g.counter[0], g.counter[1], g.counter[2], g.counter[3], g.key[0], g.key[1], rounds);
    fp4_philox_next4(&g, four);
    explain_note(e, "block", "%08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 ", word %zu of it", four[0], four[1], four[2],
                 four[3], (size_t)((words ? offset % 4 : 0) + e->col) % 4);
    explain_tensor(e, "word", "words", e->row * e->c.cols + e->col);
    explain_ref(e, "words", e->row * e->c.cols + e->col, &word);
    return four[((words ? offset % 4 : 0) + e->col) % 4] == word
               ? 0
               : fp4_fail(err, FP4_EFORMAT, "explain draws another word than the reference");
}

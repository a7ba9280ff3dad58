/* SPDX-License-Identifier: Apache-2.0 */
/* explain_gemm.c: one element of a product: each block's exact sum times both scales, the additions in order, the factor, the output. */
#include "explain.h"

#include <inttypes.h>
#include <string.h>

enum { BLOCKS_SHOWN = 24 };

static unsigned code_at(struct explain *e, const char *tensor, size_t i)
{
    uint64_t bits = 0;

    explain_ref(e, tensor, i, &bits);
    return (unsigned)bits;
}

static float scale_at(struct explain *e, const char *tensor, size_t i)
{
    uint64_t bits = 0;

    explain_ref(e, tensor, i, &bits);
    return e4m3_to_f32((e4m3_t){ (uint8_t)bits });
}

/* The products of codes are multiples of 1/4, so their sum is exact in any order. */
static float block_sum(struct explain *e, size_t block)
{
    size_t k = e->c.cols, i;
    float sum = 0;

    for (i = 16 * block; i < 16 * block + 16; i++)
        sum += e2m1_to_f32((e2m1_t){ (uint8_t)code_at(e, "a-codes", e->row * k + i) }) *
               e2m1_to_f32((e2m1_t){ (uint8_t)code_at(e, "b-codes", e->col * k + i) });
    return sum;
}

static void explain_block(struct explain *e, size_t block, size_t blocks, float *running)
{
    float a = scale_at(e, "a-scale", e->row * blocks + block), b = scale_at(e, "b-scale", e->col * blocks + block);
    float sum = block_sum(e, block), term = sum * (a * b);
    char key[24];

    *running = *running + term;
    if (block >= BLOCKS_SHOWN)
        return;
    snprintf(key, sizeof key, "block %zu", block);
    explain_value(e, key, FP4_F32, fp4_f32_bits(term == term ? term : fp4_f32_from_bits(0x7FFFFFFFu)),
                  "codes %.9g, scales %.9g and %.9g; so far %.9g", (double)sum, (double)a, (double)b, (double)*running);
}

int explain_gemm(struct explain *e, struct fp4_error *err)
{
    size_t blocks = e->c.cols / 16, at = e->row * e->c.depth + e->col, i;
    struct fp4_gemm_params p;
    struct fp4_operand a, b;
    float running = 0;
    uint64_t acc = 0;

    if (case_is_layer(&e->c))
        return fp4_fail(err, FP4_ESUPPORT, "explain follows a product of given operands (mode product), not a layer");
    case_gemm_params(&e->c, &p, &a, &b);
    explain_note(e, "place", "row %zu of A, row %zu of B, %zu blocks of 16", e->row, e->col, blocks);
    for (i = 0; i < blocks; i++)
        explain_block(e, i, blocks, &running);
    if (blocks > BLOCKS_SHOWN)
        explain_note(e, "blocks", "and %zu more", blocks - BLOCKS_SHOWN);
    explain_value(e, "sum, in order", FP4_F32, fp4_f32_bits(running == running ? running : fp4_f32_from_bits(0x7FFFFFFFu)),
                  "each addition rounded%s", p.sum == FP4_GEMM_SEQ ? ": the one that the case asks for" : "");
    explain_tensor(e, "acc", "acc", at);
    explain_remark(e, p.sum == FP4_GEMM_SEQ ? "in order" : "one rounding of the exact sum");
    explain_tensor(e, "amax of A", "a-amax", a.row_scaled ? e->row : 0);
    explain_tensor(e, "amax of B", "b-amax", b.row_scaled ? e->col : 0);
    if (explain_tensor(e, "bias", "bias", e->col))
        explain_remark(e, "added at the end");
    explain_tensor(e, "y", "y", at);
    if (p.sum == FP4_GEMM_SEQ && explain_ref(e, "acc", at, &acc) && running == running && fp4_f32_bits(running) != (uint32_t)acc)
        return fp4_fail(err, FP4_EFORMAT, "explain replays the sum %08" PRIx32 " where the reference gave %08" PRIx32,
                        fp4_f32_bits(running), (uint32_t)acc);
    return 0;
}

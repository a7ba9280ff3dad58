/* SPDX-License-Identifier: Apache-2.0 */
/* explain_four.c: four-over-six: both candidates of the element's block, their errors, how far apart these are, and the one that was
 * stored. */
#include "explain.h"
#include "four_arith.h" /* the arithmetic itself: what is no stage is replayed with it */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct place {
    const char *suffix;
    size_t line, at, packed, block; /* block: index in [lines][blocks] */
    size_t amax;                    /* index in the amaxes */
};

static bool put(struct explain *e, const struct place *p, const char *key, const char *name, size_t i)
{
    char full[TENSOR_NAME_MAX];

    snprintf(full, sizeof full, "%s%s", name, p->suffix);
    return explain_tensor(e, key, full, i);
}

static uint32_t ref_bits(struct explain *e, const struct place *p, const char *name, size_t i)
{
    char full[TENSOR_NAME_MAX];
    uint64_t bits = 0;

    snprintf(full, sizeof full, "%s%s", name, p->suffix);
    explain_ref(e, full, i, &bits);
    return (uint32_t)bits;
}

static int explain_candidates(struct explain *e, const struct place *p, const struct four_chain *ch, struct fp4_error *err)
{
    static const char *const scales[2] = { "scale-6", "scale-4" }, *const codes[2] = { "codes-6", "codes-4" },
                             *const errors[2] = { "error-6", "error-4" }, *const raws[2] = { "raw, map to 6", "raw, map to 4" };
    struct chain_globals g = four_globals(ch, fp4_f32_from_bits(ref_bits(e, p, "amax", p->amax)));
    float block_amax = fp4_f32_from_bits(ref_bits(e, p, "block-amax", p->block));
    float base = fp4a_mul(fp4a_div(block_amax, 6.0f), g.enc), raw[2];
    uint32_t byte[2], error[2];
    int64_t apart = 0;
    int c;

    raw[FP4_MAP_TO_6] = base;
    raw[FP4_MAP_TO_4] = fp4a_mul(base, 1.5f);
    four_scale_pair(&g, block_amax, byte);
    for (c = 0; c < 2; c++) {
        explain_value(e, raws[c], FP4_F32, fp4_f32_bits(fp4a_canonical(raw[c])), "%s",
                      c == FP4_MAP_TO_6 ? "(block amax / 6) * S" : "1.5 times that");
        explain_e4m3(e, raw[c]);
        put(e, p, scales[c], scales[c], p->block);
        put(e, p, codes[c], codes[c], p->line * p->packed + p->at);
        put(e, p, errors[c], errors[c], p->block);
        explain_remark(e, "%s over the block%s", ch->mse ? "sum of d * d" : "sum of |d|",
                       e->c.knob[KNOB_BLOCK] == 1 ? "s of the tile's 16 lines" : "");
        error[c] = ref_bits(e, p, errors[c], p->block);
        if (!ch->all_nan_keeps && ref_bits(e, p, scales[c], p->block) != byte[c] && block_amax > 0)
            return fp4_fail(err, FP4_EFORMAT, "explain replays scale %02x where the reference gave %02x", byte[c],
                            ref_bits(e, p, scales[c], p->block));
    }
    if (!pick_distance(error, &apart))
        explain_note(e, "errors", "one of them is NaN: map to 6");
    else if (apart == 0)
        explain_note(e, "errors", "equal: map to 6");
    else
        explain_note(e, "errors", "map to 4 is %" PRId64 " ulp%s %s%s", apart < 0 ? -apart : apart,
                     apart == 1 || apart == -1 ? "" : "s", apart < 0 ? "better" : "worse",
                     apart >= -64 && apart <= 64 ? ": another order of the additions may choose the other" : "");
    put(e, p, "pick", "pick", p->block);
    explain_remark(e, "0: map to 6, 1: map to 4");
    return 0;
}

int explain_four(struct explain *e, struct fp4_error *err)
{
    struct fp4_four_params params;
    struct four_chain ch;
    struct place p = { 0 };
    const struct tensor *codes;

    if (!e->transposed && e->c.knob[KNOB_OUT] == 1)
        e->transposed = true;
    p.suffix = e->transposed ? ".t" : "";
    codes = tensor_find(&e->sides[0].t, e->transposed ? "codes.t" : "codes");
    if (!codes || !codes->data)
        return fp4_fail(err, FP4_EUSAGE, "the case has no transposed output");
    case_four_params(&e->c, &params);
    ch = four_chain_of(&params);
    p.line = e->transposed ? e->col : e->row;
    p.at = e->transposed ? e->row : e->col;
    p.packed = codes->dims[1];
    p.block = p.line * (p.packed / 16) + p.at / 16;
    p.amax = params.row_scaled ? p.line : 0;
    explain_note(e, "place", "%s %zu, block %zu, element %zu of it", e->transposed ? "column" : "row", p.line, p.at / 16,
                 p.at % 16);
    explain_tensor(e, "input", "x", e->row * e->c.cols + e->col);
    put(e, &p, "amax", "amax", p.amax);
    put(e, &p, "global scale", "global-scale", p.amax);
    explain_remark(e, "S = %g / amax", (double)ch.numerator);
    put(e, &p, "block amax", "block-amax", p.block);
    if (explain_candidates(e, &p, &ch, err))
        return -1;
    put(e, &p, "block scale", "block-scale", p.block);
    if (put(e, &p, "scaled", "scaled", p.line * p.packed + p.at))
        explain_e2m1_nearest(e, fp4_f32_from_bits(ref_bits(e, &p, "scaled", p.line * p.packed + p.at)));
    put(e, &p, "code", "codes", p.line * p.packed + p.at);
    put(e, &p, "dequantized", "dequantized", p.line * p.packed + p.at);
    return 0;
}

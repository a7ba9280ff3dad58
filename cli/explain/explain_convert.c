/* SPDX-License-Identifier: Apache-2.0 */
/* explain_convert.c: cvt-rn, cvt-rs and the sr-* helpers: value, factor, product, word, code. */
#include "explain.h"

#include <string.h>

static float load(struct explain *e, const char *tensor, size_t i)
{
    const struct tensor *t = tensor_find(&e->sides[0].t, tensor);

    return fp4_load(t->data, t->dtype, i);
}

/* The product is the stage where there is one. */
static float explain_factor(struct explain *e, size_t at)
{
    uint64_t bits;

    if (e->c.op == OP_SR_BF16X8)
        explain_tensor(e, "coefficient", "coefficient", e->row);
    else if (explain_tensor(e, "scale", "scale", 2 * e->row + (e->col & 1)))
        explain_remark(e, "of the %s elements", e->col & 1 ? "odd" : "even");
    if (!explain_ref(e, "scaled", at, &bits))
        return load(e, "x", at);
    explain_tensor(e, "scaled", "scaled", at);
    explain_remark(e, e->c.op == OP_SR_BF16X8 && e->c.knob[KNOB_COEF] == 1 ? "x * coefficient + 0, one operation" : "x * scale");
    return fp4_f32_from_bits((uint32_t)bits);
}

int explain_convert(struct explain *e, struct fp4_error *err)
{
    size_t at = e->row * e->c.cols + e->col;
    uint64_t word = 0, code = 0;
    unsigned nibble = (unsigned)(e->col % 4), want;
    float y;

    explain_tensor(e, "input", "x", at);
    y = explain_factor(e, at);
    explain_ref(e, "codes", at, &code);
    if (e->c.op == OP_CVT_RN) {
        explain_e2m1_nearest(e, y);
        want = f32_to_e2m1(y).bits;
    } else {
        explain_ref(e, "rbits", at / 4, &word);
        explain_tensor(e, "random word", "rbits", at / 4);
        explain_remark(e, "an input of the case");
        explain_e2m1_stochastic(e, y, (uint32_t)word, nibble);
        want = fp4_rs_round_word(rs_model_row(e->c.knob[KNOB_RS])->model, y, (uint32_t)word, nibble).bits;
    }
    explain_tensor(e, "code", "codes", at);
    explain_remark(e, "byte %zu of the codes, %s nibble", at / 2, at % 2 ? "high" : "low");
    return want == code ? 0
                        : fp4_fail(err, FP4_EFORMAT, "explain replays code %x where the reference gave %x", want, (unsigned)code);
}

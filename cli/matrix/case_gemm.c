/* SPDX-License-Identifier: Apache-2.0 */
/* What the knobs of gemm mean, and which of its combinations are defined. */
#include "case_build.h"

#include <string.h>

bool case_is_layer(const struct fp4_case *c)
{
    return c->op == OP_GEMM && c->knob[KNOB_MODE] != 0;
}

/* The tokens of KNOB_MODE after "product" stand in the order of enum fp4_backward after its default. */
void case_linear_params(const struct fp4_case *c, struct fp4_linear_params *p)
{
    *p = (struct fp4_linear_params){
        .m = c->rows,
        .n = c->depth,
        .k = c->cols,
        .bound = knob_bound(c->knob[KNOB_BOUND]),
        .error = c->knob[KNOB_ERROR] ? FP4_FOUR_MSE : FP4_FOUR_MAE,
        .nan = case_four_keeps_nan(c) ? FP4_FOUR_NAN_PROPAGATE : FP4_FOUR_NAN_DROP,
        .row_scaled = c->knob[KNOB_AMAX] == 1,
        .weight_16x16 = c->knob[KNOB_BLOCK] == 1,
        .backward = (enum fp4_backward)c->knob[KNOB_MODE],
        .sum = (enum fp4_gemm_sum)c->knob[KNOB_SUM],
        .divide_factor = c->knob[KNOB_FACTOR] == 1,
    };
}

void case_gemm_params(const struct fp4_case *c, struct fp4_gemm_params *p, struct fp4_operand *a, struct fp4_operand *b)
{
    *p = (struct fp4_gemm_params){
        .recipe = case_recipe_ref(c->recipe),
        .m = c->rows,
        .n = c->depth,
        .k = c->cols,
        .sum = (enum fp4_gemm_sum)c->knob[KNOB_SUM],
        .divide_factor = c->knob[KNOB_FACTOR] == 1,
        .output = c->dtype,
    };
    memset(a, 0, sizeof *a);
    memset(b, 0, sizeof *b);
    a->row_scaled = c->knob[KNOB_AMAX] == 1;
    a->bound = b->bound = knob_bound(c->knob[KNOB_BOUND]);
}

static int check_product(const struct fp4_case *c, struct fp4_error *err)
{
    struct fp4_gemm_params p;
    struct fp4_operand a, b;

    if (c->knob[KNOB_ERROR] || c->knob[KNOB_BLOCK] != 1 || c->knob[KNOB_NAN])
        return fp4_fail(err, FP4_ESUPPORT, "error, block and NaN policy belong to a layer: a product's operands are given");
    if (c->recipe == CR_TE_REF && c->knob[KNOB_FACTOR])
        return fp4_fail(err, FP4_ESUPPORT, "factor-divide belongs to torchao: te-ref divides once, by both bounds");
    case_gemm_params(c, &p, &a, &b);
    return fp4_gemm_check(&p, &a, &b, err);
}

int case_check_gemm(const struct fp4_case *c, struct fp4_error *err)
{
    struct fp4_linear_params p;

    if (!case_is_layer(c))
        return check_product(c, err);
    if (c->recipe != CR_TORCHAO)
        return fp4_fail(err, FP4_ESUPPORT, "the layers are torchao's: te-ref has the product alone");
    if (c->dtype != FP4_BF16)
        return fp4_fail(err, FP4_ESUPPORT, "the layers take and give bf16");
    if (c->data && !c->data->value)
        return fp4_fail(err, FP4_ESUPPORT, "data '%s' are bytes of operands: mode product", c->data->name);
    case_linear_params(c, &p);
    return fp4_linear_check(&p, err);
}

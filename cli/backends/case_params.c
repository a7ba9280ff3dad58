/* SPDX-License-Identifier: Apache-2.0 */
/* From the knobs of a case to the parameters of an op: once, for all backends. */
#include "backend_rows.h"

#include <string.h>

static struct fp4_rs_model model_of(const struct fp4_case *c)
{
    return rs_model_row(c->knob[KNOB_RS])->model;
}

void quantize_params_of(const struct fp4_case *c, struct fp4_quantize_params *p)
{
    memset(p, 0, sizeof *p);
    p->recipe = case_recipe_ref(c->recipe);
    p->input = c->dtype;
    p->rows = c->rows;
    p->cols = c->cols;
    p->block_16x16 = c->knob[KNOB_BLOCK] == 1;
    p->row_scaled = c->knob[KNOB_AMAX] == 1;
    p->stochastic = c->knob[KNOB_ROUND] == 1;
    p->rs = model_of(c);
    p->stream = (enum fp4_stream)c->knob[KNOB_STREAM];
    p->philox_rounds = knob_rounds(c->knob[KNOB_ROUNDS]);
}

void rht_params_of(const struct fp4_case *c, struct fp4_rht_params *p)
{
    memset(p, 0, sizeof *p);
    p->recipe = case_recipe_ref(c->recipe);
    p->kernel = (enum fp4_rht_kernel)c->knob[KNOB_KERNEL];
    p->rows = c->rows;
    p->cols = c->cols;
    p->sign_mask = knob_sign_mask(c->knob[KNOB_SIGNS]);
    p->inverse = c->knob[KNOB_DIRECTION] == 1;
    p->sum = (enum fp4_rht_sum)c->knob[KNOB_SUM];
    p->bf16_round_trip = case_rht_round_trip(c);
    p->approx_rcp = case_rht_approx_rcp(c);
    p->stochastic = c->knob[KNOB_ROUND] == 1;
    p->rs = model_of(c);
    p->stream = (enum fp4_stream)c->knob[KNOB_STREAM];
    p->k_tile = knob_k_tile(c->knob[KNOB_KTILE]);
    p->philox_rounds = knob_rounds(c->knob[KNOB_ROUNDS]);
}

void dequantize_params_of(const struct fp4_case *c, struct fp4_dequantize_params *p)
{
    memset(p, 0, sizeof *p);
    p->rows = c->rows;
    p->cols = c->cols;
    p->row_scaled = c->knob[KNOB_AMAX] == 1;
    p->bound = knob_bound(c->knob[KNOB_BOUND]);
    p->swizzled = c->knob[KNOB_LAYOUT] == 1;
    p->output = c->dtype;
}

void rng_state_of(struct case_tensors *t, uint64_t *seed, uint64_t *offset)
{
    const struct tensor *state = tensor_find(t, "rng-state");
    uint64_t v[2] = { 0, 0 };

    if (state)
        memcpy(v, state->data, sizeof v);
    *seed = v[0];
    *offset = v[1];
}

struct fp4_quantized quantized_of(tensor_place *buffer, void *from, const char *suffix)
{
    struct fp4_quantized q;

    q.codes = buffer(from, "codes", suffix);
    q.scales = buffer(from, "block-scale", suffix);
    q.amax = buffer(from, "amax", suffix);
    q.global_scale = buffer(from, "global-scale", suffix);
    q.block_amax = buffer(from, "block-amax", suffix);
    q.scaled = buffer(from, "scaled", suffix);
    q.rbits = buffer(from, "random", suffix);
    q.dequantized = buffer(from, "dequantized", suffix);
    q.given_amax = buffer(from, "given-amax", suffix);
    q.given_rbits = buffer(from, "rbits", suffix);
    return q;
}

struct fp4_four_stages four_stages_of(tensor_place *buffer, void *from, const char *suffix)
{
    struct fp4_four_stages s = {
        { buffer(from, "scale-6", suffix), buffer(from, "scale-4", suffix) },
        { buffer(from, "codes-6", suffix), buffer(from, "codes-4", suffix) },
        { buffer(from, "error-6", suffix), buffer(from, "error-4", suffix) },
        buffer(from, "pick", suffix),
    };

    return s;
}

void operand_of(tensor_place *buffer, void *from, const char *name, struct fp4_operand *o)
{
    o->codes = buffer(from, name, "-codes");
    o->scales = buffer(from, name, "-scale");
    o->amax = buffer(from, name, "-amax");
}

static struct fp4_quantized matrix_of(tensor_place *buffer, void *from, const char *name)
{
    struct fp4_quantized q;

    memset(&q, 0, sizeof q);
    q.codes = buffer(from, name, "-codes");
    q.scales = buffer(from, name, "-scale");
    q.amax = buffer(from, name, "-amax");
    return q;
}

struct fp4_linear_tensors linear_tensors_of(tensor_place *buffer, void *from)
{
    struct fp4_linear_tensors l;

    l.x = matrix_of(buffer, from, "x");
    l.w = matrix_of(buffer, from, "w");
    l.xt = matrix_of(buffer, from, "xt");
    l.wt = matrix_of(buffer, from, "wt");
    l.dy = matrix_of(buffer, from, "dy");
    l.dyt = matrix_of(buffer, from, "dyt");
    l.x_values = buffer(from, "x-values", "");
    l.w_values = buffer(from, "w-values", "");
    return l;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* te_quantize.c: ops quantize and four-over-six, and the quantizing part of rht-quantize. */
#include "te_ops.h"

#include <stdio.h>
#include <string.h>

static bool row_scaled(const struct te_work *w)
{
    return w->c->op != OP_RHT_QUANTIZE && w->c->knob[KNOB_AMAX] == 1;
}

static void named(char full[TENSOR_NAME_MAX], const char *name, const char *suffix)
{
    snprintf(full, TENSOR_NAME_MAX, "%s%s", name, suffix);
}

/* ---- before ------------------------------------------------------------------------------------------------------------------------------ */

static void direction_begin(struct te_work *w, struct te_direction *d, const char *suffix, size_t lines, size_t length)
{
    const struct tensor *given;
    char name[TENSOR_NAME_MAX];

    memset(d, 0, sizeof *d);
    if (!suffix)
        return;
    given = te_case_tensor(w, "given-amax", suffix);
    d->suffix = suffix;
    d->lines = lines;
    d->length = length;
    d->given = given != NULL;
    named(name, "codes", suffix);
    d->codes = te_memory(w, name, lines * length / 2, NULL);
    named(name, "block-scale", suffix);
    d->scales = te_memory(w, name, te_scales_rows(lines) * te_scales_cols((length + 15) / 16), NULL);
    named(name, "amax", suffix);
    d->amax = te_memory(w, name, (row_scaled(w) ? lines : 1) * sizeof(float), given ? given->data : NULL);
}

static void set_direction(struct te_work *w, te_tensor out, const struct te_direction *d, enum te_param data, enum te_param scales,
                          enum te_param amax)
{
    if (!d->suffix)
        return;
    te_set(w, out, data, d->codes, TE_FLOAT4E2M1, d->lines, d->length);
    te_set(w, out, scales, d->scales, TE_FLOAT8E4M3, te_scales_rows(d->lines), te_scales_cols((d->length + 15) / 16));
    te_set(w, out, amax, d->amax, TE_FLOAT32, 0, row_scaled(w) ? d->lines : 1);
}

static void four_settings(struct te_work *w, te_config config)
{
    struct fp4_four_params p;

    case_four_params(w->c, &p);
    te_set_switch(w, config, TE_FOUR_MODE, p.error == FP4_FOUR_MAE ? 1 : 2);
    if (p.fast_error)
        te_set_switch(w, config, TE_FOUR_FAST_ERROR, 1);
}

static void set_bound(struct te_work *w, te_tensor out)
{
    int bound = w->c->op == OP_FOUR_OVER_SIX ? (int)knob_bound(w->c->knob[KNOB_BOUND]) : 448;

    if (!w->failed && bound != 448)
        w->l->api.set_tensor_param(out, TE_BOUND, &bound, sizeof bound);
}

static te_config settings(struct te_work *w)
{
    te_config config = te_new_config(w);

    if (w->c->op != OP_RHT_QUANTIZE && w->c->knob[KNOB_BLOCK] == 1)
        te_set_switch(w, config, TE_TILES, 1);
    if (w->c->op == OP_FOUR_OVER_SIX) {
        four_settings(w, config);
        return config;
    }
    if (w->c->recipe == CR_TE_FAST)
        te_set_switch(w, config, TE_FAST_MATH, 1);
    if (w->c->knob[KNOB_ROUND] == 1) {
        te_tensor state = te_new_tensor(w, TE_PLAIN);

        te_set(w, state, TE_ROW_DATA, te_input(w, "rng-state", ""), TE_INT64, 0, 2);
        te_set_switch(w, config, TE_STOCHASTIC, 1);
        if (!w->failed)
            w->l->api.set_config(config, TE_RNG_STATE, &state, sizeof state);
    }
    return config;
}

void te_call_begin(struct te_work *w, struct te_call *call, te_tensor in, size_t rows, size_t cols, const char *row,
                   const char *col, bool swapped)
{
    call->in = in;
    call->rows = rows;
    call->cols = cols;
    direction_begin(w, &call->row, row, rows, cols);
    direction_begin(w, &call->col, col, cols, rows);
    call->out = te_new_tensor(w, TE_NVFP4);
    set_direction(w, call->out, &call->row, TE_ROW_DATA, TE_ROW_SCALES, TE_ROW_AMAX);
    if (swapped)
        set_direction(w, call->out, &call->col, TE_ROW_DATA, TE_ROW_SCALES, TE_ROW_AMAX);
    else
        set_direction(w, call->out, &call->col, TE_COL_DATA, TE_COL_SCALES, TE_COL_AMAX);
    if (row_scaled(w))
        te_set_flag(w, call->out, TE_ROW_SCALED);
    set_bound(w, call->out);
    call->config = settings(w);
}

/* ---- the call ------------------------------------------------------------------------------------------------------------------------------ */

/* One amax for both directions, as a user of the library has it; with the vector-blockwise kernel a given one, too. */
static void amaxes(struct te_work *w, const struct te_call *call, enum te_path path)
{
    const struct te_direction *first = call->row.suffix ? &call->row : &call->col;
    bool vector = path == TE_PATH_VECTOR || path == TE_PATH_HADAMARD_VECTOR;

    if (row_scaled(w)) /* the library computes them */
        return;
    if (!first->given) {
        if (first == &call->col) /* it writes to the rowwise one, if anywhere */
            te_set(w, call->out, TE_ROW_AMAX, call->col.amax, TE_FLOAT32, 0, 1);
        if (!w->failed)
            w->l->api.compute_amax(call->in, call->out, NULL);
    }
    if (call->row.suffix && call->col.suffix && (!first->given || vector))
        te_copy(w, call->col.amax, call->row.amax, sizeof(float), TE_ON_DEVICE);
}

void te_call_quantize(struct te_work *w, const struct te_call *call, enum te_path path)
{
    te_tensor out = call->out;

    amaxes(w, call, path);
    if (w->failed)
        return;
    if (path == TE_PATH_GROUP)
        w->l->api.group_quantize(call->in, &out, &call->rows, 1, call->config, NULL);
    else
        w->l->api.quantize(call->in, out, call->config, NULL);
}

/* ---- after --------------------------------------------------------------------------------------------------------------------------------- */

static bool all_zero(const struct tensor *t)
{
    size_t i;

    for (i = 0; i < t->bytes; i++)
        if (t->data[i])
            return false;
    return true;
}

/* A block whose scale is not zero holds an element of at least three steps: zeros under a scale were never converted. */
static void refuse_zeros(struct te_work *w, const struct te_direction *d)
{
    const struct tensor *codes = te_case_tensor(w, "codes", d->suffix), *scales = te_case_tensor(w, "block-scale", d->suffix);

    if (w->failed || !all_zero(codes) || all_zero(scales))
        return;
    fp4_fail(w->err, FP4_EIO,
             "the library left zeros in '%s' under block scales that are not: its build cannot convert on this device",
             codes->name);
    w->failed = true;
}

/* An amax that was given comes back as it went in; of a NaN the one in every output. */
static void plain_nan(struct tensor *amax)
{
    size_t i;

    for (i = 0; i < amax->bytes / sizeof(float); i++) {
        float v;

        memcpy(&v, amax->data + i * sizeof v, sizeof v);
        if (v != v) {
            v = fp4_f32_from_bits(0x7FFFFFFF);
            memcpy(amax->data + i * sizeof v, &v, sizeof v);
        }
    }
}

static void direction_fetch(struct te_work *w, const struct te_direction *d)
{
    if (!d->suffix)
        return;
    te_output(w, "amax", d->suffix, d->amax);
    if (d->given)
        plain_nan(te_case_tensor(w, "amax", d->suffix));
    te_scales_out(w, d->scales, te_case_tensor(w, "block-scale", d->suffix));
    te_output(w, "codes", d->suffix, d->codes);
    refuse_zeros(w, d);
}

void te_call_fetch(struct te_work *w, const struct te_call *call)
{
    direction_fetch(w, &call->row);
    direction_fetch(w, &call->col);
}

void te_run_quantize(struct te_work *w, enum te_path path)
{
    const struct fp4_case *c = w->c;
    te_tensor in = te_new_tensor(w, TE_PLAIN);
    struct te_call call;

    te_set(w, in, TE_ROW_DATA, te_input(w, "x", ""), te_dtype_of(c->dtype), c->rows, c->cols);
    te_call_begin(w, &call, in, c->rows, c->cols, c->knob[KNOB_OUT] != 1 ? "" : NULL, c->knob[KNOB_OUT] != 0 ? ".t" : NULL, false);
    te_call_quantize(w, &call, path);
    te_work_synchronize(w);
    te_call_fetch(w, &call);
}

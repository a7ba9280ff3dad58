/* SPDX-License-Identifier: Apache-2.0 */
/* report_json.c: the machine-readable report; report.h documents its keys. One case a line. */
#include "report.h"

#include <inttypes.h>

static void add_string(struct text *t, const char *s)
{
    struct text clean = { 0 };

    utf8_text(&clean, s);
    text_json(t, clean.data ? clean.data : "");
    t->failed |= clean.failed;
    text_release(&clean);
}

static void key_text(struct text *t, const char *key, const char *value)
{
    text_printf(t, ",\"%s\":", key);
    add_string(t, value);
}

/* Left out when there is nothing to say. */
static void key_text_if(struct text *t, const char *key, const char *value)
{
    if (value && *value)
        key_text(t, key, value);
}

static void key_count(struct text *t, const char *key, size_t value)
{
    text_printf(t, ",\"%s\":%zu", key, value);
}

static void key_element(struct text *t, const char *key, enum fp4_dtype dtype, uint64_t bits)
{
    char value[ELEMENT_TEXT_MAX], hex[ELEMENT_TEXT_MAX];

    text_printf(t, ",\"%s\":\"%s\",\"%s_bits\":\"%s\"", key, element_value(dtype, bits, value), key, element_hex(dtype, bits, hex));
}

static void write_out(struct report *r)
{
    if (r->text.data)
        fwrite(r->text.data, 1, r->text.length, r->out);
    r->text.length = 0;
    if (r->text.data)
        r->text.data[0] = '\0';
}

/* ---- places, tensors, cases -------------------------------------------------------------------------------------------------- */

static void add_place(struct text *t, const struct tensor_diff *d, const struct diff_place *p)
{
    text_printf(t, "{\"row\":%zu,\"col\":%zu,\"block\":%zu", p->row, p->col, p->block);
    if (d->dtype == FP4_E2M1)
        key_count(t, "nibble", p->nibble);
    if (p->has & PLACE_INPUT_AT) {
        key_count(t, "input_row", p->input_row);
        key_count(t, "input_col", p->input_col);
    }
    if (p->has & PLACE_INPUT)
        key_element(t, "input", p->input_dtype, p->input);
    if (p->has & PLACE_AMAX)
        key_element(t, "block_amax", FP4_F32, p->block_amax);
    if (p->has & PLACE_SCALE)
        key_element(t, "scale", FP4_E4M3, p->scale);
    if (p->has & PLACE_SCALED)
        key_element(t, "scaled", FP4_F32, p->scaled);
    if (p->has & PLACE_RBITS)
        text_printf(t, ",\"rbits\":\"0x%08" PRIx32 "\"", p->rbits);
    if (p->has & PLACE_BYTE)
        text_printf(t, ",\"byte\":\"0x%02x\"", p->byte);
    key_element(t, "a", d->dtype, p->a);
    key_element(t, "b", d->dtype, p->b);
    if (p->has & PLACE_REF)
        key_element(t, "ref", d->dtype, p->ref);
    text_add(t, "}");
}

static void add_located(struct text *t, const struct tensor_diff *d)
{
    key_count(t, "differing", d->differing);
    key_count(t, "one_step", d->classes.one_step);
    key_count(t, "more_steps", d->classes.more_steps);
    key_count(t, "zero_sign", d->classes.zero_sign);
    key_count(t, "nan_only", d->classes.nan_only);
    key_count(t, "nan_number", d->classes.nan_number);
    key_count(t, "other", d->classes.other);
    key_count(t, "policy_zero", d->policy_zero);
    key_count(t, "policy_nan", d->policy_nan);
    if (d->flipped)
        key_count(t, "flipped", d->flipped);
    if (d->nan_policy)
        key_count(t, "nan_policy", d->nan_policy);
    if (d->padding_differs)
        text_add(t, ",\"padding_differs\":true");
    key_text_if(t, "looks_like", d->looks_like);
    text_add(t, ",\"places\":[");
    for (size_t i = 0; i < d->place_count; i++) {
        text_add(t, i ? "," : "");
        add_place(t, d, &d->places[i]);
    }
    text_add(t, "]");
}

static void add_blocks(struct text *t, const struct tensor_diff *d)
{
    size_t listed = d->blocks_differing < PLACES_MAX ? d->blocks_differing : PLACES_MAX;

    key_text(t, "no_bytes", d->no_bytes);
    key_count(t, "blocks", d->blocks);
    key_count(t, "blocks_differing", d->blocks_differing);
    text_add(t, ",\"block_list\":[");
    for (size_t i = 0; i < listed; i++)
        text_printf(t, "%s%zu", i ? "," : "", d->block_list[i]);
    text_add(t, "]");
}

static void add_tensor(struct text *t, const struct tensor_diff *d)
{
    static const char *const roles[] = { [TENSOR_INPUT] = "input", [TENSOR_OUTPUT] = "output", [TENSOR_STAGE] = "stage" };

    text_add(t, "{\"name\":");
    add_string(t, d->name);
    key_text(t, "role", roles[d->role]);
    key_text(t, "dtype", fp4_dtype_name(d->dtype));
    text_printf(t, d->ndim == 2 ? ",\"shape\":[%zu,%zu]" : ",\"shape\":[%zu]", d->dims[0], d->dims[1]);
    key_count(t, "elements", d->elements);
    text_printf(t, ",\"equal\":%s", d->equal ? "true" : "false");
    key_text_if(t, "only", d->only);
    if (d->shape_differs)
        text_add(t, ",\"shape_differs\":true");
    text_printf(t, ",\"located\":%s", d->located ? "true" : "false");
    if (d->located)
        add_located(t, d);
    else if (d->no_bytes[0])
        add_blocks(t, d);
    text_add(t, "}");
}

/* Figures of a test are no results: numbers of three digits. */
static void add_statistics(struct text *t, const struct case_diff *d)
{
    text_add(t, ",\"statistics\":{");
    for (size_t i = 0; i < 2; i++) {
        const struct stat_side *s = &d->statistics[i];

        text_printf(t, "%s\"%s\":{\"fails\":%s,\"draws\":%zu,\"impossible\":%zu,\"tests\":%zu,\"threshold\":%.3g", i ? "," : "",
                    i ? "b" : "a", s->fails ? "true" : "false", s->draws, s->impossible, s->tests, s->threshold);
        text_printf(t, ",\"bias\":%.3g,\"bias_margin\":%.3g,\"detectable_bias\":%.3g,\"worst\":[", s->bias, s->bias_margin,
                    s->detectable);
        for (size_t k = 0; k < s->worst_count; k++) {
            text_add(t, k ? ",{\"test\":" : "{\"test\":");
            add_string(t, s->worst[k].name);
            text_printf(t, ",\"p\":%.3g}", s->worst[k].p);
        }
        text_add(t, "]");
        key_text_if(t, "rule", s->rule);
        text_add(t, "}");
    }
    text_add(t, "}");
}

static void add_diff(struct text *t, const struct case_diff *d)
{
    const struct tensor_diff *first = NULL;

    key_text_if(t, "only", d->only);
    for (size_t i = 0; i < d->tensor_count && !first; i++)
        first = d->tensors[i].equal ? NULL : &d->tensors[i];
    if (first)
        key_text(t, "first", first->name);
    if (d->statistical)
        add_statistics(t, d);
    key_text_if(t, "no_context", d->no_context);
    if (d->verdict != VERDICT_EQUAL)
        key_text_if(t, "repro", d->repro);
    picks_json(d, t);
    if (!d->tensor_count)
        return;
    text_add(t, ",\"tensors\":[");
    for (size_t i = 0; i < d->tensor_count; i++) {
        text_add(t, i ? "," : "");
        add_tensor(t, &d->tensors[i]);
    }
    text_add(t, "]");
}

/* ---- the causes --------------------------------------------------------------------------------------------------------------- */

static void add_names(struct text *t, const char *key, const struct deviation *const *rows, size_t count)
{
    text_printf(t, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++) {
        text_add(t, i ? "," : "");
        add_string(t, rows[i]->name);
    }
    text_add(t, "]");
}

static void add_cause(struct text *t, const struct deviation *row, size_t alone)
{
    text_add(t, "{\"name\":");
    add_string(t, row->name);
    key_text(t, "spec", row->spec);
    key_text(t, "says", row->says);
    key_count(t, "alone", alone);
    text_add(t, "}");
}

static void add_diagnosis_place(struct text *t, const struct diagnosis_place *p)
{
    char hex[ELEMENT_TEXT_MAX];

    text_add(t, "{\"case\":");
    add_string(t, p->name);
    key_text(t, "tensor", p->tensor);
    key_count(t, "row", p->row);
    key_count(t, "col", p->col);
    key_text(t, "reference_bits", element_hex(p->dtype, p->reference, hex));
    key_text(t, "seen_bits", element_hex(p->dtype, p->seen, hex));
    text_add(t, "}");
}

static void add_finding(struct text *t, const struct diagnosis_finding *f)
{
    const char *joint = "";

    text_printf(t, "\n{\"side\":\"%c\",\"cause\":[", f->side);
    for (size_t i = 0; i < f->depth; i++) {
        text_add(t, i ? "," : "");
        add_cause(t, f->stack[i], f->alone[i]);
    }
    text_add(t, "]");
    add_names(t, "same", f->same, f->same_count);
    key_text_if(t, "model", f->model);
    text_add(t, ",\"ops\":[");
    for (size_t op = 0; op < OP_COUNT; op++)
        if (f->ops >> op & 1u) {
            text_printf(t, "%s\"%s\"", joint, fp4_ops[op].name);
            joint = ",";
        }
    text_add(t, "]");
    key_count(t, "cases", f->cases);
    key_count(t, "whole", f->whole);
    key_text(t, "units", f->by_digest ? "blocks" : "bytes");
    key_count(t, "differing", f->differing);
    key_count(t, "explained", f->explained);
    key_count(t, "broken", f->broken);
    key_count(t, "others", f->others);
    key_count(t, "others_broken", f->others_broken);
    text_add(t, ",\"places\":[");
    for (size_t i = 0; i < f->place_count; i++) {
        text_add(t, i ? "," : "");
        add_diagnosis_place(t, &f->places[i]);
    }
    text_add(t, "]}");
}

static void add_diagnosis(struct text *t, const struct diagnosis *g)
{
    text_printf(t, ",\n\"diagnosis\":{\"differing\":%zu,\"considered\":%zu,\"left_out\":%zu,\"findings\":[", g->differing,
                g->considered, g->left_out);
    for (size_t i = 0; i < g->count; i++) {
        text_add(t, i ? "," : "");
        add_finding(t, &g->findings[i]);
    }
    text_add(t, "]}");
}

/* ---- the document ------------------------------------------------------------------------------------------------------------ */

static void json_open(struct report *r)
{
    text_add(&r->text, "{\"format\":\"fp4check-report\",\"version\":1");
    key_text(&r->text, "command", r->command ? r->command : "");
    key_text(&r->text, "tool", "fp4check " FP4_VERSION);
    text_add(&r->text, ",\n\"sections\":[");
    write_out(r);
}

static void add_side(struct text *t, const char *key, const struct diff_heading_side *s)
{
    text_printf(t, ",\"%s\":{\"label\":", key);
    add_string(t, s->label);
    key_text(t, "path", s->path);
    key_text(t, "backend", s->backend);
    key_text_if(t, "tool", s->tool);
    key_text_if(t, "os", s->os);
    key_text_if(t, "arch", s->arch);
    key_text_if(t, "build", s->build);
    text_printf(t, ",\"complete\":%s}", s->complete ? "true" : "false");
}

static void add_rule(struct text *t, const struct diff_policy *p)
{
    text_add(t, ",\"rule\":{\"tolerance\":");
    if (p->tolerance.set)
        add_string(t, p->tolerance.text);
    else
        text_add(t, "null");
    if (p->statistical.set)
        text_printf(t, ",\"statistical\":{\"error_rate\":%.3g}", p->statistical.error_rate);
    text_printf(t, ",\"signed_zero\":\"%s\",\"nan\":\"%s\"}", p->signed_zero_equal ? "equal" : "strict",
                p->nan_equal ? "equal" : "strict");
}

static void json_begin(struct report *r, const struct report_section *s)
{
    text_printf(&r->text, "%s\n{\"title\":", r->sections > 1 ? "," : "");
    add_string(&r->text, s->title);
    if (s->diff) {
        add_side(&r->text, "a", &s->diff->a);
        add_side(&r->text, "b", &s->diff->b);
        add_rule(&r->text, s->diff->policy);
    }
    text_add(&r->text, ",\n\"cases\":[");
    write_out(r);
}

static void json_item(struct report *r, const struct report_case *c)
{
    text_printf(&r->text, "%s\n{\"case\":", r->cases ? "," : "");
    add_string(&r->text, c->name);
    key_text(&r->text, "op", c->op);
    key_text(&r->text, "verdict", c->status);
    key_text_if(&r->text, "reason", c->reason);
    if (c->diff)
        add_diff(&r->text, c->diff);
    text_add(&r->text, "}");
    write_out(r);
}

static void json_end(struct report *r, const struct report_totals *t)
{
    static const char *const keys[VERDICT_COUNT] = { "equal", "within_tolerance", "differs", "skipped", "error", "not_comparable" };
    static const char *const outcomes[] = { "passed", "failed", "error", "skipped" };
    const struct diff_summary *s = t->diff;

    text_printf(&r->text, "\n],\n\"totals\":{\"total\":%zu", s ? s->total : t->total);
    if (s) {
        key_count(&r->text, "compared", diff_compared(s));
        for (size_t v = 0; v < VERDICT_COUNT; v++)
            key_count(&r->text, keys[v], s->verdicts[v]);
        key_count(&r->text, "only_a", s->only_a);
        key_count(&r->text, "only_b", s->only_b);
        key_count(&r->text, "policy_cases", s->policy_cases);
        key_count(&r->text, "policy_zero", s->policy_zero);
        key_count(&r->text, "policy_nan", s->policy_nan);
    } else {
        for (size_t i = 0; i <= REPORT_SKIP; i++)
            key_count(&r->text, outcomes[i], t->outcomes[i]);
    }
    text_add(&r->text, "}");
    if (s && s->diagnosis)
        add_diagnosis(&r->text, s->diagnosis);
    text_add(&r->text, "}");
    write_out(r);
}

static void json_finish(struct report *r, int exit_status)
{
    fprintf(r->out, "\n],\n\"exit\":%d}\n", exit_status);
}

const struct report_format report_json = {
    .name = "JSON", .spool = true, .open = json_open, .begin = json_begin, .item = json_item, .end = json_end, .finish = json_finish
};

/* SPDX-License-Identifier: Apache-2.0 */
/* report_diagnosis.c: the causes of differences in words. */
#include "report.h"

#include <string.h>

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void add_ops(uint32_t ops, struct text *out)
{
    const char *joint = "";

    for (size_t op = 0; op < OP_COUNT; op++)
        if (ops >> op & 1u) {
            text_printf(out, "%s%s", joint, fp4_ops[op].name);
            joint = ", ";
        }
}

static void add_extent(const struct diagnosis_finding *f, struct text *out)
{
    char share[ELEMENT_TEXT_MAX];
    const char *unit = f->by_digest ? "block" : "byte";

    text_printf(out, "%s of %zu differing %s%s in %zu case%s (", share_text(f->explained, f->differing, share), f->differing, unit,
                plural(f->differing), f->cases, plural(f->cases));
    add_ops(f->ops, out);
    text_add(out, ")");
}

static void add_row(const struct deviation *row, struct text *out)
{
    text_printf(out, "%s [%s%s%s]", row->says, row->name, *row->spec ? ", " : "", row->spec);
}

static void add_place(const struct diagnosis_place *p, const char *indent, struct text *out)
{
    char right[ELEMENT_TEXT_MAX], seen[ELEMENT_TEXT_MAX];

    text_printf(out, "%s     ", indent);
    plain_text(out, p->name);
    text_printf(out, ": %s %zu,%zu is %s", p->tensor, p->row, p->col, element_hex(p->dtype, p->seen, seen));
    text_printf(out, ", right is %s\n", element_hex(p->dtype, p->reference, right));
}

static void add_doubts(const struct diagnosis_finding *f, const char *indent, struct text *out)
{
    if (f->same_count) {
        text_printf(out, "%s     the same would come of:", indent);
        for (size_t i = 0; i < f->same_count; i++)
            text_printf(out, "%s %s", i ? "," : "", f->same[i]->name);
        text_add(out, "\n");
    }
    if (f->broken)
        text_printf(out, "%s     it would also change %zu that are equal\n", indent, f->broken);
    if (f->others_broken)
        text_printf(out, "%s     %zu of %zu equal cases would change too: it is not in all of them\n", indent, f->others_broken,
                    f->others);
}

static void add_cause(const struct diagnosis_finding *f, const char *indent, struct text *out)
{
    char share[ELEMENT_TEXT_MAX];

    if (f->depth == 1) {
        add_row(f->stack[0], out);
    } else {
        text_printf(out, "%zu faults, in the order of the pipeline", f->depth);
        for (size_t i = 0; i < f->depth; i++) {
            text_printf(out, "\n%s     - ", indent);
            add_row(f->stack[i], out);
            text_printf(out, "; alone %s", share_text(f->alone[i], f->differing, share));
        }
    }
    text_add(out, "\n");
    if (f->model[0])
        text_printf(out, "%s     that is rs-model %s\n", indent, f->model);
}

static void add_unknown(const struct diagnosis_finding *f, const char *indent, struct text *out)
{
    const char *unit = f->by_digest ? "block" : "byte";
    char share[ELEMENT_TEXT_MAX];

    text_printf(out, "no known cause for %zu differing %s%s in %zu case%s (", f->differing, unit, plural(f->differing), f->cases,
                plural(f->cases));
    add_ops(f->ops, out);
    text_add(out, ")\n");
    if (f->same_count && f->explained)
        text_printf(out, "%s     nearest: %s, which explains %s and would change %zu that are equal\n", indent, f->same[0]->name,
                    share_text(f->explained, f->differing, share), f->broken);
}

static void add_finding(const struct diagnosis_finding *f, const char *who, const char *indent, FILE *styled, struct text *out)
{
    text_printf(out, "%s%c", indent, f->side - 'a' + 'A');
    if (who) {
        text_add(out, " (");
        plain_text(out, who);
        text_add(out, ")");
    }
    text_printf(out, ": %s", styled ? term_on(styled, STYLE_WARN) : "");
    if (!f->depth) {
        add_unknown(f, indent, out);
        text_add(out, styled ? term_off(styled) : "");
        return;
    }
    add_cause(f, indent, out);
    text_printf(out, "%s%s     explains ", styled ? term_off(styled) : "", indent);
    add_extent(f, out);
    text_add(out, "\n");
    add_doubts(f, indent, out);
    for (size_t i = 0; i < f->place_count; i++)
        add_place(&f->places[i], indent, out);
}

void diagnosis_text(const struct diagnosis *g, const char *a, const char *b, const char *indent, FILE *styled, struct text *out)
{
    for (size_t i = 0; i < g->count; i++)
        add_finding(&g->findings[i], g->findings[i].side == 'a' ? a : b, indent, styled, out);
    if (g->left_out)
        text_printf(out,
                    "%s%zu of %zu results of differing cases were not looked at: large, of a layer, not to be made again here, or\n"
                    "%s     beyond the first 40 of an op\n",
                    indent, g->left_out, g->differing, indent);
}

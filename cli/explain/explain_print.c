/* SPDX-License-Identifier: Apache-2.0 */
/* explain_print.c: an explanation as text and as JSON. */
#include "explain.h"
#include "term.h"

#include <inttypes.h>
#include <string.h>

static bool decimal(char text[32], enum fp4_dtype dtype, uint64_t bits)
{
    float v;

    switch (dtype) {
    case FP4_F32:
        v = fp4_f32_from_bits((uint32_t)bits);
        break;
    case FP4_F16:
        v = f16_to_f32((f16_t){ (uint16_t)bits });
        break;
    case FP4_BF16:
        v = bf16_to_f32((bf16_t){ (uint16_t)bits });
        break;
    case FP4_E2M1:
        v = e2m1_to_f32((e2m1_t){ (uint8_t)bits });
        break;
    case FP4_E4M3:
        v = e4m3_to_f32((e4m3_t){ (uint8_t)bits });
        break;
    default:
        return false;
    }
    if (v != v)
        snprintf(text, 32, "nan");
    else
        snprintf(text, 32, "%.9g", (double)v);
    return true;
}

static void hexadecimal(char text[24], enum fp4_dtype dtype, uint64_t bits)
{
    int digits = dtype == FP4_E2M1 ? 1 : (int)(2 * fp4_dtype_bytes(dtype, 1));

    snprintf(text, 24, "0x%0*" PRIx64, digits, bits);
}

void explain_number(char text[64], enum fp4_dtype dtype, uint64_t bits)
{
    char hex[24], value[32];

    hexadecimal(hex, dtype, bits);
    if (decimal(value, dtype, bits))
        snprintf(text, 64, "%s = %s", hex, value);
    else
        snprintf(text, 64, "%s", hex);
}

static void print_line(const struct explain *e, const struct explain_line *l, FILE *out)
{
    struct text line = { 0 };
    char text[64];
    size_t s;

    text_printf(&line, "  %-16s", l->key);
    if (l->values) {
        explain_number(text, l->dtype, l->bits[0]);
        text_printf(&line, " %-26s", text);
    }
    for (s = 1; s < e->side_count && l->values; s++) {
        bool differs = l->has[s] && l->bits[s] != l->bits[0];

        explain_number(text, l->dtype, l->bits[s]);
        text_printf(&line, " %s%-26s%s", differs ? term_on(out, STYLE_BAD) : "",
                    !l->has[s] ? "-"
                    : differs  ? text
                               : "the same",
                    differs ? term_off(out) : "");
    }
    text_printf(&line, "%s%s", *l->note ? " " : "", l->note);
    while (line.length && line.data[line.length - 1] == ' ')
        line.length--;
    fprintf(out, "%.*s\n", (int)line.length, line.data ? line.data : "");
    text_release(&line);
}

void explain_print(const struct explain *e, FILE *out)
{
    const struct explain_line *first;
    size_t i, side = 0;

    fprintf(out, "%s%s%s  row %zu, column %zu%s\n", term_on(out, STYLE_BOLD), e->name, term_off(out), e->row, e->col,
            e->transposed ? ", transposed output" : "");
    if (e->side_count > 1) {
        fprintf(out, "  %-16s", "");
        for (i = 0; i < e->side_count; i++)
            fprintf(out, " %-26s", e->sides[i].label);
        fputc('\n', out);
    }
    for (i = 0; i < e->line_count; i++)
        print_line(e, &e->lines[i], out);
    if (e->side_count < 2)
        return;
    first = explain_difference(e, &side);
    if (first)
        fprintf(out, "first difference: %s of %s\n", first->key, e->sides[side].label);
    else
        fputs("no difference in what all sides have\n", out);
}

static void json_values(const struct explain *e, const struct explain_line *l, struct text *t)
{
    char hex[24], value[32];
    size_t s;

    text_printf(t, ",\"dtype\":\"%s\",\"values\":[", fp4_dtype_name(l->dtype));
    for (s = 0; s < e->side_count; s++) {
        text_add(t, s ? "," : "");
        if (!l->has[s]) {
            text_add(t, "null");
            continue;
        }
        hexadecimal(hex, l->dtype, l->bits[s]);
        text_printf(t, "{\"bits\":\"%s\"", hex);
        if (decimal(value, l->dtype, l->bits[s]))
            text_printf(t, ",\"value\":\"%s\"", value);
        text_add(t, "}");
    }
    text_add(t, "]");
}

void explain_json(const struct explain *e, FILE *out)
{
    const struct explain_line *first;
    struct text t = { 0 };
    size_t i, side = 0;

    text_add(&t, "{\"format\":\"fp4check-explain\",\"version\":1,\"case\":");
    text_json(&t, e->name);
    text_printf(&t, ",\"row\":%zu,\"col\":%zu,\"transposed\":%s,\n\"sides\":[", e->row, e->col, e->transposed ? "true" : "false");
    for (i = 0; i < e->side_count; i++) {
        text_add(&t, i ? "," : "");
        text_json(&t, e->sides[i].label);
    }
    text_add(&t, "],\n\"stages\":[");
    for (i = 0; i < e->line_count; i++) {
        text_add(&t, i ? ",\n{\"key\":" : "\n{\"key\":");
        text_json(&t, e->lines[i].key);
        if (e->lines[i].values)
            json_values(e, &e->lines[i], &t);
        if (*e->lines[i].note) {
            text_add(&t, ",\"note\":");
            text_json(&t, e->lines[i].note);
        }
        text_add(&t, "}");
    }
    text_add(&t, "],\n\"first_difference\":");
    first = explain_difference(e, &side);
    if (first) {
        text_add(&t, "{\"key\":");
        text_json(&t, first->key);
        text_add(&t, ",\"side\":");
        text_json(&t, e->sides[side].label);
        text_add(&t, "}}\n");
    } else {
        text_add(&t, "null}\n");
    }
    fputs(t.data ? t.data : "", out);
    text_release(&t);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* report_case.c: one differing case for human eyes: its tensors, the first places as a table, the diagnosis, the command. */
#include "report.h"

#include <inttypes.h>
#include <string.h>

#define CELL_MAX 64

typedef bool (*cell_fn)(const struct tensor_diff *t, const struct diff_place *p, char *text);

static bool both(char *text, enum fp4_dtype dtype, uint64_t bits)
{
    char value[ELEMENT_TEXT_MAX], hex[ELEMENT_TEXT_MAX];

    element_hex(dtype, bits, hex);
    if (dtype == FP4_U8 || dtype == FP4_U32 || dtype == FP4_U64)
        snprintf(text, CELL_MAX, "%s", hex);
    else
        snprintf(text, CELL_MAX, "%s (%s)", element_value(dtype, bits, value), hex);
    return true;
}

static bool cell_row(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    (void)t;
    snprintf(text, CELL_MAX, "%zu", p->row);
    return true;
}

static bool cell_col(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    snprintf(text, CELL_MAX, "%zu", p->col);
    return t->ndim == 2;
}

static bool cell_block(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    snprintf(text, CELL_MAX, "%zu", p->block);
    return t->ndim == 2 && t->dtype != FP4_U8 && t->dtype != FP4_U64;
}

static bool cell_nibble(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    snprintf(text, CELL_MAX, "%u", p->nibble);
    return t->ndim == 2 && t->dtype == FP4_E2M1;
}

static bool cell_input_at(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    (void)t;
    snprintf(text, CELL_MAX, "%zu,%zu", p->input_row, p->input_col);
    return p->has & PLACE_INPUT_AT;
}

static bool cell_input(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    (void)t;
    return (p->has & PLACE_INPUT) && both(text, p->input_dtype, p->input);
}

static bool cell_amax(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    (void)t;
    return (p->has & PLACE_AMAX) && both(text, FP4_F32, p->block_amax);
}

static bool cell_scale(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    return (p->has & PLACE_SCALE) && t->dtype != FP4_E4M3 && both(text, FP4_E4M3, p->scale);
}

static bool cell_scaled(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    return (p->has & PLACE_SCALED) && strncmp(t->name, "scaled", 6) != 0 && both(text, FP4_F32, p->scaled);
}

static bool cell_rbits(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    (void)t;
    snprintf(text, CELL_MAX, "0x%08" PRIx32, p->rbits);
    return p->has & PLACE_RBITS;
}

static bool cell_byte(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    (void)t;
    snprintf(text, CELL_MAX, "0x%02x", p->byte);
    return p->has & PLACE_BYTE;
}

static bool cell_a(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    return both(text, t->dtype, p->a);
}

static bool cell_b(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    return both(text, t->dtype, p->b);
}

static bool cell_ref(const struct tensor_diff *t, const struct diff_place *p, char *text)
{
    return (p->has & PLACE_REF) && both(text, t->dtype, p->ref);
}

/* A column is shown when one of the places has something for it. */
static const struct column {
    const char *title;
    cell_fn cell;
} columns[] = {
    { "row", cell_row },
    { "col", cell_col },
    { "block", cell_block },
    { "nibble", cell_nibble },
    { "input at", cell_input_at },
    { "input", cell_input },
    { "block amax", cell_amax },
    { "scale", cell_scale },
    { "scaled", cell_scaled },
    { "rbits", cell_rbits },
    { "byte", cell_byte },
    { "A", cell_a },
    { "B", cell_b },
    { "ref", cell_ref },
};
#define COLUMNS (sizeof columns / sizeof columns[0])

static size_t column_width(const struct column *column, const struct tensor_diff *t)
{
    char text[CELL_MAX];
    size_t width = 0;

    for (size_t i = 0; i < t->place_count; i++)
        if (column->cell(t, &t->places[i], text) && strlen(text) > width)
            width = strlen(text);
    return width == 0 || width > strlen(column->title) ? width : strlen(column->title);
}

static void add_row(const struct tensor_diff *t, const struct diff_place *p, const size_t *width, struct text *out)
{
    struct text line = { 0 };
    char text[CELL_MAX];

    for (size_t c = 0; c < COLUMNS; c++) {
        if (!width[c])
            continue;
        bool filled = p && columns[c].cell(t, p, text);
        text_printf(&line, "  %-*s", (int)width[c], !p ? columns[c].title : filled ? text : "-");
    }
    while (line.length && line.data[line.length - 1] == ' ')
        line.length--;
    if (line.data)
        text_addn(out, line.data, line.length);
    text_add(out, "\n");
    text_release(&line);
}

static void add_places(const struct tensor_diff *t, const char *indent, struct text *out)
{
    size_t width[COLUMNS];

    if (!t->place_count)
        return;
    for (size_t c = 0; c < COLUMNS; c++)
        width[c] = column_width(&columns[c], t);
    for (size_t i = 0; i <= t->place_count; i++) {
        text_printf(out, "%s  ", indent);
        add_row(t, i ? &t->places[i - 1] : NULL, width, out);
    }
    if (t->differing > t->place_count)
        text_printf(out, "%s    and %zu more\n", indent, t->differing - t->place_count);
}

static void add_tensor(const struct tensor_diff *t, const char *indent, FILE *styled, struct text *out)
{
    text_printf(out, "%s  ", indent);
    tensor_text(t, out);
    text_add(out, "\n");
    if (t->looks_like)
        text_printf(out, "%s    %slooks like: %s%s\n", indent, styled ? term_on(styled, STYLE_WARN) : "", t->looks_like,
                    styled ? term_off(styled) : "");
    if (t->no_bytes[0])
        text_printf(out, "%s    the bytes of %s are not at hand, so no places: make the dump with --bytes all%s\n", indent,
                    t->no_bytes[0] == '*'   ? "A and B"
                    : t->no_bytes[0] == 'a' ? "A"
                                            : "B",
                    t->role == TENSOR_STAGE ? " --stages" : "");
    add_places(t, indent, out);
}

static void add_line(const char *indent, const char *label, const char *value, struct text *out)
{
    text_printf(out, "%s  %s: ", indent, label);
    plain_text(out, value);
    text_add(out, "\n");
}

void statistics_text(const struct case_diff *d, const char *indent, struct text *out)
{
    char line[512];

    for (size_t i = 0; i < 2 && d->statistical; i++) {
        stat_text(&d->statistics[i], line, sizeof line);
        add_line(indent, i ? "statistics of B" : "statistics of A", line, out);
    }
}

void case_text(const struct case_diff *d, const char *indent, FILE *styled, struct text *out)
{
    const struct tensor_diff *first = NULL;

    text_printf(out, "%s%s", indent, styled ? term_on(styled, STYLE_BOLD) : "");
    plain_text(out, d->name);
    text_printf(out, "%s\n%s  %s%s%s: ", styled ? term_off(styled) : "", indent, styled ? term_on(styled, STYLE_BAD) : "",
                verdict_name(d->verdict), styled ? term_off(styled) : "");
    plain_text(out, d->reason);
    text_add(out, "\n");
    statistics_text(d, indent, out);
    for (size_t i = 0; i < d->tensor_count && !first; i++)
        first = d->tensors[i].equal ? NULL : &d->tensors[i];
    if (first)
        add_line(indent, "first stage that differs", first->name, out);
    for (size_t i = 0; i < d->tensor_count; i++)
        add_tensor(&d->tensors[i], indent, styled, out);
    picks_text(d, indent, out);
    if (d->no_context[0])
        add_line(indent, "no input values", d->no_context, out);
    if (d->repro[0] && !d->only[0])
        add_line(indent, "again", d->repro, out);
}

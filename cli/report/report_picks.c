/* SPDX-License-Identifier: Apache-2.0 */
/* report_picks.c: which blocks of four-over-six took the other candidate, with the errors that decided it, for text and for JSON. */
#include "report.h"

#include <inttypes.h>

static const char *error_text(uint32_t bits, char text[2 * ELEMENT_TEXT_MAX])
{
    char value[ELEMENT_TEXT_MAX], hex[ELEMENT_TEXT_MAX];

    snprintf(text, 2 * ELEMENT_TEXT_MAX, "%s (%s)", element_value(FP4_F32, bits, value), element_hex(FP4_F32, bits, hex));
    return text;
}

static void add_side(char letter, int pick, const uint32_t error[2], bool own, struct text *out)
{
    char six[2 * ELEMENT_TEXT_MAX], four[2 * ELEMENT_TEXT_MAX];
    int64_t ulps;

    text_printf(out, "%c took map-to-%d: error of 6 %s, of 4 %s, ", letter, pick == FP4_MAP_TO_4 ? 4 : 6,
                error_text(error[FP4_MAP_TO_6], six), error_text(error[FP4_MAP_TO_4], four));
    if (!pick_distance(error, &ulps))
        text_add(out, "one is NaN");
    else if (ulps == 0)
        text_add(out, "equal");
    else
        text_printf(out, "that of 4 is %" PRId64 " ulp%s %s", ulps < 0 ? -ulps : ulps, ulps == 1 || ulps == -1 ? "" : "s",
                    ulps < 0 ? "smaller" : "larger");
    text_add(out, own ? "\n" : " (recomputed)\n");
}

void picks_text(const struct case_diff *d, const char *indent, struct text *out)
{
    const struct pick_diff *p = &d->picks;

    if (p->flips)
        text_printf(out, "%s  selection: %zu of %zu blocks took the other candidate\n", indent, p->flips, p->blocks);
    for (size_t i = 0; i < p->listed; i++) {
        const struct pick_flip *f = &p->list[i];

        text_printf(out, "%s    %s %zu, block %zu: ", indent, f->transposed ? "transposed row" : "row", f->row, f->block);
        add_side('A', f->pick_a, f->error_a, f->own_a, out);
        text_printf(out, "%s      ", indent);
        add_side('B', f->pick_b, f->error_b, f->own_b, out);
    }
    if (p->flips > p->listed)
        text_printf(out, "%s    and %zu more\n", indent, p->flips - p->listed);
    if (p->nan_blocks)
        text_printf(out, "%s  NaN policy: in %zu of %zu blocks %c propagates NaN to the scale, %c leaves it out\n", indent,
                    p->nan_blocks, p->blocks, p->nan_side[0] == 'a' ? 'A' : 'B', p->nan_side[0] == 'a' ? 'B' : 'A');
    if (p->nan_payloads)
        text_printf(out, "%s  NaN policy: in %zu of %zu blocks both scales are NaN, and codes differ that mean nothing\n", indent,
                    p->nan_payloads, p->blocks);
}

static void json_side(char letter, int pick, const uint32_t error[2], bool own, struct text *out)
{
    char value[ELEMENT_TEXT_MAX], hex[ELEMENT_TEXT_MAX];
    int64_t ulps;

    text_printf(out, ",\"%c\":%d", letter, pick == FP4_MAP_TO_4 ? 4 : 6);
    for (int k = FP4_MAP_TO_6; k <= FP4_MAP_TO_4; k++)
        text_printf(out, ",\"%c_error%d\":\"%s\",\"%c_error%d_bits\":\"%s\"", letter, k == FP4_MAP_TO_4 ? 4 : 6,
                    element_value(FP4_F32, error[k], value), letter, k == FP4_MAP_TO_4 ? 4 : 6,
                    element_hex(FP4_F32, error[k], hex));
    if (pick_distance(error, &ulps))
        text_printf(out, ",\"%c_ulps\":%" PRId64, letter, ulps);
    text_printf(out, ",\"%c_recomputed\":%s", letter, own ? "false" : "true");
}

void picks_json(const struct case_diff *d, struct text *out)
{
    const struct pick_diff *p = &d->picks;

    if (!p->flips && !p->nan_blocks && !p->nan_payloads)
        return;
    text_printf(out, ",\"selection\":{\"blocks\":%zu,\"flips\":%zu,\"nan_policy_blocks\":%zu,\"nan_payload_blocks\":%zu", p->blocks,
                p->flips, p->nan_blocks, p->nan_payloads);
    if (p->nan_side[0])
        text_printf(out, ",\"nan_propagates\":\"%s\"", p->nan_side);
    text_add(out, ",\"list\":[");
    for (size_t i = 0; i < p->listed; i++) {
        const struct pick_flip *f = &p->list[i];

        text_printf(out, "%s{\"transposed\":%s,\"row\":%zu,\"block\":%zu", i ? "," : "", f->transposed ? "true" : "false", f->row,
                    f->block);
        json_side('a', f->pick_a, f->error_a, f->own_a, out);
        json_side('b', f->pick_b, f->error_b, f->own_b, out);
        text_add(out, "}");
    }
    text_add(out, "]}");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* report_words.c: values, shares, rules and tensors in words, the same in every report. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Length of the UTF-8 sequence at s, 0 when there is none: no overlong forms, no surrogates, nothing above U+10FFFF. */
static size_t utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    static const struct {
        unsigned char low, high, second_low, second_high;
        size_t length;
    } rows[] = {
        { 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (s[0] < rows[i].low || s[0] > rows[i].high)
            continue;
        if (rows[i].length > 1 && (s[1] < rows[i].second_low || s[1] > rows[i].second_high))
            return 0;
        for (size_t k = 2; k < rows[i].length; k++)
            if (s[k] < 0x80 || s[k] > 0xbf)
                return 0;
        return rows[i].length;
    }
    return 0;
}

static bool is_control(const char *s, size_t length)
{
    unsigned char c = (unsigned char)s[0];

    return c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && (unsigned char)s[1] < 0xa0);
}

static void add_clean(struct text *out, const char *s, bool plain)
{
    while (*s) {
        size_t length = utf8_length(s);

        if (length == 0)
            text_add(out, "?");
        else if (plain && is_control(s, length))
            text_add(out, " ");
        else
            text_addn(out, s, length);
        s += length ? length : 1;
    }
}

void plain_text(struct text *out, const char *s)
{
    add_clean(out, s, true);
}

void utf8_text(struct text *out, const char *s)
{
    add_clean(out, s, false);
}

static float decoded(enum fp4_dtype dtype, uint64_t bits)
{
    switch (dtype) {
    case FP4_E2M1:
        return e2m1_to_f32((e2m1_t){ (uint8_t)bits });
    case FP4_E4M3:
        return e4m3_to_f32((e4m3_t){ (uint8_t)bits });
    case FP4_BF16:
        return bf16_to_f32((bf16_t){ (uint16_t)bits });
    case FP4_F16:
        return f16_to_f32((f16_t){ (uint16_t)bits });
    default:
        return fp4_f32_from_bits((uint32_t)bits);
    }
}

const char *element_value(enum fp4_dtype dtype, uint64_t bits, char text[ELEMENT_TEXT_MAX])
{
    if (dtype == FP4_U8 || dtype == FP4_U32 || dtype == FP4_U64) {
        snprintf(text, ELEMENT_TEXT_MAX, "%" PRIu64, bits);
        return text;
    }
    float v = decoded(dtype, bits);
    if (isnan(v)) /* printf's word for it differs from C library to C library */
        strcpy(text, "nan");
    else if (isinf(v))
        strcpy(text, v > 0 ? "inf" : "-inf");
    else
        snprintf(text, ELEMENT_TEXT_MAX, "%.9g", (double)v);
    return text;
}

const char *element_hex(enum fp4_dtype dtype, uint64_t bits, char text[ELEMENT_TEXT_MAX])
{
    int nibbles = dtype == FP4_E2M1 ? 1 : (int)(2 * fp4_dtype_bytes(dtype, 1));

    snprintf(text, ELEMENT_TEXT_MAX, "0x%0*" PRIx64, nibbles, bits);
    return text;
}

const char *share_text(size_t part, size_t whole, char text[ELEMENT_TEXT_MAX])
{
    double percent = whole ? 100.0 * (double)part / (double)whole : 0;

    if (part == whole && whole)
        strcpy(text, "100%");
    else if (part && percent < 0.0001)
        strcpy(text, "<0.0001%");
    else if (percent > 99.9) /* all but a few is not all */
        strcpy(text, ">99.9%");
    else
        snprintf(text, ELEMENT_TEXT_MAX, "%.3g%%", percent);
    return text;
}

void rule_text(const struct diff_policy *p, struct text *out)
{
    if (p->tolerance.set)
        text_printf(out, "fewer than %s of the codes may differ, each by one grid step; every other output byte for byte",
                    p->tolerance.text);
    else if (p->statistical.set)
        text_printf(out,
                    "stochastic codes as draws of exact probabilities, error rate %.3g for all cases together; all else bit-exact",
                    p->statistical.error_rate);
    else
        text_add(out, "bit-exact");
    if (p->signed_zero_equal)
        text_add(out, "; -0 equals +0");
    if (p->nan_equal)
        text_add(out, "; any NaN equals any NaN");
}

static void add_count(struct text *out, const char **joint, size_t count, const char *one, const char *many)
{
    if (!count)
        return;
    text_printf(out, "%s%zu %s", *joint, count, count == 1 ? one : many);
    *joint = ", ";
}

void summary_text(const struct diff_summary *s, struct text *out)
{
    size_t compared = diff_compared(s), apart = s->only_a + s->only_b;
    const char *joint = ": ";

    text_printf(out, "%zu case%s compared", compared, compared == 1 ? "" : "s");
    add_count(out, &joint, s->verdicts[VERDICT_EQUAL], "equal", "equal");
    add_count(out, &joint, s->verdicts[VERDICT_WITHIN], "within tolerance", "within tolerance");
    add_count(out, &joint, s->verdicts[VERDICT_DIFFERS] - apart, "differs", "differ");
    joint = "; ";
    add_count(out, &joint, s->verdicts[VERDICT_NOT_COMPARABLE], "not comparable", "not comparable");
    add_count(out, &joint, s->verdicts[VERDICT_ERROR], "error", "errors");
    add_count(out, &joint, s->verdicts[VERDICT_SKIPPED], "skipped", "skipped");
    add_count(out, &joint, s->only_a, "only in A", "only in A");
    add_count(out, &joint, s->only_b, "only in B", "only in B");
}

static void add_classes(const struct tensor_diff *t, struct text *out)
{
    const struct diff_classes *c = &t->classes;
    const char *joint = ": ";

    if (t->dtype == FP4_F32 || t->dtype == FP4_F16 || t->dtype == FP4_BF16) {
        add_count(out, &joint, c->one_step, "by one ulp", "by one ulp");
        add_count(out, &joint, c->more_steps, "by more", "by more");
    } else {
        add_count(out, &joint, c->one_step, "by one step", "by one step");
        add_count(out, &joint, c->more_steps, "by more steps", "by more steps");
    }
    add_count(out, &joint, c->zero_sign, "in the sign of zero", "in the sign of zero");
    add_count(out, &joint, c->nan_only, "NaN on both sides", "NaN on both sides");
    add_count(out, &joint, c->nan_number, "NaN on one side", "NaN on one side");
}

/* Rows that a run of blocks touches, so that a user with digests alone knows where to look. */
static void add_blocks(const struct tensor_diff *t, struct text *out)
{
    size_t shown = t->blocks_differing < 6 ? t->blocks_differing : 6;
    size_t bits = t->dtype == FP4_E2M1 ? 4 : 8 * fp4_dtype_bytes(t->dtype, 1);
    size_t per_block = (size_t)DUMP_BLOCK_BYTES * 8 / bits, cols = t->dims[1] ? t->dims[1] : 1;

    if (!t->blocks_differing)
        return;
    text_printf(out, ", in %zu of %zu block%s of 4 KiB:", t->blocks_differing, t->blocks, t->blocks == 1 ? "" : "s");
    for (size_t i = 0; i < shown; i++) {
        size_t first = t->block_list[i] * per_block, last = first + per_block - 1;

        if (last >= t->elements)
            last = t->elements ? t->elements - 1 : 0;
        text_printf(out, "%s block %zu (rows %zu-%zu)", i ? "," : "", t->block_list[i], first / cols, last / cols);
    }
    if (shown < t->blocks_differing)
        text_printf(out, " and %zu more", t->blocks_differing - shown);
}

/* Elements that picks_text tells as findings of their own. */
static void add_explained(const struct tensor_diff *t, struct text *out)
{
    const char *joint = "; apart from that: ";

    if (!t->differing && !t->padding_differs)
        joint = ": ";
    add_count(out, &joint, t->flipped, "in a block with the other candidate", "in blocks with the other candidate");
    add_count(out, &joint, t->nan_policy, "by NaN policy", "by NaN policy");
}

void tensor_text(const struct tensor_diff *t, struct text *out)
{
    char share[ELEMENT_TEXT_MAX];
    const char *joint = "; by policy equal: ";

    text_printf(out, "%s %s [%zu", t->name, fp4_dtype_name(t->dtype), t->dims[0]);
    if (t->ndim == 2)
        text_printf(out, ",%zu", t->dims[1]);
    text_add(out, t->role == TENSOR_STAGE ? "] (stage)" : "]");
    if (t->only[0]) {
        text_printf(out, ": only in %c", t->only[0] == 'a' ? 'A' : 'B');
    } else if (t->shape_differs) {
        text_add(out, ": another type or shape in B");
    } else if (!t->located) {
        text_add(out, ": bytes differ");
        add_blocks(t, out);
    } else if (!t->differing && !t->padding_differs && t->flipped + t->nan_policy) {
        text_printf(out, ": of %zu", t->elements);
        add_explained(t, out);
    } else {
        text_printf(out, ": %zu of %zu differ (%s)", t->differing, t->elements, share_text(t->differing, t->elements, share));
        add_classes(t, out);
        if (t->padding_differs)
            text_add(out, "; the unused last nibble differs");
        add_explained(t, out);
        add_count(out, &joint, t->policy_zero, "sign of zero", "signs of zero");
        add_count(out, &joint, t->policy_nan, "NaN", "NaNs");
    }
}

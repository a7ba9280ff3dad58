/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string. After a failed allocation it stays as it was and `failed` is set, so callers check once at the end. */
#include "term.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(struct text *t, size_t more)
{
    size_t need = t->length + more + 1, capacity = t->capacity ? t->capacity : 256;
    char *grown;

    if (t->failed)
        return false;
    if (need <= t->capacity)
        return true;
    while (capacity < need)
        capacity *= 2;
    grown = realloc(t->data, capacity);
    if (!grown) {
        t->failed = true;
        return false;
    }
    t->data = grown;
    t->capacity = capacity;
    return true;
}

void text_addn(struct text *t, const char *s, size_t n)
{
    if (!reserve(t, n))
        return;
    memcpy(t->data + t->length, s, n);
    t->length += n;
    t->data[t->length] = '\0';
}

void text_add(struct text *t, const char *s)
{
    text_addn(t, s, strlen(s));
}

void text_printf(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0 || !reserve(t, (size_t)n))
        return;
    va_start(ap, fmt);
    vsnprintf(t->data + t->length, (size_t)n + 1, fmt, ap);
    va_end(ap);
    t->length += (size_t)n;
}

void text_json(struct text *t, const char *s)
{
    text_add(t, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '"' || c == '\\') {
            char two[2] = { '\\', *s };

            text_addn(t, two, 2);
        } else if (c < 0x20) {
            text_printf(t, "\\u%04x", c);
        } else {
            text_addn(t, s, 1);
        }
    }
    text_add(t, "\"");
}

void text_xml(struct text *t, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '<')
            text_add(t, "&lt;");
        else if (c == '>')
            text_add(t, "&gt;");
        else if (c == '&')
            text_add(t, "&amp;");
        else if (c == '"')
            text_add(t, "&quot;");
        else if (c >= 0x20 || c == '\n' || c == '\t')
            text_addn(t, s, 1);
        else
            text_add(t, "?"); /* control characters have no place in XML 1.0 */
    }
}

void text_release(struct text *t)
{
    free(t->data);
    memset(t, 0, sizeof *t);
}

size_t word_distance(const char *a, const char *b)
{
    size_t row[64], la = strlen(a), lb = strlen(b), i, j;

    if (la > 60 || lb > 60)
        return 99;
    for (j = 0; j <= lb; j++)
        row[j] = j;
    for (i = 1; i <= la; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (j = 1; j <= lb; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[lb];
}

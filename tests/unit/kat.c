/* SPDX-License-Identifier: Apache-2.0 */
#include "kat.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

void kat_open(struct kat *k, const char *name)
{
    const char *root = getenv("FP4_SRCDIR");
    char path[1024];

    memset(k, 0, sizeof *k);
    snprintf(k->name, sizeof k->name, "%s", name);
    snprintf(path, sizeof path, "%s/tests/conformance/kat/%s.txt", root ? root : ".", name);
    k->in = fopen(path, "r");
    cr_assert(k->in != NULL, "cannot open '%s' (is FP4_SRCDIR the root of the source tree?)", path);
}

int kat_next(struct kat *k)
{
    while (fgets(k->line, sizeof k->line, k->in)) {
        k->line_number++;
        k->line[strcspn(k->line, "#\r\n")] = '\0';
        k->count = 0;
        for (char *p = k->line; *p;) {
            p += strspn(p, " \t");
            if (!*p)
                break;
            cr_assert(k->count < KAT_WORDS, "%s line %u: too many words", k->name, k->line_number);
            k->word[k->count++] = p;
            p += strcspn(p, " \t");
            if (*p)
                *p++ = '\0';
        }
        if (k->count > 0)
            return 1;
    }
    fclose(k->in);
    k->in = NULL;
    return 0;
}

static uint64_t number(const struct kat *k, unsigned i, int base)
{
    char *end = NULL;
    uint64_t v;

    cr_assert(i < k->count, "%s line %u: word %u is missing", k->name, k->line_number, i + 1);
    v = strtoull(k->word[i], &end, base);
    cr_assert(*end == '\0', "%s line %u: '%s' is no number", k->name, k->line_number, k->word[i]);
    return v;
}

uint64_t kat_hex(const struct kat *k, unsigned i)
{
    return number(k, i, 16);
}

uint64_t kat_decimal(const struct kat *k, unsigned i)
{
    return number(k, i, 10);
}

const char *kat_text(const struct kat *k, unsigned i)
{
    return i < k->count ? k->word[i] : "";
}

/* SPDX-License-Identifier: Apache-2.0 */
/* selector.c: FILE[:BACKEND], and which backend of one dump is compared with which of another. */
#include "diff.h"
#include "term.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool looks_like_backend(const char *s)
{
    size_t n = strlen(s);

    if (strncmp(s, "plugin:", 7) == 0)
        return n > 7 && n < sizeof((struct diff_selector *)0)->backend;
    if (n == 0 || n >= sizeof((struct diff_selector *)0)->backend || !isalnum((unsigned char)*s))
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._@+-", *s))
            return false;
    return true;
}

/* plugin:PATH is the one name of a backend that has a ':' of its own. */
static const char *split_at(const char *text)
{
    const char *plugin = strstr(text, ":plugin:");

    return plugin ? plugin : strrchr(text, ':');
}

int diff_selector_parse(const char *text, struct diff_selector *out, struct fp4_error *err)
{
    const char *colon = split_at(text);
    size_t length = strlen(text);

    *out = (struct diff_selector){ 0 };
    if (colon && colon > text && access(text, F_OK) != 0 && looks_like_backend(colon + 1)) {
        length = (size_t)(colon - text);
        strcpy(out->backend, colon + 1);
    }
    if (length == 0)
        return fp4_fail(err, FP4_EUSAGE, "a file name is empty");
    out->path = strndup(text, length);
    return out->path ? 0 : fp4_fail(err, FP4_EIO, "out of memory");
}

void diff_selector_release(struct diff_selector *s)
{
    free(s->path);
    *s = (struct diff_selector){ 0 };
}

void diff_names_of(const struct dump_file *f, struct diff_names *out)
{
    *out = (struct diff_names){ .path = dump_path(f) };
    for (size_t i = 0; i < dump_backend_count(f) && i < DUMP_RESULTS_MAX; i++)
        out->items[out->count++] = dump_backend(f, i);
}

static const char *name_in(const struct diff_names *n, const char *name)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->items[i], name) == 0)
            return n->items[i];
    return NULL;
}

static void list_names(struct text *t, const struct diff_names *n)
{
    text_printf(t, "'%s' holds ", n->path);
    for (size_t i = 0; i < n->count; i++)
        text_printf(t, "%s%s", i ? ", " : "", n->items[i]);
    if (n->count == 0)
        text_add(t, "no backend");
}

static int no_pair(const char *what, const struct diff_names *a, const struct diff_names *b, struct fp4_error *err)
{
    struct text t = { 0 };

    list_names(&t, a);
    if (b) {
        text_add(&t, ", ");
        list_names(&t, b);
    }
    fp4_fail(err, FP4_EUSAGE, "%s: %s (select with FILE:BACKEND)", what, t.data ? t.data : "");
    text_release(&t);
    return -1;
}

static int one_pair(const char *a, const char *b, struct diff_pair out[DUMP_RESULTS_MAX], size_t *count)
{
    out[0] = (struct diff_pair){ a, b };
    *count = 1;
    return 0;
}

/* One side was selected: the other is the only backend of its file, or the one of that name. */
static const char *counterpart(const struct diff_names *n, const char *selected)
{
    return n->count == 1 ? n->items[0] : name_in(n, selected);
}

int diff_pair_up(const struct diff_names *a, const char *select_a, const struct diff_names *b, const char *select_b,
                 struct diff_pair out[DUMP_RESULTS_MAX], size_t *count, struct fp4_error *err)
{
    const char *x = select_a && *select_a ? select_a : NULL, *y = select_b && *select_b ? select_b : NULL;

    *count = 0;
    if (x && !name_in(a, x))
        return no_pair("the selected backend is not there", a, NULL, err);
    if (y && !name_in(b, y))
        return no_pair("the selected backend is not there", b, NULL, err);
    if (x || y) {
        x = x ? x : counterpart(a, y);
        y = y ? y : counterpart(b, x);
        return x && y ? one_pair(x, y, out, count) : no_pair("which backends to compare is not clear", a, b, err);
    }
    if (a->count == 1 && b->count == 1)
        return one_pair(a->items[0], b->items[0], out, count);
    for (size_t i = 0; i < a->count; i++) {
        const char *same = name_in(b, a->items[i]);

        if (same)
            out[(*count)++] = (struct diff_pair){ a->items[i], same };
    }
    return *count ? 0 : no_pair("no backend is in both files", a, b, err);
}

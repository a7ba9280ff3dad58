/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of cases, and what --suite, --case, --op, --shard and --seed select. */
#include "case_build.h"
#include "suite_build.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- lists ------------------------------------------------------------------------------------------------------------------------------ */

void case_list_release(struct case_list *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

int case_list_add(struct case_list *list, const struct fp4_case *c, struct fp4_error *err)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        struct fp4_case *items = realloc(list->items, capacity * sizeof *items);

        if (!items)
            return fp4_fail(err, FP4_EIO, "out of memory");
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *c;
    return 0;
}

void suite_builder_init(struct suite_builder *b, struct case_list *list)
{
    memset(b, 0, sizeof *b);
    b->list = list;
}

void suite_builder_release(struct suite_builder *b)
{
    free(b->slots);
    memset(b, 0, sizeof *b);
}

static uint64_t *slot_of(uint64_t *slots, size_t slot_count, uint64_t digest)
{
    size_t i = (size_t)digest & (slot_count - 1);

    while (slots[i] && slots[i] != digest)
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static int builder_grow(struct suite_builder *b, struct fp4_error *err)
{
    size_t slot_count = b->slot_count ? 2 * b->slot_count : 1024, i;
    uint64_t *slots = calloc(slot_count, sizeof *slots);

    if (!slots)
        return fp4_fail(err, FP4_EIO, "out of memory");
    for (i = 0; i < b->slot_count; i++)
        if (b->slots[i])
            *slot_of(slots, slot_count, b->slots[i]) = b->slots[i];
    free(b->slots);
    b->slots = slots;
    b->slot_count = slot_count;
    return 0;
}

int suite_builder_add(struct suite_builder *b, const struct fp4_case *c, struct fp4_error *err)
{
    char name[CASE_NAME_MAX];
    uint64_t digest, *slot;

    if (2 * (b->list->count + 1) > b->slot_count && builder_grow(b, err))
        return -1;
    case_name(c, name);
    digest = XXH3_64bits(name, strlen(name)) | 1; /* never the free mark */
    slot = slot_of(b->slots, b->slot_count, digest);
    if (*slot)
        return 0;
    if (case_list_add(b->list, c, err))
        return -1;
    *slot = digest;
    return 1;
}

/* ---- selecting -------------------------------------------------------------------------------------------------------------------------- */

bool suite_is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool only_full_names(const struct selection *sel)
{
    size_t i;

    if (!sel->globs || !sel->globs[0])
        return false;
    for (i = 0; sel->globs[i]; i++)
        if (suite_is_glob(sel->globs[i]))
            return false;
    return true;
}

static int expand_base(const struct selection *sel, struct suite_builder *b, struct fp4_error *err)
{
    size_t i;

    if (!sel->suite && only_full_names(sel))
        return 0;
    if (!sel->suite)
        return suite_expand("default", b, err);
    if (ends_with(sel->suite, ".json"))
        return suite_file_expand(sel->suite, b, err);
    for (i = 0; i < fp4_suite_count; i++)
        if (strcmp(sel->suite, fp4_suites[i].name) == 0)
            return suite_expand(sel->suite, b, err);
    fp4_fail(err, FP4_EUSAGE, "unknown suite '%.100s': one of", sel->suite);
    for (i = 0; err && i < fp4_suite_count; i++) {
        size_t used = strlen(err->msg);

        if (used + strlen(fp4_suites[i].name) + 3 < sizeof err->msg) {
            strcat(err->msg, i ? ", " : " ");
            strcat(err->msg, fp4_suites[i].name);
        }
    }
    return -1;
}

static int op_mask(const char *const *ops, uint32_t *mask, struct fp4_error *err)
{
    enum fp4_op op;

    *mask = 0;
    if (!ops || !ops[0]) {
        *mask = UINT32_MAX;
        return 0;
    }
    for (; *ops; ops++) {
        if (case_op_from_text(*ops, &op, err))
            return -1;
        *mask |= 1u << op;
    }
    return 0;
}

static bool matches_any(const char *const *globs, const char *name, bool *hit)
{
    bool any = false;
    size_t i;

    for (i = 0; globs[i]; i++)
        if (suite_is_glob(globs[i]) ? fnmatch(globs[i], name, 0) == 0 : strcmp(globs[i], name) == 0)
            any = hit[i] = true;
    return any;
}

/* Full names that the suite does not have are cases of their own; a pattern that matches nothing is a mistake. */
static int add_unmatched(const char *const *globs, const bool *hit, struct suite_builder *b, struct fp4_error *err)
{
    struct fp4_case c;
    size_t i;

    for (i = 0; globs[i]; i++) {
        if (hit[i])
            continue;
        if (suite_is_glob(globs[i]))
            return fp4_fail(err, FP4_EUSAGE, "no case matches '%s'", globs[i]);
        if (case_parse(globs[i], &c, err) || suite_builder_add(b, &c, err) < 0)
            return -1;
    }
    return 0;
}

static int filter(const struct selection *sel, const struct case_list *base, struct suite_builder *kept, struct fp4_error *err)
{
    const char *const none[] = { NULL };
    const char *const *globs = sel->globs ? sel->globs : none;
    char name[CASE_NAME_MAX];
    size_t n = 0, i;
    bool *hit;
    int status = -1;

    while (globs[n])
        n++;
    hit = calloc(n + 1, sizeof *hit);
    if (!hit)
        return fp4_fail(err, FP4_EIO, "out of memory");
    for (i = 0; i < base->count; i++) {
        struct fp4_case c = base->items[i];

        c.seed += sel->has_seed ? sel->seed : 0;
        case_name(&c, name);
        if ((n == 0 || matches_any(globs, name, hit)) && suite_builder_add(kept, &c, err) < 0)
            goto cleanup;
    }
    status = add_unmatched(globs, hit, kept, err);
cleanup:
    free(hit);
    return status;
}

static int keep_ops_and_shard(const struct selection *sel, uint32_t mask, const struct case_list *kept, struct case_list *out,
                              struct fp4_error *err)
{
    size_t i, at = 0;

    for (i = 0; i < kept->count; i++) {
        if (!(mask & 1u << kept->items[i].op))
            continue;
        if ((sel->shards == 0 || at % sel->shards == sel->shard - 1) && case_list_add(out, &kept->items[i], err))
            return -1;
        at++;
    }
    if (at == 0)
        return fp4_fail(err, FP4_EUSAGE, "no case is selected");
    if (out->count == 0)
        return fp4_fail(err, FP4_EUSAGE, "shard %u/%u of %zu cases is empty", sel->shard, sel->shards, at);
    return 0;
}

int suite_select(const struct selection *sel, struct case_list *out, struct fp4_error *err)
{
    struct case_list base = { NULL, 0, 0 }, kept = { NULL, 0, 0 };
    struct suite_builder builder, chosen;
    uint32_t mask;
    int status = -1;

    memset(out, 0, sizeof *out);
    suite_builder_init(&builder, &base);
    suite_builder_init(&chosen, &kept);
    if ((sel->shards || sel->shard) && (sel->shard < 1 || sel->shard > sel->shards)) {
        fp4_fail(err, FP4_EUSAGE, "shard %u/%u: the first number goes from 1 to the second", sel->shard, sel->shards);
        goto cleanup;
    }
    if (op_mask(sel->ops, &mask, err) || expand_base(sel, &builder, err) || filter(sel, &base, &chosen, err))
        goto cleanup;
    status = keep_ops_and_shard(sel, mask, &kept, out, err);
cleanup:
    suite_builder_release(&builder);
    suite_builder_release(&chosen);
    case_list_release(&base);
    case_list_release(&kept);
    if (status)
        case_list_release(out);
    return status;
}

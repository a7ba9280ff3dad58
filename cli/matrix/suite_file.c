/* SPDX-License-Identifier: Apache-2.0 */
/* A user's suite: a JSON file, read strictly. docs/suites.md describes it. Errors name the file and the field. */
#include "case_build.h"
#include "dump.h"
#include "suite_build.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)16 << 20)
#define DEPTH_MAX 8
#define SEED_MAX 9007199254740992.0 /* 2^53: larger ones are written as strings */

/* ---- reading ----------------------------------------------------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *size, struct fp4_error *err)
{
    FILE *in = fopen(path, "rb");
    char *text = NULL;
    size_t capacity = 0, n;

    *size = 0;
    if (!in) {
        fp4_fail(err, FP4_EIO, "cannot open: %s", strerror(errno));
        return NULL;
    }
    do {
        char *grown;

        capacity = capacity ? 2 * capacity : 65536;
        grown = realloc(text, capacity + 1);
        if (!grown) {
            fp4_fail(err, FP4_EIO, "out of memory");
            goto fail;
        }
        text = grown;
        n = fread(text + *size, 1, capacity - *size, in);
        *size += n;
        if (ferror(in)) {
            fp4_fail(err, FP4_EIO, "cannot read: %s", strerror(errno));
            goto fail;
        }
        if (*size > FILE_MAX) {
            fp4_fail(err, FP4_EFORMAT, "larger than %zu bytes", FILE_MAX);
            goto fail;
        }
    } while (!feof(in));
    fclose(in);
    text[*size] = '\0';
    return text;
fail:
    free(text);
    fclose(in);
    return NULL;
}

/* ---- lists: a field is one string or an array of strings ---------------------------------------------------------------------------------- */

static size_t list_count(const cJSON *field)
{
    return cJSON_IsArray(field) ? (size_t)cJSON_GetArraySize(field) : 1;
}

static const cJSON *list_item(const cJSON *field, size_t i)
{
    return cJSON_IsArray(field) ? cJSON_GetArrayItem(field, (int)i) : field;
}

static int check_list(const cJSON *field, bool numbers, struct fp4_error *err)
{
    size_t i;

    if (cJSON_IsArray(field) && cJSON_GetArraySize(field) == 0)
        return fp4_fail(err, FP4_EFORMAT, "field '%s': the list is empty", field->string);
    for (i = 0; i < list_count(field); i++) {
        const cJSON *item = list_item(field, i);

        if (!cJSON_IsString(item) && !(numbers && cJSON_IsNumber(item)))
            return fp4_fail(err, FP4_EFORMAT, "field '%s': a string or a list of strings is needed%s", field->string,
                            numbers ? " (or whole numbers)" : "");
    }
    return 0;
}

/* ---- products ------------------------------------------------------------------------------------------------------------------------------ */

enum field { FIELD_RECIPE, FIELD_DTYPE, FIELD_DATA, FIELD_SHAPE, FIELD_SEED, FIELD_COUNT };
static const char *const field_names[FIELD_COUNT] = { "recipe", "dtype", "data", "shape", "seed" };

struct product {
    enum fp4_op op;
    const cJSON *fields[FIELD_COUNT];
    const cJSON *knobs[KNOB_COUNT];
    size_t knob_count;
    struct suite_builder *builder;
    size_t defined;
    struct fp4_error reason; /* why the last undefined combination is undefined */
};

static int seed_of(const cJSON *item, uint64_t *seed, struct fp4_error *err)
{
    if (cJSON_IsString(item))
        return case_seed_from_text(item->valuestring, seed, err);
    if (!(item->valuedouble >= 0) || item->valuedouble > SEED_MAX || item->valuedouble != (double)(uint64_t)item->valuedouble)
        return fp4_fail(err, FP4_EFORMAT, "a seed is a whole number from 0 (above 2^53 as a string)");
    *seed = (uint64_t)item->valuedouble;
    return 0;
}

static int set_field(struct fp4_case *c, enum field f, const cJSON *item, struct fp4_error *err)
{
    int status;

    switch (f) {
    case FIELD_RECIPE:
        status = case_set_recipe(c, item->valuestring, err);
        break;
    case FIELD_DTYPE:
        status = case_set_dtype(c, item->valuestring, err);
        break;
    case FIELD_DATA:
        status = case_set_data(c, item->valuestring, err);
        break;
    case FIELD_SHAPE:
        status = case_set_shape(c, item->valuestring, err);
        break;
    default:
        status = seed_of(item, &c->seed, err);
        break;
    }
    return status ? fp4_fail_in(err, "field '%s'", field_names[f]) : 0;
}

static int product_case(struct product *p, const struct fp4_case *c, struct fp4_error *err)
{
    if (case_check(c, &p->reason))
        return 0;
    p->defined++;
    return suite_builder_add(p->builder, c, err) < 0 ? -1 : 0;
}

/* Dimension by dimension: recipe, knobs, dtype, data, shape, seed, as they stand in a name. */
static int expand_from(struct product *p, struct fp4_case c, unsigned dimension, struct fp4_error *err)
{
    unsigned knobs_end = 1 + (unsigned)p->knob_count;
    const cJSON *list;
    size_t i;

    if (dimension == knobs_end + FIELD_COUNT - 1)
        return product_case(p, &c, err);
    if (dimension >= 1 && dimension < knobs_end)
        list = p->knobs[dimension - 1];
    else
        list = p->fields[dimension == 0 ? 0 : dimension - knobs_end + 1];
    if (!list)
        return expand_from(p, c, dimension + 1, err);
    for (i = 0; i < list_count(list); i++) {
        const cJSON *item = list_item(list, i);

        if (dimension >= 1 && dimension < knobs_end) {
            const struct knob_row *row = case_set_knob(&c, item->valuestring, err);

            if (!row)
                return fp4_fail_in(err, "field 'knobs.%s'", list->string);
            if (strcmp(knob_name(row->knob), list->string) != 0)
                return fp4_fail(err, FP4_EFORMAT, "field 'knobs.%s': '%s' is a token of knob '%s'", list->string, item->valuestring,
                                knob_name(row->knob));
        } else if (set_field(&c, (enum field)(dimension == 0 ? 0 : dimension - knobs_end + 1), item, err)) {
            return -1;
        }
        if (expand_from(p, c, dimension + 1, err))
            return -1;
    }
    return 0;
}

static int read_knobs(struct product *p, const cJSON *knobs, struct fp4_error *err)
{
    const cJSON *field;
    unsigned k;

    if (!cJSON_IsObject(knobs))
        return fp4_fail(err, FP4_EFORMAT, "field 'knobs': an object is needed");
    cJSON_ArrayForEach(field, knobs)
    {
        for (k = 0; k < KNOB_COUNT; k++)
            if (strcmp(field->string, knob_name((enum fp4_knob)k)) == 0)
                break;
        if (k == KNOB_COUNT || !knob_find((enum fp4_knob)k, p->op))
            return fp4_fail(err, FP4_EFORMAT, "field 'knobs': op %s has no knob '%.60s'", fp4_ops[p->op].name, field->string);
        if (check_list(field, false, err))
            return fp4_fail_in(err, "field 'knobs'");
        p->knobs[p->knob_count++] = field;
    }
    return 0;
}

static int read_product_field(struct product *p, const cJSON *field, struct fp4_error *err)
{
    unsigned f;

    if (strcmp(field->string, "op") == 0)
        return 0;
    if (strcmp(field->string, "knobs") == 0)
        return read_knobs(p, field, err);
    for (f = 0; f < FIELD_COUNT; f++)
        if (strcmp(field->string, field_names[f]) == 0) {
            p->fields[f] = field;
            return check_list(field, f == FIELD_SEED, err);
        }
    return fp4_fail(err, FP4_EFORMAT, "unknown field '%.60s': op, recipe, knobs, dtype, data, shape and seed are known",
                    field->string);
}

/* Without a recipe or dtype: the first one of the op. */
static struct fp4_case product_base(const struct product *p)
{
    struct fp4_case c = case_make(p->op, CR_TE, FP4_F32, NULL, 1, 1, 0);
    unsigned i;

    for (i = CR_COUNT; i-- > 0;)
        if (fp4_ops[p->op].recipes & 1u << i)
            c.recipe = (enum case_recipe)i;
    for (i = FP4_DTYPE_COUNT; i-- > 0;)
        if (fp4_ops[p->op].dtypes & 1u << i)
            c.dtype = (enum fp4_dtype)i;
    return c;
}

static int add_product(const cJSON *entry, struct suite_builder *b, struct fp4_error *err)
{
    const cJSON *op = cJSON_GetObjectItemCaseSensitive(entry, "op"), *field;
    struct product p;

    memset(&p, 0, sizeof p);
    p.builder = b;
    if (!cJSON_IsString(op))
        return fp4_fail(err, FP4_EFORMAT, "field 'op': a string is needed");
    if (case_op_from_text(op->valuestring, &p.op, err))
        return fp4_fail_in(err, "field 'op'");
    cJSON_ArrayForEach(field, entry)
    {
        if (read_product_field(&p, field, err))
            return -1;
    }
    if (!p.fields[FIELD_DATA])
        return fp4_fail(err, FP4_EFORMAT, "field 'data' is missing");
    if (!p.fields[FIELD_SHAPE])
        return fp4_fail(err, FP4_EFORMAT, "field 'shape' is missing");
    if (expand_from(&p, product_base(&p), 0, err))
        return -1;
    if (p.defined == 0)
        return fp4_fail(err, FP4_EFORMAT, "no combination is defined: %s", p.reason.msg);
    return 0;
}

/* ---- names and patterns --------------------------------------------------------------------------------------------------------------------- */

static int add_pattern(const char *pattern, struct suite_builder *b, struct fp4_error *err)
{
    struct case_list all = { NULL, 0, 0 };
    struct suite_builder builder;
    char name[CASE_NAME_MAX];
    size_t i, matched = 0;
    int status;

    suite_builder_init(&builder, &all);
    status = suite_expand("default", &builder, err);
    for (i = 0; i < all.count && !status; i++) {
        case_name(&all.items[i], name);
        if (fnmatch(pattern, name, 0) != 0)
            continue;
        matched++;
        if (suite_builder_add(b, &all.items[i], err) < 0)
            status = -1;
    }
    suite_builder_release(&builder);
    case_list_release(&all);
    if (!status && matched == 0)
        return fp4_fail(err, FP4_EFORMAT, "no case of the default suite matches '%.200s'", pattern);
    return status;
}

static int add_entry(const cJSON *entry, struct suite_builder *b, struct fp4_error *err)
{
    struct fp4_case c;

    if (cJSON_IsObject(entry))
        return add_product(entry, b, err);
    if (!cJSON_IsString(entry))
        return fp4_fail(err, FP4_EFORMAT, "a case name, a pattern or an object is needed");
    if (suite_is_glob(entry->valuestring))
        return add_pattern(entry->valuestring, b, err);
    if (case_parse(entry->valuestring, &c, err))
        return -1;
    return suite_builder_add(b, &c, err) < 0 ? -1 : 0;
}

/* ---- the file --------------------------------------------------------------------------------------------------------------------------------- */

static int check_head(const cJSON *root, struct fp4_error *err)
{
    static const char *const keys[] = { "format", "version", "name", "cases" };
    const cJSON *field;
    size_t i;

    if (!cJSON_IsObject(root))
        return fp4_fail(err, FP4_EFORMAT, "a JSON object is needed");
    cJSON_ArrayForEach(field, root)
    {
        for (i = 0; i < 4 && strcmp(field->string, keys[i]) != 0;)
            i++;
        if (i == 4)
            return fp4_fail(err, FP4_EFORMAT, "unknown field '%.60s': format, version, name and cases are known", field->string);
    }
    field = cJSON_GetObjectItemCaseSensitive(root, "format");
    if (!cJSON_IsString(field) || strcmp(field->valuestring, "fp4check-suite") != 0)
        return fp4_fail(err, FP4_EFORMAT, "field 'format': \"fp4check-suite\" is needed");
    field = cJSON_GetObjectItemCaseSensitive(root, "version");
    if (!cJSON_IsNumber(field) || field->valuedouble != 1)
        return fp4_fail(err, FP4_EFORMAT, "field 'version': 1 is the only version");
    if (!cJSON_IsString(cJSON_GetObjectItemCaseSensitive(root, "name")))
        return fp4_fail(err, FP4_EFORMAT, "field 'name': a string is needed");
    field = cJSON_GetObjectItemCaseSensitive(root, "cases");
    if (!cJSON_IsArray(field) || cJSON_GetArraySize(field) == 0)
        return fp4_fail(err, FP4_EFORMAT, "field 'cases': a list with at least one entry is needed");
    return 0;
}

static int add_entries(const cJSON *root, struct suite_builder *b, struct fp4_error *err)
{
    const cJSON *entry;
    int i = 0;

    if (check_head(root, err))
        return -1;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(root, "cases"))
    {
        if (add_entry(entry, b, err))
            return fp4_fail_in(err, "field 'cases[%d]'", i);
        i++;
    }
    return 0;
}

int suite_file_expand(const char *path, struct suite_builder *b, struct fp4_error *err)
{
    size_t size, line, column;
    char *text = read_file(path, &size, err);
    cJSON *root;
    int status;

    if (!text)
        return fp4_fail_in(err, "'%s'", path);
    if (json_check(text, size, DEPTH_MAX, &line, &column, err)) {
        free(text);
        return fp4_fail_in(err, "'%s', line %zu, column %zu", path, line, column);
    }
    root = cJSON_ParseWithLength(text, size);
    free(text);
    status = add_entries(root, b, err);
    cJSON_Delete(root);
    return status ? fp4_fail_in(err, "'%s'", path) : 0;
}

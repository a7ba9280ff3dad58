/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file: JSON that names each tensor's type, shape and place. Everything a file can get wrong is an error. */
#include "safetensors.h"

#include "dump.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#define INTEGER_MAX 9007199254740992.0 /* 2^53: cJSON keeps numbers as doubles */

static const struct {
    const char *name;
    unsigned bytes;
    int dtype; /* enum fp4_dtype, or -1 */
} types[] = {
    { "F32", 4, FP4_F32 }, { "F16", 2, FP4_F16 }, { "BF16", 2, FP4_BF16 }, { "F64", 8, -1 },     { "I64", 8, -1 }, { "U64", 8, -1 },
    { "I32", 4, -1 },      { "U32", 4, -1 },      { "I16", 2, -1 },        { "U16", 2, -1 },     { "I8", 1, -1 },  { "U8", 1, -1 },
    { "BOOL", 1, -1 },     { "F8_E4M3", 1, -1 },  { "F8_E5M2", 1, -1 },    { "F8_E8M0", 1, -1 },
};

static int read_integer(const cJSON *item, uint64_t *value)
{
    double v;

    if (!cJSON_IsNumber(item))
        return -1;
    v = item->valuedouble;
    if (!(v >= 0) || v > INTEGER_MAX)
        return -1;
    *value = (uint64_t)v;
    return (double)*value == v ? 0 : -1;
}

static int read_offsets(const cJSON *item, uint64_t data_bytes, struct st_tensor *t, struct fp4_error *err)
{
    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) != 2 || read_integer(cJSON_GetArrayItem(item, 0), &t->begin) ||
        read_integer(cJSON_GetArrayItem(item, 1), &t->end))
        return fp4_fail(err, FP4_EFORMAT, "field 'data_offsets': two whole numbers are needed");
    if (t->begin > t->end)
        return fp4_fail(err, FP4_EFORMAT, "field 'data_offsets': the end lies before the beginning");
    if (t->end > data_bytes)
        return fp4_fail(err, FP4_EFORMAT, "field 'data_offsets': the end, %llu, lies beyond the %llu bytes of data",
                        (unsigned long long)t->end, (unsigned long long)data_bytes);
    return 0;
}

/* Multiplies the dimensions with care: a file may say anything. */
static int read_shape(const cJSON *item, struct st_tensor *t, uint64_t *elements, struct fp4_error *err)
{
    uint64_t product = 1, last = 1, d;
    const cJSON *dim;
    int n = 0;

    if (!cJSON_IsArray(item))
        return fp4_fail(err, FP4_EFORMAT, "field 'shape': an array is needed");
    cJSON_ArrayForEach(dim, item)
    {
        if (read_integer(dim, &d))
            return fp4_fail(err, FP4_EFORMAT, "field 'shape': dimension %d is not a whole number", n);
        if (d && product > (UINT64_C(1) << 53) / d)
            return fp4_fail(err, FP4_EFORMAT, "field 'shape': more than 2^53 elements");
        product *= d;
        last = d;
        n++;
    }
    *elements = product;
    t->cols = (size_t)last;
    t->rows = last ? (size_t)(product / last) : 0;
    if (n == 0)
        t->unusable = "it has no dimensions";
    else if (product == 0)
        t->unusable = "it is empty";
    else if (t->rows > CASE_DIM_MAX || t->cols > CASE_DIM_MAX)
        t->unusable = "it is too large";
    return 0;
}

static int read_type(const cJSON *item, struct st_tensor *t, unsigned *bytes, struct fp4_error *err)
{
    size_t i;

    if (!cJSON_IsString(item))
        return fp4_fail(err, FP4_EFORMAT, "field 'dtype': a string is needed");
    for (i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(item->valuestring, types[i].name) == 0) {
            t->type = types[i].name;
            t->dtype = types[i].dtype < 0 ? FP4_F32 : (enum fp4_dtype)types[i].dtype;
            if (types[i].dtype < 0)
                t->unusable = "its type is not F32, F16 or BF16";
            *bytes = types[i].bytes;
            return 0;
        }
    /* A type that came later: its place is still checked, its size cannot be. */
    t->type = "unknown";
    t->unusable = "its type is not F32, F16 or BF16";
    *bytes = 0;
    return 0;
}

static int check_keys(const cJSON *entry, struct fp4_error *err)
{
    const cJSON *field;

    if (!cJSON_IsObject(entry))
        return fp4_fail(err, FP4_EFORMAT, "an object is needed");
    cJSON_ArrayForEach(field, entry) if (strcmp(field->string, "dtype") != 0 && strcmp(field->string, "shape") != 0 &&
                                         strcmp(field->string, "data_offsets") !=
                                             0) return fp4_fail(err, FP4_EFORMAT, "unknown field '%.60s'", field->string);
    return 0;
}

static int read_tensor(const cJSON *entry, uint64_t data_bytes, struct st_tensor *t, struct fp4_error *err)
{
    uint64_t elements = 0;
    unsigned bytes = 0;

    if (check_keys(entry, err) || read_type(cJSON_GetObjectItemCaseSensitive(entry, "dtype"), t, &bytes, err) ||
        read_shape(cJSON_GetObjectItemCaseSensitive(entry, "shape"), t, &elements, err) ||
        read_offsets(cJSON_GetObjectItemCaseSensitive(entry, "data_offsets"), data_bytes, t, err))
        return -1;
    if (bytes && t->end - t->begin != elements * bytes)
        return fp4_fail(err, FP4_EFORMAT, "field 'data_offsets': %llu bytes, where dtype and shape need %llu",
                        (unsigned long long)(t->end - t->begin), (unsigned long long)(elements * bytes));
    return 0;
}

static int check_metadata(const cJSON *entry, struct fp4_error *err)
{
    const cJSON *field;

    if (!cJSON_IsObject(entry))
        return fp4_fail(err, FP4_EFORMAT, "field '__metadata__': an object is needed");
    cJSON_ArrayForEach(field, entry)
    {
        if (!cJSON_IsString(field))
            return fp4_fail(err, FP4_EFORMAT, "field '__metadata__': '%.60s' is not a string", field->string);
    }
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct st_tensor *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int check_cover(const struct st_header *h, uint64_t data_bytes, struct fp4_error *err)
{
    uint64_t at = 0;
    size_t i;

    for (i = 0; i < h->count; i++) {
        const struct st_tensor *t = &h->tensors[i];

        if (t->begin < at)
            return fp4_fail(err, FP4_EFORMAT, "tensor '%.100s': field 'data_offsets' overlaps another tensor", t->name);
        if (t->begin > at)
            return fp4_fail(err, FP4_EFORMAT, "tensor '%.100s': field 'data_offsets' leaves a gap before it", t->name);
        at = t->end;
    }
    if (at != data_bytes)
        return fp4_fail(err, FP4_EFORMAT, "the last %llu bytes belong to no tensor", (unsigned long long)(data_bytes - at));
    return 0;
}

static int read_entries(const cJSON *root, uint64_t data_bytes, struct st_header *out, struct fp4_error *err)
{
    const cJSON *entry;

    cJSON_ArrayForEach(entry, root)
    {
        struct st_tensor *t;

        if (strcmp(entry->string, "__metadata__") == 0) {
            if (check_metadata(entry, err))
                return -1;
            continue;
        }
        t = &out->tensors[out->count];
        t->name = strdup(entry->string);
        if (!t->name)
            return fp4_fail(err, FP4_EIO, "out of memory");
        out->count++;
        if (read_tensor(entry, data_bytes, t, err))
            return fp4_fail_in(err, "tensor '%.100s'", t->name);
    }
    qsort(out->tensors, out->count, sizeof out->tensors[0], by_begin);
    return check_cover(out, data_bytes, err);
}

int st_parse(const char *text, size_t size, uint64_t data_bytes, struct st_header *out, struct fp4_error *err)
{
    size_t line, column;
    cJSON *root = NULL;
    int status = -1;

    memset(out, 0, sizeof *out);
    if (json_check(text, size, 8, &line, &column, err))
        return fp4_fail_in(err, "header, line %zu, column %zu", line, column);
    root = cJSON_ParseWithLength(text, size);
    if (!cJSON_IsObject(root)) {
        fp4_fail(err, FP4_EFORMAT, "header: a JSON object is needed");
        goto cleanup;
    }
    out->tensors = calloc((size_t)cJSON_GetArraySize(root) + 1, sizeof out->tensors[0]);
    if (!out->tensors) {
        fp4_fail(err, FP4_EIO, "out of memory");
        goto cleanup;
    }
    status = read_entries(root, data_bytes, out, err);
cleanup:
    cJSON_Delete(root);
    if (status)
        st_release(out);
    return status;
}

const struct st_tensor *st_find(const struct st_header *h, const char *name)
{
    size_t i;

    for (i = 0; i < h->count; i++)
        if (strcmp(h->tensors[i].name, name) == 0)
            return &h->tensors[i];
    return NULL;
}

void st_release(struct st_header *h)
{
    size_t i;

    for (i = 0; i < h->count; i++)
        free(h->tensors[i].name);
    free(h->tensors);
    memset(h, 0, sizeof *h);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_case.c: one case from text to struct dump_case. The grammar was checked before cJSON sees the text; here come keys, types and
 * values, each named in the message as case, field and fault.
 */
#include "dump_internal.h"

#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

struct check {
    const struct dump_file *f;
    struct fp4_error *err;
    size_t line;
    const char *name;                 /* of the case; NULL while unknown */
    char field[96];                   /* "results[0].tensors[2]" */
    size_t needed_blocks, kept_bytes; /* of all tensors so far */
    char unblocked[96];               /* field of the first tensor that should have blocks and has none */
};

static int bad(const struct check *c, const char *key, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int bad(const struct check *c, const char *key, const char *fmt, ...)
{
    char what[200];
    const char *dot = *c->field && *key ? "." : "", *colon = *c->field || *key ? ": " : "";
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (c->name)
        return dump_fail(c->err, c->f->path, c->line, "case '%s': %s%s%s%s%s", c->name, c->field, dot, key, colon, what);
    return dump_fail(c->err, c->f->path, c->line, "%s%s%s%s%s", c->field, dot, key, colon, what);
}

static int bad_memory(const struct check *c)
{
    return fp4_fail(c->err, FP4_EIO, "%s: case '%s': out of memory", c->f->path, c->name ? c->name : "");
}

/* Appends "results[3]" to the field; what the field was before is given back by leave(). */
static size_t enter(struct check *c, const char *key, size_t index)
{
    size_t length = strlen(c->field);

    snprintf(c->field + length, sizeof c->field - length, "%s%s[%zu]", length ? "." : "", key, index);
    return length;
}

static void leave(struct check *c, size_t length)
{
    c->field[length] = 0;
}

/* ---- keys and types ---- */

struct key_row {
    const char *name;
    int type;
    const char *type_name;
    bool required;
};

/* Every key of an object must be in the table, of the right type; values[i] is the value of row i or NULL. */
static int check_keys(const struct check *c, const cJSON *object, const struct key_row *rows, size_t count, const cJSON **values)
{
    char quoted[DUMP_QUOTED_MAX];
    const cJSON *v;

    for (size_t i = 0; i < count; i++)
        values[i] = NULL;
    cJSON_ArrayForEach(v, object)
    {
        size_t i = 0;
        while (i < count && strcmp(rows[i].name, v->string) != 0)
            i++;
        if (i == count)
            return bad(c, "", "unknown key %s", dump_quote(quoted, v->string));
        if (!(v->type & rows[i].type))
            return bad(c, rows[i].name, "is %s, not %s", dump_kind(v), rows[i].type_name);
        values[i] = v;
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].required && !values[i])
            return bad(c, rows[i].name, "is missing");
    return 0;
}

static int list_length(const struct check *c, const cJSON *list, const char *key, size_t least, size_t most, size_t *length)
{
    size_t n = 0;
    const cJSON *v;

    cJSON_ArrayForEach(v, list) n++;
    if (n < least)
        return bad(c, key, "is empty");
    if (n > most)
        return bad(c, key, "%zu entries are more than %zu", n, most);
    *length = n;
    return 0;
}

/* ---- tensors ---- */

enum { T_NAME, T_ROLE, T_DTYPE, T_SHAPE, T_XXH3, T_BLOCKS, T_BASE64, T_ZSTD, T_COUNT };

static const struct key_row tensor_keys[T_COUNT] = {
    [T_NAME] = { "name", cJSON_String, "a string", true },      [T_ROLE] = { "role", cJSON_String, "a string", true },
    [T_DTYPE] = { "dtype", cJSON_String, "a string", true },    [T_SHAPE] = { "shape", cJSON_Array, "an array", true },
    [T_XXH3] = { "xxh3", cJSON_String, "a string", true },      [T_BLOCKS] = { "blocks", cJSON_Array, "an array", false },
    [T_BASE64] = { "base64", cJSON_String, "a string", false }, [T_ZSTD] = { "zstd", cJSON_String, "a string", false },
};

static int take_tensor_name(const struct check *c, const cJSON *v, struct dump_tensor *t)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_";
    char quoted[DUMP_QUOTED_MAX];
    size_t length = strlen(v->valuestring);

    if (length == 0 || length >= TENSOR_NAME_MAX || strspn(v->valuestring, allowed) != length)
        return bad(c, "name", "%s is not a tensor name", dump_quote(quoted, v->valuestring));
    memcpy(t->name, v->valuestring, length + 1);
    return 0;
}

static int take_role(const struct check *c, const cJSON *v, bool input, struct dump_tensor *t)
{
    const char *s = v->valuestring;
    char quoted[DUMP_QUOTED_MAX];
    bool known = true;

    if (strcmp(s, "input") == 0)
        t->role = TENSOR_INPUT;
    else if (strcmp(s, "output") == 0)
        t->role = TENSOR_OUTPUT;
    else if (strcmp(s, "stage") == 0)
        t->role = TENSOR_STAGE;
    else
        known = false;
    if (!known || input != (t->role == TENSOR_INPUT))
        return bad(c, "role", "%s is not %s", dump_quote(quoted, s), input ? "'input'" : "'output' or 'stage'");
    return 0;
}

static int take_dtype(const struct check *c, const cJSON *v, struct dump_tensor *t)
{
    char quoted[DUMP_QUOTED_MAX];
    int dtype = fp4_dtype_from_name(v->valuestring);

    if (dtype < 0)
        return bad(c, "dtype", "%s is unknown", dump_quote(quoted, v->valuestring));
    t->dtype = (enum fp4_dtype)dtype;
    return 0;
}

static int take_shape(const struct check *c, const cJSON *shape, struct dump_tensor *t)
{
    const cJSON *v;
    size_t count, elements;

    if (list_length(c, shape, "shape", 1, 2, &count))
        return -1;
    t->ndim = 0;
    cJSON_ArrayForEach(v, shape)
    {
        if (!cJSON_IsNumber(v))
            return bad(c, "shape", "entry %u is %s, not a number", t->ndim, dump_kind(v));
        if (!(v->valuedouble >= 0 && v->valuedouble <= (double)CASE_DIM_MAX) || v->valuedouble != (double)(size_t)v->valuedouble)
            return bad(c, "shape", "%.15g is not a whole number from 0 to %zu", v->valuedouble, CASE_DIM_MAX);
        t->dims[t->ndim++] = (size_t)v->valuedouble;
    }
    elements = t->ndim == 2 ? t->dims[0] * t->dims[1] : t->dims[0]; /* at most 2^62 */
    if (elements > DUMP_TENSOR_MAX || fp4_dtype_bytes(t->dtype, elements) > DUMP_TENSOR_MAX)
        return bad(c, "shape", "means more than %zu bytes", DUMP_TENSOR_MAX);
    t->bytes = fp4_dtype_bytes(t->dtype, elements);
    return 0;
}

static int take_digest(const struct check *c, const cJSON *v, struct dump_tensor *t)
{
    char quoted[DUMP_QUOTED_MAX];

    if (!digest_parse(v->valuestring, &t->digest))
        return bad(c, "xxh3", "%s is not 32 lower-case hex digits", dump_quote(quoted, v->valuestring));
    return 0;
}

static int take_blocks(struct check *c, const cJSON *list, struct dump_tensor *t)
{
    size_t wanted = t->bytes / DUMP_BLOCK_BYTES + (t->bytes % DUMP_BLOCK_BYTES != 0), count = 0;
    char quoted[DUMP_QUOTED_MAX];
    const cJSON *v;

    if (t->bytes <= DUMP_BLOCK_BYTES)
        return list ? bad(c, "blocks", "a tensor of %zu bytes has none", t->bytes) : 0;
    c->needed_blocks += wanted;
    if (!list) {
        if (!*c->unblocked)
            memcpy(c->unblocked, c->field, sizeof c->unblocked);
        return 0;
    }
    cJSON_ArrayForEach(v, list) count++;
    if (count != wanted)
        return bad(c, "blocks", "%zu entries, but %zu bytes have %zu blocks", count, t->bytes, wanted);
    t->blocks = malloc(count * sizeof *t->blocks);
    if (!t->blocks)
        return bad_memory(c);
    count = 0;
    cJSON_ArrayForEach(v, list)
    {
        if (!cJSON_IsString(v))
            return bad(c, "blocks", "entry %zu is %s, not a string", count, dump_kind(v));
        if (!digest64_parse(v->valuestring, &t->blocks[count]))
            return bad(c, "blocks", "entry %zu: %s is not 16 lower-case hex digits", count, dump_quote(quoted, v->valuestring));
        count++;
    }
    return 0;
}

/* ---- kept bytes ---- */

static int unpack_base64(const struct check *c, const char *text, struct dump_tensor *t)
{
    size_t length = strlen(text), got;

    if (length != base64_encoded_bytes(t->bytes))
        return bad(c, "base64", "%zu characters, but %zu bytes take %zu", length, t->bytes, base64_encoded_bytes(t->bytes));
    t->data = malloc(length + 1);
    if (!t->data)
        return bad_memory(c);
    if (base64_decode(text, length, t->data, length, &got))
        return bad(c, "base64", "is not base64");
    if (got != t->bytes)
        return bad(c, "base64", "holds %zu bytes, not %zu", got, t->bytes);
    return 0;
}

/* What a frame claims about its size is only believed when it agrees with the shape, and never used to allocate. */
static int unpack_frames(const struct check *c, const uint8_t *packed, size_t packed_bytes, struct dump_tensor *t)
{
    unsigned long long claim = ZSTD_getFrameContentSize(packed, packed_bytes);
    size_t got;

    if (claim == ZSTD_CONTENTSIZE_ERROR)
        return bad(c, "zstd", "holds no zstd frame");
    if (claim != ZSTD_CONTENTSIZE_UNKNOWN && claim != t->bytes)
        return bad(c, "zstd", "unpacks to %llu bytes, but the shape means %zu", claim, t->bytes);
    t->data = malloc(t->bytes ? t->bytes : 1);
    if (!t->data)
        return bad_memory(c);
    got = ZSTD_decompress(t->data, t->bytes, packed, packed_bytes);
    if (ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall)
        return bad(c, "zstd", "unpacks to more than the %zu bytes of the shape", t->bytes);
    if (ZSTD_isError(got))
        return bad(c, "zstd", "cannot be unpacked: %s", ZSTD_getErrorName(got));
    if (got != t->bytes)
        return bad(c, "zstd", "unpacks to %zu bytes, but the shape means %zu", got, t->bytes);
    return 0;
}

/* Decodes in place, since a case may take most of the memory that a reader is allowed. */
static int unpack_zstd(const struct check *c, char *text, struct dump_tensor *t)
{
    size_t length = strlen(text), got;
    uint8_t *packed = (uint8_t *)text;

    if (base64_decode(text, length, packed, length, &got))
        return bad(c, "zstd", "is not base64");
    return unpack_frames(c, packed, got, t);
}

static int check_digests(const struct check *c, const struct dump_tensor *t)
{
    digest128 d = digest_bytes(t->data, t->bytes);
    char text[33];

    for (size_t at = 0, i = 0; t->blocks && at < t->bytes; at += DUMP_BLOCK_BYTES, i++) {
        size_t size = t->bytes - at < DUMP_BLOCK_BYTES ? t->bytes - at : DUMP_BLOCK_BYTES;
        if (digest64_bytes(t->data + at, size) != t->blocks[i])
            return bad(c, "blocks", "entry %zu does not match the kept bytes", i);
    }
    if (digest_equal(d, t->digest))
        return 0;
    digest_print(d, text);
    return bad(c, "xxh3", "does not match the kept bytes, whose digest is '%s'", text);
}

static int take_bytes(struct check *c, const cJSON *const *v, bool input, struct dump_tensor *t)
{
    const char *key = v[T_BASE64] ? "base64" : "zstd";
    int status;

    if (!v[T_BASE64] && !v[T_ZSTD])
        return 0;
    if (input)
        return bad(c, key, "inputs are never kept as bytes");
    if (v[T_BASE64] && v[T_ZSTD])
        return bad(c, "zstd", "base64 is there too");
    if (t->bytes > DUMP_BYTES_MAX - c->kept_bytes)
        return bad(c, key, "the case keeps more than %zu bytes", DUMP_BYTES_MAX);
    if (t->bytes > DUMP_BLOCK_BYTES && !t->blocks)
        return bad(c, "blocks", "is missing");
    c->kept_bytes += t->bytes;
    status = v[T_BASE64] ? unpack_base64(c, v[T_BASE64]->valuestring, t) : unpack_zstd(c, v[T_ZSTD]->valuestring, t);
    return status ? -1 : check_digests(c, t);
}

static int take_tensor(struct check *c, const cJSON *object, bool input, struct dump_tensor *t)
{
    const cJSON *v[T_COUNT];

    if (!cJSON_IsObject(object))
        return bad(c, "", "is %s, not an object", dump_kind(object));
    if (check_keys(c, object, tensor_keys, T_COUNT, v) || take_tensor_name(c, v[T_NAME], t) || take_role(c, v[T_ROLE], input, t) ||
        take_dtype(c, v[T_DTYPE], t) || take_shape(c, v[T_SHAPE], t) || take_digest(c, v[T_XXH3], t) ||
        take_blocks(c, v[T_BLOCKS], t))
        return -1;
    return take_bytes(c, v, input, t);
}

static int take_tensors(struct check *c, const cJSON *list, const char *key, bool input, struct dump_tensor **out, size_t *count)
{
    char quoted[DUMP_QUOTED_MAX];
    const cJSON *v;
    size_t length, i = 0;

    if (list_length(c, list, key, input ? 0 : 1, CASE_TENSORS_MAX, &length))
        return -1;
    *out = calloc(length ? length : 1, sizeof **out);
    if (!*out)
        return bad_memory(c);
    *count = length;
    cJSON_ArrayForEach(v, list)
    {
        size_t mark = enter(c, key, i);
        if (take_tensor(c, v, input, &(*out)[i]))
            return -1;
        for (size_t j = 0; j < i; j++)
            if (strcmp((*out)[j].name, (*out)[i].name) == 0)
                return bad(c, "name", "%s is there twice", dump_quote(quoted, (*out)[i].name));
        leave(c, mark);
        i++;
    }
    return 0;
}

/* ---- results ---- */

enum { R_BACKEND, R_STATUS, R_REASON, R_PATH, R_TENSORS, R_COUNT };

static const struct key_row result_keys[R_COUNT] = {
    [R_BACKEND] = { "backend", cJSON_String, "a string", true }, [R_STATUS] = { "status", cJSON_String, "a string", true },
    [R_REASON] = { "reason", cJSON_String, "a string", false },  [R_PATH] = { "path", cJSON_String, "a string", false },
    [R_TENSORS] = { "tensors", cJSON_Array, "an array", false },
};

static int take_backend(const struct check *c, const cJSON *v, const struct dump_case *out, struct dump_case_result *r)
{
    const struct dump_file *f = c->f;
    char quoted[DUMP_QUOTED_MAX];
    size_t i = 0;

    while (i < f->backend_count && strcmp(f->backends[i], v->valuestring) != 0)
        i++;
    if (i == f->backend_count)
        return bad(c, "backend", "%s is not in the file's list of backends", dump_quote(quoted, v->valuestring));
    if (dump_case_result_find(out, v->valuestring))
        return bad(c, "backend", "%s is there twice", dump_quote(quoted, v->valuestring));
    memcpy(r->backend, f->backends[i], sizeof r->backend);
    return 0;
}

static int take_status(const struct check *c, const cJSON *v, struct dump_case_result *r)
{
    static const char *const names[] = { [DUMP_OK] = "ok", [DUMP_SKIPPED] = "skipped", [DUMP_ERROR] = "error" };
    char quoted[DUMP_QUOTED_MAX];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], v->valuestring) == 0) {
            r->status = (enum dump_status)i;
            return 0;
        }
    return bad(c, "status", "%s is not 'ok', 'skipped' or 'error'", dump_quote(quoted, v->valuestring));
}

static int take_reason(const struct check *c, const cJSON *v, struct dump_case_result *r)
{
    if (strlen(v->valuestring) > DUMP_REASON_MAX)
        return bad(c, "reason", "is longer than %d bytes", DUMP_REASON_MAX);
    r->reason = strdup(v->valuestring);
    return r->reason ? 0 : bad_memory(c);
}

static int take_result(struct check *c, const cJSON *object, struct dump_case *out)
{
    struct dump_case_result *r = &out->results[out->result_count];
    const cJSON *v[R_COUNT];

    if (!cJSON_IsObject(object))
        return bad(c, "", "is %s, not an object", dump_kind(object));
    if (check_keys(c, object, result_keys, R_COUNT, v) || take_backend(c, v[R_BACKEND], out, r))
        return -1;
    out->result_count++; /* from here on the caller releases it */
    if (take_status(c, v[R_STATUS], r))
        return -1;
    bool ok = r->status == DUMP_OK;
    if (ok == !v[R_TENSORS])
        return bad(c, "tensors", ok ? "is missing" : "only an 'ok' result has tensors");
    if (ok == !!v[R_REASON])
        return bad(c, "reason", ok ? "an 'ok' result has none" : "is missing");
    if (v[R_PATH] && !ok)
        return bad(c, "path", "only an 'ok' result has one");
    if (v[R_PATH] && strlen(v[R_PATH]->valuestring) > DUMP_PATH_MAX)
        return bad(c, "path", "is longer than %d bytes", DUMP_PATH_MAX);
    return ok ? take_tensors(c, v[R_TENSORS], "tensors", false, &r->t, &r->count) : take_reason(c, v[R_REASON], r);
}

/* ---- the case ---- */

enum { C_CASE, C_INPUTS, C_RESULTS, C_COUNT };

static const struct key_row case_keys[C_COUNT] = {
    [C_CASE] = { "case", cJSON_String, "a string", true },
    [C_INPUTS] = { "inputs", cJSON_Array, "an array", true },
    [C_RESULTS] = { "results", cJSON_Array, "an array", true },
};

static int take_results(struct check *c, const cJSON *list, struct dump_case *out)
{
    const cJSON *v;
    size_t count, i = 0;

    if (list_length(c, list, "results", 1, DUMP_RESULTS_MAX, &count))
        return -1;
    cJSON_ArrayForEach(v, list)
    {
        size_t mark = enter(c, "results", i++);
        if (take_result(c, v, out))
            return -1;
        leave(c, mark);
    }
    return 0;
}

static int check_unblocked(struct check *c)
{
    if (!*c->unblocked || c->needed_blocks > DUMP_BLOCKS_MAX)
        return 0;
    memcpy(c->field, c->unblocked, sizeof c->field);
    return bad(c, "blocks", "is missing");
}

static int take_case(struct check *c, size_t i, const cJSON *object, struct dump_case *out)
{
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(object, "case"), *v[C_COUNT];

    /* The first pass found a name here, so this fails only when the file was written to since. */
    if (!cJSON_IsString(name) || !dump_case_name_ok(name->valuestring, strlen(name->valuestring)))
        return bad(c, "case", "is not a case name");
    memcpy(out->name, name->valuestring, strlen(name->valuestring) + 1);
    if (dump_find(c->f, out->name) != (ptrdiff_t)i)
        return bad(c, "case", "the file changed while it was read");
    c->name = out->name;
    c->field[0] = 0;
    if (check_keys(c, object, case_keys, C_COUNT, v) ||
        take_tensors(c, v[C_INPUTS], "inputs", true, &out->inputs, &out->input_count) || take_results(c, v[C_RESULTS], out))
        return -1;
    return check_unblocked(c);
}

/* The file may have been written to since the first pass, and cJSON must never see what the grammar machine has not. */
static int check_again(const char *text, size_t size)
{
    struct json_machine m;
    int status;

    json_begin(&m);
    m.max_depth = DUMP_DEPTH_MAX - 2;
    m.max_keys = DUMP_KEYS_MAX;
    m.max_values = DUMP_VALUES_MAX + 1;
    status = *text != '{' || json_feed(&m, text, size) || json_finish(&m) ? -1 : 0;
    json_release(&m);
    return status;
}

cJSON *dump_case_tree(const struct dump_file *f, size_t i, const char *text, struct fp4_error *err)
{
    struct check c = { .f = f, .err = err, .line = f->entries[i].line };
    size_t size = f->entries[i].length;
    cJSON *tree;

    snprintf(c.field, sizeof c.field, "cases[%zu]", i);
    if (check_again(text, size)) {
        bad(&c, "", "the file changed while it was read");
        return NULL;
    }
    tree = cJSON_ParseWithLength(text, size + 1);
    if (!tree)
        bad(&c, "", "cannot be parsed; out of memory?");
    return tree;
}

int dump_case_take(const struct dump_file *f, size_t i, cJSON *tree, struct dump_case *out, struct fp4_error *err)
{
    struct check c = { .f = f, .err = err, .line = f->entries[i].line };
    int status;

    *out = (struct dump_case){ .line = c.line };
    snprintf(c.field, sizeof c.field, "cases[%zu]", i);
    status = take_case(&c, i, tree, out);
    cJSON_Delete(tree);
    if (status)
        dump_case_release(out);
    return status;
}

void dump_case_release(struct dump_case *c)
{
    for (size_t i = 0; i < c->input_count; i++)
        free(c->inputs[i].blocks);
    free(c->inputs);
    for (size_t i = 0; i < c->result_count; i++) {
        struct dump_case_result *r = &c->results[i];
        for (size_t j = 0; j < r->count; j++) {
            free(r->t[j].blocks);
            free(r->t[j].data);
        }
        free(r->t);
        free(r->reason);
    }
    *c = (struct dump_case){ .line = 0 };
}

const struct dump_case_result *dump_case_result_find(const struct dump_case *c, const char *backend)
{
    for (size_t i = 0; i < c->result_count; i++)
        if (strcmp(c->results[i].backend, backend) == 0)
            return &c->results[i];
    return NULL;
}

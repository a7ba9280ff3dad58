/* SPDX-License-Identifier: Apache-2.0 */
/* dump_header.c: everything of a dump that is not a case, and the small text helpers of the reader. */
#include "dump_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- messages ---- */

const char *dump_path_tail(const char *path, const char **dots)
{
    size_t length = strlen(path), most = 160;

    *dots = length > most ? "..." : "";
    return length > most ? path + length - most : path;
}

int dump_vfail(struct fp4_error *err, const char *path, size_t line, const char *fmt, va_list args)
{
    char what[400];
    const char *dots, *tail = dump_path_tail(path, &dots);

    vsnprintf(what, sizeof what, fmt, args);
    return fp4_fail(err, FP4_EFORMAT, "%s%s: line %zu: %s", dots, tail, line, what);
}

int dump_fail(struct fp4_error *err, const char *path, size_t line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    dump_vfail(err, path, line, fmt, args);
    va_end(args);
    return -1;
}

const char *dump_quote(char out[DUMP_QUOTED_MAX], const char *text)
{
    size_t n = 0;

    out[n++] = '\'';
    for (; *text && n < DUMP_QUOTED_MAX - 5; text++)
        out[n++] = *text >= 0x20 && *text < 0x7F ? *text : '?';
    for (int dots = 0; *text && dots < 3; dots++)
        out[n++] = '.';
    out[n++] = '\'';
    out[n] = 0;
    return out;
}

const char *dump_kind(const cJSON *value)
{
    switch (value->type & 0xFF) {
    case cJSON_String:
        return "a string";
    case cJSON_Number:
        return "a number";
    case cJSON_Array:
        return "an array";
    case cJSON_Object:
        return "an object";
    case cJSON_NULL:
        return "null";
    default:
        return "a boolean";
    }
}

/* ---- names ---- */

bool dump_case_name_ok(const char *name, size_t length)
{
    if (length == 0 || length >= CASE_NAME_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (name[i] <= 0x20 || name[i] >= 0x7F || name[i] == '"' || name[i] == '\\')
            return false;
    return true;
}

bool dump_backend_name_ok(const char *name)
{
    size_t length = strlen(name);

    if (length == 0 || length >= DUMP_BACKEND_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < 0x20)
            return false;
    return true;
}

/* ---- members ---- */

struct take {
    struct dump_file *f;
    enum dump_member member;
    size_t line;
    struct fp4_error *err;
};

static int bad(const struct take *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int bad(const struct take *t, const char *fmt, ...)
{
    char what[320];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return dump_fail(t->err, t->f->path, t->line, "%s: %s", dump_member_name(t->member), what);
}

/* Reads a decimal without sign, blanks and leading zeros; the text behind it, or NULL. */
static const char *parse_decimal(const char *text, uint64_t most, uint64_t *out)
{
    uint64_t v = 0;
    const char *p = text;

    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (uint64_t)(*p - '0');
        if (v > most)
            return NULL;
    }
    if (p == text || (*text == '0' && p != text + 1))
        return NULL;
    *out = v;
    return p;
}

static int take_format(const struct take *t, const cJSON *v)
{
    char quoted[DUMP_QUOTED_MAX];

    if (strcmp(v->valuestring, "fp4check-dump") != 0)
        return bad(t, "%s is not 'fp4check-dump'", dump_quote(quoted, v->valuestring));
    return 0;
}

static int take_version(const struct take *t, const cJSON *v)
{
    if (v->valuedouble != DUMP_VERSION)
        return bad(t, "version %.15g is unknown; this fp4check reads version %d", v->valuedouble, DUMP_VERSION);
    return 0;
}

static int check_builds(const struct take *t, const cJSON *builds)
{
    char quoted[DUMP_QUOTED_MAX];
    size_t count = 0;
    const cJSON *v;

    cJSON_ArrayForEach(v, builds)
    {
        if (++count > DUMP_RESULTS_MAX)
            return bad(t, "builds has more than %d entries", DUMP_RESULTS_MAX);
        if (!dump_backend_name_ok(v->string))
            return bad(t, "builds: %s is not a backend name", dump_quote(quoted, v->string));
        if (!cJSON_IsString(v))
            return bad(t, "builds[%s] is %s, not a string", dump_quote(quoted, v->string), dump_kind(v));
    }
    return 0;
}

static int take_provenance(const struct take *t, const cJSON *v)
{
    static const char *const keys[] = { "tool", "time", "host", "os", "arch", "command", "reason" };
    char quoted[DUMP_QUOTED_MAX];
    const cJSON *item;

    cJSON_ArrayForEach(item, v)
    {
        size_t i = 0;
        if (strcmp(item->string, "builds") == 0) {
            if (!cJSON_IsObject(item))
                return bad(t, "builds is %s, not an object", dump_kind(item));
            if (check_builds(t, item))
                return -1;
            continue;
        }
        while (i < sizeof keys / sizeof keys[0] && strcmp(keys[i], item->string) != 0)
            i++;
        if (i == sizeof keys / sizeof keys[0])
            return bad(t, "unknown key %s", dump_quote(quoted, item->string));
        if (!cJSON_IsString(item))
            return bad(t, "%s is %s, not a string", keys[i], dump_kind(item));
    }
    t->f->provenance = cJSON_Duplicate(v, true);
    return t->f->provenance ? 0 : bad(t, "out of memory");
}

static int take_suite(const struct take *t, const cJSON *v)
{
    t->f->suite = strdup(v->valuestring);
    return t->f->suite ? 0 : bad(t, "out of memory");
}

static int take_shard(const struct take *t, const cJSON *v)
{
    char quoted[DUMP_QUOTED_MAX];
    uint64_t shard = 0, shards = 0;
    const char *p = parse_decimal(v->valuestring, UINT32_MAX, &shard);

    if (p && *p == '/')
        p = parse_decimal(p + 1, UINT32_MAX, &shards);
    if (!p || *p || shard == 0 || shard > shards)
        return bad(t, "%s is not of the form 'K/N' with K from 1 to N", dump_quote(quoted, v->valuestring));
    t->f->shard = (unsigned)shard;
    t->f->shards = (unsigned)shards;
    return 0;
}

static int take_seed(const struct take *t, const cJSON *v)
{
    char quoted[DUMP_QUOTED_MAX];
    const char *s = v->valuestring;
    size_t length = strlen(s);

    if (length < 3 || length > 18 || s[0] != '0' || s[1] != 'x' || strspn(s + 2, "0123456789abcdef") != length - 2)
        return bad(t, "%s is not '0x' and 1 to 16 lower-case hex digits", dump_quote(quoted, s));
    t->f->seed = strtoull(s + 2, NULL, 16);
    return 0;
}

static int take_backends(const struct take *t, const cJSON *v)
{
    char quoted[DUMP_QUOTED_MAX];
    struct dump_file *f = t->f;
    const cJSON *item;

    cJSON_ArrayForEach(item, v)
    {
        if (!cJSON_IsString(item))
            return bad(t, "entry %zu is %s, not a string", f->backend_count, dump_kind(item));
        if (!dump_backend_name_ok(item->valuestring))
            return bad(t, "%s is not a backend name (1 to %d bytes)", dump_quote(quoted, item->valuestring), DUMP_BACKEND_MAX - 1);
        for (size_t i = 0; i < f->backend_count; i++)
            if (strcmp(f->backends[i], item->valuestring) == 0)
                return bad(t, "%s is there twice", dump_quote(quoted, item->valuestring));
        if (f->backend_count == DUMP_RESULTS_MAX)
            return bad(t, "more than %d backends", DUMP_RESULTS_MAX);
        snprintf(f->backends[f->backend_count++], DUMP_BACKEND_MAX, "%s", item->valuestring);
    }
    return f->backend_count ? 0 : bad(t, "is empty");
}

static int check_profile(const struct take *t, const cJSON *profile)
{
    char backend[DUMP_QUOTED_MAX], quoted[DUMP_QUOTED_MAX];
    const cJSON *v;

    dump_quote(backend, profile->string);
    if (!dump_backend_name_ok(profile->string))
        return bad(t, "%s is not a backend name", backend);
    if (!cJSON_IsObject(profile))
        return bad(t, "profile of %s is %s, not an object", backend, dump_kind(profile));
    cJSON_ArrayForEach(v, profile)
    {
        if (!cJSON_IsString(v))
            return bad(t, "profile of %s: %s is %s, not a string", backend, dump_quote(quoted, v->string), dump_kind(v));
    }
    return 0;
}

static int take_profiles(const struct take *t, const cJSON *v)
{
    const cJSON *item;

    if (cJSON_GetArraySize(v) > DUMP_RESULTS_MAX)
        return bad(t, "more than %d backends", DUMP_RESULTS_MAX);
    cJSON_ArrayForEach(item, v)
    {
        if (check_profile(t, item))
            return -1;
    }
    t->f->profiles = cJSON_Duplicate(v, true);
    return t->f->profiles ? 0 : bad(t, "out of memory");
}

static int take_count(const struct take *t, const cJSON *v)
{
    double n = v->valuedouble;

    if (!(n >= 0 && n <= 4294967295.0) || n != (double)(uint64_t)n)
        return bad(t, "%.15g is not a number of cases", n);
    t->f->declared_count = (uint64_t)n;
    t->f->count_line = t->line;
    return 0;
}

static int take_complete(const struct take *t, const cJSON *v)
{
    t->f->complete = cJSON_IsTrue(v);
    return 0;
}

static const struct member_row {
    const char *name;
    int type;
    const char *type_name;
    int (*take)(const struct take *t, const cJSON *v);
} members[MEMBER_NUMBER] = {
    [MEMBER_FORMAT] = { "format", cJSON_String, "a string", take_format },
    [MEMBER_VERSION] = { "version", cJSON_Number, "a number", take_version },
    [MEMBER_PROVENANCE] = { "provenance", cJSON_Object, "an object", take_provenance },
    [MEMBER_SUITE] = { "suite", cJSON_String, "a string", take_suite },
    [MEMBER_SHARD] = { "shard", cJSON_String, "a string", take_shard },
    [MEMBER_SEED] = { "seed", cJSON_String, "a string", take_seed },
    [MEMBER_BACKENDS] = { "backends", cJSON_Array, "an array", take_backends },
    [MEMBER_CASES] = { "cases", cJSON_Array, "an array", NULL },
    [MEMBER_COUNT] = { "count", cJSON_Number, "a number", take_count },
    [MEMBER_COMPLETE] = { "complete", cJSON_True | cJSON_False, "a boolean", take_complete },
    [MEMBER_PROFILES] = { "profiles", cJSON_Object, "an object", take_profiles },
};

const char *dump_member_name(enum dump_member member)
{
    return members[member].name;
}

int dump_member_find(const char *name)
{
    for (int i = 0; i < MEMBER_NUMBER; i++)
        if (strcmp(members[i].name, name) == 0)
            return i;
    return -1;
}

int dump_header_take(struct dump_file *f, enum dump_member member, const char *text, size_t size, size_t line,
                     struct fp4_error *err)
{
    const struct member_row *row = &members[member];
    struct take t = { .f = f, .member = member, .line = line, .err = err };
    cJSON *v = cJSON_ParseWithLength(text, size);
    int status;

    if (!v)
        status = bad(&t, "cannot be parsed");
    else if (!(v->type & row->type))
        status = bad(&t, "is %s, not %s", dump_kind(v), row->type_name);
    else
        status = row->take(&t, v);
    cJSON_Delete(v);
    return status;
}

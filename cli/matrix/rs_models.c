/* SPDX-License-Identifier: Apache-2.0 */
/* rs_models.c: the rs-models as values of a knob: those of the reference, and measured ones (docs/probe.md has the file format). */
#include "case_build.h"
#include "dump.h"
#include "term.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)64 << 10)
#define DEPTH_MAX 6

struct measured {
    struct fp4_rs_map map;
    struct fp4_rs_model_row row;
    char name[24];
};

static struct measured measured[RS_MODELS_MAX];
static size_t measured_count;

const char *rs_model_tokens[RS_MODELS_MAX + 1];

__attribute__((constructor)) static void fill_tokens(void)
{
    size_t i;

    assert(fp4_rs_model_count <= RS_MODELS_MAX);
    for (i = 0; i < fp4_rs_model_count; i++)
        rs_model_tokens[i] = fp4_rs_models[i].name;
}

size_t rs_model_count(void)
{
    return fp4_rs_model_count + measured_count;
}

const struct fp4_rs_model_row *rs_model_row(unsigned value)
{
    assert(value < rs_model_count());
    return value < fp4_rs_model_count ? &fp4_rs_models[value] : &measured[value - fp4_rs_model_count].row;
}

int rs_model_find(const char *name)
{
    size_t i;

    for (i = 0; i < rs_model_count(); i++)
        if (strcmp(rs_model_row((unsigned)i)->name, name) == 0)
            return (int)i;
    return -1;
}

static const char *const rule_names[FP4_RS_RULE_COUNT] = { "trunc", "half", "half-old", "fma-floor", "hash32" };

const char *rs_rule_name(enum fp4_rs_rule rule)
{
    return rule_names[rule];
}

const char *rs_map_name(enum fp4_byte_map map)
{
    static const char *const names[FP4_MAP_COUNT + 1] = { "b300", "ptx-x", "ptx-y", "straight", "reverse", "custom" };

    return names[map];
}

/* ---- adding --------------------------------------------------------------------------------------------------------------------------- */

static bool same_map(const struct fp4_rs_model *m, const struct fp4_rs_map *map)
{
    struct fp4_rs_map expanded;

    if (m->map == FP4_MAP_CUSTOM)
        return memcmp(m->custom, map, sizeof *map) == 0;
    fp4_rs_map_expand(m->map, &expanded);
    return memcmp(&expanded, map, sizeof expanded) == 0;
}

int rs_model_add(enum fp4_rs_rule rule, const struct fp4_rs_map *map, struct fp4_error *err)
{
    struct measured *m = &measured[measured_count];
    uint8_t canonical[1 + sizeof *map];
    size_t i;

    for (i = 0; i < rs_model_count(); i++) {
        const struct fp4_rs_model *known = &rs_model_row((unsigned)i)->model;

        if (known->rule == rule && (rule == FP4_RS_HASH32 || same_map(known, map)))
            return (int)i;
    }
    if (rs_model_count() == RS_MODELS_MAX)
        return fp4_fail(err, FP4_EUSAGE, "more than %d rs-models", RS_MODELS_MAX);
    canonical[0] = (uint8_t)rule;
    memcpy(canonical + 1, map, sizeof *map);
    m->map = *map;
    snprintf(m->name, sizeof m->name, "rs-file-%08x", (unsigned)(digest64_bytes(canonical, sizeof canonical) & 0xFFFFFFFFu));
    m->row = (struct fp4_rs_model_row){ m->name, { rule, FP4_MAP_CUSTOM, &m->map }, false, "measured" };
    rs_model_tokens[rs_model_count()] = m->name;
    measured_count++;
    return (int)rs_model_count() - 1;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------------ */

char *rs_model_text(enum fp4_rs_rule rule, const struct fp4_rs_map *map)
{
    struct text t = { 0 };
    unsigned nibble, j;

    text_printf(&t, "{\"format\":\"fp4check-rs-model\",\"version\":1,\"rule\":\"%s\",\n\"map\":[", rule_names[rule]);
    for (nibble = 0; nibble < 4; nibble++) {
        text_printf(&t, "%s[", nibble ? "],\n       " : "");
        for (j = 0; j < 8; j++) {
            text_add(&t, j ? "," : "");
            if (map->source[nibble][j] < 32)
                text_printf(&t, "%u", map->source[nibble][j]);
            else
                text_add(&t, "null");
        }
    }
    text_add(&t, "]]}\n");
    if (t.failed)
        text_release(&t);
    return t.data;
}

static char *read_text(const char *path, size_t *size, struct fp4_error *err)
{
    FILE *in = fopen(path, "rb");
    char *text = malloc(FILE_MAX + 1);
    bool ok = in && text;

    if (ok) {
        *size = fread(text, 1, FILE_MAX + 1, in);
        ok = !ferror(in);
    }
    if (!ok)
        fp4_fail(err, FP4_EIO, "cannot read: %s", text ? strerror(errno) : "out of memory");
    else if (*size > FILE_MAX)
        ok = fp4_fail(err, FP4_EFORMAT, "larger than %zu bytes", FILE_MAX) == 0;
    if (in)
        fclose(in);
    if (ok)
        text[*size] = '\0';
    else
        free(text);
    return ok ? text : NULL;
}

static int take_bit(const cJSON *v, unsigned nibble, unsigned j, uint8_t *out, struct fp4_error *err)
{
    if (cJSON_IsNull(v)) {
        *out = FP4_RS_NO_BIT;
        return 0;
    }
    if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0 && v->valuedouble <= 31) || v->valuedouble != (double)(int)v->valuedouble)
        return fp4_fail(err, FP4_EFORMAT, "field 'map': nibble %u, weight 2^%u is not a bit from 0 to 31 or null", nibble, j);
    *out = (uint8_t)v->valuedouble;
    return 0;
}

static int take_map(const cJSON *v, struct fp4_rs_map *map, struct fp4_error *err)
{
    unsigned nibble, j;

    if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != 4)
        return fp4_fail(err, FP4_EFORMAT, "field 'map' is not an array of 4 arrays, one for each nibble");
    for (nibble = 0; nibble < 4; nibble++) {
        const cJSON *lane = cJSON_GetArrayItem(v, (int)nibble);

        if (!cJSON_IsArray(lane) || cJSON_GetArraySize(lane) != 8)
            return fp4_fail(err, FP4_EFORMAT, "field 'map': nibble %u is not an array of 8 bits, weight 1 first", nibble);
        for (j = 0; j < 8; j++)
            if (take_bit(cJSON_GetArrayItem(lane, (int)j), nibble, j, &map->source[nibble][j], err))
                return -1;
    }
    return 0;
}

static int take_rule(const cJSON *v, enum fp4_rs_rule *rule, struct fp4_error *err)
{
    int i;

    for (i = 0; cJSON_IsString(v) && i < FP4_RS_HASH32; i++) /* hash32 has no map */
        if (strcmp(v->valuestring, rule_names[i]) == 0) {
            *rule = (enum fp4_rs_rule)i;
            return 0;
        }
    return fp4_fail(err, FP4_EFORMAT, "field 'rule' is not trunc, half, half-old or fma-floor");
}

static int take_model(const cJSON *root, enum fp4_rs_rule *rule, struct fp4_rs_map *map, struct fp4_error *err)
{
    const cJSON *item;

    if (!cJSON_IsObject(root))
        return fp4_fail(err, FP4_EFORMAT, "is not a JSON object");
    cJSON_ArrayForEach(item, root)
    {
        if (strcmp(item->string, "format") != 0 && strcmp(item->string, "version") != 0 && strcmp(item->string, "rule") != 0 &&
            strcmp(item->string, "map") != 0 && strcmp(item->string, "note") != 0)
            return fp4_fail(err, FP4_EFORMAT, "unknown field '%.40s'", item->string);
    }
    item = cJSON_GetObjectItemCaseSensitive(root, "format");
    if (!cJSON_IsString(item) || strcmp(item->valuestring, "fp4check-rs-model") != 0)
        return fp4_fail(err, FP4_EFORMAT, "field 'format' is not \"fp4check-rs-model\"");
    item = cJSON_GetObjectItemCaseSensitive(root, "version");
    if (!cJSON_IsNumber(item) || item->valuedouble != 1)
        return fp4_fail(err, FP4_EFORMAT, "field 'version' is not 1");
    item = cJSON_GetObjectItemCaseSensitive(root, "note");
    if (item && !cJSON_IsString(item))
        return fp4_fail(err, FP4_EFORMAT, "field 'note' is not a string");
    return take_rule(cJSON_GetObjectItemCaseSensitive(root, "rule"), rule, err) ||
                   take_map(cJSON_GetObjectItemCaseSensitive(root, "map"), map, err)
               ? -1
               : 0;
}

static int load(const char *path, struct fp4_error *err)
{
    struct fp4_rs_map map;
    enum fp4_rs_rule rule = FP4_RS_TRUNC;
    size_t size = 0, line = 0;
    char *text = read_text(path, &size, err);
    cJSON *root = NULL;
    int value = -1;

    if (!text)
        return -1;
    if (json_check(text, size, DEPTH_MAX, &line, NULL, err))
        fp4_fail_in(err, "line %zu", line);
    else if (!(root = cJSON_ParseWithLength(text, size)))
        fp4_fail(err, FP4_EIO, "out of memory");
    else if (take_model(root, &rule, &map, err) == 0)
        value = rs_model_add(rule, &map, err);
    cJSON_Delete(root);
    free(text);
    return value;
}

int rs_model_from_text(const char *text, struct fp4_error *err)
{
    int value = rs_model_find(text);

    if (value >= 0)
        return value;
    if (!strchr(text, '/') && !strchr(text, '.'))
        return fp4_fail(err, FP4_EUSAGE, "no rs-model '%.60s' (`fp4check list rs-models`), and a file's name holds a '.' or a '/'",
                        text);
    value = load(text, err);
    return value < 0 ? fp4_fail_in(err, "%.200s", text) : value;
}

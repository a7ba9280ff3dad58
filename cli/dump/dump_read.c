/* SPDX-License-Identifier: Apache-2.0 */
/* dump_read.c: the public reader: open (one pass, dump_scan.c), find, read a case again (dump_case.c). */
#include "dump_internal.h"

#include <stdlib.h>
#include <string.h>

struct dump_file *dump_file_new(const char *path, struct fp4_error *err)
{
    struct dump_file *f = calloc(1, sizeof *f);

    if (f) {
        f->source = (struct source){ .in = -1, .at = -1 };
        f->path = strdup(path);
    }
    if (!f || !f->path) {
        free(f);
        fp4_fail(err, FP4_EIO, "out of memory");
        return NULL;
    }
    return f;
}

struct dump_file *dump_read_open(const char *path, struct fp4_error *err)
{
    struct dump_file *f = dump_file_new(strcmp(path, "-") == 0 ? "standard input" : path, err);

    if (!f)
        return NULL;
    if (source_open(&f->source, path, err)) {
        const char *dots, *tail = dump_path_tail(f->path, &dots);
        fp4_fail_in(err, "%s%s", dots, tail);
        dump_read_close(f);
        return NULL;
    }
    if (dump_scan(f, SCAN_WHOLE, err)) {
        dump_read_close(f);
        return NULL;
    }
    return f;
}

void dump_read_close(struct dump_file *f)
{
    if (!f)
        return;
    source_close(&f->source);
    cJSON_Delete(f->provenance);
    cJSON_Delete(f->profiles);
    free(f->suite);
    free(f->entries);
    free(f->slots);
    free(f->path);
    free(f);
}

const char *dump_path(const struct dump_file *f)
{
    return f->path;
}

size_t dump_count(const struct dump_file *f)
{
    return f->count;
}

bool dump_complete(const struct dump_file *f)
{
    return f->complete;
}

const char *dump_suite(const struct dump_file *f)
{
    return f->suite;
}

void dump_shard(const struct dump_file *f, unsigned *shard, unsigned *shards)
{
    *shard = f->shard;
    *shards = f->shards;
}

uint64_t dump_seed(const struct dump_file *f)
{
    return f->seed;
}

size_t dump_backend_count(const struct dump_file *f)
{
    return f->backend_count;
}

const char *dump_backend(const struct dump_file *f, size_t i)
{
    return f->backends[i];
}

const char *dump_provenance_text(const struct dump_file *f, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(f->provenance, key);

    return cJSON_IsString(v) ? v->valuestring : NULL;
}

const char *dump_provenance_build(const struct dump_file *f, const char *backend)
{
    const cJSON *builds = cJSON_GetObjectItemCaseSensitive(f->provenance, "builds");
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(builds, backend);

    return cJSON_IsString(v) ? v->valuestring : NULL;
}

char *dump_profile_text(const struct dump_file *f, const char *backend)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(f->profiles, backend);

    return v ? cJSON_PrintUnformatted(v) : NULL;
}

ptrdiff_t dump_find(const struct dump_file *f, const char *name)
{
    struct dump_slot wanted = dump_slot_of(name, strlen(name), 0);
    size_t low = 0, high = f->count;

    /* The first slot that is not below (hash, index 0). */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dump_slot_compare(&f->slots[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == f->count || f->slots[low].hash != wanted.hash || f->slots[low].hash_low != wanted.hash_low)
        return -1;
    return (ptrdiff_t)f->slots[low].index;
}

char *dump_case_text(const struct dump_file *f, size_t i, struct fp4_error *err)
{
    const struct dump_entry *e = &f->entries[i];
    char *text = malloc((size_t)e->length + 1);

    if (!text) {
        fp4_fail(err, FP4_EIO, "%s: line %u: out of memory", f->path, e->line);
        return NULL;
    }
    if (source_at(&f->source, e->offset, text, e->length, err)) {
        const char *dots, *tail = dump_path_tail(f->path, &dots);
        fp4_fail_in(err, "%s%s: line %u", dots, tail, e->line);
        free(text);
        return NULL;
    }
    text[e->length] = 0; /* cJSON may look one byte beyond */
    return text;
}

int dump_case_read(struct dump_file *f, size_t i, struct dump_case *out, struct fp4_error *err)
{
    char *text = dump_case_text(f, i, err);
    cJSON *tree = text ? dump_case_tree(f, i, text, err) : NULL;

    free(text); /* before the tensors are unpacked */
    *out = (struct dump_case){ .line = 0 };
    return tree ? dump_case_take(f, i, tree, out, err) : -1;
}

static int read_all(struct dump_file *f, struct fp4_error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        struct dump_case c;
        if (dump_case_read(f, i, &c, err))
            return -1;
        dump_case_release(&c);
    }
    return 0;
}

int dump_check_memory(const void *text, size_t size, struct fp4_error *err)
{
    struct dump_file *f = dump_file_new("memory", err);
    int status;

    if (!f)
        return -1;
    source_memory(&f->source, text, size);
    status = dump_scan(f, SCAN_WHOLE, err);
    if (!status)
        status = read_all(f, err);
    dump_read_close(f);
    return status;
}

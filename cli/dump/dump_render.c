/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_render.c: the text of a dump. Keys come in one fixed order and nothing depends on locale, time or addresses, so equal results
 * give equal bytes. (Bytes packed by another version of libzstd may be spelled differently; digests never are.)
 */
#include "dump_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Kept bytes stop where the rest of the case (block digests, names, reasons) might no longer fit. */
#define TEXT_KEEP_MAX (DUMP_CASE_MAX - ((size_t)16 << 20))
#define ZSTD_LEVEL 3

/* ---- strings ---- */

/* Length of the UTF-8 sequence at s, or 0 when it is none. */
static size_t utf8_length(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned char low = p[0] == 0xE0 ? 0xA0 : p[0] == 0xF0 ? 0x90 : 0x80, high = p[0] == 0xED ? 0x9F : p[0] == 0xF4 ? 0x8F : 0xBF;
    size_t n = p[0] < 0x80 ? 1 : p[0] < 0xC2 ? 0 : p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : p[0] <= 0xF4 ? 4 : 0;

    if (n < 2)
        return n;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return n;
}

static void put_ascii(struct text *t, char c)
{
    static const char names[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = strchr(names, c);
    char escape[8];

    if (at)
        snprintf(escape, sizeof escape, "\\%c", letters[at - names]);
    else
        snprintf(escape, sizeof escape, c < 0x20 || c == 0x7F ? "\\u%04x" : "%c", (unsigned)c);
    text_add(t, escape);
}

static bool needs_care(char c)
{
    return c < 0x20 || c >= 0x7F || c == '"' || c == '\\';
}

/* At most `most` bytes of s, cut at a character. */
static void put_string_cut(struct text *t, const char *s, size_t most)
{
    size_t done = 0;

    text_addn(t, "\"", 1);
    while (s[done]) {
        size_t run = 0, n;
        while (s[done + run] && !needs_care(s[done + run]) && done + run < most)
            run++;
        text_addn(t, s + done, run);
        done += run;
        if (!s[done])
            break;
        n = utf8_length(s + done);
        if (done + (n ? n : 3) > most)
            break;
        if (n == 1)
            put_ascii(t, s[done]);
        else if (n)
            text_addn(t, s + done, n);
        else
            text_add(t, "\xEF\xBF\xBD");
        done += n ? n : 1;
    }
    text_addn(t, "\"", 1);
}

void dump_put_string(struct text *t, const char *s)
{
    put_string_cut(t, s, SIZE_MAX);
}

/* ---- header and trailer ---- */

static void put_member(struct text *t, bool *first, const char *key, const char *value)
{
    if (!value)
        return;
    text_printf(t, "%s\"%s\":", *first ? "" : ",", key);
    dump_put_string(t, value);
    *first = false;
}

static void put_provenance(struct text *t, const struct dump_provenance *p)
{
    bool first = true;

    text_add(t, "\"provenance\":{");
    put_member(t, &first, "tool", p->tool);
    put_member(t, &first, "time", p->time);
    put_member(t, &first, "host", p->host);
    put_member(t, &first, "os", p->os);
    put_member(t, &first, "arch", p->arch);
    put_member(t, &first, "command", p->command);
    put_member(t, &first, "reason", p->reason);
    if (p->build_count) {
        text_printf(t, "%s\"builds\":{", first ? "" : ",");
        for (size_t i = 0; i < p->build_count; i++) {
            text_add(t, i ? "," : "");
            dump_put_string(t, p->builds[i].backend);
            text_add(t, ":");
            dump_put_string(t, p->builds[i].build ? p->builds[i].build : "");
        }
        text_add(t, "}");
    }
    text_add(t, "},\n");
}

static void put_profiles(struct text *t, const struct dump_header *h)
{
    bool first = true;

    for (size_t i = 0; i < h->backend_count; i++) {
        if (!h->profiles[i])
            continue;
        text_add(t, first ? "\"profiles\":{" : ",\n");
        dump_put_string(t, h->backends[i]);
        text_add(t, ":");
        text_add(t, h->profiles[i]);
        first = false;
    }
    text_add(t, first ? "" : "},\n");
}

void dump_put_header(struct text *t, const struct dump_header *h)
{
    unsigned shards = h->shards ? h->shards : 1, shard = h->shard ? h->shard : 1;

    text_printf(t, "{\"format\":\"fp4check-dump\",\"version\":%d,\n", DUMP_VERSION);
    put_provenance(t, &h->provenance);
    text_add(t, "\"suite\":");
    dump_put_string(t, h->suite ? h->suite : "");
    text_printf(t, ",\"shard\":\"%u/%u\",\"seed\":\"0x%" PRIx64 "\",\"backends\":[", shard, shards, h->seed);
    for (size_t i = 0; i < h->backend_count; i++) {
        text_add(t, i ? "," : "");
        dump_put_string(t, h->backends[i]);
    }
    text_add(t, "],\n");
    put_profiles(t, h);
    text_add(t, "\"cases\":[");
}

void dump_put_trailer(struct text *t, size_t count, bool complete)
{
    text_printf(t, "\n],\n\"count\":%zu,\"complete\":%s}\n", count, complete ? "true" : "false");
}

/* ---- one case ---- */

struct render {
    struct text t;
    size_t keep;
    bool keep_stages;
    size_t blocks, kept_bytes; /* so far in this case */
    bool failed;
};

static bool put_blocks(struct render *r, const struct tensor *t)
{
    size_t count = t->bytes / DUMP_BLOCK_BYTES + (t->bytes % DUMP_BLOCK_BYTES != 0);

    if (t->bytes <= DUMP_BLOCK_BYTES)
        return true;
    r->blocks += count;
    if (r->blocks > DUMP_BLOCKS_MAX)
        return false;
    text_add(&r->t, ",\"blocks\":[");
    for (size_t at = 0; at < t->bytes; at += DUMP_BLOCK_BYTES) {
        size_t size = t->bytes - at < DUMP_BLOCK_BYTES ? t->bytes - at : DUMP_BLOCK_BYTES;
        char item[24];
        snprintf(item, sizeof item, "%s\"%016" PRIx64 "\"", at ? "," : "", digest64_bytes(t->data + at, size));
        text_add(&r->t, item);
    }
    text_add(&r->t, "]");
    return true;
}

/* kept: what the bytes are after unpacking. Nothing is written when the case would become too long. */
static void put_base64(struct render *r, const char *key, const uint8_t *data, size_t bytes, size_t kept)
{
    size_t length = base64_encoded_bytes(bytes);
    char *text;

    if (r->t.length + length > TEXT_KEEP_MAX)
        return;
    text = malloc(length + 1);
    if (!text) {
        r->failed = true;
        return;
    }
    base64_encode(data, bytes, text);
    text_printf(&r->t, ",\"%s\":\"", key);
    text_addn(&r->t, text, length);
    text_add(&r->t, "\"");
    free(text);
    r->kept_bytes += kept;
}

static void put_packed(struct render *r, const struct tensor *t)
{
    size_t capacity = ZSTD_compressBound(t->bytes), got;
    uint8_t *packed = malloc(capacity);

    got = packed ? ZSTD_compress(packed, capacity, t->data, t->bytes, ZSTD_LEVEL) : 0;
    if (!packed || ZSTD_isError(got))
        r->failed = true;
    else
        put_base64(r, "zstd", packed, got, t->bytes);
    free(packed);
}

static bool wants_bytes(const struct render *r, const struct tensor *t)
{
    if (t->role == TENSOR_INPUT || (t->role == TENSOR_STAGE && !r->keep_stages))
        return false;
    return r->keep > 0 && t->bytes <= r->keep && t->bytes <= DUMP_BYTES_MAX - r->kept_bytes;
}

static void put_tensor(struct render *r, const struct tensor *t)
{
    static const char *const roles[] = { [TENSOR_INPUT] = "input", [TENSOR_OUTPUT] = "output", [TENSOR_STAGE] = "stage" };
    char digest[33];

    digest_print(digest_bytes(t->data, t->bytes), digest);
    text_printf(&r->t, "{\"name\":\"%s\",\"role\":\"%s\",\"dtype\":\"%s\",\"shape\":[", t->name, roles[t->role],
                fp4_dtype_name(t->dtype));
    for (unsigned i = 0; i < t->ndim; i++)
        text_printf(&r->t, "%s%zu", i ? "," : "", t->dims[i]);
    text_printf(&r->t, "],\"xxh3\":\"%s\"", digest);
    if (put_blocks(r, t) && wants_bytes(r, t)) {
        if (t->bytes > DUMP_ZSTD_ABOVE)
            put_packed(r, t);
        else
            put_base64(r, "base64", t->data, t->bytes, t->bytes);
    }
    text_add(&r->t, "}");
}

/* Inputs, or outputs and stages: those that are there. */
static void put_tensors(struct render *r, const struct case_tensors *tensors, bool inputs)
{
    bool first = true;

    text_add(&r->t, "[");
    for (size_t i = 0; tensors && i < tensors->count; i++) {
        const struct tensor *t = &tensors->t[i];
        bool is_input = t->role == TENSOR_INPUT;
        if (is_input != inputs || (!t->data && t->bytes) || (!is_input && !t->written))
            continue;
        text_add(&r->t, first ? "" : ",");
        put_tensor(r, t);
        first = false;
    }
    text_add(&r->t, "]");
}

static void put_result(struct render *r, const struct dump_result *result)
{
    text_add(&r->t, "{\"backend\":");
    dump_put_string(&r->t, result->backend);
    if (result->status == DUMP_OK) {
        text_add(&r->t, ",\"status\":\"ok\",");
        if (result->path) {
            text_add(&r->t, "\"path\":");
            dump_put_string(&r->t, result->path);
            text_add(&r->t, ",");
        }
        text_add(&r->t, "\"tensors\":");
        put_tensors(r, result->t, false);
    } else {
        text_printf(&r->t, ",\"status\":\"%s\",\"reason\":", result->status == DUMP_SKIPPED ? "skipped" : "error");
        put_string_cut(&r->t, result->reason ? result->reason : "", DUMP_REASON_MAX);
    }
    text_add(&r->t, "}");
}

char *dump_render_case(const char *name, const struct case_tensors *inputs, const struct dump_result *results, size_t count,
                       size_t keep, bool keep_stages)
{
    struct render r = { .keep = keep, .keep_stages = keep_stages };

    text_add(&r.t, "{\"case\":");
    dump_put_string(&r.t, name);
    text_add(&r.t, ",\"inputs\":");
    put_tensors(&r, inputs, true);
    text_add(&r.t, ",\"results\":[");
    for (size_t i = 0; i < count; i++) {
        text_add(&r.t, i ? "," : "");
        put_result(&r, &results[i]);
    }
    text_add(&r.t, "]}");
    if (r.failed || r.t.failed) {
        text_release(&r.t);
        return NULL;
    }
    return r.t.data;
}

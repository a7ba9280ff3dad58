/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_scan.c: the first pass over a dump. The grammar machine sees every byte; here its events are turned into the header, the index
 * of the cases and the trailer. Line breaks and the order of keys mean nothing, so a dump that went through jq is still a dump.
 *
 * Only the header is copied to memory (at most DUMP_HEADER_MAX); of a case just place, length, line and the hash of its name are kept.
 */
#include "dump_internal.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define CASES_MAX ((size_t)1 << 22)

struct scan {
    struct dump_file *f;
    struct fp4_error *err;
    struct json_machine m;
    bool reported; /* *err is already written */

    const char *chunk; /* being fed */
    uint64_t chunk_offset;

    enum dump_member member; /* whose value is being read */
    bool capturing;
    uint64_t capture_offset;
    size_t capture_line;
    char *captured;
    size_t captured_size, captured_capacity;

    bool in_cases;
    uint64_t outside; /* where the text outside the cases that is being read began */
    bool in_case, name_next, named;
    struct dump_entry entry;
};

static int bad(struct scan *s, size_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int bad(struct scan *s, size_t line, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    dump_vfail(s->err, s->f->path, line, fmt, args);
    va_end(args);
    s->reported = true;
    return -1;
}

static int bad_memory(struct scan *s)
{
    fp4_fail(s->err, FP4_EIO, "%s: out of memory", s->f->path);
    s->reported = true;
    return -1;
}

/* ---- header members ---- */

static int capture(struct scan *s, const char *data, size_t size)
{
    size_t need = s->captured_size + size + 1;

    if (need > DUMP_HEADER_MAX)
        return bad(s, s->capture_line, "%s: is longer than %zu bytes", dump_member_name(s->member), DUMP_HEADER_MAX);
    if (need > s->captured_capacity) {
        size_t capacity = need < 4096 ? 4096 : need * 2;
        char *grown = realloc(s->captured, capacity);
        if (!grown)
            return bad_memory(s);
        s->captured = grown;
        s->captured_capacity = capacity;
    }
    memcpy(s->captured + s->captured_size, data, size);
    s->captured_size += size;
    s->captured[s->captured_size] = 0;
    return 0;
}

/* What of the value being captured lies in the current chunk, up to an offset. */
static int capture_until(struct scan *s, uint64_t end)
{
    uint64_t from = s->capture_offset > s->chunk_offset ? s->capture_offset : s->chunk_offset;

    return capture(s, s->chunk + (from - s->chunk_offset), (size_t)(end - from));
}

static int member_key(struct scan *s)
{
    int member = dump_member_find(s->m.text);
    char quoted[DUMP_QUOTED_MAX];

    if (member < 0)
        return bad(s, (size_t)s->m.line, "unknown key %s%s", dump_quote(quoted, s->m.text),
                   s->f->seen ? "" : "; this is not a dump of fp4check");
    s->member = (enum dump_member)member;
    s->f->seen |= 1u << member;
    return 0;
}

static int member_begin(struct scan *s)
{
    if (s->member == MEMBER_CASES) {
        if (s->m.first != '[')
            return bad(s, (size_t)s->m.line, "cases: is not an array");
        s->in_cases = true;
        return 0;
    }
    s->capturing = true;
    s->capture_offset = s->m.offset;
    s->capture_line = (size_t)s->m.line;
    s->captured_size = 0;
    return 0;
}

static int member_end(struct scan *s)
{
    if (s->in_cases) {
        s->in_cases = false;
        s->outside = s->m.end;
        return 0;
    }
    if (capture_until(s, s->m.end))
        return -1;
    s->capturing = false;
    if (dump_header_take(s->f, s->member, s->captured, s->captured_size, s->capture_line, s->err)) {
        s->reported = true;
        return -1;
    }
    return 0;
}

/* ---- cases ---- */

static int grow_index(struct scan *s)
{
    struct dump_file *f = s->f;
    size_t capacity = f->capacity ? f->capacity + f->capacity / 2 : 256;
    struct dump_entry *entries = realloc(f->entries, capacity * sizeof *entries);

    if (!entries)
        return bad_memory(s);
    f->entries = entries;
    struct dump_slot *slots = realloc(f->slots, capacity * sizeof *slots);
    if (!slots)
        return bad_memory(s);
    f->slots = slots;
    f->capacity = capacity;
    return 0;
}

static int case_begin(struct scan *s)
{
    struct dump_file *f = s->f;
    size_t line = (size_t)s->m.line;

    if (s->m.first != '{')
        return bad(s, line, "cases[%zu]: is not an object", f->count);
    if (f->count == CASES_MAX)
        return bad(s, line, "cases: more than %zu cases", CASES_MAX);
    if (f->count == f->capacity && grow_index(s))
        return -1;
    s->entry = (struct dump_entry){ .offset = s->m.offset, .line = line < UINT32_MAX ? (uint32_t)line : UINT32_MAX };
    s->in_case = true;
    s->name_next = s->named = false;
    s->m.values = 0;
    s->m.max_values = DUMP_VALUES_MAX;
    return 0;
}

static int case_too_long(struct scan *s)
{
    return bad(s, s->entry.line, "cases[%zu]: is longer than %zu bytes", s->f->count, DUMP_CASE_MAX);
}

static int case_end(struct scan *s)
{
    struct dump_file *f = s->f;
    uint64_t length = s->m.end - s->entry.offset;

    if (!s->named)
        return bad(s, s->entry.line, "cases[%zu].case: is missing", f->count);
    if (length > DUMP_CASE_MAX)
        return case_too_long(s);
    s->entry.length = (uint32_t)length;
    f->entries[f->count++] = s->entry;
    s->in_case = false;
    s->m.values = 0;
    s->m.max_values = DUMP_HEADER_VALUES_MAX;
    return 0;
}

static int case_name_begin(struct scan *s)
{
    if (s->name_next && s->m.first != '"')
        return bad(s, (size_t)s->m.line, "cases[%zu].case: is not a string", s->f->count);
    return 0;
}

static int case_name_end(struct scan *s)
{
    char quoted[DUMP_QUOTED_MAX];

    if (!s->name_next)
        return 0;
    s->name_next = false;
    s->named = true;
    if (!dump_case_name_ok(s->m.text, s->m.text_length))
        return bad(s, (size_t)s->m.line, "cases[%zu].case: %s is not a case name", s->f->count, dump_quote(quoted, s->m.text));
    s->f->slots[s->f->count] = dump_slot_of(s->m.text, s->m.text_length, s->f->count);
    return 0;
}

/* ---- events ---- */

static int on_root(struct scan *s, enum json_event event)
{
    if (event == JSON_BEGIN && s->m.first != '{')
        return bad(s, (size_t)s->m.line, "the text is not a JSON object; this is not a dump of fp4check");
    return 0;
}

static int on_event(struct json_machine *m, enum json_event event, void *arg)
{
    struct scan *s = arg;

    if (m->depth == 0)
        return on_root(s, event);
    if (m->depth == 1)
        return event == JSON_KEY ? member_key(s) : event == JSON_BEGIN ? member_begin(s) : member_end(s);
    if (!s->in_cases)
        return 0;
    if (m->depth == 2)
        return event == JSON_BEGIN ? case_begin(s) : case_end(s);
    if (event == JSON_KEY) {
        s->name_next = strcmp(m->text, "case") == 0;
        return 0;
    }
    return event == JSON_BEGIN ? case_name_begin(s) : case_name_end(s);
}

/* ---- the pass ---- */

static int grammar_error(struct scan *s)
{
    if (s->reported)
        return -1;
    const char *hint = json_failed_at_end(&s->m) ? "; was the file cut off?" : "";
    return bad(s, (size_t)s->m.line, "column %zu: %s%s", json_column(&s->m), s->m.error.msg, hint);
}

static int source_error(struct scan *s)
{
    const char *dots, *tail = dump_path_tail(s->f->path, &dots);

    s->reported = true;
    return fp4_fail_in(s->err, "%s%s", dots, tail);
}

static int check_sizes(struct scan *s)
{
    if (s->in_case)
        return s->m.offset - s->entry.offset > DUMP_CASE_MAX ? case_too_long(s) : 0;
    if (!s->in_cases && s->m.offset - s->outside > DUMP_HEADER_MAX)
        return bad(s, (size_t)s->m.line, "more than %zu bytes %s the cases", DUMP_HEADER_MAX, s->outside ? "after" : "before");
    return 0;
}

static int feed(struct scan *s, const char *chunk, size_t size)
{
    s->chunk = chunk;
    s->chunk_offset = s->m.base;
    if (json_feed(&s->m, chunk, size))
        return grammar_error(s);
    if (s->capturing && capture_until(s, s->m.offset))
        return -1;
    return check_sizes(s);
}

static int pass(struct scan *s)
{
    char *chunk = malloc(SOURCE_CHUNK);
    int status = chunk ? 0 : bad_memory(s);

    while (!status) {
        size_t got = 0;
        if (source_read(&s->f->source, chunk, SOURCE_CHUNK, &got, s->err)) {
            status = source_error(s);
            break;
        }
        if (got == 0) {
            status = json_finish(&s->m) ? grammar_error(s) : 0;
            break;
        }
        status = feed(s, chunk, got);
    }
    free(chunk);
    return status;
}

/* ---- after the pass ---- */

struct dump_slot dump_slot_of(const char *name, size_t length, size_t index)
{
    XXH128_hash_t h = XXH3_128bits(name, length);

    return (struct dump_slot){ .hash = h.high64, .hash_low = (uint32_t)(h.low64 >> 32), .index = (uint32_t)index };
}

int dump_slot_compare(const void *a, const void *b)
{
    const struct dump_slot *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->hash_low != y->hash_low)
        return x->hash_low < y->hash_low ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Two names with the same 96 bits of hash by chance do not happen; a forged pair only spoils the forger's file. */
static int check_names(struct scan *s)
{
    struct dump_file *f = s->f;
    const struct dump_slot *first = NULL, *again = NULL;

    if (f->count == 0)
        return 0;
    qsort(f->slots, f->count, sizeof *f->slots, dump_slot_compare);
    for (size_t i = 1; i < f->count; i++) {
        const struct dump_slot *a = &f->slots[i - 1], *b = &f->slots[i];
        if (a->hash == b->hash && a->hash_low == b->hash_low && (!again || b->index < again->index)) {
            first = a;
            again = b;
        }
    }
    if (!again)
        return 0;
    return bad(s, f->entries[again->index].line, "cases[%u].case: the same name as that of cases[%u] in line %u", again->index,
               first->index, f->entries[first->index].line);
}

static int check_members(struct scan *s, uint32_t needed)
{
    uint32_t missing = needed & ~s->f->seen;

    for (int i = 0; i < MEMBER_NUMBER; i++)
        if (missing >> i & 1)
            return bad(s, (size_t)s->m.line, "%s: is missing%s", dump_member_name((enum dump_member)i),
                       i == MEMBER_FORMAT ? "; this is not a dump of fp4check" : "");
    return 0;
}

static int check_count(struct scan *s)
{
    const struct dump_file *f = s->f;

    if (f->declared_count == f->count)
        return 0;
    return bad(s, f->count_line, "count: %llu, but there are %zu cases", (unsigned long long)f->declared_count, f->count);
}

#define HEADER_MEMBERS ((1u << MEMBER_CASES) - 1)
#define ALL_MEMBERS ((1u << MEMBER_PROFILES) - 1)

/* A partial file may break off anywhere, and after a power failure it may end in bytes that were never written: what is whole before
 * that is good. An error of the system is one here too. */
static int after_partial(struct scan *s, int status)
{
    if (status && s->err->code == FP4_EIO)
        return -1;
    if (status && !(s->f->seen >> MEMBER_CASES & 1))
        return json_failed_at_end(&s->m) ? 0 : -1;
    if (check_members(s, HEADER_MEMBERS))
        return -1;
    return check_names(s);
}

int dump_scan(struct dump_file *f, enum scan_mode mode, struct fp4_error *err)
{
    struct scan *s = calloc(1, sizeof *s);
    int status;

    if (!s)
        return fp4_fail(err, FP4_EIO, "%s: out of memory", f->path);
    s->f = f;
    s->err = err;
    json_begin(&s->m);
    s->m.max_depth = DUMP_DEPTH_MAX;
    s->m.max_keys = DUMP_KEYS_MAX;
    s->m.max_values = DUMP_HEADER_VALUES_MAX;
    s->m.watch_depth = 3;
    s->m.watch = on_event;
    s->m.arg = s;
    status = pass(s);
    if (mode == SCAN_PARTIAL)
        status = after_partial(s, status);
    else if (!status)
        status = check_members(s, ALL_MEMBERS) || check_names(s) || check_count(s) ? -1 : 0;
    json_release(&s->m);
    free(s->captured);
    free(s);
    return status;
}

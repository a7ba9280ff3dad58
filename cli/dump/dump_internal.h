/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_internal.h: what the files of cli/dump share and nobody else sees.
 *
 *   json_check.c   a JSON grammar machine fed with pieces of text; it keeps a stack and no text
 *   dump_source.c  bytes in order (file, pipe, zstd, memory) and bytes at an offset
 *   dump_scan.c    the first pass: grammar of the whole file, header, index of the cases
 *   dump_header.c  checks of the header's members
 *   dump_case.c    checks of one case and its conversion to struct dump_case
 *   dump_read.c    the public reader
 *   dump_render.c  the text of the header and of one case
 *   dump_write.c   PATH.partial, fsync, rename
 *   dump_resume.c  what can be taken from a PATH.partial
 */
#ifndef FP4_DUMP_INTERNAL_H
#define FP4_DUMP_INTERNAL_H

#include "dump.h"
#include "term.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <zstd.h>

/* ---- JSON grammar machine ---------------------------------------------------------------------------------------------------- */

#define JSON_DEPTH_LIMIT 64 /* no caller may ask for more */
#define JSON_TEXT_MAX 1024  /* decoded bytes of a string that are kept for the caller, NUL included; keys must fit */
#define JSON_NUMBER_MAX 63  /* characters; cJSON stops there */

enum json_event {
    JSON_KEY,   /* a key is complete: text, text_length */
    JSON_BEGIN, /* a value begins: first is its first character, offset its place */
    JSON_END    /* a value is complete: end is the offset after it; strings: text, text_length */
};

struct json_key {
    uint64_t hi, lo; /* XXH3-128 of the decoded key */
};

struct json_machine;
typedef int json_watch(struct json_machine *m, enum json_event event, void *arg);

struct json_machine {
    /* set by the caller after json_begin */
    unsigned max_depth;
    size_t max_values, max_keys; /* keys of one object */
    unsigned watch_depth;        /* events are reported for keys and values whose parent has at most this depth (root: 0) */
    json_watch *watch;           /* NULL: none. Not 0 stops the machine */
    void *arg;

    /* for the caller to read */
    unsigned depth; /* open brackets; in an event, those around the value */
    uint64_t offset, end;
    uint64_t line, line_start;
    size_t values; /* the caller may set it back */
    char first;
    char text[JSON_TEXT_MAX];
    size_t text_length; /* of the whole decoded string, may be more than what text holds */
    struct fp4_error error;

    /* private */
    int state;
    uint64_t base;
    bool is_object[JSON_DEPTH_LIMIT];
    size_t key_base[JSON_DEPTH_LIMIT];
    struct json_key *keys;
    size_t key_count, key_capacity;
    bool string_is_key, keep_text;
    unsigned hex_left, utf8_left;
    uint8_t utf8_low, utf8_high;
    uint32_t unit, high_surrogate;
    const char *literal;
    int number_state;
    size_t number_length;
};

void json_begin(struct json_machine *m);
/* 0, or -1 with error, offset and line set. When watch stopped the machine, error is not set. */
int json_feed(struct json_machine *m, const char *data, size_t size);
int json_finish(struct json_machine *m);               /* the text is complete: 0 or -1 */
bool json_failed_at_end(const struct json_machine *m); /* the failure is that the text ended too early */
size_t json_column(const struct json_machine *m);
void json_release(struct json_machine *m);

/* ---- bytes -------------------------------------------------------------------------------------------------------------------- */

#define SOURCE_CHUNK ((size_t)128 << 10)
#define SOURCE_SPOOL_MAX ((uint64_t)1 << 36) /* a pipe or an unpacked dump larger than this is refused */

struct source {
    int in; /* read in order */
    int at; /* read at offsets: the same descriptor, or the spool */
    uint8_t head[4];
    size_t head_size, head_used;
    ZSTD_DStream *unpack; /* NULL: not packed */
    uint8_t *packed;
    ZSTD_inBuffer packed_in;
    size_t unpack_hint;
    uint64_t size; /* bytes read so far, after unpacking */
    const uint8_t *memory;
    size_t memory_size;
};

int source_open(struct source *s, const char *path, struct fp4_error *err); /* "-": standard input */
void source_memory(struct source *s, const void *data, size_t size);
int source_read(struct source *s, void *buffer, size_t capacity, size_t *got, struct fp4_error *err); /* *got = 0: the end */
int source_at(const struct source *s, uint64_t offset, void *buffer, size_t size, struct fp4_error *err);
void source_close(struct source *s);

/* ---- opened dump -------------------------------------------------------------------------------------------------------------- */

#define DUMP_BACKEND_MAX 32 /* sizeof ((struct dump_case_result *)0)->backend */
#define DUMP_DEPTH_MAX 16u
#define DUMP_KEYS_MAX 64u                 /* keys of one object */
#define DUMP_HEADER_VALUES_MAX 4096u      /* values outside the cases */
#define DUMP_VALUES_MAX ((size_t)1 << 20) /* values of one case: bounds the tree that cJSON builds */

enum dump_member {
    MEMBER_FORMAT,
    MEMBER_VERSION,
    MEMBER_PROVENANCE,
    MEMBER_SUITE,
    MEMBER_SHARD,
    MEMBER_SEED,
    MEMBER_BACKENDS,
    MEMBER_CASES,
    MEMBER_COUNT,
    MEMBER_COMPLETE,
    MEMBER_PROFILES, /* the one that may be missing */
    MEMBER_NUMBER
};

/* Case i in file order. */
struct dump_entry {
    uint64_t offset;
    uint32_t length;
    uint32_t line;
};

/* Case names in hash order: the first 96 bits of XXH3-128. Entry and slot together are 32 bytes a case. */
struct dump_slot {
    uint64_t hash;
    uint32_t hash_low;
    uint32_t index;
};

struct dump_file {
    char *path;
    struct source source;
    uint32_t seen; /* bit 1 << dump_member */
    cJSON *provenance, *profiles;
    char *suite;
    unsigned shard, shards;
    uint64_t seed;
    char backends[DUMP_RESULTS_MAX][DUMP_BACKEND_MAX];
    size_t backend_count;
    uint64_t declared_count;
    size_t count_line;
    bool complete;
    struct dump_entry *entries;
    struct dump_slot *slots;
    size_t count, capacity;
};

struct dump_file *dump_file_new(const char *path, struct fp4_error *err);

enum scan_mode {
    SCAN_WHOLE,  /* the file must be a valid dump */
    SCAN_PARTIAL /* the file may end anywhere: what is whole before that is indexed */
};
/* SCAN_PARTIAL (err must not be NULL): the cases found so far are kept when the text breaks off after "cases":[; a fault before that
 * is an error, an end before that is none. */
int dump_scan(struct dump_file *f, enum scan_mode mode, struct fp4_error *err);

const char *dump_member_name(enum dump_member member);
int dump_member_find(const char *name); /* -1 when unknown */
/* Takes one member other than "cases" from its text (NUL-ended). */
int dump_header_take(struct dump_file *f, enum dump_member member, const char *text, size_t size, size_t line,
                     struct fp4_error *err);

bool dump_case_name_ok(const char *name, size_t length);
bool dump_backend_name_ok(const char *name);
struct dump_slot dump_slot_of(const char *name, size_t length, size_t index);
int dump_slot_compare(const void *a, const void *b); /* by hash, then index */

/* Text of case i, NUL-ended, read anew; caller frees. */
char *dump_case_text(const struct dump_file *f, size_t i, struct fp4_error *err);
/* Checks the grammar of that text again and parses it. */
cJSON *dump_case_tree(const struct dump_file *f, size_t i, const char *text, struct fp4_error *err);
/* Deletes the tree. */
int dump_case_take(const struct dump_file *f, size_t i, cJSON *tree, struct dump_case *out, struct fp4_error *err);

/* ---- text ---------------------------------------------------------------------------------------------------------------------- */

/* "PATH: line N: " and the message. Long paths keep their end. */
int dump_fail(struct fp4_error *err, const char *path, size_t line, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
int dump_vfail(struct fp4_error *err, const char *path, size_t line, const char *fmt, va_list args)
    __attribute__((format(printf, 4, 0)));
/* A stranger's string, made safe for a terminal and short, in quotes. */
#define DUMP_QUOTED_MAX 64
const char *dump_quote(char out[DUMP_QUOTED_MAX], const char *text);
/* "a string", "a number", ... of a parsed value. */
const char *dump_kind(const cJSON *value);
/* How the start of a path is shortened in messages. */
const char *dump_path_tail(const char *path, const char **dots);

bool digest_parse(const char *text, digest128 *out);  /* exactly 32 lower-case hex digits */
bool digest64_parse(const char *text, uint64_t *out); /* exactly 16 lower-case hex digits */

/* Quoted, escaped, and with bytes that are not UTF-8 replaced by U+FFFD. */
void dump_put_string(struct text *t, const char *s);
void dump_put_header(struct text *t, const struct dump_header *h);
void dump_put_trailer(struct text *t, size_t count, bool complete);

/* The file that is renamed at the end: what PATH links to. NULL when out of memory. */
char *dump_target_path(const char *path);
char *dump_partial_path(const char *target);

#endif

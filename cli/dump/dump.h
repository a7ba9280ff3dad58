/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump.h: the dump format, version 1 (docs/dump-format.md, docs/dump.schema.json), written as a stream and read as a stream.
 *
 * A file looks like this, one case a line; keys always in this order:
 *
 *   {"format":"fp4check-dump","version":1,
 *   "provenance":{...anything that may vary between two identical runs: tool, time, host, arch, compiler, command...},
 *   "suite":"smoke","shard":"1/1","seed":"0x0","backends":["ref"],
 *   "profiles":{"ref":{"cvt-rn.ties":"even",...}},      (may be missing: what `probe` measured of each backend that ran)
 *   "cases":[
 *   {"case":"NAME","inputs":[T,...],"results":[{"backend":"ref","status":"ok","tensors":[T,...]}]},
 *   {"case":"NAME","inputs":[T,...],"results":[{"backend":"sm100","status":"skipped","reason":"TEXT"}]}
 *   ],
 *   "count":2,"complete":true}
 *
 *   T = {"name":"codes","role":"output","dtype":"e2m1","shape":[256,128],"xxh3":"32 hex digits",
 *        "blocks":["16 hex digits",...],   XXH3-64 of each 4096 bytes; present when the tensor has more than 4096 bytes (a case whose
 *                                          tensors have more than DUMP_BLOCKS_MAX blocks leaves out those of its last tensors)
 *        "base64":"..."}                   the bytes, when they were kept; "zstd" instead of "base64" when packed with zstd first
 *
 *   status is ok | skipped | error; reason is there for the last two. Inputs are never kept as bytes: they can be made again.
 *   64-bit values are strings ("0x..."), never JSON numbers.
 *
 * Reading is strict: grammar (RFC 8259, valid UTF-8, depth at most 16), unknown or duplicate or missing keys, wrong types, unknown
 * version, absurd sizes, digests that do not match the bytes, duplicate case names, text after the end. Messages name file, line and
 * field. Memory is bounded: one case at a time, at most DUMP_CASE_MAX bytes of text, plus 32 bytes a case of index.
 */
#ifndef FP4_DUMP_H
#define FP4_DUMP_H

#include "matrix.h"

#include <stdio.h>

#define DUMP_VERSION 1
#define DUMP_BLOCK_BYTES 4096u
#define DUMP_CASE_MAX ((size_t)96 << 20)   /* text of one case */
#define DUMP_BYTES_MAX ((size_t)512 << 20) /* kept bytes of one case, unpacked */
#define DUMP_TENSOR_MAX ((size_t)1 << 40)  /* bytes that a shape may mean */
#define DUMP_BLOCKS_MAX ((size_t)1 << 19)  /* block digests of one case: see "blocks" */
#define DUMP_REASON_MAX 4096               /* bytes of a reason; longer ones are cut */
#define DUMP_PATH_MAX 64                   /* bytes of a path */
#define DUMP_HEADER_MAX ((size_t)1 << 20)  /* text before "cases":[ and after ] */
#define DUMP_RESULTS_MAX 16                /* backends a case */
#define DUMP_ZSTD_ABOVE ((size_t)64 << 10) /* kept bytes above this size are packed with zstd */

typedef struct {
    uint64_t hi, lo;
} digest128; /* XXH3-128, canonical order */

digest128 digest_bytes(const void *data, size_t bytes);
uint64_t digest64_bytes(const void *data, size_t bytes);
bool digest_equal(digest128 a, digest128 b);
void digest_print(digest128 d, char text[33]); /* 32 lower-case hex digits and NUL */

/* ---- writing ---------------------------------------------------------------------------------------------------------------- */

struct dump_provenance { /* all strings may be NULL (left out) */
    const char *tool;    /* "fp4check 0.1.0" */
    const char *time;    /* UTC, ISO 8601 */
    const char *host;
    const char *os, *arch;
    const char *command; /* the command line */
    const char *reason;  /* goldens: why it was blessed */
    struct {
        const char *backend, *build;
    } builds[DUMP_RESULTS_MAX];
    size_t build_count;
};

struct dump_header {
    struct dump_provenance provenance;
    const char *suite; /* name or file name */
    unsigned shard, shards;
    uint64_t seed;
    const char *backends[DUMP_RESULTS_MAX];
    size_t backend_count;
    const char *profiles[DUMP_RESULTS_MAX]; /* of backends[i]: a JSON object of strings; NULL: none */
};

enum dump_status { DUMP_OK, DUMP_SKIPPED, DUMP_ERROR };

struct dump_result { /* what one backend made of one case */
    const char *backend;
    enum dump_status status;
    const char *reason;           /* skipped and error */
    const struct case_tensors *t; /* ok: the outputs and stages that are written are recorded */
    const char *path;             /* ok: the kernel that a library chose, by name, of at most DUMP_PATH_MAX bytes; may be NULL */
};

/* Renders the text of one case line, without newline or comma; caller frees. inputs may be NULL: none are recorded. keep: outputs of at
 * most this many bytes (and stages too when keep_stages) are kept as bytes; SIZE_MAX keeps all, 0 none. Bytes that would make the case
 * too long to be read are left out. Pure: may be called from any thread. NULL when out of memory. */
char *dump_render_case(const char *name, const struct case_tensors *inputs, const struct dump_result *results, size_t count,
                       size_t keep, bool keep_stages);

/* Writes PATH.partial and renames it to PATH on success. path "-" is standard output; a device or pipe is written to directly. Each
 * append is on its way to the file when it returns, so a killed run loses at most the case it was writing. */
struct dump_writer;
struct dump_writer *dump_open(const char *path, const struct dump_header *h, struct fp4_error *err);
int dump_append(struct dump_writer *w, const char *case_text, struct fp4_error *err);
/* Ends the file with complete = true, fsyncs, renames. This and the next release w, whatever they return; on failure PATH stays as it
 * was, and what could be written stays in PATH.partial. */
int dump_close(struct dump_writer *w, struct fp4_error *err);
/* Ends PATH.partial as a valid dump with complete = false and leaves it; PATH stays as it was. */
int dump_interrupt(struct dump_writer *w, struct fp4_error *err);
/* Drops PATH.partial. */
void dump_abort(struct dump_writer *w);
/* For --resume: takes the whole case lines of PATH.partial (finished or cut off anywhere) whose header agrees with h, in order; calls
 * keep(name, text, arg) for each, after the case was checked like any other. Of the provenance only tool and builds must agree: time,
 * host and command may differ. keep stops by returning not 0. 0 and *found = 0 when there is no partial file, or none of its cases is
 * whole. */
int dump_resume(const char *path, const struct dump_header *h, int (*keep)(const char *name, const char *text, void *arg),
                void *arg, size_t *found, struct fp4_error *err);

/* ---- reading ------------------------------------------------------------------------------------------------------------------ */

struct dump_tensor {
    char name[TENSOR_NAME_MAX];
    enum tensor_role role;
    enum fp4_dtype dtype;
    unsigned ndim;
    size_t dims[2];
    size_t bytes;
    digest128 digest;
    uint64_t *blocks; /* (bytes + 4095) / 4096 entries, or NULL */
    uint8_t *data;    /* the bytes, or NULL; already checked against digest and blocks */
};

struct dump_case_result {
    char backend[32];
    enum dump_status status;
    char *reason;
    struct dump_tensor *t;
    size_t count;
};

struct dump_case {
    char name[CASE_NAME_MAX];
    size_t line; /* in the file, 1-based */
    struct dump_tensor *inputs;
    size_t input_count;
    struct dump_case_result results[DUMP_RESULTS_MAX];
    size_t result_count;
};

struct dump_file; /* opened and indexed: every case has been checked for grammar, the header for everything */

/* path may be a pipe or "-" (spooled to an unlinked temporary file) and may be compressed with zstd (recognised by its magic). */
struct dump_file *dump_read_open(const char *path, struct fp4_error *err);
void dump_read_close(struct dump_file *f);
const char *dump_path(const struct dump_file *f);
size_t dump_count(const struct dump_file *f);
bool dump_complete(const struct dump_file *f);
const char *dump_suite(const struct dump_file *f);
void dump_shard(const struct dump_file *f, unsigned *shard, unsigned *shards);
uint64_t dump_seed(const struct dump_file *f);
size_t dump_backend_count(const struct dump_file *f);
const char *dump_backend(const struct dump_file *f, size_t i);
/* A string of provenance: "tool", "time", "host", "os", "arch", "command", "reason"; NULL when absent. */
const char *dump_provenance_text(const struct dump_file *f, const char *key);
const char *dump_provenance_build(const struct dump_file *f, const char *backend); /* NULL when absent */
/* The profile of a backend as the text of a JSON object; caller frees. NULL when there is none. */
char *dump_profile_text(const struct dump_file *f, const char *backend);
/* Index of the case with that name, or -1. */
ptrdiff_t dump_find(const struct dump_file *f, const char *name);
/* Reads and checks case i (file order). May be called from several threads at once. */
/* Text of case i as it stands in the file, NUL-ended, read anew; caller frees. */
char *dump_case_text(const struct dump_file *f, size_t i, struct fp4_error *err);
int dump_case_read(struct dump_file *f, size_t i, struct dump_case *out, struct fp4_error *err);
void dump_case_release(struct dump_case *c);
const struct dump_case_result *dump_case_result_find(const struct dump_case *c, const char *backend);

/* The same reader over bytes in memory, for tests and fuzzing: opens, reads every case, throws all away. 0 when the text is a valid
 * dump. */
int dump_check_memory(const void *text, size_t size, struct fp4_error *err);

/* Strict JSON grammar check of a text: RFC 8259, UTF-8, depth at most max_depth (itself at most 64), no duplicate keys in an object, no
 * U+0000, numbers of at most 63 characters. On failure *line and *column (1-based, in bytes; both may be NULL) say where, and err says
 * what without the place. */
int json_check(const char *text, size_t size, unsigned max_depth, size_t *line, size_t *column, struct fp4_error *err);

/* Base64 (RFC 4648, with padding, no white space). */
size_t base64_encoded_bytes(size_t bytes);
void base64_encode(const uint8_t *data, size_t bytes, char *text);                                 /* text gets a NUL */
int base64_decode(const char *text, size_t length, uint8_t *data, size_t capacity, size_t *bytes); /* 0 or -1 */

#endif

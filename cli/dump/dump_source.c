/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_source.c: where a dump's bytes come from. The first pass reads in order; cases are read again at their offsets. What cannot be
 * read twice (a pipe, a dump packed with zstd) goes to an unlinked file in $TMPDIR on the way. Nothing is mapped, so the size of a
 * dump never shows up as memory.
 */
#include "dump_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_errno(struct fp4_error *err, const char *what)
{
    return fp4_fail(err, FP4_EIO, "%s: %s", what, strerror(errno));
}

static int open_spool(struct fp4_error *err)
{
    const char *dir = getenv("TMPDIR");
    char path[4096];
    int fd;

    if (!dir || !*dir)
        dir = "/tmp";
    if ((size_t)snprintf(path, sizeof path, "%s/fp4check-XXXXXX", dir) >= sizeof path)
        return fp4_fail(err, FP4_EIO, "the path in $TMPDIR is too long");
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return fp4_fail(err, FP4_EIO, "cannot create a temporary file in '%.200s': %s", dir, strerror(errno));
    unlink(path);
    return fd;
}

static int read_some(int fd, void *buffer, size_t capacity, size_t *got, struct fp4_error *err)
{
    ssize_t n;

    do
        n = read(fd, buffer, capacity);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return fail_errno(err, "cannot read");
    *got = (size_t)n;
    return 0;
}

/* The bytes of the file as they are: those already looked at, then the rest. */
static int read_raw(struct source *s, void *buffer, size_t capacity, size_t *got, struct fp4_error *err)
{
    size_t left = s->head_size - s->head_used;

    if (left == 0)
        return read_some(s->in, buffer, capacity, got, err);
    *got = left < capacity ? left : capacity;
    memcpy(buffer, s->head + s->head_used, *got);
    s->head_used += *got;
    return 0;
}

static int read_head(struct source *s, struct fp4_error *err)
{
    while (s->head_size < sizeof s->head) {
        size_t got = 0;
        if (read_some(s->in, s->head + s->head_size, sizeof s->head - s->head_size, &got, err))
            return -1;
        if (got == 0)
            break;
        s->head_size += got;
    }
    return 0;
}

/* Files that are something else are named, so that nobody has to guess from a grammar error. */
static int check_head(const struct source *s, struct fp4_error *err)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } rows[] = {
        { "\xEF\xBB\xBF", 3, "begins with a byte order mark; a dump is UTF-8 without one" },
        { "\xFF\xFE", 2, "is UTF-16; a dump is UTF-8" },
        { "\xFE\xFF", 2, "is UTF-16; a dump is UTF-8" },
        { "{\0", 2, "is UTF-16; a dump is UTF-8" },
        { "\0{", 2, "is UTF-16; a dump is UTF-8" },
        { "\x1F\x8B", 2, "is packed with gzip; only zstd is understood" },
        { "\xFD"
          "7zX",
          4, "is packed with xz; only zstd is understood" },
        { "BZh", 3, "is packed with bzip2; only zstd is understood" },
    };

    if (s->head_size == 0)
        return fp4_fail(err, FP4_EFORMAT, "the file is empty");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (s->head_size >= rows[i].size && memcmp(s->head, rows[i].bytes, rows[i].size) == 0)
            return fp4_fail(err, FP4_EFORMAT, "the file %s", rows[i].what);
    return 0;
}

static bool has_zstd_magic(const struct source *s)
{
    return s->head_size == 4 && memcmp(s->head, "\x28\xB5\x2F\xFD", 4) == 0;
}

static int start_unpacking(struct source *s, struct fp4_error *err)
{
    s->unpack = ZSTD_createDStream();
    s->packed = malloc(SOURCE_CHUNK);
    if (!s->unpack || !s->packed)
        return fp4_fail(err, FP4_EIO, "out of memory");
    s->packed_in = (ZSTD_inBuffer){ .src = s->packed };
    return 0;
}

int source_open(struct source *s, const char *path, struct fp4_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    struct stat st;

    *s = (struct source){ .in = -1, .at = -1 };
    s->in = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    if (s->in < 0)
        return fail_errno(err, "cannot open");
    if (fstat(s->in, &st))
        return fail_errno(err, "cannot read");
    if (S_ISDIR(st.st_mode))
        return fp4_fail(err, FP4_EIO, "is a directory");
    if (read_head(s, err) || check_head(s, err))
        return -1;
    if (has_zstd_magic(s) && start_unpacking(s, err))
        return -1;
    /* A descriptor that was handed over may stand anywhere in its file, so offsets would not be those that pread means. */
    s->at = S_ISREG(st.st_mode) && !standard && !s->unpack ? s->in : open_spool(err);
    return s->at < 0 ? -1 : 0;
}

void source_memory(struct source *s, const void *data, size_t size)
{
    *s = (struct source){ .in = -1, .at = -1, .memory = data, .memory_size = size };
}

static int refill_packed(struct source *s, bool *ended, struct fp4_error *err)
{
    size_t got = 0;

    if (read_raw(s, s->packed, SOURCE_CHUNK, &got, err))
        return -1;
    s->packed_in.size = got;
    s->packed_in.pos = 0;
    *ended = got == 0;
    return 0;
}

static int read_unpacked(struct source *s, void *buffer, size_t capacity, size_t *got, struct fp4_error *err)
{
    ZSTD_outBuffer out = { .dst = buffer, .size = capacity };

    while (out.pos == 0) {
        bool ended = false;
        if (s->packed_in.pos == s->packed_in.size && refill_packed(s, &ended, err))
            return -1;
        size_t before = s->packed_in.pos;
        if (!ended || s->unpack_hint)
            s->unpack_hint = ZSTD_decompressStream(s->unpack, &out, &s->packed_in);
        if (ZSTD_isError(s->unpack_hint))
            return fp4_fail(err, FP4_EFORMAT, "cannot unpack the file: %s", ZSTD_getErrorName(s->unpack_hint));
        if (ended && out.pos == 0 && before == s->packed_in.pos) {
            if (s->unpack_hint)
                return fp4_fail(err, FP4_EFORMAT, "the zstd data end too early");
            break;
        }
    }
    *got = out.pos;
    return 0;
}

static int write_spool(const struct source *s, const uint8_t *data, size_t size, struct fp4_error *err)
{
    for (uint64_t at = s->size; size > 0;) {
        ssize_t n = pwrite(s->at, data, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "cannot write the temporary copy in $TMPDIR");
        data += n;
        size -= (size_t)n;
        at += (uint64_t)n;
    }
    return 0;
}

static int read_memory(const struct source *s, void *buffer, size_t capacity, size_t *got)
{
    size_t left = s->memory_size - (size_t)s->size;

    *got = left < capacity ? left : capacity;
    if (*got)
        memcpy(buffer, s->memory + s->size, *got);
    return 0;
}

int source_read(struct source *s, void *buffer, size_t capacity, size_t *got, struct fp4_error *err)
{
    int status = s->in < 0   ? read_memory(s, buffer, capacity, got)
                 : s->unpack ? read_unpacked(s, buffer, capacity, got, err)
                             : read_raw(s, buffer, capacity, got, err);

    if (status)
        return -1;
    if (s->in >= 0 && s->at != s->in) {
        if (s->size + *got > SOURCE_SPOOL_MAX)
            return fp4_fail(err, FP4_EFORMAT, "is larger than %llu bytes after unpacking", (unsigned long long)SOURCE_SPOOL_MAX);
        if (write_spool(s, buffer, *got, err))
            return -1;
    }
    s->size += *got;
    return 0;
}

int source_at(const struct source *s, uint64_t offset, void *buffer, size_t size, struct fp4_error *err)
{
    char *to = buffer;

    if (s->in < 0) {
        if (offset > s->memory_size || size > s->memory_size - offset)
            return fp4_fail(err, FP4_EIO, "read beyond the end");
        memcpy(buffer, s->memory + offset, size);
        return 0;
    }
    while (size > 0) {
        ssize_t n = pread(s->at, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fail_errno(err, "cannot read");
        if (n == 0)
            return fp4_fail(err, FP4_EIO, "the file became shorter while it was read");
        to += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

void source_close(struct source *s)
{
    if (s->at >= 0 && s->at != s->in)
        close(s->at);
    if (s->in >= 0)
        close(s->in);
    ZSTD_freeDStream(s->unpack);
    free(s->packed);
    *s = (struct source){ .in = -1, .at = -1 };
}

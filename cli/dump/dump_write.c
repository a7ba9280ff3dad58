/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_write.c: writing as a stream. Cases go to PATH.partial, each with one write, so that whatever kills the run leaves whole lines
 * to resume from; PATH itself is replaced in one step at the end, after the data have reached the disk.
 *
 * A PATH that exists and is no regular file (/dev/null, a pipe) is written to directly: there is nothing to rename over.
 */
#include "dump_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct dump_writer {
    int fd;
    char *target;  /* NULL: standard output or a device */
    char *partial; /* NULL likewise */
    const char *shown;
    char *path;
    size_t count;
    bool failed; /* a write failed: the end of the file is not to be trusted */
};

static int fail_errno(struct fp4_error *err, const char *what, const char *path)
{
    int reason = errno;
    const char *dots, *tail = dump_path_tail(path, &dots);

    return fp4_fail(err, FP4_EIO, "cannot %s '%s%s': %s", what, dots, tail, strerror(reason));
}

char *dump_target_path(const char *path)
{
    char *real = realpath(path, NULL);

    return real ? real : strdup(path);
}

char *dump_partial_path(const char *target)
{
    char *partial = NULL;

    return asprintf(&partial, "%s.partial", target) < 0 ? NULL : partial;
}

static void writer_free(struct dump_writer *w)
{
    if (w->fd > STDOUT_FILENO)
        close(w->fd);
    free(w->target);
    free(w->partial);
    free(w->path);
    free(w);
}

static int write_all(struct dump_writer *w, const char *data, size_t size, struct fp4_error *err)
{
    while (size > 0) {
        ssize_t n = write(w->fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            w->failed = true;
            return fail_errno(err, "write", w->shown);
        }
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* ---- opening ---- */

static int open_partial(struct dump_writer *w, struct fp4_error *err)
{
    w->target = dump_target_path(w->path);
    w->partial = w->target ? dump_partial_path(w->target) : NULL;
    if (!w->partial)
        return fp4_fail(err, FP4_EIO, "out of memory");
    w->shown = w->partial;
    /* A new file: one that is being resumed from stays readable for whoever has it open. */
    if (unlink(w->partial) && errno != ENOENT)
        return fail_errno(err, "replace", w->partial);
    w->fd = open(w->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return w->fd < 0 ? fail_errno(err, "create", w->partial) : 0;
}

static int open_output(struct dump_writer *w, struct fp4_error *err)
{
    struct stat st;
    bool exists;

    if (strcmp(w->path, "-") == 0) {
        w->shown = "standard output";
        w->fd = STDOUT_FILENO;
        return fflush(stdout) ? fail_errno(err, "write", w->shown) : 0;
    }
    exists = stat(w->path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        return fp4_fail(err, FP4_EIO, "cannot write '%s': it is a directory", w->path);
    if (!exists || S_ISREG(st.st_mode))
        return open_partial(w, err);
    w->fd = open(w->path, O_WRONLY | O_CLOEXEC);
    return w->fd < 0 ? fail_errno(err, "open", w->path) : 0;
}

static int check_header(const struct dump_header *h, struct fp4_error *err)
{
    char quoted[DUMP_QUOTED_MAX];

    if (h->backend_count == 0 || h->backend_count > DUMP_RESULTS_MAX)
        return fp4_fail(err, FP4_EUSAGE, "a dump holds 1 to %d backends, not %zu", DUMP_RESULTS_MAX, h->backend_count);
    for (size_t i = 0; i < h->backend_count; i++) {
        if (!dump_backend_name_ok(h->backends[i]))
            return fp4_fail(err, FP4_EUSAGE, "%s cannot be written to a dump: a backend's name has 1 to %d bytes",
                            dump_quote(quoted, h->backends[i]), DUMP_BACKEND_MAX - 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(h->backends[i], h->backends[j]) == 0)
                return fp4_fail(err, FP4_EUSAGE, "backend %s is there twice", dump_quote(quoted, h->backends[i]));
    }
    return 0;
}

static int write_header(struct dump_writer *w, const struct dump_header *h, struct fp4_error *err)
{
    struct text t = { 0 };
    int status;

    dump_put_header(&t, h);
    if (t.failed)
        status = fp4_fail(err, FP4_EIO, "out of memory");
    else if (t.length > DUMP_HEADER_MAX / 2)
        status = fp4_fail(err, FP4_EUSAGE, "the header of '%s' is longer than %zu bytes", w->path, DUMP_HEADER_MAX / 2);
    else
        status = write_all(w, t.data, t.length, err);
    text_release(&t);
    return status;
}

struct dump_writer *dump_open(const char *path, const struct dump_header *h, struct fp4_error *err)
{
    struct dump_writer *w;

    if (check_header(h, err))
        return NULL;
    w = calloc(1, sizeof *w);
    if (w) {
        w->fd = -1;
        w->path = strdup(path);
        w->shown = w->path;
    }
    if (!w || !w->path) {
        free(w);
        fp4_fail(err, FP4_EIO, "out of memory");
        return NULL;
    }
    if (open_output(w, err) || write_header(w, h, err)) {
        if (w->partial && w->fd >= 0)
            unlink(w->partial);
        writer_free(w);
        return NULL;
    }
    return w;
}

/* ---- cases ---- */

int dump_append(struct dump_writer *w, const char *case_text, struct fp4_error *err)
{
    size_t length = strlen(case_text);

    if (w->failed)
        return fp4_fail(err, FP4_EIO, "'%s' could not be written to before", w->shown);
    if (length > DUMP_CASE_MAX)
        return fp4_fail(err, FP4_EUSAGE, "a case of %zu bytes is too long for '%s' (at most %zu)", length, w->shown, DUMP_CASE_MAX);
    if (write_all(w, w->count ? ",\n" : "\n", w->count ? 2 : 1, err) || write_all(w, case_text, length, err))
        return -1;
    w->count++;
    return 0;
}

/* ---- the end ---- */

static int write_end(struct dump_writer *w, bool complete, struct fp4_error *err)
{
    struct text t = { 0 };
    int status;

    if (w->failed)
        return fp4_fail(err, FP4_EIO, "'%s' could not be written to before", w->shown);
    dump_put_trailer(&t, w->count, complete);
    status = t.failed ? fp4_fail(err, FP4_EIO, "out of memory") : write_all(w, t.data, t.length, err);
    text_release(&t);
    if (!status && w->partial && fsync(w->fd))
        status = fail_errno(err, "write", w->shown);
    return status;
}

/* A rename is on the disk once its directory is. Some file systems cannot sync directories; that is no failure. */
static int sync_directory(const char *target, struct fp4_error *err)
{
    char *copy = strdup(target);
    int status = 0, fd;

    if (!copy)
        return fp4_fail(err, FP4_EIO, "out of memory");
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        if (fsync(fd) && errno != EINVAL && errno != EROFS)
            status = fail_errno(err, "sync the directory of", target);
        close(fd);
    }
    free(copy);
    return status;
}

/* Two runs with the same output take each other's partial file away; the one that lost it must not rename the other's. */
static int check_own(const struct dump_writer *w, struct fp4_error *err)
{
    struct stat mine, there;

    if (fstat(w->fd, &mine))
        return fail_errno(err, "read", w->partial);
    if (stat(w->partial, &there) || mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
        return fp4_fail(err, FP4_EIO, "'%s' was replaced by another run", w->partial);
    return 0;
}

int dump_close(struct dump_writer *w, struct fp4_error *err)
{
    int status = write_end(w, true, err);

    if (!status && w->partial) {
        status = check_own(w, err);
        if (!status && rename(w->partial, w->target))
            status = fail_errno(err, "rename to", w->target);
        if (!status)
            status = sync_directory(w->target, err);
    }
    writer_free(w);
    return status;
}

int dump_interrupt(struct dump_writer *w, struct fp4_error *err)
{
    int status = write_end(w, false, err);

    writer_free(w);
    return status;
}

void dump_abort(struct dump_writer *w)
{
    if (!w)
        return;
    if (w->partial && check_own(w, NULL) == 0)
        unlink(w->partial);
    writer_free(w);
}

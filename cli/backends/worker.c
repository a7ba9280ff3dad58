/* SPDX-License-Identifier: Apache-2.0 */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IN 3
#define OUT 4
#define WORDS_MAX 64
#define WORKERS_MAX 16
#define MESSAGE_MAX ((uint64_t)1 << 36)

enum reply { REPLY_OK, REPLY_ERROR, REPLY_STICKY /* an error after which the worker has ended itself */ };

struct worker {
    const struct backend_row *b;
    pid_t pid;
    int to, from;
    bool alive;
};

bool worker_is_child;
static struct worker workers[WORKERS_MAX];
static size_t worker_count;
static const char *words[WORDS_MAX];
static size_t word_count;
static unsigned timeout_seconds = 120;

int worker_argument(const char *word)
{
    if (word_count == WORDS_MAX)
        return -1;
    words[word_count++] = word;
    return 0;
}

void worker_set_timeout(unsigned seconds)
{
    timeout_seconds = seconds;
}

/* ---- pipes ----------------------------------------------------------------------------------------------------------------------------- */

static int write_all(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size) {
        ssize_t n = write(fd, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

enum got { GOT_ALL, GOT_END, GOT_TIMEOUT };

/* deadline 0: waits for ever. */
static enum got read_all(int fd, void *data, size_t size, double deadline)
{
    char *p = data;

    while (size) {
        struct pollfd wait = { fd, POLLIN, 0 };
        int left = deadline > 0 ? (int)((deadline - now()) * 1000) : -1;
        ssize_t n;

        if (deadline > 0 && left <= 0)
            return GOT_TIMEOUT;
        if (poll(&wait, 1, left) == 0)
            return GOT_TIMEOUT;
        n = read(fd, p, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return GOT_END;
        p += n;
        size -= (size_t)n;
    }
    return GOT_ALL;
}

/* ---- processes ---------------------------------------------------------------------------------------------------------------------------- */

static void end_worker(struct worker *w)
{
    if (!w->alive)
        return;
    close(w->to);
    close(w->from);
    w->alive = false;
    kill(w->pid, SIGKILL);
    waitpid(w->pid, NULL, 0);
}

/* How a worker that closed its pipe ended. */
static int explain_end(struct worker *w, struct fp4_error *err)
{
    int status = 0;

    close(w->to);
    close(w->from);
    w->alive = false;
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        return fp4_fail(err, FP4_EIO, "the process of backend '%s' died of signal %d (%s)", w->b->name, WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    return fp4_fail(err, FP4_EIO, "the process of backend '%s' ended with status %d", w->b->name, WEXITSTATUS(status));
}

static struct worker *worker_of(const struct backend_row *b)
{
    size_t i;

    for (i = 0; i < worker_count; i++)
        if (workers[i].b == b)
            return &workers[i];
    if (worker_count == WORKERS_MAX)
        return NULL;
    workers[worker_count].b = b;
    return &workers[worker_count++];
}

static void become_worker(const struct backend_row *b, int in, int out)
{
    char *argv[WORDS_MAX + 4];
    size_t n = 0, i;
    int high_in = fcntl(in, F_DUPFD, 10), high_out = fcntl(out, F_DUPFD, 10);

    dup2(high_in, IN);
    dup2(high_out, OUT);
    close(high_in);
    close(high_out);
    argv[n++] = (char *)(uintptr_t) "fp4check";
    argv[n++] = (char *)(uintptr_t) "worker";
    argv[n++] = (char *)(uintptr_t)b->name;
    for (i = 0; i < word_count; i++)
        argv[n++] = (char *)(uintptr_t)words[i];
    argv[n] = NULL;
    execv("/proc/self/exe", argv);
    _exit(127);
}

static int start(struct worker *w, struct fp4_error *err)
{
    int to[2] = { -1, -1 }, from[2] = { -1, -1 };

    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) {
        fp4_fail(err, FP4_EIO, "cannot make a pipe: %s", strerror(errno));
        if (to[0] >= 0) {
            close(to[0]);
            close(to[1]);
        }
        return -1;
    }
    w->pid = fork();
    if (w->pid == 0)
        become_worker(w->b, to[0], from[1]);
    close(to[0]);
    close(from[1]);
    w->to = to[1];
    w->from = from[0];
    w->alive = w->pid > 0;
    if (!w->alive) {
        close(w->to);
        close(w->from);
        return fp4_fail(err, FP4_EIO, "cannot start a process: %s", strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN); /* a dead worker is an error of its case, not of this process */
    return 0;
}

/* Sends one request, "" for the availability, else a case name; reads the head of the answer. */
static int ask(struct worker *w, const char *request, uint32_t *reply, double *deadline, struct fp4_error *err)
{
    uint32_t length = (uint32_t)strlen(request);
    enum got got;

    *deadline = now() + timeout_seconds;
    if (write_all(w->to, &length, sizeof length) || write_all(w->to, request, length))
        return explain_end(w, err);
    got = read_all(w->from, reply, sizeof *reply, *deadline);
    if (got == GOT_ALL)
        return 0;
    if (got == GOT_END)
        return explain_end(w, err);
    end_worker(w);
    return fp4_fail(err, FP4_EIO, "backend '%s' gave no answer within %u s: its process was killed", w->b->name, timeout_seconds);
}

static int read_text(struct worker *w, char *text, size_t size, double deadline)
{
    uint32_t length;

    if (read_all(w->from, &length, sizeof length, deadline) != GOT_ALL || length >= size ||
        read_all(w->from, text, length, deadline) != GOT_ALL)
        return -1;
    text[length] = '\0';
    return 0;
}

static int failed_answer(struct worker *w, uint32_t reply, double deadline, struct fp4_error *err)
{
    char text[400];

    if (read_text(w, text, sizeof text, deadline)) {
        end_worker(w);
        return fp4_fail(err, FP4_EIO, "backend '%s' broke off its answer", w->b->name);
    }
    if (reply == REPLY_STICKY)
        end_worker(w);
    return fp4_fail(err, FP4_EIO, "%s", text);
}

int worker_available(const struct backend_row *b, char *describe, size_t size, struct fp4_error *err)
{
    struct worker *w = worker_of(b);
    uint32_t reply;
    double deadline;

    if (!w)
        return fp4_fail(err, FP4_EIO, "too many backends");
    if ((!w->alive && start(w, err)) || ask(w, "", &reply, &deadline, err))
        return -1;
    if (reply != REPLY_OK)
        return failed_answer(w, reply, deadline, err);
    if (read_text(w, describe, size, deadline)) {
        end_worker(w);
        return fp4_fail(err, FP4_EIO, "backend '%s' broke off its answer", b->name);
    }
    return 0;
}

static int read_tensor(struct worker *w, struct tensor *t, double deadline, struct fp4_error *err)
{
    uint64_t bytes;

    if (read_all(w->from, &bytes, sizeof bytes, deadline) != GOT_ALL)
        return fp4_fail(err, FP4_EIO, "backend '%s' broke off its answer", w->b->name);
    if (bytes == UINT64_MAX) /* not produced */
        return 0;
    if (bytes != t->bytes || bytes > MESSAGE_MAX)
        return fp4_fail(err, FP4_EIO, "backend '%s' answered %llu bytes for '%s'", w->b->name, (unsigned long long)bytes, t->name);
    t->data = malloc(t->bytes ? t->bytes : 1);
    if (!t->data)
        return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", t->bytes, t->name);
    if (read_all(w->from, t->data, t->bytes, deadline) != GOT_ALL)
        return fp4_fail(err, FP4_EIO, "backend '%s' broke off its answer", w->b->name);
    t->written = true;
    return 0;
}

int worker_run(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct worker *w = worker_of(b);
    char name[CASE_NAME_MAX];
    uint32_t reply;
    double deadline;
    size_t i;

    if (!w)
        return fp4_fail(err, FP4_EIO, "too many backends");
    case_name(c, name);
    if ((!w->alive && start(w, err)) || ask(w, name, &reply, &deadline, err))
        return -1;
    if (reply != REPLY_OK)
        return failed_answer(w, reply, deadline, err);
    for (i = 0; i < t->count; i++)
        if (t->t[i].role != TENSOR_INPUT && read_tensor(w, &t->t[i], deadline, err)) {
            end_worker(w);
            return -1;
        }
    return 0;
}

void worker_stop_all(void)
{
    size_t i;

    for (i = 0; i < worker_count; i++)
        end_worker(&workers[i]);
    worker_count = 0;
}

/* ---- the worker's side ------------------------------------------------------------------------------------------------------------------------ */

static int put_text(uint32_t reply, const char *text)
{
    uint32_t length = (uint32_t)strlen(text);

    return write_all(OUT, &reply, sizeof reply) || write_all(OUT, &length, sizeof length) || write_all(OUT, text, length) ? -1 : 0;
}

static int put_tensors(const struct case_tensors *t)
{
    uint32_t reply = REPLY_OK;
    size_t i;

    if (write_all(OUT, &reply, sizeof reply))
        return -1;
    for (i = 0; i < t->count; i++) {
        uint64_t bytes = t->t[i].data && t->t[i].written ? t->t[i].bytes : UINT64_MAX;

        if (t->t[i].role == TENSOR_INPUT)
            continue;
        if (write_all(OUT, &bytes, sizeof bytes) || (bytes != UINT64_MAX && write_all(OUT, t->t[i].data, t->t[i].bytes)))
            return -1;
    }
    return 0;
}

/* 0 to go on, 1 after a sticky error, -1 when the parent is gone. */
static int serve_one(const struct backend_row *b, const char *name)
{
    struct case_tensors t;
    struct fp4_error err;
    struct fp4_case c;
    char text[256];
    int status;

    if (!*name) {
        if (b->available(&err))
            return put_text(REPLY_ERROR, err.msg);
        b->describe(text, sizeof text);
        return put_text(REPLY_OK, text);
    }
    memset(&t, 0, sizeof t);
    if (case_parse(name, &c, &err) == 0 && backend_run_case(b, &c, &t, &err) == 0) {
        status = put_tensors(&t);
    } else {
        /* After a failure the device may be beyond use: the parent starts a fresh process. */
        status = put_text(REPLY_STICKY, err.msg) ? -1 : 1;
    }
    case_release(&t);
    return status;
}

int worker_serve(const struct backend_row *b)
{
    uint32_t length;
    char name[CASE_NAME_MAX];
    int status = 0;

    worker_is_child = true;
    while (status == 0) {
        if (read_all(IN, &length, sizeof length, 0) != GOT_ALL)
            return 0;
        if (length >= sizeof name || read_all(IN, name, length, 0) != GOT_ALL)
            return 2;
        name[length] = '\0';
        status = serve_one(b, name);
    }
    return status > 0 ? 0 : 2;
}

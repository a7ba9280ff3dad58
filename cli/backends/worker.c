/* SPDX-License-Identifier: Apache-2.0 */
/* The parent's side of worker.h. */
#include "worker.h"

#include "term.h"
#include "worker_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 64
#define POOLS_MAX 64
#define START_SECONDS 60u /* at least: a driver may take long to wake a machine full of devices */
#define START_ATTEMPTS 2  /* in a row, before a device is given up */
#define PART_SECONDS 3    /* for a worker to end when it is told to */
#define KILL_SECONDS 10   /* for a killed process to end: a driver may hold it until its device has stopped */

struct worker {
    const struct backend_row *b;
    unsigned device;
    pid_t pid;
    int fd;
    unsigned seconds; /* for the present answer */
    double deadline;
    bool alive;      /* pid and fd are valid */
    bool introduced; /* alive, and the backend can run on the device */
    bool busy;       /* some thread uses it; guarded by lock, as are the fields below */
    bool given_up;
    unsigned failures; /* to start, in a row */
    uint64_t turn;
};

struct pool { /* the workers of a backend, one a device */
    const struct backend_row *b;
    struct worker workers[WORKER_DEVICES_MAX];
    char described[256];
    char given_up[sizeof((struct fp4_error *)0)->msg]; /* why the last device was */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static struct pool pools[POOLS_MAX];
static size_t pool_count;
static uint64_t turns;

static const char *words[WORDS_MAX];
static size_t word_count;
static unsigned devices[WORKER_DEVICES_MAX];
static size_t device_count = 1;
static unsigned timeout_seconds = WORKER_TIMEOUT_DEFAULT;

int worker_argument(const char *word)
{
    if (word_count == WORDS_MAX)
        return -1;
    words[word_count++] = word;
    return 0;
}

void worker_set_devices(const unsigned *list, size_t count)
{
    memcpy(devices, list, count * sizeof *list);
    device_count = count;
}

void worker_devices_text(char *text, size_t size)
{
    size_t i;

    snprintf(text, size, "device%s ", device_count > 1 ? "s" : "");
    for (i = 0; i < device_count; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%u", i ? "," : "", devices[i]);
}

size_t worker_device_count(void)
{
    return device_count;
}

void worker_set_timeout(unsigned seconds)
{
    timeout_seconds = seconds;
}

/* ---- the end of a process ------------------------------------------------------------------------------------------------------------- */

/* Waits for the process to end; false when it has not within that time. */
static bool reap(struct worker *w, double seconds, int *status)
{
    const struct timespec pause = { 0, 2000000 };
    double until = term_seconds() + seconds;

    for (;;) {
        pid_t ended = waitpid(w->pid, status, WNOHANG);

        if (ended == w->pid)
            return true;
        if (ended < 0 && errno != EINTR) { /* someone else has: nothing is known of it */
            *status = 0;
            return true;
        }
        if (term_seconds() >= until)
            return false;
        nanosleep(&pause, NULL);
    }
}

static void let_go(struct worker *w)
{
    close(w->fd);
    w->alive = w->introduced = false;
}

static void kill_worker(struct worker *w)
{
    int status;

    if (!w->alive)
        return;
    if (kill(-w->pid, SIGKILL)) /* with what it may have started itself */
        kill(w->pid, SIGKILL);
    if (!reap(w, KILL_SECONDS, &status))
        term_note("the process %ld of backend '%s' was killed and has not ended after %d s", (long)w->pid, w->b->name,
                  KILL_SECONDS);
    let_go(w);
}

/* The polite way: it reads the end of the requests, puts its things away and ends. */
static void part_with(struct worker *w)
{
    int status;

    if (!w->alive)
        return;
    shutdown(w->fd, SHUT_WR);
    if (reap(w, PART_SECONDS, &status))
        let_go(w);
    else
        kill_worker(w);
}

/* How a worker that closed its end of the socket ended. */
static int explain_end(struct worker *w, struct fp4_error *err)
{
    int status = 0;

    if (!reap(w, PART_SECONDS, &status)) {
        kill_worker(w);
        return fp4_fail(err, FP4_EIO, "the process of backend '%s' closed its connection without ending, and was killed",
                        w->b->name);
    }
    let_go(w);
    if (WIFSIGNALED(status))
        return fp4_fail(err, FP4_EIO, "the process of backend '%s' died of signal %d (%s)%s", w->b->name, WTERMSIG(status),
                        strsignal(WTERMSIG(status)),
                        WTERMSIG(status) == SIGKILL ? ": someone, or the lack of memory, killed it" : "");
    return fp4_fail(err, FP4_EIO, "the process of backend '%s' ended with status %d before it had answered", w->b->name,
                    WEXITSTATUS(status));
}

/* ---- the beginning of a process --------------------------------------------------------------------------------------------------------- */

/* After fork in a program with threads: calls that are safe in a signal handler only. */
static void become_worker(int fd, char *const *argv)
{
    uint32_t failure[2] = { WIRE_NO_EXEC, 0 };
    int empty;

    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN); /* messages reach the terminal from another process group too */
    dup2(fd, WORKER_FD);
    empty = open("/dev/null", O_RDWR);
    if (empty >= 0) {
        dup2(empty, STDIN_FILENO);
        if (fcntl(STDERR_FILENO, F_GETFD) < 0)
            dup2(empty, STDERR_FILENO);
        if (empty > WORKER_FD)
            close(empty);
    }
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execv("/proc/self/exe", argv);
    failure[1] = (uint32_t)errno;
    wire_send(WORKER_FD, failure, sizeof failure);
    _exit(127);
}

/* Descriptors beyond the standard ones, though these be closed, and closed in every process but this one. */
static int socket_pair(int fd[2])
{
    int low[2], i, saved;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low))
        return -1;
    for (i = 0; i < 2; i++)
        fd[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
    saved = errno;
    close(low[0]);
    close(low[1]);
    if (fd[0] >= 0 && fd[1] >= 0)
        return 0;
    if (fd[0] >= 0)
        close(fd[0]);
    if (fd[1] >= 0)
        close(fd[1]);
    errno = saved;
    return -1;
}

static int start(struct worker *w, struct fp4_error *err)
{
    char *argv[WORDS_MAX + 8], device[16];
    size_t n = 0, i;
    int fd[2];

    snprintf(device, sizeof device, "%u", w->device);
    argv[n++] = (char *)(uintptr_t) "fp4check";
    argv[n++] = (char *)(uintptr_t) "worker";
    argv[n++] = (char *)(uintptr_t)w->b->name;
    argv[n++] = (char *)(uintptr_t) "--device";
    argv[n++] = device;
    for (i = 0; i < word_count; i++)
        argv[n++] = (char *)(uintptr_t)words[i];
    argv[n] = NULL;
    signal(SIGCHLD,
           SIG_DFL); /* whoever started this program may have left it ignored, and nothing would be known of a worker's end */
    if (socket_pair(fd))
        return fp4_fail(err, FP4_EIO, "cannot make a socket for a worker process: %s", strerror(errno));
    w->pid = fork();
    if (w->pid == 0)
        become_worker(fd[1], argv);
    close(fd[1]);
    if (w->pid < 0) {
        close(fd[0]);
        return fp4_fail(err, FP4_EIO, "cannot start a worker process: %s", strerror(errno));
    }
    setpgid(w->pid, w->pid); /* here too: it may be killed before it has run */
    w->fd = fd[0];
    w->alive = true;
    w->introduced = false;
    return 0;
}

/* ---- talking: on a failure the worker is ended, and *err says what happened ----------------------------------------------------------------- */

enum waited { READY, LATE, INTERRUPTED };

/* READY: there is something to read, or the end. What has come is read even when it is late: this process may have been stopped. */
static enum waited wait_for(const struct worker *w)
{
    struct pollfd from = { w->fd, POLLIN, 0 };

    for (;;) {
        double left = w->deadline - term_seconds();

        if (poll(&from, 1, left > 0.1 ? 100 : left > 0 ? 1 + (int)(1000 * left) : 0) > 0)
            return READY;
        if (term_interrupted)
            return INTERRUPTED;
        if (left <= 0)
            return LATE;
    }
}

static int take(struct worker *w, void *data, size_t size, struct fp4_error *err)
{
    char *p = data;

    while (size) {
        enum waited waited = wait_for(w);
        ssize_t n;

        if (waited != READY) {
            kill_worker(w);
            if (waited == INTERRUPTED)
                return fp4_fail(err, FP4_EIO, "interrupted");
            return fp4_fail(err, FP4_EIO, "backend '%s' gave no answer within %u s: its process was killed", w->b->name,
                            w->seconds);
        }
        n = recv(w->fd, p, size, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return explain_end(w, err);
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static int nonsense(struct worker *w, struct fp4_error *err)
{
    kill_worker(w);
    return fp4_fail(err, FP4_EIO, "the process of backend '%s' answered something else than was asked, and was killed", w->b->name);
}

static int take_text(struct worker *w, char *text, size_t size, struct fp4_error *err)
{
    uint32_t length;

    if (take(w, &length, sizeof length, err))
        return -1;
    if (length >= size)
        return nonsense(w, err);
    text[length] = '\0';
    return take(w, text, length, err);
}

static int ask(struct worker *w, const char *request, unsigned seconds, struct fp4_error *err)
{
    uint32_t length = (uint32_t)strlen(request);

    w->seconds = seconds;
    w->deadline = term_seconds() + seconds;
    if (wire_send(w->fd, &length, sizeof length) || wire_send(w->fd, request, length))
        return explain_end(w, err);
    return 0;
}

/* The head of the answer; a failure that the worker reports is a failure here. */
static int take_head(struct worker *w, struct fp4_error *err)
{
    char text[WIRE_TEXT_MAX];
    uint32_t reply, code;

    if (take(w, &reply, sizeof reply, err))
        return -1;
    if (reply == WIRE_OK)
        return 0;
    if (reply != WIRE_FAILED && reply != WIRE_REFUSED && reply != WIRE_NO_EXEC)
        return nonsense(w, err);
    if (take(w, &code, sizeof code, err))
        return -1;
    if (reply == WIRE_NO_EXEC) {
        part_with(w);
        return fp4_fail(err, FP4_EIO, "cannot start a worker process: /proc/self/exe: %s", strerror((int)code));
    }
    if (take_text(w, text, sizeof text, err))
        return -1;
    if (reply == WIRE_FAILED)
        part_with(w);
    return fp4_fail(err, (enum fp4_code)code, "%s", text);
}

static int begin_introduction(struct worker *w, struct fp4_error *err)
{
    return start(w, err) || ask(w, "", timeout_seconds > START_SECONDS ? timeout_seconds : START_SECONDS, err) ? -1 : 0;
}

static int end_introduction(struct worker *w, char *described, size_t size, struct fp4_error *err)
{
    if (take_head(w, err) || take_text(w, described, size, err))
        return -1;
    w->introduced = true;
    return 0;
}

/* ---- the pool ---------------------------------------------------------------------------------------------------------------------------- */

/* With the lock held. */
static struct pool *pool_of(const struct backend_row *b, struct fp4_error *err)
{
    struct pool *p;
    size_t i;

    for (i = 0; i < pool_count; i++)
        if (pools[i].b == b)
            return &pools[i];
    if (pool_count == POOLS_MAX) {
        fp4_fail(err, FP4_EIO, "more than %d backends with worker processes", POOLS_MAX);
        return NULL;
    }
    p = &pools[pool_count++];
    memset(p, 0, sizeof *p);
    p->b = b;
    for (i = 0; i < device_count; i++) {
        p->workers[i].b = b;
        p->workers[i].device = devices[i];
    }
    return p;
}

/* A worker for the calling thread alone: of those that are free the one that has rested longest, so that all devices take part. Waits for
 * one when all are busy; NULL and the reason when no device is left. */
static struct worker *claim(const struct backend_row *b, struct fp4_error *err)
{
    struct worker *best = NULL;
    struct pool *p;
    size_t i, left;

    pthread_mutex_lock(&lock);
    p = pool_of(b, err);
    while (p && !best) {
        for (i = left = 0; i < device_count; i++) {
            struct worker *w = &p->workers[i];

            left += !w->given_up;
            if (!w->given_up && !w->busy && (!best || w->turn < best->turn))
                best = w;
        }
        if (best) {
            best->busy = true;
            best->turn = ++turns;
        } else if (left) {
            pthread_cond_wait(&freed, &lock);
        } else {
            fp4_fail(err, FP4_EIO, "backend '%s' cannot be started any more: %.300s", b->name, p->given_up);
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return best;
}

static void give_back(struct worker *w)
{
    pthread_mutex_lock(&lock);
    w->busy = false;
    pthread_cond_broadcast(&freed);
    pthread_mutex_unlock(&lock);
}

/* A worker could not be started, or its backend cannot run there now. */
static void count_failure(struct worker *w, const struct fp4_error *err)
{
    pthread_mutex_lock(&lock);
    if (++w->failures == START_ATTEMPTS && !term_interrupted) {
        struct pool *p = pool_of(w->b, NULL);

        w->given_up = true;
        snprintf(p->given_up, sizeof p->given_up, "%s", err->msg);
        term_note("device %u is left out for backend '%s': %s", w->device, w->b->name, err->msg);
    }
    pthread_mutex_unlock(&lock);
}

/* A running worker that was introduced: the one there is, or a fresh one. */
static int make_ready(struct worker *w, struct fp4_error *err)
{
    char described[256];

    if (w->alive) {
        struct pollfd from = { w->fd, POLLIN, 0 };
        struct fp4_error end;

        if (poll(&from, 1, 0) == 0)
            return 0;
        if (recv(w->fd, described, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
            nonsense(w, &end);
        else
            explain_end(w, &end);
        term_note("between two cases: %s", end.msg);
    }
    if (begin_introduction(w, err) || end_introduction(w, described, sizeof described, err)) {
        count_failure(w, err);
        return -1;
    }
    w->failures = 0;
    return 0;
}

/* ---- what the others call ------------------------------------------------------------------------------------------------------------------ */

static int introduce_all(struct pool *p, struct fp4_error *err)
{
    char described[256];
    size_t i;

    for (i = 0; i < device_count; i++) /* all at once: starting takes its time */
        if (!p->workers[i].introduced && begin_introduction(&p->workers[i], err))
            return -1;
    for (i = 0; i < device_count; i++) {
        if (p->workers[i].introduced)
            continue;
        if (end_introduction(&p->workers[i], described, sizeof described, err))
            return device_count > 1 ? fp4_fail_in(err, "device %u", devices[i]) : -1;
        if (i == 0)
            snprintf(p->described, sizeof p->described, "%s", described);
        else if (strcmp(p->described, described) != 0)
            return fp4_fail(err, FP4_EUSAGE,
                            "devices %u and %u are not of one kind (%.150s | %.150s): their results would be mixed in one dump",
                            devices[0], devices[i], p->described, described);
    }
    return 0;
}

int worker_available(const struct backend_row *b, struct fp4_error *err)
{
    struct pool *p;
    size_t i;
    int status;

    pthread_mutex_lock(&lock);
    p = pool_of(b, err);
    pthread_mutex_unlock(&lock);
    if (!p)
        return -1;
    status = introduce_all(p, err);
    for (i = 0; i < device_count && status; i++)
        kill_worker(&p->workers[i]);
    return status;
}

void worker_describe(const struct backend_row *b, char *text, size_t size)
{
    struct pool *p;

    pthread_mutex_lock(&lock);
    p = pool_of(b, NULL);
    snprintf(text, size, "%s", p && p->described[0] ? p->described : "in a process of its own; `fp4check list backends` asks it");
    pthread_mutex_unlock(&lock);
}

static int take_tensor(struct worker *w, struct tensor *t, struct fp4_error *err)
{
    uint64_t bytes;

    if (take(w, &bytes, sizeof bytes, err))
        return -1;
    if (bytes == UINT64_MAX)
        return 0;
    if (bytes != t->bytes)
        return nonsense(w, err);
    t->data = malloc(t->bytes ? t->bytes : 1);
    if (!t->data) {
        kill_worker(w); /* what it goes on to say has no place */
        return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", t->bytes, t->name);
    }
    if (take(w, t->data, t->bytes, err))
        return -1;
    t->written = true;
    return 0;
}

/* Inputs that no name describes go over the wire. */
static int send_made(struct worker *w, const struct fp4_case *c, const struct case_tensors *t, struct fp4_error *err)
{
    size_t i;

    if (c->data != &data_made && c->data != &data_made_amax)
        return 0;
    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_INPUT && wire_send(w->fd, t->t[i].data, t->t[i].bytes))
            return explain_end(w, err);
    return 0;
}

static int run_on(struct worker *w, const struct fp4_case *c, const char *name, struct case_tensors *t, struct fp4_error *err)
{
    uint32_t done;
    size_t i;

    if (ask(w, name, timeout_seconds, err) || send_made(w, c, t, err) || take_head(w, err))
        return -1;
    for (i = 0; i < t->count; i++)
        if (t->t[i].role != TENSOR_INPUT && take_tensor(w, &t->t[i], err))
            return -1;
    if (take(w, &done, sizeof done, err))
        return -1;
    return done == WIRE_DONE ? 0 : nonsense(w, err);
}

int worker_run(const struct backend_row *b, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    char name[CASE_NAME_MAX];
    struct worker *w;
    int status = -1;

    case_name(c, name);
    while (status && (w = claim(b, err))) {
        if (term_interrupted)
            fp4_fail(err, FP4_EIO, "interrupted");
        else
            status = make_ready(w, err);
        if (status)
            give_back(w);
        if (term_interrupted && status)
            return -1;
    }
    if (status) {
        err->code = FP4_EIO; /* whatever it is: not a refusal of the case */
        return -1;
    }
    status = run_on(w, c, name, t, err);
    if (status && !w->alive)
        err->code = FP4_EIO;
    if (status && device_count > 1 && !term_interrupted && !w->alive)
        term_note("on device %u: backend '%s', case '%s': %s", w->device, b->name, name, err->msg);
    give_back(w);
    return status;
}

void worker_stop_all(void)
{
    size_t i, k;

    for (i = 0; i < pool_count; i++)
        for (k = 0; k < device_count; k++)
            if (pools[i].workers[k].alive)
                shutdown(pools[i].workers[k].fd, SHUT_WR);
    for (i = 0; i < pool_count; i++)
        for (k = 0; k < device_count; k++)
            part_with(&pools[i].workers[k]);
    pool_count = 0;
}

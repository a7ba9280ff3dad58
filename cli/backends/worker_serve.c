/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side of worker.h. */
#include "worker.h"
#include "worker_wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

bool worker_is_child;
unsigned worker_device;

int wire_send(int fd, const void *data, size_t size)
{
    const char *p = data;

    while (size) {
        ssize_t n = send(fd, p, size, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static int receive(void *data, size_t size)
{
    char *p = data;

    while (size) {
        ssize_t n = read(WORKER_FD, p, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Ends the process when the parent has gone, in the middle of a case too. (A parent-death signal would come when the thread that started
 * this process ends, which may be long before.) A parent that only has no more requests keeps its end open until this one is closed. */
static void *watch_parent(void *arg)
{
    struct pollfd end = { WORKER_FD, 0, 0 };
    int n;

    do
        n = poll(&end, 1,
                 1000); /* not for ever: while it waits, a descriptor that a backend has closed stays open for the parent */
    while (n == 0 || (n < 0 && errno == EINTR));
    _exit(2);
    return arg;
}

static int put_text(uint32_t length_at_most, const char *text)
{
    uint32_t length = (uint32_t)strlen(text);

    if (length > length_at_most)
        length = length_at_most;
    return wire_send(WORKER_FD, &length, sizeof length) || wire_send(WORKER_FD, text, length) ? -1 : 0;
}

static int put_reason(enum wire reply, enum fp4_code code, const char *text)
{
    uint32_t head[2] = { reply, (uint32_t)code };

    return wire_send(WORKER_FD, head, sizeof head) || put_text(WIRE_TEXT_MAX - 1, text) ? -1 : 0;
}

static int put_failure(const struct fp4_error *err)
{
    return put_reason(WIRE_FAILED, err->code, err->msg);
}

_Noreturn void worker_last_words(const char *text)
{
    put_reason(WIRE_FAILED, FP4_EIO, text);
    _exit(2);
}

static int put_tensors(const struct case_tensors *t)
{
    uint32_t reply = WIRE_OK;
    size_t i;

    if (wire_send(WORKER_FD, &reply, sizeof reply))
        return -1;
    for (i = 0; i < t->count; i++) {
        uint64_t bytes = t->t[i].data && t->t[i].written ? t->t[i].bytes : UINT64_MAX;

        if (t->t[i].role == TENSOR_INPUT)
            continue;
        if (wire_send(WORKER_FD, &bytes, sizeof bytes) ||
            (bytes != UINT64_MAX && wire_send(WORKER_FD, t->t[i].data, t->t[i].bytes)))
            return -1;
    }
    return 0;
}

/* 0 to go on, 1 after a failure, after which the device may be beyond use, -1 when the parent is gone. */
static int introduce(const struct backend_row *b)
{
    uint32_t reply = WIRE_OK;
    struct fp4_error err;
    char text[256];

    if (b->available(&err) || backend_canary(b, &err))
        return put_failure(&err) ? -1 : 1;
    b->describe(text, sizeof text);
    return wire_send(WORKER_FD, &reply, sizeof reply) || put_text(sizeof text, text) ? -1 : 0;
}

static bool is_made(const struct fp4_case *c)
{
    return c->data == &data_made || c->data == &data_made_amax;
}

/* Inputs that come with the request. -2: the parent is gone. */
static int receive_made(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    size_t i;

    if (case_describe(c, t, err))
        return -1;
    for (i = 0; i < t->count; i++) {
        if (t->t[i].role != TENSOR_INPUT)
            continue;
        t->t[i].data = malloc(t->t[i].bytes ? t->t[i].bytes : 1);
        if (!t->t[i].data)
            return fp4_fail(err, FP4_EIO, "out of memory for %zu bytes of '%s'", t->t[i].bytes, t->t[i].name);
        if (receive(t->t[i].data, t->t[i].bytes))
            return -2;
    }
    return 0;
}

static int serve_case(const struct backend_row *b, const char *name)
{
    uint32_t done = WIRE_DONE;
    struct case_tensors t;
    struct fp4_error err;
    struct fp4_case c;
    int status;

    memset(&t, 0, sizeof t);
    status = case_parse(name, &c, &err);
    if (status == 0 && is_made(&c)) /* all of the request, before any answer */
        status = receive_made(&c, &t, &err);
    if (status == 0 && b->supports(&c, &err)) { /* here the backend knows its device */
        case_release(&t);
        return put_reason(WIRE_REFUSED, err.code, err.msg);
    }
    if (status == 0)
        status = is_made(&c) ? backend_run_prepared(b, &c, &t, &err) : backend_run_case(b, &c, &t, &err);
    if (status == 0)
        status = put_tensors(&t);
    else if (status == -2)
        status = -1;
    else
        status = put_failure(&err) ? -1 : 1;
    case_release(&t); /* where a damaged heap would show: it is still this case */
    return status == 0 ? wire_send(WORKER_FD, &done, sizeof done) : status;
}

int worker_serve(const struct backend_row *b)
{
    char name[CASE_NAME_MAX];
    pthread_t watcher;
    uint32_t length;
    int status = 0;

    worker_is_child = true;
    signal(SIGPIPE, SIG_IGN);
    if (pthread_create(&watcher, NULL, watch_parent, NULL))
        return 2;
    pthread_detach(watcher);
    while (status == 0) {
        if (receive(&length, sizeof length))
            return 0;
        if (length >= sizeof name || receive(name, length))
            return 2;
        name[length] = '\0';
        status = length ? serve_case(b, name) : introduce(b);
    }
    return status > 0 ? 0 : 2;
}

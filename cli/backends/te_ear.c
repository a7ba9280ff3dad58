/* SPDX-License-Identifier: Apache-2.0 */
#include "te_ear.h"
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEARD_MAX 4096 /* of what a case may print, as much is looked at */

static int heard = -1, outside = -1; /* the file; the standard error that this process began with */
static volatile sig_atomic_t listening;

/* One line: control characters and runs of blanks become one blank. Signal-safe. */
static void flatten(char *text)
{
    char *to = text;

    for (; *text; text++) {
        if ((unsigned char)*text > ' ')
            *to++ = *text;
        else if (to[-1] != ' ')
            *to++ = ' ';
    }
    to -= to[-1] == ' ';
    *to = '\0';
}

static size_t read_heard(char text[HEARD_MAX])
{
    ssize_t n = heard < 0 ? -1 : pread(heard, text, HEARD_MAX - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* std::terminate prints "terminate called after throwing an instance of 'TYPE'" and "  what():  TEXT", and aborts. */
static void aborted(int number)
{
    static const char exception[] = "Transformer Engine threw an exception: ", other[] = "Transformer Engine aborted: ";
    static char text[HEARD_MAX + sizeof exception], printed[HEARD_MAX];
    const char *what;

    (void)number;
    if (!listening) {
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
        return;
    }
    read_heard(printed);
    what = strstr(printed, "what():");
    strcpy(text, what ? exception : other);
    strcat(text, what       ? what + strlen("what():") + strspn(what + strlen("what():"), " ")
                 : *printed ? printed
                            : "it printed no reason");
    flatten(text + 1);
    worker_last_words(text);
}

int te_ear_open(struct fp4_error *err)
{
    struct sigaction action;

    if (heard >= 0)
        return 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = aborted;
    sigemptyset(&action.sa_mask);
    fflush(NULL);
    outside = dup(STDERR_FILENO);
    heard = memfd_create("fp4check-te", MFD_CLOEXEC);
    if (outside < 0 || heard < 0 || dup2(heard, STDOUT_FILENO) < 0 || dup2(heard, STDERR_FILENO) < 0 ||
        sigaction(SIGABRT, &action, NULL))
        return fp4_fail(err, FP4_EIO, "cannot listen to the library: %s", strerror(errno));
    return 0;
}

void te_ear_begin(void)
{
    fflush(NULL);
    if (heard >= 0 && ftruncate(heard, 0) == 0)
        lseek(heard, 0, SEEK_SET);
    listening = 1;
}

/* What the guards of TE's kernels print: "FILE:LINE in function NAME (thread (0,0,0), block (0,0,0)): TEXT"; and any error. */
static bool is_error(const char *text)
{
    return strstr(text, " (thread (") || strstr(text, "rror") || strstr(text, "ERROR");
}

int te_ear_end(struct fp4_error *err)
{
    char text[HEARD_MAX];
    size_t n;

    fflush(NULL);
    listening = 0;
    n = read_heard(text);
    if (n == 0)
        return 0;
    if (is_error(text)) {
        flatten(text + 1);
        return fp4_fail(err, FP4_EIO, "the library printed: %.300s", text);
    }
    if (write(outside, text, n) < 0) /* nobody is there to read it */
        return 0;
    return 0;
}

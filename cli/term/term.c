/* SPDX-License-Identifier: Apache-2.0 */
#include "term.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static enum term_color color_mode = TERM_AUTO;
bool term_quiet;
volatile int term_interrupted;

void term_set_color(enum term_color mode)
{
    color_mode = mode;
}

static bool colored(FILE *f)
{
    const char *no = getenv("NO_COLOR");

    if (color_mode != TERM_AUTO)
        return color_mode == TERM_ALWAYS;
    return !(no && *no) && isatty(fileno(f));
}

const char *term_on(FILE *f, enum term_style s)
{
    static const char *const codes[] = { "", "\033[32m", "\033[31m", "\033[33m", "\033[2m", "\033[1m" };

    return colored(f) ? codes[s] : "";
}

const char *term_off(FILE *f)
{
    return colored(f) ? "\033[0m" : "";
}

static pthread_mutex_t line = PTHREAD_MUTEX_INITIALIZER; /* threads write whole lines */
static bool line_open;                                   /* a progress line stands on stderr without a newline */

static void clear_line(void)
{
    if (line_open)
        fputs("\r\033[K", stderr);
    line_open = false;
}

void term_note(const char *fmt, ...)
{
    va_list ap;

    if (term_quiet)
        return;
    pthread_mutex_lock(&line);
    clear_line();
    fputs("fp4check: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    pthread_mutex_unlock(&line);
}

void term_error(const char *fmt, ...)
{
    va_list ap;

    pthread_mutex_lock(&line);
    clear_line();
    fprintf(stderr, "%sfp4check: ", term_on(stderr, STYLE_BAD));
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "%s\n", term_off(stderr));
    pthread_mutex_unlock(&line);
}

/* ---- progress ------------------------------------------------------------------------------------------------------------------- */

double term_seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

void progress_start(struct progress *p, const char *label, size_t total)
{
    p->label = label;
    p->total = total;
    p->done = 0;
    p->start = p->last = term_seconds();
    p->active = !term_quiet && isatty(STDERR_FILENO);
}

void progress_step(struct progress *p, size_t done, const char *what)
{
    double t, rate, left;

    p->done = done;
    if (!p->active)
        return;
    t = term_seconds();
    if (t - p->last < 0.1 && done < p->total)
        return;
    p->last = t;
    rate = t > p->start ? (double)done / (t - p->start) : 0;
    left = rate > 0 ? (double)(p->total - done) / rate : 0;
    pthread_mutex_lock(&line);
    fprintf(stderr, "\r\033[K%s %zu/%zu  %.0f/s  %.0f s left  %.60s", p->label, done, p->total, rate, left, what ? what : "");
    fflush(stderr);
    line_open = true;
    pthread_mutex_unlock(&line);
}

void progress_end(struct progress *p)
{
    if (p->active) {
        pthread_mutex_lock(&line);
        clear_line();
        pthread_mutex_unlock(&line);
    }
    p->active = false;
}

/* ---- interrupts ------------------------------------------------------------------------------------------------------------------ */

static void on_signal(int sig)
{
    term_interrupted = sig;
}

void term_catch_interrupts(void)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_signal;
    sa.sa_flags = (int)SA_RESETHAND; /* a second Ctrl-C kills at once */
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

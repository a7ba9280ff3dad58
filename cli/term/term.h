/* SPDX-License-Identifier: Apache-2.0 */
/* term.h: colours, progress and small text helpers. Results go to stdout, everything else to stderr. */
#ifndef FP4_TERM_H
#define FP4_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum term_color { TERM_AUTO, TERM_ALWAYS, TERM_NEVER };
void term_set_color(enum term_color mode);
enum term_style { STYLE_NONE, STYLE_GOOD, STYLE_BAD, STYLE_WARN, STYLE_DIM, STYLE_BOLD };
/* Escape sequences for a stream, or "" (not a terminal, NO_COLOR, --color=never). */
const char *term_on(FILE *f, enum term_style s);
const char *term_off(FILE *f);

extern bool term_quiet; /* --quiet: no progress and no remarks on stderr; errors stay */
/* A remark on stderr, "fp4check: ..." */
void term_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void term_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Seconds of the monotonic clock. */
double term_seconds(void);

/* Progress with rate and time left, on a terminal only. */
struct progress {
    const char *label;
    size_t total, done;
    double start, last;
    bool active;
};
void progress_start(struct progress *p, const char *label, size_t total);
void progress_step(struct progress *p, size_t done, const char *what);
void progress_end(struct progress *p);

/* Set by SIGINT and SIGTERM once term_catch_interrupts() was called. */
extern volatile int term_interrupted;
void term_catch_interrupts(void);

/* Insertions, deletions and replacements between two words; 99 when one has more than 60 letters. */
size_t word_distance(const char *a, const char *b);

/* Grows a string; text is NUL-ended. */
struct text {
    char *data;
    size_t length, capacity;
    bool failed;
};
void text_add(struct text *t, const char *s);
void text_addn(struct text *t, const char *s, size_t n);
void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_json(struct text *t, const char *s); /* quoted and escaped */
void text_xml(struct text *t, const char *s);  /* escaped for XML text and attributes */
void text_release(struct text *t);

#endif

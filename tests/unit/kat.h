/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kat.h: known answers as lines of text, tests/conformance/kat/NAME.txt.
 *
 * A line is words between blanks; from '#' on it is a comment; a line without words is skipped. The folder is found under
 * the environment variable FP4_SRCDIR, else under the working directory.
 */
#ifndef KAT_H
#define KAT_H

#include <stdint.h>
#include <stdio.h>

enum { KAT_WORDS = 64 };

struct kat {
    FILE *in;
    char name[64];
    unsigned line_number;
    char line[2048];
    const char *word[KAT_WORDS];
    unsigned count;
};

/* Ends the test when there is no such file. */
void kat_open(struct kat *k, const char *name);
/* The next line with words; 0 at the end, where the file is closed. */
int kat_next(struct kat *k);
/* Word i as a number; ends the test, naming the line, when it is none or missing. */
uint64_t kat_hex(const struct kat *k, unsigned i);
uint64_t kat_decimal(const struct kat *k, unsigned i);
/* Word i as text; "" when there is none. */
const char *kat_text(const struct kat *k, unsigned i);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h: command and option tables, and the parser that reads them. --help, the shell completions and the option list of the man
 * page's test are printed from the same rows.
 */
#ifndef FP4_OPTIONS_H
#define FP4_OPTIONS_H

#include "fp4ref.h"

#include <stdio.h>

enum exit_status { EXIT_PASS = 0, EXIT_DIFFERS = 1, EXIT_TROUBLE = 2 };

enum option_kind { OPT_FLAG, OPT_STRING, OPT_LIST /* may be given more than once */ };

struct option_row {
    const char *name; /* without "--" */
    char letter;      /* 0 when none */
    enum option_kind kind;
    const char *argument; /* "FILE"; NULL for flags */
    const char *help;
    const char *complete; /* "file", "suite", "op", "backend", or space-separated words; NULL */
    void *target;         /* bool *, const char **, struct string_list * */
};

struct string_list {
    const char **items; /* NULL-ended once not empty */
    size_t count;
};
void string_list_release(struct string_list *list);

struct command {
    const char *name;
    const char *summary;               /* one line for `fp4check help` */
    const char *arguments;             /* "A[:BACKEND] B[:BACKEND]..." */
    const char *examples;              /* lines, each a command and a remark */
    const char *notes;                 /* paragraph(s) after the options, or NULL */
    struct option_row *options;        /* ended by name == NULL */
    int (*run)(int argc, char **argv); /* positional arguments only; returns an exit status */
    bool hidden;
};

extern struct command *const fp4_commands[]; /* NULL-ended, in the order of `fp4check help` */
struct command *command_find(const char *name);
const char *command_near(const char *name); /* for "did you mean", or NULL */
/* The word of a NULL-ended list that is at most two typing errors away, or NULL. */
const char *closest_word(const char *word, const char *const *words);

/* Parses argv[1..] against the command's table; leaves positional arguments in *argc, argv. -h prints the help and returns 1. */
int options_parse(struct command *cmd, int *argc, char **argv, struct fp4_error *err);
void command_help(const struct command *cmd, FILE *out);

#endif

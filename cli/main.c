/* SPDX-License-Identifier: Apache-2.0 */
/* The way from argv to a command. The table of commands is in commands/commands.c. */
#include "options.h"
#include "term.h"

#include <string.h>

/* Options that every command has may stand anywhere; they are taken out before the command's own table is read. */
static int global_options(int *argc, char **argv, struct fp4_error *err)
{
    int kept = 1, i;

    for (i = 1; i < *argc; i++) {
        const char *arg = argv[i];

        if (strcmp(arg, "--") == 0) {
            while (i < *argc)
                argv[kept++] = argv[i++];
            break;
        }
        if (strcmp(arg, "--quiet") == 0 || strcmp(arg, "-q") == 0)
            term_quiet = true;
        else if (strcmp(arg, "--color") == 0 || strcmp(arg, "--color=always") == 0)
            term_set_color(TERM_ALWAYS);
        else if (strcmp(arg, "--color=never") == 0)
            term_set_color(TERM_NEVER);
        else if (strcmp(arg, "--color=auto") == 0)
            term_set_color(TERM_AUTO);
        else if (strncmp(arg, "--color=", 8) == 0)
            return fp4_fail(err, FP4_EUSAGE, "--color is always, never or auto, not '%s'", arg + 8);
        else
            argv[kept++] = argv[i];
    }
    argv[kept] = NULL;
    *argc = kept;
    return 0;
}

static struct command *choose(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return command_find("help");
    if (strcmp(argv[1], "--version") == 0)
        return command_find("version");
    return command_find(argv[1]);
}

static int finish(int status)
{
    if (fflush(stdout) || ferror(stdout)) {
        term_error("cannot write to standard output");
        return EXIT_TROUBLE;
    }
    return status;
}

int main(int argc, char **argv)
{
    struct fp4_error err;
    struct command *cmd;
    int left, parsed;

    if (global_options(&argc, argv, &err)) {
        term_error("%s", err.msg);
        return EXIT_TROUBLE;
    }
    cmd = choose(argc, argv);
    if (!cmd) {
        const char *near = command_near(argv[1]);

        if (near)
            term_error("unknown command '%s'; did you mean '%s'?", argv[1], near);
        else
            term_error("unknown command '%s'; `fp4check help` lists them", argv[1]);
        return EXIT_TROUBLE;
    }
    left = argc > 1 ? argc - 1 : argc;
    argv += argc > 1;
    parsed = options_parse(cmd, &left, argv, &err);
    if (parsed < 0) {
        term_error("%s: %s", cmd->name, err.msg);
        return EXIT_TROUBLE;
    }
    if (parsed > 0)
        return finish(EXIT_PASS);
    return finish(cmd->run(left - 1, argv + 1));
}

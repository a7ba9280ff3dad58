/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: one line each, in the order of `fp4check help`. */
#include "commands.h"

#include <string.h>

struct command *const fp4_commands[] = {
    &cmd_run,   &cmd_diff,     &cmd_verify, &cmd_list,    &cmd_show, &cmd_bless,      &cmd_exhaustive, &cmd_explain,
    &cmd_probe, &cmd_selftest, &cmd_bench,  &cmd_version, &cmd_help, &cmd_completion, &cmd_worker,     NULL,
};

struct command *command_find(const char *name)
{
    size_t i;

    for (i = 0; fp4_commands[i]; i++)
        if (strcmp(fp4_commands[i]->name, name) == 0)
            return fp4_commands[i];
    return NULL;
}

const char *command_near(const char *name)
{
    const char *words[32];
    size_t i, n = 0;

    for (i = 0; fp4_commands[i] && n < 31; i++)
        if (!fp4_commands[i]->hidden)
            words[n++] = fp4_commands[i]->name;
    words[n] = NULL;
    return closest_word(name, words);
}

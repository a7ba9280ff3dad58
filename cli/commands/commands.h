/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands.h: the subcommands, one file each (cmd_NAME.c).
 *
 * To add one: write its file with a struct command, declare it here and put it in commands.c. tests/cli/ checks that --help has examples
 * and that the man page names every option.
 */
#ifndef FP4_COMMANDS_H
#define FP4_COMMANDS_H

#include "options.h"

extern struct command cmd_run, cmd_diff, cmd_verify, cmd_list, cmd_show, cmd_bless, cmd_exhaustive, cmd_version, cmd_help,
    cmd_completion, cmd_worker, cmd_bench, cmd_probe, cmd_explain, cmd_selftest;

#endif

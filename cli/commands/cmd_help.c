/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "term.h"

static void overview(FILE *out)
{
    size_t i;

    fputs("fp4check: is this NVFP4 kernel right, bit for bit?\n\n"
          "usage: fp4check COMMAND [options] [arguments]\n\n"
          "commands:\n",
          out);
    for (i = 0; fp4_commands[i]; i++)
        if (!fp4_commands[i]->hidden)
            fprintf(out, "  %-10s %s\n", fp4_commands[i]->name, fp4_commands[i]->summary);
    fputs("\noptions of every command:\n"
          "  -h, --help               what it does, its options, examples\n"
          "  -q, --quiet              no progress and no remarks; errors stay\n"
          "      --color=WHEN         always, never or auto (NO_COLOR is honoured)\n\n"
          "a first look:\n"
          "  fp4check run -o here.json               take the default suite through every backend of this machine\n"
          "  fp4check diff here.json there.json      compare with the dump of another machine\n"
          "  fp4check verify golden/                 compare with the committed results\n"
          "  fp4check show quantize/te/rn/1x16/bf16/ties/32x64/s0\n\n"
          "exit status: 0 all compared cases pass, 1 something differs, 2 trouble\n",
          out);
}

static int help_main(int argc, char **argv)
{
    struct command *cmd;

    if (argc == 0) {
        overview(stdout);
        return EXIT_PASS;
    }
    if (argc > 1) {
        term_error("help: one command at a time; unexpected argument '%s'", argv[1]);
        return EXIT_TROUBLE;
    }
    cmd = command_find(argv[0]);
    if (!cmd) {
        term_error("help: unknown command '%s'", argv[0]);
        return EXIT_TROUBLE;
    }
    command_help(cmd, stdout);
    return EXIT_PASS;
}

static struct option_row options[] = { { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL } };

struct command cmd_help = {
    .name = "help",
    .summary = "list the commands, or explain one",
    .arguments = "[COMMAND]",
    .examples = "  fp4check help diff",
    .options = options,
    .run = help_main,
};

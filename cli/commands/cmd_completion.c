/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check completion bash|zsh: completion scripts printed from the command and option tables, so that they cannot fall behind. */
#include "backend.h"
#include "commands.h"
#include "matrix.h"
#include "term.h"

#include <string.h>

/* The words that an option's argument completes to, space-separated, on out. "file" is left to the shell. */
static void print_words(FILE *out, const char *what)
{
    size_t i;

    if (strcmp(what, "suite") == 0)
        for (i = 0; i < fp4_suite_count; i++)
            fprintf(out, "%s%s", i ? " " : "", fp4_suites[i].name);
    else if (strcmp(what, "op") == 0)
        for (i = 0; i < OP_COUNT; i++)
            fprintf(out, "%s%s", i ? " " : "", fp4_ops[i].name);
    else if (strcmp(what, "backend") == 0)
        for (i = 0; i < fp4_backend_count; i++)
            fprintf(out, "%s%s", i ? " " : "", fp4_backends[i]->name);
    else
        fputs(what, out);
}

static void bash_command(const struct command *cmd)
{
    const struct option_row *o;

    printf("    %s)\n        case $prev in\n", cmd->name);
    for (o = cmd->options; o->name; o++) {
        if (o->kind == OPT_FLAG)
            continue;
        printf("        --%s", o->name);
        if (o->letter)
            printf(" | -%c", o->letter);
        fputs(")\n            ", stdout);
        if (o->complete && strcmp(o->complete, "file") != 0) {
            fputs("COMPREPLY=($(compgen -W '", stdout);
            print_words(stdout, o->complete);
            fputs("' -- \"$cur\"))\n", stdout);
        } else {
            fputs("COMPREPLY=($(compgen -f -- \"$cur\"))\n", stdout);
        }
        fputs("            return ;;\n", stdout);
    }
    fputs("        esac\n        words='--help --quiet --color", stdout);
    for (o = cmd->options; o->name; o++)
        printf(" --%s", o->name);
    fputs("' ;;\n", stdout);
}

static void bash(void)
{
    size_t i;

    fputs("# bash completion for fp4check, printed by `fp4check completion bash`\n"
          "_fp4check()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    if [ \"$cur\" = = ]; then cur=; fi # --suite=NAME comes as three words\n"
          "    if [ \"$prev\" = = ] && [ \"$COMP_CWORD\" -ge 3 ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        COMPREPLY=($(compgen -W '",
          stdout);
    for (i = 0; fp4_commands[i]; i++)
        if (!fp4_commands[i]->hidden)
            printf("%s%s", i ? " " : "", fp4_commands[i]->name);
    fputs("' -- \"$cur\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n", stdout);
    for (i = 0; fp4_commands[i]; i++)
        if (!fp4_commands[i]->hidden)
            bash_command(fp4_commands[i]);
    fputs("    esac\n"
          "    case $cur in\n"
          "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
          "    esac\n}\n"
          "complete -o filenames -F _fp4check fp4check\n",
          stdout);
}

/* Text inside zsh's [...] and single quotes. */
static void zsh_text(const char *s)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *s))
            printf("\\%c", *s);
        else
            putchar(*s);
    }
}

static void zsh_command(const struct command *cmd)
{
    const struct option_row *o;

    printf("    %s)\n        _arguments \\\n", cmd->name);
    for (o = cmd->options; o->name; o++) {
        printf("            '%s--%s%s[", o->kind == OPT_LIST ? "*" : "", o->name, o->kind == OPT_FLAG ? "" : "=");
        zsh_text(o->help);
        fputs("]", stdout);
        if (o->kind != OPT_FLAG) {
            fputs(":", stdout);
            zsh_text(o->argument);
            if (o->complete && strcmp(o->complete, "file") != 0) {
                fputs(":(", stdout);
                print_words(stdout, o->complete);
                fputs(")", stdout);
            } else {
                fputs(":_files", stdout);
            }
        }
        fputs("' \\\n", stdout);
    }
    fputs("            '--help[what it does, its options, examples]' \\\n"
          "            '--quiet[no progress and no remarks]' \\\n"
          "            '*:file:_files' ;;\n",
          stdout);
}

static void zsh(void)
{
    size_t i;

    fputs("#compdef fp4check\n# zsh completion for fp4check, printed by `fp4check completion zsh`\n"
          "local -a commands\ncommands=(\n",
          stdout);
    for (i = 0; fp4_commands[i]; i++) {
        if (fp4_commands[i]->hidden)
            continue;
        printf("    '%s:", fp4_commands[i]->name);
        zsh_text(fp4_commands[i]->summary);
        fputs("'\n", stdout);
    }
    fputs(")\n"
          "if (( CURRENT == 2 )); then\n    _describe command commands\n    return\nfi\n"
          "local command=$words[2]\nshift words\n(( CURRENT-- ))\n"
          "case $command in\n",
          stdout);
    for (i = 0; fp4_commands[i]; i++)
        if (!fp4_commands[i]->hidden)
            zsh_command(fp4_commands[i]);
    fputs("esac\n", stdout);
}

static int completion_main(int argc, char **argv)
{
    if (argc == 1 && strcmp(argv[0], "bash") == 0) {
        bash();
        return EXIT_PASS;
    }
    if (argc == 1 && strcmp(argv[0], "zsh") == 0) {
        zsh();
        return EXIT_PASS;
    }
    term_error("completion: give one shell, bash or zsh");
    return EXIT_TROUBLE;
}

static struct option_row options[] = { { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL } };

struct command cmd_completion = {
    .name = "completion",
    .summary = "print the completion script of a shell",
    .arguments = "bash|zsh",
    .examples = "  source <(fp4check completion bash)",
    .options = options,
    .run = completion_main,
    .hidden = true,
};

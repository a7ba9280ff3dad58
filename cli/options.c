/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

void string_list_release(struct string_list *list)
{
    free(list->items);
    list->items = NULL;
    list->count = 0;
}

static int list_add(struct string_list *list, const char *item, struct fp4_error *err)
{
    const char **grown = realloc(list->items, (list->count + 2) * sizeof *grown);

    if (!grown)
        return fp4_fail(err, FP4_EIO, "out of memory");
    list->items = grown;
    grown[list->count++] = item;
    grown[list->count] = NULL;
    return 0;
}

const char *closest_word(const char *word, const char *const *words)
{
    const char *best = NULL;
    size_t best_distance = 3; /* further away it is no typing error */

    for (; *words; words++) {
        size_t d = word_distance(word, *words);

        if (d < best_distance) {
            best_distance = d;
            best = *words;
        }
    }
    return best;
}

static struct option_row *option_find(struct command *cmd, const char *name, size_t length)
{
    struct option_row *o;

    for (o = cmd->options; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static int unknown_option(const struct command *cmd, const char *arg, struct fp4_error *err)
{
    const char *words[64];
    const struct option_row *o;
    const char *near;
    char name[64];
    size_t n = 0;

    for (o = cmd->options; o->name && n < 63; o++)
        words[n++] = o->name;
    words[n] = NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
    near = arg[1] == '-' ? closest_word(name, words) : NULL;
    if (near)
        return fp4_fail(err, FP4_EUSAGE, "unknown option '%s'; did you mean '--%s'?", arg, near);
    return fp4_fail(err, FP4_EUSAGE, "unknown option '%s'; `fp4check %s --help` lists them", arg, cmd->name);
}

static int option_store(struct option_row *o, const char *value, struct fp4_error *err)
{
    if (o->kind == OPT_FLAG) {
        if (value)
            return fp4_fail(err, FP4_EUSAGE, "option '--%s' takes no argument", o->name);
        *(bool *)o->target = true;
        return 0;
    }
    if (o->kind == OPT_STRING) {
        *(const char **)o->target = value;
        return 0;
    }
    return list_add(o->target, value, err);
}

/* One option word; *i moves past an argument that stands in the next word. */
static int parse_word(struct command *cmd, int argc, char **argv, int *i, struct fp4_error *err)
{
    const char *arg = argv[*i], *value = NULL;
    struct option_row *o = NULL;

    if (arg[1] == '-') {
        size_t length = strcspn(arg + 2, "=");

        o = option_find(cmd, arg + 2, length);
        if (arg[2 + length] == '=')
            value = arg + 3 + length;
    } else {
        for (o = cmd->options; o->name && o->letter != arg[1]; o++)
            ;
        if (!o->name)
            o = NULL;
        else if (arg[2])
            value = arg + 2;
    }
    if (!o)
        return unknown_option(cmd, arg, err);
    if (o->kind != OPT_FLAG && !value) {
        if (*i + 1 >= argc)
            return fp4_fail(err, FP4_EUSAGE, "option '--%s' needs an argument: %s", o->name, o->argument);
        value = argv[++*i];
    }
    return option_store(o, value, err);
}

int options_parse(struct command *cmd, int *argc, char **argv, struct fp4_error *err)
{
    int kept = 1, i;
    bool only_arguments = false;

    for (i = 1; i < *argc; i++) {
        const char *arg = argv[i];

        if (only_arguments || arg[0] != '-' || arg[1] == '\0') {
            argv[kept++] = argv[i];
        } else if (strcmp(arg, "--") == 0) {
            only_arguments = true;
        } else if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            command_help(cmd, stdout);
            return 1;
        } else if (parse_word(cmd, *argc, argv, &i, err)) {
            return -1;
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return 0;
}

void command_help(const struct command *cmd, FILE *out)
{
    const struct option_row *o;
    char left[80];

    fprintf(out, "fp4check %s: %s\n\nusage: fp4check %s%s%s%s\n", cmd->name, cmd->summary, cmd->name,
            cmd->options->name ? " [options]" : "", *cmd->arguments ? " " : "", cmd->arguments);
    if (cmd->options->name)
        fputs("\noptions:\n", out);
    for (o = cmd->options; o->name; o++) {
        char letter[8] = "    ";

        if (o->letter)
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        if (strlen(left) > 28)
            fprintf(out, "  %s\n  %-28s  %s\n", left, "", o->help);
        else
            fprintf(out, "  %-28s  %s\n", left, o->help);
    }
    if (cmd->notes)
        fprintf(out, "\n%s\n", cmd->notes);
    if (cmd->examples)
        fprintf(out, "\nexamples:\n%s\n", cmd->examples);
}

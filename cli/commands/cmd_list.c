/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check list: everything that the tables hold. */
#include "commands.h"
#include "select.h"
#include "term.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

static struct {
    struct case_options select;
    bool cases, suites, ops, recipes, knobs, data, models, backends, coverage;
} opt;

static int list_cases(struct fp4_error *err)
{
    struct case_list list = { NULL, 0, 0 };
    struct selection sel;
    char name[CASE_NAME_MAX];
    size_t i;

    if (cases_selected(&opt.select, &list, &sel, err)) {
        case_list_release(&list);
        return -1;
    }
    for (i = 0; i < list.count; i++) {
        case_name(&list.items[i], name);
        puts(name);
    }
    term_note("%zu cases", list.count);
    case_list_release(&list);
    return 0;
}

static int list_suites(struct fp4_error *err)
{
    size_t i;

    for (i = 0; i < fp4_suite_count; i++) {
        struct case_list list = { NULL, 0, 0 };
        struct selection sel;

        memset(&sel, 0, sizeof sel);
        sel.suite = fp4_suites[i].name;
        if (strcmp(sel.suite, "input") == 0 && input_count() == 0) {
            printf("%-20s %6s cases  %s\n", sel.suite, "-", fp4_suites[i].help); /* as many as --input gives it */
            continue;
        }
        if (suite_select(&sel, &list, err))
            return -1;
        printf("%-20s %6zu cases  %s\n", fp4_suites[i].name, list.count, fp4_suites[i].help);
        case_list_release(&list);
    }
    return 0;
}

static int list_ops(struct fp4_error *err)
{
    size_t i;

    (void)err;
    for (i = 0; i < OP_COUNT; i++)
        printf("%-14s %s\n", fp4_ops[i].name, fp4_ops[i].help);
    return 0;
}

static int list_recipes(struct fp4_error *err)
{
    int r, op;

    (void)err;
    for (r = 0; r < CR_COUNT; r++) {
        printf("%-10s %s (", case_recipe_name((enum case_recipe)r), case_recipe_help((enum case_recipe)r));
        for (op = 0; op < OP_COUNT; op++)
            if (fp4_ops[op].recipes & 1u << r)
                printf(" %s", fp4_ops[op].name);
        puts(" )");
    }
    return 0;
}

static void print_ops(uint32_t ops)
{
    int op;

    for (op = 0; op < OP_COUNT; op++)
        if (ops & 1u << op)
            printf(" %s", fp4_ops[op].name);
    puts(" )");
}

static int list_knobs(struct fp4_error *err)
{
    size_t i, k;

    (void)err;
    for (i = 0; i < fp4_knob_rows; i++) {
        const struct knob_row *row = &fp4_knobs[i];

        printf("%-10s", knob_name(row->knob));
        if (row->knob == KNOB_RS) {
            printf(" %s* ... (`fp4check list rs-models`)", row->tokens[row->def]);
        } else {
            for (k = 0; row->tokens[k]; k++)
                if (*row->tokens[k])
                    printf(" %s%s", row->tokens[k], k == row->def ? "*" : "");
        }
        printf("\n           %s (", row->help);
        print_ops(row->ops);
    }
    puts("* default; a default is left out of the name unless the knob is always shown");
    return 0;
}

static int list_data(struct fp4_error *err)
{
    size_t i;

    (void)err;
    for (i = 0; i < fp4_data_count; i++)
        printf("%-14s %s [%s]\n", fp4_data[i].name, fp4_data[i].help, fp4_data[i].source);
    for (i = 0; i < input_count(); i++)
        printf("%-14s tensor '%s'\n", input_data_name(i), input_tensor_name(i));
    puts("sources: docs/numerics.md, section 1.1");
    return 0;
}

static int list_models(struct fp4_error *err)
{
    size_t i;

    (void)err;
    printf("%-18s %-10s %-9s %s\n", "rs-model", "rule", "byte map", "known from");
    for (i = 0; i < fp4_rs_model_count; i++) {
        const struct fp4_rs_model_row *m = &fp4_rs_models[i];

        printf("%-18s %-10s %-9s %s\n", m->name, rs_rule_name(m->model.rule),
               m->model.rule == FP4_RS_HASH32 ? "none" : rs_map_name(m->model.map),
               m->named ? m->note : "a combination that nobody published");
    }
    return 0;
}

static int list_backends(struct fp4_error *err)
{
    struct fp4_error reason;
    char build[256], devices[80] = "";
    size_t i;

    (void)err;
    for (i = 0; i < fp4_backend_count; i++) {
        const struct backend_row *b = fp4_backends[i];

        if (backend_available(b, &reason)) {
            printf("%-10s cannot run here: %s\n", b->name, reason.msg);
            continue;
        }
        backend_describe(b, build, sizeof build);
        if (b->isolated)
            worker_devices_text(devices, sizeof devices);
        printf("%-10s runs here: %s (%s%s%s)\n", b->name, b->help, b->isolated ? devices : "", b->isolated ? ": " : "", build);
    }
    return 0;
}

/* Ops without a case, data constructions without a case: holes show as zeros. */
static int list_coverage(struct fp4_error *err)
{
    size_t by_op[OP_COUNT] = { 0 }, *by_data = calloc(fp4_data_count, sizeof *by_data), i;
    struct case_list list = { NULL, 0, 0 };
    struct selection sel;

    if (!by_data)
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (cases_selected(&opt.select, &list, &sel, err)) {
        free(by_data);
        return -1;
    }
    for (i = 0; i < list.count; i++) {
        by_op[list.items[i].op]++;
        if (list.items[i].data)
            by_data[list.items[i].data - fp4_data]++;
    }
    for (i = 0; i < OP_COUNT; i++)
        printf("op   %-14s %6zu cases\n", fp4_ops[i].name, by_op[i]);
    for (i = 0; i < fp4_data_count; i++)
        printf("data %-14s %6zu cases\n", fp4_data[i].name, by_data[i]);
    case_list_release(&list);
    free(by_data);
    return 0;
}

static const struct {
    const char *name;
    bool *flag;
    int (*list)(struct fp4_error *err);
} lists[] = {
    { "cases", &opt.cases, list_cases },
    { "suites", &opt.suites, list_suites },
    { "ops", &opt.ops, list_ops },
    { "recipes", &opt.recipes, list_recipes },
    { "knobs", &opt.knobs, list_knobs },
    { "data", &opt.data, list_data },
    { "rs-models", &opt.models, list_models },
    { "backends", &opt.backends, list_backends },
    { "coverage", &opt.coverage, list_coverage },
};
#define LISTS (sizeof lists / sizeof lists[0])

static int mark(const char *word, struct fp4_error *err)
{
    const char *words[LISTS + 1];
    const char *near;
    size_t i;

    for (i = 0; i < LISTS; i++) {
        if (strcmp(lists[i].name, word) == 0) {
            *lists[i].flag = true;
            return 0;
        }
        words[i] = lists[i].name;
    }
    words[LISTS] = NULL;
    near = closest_word(word, words);
    return fp4_fail(err, FP4_EUSAGE, "nothing called '%s' to list%s%s%s", word, near ? "; did you mean '" : "", near ? near : "",
                    near ? "'?" : "; there are cases, suites, ops, recipes, knobs, data, rs-models, backends, coverage");
}

static int list_main(int argc, char **argv)
{
    struct fp4_error err;
    size_t i, marked = 0, printed = 0;
    int status = EXIT_PASS, k;

    for (k = 0; k < argc && status == EXIT_PASS; k++)
        if (mark(argv[k], &err))
            status = EXIT_TROUBLE;
    for (i = 0; i < LISTS; i++)
        marked += *lists[i].flag;
    if (!marked)
        opt.cases = true;
    if (status == EXIT_PASS && !opt.cases && !opt.coverage && inputs_registered(&opt.select, &err))
        status = EXIT_TROUBLE;
    if (status == EXIT_PASS && workers_set(&opt.select, &err))
        status = EXIT_TROUBLE;
    for (i = 0; i < LISTS && status == EXIT_PASS; i++) {
        if (!*lists[i].flag)
            continue;
        if (marked > 1)
            printf("%s%s:\n", printed++ ? "\n" : "", lists[i].name);
        if (lists[i].list(&err))
            status = EXIT_TROUBLE;
    }
    if (status != EXIT_PASS)
        term_error("list: %s", err.msg);
    worker_stop_all();
    input_release_all();
    return status;
}

static struct option_row options[] = {
    CASE_OPTIONS(opt.select),
    DEVICE_OPTION(opt.select),
    TE_LIB_OPTION(opt.select),
    { "cases", 0, OPT_FLAG, NULL, "the names of the chosen cases (default)", NULL, &opt.cases },
    { "suites", 0, OPT_FLAG, NULL, "the suites and their sizes", NULL, &opt.suites },
    { "ops", 0, OPT_FLAG, NULL, "the operations", NULL, &opt.ops },
    { "recipes", 0, OPT_FLAG, NULL, "the recipes and the operations that have them", NULL, &opt.recipes },
    { "knobs", 0, OPT_FLAG, NULL, "the tokens that a case name may hold", NULL, &opt.knobs },
    { "data", 0, OPT_FLAG, NULL, "the data constructions and where each comes from", NULL, &opt.data },
    { "rs-models", 0, OPT_FLAG, NULL, "the models of stochastic rounding", NULL, &opt.models },
    { "backends", 0, OPT_FLAG, NULL, "the backends, and why one cannot run here", NULL, &opt.backends },
    { "coverage", 0, OPT_FLAG, NULL, "cases by operation and by data construction", NULL, &opt.coverage },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_list = {
    .name = "list",
    .summary = "list cases, suites, ops, recipes, knobs, data, rs-models, backends",
    .arguments = "[WHAT...]",
    .examples = "  fp4check list suites\n"
                "  fp4check list backends                        # what can run here, and why the rest cannot\n"
                "  fp4check list --suite smoke --op quantize     # names of cases\n"
                "  fp4check list --case 'quantize/te/sr/*/ties/*'\n",
    .options = options,
    .run = list_main,
};

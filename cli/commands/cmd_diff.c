/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_diff.c: fp4check diff A[:BACKEND] B[:BACKEND]...: two or more dumps, each compared with the first. */
#include "commands.h"
#include "compare_options.h"
#include "select.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>

static struct {
    struct compare_options compare;
    struct string_list cases;
    struct case_options select;
} opt;

/* ---- the dumps --------------------------------------------------------------------------------------------------------------- */

struct opened {
    struct diff_selector selector;
    struct dump_file *file;
};

static int open_dump(const char *argument, struct opened *o, struct fp4_error *err)
{
    if (diff_selector_parse(argument, &o->selector, err))
        return -1;
    o->file = dump_read_open(o->selector.path, err);
    return o->file ? 0 : -1;
}

static void close_dump(struct opened *o)
{
    if (o->file)
        dump_read_close(o->file);
    diff_selector_release(&o->selector);
    *o = (struct opened){ 0 };
}

static int compare_files(struct opened *a, struct opened *b, const struct diff_policy *policy, struct report_set *set,
                         int *exit_status, struct fp4_error *err)
{
    struct diff_pair pairs[DUMP_RESULTS_MAX];
    struct diff_sink sink = report_sink(set);
    struct diff_names names_a, names_b;
    struct diff_summary summary;
    size_t count = 0;

    diff_names_of(a->file, &names_a);
    diff_names_of(b->file, &names_b);
    if (diff_pair_up(&names_a, a->selector.backend, &names_b, b->selector.backend, pairs, &count, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (diff_dumps(a->file, pairs[i].a, b->file, pairs[i].b, opt.cases.items, policy, &sink, &summary, err))
            return -1;
        *exit_status = worse_status(*exit_status, diff_exit_status(&summary));
        if (diff_exit_status(&summary) == EXIT_TROUBLE)
            term_error("diff: nothing was compared: every case of %s and %s was skipped", names_a.path, names_b.path);
    }
    return 0;
}

static int compare_with_first(int argc, char **argv, const struct diff_policy *policy, struct report_set *set, int *exit_status,
                              struct fp4_error *err)
{
    struct opened a = { 0 }, b = { 0 };
    int status = open_dump(argv[0], &a, err);

    for (int i = 1; i < argc && status == 0; i++) {
        status = open_dump(argv[i], &b, err);
        if (status == 0)
            status = compare_files(&a, &b, policy, set, exit_status, err);
        close_dump(&b);
    }
    close_dump(&a);
    return status;
}

static int diff_all(int argc, char **argv, int *exit_status, struct fp4_error *err)
{
    struct report_set *set = calloc(1, sizeof *set); /* large, and the sink points to it */
    struct diff_policy policy;
    int status = -1;

    if (!set)
        return fp4_fail(err, FP4_EIO, "out of memory");
    set->command = "diff";
    if (argc < 2)
        fp4_fail(err, FP4_EUSAGE, "needs two dumps or more: fp4check diff A[:BACKEND] B[:BACKEND]...");
    else if (compare_policy(&opt.compare, &policy, err) == 0 && inputs_registered(&opt.select, err) == 0 &&
             compare_reports(&opt.compare, set, err) == 0)
        status = compare_with_first(argc, argv, &policy, set, exit_status, err);
    if (status == 0)
        status = report_finish(set, *exit_status, err);
    else
        report_drop(set);
    free(set);
    return status;
}

static int run_diff(int argc, char **argv)
{
    struct fp4_error err = { 0 };
    int exit_status = EXIT_PASS;

    term_catch_interrupts();
    if (diff_all(argc, argv, &exit_status, &err)) {
        term_error("diff: %s", err.msg);
        exit_status = EXIT_TROUBLE;
    }
    input_release_all();
    string_list_release(&opt.cases);
    string_list_release(&opt.select.inputs);
    string_list_release(&opt.select.rs_models);
    return exit_status;
}

static struct option_row options[] = {
    { "case", 'c', OPT_LIST, "GLOB", "only cases whose name matches", NULL, &opt.cases },
    { "input", 0, OPT_LIST, "FILE[:TENSOR]", "safetensors file that cases named file-... were made from", "file",
      &opt.select.inputs },
    RS_MODEL_OPTION(opt.select, "file of an rs-model that cases name"),
    COMPARE_OPTIONS(opt.compare),
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_diff = {
    .name = "diff",
    .summary = "compare dumps case by case, bit for bit",
    .arguments = "A[:BACKEND] B[:BACKEND]...",
    .examples = "  fp4check diff b200.json:sm100 5090.json:sm120     # bit-exact or not, where, and why\n"
                "  fp4check diff one.json:ref one.json:soft          # two backends of one dump\n"
                "  fp4check diff --tolerance 0.1% a.json b.json      # the rule for fast-math builds\n"
                "  fp4check diff --case 'quantize/*' a.json b.json   # only some cases\n"
                "  fp4check diff --json - a.json b.json | jq .       # for other programs",
    .notes = "Every further dump is compared with the first. Without :BACKEND the only backend of each file is taken, or else\n"
             "every backend that both have. Exit status: 0 everything compared is equal (or within the tolerance); 1 something\n"
             "differs, is missing on one side, or could not be compared; 2 trouble, or nothing was compared.",
    .options = options,
    .run = run_diff,
};

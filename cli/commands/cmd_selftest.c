/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check selftest: does a comparison notice what is wrong, and does its diagnosis name it? */
#include "commands.h"
#include "dump.h"
#include "mutants.h"
#include "select.h"
#include "term.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    struct string_list mutants, cases;
    const char *json, *markdown, *output, *jobs;
    bool list, no_pairs;
} opt;

#define RIGHT_FLOOR 90 /* per cent of the mutants, named first */
#define PAIR_FLOOR 80  /* per cent of the pairs, both named in the order of the pipeline */

struct selftest {
    struct mutant_set *set;
    struct mutant_result *results;
    const struct deviation *(*work)[MUTANT_STACK];
    size_t *depth;
    size_t count, singles; /* singles first, then pairs */
    pthread_mutex_t lock;
    size_t next, done;
    struct progress progress;
    struct fp4_error err;
    bool failed;
};

/* ---- what is run ----------------------------------------------------------------------------------------------------------------- */

static void add_work(struct selftest *s, const struct deviation *a, const struct deviation *b)
{
    s->work[s->count][0] = a;
    s->work[s->count][1] = b;
    s->depth[s->count++] = b ? 2 : 1;
}

static int named_work(struct selftest *s, struct fp4_error *err)
{
    for (size_t i = 0; i < opt.mutants.count; i++) {
        const struct deviation *row = deviation_find(opt.mutants.items[i]);

        if (!row)
            return fp4_fail(err, FP4_EUSAGE, "there is no mutant '%.60s'; --list names them all", opt.mutants.items[i]);
        add_work(s, row, NULL);
    }
    s->singles = s->count;
    return 0;
}

static int plan(struct selftest *s, struct fp4_error *err)
{
    size_t capacity = fp4_deviation_count + mutant_pair_count + opt.mutants.count;

    s->work = calloc(capacity, sizeof *s->work);
    s->depth = calloc(capacity, sizeof *s->depth);
    s->results = calloc(capacity, sizeof *s->results);
    if (!s->work || !s->depth || !s->results)
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (opt.mutants.count)
        return named_work(s, err);
    for (size_t i = 0; i < fp4_deviation_count; i++)
        if (mutant_is_one(&fp4_deviations[i]))
            add_work(s, &fp4_deviations[i], NULL);
    s->singles = s->count;
    for (size_t i = 0; i < mutant_pair_count && !opt.no_pairs; i++)
        add_work(s, deviation_find(mutant_pairs[i][0]), deviation_find(mutant_pairs[i][1]));
    return 0;
}

static void *worker(void *arg)
{
    struct selftest *s = arg;

    for (;;) {
        struct fp4_error err = { 0 };
        size_t i;

        pthread_mutex_lock(&s->lock);
        i = s->failed || term_interrupted ? s->count : s->next++;
        pthread_mutex_unlock(&s->lock);
        if (i >= s->count)
            return NULL;
        int status = mutant_run(s->set, (const struct deviation *const *)s->work[i], s->depth[i], &s->results[i], &err);
        pthread_mutex_lock(&s->lock);
        progress_step(&s->progress, ++s->done, s->work[i][0]->name);
        if (status && !s->failed) {
            s->failed = true;
            s->err = err;
        }
        pthread_mutex_unlock(&s->lock);
    }
}

static int run_all(struct selftest *s, struct fp4_error *err)
{
    pthread_t threads[64];
    uint64_t jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    size_t started = 0;

    if (opt.jobs && (u64_from_text(opt.jobs, &jobs) || jobs < 1 || jobs > 64))
        return fp4_fail(err, FP4_EUSAGE, "--jobs is a number from 1 to 64, not '%.40s'", opt.jobs);
    if (!(s->set = mutant_set_open(err)))
        return -1;
    pthread_mutex_init(&s->lock, NULL);
    progress_start(&s->progress, "selftest", s->count);
    while (started < jobs && started < 64 && pthread_create(&threads[started], NULL, worker, s) == 0)
        started++;
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    progress_end(&s->progress);
    if (!started)
        return fp4_fail(err, FP4_EIO, "cannot start a thread");
    if (s->failed)
        *err = s->err;
    else if (term_interrupted)
        fp4_fail(err, FP4_EIO, "interrupted after %zu of %zu", s->done, s->count);
    return s->failed || term_interrupted ? -1 : 0;
}

/* ---- sums ---------------------------------------------------------------------------------------------------------------------------- */

struct sums {
    size_t mutants, killed, right, joint, pairs, peeled;
};

static struct sums add_up(const struct selftest *s)
{
    struct sums sum = { .mutants = s->singles, .pairs = s->count - s->singles };

    for (size_t i = 0; i < s->count; i++) {
        const struct mutant_result *r = &s->results[i];

        if (i < s->singles) {
            sum.killed += r->killed > 0;
            sum.right += r->right;
            sum.joint += r->joint;
        } else {
            sum.peeled += r->right;
        }
    }
    return sum;
}

static bool good(const struct sums *s)
{
    return s->killed == s->mutants && s->right * 100 >= s->mutants * RIGHT_FLOOR && s->peeled * 100 >= s->pairs * PAIR_FLOOR;
}

static void sums_text(const struct sums *s, struct text *out)
{
    text_printf(out, "%zu mutants: %zu killed, %zu survive; %zu named first, %zu among equals, %zu not named", s->mutants,
                s->killed, s->mutants - s->killed, s->right, s->joint, s->mutants - s->right - s->joint);
    if (s->pairs)
        text_printf(out, "; %zu of %zu pairs peeled in order", s->peeled, s->pairs);
}

/* ---- text and Markdown ------------------------------------------------------------------------------------------------------------------ */

static void rows_text(const struct deviation *const *rows, size_t depth, struct text *out)
{
    for (size_t i = 0; i < depth; i++)
        text_printf(out, "%s%s", i ? " + " : "", rows[i]->name);
}

static void verdict_text(const struct mutant_result *r, struct text *out)
{
    const struct diagnosis_finding *f = &r->diagnosis.findings[0];

    if (!r->killed)
        text_add(out, "SURVIVES");
    else if (!r->diagnosis.count)
        text_add(out, r->error[0] ? "refused by the run" : "no diagnosis");
    else if (!f->depth)
        text_add(out, "no known cause");
    else if (r->right && r->depth == 1 && f->stack[0] == r->rows[0])
        text_add(out, "itself");
    else
        rows_text(f->stack, f->depth, out);
    if (r->joint)
        text_add(out, " (itself among equals)");
}

static const char *spec_of(const struct mutant_result *r)
{
    return r->depth == 1 && *r->rows[0]->spec ? r->rows[0]->spec : "-";
}

/* A line a mutant, a column a case. */
static void matrix_text(const struct selftest *s, struct text *t)
{
    for (size_t i = 0; i < s->singles; i++)
        text_printf(t, "%-26s %-8s|%s|\n", s->results[i].rows[0]->name, spec_of(&s->results[i]), s->results[i].probes);
}

static void print_text(const struct selftest *s, const struct sums *sum)
{
    struct text t = { 0 };

    for (size_t i = 0; i < s->count; i++) {
        const struct mutant_result *r = &s->results[i];
        struct text name = { 0 }, verdict = { 0 };

        if (i == s->singles)
            text_add(&t, "\npairs\n");
        rows_text(r->rows, r->depth, &name);
        verdict_text(r, &verdict);
        text_printf(&t, "%-*s %-8s %2zu of %2zu  %-7s %s\n", i < s->singles ? 26 : 48, name.data, spec_of(r), r->killed, r->applied,
                    r->right    ? "right"
                    : r->joint  ? "joint"
                    : r->killed ? "WRONG"
                                : "ALIVE",
                    verdict.data);
        text_release(&name);
        text_release(&verdict);
    }
    text_add(&t, "\nkill matrix, a column a case: # differs, . equal, ! refused by the run, blank: the fault is of other ops\n");
    matrix_text(s, &t);
    text_add(&t, "\n");
    sums_text(sum, &t);
    if (t.data)
        puts(t.data);
    text_release(&t);
}

static void matrix_markdown(const struct selftest *s, struct text *t)
{
    text_add(t, "\n## Cases\n\nEach column of the matrix is one of these, in order; all are in the default suite.\n\n");
    for (size_t i = 0; i < mutant_set_count(s->set); i++)
        text_printf(t, "%zu. `%s`\n", i + 1, mutant_set_case(s->set, i));
    text_add(t, "\n## Kill matrix\n\n`#` the case differs, `.` it does not, `!` the run refuses the result, blank: the fault is of "
                "other ops.\n\n```\n");
    matrix_text(s, t);
    text_add(t, "```\n");
}

static void verdicts_markdown(const struct selftest *s, size_t from, size_t to, struct text *t)
{
    text_add(t, "| mutant | letters | what it does | cases that differ | diagnosed as |\n|---|---|---|--:|---|\n");
    for (size_t i = from; i < to; i++) {
        const struct mutant_result *r = &s->results[i];

        text_add(t, "| ");
        rows_text(r->rows, r->depth, t);
        text_printf(t, " | %s | %s | %zu of %zu | ", spec_of(r), r->depth == 1 ? r->rows[0]->says : "both", r->killed, r->applied);
        verdict_text(r, t);
        text_add(t, " |\n");
    }
}

static int write_file(const char *path, const struct text *t, struct fp4_error *err)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    bool bad = !out || t->failed || (t->data && fputs(t->data, out) < 0);

    if (out && out != stdout)
        bad |= fclose(out) != 0;
    return bad ? fp4_fail(err, FP4_EIO, "cannot write '%.300s'", path) : 0;
}

static int write_markdown(const struct selftest *s, const struct sums *sum, struct fp4_error *err)
{
    struct text t = { 0 };

    text_add(&t, "# Self-test\n\nWritten by `fp4check selftest --markdown docs/selftest.md`; do not edit.\n\nEvery deviation that "
                 "the diagnosis knows is run "
                 "as a backend that is wrong in that way, over cases of the\ndefault suite. A comparison with the reference must "
                 "notice it, and the diagnosis, "
                 "which sees the outputs alone, must\nname it first. Letters are those of [numerics.md](numerics.md) 11.3; F and a "
                 "number is a fault of a "
                 "field report.\n\n");
    sums_text(sum, &t);
    text_add(&t, ".\n\n## Mutants\n\n");
    verdicts_markdown(s, 0, s->singles, &t);
    if (sum->pairs) {
        text_add(&t, "\n## Pairs\n\nTwo faults at once; both must be named, in the order of the pipeline.\n\n");
        verdicts_markdown(s, s->singles, s->count, &t);
    }
    matrix_markdown(s, &t);
    int status = write_file(opt.markdown, &t, err);
    text_release(&t);
    return status;
}

/* ---- JSON: names are plain words, so nothing needs escaping ---------------------------------------------------------------------------------- */

static void names_json(const struct deviation *const *rows, size_t depth, struct text *t)
{
    text_add(t, "[");
    for (size_t i = 0; i < depth; i++)
        text_printf(t, "%s\"%s\"", i ? "," : "", rows[i]->name);
    text_add(t, "]");
}

static void result_json(const struct mutant_result *r, struct text *t)
{
    const struct diagnosis_finding *f = &r->diagnosis.findings[0];

    text_add(t, "{\"faults\":");
    names_json(r->rows, r->depth, t);
    text_printf(t, ",\"spec\":\"%s\",\"applied\":%zu,\"killed\":%zu,\"probes\":\"%s\",\"named\":",
                r->depth == 1 ? r->rows[0]->spec : "", r->applied, r->killed, r->probes);
    names_json(f->stack, f->depth, t);
    text_add(t, ",\"same\":");
    names_json(f->same, f->same_count, t);
    text_printf(t, ",\"explained\":%zu,\"differing\":%zu,\"verdict\":\"%s\"}", f->explained, f->differing,
                r->right    ? "right"
                : r->joint  ? "joint"
                : r->killed ? "wrong"
                            : "survives");
}

static int write_json(const struct selftest *s, const struct sums *sum, struct fp4_error *err)
{
    struct text t = { 0 };

    text_add(&t, "{\"format\":\"fp4check-selftest\",\"version\":1,\n\"cases\":[");
    for (size_t i = 0; i < mutant_set_count(s->set); i++)
        text_printf(&t, "%s\n\"%s\"", i ? "," : "", mutant_set_case(s->set, i));
    text_add(&t, "],\n\"results\":[");
    for (size_t i = 0; i < s->count; i++) {
        text_add(&t, i ? ",\n" : "\n");
        result_json(&s->results[i], &t);
    }
    text_printf(&t, "],\n\"mutants\":%zu,\"killed\":%zu,\"right\":%zu,\"joint\":%zu,\"pairs\":%zu,\"peeled\":%zu}\n", sum->mutants,
                sum->killed, sum->right, sum->joint, sum->pairs, sum->peeled);
    int status = write_file(opt.json, &t, err);
    text_release(&t);
    return status;
}

/* ---- a dump of a wrong backend ------------------------------------------------------------------------------------------------------------------ */

static int append_case(struct dump_writer *w, const struct backend_row *b, const struct fp4_case *c, struct fp4_error *err)
{
    struct case_tensors t = { 0 };
    char name[CASE_NAME_MAX], *text = NULL;
    struct fp4_error why = { 0 };

    case_name(c, name);
    bool ok = backend_run_case(b, c, &t, &why) == 0;
    for (size_t i = 0; i < t.count; i++)
        if (t.t[i].role == TENSOR_STAGE)
            t.t[i].written = false;
    const struct dump_result r = { b->name, ok ? DUMP_OK : DUMP_ERROR, ok ? NULL : why.msg, ok ? &t : NULL, NULL };
    text = dump_render_case(name, &t, &r, 1, SIZE_MAX, false);
    case_release(&t);
    int status = text ? dump_append(w, text, err) : fp4_fail(err, FP4_EIO, "out of memory");
    free(text);
    return status;
}

static int write_dump(struct fp4_error *err)
{
    const struct deviation *rows[MUTANT_STACK];
    const struct selection sel = { .globs = opt.cases.items };
    struct dump_header h = { .suite = "selection", .shard = 1, .shards = 1, .backends = { "mutant" }, .backend_count = 1 };
    struct case_list list = { 0 };
    struct dump_writer *w = NULL;
    int status = -1;

    if (opt.mutants.count < 1 || opt.mutants.count > MUTANT_STACK)
        return fp4_fail(err, FP4_EUSAGE, "--output writes what one --mutant, or two at once, make of the cases");
    for (size_t i = 0; i < opt.mutants.count; i++)
        if (!(rows[i] = deviation_find(opt.mutants.items[i])))
            return fp4_fail(err, FP4_EUSAGE, "there is no mutant '%.60s'; --list names them all", opt.mutants.items[i]);
    h.provenance.tool = "fp4check " FP4_VERSION;
    if (suite_select(&sel, &list, err) == 0 && (w = dump_open(opt.output, &h, err))) {
        const struct backend_row *b = mutant_backend(rows, opt.mutants.count);

        status = 0;
        for (size_t i = 0; i < list.count && status == 0; i++)
            status = append_case(w, b, &list.items[i], err);
        if (status == 0)
            status = dump_close(w, err);
        else
            dump_abort(w);
    }
    case_list_release(&list);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------------------------------------------------------------- */

static int print_list(void)
{
    for (size_t i = 0; i < fp4_deviation_count; i++)
        printf("%-26s %-8s %s\n", fp4_deviations[i].name, *fp4_deviations[i].spec ? fp4_deviations[i].spec : "-",
               fp4_deviations[i].says);
    return EXIT_PASS;
}

static int selftest(struct fp4_error *err)
{
    struct selftest s = { 0 };
    struct sums sum;
    int status = EXIT_TROUBLE;

    if (plan(&s, err) == 0 && run_all(&s, err) == 0) {
        sum = add_up(&s);
        if (!(opt.json && strcmp(opt.json, "-") == 0) && !(opt.markdown && strcmp(opt.markdown, "-") == 0))
            print_text(&s, &sum);
        if (!(opt.json && write_json(&s, &sum, err)) && !(opt.markdown && write_markdown(&s, &sum, err)))
            status = good(&sum) ? EXIT_PASS : EXIT_DIFFERS;
    }
    mutant_set_close(s.set);
    free(s.work);
    free(s.depth);
    free(s.results);
    return status;
}

static int selftest_main(int argc, char **argv)
{
    struct fp4_error err = { 0 };
    int status;

    if (argc) {
        term_error("selftest: unexpected argument '%s'; mutants are chosen with --mutant", argv[0]);
        return EXIT_TROUBLE;
    }
    term_catch_interrupts();
    if (opt.list)
        return print_list();
    status = opt.output ? write_dump(&err) ? EXIT_TROUBLE : EXIT_PASS : selftest(&err);
    if (status == EXIT_TROUBLE)
        term_error("selftest: %s", err.msg);
    string_list_release(&opt.mutants);
    string_list_release(&opt.cases);
    return status;
}

static struct option_row options[] = {
    { "mutant", 'm', OPT_LIST, "NAME", "only this one (all of them, and pairs of them, without)", NULL, &opt.mutants },
    { "list", 0, OPT_FLAG, NULL, "name the mutants and say what each does wrong", NULL, &opt.list },
    { "no-pairs", 0, OPT_FLAG, NULL, "leave out the pairs", NULL, &opt.no_pairs },
    { "jobs", 'j', OPT_STRING, "N", "threads (default: one a core)", NULL, &opt.jobs },
    { "json", 0, OPT_STRING, "FILE", "write the kill matrix as JSON ('-': standard output)", "file", &opt.json },
    { "markdown", 0, OPT_STRING, "FILE", "write it as Markdown: docs/selftest.md ('-': standard output)", "file", &opt.markdown },
    { "output", 'o', OPT_STRING, "FILE", "write a dump of what --mutant (one, or two at once) makes of --case", "file",
      &opt.output },
    { "case", 'c', OPT_LIST, "GLOB", "with --output: the cases (default: the default suite)", NULL, &opt.cases },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_selftest = {
    .name = "selftest",
    .summary = "run wrong backends: each must be noticed, and named by the diagnosis",
    .arguments = "",
    .examples = "  fp4check selftest --mutant rule-half               # one of them\n"
                "  fp4check selftest --list\n"
                "  fp4check selftest --mutant nibbles-exchanged -c 'quantize/te/rn/1x16/*/16x64/s0' -o wrong.json\n",
    .notes =
        "Without --mutant all of them are run, and 40 pairs. Each is the reference with one fault put in, run over cases of the\n"
        "default suite and compared with the reference; the diagnosis sees the outputs alone. Exit status: 0 every mutant is\n"
        "noticed, at least 90% are named first and at least 80% of the pairs are named whole, in the order of the pipeline; 1\n"
        "not so; 2 trouble.",
    .options = options,
    .run = selftest_main,
};

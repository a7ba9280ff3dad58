/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check run: cases through backends into a dump. */
#include "commands.h"
#include "dump.h"
#include "probe.h"
#include "run_diagnosis.h"
#include "select.h"
#include "term.h"
#include "worker.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static struct {
    struct case_options select;
    const char *output, *bytes, *jobs;
    bool stages, no_stages, no_profile, resume;
} opt;

#define WINDOW 64 /* finished lines that may wait for an earlier one */

struct tally {
    size_t ok, skipped, error;
};

struct run {
    struct case_list cases;
    const struct backend_row *backends[DUMP_RESULTS_MAX];
    char unavailable[DUMP_RESULTS_MAX][sizeof((struct fp4_error *)0)->msg]; /* empty: the backend runs */
    size_t backend_count;
    size_t keep;
    pthread_mutex_t lock;
    pthread_cond_t change;
    pthread_mutex_t serial; /* backends in this process that take one case at a time */
    size_t next, written, first;
    size_t jobs;        /* threads */
    size_t kept_errors; /* cases that a resumed run took over and that had ended in an error */
    char **lines;       /* of finished cases, by case */
    struct tally tally[OP_COUNT][DUMP_RESULTS_MAX];
    struct run_diagnosis diagnosis;
    size_t broken; /* backends that are here and failed their canary, or died of it */
    char first_error[1024];
    bool stop;
};

/* ---- one case -------------------------------------------------------------------------------------------------------------------------- */

/* Runs backend b on inputs that *t shares with the other backends. */
static void result_of(struct run *run, size_t b, const struct fp4_case *c, struct case_tensors *t, struct dump_result *r,
                      struct fp4_error *err)
{
    const struct backend_row *row = run->backends[b];
    bool ok;

    r->backend = row->name;
    r->t = NULL;
    r->path = NULL;
    r->reason = err->msg;
    if (run->unavailable[b][0]) {
        r->status = DUMP_SKIPPED;
        r->reason = run->unavailable[b];
        return;
    }
    if (row->supports(c, err)) {
        r->status = DUMP_SKIPPED;
        return;
    }
    if (!row->threads && !row->isolated) /* worker processes know themselves who is free */
        pthread_mutex_lock(&run->serial);
    ok = backend_run_prepared(row, c, t, err) == 0;
    if (!row->threads && !row->isolated)
        pthread_mutex_unlock(&run->serial);
    r->status = ok ? DUMP_OK : row->isolated && err->code == FP4_ESUPPORT ? DUMP_SKIPPED : DUMP_ERROR;
    r->path = ok && row->path ? row->path(c) : NULL;
    r->t = ok ? t : NULL;
}

/* Stages that are not wanted are left out of the text by clearing the mark that they were written. */
static void drop_stages(struct case_tensors *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_STAGE)
            t->t[i].written = false;
}

/* The inputs belong to the first holder alone. */
static void forget_inputs(struct case_tensors *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_INPUT)
            t->t[i].data = NULL;
}

static char *run_one(struct run *run, const struct fp4_case *c, struct dump_result *results)
{
    struct case_tensors t[DUMP_RESULTS_MAX], inputs;
    struct fp4_error err[DUMP_RESULTS_MAX], input_error;
    char name[CASE_NAME_MAX], *text;
    bool prepared;
    size_t b;

    case_name(c, name);
    memset(&inputs, 0, sizeof inputs);
    prepared = case_describe(c, &inputs, &input_error) == 0 && case_inputs(c, &inputs, &input_error) == 0;
    for (b = 0; b < run->backend_count; b++) {
        t[b] = inputs;
        if (prepared)
            result_of(run, b, c, &t[b], &results[b], &err[b]);
        else
            results[b] = (struct dump_result){ run->backends[b]->name, DUMP_ERROR, input_error.msg, NULL, NULL };
        if (!prepared)
            err[b] = input_error;
        if (opt.no_stages)
            drop_stages(&t[b]);
        if (results[b].status == DUMP_ERROR && !term_interrupted) {
            pthread_mutex_lock(&run->lock);
            if (!run->first_error[0])
                snprintf(run->first_error, sizeof run->first_error, "%s: %s: %s", name, results[b].backend, err[b].msg);
            pthread_mutex_unlock(&run->lock);
        }
    }
    text = dump_render_case(name, &inputs, results, run->backend_count, run->keep, opt.stages);
    pthread_mutex_lock(&run->lock);
    run_diagnosis_case(&run->diagnosis, name, results, run->backend_count);
    pthread_mutex_unlock(&run->lock);
    for (b = 0; b < run->backend_count; b++) {
        forget_inputs(&t[b]);
        case_release(&t[b]);
    }
    case_release(&inputs);
    return text;
}

static void count_up(struct run *run, enum fp4_op op, const struct dump_result *results)
{
    size_t b;

    for (b = 0; b < run->backend_count; b++) {
        struct tally *t = &run->tally[op][b];

        t->ok += results[b].status == DUMP_OK;
        t->skipped += results[b].status == DUMP_SKIPPED;
        t->error += results[b].status == DUMP_ERROR;
    }
}

/* ---- workers --------------------------------------------------------------------------------------------------------------------------------- */

static void *worker(void *arg)
{
    struct run *run = arg;

    for (;;) {
        struct dump_result results[DUMP_RESULTS_MAX];
        size_t i;
        char *text;

        pthread_mutex_lock(&run->lock);
        while (!run->stop && run->next < run->cases.count && run->next >= run->written + WINDOW)
            pthread_cond_wait(&run->change, &run->lock);
        if (run->stop || run->next >= run->cases.count) {
            pthread_mutex_unlock(&run->lock);
            return NULL;
        }
        i = run->next++;
        pthread_mutex_unlock(&run->lock);
        text = run_one(run, &run->cases.items[i], results);
        pthread_mutex_lock(&run->lock);
        if (term_interrupted) { /* which makes errors of cases that a device had begun: they are for --resume */
            run->stop = true;
            free(text);
        } else {
            count_up(run, run->cases.items[i].op, results);
            run->lines[i] = text;
        }
        if (!text) {
            run->stop = true;
            snprintf(run->first_error, sizeof run->first_error, "out of memory");
        }
        pthread_cond_broadcast(&run->change);
        pthread_mutex_unlock(&run->lock);
    }
}

/* Waits for the line of case i; NULL when the run was stopped before it. */
static char *take_line(struct run *run, size_t i)
{
    struct timespec until;
    char *text;

    pthread_mutex_lock(&run->lock);
    while (!run->lines[i] && !run->stop) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000; /* look at the interrupt flag ten times a second */
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&run->change, &run->lock, &until);
        if (term_interrupted) {
            run->stop = true;
            pthread_cond_broadcast(&run->change);
        }
    }
    text = run->lines[i];
    run->lines[i] = NULL;
    if (text) {
        run->written = i + 1;
        pthread_cond_broadcast(&run->change);
    }
    pthread_mutex_unlock(&run->lock);
    return text;
}

static int write_lines(struct run *run, struct dump_writer *w, struct fp4_error *err)
{
    struct progress progress;
    char name[CASE_NAME_MAX];
    size_t i;
    int status = 0;

    progress_start(&progress, "run", run->cases.count);
    for (i = run->first; i < run->cases.count && status == 0; i++) {
        char *text = take_line(run, i);

        if (!text)
            break;
        if (w)
            status = dump_append(w, text, err);
        free(text);
        case_name(&run->cases.items[i], name);
        progress_step(&progress, i + 1, name);
    }
    progress_end(&progress);
    pthread_mutex_lock(&run->lock);
    run->stop = true;
    pthread_cond_broadcast(&run->change);
    pthread_mutex_unlock(&run->lock);
    return status;
}

static size_t job_count(size_t cases, struct fp4_error *err)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = online > 0 ? (uint64_t)online : 1;

    if (opt.jobs && (u64_from_text(opt.jobs, &n) || n < 1 || n > 256)) {
        fp4_fail(err, FP4_EUSAGE, "--jobs is a number from 1 to 256, not '%s'", opt.jobs);
        return 0;
    }
    if (!opt.jobs && n < worker_device_count())
        n = worker_device_count();
    return n < cases ? (size_t)n : cases ? cases : 1;
}

static int run_all(struct run *run, struct dump_writer *w, struct fp4_error *err)
{
    pthread_t threads[256];
    size_t started = 0, i;
    int status;

    run->next = run->written = run->first;
    while (started < run->jobs && pthread_create(&threads[started], NULL, worker, run) == 0)
        started++;
    if (started == 0)
        return fp4_fail(err, FP4_EIO, "cannot start a thread");
    status = write_lines(run, w, err);
    for (i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (i = 0; i < run->cases.count; i++)
        free(run->lines[i]);
    return status;
}

/* ---- resume ------------------------------------------------------------------------------------------------------------------------------------- */

struct kept {
    struct run *run;
    size_t count;
    struct fp4_error error;
};

/* Lines come back in the order in which they were written, which is the order of the cases. */
static int keep_line(const char *name, const char *text, void *arg)
{
    struct kept *k = arg;
    char wanted[CASE_NAME_MAX] = "";

    if (k->count < k->run->cases.count)
        case_name(&k->run->cases.items[k->count], wanted);
    if (strcmp(name, wanted) != 0)
        return fp4_fail(&k->error, FP4_EFORMAT,
                        "the partial dump has case '%s' where this run has '%s'; start afresh without --resume", name,
                        wanted[0] ? wanted : "none");
    k->run->lines[k->count] = strdup(text);
    if (!k->run->lines[k->count])
        return fp4_fail(&k->error, FP4_EIO, "out of memory");
    k->count++;
    if (strstr(text, "\"status\":\"error\"")) /* in a string the quotes would be escaped */
        k->run->kept_errors++;
    return 0;
}

static int resume(struct run *run, const struct dump_header *h, struct fp4_error *err)
{
    struct kept k = { run, 0, { FP4_OK, "" } };
    size_t found = 0;

    if (dump_resume(opt.output, h, keep_line, &k, &found, err)) {
        if (k.error.code)
            *err = k.error;
        return -1;
    }
    run->first = k.count;
    if (found)
        term_note("%zu of %zu cases taken over from '%s.partial'", found, run->cases.count, opt.output);
    else
        term_note("nothing to resume at '%s.partial'", opt.output);
    return 0;
}

static int write_kept(struct run *run, struct dump_writer *w, struct fp4_error *err)
{
    size_t i;

    for (i = 0; i < run->first; i++) {
        if (dump_append(w, run->lines[i], err))
            return -1;
        free(run->lines[i]);
        run->lines[i] = NULL;
    }
    return 0;
}

/* ---- the command ---------------------------------------------------------------------------------------------------------------------------------- */

static int bytes_option(size_t *keep, struct fp4_error *err)
{
    uint64_t n = DUMP_BLOCK_BYTES;

    if (opt.bytes && strcmp(opt.bytes, "none") == 0)
        n = 0;
    else if (opt.bytes && strcmp(opt.bytes, "all") == 0)
        n = SIZE_MAX;
    else if (opt.bytes && u64_from_text(opt.bytes, &n))
        return fp4_fail(err, FP4_EUSAGE, "--bytes is a number, 'none' or 'all', not '%s'", opt.bytes);
    *keep = (size_t)n;
    return 0;
}

static void print_tally(const struct run *run)
{
    size_t b, op;

    printf("%-14s %-10s %8s %8s %8s %8s\n", "op", "backend", "cases", "ok", "skipped", "error");
    for (op = 0; op < OP_COUNT; op++)
        for (b = 0; b < run->backend_count; b++) {
            const struct tally *t = &run->tally[op][b];

            if (t->ok + t->skipped + t->error)
                printf("%-14s %-10s %8zu %8zu %8zu %8zu\n", fp4_ops[op].name, run->backends[b]->name, t->ok + t->skipped + t->error,
                       t->ok, t->skipped, t->error);
        }
}

static struct tally totals(const struct run *run)
{
    struct tally sum = { 0, 0, 0 };
    size_t b, op;

    for (op = 0; op < OP_COUNT; op++)
        for (b = 0; b < run->backend_count; b++) {
            sum.ok += run->tally[op][b].ok;
            sum.skipped += run->tally[op][b].skipped;
            sum.error += run->tally[op][b].error;
        }
    return sum;
}

/* Canary first: a backend that fails it is skipped with that reason. */
static void check_backends(struct run *run)
{
    struct fp4_error err;
    size_t b;

    for (b = 0; b < run->backend_count; b++) {
        if (backend_available(run->backends[b], &err) || backend_canary(run->backends[b], &err)) {
            run->broken += err.code != FP4_ESUPPORT;
            snprintf(run->unavailable[b], sizeof run->unavailable[b], "%s", err.msg);
            term_note("backend '%s' cannot run: %s", run->backends[b]->name, err.msg);
        }
    }
}

static void join_command(char *text, size_t size)
{
    size_t i;

    snprintf(text, size, "fp4check run");
    if (opt.select.suite)
        snprintf(text + strlen(text), size - strlen(text), " --suite %s", opt.select.suite);
    for (i = 0; i < opt.select.cases.count; i++)
        snprintf(text + strlen(text), size - strlen(text), " --case '%s'", opt.select.cases.items[i]);
    for (i = 0; i < opt.select.ops.count; i++)
        snprintf(text + strlen(text), size - strlen(text), " --op %s", opt.select.ops.items[i]);
    for (i = 0; i < opt.select.backends.count; i++)
        snprintf(text + strlen(text), size - strlen(text), " --backend %s", opt.select.backends.items[i]);
    for (i = 0; i < opt.select.rs_models.count; i++)
        snprintf(text + strlen(text), size - strlen(text), " --rs-model %s", opt.select.rs_models.items[i]);
    if (opt.select.device)
        snprintf(text + strlen(text), size - strlen(text), " --device %s", opt.select.device);
    if (opt.bytes)
        snprintf(text + strlen(text), size - strlen(text), " --bytes %s", opt.bytes);
}

/* A dump that names a suite claims to hold all of it (or all of its shard): verify asks for what is missing. */
static const char *suite_label(const struct selection *sel)
{
    if (sel->globs || sel->ops || opt.select.rs_models.count)
        return "selection";
    if (sel->suite)
        return sel->suite;
    return opt.select.inputs.count ? "selection" : "default";
}

static int finish_dump(struct run *run, struct dump_writer *w, struct fp4_error *err)
{
    if (run->written < run->cases.count) {
        if (!w)
            return fp4_fail(err, FP4_EIO, "interrupted after %zu of %zu cases", run->written, run->cases.count);
        if (dump_interrupt(w, err))
            return -1;
        if (strcmp(opt.output, "-") == 0)
            return fp4_fail(err, FP4_EIO, "%s after %zu of %zu cases", term_interrupted ? "interrupted" : run->first_error,
                            run->written, run->cases.count);
        return fp4_fail(err, FP4_EIO,
                        "%s after %zu of %zu cases; '%s.partial' holds them, and the same command with --resume goes on",
                        term_interrupted ? "interrupted" : run->first_error, run->written, run->cases.count, opt.output);
    }
    return w ? dump_close(w, err) : 0;
}

/* What probe finds out of a backend that runs: part of the dump. A failure is a finding too, and no reason not to run the cases. */
static char *profile_of(const struct run *run, size_t b)
{
    struct profile *p = run->unavailable[b][0] ? NULL : malloc(sizeof *p);
    struct text t = { 0 };
    struct fp4_error err = { 0 };
    int rs;

    if (!p)
        return NULL;
    rs = opt.select.rs_models.count ? rs_model_from_text(opt.select.rs_models.items[0], &err) : 0;
    if (rs >= 0 && probe_backend(run->backends[b], (unsigned)rs, p, &err) == 0) {
        profile_json_short(p, &t);
    } else {
        term_note("no profile: %s", err.msg);
        text_add(&t, "{\"failed\":");
        text_json(&t, err.msg);
        text_add(&t, "}");
    }
    free(p);
    return t.data;
}

static int run_cases(struct run *run, const struct selection *sel, struct fp4_error *err)
{
    struct dump_header h;
    struct dump_writer *w = NULL;
    struct utsname machine;
    char builds[DUMP_RESULTS_MAX][256], when[32], host[256] = "", command[1024];
    char *profiles[DUMP_RESULTS_MAX] = { NULL };
    size_t b;

    memset(&h, 0, sizeof h);
    time_now(when);
    gethostname(host, sizeof host - 1);
    join_command(command, sizeof command);
    h.provenance.tool = "fp4check " FP4_VERSION;
    h.provenance.time = when;
    h.provenance.host = host;
    if (uname(&machine) == 0) {
        h.provenance.os = machine.sysname;
        h.provenance.arch = machine.machine;
    }
    h.provenance.command = command;
    h.suite = suite_label(sel);
    h.shard = sel->shard ? sel->shard : 1;
    h.shards = sel->shards ? sel->shards : 1;
    h.seed = sel->seed;
    for (b = 0; b < run->backend_count; b++) {
        backend_describe(run->backends[b], builds[b], sizeof builds[b]);
        h.backends[h.backend_count++] = run->backends[b]->name;
        h.provenance.builds[b].backend = run->backends[b]->name;
        h.provenance.builds[b].build = builds[b];
        h.provenance.build_count = b + 1;
    }
    if (opt.resume && resume(run, &h, err))
        return -1;
    if (opt.output && !opt.no_profile)
        for (b = 0; b < run->backend_count; b++)
            h.profiles[b] = profiles[b] = profile_of(run, b);
    if (opt.output)
        w = dump_open(opt.output, &h, err);
    for (b = 0; b < run->backend_count; b++)
        free(profiles[b]);
    if (opt.output && !w)
        return -1;
    if ((w && write_kept(run, w, err)) || run_all(run, w, err)) {
        if (w)
            dump_abort(w);
        return -1;
    }
    return finish_dump(run, w, err);
}

static int report(struct run *run, FILE *out, double seconds)
{
    struct tally sum = totals(run);
    struct fp4_error err;

    if (out == stdout)
        print_tally(run);
    if (run_diagnosis_print(&run->diagnosis, out, &err))
        term_error("run: %s", err.msg);
    fprintf(out, "%zu cases: %zu ok, %zu skipped, %zu error%s%s", run->cases.count - run->first, sum.ok, sum.skipped, sum.error,
            opt.output ? " -> " : "", opt.output ? opt.output : "");
    fputc('\n', out);
    term_note("%.1f s%s", seconds, opt.output ? "" : "; no -o FILE: no dump was written");
    if (run->first_error[0])
        term_error("run: first error: %s", run->first_error);
    if (run->kept_errors)
        term_error("run: %zu of the cases that were taken over had ended in an error", run->kept_errors);
    if (sum.error || run->kept_errors)
        return EXIT_DIFFERS;
    if (sum.ok == 0 && run->first == 0) {
        term_error("run: nothing ran: every case was skipped");
        return EXIT_TROUBLE;
    }
    if (run->broken)
        term_error("run: %zu of the backends cannot be believed: see above", run->broken);
    return run->broken ? EXIT_DIFFERS : EXIT_PASS;
}

static int prepare(struct run *run, struct selection *sel, struct fp4_error *err)
{
    if (opt.resume && (!opt.output || strcmp(opt.output, "-") == 0))
        return fp4_fail(err, FP4_EUSAGE, "--resume needs -o FILE");
    if (opt.output && !*opt.output)
        return fp4_fail(err, FP4_EUSAGE, "--output is the name of a file or -, not ''");
    if (opt.stages && opt.no_stages)
        return fp4_fail(err, FP4_EUSAGE, "--stages and --no-stages exclude each other");
    if (bytes_option(&run->keep, err) || workers_set(&opt.select, err) || cases_selected(&opt.select, &run->cases, sel, err) ||
        backends_selected(&opt.select, run->backends, DUMP_RESULTS_MAX, &run->backend_count, err))
        return -1;
    run->jobs = job_count(run->cases.count, err);
    if (run->jobs == 0)
        return -1;
    run->lines = calloc(run->cases.count, sizeof *run->lines);
    if (!run->lines)
        return fp4_fail(err, FP4_EIO, "out of memory");
    return 0;
}

static int run_main(int argc, char **argv)
{
    struct run run;
    struct selection sel;
    struct fp4_error err;
    double start = term_seconds();
    int status = EXIT_TROUBLE;

    if (argc) {
        term_error("run: unexpected argument '%s'; cases are chosen with --suite, --case and --op", argv[0]);
        return EXIT_TROUBLE;
    }
    memset(&run, 0, sizeof run);
    pthread_mutex_init(&run.lock, NULL);
    pthread_mutex_init(&run.serial, NULL);
    pthread_cond_init(&run.change, NULL);
    if (prepare(&run, &sel, &err) == 0) {
        check_backends(&run);
        term_catch_interrupts();
        if (run_cases(&run, &sel, &err) == 0)
            status = report(&run, opt.output && strcmp(opt.output, "-") == 0 ? stderr : stdout, term_seconds() - start);
        else
            term_error("run: %s", err.msg);
    } else {
        term_error("run: %s", err.msg);
    }
    worker_stop_all();
    run_diagnosis_release(&run.diagnosis);
    free(run.lines);
    case_list_release(&run.cases);
    input_release_all();
    return status;
}

static struct option_row options[] = {
    CASE_OPTIONS(opt.select),
    BACKEND_OPTION(opt.select),
    DEVICE_OPTION(opt.select),
    TIMEOUT_OPTION(opt.select),
    TE_LIB_OPTION(opt.select),
    RS_MODEL_OPTION(opt.select, "rs-model of the stochastic cases that name the default one"),
    { "output", 'o', OPT_STRING, "FILE", "write the dump here (- is standard output)", "file", &opt.output },
    { "bytes", 0, OPT_STRING, "N|none|all", "keep the bytes of outputs of at most N bytes beside their digests (4096)", "none all",
      &opt.bytes },
    { "stages", 0, OPT_FLAG, NULL, "keep the bytes of stages too, by the same rule", NULL, &opt.stages },
    { "no-stages", 0, OPT_FLAG, NULL, "record outputs only", NULL, &opt.no_stages },
    { "no-profile", 0, OPT_FLAG, NULL, "leave out what `probe` measures of each backend", NULL, &opt.no_profile },
    { "jobs", 'j', OPT_STRING, "N", "threads (default: one a core)", NULL, &opt.jobs },
    { "resume", 0, OPT_FLAG, NULL, "go on with FILE.partial of an interrupted run", NULL, &opt.resume },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_run = {
    .name = "run",
    .summary = "take cases through backends and write a dump",
    .arguments = "",
    .examples = "  fp4check run -o here.json                                # suite `default`, every backend that can run here\n"
                "  fp4check run --suite smoke --backend ref -o ref.json     # a minute's check of the reference\n"
                "  fp4check run --case 'quantize/te/sr/*' --bytes all -o sr.json\n"
                "  fp4check run --input model.safetensors:layer.0.weight -o weight.json\n"
                "  fp4check run --backend soft --device 0,1 -o soft.json    # two GPUs share the cases\n"
                "  fp4check run --suite full --shard 2/8 -o part2.json      # the second of eight machines\n",
    .notes =
        "The dump holds digests of all inputs, outputs and stages, and the bytes of small outputs. It is written to FILE.partial "
        "and\n"
        "renamed when it is whole; an interrupted run leaves FILE.partial, which --resume continues.\n"
        "A case that crashes its kernel, hangs or writes where it must not costs that case: it is an error with the reason, and "
        "the next\n"
        "one gets a fresh process.\n"
        "Exit status: 0 every case ran, 1 a case ended in an error or a backend failed its canary, 2 trouble (or nothing ran).",
    .options = options,
    .run = run_main,
};

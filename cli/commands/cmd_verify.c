/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check verify: runs the cases of golden dumps here and compares. */
#include "commands.h"
#include "compare_options.h"
#include "manifest.h"
#include "select.h"
#include "term.h"
#include "worker.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct {
    struct case_options select;
    struct compare_options compare;
} opt;

struct verify {
    const struct backend_row *backends[DUMP_RESULTS_MAX];
    size_t backend_count;
    struct diff_policy policy;
    struct report_set *reports;
    struct diff_sink sink;
    int exit_status;
};

static bool case_wanted(const char *name)
{
    const char *op_end = strchr(name, '/');
    size_t i;

    for (i = 0; i < opt.select.ops.count; i++)
        if (op_end && strlen(opt.select.ops.items[i]) == (size_t)(op_end - name) &&
            strncmp(name, opt.select.ops.items[i], (size_t)(op_end - name)) == 0)
            break;
    if (opt.select.ops.count && i == opt.select.ops.count)
        return false;
    for (i = 0; i < opt.select.cases.count; i++)
        if (fnmatch(opt.select.cases.items[i], name, 0) == 0)
            return true;
    return opt.select.cases.count == 0;
}

/* ---- one case of one golden --------------------------------------------------------------------------------------------------------- */

static int compute(const struct backend_row *b, const char *name, struct case_tensors *t, struct dump_case *view,
                   struct fp4_error *err)
{
    struct fp4_error reason;
    struct fp4_case c;
    enum dump_status status = DUMP_ERROR;

    memset(t, 0, sizeof *t);
    if (case_parse(name, &c, &reason) == 0) {
        if (b->supports(&c, &reason))
            status = DUMP_SKIPPED;
        else if (backend_run_case(b, &c, t, &reason) == 0)
            status = DUMP_OK;
        else if (b->isolated && reason.code == FP4_ESUPPORT)
            status = DUMP_SKIPPED;
    }
    return case_view(name, b->name, status, status == DUMP_OK ? NULL : reason.msg, status == DUMP_OK ? t : NULL, view, err);
}

static int verify_case(struct diff_run *run, struct dump_file *f, size_t i, const char *golden_backend, const struct backend_row *b,
                       struct fp4_error *err)
{
    struct diff_side golden, here;
    struct case_tensors t;
    struct dump_case recorded, view;
    int status;

    memset(&recorded, 0, sizeof recorded);
    memset(&view, 0, sizeof view);
    if (dump_case_read(f, i, &recorded, err))
        return -1;
    if (!case_wanted(recorded.name)) {
        dump_case_release(&recorded);
        return 0;
    }
    status = compute(b, recorded.name, &t, &view, err);
    if (status == 0 && term_interrupted) { /* not an error of the case */
        case_view_release(&view);
        status = fp4_fail(err, FP4_EIO, "interrupted");
    }
    if (status == 0) {
        golden = (struct diff_side){ run->heading.a.label, dump_path(f), golden_backend, &recorded,
                                     dump_case_result_find(&recorded, golden_backend) };
        here = (struct diff_side){ run->heading.b.label, "here", b->name, &view, dump_case_result_find(&view, b->name) };
        status = diff_run_case(run, &golden, &here, err);
        case_view_release(&view);
    }
    case_release(&t);
    dump_case_release(&recorded);
    return status;
}

/* Cases that the suite has today and the golden has not: somebody added one without blessing it. */
static int verify_missing(struct diff_run *run, const struct dump_file *f, struct fp4_error *err)
{
    struct case_list list = { NULL, 0, 0 };
    struct selection sel;
    char name[CASE_NAME_MAX];
    unsigned shard, shards;
    size_t i;
    int status = 0;

    for (i = 0; i < fp4_suite_count; i++)
        if (strcmp(fp4_suites[i].name, dump_suite(f)) == 0)
            break;
    dump_shard(f, &shard, &shards);
    if (i == fp4_suite_count || shards != 1)
        return 0; /* made from a selection: nothing says what ought to be in it */
    memset(&sel, 0, sizeof sel);
    sel.suite = dump_suite(f);
    sel.has_seed = true;
    sel.seed = dump_seed(f);
    if (suite_select(&sel, &list, err))
        return -1;
    for (i = 0; i < list.count && status == 0; i++) {
        case_name(&list.items[i], name);
        if (case_wanted(name) && dump_find(f, name) < 0)
            status = diff_run_missing(run, name, 'b', err);
    }
    case_list_release(&list);
    return status;
}

static int verify_pair(struct verify *v, struct dump_file *f, const char *golden_backend, const struct backend_row *b,
                       struct fp4_error *err)
{
    struct diff_run *run = calloc(1, sizeof *run);
    struct diff_heading h;
    struct progress progress;
    char golden_label[300], here_label[64], build[256];
    size_t i;
    int status;

    if (!run)
        return fp4_fail(err, FP4_EIO, "out of memory");
    memset(&h, 0, sizeof h);
    snprintf(golden_label, sizeof golden_label, "%s:%s", dump_path(f), golden_backend);
    snprintf(here_label, sizeof here_label, "here:%s", b->name);
    backend_describe(b, build, sizeof build);
    h.a = (struct diff_heading_side){ .label = golden_label,
                                      .path = dump_path(f),
                                      .backend = golden_backend,
                                      .suite = dump_suite(f),
                                      .tool = dump_provenance_text(f, "tool"),
                                      .os = dump_provenance_text(f, "os"),
                                      .arch = dump_provenance_text(f, "arch"),
                                      .build = dump_provenance_build(f, golden_backend),
                                      .complete = dump_complete(f) };
    h.b = (struct diff_heading_side){
        .label = here_label, .path = "here", .backend = b->name, .tool = "fp4check " FP4_VERSION, .build = build, .complete = true
    };
    h.policy = &v->policy;
    status = diff_run_begin(run, &h, &v->policy, &v->sink, err);
    run->family = dump_count(f);
    progress_start(&progress, golden_label, dump_count(f));
    for (i = 0; i < dump_count(f) && status == 0; i++) {
        status = verify_case(run, f, i, golden_backend, b, err);
        progress_step(&progress, i + 1, NULL);
        if (status == 0 && term_interrupted)
            status = fp4_fail(err, FP4_EIO, "interrupted");
    }
    progress_end(&progress);
    if (status == 0)
        status = verify_missing(run, f, err);
    if (status == 0)
        status = diff_run_end(run, err);
    if (status == 0) {
        v->exit_status = worse_status(v->exit_status, diff_exit_status(&run->summary));
        if (run->summary.total == 0)
            term_error("verify: %s: no case matches the selection", golden_label);
    }
    diff_run_release(run);
    free(run);
    return status;
}

static int verify_file(struct verify *v, const char *path, struct fp4_error *err)
{
    struct dump_file *f = dump_read_open(path, err);
    size_t g, b;
    int status = 0;

    if (!f)
        return -1;
    if (dump_count(f) == 0)
        status = fp4_fail(err, FP4_EFORMAT, "%s: holds no cases", path);
    for (g = 0; g < dump_backend_count(f) && status == 0; g++)
        for (b = 0; b < v->backend_count && status == 0; b++)
            status = verify_pair(v, f, dump_backend(f, g), v->backends[b], err);
    dump_read_close(f);
    return status;
}

/* ---- folders ------------------------------------------------------------------------------------------------------------------------------ */

static bool is_dump_name(const char *name)
{
    size_t n = strlen(name);

    return (n > 5 && strcmp(name + n - 5, ".json") == 0) || (n > 9 && strcmp(name + n - 9, ".json.zst") == 0);
}

/* Every dump of the folder must be in the MANIFEST: a golden that came in beside `bless` is found here. */
static int check_unlisted(const char *dir, const struct manifest *m, struct fp4_error *err)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int status = 0;

    if (!d)
        return fp4_fail(err, FP4_EIO, "cannot open '%s': %s", dir, strerror(errno));
    while (status == 0 && (e = readdir(d)))
        if (is_dump_name(e->d_name) && !manifest_find(m, e->d_name))
            status = fp4_fail(err, FP4_EFORMAT, "%s: '%s' is not in the MANIFEST; goldens are made with `fp4check bless`", dir,
                              e->d_name);
    closedir(d);
    return status;
}

static int check_digest(const char *path, const struct manifest_row *row, struct fp4_error *err)
{
    digest128 d;

    if (file_digest(path, &d, err))
        return -1;
    if (!digest_equal(d, row->digest))
        return fp4_fail(err, FP4_EFORMAT,
                        "%s: its bytes are not those that the MANIFEST names; goldens change by `fp4check bless` only", path);
    return 0;
}

static int verify_folder(struct verify *v, const char *dir, struct fp4_error *err)
{
    struct manifest m;
    char path[4096];
    size_t i, n = strlen(dir);
    int status;

    while (n > 1 && dir[n - 1] == '/')
        n--;
    snprintf(path, sizeof path, "%.*s/MANIFEST", (int)n, dir);
    if (manifest_read(path, false, &m, err))
        return -1;
    status = check_unlisted(dir, &m, err);
    if (status == 0 && m.count == 0)
        status = fp4_fail(err, FP4_EFORMAT, "%s: lists no dump", path);
    for (i = 0; i < m.count && status == 0; i++) {
        snprintf(path, sizeof path, "%.*s/%s", (int)n, dir, m.rows[i].name);
        status = check_digest(path, &m.rows[i], err) || verify_file(v, path, err) ? -1 : 0;
    }
    manifest_release(&m);
    return status;
}

static int verify_path(struct verify *v, const char *path, struct fp4_error *err)
{
    struct stat st;

    if (stat(path, &st))
        return fp4_fail(err, FP4_EIO, "cannot open '%s': %s", path, strerror(errno));
    return S_ISDIR(st.st_mode) ? verify_folder(v, path, err) : verify_file(v, path, err);
}

/* ---- the command ---------------------------------------------------------------------------------------------------------------------------- */

static int check_backends(struct verify *v, struct fp4_error *err)
{
    size_t i;

    for (i = 0; i < v->backend_count; i++)
        if (backend_available(v->backends[i], err) || backend_canary(v->backends[i], err))
            return fp4_fail_in(err, "backend '%s'", v->backends[i]->name);
    if (v->backend_count == 0)
        return fp4_fail(err, FP4_EUSAGE, "no backend can run here");
    return 0;
}

static int verify_all(struct verify *v, int argc, char **argv, struct fp4_error *err)
{
    int status, i;

    if (argc == 0)
        return fp4_fail(err, FP4_EUSAGE, "needs a folder with a MANIFEST, or dumps: fp4check verify golden/");
    v->reports->command = "verify";
    if (compare_policy(&opt.compare, &v->policy, err) || workers_set(&opt.select, err) || inputs_registered(&opt.select, err) ||
        backends_selected(&opt.select, v->backends, DUMP_RESULTS_MAX, &v->backend_count, err) || check_backends(v, err) ||
        compare_reports(&opt.compare, v->reports, err)) {
        report_drop(v->reports);
        return -1;
    }
    v->policy.statistical.live_b = true;
    v->sink = report_sink(v->reports);
    status = 0;
    for (i = 0; i < argc && status == 0; i++)
        status = verify_path(v, argv[i], err);
    if (status) {
        report_drop(v->reports);
        return -1;
    }
    return report_finish(v->reports, v->exit_status, err);
}

static int verify_main(int argc, char **argv)
{
    struct fp4_error err;
    struct verify v;

    memset(&v, 0, sizeof v);
    term_catch_interrupts();
    v.reports = calloc(1, sizeof *v.reports);
    if (!v.reports)
        fp4_fail(&err, FP4_EIO, "out of memory");
    if (!v.reports || verify_all(&v, argc, argv, &err)) {
        term_error("verify: %s", err.msg);
        v.exit_status = EXIT_TROUBLE;
    }
    worker_stop_all();
    free(v.reports);
    input_release_all();
    return v.exit_status;
}

static struct option_row options[] = {
    BACKEND_OPTION(opt.select),
    DEVICE_OPTION(opt.select),
    TIMEOUT_OPTION(opt.select),
    TE_LIB_OPTION(opt.select),
    { "case", 'c', OPT_LIST, "GLOB", "only cases whose name matches", NULL, &opt.select.cases },
    { "op", 0, OPT_LIST, "OP", "only cases of this operation", "op", &opt.select.ops },
    RS_MODEL_OPTION(opt.select, "file of an rs-model that cases name"),
    { "input", 0, OPT_LIST, "FILE[:TENSOR]", "safetensors file that cases named file-... were made from", "file",
      &opt.select.inputs },
    COMPARE_OPTIONS(opt.compare),
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_verify = {
    .name = "verify",
    .summary = "run the cases of golden dumps here and compare",
    .arguments = "FOLDER|DUMP...",
    .examples = "  fp4check verify golden/                             # what CI runs\n"
                "  fp4check verify --backend ref golden/ref-smoke.json\n"
                "  fp4check verify --op rht-quantize golden/\n"
                "  fp4check verify --github --junit verify.xml golden/\n",
    .notes = "Every backend of this machine is compared with every result in the dumps. Of a folder, the files that its MANIFEST "
             "lists are\n"
             "read, and their bytes must be those that it names. A case that the dump's suite has today and the dump lacks is a "
             "difference.\n"
             "Exit status: 0 all equal, 1 something differs, 2 trouble.",
    .options = options,
    .run = verify_main,
};

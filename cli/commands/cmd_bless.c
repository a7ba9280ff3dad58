/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check bless: the one way in which a golden dump changes. */
#include "commands.h"
#include "compare_options.h"
#include "manifest.h"
#include "term.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *reason, *command;
    struct compare_options compare;
} opt;

/* ---- what would change ---------------------------------------------------------------------------------------------------------------- */

/* Compares each backend of the new dump with the golden's. *changed: something differs, comes or goes. */
static int show_change(struct dump_file *golden, struct dump_file *fresh, bool *changed, struct fp4_error *err)
{
    struct report_set *set = calloc(1, sizeof *set);
    struct diff_names a, b;
    struct diff_pair pairs[DUMP_RESULTS_MAX];
    struct diff_policy policy;
    struct diff_sink sink;
    size_t count = 0, i;
    int status = -1;

    if (!set)
        return fp4_fail(err, FP4_EIO, "out of memory");
    set->command = "bless";
    diff_names_of(golden, &a);
    diff_names_of(fresh, &b);
    *changed = a.count != b.count;
    if (compare_policy(&opt.compare, &policy, err) || compare_reports(&opt.compare, set, err) ||
        diff_pair_up(&a, "", &b, "", pairs, &count, err)) {
        report_drop(set);
        free(set);
        return -1;
    }
    sink = report_sink(set);
    for (i = 0; i < count; i++) {
        struct diff_summary summary;

        if (strcmp(pairs[i].a, pairs[i].b) != 0)
            *changed = true;
        if (diff_dumps(golden, pairs[i].a, fresh, pairs[i].b, NULL, &policy, &sink, &summary, err))
            break;
        if (diff_exit_status(&summary) != EXIT_PASS || summary.verdicts[VERDICT_EQUAL] != summary.total)
            *changed = true;
    }
    if (i == count)
        status = report_finish(set, *changed ? EXIT_DIFFERS : EXIT_PASS, err);
    else
        report_drop(set);
    free(set);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------------------------------------------------------- */

static void header_from(const struct dump_file *f, struct dump_header *h)
{
    size_t i;

    memset(h, 0, sizeof *h);
    /* A golden is the same file whoever makes it: no host and no time. */
    h->provenance.tool = dump_provenance_text(f, "tool");
    h->provenance.command = opt.command ? opt.command : dump_provenance_text(f, "command");
    h->provenance.reason = opt.reason;
    h->provenance.os = dump_provenance_text(f, "os");
    h->provenance.arch = dump_provenance_text(f, "arch");
    h->suite = dump_suite(f);
    dump_shard(f, &h->shard, &h->shards);
    h->seed = dump_seed(f);
    for (i = 0; i < dump_backend_count(f); i++) {
        h->backends[i] = dump_backend(f, i);
        h->provenance.builds[i].backend = h->backends[i];
        h->provenance.builds[i].build = dump_provenance_build(f, h->backends[i]);
    }
    h->backend_count = h->provenance.build_count = dump_backend_count(f);
}

static int write_golden(struct dump_file *fresh, const char *path, struct fp4_error *err)
{
    struct dump_header h;
    struct dump_writer *w;
    size_t i;

    header_from(fresh, &h);
    for (i = 0; i < h.backend_count; i++)
        h.profiles[i] = dump_profile_text(fresh, h.backends[i]);
    w = dump_open(path, &h, err);
    for (i = 0; i < h.backend_count; i++)
        free((void *)(uintptr_t)h.profiles[i]);
    if (!w)
        return -1;
    for (i = 0; i < dump_count(fresh); i++) {
        char *text = dump_case_text(fresh, i, err);
        int status;

        if (text)
            cJSON_Minify(text); /* a dump that a tool has indented goes back to one case a line */
        status = text ? dump_append(w, text, err) : -1;
        free(text);
        if (status) {
            dump_abort(w);
            return -1;
        }
    }
    return dump_close(w, err);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Before the golden is written: a MANIFEST that cannot be read, or a name that it cannot hold, must not leave the two at odds. */
static int open_manifest(const char *golden_path, char *path, size_t size, struct manifest *m, struct fp4_error *err)
{
    const char *name = file_name(golden_path);
    size_t n = strlen(name);

    if (n < 6 || strcmp(name + n - 5, ".json") != 0 || n >= sizeof m->rows->name || name[0] == '#' ||
        strcspn(name, " \t\r\n\v\f") != n)
        return fp4_fail(err, FP4_EUSAGE,
                        "'%s': a golden's name ends in .json, has at most %zu characters, no blanks, and no # at its beginning",
                        name, sizeof m->rows->name - 1);
    snprintf(path, size, "%.*sMANIFEST", (int)(name - golden_path), golden_path);
    return manifest_read(path, true, m, err);
}

static int update_manifest(struct dump_file *fresh, const char *golden_path, const char *path, struct manifest *m,
                           struct fp4_error *err)
{
    const char *command = opt.command ? opt.command : dump_provenance_text(fresh, "command");
    struct manifest_row row;
    char *c;

    memset(&row, 0, sizeof row);
    snprintf(row.name, sizeof row.name, "%s", file_name(golden_path));
    snprintf(row.command, sizeof row.command, "%s", command ? command : "unknown");
    for (c = row.command; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' '; /* a row is a line */
    row.cases = dump_count(fresh);
    if (file_digest(golden_path, &row.digest, err) || manifest_set(m, &row, err))
        return -1;
    return manifest_write(path, m, err);
}

/* ---- the command ----------------------------------------------------------------------------------------------------------------------------- */

/* Every case must have run: a golden of skips and errors would bless nothing. */
static int check_fresh(struct dump_file *f, struct fp4_error *err)
{
    size_t i, k;

    if (!dump_complete(f))
        return fp4_fail(err, FP4_EUSAGE, "%s: the run was interrupted; finish it with --resume first", dump_path(f));
    if (dump_count(f) == 0)
        return fp4_fail(err, FP4_EUSAGE, "%s: holds no cases", dump_path(f));
    for (i = 0; i < dump_count(f); i++) {
        struct dump_case c;
        int status = 0;

        memset(&c, 0, sizeof c);
        if (dump_case_read(f, i, &c, err))
            return -1;
        for (k = 0; k < c.result_count && status == 0; k++)
            if (c.results[k].status == DUMP_ERROR)
                status = fp4_fail(err, FP4_EUSAGE, "%s: line %zu: backend '%s' failed on '%s': %s", dump_path(f), c.line,
                                  c.results[k].backend, c.name, c.results[k].reason ? c.results[k].reason : "");
        dump_case_release(&c);
        if (status)
            return -1;
    }
    return 0;
}

static int bless(struct dump_file *fresh, const char *golden_path, int *status, struct fp4_error *err)
{
    const char *ci = getenv("CI");
    struct dump_file *golden = NULL;
    struct manifest m;
    char manifest_path[4096];
    bool changed = true, exists = access(golden_path, F_OK) == 0, written;

    if (check_fresh(fresh, err))
        return -1;
    if (exists) {
        int shown;

        golden = dump_read_open(golden_path, err);
        if (!golden)
            return -1;
        shown = show_change(golden, fresh, &changed, err);
        dump_read_close(golden);
        if (shown)
            return -1;
    } else {
        printf("%s is new: %zu cases\n", golden_path, dump_count(fresh));
    }
    if (!changed) {
        printf("nothing changes: %s stays as it is\n", golden_path);
        return 0;
    }
    *status = EXIT_DIFFERS;
    if (ci && *ci && strcmp(ci, "false") != 0 && strcmp(ci, "0") != 0)
        return fp4_fail(err, FP4_EUSAGE, "CI is set: goldens are never written there");
    if (!opt.reason || !opt.reason[strspn(opt.reason, " \t")]) {
        printf("nothing was written: give --reason TEXT to accept this\n");
        return 0;
    }
    if (open_manifest(golden_path, manifest_path, sizeof manifest_path, &m, err))
        return -1;
    written = write_golden(fresh, golden_path, err) == 0 && update_manifest(fresh, golden_path, manifest_path, &m, err) == 0;
    manifest_release(&m);
    if (!written)
        return -1;
    printf("%s %s: %zu cases\n", exists ? "changed" : "wrote", golden_path, dump_count(fresh));
    *status = EXIT_PASS;
    return 0;
}

static int bless_main(int argc, char **argv)
{
    struct fp4_error err;
    struct dump_file *fresh;
    int status = EXIT_PASS;

    if (argc != 2) {
        term_error("bless: needs the new dump and the golden file: fp4check bless NEW GOLDEN");
        return EXIT_TROUBLE;
    }
    fresh = dump_read_open(argv[0], &err);
    if (!fresh || bless(fresh, argv[1], &status, &err)) {
        term_error("bless: %s", err.msg);
        status = EXIT_TROUBLE;
    }
    if (fresh)
        dump_read_close(fresh);
    return status;
}

static struct option_row options[] = {
    { "reason", 'm', OPT_STRING, "TEXT", "why the golden changes; without it nothing is written", NULL, &opt.reason },
    { "command", 0, OPT_STRING, "TEXT", "the command that made it, for the MANIFEST (default: what the dump says)", NULL,
      &opt.command },
    COMPARE_OPTIONS(opt.compare),
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_bless = {
    .name = "bless",
    .summary = "show what a new dump would change in a golden, and accept it with a reason",
    .arguments = "NEW GOLDEN",
    .examples = "  fp4check bless new.json golden/ref-default.json                          # look only\n"
                "  fp4check bless -m 'new ties construction' new.json golden/ref-default.json\n",
    .notes =
        "The golden keeps neither host nor time; its line in the MANIFEST of its folder is renewed. With CI=true nothing is ever\n"
        "written. Exit status: 0 nothing changes or the change was written, 1 it would change, 2 trouble.",
    .options = options,
    .run = bless_main,
};

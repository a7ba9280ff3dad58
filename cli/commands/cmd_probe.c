/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check probe: what a backend does, measured. */
#include "commands.h"
#include "probe.h"
#include "select.h"
#include "worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct case_options select;
    const char *rs_model, *output, *model_output;
    bool json;
} opt;

static int write_file(const char *path, const char *text, struct fp4_error *err)
{
    FILE *out = fopen(path, "w");
    bool ok;

    if (!out)
        return fp4_fail(err, FP4_EIO, "cannot write '%s': %s", path, strerror(errno));
    ok = fputs(text, out) >= 0;
    ok = fclose(out) == 0 && ok;
    return ok ? 0 : fp4_fail(err, FP4_EIO, "cannot write '%s': %s", path, strerror(errno));
}

static int write_model(const struct profile *p, struct fp4_error *err)
{
    char *text;
    int status;

    if (!p->rs.additive || !p->rs.rule_found || p->rs.differ)
        return fp4_fail(err, FP4_ESUPPORT, "--save-rs-model: no rule with a map of bits explains what '%s' does", p->backend);
    text = rs_model_text(p->rs.rule, &p->rs.map);
    if (!text)
        return fp4_fail(err, FP4_EIO, "out of memory");
    status = write_file(opt.model_output, text, err);
    free(text);
    return status;
}

static int put_out(const struct profile *p, struct fp4_error *err)
{
    struct text t = { 0 };
    int status = 0;

    profile_json(p, &t);
    if (t.failed)
        status = fp4_fail(err, FP4_EIO, "out of memory");
    if (status == 0 && opt.output)
        status = write_file(opt.output, t.data, err);
    if (status == 0 && opt.json)
        fputs(t.data, stdout);
    else if (status == 0)
        profile_print(p, stdout);
    text_release(&t);
    return status == 0 && opt.model_output ? write_model(p, err) : status;
}

static int probe_named(const char *name, struct fp4_error *err)
{
    const struct backend_row *b = backend_find(name);
    struct profile *p = calloc(1, sizeof *p);
    int rs = 0, status = -1;

    if (!p)
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (!b)
        fp4_fail(err, FP4_EUSAGE, "unknown backend '%s'; `fp4check list backends` has them", name);
    else if (workers_set(&opt.select, err) == 0 && (!opt.rs_model || (rs = rs_model_chosen(opt.rs_model, err)) >= 0) &&
             (backend_available(b, err) == 0 || fp4_fail_in(err, "backend '%s'", b->name) == 0) && backend_canary(b, err) == 0 &&
             probe_backend(b, (unsigned)rs, p, err) == 0)
        status = put_out(p, err);
    free(p);
    return status;
}

static int probe_main(int argc, char **argv)
{
    struct fp4_error err = { 0 };
    int status = EXIT_PASS;

    if (argc != 1) {
        term_error("probe: give one backend (`fp4check list backends` has them)");
        return EXIT_TROUBLE;
    }
    if (probe_named(argv[0], &err)) {
        term_error("probe: %s", err.msg);
        status = EXIT_TROUBLE;
    }
    worker_stop_all();
    return status;
}

static struct option_row options[] = {
    { "rs-model", 0, OPT_STRING, "NAME|FILE", "rs-model that the cases name, for a backend in software (b300)", "file",
      &opt.rs_model },
    DEVICE_OPTION(opt.select),
    TIMEOUT_OPTION(opt.select),
    { "json", 0, OPT_FLAG, NULL, "print the profile as JSON", NULL, &opt.json },
    { "output", 'o', OPT_STRING, "FILE", "write the profile as JSON to FILE too", "file", &opt.output },
    { "save-rs-model", 0, OPT_STRING, "FILE", "write the rule and the map of bits to FILE, for --rs-model", "file",
      &opt.model_output },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_probe = {
    .name = "probe",
    .summary = "measure what a backend does: rounding, random bits, scales, streams, sums",
    .arguments = "BACKEND",
    .examples = "  fp4check probe sm100                                    # on a B200: which rs-model is it\n"
                "  fp4check probe ref --rs-model te-soft                   # what the measurement makes of a known model\n"
                "  fp4check probe ref -o profile.json --save-rs-model model.json\n"
                "  fp4check run --suite smoke --rs-model model.json -b ref -o measured.json\n",
    .notes = "Nothing that the backend says of itself is used: made inputs go in, outputs are compared with what each hypothesis\n"
             "would give. docs/probe.md says what each line means.",
    .options = options,
    .run = probe_main,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check explain: one element of a case, stage by stage, by the reference and by backends and dumps beside it. */
#include "commands.h"
#include "explain.h"
#include "select.h"
#include "term.h"
#include "worker.h"

#include <stdlib.h>
#include <string.h>

static struct {
    struct case_options select;
    struct string_list dumps;
    const char *at;
    bool transposed, json;
} opt;

static int read_place(struct explain *e, struct fp4_error *err)
{
    const char *comma = opt.at ? strchr(opt.at, ',') : NULL;
    char first[24] = "";
    uint64_t row, col;

    if (!opt.at)
        return fp4_fail(err, FP4_EUSAGE, "--at ROW,COL says which element");
    if (comma && comma - opt.at < (ptrdiff_t)sizeof first)
        memcpy(first, opt.at, (size_t)(comma - opt.at));
    if (!comma || u64_from_text(first, &row) || u64_from_text(comma + 1, &col))
        return fp4_fail(err, FP4_EUSAGE, "--at is ROW,COL, such as 4,17, not '%.40s'", opt.at);
    e->row = (size_t)row;
    e->col = (size_t)col;
    return 0;
}

static struct explain_side *add_side(struct explain *e, const char *label, struct fp4_error *err)
{
    struct explain_side *s = &e->sides[e->side_count];

    if (e->side_count == EXPLAIN_SIDES_MAX) {
        fp4_fail(err, FP4_EUSAGE, "at most %d backends and dumps beside the reference", EXPLAIN_SIDES_MAX - 1);
        return NULL;
    }
    e->side_count++;
    snprintf(s->label, sizeof s->label, "%s", label);
    return s;
}

/* Inputs are what the case says; they are shown once. */
static void drop_inputs(struct case_tensors *t)
{
    size_t i;

    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_INPUT) {
            free(t->t[i].data);
            t->t[i].data = NULL;
        }
}

static int run_side(struct explain *e, const char *name, struct fp4_error *err)
{
    const struct backend_row *b = backend_find(name);
    struct explain_side *s = add_side(e, name, err);

    if (!s)
        return -1;
    if (!b)
        return fp4_fail(err, FP4_EUSAGE, "unknown backend '%s'; `fp4check list backends` has them", name);
    if (backend_available(b, err) || backend_canary(b, err) || b->supports(&e->c, err) || backend_run_case(b, &e->c, &s->t, err))
        return fp4_fail_in(err, "backend '%s'", name);
    return 0;
}

static int copy_tensor(struct case_tensors *t, const struct dump_tensor *from, struct fp4_error *err)
{
    struct tensor *to = tensor_find(t, from->name);

    if (!to || to->role == TENSOR_INPUT || to->bytes != from->bytes || to->dtype != from->dtype || !from->data)
        return 0;
    to->data = malloc(from->bytes ? from->bytes : 1);
    if (!to->data)
        return fp4_fail(err, FP4_EIO, "out of memory");
    memcpy(to->data, from->data, from->bytes);
    to->written = true;
    return 0;
}

static bool same_inputs(struct case_tensors *ref, const struct dump_case *d)
{
    size_t i;

    for (i = 0; i < d->input_count; i++) {
        const struct tensor *x = tensor_find(ref, d->inputs[i].name);

        if (!x || x->bytes != d->inputs[i].bytes || !digest_equal(digest_bytes(x->data, x->bytes), d->inputs[i].digest))
            return false;
    }
    return true;
}

static int take_result(struct explain *e, struct explain_side *s, const struct dump_case *d, const char *backend,
                       struct fp4_error *err)
{
    const struct dump_case_result *r = *backend ? dump_case_result_find(d, backend) : d->result_count ? &d->results[0] : NULL;
    size_t i, missing = 0;

    if (!r)
        return fp4_fail(err, FP4_EUSAGE, "%s: no result of that backend", s->label);
    if (r->status != DUMP_OK)
        return fp4_fail(err, FP4_EUSAGE, "%s: the case was %s: %s", s->label, r->status == DUMP_SKIPPED ? "skipped" : "an error",
                        r->reason ? r->reason : "");
    if (!same_inputs(&e->sides[0].t, d))
        return fp4_fail(err, FP4_EUSAGE, "%s: it was made from other inputs than this version makes", s->label);
    if (case_describe(&e->c, &s->t, err))
        return -1;
    for (i = 0; i < r->count; i++) {
        missing += !r->t[i].data;
        if (copy_tensor(&s->t, &r->t[i], err))
            return -1;
    }
    if (missing)
        term_note("%s: %zu outputs or stages are there as digests only (run with --bytes all --stages to keep them)", s->label,
                  missing);
    return 0;
}

static int dump_side(struct explain *e, const char *text, struct fp4_error *err)
{
    struct explain_side *s = add_side(e, text, err);
    struct diff_selector selector = { 0 };
    struct dump_file *f = NULL;
    struct dump_case d;
    ptrdiff_t at;
    int status = -1;

    memset(&d, 0, sizeof d);
    if (!s || diff_selector_parse(text, &selector, err))
        return -1;
    f = dump_read_open(selector.path, err);
    at = f ? dump_find(f, e->name) : -1;
    if (f && at < 0)
        fp4_fail(err, FP4_EUSAGE, "%s: no case '%s'", selector.path, e->name);
    else if (f && dump_case_read(f, (size_t)at, &d, err) == 0)
        status = take_result(e, s, &d, selector.backend, err);
    dump_case_release(&d);
    if (f)
        dump_read_close(f);
    diff_selector_release(&selector);
    return status;
}

static int fill_sides(struct explain *e, struct fp4_error *err)
{
    size_t i;

    if (run_side(e, "ref", err))
        return -1;
    for (i = 0; i < opt.select.backends.count; i++)
        if (strcmp(opt.select.backends.items[i], "ref") != 0 && run_side(e, opt.select.backends.items[i], err))
            return -1;
    for (i = 0; i < opt.dumps.count; i++)
        if (dump_side(e, opt.dumps.items[i], err))
            return -1;
    for (i = 1; i < e->side_count; i++)
        drop_inputs(&e->sides[i].t);
    return 0;
}

static int explain_case(const char *text, struct fp4_error *err)
{
    struct explain *e = calloc(1, sizeof *e);
    size_t i;
    int status = -1;

    if (!e)
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (workers_set(&opt.select, err) == 0 && inputs_registered(&opt.select, err) == 0 && case_parse(text, &e->c, err) == 0 &&
        read_place(e, err) == 0) {
        case_name(&e->c, e->name);
        e->transposed = opt.transposed;
        if (fill_sides(e, err) == 0 && explain_element(e, err) == 0) {
            if (opt.json)
                explain_json(e, stdout);
            else
                explain_print(e, stdout);
            status = 0;
        }
    }
    for (i = 0; i < e->side_count; i++)
        case_release(&e->sides[i].t);
    free(e);
    return status;
}

static int explain_main(int argc, char **argv)
{
    struct fp4_error err = { 0 };
    int status = EXIT_PASS;

    if (argc != 1) {
        term_error("explain: give one case name (`fp4check list` has them)");
        return EXIT_TROUBLE;
    }
    if (explain_case(argv[0], &err)) {
        term_error("explain: %s", err.msg);
        status = EXIT_TROUBLE;
    }
    worker_stop_all();
    input_release_all();
    return status;
}

static struct option_row options[] = {
    { "at", 0, OPT_STRING, "ROW,COL", "the element of the input matrix (philox: row and word; swizzle: of the scales)", NULL,
      &opt.at },
    { "transposed", 0, OPT_FLAG, NULL, "follow it into the transposed output", NULL, &opt.transposed },
    BACKEND_OPTION(opt.select),
    DEVICE_OPTION(opt.select),
    TIMEOUT_OPTION(opt.select),
    { "dump", 'd', OPT_LIST, "FILE[:BACKEND]", "a dump that is put beside the reference", "file", &opt.dumps },
    { "json", 0, OPT_FLAG, NULL, "print as JSON", NULL, &opt.json },
    RS_MODEL_OPTION(opt.select, "file of the rs-model that the case names"),
    { "input", 0, OPT_LIST, "FILE[:TENSOR]", "safetensors file that the case names by digest", "file", &opt.select.inputs },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_explain = {
    .name = "explain",
    .summary = "the whole life of one element: every stage in hex and decimal, and what is near",
    .arguments = "CASE",
    .examples = "  fp4check explain --at 0,18 quantize/te/rn/1x16/f32/division/4x64/s0\n"
                "  fp4check explain --at 3,17 --backend soft quantize/te/sr/1x16/bf16/normal/64x128/s0\n"
                "  fp4check explain --at 3,17 --dump b200.json:sm100 quantize/te/sr/1x16/bf16/normal/64x128/s0\n"
                "  fp4check explain --at 5,2 --transposed quantize/te/rn/1x16/both/bf16/ties/32x64/s0\n",
    .notes =
        "The reference comes first; backends and dumps are put beside it with what they have. \"other rule\" lines name rules\n"
        "that others use and that would give this element another result.",
    .options = options,
    .run = explain_main,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "mutants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small cases, together sensitive to every mutant in several places: of the default suite, but for one of four-over-six-ties (64x192), the
 * nearest that shows the serial sum of a tile. */
static const char *const probes[] = {
    "cvt-rn/ptx/x2/f32/specials/60x4/s0",
    "cvt-rn/ptx/f32/exponents/64x4/s0",
    "cvt-rs/ptx/b300/f32/probes/47x4/s0",
    "cvt-rs/ptx/ptx-x/f32/probes/47x4/s0",
    "cvt-rs/ptx/b300/f32/specials/47x4/s0",
    "sr-bf16x4/te/b300/bf16/normal/64x4/s0",
    "sr-fp32x4/te/b300/f32/normal/64x4/s0",
    "sr-bf16x8/te/b300/coef-bf16/bf16/normal/64x8/s0",
    "quantize/te/rn/1x16/f32/double/32x64/s0",
    "quantize/te/rn/1x16/f32/reciprocal/16x64/s0",
    "quantize/te/rn/1x16/f32/amaxbf16/16x64/s0",
    "quantize/te/rn/1x16/bf16/ties-any/16x64/s0",
    "quantize/te/rn/1x16/bf16/scale-ties/16x64/s0",
    "quantize/te/rn/1x16/bf16/amaxlarge/16x64/s0",
    "quantize/te/rn/1x16/bf16/amaxstale/16x64/s0",
    "quantize/te/rn/1x16/bf16/amaxnan/16x64/s0",
    "quantize/te/rn/1x16/bf16/amax0/16x64/s0",
    "quantize/te/rn/1x16/bf16/inf/16x64/s0",
    "quantize/te/rn/1x16/bf16/negzero/16x64/s0",
    "quantize/te/rn/1x16/bf16/subnormal/16x64/s0",
    "quantize/te/rn/1x16/bf16/zeroblocks/16x64/s0",
    "quantize/te/rn/1x16/bf16/nan/16x64/s0",
    "quantize/te/rn/1x16/bf16/normal/17x34/s0",
    "quantize/te/rn/16x16/bf16/normal/17x34/s0",
    "quantize/te/rn/1x16/both/bf16/normal/18x34/s0",
    "quantize/te/rn/1x16/both/amax-row/bf16/zeroblocks/32x64/s0",
    "quantize/te/sr/1x16/bf16/normal/17x34/s0",
    "quantize/te/sr/1x16/f32/normal/17x34/s0",
    "quantize/te/sr/1x16/f32/nan/17x34/s0",
    "quantize/te/sr/1x16/f32/fractions/32x64/s0",
    "quantize/te/sr/1x16/both/f32/heavy/32x64/s0",
    "quantize/te/sr/1x16/bf16/midpoint/64x128/s0",
    "quantize/te-fast/rn/1x16/bf16/scale-ties/32x64/s0",
    "quantize/te-fast/rn/1x16/bf16/zeroblocks/32x64/s0",
    "quantize/te-ref/rn/1x16/bf16/naninf4/32x64/s0",
    "quantize/torchao/rn/1x16/bf16/nan/32x64/s0",
    "quantize/torchao/rn/1x16/bf16/naninf/32x64/s0",
    "rht-quantize/te/rn/bf16/rht-kat/64x16/s0",
    "rht-quantize/te/rn/bf16/rht-scale-ties/64x16/s0",
    "rht-quantize/te/rn/bf16/normal/64x16/s0",
    "rht-quantize/te/rn/bf16/rht-ties/64x16/s0",
    "rht-quantize/te-fast/rn/bf16/amax0/32x64/s0",
    "rht-quantize/te-fast/rn/bf16/inf/32x64/s0",
    "rht-quantize/te-fast/rn/bf16/naninf/32x64/s0",
    "rht-quantize/te-fast/rn/bf16/normal/32x64/s0",
    "rht-quantize/te-fast/rn/bf16/rht-kat/32x64/s0",
    "rht-quantize/te-fast/rn/bf16/rht-aligned/32x64/s0",
    "rht-quantize/fp4sm120/rn/bf16/amaxnan/32x64/s0",
    "rht-quantize/te-ref/rn/bf16/normal/32x64/s0",
    "rht-quantize/te/rn/both/kernel-rowcol/bf16/subnormal/32x64/s0",
    "rht-quantize/te/rn/both/kernel-rowcol/bf16/amaxnan/32x64/s0",
    "rht-quantize/te/rn/sum-seq/bf16/rht-kat/64x32/s0",
    "rht-quantize/te/rn/trip-bf16/bf16/rht-cut/64x32/s0",
    "rht-quantize/te/rn/both/kernel-unfused/bf16/heavy/32x64/s0",
    "rht-quantize/te/sr/bf16/normal/32x17/s0",
    "rht-quantize/te/sr/kernel-rowcol/bf16/normal/64x64/s0",
    "rht-quantize/te/sr/both/kernel-rowcol/bf16/normal/64x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/four-ties/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/four-scales/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/four-special/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/amax0/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/nan/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/naninf/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/negzero/16x64/s0",
    "four-over-six/torchao/mae/1x16/bf16/subnormal/16x64/s0",
    "four-over-six/torchao/mae/1x16/nan-propagate/bf16/nan/16x64/s0",
    "four-over-six/torchao/mae/1x16/amax-row/f16/four-worked/16x64/s0",
    "four-over-six/torchao/mse/1x16/f32/ao-denormal/32x32/s0",
    "four-over-six/torchao/mse/16x16/bf16/minilm-ffn-out/16x64/s0",
    "four-over-six/te/mse/1x16/both/bf16/four-ties/32x48/s0",
    "four-over-six/te/mae/16x16/bf16/four-worked/32x32/s0",
    "four-over-six/te/mae/16x16/bf16/four-ties/64x192/s1",
    "four-over-six/te-fast/mae/1x16/bound-448/f16/nan/32x32/s0",
    "four-over-six/te-fast/mse/1x16/bf16/ao-denormal/32x32/s0",
    "four-over-six/flashinfer/mae/1x16/amax-row/bf16/four-special/16x64/s0",
    "four-over-six/fouroversix/mse/1x16/bf16/four-ties/32x32/s0",
    "gemm/torchao/product/bf16/normal/16x16x64/s0",
    "gemm/te-ref/product/bf16/normal/16x16x64/s0",
    "gemm/torchao/product/amax-row/f32/heavy/16x24x64/s0",
    "gemm/torchao/product/f32/anybytes/16x24x64/s0",
    "dequantize/te/amax-row/f32/normal/32x64/s0",
    "dequantize/te/bf16/allcodes/16x256/s0",
    "dequantize/te/f32/globals/16x256/s1",
    "dequantize/te/f32/random/1x16/s0",
    "dequantize/te/swizzled/f32/random/1x16/s0",
    "dequantize/te/f32/anybytes/32x256/s0",
    "swizzle/te/e4m3/coords/129x5/s0",
    "swizzle/te/e4m3/poison/7x4/s0",
    "swizzle/te/unswizzle/e4m3/coords/144x3/s0",
    "philox/te/u32/kat/16x16/s0",
    "philox/te/u32/carry/16x16/s0",
    "philox/curand/u32/random/16x16/s0",
    "philox/curand/u32/carry/16x16/s0",
};
#define PROBES (sizeof probes / sizeof probes[0])

struct probe {
    struct fp4_case c;
    struct case_tensors t; /* inputs and the reference's outputs */
    struct dump_case view;
};

struct mutant_set {
    struct probe items[MUTANT_PROBES_MAX];
    size_t count;
};

/* ---- the set -------------------------------------------------------------------------------------------------------------------- */

static void forget_stages(struct case_tensors *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_STAGE)
            t->t[i].written = false;
}

static int probe_open(struct probe *p, const char *name, struct fp4_error *err)
{
    const struct backend_row *ref = backend_find("ref");

    if (case_parse(name, &p->c, err) || backend_run_case(ref, &p->c, &p->t, err))
        return fp4_fail_in(err, "self-test case '%s'", name);
    forget_stages(&p->t);
    return case_view(name, "ref", DUMP_OK, NULL, &p->t, &p->view, err);
}

struct mutant_set *mutant_set_open(struct fp4_error *err)
{
    struct mutant_set *s = calloc(1, sizeof *s);

    if (!s) {
        fp4_fail(err, FP4_EIO, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < PROBES; i++) {
        s->count++;
        if (probe_open(&s->items[i], probes[i], err)) {
            mutant_set_close(s);
            return NULL;
        }
    }
    return s;
}

void mutant_set_close(struct mutant_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        case_view_release(&s->items[i].view);
        case_release(&s->items[i].t);
    }
    free(s);
}

size_t mutant_set_count(const struct mutant_set *s)
{
    return s->count;
}

const char *mutant_set_case(const struct mutant_set *s, size_t i)
{
    (void)s;
    return probes[i];
}

bool mutant_is_one(const struct deviation *row)
{
    static const char *const usual[] = { "rule-trunc",
                                         "map-b300",
                                         "rounds-10",
                                         "stream-ktile-512",
                                         /* as 512 below 1024 tokens */ "stream-ktile-1024",
                                         "stream-ktile-2048" };

    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (strcmp(row->name, usual[i]) == 0)
            return false;
    return row->slot != SLOT_MODEL;
}

/* ---- the wrong backend -------------------------------------------------------------------------------------------------------------- */

static _Thread_local struct dialect dialect;

static int available(struct fp4_error *err)
{
    (void)err;
    return 0;
}

static int supports(const struct fp4_case *c, struct fp4_error *err)
{
    return case_check(c, err);
}

static int run(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return replay_case(&dialect, c, t, err);
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "the reference with faults put in");
}

static const struct backend_row wrong = {
    .name = "mutant", .help = "wrong on purpose", .available = available, .supports = supports, .run = run, .describe = describe
};

const struct backend_row *mutant_backend(const struct deviation *const *rows, size_t depth)
{
    memset(&dialect, 0, sizeof dialect);
    for (size_t i = 0; i < depth; i++)
        dialect.slot[rows[i]->slot] = rows[i]->value;
    return &wrong;
}

/* ---- one mutant ------------------------------------------------------------------------------------------------------------------------ */

static int keep_diagnosis(void *arg, const struct diff_summary *s, struct fp4_error *err)
{
    struct mutant_result *out = arg;

    (void)err;
    if (s->diagnosis)
        out->diagnosis = *s->diagnosis;
    return 0;
}

static int nothing_begins(void *arg, const struct diff_heading *h, struct fp4_error *err)
{
    (void)arg;
    (void)h;
    (void)err;
    return 0;
}

static int nothing_comes(void *arg, const struct case_diff *d, struct fp4_error *err)
{
    (void)arg;
    (void)d;
    (void)err;
    return 0;
}

static bool applies(const struct deviation *const *rows, size_t depth, enum fp4_op op)
{
    for (size_t i = 0; i < depth; i++)
        if (!(rows[i]->ops >> op & 1u))
            return false;
    return true;
}

/* The mutant's outputs of one case into the comparison; *mark says what came of it. */
static int run_probe(struct diff_run *run_, const struct probe *p, struct mutant_result *out, char *mark, struct fp4_error *err)
{
    size_t before = run_->summary.verdicts[VERDICT_EQUAL];
    struct case_tensors t = p->t; /* the inputs are shared */
    struct fp4_error failure = { 0 };
    struct dump_case view = { 0 };
    int status;

    for (size_t i = 0; i < t.count; i++)
        if (t.t[i].role != TENSOR_INPUT)
            t.t[i].data = NULL;
    bool ok = backend_run_prepared(&wrong, &p->c, &t, &failure) == 0;
    if (!ok && !out->error[0])
        snprintf(out->error, sizeof out->error, "%.150s", failure.msg);
    status = case_view(p->view.name, "mutant", ok ? DUMP_OK : DUMP_ERROR, ok ? NULL : failure.msg, &t, &view, err);
    if (status == 0) {
        const struct diff_side a = { "ref", "here", "ref", &p->view, &p->view.results[0] },
                               b = { "mutant", "here", "mutant", &view, &view.results[0] };
        status = diff_run_case(run_, &a, &b, err);
        case_view_release(&view);
    }
    *mark = !ok ? PROBE_ERROR : run_->summary.verdicts[VERDICT_EQUAL] > before ? PROBE_EQUAL : PROBE_DIFFERS;
    for (size_t i = 0; i < t.count; i++)
        if (t.t[i].role != TENSOR_INPUT)
            free(t.t[i].data);
    return status;
}

static bool same_fault(const struct deviation *row, const struct deviation *named)
{
    size_t n = strlen(named->name);

    if (row == named)
        return true;
    for (const char *at = row->also; (at = strstr(at, named->name)); at += n)
        if ((at == row->also || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
            return true;
    return false;
}

static void judge(struct mutant_result *out)
{
    const struct diagnosis_finding *f = &out->diagnosis.findings[0];

    if (!out->diagnosis.count) /* the run itself has said so */
        out->right = out->error[0] && out->depth == 1 && out->rows[0]->slot == SLOT_WRITE;
    else if (f->depth == out->depth) {
        out->right = true;
        for (size_t i = 0; i < out->depth; i++)
            out->right &= same_fault(out->rows[i], f->stack[i]);
    }
    for (size_t i = 0; !out->right && out->depth == 1 && i < f->same_count; i++)
        out->joint |= f->depth && same_fault(out->rows[0], f->same[i]);
}

int mutant_run(struct mutant_set *s, const struct deviation *const *rows, size_t depth, struct mutant_result *out,
               struct fp4_error *err)
{
    struct diff_policy policy = diff_policy_default;
    const struct diff_heading heading = { .a = { .label = "ref", .path = "here", .backend = "ref", .complete = true },
                                          .b = { .label = "mutant", .path = "here", .backend = "mutant", .complete = true } };
    const struct diff_sink sink = { nothing_begins, nothing_comes, keep_diagnosis, out };
    struct diff_run *r = calloc(1, sizeof *r);
    int status = -1;

    *out = (struct mutant_result){ .depth = depth };
    policy.max_cases = 0;
    for (size_t i = 0; i < depth; i++)
        out->rows[i] = rows[i];
    if (depth == 2 && rows[0]->slot > rows[1]->slot) {
        out->rows[0] = rows[1];
        out->rows[1] = rows[0];
    }
    if (!r)
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (diff_run_begin(r, &heading, &policy, &sink, err) == 0) {
        status = 0;
        mutant_backend(rows, depth);
        for (size_t i = 0; i < s->count && status == 0; i++) {
            out->probes[i] = PROBE_NONE;
            if (!applies(rows, depth, s->items[i].c.op))
                continue;
            out->applied++;
            status = run_probe(r, &s->items[i], out, &out->probes[i], err);
            out->killed += out->probes[i] == PROBE_DIFFERS || out->probes[i] == PROBE_ERROR;
        }
        if (status == 0)
            status = diff_run_end(r, err);
        diff_run_release(r);
    }
    free(r);
    judge(out);
    return status;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------------------------------ */

const char *const mutant_pairs[][MUTANT_STACK] = {
    { "nibbles-exchanged", "rule-half" },
    { "nibbles-exchanged", "scale-toward-zero" },
    { "nibbles-exchanged", "ties-away" },
    { "nibbles-exchanged", "random-ignored" },
    { "bytes-exchanged", "byte-shared" },
    { "bytes-exchanged", "map-straight" },
    { "fours-reversed", "map-reverse" },
    { "fours-reversed", "counter-exchanged" },
    { "fours-reversed", "scale-ties-down" },
    { "half-blocks-exchanged", "rounds-7" },
    { "halves-of-8-exchanged", "scale-up" },
    { "scales-column-major", "scale-up" },
    { "scales-column-major", "ties-to-zero" },
    { "scales-column-major", "nibbles-exchanged" },
    { "tie-to-map-4", "nibbles-exchanged" },
    { "scale-up", "worse-candidate" },
    { "scale-toward-zero", "ties-away" },
    { "scale-toward-zero", "rounding-signed" },
    { "bound-256", "scale-up" },
    { "bound-256", "rule-half" },
    { "metric-exchanged", "fours-reversed" },
    { "global-448", "nibbles-exchanged" },
    { "amax-signed", "scale-toward-zero" },
    { "amax-signed", "fours-reversed" },
    { "block-of-32", "ties-away" },
    { "block-of-32", "random-ignored" },
    { "block-amax-signed", "nibbles-exchanged" },
    { "input-f16", "nibbles-exchanged" },
    { "signs-left-out", "nibbles-exchanged" },
    { "signs-left-out", "scale-up" },
    { "signs-reversed", "truncated" },
    { "sequency-order", "scale-toward-zero" },
    { "transform-left-out", "fours-reversed" },
    { "groups-shifted", "ties-away" },
    { "amax-before-transform", "truncated" },
    { "factor-left-out", "nibbles-exchanged" },
    { "rounds-7", "map-straight" },
    { "multipliers-exchanged", "rounding-signed" },
    { "seed-bit-0", "rule-half-old" },
    { "scale-not-requantized", "bytes-exchanged" },
};
const size_t mutant_pair_count = sizeof mutant_pairs / sizeof mutant_pairs[0];

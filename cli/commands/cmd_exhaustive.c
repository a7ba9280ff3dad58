/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4check exhaustive: every input there is. A GPU backend's conversions, or the reference's arithmetic, against the second formulation of
 * reference/fp4second.h.
 *
 * The work is a list of sweeps (one rule, one byte map, ...), each over up to 2^32 inputs in chunks of a fraction of a second, so that
 * progress, Ctrl-C and the state file come between two of them.
 */
#include "commands.h"
#include "fp4divide.h"
#include "fp4second.h"
#include "select.h"
#include "term.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef FP4_HAVE_CUDA
#include "fp4kernels.h"
#endif

#define ALL_INPUTS ((uint64_t)1 << 32)
#define SWEEPS_MAX 32
#define SHOWN 4 /* differences printed a sweep */
#define CHUNK_SECONDS 0.3
#define STATE_SECONDS 3.0

static struct {
    const char *backend, *device, *model, *rule, *stride, *part, *at, *state, *resume, *jobs;
} opt = { .backend = "soft" };

struct sweep {
    char name[48];
    enum fp4x_sweep kind;
    struct fp4_rs_model model;
    unsigned weight; /* about how long an input takes, for the time left */
    uint64_t done, differ;
    size_t listed;
    struct fp4x_difference list[SHOWN];
};

struct work {
    const char *what;
    enum { ON_REF, ON_SOFT, ON_SM120, ON_SM100 } backend;
    uint64_t begin, end; /* numbers of inputs; input = number * stride */
    uint32_t stride;
    size_t threads;
    struct sweep sweeps[SWEEPS_MAX];
    size_t count;
    char signature[240]; /* what a state file must agree with */
    void *device_result;
};

static const char *const backend_names[] = { "ref", "soft", "sm120", "sm100", NULL };
static const char *const what_names[] = { "cvt-rn", "cvt-rs", "e4m3", "divide", NULL };
static const char *const rule_names[] = { "trunc", "half", "half-old", "fma-floor", "hash32", NULL };
static const char *const map_names[] = { "b300", "ptx-x", "ptx-y", "straight", "reverse", NULL };

/* ---- the reference on the CPU --------------------------------------------------------------------------------------------------------------- */

static void note_difference(struct fp4x_result *out, uint32_t input, uint32_t random, uint32_t got, uint32_t wanted)
{
    out->differ++;
    if (out->listed < FP4X_LISTED)
        out->list[out->listed++] = (struct fp4x_difference){ input, random, got, wanted };
}

static void ref_bytes(const struct sweep *s, uint32_t input, struct fp4x_result *out)
{
    uint32_t down, r, first = fp4x_first_up((int)s->model.rule, input, &down);
    float x = fp4a_float(input);

    for (r = 0; r < 256; r++) {
        uint32_t got = fp4a_rs_byte_rule((int)s->model.rule, x, r), want = down + (r >= first);

        if (got != want) {
            note_difference(out, input, r * 0x01010101u, got * 0x1111u, want * 0x1111u);
            return;
        }
    }
}

static void ref_hash(uint32_t input, struct fp4x_result *out)
{
    uint32_t down, lane, k, threshold = fp4x_hash_threshold(input, &down);
    uint32_t hash[4] = { threshold - 1, threshold, 0, 0xFFFFFFFFu };

    for (lane = 0; lane < 4; lane++) {
        for (k = 0; k < 4; k++) {
            uint32_t word = fp4x_hash_inverse(hash[k], lane);
            uint32_t got = fp4a_rs_hash32(input, word, lane), want = down + (hash[k] < threshold);

            if (got != want) {
                note_difference(out, input, word, got << 4 * lane, want << 4 * lane);
                return;
            }
        }
    }
}

static void ref_map(const struct sweep *s, uint32_t word, struct fp4x_result *out)
{
    uint32_t k, up = 0, down = 0;

    for (k = 0; k < 4; k++) {
        uint32_t r = fp4x_map_byte((int)s->model.map, word, k), byte = fp4a_map_byte((int)s->model.map, word, k);

        up |= fp4a_rs_byte_rule((int)s->model.rule, fp4a_float(fp4x_telling_value(r, k)), byte) << 4 * k;
        down |= fp4a_rs_byte_rule((int)s->model.rule, fp4a_float(fp4x_telling_value(r + 1, k)), byte) << 4 * k;
    }
    if (up != FP4X_TOLD_UP)
        note_difference(out, word, word, up, FP4X_TOLD_UP);
    else if (down != FP4X_TOLD_DOWN)
        note_difference(out, word, word, down, FP4X_TOLD_DOWN);
}

static void ref_divide(const struct sweep *s, uint32_t input, struct fp4x_result *out)
{
    uint32_t divisor = fp4x_divisor(s->kind), want = fp4x_divide(input, divisor);
    float v = fp4a_float(input), d = (float)divisor;
    uint32_t got = fp4a_bits(fp4a_canonical(fp4a_divide_by(v, d, fp4a_reciprocal_of(divisor))));

    if (got == want)
        got = fp4a_bits(fp4a_canonical(fp4a_div(v, d)));
    if (got != want)
        note_difference(out, input, 0, got, want);
}

static void ref_input(const struct sweep *s, uint32_t input, struct fp4x_result *out)
{
    uint32_t got, want;

    if (s->kind == FP4X_RS_MAP) {
        ref_map(s, input, out);
    } else if (s->kind == FP4X_RS_BYTES) {
        if (s->model.rule == FP4_RS_HASH32)
            ref_hash(input, out);
        else
            ref_bytes(s, input, out);
    } else if (s->kind != FP4X_CVT_RN && s->kind != FP4X_E4M3) {
        ref_divide(s, input, out);
    } else {
        got = s->kind == FP4X_E4M3 ? fp4a_to_e4m3(fp4a_float(input)) : fp4a_to_e2m1(fp4a_float(input));
        want = s->kind == FP4X_E4M3 ? fp4x_to_e4m3(input) : fp4x_to_e2m1(input);
        if (got != want)
            note_difference(out, input, 0, got, want);
    }
}

struct ref_part {
    const struct sweep *sweep;
    uint64_t first, count;
    uint32_t stride;
    struct fp4x_result result;
};

static void *ref_worker(void *argument)
{
    struct ref_part *p = argument;
    uint64_t i;

    for (i = p->first; i < p->first + p->count; i++)
        ref_input(p->sweep, (uint32_t)(i * p->stride), &p->result);
    return NULL;
}

static int ref_chunk(const struct work *w, const struct sweep *s, uint64_t first, uint64_t count, struct fp4x_result *out,
                     struct fp4_error *err)
{
    struct ref_part parts[64];
    pthread_t threads[64];
    size_t n = w->threads, i, started = 0, k;

    memset(out, 0, sizeof *out);
    for (i = 0; i < n; i++) {
        uint64_t from = count * i / n, to = count * (i + 1) / n;

        memset(&parts[i], 0, sizeof parts[i]);
        parts[i].sweep = s;
        parts[i].first = first + from;
        parts[i].count = to - from;
        parts[i].stride = w->stride;
    }
    while (started < n && pthread_create(&threads[started], NULL, ref_worker, &parts[started]) == 0)
        started++;
    for (i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (started < n)
        return fp4_fail(err, FP4_EIO, "cannot start a thread");
    for (i = 0; i < n; i++) {
        out->differ += parts[i].result.differ;
        for (k = 0; k < parts[i].result.listed && out->listed < FP4X_LISTED; k++)
            out->list[out->listed++] = parts[i].result.list[k];
    }
    return 0;
}

/* ---- a GPU backend --------------------------------------------------------------------------------------------------------------------------- */

#ifdef FP4_HAVE_CUDA
static int gpu_fail(struct fp4_error *err, int error, const char *what)
{
    return fp4_fail(err, FP4_EIO, "CUDA: %s: %s", what, fp4k_error_text(error));
}

static enum fp4k_isa isa_of(const struct work *w)
{
    return w->backend == ON_SM100 ? FP4K_SM100 : w->backend == ON_SM120 ? FP4K_SM120 : FP4K_SOFT;
}

static int gpu_open(struct work *w, struct fp4_error *err)
{
    struct fp4k_device d;
    uint64_t device = 0;
    char reason[200];
    int count = fp4k_device_count(reason, sizeof reason), error;

    if (count == 0)
        return fp4_fail(err, FP4_ESUPPORT, "backend '%s' cannot run here: %s", backend_names[w->backend], reason);
    if (opt.device && (u64_from_text(opt.device, &device) || device >= (uint64_t)count))
        return fp4_fail(err, FP4_EUSAGE, "--device is a number from 0 to %d here, not '%s'", count - 1, opt.device);
    error = fp4k_device_info((int)device, &d);
    if (!error)
        error = fp4k_device_select((int)device);
    if (error)
        return gpu_fail(err, error, "device");
    if (fp4k_supports(isa_of(w), d.major, d.minor, reason, sizeof reason))
        return fp4_fail(err, FP4_ESUPPORT, "backend '%s' cannot run on %s: %s", backend_names[w->backend], d.name, reason);
    error = fp4k_malloc(&w->device_result, sizeof(struct fp4x_result));
    if (error)
        return gpu_fail(err, error, "memory");
    term_note("%s, compute capability %d.%d, %d multiprocessors", d.name, d.major, d.minor, d.sm_count);
    return 0;
}

static void gpu_close(struct work *w)
{
    if (w->device_result)
        fp4k_free(w->device_result);
}

static int gpu_chunk(const struct work *w, const struct sweep *s, uint64_t first, uint64_t count, struct fp4x_result *out,
                     struct fp4_error *err)
{
    int error = fp4k_fill(w->device_result, 0, sizeof *out);

    if (!error)
        error = fp4k_exhaustive(isa_of(w), s->kind, s->model, first, count, w->stride, w->device_result, NULL);
    if (error)
        return gpu_fail(err, error, "launch");
    error = fp4k_synchronize();
    if (error)
        return gpu_fail(err, error, s->name);
    error = fp4k_download(out, w->device_result, sizeof *out);
    return error ? gpu_fail(err, error, "copy from the device") : 0;
}
#else
static int gpu_open(struct work *w, struct fp4_error *err)
{
    return fp4_fail(err, FP4_ESUPPORT,
                    "backend '%s' is not in this build: it has no CUDA kernels (nvcc was not there, or CUDA=0); "
                    "--backend ref runs on the CPU",
                    backend_names[w->backend]);
}

static void gpu_close(struct work *w)
{
    (void)w;
}

static int gpu_chunk(const struct work *w, const struct sweep *s, uint64_t first, uint64_t count, struct fp4x_result *out,
                     struct fp4_error *err)
{
    (void)w;
    (void)s;
    (void)first;
    (void)count;
    (void)out;
    return fp4_fail(err, FP4_ESUPPORT, "no CUDA kernels");
}
#endif

/* ---- chunks ------------------------------------------------------------------------------------------------------------------------------------ */

static int chunk(const struct work *w, const struct sweep *s, uint64_t first, uint64_t count, struct fp4x_result *out,
                 struct fp4_error *err)
{
    if (w->backend == ON_REF)
        return ref_chunk(w, s, first, count, out, err);
    return gpu_chunk(w, s, first, count, out, err);
}

static int by_input(const void *a, const void *b)
{
    const struct fp4x_difference *p = a, *q = b;

    return p->input < q->input ? -1 : p->input > q->input;
}

/* The first differences in the order of the inputs: a GPU lists them as they come, so a chunk with more than it can list is halved. */
static int list_first(const struct work *w, struct sweep *s, uint64_t first, uint64_t count, struct fp4_error *err)
{
    struct fp4x_result r;
    uint64_t step = count, at = first;
    size_t i;

    while (s->listed < SHOWN && at < first + count && !term_interrupted) {
        if (step > first + count - at)
            step = first + count - at;
        if (chunk(w, s, at, step, &r, err))
            return -1;
        if (r.differ > FP4X_LISTED && step > 1) {
            step = (step + 1) / 2;
            continue;
        }
        if (r.listed > FP4X_LISTED)
            r.listed = FP4X_LISTED;
        qsort(r.list, r.listed, sizeof r.list[0], by_input);
        for (i = 0; i < r.listed && s->listed < SHOWN; i++)
            s->list[s->listed++] = r.list[i];
        at += step;
        step *= 2;
    }
    return 0;
}

/* ---- state ---------------------------------------------------------------------------------------------------------------------------------------- */

static int state_write(const struct work *w, const char *path, struct fp4_error *err)
{
    char partial[4096];
    FILE *out;
    size_t i, k;
    bool bad;

    if ((size_t)snprintf(partial, sizeof partial, "%s.partial", path) >= sizeof partial)
        return fp4_fail(err, FP4_EUSAGE, "the name of the state file is too long");
    out = fopen(partial, "w");
    if (!out)
        return fp4_fail(err, FP4_EIO, "cannot write '%s': %s", partial, strerror(errno));
    fprintf(out, "fp4check-exhaustive 1 %s\n", w->signature);
    for (i = 0; i < w->count; i++) {
        const struct sweep *s = &w->sweeps[i];

        fprintf(out, "%s %" PRIu64 " %" PRIu64 " %zu", s->name, s->done, s->differ, s->listed);
        for (k = 0; k < s->listed; k++)
            fprintf(out, " %08" PRIx32 " %08" PRIx32 " %" PRIx32 " %" PRIx32, s->list[k].input, s->list[k].random, s->list[k].got,
                    s->list[k].wanted);
        fputc('\n', out);
    }
    bad = fflush(out) || fsync(fileno(out));
    bad = fclose(out) || bad;
    if (bad || rename(partial, path)) {
        fp4_fail(err, FP4_EIO, "cannot write '%s': %s", path, strerror(errno));
        unlink(partial);
        return -1;
    }
    return 0;
}

/* One line of a state file; false when it is not that sweep's. */
static bool state_sweep(struct sweep *s, uint64_t total, char *line)
{
    char *at = line, *end;
    size_t n = strlen(s->name), k;
    uint64_t v[3];
    uint32_t d[4];

    if (strncmp(line, s->name, n) || line[n] != ' ')
        return false;
    at += n;
    for (k = 0; k < 3; k++, at = end) {
        v[k] = strtoull(at, &end, 10);
        if (end == at)
            return false;
    }
    if (v[0] > total || v[1] > v[0] || v[2] > SHOWN || v[2] > v[1])
        return false;
    s->done = v[0];
    s->differ = v[1];
    s->listed = 0;
    while (s->listed < v[2]) {
        for (k = 0; k < 4; k++, at = end) {
            d[k] = (uint32_t)strtoull(at, &end, 16);
            if (end == at)
                return false;
        }
        s->list[s->listed++] = (struct fp4x_difference){ d[0], d[1], d[2], d[3] };
    }
    return *at == '\n';
}

static int state_read(struct work *w, const char *path, struct fp4_error *err)
{
    char line[1024], first[320];
    FILE *in = fopen(path, "r");
    int status = 0;
    size_t i;

    if (!in)
        return fp4_fail(err, FP4_EIO, "cannot open '%s': %s", path, strerror(errno));
    snprintf(first, sizeof first, "fp4check-exhaustive 1 %s\n", w->signature);
    if (!fgets(line, sizeof line, in) || strncmp(line, "fp4check-exhaustive ", 20)) {
        status = fp4_fail(err, FP4_EFORMAT, "'%s' is no state file of this command", path);
    } else if (strcmp(line, first)) {
        line[strcspn(line, "\n")] = '\0';
        status =
            fp4_fail(err, FP4_EFORMAT, "'%s' is the state of other work: '%.100s', not '%.100s'", path, line + 22, w->signature);
    }
    for (i = 0; status == 0 && i < w->count; i++)
        if (!fgets(line, sizeof line, in) || !state_sweep(&w->sweeps[i], w->end - w->begin, line))
            status = fp4_fail(err, FP4_EFORMAT, "%s: line %zu: not a line about '%s'", path, i + 2, w->sweeps[i].name);
    fclose(in);
    return status;
}

/* ---- what to do ------------------------------------------------------------------------------------------------------------------------------------- */

static int word_index(const char *option, const char *word, const char *const *words, struct fp4_error *err)
{
    const char *near = closest_word(word, words);
    struct text all = { NULL, 0, 0, false };
    int i;

    for (i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    for (i = 0; words[i]; i++)
        text_printf(&all, "%s%s", i ? ", " : "", words[i]);
    fp4_fail(err, FP4_EUSAGE, "%s '%s' does not exist%s%s%s%s", option, word, near ? "; did you mean '" : "; there are ",
             near       ? near
             : all.data ? all.data
                        : "",
             near ? "'" : "", near ? "?" : "");
    text_release(&all);
    return -1;
}

static struct sweep *sweep_add(struct work *w, enum fp4x_sweep kind, enum fp4_rs_rule rule, enum fp4_byte_map map, unsigned weight)
{
    struct sweep *s = &w->sweeps[w->count++];

    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->model.rule = rule;
    s->model.map = map;
    s->weight = weight;
    if (kind == FP4X_RS_BYTES)
        snprintf(s->name, sizeof s->name, "cvt-rs/%s", w->backend == ON_SM100 ? "native" : rule_names[rule]);
    else if (kind == FP4X_RS_MAP)
        snprintf(s->name, sizeof s->name, "cvt-rs/%s+%s", w->backend == ON_SM100 ? "native" : rule_names[rule], map_names[map]);
    else if (kind == FP4X_CVT_RN || kind == FP4X_E4M3)
        snprintf(s->name, sizeof s->name, "%s", w->what);
    else
        snprintf(s->name, sizeof s->name, "%s/%u", w->what, (unsigned)fp4x_divisor(kind));
    return s;
}

/* Rules and maps are apart: every rule with every float and byte, then for each rule every map with every word. */
static int plan_rs(struct work *w, struct fp4_error *err)
{
    static const unsigned weights[] = { 60, 90, 90, 110, 60 };
    int rule, map, only_rule = -1, only_map = -1;
    size_t i;

    if (opt.rule && (only_rule = word_index("--rule", opt.rule, rule_names, err)) < 0)
        return -1;
    if (opt.model || w->backend == ON_SM100) {
        const char *name = opt.model ? opt.model : "b300";

        for (i = 0; i < fp4_rs_model_count && strcmp(fp4_rs_models[i].name, name); i++)
            ;
        if (i == fp4_rs_model_count)
            return fp4_fail(err, FP4_EUSAGE, "--rs-model '%s' does not exist; `fp4check list rs-models` has them", name);
        if (opt.rule && only_rule != (int)fp4_rs_models[i].model.rule)
            return fp4_fail(err, FP4_EUSAGE, "rs-model '%s' has rule %s; leave --rule out", name,
                            rule_names[fp4_rs_models[i].model.rule]);
        only_rule = (int)fp4_rs_models[i].model.rule;
        only_map = (int)fp4_rs_models[i].model.map;
        if (w->backend == ON_SM100 && only_rule != FP4_RS_TRUNC)
            return fp4_fail(err, FP4_EUSAGE, "the instruction of sm100 is held against an rs-model of rule trunc, not '%s'", name);
    }
    for (rule = 0; rule < FP4_RS_RULE_COUNT; rule++)
        if (only_rule < 0 || rule == only_rule)
            sweep_add(w, FP4X_RS_BYTES, (enum fp4_rs_rule)rule, only_map < 0 ? FP4_MAP_STRAIGHT : (enum fp4_byte_map)only_map,
                      weights[rule]);
    for (rule = 0; rule < FP4_RS_HASH32; rule++)
        for (map = 0; map < FP4_MAP_COUNT; map++)
            if ((only_rule < 0 || rule == only_rule) && (only_map < 0 || map == only_map))
                sweep_add(w, FP4X_RS_MAP, (enum fp4_rs_rule)rule, (enum fp4_byte_map)map, 1);
    return 0;
}

static int plan_range(struct work *w, struct fp4_error *err)
{
    uint64_t stride = 1, part = 1, parts = 1, total, at;
    char *end;

    if (opt.stride && (u64_from_text(opt.stride, &stride) || stride < 1 || stride > 0xFFFFFFFFu))
        return fp4_fail(err, FP4_EUSAGE, "--stride is a number from 1 on, not '%s'", opt.stride);
    if (opt.part) {
        part = strtoull(opt.part, &end, 10);
        if (end == opt.part || *end != '/' || u64_from_text(end + 1, &parts) || part < 1 || part > parts || parts > 65536)
            return fp4_fail(err, FP4_EUSAGE, "--part is I/N with 1 <= I <= N, not '%s'", opt.part);
    }
    total = (ALL_INPUTS + stride - 1) / stride;
    w->stride = (uint32_t)stride;
    w->begin = total * (part - 1) / parts;
    w->end = total * part / parts;
    if (opt.at) {
        at = strtoull(opt.at, &end, 16);
        if (end == opt.at || *end || at >= ALL_INPUTS || opt.stride || opt.part)
            return fp4_fail(err, FP4_EUSAGE, "--at is the bits of one input in hex, without --stride and --part; not '%s'", opt.at);
        w->begin = at;
        w->end = at + 1;
    }
    return 0;
}

static int plan(struct work *w, int argc, char **argv, struct fp4_error *err)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t jobs = cores < 1 ? 1 : cores > 64 ? 64 : (uint64_t)cores;
    int what, backend;

    if (argc != 1)
        return fp4_fail(err, FP4_EUSAGE, "say what: cvt-rn, cvt-rs, e4m3 or divide");
    if ((what = word_index("conversion", argv[0], what_names, err)) < 0 ||
        (backend = word_index("--backend", opt.backend, backend_names, err)) < 0)
        return -1;
    w->what = what_names[what];
    w->backend = backend;
    if (what != 1 && (opt.model || opt.rule))
        return fp4_fail(err, FP4_EUSAGE, "--rs-model and --rule are for cvt-rs");
    if (opt.jobs && (u64_from_text(opt.jobs, &jobs) || jobs < 1 || jobs > 64))
        return fp4_fail(err, FP4_EUSAGE, "--jobs is a number from 1 to 64, not '%s'", opt.jobs);
    w->threads = (size_t)jobs;
    if (plan_range(w, err))
        return -1;
    snprintf(w->signature, sizeof w->signature, "%s %s stride=%" PRIu32 " inputs=%" PRIu64 "..%" PRIu64 " rs-model=%s rule=%s",
             w->what, opt.backend, w->stride, w->begin, w->end, opt.model ? opt.model : "-", opt.rule ? opt.rule : "-");
    if (what == 1)
        return plan_rs(w, err);
    if (what == 3) {
        sweep_add(w, FP4X_DIVIDE_6, FP4_RS_TRUNC, FP4_MAP_STRAIGHT, 1);
        sweep_add(w, FP4X_DIVIDE_1536, FP4_RS_TRUNC, FP4_MAP_STRAIGHT, 1);
        sweep_add(w, FP4X_DIVIDE_2688, FP4_RS_TRUNC, FP4_MAP_STRAIGHT, 1);
        return 0;
    }
    sweep_add(w, what == 0 ? FP4X_CVT_RN : FP4X_E4M3, FP4_RS_TRUNC, FP4_MAP_STRAIGHT, 1);
    return 0;
}

/* ---- run ------------------------------------------------------------------------------------------------------------------------------------------------ */

struct pace {
    struct progress progress;
    uint64_t finished; /* of the progress's total */
    uint64_t next;     /* inputs of the next chunk */
    double saved;
};

static const char *inputs_word(const struct sweep *s)
{
    return s->kind == FP4X_RS_MAP ? "random words" : "floats";
}

static int run_sweep(struct work *w, struct sweep *s, struct pace *pace, const char *state, struct fp4_error *err)
{
    uint64_t total = w->end - w->begin, from = s->done;
    double start = term_seconds();

    pace->next = (uint64_t)1 << (w->backend == ON_REF ? 12 : 18);
    while (s->done < total && !term_interrupted) {
        uint64_t count = pace->next < total - s->done ? pace->next : total - s->done;
        double before = term_seconds(), took;
        struct fp4x_result r;

        if (chunk(w, s, w->begin + s->done, count, &r, err))
            return -1;
        took = term_seconds() - before;
        if (r.differ && s->listed < SHOWN && list_first(w, s, w->begin + s->done, count, err))
            return -1;
        s->differ += r.differ;
        s->done += count;
        pace->finished += count * s->weight;
        if (took < CHUNK_SECONDS / 2 && pace->next < (uint64_t)1 << 28)
            pace->next *= 2;
        else if (took > CHUNK_SECONDS * 2 && pace->next > 1024)
            pace->next /= 2;
        progress_step(&pace->progress, (size_t)(pace->finished >> 20), s->name);
        if (state && (term_seconds() - pace->saved > STATE_SECONDS || s->done == total)) {
            if (state_write(w, state, err))
                return -1;
            pace->saved = term_seconds();
        }
    }
    if (s->done > from)
        term_note("%s: %.2f s, %.3g %s/s", s->name, term_seconds() - start,
                  (double)(s->done - from) / (term_seconds() - start + 1e-9), inputs_word(s));
    return 0;
}

/* What every input of the sweep goes with. */
static const char *with_word(const struct work *w, const struct sweep *s)
{
    if (s->kind == FP4X_RS_MAP)
        return " with the values that tell their bytes";
    if (s->kind != FP4X_RS_BYTES)
        return "";
    if (s->model.rule == FP4_RS_HASH32)
        return " x 4 words x 4 nibbles";
    return w->backend == ON_REF ? " x 256 bytes" : " x 256 bytes x 4 nibbles";
}

static void print_sweep(const struct work *w, const struct sweep *s)
{
    size_t i;

    printf("%s%-24s %10" PRIu64 " %s%s, %" PRIu64 " differ%s\n", term_on(stdout, s->differ ? STYLE_BAD : STYLE_NONE), s->name,
           s->done, inputs_word(s), with_word(w, s), s->differ, term_off(stdout));
    for (i = 0; i < s->listed; i++) {
        const struct fp4x_difference *d = &s->list[i];

        printf("    input %08" PRIx32, d->input);
        if (s->kind != FP4X_RS_MAP)
            printf(" (%.9g)", (double)fp4a_float(d->input));
        if (s->kind == FP4X_RS_BYTES)
            printf(", random word %08" PRIx32, d->random);
        printf(": got %" PRIx32 ", not %" PRIx32 "\n", d->got, d->wanted);
        printf("    again: fp4check exhaustive %s --backend %s", w->what, backend_names[w->backend]);
        if (opt.model)
            printf(" --rs-model %s", opt.model);
        else if (s->kind >= FP4X_RS_BYTES && w->backend != ON_SM100)
            printf(" --rule %s", rule_names[s->model.rule]);
        printf(" --at %08" PRIx32 "\n", d->input);
    }
}

static int run_all(struct work *w, const char *state, struct fp4_error *err)
{
    struct pace pace;
    uint64_t total = 0, left = 0;
    size_t i;
    int status = 0;

    memset(&pace, 0, sizeof pace);
    pace.saved = term_seconds();
    for (i = 0; i < w->count; i++) {
        total += (w->end - w->begin) * w->sweeps[i].weight;
        left += (w->end - w->begin - w->sweeps[i].done) * w->sweeps[i].weight;
    }
    if (left < total)
        term_note("%.1f %% are done already", 100.0 * (double)(total - left) / (double)total);
    progress_start(&pace.progress, "work units", (size_t)(left >> 20));
    for (i = 0; i < w->count && status == 0 && !term_interrupted; i++)
        status = run_sweep(w, &w->sweeps[i], &pace, state, err);
    progress_end(&pace.progress);
    if (term_interrupted && status == 0) {
        if (state && state_write(w, state, err))
            return -1;
        for (i = 0; i < w->count && w->sweeps[i].done == w->end - w->begin; i++)
            ;
        if (i == w->count)
            return 0;
        return state ? fp4_fail(err, FP4_EIO, "interrupted in '%s'; go on with --resume %s", w->sweeps[i].name, state)
                     : fp4_fail(err, FP4_EIO, "interrupted in '%s'; with --state FILE it could go on", w->sweeps[i].name);
    }
    return status;
}

static int exhaustive_main(int argc, char **argv)
{
    struct work *w = calloc(1, sizeof *w);
    const char *state = opt.resume ? opt.resume : opt.state;
    struct fp4_error err;
    uint64_t differ = 0;
    size_t i;
    int status = -1;

    if (!w) {
        term_error("exhaustive: out of memory");
        return EXIT_TROUBLE;
    }
    if (opt.resume && opt.state)
        fp4_fail(&err, FP4_EUSAGE, "--resume FILE goes on writing FILE; leave --state out");
    else if (plan(w, argc, argv, &err) == 0 && (!opt.resume || state_read(w, opt.resume, &err) == 0) &&
             (w->backend == ON_REF || gpu_open(w, &err) == 0)) {
        term_catch_interrupts();
        status = run_all(w, state, &err);
        for (i = 0; i < w->count; i++)
            if (w->sweeps[i].done)
                print_sweep(w, &w->sweeps[i]);
    }
    for (i = 0; i < w->count; i++)
        differ += w->sweeps[i].differ;
    if (status)
        term_error("exhaustive: %s", err.msg);
    gpu_close(w);
    free(w);
    return status ? EXIT_TROUBLE : differ ? EXIT_DIFFERS : EXIT_PASS;
}

static struct option_row options[] = {
    { "backend", 'b', OPT_STRING, "NAME", "soft (default), sm120, sm100, or ref: the arithmetic on the CPU", "soft sm120 sm100 ref",
      &opt.backend },
    { "device", 0, OPT_STRING, "N", "the GPU (default 0)", NULL, &opt.device },
    { "rs-model", 0, OPT_STRING, "NAME", "cvt-rs: only the rule and the byte map of this model; sm100: the model expected (b300)",
      NULL, &opt.model },
    { "rule", 0, OPT_STRING, "NAME", "cvt-rs: only this rule", "trunc half half-old fma-floor hash32", &opt.rule },
    { "stride", 0, OPT_STRING, "N", "only every N-th input: a quick look", NULL, &opt.stride },
    { "part", 0, OPT_STRING, "I/N", "the I-th of N equal parts of the inputs", NULL, &opt.part },
    { "at", 0, OPT_STRING, "HEX", "one input only, by its bits", NULL, &opt.at },
    { "state", 0, OPT_STRING, "FILE", "write the position to FILE every few seconds", "file", &opt.state },
    { "resume", 0, OPT_STRING, "FILE", "go on from a state FILE, and keep it up to date", "file", &opt.resume },
    { "jobs", 'j', OPT_STRING, "N", "threads of ref (default: one a core)", NULL, &opt.jobs },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_exhaustive = {
    .name = "exhaustive",
    .summary = "take all 2^32 inputs of a conversion through a backend",
    .arguments = "cvt-rn|cvt-rs|e4m3|divide",
    .examples = "  fp4check exhaustive cvt-rn                            # on a GPU; a second or so on a large one\n"
                "  fp4check exhaustive cvt-rs --state rs.state           # all rules, bytes and byte maps\n"
                "  fp4check exhaustive cvt-rs --resume rs.state\n"
                "  fp4check exhaustive e4m3 --backend ref -j 8           # on the CPU\n"
                "  fp4check exhaustive cvt-rs --backend ref --stride 65537\n",
    .notes =
        "What a backend computes is compared with a second formulation of the same arithmetic (reference/fp4second.h): one "
        "rounding\n"
        "of an integer significand for cvt-rn and e4m3; for cvt-rs the smallest random byte that rounds a float up. cvt-rs takes\n"
        "every float with all 256 bytes through each rule, then every random word through each byte map with values that tell a\n"
        "byte from its neighbours: together that is every float, word and rs-model. hash32 has no bytes: every float meets the\n"
        "words around its threshold. divide takes every float over 6, 1536 and 2688 against long division: the machine's division, "
        "and\n"
        "the kernels' product with one correction. The exit status is 0 when nothing differs, 1 when something does.",
    .options = options,
    .run = exhaustive_main,
};

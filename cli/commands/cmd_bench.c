/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4check bench: how fast the kernels are, as a ratio to a device-to-device copy of as many bytes in the same run; and the reference on the
 * CPU in elements a second. Absolute times are of this machine and this moment; the ratio is what is worth quoting.
 */
#include "backend.h"
#include "backend_rows.h"
#include "commands.h"
#include "select.h"
#include "term.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    const char *backend, *device, *json, *runs;
    struct string_list shapes, kernels;
} opt;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* ---- the reference on the CPU ------------------------------------------------------------------------------------------------------------ */

static double cpu_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static const char *const ref_cases[] = {
    "quantize/te/rn/1x16/bf16/normal/1024x1024/s0", "quantize/te/rn/1x16/both/bf16/normal/1024x1024/s0",
    "quantize/te/sr/1x16/bf16/normal/1024x1024/s0", "rht-quantize/te/rn/bf16/normal/1024x1024/s0",
    "rht-quantize/te/sr/bf16/normal/1024x1024/s0",  "dequantize/te/bf16/normal/1024x1024/s0",
};

static int bench_ref_case(const char *name, double *rate, struct fp4_error *err)
{
    struct case_tensors t;
    struct fp4_case c;
    double times[5], start;
    size_t i, k;
    int status = -1;

    memset(&t, 0, sizeof t);
    if (case_parse(name, &c, err) || case_describe(&c, &t, err) || case_inputs(&c, &t, err))
        goto cleanup;
    for (i = 0; i < t.count; i++) /* outputs only: stages are for people */
        if (t.t[i].role == TENSOR_OUTPUT && !(t.t[i].data = malloc(t.t[i].bytes))) {
            fp4_fail(err, FP4_EIO, "out of memory");
            goto cleanup;
        }
    for (k = 0; k < 5; k++) {
        start = cpu_now();
        if (backend_ref.run(&c, &t, err))
            goto cleanup;
        times[k] = cpu_now() - start;
    }
    *rate = (double)(c.rows * c.cols) / median(times, 5);
    status = 0;
cleanup:
    case_release(&t);
    return status;
}

static int bench_ref(FILE *json, struct fp4_error *err)
{
    size_t i;

    printf("%-52s %14s\n", "ref, one CPU thread, outputs only", "elements/s");
    for (i = 0; i < sizeof ref_cases / sizeof ref_cases[0]; i++) {
        double rate;

        if (bench_ref_case(ref_cases[i], &rate, err))
            return -1;
        printf("%-52s %12.1f M\n", ref_cases[i], rate / 1e6);
        if (json)
            fprintf(json, "%s{\"backend\":\"ref\",\"case\":\"%s\",\"elements_per_second\":%.0f}", i ? ",\n" : "", ref_cases[i],
                    rate);
    }
    return 0;
}

/* ---- kernels -------------------------------------------------------------------------------------------------------------------------------- */

#ifdef FP4_HAVE_CUDA
#include "fp4kernels.h"

struct measured {
    const char *kernel;
    size_t rows, cols;
    double bytes;        /* read once plus written once */
    double seconds;      /* median of a launch */
    double copy_seconds; /* median of a copy that moves as many */
    double best, worst;  /* of the launches */
};

static int shape_from_text(const char *text, size_t *rows, size_t *cols, struct fp4_error *err)
{
    unsigned long r, c;
    char rest;

    if (sscanf(text, "%lux%lu%c", &r, &c, &rest) != 2 || r == 0 || c == 0 || r % 128 || c % 128 || r > 1u << 20 || c > 1u << 20)
        return fp4_fail(err, FP4_EUSAGE, "--shape is ROWSxCOLS in multiples of 128, at most 1048576 each, not '%s'", text);
    *rows = r;
    *cols = c;
    return 0;
}

#define ROTATE_BYTES ((size_t)1 << 30) /* inputs and outputs together go round in at least this much: far beyond any L2 */
#define COPIES_MAX 64
#define BATCH 20

struct set { /* one copy of inputs and outputs */
    uint8_t *x, *codes, *scales, *codes_t, *scales_t, *out;
};

struct bench {
    enum fp4k_isa isa;
    size_t rows, cols, sets;
    struct set set[COPIES_MAX];
    float *amax, *row_amax; /* [1], [rows] */
    void *from, *to;
    size_t samples;
};

struct kernel_row {
    const char *name;
    double bytes_per_element;
    bool row, col, dequantize;
    int (*launch)(const struct bench *b, const struct set *s);
};

static struct fp4_quantized output(uint8_t *codes, uint8_t *scales, float *amax)
{
    struct fp4_quantized q;

    memset(&q, 0, sizeof q);
    q.codes = codes;
    q.scales = scales;
    q.amax = amax;
    q.given_amax = amax;
    return q;
}

static int quantize(const struct bench *b, const struct set *s, bool row, bool col, bool sr)
{
    struct fp4_quantized r = output(s->codes, s->scales, b->amax), c = output(s->codes_t, s->scales_t, b->amax);
    struct fp4_quantize_params p;

    memset(&p, 0, sizeof p);
    p.input = FP4_BF16;
    p.rows = b->rows;
    p.cols = b->cols;
    p.stochastic = sr;
    p.rs = fp4_rs_models[0].model;
    p.seed = 1234;
    return fp4k_quantize(b->isa, &p, s->x, row ? &r : NULL, col ? &c : NULL, NULL);
}

static int rht(const struct bench *b, const struct set *s, bool sr)
{
    struct fp4_quantized c = output(s->codes_t, s->scales_t, b->amax);
    struct fp4_rht_params p;

    memset(&p, 0, sizeof p);
    p.rows = b->rows;
    p.cols = b->cols;
    p.sign_mask = FP4_RHT_SIGN_MASK;
    p.bf16_round_trip = true;
    p.stochastic = sr;
    p.rs = fp4_rs_models[0].model;
    p.seed = 1234;
    return fp4k_rht_quantize(b->isa, &p, (const uint16_t *)(const void *)s->x, NULL, &c, NULL, NULL);
}

static int four(const struct bench *b, const struct set *s, bool tile, bool row_scaled)
{
    struct fp4_quantized r = output(s->codes, s->scales, row_scaled ? b->row_amax : b->amax);
    struct fp4_four_params p;

    memset(&p, 0, sizeof p);
    p.recipe = FP4_RECIPE_TORCHAO;
    p.input = FP4_BF16;
    p.rows = b->rows;
    p.cols = b->cols;
    p.block_16x16 = tile;
    p.row_scaled = row_scaled;
    p.bound = 256;
    return fp4k_four_over_six(b->isa, &p, s->x, &r, NULL, NULL, NULL, NULL);
}

static int run_rn(const struct bench *b, const struct set *s)
{
    return quantize(b, s, true, false, false);
}

static int run_rn_col(const struct bench *b, const struct set *s)
{
    return quantize(b, s, false, true, false);
}

static int run_rn_both(const struct bench *b, const struct set *s)
{
    return quantize(b, s, true, true, false);
}

static int run_sr(const struct bench *b, const struct set *s)
{
    return quantize(b, s, true, false, true);
}

static int run_sr_both(const struct bench *b, const struct set *s)
{
    return quantize(b, s, true, true, true);
}

static int run_rht_rn(const struct bench *b, const struct set *s)
{
    return rht(b, s, false);
}

static int run_rht_sr(const struct bench *b, const struct set *s)
{
    return rht(b, s, true);
}

static int run_four(const struct bench *b, const struct set *s)
{
    return four(b, s, false, false);
}

static int run_four_row(const struct bench *b, const struct set *s)
{
    return four(b, s, false, true);
}

static int run_four_tile(const struct bench *b, const struct set *s)
{
    return four(b, s, true, false);
}

static int run_dequantize(const struct bench *b, const struct set *s)
{
    struct fp4_dequantize_params p;

    memset(&p, 0, sizeof p);
    p.rows = b->rows;
    p.cols = b->cols;
    p.bound = 448;
    p.output = FP4_BF16;
    return fp4k_dequantize(&p, s->codes, s->scales, b->amax, s->out, NULL, NULL);
}

static const struct kernel_row kernels[] = {
    { "quantize-rn-row", 2.5625, true, false, false, run_rn },
    { "quantize-rn-col", 2.5625, false, true, false, run_rn_col },
    { "quantize-rn-both", 3.125, true, true, false, run_rn_both },
    { "quantize-sr-row", 2.5625, true, false, false, run_sr },
    { "quantize-sr-both", 3.125, true, true, false, run_sr_both },
    { "rht-rn", 2.5625, false, true, false, run_rht_rn },
    { "rht-sr", 2.5625, false, true, false, run_rht_sr },
    { "dequantize-bf16", 2.5625, true, false, true, run_dequantize },
    { "four-over-six-1x16", 2.5625, true, false, false, run_four },
    { "four-over-six-row", 2.5625, true, false, false, run_four_row },
    { "four-over-six-tile", 2.5625, true, false, false, run_four_tile },
};
#define KERNELS (sizeof kernels / sizeof kernels[0])

static int cuda_fail(struct fp4_error *err, int error, const char *what)
{
    return fp4_fail(err, FP4_EIO, "CUDA: %s: %s", what, fp4k_error_text(error));
}

static int allocate(uint8_t **d, size_t bytes, struct fp4_error *err)
{
    int error = fp4k_malloc((void **)d, bytes);

    return error ? cuda_fail(err, error, "memory") : 0;
}

static void release(struct bench *b)
{
    size_t i;

    for (i = 0; i < b->sets; i++) {
        fp4k_free(b->set[i].x);
        fp4k_free(b->set[i].codes);
        fp4k_free(b->set[i].scales);
        fp4k_free(b->set[i].codes_t);
        fp4k_free(b->set[i].scales_t);
        fp4k_free(b->set[i].out);
    }
    fp4k_free(b->amax);
    fp4k_free(b->row_amax);
    fp4k_event_destroy(b->from);
    fp4k_event_destroy(b->to);
}

/* Bell-shaped bf16 values: one 1024x1024 case over and over. */
static int fill_inputs(struct bench *b, struct fp4_error *err)
{
    struct case_tensors t;
    struct fp4_case c;
    size_t bytes = 2 * b->rows * b->cols, at, i;
    int error = 0, status = -1;

    memset(&t, 0, sizeof t);
    if (case_parse("quantize/te/rn/1x16/bf16/normal/1024x1024/s0", &c, err) == 0 && case_describe(&c, &t, err) == 0 &&
        case_inputs(&c, &t, err) == 0) {
        for (at = 0; at < bytes && error == 0; at += t.t[0].bytes)
            error = fp4k_upload(b->set[0].x + at, t.t[0].data, bytes - at < t.t[0].bytes ? bytes - at : t.t[0].bytes);
        for (i = 1; i < b->sets && error == 0; i++)
            error = fp4k_copy(b->set[i].x, b->set[0].x, bytes, NULL);
        status = error ? cuda_fail(err, error, "copy of the inputs") : 0;
    }
    case_release(&t);
    return status;
}

static int prepare(struct bench *b, struct fp4_error *err)
{
    size_t n = b->rows * b->cols, i;
    int error;

    b->sets = ROTATE_BYTES / (2 * n) + 2;
    if (b->sets > COPIES_MAX)
        b->sets = COPIES_MAX;
    for (i = 0; i < b->sets; i++) {
        struct set *s = &b->set[i];

        if (allocate(&s->x, 2 * n, err) || allocate(&s->codes, n / 2, err) || allocate(&s->scales, n / 16, err) ||
            allocate(&s->codes_t, n / 2, err) || allocate(&s->scales_t, n / 16, err) || allocate(&s->out, 2 * n, err))
            return -1;
    }
    error = fp4k_malloc((void **)&b->amax, sizeof(float));
    if (error == 0)
        error = fp4k_malloc((void **)&b->row_amax, b->rows * sizeof(float));
    if (error == 0)
        error = fp4k_event_create(&b->from);
    if (error == 0)
        error = fp4k_event_create(&b->to);
    if (error)
        return cuda_fail(err, error, "memory or events");
    if (fill_inputs(b, err))
        return -1;
    error = fp4k_amax(FP4K_AMAX_TENSOR, b->set[0].x, FP4_BF16, b->rows, b->cols, false, b->amax, NULL);
    if (error == 0)
        error = fp4k_amax(FP4K_AMAX_ROWS, b->set[0].x, FP4_BF16, b->rows, b->cols, false, b->row_amax, NULL);
    for (i = 0; i < b->sets && error == 0; i++)
        error = quantize(b, &b->set[i], true, false, false);
    return error ? cuda_fail(err, error, "launch") : 0;
}

/* Median time of one launch: batches of launches between two events, each launch on the next set of buffers. row NULL: the copy. */
static int time_launches(struct bench *b, const struct kernel_row *row, size_t copy_bytes, double *seconds, double *best,
                         double *worst, struct fp4_error *err)
{
    double times[256];
    size_t k, i, next = 0;
    int error = 0;

    for (k = 0; k < b->samples + 3 && error == 0; k++) {
        float milliseconds = 0;

        error = fp4k_event_record(b->from, NULL);
        for (i = 0; i < BATCH && error == 0; i++, next = (next + 1) % b->sets)
            error = row ? row->launch(b, &b->set[next]) : fp4k_copy(b->set[next].out, b->set[next].x, copy_bytes, NULL);
        if (error == 0)
            error = fp4k_event_record(b->to, NULL);
        if (error == 0)
            error = fp4k_event_elapsed(b->from, b->to, &milliseconds);
        if (k >= 3) /* the first ones are warm-up */
            times[k - 3] = milliseconds / 1e3 / BATCH;
    }
    if (error)
        return cuda_fail(err, error, row ? row->name : "copy");
    *seconds = median(times, b->samples);
    *best = times[0];
    *worst = times[b->samples - 1];
    return 0;
}

static bool wanted(const char *name)
{
    size_t i;

    for (i = 0; i < opt.kernels.count; i++)
        if (strcmp(opt.kernels.items[i], name) == 0)
            return true;
    return opt.kernels.count == 0;
}

static void print_measured(const struct measured *m, const char *backend, FILE *json, bool *first)
{
    printf("%-18s %6zux%-6zu %10.1f %10.0f %10.0f %8.3f\n", m->kernel, m->rows, m->cols, m->seconds * 1e6,
           m->bytes / m->seconds / 1e9, m->bytes / m->copy_seconds / 1e9, m->copy_seconds / m->seconds);
    if (json)
        fprintf(json,
                "%s{\"backend\":\"%s\",\"kernel\":\"%s\",\"rows\":%zu,\"cols\":%zu,\"bytes\":%.0f,\"microseconds\":%.2f,"
                "\"microseconds_best\":%.2f,\"microseconds_worst\":%.2f,\"gigabytes_per_second\":%.1f,\"copy_gigabytes_per_"
                "second\":%.1f,"
                "\"ratio_to_copy\":%.4f}",
                *first ? "" : ",\n", backend, m->kernel, m->rows, m->cols, m->bytes, m->seconds * 1e6, m->best * 1e6,
                m->worst * 1e6, m->bytes / m->seconds / 1e9, m->bytes / m->copy_seconds / 1e9, m->copy_seconds / m->seconds);
    *first = false;
}

static int bench_shape(enum fp4k_isa isa, const char *backend, size_t rows, size_t cols, size_t samples, FILE *json, bool *first,
                       struct fp4_error *err)
{
    struct bench *b = calloc(1, sizeof *b);
    double ignored;
    size_t i;
    int status = -1;

    if (!b)
        return fp4_fail(err, FP4_EIO, "out of memory");
    b->isa = isa;
    b->rows = rows;
    b->cols = cols;
    b->samples = samples;
    if (prepare(b, err))
        goto cleanup;
    for (i = 0; i < KERNELS; i++) {
        struct measured m = { kernels[i].name, rows, cols, kernels[i].bytes_per_element * (double)(rows * cols), 0, 0, 0, 0 };

        if (!wanted(m.kernel))
            continue;
        if (time_launches(b, NULL, (size_t)(m.bytes / 2), &m.copy_seconds, &ignored, &ignored, err) ||
            time_launches(b, &kernels[i], 0, &m.seconds, &m.best, &m.worst, err))
            goto cleanup;
        print_measured(&m, backend, json, first);
    }
    status = 0;
cleanup:
    release(b);
    free(b);
    return status;
}

static int isa_of(const char *name, enum fp4k_isa *isa, struct fp4_error *err)
{
    static const char *const names[] = { "soft", "sm120", "sm100" };
    struct fp4k_device d;
    char reason[256];
    uint64_t device = 0;
    size_t i;
    int error;

    for (i = 0; i < 3 && strcmp(names[i], name) != 0; i++)
        ;
    if (i == 3)
        return fp4_fail(err, FP4_EUSAGE, "--backend is ref, soft, sm120 or sm100, not '%s'", name);
    *isa = (enum fp4k_isa)i;
    if (opt.device && (u64_from_text(opt.device, &device) || device > 255))
        return fp4_fail(err, FP4_EUSAGE, "--device is a number, not '%s'", opt.device);
    if (fp4k_device_count(reason, sizeof reason) == 0)
        return fp4_fail(err, FP4_ESUPPORT, "backend '%s' cannot run here: %s", name, reason);
    error = fp4k_device_select((int)device);
    if (error == 0)
        error = fp4k_device_info((int)device, &d);
    if (error)
        return cuda_fail(err, error, "device");
    if (fp4k_supports(*isa, d.major, d.minor, reason, sizeof reason))
        return fp4_fail(err, FP4_ESUPPORT, "backend '%s' cannot run here: %s", name, reason);
    printf("%s on %s, compute capability %d.%d, driver CUDA %d.%d\n", name, d.name, d.major, d.minor, d.driver / 1000,
           d.driver % 1000 / 10);
    return 0;
}

static int bench_kernels(const char *backend, FILE *json, struct fp4_error *err)
{
    static const char *const usual[] = { "8192x8192", "8192x5120", "4096x4096", "1024x1024" };
    bool first = true;
    enum fp4k_isa isa = FP4K_SOFT;
    uint64_t samples = 15;
    size_t i;

    if (opt.runs && (u64_from_text(opt.runs, &samples) || samples < 1 || samples > 200))
        return fp4_fail(err, FP4_EUSAGE, "--runs is a number from 1 to 200, not '%s'", opt.runs);
    if (isa_of(backend, &isa, err))
        return -1;
    printf("%-18s %13s %10s %10s %10s %8s\n", "kernel", "shape", "us", "GB/s", "copy GB/s", "ratio");
    for (i = 0; i < (opt.shapes.count ? opt.shapes.count : 4); i++) {
        size_t rows = 0, cols = 0;

        if (shape_from_text(opt.shapes.count ? opt.shapes.items[i] : usual[i], &rows, &cols, err) ||
            bench_shape(isa, backend, rows, cols, (size_t)samples, json, &first, err))
            return -1;
    }
    return 0;
}
#else
static int bench_kernels(const char *backend, FILE *json, struct fp4_error *err)
{
    (void)json;
    return fp4_fail(err, FP4_ESUPPORT, "backend '%s' cannot run here: this build has no CUDA kernels", backend);
}
#endif

/* ---- the command ------------------------------------------------------------------------------------------------------------------------------ */

static int bench_main(int argc, char **argv)
{
    const char *backend = opt.backend ? opt.backend : "ref";
    struct fp4_error err;
    FILE *json = NULL;
    int status = EXIT_PASS;

    if (argc) {
        term_error("bench: unexpected argument '%s'", argv[0]);
        return EXIT_TROUBLE;
    }
    if (opt.json && !(json = fopen(opt.json, "w"))) {
        term_error("bench: cannot write '%s'", opt.json);
        return EXIT_TROUBLE;
    }
    if (json)
        fputs("{\"format\":\"fp4check-bench\",\"version\":1,\"results\":[\n", json);
    if (strcmp(backend, "ref") == 0 ? bench_ref(json, &err) : bench_kernels(backend, json, &err)) {
        term_error("bench: %s", err.msg);
        status = EXIT_TROUBLE;
    }
    if (json) {
        fputs("\n]}\n", json);
        if (fclose(json)) {
            term_error("bench: cannot write '%s'", opt.json);
            status = EXIT_TROUBLE;
        }
    }
    return status;
}

static struct option_row options[] = {
    { "backend", 'b', OPT_STRING, "NAME", "ref (default: one CPU thread), soft, sm120 or sm100", "ref soft sm120 sm100",
      &opt.backend },
    { "shape", 0, OPT_LIST, "ROWSxCOLS", "shape of the matrix, in multiples of 128 (default: four)", NULL, &opt.shapes },
    { "kernel", 0, OPT_LIST, "NAME", "only this kernel, e.g. quantize-rn-row", NULL, &opt.kernels },
    { "runs", 0, OPT_STRING, "N", "batches of 20 launches to take the median of (15)", NULL, &opt.runs },
    { "device", 0, OPT_STRING, "N", "GPU to use (0)", NULL, &opt.device },
    { "json", 0, OPT_STRING, "FILE", "write the figures as JSON too", "file", &opt.json },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_bench = {
    .name = "bench",
    .summary = "time the kernels against a device-to-device copy of as many bytes, or the reference",
    .arguments = "",
    .examples = "  fp4check bench                               # the reference, elements a second\n"
                "  fp4check bench --backend soft                # kernels without FP4 instructions, four shapes\n"
                "  fp4check bench -b sm100 --shape 8192x8192 --kernel rht-sr --json b200.json\n",
    .notes = "Bytes are what a kernel must read once plus what it must write once. The ratio is the copy's time over the kernel's: "
             "1 means that\n"
             "the kernel costs no more than moving its bytes. Inputs and outputs go round in up to "
             "64 sets of buffers, beyond the cache.",
    .options = options,
    .run = bench_main,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Backends "soft", "sm120" and "sm100": the kernels of kernels/, each in a worker process of its own. */
#include "backend_rows.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FP4_HAVE_CUDA
#include "fp4kernels.h"

#define DEVICE_GUARD 256

struct buffers {
    uint8_t *d[CASE_TENSORS_MAX];
    struct case_tensors *t;
};

static int cuda_fail(struct fp4_error *err, int error, const char *what)
{
    return fp4_fail(err, FP4_EIO, "CUDA: %s: %s", what, fp4k_error_text(error));
}

static void *buffer_of(const struct buffers *b, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX];
    size_t i;

    snprintf(full, sizeof full, "%s%s", name, suffix);
    for (i = 0; i < b->t->count; i++)
        if (strcmp(b->t->t[i].name, full) == 0)
            return b->d[i];
    return NULL;
}

static void release(struct buffers *b)
{
    size_t i;

    for (i = 0; i < b->t->count; i++)
        if (b->d[i])
            fp4k_free(b->d[i]);
}

static int prepare(struct buffers *b, int poison, struct fp4_error *err)
{
    size_t i;
    int error;

    for (i = 0; i < b->t->count; i++) {
        const struct tensor *t = &b->t->t[i];

        if (!b->d[i] && (error = fp4k_malloc((void **)&b->d[i], t->bytes + DEVICE_GUARD)))
            return cuda_fail(err, error, "memory for a tensor");
        error = fp4k_fill(b->d[i], poison, t->bytes + DEVICE_GUARD);
        if (error == 0 && t->role == TENSOR_INPUT)
            error = fp4k_upload(b->d[i], t->data, t->bytes);
        if (error)
            return cuda_fail(err, error, "copy to the device");
    }
    return 0;
}

/* ---- ops ----------------------------------------------------------------------------------------------------------------------------------- */

static struct fp4_quantized direction_of(const struct buffers *b, const char *suffix)
{
    struct fp4_quantized q;

    q.codes = buffer_of(b, "codes", suffix);
    q.scales = buffer_of(b, "block-scale", suffix);
    q.amax = buffer_of(b, "amax", suffix);
    q.global_scale = buffer_of(b, "global-scale", suffix);
    q.block_amax = buffer_of(b, "block-amax", suffix);
    q.scaled = buffer_of(b, "scaled", suffix);
    q.rbits = buffer_of(b, "random", suffix);
    q.dequantized = buffer_of(b, "dequantized", suffix);
    q.given_amax = buffer_of(b, "given-amax", suffix);
    q.given_rbits = buffer_of(b, "rbits", suffix);
    return q;
}

static void rng_state(struct case_tensors *t, uint64_t *seed, uint64_t *offset)
{
    const struct tensor *state = tensor_find(t, "rng-state");
    uint64_t v[2] = { 0, 0 };

    if (state)
        memcpy(v, state->data, sizeof v);
    *seed = v[0];
    *offset = v[1];
}

static int launch_quantize(enum fp4k_isa isa, const struct fp4_case *c, const struct buffers *b)
{
    struct fp4_quantized row = direction_of(b, ""), col = direction_of(b, ".t");
    struct fp4_quantize_params p;

    quantize_params_of(c, &p);
    rng_state(b->t, &p.seed, &p.offset);
    return fp4k_quantize(isa, &p, buffer_of(b, "x", ""), row.codes ? &row : NULL, col.codes ? &col : NULL, NULL);
}

static int launch_rht(enum fp4k_isa isa, const struct fp4_case *c, const struct buffers *b)
{
    struct fp4_quantized row = direction_of(b, ""), col = direction_of(b, ".t");
    struct fp4_rht_stages stages = { buffer_of(b, "transformed", ".t"), NULL };
    struct fp4_rht_params p;

    rht_params_of(c, &p);
    rng_state(b->t, &p.seed, &p.offset);
    return fp4k_rht_quantize(isa, &p, buffer_of(b, "x", ""), row.codes ? &row : NULL, &col, &stages, NULL);
}

static int launch_dequantize(const struct fp4_case *c, const struct buffers *b)
{
    struct fp4_dequantize_params p;

    dequantize_params_of(c, &p);
    return fp4k_dequantize(&p, buffer_of(b, "codes", ""), buffer_of(b, "scales", ""), buffer_of(b, "amax", ""),
                           buffer_of(b, "dequantized", ""), buffer_of(b, "decoded-scale", ""), NULL);
}

static int launch(enum fp4k_isa isa, const struct fp4_case *c, const struct buffers *b)
{
    struct fp4_rs_model model = fp4_rs_models[c->knob[KNOB_RS]].model;
    size_t n = c->rows * c->cols;

    switch (c->op) {
    case OP_CVT_RN:
        return fp4k_cvt_rn(isa, buffer_of(b, "x", ""), n, buffer_of(b, "codes", ""), NULL);
    case OP_CVT_RS:
        return fp4k_cvt_rs(isa, model, buffer_of(b, "x", ""), buffer_of(b, "rbits", ""), n, buffer_of(b, "codes", ""), NULL);
    case OP_SR_BF16X4:
    case OP_SR_FP32X4:
        return fp4k_sr_x4(isa, model, buffer_of(b, "x", ""), c->dtype, c->rows, c->cols, buffer_of(b, "scale", ""), buffer_of(b, "rbits", ""),
                          buffer_of(b, "scaled", ""), buffer_of(b, "codes", ""), NULL);
    case OP_SR_BF16X8:
        return fp4k_sr_x8(isa, model, buffer_of(b, "x", ""), c->rows, c->cols, buffer_of(b, "coefficient", ""), c->knob[KNOB_COEF] == 1,
                          buffer_of(b, "rbits", ""), buffer_of(b, "scaled", ""), buffer_of(b, "codes", ""), NULL);
    case OP_QUANTIZE:
        return launch_quantize(isa, c, b);
    case OP_RHT_QUANTIZE:
        return launch_rht(isa, c, b);
    case OP_DEQUANTIZE:
        return launch_dequantize(c, b);
    case OP_SWIZZLE:
        return c->knob[KNOB_SWIZZLE] ? fp4k_unswizzle(c->rows, c->cols, buffer_of(b, "swizzled", ""), buffer_of(b, "scales", ""), NULL)
                                     : fp4k_swizzle(c->rows, c->cols, buffer_of(b, "scales", ""), buffer_of(b, "swizzled", ""), NULL);
    default:
        return fp4k_philox(buffer_of(b, "seed", ""), buffer_of(b, "subsequence", ""), buffer_of(b, "offset", ""), c->rows, c->cols,
                           knob_rounds(c->knob[KNOB_ROUNDS]), c->recipe == CR_CURAND, buffer_of(b, "words", ""), NULL);
    }
}

/* ---- one case ---------------------------------------------------------------------------------------------------------------------------------- */

static bool device_makes(const struct tensor *t)
{
    return strncmp(t->name, "exactness", 9) != 0; /* a property of the input that the reference computes */
}

static int check_guard(const struct buffers *b, size_t i, int poison, struct fp4_error *err)
{
    const struct tensor *t = &b->t->t[i];
    uint8_t guard[DEVICE_GUARD];
    size_t end = DEVICE_GUARD;
    int error = fp4k_download(guard, b->d[i] + t->bytes, DEVICE_GUARD);

    if (error)
        return cuda_fail(err, error, "copy from the device");
    while (end && guard[end - 1] == poison)
        end--;
    if (end)
        return fp4_fail(err, FP4_EFORMAT, "%s bytes beyond the end of '%s' (%zu bytes) were written, up to %zu past it",
                        t->role == TENSOR_INPUT ? "input" : "device", t->name, t->bytes, end);
    return 0;
}

static int run_once(enum fp4k_isa isa, const struct fp4_case *c, struct buffers *b, int poison, struct fp4_error *err)
{
    size_t i;
    int error;

    if (prepare(b, poison, err))
        return -1;
    error = launch(isa, c, b);
    if (error)
        return cuda_fail(err, error, "launch");
    error = fp4k_synchronize();
    if (error)
        return cuda_fail(err, error, "kernel");
    for (i = 0; i < b->t->count; i++)
        if (check_guard(b, i, poison, err))
            return -1;
    return 0;
}

/* The second run, over another poison, must give the same bytes: where it does not, a byte was never written or the kernel is not
 * deterministic. */
static int compare_runs(struct buffers *b, int poison, struct fp4_error *err)
{
    size_t i, k;
    int error;

    for (i = 0; i < b->t->count; i++) {
        struct tensor *t = &b->t->t[i];
        uint8_t *again;

        if (t->role == TENSOR_INPUT || !t->written)
            continue;
        again = malloc(t->bytes ? t->bytes : 1);
        if (!again)
            return fp4_fail(err, FP4_EIO, "out of memory");
        error = fp4k_download(again, b->d[i], t->bytes);
        for (k = 0; error == 0 && k < t->bytes && again[k] == t->data[k]; k++)
            ;
        if (error) {
            free(again);
            return cuda_fail(err, error, "copy from the device");
        }
        if (k < t->bytes) {
            bool unwritten = again[k] == poison;

            free(again);
            if (unwritten)
                return fp4_fail(err, FP4_EFORMAT, "byte %zu of '%s' (%zu bytes) was never written", k, t->name, t->bytes);
            return fp4_fail(err, FP4_EFORMAT, "two runs of the kernel differ, first at byte %zu of '%s': not deterministic", k, t->name);
        }
        free(again);
    }
    return 0;
}

static int fetch(struct buffers *b, struct fp4_error *err)
{
    size_t i;
    int error;

    for (i = 0; i < b->t->count; i++) {
        struct tensor *t = &b->t->t[i];

        if (t->role == TENSOR_INPUT || !device_makes(t))
            continue;
        error = fp4k_download(t->data, b->d[i], t->bytes);
        if (error)
            return cuda_fail(err, error, "copy from the device");
        t->written = true;
    }
    return 0;
}

static int run_here(enum fp4k_isa isa, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct buffers b;
    int status;

    memset(&b, 0, sizeof b);
    b.t = t;
    status = run_once(isa, c, &b, 0xCA, err) || fetch(&b, err) || run_once(isa, c, &b, 0x35, err) || compare_runs(&b, 0x35, err) ? -1 : 0;
    release(&b);
    return status;
}

static int available_here(enum fp4k_isa isa, struct fp4_error *err)
{
    struct fp4k_device d;
    char reason[256];
    int error;

    if (fp4k_device_count(reason, sizeof reason) == 0)
        return fp4_fail(err, FP4_ESUPPORT, "%s", reason);
    error = fp4k_device_info(0, &d);
    if (error)
        return cuda_fail(err, error, "device properties");
    if (fp4k_supports(isa, d.major, d.minor, reason, sizeof reason))
        return fp4_fail(err, FP4_ESUPPORT, "%s: %s", d.name, reason);
    return 0;
}

static void describe_here(char *text, size_t size)
{
    struct fp4k_device d;

    if (fp4k_device_info(0, &d))
        snprintf(text, size, "no device");
    else
        snprintf(text, size, "%s, compute capability %d.%d, driver CUDA %d.%d, runtime %d.%d, built for %s", d.name, d.major, d.minor,
                 d.driver / 1000, d.driver % 1000 / 10, d.runtime / 1000, d.runtime % 1000 / 10, fp4k_architectures());
}
#endif

/* ---- rows ----------------------------------------------------------------------------------------------------------------------------------------- */

static char described[3][256];

static int available(int isa, const struct backend_row *row, struct fp4_error *err)
{
#ifdef FP4_HAVE_CUDA
    if (worker_is_child)
        return available_here((enum fp4k_isa)isa, err);
    return worker_available(row, described[isa], sizeof described[isa], err);
#else
    (void)isa;
    (void)row;
    return fp4_fail(err, FP4_ESUPPORT, "this build has no CUDA kernels: nvcc was not there (or CUDA=0)");
#endif
}

static void describe(int isa, char *text, size_t size)
{
#ifdef FP4_HAVE_CUDA
    if (worker_is_child) {
        describe_here(text, size);
        return;
    }
#endif
    snprintf(text, size, "%s", described[isa][0] ? described[isa] : "not built, or no device");
}

static int supports(const struct fp4_case *c, struct fp4_error *err)
{
    if (case_check(c, err))
        return -1;
    if (c->op == OP_RHT_QUANTIZE && c->knob[KNOB_SUM] == FP4_SUM_EXACT)
        return fp4_fail(err, FP4_ESUPPORT, "the kernels have no exact sum: it is the reference's");
    return 0;
}

static int run(int isa, const struct backend_row *row, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
#ifdef FP4_HAVE_CUDA
    if (worker_is_child)
        return run_here((enum fp4k_isa)isa, c, t, err);
#else
    (void)isa;
#endif
    return worker_run(row, c, t, err);
}

#define ROW(id, isa, text)                                                                                                                 \
    static int available_##id(struct fp4_error *err)                                                                                       \
    {                                                                                                                                      \
        return available(isa, &backend_##id, err);                                                                                         \
    }                                                                                                                                      \
    static void describe_##id(char *out, size_t size)                                                                                      \
    {                                                                                                                                      \
        describe(isa, out, size);                                                                                                          \
    }                                                                                                                                      \
    static int run_##id(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)                                           \
    {                                                                                                                                      \
        return run(isa, &backend_##id, c, t, err);                                                                                         \
    }                                                                                                                                      \
    const struct backend_row backend_##id = { .name = #id,                                                                                 \
                                              .help = text,                                                                                \
                                              .available = available_##id,                                                                 \
                                              .supports = supports,                                                                        \
                                              .run = run_##id,                                                                             \
                                              .describe = describe_##id,                                                                   \
                                              .isolated = true }

ROW(soft, 0, "CUDA without FP4 instructions, any GPU from sm_80 on");
ROW(sm120, 1, "CUDA polyfill: hardware nearest conversion, software stochastic rounding");
ROW(sm100, 2, "native CUDA: cvt.rs.satfinite.e2m1x4 of sm_100a and sm_103a");

/* SPDX-License-Identifier: Apache-2.0 */
/* Backends "soft", "sm120" and "sm100": the kernels of kernels/, each in a worker process of its own. */
#include "cuda_backend.h"
#include "backend_rows.h"
#include "cuda_ops.h"
#include "worker.h"

#include <stdio.h>
#include <string.h>

#ifdef FP4_HAVE_CUDA
static int cuda_fail(struct fp4_error *err, int error, const char *what)
{
    return fp4_fail(err, FP4_EIO, "CUDA: %s: %s", what, fp4k_error_text(error));
}

void *cuda_buffer(const struct cuda_case *b, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX];
    size_t i;

    snprintf(full, sizeof full, "%s%s", name, suffix);
    for (i = 0; i < b->t->count; i++)
        if (strcmp(b->t->t[i].name, full) == 0)
            return b->d[i];
    return NULL;
}

/* ---- ops ----------------------------------------------------------------------------------------------------------------------------------- */

void *cuda_place(void *from, const char *name, const char *suffix)
{
    const struct cuda_case *const *b = from;

    return cuda_buffer(*b, name, suffix);
}

static struct fp4_quantized direction_of(const struct cuda_case *b, const char *suffix)
{
    return quantized_of(cuda_place, &b, suffix);
}

static int launch_quantize(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    struct fp4_quantized row = direction_of(b, ""), col = direction_of(b, ".t");
    struct fp4_quantize_params p;

    quantize_params_of(c, &p);
    rng_state_of(b->t, &p.seed, &p.offset);
    return fp4k_quantize(isa, &p, cuda_buffer(b, "x", ""), row.codes ? &row : NULL, col.codes ? &col : NULL, NULL);
}

static int launch_four(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    struct fp4_quantized row = direction_of(b, ""), col = direction_of(b, ".t");
    struct fp4_four_stages row_stages = four_stages_of(cuda_place, &b, ""), col_stages = four_stages_of(cuda_place, &b, ".t");
    struct fp4_four_params p;

    case_four_params(c, &p);
    return fp4k_four_over_six(isa, &p, cuda_buffer(b, "x", ""), row.codes ? &row : NULL, col.codes ? &col : NULL, &row_stages,
                              &col_stages, NULL);
}

static int launch_rht(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    struct fp4_quantized row = direction_of(b, ""), col = direction_of(b, ".t");
    struct fp4_rht_stages stages = { cuda_buffer(b, "transformed", ".t"), NULL };
    struct fp4_rht_params p;

    rht_params_of(c, &p);
    rng_state_of(b->t, &p.seed, &p.offset);
    return fp4k_rht_quantize(isa, &p, cuda_buffer(b, "x", ""), row.codes ? &row : NULL, &col, &stages, NULL);
}

static int launch_dequantize(const struct fp4_case *c, const struct cuda_case *b)
{
    struct fp4_dequantize_params p;

    dequantize_params_of(c, &p);
    return fp4k_dequantize(&p, cuda_buffer(b, "codes", ""), cuda_buffer(b, "scales", ""), cuda_buffer(b, "amax", ""),
                           cuda_buffer(b, "dequantized", ""), cuda_buffer(b, "decoded-scale", ""), NULL);
}

int cuda_launch(enum fp4k_isa isa, const struct fp4_case *c, const struct cuda_case *b)
{
    struct fp4_rs_model model = rs_model_row(c->knob[KNOB_RS])->model;
    size_t n = c->rows * c->cols;

    switch (c->op) {
    case OP_CVT_RN:
        return fp4k_cvt_rn(isa, cuda_buffer(b, "x", ""), n, cuda_buffer(b, "codes", ""), NULL);
    case OP_CVT_RS:
        return fp4k_cvt_rs(isa, model, cuda_buffer(b, "x", ""), cuda_buffer(b, "rbits", ""), n, cuda_buffer(b, "codes", ""), NULL);
    case OP_SR_BF16X4:
    case OP_SR_FP32X4:
        return fp4k_sr_x4(isa, model, cuda_buffer(b, "x", ""), c->dtype, c->rows, c->cols, cuda_buffer(b, "scale", ""),
                          cuda_buffer(b, "rbits", ""), cuda_buffer(b, "scaled", ""), cuda_buffer(b, "codes", ""), NULL);
    case OP_SR_BF16X8:
        return fp4k_sr_x8(isa, model, cuda_buffer(b, "x", ""), c->rows, c->cols, cuda_buffer(b, "coefficient", ""),
                          c->knob[KNOB_COEF] == 1, cuda_buffer(b, "rbits", ""), cuda_buffer(b, "scaled", ""),
                          cuda_buffer(b, "codes", ""), NULL);
    case OP_QUANTIZE:
        return launch_quantize(isa, c, b);
    case OP_RHT_QUANTIZE:
        return launch_rht(isa, c, b);
    case OP_FOUR_OVER_SIX:
        return launch_four(isa, c, b);
    case OP_GEMM:
        return cuda_launch_gemm(isa, c, b);
    case OP_DEQUANTIZE:
        return launch_dequantize(c, b);
    case OP_SWIZZLE:
        return c->knob[KNOB_SWIZZLE]
                   ? fp4k_unswizzle(c->rows, c->cols, cuda_buffer(b, "swizzled", ""), cuda_buffer(b, "scales", ""), NULL)
                   : fp4k_swizzle(c->rows, c->cols, cuda_buffer(b, "scales", ""), cuda_buffer(b, "swizzled", ""), NULL);
    default:
        return fp4k_philox(cuda_buffer(b, "seed", ""), cuda_buffer(b, "subsequence", ""), cuda_buffer(b, "offset", ""), c->rows,
                           c->cols, knob_rounds(c->knob[KNOB_ROUNDS]), c->recipe == CR_CURAND, cuda_buffer(b, "words", ""), NULL);
    }
}

/* ---- one case ---------------------------------------------------------------------------------------------------------------------------------- */

/* A property of the input that the reference computes. */
static bool device_makes(const struct tensor *t)
{
    return strncmp(t->name, "exactness", 9) != 0;
}

/* Device memory for every tensor, of its size and a guard, with the same poison as the host's. */
static int prepare(struct cuda_case *b, struct fp4_error *err)
{
    size_t i;
    int error;

    for (i = 0; i < b->t->count; i++) {
        const struct tensor *t = &b->t->t[i];
        bool input = t->role == TENSOR_INPUT;

        if (!t->data) /* a stage that nobody asked for: kernels get NULL and take their fast paths */
            continue;
        if ((error = fp4k_malloc((void **)&b->d[i], t->bytes + BACKEND_GUARD_BYTES)))
            return cuda_fail(err, error, "memory for a tensor");
        error = fp4k_fill(b->d[i], backend_poison_of(t), t->bytes + BACKEND_GUARD_BYTES);
        if (error == 0 && input)
            error = fp4k_upload(b->d[i], t->data, t->bytes);
        if (error)
            return cuda_fail(err, error, "copy to the device");
    }
    return 0;
}

static int check_input_guard(const struct tensor *t, const uint8_t *d, struct fp4_error *err)
{
    uint8_t guard[BACKEND_GUARD_BYTES];
    size_t end = BACKEND_GUARD_BYTES;
    int error = fp4k_download(guard, d + t->bytes, BACKEND_GUARD_BYTES);

    if (error)
        return cuda_fail(err, error, "copy from the device");
    while (end && guard[end - 1] == backend_poison_of(t))
        end--;
    if (end)
        return fp4_fail(err, FP4_EFORMAT, "the kernel wrote beyond the end of the input '%s' (%zu bytes), up to %zu past it",
                        t->name, t->bytes, end);
    return 0;
}

/* Outputs and stages with their guards, which the caller looks at. */
static int fetch(struct cuda_case *b, struct fp4_error *err)
{
    size_t i;
    int error;

    for (i = 0; i < b->t->count; i++) {
        struct tensor *t = &b->t->t[i];

        if (t->role == TENSOR_INPUT) {
            if (check_input_guard(t, b->d[i], err))
                return -1;
            continue;
        }
        if (!t->data)
            continue;
        error = fp4k_download(t->data, b->d[i], t->bytes + BACKEND_GUARD_BYTES);
        if (error)
            return cuda_fail(err, error, "copy from the device");
        t->written = device_makes(t);
    }
    return 0;
}

int cuda_run(cuda_launcher *launcher, enum fp4k_isa isa, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct cuda_case b;
    size_t i;
    int error, status = -1;

    memset(&b, 0, sizeof b);
    b.t = t;
    if (prepare(&b, err) == 0) {
        if ((error = launcher(isa, c, &b)))
            cuda_fail(err, error, "launch");
        else if ((error = fp4k_synchronize()))
            cuda_fail(err, error, "kernel");
        else
            status = fetch(&b, err);
    }
    for (i = 0; i < t->count; i++)
        if (b.d[i])
            fp4k_free(b.d[i]);
    return status;
}

/* ---- the device ---------------------------------------------------------------------------------------------------------------------------------- */

int cuda_available(enum fp4k_isa isa, struct fp4_error *err)
{
    struct fp4k_device d;
    char reason[256];
    int error, count = fp4k_device_count(reason, sizeof reason);

    if (count == 0)
        return fp4_fail(err, FP4_ESUPPORT, "%s", reason);
    if (worker_device >= (unsigned)count)
        return fp4_fail(err, FP4_ESUPPORT, "there is no device %u: the driver shows %d, counted from 0", worker_device, count);
    if ((error = fp4k_device_info((int)worker_device, &d)))
        return cuda_fail(err, error, "device properties");
    if (fp4k_supports(isa, d.major, d.minor, reason, sizeof reason))
        return fp4_fail(err, FP4_ESUPPORT, "%s: %s", d.name, reason);
    if ((error = fp4k_device_select((int)worker_device)))
        return cuda_fail(err, error, "choice of the device");
    return 0;
}

void cuda_describe(char *text, size_t size)
{
    struct fp4k_device d;

    if (fp4k_device_info((int)worker_device, &d))
        snprintf(text, size, "no device");
    else
        snprintf(text, size, "%s, compute capability %d.%d, driver CUDA %d.%d, runtime %d.%d, built for %s", d.name, d.major,
                 d.minor, d.driver / 1000, d.driver % 1000 / 10, d.runtime / 1000, d.runtime % 1000 / 10, fp4k_architectures());
}
#endif

int cuda_supports(const struct fp4_case *c, struct fp4_error *err)
{
    if (case_check(c, err))
        return -1;
    if (c->op == OP_RHT_QUANTIZE && c->knob[KNOB_SUM] == FP4_SUM_EXACT)
        return fp4_fail(err, FP4_ESUPPORT, "the kernels have no exact sum: it is the reference's");
    if (rs_model_row(c->knob[KNOB_RS])->model.map == FP4_MAP_CUSTOM)
        return fp4_fail(err, FP4_ESUPPORT, "the kernels have the byte maps of `fp4check list rs-models`, not a measured one");
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------------------------------------- */

#ifdef FP4_HAVE_CUDA
#define ROW(id, isa, text)                                                                       \
    static int available_##id(struct fp4_error *err)                                             \
    {                                                                                            \
        return cuda_available(isa, err);                                                         \
    }                                                                                            \
    static int run_##id(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err) \
    {                                                                                            \
        return cuda_run(cuda_launch, isa, c, t, err);                                            \
    }                                                                                            \
    const struct backend_row backend_##id = { .name = #id,                                       \
                                              .help = text,                                      \
                                              .available = available_##id,                       \
                                              .supports = cuda_supports,                         \
                                              .run = run_##id,                                   \
                                              .describe = cuda_describe,                         \
                                              .isolated = true }
#else
static int not_built(struct fp4_error *err)
{
    return fp4_fail(err, FP4_ESUPPORT, "this build has no CUDA kernels: nvcc was not there (or CUDA=0)");
}

static int run_nothing(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    (void)c;
    (void)t;
    return not_built(err);
}

static void describe_nothing(char *text, size_t size)
{
    snprintf(text, size, "not built");
}

#define ROW(id, isa, text)                                               \
    const struct backend_row backend_##id = { .name = #id,               \
                                              .help = text,              \
                                              .available = not_built,    \
                                              .supports = cuda_supports, \
                                              .run = run_nothing,        \
                                              .describe = describe_nothing }
#endif

ROW(soft, FP4K_SOFT, "CUDA without FP4 instructions, any GPU from sm_80 on");
ROW(sm120, FP4K_SM120, "CUDA polyfill: hardware nearest conversion, software stochastic rounding");
ROW(sm100, FP4K_SM100, "native CUDA: cvt.rs.satfinite.e2m1x4 of sm_100a and sm_103a");

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend "te": Transformer Engine itself. Its library is no part of this build: a worker process finds it, loads it and calls it
 * (te_find.c, te_library.c), so that what it throws, prints or breaks stays there (te_ear.c).
 */
#include "backend_rows.h"
#include "te_ear.h"
#include "te_find.h"
#include "te_ops.h"
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct te_library library; /* of this process, a worker; no device in the program itself */
static bool loaded;

/* FP4CHECK_TE_TRY=1: cases are tried that the kernels are known not to compute on this device. */
static bool tries_all(void)
{
    const char *value = getenv("FP4CHECK_TE_TRY");

    return value && strcmp(value, "1") == 0;
}

static bool exported(enum te_path path)
{
    const struct te_api *a = &library.api;

    switch (path) {
    case TE_PATH_GROUP:
        return a->group_quantize != NULL;
    case TE_PATH_HADAMARD_TUNED:
    case TE_PATH_HADAMARD_VECTOR:
        return a->hadamard != NULL;
    case TE_PATH_HADAMARD_COL:
        return a->hadamard_amax && a->hadamard_col;
    case TE_PATH_HADAMARD_ROWCOL:
        return a->hadamard_amax && a->hadamard_rowcol;
    case TE_PATH_HADAMARD_GROUP:
        return a->hadamard_amax && a->hadamard_group;
    case TE_PATH_SWIZZLE:
        return a->swizzle != NULL;
    case TE_PATH_UNSWIZZLE:
        return a->unswizzle != NULL;
    default:
        return true;
    }
}

static int supports(const struct fp4_case *c, struct fp4_error *err)
{
    enum te_path path;

    if (case_check(c, err))
        return -1;
    path = te_path_of(c, err);
    if (path == TE_PATH_NONE)
        return -1;
    if (!loaded)
        return 0; /* the worker is asked again */
    if (!exported(path))
        return fp4_fail(err, FP4_ESUPPORT, "this version of Transformer Engine exports no %s", te_path_name(path));
    return tries_all() ? 0 : te_path_runs(c, path, library.major, library.minor, err);
}

static const char *path_name(const struct fp4_case *c)
{
    return te_path_name(te_path_of(c, NULL));
}

/* Pre-Blackwell devices have no nearest rounding. The block's values are codes, which stochastic rounding keeps, whatever is drawn. */
static const char *canary(void)
{
    return library.major < 10 ? "quantize/te/sr/1x16/te-soft/f32/identity/1x32/s0" : NULL;
}

/* A failure of a call, or an error that the kernels printed, or both. */
static int conclude(int status, struct fp4_error *err)
{
    struct fp4_error said;

    if (te_ear_end(&said) == 0)
        return status;
    if (status == 0)
        *err = said;
    else
        fp4_fail_in(err, "%.250s", said.msg);
    return -1;
}

static int available(struct fp4_error *err)
{
    char path[4096];
    bool asked;
    int status;

    if (te_find_library(path, sizeof path, &asked, err) || te_ear_open(err))
        return -1;
    te_ear_begin();
    status = conclude(te_library_open(&library, worker_device, err), err);
    loaded = status == 0;
    if (status && !asked)
        err->code = FP4_ESUPPORT; /* nobody named this library: that it cannot be used here is no fault */
    return status;
}

static int run(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    enum te_path path = te_path_of(c, err);
    struct te_work w;

    if (path == TE_PATH_NONE)
        return -1;
    te_ear_begin();
    te_work_begin(&w, &library, c, t, err);
    if (c->op == OP_QUANTIZE || c->op == OP_FOUR_OVER_SIX)
        te_run_quantize(&w, path);
    else if (c->op == OP_RHT_QUANTIZE)
        te_run_hadamard(&w, path);
    else if (c->op == OP_DEQUANTIZE)
        te_run_dequantize(&w);
    else
        te_run_swizzle(&w, path == TE_PATH_UNSWIZZLE);
    te_work_end(&w);
    return conclude(w.failed ? -1 : 0, err);
}

static void describe(char *text, size_t size)
{
    const struct te_library *l = &library;

    snprintf(text, size,
             "Transformer Engine %s, build id %.16s, %s, compute capability %d.%d, driver CUDA %d.%d, runtime %d.%d%s%.60s",
             *l->version ? l->version : "of unknown version", *l->build_id ? l->build_id : "none", l->device, l->major, l->minor,
             l->driver / 1000, l->driver % 1000 / 10, l->runtime / 1000, l->runtime % 1000 / 10, *l->unresolved ? ", without " : "",
             l->unresolved);
}

const struct backend_row backend_te = {
    .name = "te",
    .help = "Transformer Engine itself, its library loaded at run time",
    .available = available,
    .supports = supports,
    .run = run,
    .describe = describe,
    .path = path_name,
    .canary = canary,
    .isolated = true,
};

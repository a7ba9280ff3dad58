/* SPDX-License-Identifier: Apache-2.0 */
/* context.c: runs the reference again to explain a difference: what went in, what was scaled, which random byte was drawn. */
#include "backend.h"
#include "diff.h"
#include "grain.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool refuse(struct case_context *ctx, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(ctx->why, sizeof ctx->why, fmt, args);
    va_end(args);
    return false;
}

/* The reference of a huge case would need many times the memory of the dumps that are compared. */
static bool small_enough(struct case_context *ctx)
{
    struct case_tensors t = { 0 };
    struct fp4_error err = { 0 };
    size_t bytes = 0;

    if (case_describe(&ctx->fp4, &t, &err))
        return refuse(ctx, "%.300s", err.msg);
    for (size_t i = 0; i < t.count; i++)
        bytes += t.t[i].bytes;
    case_release(&t);
    if (bytes > CONTEXT_BYTES_MAX)
        return refuse(ctx, "the reference of this case takes %zu MiB: it is not run for a diff", bytes >> 20);
    return true;
}

static bool registered(const char *input)
{
    for (size_t i = 0; i < input_count(); i++)
        if (strcmp(input_data_name(i), input) == 0)
            return true;
    return false;
}

static bool parse(struct case_context *ctx, const char *name)
{
    struct fp4_error err = { 0 };
    const char *file = strstr(name, "/file-");

    if (case_parse(name, &ctx->fp4, &err)) {
        if (file)
            return refuse(ctx, "its input is a user's file: give that with --input FILE.safetensors");
        return refuse(ctx, "this version does not know the case: %.250s", err.msg);
    }
    if (!ctx->fp4.data && !registered(ctx->fp4.input))
        return refuse(ctx, "its input is a user's file, '%s': give that with --input FILE.safetensors", ctx->fp4.input);
    return true;
}

static bool inputs_agree(struct case_context *ctx, const struct dump_case *recorded)
{
    for (size_t i = 0; i < recorded->input_count; i++) {
        const struct dump_tensor *want = &recorded->inputs[i];
        const struct tensor *made = tensor_find(&ctx->runs[0].t, want->name);

        if (!made || made->bytes != want->bytes || !digest_equal(digest_bytes(made->data, made->bytes), want->digest))
            return refuse(ctx, "this version makes another input '%s' than the dump was made from", want->name);
    }
    return true;
}

static struct case_rerun *add_run(struct case_context *ctx, const struct backend_row *row, struct fp4_error *err)
{
    struct case_rerun *run = &ctx->runs[ctx->run_count++];

    snprintf(run->backend, sizeof run->backend, "%s", row->name);
    run->ok = !row->available(err) && !row->supports(&ctx->fp4, err) && !backend_run_case(row, &ctx->fp4, &run->t, err);
    return run;
}

static bool run_reference(struct case_context *ctx, const struct dump_case *recorded)
{
    const struct backend_row *ref = backend_find("ref");
    struct fp4_error err = { 0 };

    if (!ref)
        return refuse(ctx, "this build has no reference");
    if (!parse(ctx, recorded->name) || !small_enough(ctx))
        return false;
    if (!add_run(ctx, ref, &err)->ok)
        return refuse(ctx, "the reference cannot run it: %.250s", err.msg);
    return inputs_agree(ctx, recorded);
}

bool case_context_run(struct case_context *ctx, const struct dump_case *recorded)
{
    if (!ctx->tried) {
        ctx->tried = true;
        ctx->ok = run_reference(ctx, recorded);
    }
    return ctx->ok;
}

const struct case_rerun *case_context_rerun(struct case_context *ctx, const char *backend)
{
    const struct backend_row *row = backend_find(backend);
    struct fp4_error err;

    for (size_t i = 0; i < ctx->run_count; i++)
        if (strcmp(ctx->runs[i].backend, backend) == 0)
            return &ctx->runs[i];
    /* A device is left alone by a command that only reads files; what takes several cases at a time runs on the CPU. */
    if (!row || !row->threads || ctx->run_count == CONTEXT_RUNS)
        return NULL;
    return add_run(ctx, row, &err);
}

void case_context_release(struct case_context *ctx)
{
    for (size_t i = 0; i < ctx->run_count; i++)
        case_release(&ctx->runs[i].t);
    for (size_t i = 0; i < ctx->recovered_count; i++)
        free(ctx->recovered[i]);
    *ctx = (struct case_context){ 0 };
}

/* ---- the values at a place --------------------------------------------------------------------------------------------------- */

struct grain grain_of(const char *name)
{
    static const struct {
        const char *name;
        size_t columns;
    } rows[] = {
        { "codes", 1 },        { "scaled", 1 },         { "dequantized", 1 }, { "transformed", 1 }, { "block-amax", 16 },
        { "block-scale", 16 }, { "decoded-scale", 16 }, { "exactness", 16 },  { "random", 4 },      { "amax", 0 },
        { "global-scale", 0 }, { "codes-6", 1 },        { "codes-4", 1 },     { "scale-6", 16 },    { "scale-4", 16 },
        { "error-6", 16 },     { "error-4", 16 },       { "pick", 16 },
    };
    struct grain g = { "", 0 };
    size_t length = strlen(name);

    if (length > 2 && strcmp(name + length - 2, ".t") == 0) {
        g.suffix = ".t";
        length -= 2;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
            g.columns = rows[i].columns;
    return g;
}

static const struct tensor *find_with(struct case_tensors *t, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX + 4];

    snprintf(full, sizeof full, "%s%s", name, suffix);
    const struct tensor *found = tensor_find(t, full);
    return found && found->data && (found->role == TENSOR_INPUT || found->written) ? found : NULL;
}

/* Raw bits of element (row, col); false outside of the tensor. */
static bool value_at(const struct tensor *t, size_t row, size_t col, uint64_t *bits)
{
    if (!t)
        return false;
    size_t cols = t->ndim == 2 ? t->dims[1] : 1;
    if (row >= t->dims[0] || col >= cols)
        return false;
    *bits = tensor_element(t->data, t->dtype, row * cols + col);
    return true;
}

static void add_reference(struct diff_place *p, const struct tensor_diff *d, struct case_tensors *t)
{
    const struct tensor *same = find_with(t, d->name, "");

    if (same && same->dtype == d->dtype && same->ndim == d->ndim && value_at(same, p->row, p->col, &p->ref))
        p->has |= PLACE_REF;
}

static void add_input(struct diff_place *p, struct case_tensors *t, const struct grain *g, size_t row, size_t col)
{
    bool transposed = *g->suffix != '\0';
    const struct tensor *x = find_with(t, "x", "");
    const struct tensor *transformed = find_with(t, "transformed", g->suffix);
    const struct tensor *codes = find_with(t, "codes", "");

    if (x && x->ndim == 2) {
        p->input_row = transposed ? col : row;
        p->input_col = transposed ? row : col;
        p->has |= transposed ? PLACE_INPUT_AT : 0;
        p->input_dtype = x->dtype;
        if (value_at(x, p->input_row, p->input_col, &p->input))
            p->has |= PLACE_INPUT;
    } else if (codes && codes->role == TENSOR_INPUT && value_at(codes, row, col, &p->input)) {
        p->input_dtype = codes->dtype;
        p->has |= PLACE_INPUT;
    }
    if (transformed && value_at(transformed, row, col, &p->input)) { /* what the quantizer saw */
        p->input_dtype = transformed->dtype;
        p->has |= PLACE_INPUT;
    }
}

static void add_scale(struct diff_place *p, struct case_tensors *t, const struct grain *g, size_t row, size_t block)
{
    const struct tensor *scale = find_with(t, "block-scale", g->suffix);
    const struct tensor *amax = find_with(t, "block-amax", g->suffix);
    uint64_t bits;

    if (!scale)
        scale = find_with(t, "scales", "");
    if (scale && scale->dtype == FP4_E4M3 && scale->ndim == 2 && value_at(scale, row, block, &bits)) {
        p->scale = (uint8_t)bits;
        p->has |= PLACE_SCALE;
    }
    if (amax && amax->dtype == FP4_F32 && value_at(amax, row, block, &bits)) {
        p->block_amax = (uint32_t)bits;
        p->has |= PLACE_AMAX;
    }
}

static void add_random(struct diff_place *p, struct case_tensors *t, const struct grain *g, const struct fp4_case *c, size_t row,
                       size_t col)
{
    const struct tensor *words = find_with(t, "random", g->suffix);
    uint64_t bits;

    if (!words)
        words = find_with(t, "rbits", g->suffix);
    if (!words || words->dtype != FP4_U32 || !value_at(words, row, col / 4, &bits))
        return;
    p->rbits = (uint32_t)bits;
    p->has |= PLACE_RBITS;
    const struct fp4_rs_model_row *model = rs_model_row(c->knob[KNOB_RS]);
    if (model->model.rule != FP4_RS_HASH32) {
        p->byte = fp4_rs_model_byte(model->model, p->rbits, (unsigned)(col % 4));
        p->has |= PLACE_BYTE;
    }
}

static void explain_place(struct diff_place *p, const struct tensor_diff *d, struct case_context *ctx)
{
    const struct grain g = grain_of(d->name);
    uint64_t bits;

    add_reference(p, d, &ctx->runs[0].t);
    if (g.columns == 0)
        return;
    size_t col = p->col * g.columns;
    if (g.columns == 1) {
        add_input(p, &ctx->runs[0].t, &g, p->row, col);
        if (value_at(find_with(&ctx->runs[0].t, "scaled", g.suffix), p->row, col, &bits)) {
            p->scaled = (uint32_t)bits;
            p->has |= PLACE_SCALED;
        }
        add_random(p, &ctx->runs[0].t, &g, &ctx->fp4, p->row, col);
    } else if (*g.suffix) { /* a block of the transposed matrix: where it begins in the input */
        p->input_row = col;
        p->input_col = p->row;
        p->has |= PLACE_INPUT_AT;
    }
    add_scale(p, &ctx->runs[0].t, &g, p->row, col / 16);
}

void case_explain(struct case_diff *d, const struct dump_case *recorded, struct case_context *ctx)
{
    bool wanted = false;

    for (size_t i = 0; i < d->tensor_count; i++)
        wanted |= d->tensors[i].place_count > 0;
    if (!wanted)
        return;
    if (!case_context_run(ctx, recorded)) {
        snprintf(d->no_context, sizeof d->no_context, "%s", ctx->why);
        return;
    }
    for (size_t i = 0; i < d->tensor_count; i++)
        for (size_t k = 0; k < d->tensors[i].place_count; k++)
            explain_place(&d->tensors[i].places[k], &d->tensors[i], ctx);
}

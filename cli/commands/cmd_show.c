/* SPDX-License-Identifier: Apache-2.0 */
/* fp4check show: one case, readably: inputs, stages, scales, codes and what they decode to. */
#include "commands.h"
#include "diff.h"
#include "dump.h"
#include "select.h"
#include "term.h"
#include "worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct case_options select;
    const char *backend, *dump, *rows, *cols, *raw;
    struct string_list stages;
} opt;

#define COLUMNS 8 /* values a line: fits a terminal of 100 columns */
#define WIDTH 10

struct window {
    size_t r0, r1, c0, c1;
};

/* ---- elements -------------------------------------------------------------------------------------------------------------------------- */

static void number(char text[32], float v)
{
    if (v != v)
        snprintf(text, 32, "nan");
    else
        snprintf(text, 32, "%.6g", (double)v);
}

static uint64_t raw(const struct tensor *t, size_t i)
{
    uint64_t v = 0;
    size_t size = fp4_dtype_bytes(t->dtype, 1);

    if (t->dtype == FP4_E2M1)
        return t->data[i / 2] >> 4 * (i & 1) & 15u;
    memcpy(&v, t->data + i * size, size);
    return v;
}

static void element(char text[32], const struct tensor *t, size_t i, bool decoded)
{
    uint64_t v = raw(t, i);

    switch (t->dtype) {
    case FP4_F32:
    case FP4_F16:
    case FP4_BF16:
        number(text, fp4_load(t->data, t->dtype, i));
        break;
    case FP4_E2M1:
        if (decoded)
            snprintf(text, 32, "%s%g", v == 8 ? "-" : "", (double)(v == 8 ? 0.0f : e2m1_to_f32((e2m1_t){ (uint8_t)v })));
        else
            snprintf(text, 32, "%" PRIx64, v);
        break;
    case FP4_E4M3:
        if (decoded)
            number(text, e4m3_to_f32((e4m3_t){ (uint8_t)v }));
        else
            snprintf(text, 32, "%02" PRIx64, v);
        break;
    case FP4_U64:
        snprintf(text, 32, "%016" PRIx64, v);
        break;
    case FP4_U32:
        snprintf(text, 32, "%08" PRIx64, v);
        break;
    default:
        snprintf(text, 32, "%02" PRIx64, v);
    }
}

static void line_of(const char *label, const struct tensor *t, size_t row, size_t width, size_t c0, size_t c1, bool decoded)
{
    char text[32];
    size_t c;

    printf("    %-12s", label);
    for (c = c0; c < c1; c++) {
        element(text, t, row * width + c, decoded);
        printf(" %*s", t->dtype == FP4_U64 ? 16 : WIDTH, text);
    }
    putchar('\n');
}

static void header_of(const struct tensor *t, const char *place)
{
    char digest[33], shape[48];

    digest_print(digest_bytes(t->data, t->bytes), digest);
    if (t->ndim == 2)
        snprintf(shape, sizeof shape, "[%zu,%zu]", t->dims[0], t->dims[1]);
    else
        snprintf(shape, sizeof shape, "[%zu]", t->dims[0]);
    printf("%s%s%s  %s %s %s  xxh3 %s%s\n", term_on(stdout, STYLE_BOLD), t->name, term_off(stdout),
           t->role == TENSOR_INPUT    ? "input"
           : t->role == TENSOR_OUTPUT ? "output"
                                      : "stage",
           fp4_dtype_name(t->dtype), shape, digest, place);
}

static void show_tensor(const struct tensor *t, const struct window *w)
{
    size_t rows = t->ndim == 2 ? t->dims[0] : 1, width = t->ndim == 2 ? t->dims[1] : t->dims[0];
    size_t r1 = w->r1 < rows ? w->r1 : rows, c1 = w->c1 < width ? w->c1 : width, r, c;
    size_t per_line = t->dtype == FP4_U64 ? 4 : COLUMNS;

    header_of(t, "");
    for (r = t->ndim == 2 ? w->r0 : 0; r < r1; r++)
        for (c = w->c0; c < c1; c += per_line) {
            size_t end = c + per_line < c1 ? c + per_line : c1;
            char label[64];

            if (t->ndim == 2)
                snprintf(label, sizeof label, "%zu,%zu", r, c);
            else
                snprintf(label, sizeof label, "%zu", c);
            line_of(label, t, r, width, c, end, false);
            if (t->dtype == FP4_E2M1 || t->dtype == FP4_E4M3)
                line_of("", t, r, width, c, end, true);
        }
}

/* ---- blocks: what a person wants to see of a quantizer ---------------------------------------------------------------------------------------- */

struct blocks {
    const struct tensor *x, *transformed, *amax, *global, *block_amax, *scale, *scaled, *random, *codes, *dequantized;
    const struct tensor *scales[2], *errors[2], *pick; /* four-over-six: of both candidates, by FP4_MAP_TO_* */
    bool transposed;
};

static const struct tensor *with_suffix(struct case_tensors *t, const char *name, const char *suffix)
{
    char full[TENSOR_NAME_MAX];
    const struct tensor *found;

    snprintf(full, sizeof full, "%s%s", name, suffix);
    found = tensor_find(t, full);
    return found && found->data ? found : NULL;
}

static bool blocks_of(struct case_tensors *t, const char *suffix, struct blocks *b)
{
    b->transposed = *suffix != '\0';
    b->x = with_suffix(t, "x", "");
    b->transformed = with_suffix(t, "transformed", suffix);
    b->amax = with_suffix(t, "amax", suffix);
    b->global = with_suffix(t, "global-scale", suffix);
    b->block_amax = with_suffix(t, "block-amax", suffix);
    b->scale = with_suffix(t, "block-scale", suffix);
    b->scaled = with_suffix(t, "scaled", suffix);
    b->random = with_suffix(t, "random", suffix);
    if (!b->random)
        b->random = with_suffix(t, "rbits", suffix);
    b->codes = with_suffix(t, "codes", suffix);
    b->dequantized = with_suffix(t, "dequantized", suffix);
    b->scales[FP4_MAP_TO_6] = with_suffix(t, "scale-6", suffix);
    b->scales[FP4_MAP_TO_4] = with_suffix(t, "scale-4", suffix);
    b->errors[FP4_MAP_TO_6] = with_suffix(t, "error-6", suffix);
    b->errors[FP4_MAP_TO_4] = with_suffix(t, "error-4", suffix);
    b->pick = with_suffix(t, "pick", suffix);
    return b->codes && b->scale;
}

/* x along a line of the output: a row, or a column when the output is transposed. */
static void input_line(const struct blocks *b, size_t line, size_t c0, size_t c1)
{
    char text[32];
    size_t c;

    if (!b->x)
        return;
    printf("    %-12s", "x");
    for (c = c0; c < c1; c++) {
        element(text, b->x, b->transposed ? c * b->x->dims[1] + line : line * b->x->dims[1] + c, false);
        printf(" %*s", WIDTH, text);
    }
    putchar('\n');
}

static void random_line(const struct blocks *b, size_t line, size_t c0, size_t c1)
{
    char text[32];
    size_t c;

    printf("    %-12s", "rbits");
    for (c = c0; c < c1; c += 4) {
        element(text, b->random, line * b->random->dims[1] + c / 4, false);
        printf(" %*s%*s", WIDTH, text, c + 4 < c1 ? 3 * (WIDTH + 1) : 0, "");
    }
    putchar('\n');
}

static float f32_of(const struct tensor *t, size_t i)
{
    return t ? fp4_load(t->data, FP4_F32, i) : 0.0f;
}

/* Both candidates of a block, as far as the stages tell. */
static void candidates_line(const struct blocks *b, size_t at)
{
    static const int goal[2] = { [FP4_MAP_TO_6] = 6, [FP4_MAP_TO_4] = 4 };
    char value[32], error[32];
    int k;

    if (!b->scales[0] || !b->scales[1] || !b->errors[0] || !b->errors[1] || !b->pick)
        return;
    for (k = FP4_MAP_TO_6; k <= FP4_MAP_TO_4; k++) {
        number(value, e4m3_to_f32((e4m3_t){ b->scales[k]->data[at] }));
        number(error, f32_of(b->errors[k], at));
        printf("    map-to-%d     scale 0x%02x = %s, error %s (0x%08x)%s\n", goal[k], b->scales[k]->data[at], value, error,
               fp4_f32_bits(f32_of(b->errors[k], at)), b->pick->data[at] == k ? ": stored" : "");
    }
}

static void show_block(const struct blocks *b, size_t line, size_t block)
{
    size_t width = b->codes->dims[1], first = 16 * block, end = first + 16 < width ? first + 16 : width, c;
    size_t per_line = b->scale->dims[1], at = line * per_line + block;
    uint8_t byte = b->scale->data[at];
    char amax[32], value[32];

    number(amax, f32_of(b->block_amax, at));
    number(value, e4m3_to_f32((e4m3_t){ byte }));
    printf("  %s %zu, block %zu (%s %zu-%zu): amax %s, scale 0x%02x = %s\n", b->transposed ? "column" : "row", line, block,
           b->transposed ? "rows" : "columns", first, end - 1, b->block_amax ? amax : "?", byte, value);
    candidates_line(b, at);
    for (c = first; c < end; c += COLUMNS) {
        size_t stop = c + COLUMNS < end ? c + COLUMNS : end;

        if (b->transformed)
            line_of("transformed", b->transformed, line, width, c, stop, false);
        else
            input_line(b, line, c, stop);
        if (b->scaled)
            line_of("scaled", b->scaled, line, width, c, stop, false);
        if (b->random)
            random_line(b, line, c, stop);
        line_of("code", b->codes, line, width, c, stop, false);
        line_of("decodes to", b->codes, line, width, c, stop, true);
        if (b->dequantized)
            line_of("dequantized", b->dequantized, line, width, c, stop, false);
        if (stop < end)
            putchar('\n');
    }
}

static void show_blocks(const struct blocks *b, const struct window *w)
{
    size_t line, block, lines = b->codes->dims[0], blocks = b->scale->dims[1];

    header_of(b->codes, "");
    header_of(b->scale, "");
    if (b->amax) {
        printf("amax %.9g (0x%08x)", (double)f32_of(b->amax, 0), fp4_f32_bits(f32_of(b->amax, 0)));
        if (b->amax->dims[0] > 1)
            printf(" of line 0, one a line");
        if (b->global)
            printf(", global scale S_enc %.9g (0x%08x)", (double)f32_of(b->global, 0), fp4_f32_bits(f32_of(b->global, 0)));
        putchar('\n');
    }
    for (line = w->r0; line < lines && line < w->r1; line++)
        for (block = w->c0 / 16; block < blocks && 16 * block < w->c1; block++)
            show_block(b, line, block);
}

/* ---- from a dump ---------------------------------------------------------------------------------------------------------------------------------- */

static int take_bytes(struct case_tensors *t, const struct dump_tensor *from, size_t count)
{
    size_t i, k, missing = 0;

    for (i = 0; i < count; i++)
        for (k = 0; k < t->count; k++)
            if (strcmp(t->t[k].name, from[i].name) == 0 && t->t[k].role != TENSOR_INPUT && t->t[k].bytes == from[i].bytes) {
                if (!from[i].data) {
                    missing++;
                    continue;
                }
                t->t[k].data = malloc(from[i].bytes ? from[i].bytes : 1);
                if (!t->t[k].data)
                    return -1;
                memcpy(t->t[k].data, from[i].data, from[i].bytes);
            }
    if (missing)
        term_note("%zu outputs or stages are in the dump as digests only (run with --bytes all --stages to keep them)", missing);
    return 0;
}

static int from_dump(const struct fp4_case *c, const char *name, struct case_tensors *t, struct fp4_error *err)
{
    struct dump_file *f = dump_read_open(opt.dump, err);
    const struct dump_case_result *r;
    struct dump_case d;
    ptrdiff_t at;
    int status = -1;

    if (!f)
        return -1;
    memset(&d, 0, sizeof d);
    at = dump_find(f, name);
    if (at < 0)
        fp4_fail(err, FP4_EUSAGE, "%s: no case '%s'", opt.dump, name);
    else if (dump_case_read(f, (size_t)at, &d, err) == 0 && case_describe(c, t, err) == 0 && case_inputs(c, t, err) == 0) {
        r = opt.backend ? dump_case_result_find(&d, opt.backend) : d.result_count ? &d.results[0] : NULL;
        if (!r)
            fp4_fail(err, FP4_EUSAGE, "%s: case '%s' has no result of backend '%s'", opt.dump, name,
                     opt.backend ? opt.backend : "any");
        else if (r->status != DUMP_OK)
            fp4_fail(err, FP4_EUSAGE, "%s: backend '%s' %s this case: %s", opt.dump, r->backend,
                     r->status == DUMP_SKIPPED ? "skipped" : "failed on", r->reason ? r->reason : "");
        else if (take_bytes(t, r->t, r->count))
            fp4_fail(err, FP4_EIO, "out of memory");
        else
            status = 0;
    }
    dump_case_release(&d);
    dump_read_close(f);
    return status;
}

/* ---- the command ------------------------------------------------------------------------------------------------------------------------------------ */

static int window_option(const char *text, const char *name, size_t *from, size_t *to, struct fp4_error *err)
{
    const char *colon;
    char first[32];
    uint64_t a, b;

    if (!text)
        return 0;
    colon = strchr(text, ':');
    snprintf(first, sizeof first, "%.*s", (int)(colon ? colon - text : (ptrdiff_t)strlen(text)), text);
    if (u64_from_text(first, &a) || (colon && u64_from_text(colon + 1, &b)))
        return fp4_fail(err, FP4_EUSAGE, "--%s is A or A:B (B not included), not '%s'", name, text);
    *from = (size_t)a;
    *to = colon ? (size_t)b : (size_t)a + 1;
    if (*to <= *from)
        return fp4_fail(err, FP4_EUSAGE, "--%s '%s' is an empty range", name, text);
    return 0;
}

static bool stage_wanted(const char *name)
{
    size_t i;

    for (i = 0; i < opt.stages.count; i++)
        if (strcmp(opt.stages.items[i], name) == 0)
            return true;
    return false;
}

static int check_stage_names(struct case_tensors *t, struct fp4_error *err)
{
    char known[400] = "";
    size_t i, k;

    for (k = 0; k < t->count; k++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", k ? ", " : "", t->t[k].name);
    for (i = 0; i < opt.stages.count; i++)
        if (!tensor_find(t, opt.stages.items[i]))
            return fp4_fail(err, FP4_EUSAGE, "the case has no tensor '%s'; it has %s", opt.stages.items[i], known);
    return 0;
}

/* A window that shows nothing of any tensor is a mistake; --rows and --cols are only checked when they were given. */
static int check_window(const struct case_tensors *t, const struct window *w, struct fp4_error *err)
{
    size_t rows = 0, cols = 0, i;

    for (i = 0; i < t->count; i++) {
        size_t r = t->t[i].ndim == 2 ? t->t[i].dims[0] : 1, c = t->t[i].dims[t->t[i].ndim == 2];

        rows = r > rows ? r : rows;
        cols = c > cols ? c : cols;
    }
    if (opt.rows && w->r0 >= rows)
        return fp4_fail(err, FP4_EUSAGE, "--rows '%s': no tensor of the case has more than %zu rows", opt.rows, rows);
    if (opt.cols && w->c0 >= cols)
        return fp4_fail(err, FP4_EUSAGE, "--cols '%s': no tensor of the case has more than %zu columns", opt.cols, cols);
    return 0;
}

/* Inputs of a quantizer whose values its blocks show: their first line is enough. */
static bool shown_in_blocks(const struct tensor *t)
{
    return strcmp(t->name, "x") == 0 || strncmp(t->name, "rbits", 5) == 0;
}

static void show_inputs(const struct case_tensors *t, const struct window *w)
{
    size_t i;

    for (i = 0; i < t->count; i++) {
        if (!t->t[i].data || t->t[i].role != TENSOR_INPUT)
            continue;
        if (shown_in_blocks(&t->t[i]))
            header_of(&t->t[i], "");
        else
            show_tensor(&t->t[i], w);
    }
}

static void show_all(const struct fp4_case *c, struct case_tensors *t, const struct window *w)
{
    struct blocks row, col;
    size_t i;

    if ((c->op == OP_QUANTIZE || c->op == OP_RHT_QUANTIZE || c->op == OP_FOUR_OVER_SIX) && !opt.stages.count) {
        show_inputs(t, w);
        if (blocks_of(t, "", &row))
            show_blocks(&row, w);
        if (blocks_of(t, ".t", &col))
            show_blocks(&col, w);
        return;
    }
    for (i = 0; i < t->count; i++)
        if (t->t[i].data && (!opt.stages.count || stage_wanted(t->t[i].name)))
            show_tensor(&t->t[i], w);
}

static int compute(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    const struct backend_row *b = backend_find(opt.backend ? opt.backend : "ref");

    if (!b)
        return fp4_fail(err, FP4_EUSAGE, "unknown backend '%s'; `fp4check list backends` has them", opt.backend);
    if (backend_available(b, err) || b->supports(c, err))
        return fp4_fail_in(err, "backend '%s'", b->name);
    return backend_run_case(b, c, t, err);
}

/* The bytes of one tensor as they are (little-endian, row-major, packed as docs/dump-format.md says), for a foreign kernel to read. */
static int write_raw(struct case_tensors *t, struct fp4_error *err)
{
    const struct tensor *x = opt.stages.count == 1 ? tensor_find(t, opt.stages.items[0]) : NULL;
    bool to_stdout = strcmp(opt.raw, "-") == 0;
    FILE *out;
    bool ok;

    if (!x)
        return fp4_fail(err, FP4_EUSAGE, "--raw writes one tensor: name it with --stage");
    if (!x->data)
        return fp4_fail(err, FP4_EUSAGE, "the bytes of '%s' are not at hand", x->name);
    out = to_stdout ? stdout : fopen(opt.raw, "wb");
    if (!out)
        return fp4_fail(err, FP4_EIO, "cannot write '%s': %s", opt.raw, strerror(errno));
    ok = fwrite(x->data, 1, x->bytes, out) == x->bytes && fflush(out) == 0;
    if (!to_stdout)
        ok = fclose(out) == 0 && ok;
    return ok ? 0 : fp4_fail(err, FP4_EIO, "cannot write '%s': %s", opt.raw, strerror(errno));
}

static void print_case(const struct fp4_case *c, const char *name, struct case_tensors *t, const struct window *w)
{
    printf("%s  (%s%s%s)\n", name, opt.dump ? opt.dump : "backend ", opt.dump && opt.backend ? ":" : "",
           opt.backend ? opt.backend
           : opt.dump  ? ""
                       : "ref");
    show_all(c, t, w);
}

static int show_case(const char *text, struct fp4_error *err)
{
    struct window w = { 0, 2, 0, 16 };
    struct case_tensors t;
    struct fp4_case c;
    char name[CASE_NAME_MAX];
    int status = -1;

    memset(&t, 0, sizeof t);
    if (workers_set(&opt.select, err) || inputs_registered(&opt.select, err) ||
        window_option(opt.rows, "rows", &w.r0, &w.r1, err) || window_option(opt.cols, "cols", &w.c0, &w.c1, err) ||
        case_parse(text, &c, err))
        return -1;
    case_name(&c, name);
    if ((opt.dump ? from_dump(&c, name, &t, err) : compute(&c, &t, err)) == 0 && check_stage_names(&t, err) == 0 &&
        check_window(&t, &w, err) == 0) {
        status = 0;
        if (opt.raw)
            status = write_raw(&t, err);
        else
            print_case(&c, name, &t, &w);
    }
    case_release(&t);
    return status;
}

static int show_main(int argc, char **argv)
{
    struct fp4_error err;
    int status = EXIT_PASS;

    if (argc != 1) {
        term_error("show: give one case name (`fp4check list` has them)");
        return EXIT_TROUBLE;
    }
    if (show_case(argv[0], &err)) {
        term_error("show: %s", err.msg);
        status = EXIT_TROUBLE;
    }
    worker_stop_all();
    input_release_all();
    return status;
}

static struct option_row options[] = {
    { "backend", 'b', OPT_STRING, "NAME", "backend that computes the case (ref), or whose result of the dump is shown", "backend",
      &opt.backend },
    DEVICE_OPTION(opt.select),
    TE_LIB_OPTION(opt.select),
    { "dump", 'd', OPT_STRING, "FILE", "show what a dump holds instead of computing", "file", &opt.dump },
    { "rows", 'r', OPT_STRING, "A[:B]", "rows (lines of a transposed output) A up to but not including B (0:2)", NULL, &opt.rows },
    { "cols", 'k', OPT_STRING, "A[:B]", "columns, or packed positions (0:16)", NULL, &opt.cols },
    { "stage", 0, OPT_LIST, "NAME", "only this tensor, e.g. codes, block-scale, scaled, transformed.t", NULL, &opt.stages },
    { "raw", 0, OPT_STRING, "FILE", "write the bytes of the one --stage to FILE (- is standard output) instead", "file", &opt.raw },
    RS_MODEL_OPTION(opt.select, "file of the rs-model that the case names"),
    { "input", 0, OPT_LIST, "FILE[:TENSOR]", "safetensors file that the case names by digest", "file", &opt.select.inputs },
    { NULL, 0, OPT_FLAG, NULL, NULL, NULL, NULL },
};

struct command cmd_show = {
    .name = "show",
    .summary = "print a case readably: inputs, stages, scales, codes, decoded values",
    .arguments = "CASE",
    .examples = "  fp4check show quantize/te/rn/1x16/bf16/ties/32x64/s0\n"
                "  fp4check show --rows 4:6 --cols 16:32 quantize/te/sr/1x16/bf16/normal/64x128/s0\n"
                "  fp4check show --stage transformed.t rht-quantize/te/rn/bf16/impulses/64x128/s0\n"
                "  fp4check show --dump b200.json --backend sm100 quantize/te/rn/1x16/bf16/ties/32x64/s0\n",
    .options = options,
    .run = show_main,
};

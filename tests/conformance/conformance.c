/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conformance: libfp4ref against vectors that other people's code computed.
 *
 *     conformance DIR
 *
 * DIR holds INDEX.json and the *.safetensors files it names, plain or compressed (NAME.zst). Every case is one row of the
 * index; a tensor that differs is reported once, with the place of its first difference. The last line is
 * "N passed, M failed". Exit status: 0 all passed, 1 something failed, 2 the input could not be used.
 *
 * Suites
 *   te       Transformer Engine's Python reference, on a CPU: rowwise codes, scales and amax, and the same of the transposed
 *            input (with_rht: of the input transformed by 16 along its rows). Recipe FP4_RECIPE_TE_REF. 377 of them are
 *            four-over-six, 186 of those with the fast error.
 *   tegemm   products of its quantized operands, to f32 and to bf16, and the operands themselves. Recipe FP4_RECIPE_TE_REF.
 *   taostd   torchao's standard nearest quantizer, with the amax given. Recipe FP4_RECIPE_TORCHAO.
 *   tao46    torchao's four-over-six, with the amax given, under either NaN policy (no input holds a NaN); and the
 *            dequantization of its own codes, scales and amax.
 *
 * What the references do that kernels do not, and no specification says in one place (found by these vectors):
 *   - te: the rowwise output of a with_rht case is the plain input; only the transposed one is transformed, and its amax is
 *     taken after the transform and its rounding to bf16. Rounding the exact sum once, and the tensor-core model, both give
 *     these bytes, so the vectors do not tell the sums apart.
 *   - te: the sign is taken by y < 0. A scaled -0, whether from a -0 or by underflow of the product, is code 0; a negative
 *     number that only rounds to zero is code 8.
 *   - te: amax 0 gives the largest float as the global scale, not 1; all outputs are zero either way.
 *   - tao46: where a block contains Inf the reference's NaN payloads are whatever the machine made, so NaN counts as equal
 *     to NaN, and everything else is compared as bits.
 */
#include "fp4ref.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { MAX_FILES = 8, SHOWN = 20 };

/* ---- trouble ---------------------------------------------------------------------------------------------------------------- */

static void trouble(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

static void trouble(const char *fmt, ...)
{
    va_list ap;

    fputs("conformance: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(2);
}

static void *allocate(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p)
        trouble("out of memory");
    return p;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------- */

struct bytes {
    uint8_t *data;
    size_t size;
};

static bool read_plain(const char *path, struct bytes *out)
{
    FILE *in = fopen(path, "rb");
    size_t room = 1 << 16;

    if (!in)
        return false;
    out->data = allocate(room, 1);
    out->size = 0;
    for (size_t got; (got = fread(out->data + out->size, 1, room - out->size, in)) > 0;) {
        out->size += got;
        if (out->size == room) {
            uint8_t *more = realloc(out->data, room *= 2);

            if (!more)
                trouble("out of memory");
            out->data = more;
        }
    }
    if (ferror(in))
        trouble("cannot read '%s'", path);
    fclose(in);
    return true;
}

/* DIR/NAME, or DIR/NAME.zst unpacked. One zero byte follows the data. */
static struct bytes read_file(const char *dir, const char *name)
{
    char path[4096];
    struct bytes packed;
    struct bytes out;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (read_plain(path, &out)) {
        uint8_t *ended = realloc(out.data, out.size + 1);

        if (!ended)
            trouble("out of memory");
        ended[out.size] = 0;
        out.data = ended;
        return out;
    }
    snprintf(path, sizeof path, "%s/%s.zst", dir, name);
    if (!read_plain(path, &packed))
        trouble("neither '%s/%s' nor '%s' can be opened", dir, name, path);
    const unsigned long long size = ZSTD_getFrameContentSize(packed.data, packed.size);

    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > (1ull << 32))
        trouble("'%s' is no zstd file of known size", path);
    out.data = allocate((size_t)size + 1, 1);
    out.size = ZSTD_decompress(out.data, (size_t)size, packed.data, packed.size);
    if (ZSTD_isError(out.size) || out.size != size)
        trouble("'%s' is damaged: %s", path, ZSTD_isError(out.size) ? ZSTD_getErrorName(out.size) : "it ends early");
    free(packed.data);
    return out;
}

/* ---- safetensors: 8 bytes of header length, JSON header, raw little-endian tensors ------------------------------------------------ */

struct archive {
    char name[128];
    struct bytes file;
    cJSON *header;
    const uint8_t *base;
    size_t base_size;
};

struct tensor {
    const void *data;
    size_t count;
    size_t dims[2];
    enum fp4_dtype dtype;
};

static void archive_open(struct archive *a, const char *dir, const char *name)
{
    uint64_t length = 0;

    snprintf(a->name, sizeof a->name, "%s", name);
    a->file = read_file(dir, name);
    if (a->file.size < 8)
        trouble("'%s' is shorter than its header length", name);
    for (unsigned i = 8; i-- > 0;)
        length = length << 8 | a->file.data[i];
    if (length > a->file.size - 8)
        trouble("'%s': a header of %" PRIu64 " bytes does not fit the file", name, length);
    a->header = cJSON_ParseWithLength((const char *)a->file.data + 8, (size_t)length);
    if (!cJSON_IsObject(a->header))
        trouble("'%s': the header is no JSON object", name);
    a->base = a->file.data + 8 + length;
    a->base_size = a->file.size - 8 - (size_t)length;
    if ((uintptr_t)a->base % 4 != 0) { /* tensors are read in place as words */
        memmove(a->file.data, a->base, a->base_size);
        a->base = a->file.data;
    }
}

static enum fp4_dtype dtype_of(const char *name)
{
    static const struct {
        const char *name;
        enum fp4_dtype dtype;
    } names[] = { { "F32", FP4_F32 }, { "F16", FP4_F16 }, { "BF16", FP4_BF16 }, { "U8", FP4_U8 } };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i].name) == 0)
            return names[i].dtype;
    }
    trouble("tensors of type '%s' are not known", name);
}

static struct tensor find_tensor(const struct archive *a, const char *name)
{
    const cJSON *row = cJSON_GetObjectItemCaseSensitive(a->header, name);
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(row, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(row, "shape");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(row, "data_offsets");
    struct tensor t = { NULL, 1, { 1, 1 }, FP4_U8 };
    const int rank = cJSON_GetArraySize(shape);

    if (!cJSON_IsString(dtype) || rank < 1 || rank > 2 || cJSON_GetArraySize(offsets) != 2)
        trouble("'%s': tensor '%s' is missing or malformed", a->name, name);
    t.dtype = dtype_of(dtype->valuestring);
    for (int i = 0; i < rank; i++) {
        const double dim = cJSON_GetArrayItem(shape, i)->valuedouble;

        if (!(dim >= 0 && dim < 1e9))
            trouble("'%s': tensor '%s' has no usable shape", a->name, name);
        t.dims[i] = (size_t)dim;
        t.count *= t.dims[i];
    }
    const double begin = cJSON_GetArrayItem(offsets, 0)->valuedouble;
    const double end = cJSON_GetArrayItem(offsets, 1)->valuedouble;
    const size_t bytes = fp4_dtype_bytes(t.dtype, t.count);

    if (!(begin >= 0 && end >= begin && end <= (double)a->base_size) || (size_t)(end - begin) != bytes)
        trouble("'%s': tensor '%s' does not fit the file", a->name, name);
    t.data = a->base + (size_t)begin;
    if ((uintptr_t)t.data % (t.dtype == FP4_F32 ? 4 : t.dtype == FP4_U8 ? 1 : 2) != 0) {
        void *aligned = allocate(bytes, 1); /* kept until the program ends */

        memcpy(aligned, t.data, bytes);
        t.data = aligned;
    }
    return t;
}

/* ---- the index -------------------------------------------------------------------------------------------------------------------- */

struct run {
    const char *dir;
    struct archive archives[MAX_FILES];
    unsigned archive_count;
    unsigned passed, failed, shown;
};

struct a_case {
    const cJSON *row;
    const char *suite, *name;
    const struct archive *archive;
    bool ok;
};

static const char *text(const cJSON *row, const char *key, const char *otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);

    return cJSON_IsString(item) ? item->valuestring : otherwise;
}

static bool flag(const cJSON *row, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, key));
}

static const char *required(const cJSON *row, const char *key)
{
    const char *value = text(row, key, NULL);

    if (!value)
        trouble("INDEX.json: a case has no \"%s\"", key);
    return value;
}

static const struct archive *archive_named(struct run *run, const char *name)
{
    for (unsigned i = 0; i < run->archive_count; i++) {
        if (strcmp(run->archives[i].name, name) == 0)
            return &run->archives[i];
    }
    if (run->archive_count == MAX_FILES)
        trouble("more than %d files of tensors", MAX_FILES);
    archive_open(&run->archives[run->archive_count], run->dir, name);
    return &run->archives[run->archive_count++];
}

static struct tensor tensor_of(const struct a_case *c, const char *suffix, enum fp4_dtype dtype)
{
    char name[256];
    struct tensor t;

    snprintf(name, sizeof name, "%s.%s", c->name, suffix);
    t = find_tensor(c->archive, name);
    if (t.dtype != dtype)
        trouble("tensor '%s' is not of type %s", name, fp4_dtype_name(dtype));
    return t;
}

/* ---- comparing -------------------------------------------------------------------------------------------------------------------- */

static uint32_t element_bits(const void *data, enum fp4_dtype dtype, size_t i)
{
    if (dtype == FP4_U8)
        return ((const uint8_t *)data)[i];
    return dtype == FP4_F32 ? ((const uint32_t *)data)[i] : ((const uint16_t *)data)[i];
}

static bool is_nan(uint32_t bits, enum fp4_dtype dtype)
{
    return dtype == FP4_F32 ? (bits & 0x7FFFFFFFu) > 0x7F800000u : dtype == FP4_BF16 && (bits & 0x7FFFu) > 0x7F80u;
}

/* Counts the case as failed when got is not the tensor; prints the first difference. */
static void compare(struct run *run, struct a_case *c, const char *suffix, enum fp4_dtype dtype, size_t rows, size_t cols,
                    const void *got)
{
    const struct tensor want = tensor_of(c, suffix, dtype);
    const int digits = dtype == FP4_U8 ? 2 : dtype == FP4_F32 ? 8 : 4;
    size_t differing = 0;
    size_t first = 0;

    if (want.count != rows * cols)
        trouble("tensor '%s.%s' has %zu elements where the case needs %zu x %zu", c->name, suffix, want.count, rows, cols);
    for (size_t i = want.count; i-- > 0;) {
        const uint32_t a = element_bits(got, dtype, i);
        const uint32_t b = element_bits(want.data, dtype, i);

        if (a != b && !(is_nan(a, dtype) && is_nan(b, dtype))) {
            differing++;
            first = i;
        }
    }
    if (differing == 0)
        return;
    c->ok = false;
    if (run->shown++ >= SHOWN)
        return;
    printf("%s %s: %zu of %zu differ, first at (%zu, %zu): got %0*" PRIx32 ", want %0*" PRIx32 " [%s %s %s]\n", c->name, suffix,
           differing, want.count, first / cols, first % cols, digits, element_bits(got, dtype, first), digits,
           element_bits(want.data, dtype, first), text(c->row, "dtype", ""), text(c->row, "data", ""), text(c->row, "tile", ""));
}

/* ---- suites ------------------------------------------------------------------------------------------------------------------------ */

struct direction {
    size_t lines, packed, amaxes;
    struct fp4_quantized q;
};

static struct direction direction(size_t lines, size_t packed, bool row_scaled)
{
    struct direction d = { .lines = lines, .packed = packed, .amaxes = row_scaled ? lines : 1 };

    d.q.codes = allocate(lines * (packed / 2), 1);
    d.q.scales = allocate(lines * ((packed + 15) / 16), 1);
    d.q.amax = allocate(d.amaxes, sizeof(float));
    return d;
}

static void release(struct direction *d)
{
    free(d->q.codes);
    free(d->q.scales);
    free(d->q.amax);
}

static void compare_direction(struct run *run, struct a_case *c, const struct direction *d, const char *const names[3])
{
    compare(run, c, names[0], FP4_U8, d->lines, d->packed / 2, d->q.codes);
    compare(run, c, names[1], FP4_U8, d->lines, (d->packed + 15) / 16, d->q.scales);
    compare(run, c, names[2], FP4_F32, d->amaxes, 1, d->q.amax);
}

static unsigned number(const cJSON *row, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 1e9))
        trouble("INDEX.json: a case has no number \"%s\"", key);
    return (unsigned)item->valuedouble;
}

static enum fp4_four_error four_error(const struct a_case *c, const char *key, const char *mae, const char *mse)
{
    const char *name = required(c->row, key);

    if (strcmp(name, mae) != 0 && strcmp(name, mse) != 0)
        trouble("case %s: the error '%s' is not known", c->name, name);
    return strcmp(name, mae) == 0 ? FP4_FOUR_MAE : FP4_FOUR_MSE;
}

static void run_te_four(struct run *run, struct a_case *c)
{
    static const char *const row_names[3] = { "q", "s", "amax" };
    static const char *const col_names[3] = { "qt", "st", "amax_t" };
    const struct tensor x = find_tensor(c->archive, required(c->row, "input"));
    const struct fp4_four_params p = { .recipe = FP4_RECIPE_TE_REF,
                                       .input = x.dtype,
                                       .rows = x.dims[0],
                                       .cols = x.dims[1],
                                       .block_16x16 = strcmp(text(c->row, "tile", "1x16"), "16x16") == 0,
                                       .row_scaled = flag(c->row, "row_scaled_nvfp4"),
                                       .bound = number(c->row, "nvfp4_e4m3_max"),
                                       .error = four_error(c, "nvfp4_4over6_err_mode", "MAE", "MSE"),
                                       .fast_error = flag(c->row, "nvfp4_4over6_err_use_fast_math"),
                                       .nan = FP4_FOUR_NAN_PROPAGATE };
    struct direction row = direction(p.rows, p.cols, p.row_scaled);
    struct direction col = direction(p.cols, p.rows, p.row_scaled);
    struct fp4_error err;

    if (fp4_four_over_six(&p, x.data, &row.q, &col.q, NULL, NULL, &err) != 0)
        trouble("case %s: %s", c->name, err.msg);
    compare_direction(run, c, &row, row_names);
    compare_direction(run, c, &col, col_names);
    release(&row);
    release(&col);
}

static void run_te(struct run *run, struct a_case *c)
{
    if (flag(c->row, "nvfp4_use_4over6")) {
        run_te_four(run, c);
        return;
    }
    static const char *const row_names[3] = { "q", "s", "amax" };
    static const char *const col_names[3] = { "qt", "st", "amax_t" };
    const struct tensor x = find_tensor(c->archive, required(c->row, "input"));
    const bool rht = flag(c->row, "with_rht");
    struct fp4_quantize_params p = { .recipe = FP4_RECIPE_TE_REF,
                                     .input = x.dtype,
                                     .rows = x.dims[0],
                                     .cols = x.dims[1],
                                     .block_16x16 = strcmp(text(c->row, "tile", "1x16"), "16x16") == 0,
                                     .row_scaled = flag(c->row, "row_scaled_nvfp4") };
    struct direction row = direction(p.rows, p.cols, p.row_scaled);
    struct direction col = direction(p.cols, p.rows, p.row_scaled);
    struct fp4_error err;
    int status = fp4_quantize(&p, x.data, &row.q, rht ? NULL : &col.q, &err);

    if (status == 0 && rht) {
        const struct fp4_rht_params t = { .recipe = FP4_RECIPE_TE_REF,
                                          .kernel = FP4_RHT_KERNEL_UNFUSED,
                                          .rows = p.rows,
                                          .cols = p.cols,
                                          .sign_mask = flag(c->row, "with_random_sign_mask") ? FP4_RHT_SIGN_MASK : 0,
                                          .sum = FP4_SUM_TC,
                                          .bf16_round_trip = true };

        if (x.dtype != FP4_BF16)
            trouble("case %s: with_rht needs bf16 input", c->name);
        status = fp4_rht_quantize(&t, x.data, NULL, &col.q, NULL, &err);
    }
    if (status != 0)
        trouble("case %s: %s", c->name, err.msg);
    compare_direction(run, c, &row, row_names);
    compare_direction(run, c, &col, col_names);
    release(&row);
    release(&col);
}

static void run_taostd(struct run *run, struct a_case *c)
{
    const struct tensor x = find_tensor(c->archive, required(c->row, "input"));
    const struct tensor amax = tensor_of(c, "amax", FP4_F32);
    const struct fp4_quantize_params p = { .recipe = FP4_RECIPE_TORCHAO, .input = x.dtype, .rows = x.dims[0], .cols = x.dims[1] };
    struct direction row = direction(p.rows, p.cols, false);
    struct fp4_error err;

    row.q.given_amax = amax.data;
    if (fp4_quantize(&p, x.data, &row.q, NULL, &err) != 0)
        trouble("case %s: %s", c->name, err.msg);
    compare(run, c, "q", FP4_U8, row.lines, row.packed / 2, row.q.codes);
    compare(run, c, "s", FP4_U8, row.lines, (row.packed + 15) / 16, row.q.scales);
    compare(run, c, "amax", FP4_F32, 1, 1, row.q.amax);
    release(&row);
}

static void run_tao46_quantize(struct run *run, struct a_case *c)
{
    static const enum fp4_four_nan policies[] = { FP4_FOUR_NAN_PROPAGATE, FP4_FOUR_NAN_DROP }; /* the same without NaN */
    const struct tensor x = find_tensor(c->archive, required(c->row, "input"));
    const struct tensor amax = tensor_of(c, "amax", FP4_F32);
    struct fp4_four_params p = { .recipe = FP4_RECIPE_TORCHAO,
                                 .input = x.dtype,
                                 .rows = x.dims[0],
                                 .cols = x.dims[1],
                                 .block_16x16 = strcmp(required(c->row, "block"), "16x16") == 0,
                                 .row_scaled = flag(c->row, "row_scaled"),
                                 .bound = number(c->row, "e4m3_scale_bound"),
                                 .error = four_error(c, "err_mode", "mae", "mse") };
    struct direction row = direction(p.rows, p.cols, p.row_scaled);
    struct fp4_error err;

    if (amax.count != row.amaxes)
        trouble("case %s: its amax has %zu entries, not %zu", c->name, amax.count, row.amaxes);
    row.q.given_amax = amax.data;
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        p.nan = policies[i];
        if (fp4_four_over_six(&p, x.data, &row.q, NULL, NULL, NULL, &err) != 0)
            trouble("case %s: %s", c->name, err.msg);
        compare(run, c, "q", FP4_U8, row.lines, row.packed / 2, row.q.codes);
        compare(run, c, "s", FP4_U8, row.lines, row.packed / 16, row.q.scales);
        compare(run, c, "amax", FP4_F32, row.amaxes, 1, row.q.amax);
    }
    release(&row);
}

static void run_tao46_dequantize(struct run *run, struct a_case *c)
{
    const struct tensor q = tensor_of(c, "q", FP4_U8);
    const struct tensor s = tensor_of(c, "s", FP4_U8);
    const struct tensor amax = tensor_of(c, "amax", FP4_F32);
    const struct fp4_dequantize_params p = { .rows = q.dims[0],
                                             .cols = 2 * q.dims[1],
                                             .row_scaled = flag(c->row, "row_scaled"),
                                             .bound = number(c->row, "e4m3_scale_bound"),
                                             .output = FP4_BF16 };
    uint16_t *out = allocate(p.rows * p.cols, sizeof *out);
    struct fp4_error err;

    if (s.count != p.rows * (p.cols / 16) || amax.count != (p.row_scaled ? p.rows : 1))
        trouble("case %s: scales or amax do not fit the codes", c->name);
    if (fp4_dequantize(&p, q.data, s.data, amax.data, out, NULL, &err) != 0)
        trouble("case %s: %s", c->name, err.msg);
    compare(run, c, "dq_bf16", FP4_BF16, p.rows, p.cols, out);
    free(out);
}

static void run_tao46(struct run *run, struct a_case *c)
{
    run_tao46_quantize(run, c);
    run_tao46_dequantize(run, c);
}

/* An operand of a product, quantized again: Transformer Engine's plain quantizer. */
static void check_operand(struct run *run, struct a_case *c, const char *input, bool row_scaled, const char *const names[3])
{
    const struct tensor x = tensor_of(c, input, FP4_BF16);
    const struct fp4_quantize_params p = {
        .recipe = FP4_RECIPE_TE_REF, .input = x.dtype, .rows = x.dims[0], .cols = x.dims[1], .row_scaled = row_scaled
    };
    struct direction d = direction(p.rows, p.cols, row_scaled);
    struct fp4_error err;

    if (fp4_quantize(&p, x.data, &d.q, NULL, &err) != 0)
        trouble("case %s: %s", c->name, err.msg);
    compare_direction(run, c, &d, names);
    release(&d);
}

static void run_tegemm(struct run *run, struct a_case *c)
{
    static const char *const names_a[3] = { "qa", "sa", "amax_a" }, *const names_b[3] = { "qb", "sb", "amax_b" };
    static const struct {
        const char *suffix;
        enum fp4_dtype dtype;
    } outputs[] = { { "y_f32", FP4_F32 }, { "y_bf16", FP4_BF16 } };
    const struct tensor qa = tensor_of(c, "qa", FP4_U8), sa = tensor_of(c, "sa", FP4_U8), amax_a = tensor_of(c, "amax_a", FP4_F32);
    const struct tensor qb = tensor_of(c, "qb", FP4_U8), sb = tensor_of(c, "sb", FP4_U8), amax_b = tensor_of(c, "amax_b", FP4_F32);
    const struct fp4_operand a = { qa.data, sa.data, amax_a.data, flag(c->row, "row_scaled"), 448 };
    const struct fp4_operand b = { qb.data, sb.data, amax_b.data, false, 448 };
    struct fp4_gemm_params p = {
        .recipe = FP4_RECIPE_TE_REF, .m = number(c->row, "M"), .n = number(c->row, "N"), .k = number(c->row, "K")
    };
    float *y = allocate(p.m * p.n, sizeof *y);
    struct fp4_error err;

    if (qa.count != p.m * p.k / 2 || sa.count != p.m * p.k / 16 || amax_a.count != (a.row_scaled ? p.m : 1) ||
        qb.count != p.n * p.k / 2 || sb.count != p.n * p.k / 16 || amax_b.count != 1)
        trouble("case %s: the operands do not have the sizes of the case", c->name);
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        p.output = outputs[i].dtype;
        if (fp4_gemm(&p, &a, &b, NULL, y, NULL, &err) != 0)
            trouble("case %s: %s", c->name, err.msg);
        compare(run, c, outputs[i].suffix, p.output, p.m, p.n, y);
    }
    free(y);
    check_operand(run, c, "a", a.row_scaled, names_a);
    check_operand(run, c, "b", false, names_b);
}

static const struct suite {
    const char *name;
    void (*run)(struct run *run, struct a_case *c);
} suites[] = {
    { "te", run_te },
    { "taostd", run_taostd },
    { "tao46", run_tao46 },
    { "tegemm", run_tegemm },
};

enum { SUITES = sizeof suites / sizeof suites[0] };

static void run_case(struct run *run, const cJSON *row, unsigned per_suite[SUITES][2])
{
    struct a_case c = { .row = row, .suite = required(row, "suite"), .name = required(row, "name"), .ok = true };
    size_t i = 0;

    while (i < SUITES && strcmp(suites[i].name, c.suite) != 0)
        i++;
    if (i == SUITES)
        trouble("INDEX.json: case %s belongs to an unknown suite '%s'", c.name, c.suite);
    c.archive = archive_named(run, required(row, "file"));
    suites[i].run(run, &c);
    per_suite[i][c.ok ? 0 : 1]++;
    run->passed += c.ok;
    run->failed += !c.ok;
}

int main(int argc, char **argv)
{
    static struct run run;
    unsigned per_suite[SUITES][2] = { { 0 } };
    struct bytes index;
    cJSON *json;
    const cJSON *row;

    if (argc != 2) {
        fputs("usage: conformance DIR\n", stderr);
        return 2;
    }
    run.dir = argv[1];
    index = read_file(run.dir, "INDEX.json");
    json = cJSON_ParseWithLength((const char *)index.data, index.size);
    const cJSON *cases = cJSON_GetObjectItemCaseSensitive(json, "cases");

    if (!cJSON_IsArray(cases))
        trouble("INDEX.json has no list of cases");
    cJSON_ArrayForEach(row, cases)
    {
        run_case(&run, row, per_suite);
    }
    if (run.shown > SHOWN)
        printf("... and %u more differing tensors\n", run.shown - SHOWN);
    for (size_t i = 0; i < SUITES; i++) {
        if (per_suite[i][0] + per_suite[i][1] > 0)
            printf("%s: %u passed, %u failed\n", suites[i].name, per_suite[i][0], per_suite[i][1]);
    }
    printf("%u passed, %u failed\n", run.passed, run.failed);
    for (unsigned i = 0; i < run.archive_count; i++) {
        cJSON_Delete(run.archives[i].header);
        free(run.archives[i].file.data);
    }
    cJSON_Delete(json);
    free(index.data);
    if (run.passed + run.failed == 0) {
        fputs("conformance: no case was run\n", stderr);
        return 2;
    }
    return run.failed ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that a user gives with --input. A file is opened once and stays open; its header is checked at once, bytes are read when a
 * case needs them. The data segment of a case is a digest of type, shape and bytes, so two machines that were given the same tensor
 * name the same case, whatever their files are called.
 */
#include "case_build.h"
#include "safetensors.h"
#include "term.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define CHUNK ((size_t)1 << 20)

struct input_file {
    char *path;
    int fd;
    struct input_file *next;
};

struct input_tensor {
    struct input_file *file;
    char *name;
    char data_name[24];
    enum fp4_dtype dtype;
    size_t rows, cols;
    uint64_t at; /* byte in the file */
};

static struct input_tensor *inputs;
static size_t count, capacity;
static struct input_file *files;

/* ---- reading -------------------------------------------------------------------------------------------------------------------------- */

static int read_at(const struct input_file *f, void *to, size_t bytes, uint64_t at, struct fp4_error *err)
{
    uint8_t *p = to;

    while (bytes) {
        ssize_t n = pread(f->fd, p, bytes < CHUNK ? bytes : CHUNK, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fp4_fail(err, FP4_EIO, "cannot read '%s': %s", f->path, strerror(errno));
        if (n == 0)
            return fp4_fail(err, FP4_EFORMAT, "'%s' has become shorter", f->path);
        p += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int digest_tensor(struct input_tensor *t, struct fp4_error *err)
{
    size_t left = fp4_dtype_bytes(t->dtype, t->rows * t->cols);
    XXH3_state_t *state = XXH3_createState();
    uint8_t *chunk = malloc(CHUNK);
    uint64_t at = t->at;
    char head[80];
    int status = -1;

    if (!state || !chunk) {
        fp4_fail(err, FP4_EIO, "out of memory");
        goto cleanup;
    }
    XXH3_64bits_reset(state);
    snprintf(head, sizeof head, "%s %zux%zu\n", fp4_dtype_name(t->dtype), t->rows, t->cols);
    XXH3_64bits_update(state, head, strlen(head));
    while (left) {
        size_t n = left < CHUNK ? left : CHUNK;

        if (read_at(t->file, chunk, n, at, err))
            goto cleanup;
        XXH3_64bits_update(state, chunk, n);
        at += n;
        left -= n;
    }
    snprintf(t->data_name, sizeof t->data_name, "file-%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    status = 0;
cleanup:
    XXH3_freeState(state);
    free(chunk);
    return status;
}

/* ---- registering ---------------------------------------------------------------------------------------------------------------------- */

static int keep(const struct st_tensor *source, struct input_file *f, uint64_t base, struct fp4_error *err)
{
    struct input_tensor t;

    memset(&t, 0, sizeof t);
    t.file = f;
    t.dtype = source->dtype;
    t.rows = source->rows;
    t.cols = source->cols;
    t.at = base + source->begin;
    if (digest_tensor(&t, err))
        return fp4_fail_in(err, "tensor '%.100s'", source->name);
    if (input_find(t.data_name) >= 0)
        return 0; /* the same bytes under another name, or the file twice */
    if (count == capacity) {
        size_t more = capacity ? 2 * capacity : 16;
        struct input_tensor *grown = realloc(inputs, more * sizeof *grown);

        if (!grown)
            return fp4_fail(err, FP4_EIO, "out of memory");
        inputs = grown;
        capacity = more;
    }
    t.name = strdup(source->name);
    if (!t.name)
        return fp4_fail(err, FP4_EIO, "out of memory");
    inputs[count++] = t;
    return 1;
}

static int keep_all(const struct st_header *h, struct input_file *f, uint64_t base, struct fp4_error *err)
{
    int kept = 0, n;
    size_t i;

    for (i = 0; i < h->count; i++) {
        if (h->tensors[i].unusable) {
            term_note("'%s': tensor '%s' is left out: %s", f->path, h->tensors[i].name, h->tensors[i].unusable);
            continue;
        }
        n = keep(&h->tensors[i], f, base, err);
        if (n < 0)
            return -1;
        kept += n;
    }
    if (kept == 0)
        return fp4_fail(err, FP4_EFORMAT, "no new f32, f16 or bf16 tensor in it");
    return kept;
}

static int keep_named(const struct st_header *h, const char *name, struct input_file *f, uint64_t base, struct fp4_error *err)
{
    const struct st_tensor *t = st_find(h, name);
    int n;

    if (!t)
        return fp4_fail(err, FP4_EUSAGE, "there is no tensor '%.100s' among the %zu in it", name, h->count);
    if (t->unusable)
        return fp4_fail(err, FP4_ESUPPORT, "tensor '%.100s' (%s) cannot be used: %s", name, t->type, t->unusable);
    n = keep(t, f, base, err);
    return n < 0 ? -1 : 1;
}

static int read_header(const struct input_file *f, struct st_header *h, uint64_t *base, struct fp4_error *err)
{
    uint8_t head[8];
    uint64_t size, text_bytes = 0;
    struct stat st;
    char *text;
    int i, status;

    if (fstat(f->fd, &st) || !S_ISREG(st.st_mode))
        return fp4_fail(err, FP4_EIO, "not a regular file");
    size = (uint64_t)st.st_size;
    if (size < 8)
        return fp4_fail(err, FP4_EFORMAT, "field 'header length': the file has only %llu bytes", (unsigned long long)size);
    if (read_at(f, head, 8, 0, err))
        return -1;
    for (i = 7; i >= 0; i--)
        text_bytes = text_bytes << 8 | head[i];
    if (text_bytes > SAFETENSORS_HEADER_MAX)
        return fp4_fail(err, FP4_EFORMAT, "field 'header length': %llu bytes, more than the limit of %zu",
                        (unsigned long long)text_bytes, SAFETENSORS_HEADER_MAX);
    if (text_bytes > size - 8)
        return fp4_fail(err, FP4_EFORMAT, "field 'header length': %llu bytes, but the file ends after %llu",
                        (unsigned long long)text_bytes, (unsigned long long)(size - 8));
    text = malloc((size_t)text_bytes + 1);
    if (!text)
        return fp4_fail(err, FP4_EIO, "out of memory");
    *base = 8 + text_bytes;
    status = read_at(f, text, (size_t)text_bytes, 8, err);
    if (!status)
        status = st_parse(text, (size_t)text_bytes, size - *base, h, err);
    free(text);
    return status;
}

static struct input_file *open_file(const char *path, struct fp4_error *err)
{
    struct input_file *f = calloc(1, sizeof *f);

    if (!f || !(f->path = strdup(path))) {
        free(f);
        fp4_fail(err, FP4_EIO, "out of memory");
        return NULL;
    }
    f->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (f->fd < 0) {
        fp4_fail(err, FP4_EIO, "cannot open '%s': %s", path, strerror(errno));
        free(f->path);
        free(f);
        return NULL;
    }
    f->next = files;
    files = f;
    return f;
}

static int register_file(const char *path, const char *tensor, struct fp4_error *err)
{
    struct st_header header = { NULL, 0 };
    struct input_file *f = open_file(path, err);
    uint64_t base = 0;
    int n;

    if (!f)
        return -1;
    if (read_header(f, &header, &base, err))
        return fp4_fail_in(err, "'%s'", path);
    n = tensor ? keep_named(&header, tensor, f, base, err) : keep_all(&header, f, base, err);
    st_release(&header);
    return n < 0 ? fp4_fail_in(err, "'%s'", path) : n;
}

/* The colon that counts is the one after the last ".safetensors": both paths and tensor names may hold others. */
int input_register(const char *spec, struct fp4_error *err)
{
    static const char suffix[] = ".safetensors";
    const char *at, *last = NULL;
    char *path;
    int n;

    for (at = strstr(spec, suffix); at; at = strstr(at + 1, suffix))
        if (at[sizeof suffix - 1] == '\0' || at[sizeof suffix - 1] == ':')
            last = at + sizeof suffix - 1;
    if (!last || (*last == ':' && !last[1]))
        return fp4_fail(err, FP4_EUSAGE, "bad input '%.200s': write FILE.safetensors or FILE.safetensors:TENSOR", spec);
    path = strndup(spec, (size_t)(last - spec));
    if (!path)
        return fp4_fail(err, FP4_EIO, "out of memory");
    n = register_file(path, *last ? last + 1 : NULL, err);
    free(path);
    return n;
}

/* ---- asking --------------------------------------------------------------------------------------------------------------------------- */

size_t input_count(void)
{
    return count;
}

const char *input_data_name(size_t i)
{
    return inputs[i].data_name;
}

const char *input_tensor_name(size_t i)
{
    return inputs[i].name;
}

void input_shape(size_t i, size_t *rows, size_t *cols, enum fp4_dtype *dtype)
{
    *rows = inputs[i].rows;
    *cols = inputs[i].cols;
    *dtype = inputs[i].dtype;
}

int input_find(const char *data_name)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (strcmp(inputs[i].data_name, data_name) == 0)
            return (int)i;
    return -1;
}

void input_release_all(void)
{
    size_t i;

    for (i = 0; i < count; i++)
        free(inputs[i].name);
    free(inputs);
    inputs = NULL;
    count = capacity = 0;
    while (files) {
        struct input_file *f = files;

        files = f->next;
        close(f->fd);
        free(f->path);
        free(f);
    }
}

/* ---- filling -------------------------------------------------------------------------------------------------------------------------- */

static int convert_into(struct tensor *x, const struct input_tensor *t, struct fp4_error *err)
{
    size_t width = fp4_dtype_bytes(t->dtype, 1), n = t->rows * t->cols, done, i;
    void *chunk = malloc(CHUNK);
    int status = 0;

    if (!chunk)
        return fp4_fail(err, FP4_EIO, "out of memory");
    for (done = 0; done < n && !status; done += i) {
        size_t part = n - done < CHUNK / width ? n - done : CHUNK / width;

        status = read_at(t->file, chunk, part * width, t->at + done * width, err);
        for (i = 0; i < part && !status; i++) {
            float v = fp4_load(chunk, t->dtype, i);
            uint16_t half = x->dtype == FP4_BF16 ? f32_to_bf16(v).bits : f32_to_f16(v).bits;

            if (x->dtype == FP4_F32)
                memcpy(x->data + 4 * (done + i), &v, 4);
            else
                memcpy(x->data + 2 * (done + i), &half, 2);
        }
    }
    free(chunk);
    return status;
}

/* The case's type may differ from the tensor's: widened exactly, narrowed to nearest even. */
int input_fill(const struct fp4_case *c, struct tensor *x, struct fp4_error *err)
{
    int i = input_find(c->input);
    const struct input_tensor *t;

    if (i < 0)
        return fp4_fail(err, FP4_EUSAGE, "tensor '%s' is not loaded: give its file with --input", c->input);
    t = &inputs[i];
    if (t->dtype == x->dtype)
        return read_at(t->file, x->data, x->bytes, t->at, err);
    return convert_into(x, t, err);
}

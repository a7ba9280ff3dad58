/* SPDX-License-Identifier: Apache-2.0 */
/* Faulty backends that need no GPU. */
#include "backend_rows.h"
#include "faulty.h"
#include "worker.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 8

typedef int fault(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err);

bool faulty_case(const struct fp4_case *c)
{
    return c->data && strcmp(c->data->name, "ties") == 0;
}

void faulty_log(const struct fp4_case *c)
{
    const char *path = getenv("FP4_FAULTY_LOG");
    char name[CASE_NAME_MAX], line[CASE_NAME_MAX + 40];
    int fd;

    if (!path)
        return;
    case_name(c, name);
    snprintf(line, sizeof line, "%ld %u %s\n", (long)getpid(), worker_device, name);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        _exit(99);
    close(fd);
}

/* ---- faults ------------------------------------------------------------------------------------------------------------------------------ */

static int fault_none(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return backend_ref.run(c, t, err);
}

static int fault_oob(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes");

    memset(codes->data + codes->bytes + 100, 0, 200);
    return backend_ref.run(c, t, err);
}

static int fault_far(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    volatile uint8_t *nowhere = (volatile uint8_t *)((uintptr_t)tensor_find(t, "codes")->data ^ (uintptr_t)1 << 45);

    *nowhere = 0;
    return backend_ref.run(c, t, err);
}

static int fault_onebyte(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes");

    codes->data[codes->bytes] = 0;
    return backend_ref.run(c, t, err);
}

static int fault_partial(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes");
    uint8_t before = codes->data[codes->bytes - 1];
    int status = backend_ref.run(c, t, err);

    codes->data[codes->bytes - 1] = before;
    return status;
}

static int fault_silent(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    size_t i;

    (void)c;
    (void)err;
    for (i = 0; i < t->count; i++)
        t->t[i].written = t->t[i].role == TENSOR_OUTPUT;
    return 0;
}

static int fault_zero(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    size_t i;

    (void)c;
    (void)err;
    for (i = 0; i < t->count; i++)
        if (t->t[i].role == TENSOR_OUTPUT) {
            memset(t->t[i].data, 0, t->t[i].bytes);
            t->t[i].written = true;
        }
    return 0;
}

static int fault_random(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    static uint8_t times;
    int status = backend_ref.run(c, t, err);

    tensor_find(t, "codes")->data[5] ^= ++times;
    return status;
}

static int fault_hang(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    volatile bool for_ever = true;

    while (for_ever)
        ;
    return backend_ref.run(c, t, err);
}

static int fault_trap(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    (void)c;
    (void)t;
    (void)err;
    signal(SIGILL, SIG_DFL);
    raise(SIGILL);
    return 0;
}

static int fault_abort(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    (void)c;
    (void)t;
    (void)err;
    abort();
}

static int fault_kill(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    (void)c;
    (void)t;
    (void)err;
    raise(SIGKILL);
    return 0;
}

static int fault_exit(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    (void)c;
    (void)t;
    (void)err;
    _exit(0);
}

static int fault_mute(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    int fd;

    (void)c;
    (void)t;
    (void)err;
    for (fd = 0; fd < 64; fd++)
        close(fd);
    while (pause())
        ;
    return 0;
}

static int fault_babble(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return write(3, "hello", 5) == 5 ? backend_ref.run(c, t, err) : -1;
}

static int fault_noise(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    printf("noise from a backend, %d at the end of standard input\n", getchar());
    fflush(stdout);
    return backend_ref.run(c, t, err);
}

static void gone_path(char *path, size_t size)
{
    const char *gone = getenv("FP4_FAULTY_GONE");

    snprintf(path, size, "%s.%u", gone ? gone : "gone", worker_device);
}

static int fault_gone(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    char path[4096];

    (void)c;
    (void)t;
    gone_path(path, sizeof path);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    return fp4_fail(err, FP4_EIO, "the device has fallen off the bus");
}

/* ref with another amax: its input given-amax is added to the case. */
static int run_with_amax(const struct fp4_case *c, struct case_tensors *t, float amax, struct fp4_error *err)
{
    struct tensor given = { .name = "given-amax", .role = TENSOR_INPUT, .dtype = FP4_F32, .ndim = 1, .dims = { 1 }, .bytes = 4 };
    int status;

    given.data = (uint8_t *)&amax;
    t->t[t->count++] = given;
    status = backend_ref.run(c, t, err);
    t->count--;
    return status;
}

static float amax_of(const struct fp4_case *c, struct case_tensors *t, size_t elements_behind)
{
    float amax;

    fp4_amax(tensor_find(t, "x")->data, c->dtype, 1, c->rows * c->cols + elements_behind, false, &amax);
    return amax;
}

static int fault_behind(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    return run_with_amax(c, t, amax_of(c, t, 1), err);
}

static int fault_late(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    static float before;
    float amax = before;

    before = amax_of(c, t, 0);
    return run_with_amax(c, t, amax != 0.0f ? amax : before, err);
}

static int fault_stride(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    static size_t before;
    struct tensor *scales = tensor_find(t, "block-scale");
    size_t blocks = scales->dims[1], pitch = before ? before : blocks, at;
    int status = backend_ref.run(c, t, err);
    uint8_t *right = malloc(scales->bytes);

    before = blocks;
    memcpy(right, scales->data, scales->bytes);
    for (at = 0; at < scales->bytes; at++)
        scales->data[(at / blocks * pitch + at % blocks) % scales->bytes] = right[at];
    free(right);
    return status;
}

static int fault_nibbles(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    struct tensor *codes = tensor_find(t, "codes");
    int status = backend_ref.run(c, t, err);
    size_t i;

    for (i = 0; i < codes->bytes; i++)
        codes->data[i] = (uint8_t)(codes->data[i] << 4 | codes->data[i] >> 4);
    return status;
}

static int fault_padding(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    int status = backend_ref.run(c, t, err);

    if (c->op == OP_DEQUANTIZE && c->knob[KNOB_LAYOUT] && c->rows % 128)
        tensor_find(t, "dequantized")->data[0] ^= tensor_find(t, "scales")->data[fp4_swizzle_index(c->cols / 16, c->rows, 0)];
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------------------------ */

static int run(fault *f, const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err)
{
    faulty_log(c);
    return (faulty_case(c) || f == fault_zero || f == fault_padding ? f : backend_ref.run)(c, t, err);
}

static int available(const char *name, struct fp4_error *err)
{
    char path[4096];

    if (worker_device >= DEVICES)
        return fp4_fail(err, FP4_ESUPPORT, "there is no device %u: the driver shows %d, counted from 0", worker_device, DEVICES);
    gone_path(path, sizeof path);
    if (strcmp(name, "faulty-gone") == 0 && access(path, F_OK) == 0)
        return fp4_fail(err, FP4_EIO, "the device is lost");
    return 0;
}

static int supports(const struct fp4_case *c, struct fp4_error *err)
{
    if (case_check(c, err))
        return -1;
    return c->op == OP_QUANTIZE || c->op == OP_DEQUANTIZE
               ? 0
               : fp4_fail(err, FP4_ESUPPORT, "faulty backends have no op but quantize and dequantize");
}

static void describe(char *text, size_t size)
{
    snprintf(text, size, "a device of kind %s", worker_device < DEVICES / 2 ? "A" : "B");
}

#define ROW(id, name_text, help_text)                                                            \
    static int run_##id(const struct fp4_case *c, struct case_tensors *t, struct fp4_error *err) \
    {                                                                                            \
        return run(fault_##id, c, t, err);                                                       \
    }                                                                                            \
    static int available_##id(struct fp4_error *err)                                             \
    {                                                                                            \
        return available(name_text, err);                                                        \
    }                                                                                            \
    const struct backend_row faulty_##id = {                                                     \
        .name = name_text,                                                                       \
        .help = help_text,                                                                       \
        .available = available_##id,                                                             \
        .supports = supports,                                                                    \
        .run = run_##id,                                                                         \
        .describe = describe,                                                                    \
        .isolated = true,                                                                        \
    };
FAULTY_CPU(ROW)

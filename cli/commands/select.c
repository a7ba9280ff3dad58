/* SPDX-License-Identifier: Apache-2.0 */
#include "select.h"

#include "case_build.h"
#include "suite_build.h"
#include "te_find.h"
#include "term.h"
#include "worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int u64_from_text(const char *text, uint64_t *out)
{
    char *end;
    unsigned long long v;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');

    /* strtoull takes signs and leading blanks, which no number here has. */
    if (text[0] < '0' || text[0] > '9')
        return -1;
    errno = 0;
    v = strtoull(text, &end, hex ? 16 : 10);
    if (errno || *end || (hex && end == text + 2))
        return -1;
    *out = v;
    return 0;
}

void time_now(char text[32])
{
    time_t t = time(NULL);
    struct tm utc;

    gmtime_r(&t, &utc);
    strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

int rs_model_chosen(const char *text, struct fp4_error *err)
{
    int value = rs_model_from_text(text, err);

    if (value < 0)
        return fp4_fail_in(err, "--rs-model");
    /* Worker processes read the names of their cases themselves. */
    if ((size_t)value >= fp4_rs_model_count && !worker_is_child && (worker_argument("--rs-model") || worker_argument(text)))
        return fp4_fail(err, FP4_EUSAGE, "too many --rs-model files");
    return value;
}

int rs_models_registered(const struct case_options *o, struct fp4_error *err)
{
    size_t i;

    for (i = 0; i < o->rs_models.count; i++)
        if (rs_model_chosen(o->rs_models.items[i], err) < 0)
            return -1;
    return 0;
}

int inputs_registered(const struct case_options *o, struct fp4_error *err)
{
    size_t i;

    if (rs_models_registered(o, err))
        return -1;
    for (i = 0; i < o->inputs.count; i++) {
        if (input_register(o->inputs.items[i], err) < 0)
            return fp4_fail_in(err, "--input");
        /* Worker processes make the inputs of their cases themselves. */
        if (!worker_is_child && (worker_argument("--input") || worker_argument(o->inputs.items[i])))
            return fp4_fail(err, FP4_EUSAGE, "too many --input files");
    }
    return 0;
}

static int shard_from_text(const char *text, struct selection *sel, struct fp4_error *err)
{
    unsigned i, n;
    char rest;

    if (sscanf(text, "%u/%u%c", &i, &n, &rest) != 2 || i < 1 || i > n)
        return fp4_fail(err, FP4_EUSAGE, "--shard is I/N with 1 <= I <= N, not '%s'", text);
    sel->shard = i;
    sel->shards = n;
    return 0;
}

/* Two ready cases for each tensor of the user's files: the plain quantizer with both outputs, and the transform. */
static int cases_of_inputs(struct case_list *out, struct fp4_error *err)
{
    size_t i, k;

    for (i = 0; i < input_count(); i++)
        for (k = 0; k < 2; k++) {
            enum fp4_dtype dtype;
            size_t rows, cols;
            char name[CASE_NAME_MAX];
            struct fp4_case c;
            struct fp4_error reason;

            input_shape(i, &rows, &cols, &dtype);
            if (k == 0)
                snprintf(name, sizeof name, "quantize/te/rn/1x16%s/%s/%s/%zux%zu/s0", rows % 2 ? "" : "/both",
                         fp4_dtype_name(dtype), input_data_name(i), rows, cols);
            else
                snprintf(name, sizeof name, "rht-quantize/te/rn/bf16/%s/%zux%zu/s0", input_data_name(i), rows, cols);
            if (case_parse(name, &c, &reason)) {
                term_note("%s of tensor '%s' left out: %s", k ? "rht-quantize" : "quantize", input_tensor_name(i), reason.msg);
                continue;
            }
            if (case_list_add(out, &c, err))
                return -1;
        }
    if (out->count == 0)
        return fp4_fail(err, FP4_EUSAGE, "no tensor of the --input files fits a case");
    return 0;
}

/* Stochastic cases of the default model get the one that was asked for. A case that is there already stays one. */
static int use_rs_model(const struct case_options *o, struct case_list *list, struct fp4_error *err)
{
    struct case_list out = { NULL, 0, 0 };
    struct suite_builder b;
    size_t i;
    int value, status = 0;

    if (o->rs_models.count == 0)
        return 0;
    if (o->rs_models.count > 1)
        return fp4_fail(err, FP4_EUSAGE, "--rs-model: one model for a run");
    value = rs_model_from_text(o->rs_models.items[0], err);
    if (value < 0)
        return fp4_fail_in(err, "--rs-model");
    suite_builder_init(&b, &out);
    for (i = 0; i < list->count && status == 0; i++) {
        struct fp4_case c = list->items[i];

        if (case_uses_rs_model(&c) && c.knob[KNOB_RS] == 0)
            c.knob[KNOB_RS] = (uint8_t)value;
        status = suite_builder_add(&b, &c, err) < 0 ? -1 : 0;
    }
    suite_builder_release(&b);
    if (status) {
        case_list_release(&out);
        return -1;
    }
    case_list_release(list);
    *list = out;
    return 0;
}

int cases_selected(const struct case_options *o, struct case_list *out, struct selection *used, struct fp4_error *err)
{
    struct selection sel;

    memset(&sel, 0, sizeof sel);
    sel.suite = o->suite;
    sel.globs = o->cases.items;
    sel.ops = o->ops.items;
    if (o->shard && shard_from_text(o->shard, &sel, err))
        return -1;
    if (o->seed) {
        if (u64_from_text(o->seed, &sel.seed))
            return fp4_fail(err, FP4_EUSAGE, "--seed is a number from 0 to 2^64 - 1, not '%s'", o->seed);
        sel.has_seed = true;
    }
    if (inputs_registered(o, err))
        return -1;
    *used = sel;
    if (o->inputs.count && !o->suite && !o->cases.count && !o->ops.count ? cases_of_inputs(out, err) : suite_select(&sel, out, err))
        return -1;
    return use_rs_model(o, out, err);
}

static int unknown_backend(const char *name, struct fp4_error *err)
{
    char known[256] = "";
    size_t i;

    for (i = 0; i < fp4_backend_count; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", fp4_backends[i]->name);
    return fp4_fail(err, FP4_EUSAGE, "unknown backend '%s'; there are: %s", name, known);
}

static int device_from_text(const char **text, unsigned *out)
{
    char *end;
    unsigned long v;

    if (**text < '0' || **text > '9')
        return -1;
    errno = 0;
    v = strtoul(*text, &end, 10);
    if (errno || v > 9999)
        return -1;
    *text = end;
    *out = (unsigned)v;
    return 0;
}

static int devices_from_text(const char *text, struct fp4_error *err)
{
    unsigned devices[WORKER_DEVICES_MAX];
    const char *at = text;
    size_t count = 0, i;

    for (;;) {
        if (count == WORKER_DEVICES_MAX)
            return fp4_fail(err, FP4_EUSAGE, "--device: at most %d devices", WORKER_DEVICES_MAX);
        if (device_from_text(&at, &devices[count]) || (*at != ',' && *at))
            return fp4_fail(err, FP4_EUSAGE, "--device is a device or several, such as 0 or 0,1, not '%s'", text);
        for (i = 0; i < count; i++)
            if (devices[i] == devices[count])
                return fp4_fail(err, FP4_EUSAGE, "--device: device %u is given twice", devices[i]);
        count++;
        if (!*at)
            break;
        at++;
    }
    worker_set_devices(devices, count);
    return 0;
}

int workers_set(const struct case_options *o, struct fp4_error *err)
{
    uint64_t seconds;

    if (o->te_lib && setenv(TE_LIBRARY_VARIABLE, o->te_lib, 1))
        return fp4_fail(err, FP4_EIO, "out of memory");
    if (o->device && devices_from_text(o->device, err))
        return -1;
    if (o->timeout) {
        if (u64_from_text(o->timeout, &seconds) || seconds < 1 || seconds > 1000000)
            return fp4_fail(err, FP4_EUSAGE, "--timeout is a number of seconds from 1 to 1000000, not '%s'", o->timeout);
        worker_set_timeout((unsigned)seconds);
    }
    return 0;
}

/* All that belong here. Devices that somebody asked for and no backend can use are an error, with the first reason why. */
static int backends_here(const struct case_options *o, const struct backend_row **out, size_t capacity, size_t *count,
                         struct fp4_error *err)
{
    struct fp4_error reason, first;
    size_t i, on_device = 0;

    first.code = FP4_OK;
    for (i = 0; i < fp4_backend_count && *count < capacity; i++) {
        const struct backend_row *b = fp4_backends[i];

        if (backend_available(b, &reason) == 0 || (reason.code != FP4_ESUPPORT && reason.code != FP4_EUSAGE)) {
            out[(*count)++] = b;
            on_device += b->isolated;
        } else if (reason.code == FP4_EUSAGE) {
            *err = reason;
            return fp4_fail_in(err, "--device %s: backend '%s'", o->device ? o->device : "", b->name);
        } else if (first.code == FP4_OK) {
            first = reason;
            fp4_fail_in(&first, "backend '%s'", b->name);
        }
    }
    if (o->device && !on_device)
        return fp4_fail(err, FP4_EUSAGE, "--device %s: no backend can run there (%s)", o->device,
                        first.code ? first.msg : "none of this build uses a device");
    return 0;
}

int backends_selected(const struct case_options *o, const struct backend_row **out, size_t capacity, size_t *count,
                      struct fp4_error *err)
{
    size_t i, k;

    *count = 0;
    for (i = 0; i < o->backends.count; i++) {
        const struct backend_row *b = backend_find(o->backends.items[i]);

        if (!b)
            return unknown_backend(o->backends.items[i], err);
        for (k = 0; k < *count && out[k] != b; k++)
            ;
        if (k < *count)
            return fp4_fail(err, FP4_EUSAGE, "backend '%s' is given twice", b->name);
        if (*count == capacity)
            return fp4_fail(err, FP4_EUSAGE, "at most %zu backends in one run", capacity);
        out[(*count)++] = b;
    }
    for (i = 0; i < *count && o->device; i++)
        if (out[i]->isolated && backend_available(out[i], err))
            return fp4_fail_in(err, "--device %s: backend '%s'", o->device, out[i]->name);
    return o->backends.count ? 0 : backends_here(o, out, capacity, count, err);
}

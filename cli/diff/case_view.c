/* SPDX-License-Identifier: Apache-2.0 */
/* case_view.c: shows freshly computed tensors as if they had been read from a dump. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void view_tensor(const struct tensor *t, struct dump_tensor *out)
{
    *out = (struct dump_tensor){ .role = t->role, .dtype = t->dtype, .ndim = t->ndim, .bytes = t->bytes, .data = t->data };
    memcpy(out->name, t->name, sizeof out->name);
    memcpy(out->dims, t->dims, sizeof out->dims);
    out->digest = digest_bytes(t->data, t->bytes);
}

int case_view(const char *name, const char *backend, enum dump_status status, const char *reason, const struct case_tensors *t,
              struct dump_case *out, struct fp4_error *err)
{
    struct dump_case_result *r = &out->results[0];
    size_t capacity = (t ? t->count : 0) + 1;

    *out = (struct dump_case){ .result_count = 1 };
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(r->backend, sizeof r->backend, "%s", backend);
    r->status = status;
    r->reason = reason ? strdup(reason) : NULL;
    out->inputs = calloc(capacity, sizeof *out->inputs);
    r->t = calloc(capacity, sizeof *r->t);
    if (!out->inputs || !r->t || (reason && !r->reason)) {
        case_view_release(out);
        return fp4_fail(err, FP4_EIO, "out of memory for the results of '%s'", name);
    }
    for (size_t i = 0; t && i < t->count; i++) {
        const struct tensor *x = &t->t[i];

        if (x->role == TENSOR_INPUT && x->data)
            view_tensor(x, &out->inputs[out->input_count++]);
        else if (status == DUMP_OK && x->data && x->written)
            view_tensor(x, &r->t[r->count++]);
    }
    return 0;
}

void case_view_release(struct dump_case *view)
{
    for (size_t i = 0; i < view->result_count; i++) {
        free(view->results[i].reason);
        free(view->results[i].t);
    }
    free(view->inputs);
    *view = (struct dump_case){ 0 };
}

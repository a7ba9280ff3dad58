/* SPDX-License-Identifier: Apache-2.0 */
#include "diff_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fixture_init(struct fixture *f, const char *name, const char *backend)
{
    memset(f, 0, sizeof *f);
    snprintf(f->c.name, sizeof f->c.name, "%s", name);
    strcpy(f->inputs[0].name, "x");
    f->inputs[0].dtype = FP4_F32;
    f->inputs[0].ndim = 2;
    f->inputs[0].dims[0] = f->inputs[0].dims[1] = 4;
    f->inputs[0].bytes = 64;
    f->inputs[0].digest = digest_bytes("input", 5);
    f->c.inputs = f->inputs;
    f->c.input_count = 1;
    snprintf(f->c.results[0].backend, sizeof f->c.results[0].backend, "%s", backend);
    f->c.results[0].t = f->outputs;
    f->c.result_count = 1;
}

uint8_t *fixture_tensor(struct fixture *f, const char *name, enum tensor_role role, enum fp4_dtype dtype, size_t rows, size_t cols)
{
    struct dump_tensor *t = &f->outputs[f->count];

    snprintf(t->name, sizeof t->name, "%s", name);
    t->role = role;
    t->dtype = dtype;
    t->ndim = cols ? 2 : 1;
    t->dims[0] = rows;
    t->dims[1] = cols;
    t->bytes = fp4_dtype_bytes(dtype, rows * (cols ? cols : 1));
    f->data[f->count] = calloc(1, t->bytes + 1);
    f->c.results[0].count = ++f->count;
    return f->data[f->count - 1];
}

void fixture_seal(struct fixture *f, bool keep_bytes)
{
    for (size_t i = 0; i < f->count; i++) {
        struct dump_tensor *t = &f->outputs[i];
        size_t blocks = (t->bytes + DUMP_BLOCK_BYTES - 1) / DUMP_BLOCK_BYTES;

        t->digest = digest_bytes(f->data[i], t->bytes);
        free(t->blocks);
        t->blocks = t->bytes > DUMP_BLOCK_BYTES ? calloc(blocks, sizeof *t->blocks) : NULL;
        for (size_t b = 0; t->blocks && b < blocks; b++) {
            size_t at = b * DUMP_BLOCK_BYTES, left = t->bytes - at;

            t->blocks[b] = digest64_bytes(f->data[i] + at, left < DUMP_BLOCK_BYTES ? left : DUMP_BLOCK_BYTES);
        }
        t->data = keep_bytes ? f->data[i] : NULL;
    }
}

void fixture_release(struct fixture *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->data[i]);
        free(f->outputs[i].blocks);
    }
}

struct diff_side fixture_side(const struct fixture *f, const char *label)
{
    return (struct diff_side){ label, "x.json", f->c.results[0].backend, &f->c, &f->c.results[0] };
}

void set_code(uint8_t *codes, size_t i, unsigned code)
{
    unsigned shift = i % 2 * 4;

    codes[i / 2] = (uint8_t)((codes[i / 2] & ~(15u << shift)) | code << shift);
}

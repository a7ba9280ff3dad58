/* SPDX-License-Identifier: Apache-2.0 */
/* diff_fixture.h: dump cases built by hand, so that the comparison is tested without the reader. */
#ifndef DIFF_FIXTURE_H
#define DIFF_FIXTURE_H

#include "diff.h"

#define FIXTURE_TENSORS 6

struct fixture {
    struct dump_case c;
    struct dump_tensor inputs[2], outputs[FIXTURE_TENSORS];
    uint8_t *data[FIXTURE_TENSORS];
    size_t count;
};

/* A case with one input and no tensors yet. */
void fixture_init(struct fixture *f, const char *name, const char *backend);
/* A zeroed tensor of a result; returns its bytes. Digests and blocks are set by fixture_seal. */
uint8_t *fixture_tensor(struct fixture *f, const char *name, enum tensor_role role, enum fp4_dtype dtype, size_t rows, size_t cols);
/* Sets digests and block digests; keep_bytes false drops the bytes, as a dump without them. */
void fixture_seal(struct fixture *f, bool keep_bytes);
void fixture_release(struct fixture *f);
struct diff_side fixture_side(const struct fixture *f, const char *label);
void set_code(uint8_t *codes, size_t i, unsigned code);

#endif

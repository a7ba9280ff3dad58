/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h: golden/MANIFEST. One line a file: NAME, the XXH3-128 of its bytes, the number of cases, and the command that made it,
 * separated by blanks; lines that begin with '#' are remarks. Only `fp4check bless` writes it.
 */
#ifndef FP4_MANIFEST_H
#define FP4_MANIFEST_H

#include "dump.h"

struct manifest_row {
    char name[128];
    digest128 digest;
    size_t cases;
    char command[400];
};

struct manifest {
    struct manifest_row *rows;
    size_t count;
};

/* A missing file gives an empty manifest when may_lack, else an error. */
int manifest_read(const char *path, bool may_lack, struct manifest *out, struct fp4_error *err);
int manifest_write(const char *path, const struct manifest *m, struct fp4_error *err);
/* Replaces the row of the same name, or adds one (rows are kept in name order). */
int manifest_set(struct manifest *m, const struct manifest_row *row, struct fp4_error *err);
const struct manifest_row *manifest_find(const struct manifest *m, const char *name);
void manifest_release(struct manifest *m);
/* XXH3-128 of a whole file. */
int file_digest(const char *path, digest128 *out, struct fp4_error *err);

#endif

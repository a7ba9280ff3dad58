/* SPDX-License-Identifier: Apache-2.0 */
/* suite_build.h: growing a list of cases without duplicates; for suites.c and suite_file.c. */
#ifndef FP4_SUITE_BUILD_H
#define FP4_SUITE_BUILD_H

#include "matrix.h"

struct suite_builder {
    struct case_list *list;
    uint64_t *slots; /* open addressing over digests of names; 0 = free */
    size_t slot_count;
};

void suite_builder_init(struct suite_builder *b, struct case_list *list);
void suite_builder_release(struct suite_builder *b);
/* Adds the case unless its name is there already. 1 when added, 0 when not, -1 on error. */
int suite_builder_add(struct suite_builder *b, const struct fp4_case *c, struct fp4_error *err);

/* Expands one of the built-in suites. */
int suite_expand(const char *name, struct suite_builder *b, struct fp4_error *err);
/* Reads a user's suite file (docs/suites.md). */
int suite_file_expand(const char *path, struct suite_builder *b, struct fp4_error *err);
bool suite_is_glob(const char *text);

#endif

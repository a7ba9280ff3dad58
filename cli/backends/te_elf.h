/* SPDX-License-Identifier: Apache-2.0 */
/* te_elf.h: what a shared library says of itself before it is loaded. */
#ifndef FP4_TE_ELF_H
#define FP4_TE_ELF_H

#include "fp4ref.h"

#define TE_ELF_NEEDED_MAX 48

struct te_elf {
    char needed[TE_ELF_NEEDED_MAX][64]; /* sonames, in order */
    size_t needed_count;
    char build_id[48]; /* hexadecimal, "" when there is none */
};

/* Reads the ELF headers of the file. An error says what is wrong with it: not a shared library, or one for another machine. */
int te_elf_read(const char *path, struct te_elf *out, struct fp4_error *err);

#endif

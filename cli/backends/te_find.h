/* SPDX-License-Identifier: Apache-2.0 */
/* te_find.h: where libtransformer_engine.so and what it needs may lie. */
#ifndef FP4_TE_FIND_H
#define FP4_TE_FIND_H

#include "fp4ref.h"

#define TE_LIBRARY_VARIABLE "FP4CHECK_TE_LIB"
#define TE_HOW_TO_GET \
    "get it with `pip install transformer-engine-cu13` (or a source build) and name it with --te-lib PATH or " TE_LIBRARY_VARIABLE

/* The library named by FP4CHECK_TE_LIB (which --te-lib sets), or else the one in the first Python installation that has it, in the order
 * PYTHONPATH, VIRTUAL_ENV, CONDA_PREFIX, the python3 of PATH, ~/.local, /usr/local, /usr. *asked: it was named. */
int te_find_library(char *path, size_t size, bool *asked, struct fp4_error *err);
/* A library of an nvidia-* wheel: in the site-packages folder that holds the file `beside`, or in those above. False when there is none. */
bool te_find_wheel_library(const char *soname, const char *beside, char *path, size_t size);
/* The version in the name of the dist-info folder of the wheel that the library is from; "" when nothing says it. */
void te_find_version(const char *library, char *version, size_t size);

#endif

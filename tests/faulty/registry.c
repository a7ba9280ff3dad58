/* SPDX-License-Identifier: Apache-2.0 */
/* The table of backends of fp4check-faulty: those of the program, and the faulty ones. */
#include "backend_rows.h"
#include "faulty.h"

#define ENTRY(id, name, help) &faulty_##id,

const struct backend_row *const fp4_backends[] = { &backend_ref, &backend_soft, &backend_sm120, &backend_sm100,
                                                   FAULTY_CPU(ENTRY) FAULTY_GPU(ENTRY) };
const size_t fp4_backend_count = sizeof fp4_backends / sizeof fp4_backends[0];

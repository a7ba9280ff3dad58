/* SPDX-License-Identifier: Apache-2.0 */
/* All backends, one line each. A backend that this build or this machine lacks still has its line, and says why it cannot run. */
#include "backend_rows.h"

const struct backend_row *const fp4_backends[] = {
    &backend_ref, &backend_soft, &backend_sm120, &backend_sm100, &backend_te,
};
const size_t fp4_backend_count = sizeof fp4_backends / sizeof fp4_backends[0];

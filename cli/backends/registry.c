/* SPDX-License-Identifier: Apache-2.0 */
/* All backends, one line each. A backend that this build or this machine lacks still has its line, and says why it cannot run. */
#include "backend_rows.h"

#include <string.h>

const struct backend_row *const fp4_backends[] = {
    &backend_ref, &backend_soft, &backend_sm120, &backend_sm100,
};
const size_t fp4_backend_count = sizeof fp4_backends / sizeof fp4_backends[0];

const struct backend_row *backend_find(const char *name)
{
    size_t i;

    for (i = 0; i < fp4_backend_count; i++)
        if (strcmp(fp4_backends[i]->name, name) == 0)
            return fp4_backends[i];
    return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fp4ref.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fp4_fail(struct fp4_error *err, enum fp4_code code, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return -1;
    err->code = code;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return -1;
}

int fp4_fail_in(struct fp4_error *err, const char *fmt, ...)
{
    char text[2 * sizeof err->msg + 2];
    size_t used;
    va_list ap;

    if (!err)
        return -1;
    va_start(ap, fmt);
    vsnprintf(text, sizeof err->msg, fmt, ap);
    va_end(ap);
    used = strlen(text);
    snprintf(text + used, sizeof text - used, ": %s", err->msg);
    text[sizeof err->msg - 1] = '\0';
    memcpy(err->msg, text, sizeof err->msg);
    return -1;
}

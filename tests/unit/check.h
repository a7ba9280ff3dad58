/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.h: assertions for loops over many rows. A passing row costs one comparison (an assertion of Criterion talks to its
 * parent process each time); a test stops after ten failing rows.
 */
#ifndef CHECK_H
#define CHECK_H

#include <criterion/criterion.h>
#include <inttypes.h>

enum { CHECK_ENOUGH = 10 };

#define CHECK(ok, ...)                                                       \
    do {                                                                     \
        static unsigned check_failed;                                        \
        if (!(ok)) {                                                         \
            cr_expect(0, __VA_ARGS__);                                       \
            if (++check_failed >= CHECK_ENOUGH)                              \
                cr_assert(0, "stopped after %d failing rows", CHECK_ENOUGH); \
        }                                                                    \
    } while (0)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_dump.c: bytes of any kind as a dump. Whatever they are, the reader must end with 0 or with one complete message, and a text that
 * is no JSON must not pass as a dump.
 */
#include "dump.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fp4_error err = { 0 }, grammar = { 0 };
    size_t line = 0, column = 0;
    int dump = dump_check_memory(data, size, &err);
    int json = json_check((const char *)data, size, 16, &line, &column, &grammar);

    if ((dump == 0) != (err.msg[0] == 0) || strchr(err.msg, '\n'))
        abort();
    if ((json == 0) != (grammar.msg[0] == 0) || (json && (line == 0 || column == 0)))
        abort();
    if (dump == 0 && json != 0)
        abort();
    return 0;
}

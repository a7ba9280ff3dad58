/* SPDX-License-Identifier: Apache-2.0 */
#include "backend_rows.h"

#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>

#define TABLE_BYTES ((size_t)1 << 23)
#define TABLE_FNV 0x823bfc4d537311f9ull /* FNV-1a 64 of the unpacked bytes: 733,799 entries +1, 374,723 -1, the others 0 */

/* Put into the program by the assembler; the path is relative to the root of the repository, where make runs the compiler. */
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl fp4_rcp_table_zst\n"
        ".hidden fp4_rcp_table_zst\n"
        "fp4_rcp_table_zst:\n"
        ".incbin \"cli/backends/data/rcp_approx_ftz_h200.i8.zst\"\n"
        ".globl fp4_rcp_table_zst_end\n"
        ".hidden fp4_rcp_table_zst_end\n"
        "fp4_rcp_table_zst_end:\n"
        ".byte 0\n"
        ".popsection\n");

extern const uint8_t fp4_rcp_table_zst[] __attribute__((visibility("hidden")));
extern const uint8_t fp4_rcp_table_zst_end[] __attribute__((visibility("hidden")));

static int8_t *table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t fnv1a(const uint8_t *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ull;
    size_t i;

    for (i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static void unpack(void)
{
    uint8_t *bytes = malloc(TABLE_BYTES);
    size_t packed = (size_t)(fp4_rcp_table_zst_end - fp4_rcp_table_zst);

    if (!bytes)
        return;
    if (ZSTD_decompress(bytes, TABLE_BYTES, fp4_rcp_table_zst, packed) != TABLE_BYTES || fnv1a(bytes, TABLE_BYTES) != TABLE_FNV) {
        free(bytes);
        return;
    }
    table = (int8_t *)bytes;
}

const int8_t *rcp_table_h200(struct fp4_error *err)
{
    pthread_once(&once, unpack);
    if (!table)
        fp4_fail(err, FP4_EIO, "the approximate-reciprocal table cannot be unpacked (out of memory?)");
    return table;
}

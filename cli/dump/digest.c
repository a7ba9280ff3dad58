/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: XXH3 digests and their hex form. */
#include "dump_internal.h"

#include <inttypes.h>
#include <xxhash.h>

digest128 digest_bytes(const void *data, size_t bytes)
{
    XXH128_hash_t h = XXH3_128bits(data, bytes);

    return (digest128){ .hi = h.high64, .lo = h.low64 };
}

uint64_t digest64_bytes(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

bool digest_equal(digest128 a, digest128 b)
{
    return a.hi == b.hi && a.lo == b.lo;
}

void digest_print(digest128 d, char text[33])
{
    snprintf(text, 33, "%016" PRIx64 "%016" PRIx64, d.hi, d.lo);
}

static bool parse_hex(const char *text, uint64_t *out)
{
    uint64_t v = 0;

    for (int i = 0; i < 16; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false; /* also at the end of a short text */
    }
    *out = v;
    return true;
}

bool digest64_parse(const char *text, uint64_t *out)
{
    return parse_hex(text, out) && text[16] == 0;
}

bool digest_parse(const char *text, digest128 *out)
{
    return parse_hex(text, &out->hi) && parse_hex(text + 16, &out->lo) && text[32] == 0;
}

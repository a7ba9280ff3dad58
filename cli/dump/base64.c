/* SPDX-License-Identifier: Apache-2.0 */
/* base64.c: RFC 4648 section 4, with padding. The decoder takes one spelling of each byte string only. */
#include "dump.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encoded_bytes(size_t bytes)
{
    return (bytes / 3 + (bytes % 3 != 0)) * 4;
}

void base64_encode(const uint8_t *data, size_t bytes, char *text)
{
    size_t i = 0;

    for (; i + 3 <= bytes; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16 | (uint32_t)data[i + 1] << 8 | data[i + 2];
        *text++ = digits[v >> 18];
        *text++ = digits[v >> 12 & 63];
        *text++ = digits[v >> 6 & 63];
        *text++ = digits[v & 63];
    }
    if (i < bytes) {
        bool two = i + 2 == bytes;
        uint32_t v = (uint32_t)data[i] << 16 | (two ? (uint32_t)data[i + 1] << 8 : 0);
        *text++ = digits[v >> 18];
        *text++ = digits[v >> 12 & 63];
        *text++ = two ? digits[v >> 6 & 63] : '=';
        *text++ = '=';
    }
    *text = 0;
}

/* 0..63, or 64 for everything that is no digit. */
static uint32_t value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (uint32_t)(c - 'a' + 26);
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0' + 52);
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

static void fill_table(uint8_t table[256])
{
    for (int c = 0; c < 256; c++)
        table[c] = (uint8_t)value_of((char)c);
}

/* The last group, which may be padded; how many bytes it gives, or 0 when it is wrong (unused bits must be zero). */
static size_t decode_last(const char *t, uint8_t out[3])
{
    uint32_t a = value_of(t[0]), b = value_of(t[1]), c = value_of(t[2]), d = value_of(t[3]);

    if ((a | b) > 63)
        return 0;
    out[0] = (uint8_t)(a << 2 | b >> 4);
    if (t[2] == '=' && t[3] == '=')
        return (b & 15) == 0 ? 1 : 0;
    if (c > 63)
        return 0;
    out[1] = (uint8_t)(b << 4 | c >> 2);
    if (t[3] == '=')
        return (c & 3) == 0 ? 2 : 0;
    out[2] = (uint8_t)(c << 6 | d);
    return d > 63 ? 0 : 3;
}

int base64_decode(const char *text, size_t length, uint8_t *data, size_t capacity, size_t *bytes)
{
    uint8_t table[256], last[3];
    size_t out = 0, n;

    *bytes = 0;
    if (length % 4)
        return -1;
    if (length == 0)
        return 0;
    fill_table(table);
    for (; length > 4; length -= 4, text += 4, out += 3) {
        uint32_t a = table[(uint8_t)text[0]], b = table[(uint8_t)text[1]], c = table[(uint8_t)text[2]], d = table[(uint8_t)text[3]];
        if ((a | b | c | d) > 63 || capacity - out < 3)
            return -1;
        data[out] = (uint8_t)(a << 2 | b >> 4);
        data[out + 1] = (uint8_t)(b << 4 | c >> 2);
        data[out + 2] = (uint8_t)(c << 6 | d);
    }
    n = decode_last(text, last);
    if (n == 0 || capacity - out < n)
        return -1;
    for (size_t i = 0; i < n; i++)
        data[out + i] = last[i];
    *bytes = out + n;
    return 0;
}

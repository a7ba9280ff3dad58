/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "dump.h"

#include <string.h>

/* RFC 4648, section 10. */
static const struct {
    const char *bytes, *text;
} vectors[] = {
    { "", "" },
    { "f", "Zg==" },
    { "fo", "Zm8=" },
    { "foo", "Zm9v" },
    { "foob", "Zm9vYg==" },
    { "fooba", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy" },
};

Test(base64, the_vectors_of_rfc_4648_hold_in_both_directions)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char text[32];
        uint8_t bytes[32];
        size_t length = strlen(vectors[i].bytes), got = 99;

        base64_encode((const uint8_t *)vectors[i].bytes, length, text);
        cr_expect_str_eq(text, vectors[i].text);
        cr_expect_eq(base64_encoded_bytes(length), strlen(vectors[i].text));
        cr_expect_eq(base64_decode(text, strlen(text), bytes, sizeof bytes, &got), 0, "%s", text);
        cr_expect(got == length && memcmp(bytes, vectors[i].bytes, length) == 0, "%s", text);
    }
}

Test(base64, every_length_and_every_byte_value_comes_back)
{
    uint8_t bytes[600], back[600];
    char text[801];
    size_t got;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 167 + (i >> 8));
    for (size_t length = 0; length <= sizeof bytes; length++) {
        base64_encode(bytes, length, text);
        CHECK(strlen(text) == base64_encoded_bytes(length), "length %zu", length);
        CHECK(base64_decode(text, strlen(text), back, sizeof back, &got) == 0, "length %zu", length);
        CHECK(got == length && memcmp(bytes, back, length) == 0, "length %zu", length);
    }
}

Test(base64, what_is_not_the_one_spelling_of_some_bytes_is_refused)
{
    static const char *const rows[] = {
        "A",
        "AA",
        "AAA",
        "AAAAA",
        "Zg=",
        "Zg===",
        "====",
        "=AAA",
        "A=AA",
        "AA=A",
        "Zh==",
        "Zm9=",
        "Zm9vYh==",
        "Zm9vYmF=",
        "Zm 9v",
        "Zm9v\n",
        "Zm9v\nZm9v",
        "Zm-v",
        "Zm_v",
        "Zm9v====",
        "Zg==Zg==",
        "*AAA",
        "A*AA",
        "AA*A",
        "AAA*",
        "\x80"
        "AAA",
        "AAAA*AAA",
        "AAA=AAAA",
    };
    uint8_t bytes[32];
    size_t got;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(base64_decode(rows[i], strlen(rows[i]), bytes, sizeof bytes, &got), -1, "'%s'", rows[i]);
    cr_expect_eq(base64_decode("AA\0A", 4, bytes, sizeof bytes, &got), -1);
}

Test(base64, nothing_is_written_beyond_the_capacity)
{
    uint8_t bytes[8];
    size_t got;

    for (size_t capacity = 0; capacity <= 6; capacity++) {
        memset(bytes, 0xCA, sizeof bytes);
        int status = base64_decode("Zm9vYmFy", 8, bytes, capacity, &got);
        cr_expect_eq(status, capacity < 6 ? -1 : 0);
        for (size_t i = capacity; i < sizeof bytes; i++)
            cr_expect_eq(bytes[i], 0xCA, "byte %zu of capacity %zu", i, capacity);
    }
}

Test(base64, decoding_in_place_is_safe)
{
    char text[] = "Zm9vYmFyZm9vYmE=";
    size_t got;

    cr_expect_eq(base64_decode(text, strlen(text), (uint8_t *)text, strlen(text), &got), 0);
    cr_expect(got == 11 && memcmp(text, "foobarfooba", 11) == 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "dump.h"

#include <stdlib.h>
#include <string.h>

static int check(const char *text, size_t *line, size_t *column, struct fp4_error *err)
{
    *err = (struct fp4_error){ 0 };
    *line = *column = 0;
    return json_check(text, strlen(text), 16, line, column, err);
}

Test(json_check, valid_texts_pass)
{
    static const char *const rows[] = {
        "0",
        "-0",
        "-0.0e-0",
        "1E+9",
        "12.5e10",
        "  7  ",
        "123\n",
        "true",
        "false",
        "null",
        "\"\"",
        "[]",
        "{}",
        " [ ] ",
        "{ }",
        "[1,2,[3,{}],\"x\"]",
        "{\"a\":1,\"b\":{\"a\":[]}}",
        "[\r\n\t1 ,\n2]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u0001\\u00e9\\uffff\"",
        "\"\\ud83d\\ude00\"",
        "\"\\uD834\\uDD1E\"",
        "\"\x7f\"",
        "\"\xc2\x80\"",
        "\"\xdf\xbf\"",
        "\"\xe0\xa0\x80\"",
        "\"\xed\x9f\xbf\"",
        "\"\xee\x80\x80\"",
        "\"\xef\xbf\xbf\"",
        "\"\xf0\x90\x80\x80\"",
        "\"\xf4\x8f\xbf\xbf\"",
        "{\"\":0}",
        "[{\"a\":1},{\"a\":1}]",
        "{\"a\":{\"a\":{\"a\":1}}}",
        "1e999999",
        "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
        "123456789012345678901234567890123456789012345678901234567890123",
    };
    struct fp4_error err;
    size_t line, column;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(check(rows[i], &line, &column, &err), 0, "'%s': %s", rows[i], err.msg);
        cr_expect(line == 0 && column == 0 && err.msg[0] == 0, "'%s' touched its results", rows[i]);
    }
}

static const struct {
    const char *text;
    size_t line, column;
    const char *message;
} faults[] = {
    { "", 1, 1, "the text is empty" },
    { "  \n ", 2, 2, "the text ends before its value does" },
    { "[1", 1, 3, "the text ends while brackets are open" },
    { "{\"a", 1, 4, "the text ends inside a string" },
    { "\"\\", 1, 3, "the text ends inside a string" },
    { "\"\\u00", 1, 6, "the text ends inside a string" },
    { "\"\xc3", 1, 3, "the text ends inside a string" },
    { "-", 1, 2, "the text ends before its value does" },
    { "1.", 1, 3, "the text ends before its value does" },
    { "tru", 1, 4, "the text ends before its value does" },
    { "True", 1, 1, "expected a value, found 'T'" },
    { "trUe", 1, 3, "expected true, false or null, found 'U'" },
    { "nulL", 1, 4, "expected true, false or null, found 'L'" },
    { "NaN", 1, 1, "expected a value, found 'N'" },
    { "Infinity", 1, 1, "expected a value, found 'I'" },
    { "-Infinity", 1, 2, "expected a digit, found 'I'" },
    { "+1", 1, 1, "expected a value, found '+'" },
    { ".5", 1, 1, "expected a value, found '.'" },
    { "01", 1, 2, "a number begins with 0" },
    { "-01", 1, 3, "a number begins with 0" },
    { "1.e5", 1, 3, "expected a digit, found 'e'" },
    { "1e", 1, 3, "the text ends before its value does" },
    { "1e+x", 1, 4, "expected a digit, found 'x'" },
    { "0x10", 1, 2, "expected the end of the text, found 'x'" },
    { "1234567890123456789012345678901234567890123456789012345678901234", 1, 64, "a number has too many characters (limit 63)" },
    { "[1,]", 1, 4, "expected a value, found ']'" },
    { "[,1]", 1, 2, "expected a value, found ','" },
    { "[1 2]", 1, 4, "expected ',' or ']', found '2'" },
    { "[1}", 1, 3, "expected ',' or ']', found '}'" },
    { "{\"a\":1]", 1, 7, "expected ',' or '}', found ']'" },
    { "{\"a\":1,}", 1, 8, "expected a key in quotes, found '}'" },
    { "{\"a\" 1}", 1, 6, "expected ':', found '1'" },
    { "{a:1}", 1, 2, "expected a key in quotes, found 'a'" },
    { "{1:1}", 1, 2, "expected a key in quotes, found '1'" },
    { "{,}", 1, 2, "expected a key in quotes, found ','" },
    { "]", 1, 1, "expected a value, found ']'" },
    { "[]]", 1, 3, "expected the end of the text, found ']'" },
    { "{} x", 1, 4, "expected the end of the text, found 'x'" },
    { "[]\n\n{}", 3, 1, "expected the end of the text, found '{'" },
    { "[1,\n 2,\n  x]", 3, 3, "expected a value, found 'x'" },
    { "[1] // done", 1, 5, "expected the end of the text, found '/'" },
    { "\xef\xbb\xbf[]", 1, 1, "expected a value, found byte 0xef" },
    { "[\f1]", 1, 2, "expected a value, found byte 0x0c" },
    { "[\xc2\xa0]", 1, 2, "expected a value, found byte 0xc2" },
    { "\"a\tb\"", 1, 3, "expected an escape for a control character, found byte 0x09" },
    { "\"a\nb\"", 1, 3, "expected an escape for a control character, found byte 0x0a" },
    { "\"\\x41\"", 1, 3, "expected one of \"\\/bfnrtu after '\\', found 'x'" },
    { "\"\\u12g4\"", 1, 6, "expected four hex digits after '\\u', found 'g'" },
    { "\"\\u0000\"", 1, 7, "\\u0000 is not allowed" },
    { "\"\\ud800\"", 1, 8, "a high surrogate is not followed by a low one" },
    { "\"\\ud800x\"", 1, 8, "a high surrogate is not followed by a low one" },
    { "\"\\ud800\\n\"", 1, 9, "a high surrogate is not followed by a low one" },
    { "\"\\ud800\\u0041\"", 1, 13, "a high surrogate is not followed by a low one" },
    { "\"\\ud800\\ud800\"", 1, 13, "a high surrogate is not followed by a low one" },
    { "\"\\udc00\"", 1, 7, "a low surrogate stands alone" },
    { "\"\x80\"", 1, 2, "expected UTF-8, found byte 0x80" },
    { "\"\xc0\x80\"", 1, 2, "expected UTF-8, found byte 0xc0" },
    { "\"\xc1\xbf\"", 1, 2, "expected UTF-8, found byte 0xc1" },
    { "\"\xe0\x9f\xbf\"", 1, 3, "expected UTF-8, found byte 0x9f" },
    { "\"\xed\xa0\x80\"", 1, 3, "expected UTF-8, found byte 0xa0" },
    { "\"\xf0\x8f\xbf\xbf\"", 1, 3, "expected UTF-8, found byte 0x8f" },
    { "\"\xf4\x90\x80\x80\"", 1, 3, "expected UTF-8, found byte 0x90" },
    { "\"\xf5\x80\x80\x80\"", 1, 2, "expected UTF-8, found byte 0xf5" },
    { "\"\xe2\x82\"", 1, 4, "expected UTF-8, found '\"'" },
    { "{\"a\":1,\"a\":2}", 1, 10, "duplicate key 'a'" },
    { "{\"a\":{\"b\":1},\n\"a\":2}", 2, 3, "duplicate key 'a'" },
    { "{\"a\":1,\"\\u0061\":2}", 1, 15, "duplicate key 'a'" },
    { "{\"\xc3\xa9\":1,\"\\u00e9\":2}", 1, 16, "duplicate key '\?\?'" },
    { "{\"\":1,\"\":2}", 1, 8, "duplicate key ''" },
    { "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", 1, 17, "brackets are nested too deep (limit 16)" },
};

Test(json_check, each_fault_is_named_with_its_place)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct fp4_error err;
        size_t line, column;
        int status = check(faults[i].text, &line, &column, &err);

        cr_expect_str_eq(err.msg, faults[i].message, "'%s': %s", faults[i].text, err.msg);
        cr_expect_eq(status, -1, "'%s'", faults[i].text);
        cr_expect_eq(err.code, FP4_EFORMAT, "'%s'", faults[i].text);
        cr_expect(line == faults[i].line && column == faults[i].column, "'%s': line %zu, column %zu", faults[i].text, line, column);
    }
}

Test(json_check, a_nul_byte_is_a_fault_and_no_end)
{
    struct fp4_error err = { 0 };

    cr_expect_eq(json_check("[]\0", 3, 16, NULL, NULL, &err), -1);
    cr_expect_str_eq(err.msg, "expected the end of the text, found byte 0x00");
    cr_expect_eq(json_check("\"a\0b\"", 5, 16, NULL, NULL, &err), -1);
    cr_expect_str_eq(err.msg, "expected an escape for a control character, found byte 0x00");
    cr_expect_eq(json_check("[\0]", 3, 16, NULL, NULL, NULL), -1);
}

Test(json_check, no_prefix_of_a_text_in_brackets_is_a_text)
{
    static const char text[] = "{\"a\":[1,-2.5e+3,true,null],\"b\\u00e9\xc3\xa9\\ud83d\\ude00\":{\"c\":\"\"}}";
    size_t size = sizeof text - 1;

    for (size_t cut = 0; cut <= size; cut++) {
        char *copy = malloc(cut + 1); /* of its own, so that a read beyond the cut is seen */
        memcpy(copy, text, cut);
        CHECK(json_check(copy, cut, 16, NULL, NULL, NULL) == (cut == size ? 0 : -1), "cut at %zu", cut);
        free(copy);
    }
}

Test(json_check, depth_is_what_the_caller_allows)
{
    char text[300];

    for (unsigned depth = 1; depth <= 70; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        for (unsigned most = 1; most <= 64; most++)
            CHECK(json_check(text, 2 * depth, most, NULL, NULL, NULL) == (depth <= most ? 0 : -1), "depth %u, limit %u", depth,
                  most);
        CHECK(json_check(text, 2 * depth, 1000, NULL, NULL, NULL) == (depth <= 64 ? 0 : -1), "depth %u", depth);
    }
}

Test(json_check, keys_of_many_objects_are_kept_apart)
{
    char *text = malloc(1 << 20), *at = text;

    *at++ = '[';
    for (int i = 0; i < 1000; i++)
        at += sprintf(at, "%s{\"a\":{\"b\":%d,\"a\":[{\"a\":0}]},\"b\":0}", i ? "," : "", i);
    *at++ = ']';
    cr_expect_eq(json_check(text, (size_t)(at - text), 16, NULL, NULL, NULL), 0);

    at = text;
    *at++ = '{';
    for (int i = 0; i < 4097; i++)
        at += sprintf(at, "%s\"k%d\":0", i ? "," : "", i);
    *at++ = '}';
    struct fp4_error err = { 0 };
    cr_expect_eq(json_check(text, (size_t)(at - text), 16, NULL, NULL, &err), -1);
    cr_expect_str_eq(err.msg, "an object has too many keys (limit 4096)");
    free(text);
}

Test(json_check, strings_of_any_length_pass_but_keys_are_bounded)
{
    size_t size = 1 << 20;
    char *text = malloc(size + 8);
    struct fp4_error err = { 0 };

    memset(text, 'x', size);
    text[0] = text[size - 1] = '"';
    cr_expect_eq(json_check(text, size, 16, NULL, NULL, &err), 0, "%s", err.msg);
    text[0] = '{';
    text[1] = '"';
    memcpy(text + size - 1, "\":0}", 4);
    cr_expect_eq(json_check(text, size + 3, 16, NULL, NULL, &err), -1);
    cr_expect_str_eq(err.msg, "a key is too long (limit 1023)");
    free(text);
}

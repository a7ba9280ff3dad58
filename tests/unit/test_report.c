/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: valid JSON and XML whatever the strings hold, GitHub's limits, files that are replaced whole or not at all. */
#include "report.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NASTY "a < b & \"c\" 'd' | `e` %0A :: \n second \t line \x01 \xc3\xa4 ]]> -->"

static struct tensor_diff *make_tensors(void)
{
    struct tensor_diff *t = calloc(3, sizeof *t);

    cr_assert(t != NULL);
    t[0] = (struct tensor_diff){ .name = "scaled",
                                 .role = TENSOR_STAGE,
                                 .dtype = FP4_F32,
                                 .ndim = 2,
                                 .dims = { 256, 128 },
                                 .elements = 32768,
                                 .no_bytes = "b",
                                 .blocks = 32,
                                 .blocks_differing = 2,
                                 .block_list = { 3, 31 } };
    t[1] = (struct tensor_diff){ .name = "codes.t",
                                 .role = TENSOR_OUTPUT,
                                 .dtype = FP4_E2M1,
                                 .ndim = 2,
                                 .dims = { 256, 128 },
                                 .elements = 32768,
                                 .located = true,
                                 .differing = 3,
                                 .classes = { .one_step = 2, .zero_sign = 1 },
                                 .looks_like = "an example",
                                 .place_count = 2 };
    t[1].places[0] = (struct diff_place){ .row = 17,
                                          .col = 35,
                                          .block = 2,
                                          .nibble = 3,
                                          .a = 3,
                                          .b = 4,
                                          .ref = 3,
                                          .has = PLACE_REF | PLACE_INPUT | PLACE_INPUT_AT | PLACE_AMAX | PLACE_SCALE |
                                                 PLACE_SCALED | PLACE_RBITS | PLACE_BYTE,
                                          .input_row = 35,
                                          .input_col = 17,
                                          .input_dtype = FP4_BF16,
                                          .input = 0x3f80,
                                          .block_amax = 0x40c00000,
                                          .scaled = 0x3fe00000,
                                          .scale = 0x38,
                                          .rbits = 0x12345678,
                                          .byte = 0x34 };
    t[1].places[1] = (struct diff_place){ .row = 18, .col = 0, .a = 0, .b = 8 };
    t[2] = (struct tensor_diff){ .name = "amax",
                                 .role = TENSOR_OUTPUT,
                                 .dtype = FP4_F32,
                                 .ndim = 1,
                                 .dims = { 1, 1 },
                                 .elements = 1,
                                 .located = true,
                                 .differing = 1,
                                 .classes = { .nan_number = 1 },
                                 .place_count = 1 };
    t[2].places[0] = (struct diff_place){ .a = 0x7fc00000, .b = 0x3f800000 };
    return t;
}

static const struct diff_heading heading = {
    .a = { .label = "a.json:ref",
           .path = "a.json",
           .backend = "ref",
           .tool = "fp4check 0.1.0",
           .arch = "x86_64",
           .complete = true },
    .b = { .label = "b<&>.json:soft", .path = "b<&>.json", .backend = "soft", .build = NASTY, .complete = false },
    .policy = &diff_policy_default,
};

/* equal, differing in detail, n plain failures, an error, a skip and one missing on a side; all with unpleasant reasons. */
static void feed(struct report_set *set, size_t failures)
{
    static const enum verdict others[] = { VERDICT_EQUAL, VERDICT_ERROR, VERDICT_SKIPPED, VERDICT_NOT_COMPARABLE };
    struct diff_sink sink = report_sink(set);
    struct diff_summary s = { 0 };
    struct case_diff d = { .name = "quantize/detailed/" NASTY,
                           .op = "quantize",
                           .verdict = VERDICT_DIFFERS,
                           .reason = NASTY,
                           .detailed = true,
                           .repro = "fp4check run --case 'x'",
                           .no_context = NASTY };

    sink.begin(sink.arg, &heading, NULL);
    d.tensors = make_tensors();
    d.tensor_count = 3;
    sink.item(sink.arg, &d, NULL);
    case_diff_release(&d);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct case_diff c = { .verdict = others[i], .reason = NASTY };

        strcpy(c.op, i % 2 ? "swizzle" : "quantize");
        snprintf(c.name, sizeof c.name, "%s/other/%zu", c.op, i);
        sink.item(sink.arg, &c, NULL);
        s.verdicts[others[i]]++;
    }
    for (size_t i = 0; i < failures; i++) {
        struct case_diff c = { .op = "swizzle", .verdict = VERDICT_DIFFERS, .reason = "codes: 1 of 2 differ" };

        snprintf(c.name, sizeof c.name, "swizzle/failing/%zu", i);
        strcpy(c.only, i == 0 ? "a" : "");
        sink.item(sink.arg, &c, NULL);
    }
    s.verdicts[VERDICT_DIFFERS] = 1 + failures;
    s.total = 5 + failures;
    s.only_a = failures > 0;
    s.matched = s.total - s.only_a;
    s.op_count = 1;
    strcpy(s.ops[0].op, "quantize");
    s.ops[0].total = s.total;
    memcpy(s.ops[0].verdicts, s.verdicts, sizeof s.verdicts);
    sink.end(sink.arg, &s, NULL);
}

static char *read_all(FILE *f)
{
    struct text t = { 0 };
    char buffer[4096];
    size_t n;

    rewind(f);
    while ((n = fread(buffer, 1, sizeof buffer, f)) > 0)
        text_addn(&t, buffer, n);
    if (!t.data)
        text_add(&t, "");
    return t.data;
}

/* The whole output of one format after `sections` sections. */
static char *written(const struct report_format *format, size_t sections, size_t failures)
{
    struct report_set *set = calloc(1, sizeof *set);
    struct fp4_error err = { 0 };
    FILE *f = tmpfile();

    cr_assert(set && f);
    set->command = "diff";
    cr_assert(report_add(set, format, NULL, f, &err) == 0, "%s", err.msg);
    for (size_t i = 0; i < sections; i++)
        feed(set, failures);
    cr_assert(report_finish(set, 1, &err) == 0, "%s", err.msg);
    char *text = read_all(f);
    fclose(f);
    free(set);
    return text;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *s = strstr(text, what); s; s = strstr(s + 1, what))
        n++;
    return n;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------------- */

static const char *string_at(const cJSON *object, const char *key)
{
    const char *s = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

    return s ? s : "";
}

static double number_at(const cJSON *object, const char *key)
{
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(n) ? n->valuedouble : -1;
}

Test(json, parses_and_holds_what_was_found)
{
    char *text = written(&report_json, 2, 3);
    struct fp4_error err = { 0 };
    size_t line, column;

    cr_assert(json_check(text, strlen(text), 16, &line, &column, &err) == 0, "%zu:%zu: %s", line, column, err.msg);
    cJSON *root = cJSON_Parse(text);
    cr_assert(root != NULL);
    cr_expect_str_eq(string_at(root, "format"), "fp4check-report");
    cr_expect(number_at(root, "version") == 1 && number_at(root, "exit") == 1);
    const cJSON *sections = cJSON_GetObjectItemCaseSensitive(root, "sections");
    cr_assert(cJSON_GetArraySize(sections) == 2);
    const cJSON *section = cJSON_GetArrayItem(sections, 1);
    cr_expect_str_eq(string_at(cJSON_GetObjectItemCaseSensitive(section, "b"), "build"), NASTY);
    const cJSON *cases = cJSON_GetObjectItemCaseSensitive(section, "cases");
    cr_assert(cJSON_GetArraySize(cases) == 8);
    const cJSON *first = cJSON_GetArrayItem(cases, 0);
    cr_expect_str_eq(string_at(first, "verdict"), "differs");
    cr_expect_str_eq(string_at(first, "reason"), NASTY);
    cr_expect_str_eq(string_at(first, "first"), "scaled");
    const cJSON *codes = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(first, "tensors"), 1);
    cr_expect_str_eq(string_at(codes, "looks_like"), "an example");
    const cJSON *place = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(codes, "places"), 0);
    static const char *const values[][2] = {
        { "input", "1" },
        { "input_bits", "0x3f80" },
        { "block_amax_bits", "0x40c00000" },
        { "scale", "1" },
        { "scale_bits", "0x38" },
        { "scaled", "1.75" },
        { "rbits", "0x12345678" },
        { "byte", "0x34" },
        { "a", "1.5" },
        { "a_bits", "0x3" },
        { "b", "2" },
        { "b_bits", "0x4" },
        { "ref_bits", "0x3" },
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        cr_expect_str_eq(string_at(place, values[i][0]), values[i][1], "%s", values[i][0]);
    cr_expect(number_at(place, "row") == 17 && number_at(place, "input_row") == 35 && number_at(place, "nibble") == 3);
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(section, "totals");
    cr_expect(number_at(totals, "total") == 8 && number_at(totals, "differs") == 4 && number_at(totals, "only_a") == 1);
    cr_expect(number_at(totals, "compared") == 4);
    cJSON_Delete(root);
    free(text);
}

Test(json, is_complete_without_any_section)
{
    char *text = written(&report_json, 0, 0);
    cJSON *root = cJSON_Parse(text);

    cr_expect(root && cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "sections")) == 0, "%s", text);
    cJSON_Delete(root);
    free(text);
}

/* ---- JUnit ------------------------------------------------------------------------------------------------------------------- */

static bool entity_at(const char *s)
{
    static const char *const known[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&apos;", "&#10;", "&#9;" };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(s, known[i], strlen(known[i])) == 0)
            return true;
    return false;
}

/* A small strict reader: tags nest, attributes are quoted, text has neither '<' nor a bare '&' nor control characters. NULL when
 * the document is well-formed, else the rest from where it is not. */
static const char *xml_error(const char *s)
{
    const char *stack[16];
    size_t lengths[16], depth = 0;

    if (strncmp(s, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", 38) != 0)
        return s;
    for (s += 38; *s; s++) {
        if (*s == '&' && !entity_at(s))
            return s;
        if ((unsigned char)*s < 0x20 && !isspace((unsigned char)*s))
            return s;
        if (strncmp(s, "]]>", 3) == 0) /* not allowed in text */
            return s;
        if (*s != '<')
            continue;
        bool closing = s[1] == '/';
        const char *name = s + 1 + closing, *end = name + strspn(name, "abcdefghijklmnopqrstuvwxyz");
        size_t length = (size_t)(end - name);
        for (s = end; *s == ' ';) {
            s += 1 + strspn(s + 1, "abcdefghijklmnopqrstuvwxyz");
            if (strncmp(s, "=\"", 2) != 0)
                return s;
            for (s += 2; *s != '"'; s++)
                if (*s == '<' || *s == '\n' || !*s || (*s == '&' && !entity_at(s)))
                    return s;
            s++;
        }
        if (closing && (depth == 0 || lengths[depth - 1] != length || strncmp(stack[depth - 1], name, length) != 0))
            return name;
        if (closing) {
            depth--;
        } else if (*s == '/') {
            s++;
        } else {
            if (depth == 16)
                return s;
            stack[depth] = name;
            lengths[depth++] = length;
        }
        if (*s != '>')
            return s;
    }
    return depth ? s : NULL;
}

Test(junit, is_well_formed_with_a_suite_for_each_op_and_matching_counts)
{
    char *text = written(&report_junit, 2, 3);
    const char *bad = xml_error(text);

    cr_expect(!bad, "at: %.60s", bad ? bad : "");
    cr_expect(occurrences(text, "<testsuite ") == 4);
    cr_expect(occurrences(text, "<testcase ") == 16);
    cr_expect(occurrences(text, "<failure ") == 10);
    cr_expect(occurrences(text, "<error ") == 2);
    cr_expect(occurrences(text, "<skipped ") == 2);
    cr_expect(strstr(
        text,
        "name=\"quantize: a.json:ref against b&lt;&amp;&gt;.json:soft\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""));
    cr_expect(strstr(text, "tests=\"5\" failures=\"4\" errors=\"1\" skipped=\"0\""));
    free(text);
    text = written(&report_junit, 0, 0);
    bad = xml_error(text);
    cr_expect(!bad, "empty: %s", text);
    free(text);
}

/* ---- GitHub ------------------------------------------------------------------------------------------------------------------ */

Test(github, escapes_what_would_end_a_message_or_a_property)
{
    static const struct {
        const char *in, *message, *property;
    } rows[] = {
        { "plain", "plain", "plain" },           { "50%", "50%25", "50%25" }, { "a\nb\r", "a%0Ab%0D", "a%0Ab%0D" },
        { "a: b, c", "a: b, c", "a%3A b%2C c" }, { "%0A", "%250A", "%250A" }, { "::error::x", "::error::x", "%3A%3Aerror%3A%3Ax" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int property = 0; property < 2; property++) {
            struct text t = { 0 };

            github_escape(&t, rows[i].in, property);
            cr_expect_str_eq(t.data, property ? rows[i].property : rows[i].message);
            text_release(&t);
        }
}

Test(github, at_most_ten_annotations_then_one_with_the_count)
{
    for (size_t failures = 5; failures < 12; failures++) {
        char *text = written(&report_github, 1, failures);
        size_t bad = failures + 3, errors = occurrences(text, "::error title="), notices = occurrences(text, "::notice title=");

        cr_expect(errors == (bad < 10 ? bad : 10) && notices == (bad > 10), "%zu: %zu and %zu", bad, errors, notices);
        cr_expect(occurrences(text, "\n") == errors + notices, "one line each: %s", text);
        if (bad > 10) {
            char want[40];

            snprintf(want, sizeof want, "and %zu more case", bad - 10);
            cr_expect(strstr(text, want), "%s", text);
        }
        free(text);
    }
}

/* ---- Markdown and text ------------------------------------------------------------------------------------------------------- */

Test(markdown, every_table_row_has_as_many_cells_as_its_head)
{
    char *text = written(&report_markdown, 2, 30), *rest = text, *line;
    size_t want = 0, rows = 0;

    while ((line = strsep(&rest, "\n"))) { /* an empty line ends a table */
        size_t bars = 0;

        if (*line != '|') {
            want = 0;
            continue;
        }
        for (char *s = line; *s; s++)
            bars += *s == '|' && s[-(s > line)] != '\\';
        want = want ? want : bars;
        rows++;
        cr_expect(bars == want, "%zu bars, not %zu: %s", bars, want, line);
    }
    cr_expect(rows > 40);
    free(text);
}

Test(text, says_who_was_compared_what_differs_and_how_many)
{
    static const char *const wanted[] = {
        "A  a.json:ref  (fp4check 0.1.0, x86_64)\n",
        "incomplete",
        "rule  bit-exact\n",
        "only in A: swizzle/failing/0\n",
        "first stage that differs: scaled\n",
        "in 2 of 32 blocks of 4 KiB: block 3 (rows 24-31), block 31 (rows 248-255)",
        "codes.t e2m1 [256,128]: 3 of 32768 differ (0.00916%): 2 by one step, 1 in the sign of zero\n",
        "looks like: an example\n",
        "input at",
        "35,17",
        "1 (0x3f80)",
        "6 (0x40c00000)",
        "1 (0x38)",
        "1.75 (0x3fe00000)",
        "0x12345678",
        "0x34",
        "1.5 (0x3)",
        "2 (0x4)",
        "0 (0x0)",
        "-0 (0x8)",
        "and 1 more\n",
        "nan (0x7fc00000)",
        "again: fp4check run --case 'x'\n",
        "\n4 cases compared: 1 equal, 3 differ; 1 not comparable, 1 error, 1 skipped, 1 only in A\n",
    };
    char *text = written(&report_text, 1, 3);

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        cr_expect(strstr(text, wanted[i]), "'%s' is missing in:\n%s", wanted[i], i ? "(above)" : text);
    free(text);
}

Test(text, foreign_strings_are_cleaned)
{
    static const struct {
        const char *in, *plain, *utf8;
    } rows[] = {
        { "a\033[31mb\n", "a [31mb ", "a\033[31mb\n" },
        { "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "\xc2\x9b", " ", "\xc2\x9b" },
        { "cut \xe2\x82", "cut ??", "cut ??" },
        { "\xc0\x80\xed\xa0\x80\xff", "??????", "??????" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text plain = { 0 }, utf8 = { 0 };

        plain_text(&plain, rows[i].in);
        utf8_text(&utf8, rows[i].in);
        cr_expect_str_eq(plain.data, rows[i].plain, "row %zu", i);
        cr_expect_str_eq(utf8.data, rows[i].utf8, "row %zu", i);
        text_release(&plain);
        text_release(&utf8);
    }
}

Test(text, shares_are_never_rounded_to_all_or_nothing)
{
    static const struct {
        size_t part, whole;
        const char *want;
    } rows[] = {
        { 0, 10, "0%" },   { 10, 10, "100%" },          { 1, 1000, "0.1%" },
        { 1, 3, "33.3%" }, { 1, 10000000, "<0.0001%" }, { 9999999, 10000000, ">99.9%" },
        { 0, 0, "0%" },    { 999, 1000, "99.9%" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[ELEMENT_TEXT_MAX];

        cr_expect_str_eq(share_text(rows[i].part, rows[i].whole, text), rows[i].want);
    }
}

Test(text, elements_are_printed_as_values_and_bits_of_their_width)
{
    static const struct {
        enum fp4_dtype dtype;
        uint64_t bits;
        const char *value, *hex;
    } rows[] = {
        { FP4_E2M1, 15, "-6", "0xf" },
        { FP4_E2M1, 8, "-0", "0x8" },
        { FP4_E4M3, 0x7e, "448", "0x7e" },
        { FP4_E4M3, 0xff, "nan", "0xff" },
        { FP4_E4M3, 0x01, "0.001953125", "0x01" },
        { FP4_BF16, 0x3f80, "1", "0x3f80" },
        { FP4_F16, 0xfc00, "-inf", "0xfc00" },
        { FP4_F32, 0x00000001, "1.40129846e-45", "0x00000001" },
        { FP4_F32, 0xffc00000, "nan", "0xffc00000" },
        { FP4_U8, 7, "7", "0x07" },
        { FP4_U32, 0xffffffff, "4294967295", "0xffffffff" },
        { FP4_U64, UINT64_MAX, "18446744073709551615", "0xffffffffffffffff" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[ELEMENT_TEXT_MAX];

        cr_expect_str_eq(element_value(rows[i].dtype, rows[i].bits, text), rows[i].value);
        cr_expect_str_eq(element_hex(rows[i].dtype, rows[i].bits, text), rows[i].hex);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    cr_assert(f != NULL);
    fputs(text, f);
    fclose(f);
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "r");

    if (!f)
        return NULL;
    char *text = read_all(f);
    fclose(f);
    return text;
}

Test(report_files, are_replaced_when_finished_and_untouched_when_dropped)
{
    char folder[] = "/tmp/fp4check-report-XXXXXX", path[64], partial[80];
    struct report_set *set = calloc(1, sizeof *set);
    struct fp4_error err = { 0 };

    cr_assert(set && mkdtemp(folder));
    snprintf(path, sizeof path, "%s/junit.xml", folder);
    snprintf(partial, sizeof partial, "%s.partial", path);
    write_file(path, "old");
    cr_assert(report_add(set, &report_junit, path, NULL, &err) == 0);
    feed(set, 1);
    report_drop(set);
    char *text = read_file(path);
    cr_expect_str_eq(text, "old");
    cr_expect(access(partial, F_OK) != 0);
    free(text);
    cr_assert(report_add(set, &report_junit, path, NULL, &err) == 0);
    feed(set, 1);
    cr_assert(report_finish(set, 1, &err) == 0, "%s", err.msg);
    text = read_file(path);
    cr_expect(text && !xml_error(text));
    cr_expect(access(partial, F_OK) != 0);
    free(text);
    unlink(path);
    rmdir(folder);
    free(set);
}

Test(report_files, a_file_that_cannot_be_written_is_named)
{
    struct report_set *set = calloc(1, sizeof *set);
    struct fp4_error err = { 0 };

    cr_assert(set);
    cr_expect(report_add(set, &report_json, "/nonexistent/x.json", NULL, &err) < 0);
    cr_expect(err.code == FP4_EIO && strstr(err.msg, "/nonexistent/x.json") && strstr(err.msg, "No such file"), "%s", err.msg);
    cr_expect(set->count == 0);
    if (access("/dev/full", W_OK) == 0) {
        cr_assert(report_add(set, &report_json, "/dev/full", NULL, &err) == 0);
        feed(set, 1);
        cr_expect(report_finish(set, 1, &err) < 0 && strstr(err.msg, "/dev/full") && strstr(err.msg, "No space"), "%s", err.msg);
    }
    free(set);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* --input: safetensors files, whole and broken, and the cases that they make. */
#include "matrix.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH P_tmpdir "/fp4check-input-XXXXXX.safetensors"

/* Writes a file with this header (its length field may lie by lie) and data_bytes bytes 0, 1, 2, ... */
static void write_file(char path[sizeof PATH], const char *header, long lie, size_t data_bytes)
{
    uint64_t length = strlen(header) + (uint64_t)lie;
    uint8_t head[8];
    int fd;
    FILE *f;
    size_t i;

    strcpy(path, PATH);
    fd = mkstemps(path, 12);
    cr_assert_geq(fd, 0);
    f = fdopen(fd, "wb");
    for (i = 0; i < 8; i++)
        head[i] = (uint8_t)(length >> 8 * i);
    cr_assert_eq(fwrite(head, 1, 8, f), 8);
    cr_assert_eq(fwrite(header, 1, strlen(header), f), strlen(header));
    for (i = 0; i < data_bytes; i++)
        fputc((int)(i & 0xFF), f);
    fclose(f);
}

static int registered(const char *header, long lie, size_t data_bytes, const char *tensor, struct fp4_error *err)
{
    char path[sizeof PATH], spec[256];
    int n;

    write_file(path, header, lie, data_bytes);
    snprintf(spec, sizeof spec, "%s%s%s", path, tensor ? ":" : "", tensor ? tensor : "");
    n = input_register(spec, err);
    unlink(path); /* the file stays open */
    return n;
}

#define TENSOR(dtype, shape, from, to) "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"
#define TWO \
    "{\"__metadata__\":{\"format\":\"pt\"},\"a\":" TENSOR("F32", "[2,3,4]", 0, 96) ",\"b\":" TENSOR("BF16", "[16]", 96, 128) "}  "

Test(input_register, takes_every_float_tensor_of_a_file)
{
    struct fp4_error err = { FP4_OK, "" };
    enum fp4_dtype dtype;
    size_t rows, cols;

    cr_assert_eq(registered(TWO, 0, 128, NULL, &err), 2, "%s", err.msg);
    cr_assert_eq(input_count(), 2);
    cr_expect_str_eq(input_tensor_name(0), "a");
    input_shape(0, &rows, &cols, &dtype);
    cr_expect(rows == 6 && cols == 4 && dtype == FP4_F32);
    input_shape(1, &rows, &cols, &dtype);
    cr_expect(rows == 1 && cols == 16 && dtype == FP4_BF16);
    cr_expect_eq(strlen(input_data_name(0)), 21);
    cr_expect_str_neq(input_data_name(0), input_data_name(1));
    cr_expect_eq(registered(TWO, 0, 128, "a", &err), 1, "%s", err.msg); /* the same bytes again: no second entry */
    cr_expect_eq(input_count(), 2);
    input_release_all();
    cr_expect_eq(input_count(), 0);
}

Test(input_register, takes_one_named_tensor_and_leaves_other_types_out)
{
    static const char header[] = "{\"i\":" TENSOR("I64", "[2]", 0, 16) ",\"f\":" TENSOR("F16", "[2,2]", 16, 24) ",\"new\":" TENSOR(
        "F4", "[64]", 24, 56) ",\"s\":" TENSOR("F32", "[]", 56, 60) ",\"e\":" TENSOR("F32", "[0,4]", 60, 60) "}";
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(registered(header, 0, 60, "f", &err), 1, "%s", err.msg);
    cr_expect_eq(registered(header, 0, 60, "i", &err), -1);
    cr_expect(strstr(err.msg, "'i' (I64) cannot be used"), "%s", err.msg);
    cr_expect_eq(registered(header, 0, 60, "new", &err), -1);
    cr_expect_eq(registered(header, 0, 60, "s", &err), -1);
    cr_expect(strstr(err.msg, "no dimensions"), "%s", err.msg);
    cr_expect_eq(registered(header, 0, 60, "e", &err), -1);
    cr_expect(strstr(err.msg, "empty"), "%s", err.msg);
    cr_expect_eq(registered(header, 0, 60, "g", &err), -1);
    cr_expect(strstr(err.msg, "no tensor 'g'"), "%s", err.msg);
    input_release_all();
}

Test(input_register, says_file_and_field_of_a_broken_file)
{
    static const struct {
        const char *header, *message;
        long lie;
        size_t data_bytes;
    } rows[] = {
        { "", "header", 0, 0 },
        { "{}", "no new f32, f16 or bf16 tensor", 0, 0 },
        { "{}", "belong to no tensor", 0, 4 },
        { "{", "header, line 1", 0, 0 },
        { "[]", "object", 0, 0 },
        { "{} x", "header, line 1", 0, 0 },
        { TWO, "but the file ends after", 100000, 128 },
        { TWO, "more than the limit", 1L << 40, 128 },
        { TWO, "more than the limit", -(1L << 40), 128 },
        { "{\"a\":1}", "tensor 'a': an object is needed", 0, 0 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "'data_offsets'", 0, 4 },
        { "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "'shape'", 0, 4 },
        { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", "'dtype'", 0, 4 },
        { "{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", "'dtype'", 0, 4 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":0}}", "unknown field 'x'", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[1]", 0, 4) ",\"a\":" TENSOR("F32", "[1]", 4, 8) "}", "header", 0, 8 },
        { "{\"a\":" TENSOR("F32", "1", 0, 4) "}", "'shape': an array", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[-1]", 0, 4) "}", "'shape': dimension 0", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[1.5]", 0, 4) "}", "'shape': dimension 0", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[4294967296,4294967296]", 0, 4) "}", "more than 2^53", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[1e30]", 0, 4) "}", "'shape': dimension 0", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[2]", 0, 4) "}", "4 bytes, where dtype and shape need 8", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[1]", 4, 0) "}", "the end lies before", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[2]", 0, 8) "}", "lies beyond the 4 bytes", 0, 4 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", "two whole numbers", 0, 4 },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,\"4\"]}}", "two whole numbers", 0, 4 },
        { "{\"a\":" TENSOR("F32", "[2]", 0, 8) ",\"b\":" TENSOR("F32", "[2]", 4, 12) "}",
          "tensor 'b': field 'data_offsets' overlaps", 0, 12 },
        { "{\"a\":" TENSOR("F32", "[1]", 0, 4) ",\"b\":" TENSOR("F32", "[1]", 8, 12) "}",
          "tensor 'b': field 'data_offsets' leaves a gap", 0, 12 },
        { "{\"a\":" TENSOR("F32", "[1]", 0, 4) "}", "the last 3 bytes", 0, 7 },
        { "{\"__metadata__\":{\"x\":1},\"a\":" TENSOR("F32", "[1]", 0, 4) "}", "'__metadata__'", 0, 4 },
        { "{\"__metadata__\":[],\"a\":" TENSOR("F32", "[1]", 0, 4) "}", "'__metadata__'", 0, 4 },
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(registered(rows[i].header, rows[i].lie, rows[i].data_bytes, NULL, &err), -1, "row %zu", i);
        cr_expect(strstr(err.msg, rows[i].message), "row %zu: '%s' lacks '%s'", i, err.msg, rows[i].message);
        cr_expect(strstr(err.msg, "fp4check-input-"), "row %zu: '%s' lacks the file", i, err.msg);
        cr_expect_eq(input_count(), 0);
    }
    input_release_all();
}

Test(input_register, refuses_other_names_short_files_and_folders)
{
    static const struct {
        const char *spec, *message;
    } rows[] = {
        { "weights.bin", "write FILE.safetensors" },
        { "a.safetensors:", "write FILE.safetensors" },
        { "", "write FILE.safetensors" },
        { "/nowhere/at/all.safetensors", "cannot open" },
        { "/nowhere/at/all.safetensors:a.safetensors", "cannot open '/nowhere/at/all.safetensors:a.safetensors'" },
    };
    char path[] = P_tmpdir "/fp4check-short-XXXXXX.safetensors";
    struct fp4_error err = { FP4_OK, "" };
    size_t i;
    int fd;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(input_register(rows[i].spec, &err), -1, "%s", rows[i].spec);
        cr_expect(strstr(err.msg, rows[i].message), "'%s' lacks '%s'", err.msg, rows[i].message);
    }
    fd = mkstemps(path, 12);
    cr_assert(fd >= 0 && write(fd, "abc", 3) == 3);
    close(fd);
    cr_expect_eq(input_register(path, &err), -1);
    cr_expect(strstr(err.msg, "only 3 bytes"), "%s", err.msg);
    unlink(path);
    input_release_all();
}

Test(input_cases, read_the_bytes_of_the_file_and_convert_them)
{
    struct fp4_error err = { FP4_OK, "" };
    char name[CASE_NAME_MAX];
    struct case_tensors t;
    struct fp4_case c;
    size_t i;

    cr_assert_eq(registered(TWO, 0, 128, NULL, &err), 2, "%s", err.msg);
    snprintf(name, sizeof name, "quantize/te/rn/1x16/f32/%s/6x4/s0", input_data_name(0));
    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    cr_assert_eq(case_inputs(&c, &t, &err), 0, "%s", err.msg);
    for (i = 0; i < 96; i++)
        CHECK(t.t[0].data[i] == i, "byte %zu", i);
    case_release(&t);
    snprintf(name, sizeof name, "quantize/te/sr/1x16/bf16/%s/6x4/s3", input_data_name(0));
    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    cr_assert_eq(case_inputs(&c, &t, &err), 0, "%s", err.msg);
    for (i = 0; i < 24; i++) {
        uint32_t bits = (uint32_t)(4 * i) | (uint32_t)(4 * i + 1) << 8 | (uint32_t)(4 * i + 2) << 16 | (uint32_t)(4 * i + 3) << 24;

        CHECK(fp4_load(t.t[0].data, FP4_BF16, i) == bf16_to_f32(f32_to_bf16(fp4_f32_from_bits(bits))), "element %zu", i);
    }
    cr_expect(tensor_find(&t, "rng-state")->data);
    case_release(&t);
    snprintf(name, sizeof name, "quantize/te/rn/1x16/f32/%s/6x6/s0", input_data_name(0));
    cr_expect_eq(case_parse(name, &c, &err), -1);
    cr_expect(strstr(err.msg, "is 6x4"), "%s", err.msg);
    input_release_all();
}

Test(input_cases, can_be_named_but_not_made_without_the_file)
{
    struct fp4_error err = { FP4_OK, "" };
    struct case_tensors t;
    struct fp4_case c;

    cr_assert_eq(case_parse("quantize/te/rn/1x16/f32/file-0123456789abcdef/6x4/s0", &c, &err), 0, "%s", err.msg);
    cr_expect_eq(case_inputs(&c, &t, &err), -1);
    cr_expect(strstr(err.msg, "--input"), "%s", err.msg);
}

Test(input_cases, keep_their_name_whatever_the_file_is_called)
{
    struct fp4_error err = { FP4_OK, "" };
    char first[24];

    cr_assert_eq(registered(TWO, 0, 128, "b", &err), 1, "%s", err.msg);
    snprintf(first, sizeof first, "%s", input_data_name(0));
    input_release_all();
    cr_assert_eq(
        registered("{\"z\":" TENSOR("F32", "[24]", 0, 96) ",\"y\":" TENSOR("BF16", "[1,16]", 96, 128) "}", 0, 128, "y", &err), 1);
    cr_expect_str_eq(input_data_name(0), first);
    input_release_all();
}

Test(input_suite, has_cases_for_every_tensor)
{
    struct selection sel = { .suite = "input" };
    struct fp4_error err = { FP4_OK, "" };
    struct case_list list;
    size_t i;

    cr_assert_eq(registered(TWO, 0, 128, NULL, &err), 2, "%s", err.msg);
    cr_assert_eq(suite_select(&sel, &list, &err), 0, "%s", err.msg);
    cr_expect_geq(list.count, 8);
    for (i = 0; i < list.count; i++) {
        struct case_tensors t;

        cr_expect_eq(case_inputs(&list.items[i], &t, &err), 0, "%s", err.msg);
        case_release(&t);
    }
    case_list_release(&list);
    input_release_all();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What backend te knows before a library is loaded: kernels of a case, devices, ELF files. The calls themselves: tests/cli/t-te.sh. */
#include "check.h"
#include "te_elf.h"
#include "te_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum te_path path_of(const char *name)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_case c;

    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    return te_path_of(&c, &err);
}

Test(te, takes_the_kernel_that_the_library_dispatches_to)
{
    static const struct {
        const char *name;
        enum te_path path;
    } table[] = {
        { "quantize/te/rn/1x16/bf16/normal/64x64/s0", TE_PATH_TUNED },
        { "quantize/te/rn/1x16/both/bf16/normal/64x64/s0", TE_PATH_TUNED },
        { "quantize/te-fast/rn/1x16/bf16/normal/64x64/s0", TE_PATH_TUNED },
        { "quantize/te/rn/1x16/col/bf16/normal/64x64/s0", TE_PATH_VECTOR },
        { "quantize/te/rn/1x16/bf16/normal/48x64/s0", TE_PATH_VECTOR },
        { "quantize/te/rn/1x16/bf16/normal/64x48/s0", TE_PATH_VECTOR },
        { "quantize/te/rn/1x16/f32/normal/64x64/s0", TE_PATH_VECTOR },
        { "quantize/te/rn/1x16/f16/normal/64x64/s0", TE_PATH_VECTOR },
        { "quantize/te/rn/16x16/bf16/normal/64x64/s0", TE_PATH_2D },
        { "quantize/te/rn/16x16/col/bf16/normal/64x64/s0", TE_PATH_2D },
        { "quantize/te/rn/16x16/f32/normal/64x64/s0", TE_PATH_VECTOR },
        { "quantize/te/sr/1x16/group/bf16/normal/64x64/s0", TE_PATH_GROUP },
        { "quantize/te/sr/1x16/tuned/bf16/normal/64x64/s0", TE_PATH_TUNED },
        { "quantize/te/sr/1x16/vector/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "quantize/te/sr/1x16/vector/bf16/normal/48x64/s0", TE_PATH_VECTOR },
        { "quantize/te/sr/1x16/rbits/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "quantize/te/sr/1x16/r7/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "quantize/te/rn/1x16/amax-row/f32/normal/48x80/s0", TE_PATH_VECTOR },
        { "quantize/te/rn/1x16/amax-row/f32/amaxstale/48x80/s0", TE_PATH_NONE },
        { "quantize/te-ref/rn/1x16/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "quantize/torchao/rn/1x16/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "rht-quantize/te/rn/bf16/normal/64x128/s0", TE_PATH_HADAMARD_COL },
        { "rht-quantize/te/rn/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "rht-quantize/te/rn/both/kernel-rowcol/bf16/normal/64x64/s0", TE_PATH_HADAMARD_ROWCOL },
        { "rht-quantize/te/sr/rht-group/kernel-rowcol/bf16/normal/128x128/s0", TE_PATH_HADAMARD_GROUP },
        { "rht-quantize/te/sr/rht-group/kernel-rowcol/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "rht-quantize/te/rn/kernel-unfused/bf16/normal/64x64/s0", TE_PATH_HADAMARD_TUNED },
        { "rht-quantize/te/rn/kernel-unfused/bf16/normal/48x64/s0", TE_PATH_HADAMARD_VECTOR },
        { "rht-quantize/te/rn/kernel-unfused/bf16/normal/32x2/s0", TE_PATH_NONE },
        { "rht-quantize/te/rn/sum-seq/kernel-unfused/bf16/normal/64x64/s0", TE_PATH_NONE },
        { "rht-quantize/te/rn/inverse/bf16/normal/64x128/s0", TE_PATH_NONE },
        { "four-over-six/te/mae/1x16/bf16/four-ties/16x64/s0", TE_PATH_FOUR },
        { "four-over-six/te-ref/mae/1x16/bf16/four-ties/16x64/s0", TE_PATH_NONE },
        { "dequantize/te/bf16/normal/16x256/s0", TE_PATH_DEQUANTIZE },
        { "swizzle/te/e4m3/coords/144x3/s0", TE_PATH_SWIZZLE },
        { "swizzle/te/unswizzle/e4m3/coords/144x3/s0", TE_PATH_UNSWIZZLE },
        { "cvt-rn/ptx/f32/boundaries/256x4/s0", TE_PATH_NONE },
    };
    size_t i;

    for (i = 0; i < sizeof table / sizeof table[0]; i++)
        cr_expect_eq(path_of(table[i].name), table[i].path, "%s: %s", table[i].name, te_path_name(path_of(table[i].name)));
}

static bool runs_on(const struct fp4_case *c, int major, int minor)
{
    struct fp4_error err;
    enum te_path path = te_path_of(c, &err);

    return path != TE_PATH_NONE && te_path_runs(c, path, major, minor, &err) == 0;
}

Test(te, runs_cases_of_its_suites_where_they_say)
{
    struct selection all = { .suite = "te" }, hopper = { .suite = "te-sm90" };
    struct case_list list = { NULL, 0, 0 };
    size_t i, native = 0, soft = 0;
    struct fp4_error err;
    char name[CASE_NAME_MAX];

    cr_assert_eq(suite_select(&hopper, &list, &err), 0, "%s", err.msg);
    for (i = 0; i < list.count; i++) {
        case_name(&list.items[i], name);
        cr_expect(runs_on(&list.items[i], 9, 0), "%s", name);
    }
    case_list_release(&list);
    cr_assert_eq(suite_select(&all, &list, &err), 0, "%s", err.msg);
    for (i = 0; i < list.count; i++) {
        case_name(&list.items[i], name);
        cr_expect(runs_on(&list.items[i], 10, 0) || runs_on(&list.items[i], 12, 0), "%s", name);
        native += runs_on(&list.items[i], 10, 3);
        soft += runs_on(&list.items[i], 12, 1);
    }
    cr_expect_gt(native, 800);
    cr_expect_gt(soft, 2000);
    case_list_release(&list);
}

Test(te, asks_for_the_rs_model_of_the_device)
{
    struct fp4_error err;
    struct fp4_case c;

    cr_assert_eq(case_parse("quantize/te/sr/1x16/f32/normal/48x80/s0", &c, &err), 0);
    cr_expect(runs_on(&c, 10, 0) && runs_on(&c, 10, 3));
    cr_expect(!runs_on(&c, 12, 0) && !runs_on(&c, 9, 0) && !runs_on(&c, 11, 0));
    cr_assert_eq(case_parse("quantize/te/sr/1x16/te-soft/f32/normal/48x80/s0", &c, &err), 0);
    cr_expect(!runs_on(&c, 10, 0) && !runs_on(&c, 10, 3));
    cr_expect(runs_on(&c, 12, 0) && runs_on(&c, 9, 0) && runs_on(&c, 11, 0) && runs_on(&c, 8, 0));
}

/* ---- ELF ---------------------------------------------------------------------------------------------------------------------------------- */

static size_t own_bytes(uint8_t **bytes)
{
    FILE *f = fopen("/proc/self/exe", "rb");
    long size = 0;

    cr_assert(f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) > 0 && fseek(f, 0, SEEK_SET) == 0);
    *bytes = malloc((size_t)size);
    cr_assert_eq(fread(*bytes, 1, (size_t)size, f), (size_t)size);
    fclose(f);
    return (size_t)size;
}

static int read_bytes(const uint8_t *bytes, size_t size, struct te_elf *elf, struct fp4_error *err)
{
    char path[] = "/tmp/fp4check-elf.XXXXXX";
    int fd = mkstemp(path), status;

    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    status = te_elf_read(path, elf, err);
    unlink(path);
    return status;
}

Test(te_elf, reads_needed_libraries_and_build_id)
{
    struct fp4_error err;
    struct te_elf elf;
    bool libc = false;
    size_t i;

    cr_assert_eq(te_elf_read("/proc/self/exe", &elf, &err), 0, "%s", err.msg);
    for (i = 0; i < elf.needed_count; i++)
        libc |= strcmp(elf.needed[i], "libc.so.6") == 0;
    cr_expect(libc);
}

Test(te_elf, survives_files_that_are_cut_or_damaged)
{
    struct fp4_error err;
    struct te_elf elf;
    uint8_t *bytes;
    size_t size = own_bytes(&bytes), i;

    cr_expect_eq(read_bytes(bytes, 0, &elf, &err), -1);
    cr_expect_eq(read_bytes((const uint8_t *)"#!/bin/sh\n", 10, &elf, &err), -1);
    cr_expect_neq(strstr(err.msg, "is not a shared library"), NULL);
    for (i = 1; i < 300; i++)
        cr_expect_eq(read_bytes(bytes, i, &elf, &err), -1, "%zu bytes", i);
    cr_expect_eq(read_bytes(bytes, size / 8, &elf, &err), -1);
    cr_expect_neq(strstr(err.msg, "is cut off"), NULL, "%s", err.msg);
    for (i = 0; i < 2000; i++) { /* one byte of the headers changed: any answer, but no crash */
        size_t at = i < 1000 ? i : 1000 + (i * 7919) % 8000;
        uint8_t was = bytes[at];

        bytes[at] ^= (uint8_t)(1u << i % 8);
        read_bytes(bytes, size < 20000 ? size : 20000, &elf, &err);
        bytes[at] = was;
    }
    free(bytes);
}

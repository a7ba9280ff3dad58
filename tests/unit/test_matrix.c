/* SPDX-License-Identifier: Apache-2.0 */
/* Names, tables, tensors, selections and suite files. */
#include "matrix.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- help ------------------------------------------------------------------------------------------------------------------------------- */

static struct case_list select_suite(const char *suite)
{
    struct selection sel = { .suite = suite };
    struct fp4_error err = { FP4_OK, "" };
    struct case_list list;

    cr_assert_eq(suite_select(&sel, &list, &err), 0, "%s: %s", suite, err.msg);
    return list;
}

static struct fp4_case parsed(const char *name)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_case c;

    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    return c;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- names ------------------------------------------------------------------------------------------------------------------------------ */

Test(case_name, prints_the_example_of_the_design)
{
    struct fp4_case c = case_make(OP_QUANTIZE, CR_TE, FP4_BF16, data_find("heavy"), 256, 128, 0);
    char name[CASE_NAME_MAX];

    c.knob[KNOB_ROUND] = 1;
    case_name(&c, name);
    cr_assert_str_eq(name, "quantize/te/sr/1x16/bf16/heavy/256x128/s0");
}

Test(case_name, shows_knobs_only_where_they_say_something)
{
    static const char *const names[] = {
        "cvt-rn/ptx/f32/boundaries/256x4/s0",
        "cvt-rn/ptx/x2/f32/boundaries/256x2/s7",
        "cvt-rs/ptx/b300/f32/normal/1x4/s0",
        "sr-fp32x4/te/te-soft/unscaled/f32/normal/1x4/s0",
        "sr-bf16x8/te/b300/coef-bf16/bf16/normal/1x8/s0",
        "quantize/te-fast/sr/1x16/both/fp4sm120/tuned/r7/bf16/minilm-query/32x64/s18446744073709551615",
        "quantize/te/rn/1x16/amax-row/f32/amaxstale/3x32/s0",
        "rht-quantize/te/rn/bf16/rht-kat/16x1/s0",
        "rht-quantize/te/sr/both/rht-group/nosigns/inverse/sum-exact/trip-none/rcp-approx/kernel-rowcol/bf16/normal/16x2/s0",
        "rht-quantize/te/sr/ktile-2048/bf16/normal/16x2/s0",
        "dequantize/te/amax-row/bound-256/swizzled/f16/allcodes/1x16/s0",
        "swizzle/te/unswizzle/e4m3/poison/1x1/s0",
        "philox/curand/r7/u32/kat/1x4/s0",
        "quantize/te/rn/1x16/f32/file-0123456789abcdef/7x6/s0",
        "four-over-six/torchao/mae/1x16/bf16/ao-random/128x256/s0",
        "four-over-six/te/mse/16x16/both/bound-448/f16/four-ties/32x48/s6",
        "four-over-six/torchao/mae/1x16/amax-row/bound-448/nan-propagate/f32/nan/3x32/s0",
        "four-over-six/flashinfer/mae/1x16/amax-row/error-fast/bf16/normal/3x32/s0",
        "four-over-six/te-ref/mae/1x16/f32/file-0123456789abcdef/7x16/s0",
        "gemm/te-ref/product/f32/normal/3x8x32/s0",
        "gemm/torchao/product/amax-row/sum-exact/factor-divide/bias/f32/random/3x8x32/s0",
        "gemm/torchao/dequantized/mse/1x16/amax-row/bf16/normal/128x256x384/s0",
        "dequantize/torchao/bound-256/bf16/normal/1x16/s0",
    };
    char again[CASE_NAME_MAX];
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct fp4_case c = parsed(names[i]);

        case_name(&c, again);
        cr_expect_str_eq(again, names[i]);
    }
}

Test(case_parse, says_which_segment_is_wrong_and_what_would_be_right)
{
    static const struct {
        const char *name, *message;
    } rows[] = {
        { "", "unknown op" },
        { "quantise/te/rn/1x16/bf16/normal/32x64/s0", "did you mean 'quantize'" },
        { "quantize", "too few segments" },
        { "quantize/te/bf16/normal/32x64", "too few segments" },
        { "quantize/ptx/rn/1x16/bf16/normal/32x64/s0", "unknown recipe 'ptx': valid here: te, te-fast, te-ref, torchao" },
        { "quantize/te-fest/rn/1x16/bf16/normal/32x64/s0", "did you mean 'te-fast'" },
        { "quantize/te/rz/1x16/bf16/normal/32x64/s0", "unknown knob 'rz': did you mean 'rn'" },
        { "quantize/te/1x16/bf16/normal/32x64/s0", "a knob is missing: 'rn'" },
        { "quantize/te/rn/bf16/normal/32x64/s0", "a knob is missing: '1x16'" },
        { "cvt-rs/ptx/f32/normal/1x4/s0", "a knob is missing: 'b300'" },
        { "quantize/te/1x16/rn/bf16/normal/32x64/s0", "'rn' stands before '1x16'" },
        { "quantize/te/rn/sr/1x16/bf16/normal/32x64/s0", "second one of its kind" },
        { "quantize/te/rn/1x16/row/bf16/normal/32x64/s0", "is written 'quantize/te/rn/1x16/bf16/normal/32x64/s0'" },
        { "quantize/te/rn/1x16/bf16/normal/032x64/s0", "is written" },
        { "quantize/te/rn/1x16/bf16/normal/32x64/s00", "is written" },
        { "quantize/te/rn/1x16/bf61/normal/32x64/s0", "unknown dtype 'bf61': did you mean 'bf16'" },
        { "quantize/te/rn/1x16/e4m3/normal/32x64/s0", "unknown dtype 'e4m3': valid here: f32, f16, bf16" },
        { "quantize/te/rn/1x16/bf16/nornal/32x64/s0", "unknown data 'nornal': did you mean 'normal'" },
        { "quantize/te/rn/1x16/bf16/rht-kat/32x64/s0", "unknown data for this op 'rht-kat'" },
        { "quantize/te/rn/1x16/bf16/file-0123/32x64/s0", "unknown data" },
        { "quantize/te/rn/1x16/bf16/normal/32/s0", "bad shape '32'" },
        { "quantize/te/rn/1x16/bf16/normal/32x/s0", "bad shape" },
        { "quantize/te/rn/1x16/bf16/normal/0x64/s0", "from 1 to" },
        { "gemm/te-ref/product/f32/normal/16x32/s0", "write MxNxK" },
        { "gemm/te-ref/product/f32/normal/16x0x32/s0", "from 1 to" },
        { "gemm/te-ref/product/f32/normal/16x8x32x2/s0", "write MxNxK" },
        { "quantize/te/rn/1x16/bf16/normal/16x8x32/s0", "bad shape" },
        { "quantize/te/rn/1x16/bf16/normal/-1x64/s0", "bad shape" },
        { "quantize/te/rn/1x16/bf16/normal/99999999999x64/s0", "from 1 to" },
        { "quantize/te/rn/1x16/bf16/normal/32x64/0", "bad seed segment" },
        { "quantize/te/rn/1x16/bf16/normal/32x64/s", "bad seed" },
        { "quantize/te/rn/1x16/bf16/normal/32x64/s18446744073709551616", "bad seed" },
        { "quantize/te/rn/1x16/bf16/normal/32x64/s0/", "" },
        { "philox/te/kat/u32/kat/1x4/s0", "unknown knob 'kat'" },
        { "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", "too many segments" },
    };
    struct fp4_case c;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(case_parse(rows[i].name, &c, &err), -1, "%s", rows[i].name);
        cr_expect(strstr(err.msg, rows[i].message), "%s: '%s' lacks '%s'", rows[i].name, err.msg, rows[i].message);
    }
}

Test(case_check, gives_the_reason_why_a_combination_is_undefined)
{
    static const struct {
        const char *name, *message;
    } rows[] = {
        { "quantize/te-fast/rn/1x16/f32/normal/32x64/s0", "te-fast is TE's tuned kernel" },
        { "quantize/te-fast/rn/16x16/bf16/normal/32x64/s0", "te-fast is TE's tuned kernel" },
        { "quantize/te-fast/rn/1x16/bf16/normal/33x64/s0", "te-fast is TE's tuned kernel" },
        { "quantize/te-fast/rn/1x16/col/bf16/normal/32x64/s0", "te-fast is TE's tuned kernel" },
        { "quantize/te-ref/sr/1x16/bf16/normal/32x64/s0", "nearest only" },
        { "quantize/torchao/sr/1x16/bf16/normal/32x64/s0", "nearest only" },
        { "quantize/torchao/rn/16x16/bf16/normal/32x64/s0", "torchao makes a rowwise output" },
        { "quantize/torchao/rn/1x16/both/bf16/normal/32x64/s0", "torchao makes a rowwise output" },
        { "quantize/te/rn/1x16/bf16/normal/32x63/s0", "columns must be even" },
        { "quantize/te/rn/1x16/col/bf16/normal/31x64/s0", "rows must be even" },
        { "quantize/te/rn/16x16/amax-row/bf16/normal/32x64/s0", "excludes 16x16" },
        { "quantize/te/rn/1x16/col/amax-row/f32/normal/32x64/s0", "rows and columns in 32s" },
        { "quantize/te/rn/1x16/vector/bf16/normal/32x64/s0", "needs rounding sr" },
        { "quantize/te/rn/1x16/te-soft/bf16/normal/32x64/s0", "needs rounding sr" },
        { "quantize/te/rn/1x16/r7/bf16/normal/32x64/s0", "needs rounding sr" },
        { "quantize/te/sr/1x16/tuned/f32/normal/32x64/s0", "stream tuned" },
        { "quantize/te/sr/1x16/tuned/bf16/normal/33x64/s0", "stream tuned" },
        { "quantize/te/sr/1x16/col/tuned/bf16/normal/32x64/s0", "stream tuned" },
        { "quantize/te/sr/1x16/2d/bf16/normal/32x64/s0", "stream 2d" },
        { "quantize/te/sr/16x16/2d/bf16/normal/48x64/s0", "stream 2d" },
        { "quantize/te/sr/1x16/both/group/bf16/normal/32x64/s0", "stream group" },
        { "quantize/te/rn/1x16/f16/tiny/32x64/s0", "no values in f16" },
        { "rht-quantize/te/rn/bf16/normal/24x64/s0", "multiple of 16" },
        { "rht-quantize/te/rn/both/bf16/normal/32x64/s0", "transposed output alone" },
        { "rht-quantize/te/rn/both/kernel-rowcol/bf16/normal/32x63/s0", "columns must be even" },
        { "rht-quantize/te/sr/tuned/bf16/normal/32x64/s0", "belong to kernel-unfused" },
        { "rht-quantize/te/sr/rht-group/bf16/normal/32x64/s0", "belong to kernel-rowcol" },
        { "rht-quantize/te/sr/rht-fp4sm120/bf16/normal/32x64/s0", "go together" },
        { "rht-quantize/te/rn/ktile-2048/bf16/normal/32x64/s0", "needs rounding sr" },
        { "rht-quantize/te/sr/kernel-rowcol/ktile-2048/bf16/normal/32x64/s0", "belongs to kernel-col" },
        { "rht-quantize/te/rn/trip-none/kernel-unfused/bf16/normal/32x64/s0", "always stores bf16" },
        { "rht-quantize/fp4sm120/rn/kernel-rowcol/bf16/normal/32x64/s0", "kernel-col alone" },
        { "rht-quantize/te-ref/sr/bf16/normal/32x64/s0", "nearest only" },
        { "dequantize/te/f32/allcodes/4x24/s0", "multiple of 16 columns" },
        { "cvt-rn/ptx/f32/normal/4x6/s0", "multiple of 4 columns" },
        { "cvt-rn/ptx/x2/f32/normal/4x5/s0", "multiple of 2 columns" },
        { "sr-bf16x8/te/b300/bf16/normal/4x4/s0", "multiple of 8 columns" },
        { "philox/te/u32/kat/4x6/s0", "multiple of 4 columns" },
        { "cvt-rn/ptx/f32/file-0123456789abcdef/4x4/s0", "does not take a tensor of a file" },
        { "four-over-six/torchao/mae/1x16/bf16/normal/32x24/s0", "multiple of 16 columns" },
        { "four-over-six/torchao/mae/16x16/bf16/normal/24x32/s0", "multiple of 16 rows" },
        { "four-over-six/torchao/mae/16x16/amax-row/bf16/normal/32x32/s0", "excludes 16x16" },
        { "four-over-six/torchao/mae/1x16/error-fast/bf16/normal/32x32/s0", "torchao has no fast error" },
        { "four-over-six/te/mae/1x16/error-fast/bf16/normal/32x32/s0", "error-fast is recipe te-fast" },
        { "four-over-six/te/mae/1x16/nan-propagate/bf16/normal/32x32/s0", "does not propagate NaN" },
        { "four-over-six/te-ref/mae/1x16/nan-drop/bf16/normal/32x32/s0", "does not drop NaN" },
        { "four-over-six/te/mae/1x16/both/amax-row/bf16/normal/32x32/s0", "no transposed output with one amax a row" },
        { "four-over-six/te/mae/16x16/col/bf16/normal/32x32/s0", "with a rowwise output only" },
        { "four-over-six/flashinfer/mae/1x16/f32/normal/32x32/s0", "reads f16 or bf16" },
        { "four-over-six/flashinfer/mae/16x16/bf16/normal/32x32/s0", "no 16x16 blocks" },
        { "four-over-six/fouroversix/mae/1x16/bound-448/bf16/normal/32x32/s0", "bound 256" },
        { "gemm/torchao/product/mse/f32/normal/16x16x32/s0", "belong to a layer" },
        { "gemm/te-ref/product/factor-divide/f32/normal/16x16x32/s0", "belongs to torchao" },
        { "gemm/te-ref/product/f32/normal/16x12x32/s0", "" },
        { "gemm/te-ref/product/f32/normal/16x16x48/s0", "" },
        { "gemm/te-ref/quantized/bf16/normal/128x128x128/s0", "te-ref has the product alone" },
        { "gemm/torchao/quantized/f32/normal/128x128x128/s0", "take and give bf16" },
        { "gemm/torchao/quantized/bf16/random/128x128x128/s0", "bytes of operands" },
        { "gemm/torchao/quantized/bf16/normal/128x100x128/s0", "128" },
        { "gemm/torchao/quantized/amax-row/bf16/normal/128x128x128/s0", "row" },
    };
    struct fp4_case c;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(case_parse(rows[i].name, &c, &err), -1, "%s", rows[i].name);
        cr_expect(strstr(err.msg, rows[i].message), "%s: '%s' lacks '%s'", rows[i].name, err.msg, rows[i].message);
    }
}

/* ---- tables ----------------------------------------------------------------------------------------------------------------------------- */

Test(tables, list_ops_in_the_order_of_their_enumeration)
{
    unsigned i;

    for (i = 0; i < OP_COUNT; i++) {
        cr_expect_eq(fp4_ops[i].op, (enum fp4_op)i);
        cr_expect(fp4_ops[i].name && fp4_ops[i].help && fp4_ops[i].source && fp4_ops[i].recipes && fp4_ops[i].dtypes);
    }
    for (i = 0; i < CR_COUNT; i++)
        cr_expect(case_recipe_name((enum case_recipe)i) && case_recipe_help((enum case_recipe)i));
    for (i = 0; i < KNOB_COUNT; i++)
        cr_expect(knob_name((enum fp4_knob)i));
}

Test(tables, give_a_token_of_an_op_to_one_knob_only)
{
    size_t i, j, k, l;

    for (i = 0; i < fp4_knob_rows; i++)
        for (j = 0; j < fp4_knob_rows; j++) {
            const char *const *a = fp4_knobs[i].tokens, *const *b = fp4_knobs[j].tokens;

            if (i == j || !(fp4_knobs[i].ops & fp4_knobs[j].ops))
                continue;
            cr_expect_neq(fp4_knobs[i].knob, fp4_knobs[j].knob);
            for (k = 0; a[k]; k++)
                for (l = 0; b[l]; l++)
                    cr_expect(!*a[k] || strcmp(a[k], b[l]) != 0, "token '%s' is ambiguous", a[k]);
        }
}

Test(tables, know_every_rs_model_of_the_reference)
{
    const struct knob_row *row = knob_find(KNOB_RS, OP_CVT_RS);
    size_t i;

    cr_assert(row);
    for (i = 0; i < fp4_rs_model_count; i++)
        cr_expect_str_eq(row->tokens[i], fp4_rs_models[i].name);
    cr_expect(!row->tokens[fp4_rs_model_count]);
    cr_expect_str_eq(row->tokens[row->def], "b300");
    cr_expect_eq(knob_find(KNOB_PACK, OP_QUANTIZE), NULL);
}

Test(tables, describe_every_construction)
{
    size_t i, j;

    for (i = 0; i < fp4_data_count; i++) {
        const struct data_row *row = &fp4_data[i];

        cr_expect(row->ops && row->generate && *row->help && *row->source, "%s", row->name);
        cr_expect(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(row->name), "%s", row->name);
        cr_expect_neq(strncmp(row->name, "file-", 5), 0);
        for (j = 0; j < i; j++)
            cr_expect_str_neq(row->name, fp4_data[j].name);
        cr_expect_eq(data_find(row->name), row);
    }
    cr_expect_eq(data_find("nothing"), NULL);
}

Test(tables, translate_knob_values)
{
    cr_expect_eq(knob_sign_mask(parsed("rht-quantize/te/rn/bf16/normal/16x2/s0").knob[KNOB_SIGNS]), FP4_RHT_SIGN_MASK);
    cr_expect_eq(knob_sign_mask(parsed("rht-quantize/te/rn/nosigns/bf16/normal/16x2/s0").knob[KNOB_SIGNS]), 0);
    cr_expect_eq(knob_sign_mask(parsed("rht-quantize/te/rn/signs-17e8/bf16/normal/16x2/s0").knob[KNOB_SIGNS]), 0x17E8);
    cr_expect_eq(knob_sign_mask(parsed("rht-quantize/te/rn/signs-ffff/bf16/normal/16x2/s0").knob[KNOB_SIGNS]), 0xFFFF);
    cr_expect_eq(knob_k_tile(0), 0);
    cr_expect_eq(knob_k_tile(1), 2048);
    cr_expect_eq(knob_rounds(0), 10);
    cr_expect_eq(knob_rounds(1), 7);
    cr_expect_eq(knob_bound(0), 448);
    cr_expect_eq(knob_bound(1), 256);
    cr_expect_eq(case_recipe_ref(CR_TORCHAO), FP4_RECIPE_TORCHAO);
    cr_expect_eq(case_recipe_ref(CR_FLASHINFER), FP4_RECIPE_FLASHINFER);
    cr_expect_eq(case_recipe_ref(CR_FOUROVERSIX), FP4_RECIPE_FOUROVERSIX);
}

Test(tables, translate_the_knobs_of_four_over_six)
{
    struct fp4_case c = parsed("four-over-six/te-ref/mse/1x16/amax-row/bound-448/error-fast/f16/normal/3x32/s0");
    struct fp4_four_params p;

    case_four_params(&c, &p);
    cr_expect(p.recipe == FP4_RECIPE_TE_REF && p.input == FP4_F16 && p.rows == 3 && p.cols == 32 && !p.block_16x16 && p.row_scaled);
    cr_expect(p.bound == 448 && p.error == FP4_FOUR_MSE && p.fast_error && p.nan == FP4_FOUR_NAN_PROPAGATE);
    c = parsed("four-over-six/te-fast/mae/16x16/bf16/normal/16x32/s0");
    case_four_params(&c, &p);
    cr_expect(p.block_16x16 && !p.row_scaled && p.bound == 256 && p.error == FP4_FOUR_MAE && p.fast_error);
    cr_expect_eq(p.nan, FP4_FOUR_NAN_DROP);
    c = parsed("four-over-six/torchao/mae/1x16/nan-propagate/bf16/normal/16x32/s0");
    case_four_params(&c, &p);
    cr_expect(p.nan == FP4_FOUR_NAN_PROPAGATE && !p.fast_error);
}

Test(tables, translate_the_knobs_of_gemm)
{
    struct fp4_case c = parsed("gemm/torchao/dequantized/mse/1x16/amax-row/sum-exact/factor-divide/bf16/normal/128x256x384/s0");
    struct fp4_linear_params l;
    struct fp4_gemm_params p;
    struct fp4_operand a, b;

    cr_expect(case_is_layer(&c));
    case_linear_params(&c, &l);
    cr_expect(l.m == 128 && l.n == 256 && l.k == 384 && l.bound == 256 && l.error == FP4_FOUR_MSE && l.nan == FP4_FOUR_NAN_DROP);
    cr_expect(l.row_scaled && !l.weight_16x16 && l.backward == FP4_BACKWARD_DEQUANTIZED && l.sum == FP4_GEMM_EXACT &&
              l.divide_factor);
    c = parsed("gemm/torchao/quantized/bound-448/nan-propagate/bf16/normal/128x128x128/s0");
    case_linear_params(&c, &l);
    cr_expect(l.weight_16x16 && l.backward == FP4_BACKWARD_QUANTIZED && l.bound == 448 && l.nan == FP4_FOUR_NAN_PROPAGATE);
    c = parsed("gemm/torchao/high-precision/bf16/normal/128x128x128/s0");
    case_linear_params(&c, &l);
    cr_expect_eq(l.backward, FP4_BACKWARD_HIGH_PRECISION);
    c = parsed("gemm/te-ref/product/amax-row/bound-448/f32/normal/3x8x32/s0");
    cr_expect(!case_is_layer(&c));
    case_gemm_params(&c, &p, &a, &b);
    cr_expect(p.recipe == FP4_RECIPE_TE_REF && p.m == 3 && p.n == 8 && p.k == 32 && p.sum == FP4_GEMM_SEQ && p.output == FP4_F32);
    cr_expect(a.row_scaled && !b.row_scaled && a.bound == 448 && b.bound == 448);
}

/* ---- suites ----------------------------------------------------------------------------------------------------------------------------- */

Test(suites, round_trip_every_name_and_have_no_name_twice)
{
    static const char *const names[] = { "smoke", "default", "full", "four-over-six-440", "four-over-six-ties", "te", "te-sm90" };
    size_t i, j;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct case_list list = select_suite(names[i]);
        char **texts = calloc(list.count, sizeof *texts), again[CASE_NAME_MAX];

        for (j = 0; j < list.count; j++) {
            struct fp4_error err = { FP4_OK, "" };
            struct fp4_case c;

            texts[j] = malloc(CASE_NAME_MAX);
            case_name(&list.items[j], texts[j]);
            cr_expect_eq(case_parse(texts[j], &c, &err), 0, "%s", err.msg);
            case_name(&c, again);
            cr_expect_str_eq(again, texts[j]);
            cr_expect(strlen(again) < 120, "%s", again);
            cr_expect_eq(memcmp(c.knob, list.items[j].knob, sizeof c.knob), 0, "%s", again);
        }
        qsort(texts, list.count, sizeof *texts, by_text);
        for (j = 1; j < list.count; j++)
            cr_expect_str_neq(texts[j - 1], texts[j]);
        for (j = 0; j < list.count; j++)
            free(texts[j]);
        free(texts);
        case_list_release(&list);
    }
}

Test(suites, have_the_sizes_that_they_promise)
{
    struct case_list smoke = select_suite("smoke"), normal = select_suite("default"), full = select_suite("full");
    double elements = 0;
    bool many_rows = false;
    size_t i;

    for (i = 0; i < normal.count; i++) {
        elements += (double)normal.items[i].rows * (double)normal.items[i].cols;
        many_rows |= normal.items[i].op == OP_QUANTIZE && normal.items[i].rows > 65535;
    }
    cr_expect(smoke.count >= 100 && smoke.count <= 160, "%zu", smoke.count);
    cr_expect_geq(normal.count, 1500);
    cr_expect_lt(elements, 30e6);
    cr_expect(many_rows);
    cr_expect_gt(full.count, normal.count);
    for (i = 0; i < normal.count; i++)
        cr_expect_eq(memcmp(&full.items[i], &normal.items[i], sizeof full.items[i]), 0); /* full goes on where default ends */
    case_list_release(&smoke);
    case_list_release(&normal);
    case_list_release(&full);
}

/* FOS 6: 2 errors x 2 bounds x 2 dtypes x 5 constructions, over 4, 4 and 3 shapes. */
Test(suites, sweep_of_four_over_six_has_torchaos_axes)
{
    struct case_list list = select_suite("four-over-six-440");
    size_t tensor = 0, row = 0, tile = 0, i;

    for (i = 0; i < list.count; i++) {
        const struct fp4_case *c = &list.items[i];

        cr_expect(c->op == OP_FOUR_OVER_SIX && c->recipe == CR_TORCHAO && c->seed == 0 && !c->knob[KNOB_OUT] && !c->knob[KNOB_NAN]);
        cr_expect_eq(strncmp(c->data->name, "ao-", 3), 0);
        cr_expect_neq(c->dtype, FP4_F16);
        *(c->knob[KNOB_BLOCK] ? &tile : c->knob[KNOB_AMAX] ? &row : &tensor) += 1;
        cr_expect(!c->knob[KNOB_BLOCK] || c->rows % 16 == 0);
    }
    cr_expect_eq(list.count, 440);
    cr_expect_eq(tensor, 160);
    cr_expect_eq(row, 160);
    cr_expect_eq(tile, 120);
    case_list_release(&list);
}

static void expect_covered(const char *suite, bool tokens)
{
    struct case_list list = select_suite(suite);
    uint32_t recipes[OP_COUNT] = { 0 }, dtypes[OP_COUNT] = { 0 };
    size_t i, j, k;

    for (i = 0; i < list.count; i++) {
        recipes[list.items[i].op] |= 1u << list.items[i].recipe;
        dtypes[list.items[i].op] |= 1u << list.items[i].dtype;
    }
    for (i = 0; i < OP_COUNT; i++) {
        cr_expect_eq(recipes[i], fp4_ops[i].recipes, "%s: recipes of %s", suite, fp4_ops[i].name);
        cr_expect(!tokens || dtypes[i] == fp4_ops[i].dtypes, "%s: dtypes of %s", suite, fp4_ops[i].name);
    }
    for (i = 0; i < fp4_data_count; i++) {
        uint32_t ops = 0;

        for (j = 0; j < list.count; j++)
            if (list.items[j].data == &fp4_data[i])
                ops |= 1u << list.items[j].op;
        cr_expect(ops, "%s: data %s", suite, fp4_data[i].name);
        cr_expect(!tokens || ops == fp4_data[i].ops, "%s: data %s with every op", suite, fp4_data[i].name);
    }
    for (i = 0; tokens && i < fp4_knob_rows; i++)
        for (k = 0; fp4_knobs[i].tokens[k]; k++) {
            for (j = 0; j < list.count; j++)
                if ((fp4_knobs[i].ops & 1u << list.items[j].op) && list.items[j].knob[fp4_knobs[i].knob] == k)
                    break;
            cr_expect(j < list.count || !*fp4_knobs[i].tokens[k], "%s: token %s", suite, fp4_knobs[i].tokens[k]);
        }
    case_list_release(&list);
}

Test(suites, cover_every_op_recipe_and_construction)
{
    expect_covered("smoke", false);
}

Test(suites, default_covers_every_token_and_rs_model_too)
{
    expect_covered("default", true);
}

/* ---- tensors ---------------------------------------------------------------------------------------------------------------------------- */

static void expect_tensors(const char *name, const char *wanted)
{
    static const char roles[] = "IOS";
    struct fp4_case c = parsed(name);
    struct fp4_error err = { FP4_OK, "" };
    struct case_tensors t;
    char text[2600] = "", one[100];
    size_t i;

    cr_assert_eq(case_describe(&c, &t, &err), 0, "%s", err.msg);
    for (i = 0; i < t.count; i++) {
        const struct tensor *x = &t.t[i];

        snprintf(one, sizeof one, x->ndim == 2 ? "%s%c %s %s %zux%zu" : "%s%c %s %s %zu", i ? ", " : "", roles[x->role], x->name,
                 fp4_dtype_name(x->dtype), x->dims[0], x->dims[1]);
        strncat(text, one, sizeof text - strlen(text) - 1);
        cr_expect_eq(x->bytes, fp4_dtype_bytes(x->dtype, x->ndim == 2 ? x->dims[0] * x->dims[1] : x->dims[0]));
        cr_expect(!x->data);
    }
    cr_expect_str_eq(text, wanted);
}

Test(case_describe, lists_tensors_in_stage_order)
{
    expect_tensors("cvt-rn/ptx/x2/f32/normal/3x6/s0", "I x f32 3x6, O codes e2m1 3x6");
    expect_tensors("cvt-rs/ptx/b300/f32/normal/3x8/s0", "I x f32 3x8, I rbits u32 3x2, O codes e2m1 3x8");
    expect_tensors("sr-bf16x4/te/b300/bf16/normal/3x8/s0",
                   "I x bf16 3x8, I scale f32 3x2, I rbits u32 3x2, S scaled f32 3x8, O codes e2m1 3x8");
    expect_tensors("sr-fp32x4/te/b300/unscaled/f32/normal/3x8/s0", "I x f32 3x8, I rbits u32 3x2, O codes e2m1 3x8");
    expect_tensors("sr-bf16x8/te/b300/coef-bf16/bf16/normal/3x8/s0",
                   "I x bf16 3x8, I coefficient bf16 3, I rbits u32 3x2, S scaled f32 3x8, O codes e2m1 3x8");
    expect_tensors(
        "quantize/te/rn/1x16/bf16/normal/17x34/s0",
        "I x bf16 17x34, O amax f32 1, S global-scale f32 1, S block-amax f32 17x3, O block-scale e4m3 17x3, S scaled f32 17x34, "
        "O codes e2m1 17x34, S dequantized f32 17x34");
    expect_tensors(
        "quantize/te/sr/1x16/both/amax-row/bf16/amaxstale/32x64/s0",
        "I x bf16 32x64, I rng-state u64 2, I given-amax f32 32, I given-amax.t f32 64, O amax f32 32, S global-scale f32 32, "
        "S block-amax f32 32x4, O block-scale e4m3 32x4, S scaled f32 32x64, S random u32 32x16, O codes e2m1 32x64, "
        "S dequantized f32 32x64, O amax.t f32 64, S global-scale.t f32 64, S block-amax.t f32 64x2, O block-scale.t e4m3 64x2, "
        "S scaled.t f32 64x32, S random.t u32 64x8, O codes.t e2m1 64x32, S dequantized.t f32 64x32");
    expect_tensors(
        "rht-quantize/te/sr/rbits/bf16/normal/32x3/s0",
        "I x bf16 32x3, I rbits.t u32 3x8, S transformed.t f32 3x32, S exactness.t u8 3x2, O amax.t f32 1, S global-scale.t f32 1, "
        "S block-amax.t f32 3x2, O block-scale.t e4m3 3x2, S scaled.t f32 3x32, O codes.t e2m1 3x32, S dequantized.t f32 3x32");
    expect_tensors("dequantize/te/amax-row/swizzled/f16/normal/5x32/s0",
                   "I codes e2m1 5x32, I scales e4m3 512, I amax f32 5, S decoded-scale f32 5x2, O dequantized f16 5x32");
    expect_tensors("swizzle/te/e4m3/coords/129x5/s0", "I scales e4m3 129x5, O swizzled e4m3 2048");
    expect_tensors("swizzle/te/unswizzle/e4m3/coords/129x5/s0", "I swizzled e4m3 2048, O scales e4m3 129x5");
    expect_tensors(
        "four-over-six/te/mae/1x16/both/bf16/amaxstale/16x32/s0",
        "I x bf16 16x32, I given-amax f32 1, I given-amax.t f32 1, O amax f32 1, S global-scale f32 1, S block-amax f32 16x2, "
        "S scale-6 e4m3 16x2, S scale-4 e4m3 16x2, S codes-6 e2m1 16x32, S codes-4 e2m1 16x32, S error-6 f32 16x2, "
        "S error-4 f32 16x2, S pick u8 16x2, O block-scale e4m3 16x2, S scaled f32 16x32, O codes e2m1 16x32, "
        "S dequantized f32 16x32, O amax.t f32 1, S global-scale.t f32 1, S block-amax.t f32 32x1, S scale-6.t e4m3 32x1, "
        "S scale-4.t e4m3 32x1, S codes-6.t e2m1 32x16, S codes-4.t e2m1 32x16, S error-6.t f32 32x1, S error-4.t f32 32x1, "
        "S pick.t u8 32x1, O block-scale.t e4m3 32x1, S scaled.t f32 32x16, O codes.t e2m1 32x16, S dequantized.t f32 32x16");
    expect_tensors(
        "gemm/torchao/product/amax-row/bias/f32/normal/3x8x32/s0",
        "I a-codes e2m1 3x32, I a-scale e4m3 3x2, I a-amax f32 3, I b-codes e2m1 8x32, I b-scale e4m3 8x2, I b-amax f32 1, "
        "I bias f32 8, S acc f32 3x8, O y f32 3x8");
    expect_tensors(
        "gemm/torchao/quantized/bias/bf16/normal/128x256x384/s0",
        "I x bf16 128x384, I w bf16 256x384, I bias bf16 256, I dy bf16 128x256, S x-codes e2m1 128x384, "
        "S x-scale e4m3 128x24, S x-amax f32 1, S w-codes e2m1 256x384, S w-scale e4m3 256x24, S w-amax f32 1, "
        "O xt-codes e2m1 384x128, O xt-scale e4m3 384x8, O xt-amax f32 1, O wt-codes e2m1 384x256, O wt-scale e4m3 384x16, "
        "O wt-amax f32 1, O y bf16 128x256, S dy-codes e2m1 128x256, S dy-scale e4m3 128x16, S dy-amax f32 1, "
        "S dyt-codes e2m1 256x128, S dyt-scale e4m3 256x8, S dyt-amax f32 1, O grad-input bf16 128x384, "
        "O grad-weight bf16 256x384, O grad-bias bf16 256");
    expect_tensors("gemm/torchao/dequantized/amax-row/bf16/normal/128x128x256/s0",
                   "I x bf16 128x256, I w bf16 128x256, I dy bf16 128x128, O x-codes e2m1 128x256, O x-scale e4m3 128x16, "
                   "O x-amax f32 128, O w-codes e2m1 128x256, O w-scale e4m3 128x16, O w-amax f32 1, O y bf16 128x128, "
                   "S x-values bf16 128x256, S w-values bf16 128x256, O grad-input bf16 128x256, O grad-weight bf16 128x256");
    expect_tensors("philox/te/u32/kat/7x8/s0", "I seed u64 7, I subsequence u64 7, I offset u64 7, O words u32 7x8");
}

/* ---- selecting -------------------------------------------------------------------------------------------------------------------------- */

static size_t selected(const struct selection *sel, struct fp4_error *err)
{
    struct case_list list;
    size_t n;

    if (suite_select(sel, &list, err))
        return 0;
    n = list.count;
    case_list_release(&list);
    return n;
}

Test(suite_select, takes_full_names_without_a_suite)
{
    const char *globs[] = { "quantize/te/rn/1x16/bf16/normal/3x2/s5", "cvt-rn/ptx/f32/normal/3x4/s5",
                            "quantize/te/rn/1x16/bf16/normal/3x2/s5", NULL };
    struct selection sel = { .globs = globs };
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(selected(&sel, &err), 2, "%s", err.msg);
}

Test(suite_select, filters_a_suite_by_pattern_and_op)
{
    const char *globs[] = { "*/allcodes/*", "philox/*", NULL }, *ops[] = { "philox", NULL };
    struct selection sel = { .suite = "smoke", .globs = globs };
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(selected(&sel, &err), 7, "%s", err.msg);
    sel.ops = ops;
    cr_expect_eq(selected(&sel, &err), 6, "%s", err.msg);
}

Test(suite_select, adds_the_seed_to_every_case_of_a_suite)
{
    struct selection sel = { .suite = "smoke", .has_seed = true, .seed = 40 };
    struct fp4_error err = { FP4_OK, "" };
    struct case_list list;
    size_t i;

    cr_assert_eq(suite_select(&sel, &list, &err), 0);
    for (i = 0; i < list.count; i++)
        cr_expect_eq(list.items[i].seed, 40);
    case_list_release(&list);
}

Test(suite_select, deals_cases_to_shards_in_turn)
{
    struct case_list all = select_suite("default"), part;
    struct fp4_error err = { FP4_OK, "" };
    unsigned shard;
    size_t i, total = 0;

    for (shard = 1; shard <= 7; shard++) {
        struct selection sel = { .suite = "default", .shard = shard, .shards = 7 };

        cr_assert_eq(suite_select(&sel, &part, &err), 0);
        for (i = 0; i < part.count; i++)
            cr_expect_eq(memcmp(&part.items[i], &all.items[i * 7 + shard - 1], sizeof part.items[i]), 0);
        total += part.count;
        case_list_release(&part);
    }
    cr_expect_eq(total, all.count);
    case_list_release(&all);
}

Test(suite_select, explains_an_empty_selection)
{
    static const char *const nothing[] = { "*/nothing/*", NULL }, *const wrong[] = { "quantize/te", NULL },
                             *const op[] = { "quantum", NULL }, *const swizzle[] = { "swizzle", NULL },
                             *const philox[] = { "philox/*", NULL };
    const struct {
        struct selection sel;
        const char *message;
    } rows[] = {
        { { .suite = "nightly" }, "unknown suite 'nightly': one of smoke, default, full, input" },
        { { .globs = nothing }, "no case matches '*/nothing/*'" },
        { { .globs = wrong }, "too few segments" },
        { { .ops = op }, "unknown op 'quantum'" },
        { { .globs = philox, .ops = swizzle }, "no case is selected" },
        { { .suite = "smoke", .shard = 3, .shards = 2 }, "shard 3/2" },
        { { .suite = "smoke", .shard = 0, .shards = 2 }, "shard 0/2" },
        { { .suite = "smoke", .shard = 4000, .shards = 4001 }, "is empty" },
        { { .suite = "input" }, "--input" },
        { { .suite = "/nowhere/at-all.json" }, "cannot open" },
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(selected(&rows[i].sel, &err), 0);
        cr_expect(strstr(err.msg, rows[i].message), "'%s' lacks '%s'", err.msg, rows[i].message);
    }
}

/* ---- suite files ------------------------------------------------------------------------------------------------------------------------ */

static size_t selected_from(const char *text, struct fp4_error *err)
{
    char path[] = P_tmpdir "/fp4check-suite-XXXXXX.json";
    struct selection sel = { .suite = path };
    int fd = mkstemps(path, 5);
    size_t n;

    cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    n = selected(&sel, err);
    unlink(path);
    return n;
}

#define SUITE(cases) "{\"format\":\"fp4check-suite\",\"version\":1,\"name\":\"x\",\"cases\":[" cases "]}"

Test(suite_file, takes_names_patterns_and_products)
{
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        { SUITE("\"quantize/te/rn/1x16/bf16/normal/3x2/s5\""), 1 },
        { SUITE("\"swizzle/te/e4m3/poison/144x?/s0\""), 1 },
        { SUITE("{\"op\":\"quantize\",\"data\":\"normal\",\"shape\":\"32x64\"}"), 1 },
        { SUITE(
              "{\"op\":\"quantize\",\"recipe\":[\"te\",\"te-fast\"],\"knobs\":{\"round\":[\"rn\",\"sr\"],\"block\":\"1x16\"},"
              "\"dtype\":[\"bf16\",\"f32\"],\"data\":[\"normal\",\"ties\"],\"shape\":[\"32x64\",\"17x34\"],\"seed\":[0,1,\"7\"]}"),
          48 + 12 }, /* te-fast has neither f32 nor 17x34 */
        { SUITE("{\"op\":\"cvt-rs\",\"knobs\":{\"rs\":[\"b300\",\"te-soft\"]},\"data\":\"probes\",\"shape\":\"4x4\"},"
                "\"cvt-rs/ptx/b300/f32/probes/4x4/s0\""),
          2 },
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(selected_from(rows[i].text, &err), rows[i].count, "row %zu: %s", i, err.msg);
    }
}

#define QUANTIZE "\"op\":\"quantize\",\"data\":\"normal\",\"shape\":\"32x64\""

Test(suite_file, names_file_line_and_field_of_a_mistake)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        { "", "line 1" },
        { "[]", "a JSON object is needed" },
        { "{\"format\":\"fp4check-suite\",\n\"version\":1,,}", "line 2" },
        { "{\"version\":1}", "field 'format'" },
        { "{\"format\":\"fp4check-dump\",\"version\":1,\"name\":\"x\",\"cases\":[]}", "field 'format'" },
        { "{\"format\":\"fp4check-suite\",\"version\":2,\"name\":\"x\",\"cases\":[\"a\"]}", "field 'version'" },
        { "{\"format\":\"fp4check-suite\",\"version\":1,\"cases\":[\"a\"]}", "field 'name'" },
        { "{\"format\":\"fp4check-suite\",\"version\":1,\"name\":\"x\"}", "field 'cases'" },
        { SUITE(""), "field 'cases'" },
        { "{\"format\":\"fp4check-suite\",\"version\":1,\"name\":\"x\",\"cases\":[\"*\"],\"more\":1}", "unknown field 'more'" },
        { SUITE("1"), "field 'cases[0]'" },
        { SUITE("\"*\",\"quantize/te\""), "field 'cases[1]'" },
        { SUITE("\"*/nothing/*\""), "no case of the default suite matches" },
        { SUITE("{\"data\":\"normal\",\"shape\":\"32x64\"}"), "field 'op'" },
        { SUITE("{\"op\":\"quantise\",\"data\":\"normal\",\"shape\":\"32x64\"}"), "did you mean 'quantize'" },
        { SUITE("{\"op\":\"quantize\",\"shape\":\"32x64\"}"), "field 'data' is missing" },
        { SUITE("{\"op\":\"quantize\",\"data\":\"normal\"}"), "field 'shape' is missing" },
        { SUITE("{" QUANTIZE ",\"recipe\":\"ptx\"}"), "field 'recipe': unknown recipe 'ptx'" },
        { SUITE("{" QUANTIZE ",\"recipe\":[]}"), "the list is empty" },
        { SUITE("{" QUANTIZE ",\"dtype\":3}"), "field 'dtype'" },
        { SUITE("{" QUANTIZE ",\"seed\":-1}"), "field 'seed'" },
        { SUITE("{" QUANTIZE ",\"seed\":1.5}"), "field 'seed'" },
        { SUITE("{" QUANTIZE ",\"seed\":\"x\"}"), "field 'seed'" },
        { SUITE("{" QUANTIZE ",\"knobs\":\"rn\"}"), "field 'knobs'" },
        { SUITE("{" QUANTIZE ",\"knobs\":{\"pack\":\"x2\"}}"), "op quantize has no knob 'pack'" },
        { SUITE("{" QUANTIZE ",\"knobs\":{\"round\":\"rz\"}}"), "field 'knobs.round'" },
        { SUITE("{" QUANTIZE ",\"knobs\":{\"round\":\"1x16\"}}"), "is a token of knob 'block'" },
        { SUITE("{" QUANTIZE ",\"knobs\":{\"round\":[1]}}"), "field 'round'" },
        { SUITE("{" QUANTIZE ",\"more\":1}"), "unknown field 'more'" },
        { SUITE("{" QUANTIZE ",\"op\":\"quantize\"}"), "" },
        { SUITE("{\"op\":\"quantize\",\"recipe\":\"te-fast\",\"dtype\":\"f32\",\"data\":\"normal\",\"shape\":\"32x64\"}"),
          "no combination is defined: te-fast" },
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(selected_from(rows[i].text, &err), 0, "row %zu", i);
        cr_expect(strstr(err.msg, rows[i].message), "row %zu: '%s' lacks '%s'", i, err.msg, rows[i].message);
        cr_expect(strstr(err.msg, "fp4check-suite-"), "row %zu: '%s' lacks the file", i, err.msg);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data constructions: the same bytes on every machine, what they claim to hit is hit (measured through the reference), and sane
 * distributions.
 */
#include "data_make.h"
#include "dump.h"

#include "check.h"
#include "outputs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- help ------------------------------------------------------------------------------------------------------------------------------- */

static struct fp4_case parsed(const char *name)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_case c;

    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    return c;
}

static void make_inputs(const char *name, struct case_tensors *t)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_case c = parsed(name);

    cr_assert_eq(case_inputs(&c, t, &err), 0, "%s", err.msg);
}

static float f32_at(const struct tensor *t, size_t i)
{
    return fp4_load(t->data, t->dtype, i);
}

static uint32_t bits_at(const struct tensor *t, size_t i)
{
    uint32_t bits;

    memcpy(&bits, t->data + 4 * i, 4);
    return bits;
}

static float *floats(const struct tensor *t)
{
    return t ? (float *)(void *)t->data : NULL;
}

/* Runs the reference over a nearest quantize case, stages included. */
static void quantized(const char *name, struct case_tensors *t)
{
    struct fp4_case c = parsed(name);
    struct fp4_quantize_params p = { .recipe = case_recipe_ref(c.recipe), .input = c.dtype, .rows = c.rows, .cols = c.cols };
    struct fp4_quantized q = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    struct fp4_error err = { FP4_OK, "" };
    bool col = c.knob[KNOB_OUT] == 1;

    make_inputs(name, t);
    allocate_outputs(t);
    p.block_16x16 = c.knob[KNOB_BLOCK] == 1;
    p.row_scaled = c.knob[KNOB_AMAX] == 1;
    q.codes = tensor_find(t, col ? "codes.t" : "codes")->data;
    q.scales = tensor_find(t, col ? "block-scale.t" : "block-scale")->data;
    q.amax = floats(tensor_find(t, col ? "amax.t" : "amax"));
    q.global_scale = floats(tensor_find(t, col ? "global-scale.t" : "global-scale"));
    q.block_amax = floats(tensor_find(t, col ? "block-amax.t" : "block-amax"));
    q.scaled = floats(tensor_find(t, col ? "scaled.t" : "scaled"));
    q.given_amax = floats(tensor_find(t, col ? "given-amax.t" : "given-amax"));
    cr_assert_eq(fp4_quantize(&p, tensor_find(t, "x")->data, col ? NULL : &q, col ? &q : NULL, &err), 0, "%s", err.msg);
}

/* ---- the same bytes everywhere ------------------------------------------------------------------------------------------------------------ */

/* XXH3-64 of all inputs of a case, one after the other. Other compilers, optimisation levels and architectures must give the same. */
static const struct {
    const char *name;
    uint64_t digest;
} known[] = {
#include "data_digests.inc"
};

static uint64_t digest_inputs(const char *name)
{
    uint64_t parts[CASE_TENSORS_MAX];
    struct case_tensors t;
    size_t i, n = 0;

    make_inputs(name, &t);
    for (i = 0; i < t.count; i++)
        if (t.t[i].role == TENSOR_INPUT)
            parts[n++] = digest64_bytes(t.t[i].data, t.t[i].bytes);
    case_release(&t);
    for (i = 0; i < n; i++) { /* as bytes, lowest first, so that the host's order does not matter */
        uint8_t *p = (uint8_t *)&parts[i];
        uint64_t v = parts[i];
        size_t k;

        for (k = 0; k < 8; k++)
            p[k] = (uint8_t)(v >> 8 * k);
    }
    return digest64_bytes(parts, 8 * n);
}

Test(data, is_the_same_on_every_machine)
{
    size_t i;

    cr_expect_geq(sizeof known / sizeof known[0], 60);
    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint64_t digest = digest_inputs(known[i].name);

        CHECK(digest == known[i].digest, "{ \"%s\", UINT64_C(0x%016" PRIx64 ") },", known[i].name, digest);
    }
}

Test(data, digests_cover_every_construction)
{
    size_t i, j;

    for (i = 0; i < fp4_data_count; i++) {
        for (j = 0; j < sizeof known / sizeof known[0]; j++) {
            struct fp4_case c = parsed(known[j].name);

            if (c.data == &fp4_data[i])
                break;
        }
        cr_expect(j < sizeof known / sizeof known[0], "no digest of data %s", fp4_data[i].name);
    }
}

Test(data, depends_on_seed_and_not_on_knobs_of_rounding)
{
    struct case_tensors a, b, other;

    make_inputs("quantize/te/rn/1x16/bf16/normal/32x64/s0", &a);
    make_inputs("quantize/te-fast/sr/1x16/te-soft/bf16/normal/32x64/s0", &b);
    make_inputs("quantize/te/rn/1x16/bf16/normal/32x64/s1", &other);
    cr_expect_eq(memcmp(a.t[0].data, b.t[0].data, a.t[0].bytes), 0);
    cr_expect_neq(memcmp(a.t[0].data, other.t[0].data, a.t[0].bytes), 0);
    case_release(&a);
    case_release(&b);
    case_release(&other);
}

Test(data, is_made_for_every_case_of_the_default_suite)
{
    struct selection sel = { .suite = "default" };
    struct fp4_error err = { FP4_OK, "" };
    struct case_tensors t;
    struct case_list list;
    char name[CASE_NAME_MAX];
    size_t i;

    cr_assert_eq(suite_select(&sel, &list, &err), 0);
    for (i = 0; i < list.count; i++) {
        case_name(&list.items[i], name);
        CHECK(case_inputs(&list.items[i], &t, &err) == 0, "%s: %s", name, err.msg);
        case_release(&t);
    }
    case_list_release(&list);
}

/* Design: a vacuous pass, where everything is zero on both sides, must not come from the inputs. */
Test(data, is_not_all_zero_unless_it_says_so)
{
    size_t i, k;

    for (i = 0; i < fp4_data_count; i++) {
        const struct data_row *row = &fp4_data[i];
        enum fp4_op op = row->ops & 1u << OP_QUANTIZE ? OP_QUANTIZE : OP_RHT_QUANTIZE;
        enum fp4_dtype dtype = row->dtypes && !(row->dtypes & 1u << FP4_BF16) ? FP4_F32 : FP4_BF16;
        struct fp4_case c = case_make(op, CR_TE, dtype, row, 32, 64, 0);
        struct fp4_error err = { FP4_OK, "" };
        struct case_tensors t;
        size_t nonzero = 0;

        if (!(row->ops & 1u << op) || strcmp(row->name, "zeros") == 0 || strcmp(row->name, "negzero") == 0)
            continue;
        cr_assert_eq(case_inputs(&c, &t, &err), 0, "%s", err.msg);
        for (k = 0; k < 32 * 64; k++)
            nonzero += f32_at(&t.t[0], k) != 0; /* NaN counts */
        cr_expect_geq(nonzero, 32 * 64 / 16 / 2, "%s: %zu", row->name, nonzero);
        case_release(&t);
    }
}

/* ---- ties ------------------------------------------------------------------------------------------------------------------------------- */

/* How often the scaled values of a case are each midpoint exactly, one ulp below and one above; both signs. */
static void count_ties(const char *name, const char *scaled_name, size_t hits[2][7][3], size_t scales[256])
{
    struct case_tensors t;
    struct tensor *scaled, *scale;
    size_t i, m;

    quantized(name, &t);
    scaled = tensor_find(&t, scaled_name);
    for (i = 0; i < scaled->bytes / 4; i++)
        for (m = 0; m < 7; m++) {
            uint32_t bits = bits_at(scaled, i), mid = fp4_f32_bits(e2m1_midpoints[m]);
            uint32_t distance = (bits & 0x7FFFFFFFu) - mid + 1;

            if (distance < 3)
                hits[bits >> 31][m][distance]++;
        }
    scale = tensor_find(&t, strcmp(scaled_name, "scaled") ? "block-scale.t" : "block-scale");
    for (i = 0; scales && i < scale->bytes; i++)
        scales[scale->data[i]]++;
    case_release(&t);
}

static void expect_all_hit(size_t hits[2][7][3], size_t least, const char *what)
{
    size_t s, m, d;

    for (s = 0; s < 2; s++)
        for (m = 0; m < 7; m++)
            for (d = 0; d < 3; d++)
                cr_expect_geq(hits[s][m][d], least, "%s: sign %zu, midpoint %zu, %d ulp: %zu hits", what, s, m, (int)d - 1,
                              hits[s][m][d]);
}

Test(ties, hit_every_midpoint_and_its_neighbours_in_f32)
{
    static const char *const names[] = {
        "quantize/te/rn/1x16/f32/ties/48x320/s0",   "quantize/te/rn/1x16/f32/ties/48x320/s1",
        "quantize/te/rn/1x16/f32/ties/48x320/s2",   "quantize/te/rn/1x16/f32/ties/48x320/s3",
        "quantize/te/rn/16x16/f32/ties/256x320/s0", "quantize/torchao/rn/1x16/f32/ties/48x320/s0"
    };
    size_t i, k;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t hits[2][7][3] = { { { 0 } } }, scales[256] = { 0 };

        count_ties(names[i], "scaled", hits, scales);
        expect_all_hit(hits, 20, names[i]);
        for (k = 1; k < 0x7F; k++)
            cr_expect_geq(scales[k], 1, "%s: scale %02zx is missing", names[i], k);
    }
}

Test(ties, run_along_the_rows_for_a_transposed_output)
{
    size_t hits[2][7][3] = { { { 0 } } };

    count_ties("quantize/te/rn/1x16/col/f32/ties/320x48/s0", "scaled.t", hits, NULL);
    expect_all_hit(hits, 20, "transposed");
}

Test(ties, hit_every_midpoint_exactly_in_bf16_and_f16)
{
    static const char *const names[] = { "quantize/te/rn/1x16/bf16/ties/48x320/s0", "quantize/te/rn/1x16/f16/ties/48x320/s0",
                                         "quantize/te-fast/rn/1x16/bf16/ties/64x320/s0" };
    size_t i, s, m;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t hits[2][7][3] = { { { 0 } } };

        count_ties(names[i], "scaled", hits, NULL);
        for (s = 0; s < 2; s++)
            for (m = 0; m < 7; m++)
                cr_expect_geq(hits[s][m][1], 20, "%s: sign %zu, midpoint %zu: %zu", names[i], s, m, hits[s][m][1]);
    }
}

Test(ties, hit_every_midpoint_under_awkward_scales_too)
{
    size_t hits[2][7][3] = { { { 0 } } };
    char name[CASE_NAME_MAX];
    unsigned seed;

    for (seed = 0; seed < 10; seed++) {
        snprintf(name, sizeof name, "quantize/te/rn/1x16/f32/ties-any/48x320/s%u", seed);
        count_ties(name, "scaled", hits, NULL);
    }
    expect_all_hit(hits, 200, "ties-any");
}

/* The products that are rounded to E4M3: block amax times fl(S/6), as the chain forms them. */
static void count_scale_ties(const char *name, size_t hits[126][3])
{
    struct case_tensors t;
    struct tensor *amax;
    float s;
    size_t i, m;

    quantized(name, &t);
    amax = tensor_find(&t, "block-amax");
    s = f32_at(tensor_find(&t, "global-scale"), 0) * fp4_f32_from_bits(0x3E2AAAABu);
    for (i = 0; i < amax->bytes / 4; i++)
        for (m = 0; m < 126; m++) {
            uint32_t distance = fp4_f32_bits(f32_at(amax, i) * s) - fp4_f32_bits(e4m3_midpoint((unsigned)m));

            if (distance == 0)
                hits[m][1]++;
            else if ((int32_t)distance < 0 && distance >= 0xFFFFFFFDu)
                hits[m][0]++;
            else if (distance <= 3)
                hits[m][2]++;
        }
    case_release(&t);
}

Test(scale_ties, hit_all_126_midpoints_of_e4m3_and_both_sides_in_f32)
{
    size_t hits[126][3] = { { 0 } };
    size_t m;

    count_scale_ties("quantize/te/rn/1x16/f32/scale-ties/48x320/s0", hits);
    for (m = 0; m < 126; m++)
        CHECK(hits[m][0] && hits[m][1] && hits[m][2], "midpoint above %02zx: %zu below, %zu on it, %zu above", m, hits[m][0],
              hits[m][1], hits[m][2]);
}

Test(scale_ties, hit_all_126_midpoints_exactly_in_bf16_and_f16)
{
    size_t bf16[126][3] = { { 0 } }, f16[126][3] = { { 0 } };
    size_t m;

    count_scale_ties("quantize/te/rn/1x16/bf16/scale-ties/48x320/s0", bf16);
    count_scale_ties("quantize/te/rn/1x16/f16/scale-ties/48x320/s0", f16);
    for (m = 0; m < 126; m++)
        CHECK(bf16[m][1] && f16[m][1], "midpoint above %02zx: %zu, %zu", m, bf16[m][1], f16[m][1]);
}

/* SR 5.4 A13, field report 27: the order of S, 6 and amax decides bytes. */
Test(scale_ties, tell_orders_of_the_scale_formula_apart)
{
    static const char *const names[] = { "quantize/te/rn/1x16/bf16/scale-ties-any/48x320/s0",
                                         "quantize/te/rn/1x16/bf16/scale-ties-any/48x320/s1",
                                         "quantize/te/rn/1x16/bf16/division/16x64/s0" };
    size_t i, k;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct case_tensors t;
        struct tensor *amax;
        float s;
        size_t differ = 0;

        quantized(names[i], &t);
        amax = tensor_find(&t, "block-amax");
        s = f32_at(tensor_find(&t, "global-scale"), 0);
        for (k = 0; k < amax->bytes / 4; k++) {
            float a = f32_at(amax, k), right = a * (s * fp4_f32_from_bits(0x3E2AAAABu)), other = a / 6.0f * s,
                  third = a * (s / 6.0f);

            differ += f32_to_e4m3(right).bits != f32_to_e4m3(other).bits || f32_to_e4m3(right).bits != f32_to_e4m3(third).bits;
        }
        cr_expect_geq(differ, 1, "%s: the orders agree everywhere", names[i]);
        case_release(&t);
    }
}

Test(ties, of_the_transform_lie_on_midpoints)
{
    struct case_tensors t;
    struct fp4_case c = parsed("rht-quantize/te/rn/bf16/rht-ties/512x16/s0");
    size_t hits[7] = { 0 }, f, g, k, n, m;

    make_inputs("rht-quantize/te/rn/bf16/rht-ties/512x16/s0", &t);
    for (f = 0; f < c.cols; f++)
        for (g = 0; g < c.rows / 16; g++) {
            float x[16], out[16], top = 0;

            for (k = 0; k < 16; k++)
                x[k] = f32_at(&t.t[0], (g * 16 + k) * c.cols + f);
            fp4_rht_group(x, FP4_RHT_SIGN_MASK, false, FP4_SUM_TC, out);
            for (n = 0; n < 16; n++)
                top = out[n] > top ? out[n] : -out[n] > top ? -out[n] : top;
            for (n = 0; n < 16; n++)
                for (m = 0; m < 7; m++)
                    hits[m] += (out[n] < 0 ? -out[n] : out[n]) * 6.0f == e2m1_midpoints[m] * top;
        }
    for (m = 0; m < 7; m++)
        cr_expect_geq(hits[m], 50, "midpoint %zu: %zu", m, hits[m]);
    case_release(&t);
}

/* ---- distributions ---------------------------------------------------------------------------------------------------------------------- */

/* Sums of integers: nothing is rounded. The bounds are six standard errors. */
Test(distributions, of_normal_and_uniform_have_their_moments)
{
    static const struct {
        const char *name;
        double unit;     /* values are multiples of it */
        double variance; /* in values */
    } rows[] = {
        { "quantize/te/rn/1x16/f32/normal/1000x1000/s0", 0x1p-17, 1.0 },
        { "quantize/te/rn/1x16/f32/uniform/1000x1000/s0", 0x1p-23, 1.0 / 3 },
        { "cvt-rn/ptx/f32/normal/1000x1000/s0", 0x1p-16, 4.0 },
        { "cvt-rn/ptx/f32/uniform/1000x1000/s0", 0x1p-20, 64.0 / 3 },
    };
    size_t i, k, n = 1000 * 1000;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_tensors t;
        double mean, variance, sum = 0, squares = 0;
        size_t positive = 0;

        make_inputs(rows[i].name, &t);
        for (k = 0; k < n; k++) {
            double units = (double)f32_at(&t.t[0], k) / rows[i].unit;

            cr_assert_eq(units, (double)(int64_t)units);
            sum += units; /* below 2^53: exact */
            squares += (double)f32_at(&t.t[0], k) * (double)f32_at(&t.t[0], k);
            positive += units > 0;
        }
        mean = sum * rows[i].unit / (double)n;
        variance = squares / (double)n;
        cr_expect(mean * mean * (double)n < 36 * rows[i].variance, "%s: mean %g", rows[i].name, mean);
        cr_expect(variance > rows[i].variance * 0.99 && variance < rows[i].variance * 1.01, "%s: variance %g", rows[i].name,
                  variance);
        cr_expect(positive > n / 2 - 3000 && positive < n / 2 + 3000, "%s: %zu positive", rows[i].name, positive);
        case_release(&t);
    }
}

Test(distributions, of_the_mixer_have_no_biased_bit)
{
    size_t ones[64] = { 0 }, i, bit;

    for (i = 0; i < 65536; i++)
        for (bit = 0; bit < 64; bit++)
            ones[bit] += mix64(0, 0, i) >> bit & 1;
    for (bit = 0; bit < 64; bit++)
        cr_expect(ones[bit] > 32768 - 800 && ones[bit] < 32768 + 800, "bit %zu: %zu", bit, ones[bit]);
}

Test(distributions, of_spread_and_bands_reach_the_ends)
{
    size_t hits[2][7][3] = { { { 0 } } }, scales[256] = { 0 }, k, met = 0;

    count_ties("quantize/te/rn/1x16/f32/bands/100x320/s0", "scaled", hits, scales);
    for (k = 0; k < 0x7F; k++)
        met += scales[k] > 0;
    cr_expect_geq(met, 90, "%zu scale bytes", met);
    cr_expect(scales[0] && scales[1] && scales[0x7E]);
}

/* ---- single constructions ----------------------------------------------------------------------------------------------------------------- */

Test(constructions, allbf16_has_every_value_once)
{
    static uint8_t seen[65536];
    struct case_tensors t;
    size_t i;

    make_inputs("cvt-rs/ptx/b300/f32/allbf16/65536x4/s1", &t);
    for (i = 0; i < 65536; i++) {
        seen[bits_at(&t.t[0], 4 * i) >> 16]++;
        CHECK(bits_at(&t.t[0], 4 * i) == bits_at(&t.t[0], 4 * i + 3), "row %zu", i);
        CHECK(bits_at(&t.t[1], i) == 0xFFFFFFFFu, "word %zu", i);
    }
    for (i = 0; i < 65536; i++)
        CHECK(seen[i] == 1, "%04zx: %u", i, seen[i]);
    case_release(&t);
}

Test(constructions, boundaries_surround_every_midpoint_and_grid_value)
{
    static const float points[] = { 0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 1.75f, 2, 2.5f, 3, 3.5f, 4, 5, 6, 0x1p-10f, 5.99609375f };
    size_t hits[16][2][5] = { { { 0 } } }, i, p, s, d;
    struct case_tensors t;

    make_inputs("cvt-rn/ptx/f32/boundaries/8963x4/s0", &t);
    for (i = 0; i < 8963 * 4; i++)
        for (p = 0; p < 16; p++) {
            uint32_t distance = (bits_at(&t.t[0], i) & 0x7FFFFFFFu) - fp4_f32_bits(points[p]) + 2;

            if (distance < 5)
                hits[p][bits_at(&t.t[0], i) >> 31][distance]++;
        }
    for (p = 0; p < 16; p++)
        for (s = 0; s < 2; s++)
            for (d = 0; d < 5; d++)
                cr_expect_geq(hits[p][s][d], 1, "%g, sign %zu, %d ulp", (double)points[p], s, (int)d - 2);
    case_release(&t);
}

Test(constructions, nan_payloads_survive_in_every_type)
{
    static const char *const names[] = { "quantize/te/rn/1x16/f32/nan/32x64/s0", "quantize/te/rn/1x16/bf16/nan/32x64/s0",
                                         "quantize/te/rn/1x16/f16/nan/32x64/s0" };
    size_t i, k;

    for (i = 0; i < 3; i++) {
        size_t nans = 0, negative = 0, infinities = 0;
        struct case_tensors t;

        make_inputs(names[i], &t);
        for (k = 0; k < 32 * 64; k++) {
            float v = f32_at(&t.t[0], k);
            uint8_t top = t.t[0].data[(k + 1) * (t.t[0].dtype == FP4_F32 ? 4 : 2) - 1];

            nans += v != v;
            negative += v != v && top >> 7;
            infinities += v == v && v - v != 0;
        }
        cr_expect(nans > 200 && negative > 50 && infinities == 0, "%s: %zu %zu %zu", names[i], nans, negative, infinities);
        case_release(&t);
    }
}

Test(constructions, given_amaxes_are_what_they_say)
{
    static const struct {
        const char *data;
        uint32_t bits;
    } rows[] = { { "amax0", 0 },           { "amaxinf", 0x7F800000u },  { "amaxnan", 0x7FC00000u },
                 { "amax4", 0x40800000u }, { "saturate", 0x45280000u }, { "amaxtiny", 0x05280000u } };
    char name[CASE_NAME_MAX];
    struct case_tensors t;
    float top;
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(name, sizeof name, "quantize/te/rn/1x16/both/bf16/%s/32x64/s0", rows[i].data);
        make_inputs(name, &t);
        cr_expect_eq(bits_at(tensor_find(&t, "given-amax"), 0), rows[i].bits, "%s", name);
        cr_expect_eq(bits_at(tensor_find(&t, "given-amax.t"), 0), rows[i].bits, "%s", name);
        case_release(&t);
    }
    make_inputs("quantize/te/rn/1x16/amax-row/f32/amaxstale/4x32/s0", &t);
    for (i = 0, top = 0; i < 32; i++)
        top = f32_at(&t.t[0], 96 + i) > top    ? f32_at(&t.t[0], 96 + i)
              : -f32_at(&t.t[0], 96 + i) > top ? -f32_at(&t.t[0], 96 + i)
                                               : top;
    cr_expect_eq(f32_at(tensor_find(&t, "given-amax"), 3), top * 0.25f);
    case_release(&t);
}

Test(constructions, tiny_straddles_the_overflow_of_the_global_scale)
{
    char name[CASE_NAME_MAX];
    bool capped = false, finite = false;
    unsigned seed;

    for (seed = 0; seed < 6; seed++) {
        struct case_tensors t;

        snprintf(name, sizeof name, "quantize/te/rn/1x16/f32/tiny/32x64/s%u", seed);
        quantized(name, &t);
        if (bits_at(tensor_find(&t, "global-scale"), 0) == 0x7F7FFFFFu)
            capped = true;
        else
            finite = true;
        case_release(&t);
    }
    cr_expect(capped && finite);
}

Test(constructions, identity_gives_all_codes_in_order)
{
    static const uint8_t wanted[8] = { 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE };
    static const char *const types[] = { "f32", "f16", "bf16" };
    char name[CASE_NAME_MAX];
    size_t i;

    for (i = 0; i < 3; i++) {
        struct case_tensors t;

        snprintf(name, sizeof name, "quantize/te/rn/1x16/%s/identity/1x32/s0", types[i]);
        quantized(name, &t);
        cr_expect_eq(memcmp(tensor_find(&t, "codes")->data + 8, wanted, 8), 0, "%s", name);
        cr_expect_eq(tensor_find(&t, "block-scale")->data[1], 0x38);
        case_release(&t);
    }
}

/* The facts that the reports give of their own inputs. */
Test(constructions, of_field_reports_have_the_scales_of_the_reports)
{
    static const struct {
        const char *name;
        size_t block;
        uint8_t scale;
    } rows[] = {
        { "quantize/te/rn/1x16/f32/scalerules/1x112/s0", 1, 0x38 },       /* 12: 6.2 */
        { "quantize/te/rn/1x16/f32/scalerules/1x112/s0", 2, 0x39 },       /* 12: 6.7 */
        { "quantize/te/rn/1x16/f32/scalerules/1x112/s0", 3, 0x23 },       /* 12: 1.0 */
        { "quantize/te/rn/1x16/f32/scalerules/1x112/s0", 5, 0x3F },       /* 24 */
        { "quantize/te/rn/1x16/f32/amaxbf16/1x96/s0", 1, 0x39 },          /* 18: 6.376 */
        { "quantize/te/rn/1x16/f32/double/1x64/s0", 1, 0x39 },            /* 21 */
        { "quantize/te/rn/1x16/f32/reciprocal/1x48/s0", 1, 0x07 },        /* 26 */
        { "quantize/te/rn/1x16/bf16/underflow/1x128/s0", 1, 0x00 },       /* 37: zero block */
        { "quantize/te/rn/1x16/bf16/underflow/1x128/s0", 2, 0x00 },       /* 37: tie */
        { "quantize/te/rn/1x16/bf16/underflow/1x128/s0", 3, 0x01 },       /* 37: next bf16 */
        { "quantize/te/rn/1x16/bf16/subnormalscales/1x144/s0", 1, 0x01 }, /* 45 */
        { "quantize/te/rn/1x16/bf16/subnormalscales/1x144/s0", 7, 0x07 },
        { "quantize/te/rn/1x16/f32/saturate/1x160/s0", 3, 0x7E }, /* 41: 464 */
        { "quantize/te/rn/1x16/f32/saturate/1x160/s0", 7, 0x7E }, /* 40: 5376 */
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_tensors t;

        quantized(rows[i].name, &t);
        cr_expect_eq(tensor_find(&t, "block-scale")->data[rows[i].block], rows[i].scale, "%s, block %zu: %02x", rows[i].name,
                     rows[i].block, tensor_find(&t, "block-scale")->data[rows[i].block]);
        case_release(&t);
    }
}

Test(constructions, classes_of_the_transform_are_as_named)
{
    static const struct {
        const char *data;
        uint8_t most;
    } rows[] = {
        { "rht-cut", FP4_RHT_CUT }, { "rht-aligned", FP4_RHT_ALIGNED }, { "rht-ties", FP4_RHT_EXACT }, { "impulses", FP4_RHT_EXACT }
    };
    char name[CASE_NAME_MAX];
    size_t i, f, k;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct case_tensors t;
        size_t right = 0;

        snprintf(name, sizeof name, "rht-quantize/te/rn/bf16/%s/16x256/s0", rows[i].data);
        make_inputs(name, &t);
        for (f = 0; f < 256; f++) {
            float x[16];

            for (k = 0; k < 16; k++)
                x[k] = f32_at(&t.t[0], k * 256 + f);
            right += (fp4_rht_classify(x, FP4_RHT_SIGN_MASK, false) & 3) == rows[i].most;
        }
        cr_expect_geq(right, 100, "%s: %zu of 256", name, right);
        case_release(&t);
    }
}

Test(constructions, known_philox_inputs_come_first)
{
    struct case_tensors t;
    uint64_t seed;

    make_inputs("philox/te/u32/kat/15x4/s0", &t);
    memcpy(&seed, t.t[0].data + 8 * 11, 8);
    cr_expect_eq(seed, UINT64_C(0x123456789ABCDEF0));
    case_release(&t);
}

Test(constructions, swizzled_padding_is_poisoned)
{
    struct case_tensors t;
    size_t i, poison = 0;

    make_inputs("swizzle/te/unswizzle/e4m3/poison/144x3/s0", &t);
    for (i = 0; i < t.t[0].bytes; i++)
        poison += t.t[0].data[i] == 0x7F;
    cr_expect_geq(poison, t.t[0].bytes - 144 * 3);
    cr_expect_eq(t.t[0].data[fp4_swizzle_index(3, 1, 0)], 1 + 3);
    case_release(&t);
}

/* ---- real weights ------------------------------------------------------------------------------------------------------------------------ */

Test(weights, are_tiled_and_rounded_to_nearest)
{
    static const char *const data[] = { "embed", "query", "ffn-in", "ffn-out", "norm" };
    char name[CASE_NAME_MAX];
    size_t i, r, c;

    for (i = 0; i < 5; i++) {
        struct case_tensors f32, bf16;
        size_t rows = i == 4 ? 1 : i == 0 ? 96 : 64;

        snprintf(name, sizeof name, "quantize/te/rn/1x16/f32/minilm-%s/200x400/s0", data[i]);
        make_inputs(name, &f32);
        snprintf(name, sizeof name, "quantize/te/rn/1x16/bf16/minilm-%s/200x400/s0", data[i]);
        make_inputs(name, &bf16);
        for (r = 0; r < 200; r++)
            for (c = 0; c < 400; c++) {
                float v = f32_at(&f32.t[0], r * 400 + c), again = f32_at(&f32.t[0], r % rows * 400 + c % 384);

                CHECK(v == again && v == v && v > -20 && v < 20, "%s (%zu, %zu)", name, r, c);
                CHECK(f32_at(&bf16.t[0], r * 400 + c) == bf16_to_f32(f32_to_bf16(v)), "%s (%zu, %zu)", name, r, c);
            }
        case_release(&f32);
        case_release(&bf16);
    }
}

static void *make_in_thread(void *digest)
{
    *(uint64_t *)digest = digest_inputs("quantize/te/rn/1x16/f32/minilm-query/64x384/s0");
    return NULL;
}

Test(weights, may_be_unpacked_by_several_threads_at_once)
{
    pthread_t threads[8];
    uint64_t digests[8];
    size_t i;

    for (i = 0; i < 8; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, make_in_thread, &digests[i]), 0);
    for (i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    for (i = 1; i < 8; i++)
        cr_expect_eq(digests[i], digests[0]);
}

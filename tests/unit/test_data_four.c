/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of four-over-six: the sweep's bytes and what they are quantized to, against check sums that others computed (FOS 6.1), and that
 * the tie-directed blocks are the ties they claim to be.
 */
#include "matrix.h"

#include "check.h"
#include "outputs.h"
#include "slow_four.h"

#include <stdio.h>
#include <string.h>

static struct fp4_case parsed(const char *name)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_case c;

    cr_assert_eq(case_parse(name, &c, &err), 0, "%s", err.msg);
    return c;
}

static void *data_of(struct case_tensors *t, const char *name)
{
    struct tensor *x = tensor_find(t, name);

    return x ? x->data : NULL;
}

/* Inputs and every stage of one rowwise direction, by the reference. */
static void quantized(const char *name, struct case_tensors *t)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_case c = parsed(name);
    struct fp4_four_params p;
    struct fp4_four_stages stages;
    struct fp4_quantized q;

    cr_assert_eq(case_inputs(&c, t, &err), 0, "%s", err.msg);
    allocate_outputs(t);
    memset(&q, 0, sizeof q);
    memset(&stages, 0, sizeof stages);
    q.codes = data_of(t, "codes");
    q.scales = data_of(t, "block-scale");
    q.amax = data_of(t, "amax");
    q.given_amax = data_of(t, "given-amax");
    stages.scales[0] = data_of(t, "scale-6");
    stages.scales[1] = data_of(t, "scale-4");
    stages.codes[0] = data_of(t, "codes-6");
    stages.codes[1] = data_of(t, "codes-4");
    stages.errors[0] = data_of(t, "error-6");
    stages.errors[1] = data_of(t, "error-4");
    stages.pick = data_of(t, "pick");
    case_four_params(&c, &p);
    cr_assert_eq(fp4_four_over_six(&p, data_of(t, "x"), &q, NULL, &stages, NULL, &err), 0, "%s", err.msg);
}

/* ---- check sums ------------------------------------------------------------------------------------------------------------------------ */

/* CRC-32 with the polynomial of zlib, bit by bit. */
static uint32_t crc32(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    size_t i;
    int bit;

    for (i = 0; i < n; i++) {
        crc ^= p[i];
        for (bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

struct sums {
    uint32_t codes, scales, map_to_4;
};

static const struct {
    const char *data, *shape, *dtype, *blocks;
    uint32_t input;
    struct sums sums[4]; /* mae 256, mae 448, mse 256, mse 448 */
} sweep[] = {
#include "four_sweep.inc"
};

Test(data_four, sums_as_the_source_of_the_check_does)
{
    cr_expect_eq(crc32((const uint8_t *)"123456789", 9), 0xCBF43926u);
}

Test(data_four, rebuilds_the_sweep_bit_for_bit)
{
    static const char *const settings[4][2] = { { "mae", "" }, { "mae", "/bound-448" }, { "mse", "" }, { "mse", "/bound-448" } };
    struct case_tensors t;
    char name[CASE_NAME_MAX];
    size_t i, j, k;

    cr_expect_eq(sizeof sweep / sizeof sweep[0], 44);
    for (i = 0; i < sizeof sweep / sizeof sweep[0]; i++)
        for (j = 0; j < 4; j++) {
            const struct tensor *x, *codes, *scales, *pick;
            struct sums got = { 0, 0, 0 };

            snprintf(name, sizeof name, "four-over-six/torchao/%s/%s%s/%s/%s/%s/s0", settings[j][0], sweep[i].blocks,
                     settings[j][1], sweep[i].dtype, sweep[i].data, sweep[i].shape);
            quantized(name, &t);
            x = tensor_find(&t, "x");
            codes = tensor_find(&t, "codes");
            scales = tensor_find(&t, "block-scale");
            pick = tensor_find(&t, "pick");
            got.codes = crc32(codes->data, codes->bytes);
            got.scales = crc32(scales->data, scales->bytes);
            for (k = 0; k < pick->bytes; k++)
                got.map_to_4 += pick->data[k] == FP4_MAP_TO_4;
            CHECK(crc32(x->data, x->bytes) == sweep[i].input, "%s: input", name);
            CHECK(memcmp(&got, &sweep[i].sums[j], sizeof got) == 0, "%s: %08" PRIX32 "/%08" PRIX32 "/%" PRIu32, name, got.codes,
                  got.scales, got.map_to_4);
            case_release(&t);
        }
}

Test(data_four, fills_the_sweep_with_the_largest_and_with_subnormal_numbers)
{
    struct case_tensors t;
    uint32_t bits, largest = 0;
    size_t i;

    quantized("four-over-six/torchao/mae/1x16/bf16/ao-maxes/16x64/s0", &t);
    for (i = 0; i < 16 * 64; i++)
        CHECK(((uint16_t *)data_of(&t, "x"))[i] == 0x7F7F, "element %zu", i);
    for (i = 0; i < 64; i++)
        CHECK(tensor_find(&t, "block-scale")->data[i] == 0x78, "scale %zu", i);
    case_release(&t);
    quantized("four-over-six/torchao/mae/1x16/f32/ao-denormal/16x64/s0", &t);
    for (i = 0; i < 16 * 64; i++) {
        memcpy(&bits, tensor_find(&t, "x")->data + 4 * i, 4);
        bits &= 0x7FFFFFFFu;
        CHECK(bits <= 0x00400000u, "element %zu", i);
        largest = bits > largest ? bits : largest;
    }
    cr_expect_gt(largest, 0x003F0000u);
    case_release(&t);
}

/* ---- near ties --------------------------------------------------------------------------------------------------------------------------- */

static int64_t ulps(struct case_tensors *t, size_t block)
{
    uint32_t e6, e4;

    memcpy(&e6, (uint8_t *)data_of(t, "error-6") + 4 * block, 4);
    memcpy(&e4, (uint8_t *)data_of(t, "error-4") + 4 * block, 4);
    return (int64_t)e4 - (int64_t)e6;
}

/* Blocks whose candidates are not the same and whose errors are -1, 0 or 1 ulp apart. */
static void count_ties(const char *name, size_t height, size_t found[3])
{
    struct case_tensors t;
    size_t i, blocks, columns;

    quantized(name, &t);
    columns = tensor_find(&t, "block-scale")->dims[1];
    blocks = tensor_find(&t, "block-scale")->bytes;
    memset(found, 0, 3 * sizeof *found);
    for (i = 1; i < blocks; i++) {
        int64_t d = ulps(&t, i);

        if (i / columns % height || tensor_find(&t, "scale-6")->data[i] == tensor_find(&t, "scale-4")->data[i])
            continue;
        if (d >= -1 && d <= 1)
            found[d + 1]++;
        CHECK(tensor_find(&t, "pick")->data[i] == (d < 0), "%s: block %zu", name, i);
    }
    case_release(&t);
}

Test(data_four, ties_are_ties_for_each_error_bound_and_amax)
{
    static const char *const settings[8][3] = {
        { "torchao", "mae", "" }, { "torchao", "mse", "" }, { "torchao", "mae", "/bound-448" }, { "torchao", "mse", "/bound-448" },
        { "te-fast", "mae", "" }, { "te-fast", "mse", "" }, { "te-fast", "mae", "/bound-448" }, { "te-fast", "mse", "/bound-448" },
    };
    char name[CASE_NAME_MAX];
    size_t found[3], i, seed, tile;

    for (tile = 0; tile < 2; tile++)
        for (i = 0; i < 8; i++)
            for (seed = 0; seed < 7; seed++) {
                snprintf(name, sizeof name, "four-over-six/%s/%s/%s%s/bf16/four-ties/%s/s%zu", settings[i][0], settings[i][1],
                         tile ? "16x16" : "1x16", settings[i][2], tile ? "64x256" : "4x128", seed);
                count_ties(name, tile ? 16 : 1, found);
                CHECK(found[0] && found[1] && found[2], "%s: -1 %zu, 0 %zu, +1 %zu", name, found[0], found[1], found[2]);
            }
}

/* The order of the additions decides: the same tile in order and as a tree. */
Test(data_four, tiles_hold_blocks_alone_in_a_row_and_alone_in_a_column)
{
    struct case_tensors t;
    size_t r, c, row[2] = { 0, 0 }, col[2] = { 0, 0 };
    unsigned which;

    quantized("four-over-six/torchao/mae/16x16/bf16/four-ties/16x48/s0", &t);
    for (which = 0; which < 2; which++)
        for (r = 0; r < 16; r++)
            for (c = 0; c < 16; c++)
                if (fp4_load(data_of(&t, "x"), FP4_BF16, r * 48 + 16 * (which + 1) + c) != 0) {
                    row[which] |= (size_t)1 << r;
                    col[which] |= (size_t)1 << c;
                }
    cr_expect_eq(row[1] & (row[1] - 1), 0, "tile 2: one row");
    cr_expect_neq(col[1] & (col[1] - 1), 0, "tile 2: several columns");
    cr_expect_eq(col[0] & (col[0] - 1), 0, "tile 1: one column");
    cr_expect_neq(row[0] & (row[0] - 1), 0, "tile 1: several rows");
    case_release(&t);
}

/* ---- worked blocks ------------------------------------------------------------------------------------------------------------------------- */

/* The whole row of the tensor that begins with block `at` (group `seed`), as scale and code bytes. */
static const struct {
    const char *settings; /* recipe/error/block, bound */
    const char *knobs;
    const char *data;
    unsigned seed;
    size_t block;
    uint8_t scale, codes[8];
} known[] = {
#include "four_known.inc"
};

Test(data_four, worked_blocks_have_their_known_answers)
{
    struct case_tensors t;
    char name[CASE_NAME_MAX];
    size_t i;

    cr_expect_gt(sizeof known / sizeof known[0], 30);
    for (i = 0; i < sizeof known / sizeof known[0]; i++) {
        snprintf(name, sizeof name, "four-over-six/%s%s/bf16/%s/1x256/s%u", known[i].settings, known[i].knobs, known[i].data,
                 known[i].seed);
        quantized(name, &t);
        CHECK(tensor_find(&t, "block-scale")->data[known[i].block] == known[i].scale, "%s: block %zu, scale %02x", name,
              known[i].block, tensor_find(&t, "block-scale")->data[known[i].block]);
        CHECK(memcmp(tensor_find(&t, "codes")->data + 8 * known[i].block, known[i].codes, 8) == 0,
              "%s: block %zu, codes %02x %02x %02x %02x ..", name, known[i].block,
              tensor_find(&t, "codes")->data[8 * known[i].block], tensor_find(&t, "codes")->data[8 * known[i].block + 1],
              tensor_find(&t, "codes")->data[8 * known[i].block + 2], tensor_find(&t, "codes")->data[8 * known[i].block + 3]);
        case_release(&t);
    }
}

/* ---- both scales on their boundaries --------------------------------------------------------------------------------------------------------- */

Test(data_four, scales_reach_every_byte_and_the_cap)
{
    bool seen[2][256] = { { false } };
    struct case_tensors t;
    size_t i, capped = 0;

    quantized("four-over-six/torchao/mae/1x16/f32/four-scales/48x800/s0", &t);
    for (i = 0; i < tensor_find(&t, "scale-6")->bytes; i++) {
        seen[0][tensor_find(&t, "scale-6")->data[i]] = true;
        seen[1][tensor_find(&t, "scale-4")->data[i]] = true;
        capped += tensor_find(&t, "scale-6")->data[i] == 0x7E;
    }
    for (i = 0; i <= 0x7E; i++)
        CHECK(seen[0][i] && (seen[1][i]), "byte %02zx", i);
    cr_expect(!seen[0][0x7F] && !seen[1][0x7F]);
    cr_expect_gt(capped, 8);
    case_release(&t);
}

/* ---- what the suite of ties can see ------------------------------------------------------------------------------------------------------ */

static bool shows(const struct fp4_case *c, enum slow_mistake mistake)
{
    struct fp4_error err = { FP4_OK, "" };
    struct fp4_four_params p;
    struct slow_four wrong;
    struct case_tensors t;
    char name[CASE_NAME_MAX];
    bool differs = false;
    size_t i;

    case_name(c, name);
    quantized(name, &t);
    case_four_params(c, &p);
    cr_assert_eq(fp4_four_check(&p, true, false, &err), 0);
    slow_four_over_six(&p, mistake, data_of(&t, "x"), false, data_of(&t, "given-amax"), &wrong);
    for (i = 0; i < c->rows * c->cols && !differs; i++)
        differs = wrong.q.code[i] != (tensor_find(&t, "codes")->data[i / 2] >> i % 2 * 4 & 15u);
    for (i = 0; i < c->rows * c->cols / 16 && !differs; i++)
        differs = wrong.q.scale[i] != tensor_find(&t, "block-scale")->data[i];
    slow_four_release(&wrong);
    case_release(&t);
    return differs;
}

/* Each mistake of slow_four.h changes a case of recipe torchao; the right thing changes none of those looked at. */
Test(data_four, suite_of_ties_shows_every_mistake)
{
    struct selection sel = { .suite = "four-over-six-ties" };
    struct fp4_error err = { FP4_OK, "" };
    struct case_list list;
    int mistake;
    size_t i;

    cr_assert_eq(suite_select(&sel, &list, &err), 0, "%s", err.msg);
    for (mistake = SLOW_RIGHT + 1; mistake <= SLOW_CAP_AT_BOUND; mistake++) {
        for (i = 0; i < list.count; i++)
            if (list.items[i].recipe == CR_TORCHAO && shows(&list.items[i], (enum slow_mistake)mistake))
                break;
        cr_expect_lt(i, list.count, "no case shows mistake %d", mistake);
    }
    for (i = 0; i < list.count; i += 97)
        if (list.items[i].recipe == CR_TORCHAO)
            cr_expect(!shows(&list.items[i], SLOW_RIGHT));
    case_list_release(&list);
}

/* Another order of the sum, or of the factors of an error, changes a pick among 31 blocks of each amax, for each error and bound. */
Test(data_four, ties_of_each_setting_tell_orders_of_the_sum_apart)
{
    static const enum slow_mistake orders[] = { SLOW_SUM_PAIRWISE,        SLOW_SUM_HALVES,      SLOW_SUM_REVERSED,
                                                SLOW_ERROR_BY_RECIPROCAL, SLOW_ERROR_BY_DECODE, SLOW_ERROR_BY_DEQUANTIZER,
                                                SLOW_ERROR_DIVIDED_FIRST };
    static const char *const settings[4] = { "mae/1x16", "mse/1x16", "mae/1x16/bound-448", "mse/1x16/bound-448" };
    char name[CASE_NAME_MAX];
    size_t i, j, seed, seen;

    for (i = 0; i < sizeof orders / sizeof orders[0]; i++)
        for (j = 0; j < 4; j++) {
            for (seed = seen = 0; seed < 7; seed++) {
                struct fp4_case c;

                snprintf(name, sizeof name, "four-over-six/torchao/%s/bf16/four-ties/4x128/s%zu", settings[j], seed);
                c = parsed(name);
                seen += shows(&c, orders[i]);
            }
            CHECK(seen > 0, "mistake %d in %s", (int)orders[i], settings[j]);
        }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Measured maps: bit by bit in the reference, and as files and values of the rs knob. */
#include "check.h"
#include "matrix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    return z ^ z >> 31;
}

static struct fp4_rs_map shuffled(uint64_t seed)
{
    struct fp4_rs_map m;
    uint8_t bits[32];

    for (unsigned i = 0; i < 32; i++)
        bits[i] = (uint8_t)i;
    for (unsigned i = 31; i > 0; i--) {
        unsigned j = (unsigned)(mix(&seed) % (i + 1));
        uint8_t t = bits[i];

        bits[i] = bits[j];
        bits[j] = t;
    }
    for (unsigned i = 0; i < 32; i++)
        m.source[i / 8][i % 8] = bits[i];
    return m;
}

Test(rs_maps, a_named_map_bit_by_bit_is_that_map)
{
    uint64_t state = 1;

    for (int map = 0; map < FP4_MAP_COUNT; map++) {
        struct fp4_rs_map bits;

        fp4_rs_map_expand((enum fp4_byte_map)map, &bits);
        for (unsigned i = 0; i < 2000; i++) {
            uint32_t word = (uint32_t)mix(&state);
            struct fp4_rs_model m = { FP4_RS_TRUNC, FP4_MAP_CUSTOM, &bits };

            for (unsigned nibble = 0; nibble < 4; nibble++)
                CHECK(fp4_rs_model_byte(m, word, nibble) == fp4_rs_byte((enum fp4_byte_map)map, word, nibble),
                      "map %d, word %08x, nibble %u", map, word, nibble);
        }
    }
}

/* Against a byte put together by hand; a bit that is not there counts as 0. */
Test(rs_maps, any_permutation)
{
    uint64_t state = 9;

    for (uint64_t seed = 0; seed < 50; seed++) {
        struct fp4_rs_map bits = shuffled(seed);
        struct fp4_rs_model m = { FP4_RS_HALF, FP4_MAP_CUSTOM, &bits };

        bits.source[seed % 4][seed % 8] = FP4_RS_NO_BIT;
        for (unsigned i = 0; i < 200; i++) {
            uint32_t word = (uint32_t)mix(&state);
            float x = fp4_f32_from_bits(0x3F000000u + (uint32_t)(mix(&state) >> 40) % 0x01C00000u);

            for (unsigned nibble = 0; nibble < 4; nibble++) {
                unsigned byte = 0;

                for (unsigned j = 0; j < 8; j++)
                    if (bits.source[nibble][j] != FP4_RS_NO_BIT && word >> bits.source[nibble][j] & 1)
                        byte += 1u << j;
                CHECK(fp4_rs_model_byte(m, word, nibble) == byte, "seed %u, word %08x, nibble %u", (unsigned)seed, word, nibble);
                CHECK(fp4_rs_round_word(m, x, word, nibble).bits == fp4_rs_round(FP4_RS_HALF, x, (uint8_t)byte).bits,
                      "seed %u, x %g", (unsigned)seed, (double)x);
            }
        }
    }
}

/* Through the quantizers: each code is that of its scaled value, its word and its nibble. */
Test(rs_maps, quantizers_take_them)
{
    enum { ROWS = 32, COLS = 64, N = ROWS * COLS };
    static uint16_t x[N];
    static uint8_t codes[2][N / 2], scales[2][N / 16];
    static float scaled[2][N];
    static uint32_t words[2][N / 4];
    struct fp4_rs_map bits = shuffled(5);
    struct fp4_rs_model m = { FP4_RS_TRUNC, FP4_MAP_CUSTOM, &bits };
    struct fp4_quantized row = { .codes = codes[0], .scales = scales[0], .scaled = scaled[0], .rbits = words[0] };
    struct fp4_quantized col = { .codes = codes[1], .scales = scales[1], .scaled = scaled[1], .rbits = words[1] };
    struct fp4_quantize_params q = {
        .recipe = FP4_RECIPE_TE, .input = FP4_BF16, .rows = ROWS, .cols = COLS, .stochastic = true, .rs = m, .seed = 3
    };
    struct fp4_rht_params r = { .recipe = FP4_RECIPE_TE,
                                .kernel = FP4_RHT_KERNEL_ROWCOL,
                                .rows = ROWS,
                                .cols = COLS,
                                .sign_mask = FP4_RHT_SIGN_MASK,
                                .bf16_round_trip = true,
                                .stochastic = true,
                                .rs = m,
                                .seed = 4 };
    struct fp4_error err = { 0 };
    uint64_t state = 2;

    for (size_t i = 0; i < N; i++)
        x[i] = (uint16_t)(0x3F00u | (mix(&state) & 0x80FFu));
    for (int op = 0; op < 2; op++) {
        size_t moved = 0;

        cr_assert((op ? fp4_rht_quantize(&r, x, &row, &col, NULL, &err) : fp4_quantize(&q, x, &row, &col, &err)) == 0, "%s",
                  err.msg);
        for (size_t side = 0; side < 2; side++)
            for (size_t i = 0; i < N; i++) {
                unsigned code = codes[side][i / 2] >> 4 * (i & 1) & 15u;

                CHECK(code == fp4_rs_round_word(m, scaled[side][i], words[side][i / 4], (unsigned)(i % 4)).bits,
                      "op %d, side %zu, element %zu", op, side, i);
                moved += code != f32_to_e2m1(scaled[side][i]).bits;
            }
        cr_expect(moved > N / 8, "only %zu codes are not the nearest", moved);
    }
}

static int load_text(const char *text, struct fp4_error *err)
{
    char path[] = "/tmp/fp4check-model-XXXXXX.json";
    int fd = mkstemps(path, 5), value;
    FILE *out = fdopen(fd, "w");

    fputs(text, out);
    fclose(out);
    value = rs_model_from_text(path, err);
    remove(path);
    return value;
}

Test(rs_models_file, text_and_back)
{
    struct fp4_error err = { 0 };

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct fp4_rs_map bits = shuffled(seed);
        enum fp4_rs_rule rule = (enum fp4_rs_rule)(seed % FP4_RS_HASH32);
        char *text = rs_model_text(rule, &bits);
        int value = load_text(text, &err), again = load_text(text, &err);
        const struct fp4_rs_model_row *row;

        cr_assert(value >= (int)fp4_rs_model_count, "%s", err.msg);
        cr_expect(again == value, "the same file is another model");
        row = rs_model_row((unsigned)value);
        cr_expect(strncmp(row->name, "rs-file-", 8) == 0 && strlen(row->name) == 16, "%s", row->name);
        cr_expect(row->model.rule == rule && memcmp(row->model.custom, &bits, sizeof bits) == 0);
        cr_expect(rs_model_find(row->name) == value);
        free(text);
    }
}

Test(rs_models_file, a_known_map_is_the_known_model)
{
    struct fp4_error err = { 0 };

    for (size_t i = 0; i < fp4_rs_model_count; i++) {
        struct fp4_rs_map bits;

        if (fp4_rs_models[i].model.rule == FP4_RS_HASH32)
            continue;
        fp4_rs_map_expand(fp4_rs_models[i].model.map, &bits);
        cr_expect(rs_model_add(fp4_rs_models[i].model.rule, &bits, &err) == (int)i, "%s", fp4_rs_models[i].name);
    }
    cr_expect(rs_model_count() == fp4_rs_model_count);
}

Test(rs_models_file, names_of_cases)
{
    struct fp4_rs_map bits = shuffled(77);
    struct fp4_error err = { 0 };
    char name[CASE_NAME_MAX], wanted[CASE_NAME_MAX];
    struct fp4_case c;
    int value;

    cr_expect(case_parse("cvt-rs/ptx/rs-file-00000000/f32/normal/64x4/s0", &c, &err) != 0);
    cr_expect(strstr(err.msg, "--rs-model FILE") != NULL, "%s", err.msg);
    value = rs_model_add(FP4_RS_TRUNC, &bits, &err);
    snprintf(wanted, sizeof wanted, "cvt-rs/ptx/%s/f32/normal/64x4/s0", rs_model_row((unsigned)value)->name);
    cr_assert(case_parse(wanted, &c, &err) == 0, "%s", err.msg);
    cr_expect(c.knob[KNOB_RS] == value);
    case_name(&c, name);
    cr_expect_str_eq(name, wanted);
}

#define MAP "[[0,1,2,3,4,5,6,7],[8,9,10,11,12,13,14,15],[16,17,18,19,20,21,22,23],[24,25,26,27,28,29,30,31]]"
#define HEAD "{\"format\":\"fp4check-rs-model\",\"version\":1,"

Test(rs_models_file, mistakes)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "", "line 1" },
        { "[]", "not a JSON object" },
        { "{}", "field 'format'" },
        { "{\"format\":\"other\"}", "field 'format'" },
        { "{\"format\":\"fp4check-rs-model\",\"version\":2,\"rule\":\"trunc\",\"map\":" MAP "}", "field 'version'" },
        { HEAD "\"map\":" MAP "}", "field 'rule'" },
        { HEAD "\"rule\":\"hash32\",\"map\":" MAP "}", "field 'rule'" },
        { HEAD "\"rule\":\"trunc\"}", "field 'map' is not an array of 4" },
        { HEAD "\"rule\":\"trunc\",\"map\":[[],[],[]]}", "field 'map' is not an array of 4" },
        { HEAD "\"rule\":\"trunc\",\"map\":[[0,1,2,3,4,5,6],[],[],[]]}", "nibble 0 is not an array of 8" },
        { HEAD "\"rule\":\"trunc\",\"map\":[[0,1,2,3,4,5,6,32],[],[],[]]}", "nibble 0, weight 2^7" },
        { HEAD "\"rule\":\"trunc\",\"map\":[[0,1,2,3,4,5,6,0.5],[],[],[]]}", "nibble 0, weight 2^7" },
        { HEAD "\"rule\":\"trunc\",\"map\":[[0,1,2,3,4,5,6,\"7\"],[],[],[]]}", "nibble 0, weight 2^7" },
        { HEAD "\"rule\":\"trunc\",\"colour\":\"red\",\"map\":" MAP "}", "unknown field 'colour'" },
        { HEAD "\"rule\":\"trunc\",\"note\":7,\"map\":" MAP "}", "field 'note'" },
        { HEAD "\"rule\":\"trunc\",\"rule\":\"half\",\"map\":" MAP "}", "line 1" },
    };
    struct fp4_error err = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(load_text(rows[i].text, &err) == -1, "row %zu was taken", i);
        CHECK(strstr(err.msg, rows[i].says) != NULL, "row %zu: %s", i, err.msg);
    }
    cr_expect(rs_model_from_text("nobody", &err) == -1 && strstr(err.msg, "no rs-model 'nobody'"));
    cr_expect(rs_model_from_text("/nowhere/model.json", &err) == -1 && strstr(err.msg, "cannot read"));
    cr_expect(load_text(HEAD "\"rule\":\"trunc\",\"note\":\"of a board\",\"map\":" MAP "}", &err) == rs_model_find("straight"));
}

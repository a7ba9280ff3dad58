/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group cvt-rs: what a conversion does with its random word.
 *
 *   map    every one-bit word against 1 - 2^(j-9), j = 0..7, in all four slots: in the odd cell [0.5, 1) all rules agree that a value with
 *          n = 256 - 2^j goes up when the random byte is 2^j or more. So the number of j that a bit lifts is its weight.
 *   rule   every byte, put together from the bits that the map found, against values that part the rules (SR 2.7)
 *   check  random words against random values: what the rule and the map found say must be what comes out
 *
 * All slots of a word hold the same value, so a nibble's place in the result is the only meaning of "lane" here.
 */
#include "probe.h"

#include <string.h>

#define GROUP "cvt-rs"

enum { LANES = 4, BITS = 32, WEIGHTS = 8, MAP_ROWS = (BITS + 1) * WEIGHTS };
enum { CHECKS = 4096 };

/* Values that part the rules, with others that must be the same under all of them. */
static const uint32_t rule_values[] = {
    0x3AC00000, 0x3AFFFFFF, 0x3B7FFFFF, 0x3B000000, 0x3F803000, 0x3F802000, 0x3FC02000, 0x40003000, 0x40803000,
    0xBF803000, 0x3F7FFFFF, 0x40BFFFFF, 0x3F800000, 0x40000000, 0x40800000, 0x3FA00000, 0x40A00000, 0x3E800000,
    0x3F400000, 0x3CCCCCCD, 0xBCCFFFFD, 0x3F5066A4, 0xBFE0FA00, 0xC0BEBE7E, 0x40814000,
};
enum { RULE_VALUES = sizeof rule_values / sizeof rule_values[0], BYTES = 256 };

/* No rule changes these. 80000000.., NaN, beyond 6 */
static const uint32_t special_values[] = { 0x00000000, 0x80000000, 0x80000001, 0x7FC00000, 0xFFC00000,
                                           0xFF800001, 0x40C00000, 0x40E00000, 0x7F800000, 0xFF800000 };
enum { SPECIALS = sizeof special_values / sizeof special_values[0], SPECIAL_WORDS = 3 };

struct convert { /* n conversions: one value in all four slots, one word */
    struct probe_case pc;
    size_t n;
};

static int convert_begin(struct convert *v, enum fp4_op op, const struct probe *p, size_t n, struct fp4_error *err)
{
    v->n = n;
    probe_case_make(&v->pc, op, op == OP_CVT_RS ? CR_PTX : CR_TE, FP4_F32, n, 4, false);
    v->pc.c.knob[KNOB_RS] = (uint8_t)p->rs;
    if (op == OP_SR_FP32X4)
        v->pc.c.knob[KNOB_SCALE] = 1;
    return probe_case_inputs(&v->pc, err);
}

static void convert_put(struct convert *v, size_t i, uint32_t x, uint32_t word)
{
    size_t k;

    for (k = 0; k < LANES; k++)
        probe_put_f32(&v->pc, "x", LANES * i + k, x);
    probe_put_f32(&v->pc, "rbits", i, word);
}

static unsigned convert_code(struct convert *v, size_t i, unsigned lane)
{
    return probe_code(&v->pc, "codes", LANES * i + lane);
}

/* ---- which bit has which weight ---------------------------------------------------------------------------------------------------------- */

static uint32_t threshold_value(unsigned j)
{
    return fp4_f32_bits(1.0f - (float)(1u << j) / 512.0f);
}

/* How many of the eight values went up in this lane; -1 when not those of a byte's bit: the first `count`. */
static int lifted(struct convert *v, size_t first, unsigned lane)
{
    int count = 0;
    unsigned j;

    for (j = 0; j < WEIGHTS; j++) {
        unsigned code = convert_code(v, first + j, lane);

        if (code != 1 && code != 2)
            return -1;
        if (code == 2 && count != (int)j)
            return -1;
        count += code == 2;
    }
    return count;
}

static bool read_map(struct convert *v, struct fp4_rs_map *map)
{
    unsigned lane, bit;

    memset(map, FP4_RS_NO_BIT, sizeof *map);
    for (lane = 0; lane < LANES; lane++) {
        if (lifted(v, (size_t)BITS * WEIGHTS, lane) != 0) /* the word 0 */
            return false;
        for (bit = 0; bit < BITS; bit++) {
            int weights = lifted(v, (size_t)bit * WEIGHTS, lane);

            if (weights < 0 || (weights && map->source[lane][weights - 1] != FP4_RS_NO_BIT))
                return false;
            if (weights)
                map->source[lane][weights - 1] = (uint8_t)bit;
        }
    }
    return true;
}

static int find_map(struct probe *p, enum fp4_op op, struct fp4_error *err)
{
    struct convert v;
    size_t i, j;
    int status = convert_begin(&v, op, p, MAP_ROWS, err);

    for (i = 0; i <= BITS && status == 0; i++)
        for (j = 0; j < WEIGHTS; j++)
            convert_put(&v, i * WEIGHTS + j, threshold_value((unsigned)j), i < BITS ? (uint32_t)1 << i : 0);
    if (status == 0)
        status = probe_case_run(p, &v.pc, err);
    if (status == 0)
        p->out->rs.additive = read_map(&v, &p->out->rs.map);
    probe_case_release(&v.pc);
    return status;
}

/* ---- the rule ------------------------------------------------------------------------------------------------------------------------------ */

static uint32_t word_of_byte(const struct fp4_rs_map *map, unsigned lane, unsigned byte)
{
    uint32_t word = 0;
    unsigned j;

    for (j = 0; j < WEIGHTS; j++)
        if (byte >> j & 1u && map->source[lane][j] < BITS)
            word |= (uint32_t)1 << map->source[lane][j];
    return word;
}

static void count_rules(struct probe *p, struct convert *v, size_t differ[FP4_RS_HASH32])
{
    const struct fp4_rs_map *map = &p->out->rs.map;
    size_t i;

    for (i = 0; i < v->n; i++) {
        unsigned lane = (unsigned)(i / ((size_t)RULE_VALUES * BYTES)), byte = (unsigned)(i % BYTES);
        uint32_t x = rule_values[i / BYTES % RULE_VALUES];
        struct fp4_rs_model model = { FP4_RS_TRUNC, FP4_MAP_CUSTOM, map };
        uint8_t r = fp4_rs_model_byte(model, word_of_byte(map, lane, byte), lane);
        int rule;

        for (rule = 0; rule < FP4_RS_HASH32; rule++)
            differ[rule] += fp4_rs_round((enum fp4_rs_rule)rule, fp4_f32_from_bits(x), r).bits != convert_code(v, i, lane);
    }
}

static int find_rule(struct probe *p, enum fp4_op op, size_t differ[FP4_RS_HASH32], struct fp4_error *err)
{
    struct convert v;
    size_t i, n = (size_t)LANES * RULE_VALUES * BYTES;
    int status = convert_begin(&v, op, p, n, err);

    for (i = 0; i < n && status == 0; i++)
        convert_put(&v, i, rule_values[i / BYTES % RULE_VALUES],
                    word_of_byte(&p->out->rs.map, (unsigned)(i / ((size_t)RULE_VALUES * BYTES)), (unsigned)(i % BYTES)));
    if (status == 0)
        status = probe_case_run(p, &v.pc, err);
    if (status == 0)
        count_rules(p, &v, differ);
    probe_case_release(&v.pc);
    return status;
}

/* ---- the check -------------------------------------------------------------------------------------------------------------------------------- */

/* A value of any binade up to 8, with a random fraction: half of them with eight bits below the grid only. */
static uint32_t any_value(uint64_t *state)
{
    uint32_t r = probe_random(state), bits = (118u + r % 12u) << 23 | (r & 0x80000000u);

    return bits | (r >> 4 & 1u ? probe_random(state) & 0x7FFFFFu : probe_random(state) & 0x7FC000u);
}

static int check_model(struct probe *p, enum fp4_op op, struct fp4_rs_model model, struct fp4_error *err)
{
    struct probe_rs *rs = &p->out->rs;
    struct convert v;
    uint64_t state = 1;
    size_t i;
    unsigned lane;
    int status = convert_begin(&v, op, p, CHECKS, err);

    for (i = 0; i < CHECKS && status == 0; i++) {
        uint32_t x = any_value(&state);

        convert_put(&v, i, x, probe_random(&state));
    }
    if (status == 0)
        status = probe_case_run(p, &v.pc, err);
    rs->checked = rs->differ = 0;
    for (i = 0; i < CHECKS && status == 0; i++) {
        uint32_t x, word;

        memcpy(&x, probe_data(&v.pc, "x") + 16 * i, 4);
        memcpy(&word, probe_data(&v.pc, "rbits") + 4 * i, 4);
        for (lane = 0; lane < LANES; lane++) {
            rs->checked++;
            rs->differ += fp4_rs_round_word(model, fp4_f32_from_bits(x), word, lane).bits != convert_code(&v, i, lane);
        }
    }
    probe_case_release(&v.pc);
    return status;
}

/* ---- what comes of it ------------------------------------------------------------------------------------------------------------------------- */

static int find_specials(struct probe *p, enum fp4_op op, struct fp4_error *err)
{
    static const uint32_t words[SPECIAL_WORDS] = { 0x00000000, 0x5A5A5A5A, 0xFFFFFFFF };
    struct convert v;
    char text[SPECIALS + 1];
    size_t i;
    bool steady = true;
    int status = convert_begin(&v, op, p, (size_t)SPECIALS * SPECIAL_WORDS, err);

    for (i = 0; i < v.n && status == 0; i++)
        convert_put(&v, i, special_values[i / SPECIAL_WORDS], words[i % SPECIAL_WORDS]);
    if (status == 0)
        status = probe_case_run(p, &v.pc, err);
    for (i = 0; i < SPECIALS && status == 0; i++) {
        unsigned k, first = convert_code(&v, i * SPECIAL_WORDS, 0);

        for (k = 0; k < SPECIAL_WORDS * LANES; k++)
            steady &= convert_code(&v, i * SPECIAL_WORDS + k / LANES, k % LANES) == first;
        text[i] = "0123456789abcdef"[first];
    }
    if (status == 0) {
        profile_add(p, GROUP, "zeros", "+0 %c, -0 %c, smallest negative %c", text[0], text[1], text[2]);
        profile_add(p, GROUP, "nan", "7fc00000 %c, ffc00000 %c, ff800001 %c", text[3], text[4], text[5]);
        profile_add(p, GROUP, "saturation", "6 %c, 7 %c, Inf %c, -Inf %c%s", text[6], text[7], text[8], text[9],
                    steady ? "" : "; not for every random word");
    }
    probe_case_release(&v.pc);
    return status;
}

static void describe_map(struct probe *p)
{
    const struct fp4_rs_map *map = &p->out->rs.map;
    unsigned lane, j;

    for (lane = 0; lane < LANES; lane++) {
        char key[24], text[64] = "";

        for (j = 0; j < WEIGHTS; j++)
            if (map->source[lane][j] < BITS)
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s%u", j ? " " : "", map->source[lane][j]);
            else
                snprintf(text + strlen(text), sizeof text - strlen(text), "%s-", j ? " " : "");
        snprintf(key, sizeof key, "nibble %u", lane);
        profile_add(p, GROUP, key, "bits %s (weight 1 first)", text);
    }
}

static void describe_model(struct probe *p)
{
    const struct probe_rs *rs = &p->out->rs;

    if (rs->model < 0)
        profile_add(p, GROUP, "rs-model", "none");
    else if ((size_t)rs->model < fp4_rs_model_count)
        profile_add(p, GROUP, "rs-model", "%s", rs_model_row((unsigned)rs->model)->name);
    else
        profile_add(p, GROUP, "rs-model", "none that has a name: the measured map is %s", rs_model_row((unsigned)rs->model)->name);
    profile_add(p, GROUP, "check", "%zu of %zu conversions of random words differ from the model", rs->differ, rs->checked);
}

/* A byte of bits in each lane: which rule, and is that all? */
static int model_of_map(struct probe *p, enum fp4_op op, struct fp4_error *err)
{
    struct probe_rs *rs = &p->out->rs;
    size_t differ[FP4_RS_HASH32] = { 0 };
    char names[64] = "";
    int rule, status = find_rule(p, op, differ, err);

    if (status)
        return status;
    for (rule = 0; rule < FP4_RS_HASH32 && !rs->rule_found; rule++)
        if (differ[rule] == 0) {
            rs->rule_found = true;
            rs->rule = (enum fp4_rs_rule)rule;
        }
    describe_map(p);
    if (!rs->rule_found) {
        profile_add(p, GROUP, "rule", "none: of %d conversions trunc explains all but %zu, half %zu, half-old %zu, fma-floor %zu",
                    LANES * RULE_VALUES * BYTES, differ[FP4_RS_TRUNC], differ[FP4_RS_HALF], differ[FP4_RS_HALF_OLD],
                    differ[FP4_RS_FMA_FLOOR]);
        return 0;
    }
    for (rule = 0; rule < FP4_RS_HASH32; rule++) /* a map without some bit may leave two that cannot be told apart */
        if (differ[rule] == 0)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " or " : "",
                     rs_rule_name((enum fp4_rs_rule)rule));
    profile_add(p, GROUP, "rule", "%s", names);
    status = check_model(p, op, (struct fp4_rs_model){ rs->rule, FP4_MAP_CUSTOM, &rs->map }, err);
    if (status == 0 && rs->differ == 0)
        rs->model = rs_model_add(rs->rule, &rs->map, err);
    return status || (rs->differ == 0 && rs->model < 0) ? -1 : 0;
}

static int model_without_map(struct probe *p, enum fp4_op op, struct fp4_error *err)
{
    struct probe_rs *rs = &p->out->rs;
    struct fp4_rs_model hash = { FP4_RS_HASH32, FP4_MAP_STRAIGHT, NULL };

    profile_add(p, GROUP, "map", "none: the bits of a word do not add up to a byte for each nibble");
    if (check_model(p, op, hash, err))
        return -1;
    if (rs->differ == 0) {
        rs->rule_found = true;
        rs->rule = FP4_RS_HASH32;
        rs->model = rs_model_find("hash32");
    }
    profile_add(p, GROUP, "rule", "%s", rs->differ ? "none" : "hash32");
    return 0;
}

int probe_stochastic(struct probe *p, struct fp4_error *err)
{
    static const enum fp4_op ops[] = { OP_CVT_RS, OP_SR_FP32X4 };
    struct probe_rs *rs = &p->out->rs;
    size_t i;
    int status = 1;

    for (i = 0; i < 2 && status > 0; i++)
        status = find_map(p, ops[i], err);
    if (status > 0)
        profile_add(p, GROUP, "op", "unsupported");
    if (status)
        return status < 0 ? -1 : probe_model_by_codes(p, err);
    rs->measured = true;
    if ((rs->additive ? model_of_map(p, ops[i - 1], err) : model_without_map(p, ops[i - 1], err)) ||
        find_specials(p, ops[i - 1], err))
        return -1;
    describe_model(p);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cvt.rs: every rule and byte map against exact rationals, the exceptions by their counts, and the known answers. */
#include "check.h"
#include "kat.h"
#include "slow.h"

#include <stdlib.h>
#include <string.h>

static const enum fp4_rs_rule byte_rules[4] = { FP4_RS_TRUNC, FP4_RS_HALF, FP4_RS_HALF_OLD, FP4_RS_FMA_FLOOR };
static const char *const rule_name[FP4_RS_RULE_COUNT] = { "trunc", "half", "half-old", "fma-floor", "hash32" };

static unsigned round_by(enum fp4_rs_rule rule, uint32_t bits, unsigned r)
{
    return fp4_rs_round(rule, slow_float(bits), (uint8_t)r).bits;
}

static void check_all_bytes(uint32_t bits)
{
    const float x = slow_float(bits);
    const struct slow_frame f = slow_frame_of(x);

    for (unsigned i = 0; i < 4; i++) {
        for (unsigned r = 0; r < 256; r++) {
            const unsigned got = round_by(byte_rules[i], bits, r);
            const unsigned want = slow_rs_decide(byte_rules[i], &f, r);

            CHECK(got == want, "%s %08" PRIx32 " byte %02x: %x, not %x", rule_name[byte_rules[i]], bits, r, got, want);
        }
    }
}

/* The bytes at which any rule may change its mind, and a few others. */
static void check_telling_bytes(uint32_t bits, struct slow_random *g)
{
    const struct slow_frame f = slow_frame_of(slow_float(bits));
    const unsigned bytes[6] = { (255 - f.n) & 255u, (256 - f.n) & 255u, (254 - f.n) & 255u, 0, 255, slow_draw(g) & 255u };

    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 6; k++) {
            const unsigned got = round_by(byte_rules[i], bits, bytes[k]);
            const unsigned want = slow_rs_decide(byte_rules[i], &f, bytes[k]);

            CHECK(got == want, "%s %08" PRIx32 " byte %02x: %x, not %x", rule_name[byte_rules[i]], bits, bytes[k], got, want);
        }
    }
}

Test(rs_round, all_bf16_values_with_all_bytes)
{
    for (uint32_t code = 0; code < 65536; code++)
        check_all_bytes(code << 16);
}

Test(rs_round, around_every_grid_point_and_every_middle)
{
    for (unsigned code = 0; code < 8; code++) {
        for (unsigned half = 0; half < 2 && code + half < 8; half++) {
            const double v = (slow_e2m1_value(code) + slow_e2m1_value(code + half)) / 2;
            const uint32_t bits = slow_bits((float)v);

            for (uint32_t step = 0; step < 16; step++) {
                check_all_bytes(bits + step);
                check_all_bytes((bits + step) | 0x80000000u);
                if (bits > step)
                    check_all_bytes(bits - step);
            }
        }
    }
}

Test(rs_round, a_strided_sweep_of_all_numbers_at_the_telling_bytes)
{
    const uint64_t stride = slow_stride(4999);
    struct slow_random g = { 1 };

    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += stride)
        check_telling_bytes((uint32_t)bits, &g);
}

Test(rs_round, numbers_below_one_half_at_the_telling_bytes)
{
    struct slow_random g = { 2 };

    for (uint32_t bits = 0x39000000u; bits < 0x3F100000u; bits += 97)
        check_telling_bytes(bits, &g);
}

Test(rs_round, grid_values_never_move)
{
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned code = 0; code < 16; code++) {
            for (unsigned r = 0; r < 256; r++)
                CHECK(round_by(byte_rules[i], slow_bits((float)slow_e2m1_value(code)), r) == code, "%s code %x byte %02x",
                      rule_name[byte_rules[i]], code, r);
        }
    }
}

/* half as an inequality is what slow.c decides by; half step by step in binary32 is what the polyfill runs. */
Test(slow, the_two_forms_of_half_agree)
{
    for (uint32_t code = 0; code < 65536; code += 7) {
        const struct slow_frame f = slow_frame_of(slow_float(code << 16));

        for (unsigned r = 0; r < 256; r++) {
            const float x = slow_float(code << 16);

            CHECK(slow_rs_decide(FP4_RS_HALF, &f, r) == slow_half_steps(x, r, 127.5F), "half %04" PRIx32 " byte %02x", code, r);
            CHECK(slow_rs_decide(FP4_RS_HALF_OLD, &f, r) == slow_half_steps(x, r, 128.0F), "half-old %04" PRIx32 " byte %02x", code,
                  r);
        }
    }
    for (uint32_t bits = 0x3A000000u; bits < 0x3E900000u; bits += 61) {
        const struct slow_frame f = slow_frame_of(slow_float(bits));

        for (unsigned k = 0; k < 3; k++) {
            const unsigned r = (254 + k - f.n) & 255u;

            CHECK(slow_rs_decide(FP4_RS_HALF, &f, r) == slow_half_steps(slow_float(bits), r, 127.5F),
                  "half %08" PRIx32 " byte %02x", bits, r);
            CHECK(slow_rs_decide(FP4_RS_HALF_OLD, &f, r) == slow_half_steps(slow_float(bits), r, 128.0F),
                  "half-old %08" PRIx32 " byte %02x", bits, r);
        }
    }
}

/* ---- SR 2.5: how often the rules differ ---------------------------------------------------------------------------------- */

struct differences {
    unsigned long a_b, a_c, a_old, b_c, b_old;
};

/* Bytes first..last. */
static void count_differences(uint32_t bits, unsigned first, unsigned last, struct differences *d)
{
    for (unsigned r = first; r <= last; r++) {
        const unsigned a = round_by(FP4_RS_TRUNC, bits, r);
        const unsigned b = round_by(FP4_RS_HALF, bits, r);
        const unsigned old = round_by(FP4_RS_HALF_OLD, bits, r);
        const unsigned c = round_by(FP4_RS_FMA_FLOOR, bits, r);

        d->a_b += a != b;
        d->a_c += a != c;
        d->a_old += a != old;
        d->b_c += b != c;
        d->b_old += b != old;
    }
}

static void check_differences(const char *set, struct differences got, struct differences want)
{
    CHECK(got.a_b == want.a_b, "%s: trunc and half differ %lu times, not %lu", set, got.a_b, want.a_b);
    CHECK(got.a_c == want.a_c, "%s: trunc and fma-floor differ %lu times, not %lu", set, got.a_c, want.a_c);
    CHECK(got.a_old == want.a_old, "%s: trunc and half-old differ %lu times, not %lu", set, got.a_old, want.a_old);
    CHECK(got.b_c == want.b_c, "%s: half and fma-floor differ %lu times, not %lu", set, got.b_c, want.b_c);
    CHECK(got.b_old == want.b_old, "%s: half and half-old differ %lu times, not %lu", set, got.b_old, want.b_old);
}

Test(rs_differences, bf16_in_minus_8_to_8)
{
    struct differences all = { 0 };
    struct differences part[4] = { { 0 } };

    for (uint32_t code = 0; code <= 0x4100u; code++) {
        /* abs >= 1/8; 2^-9 .. 1/8; 2^-10 .. 2^-9; <= 2^-10 */
        const unsigned which = code >= 0x3E00u ? 0 : code >= 0x3B00u ? 1 : code > 0x3A80u ? 2 : 3;

        for (uint32_t sign = 0; sign < 2; sign++) {
            count_differences((code | sign << 15) << 16, 0, 255, &all);
            count_differences((code | sign << 15) << 16, 0, 255, &part[which]);
        }
    }
    check_differences("all", all, (struct differences){ 896, 0, 888, 896, 1784 });
    check_differences("abs >= 1/8", part[0], (struct differences){ 0, 0, 762, 0, 762 });
    check_differences("2^-9 .. 1/8", part[1], (struct differences){ 642, 0, 126, 642, 768 });
    check_differences("2^-10 .. 2^-9", part[2], (struct differences){ 254, 0, 0, 254, 254 });
    check_differences("<= 2^-10", part[3], (struct differences){ 0, 0, 0, 0, 0 });
}

/* The dense set: 40 ulp around lo + i * step / 512, i = 0 .. 513, of each cell. Half-old has the same clause of the rounded
 * binary32 sum as half (256 f + r must pass 256 by more than 2^-17 when |x| < 0.25), and these counts need it. */
Test(rs_differences, binary32_around_every_multiple_of_step_512)
{
    struct differences d = { 0 };
    unsigned long pairs = 0;

    for (unsigned cell = 0; cell < 7; cell++) {
        const double lo = slow_e2m1_value(cell);
        const double step = slow_e2m1_value(cell + 1) - lo;

        for (unsigned i = 0; i <= 513; i++) {
            const uint32_t middle = slow_bits((float)(lo + i * step / 512));

            for (uint32_t bits = middle > 40 ? middle - 40 : 0; bits <= middle + 40; bits++) {
                /* the rules can differ at bytes 255 - n and 256 - n only; other tests look at all bytes */
                const unsigned n = slow_frame_of(slow_float(bits)).n;

                count_differences(bits, n < 252 ? 252 - n : 0, n < 4 ? 255 : 259 - n, &d);
                pairs += 256;
            }
        }
    }
    cr_assert_eq(pairs, 74597888ul);
    check_differences("dense", d, (struct differences){ 144067, 464, 1444, 143603, 145511 });
}

Test(rs_differences, fma_floor_has_576_exceptions_one_byte_each)
{
    unsigned long count = 0;

    for (unsigned k = 1; k <= 128; k++) {
        const float point = (float)k / 512.0F;

        for (uint32_t below = 1; below <= 200; below++) {
            const uint32_t bits = slow_bits(point) - below;
            const bool inside = (double)slow_float(bits) >= (double)point - 1.0 / 67108864.0;

            for (unsigned r = 0; r < 256; r++) {
                const bool differs = round_by(FP4_RS_TRUNC, bits, r) != round_by(FP4_RS_FMA_FLOOR, bits, r);

                CHECK(differs == (inside && r == 256 - k), "%08" PRIx32 " byte %02x", bits, r);
                count += differs;
            }
        }
    }
    cr_assert_eq(count, 576ul, "%lu exceptions", count);
}

Test(rs_differences, half_needs_the_rounded_sum_464_times_in_the_dense_set)
{
    unsigned long count = 0;

    for (unsigned i = 1; i <= 255; i += 2) { /* odd multiples of 2^-10: d passes 1/2 just above them */
        const uint32_t middle = slow_bits((float)i / 1024.0F);

        for (uint32_t bits = middle - 40; bits <= middle + 40; bits++) {
            const struct slow_frame f = slow_frame_of(slow_float(bits));

            for (unsigned r = 0; r < 256; r++) {
                const slow_u128 twice = 2 * ((f.n + r) * f.unit + f.rest);
                const bool exact_up = twice > 511 * f.unit || (twice == 511 * f.unit && f.cell % 2 == 1);

                count += exact_up != (round_by(FP4_RS_HALF, bits, r) != f.cell);
            }
        }
    }
    cr_assert_eq(count, 464ul, "%lu pairs", count);
}

/* ---- known answers ------------------------------------------------------------------------------------------------------- */

Test(rs_round, known_up_counts)
{
    struct kat k;

    for (kat_open(&k, "rs-upcounts"); kat_next(&k);) {
        const uint32_t bits = (uint32_t)kat_hex(&k, 0);
        const struct slow_frame f = slow_frame_of(slow_float(bits));

        for (unsigned i = 0; i < 4; i++) {
            unsigned up = 0;

            for (unsigned r = 0; r < 256; r++)
                up += round_by(byte_rules[i], bits, r) == f.cell + 1;
            CHECK(up == kat_decimal(&k, 1 + i), "rs-upcounts line %u, %s: %u, not %s", k.line_number, rule_name[byte_rules[i]], up,
                  kat_text(&k, 1 + i));
        }
    }
}

Test(rs_round, known_probes)
{
    struct kat k;

    for (kat_open(&k, "rs-probes"); kat_next(&k);) {
        const uint32_t bits = (uint32_t)kat_hex(&k, 0);
        const unsigned r = (unsigned)kat_hex(&k, 1);
        const struct slow_frame f = slow_frame_of(slow_float(bits));

        for (unsigned i = 0; i < 4; i++) {
            const unsigned want = (unsigned)kat_hex(&k, 2 + i);

            CHECK(round_by(byte_rules[i], bits, r) == want, "rs-probes line %u, %s: %x, not %x", k.line_number,
                  rule_name[byte_rules[i]], round_by(byte_rules[i], bits, r), want);
            CHECK(slow_rs_decide(byte_rules[i], &f, r) == want, "rs-probes line %u, %s: the slow version says otherwise",
                  k.line_number, rule_name[byte_rules[i]]);
        }
    }
}

static struct fp4_rs_model model_named(const char *name)
{
    for (size_t i = 0; i < fp4_rs_model_count; i++) {
        if (strcmp(fp4_rs_models[i].name, name) == 0)
            return fp4_rs_models[i].model;
    }
    cr_assert(0, "no rs-model is called %s", name);
    return (struct fp4_rs_model){ FP4_RS_TRUNC, FP4_MAP_B300, NULL };
}

Test(rs_models, golden_vectors)
{
    static const char *const model[7] = { "b300", "ptx-x", "ptx-y", "straight", "te-soft", "fp4sm120", "fp4sm120-old" };
    struct kat k;

    for (kat_open(&k, "rs-golden"); kat_next(&k);) {
        float x[4];
        const uint32_t rbits = (uint32_t)kat_hex(&k, 4);

        for (unsigned i = 0; i < 4; i++)
            x[i] = slow_float((uint32_t)kat_hex(&k, i));
        for (unsigned m = 0; m < 7; m++) {
            const unsigned got = fp4_cvt_rs_e2m1x4(model_named(model[m]), x[3], x[2], x[1], x[0], rbits);

            CHECK(got == kat_hex(&k, 5 + m), "rs-golden line %u, %s: %04x, not %s", k.line_number, model[m], got,
                  kat_text(&k, 5 + m));
        }
        CHECK(fp4_cvt_rn_e2m1x4(x[3], x[2], x[1], x[0]) == kat_hex(&k, 12), "rs-golden line %u, rn: %04x, not %s", k.line_number,
              fp4_cvt_rn_e2m1x4(x[3], x[2], x[1], x[0]), kat_text(&k, 12));
    }
}

Test(rs_models, names_rules_and_maps)
{
    static const struct {
        const char *name;
        struct fp4_rs_model model;
        bool map_matters;
    } want[] = {
        { "b300", { FP4_RS_TRUNC, FP4_MAP_B300, NULL }, true },
        { "ptx-x", { FP4_RS_TRUNC, FP4_MAP_PTX_X, NULL }, true },
        { "ptx-y", { FP4_RS_TRUNC, FP4_MAP_PTX_Y, NULL }, true },
        { "straight", { FP4_RS_TRUNC, FP4_MAP_STRAIGHT, NULL }, true },
        { "te-soft", { FP4_RS_FMA_FLOOR, FP4_MAP_STRAIGHT, NULL }, true },
        { "fp4sm120", { FP4_RS_HALF, FP4_MAP_REVERSE, NULL }, true },
        { "fp4sm120-old", { FP4_RS_HALF_OLD, FP4_MAP_REVERSE, NULL }, true },
        { "hash32", { FP4_RS_HASH32, FP4_MAP_B300, NULL }, false },
    };
    bool seen[FP4_RS_RULE_COUNT][FP4_MAP_COUNT] = { { false } };

    cr_expect_str_eq(fp4_rs_models[0].name, "b300", "row 0 is the default");
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        const struct fp4_rs_model m = model_named(want[i].name);

        CHECK(m.rule == want[i].model.rule && (!want[i].map_matters || m.map == want[i].model.map), "model %s", want[i].name);
    }
    for (size_t i = 0; i < fp4_rs_model_count; i++) {
        seen[fp4_rs_models[i].model.rule][fp4_rs_models[i].model.map] = true;
        CHECK(!fp4_rs_models[i].named || (fp4_rs_models[i].note && fp4_rs_models[i].note[0]), "model %s has no note",
              fp4_rs_models[i].name);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(fp4_rs_models[i].name, fp4_rs_models[j].name) != 0, "two models are called %s", fp4_rs_models[i].name);
    }
    for (unsigned i = 0; i < 4; i++) {
        for (int map = 0; map < FP4_MAP_COUNT; map++)
            CHECK(seen[byte_rules[i]][map], "no row for %s with map %d", rule_name[byte_rules[i]], map);
    }
}

/* ---- maps and words -------------------------------------------------------------------------------------------------------- */

Test(rs_byte, every_map_on_one_hot_and_random_words)
{
    struct slow_random g = { 3 };

    for (unsigned i = 0; i < 10000; i++) {
        const uint32_t word = i < 32 ? 1u << i : slow_draw(&g);

        for (int map = 0; map < FP4_MAP_COUNT; map++) {
            for (unsigned nibble = 0; nibble < 4; nibble++) {
                const unsigned got = fp4_rs_byte((enum fp4_byte_map)map, word, nibble);
                const unsigned want = slow_rs_byte((enum fp4_byte_map)map, word, nibble);

                CHECK(got == want, "map %d word %08" PRIx32 " nibble %u: %02x, not %02x", map, word, nibble, got, want);
            }
        }
    }
}

static float telling_value(struct slow_random *g)
{
    const unsigned kind = slow_draw(g) % 8;

    if (kind == 0) /* any bits at all */
        return slow_float(slow_draw(g));
    if (kind == 1) /* the middle of a cell of 1/512 of a step, or its edge, give or take */
        return slow_float(slow_bits((float)(slow_draw(g) % 3072) / 512.0F) + slow_draw(g) % 3 - 1);
    if (kind == 2)
        return slow_draw_uniform(g, -0.5F, 0.5F);
    return slow_draw_uniform(g, -6.5F, 6.5F);
}

Test(rs_models, every_rule_with_every_map_on_random_words)
{
    struct slow_random g = { 4 };

    for (unsigned i = 0; i < 40000; i++) {
        const uint32_t word = slow_draw(&g);
        float x[4];

        for (unsigned k = 0; k < 4; k++)
            x[k] = telling_value(&g);
        for (int rule = 0; rule < FP4_RS_RULE_COUNT; rule++) {
            for (int map = 0; map < FP4_MAP_COUNT; map++) {
                const struct fp4_rs_model m = { (enum fp4_rs_rule)rule, (enum fp4_byte_map)map, NULL };
                unsigned want = 0;

                for (unsigned nibble = 0; nibble < 4; nibble++) {
                    const unsigned code = slow_rs_word(m, x[nibble], word, nibble);

                    want |= code << (4 * nibble);
                    CHECK(fp4_rs_round_word(m, x[nibble], word, nibble).bits == code,
                          "%s map %d x %08" PRIx32 " word %08" PRIx32 " nibble %u: %x, not %x", rule_name[rule], map,
                          slow_bits(x[nibble]), word, nibble, fp4_rs_round_word(m, x[nibble], word, nibble).bits, code);
                }
                CHECK(fp4_cvt_rs_e2m1x4(m, x[3], x[2], x[1], x[0], word) == want, "%s map %d word %08" PRIx32 ": %04x, not %04x",
                      rule_name[rule], map, word, fp4_cvt_rs_e2m1x4(m, x[3], x[2], x[1], x[0], word), want);
            }
        }
    }
}

Test(hash32, known_answers)
{
    const struct fp4_rs_model m = { FP4_RS_HASH32, FP4_MAP_B300, NULL };
    struct kat k;

    for (kat_open(&k, "hash32"); kat_next(&k);) {
        const uint32_t rbits = (uint32_t)kat_hex(&k, 0);

        for (unsigned lane = 0; lane < 4; lane++) {
            CHECK(fp4_rs_hash32(rbits, lane) == kat_hex(&k, 1 + lane), "hash32 line %u lane %u: %08" PRIx32, k.line_number, lane,
                  fp4_rs_hash32(rbits, lane));
            CHECK(slow_hash32(rbits, lane) == kat_hex(&k, 1 + lane), "hash32 line %u: the slow version says otherwise",
                  k.line_number);
        }
        CHECK(fp4_cvt_rs_e2m1x4(m, 5.1F, -1.4F, 0.6F, 0.1F, rbits) == kat_hex(&k, 5), "hash32 line %u: packed %04x", k.line_number,
              fp4_cvt_rs_e2m1x4(m, 5.1F, -1.4F, 0.6F, 0.1F, rbits));
    }
}

Test(te_soft, known_answers)
{
    struct kat k;

    for (kat_open(&k, "te-soft-sr"); kat_next(&k);) {
        const uint32_t bits = (uint32_t)kat_hex(&k, 0);
        const unsigned got = round_by(FP4_RS_FMA_FLOOR, bits, (unsigned)kat_hex(&k, 1));

        CHECK(got == kat_hex(&k, 2), "te-soft-sr line %u: %x, not %s", k.line_number, got, kat_text(&k, 2));
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group scale: how a quantizer makes block scales and elements. Orders of the operations are told apart by replaying blocks whose maxima
 * lie next to E4M3 midpoints, and elements next to E2M1 midpoints, under each order; policies by blocks that hold one special value.
 */
#include "backend_rows.h"
#include "probe.h"
#include "scale_rules.h"

#include <math.h>
#include <string.h>

#define GROUP "scale"

enum { BLOCKS = 240, WIDTH = 16 * (BLOCKS + 1) };
static const float amaxes[] = { 2688.0f, 35.0f, 1.5f, 3.0f, 500.0f, 50.0f, 0.125f, 4.0f, 10.0f, 1000.0f };
enum { AMAXES = sizeof amaxes / sizeof amaxes[0] };

/* ---- directed blocks ------------------------------------------------------------------------------------------------------------------------ */

struct tally {
    size_t blocks, elements;
    size_t scale[SCALE_ORDERS][SCALE_ROUNDINGS];
    size_t code[ELEMENT_RULES];
};

/* Block 0 holds the tensor's amax; the others a maximum next to an E4M3 midpoint or code, and elements next to E2M1 midpoints of that scale. */
static void fill(struct probe_case *pc, float a, uint64_t *state)
{
    static const float midpoints[] = { 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f };
    float s = 2688.0f / a;
    size_t b, k;

    probe_put_f32(pc, "x", 0, fp4_f32_bits(a));
    for (b = 1; b <= BLOCKS; b++) {
        unsigned byte = 8 + (unsigned)((b * 7) % 118);
        float lo = e4m3_to_f32((e4m3_t){ (uint8_t)byte }), hi = e4m3_to_f32((e4m3_t){ (uint8_t)(byte + 1) });
        float edge = b & 1 ? (lo + hi) * 0.5f : hi; /* where nearest rounding decides, and where the directed ones do */
        uint32_t bits = fp4_f32_bits(edge * 6.0f / s);
        float v = fp4_f32_from_bits(bits + probe_random(state) % 7 - 3);
        float q = f32_to_e4m3(v * (s / 6.0f)).bits ? e4m3_to_f32(f32_to_e4m3(v * (s / 6.0f))) / s : 1.0f;

        if (v > a)
            v = a;
        probe_put_f32(pc, "x", 16 * b, fp4_f32_bits(v));
        for (k = 1; k < 16; k++) {
            float m = midpoints[probe_random(state) % 7] * q;
            uint32_t near = fp4_f32_bits(m) + (uint32_t)((int)(probe_random(state) % 5) - 2);

            if (fp4_f32_from_bits(near) < v)
                probe_put_f32(pc, "x", 16 * b + k, near);
        }
    }
}

static void count(struct probe_case *pc, float a, const int8_t *table, struct tally *n)
{
    float s = 2688.0f / a;
    size_t b, k;
    int o, r, h;

    for (b = 1; b <= BLOCKS; b++) {
        unsigned byte = probe_data(pc, "block-scale")[b];
        float v = fp4_load(probe_data(pc, "x"), FP4_F32, 16 * b);

        n->blocks++;
        for (o = 0; o < SCALE_ORDERS; o++)
            for (r = 0; r < SCALE_ROUNDINGS; r++)
                n->scale[o][r] += scale_round(scale_orders[o].value(v, s), r) != byte;
        for (k = 1; k < 16; k++) {
            float x = fp4_load(probe_data(pc, "x"), FP4_F32, 16 * b + k);

            n->elements++;
            for (h = 0; h < ELEMENT_RULES; h++)
                n->code[h] += f32_to_e2m1(element_scaled((enum element_rule)h, x, byte, a, s, table)).bits !=
                              probe_code(pc, "codes", 16 * b + k);
        }
    }
}

static int directed(struct probe *p, struct tally *n, struct fp4_error *err)
{
    const int8_t *table = rcp_table_h200(err);
    uint64_t state = 2;
    size_t i;
    int status = table ? 0 : -1;

    for (i = 0; i < AMAXES && status == 0; i++) {
        struct probe_case pc;

        probe_case_make(&pc, OP_QUANTIZE, CR_TE, FP4_F32, 1, WIDTH, false);
        status = probe_case_inputs(&pc, err);
        if (status == 0) {
            fill(&pc, amaxes[i], &state);
            status = probe_case_run(p, &pc, err);
        }
        if (status == 0)
            count(&pc, amaxes[i], table, n);
        probe_case_release(&pc);
    }
    return status;
}

static void describe_order(struct probe *p, const struct tally *n)
{
    size_t best = SIZE_MAX;
    char names[128] = "";
    int o, r, at_o = 0, at_r = 0;

    for (o = 0; o < SCALE_ORDERS; o++)
        for (r = 0; r < SCALE_ROUNDINGS; r++)
            if (n->scale[o][r] < best) {
                best = n->scale[o][r];
                at_o = o;
                at_r = r;
            }
    if (best) {
        profile_add(p, GROUP, "order", "none: nearest is %s, %s, which %zu of %zu scale bytes differ from", scale_orders[at_o].name,
                    scale_roundings[at_r], best, n->blocks);
        return;
    }
    for (o = 0; o < SCALE_ORDERS; o++) /* all that the data cannot tell apart */
        if (n->scale[o][at_r] == 0)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " or " : "", scale_orders[o].name);
    profile_add(p, GROUP, "order", "%s", names);
    profile_add(p, GROUP, "rounding", "%s", scale_roundings[at_r]);
}

static void describe_elements(struct probe *p, const struct tally *n)
{
    char names[160] = "";
    int h, best = 0;

    for (h = 1; h < ELEMENT_RULES; h++)
        if (n->code[h] < n->code[best])
            best = h;
    if (n->code[best]) {
        profile_add(p, GROUP, "elements", "none: nearest is %s, which %zu of %zu codes differ from", element_rules[best],
                    n->code[best], n->elements);
        return;
    }
    for (h = 0; h < ELEMENT_RULES; h++)
        if (n->code[h] == 0)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s%s", *names ? " or " : "", element_rules[h],
                     h == RCP_X_DIVIDED ? "" : " * x");
    profile_add(p, GROUP, "elements", "%s", names);
}

/* ---- policies: one case, a given amax of 2688 so that S = 1 -------------------------------------------------------------------------------- */

enum policy { P_ZERO, P_MINUS, P_NAN, P_ALL_NAN, P_INF, P_OVER, P_SUB, P_UNDER, P_NORMAL, P_COUNT };

static void fill_policies(struct probe_case *pc)
{
    static const uint32_t firsts[P_COUNT] = { 0,
                                              0x80000000,
                                              0x7FC00000,
                                              0x7FC00000,
                                              0x7F800000,
                                              0x453B8000,
                                              0x3BC00000 /* 6 / 1024: 1.0 * 2^-10 after / 6 is a tie */,
                                              0x3A83126F,
                                              0x40C00000 };
    size_t i, k;

    for (i = 0; i < P_COUNT; i++) {
        probe_put_f32(pc, "x", 16 * i, firsts[i]);
        for (k = 1; k < 16; k++)
            probe_put_f32(pc, "x", 16 * i + k,
                          i == P_ALL_NAN             ? 0x7FC00000u
                          : i == P_MINUS             ? 0x80000000u
                          : i == P_NAN || i == P_INF ? 0x3F800000u
                                                     : 0);
    }
    probe_put_f32(pc, "x", 16 * P_SUB, 0x3C400000); /* 12 / 1024: scale value 2^-9, the smallest */
    probe_put_f32(pc, "given-amax", 0, 0x45280000);
}

static void block_text(struct probe_case *pc, enum policy block, char text[32])
{
    snprintf(text, 32, "scale %02x, codes %x %x", probe_data(pc, "block-scale")[block], probe_code(pc, "codes", 16 * block),
             probe_code(pc, "codes", 16 * block + 1));
}

static int policies(struct probe *p, struct fp4_error *err)
{
    static const struct {
        enum policy block;
        const char *key;
    } rows[] = { { P_ZERO, "zero block" },         { P_MINUS, "block of -0" },      { P_NAN, "block with a NaN" },
                 { P_ALL_NAN, "block of NaN" },    { P_INF, "block with Inf" },     { P_OVER, "above 448 * 6" },
                 { P_SUB, "smallest scale 2^-9" }, { P_UNDER, "scale below 2^-10" } };
    struct probe_case pc;
    char text[32];
    size_t i;
    int status;

    probe_case_make(&pc, OP_QUANTIZE, CR_TE, FP4_F32, 1, (size_t)16 * P_COUNT, true);
    status = probe_case_inputs(&pc, err);
    if (status == 0) {
        fill_policies(&pc);
        status = probe_case_run(p, &pc, err);
    }
    for (i = 0; i < sizeof rows / sizeof rows[0] && status == 0; i++) {
        block_text(&pc, rows[i].block, text);
        profile_add(p, GROUP, rows[i].key, "%s", text);
    }
    probe_case_release(&pc);
    return status < 0 ? -1 : 0;
}

/* The amax of a tensor that holds a NaN, and what a given amax that is no number does. */
static int amax_policy(struct probe *p, struct fp4_error *err)
{
    static const struct {
        uint32_t given;
        const char *key;
    } rows[] = { { 0x7FC00000, "given amax NaN" }, { 0x7F800000, "given amax Inf" }, { 0, "given amax 0" } };
    struct probe_case pc;
    char text[32];
    size_t i, k;
    int status = 0;

    for (i = 0; i <= sizeof rows / sizeof rows[0] && status == 0; i++) {
        bool given = i > 0;

        probe_case_make(&pc, OP_QUANTIZE, CR_TE, FP4_F32, 1, 16, given);
        status = probe_case_inputs(&pc, err);
        for (k = 0; k < 16 && status == 0; k++)
            probe_put_f32(&pc, "x", k, k == 3 && !given ? 0x7FC00000u : 0x3F800000u + ((uint32_t)k << 16));
        if (status == 0 && given)
            probe_put_f32(&pc, "given-amax", 0, rows[i - 1].given);
        if (status == 0)
            status = probe_case_run(p, &pc, err);
        if (status == 0 && given) {
            block_text(&pc, P_ZERO, text);
            profile_add(p, GROUP, rows[i - 1].key, "%s", text);
        } else if (status == 0) {
            float amax = fp4_load(probe_data(&pc, "amax"), FP4_F32, 0);

            profile_add(p, GROUP, "amax with a NaN", "%s",
                        isnan(amax)          ? "NaN"
                        : amax == 1.1171875f ? "the NaN is dropped"
                                             : "other");
        }
        probe_case_release(&pc);
    }
    return status < 0 ? -1 : 0;
}

int probe_scale(struct probe *p, struct fp4_error *err)
{
    struct tally n = { 0 };
    int status = directed(p, &n, err);

    if (status > 0)
        profile_add(p, GROUP, "op", "unsupported");
    if (status)
        return status < 0 ? -1 : 0;
    describe_order(p, &n);
    describe_elements(p, &n);
    return policies(p, err) || amax_policy(p, err) ? -1 : 0;
}

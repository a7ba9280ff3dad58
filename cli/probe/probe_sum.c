/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group sum: how the sixteen products of the Hadamard transform are added. Orthogonality keeps the largest sum of a group near the
 * largest product, so an addition shows in the last bit of a binary32 only. Groups are looked for whose sums, without two tiny terms,
 * are E2M1 midpoints under a scale that is a power of two: a tensor core keeps the tiny terms and cuts the sum, an addition in order loses them one by one,
 * one rounding sees both (RHT 4). Which of the three explains codes and scales is asked of the reference.
 */
#include "probe.h"

#include <string.h>

enum { ROWS = 16, COLS = 16, TRIES = 20000 };
static const char *const models[] = { "tensor core: products cut at 2^(Emax-25), exact sum, toward zero", "in order, nearest even",
                                      "one rounding of the exact sum" };
static const char *const knob_keys[] = { "sum-tc", "sum-seq", "sum-exact" };

/* Whole and half numbers, then two terms of three quarters of half an ulp of a sum near 1. */
static void any_group(uint64_t *state, float x[16])
{
    uint32_t sign = probe_random(state) & 1u;
    size_t i;

    for (i = 0; i < 14; i++)
        x[i] = (float)((int)(probe_random(state) % 13) - 6) * 0.5f;
    x[14] = 0x1.8p-23f;
    x[15] = sign ? x[14] : -x[14];
}

/* Whether the block's scale is a power of two and the codes of sums a and b differ. */
static bool tells_apart(const float a[16], const float b[16])
{
    float max = 0.0f, scale;
    size_t i;

    for (i = 0; i < 16; i++)
        max = a[i] > max ? a[i] : -a[i] > max ? -a[i] : max;
    scale = e4m3_to_f32(f32_to_e4m3(max / 6.0f));
    if (scale != 0.5f && scale != 1.0f && scale != 2.0f)
        return false;
    for (i = 0; i < 16; i++)
        if (f32_to_e2m1(a[i] / scale).bits != f32_to_e2m1(b[i] / scale).bits)
            return true;
    return false;
}

static void fill(struct probe_case *pc)
{
    uint64_t state = 5;
    size_t tries, col = 0, i;

    for (tries = 0; tries < TRIES && col < COLS; tries++) {
        float x[16], tc[16], seq[16], one[16];

        any_group(&state, x);
        fp4_rht_group(x, FP4_RHT_SIGN_MASK, false, FP4_SUM_TC, tc);
        fp4_rht_group(x, FP4_RHT_SIGN_MASK, false, FP4_SUM_SEQ, seq);
        fp4_rht_group(x, FP4_RHT_SIGN_MASK, false, FP4_SUM_EXACT, one);
        if (col % 2 ? !tells_apart(tc, seq) : !tells_apart(seq, one))
            continue;
        for (i = 0; i < 16; i++) {
            bf16_t v = f32_to_bf16(x[i]);

            memcpy(probe_data(pc, "x") + 2 * (i * COLS + col), &v.bits, 2);
        }
        col++;
    }
    probe_put_f32(pc, "given-amax.t", 0, 0x45280000);
}

static size_t differing(struct probe_case *pc, struct case_tensors *t, const char *name)
{
    const struct tensor *a = tensor_find(&pc->t, name), *b = tensor_find(t, name);
    size_t n = 0, i;

    for (i = 0; i < a->bytes; i++)
        n += a->data[i] != b->data[i];
    return n;
}

/* How the backend adds when a case asks for `knob`. */
static int one(struct probe *p, unsigned knob, struct fp4_error *err)
{
    struct probe_case pc;
    size_t best = SIZE_MAX, at = 0, i;
    char names[160] = "";
    int status;

    probe_case_make(&pc, OP_RHT_QUANTIZE, CR_TE, FP4_BF16, ROWS, COLS, true);
    pc.c.knob[KNOB_SUM] = (uint8_t)knob;
    pc.c.knob[KNOB_TRIP] = 2; /* no rounding to bf16, which would hide the sums */
    status = probe_case_inputs(&pc, err);
    if (status == 0) {
        fill(&pc);
        status = probe_case_run(p, &pc, err);
    }
    for (i = 0; i < sizeof models / sizeof models[0] && status == 0; i++) {
        struct fp4_case c = pc.c;
        struct case_tensors t;
        size_t n;

        memset(&t, 0, sizeof t);
        c.knob[KNOB_SUM] = (uint8_t)i;
        status = probe_reference(&pc, &c, &t, err);
        if (status == 0) {
            n = differing(&pc, &t, "codes.t") + differing(&pc, &t, "block-scale.t");
            at = n < best ? i : at;
            best = n < best ? n : best;
            if (n == 0)
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " or " : "", models[i]);
        }
        probe_reference_release(&t);
    }
    if (status > 0)
        profile_add(p, "sum", knob_keys[knob], "unsupported");
    else if (status == 0 && best)
        profile_add(p, "sum", knob_keys[knob], "none: nearest is %s, which %zu bytes differ from", models[at], best);
    else if (status == 0)
        profile_add(p, "sum", knob_keys[knob], "%s", names);
    probe_case_release(&pc);
    return status < 0 ? -1 : 0;
}

/* ---- the approximate reciprocal of the Hadamard kernels' fast math ---------------------------------------------------------------------------- */

enum {
    SIDE = 256,
    AMAX = 0x40800000 /* 4: with so few bits products lie on thresholds, where an ulp shows (docs/numerics.md 7.10) */
};

static int approximate(struct probe *p, struct fp4_error *err)
{
    static const char *const rules[] = { "correctly rounded", "the table of an H200" };
    struct probe_case pc;
    uint64_t state = 8;
    size_t i, best = SIZE_MAX, at = 0;
    char names[96] = "";
    int status;

    probe_case_make(&pc, OP_RHT_QUANTIZE, CR_TE, FP4_BF16, SIDE, SIDE, true);
    pc.c.knob[KNOB_RCP] = 2;
    status = probe_case_inputs(&pc, err);
    if (status == 0) {
        for (i = 0; i < (size_t)SIDE * SIDE; i++) {
            uint32_t r = probe_random(&state);
            uint16_t v = (uint16_t)((124u + r % 4u) << 7 | (r >> 8 & 0x807Fu));

            memcpy(probe_data(&pc, "x") + 2 * i, &v, 2);
        }
        probe_put_f32(&pc, "given-amax.t", 0, AMAX);
        status = probe_case_run(p, &pc, err);
    }
    for (i = 0; i < 2 && status == 0; i++) {
        struct fp4_case c = pc.c;
        struct case_tensors t;
        size_t n;

        memset(&t, 0, sizeof t);
        c.knob[KNOB_RCP] = (uint8_t)(i + 1);
        status = probe_reference(&pc, &c, &t, err);
        if (status == 0) {
            n = differing(&pc, &t, "codes.t");
            at = n < best ? i : at;
            best = n < best ? n : best;
            if (n == 0)
                snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " or " : "", rules[i]);
        }
        probe_reference_release(&t);
    }
    if (status > 0)
        profile_add(p, "sum", "rcp-approx", "unsupported");
    else if (status == 0 && best)
        profile_add(p, "sum", "rcp-approx", "none: nearest is %s, which %zu bytes differ from", rules[at], best);
    else if (status == 0)
        profile_add(p, "sum", "rcp-approx", "%s", names);
    probe_case_release(&pc);
    return status < 0 ? -1 : 0;
}

int probe_sums(struct probe *p, struct fp4_error *err)
{
    return one(p, FP4_SUM_TC, err) || one(p, FP4_SUM_SEQ, err) || one(p, FP4_SUM_EXACT, err) || approximate(p, err) ? -1 : 0;
}

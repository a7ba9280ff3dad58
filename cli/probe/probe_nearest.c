/* SPDX-License-Identifier: Apache-2.0 */
/* Group cvt-rn: packing, ties, double rounding, NaN, signed zero, saturation, subnormals of the nearest conversion. */
#include "probe.h"

#include <string.h>

#define GROUP "cvt-rn"

/* In the order in which they are converted; four a word. */
static const uint32_t inputs[] = {
    0x3F000000, 0x3F800000, 0x3FC00000, 0x40000000, /* 0: .5 1 1.5 2 */
    0x3E800000, 0x3F400000, 0x3FA00000, 0x3FE00000, 0x40200000, 0x40600000,
    0x40A00000, 0xBE800000,                                                 /* 4: the midpoints, and -0.25 */
    0xBF400000, 0xBFA00000, 0xBFE00000, 0xC0200000, 0xC0600000, 0xC0A00000, /* 12: the other negative ones */
    0x3E800001, 0x3E802000,                                                 /* 18: 0.25 and an ulp; 0.25 and an ulp of f16 */
    0x7FC00000, 0xFFC00000, 0x7F800001,                                     /* 20: NaN */
    0xFFBFFFFF, 0x80000000, 0x80000001, 0xB0000000, /* 23: -NaN; 24: -0, the smallest negative, a tiny one */
    0x40E00000, 0x42C80000, 0x7F800000, 0xFF800000, /* 27: 7, 100, Inf, -Inf */
    0x007FFFFF                                      /* 31 */
};
enum { COUNT = sizeof inputs / sizeof inputs[0], PACK = 0, TIES = 4, MIDPOINTS = 7, ABOVE = 18, NANS = 20, ZERO = 24, TOP = 27 };

/* Names the order and puts the codes back into that of the elements. */
static void find_packing(struct probe *p, unsigned code[COUNT], const char *key)
{
    static const struct {
        unsigned codes[4];
        const char *name;
    } orders[] = { { { 1, 2, 3, 4 }, "element i in nibble i" },
                   { { 2, 1, 4, 3 }, "nibbles of each byte exchanged" },
                   { { 3, 4, 1, 2 }, "bytes of each four exchanged" },
                   { { 4, 3, 2, 1 }, "four elements reversed" } };
    unsigned found[COUNT];
    size_t i, k;

    memcpy(found, code, sizeof found);
    for (i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        if (memcmp(found + PACK, orders[i].codes, sizeof orders[i].codes) != 0)
            continue;
        profile_add(p, GROUP, key, "%s", orders[i].name);
        for (k = 0; k < COUNT; k++)
            code[k / 4 * 4 + orders[i].codes[k % 4] - 1] = found[k];
        return;
    }
    profile_add(p, GROUP, key, "other: .5 1 1.5 2 gave %x %x %x %x", code[0], code[1], code[2], code[3]);
}

static void find_ties(struct probe *p, const unsigned *code)
{
    static const struct {
        unsigned codes[MIDPOINTS];
        const char *name;
    } rules[] = { { { 0, 2, 2, 4, 4, 6, 6 }, "even" },
                  { { 1, 2, 3, 4, 5, 6, 7 }, "away from zero" },
                  { { 0, 1, 2, 3, 4, 5, 6 }, "toward zero" },
                  { { 1, 1, 3, 3, 5, 5, 7 }, "odd" } };
    bool mirrored = true;
    size_t i, k;

    for (k = 0; k < MIDPOINTS; k++)
        mirrored &= code[TIES + MIDPOINTS + k] == (code[TIES + k] | 8u);
    for (i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (memcmp(code + TIES, rules[i].codes, sizeof rules[i].codes) == 0)
            break;
    if (i < sizeof rules / sizeof rules[0])
        profile_add(p, GROUP, "ties", "%s%s", rules[i].name, mirrored ? "" : ", but otherwise below zero");
    else
        profile_add(p, GROUP, "ties", "other: midpoints gave %x %x %x %x %x %x %x", code[TIES], code[TIES + 1], code[TIES + 2],
                    code[TIES + 3], code[TIES + 4], code[TIES + 5], code[TIES + 6]);
}

static void describe(struct probe *p, const unsigned *code)
{
    const unsigned *nan = code + NANS, *zero = code + ZERO, *top = code + TOP;

    find_ties(p, code);
    profile_add(p, GROUP, "rounded first", "%s",
                code[ABOVE] == 1       ? "no: one ulp above a midpoint goes up"
                : code[ABOVE + 1] == 1 ? "to f16: one ulp of f32 above a midpoint is lost"
                                       : "to bf16: one ulp of f16 above a midpoint is lost");
    if (nan[0] == nan[1] && nan[0] == nan[2] && nan[0] == nan[3])
        profile_add(p, GROUP, "nan", "code %x for both signs and every payload", nan[0]);
    else
        profile_add(p, GROUP, "nan", "7fc00000 %x, ffc00000 %x, 7f800001 %x, ffbfffff %x", nan[0], nan[1], nan[2], nan[3]);
    profile_add(p, GROUP, "minus zero", "%s",
                zero[0] == 8 && zero[1] == 8 && zero[2] == 8 ? "kept (code 8), of tiny negatives too"
                : zero[0] == 0 && zero[2] == 8               ? "lost (code 0); tiny negatives keep their sign"
                : zero[0] == 0 && zero[2] == 0               ? "lost (code 0), of tiny negatives too"
                                                             : "other");
    if (top[0] == 7 && top[1] == 7 && top[2] == 7 && top[3] == 15)
        profile_add(p, GROUP, "saturation", "7, 100 and Inf give 6 (code 7), -Inf -6 (code f)");
    else
        profile_add(p, GROUP, "saturation", "7 gives %x, 100 %x, Inf %x, -Inf %x", top[0], top[1], top[2], top[3]);
    profile_add(p, GROUP, "subnormals", "00000001 negative gives %x, 007fffff gives %x", zero[1], code[31]);
}

/* The same values by way of the two forms of the conversion. */
static int convert(struct probe *p, unsigned pack, unsigned code[COUNT], struct fp4_error *err)
{
    struct probe_case pc;
    size_t i;
    int status;

    probe_case_make(&pc, OP_CVT_RN, CR_PTX, FP4_F32, 1, COUNT, false);
    pc.c.knob[KNOB_PACK] = (uint8_t)pack;
    status = probe_case_inputs(&pc, err);
    for (i = 0; i < COUNT && status == 0; i++)
        probe_put_f32(&pc, "x", i, inputs[i]);
    if (status == 0)
        status = probe_case_run(p, &pc, err);
    for (i = 0; i < COUNT && status == 0; i++)
        code[i] = probe_code(&pc, "codes", i);
    probe_case_release(&pc);
    return status;
}

int probe_nearest(struct probe *p, struct fp4_error *err)
{
    unsigned code[COUNT], again[COUNT];
    int status = convert(p, 0, code, err);

    if (status > 0)
        profile_add(p, GROUP, "op", "unsupported");
    if (status)
        return status < 0 ? -1 : 0;
    find_packing(p, code, "packing");
    describe(p, code);
    status = convert(p, 1, again, err);
    if (status == 0)
        find_packing(p, again, "packing x2");
    return status < 0 ? -1 : 0;
}

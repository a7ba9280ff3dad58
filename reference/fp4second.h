/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4second.h: the second formulation of what rounds, which `fp4check exhaustive` holds against the first for every input.
 *
 * fp4arith.h follows the instructions: comparisons, carries, noise that is added in binary32. Here the same results are written as
 * mathematics would have them: one rounding of an integer significand for the nearest conversions, and for the stochastic rules the
 * smallest random byte that rounds up, from the exact position of |x| in its cell (SR 2.3, 2.4). No floating-point operation takes part.
 * C and CUDA compile it, as fp4arith.h; nothing else in the program uses it.
 */
#ifndef FP4SECOND_H
#define FP4SECOND_H

#include "fp4arith.h"

enum fp4x_sweep {
    FP4X_CVT_RN,   /* inputs: floats */
    FP4X_E4M3,     /* inputs: floats */
    FP4X_DIVIDE_6, /* inputs: floats; so the next two */
    FP4X_DIVIDE_1536,
    FP4X_DIVIDE_2688,
    FP4X_RS_BYTES, /* inputs: floats, each with all 256 bytes in each of the four nibbles; hash32: words around the threshold */
    FP4X_RS_MAP,   /* inputs: random words, each with four values that tell its four bytes from their neighbours */
    FP4X_SWEEP_COUNT
};

#define FP4X_LISTED 16

struct fp4x_difference {
    uint32_t input;       /* bits of the float, or the random word (FP4X_RS_MAP) */
    uint32_t random;      /* the random word */
    uint32_t got, wanted; /* codes, value 0 in the lowest nibble (e4m3: one byte) */
};

struct fp4x_result {
    uint64_t differ; /* inputs */
    uint32_t listed; /* may exceed FP4X_LISTED; the list then holds the first that came */
    struct fp4x_difference list[FP4X_LISTED];
};

/* ---- nearest even, for any small format --------------------------------------------------------------------------------------------------- */

/* The magnitude code of a float that is no NaN: `fraction` stored fraction bits, smallest normal number 2^(smallest - 127). */
FP4_FN uint32_t fp4x_nearest(uint32_t bits, uint32_t fraction, uint32_t smallest, uint32_t largest_code)
{
    uint32_t e = bits >> 23 & 255u, m = bits & 0x7FFFFFu;
    uint32_t drop, kept, rest, code;

    if (e == 0)
        e = 1;
    else
        m |= 0x800000u;
    drop = 23 - fraction + (e < smallest ? smallest - e : 0);
    if (drop > 25) /* less than half of the smallest number */
        return 0;
    kept = m >> drop;
    rest = m & ((1u << drop) - 1u);
    if (rest > 1u << (drop - 1) || (rest == 1u << (drop - 1) && (kept & 1u)))
        kept++;
    code = (e > smallest ? (e - smallest) << fraction : 0) + kept;
    return code > largest_code ? largest_code : code;
}

FP4_FN uint32_t fp4x_to_e2m1(uint32_t bits)
{
    return fp4a_is_nan_bits(bits) ? 7u : fp4x_nearest(bits, 1, 127, 7) | bits >> 31 << 3;
}

FP4_FN uint32_t fp4x_to_e4m3(uint32_t bits)
{
    return fp4a_is_nan_bits(bits) ? 0x7Fu : fp4x_nearest(bits, 3, 121, 0x7E) | bits >> 31 << 7;
}

/* ---- quotients by 6, 1536 and 2688 (fp4divide.h) ------------------------------------------------------------------------------------------ */

FP4_FN uint32_t fp4x_divisor(enum fp4x_sweep sweep)
{
    return sweep == FP4X_DIVIDE_6 ? 6 : sweep == FP4X_DIVIDE_1536 ? 1536 : 2688;
}

/* Long division of the significand by 3 or 21, the bits behind it in one, then a single rounding to nearest even. */
FP4_FN uint32_t fp4x_divide(uint32_t bits, uint32_t divisor)
{
    uint32_t e = bits >> 23 & 255u, m = bits & 0x7FFFFFu, odd = divisor == 2688 ? 21 : 3;
    int place = (int)(e ? e : 1) - (divisor == 6 ? 1 : divisor == 1536 ? 9 : 7) - 189; /* of the last bit: 2^place */
    int drop = 0;
    uint64_t q, rest, half;

    if (e == 255 || (bits & 0x7FFFFFFFu) == 0)
        return e == 255 && m ? FP4_QNAN : bits;
    q = (uint64_t)(e ? m | 0x800000u : m) << 38;
    q = q / odd << 1 | (q % odd != 0);
    while (q >> drop >= 1u << 24 || place + drop < -149)
        drop++;
    rest = q & (((uint64_t)1 << drop) - 1);
    half = (uint64_t)1 << (drop - 1);
    q >>= drop;
    if (rest > half || (rest == half && (q & 1u)))
        q++;
    return (bits & 0x80000000u) | (((uint32_t)(place + drop + 149) << 23) + (uint32_t)q);
}

/* ---- stochastic rounding as thresholds -------------------------------------------------------------------------------------------------- */

/* |x| < 6 in its cell: 256 f = n + rest / unit, exactly but for |x| < 2^-17, where rest is only known to be small. */
struct fp4x_place {
    uint32_t cell, n;
    uint64_t rest, unit;
    bool below_quarter;
};

FP4_FN struct fp4x_place fp4x_place_of(uint32_t bits)
{
    uint32_t e = bits >> 23 & 255u, m = bits & 0x7FFFFFu;
    uint32_t shift;
    struct fp4x_place p;

    if (e >= 127) {
        p.cell = 2 * (e - 126) + (m >> 22);
        m &= 0x3FFFFFu;
        shift = 14;
    } else if (e == 126) {
        p.cell = 1;
        shift = 15;
    } else {
        p.cell = 0;
        m |= e ? 0x800000u : 0;
        shift = 141 - e > 40 ? 40 : 141 - e;
    }
    p.unit = (uint64_t)1 << shift;
    p.n = (uint32_t)(m >> (shift > 31 ? 31 : shift));
    p.rest = m & (p.unit - 1);
    p.below_quarter = e < 125;
    return p;
}

/* The smallest byte that rounds up to *down + 1 by rule 0..3 of enum fp4_rs_rule; 256 when none does. Every byte above it does, too. */
FP4_FN uint32_t fp4x_first_up(int rule, uint32_t bits, uint32_t *down)
{
    uint32_t a = bits & 0x7FFFFFFFu, sign = bits >> 31 << 3;
    uint64_t slack; /* what the one rounding of the sum swallows: 2^-17 of a byte's step, below 0.25 only */
    struct fp4x_place p;
    uint32_t first;

    if (a >= 0x40C00000u) { /* 6 and above, Inf; NaN loses its sign but for the quirk of SR 2.4, last line */
        bool quirk = (rule == 1 || rule == 2) && a < 0x7FC00000u;

        *down = 7u | (a > 0x7F800000u && !quirk ? 0 : sign);
        return 256;
    }
    p = fp4x_place_of(bits);
    *down = p.cell | sign;
    slack = p.below_quarter ? p.unit >> 17 : 0;
    first = 256 - p.n;
    if (rule == 1) {
        if (2 * p.rest > p.unit + 2 * slack || (2 * p.rest == p.unit && (p.cell & 1u)))
            first--;
    } else if (rule == 2) {
        if (p.rest <= slack && !(p.cell & 1u) && first < 256)
            first++;
    } else if (rule == 3) {
        if (p.below_quarter && p.unit - p.rest <= slack)
            first--;
    }
    return first;
}

/* Rule hash32: up when the lane's hash is below this. */
FP4_FN uint32_t fp4x_hash_threshold(uint32_t bits, uint32_t *down)
{
    uint32_t a = bits & 0x7FFFFFFFu, e = a >> 23, m = a & 0x7FFFFFu;

    *down = 7u | bits >> 31 << 3;
    if (a >= 0x40C00000u)
        return 0;
    *down = fp4x_place_of(bits).cell | bits >> 31 << 3;
    if (e >= 127)
        return (m & 0x3FFFFFu) << 10;
    if (e == 126)
        return m << 9;
    m |= e ? 0x800000u : 0;
    return e >= 117 ? m << (e - 117) : e >= 94 ? m >> (117 - e) : 0;
}

/* The word whose hash for the lane is h: each step of fp4a_hash32 undone, last one first. */
FP4_FN uint32_t fp4x_hash_inverse(uint32_t h, uint32_t lane)
{
    h ^= h >> 16;
    h *= 0x43021123u; /* times 0x846CA68B is 1 */
    h ^= h >> 15;
    h ^= h >> 30;
    h *= 0x1D69E2A5u; /* times 0x7FEB352D is 1 */
    h ^= h >> 16;
    return h ^ 0x9E3779B9u * (lane + 1);
}

/* ---- byte maps (SR 2.6) -------------------------------------------------------------------------------------------------------------------- */

/* Number of the byte of a nibble, and whether its bits are reversed: enum fp4_byte_map. */
FP4_FN uint32_t fp4x_byte_number(int map, uint32_t nibble)
{
    switch (map) {
    case 0: /* b300 */
    case 1: /* ptx-x: 2, 0, 3, 1 */
        return nibble & 1u ? nibble / 2 : 2 + nibble / 2;
    case 2: /* ptx-y: 0, 2, 1, 3 */
        return nibble & 1u ? 2 + nibble / 2 : nibble / 2;
    case 3:
        return nibble;
    default:
        return 3 - nibble;
    }
}

FP4_FN uint32_t fp4x_reversed(int map, uint32_t nibble, uint32_t byte)
{
    uint32_t out = 0, k;

    if (map != 0 || !(nibble & 1u))
        return byte;
    for (k = 0; k < 8; k++)
        out = out << 1 | (byte >> k & 1u);
    return out;
}

FP4_FN uint32_t fp4x_map_byte(int map, uint32_t rbits, uint32_t nibble)
{
    return fp4x_reversed(map, nibble, rbits >> 8 * fp4x_byte_number(map, nibble) & 255u);
}

/* The word that gives every nibble the same byte. */
FP4_FN uint32_t fp4x_word_of(int map, uint32_t byte)
{
    uint32_t word = 0, k;

    for (k = 0; k < 4; k++)
        word |= fp4x_reversed(map, k, byte) << 8 * fp4x_byte_number(map, k);
    return word;
}

/* A value of odd cell 3, [1.5, 2), that byte r rounds to 2 and r - 1 (if there is one) to 1.5, by every byte rule; odd nibbles are negative. */
FP4_FN uint32_t fp4x_telling_value(uint32_t r, uint32_t nibble)
{
    return (0x3FC00000u + ((256 - r) << 14)) | (nibble & 1u) << 31;
}

#define FP4X_TOLD_UP 0xC4C4u
#define FP4X_TOLD_DOWN 0xB3B3u

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The slow, obvious second version: see slow.h. */
#include "slow.h"

#include <stdlib.h>
#include <string.h>

#define FLT_MAX_BITS 0x7F7FFFFFu
#define BF16_MAX_BITS 0x7F7F0000u
#define SIXTH_BITS 0x3E2AAAABu

/* ---- bits ------------------------------------------------------------------------------------------------------------ */

uint32_t slow_bits(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof bits);
    return bits;
}

float slow_float(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

bool slow_is_nan(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

static bool is_inf(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) == 0x7F800000u;
}

static bool is_zero(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) == 0;
}

bool slow_same(float a, float b)
{
    const uint32_t x = slow_bits(a);
    const uint32_t y = slow_bits(b);

    return x == y || (slow_is_nan(x) && slow_is_nan(y));
}

static float canonical_nan(void)
{
    return slow_float(0x7FFFFFFFu);
}

static float magnitude(float v)
{
    return slow_float(slow_bits(v) & 0x7FFFFFFFu);
}

/* 2^e as a double, for -1022 <= e <= 1023. */
static double power_of_two(int e)
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Finite v = integer * 2^exponent. */
static uint32_t split(uint32_t bits, int *exponent)
{
    const uint32_t field = (bits >> 23) & 255u;
    const uint32_t fraction = bits & 0x7FFFFFu;

    if (field == 0) {
        *exponent = -149;
        return fraction;
    }
    *exponent = (int)field - 150;
    return fraction + 0x800000u;
}

/* ---- decode by formula, encode by search ------------------------------------------------------------------------------ */

double slow_e2m1_value(unsigned code)
{
    const unsigned exponent = (code >> 1) & 3u;
    const unsigned fraction = code & 1u;
    const double v = exponent == 0 ? 0.5 * fraction : (1.0 + 0.5 * fraction) * power_of_two((int)exponent - 1);

    return code & 8u ? -v : v;
}

double slow_e4m3_value(unsigned code)
{
    const unsigned exponent = (code >> 3) & 15u;
    const unsigned fraction = code & 7u;
    const double v = exponent == 0 ? fraction / 512.0 : (8.0 + fraction) * power_of_two((int)exponent - 10);

    return code & 0x80u ? -v : v;
}

double slow_bf16_value(unsigned code)
{
    const unsigned exponent = (code >> 7) & 255u;
    const unsigned fraction = code & 127u;
    const double v = exponent == 0 ? fraction * power_of_two(-133) : (128.0 + fraction) * power_of_two((int)exponent - 134);

    return code & 0x8000u ? -v : v;
}

double slow_f16_value(unsigned code)
{
    const unsigned exponent = (code >> 10) & 31u;
    const unsigned fraction = code & 1023u;
    const double v = exponent == 0 ? fraction * power_of_two(-24) : (1024.0 + fraction) * power_of_two((int)exponent - 25);

    return code & 0x8000u ? -v : v;
}

/* Units of 2^-60. A magnitude of 2^20 or more, or a nonzero one below 2^-37, is replaced by one that lies on the same side of
 * everything it is ever compared with here (the largest number is 480, the smallest boundary 2^-10). */
static slow_u128 in_units(uint32_t bits)
{
    int exponent;
    const uint32_t m = split(bits & 0x7FFFFFFFu, &exponent);
    const uint32_t field = (bits >> 23) & 255u;

    if (m == 0)
        return 0;
    if (field >= 127 + 20)
        return (slow_u128)1 << 80;
    if (field < 127 - 37)
        return (slow_u128)1 << 22;
    return (slow_u128)m << (exponent + 60);
}

/* The numbers of a format in units of 2^-60, by its formula. */
struct ruler {
    unsigned last;
    slow_u128 value[128];
};

static void mark(struct ruler *m, unsigned last, double (*value)(unsigned))
{
    for (unsigned code = 0; code <= last; code++)
        m->value[code] = (slow_u128)(value(code) * 4294967296.0) << 28;
    m->last = last;
}

/* The nearest of all codes, ties to the even code. */
static unsigned nearest(slow_u128 x, const struct ruler *m)
{
    unsigned best = 0;
    slow_u128 best_distance = x;

    for (unsigned code = 1; code <= m->last; code++) {
        const slow_u128 distance = x > m->value[code] ? x - m->value[code] : m->value[code] - x;

        if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
            best = code;
            best_distance = distance;
        }
    }
    return best;
}

unsigned slow_e2m1(float v)
{
    const uint32_t bits = slow_bits(v);
    const unsigned sign = bits >> 31 ? 8u : 0u;
    static struct ruler marks;

    if (marks.last == 0)
        mark(&marks, 7, slow_e2m1_value);
    if (slow_is_nan(bits))
        return 7;
    return sign | (is_inf(bits) ? 7u : nearest(in_units(bits), &marks));
}

unsigned slow_e4m3(float v)
{
    const uint32_t bits = slow_bits(v);
    const unsigned sign = bits >> 31 ? 0x80u : 0u;
    static struct ruler marks;

    if (marks.last == 0)
        mark(&marks, 0x7E, slow_e4m3_value);
    if (slow_is_nan(bits))
        return 0x7F;
    return sign | (is_inf(bits) ? 0x7Eu : nearest(in_units(bits), &marks));
}

/* Codes that overflow to Inf: the code after the largest finite one counts as the number that would follow. The two
 * neighbours are found by bisection, then compared by distance; each distance is exact where it decides. */
static unsigned nearest_of_many(double x, unsigned infinity, double (*value)(unsigned))
{
    unsigned lo = 0;
    unsigned hi = infinity;

    if (x >= value(infinity))
        return infinity;
    while (hi - lo > 1) {
        const unsigned middle = (lo + hi) / 2;

        if (value(middle) <= x)
            lo = middle;
        else
            hi = middle;
    }
    const double below = x - value(lo);
    const double above = value(hi) - x;

    if (below == above)
        return lo % 2 == 0 ? lo : hi;
    return below < above ? lo : hi;
}

unsigned slow_bf16(float v)
{
    const uint32_t bits = slow_bits(v);
    const unsigned sign = bits >> 31 ? 0x8000u : 0u;

    if (slow_is_nan(bits))
        return 0x7FFF;
    if (is_inf(bits))
        return sign | 0x7F80u;
    return sign | nearest_of_many((double)magnitude(v), 0x7F80u, slow_bf16_value);
}

unsigned slow_f16(float v)
{
    const uint32_t bits = slow_bits(v);
    const unsigned sign = bits >> 31 ? 0x8000u : 0u;

    if (slow_is_nan(bits))
        return 0x7FFF;
    if (is_inf(bits))
        return sign | 0x7C00u;
    return sign | nearest_of_many((double)magnitude(v), 0x7C00u, slow_f16_value);
}

/* ---- binary32 arithmetic as exact rationals, rounded once -------------------------------------------------------------- */

static unsigned bit_length(slow_u128 v)
{
    unsigned length = 0;

    while (v) {
        length++;
        v >>= 1;
    }
    return length;
}

enum direction { TO_NEAREST, TO_ZERO };

/* (mag + a little, if more) * 2^exponent, as binary32. */
static float round_once(bool negative, slow_u128 mag, int exponent, bool more, enum direction direction)
{
    const uint32_t sign = negative ? 0x80000000u : 0u;
    const int length = (int)bit_length(mag);
    int quantum = length - 1 + exponent - 23;
    slow_u128 n;

    if (mag == 0)
        return slow_float(sign);
    if (quantum < -149)
        quantum = -149;
    if (quantum <= exponent) {
        n = mag << (exponent - quantum); /* exact; the shift is small, because n has at most 24 bits */
    } else {
        const int shift = quantum - exponent;
        slow_u128 rest;
        slow_u128 half;

        if (shift > 126)
            return slow_float(sign); /* all bits lie far below half of the smallest number */
        n = mag >> shift;
        rest = mag - (n << shift);
        half = (slow_u128)1 << (shift - 1);
        if (direction == TO_NEAREST && (rest > half || (rest == half && (more || n % 2 == 1))))
            n++;
    }
    if (length + exponent > 128 || (n == 0x1000000u && quantum + 24 >= 128))
        return slow_float(sign | 0x7F800000u);
    return slow_float(sign | (((uint32_t)(quantum + 149) << 23) + (uint32_t)n));
}

float slow_mul(float a, float b)
{
    const uint32_t x = slow_bits(a);
    const uint32_t y = slow_bits(b);
    const bool negative = ((x ^ y) >> 31) != 0;
    int ex;
    int ey;

    if (slow_is_nan(x) || slow_is_nan(y) || (is_inf(x) && is_zero(y)) || (is_zero(x) && is_inf(y)))
        return canonical_nan();
    if (is_inf(x) || is_inf(y))
        return slow_float((negative ? 0x80000000u : 0u) | 0x7F800000u);
    const slow_u128 product = (slow_u128)split(x, &ex) * split(y, &ey);

    return round_once(negative, product, ex + ey, false, TO_NEAREST);
}

float slow_div(float a, float b)
{
    const uint32_t x = slow_bits(a);
    const uint32_t y = slow_bits(b);
    const bool negative = ((x ^ y) >> 31) != 0;
    const uint32_t sign = negative ? 0x80000000u : 0u;
    int ex;
    int ey;

    if (slow_is_nan(x) || slow_is_nan(y) || (is_inf(x) && is_inf(y)) || (is_zero(x) && is_zero(y)))
        return canonical_nan();
    if (is_inf(x) || is_zero(y))
        return slow_float(sign | 0x7F800000u);
    if (is_zero(x) || is_inf(y))
        return slow_float(sign);
    const slow_u128 numerator = (slow_u128)split(x, &ex) << 90;
    const slow_u128 denominator = split(y, &ey);

    return round_once(negative, numerator / denominator, ex - ey - 90, numerator % denominator != 0, TO_NEAREST);
}

float slow_min_drop(float a, float b)
{
    if (slow_is_nan(slow_bits(a)))
        return b;
    if (slow_is_nan(slow_bits(b)))
        return a;
    return a < b ? a : b;
}

float slow_min_keep(float a, float b)
{
    if (slow_is_nan(slow_bits(a)) || slow_is_nan(slow_bits(b)))
        return canonical_nan();
    return a < b ? a : b;
}

/* Greater of an accumulator and |v|. */
static float widen_max(float acc, float v, bool keep_nan)
{
    if (slow_is_nan(slow_bits(acc)))
        return acc;
    if (slow_is_nan(slow_bits(v)))
        return keep_nan ? canonical_nan() : acc;
    return magnitude(v) > acc ? magnitude(v) : acc;
}

/* ---- stochastic rounding ------------------------------------------------------------------------------------------------ */

struct slow_frame slow_frame_of(float x)
{
    const uint32_t bits = slow_bits(x);
    const slow_u128 one = (slow_u128)1 << 60;
    struct slow_frame f = { .sign = bits >> 31 != 0, .unit = 1 };

    f.nan = slow_is_nan(bits);
    f.quiet = (bits & 0x400000u) != 0;
    if (f.nan)
        return f;
    f.top = is_inf(bits) || in_units(bits) >= 6 * one;
    if (f.top)
        return f;
    f.mag = in_units(bits);
    f.below_quarter = f.mag < one / 4;
    while (f.cell < 6 && f.mag >= (slow_u128)(slow_e2m1_value(f.cell + 1) * 2.0) * (one / 2))
        f.cell++;
    const slow_u128 lo = (slow_u128)(slow_e2m1_value(f.cell) * 2.0) * (one / 2);
    const slow_u128 hi = (slow_u128)(slow_e2m1_value(f.cell + 1) * 2.0) * (one / 2);

    f.unit = hi - lo;
    f.n = (unsigned)((f.mag - lo) * 256 / f.unit);
    f.rest = (f.mag - lo) * 256 - f.n * f.unit;
    return f;
}

/* 256 f + r against half_threshold / 2 (+ 2^-17 when the FP32 sum needs it, SR 2.3): up, tie or down. */
static bool above(const struct slow_frame *f, unsigned r, unsigned half_threshold)
{
    const slow_u128 big = (slow_u128)1 << 18; /* so that 2^-17 is an integer of halves */
    const slow_u128 left = 2 * big * ((f->n + r) * f->unit + f->rest);
    slow_u128 right = big * half_threshold * f->unit;

    if (f->below_quarter)
        return left > right + f->unit * 4; /* 2 * big * 2^-17 */
    return left > right || (left == right && f->cell % 2 == 1);
}

static unsigned grid_index(slow_u128 v)
{
    const slow_u128 half = (slow_u128)1 << 59;

    for (unsigned code = 0; code < 8; code++) {
        if (v == (slow_u128)(slow_e2m1_value(code) * 2.0) * half)
            return code;
    }
    abort();
}

/* The step of TE's software fallback, in units of 2^-60. */
static slow_u128 fallback_step(slow_u128 v)
{
    const slow_u128 one = (slow_u128)1 << 60;

    return v >= 4 * one ? 2 * one : v >= 2 * one ? one : one / 2;
}

static unsigned fma_floor(const struct slow_frame *f, unsigned r)
{
    slow_u128 t = f->mag + fallback_step(f->mag) / 256 * r;
    const unsigned length = bit_length(t);

    if (length > 24) { /* the one rounding, to 24 bits, ties to even */
        const unsigned shift = length - 24;
        slow_u128 n = t >> shift;
        const slow_u128 rest = t - (n << shift);
        const slow_u128 half = (slow_u128)1 << (shift - 1);

        if (rest > half || (rest == half && n % 2 == 1))
            n++;
        t = n << shift;
    }
    const slow_u128 step = fallback_step(t);
    const slow_u128 six = (slow_u128)6 << 60;

    t = t / step * step;
    return grid_index(t < six ? t : six);
}

unsigned slow_rs_decide(enum fp4_rs_rule rule, const struct slow_frame *f, unsigned r)
{
    const unsigned sign = f->sign ? 8u : 0u;
    bool up = false;

    if (f->nan) {
        const bool polyfill = rule == FP4_RS_HALF || rule == FP4_RS_HALF_OLD;

        return polyfill && f->sign && !f->quiet ? 15u : 7u;
    }
    if (f->top)
        return sign | 7u;
    switch (rule) {
    case FP4_RS_TRUNC:
        up = f->n + r >= 256;
        break;
    case FP4_RS_HALF:
        up = above(f, r, 511);
        break;
    case FP4_RS_HALF_OLD:
        up = above(f, r, 512);
        break;
    case FP4_RS_FMA_FLOOR:
        return sign | fma_floor(f, r);
    default:
        abort();
    }
    return sign | (f->cell + (up ? 1u : 0u));
}

unsigned slow_half_steps(float x, unsigned r, float middle)
{
    const uint32_t bits = slow_bits(x);
    const uint32_t mag = bits & 0x7FFFFFFFu;
    const uint32_t exponent = mag >> 23;
    const float u = exponent <= 127 ? 0.5F : exponent == 128 ? 1.0F : 2.0F;
    const float lo = exponent >= 127 ? slow_float(mag & ~0x3FFFFFu) : exponent == 126 ? 0.5F : 0.0F;
    volatile float z = (float)r - middle;
    volatile float y;

    z = z * 0.00390625F;
    z = z * u;
    y = slow_float(mag) + z;
    float kept = y;

    if (slow_is_nan(slow_bits(kept)) || (!slow_is_nan(slow_bits(lo)) && lo > kept))
        kept = lo;
    if (slow_is_nan(slow_bits(kept)))
        return 7;
    return slow_e2m1(slow_float((slow_bits(kept) & 0x7FFFFFFFu) | (bits & 0x80000000u)));
}

unsigned slow_rs_byte(enum fp4_byte_map map, uint32_t rbits, unsigned nibble)
{
    /* SR 2.6: byte of nibble 0, 1, 2, 3; 10 added: bits reversed. */
    static const unsigned table[FP4_MAP_COUNT][4] = {
        [FP4_MAP_B300] = { 2, 10, 3, 11 },   [FP4_MAP_PTX_X] = { 2, 0, 3, 1 },   [FP4_MAP_PTX_Y] = { 0, 2, 1, 3 },
        [FP4_MAP_STRAIGHT] = { 0, 1, 2, 3 }, [FP4_MAP_REVERSE] = { 3, 2, 1, 0 },
    };
    const unsigned entry = table[map][nibble];
    unsigned byte = rbits;

    for (unsigned i = 0; i < entry % 10; i++)
        byte /= 256;
    byte %= 256;
    if (entry >= 10) {
        unsigned reversed = 0;

        for (unsigned weight = 1; weight < 256; weight *= 2)
            reversed += (byte / weight % 2) * (128 / weight);
        byte = reversed;
    }
    return byte;
}

uint32_t slow_hash32(uint32_t rbits, unsigned lane)
{
    const uint64_t word = (uint64_t)1 << 32;
    uint64_t h = rbits ^ (UINT64_C(0x9E3779B9) * (lane + 1) % word);

    h = h ^ (h / 65536);
    h = h * UINT64_C(0x7FEB352D) % word;
    h = h ^ (h / 32768);
    h = h * UINT64_C(0x846CA68B) % word;
    h = h ^ (h / 65536);
    return (uint32_t)h;
}

unsigned slow_rs_word(struct fp4_rs_model model, float x, uint32_t rbits, unsigned nibble)
{
    const struct slow_frame f = slow_frame_of(x);

    if (model.rule == FP4_RS_HASH32) {
        const unsigned sign = f.sign ? 8u : 0u;

        if (f.nan || f.top)
            return sign | 7u;
        /* floor(f * 2^32) = floor((n + rest / unit) * 2^24) */
        const slow_u128 threshold = (((slow_u128)f.n * f.unit + f.rest) << 24) / f.unit;

        return sign | (f.cell + (slow_hash32(rbits, nibble) < threshold ? 1u : 0u));
    }
    return slow_rs_decide(model.rule, &f, slow_rs_byte(model.map, rbits, nibble));
}

/* ---- Philox ------------------------------------------------------------------------------------------------------------- */

/* The 64-bit product of two 32-bit numbers by 16-bit limbs, as long multiplication on paper. */
static void long_multiply(uint32_t a, uint32_t b, uint32_t *high, uint32_t *low)
{
    const uint32_t a0 = a & 0xFFFFu;
    const uint32_t a1 = a >> 16;
    const uint32_t b0 = b & 0xFFFFu;
    const uint32_t b1 = b >> 16;
    uint32_t limb[4] = { 0, 0, 0, 0 };
    const uint32_t partial[4] = { a0 * b0, a0 * b1, a1 * b0, a1 * b1 };
    static const unsigned place[4] = { 0, 1, 1, 2 };

    for (unsigned i = 0; i < 4; i++) {
        uint32_t carry;

        limb[place[i]] += partial[i] & 0xFFFFu;
        carry = limb[place[i]] >> 16;
        limb[place[i]] &= 0xFFFFu;
        limb[place[i] + 1] += (partial[i] >> 16) + carry;
        for (unsigned k = place[i] + 1; k < 3; k++) {
            limb[k + 1] += limb[k] >> 16;
            limb[k] &= 0xFFFFu;
        }
    }
    *low = limb[0] | limb[1] << 16;
    *high = limb[2] | limb[3] << 16;
}

void slow_philox(uint64_t seed, uint64_t subsequence, uint64_t block, unsigned rounds, uint32_t out[4])
{
    uint32_t c[4] = { (uint32_t)block, (uint32_t)(block >> 32), (uint32_t)subsequence, (uint32_t)(subsequence >> 32) };
    uint32_t k[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };

    for (unsigned round = 0; round < rounds; round++) {
        uint32_t h0;
        uint32_t l0;
        uint32_t h1;
        uint32_t l1;

        if (round > 0) {
            k[0] += 0x9E3779B9u;
            k[1] += 0xBB67AE85u;
        }
        long_multiply(0xD2511F53u, c[0], &h0, &l0);
        long_multiply(0xCD9E8D57u, c[2], &h1, &l1);
        const uint32_t next[4] = { h1 ^ c[1] ^ k[0], l1, h0 ^ c[3] ^ k[1], l0 };

        memcpy(c, next, sizeof c);
    }
    memcpy(out, c, sizeof c);
}

/* ---- streams: threads that draw ------------------------------------------------------------------------------------------- */

struct canvas {
    const struct fp4_stream_shape *shape;
    struct fp4_stream_place *place;
};

/* Four elements, from (r, c) on along a row or down a column, take one word. */
static void hand_out(const struct canvas *v, size_t r, size_t c, bool down, uint64_t subsequence, uint64_t call, unsigned word)
{
    for (size_t i = 0; i < 4; i++) {
        const size_t rr = down ? r + i : r;
        const size_t cc = down ? c : c + i;

        if (rr < v->shape->rows && cc < v->shape->cols)
            v->place[rr * v->shape->cols + cc] =
                (struct fp4_stream_place){ .subsequence = subsequence, .call = call, .word = word };
    }
}

/* 16 elements take the four words of one call in order. */
static void hand_out_16(const struct canvas *v, size_t r, size_t c, bool down, uint64_t subsequence, uint64_t call)
{
    for (unsigned word = 0; word < 4; word++)
        hand_out(v, down ? r + 4 * (size_t)word : r, down ? c : c + 4 * (size_t)word, down, subsequence, call, word);
}

/* 16 elements of a row whose two halves are taken in exchanged order when swap is set. */
static void hand_out_16_swapped(const struct canvas *v, size_t r, size_t c, bool swap, uint64_t subsequence, uint64_t call)
{
    for (unsigned word = 0; word < 4; word++) {
        const unsigned half = (word / 2 + (swap ? 1u : 0u)) % 2;

        hand_out(v, r, c + 8 * half + 4 * (word % 2), false, subsequence, call, word);
    }
}

static void tuned_tile(const struct canvas *v, size_t r0, size_t c0, uint32_t tile, bool transposed)
{
    for (uint32_t thread = 0; thread < 128; thread++) {
        uint64_t calls = 0;

        for (size_t stage = 0; stage < 4; stage++) {
            const size_t rs = r0 + 64 * (stage / 2);
            const size_t cs = c0 + 64 * (stage % 2);

            for (size_t step = 0; step < 2; step++, calls++) {
                const size_t r = rs + 32 * step + thread / 4;

                if (!transposed)
                    hand_out_16_swapped(v, r, cs + 16 * (size_t)(thread % 4), r / 4 % 2 == 1, thread + 128 * tile, calls);
            }
            if (!v->shape->colwise)
                continue;
            for (size_t column = 0; column < 2; column++, calls++) {
                const uint32_t lane = thread % 32;
                const uint32_t quarter = (thread / 32 + lane / 2) % 4;

                if (transposed)
                    hand_out_16(v, rs + 16 * (size_t)quarter, cs + 2 * (size_t)lane + column, true, thread + 128 * tile, calls);
            }
        }
    }
}

static void two_d_tile(const struct canvas *v, size_t r0, size_t c0, uint64_t tile, bool transposed, bool with_columns,
                       bool with_rows)
{
    for (size_t thread = 0; thread < 128; thread++) {
        uint64_t calls = 0;

        for (size_t stage = 0; stage < 4; stage++) {
            for (size_t step = 0; step < 2 && with_columns; step++, calls++) {
                if (transposed)
                    hand_out_16(v, r0 + 32 * stage + 16 * step, c0 + thread, true, thread + 128 * tile, calls);
            }
            for (size_t step = 0; step < 2 && with_rows; step++, calls++) {
                const size_t r = r0 + 32 * stage + 16 * step + thread / 8;

                if (!transposed)
                    hand_out_16_swapped(v, r, c0 + 16 * (thread % 8), r / 2 % 2 == 1, thread + 128 * tile, calls);
            }
        }
    }
}

static void vector_tile(const struct canvas *v, size_t r0, size_t c0, uint64_t tile, bool transposed)
{
    for (size_t thread = 0; thread < 256; thread++) {
        uint64_t calls = 0;

        for (size_t step = 0; step < 4 && v->shape->rowwise; step++, calls++) {
            if (!transposed)
                hand_out_16(v, r0 + 32 * step + thread / 8, c0 + 16 * (thread % 8), false, thread + 256 * tile, calls);
        }
        for (size_t step = 0; step < 4; step++, calls++) {
            if (transposed)
                hand_out_16(v, r0 + 16 * (thread % 8), c0 + 64 * (step / 2) + 2 * (thread / 8) + step % 2, true,
                            thread + 256 * tile, calls);
        }
    }
}

static uint32_t te_k_tile(size_t tokens, size_t features)
{
    /* RHT 3.1 */
    static const struct {
        size_t a, b;
        uint32_t k;
    } table[] = { { 8192, 5120, 512 },   { 8192, 10240, 1024 }, { 8192, 2560, 1280 },
                  { 8192, 11328, 1024 }, { 8192, 512, 256 },    { 8192, 3584, 512 } };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if ((tokens == table[i].a && features == table[i].b) || (tokens == table[i].b && features == table[i].a))
            return table[i].k;
    }
    return tokens < 1024 || features < 1024 ? 512 : 1024;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t divide_up(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

/* Tiles of 128 features; a work item L walks K of them along the tokens. */
static void rht_col(const struct canvas *v)
{
    const uint32_t k_tile = v->shape->k_tile ? v->shape->k_tile : te_k_tile(v->shape->rows, v->shape->cols);
    const size_t per_item = smaller(v->shape->rows, k_tile) / 64;
    const size_t feature_tiles = v->shape->cols / 128;
    const size_t token_tiles = v->shape->rows / 64;

    for (size_t item = 0; item < feature_tiles * divide_up(token_tiles, per_item); item++) {
        for (size_t k = 0; k < per_item; k++) {
            const size_t feature = item % feature_tiles * 128;
            const size_t token = (item / feature_tiles * per_item + k) * 64;

            for (size_t thread = 0; thread < 128; thread++) {
                const uint32_t seq = (uint32_t)(thread + 256 * k + 256 * per_item * item);

                for (size_t call = 0; call < 4; call++)
                    hand_out_16(v, token + 16 * call, feature + thread, true, seq, call);
            }
        }
    }
}

static void rht_rowcol(const struct canvas *v, bool transposed, bool group)
{
    const size_t window = smaller(v->shape->rows, 1024);
    const size_t per_item = group ? window / 128 : divide_up(window, 128);
    const size_t feature_tiles = divide_up(v->shape->cols, 128);
    const size_t token_tiles = divide_up(v->shape->rows, 128);

    for (size_t item = 0; item < feature_tiles * divide_up(token_tiles, per_item); item++) {
        const size_t feature = item % feature_tiles * 128;

        for (size_t k = 0; k < per_item; k++) {
            const size_t token = (item / feature_tiles * per_item + k) * 128;
            const size_t base = 512 * per_item * item;

            for (size_t thread = 128; thread < 512; thread++) {
                const bool column_thread = thread < 256;
                const size_t u = thread - 256;

                if (column_thread && transposed) {
                    for (size_t call = 0; call < 8; call++)
                        hand_out_16(v, token + 16 * call, feature + thread - 128, true, (uint32_t)(thread + 512 * k + base), call);
                } else if (!column_thread && !transposed && group) {
                    const uint32_t seq = (uint32_t)(thread + 512 * (k + 1) + base + 512 * per_item * feature_tiles * token_tiles);

                    for (size_t call = 0; call < 4; call++)
                        hand_out_16(v, token + 32 * call + u / 8, feature + 16 * (u % 8), false, seq, call);
                } else if (!column_thread && !transposed) {
                    for (size_t call = 0; call < 4; call++)
                        hand_out_16(v, token + u / 2, feature + 64 * (u % 2) + 16 * call, false,
                                    (uint32_t)(thread + 512 * (k + 1) + base), call);
                }
            }
        }
    }
}

static void rht_fp4sm120(const struct canvas *v)
{
    const size_t gx = v->shape->cols / 128;
    const size_t gy = divide_up(v->shape->rows, 64);

    for (size_t group = 0; group < 4; group++) {
        for (size_t by = 0; by < gy; by++) {
            for (size_t bx = 0; bx < gx; bx++) {
                for (size_t thread = 0; thread < 256; thread++) {
                    const uint64_t seq = thread + 256 * (bx + gx * (by + gy * group));

                    for (unsigned word = 0; word < 2; word++)
                        hand_out(v, 64 * by + 16 * group + 8 * (thread % 2) + 4 * word, 128 * bx + thread / 2, true, seq, 0, word);
                }
            }
        }
    }
}

bool slow_stream(enum fp4_stream stream, const struct fp4_stream_shape *shape, bool transposed, struct fp4_stream_place *place)
{
    const struct canvas v = { shape, place };
    const size_t gx = divide_up(shape->cols, 128);

    for (size_t i = 0; i < shape->rows * shape->cols; i++)
        place[i].subsequence = UINT64_MAX;
    switch (stream) {
    case FP4_STREAM_RHT_COL:
        rht_col(&v);
        return transposed;
    case FP4_STREAM_RHT_ROWCOL:
    case FP4_STREAM_RHT_GROUP:
        rht_rowcol(&v, transposed, stream == FP4_STREAM_RHT_GROUP);
        return true;
    case FP4_STREAM_RHT_FP4SM120:
        rht_fp4sm120(&v);
        return transposed;
    default:
        break;
    }
    for (size_t by = 0; by < divide_up(shape->rows, 128); by++) {
        for (size_t bx = 0; bx < gx; bx++) {
            const size_t tile = bx + by * gx;

            switch (stream) {
            case FP4_STREAM_TUNED:
                tuned_tile(&v, 128 * by, 128 * bx, (uint32_t)tile, transposed);
                break;
            case FP4_STREAM_2D:
                two_d_tile(&v, 128 * by, 128 * bx, tile, transposed, shape->colwise, shape->rowwise);
                break;
            case FP4_STREAM_GROUP:
                two_d_tile(&v, 128 * by, 128 * bx, tile, transposed, false, true);
                break;
            case FP4_STREAM_VECTOR:
                vector_tile(&v, 128 * by, 128 * bx, tile, transposed);
                break;
            default:
                return false;
            }
        }
    }
    return !(transposed && stream == FP4_STREAM_GROUP);
}

/* ---- quantize ------------------------------------------------------------------------------------------------------------- */

static void *zeroed(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p)
        abort();
    return p;
}

void slow_quantized_init(struct slow_quantized *q, size_t lines, size_t packed)
{
    q->lines = lines;
    q->packed = packed;
    q->blocks = divide_up(packed, 16);
    q->code = zeroed(lines * packed, sizeof *q->code);
    q->scale = zeroed(lines * q->blocks, sizeof *q->scale);
    q->amax = zeroed(lines, sizeof *q->amax);
    q->global_scale = zeroed(lines, sizeof *q->global_scale);
    q->block_amax = zeroed(lines * q->blocks, sizeof *q->block_amax);
    q->scaled = zeroed(lines * packed, sizeof *q->scaled);
    q->rbits = zeroed(lines * divide_up(packed, 4), sizeof *q->rbits);
    q->dequantized = zeroed(lines * packed, sizeof *q->dequantized);
}

void slow_quantized_release(struct slow_quantized *q)
{
    free(q->code);
    free(q->scale);
    free(q->amax);
    free(q->global_scale);
    free(q->block_amax);
    free(q->scaled);
    free(q->rbits);
    free(q->dequantized);
}

float slow_global_scale(enum fp4_recipe recipe, float amax, unsigned bound)
{
    const float flt_max = slow_float(FLT_MAX_BITS);
    const float quotient = slow_div((float)(6 * bound), amax);
    const bool keep = recipe == FP4_RECIPE_TE_REF || recipe == FP4_RECIPE_TORCHAO;
    const float s = keep ? slow_min_keep(quotient, flt_max) : slow_min_drop(quotient, flt_max);

    if (recipe == FP4_RECIPE_FOUROVERSIX)
        return quotient;
    if (amax == 0.0F)
        return recipe == FP4_RECIPE_TE_REF ? flt_max : recipe == FP4_RECIPE_FLASHINFER ? 0.0F : 1.0F;
    return s == 0.0F ? 1.0F : s;
}

float slow_load(const void *x, enum fp4_dtype dtype, size_t i)
{
    if (dtype == FP4_F32)
        return ((const float *)x)[i];
    const unsigned code = ((const uint16_t *)x)[i];
    const unsigned mag = code & 0x7FFFu;
    const unsigned infinity = dtype == FP4_BF16 ? 0x7F80u : 0x7C00u;

    if (mag > infinity)
        return canonical_nan();
    if (mag == infinity)
        return slow_float(code & 0x8000u ? 0xFF800000u : 0x7F800000u);
    return (float)(dtype == FP4_BF16 ? slow_bf16_value(code) : slow_f16_value(code));
}

/* Element k of a line. */
static float at(const struct fp4_quantize_params *p, const void *x, bool transposed, size_t line, size_t k)
{
    return transposed ? slow_load(x, p->input, k * p->cols + line) : slow_load(x, p->input, line * p->cols + k);
}

/* The words of one direction: rbits[line][k / 4]. */
static void draw_words(enum fp4_stream stream, const struct fp4_stream_shape *shape, bool transposed, uint64_t seed,
                       uint64_t offset, unsigned rounds, struct slow_quantized *out)
{
    struct fp4_stream_place *place = zeroed(shape->rows * shape->cols, sizeof *place);
    const size_t words = divide_up(out->packed, 4);

    if (!slow_stream(stream, shape, transposed, place))
        abort();
    for (size_t line = 0; line < out->lines; line++) {
        for (size_t w = 0; w < words; w++) {
            const size_t r = transposed ? 4 * w : line;
            const size_t c = transposed ? line : 4 * w;
            const struct fp4_stream_place *at_place = &place[r * shape->cols + c];
            uint32_t block[4];

            /* the counter has 128 bits: offset and calls carry into the subsequence */
            slow_philox(seed, at_place->subsequence + (at_place->call > UINT64_MAX - offset ? 1 : 0), offset + at_place->call,
                        rounds, block);
            out->rbits[line * words + w] = block[at_place->word];
        }
    }
    free(place);
}

float slow_dequantize_block(unsigned scale, float amax, unsigned bound)
{
    const float v = (scale & 0x7Fu) == 0x7Fu ? canonical_nan() : (float)slow_e4m3_value(scale);

    return slow_mul(slow_mul(v, amax), slow_div(1.0F, (float)(6 * bound)));
}

float slow_dequantize(unsigned code, unsigned scale, float amax, unsigned bound)
{
    return slow_mul((float)slow_e2m1_value(code), slow_dequantize_block(scale, amax, bound));
}

/* E2M1 of TE's Python reference: no sign for a scaled zero, NaN matches no interval. */
static unsigned te_ref_e2m1(float y)
{
    if (slow_is_nan(slow_bits(y)) || y == 0.0F)
        return 0;
    return slow_e2m1(y);
}

void slow_quantize(const struct fp4_quantize_params *p, const void *x, bool transposed, bool other_direction,
                   const float *given_amax, const uint32_t *given_rbits, struct slow_quantized *out)
{
    const size_t lines = transposed ? p->cols : p->rows;
    const size_t packed = transposed ? p->rows : p->cols;
    const float flt_max = slow_float(FLT_MAX_BITS);
    const bool keep = p->recipe == FP4_RECIPE_TE_REF || p->recipe == FP4_RECIPE_TORCHAO;
    const bool fast = p->recipe == FP4_RECIPE_TE_FAST;

    slow_quantized_init(out, lines, packed);
    if (p->stochastic && p->stream == FP4_STREAM_RBITS) {
        memcpy(out->rbits, given_rbits, lines * divide_up(packed, 4) * sizeof *given_rbits);
    } else if (p->stochastic) {
        const bool rowwise = !transposed || other_direction;
        const bool colwise = transposed || other_direction;
        const struct fp4_stream_shape shape = { p->rows, p->cols, rowwise, colwise, 0 };
        enum fp4_stream stream = p->stream;

        if (stream == FP4_STREAM_AUTO) {
            const bool tma = p->input == FP4_BF16 && p->rows % 32 == 0 && p->cols % 32 == 0;

            stream = FP4_STREAM_VECTOR;
            if (tma && (rowwise || p->block_16x16))
                stream = p->block_16x16 ? FP4_STREAM_2D : FP4_STREAM_TUNED;
        }
        draw_words(stream, &shape, transposed, p->seed, p->offset, p->philox_rounds, out);
    }
    float tensor_amax = 0.0F;

    for (size_t line = 0; line < lines; line++) {
        for (size_t k = 0; k < packed; k++)
            tensor_amax = widen_max(tensor_amax, at(p, x, transposed, line, k), keep);
    }
    for (size_t line = 0; line < lines; line++) {
        float amax = tensor_amax;

        if (given_amax) {
            amax = given_amax[p->row_scaled ? line : 0];
        } else if (p->row_scaled) {
            amax = 0.0F;
            for (size_t k = 0; k < packed; k++)
                amax = widen_max(amax, at(p, x, transposed, line, k), keep);
        }
        const float s_enc = slow_global_scale(p->recipe, amax, 448);

        out->amax[line] = amax;
        out->global_scale[line] = s_enc;
        for (size_t block = 0; block < out->blocks; block++) {
            const size_t first_line = p->block_16x16 ? line / 16 * 16 : line;
            const size_t last_line = p->block_16x16 ? smaller(first_line + 16, lines) : line + 1;
            const size_t end = smaller(16 * block + 16, packed);
            float bamax = 0.0F;
            float e;

            for (size_t i = first_line; i < last_line; i++) {
                for (size_t j = 16 * block; j < end; j++)
                    bamax = widen_max(bamax, at(p, x, transposed, i, j), keep);
            }
            float d = slow_mul(bamax, slow_mul(s_enc, slow_float(SIXTH_BITS)));

            d = keep ? slow_min_keep(d, flt_max) : slow_min_drop(d, flt_max);
            const unsigned scale = slow_e4m3(d);
            const float v8 = scale == 0x7F ? canonical_nan() : (float)slow_e4m3_value(scale);

            if (fast) {
                e = slow_min_drop(slow_div(s_enc, v8), slow_float(BF16_MAX_BITS));
                e = slow_float((uint32_t)slow_bf16(e) << 16);
            } else {
                e = slow_div(1.0F, slow_mul(v8, slow_div(1.0F, s_enc)));
                e = keep ? slow_min_keep(e, flt_max) : slow_min_drop(e, flt_max);
            }
            out->block_amax[line * out->blocks + block] = bamax;
            out->scale[line * out->blocks + block] = (uint8_t)scale;
            for (size_t k = 16 * block; k < end; k++) {
                const float xk = at(p, x, transposed, line, k);
                float y = slow_mul(xk, e);
                unsigned code;

                if (fast && xk == 0.0F && !(p->stochastic && p->rs.rule == FP4_RS_FMA_FLOOR))
                    y = 0.0F; /* -0 * e + (+0) */
                if (p->stochastic)
                    code = slow_rs_word(p->rs, y, out->rbits[line * divide_up(packed, 4) + k / 4], (unsigned)(k % 4));
                else
                    code = p->recipe == FP4_RECIPE_TE_REF ? te_ref_e2m1(y) : slow_e2m1(y);
                out->scaled[line * packed + k] = y;
                out->code[line * packed + k] = (uint8_t)code;
                out->dequantized[line * packed + k] = slow_dequantize(code, scale, amax, 448);
            }
        }
    }
}

/* ---- RHT -------------------------------------------------------------------------------------------------------------------- */

static bool odd_parity(unsigned v)
{
    bool odd = false;

    for (; v; v /= 2)
        odd ^= v % 2 == 1;
    return odd;
}

static bool rht_negative(unsigned k, unsigned n, uint16_t sign_mask, bool inverse)
{
    return odd_parity(k & n) != (((unsigned)sign_mask >> (inverse ? n : k)) % 2 == 1);
}

uint16_t slow_rht_row(unsigned k, uint16_t sign_mask, bool inverse)
{
    unsigned row = 0;

    for (unsigned n = 0; n < 16; n++)
        row |= rht_negative(k, n, sign_mask, inverse) ? 1u << n : 0u;
    return (uint16_t)row;
}

/* RHT 4.1 as the integer algorithm. */
static float sum_tensor_core(const float x[16], unsigned n, uint16_t sign_mask, bool inverse)
{
    int emax = -126;
    int64_t sum = 0;

    for (unsigned k = 0; k < 16; k++) {
        const uint32_t field = (slow_bits(x[k]) >> 23) & 255u;
        const int e = (int)(field > 1 ? field : 1) - 127 - 2;

        emax = e > emax ? e : emax;
    }
    for (unsigned k = 0; k < 16; k++) {
        const uint32_t bits = slow_bits(x[k]);
        const uint32_t field = (bits >> 23) & 255u;
        const int e = (int)(field > 1 ? field : 1) - 127 - 2;
        const int64_t significand = (int64_t)((bits >> 16) & 127u) + (field ? 128 : 0);
        const int shift = e - emax + 18;
        const int64_t cut = shift >= 0 ? significand * ((int64_t)1 << shift) : -shift < 62 ? significand >> -shift : 0;
        const bool negative = (bits >> 31 != 0) != rht_negative(k, n, sign_mask, inverse);

        sum += negative ? -cut : cut;
    }
    if (sum == 0)
        return 0.0F;
    return round_once(sum < 0, (slow_u128)(sum < 0 ? -sum : sum), emax - 25, false, TO_ZERO);
}

/* Words of 32 bits, least significant first, each brought into 0 .. 2^32 - 1 but for the last, which keeps the sign. */
enum { WIDE = 10 };

static void carry_up(int64_t word[WIDE])
{
    for (unsigned i = 0; i + 1 < WIDE; i++) {
        const int64_t base = INT64_C(4294967296);
        const int64_t carry = word[i] >= 0 ? word[i] / base : -((-word[i] + base - 1) / base);

        word[i] -= carry * base;
        word[i + 1] += carry;
    }
}

/* The exact sum in units of 2^-135, rounded once. */
static float sum_exact(const float x[16], unsigned n, uint16_t sign_mask, bool inverse)
{
    int64_t word[WIDE] = { 0 };

    for (unsigned k = 0; k < 16; k++) {
        int exponent;
        const uint32_t m = split(slow_bits(x[k]) & 0x7FFFFFFFu, &exponent) >> 16; /* bf16: the low 16 bits are zero */
        const bool minus = (slow_bits(x[k]) >> 31 != 0) != rht_negative(k, n, sign_mask, inverse);
        const unsigned position = (unsigned)(exponent + 16 - 2 + 135);
        const int64_t shifted = (int64_t)((uint64_t)m << (position % 32));

        word[position / 32] += minus ? -shifted : shifted;
    }
    carry_up(word);
    const bool negative = word[WIDE - 1] < 0;

    if (negative) {
        for (unsigned i = 0; i < WIDE; i++)
            word[i] = -word[i];
        carry_up(word);
    }
    /* Three words from the top one hold at least 65 bits; what lies below them only says "and a little more". */
    unsigned top = WIDE - 1;
    slow_u128 mag = 0;
    bool more = false;

    while (top > 2 && word[top] == 0)
        top--;
    for (unsigned i = 0; i < 3; i++)
        mag = mag << 32 | (slow_u128)word[top - i];
    for (unsigned i = 0; i + 2 < top; i++)
        more = more || word[i] != 0;
    if (mag == 0)
        return 0.0F;
    return round_once(negative, mag, -135 + 32 * ((int)top - 2), more, TO_NEAREST);
}

static float sum_sequential(const float x[16], unsigned n, uint16_t sign_mask, bool inverse)
{
    volatile float acc = 0.0F;

    for (unsigned k = 0; k < 16; k++) {
        volatile float product = x[k] * (rht_negative(k, n, sign_mask, inverse) ? -0.25F : 0.25F);

        acc = acc + product;
    }
    return acc;
}

void slow_rht_group(const float x[16], uint16_t sign_mask, bool inverse, enum fp4_rht_sum sum, float out[16])
{
    for (unsigned n = 0; n < 16; n++) {
        bool nan = false;
        bool plus = false;
        bool minus = false;

        for (unsigned k = 0; k < 16; k++) {
            const uint32_t bits = slow_bits(x[k]);
            const bool negative = (bits >> 31 != 0) != rht_negative(k, n, sign_mask, inverse);

            nan = nan || slow_is_nan(bits);
            plus = plus || (is_inf(bits) && !negative);
            minus = minus || (is_inf(bits) && negative);
        }
        if (nan || (plus && minus))
            out[n] = canonical_nan();
        else if (plus || minus)
            out[n] = slow_float(plus ? 0x7F800000u : 0xFF800000u);
        else if (sum == FP4_SUM_TC)
            out[n] = sum_tensor_core(x, n, sign_mask, inverse);
        else if (sum == FP4_SUM_EXACT)
            out[n] = sum_exact(x, n, sign_mask, inverse);
        else
            out[n] = sum_sequential(x, n, sign_mask, inverse);
    }
}

unsigned slow_rht_class(const float x[16])
{
    int low_bit = 1000; /* weight of the lowest set bit of any element */
    int least = 1000;   /* exponents of the nonzero elements */
    int most = -1000;
    double sum = 0; /* S in units of 2^low_bit; a double keeps what is needed to compare with 2^24 */

    for (unsigned k = 0; k < 16; k++) {
        const uint32_t bits = slow_bits(x[k]) & 0x7FFFFFFFu;
        const uint32_t field = bits >> 23;
        int exponent;
        uint32_t m = split(bits, &exponent);

        if (field == 255)
            return FP4_RHT_EXACT;
        if (m == 0)
            continue;
        const int e = (int)(field > 1 ? field : 1) - 127;

        least = e < least ? e : least;
        most = e > most ? e : most;
        for (; m % 2 == 0; m /= 2)
            exponent++;
        low_bit = exponent < low_bit ? exponent : low_bit;
    }
    if (most == -1000)
        return FP4_RHT_EXACT;
    for (unsigned k = 0; k < 16; k++)
        sum += (double)magnitude(x[k]) * power_of_two(-low_bit);
    if (sum <= 16777216.0)
        return FP4_RHT_EXACT;
    return most - least <= 18 ? FP4_RHT_ALIGNED : FP4_RHT_CUT;
}

static float rht_global_scale(const struct fp4_rht_params *p, float amax)
{
    const float flt_max = slow_float(FLT_MAX_BITS);
    const float quotient = slow_div(2688.0F, amax);

    if (p->recipe == FP4_RECIPE_FP4SM120 || p->recipe == FP4_RECIPE_TE_REF)
        return slow_global_scale(p->recipe, amax, 448);
    if (p->kernel == FP4_RHT_KERNEL_UNFUSED)
        return slow_global_scale(FP4_RECIPE_TE, amax, 448);
    const float s = slow_min_keep(quotient, flt_max);

    if (p->kernel == FP4_RHT_KERNEL_ROWCOL)
        return amax > 0.0F ? s : 1.0F;
    return amax == 0.0F || s == 0.0F ? 1.0F : s;
}

static float rht_reciprocal(const struct fp4_rht_params *p, float q)
{
    const uint32_t bits = slow_bits(q);
    const uint32_t sign = bits & 0x80000000u;
    const uint32_t mag = bits & 0x7FFFFFFFu;

    if (!p->approx_rcp || slow_is_nan(bits))
        return slow_div(1.0F, q);
    if (mag < 0x00800000u)
        return slow_float(sign | 0x7F800000u);
    if (mag > 0x7E800000u) /* 2^126 */
        return slow_float(sign);
    const int step = p->rcp_table ? p->rcp_table[mag & 0x7FFFFFu] : 0;

    return slow_float((uint32_t)((int64_t)slow_bits(slow_div(1.0F, q)) + step));
}

/* RHT 2.2 for values that are already there: t[line][k]. */
static void rht_chain(const struct fp4_rht_params *p, const float *t, float amax, struct slow_quantized *out)
{
    const float flt_max = slow_float(FLT_MAX_BITS);
    const float g = rht_global_scale(p, amax);
    const float mult = p->recipe == FP4_RECIPE_FP4SM120 ? slow_div(g, 6.0F) : slow_mul(g, slow_float(SIXTH_BITS));
    const float gdec = slow_div(1.0F, g);
    const bool keep = p->kernel != FP4_RHT_KERNEL_UNFUSED || p->recipe == FP4_RECIPE_TE_REF;
    const size_t words = divide_up(out->packed, 4);

    for (size_t line = 0; line < out->lines; line++) {
        out->amax[line] = amax;
        out->global_scale[line] = g;
        for (size_t block = 0; block < out->blocks; block++) {
            const size_t end = smaller(16 * block + 16, out->packed);
            float vmax = 0.0F;

            for (size_t k = 16 * block; k < end; k++)
                vmax = widen_max(vmax, t[line * out->packed + k], keep);
            const unsigned scale = slow_e4m3(keep ? slow_mul(vmax, mult) : slow_min_drop(slow_mul(vmax, mult), flt_max));
            const float v8 = scale == 0x7F ? canonical_nan() : (float)slow_e4m3_value(scale);
            const float acc = slow_min_keep(rht_reciprocal(p, slow_mul(v8, gdec)), flt_max);

            out->block_amax[line * out->blocks + block] = vmax;
            out->scale[line * out->blocks + block] = (uint8_t)scale;
            for (size_t k = 16 * block; k < end; k++) {
                const float y = slow_mul(t[line * out->packed + k], acc);
                unsigned code;

                if (p->stochastic)
                    code = slow_rs_word(p->rs, y, out->rbits[line * words + k / 4], (unsigned)(k % 4));
                else
                    code = p->recipe == FP4_RECIPE_TE_REF ? te_ref_e2m1(y) : slow_e2m1(y);
                out->scaled[line * out->packed + k] = y;
                out->code[line * out->packed + k] = (uint8_t)code;
                out->dequantized[line * out->packed + k] = slow_dequantize(code, scale, amax, 448);
            }
        }
    }
}

/* Unfused: an ordinary rowwise call on a bf16 matrix of its own. */
static void rht_words(const struct fp4_rht_params *p, bool transposed, bool with_row, struct slow_quantized *out)
{
    const struct fp4_stream_shape fused = { p->rows, p->cols, with_row, true, p->k_tile };
    const struct fp4_stream_shape ordinary = { out->lines, out->packed, true, false, 0 };
    enum fp4_stream stream = p->stream;

    if (p->kernel == FP4_RHT_KERNEL_UNFUSED) {
        if (stream == FP4_STREAM_AUTO)
            stream = out->lines % 32 == 0 && out->packed % 32 == 0 ? FP4_STREAM_TUNED : FP4_STREAM_VECTOR;
        draw_words(stream, &ordinary, false, p->seed, p->offset, p->philox_rounds, out);
        return;
    }
    if (stream == FP4_STREAM_AUTO && p->recipe == FP4_RECIPE_FP4SM120)
        stream = FP4_STREAM_RHT_FP4SM120;
    else if (stream == FP4_STREAM_AUTO)
        stream = p->kernel == FP4_RHT_KERNEL_ROWCOL ? FP4_STREAM_RHT_ROWCOL : FP4_STREAM_RHT_COL;
    draw_words(stream, &fused, transposed, p->seed, p->offset, p->philox_rounds, out);
}

void slow_rht_quantize(const struct fp4_rht_params *p, const uint16_t *x, bool with_row, const float *given_amax,
                       struct slow_quantized *out, float *transformed)
{
    float *t = zeroed(p->rows * p->cols, sizeof *t);
    float amax = 0.0F;

    slow_quantized_init(out, p->cols, p->rows);
    if (p->stochastic)
        rht_words(p, true, with_row, out);
    for (size_t feature = 0; feature < p->cols; feature++) {
        for (size_t group = 0; group < p->rows / 16; group++) {
            float in[16];
            float sums[16];

            for (size_t k = 0; k < 16; k++)
                in[k] = slow_load(x, FP4_BF16, (16 * group + k) * p->cols + feature);
            slow_rht_group(in, p->sign_mask, p->inverse, p->sum, sums);
            for (size_t k = 0; k < 16; k++) {
                const unsigned rounded = slow_bf16(sums[k]);
                const float as_bf16 = slow_is_nan((uint32_t)rounded << 16) ? canonical_nan() : slow_float((uint32_t)rounded << 16);

                t[feature * p->rows + 16 * group + k] =
                    p->bf16_round_trip || p->kernel == FP4_RHT_KERNEL_UNFUSED ? as_bf16 : sums[k];
                amax = widen_max(amax, as_bf16, false);
            }
        }
    }
    rht_chain(p, t, given_amax ? given_amax[0] : amax, out);
    if (transformed)
        memcpy(transformed, t, p->rows * p->cols * sizeof *t);
    free(t);
}

void slow_rht_quantize_row(const struct fp4_rht_params *p, const uint16_t *x, const float *given_amax, struct slow_quantized *out)
{
    float *t = zeroed(p->rows * p->cols, sizeof *t);
    float amax = 0.0F;

    slow_quantized_init(out, p->rows, p->cols);
    if (p->stochastic)
        rht_words(p, false, true, out);
    for (size_t i = 0; i < p->rows * p->cols; i++) {
        t[i] = slow_load(x, FP4_BF16, i);
        amax = widen_max(amax, t[i], false);
    }
    rht_chain(p, t, given_amax ? given_amax[0] : amax, out);
    free(t);
}

/* ---- swizzle ---------------------------------------------------------------------------------------------------------------- */

size_t slow_swizzle(size_t rows, size_t scale_cols, size_t *index)
{
    size_t position = 0;

    for (size_t tile_row = 0; tile_row < divide_up(rows, 128); tile_row++) {
        for (size_t tile_col = 0; tile_col < divide_up(scale_cols, 4); tile_col++) {
            for (size_t in_quarter = 0; in_quarter < 32; in_quarter++) {
                for (size_t quarter = 0; quarter < 4; quarter++) {
                    for (size_t column = 0; column < 4; column++, position++) {
                        const size_t r = 128 * tile_row + 32 * quarter + in_quarter;
                        const size_t c = 4 * tile_col + column;

                        if (r < rows && c < scale_cols)
                            index[r * scale_cols + c] = position;
                    }
                }
            }
        }
    }
    return position;
}

/* ---- test data -------------------------------------------------------------------------------------------------------------- */

uint32_t slow_draw(struct slow_random *g)
{
    uint64_t s = g->state ? g->state : 1;

    s ^= s >> 12;
    s ^= s << 25;
    s ^= s >> 27;
    g->state = s;
    return (uint32_t)(s * UINT64_C(0x2545F4914F6CDD1D) >> 32);
}

float slow_draw_uniform(struct slow_random *g, float lo, float hi)
{
    return lo + (hi - lo) * ((float)(slow_draw(g) >> 8) / 16777216.0F);
}

float slow_draw_normal(struct slow_random *g)
{
    int32_t sum = 0;

    for (int i = 0; i < 12; i++)
        sum += (int32_t)(slow_draw(g) >> 12);
    return (float)(sum - 6 * 1048576) / 1048576.0F;
}

uint32_t slow_stride(uint32_t normal)
{
    const char *text = getenv("FP4_TEST_STRIDE");
    const unsigned long value = text ? strtoul(text, NULL, 10) : 0;

    return value > 0 && value < UINT32_MAX ? (uint32_t)value : normal;
}

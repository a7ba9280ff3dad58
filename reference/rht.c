/* SPDX-License-Identifier: Apache-2.0 */
/* The random Hadamard transform and its quantizers (RHT). */
#include "block.h"

/* ---- the approximate reciprocal ------------------------------------------------------------------------------------------------------ */

float fp4_rcp_approx_ftz(float x, const int8_t *table)
{
    uint32_t bits = fp4a_bits(x), sign = bits & 0x80000000u, a = bits & 0x7FFFFFFFu;

    if (a > 0x7F800000u)
        return fp4a_float(FP4_QNAN);
    if (a < 0x00800000u) /* zero and subnormal */
        return fp4a_float(sign | 0x7F800000u);
    if (a > 0x7E800000u) /* above 2^126 the result would be subnormal */
        return fp4a_float(sign);
    a = fp4a_bits(fp4a_div(1.0f, fp4a_float(a)));
    return fp4a_float(sign | (a + (table ? (uint32_t)(int32_t)table[bits & 0x7FFFFFu] : 0u)));
}

/* ---- matrix --------------------------------------------------------------------------------------------------------------------------- */

static bool odd_parity(unsigned v)
{
    v ^= v >> 2;
    v ^= v >> 1;
    return v & 1u;
}

/* Whether M[k][n] is negative: D * H, or H * D for the inverse. */
static bool negative(unsigned k, unsigned n, uint16_t mask, bool inverse)
{
    return odd_parity(k & n) != ((mask >> (inverse ? n : k) & 1u) != 0);
}

/* In place: out[n] = sum over k of (-1)^popcount(k & n) * v[k], in integers. */
static void walsh(int32_t v[16])
{
    unsigned half, i;

    for (half = 1; half < 16; half *= 2)
        for (i = 0; i < 16; i++)
            if (!(i & half)) {
                int32_t a = v[i], b = v[i | half];

                v[i] = a + b;
                v[i | half] = a - b;
            }
}

/* ---- sums of finite values ---------------------------------------------------------------------------------------------------------------- */

static int exponent_of(float x)
{
    int field = (int)(fp4a_bits(x) >> 23 & 255u);

    return (field ? field : 1) - 127;
}

static int32_t significand_of(float x) /* 8 bits: x is a bf16 */
{
    uint32_t bits = fp4a_bits(x);

    return (int32_t)((bits >> 16 & 0x7Fu) | (bits & 0x7F800000u ? 0x80u : 0u));
}

/* n * 2^e to binary32, toward zero; overflow gives Inf, as the hardware does (RHT 4.3). n has at most 31 bits. */
static float scale_toward_zero(int32_t n, int e)
{
    uint32_t sign = n < 0 ? 0x80000000u : 0u, u = n < 0 ? (uint32_t)-n : (uint32_t)n;
    int top = 31;

    if (u == 0)
        return 0.0f;
    while (!(u >> top))
        top--;
    if (top + e > 127)
        return fp4a_float(sign | 0x7F800000u);
    if (top + e < -126) /* subnormal: the last place is 2^-149 */
        return fp4a_float(sign | (e >= -149 ? u << (e + 149) : u >> (-149 - e)));
    u = top > 23 ? u >> (top - 23) : u << (23 - top);
    return fp4a_float(sign | ((uint32_t)(top + e + 127) << 23 | (u & 0x7FFFFFu)));
}

static int max_exponent(const float x[16])
{
    int e = -126, k;

    for (k = 0; k < 16; k++)
        if (exponent_of(x[k]) > e)
            e = exponent_of(x[k]);
    return e;
}

/* RHT 4.1: products cut toward zero at 2^(Emax - 25), added exactly, rounded toward zero. */
static void sums_tc(const float x[16], uint16_t mask, bool inverse, float out[16])
{
    int emax = max_exponent(x) - 2, k;
    int32_t v[16];

    if (emax < -126)
        emax = -126;
    for (k = 0; k < 16; k++) {
        int shift = exponent_of(x[k]) - 2 - emax + 18;
        int32_t s = significand_of(x[k]);

        s = shift >= 0 ? s << shift : shift > -31 ? s >> -shift : 0;
        v[k] = ((fp4a_bits(x[k]) >> 31) != 0) != (!inverse && (mask >> k & 1u)) ? -s : s;
    }
    walsh(v);
    for (k = 0; k < 16; k++)
        out[k] = scale_toward_zero(inverse && (mask >> k & 1u) ? -v[k] : v[k], emax - 25);
}

static void sums_seq(const float x[16], uint16_t mask, bool inverse, float out[16])
{
    unsigned n, k;

    for (n = 0; n < 16; n++) {
        float acc = 0.0f;

        for (k = 0; k < 16; k++)
            acc = fp4a_add(acc, fp4a_mul(x[k], negative(k, n, mask, inverse) ? -0.25f : 0.25f));
        out[n] = fp4a_canonical(acc);
    }
}

/* ---- exact sums: a 320-bit two's complement number in units of 2^-160 ---------------------------------------------------------------------- */

#define WIDE 5
#define WIDE_UNIT 160

struct wide {
    uint64_t w[WIDE];
};

/* Adds (or subtracts) value * 2^exponent; value below 2^32, bits below the unit must be zero. */
static void wide_add(struct wide *a, uint32_t value, int exponent, bool subtract)
{
    unsigned at = (unsigned)(exponent + WIDE_UNIT), i;
    uint64_t low = (uint64_t)value << at % 64, high = at % 64 ? (uint64_t)value >> (64 - at % 64) : 0;
    uint64_t carry = 0;

    for (i = at / 64; i < WIDE; i++) {
        uint64_t part = i == at / 64 ? low : i == at / 64 + 1 ? high : 0, sum;

        if (subtract) {
            sum = a->w[i] - part - carry;
            carry = a->w[i] < part || (carry && a->w[i] == part);
        } else {
            sum = a->w[i] + part + carry;
            carry = sum < part || (carry && sum == part);
        }
        a->w[i] = sum;
    }
}

static bool wide_negative(const struct wide *a)
{
    return a->w[WIDE - 1] >> 63;
}

static void wide_negate(struct wide *a)
{
    uint64_t carry = 1;
    int i;

    for (i = 0; i < WIDE; i++) {
        a->w[i] = ~a->w[i] + carry;
        carry = carry && a->w[i] == 0;
    }
}

/* Position of the highest set bit of a non-negative number, or -1. */
static int wide_top(const struct wide *a)
{
    int i, b;

    for (i = WIDE - 1; i >= 0; i--)
        if (a->w[i])
            for (b = 63; b >= 0; b--)
                if (a->w[i] >> b & 1u)
                    return 64 * i + b;
    return -1;
}

static bool wide_bit(const struct wide *a, int at)
{
    return at >= 0 && (a->w[at / 64] >> at % 64 & 1u);
}

static bool wide_any_below(const struct wide *a, int at)
{
    int i;

    for (i = 0; i < at; i++)
        if (wide_bit(a, i))
            return true;
    return false;
}

/* One rounding to nearest even, to a format with `bits` significant bits and binary32's exponents (24: binary32, 8: bf16). */
static float wide_round(struct wide a, int bits)
{
    uint32_t sign = 0, m = 0;
    int top, low, i;

    if (wide_negative(&a)) {
        sign = 0x80000000u;
        wide_negate(&a);
    }
    top = wide_top(&a);
    if (top < 0)
        return 0.0f;
    low = top - (bits - 1);           /* place of the last kept bit */
    if (low < WIDE_UNIT - 125 - bits) /* the last place of subnormals is 2^(-125 - bits) */
        low = WIDE_UNIT - 125 - bits;
    for (i = top; i >= low; i--)
        m = m << 1 | wide_bit(&a, i);
    if (wide_bit(&a, low - 1) && ((m & 1u) || wide_any_below(&a, low - 1)))
        m++;
    /* m * 2^(low - unit) is exact in a double, and in binary32 unless it overflows. */
    i = low - WIDE_UNIT;
    if (m >> bits) {
        m >>= 1;
        i++;
    }
    if (m == 0)
        return fp4a_float(sign);
    for (top = 31; !(m >> top); top--)
        ;
    if (top + i > 127)
        return fp4a_float(sign | 0x7F800000u);
    if (top + i < -126)
        return fp4a_float(sign | m << (i + 149));
    return fp4a_float(sign | ((uint32_t)(top + i + 127) << 23 | (m << (23 - top) & 0x7FFFFFu)));
}

static struct wide wide_sum(const float x[16], unsigned n, uint16_t mask, bool inverse)
{
    struct wide a = { { 0 } };
    unsigned k;

    for (k = 0; k < 16; k++)
        wide_add(&a, (uint32_t)significand_of(x[k]), exponent_of(x[k]) - 9,
                 (fp4a_bits(x[k]) >> 31 != 0) != negative(k, n, mask, inverse));
    return a;
}

static void sums_exact(const float x[16], uint16_t mask, bool inverse, float out[16])
{
    unsigned n;

    for (n = 0; n < 16; n++)
        out[n] = wide_round(wide_sum(x, n, mask, inverse), 24);
}

/* ---- a group ------------------------------------------------------------------------------------------------------------------------------- */

static bool any_special(const float x[16])
{
    int k;

    for (k = 0; k < 16; k++)
        if ((fp4a_bits(x[k]) & 0x7F800000u) == 0x7F800000u)
            return true;
    return false;
}

/* Infinities by sign, opposing ones and NaN to NaN (RHT 4.3). */
static void sums_special(const float x[16], uint16_t mask, bool inverse, float out[16])
{
    unsigned n, k;

    for (n = 0; n < 16; n++) {
        bool plus = false, minus = false, nan = false;

        for (k = 0; k < 16; k++) {
            uint32_t bits = fp4a_bits(x[k]);
            bool sign = (bits >> 31 != 0) != negative(k, n, mask, inverse);

            if (fp4a_is_nan_bits(bits))
                nan = true;
            else if ((bits & 0x7FFFFFFFu) == 0x7F800000u) {
                plus |= !sign;
                minus |= sign;
            }
        }
        out[n] = fp4a_float(nan || (plus && minus) ? FP4_QNAN : minus ? 0xFF800000u : 0x7F800000u);
    }
}

void fp4_rht_group(const float x[16], uint16_t sign_mask, bool inverse, enum fp4_rht_sum sum, float out[16])
{
    if (any_special(x))
        sums_special(x, sign_mask, inverse, out);
    else if (sum == FP4_SUM_TC)
        sums_tc(x, sign_mask, inverse, out);
    else if (sum == FP4_SUM_SEQ)
        sums_seq(x, sign_mask, inverse, out);
    else
        sums_exact(x, sign_mask, inverse, out);
}

/* Last place of binary32 for numbers with this leading exponent, as an exponent. */
static int last_place(int leading)
{
    return (leading < -126 ? -126 : leading) - 23;
}

/* The bounds of RHT 4.2 around the exact sum of one column: same bf16 on both ends, and zero not within. */
static bool column_is_safe(const float x[16], unsigned n, uint16_t mask, bool inverse, int emax, int s_exponent)
{
    struct wide a = wide_sum(x, n, mask, inverse), lo, hi, magnitude = a;
    float down, up;
    int top;

    if (wide_negative(&magnitude))
        wide_negate(&magnitude);
    top = wide_top(&magnitude);
    if (top < 0)
        return false; /* a cancelled sum: residues of cut products decide its sign */
    lo = hi = a;
    wide_add(&lo, 16, emax - 25, true);
    wide_add(&lo, 1, last_place(top - WIDE_UNIT), true);
    wide_add(&hi, 16, emax - 25, false);
    wide_add(&hi, 1, last_place(top - WIDE_UNIT), false);
    /* sequential: 16 last places of S / 4 */
    wide_add(&lo, 16, last_place(s_exponent - 2), true);
    wide_add(&hi, 16, last_place(s_exponent - 2), false);
    if (wide_negative(&lo) != wide_negative(&hi))
        return false;
    down = wide_round(lo, 8);
    up = wide_round(hi, 8);
    return fp4a_bits(down) == fp4a_bits(up);
}

uint8_t fp4_rht_classify(const float x[16], uint16_t sign_mask, bool inverse)
{
    int emax, emin = 1000, q = 1000, k, s_exponent, pe;
    struct wide s = { { 0 } };
    unsigned n;
    uint8_t class;

    if (any_special(x))
        return FP4_RHT_EXACT | FP4_RHT_SAFE_BIT;
    emax = -1000;
    for (k = 0; k < 16; k++) {
        int32_t m = significand_of(x[k]);
        int e = exponent_of(x[k]), low = e - 7;

        if (m == 0)
            continue;
        emax = e > emax ? e : emax;
        emin = e < emin ? e : emin;
        for (; !(m & 1); m >>= 1)
            low++;
        q = low < q ? low : q;
        wide_add(&s, (uint32_t)significand_of(x[k]), e - 7, false);
    }
    if (emax == -1000)
        return FP4_RHT_EXACT | FP4_RHT_SAFE_BIT;
    s_exponent = wide_top(&s) - WIDE_UNIT;
    /* S <= 2^24 * q, with equality only for a single bit. */
    if (s_exponent < q + 24 || (s_exponent == q + 24 && !wide_any_below(&s, s_exponent + WIDE_UNIT)))
        return FP4_RHT_EXACT | FP4_RHT_SAFE_BIT;
    class = emax - emin <= 18 ? FP4_RHT_ALIGNED : FP4_RHT_CUT;
    pe = emax - 2 < -126 ? -126 : emax - 2;
    for (n = 0; n < 16; n++)
        if (!column_is_safe(x, n, sign_mask, inverse, pe, s_exponent))
            return class;
    return class | FP4_RHT_SAFE_BIT;
}

/* ---- rht-quantize ------------------------------------------------------------------------------------------------------------------------------ */

static int check(const struct fp4_rht_params *p, const struct fp4_quantized *row, const struct fp4_quantized *col,
                 struct fp4_error *err)
{
    if (!col || !col->codes || !col->scales)
        return fp4_fail(err, FP4_EUSAGE, "rht-quantize needs codes and scales of the transformed output");
    if (p->rows % 16)
        return fp4_fail(err, FP4_EUSAGE, "rht-quantize transforms groups of 16 tokens: rows must be a multiple of 16, not %zu",
                        p->rows);
    if (row && p->cols % 2)
        return fp4_fail(err, FP4_EUSAGE, "the rowwise output packs two codes a byte: columns must be even, not %zu", p->cols);
    if (p->stochastic && p->stream == FP4_STREAM_RBITS && (!col->given_rbits || (row && !row->given_rbits)))
        return fp4_fail(err, FP4_EUSAGE, "stream rbits needs the random words as an input");
    if (row && p->stochastic &&
        (rht_stream_for(p, true) == FP4_STREAM_RHT_COL || rht_stream_for(p, true) == FP4_STREAM_RHT_FP4SM120))
        return fp4_fail(err, FP4_ESUPPORT, "this kernel has no rowwise output");
    if (p->kernel == FP4_RHT_KERNEL_UNFUSED && !p->bf16_round_trip)
        return fp4_fail(err, FP4_ESUPPORT, "the unfused path always stores the transform as bf16");
    if (p->stochastic && p->kernel != FP4_RHT_KERNEL_UNFUSED && stream_is_quantizer(p->stream))
        return fp4_fail(err, FP4_ESUPPORT, "that stream belongs to the unfused path");
    return 0;
}

/* Group g of feature c: loaded, transformed, rounded as the recipe says. */
static void group_transform(const struct fp4_rht_params *p, const uint16_t *x, size_t g, size_t c, float in[16], float out[16])
{
    size_t k;

    for (k = 0; k < 16; k++)
        in[k] = fp4a_from_bf16(x[(16 * g + k) * p->cols + c]);
    fp4_rht_group(in, p->sign_mask, p->inverse, p->sum, out);
    if (p->bf16_round_trip)
        for (k = 0; k < 16; k++)
            out[k] = fp4a_round_bf16(out[k]);
}

/* TE's amax kernel: bf16 values whatever the recipe, NaN dropped (the Python reference keeps it). */
static float transformed_amax(const struct fp4_rht_params *p, const struct fp4_chain *chain, const uint16_t *x)
{
    struct fp4_chain rule = { .keep_nan = chain->nan_code_zero };
    float in[16], t[16], acc = 0.0f;
    size_t g, c, k;

    for (g = 0; g < p->rows / 16; g++)
        for (c = 0; c < p->cols; c++) {
            group_transform(p, x, g, c, in, t);
            for (k = 0; k < 16; k++)
                acc = chain_max(&rule, acc, fp4a_round_bf16(t[k]));
        }
    return acc;
}

static void direction_init(struct direction *d, const struct fp4_rht_params *p, const struct fp4_chain *chain,
                           const struct fp4_quantized *out, bool transposed, bool both)
{
    direction_begin(d, chain, out, p->rows, p->cols, transposed);
    d->stochastic = p->stochastic;
    d->rs = p->rs;
    d->stream = rht_stream_for(p, transposed);
    d->shape = (struct fp4_stream_shape){ p->rows, p->cols, both, true, p->k_tile };
    if (stream_is_quantizer(d->stream)) {
        /* Unfused: two calls of the ordinary quantizer, each of which sees a rowwise matrix of its own. */
        d->shape = (struct fp4_stream_shape){ d->lines, d->packed, true, false, 0 };
        d->transposed = false;
    }
    d->seed = p->seed;
    d->offset = p->offset;
    d->rounds = p->philox_rounds ? p->philox_rounds : 10;
}

static void encode_plain(const struct fp4_rht_params *p, const struct fp4_chain *chain, const uint16_t *x,
                         const struct fp4_quantized *row)
{
    struct direction d;
    float amax, v[16];
    size_t r, b, i;

    direction_init(&d, p, chain, row, false, true);
    if (row->given_amax)
        amax = row->given_amax[0];
    else
        fp4_amax(x, FP4_BF16, p->rows, p->cols, chain->nan_code_zero, &amax);
    direction_set_amax(&d, 0, amax);
    for (r = 0; r < p->rows; r++)
        for (b = 0; b < d.blocks; b++) {
            size_t n = d.packed - 16 * b < 16 ? d.packed - 16 * b : 16;
            float acc = 0.0f;

            for (i = 0; i < n; i++) {
                v[i] = fp4a_from_bf16(x[r * p->cols + 16 * b + i]);
                acc = chain_max(chain, acc, v[i]);
            }
            direction_block(&d, r, b, v, acc);
        }
}

static void encode_transformed(const struct fp4_rht_params *p, const struct fp4_chain *chain, const uint16_t *x,
                               const struct fp4_quantized *col, const struct fp4_rht_stages *stages, bool both)
{
    struct direction d;
    float in[16], t[16];
    size_t g, c, k;

    direction_init(&d, p, chain, col, true, both);
    direction_set_amax(&d, 0, col->given_amax ? col->given_amax[0] : transformed_amax(p, chain, x));
    for (g = 0; g < p->rows / 16; g++)
        for (c = 0; c < p->cols; c++) {
            float acc = 0.0f;

            group_transform(p, x, g, c, in, t);
            for (k = 0; k < 16; k++)
                acc = chain_max(chain, acc, t[k]);
            if (stages && stages->transformed)
                memcpy(stages->transformed + c * p->rows + 16 * g, t, sizeof t);
            if (stages && stages->exactness)
                stages->exactness[c * (p->rows / 16) + g] = fp4_rht_classify(in, p->sign_mask, p->inverse);
            direction_block(&d, c, g, t, acc);
        }
}

int fp4_rht_quantize(const struct fp4_rht_params *p, const uint16_t *x, const struct fp4_quantized *row,
                     const struct fp4_quantized *col, const struct fp4_rht_stages *stages, struct fp4_error *err)
{
    struct fp4_chain chain = chain_rht(p);

    if (check(p, row, col, err))
        return -1;
    if (row)
        encode_plain(p, &chain, x, row);
    encode_transformed(p, &chain, x, col, stages, row != NULL);
    return 0;
}

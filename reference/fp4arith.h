/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fp4arith.h: the arithmetic itself, written once for the C reference and for the CUDA kernels.
 *
 * gcc and clang see plain static inline functions; nvcc sees __host__ __device__ ones. Everything is integers, or single binary32
 * operations rounded to nearest even in the order written, so both must give the same bits when contraction is off. Encodings are
 * passed as raw integers here; fp4ref.h puts types around them. Section numbers name docs/numerics.md and the specs it cites:
 * SR = rounding, TE = Transformer Engine's quantizers, RHT = the Hadamard transform.
 *
 * NaN: nothing computed from a NaN keeps a host's sign or payload; FP4_QNAN is what NVIDIA hardware produces (SR 1.5).
 */
#ifndef FP4ARITH_H
#define FP4ARITH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "the reference compares bits: do not compile it with fast-math"
#endif

#ifdef __CUDACC__
#define FP4_FN static __host__ __device__ __forceinline__
#else
#include <math.h>
#define FP4_FN static inline
#endif

#define FP4_QNAN 0x7FFFFFFFu
#define FP4_FLT_MAX 0x7F7FFFFFu
#define FP4_BF16_MAX 0x7F7F0000u /* largest finite bf16, as binary32 */
#define FP4_SIXTH 0x3E2AAAABu    /* binary32 of 1/6 */
#define FP4_INV_2688 0x39C30C31u /* binary32 of 1/(6*448) */
#define FP4_INV_1536 0x3A2AAAABu /* binary32 of 1/(6*256) */

FP4_FN float fp4a_float(uint32_t bits)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(bits);
#else
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
#endif
}

FP4_FN uint32_t fp4a_bits(float v)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(v);
#else
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
#endif
}

FP4_FN bool fp4a_is_nan_bits(uint32_t bits)
{
    return (bits & 0x7FFFFFFFu) > 0x7F800000u;
}

FP4_FN bool fp4a_is_nan(float v)
{
    return fp4a_is_nan_bits(fp4a_bits(v));
}

/* The canonical NaN in place of any NaN. */
FP4_FN float fp4a_canonical(float v)
{
    return fp4a_is_nan(v) ? fp4a_float(FP4_QNAN) : v;
}

/* ---- single binary32 operations -------------------------------------------------------------------------------------------- */

FP4_FN float fp4a_mul(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return __fmul_rn(a, b);
#else
    return a * b;
#endif
}

FP4_FN float fp4a_add(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return __fadd_rn(a, b);
#else
    return a + b;
#endif
}

FP4_FN float fp4a_div(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return __fdiv_rn(a, b);
#else
    return a / b;
#endif
}

FP4_FN float fp4a_fma(float a, float b, float c)
{
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(a, b, c);
#else
    return fmaf(a, b, c);
#endif
}

FP4_FN float fp4a_abs(float v)
{
    return fp4a_float(fp4a_bits(v) & 0x7FFFFFFFu);
}

/* fminf as TE uses it: a NaN operand is dropped. */
FP4_FN float fp4a_min_drop(float a, float b)
{
    if (fp4a_is_nan(a))
        return b;
    return a < b ? a : b;
}

/* min.NaN.f32: a NaN operand wins. */
FP4_FN float fp4a_min_keep(float a, float b)
{
    if (fp4a_is_nan(a) || fp4a_is_nan(b))
        return fp4a_float(FP4_QNAN);
    return a < b ? a : b;
}

/* ---- E2M1 (SR 1.1, 1.2) ------------------------------------------------------------------------------------------------------- */

/* Magnitude index by nearest, ties to even, from the bits of |x|. Not for NaN. */
FP4_FN uint32_t fp4a_e2m1_index(uint32_t a)
{
    return (uint32_t)(a > 0x3E800000u)    /* 0.25 */
           + (uint32_t)(a >= 0x3F400000u) /* 0.75 */
           + (uint32_t)(a > 0x3FA00000u)  /* 1.25 */
           + (uint32_t)(a >= 0x3FE00000u) /* 1.75 */
           + (uint32_t)(a > 0x40200000u)  /* 2.5 */
           + (uint32_t)(a >= 0x40600000u) /* 3.5 */
           + (uint32_t)(a > 0x40A00000u); /* 5 */
}

FP4_FN uint32_t fp4a_to_e2m1(float v)
{
    uint32_t bits = fp4a_bits(v);
    uint32_t a = bits & 0x7FFFFFFFu;

    if (a > 0x7F800000u)
        return 7;
    return fp4a_e2m1_index(a) | (bits >> 28 & 8u);
}

FP4_FN float fp4a_from_e2m1(uint32_t code)
{
    /* 0.5 is the only subnormal; the others are (2 + m) * 2^(e - 2). */
    uint32_t c = code & 7u;
    uint32_t bits = c >= 2 ? (c >> 1) + 126u : c ? 126u : 0u;

    bits <<= 23;
    if (c >= 2)
        bits |= (c & 1u) << 22;
    return fp4a_float(bits | (code & 8u) << 28);
}

/* ---- E4M3 (SR 1.3, TE 1.2) ----------------------------------------------------------------------------------------------------- */

FP4_FN uint32_t fp4a_to_e4m3(float v)
{
    uint32_t bits = fp4a_bits(v);
    uint32_t a = bits & 0x7FFFFFFFu;
    uint32_t sign = bits >> 24 & 0x80u;

    if (a > 0x7F800000u)
        return 0x7F;
    if (a >= 0x43E00000u) /* 448 */
        return sign | 0x7Eu;
    if (a < 0x3C800000u) {
        /* Below 2^-6: adding 2^14 leaves a sum whose last place is 2^-9, so this one addition is the rounding. */
        return sign | (fp4a_bits(fp4a_add(fp4a_float(a), 16384.0f)) - 0x46800000u);
    }
    a += 0x7FFFFu + (a >> 20 & 1u);
    return sign | ((a >> 20) - (120u << 3));
}

FP4_FN float fp4a_from_e4m3(uint32_t byte)
{
    uint32_t e = byte >> 3 & 15u, m = byte & 7u;
    float v;

    if ((byte & 0x7Fu) == 0x7Fu)
        return fp4a_float(FP4_QNAN);
    if (e == 0)
        v = (float)m * 0.001953125f; /* 2^-9 */
    else
        v = fp4a_float((e + 120u) << 23 | m << 20);
    return byte & 0x80u ? -v : v;
}

/* ---- bf16, f16 ------------------------------------------------------------------------------------------------------------------- */

FP4_FN uint32_t fp4a_to_bf16(float v)
{
    uint32_t bits = fp4a_bits(v);

    if (fp4a_is_nan_bits(bits))
        return 0x7FFF;
    return (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
}

FP4_FN float fp4a_from_bf16(uint32_t bits)
{
    return fp4a_canonical(fp4a_float(bits << 16));
}

FP4_FN float fp4a_round_bf16(float v)
{
    uint32_t h = fp4a_to_bf16(v);

    return h == 0x7FFFu ? fp4a_float(FP4_QNAN) : fp4a_float(h << 16);
}

FP4_FN uint32_t fp4a_to_f16(float v)
{
    uint32_t bits = fp4a_bits(v);
    uint32_t a = bits & 0x7FFFFFFFu;
    uint32_t sign = bits >> 16 & 0x8000u;

    if (a > 0x7F800000u)
        return 0x7FFF;
    if (a >= 0x477FF000u) /* 65520, the tie between the largest finite and 2^16 */
        return sign | 0x7C00u;
    if (a < 0x38800000u) /* below 2^-14: the last place of 0.5 + a is 2^-24 */
        return sign | (fp4a_bits(fp4a_add(fp4a_float(a), 0.5f)) - 0x3F000000u);
    a += 0xFFFu + (a >> 13 & 1u);
    return sign | ((a >> 13) - (112u << 10));
}

FP4_FN float fp4a_from_f16(uint32_t h)
{
    uint32_t e = h >> 10 & 31u, m = h & 0x3FFu;
    float v;

    if (e == 31)
        v = fp4a_float(m ? FP4_QNAN : 0x7F800000u);
    else if (e == 0)
        v = (float)m * 5.9604644775390625e-08f; /* 2^-24 */
    else
        v = fp4a_float((e + 112u) << 23 | m << 13);
    if (e == 31 && m)
        return v;
    return h & 0x8000u ? -v : v;
}

/* ---- stochastic rounding (SR 2.3): magnitude of |x| < 6 and one random byte -> index ---------------------------------------------- */

/* Model A, in its bit form: the random byte is added to the eight bits below the kept ones. */
FP4_FN uint32_t fp4a_rs_trunc(uint32_t a, uint32_t r)
{
    uint32_t e = a >> 23, m = a & 0x7FFFFFu;
    uint32_t c, n;

    if (e >= 127) {
        c = 2 * (e - 126) + (m >> 22);
        n = m >> 14 & 255u;
    } else if (e == 126) {
        c = 1;
        n = m >> 15;
    } else {
        c = 0;
        n = e < 118 ? 0 : (m | 0x800000u) >> (141 - e); /* floor(|x| * 512) */
    }
    return c + (n + r >= 256);
}

/* Model B and its older form: centred noise in units of the step, one rounding, never below the cell. Takes and gives a sign. */
FP4_FN uint32_t fp4a_rs_half(uint32_t bits, float noise)
{
    uint32_t a = bits & 0x7FFFFFFFu, e = a >> 23;
    float u = e <= 127 ? 0.5f : e == 128 ? 1.0f : 2.0f;
    float lo = fp4a_float(e >= 127 ? a & ~0x3FFFFFu : e == 126 ? 0x3F000000u : 0u);
    float y = fp4a_add(fp4a_float(a), fp4a_mul(fp4a_mul(noise, 0.00390625f), u));

    if (!(y >= lo)) /* also when y is NaN: the maximum drops it */
        y = lo;
    return fp4a_to_e2m1(fp4a_float((fp4a_bits(y) & 0x7FFFFFFFu) | (bits & 0x80000000u)));
}

FP4_FN float fp4a_rs_step(float v)
{
    return v >= 4.0f ? 2.0f : v >= 2.0f ? 1.0f : 0.5f;
}

/* Model C: one fused multiply-add, then floor on the grid of the sum. */
FP4_FN uint32_t fp4a_rs_fma_floor(uint32_t bits, uint32_t r)
{
    float a = fp4a_float(bits & 0x7FFFFFFFu);
    float t, h, q;

    if (fp4a_is_nan(a))
        return 7;
    if (a >= 6.0f)
        return 7u | (bits >> 28 & 8u);
    t = fp4a_fma((float)r * 0.00390625f, fp4a_rs_step(a), a);
    h = fp4a_rs_step(t);
    /* t / h is below 2^23 here, so the conversion to an integer is the floor. */
    q = (float)(uint32_t)fp4a_mul(t, h == 2.0f ? 0.5f : h == 1.0f ? 1.0f : 2.0f) * h;
    if (q > 6.0f)
        q = 6.0f;
    return fp4a_e2m1_index(fp4a_bits(q)) | (bits >> 28 & 8u);
}

FP4_FN uint32_t fp4a_hash32(uint32_t rbits, uint32_t lane)
{
    uint32_t h = rbits ^ 0x9E3779B9u * (lane + 1);

    h ^= h >> 16;
    h *= 0x7FEB352Du;
    h ^= h >> 15;
    h *= 0x846CA68Bu;
    h ^= h >> 16;
    return h;
}

/* The pure software variant (SR 4): 32 bits of probability, the whole word hashed for the lane. */
FP4_FN uint32_t fp4a_rs_hash32(uint32_t bits, uint32_t rbits, uint32_t lane)
{
    uint32_t a = bits & 0x7FFFFFFFu, sign = bits >> 28 & 8u;
    uint32_t c, e = a >> 23;
    float lo, p;
    uint64_t threshold;

    if (a >= 0x40C00000u) /* 6 and above, Inf, NaN: the sign is kept even for NaN */
        return 7u | sign;
    c = e >= 127 ? 2 * (e - 126) + (a >> 22 & 1u) : e == 126 ? 1u : 0u;
    lo = fp4a_from_e2m1(c);
    p = fp4a_div(fp4a_add(fp4a_float(a), -lo), fp4a_add(fp4a_from_e2m1(c + 1), -lo));
    threshold = (uint64_t)((double)p * 4294967296.0);
    return (c + (uint32_t)((uint64_t)fp4a_hash32(rbits, lane) < threshold)) | sign;
}

/* One value, one byte; rules as enum fp4_rs_rule 0..3. */
FP4_FN uint32_t fp4a_rs_byte_rule(int rule, float x, uint32_t r)
{
    uint32_t bits = fp4a_bits(x);
    uint32_t a = bits & 0x7FFFFFFFu;

    if (rule == 1)
        return fp4a_rs_half(bits, fp4a_add((float)r, -127.5f));
    if (rule == 2)
        return fp4a_rs_half(bits, fp4a_add((float)r, -128.0f));
    if (rule == 3)
        return fp4a_rs_fma_floor(bits, r);
    if (a > 0x7F800000u)
        return 7;
    if (a >= 0x40C00000u)
        return 7u | (bits >> 28 & 8u);
    return fp4a_rs_trunc(a, r) | (bits >> 28 & 8u);
}

FP4_FN uint32_t fp4a_reverse8(uint32_t b)
{
    b = (b & 0xF0u) >> 4 | (b & 0x0Fu) << 4;
    b = (b & 0xCCu) >> 2 | (b & 0x33u) << 2;
    return (b & 0xAAu) >> 1 | (b & 0x55u) << 1;
}

/* Byte of a nibble by map (enum fp4_byte_map): two bits of byte number a nibble, nibble 0 lowest; bit 8 + nibble: reversed. */
FP4_FN uint32_t fp4a_map_byte(int map, uint32_t rbits, uint32_t nibble)
{
    uint32_t spec = map == 0   ? 0xA00u | 2u | 0u << 2 | 3u << 4 | 1u << 6
                    : map == 1 ? 2u | 0u << 2 | 3u << 4 | 1u << 6
                    : map == 2 ? 0u | 2u << 2 | 1u << 4 | 3u << 6
                    : map == 3 ? 0u | 1u << 2 | 2u << 4 | 3u << 6
                               : 3u | 2u << 2 | 1u << 4 | 0u << 6;
    uint32_t b = rbits >> 8 * (spec >> 2 * nibble & 3u) & 255u;

    return spec >> (8 + nibble) & 1u ? fp4a_reverse8(b) : b;
}

/* ---- Philox4x32 (SR 3.1) -------------------------------------------------------------------------------------------------------------- */

FP4_FN void fp4a_philox(const uint32_t counter[4], const uint32_t key[2], unsigned rounds, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    unsigned i;

    for (i = 0; i < rounds; i++) {
        uint64_t p = (uint64_t)0xD2511F53u * c0;
        uint64_t q = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(q >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)q;
        c2 = (uint32_t)(p >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

#endif

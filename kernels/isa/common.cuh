/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.cuh: single instructions that every ISA layer shares. kernels/isa/ is the only place with inline PTX; one function here is one
 * instruction or its polyfill.
 */
#ifndef FP4_ISA_COMMON_CUH
#define FP4_ISA_COMMON_CUH

#include "block.h"

/* Numbers that the assembler is not to know: it would put shifts and logical instructions where multiplications are meant, which another and less
 * busy pipe does. */
struct isa_numbers {
    uint32_t eight, one_zero, zeros;
};
static __device__ __constant__ struct isa_numbers isa_unknown = { 8, 0x3F800000u, 0x80000000u };

/* fma.rn.bf16x2 (PTX 7.0, sm_80) by 1 and 0: the upper half as binary32, where the lower one is finite (else its low bits are not 0). A
 * logical instruction would do it for any, but those are scarcer. */
__device__ __forceinline__ float isa_upper_bf16(uint32_t pair)
{
    uint32_t r;

    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(pair), "r"(isa_unknown.one_zero), "r"(isa_unknown.zeros));
    return __uint_as_float(r);
}

/* rcp.approx.ftz.f32 (PTX 1.4, all architectures). The text gives an error bound, not the bits: they are measured (docs/numerics.md 7). */
__device__ __forceinline__ float isa_rcp_approx_ftz(float x)
{
    float r;

    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

/* max.NaN.bf16x2 (PTX 7.0, sm_80): a NaN operand gives 7FFF. */
__device__ __forceinline__ uint32_t isa_max_nan_bf16x2(uint32_t a, uint32_t b)
{
    uint32_t r;

    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

/* max.NaN.xorsign.abs.bf16x2 (PTX 7.2, sm_86): the larger magnitude, a NaN operand gives NaN; the sign of the result means nothing. */
__device__ __forceinline__ uint32_t isa_abs_max_nan_bf16x2(uint32_t a, uint32_t b)
{
#if __CUDA_ARCH__ >= 860
    uint32_t r;

    asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
#else
    return isa_max_nan_bf16x2(a & 0x7FFF7FFFu, b & 0x7FFF7FFFu);
#endif
}

/* lop3.b32 (PTX 4.3, sm_50): a where mask has a one, b where it has a zero. */
__device__ __forceinline__ uint32_t isa_select_bits(uint32_t mask, uint32_t a, uint32_t b)
{
    uint32_t r;

    asm("lop3.b32 %0, %1, %2, %3, 0xCA;" : "=r"(r) : "r"(mask), "r"(a), "r"(b));
    return r;
}

/* min.NaN.f32 (PTX 7.0, sm_80): a NaN operand gives 7FFFFFFF. */
__device__ __forceinline__ float isa_min_nan(float a, float b)
{
    float r;

    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

/* cvt.rn.f16x2.e4m3x2 (PTX 7.8, sm_89), then the exact widening: the value of an E4M3 byte without sign. */
__device__ __forceinline__ float isa_cvt_e4m3_f32(uint32_t byte)
{
#if __CUDA_ARCH__ >= 890
    uint32_t two;
    float r;

    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(two) : "h"((uint16_t)byte));
    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.f32.f16 %0, lo; }" : "=f"(r) : "r"(two));
    return r;
#else
    return fp4a_from_e4m3(byte);
#endif
}

/* cvt.rn.bf16x2.f32 (PTX 7.0, sm_80): b in the low half; NaN gives 7FFF. */
__device__ __forceinline__ uint32_t isa_cvt_bf16x2(float a, float b)
{
    uint32_t r;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b));
    return r;
}

/* mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 (PTX 7.0, sm_80). The order of the 16 products of a sum is left open by the text;
 * Hopper cuts and adds them as RHT 4.1 says. */
__device__ __forceinline__ void isa_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(0.0f));
}

/* ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 (PTX 6.5, sm_75): four transposed 8x8 tiles; address: one row of 16 bytes a lane. */
__device__ __forceinline__ void isa_ldmatrix_x4_trans(uint32_t r[4], const void *shared_row)
{
    uint32_t address = (uint32_t)__cvta_generic_to_shared(shared_row);

    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

/* cp.async.cg.shared.global of 16 bytes (PTX 7.0, sm_80), its commit_group and wait_group. */
__device__ __forceinline__ void isa_cp_async16(void *to_shared, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(to_shared)), "l"(from)
                 : "memory");
}

__device__ __forceinline__ void isa_cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void isa_cp_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

/* cvt.rn.satfinite.e4m3x2.f32 (PTX 7.8, sm_89): b in the low byte. Below sm_89 the integer version of fp4arith.h. */
__device__ __forceinline__ uint32_t isa_cvt_rn_e4m3(float v)
{
#if __CUDA_ARCH__ >= 890
    uint16_t r;

    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(0.0f), "f"(v));
    return r & 0xFFu;
#else
    return fp4a_to_e4m3(v);
#endif
}

/* cvt.rn.satfinite.e4m3x2.f32 (PTX 7.8, sm_89): b in bits 7:0, a in bits 15:8. */
__device__ __forceinline__ uint32_t isa_cvt_rn_e4m3x2(float a, float b)
{
#if __CUDA_ARCH__ >= 890
    uint16_t r;

    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(a), "f"(b));
    return r;
#else
    return fp4a_to_e4m3(a) << 8 | fp4a_to_e4m3(b);
#endif
}

/* fma.rn.f32 twice (PTX 2.0), the second one under a predicate: a3 * b3 - c where the two low bits of t are 3, else a * b - c. */
__device__ __forceinline__ float isa_fma_by_low_bits(float t, float a3, float b3, float a, float b, float c)
{
    float r;

    asm("{\n"
        "  .reg .pred other;\n"
        "  .reg .b32 u;\n"
        "  .reg .f32 minus;\n"
        "  not.b32 u, %1;\n"
        "  and.b32 u, u, 3;\n"
        "  setp.ne.u32 other, u, 0;\n"
        "  neg.f32 minus, %6;\n"
        "  fma.rn.f32 %0, %2, %3, minus;\n"
        "  @other fma.rn.f32 %0, %4, %5, minus;\n"
        "}"
        : "=&f"(r)
        : "r"(__float_as_uint(t)), "f"(a3), "f"(b3), "f"(a), "f"(b), "f"(c));
    return r;
}

/* ---- E2M1 without an FP4 instruction. y is a result of arithmetic, so a NaN is 7FFFFFFF and gives +6 through fminf ------------------ */

/* cvt.rn.f16x2.f32 (PTX 7.0, sm_80): b in the low half; subnormal results are kept, NaN gives 7FFF. */
__device__ __forceinline__ uint32_t isa_cvt_f16x2(float a, float b)
{
    uint32_t r;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a), "f"(b));
    return r;
}

/*
 * Nearest E2M1 codes of two values, in bits 3:0 and 19:16. The subnormal numbers of binary16 are multiples of 2^-24, so converting
 * y * 2^-23, y * 2^-24 and y * 2^-25 rounds y to halves, ones and twos, ties to even, and the low bits of the results count them. With h
 * halves, o ones and t twos the index is min(h, o + 2, t + 4, 7): each grid is the finest one where its term is the least. Inf and NaN are
 * large counts and give 7; the sign is the first result's.
 */
__device__ __forceinline__ uint32_t isa_rn_pair(float y0, float y1)
{
    uint32_t h = isa_cvt_f16x2(fp4a_mul(y1, 0x1p-23f), fp4a_mul(y0, 0x1p-23f));
    uint32_t o = isa_cvt_f16x2(fp4a_mul(fabsf(y1), 0x1p-24f), fp4a_mul(fabsf(y0), 0x1p-24f));
    uint32_t t = isa_cvt_f16x2(fp4a_mul(fabsf(y1), 0x1p-25f), fp4a_mul(fabsf(y0), 0x1p-25f));
    uint32_t m = __viaddmin_u16x2(o, 0x00020002u, __viaddmin_u16x2(t, 0x00040004u, 0x00070007u));

    return __vminu2(h & 0x7FFF7FFFu, m) | (h >> 12 & 0x00080008u);
}

/* The same for y = x * e where |y| < 7, e >= 2^-100 and there is no NaN. Scaling by powers of two commutes with the rounding of the product, so
 * each product is made in its own scale (below 2^-103 it may not, but there every count is 0); nothing saturates, so the signed counts can be
 * compared as they are (the signs of a value's three counts are equal). Codes in bits 2:0 and 18:16, signs in bits 15 and 31. */
__device__ __forceinline__ uint32_t isa_mul_rn_pair_small(float x0, float x1, float e23, float e24, float e25)
{
    uint32_t h = isa_cvt_f16x2(fp4a_mul(x1, e23), fp4a_mul(x0, e23));
    uint32_t o = isa_cvt_f16x2(fp4a_mul(x1, e24), fp4a_mul(x0, e24));
    uint32_t t = isa_cvt_f16x2(fp4a_mul(x1, e25), fp4a_mul(x0, e25));

    return __viaddmin_u16x2(__viaddmin_u16x2(t, 0x00020002u, o), 0x00020002u, h);
}

/* Two such codes as one byte, in bits 7:0: shifts by 12 and 24 as high halves of products, which the multiplier adds for nothing. */
__device__ __forceinline__ uint32_t isa_pair_byte(uint32_t v)
{
    return __umulhi(v, 1u << 8) + (__umulhi(v, 1u << 20) + v);
}

__device__ __forceinline__ uint32_t isa_sign_nibble(float y)
{
    return __float_as_uint(y) >> 28 & 8u;
}

/* ---- stochastic rounding without an FP4 instruction -------------------------------------------------------------------------------------
 *
 * Rule trunc adds the random byte to the eight bits below the kept one. With x scaled so that E2M1's smallest normal, 1, becomes the
 * smallest normal of a wider format, E2M1's subnormal 0.5 becomes one of its subnormals, and in both the code is the bits of |x| from the
 * first fraction bit up: one integer addition rounds, and its carry walks through the exponent by itself. 2^-126 does that in binary32, 2^-14
 * in binary16, where one 32-bit addition serves two values. What the scaling and the cut to binary16 drop lies below the eight bits. */

/* One value: the index. */
__device__ __forceinline__ uint32_t isa_rs_trunc_index(float y, uint32_t r)
{
    uint32_t u = __float_as_uint(__fmul_rz(fminf(fabsf(y), 6.0f), __uint_as_float(0x00800000u)));

    return (u + (r << 14)) >> 22;
}

/* a and b times 2^-14; mul.rn.f32x2 (PTX 8.6, sm_100) where it exists. */
__device__ __forceinline__ void isa_scale_pair(float *a, float *b)
{
#if __CUDA_ARCH__ >= 1000
    asm("{\n"
        "  .reg .b64 pair, scale;\n"
        "  mov.b64 pair, {%0, %1};\n"
        "  mov.b64 scale, 0x3880000038800000;\n"
        "  mul.rn.f32x2 pair, pair, scale;\n"
        "  mov.b64 {%0, %1}, pair;\n"
        "}"
        : "+f"(*a), "+f"(*b));
#else
    *a = __fmul_rn(*a, 0.00006103515625f);
    *b = __fmul_rn(*b, 0.00006103515625f);
#endif
}

/* cvt.rz.f16x2.f32 (PTX 7.0, sm_80): the second operand in the low half. */
__device__ __forceinline__ uint32_t isa_cvt_rz_f16x2(float high, float low)
{
    uint32_t h;

    asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

/* min.xorsign.abs.f16x2 (PTX 7.2, sm_86): the sign of h with the smaller of |h| and 6 * 2^-14; a NaN, 7FFF by then, gives +6. */
__device__ __forceinline__ uint32_t isa_clamp_scaled_f16x2(uint32_t h)
{
    uint32_t r;

#if __CUDA_ARCH__ >= 860
    asm("min.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(r) : "r"(h), "r"(0x0E000E00u));
#else
    asm("min.f16x2 %0, %1, %2;" : "=r"(r) : "r"(h), "r"(0x0E000E00u));
    asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(r), "r"(0x8E008E00u));
#endif
    return r;
}

/* The random bytes of nibbles 0 and 2 (pair 0) or 1 and 3 (pair 1) in the low bytes of two halves: map as fp4a_map_byte. */
__device__ __forceinline__ uint32_t isa_rs_bytes(int map, uint32_t rbits, int pair)
{
    /* A reversed word holds its bytes reversed, the last one first. */
    uint32_t from = map == FP4_MAP_B300 && pair ? __brev(rbits) : rbits;
    uint32_t order = map == FP4_MAP_B300       ? (pair ? 0x4243u : 0x4342u)
                     : map == FP4_MAP_PTX_X    ? (pair ? 0x4140u : 0x4342u)
                     : map == FP4_MAP_PTX_Y    ? (pair ? 0x4342u : 0x4140u)
                     : map == FP4_MAP_STRAIGHT ? (pair ? 0x4341u : 0x4240u)
                                               : (pair ? 0x4042u : 0x4143u);

    return __byte_perm(from, 0, order);
}

__device__ __forceinline__ uint32_t isa_rs_trunc_x4(int map, float v0, float v1, float v2, float v3, uint32_t rbits)
{
    uint32_t even, odd, w, n;

    isa_scale_pair(&v0, &v1);
    isa_scale_pair(&v2, &v3);
    even = isa_clamp_scaled_f16x2(isa_cvt_rz_f16x2(v2, v0)) + 2 * isa_rs_bytes(map, rbits, 0);
    odd = isa_clamp_scaled_f16x2(isa_cvt_rz_f16x2(v3, v1)) + 2 * isa_rs_bytes(map, rbits, 1);
    /* The upper bytes of the halves are s000iiix: sign, index, a bit to drop. From the low end: values 1, 3, 0, 2. */
    w = __byte_perm(even, odd, 0x3175);
    n = (w >> 1 | w >> 4) & 0x0F0F0F0Fu;
    return n * 0x00100001u >> 16; /* moves nibbles 1 and 3 between 0 and 2, and behind them */
}

/* Any rule and map, four values and one word; v0 is nibble 0. rule and map are constants where speed matters. */
__device__ __forceinline__ uint32_t isa_rs_value(int rule, int map, float v, uint32_t rbits, uint32_t nibble)
{
    if (rule == FP4_RS_HASH32)
        return fp4a_rs_hash32(__float_as_uint(v), rbits, nibble);
    if (rule == FP4_RS_TRUNC)
        return isa_rs_trunc_index(v, fp4a_map_byte(map, rbits, nibble)) | isa_sign_nibble(v);
    return fp4a_rs_byte_rule(rule, v, fp4a_map_byte(map, rbits, nibble));
}

__device__ __forceinline__ uint32_t isa_rs_soft_x4(int rule, int map, float v0, float v1, float v2, float v3, uint32_t rbits)
{
    if (rule == FP4_RS_TRUNC)
        return isa_rs_trunc_x4(map, v0, v1, v2, v3, rbits);
    return isa_rs_value(rule, map, v0, rbits, 0) | isa_rs_value(rule, map, v1, rbits, 1) << 4 |
           isa_rs_value(rule, map, v2, rbits, 2) << 8 | isa_rs_value(rule, map, v3, rbits, 3) << 12;
}

#endif

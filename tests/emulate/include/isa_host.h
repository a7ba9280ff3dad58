/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of kernels/isa/common.cuh that are inline PTX there, in C++ here; included in their place (see prepare.py). */
#ifndef FP4_ISA_HOST_H
#define FP4_ISA_HOST_H

/* No table here: te-fast cases of the transform are left to a GPU. */
inline float isa_rcp_approx_ftz(float x)
{
    return emulate_nan(1.0f / x);
}

static inline float isa_upper_bf16(uint32_t pair)
{
    bool finite = (pair & 0x7F80u) != 0x7F80u, nan = (pair & 0x7FFFFFFFu) > 0x7F80FFFFu;

    return __uint_as_float((nan ? 0x7FFF0000u : pair & 0xFFFF0000u) | (finite ? 0 : 0x7FFFu));
}

template <typename F> static inline uint32_t emulate_halves(uint32_t a, uint32_t b, F f)
{
    return f(a & 0xFFFFu, b & 0xFFFFu) | f(a >> 16, b >> 16) << 16;
}

static inline bool emulate_bf16_nan(uint32_t h)
{
    return (h & 0x7FFFu) > 0x7F80u;
}

static inline float emulate_bf16(uint32_t h)
{
    return __uint_as_float(h << 16);
}

static inline uint32_t isa_max_nan_bf16x2(uint32_t a, uint32_t b)
{
    return emulate_halves(a, b, [](uint32_t x, uint32_t y) -> uint32_t {
        if (emulate_bf16_nan(x) || emulate_bf16_nan(y))
            return 0x7FFFu;
        return emulate_bf16(x) >= emulate_bf16(y) ? x : y;
    });
}

static inline uint32_t isa_abs_max_nan_bf16x2(uint32_t a, uint32_t b)
{
    return emulate_halves(a, b, [](uint32_t x, uint32_t y) -> uint32_t {
        if (emulate_bf16_nan(x) || emulate_bf16_nan(y))
            return 0x7FFFu;
        return std::max(x & 0x7FFFu, y & 0x7FFFu) | ((x ^ y) & 0x8000u);
    });
}

static inline uint32_t isa_select_bits(uint32_t mask, uint32_t a, uint32_t b)
{
    return (a & mask) | (b & ~mask);
}

static inline float isa_min_nan(float a, float b)
{
    return a != a || b != b ? __uint_as_float(0x7FFFFFFFu) : a < b ? a : b;
}

static inline float isa_cvt_e4m3_f32(uint32_t byte)
{
    return fp4a_from_e4m3(byte);
}

static inline uint32_t isa_cvt_rn_e4m3(float v)
{
    return fp4a_to_e4m3(v);
}

static inline uint32_t isa_cvt_rn_e4m3x2(float a, float b)
{
    return fp4a_to_e4m3(a) << 8 | fp4a_to_e4m3(b);
}

static inline float isa_fma_by_low_bits(float t, float a3, float b3, float a, float b, float c)
{
    return (__float_as_uint(t) & 3u) == 3u ? __fmaf_rn(a3, b3, -c) : __fmaf_rn(a, b, -c);
}

static inline uint32_t isa_cvt_bf16x2(float a, float b)
{
    return fp4a_to_bf16(a) << 16 | fp4a_to_bf16(b);
}

static inline uint32_t isa_cvt_f16x2(float a, float b)
{
    return fp4a_to_f16(a) << 16 | fp4a_to_f16(b);
}

static inline uint32_t emulate_f16_rz(float v)
{
    uint32_t bits = __float_as_uint(v), sign = bits >> 16 & 0x8000u, a = bits & 0x7FFFFFFFu, h;

    if (a > 0x7F800000u)
        return 0x7FFFu;
    h = fp4a_to_f16(v) & 0x7FFFu;
    if (a != 0x7F800000u && (h == 0x7C00u || fp4a_from_f16(h) > __uint_as_float(a)))
        h--; /* nearest went away from zero */
    return sign | h;
}

static inline uint32_t isa_cvt_rz_f16x2(float high, float low)
{
    return emulate_f16_rz(high) << 16 | emulate_f16_rz(low);
}

static inline uint32_t isa_clamp_scaled_f16x2(uint32_t h)
{
    return emulate_halves(h, 0x0E000E00u, [](uint32_t x, uint32_t six) -> uint32_t {
        if ((x & 0x7FFFu) > 0x7C00u)
            return six;
        return std::min(x & 0x7FFFu, six) | (x & 0x8000u);
    });
}

static inline void isa_scale_pair(float *a, float *b)
{
    *a = __fmul_rn(*a, 0.00006103515625f);
    *b = __fmul_rn(*b, 0.00006103515625f);
}

static inline void isa_cp_async16(void *to_shared, const void *from)
{
    memcpy(to_shared, from, 16);
}

static inline void isa_cp_async_commit(void)
{
}

template <int PENDING> static inline void isa_cp_async_wait(void)
{
}

/* Four 8x8 tiles of 16-bit elements, the rows at the lanes' addresses, handed out transposed. */
static inline void isa_ldmatrix_x4_trans(uint32_t r[4], const void *shared_row)
{
    const unsigned char(*all)[64] = emulate_exchange(&shared_row, sizeof shared_row);
    uint32_t lane = threadIdx.x % 32;

    for (uint32_t m = 0; m < 4; m++) {
        uint32_t two = 0;

        for (uint32_t k = 0; k < 2; k++) {
            const uint16_t *row;

            memcpy(&row, all[8 * m + lane % 4 * 2 + k], sizeof row);
            two |= (uint32_t)row[lane / 4] << 16 * k;
        }
        r[m] = two;
    }
    __syncwarp();
}

/* Row-major A (16x16), column-major B (16x8): the sums by the reference's tensor-core model, products of +-0.25 alone. */
static inline void isa_mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    uint32_t mine[6] = { a[0], a[1], a[2], a[3], b[0], b[1] }, lane = threadIdx.x % 32;
    const unsigned char(*all)[64] = emulate_exchange(mine, sizeof mine);

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t row = lane / 4 + 8 * (i / 2), col = lane % 4 * 2 + i % 2;
        float x[16], sums[16];

        for (uint32_t k = 0; k < 16; k++) {
            uint32_t from[6], other[6];

            memcpy(from, all[row % 8 * 4 + k % 8 / 2], sizeof from);
            memcpy(other, all[col * 4 + k % 8 / 2], sizeof other);
            x[k] = __uint_as_float((from[row / 8 + 2 * (k / 8)] >> 16 * (k % 2) & 0xFFFFu) << 16);
            if ((other[4 + k / 8] >> 16 * (k % 2) & 0x8000u) != 0)
                x[k] = __uint_as_float(__float_as_uint(x[k]) ^ 0x80000000u);
        }
        fp4_rht_group(x, 0, false, FP4_SUM_TC, sums); /* output 0 of the plain transform is the sum of x / 4 */
        d[i] = sums[0];
    }
    __syncwarp();
}

#endif

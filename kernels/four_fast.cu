/* SPDX-License-Identifier: Apache-2.0 */
/*
 * four_fast.cu: four-over-six of bf16 as the kernels of Transformer Engine and torchao do it, rowwise, no stages.
 *
 * A thread holds one line of a block. Everything about a candidate depends on its scale byte alone once the amax is known: the multiplier
 * of the elements, and the value of each code in the error, RN(RN(q f A) / (6 B)). That value is v(1) or v(1.5) times a power of two,
 * because such a factor goes through both roundings untouched; so a table of three numbers a byte replaces two products and a division
 * an element, and the difference from x is one fma, whose product is exact. The table is made once by each block of threads.
 * What that needs, and what fails for amaxes at the ends of the range and for blocks with NaN, is tested a block; they take the general text.
 */
#include "encode16.cuh"
#include "four_block.cuh"
#include "fp4divide.h"

#define THREADS 256
#define RUN 4 /* 16x16: blocks of a line that a lane takes one after the other, so that it writes 32 bytes of codes at once */

/* ---- what is fast ---------------------------------------------------------------------------------------------------------------------------- */

/* The recipe of this file, known to the compiler: chains that are not this one go through the general kernel. */
__host__ __device__ static inline struct four_chain fast_chain(bool mse, float numerator)
{
    struct four_chain ch = {};

    ch.chain.global = GLOBAL_TE;
    ch.chain.element = ELEMENT_IEEE;
    ch.value = FOUR_VALUE_AMAX;
    ch.mse = mse;
    ch.numerator = numerator;
    return ch;
}

static bool is_fast_chain(const struct four_chain &ch)
{
    const struct four_chain fast = fast_chain(ch.mse, ch.numerator);

    return ch.value == fast.value && ch.chain.global == fast.chain.global && ch.chain.element == fast.chain.element &&
           !ch.chain.divide_by_six && !ch.chain.keep_nan && !ch.chain.zero_to_plus && !ch.chain.drop_minus_zero &&
           !ch.chain.nan_code_zero && !ch.fused && !ch.zero_block && !ch.zero_amax && !ch.all_nan_keeps;
}

static bool no_stages(const struct fp4_four_stages &s)
{
    return !s.scales[0] && !s.scales[1] && !s.codes[0] && !s.codes[1] && !s.errors[0] && !s.errors[1] && !s.pick;
}

/* ---- the table of an amax ------------------------------------------------------------------------------------------------------------------ */

struct __align__(16) four_entry
{
    float e;       /* multiplier of the elements; Inf: this byte is not for the fast way */
    float one;     /* value of a code that means 1 */
    float onehalf; /* of one that means 1.5, times 2^-22 */
    float m;       /* what a layer without an FP4 instruction multiplies by (isa/soft_bf16.cuh) */
};

struct four_table {
    struct four_entry of[128];
};

template <typename ISA>
__device__ __forceinline__ struct four_entry four_entry_of(const struct four_chain &ch, const struct chain_globals &g,
                                                           uint32_t byte)
{
    float f = fp4a_from_e4m3(byte), r = fp4a_reciprocal_of((uint32_t)ch.numerator);
    float product = fp4a_mul(f, g.amax);
    struct four_entry t;

    t.e = chain_element_scale(&ch.chain, &g, byte);
    t.one = fp4a_divide_by(product, ch.numerator, r);
    t.onehalf = fp4a_mul(fp4a_divide_by(fp4a_mul(fp4a_mul(f, 1.5f), g.amax), ch.numerator, r), 0x1p-22f);
    t.m = ISA::native_rn ? 0.0f : isa_bf16_multiplier(t.e);
    /* nothing is subnormal and nothing overflows, for 0.5 as for 6; or everything is 0 */
    if (!(t.one >= 0x1p-100f && product <= 0x1p120f && t.e >= 0x1p-100f) && !(byte == 0 && t.one == 0.0f && t.e > 0.0f))
        t.e = __uint_as_float(0x7F800000u);
    return t;
}

/* Whether any multiplier m of the block of threads is of kind ties. A barrier: all threads call it. */
template <typename ISA>
__device__ __forceinline__ bool four_table_fill(struct four_table *t, const struct four_chain &ch, const struct chain_globals &g)
{
    bool ties = false;

    for (uint32_t byte = threadIdx.x; byte < 128; byte += blockDim.x) {
        t->of[byte] = four_entry_of<ISA>(ch, g, byte);
        ties |= t->of[byte].m < 0.0f;
    }
    return __syncthreads_or(ties);
}

/* ---- errors ---------------------------------------------------------------------------------------------------------------------------------- */

/*
 * One element of magnitude a. Adding c, 2^22 times the power of two at or below y (1 for a smaller y), leaves the last place at E2M1's
 * step, so the addition rounds y to E2M1; |y| < 7 needs no clamp. The two low bits of the sum are 3 when the code means 1.5, 3 or 6, and
 * then c is 2^22 times the power of two in it.
 */
template <bool MSE> __device__ __forceinline__ float fast_error_step(const struct four_entry &t, float sum, float a)
{
    float y = fp4a_mul(a, t.e), d;
    float c = __uint_as_float((uint32_t)__viaddmax_s32(__float_as_int(y) & 0x7F800000, 22 << 23, 0x4A800000));
    float rounded = fp4a_add(y, c);

    d = isa_fma_by_low_bits(rounded, c, t.onehalf, fp4a_add(rounded, -c), t.one, a);
    return MSE ? fp4a_add(sum, fp4a_mul(d, d)) : fp4a_add(sum, fabsf(d));
}

/* The largest magnitude of a line without its NaN, from the one that keeps them, which is in the low half of pair. */
__device__ __forceinline__ float line_max(uint32_t pair, const float x[16])
{
    float amax = __uint_as_float(pair << 16 & 0x7FFFFFFFu);

    if (fp4a_is_nan(amax)) {
        amax = 0.0f;
        for (int i = 0; i < 16; i++)
            amax = fmaxf(amax, fabsf(x[i]));
    }
    return amax;
}

/* Codes of a line whose largest magnitude is at most amax, amax * t.e < 7, without NaN. */
template <typename ISA>
__device__ __forceinline__ uint2 line_codes(const float x[16], float amax, const struct four_entry &t, bool ties)
{
    if constexpr (ISA::native_rn) {
        return make_uint2(ISA::mul_cvt_rn_e2m1x8(x, t.e), ISA::mul_cvt_rn_e2m1x8(x + 8, t.e));
    } else {
        uint32_t c[4];

        if (fp4a_mul(amax, fabsf(t.m)) < ISA_BF16_LIMIT) { /* not so where m is Inf */
            uint32_t odd = isa_bf16_odd(t.m);

            if (ties)
                return make_uint2(isa_mul_rn_bf16x8<true>(x, t.m, odd), isa_mul_rn_bf16x8<true>(x + 8, t.m, odd));
            return make_uint2(isa_mul_rn_bf16x8<false>(x, t.m, 0), isa_mul_rn_bf16x8<false>(x + 8, t.m, 0));
        }
#pragma unroll
        for (int w = 0; w < 4; w++)
            c[w] = ISA::cvt_rn_e2m1x4(fp4a_mul(x[4 * w], t.e), fp4a_mul(x[4 * w + 1], t.e), fp4a_mul(x[4 * w + 2], t.e),
                                      fp4a_mul(x[4 * w + 3], t.e));
        return make_uint2(__byte_perm(c[0], c[1], 0x5410), __byte_perm(c[2], c[3], 0x5410));
    }
}

/* A line of a block: codes and scale byte of the candidate that is taken. x: where the line is; w: what is there. */
template <typename ISA, bool MSE, bool TILE>
__device__ __forceinline__ uint2 line_fast(const struct four_chain &ch, const struct chain_globals &g,
                                           const struct four_table &table, bool ties, const uint16_t *x, const uint32_t w[8],
                                           uint32_t *byte)
{
    float v[16], amax, error6 = 0.0f, error4 = 0.0f;
    const struct four_line line = { x, 0, 1 };
    uint32_t pair = abs_max16(w), bytes;
    struct four_entry six, four;
    bool small, pick;

    widen16<false>(w, v);
    amax = line_max(pair, v);
    if (TILE)
        amax = tile_max(amax);
    bytes = four_scale_bytes(fp4a_mul(fp4a_divide_by(amax, 6.0f, fp4a_reciprocal_of(6)), g.enc));
    six = table.of[bytes & 127u];
    four = table.of[bytes >> 8 & 127u];
    small = (pair & 0x7FFFu) <= 0x7F80u && fp4a_mul(amax, six.e) < 7.0f && fp4a_mul(amax, four.e) < 7.0f;
    if (small) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            error6 = fast_error_step<MSE>(six, error6, fabsf(v[i]));
            error4 = fast_error_step<MSE>(four, error4, fabsf(v[i]));
        }
    } else {
        error6 = candidate_of<ISA, bf16_tag>(ch, g, line, bytes & 255u, false).error;
        error4 = candidate_of<ISA, bf16_tag>(ch, g, line, bytes >> 8, false).error;
    }
    if (TILE) {
        error6 = tile_sum(error6);
        error4 = tile_sum(error4);
    }
    pick = four_pick(error6, error4) == FP4_MAP_TO_4;
    *byte = (pick ? bytes >> 8 : bytes) & 255u;
    if (!small)
        return candidate_of<ISA, bf16_tag>(ch, g, line, *byte, false).codes;
    if (pick)
        six = four;
    return line_codes<ISA>(v, amax, six, ties);
}

__device__ __forceinline__ void load16(uint32_t w[8], const uint16_t *x)
{
    uint4 low = __ldg((const uint4 *)x), high = __ldg((const uint4 *)x + 1);

    w[0] = low.x;
    w[1] = low.y;
    w[2] = low.z;
    w[3] = low.w;
    w[4] = high.x;
    w[5] = high.y;
    w[6] = high.z;
    w[7] = high.w;
}

/* ---- 1x16 -------------------------------------------------------------------------------------------------------------------------------------- */

/* One amax: block after block. */
template <typename ISA, bool MSE> __global__ void __launch_bounds__(THREADS) four_tensor_kernel(struct four_args d)
{
    if constexpr (ISA::available) {
        __shared__ struct four_table table;
        const struct four_chain ch = fast_chain(MSE, d.ch.numerator);
        struct chain_globals g = four_globals(&ch, d.out.amax[0]);
        uint32_t count = (uint32_t)(d.lines * d.blocks);
        bool ties = four_table_fill<ISA>(&table, ch, g);
        for (uint32_t at = blockIdx.x * THREADS + threadIdx.x; at < count; at += gridDim.x * THREADS) {
            const uint16_t *x = (const uint16_t *)d.x + 16 * (size_t)at;
            uint32_t w[8], byte;

            load16(w, x);
            ((uint2 *)d.out.codes)[at] = line_fast<ISA, MSE, false>(ch, g, table, ties, x, w, &byte);
            d.out.scales[at] = (uint8_t)byte;
        }
    }
}

/* One amax a line, and so one table a line. */
template <typename ISA, bool MSE> __global__ void __launch_bounds__(128) four_rows_kernel(struct four_args d)
{
    if constexpr (ISA::available) {
        __shared__ struct four_table table;
        const struct four_chain ch = fast_chain(MSE, d.ch.numerator);

        for (uint32_t line = blockIdx.x; line < d.lines; line += gridDim.x) {
            struct chain_globals g = four_globals(&ch, d.out.amax[line]);

            bool ties = four_table_fill<ISA>(&table, ch, g);

            for (uint32_t b = threadIdx.x; b < d.blocks; b += 128) {
                uint32_t at = line * (uint32_t)d.blocks + b;
                const uint16_t *x = (const uint16_t *)d.x + 16 * (size_t)at;
                uint32_t w[8], byte;

                load16(w, x);
                ((uint2 *)d.out.codes)[at] = line_fast<ISA, MSE, false>(ch, g, table, ties, x, w, &byte);
                d.out.scales[at] = (uint8_t)byte;
            }
            __syncthreads();
        }
    }
}

/* ---- 16x16 ------------------------------------------------------------------------------------------------------------------------------------- */

/* Half a warp takes RUN tiles beside each other, a lane one line of them. lines a multiple of 16, blocks of RUN. */
template <typename ISA, bool MSE> __global__ void __launch_bounds__(THREADS) four_tiles_kernel(struct four_args d)
{
    if constexpr (ISA::available) {
        __shared__ struct four_table table;
        const struct four_chain ch = fast_chain(MSE, d.ch.numerator);
        struct chain_globals g = four_globals(&ch, d.out.amax[0]);
        uint32_t runs = (uint32_t)d.blocks / RUN, count = (uint32_t)(d.lines / 16) * runs;
        bool ties = four_table_fill<ISA>(&table, ch, g);
        for (uint32_t i = (blockIdx.x * THREADS + threadIdx.x) / 16; i < (count + 1) / 2 * 2; i += gridDim.x * (THREADS / 16)) {
            uint32_t run = i < count ? i : count - 1; /* an odd last half works along and writes what the other one writes */
            uint32_t at = (run / runs * 16 + threadIdx.x % 16) * (uint32_t)d.blocks + run % runs * RUN;
            uint32_t codes[2 * RUN], bytes = 0;

#pragma unroll 1
            for (int k = 0; k < RUN; k++) {
                const uint16_t *x = (const uint16_t *)d.x + 16 * (size_t)(at + k);
                uint32_t w[8], byte;
                uint2 c;

                load16(w, x);
                c = line_fast<ISA, MSE, true>(ch, g, table, ties, x, w, &byte);
#pragma unroll
                for (int j = 0; j < 2 * RUN - 2; j++)
                    codes[j] = k ? codes[j + 2] : 0;
                codes[2 * RUN - 2] = c.x;
                codes[2 * RUN - 1] = c.y;
                bytes = bytes >> 8 | byte << 24;
            }
            ((uint4 *)(d.out.codes + 8 * (size_t)at))[0] = make_uint4(codes[0], codes[1], codes[2], codes[3]);
            ((uint4 *)(d.out.codes + 8 * (size_t)at))[1] = make_uint4(codes[4], codes[5], codes[6], codes[7]);
            *(uint32_t *)(d.out.scales + at) = bytes;
        }
    }
}

/* ---- launcher ------------------------------------------------------------------------------------------------------------------------------------ */

/* As many blocks of threads as the device holds at once, each with a table of its own, but no more than are needed. */
template <typename F>
static void launch_filling(F kernel, const struct four_args &d, int threads, size_t needed, cudaStream_t stream)
{
    int device = 0, sms = 1, each = 1;
    size_t most;

    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
    most = (size_t)sms * (size_t)each;
    if (needed > most)
        needed = most;
    kernel<<<needed ? (unsigned)needed : 1, threads, 0, stream>>>(d);
}

template <typename ISA, bool MSE> static void launch(const struct four_args &d, bool tile, cudaStream_t stream)
{
    if (tile)
        launch_filling(four_tiles_kernel<ISA, MSE>, d, THREADS, grid_for(d.lines * (d.blocks / RUN), THREADS), stream);
    else if (d.row_scaled)
        launch_filling(four_rows_kernel<ISA, MSE>, d, 128, d.lines, stream);
    else
        launch_filling(four_tensor_kernel<ISA, MSE>, d, THREADS, grid_for(d.lines * d.blocks, THREADS), stream);
}

template <typename ISA> static void launch(const struct four_args &d, bool tile, cudaStream_t stream)
{
    if (d.ch.mse)
        launch<ISA, true>(d, tile, stream);
    else
        launch<ISA, false>(d, tile, stream);
}

int four_fast(enum fp4k_isa isa, const struct fp4_four_params *p, const struct four_args *d, cudaStream_t stream)
{
    if (p->input != FP4_BF16 || d->packed_stride != 1 || !is_fast_chain(d->ch) || !only_outputs(d->out) || !no_stages(d->stages) ||
        (uintptr_t)d->x % 16 || (p->block_16x16 && d->blocks % RUN) || d->lines * d->blocks >= 1u << 30)
        return -1;
    FP4_BY_ISA(isa, launch<ISA>(*d, p->block_16x16, stream));
    return (int)cudaGetLastError();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every input there is, through an ISA layer, against the second formulation of reference/fp4second.h; where the layer is not the text of
 * fp4arith.h itself (nearest, rule trunc), that text joins in. One thread an input; the random bytes are its loop.
 *
 * What depends on the float alone leaves that loop, so rule trunc costs a dozen instructions for a byte in four nibbles, the rules that
 * add noise in binary32 about ten times that.
 */
#include "launch.cuh"

#include "fp4divide.h"
#include "fp4second.h"

/* ---- kernels ----------------------------------------------------------------------------------------------------------------------------- */

struct range {
    uint64_t first, count;
    uint32_t stride;
};

__device__ __forceinline__ bool input_of(const struct range &r, uint64_t i, uint32_t *input)
{
    *input = (uint32_t)((r.first + i) * r.stride);
    return i < r.count;
}

__device__ __noinline__ void record(struct fp4x_result *out, uint32_t input, uint32_t random, uint32_t got, uint32_t wanted)
{
    uint32_t slot = atomicAdd(&out->listed, 1u);

    atomicAdd((unsigned long long *)&out->differ, 1ull);
    if (slot < FP4X_LISTED)
        out->list[slot] = { input, random, got, wanted };
}

__device__ __forceinline__ uint32_t nibble_of(uint32_t codes, int k)
{
    return codes >> 4 * k & 15u;
}

/* The quantizers' rounding of eight at once. A layer with the instruction: of any x, |x| < 7, times 1. A layer without (isa/soft_bf16.cuh): of the
 * bf16 x that is the input's upper half times an e that the lower half chooses next to the reciprocal of a whole number, where products meet the
 * midpoints between two codes. Outside of what they are for, the wanted code. */
template <typename ISA> __device__ __forceinline__ void codes_of_eight(const float x[4], const uint32_t bits[4], int turn, uint32_t got[4],
                                                                       uint32_t want[4])
{
    float eight[8];
    uint32_t all;

    if constexpr (ISA::native_rn) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            eight[k] = fabsf(x[(turn + k) % 4]) < 7.0f ? x[(turn + k) % 4] : 0.0f;
        all = ISA::mul_cvt_rn_e2m1x8(eight, 1.0f);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int i = (turn + k) % 4;

            want[i] = fabsf(x[i]) < 7.0f ? fp4x_to_e2m1(bits[i]) : 0;
            if (k < 4 || got[i] == want[i])
                got[i] = fabsf(x[i]) < 7.0f ? nibble_of(all, k) : 0;
        }
    } else {
        uint32_t low = bits[turn] & 0xFFFFu;
        float v = __uint_as_float(bits[turn] & 0xFFFF0000u), e = fp4a_div(1.0f, (float)(low / 5 + 1)), m;

        e = __uint_as_float(__float_as_uint(e) + low % 5 - 2);
        m = isa_bf16_multiplier(e);
#pragma unroll
        for (int k = 0; k < 8; k++)
            eight[k] = k % 2 ? -v : v;
#pragma unroll
        for (int i = 0; i < 4; i++)
            got[i] = want[i] = 0;
        if (!(fp4a_mul(fabsf(v), fabsf(m)) < ISA_BF16_LIMIT))
            return;
        want[turn] = fp4x_to_e2m1(__float_as_uint(fp4a_mul(v, e)));
        all = isa_mul_rn_bf16x8<true>(eight, m, isa_bf16_odd(m));
        if (m > 0.0f && isa_mul_rn_bf16x8<false>(eight, m, 0) != all)
            all = ~all; /* no kind may give another code */
        got[turn] = nibble_of(all, 0);
#pragma unroll
        for (int k = 0; k < 8; k++)
            if ((nibble_of(all, k) ^ (k % 2 ? 8u : 0u)) != want[turn])
                got[turn] = nibble_of(all, k) ^ (k % 2 ? 8u : 0u);
    }
}

/* Four neighbours in each order that a rotation gives: every float in every nibble. */
template <typename ISA> __global__ void rn_kernel(struct range range, struct fp4x_result *out)
{
    if constexpr (ISA::available) {
        uint64_t t = 4 * (blockIdx.x * (uint64_t)blockDim.x + threadIdx.x);
        uint32_t bits[4], want[4], bad[4], seen[4];
        float x[4];

#pragma unroll
        for (int k = 0; k < 4; k++) {
            input_of(range, t + k, &bits[k]);
            want[k] = fp4x_to_e2m1(bits[k]);
            seen[k] = fp4a_to_e2m1(__uint_as_float(bits[k]));
            bad[k] = seen[k] ^ want[k];
            x[k] = fp4a_canonical(__uint_as_float(bits[k]));
        }
#pragma unroll
        for (int turn = 0; turn < 4; turn++) {
            uint32_t got = ISA::cvt_rn_e2m1x4(x[turn], x[(turn + 1) % 4], x[(turn + 2) % 4], x[(turn + 3) % 4]), got8[4], want8[4];

            codes_of_eight<ISA>(x, bits, turn, got8, want8);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                int i = (turn + k) % 4;
                uint32_t code = nibble_of(got, k);
                bool first = code != want[i];

                if ((first || got8[i] != want8[i]) && !bad[i]) {
                    bad[i] = 1;
                    seen[i] = first ? code : got8[i];
                    want[i] = first ? want[i] : want8[i];
                }
            }
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (bad[k] && t + k < range.count)
                record(out, bits[k], 0, seen[k], want[k]);
    }
}

/* The conversion instruction (integers below sm_89), the reference's arithmetic and the second formulation. */
__global__ void e4m3_kernel(struct range range, struct fp4x_result *out)
{
    uint32_t bits;

    if (input_of(range, blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, &bits)) {
        uint32_t want = fp4x_to_e4m3(bits);
        uint32_t got = isa_cvt_rn_e4m3(__uint_as_float(bits));

        if (got == want)
            got = fp4a_to_e4m3(__uint_as_float(bits));
        if (got != want)
            record(out, bits, 0, got, want);
    }
}

/* The form without a division, and the division. */
__global__ void divide_kernel(struct range range, uint32_t divisor, struct fp4x_result *out)
{
    uint32_t bits;

    if (input_of(range, blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, &bits)) {
        float v = __uint_as_float(bits), d = (float)divisor;
        uint32_t want = fp4x_divide(bits, divisor);
        uint32_t got = __float_as_uint(fp4a_canonical(fp4a_divide_by(v, d, fp4a_reciprocal_of(divisor))));

        if (got == want)
            got = __float_as_uint(fp4a_canonical(fp4a_div(v, d)));
        if (got != want)
            record(out, bits, 0, got, want);
    }
}

/* As convert.cu: only rule trunc gets the sign of a NaN cleared. */
template <typename ISA, int RULE> __device__ __forceinline__ float op_input(uint32_t bits)
{
    float v = __uint_as_float(bits);

    return !ISA::native_rs && RULE == FP4_RS_TRUNC ? fp4a_canonical(v) : v;
}

template <typename ISA, int RULE> __device__ __forceinline__ uint32_t codes_of(int map, uint32_t bits, uint32_t word)
{
    float x = op_input<ISA, RULE>(bits);

    return ISA::cvt_rs_e2m1x4(RULE, map, x, x, x, x, word);
}

/* All 256 bytes in all four nibbles. A native layer places them by a map of its own: its words are made for the map that is assumed. */
template <typename ISA, int RULE> __global__ void bytes_kernel(struct range range, int native_map, struct fp4x_result *out)
{
    if constexpr (ISA::available) {
        uint32_t bits, down, bad = 0;

        if (input_of(range, blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, &bits)) {
            uint32_t first = fp4x_first_up(RULE, bits, &down);
            int map = ISA::native_rs ? native_map : FP4_MAP_STRAIGHT;

            for (uint32_t r = 0; r < 256; r++) {
                uint32_t want = (down + (r >= first)) * 0x1111u;

                bad |= codes_of<ISA, RULE>(map, bits, fp4x_word_of(map, r)) ^ want;
                if (RULE == FP4_RS_TRUNC)
                    bad |= fp4a_rs_byte_rule(RULE, __uint_as_float(bits), r) * 0x1111u ^ want;
            }
            if (bad) { /* once more, to say where */
                for (uint32_t r = 0; r < 256; r++) {
                    uint32_t want = (down + (r >= first)) * 0x1111u, word = fp4x_word_of(map, r);
                    uint32_t got = codes_of<ISA, RULE>(map, bits, word);

                    if (got == want && RULE == FP4_RS_TRUNC)
                        got = fp4a_rs_byte_rule(RULE, __uint_as_float(bits), r) * 0x1111u;
                    if (got != want) {
                        record(out, bits, word, got, want);
                        break;
                    }
                }
            }
        }
    }
}

/* Rule hash32 has no byte: for each nibble the words whose hash is the threshold, one less, the least and the largest. */
template <typename ISA> __global__ void hash_kernel(struct range range, struct fp4x_result *out)
{
    if constexpr (ISA::available) {
        uint32_t bits, down;

        if (input_of(range, blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, &bits)) {
            uint32_t threshold = fp4x_hash_threshold(bits, &down);
            uint32_t bad = 0, bad_word = 0, bad_got = 0, bad_want = 0;

#pragma unroll
            for (uint32_t lane = 0; lane < 4; lane++) {
                uint32_t hash[4] = { threshold - 1, threshold, 0, 0xFFFFFFFFu };

                for (int k = 0; k < 4; k++) {
                    uint32_t word = fp4x_hash_inverse(hash[k], lane);
                    uint32_t got = codes_of<ISA, FP4_RS_HASH32>(0, bits, word) >> 4 * lane & 15u;
                    uint32_t want = down + (hash[k] < threshold);

                    if (got != want && !bad) {
                        bad = 1;
                        bad_word = word;
                        bad_got = got << 4 * lane;
                        bad_want = want << 4 * lane;
                    }
                }
            }
            if (bad)
                record(out, bits, bad_word, bad_got, bad_want);
        }
    }
}

/* Four values that go up with these bytes and not with the bytes below, then four that stay down and would not with the bytes above: the
 * layer takes exactly these bytes. */
template <typename ISA, int RULE> __global__ void map_kernel(struct range range, int map, struct fp4x_result *out)
{
    if constexpr (ISA::available) {
        uint32_t word;

        if (input_of(range, blockIdx.x * (uint64_t)blockDim.x + threadIdx.x, &word)) {
            float up[4], down[4];
            uint32_t got_up, got_down;

#pragma unroll
            for (uint32_t k = 0; k < 4; k++) {
                uint32_t r = fp4x_map_byte(map, word, k);

                up[k] = __uint_as_float(fp4x_telling_value(r, k));
                down[k] = __uint_as_float(fp4x_telling_value(r + 1, k));
            }
            got_up = ISA::cvt_rs_e2m1x4(RULE, map, up[0], up[1], up[2], up[3], word);
            got_down = ISA::cvt_rs_e2m1x4(RULE, map, down[0], down[1], down[2], down[3], word);
            if (got_up != FP4X_TOLD_UP)
                record(out, word, word, got_up, FP4X_TOLD_UP);
            else if (got_down != FP4X_TOLD_DOWN)
                record(out, word, word, got_down, FP4X_TOLD_DOWN);
        }
    }
}

/* ---- launchers ------------------------------------------------------------------------------------------------------------------------------ */

static constexpr unsigned threads = 256;

template <typename ISA, int RULE>
static void launch_rule(enum fp4x_sweep sweep, int map, struct range range, struct fp4x_result *d_out, cudaStream_t stream)
{
    unsigned grid = grid_for(range.count, threads);

    if (sweep == FP4X_RS_MAP)
        map_kernel<ISA, RULE><<<grid, threads, 0, stream>>>(range, map, d_out);
    else
        bytes_kernel<ISA, RULE><<<grid, threads, 0, stream>>>(range, map, d_out);
}

template <typename ISA>
static void launch_layer(enum fp4x_sweep sweep, struct fp4_rs_model model, struct range range, struct fp4x_result *d_out,
                         cudaStream_t stream)
{
    int map = (int)model.map;

    if (sweep == FP4X_CVT_RN)
        rn_kernel<ISA><<<grid_for((range.count + 3) / 4, threads), threads, 0, stream>>>(range, d_out);
    else if (sweep == FP4X_E4M3)
        e4m3_kernel<<<grid_for(range.count, threads), threads, 0, stream>>>(range, d_out);
    else if (sweep < FP4X_RS_BYTES)
        divide_kernel<<<grid_for(range.count, threads), threads, 0, stream>>>(range, fp4x_divisor(sweep), d_out);
    else if (ISA::native_rs || model.rule == FP4_RS_TRUNC)
        launch_rule<ISA, FP4_RS_TRUNC>(sweep, map, range, d_out, stream);
    else if constexpr (!ISA::native_rs) {
        if (model.rule == FP4_RS_HALF)
            launch_rule<ISA, FP4_RS_HALF>(sweep, map, range, d_out, stream);
        else if (model.rule == FP4_RS_HALF_OLD)
            launch_rule<ISA, FP4_RS_HALF_OLD>(sweep, map, range, d_out, stream);
        else if (model.rule == FP4_RS_FMA_FLOOR)
            launch_rule<ISA, FP4_RS_FMA_FLOOR>(sweep, map, range, d_out, stream);
        else
            hash_kernel<ISA><<<grid_for(range.count, threads), threads, 0, stream>>>(range, d_out);
    }
}

extern "C" int fp4k_exhaustive(enum fp4k_isa isa, enum fp4x_sweep sweep, struct fp4_rs_model model, uint64_t first, uint64_t count,
                               uint32_t stride, struct fp4x_result *d_out, void *stream)
{
    struct range range = { first, count, stride };

    if (count > (uint64_t)0x7FFFFFFF * threads || (sweep == FP4X_RS_MAP && model.rule == FP4_RS_HASH32))
        return (int)cudaErrorInvalidValue;
    if (count)
        FP4_BY_ISA(isa, launch_layer<ISA>(sweep, model, range, d_out, (cudaStream_t)stream));
    return (int)cudaGetLastError();
}

// SPDX-License-Identifier: Apache-2.0
//
// oracle_cuda: libfp4ref against the host conversions of the CUDA toolkit's cuda_fp4.h and cuda_fp8.h.
//
//     oracle_cuda [STRIDE]
//
// Goes through all 2^32 binary32 patterns in steps of STRIDE (default 251; 1 is everything) in two threads, for E2M1 and E4M3
// to nearest, saturating; then all codes of both formats decoded to half, and random pairs for the packed conversions. The
// last line is "N compared, M different"; exit status 1 when M is not 0. Runs on the CPU: no GPU is needed.
//
// NaN: the toolkit's host code and the instructions agree on code 7 and byte 0x7F, so NaN is compared like everything else.
#include "fp4ref.h"

#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace
{

constexpr unsigned shown_at_most = 10;

std::atomic<std::uint64_t> compared{ 0 };
std::atomic<std::uint64_t> different{ 0 };

float as_float(std::uint32_t bits)
{
    float v;

    std::memcpy(&v, &bits, sizeof v);
    return v;
}

void report(const char *what, std::uint64_t input, unsigned got, unsigned want)
{
    if (different++ < shown_at_most)
        std::printf("%s %08" PRIx64 ": libfp4ref %x, toolkit %x\n", what, input, got, want);
}

// Counts are kept per thread and added at the end, so that the threads do not wait for each other.
void sweep(std::uint64_t begin, std::uint64_t end, std::uint64_t stride)
{
    std::uint64_t count = 0;

    for (std::uint64_t bits = begin; bits < end; bits += stride, count += 2) {
        const float x = as_float(static_cast<std::uint32_t>(bits));
        const unsigned e2m1 = __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest) & 15u;
        const unsigned e4m3 = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);

        if (f32_to_e2m1(x).bits != e2m1)
            report("e2m1", bits, f32_to_e2m1(x).bits, e2m1);
        if (f32_to_e4m3(x).bits != e4m3)
            report("e4m3", bits, f32_to_e4m3(x).bits, e4m3);
    }
    compared += count;
}

unsigned half_bits(__half_raw v)
{
    return v.x;
}

void decode_all()
{
    for (unsigned code = 0; code < 16; code++, compared++) {
        const unsigned want = half_bits(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(code), __NV_E2M1));
        const unsigned got = f32_to_f16(e2m1_to_f32(e2m1_t{ static_cast<std::uint8_t>(code) })).bits;

        if (got != want)
            report("e2m1 decoded to half", code, got, want);
    }
    for (unsigned code = 0; code < 256; code++, compared++) {
        const unsigned want = half_bits(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(code), __NV_E4M3));
        const unsigned got = f32_to_f16(e4m3_to_f32(e4m3_t{ static_cast<std::uint8_t>(code) })).bits;

        if (got != want)
            report("e4m3 decoded to half", code, got, want);
    }
}

void packed_pairs()
{
    std::uint64_t state = 1;

    for (unsigned i = 0; i < 1000000; i++, compared += 2) {
        std::uint32_t bits[2];

        for (std::uint32_t &b : bits) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            b = static_cast<std::uint32_t>(state >> 32);
            if (i % 2) // around one
                b = (b & 0x83FFFFFFu) | 0x3C000000u;
        }
        const float lo = as_float(bits[0]);
        const float hi = as_float(bits[1]);
        const unsigned want4 = __nv_cvt_float2_to_fp4x2(float2{ lo, hi }, __NV_E2M1, cudaRoundNearest);
        const unsigned want8 = __nv_cvt_float2_to_fp8x2(float2{ lo, hi }, __NV_SATFINITE, __NV_E4M3);

        if (fp4_cvt_rn_e2m1x2(hi, lo) != want4)
            report("e2m1x2", bits[0], fp4_cvt_rn_e2m1x2(hi, lo), want4);
        if (fp4_cvt_rn_e4m3x2(hi, lo) != want8)
            report("e4m3x2", bits[0], fp4_cvt_rn_e4m3x2(hi, lo), want8);
    }
}

} // namespace

int main(int argc, char **argv)
{
    const std::uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 251;
    const std::uint64_t all = std::uint64_t{ 1 } << 32;

    if (stride == 0 || argc > 2) {
        std::fputs("usage: oracle_cuda [STRIDE]\n", stderr);
        return 2;
    }
    // The second half begins at the first multiple of the stride in it.
    const std::uint64_t middle = (all / 2 + stride - 1) / stride * stride;
    std::thread other(sweep, middle, all, stride);

    sweep(0, middle < all ? middle : all, stride);
    other.join();
    decode_all();
    packed_pairs();
    std::printf("%" PRIu64 " compared, %" PRIu64 " different\n", compared.load(), different.load());
    return different.load() == 0 ? 0 : 1;
}

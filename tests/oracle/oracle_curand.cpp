// SPDX-License-Identifier: Apache-2.0
//
// oracle_curand: the Philox of libfp4ref against cuRAND, on the CPU.
//
//     oracle_curand
//
// Three comparisons of 32-bit words:
//   - the device header's curand_init, curand and curand4, compiled here for the host, against fp4_philox_init_curand and
//     fp4_philox_next (offset counted in words);
//   - the device header's bare block function against fp4_philox_init and fp4_philox_next4 (offset counted in blocks);
//   - the host generator (curandCreateGeneratorHost, CURAND_RNG_PSEUDO_PHILOX4_32_10). It hands out four words of each of
//     65,536 subsequences in turn, then the next four of each: word i is word 4 * (i / 262144) + i % 4 of subsequence
//     i / 4 % 65536. A generator offset skips that many words of this order.
// The last line is "N compared, M different"; exit status 1 when M is not 0, 2 when cuRAND refuses to work.
#include "fp4ref.h"

// The header's functions are device functions unless this says otherwise.
#define QUALIFIERS static inline
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include <curand.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace
{

std::uint64_t compared;
std::uint64_t different;

void compare(const char *what, std::uint64_t row, std::uint32_t got, std::uint32_t want)
{
    compared++;
    if (got != want && different++ < 10)
        std::printf("%s, row %" PRIu64 ": libfp4ref %08" PRIx32 ", cuRAND %08" PRIx32 "\n", what, row, got, want);
}

std::uint64_t draw(std::uint64_t &state)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 32) * 0x9E3779B97F4A7C15u ^ state;
}

// A number of up to 64 bits, of all lengths, and now and then one below a power of two.
std::uint64_t draw_length(std::uint64_t &state)
{
    const unsigned length = static_cast<unsigned>(draw(state) >> 58);
    const std::uint64_t ones = ~std::uint64_t{ 0 } >> (63 - length);

    return draw(state) % 4 == 0 ? ones : draw(state) & ones;
}

void device_header()
{
    std::uint64_t state = 1;

    for (std::uint64_t row = 0; row < 200000; row++) {
        const std::uint64_t seed = draw_length(state);
        const std::uint64_t subsequence = draw_length(state);
        const std::uint64_t offset = draw_length(state);
        curandStatePhilox4_32_10_t theirs;
        fp4_philox ours;

        curand_init(seed, subsequence, offset, &theirs);
        fp4_philox_init_curand(&ours, seed, subsequence, offset, 10);
        for (unsigned i = 0; i < 6; i++)
            compare("curand", row, fp4_philox_next(&ours), curand(&theirs));
        const uint4 four = curand4(&theirs);

        for (std::uint32_t word : { four.x, four.y, four.z, four.w })
            compare("curand4", row, fp4_philox_next(&ours), word);
        compare("curand after curand4", row, fp4_philox_next(&ours), curand(&theirs));
    }
}

void block_function()
{
    std::uint64_t state = 2;

    for (std::uint64_t row = 0; row < 200000; row++) {
        const std::uint64_t seed = draw_length(state);
        const std::uint64_t subsequence = draw_length(state);
        const std::uint64_t offset = draw_length(state);
        const uint4 counter = { static_cast<unsigned>(offset), static_cast<unsigned>(offset >> 32),
                                static_cast<unsigned>(subsequence), static_cast<unsigned>(subsequence >> 32) };
        const uint2 key = { static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32) };
        const uint4 want = curand_Philox4x32_10(counter, key);
        std::uint32_t got[4];
        fp4_philox ours;

        fp4_philox_init(&ours, seed, subsequence, offset, 10);
        fp4_philox_next4(&ours, got);
        compare("block", row, got[0], want.x);
        compare("block", row, got[1], want.y);
        compare("block", row, got[2], want.z);
        compare("block", row, got[3], want.w);
    }
}

void must(curandStatus_t status, const char *what)
{
    if (status != CURAND_STATUS_SUCCESS) {
        std::fprintf(stderr, "oracle_curand: %s fails with status %d\n", what, static_cast<int>(status));
        std::exit(2);
    }
}

void host_generator(std::uint64_t seed, std::uint64_t offset, std::size_t count)
{
    constexpr std::uint64_t lanes = 65536;
    std::vector<unsigned> words(count);
    curandGenerator_t generator;

    must(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10), "curandCreateGeneratorHost");
    must(curandSetPseudoRandomGeneratorSeed(generator, seed), "curandSetPseudoRandomGeneratorSeed");
    must(curandSetGeneratorOffset(generator, offset), "curandSetGeneratorOffset");
    must(curandGenerate(generator, words.data(), count), "curandGenerate");
    must(curandDestroyGenerator(generator), "curandDestroyGenerator");
    for (std::size_t k = 0; k < count; k++) {
        const std::uint64_t i = offset + k;
        fp4_philox ours;

        fp4_philox_init_curand(&ours, seed, i / 4 % lanes, 4 * (i / (4 * lanes)) + i % 4, 10);
        compare("host generator", i, fp4_philox_next(&ours), words[k]);
    }
}

} // namespace

int main()
{
    device_header();
    block_function();
    host_generator(12345, 0, 1000000);
    host_generator(0, 0, 300000);
    host_generator(0x0123456789ABCDEFu, 0, 300000);
    host_generator(12345, 4, 300000);
    host_generator(12345, 7, 300000);
    host_generator(12345, 262144 * 5 + 3, 300000);
    std::printf("%" PRIu64 " compared, %" PRIu64 " different\n", compared, different);
    return different == 0 ? 0 : 1;
}

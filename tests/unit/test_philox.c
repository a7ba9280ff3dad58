/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32: known answers, carry, and the two ways of counting the offset. */
#include "check.h"
#include "kat.h"
#include "slow.h"

#include <string.h>

Test(philox, known_answers)
{
    struct kat k;

    for (kat_open(&k, "philox"); kat_next(&k);) {
        const uint64_t seed = kat_hex(&k, 0);
        const uint64_t subsequence = kat_hex(&k, 1);
        const uint64_t offset = kat_hex(&k, 2);
        const uint64_t call = kat_decimal(&k, 3);
        const unsigned rounds = (unsigned)kat_decimal(&k, 4);
        struct fp4_philox p;
        uint32_t got[4] = { 0 };
        uint32_t slow[4];

        fp4_philox_init(&p, seed, subsequence, offset, rounds);
        for (uint64_t i = 0; i <= call; i++)
            fp4_philox_next4(&p, got);
        slow_philox(seed, subsequence, offset + call, rounds, slow);
        for (unsigned w = 0; w < 4; w++) {
            CHECK(got[w] == kat_hex(&k, 5 + w), "philox line %u word %u: %08" PRIx32 ", not %s", k.line_number, w, got[w],
                  kat_text(&k, 5 + w));
            CHECK(slow[w] == kat_hex(&k, 5 + w), "philox line %u: the slow version says otherwise", k.line_number);
        }
    }
}

Test(philox, random_keys_counters_and_rounds_against_long_multiplication)
{
    struct slow_random g = { 21 };

    for (unsigned i = 0; i < 20000; i++) {
        const uint64_t seed = (uint64_t)slow_draw(&g) << 32 | slow_draw(&g);
        const uint64_t subsequence = (uint64_t)slow_draw(&g) << 32 | slow_draw(&g);
        const uint64_t offset = (uint64_t)slow_draw(&g) << 32 | slow_draw(&g);
        const unsigned rounds = 1 + i % 16;
        struct fp4_philox p;
        uint32_t got[4];
        uint32_t want[4];

        fp4_philox_init(&p, seed, subsequence, offset, rounds);
        fp4_philox_next4(&p, got);
        slow_philox(seed, subsequence, offset, rounds, want);
        CHECK(memcmp(got, want, sizeof got) == 0, "row %u: %08" PRIx32 "..., not %08" PRIx32 "...", i, got[0], want[0]);
    }
}

/* The 128-bit counter goes up by one; here the carry passes 1, 2 and 3 words. */
Test(philox, the_counter_carries)
{
    static const struct {
        uint64_t subsequence, offset;
    } row[] = { { 7, UINT32_MAX }, { 7, UINT64_MAX }, { UINT32_MAX, UINT64_MAX }, { UINT64_MAX, UINT64_MAX } };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        struct fp4_philox p;
        uint32_t got[4];
        uint32_t want[4];
        const uint64_t next = row[i].offset + 1;

        fp4_philox_init(&p, 99, row[i].subsequence, row[i].offset, 10);
        fp4_philox_next4(&p, got);
        fp4_philox_next4(&p, got);
        slow_philox(99, next == 0 ? row[i].subsequence + 1 : row[i].subsequence, next, 10, want);
        CHECK(memcmp(got, want, sizeof got) == 0, "row %zu: %08" PRIx32 "..., not %08" PRIx32 "...", i, got[0], want[0]);
    }
}

Test(philox, curand_counts_words_and_te_counts_blocks)
{
    for (uint64_t offset = 0; offset < 40; offset++) {
        struct fp4_philox c;

        fp4_philox_init_curand(&c, 12345, 3, offset, 10);
        for (uint64_t i = 0; i < 20; i++) {
            const uint64_t word = offset + i;
            uint32_t block[4];
            const uint32_t got = fp4_philox_next(&c);

            slow_philox(12345, 3, word / 4, 10, block);
            CHECK(got == block[word % 4], "offset %" PRIu64 " draw %" PRIu64 ": %08" PRIx32 ", not %08" PRIx32, offset, i, got,
                  block[word % 4]);
        }
    }
}

Test(philox, curand_offsets_beyond_32_bits)
{
    static const uint64_t offset[] = { UINT64_C(0x3FFFFFFFF), UINT64_C(0x400000003), UINT64_C(0x7FFFFFFFFFFFFFFF),
                                       UINT64_MAX - 40 };

    for (size_t i = 0; i < sizeof offset / sizeof offset[0]; i++) {
        struct fp4_philox c;

        fp4_philox_init_curand(&c, UINT64_C(0x123456789ABCDEF0), UINT64_C(0x1122334455667788), offset[i], 10);
        for (uint64_t k = 0; k < 12; k++) {
            uint32_t block[4];
            const uint32_t got = fp4_philox_next(&c);

            slow_philox(UINT64_C(0x123456789ABCDEF0), UINT64_C(0x1122334455667788), (offset[i] + k) / 4, 10, block);
            CHECK(got == block[(offset[i] + k) % 4], "offset %" PRIx64 " draw %" PRIu64, offset[i], k);
        }
    }
}

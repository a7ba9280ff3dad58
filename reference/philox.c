/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32 as a stateful generator, with TE's and with cuRAND's way of counting offsets. */
#include "fp4arith.h"
#include "fp4ref.h"

void fp4_philox_init(struct fp4_philox *p, uint64_t seed, uint64_t subsequence, uint64_t offset, unsigned rounds)
{
    p->counter[0] = (uint32_t)offset;
    p->counter[1] = (uint32_t)(offset >> 32);
    p->counter[2] = (uint32_t)subsequence;
    p->counter[3] = (uint32_t)(subsequence >> 32);
    p->key[0] = (uint32_t)seed;
    p->key[1] = (uint32_t)(seed >> 32);
    p->rounds = rounds;
    p->word = 0;
}

void fp4_philox_init_curand(struct fp4_philox *p, uint64_t seed, uint64_t subsequence, uint64_t offset, unsigned rounds)
{
    fp4_philox_init(p, seed, subsequence, offset / 4, rounds);
    p->word = (unsigned)(offset % 4);
}

static void count_up(uint32_t counter[4])
{
    int i;

    for (i = 0; i < 4; i++)
        if (++counter[i] != 0)
            return;
}

void fp4_philox_next4(struct fp4_philox *p, uint32_t out[4])
{
    fp4a_philox(p->counter, p->key, p->rounds, out);
    count_up(p->counter);
}

uint32_t fp4_philox_next(struct fp4_philox *p)
{
    uint32_t block[4];
    uint32_t value;

    fp4a_philox(p->counter, p->key, p->rounds, block);
    value = block[p->word];
    if (++p->word == 4) {
        p->word = 0;
        count_up(p->counter);
    }
    return value;
}

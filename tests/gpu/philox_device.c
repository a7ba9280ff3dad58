/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Philox on a GPU, three ways: the toolkit's device generator (curand_init, curand of curand_kernel.h), our kernel counting as cuRAND
 * does, and the reference on the CPU. Sequences that start at the edges of every counter word, and others drawn by the reference.
 * Exit status: 0 equal, 1 different, 77 no GPU.
 */
#include "fp4kernels.h"
#include "fp4ref.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define EDGES 10
#define EDGE_ROWS (EDGES * EDGES * EDGES)
#define ROWS (EDGE_ROWS + 50000)
#define WORDS 37 /* odd, so that rows of single words end inside a block of four */

/* The offset counts words, four a block: the fourfold of an edge is an edge too. */
static const uint64_t edges[EDGES] = { 0,           1,           3,           0xFFFFFFFE,         0xFFFFFFFF,
                                       0x100000000, 0x3FFFFFFFC, 0x3FFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF };

struct rows {
    uint64_t *seed, *subsequence, *offset; /* [ROWS] */
};

static void *must(void *p)
{
    if (!p) {
        fputs("philox_device: out of memory\n", stderr);
        exit(1);
    }
    return p;
}

static void check(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "philox_device: %s: %s\n", what, fp4k_error_text(error));
        exit(1);
    }
}

static void fill(const struct rows *r)
{
    struct fp4_philox p;
    uint32_t w[4];
    size_t i;

    for (i = 0; i < EDGE_ROWS; i++) {
        r->seed[i] = edges[i % EDGES];
        r->subsequence[i] = edges[i / EDGES % EDGES];
        r->offset[i] = edges[i / EDGES / EDGES];
    }
    fp4_philox_init(&p, 20261129, 0, 0, 10);
    for (; i < ROWS; i++) {
        fp4_philox_next4(&p, w);
        r->seed[i] = (uint64_t)w[0] << 32 | w[1];
        fp4_philox_next4(&p, w);
        r->subsequence[i] = (uint64_t)w[0] << 32 | w[1];
        r->offset[i] = (uint64_t)w[2] << 32 | w[3];
    }
}

static uint64_t *upload(const uint64_t *values)
{
    void *d;

    check(fp4k_malloc(&d, ROWS * sizeof *values), "memory");
    check(fp4k_upload(d, values, ROWS * sizeof *values), "copy to the device");
    return d;
}

/* The number of differing words; the first few are printed. */
static size_t compare(const char *what, const struct rows *r, const uint32_t *got, const uint32_t *want)
{
    size_t i, differ = 0;

    for (i = 0; i < (size_t)ROWS * WORDS; i++)
        if (got[i] != want[i] && differ++ < 4)
            printf("%s: seed %016" PRIx64 " subsequence %016" PRIx64 " offset %016" PRIx64 " word %zu: %08" PRIx32
                   ", not %08" PRIx32 "\n",
                   what, r->seed[i / WORDS], r->subsequence[i / WORDS], r->offset[i / WORDS], i % WORDS, got[i], want[i]);
    printf("%s: %zu words compared, %zu different\n", what, i, differ);
    return differ;
}

int main(void)
{
    size_t bytes = (size_t)ROWS * WORDS * sizeof(uint32_t), differ, i, w;
    struct rows r = { must(malloc(ROWS * 8)), must(malloc(ROWS * 8)), must(malloc(ROWS * 8)) };
    uint32_t *want = must(malloc(bytes)), *ours = must(malloc(bytes)), *header = must(malloc(bytes));
    uint64_t *seed, *subsequence, *offset;
    char reason[256];
    void *d;

    if (fp4k_device_count(reason, sizeof reason) <= 0) {
        printf("skipped: %s\n", reason);
        return 77;
    }
    fill(&r);
    for (i = 0; i < ROWS; i++) {
        struct fp4_philox p;

        fp4_philox_init_curand(&p, r.seed[i], r.subsequence[i], r.offset[i], 10);
        for (w = 0; w < WORDS; w++)
            want[i * WORDS + w] = fp4_philox_next(&p);
    }
    seed = upload(r.seed);
    subsequence = upload(r.subsequence);
    offset = upload(r.offset);
    check(fp4k_malloc(&d, bytes), "memory");
    check(fp4k_fill(d, 0xCA, bytes), "fill");
    check(fp4k_philox(seed, subsequence, offset, ROWS, WORDS, 10, true, d, NULL), "launch");
    check(fp4k_download(ours, d, bytes), "our kernel");
    check(fp4k_fill(d, 0xCA, bytes), "fill");
    check(fp4k_philox_curand_header(seed, subsequence, offset, ROWS, WORDS, d, NULL), "launch");
    check(fp4k_download(header, d, bytes), "the toolkit's generator");
    differ = compare("toolkit's device generator against the reference", &r, header, want);
    differ += compare("our kernel against the reference", &r, ours, want);
    return differ != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_four ROWS COLS 1x16|16x16 mae|mse BOUND AMAX IN OUT: the reference's four-over-six (recipe torchao, one thread) on ROWS x COLS
 * bf16 values of file IN, amax as the bits of a binary32. Prints the median CPU seconds of five calls, after one to warm up; writes codes
 * and scales to OUT. For four_over_six_eager.py.
 */
#include "fp4ref.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5 };

static void trouble(const char *what)
{
    fprintf(stderr, "time_four: %s\n", what);
    exit(2);
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);

    if (!p)
        trouble("out of memory");
    return p;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct fp4_four_params p = { .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16 };
    struct fp4_quantized out = { 0 };
    struct fp4_error err;
    double seconds[RUNS];
    FILE *file;

    if (argc != 9)
        trouble("usage: time_four ROWS COLS 1x16|16x16 mae|mse BOUND AMAX IN OUT");
    p.rows = strtoull(argv[1], NULL, 10);
    p.cols = strtoull(argv[2], NULL, 10);
    p.block_16x16 = strcmp(argv[3], "16x16") == 0;
    p.error = (enum fp4_four_error)fp4_four_error_from_name(argv[4]);
    p.bound = (unsigned)strtoul(argv[5], NULL, 10);
    const float amax = fp4_f32_from_bits((uint32_t)strtoul(argv[6], NULL, 16));
    const size_t count = p.rows * p.cols;
    uint16_t *x = allocate(2 * count);

    file = fopen(argv[7], "rb");
    if (!file || fread(x, 2, count, file) != count)
        trouble("the input is missing or too short");
    fclose(file);
    out.codes = allocate(count / 2);
    out.scales = allocate(count / 16);
    out.given_amax = &amax;
    for (int run = -1; run < RUNS; run++) {
        const double start = now();

        if (fp4_four_over_six(&p, x, &out, NULL, NULL, NULL, &err) != 0)
            trouble(err.msg);
        if (run >= 0)
            seconds[run] = now() - start;
    }
    qsort(seconds, RUNS, sizeof *seconds, ascending);
    printf("%.9f\n", seconds[RUNS / 2]);
    file = fopen(argv[8], "wb");
    if (!file || fwrite(out.codes, 1, count / 2, file) != count / 2 || fwrite(out.scales, 1, count / 16, file) != count / 16 ||
        fclose(file) != 0)
        trouble("the output cannot be written");
    free(x);
    free(out.codes);
    free(out.scales);
    return 0;
}

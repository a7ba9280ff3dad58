/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile_queue.cuh: a matrix's tiles, handed out in runs of neighbours to the blocks of a grid that the device holds at once: blocks that share a
 * multiprocessor or are far from their memory take fewer. A block's first run has its own number; thread 0 asks for each later one while
 * the block begins the run before the one before it. A run goes in the direction in which the scale bytes of its tiles lie side by side:
 * they are written once a run, in whole sectors of 32 bytes, since a part of a sector costs as much and more.
 */
#ifndef FP4_TILE_QUEUE_CUH
#define FP4_TILE_QUEUE_CUH

#include "launch.cuh"

/* One is in use by a launch; the last to ask sets it to 0 again. A launch gets the next one, so this many may run at a time. */
#define TILE_COUNTERS 4096
static __device__ uint32_t tile_counters[TILE_COUNTERS];

/* The matrix in two parts: long runs, and behind them, so that all blocks end together, short ones. */
struct tile_queue {
    uint32_t across, down, split; /* tiles of the matrix; rows (along_x) or columns of them in long runs */
    uint32_t longest, shortest, long_runs, runs, counter;
    bool along_x; /* runs go from column to column, else from row to row */
};

/* The first tile and how many; 0: there is none. */
struct tile_run {
    uint32_t x, y, length;
};

__device__ __forceinline__ struct tile_run tile_run_of(const struct tile_queue &q, uint32_t n)
{
    struct tile_run r = { 0, 0, 0 };
    bool is_long = n < q.long_runs;
    uint32_t most = is_long ? q.longest : q.shortest, before = is_long ? 0 : q.split, wide, left;

    if (n >= q.runs)
        return r;
    wide = q.along_x ? (q.across + most - 1) / most : is_long ? q.split : q.across - q.split; /* runs side by side */
    n -= is_long ? 0 : q.long_runs;
    r.x = n % wide * (q.along_x ? most : 1) + (q.along_x ? 0 : before);
    r.y = n / wide * (q.along_x ? 1 : most) + (q.along_x ? before : 0);
    left = q.along_x ? q.across - r.x : q.down - r.y;
    r.length = left < most ? left : most;
    return r;
}

/* Asks for a run: one thread of a block, and not again once there was none. The answer takes a while: look at it late. */
__device__ __forceinline__ uint32_t tile_ask(const struct tile_queue &q)
{
    return atomicAdd(&tile_counters[q.counter], 1u);
}

__device__ __forceinline__ struct tile_run tile_answer(const struct tile_queue &q, uint32_t answer)
{
    if (answer == q.runs - 1) /* each block was told once that there is none: nobody asks again */
        tile_counters[q.counter] = 0;
    return tile_run_of(q, answer + gridDim.x);
}

/* A queue for a kernel, and how many blocks to start: as many as the device holds at once, or one a run. Half a long run a block is left to the
 * short ones. */
template <typename F>
static struct tile_queue tile_queue_make(uint32_t across, uint32_t down, uint32_t longest, uint32_t shortest, bool along_x, F kernel,
                                         int threads, unsigned *blocks)
{
    static unsigned launches;
    int device = 0, sms = 1, each = 1;
    uint32_t length = along_x ? across : down, lines = along_x ? down : across; /* of the matrix, in the direction of a run and across it */
    struct tile_queue q = { across, down, 0, longest, shortest, 0, 0, 0, along_x };
    uint64_t tiles = (uint64_t)across * down, last;

    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
    *blocks = (unsigned)(sms * each);
    last = (uint64_t)*blocks * longest / 2;
    if (longest > shortest && tiles > last)
        q.split = (uint32_t)((tiles - last) / length);
    q.long_runs = q.split * ((length + longest - 1) / longest);
    q.runs = q.long_runs + (lines - q.split) * ((length + shortest - 1) / shortest);
    q.counter = __atomic_fetch_add(&launches, 1u, __ATOMIC_RELAXED) % TILE_COUNTERS;
    if (*blocks > q.runs)
        *blocks = q.runs;
    return q;
}

#endif

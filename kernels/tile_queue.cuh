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

struct tile_queue {
    uint32_t across, down; /* tiles of the matrix */
    uint32_t longest, runs, counter;
    bool along_x; /* runs go from column to column, else from row to row */
};

/* The first tile and how many; 0: there is none. */
struct tile_run {
    uint32_t x, y, length;
};

__device__ __forceinline__ struct tile_run tile_run_of(const struct tile_queue &q, uint32_t n)
{
    struct tile_run r = { 0, 0, 0 };
    uint32_t beside = q.along_x ? (q.across + q.longest - 1) / q.longest : q.across, left;

    if (n >= q.runs)
        return r;
    r.x = n % beside * (q.along_x ? q.longest : 1);
    r.y = n / beside * (q.along_x ? 1 : q.longest);
    left = q.along_x ? q.across - r.x : q.down - r.y;
    r.length = left < q.longest ? left : q.longest;
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

/* A queue for a kernel, and how many blocks to start: as many as the device holds at once, or one a run. longest, a power of two, is the
 * longest run that makes sense; it is halved until the blocks, if all take equally long, are busy four fifths of the time. */
template <typename F>
static struct tile_queue tile_queue_make(uint32_t across, uint32_t down, uint32_t longest, bool along_x, F kernel, int threads,
                                         unsigned *blocks)
{
    static unsigned launches;
    int device = 0, sms = 1, each = 1;
    struct tile_queue q = {
        across, down, longest, 0, __atomic_fetch_add(&launches, 1u, __ATOMIC_RELAXED) % TILE_COUNTERS, along_x
    };

    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
    *blocks = (unsigned)(sms * each);
    for (;; q.longest /= 2) {
        q.runs = along_x ? (across + q.longest - 1) / q.longest * down : across * ((down + q.longest - 1) / q.longest);
        if (q.longest == 1 || (uint64_t)q.runs * 5 >= ((uint64_t)q.runs + *blocks - 1) / *blocks * *blocks * 4)
            break;
    }
    if (*blocks > q.runs)
        *blocks = q.runs;
    return q;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile_queue.cuh: a matrix's tiles, handed out one by one to the blocks of a grid that the device holds at once: blocks that share a
 * multiprocessor or are far from their memory take fewer. A block's first tile is its own number; thread 0 takes each later one while the block
 * works on the one before the one before.
 */
#ifndef FP4_TILE_QUEUE_CUH
#define FP4_TILE_QUEUE_CUH

#include "launch.cuh"

/* One is in use by a launch; the last taker sets it to 0 again. A launch gets the next one, so this many may run at a time. */
#define TILE_COUNTERS 4096
static __device__ uint32_t tile_counters[TILE_COUNTERS];

struct tile_queue {
    uint32_t across, down; /* tiles */
    uint32_t counter;
};

/* Which tile; down or more: none. */
struct tile_place {
    uint32_t x, y;
};

__device__ __forceinline__ struct tile_place tile_place_of(const struct tile_queue &q, uint32_t n)
{
    return { n % q.across, n / q.across };
}

/* The number of the next tile: one thread of a block, and not again once it is none. */
__device__ __forceinline__ uint32_t tile_take(const struct tile_queue &q, uint32_t last)
{
#ifdef FP4_STATIC_TILES
    return last + gridDim.x;
#endif
    uint32_t n = atomicAdd(&tile_counters[q.counter], 1u);

    if (n == q.across * q.down - 1) /* each block was told once that there is none: nobody asks again */
        tile_counters[q.counter] = 0;
    return n + gridDim.x;
}

static inline struct tile_queue tile_queue_make(size_t across, size_t down)
{
    static unsigned launches;
    struct tile_queue q = { (uint32_t)across, (uint32_t)down, __atomic_fetch_add(&launches, 1u, __ATOMIC_RELAXED) % TILE_COUNTERS };

    return q;
}

/* As many blocks as the device holds at once, but no more than tiles. */
template <typename F> static unsigned tile_blocks(F kernel, int threads, const struct tile_queue &q)
{
    int device = 0, sms = 1, each = 1;
    unsigned n;

    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
    n = (unsigned)(sms * each);
    return n < q.across * q.down ? n : q.across * q.down;
}

#endif

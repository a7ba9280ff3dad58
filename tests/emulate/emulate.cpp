// SPDX-License-Identifier: Apache-2.0
// Fibers for the threads of a block, run in turn until all have ended. Deterministic: a race shows as a wrong result or not at all.
#include <cuda_runtime.h>
#include <ucontext.h>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr size_t STACK = 256 * 1024;

struct barrier {
    unsigned waiting = 0, generation = 0;
};

struct fiber {
    ucontext_t context;
    unsigned char *stack;
    dim3 index;
    bool ended;
};

std::vector<fiber> fibers;
std::vector<unsigned char *> stacks;
ucontext_t scheduler;
size_t current;
unsigned live;
barrier block_barrier;
std::vector<barrier> warp_barriers;
std::vector<unsigned> warp_live;
unsigned char lanes[32][32][64]; // warp, lane
const std::function<void()> *body;

void yield()
{
    swapcontext(&fibers[current].context, &scheduler);
}

void wait_at(barrier &b, unsigned count)
{
    unsigned generation = b.generation;

    if (++b.waiting >= count) {
        b.waiting = 0;
        b.generation++;
        return;
    }
    while (b.generation == generation)
        yield();
}

// A thread that ends may be the last that the others wait for.
void leave(barrier &b, unsigned count)
{
    if (b.waiting && b.waiting >= count) {
        b.waiting = 0;
        b.generation++;
    }
}

void start()
{
    (*body)();
    fibers[current].ended = true;
    live--;
    warp_live[current / 32]--;
    leave(block_barrier, live);
    leave(warp_barriers[current / 32], warp_live[current / 32]);
    yield();
}

void run_block(unsigned threads)
{
    while (stacks.size() < threads)
        stacks.push_back(static_cast<unsigned char *>(malloc(STACK)));
    fibers.assign(threads, fiber());
    live = threads;
    block_barrier = barrier();
    warp_barriers.assign((threads + 31) / 32, barrier());
    warp_live.assign((threads + 31) / 32, 0);
    for (unsigned i = 0; i < threads; i++) {
        fiber &f = fibers[i];

        warp_live[i / 32]++;
        f.index = dim3(i % blockDim.x, i / blockDim.x, 0);
        f.ended = false;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = stacks[i];
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = nullptr;
        makecontext(&f.context, start, 0);
    }
    while (live) {
        for (current = 0; current < threads; current++) {
            if (fibers[current].ended)
                continue;
            threadIdx = fibers[current].index;
            swapcontext(&scheduler, &fibers[current].context);
        }
    }
}

} // namespace

void __syncthreads()
{
    wait_at(block_barrier, live);
    threadIdx = fibers[current].index;
}

int __syncthreads_or(int predicate)
{
    static int any;
    int result;

    any |= predicate != 0;
    __syncthreads();
    result = any;
    __syncthreads();
    any = 0;
    __syncthreads();
    return result;
}

void __syncwarp(unsigned)
{
    wait_at(warp_barriers[current / 32], warp_live[current / 32]);
    threadIdx = fibers[current].index;
}

const unsigned char (*emulate_exchange(const void *mine, size_t size))[64]
{
    memcpy(lanes[current / 32][current % 32], mine, size);
    __syncwarp();
    return lanes[current / 32];
}

void emulate_grid(dim3 grid, dim3 block, const std::function<void()> &thread)
{
    gridDim = grid;
    blockDim = block;
    body = &thread;
    for (unsigned y = 0; y < grid.y; y++)
        for (unsigned x = 0; x < grid.x; x++) {
            blockIdx = dim3(x, y, 0);
            run_block(block.x * block.y);
        }
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "faulty_cuda.h"

#include <cuda_runtime.h>

__global__ void write_kernel(uint8_t *d, uint8_t byte, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < n)
        d[i] = byte;
}

__global__ void add_kernel(uint8_t *d, uint8_t what)
{
    *d += what;
}

/* The clock is read, so that no compiler may take the loop for one that ends. */
__global__ void hang_kernel()
{
    while (clock64() != -1)
        ;
}

__global__ void trap_kernel()
{
    __trap();
}

extern "C" int faulty_cuda_write(uint8_t *d, uint8_t byte, size_t n)
{
    write_kernel<<<(unsigned)((n + 127) / 128), 128>>>(d, byte, n);
    return (int)cudaGetLastError();
}

extern "C" int faulty_cuda_add(uint8_t *d, uint8_t what)
{
    add_kernel<<<1, 1>>>(d, what);
    return (int)cudaGetLastError();
}

extern "C" int faulty_cuda_hang(void)
{
    hang_kernel<<<1, 1>>>();
    return (int)cudaGetLastError();
}

extern "C" int faulty_cuda_trap(void)
{
    trap_kernel<<<1, 1>>>();
    return (int)cudaGetLastError();
}

extern "C" int faulty_cuda_launch(void)
{
    trap_kernel<<<1, 4096>>>();
    return (int)cudaGetLastError();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels/ need of CUDA, on the CPU, for tests: the source files of the kernels (prepare.py has rewritten their launches and dropped
 * their inline PTX) are compiled by a C++ compiler against this header. A block's threads are fibers that take turns; barriers, shuffles and
 * the warp-wide matrix instructions wait for all that take part. Device memory is host memory. One "device" of compute capability 9.0.
 */
#ifndef FP4_EMULATE_CUDA_RUNTIME_H
#define FP4_EMULATE_CUDA_RUNTIME_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define CUDART_VERSION 13000
#define __global__
#define __device__
#define __constant__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__
#define __noinline__

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
    {
    }
};
struct uint2 {
    unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
    unsigned x, y, z, w;
};
struct __attribute__((aligned(16))) int4 {
    int x, y, z, w;
};
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return uint2{ x, y };
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4{ x, y, z, w };
}

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

/* ---- threads of a block (emulate.cpp) ---------------------------------------------------------------------------------------- */

void emulate_grid(dim3 grid, dim3 block, const std::function<void()> &thread);
void __syncthreads();
void __syncwarp(unsigned mask = 0xFFFFFFFFu);
int __syncthreads_or(int predicate);
/* Each lane's 64 bytes, seen by all 32 once all have given theirs. */
const unsigned char (*emulate_exchange(const void *mine, size_t size))[64];

struct emulate_launch {
    dim3 grid, block;
    emulate_launch(dim3 g, dim3 b, size_t = 0, void * = nullptr) : grid(g), block(b)
    {
    }
    template <typename... P, typename... A> void run(void (*kernel)(P...), A... a)
    {
        emulate_grid(grid, block, [&]() { kernel((P)a...); });
    }
};

/* ---- single operations -------------------------------------------------------------------------------------------------------- */

static inline float __uint_as_float(unsigned u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline unsigned __float_as_uint(float f)
{
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float __int_as_float(int i)
{
    return __uint_as_float((unsigned)i);
}
static inline int __float_as_int(float f)
{
    return (int)__float_as_uint(f);
}
/* The device gives 7FFFFFFF for every NaN that arithmetic makes. */
static inline float emulate_nan(float f)
{
    return f != f ? __uint_as_float(0x7FFFFFFFu) : f;
}
static inline float __fmul_rn(float a, float b)
{
    return emulate_nan(a * b);
}
static inline float __fadd_rn(float a, float b)
{
    return emulate_nan(a + b);
}
static inline float __fdiv_rn(float a, float b)
{
    return emulate_nan(a / b);
}
static inline float __fmaf_rn(float a, float b, float c)
{
    return emulate_nan(fmaf(a, b, c));
}
static inline float __frcp_rn(float a)
{
    return emulate_nan(1.0f / a);
}
static inline float emulate_toward_zero(double exact)
{
    float f = (float)exact;

    return std::fabs((double)f) > std::fabs(exact) ? std::nextafterf(f, 0.0f) : emulate_nan(f);
}
static inline float __fadd_rz(float a, float b)
{
    return emulate_toward_zero((double)a + (double)b);
}
static inline float __fmul_rz(float a, float b)
{
    return emulate_toward_zero((double)a * (double)b);
}
/* max.f32 and min.f32 drop a NaN of any kind; the C library's functions let a signalling one through. */
static inline float emulate_fmaxf(float a, float b)
{
    return a != a ? emulate_nan(b) : b != b || a > b ? a : b;
}
static inline float emulate_fminf(float a, float b)
{
    return a != a ? emulate_nan(b) : b != b || a < b ? a : b;
}
#define fmaxf emulate_fmaxf
#define fminf emulate_fminf
template <typename T> static inline T __ldg(const T *p)
{
    return *p;
}
template <typename T> static inline T min(T a, T b)
{
    return a < b ? a : b;
}
template <typename T> static inline T max(T a, T b)
{
    return a > b ? a : b;
}
static inline int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
static inline unsigned __brev(unsigned v)
{
    unsigned r = 0;
    for (int i = 0; i < 32; i++)
        r |= (v >> i & 1u) << (31 - i);
    return r;
}
static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((uint64_t)a * b >> 32);
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    uint64_t all = (uint64_t)b << 32 | a;
    unsigned r = 0;
    for (int i = 0; i < 4; i++)
        r |= (unsigned)(all >> 8 * (s >> 4 * i & 7u) & 255u) << 8 * i;
    return r;
}
static inline unsigned __vminu2(unsigned a, unsigned b)
{
    return std::min(a & 0xFFFFu, b & 0xFFFFu) | std::min(a >> 16, b >> 16) << 16;
}
static inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c)
{
    return __vminu2(((a + b) & 0xFFFFu) | ((a >> 16) + (b >> 16)) << 16, c);
}
static inline int __viaddmax_s32(int a, int b, int c)
{
    return std::max(a + b, c);
}
/* Four products of signed bytes and a sum. */
static inline int __dp4a(int a, int b, int c)
{
    for (int i = 0; i < 4; i++)
        c += (int8_t)((unsigned)a >> 8 * i) * (int8_t)((unsigned)b >> 8 * i);
    return c;
}
template <typename T> static inline T atomicMax(T *p, T v)
{
    T old = *p;
    *p = std::max(old, v);
    return old;
}
template <typename T> static inline T atomicAdd(T *p, T v)
{
    T old = *p;
    *p = (T)(old + v);
    return old;
}
static inline float __shfl_xor_sync(unsigned, float v, int lane_mask)
{
    const unsigned char(*all)[64] = emulate_exchange(&v, sizeof v);
    float r;
    memcpy(&r, all[(threadIdx.x % 32) ^ (unsigned)lane_mask], sizeof r);
    __syncwarp();
    return r;
}
static inline unsigned __reduce_max_sync(unsigned, unsigned v)
{
    const unsigned char(*all)[64] = emulate_exchange(&v, sizeof v);
    unsigned r = 0, one;
    for (int i = 0; i < 32; i++) {
        memcpy(&one, all[i], sizeof one);
        r = std::max(r, one);
    }
    __syncwarp();
    return r;
}

/* ---- the runtime ---------------------------------------------------------------------------------------------------------------- */

enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInsufficientDriver = 35,
    cudaErrorNotSupported = 801
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount };
typedef void *cudaStream_t;
typedef void *cudaEvent_t;
struct cudaDeviceProp {
    char name[64];
    int major, minor, multiProcessorCount;
    size_t totalGlobalMem;
};
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    snprintf(p->name, sizeof p->name, "emulated");
    p->major = 9;
    p->minor = 0;
    p->multiProcessorCount = 2;
    p->totalGlobalMem = (size_t)1 << 32;
    return cudaSuccess;
}
static inline const char *cudaGetErrorString(cudaError_t e)
{
    return e == cudaSuccess ? "no error" : "an error of the emulation";
}
static inline cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}
static inline cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}
static inline cudaError_t cudaGetDevice(int *d)
{
    *d = 0;
    return cudaSuccess;
}
static inline cudaError_t cudaSetDevice(int d)
{
    return d == 0 ? cudaSuccess : cudaErrorInvalidValue;
}
static inline cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr, int)
{
    *v = 2;
    return cudaSuccess;
}
template <typename F> static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F, int, size_t)
{
    *n = 2;
    return cudaSuccess;
}
static inline cudaError_t cudaDriverGetVersion(int *v)
{
    *v = 13000;
    return cudaSuccess;
}
static inline cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = 13000;
    return cudaSuccess;
}
static inline cudaError_t cudaMalloc(void **p, size_t n)
{
    *p = aligned_alloc(256, (n + 255) / 256 * 256);
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}
static inline cudaError_t cudaFree(void *p)
{
    free(p);
    return cudaSuccess;
}
static inline cudaError_t cudaMemset(void *p, int v, size_t n)
{
    memset(p, v, n);
    return cudaSuccess;
}
static inline cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t = nullptr)
{
    return cudaMemset(p, v, n);
}
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind)
{
    memcpy(to, from, n);
    return cudaSuccess;
}
static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind k, cudaStream_t = nullptr)
{
    return cudaMemcpy(to, from, n, k);
}
static inline cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}
static inline cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    *e = nullptr;
    return cudaSuccess;
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}
static inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
    *ms = 1;
    return cudaSuccess;
}

#endif

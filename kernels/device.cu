/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, memory, events: the little of the CUDA runtime that adapters need, behind plain C. */
#include "fp4kernels.h"

#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#ifndef FP4_CUDA_ARCHS
#define FP4_CUDA_ARCHS "unknown"
#endif

extern "C" const char *fp4k_architectures(void)
{
    return FP4_CUDA_ARCHS;
}

extern "C" const char *fp4k_error_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

extern "C" int fp4k_device_count(char *reason, size_t size)
{
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);

    if (error == cudaSuccess && count > 0)
        return count;
    cudaGetLastError();
    if (error == cudaErrorInsufficientDriver)
        snprintf(reason, size, "no NVIDIA driver, or one older than CUDA %d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    else
        snprintf(reason, size, "no GPU: %s", error == cudaSuccess ? "the driver shows none" : cudaGetErrorString(error));
    return 0;
}

extern "C" int fp4k_device_info(int device, struct fp4k_device *out)
{
    struct cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, device);

    if (error != cudaSuccess)
        return (int)error;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%.127s", p.name);
    out->major = p.major;
    out->minor = p.minor;
    out->sm_count = p.multiProcessorCount;
    out->memory = p.totalGlobalMem;
    cudaDriverGetVersion(&out->driver);
    cudaRuntimeGetVersion(&out->runtime);
    return 0;
}

extern "C" int fp4k_device_select(int device)
{
    return (int)cudaSetDevice(device);
}

static bool built_for(const char *arch)
{
    const char *at = strstr(FP4_CUDA_ARCHS, arch);
    size_t n = strlen(arch);

    return at && (at[n] == '\0' || at[n] == ' ');
}

extern "C" int fp4k_supports(enum fp4k_isa isa, int major, int minor, char *reason, size_t size)
{
    char arch[16];

    snprintf(arch, sizeof arch, "sm_%d%da", major, minor);
    if (isa == FP4K_SOFT) {
        if (major >= 8)
            return 0;
        snprintf(reason, size, "soft needs compute capability 8.0 or later, this is %d.%d", major, minor);
        return -1;
    }
    if (isa == FP4K_SM100 && major != 10) {
        snprintf(reason, size, "cvt.rs.satfinite.e2m1x4 exists on compute capability 10.0 and 10.3 only, this is %d.%d", major,
                 minor);
        return -1;
    }
    if (isa == FP4K_SM120 && major != 10 && major != 12) {
        snprintf(reason, size, "cvt.rn.satfinite.e2m1x2 exists from compute capability 10.0 on, this is %d.%d", major, minor);
        return -1;
    }
    if (!built_for(arch)) {
        snprintf(reason, size, "this build holds no code for %s (it has %s)", arch, FP4_CUDA_ARCHS);
        return -1;
    }
    return 0;
}

extern "C" int fp4k_malloc(void **d_pointer, size_t bytes)
{
    return (int)cudaMalloc(d_pointer, bytes ? bytes : 1);
}

extern "C" int fp4k_free(void *d_pointer)
{
    return (int)cudaFree(d_pointer);
}

extern "C" int fp4k_fill(void *d_pointer, int byte, size_t bytes)
{
    return (int)cudaMemset(d_pointer, byte, bytes);
}

extern "C" int fp4k_upload(void *d_to, const void *from, size_t bytes)
{
    return (int)cudaMemcpy(d_to, from, bytes, cudaMemcpyHostToDevice);
}

extern "C" int fp4k_download(void *to, const void *d_from, size_t bytes)
{
    return (int)cudaMemcpy(to, d_from, bytes, cudaMemcpyDeviceToHost);
}

extern "C" int fp4k_copy(void *d_to, const void *d_from, size_t bytes, void *stream)
{
    return (int)cudaMemcpyAsync(d_to, d_from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
}

extern "C" int fp4k_synchronize(void)
{
    return (int)cudaDeviceSynchronize();
}

extern "C" int fp4k_event_create(void **event)
{
    return (int)cudaEventCreate((cudaEvent_t *)event);
}

extern "C" int fp4k_event_destroy(void *event)
{
    return (int)cudaEventDestroy((cudaEvent_t)event);
}

extern "C" int fp4k_event_record(void *event, void *stream)
{
    return (int)cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream);
}

extern "C" int fp4k_event_elapsed(void *from, void *to, float *milliseconds)
{
    cudaError_t error = cudaEventSynchronize((cudaEvent_t)to);

    return (int)(error != cudaSuccess ? error : cudaEventElapsedTime(milliseconds, (cudaEvent_t)from, (cudaEvent_t)to));
}

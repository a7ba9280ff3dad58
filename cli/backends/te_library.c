/* SPDX-License-Identifier: Apache-2.0 */
/* te_library.c: dlopen, symbols, the size check of the ABI, and the device. */
#include "te_library.h"
#include "te_elf.h"
#include "te_find.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- symbols ----------------------------------------------------------------------------------------------------------------------------- */

struct symbol {
    size_t place; /* of the function pointer in its table */
    const char *name;
    bool optional;
};
#define NEEDED(table, field, name)                 \
    {                                              \
        offsetof(struct table, field), name, false \
    }
#define OPTIONAL(table, field, name)              \
    {                                             \
        offsetof(struct table, field), name, true \
    }

static const struct symbol te_symbols[] = {
    NEEDED(te_api, create_tensor, "nvte_create_tensor"),
    NEEDED(te_api, destroy_tensor, "nvte_destroy_tensor"),
    NEEDED(te_api, set_tensor_param, "nvte_set_tensor_param_v2"),
    NEEDED(te_api, get_tensor_param, "nvte_get_tensor_param_v2"),
    NEEDED(te_api, create_config, "nvte_create_quantization_config"),
    NEEDED(te_api, set_config, "nvte_set_quantization_config_attribute"),
    NEEDED(te_api, destroy_config, "nvte_destroy_quantization_config"),
    NEEDED(te_api, compute_amax, "nvte_compute_amax"),
    NEEDED(te_api, quantize, "nvte_quantize_v2"),
    NEEDED(te_api, dequantize, "nvte_dequantize"),
    OPTIONAL(te_api, group_quantize, "nvte_group_nvfp4_quantize_with_amax"),
    OPTIONAL(te_api, swizzle, "nvte_swizzle_scaling_factors"),
    OPTIONAL(te_api, unswizzle, "nvte_unswizzle_scaling_factors"),
    OPTIONAL(te_api, hadamard, "nvte_hadamard_transform"),
    OPTIONAL(te_api, hadamard_amax, "nvte_hadamard_transform_amax"),
    OPTIONAL(te_api, hadamard_rowcol, "nvte_quantize_with_hadamard_transform"),
    OPTIONAL(te_api, hadamard_col, "nvte_hadamard_transform_cast_fusion_columnwise"),
    OPTIONAL(te_api, hadamard_group, "nvte_group_hadamard_transform_cast_fusion"),
};

static const struct symbol cuda_symbols[] = {
    NEEDED(te_cuda, device_count, "cudaGetDeviceCount"),
    NEEDED(te_cuda, set_device, "cudaSetDevice"),
    NEEDED(te_cuda, device_attribute, "cudaDeviceGetAttribute"),
    NEEDED(te_cuda, driver_version, "cudaDriverGetVersion"),
    NEEDED(te_cuda, runtime_version, "cudaRuntimeGetVersion"),
    NEEDED(te_cuda, allocate, "cudaMalloc"),
    NEEDED(te_cuda, release, "cudaFree"),
    NEEDED(te_cuda, fill, "cudaMemset"),
    NEEDED(te_cuda, copy, "cudaMemcpy"),
    NEEDED(te_cuda, synchronize, "cudaDeviceSynchronize"),
    NEEDED(te_cuda, last_error, "cudaGetLastError"),
    NEEDED(te_cuda, error_text, "cudaGetErrorString"),
    OPTIONAL(te_cuda, properties, "cudaGetDeviceProperties"),
    OPTIONAL(te_cuda, properties, "cudaGetDeviceProperties_v2"), /* CUDA 12 */
};

/* The first symbol that has to be there and is not, or NULL. */
static const char *find_symbols(void *handle, const struct symbol *symbols, size_t count, void *table)
{
    size_t i;

    for (i = 0; i < count; i++) {
        void *found = dlsym(handle, symbols[i].name);

        if (!found && !symbols[i].optional)
            return symbols[i].name;
        if (found)
            memcpy((char *)table + symbols[i].place, &found, sizeof found);
    }
    return NULL;
}
#define FIND(handle, symbols, table) find_symbols(handle, symbols, sizeof symbols / sizeof symbols[0], table)

/* ---- loading ------------------------------------------------------------------------------------------------------------------------------- */

/* The nvidia-* wheels put their libraries where the dynamic linker does not look. Those that the library names are loaded from there, some
 * of which need others of the list first; what no wheel has is left to the linker. why: of the last one that a wheel has and that cannot
 * be loaded, or "". */
static void load_wheel_libraries(const struct te_elf *elf, const char *library, char *why, size_t size)
{
    bool done[TE_ELF_NEEDED_MAX] = { false }, progress = true;
    char path[PATH_MAX];
    size_t i;

    while (progress) {
        progress = false;
        *why = '\0';
        for (i = 0; i < elf->needed_count; i++) {
            if (done[i] || !te_find_wheel_library(elf->needed[i], library, path, sizeof path))
                continue;
            if (dlopen(path, RTLD_LAZY | RTLD_GLOBAL))
                done[i] = progress = true;
            else
                snprintf(why, size, "%s", dlerror());
        }
    }
}

/* The message of the dynamic linker in one line, with what it most likely means. */
static int load_failed(const char *path, const char *why, struct fp4_error *err)
{
    const char *hint = "";

    if (strstr(why, "libcuda.so"))
        hint = "; this machine has no NVIDIA driver";
    else if (strstr(why, "libcudnn"))
        hint = "; it needs cuDNN 9 of its own CUDA version (pip install nvidia-cudnn-cu13)";
    else if (strstr(why, "libnccl"))
        hint = "; it needs NCCL (pip install nvidia-nccl-cu13)";
    else if (strstr(why, "libcublas") || strstr(why, "libcudart"))
        hint = "; it needs the CUDA libraries of its own version (pip install nvidia-cublas nvidia-cuda-runtime)";
    return fp4_fail(err, FP4_EIO, "cannot load '%.150s': %.200s%s", path, why, hint);
}

/* ".../libtransformer_engine.so: undefined symbol: NAME, version ..." */
static void keep_unresolved(struct te_library *l, const char *why)
{
    static const char phrase[] = "undefined symbol: ";
    const char *name = why ? strstr(why, phrase) : NULL;

    if (name)
        snprintf(l->unresolved, sizeof l->unresolved, "%.*s", (int)strcspn(name + strlen(phrase), ", "), name + strlen(phrase));
}

static void *load(struct te_library *l, const char *path, const struct te_elf *elf, struct fp4_error *err)
{
    char below[256];
    const char *why;
    void *handle;

    load_wheel_libraries(elf, path, below, sizeof below);
    /* All symbols at once, so that a library of another version below it shows now and not in the middle of a case. */
    handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (handle)
        return handle;
    keep_unresolved(l, dlerror());
    handle = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    if (!handle) {
        why = dlerror();
        load_failed(path, *below ? below : why ? why : "the dynamic linker gives no reason", err);
    }
    return handle;
}

static int find_runtime(struct te_library *l, void *handle, const char *path, struct fp4_error *err)
{
    static const char *const names[] = { "libcudart.so.13", "libcudart.so.12" }; /* for a library that holds its own, hidden */
    const char *missing = FIND(handle, cuda_symbols, &l->cuda);
    size_t i;

    for (i = 0; missing && i < sizeof names / sizeof names[0]; i++) {
        void *runtime = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);

        if (runtime)
            missing = FIND(runtime, cuda_symbols, &l->cuda);
    }
    if (missing)
        return fp4_fail(err, FP4_EIO, "the CUDA runtime below '%.200s' lacks %s: too old, or not there", path, missing);
    return 0;
}

/* The size of its tensor description: it grows with the greatest number of dimensions, which versions differ in. */
static int check_abi(const struct te_library *l, const char *path, struct fp4_error *err)
{
    te_tensor tensor = l->api.create_tensor(TE_NVFP4);
    size_t size = 0;

    if (!tensor)
        return fp4_fail(err, FP4_EIO, "'%.200s' makes no tensors", path);
    l->api.get_tensor_param(tensor, TE_ROW_DATA, NULL, 0, &size);
    l->api.destroy_tensor(tensor);
    if (size != sizeof(struct te_basic_tensor))
        return fp4_fail(err, FP4_EIO,
                        "'%.200s' describes a tensor in %zu bytes, this program in %zu: its version%s%s has another ABI", path,
                        size, sizeof(struct te_basic_tensor), *l->version ? " " : "", l->version);
    return 0;
}

/* ---- the device --------------------------------------------------------------------------------------------------------------------------- */

static int cuda_fail(const struct te_library *l, int error, const char *what, struct fp4_error *err)
{
    return fp4_fail(err, FP4_ESUPPORT, "CUDA: %s: %s", what, l->cuda.error_text(error));
}

static int take_device(struct te_library *l, unsigned device, struct fp4_error *err)
{
    char properties[16384] = ""; /* far more than any version's structure */
    int count = 0, error = l->cuda.device_count(&count);

    if (error)
        return cuda_fail(l, error, "no device", err);
    if (device >= (unsigned)count)
        return fp4_fail(err, FP4_ESUPPORT, "there is no device %u: the driver shows %d, counted from 0", device, count);
    if ((error = l->cuda.set_device((int)device)) || (error = l->cuda.device_attribute(&l->major, TE_CC_MAJOR, (int)device)) ||
        (error = l->cuda.device_attribute(&l->minor, TE_CC_MINOR, (int)device)))
        return cuda_fail(l, error, "choice of the device", err);
    l->cuda.driver_version(&l->driver);
    l->cuda.runtime_version(&l->runtime);
    if (l->cuda.properties && l->cuda.properties(properties, (int)device) == 0)
        snprintf(l->device, sizeof l->device, "%.60s", properties);
    else
        snprintf(l->device, sizeof l->device, "a device");
    return 0;
}

int te_library_open(struct te_library *l, unsigned device, struct fp4_error *err)
{
    char path[PATH_MAX];
    const char *missing;
    struct te_elf elf;
    void *handle;
    bool asked;

    memset(l, 0, sizeof *l);
    if (te_find_library(path, sizeof path, &asked, err) || te_elf_read(path, &elf, err))
        return -1;
    snprintf(l->build_id, sizeof l->build_id, "%s", elf.build_id);
    te_find_version(path, l->version, sizeof l->version);
    handle = load(l, path, &elf, err);
    if (!handle)
        return -1;
    missing = FIND(handle, te_symbols, &l->api);
    if (missing)
        return fp4_fail(err, FP4_EIO, "'%.200s' lacks %s: it is too old, or not Transformer Engine", path, missing);
    return find_runtime(l, handle, path, err) || check_abi(l, path, err) || take_device(l, device, err) ? -1 : 0;
}

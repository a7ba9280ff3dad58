/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fakete.cpp: a stand-in for libtransformer_engine.so and the CUDA runtime below it, for tests of backend `te` on machines without a GPU.
 * The exported interface is written down here a second time, from docs/numerics.md 14.3, and checked as the library checks it; the numbers
 * come from libfp4ref. Memory of the "device" is the host's.
 *
 *   FAKETE_CC     compute capability, 90 by default: which kernels there are, and how they fail
 *   FAKETE_MODE   what goes wrong: abi, throw, throw-load, abort, segv, zeros, all-zeros, print, noise, cuda, oob, flip, nodevice. With 48
 *                 rows only, except abi, throw-load, all-zeros and nodevice
 *   FAKETE_OLD, FAKETE_PART (when compiled): a library that lacks functions
 */
#include "fp4ref.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

namespace
{

struct Shape {
    size_t data[15];
    size_t ndim;
};
struct Basic {
    void *ptr;
    int dtype;
    Shape shape;
};
static_assert(sizeof(Basic) == 144, "LP64");

struct Tensor {
    int mode;
    Basic basic[7]; /* by parameter: data, transposed data, -, amax, scales, transposed scales, transposed amax */
    uint8_t swizzled, row_scaled;
    int bound;
};
struct Config {
    void *rng;
    uint8_t tiles, stochastic, fast, four, four_fast;
};

enum { F32 = 4, F16 = 5, BF16 = 6, E4M3 = 7, E2M1 = 10 };

std::vector<Tensor> tensors;
int sticky;

void check(bool ok, const std::string &what)
{
    if (!ok)
        throw std::runtime_error("/fakete/" + what + "\n  in one of its functions: Assertion failed");
}

void kernel_says(const char *name, const char *text)
{
    printf("/fakete/%s.cu:7 in function %s_kernel (thread (0,0,0), block (0,0,0)): %s\n", name, name, text);
}

int capability()
{
    const char *text = getenv("FAKETE_CC");
    return text ? atoi(text) : 90;
}

bool mode_is(const char *mode)
{
    const char *text = getenv("FAKETE_MODE");
    return text && strcmp(text, mode) == 0;
}

Tensor &at(void *handle)
{
    size_t i = reinterpret_cast<size_t>(handle);

    check(i >= 1 && i <= tensors.size() && tensors[i - 1].mode >= 0, "handle");
    return tensors[i - 1];
}

bool has(const Basic &b)
{
    return b.ptr || b.shape.ndim != 1 || b.shape.data[0] != 0;
}

void want_shape(const Basic &b, int dtype, size_t rows, size_t cols, const char *what)
{
    check(b.ptr && b.dtype == dtype && b.shape.ndim == 2 && b.shape.data[0] == rows && b.shape.data[1] == cols, what);
}

size_t up(size_t v, size_t to)
{
    return (v + to - 1) / to * to;
}

enum fp4_dtype input_type(int dtype)
{
    check(dtype == F32 || dtype == F16 || dtype == BF16, "input type");
    return dtype == F32 ? FP4_F32 : dtype == F16 ? FP4_F16 : FP4_BF16;
}

struct fp4_rs_model model()
{
    bool native = capability() == 100 || capability() == 103;
    struct fp4_rs_model m = {};

    m.rule = native ? FP4_RS_TRUNC : FP4_RS_FMA_FLOOR;
    m.map = native ? FP4_MAP_B300 : FP4_MAP_STRAIGHT;
    return m;
}

/* One direction of an output, with dense scales for the reference. */
struct Direction {
    struct fp4_quantized q;
    std::vector<uint8_t> scales;
    size_t lines, blocks;
    uint8_t *padded;
    bool wanted;

    Direction(const Basic &data, const Basic &scale, const Basic &amax, size_t lines_, size_t length, bool row_scaled, bool given)
        : q(), lines(lines_), blocks((length + 15) / 16), padded(nullptr), wanted(has(data))
    {
        if (!wanted)
            return;
        want_shape(data, E2M1, lines, length, "output data");
        want_shape(scale, E4M3, up(lines, 128), up(blocks, 4), "scale shape");
        check(amax.dtype == F32 && amax.shape.ndim == 1 && amax.shape.data[0] == (row_scaled ? lines : 1), "amax");
        scales.resize(lines * blocks);
        padded = static_cast<uint8_t *>(scale.ptr);
        q.codes = static_cast<uint8_t *>(data.ptr);
        q.scales = scales.data();
        if (given)
            q.given_amax = static_cast<const float *>(amax.ptr);
        else
            q.amax = static_cast<float *>(amax.ptr);
    }
    void scatter() const
    {
        for (size_t r = 0; r < lines && wanted; r++)
            memcpy(padded + r * up(blocks, 4), scales.data() + r * blocks, blocks);
    }
};

void misbehave(size_t rows, Direction &d)
{
    size_t bytes = d.lines * d.blocks * 8;

    if (mode_is("all-zeros"))
        memset(d.q.codes, 0, 8);
    if (mode_is("all-zeros") && rows == 1)
        memset(d.q.codes, 0, 16);
    if (rows != 48)
        return;
    if (mode_is("throw"))
        throw std::runtime_error(
            "/fakete/quantize.cu:48 in function quantize: Assertion failed: rows != 48.\nForty-eight is refused");
    if (mode_is("abort"))
        abort();
    if (mode_is("segv"))
        raise(SIGSEGV);
    if (mode_is("zeros"))
        memset(d.q.codes, 0, d.lines * d.blocks * 8);
    if (mode_is("print"))
        printf("ERROR: Block (0,0,0), Thread (1,0,0): FP4 instructions are not here. Try recompiling\n");
    if (mode_is("noise"))
        fprintf(stderr, "fakete: a remark\n");
    if (mode_is("cuda"))
        sticky = 700;
    if (mode_is("oob"))
        d.q.codes[bytes + 9] ^= 0xFF;
    if (mode_is("flip"))
        d.q.codes[0] ^= 1;
}

enum fp4_stream dispatch(const Tensor &in, const Tensor &out, const Config &config, size_t rows, size_t cols)
{
    bool aligned = in.basic[0].dtype == BF16 && rows % 32 == 0 && cols % 32 == 0;

    if (aligned && config.tiles)
        return FP4_STREAM_2D;
    return aligned && has(out.basic[0]) ? FP4_STREAM_TUNED : FP4_STREAM_VECTOR;
}

void four_over_six(const Tensor &in, const Tensor &out, const Config &config, Direction &row, Direction &col)
{
    struct fp4_four_params p = {};
    struct fp4_error err;

    if (capability() < 100) {
        kernel_says("4over6", "sm_100 or higher is required.");
        return;
    }
    p.recipe = FP4_RECIPE_TE;
    p.input = input_type(in.basic[0].dtype);
    p.rows = in.basic[0].shape.data[0];
    p.cols = in.basic[0].shape.data[1];
    p.block_16x16 = config.tiles;
    p.row_scaled = out.row_scaled;
    p.bound = static_cast<unsigned>(out.bound);
    p.error = config.four == 1 ? FP4_FOUR_MAE : FP4_FOUR_MSE;
    p.fast_error = config.four_fast;
    p.nan = FP4_FOUR_NAN_DROP;
    if (fp4_four_over_six(&p, in.basic[0].ptr, row.wanted ? &row.q : nullptr, col.wanted ? &col.q : nullptr, nullptr, nullptr,
                          &err))
        throw std::runtime_error(err.msg);
    row.scatter();
    col.scatter();
}

void quantize(const Tensor &in, const Tensor &out, const Config &config, enum fp4_stream stream)
{
    size_t rows = in.basic[0].shape.data[0], cols = in.basic[0].shape.data[1];
    Direction row(out.basic[0], out.basic[4], out.basic[3], rows, cols, out.row_scaled, !out.row_scaled),
        col(out.basic[1], out.basic[5], out.basic[6], cols, rows, out.row_scaled, !out.row_scaled);
    struct fp4_quantize_params p = {};
    struct fp4_error err;
    bool old = capability() < 100;

    check(in.mode == 0 && out.mode == 4 && in.basic[0].shape.ndim == 2 && (row.wanted || col.wanted), "tensors");
    check(!has(in.basic[4]), "input has scales");
    check(out.bound == 448 || (config.four && out.bound == 256), "Unsupported NVFP4 E4M3 max.");
    if (config.four) {
        check(!config.stochastic, "4over6 is not stochastic");
        four_over_six(in, out, config, row, col);
        return;
    }
    check(!old || stream == FP4_STREAM_VECTOR, "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE");
    p.recipe = config.fast && stream == FP4_STREAM_TUNED ? FP4_RECIPE_TE_FAST : FP4_RECIPE_TE;
    p.input = input_type(in.basic[0].dtype);
    p.rows = rows;
    p.cols = cols;
    p.block_16x16 = config.tiles;
    p.row_scaled = out.row_scaled;
    p.stochastic = config.stochastic;
    p.rs = model();
    p.stream = config.stochastic ? stream : FP4_STREAM_AUTO;
    p.philox_rounds = 10;
    if (config.rng) {
        const Basic &state = at(config.rng).basic[0];
        check(state.dtype == 3 && state.shape.ndim == 1 && state.shape.data[0] == 2, "rng_state");
        memcpy(&p.seed, state.ptr, 8);
        memcpy(&p.offset, static_cast<char *>(state.ptr) + 8, 8);
    }
    if (stream == FP4_STREAM_VECTOR && row.wanted && col.wanted && !out.row_scaled)
        col.q.given_amax = row.q.given_amax;
    if (fp4_quantize(&p, in.basic[0].ptr, row.wanted ? &row.q : nullptr, col.wanted ? &col.q : nullptr, &err))
        throw std::runtime_error(err.msg);
    row.scatter();
    col.scatter();
    if (old && !config.stochastic) {
        kernel_says("quantize", "FP4 cvt PTX instructions are architecture-specific.");
        memset(row.wanted ? row.q.codes : col.q.codes, 0, rows * cols / 2);
    }
    misbehave(rows, row.wanted ? row : col);
}

void hadamard(const Tensor &in, const Tensor &out, void *matrix, const Config &config, enum fp4_rht_kernel kernel,
              enum fp4_stream stream)
{
    size_t rows = in.basic[0].shape.data[0], cols = in.basic[0].shape.data[1];
    bool swapped = kernel == FP4_RHT_KERNEL_COL;
    Basic none = {};
    none.shape.ndim = 1;
    Direction row(swapped ? none : out.basic[0], out.basic[4], out.basic[3], rows, cols, false, true),
        col(out.basic[swapped ? 0 : 1], out.basic[swapped ? 4 : 5], out.basic[swapped ? 3 : 6], cols, rows, false, true);
    const Basic &m = at(matrix).basic[0];
    struct fp4_rht_params p = {};
    struct fp4_rht_stages stages = {};
    struct fp4_error err;

    if (capability() < 100) {
        kernel_says("rht", "RHT fusion is only supported on Blackwell.");
        return;
    }
    want_shape(m, BF16, 16, 16, "matrix");
    check(in.basic[0].dtype == BF16 && col.wanted, "Hadamard tensors");
    p.recipe = config.fast ? FP4_RECIPE_TE_FAST : FP4_RECIPE_TE;
    p.kernel = kernel;
    p.rows = rows;
    p.cols = cols;
    for (unsigned k = 0; k < 16; k++)
        p.sign_mask |= static_cast<uint16_t>((static_cast<uint16_t *>(m.ptr)[16 * k] >> 15) << k);
    for (unsigned i = 0; i < 256; i++) {
        unsigned sign = (p.sign_mask >> (i / 16) & 1) ^ (__builtin_popcount((i / 16) & (i % 16)) & 1);
        check(static_cast<uint16_t *>(m.ptr)[i] == (0x3E80 | sign << 15), "matrix values");
    }
    p.bf16_round_trip = !config.fast;
    p.stochastic = config.stochastic;
    p.rs = model();
    p.stream = stream;
    p.philox_rounds = 10;
    if (config.rng) {
        memcpy(&p.seed, at(config.rng).basic[0].ptr, 8);
        memcpy(&p.offset, static_cast<char *>(at(config.rng).basic[0].ptr) + 8, 8);
    }
    if (fp4_rht_quantize(&p, static_cast<uint16_t *>(in.basic[0].ptr), row.wanted ? &row.q : nullptr, &col.q, &stages, &err))
        throw std::runtime_error(err.msg);
    row.scatter();
    col.scatter();
}

void transform(const Tensor &in, int mask, std::vector<uint16_t> &out)
{
    size_t rows = in.basic[0].shape.data[0], cols = in.basic[0].shape.data[1];
    const uint16_t *x = static_cast<const uint16_t *>(in.basic[0].ptr);

    check(in.basic[0].dtype == BF16 && rows % 16 == 0 && cols % 16 == 0, "Hadamard input");
    check(capability() >= 90, "Hadamard transform needs sm_90");
    out.resize(rows * cols);
    for (size_t c = 0; c < cols; c++)
        for (size_t g = 0; g < rows / 16; g++) {
            float group[16], sums[16];
            for (size_t k = 0; k < 16; k++)
                group[k] = fp4_load(x, FP4_BF16, (16 * g + k) * cols + c);
            fp4_rht_group(group, static_cast<uint16_t>(mask), false, FP4_SUM_TC, sums);
            for (size_t k = 0; k < 16; k++)
                out[c * rows + 16 * g + k] = f32_to_bf16(sums[k]).bits;
        }
}

const Config defaults = {};

const Config &settings(void *config)
{
    return config ? *static_cast<Config *>(config) : defaults;
}

} // namespace

/* ---- tensors and settings -------------------------------------------------------------------------------------------------------------- */

API void *nvte_create_tensor(int mode)
{
    Tensor t = {};

    if (mode_is("throw-load"))
        throw std::runtime_error("nothing can be made here");
    for (Basic &b : t.basic) {
        b.dtype = F32;
        b.shape.ndim = 1;
    }
    t.mode = mode;
    t.bound = 448;
    tensors.push_back(t);
    return reinterpret_cast<void *>(tensors.size());
}

API void nvte_destroy_tensor(void *tensor)
{
    at(tensor).mode = -1;
}

#ifndef FAKETE_OLD
API void nvte_set_tensor_param_v2(void *tensor, int param, const void *value, size_t bytes)
{
    Tensor &t = at(tensor);

    check(param >= 0 && param <= 9 && bytes == (param < 7 ? sizeof(Basic) : param < 9 ? 1 : sizeof(int)), "parameter size");
    if (param < 7)
        memcpy(&t.basic[param], value, bytes);
    else if (param == 9)
        memcpy(&t.bound, value, bytes);
    else
        memcpy(param == 7 ? &t.swizzled : &t.row_scaled, value, bytes);
}
#endif

API void nvte_get_tensor_param_v2(void *tensor, int param, void *value, size_t bytes, size_t *written)
{
    at(tensor);
    check(param == 0 && !value && !bytes, "parameter");
    *written = mode_is("abi") ? sizeof(Basic) - 8 : sizeof(Basic);
}

#ifdef FAKETE_PART /* nobody has this function, and nobody calls this one: a library below is of another version */
extern "C" void fakete_of_another_version();
API void nvte_matrix_product()
{
    fakete_of_another_version();
}
#endif

API void *nvte_create_quantization_config()
{
    return new Config();
}

API void nvte_set_quantization_config_attribute(void *config, int attribute, const void *value, size_t bytes)
{
    Config *c = static_cast<Config *>(config);

    check(attribute >= 4 && attribute <= 9 && bytes == (attribute == 4 ? sizeof(void *) : 1), "attribute size");
    void *const places[] = { &c->rng, &c->tiles, &c->stochastic, &c->fast, &c->four, &c->four_fast };
    memcpy(places[attribute - 4], value, bytes);
}

API void nvte_destroy_quantization_config(void *config)
{
    delete static_cast<Config *>(config);
}

/* ---- ops ----------------------------------------------------------------------------------------------------------------------------------- */

API void nvte_compute_amax(void *in, void *out, void *)
{
    const Basic &x = at(in).basic[0];
    Basic &amax = at(out).basic[3];

    check(amax.dtype == F32 && amax.shape.ndim == 1 && amax.shape.data[0] == 1, "amax shape");
    fp4_amax(x.ptr, input_type(x.dtype), x.shape.data[0], x.shape.data[1], false,
             static_cast<float *>(amax.ptr ? amax.ptr : at(out).basic[6].ptr));
}

API void nvte_quantize_v2(void *in, void *out, void *config, void *)
{
    const Tensor &x = at(in), &y = at(out);

    quantize(x, y, settings(config), dispatch(x, y, settings(config), x.basic[0].shape.data[0], x.basic[0].shape.data[1]));
}

API void nvte_group_nvfp4_quantize_with_amax(void *in, void **outs, const size_t *rows, size_t count, void *config, void *)
{
    check(count == 1 && rows[0] == at(in).basic[0].shape.data[0] && rows[0] % 32 == 0, "splits");
    quantize(at(in), at(outs[0]), settings(config), FP4_STREAM_GROUP);
}

API void nvte_dequantize(void *in, void *out, void *)
{
    const Tensor &x = at(in);
    const Basic &y = at(out).basic[0];
    size_t rows = x.basic[0].shape.data[0], cols = x.basic[0].shape.data[1], blocks = cols / 16;
    const uint8_t *scales = static_cast<const uint8_t *>(x.basic[4].ptr);
    std::vector<uint8_t> dense;
    struct fp4_dequantize_params p = {};
    struct fp4_error err;

    want_shape(x.basic[0], E2M1, rows, cols, "codes");
    want_shape(x.basic[4], E4M3, up(rows, 128), up(blocks, 4), "scales");
    check(x.mode == 4 && x.basic[3].ptr && x.basic[3].shape.data[0] == (x.row_scaled ? rows : 1), "dequantize amax");
    check(y.shape.data[0] == rows && y.shape.data[1] == cols, "dequantized shape");
    if (!x.swizzled) {
        for (size_t r = 0; r < rows; r++)
            dense.insert(dense.end(), scales + r * up(blocks, 4), scales + r * up(blocks, 4) + blocks);
        scales = dense.data();
    }
    p.rows = rows;
    p.cols = cols;
    p.row_scaled = x.row_scaled;
    p.bound = static_cast<unsigned>(x.bound);
    p.swizzled = x.swizzled;
    p.output = input_type(y.dtype);
    if (fp4_dequantize(&p, static_cast<uint8_t *>(x.basic[0].ptr), scales, static_cast<float *>(x.basic[3].ptr), y.ptr, nullptr,
                       &err))
        throw std::runtime_error(err.msg);
}

static void swizzle(const Tensor &in, const Tensor &out, bool back)
{
    size_t rows = in.basic[0].shape.data[0], blocks = in.basic[0].shape.data[1] / 16;
    uint8_t *from = static_cast<uint8_t *>(in.basic[4].ptr), *to = static_cast<uint8_t *>(out.basic[4].ptr);
    std::vector<uint8_t> dense(rows * blocks);

    check(in.swizzled == back && out.swizzled != back, "swizzle flags");
    want_shape(out.basic[0], E2M1, rows, blocks * 16, "swizzle output");
    want_shape(in.basic[4], E4M3, up(rows, 128), up(blocks, 4), "swizzle scales");
    want_shape(out.basic[4], E4M3, up(rows, 128), up(blocks, 4), "swizzle scales");
    if (back)
        fp4_unswizzle(rows, blocks, from, dense.data());
    for (size_t r = 0; r < rows; r++)
        if (back)
            memcpy(to + r * up(blocks, 4), dense.data() + r * blocks, blocks);
        else
            memcpy(dense.data() + r * blocks, from + r * up(blocks, 4), blocks);
    if (!back)
        fp4_swizzle(rows, blocks, dense.data(), to);
}

API void nvte_swizzle_scaling_factors(void *in, void *out, void *)
{
    swizzle(at(in), at(out), false);
}

API void nvte_unswizzle_scaling_factors(void *in, void *out, void *)
{
    swizzle(at(in), at(out), true);
}

#ifndef FAKETE_PART
API void nvte_hadamard_transform(void *in, void *out, int, int mask, void *)
{
    const Basic &x = at(in).basic[0], &y = at(out).basic[0];
    std::vector<uint16_t> made;

    want_shape(y, BF16, x.shape.data[1], x.shape.data[0], "transformed");
    transform(at(in), mask, made);
    memcpy(y.ptr, made.data(), 2 * made.size());
}
#endif

API void nvte_hadamard_transform_amax(void *in, void *out, int, int mask, void *)
{
    const Basic &x = at(in).basic[0];
    const Tensor &t = at(out);
    std::vector<uint16_t> made;

    if (t.basic[3].ptr)
        fp4_amax(x.ptr, FP4_BF16, x.shape.data[0], x.shape.data[1], false, static_cast<float *>(t.basic[3].ptr));
    transform(at(in), mask, made);
    fp4_amax(made.data(), FP4_BF16, x.shape.data[1], x.shape.data[0], false, static_cast<float *>(t.basic[6].ptr));
}

API void nvte_quantize_with_hadamard_transform(void *in, void *out, void *matrix, void *config, void *)
{
    hadamard(at(in), at(out), matrix, settings(config), FP4_RHT_KERNEL_ROWCOL, FP4_STREAM_AUTO);
}

API void nvte_hadamard_transform_cast_fusion_columnwise(void *in, void *out, void *matrix, void *config, void *)
{
    hadamard(at(in), at(out), matrix, settings(config), FP4_RHT_KERNEL_COL, FP4_STREAM_AUTO);
}

API void nvte_group_hadamard_transform_cast_fusion(void *in, void **outs, void *matrix, const size_t *rows, size_t count,
                                                   void *config, void *workspace, void *)
{
    check(count == 1 && rows[0] == at(in).basic[0].shape.data[0] && at(workspace).basic[0].ptr, "group");
    hadamard(at(in), at(outs[0]), matrix, settings(config), FP4_RHT_KERNEL_ROWCOL, FP4_STREAM_RHT_GROUP);
}

/* ---- the CUDA runtime ---------------------------------------------------------------------------------------------------------------------- */

API int cudaGetDeviceCount(int *count)
{
    *count = mode_is("nodevice") ? 0 : 2;
    return mode_is("nodevice") ? 100 : 0;
}

API int cudaSetDevice(int)
{
    return 0;
}

API int cudaDeviceGetAttribute(int *value, int attribute, int)
{
    *value = attribute == 75 ? capability() / 10 : attribute == 76 ? capability() % 10 : -1;
    return 0;
}

API int cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

API int cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

API int cudaMalloc(void **memory, size_t bytes)
{
    *memory = aligned_alloc(256, up(bytes, 256));
    return *memory ? 0 : 2;
}

API int cudaFree(void *memory)
{
    free(memory);
    return 0;
}

API int cudaMemset(void *memory, int byte, size_t bytes)
{
    memset(memory, byte, bytes);
    return 0;
}

API int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    memcpy(to, from, bytes);
    return kind >= 1 && kind <= 3 ? 0 : 21;
}

API int cudaDeviceSynchronize()
{
    return sticky;
}

API int cudaGetLastError()
{
    return 0;
}

API const char *cudaGetErrorString(int error)
{
    return error == 700   ? "an illegal memory access was encountered"
           : error == 100 ? "no CUDA-capable device is detected"
                          : "an error";
}

API int cudaGetDeviceProperties(char *properties, int)
{
    strcpy(properties, "Fake GPU");
    return 0;
}

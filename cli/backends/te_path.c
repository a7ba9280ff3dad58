/* SPDX-License-Identifier: Apache-2.0 */
#include "te_path.h"

static bool stochastic(const struct fp4_case *c)
{
    return c->knob[KNOB_ROUND] == 1;
}

static bool row_scaled(const struct fp4_case *c)
{
    return c->knob[KNOB_AMAX] == 1;
}

static enum te_path refuse(struct fp4_error *err, const char *reason)
{
    fp4_fail(err, FP4_ESUPPORT, "%s", reason);
    return TE_PATH_NONE;
}

/* ---- the library's dispatch ----------------------------------------------------------------------------------------------------------- */

/* A case that names a stream names a kernel: it is this one or another. */
static enum te_path on_stream(const struct fp4_case *c, enum te_path path, enum fp4_stream stream, struct fp4_error *err)
{
    if (stochastic(c) && c->knob[KNOB_STREAM] != FP4_STREAM_AUTO && c->knob[KNOB_STREAM] != (uint8_t)stream) {
        fp4_fail(err, FP4_ESUPPORT, "Transformer Engine takes its %s for this case, which draws by another stream",
                 te_path_name(path));
        return TE_PATH_NONE;
    }
    return path;
}

#define GIVEN_ROWS "Transformer Engine computes the amax of each row itself: none can be given"

static enum te_path quantize_path(const struct fp4_case *c, struct fp4_error *err)
{
    bool tile = c->knob[KNOB_BLOCK] == 1, row = c->knob[KNOB_OUT] != 1, col = c->knob[KNOB_OUT] != 0;
    enum fp4_stream stream = fp4_stream_te_dispatch(c->dtype, c->rows, c->cols, tile, row, col);

    if (stochastic(c) && c->knob[KNOB_STREAM] == FP4_STREAM_GROUP)
        return row_scaled(c) ? refuse(err, "Transformer Engine's group kernel has one amax a tensor") : TE_PATH_GROUP;
    if (row_scaled(c) && c->data && c->data->gives_amax)
        return refuse(err, GIVEN_ROWS);
    if (row_scaled(c) && c->cols % 16)
        return refuse(err, "Transformer Engine's row amax needs columns in 16s");
    if (stream == FP4_STREAM_VECTOR && c->cols % 2)
        return refuse(err, "Transformer Engine needs an even number of columns");
    return on_stream(c,
                     stream == FP4_STREAM_TUNED ? TE_PATH_TUNED
                     : stream == FP4_STREAM_2D  ? TE_PATH_2D
                                                : TE_PATH_VECTOR,
                     stream, err);
}

/* What the kernel takes is what recipe te takes: case_check has looked. */
static enum te_path four_path(const struct fp4_case *c, struct fp4_error *err)
{
    if (row_scaled(c) && c->data && c->data->gives_amax)
        return refuse(err, GIVEN_ROWS);
    return TE_PATH_FOUR;
}

static enum te_path unfused_path(const struct fp4_case *c, struct fp4_error *err)
{
    enum fp4_stream stream = fp4_stream_te_dispatch(FP4_BF16, c->cols, c->rows, false, true, false);

    if (c->cols % 16)
        return refuse(err, "Transformer Engine's transform needs columns in 16s");
    return on_stream(c, stream == FP4_STREAM_TUNED ? TE_PATH_HADAMARD_TUNED : TE_PATH_HADAMARD_VECTOR, stream, err);
}

static enum te_path hadamard_path(const struct fp4_case *c, struct fp4_error *err)
{
    bool group = c->knob[KNOB_STREAM] == FP4_STREAM_RHT_GROUP;

    if (c->knob[KNOB_DIRECTION])
        return refuse(err, "Transformer Engine has no inverse transform");
    if (c->knob[KNOB_SUM] != FP4_SUM_TC)
        return refuse(err, "Transformer Engine's sums are those of the tensor cores: sum-tc");
    if (c->knob[KNOB_TRIP] || c->knob[KNOB_RCP])
        return refuse(err, "Transformer Engine's kernels round and divide as the recipe says: no trip- and no rcp- knob");
    if (c->knob[KNOB_KTILE])
        return refuse(err, "Transformer Engine takes the k tile of its own table");
    if (c->knob[KNOB_KERNEL] == FP4_RHT_KERNEL_UNFUSED)
        return unfused_path(c, err);
    if (c->knob[KNOB_KERNEL] == FP4_RHT_KERNEL_COL) {
        if (c->rows % 64 || c->cols % 128)
            return refuse(err, "Transformer Engine's columnwise Hadamard kernel needs rows in 64s and columns in 128s");
        return TE_PATH_HADAMARD_COL;
    }
    if (group && (c->rows % 128 || c->cols % 128))
        return refuse(err, "Transformer Engine's grouped Hadamard kernel needs rows and columns in 128s");
    if (c->rows % 64 || c->cols % 64)
        return refuse(err, "Transformer Engine's row_cast_col kernel needs rows and columns in 64s");
    return group ? TE_PATH_HADAMARD_GROUP : TE_PATH_HADAMARD_ROWCOL;
}

enum te_path te_path_of(const struct fp4_case *c, struct fp4_error *err)
{
    if (c->op == OP_DEQUANTIZE)
        return TE_PATH_DEQUANTIZE;
    if (c->op == OP_SWIZZLE)
        return c->knob[KNOB_SWIZZLE] ? TE_PATH_UNSWIZZLE : TE_PATH_SWIZZLE;
    if (c->op != OP_QUANTIZE && c->op != OP_RHT_QUANTIZE && c->op != OP_FOUR_OVER_SIX)
        return refuse(err, "Transformer Engine's library has no function for this alone");
    if (c->recipe != CR_TE && c->recipe != CR_TE_FAST)
        return refuse(err, "the library computes recipes te and te-fast");
    if (stochastic(c) && c->knob[KNOB_STREAM] == FP4_STREAM_RBITS)
        return refuse(err, "Transformer Engine draws its random words itself: stream rbits gives them");
    if (stochastic(c) && knob_rounds(c->knob[KNOB_ROUNDS]) != 10)
        return refuse(err, "a usual build of Transformer Engine has Philox with 10 rounds");
    if (c->op == OP_FOUR_OVER_SIX)
        return four_path(c, err);
    return c->op == OP_QUANTIZE ? quantize_path(c, err) : hadamard_path(c, err);
}

const char *te_path_name(enum te_path path)
{
    static const char *const names[] = {
        [TE_PATH_NONE] = "none",
        [TE_PATH_TUNED] = "tuned 1-D kernel",
        [TE_PATH_2D] = "2-D kernel",
        [TE_PATH_VECTOR] = "vector-blockwise kernel",
        [TE_PATH_GROUP] = "group kernel",
        [TE_PATH_FOUR] = "4over6 kernel",
        [TE_PATH_HADAMARD_COL] = "columnwise Hadamard fusion",
        [TE_PATH_HADAMARD_ROWCOL] = "row_cast_col Hadamard fusion",
        [TE_PATH_HADAMARD_GROUP] = "group row_cast_col Hadamard fusion",
        [TE_PATH_HADAMARD_TUNED] = "Hadamard transform and tuned 1-D kernel",
        [TE_PATH_HADAMARD_VECTOR] = "Hadamard transform and vector-blockwise kernel",
        [TE_PATH_DEQUANTIZE] = "dequantize kernel",
        [TE_PATH_SWIZZLE] = "swizzle kernel",
        [TE_PATH_UNSWIZZLE] = "unswizzle kernel",
    };

    return names[path];
}

/* ---- which device ------------------------------------------------------------------------------------------------------------------------ */

static bool fused(enum te_path path)
{
    return path == TE_PATH_HADAMARD_COL || path == TE_PATH_HADAMARD_ROWCOL || path == TE_PATH_HADAMARD_GROUP;
}

/* Devices with cvt.rs: their own random bits. All others round in software. */
static bool native_rs(int major, int minor)
{
    return major == 10 && (minor == 0 || minor == 3 || minor == 7);
}

static int check_model(const struct fp4_case *c, int major, int minor, struct fp4_error *err)
{
    struct fp4_rs_model model = rs_model_row(c->knob[KNOB_RS])->model;
    bool soft = model.rule == FP4_RS_FMA_FLOOR && model.map == FP4_MAP_STRAIGHT;

    if (native_rs(major, minor) && soft)
        return fp4_fail(err, FP4_ESUPPORT, "on compute capability %d.%d Transformer Engine rounds by cvt.rs, not by te-soft", major,
                        minor);
    if (!native_rs(major, minor) && !soft)
        return fp4_fail(err, FP4_ESUPPORT,
                        "on compute capability %d.%d Transformer Engine rounds stochastically in software: rs-model te-soft", major,
                        minor);
    return 0;
}

/* What pre-Blackwell devices lack. */
static int check_old(const struct fp4_case *c, enum te_path path, int major, int minor, struct fp4_error *err)
{
    bool vector = path == TE_PATH_VECTOR || path == TE_PATH_HADAMARD_VECTOR;
    const char *what = fused(path)            ? "prints that it needs Blackwell and returns"
                       : path == TE_PATH_FOUR ? "prints errors there and writes nothing"
                       : !vector              ? "needs a tensor map of FP4, which the driver refuses there"
                       : !stochastic(c)       ? "has no nearest conversion there: it prints errors and leaves zeros"
                       : row_scaled(c)        ? "has no row amax there: it prints errors and leaves it unwritten"
                                              : NULL;

    if (!what)
        return 0;
    return fp4_fail(err, FP4_ESUPPORT, "on compute capability %d.%d Transformer Engine's %s %s", major, minor, te_path_name(path),
                    what);
}

int te_path_runs(const struct fp4_case *c, enum te_path path, int major, int minor, struct fp4_error *err)
{
    bool transforms = path >= TE_PATH_HADAMARD_COL && path <= TE_PATH_HADAMARD_VECTOR;

    if (path >= TE_PATH_DEQUANTIZE)
        return 0;
    if (transforms && major < 9)
        return fp4_fail(err, FP4_ESUPPORT, "on compute capability %d.%d Transformer Engine has no Hadamard transform", major,
                        minor);
    if (major < 10 && check_old(c, path, major, minor, err))
        return -1;
    if (fused(path) && stochastic(c) && !native_rs(major, minor))
        return fp4_fail(err, FP4_ESUPPORT, "Transformer Engine's %s rounds stochastically by cvt.rs only, which %d.%d lacks",
                        te_path_name(path), major, minor);
    return stochastic(c) ? check_model(c, major, minor, err) : 0;
}

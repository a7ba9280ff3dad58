/* SPDX-License-Identifier: Apache-2.0 */
/* NVFP4 quantization, rowwise and transposed (TE 2, 3, 5, 6). */
#include "block.h"

float fp4_global_scale(enum fp4_recipe recipe, float amax, unsigned bound)
{
    struct fp4_chain ch = chain_quantize(recipe, false);

    return fp4a_canonical(chain_global_scale(&ch, amax, 6.0f * (float)bound));
}

/* ---- amax ------------------------------------------------------------------------------------------------------------------------ */

static float amax_step(float acc, float v, bool keep_nan)
{
    struct fp4_chain ch = { .keep_nan = keep_nan };

    return chain_max(&ch, acc, v);
}

static float amax_strided(const void *x, enum fp4_dtype dtype, size_t first, size_t stride, size_t count, bool keep_nan)
{
    float acc = 0.0f;
    size_t i;

    for (i = 0; i < count; i++)
        acc = amax_step(acc, fp4_load(x, dtype, first + i * stride), keep_nan);
    return acc;
}

void fp4_amax(const void *x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan, float *out)
{
    *out = amax_strided(x, dtype, 0, 1, rows * cols, keep_nan);
}

void fp4_amax_rows(const void *x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan, float *out)
{
    size_t r;

    for (r = 0; r < rows; r++)
        out[r] = amax_strided(x, dtype, r * cols, 1, cols, keep_nan);
}

void fp4_amax_cols(const void *x, enum fp4_dtype dtype, size_t rows, size_t cols, bool keep_nan, float *out)
{
    size_t r, c;

    for (c = 0; c < cols; c++)
        out[c] = 0.0f;
    for (r = 0; r < rows; r++)
        for (c = 0; c < cols; c++)
            out[c] = amax_step(out[c], fp4_load(x, dtype, r * cols + c), keep_nan);
}

/* ---- one direction ------------------------------------------------------------------------------------------------------------------- */

struct source {
    const void *x;
    enum fp4_dtype dtype;
    size_t line_stride, packed_stride;
};

static float block_load(const struct direction *d, const struct source *s, size_t line, size_t b, float v[16])
{
    size_t first = 16 * b, n = d->packed - first < 16 ? d->packed - first : 16, i;
    float acc = 0.0f;

    for (i = 0; i < n; i++) {
        v[i] = fp4_load(s->x, s->dtype, line * s->line_stride + (first + i) * s->packed_stride);
        acc = chain_max(d->chain, acc, v[i]);
    }
    return acc;
}

/* A tile of `height` lines by 16 packed elements: 1 for 1x16, up to 16 for 16x16, which share the maximum. */
static void tile_encode(struct direction *d, const struct source *s, size_t line, size_t height, size_t b)
{
    float v[16], acc = 0.0f;
    size_t i;

    for (i = 0; i < height; i++)
        acc = chain_max(d->chain, acc, block_load(d, s, line + i, b, v));
    for (i = 0; i < height; i++) {
        if (height > 1)
            block_load(d, s, line + i, b, v);
        direction_block(d, line + i, b, v, acc);
    }
}

static void direction_encode(struct direction *d, const struct source *s, const struct fp4_quantize_params *p)
{
    size_t step = p->block_16x16 ? 16 : 1, line, b;

    if (!p->row_scaled) {
        const float *given = d->out->given_amax;

        direction_set_amax(d, 0, given ? given[0] : amax_strided(s->x, s->dtype, 0, 1, p->rows * p->cols, d->chain->keep_nan));
    }
    if (d->transposed && !p->row_scaled) {
        /* Block rows outermost: 16 input rows stay in the cache while their columns are walked. */
        for (b = 0; b < d->blocks; b++)
            for (line = 0; line < d->lines; line += step)
                tile_encode(d, s, line, d->lines - line < step ? d->lines - line : step, b);
        return;
    }
    for (line = 0; line < d->lines; line += step) {
        if (p->row_scaled) {
            const float *given = d->out->given_amax;

            direction_set_amax(
                d, line,
                given ? given[line]
                      : amax_strided(s->x, s->dtype, line * s->line_stride, s->packed_stride, d->packed, d->chain->keep_nan));
        }
        for (b = 0; b < d->blocks; b++)
            tile_encode(d, s, line, d->lines - line < step ? d->lines - line : step, b);
    }
}

/* ---- the call ---------------------------------------------------------------------------------------------------------------------------- */

static int check_direction(const struct fp4_quantize_params *p, const struct fp4_quantized *q, bool transposed,
                           enum fp4_stream stream, struct fp4_error *err)
{
    size_t packed = transposed ? p->rows : p->cols;

    if (!q)
        return 0;
    if (packed % 2)
        return fp4_fail(err, FP4_EUSAGE, "the %s output packs two codes a byte: %s must be even, not %zu",
                        transposed ? "transposed" : "rowwise", transposed ? "rows" : "columns", packed);
    if (!q->codes || !q->scales)
        return fp4_fail(err, FP4_EUSAGE, "codes and scales buffers are needed");
    if (p->stochastic && stream == FP4_STREAM_RBITS && !q->given_rbits)
        return fp4_fail(err, FP4_EUSAGE, "stream rbits needs the random words as an input");
    if (p->stochastic && stream == FP4_STREAM_GROUP && transposed)
        return fp4_fail(err, FP4_ESUPPORT, "the group kernel has no transposed output");
    return 0;
}

static int check(const struct fp4_quantize_params *p, const struct fp4_quantized *row, const struct fp4_quantized *col,
                 enum fp4_stream stream, struct fp4_error *err)
{
    if (!row && !col)
        return fp4_fail(err, FP4_EUSAGE, "neither a rowwise nor a transposed output is asked for");
    if (p->input != FP4_F32 && p->input != FP4_F16 && p->input != FP4_BF16)
        return fp4_fail(err, FP4_EUSAGE, "quantize reads f32, f16 or bf16, not %s", fp4_dtype_name(p->input));
    if ((unsigned)p->recipe >= FP4_RECIPE_FP4SM120) /* and those behind it belong to other ops */
        return fp4_fail(err, FP4_ESUPPORT, "the recipe has no quantize");
    /* Only the tuned kernel has fast math; where TE dispatches to another one the attribute is ignored (TE 10.13). */
    if (p->recipe == FP4_RECIPE_TE_FAST && (p->input != FP4_BF16 || p->block_16x16 || p->rows % 32 || p->cols % 32 || !row))
        return fp4_fail(err, FP4_ESUPPORT,
                        "te-fast is the tuned kernel's: bf16 input, 1x16 blocks, rows and columns in 32s, with a rowwise output");
    if (p->row_scaled && p->block_16x16)
        return fp4_fail(err, FP4_ESUPPORT, "one amax a row excludes 16x16 blocks");
    if (p->stochastic && stream >= FP4_STREAM_RHT_COL)
        return fp4_fail(err, FP4_ESUPPORT, "the stream belongs to rht-quantize");
    if (check_direction(p, row, false, stream, err) || check_direction(p, col, true, stream, err))
        return -1;
    return 0;
}

static void direction_init(struct direction *d, const struct fp4_quantize_params *p, const struct fp4_chain *chain,
                           const struct fp4_quantized *out, enum fp4_stream stream, const struct fp4_stream_shape *shape,
                           bool transposed)
{
    direction_begin(d, chain, out, p->rows, p->cols, transposed);
    d->stochastic = p->stochastic;
    d->rs = p->rs;
    d->stream = stream;
    d->shape = *shape;
    d->seed = p->seed;
    d->offset = p->offset;
    d->rounds = p->philox_rounds ? p->philox_rounds : 10;
}

int fp4_quantize(const struct fp4_quantize_params *p, const void *x, const struct fp4_quantized *row,
                 const struct fp4_quantized *col, struct fp4_error *err)
{
    struct fp4_stream_shape shape = { p->rows, p->cols, row != NULL, col != NULL, 0 };
    enum fp4_stream kernel = fp4_stream_te_dispatch(p->input, p->rows, p->cols, p->block_16x16, row != NULL, col != NULL);
    enum fp4_stream stream = p->stream == FP4_STREAM_AUTO ? kernel : p->stream;
    bool vector = p->recipe == FP4_RECIPE_TE && (p->stream == FP4_STREAM_RBITS ? kernel : stream) == FP4_STREAM_VECTOR;
    struct source rowwise = { x, p->input, p->cols, 1 }, colwise = { x, p->input, 1, p->cols };
    struct fp4_chain chain;
    struct fp4_quantized shared;
    struct direction d;

    if (check(p, row, col, stream, err))
        return -1;
    chain = chain_quantize(p->recipe, p->stochastic && p->rs.rule == FP4_RS_FMA_FLOOR);
    if (row) {
        direction_init(&d, p, &chain, row, stream, &shape, false);
        direction_encode(&d, &rowwise, p);
    }
    if (col) {
        shared = *col;
        /* The vector-blockwise kernel takes one global amax for both directions (TE 2.1). */
        if (row && row->given_amax && vector && !p->row_scaled)
            shared.given_amax = row->given_amax;
        direction_init(&d, p, &chain, &shared, stream, &shape, true);
        direction_encode(&d, &colwise, p);
    }
    return 0;
}

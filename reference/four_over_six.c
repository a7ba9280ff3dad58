/* SPDX-License-Identifier: Apache-2.0 */
/* Four-over-six: two candidates a block, the one with the lower error stored (fp4four.h). */
#include "four_arith.h"

#if defined(__GNUC__)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE inline
#endif

/* ---- names --------------------------------------------------------------------------------------------------------------------------- */

static const char *const error_names[] = { "mae", "mse" };
static const char *const nan_names[] = { "drop", "propagate" };

static int name_index(const char *name, const char *const names[2])
{
    return strcmp(name, names[0]) == 0 ? 0 : strcmp(name, names[1]) == 0 ? 1 : -1;
}

const char *fp4_four_error_name(enum fp4_four_error error)
{
    return (unsigned)error < 2 ? error_names[error] : NULL;
}

int fp4_four_error_from_name(const char *name)
{
    return name_index(name, error_names);
}

const char *fp4_four_nan_name(enum fp4_four_nan nan)
{
    return (unsigned)nan < 2 ? nan_names[nan] : NULL;
}

int fp4_four_nan_from_name(const char *name)
{
    return name_index(name, nan_names);
}

/* ---- what a recipe takes ---------------------------------------------------------------------------------------------------------------- */

/* Values that no recipe knows, and shapes that do not fit. */
static int check_values(const struct fp4_four_params *p, bool rowwise, bool transposed, struct fp4_error *err)
{
    if (!rowwise && !transposed)
        return fp4_fail(err, FP4_EUSAGE, "neither a rowwise nor a transposed output is asked for");
    if (!fp4_four_error_name(p->error))
        return fp4_fail(err, FP4_EUSAGE, "the error is mae or mse, not number %d", (int)p->error);
    if (p->bound != 256 && p->bound != 448)
        return fp4_fail(err, FP4_EUSAGE, "the E4M3 bound is 448 or 256, not %u", p->bound);
    if (!fp4_four_nan_name(p->nan))
        return fp4_fail(err, FP4_EUSAGE, "the NaN policy is drop or propagate, not number %d", (int)p->nan);
    if (p->input != FP4_F32 && p->input != FP4_F16 && p->input != FP4_BF16)
        return fp4_fail(err, FP4_EUSAGE, "four-over-six reads f32, f16 or bf16, not %s", fp4_dtype_name(p->input));
    if ((rowwise || p->block_16x16) && p->cols % 16)
        return fp4_fail(err, FP4_EUSAGE, "%s needs a multiple of 16 columns, not %zu",
                        p->block_16x16 ? "a 16x16 block" : "the rowwise output", p->cols);
    if ((transposed || p->block_16x16) && p->rows % 16)
        return fp4_fail(err, FP4_EUSAGE, "%s needs a multiple of 16 rows, not %zu",
                        p->block_16x16 ? "a 16x16 block" : "the transposed output", p->rows);
    return 0;
}

static int check_te(const struct fp4_four_params *p, bool rowwise, bool transposed, struct fp4_error *err)
{
    if (p->row_scaled && transposed)
        return fp4_fail(err, FP4_ESUPPORT, "recipe te has no transposed output with one amax a row");
    if (p->block_16x16 && !rowwise)
        return fp4_fail(err, FP4_ESUPPORT, "recipe te makes 16x16 blocks with a rowwise output only");
    return 0;
}

static int check_inference(const struct fp4_four_params *p, bool transposed, const char *name, struct fp4_error *err)
{
    if (p->input == FP4_F32)
        return fp4_fail(err, FP4_ESUPPORT, "recipe %s reads f16 or bf16, not f32", name);
    if (transposed)
        return fp4_fail(err, FP4_ESUPPORT, "recipe %s has no transposed output", name);
    return 0;
}

int fp4_four_check(const struct fp4_four_params *p, bool rowwise, bool transposed, struct fp4_error *err)
{
    bool propagate = p->nan == FP4_FOUR_NAN_PROPAGATE;

    if (check_values(p, rowwise, transposed, err))
        return -1;
    if (p->row_scaled && p->block_16x16)
        return fp4_fail(err, FP4_ESUPPORT, "one amax a row excludes 16x16 blocks");
    if (p->recipe != FP4_RECIPE_TORCHAO && propagate != (p->recipe == FP4_RECIPE_TE_REF))
        return fp4_fail(err, FP4_ESUPPORT, "the recipe %s NaN", propagate ? "does not propagate" : "does not drop");
    switch (p->recipe) {
    case FP4_RECIPE_TE:
    case FP4_RECIPE_TE_FAST:
        return check_te(p, rowwise, transposed, err);
    case FP4_RECIPE_TE_REF:
        return 0;
    case FP4_RECIPE_FLASHINFER:
        if (p->block_16x16)
            return fp4_fail(err, FP4_ESUPPORT, "recipe flashinfer has no 16x16 blocks");
        return check_inference(p, transposed, "flashinfer", err);
    case FP4_RECIPE_FOUROVERSIX:
        if (p->bound != 256 || p->row_scaled || p->fast_error)
            return fp4_fail(err, FP4_ESUPPORT, "recipe fouroversix has bound 256, one amax a tensor and the exact error only");
        return check_inference(p, transposed, "fouroversix", err);
    case FP4_RECIPE_TORCHAO:
        if (p->fast_error)
            return fp4_fail(err, FP4_ESUPPORT, "recipe torchao has no fast error");
        return 0;
    default:
        return fp4_fail(err, FP4_ESUPPORT, "the recipe has no four-over-six");
    }
}

/* ---- one direction ------------------------------------------------------------------------------------------------------------------------ */

struct four_direction {
    const struct four_chain *ch;
    const struct fp4_quantized *out;
    struct fp4_four_stages stages; /* all NULL where none are wanted */
    const void *x;
    enum fp4_dtype dtype;
    size_t lines, packed, blocks;      /* L, P, P/16 */
    size_t line_stride, packed_stride; /* of x */
    float dequantize_factor;           /* fl(1 / (6 * bound)) */
    struct chain_globals globals;      /* of the current line */
};

/* One line of a block, encoded by both candidates. */
struct four_line {
    float x[16];
    float scaled[2][16];
    uint32_t code[2][16];
    float difference[2][16];
    float error[2];
};

/* Loops below run over the 16 elements with one step of the arithmetic each, so that a compiler can do several elements at once. */

static void load(const struct four_direction *d, size_t line, size_t b, float x[16])
{
    size_t at = line * d->line_stride + 16 * b * d->packed_stride, i;
    uint16_t half[16];

    if (d->packed_stride != 1 || d->dtype == FP4_F16) {
        for (i = 0; i < 16; i++)
            x[i] = fp4_load(d->x, d->dtype, at + i * d->packed_stride);
    } else if (d->dtype == FP4_F32) {
        memcpy(x, (const char *)d->x + 4 * at, 64);
    } else {
        memcpy(half, (const char *)d->x + 2 * at, sizeof half);
        for (i = 0; i < 16; i++)
            x[i] = fp4a_float((uint32_t)half[i] << 16); /* a NaN as it is: no output shows it */
    }
}

static float line_amax(const struct four_direction *d, size_t line)
{
    size_t at = line * d->line_stride, i;
    float acc = 0.0f;

    for (i = 0; i < d->packed; i++)
        acc = chain_max(&d->ch->chain, acc, fp4_load(d->x, d->dtype, at + i * d->packed_stride));
    return acc;
}

static void set_amax(struct four_direction *d, size_t line, float amax)
{
    d->globals = four_globals(d->ch, amax);
    if (d->out->amax)
        d->out->amax[line] = d->globals.amax;
    if (d->out->global_scale)
        d->out->global_scale[line] = fp4a_canonical(d->globals.enc);
}

/* The larger of acc and the magnitudes of x, by their bits, which order them. */
static float block_max(const struct four_chain *ch, float acc, const float x[16])
{
    int32_t most = 0, nans = 0, a, is_nan;
    int i;

    for (i = 0; i < 16; i++) {
        a = (int32_t)(fp4a_bits(x[i]) & 0x7FFFFFFFu);
        is_nan = a > 0x7F800000;
        nans += is_nan;
        a = is_nan ? 0 : a;
        most = a > most ? a : most;
    }
    if (nans && (ch->chain.keep_nan || (ch->all_nan_keeps && nans == 16)))
        return fp4a_float(FP4_QNAN);
    return chain_max(&ch->chain, acc, fp4a_float((uint32_t)most));
}

static ALWAYS_INLINE void differences(enum four_value value, const struct four_direction *d, const float q[16], float f,
                                      const float x[16], float out[16])
{
    struct chain_globals g = d->globals;
    float numerator = d->ch->numerator;
    int i;

    for (i = 0; i < 16; i++)
        out[i] = four_difference(value, numerator, &g, q[i], f, x[i]);
}

/* What four_error_add makes of each candidate's differences, the two sums side by side. */
static void sum_errors(const struct four_chain *ch, struct four_line *l)
{
    const float *d6 = l->difference[FP4_MAP_TO_6], *d4 = l->difference[FP4_MAP_TO_4];
    float six = 0.0f, four = 0.0f;
    int i;

    if (!ch->mse) {
        for (i = 0; i < 16; i++) {
            six = four_error_add(false, false, six, d6[i]);
            four = four_error_add(false, false, four, d4[i]);
        }
    } else {
        for (i = 0; i < 16; i++) {
            six = four_error_add(true, ch->fused, six, d6[i]);
            four = four_error_add(true, ch->fused, four, d4[i]);
        }
    }
    l->error[FP4_MAP_TO_6] = six;
    l->error[FP4_MAP_TO_4] = four;
}

/* Codes and differences of candidate c of a line. */
static void encode(const struct four_direction *d, struct four_line *l, int c, uint32_t byte, bool zeros)
{
    const struct four_chain *ch = d->ch;
    float e = chain_element_scale(&ch->chain, &d->globals, byte), f = fp4a_from_e4m3(byte);
    float x[16], scaled[16], q[16], difference[16];
    uint32_t code[16];
    int i;

    memcpy(x, l->x, sizeof x);
    for (i = 0; i < 16; i++)
        scaled[i] = fp4a_mul(x[i], e);
    if (zeros)
        memset(scaled, 0, sizeof scaled);
    for (i = 0; i < 16; i++)
        code[i] = fp4a_to_e2m1(scaled[i]);
    if (ch->chain.nan_code_zero || ch->chain.drop_minus_zero)
        for (i = 0; i < 16; i++)
            code[i] = chain_code(&ch->chain, scaled[i], code[i]);
    for (i = 0; i < 16; i++)
        q[i] = fp4a_from_e2m1(code[i]);
    if (ch->value == FOUR_VALUE_AMAX)
        differences(FOUR_VALUE_AMAX, d, q, f, x, difference);
    else if (ch->value == FOUR_VALUE_DECODE)
        differences(FOUR_VALUE_DECODE, d, q, f, x, difference);
    else
        differences(FOUR_VALUE_SCALED, d, q, f, x, difference);
    memcpy(l->scaled[c], scaled, sizeof scaled);
    memcpy(l->code[c], code, sizeof code);
    memcpy(l->difference[c], difference, sizeof difference);
}

static void pack(uint8_t *out, const uint32_t code[16])
{
    int i;

    for (i = 0; i < 8; i++)
        out[i] = (uint8_t)(code[2 * i] | code[2 * i + 1] << 4);
}

static void store(const struct four_direction *d, size_t line, size_t b, const struct four_line *l, int pick, uint32_t byte)
{
    const struct fp4_quantized *out = d->out;
    size_t first = line * d->packed + 16 * b, i;

    out->scales[line * d->blocks + b] = (uint8_t)byte;
    pack(out->codes + first / 2, l->code[pick]);
    if (out->scaled)
        for (i = 0; i < 16; i++)
            out->scaled[first + i] = fp4a_canonical(l->scaled[pick][i]);
    if (out->dequantized) {
        float scale = fp4a_mul(fp4a_mul(fp4a_from_e4m3(byte), d->globals.amax), d->dequantize_factor);

        for (i = 0; i < 16; i++)
            out->dequantized[first + i] = fp4a_canonical(fp4a_mul(fp4a_from_e2m1(l->code[pick][i]), scale));
    }
}

static void store_stages(const struct four_direction *d, size_t line, size_t b, const struct four_line *l, const uint32_t byte[2],
                         const float error[2], int pick)
{
    size_t at = line * d->blocks + b;
    int c;

    for (c = 0; c < 2; c++) {
        if (d->stages.scales[c])
            d->stages.scales[c][at] = (uint8_t)byte[c];
        if (d->stages.codes[c])
            pack(d->stages.codes[c] + 8 * at, l->code[c]);
        if (d->stages.errors[c])
            d->stages.errors[c][at] = fp4a_canonical(error[c]);
    }
    if (d->stages.pick)
        d->stages.pick[at] = (uint8_t)pick;
}

/* A block of 1 or 16 lines, which share the maximum, the scales and the pick. */
static void encode_block(const struct four_direction *d, size_t line, size_t height, size_t b)
{
    const struct four_chain *ch = d->ch;
    struct four_line l[16];
    float amax = 0.0f, error[2], errors[16];
    uint32_t byte[2];
    bool zeros;
    size_t i, c;
    int pick;

    for (i = 0; i < height; i++) {
        load(d, line + i, b, l[i].x);
        amax = block_max(ch, amax, l[i].x);
    }
    zeros = (ch->zero_block && amax == 0.0f) || (ch->zero_amax && d->globals.amax == 0.0f);
    four_scale_pair(&d->globals, amax, byte);
    for (c = 0; c < 2; c++)
        byte[c] = zeros ? 0 : byte[c];
    for (i = 0; i < height; i++) {
        for (c = 0; c < 2; c++)
            encode(d, &l[i], (int)c, byte[c], zeros);
        sum_errors(ch, &l[i]);
    }
    for (c = 0; c < 2; c++) {
        for (i = 0; i < height; i++)
            errors[i] = l[i].error[c];
        error[c] = height == 16 ? four_tree_sum(errors) : errors[0];
    }
    pick = four_pick(error[FP4_MAP_TO_6], error[FP4_MAP_TO_4]);
    for (i = 0; i < height; i++) {
        store(d, line + i, b, &l[i], pick, byte[pick]);
        store_stages(d, line + i, b, &l[i], byte, error, pick);
        if (d->out->block_amax)
            d->out->block_amax[(line + i) * d->blocks + b] = fp4a_canonical(amax);
    }
}

static float tensor_amax(const struct four_direction *d)
{
    float amax;

    fp4_amax(d->x, d->dtype, d->lines, d->packed, d->ch->chain.keep_nan, &amax);
    return amax;
}

static void encode_direction(struct four_direction *d, const struct fp4_four_params *p, const float *given)
{
    size_t height = p->block_16x16 ? 16 : 1, line, b;

    if (!p->row_scaled)
        set_amax(d, 0, given ? given[0] : tensor_amax(d));
    for (line = 0; line < d->lines; line += height) {
        if (p->row_scaled)
            set_amax(d, line, given ? given[line] : line_amax(d, line));
        for (b = 0; b < d->blocks; b++)
            encode_block(d, line, height, b);
    }
}

/* ---- the call ------------------------------------------------------------------------------------------------------------------------------- */

static struct four_direction direction_of(const struct fp4_four_params *p, const struct four_chain *ch, const void *x,
                                          const struct fp4_quantized *out, const struct fp4_four_stages *stages, bool transposed)
{
    struct four_direction d;

    memset(&d, 0, sizeof d);
    d.ch = ch;
    d.out = out;
    if (stages)
        d.stages = *stages;
    d.x = x;
    d.dtype = p->input;
    d.lines = transposed ? p->cols : p->rows;
    d.packed = transposed ? p->rows : p->cols;
    d.blocks = d.packed / 16;
    d.line_stride = transposed ? 1 : p->cols;
    d.packed_stride = transposed ? p->cols : 1;
    d.dequantize_factor = fp4a_float(p->bound == 448 ? FP4_INV_2688 : FP4_INV_1536);
    return d;
}

float fp4_four_global_scale(const struct fp4_four_params *p, float amax)
{
    struct four_chain ch = four_chain_of(p);

    return fp4a_canonical(four_globals(&ch, amax).enc);
}

int fp4_four_over_six(const struct fp4_four_params *p, const void *x, const struct fp4_quantized *row,
                      const struct fp4_quantized *col, const struct fp4_four_stages *row_stages,
                      const struct fp4_four_stages *col_stages, struct fp4_error *err)
{
    bool te = p->recipe == FP4_RECIPE_TE || p->recipe == FP4_RECIPE_TE_FAST;
    struct four_chain ch;
    struct four_direction d;

    if (fp4_four_check(p, row != NULL, col != NULL, err))
        return -1;
    if ((row && (!row->codes || !row->scales)) || (col && (!col->codes || !col->scales)))
        return fp4_fail(err, FP4_EUSAGE, "codes and scales buffers are needed");
    ch = four_chain_of(p);
    if (row) {
        d = direction_of(p, &ch, x, row, row_stages, false);
        encode_direction(&d, p, row->given_amax);
    }
    if (col) {
        d = direction_of(p, &ch, x, col, col_stages, true);
        encode_direction(&d, p, te && !col->given_amax && row ? row->given_amax : col->given_amax);
    }
    return 0;
}

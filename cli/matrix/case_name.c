/* SPDX-License-Identifier: Apache-2.0 */
/* Cases and their names: printing, parsing, and which combinations are defined. */
#include "case_build.h"
#include "term.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS_MAX (6 + KNOB_COUNT)
#define TAIL 4 /* dtype, data, shape, seed */

/* ---- offers: what could have stood there ---------------------------------------------------------------------------------------- */

struct offer {
    const char *given;
    char list[260];
    size_t used;
    bool cut;
    const char *near;
    size_t distance;
};

static void offer_start(struct offer *o, const char *given)
{
    memset(o, 0, sizeof *o);
    o->given = given;
    o->distance = 3;
}

static void offer_add(struct offer *o, const char *name)
{
    size_t n = strlen(name), distance;

    if (!n)
        return;
    distance = word_distance(o->given, name);
    if (distance < o->distance && distance < n) {
        o->distance = distance;
        o->near = name;
    }
    if (o->cut || o->used + n + 3 > sizeof o->list) {
        o->cut = true;
        return;
    }
    o->used += (size_t)snprintf(o->list + o->used, sizeof o->list - o->used, "%s%s", o->used ? ", " : "", name);
}

static int offer_fail(const struct offer *o, struct fp4_error *err, const char *what)
{
    const char *more = o->cut ? ", ..." : "";

    if (o->near)
        return fp4_fail(err, FP4_EUSAGE, "unknown %s '%s': did you mean '%s'? (valid here: %s%s)", what, o->given, o->near, o->list,
                        more);
    return fp4_fail(err, FP4_EUSAGE, "unknown %s '%.60s': valid here: %s%s", what, o->given, o->list, more);
}

/* ---- single segments --------------------------------------------------------------------------------------------------------------- */

int case_op_from_text(const char *text, enum fp4_op *op, struct fp4_error *err)
{
    struct offer o;
    size_t i;

    for (i = 0; i < OP_COUNT; i++)
        if (strcmp(text, fp4_ops[i].name) == 0) {
            *op = fp4_ops[i].op;
            return 0;
        }
    offer_start(&o, text);
    for (i = 0; i < OP_COUNT; i++)
        offer_add(&o, fp4_ops[i].name);
    return offer_fail(&o, err, "op");
}

int case_set_recipe(struct fp4_case *c, const char *text, struct fp4_error *err)
{
    struct offer o;
    unsigned i;

    offer_start(&o, text);
    for (i = 0; i < CR_COUNT; i++) {
        const char *name = case_recipe_name((enum case_recipe)i);

        if (!(fp4_ops[c->op].recipes & 1u << i))
            continue;
        if (strcmp(text, name) == 0) {
            c->recipe = (enum case_recipe)i;
            return 0;
        }
        offer_add(&o, name);
    }
    return offer_fail(&o, err, "recipe");
}

int case_set_dtype(struct fp4_case *c, const char *text, struct fp4_error *err)
{
    struct offer o;
    unsigned i;

    offer_start(&o, text);
    for (i = 0; i < FP4_DTYPE_COUNT; i++) {
        const char *name = fp4_dtype_name((enum fp4_dtype)i);

        if (!(fp4_ops[c->op].dtypes & 1u << i))
            continue;
        if (strcmp(text, name) == 0) {
            c->dtype = (enum fp4_dtype)i;
            return 0;
        }
        offer_add(&o, name);
    }
    return offer_fail(&o, err, "dtype");
}

bool case_is_file_name(const char *text)
{
    return strncmp(text, "file-", 5) == 0 && strlen(text) == 21 && strspn(text + 5, "0123456789abcdef") == 16;
}

int case_set_data(struct fp4_case *c, const char *text, struct fp4_error *err)
{
    const struct data_row *row = data_find(text);
    struct offer o;
    size_t i;

    c->data = NULL;
    c->input[0] = '\0';
    if (case_is_file_name(text)) {
        snprintf(c->input, sizeof c->input, "%s", text);
        return 0;
    }
    if (row && row->ops & 1u << c->op) {
        c->data = row;
        return 0;
    }
    offer_start(&o, text);
    for (i = 0; i < fp4_data_count; i++)
        if (fp4_data[i].ops & 1u << c->op)
            offer_add(&o, fp4_data[i].name);
    return offer_fail(&o, err, row ? "data for this op" : "data");
}

static int knob_token_index(const struct knob_row *row, const char *token)
{
    int i;

    if (!*token)
        return -1;
    for (i = 0; row->tokens[i]; i++)
        if (strcmp(row->tokens[i], token) == 0)
            return i;
    return -1;
}

const struct knob_row *case_set_knob(struct fp4_case *c, const char *token, struct fp4_error *err)
{
    struct offer o;
    size_t i, j;

    for (i = 0; i < fp4_knob_rows; i++) {
        const struct knob_row *row = &fp4_knobs[i];
        int value = row->ops & 1u << c->op ? knob_token_index(row, token) : -1;

        if (value >= 0) {
            c->knob[row->knob] = (uint8_t)value;
            return row;
        }
    }
    offer_start(&o, token);
    for (i = 0; i < fp4_knob_rows; i++)
        for (j = 0; fp4_knobs[i].ops & 1u << c->op && fp4_knobs[i].tokens[j]; j++)
            offer_add(&o, fp4_knobs[i].tokens[j]);
    if (strncmp(token, "rs-file-", 8) == 0)
        fp4_fail(err, FP4_EUSAGE, "rs-model '%.60s' was measured: give its file with --rs-model FILE", token);
    else if (!o.used)
        fp4_fail(err, FP4_EUSAGE, "unknown knob '%.60s': op %s has no knobs", token, fp4_ops[c->op].name);
    else
        offer_fail(&o, err, "knob");
    return NULL;
}

/* Digits only: strtoull alone would take signs, spaces and 0x. */
static int decimal(const char *text, size_t length, uint64_t *value)
{
    uint64_t v = 0;
    size_t i;

    if (length == 0 || length > 20)
        return -1;
    for (i = 0; i < length; i++) {
        unsigned digit = (unsigned)text[i] - '0';

        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return -1;
        v = v * 10 + digit;
    }
    *value = v;
    return 0;
}

int case_set_shape(struct fp4_case *c, const char *text, struct fp4_error *err)
{
    const char *x = strchr(text, 'x');
    uint64_t rows, cols, depth = 0;

    if (c->op == OP_GEMM) {
        const char *y = x ? strchr(x + 1, 'x') : NULL;

        if (!y || decimal(text, (size_t)(x - text), &rows) || decimal(x + 1, (size_t)(y - x - 1), &depth) ||
            decimal(y + 1, strlen(y + 1), &cols))
            return fp4_fail(err, FP4_EUSAGE, "bad shape '%.60s': write MxNxK, for example 128x256x512", text);
        if (depth < 1 || depth > CASE_DIM_MAX)
            return fp4_fail(err, FP4_EUSAGE, "bad shape '%.60s': M, N and K go from 1 to %zu", text, CASE_DIM_MAX);
    } else if (!x || decimal(text, (size_t)(x - text), &rows) || decimal(x + 1, strlen(x + 1), &cols))
        return fp4_fail(err, FP4_EUSAGE, "bad shape '%.60s': write ROWSxCOLS, for example 256x128", text);
    if (rows < 1 || cols < 1 || rows > CASE_DIM_MAX || cols > CASE_DIM_MAX)
        return fp4_fail(err, FP4_EUSAGE, "bad shape '%.60s': rows and columns go from 1 to %zu", text, CASE_DIM_MAX);
    c->rows = (size_t)rows;
    c->cols = (size_t)cols;
    c->depth = (size_t)depth;
    return 0;
}

int case_seed_from_text(const char *text, uint64_t *seed, struct fp4_error *err)
{
    if (decimal(text, strlen(text), seed))
        return fp4_fail(err, FP4_EUSAGE, "bad seed '%.60s': a decimal number below 2^64", text);
    return 0;
}

/* ---- properties ------------------------------------------------------------------------------------------------------------------ */

static bool is_quantizer(enum fp4_op op)
{
    return op == OP_QUANTIZE || op == OP_RHT_QUANTIZE || op == OP_FOUR_OVER_SIX;
}

bool case_is_stochastic(const struct fp4_case *c)
{
    return is_quantizer(c->op) && c->knob[KNOB_ROUND] == 1;
}

bool case_uses_rs_model(const struct fp4_case *c)
{
    return knob_find(KNOB_RS, c->op) && (!is_quantizer(c->op) || case_is_stochastic(c));
}

bool case_has_row(const struct fp4_case *c)
{
    return c->op == OP_RHT_QUANTIZE ? c->knob[KNOB_OUT] == 2 : c->knob[KNOB_OUT] != 1;
}

bool case_has_col(const struct fp4_case *c)
{
    return c->op == OP_RHT_QUANTIZE || c->knob[KNOB_OUT] != 0;
}

bool case_gives_amax(const struct fp4_case *c)
{
    return is_quantizer(c->op) && c->data && c->data->gives_amax;
}

/* Knobs that mean something only when bits are drawn. */
static bool needs_stochastic(const struct knob_row *row, enum fp4_op op)
{
    return is_quantizer(op) &&
           (row->knob == KNOB_RS || row->knob == KNOB_STREAM || row->knob == KNOB_ROUNDS || row->knob == KNOB_KTILE);
}

/* ---- printing and parsing ---------------------------------------------------------------------------------------------------------- */

struct fp4_case case_make(enum fp4_op op, enum case_recipe recipe, enum fp4_dtype dtype, const struct data_row *data, size_t rows,
                          size_t cols, uint64_t seed)
{
    struct fp4_case c;
    size_t i;

    memset(&c, 0, sizeof c);
    c.op = op;
    c.recipe = recipe;
    c.dtype = dtype;
    c.data = data;
    c.rows = rows;
    c.cols = cols;
    c.seed = seed;
    for (i = 0; i < fp4_knob_rows; i++)
        if (fp4_knobs[i].ops & 1u << op)
            c.knob[fp4_knobs[i].knob] = (uint8_t)fp4_knobs[i].def;
    return c;
}

static bool is_printed(const struct fp4_case *c, const struct knob_row *row)
{
    if (!(row->ops & 1u << c->op))
        return false;
    return row->shown || c->knob[row->knob] != row->def;
}

void case_name(const struct fp4_case *c, char name[CASE_NAME_MAX])
{
    size_t used = (size_t)snprintf(name, CASE_NAME_MAX, "%s/%s", fp4_ops[c->op].name, case_recipe_name(c->recipe));
    char shape[64];
    size_t i;

    for (i = 0; i < fp4_knob_rows; i++)
        if (is_printed(c, &fp4_knobs[i]) && used < CASE_NAME_MAX)
            used += (size_t)snprintf(name + used, CASE_NAME_MAX - used, "/%s", fp4_knobs[i].tokens[c->knob[fp4_knobs[i].knob]]);
    if (c->op == OP_GEMM)
        snprintf(shape, sizeof shape, "%zux%zux%zu", c->rows, c->depth, c->cols);
    else
        snprintf(shape, sizeof shape, "%zux%zu", c->rows, c->cols);
    if (used < CASE_NAME_MAX)
        snprintf(name + used, CASE_NAME_MAX - used, "/%s/%s/%s/s%" PRIu64, fp4_dtype_name(c->dtype),
                 c->data ? c->data->name : c->input, shape, c->seed);
}

static size_t split(char *text, char *segment[SEGMENTS_MAX + 1])
{
    size_t n = 0;
    char *slash;

    for (; n < SEGMENTS_MAX; text = slash + 1) {
        segment[n++] = text;
        slash = strchr(text, '/');
        if (!slash)
            return n;
        *slash = '\0';
    }
    return SEGMENTS_MAX + 1;
}

static int parse_knobs(struct fp4_case *c, char *const *segment, size_t count, struct fp4_error *err)
{
    const struct knob_row *last = NULL;
    uint32_t seen = 0;
    size_t i;

    for (i = 0; i < count; i++) {
        const struct knob_row *row = case_set_knob(c, segment[i], err);

        if (!row)
            return -1;
        if (seen & 1u << row->knob)
            return fp4_fail(err, FP4_EUSAGE, "knob '%s' is the second one of its kind", segment[i]);
        if (last && row < last)
            return fp4_fail(err, FP4_EUSAGE, "knob '%s' stands before '%s'", segment[i], segment[i - 1]);
        seen |= 1u << row->knob;
        last = row;
    }
    for (i = 0; i < fp4_knob_rows; i++)
        if (fp4_knobs[i].shown && (fp4_knobs[i].ops & 1u << c->op) && !(seen & 1u << fp4_knobs[i].knob))
            return fp4_fail(err, FP4_EUSAGE, "a knob is missing: '%s' or another of its kind (%s)",
                            fp4_knobs[i].tokens[fp4_knobs[i].def], fp4_knobs[i].help);
    return 0;
}

static int parse_segments(char *const *segment, size_t n, struct fp4_case *c, struct fp4_error *err)
{
    enum fp4_op op = OP_COUNT;
    struct fp4_case made;

    if (case_op_from_text(segment[0], &op, err))
        return -1;
    made = case_make(op, CR_TE, FP4_F32, NULL, 1, 1, 0);
    if (n < 2 + TAIL)
        return fp4_fail(err, FP4_EUSAGE, "too few segments: op/recipe/knobs/dtype/data/ROWSxCOLS/sSEED");
    if (case_set_recipe(&made, segment[1], err) || parse_knobs(&made, segment + 2, n - 2 - TAIL, err) ||
        case_set_dtype(&made, segment[n - 4], err) || case_set_data(&made, segment[n - 3], err) ||
        case_set_shape(&made, segment[n - 2], err))
        return -1;
    if (segment[n - 1][0] != 's')
        return fp4_fail(err, FP4_EUSAGE, "bad seed segment '%.60s': s and a decimal number, for example s0", segment[n - 1]);
    if (case_seed_from_text(segment[n - 1] + 1, &made.seed, err))
        return -1;
    *c = made;
    return 0;
}

int case_parse(const char *name, struct fp4_case *out, struct fp4_error *err)
{
    char text[CASE_NAME_MAX], again[CASE_NAME_MAX];
    char *segment[SEGMENTS_MAX + 1];
    struct fp4_case c;
    size_t n;

    if (strlen(name) >= sizeof text)
        return fp4_fail(err, FP4_EUSAGE, "case name too long: '%.60s...'", name);
    memcpy(text, name, strlen(name) + 1);
    n = split(text, segment);
    if (n > SEGMENTS_MAX) {
        fp4_fail(err, FP4_EUSAGE, "too many segments");
        return fp4_fail_in(err, "case '%.100s'", name);
    }
    if (parse_segments(segment, n, &c, err) || case_check(&c, err))
        return fp4_fail_in(err, "case '%.150s'", name);
    case_name(&c, again);
    if (strcmp(name, again) != 0) /* one case, one name: defaults and leading zeros are left out */
        return fp4_fail(err, FP4_EUSAGE, "case '%s' is written '%s'", name, again);
    *out = c;
    return 0;
}

/* ---- what is defined --------------------------------------------------------------------------------------------------------------- */

static int refuse(struct fp4_error *err, const char *reason)
{
    return fp4_fail(err, FP4_ESUPPORT, "%s", reason);
}

static int check_knobs(const struct fp4_case *c, struct fp4_error *err)
{
    size_t i, j;

    for (i = 0; i < fp4_knob_rows; i++) {
        const struct knob_row *row = &fp4_knobs[i];
        unsigned value = c->knob[row->knob];

        if (!(row->ops & 1u << c->op))
            continue;
        for (j = 0; j <= value; j++)
            if (!row->tokens[j])
                return fp4_fail(err, FP4_EUSAGE, "knob value %u is out of range (%s)", value, row->help);
        if (value != row->def && !row->tokens[value][0])
            return fp4_fail(err, FP4_EUSAGE, "op %s lacks this knob value (%s)", fp4_ops[c->op].name, row->help);
        if (value != row->def && needs_stochastic(row, c->op) && !case_is_stochastic(c))
            return fp4_fail(err, FP4_ESUPPORT, "knob '%s' needs rounding sr: nearest rounding draws no bits", row->tokens[value]);
    }
    return 0;
}

static int check_data(const struct fp4_case *c, struct fp4_error *err)
{
    size_t rows, cols;
    enum fp4_dtype dtype;
    int i;

    if (c->data) {
        if (!(c->data->ops & 1u << c->op))
            return fp4_fail(err, FP4_ESUPPORT, "data '%s' is not made for op %s", c->data->name, fp4_ops[c->op].name);
        if (c->data->dtypes && !(c->data->dtypes & 1u << c->dtype))
            return fp4_fail(err, FP4_ESUPPORT, "data '%s' has no values in %s", c->data->name, fp4_dtype_name(c->dtype));
        return 0;
    }
    if (!is_quantizer(c->op))
        return fp4_fail(err, FP4_ESUPPORT, "op %s does not take a tensor of a file", fp4_ops[c->op].name);
    i = input_find(c->input);
    if (i < 0)
        return 0; /* names in a dump must be readable without the file; case_inputs will ask for it */
    input_shape((size_t)i, &rows, &cols, &dtype);
    if (rows != c->rows || cols != c->cols)
        return fp4_fail(err, FP4_EUSAGE, "tensor %s is %zux%zu", c->input, rows, cols);
    return 0;
}

static int check_directions(const struct fp4_case *c, struct fp4_error *err)
{
    if (case_has_row(c) && c->cols % 2)
        return refuse(err, "the rowwise output packs two codes a byte: columns must be even");
    if (case_has_col(c) && c->rows % 2)
        return refuse(err, "the transposed output packs two codes a byte: rows must be even");
    return 0;
}

static bool aligned_32(const struct fp4_case *c)
{
    return c->rows % 32 == 0 && c->cols % 32 == 0;
}

static int check_quantize_stream(const struct fp4_case *c, struct fp4_error *err)
{
    bool tile = c->knob[KNOB_BLOCK] == 1;

    switch (c->knob[KNOB_STREAM]) {
    case FP4_STREAM_TUNED:
        if (c->dtype != FP4_BF16 || tile || !aligned_32(c) || !case_has_row(c))
            return refuse(err, "stream tuned is TE's kernel for bf16, 1x16, rows and columns in 32s, with a rowwise output");
        return 0;
    case FP4_STREAM_2D:
        if (c->dtype != FP4_BF16 || !tile || !aligned_32(c))
            return refuse(err, "stream 2d is TE's kernel for bf16, 16x16, rows and columns in 32s");
        return 0;
    case FP4_STREAM_GROUP:
        if (c->dtype != FP4_BF16 || tile || !aligned_32(c) || case_has_col(c))
            return refuse(err, "stream group is TE's kernel for bf16, 1x16, rows and columns in 32s, rowwise only");
        return 0;
    default:
        return 0;
    }
}

static int check_quantize(const struct fp4_case *c, struct fp4_error *err)
{
    bool tile = c->knob[KNOB_BLOCK] == 1, amax_row = c->knob[KNOB_AMAX] == 1;

    if (c->recipe == CR_TE_FAST && (c->dtype != FP4_BF16 || tile || !aligned_32(c) || !case_has_row(c)))
        return refuse(err, "te-fast is TE's tuned kernel: bf16, 1x16, rows and columns in 32s, with a rowwise output");
    if (case_is_stochastic(c) && (c->recipe == CR_TORCHAO || c->recipe == CR_TE_REF))
        return refuse(err, "this recipe rounds to nearest only");
    if (c->recipe == CR_TORCHAO && (tile || case_has_col(c) || amax_row))
        return refuse(err, "torchao makes a rowwise output with 1x16 blocks and one amax");
    if (amax_row && tile)
        return refuse(err, "one amax a row excludes 16x16 blocks");
    if (amax_row && case_has_col(c) && (c->dtype != FP4_BF16 || !aligned_32(c)))
        return refuse(err, "one amax a row with a transposed output is defined for bf16, rows and columns in 32s");
    if (check_directions(c, err))
        return -1;
    return check_quantize_stream(c, err);
}

static int check_rht_stream(const struct fp4_case *c, struct fp4_error *err)
{
    unsigned stream = c->knob[KNOB_STREAM], kernel = c->knob[KNOB_KERNEL];
    bool ordinary = stream == FP4_STREAM_TUNED || stream == FP4_STREAM_VECTOR;

    if (c->knob[KNOB_KTILE] && (kernel != FP4_RHT_KERNEL_COL || c->recipe == CR_FP4SM120))
        return refuse(err, "the k tile belongs to kernel-col");
    if (c->knob[KNOB_KTILE] && stream != FP4_STREAM_AUTO && stream != FP4_STREAM_RHT_COL)
        return refuse(err, "the k tile belongs to stream rht-col");
    if (stream == FP4_STREAM_AUTO || stream == FP4_STREAM_RBITS)
        return 0;
    if (kernel == FP4_RHT_KERNEL_UNFUSED && !ordinary)
        return refuse(err, "kernel-unfused draws as an ordinary quantizer: auto, tuned, vector or rbits");
    if (kernel != FP4_RHT_KERNEL_UNFUSED && ordinary)
        return refuse(err, "streams tuned and vector belong to kernel-unfused");
    if (kernel == FP4_RHT_KERNEL_ROWCOL && stream != FP4_STREAM_RHT_ROWCOL && stream != FP4_STREAM_RHT_GROUP)
        return refuse(err, "kernel-rowcol draws by auto, rht-rowcol, rht-group or rbits");
    if (kernel == FP4_RHT_KERNEL_COL && (stream == FP4_STREAM_RHT_ROWCOL || stream == FP4_STREAM_RHT_GROUP))
        return refuse(err, "streams rht-rowcol and rht-group belong to kernel-rowcol");
    if ((c->recipe == CR_FP4SM120) != (stream == FP4_STREAM_RHT_FP4SM120))
        return refuse(err, "recipe fp4sm120 and stream rht-fp4sm120 go together");
    if (stream == FP4_STREAM_TUNED && !aligned_32(c))
        return refuse(err, "stream tuned is TE's kernel for rows and columns in 32s");
    return 0;
}

static int check_rht(const struct fp4_case *c, struct fp4_error *err)
{
    unsigned kernel = c->knob[KNOB_KERNEL];

    if (c->rows % 16)
        return refuse(err, "the transform takes 16 rows at a time: rows must be a multiple of 16");
    if (case_is_stochastic(c) && c->recipe == CR_TE_REF)
        return refuse(err, "this recipe rounds to nearest only");
    if (c->recipe == CR_FP4SM120 && kernel != FP4_RHT_KERNEL_COL)
        return refuse(err, "fp4sm120 is a port of kernel-col alone");
    if (kernel == FP4_RHT_KERNEL_ROWCOL && c->recipe == CR_TE_REF)
        return refuse(err, "te-ref has no choice of kernel");
    if (kernel == FP4_RHT_KERNEL_COL && case_has_row(c))
        return refuse(err, "kernel-col has the transposed output alone: kernel-rowcol or kernel-unfused make both");
    if (kernel == FP4_RHT_KERNEL_UNFUSED && c->recipe == CR_TE_FAST && !aligned_32(c))
        return refuse(err, "unfused, te-fast is TE's tuned kernel: rows and columns in 32s");
    if (kernel == FP4_RHT_KERNEL_UNFUSED && c->recipe == CR_TE_REF)
        return refuse(err, "te-ref has no choice of kernel");
    if (kernel == FP4_RHT_KERNEL_UNFUSED && (c->knob[KNOB_TRIP] || c->knob[KNOB_RCP]))
        return refuse(err, "kernel-unfused always stores bf16 and divides");
    if (c->recipe == CR_TE_REF && (c->knob[KNOB_TRIP] == 2 || c->knob[KNOB_RCP] == 2))
        return refuse(err, "te-ref stores bf16 and divides");
    if (check_directions(c, err))
        return -1;
    return case_is_stochastic(c) ? check_rht_stream(c, err) : 0;
}

static int check_multiple(const struct fp4_case *c, size_t of, struct fp4_error *err)
{
    if (c->cols % of)
        return fp4_fail(err, FP4_ESUPPORT, "op %s needs a multiple of %zu columns", fp4_ops[c->op].name, of);
    return 0;
}

int case_check(const struct fp4_case *c, struct fp4_error *err)
{
    if (!(fp4_ops[c->op].recipes & 1u << c->recipe))
        return fp4_fail(err, FP4_ESUPPORT, "op %s has no recipe %s", fp4_ops[c->op].name, case_recipe_name(c->recipe));
    if (!(fp4_ops[c->op].dtypes & 1u << c->dtype))
        return fp4_fail(err, FP4_ESUPPORT, "op %s does not take %s", fp4_ops[c->op].name, fp4_dtype_name(c->dtype));
    if (check_knobs(c, err) || check_data(c, err))
        return -1;
    switch (c->op) {
    case OP_QUANTIZE:
        return check_quantize(c, err);
    case OP_RHT_QUANTIZE:
        return check_rht(c, err);
    case OP_FOUR_OVER_SIX:
        return case_check_four(c, err);
    case OP_GEMM:
        return case_check_gemm(c, err);
    case OP_DEQUANTIZE:
        return check_multiple(c, 16, err);
    case OP_SR_BF16X8:
        return check_multiple(c, 8, err);
    case OP_CVT_RN:
        return check_multiple(c, c->knob[KNOB_PACK] ? 2 : 4, err);
    case OP_SWIZZLE:
        return 0;
    default:
        return check_multiple(c, 4, err);
    }
}

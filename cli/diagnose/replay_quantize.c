/* SPDX-License-Identifier: Apache-2.0 */
/* replay_quantize.c: quantize and rht-quantize, stage by stage over whole planes, right and wrong. */
#include "replay_plane.h"

#include "backend_rows.h"
#include "case_build.h"

#include <stdlib.h>
#include <string.h>

static bool stochastic(const struct replay *r)
{
    return case_is_stochastic(r->c);
}

/* ---- maxima ------------------------------------------------------------------------------------------------------------------------ */

struct maximum {
    bool keep_nan, is_signed, negated; /* negated: max(x, -x), which is -0 for -0 */
    float acc;
    bool begun;
};

static void maximum_add(struct maximum *m, float v)
{
    if (m->negated && !fp4a_is_nan(v)) {
        v = v < -v ? -v : v;
        if (!m->begun || v > m->acc)
            m->acc = v;
        m->begun = true;
        return;
    }
    if (!m->is_signed)
        v = fp4a_abs(v);
    if (fp4a_is_nan(v))
        m->acc = m->keep_nan ? fp4a_float(FP4_QNAN) : m->acc;
    else if (v > m->acc)
        m->acc = v;
}

static bool keep_nan(unsigned slot, bool as_is)
{
    return slot == NAN_KEPT ? true : slot == NAN_DROPPED ? false : as_is;
}

static float plane_amax(const struct plane *p, const float *v, size_t line, size_t lines, bool keep)
{
    const struct replay *r = p->r;
    struct maximum m = { .keep_nan = keep_nan(slot_of(r, SLOT_AMAX_NAN), keep),
                         .is_signed = slot_of(r, SLOT_AMAX) == AMAX_SIGNED,
                         .negated = slot_of(r, SLOT_AMAX) == AMAX_NEGATED };
    size_t end = (line + lines) * p->packed;

    if (slot_of(r, SLOT_AMAX) == AMAX_LOST && lines > 1)
        end -= lines / 4 * p->packed;
    for (size_t i = line * p->packed; i < end; i++)
        maximum_add(&m, r->c->op == OP_RHT_QUANTIZE && p->transposed ? fp4a_round_bf16(v[i]) : v[i]);
    return slot_of(r, SLOT_AMAX) == AMAX_BF16 ? fp4a_round_bf16(m.acc) : m.acc;
}

/* ---- block maxima ------------------------------------------------------------------------------------------------------------------- */

static size_t block_length(const struct plane *p, size_t b)
{
    return p->packed - 16 * b < 16 ? p->packed - 16 * b : 16;
}

static void block_add(const struct plane *p, struct maximum *m, size_t line, size_t b)
{
    const struct replay *r = p->r;
    size_t n = block_length(p, b), total = p->lines * p->packed, first = line * p->packed + 16 * b;

    if (n < 16 && slot_of(r, SLOT_TAIL) == TAIL_LEAKS)
        n = 16;
    if (slot_of(r, SLOT_BLOCK_AMAX) == BLOCK_HALF && n > 8)
        n = 8;
    for (size_t i = 0; i < n; i++)
        maximum_add(m, p->v[(first + i) % total]);
}

static bool all_nan(const struct plane *p, size_t line, size_t b)
{
    for (size_t i = 0; i < block_length(p, b); i++)
        if (!fp4a_is_nan(p->v[line * p->packed + 16 * b + i]))
            return false;
    return true;
}

static float block_maximum(const struct plane *p, size_t line, size_t height, size_t b)
{
    const struct replay *r = p->r;
    unsigned how = slot_of(r, SLOT_BLOCK_AMAX);
    struct maximum m = { .keep_nan = how == BLOCK_NAN_KEPT || (how != BLOCK_NAN_DROPPED && p->chain.keep_nan),
                         .is_signed = how == BLOCK_SIGNED,
                         .negated = how == BLOCK_NEGATED };

    for (size_t i = 0; i < height; i++) {
        block_add(p, &m, line + i, b);
        if (how == BLOCK_32 && (b ^ 1) < p->blocks)
            block_add(p, &m, line + i, b ^ 1);
    }
    if (p->four.all_nan_keeps && !how && all_nan(p, line, b))
        return fp4a_float(FP4_QNAN);
    return how == BLOCK_BF16 ? fp4a_round_bf16(m.acc) : m.acc;
}

static void find_block_maxima(const struct plane *p)
{
    bool tiles = plane_has_tiles(p) && slot_of(p->r, SLOT_BLOCK_AMAX) != BLOCK_ROW;
    size_t step = tiles ? 16 : 1;

    for (size_t line = 0; line < p->lines; line += step) {
        size_t height = p->lines - line < step ? p->lines - line : step;

        for (size_t b = 0; b < p->blocks; b++) {
            float m = block_maximum(p, line, height, b);

            for (size_t i = 0; i < height; i++)
                p->block_amax[(line + i) * p->blocks + b] = m;
        }
    }
}

/* ---- one block ------------------------------------------------------------------------------------------------------------------------ */

static uint32_t word_for(const struct plane *p, size_t line, size_t w)
{
    uint32_t word;

    if (!p->rbits)
        return replay_word(p->r, &p->use, line, w);
    memcpy(&word, p->rbits + 4 * (line * ((p->packed + 3) / 4) + w), 4);
    return word;
}

/* Where a block stops short of 16 and the dialect treats such tails in another way. */
static bool tail_instead(const struct plane *p, size_t line, size_t b)
{
    size_t n = block_length(p, b);

    if (n == 16 || slot_of(p->r, SLOT_TAIL) != TAIL_DROPPED)
        return false;
    p->scale[line * p->blocks + b] = 0;
    memset(p->code + line * p->packed + 16 * b, 0, n);
    return true;
}

static void encode_block(const struct plane *p, const struct globals *g, size_t line, size_t b)
{
    const struct replay *r = p->r;
    float amax = p->block_amax[line * p->blocks + b];
    size_t n = block_length(p, b), first = line * p->packed + 16 * b;
    uint32_t byte = replay_scale_byte(r, &p->chain, g, amax), word = 0;

    if (tail_instead(p, line, b))
        return;
    if (n < 16 && slot_of(r, SLOT_TAIL) == TAIL_NAN)
        byte = 0x7F;
    const struct element_scale s = replay_element_scale(r, &p->chain, g, amax, byte);
    p->scale[line * p->blocks + b] = (uint8_t)byte;
    for (size_t i = 0; i < n; i++) {
        float x = p->v[first + i],
              y = s.divide ? fp4a_canonical(fp4a_div(x, s.e)) : replay_product(r, x, s.e, p->chain.zero_to_plus);
        uint32_t code;

        if (stochastic(r) && i % 4 == 0)
            word = word_for(p, line, (16 * b + i) / 4);
        code = stochastic(r) ? replay_random(r, y, x, word, (unsigned)(i % 4)) : replay_nearest(r, y, x);
        p->code[first + i] = s.zeros ? 0 : (uint8_t)chain_code(&p->chain, y, code);
    }
}

/* ---- a direction ------------------------------------------------------------------------------------------------------------------------ */

static bool by_line(const struct replay *r)
{
    return r->c->op != OP_RHT_QUANTIZE && r->c->knob[KNOB_AMAX] == 1;
}

static float given_at(const uint8_t *given, size_t i)
{
    uint32_t bits;

    memcpy(&bits, given + 4 * i, 4);
    return fp4a_float(bits);
}

static void put_amax(const struct plane *p, size_t at, float amax)
{
    uint8_t *out = replay_data(p->r, "amax", p->suffix);
    uint32_t bits = fp4a_bits(fp4a_canonical(amax));

    if (slot_of(p->r, SLOT_WRITE) == WRITE_ZERO_AMAX)
        bits = 0;
    if (out)
        memcpy(out + 4 * at, &bits, 4);
}

/* The amax of a line, or of the tensor; NAN kept as the kernel does. */
static float amax_for(const struct plane *p, const float *seen, size_t line)
{
    const struct replay *r = p->r;
    bool keep = r->c->op == OP_RHT_QUANTIZE ? p->chain.nan_code_zero : p->chain.keep_nan;

    if (p->given && slot_of(r, SLOT_AMAX) != AMAX_COMPUTED)
        return given_at(p->given, by_line(r) ? line : 0);
    if (by_line(r) != (slot_of(r, SLOT_AMAX) == AMAX_PER_LINE))
        return plane_amax(p, seen, line, 1, keep);
    return plane_amax(p, seen, 0, p->lines, keep);
}

/* seen: what the amax is taken from. */
static void encode_plane(struct plane *p, const float *seen, const float *forced)
{
    bool lines = by_line(p->r) || slot_of(p->r, SLOT_AMAX) == AMAX_PER_LINE;
    struct globals g = { 0 };

    find_block_maxima(p);
    for (size_t line = 0; line < p->lines; line++) {
        if (line == 0 || lines) {
            g = replay_globals(p->r, &p->chain, forced ? *forced : amax_for(p, seen, line));
            if (line == 0 || by_line(p->r))
                put_amax(p, line, g.amax);
        }
        for (size_t b = 0; b < p->blocks; b++) {
            if (p->r->c->op != OP_FOUR_OVER_SIX)
                encode_block(p, &g, line, b);
            else if (!plane_has_tiles(p) || line % 16 == 0)
                replay_four_block(p, &g, line, b);
        }
    }
}

/* ---- storing ------------------------------------------------------------------------------------------------------------------------------ */

/* The codes of a plane that was made along the other axis. */
static void transpose_codes(struct plane *p)
{
    uint8_t *turned = malloc(p->lines * p->packed);

    for (size_t i = 0; turned && i < p->lines * p->packed; i++)
        turned[i % p->packed * p->lines + i / p->packed] = p->code[i];
    if (turned)
        memcpy(p->code, turned, p->lines * p->packed);
    free(turned);
}

static void store_plane(struct plane *p, bool wrong_axis)
{
    const struct replay *r = p->r;
    const char *const names[2] = { "codes", "block-scale" };
    uint8_t *out[2];
    size_t bytes = 0, lines = wrong_axis ? p->packed : p->lines, packed = wrong_axis ? p->lines : p->packed;

    for (size_t i = 0; i < 2; i++)
        out[i] = replay_data(r, names[i], p->suffix);
    for (size_t i = 0; i < r->t->count; i++)
        if (r->t->t[i].data == out[1])
            bytes = r->t->t[i].bytes;
    if (wrong_axis)
        transpose_codes(p);
    replay_pack(r, p->code, lines, packed, out[0]);
    if (slot_of(r, SLOT_WRITE) != WRITE_NO_CODES)
        replay_store_scales(r, p->scale, p->lines, p->blocks, out[1], bytes);
}

/* ---- the call -------------------------------------------------------------------------------------------------------------------------------- */

struct call {
    const struct replay *r;
    size_t rows, cols;
    const uint8_t *x;
    uint64_t seed, offset;
    bool row, col;
    float row_amax; /* once the rowwise plane has been made */
};

static void load_plane(const struct call *k, const struct plane *p, float *v)
{
    for (size_t line = 0; line < p->lines; line++)
        for (size_t i = 0; i < p->packed; i++)
            v[line * p->packed + i] =
                replay_load(k->r, k->x, k->r->c->dtype,
                            replay_index(k->r, k->rows, k->cols, p->transposed ? i : line, p->transposed ? line : i));
}

static void turn(const float *from, size_t lines, size_t packed, float *to)
{
    for (size_t i = 0; i < lines * packed; i++)
        to[i % packed * lines + i / packed] = from[i];
}

static void fill_plane(const struct call *k, struct plane *p)
{
    bool rht = k->r->c->op == OP_RHT_QUANTIZE;
    float *t;

    if (rht && p->transposed) {
        replay_transform(k->r, k->x, k->rows, k->cols, p->v);
        return;
    }
    load_plane(k, p, p->v);
    if (!rht || slot_of(k->r, SLOT_HADAMARD) != HADAMARD_ROWWISE_TOO || !(t = malloc(k->rows * k->cols * sizeof *t)))
        return;
    replay_transform(k->r, k->x, k->rows, k->cols, t);
    turn(t, k->cols, k->rows, p->v);
    free(t);
}

static void set_stream(const struct call *k, struct plane *p, bool unfused)
{
    const struct fp4_case *c = k->r->c;
    struct stream_use *u = &p->use;

    *u = (struct stream_use){ .shape = { k->rows, k->cols, k->row, k->col, 0 },
                              .transposed = p->transposed,
                              .lines = p->lines,
                              .packed = p->packed,
                              .seed = k->seed,
                              .offset = k->offset,
                              .rounds = knob_rounds(c->knob[KNOB_ROUNDS]) };
    if (c->op == OP_QUANTIZE) {
        u->stream = (enum fp4_stream)c->knob[KNOB_STREAM];
        if (u->stream == FP4_STREAM_AUTO)
            u->stream = fp4_stream_te_dispatch(c->dtype, k->rows, k->cols, c->knob[KNOB_BLOCK] == 1, k->row, k->col);
        return;
    }
    u->shape.colwise = true;
    u->shape.k_tile = knob_k_tile(c->knob[KNOB_KTILE]);
    if (unfused) { /* two calls of the ordinary quantizer */
        u->shape = (struct fp4_stream_shape){ p->lines, p->packed, true, false, 0 };
        u->transposed = false;
    }
}

static void set_chain(const struct call *k, struct plane *p)
{
    const struct fp4_case *c = k->r->c;
    struct fp4_rht_params rp;

    if (c->op == OP_FOUR_OVER_SIX) {
        replay_four_chain(p);
        return;
    }
    if (c->op == OP_QUANTIZE) {
        p->chain = chain_quantize(case_recipe_ref(c->recipe), stochastic(k->r) && k->r->model.rule == FP4_RS_FMA_FLOOR);
        set_stream(k, p, false);
        return;
    }
    rht_params_of(c, &rp);
    rp.rs = k->r->model;
    rp.rcp_table = rp.approx_rcp ? rcp_table_h200(NULL) : NULL;
    rp.rows = k->rows;
    rp.cols = k->cols;
    p->chain = chain_rht(&rp);
    set_stream(k, p, stream_is_quantizer(rht_stream_for(&rp, p->transposed)));
    p->use.stream = rht_stream_for(&rp, p->transposed);
}

/* One vector kernel takes one global amax for both directions. */
static bool shares_given(const struct call *k)
{
    const struct fp4_case *c = k->r->c;
    enum fp4_stream kernel = fp4_stream_te_dispatch(c->dtype, k->rows, k->cols, c->knob[KNOB_BLOCK] == 1, k->row, k->col);
    enum fp4_stream stream = (enum fp4_stream)c->knob[KNOB_STREAM];

    if (stream != FP4_STREAM_AUTO && stream != FP4_STREAM_RBITS)
        kernel = stream;
    return c->op == OP_QUANTIZE && c->recipe == CR_TE && kernel == FP4_STREAM_VECTOR && k->row && !by_line(k->r);
}

/* The amax that a deviation takes from elsewhere; false when it is the plane's own. */
static bool amax_elsewhere(const struct call *k, const struct plane *p, float *amax)
{
    unsigned how = slot_of(k->r, SLOT_AMAX);
    struct plane plain = *p;
    float *v;

    if (!p->transposed || (how != AMAX_BEFORE && how != AMAX_SHARED) || (how == AMAX_BEFORE && p->given))
        return false;
    if (how == AMAX_SHARED && k->row) {
        *amax = k->row_amax;
        return true;
    }
    if (how == AMAX_SHARED || k->r->c->op != OP_RHT_QUANTIZE || !(v = malloc(p->lines * p->packed * sizeof *v)))
        return false;
    load_plane(k, &plain, v);
    *amax = plane_amax(&plain, v, 0, p->lines, p->chain.nan_code_zero);
    free(v);
    return true;
}

static int make_plane(struct call *k, bool transposed, struct fp4_error *err)
{
    bool wrong_axis = transposed && slot_of(k->r, SLOT_LAYOUT) == LAYOUT_AXIS && k->rows % 16 == 0 && k->cols % 16 == 0;
    struct plane p = { .r = k->r, .suffix = transposed ? ".t" : "", .transposed = transposed, .rows = k->rows, .cols = k->cols };
    float amax = 0.0f, *first;
    size_t n = k->rows * k->cols;

    p.lines = transposed ? k->cols : k->rows;
    p.packed = transposed ? k->rows : k->cols;
    p.blocks = (p.packed + 15) / 16;
    p.given = replay_data(k->r, "given-amax", p.suffix);
    p.rbits = stochastic(k->r) && k->r->c->knob[KNOB_STREAM] == FP4_STREAM_RBITS ? replay_data(k->r, "rbits", p.suffix) : NULL;
    if (transposed && p.given && shares_given(k))
        p.given = replay_data(k->r, "given-amax", "");
    set_chain(k, &p);
    p.v = malloc(2 * n * sizeof *p.v);
    p.code = malloc(n);
    p.block_amax = malloc((n / 16 + p.lines + p.packed) * sizeof *p.block_amax);
    p.scale = malloc(n / 16 + p.lines + p.packed);
    first = p.v;
    if (p.v && p.code && p.block_amax && p.scale) {
        fill_plane(k, &p);
        bool forced = amax_elsewhere(k, &p, &amax);
        if (wrong_axis) {
            turn(p.v, p.lines, p.packed, p.v + n);
            p.v += n;
            p.lines = k->rows;
            p.packed = k->cols;
            p.blocks = p.packed / 16;
        }
        if (!transposed)
            k->row_amax = amax_for(&p, p.v, 0);
        encode_plane(&p, p.v, forced ? &amax : NULL);
        store_plane(&p, wrong_axis);
    }
    bool made = p.v && p.code && p.block_amax && p.scale;
    free(first);
    free(p.code);
    free(p.block_amax);
    free(p.scale);
    return made ? 0 : fp4_fail(err, FP4_EIO, "out of memory");
}

int replay_quantizer(const struct replay *r, struct fp4_error *err)
{
    const struct fp4_case *c = r->c;
    const uint8_t *state = replay_data(r, "rng-state", "");
    struct call k = {
        .r = r, .rows = c->rows, .cols = c->cols, .x = replay_data(r, "x", ""), .row = case_has_row(c), .col = case_has_col(c)
    };

    if (state) {
        memcpy(&k.seed, state, 8);
        memcpy(&k.offset, state + 8, 8);
    }
    if (slot_of(r, SLOT_LOAD) == LOAD_EXCHANGED && c->rows % 16 == 0 && c->cols % 16 == 0 && !by_line(r)) {
        k.rows = c->cols;
        k.cols = c->rows;
    }
    if (k.row && make_plane(&k, false, err))
        return -1;
    return k.col ? make_plane(&k, true, err) : 0;
}

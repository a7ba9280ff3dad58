/* SPDX-License-Identifier: Apache-2.0 */
/* Group philox: counter layout, rounds, unit of the offset, width of the seed, carries; and group stream: which element gets which word. */
#include "probe.h"

#include <string.h>

/* ---- the generator ---------------------------------------------------------------------------------------------------------------------- */

enum { ROWS = 8, WORDS = 8 };

static const struct { /* edges of 32 and 64 bits (SR 5.3) */
    uint64_t seed, subsequence, offset;
} states[ROWS] = { { 0, 0, 0 },
                   { 12345, 1, 0 },
                   { 12345, 0, 1 },
                   { 12345, 2, 5 },
                   { (1ull << 32) + 12345, 1, 0 },
                   { 12345, 1ull << 32, 0 },
                   { 12345, 7, 0xFFFFFFFFull },
                   { 12345, 7, 0xFFFFFFFFFFFFFFFFull } };

struct layout {
    unsigned rounds;
    bool words;     /* offset in words */
    bool exchanged; /* counter = { subsequence, offset } */
    bool narrow;    /* the seed is cut to 32 bits */
    unsigned carry; /* how far an overflow goes: 0 whole counter, 1 not beyond 64 bits, 2 not beyond 32 */
};

static void step(struct fp4_philox *g, unsigned carry)
{
    unsigned i, limit = carry == 0 ? 4 : carry == 1 ? 2 : 1;

    for (i = 0; i < limit && ++g->counter[i] == 0; i++)
        ;
}

static void words_of(const struct layout *l, size_t row, uint32_t out[WORDS])
{
    uint64_t seed = l->narrow ? states[row].seed & 0xFFFFFFFFu : states[row].seed;
    uint64_t first = l->words ? states[row].offset / 4 : states[row].offset, second = states[row].subsequence;
    unsigned skip = l->words ? (unsigned)(states[row].offset % 4) : 0, have = 0, i;
    struct fp4_philox g;
    uint32_t four[4];

    if (l->exchanged) {
        uint64_t swap = first;

        first = second;
        second = swap;
    }
    fp4_philox_init(&g, seed, second, first, l->rounds);
    while (have < WORDS) {
        struct fp4_philox copy = g;

        fp4_philox_next4(&copy, four);
        for (i = skip; i < 4 && have < WORDS; i++)
            out[have++] = four[i];
        skip = 0;
        step(&g, l->carry);
    }
}

static bool explains(const struct layout *l, struct probe_case *pc)
{
    uint32_t want[WORDS];
    size_t r;

    for (r = 0; r < ROWS; r++) {
        words_of(l, r, want);
        if (memcmp(want, probe_data(pc, "words") + 4 * WORDS * r, sizeof want) != 0)
            return false;
    }
    return true;
}

static bool search(struct probe_case *pc, struct layout *l)
{
    static const unsigned rounds[] = { 10, 7, 6, 8, 9, 11, 12, 13, 14, 15, 16 };
    size_t i;
    unsigned k;

    for (i = 0; i < sizeof rounds / sizeof rounds[0]; i++)
        for (k = 0; k < 24; k++) {
            *l = (struct layout){ rounds[i], k & 1, k & 2, k & 4, k / 8 };
            if (explains(l, pc))
                return true;
        }
    return false;
}

static int generator(struct probe *p, enum case_recipe recipe, const char *group, struct fp4_error *err)
{
    static const char *const carries[] = { "the whole counter", "not beyond 64 bits", "not beyond 32 bits" };
    struct probe_case pc;
    struct layout l;
    size_t r;
    int status;

    probe_case_make(&pc, OP_PHILOX, recipe, FP4_U32, ROWS, WORDS, false);
    status = probe_case_inputs(&pc, err);
    for (r = 0; r < ROWS && status == 0; r++) {
        memcpy(probe_data(&pc, "seed") + 8 * r, &states[r].seed, 8);
        memcpy(probe_data(&pc, "subsequence") + 8 * r, &states[r].subsequence, 8);
        memcpy(probe_data(&pc, "offset") + 8 * r, &states[r].offset, 8);
    }
    if (status == 0)
        status = probe_case_run(p, &pc, err);
    if (status > 0) {
        profile_add(p, group, "op", "unsupported");
    } else if (status == 0 && search(&pc, &l)) {
        profile_add(p, group, "counter", "{%s}", l.exchanged ? "subsequence, offset" : "offset, subsequence");
        profile_add(p, group, "rounds", "%u", l.rounds);
        profile_add(p, group, "offset", "in %s", l.words ? "words of 32 bits" : "blocks of four words");
        profile_add(p, group, "seed", "%s bits", l.narrow ? "32" : "64");
        profile_add(p, group, "carry", "%s", carries[l.carry]);
    } else if (status == 0) {
        profile_add(p, group, "counter", "none of the known layouts gives these words");
    }
    probe_case_release(&pc);
    return status < 0 ? -1 : 0;
}

int probe_philox(struct probe *p, struct fp4_error *err)
{
    return generator(p, CR_TE, "philox", err) || generator(p, CR_CURAND, "philox curand", err) ? -1 : 0;
}

/* ---- which word an element gets: the codes under each stream that is known ----------------------------------------------------------------- */

static const struct stream_row {
    const char *key;
    enum fp4_op op;
    enum fp4_dtype dtype;
    unsigned block, out, kernel;
} stream_rows[] = {
    { "quantize row", OP_QUANTIZE, FP4_BF16, 0, 0, 0 },
    { "quantize both", OP_QUANTIZE, FP4_BF16, 0, 2, 0 },
    { "quantize f32", OP_QUANTIZE, FP4_F32, 0, 2, 0 },
    { "quantize 16x16", OP_QUANTIZE, FP4_BF16, 1, 2, 0 },
    { "rht col", OP_RHT_QUANTIZE, FP4_BF16, 0, 1, FP4_RHT_KERNEL_COL },
    { "rht rowcol", OP_RHT_QUANTIZE, FP4_BF16, 0, 2, FP4_RHT_KERNEL_ROWCOL },
    { "rht unfused", OP_RHT_QUANTIZE, FP4_BF16, 0, 1, FP4_RHT_KERNEL_UNFUSED },
};
enum { SIDE = 128 };

static const char *const stream_names[FP4_STREAM_COUNT] = { "auto",   "rbits",   "tuned",      "2d",        "group",
                                                            "vector", "rht-col", "rht-rowcol", "rht-group", "rht-fp4sm120" };

static void set_state(struct probe_case *pc, uint64_t seed, uint64_t offset)
{
    uint64_t state[2] = { seed, offset };

    memcpy(probe_data(pc, "rng-state"), state, sizeof state);
}

static int make_stream_case(const struct probe *p, const struct stream_row *row, size_t rows, struct probe_case *pc,
                            struct fp4_error *err)
{
    uint64_t random = 3;
    size_t i;

    probe_case_make(pc, row->op, CR_TE, row->dtype, rows, SIDE, false);
    pc->c.knob[KNOB_ROUND] = 1;
    pc->c.knob[KNOB_BLOCK] = (uint8_t)row->block;
    pc->c.knob[KNOB_OUT] = (uint8_t)row->out;
    pc->c.knob[KNOB_KERNEL] = (uint8_t)row->kernel;
    pc->c.knob[KNOB_RS] = (uint8_t)p->rs;
    if (probe_case_inputs(pc, err))
        return -1;
    for (i = 0; i < rows * SIDE; i++) { /* magnitudes 1 to 4, few bits: no sum of a transform is rounded */
        uint32_t bits = 0x3F800000u + (probe_random(&random) % 128 << 17);

        if (row->dtype == FP4_F32)
            probe_put_f32(pc, "x", i, bits);
        else
            memcpy(probe_data(pc, "x") + 2 * i, (uint16_t[]){ (uint16_t)(bits >> 16) }, 2);
    }
    set_state(pc, 0x123456789ABCDEFull, 3);
    return 0;
}

/* The case with the model that was measured: a backend in silicon does not ask. */
static struct fp4_case with_measured(const struct probe *p, const struct fp4_case *c)
{
    struct fp4_case out = *c;

    if (p->out->rs.model >= 0)
        out.knob[KNOB_RS] = (uint8_t)p->out->rs.model;
    return out;
}

static bool stream_agrees(struct probe_case *pc, const struct fp4_case *c)
{
    struct case_tensors t;
    struct fp4_error ignored;
    bool same;

    memset(&t, 0, sizeof t);
    same = probe_reference(pc, c, &t, &ignored) == 0 && probe_same(&pc->t, &t, "codes") && probe_same(&pc->t, &t, "codes.t");
    probe_reference_release(&t);
    return same;
}

/* The stream that gives the backend's codes, and under which reading of seed and offset; "" when none does. */
static void find_stream(const struct probe *p, struct probe_case *pc, char text[64])
{
    static const struct {
        uint64_t seed, offset;
        unsigned rounds; /* value of KNOB_ROUNDS */
        const char *says;
    } readings[] = { { 0x123456789ABCDEFull, 3, 0, "" },
                     { 0x123456789ABCDEFull, 3, 1, ", 7 rounds" },
                     { 0x89ABCDEFull, 3, 0, ", seed cut to 32 bits" },
                     { 0x123456789ABCDEFull, 0, 0, ", offset ignored or in words" } };
    size_t i, s;

    *text = '\0';
    for (i = 0; i < sizeof readings / sizeof readings[0] && !*text; i++) {
        for (s = FP4_STREAM_TUNED; s < FP4_STREAM_COUNT; s++) {
            struct fp4_case c = with_measured(p, &pc->c);

            c.knob[KNOB_STREAM] = (uint8_t)s;
            c.knob[KNOB_ROUNDS] = (uint8_t)readings[i].rounds;
            set_state(pc, readings[i].seed, readings[i].offset);
            if (stream_agrees(pc, &c)) /* all that give these codes */
                snprintf(text + strlen(text), 64 - strlen(text), "%s%s", *text ? " or " : "", stream_names[s]);
        }
        if (*text)
            snprintf(text + strlen(text), 64 - strlen(text), "%s", readings[i].says);
    }
}

/* Of one run and of others with another offset, another seed, the first half of the rows. */
static bool draws_differ(const struct probe *p, const struct stream_row *row, struct probe_case *first, uint64_t seed,
                         uint64_t offset, bool *differ, struct fp4_error *err)
{
    struct probe_case pc;
    bool ok = make_stream_case(p, row, SIDE, &pc, err) == 0;

    if (ok) {
        set_state(&pc, seed, offset);
        ok = probe_case_run(p, &pc, err) == 0;
    }
    if (ok)
        *differ = !probe_same(&first->t, &pc.t, "codes") || !probe_same(&first->t, &pc.t, "codes.t");
    probe_case_release(&pc);
    return ok;
}

/* Whether the first half of the rows alone gets the codes that it gets in the whole. -1: failed. */
static int half_agrees(const struct probe *p, const struct stream_row *row, struct probe_case *whole, struct fp4_error *err)
{
    struct probe_case pc;
    int agrees = -1;
    size_t i, j, lines;

    if (make_stream_case(p, row, SIDE / 2, &pc, err) == 0 && probe_case_run(p, &pc, err) == 0) {
        agrees = 1;
        if (tensor_find(&whole->t, "codes"))
            agrees = memcmp(probe_data(whole, "codes"), probe_data(&pc, "codes"), (size_t)SIDE * SIDE / 4) == 0;
        lines = tensor_find(&whole->t, "codes.t") ? SIDE : 0;
        for (i = 0; i < lines; i++)
            for (j = 0; j < SIDE / 2; j++)
                agrees &= probe_code(whole, "codes.t", i * SIDE + j) == probe_code(&pc, "codes.t", i * (SIDE / 2) + j);
    }
    probe_case_release(&pc);
    return agrees;
}

static int one_stream(struct probe *p, const struct stream_row *row, struct fp4_error *err)
{
    struct probe_case pc;
    char text[64];
    bool by_offset = false, by_seed = false, again = false;
    int half = 0, status = make_stream_case(p, row, SIDE, &pc, err);

    if (status == 0)
        status = probe_case_run(p, &pc, err);
    if (status > 0)
        profile_add(p, "stream", row->key, "unsupported");
    if (status == 0 &&
        !(draws_differ(p, row, &pc, 0x123456789ABCDEFull, 3, &again, err) &&
          draws_differ(p, row, &pc, 0x123456789ABCDEFull, 4, &by_offset, err) && draws_differ(p, row, &pc, 99, 3, &by_seed, err)))
        status = -1;
    if (status == 0)
        status = (half = half_agrees(p, row, &pc, err)) < 0 ? -1 : 0;
    if (status == 0) {
        find_stream(p, &pc, text);
        profile_add(p, "stream", row->key, "%s%s%s%s", *text ? text : "none that is known",
                    again     ? "; the same seed and offset twice give other codes"
                    : by_seed ? ""
                              : "; the seed changes nothing",
                    by_offset ? "" : "; the offset changes nothing", half ? "" : "; half of the rows alone draws other words");
    }
    probe_case_release(&pc);
    return status < 0 ? -1 : 0;
}

/* ---- a backend without conversions of given words: its quantizer's codes under each model and stream ------------------------------------------ */

static bool any_stream_agrees(struct probe_case *pc, struct fp4_case *c)
{
    size_t s;

    for (s = FP4_STREAM_TUNED; s < FP4_STREAM_COUNT; s++) {
        c->knob[KNOB_STREAM] = (uint8_t)s;
        if (stream_agrees(pc, c))
            return true;
    }
    return false;
}

int probe_model_by_codes(struct probe *p, struct fp4_error *err)
{
    struct probe_rs *rs = &p->out->rs;
    char names[128] = "";
    struct probe_case pc;
    size_t i, m;
    int status = 1;

    for (i = 0; i < sizeof stream_rows / sizeof stream_rows[0] && status > 0; i++) {
        status = make_stream_case(p, &stream_rows[i], SIDE, &pc, err);
        if (status == 0)
            status = probe_case_run(p, &pc, err);
        for (m = 0; m < rs_model_count() && status == 0; m++) {
            struct fp4_case c = pc.c;

            c.knob[KNOB_RS] = (uint8_t)m;
            if (!any_stream_agrees(&pc, &c))
                continue;
            rs->model = rs->model < 0 ? (int)m : rs->model;
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? " or " : "",
                     rs_model_row((unsigned)m)->name);
        }
        probe_case_release(&pc);
    }
    if (status == 0)
        profile_add(p, "cvt-rs", "rs-model", "%s (by a quantizer's codes)", *names ? names : "none with a stream that is known");
    return status < 0 ? -1 : 0;
}

int probe_streams(struct probe *p, struct fp4_error *err)
{
    size_t i;

    for (i = 0; i < sizeof stream_rows / sizeof stream_rows[0]; i++)
        if (one_stream(p, &stream_rows[i], err))
            return -1;
    return 0;
}

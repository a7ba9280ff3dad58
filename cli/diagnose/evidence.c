/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence.h"

#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNTOUCHED 0xCA /* what outputs hold before a replay, as before a backend's run */

/* ---- taking down ---------------------------------------------------------------------------------------------------------------- */

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = data ? malloc(bytes ? bytes : 1) : NULL;

    return copy ? memcpy(copy, data, bytes) : NULL;
}

static digest128 digest_of_inputs(const struct dump_case *recorded)
{
    char text[CASE_TENSORS_MAX * 33] = "";
    size_t used = 0;

    for (size_t i = 0; i < recorded->input_count && i < CASE_TENSORS_MAX; i++, used += 32)
        digest_print(recorded->inputs[i].digest, text + used);
    return digest_bytes(text, used);
}

static bool known_input(const struct fp4_case *c)
{
    for (size_t i = 0; i < input_count(); i++)
        if (strcmp(input_data_name(i), c->input) == 0)
            return true;
    return c->data != NULL;
}

bool evidence_copy(struct evidence *e, char side, const struct dump_case *recorded, const struct dump_case_result *r, bool differs)
{
    *e = (struct evidence){ .side = side, .differs = differs, .input_count = recorded->input_count };
    snprintf(e->name, sizeof e->name, "%s", recorded->name);
    if (case_parse(e->name, &e->c, NULL) || !known_input(&e->c))
        return false;
    e->elements = e->c.rows * e->c.cols * (e->c.op == OP_GEMM ? e->c.depth : 1);
    if (e->elements > DIAGNOSIS_ELEMENTS_MAX)
        return false;
    e->inputs = digest_of_inputs(recorded);
    for (size_t i = 0; i < r->count && e->count < EVIDENCE_OUTPUTS; i++) {
        const struct dump_tensor *t = &r->t[i];
        struct seen *s = &e->seen[e->count];

        if (t->role != TENSOR_OUTPUT)
            continue;
        *s = (struct seen){ .bytes = t->bytes, .digest = t->digest };
        snprintf(s->name, sizeof s->name, "%s", t->name);
        if (differs) /* of an equal case the digest is enough */
            s->data = copy_of(t->data, t->bytes);
        if (differs && !s->data)
            s->blocks = copy_of(t->blocks, (t->bytes + DUMP_BLOCK_BYTES - 1) / DUMP_BLOCK_BYTES * sizeof *t->blocks);
        e->count++;
    }
    return e->count > 0;
}

/* ---- making again ---------------------------------------------------------------------------------------------------------------- */

static struct tensor *output(struct evidence *e, size_t i)
{
    return tensor_find(&e->t, e->seen[i].name);
}

static bool inputs_agree(const struct evidence *e)
{
    char text[CASE_TENSORS_MAX * 33] = "";
    size_t used = 0, n = 0;

    for (size_t i = 0; i < e->t.count; i++)
        if (e->t.t[i].role == TENSOR_INPUT) {
            digest_print(digest_bytes(e->t.t[i].data, e->t.t[i].bytes), text + used);
            used += 32;
            n++;
        }
    return n == e->input_count && digest_equal(digest_bytes(text, used), e->inputs);
}

static bool replay(struct evidence *e, const struct dialect *d)
{
    for (size_t i = 0; i < e->count; i++) {
        struct tensor *t = output(e, i);

        memset(t->data, UNTOUCHED, t->bytes);
    }
    return replay_case(d, &e->c, &e->t, NULL) == 0;
}

static bool make_reference(struct evidence *e)
{
    static const struct dialect right;

    for (size_t i = 0; i < e->count; i++) {
        struct tensor *t = output(e, i);

        if (!t || t->role != TENSOR_OUTPUT || t->bytes != e->seen[i].bytes)
            return false;
        e->by_digest |= !e->seen[i].data;
    }
    if (!replay(e, &right))
        return false;
    for (size_t i = 0; i < e->count; i++)
        if (!(e->reference[i] = copy_of(output(e, i)->data, e->seen[i].bytes)))
            return false;
    return true;
}

/* Outputs that the recorded side lacks get memory too, as a replay writes them all. */
static bool give_memory(struct evidence *e)
{
    for (size_t i = 0; i < e->t.count; i++) {
        struct tensor *t = &e->t.t[i];

        if (t->role == TENSOR_OUTPUT && !t->data && !(t->data = calloc(1, t->bytes + 1)))
            return false;
    }
    return true;
}

bool evidence_open(struct evidence *e)
{
    static const struct dialect right;

    if (e->opened)
        return e->usable;
    e->opened = true;
    e->usable = case_describe(&e->c, &e->t, NULL) == 0 && case_inputs(&e->c, &e->t, NULL) == 0 && inputs_agree(e) &&
                give_memory(e) && make_reference(e);
    if (e->usable) {
        struct score s = evidence_score(e, &right);

        e->differing = s.missed;
    }
    return e->usable;
}

void evidence_close(struct evidence *e)
{
    case_release(&e->t);
    for (size_t i = 0; i < e->count; i++) {
        free(e->reference[i]);
        e->reference[i] = NULL;
    }
    e->opened = e->usable = false;
}

void evidence_release(struct evidence *e)
{
    evidence_close(e);
    for (size_t i = 0; i < e->count; i++) {
        free(e->seen[i].data);
        free(e->seen[i].blocks);
    }
}

/* ---- scores ------------------------------------------------------------------------------------------------------------------------ */

static void count_unit(struct score *s, bool right_seen, bool right_replayed, bool agree)
{
    if (right_seen)
        s->broken += !right_replayed;
    else if (agree)
        s->explained++;
    else
        s->missed++;
}

static void score_bytes(const struct seen *seen, const uint8_t *reference, const uint8_t *made, struct score *s)
{
    for (size_t i = 0; i < seen->bytes; i++)
        if (seen->data[i] != reference[i] || made[i] != reference[i])
            count_unit(s, seen->data[i] == reference[i], made[i] == reference[i], seen->data[i] == made[i]);
}

static void score_blocks(const struct seen *seen, const uint8_t *reference, const uint8_t *made, struct score *s)
{
    for (size_t at = 0; at < seen->bytes; at += DUMP_BLOCK_BYTES) {
        size_t n = seen->bytes - at < DUMP_BLOCK_BYTES ? seen->bytes - at : DUMP_BLOCK_BYTES;
        uint64_t want = seen->blocks[at / DUMP_BLOCK_BYTES], right = digest64_bytes(reference + at, n),
                 got = digest64_bytes(made + at, n);

        count_unit(s, want == right, got == right, want == got);
    }
}

static void score_digest(const struct seen *seen, const uint8_t *reference, const uint8_t *made, struct score *s)
{
    digest128 right = digest_bytes(reference, seen->bytes), got = digest_bytes(made, seen->bytes);

    count_unit(s, digest_equal(seen->digest, right), digest_equal(got, right), digest_equal(seen->digest, got));
}

struct score evidence_score(struct evidence *e, const struct dialect *d)
{
    struct score s = { 0 };

    if (!replay(e, d)) {
        s.missed = e->differing;
        return s;
    }
    for (size_t i = 0; i < e->count; i++) {
        const uint8_t *made = output(e, i)->data;

        (e->seen[i].data ? score_bytes : e->seen[i].blocks ? score_blocks : score_digest)(&e->seen[i], e->reference[i], made, &s);
    }
    return s;
}

bool evidence_same_as_reference(struct evidence *e)
{
    for (size_t i = 0; i < e->count; i++)
        if (memcmp(output(e, i)->data, e->reference[i], e->seen[i].bytes) != 0)
            return false;
    return true;
}

uint64_t evidence_hash(struct evidence *e)
{
    uint64_t h = 0;

    for (size_t i = 0; i < e->count; i++)
        h = h * 31 + digest64_bytes(output(e, i)->data, e->seen[i].bytes);
    return h;
}

size_t evidence_places(struct evidence *e, struct diagnosis_place *out, size_t capacity)
{
    size_t n = 0;

    for (size_t i = 0; i < e->count && n < capacity; i++) {
        const struct tensor *t = output(e, i);
        size_t cols = t->ndim == 2 ? t->dims[1] : 1, elements = t->dims[0] * cols;

        for (size_t k = 0; e->seen[i].data && k < elements && n < capacity; k++) {
            uint64_t right = tensor_element(e->reference[i], t->dtype, k), seen = tensor_element(e->seen[i].data, t->dtype, k);

            if (right == seen || tensor_element(t->data, t->dtype, k) != seen)
                continue;
            struct diagnosis_place *p = &out[n++];
            *p = (struct diagnosis_place){ .row = k / cols, .col = k % cols, .dtype = t->dtype, .reference = right, .seen = seen };
            snprintf(p->name, sizeof p->name, "%s", e->name);
            snprintf(p->tensor, sizeof p->tensor, "%s", t->name);
        }
    }
    return n;
}

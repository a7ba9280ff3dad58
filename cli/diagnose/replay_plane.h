/* SPDX-License-Identifier: Apache-2.0 */
/* replay_plane.h: one direction of output of a quantizer in the evaluator; private to replay_quantize.c and replay_four.c. */
#ifndef FP4_REPLAY_PLANE_H
#define FP4_REPLAY_PLANE_H

#include "four_arith.h"
#include "replay.h"

struct plane {
    const struct replay *r;
    const char *suffix;
    bool transposed;
    size_t rows, cols;            /* of the input, as the kernel takes them */
    size_t lines, packed, blocks; /* of the output */
    struct fp4_chain chain;
    struct four_chain four; /* four-over-six; all zero elsewhere */
    struct stream_use use;
    float *v;                     /* [lines][packed]: what is quantized */
    float *block_amax;            /* [lines][blocks] */
    uint8_t *scale, *code;        /* [lines][blocks], [lines][packed] */
    const uint8_t *rbits, *given; /* inputs, or NULL */
};

static inline bool plane_has_tiles(const struct plane *p)
{
    return p->r->c->op != OP_RHT_QUANTIZE && p->r->c->knob[KNOB_BLOCK] == 1;
}

/* replay_four.c: the choices of the recipe, and a block (or 16x16 tile, whose first line it is) whose maximum is known. */
void replay_four_chain(struct plane *p);
void replay_four_block(const struct plane *p, const struct globals *g, size_t line, size_t b);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* gemm and the linear layer: against slow versions, element by element; what is saved; what is refused. */
#include "check.h"
#include "slow_four.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(size_t bytes)
{
    void *p = calloc(bytes ? bytes : 1, 1);

    cr_assert(p);
    return p;
}

/* ---- gemm of arbitrary codes and scales -------------------------------------------------------------------------------------------- */

struct random_operand {
    uint8_t *codes, *scales;
    float *amax;
};

/* wide: scales of every size and sign, among them NaN; else positive ones around 1. */
static struct random_operand random_operand(size_t lines, size_t k, bool wide, uint64_t seed)
{
    struct slow_random g = { seed };
    struct random_operand o = { allocate(lines * k / 2), allocate(lines * k / 16), allocate(4 * lines) };

    for (size_t i = 0; i < lines * k / 2; i++)
        o.codes[i] = (uint8_t)slow_draw(&g);
    for (size_t i = 0; i < lines * k / 16; i++) {
        const uint32_t r = slow_draw(&g);

        o.scales[i] = (uint8_t)(wide ? ((r >> 8) % 64 == 0 ? r : r & 0x7Fu ? r & 0x7Fu : 1u) : 0x30 + r % 24);
        if (wide && (r >> 8) % 64 != 0 && o.scales[i] == 0x7F)
            o.scales[i] = 0x7E;
    }
    for (size_t i = 0; i < lines; i++)
        o.amax[i] = wide && i == 3 ? slow_float(0x7F800000u) : slow_draw_uniform(&g, 0.25F, 40.0F);
    return o;
}

static void operand_release(struct random_operand *o)
{
    free(o->codes);
    free(o->scales);
    free(o->amax);
}

static bool same(float got, float want)
{
    return slow_is_nan(slow_bits(want)) ? slow_bits(got) == 0x7FFFFFFFu : slow_bits(got) == slow_bits(want);
}

static void check_gemm(const struct fp4_gemm_params *p, const struct fp4_operand *a, const struct fp4_operand *b, bool with_bias)
{
    uint8_t *y = allocate(4 * p->m * p->n), *bias = allocate(4 * p->n);
    float *acc = allocate(4 * p->m * p->n);
    struct slow_random g = { 77 };
    struct fp4_error err;

    for (size_t j = 0; j < p->n; j++) {
        const float v = slow_draw_normal(&g);

        if (p->output == FP4_F32)
            memcpy(bias + 4 * j, &v, 4);
        else
            memcpy(bias + 2 * j, &(uint16_t){ f32_to_bf16(v).bits }, 2);
    }
    cr_assert_eq(fp4_gemm(p, a, b, with_bias ? bias : NULL, y, acc, &err), 0, "%s", err.msg);
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            float want_acc;
            float want = slow_gemm(p, a, b, i, j, &want_acc);

            if (p->output == FP4_BF16)
                want = slow_float((uint32_t)slow_bf16(want) << 16);
            if (with_bias) {
                want = slow_add(want, slow_load(bias, p->output, j));
                if (p->output == FP4_BF16)
                    want = slow_float((uint32_t)slow_bf16(want) << 16);
            }
            const float got = slow_load(y, p->output, i * p->n + j);

            CHECK(same(acc[i * p->n + j], want_acc), "(%zu, %zu): sum %08" PRIx32 ", not %08" PRIx32, i, j,
                  slow_bits(acc[i * p->n + j]), slow_bits(want_acc));
            CHECK(p->output == FP4_F32 ? same(got, want) : slow_same(got, want), "(%zu, %zu): %08" PRIx32 ", not %08" PRIx32, i, j,
                  slow_bits(got), slow_bits(want));
        }
    }
    free(y);
    free(bias);
    free(acc);
}

Test(gemm, against_the_slow_version)
{
    unsigned ran = 0;

    for (unsigned knobs = 0; knobs < 256; knobs++) {
        const struct fp4_gemm_params p = { .recipe = knobs & 1 ? FP4_RECIPE_TE_REF : FP4_RECIPE_TORCHAO,
                                           .m = 9,
                                           .n = 16,
                                           .k = 96,
                                           .sum = knobs & 2 ? FP4_GEMM_EXACT : FP4_GEMM_SEQ,
                                           .divide_factor = knobs & 4,
                                           .output = knobs & 8 ? FP4_BF16 : FP4_F32 };
        struct random_operand ra = random_operand(p.m, p.k, knobs & 64, knobs + 1);
        struct random_operand rb = random_operand(p.n, p.k, knobs & 64, knobs + 1000);
        const struct fp4_operand a = { ra.codes, ra.scales, ra.amax, knobs & 16, 256 };
        const struct fp4_operand b = { rb.codes, rb.scales, rb.amax, knobs & 32, knobs & 128 ? 256 : 448 };

        if (fp4_gemm_check(&p, &a, &b, NULL) == 0) {
            check_gemm(&p, &a, &b, knobs & 128);
            ran++;
        }
        operand_release(&ra);
        operand_release(&rb);
    }
    cr_expect_eq(ran, 64u + 64u, "%u", ran); /* half of torchao's for b row-scaled, half of te-ref's for the factor */
}

/* 2^26 and more, 0.14, and the first taken away again: the sum in order has lost the small one. */
Test(gemm, the_sums_differ)
{
    uint8_t codes[24], scales_a[3] = { 0x7E, 0x08, 0x7E }, scales_b[3] = { 0x7E, 0x08, 0xFE };
    const float amax = 1;
    float seq, exact;

    memset(codes, 0x77, sizeof codes);
    const struct fp4_operand a = { codes, scales_a, &amax, false, 448 }, b = { codes, scales_b, &amax, false, 448 };
    struct fp4_gemm_params p = { .recipe = FP4_RECIPE_TORCHAO, .m = 1, .n = 1, .k = 48, .output = FP4_F32 };
    float y;

    cr_assert_eq(fp4_gemm(&p, &a, &b, NULL, &y, &seq, NULL), 0);
    p.sum = FP4_GEMM_EXACT;
    cr_assert_eq(fp4_gemm(&p, &a, &b, NULL, &y, &exact, NULL), 0);
    cr_expect_eq(exact, 0.140625F);
    cr_expect_eq(seq, 0.0F);
}

/* An amax of 5 is the first integer that tells division and multiplication apart; TE's factor is a third thing. */
Test(gemm, the_factor_by_division_and_by_multiplication)
{
    cr_expect_eq(slow_bits(fp4_gemm_factor(5, 256, false)), 0x3B555556u);
    cr_expect_eq(slow_bits(fp4_gemm_factor(5, 256, true)), 0x3B555555u);
    cr_expect_eq(slow_bits(fp4_gemm_factor(33, 448, false)), 0x3C492493u);
    cr_expect_eq(slow_bits(fp4_gemm_factor(33, 448, true)), 0x3C492492u);
    for (int i = 0; i < 5; i++)
        cr_expect_eq(slow_bits(fp4_gemm_factor((float)i, 256, false)), slow_bits(fp4_gemm_factor((float)i, 256, true)));
}

Test(gemm, refusals)
{
    enum { A_ROWS = 1, B_ROWS = 2 };
    static const struct {
        /* recipe, m, n, k, sum, divide, output */
        struct fp4_gemm_params p;
        unsigned bound;
        int rows;
        enum fp4_code code;
        const char *words;
    } rows[] = {
        { { FP4_RECIPE_TE, 16, 16, 64, FP4_GEMM_SEQ, 0, FP4_F32 }, 448, 0, FP4_ESUPPORT, "no gemm" },
        { { FP4_RECIPE_TORCHAO, 16, 16, 64, 2, 0, FP4_F32 }, 448, 0, FP4_EUSAGE, "seq or exact" },
        { { FP4_RECIPE_TORCHAO, 16, 16, 64, FP4_GEMM_SEQ, 0, FP4_F16 }, 448, 0, FP4_EUSAGE, "not f16" },
        { { FP4_RECIPE_TORCHAO, 16, 16, 64, FP4_GEMM_SEQ, 0, FP4_F32 }, 384, 0, FP4_EUSAGE, "not 384" },
        { { FP4_RECIPE_TORCHAO, 16, 16, 40, FP4_GEMM_SEQ, 0, FP4_F32 }, 448, 0, FP4_EUSAGE, "not 40" },
        { { FP4_RECIPE_TORCHAO, 1, 1, (1 << 20) + 16, FP4_GEMM_EXACT, 0, FP4_F32 }, 448, 0, FP4_ESUPPORT, "2^20" },
        { { FP4_RECIPE_TORCHAO, 16, 16, 64, FP4_GEMM_SEQ, 0, FP4_F32 }, 448, B_ROWS, FP4_ESUPPORT, "operand b" },
        { { FP4_RECIPE_TE_REF, 16, 16, 48, FP4_GEMM_SEQ, 0, FP4_F32 }, 448, 0, FP4_EUSAGE, "k 48" },
        { { FP4_RECIPE_TE_REF, 16, 12, 64, FP4_GEMM_SEQ, 0, FP4_F32 }, 448, 0, FP4_EUSAGE, "n 12" },
        { { FP4_RECIPE_TE_REF, 16, 16, 64, FP4_GEMM_SEQ, 1, FP4_F32 }, 448, 0, FP4_ESUPPORT, "torchao" },
        { { FP4_RECIPE_TE_REF, 16, 16, 64, FP4_GEMM_SEQ, 0, FP4_F32 }, 448, A_ROWS | B_ROWS, FP4_OK, "" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct fp4_operand a = { NULL, NULL, NULL, rows[i].rows & A_ROWS, rows[i].bound };
        const struct fp4_operand b = { NULL, NULL, NULL, rows[i].rows & B_ROWS, 448 };
        struct fp4_error err = { FP4_OK, "" };
        const int status = fp4_gemm_check(&rows[i].p, &a, &b, &err);

        cr_expect_eq(status, rows[i].code == FP4_OK ? 0 : -1, "row %zu", i);
        cr_expect_eq(err.code, rows[i].code, "row %zu: %s", i, err.msg);
        cr_expect(strstr(err.msg, rows[i].words) != NULL, "row %zu: '%s' does not say '%s'", i, err.msg, rows[i].words);
    }
}

/* ---- bf16 ------------------------------------------------------------------------------------------------------------------------------ */

static uint16_t *random_bf16(size_t count, uint64_t seed)
{
    uint16_t *x = allocate(2 * count);
    struct slow_random g = { seed };

    for (size_t i = 0; i < count; i++)
        x[i] = f32_to_bf16(slow_draw_normal(&g)).bits;
    return x;
}

/* Element (i, j) of a product of a [m][k] and b [k][n], each stored so or transposed. */
static unsigned slow_product(const uint16_t *a, bool a_transposed, const uint16_t *b, bool b_transposed, size_t m, size_t n,
                             size_t k, size_t i, size_t j)
{
    return slow_bf16_dot(a_transposed ? a + i : a + i * k, a_transposed ? m : 1, b_transposed ? b + j * k : b + j,
                         b_transposed ? 1 : n, k);
}

Test(bf16_matmul, against_the_slow_version)
{
    enum { M = 7, N = 11, K = 65 };
    uint16_t *a = random_bf16(M * K, 1), *b = random_bf16(K * N, 2);
    uint16_t out[M * N];

    a[3] = 0x7F80;
    a[K] = 0x7FC1;
    for (unsigned way = 0; way < 4; way++) {
        fp4_bf16_matmul(M, N, K, a, way & 1, b, way & 2, out);
        for (size_t i = 0; i < M * N; i++) {
            const unsigned want = slow_product(a, way & 1, b, way & 2, M, N, K, i / N, i % N);

            CHECK(out[i] == want, "way %u element %zu: %04x, not %04x", way, i, out[i], want);
        }
    }
    free(a);
    free(b);
}

/* ---- the linear layer ------------------------------------------------------------------------------------------------------------------ */

enum { M = 128, N = 256, K = 128 }; /* the smallest in which lines and columns cannot be mixed up unnoticed, but for K */

struct layer {
    struct fp4_linear_tensors t;
    uint16_t *x, *w, *bias, *dy;
    uint16_t *y, *dx, *dw, *db;
};

static struct fp4_quantized quantized(size_t lines, size_t packed)
{
    struct fp4_quantized q = { 0 };

    q.codes = allocate(lines * packed / 2);
    q.scales = allocate(lines * packed / 16);
    q.amax = allocate(4 * lines);
    return q;
}

static void quantized_release(struct fp4_quantized *q)
{
    free(q->codes);
    free(q->scales);
    free(q->amax);
}

/* Buffers of exactly what the mode needs. */
static struct layer layer_of(const struct fp4_linear_params *p)
{
    const enum fp4_backward mode = fp4_backward_mode(p);
    struct layer l = {
        .x = random_bf16(M * K, 21), .w = random_bf16(N * K, 22), .bias = random_bf16(N, 23), .dy = random_bf16(M * N, 24)
    };

    l.y = allocate(2 * M * N);
    l.dx = allocate(2 * M * K);
    l.dw = allocate(2 * N * K);
    l.db = allocate(2 * N);
    l.t.x = quantized(M, K);
    l.t.w = quantized(N, K);
    if (mode == FP4_BACKWARD_QUANTIZED) {
        l.t.xt = quantized(K, M);
        l.t.wt = quantized(K, N);
        l.t.dy = quantized(M, N);
        l.t.dyt = quantized(N, M);
    }
    if (mode == FP4_BACKWARD_DEQUANTIZED) {
        l.t.x_values = allocate(2 * M * K);
        l.t.w_values = allocate(2 * N * K);
    }
    return l;
}

static void layer_release(struct layer *l)
{
    struct fp4_quantized *q[] = { &l->t.x, &l->t.w, &l->t.xt, &l->t.wt, &l->t.dy, &l->t.dyt };
    void *plain[] = { l->t.x_values, l->t.w_values, l->x, l->w, l->bias, l->dy, l->y, l->dx, l->dw, l->db };

    for (size_t i = 0; i < sizeof q / sizeof q[0]; i++)
        quantized_release(q[i]);
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        free(plain[i]);
}

/* The slow quantization of one operand, packed for slow_gemm. */
struct slow_operand {
    uint8_t *codes, *scales;
    float *amax;
    struct fp4_operand o;
};

static struct slow_operand packed(struct slow_quantized *q, bool row_scaled, unsigned bound)
{
    struct slow_operand s = { allocate(q->lines * q->packed / 2), q->scale, q->amax, { 0 } };

    for (size_t i = 0; i < q->lines * q->packed; i++)
        s.codes[i / 2] |= (uint8_t)(q->code[i] << (i % 2 ? 4 : 0));
    s.o = (struct fp4_operand){ s.codes, s.scales, s.amax, row_scaled, bound };
    return s;
}

static void same_operand(const struct fp4_quantized *got, const struct slow_operand *want, size_t lines, size_t length,
                         const char *what)
{
    cr_expect_eq(memcmp(got->codes, want->codes, lines * length / 2), 0, "codes of %s", what);
    cr_expect_eq(memcmp(got->scales, want->scales, lines * length / 16), 0, "scales of %s", what);
    for (size_t i = 0; i < (want->o.row_scaled ? lines : 1); i++)
        CHECK(same(got->amax[i], want->amax[i]), "amax %zu of %s", i, what);
}

static void check_product(const struct fp4_linear_params *p, const struct fp4_operand *a, const struct fp4_operand *b, size_t m,
                          size_t n, size_t k, const uint16_t *bias, const uint16_t *got, const char *what)
{
    const struct fp4_gemm_params g = {
        .recipe = FP4_RECIPE_TORCHAO, .m = m, .n = n, .k = k, .sum = p->sum, .divide_factor = p->divide_factor, .output = FP4_BF16
    };

    for (size_t i = 0; i < m * n; i += 1 + n / 32) { /* a sample that visits all lines and columns */
        unsigned want = slow_bf16(slow_gemm(&g, a, b, i / n, i % n, NULL));

        if (bias)
            want = slow_bf16(slow_add(slow_load(&(uint16_t){ (uint16_t)want }, FP4_BF16, 0), slow_load(bias, FP4_BF16, i % n)));
        CHECK(got[i] == want, "%s element %zu: %04x, not %04x", what, i, got[i], want);
    }
}

static struct fp4_four_params slow_params(const struct fp4_linear_params *p, bool weights)
{
    return (struct fp4_four_params){ .recipe = FP4_RECIPE_TORCHAO,
                                     .input = FP4_BF16,
                                     .rows = weights ? N : M,
                                     .cols = K,
                                     .block_16x16 = weights && p->weight_16x16,
                                     .row_scaled = !weights && p->row_scaled,
                                     .bound = p->bound,
                                     .error = p->error,
                                     .nan = p->nan };
}

static void check_forward(const struct fp4_linear_params *p, const struct layer *l, const uint16_t *bias)
{
    const struct fp4_four_params px = slow_params(p, false), pw = slow_params(p, true);
    struct slow_four x, w;

    slow_four_over_six(&px, SLOW_RIGHT, l->x, false, NULL, &x);
    slow_four_over_six(&pw, SLOW_RIGHT, l->w, false, NULL, &w);
    struct slow_operand a = packed(&x.q, p->row_scaled, p->bound), b = packed(&w.q, false, p->bound);

    same_operand(&l->t.x, &a, M, K, "x");
    same_operand(&l->t.w, &b, N, K, "w");
    check_product(p, &a.o, &b.o, M, N, K, bias, l->y, "y");
    free(a.codes);
    free(b.codes);
    slow_four_release(&x);
    slow_four_release(&w);
}

/* Quantized: the transposes of x and w, four-over-six; the gradient both ways, plainly, with bound 448 whatever the layer's is. */
static void check_quantized(const struct fp4_linear_params *p, const struct layer *l)
{
    const struct fp4_four_params px = slow_params(p, false), pw = slow_params(p, true);
    const struct fp4_quantize_params pg = { .recipe = FP4_RECIPE_TORCHAO, .input = FP4_BF16, .rows = M, .cols = N };
    struct slow_four x, w;
    struct slow_quantized g, gt;

    slow_four_over_six(&px, SLOW_RIGHT, l->x, true, NULL, &x);
    slow_four_over_six(&pw, SLOW_RIGHT, l->w, true, NULL, &w);
    slow_quantize(&pg, l->dy, false, false, NULL, NULL, &g);
    slow_quantize(&pg, l->dy, true, false, NULL, NULL, &gt);
    struct slow_operand xt = packed(&x.q, false, p->bound), wt = packed(&w.q, false, p->bound);
    struct slow_operand dy = packed(&g, false, 448), dyt = packed(&gt, false, 448);

    same_operand(&l->t.xt, &xt, K, M, "x transposed");
    same_operand(&l->t.wt, &wt, K, N, "w transposed");
    same_operand(&l->t.dy, &dy, M, N, "the gradient");
    same_operand(&l->t.dyt, &dyt, N, M, "the gradient transposed");
    check_product(p, &dy.o, &wt.o, M, K, N, NULL, l->dx, "grad_input");
    check_product(p, &dyt.o, &xt.o, N, K, M, NULL, l->dw, "grad_weight");
    free(xt.codes);
    free(wt.codes);
    free(dy.codes);
    free(dyt.codes);
    slow_four_release(&x);
    slow_four_release(&w);
    slow_quantized_release(&g);
    slow_quantized_release(&gt);
}

/* bf16 products of the gradient with these x and w. */
static void check_bf16(const struct layer *l, const uint16_t *x, const uint16_t *w)
{
    for (size_t i = 0; i < M * K; i += 5) {
        const unsigned want = slow_product(l->dy, false, w, false, M, K, N, i / K, i % K);

        CHECK(l->dx[i] == want, "grad_input element %zu: %04x, not %04x", i, l->dx[i], want);
    }
    for (size_t i = 0; i < N * K; i += 11) {
        const unsigned want = slow_product(l->dy, true, x, false, N, K, M, i / K, i % K);

        CHECK(l->dw[i] == want, "grad_weight element %zu: %04x, not %04x", i, l->dw[i], want);
    }
}

/* What the codes of the forward stand for, in bf16. */
static uint16_t *slow_values(const struct fp4_four_params *p, const uint16_t *x)
{
    uint16_t *out = allocate(2 * p->rows * p->cols);
    struct slow_four f;

    slow_four_over_six(p, SLOW_RIGHT, x, false, NULL, &f);
    for (size_t i = 0; i < p->rows * p->cols; i++)
        out[i] = (uint16_t)slow_bf16(f.q.dequantized[i]);
    slow_four_release(&f);
    return out;
}

static void check_dequantized(const struct fp4_linear_params *p, const struct layer *l)
{
    const struct fp4_four_params px = slow_params(p, false), pw = slow_params(p, true);
    uint16_t *x = slow_values(&px, l->x), *w = slow_values(&pw, l->w);

    cr_expect_eq(memcmp(l->t.x_values, x, 2 * M * K), 0, "x dequantized");
    cr_expect_eq(memcmp(l->t.w_values, w, 2 * N * K), 0, "w dequantized");
    check_bf16(l, x, w);
    free(x);
    free(w);
}

static void check_layer(const struct fp4_linear_params *p, bool with_bias)
{
    struct layer l = layer_of(p);
    const enum fp4_backward mode = fp4_backward_mode(p);
    const bool high = mode == FP4_BACKWARD_HIGH_PRECISION;
    struct fp4_error err;
    const uint16_t one = 0x3F80;

    cr_assert_eq(fp4_linear_forward(p, l.x, l.w, with_bias ? l.bias : NULL, &l.t, l.y, &err), 0, "%s", err.msg);
    check_forward(p, &l, with_bias ? l.bias : NULL);
    /* Nothing but high-precision may look at x and w again. */
    cr_assert_eq(fp4_linear_backward(p, high ? l.x : NULL, high ? l.w : NULL, l.dy, &l.t, l.dx, l.dw, l.db, &err), 0, "%s",
                 err.msg);
    if (high)
        check_bf16(&l, l.x, l.w);
    else if (mode == FP4_BACKWARD_DEQUANTIZED)
        check_dequantized(p, &l);
    else
        check_quantized(p, &l);
    for (size_t j = 0; j < N; j++) {
        const unsigned want = slow_bf16_dot(l.dy + j, N, &one, 0, M);

        CHECK(l.db[j] == want, "grad_bias %zu: %04x, not %04x", j, l.db[j], want);
    }
    layer_release(&l);
}

static struct fp4_linear_params linear(enum fp4_backward backward)
{
    return (struct fp4_linear_params){ .m = M, .n = N, .k = K, .bound = 256, .weight_16x16 = true, .backward = backward };
}

Test(linear, quantized)
{
    struct fp4_linear_params p = linear(FP4_BACKWARD_QUANTIZED);

    check_layer(&p, true);
    p.bound = 448;
    p.error = FP4_FOUR_MSE;
    p.weight_16x16 = false;
    p.sum = FP4_GEMM_EXACT;
    p.divide_factor = true;
    p.nan = FP4_FOUR_NAN_PROPAGATE;
    check_layer(&p, false);
}

Test(linear, high_precision_is_the_plain_product_of_the_originals)
{
    struct fp4_linear_params p = linear(FP4_BACKWARD_HIGH_PRECISION);

    check_layer(&p, false);
    p.row_scaled = true;
    check_layer(&p, true);
}

Test(linear, dequantized)
{
    struct fp4_linear_params p = linear(FP4_BACKWARD_DEQUANTIZED);

    check_layer(&p, false);
    p.row_scaled = true; /* with 1x16 weights and mse: what reinforcement learning uses */
    p.weight_16x16 = false;
    p.error = FP4_FOUR_MSE;
    check_layer(&p, false);
}

Test(linear, the_default_mode)
{
    struct fp4_linear_params p = linear(FP4_BACKWARD_DEFAULT);

    cr_expect_eq(fp4_backward_mode(&p), FP4_BACKWARD_QUANTIZED);
    check_layer(&p, false);
    p.row_scaled = true;
    cr_expect_eq(fp4_backward_mode(&p), FP4_BACKWARD_HIGH_PRECISION);
    check_layer(&p, false);
}

/* Each gradient may be left out. */
Test(linear, gradients_are_optional)
{
    for (enum fp4_backward mode = FP4_BACKWARD_QUANTIZED; mode <= FP4_BACKWARD_DEQUANTIZED; mode++) {
        const struct fp4_linear_params p = linear(mode);
        struct layer l = layer_of(&p);

        cr_assert_eq(fp4_linear_forward(&p, l.x, l.w, NULL, &l.t, l.y, NULL), 0);
        cr_expect_eq(fp4_linear_backward(&p, l.x, l.w, l.dy, &l.t, NULL, NULL, l.db, NULL), 0);
        cr_expect_eq(fp4_linear_backward(&p, l.x, l.w, l.dy, &l.t, l.dx, l.dw, NULL, NULL), 0);
        layer_release(&l);
    }
}

/* A NaN in x is in its amax, whatever the blocks do, and so in every product. */
Test(linear, nan_reaches_the_product)
{
    const struct fp4_linear_params p = linear(FP4_BACKWARD_HIGH_PRECISION);
    struct layer l = layer_of(&p);

    l.x[5] = 0xFFC0;
    cr_assert_eq(fp4_linear_forward(&p, l.x, l.w, NULL, &l.t, l.y, NULL), 0);
    cr_expect_eq(slow_bits(l.t.x.amax[0]), 0x7FFFFFFFu);
    for (size_t i = 0; i < M * N; i++)
        CHECK(l.y[i] == 0x7FFF, "element %zu: %04x", i, l.y[i]);
    layer_release(&l);
}

static void linear_refused(struct fp4_linear_params p, enum fp4_code code, const char *words)
{
    struct fp4_error err = { FP4_OK, "" };

    cr_expect_eq(fp4_linear_check(&p, &err), -1, "not refused: %s", words);
    cr_expect_eq(err.code, code, "%s", err.msg);
    cr_expect(strstr(err.msg, words) != NULL, "'%s' does not say '%s'", err.msg, words);
}

Test(linear, refusals)
{
    struct fp4_linear_params p = linear(FP4_BACKWARD_QUANTIZED);

    cr_expect_eq(fp4_linear_check(&p, NULL), 0);
    p.m = 100;
    linear_refused(p, FP4_EUSAGE, "m to be a multiple of 128, not 100");
    p = linear(FP4_BACKWARD_QUANTIZED);
    p.n = 192;
    linear_refused(p, FP4_EUSAGE, "n to be a multiple of 128, not 192");
    p = linear(FP4_BACKWARD_QUANTIZED);
    p.k = 16;
    linear_refused(p, FP4_EUSAGE, "k to be a multiple of 128, not 16");
    p = linear(4);
    linear_refused(p, FP4_EUSAGE, "backward mode");
    p = linear(FP4_BACKWARD_QUANTIZED);
    p.row_scaled = true;
    linear_refused(p, FP4_ESUPPORT, "not one a row");
    p = linear(FP4_BACKWARD_DEQUANTIZED);
    p.bound = 384;
    linear_refused(p, FP4_EUSAGE, "not 384");
    p = linear(FP4_BACKWARD_DEQUANTIZED);
    p.error = 3;
    linear_refused(p, FP4_EUSAGE, "mae or mse");
}

Test(linear, refuses_missing_buffers)
{
    static const struct {
        enum fp4_backward mode;
        const char *forward, *backward;
    } rows[] = { { FP4_BACKWARD_QUANTIZED, "codes, scales and amax of x transposed", "x transposed" },
                 { FP4_BACKWARD_HIGH_PRECISION, NULL, "needs x and w" },
                 { FP4_BACKWARD_DEQUANTIZED, NULL, "values of x and w" } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct fp4_linear_params p = linear(rows[i].mode), least = linear(FP4_BACKWARD_HIGH_PRECISION);
        struct layer l = layer_of(&least);
        struct fp4_error err = { FP4_OK, "" };

        cr_expect_eq(fp4_linear_forward(&p, l.x, l.w, NULL, &l.t, l.y, &err), rows[i].forward ? -1 : 0, "mode %zu", i);
        cr_expect(!rows[i].forward || strstr(err.msg, rows[i].forward), "%s", err.msg);
        cr_expect_eq(fp4_linear_backward(&p, NULL, NULL, l.dy, &l.t, l.dx, l.dw, NULL, &err), -1, "mode %zu", i);
        cr_expect(strstr(err.msg, rows[i].backward) != NULL, "%s", err.msg);
        layer_release(&l);
    }
}

Test(linear, names_of_modes)
{
    for (int i = 0; i < 4; i++)
        cr_expect_eq(fp4_backward_from_name(fp4_backward_name((enum fp4_backward)i)), i);
    cr_expect_eq(fp4_backward_from_name("override"), -1);
    cr_expect_null(fp4_backward_name((enum fp4_backward)4));
}

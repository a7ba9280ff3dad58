/* SPDX-License-Identifier: Apache-2.0 */
/* The operations and recipes: names, and which input types and recipes an operation has. */
#include "matrix.h"

#define F32 (1u << FP4_F32)
#define F16 (1u << FP4_F16)
#define BF16 (1u << FP4_BF16)

#define R(recipe) (1u << CR_##recipe)

const struct op_row fp4_ops[OP_COUNT] = {
    { OP_CVT_RN, "cvt-rn", R(PTX), F32, "f32 to E2M1, round to nearest even, saturating: cvt.rn.satfinite.e2m1x2.f32",
      "2 Formats" },
    { OP_CVT_RS, "cvt-rs", R(PTX), F32, "f32 to E2M1 with given random bits: cvt.rs.satfinite.e2m1x4.f32",
      "3 Stochastic rounding" },
    { OP_SR_BF16X4, "sr-bf16x4", R(TE), BF16, "4 bf16 times an even and an odd scale, stochastic rounding, one random word",
      "3 Stochastic rounding" },
    { OP_SR_FP32X4, "sr-fp32x4", R(TE), F32, "4 f32, scaled or not, stochastic rounding, one random word",
      "3 Stochastic rounding" },
    { OP_SR_BF16X8, "sr-bf16x8", R(TE), BF16, "8 bf16 times one coefficient, stochastic rounding, two random words",
      "3 Stochastic rounding" },
    { OP_QUANTIZE, "quantize", R(TE) | R(TE_FAST) | R(TE_REF) | R(TORCHAO), F32 | F16 | BF16,
      "a matrix to codes, block scales and amax, rowwise and transposed", "4 Quantize" },
    { OP_RHT_QUANTIZE, "rht-quantize", R(TE) | R(TE_FAST) | R(TE_REF) | R(FP4SM120), BF16,
      "random Hadamard transform of 16 consecutive rows (tokens) of a column, then quantize, transposed", "7 Hadamard" },
    { OP_FOUR_OVER_SIX, "four-over-six", R(TORCHAO) | R(TE) | R(TE_FAST) | R(TE_REF) | R(FLASHINFER) | R(FOUROVERSIX),
      F32 | F16 | BF16, "each block with the scale for 6 and with that for 4, the one with the smaller error stored",
      "12 Four-over-six" },
    { OP_DEQUANTIZE, "dequantize", R(TE) | R(TORCHAO), F32 | F16 | BF16, "codes, block scales and amax back to numbers",
      "5 Dequantize" },
    { OP_GEMM, "gemm", R(TORCHAO) | R(TE_REF), F32 | BF16,
      "products of quantized operands; the four-over-six layer, forward and backward", "13 Products" },
    { OP_SWIZZLE, "swizzle", R(TE), 1u << FP4_E4M3, "block scales between the linear and the 128x4 GEMM layout", "8 Layouts" },
    { OP_PHILOX, "philox", R(TE) | R(CURAND), 1u << FP4_U32, "Philox4x32 words of seed, subsequence and offset",
      "6 Random streams" },
};

static const struct {
    const char *name;
    const char *help;
    enum fp4_recipe ref;
} recipes[CR_COUNT] = {
    [CR_PTX] = { "ptx", "as the PTX ISA defines the instruction", FP4_RECIPE_TE },
    [CR_TE] = { "te", "Transformer Engine's kernels, exact arithmetic", FP4_RECIPE_TE },
    [CR_TE_FAST] = { "te-fast", "Transformer Engine's kernels with NVTE_USE_FAST_MATH", FP4_RECIPE_TE_FAST },
    [CR_TE_REF] = { "te-ref", "Transformer Engine's Python reference", FP4_RECIPE_TE_REF },
    [CR_TORCHAO] = { "torchao", "torchao: its standard nearest quantizer, its four-over-six", FP4_RECIPE_TORCHAO },
    [CR_FP4SM120] = { "fp4sm120", "the public SM120 port of the fused Hadamard kernel", FP4_RECIPE_FP4SM120 },
    [CR_FLASHINFER] = { "flashinfer", "FlashInfer's strict four-over-six", FP4_RECIPE_FLASHINFER },
    [CR_FOUROVERSIX] = { "fouroversix", "the CUDA kernel of mit-han-lab/fouroversix", FP4_RECIPE_FOUROVERSIX },
    [CR_CURAND] = { "curand", "offsets counted in words, as cuRAND does", FP4_RECIPE_TE },
};

const char *case_recipe_name(enum case_recipe recipe)
{
    return recipes[recipe].name;
}

const char *case_recipe_help(enum case_recipe recipe)
{
    return recipes[recipe].help;
}

enum fp4_recipe case_recipe_ref(enum case_recipe recipe)
{
    return recipes[recipe].ref;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Typed faces of the conversions in fp4arith.h. */
#include "fp4arith.h"
#include "fp4ref.h"

static const char *const dtype_names[FP4_DTYPE_COUNT] = { "f32", "f16", "bf16", "e2m1", "e4m3", "u8", "u32", "u64" };

const char *fp4_dtype_name(enum fp4_dtype dtype)
{
    return dtype_names[dtype];
}

int fp4_dtype_from_name(const char *name)
{
    int i;

    for (i = 0; i < FP4_DTYPE_COUNT; i++)
        if (strcmp(name, dtype_names[i]) == 0)
            return i;
    return -1;
}

size_t fp4_dtype_bytes(enum fp4_dtype dtype, size_t count)
{
    switch (dtype) {
    case FP4_E2M1:
        return (count + 1) / 2;
    case FP4_F16:
    case FP4_BF16:
        return 2 * count;
    case FP4_F32:
    case FP4_U32:
        return 4 * count;
    case FP4_U64:
        return 8 * count;
    default:
        return count;
    }
}

float e2m1_to_f32(e2m1_t v)
{
    return fp4a_from_e2m1(v.bits);
}

float e4m3_to_f32(e4m3_t v)
{
    return fp4a_from_e4m3(v.bits);
}

float bf16_to_f32(bf16_t v)
{
    return fp4a_from_bf16(v.bits);
}

float f16_to_f32(f16_t v)
{
    return fp4a_from_f16(v.bits);
}

e2m1_t f32_to_e2m1(float v)
{
    return (e2m1_t){ (uint8_t)fp4a_to_e2m1(v) };
}

e4m3_t f32_to_e4m3(float v)
{
    return (e4m3_t){ (uint8_t)fp4a_to_e4m3(v) };
}

bf16_t f32_to_bf16(float v)
{
    return (bf16_t){ (uint16_t)fp4a_to_bf16(v) };
}

f16_t f32_to_f16(float v)
{
    return (f16_t){ (uint16_t)fp4a_to_f16(v) };
}

uint32_t fp4_f32_bits(float v)
{
    return fp4a_bits(v);
}

float fp4_f32_from_bits(uint32_t bits)
{
    return fp4a_float(bits);
}

float fp4_load(const void *data, enum fp4_dtype dtype, size_t i)
{
    uint32_t word;
    uint16_t half;

    if (dtype == FP4_F32) {
        memcpy(&word, (const char *)data + 4 * i, 4);
        return fp4a_float(word);
    }
    memcpy(&half, (const char *)data + 2 * i, 2);
    return dtype == FP4_F16 ? fp4a_from_f16(half) : fp4a_from_bf16(half);
}

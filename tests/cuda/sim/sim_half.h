/*
 * sim_half.h -- numbers of half precision, and NVIDIA's NaNs
 *
 * Arithmetic on halves goes through doubles, and what is rounded to a half is exact,
 * or as good as that: sums and products of two halves have 40 and 22 bits. A product p
 * plus a half c is not exact only if the sum spans more than 53 bits. As p has 22 bits
 * and c has 11, and none below 2^-48 and 2^-24, that is either |p| < 2^-31 |c|, when
 * the result is c, far from any tie; or |p| >= 2^29, which is infinite as a half.
 */
#ifndef CUDA_SIM_SIM_HALF_H
#define CUDA_SIM_SIM_HALF_H

#include "sim_module.h"

#include <math.h>
#include <string.h>

enum { HALF_NAN = 0x7fff };

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline float canon_f32(float value)
{
    return value != value ? float_of_bits(0x7fffffff) : value;
}

static inline double canon_f64(double value)
{
    return value != value ? double_of_bits(UINT64_C(0x7fffffffffffffff)) : value;
}

/* The exponent is moved by a product, which makes subnormal halves normal. */
static inline float half_value(uint16_t h)
{
    uint32_t sign = (uint32_t) (h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00)
        return float_of_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    return float_of_bits(sign | bits_of_float(float_of_bits(rest << 13) * 0x1p112f));
}

/** A double as a half. */
static inline uint16_t half_from(double value, Round round)
{
    uint64_t bits = bits_of_double(value), rest = bits & ~(UINT64_C(1) << 63);
    uint16_t sign = (uint16_t) (bits >> 48 & 0x8000);
    if (rest > UINT64_C(0x7ff0000000000000))
        return HALF_NAN;
    if (rest == UINT64_C(0x7ff0000000000000))
        return sign | 0x7c00;
    int exponent = (int) (rest >> 52) - 1023;
    /* The mantissa in units of the last place of the result, and what is below. */
    int drop = exponent < -14 ? 42 + (-14 - exponent) : 42;
    uint64_t mantissa = (rest & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    if (rest >> 52 == 0 || drop > 60) { /* far below the least half */
        mantissa = rest != 0;
        drop = 60;
    }
    uint64_t kept = mantissa >> drop;
    uint64_t lost = mantissa & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    bool up = round == ROUND_ZERO   ? false
              : round == ROUND_UP   ? lost && !sign
              : round == ROUND_DOWN ? lost && sign
                                    : lost > half || (lost == half && (kept & 1));
    kept += up;
    /* A carry of the mantissa runs into the exponent. */
    uint64_t result = exponent < -14 ? kept : ((uint64_t) (exponent + 14) << 10) + kept;
    if (result < 0x7c00)
        return (uint16_t) (sign | result);
    bool largest = round == ROUND_ZERO || (round == ROUND_UP && sign) ||
                   (round == ROUND_DOWN && !sign);
    return sign | (largest ? 0x7bff : 0x7c00);
}

static inline uint16_t half_round(double value)
{
    return half_from(value, ROUND_NEAREST);
}

static inline uint16_t half_add(uint16_t a, uint16_t b)
{
    return half_round((double) half_value(a) + (double) half_value(b));
}

static inline uint16_t half_sub(uint16_t a, uint16_t b)
{
    return half_round((double) half_value(a) - (double) half_value(b));
}

static inline uint16_t half_mul(uint16_t a, uint16_t b)
{
    return half_round((double) half_value(a) * (double) half_value(b));
}

static inline uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c)
{
    double product = (double) half_value(a) * (double) half_value(b);
    return half_round(product + (double) half_value(c));
}

static inline bool half_is_nan(uint16_t h)
{
    return (h & 0x7fff) > 0x7c00;
}

#endif

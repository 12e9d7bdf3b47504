/*
 * lanes_half.h -- half precision numbers in the inner loops of lane files
 *
 * Plain arithmetic that every instruction set vectorises, with the same bits on each.
 */
#ifndef LANES_LANES_HALF_H
#define LANES_LANES_HALF_H

#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) float half_load(uint16_t h)
{
    uint32_t magnitude = (h & 0x7fffu) << 13, sign = (uint32_t) (h & 0x8000u) << 16,
             bits;
    float value;
    memcpy(&value, &magnitude, sizeof value);
    value *= 0x1p112f; /* exact; turns subnormal halves into normal numbers */
    memcpy(&bits, &value, sizeof bits);
    bits |= sign | (magnitude >= 0x0f800000u ? 0x7f800000u : 0); /* infinity and NaN */
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest even. */
static inline __attribute__((always_inline)) uint16_t half_store(float value)
{
    uint32_t bits, small_bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    float small;
    memcpy(&small, &magnitude, sizeof small);
    small += 0.5f; /* one unit in the last place of 0.5 is the smallest half */
    memcpy(&small_bits, &small, sizeof small_bits);
    uint32_t normal = magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u);
    uint32_t result = normal >> 13;
    result = magnitude < 0x38800000u ? small_bits - 0x3f000000u : result;
    result = magnitude >= 0x47800000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? 0x7e00u : result;
    return (uint16_t) (result | sign);
}

#endif

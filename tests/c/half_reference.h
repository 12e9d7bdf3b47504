/*
 * half_reference.h -- numbers of half precision as doubles, and back, rounded to even
 */
#ifndef TESTS_HALF_REFERENCE_H
#define TESTS_HALF_REFERENCE_H

#include <math.h>
#include <stdint.h>

static inline double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double value = exponent == 31  ? (mantissa ? (double) NAN : (double) INFINITY)
                   : exponent == 0 ? ldexp(mantissa, -24)
                                   : ldexp(1024 + mantissa, exponent - 25);
    return copysign(value, h & 0x8000 ? -1.0 : 1.0);
}

static inline uint16_t half_bits(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    value = fabs(value);
    if (isnan(value))
        return 0x7e00;
    if (value >= 65520)
        return sign | 0x7c00;
    if (value < ldexp(1, -14))
        return (uint16_t) (sign | (uint16_t) nearbyint(ldexp(value, 24)));
    int exponent;
    frexp(value, &exponent); /* value = f * 2^exponent, f in [0.5, 1) */
    /* A mantissa rounded up to 2048 carries into the exponent. */
    int mantissa = (int) nearbyint(ldexp(value, 11 - exponent));
    return (uint16_t) (sign | (((exponent + 14) << 10) + mantissa - 1024));
}

#endif

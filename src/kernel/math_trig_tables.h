/*
 * math_trig_tables.h -- written by tools/tables_trig.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_TRIG_TABLES_H
#define KERNEL_MATH_TRIG_TABLES_H

/* sin(r) / r for x in [0.0, 2.4964], error 2^-35.36: x^0, x^1, x^2, x^3, x^4,
 * x^5. */
static const double sine_half_turn[] = {
    0x1.ffffffffcdffep-1,
    -0x1.555555403bb7bp-3,
    0x1.11110b2ea148bp-7,
    -0x1.a017934769228p-13,
    0x1.7168eabf3f068p-19,
    -0x1.99d118555d752p-26,
};

/* tan(r) / r (1 + x tangent_below) for x in [0.0, 0.6241], error 2^-29.4: x^0,
 * x^1, x^2. */
static const double tangent_above[] = {
    0x1.000000060c2a7p0,
    -0x1.c71c795e29e4fp-4,
    0x1.156b8bd1d483dp-10,
};

/* Denominator of Pade's approximant [5/4]. */
static const double tangent_below[] = {
    -0x1.c71c71c71c71cp-2,
    0x1.041041041041p-6,
};

/* sin(r) / r for x in [0.0, 0.6241], error 2^-57.77: x^1, x^2, x^3, x^4, x^5,
 * x^6. */
static const double sine_rest[] = {
    -0x1.5555555555547p-3,
    0x1.111111110f595p-7,
    -0x1.a01a019bb4497p-13,
    0x1.71de35263e49bp-19,
    -0x1.ae5e26056f65fp-26,
    0x1.5d8045a2c22f2p-33,
};

/* cos(r) for x in [0.0, 0.6241], error 2^-63.82: x^2, x^3, x^4, x^5, x^6, x^7. */
static const double cosine_rest[] = {
    0x1.555555555554ap-5,
    -0x1.6c16c16c14df7p-10,
    0x1.a01a019c5abd7p-16,
    -0x1.27e4f7cbcca2dp-22,
    0x1.1ee9c2174474fp-29,
    -0x1.8f992527c8874p-37,
};

/* pi in parts. */
static const double pi_double[] = {
    0x1.921fb54442d18p1,
    0x1.1a62633145c07p-53,
    -0x1.f1976b7ed8fbcp-109,
};

/* 14 zeros and the first bits of 2/pi, in words of 32 bits. */
static const double turn_words[] = {
    0x1.45f3p17,
    0x1.b72722p27,
    0x1.529fc274p30,
    0x1.7d1f534cp30,
    0x1.dc0db628p30,
    0x1.5993c438p30,
    0x1.041fe514p30,
    0x1.1d5ef5dep31,
    0x1.586dc91p28,
    0x1.71d2126ep31,
    0x1.2e00649p30,
    0x1.77504e8cp31,
    0x1.21cfe1dcp30,
    0x1.58e5894cp31,
    0x1.39f7441p31,
    0x1.afa975dap31,
    0x1.213a671p28,
    0x1.8135a2fap31,
    0x1.f209cc8ep31,
    0x1.6398353p30,
    0x1.cfa4e422p31,
    0x1.f8bbdf9p30,
    0x1.41d8ffc4p31,
    0x1.7ffde058p30,
    0x1.80fef2fp30,
    0x1.18b5a0a4p30,
    0x1.68fb69b2p31,
    0x1.f6793e58p31,
    0x1.36e9e8cp29,
    0x1.fb34f2fep31,
    0x1.516ba93cp31,
    0x1.d63f5f2ep31,
    0x1.8bd9e838p31,
    0x1.cfbc5294p31,
    0x1.2ea6bfb4p30,
    0x1.fb11f8d4p30,
    0x1.d085603p30,
    0x1.8237e3dap31,
};

#endif

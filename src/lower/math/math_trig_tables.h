/*
 * math_trig_tables.h -- written by tables_trig.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_TRIG_TABLES_H
#define LOWER_MATH_MATH_TRIG_TABLES_H

/* -sin(r) / r for x in [0.0, 0.6241], error 2^-27.84: x^1, x^2, x^3. */
static const double sine_single[] = {
    0x1.555544p-3, -0x1.1106c6p-7, 0x1.991c2p-13,
};

/* cos(r) for x in [0.0, 0.6241], error 2^-32.86: x^2, x^3, x^4. */
static const double cosine_single[] = {
    0x1.55554ap-5, -0x1.6c0c1ep-10, 0x1.99e334p-16,
};

/* (1 / r - cot(r)) / r for x in [0.0, 0.6241], error 2^-27.27: x^0, x^1, x^2,
 * x^3. */
static const double cotangent_single[] = {
    0x1.555542p-2, 0x1.6c28eap-6, 0x1.12c106p-9, 0x1.04570cp-12,
};

/* pi/2 in parts, the second of which leaves 9 bits free. */
static const double quarter_single[] = {
    0x1.921fb4p0, 0x1.444p-24, 0x1.68c234p-39,
};

/* pi in parts. */
static const double pi_single[] = {
    0x1.921fb6p1, -0x1.777a5cp-24, -0x1.ee59dap-49,
};

/* -sin(r) / r for x in [0.0, 0.6241], error 2^-57.77: x^1, x^2, x^3, x^4, x^5,
 * x^6. */
static const double sine_double[] = {
    0x1.5555555555547p-3, -0x1.111111110f595p-7, 0x1.a01a019bb4497p-13,
    -0x1.71de35263e49bp-19, 0x1.ae5e26056f65fp-26, -0x1.5d8045a2c22f2p-33,
};

/* cos(r) for x in [0.0, 0.6241], error 2^-63.82: x^2, x^3, x^4, x^5, x^6, x^7. */
static const double cosine_double[] = {
    0x1.555555555554ap-5, -0x1.6c16c16c14df7p-10, 0x1.a01a019c5abd7p-16,
    -0x1.27e4f7cbcca2dp-22, 0x1.1ee9c2174474fp-29, -0x1.8f992527c8874p-37,
};

/* (1 / r - cot(r)) / r for x in [0.0, 0.6241], error 2^-57.05: x^0, x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8. */
static const double cotangent_double[] = {
    0x1.555555555556dp-2, 0x1.6c16c16c10f2ep-6, 0x1.1566abc3ffa41p-9,
    0x1.bbd77696e23eap-13, 0x1.66a9704768eb8p-16, 0x1.227227c9615b1p-19,
    0x1.d8d4075cb7702p-23, 0x1.68c4754e5fa1ap-26, 0x1.abe5e4f5f795fp-29,
};

/* pi/2 in parts, the second of which leaves 20 bits free. */
static const double quarter_double[] = {
    0x1.921fb54442d18p0, 0x1.1a626331p-54, 0x1.1701b839a252p-88,
};

/* pi in parts. */
static const double pi_double[] = {
    0x1.921fb54442d18p1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109,
};

/* 48 zeros and the first bits of 2/pi, in words of 32 bits. */
static const double turn_words[] = {
    0x0p0, 0x1.45f2p15, 0x1.06dc9c88p31, 0x1.529fc27p28, 0x1.5f47d4dp30,
    0x1.bb81b6c4p31, 0x1.2b327886p31, 0x1.2083fca2p31, 0x1.8eaf7aecp30, 0x1.8ac36e48p31,
    0x1.b8e90934p30, 0x1.a5c00c92p31, 0x1.77504e88p29, 0x1.2439fc3ap31, 0x1.d6396252p31,
    0x1.4e7dd104p31, 0x1.afa975d8p29, 0x1.1213a67p30, 0x1.c09ad17cp30, 0x1.f904e644p30,
    0x1.ac7306a6p31, 0x1.cfa4e42p29, 0x1.7e2ef7e4p30, 0x1.41d8ffcp29, 0x1.2fffbc0ap31,
    0x1.301fde5ep31, 0x1.18b5a0ap28, 0x1.b47db4d8p30, 0x1.fb3c9f2cp30, 0x1.36e9e8cp27,
    0x1.fb34f2f8p29, 0x1.d45aea4ep31, 0x1.758fd7cap31, 0x1.e2f67a0ep31, 0x1.cfbc529p29,
    0x1.25d4d7f6p31, 0x1.7ec47e34p30, 0x1.7421580cp30,
};

#endif

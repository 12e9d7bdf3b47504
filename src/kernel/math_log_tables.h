/*
 * math_log_tables.h -- written by tools/tables_log.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_LOG_TABLES_H
#define KERNEL_MATH_LOG_TABLES_H

/* log(1 + x) = x - x^2 / 2 - x^3 / 2 times this polynomial; for x in [-0.292893,
 * 0.414214], error 2^-27.35: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7. */
static const double log_plain[] = {
    -0x1.555554p-1,
    0x1.000226p-1,
    -0x1.99a01cp-2,
    0x1.547288p-2,
    -0x1.22d922p-2,
    0x1.0d8244p-2,
    -0x1.055f52p-2,
    0x1.38cba2p-3,
};

/* 1 / ln 2. */
static const double log2_e_single[] = {
    0x1.715476p0,
    0x1.4ae0cp-26,
};

/* 1 / ln 2. */
static const double log2_e_double[] = {
    0x1.71547652b82fep0,
    0x1.777d0ffda0d24p-56,
};

/* ln 2; the first part leaves 8 bits free. */
static const double log_ln2_single[] = {
    0x1.62e4p-1,
    0x1.7f7d1cp-20,
};

/* ln 2; the first part leaves 11 bits free. */
static const double log_ln2_double[] = {
    0x1.62e42fefa38p-1,
    0x1.ef35793c7673p-45,
};

/* atanh(s) = s + s^3 times this polynomial in x = s^2; for x in [0.0, 0.029466],
 * error 2^-35.23: x^0, x^1, x^2, x^3. */
static const double log_tail_single[] = {
    0x1.555554p-2,
    0x1.999c26p-3,
    0x1.23d3ep-3,
    0x1.f13ae8p-4,
};

/* atanh(s) = s + s^3 times this polynomial in x = s^2; for x in [0.0, 0.029466],
 * error 2^-59.48: x^0, x^1, x^2, x^3, x^4, x^5, x^6. */
static const double log_tail_double[] = {
    0x1.5555555555593p-2,
    0x1.999999997f9fap-3,
    0x1.249249422a268p-3,
    0x1.c71c51d7e34f6p-4,
    0x1.746649ad1d5afp-4,
    0x1.39a09596c9b7cp-4,
    0x1.2f118115299abp-4,
};

/* atanh(s) = s + s^3 / 3 + s^5 times this polynomial in x = s^2; for x in [0.0,
 * 0.029466], error 2^-36.78: x^0, x^1, x^2. */
static const double log_exact_single[] = {
    0x1.999ap-3,
    0x1.24527ap-3,
    0x1.dfa30ap-4,
};

/* 1 / 3. */
static const double log_third_single[] = {
    0x1.555556p-2,
    -0x1.555556p-27,
};

/* atanh(s) = s + s^3 / 3 + s^5 times this polynomial in x = s^2; for x in [0.0,
 * 0.029466], error 2^-73.46: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7. */
static const double log_exact_double[] = {
    0x1.9999999999996p-3,
    0x1.2492492492f56p-3,
    0x1.c71c71c595949p-4,
    0x1.745d1829f016p-4,
    0x1.3b136499d02d7p-4,
    0x1.112077123e6f8p-4,
    0x1.de3c17cea78f3p-5,
    0x1.ead19b21ee825p-5,
};

/* 1 / 3. */
static const double log_third_double[] = {
    0x1.5555555555555p-2,
    0x1.5555555555555p-56,
};

#endif

/*
 * math_log_tables.h -- written by tools/tables_log.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_LOG_TABLES_H
#define KERNEL_MATH_LOG_TABLES_H

/* log(1 + x) = x - x^2 / 2 - x^3 / 2 times this polynomial; for x in [-0.3125,
 * 0.375], error 2^-27.46: x^0, x^1, x^2, x^3, x^4, x^5, x^6, x^7. */
static const double log_plain[] = {
    -0x1.555526p-1,
    0x1.00016cp-1,
    -0x1.99bef2p-2,
    0x1.54d052p-2,
    -0x1.202d42p-2,
    0x1.06391ep-2,
    -0x1.16834cp-2,
    0x1.937d92p-3,
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

/* 2 atanh(s) = 2 s + s^3 times this polynomial in x = s^2; for x in [0.0,
 * 0.034327], error 2^-34.17: x^0, x^1, x^2, x^3. */
static const double log_tail_single[] = {
    0x1.555554p-1,
    0x1.999c0ep-2,
    0x1.23df4ep-2,
    0x1.eed214p-3,
};

/* 2 atanh(s) = 2 s + s^3 times this polynomial in x = s^2; for x in [0.0,
 * 0.029466], error 2^-58.48: x^0, x^1, x^2, x^3, x^4, x^5, x^6. */
static const double log_tail_double[] = {
    0x1.5555555555593p-1,
    0x1.999999997f9fap-2,
    0x1.249249422a268p-2,
    0x1.c71c51d7e34f6p-3,
    0x1.746649ad1d5afp-3,
    0x1.39a09596c9b7cp-3,
    0x1.2f118115299abp-3,
};

/* atanh(s) = s + s^3 / 3 + s^5 times this polynomial in x = s^2; for x in [0.0,
 * 0.034327], error 2^-35.65: x^0, x^1, x^2. */
static const double log_exact_single[] = {
    0x1.999a3ep-3,
    0x1.243a9ep-3,
    0x1.e3eb86p-4,
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

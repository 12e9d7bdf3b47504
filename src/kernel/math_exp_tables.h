/*
 * math_exp_tables.h -- written by tools/tables_exp.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_EXP_TABLES_H
#define KERNEL_MATH_EXP_TABLES_H

/* e^x for x in [-0.34755, 0.34755], error 2^-28.22: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6. */
static const double exp_single[] = {
    0x1p0,
    0x1p0,
    0x1.fffffcp-2,
    0x1.555492p-3,
    0x1.5558bep-5,
    0x1.1239e8p-7,
    0x1.6a3fd6p-10,
};

/* 2^x for x in [-0.500977, 0.500977], error 2^-28.3: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6. */
static const double exp2_single[] = {
    0x1p0,
    0x1.62e43p-1,
    0x1.ebfbdcp-3,
    0x1.c6af7ap-5,
    0x1.3b2dep-7,
    0x1.5f09a2p-10,
    0x1.416d16p-13,
};

/* ln 2, high and low. */
static const double exp_ln2_single[] = {
    0x1.62e43p-1,
    -0x1.05c61p-29,
};

/* e^x for x in [-0.34755, 0.34755], error 2^-57.88: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double exp_double[] = {
    0x1p0,
    0x1p0,
    0x1.000000000000ap-1,
    0x1.55555555554ffp-3,
    0x1.5555555550687p-5,
    0x1.1111111126e03p-7,
    0x1.6c16c1849104bp-10,
    0x1.a01a012df4c8ap-13,
    0x1.a01998f59a37ap-16,
    0x1.71df1e2ff7f29p-19,
    0x1.28ae79d294a07p-22,
    0x1.ad8a93a51c6e1p-26,
};

/* 2^x for x in [-0.500977, 0.500977], error 2^-57.75: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double exp2_double[] = {
    0x1p0,
    0x1.62e42fefa39efp-1,
    0x1.ebfbdff82c59dp-3,
    0x1.c6b08d704a0d6p-5,
    0x1.3b2ab6fba0fa4p-7,
    0x1.5d87fe78b34bcp-10,
    0x1.4309130c72c99p-13,
    0x1.ffcbfbfb0c304p-17,
    0x1.62bfccc414fabp-20,
    0x1.b526083cd8b94p-24,
    0x1.e61389d95b3adp-28,
    0x1.e8185646c03dap-32,
};

/* ln 2, high and low. */
static const double exp_ln2_double[] = {
    0x1.62e42fefa39efp-1,
    0x1.abc9e3b39803fp-56,
};

#endif

/*
 * math_exp_tables.h -- written by tables_exp.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_EXP_TABLES_H
#define LOWER_MATH_MATH_EXP_TABLES_H

/* e^x for x in [-0.34755, 0.34755], error 2^-28.22: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6. */
static const double exp_single[] = {
    0x1p0, 0x1p0, 0x1.fffffcp-2, 0x1.555492p-3, 0x1.5558bep-5, 0x1.1239e8p-7,
    0x1.6a3fd6p-10,
};

/* 2^x for x in [-0.500977, 0.500977], error 2^-28.3: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6. */
static const double exp2_single[] = {
    0x1p0, 0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2dep-7, 0x1.5f09a2p-10,
    0x1.416d16p-13,
};

/* ln 2, high and low. */
static const double exp_ln2_single[] = {
    0x1.62e43p-1, -0x1.05c61p-29,
};

/* e^x for x in [-0.34755, 0.34755], error 2^-57.88: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double exp_double[] = {
    0x1p0, 0x1p0, 0x1.000000000000ap-1, 0x1.55555555554ffp-3, 0x1.5555555550687p-5,
    0x1.1111111126e03p-7, 0x1.6c16c1849104bp-10, 0x1.a01a012df4c8ap-13,
    0x1.a01998f59a37ap-16, 0x1.71df1e2ff7f29p-19, 0x1.28ae79d294a07p-22,
    0x1.ad8a93a51c6e1p-26,
};

/* 2^x for x in [-0.500977, 0.500977], error 2^-57.75: x^0, x^1, x^2, x^3, x^4,
 * x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double exp2_double[] = {
    0x1p0, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c59dp-3, 0x1.c6b08d704a0d6p-5,
    0x1.3b2ab6fba0fa4p-7, 0x1.5d87fe78b34bcp-10, 0x1.4309130c72c99p-13,
    0x1.ffcbfbfb0c304p-17, 0x1.62bfccc414fabp-20, 0x1.b526083cd8b94p-24,
    0x1.e61389d95b3adp-28, 0x1.e8185646c03dap-32,
};

/* ln 2, high and low. */
static const double exp_ln2_double[] = {
    0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56,
};

/* 2^(i / 8), bits less i times 2^20. */
static const double exp_root_single[] = {
    0x1p0, 0x1.f72b84p-1, 0x1.f06fep-1, 0x1.ebfdaep-1, 0x1.ea09e6p-1, 0x1.eace54p-1,
    0x1.ee89fap-1, 0x1.f5818ep-1,
};

/* What these lack, relative to them. */
static const double exp_root_single_low[] = {
    0x0p0, -0x1.9c0c22p-27, 0x1.125002p-25, -0x1.0a355p-25, 0x1.26055cp-26,
    0x1.67a1cap-28, -0x1.f9c304p-27, -0x1.a5217cp-28,
};

/* ln 2 / 8, high and low. */
static const double exp_step_single[] = {
    0x1.62e43p-4, -0x1.05c61p-32,
};

/* From x^2 on, e^x for x in [-0.0533217, 0.0533217], error 2^-30.94: x^2, x^3,
 * x^4. */
static const double exp_short_single[] = {
    0x1p-1, 0x1.556014p-3, 0x1.555724p-5,
};

/* 2^(i / 16), bits less i times 2^48. */
static const double exp_root_double[] = {
    0x1p0, 0x1.fb5586cf9890fp-1, 0x1.f72b83c7d517bp-1, 0x1.f387a6e756238p-1,
    0x1.f06fe0a31b715p-1, 0x1.edea64c123422p-1, 0x1.ebfdad5362a27p-1,
    0x1.eab07dd485429p-1, 0x1.ea09e667f3bcdp-1, 0x1.ea11473eb0187p-1,
    0x1.eace5422aa0dbp-1, 0x1.ec49182a3f09p-1, 0x1.ee89f995ad3adp-1,
    0x1.f199bdd85529cp-1, 0x1.f5818dcfba487p-1, 0x1.fa4afa2a490dap-1,
};

/* What these lack, relative to them. */
static const double exp_root_double_low[] = {
    0x0p0, 0x1.79aa65d837b6dp-54, -0x1.01b15eaa59348p-55, 0x1.68efde3a8a894p-54,
    0x1.34d754db0abb6p-55, 0x1.59f48a72a4c6dp-55, 0x1.690cebb7aafbp-56,
    0x1.063e1e21c5409p-54, -0x1.3b3efbf5e2228p-54, -0x1.b32dcb94da51dp-56,
    0x1.db72fc1f0eab4p-55, 0x1.1affc2b91ce27p-56, 0x1.c1a7792cb3387p-55,
    0x1.36eae30af0cb3p-56, 0x1.4a385a63d07a7p-56, -0x1.ff7128fd391fp-55,
};

/* ln 2 / 16, high and low. */
static const double exp_step_double[] = {
    0x1.62e42fefa39efp-5, 0x1.abc9e3b39803fp-60,
};

/* From x^2 on, e^x for x in [-0.0316608, 0.0316608], error 2^-61.91: x^2, x^3,
 * x^4, x^5, x^6, x^7. */
static const double exp_short_double[] = {
    0x1.0000000000029p-1, 0x1.55555555554efp-3, 0x1.5555555188c68p-5,
    0x1.11111114fd10fp-7, 0x1.6c19f48452fccp-10, 0x1.a019102ad12d9p-13,
};

#endif

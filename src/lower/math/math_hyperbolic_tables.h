/*
 * math_hyperbolic_tables.h -- written by tables_hyperbolic.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_HYPERBOLIC_TABLES_H
#define LOWER_MATH_MATH_HYPERBOLIC_TABLES_H

/* log 2, 16 digits and the rest. */
static const double ln2_single[] = {
    0x1.62e4p-1, 0x1.7f7d1cp-20,
};

/* log 2, 42 digits and the rest. */
static const double ln2_double[] = {
    0x1.62e42fefa38p-1, 0x1.ef35793c7673p-45,
};

/* cosh(sqrt(x)) - 1 for x in [0.0, 0.120172], error 2^-33.28: x^1, x^2, x^3. */
static const double rest_cosh_single[] = {
    0x1p-1, 0x1.5554e6p-5, 0x1.6d4f3cp-10,
};

/* cosh(sqrt(x)) - 1 for x in [0.0, 0.120172], error 2^-58.04: x^1, x^2, x^3,
 * x^4, x^5. */
static const double rest_cosh_double[] = {
    0x1.000000000000bp-1, 0x1.5555555550251p-5, 0x1.6c16c1854410cp-10,
    0x1.a019977d01023p-16, 0x1.28af89b8388bcp-22,
};

/* sinh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.120172], error 2^-34.33: x^1,
 * x^2, x^3. */
static const double rest_sinh_single[] = {
    0x1.555556p-3, 0x1.110fbep-7, 0x1.a2e31p-13,
};

/* sinh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.120172], error 2^-61.69: x^1,
 * x^2, x^3, x^4, x^5. */
static const double rest_sinh_double[] = {
    0x1.5555555555559p-3, 0x1.111111110f624p-7, 0x1.a01a01b025066p-13,
    0x1.71ddf79e3bdb3p-19, 0x1.af601c0aeb938p-26,
};

/* tanh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.31], error 2^-29.6: x^1, x^2,
 * x^3, x^4, x^5. */
static const double tanh_single[] = {
    -0x1.55554ap-2, 0x1.110ce2p-3, -0x1.b91b4ep-5, 0x1.58c3aep-6, -0x1.98457p-8,
};

/* tanh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.31], error 2^-60.15: x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11. */
static const double tanh_double[] = {
    -0x1.555555555554dp-2, 0x1.11111111104e3p-3, -0x1.ba1ba1b955423p-5,
    0x1.664f48504cf47p-6, -0x1.226e2de4c0242p-7, 0x1.d6d26b00f271p-9,
    -0x1.7d8d59efe802ap-10, 0x1.346f102770bd9p-11, -0x1.e89b80ee68e13p-13,
    0x1.5b0d402a02d68p-14, -0x1.41129e09407d4p-16,
};

/* (exp(2 x) - 1) / (2 x) for x in [-0.173329, 0.173329], error 2^-26.13: x^1,
 * x^2, x^3, x^4, x^5. */
static const double twice_exp_single[] = {
    0x1.fffffep-1, 0x1.5554b4p-1, 0x1.5556f4p-2, 0x1.122546p-3, 0x1.6b9958p-5,
};

/* (exp(2 x) - 1) / (2 x) for x in [-0.173329, 0.173329], error 2^-54.74: x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10. */
static const double twice_exp_double[] = {
    0x1.0000000000009p0, 0x1.5555555555566p-1, 0x1.55555555501c1p-2,
    0x1.1111111108f0bp-3, 0x1.6c16c1873c057p-5, 0x1.a01a01e45b8dfp-7,
    0x1.a0198e8bee3ecp-9, 0x1.71dd5f1a336efp-11, 0x1.28ba3d495eadp-13,
    0x1.b08436f788345p-16,
};

#endif

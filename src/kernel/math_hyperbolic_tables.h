/*
 * math_hyperbolic_tables.h -- written by tools/tables_hyperbolic.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_HYPERBOLIC_TABLES_H
#define KERNEL_MATH_HYPERBOLIC_TABLES_H

/* log 2, 16 digits and the rest. */
static const double ln2_single[] = {
    0x1.62e4p-1,
    0x1.7f7d1cp-20,
};

/* log 2, 42 digits and the rest. */
static const double ln2_double[] = {
    0x1.62e42fefa38p-1,
    0x1.ef35793c7673p-45,
};

/* cosh(sqrt(x)) - 1 for x in [0.0, 0.120172], error 2^-33.28: x^1, x^2, x^3. */
static const double rest_cosh_single[] = {
    0x1p-1,
    0x1.5554e6p-5,
    0x1.6d4f3cp-10,
};

/* cosh(sqrt(x)) - 1 for x in [0.0, 0.120172], error 2^-58.04: x^1, x^2, x^3,
 * x^4, x^5. */
static const double rest_cosh_double[] = {
    0x1.000000000000bp-1,
    0x1.5555555550251p-5,
    0x1.6c16c1854410cp-10,
    0x1.a019977d01023p-16,
    0x1.28af89b8388bcp-22,
};

/* sinh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.120172], error 2^-27.88: x^1,
 * x^2. */
static const double rest_sinh_single[] = {
    0x1.555488p-3,
    0x1.123f7p-7,
};

/* sinh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.120172], error 2^-63.66: x^1,
 * x^2, x^3, x^4, x^5. */
static const double rest_sinh_double[] = {
    0x1.555555555555cp-3,
    0x1.111111110e9bbp-7,
    0x1.a01a01b46847cp-13,
    0x1.71ddee0d686abp-19,
    0x1.af6f3a8252a5ep-26,
};

/* sinh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 1.0], error 2^-31.62: x^1, x^2,
 * x^3, x^4. */
static const double sinh_single[] = {
    0x1.555556p-3,
    0x1.1110ep-7,
    0x1.a022bap-13,
    0x1.756cb4p-19,
};

/* sinh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 1.0], error 2^-62.96: x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8. */
static const double sinh_double[] = {
    0x1.5555555555555p-3,
    0x1.111111111119bp-7,
    0x1.a01a01a007359p-13,
    0x1.71de3a68d08a2p-19,
    0x1.ae644121e0a9ep-26,
    0x1.61314e0631453p-33,
    0x1.a664ad306d218p-41,
    0x1.d2ba76172d69cp-48,
};

/* tanh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.36], error 2^-28.41: x^1, x^2,
 * x^3, x^4, x^5. */
static const double tanh_single[] = {
    -0x1.55553ep-2,
    0x1.1109bep-3,
    -0x1.b89ab8p-5,
    0x1.54c3a6p-6,
    -0x1.8286bap-8,
};

/* tanh(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.36], error 2^-62.62: x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12. */
static const double tanh_double[] = {
    -0x1.5555555555554p-2,
    0x1.1111111110fp-3,
    -0x1.ba1ba1b9f899p-5,
    0x1.664f487983149p-6,
    -0x1.226e33f173deap-7,
    0x1.d6d389285c978p-9,
    -0x1.7d9eae087f0a9p-10,
    0x1.3521c6daa991ep-11,
    -0x1.f219b371d9b0ap-13,
    0x1.83ed5f036aba3p-14,
    -0x1.058a1c2568467p-15,
    0x1.b468b2c869f36p-18,
};

/* 2 * atanh(sqrt(x)) / sqrt(x) - 2 for x in [0.0, 0.0294444], error 2^-30.21:
 * x^1, x^2, x^3. */
static const double log_single[] = {
    0x1.55557ap-1,
    0x1.995ed6p-2,
    0x1.31e096p-2,
};

/* 2 * atanh(sqrt(x)) / sqrt(x) - 2 for x in [0.0, 0.0294444], error 2^-59.5:
 * x^1, x^2, x^3, x^4, x^5, x^6, x^7. */
static const double log_double[] = {
    0x1.5555555555592p-1,
    0x1.999999997ff32p-2,
    0x1.24924941dfc35p-2,
    0x1.c71c52155e103p-3,
    0x1.74663ccb49218p-3,
    0x1.39a1e9a819bc7p-3,
    0x1.2f03cd66d26c1p-3,
};

/* (exp(x) - 1) / x - 1, error 2^-28.25 of exp(x): from x^1 on. */
static const double exp_single[] = {
    0x1.fffffcp-2,
    0x1.555492p-3,
    0x1.5558acp-5,
    0x1.123976p-7,
    0x1.6a505ap-10,
};

/* (exp(x) - 1) / x - 1, error 2^-57.91 of exp(x): from x^1 on. */
static const double exp_double[] = {
    0x1.000000000000ap-1,
    0x1.555555555550cp-3,
    0x1.55555555507a2p-5,
    0x1.111111112482p-7,
    0x1.6c16c1843931dp-10,
    0x1.a01a0137984d4p-13,
    0x1.a0199a09971f2p-16,
    0x1.71df0deeb9b87p-19,
    0x1.28ad64a8ef543p-22,
    0x1.ad9da1ac7e214p-26,
};

#endif

/*
 * math_root_tables.h -- written by tables_root.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_ROOT_TABLES_H
#define LOWER_MATH_MATH_ROOT_TABLES_H

/* 2^n 4 / 3 + the upper bits of 1, times 4 / 3, + the best shift. */
static const double cbrt_estimate_single[] = {
    0x1.fe994p23,
};

/* -1 / 3, 1 / 3. */
static const double cbrt_third_single[] = {
    -0x1.555556p-2, 0x1.555556p-2,
};

/* (1 - x)^(-1/3) = 1 + x times this polynomial; for x in [-0.103046, 0.103046],
 * error 2^-18.44: x^0, x^1, x^2. */
static const double cbrt_correction_single[] = {
    0x1.5553cap-2, 0x1.c9b996p-3, 0x1.65d978p-3,
};

/* The bits of 1, times 3 / 2, + the best shift. */
static const double rsqrt_estimate_single[] = {
    0x1.7cdd1c74p30,
};

/* (1 - x)^(-1/2) = 1 + x times this polynomial; for x in [-0.0688051,
 * 0.0688051], error 2^-19.85: x^0, x^1, x^2. */
static const double rsqrt_correction_single[] = {
    0x1.ffff66p-2, 0x1.811a26p-2, 0x1.41b1b6p-2,
};

/* (1 - x)^(-1/2) = 1 + x times this polynomial; for x in [-3.85284e-6,
 * 3.85284e-6], error 2^-37.39: x^0. */
static const double rsqrt_last_single[] = {
    0x1p-1,
};

/* 2^n 4 / 3 + the upper bits of 1, times 4 / 3, + the best shift. */
static const double cbrt_estimate_double[] = {
    0x1.aa943eb48eeefp52,
};

/* -1 / 3, 1 / 3. */
static const double cbrt_third_double[] = {
    -0x1.5555555555555p-2, 0x1.5555555555555p-2,
};

/* (1 - x)^(-1/3) = 1 + x times this polynomial; for x in [-0.103046, 0.103046],
 * error 2^-18.44: x^0, x^1, x^2. */
static const double cbrt_correction_double[] = {
    0x1.5553c99d8a77ep-2, 0x1.c9b997e846038p-3, 0x1.65d9c014ec507p-3,
};

/* The bits of 1, times 3 / 2, + the best shift. */
static const double rsqrt_estimate_double[] = {
    0x1.7f9ba39p62,
};

/* (1 - x)^(-1/2) = 1 + x times this polynomial; for x in [-0.0688051,
 * 0.0688051], error 2^-19.85: x^0, x^1, x^2. */
static const double rsqrt_correction_double[] = {
    0x1.ffff65d3c0c9p-2, 0x1.811a25eb54ff4p-2, 0x1.41b1db437da07p-2,
};

/* (1 - x)^(-1/2) = 1 + x times this polynomial; for x in [-3.85284e-6,
 * 3.85284e-6], error 2^-76.36: x^0, x^1, x^2. */
static const double rsqrt_last_double[] = {
    0x1p-1, 0x1.800000000eca2p-2, 0x1.4000000010111p-2,
};

#endif

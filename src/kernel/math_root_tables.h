/*
 * math_root_tables.h -- written by tools/tables_root.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_ROOT_TABLES_H
#define KERNEL_MATH_ROOT_TABLES_H

/* 2^n 4 / 3 + the upper bits of 1, times 4 / 3, + the best shift. */
static const double cbrt_estimate_single[] = {
    0x1.fe994p23,
};

/* -1 / 3, 1 / 3. */
static const double cbrt_third_single[] = {
    -0x1.555556p-2,
    0x1.555556p-2,
};

/* (1 - x)^(-1/3) = 1 + x times this polynomial; for x in [-0.103046, 0.103046],
 * error 2^-18.44: x^0, x^1, x^2. */
static const double cbrt_correction_single[] = {
    0x1.5553cap-2,
    0x1.c9b996p-3,
    0x1.65d978p-3,
};

/* 2^n 4 / 3 + the upper bits of 1, times 4 / 3, + the best shift. */
static const double cbrt_estimate_double[] = {
    0x1.aa943eb48eeefp52,
};

/* -1 / 3, 1 / 3. */
static const double cbrt_third_double[] = {
    -0x1.5555555555555p-2,
    0x1.5555555555555p-2,
};

/* (1 - x)^(-1/3) = 1 + x times this polynomial; for x in [-0.103046, 0.103046],
 * error 2^-18.44: x^0, x^1, x^2. */
static const double cbrt_correction_double[] = {
    0x1.5553c99d8a77ep-2,
    0x1.c9b997e846038p-3,
    0x1.65d9c014ec507p-3,
};

#endif

/*
 * math_arc_tables.h -- written by tables_arc.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef LOWER_MATH_MATH_ARC_TABLES_H
#define LOWER_MATH_MATH_ARC_TABLES_H

/* asin(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.25], error 2^-27.62: x^1, x^2,
 * x^3, x^4, x^5. */
static const double asin_single[] = {
    0x1.5555c8p-3, 0x1.330204p-4, 0x1.747bb6p-5, 0x1.8c3e74p-6, 0x1.595c36p-5,
};

/* asin(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.25], error 2^-59.86: x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13. */
static const double asin_double[] = {
    0x1.5555555555577p-3, 0x1.333333332e132p-4, 0x1.6db6db7212563p-5,
    0x1.f1c71a94faad2p-6, 0x1.6e8bdedf56b75p-6, 0x1.1c49f06d9a1a9p-6,
    0x1.ca1f8bdf4e54fp-7, 0x1.758596483f2f6p-7, 0x1.613c47378f0fep-7,
    0x1.e5f9839e96facp-9, 0x1.639b44abe2969p-6, -0x1.57fbdde1b2086p-6,
    0x1.0b463ffb6b2f2p-5,
};

/* atan(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.299072], error 2^-30.22: x^1,
 * x^2, x^3, x^4, x^5, x^6. */
static const double atan_single[] = {
    -0x1.55554ap-2, 0x1.9993b6p-3, -0x1.240e9p-3, 0x1.bc554ap-4, -0x1.392238p-4,
    0x1.17bc54p-5,
};

/* atan(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.299072], error 2^-58.83: x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13. */
static const double atan_double[] = {
    -0x1.5555555555538p-2, 0x1.9999999995c0fp-3, -0x1.24924923290edp-3,
    0x1.c71c714162389p-4, -0x1.745d08a16d1a7p-4, 0x1.3b12a8682f5fcp-4,
    -0x1.11045a45dbe39p-4, 0x1.e106d4d5b3668p-5, -0x1.a9e78a852cc9bp-5,
    0x1.6efafc257517fp-5, -0x1.1b9040b2ade92p-5, 0x1.4d0ac19b465b5p-6,
    -0x1.a404537ca47adp-8,
};

#endif

/*
 * math_arc_tables.h -- written by tools/tables_arc.py; not to be edited
 *
 * Exact in the type they are for. Errors are those of the rounded
 * coefficients in exact arithmetic.
 */
#ifndef KERNEL_MATH_ARC_TABLES_H
#define KERNEL_MATH_ARC_TABLES_H

/* asin(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.25], error 2^-27.62: x^1, x^2,
 * x^3, x^4, x^5. */
static const double asin_single[] = {
    0x1.5555c8p-3,
    0x1.330204p-4,
    0x1.747bb6p-5,
    0x1.8c3e74p-6,
    0x1.595c36p-5,
};

/* asin(sqrt(x)) / sqrt(x) - 1 for x in [0.0, 0.25], error 2^-59.86: x^1, x^2,
 * x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12, x^13. */
static const double asin_double[] = {
    0x1.5555555555577p-3,
    0x1.333333332e132p-4,
    0x1.6db6db7212563p-5,
    0x1.f1c71a94faad2p-6,
    0x1.6e8bdedf56b75p-6,
    0x1.1c49f06d9a1a9p-6,
    0x1.ca1f8bdf4e54fp-7,
    0x1.758596483f2f6p-7,
    0x1.613c47378f0fep-7,
    0x1.e5f9839e96facp-9,
    0x1.639b44abe2969p-6,
    -0x1.57fbdde1b2086p-6,
    0x1.0b463ffb6b2f2p-5,
};

/* atan(sqrt(x)) / sqrt(x) - 1 + x / 4 for x in [0.0, 1.0], error 2^-28.51: x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9. */
static const double atan_single[] = {
    -0x1.5554fap-4,
    0x1.999204p-3,
    -0x1.2421fp-3,
    0x1.c09bfcp-4,
    -0x1.583974p-4,
    0x1.dad80ap-5,
    -0x1.fee93ap-6,
    0x1.65bbe8p-7,
    -0x1.d64ffap-10,
};

/* atan(sqrt(x)) / sqrt(x) - 1 + x / 4 for x in [0.0, 0.25], error 2^-57.78: x^1,
 * x^2, x^3, x^4, x^5, x^6, x^7, x^8, x^9, x^10, x^11, x^12. */
static const double atan_double[] = {
    -0x1.5555555555458p-4,
    0x1.9999999991139p-3,
    -0x1.249249215d9b3p-3,
    0x1.c71c7090cc321p-4,
    -0x1.745cf4c82cedep-4,
    0x1.3b113d8f2a4bp-4,
    -0x1.10f31d0cd7da8p-4,
    0x1.dfe95b310e628p-5,
    -0x1.a397e3c34235fp-5,
    0x1.56f451545187ep-5,
    -0x1.c17b1144c861ep-6,
    0x1.4b7d4e3c33734p-7,
};

#endif

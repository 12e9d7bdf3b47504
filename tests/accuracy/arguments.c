/*
 * arguments.c -- see arguments.h
 */
#include "arguments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    AROUND = 16,            /* neighbours of a special point to either side */
    MOST_POINTS = 16384,
    HALF_TURNS = 512        /* multiples of pi / 2 */
};

/* Thresholds of the functions, and where approximations tend to change. */
static const double landmarks[] = {
    0.0625, 0.125, 0.2, 0.25, 0.3, 0.34657359027997264, 0.375, 0.4375, 0.46875, 0.5,
    0.55, 0.5493061443340549, 0.625, 0.6875, 0.69314718055994531, 0.70710678118654752,
    0.75, 0.7853981633974483, 0.84375, 0.875, 0.9375, 0.95, 0.97, 0.975, 0.99, 0.999,
    1 - 0x1p-11, 1, 1.0397207708399179, 1 + 0x1p-11, 1.0625, 1.1, 1.125, 1.1875, 1.25,
    1.4142135623730951, 1.4616321449683623, 1.5, 1.75, 2.4375, 2.857142857142857,
    3.5, 3.9, 4.5, 5.5, 5.8, 5.9, 6.5, 7.5, 8.5, 9.01, 9.5, 10.5, 11.5, 18.7, 19.07, 22,
    26.5, 27.2, 28.3,
    /* erfinv: 1 - x^2 */
    0.99996, 0.9999997, 0.9999999903, 0.9999999945, 1 - 0x1.7p-40,
    /* half precision: exp, exp2, sinh */
    11.09, 11.78, 17.33, 17.5, 24.5,
    /* single: largest and smallest results of exp, sinh, exp2; lgamma overflows */
    87.33654475, 88.72283905, 89.4159862, 103.2789299, 103.972077, 126.5, 149.5,
    4.085003e36,
    /* zeros of lgamma */
    2.4570247382208006, 2.7476826467274127, 3.14358088834998, 3.955294284858598,
    4.039361839740537, 4.991544640560048, 5.0082181683225935, 5.998607480080875,
    6.001385294453155, 6.999801507890638,
    /* and of digamma */
    0.5040830082644554, 1.5734984731623904, 2.610720868444145, 3.635293366436901,
    4.653237761743143, 5.667162441556886, 6.678418213073427, 7.687788325031626,
    /* double */
    708.3964185322641, 709.782712893384, 710.4758600739439, 744.4400719213812,
    745.1332191019411, 1022.5, 1074.5, 2.5599833278516386e305,
};

/* Hard cases. First the arguments whose distance from a multiple of pi / 2 is least,
 * relative to their size (J.-M. Muller, "Elementary Functions", on range reduction),
 * and those that the same method (W. Kahan, "Minimizing q*m-n", 1983: continued
 * fractions) gives for other binades; large ones; then worst cases of rounding of exp
 * and log (V. Lefevre, J.-M. Muller, "Worst cases for correct rounding of the
 * elementary functions in double precision", 2001). */
static const double hard_cases[] = {
    16367173 * 0x1p72, 16367173 * 0x1p71, 6381956970095103 * 0x1p797,
    6381956970095103 * 0x1p796, 0x1.504cac51f1eafp131, 0x1.e009c53148be1p991,
    0x1.4c96c11134d36p577, 0x1.cfe482285f8edp860, 0x1.db41f3cb71d7bp680,
    0x1.e7e44a78ac18cp197, 0x1.c45cd11154dfdp295, 0x1.83009e2e9e2ebp614,
    0x1.b2196364d750bp253, 1e22, 1e10, 0x1.fffffffffffffp1023, 0x1.fffffep127,
    0x1.9e9cbbfd6080bp-31, 0x1.62a88613629b6p678,
    /* Of many numbers, those nearest to zeros of digamma(-x). */
    0x1.b725a9911fc2ap3, 0x1.a64c0d824f2fp5, 0x1.3fed901572a7cp9, 0x1.6274bb19015d7p18,
    0x1.ee26dbf15b2f7p24, 0x1.dd8f5dff9ded8p29,
};

static uint64_t mix(uint64_t z)
{ /* SplitMix64 */
    z = (z + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 ... 1 */
static double share(uint64_t random)
{
    return (double) (random >> 11) * 0x1p-53;
}

/* -------------------------------------------------------------------- points */

static void add(Arguments *a, double value)
{
    if (a->point_count + 2 <= MOST_POINTS) {
        a->points[a->point_count++] = value;
        a->points[a->point_count++] = -value;
    }
}

/* Both signs of everything, as one list for all functions. */
static void collect_points(Arguments *a)
{
    const Format *f = a->format;
    add(a, 0);
    add(a, (double) INFINITY);
    add(a, (double) NAN);
    for (size_t i = 0; i < sizeof(landmarks) / sizeof(landmarks[0]); ++i)
        add(a, landmarks[i]);
    for (size_t i = 0; i < sizeof(hard_cases) / sizeof(hard_cases[0]); ++i)
        add(a, hard_cases[i]);
    for (int i = 2; i <= 200; ++i)
        add(a, i);
    for (int i = 1; i <= HALF_TURNS; ++i)
        add(a, i * 1.5707963267948966);
    for (int e = f->least - f->digits + 1; e <= f->most; ++e) {
        add(a, ldexp(1, e));
        if (e > 8 && e < 50) /* more half turns, nearby */
            add(a, rint(ldexp(1, e)) * 1.5707963267948966);
    }
}

/* Pairs are made of fewer. */
static void collect_pair_points(Arguments *a)
{
    const Format *f = a->format;
    static const double some[] = { 1, 2, 3, 4, 5, 7, 0.5, 0.25, 1.5, 2.5, 0.75, 1e3,
                                   1.0 / 3, 63, 64, 127, 128, 149, 1023, 1024, 1074,
                                   16777215, 16777216, 16777217, 0x1p31, 0x1p53,
                                   0x1p53 - 1, 0x1p52 + 0.5, 0x1p60 };
    add(a, 0);
    add(a, (double) INFINITY);
    add(a, (double) NAN);
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); ++i)
        add(a, some[i]);
    double most = ldexp(2 - ldexp(1, 1 - f->digits), f->most);
    double normal = ldexp(1, f->least), tiny = ldexp(1, f->least - f->digits + 1);
    double after = 1 + ldexp(1, 1 - f->digits), before = 1 - ldexp(1, -f->digits);
    const double ends[] = { most, most / 2, sqrt(most), normal, normal - tiny, tiny,
                            3 * tiny, sqrt(normal), after, before };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); ++i)
        add(a, ends[i]);
}

bool arguments_begin(Arguments *a, const Function *function, const Format *format,
                     uint64_t count)
{
    *a = (Arguments){ .function = function, .format = format };
    if (!count && function->arity == 1 && format->size < 8) {
        a->all = true;
        a->magnitudes = function->parity != PARITY_NONE;
        a->count = UINT64_C(1) << (8 * format->size - a->magnitudes);
        return true;
    }
    a->points = malloc(MOST_POINTS * sizeof(double));
    if (!a->points)
        return false;
    uint64_t special;
    if (function->arity == 1) {
        collect_points(a);
        special = a->point_count * (2 * AROUND + 1);
    } else {
        collect_pair_points(a);
        special = a->point_count * a->point_count;
    }
    a->count = special + count;
    return true;
}

void arguments_end(Arguments *a)
{
    free(a->points);
}

/* ------------------------------------------------------------------ arguments */

/* The bits of magnitudes 2^low ... 2^high. */
static uint64_t in_binades(const Format *f, int low, int high, uint64_t random)
{
    int bias = f->most;
    uint64_t first = (uint64_t) (low + bias) << (f->digits - 1);
    uint64_t range = (uint64_t) (high - low) << (f->digits - 1);
    return first + random % range;
}

/* All patterns, or those of a moderate size, of either sign. */
static uint64_t spread(const Format *f, uint64_t i, uint64_t random)
{
    int width = 8 * f->size;
    uint64_t bits, sign = random >> 63 << (width - 1);
    if (i & 1)
        bits = f->type == VarTypeFloat16 ? in_binades(f, -8, 6, mix(random))
                                         : in_binades(f, -20, 12, mix(random));
    else
        bits = mix(random) >> (64 - width + 1);
    return bits | sign;
}

static uint64_t one(const Arguments *a, uint64_t i)
{
    const Format *f = a->format;
    if (a->lower < a->upper) {
        double t = ((double) i + share(mix(i))) / (double) a->count;
        return reference_bits(f, a->lower + t * (a->upper - a->lower));
    }
    uint64_t special = a->point_count * (2 * AROUND + 1);
    if (i < special) {
        uint64_t bits = reference_bits(f, a->points[i / (2 * AROUND + 1)]);
        uint64_t mask = (UINT64_C(1) << (8 * f->size - 1)) * 2 - 1;
        return (bits + i % (2 * AROUND + 1) - AROUND) & mask;
    }
    uint64_t k = (i - special) / 2;
    return spread(f, k, mix(k)) + ((i - special) & 1);
}

/* A base and an exponent whose power is between the smallest and the largest result. */
static void power_in_range(const Format *f, uint64_t i, uint64_t random, double *x)
{
    double range = f->most + f->digits + 4, log_2;
    switch (i % 3) {
    case 0: x[0] = 1 + (share(random) - 0.5) * ldexp(1, -(int) (random % 20)); break;
    case 1: x[0] = exp2((share(random) - 0.5) * 20); break;
    default: x[0] = reference_value(f, mix(random) >> (65 - 8 * f->size));
    }
    log_2 = log2(fabs(x[0]));
    x[1] = (2 * share(mix(random + 1)) - 1) * range / log_2;
    if (i % 7 == 0) {
        x[1] = rint(x[1]);
        x[0] = -x[0];
    }
}

static void two(const Arguments *a, uint64_t i, uint64_t *bits)
{
    const Format *f = a->format;
    uint64_t special = a->point_count * a->point_count;
    if (i < special) {
        bits[0] = reference_bits(f, a->points[i / a->point_count]);
        bits[1] = reference_bits(f, a->points[i % a->point_count]);
        return;
    }
    uint64_t random = mix(i), other = mix(random);
    bits[0] = spread(f, i / 4, random);
    bits[1] = spread(f, i / 4, other);
    double x[2];
    switch (i % 4) {
    case 0: case 1: /* anything */
        return;
    case 2: /* of similar size */
        x[0] = reference_value(f, bits[0]);
        x[1] = x[0] * exp2((share(other) - 0.5) * (double) (1 << other % 7));
        bits[1] = reference_bits(f, random & 1 ? -x[1] : x[1]);
        return;
    default:
        if (a->function->op != JitOpPower)
            return;
        power_in_range(f, i / 4, random, x);
        bits[0] = reference_bits(f, x[0]);
        bits[1] = reference_bits(f, x[1]);
    }
}

static void put(const Format *f, void *to, uint64_t i, uint64_t bits)
{
    switch (f->size) {
    case 2: ((uint16_t *) to)[i] = (uint16_t) bits; break;
    case 4: ((uint32_t *) to)[i] = (uint32_t) bits; break;
    default: ((uint64_t *) to)[i] = bits;
    }
}

uint64_t arguments_bits(const Format *f, const void *from, uint64_t i)
{
    switch (f->size) {
    case 2: return ((const uint16_t *) from)[i];
    case 4: return ((const uint32_t *) from)[i];
    default: return ((const uint64_t *) from)[i];
    }
}

void arguments_fill(const Arguments *a, uint64_t first, uint64_t count,
                    void *const *bits)
{
    if (a->all) {
        for (uint64_t i = 0; i < count; ++i)
            put(a->format, bits[0], i, first + i);
        return;
    }
    for (uint64_t i = 0; i < count; ++i) {
        uint64_t pair[2] = { 0 };
        if (a->function->arity == 1)
            pair[0] = one(a, first + i);
        else
            two(a, first + i, pair);
        for (int k = 0; k < a->function->arity; ++k)
            put(a->format, bits[k], i, pair[k]);
    }
}

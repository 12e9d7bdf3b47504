/*
 * reference.h -- the functions, computed by others
 *
 * Each function has three references: the C library's in double precision for results
 * of half and single precision, the C library's in long double for those of double
 * precision, and MPFR for both where the first two cannot decide. The C library's
 * manual ("Errors in Math Functions") gives at most 5 units in the last place for all
 * of them, so the first is off by less than 2^-26 ulp of a float and the second by less
 * than 2^-8 ulp of a double ('slack' leaves room for more).
 *
 * The inverse error function, which the C library lacks, is the root of its error
 * function, by Halley's method.
 */
#ifndef ACCURACY_REFERENCE_H
#define ACCURACY_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <mpfr.h>

#include "drjit-core/jit.h"

typedef enum Parity { PARITY_NONE, PARITY_ODD, PARITY_EVEN } Parity;

/** A floating point format; exponents are those of the leading bit. */
typedef struct Format {
    VarType type;
    const char *name;
    int size;   /* in bytes */
    int digits; /* of the significand */
    int least;  /* exponent of the smallest normal number */
    int most;   /* of the largest number */
    double slack; /* upper bound of a reference's error in ulp */
    /* A difference of errors that is worth asking MPFR; where it is positive, many
     * arguments with the same error (of results next to 1, say) cost nothing. */
    double worth;
} Format;

typedef struct Function {
    const char *name;
    JitOp op;
    int arity;
    Parity parity;
    /* With one argument: */
    double (*near_1)(double);
    long double (*nearl_1)(long double);
    int (*exact_1)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
    /** Does the function rise (1) or fall (-1) all the way from 'a' to 'b' > 'a'? 0:
     *  neither, or unknown. */
    int (*slope)(double a, double b);
    /* With two: */
    double (*near_2)(double, double);
    long double (*nearl_2)(long double, long double);
    int (*exact_2)(mpfr_t, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
} Function;

extern const Format reference_formats[]; /* ends with a NULL name */
extern const Function reference_functions[]; /* likewise */

/** NULL if there is none of this name. */
const Function *reference_function(const char *name);
const Format *reference_format(const char *name);

/** The number that these bits are, and the other way round (rounded to nearest). */
double reference_value(const Format *format, uint64_t bits);
uint64_t reference_bits(const Format *format, double value);

/** How a result differs from the exact one. */
typedef struct Difference {
    bool special; /* the exact value is 0, infinite or NaN, or a sign is wrong */
    bool wrong;   /* then: the result is another */
    double ulp;   /* else: the distance in ulp of the exact value's binade */
    double exact; /* the exact value, rounded */
} Difference;

/** The distance of 'y' from 'v' in ulp, if neither is infinite or NaN, for f16 and f32;
 *  'v' is the reference in double precision. */
double reference_distance(const Format *format, double v, double y);
/** 'y' as the result for 'x[]', compared with the C library's. */
Difference reference_near(const Function *function, const Format *format,
                          const double *x, double y);
/** Compared with MPFR's. */
Difference reference_exact(const Function *function, const Format *format,
                           const double *x, double y);

#endif

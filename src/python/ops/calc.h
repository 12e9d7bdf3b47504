/*
 * calc.h -- formulas over components, written with Values
 *
 * One text serves all families (value.h). A Calc holds every intermediate value until
 * the end, so a formula is an expression and failures need no handling within it: after
 * the first one everything is 0.
 */
#ifndef PYTHON_CALC_H
#define PYTHON_CALC_H

#include "python/convert/value.h"

enum { CALC_TEMPORARIES = 256 };

typedef struct Calc {
    const TypeInfo *info; /* any type with these leaves */
    bool ok;
    int count;
    Value all[CALC_TEMPORARIES];
} Calc;

void calc_start(Calc *c, const TypeInfo *info);
/** Release all values. */
void calc_end(Calc *c);
/** Hand a value over. */
Value calc_keep(Calc *c, Value value);

Value calc_1(Calc *c, JitOp op, Value a);
Value calc_2(Calc *c, JitOp op, Value a, Value b);
Value calc_fma(Calc *c, Value a, Value b, Value d);
/** n products, the first one added to '*sum' (NULL: it stands by itself), then each to
 *  the sum before. */
Value calc_products(Calc *c, int n, const Value *a, int step_a, const Value *b,
                    int step_b, const Value *sum);
/** a * b + d * e and a * b - d * e: the first product is added to the second. */
Value calc_sum(Calc *c, Value a, Value b, Value d, Value e);
Value calc_difference(Calc *c, Value a, Value b, Value d, Value e);
/** The result has the leaves of 'info'. */
Value calc_select(Calc *c, Value mask, Value a, Value b);
/** The value without derivatives. */
Value calc_detached(Calc *c, Value a);
/** A literal of any float type. */
Value calc_number(Calc *c, double number);

static inline Value calc_add(Calc *c, Value a, Value b)
{
    return calc_2(c, JitOpAdd, a, b);
}

static inline Value calc_sub(Calc *c, Value a, Value b)
{
    return calc_2(c, JitOpSub, a, b);
}

static inline Value calc_mul(Calc *c, Value a, Value b)
{
    return calc_2(c, JitOpMul, a, b);
}

static inline Value calc_div(Calc *c, Value a, Value b)
{
    return calc_2(c, JitOpDiv, a, b);
}

static inline Value calc_neg(Calc *c, Value a)
{
    return calc_1(c, JitOpNeg, a);
}

#endif

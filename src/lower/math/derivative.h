/*
 * derivative.h -- the words of the derivatives in math.def
 *
 * The file that includes math.def for them says what they are made of: values of any
 * kind named 'a', 'b' and 'y', and
 *
 *     D_NUMBER(x)           a number, exact in double precision or rounded to it
 *     D_1(op, x)            an operation on values, op a row of ops.def without OP_
 *     D_2(op, x, y)
 *     D_UNLESS_ZERO(x, y)   0 where x is 0, else y
 *     D_REPLACE_GRAD(x, y)  x, whose derivatives are those of y, its equal
 *     D_TETRAGAMMA(x)       the derivative of trigamma, which is not an operation
 *
 * so the same text is an expression over doubles in a test, over instructions of a
 * Program in a pass, over variables in a trace. Each word is written once in the
 * expansion and may have side effects.
 */
#ifndef LOWER_MATH_DERIVATIVE_H
#define LOWER_MATH_DERIVATIVE_H

#define D_NEG(x) D_1(NEG, x)
#define D_RCP(x) D_1(RCP, x)
#define D_RSQRT(x) D_1(RSQRT, x)
#define D_SIN(x) D_1(SIN, x)
#define D_COS(x) D_1(COS, x)
#define D_SINH(x) D_1(SINH, x)
#define D_COSH(x) D_1(COSH, x)
#define D_EXP(x) D_1(EXP, x)
#define D_LOG(x) D_1(LOG, x)
#define D_DIGAMMA(x) D_1(DIGAMMA, x)
#define D_TRIGAMMA(x) D_1(TRIGAMMA, x)
#define D_ADD(x, y) D_2(ADD, x, y)
#define D_SUB(x, y) D_2(SUB, x, y)
#define D_MUL(x, y) D_2(MUL, x, y)
#define D_DIV(x, y) D_2(DIV, x, y)
#define D_POWER(x, y) D_2(POWER, x, y)
#define D_HYPOT(x, y) D_2(HYPOT, x, y)

#define D_ONE D_NUMBER(1)
#define D_LN2 D_NUMBER(0.69314718055994530942)
#define D_TWO_BY_SQRT_PI D_NUMBER(1.12837916709551257390)

#endif

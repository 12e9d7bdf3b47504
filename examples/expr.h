/*
 * expr.h -- expressions in C over jit.h
 *
 * In C every intermediate result is a reference that somebody must release. These
 * functions put each one on a list, so that expressions nest (v_add(a, v_mul(b, c)))
 * and one call of expr_end() releases everything but what v_keep() took off it. If an
 * operation fails, its message is printed once and everything computed from the result
 * is 0, too: checking the final results is enough.
 *
 * There is one list; only one thread may use it.
 */
#ifndef EXAMPLES_EXPR_H
#define EXAMPLES_EXPR_H

#include <drjit-core/jit.h>

/** A variable that the list owns; 0 after an error. */
typedef uint32_t Value;

/** Three variables: a point, a direction or a color. */
typedef struct Value3 {
    Value x, y, z;
} Value3;

/** Release everything on the list, and be ready for the next expression. */
void expr_end(void);
/** Put a variable that the caller owns on the list. */
Value expr_own(uint32_t index);
/** One more reference, owned by the caller and not by the list. */
uint32_t v_keep(Value a);

Value v_f(double value);                   /**< a Float32 literal */
Value v_u(uint32_t value);                 /**< a UInt32 literal */
Value v_op1(JitOp op, Value a);
Value v_op2(JitOp op, Value a, Value b);
Value v_op3(JitOp op, Value a, Value b, Value c);
Value v_cast(Value a, VarType type);
Value v_gather(Value source, Value index); /**< source[index] */

static inline Value v_add(Value a, Value b) { return v_op2(JitOpAdd, a, b); }
static inline Value v_sub(Value a, Value b) { return v_op2(JitOpSub, a, b); }
static inline Value v_mul(Value a, Value b) { return v_op2(JitOpMul, a, b); }
static inline Value v_div(Value a, Value b) { return v_op2(JitOpDiv, a, b); }
static inline Value v_min(Value a, Value b) { return v_op2(JitOpMin, a, b); }
static inline Value v_max(Value a, Value b) { return v_op2(JitOpMax, a, b); }
static inline Value v_lt(Value a, Value b) { return v_op2(JitOpLt, a, b); }
static inline Value v_gt(Value a, Value b) { return v_op2(JitOpGt, a, b); }
static inline Value v_and(Value a, Value b) { return v_op2(JitOpAnd, a, b); }
static inline Value v_or(Value a, Value b) { return v_op2(JitOpOr, a, b); }
static inline Value v_xor(Value a, Value b) { return v_op2(JitOpXor, a, b); }
static inline Value v_shl(Value a, Value b) { return v_op2(JitOpShl, a, b); }
static inline Value v_shr(Value a, Value b) { return v_op2(JitOpShr, a, b); }
static inline Value v_neg(Value a) { return v_op1(JitOpNeg, a); }
static inline Value v_abs(Value a) { return v_op1(JitOpAbs, a); }
static inline Value v_sqrt(Value a) { return v_op1(JitOpSqrt, a); }
static inline Value v_floor(Value a) { return v_op1(JitOpFloor, a); }
/** a * b + c, rounded once. */
static inline Value v_fma(Value a, Value b,
                          Value c) { return v_op3(JitOpFma, a, b, c); }
/** m ? a : b. */
static inline Value v_select(Value m, Value a, Value b) {
    return v_op3(JitOpSelect, m, a, b);
}

Value v_clamp(Value a, double low, double high);
/** a + (b - a) * t. */
Value v_mix(Value a, Value b, Value t);
/** 0 up to a = 0, 1 from a = 1 on, smooth in between. */
Value v_smoothstep(Value a);
/** a to the power 2^n. */
Value v_square(Value a, int n);

Value3 v3_f(double x, double y, double z);
Value3 v3_add(Value3 a, Value3 b);
Value3 v3_sub(Value3 a, Value3 b);
Value3 v3_mul(Value3 a, Value3 b);         /**< component by component */
Value3 v3_scale(Value3 a, Value b);
/** a * b + c. */
Value3 v3_fma(Value3 a, Value b, Value3 c);
Value3 v3_select(Value m, Value3 a, Value3 b);
Value3 v3_mix(Value3 a, Value3 b, Value t);
Value v3_dot(Value3 a, Value3 b);
/** a / |a|. */
Value3 v3_unit(Value3 a);
/** Linear colors as pixels of a Picture (common.h): limited to 0 ... 1, rooted. */
Value v3_pixels(Value3 color);

#endif

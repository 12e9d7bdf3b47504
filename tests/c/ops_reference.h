/*
 * ops_reference.h -- what arithmetic operations and casts mean, computed once more
 *
 * Written from the comments of jit.h alone: integers in 128 bits, f16 and f32 in double
 * (53 bits are more than twice their significands plus two, so rounding twice does no
 * harm), f64 by the C compiler; f16 is rounded by hand. reference() is false for cells
 * that are not defined.
 */
#ifndef OPS_REFERENCE_H
#define OPS_REFERENCE_H

#include "test_util.h"

#include <math.h>

typedef __int128 i128;
typedef unsigned __int128 u128;

/* ---------------------------------------------------------- floating point */

/* magnitude * 2^exponent rounded to half precision, ties to even. */
static uint64_t half_round(bool negative, u128 magnitude, int exponent)
{
    uint64_t sign = negative ? 0x8000 : 0;
    if (!magnitude)
        return sign;
    int top = 127;
    while (!(magnitude >> top))
        top--;
    int e = top + exponent; /* of the leading bit */
    int quantum = (e < -14 ? -14 : e) - 10;
    int shift = quantum - exponent; /* bits that are rounded away */
    u128 n;
    if (shift <= 0) {
        n = magnitude << -shift;
    } else if (shift > top + 1) {
        n = 0;
    } else {
        u128 half = (u128) 1 << (shift - 1);
        u128 rest = magnitude & ((half << 1) - 1);
        n = shift == 128 ? 0 : magnitude >> shift;
        n += rest > half || (rest == half && (n & 1));
    }
    if (e >= 16)
        return sign | 0x7c00;
    uint64_t bits = (uint64_t) n;
    if (e >= -14)
        bits += (uint64_t) (e + 14) << 10;
    return sign | (bits > 0x7c00 ? 0x7c00 : bits);
}

static uint64_t half_of(double v)
{
    bool negative = signbit(v);
    if (isnan(v))
        return 0x7e00;
    if (isinf(v))
        return negative ? 0xfc00 : 0x7c00;
    int exponent;
    double m = frexp(fabs(v), &exponent);
    return half_round(negative, (u128) (uint64_t) ldexp(m, 53), exponent - 53);
}

static double half_value(uint64_t bits)
{
    int exponent = (int) (bits >> 10 & 31);
    double m = (double) (bits & 1023), v;
    if (exponent == 31)
        v = m != 0 ? (double) NAN : (double) INFINITY;
    else
        v = exponent ? ldexp(m + 1024, exponent - 25) : ldexp(m, -24);
    return bits & 0x8000 ? -v : v;
}

static double float_value(VarType type, uint64_t bits)
{
    if (type == VarTypeFloat16)
        return half_value(bits);
    if (type == VarTypeFloat32) {
        uint32_t low = (uint32_t) bits;
        float v;
        memcpy(&v, &low, 4);
        return (double) v;
    }
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

/* A double rounded to a type. */
static uint64_t float_bits(VarType type, double v)
{
    uint64_t bits = 0;
    if (type == VarTypeFloat16)
        return half_of(v);
    if (type == VarTypeFloat32) {
        float single = (float) v;
        memcpy(&bits, &single, 4);
    } else {
        memcpy(&bits, &v, 8);
    }
    return bits;
}

/* Multiples of 2^-48 hold every product of two halves and every half exactly. */
static uint64_t half_fma(double a, double b, double c)
{
    if (!isfinite(a) || !isfinite(b) || !isfinite(c))
        return half_of(a * b + c);
    i128 sum = (i128) (int64_t) ldexp(a, 24) * (int64_t) ldexp(b, 24) +
               (i128) (int64_t) ldexp(c, 24) * (1 << 24);
    if (sum == 0)
        return half_of(a * b + c);
    return half_round(sum < 0, sum < 0 ? -(u128) sum : (u128) sum, -48);
}

static uint64_t float_fma(VarType type, double a, double b, double c)
{
    if (type == VarTypeFloat16)
        return half_fma(a, b, c);
    if (type == VarTypeFloat32)
        return float_bits(type, (double) fmaf((float) a, (float) b, (float) c));
    return float_bits(type, fma(a, b, c));
}

static double fmin_value(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static double fmax_value(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

typedef struct Args {
    uint64_t a, b, c;
    bool m;
} Args;

/* Operations on floats; false if there is no such operation. */
static bool float_op(JitOp op, VarType type, Args x, uint64_t *out)
{
    double a = float_value(type, x.a), b = float_value(type, x.b),
           c = float_value(type, x.c);
    uint64_t sign = UINT64_C(1) << (type_of(type)->size * 8 - 1);
    double r;
    switch (op) {
    case JitOpNeg:
        *out = x.a ^ sign;
        return true;
    case JitOpAbs:
        *out = x.a & ~sign;
        return true;
    case JitOpCopysign:
        *out = (x.a & ~sign) | (x.b & sign);
        return true;
    case JitOpFma:
        *out = float_fma(type, a, b, c);
        return true;
    case JitOpEq:
        *out = a == b;
        return true;
    case JitOpNeq:
        *out = a != b;
        return true;
    case JitOpLt:
        *out = a < b;
        return true;
    case JitOpLe:
        *out = a <= b;
        return true;
    case JitOpGt:
        *out = a > b;
        return true;
    case JitOpGe:
        *out = a >= b;
        return true;
    case JitOpSqrt:
        r = sqrt(a);
        break;
    case JitOpRcp:
        r = 1 / a;
        break;
    case JitOpCeil:
        r = ceil(a);
        break;
    case JitOpFloor:
        r = floor(a);
        break;
    case JitOpRound:
        r = rint(a);
        break;
    case JitOpTrunc:
        r = trunc(a);
        break;
    case JitOpAdd:
        r = a + b;
        break;
    case JitOpSub:
        r = a - b;
        break;
    case JitOpMul:
        r = a * b;
        break;
    case JitOpDiv:
        r = a / b;
        break;
    case JitOpMin:
        r = b < a || isnan(a) ? b : a;
        break;
    case JitOpMax:
        r = a > b || isnan(b) ? a : b;
        break;
    case JitOpFmin:
        r = fmin_value(a, b);
        break;
    case JitOpFmax:
        r = fmax_value(a, b);
        break;
    default:
        return false;
    }
    *out = float_bits(type, r);
    return true;
}

/* ---------------------------------------------------------------- integers */

static i128 int_value(VarType type, uint64_t bits)
{
    const TestType *t = type_of(type);
    unsigned width = t->size * 8;
    bits &= ones_of(width);
    bool negative = t->kind == 'i' && (bits >> (width - 1) & 1);
    return negative ? (i128) bits - ((i128) 1 << width) : (i128) bits;
}

static uint64_t bit_op(JitOp op, uint64_t a, unsigned width)
{
    uint64_t count = 0, reversed = 0, leading = width, trailing = width;
    for (unsigned i = 0; i < width; ++i) {
        if (!(a >> i & 1))
            continue;
        count++;
        reversed |= UINT64_C(1) << (width - 1 - i);
        leading = width - 1 - i;
        if (trailing == width)
            trailing = i;
    }
    return op == JitOpPopc  ? count
           : op == JitOpClz ? leading
           : op == JitOpCtz ? trailing
                            : reversed;
}

static bool int_op(JitOp op, VarType type, Args x, uint64_t *out)
{
    const TestType *t = type_of(type);
    unsigned width = t->size * 8;
    i128 a = int_value(type, x.a), b = int_value(type, x.b);
    u128 ua = (u128) a, ub = (u128) b, uc = (u128) int_value(type, x.c), r;
    switch (op) {
    case JitOpEq:
        *out = a == b;
        return true;
    case JitOpNeq:
        *out = a != b;
        return true;
    case JitOpLt:
        *out = a < b;
        return true;
    case JitOpLe:
        *out = a <= b;
        return true;
    case JitOpGt:
        *out = a > b;
        return true;
    case JitOpGe:
        *out = a >= b;
        return true;
    case JitOpMulWide:
        *out = (uint64_t) (ua * ub) & ones_of(2 * width);
        return t->size < 8;
    case JitOpNeg:
        r = -ua;
        break;
    case JitOpNot:
        r = ~ua;
        break;
    case JitOpAbs:
        r = a < 0 ? -ua : ua;
        break;
    case JitOpCeil:
    case JitOpFloor:
    case JitOpRound:
    case JitOpTrunc:
        r = ua;
        break;
    case JitOpPopc:
    case JitOpClz:
    case JitOpCtz:
    case JitOpBrev:
        r = bit_op(op, x.a, width);
        break;
    case JitOpAdd:
        r = ua + ub;
        break;
    case JitOpSub:
        r = ua - ub;
        break;
    case JitOpMul:
        r = ua * ub;
        break;
    case JitOpDiv:
        r = b == 0 ? 0 : (u128) (a / b);
        break;
    case JitOpMod:
        r = b == 0 ? ua : (u128) (a % b);
        break;
    case JitOpMulHi:
        r = t->kind == 'i' ? (u128) (a * b >> width) : ua * ub >> width;
        break;
    case JitOpMin:
        r = (u128) (a < b ? a : b);
        break;
    case JitOpMax:
        r = (u128) (a > b ? a : b);
        break;
    case JitOpAnd:
        r = ua & ub;
        break;
    case JitOpOr:
        r = ua | ub;
        break;
    case JitOpXor:
        r = ua ^ ub;
        break;
    case JitOpShl:
        r = x.b >= width ? 0 : ua << x.b;
        break;
    case JitOpShr:
        r = (u128) (a >> (x.b > 100 ? 100 : x.b));
        break;
    case JitOpFma:
        r = ua * ub + uc;
        break;
    default:
        return false;
    }
    *out = (uint64_t) r & ones_of(width);
    return true;
}

/* ------------------------------------------------------------ the reference */

static UNUSED bool reference(JitOp op, VarType type, Args x, uint64_t *out)
{
    char kind = type_of(type)->kind;
    if (op == JitOpStep) {
        uint64_t below;
        const bool defined = kind != 'b' && reference(JitOpLt, type, x, &below);
        *out = !defined || below ? 0 : kind == 'f' ? float_bits(type, 1) : 1;
        return defined;
    }
    if (op == JitOpSelect) {
        *out = x.m ? x.a : x.b;
        return true;
    }
    if (kind == 'f')
        return float_op(op, type, x, out);
    if (kind == 'i' || kind == 'u')
        return int_op(op, type, x, out);
    switch (op) {
    case JitOpEq:
        *out = x.a == x.b;
        return true;
    case JitOpNeq:
        *out = x.a != x.b;
        return true;
    default:
        break;
    }
    if (kind == 'p')
        return false;
    switch (op) {
    case JitOpNot:
        *out = !x.a;
        return true;
    case JitOpAnd:
        *out = x.a && x.b;
        return true;
    case JitOpOr:
        *out = x.a || x.b;
        return true;
    case JitOpXor:
        *out = x.a != x.b;
        return true;
    default:
        return false;
    }
}

static UNUSED VarType result_type(JitOp op, VarType type)
{
    static const VarType wide[VarTypeCount] = {
        [VarTypeInt8] = VarTypeInt16,  [VarTypeUInt8] = VarTypeUInt16,
        [VarTypeInt16] = VarTypeInt32, [VarTypeUInt16] = VarTypeUInt32,
        [VarTypeInt32] = VarTypeInt64, [VarTypeUInt32] = VarTypeUInt64
    };
    if (op >= JitOpEq && op <= JitOpGe)
        return VarTypeBool;
    return op == JitOpMulWide ? wide[type] : type;
}

static UNUSED bool is_nan(VarType type, uint64_t bits)
{
    return type_of(type)->kind == 'f' && isnan(float_value(type, bits));
}

static UNUSED uint64_t cast_reference(VarType from, VarType to, uint64_t bits)
{
    const TestType *f = type_of(from), *t = type_of(to);
    bool is_float = f->kind == 'f';
    double v = is_float ? float_value(from, bits) : 0;
    i128 i = is_float ? 0 : f->kind == 'b' ? (i128) (bits != 0) : int_value(from, bits);
    if (t->kind == 'b')
        return is_float ? v != 0 : i != 0;
    if (t->kind == 'f') {
        if (is_float)
            return float_bits(to, v);
        if (to == VarTypeFloat16)
            return half_round(i < 0, i < 0 ? -(u128) i : (u128) i, 0);
        if (to == VarTypeFloat32)
            return float_bits(
                to, (double) (i < 0 ? (float) (int64_t) i : (float) (uint64_t) i));
        return float_bits(to, i < 0 ? (double) (int64_t) i : (double) (uint64_t) i);
    }
    unsigned width = t->size * 8;
    if (!is_float)
        return (uint64_t) (u128) i & ones_of(width);
    bool is_signed = t->kind == 'i';
    double limit = ldexp(1, (int) width - is_signed);
    if (isnan(v) || (!is_signed && v <= 0))
        return 0;
    if (v >= limit)
        return ones_of(width - is_signed);
    if (is_signed && v <= -limit)
        return UINT64_C(1) << (width - 1);
    return (uint64_t) (i128) v & ones_of(width);
}

#endif

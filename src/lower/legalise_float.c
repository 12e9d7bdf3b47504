/*
 * legalise_float.c -- rules for floating point and for conversions
 *
 * Rounding twice, first to a wide format and then to a narrow one, can differ from
 * rounding once. Two facts make it right where it is done here:
 *
 *  - Innocuous double rounding: when the wide format has at least 2 p + 2 bits of
 *    precision (p: the narrow one; 11 -> 24 and 24 -> 53 do), sums, differences,
 *    products, quotients and square roots of narrow operands, rounded to wide and then
 *    to narrow, are rounded correctly (Figueroa 1995). This also holds for subnormal
 *    results of half precision: sums, differences and products that small are exact in
 *    single precision, and a quotient of two 11-bit numbers is never nearer to the
 *    midpoint of two halves than 2^-23 of its size, unless it is that midpoint.
 *  - Round to odd: when the wide result is truncated and its last bit set if anything
 *    was lost, the second rounding sees on which side of a midpoint the exact value
 *    lies, and is right with two extra bits (Boldo and Melquiond 2008).
 */
#include "lower/legalise_float.h"

static uint64_t sign_bit(VarType type)
{
    return 1ull << (build_width(type) - 1);
}

/* ------------------------------------------------------------------------ rounding */

/*
 * 'a' is the nearest value to an exact result x; 'above' tells that x > a, 'below' that
 * x < a. Gives x rounded to odd. Bits of a float count up with its magnitude, so
 * truncation towards zero is a subtraction of 1 from the bits where 'a' lies beyond x.
 */
static uint32_t round_to_odd(Build *build, uint32_t a, uint32_t above, uint32_t below)
{
    VarType type = build_type(build, a), bits_type = type_bits(type);
    uint32_t bits = build_bitcast(build, bits_type, a);
    uint32_t zero = build_bits(build, bits_type, 0);
    uint32_t one = build_bits(build, bits_type, 1);

    uint32_t sign = build_2(build, OP_AND, bits,
                            build_bits(build, bits_type, sign_bit(type)));
    uint32_t negative = build_2(build, OP_NEQ, sign, zero);
    uint32_t inexact = build_2(build, OP_OR, above, below);
    uint32_t beyond = build_2(build, OP_AND, inexact,
                              build_2(build, OP_XOR, below, negative));

    bits = build_2(build, OP_SUB, bits, build_select(build, beyond, one, zero));
    bits = build_2(build, OP_OR, bits, build_select(build, inexact, one, zero));
    return build_bitcast(build, type, bits);
}

/* 'sum' rounded to odd instead, where the exact sum is sum + error. NaN errors, which
 * come with infinite sums, leave it as it is. */
static uint32_t odd_sum(Build *build, uint32_t sum, uint32_t error)
{
    uint32_t zero = build_bits(build, build_type(build, error), 0);
    return round_to_odd(build, sum, build_2(build, OP_GT, error, zero),
                        build_2(build, OP_LT, error, zero));
}

/* ---------------------------------------------------------------- half precision */

uint32_t legalise_float_half(Build *build, const BuildInst *inst)
{
    uint32_t args[INST_ARGS];
    for (uint32_t i = 0; i < inst->count; ++i)
        args[i] = build_cast(build, VarTypeFloat32, inst->args[i]);
    bool mask = op_info[inst->op].result == RESULT_MASK;
    uint32_t result = build_emit(build, &(BuildInst) {
        .op = inst->op, .type = mask ? VarTypeBool : VarTypeFloat32,
        .operand = VarTypeFloat32, .count = inst->count, .args = args });
    return mask ? result : build_cast(build, VarTypeFloat16, result);
}

uint32_t legalise_float_half_bits(Build *build, const BuildInst *inst)
{
    uint32_t args[INST_ARGS];
    for (uint32_t i = 0; i < inst->count; ++i)
        args[i] = build_type(build, inst->args[i]) == VarTypeFloat16
            ? build_bitcast(build, VarTypeUInt16, inst->args[i]) : inst->args[i];
    uint32_t result = build_emit(build, &(BuildInst) {
        .op = inst->op, .type = VarTypeUInt16, .operand = VarTypeUInt16,
        .count = inst->count, .args = args });
    return build_bitcast(build, VarTypeFloat16, result);
}

/* Float16 -> Float32 in integers, for CPUs without F16C. With the exponent shifted into
 * place, a multiplication by 2^112 corrects its bias and normalises subnormal values.
 * */
static uint32_t widen_half(Build *build, uint32_t a)
{
    VarType u32 = VarTypeUInt32;
    uint32_t bits = build_cast(build, u32, build_bitcast(build, VarTypeUInt16, a));
    uint32_t magnitude = build_2(build, OP_AND, bits, build_bits(build, u32, 0x7fff));
    uint32_t sign = build_2(build, OP_SHL, build_2(build, OP_XOR, bits, magnitude),
                            build_bits(build, u32, 16));
    uint32_t shifted = build_2(build, OP_SHL, magnitude, build_bits(build, u32, 13));
    uint32_t finite =
        build_2(build, OP_MUL, build_bitcast(build, VarTypeFloat32, shifted),
                build_number(build, VarTypeFloat32, 0x1p112));
    uint32_t special =
        build_2(build, OP_OR, shifted, build_bits(build, u32, 0x7f800000));
    uint32_t is_special =
        build_2(build, OP_GE, magnitude, build_bits(build, u32, 0x7c00));
    uint32_t result = build_select(build, is_special, special,
                                   build_bitcast(build, u32, finite));
    return build_bitcast(build, VarTypeFloat32, build_2(build, OP_OR, result, sign));
}

/*
 * Float32 -> Float16 in integers. Three cases by magnitude: normal results subtract the
 * difference of the exponent biases and round to even with a carry that may run into
 * the exponent (and on to infinity); subnormal ones let an addition of 0.5, whose last
 * bit has the weight of the smallest half, do the rounding; the rest is infinity or
 * NaN.
 */
static uint32_t narrow_single(Build *build, uint32_t a)
{
    VarType u32 = VarTypeUInt32;
    uint32_t bits = build_bitcast(build, u32, a);
    uint32_t sign = build_2(build, OP_AND, bits, build_bits(build, u32, 0x80000000));
    uint32_t magnitude = build_2(build, OP_XOR, bits, sign);
    uint32_t thirteen = build_bits(build, u32, 13);

    uint32_t last = build_2(build, OP_AND, build_2(build, OP_SHR, magnitude, thirteen),
                            build_bits(build, u32, 1));
    uint32_t bias = build_bits(build, u32, 0x0fffu - (112u << 23));
    uint32_t normal =
        build_2(build, OP_ADD, build_2(build, OP_ADD, magnitude, bias), last);
    normal = build_2(build, OP_SHR, normal, thirteen);

    uint32_t half = build_number(build, VarTypeFloat32, 0.5);
    uint32_t sum =
        build_2(build, OP_ADD, build_bitcast(build, VarTypeFloat32, magnitude), half);
    uint32_t small = build_2(build, OP_SUB, build_bitcast(build, u32, sum),
                             build_bits(build, u32, 0x3f000000));

    uint32_t is_nan =
        build_2(build, OP_GT, magnitude, build_bits(build, u32, 0x7f800000));
    uint32_t special = build_select(build, is_nan, build_bits(build, u32, 0x7e00),
                                    build_bits(build, u32, 0x7c00));
    uint32_t is_small =
        build_2(build, OP_LT, magnitude, build_bits(build, u32, 113u << 23));
    uint32_t is_large =
        build_2(build, OP_GE, magnitude, build_bits(build, u32, 143u << 23));
    uint32_t result = build_select(build, is_small, small, normal);
    result = build_select(build, is_large, special, result);
    result = build_2(build, OP_OR, result,
                     build_2(build, OP_SHR, sign, build_bits(build, u32, 16)));
    return build_bitcast(build, VarTypeFloat16,
                         build_cast(build, VarTypeUInt16, result));
}

/* ------------------------------------------------------------------- arithmetic */

/* op(bits of a, literal), as a float again. */
static uint32_t on_bits(Build *build, Op op, uint32_t a, uint64_t literal)
{
    VarType type = build_type(build, a), bits = type_bits(type);
    uint32_t result = build_2(build, op, build_bitcast(build, bits, a),
                              build_bits(build, bits, literal));
    return build_bitcast(build, type, result);
}

uint32_t legalise_float_neg(Build *build, const BuildInst *inst)
{
    return on_bits(build, OP_XOR, inst->args[0], sign_bit(inst->type));
}

uint32_t legalise_float_abs(Build *build, const BuildInst *inst)
{
    return on_bits(build, OP_AND, inst->args[0], sign_bit(inst->type) - 1);
}

uint32_t legalise_float_copysign(Build *build, const BuildInst *inst)
{
    VarType bits = type_bits(inst->type);
    uint64_t sign = sign_bit(inst->type);
    uint32_t magnitude =
        build_2(build, OP_AND, build_bitcast(build, bits, inst->args[0]),
                build_bits(build, bits, sign - 1));
    uint32_t signs = build_2(build, OP_AND, build_bitcast(build, bits, inst->args[1]),
                             build_bits(build, bits, sign));
    return build_bitcast(build, inst->type, build_2(build, OP_OR, magnitude, signs));
}

uint32_t legalise_float_rcp(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_DIV, build_number(build, inst->type, 1), inst->args[0]);
}

/* The smaller (LT, OR) or larger (GT, AND) of two numbers. Equal numbers differ in the
 * sign of zero at most, which 'combine' on the bits decides. */
static uint32_t extremum(Build *build, const BuildInst *inst, Op compare, Op combine)
{
    uint32_t a = inst->args[0], b = inst->args[1];
    VarType bits = type_bits(inst->type);
    uint32_t result = build_select(build, build_2(build, compare, a, b), a, b);
    uint32_t both = build_2(build, combine, build_bitcast(build, bits, a),
                            build_bitcast(build, bits, b));
    result = build_select(build, build_2(build, OP_EQ, a, b),
                          build_bitcast(build, inst->type, both), result);
    /* With a NaN no comparison holds and 'result' is b. */
    return build_select(build, build_2(build, OP_NEQ, b, b), a, result);
}

uint32_t legalise_float_fmin(Build *build, const BuildInst *inst)
{
    return extremum(build, inst, OP_LT, OP_OR);
}

uint32_t legalise_float_fmax(Build *build, const BuildInst *inst)
{
    return extremum(build, inst, OP_GT, OP_AND);
}

/* The product is exact in the wider type, and so is the sum as a pair (Knuth's TwoSum);
 * nothing can overflow or lose bits below the subnormal range there. */
uint32_t legalise_float_fma(Build *build, const BuildInst *inst)
{
    VarType wide;
    if (inst->type == VarTypeFloat16)
        wide = VarTypeFloat32;
    else if (inst->type == VarTypeFloat32)
        wide = VarTypeFloat64;
    else
        return build_unsupported(build, inst);

    uint32_t product = build_2(build, OP_MUL, build_cast(build, wide, inst->args[0]),
                               build_cast(build, wide, inst->args[1]));
    uint32_t addend = build_cast(build, wide, inst->args[2]);
    uint32_t sum = build_2(build, OP_ADD, product, addend);
    uint32_t of_addend = build_2(build, OP_SUB, sum, product);
    uint32_t of_product = build_2(build, OP_SUB, sum, of_addend);
    uint32_t error = build_2(build, OP_ADD, build_2(build, OP_SUB, product, of_product),
                             build_2(build, OP_SUB, addend, of_addend));
    return build_cast(build, inst->type, odd_sum(build, sum, error));
}

/* ------------------------------------------------------------------- conversions */

static uint32_t single_from_double(Build *build, uint32_t a)
{
    uint32_t near = build_cast(build, VarTypeFloat32, a);
    uint32_t back = build_cast(build, VarTypeFloat64, near);
    return round_to_odd(build, near, build_2(build, OP_GT, a, back),
                        build_2(build, OP_LT, a, back));
}

static uint32_t cast_floats(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0];
    if (inst->type == VarTypeFloat16 && inst->operand == VarTypeFloat32)
        return narrow_single(build, a);
    if (inst->type == VarTypeFloat16)
        return build_cast(build, VarTypeFloat16, single_from_double(build, a));
    if (inst->operand == VarTypeFloat16 && inst->type == VarTypeFloat32)
        return widen_half(build, a);
    if (inst->operand == VarTypeFloat16)
        return build_cast(build, inst->type, build_cast(build, VarTypeFloat32, a));
    return build_unsupported(build, inst);
}

/* 64-bit integers -> Float32 and Float64: both halves are exact, their sum rounds once.
 * */
static uint32_t float_from_long(Build *build, VarType to, uint32_t a)
{
    VarType from = build_type(build, a), f64 = VarTypeFloat64;
    VarType half = type_info[from].is_signed ? VarTypeInt32 : VarTypeUInt32;
    uint32_t high = build_cast(build, half,
                               build_2(build, OP_SHR, a, build_bits(build, from, 32)));
    uint32_t low = build_cast(build, f64, build_cast(build, VarTypeUInt32, a));
    high = build_2(build, OP_MUL, build_cast(build, f64, high),
                   build_number(build, f64, 0x1p32));
    uint32_t sum = build_2(build, OP_ADD, high, low);
    if (to == f64)
        return sum;
    /* |high| >= low or high = 0, so the error needs two steps only (Dekker's
     * FastTwoSum). */
    uint32_t error = build_2(build, OP_SUB, low, build_2(build, OP_SUB, sum, high));
    return build_cast(build, to, odd_sum(build, sum, error));
}

/*
 * Integers -> floats. Half precision goes through single precision: an integer beyond
 * 2^24, which single precision rounds, is far beyond 65520, from where on all halves
 * are infinite.
 */
static uint32_t float_from_int(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0];
    VarType to = inst->type, from = inst->operand, f64 = VarTypeFloat64;
    if (to == VarTypeFloat16)
        return build_cast(build, to, build_cast(build, VarTypeFloat32, a));
    if (build_width(from) < 32)
        return build_cast(build, to, build_cast(build, VarTypeInt32, a));
    if (build_width(from) == 64)
        return float_from_long(build, to, a);
    if (to == VarTypeFloat32)
        return build_cast(build, to, build_cast(build, f64, a));
    if (from == VarTypeInt32)
        return build_unsupported(build, inst);
    /* UInt32 -> Float64: shifted into the range of Int32 and back. */
    uint32_t shifted = build_2(build, OP_XOR, a, build_bits(build, from, 0x80000000));
    shifted = build_cast(build, f64, build_bitcast(build, VarTypeInt32, shifted));
    return build_2(build, OP_ADD, shifted, build_number(build, f64, 0x1p31));
}

/* Float64 -> UInt32: clamped, then shifted into the range of Int32 and back. */
static uint32_t uint_from_double(Build *build, uint32_t a)
{
    VarType u32 = VarTypeUInt32, f64 = VarTypeFloat64;
    uint32_t clamped = build_2(build, OP_MAX, build_1(build, OP_TRUNC, a),
                               build_number(build, f64, 0));
    clamped = build_2(build, OP_MIN, clamped, build_number(build, f64, 0xffffffffu));
    uint32_t shifted = build_cast(build, VarTypeInt32,
                                  build_2(build, OP_SUB, clamped,
                                          build_number(build, f64, 0x1p31)));
    uint32_t result = build_2(build, OP_XOR, build_bitcast(build, u32, shifted),
                              build_bits(build, u32, 0x80000000));
    return build_select(build, build_2(build, OP_EQ, a, a), result,
                        build_bits(build, u32, 0));
}

/* Float64 -> 64-bit integers, as two halves. Both are exact: 'high' is an integer and
 * 'low' a multiple of the last bit of 'a' below 2^32. */
static uint32_t long_from_double(Build *build, VarType to, uint32_t a)
{
    VarType f64 = VarTypeFloat64;
    bool is_signed = type_info[to].is_signed;
    uint32_t whole = build_1(build, OP_TRUNC, a);
    uint32_t high =
        build_1(build, OP_FLOOR,
                build_2(build, OP_MUL, whole, build_number(build, f64, 0x1p-32)));
    uint32_t low =
        build_2(build, OP_SUB, whole,
                build_2(build, OP_MUL, high, build_number(build, f64, 0x1p32)));
    high = build_cast(build, is_signed ? VarTypeInt32 : VarTypeUInt32, high);
    low = build_cast(build, VarTypeUInt32, low);
    uint32_t result = build_2(build, OP_OR,
                              build_2(build, OP_SHL, build_cast(build, to, high),
                                      build_bits(build, to, 32)),
                              build_cast(build, to, low));

    double limit = is_signed ? 0x1p63 : 0x1p64;
    uint32_t too_large = build_2(build, OP_GE, a, build_number(build, f64, limit));
    uint32_t too_small = build_2(build, OP_LT, a,
                                 build_number(build, f64, is_signed ? -limit : 0));
    result = build_select(build, too_large,
                          build_bits(build, to, is_signed ? INT64_MAX : UINT64_MAX),
                          result);
    result = build_select(build, too_small,
                          build_bits(build, to, is_signed ? 1ull << 63 : 0), result);
    return build_select(build, build_2(build, OP_EQ, a, a), result,
                        build_bits(build, to, 0));
}

/* Floats -> integers: truncated, saturated, 0 for NaN. */
static uint32_t int_from_float(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0];
    VarType to = inst->type, from = inst->operand, i32 = VarTypeInt32;
    uint32_t width = build_width(to);
    if (from == VarTypeFloat16)
        return build_cast(build, to, build_cast(build, VarTypeFloat32, a));
    if (width < 32) {
        bool is_signed = type_info[to].is_signed;
        int32_t most = is_signed ? (1 << (width - 1)) - 1 : (1 << width) - 1;
        int32_t least = is_signed ? -most - 1 : 0;
        uint32_t value = build_2(build, OP_MAX, build_cast(build, i32, a),
                                 build_number(build, i32, least));
        value = build_2(build, OP_MIN, value, build_number(build, i32, most));
        return build_cast(build, to, value);
    }
    if (from == VarTypeFloat32)
        return build_cast(build, to, build_cast(build, VarTypeFloat64, a));
    if (width == 64)
        return long_from_double(build, to, a);
    return to == VarTypeUInt32 ? uint_from_double(build, a)
                               : build_unsupported(build, inst);
}

/* Integers -> integers. Whether the result is signed is a matter of reading its bits;
 * whether the operand is decides how it is extended. Between two widths neither of
 * which is 32 bits, there is a stop there. */
static uint32_t cast_ints(Build *build, const BuildInst *inst)
{
    bool is_signed = type_info[inst->operand].is_signed;
    VarType between = type_bits(inst->type);
    if (is_signed)
        between = build_signed(between);
    if (build_width(inst->type) == build_width(inst->operand))
        return build_bitcast(build, inst->type, inst->args[0]);
    if (between != inst->type)
        return build_bitcast(build, inst->type,
                             build_cast(build, between, inst->args[0]));
    if (build_width(inst->type) == 32 || build_width(inst->operand) == 32)
        return build_unsupported(build, inst);
    between = is_signed ? VarTypeInt32 : VarTypeUInt32;
    return build_cast(build, inst->type, build_cast(build, between, inst->args[0]));
}

uint32_t legalise_float_cast(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0];
    VarType to = inst->type, from = inst->operand;
    if (to == from)
        return a;
    if (from == VarTypeBool)
        return build_select(build, a, build_number(build, to, 1),
                            build_number(build, to, 0));
    if (to == VarTypeBool && from == VarTypeFloat16) /* the bits tell */
        return build_cast(build, to,
                          build_2(build, OP_AND, build_bitcast(build, VarTypeUInt16, a),
                                  build_bits(build, VarTypeUInt16, 0x7fff)));
    if (to == VarTypeBool)
        return build_2(build, OP_NEQ, a, build_number(build, from, 0));
    if (type_info[to].is_float)
        return type_info[from].is_float ? cast_floats(build, inst)
                                        : float_from_int(build, inst);
    if (type_info[from].is_float)
        return int_from_float(build, inst);
    return cast_ints(build, inst);
}

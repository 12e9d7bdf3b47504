/*
 * legalise_rules.c -- the table of rules, and the rules for integers and masks
 *
 * Each operation has up to six rules, for half precision, for single and double
 * precision, for integers, for narrow integers, for masks and for addresses. 8- and
 * 16-bit integers are computed in 32 bits where the operation says so. The rules cover
 * what the vector instructions of CPUs and GPUs lack: AVX2 has no 64-bit products, no
 * 64-bit arithmetic shift, no unsigned comparison and no bit counts, no vector unit has
 * integer division, PTX has no 8-bit arithmetic, few have half-precision arithmetic.
 * Additions and logic on 32 and 64 bits, comparisons for equality and signed order on
 * 32 bits, and arithmetic in single and double precision, have no rules: what an engine
 * cannot do itself must be expressed in something.
 */
#include "lower/legalise_rules.h"

#include "lower/legalise_float.h"
#include "lower/math/math.h"

static bool is_signed(VarType type)
{
    return type_info[type].is_signed;
}

/* Literals of the type of a result. */
static uint32_t bits_like(Build *build, uint32_t a, uint64_t bits)
{
    return a == PROGRAM_NONE ? PROGRAM_NONE
        : build_bits(build, build_type(build, a), bits);
}

static uint32_t shift_left(Build *build, uint32_t a, uint32_t count)
{
    return build_2(build, OP_SHL, a, bits_like(build, a, count));
}

static uint32_t shift_right(Build *build, uint32_t a, uint32_t count)
{
    return build_2(build, OP_SHR, a, bits_like(build, a, count));
}

/* The halves of a 64-bit integer as UInt32. */
static uint32_t low_half(Build *build, uint32_t a)
{
    return build_cast(build, VarTypeUInt32, a);
}

static uint32_t high_half(Build *build, uint32_t a)
{
    return build_cast(build, VarTypeUInt32, shift_right(build, a, 32));
}

/* ------------------------------------------------------------ through other types */

/* The same in 32 bits. Sign extension also keeps shift counts that are too large so. */
static uint32_t in_32_bits(Build *build, const BuildInst *inst)
{
    VarType wide = is_signed(inst->operand) ? VarTypeInt32 : VarTypeUInt32;
    uint32_t args[INST_ARGS];
    for (uint32_t i = 0; i < inst->count; ++i)
        args[i] = build_type(build, inst->args[i]) == inst->operand
            ? build_cast(build, wide, inst->args[i]) : inst->args[i];
    bool mask = inst->type == VarTypeBool;
    uint32_t result = build_emit(build, &(BuildInst) {
        .op = inst->op, .type = mask ? VarTypeBool : wide, .operand = wide,
        .count = inst->count, .args = args });
    return mask ? result : build_cast(build, inst->type, result);
}

/* Bit counts of 8 and 16 bits in 32, where the bits above count differently. */
static uint32_t count_in_32_bits(Build *build, const BuildInst *inst)
{
    uint32_t width = build_width(inst->type), above = 32 - width;
    uint32_t a = build_bitcast(build, type_bits(inst->type), inst->args[0]);
    a = build_cast(build, VarTypeUInt32, a);
    if (inst->op == OP_CTZ)
        a = build_2(build, OP_OR, a, bits_like(build, a, 1ull << width));
    uint32_t result = build_1(build, inst->op, a);
    if (inst->op == OP_CLZ)
        result = build_2(build, OP_SUB, result, bits_like(build, result, above));
    else if (inst->op == OP_BREV)
        result = shift_right(build, result, above);
    return build_cast(build, inst->type, result);
}

/* Addresses as numbers. */
static uint32_t address_bits(Build *build, const BuildInst *inst)
{
    uint32_t args[INST_ARGS];
    for (uint32_t i = 0; i < inst->count; ++i)
        args[i] = build_type(build, inst->args[i]) == VarTypePointer
            ? build_bitcast(build, VarTypeUInt64, inst->args[i]) : inst->args[i];
    bool mask = inst->type == VarTypeBool;
    uint32_t result = build_emit(build, &(BuildInst) {
        .op = inst->op, .type = mask ? VarTypeBool : VarTypeUInt64,
        .operand = VarTypeUInt64, .count = inst->count, .args = args });
    return mask ? result : build_bitcast(build, inst->type, result);
}

/* ------------------------------------------------------------------------- masks */

static uint32_t mask_not(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_XOR, inst->args[0], build_bits(build, VarTypeBool, 1));
}

static uint32_t mask_neq(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_XOR, inst->args[0], inst->args[1]);
}

static uint32_t not_neq(Build *build, const BuildInst *inst)
{
    return build_1(build, OP_NOT, build_2(build, OP_NEQ, inst->args[0], inst->args[1]));
}

static uint32_t not_eq(Build *build, const BuildInst *inst)
{
    return build_1(build, OP_NOT, build_2(build, OP_EQ, inst->args[0], inst->args[1]));
}

static uint32_t mask_select(Build *build, const BuildInst *inst)
{
    uint32_t mask = inst->args[0];
    uint32_t first = build_2(build, OP_AND, mask, inst->args[1]);
    uint32_t second =
        build_2(build, OP_AND, build_1(build, OP_NOT, mask), inst->args[2]);
    return build_2(build, OP_OR, first, second);
}

/* -------------------------------------------------------------------- comparisons */

/* Equal if no bit of either half differs. */
static uint32_t int_eq(Build *build, const BuildInst *inst)
{
    if (build_width(inst->operand) != 64)
        return build_unsupported(build, inst);
    uint32_t differ = build_2(build, OP_XOR,
                              build_bitcast(build, VarTypeUInt64, inst->args[0]),
                              build_bitcast(build, VarTypeUInt64, inst->args[1]));
    differ = build_2(build, OP_OR, low_half(build, differ), high_half(build, differ));
    return build_2(build, OP_EQ, differ, bits_like(build, differ, 0));
}

/* Signed 64-bit order: the high halves decide, or if they are equal the low ones. */
static uint32_t long_lt(Build *build, uint32_t a, uint32_t b)
{
    VarType u64 = VarTypeUInt64;
    a = build_bitcast(build, u64, a);
    b = build_bitcast(build, u64, b);
    uint32_t ah = build_bitcast(build, VarTypeInt32, high_half(build, a));
    uint32_t bh = build_bitcast(build, VarTypeInt32, high_half(build, b));
    uint32_t low = build_2(build, OP_LT, low_half(build, a), low_half(build, b));
    low = build_2(build, OP_AND, low, build_2(build, OP_EQ, ah, bh));
    return build_2(build, OP_OR, low, build_2(build, OP_LT, ah, bh));
}

/* Signed comparison decides unsigned order once both sign bits are flipped. */
static uint32_t int_lt(Build *build, const BuildInst *inst)
{
    if (is_signed(inst->operand))
        return build_width(inst->operand) == 64
                   ? long_lt(build, inst->args[0], inst->args[1])
                   : build_unsupported(build, inst);
    VarType type = build_signed(inst->operand);
    uint64_t sign = 1ull << (build_width(type) - 1);
    uint32_t args[2];
    for (uint32_t i = 0; i < 2; ++i)
        args[i] = build_bitcast(build, type,
                                build_2(build, OP_XOR, inst->args[i],
                                        bits_like(build, inst->args[i], sign)));
    return build_2(build, OP_LT, args[0], args[1]);
}

static uint32_t swapped_lt(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_LT, inst->args[1], inst->args[0]);
}

static uint32_t swapped_le(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_LE, inst->args[1], inst->args[0]);
}

static uint32_t int_le(Build *build, const BuildInst *inst)
{
    return build_1(build, OP_NOT, build_2(build, OP_LT, inst->args[1], inst->args[0]));
}

/* Of floats the first selection is one instruction of most CPUs, the second one gives
 * the NaN rule of ops.def. */
static uint32_t any_min(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0], b = inst->args[1];
    uint32_t result = build_select(build, build_2(build, OP_LT, b, a), b, a);
    return type_info[inst->type].is_float
               ? build_select(build, build_2(build, OP_NEQ, a, a), b, result)
               : result;
}

static uint32_t any_max(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0], b = inst->args[1];
    uint32_t result = build_select(build, build_2(build, OP_GT, a, b), a, b);
    return type_info[inst->type].is_float
               ? build_select(build, build_2(build, OP_NEQ, b, b), a, result)
               : result;
}

/* --------------------------------------------------------------- small integers */

static uint32_t int_neg(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_SUB, build_bits(build, inst->type, 0), inst->args[0]);
}

static uint32_t int_not(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_XOR, inst->args[0],
                   build_bits(build, inst->type, UINT64_MAX));
}

static uint32_t int_abs(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0];
    if (!is_signed(inst->type))
        return a;
    uint32_t negative = build_2(build, OP_LT, a, build_bits(build, inst->type, 0));
    return build_select(build, negative, build_1(build, OP_NEG, a), a);
}

static uint32_t int_fma(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_ADD, build_2(build, OP_MUL, inst->args[0], inst->args[1]),
                   inst->args[2]);
}

/* Signed shift through the logical one: bits of negative numbers are inverted around
 * it. */
static uint32_t int_shr(Build *build, const BuildInst *inst)
{
    if (!is_signed(inst->type))
        return build_unsupported(build, inst);
    VarType bits = type_bits(inst->type);
    uint32_t negative = build_2(build, OP_LT, inst->args[0],
                                build_bits(build, inst->type, 0));
    uint32_t sign = build_select(build, negative, build_bits(build, bits, UINT64_MAX),
                                 build_bits(build, bits, 0));
    uint32_t a = build_2(build, OP_XOR, build_bitcast(build, bits, inst->args[0]),
                         sign);
    a = build_2(build, OP_SHR, a, build_bitcast(build, bits, inst->args[1]));
    return build_bitcast(build, inst->type, build_2(build, OP_XOR, a, sign));
}

/* ---------------------------------------------------------------------- bit counts */

/* 'pattern', repeated over the width of 'a', AND a. */
static uint32_t and_pattern(Build *build, uint32_t a, uint64_t pattern)
{
    return build_2(build, OP_AND, a, bits_like(build, a, pattern));
}

static uint32_t popc_unsigned(Build *build, uint32_t a)
{
    uint32_t width = build_width(build_type(build, a));
    uint32_t pairs = and_pattern(build, shift_right(build, a, 1), 0x5555555555555555);
    a = build_2(build, OP_SUB, a, pairs);
    uint32_t high = and_pattern(build, shift_right(build, a, 2), 0x3333333333333333);
    a = build_2(build, OP_ADD, and_pattern(build, a, 0x3333333333333333), high);
    a = build_2(build, OP_ADD, a, shift_right(build, a, 4));
    a = and_pattern(build, a, 0x0f0f0f0f0f0f0f0f);
    for (uint32_t shift = 8; shift < width; shift *= 2)
        a = build_2(build, OP_ADD, a, shift_right(build, a, shift));
    return and_pattern(build, a, 0x7f);
}

/* Leading zeros are the zeros left when the first 1 has been copied to all lower bits.
 * */
static uint32_t clz_unsigned(Build *build, uint32_t a)
{
    uint32_t width = build_width(build_type(build, a));
    for (uint32_t shift = 1; shift < width; shift *= 2)
        a = build_2(build, OP_OR, a, shift_right(build, a, shift));
    return build_1(build, OP_POPC, build_1(build, OP_NOT, a));
}

/* Subtracting 1 turns the trailing zeros into ones. */
static uint32_t ctz_unsigned(Build *build, uint32_t a)
{
    uint32_t below = build_2(build, OP_SUB, a, bits_like(build, a, 1));
    return build_1(build, OP_POPC,
                   build_2(build, OP_AND, build_1(build, OP_NOT, a), below));
}

/* Neighbouring bits change places, then pairs of bits, nibbles, ... */
static uint32_t brev_unsigned(Build *build, uint32_t a)
{
    uint32_t width = build_width(build_type(build, a));
    for (uint32_t shift = 1; shift < width; shift *= 2) {
        /* 0x5555..., 0x3333..., 0x0f0f..., ... */
        uint64_t pattern = UINT64_MAX / ((1ull << shift) + 1);
        uint32_t right = and_pattern(build, shift_right(build, a, shift), pattern);
        uint32_t left = shift_left(build, and_pattern(build, a, pattern), shift);
        a = build_2(build, OP_OR, left, right);
    }
    return a;
}

static uint32_t int_count(Build *build, const BuildInst *inst)
{
    VarType bits = type_bits(inst->type);
    if (bits != inst->type) {
        uint32_t a = build_bitcast(build, bits, inst->args[0]);
        return build_bitcast(build, inst->type, build_1(build, inst->op, a));
    }
    switch (inst->op) {
    case OP_POPC: return popc_unsigned(build, inst->args[0]);
    case OP_CLZ: return clz_unsigned(build, inst->args[0]);
    case OP_CTZ: return ctz_unsigned(build, inst->args[0]);
    default: return brev_unsigned(build, inst->args[0]);
    }
}

/* ------------------------------------------------------------------------ products */

/* 64-bit product modulo 2^64: the product of the high halves drops out, and only the
 * low halves of the mixed ones count. */
static uint32_t int_mul(Build *build, const BuildInst *inst)
{
    if (build_width(inst->type) != 64)
        return build_unsupported(build, inst);
    VarType u64 = VarTypeUInt64;
    uint32_t a = build_bitcast(build, u64, inst->args[0]);
    uint32_t b = build_bitcast(build, u64, inst->args[1]);
    uint32_t al = low_half(build, a), bl = low_half(build, b);
    uint32_t mixed = build_2(build, OP_ADD,
                             build_2(build, OP_MUL, al, high_half(build, b)),
                             build_2(build, OP_MUL, high_half(build, a), bl));
    uint32_t result = build_2(build, OP_ADD, build_2(build, OP_MUL_WIDE, al, bl),
                              shift_left(build, build_cast(build, u64, mixed), 32));
    return build_bitcast(build, inst->type, result);
}

static uint32_t int_mul_wide(Build *build, const BuildInst *inst)
{
    return build_2(build, OP_MUL, build_cast(build, inst->type, inst->args[0]),
                   build_cast(build, inst->type, inst->args[1]));
}

/* Upper half of a 64 x 64-bit product, in schoolbook manner. No sum overflows: a
 * product of two 32-bit numbers leaves room for two more such numbers. */
static uint32_t long_mul_hi(Build *build, uint32_t a, uint32_t b)
{
    uint32_t al = low_half(build, a), ah = high_half(build, a);
    uint32_t bl = low_half(build, b), bh = high_half(build, b);
    uint32_t low = build_2(build, OP_MUL_WIDE, al, bl);
    uint32_t mixed = build_2(build, OP_ADD, build_2(build, OP_MUL_WIDE, al, bh),
                             shift_right(build, low, 32));
    uint32_t other = build_2(build, OP_ADD, build_2(build, OP_MUL_WIDE, ah, bl),
                             and_pattern(build, mixed, 0xffffffff));
    uint32_t high = build_2(build, OP_ADD, build_2(build, OP_MUL_WIDE, ah, bh),
                            shift_right(build, mixed, 32));
    return build_2(build, OP_ADD, high, shift_right(build, other, 32));
}

static uint32_t int_mul_hi(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0], b = inst->args[1];
    uint32_t width = build_width(inst->type);
    if (width < 64) {
        uint32_t product = build_2(build, OP_MUL_WIDE, a, b);
        product = build_bitcast(build, type_bits(type_wide(inst->type)), product);
        return build_cast(build, inst->type, shift_right(build, product, width));
    }

    VarType u64 = VarTypeUInt64;
    uint32_t ua = build_bitcast(build, u64, a), ub = build_bitcast(build, u64, b);
    uint32_t high = long_mul_hi(build, ua, ub);
    if (!is_signed(inst->type))
        return high;
    /* Read as unsigned, a negative factor is too large by 2^64. */
    uint32_t zero = build_bits(build, inst->type, 0), none = build_bits(build, u64, 0);
    uint32_t a_excess = build_select(build, build_2(build, OP_LT, a, zero), ub, none);
    uint32_t b_excess = build_select(build, build_2(build, OP_LT, b, zero), ua, none);
    high = build_2(build, OP_SUB, build_2(build, OP_SUB, high, a_excess), b_excess);
    return build_bitcast(build, inst->type, high);
}

/* ------------------------------------------------------------------------ division */

/* 32-bit quotients in double precision: the exact quotient is an integer or at least
 * 2^-32 of its size below the next one, so rounding to 53 bits never reaches that. */
static uint32_t div_32(Build *build, VarType type, uint32_t a, uint32_t b)
{
    uint32_t quotient = build_2(build, OP_DIV, build_cast(build, VarTypeFloat64, a),
                                build_cast(build, VarTypeFloat64, b));
    quotient = build_cast(build, type, quotient);
    if (!is_signed(type))
        return quotient;
    uint32_t minus_one = build_bits(build, type, UINT64_MAX);
    return build_select(build, build_2(build, OP_EQ, b, minus_one),
                        build_1(build, OP_NEG, a), quotient);
}

/* Estimate of a / b that is never too large: four roundings add at most 2^-51 of it,
 * and the factor takes 2^-50 away. */
static uint32_t estimate(Build *build, uint32_t a, uint32_t divisor)
{
    VarType f64 = VarTypeFloat64;
    uint32_t ratio = build_2(build, OP_DIV, build_cast(build, f64, a), divisor);
    ratio = build_2(build, OP_MUL, ratio, build_number(build, f64, 1 - 0x1p-50));
    return build_cast(build, VarTypeUInt64, ratio);
}

/* Unsigned 64-bit quotients, b > 0: the first estimate leaves less than (2^15 + 1) b,
 * the second at most one b. */
static uint32_t div_64(Build *build, uint32_t a, uint32_t b)
{
    uint32_t divisor = build_cast(build, VarTypeFloat64, b);
    uint32_t first = estimate(build, a, divisor);
    uint32_t rest = build_2(build, OP_SUB, a, build_2(build, OP_MUL, first, b));
    uint32_t second = estimate(build, rest, divisor);
    rest = build_2(build, OP_SUB, rest, build_2(build, OP_MUL, second, b));
    uint32_t third = build_select(build, build_2(build, OP_GE, rest, b),
                                  build_bits(build, VarTypeUInt64, 1),
                                  build_bits(build, VarTypeUInt64, 0));
    return build_2(build, OP_ADD, build_2(build, OP_ADD, first, second), third);
}

static uint32_t div_64_signed(Build *build, VarType type, uint32_t a, uint32_t b)
{
    VarType u64 = VarTypeUInt64;
    uint32_t magnitude =
        div_64(build, build_bitcast(build, u64, build_1(build, OP_ABS, a)),
               build_bitcast(build, u64, build_1(build, OP_ABS, b)));
    uint32_t quotient = build_bitcast(build, type, magnitude);
    uint32_t differ = build_2(build, OP_LT, build_2(build, OP_XOR, a, b),
                              build_bits(build, type, 0));
    return build_select(build, differ, build_1(build, OP_NEG, quotient), quotient);
}

static uint32_t int_div(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0], b = inst->args[1], quotient;
    uint32_t zero = build_bits(build, inst->type, 0);
    if (build_width(inst->type) == 32)
        quotient = div_32(build, inst->type, a, b);
    else if (is_signed(inst->type))
        quotient = div_64_signed(build, inst->type, a, b);
    else
        quotient = div_64(build, a, b);
    return build_select(build, build_2(build, OP_EQ, b, zero), zero, quotient);
}

/* a - a / b * b; with a / 0 = 0 and MIN / -1 = MIN this gives the promised a and 0. */
static uint32_t int_mod(Build *build, const BuildInst *inst)
{
    uint32_t a = inst->args[0], b = inst->args[1];
    uint32_t quotient = build_2(build, OP_DIV, a, b);
    return build_2(build, OP_SUB, a, build_2(build, OP_MUL, quotient, b));
}

/* -------------------------------------------------------------------------- lookup */

/* Bit 0 of the index chooses one of each two values, bit 1 one of two of those, ... */
static uint32_t lookup_tree(Build *build, const BuildInst *inst)
{
    uint32_t v[INST_LOOKUP_MOST], index = inst->args[0], n = inst->count - 1;
    for (uint32_t i = 0; i < n; ++i)
        v[i] = inst->args[1 + i];
    uint32_t zero = bits_like(build, index, 0);
    for (uint64_t bit = 1; n > 1; bit *= 2, n /= 2) {
        uint32_t masked = build_2(build, OP_AND, index, bits_like(build, index, bit));
        uint32_t set = build_2(build, OP_NEQ, masked, zero);
        for (uint32_t i = 0; i < n / 2; ++i)
            v[i] = build_select(build, set, v[2 * i + 1], v[2 * i]);
    }
    return v[0];
}

/* --------------------------------------------------------------------------- table */

typedef struct RuleRow {
    Rule half;    /* Float16 */
    Rule real;    /* Float32, Float64 */
    Rule integer; /* all widths, or 32 and 64 bits only: */
    Rule narrow;  /* 8 and 16 bits; NULL: as the others */
    Rule mask;    /* Bool */
    Rule address; /* Pointer */
} RuleRow;

#define HALF .half = legalise_float_half
#define NARROW .narrow = in_32_bits
#define ADDRESS .address = address_bits

static const RuleRow rules[OP_COUNT] = {
    [OP_NEG] = { .half = legalise_float_neg, .real = legalise_float_neg,
                 .integer = int_neg },
    [OP_NOT] = { .integer = int_not, .mask = mask_not },
    [OP_SQRT] = { HALF },
    [OP_RCP] = { .half = legalise_float_rcp, .real = legalise_float_rcp },
    [OP_ABS] = { .half = legalise_float_abs, .real = legalise_float_abs,
                 .integer = int_abs },
    [OP_CEIL] = { HALF },
    [OP_FLOOR] = { HALF },
    [OP_ROUND] = { HALF },
    [OP_TRUNC] = { HALF },
    [OP_POPC] = { .integer = int_count, .narrow = count_in_32_bits },
    [OP_CLZ] = { .integer = int_count, .narrow = count_in_32_bits },
    [OP_CTZ] = { .integer = int_count, .narrow = count_in_32_bits },
    [OP_BREV] = { .integer = int_count, .narrow = count_in_32_bits },

    [OP_ADD] = { HALF, NARROW },
    [OP_SUB] = { HALF, NARROW },
    [OP_MUL] = { HALF, NARROW, .integer = int_mul },
    [OP_DIV] = { HALF, NARROW, .integer = int_div },
    [OP_MOD] = { NARROW, .integer = int_mod },
    [OP_MUL_HI] = { .integer = int_mul_hi },
    [OP_MUL_WIDE] = { .integer = int_mul_wide },
    [OP_MIN] = { HALF, .real = any_min, .integer = any_min },
    [OP_MAX] = { HALF, .real = any_max, .integer = any_max },
    [OP_FMIN] = { HALF, .real = legalise_float_fmin },
    [OP_FMAX] = { HALF, .real = legalise_float_fmax },
    [OP_COPYSIGN] =
        { .half = legalise_float_copysign, .real = legalise_float_copysign },
    [OP_EQ] = { HALF, NARROW, ADDRESS, .integer = int_eq, .mask = not_neq },
    [OP_NEQ] = { HALF, NARROW, ADDRESS, .real = not_eq, .integer = not_eq,
                 .mask = mask_neq },
    [OP_LT] = { HALF, NARROW, .integer = int_lt },
    [OP_LE] = { HALF, NARROW, .integer = int_le },
    [OP_GT] = { HALF, NARROW, .real = swapped_lt, .integer = swapped_lt },
    [OP_GE] = { HALF, NARROW, .real = swapped_le, .integer = swapped_le },
    [OP_AND] = { NARROW },
    [OP_OR] = { NARROW },
    [OP_XOR] = { NARROW },
    [OP_SHL] = { NARROW },
    [OP_SHR] = { NARROW, .integer = int_shr },

    [OP_FMA] = { .half = legalise_float_fma, .real = legalise_float_fma,
                 .integer = int_fma },
    [OP_SELECT] = { .half = legalise_float_half_bits, NARROW, ADDRESS,
                    .mask = mask_select },
    [OP_CAST] = { .half = legalise_float_cast, .real = legalise_float_cast,
                  .integer = legalise_float_cast, .mask = legalise_float_cast },

    [OP_LOOKUP] = { .real = lookup_tree, .integer = lookup_tree },

#define MATH(name, function, ...) [OP_##name] = { HALF, .real = function },
#include "lower/math/math.def"
#undef MATH
};

#undef HALF
#undef NARROW
#undef ADDRESS

Rule legalise_rules_find(const BuildInst *inst)
{
    const RuleRow *row = &rules[inst->op];
    switch (inst->operand) {
    case VarTypeFloat16:
        return row->half;
    case VarTypeFloat32:
    case VarTypeFloat64:
        return row->real;
    case VarTypeBool:
        return row->mask;
    case VarTypePointer:
        return row->address;
    case VarTypeInt8:
    case VarTypeUInt8:
    case VarTypeInt16:
    case VarTypeUInt16:
        return row->narrow ? row->narrow : row->integer;
    case VarTypeInt32:
    case VarTypeUInt32:
    case VarTypeInt64:
    case VarTypeUInt64:
        return row->integer;
    default:
        return NULL;
    }
}

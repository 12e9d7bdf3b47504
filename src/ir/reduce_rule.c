/*
 * reduce_rule.c -- see reduce_rule.h
 */
#include "ir/reduce_rule.h"

bool reduce_rule_defined(ReduceOp op, VarType type)
{
    if (!type_valid(type))
        return false;
    switch (op) {
    case ReduceOpAdd:
    case ReduceOpMul:
    case ReduceOpMin:
    case ReduceOpMax:
        return type_info[type].is_integer || type_info[type].is_float;
    case ReduceOpAnd:
    case ReduceOpOr:
        return type_info[type].is_integer || type == VarTypeBool;
    default:
        return false;
    }
}

/* Bits of 'width' ones. */
static uint64_t ones(unsigned width)
{
    return UINT64_MAX >> (64 - width);
}

static uint64_t integer_identity(ReduceOp op, VarType type)
{
    unsigned width = 8u * type_info[type].size;
    bool is_signed = type_info[type].is_signed;
    switch (op) {
    case ReduceOpMul:
        return 1;
    case ReduceOpMin:
        return ones(is_signed ? width - 1 : width);
    case ReduceOpMax:
        return is_signed ? UINT64_C(1) << (width - 1) : 0;
    case ReduceOpAnd:
        return type == VarTypeBool ? 1 : ones(width);
    default:
        return 0;
    }
}

bool reduce_rule_identity(ReduceOp op, VarType type, uint64_t *bits)
{
    /* Columns: Add, Mul, Min, Max. */
    static const uint64_t half[] = { 0, 0x3c00, 0x7c00, 0xfc00 };
    static const uint64_t single[] = { 0, 0x3f800000, 0x7f800000, 0xff800000 };
    static const uint64_t full[] = { 0, UINT64_C(0x3ff0000000000000),
                                     UINT64_C(0x7ff0000000000000),
                                     UINT64_C(0xfff0000000000000) };
    *bits = 0;
    if (op == ReduceOpIdentity)
        return (unsigned) type < VarTypeCount;
    if (!reduce_rule_defined(op, type))
        return false;
    if (type == VarTypeFloat16)
        *bits = half[op - ReduceOpAdd];
    else if (type == VarTypeFloat32)
        *bits = single[op - ReduceOpAdd];
    else if (type == VarTypeFloat64)
        *bits = full[op - ReduceOpAdd];
    else
        *bits = integer_identity(op, type);
    return true;
}

uint64_t reduce_rule_neutral(ReduceOp op, VarType type)
{
    uint64_t bits = 0, infinity = 0;
    (void) reduce_rule_identity(op, type, &bits);
    if (!type_info[type].is_float || op == ReduceOpMul)
        return bits;
    if (op == ReduceOpAdd) /* -0 */
        return UINT64_C(1) << (8u * type_info[type].size - 1);
    (void) reduce_rule_identity(ReduceOpMin, type, &infinity);
    return infinity | infinity >> 1; /* NaN */
}

bool reduce_rule_adds(uint32_t reduction, VarType type)
{
    if (type_info[type].size < 4)
        return false;
    return (reduction == ReduceOpAdd && reduce_rule_defined(ReduceOpAdd, type)) ||
           ((reduction == ReduceOpMul || reduction == REDUCE_SQUARES) &&
            type_info[type].is_float);
}

bool reduce_rule_shares(uint32_t reduction, uint32_t other, VarType type)
{
    return reduction == other ||
           (!reduce_rule_adds(reduction, type) && !reduce_rule_adds(other, type));
}

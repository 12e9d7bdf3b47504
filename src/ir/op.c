/*
 * op.c -- see op.h
 */
#include "ir/op.h"

const OpInfo op_info[OP_COUNT] = {
#define OP(name, text, arity, operands, result, flags) \
    [OP_##name] = { text, arity, result, flags, operands },
#include "ir/ops.def"
#undef OP
};

/*
 * op.h -- the operation enum and its table, generated from ops.def
 */
#ifndef IR_OP_H
#define IR_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "drjit-core/jit.h"

typedef enum Op {
#define OP(name, text, arity, operands, result, flags) OP_##name,
#include "ir/ops.def"
#undef OP
    OP_COUNT
} Op;

/** Types an operation is defined for, as sets of bits 1 << VarType. */
enum {
    CLASS_INTEGER = 1 << VarTypeInt8 | 1 << VarTypeUInt8 | 1 << VarTypeInt16 |
                    1 << VarTypeUInt16 | 1 << VarTypeInt32 | 1 << VarTypeUInt32 |
                    1 << VarTypeInt64 | 1 << VarTypeUInt64,
    CLASS_NARROW = CLASS_INTEGER & ~(1 << VarTypeInt64 | 1 << VarTypeUInt64),
    CLASS_FLOAT = 1 << VarTypeFloat16 | 1 << VarTypeFloat32 | 1 << VarTypeFloat64,
    CLASS_NUMBER = CLASS_INTEGER | CLASS_FLOAT,
    CLASS_WORD = 1 << VarTypeInt32 | 1 << VarTypeUInt32 | 1 << VarTypeFloat32 |
                 1 << VarTypeInt64 | 1 << VarTypeUInt64 | 1 << VarTypeFloat64,
    CLASS_BITS = CLASS_INTEGER | 1 << VarTypeBool,
    CLASS_U32 = 1 << VarTypeUInt32,
    CLASS_ANY = CLASS_NUMBER | 1 << VarTypeBool | 1 << VarTypePointer
};

enum {
    F_COMMUTES = 1, F_EFFECT = 2, F_FOLDS = 4, F_PURE = 8, F_TRACE = 16, F_PROGRAM = 32
};

typedef enum ResultRule {
    RESULT_GIVEN,  /* stated by whoever creates the operation */
    RESULT_SAME,   /* type of operand 0 */
    RESULT_SECOND, /* type of operand 1 */
    RESULT_WIDE,   /* integer type of twice the width of operand 0 */
    RESULT_MASK,   /* Bool */
    RESULT_VOID    /* no value */
} ResultRule;

#define OP_VARIADIC 255

typedef struct OpInfo {
    const char *name;
    uint8_t arity;    /* OP_VARIADIC: any number */
    uint8_t result;   /* ResultRule */
    uint8_t flags;    /* F_... */
    uint32_t operands; /* CLASS_... */
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

#endif

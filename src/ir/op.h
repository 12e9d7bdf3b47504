/*
 * op.h -- the operation enum and its table, generated from ops.def
 */
#ifndef IR_OP_H
#define IR_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "drjit-core/jit.h"
#include "ir/type.h"

typedef enum Op {
#define OP(name, ...) OP_##name,
#include "ir/ops.def"
#undef OP
    OP_COUNT
} Op;

/** Single bits, so that sets of groups can be asked for. */
enum {
    GROUP_LEAF = 1,      /* values from outside, and outputs */
    GROUP_ARITH = 2,     /* what engines compute */
    GROUP_FUNCTION = 4,  /* what the legaliser writes out, math.def */
    GROUP_CONVERT = 8,
    GROUP_TABLE = 16,
    GROUP_MEMORY = 32,   /* accesses to arrays by index */
    GROUP_STMT = 64,
    GROUP_MARK = 128,    /* where regions begin, go on and end */
    GROUP_FRAME = 256,   /* what regions and callables are given, and give */
    GROUP_LOCAL = 512,
    GROUP_REPORT = 1024, /* checks and prints */
    GROUP_REDUCE = 2048    /* whole blocks become one entry */
};

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
    CLASS_MASK = 1 << VarTypeBool,
    CLASS_U32 = 1 << VarTypeUInt32,
    CLASS_ANY = CLASS_NUMBER | 1 << VarTypeBool | 1 << VarTypePointer
};

enum {
    F_DROPS = 1, F_MOVES = 2, F_SHARES = 4, F_VARIES = 8, F_FOLDS = 16,
    F_COMMUTES = 32, F_ROUNDS = 64, F_TRACE = 128, F_PROGRAM = 256,
    F_PURE = F_DROPS | F_MOVES | F_SHARES
};

typedef enum Role {
    ROLE_NONE, ROLE_VALUE, ROLE_MASK, ROLE_INDEX, ROLE_POINTER, ROLE_LOCAL,
    ROLE_TABLE, ROLE_NUMBER, ROLE_CARRIED, ROLE_ARRAY, ROLE_AFTER
} Role;

typedef enum ResultRule {
    RESULT_GIVEN, /* stated by the code that creates the operation */
    RESULT_SAME,  /* type of the operation */
    RESULT_WIDE,  /* integer type of twice its width */
    RESULT_MASK,  /* Bool */
    RESULT_VOID   /* no value */
} ResultRule;

typedef enum AuxKind {
    AUX_NONE,
    AUX_LITERAL,   /* position in literals[] */
    AUX_PARAM,     /* of params[] */
    AUX_PACKET,    /* entries of a packet, at least 2: op_is_packet() */
    AUX_ITEM,      /* which of them */
    AUX_REDUCTION, /* ReduceOp | ReduceMode << 8 */
    AUX_CHECK,     /* number of the check */
    AUX_PRINT,     /* number of the print */
    AUX_STMT,      /* position in stmts[] */
    AUX_REGION,    /* position in regions[] */
    AUX_WHICH,     /* state, result or input */
    AUX_ENTRIES,   /* of a local array */
    AUX_MATVEC,    /* results | MATVEC_... */
    AUX_OUTER      /* ReduceOpAdd | ReduceMode << 8 | rows << OUTER_ROWS */
} AuxKind;

enum {
    MATVEC_RESULTS = 0xffff,     /* mask: how many there are */
    MATVEC_TRANSPOSED = 1 << 16, /* the matrix has a row for each entry of the vector */
    MATVEC_ADDS = 1 << 17,       /* operands after the vector: what is added */
    OUTER_ROWS = 18,             /* bits below: see AUX_REDUCTION, and expand.h */
    MATRIX_MOST = 1 << 13        /* most rows, most columns */
};

typedef enum MemoryClass {
    MEMORY_NONE, MEMORY_READS, MEMORY_WRITES,
    MEMORY_UPDATES = MEMORY_READS | MEMORY_WRITES
} MemoryClass;

#define OP_VARIADIC 255

enum { OP_ROLES = 5, OP_NO_OPERAND = UINT16_MAX };

typedef struct OpInfo {
    const char *name;
    uint32_t operands; /* CLASS_... */
    uint16_t group;    /* GROUP_... */
    uint16_t flags;    /* F_... */
    uint16_t lead;     /* the operand that has the operation's type, OP_NO_OPERAND if
                        * the result has it */
    uint8_t arity;     /* OP_VARIADIC: any number */
    uint8_t result;    /* ResultRule */
    uint8_t aux;       /* AuxKind */
    uint8_t memory;    /* MemoryClass */
    uint8_t role[OP_ROLES]; /* Role; the last one also of all that follow */
} OpInfo;

extern const OpInfo op_info[OP_COUNT];

/** Is there such an operation of this type? Marks of control flow have none. */
static inline bool op_is_defined(Op op, VarType type)
{
    enum { WITHOUT_TYPE = GROUP_MARK | GROUP_FRAME | GROUP_REPORT };
    return type == VarTypeVoid ? op_info[op].group & WITHOUT_TYPE
                               : op_info[op].operands >> type & 1;
}

/** What operand k is. */
static inline Role op_role(Op op, uint32_t k)
{
    return (Role) op_info[op].role[k < OP_ROLES ? k : OP_ROLES - 1];
}

/** Does the low half of its aux say how entries of an array are reduced? */
static inline bool op_reduces(Op op)
{
    return op_info[op].aux == AUX_REDUCTION || op_info[op].aux == AUX_OUTER;
}

/** The first operand with a role; OP_NO_OPERAND. */
uint32_t op_find_role(Op op, Role role);

/** Does it access arrays, through a pointer as its first operand? */
static inline bool op_has_pointer(Op op)
{
    return op_info[op].role[0] == ROLE_POINTER;
}

/** Can a packet have n entries? Copies of arrays (expand.h) are a multiple of
 *  each number apart. */
static inline bool op_is_packet(uint32_t n)
{
    const uint32_t power = n % 3 ? n : n / 3;
    return n && n <= 64 && !(power & (power - 1));
}

static inline bool op_may_drop(Op op) { return op_info[op].flags & F_DROPS; }

/** Is the result the same in all lanes if the operands are? It is then computed once,
 *  at another place. */
static inline bool op_may_be_uniform(Op op)
{
    return (op_info[op].flags & (F_MOVES | F_VARIES)) == F_MOVES;
}

/** Type of the result, for an operation of this type, which it also has if it is
 *  given. */
static inline VarType op_result(Op op, VarType type)
{
    uint8_t rule = op_info[op].result;
    return rule == RESULT_MASK   ? VarTypeBool
           : rule == RESULT_WIDE ? type_wide(type)
           : rule == RESULT_VOID ? VarTypeVoid
                                 : type;
}

/** The operation that a JitOp names. */
Op op_of(JitOp op);

#endif

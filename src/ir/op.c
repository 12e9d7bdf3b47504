/*
 * op.c -- see op.h
 */
#include "ir/op.h"

/* A list of one to five roles fills the array; the last one is repeated. */
#define ROLES_1(a) ROLES_5(a, a, a, a, a)
#define ROLES_2(a, b) ROLES_5(a, b, b, b, b)
#define ROLES_3(a, b, c) ROLES_5(a, b, c, c, c)
#define ROLES_4(a, b, c, d) ROLES_5(a, b, c, d, d)
#define ROLES_5(a, b, c, d, e)                                                    \
    .role = { ROLE_##a, ROLE_##b, ROLE_##c, ROLE_##d, ROLE_##e },                 \
    .lead = LEADS(ROLE_##a)   ? 0                                                 \
            : LEADS(ROLE_##b) ? 1                                                 \
            : LEADS(ROLE_##c) ? 2                                                 \
            : LEADS(ROLE_##d) ? 3                                                 \
            : LEADS(ROLE_##e) ? 4                                                 \
                              : OP_NO_OPERAND
#define LEADS(role) \
    ((role) == ROLE_VALUE || (role) == ROLE_LOCAL || (role) == ROLE_TABLE)
#define PICK(a, b, c, d, e, roles, ...) roles
#define ROLES(...) \
    PICK(__VA_ARGS__, ROLES_5, ROLES_4, ROLES_3, ROLES_2, ROLES_1, )(__VA_ARGS__)

const OpInfo op_info[OP_COUNT] = {
#define OP(id, text, group_, arity_, roles, operands_, result_, aux_, memory_, flags_) \
    [OP_##id] = { .name = text, .operands = operands_, .group = GROUP_##group_,        \
                  .flags = flags_, .arity = arity_, .result = result_,                 \
                  .aux = AUX_##aux_, .memory = MEMORY_##memory_, ROLES roles },
#include "ir/ops.def"
#undef OP
};

static const uint8_t by_jit[JitOpCount] = {
    [JitOpNeg] = OP_NEG, [JitOpNot] = OP_NOT, [JitOpSqrt] = OP_SQRT,
    [JitOpRcp] = OP_RCP, [JitOpAbs] = OP_ABS, [JitOpCeil] = OP_CEIL,
    [JitOpFloor] = OP_FLOOR, [JitOpRound] = OP_ROUND, [JitOpTrunc] = OP_TRUNC,
    [JitOpPopc] = OP_POPC, [JitOpClz] = OP_CLZ, [JitOpCtz] = OP_CTZ,
    [JitOpBrev] = OP_BREV, [JitOpAdd] = OP_ADD, [JitOpSub] = OP_SUB,
    [JitOpMul] = OP_MUL, [JitOpDiv] = OP_DIV, [JitOpMod] = OP_MOD,
    [JitOpMulHi] = OP_MUL_HI, [JitOpMulWide] = OP_MUL_WIDE, [JitOpMin] = OP_MIN,
    [JitOpMax] = OP_MAX, [JitOpFmin] = OP_FMIN, [JitOpFmax] = OP_FMAX,
    [JitOpCopysign] = OP_COPYSIGN, [JitOpEq] = OP_EQ, [JitOpNeq] = OP_NEQ,
    [JitOpLt] = OP_LT, [JitOpLe] = OP_LE, [JitOpGt] = OP_GT, [JitOpGe] = OP_GE,
    [JitOpAnd] = OP_AND, [JitOpOr] = OP_OR, [JitOpXor] = OP_XOR, [JitOpShl] = OP_SHL,
    [JitOpShr] = OP_SHR, [JitOpFma] = OP_FMA, [JitOpSelect] = OP_SELECT,
    [JitOpSin] = OP_SIN, [JitOpCos] = OP_COS, [JitOpTan] = OP_TAN,
    [JitOpAsin] = OP_ASIN, [JitOpAcos] = OP_ACOS, [JitOpAtan] = OP_ATAN,
    [JitOpSinh] = OP_SINH, [JitOpCosh] = OP_COSH, [JitOpTanh] = OP_TANH,
    [JitOpAsinh] = OP_ASINH, [JitOpAcosh] = OP_ACOSH, [JitOpAtanh] = OP_ATANH,
    [JitOpExp] = OP_EXP, [JitOpExp2] = OP_EXP2, [JitOpLog] = OP_LOG,
    [JitOpLog2] = OP_LOG2, [JitOpRsqrt] = OP_RSQRT, [JitOpCbrt] = OP_CBRT,
    [JitOpErf] = OP_ERF, [JitOpErfinv] = OP_ERFINV, [JitOpLgamma] = OP_LGAMMA,
    [JitOpAtan2] = OP_ATAN2, [JitOpPower] = OP_POWER, [JitOpHypot] = OP_HYPOT,
    [JitOpDigamma] = OP_DIGAMMA
};

uint32_t op_find_role(Op op, Role role)
{
    for (uint32_t k = 0; k < OP_ROLES; ++k)
        if (op_info[op].role[k] == role)
            return k;
    return OP_NO_OPERAND;
}

Op op_of(JitOp op)
{
    return (Op) by_jit[op];
}

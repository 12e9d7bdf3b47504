/*
 * api_arith.c -- the arithmetic group: one public function for each operation
 */
#include "trace/graph/arith.h"

#include "api/api.h"
#include "base/error.h"

static uint32_t apply_1(Op op, VarId a)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = arith_unary(ts, op, a);
    api_leave();
    return result;
}

static uint32_t apply_2(Op op, VarId a, VarId b)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = arith_binary(ts, op, a, b);
    api_leave();
    return result;
}

static uint32_t apply_3(Op op, VarId a, VarId b, VarId c)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = arith_ternary(ts, op, a, b, c);
    api_leave();
    return result;
}

#define UNARY(name, op) \
    uint32_t jit_var_##name(uint32_t a) { return apply_1(op, a); }
#define BINARY(name, op) \
    uint32_t jit_var_##name(uint32_t a, uint32_t b) { return apply_2(op, a, b); }
#define TERNARY(name, op) \
    uint32_t jit_var_##name(uint32_t a, uint32_t b, uint32_t c) { \
        return apply_3(op, a, b, c); \
    }

UNARY(neg, OP_NEG)
UNARY(not, OP_NOT)
UNARY(sqrt, OP_SQRT)
UNARY(rcp, OP_RCP)
UNARY(abs, OP_ABS)
UNARY(ceil, OP_CEIL)
UNARY(floor, OP_FLOOR)
UNARY(round, OP_ROUND)
UNARY(trunc, OP_TRUNC)
UNARY(popc, OP_POPC)
UNARY(clz, OP_CLZ)
UNARY(ctz, OP_CTZ)
UNARY(brev, OP_BREV)
BINARY(add, OP_ADD)
BINARY(sub, OP_SUB)
BINARY(mul, OP_MUL)
BINARY(div, OP_DIV)
BINARY(mod, OP_MOD)
BINARY(mul_hi, OP_MUL_HI)
BINARY(mul_wide, OP_MUL_WIDE)
BINARY(min, OP_MIN)
BINARY(max, OP_MAX)
BINARY(fmin, OP_FMIN)
BINARY(fmax, OP_FMAX)
BINARY(copysign, OP_COPYSIGN)
BINARY(eq, OP_EQ)
BINARY(neq, OP_NEQ)
BINARY(lt, OP_LT)
BINARY(le, OP_LE)
BINARY(gt, OP_GT)
BINARY(ge, OP_GE)
BINARY(and, OP_AND)
BINARY(or, OP_OR)
BINARY(xor, OP_XOR)
BINARY(shl, OP_SHL)
BINARY(shr, OP_SHR)
TERNARY(fma, OP_FMA)
TERNARY(select, OP_SELECT)
UNARY(sin, OP_SIN)
UNARY(cos, OP_COS)
UNARY(tan, OP_TAN)
UNARY(asin, OP_ASIN)
UNARY(acos, OP_ACOS)
UNARY(atan, OP_ATAN)
UNARY(sinh, OP_SINH)
UNARY(cosh, OP_COSH)
UNARY(tanh, OP_TANH)
UNARY(asinh, OP_ASINH)
UNARY(acosh, OP_ACOSH)
UNARY(atanh, OP_ATANH)
UNARY(exp, OP_EXP)
UNARY(exp2, OP_EXP2)
UNARY(log, OP_LOG)
UNARY(log2, OP_LOG2)
UNARY(rsqrt, OP_RSQRT)
UNARY(cbrt, OP_CBRT)
UNARY(erf, OP_ERF)
UNARY(erfinv, OP_ERFINV)
UNARY(lgamma, OP_LGAMMA)
UNARY(digamma, OP_DIGAMMA)
BINARY(atan2, OP_ATAN2)
BINARY(power, OP_POWER)
BINARY(hypot, OP_HYPOT)

static void apply_pair(Op first, Op second, VarId a, uint32_t *one, uint32_t *other)
{
    *one = apply_1(first, a);
    *other = *one ? apply_1(second, a) : 0;
    if (*one && !*other) {
        jit_var_dec_ref(*one);
        *one = 0;
    }
}

void jit_var_sincos(uint32_t a, uint32_t *sine, uint32_t *cosine)
{
    apply_pair(OP_SIN, OP_COS, a, sine, cosine);
}

void jit_var_sincosh(uint32_t a, uint32_t *sine, uint32_t *cosine)
{
    apply_pair(OP_SINH, OP_COSH, a, sine, cosine);
}

/* a < b ? 0 : 1, in the type of the operands: no operation, but three of them. 'below'
 * is the mask a < b (its reference is taken), or 0: an error. */
static VarId step_of(ThreadState *ts, VarId below, VarId a)
{
    const VarId reached = below ? arith_unary(ts, OP_NOT, below) : 0;
    VarId result = 0;
    if (reached)
        result = arith_cast(ts, reached, (VarType) var_get(a)->type, false);
    if (below)
        var_dec(below);
    if (reached)
        var_dec(reached);
    return result;
}

uint32_t jit_var_step(uint32_t a, uint32_t b)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    const uint32_t result = step_of(ts, arith_binary(ts, OP_LT, a, b), a);
    api_leave();
    return result;
}

static uint32_t refuse_arity(Op op, uint32_t arity)
{
    return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                "jit_var_new_op_%u(): operation %s takes %u operands",
                                arity, op_info[op].name, op_info[op].arity);
}

/* What is not a row of ops.def. */
static uint32_t apply_other(JitOp op, uint32_t arity, const VarId *args)
{
    if (op == JitOpStep && (!arity || arity == 2))
        return jit_var_step(args[0], args[1]);
    if (op == JitOpStep)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "jit_var_new_op_%u(): operation step takes "
                                    "2 operands",
                                    arity);
    return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                "jit_var_op(): operation is %d, expected a JitOp",
                                (int) op);
}

static inline uint32_t apply_enum(JitOp op, uint32_t arity, const VarId *args)
{
    if ((unsigned) op >= JitOpCount)
        return apply_other(op, arity, args);
    const Op mine = op_of(op);
    const uint32_t takes = op_info[mine].arity;
    if (arity && takes != arity)
        return refuse_arity(mine, arity);
    switch (takes) {
    case 1: return apply_1(mine, args[0]);
    case 2: return apply_2(mine, args[0], args[1]);
    default: return apply_3(mine, args[0], args[1], args[2]);
    }
}

uint32_t jit_var_op(JitOp op, const uint32_t *operands)
{
    if (!operands)
        return (uint32_t) api_null("jit_var_op()", "operands");
    return apply_enum(op, 0, operands);
}

uint32_t jit_var_op_number(JitOp op, uint32_t a, uint64_t bits, int number_first)
{
    const Op mine = op == JitOpStep                ? OP_LT
                    : (unsigned) op < JitOpCount ? op_of(op)
                                                 : OP_NONE;
    if (op_info[mine].arity != 2)
        return (uint32_t) error_set(JIT_ERROR_ARGUMENT,
                                    "jit_var_op_number(): operation is %d, expected "
                                    "a JitOp with two operands",
                                    (int) op);
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = arith_number(ts, mine, a, bits, number_first != 0);
    if (op == JitOpStep)
        result = step_of(ts, result, a);
    api_leave();
    return result;
}

uint32_t jit_var_new_op_1(JitOp op, uint32_t a) { return apply_enum(op, 1, &a); }

uint32_t jit_var_new_op_2(JitOp op, uint32_t a, uint32_t b)
{
    return apply_enum(op, 2, (VarId[]) { a, b });
}

uint32_t jit_var_new_op_3(JitOp op, uint32_t a, uint32_t b, uint32_t c)
{
    return apply_enum(op, 3, (VarId[]) { a, b, c });
}

uint32_t jit_var_new_op_4(JitOp op, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return apply_enum(op, 4, (VarId[]) { a, b, c, d });
}

uint32_t jit_var_cast(uint32_t index, VarType type, int reinterpret)
{
    ThreadState *ts = api_enter();
    TRY(ts, 0);
    uint32_t result = arith_cast(ts, index, type, reinterpret != 0);
    api_leave();
    return result;
}

uint32_t jit_var_new_cast(uint32_t index, VarType type, int reinterpret)
{
    return jit_var_cast(index, type, reinterpret);
}

/*
 * simplify.c -- see simplify.h
 *
 * One function for each operation that has identities, in a table by operation. A
 * function returns the id of a variable to use instead; 'same' takes care that it has
 * the right size (x + 0 is not x when x has one entry and the literal 0 has many).
 */
#include "trace/graph/simplify.h"

#include "trace/graph/arith.h"

typedef struct Case {
    ThreadState *ts;
    VarType type;      /* of the result */
    uint32_t size;
    const VarId *args;
    const Var *a, *b;  /* the first two operands */
} Case;

static bool is_literal(const Var *v) { return v->op == OP_LITERAL; }
static bool is_zero(const Var *v) { return is_literal(v) && v->value.literal == 0; }

static bool is_one(const Var *v)
{
    return is_literal(v) && v->value.literal == type_info[v->type].one;
}

static bool is_ones(const Var *v)
{
    return is_literal(v) && v->value.literal == type_mask((VarType) v->type);
}

/* The float -0. */
static bool is_minus_zero(const Var *v)
{
    return is_literal(v) && type_info[v->type].is_float &&
           v->value.literal == (type_mask((VarType) v->type) >> 1) + 1;
}

/* Is this literal an integer power of two? Its logarithm. */
static bool is_power_of_two(const Var *v, uint32_t *exponent)
{
    if (!is_literal(v) || !type_info[v->type].is_integer)
        return false;
    uint64_t bits = v->value.literal;
    if (bits == 0 || (bits & (bits - 1)) != 0)
        return false;
    *exponent = (uint32_t) __builtin_ctzll(bits);
    return true;
}

/* Use operand 'id' if it already has the size of the result. */
static VarId same(const Case *c, VarId id)
{
    if (var_lanes_of(id) != c->size)
        return 0;
    var_inc(id);
    return id;
}

static VarId literal(const Case *c, uint64_t bits)
{
    return node_literal(c->ts, c->a->device, c->type, bits, c->size);
}

static bool fast_math(const Case *c) { return state_flag(c->ts, JitFlagFastMath); }
static bool is_float(const Case *c) { return type_info[c->type].is_float; }

/* op(a, literal) for an identity that trades one operation for another. */
static VarId with_literal(const Case *c, Op op, VarId a, uint64_t bits)
{
    VarId l = node_literal(c->ts, c->a->device, c->type, bits, 1);
    if (!l)
        return 0;
    VarId args[] = { a, l };
    VarId result = arith_make(c->ts, op, c->type, c->size, args);
    var_dec(l);
    return result;
}

/* Does adding this literal change nothing? -0 for floats; +0 turns -0 into +0. */
static bool adds_nothing(const Case *c, const Var *v)
{
    return is_float(c) ? is_minus_zero(v) || (fast_math(c) && is_zero(v)) : is_zero(v);
}

static VarId simplify_add(const Case *c)
{
    if (adds_nothing(c, c->b))
        return same(c, c->args[0]);
    if (adds_nothing(c, c->a))
        return same(c, c->args[1]);
    return 0;
}

static VarId simplify_sub(const Case *c)
{
    if (is_zero(c->b)) /* -0 - +0 is -0: exact for floats too */
        return same(c, c->args[0]);
    if (c->args[0] == c->args[1] && !is_float(c))
        return literal(c, 0);
    return 0;
}

static VarId simplify_mul(const Case *c)
{
    if (is_one(c->b))
        return same(c, c->args[0]);
    if (is_one(c->a))
        return same(c, c->args[1]);
    bool zero = is_zero(c->a) || is_zero(c->b);
    if (zero && (!is_float(c) || fast_math(c)))
        return literal(c, 0);
    uint32_t exponent;
    if (is_power_of_two(c->b, &exponent))
        return with_literal(c, OP_SHL, c->args[0], exponent);
    if (is_power_of_two(c->a, &exponent))
        return with_literal(c, OP_SHL, c->args[1], exponent);
    return 0;
}

/* x / 2^k equals x * 2^-k bit for bit as long as 2^-k is a normal number. */
static VarId simplify_float_div(const Case *c)
{
    static const struct { uint8_t mantissa, exponent; } layout[VarTypeCount] = {
        [VarTypeFloat16] = { 10, 5 }, [VarTypeFloat32] = { 23, 8 },
        [VarTypeFloat64] = { 52, 11 }
    };
    if (!is_literal(c->b))
        return 0;
    uint32_t mantissa = layout[c->type].mantissa, width = layout[c->type].exponent;
    uint64_t bits = c->b->value.literal, limit = ((uint64_t) 1 << width) - 1;
    uint64_t exponent = bits >> mantissa & limit, bias = limit >> 1;
    bool power = (bits & (((uint64_t) 1 << mantissa) - 1)) == 0;
    if (!power || exponent == 0 || exponent >= 2 * bias)
        return 0;
    uint64_t sign = bits >> (mantissa + width) << (mantissa + width);
    return with_literal(c, OP_MUL, c->args[0],
                        sign | (2 * bias - exponent) << mantissa);
}

static VarId simplify_div(const Case *c)
{
    if (is_one(c->b))
        return same(c, c->args[0]);
    if (is_float(c))
        return simplify_float_div(c);
    uint32_t exponent;
    if (!type_info[c->type].is_signed && is_power_of_two(c->b, &exponent))
        return with_literal(c, OP_SHR, c->args[0], exponent);
    return 0;
}

static VarId simplify_mod(const Case *c)
{
    uint32_t exponent;
    if (is_one(c->b))
        return literal(c, 0);
    if (!type_info[c->type].is_signed && is_power_of_two(c->b, &exponent))
        return with_literal(c, OP_AND, c->args[0], c->b->value.literal - 1);
    return 0;
}

static VarId simplify_fma(const Case *c)
{
    const Var *addend = var_get(c->args[2]);
    VarId sum[] = { 0, c->args[2] };
    if (is_one(c->b))
        sum[0] = c->args[0];
    else if (is_one(c->a))
        sum[0] = c->args[1];
    if (sum[0])
        return arith_make(c->ts, OP_ADD, c->type, c->size, sum);
    if (adds_nothing(c, addend)) /* the product is rounded once either way */
        return arith_make(c->ts, OP_MUL, c->type, c->size, c->args);
    if ((is_zero(c->a) || is_zero(c->b)) && (!is_float(c) || fast_math(c)))
        return same(c, c->args[2]);
    return 0;
}

static VarId simplify_and(const Case *c)
{
    if (c->args[0] == c->args[1] || is_ones(c->b))
        return same(c, c->args[0]);
    if (is_ones(c->a))
        return same(c, c->args[1]);
    return is_zero(c->a) || is_zero(c->b) ? literal(c, 0) : 0;
}

static VarId simplify_or(const Case *c)
{
    if (c->args[0] == c->args[1] || is_zero(c->b))
        return same(c, c->args[0]);
    if (is_zero(c->a))
        return same(c, c->args[1]);
    return is_ones(c->a) || is_ones(c->b) ? literal(c, type_mask(c->type)) : 0;
}

static VarId simplify_xor(const Case *c)
{
    if (is_zero(c->b))
        return same(c, c->args[0]);
    if (is_zero(c->a))
        return same(c, c->args[1]);
    return c->args[0] == c->args[1] ? literal(c, 0) : 0;
}

static VarId simplify_shift(const Case *c)
{
    return is_zero(c->b) || is_zero(c->a) ? same(c, c->args[0]) : 0;
}

/* -(-x), ~~x */
static VarId simplify_involution(const Case *c)
{
    if (c->a->dep[0] && (c->a->op == OP_NEG || c->a->op == OP_NOT))
        return same(c, c->a->dep[0]);
    return 0;
}

static VarId simplify_neg(const Case *c)
{
    return c->a->op == OP_NEG ? simplify_involution(c) : 0;
}

static VarId simplify_not(const Case *c)
{
    return c->a->op == OP_NOT ? simplify_involution(c) : 0;
}

static VarId simplify_minmax(const Case *c)
{
    return c->args[0] == c->args[1] ? same(c, c->args[0]) : 0;
}

static VarId simplify_select(const Case *c)
{
    if (c->args[1] == c->args[2])
        return same(c, c->args[1]);
    if (is_literal(c->a))
        return same(c, c->args[c->a->value.literal ? 1 : 2]);
    if (c->type == VarTypeBool && is_ones(c->b) && is_zero(var_get(c->args[2])))
        return same(c, c->args[0]);
    return 0;
}

/* Comparisons of an integer with itself; NaN keeps floats out. */
static VarId simplify_reflexive(const Case *c, uint64_t value)
{
    if (c->args[0] != c->args[1] || type_info[c->a->type].is_float)
        return 0;
    return literal(c, value);
}

static VarId simplify_equal(const Case *c) { return simplify_reflexive(c, 1); }
static VarId simplify_differ(const Case *c) { return simplify_reflexive(c, 0); }

static VarId (*const rules[OP_COUNT])(const Case *) = {
    [OP_ADD] = simplify_add, [OP_SUB] = simplify_sub, [OP_MUL] = simplify_mul,
    [OP_DIV] = simplify_div, [OP_MOD] = simplify_mod, [OP_FMA] = simplify_fma,
    [OP_AND] = simplify_and, [OP_OR] = simplify_or, [OP_XOR] = simplify_xor,
    [OP_SHL] = simplify_shift, [OP_SHR] = simplify_shift, [OP_NEG] = simplify_neg,
    [OP_NOT] = simplify_not, [OP_MIN] = simplify_minmax, [OP_MAX] = simplify_minmax,
    [OP_SELECT] = simplify_select, [OP_EQ] = simplify_equal, [OP_LE] = simplify_equal,
    [OP_GE] = simplify_equal, [OP_NEQ] = simplify_differ, [OP_LT] = simplify_differ,
    [OP_GT] = simplify_differ
};

VarId simplify_op(ThreadState *ts, Op op, VarType type, uint32_t size,
                  const VarId *args)
{
    if (!rules[op])
        return 0;
    const Var *a = var_get(args[0]);
    Case c = { ts, type, size, args, a, op_info[op].arity > 1 ? var_get(args[1]) : a };
    return rules[op](&c);
}

/*
 * simplify.c -- see simplify.h
 *
 * One function for each operation that has identities, in a table by operation. A
 * function returns the id of a variable to use instead; 'same' takes care that it has
 * the right size (x + 0 is not x when x has one entry and the literal 0 has many). It
 * sees of literals only what its row names, as the fast path of arith.c does.
 */
#include "trace/graph/simplify.h"

#include "trace/graph/arith.h"

struct SimplifyCase {
    ThreadState *ts;
    VarType type;      /* of the result */
    uint32_t size;
    const VarId *args;
    const Var *a;      /* the first operand */
    uint32_t kinds[3]; /* of operands that are literals, as far as the row names them */
};

typedef SimplifyCase Case;

/* Is operand k a literal of one of these kinds? */
static bool is(const Case *c, uint32_t k, uint32_t kinds)
{
    return c->kinds[k] & kinds;
}

static bool is_zero(const Case *c, uint32_t k) { return is(c, k, LITERAL_ZERO); }
static bool is_one(const Case *c, uint32_t k) { return is(c, k, LITERAL_ONE); }
static bool is_ones(const Case *c, uint32_t k) { return is(c, k, LITERAL_ONES); }

static uint64_t bits_of(const Case *c, uint32_t k)
{
    return var_get(c->args[k])->value.literal;
}

/* Is it an integer power of two? Its logarithm. */
static bool is_power_of_two(const Case *c, uint32_t k, uint32_t *exponent)
{
    if (!is(c, k, LITERAL_POWER))
        return false;
    *exponent = (uint32_t) __builtin_ctzll(bits_of(c, k));
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
static bool adds_nothing(const Case *c, uint32_t k)
{
    return is(c, k, LITERAL_MINUS_ZERO) ||
           (is_zero(c, k) && (!is_float(c) || fast_math(c)));
}

static VarId simplify_add(const Case *c)
{
    if (adds_nothing(c, 1))
        return same(c, c->args[0]);
    if (adds_nothing(c, 0))
        return same(c, c->args[1]);
    return 0;
}

static VarId simplify_sub(const Case *c)
{
    if (is_zero(c, 1)) /* -0 - +0 is -0: exact for floats too */
        return same(c, c->args[0]);
    if (c->args[0] == c->args[1] && !is_float(c))
        return literal(c, 0);
    return 0;
}

static VarId simplify_mul(const Case *c)
{
    if (is_one(c, 1))
        return same(c, c->args[0]);
    if (is_one(c, 0))
        return same(c, c->args[1]);
    bool zero = is_zero(c, 0) || is_zero(c, 1);
    if (zero && (!is_float(c) || fast_math(c)))
        return literal(c, 0);
    uint32_t exponent;
    if (is_power_of_two(c, 1, &exponent))
        return with_literal(c, OP_SHL, c->args[0], exponent);
    if (is_power_of_two(c, 0, &exponent))
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
    if (!is(c, 1, LITERAL_OTHER))
        return 0;
    uint32_t mantissa = layout[c->type].mantissa, width = layout[c->type].exponent;
    uint64_t bits = bits_of(c, 1), limit = ((uint64_t) 1 << width) - 1;
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
    if (is_one(c, 1))
        return same(c, c->args[0]);
    if (is_float(c))
        return simplify_float_div(c);
    uint32_t exponent;
    if (!type_info[c->type].is_signed && is_power_of_two(c, 1, &exponent))
        return with_literal(c, OP_SHR, c->args[0], exponent);
    return 0;
}

static VarId simplify_mod(const Case *c)
{
    uint32_t exponent;
    if (is_one(c, 1))
        return literal(c, 0);
    if (!type_info[c->type].is_signed && is_power_of_two(c, 1, &exponent))
        return with_literal(c, OP_AND, c->args[0], bits_of(c, 1) - 1);
    return 0;
}

static VarId simplify_fma(const Case *c)
{
    VarId sum[] = { 0, c->args[2] };
    if (is_one(c, 1))
        sum[0] = c->args[0];
    else if (is_one(c, 0))
        sum[0] = c->args[1];
    if (sum[0])
        return arith_make(c->ts, OP_ADD, c->type, c->size, sum);
    if (adds_nothing(c, 2)) /* the product is rounded once either way */
        return arith_make(c->ts, OP_MUL, c->type, c->size, c->args);
    if ((is_zero(c, 0) || is_zero(c, 1)) && (!is_float(c) || fast_math(c)))
        return same(c, c->args[2]);
    return 0;
}

static VarId simplify_and(const Case *c)
{
    if (c->args[0] == c->args[1] || is_ones(c, 1))
        return same(c, c->args[0]);
    if (is_ones(c, 0))
        return same(c, c->args[1]);
    return is_zero(c, 0) || is_zero(c, 1) ? literal(c, 0) : 0;
}

static VarId simplify_or(const Case *c)
{
    if (c->args[0] == c->args[1] || is_zero(c, 1))
        return same(c, c->args[0]);
    if (is_zero(c, 0))
        return same(c, c->args[1]);
    return is_ones(c, 0) || is_ones(c, 1) ? literal(c, type_mask(c->type)) : 0;
}

static VarId simplify_xor(const Case *c)
{
    if (is_zero(c, 1))
        return same(c, c->args[0]);
    if (is_zero(c, 0))
        return same(c, c->args[1]);
    return c->args[0] == c->args[1] ? literal(c, 0) : 0;
}

static VarId simplify_shift(const Case *c)
{
    return is_zero(c, 1) || is_zero(c, 0) ? same(c, c->args[0]) : 0;
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
    if (is(c, 0, LITERAL_ZERO | LITERAL_ONE))
        return same(c, c->args[is_one(c, 0) ? 1 : 2]);
    if (c->type == VarTypeBool && is_ones(c, 1) && is_zero(c, 2))
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

/* Of a value that is one already, to the type that was there first. */
static VarId simplify_bitcast(const Case *c)
{
    if (c->a->op != OP_BITCAST)
        return 0;
    VarId first = c->a->dep[0];
    return var_get(first)->type == c->type
               ? same(c, first)
               : arith_make(c->ts, OP_BITCAST, c->type, c->size, &first);
}

enum { ZERO = LITERAL_ZERO, MINUS_ZERO = LITERAL_MINUS_ZERO, ONE = LITERAL_ONE,
       POWER = LITERAL_POWER, ONES = LITERAL_ONES };

const SimplifyRow simplify_rows[OP_COUNT] = {
    [OP_ADD] = { simplify_add, ZERO | MINUS_ZERO, ZERO },
    [OP_SUB] = { simplify_sub, ZERO, ZERO },
    [OP_MUL] = { simplify_mul, ZERO | ONE, ZERO | ONE | POWER },
    [OP_DIV] = { simplify_div, LITERAL_OTHER | ONE, ONE | POWER },
    [OP_MOD] = { simplify_mod, 0, ONE | POWER },
    [OP_FMA] = { simplify_fma, ZERO | MINUS_ZERO | ONE, ZERO | ONE },
    [OP_AND] = { simplify_and, 0, ZERO | ONES },
    [OP_OR] = { simplify_or, 0, ZERO | ONES },
    [OP_XOR] = { simplify_xor, 0, ZERO },
    [OP_SHL] = { simplify_shift, 0, ZERO },
    [OP_SHR] = { simplify_shift, 0, ZERO },
    [OP_NEG] = { simplify_neg, 0, 0 },
    [OP_NOT] = { simplify_not, 0, 0 },
    [OP_MIN] = { simplify_minmax, 0, 0 },
    [OP_MAX] = { simplify_minmax, 0, 0 },
    [OP_SELECT] = { simplify_select, 0, ZERO | ONE | ONES },
    [OP_EQ] = { simplify_equal, 0, 0 },
    [OP_LE] = { simplify_equal, 0, 0 },
    [OP_GE] = { simplify_equal, 0, 0 },
    [OP_NEQ] = { simplify_differ, 0, 0 },
    [OP_LT] = { simplify_differ, 0, 0 },
    [OP_GT] = { simplify_differ, 0, 0 },
    [OP_BITCAST] = { simplify_bitcast, 0, 0 }
};

VarId simplify_by(const SimplifyRow *row, ThreadState *ts, Op op, VarType type,
                  uint32_t size, const VarId *args)
{
    uint32_t arity = op_info[op].arity;
    const Var *a = var_get(args[0]);
    Case c = { ts, type, size, args, a, { 0 } };
    if (arity > 1) { /* literals that stand alone are folded */
        c.kinds[0] = simplify_kinds(op, a);
        c.kinds[1] = simplify_kinds(op, var_get(args[1]));
        c.kinds[2] = arity > 2 ? simplify_kinds(op, var_get(args[2])) : 0;
    }
    return row->rule(&c);
}

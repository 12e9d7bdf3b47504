/*
 * ad_quick.c -- see ad_quick.h
 *
 * The rules of ad_rules.def and math.def once more, as functions that make variables
 * under the lock. Results have the bits of those of ad_rule.c.
 */
#include "ad/traverse/ad_quick.h"

#include <string.h>

#include "ad/rule/ad_rows.h"
#include "lower/math/derivative.h"
#include "trace/graph/arith.h"

/* What is known while a rule is applied, and what its expression has made so far. */
typedef struct Quick {
    ThreadState *ts;
    VarId operands[4]; /* a, b, c, y */
    VarId g;
    VarId *zero;
    VarType type, receiver;
    uint8_t device;
    uint32_t count;
    VarId made[64]; /* owned */
} Quick;

/* ---------------------------------------------------------------- variables */

/* A variable that an operation takes as it is. */
static bool is_ready(VarId id)
{
    return !id || (!var_pending(var_get(id)) && !(var_get(id)->flags & VAR_UNUSABLE));
}

/* Look through a negation. */
static VarId strip_sign(VarId id, bool *negative)
{
    const Var *v = var_get(id);
    if (v->op != OP_NEG || !is_ready(v->dep[0]))
        return id;
    *negative = !*negative;
    return v->dep[0];
}

/* ---------------------------------------------------------------- words */

static VarId keep(Quick *k, VarId id)
{
    if (id)
        k->made[k->count++] = id;
    return id;
}

static VarId number(Quick *k, double x)
{
    uint64_t bits = 0;
    float single = (float) x;
    if (k->type == VarTypeFloat32)
        memcpy(&bits, &single, sizeof(single));
    else
        memcpy(&bits, &x, sizeof(x));
    return keep(k, node_literal(k->ts, k->device, k->type, bits, 1));
}

/* The literal that is wanted most. */
static VarId zero_of(Quick *k)
{
    const Var *v = *k->zero ? var_get(*k->zero) : NULL;
    if (v && v->type == k->type && v->device == k->device)
        return *k->zero;
    VarId zero = node_literal(k->ts, k->device, k->type, 0, 1);
    var_drop(*k->zero);
    return *k->zero = zero;
}

static VarId unary(Quick *k, Op op, VarId a)
{
    return a ? keep(k, arith_unary(k->ts, op, a)) : 0;
}

static VarId binary(Quick *k, Op op, VarId a, VarId b)
{
    return a && b ? keep(k, arith_binary(k->ts, op, a, b)) : 0;
}

static VarId selection(Quick *k, VarId mask, VarId a, VarId b)
{
    return mask && a && b ? keep(k, arith_ternary(k->ts, OP_SELECT, mask, a, b)) : 0;
}

/* 'value', but 0 where x is 0. Of operations there is nothing to simplify. */
static VarId unless_zero(Quick *k, VarId x, VarId value)
{
    VarId zero = zero_of(k);
    if (!x || !value || !zero)
        return 0;
    const Var *test = var_get(x), *v = var_get(value);
    if (test->op == OP_LITERAL || v->op == OP_LITERAL || test->type != v->type)
        return selection(k, binary(k, OP_EQ, x, zero), zero, value);
    uint32_t size = var_lanes(v) > var_lanes(test) ? var_lanes(v) : var_lanes(test);
    VarId none =
        keep(k, node_operation(k->ts, var_head(OP_EQ, VarTypeBool, k->device, 0),
                               var_lanes(test), var_pair(x, zero), 0));
    return none ? keep(k, node_operation(k->ts,
                                         var_head(OP_SELECT, k->type, k->device, 0),
                                         size, var_pair(none, zero), value))
                : 0;
}

/* Can g * w, g / w not be NaN because g is 0? */
static bool is_harmless(VarId g, VarId w)
{
    const Var *x = var_get(g), *y = var_get(w);
    return (x->op == OP_LITERAL &&
            ad_rule_bits_are((VarType) x->type, x->value.literal, false)) ||
           (y->op == OP_LITERAL &&
            ad_rule_bits_are((VarType) y->type, y->value.literal, true) &&
            ad_rule_bits_are((VarType) y->type, y->value.literal, false));
}

/* g * w or g / w, and 0 where g is 0. A sign of g goes to the result, in case it
 * is added to something. */
static VarId guarded(Quick *k, Op op, VarId g, VarId w)
{
    bool negative = false;
    if (g && w)
        g = strip_sign(g, &negative);
    VarId result = binary(k, op, g, w);
    if (result && !is_harmless(g, w))
        result = unless_zero(k, g, result);
    return negative ? unary(k, OP_NEG, result) : result;
}

static VarId convert(Quick *k, VarId g)
{
    return g ? keep(k, arith_cast(k->ts, g, k->receiver, false)) : 0;
}

#define D_NUMBER(x) number(k, x)
#define D_1(op, x) unary(k, OP_##op, x)
#define D_2(op, x, y) binary(k, OP_##op, x, y)
#define D_TIMES(x, w) guarded(k, OP_MUL, x, w)
#define D_OVER(x, w) guarded(k, OP_DIV, x, w)
#define D_WHERE(m, x) selection(k, m, x, zero_of(k))
#define D_UNLESS(m, x) selection(k, m, zero_of(k), x)
#define D_UNLESS_ZERO(x, y) unless_zero(k, x, y)
#define D_REPLACE_GRAD(x, y) (x) /* which is evaluated for the derivative only */
#define D_CONVERT(x) convert(k, x)
#define D_TETRAGAMMA(x) 0 /* not asked for */

/* ---------------------------------------------------------------- rows as functions */

#define PLAIN(op, reason)

#define RULE(op, operand, contribution)                                         \
    static VarId op##_##operand(Quick *k)                                       \
    {                                                                           \
        const VarId a = k->operands[0], b = k->operands[1], c = k->operands[2], \
                    y = k->operands[3], g = k->g;                               \
        (void) a, (void) b, (void) c, (void) y, (void) g;                       \
        return contribution;                                                    \
    }
#include "ad/rule/ad_rules.def"
#include "lower/math/math.def"
#undef RULE

/* In the order of ad_rule.c. */
static VarId (*const rows[])(Quick *k) = {
#define RULE(op, operand, contribution) op##_##operand,
#include "ad/rule/ad_rules.def"
#include "lower/math/math.def"
#undef RULE
};

/* ---------------------------------------------------------------- the way in */

bool ad_quick_applies(AdRuleId rule, uint64_t held, VarId g)
{
    if (rule == RULE_IDENTITY)
        return true;
    VarType type = (VarType) var_get(g)->type;
    if (rule < RULE_TABLE || ad_rule_is_long(rule) || !is_ready(g) ||
        (type != VarTypeFloat32 && type != VarTypeFloat64))
        return false;
    if (!ad_graph_holds_several(rule))
        return is_ready(ad_var_index(held));
    const AdHeld *several = (const AdHeld *) (uintptr_t) held;
    for (uint32_t i = 0; i < several->count; i++)
        if (!is_ready(ad_var_index(several->leaves[i])))
            return false;
    return true;
}

VarId ad_quick_contribution(ThreadState *ts, AdRuleId rule, uint64_t held, VarId g,
                            VarType receiver, VarId *zero)
{
    if (rule == RULE_IDENTITY) {
        var_inc(g);
        return g;
    }
    const Var *v = var_get(g);
    Quick k;
    k.ts = ts;
    k.g = g;
    k.zero = zero;
    k.type = (VarType) v->type;
    k.receiver = receiver;
    k.device = v->device;
    k.count = 0;
    uint64_t leaves[4];
    ad_rule_operands(rule, held, leaves);
    for (int i = 0; i < 4; i++)
        k.operands[i] = ad_var_index(leaves[i]);
    VarId result = rows[rule - RULE_TABLE](&k);
    if (result)
        var_inc(result);
    for (uint32_t i = 0; i < k.count; i++)
        var_dec(k.made[i]);
    return result;
}

/* ---------------------------------------------------------------- sums */

/* A summand: x or x * y, negative or not, where a mask is set, or where it is not. What
 * it refers to is borrowed. */
typedef struct Summand {
    VarId x, y, mask; /* the latter two may be 0 */
    bool negative, inverted;
} Summand;

/* Look through a selection between something as large and 0. */
static VarId strip_mask(VarId id, VarId *mask, bool *inverted)
{
    const Var *v = var_get(id);
    if (v->op != OP_SELECT || !is_ready(v->dep[0]))
        return id;
    bool second = ad_quick_is_zero(v->dep[1]);
    VarId inner = v->dep[second ? 2 : 1];
    if (!(second || ad_quick_is_zero(v->dep[2])) || !is_ready(inner) ||
        var_lanes_of(inner) != var_lanes(v))
        return id;
    *mask = v->dep[0];
    *inverted = second;
    return inner;
}

static Summand take_apart(VarId id)
{
    Summand s = { 0 };
    s.x = strip_mask(strip_sign(id, &s.negative), &s.mask, &s.inverted);
    s.x = strip_sign(s.x, &s.negative);
    const Var *v = var_get(s.x);
    if (v->op == OP_MUL && (v->type == VarTypeFloat32 || v->type == VarTypeFloat64) &&
        is_ready(v->dep[0]) && is_ready(v->dep[1])) {
        s.x = v->dep[0];
        s.y = v->dep[1];
    }
    return s;
}

/* sum + s, whatever its mask is. */
static VarId add_unmasked(ThreadState *ts, VarId sum, const Summand *s)
{
    if (!s->y)
        return arith_binary(ts, s->negative ? OP_SUB : OP_ADD, sum, s->x);
    bool second = var_get(s->y)->op == OP_LITERAL; /* whose negation takes nothing */
    VarId x = second ? s->y : s->x, y = second ? s->x : s->y, factor = x;
    if (s->negative)
        factor = arith_unary(ts, OP_NEG, x);
    else
        var_inc(factor);
    VarId result = factor ? arith_ternary(ts, OP_FMA, factor, y, sum) : 0;
    var_drop(factor);
    return result;
}

/* sum + s, where the mask is set. A sum that is 0 elsewhere stays so: it need not wait
 * for the mask. */
static VarId add_summand(ThreadState *ts, VarId sum, const Summand *s)
{
    VarId mask = 0, zero = 0, inner = sum;
    bool inverted = false;
    if (s->mask)
        inner = strip_mask(sum, &mask, &inverted);
    if (mask && (mask != s->mask || inverted != s->inverted))
        inner = sum;
    else if (mask)
        zero = var_get(sum)->dep[inverted ? 1 : 2];
    VarId all = add_unmasked(ts, inner, s);
    if (!all || !s->mask)
        return all;
    VarId other = zero ? zero : sum;
    VarId result = arith_ternary(ts, OP_SELECT, s->mask, s->inverted ? other : all,
                                 s->inverted ? all : other);
    var_dec(all);
    return result;
}

VarId ad_quick_add(ThreadState *ts, VarId a, VarId b, bool made)
{
    Summand s = { .x = b };
    if (made)
        s = take_apart(b);
    else
        s.x = strip_sign(b, &s.negative);
    bool negative = false;
    VarId sum = strip_sign(a, &negative);
    /* y - x, x * y - z */
    if (negative && !s.negative && !s.mask)
        return s.y ? add_summand(ts, a, &s) : arith_binary(ts, OP_SUB, s.x, sum);
    s.negative ^= negative;
    VarId result = add_summand(ts, sum, &s);
    if (!result || !negative)
        return result;
    VarId negated = arith_unary(ts, OP_NEG, result);
    var_dec(result);
    return negated;
}

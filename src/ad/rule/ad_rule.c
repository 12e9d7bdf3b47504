/*
 * ad_rule.c -- see ad_rule.h: the rules of ad_rules.def and math.def as code
 *
 * Each row becomes a function and a number.
 */
#include "ad/rule/ad_rule.h"

#include <math.h>
#include <string.h>

#include "ad/rule/ad_apply.h"
#include "ad/rule/ad_rows.h"
#include "base/alloc.h"
#include "base/error.h"
#include "lower/math/derivative.h"

/* What is known while a rule is applied, and what its expression has made so far. */
typedef struct Case {
    uint64_t operands[4]; /* a, b, c, y */
    uint64_t g;
    JitBackend backend;
    VarType type, receiver;
    uint64_t made[144]; /* owned; the longest rule, tetragamma(), makes 125 */
    uint32_t count;
} Case;

/* ---------------------------------------------------------------- words */

static uint64_t keep(Case *k, uint64_t leaf)
{
    if (leaf)
        k->made[k->count++] = leaf;
    return leaf;
}

static uint64_t number(Case *k, double x)
{
    switch (k->type) {
    case VarTypeFloat16:
        return keep(k, jit_var_f16(k->backend, (float) x));
    case VarTypeFloat32:
        return keep(k, jit_var_f32(k->backend, (float) x));
    default:
        return keep(k, jit_var_f64(k->backend, x));
    }
}

static uint64_t apply(Case *k, Op op, uint32_t n, const uint64_t *operands)
{
    for (uint32_t i = 0; i < n; i++)
        if (!operands[i])
            return 0;
    return keep(k, ad_apply(op, n, operands));
}

bool ad_rule_bits_are(VarType type, uint64_t bits, bool finite)
{
    double value;
    float single;
    switch (type) {
    case VarTypeFloat16:
        return finite ? (bits & 0x7c00) != 0x7c00 : (bits & 0x7fff) != 0;
    case VarTypeFloat32:
        memcpy(&single, &bits, sizeof(single));
        value = single;
        break;
    default:
        memcpy(&value, &bits, sizeof(value));
    }
    return finite ? isfinite(value) : value != 0;
}

/* Is this a literal other than 0, or one that is finite? */
static bool is_literal(uint64_t leaf, bool finite)
{
    VarInfo info;
    return jit_var_peek_info(ad_var_index(leaf), &info) &&
           info.state == VarStateLiteral &&
           ad_rule_bits_are(info.type, info.literal, finite);
}

/* Can g * w, g / w not be NaN because g is 0? */
static bool is_harmless(uint64_t g, uint64_t w)
{
    return is_literal(g, false) || (is_literal(w, true) && is_literal(w, false));
}

/* 'value', but 0 where the gradient g is 0. A gradient that is tracked may have become
 * 0 by chance, as that of a residual does: the result depends on it as 'value' does.
 * Where it is 0 since lanes were masked, so are its derivatives. */
static uint64_t unless_zero(uint64_t g, uint64_t value)
{
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(g), &info), 0);
    uint64_t zero = jit_var_literal(info.backend, info.type, &(uint64_t){ 0 }, 1, 0);
    uint64_t none = zero ? ad_apply(OP_EQ, 2, (uint64_t[]){ g, zero }) : 0;
    uint64_t result =
        none ? ad_apply(OP_SELECT, 3, (uint64_t[]){ none, zero, value }) : 0;
    if (result && ad_var_node(g)) {
        uint64_t plain = result;
        result = ad_var_replace_grad(plain, value);
        ad_var_dec_ref(plain);
    }
    ad_var_dec_ref(zero);
    ad_var_dec_ref(none);
    return result;
}

static uint64_t times(Case *k, uint64_t g, uint64_t w)
{
    return g && w ? keep(k, ad_rule_times(g, w)) : 0;
}

/* g / w, but 0 where g is 0. */
static uint64_t over(Case *k, uint64_t g, uint64_t w)
{
    uint64_t quotient = apply(k, OP_DIV, 2, (uint64_t[]){ g, w });
    if (!quotient || is_harmless(g, w))
        return quotient;
    return keep(k, unless_zero(g, quotient));
}

static uint64_t replace(Case *k, uint64_t x, uint64_t y)
{
    return x && y ? keep(k, ad_var_replace_grad(x, y)) : 0;
}

static uint64_t convert(Case *k, uint64_t g)
{
    return g ? keep(k, ad_var_cast(g, k->receiver, 0)) : 0;
}

/* A half and its function's operands in single precision. False: error recorded. */
static bool widen(Case *k)
{
    k->type = VarTypeFloat32;
    TRY(k->g = keep(k, ad_var_cast(k->g, k->type, 0)), false);
    for (int i = 0; i < 4; i++)
        if (k->operands[i])
            TRY(k->operands[i] = keep(k, ad_var_cast(k->operands[i], k->type, 0)),
                false);
    return true;
}

/* The derivative of the trigamma function, by its asymptotic series (Abramowitz and
 * Stegun, 6.4.13) after a shift to arguments of at least 12 (6.4.6), and by reflection
 * (6.4.7) below 1/2. It is accurate to a few ulp, not to one. */
static uint64_t tetragamma(Case *k, uint64_t a)
{
    static const double terms[] = {
        /* (n + 1) B_n for n = 2, 4, ... */
        1.0 / 2, -1.0 / 6, 1.0 / 6, -3.0 / 10, 5.0 / 6, -691.0 / 210, 35.0 / 2,
    };
#define OP1(op, x) apply(k, op, 1, (uint64_t[]){ x })
#define OP2(op, x, y) apply(k, op, 2, (uint64_t[]){ x, y })
#define CUBE(x) OP2(OP_MUL, OP2(OP_MUL, x, x), x)
    uint64_t low = OP2(OP_LT, a, number(k, 0.5));
    uint64_t x =
        apply(k, OP_SELECT, 3, (uint64_t[]){ low, OP2(OP_SUB, number(k, 1), a), a });
    uint64_t sum = number(k, 0);
    for (int i = 0; i < 12 && sum; i++) {
        uint64_t inverse = OP1(OP_RCP, OP2(OP_ADD, x, number(k, i)));
        sum = OP2(OP_ADD, sum, CUBE(inverse));
    }
    uint64_t inverse = OP1(OP_RCP, OP2(OP_ADD, x, number(k, 12)));
    uint64_t square = OP2(OP_MUL, inverse, inverse), series = number(k, terms[6]);
    for (int i = 5; i >= 0; i--)
        series =
            apply(k, OP_FMA, 3, (uint64_t[]){ series, square, number(k, terms[i]) });
    series = OP2(OP_ADD, OP2(OP_MUL, series, square), inverse);
    series = OP2(OP_ADD, OP2(OP_MUL, series, square), square);
    sum = OP2(OP_ADD, OP2(OP_ADD, sum, sum), series);
    uint64_t turns = OP2(OP_MUL, a, number(k, 3.14159265358979323846));
    uint64_t wave = OP2(OP_DIV, number(k, 3.14159265358979323846), OP1(OP_SIN, turns));
    wave = OP2(OP_MUL, CUBE(wave), OP1(OP_COS, turns));
    wave = OP2(OP_ADD, OP2(OP_ADD, wave, wave), sum);
    return OP1(OP_NEG, apply(k, OP_SELECT, 3, (uint64_t[]){ low, wave, sum }));
#undef CUBE
#undef OP1
#undef OP2
}

#define D_NUMBER(x) number(k, x)
#define D_1(op, x) apply(k, OP_##op, 1, (uint64_t[]){ x })
#define D_2(op, x, y) apply(k, OP_##op, 2, (uint64_t[]){ x, y })
#define D_TIMES(x, w) times(k, x, w)
#define D_OVER(x, w) over(k, x, w)
#define D_WHERE(m, x) apply(k, OP_SELECT, 3, (uint64_t[]){ m, x, number(k, 0) })
#define D_UNLESS(m, x) apply(k, OP_SELECT, 3, (uint64_t[]){ m, number(k, 0), x })
#define D_UNLESS_ZERO(x, y) D_UNLESS(D_2(EQ, x, number(k, 0)), y)
#define D_REPLACE_GRAD(x, y) replace(k, x, y)
#define D_CONVERT(x) convert(k, x)
#define D_TETRAGAMMA(x) tetragamma(k, x)

uint64_t ad_rule_times(uint64_t g, uint64_t w)
{
    uint64_t product = ad_apply(OP_MUL, 2, (uint64_t[]){ g, w });
    if (!product || is_harmless(g, w))
        return product;
    uint64_t result = unless_zero(g, product);
    ad_var_dec_ref(product);
    return result;
}

/* ---------------------------------------------------------------- rows as functions */

#define PLAIN(op, reason)
#define RULE(op, operand, contribution)                                            \
    static uint64_t op##_##operand(Case *k)                                        \
    {                                                                              \
        const uint64_t a = k->operands[0], b = k->operands[1], c = k->operands[2], \
                       y = k->operands[3], g = k->g;                               \
        (void) a, (void) b, (void) c, (void) y, (void) g;                          \
        return contribution;                                                       \
    }
#include "ad/rule/ad_rules.def"
#include "lower/math/math.def"
#undef RULE

typedef struct Row {
    uint64_t (*contribution)(Case *k);
    Op op;
} Row;

static const Row rows[] = {
#define RULE(op, operand, contribution) { op##_##operand, OP_##op },
#include "ad/rule/ad_rules.def"
#include "lower/math/math.def"
#undef RULE
};

enum {
    BEFORE_ROWS = RULE_TABLE - 1,
#define RULE(op, operand, contribution) ID_##op##_##operand,
#include "ad/rule/ad_rules.def"
    ID_FUNCTIONS, /* the first of math.def */
    BEFORE_FUNCTIONS = ID_FUNCTIONS - 1,
#include "lower/math/math.def"
#undef RULE
    ID_END
};
static_assert(ID_END <= UINT8_MAX, "rules are numbered in a byte");

/* ---------------------------------------------------------------- what is known */

void ad_rule_operands(AdRuleId rule, uint64_t held, uint64_t operands[4])
{
    uint8_t what = ad_needs[rule];
    memset(operands, 0, 4 * sizeof(*operands));
    if (what & (what - 1))
        memcpy(operands, ((const AdHeld *) (uintptr_t) held)->leaves,
               4 * sizeof(*operands));
    else if (what)
        operands[__builtin_ctz(what)] = held;
}

bool ad_rule_is_long(AdRuleId rule)
{
    return rows[rule - RULE_TABLE].op == OP_TRIGAMMA;
}

AdRuleId ad_rule_of(Op op, uint32_t operand)
{
    enum { in_a, in_b, in_c };
    static const AdRuleId table[OP_COUNT][3] = {
#define RULE(name, letter, contribution) \
    [OP_##name][in_##letter] = ID_##name##_##letter,
#include "ad/rule/ad_rules.def"
#include "lower/math/math.def"
#undef RULE
    };
    return table[op][operand];
}

#undef PLAIN
#undef MATH
const char *ad_rule_reason(Op op)
{
    static const char *const table[OP_COUNT] = {
#define RULE(op, operand, contribution)
#define PLAIN(name, reason) [OP_##name] = reason,
#include "ad/rule/ad_rules.def"
    };
    return table[op];
}

const char *ad_rule_name(AdRuleId rule)
{
    return rule < RULE_TABLE ? NULL : op_info[rows[rule - RULE_TABLE].op].name;
}

/* ---------------------------------------------------------------- holding, applying */

bool ad_rule_hold_several(AdRuleId rule, uint32_t n, const uint64_t *operands,
                          uint64_t result, uint64_t *held)
{
    *held = 0;
    AdHeld *several = ad_graph_held(sizeof(AdHeld));
    TRY(several, false);
    several->count = 4;
    for (uint32_t i = 0; i < 4; i++) {
        if (ad_needs[rule] & 1u << i)
            several->leaves[i] = i == 3 ? result : i < n ? operands[i] : 0;
        ad_graph_retain(several->leaves[i]);
    }
    *held = (uintptr_t) several;
    return true;
}

uint64_t ad_rule_contribution(AdRuleId rule, uint64_t held, NodeId target, uint64_t g,
                              VarType type, bool tracked)
{
    if (rule == RULE_IDENTITY)
        return ad_var_inc_ref(g);
    Case k;
    k.g = g;
    k.receiver = type;
    k.count = 0;
    ad_rule_operands(rule, held, k.operands);
    if (tracked && k.operands[3])
        k.operands[3] |= (uint64_t) target << 32;
    for (int i = 0; !tracked && i < 4; i++)
        k.operands[i] = ad_var_index(k.operands[i]);
    VarInfo info;
    TRY(jit_var_peek_info(ad_var_index(g), &info), 0);
    k.backend = info.backend;
    k.type = info.type;
    bool wide = k.type == VarTypeFloat16 && rule >= ID_FUNCTIONS;
    uint64_t result = 0;
    if (!wide || widen(&k))
        result = rows[rule - RULE_TABLE].contribution(&k);
    result = wide ? convert(&k, result) : result;
    ad_var_inc_ref(result);
    for (uint32_t i = 0; i < k.count; i++)
        ad_var_dec_ref(k.made[i]);
    return result;
}

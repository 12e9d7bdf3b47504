/*
 * ad_needs.c -- what edges hold: see ad_rule.h; ad_graph.h declares it
 *
 * An expression over a, b, c, y and g is also one over bits, which says what of these
 * it names.
 */
#include "ad/rule/ad_rows.h"
#include "ad/rule/ad_rule.h"
#include "lower/math/derivative.h"

enum { a = HOLD_A, b = HOLD_B, c = HOLD_C, y = HOLD_Y, g = 0 };

#define D_NUMBER(x) 0
#define D_1(op, x) (x)
#define D_2(op, x, y) ((x) | (y))
#define D_TIMES(x, w) ((x) | (w))
#define D_OVER(x, w) ((x) | (w))
#define D_WHERE(m, x) ((m) | (x))
#define D_UNLESS(m, x) ((m) | (x))
#define D_UNLESS_ZERO(x, y) ((x) | (y))
#define D_REPLACE_GRAD(x, y) ((x) | (y))
#define D_CONVERT(x) (x)
#define D_TETRAGAMMA(x) (x)

#define PLAIN(op, reason)
#define RULE(op, operand, contribution) contribution,

const uint8_t ad_needs[] = {
    [RULE_MOVES] = HOLD_OWN,
    [RULE_INTO] = HOLD_OWN,
    [RULE_OUT_OF] = HOLD_OWN,
#include "ad/rule/ad_rules.def"
#include "lower/math/math.def"
};

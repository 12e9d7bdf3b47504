/*
 * ad_rule.h -- how a gradient changes on its way along an edge
 *
 * Rules of elementwise operations are rows of ad_rules.def: the derivative by an
 * operand is a weight for each entry, so that the same expression serves both
 * directions. What moves entries around (gathers, reductions, ...) brings functions of
 * its own (AdMoves). Custom operations are neither: ad_traverse.c knows them.
 */
#ifndef AD_RULE_AD_RULE_H
#define AD_RULE_AD_RULE_H

#include "ad/graph/ad_size.h"

enum {
    RULE_NONE,     /* not tracked */
    RULE_IDENTITY, /* the gradient as it is */
    RULE_MOVES,    /* 'held' is an AdMoves */
    RULE_INTO,     /* of a custom operation: from an input, */
    RULE_OUT_OF,   /* ... to an output; 'held' is its AdOperation */
    RULE_TABLE     /* rows of ad_rules.def and math.def follow */
};

/** The rule for operand number k of an operation. */
AdRuleId ad_rule_of(Op op, uint32_t operand);
/** Why results of an operation are not tracked; NULL: they are, or nobody knows. */
const char *ad_rule_reason(Op op);
/** Bits of ad_needs[] (ad_graph.h): values that the rule names; a struct of its own. */
enum { HOLD_A = 1, HOLD_B = 2, HOLD_C = 4, HOLD_Y = 8, HOLD_OWN = 0xc0 };
/** The name of the operation, or NULL. */
const char *ad_rule_name(AdRuleId rule);
/** What an edge of a rule of ad_rules.def has to hold, given operands and result (not
 *  tracked by itself): references are new. False: out of memory. */
bool ad_rule_hold_several(AdRuleId rule, uint32_t n, const uint64_t *operands,
                          uint64_t result, uint64_t *held);
static inline bool ad_rule_hold(AdRuleId rule, uint32_t n, const uint64_t *operands,
                                uint64_t result, uint64_t *held)
{
    uint8_t what = ad_needs[rule];
    if (what & (what - 1))
        return ad_rule_hold_several(rule, n, operands, result, held);
    *held = !what            ? 0
            : what == HOLD_Y ? result
                             : operands[__builtin_ctz(what)];
    ad_graph_retain(*held);
    return true;
}

/** What a rule of ad_rules.def makes of a gradient: a new reference, 0: error
 *  recorded. 'type' is that of the receiver; 'target' the node of the result, for
 *  rules that hold it (an edge does not hold its own node). With 'tracked' the
 *  result is tracked as what it is made of. Without lock; 'held' must be held
 *  meanwhile. */
uint64_t ad_rule_contribution(AdRuleId rule, uint64_t held, NodeId target, uint64_t g,
                              VarType type, bool tracked);

/** The values that a rule of ad_rules.def names, by a, b, c, y (borrowed); 0: it does
 *  not. */
void ad_rule_operands(AdRuleId rule, uint64_t held, uint64_t operands[4]);
/** Does a rule of ad_rules.def make more than 64 variables? */
bool ad_rule_is_long(AdRuleId rule);
/** Are these the bits of a float other than 0, or of a finite one? */
bool ad_rule_bits_are(VarType type, uint64_t bits, bool finite);

/** g * w, but 0 where g is 0. A new reference, 0: error. Without lock. */
uint64_t ad_rule_times(uint64_t g, uint64_t w);

/** Operations that move entries around. Functions give new references, 0: error
 *  recorded; called without lock. */
/** What lanes do with operand 0, an array. */
typedef enum AdMovesKind {
    MOVES_WHOLE, /* the operation is one on whole arrays */
    MOVES_LANES, /* each has its own entry, or the only one */
    MOVES_READ,  /* they read it by index */
    MOVES_WRITE, /* they write to it by index */
    MOVES_LOCAL  /* each accesses a local array of its own (ad_local.c) */
} AdMovesKind;

typedef struct AdMoves {
    AdHeld held;
    const char *name;
    /** What a gradient of operand number k gives the result, what one of the result
     *  gives the operand. 'into' (taken over, may be 0) is the receiver's gradient
     *  so far, which is part of what is returned. If the gradient of an array that is
     *  written to (operand 0 of MOVES_WRITE) is nobody else's, it comes as 'into', to
     *  be written to in place, and 'g' is 0. */
    uint64_t (*forward)(const struct AdMoves *m, uint32_t operand, uint64_t g,
                        uint64_t into);
    uint64_t (*backward)(const struct AdMoves *m, uint32_t operand, uint64_t g,
                         uint64_t into);
    AdMovesKind kind;
    bool local[2]; /* operand 0 is a local array; the result is one */
    bool near;     /* backward reads 'g' by index (ad_near.h), but in bodies */
    AdSize size[2]; /* of operands 0 and 1 */
} AdMoves;

#endif

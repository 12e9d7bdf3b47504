/*
 * ad_quick.h -- gradients that are plain, along edges with rules of operations
 *
 * Most edges of most traversals: nothing is tracked, no array has to be summed up and
 * no queued write run. Then a rule is applied directly, under the lock that the
 * traversal holds. Everything else goes by ad_rule_contribution().
 *
 * Requires the graph lock.
 */
#ifndef AD_TRAVERSE_AD_QUICK_H
#define AD_TRAVERSE_AD_QUICK_H

#include "ad/rule/ad_rule.h"

/** May ad_quick_contribution() be asked? The gradient and what the edge holds are plain
 *  for it. */
bool ad_quick_applies(AdRuleId rule, uint64_t held, VarId g);
/** As ad_rule_contribution(): a new reference, 0: error recorded. '*zero' is a
 *  reference to a literal that is kept from call to call, or 0. */
VarId ad_quick_contribution(ThreadState *ts, AdRuleId rule, uint64_t held, VarId g,
                            VarType receiver, VarId *zero);
/** The sum: a new reference, 0: error recorded. Neither has queued writes. If 'b' was
 *  'made' for it and is a product, that is rounded with the sum, once. */
VarId ad_quick_add(ThreadState *ts, VarId a, VarId b, bool made);
/** Is it the literal 0? */
static inline bool ad_quick_is_zero(VarId id)
{
    return var_get(id)->op == OP_LITERAL && !var_get(id)->value.literal;
}

#endif

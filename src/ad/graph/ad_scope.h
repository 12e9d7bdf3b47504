/*
 * ad_scope.h -- suspending, resuming and isolating
 *
 * Requires the graph lock.
 */
#ifndef AD_GRAPH_AD_SCOPE_H
#define AD_GRAPH_AD_SCOPE_H

#include "ad/graph/ad_thread.h"

/** The thread's innermost scope, NULL if there is none. */
static inline AdScopeState *ad_scope_current(void)
{
    const AdThread *t = thread_self.ad;
    return t && t->scope_count ? &t->scopes[t->scope_count - 1] : NULL;
}

bool ad_scope_contains(const AdScopeState *s, uint64_t serial);

/** Does the thread track operations with this variable? */
static inline bool ad_scope_tracks(uint64_t leaf)
{
    if (ad_graph_is_plain(leaf))
        return false;
    const AdScopeState *s = ad_scope_current();
    return !s ||
           ad_scope_contains(s, ad_graph_node(ad_var_node(leaf))->serial) == s->only;
}

/** Do reverse traversals stop at a border? */
static inline bool ad_scope_isolates(void)
{
    const AdScopeState *s = ad_scope_current();
    return s && s->border;
}

/** Is nothing tracked, not even what begins? */
static inline bool ad_scope_refuses(void)
{
    const AdScopeState *s = ad_scope_current();
    return s && s->only && !s->count;
}

/** Does what a body is given keep its node? If nothing is tracked it does, too: the
 *  body may resume. */
static inline bool ad_scope_gives(uint64_t leaf)
{
    return ad_scope_tracks(leaf) || (ad_scope_refuses() && !ad_graph_is_plain(leaf));
}

/** A node was made: the innermost scope tracks it. False: out of memory. */
bool ad_scope_admit(NodeId id);
/** A node was made that stands for one which the innermost scope suspends: so it does
 *  with this one. False: out of memory. */
bool ad_scope_suspend(NodeId id);
/** A reverse traversal has stopped at this node, to go on after the scope. */
bool ad_scope_postpone(NodeId id);
/** A forward traversal has to do with this node in such a way: scopes note it that are
 *  younger than the node. */
void ad_scope_note(NodeId id, ADCrossing crossing);
/** A copy of what the innermost scope suspends; NULL: nothing, or ('*ok' is false)
 *  out of memory. With the lock. */
AdScopeState *ad_scope_copy(bool *ok);
void ad_scope_free_copy(AdScopeState *copy);
/** Suspend what the copy says (NULL: nothing), and nothing else. What is suspended
 *  reads as if it had no gradient. To be ended with ad_scope_leave(). Without lock.
 *  False: out of memory. */
bool ad_scope_enter_copy(const AdScopeState *copy);
/** Take the innermost scope off the stack. */
void ad_scope_drop(AdThread *t);

#endif

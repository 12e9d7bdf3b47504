/*
 * ad_border.h -- gradients that reach the border of a body which is under way
 *
 * A reverse traversal in the body of a loop, conditional or call stops at variables
 * from before it; what has come to them waits until the construct is complete. Then it
 * goes on from there, once for all of them, as after a scope that isolates
 * (ad_scope.h).
 *
 *     recorded     the border is that of the outermost construct that is recorded. Each
 *                  lane and iteration has a gradient of its own, so it becomes an
 *                  effect of the body, which adds it to an array of the variable's
 *                  size: to the entry of the lane, or to the only one. What waits is
 *                  that array. Nodes of bodies around the innermost one are passed on
 *                  the way, but their edges stay: other bodies may come by them.
 *     evaluated    the innermost construct's, in a loop that of the iteration: results
 *                  have the edges of those before. Gradients count in active lanes, and
 *                  what has come to a node is in the node.
 *
 * In the derivative of a body nothing can leave: its effects are not those of the body.
 *
 * The placeholder of a call's input stands for the input; a state of a loop, for what
 * it was before only if the body leaves it alone, which is known when the loop is
 * complete.
 *
 * Gradients are added in ad_wait.h; what becomes of them at the end of a loop stands in
 * ad_settle.h.
 *
 * Requires the graph lock, unless a function says otherwise.
 */
#ifndef AD_GRAPH_AD_BORDER_H
#define AD_GRAPH_AD_BORDER_H

#include "ad/graph/ad_graph.h"

struct AdOpen;

typedef struct AdBorder {
    uint64_t serial; /* nodes below are outside; 0: there is no border */
    uint64_t inner;  /* recorded: nodes below are not of the innermost body */
    uint64_t lowest; /* what is outside and below cannot wait: a derivative is traced */
    bool recorded;
} AdBorder;

/** Something that waits. */
typedef struct AdWaiting {
    NodeId node;    /* a reference */
    VarId array;    /* a reference: its gradient, 0: none */
    bool goes_on;   /* a traversal has stopped here */
    bool looked_at; /* the body has asked for its gradient, or cleared it */
    bool taken;     /* a tangent was, for that of what it stands for */
    bool lost;      /* ... is another one, which nobody can know, if it is tracked */
} AdWaiting;

/** A gradient that a body which is recorded has of its own, of a node from before
 *  it. */
typedef struct AdLent {
    NodeId node;    /* a reference */
    uint64_t saved; /* owned: the gradient outside */
    bool set;       /* the body has another one; else it was cleared only */
    bool kept;      /* the program has set it, and no traversal has begun with it, or
                       one has brought it, and nobody has asked for it */
} AdLent;

/** What the placeholder of an open construct stands for. */
typedef struct AdStandsFor {
    NodeId outer; /* 0: nothing that is tracked */
    bool state;   /* in the first iteration only, unless the loop leaves it alone */
} AdStandsFor;

/** That of a traversal which begins now. Without lock. */
AdBorder ad_border(void);
/** Who keeps what waits there; NULL: nobody. Without lock. */
struct AdOpen *ad_border_keeper(void);
/** The innermost construct that is recorded; NULL: there is none. Without lock. */
struct AdOpen *ad_border_recorded(void);
/** Is this node beyond it? */
bool ad_border_is_outside(const AdBorder *b, NodeId id);
/** ... and does what comes to it wait in an array, to which it has to be added? */
bool ad_border_waits(const AdBorder *b, NodeId id);
/** Does it belong to a recorded body around the innermost one? */
bool ad_border_is_between(const AdBorder *b, NodeId id);
/** Is it the node of such a placeholder? */
bool ad_border_stands_for(NodeId id, AdStandsFor *found);
/** Does all that a node depends on lead to states of loops that are recorded, and are
 *  not tracked before these? False: out of memory. With the lock. */
bool ad_border_is_assumed(NodeId id, bool *assumed);
/** Something depends on the variable of this node as if it were not tracked. If it
 *  turns out to be, at the end of the constructs that are recorded, that is an error
 *  (ad_settle_plain()). There is one that is. With the lock. False: out of memory. */
bool ad_border_take_plain(NodeId id);
/** What gets the gradient of a node: of a placeholder that stands for a call's input,
 *  the input. */
NodeId ad_border_receiver(NodeId id);

/** A traversal stops at this node, which is outside, to go on when the construct is
 *  complete. False: error recorded. */
bool ad_border_postpone(const AdBorder *b, NodeId id);
/** The body looks at the gradient, or clears it: nothing may wait then. False (no error
 *  recorded): something does. Without lock. */
bool ad_border_look(NodeId id);
/** What waits for a node that is outside. NULL: error recorded. */
AdWaiting *ad_border_place(const AdBorder *b, NodeId id);
/** ... in the list of this construct. NULL: out of memory. */
AdWaiting *ad_border_waiting(struct AdOpen *open, NodeId id);
/** Within the innermost body that is recorded a node from outside has no gradient, or
 *  ('set') another one, until the body is complete. Traversals forward begin with it.
 *  With the lock. False: out of memory. */
bool ad_border_lend(NodeId id, bool set);
/** The same for one to which a tangent comes: it begins with the gradient outside, also
 *  if it has another one 'again'. */
bool ad_border_lend_copy(NodeId id, bool again);
/** The tangent of what a placeholder of an open construct stands for; of a state, as
 *  long as the loop leaves it alone, which is known when it is complete. '*tangent'
 *  is borrowed, 0: none. With the lock. False: out of memory. */
bool ad_border_find_tangent(NodeId id, uint64_t *tangent);
/** Has it? With the lock. */
bool ad_border_is_lent(NodeId id);
/** The program sets it; a traversal begins with it. With the lock. */
void ad_border_keep(NodeId id, bool kept);
/** Somebody has the gradient of a placeholder, and so that of what it stands for. With
 *  the lock. */
void ad_border_ask(NodeId id);
/** The body is complete: nothing was set that nobody will see. With the lock. False:
 *  error recorded. */
bool ad_border_check_lent(const struct AdOpen *open);
/** The body is complete, or given up. With the lock. */
void ad_border_take_back(struct AdOpen *open);
/** Gradients cannot leave, for this reason. False. */
bool ad_border_refuse(NodeId id, const char *reason);
/** Let go of what waits. */
void ad_border_drop(AdWaiting *list, uint32_t count);

#endif

/*
 * ad_operation.h -- custom operations: a node between inputs and outputs
 *
 * Edges lead from the inputs to the node of the operation and from there to the
 * outputs. Gradients that arrive at the node are kept here, one for each input or
 * output, until its turn comes, when one call turns those of one side into those of the
 * other.
 */
#ifndef AD_RULE_AD_OPERATION_H
#define AD_RULE_AD_OPERATION_H

#include "ad/graph/ad_graph.h"
#include "ad/graph/ad_set.h"

/** What becomes of the gradient of an operand. */
typedef enum AdArrival {
    ARRIVES_VALUE, /* it gets a value, in a body that of each lane */
    ARRIVES_ARRAY, /* it is an array that is added to by index */
    ARRIVES_NEVER  /* another array takes its place */
} AdArrival;

typedef struct AdOperation {
    AdHeld held;
    ADCustom custom;  /* 'name' is owned */
    const char *kind; /* of a region: "Loop", "If", "Call"; NULL: it is a user's */
    void *payload;
    uint32_t n_in, n_out;
    uint64_t *in, *out; /* gradients, owned; 0 = none */
    /* Nodes that these have come from, owned; 0 = none: first those of inputs. */
    NodeId *givers;
    struct AdScopeState *scope; /* what was suspended when it was made; NULL: nothing */
    struct AdDepends *depends;  /* owned; NULL: each output depends on each input */
    bool lends; /* gradients to the givers while it runs */
    /* What the payload holds and releases, NULL: nothing, or a user's. */
    const uint64_t *leaves;
    size_t leaf_count;
    /* NULL: ARRIVES_VALUE. What is added to custom.backward() finds in its place. */
    AdArrival (*arrival)(const void *payload, uint32_t input);
    /* NULL, or: instead of custom.forward, where nobody looks at some gradients of
       outputs: these may stay 0. References to those of inputs may be taken. */
    bool (*forward)(void *payload, uint64_t *in, uint64_t *out, const bool *wanted);
    Deferred last; /* the call of custom.release() */
} AdOperation;

/** Of an edge whose rule is RULE_INTO or RULE_OUT_OF. */
static inline AdOperation *ad_operation_of(uint64_t held)
{
    return (AdOperation *) (uintptr_t) held;
}

/** An operation and, in '*node', its node, which edges will hold: it has to be made
 *  before those of the outputs. With the lock, as the two functions below. NULL: out of
 *  memory. To be released with ad_graph_drop_held(). 'custom' is copied, and its
 *  release() called in the end unless 'payload' is set to NULL. */
AdOperation *ad_operation_make(const ADCustom *custom, void *payload, size_t n_in,
                               size_t n_out, NodeId *node);
/** Connect it with an input, with an output. */
bool ad_operation_add_input(AdOperation *op, NodeId node, NodeId source, size_t port);
bool ad_operation_add_output(AdOperation *op, NodeId node, NodeId target, size_t port);

/** ad_custom() for an operation of ours: 'arrival' says which gradients it adds to, and
 *  'leaves', which belong to the payload, what this holds. Without lock. */
bool ad_operation_track(const ADCustom *custom, void *payload,
                        AdArrival (*arrival)(const void *payload, uint32_t input),
                        const uint64_t *leaves, size_t leaf_count, size_t n_in,
                        const uint64_t *inputs, size_t n_out, uint64_t *outputs);

/** Keep a gradient that has come from the node of an input or output. With the lock. */
void ad_operation_give(AdOperation *op, bool input, size_t port, NodeId giver,
                       uint64_t gradient);
/** Turn gradients of one side into those of the other. Those that were there are
 *  dropped. If it lends, they are those of the givers again meanwhile: operations of
 *  users ask for gradients of variables that are not arguments. 'node' is that of the
 *  operation. Forward, outputs whose nodes are not in 'reached' are not wanted. Without
 *  lock. */
bool ad_operation_run(AdOperation *op, NodeId node, ADMode mode, bool tracked,
                      const AdSet *reached);
/** Drop all gradients, and the nodes that they have come from: these may hold the
 *  operation. With the lock. */
void ad_operation_clear(AdOperation *op);

#endif

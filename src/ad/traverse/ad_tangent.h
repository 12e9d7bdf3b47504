/*
 * ad_tangent.h -- a traversal under way, and forward ones in bodies: see ad_tangent.c
 *
 * Requires the graph lock, but ad_tangent_check().
 */
#ifndef AD_TRAVERSE_AD_TANGENT_H
#define AD_TRAVERSE_AD_TANGENT_H

#include "ad/graph/ad_border.h"
#include "ad/graph/ad_visits.h"

enum {
    SPOT_REACHED = 1,  /* a gradient has come by an edge */
    SPOT_RUN = 2,      /* a custom operation that was run */
    SPOT_WANTED = 4,   /* what leads there was enqueued, so it keeps its gradient */
    SPOT_HELD = 8,     /* a target, which is held until its turn is over */
    SPOT_SUM = 16,     /* in Traversal.sums */
    SPOT_END = 32,     /* in Traversal.ends */
    SPOT_BROUGHT = 64, /* forward, from before the body or scope: a tangent has come */
    SPOT_STANDS = 128, /* forward: it has that of what it stands for */
    SPOT_GIVER = 256,  /* it has edges to go on by */
    SPOT_OTHER = 1024, /* in Traversal.others */
    SPOT_KEPT = 512    /* SPOT_BROUGHT, and Traversal.kept has its gradient of before */
};

/* A node of a traversal. */
typedef struct Spot {
    NodeId id;
    uint32_t left;  /* edges by which its gradient is yet to leave */
    uint16_t flags; /* SPOT_... */
} Spot;

/* What the gradient of the node at a place was. */
typedef struct AdKept {
    uint32_t place;
    uint64_t grad; /* owned */
} AdKept;

/* Numbers of spots, whose nodes are held. */
typedef struct SpotList {
    uint32_t *spots;
    uint32_t count, capacity;
} SpotList;

typedef struct Traversal {
    ADMode mode;
    uint32_t flags;
    bool tracked;
    bool inside;     /* of a body: ad_thread_in_body() */
    bool watch;      /* debug mode: has every gradient been finite? */
    AdBorder border; /* backward, not within a body that is complete */
    uint64_t before; /* forward: nodes below are from before the body, or the scope that
                        isolates, and stay what they were */
    AdVisits visits;
    VarId zero;  /* for ad_quick.h */
    Spot *spots; /* by place in the set of their nodes */
    AdSet nodes;
    SpotList sums; /* whose gradients are to be summed up */
    SpotList ends; /* that have no edges to go on by, and gradients */
    bool reads;      /* from now on are listed: */
    SpotList others; /* those that have got gradients since one was read by index */
    AdKept *kept;  /* of nodes from before, that have gradients */
    uint32_t kept_count, kept_capacity;
} Traversal;

/** Forward: is it from before the body, or the scope? */
static inline bool ad_tangent_is_before(const Traversal *t, NodeId id)
{
    const AdNode *node = ad_graph_node(id);
    return node->serial < t->before && !(node->flags & (NODE_ENTRY | NODE_INNER));
}

/** A tangent comes to the node at this place. False: out of memory. */
bool ad_tangent_bring(Traversal *t, uint32_t place);
/** The one at this place is not needed any more: what the node had comes back. */
void ad_tangent_clear(Traversal *t, uint32_t place);
/** Can it come to a node that is from before, along this edge? Without lock. False:
 *  error recorded. */
bool ad_tangent_check(const AdEdge *edge, NodeId receiver);
/** The node at this place gives its tangent: that of what it stands for, if it is a
 *  placeholder of a body that is being recorded. False: out of memory. */
bool ad_tangent_stand(const Traversal *t, uint32_t place);
/** The traversal is over: placeholders have no tangents of their own, but those that it
 *  was to come to. False: out of memory. */
bool ad_tangent_return(const Traversal *t);

#endif

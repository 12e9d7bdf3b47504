/*
 * ad_graph.h -- the graph of derivatives: nodes, edges, gradients
 *
 * A node stands for a tracked variable, which holds it by the upper half of its index.
 * An edge leads from the node of an operand ('source') to that of a result ('target'),
 * belongs to the latter, holds the former, and knows how a gradient changes on its way
 * (ad_rule.h). Nodes know nothing of variables: where a derivative needs a value, the
 * edge holds it.
 *
 * Nodes have serial numbers that grow, and an edge leads from a lower to a higher one:
 * the order of creation is a topological order. They are even; odd ones are for nodes
 * that stand for others (ad_region.h). Edges are in two lists each. That of the source,
 * which may be long, is doubly linked, so that one is taken out in no time; that of the
 * target is not, and who takes many edges of one target out does it in one go. All
 * walks are iterative.
 *
 * Requires the graph lock, which guards all of it, unless a function says otherwise.
 * What is released may be a variable and then call back, so a function that lets go of
 * something does it under the lock like everything else in src/trace.
 */
#ifndef AD_GRAPH_AD_GRAPH_H
#define AD_GRAPH_AD_GRAPH_H

#include "drjit-core/ad.h"
#include "trace/graph/state.h"

typedef uint32_t NodeId;  /* 0 = none */
typedef uint32_t EdgeId;  /* 0 = none */
typedef uint8_t AdRuleId; /* ad_rule.h */

enum {
    NODE_OPERATION = 1, /* of a custom operation: between inputs and outputs */
    NODE_INNER = 2,     /* belongs to bodies of a region that is complete */
    NODE_ENTRY = 4,     /* ... where it stands for a node from outside */
    NODE_LABELLED = 8,  /* ad_graph_label() */
    NODE_CUT_IN = 16,   /* a traversal has cleared edges that led to it, */
    NODE_CUT_OUT = 32,  /* ... that left it */
    NODE_CLOSED = 64,   /* an entry of a region that is complete */
    NODE_PLAIN = 128,   /* of an array that has turned out not to be tracked */
    NODE_BROUGHT = 256  /* its gradient was brought by a forward traversal in a body or
                           scope that began after it: the next one replaces it */
};

/* These two are most of what a tracked operation takes, so they have no field that a
 * few of them need only: labels and families stand in a table beside. */
typedef struct AdNode {
    uint64_t grad;        /* owned; 0 = none. Of a free node: the next free one */
    uint64_t serial : 48; /* 0: the node is free */
    uint64_t backend : 2, type : 5, flags : 9;
    uint32_t refs;  /* by variables, and by edges that leave it */
    uint32_t size;  /* entries of the variable */
    EdgeId in, out; /* first edge that leads to it, that leaves it */
} AdNode;

typedef struct AdEdge {
    NodeId source, target;
    EdgeId next_in;            /* among the edges of the same target: mostly one to
                                  three. Free: the next free one */
    EdgeId next_out, prev_out; /* ... of the same source */
    AdRuleId rule;             /* how a gradient changes on its way */
    uint8_t passed : 1;        /* by a traversal, and to be dropped by it */
    uint8_t resumed : 1;       /* made where a suspended placeholder was resumed */
    uint8_t before : 1;        /* of a write in a loop: the source is not a variable,
                                  but stands for what iterations before have written to
                                  an array that is not tracked */
    uint16_t port;             /* number of the source among the operands; of a custom
                                  operation, of its input or output */
    uint64_t held;             /* a tracked variable or, if the rule holds several, an
                                  AdHeld; owned */
} AdEdge;
/** A list of edges; owned, by alloc.h. */
typedef struct AdEdges {
    EdgeId *edges;
    uint32_t count, capacity;
} AdEdges;

enum { AD_PORTS = 1 << 16 };
static_assert(sizeof(AdNode) == 32 && sizeof(AdEdge) == 32,
              "this is what a tracked operation takes");

/** What rules hold that need more than one variable; and what operations with rules of
 *  their own are made of. Shared by the edges of an operation. */
typedef struct AdHeld AdHeld;
struct AdHeld {
    uint32_t refs;
    uint32_t count;
    void (*release)(AdHeld *held); /* called instead of freeing it, if not NULL */
    uint64_t leaves[5];            /* owned */
};

/** What edges hold, a bit for each value, by rule. Defined above, with the rules. */
extern const uint8_t ad_needs[];
/** Is AdEdge.held an AdHeld? */
static inline bool ad_graph_holds_several(AdRuleId rule)
{
    return ad_needs[rule] & (ad_needs[rule] - 1);
}

/** Room for 'size' bytes, AdHeld included, zeroed. NULL: out of memory. Without
 *  lock. */
AdHeld *ad_graph_held(size_t size);
/** Let go of it. */
void ad_graph_drop_held(AdHeld *held);

/** The chunks that nodes and edges are in. */
enum { AD_CHUNK_BITS = 12, AD_CHUNK = 1 << AD_CHUNK_BITS };
extern AdNode **ad_graph_nodes;
extern AdEdge **ad_graph_edges;
/** Numbers ever used are below. */
extern uint32_t ad_graph_node_end, ad_graph_edge_end;

static inline AdNode *ad_graph_node(NodeId id)
{
    return ad_graph_nodes[id >> AD_CHUNK_BITS] + (id & (AD_CHUNK - 1));
}
static inline AdEdge *ad_graph_edge(EdgeId id)
{
    return ad_graph_edges[id >> AD_CHUNK_BITS] + (id & (AD_CHUNK - 1));
}

/** Does a leaf have no node, or one that counts as none (NODE_PLAIN)? */
static inline bool ad_graph_is_plain(uint64_t leaf)
{
    NodeId id = (NodeId) (leaf >> 32);
    return !id || ad_graph_node(id)->flags & NODE_PLAIN;
}

/** Does it belong to bodies of a region that is complete? Gradients have no business
 *  there but in a derivative of the region. */
static inline bool ad_graph_is_closed(NodeId id)
{
    return ad_graph_node(id)->flags & (NODE_INNER | NODE_CLOSED);
}

/** A new node with one reference; 0: out of memory. */
NodeId ad_graph_new_node(JitBackend backend, VarType type, size_t size);
/** ... for something like this variable, or like this node. */
NodeId ad_graph_new_for(VarId variable);
NodeId ad_graph_new_like(NodeId id);
static inline void ad_graph_ref(NodeId id)
{
    ad_graph_node(id)->refs++;
}
/** Drop a reference: the node, and what only it held, are freed with the last. */
void ad_graph_unref(NodeId id);

/** A new edge, which takes 'held' over (also on failure) and holds the source. False:
 *  out of memory, or 'port' is not below AD_PORTS (error recorded). */
bool ad_graph_new_edge(NodeId source, NodeId target, AdRuleId rule, size_t port,
                       uint64_t held);
void ad_graph_drop_edge(EdgeId id);
/** The edges of a target that are marked as passed; its nodes remember. */
void ad_graph_drop_passed(NodeId target);
struct AdSet;
/** Drop the edges of a target that come from nodes which are not in the set. Others
 *  hold variables as before, but not these nodes. */
void ad_graph_keep_edges(NodeId target, const struct AdSet *sources);
/** Have an edge leave from, or lead to, another node. */
void ad_graph_set_source(EdgeId id, NodeId source);
/** All edges of 'from' become those of 'to', which has none. */
void ad_graph_move_edges(NodeId from, NodeId to);
/** Give a node the serial number that the next one would get. */
void ad_graph_renumber(NodeId id);

/** References to both halves of an index. */
static inline void ad_graph_retain(uint64_t leaf)
{
    if (ad_var_node(leaf))
        ad_graph_ref(ad_var_node(leaf));
    if (ad_var_index(leaf))
        var_inc(ad_var_index(leaf));
}
void ad_graph_release(uint64_t leaf);

/** The serial number that the next node gets. */
uint64_t ad_graph_serial(void);
/** Name a node; the string is copied. */
bool ad_graph_set_label(NodeId id, const char *label);
const char *ad_graph_label(NodeId id);
/** The node belongs to the bodies of this family (ad_region.h), and has no label.
 *  False: out of memory. */
bool ad_graph_set_family(NodeId id, uint32_t family);
/** 0: to none. */
uint32_t ad_graph_family(NodeId id);
/** Is there a node, perhaps another one than there was? */
static inline bool ad_graph_has_node(NodeId id)
{
    return id < ad_graph_node_end && ad_graph_node(id)->serial;
}
/** Is there an edge of this number, perhaps another one than there was? */
static inline bool ad_graph_has_edge(EdgeId id)
{
    return id < ad_graph_edge_end && ad_graph_edge(id)->source;
}
/** One past the largest id of a node there ever was; how many there are now. */
static inline NodeId ad_graph_end(void)
{
    return ad_graph_node_end;
}
size_t ad_graph_count(void);

#endif

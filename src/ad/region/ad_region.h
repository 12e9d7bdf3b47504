/*
 * ad_region.h -- derivatives of loops, conditionals and calls
 *
 * While a body is recorded, operations in it are tracked as usual; edges then hold
 * variables that exist in the body only. When the region is complete, the part of the
 * graph that belongs to its bodies is cut off (ad_region_close): where an edge comes
 * from outside, a node of its own takes the place of the outer one, an *entry*. What is
 * left outside is a custom operation between the nodes that were used and those of the
 * results. The bodies, with their part of the graph, are its *template*.
 *
 * A derivative of the region is another region of the same kind. For each body of the
 * template the gradients of its outputs (reverse) or entries (forward) are set, and a
 * traversal records what becomes of them, in a body that is closed at once: this is
 * tracing with variables of a body that is complete. Then these variables, and of the
 * template's what they need, are recorded again (region_replay.h) as the bodies of the
 * new region. Effects of the template are not repeated. With ADFlagCreateGraph the
 * traversal is tracked, and what it has traced is the template of the new region. Those
 * of loops are made of several loops, each with the body in it (ad_block.h).
 *
 * Requires the graph lock.
 *
 * Entries are of two kinds: for values of lanes, whose gradients are results of the new
 * region, and for arrays that are accessed by position, whose gradients are arrays that
 * the new region writes to. Operations on whole arrays (reductions, ...) cannot be part
 * of a body; their results count as outside.
 */
#ifndef AD_REGION_AD_REGION_H
#define AD_REGION_AD_REGION_H

#include "ad/graph/ad_open.h"
#include "ad/graph/ad_size.h"
#include "ad/rule/ad_operation.h"
#include "ir/program.h"
#include "trace/flow/region_replay.h"

/** How bodies use a variable from outside. An array that they read and write has two
 *  entries, as what is read is the content from before the region. */
typedef enum AdAccess {
    ACCESS_VALUE, /* that of a lane */
    ACCESS_READ,  /* by position */
    ACCESS_WRITE
} AdAccess;

/** A node from outside, and what takes its place in the bodies. */
typedef struct AdEntry {
    uint64_t outer;    /* serial number of the node; 0: none, a state of a loop that is
                          not tracked before */
    NodeId outer_node; /* a reference if 'held', else perhaps gone */
    NodeId node;       /* the entry; a reference */
    AdAccess access;
    bool array;        /* accessed by position */
    bool written;      /* an array that the bodies write to */
    bool before;        /* ... in iterations before only (ad_cut_is_before()) */
    bool held;
    bool used;      /* results or arrays depend on it */
    bool forgotten; /* it is not, so what it stands for is not known any more */
    bool suspended;   /* outside by name: it is tracked as what an iteration makes of
                         it, and stands for nothing (ad_placeholder.h) */
    bool lifted;      /* ... and the body has resumed it */
    bool placeholder; /* of this node, which is no other entry's, also if these stand
                         for the same */
    uint32_t state;   /* of a loop, 1 + its number */
} AdEntry;

/** A state of a loop. */
typedef struct AdState {
    VarId placeholder, initial; /* references */
    uint32_t entry;             /* 1 + its number; 0: it is not differentiated */
    bool changes;               /* the body makes something else of it */
    bool array;                 /* the body writes to it */
    bool active;                /* it depends on what is tracked */
} AdState;

typedef struct AdBodyTemplate {
    VarId active;      /* placeholder for the lanes that execute it; a reference */
    uint64_t *outputs; /* tracked within the template; references. Of a callable, 0
                          for those that are not tracked */
} AdBodyTemplate;

struct AdTemplate {
    NodeId operation;    /* of which it is the payload; weak */
    uint32_t family; /* the same for a region and its derivatives, whose bodies share
                            nodes */
    RegionKind kind;
    bool block; /* no region: the only body is recorded where it stands (ad_block.h).
                   'kind' is that of a call, which has inputs, too */
    uint8_t device;
    char *name;
    uint32_t scope, end; /* variables of the bodies have scopes from this one on; what
                            is traced when they are complete, from that one on */
    ReplayGap *gaps;     /* owned: scopes in between that they do not have */
    uint32_t gap_count;
    uint32_t n_out; /* outputs of each body */
    AdBodyTemplate *bodies;
    uint32_t body_count, body_capacity;
    uint64_t *passed; /* of a conditional: outputs that are suspended, the same of all
                         bodies, else 0; references. NULL: none is */
    uint64_t *untracked; /* outputs of all callables of which none is tracked */
    bool descending; /* they were recorded in this order */
    AdEntry *entries;
    uint32_t entry_count, entry_capacity;
    AdArray *arrays;
    uint32_t array_count;
    AdArray *family_arrays; /* of a derivative: those of the regions that it is made
                               from, whose bodies have the same numbers */
    uint32_t family_array_count;
    AdSize size;       /* lanes, as the core counts them: arrays that are passed through
                          or accessed by position have none */
    uint32_t *tracked; /* numbers of the outputs that are results with a node */
    uint32_t tracked_count;
    uint32_t *lookup; /* 1 + number of an entry by outer node and kind: a hash table */
    uint32_t lookup_capacity;
    /* what the region was given; references */
    VarId condition;             /* of a conditional, a loop; the ids of a call */
    VarId mask;                  /* of a call; 0: none */
    VarId around;                /* the mask that it was recorded under; 0: none */
    VarIds inputs, placeholders; /* of a call */
    uint32_t *ids, *callable_of; /* of a call, NULL: as numbered; owned */
    uint32_t target_count;
    VarId testing; /* of a loop: placeholder for the lanes that compute the condition */
    AdState *states; /* of a loop, as many as there are outputs */
    uint32_t state_count, state_capacity;
    int64_t max_iterations; /* ADLoopIterations, or a bound */
};

/** Begin to track a region whose recording has begun, under a mask that was on top
 *  until then (0: none). NULL: out of memory. */
AdOpen *ad_region_open(uint32_t handle, RegionKind kind, uint8_t device, VarId around,
                       const char *name);
/** The mask on top, 0 if there is none: a new reference. Without lock. */
VarId ad_region_mask(void);
/** Let go of one that is not in the list. */
void ad_region_drop(AdOpen *open);
/** Give up all that are open from this one on. */
void ad_region_abandon(uint32_t handle);
/** Give up the recording itself, too, if it has not been, and all that is open inside
 *  of it. */
void ad_region_give_up(uint32_t handle);
/** The region turned out to be none: what was tracked is part of what is around it.
 *  False: out of memory. */
bool ad_region_dissolve(uint32_t handle);
/** A body is complete: its mask and outputs. False: out of memory. */
bool ad_region_add_body(AdOpen *open, VarId active, size_t n, const uint64_t *outputs);
/** Results of a conditional that both sides have passed through are tracked as
 *  before if they are suspended. */
void ad_region_give_passed(const AdTemplate *t, uint64_t *results);
/** The same for a callable, of which there may be thousands: what is not tracked is not
 *  held. All have as many outputs. */
bool ad_region_add_callable(AdOpen *open, VarId active, size_t n,
                            const uint64_t *outputs);
/** The region is complete. 'results' are its variables, in the order of outputs, and
 *  become tracked. False: error recorded, results are as before. */
bool ad_region_close(uint32_t handle, uint64_t *results);

/** The instances of a call; lists are copied and may be NULL. False: out of memory. */
bool ad_region_set_targets(AdTemplate *t, uint32_t count, const uint32_t *ids,
                           const uint32_t *callable_of);

/** The bodies of 't' contain those of another template, which write to arrays. False:
 *  out of memory. */
bool ad_region_share_arrays(AdTemplate *t, const AdTemplate *from);
/** So do its entries, with the same numbers. With 'inputs' those of a loop's states
 *  that change stand for nothing yet. False: error recorded. */
bool ad_region_share_entries(AdTemplate *t, const AdTemplate *from, bool inputs);
/** Nodes that entries stand for may have become others since the region was closed,
 *  when one around it was: find them by the edges that lead to the operation. */
void ad_region_find_outer(AdTemplate *t);
/** Entry number 'which' stands for this variable if it is tracked. */
void ad_region_set_outer(AdTemplate *t, uint32_t which, uint64_t outer);
/** A new entry that stands for nothing yet, for a placeholder that is like this
 *  variable. Its node, 0: out of memory. */
NodeId ad_region_new_entry(AdTemplate *t, VarId like);
/** ... for the placeholder of 'outer', whose reference moves: the placeholder with that
 *  node. The entry stands for 'outer' if that is tracked. */
uint64_t ad_region_input(AdTemplate *t, uint64_t outer, VarId placeholder);
/** The list is copied. False: out of memory. */
bool ad_region_set_gaps(AdTemplate *t, const ReplayGap *gaps, uint32_t count);

/** The entry for an outer node, made when it is first met; NULL: out of memory. Its
 *  serial number is the outer node's, or the next: it comes before all of the
 *  bodies. */
AdEntry *ad_region_find_entry(AdTemplate *t, NodeId outer, AdAccess access);

/** A tracked leaf gets a node of its own, which depends on the one that it had. False:
 *  out of memory. */
bool ad_region_own_node(uint64_t *leaf);

/** The next state of a loop, which begins with 'initial'. If it is 'differentiated' it
 *  has an entry of its own, also where 'initial' is not tracked. The placeholder,
 *  whose reference moves, is tracked then. 0: out of memory. */
uint64_t ad_region_state(AdTemplate *t, uint64_t initial, VarId placeholder,
                         bool differentiated);

#endif

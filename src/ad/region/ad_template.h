/*
 * ad_template.h -- bodies of a complete region, with their part of the graph
 *
 * See ad_region.h for what they are good for. Entries stand for what bodies use from
 * outside, and are of two kinds: for values of lanes, whose gradients are results of a
 * new region, and for arrays that are accessed by index, whose gradients are arrays
 * that the new region writes to.
 *
 * Requires the graph lock.
 */
#ifndef AD_REGION_AD_TEMPLATE_H
#define AD_REGION_AD_TEMPLATE_H

#include "ad/graph/ad_open.h"
#include "ad/graph/ad_size.h"
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
    bool array;   /* accessed by index */
    bool written; /* an array that the bodies write to */
    bool before;  /* ... in iterations before only (ad_cut_is_before()) */
    bool held;
    bool used;        /* results or arrays depend on it */
    bool forgotten;   /* it is not, so what it stands for is not known any more */
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
    NodeId operation; /* of which it is the payload; weak */
    uint32_t family;  /* the same for a region and its derivatives, whose bodies share
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
    bool descending;     /* they were recorded in this order */
    AdEntry *entries;
    uint32_t entry_count, entry_capacity;
    AdArray *arrays;
    uint32_t array_count;
    AdArray *family_arrays; /* of a derivative: those of the regions that it is made
                               from, whose bodies have the same numbers */
    uint32_t family_array_count;
    AdSize size;       /* lanes, as the core counts them: arrays that are passed through
                          or accessed by index have none */
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

/** Let go of one. */
void ad_template_free(AdTemplate *t);
/** Its operation has its inputs, whose edges hold them: entries do so no more. */
void ad_template_drop_outer(AdTemplate *t);
/** The backend that it is recorded for. Without lock. */
JitBackend ad_template_backend(const AdTemplate *t);

/** A placeholder stands for this input. False: out of memory. */
bool ad_template_add_input(AdTemplate *t, VarId input, VarId placeholder);
/** The instances of a call; lists are copied and may be NULL. False: out of memory. */
bool ad_template_set_targets(AdTemplate *t, uint32_t count, const uint32_t *ids,
                             const uint32_t *callable_of);

/** The bodies of 't' contain those of another template, which write to arrays. False:
 *  out of memory. */
bool ad_template_share_arrays(AdTemplate *t, const AdTemplate *from);
/** So do its entries, with the same numbers. With 'inputs' those of a loop's states
 *  that change stand for nothing yet. False: error recorded. */
bool ad_template_share_entries(AdTemplate *t, const AdTemplate *from, bool inputs);
/** Nodes that entries stand for may have become others since the region was closed,
 *  when one around it was: find them by the edges that lead to the operation. */
void ad_template_find_outer(AdTemplate *t);
/** The list is copied. False: out of memory. */
bool ad_template_set_gaps(AdTemplate *t, const ReplayGap *gaps, uint32_t count);

/** The entry that has this node; NULL: none has. */
AdEntry *ad_template_entry_of(const AdTemplate *t, NodeId node);
/** The entry for an outer node, made when it is first met; NULL: out of memory. Its
 *  serial number is the outer node's, or the next: it comes before all of the
 *  bodies. */
AdEntry *ad_template_find_entry(AdTemplate *t, NodeId outer, AdAccess access);

#endif

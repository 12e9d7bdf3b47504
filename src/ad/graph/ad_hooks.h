/*
 * ad_hooks.h -- what rooms below need of those above them
 *
 * The table is declared here and defined in ad_derive.c, so that the rooms below name
 * nothing above them.
 */
#ifndef AD_GRAPH_AD_HOOKS_H
#define AD_GRAPH_AD_HOOKS_H

#include "ad/graph/ad_open.h"
#include "trace/graph/holders.h"

typedef struct AdHooks {
    /** ad_region_drop(): let go of a region that a thread which ends has left open.
     *  With the lock. */
    void (*drop_open)(AdOpen *open);
    /** ad_traverse_from(): go on from the nodes that a traversal has stopped at, in a
     *  scope that has ended. Without lock. */
    bool (*traverse_from)(const NodeId *nodes, uint32_t count);
    /** Is it a placeholder of this region, and for what? With the lock. */
    bool (*stands_for)(const AdOpen *open, NodeId id, AdStandsFor *found);
    /** ad_holders_add(): add up the variables that the graph holds. With the lock. */
    void (*add_holders)(Holders *h);
    /** ad_depends_follow(): go on from an operation. With the lock. */
    bool (*go_through)(const AdEdge *by, bool forward, uint64_t turn, AdEdges *list,
                       bool *known);
    /** ad_sides_follow(): a body has written to what another one has written to. With
     *  the lock. */
    bool (*follow)(const AdOpen *open, uint64_t leaf, NodeId last);
    /** ad_placeholder_resume(): does a scope that resumes these, or all (n is 0), have
     *  to do with states that were suspended outside? With the lock. */
    bool (*resume)(size_t n, const uint64_t *indices);
    /** ad_placeholder_resumed(): such a scope, whose nodes begin here, is left. With
     *  the lock. */
    void (*resumed)(uint64_t serial);
    /** ad_derive(): the derivative of a region. Without lock. */
    bool (*derive)(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
                   const bool *wanted);
} AdHooks;

extern const AdHooks ad_hooks;

#endif

/*
 * ad_thread.h -- what a thread has of its own: scopes, and edges to be traversed
 */
#ifndef AD_AD_THREAD_H
#define AD_AD_THREAD_H

#include "ad/ad_set.h"
#include "base/text.h"
#include "base/thread.h"

/** An edge in a list, with the serial numbers by which it is sorted. It may be gone by
 *  the time it is looked at. */
typedef struct AdVisit {
    uint64_t source, target; /* serial numbers */
    EdgeId edge;
    uint32_t giver, receiver; /* during the traversal: their places in its list */
    uint8_t operand;
} AdVisit;

/** Where the list was made from. */
typedef struct AdRoot {
    uint64_t serial;
    NodeId node; /* may be gone or another one: see 'serial' */
    ADMode mode; /* the direction in which its edges were looked for */
} AdRoot;

typedef struct AdVisits {
    AdVisit *list;
    uint32_t count, capacity;
    AdRoot *roots;
    uint32_t root_count, root_capacity;
    AdSet seen;        /* nodes whose edges to their inputs are in the list */
    uint64_t *serials; /* of these nodes */
    uint32_t serial_capacity;
} AdVisits;

void ad_visits_free(AdVisits *v);
/** Forget what was listed; memory for more than a few thousand edges is given back. */
void ad_visits_clear(AdVisits *v);

/** What suspend, resume and isolate say, innermost last. Nodes are named by serial
 *  number, which no other node ever gets. */
typedef struct AdScopeState {
    bool only;     /* tracked are the nodes in the set; else all that are not */
    uint64_t *set; /* open addressing, 0 = free */
    uint32_t count, capacity;
    uint64_t border; /* reverse traversals stop at nodes below; 0 = none */
    NodeId *waiting; /* such nodes, a reference each */
    uint32_t waiting_count, waiting_capacity;
} AdScopeState;

typedef struct AdThread {
    AdScopeState *scopes;
    uint32_t scope_count, scope_capacity;
    AdVisits visits;     /* what ad_enqueue() has noted */
    struct AdOpen *open; /* regions that are being recorded, innermost last */
    uint32_t open_count, open_capacity;
    bool tracked; /* the traversal under way is one with ADFlagCreateGraph */
    Text whos, graphviz;
} AdThread;

AdThread *ad_thread_make(void);

/** The calling thread's; NULL: memory is out. */
static inline AdThread *ad_thread(void)
{
    return thread_self.ad ? thread_self.ad : ad_thread_make();
}

#endif

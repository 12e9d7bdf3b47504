/*
 * ad_thread.h -- what a thread has of its own: scopes, and edges to be traversed
 */
#ifndef AD_GRAPH_AD_THREAD_H
#define AD_GRAPH_AD_THREAD_H

#include "ad/graph/ad_border.h"
#include "ad/graph/ad_visits.h"
#include "base/text.h"
#include "base/thread.h"
#include "trace/graph/node.h"

/** What suspend, resume and isolate say, innermost last. Nodes are named by serial
 *  number, which no other node ever gets. */
typedef struct AdScopeState {
    bool isolates; /* is not about what is tracked, which is that of the scope around */
    uint32_t crossed; /* how forward traversals have met nodes from before the border:
                         ADCrossing */
    bool strict;   /* what is suspended has no gradient */
    bool only;     /* tracked are the nodes in the set; else all that are not */
    uint64_t *set; /* open addressing, 0 = free */
    uint32_t count, capacity;
    const char *file; /* the line that began it; interned, NULL: not known */
    uint32_t line;
    uint64_t resumes; /* it resumes states of open loops, and nodes made in it have this
                         or a greater serial number; 0: it does not */
    uint64_t border; /* reverse traversals stop at nodes below; 0 = none */
    uint64_t beginning; /* forward ones that are looked for from results, too */
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
    AdWaiting *due; /* for what waits of constructs that are complete */
    uint32_t due_count, due_capacity;
    /* The derivative of a body is traced: nodes below are not made by it, regions
       before are not inside of it. 0: none is. */
    uint64_t derived_serial;
    uint32_t derived_open;
    struct AdLast *last; /* of the outermost region that is derived; NULL: nothing */
    /* Local arrays for derivatives of loops (ad_room.h): bytes of a lane, made since
       this many launches, in the recording with this scope. */
    size_t room_taken;
    uint64_t room_launches;
    uint32_t room_scope;
    Text whos, graphviz, explain;
} AdThread;

AdThread *ad_thread_make(void);
/** Does the calling thread record a body whose variables exist while a kernel runs? */
bool ad_thread_in_body(void);

/** Is the calling thread in debug mode? Nothing of it is done, or costs anything, if it
 *  is not. */
static inline bool ad_thread_is_debugging(void)
{
    const ThreadState *ts = thread_self.state;
    return ts && state_flag(ts, JitFlagDebug);
}

/** Somebody asks whether a variable is tracked, for its gradient, or has it traversed:
 *  the function that the thread records reads it (node_read()). Without lock. */
static inline void ad_thread_read(uint64_t leaf)
{
    ThreadState *ts = thread_self.state;
    if (!ts || !ts->recording)
        return;
    state_lock();
    if (var_exists(ad_var_index(leaf)))
        node_read(ts, ad_var_index(leaf));
    state_unlock();
}

/** The calling thread's; NULL: out of memory. */
static inline AdThread *ad_thread(void)
{
    return thread_self.ad ? thread_self.ad : ad_thread_make();
}

#endif

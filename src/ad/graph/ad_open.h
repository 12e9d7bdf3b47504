/*
 * ad_open.h -- regions that a thread is recording, and what they write to
 *
 * While the body of a loop, conditional or call is recorded, operations in it are
 * tracked as usual. What is noted of the region meanwhile stands in a list of the
 * thread, innermost last: where its nodes begin, and to which arrays it has written.
 * What is made of that when the region is complete is the matter of ad_region.h.
 *
 * Requires the graph lock.
 */
#ifndef AD_GRAPH_AD_OPEN_H
#define AD_GRAPH_AD_OPEN_H

#include "ad/graph/ad_thread.h"

typedef struct AdTemplate AdTemplate; /* ad_template.h */
typedef struct AdLoop AdLoop;         /* ad_region.h */

/** An array that a body writes to: it may depend on those of bodies recorded before. */
typedef struct AdArray {
    NodeId node;    /* a reference */
    VarId variable; /* as long as the region is open */
    uint32_t body;  /* which */
    bool visible;   /* from outside: it is an output of the operation */
    bool hidden;    /* there are other writes to it, which are not part of the graph */
} AdArray;

/** A region that the thread is recording with its part of the graph. */
typedef struct AdOpen {
    uint32_t handle;  /* of the recording */
    uint64_t border;  /* nodes of the bodies have this or a greater serial number; of
                         a loop that runs at once, those of the iteration */
    uint32_t body;    /* that is being recorded */
    bool straight;    /* the sides of the conditional are not bodies */
    bool sides;       /* they are */
    AdTemplate *t;    /* owned */
    const char *name; /* that of the template */
    AdLoop *loop;     /* owned; NULL: it is not a loop */
    AdArray *writes;  /* so far */
    uint32_t write_count, write_capacity;
    VarId *untracked; /* arrays with further writes, which are not part of the graph */
    uint32_t untracked_count, untracked_capacity;
    AdWaiting *waiting; /* for the end of it (ad_border.h) */
    uint32_t waiting_count, waiting_capacity;
    AdLent *lent; /* to the body that is being recorded */
    uint32_t lent_count, lent_capacity;
    NodeId *plain; /* references: taken for untracked (ad_border_take_plain()) */
    uint32_t plain_count, plain_capacity;
} AdOpen;

/** Does the graph follow a region that begins now? Where nothing is tracked there is no
 *  AdOpen, and recording costs what it does without derivatives: what the bodies track
 *  themselves ends with them. */
bool ad_open_follows(void);
/** The innermost one if it has this handle, NULL if it has not. */
AdOpen *ad_open_find(uint32_t handle);
/** The number of results of the innermost recording, if it has this handle and is not
 *  followed. False: it has not (no error recorded). */
bool ad_open_is_plain(uint32_t handle, size_t *results);
/** Take the innermost one out of the list, which there must be, and put one into it:
 *  only what is tracked meanwhile is part of it. The former cannot fail. False: out of
 *  memory. */
AdOpen ad_open_pop(void);
bool ad_open_push(const AdOpen *open);
/** Let go of what a thread that ends has left open. */
void ad_open_drop_all(AdThread *t);

/** An array is written to, and this is what it is now (borrowed): the innermost region
 *  notes that, if there is one. False: error recorded. */
bool ad_open_note_write(uint64_t leaf);
/** The same for one of the regions. False: out of memory. */
bool ad_open_add_write(AdOpen *open, uint64_t leaf);
/** Something is written to an array without being part of the graph, which is a loop's
 *  matter: the innermost region notes that. False: out of memory. */
bool ad_open_note_untracked(VarId variable);
/** Is a loop being recorded, whose iterations follow each other? */
bool ad_open_in_loop(void);
/** ... or a conditional, whose sides do as well? */
bool ad_open_in_order(void);
/** What the region's last write has made of this variable; NULL: it does not write to
 *  it. */
const AdArray *ad_open_last_write(const AdOpen *open, VarId variable);
/** Does anybody hold what the array is after this write, and nothing was written
 *  after that? */
bool ad_open_is_visible(const AdOpen *open, uint32_t which);
/** What this one, which is not in the list any more, has written to, that around it has
 *  written to as well. Writes of sides that are not bodies are those of the body
 *  around; of others, what is left of them outside. */
bool ad_open_pass_writes(AdOpen *open);

/** The tracked array that a write has made (borrowed). */
static inline uint64_t ad_open_leaf(const AdArray *write)
{
    return (uint64_t) write->node << 32 | write->variable;
}

#endif

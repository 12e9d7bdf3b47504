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
 * Operations on whole arrays (reductions, ...) cannot be part of a body; their results
 * count as outside.
 */
#ifndef AD_REGION_AD_REGION_H
#define AD_REGION_AD_REGION_H

#include "ad/region/ad_template.h"

/** What the thread knows of a loop, with its AdOpen. */
struct AdLoop {
    JitBackend backend;
    bool evaluated;
    size_t n;
    uint64_t *initial; /* references: the states as they were given */
    uint64_t *own;     /* references, NULL if recorded: those with nodes of their own */
    uint64_t *before;  /* references: the states with which the body began */
    VarId active;      /* a reference: of a recorded one, the mask of its body, or 0 */
};

/** Begin to track a region whose recording has begun, under a mask that was on top
 *  until then (0: none). NULL: out of memory. */
AdOpen *ad_region_open(uint32_t handle, RegionKind kind, uint8_t device, VarId around,
                       const char *name);
/** Lists of leaves with references: a copy (NULL: out of memory), and its end (NULL is
 *  fine). */
uint64_t *ad_region_retain_list(size_t n, const uint64_t *list);
void ad_region_drop_list(size_t n, uint64_t *list);
/** Let go of what is known of a loop; NULL is fine. */
void ad_region_free_loop(AdLoop *loop);
/** Let go of one that is not in the list. */
void ad_region_drop(AdOpen *open);
/** Give up all that are open from this one on. */
void ad_region_abandon(uint32_t handle);
/** Give up the recording itself, too, if it has not been, and all that is open inside
 *  of it. */
void ad_region_give_up(uint32_t handle);
/** ... unless all is well, which is returned. Without lock. */
bool ad_region_check(uint32_t handle, bool ok);
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

#endif

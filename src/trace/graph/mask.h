/*
 * mask.h -- the mask stack of a thread
 *
 * The mask on top is combined into the mask of every gather, scatter, atomic, local
 * access, check and print that the thread traces. Those below do not matter: a mask
 * that is pushed inside of a body is combined with the one below, so that inactive
 * lanes stay inactive, and the mask of a body contains the outer one (the operand of
 * its region does). A body that is recorded has the part of the stack above its own
 * mask to itself.
 *
 * A mask that has values is that of a body which runs at once, or was pushed outside of
 * bodies. What such a body does need not be about its lanes: the mask counts for
 * operations of its size, those of one lane, and those of any size if it has one entry.
 *
 * Requires the graph lock. The stack holds a reference to each mask.
 */
#ifndef TRACE_GRAPH_MASK_H
#define TRACE_GRAPH_MASK_H

#include "trace/graph/node.h"

/** Put a mask on top; inside of a body, combined with the one that was (unless it is a
 *  literal of size 1, and the body is one that runs at once: then nothing is masked).
 *  False: error recorded. */
bool mask_push(ThreadState *ts, VarId mask);
/** Take it off. An error if there is none, or if it is not the open body's to take. */
bool mask_pop(ThreadState *ts);
/** The mask on top (borrowed), 0 if there is none. */
static inline VarId mask_top(const ThreadState *ts)
{
    return ts->mask_count ? ts->masks[ts->mask_count - 1] : 0;
}
/** The variable whose lanes an operation has: 'first' or one of the others (0: none),
 *  whichever comes first and has not one entry; 'first' if all have one. */
VarId mask_wide(const VarId *ids, uint32_t count, VarId first);
/** The mask on top (borrowed), 0 if there is none or it does not count for operations
 *  of as many lanes as 'wide' (0: of one) has. */
VarId mask_for(ThreadState *ts, VarId wide);
/** 'mask' (0: true in all lanes) and the one on top, for an operation of as many lanes
 *  as 'wide' has (0: as the mask has): a new reference, of size 1 if it is the same in
 *  all lanes. Their sizes must agree, and they have to be on the device; 'function' is
 *  for the message. */
VarId mask_apply(ThreadState *ts, uint8_t device, VarId mask, VarId wide,
                 const char *function);

/** The body of a region begins, with this mask for all that is traced in it (0 leaves
 *  the one outside). '*mark' is for mask_close(). */
bool mask_open(ThreadState *ts, VarId active, uint32_t *mark);
/** Has it taken off all that it put above its mask? Else an error; 'function' is for
 *  the message. */
bool mask_check(const ThreadState *ts, const char *function);
/** It ends: its mask goes, and whatever it left above, which is an error as well. */
bool mask_close(ThreadState *ts, uint32_t mark, const char *function);
/** The same without complaint, for a body that is given up. */
void mask_drop(ThreadState *ts, uint32_t mark);

/** Release the stack of a thread that ends. */
void mask_free(ThreadState *ts);

#endif

/*
 * region_turns.h -- how often a loop is likely to go round
 *
 * Known are loops that count: a state begins with a literal, another one is added to it
 * each time, and the condition compares it with a third, whatever else it asks for. It
 * is a matter of literals alone, so that equal programs are treated alike. Requires the
 * graph lock.
 */
#ifndef TRACE_FLOW_REGION_TURNS_H
#define TRACE_FLOW_REGION_TURNS_H

#include "trace/graph/region.h"

enum {
    REGION_TURNS = 16,        /* assumed where nothing is known */
    REGION_MOST_TURNS = 1 << 20 /* no more are counted, so that products fit */
};

/** Expected iterations of a region that is complete; 1 if it is not a loop. */
uint32_t region_turns(VarId region);

#endif

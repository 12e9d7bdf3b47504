/*
 * call_end.h -- what becomes of a call when all callables are recorded
 *
 * Requires the graph lock. Meaning as in region.h.
 */
#ifndef TRACE_FLOW_CALL_END_H
#define TRACE_FLOW_CALL_END_H

#include "trace/flow/call.h"

/** Which instances there are. */
typedef struct CallTargets {
    VarId self;                  /* ids, 0 = none */
    uint32_t count;
    const uint32_t *ids;         /* NULL: 1, 2, ... */
    const uint32_t *callable_of; /* NULL: 0, 1, ... */
} CallTargets;

bool call_end(ThreadState *ts, uint32_t call, const CallTargets *targets,
              VarId *results);

#endif

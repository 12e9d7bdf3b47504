/*
 * cond.h -- recording conditionals
 *
 * The functions of region.h, which says what they do. Requires the graph lock.
 */
#ifndef TRACE_FLOW_COND_H
#define TRACE_FLOW_COND_H

#include "trace/graph/record.h"

uint32_t cond_start(ThreadState *ts, const char *name, VarId condition);
bool cond_append(ThreadState *ts, uint32_t cond, size_t n, const VarId *outputs);
bool cond_end(ThreadState *ts, uint32_t cond, VarId *results);

#endif

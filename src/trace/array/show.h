/*
 * show.h -- variables as text: entries, the table of all, the graph
 *
 * Requires the graph lock.
 */
#ifndef TRACE_ARRAY_SHOW_H
#define TRACE_ARRAY_SHOW_H

#include "trace/graph/state.h"

/** Entries of a variable (evaluates and waits). */
bool show_entries(ThreadState *ts, VarId id, Text *out);
void show_whos(Text *out);
void show_graphviz(Text *out);
VarState show_state(VarId id);

#endif

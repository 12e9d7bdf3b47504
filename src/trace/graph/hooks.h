/*
 * hooks.h -- what the graph needs of the rooms above it
 *
 * Some operations on variables cannot do without an evaluation. The table is declared
 * here and defined in trace/eval/evaluate.c, so that the graph names nothing above it.
 */
#ifndef TRACE_GRAPH_HOOKS_H
#define TRACE_GRAPH_HOOKS_H

#include <stdbool.h>

#include "trace/graph/state.h"

typedef struct Hooks {
    /** Run the queued writes into a variable, whichever thread queued them. May release
     *  the graph lock on the way. */
    bool (*run_pending)(ThreadState *ts, VarId id);
    /** Copy the second of each pair of arrays in memory to the first. */
    void (*take_back)(ThreadState *ts, const VarIds *pairs);
    /** Release what a thread keeps for its next evaluation. */
    void (*free_workspace)(struct Workspace *workspace);
} Hooks;

extern const Hooks hooks;

#endif

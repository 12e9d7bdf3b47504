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
    /** Give up the function that a thread is recording, if it is. */
    void (*give_up)(ThreadState *ts);
    /** The function that a thread records depends on the size of a variable. Memory
     *  that is out is an error in the end. */
    void (*pin)(ThreadState *ts, VarId id);
    /** A variable of the same value in the place of one that stands for an operation on
     *  these operands, so that the thread's recording knows its size; consumes it. 0:
     *  memory is out. */
    VarId (*keep_size)(ThreadState *ts, VarId id, const VarId *operands,
                       uint32_t count);
    /** The function that a thread records reads a variable that it has not made. */
    void (*note_read)(ThreadState *ts, VarId id);
    /** Copy the second of each pair of arrays in memory to the first. */
    void (*take_back)(ThreadState *ts, const VarIds *pairs);
    /** Release what a thread keeps for its next evaluation. */
    void (*free_workspace)(struct Workspace *workspace);
} Hooks;

extern const Hooks hooks;

#endif

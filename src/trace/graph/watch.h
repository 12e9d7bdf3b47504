/*
 * watch.h -- what the graph and evaluations tell the function that a thread records
 *
 * Where sizes come from, what is read and what is launched. The table is declared here
 * and defined in freeze/freezing.c, which says what becomes of it; where nothing is
 * recorded all of these do nothing. Where there is no result, the end of the recording
 * reports that memory ran out; others are then false, or 0.
 */
#ifndef TRACE_GRAPH_WATCH_H
#define TRACE_GRAPH_WATCH_H

#include <stdbool.h>

#include "trace/graph/state.h"

struct Assembly; /* trace/eval/assemble.h */
struct Group;    /* trace/eval/schedule.h */
struct Kernel;   /* kernel/cache.h */
struct Report;   /* trace/eval/report.h */

typedef struct Watch {
    /** The function is given up. */
    void (*give_up)(ThreadState *ts);
    /** It depends on the size of a variable. */
    void (*pin)(ThreadState *ts, VarId id);
    /** A variable of the same value in the place of one that stands for an operation on
     *  these operands, so that its size is known; consumes it. */
    VarId (*keep_size)(ThreadState *ts, VarId id, const VarId *operands,
                       uint32_t count);
    /** It reads a variable that it has not made. */
    void (*note_read)(ThreadState *ts, VarId id);
    /** The next command is as large as this variable. */
    void (*size_of)(ThreadState *ts, VarId id);
    /** An undefined variable is about to have this memory. */
    bool (*undefined)(ThreadState *ts, VarId id, Buffer *buffer);
    /** The next command fills this many copies of a target (expand.h), of which there
     *  are as many for other sizes, up to the limits that there are for these. */
    bool (*copies)(ThreadState *ts, VarId target, uint32_t copies);
    /** The next command combines these. */
    void (*combine)(ThreadState *ts, VarId target);
    /** This group is about to be launched; these reductions are part of the next
     *  command, which launches this kernel and tells this report of its end (NULL:
     *  none). */
    bool (*group)(ThreadState *ts, const struct Group *group);
    void (*fused)(ThreadState *ts, const struct Assembly *assembly);
    void (*launch)(ThreadState *ts, const struct Assembly *assembly,
                   struct Kernel *kernel, const struct Report *report);
    /** Is it recorded, or checked, or not? For the kernel history. */
    KernelRecordingMode (*mode)(const ThreadState *ts);
} Watch;

extern const Watch watcher;

/** Does a thread record, and has not paused? */
static inline bool watch_records(const ThreadState *ts) { return ts->recording != 0; }

#endif

/*
 * history.h -- the record of launches kept under JitFlagKernelHistory
 *
 * Entries are made when work is enqueued and completed when it has run. Has a lock of
 * its own (innermost); may be called from worker threads.
 */
#ifndef TRACE_EVAL_HISTORY_H
#define TRACE_EVAL_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "device/device.h"
#include "drjit-core/jit.h"
#include "trace/graph/state.h"

typedef struct HistoryEntry HistoryEntry;

/** Append an entry, with the place in the program where this thread is ('ir' is copied
 *  and may be NULL); NULL if out of memory (the entry is then left out). */
HistoryEntry *history_add(const ThreadState *ts, const KernelHistoryEntry *entry);
/** The work of an entry took this long, and ended at a time of clock_ns(). NULL is
 *  fine. */
void history_finish(HistoryEntry *entry, uint64_t ns, uint64_t end);
/** Append an entry for a command that is about to be submitted and that nobody waits to
 *  hear of; its end completes the entry. */
void history_note(const ThreadState *ts, Command *command, KernelRecordingMode mode);
/** Hand all entries to the caller, in order (streams have been drained). */
size_t history_take(KernelHistoryEntry **entries);
void history_release(KernelHistoryEntry *entries, size_t count);
void history_clear(void);

#endif

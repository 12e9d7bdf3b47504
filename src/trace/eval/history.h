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

#include "device/job_time.h"
#include "drjit-core/jit.h"
#include "trace/graph/state.h"

typedef struct HistoryEntry HistoryEntry;

/** Append an entry ('ir' is copied and may be NULL); NULL if memory is out (the entry
 *  is then left out). */
HistoryEntry *history_add(const KernelHistoryEntry *entry);
/** Append an entry for work of 'size' entries (Memcpy: bytes) that is not a kernel, and
 *  say who completes it; nothing if the thread keeps no history. */
JobReport history_report(const ThreadState *ts, KernelType type, size_t size,
                         uint32_t inputs);
/** The work of an entry took this long; callable as the 'history' argument of the
 *  runtime's primitives. NULL is fine. */
void history_finish(void *entry, uint64_t ns);
/** Hand all entries to the caller, in order (streams have been drained). */
size_t history_take(KernelHistoryEntry **entries);
void history_release(KernelHistoryEntry *entries, size_t count);
void history_clear(void);

#endif

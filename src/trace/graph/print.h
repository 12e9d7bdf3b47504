/*
 * print.h -- values that kernels report to the host
 *
 * A PRINT is an effect like a scatter: it belongs to the body that is recorded, or else
 * to the thread's next evaluation. Who wants the values, and how many, is a Printer. It
 * is shared by the variable (through its Extra: the callback of a freed variable) and
 * by launches on their way, and says good-bye when the last of them lets go.
 */
#ifndef TRACE_GRAPH_PRINT_H
#define TRACE_GRAPH_PRINT_H

#include "kernel/print_log.h"
#include "trace/graph/node.h"

/** Receives values, or NULL at the very end. Called without locks. */
typedef void (*PrintCallback)(const JitPrintRecords *records, void *payload);

typedef struct Printer Printer;

/** Record a print; requires the graph lock. */
bool print_record(ThreadState *ts, VarId mask, uint32_t count, const VarId *values,
                  size_t limit, PrintCallback callback, void *payload);
/** Another print that reports to whom this one does. False: out of memory. */
bool print_share(VarId from, VarId to);
/** The printer of a PRINT, with a reference for a launch. */
Printer *print_printer(VarId id);
void print_retain(Printer *printer);
void print_release(Printer *printer);
/** The same with the graph lock held: if it was the last one, the callback is told once
 *  the lock is released. */
void print_release_later(Printer *printer);
/** Give each of the printers what the launch has reported for it. Called without the
 *  lock. The references to the printers are taken over. */
void print_deliver(Printer *const *printers, uint32_t count,
                   const PrintRecords *records);

#endif

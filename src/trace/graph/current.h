/*
 * current.h -- the device that a thread means when it names a backend
 *
 * The public interface speaks of backends, all below it of devices (Device.index). For
 * each backend a thread has a current device: number 0 until it chooses another. What
 * is made from nothing goes there; what is made from variables is where they are.
 *
 * Nothing here requires the graph lock.
 */
#ifndef TRACE_GRAPH_CURRENT_H
#define TRACE_GRAPH_CURRENT_H

#include "device/device.h"

struct ThreadState;

/** The thread's current device of an initialised backend. NULL: error recorded. */
Device *current_device(struct ThreadState *ts, JitBackend backend,
                       const char *function);
/** The same, initialised or not. NULL: there is none. */
Device *current_find(struct ThreadState *ts, JitBackend backend);
/** That of an initialised backend, for what names none and has no operands. */
Device *current_any(struct ThreadState *ts);
/** Choose the calling thread's current device of a backend by its number. False: there
 *  is none with this number; error recorded. */
bool current_set(JitBackend backend, uint32_t number);

#endif

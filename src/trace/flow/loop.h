/*
 * loop.h -- loops: recorded (loop.c) or run at once (loop_evaluated.c, loop_compress.c)
 *
 * The first functions are those of region.h, which says what they do. Requires the
 * graph lock.
 */
#ifndef TRACE_FLOW_LOOP_H
#define TRACE_FLOW_LOOP_H

#include "trace/graph/loop_array.h"

uint32_t loop_start(ThreadState *ts, uint8_t device, const char *name, size_t n,
                    VarId *values);
int loop_condition(ThreadState *ts, uint32_t loop, VarId condition);
int loop_end(ThreadState *ts, uint32_t loop, VarId *values);

/** Run a loop at once: before the first iteration, once the condition is known ('never'
 *  says whether it is over), and at the end of an iteration. False: error recorded. */
bool loop_evaluated_begin(ThreadState *ts, Loop *loop);
bool loop_evaluated_condition(ThreadState *ts, Loop *loop);
bool loop_evaluated_end(ThreadState *ts, Loop *loop, VarId *values);

bool loop_compress(ThreadState *ts, uint32_t loop, VarId *values);
/** Take inactive lanes out of the states, if that is wanted and worth while; 'values'
 *  are the caller's. */
bool loop_compress_states(ThreadState *ts, Loop *loop, VarId *values);
/** Let 'kept' be the lanes that 'active' has; '*any' is whether there are any. */
bool loop_compress_find(ThreadState *ts, Loop *loop, VarId active, bool *any);
/** An iteration is over, and these are the caller's states. */
bool loop_compress_note(ThreadState *ts, Loop *loop, const VarId *values);
/** The loop is over: states of all lanes. */
bool loop_compress_end(ThreadState *ts, Loop *loop, VarId *values);

#endif

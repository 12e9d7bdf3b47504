/*
 * assemble_call.h -- callables of the trace -> callables of a Program (for assemble.c)
 *
 * A call is a region whose bodies go into Programs of their own. The walk of assemble.c
 * emits one after the other: an empty Program with positions of its own takes the
 * place of the one that is being built, has the effects and outputs of the callable
 * visited, and makes way again. So nothing of the outer Program is visible in it. What
 * a callable uses from outside becomes an input when it is first met; so do COUNTER,
 * WORKER and arrays that are loaded.
 */
#ifndef TRACE_EVAL_ASSEMBLE_CALL_H
#define TRACE_EVAL_ASSEMBLE_CALL_H

#include "trace/eval/assemble.h"

/** A phase of a call (assemble_region.c) has been visited: what comes from outside (0),
 *  or callable number 'phase' - 1. The next callable begins, or the call is emitted. */
bool assemble_call_phase(Assembly *b, VarId id, uint32_t phase);
/** Does this come into the callable that is being emitted as an input? Asked only if
 *  there is one (b->call_count). */
bool assemble_call_captures(const Assembly *b, VarId id);
/** Emit it. Its position or PROGRAM_NONE. */
uint32_t assemble_call_input(Assembly *b, VarId id);
/** The root's parameter for a pointer of a callable: equal ones share it, so
 *  that equal callables look equal. PROGRAM_NONE on errors. */
uint32_t assemble_call_param(Assembly *b, const Var *pointer);

/** Let go of calls that a failure has left, and of what is known about callables. */
void assemble_call_reset(Assembly *b);
void assemble_call_free(Assembly *b);

#endif

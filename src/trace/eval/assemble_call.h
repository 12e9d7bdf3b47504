/*
 * assemble_call.h -- callables of the trace -> callables of a Program (for assemble.c)
 *
 * A call is a region whose bodies go into Programs of their own. The walk of assemble.c
 * emits one after the other: assemble_call_step() puts an empty Program in the place of
 * the one that is being built, has the effects and outputs of the callable visited, and
 * puts the Program back. Each callable has a stamp of its own, so nothing of the outer
 * Program is visible in it. What a callable uses from outside becomes an input when it
 * is first met; so do COUNTER, WORKER and arrays that are loaded.
 *
 * Where callables that differ in values only have been merged (call_merge.h), such a
 * value is read from a table of words, at an offset that is an input.
 */
#ifndef TRACE_EVAL_ASSEMBLE_CALL_H
#define TRACE_EVAL_ASSEMBLE_CALL_H

#include "trace/eval/assemble.h"

/** For assemble_call_preview(): the callables of a call, not merged, with literals in
 *  place of all values by which callables may differ. */
struct CallPreview {
    VarId region;
    uint32_t scope;      /* of the region */
    uint32_t count;      /* of callables that are complete */
    Program **programs;  /* owned */
    VarId **slots;       /* the variable behind each literal; owned */
};

/** As assemble_region_step(). */
bool assemble_call_step(Assembly *b, VarId id, uint32_t *next, VarId *operand);
/** Does this come into the callable that is being emitted as an input? Asked only if
 *  there is one (b->call_count). */
bool assemble_call_captures(const Assembly *b, VarId id);
/** Emit it. Its position or PROGRAM_NONE. */
uint32_t assemble_call_input(Assembly *b, VarId id);
/** A body inside of the callable has ended and was forgotten: inputs that were emitted
 *  there are inputs still. */
void assemble_call_body_ended(Assembly *b);
/** In a callable, before a variable gets a position there: the one that it has outside,
 *  if any, comes back when the callable is complete. */
bool assemble_call_hide(Assembly *b, VarId id);
/** In a callable: emit a value that differs between merged callables, or a literal.
 *  '*position' is PROGRAM_NONE on errors. False: it is neither. */
bool assemble_call_value(Assembly *b, VarId id, uint32_t *position);
/** Slot of a pointer in the root's parameters, the same one for the same array; 0 if it
 *  has none yet, else 1 + the slot. */
uint32_t assemble_call_slot(const Assembly *b, const Var *pointer);
bool assemble_call_note_slot(Assembly *b, const Var *pointer, uint32_t slot);

/** Begin and give up the calls of an assembly. */
void assemble_call_reset(Assembly *b);
void assemble_call_free(Assembly *b);

#endif

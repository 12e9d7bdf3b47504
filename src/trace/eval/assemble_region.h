/*
 * assemble_region.h -- regions of the trace -> regions of a Program (for assemble.c)
 *
 * Before a group is assembled, assemble_region_mark() finds out what it needs: which
 * results of which regions, hence which states, hence which parts of their bodies. The
 * walk of assemble.c then meets a region like any other operation, except that
 * assemble_region_step() tells what to visit next and puts the marks of structure
 * between. What is emitted in a body loses its position when the body ends.
 */
#ifndef TRACE_EVAL_ASSEMBLE_REGION_H
#define TRACE_EVAL_ASSEMBLE_REGION_H

#include "trace/eval/assemble.h"

/** Find out what the group needs: b->needed, NULL as long as there are no regions. */
bool assemble_region_mark(Assembly *b, const Group *group);
/** What is needed of a region: NEEDED_... by state and result. */
uint8_t *assemble_region_flags(const Assembly *b, VarId id);
/** Is this part of what the group needs? */
static inline bool assemble_region_needs(const Assembly *b, VarId id)
{
    return !b->needed || marks_has(b->needed, id);
}
/** A step of the region 'id', of whose operands '*next' have been visited: '*operand'
 *  is what has to be visited before the next step; 0: the region has been emitted. */
bool assemble_region_step(Assembly *b, VarId id, uint32_t *next, VarId *operand);
/** For calls: put the positions of the outputs that are needed of a body into b->words,
 *  and count them. */
bool assemble_region_outputs(Assembly *b, VarId id, uint32_t body, uint32_t *count);
/** For calls: a region with this number in the Program has just been added. */
bool assemble_region_added(Assembly *b, VarId id, uint32_t number);
/** Emit a RESULT, STATE or ACTIVE; its position or PROGRAM_NONE. */
uint32_t assemble_region_placeholder(Assembly *b, VarId id);
/** Note that a variable was emitted in a body. */
bool assemble_region_note(Assembly *b, VarId id);

#endif

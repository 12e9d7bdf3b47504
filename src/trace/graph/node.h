/*
 * node.h -- making nodes: value numbering, literals, operand checks
 *
 * Every function requires the graph lock; results are owned by the caller.
 */
#ifndef TRACE_GRAPH_NODE_H
#define TRACE_GRAPH_NODE_H

#include "trace/graph/watch.h"

/** A node like '*proto' (refs, hash and extra are filled in here): an equal one
 *  that exists if the operation is pure and value numbering is on, else a new one. 0:
 *  memory. */
VarId node_new(ThreadState *ts, const Var *proto);
/** The same for an operation with up to three operands, on the hot path: var_head() of
 *  it, var_pair() of the first two, and the third (0 = none). */
VarId node_operation(ThreadState *ts, uint64_t head, uint32_t size, uint64_t pair,
                     VarId c);
/** A literal. 'bits' are zero-extended. */
VarId node_literal(ThreadState *ts, uint8_t device, VarType type, uint64_t bits,
                   uint32_t size);
/** A node that is never shared, folded or simplified, with up to four operands (0 =
 *  none). */
VarId node_raw(ThreadState *ts, Op op, uint8_t device, VarType type, uint32_t size,
               uint32_t aux, const VarId deps[4]);
/** The same with any number of operands. */
VarId node_wide(ThreadState *ts, Op op, uint8_t device, VarType type, uint32_t size,
                uint32_t aux, uint32_t count, const VarId *ids);
/** The same with operands that the node keeps; the list is taken over in any case. */
VarId node_of_list(ThreadState *ts, Op op, uint8_t device, VarType type, uint32_t size,
                   uint32_t aux, VarList *list);
/** A new variable around memory (the reference to 'buffer' is taken over on
 *  success). */
VarId node_buffer(ThreadState *ts, uint8_t device, VarType type, uint32_t size,
                  Buffer *buffer);

void node_note_read(ThreadState *ts, VarId id);
/** The thread reads a variable, which exists: a function that it records takes note if
 *  that is not its own (freezing.h). For each operand, before folding and
 *  identities can make it disappear; node_usable() does it. */
static inline void node_read(ThreadState *ts, VarId id)
{
    if (ts->recording && var_maker(id) != ts->recording)
        node_note_read(ts, id);
}
/** The entries of a variable as a number, for whatever does more than compare lanes: to
 *  compute with, to tell somebody. A function that the thread records serves no other
 *  number from then on. Without a thread's state: nothing is recorded. */
static inline uint32_t node_number(ThreadState *ts, VarId id)
{
    if (ts && ts->freezing)
        watcher.pin(ts, id);
    return var_lanes_of(id);
}
/** May an operation read this variable at once? */
static inline bool node_is_ready(const Var *v)
{
    return var_lanes(v) && !var_pending(v) && !(v->flags & VAR_UNUSABLE);
}
/** Is 'id' a variable that an operation may read now? Evaluates pending writes to it.
 *  'what' names function and operand for the message: "jit_var_add(): operand 1". */
bool node_usable(ThreadState *ts, VarId id, const char *function, const char *what);
/** Check that a size is allowed for an array. */
bool node_size_valid(size_t size, const char *function);
/** Are these one device (Device.index)? If not, the error begins with 'format'. */
bool node_same_device(uint8_t a, uint8_t b, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Common size of operands (0 = none), which have to be on one device: equal sizes, or
 *  1 beside others. False: error recorded. */
bool node_common_size(const VarId *ids, uint32_t count, const char *function,
                      uint32_t *size);
/** Where two operands (0: none) were made, which debug mode knows, for the end of a
 *  message: "; the first was made at program.py:2, the second at program.py:3".
 *  Else ''. */
enum { NODE_PLACES = 200 };
void node_places(char text[NODE_PLACES], VarId first, VarId second);
bool node_type_valid(VarType type, const char *function);

#endif

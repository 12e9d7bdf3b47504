/*
 * call_pattern.h -- is a callable like another one, give or take values?
 *
 * What call_merge.c writes down of callables finds the one that is like a given one
 * among all before. Mostly it is the last: a pattern says so for a third of the price.
 *
 * A pattern has the nodes of a callable in the order in which its walk leaves them, so
 * that operands have lower numbers. The outputs of another callable are put where those
 * of the pattern are; then, from the last node on, its operations where those of the
 * pattern are, which puts their operands in place. It is like the pattern if nothing
 * has to be in the place of something else.
 *
 * Requires the graph lock.
 */
#ifndef TRACE_FLOW_CALL_PATTERN_H
#define TRACE_FLOW_CALL_PATTERN_H

#include "trace/flow/call.h"

typedef enum CallNodeKind {
    CALL_NODE_VALUE,    /* a literal, or an array of one entry */
    CALL_NODE_SAME,     /* a placeholder, or something from outside */
    CALL_NODE_OPERATION /* pure, and depends on placeholders */
} CallNodeKind;

typedef struct CallNode {
    VarId id;          /* that the callable has; as long as this lives */
    CallNodeKind kind;
    uint32_t operands; /* OPERATION: first of their numbers, MARKS_NONE for 0 */
    uint32_t count;    /* of these */
} CallNode;

typedef struct CallPattern {
    uint32_t count;    /* nodes */
    uint32_t outputs;  /* first of their numbers */
    CallNode *nodes;   /* in the same memory, as are the next two */
    uint32_t *numbers;
    VarId *own;        /* what is in the place of each node; 0: nothing yet */
} CallPattern;

/** A pattern with a copy of these numbers, whose nodes, and 'outputs', the caller fills
 *  in. NULL: out of memory. */
CallPattern *call_pattern_new(Arena *arena, uint32_t count, const uint32_t *numbers,
                              uint32_t number_count);

/** Are these the outputs of a callable that is like the pattern, whose variables have
 *  scopes from this one on? Then all of these are in place. */
bool call_pattern_fits(CallPattern *pattern, uint32_t scope, const VarIds *outputs);

/** By which callables may differ. */
static inline bool call_is_value(const Var *v)
{
    return (v->op == OP_LITERAL && v->type != VarTypePointer) ||
           (v->op == OP_EVALUATED && var_lanes(v) == 1);
}

#endif

/*
 * reduce_rule.h -- which reductions there are, and their neutral elements
 */
#ifndef IR_REDUCE_RULE_H
#define IR_REDUCE_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/type.h"

/** What becomes of the values of a launch, beside a ReduceOp. */
enum {
    REDUCE_DOT = ReduceOpCount, /* the sum of products of two of them */
    REDUCE_COMPRESS,            /* the positions of those that are true */
    REDUCE_PREFIX,              /* each with those before it, by a ReduceOp */
    REDUCE_SQUARES, /* of Param.reduced: REDUCE_DOT of a value with itself */
    REDUCE_COUNT
};
/** Flags of REDUCE_PREFIX: an entry is not part of its result; from the end of blocks.
 */
enum { PREFIX_EXCLUSIVE = 1, PREFIX_REVERSE = 2 };

/** Is this reduction defined for the type? Add, Mul, Min, Max: integers and floats;
 *  And, Or: integers and Bool. Values outside of the enums: no. */
bool reduce_rule_defined(ReduceOp op, VarType type);
/** Neutral element as bits, zero-extended. False if not defined. Identity: 0. */
bool reduce_rule_identity(ReduceOp op, VarType type, uint64_t *bits);
/** Bits that change nothing when they are combined with a value, not even the sign of a
 *  zero, or NaN where Min and Max take it for missing data; for values that lanes
 *  combine before they are written. The reduction is defined for the type. */
uint64_t reduce_rule_neutral(ReduceOp op, VarType type);
/** May code that computes values which are only reduced (Param.reduced) combine them
 *  itself, so that nobody sees them? 'reduction' is a ReduceOp or REDUCE_...: those for
 *  which that takes one instruction of a machine. */
bool reduce_rule_adds(uint32_t reduction, VarType type);
/** Can values that are computed for one reduction serve another one? */
bool reduce_rule_shares(uint32_t reduction, uint32_t other, VarType type);

#endif

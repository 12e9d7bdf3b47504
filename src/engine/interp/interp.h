/*
 * interp.h -- the block interpreter, and constant folding with its bits
 */
#ifndef ENGINE_INTERP_INTERP_H
#define ENGINE_INTERP_INTERP_H

#include "engine/engine.h"

extern const Engine interp_engine;

/** Compute one lane of a foldable operation (F_FOLDS): 'type' is the result type,
 *  'operand' the type of the first value operand (SELECT: of the second), 'args' the
 *  bits of the operands zero-extended to 64 bits. The result is zero-extended. Same
 *  code as the engine runs. False if the combination is not defined. */
bool interp_fold(Op op, VarType type, VarType operand, const uint64_t *args,
                 uint64_t *result);

#endif

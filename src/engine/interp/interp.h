/*
 * interp.h -- the block interpreter, and constant folding with its bits
 */
#ifndef ENGINE_INTERP_INTERP_H
#define ENGINE_INTERP_INTERP_H

#include "engine/engine.h"

extern const Engine interp_engine;

/** Compute lanes 0 ... lanes-1 with code of this engine in the calling thread, with
 *  scratch memory of interp_scratch() bytes, aligned to 64. 'args' as for a launch. */
void interp_run(const Code *code, const uint64_t *args, uint32_t lanes, void *scratch);
size_t interp_scratch(const Code *code);

/** The loops over lanes in use: those of the best instruction set here, or of the one
 *  that DRJIT_INTERP_ISA names. */
const struct LaneTable *interp_table(void);

/** Compute one lane of a foldable operation (F_FOLDS): 'type' is the result type,
 *  'operand' the type of the first value operand (SELECT: of the second), 'args' the
 *  bits of the operands zero-extended to 64 bits. The result is zero-extended. Same
 *  code as the engine runs. False if the combination is not defined. */
bool interp_fold(Op op, VarType type, VarType operand, const uint64_t *args,
                 uint64_t *result);

/** An operand of interp_apply(): 'step' is 1 for an array, 0 for one value used for all
 *  lanes. */
typedef struct InterpOperand {
    const void *data;
    uint32_t step;
} InterpOperand;
/** Compute 'count' lanes of a foldable operation on host memory, with the engine's
 *  loops. Types as for interp_fold(); memory is aligned to its entries, masks are bytes
 *  0 and 1. 'result' may be the same memory as an operand. False if the combination is
 *  not defined. */
bool interp_apply(Op op, VarType type, VarType operand, size_t count,
                  const InterpOperand *operands, void *result);

#endif

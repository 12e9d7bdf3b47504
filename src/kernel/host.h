/*
 * host.h -- operations on values in the caller's memory
 *
 * What interp_fold() and interp_apply() do for the operations that the interpreter
 * knows, these do for all that it can be given by the legaliser: a function of math.def
 * is written out once as a kernel of the interpreter, which is kept. So literals that
 * are folded, host arithmetic and kernels have the same bits.
 *
 * Thread-safe; nothing of the graph is touched.
 */
#ifndef KERNEL_HOST_H
#define KERNEL_HOST_H

#include "engine/interp/interp.h"

/** As interp_fold(). False, without an error, also if out of memory: then the operation
 *  is not folded. */
bool host_fold(Op op, VarType type, VarType operand, const uint64_t *args,
               uint64_t *result);
/** As interp_apply(). False: not defined for these types, or out of memory; an error is
 *  recorded. */
bool host_apply(Op op, VarType type, VarType operand, size_t count,
                const InterpOperand *operands, void *result);
/** Release the kernels, once nobody uses them. */
void host_shutdown(void);

#endif

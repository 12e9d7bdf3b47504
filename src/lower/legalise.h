/*
 * legalise.h -- Program -> Program: expand what the engine has no primitive for
 *
 * Half-precision arithmetic, high products, guarded integer division, packets, ... are
 * rewritten into operations the engine supports, once for all engines. What replaces an
 * instruction stands in its place, also within the bodies of loops, conditionals and
 * callables. An engine that supports everything gets its Program back unchanged.
 */
#ifndef LOWER_LEGALISE_H
#define LOWER_LEGALISE_H

#include "engine/engine.h"

/** The legalised Program: 'program' itself if nothing had to change, else a new one,
 *  owned by the caller. Parameters, their order, the statements and callables and
 *  their numbers stay the same.
 *  NULL: error recorded; JIT_ERROR_UNSUPPORTED names the operation and types that no
 *  rule covers. */
const Program *legalise(const Program *program, const Engine *engine);

#endif

/*
 * scalar_engine.h -- the meaning of Programs, one lane at a time
 *
 * An engine for tests: docs/dev/program.md and ops.def written down as plainly as
 * possible, without packets, blocks, masks of lanes or any care for speed. Only the
 * arithmetic of one lane is shared with the interpreter (interp_fold), so the
 * interpreter's control flow, memory and scheduling are held against something
 * independent. The legaliser writes out functions (sin, ...), whose conditionals are
 * jumps here, and nothing else. Statements are not supported.
 */
#ifndef FUZZ_SCALAR_ENGINE_H
#define FUZZ_SCALAR_ENGINE_H

#include "engine/engine.h"

extern const Engine scalar_engine;

#endif

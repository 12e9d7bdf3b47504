/*
 * fence.h -- an interpreter for Programs that anybody may have written
 *
 * Indices of gathers and scatters are up to a Program, and nobody checks them. Before
 * `fenced_engine` compiles one, it adds a condition to the mask of each such access:
 * the index lies within the memory that the address sanitizer knows of. So whatever the
 * sanitizer still finds is a size that was believed, or a Program that the verifier
 * should have refused. A product with a matrix that is not there is not computed.
 */
#ifndef FUZZ_FENCE_H
#define FUZZ_FENCE_H

#include "engine/engine.h"

/** It is called "interp". */
extern const Engine fenced_engine;

/** From now on: kernels that last are interrupted, now and then those that do not. To
 *  be called once. */
bool fence_start_watch(void);

#endif

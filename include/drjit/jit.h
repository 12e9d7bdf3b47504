/*
 * drjit/jit.h -- the types of drjit-core/array.h by their published include line
 */
#ifndef DRJIT_JIT_H
#define DRJIT_JIT_H

#include <drjit-core/array.h>

#endif /* DRJIT_JIT_H */

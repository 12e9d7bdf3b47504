/*
 * drjit/struct.h -- DRJIT_STRUCT, for classes of a program that have arrays
 *
 * The macro and the functions that take such classes are in drjit-core/memory.h.
 */
#ifndef DRJIT_STRUCT_H
#define DRJIT_STRUCT_H

#include <drjit/array.h>

#endif /* DRJIT_STRUCT_H */

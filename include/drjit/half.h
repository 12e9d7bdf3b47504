/*
 * drjit/half.h -- drjit::half of drjit-core/half.h by its published include line
 */
#ifndef DRJIT_HALF_H
#define DRJIT_HALF_H

#include <drjit-core/half.h>

#endif /* DRJIT_HALF_H */

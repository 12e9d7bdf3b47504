/*
 * frozen.h -- recordings of frozen functions
 */
#ifndef PYTHON_FROZEN_H
#define PYTHON_FROZEN_H

#include "python/object/state.h"

/** Make the class. */
bool frozen_bind(State *state);

#endif

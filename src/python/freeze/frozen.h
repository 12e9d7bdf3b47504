/*
 * frozen.h -- frozen functions: inputs as a snapshot, recordings
 */
#ifndef PYTHON_FROZEN_H
#define PYTHON_FROZEN_H

#include "python/object/state.h"

/** Make the classes and put them into the module. */
bool frozen_bind(State *state);

#endif

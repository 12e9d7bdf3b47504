/*
 * caller.h -- how a frozen function is called: the base class of those that
 * drjit.freeze() makes
 *
 *     call ──► the recording that fitted the last time   frozen_match.h
 *                 │ it does not fit, or there is none
 *                 ▼
 *              the recording of the inputs' key          snapshot.h
 *                 │ there is none that fits
 *                 ▼
 *              the function is recorded                  drjit._freeze
 */
#ifndef PYTHON_CALLER_H
#define PYTHON_CALLER_H

#include "python/object/state.h"

/** Make the class and put it into the module. */
bool caller_bind(State *state);

#endif

/*
 * frozen_function.h -- how a frozen function is called: the base class of those that
 * drjit.freeze() makes
 *
 *     call ──► the recordings that fitted the last times   frozen_match.h
 *                 │ none fits
 *                 ▼
 *              another one that has fitted before           input_spec_quick()
 *                 │ none fits
 *                 ▼
 *              one that fits the inputs, taken apart        snapshot.h
 *                 │ none fits
 *                 ▼
 *              the function is recorded                     drjit._freeze
 */
#ifndef PYTHON_FROZEN_FUNCTION_H
#define PYTHON_FROZEN_FUNCTION_H

#include "python/type/state.h"

/** Make the class and put it into the module. */
bool frozen_function_bind(State *state);

#endif

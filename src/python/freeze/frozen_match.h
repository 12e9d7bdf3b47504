/*
 * frozen_match.h -- do inputs fit a recording, as those of the last call did?
 *
 * They are compared with the recording's outline as they are, without being taken
 * apart: nothing is made but a list of variables. What differs here may fit all the
 * same, for which there are snapshots and keys (snapshot.h): inputs in which an array
 * occurs twice, values that are equal and not the same object, variables to be
 * evaluated.
 */
#ifndef PYTHON_FROZEN_MATCH_H
#define PYTHON_FROZEN_MATCH_H

#include "python/freeze/frozen.h"

/** What is to be known of inputs that were recorded. */
typedef struct MatchPlan MatchPlan;

/** The plan for inputs whose outline the recording has already; leaves it without one
 *  if such inputs have to be taken apart each time. False: exception. */
bool frozen_match_keep(Frozen *f, const Snapshot *s);
void frozen_match_free(MatchPlan *plan);

/** Do arguments, keyword arguments and the state fit, and what the function reads
 *  besides? Then the recording is repeated for them: the function's result;
 *  NotImplemented: perhaps they do not. NULL: exception. */
PyObject *frozen_match_repeat(const Frozen *f, PyObject *const *parts);

#endif

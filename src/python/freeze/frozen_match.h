/*
 * frozen_match.h -- do inputs fit a recording, as those of the last call did?
 *
 * They are compared with the recording's outline as they are, without being taken
 * apart: nothing is made but a list of variables. What differs here may fit all the
 * same, for which there are snapshots and keys (snapshot.h): inputs in which an array
 * occurs twice, values that are equal and not the same object, variables to be
 * evaluated. Functions that change their inputs need a snapshot each time.
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
/** For tp_traverse. */
int frozen_match_references(const MatchPlan *plan, visitproc visit, void *arg);

/** Inputs of the core that a matching call has, with references. Zeroed: none. */
typedef struct Matched {
    uint32_t *ids, few[16];
    size_t count;
} Matched;

/** Do the entries of the tuple of inputs fit? 1: yes, 0: perhaps not, -1: exception. */
int frozen_match(const Frozen *f, PyObject *const *parts, Matched *matched);
void frozen_match_release(Matched *matched);

#endif

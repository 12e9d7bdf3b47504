/*
 * snapshot.h -- the inputs of one call of a frozen function, taken apart: variables
 * that are in memory or literals, and an input spec that says which recording fits
 */
#ifndef PYTHON_SNAPSHOT_H
#define PYTHON_SNAPSHOT_H

#include "python/freeze/input_spec.h"

typedef struct Snapshot {
    PyObject_HEAD
    State *state;
    FlattenedInputs inputs;
    JitFreezeInput *described; /* the variables */
    InputSpec *spec;
    SizeClasses sizes;
    uint32_t *ids;   /* inputs of the core: the variables, borrowed, then literals with
                        as many entries as sizes.extra extents; NULL: there are none */
    PyObject *contents; /* while the function is recorded: a list of (leaf, what it
                           contains), for those that are compared by content; NULL */
} Snapshot;

/** Make the class and put it into the module. */
bool snapshot_bind(State *state);
/** The inputs of the core. */
static inline const uint32_t *snapshot_ids(const Snapshot *s, size_t *count)
{
    *count = s->inputs.id_count + s->sizes.extra;
    return s->ids ? s->ids : s->inputs.ids;
}
/** Let extents of tensors be sizes of what the thread has begun to record. False:
 *  exception. */
bool snapshot_set_extents(const Snapshot *s);
/** Note the contents of leaves that the function may change. False: exception. */
bool snapshot_keep_contents(Snapshot *s);
/** Let literals be variables of their own, so that others of equal value, which the
 *  function reads elsewhere, are not taken for inputs. False: exception. */
bool snapshot_own_literals(Snapshot *s);
/** The first leaf whose content has changed since; SIZE_MAX: none, or an exception. */
size_t snapshot_changed_content(const Snapshot *s);
/** Take a PyTree apart, and evaluate what is not in memory. NULL: exception. */
Snapshot *snapshot_take(State *state, PyObject *inputs, bool unordered);

/** The first of 'wanted' arguments, which has to be a snapshot. NULL: exception. */
const Snapshot *snapshot_argument(PyObject *module, PyObject *const *args,
                                  Py_ssize_t n, Py_ssize_t wanted);

#endif

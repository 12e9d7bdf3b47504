/*
 * frozen_key.h -- what inputs of a frozen function have in common if one recording is
 * to serve them, as an object that can be a key of a dictionary
 *
 * It says of the containers what they are, of arrays their types and which variables
 * are the same one, of variables which are literals, of these and of extents of tensors
 * which are equal, which are 1 or 0. Other objects are compared: by ==, those without
 * values to compare by identity. These are not kept alive.
 */
#ifndef PYTHON_FROZEN_KEY_H
#define PYTHON_FROZEN_KEY_H

#include "python/freeze/collection.h"
#include "python/freeze/size_classes.h"

/** Make the class. */
PyTypeObject *frozen_key_class(State *state);

/** Is an object compared by identity? Exceptions other than TypeErrors of its hash stay
 *  set. */
bool frozen_key_by_identity(PyObject *object);

/** The key of a collection whose variables are described, and its sizes, which were
 *  none. Without 'literals', it says neither their values nor their sizes.
 *  'suspended': derivatives are, see ad_scope_suspends_all(). 'unordered': sets are
 *  equal in any order of iteration, which differs between processes. NULL:
 *  exception. */
PyObject *frozen_key_make(PyTypeObject *cls, const Collection *c,
                          const JitFreezeInput *inputs, bool literals, bool suspended,
                          bool unordered, SizeClasses *sizes);

#endif

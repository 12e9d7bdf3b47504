/*
 * region.h -- loops, conditionals and calls from Python (private: drjit._flow.regions)
 *
 * A body works on a PyTree of just-in-time compiled arrays and local arrays, the core
 * on a list of variables. region_take() makes the list, region_give() a tree of new
 * objects from it, which the body may change in place.
 */
#ifndef PYTHON_REGION_H
#define PYTHON_REGION_H

#include "python/object/array.h"

/** Variables of a PyTree in order, one reference each. Starts as { 0 }. */
typedef struct Leaves {
    uint32_t *ids;
    size_t count, capacity;
} Leaves;

/** What a PyTree belongs to, for errors: "while_loop", "the state". */
typedef struct RegionPlace {
    State *state;
    const char *operation;
    const char *what;
} RegionPlace;

/** Collect the variables of 'tree'. Its leaves are arrays, local arrays and None. If
 *  'like' is not NULL, both trees have to have the same structure, and leaves of the
 *  same types. False: exception; 'leaves' is to be dropped in any case. */
bool region_take(const RegionPlace *place, PyObject *tree, PyObject *like,
                 Leaves *leaves);
/** A tree of the structure and classes of 'like' with these variables. */
PyObject *region_give(const RegionPlace *place, PyObject *like, const Leaves *leaves);
/** A tree of the same variables in new objects. */
PyObject *region_copy(const RegionPlace *place, PyObject *tree);
void region_drop(Leaves *leaves);

/** function(*args) for a tuple. */
static inline PyObject *region_call_function(PyObject *function, PyObject *args)
{
    return PyObject_Call(function, args, NULL);
}

/** The variable of a Bool array, as a reference of its own: code of the program may run
 *  and replace it. 0: TypeError that names it. */
uint32_t region_mask(const RegionPlace *place, PyObject *object);

/** A name in UTF-8, NULL for None or an argument that is not there. False:
 *  exception. */
bool region_name(const char *operation, PyObject *object, const char **name);

/* ------------------------------------------------------------ local arrays */

/** Arrays that each lane has for itself, one for each leaf of the entries' type. */
typedef struct Local {
    PyObject_HEAD
    const TypeInfo *info; /* of an entry */
    size_t count;         /* leaves of an entry */
    uint32_t *ids;        /* current versions, one reference each */
} Local;

/** Make their class and put it into the module. */
bool region_bind(State *state);
bool region_is_local(const State *state, PyObject *object);
/** A local array with entries of this type and 'count' versions, to which references
 *  are taken. NULL: exception. */
PyObject *region_new_local(State *state, const TypeInfo *info, size_t count,
                           const uint32_t *ids);

#endif

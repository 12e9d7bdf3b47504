/*
 * plan.h -- what the nodes of a PyTree are: the kind of each object, the fields of each
 * class
 *
 * Containers are exact tuples, lists and dictionaries, named tuples, data classes and
 * classes with DRJIT_STRUCT. Everything else is a leaf: arrays, and objects that
 * operations pass over; other subclasses of containers too.
 *
 * What is to be known of a class is found once. A plan is looked up by the address of
 * the class and holds a weak reference to it; it is valid while the class has the same
 * fields. It refers to strings only, so it keeps no class alive.
 */
#ifndef PYTHON_TREE_PLAN_H
#define PYTHON_TREE_PLAN_H

#include "python/array/array.h"

typedef enum NodeKind {
    NODE_LEAF,
    NODE_TUPLE,
    NODE_LIST,
    NODE_DICTIONARY,
    NODE_NAMED_TUPLE,
    NODE_DATACLASS,
    NODE_STRUCT,     /* DRJIT_STRUCT */
    NODE_TRAVERSABLE /* tells a callback its variables: _traverse_1_cb_ro() */
} NodeKind;

/** The fields of a class. All are tuples of names, strong; the GIL guards them. */
typedef struct Plan {
    size_t references;
    NodeKind kind;
    PyTypeObject *cls;   /* address only: is it still alive? */
    PyObject *reference; /* weak, to the class */
    PyObject *source;    /* address only: the class attribute with the fields */
    PyObject *names;     /* of the fields, in order */
    PyObject *accepted;  /* of a data class: those that its constructor takes, */
    PyObject *late;      /* and those that are set afterwards: field(init=False) */
} Plan;

/** What is this object, which is not an array? A container with fields has a plan, a
 *  new reference; else '*plan' is NULL. False with an exception. */
bool plan_of(State *state, const char *operation, PyObject *object, NodeKind *kind,
             Plan **plan);

/** The same for a class: NODE_LEAF if its instances have no fields. */
bool plan_of_class(State *state, const char *operation, PyTypeObject *cls,
                   NodeKind *kind, Plan **plan);

/** Is the plan one for this class, as it was when the plan was looked up? */
static inline bool plan_is_for(const Plan *plan, PyTypeObject *cls)
{
    return plan->cls == cls && weakref_is(plan->reference, (PyObject *) cls);
}

/** Is it a class with a plan: a data class, with DRJIT_STRUCT, a named tuple? Without
 *  exceptions. */
bool plan_has_fields(State *state, PyObject *cls);

/** Is the object a container? Without exceptions. */
bool plan_is_container(State *state, PyObject *object);

void plan_release(Plan *plan);

/** Forget all plans. */
void plan_clear(State *state);

#endif

/*
 * state.h -- everything the extension remembers: one State for each module object
 *
 * Found from a module function through state_of_module(), from an array or a type
 * through its TypeInfo. There are no static mutable variables.
 */
#ifndef PYTHON_STATE_H
#define PYTHON_STATE_H

#include "python/base/compat.h"
#include "python/type/type.h"

/** Operand classes of promotion: every array type's id, and Python's scalars. */
enum { OPERAND_BOOL = TYPE_COUNT, OPERAND_INT, OPERAND_FLOAT, OPERAND_COUNT };

enum {
    METHOD_LIMIT = 64,
    ENUM_LIMIT = 8,
    MEMBER_LIMIT = 32,
    PLAN_SETS = 128,
    PLAN_WAYS = 4
};

/* Members of an enumeration, with their values: the first ones that were asked for. */
typedef struct EnumCache {
    const char *name;
    int count;
    PyObject *members[MEMBER_LIMIT];
    long values[MEMBER_LIMIT];
} EnumCache;

#define STATE_NAMES(NAME)                        \
    NAME(struct, "DRJIT_STRUCT")                 \
    NAME(dataclass, "__dataclass_fields__")      \
    NAME(fields, "_fields")                      \
    NAME(traverse, "_traverse_1_cb_ro")          \
    NAME(array_interface, "__array_interface__") \
    NAME(dlpack, "__dlpack__")                   \
    NAME(function, "__drjit_function__")         \
    NAME(array, "__drjit_array__")               \
    NAME(active, "active")                       \
    NAME(sizes, "drjit.sizes")                   \
    NAME(builtins, "__builtins__")

struct State {
    /* The module's, and one for each array: at the end of the interpreter the collector
       may free the module before the arrays of a cycle. See state_unref(). */
    size_t references;
    PyObject *module;               /* drjit._core, borrowed */
    PyTypeObject *array_base;       /* drjit.ArrayBase */
    /* Methods of ArrayBase from all files; the class points to them. */
    PyMethodDef methods[METHOD_LIMIT];
    PyTypeObject *iterator;         /* of arrays */
    PyTypeObject *entries;          /* memory of arrays that are pickled */
    PyTypeObject *local;            /* local arrays of drjit._flow.regions */
    PyTypeObject *foreign_operand;  /* foreign arrays in operations: operand.h */
    PyTypeObject *operation;        /* custom operations in the graph: custom.h */
    PyTypeObject *input_spec;          /* of inputs: input_spec.h */
    PyTypeObject *snapshot;         /* inputs of frozen functions: frozen.h */
    PyTypeObject *frozen;           /* their recordings */
    PyTypeObject *reads;            /* what else they read: reads.h */
    PyTypeObject *size;             /* sizes that are being recorded: size.h */
    PyTypeObject *size_class;       /* the one written in Python; NULL: not yet */
    struct Size *sizes;             /* those that are alive */
    TypeInfo types[TYPE_COUNT];     /* 'py' is NULL until the family is touched */
    bool family_ready[FAMILY_COUNT];
    PyObject *events[TRACED_COUNT]; /* classes of events, NULL until needed */
    /* Result of promoting two operand classes, filled lazily: 0 not yet known, else
       id + 1, or PROMOTE_NEVER. See promote.c. */
    uint16_t (*promotion)[OPERAND_COUNT];
    /* Which class is which type: open addressing, by address. See type_of_class(). */
    struct ClassEntry *classes;
    size_t class_capacity;
    /* The views that are alive: open addressing, by root and place. See view.h. */
    struct Array **views;
    size_t view_capacity, view_count;
    /* What is known of users' classes, by address: a cache. See tree/plan.h. */
    struct Plan *plans[PLAN_SETS][PLAN_WAYS];
    /* Names that are looked up often (interned): str_struct, ... */
#define NAME(name, text) PyObject *str_##name;
    STATE_NAMES(NAME)
#undef NAME
    PyObject *call_labels;          /* ("args", "kwargs") */
    PyObject *enums;                /* module drjit._enums, NULL until needed */
    EnumCache enum_caches[ENUM_LIMIT];
    PyObject *log_callback;         /* of set_log_callback, NULL: none */
    size_t slow_paths;               /* calls of apply(): what took no fast path */
};

/** The state of drjit._core, given the module object. */
static inline State *state_of_module(PyObject *module)
{
    return *(State **) PyModule_GetState(module);
}

/** Give up a reference (not a Python one); the last frees the state. */
void state_unref(State *state);

#endif

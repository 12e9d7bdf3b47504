/*
 * alias.c -- see alias.h
 *
 * Most bodies change something in place, and nothing of it has another name. So what is
 * looked at is little: cells, globals and attributes that the code of a body names, and
 * one level of what they contain.
 */
#include "python/flow/alias.h"

#include "python/base/error.h"
#include "python/type/lazy_function.h"

enum { MOST_ENTRIES = 64, MOST_FUNCTIONS = 8 };

/* Are its variables these? Whether one is tracked does not count. */
static bool has_values(const Tracker *t, PyObject *object, const VarIndex *ids,
                       size_t count)
{
    const Array *array = array_of(object);
    if (!array)
        return tracker_has(t, object, ids, count);
    if (array_count(array) != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (var_jit(array_leaves(array)[i]) != var_jit(ids[i]))
            return false;
    return true;
}

/* Has leaf i been changed in place, since it was given? */
static bool is_changed(const Tracker *t, size_t i)
{
    const TrackedLeaf *leaf = &t->leaves[i];
    return leaf->fresh &&
           !has_values(t, leaf->fresh, t->variables.ids + leaf->first, leaf->count);
}

bool alias_begin(Aliases *aliases, const Tracker *given)
{
    bool any = false;
    for (size_t i = 0; given->apart && i < given->tree.leaf_count; i++)
        any |= given->leaves[i].count && given->leaves[i].first_use < i;
    if (!any)
        return true;
    const size_t count = given->variables.count;
    aliases->references = PyMem_New(uint32_t, count + 1);
    if (!aliases->references)
        return PyErr_NoMemory();
    for (size_t i = 0; i < count; i++)
        aliases->references[i] = jit_var_ref(var_jit(given->variables.ids[i]));
    return true;
}

void alias_end(Aliases *aliases)
{
    PyMem_Free(aliases->references);
    *aliases = (Aliases){ 0 };
}

/* ---------------------------------------------------------------- messages */

static bool fail(const Tracker *t, size_t i, PyObject *other)
{
    PyObject *name = other ? tracker_name(t, t->leaves[i].place) : NULL;
    if (name)
        error_raise(PyExc_RuntimeError, t->operation, NULL, 0,
                    "%U and %U are one array, which was changed in place: the one "
                    "would change, and not the other; make a copy of it before, or "
                    "assign a new array to the name",
                    name, other);
    Py_XDECREF(name);
    Py_XDECREF(other);
    return false;
}

/* ---------------------------------------------------------------- other places */

/* Does the body use what stands in a place, or return it as it is? */
static bool is_used(const Aliases *aliases, const Tracker *given,
                    const Tracker *returned, size_t i)
{
    const TrackedLeaf *leaf = &given->leaves[i];
    for (size_t k = 0; k < returned->tree.leaf_count; k++)
        if (leaf->fresh && returned->tree.leaves[k] == leaf->fresh)
            return true;
    for (size_t k = leaf->first; k < leaf->first + leaf->count; k++)
        if (jit_var_ref(var_jit(given->variables.ids[k])) > aliases->references[k])
            return true;
    return is_changed(given, i);
}

/* The caller's array that stood in a place before the loop, if it still does. */
static PyObject *object_of(const Tracker *given, const Tracker *caller, size_t i)
{
    if (given == caller)
        return caller->tree.leaves[i];
    const Py_ssize_t origin = given->leaves[i].origin;
    return origin == NO_ORIGIN ? NULL : caller->tree.leaves[origin];
}

static bool check_places(const Aliases *aliases, const Tracker *given,
                         const Tracker *returned, size_t changed)
{
    const size_t first = given->leaves[changed].first_use;
    for (size_t i = first; aliases->references && i < given->tree.leaf_count; i++)
        if (i != changed && given->leaves[i].first_use == first &&
            is_used(aliases, given, returned, i))
            return fail(given, changed, tracker_name(given, given->leaves[i].place));
    return true;
}

/* A component of an array is a part of it, and an array of its own for the body. */
static bool check_parts(const Tracker *given, const Tracker *caller, size_t changed)
{
    PyObject *object = object_of(given, caller, changed);
    for (size_t i = 0; object && i < given->tree.leaf_count; i++) {
        PyObject *other = object_of(given, caller, i);
        if (other && other != object && array_overlap(object, other))
            return fail(given, changed, tracker_name(given, given->leaves[i].place));
    }
    return true;
}

/* ---------------------------------------------------------------- functions */

typedef struct Search {
    const Tracker *given, *caller;
    const Watch *watch;
    PyObject *const *objects; /* the caller's; NULL: not changed in place */
    PyObject *names;          /* of globals and attributes, in the function */
    const PyObject *name;     /* of the variable that is looked at */
    int budget;               /* of functions that these call */
} Search;

/* False: it is one of the arrays, and there is an error. 'part' is stolen: ".x". */
static bool check_object(const Search *s, PyObject *object, const char *format,
                         PyObject *part)
{
    for (size_t i = 0; i < s->given->tree.leaf_count; i++)
        if (s->objects[i] && array_overlap(s->objects[i], object)) {
            PyObject *rest = part ? PyUnicode_FromFormat(format, part)
                                  : PyUnicode_FromString("");
            PyObject *text = rest ? PyUnicode_FromFormat("'%S%U' of a function",
                                                         s->name, rest)
                                  : NULL;
            Py_XDECREF(rest);
            return fail(s->given, i, text);
        }
    return true;
}

/* Of attributes, those that the function names. */
static bool check_dictionary(const Search *s, PyObject *dictionary, bool attributes)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    bool ok = true;
    if (PyDict_GET_SIZE(dictionary) <= MOST_ENTRIES)
        while (ok && PyDict_Next(dictionary, &position, &key, &value))
            ok = (attributes && PySequence_Contains(s->names, key) == 0) ||
                 check_object(s, value, attributes ? ".%S" : "[%R]", key);
    return ok;
}

static bool check_sequence(const Search *s, PyObject *sequence)
{
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < MOST_ENTRIES &&
                           i < PySequence_Fast_GET_SIZE(sequence); i++) {
        PyObject *number = PyLong_FromSsize_t(i);
        ok = number && check_object(s, PySequence_Fast_GET_ITEM(sequence, i), "[%S]",
                                    number);
        Py_XDECREF(number);
    }
    return ok;
}

static bool check_function(Search *s, PyObject *function);

/* An object that code names, and what it contains. */
static bool check_value(Search *s, PyObject *object)
{
    if (!object)
        return true;
    if (lazy_function_check(object))
        return true;
    if (PyFunction_Check(object))
        return --s->budget < 0 || check_function(s, object);
    if (array_of(object))
        return check_object(s, object, "", NULL);
    if (PyDict_CheckExact(object))
        return check_dictionary(s, object, false);
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object))
        return check_sequence(s, object);
    const PyTypeObject *cls = Py_TYPE(object);
    if (!PyType_HasFeature((PyTypeObject *) cls, Py_TPFLAGS_HEAPTYPE) ||
        !cls->tp_dictoffset || PyType_Check(object))
        return true;
    PyObject *attributes = PyObject_GenericGetDict(object, NULL);
    if (!attributes)
        PyErr_Clear();
    const bool ok = !attributes || !PyDict_Check(attributes) ||
                    check_dictionary(s, attributes, true);
    Py_XDECREF(attributes);
    return ok;
}

static bool check_cells(Search *s, PyObject *function, PyObject *names)
{
    PyObject *cells = PyFunction_GET_CLOSURE(function);
    bool ok = true;
    for (Py_ssize_t i = 0; ok && cells && i < PyTuple_GET_SIZE(cells); i++) {
        PyObject *content = PyCell_Get(PyTuple_GET_ITEM(cells, i));
        s->name = PyTuple_GET_ITEM(names, i);
        ok = check_value(s, content);
        Py_XDECREF(content);
    }
    return ok;
}

static bool check_globals(Search *s, PyObject *function, PyObject *names)
{
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        s->name = name;
        ok = check_value(
            s, PyDict_GetItemWithError(PyFunction_GET_GLOBALS(function), name));
    }
    return ok && !PyErr_Occurred();
}

/* Objects that are in the tree. */
static bool check_watched(const Search *s)
{
    for (size_t i = 0; i < s->given->tree.leaf_count; i++) {
        PyObject *other = s->objects[i] ? watch_find(s->watch, s->caller, s->objects[i],
                                                     s->names)
                                        : NULL;
        if (other)
            return fail(s->given, i, other);
    }
    return !PyErr_Occurred();
}

static bool check_function(Search *s, PyObject *function)
{
    if (PyMethod_Check(function))
        function = PyMethod_GET_FUNCTION(function);
    if (!PyFunction_Check(function))
        return true;
    PyObject *code = PyFunction_GET_CODE(function), *around = s->names;
    PyObject *free = PyObject_GetAttrString(code, "co_freevars");
    PyObject *names = free ? PyObject_GetAttrString(code, "co_names") : NULL;
    s->names = names;
    const bool ok = names && check_watched(s) && check_cells(s, function, free) &&
                    check_globals(s, function, names);
    s->names = around;
    Py_XDECREF(free);
    Py_XDECREF(names);
    return ok;
}

/* ---------------------------------------------------------------- all of them */

bool alias_check(const Aliases *aliases, const Tracker *given, const Tracker *caller,
                 const Tracker *returned, const Watch *watch, const Reads *reads,
                 PyObject *const *functions, size_t count)
{
    const size_t leaves = given->tree.leaf_count;
    PyObject **objects = PyMem_Calloc(leaves + 1, sizeof(*objects));
    if (!objects)
        return PyErr_NoMemory();
    bool any = false, ok = true;
    for (size_t i = 0; ok && i < leaves; i++) {
        if (!is_changed(given, i))
            continue;
        PyObject *object = object_of(given, caller, i);
        objects[i] = object && reads_has(reads, object) ? object : NULL;
        any |= objects[i] != NULL;
        ok = check_places(aliases, given, returned, i) && check_parts(given, caller, i);
    }
    Search s = { .given = given,
                 .caller = caller,
                 .watch = watch,
                 .objects = objects,
                 .budget = MOST_FUNCTIONS };
    for (size_t i = 0; ok && any && i < count; i++)
        ok = check_function(&s, functions[i]);
    for (size_t i = 0; ok && any && i < leaves; i++)
        ok = !objects[i] ||
             fail(given, i, PyUnicode_FromString("another name that is read"));
    PyMem_Free(objects);
    return ok;
}

bool alias_check_caller(const Tracker *caller, const VarIndex *before,
                        const Tracker *returned)
{
    for (size_t k = 0; k < returned->tree.leaf_count; k++) {
        const Py_ssize_t i = returned->leaves[k].origin;
        if (i == NO_ORIGIN || (size_t) i >= caller->tree.leaf_count)
            continue;
        const TrackedLeaf *leaf = &caller->leaves[i];
        if (has_values(caller, caller->tree.leaves[i], before + leaf->first,
                       leaf->count))
            continue;
        PyObject *name = tracker_name(caller, leaf->place);
        if (name)
            error_raise(PyExc_RuntimeError, caller->operation, NULL, 0,
                        "the array of %U was changed by another name, from outside of "
                        "the state, which %U would not see; use one of the names",
                        name, name);
        Py_XDECREF(name);
        return false;
    }
    return true;
}

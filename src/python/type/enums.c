/*
 * enums.c -- enumerations live in Python, where they are classes like any other
 *
 * Members with small values are remembered, because calling an enumeration and reading
 * a member's value are slow.
 */
#include "python/type/enums.h"

#include "python/base/error.h"

static PyObject *enum_class(State *state, const char *name)
{
    if (!state->enums) {
        state->enums = PyImport_ImportModule("drjit._enums");
        if (!state->enums)
            return NULL;
    }
    return PyObject_GetAttrString(state->enums, name);
}

int enum_traverse(State *state, visitproc visit, void *arg)
{
    Py_VISIT(state->enums);
    for (int i = 0; i < ENUM_LIMIT; i++)
        for (int k = 0; k < MEMBER_LIMIT; k++)
            Py_VISIT(state->enum_caches[i].members[k]);
    return 0;
}

void enum_clear(State *state)
{
    Py_CLEAR(state->enums);
    for (int i = 0; i < ENUM_LIMIT; i++)
        while (state->enum_caches[i].count)
            Py_DECREF(state->enum_caches[i].members[--state->enum_caches[i].count]);
}

/* What is remembered of an enumeration; NULL if there are too many. */
static EnumCache *cache_of(State *state, const char *name)
{
    EnumCache *cache = state->enum_caches, *end = cache + ENUM_LIMIT;
    while (cache < end && cache->name && strcmp(cache->name, name) != 0)
        cache++;
    if (cache == end)
        return NULL;
    cache->name = name; /* a literal */
    return cache;
}

static void remember(State *state, const char *name, PyObject *member, long value)
{
    EnumCache *cache = cache_of(state, name);
    if (!cache || cache->count == MEMBER_LIMIT)
        return;
    cache->members[cache->count] = Py_NewRef(member);
    cache->values[cache->count++] = value;
}

static bool recall(State *state, const char *name, PyObject *member, long *value)
{
    const EnumCache *cache = cache_of(state, name);
    for (int k = 0; cache && k < cache->count; k++)
        if (cache->members[k] == member) {
            *value = cache->values[k];
            return true;
        }
    return false;
}

static PyObject *recall_member(State *state, const char *name, long value)
{
    const EnumCache *cache = cache_of(state, name);
    for (int k = 0; cache && k < cache->count; k++)
        if (cache->values[k] == value)
            return Py_NewRef(cache->members[k]);
    return NULL;
}

PyObject *enum_make(State *state, const char *name, long value)
{
    PyObject *made = recall_member(state, name, value);
    if (made)
        return made;
    PyObject *cls = enum_class(state, name);
    made = cls ? PyObject_CallFunction(cls, "l", value) : NULL;
    Py_XDECREF(cls);
    if (made)
        remember(state, name, made, value);
    return made;
}

bool enum_read(State *state, const char *operation, const char *name, PyObject *member,
               long limit, long *value)
{
    bool known = false; /* a true member, not something that says it is one */
    if (PyLong_Check(member) && !PyBool_Check(member)) {
        *value = PyLong_AsLong(member);
    } else if (!recall(state, name, member, value)) {
        PyObject *cls = enum_class(state, name);
        int is_member = cls ? PyObject_IsInstance(member, cls) : -1;
        known = is_member > 0 && (PyObject *) Py_TYPE(member) == cls;
        Py_XDECREF(cls);
        if (is_member < 0)
            return false;
        if (!is_member)
            return error_raise(PyExc_TypeError, operation, &member, 1,
                               "expected a drjit.%s", name);
        PyObject *number = PyObject_GetAttrString(member, "value");
        *value = number ? PyLong_AsLong(number) : -1;
        Py_XDECREF(number);
    }
    if (*value == -1 && PyErr_Occurred() &&
        !PyErr_ExceptionMatches(PyExc_OverflowError))
        return false;
    if (PyErr_Occurred() || *value < 0 || *value >= limit)
        return error_raise(PyExc_ValueError, operation, NULL, 0,
                           "found %R, expected a drjit.%s", member, name);
    if (known)
        remember(state, name, member, *value);
    return true;
}

int enum_has(State *state, const char *name, PyObject *object)
{
    PyObject *cls = enum_class(state, name);
    const int result = cls ? PyObject_IsInstance(object, cls) : -1;
    Py_XDECREF(cls);
    return result;
}

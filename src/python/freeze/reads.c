/*
 * reads.c -- see reads.h
 */
#include "python/freeze/reads.h"

#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/freeze/exact.h"
#include "python/tree/build.h"

typedef enum ReadKind {
    READ_ENTRY,
    READ_CELL,
    READ_CLASS,
    READ_FIELD,
    READ_MEMBER,
    READ_ITEM,
    READ_CODE,
    READ_DEFAULTS,
    READ_KEYWORDS,
    READ_FIELDS,
    READ_KEYS,
    READ_LENGTH,
    READ_ABSENT,
    READ_LOCAL,
    READ_LOCALS,
    READ_STATE,
    READ_REFERENT,
    READ_KINDS
} ReadKind;

/* In the order of the enumeration. */
static const char *const kind_names[READ_KINDS] = {
    "ENTRY", "CELL",     "CLASS",    "FIELD",  "MEMBER", "ITEM",   "CODE",
    "DEFAULTS", "KEYWORDS", "FIELDS", "KEYS", "LENGTH", "ABSENT",
    "LOCAL", "LOCALS", "STATE", "REFERENT"
};

/* References are strong; a weak reference stands for its object. */
typedef struct Row {
    ReadKind kind;
    bool input;
    bool weak_space, weak_value;
    PyObject *space, *key, *value; /* value: NULL for nothing; not used for inputs */
    Py_ssize_t number;             /* an index, a length */
} Row;

typedef struct Reads {
    PyObject_HEAD
    Row *rows;
    Py_ssize_t count, input_count;
    PyObject *objects; /* of reads_is_about(); NULL: none */
} Reads;

/* ---------------------------------------------------------------- places */

/* A new reference, NULL: it is gone. */
static PyObject *space_of(const Row *row)
{
    return row->weak_space ? weakref_get(row->space) : Py_NewRef(row->space);
}

/* The dictionary of an object, a new reference; of one of threading.local, this
 * thread's. NULL: exception. */
static PyObject *dictionary_of(const Row *row, PyObject *object)
{
    if (row->kind != READ_LOCAL && row->kind != READ_LOCALS)
        return PyObject_GenericGetDict(object, NULL);
    PyObject *fields = PyObject_GetAttrString(object, "__dict__");
    if (!fields || PyDict_Check(fields))
        return fields;
    error_raise(PyExc_TypeError, "freeze", NULL, 0,
                "the attribute '__dict__' of a threading.local is of type %s, expected "
                "a dict", Py_TYPE(fields)->tp_name);
    Py_DECREF(fields);
    return NULL;
}

static PyObject *field_of(const Row *row, PyObject *object, PyObject *name)
{
    PyObject *fields = dictionary_of(row, object);
    PyObject *found = fields ? Py_XNewRef(PyDict_GetItemWithError(fields, name)) : NULL;
    Py_XDECREF(fields);
    return found;
}

static PyObject *member_of(PyObject *object, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(object, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return found;
}

/* What a list, tuple or deque does by itself, not what code of a class makes of it. */
static const PySequenceMethods *sequence_of(PyObject *object)
{
    const PySequenceMethods *found = NULL;
    for (const PyTypeObject *cls = Py_TYPE(object); cls; cls = cls->tp_base)
        if (cls->tp_as_sequence && cls->tp_as_sequence->sq_item)
            found = cls->tp_as_sequence;
    return found;
}

static Py_ssize_t length_of(PyObject *object)
{
    return sequence_of(object)->sq_length(object);
}

/* What stands in a place, a new reference; NULL: nothing, or an exception. */
static PyObject *read_place(const Row *row, PyObject *space)
{
    switch (row->kind) {
        case READ_ENTRY:
            return Py_XNewRef(PyDict_GetItemWithError(space, row->key));
        case READ_CELL: return Py_XNewRef(PyCell_GET(space));
        case READ_CLASS:
            return Py_XNewRef(class_attribute((PyTypeObject *) space, row->key));
        case READ_FIELD:
        case READ_LOCAL: return field_of(row, space, row->key);
        case READ_MEMBER: return member_of(space, row->key);
        case READ_ITEM:
            return row->number < length_of(space)
                       ? sequence_of(space)->sq_item(space, row->number)
                       : NULL;
        case READ_CODE: return Py_NewRef(PyFunction_GET_CODE(space));
        case READ_DEFAULTS: return Py_XNewRef(PyFunction_GET_DEFAULTS(space));
        case READ_KEYWORDS: return Py_XNewRef(PyFunction_GET_KW_DEFAULTS(space));
        case READ_REFERENT: return Py_NewRef(space);
        default: return NULL;
    }
}

/* Put an object there. False: exception. */
static bool write_place(const Row *row, PyObject *space, PyObject *object)
{
    PyObject *fields;
    int failed;
    switch (row->kind) {
        case READ_ENTRY: return PyDict_SetItem(space, row->key, object) == 0;
        case READ_CELL: return PyCell_Set(space, object) == 0;
        case READ_CLASS: return PyType_Type.tp_setattro(space, row->key, object) == 0;
        case READ_FIELD:
        case READ_LOCAL:
            fields = dictionary_of(row, space);
            failed = fields ? PyDict_SetItem(fields, row->key, object) : -1;
            Py_XDECREF(fields);
            return failed == 0;
        case READ_MEMBER: return PyObject_GenericSetAttr(space, row->key, object) == 0;
        case READ_ITEM:
            return sequence_of(space)->sq_ass_item(space, row->number, object) == 0;
        default:
            error_raise(PyExc_TypeError, "freeze", NULL, 0,
                        "a function has replaced the defaults of a function");
            return false;
    }
}

/* ---------------------------------------------------------------- comparing */

/* The same of an OrderedDict, which has an order of its own. */
static bool has_ordered_keys(PyObject *dictionary, PyObject *keys)
{
    PyObject *list = PySequence_List(dictionary), *now = list ? PyList_AsTuple(list)
                                                              : NULL;
    const bool same = now && exact_equal(now, keys) > 0;
    Py_XDECREF(list);
    Py_XDECREF(now);
    return same;
}

/* Has a dictionary exactly these keys, in this order? */
static bool has_keys(PyObject *dictionary, PyObject *keys)
{
    if (PyODict_Check(dictionary))
        return has_ordered_keys(dictionary, keys);
    Py_ssize_t position = 0, i = 0;
    PyObject *key;
    if (PyDict_GET_SIZE(dictionary) != PyTuple_GET_SIZE(keys))
        return false;
    for (; PyDict_Next(dictionary, &position, &key, NULL); i++) {
        PyObject *known = PyTuple_GET_ITEM(keys, i);
        if (exact_equal(known, key) <= 0 || exact_stands_in(known, key))
            return false;
    }
    return true;
}

static bool has_fields(const Row *row, PyObject *object)
{
    PyObject *fields = dictionary_of(row, object);
    const bool same = fields && has_keys(fields, row->value);
    Py_XDECREF(fields);
    return same;
}

/* Has a function of functools.lru_cache() computed as many results as then, and does it
 * keep as many? Another one gives what it gave. */
static bool has_state(const Row *row, PyObject *function)
{
    const bool cache = PyTuple_CheckExact(row->value);
    PyObject *now = cache ? PyObject_CallMethod(function, "cache_info", NULL)
                          : PyObject_CallNoArgs(function);
    bool same = now && (cache ? PyTuple_Check(now) && PyTuple_GET_SIZE(now) == 4
                              : exact_equal(row->value, now) > 0);
    for (Py_ssize_t i = 0; cache && same && i < 2; i++)
        same = exact_equal(PyTuple_GET_ITEM(row->value, i),
                           PyTuple_GET_ITEM(now, 2 * i + 1)) > 0;
    Py_XDECREF(now);
    return same;
}

/* Has a dictionary these keys, the very objects, and in this order? */
static bool has_same_keys(PyObject *dictionary, PyObject *keys)
{
    Py_ssize_t position = 0, i = 0;
    PyObject *key;
    bool same = PyDict_GET_SIZE(dictionary) == PyTuple_GET_SIZE(keys);
    for (; same && PyDict_Next(dictionary, &position, &key, NULL); i++)
        same = key == PyTuple_GET_ITEM(keys, i);
    return same;
}

/* Has a dictionary, or a class itself, none of the names but those that are among the
 * keys that it had? Notes those that it has now. */
static bool lacks_names(Row *row, PyObject *space)
{
    PyObject *dictionary = PyType_Check(space)
                               ? class_dictionary((PyTypeObject *) space)
                               : Py_NewRef(space);
    bool lacks = dictionary;
    if (lacks && !has_same_keys(dictionary, row->value)) {
        Py_ssize_t position = 0;
        PyObject *key;
        while (lacks && PyDict_Next(dictionary, &position, &key, NULL))
            lacks = !PyUnicode_CheckExact(key) || PySet_Contains(row->key, key) == 0 ||
                    PySequence_Contains(row->value, key) == 1;
        PyObject *keys = lacks ? PyDict_Keys(dictionary) : NULL;
        if (keys)
            Py_SETREF(row->value, PyList_AsTuple(keys));
        Py_XDECREF(keys);
        lacks = lacks && row->value;
    }
    Py_XDECREF(dictionary);
    return lacks;
}

static bool is_value(const Row *row, PyObject *now)
{
    if (!now || !row->value)
        return now == row->value;
    if (row->weak_value)
        return weakref_is(row->value, now);
    return exact_equal(row->value, now) > 0 && !exact_stands_in(row->value, now);
}

/* Is a place as it was, which is not an input's? False: no, or an exception. */
static bool holds(Row *row)
{
    PyObject *space = space_of(row);
    bool same = space;
    if (!same)
        return false;
    switch (row->kind) {
        case READ_FIELDS:
        case READ_LOCALS: same = has_fields(row, space); break;
        case READ_STATE: same = has_state(row, space); break;
        case READ_KEYS: same = has_keys(space, row->value); break;
        case READ_LENGTH: same = length_of(space) == row->number; break;
        case READ_ABSENT: same = lacks_names(row, space); break;
        default: {
            PyObject *now = read_place(row, space);
            same = is_value(row, now) && !PyErr_Occurred();
            Py_XDECREF(now);
        }
    }
    Py_DECREF(space);
    return same && !PyErr_Occurred();
}

/* What stands in the place of an input, NULL: nothing, or an exception. */
static PyObject *input_now(const Row *row)
{
    PyObject *space = space_of(row);
    PyObject *now = space ? read_place(row, space) : NULL;
    Py_XDECREF(space);
    return now;
}

PyObject *reads_inputs(PyObject *self)
{
    Reads *reads = (Reads *) self;
    PyObject *list = PyList_New(reads->input_count);
    Py_ssize_t k = 0;
    for (Py_ssize_t i = 0; list && i < reads->count; i++) {
        Row *row = &reads->rows[i];
        PyObject *now = row->input ? input_now(row) : NULL;
        if (now)
            PyList_SET_ITEM(list, k++, now);
        else if (row->input || !holds(row))
            Py_CLEAR(list);
    }
    if (list || PyErr_Occurred())
        return list;
    return Py_NewRef(Py_NotImplemented);
}

bool reads_store(PyObject *self, PyObject *list, PyObject *before)
{
    const Reads *reads = (const Reads *) self;
    Py_ssize_t k = 0;
    for (Py_ssize_t i = 0; i < reads->count; i++) {
        const Row *row = &reads->rows[i];
        if (!row->input)
            continue;
        PyObject *object = PyList_GET_ITEM(list, k), *old = PyList_GET_ITEM(before, k);
        k++;
        PyObject *space = object == old ? NULL : space_of(row);
        const bool ok = !space || write_place(row, space, object);
        Py_XDECREF(space);
        if (!ok)
            return false;
    }
    return true;
}

/* ---------------------------------------------------------------- methods */

static PyObject *inputs_method(PyObject *self, PyObject *unused)
{
    (void) unused;
    return reads_inputs(self);
}

/* The number of the first place that is not as it was; -1: all are. Inputs only have to
 * be there. */
static PyObject *changed_method(PyObject *self, PyObject *unused)
{
    Reads *reads = (Reads *) self;
    (void) unused;
    for (Py_ssize_t i = 0; i < reads->count; i++) {
        Row *row = &reads->rows[i];
        PyObject *now = row->input ? input_now(row) : NULL;
        const bool same = row->input ? now != NULL : holds(row);
        Py_XDECREF(now);
        if (PyErr_Occurred())
            return NULL;
        if (!same)
            return PyLong_FromSsize_t(i);
    }
    return PyLong_FromLong(-1);
}

/* (list, list as it was) */
static PyObject *store_method(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    const Py_ssize_t count = ((Reads *) self)->input_count;
    if (n != 2 || !PyList_CheckExact(args[0]) || !PyList_CheckExact(args[1]) ||
        PyList_GET_SIZE(args[0]) != count || PyList_GET_SIZE(args[1]) != count)
        return error_raise(PyExc_TypeError, "freeze", NULL, 0,
                           "expected two lists of %zd inputs", count);
    if (!reads_store(self, args[0], args[1]))
        return NULL;
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- the class */

static int reads_traverse(PyObject *self, visitproc visit, void *arg)
{
    const Reads *reads = (Reads *) self;
    Py_VISIT(Py_TYPE(self));
    for (Py_ssize_t i = 0; i < reads->count; i++) {
        Py_VISIT(reads->rows[i].space);
        Py_VISIT(reads->rows[i].key);
        Py_VISIT(reads->rows[i].value);
    }
    Py_VISIT(reads->objects);
    return 0;
}

static int reads_clear(PyObject *self)
{
    Reads *reads = (Reads *) self;
    while (reads->count) {
        Row row = reads->rows[--reads->count];
        Py_XDECREF(row.space);
        Py_XDECREF(row.key);
        Py_XDECREF(row.value);
    }
    reads->input_count = 0;
    Py_CLEAR(reads->objects);
    return 0;
}

static void reads_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    reads_clear(self);
    PyMem_Free(((Reads *) self)->rows);
    cls->tp_free(self);
    Py_DECREF(cls);
}

/* Is the space such that the place can be read without a look at its type? */
static bool fits_kind(const Row *row, PyObject *space)
{
    const bool keys = PyTuple_CheckExact(row->value ? row->value : Py_None);
    switch (row->kind) {
        case READ_ENTRY: return PyDict_Check(space) && row->key;
        case READ_CELL: return PyCell_Check(space);
        case READ_CLASS: return PyType_Check(space) && row->key;
        case READ_FIELD:
        case READ_LOCAL:
        case READ_MEMBER: return row->key && PyUnicode_Check(row->key);
        case READ_CODE:
        case READ_DEFAULTS:
        case READ_KEYWORDS: return PyFunction_Check(space);
        case READ_FIELDS:
        case READ_LOCALS: return keys;
        case READ_STATE: return !keys || PyTuple_GET_SIZE(row->value) == 2;
        case READ_KEYS: return keys && PyDict_Check(space);
        case READ_REFERENT: return row->weak_space;
        case READ_ABSENT:
            return (PyDict_Check(space) || PyType_Check(space)) && keys &&
                   PyFrozenSet_CheckExact(row->key);
        default: return sequence_of(space) && sequence_of(space)->sq_length;
    }
}

/* A row from (kind, input, space, key, value). False: exception. */
static bool take_row(Row *row, PyObject *from)
{
    int kind, input;
    PyObject *space, *key, *value;
    if (!PyTuple_Check(from) ||
        !PyArg_ParseTuple(from, "ipOOO:_Reads", &kind, &input, &space, &key, &value)) {
        if (!PyErr_Occurred())
            error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected rows");
        return false;
    }
    *row = (Row){ .kind = (ReadKind) kind, .input = input };
    row->weak_space = PyWeakref_CheckRef(space);
    row->space = Py_NewRef(space);
    row->weak_value = PyWeakref_CheckRef(value) && !PyWeakref_CheckRefExact(value);
    row->value = input || value == Py_Ellipsis ? NULL : Py_NewRef(value);
    row->key = Py_NewRef(key);
    if (kind == READ_ITEM || kind == READ_LENGTH)
        row->number = PyLong_AsSsize_t(kind == READ_ITEM ? key : value);
    PyObject *object = space_of(row); /* NULL: it is gone, so the row does not hold */
    const bool fits =
        kind >= 0 && kind < READ_KINDS && (!object || fits_kind(row, object));
    Py_XDECREF(object);
    if (!fits && !PyErr_Occurred())
        error_raise(PyExc_TypeError, "freeze", NULL, 0, "a row does not fit its kind");
    return fits && !PyErr_Occurred();
}

static PyObject *reads_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    PyObject *list, *objects = NULL;
    static char *names[] = { "rows", "objects", NULL };
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O!:_Reads", names, &PyList_Type,
                                     &list, &PyTuple_Type, &objects))
        return NULL;
    Reads *reads = (Reads *) cls->tp_alloc(cls, 0);
    const Py_ssize_t count = PyList_GET_SIZE(list);
    Row *rows = reads ? PyMem_Calloc((size_t) count + 1, sizeof(*rows)) : NULL;
    if (!rows) {
        Py_XDECREF(reads);
        return PyErr_NoMemory();
    }
    reads->rows = rows;
    reads->objects = Py_XNewRef(objects);
    for (Py_ssize_t i = 0; i < count && i < PyList_GET_SIZE(list); i++) {
        const bool ok = take_row(&rows[i], PyList_GET_ITEM(list, i));
        reads->count = i + 1;
        reads->input_count += rows[i].input;
        if (!ok) {
            Py_DECREF(reads);
            return NULL;
        }
    }
    return (PyObject *) reads;
}

bool reads_is_about(const PyObject *self, Py_ssize_t number, PyObject *object)
{
    const PyObject *objects = ((const Reads *) self)->objects;
    if (!objects)
        return true;
    if (number >= PyTuple_GET_SIZE(objects))
        return false;
    PyObject *one = PyTuple_GET_ITEM(objects, number);
    return one == object || (PyWeakref_CheckRef(one) && weakref_is(one, object));
}

/* ---------------------------------------------------------------- questions */

static PyObject *is_container(PyObject *module, PyObject *object)
{
    State *state = state_of_module(module);
    return PyBool_FromLong(!array_check(state, object) &&
                           plan_is_container(state, object));
}

static PyObject *has_content(PyObject *module, PyObject *object)
{
    (void) module;
    return PyBool_FromLong(PyAnySet_Check(object) || PyObject_CheckBuffer(object));
}

static PyObject *attributes_of(PyObject *module, PyObject *object)
{
    (void) module;
    return build_attributes(object);
}

static PyObject *fields_of(PyObject *module, PyObject *cls)
{
    NodeKind kind;
    Plan *plan;
    if (!PyType_Check(cls))
        return error_raise(PyExc_TypeError, "freeze", NULL, 0, "expected a class");
    if (!plan_of_class(state_of_module(module), "freeze", (PyTypeObject *) cls, &kind,
                       &plan))
        return NULL;
    PyObject *names = plan ? Py_NewRef(plan->names) : PyTuple_New(0);
    if (plan)
        plan_release(plan);
    return names;
}

PyMethodDef reads_functions[] = {
    { "_is_container", is_container, METH_O,
      "_is_container(object)\n\nis it a container of a PyTree?" },
    { "_has_content", has_content, METH_O,
      "_has_content(object)\n\nis it a set, or something with a buffer?" },
    { "_attributes_of", attributes_of, METH_O,
      "_attributes_of(object)\n\nwhat it has in its __dict__ and its slots" },
    { "_fields_of", fields_of, METH_O,
      "_fields_of(class)\n\nthe names of the fields of a data class and the like" },
    { NULL, NULL, 0, NULL },
};

/* ---------------------------------------------------------------- its place */

bool reads_check(const State *state, PyObject *object)
{
    return Py_TYPE(object) == state->reads;
}

bool reads_bind(State *state)
{
    static PyMethodDef methods[] = {
        { "inputs", inputs_method, METH_NOARGS,
          "inputs()\n\nthe inputs as they are now; NotImplemented if something else "
          "has changed" },
        { "changed", changed_method, METH_NOARGS,
          "changed()\n\nthe number of the first place that has changed, -1: none" },
        { "store", METHOD(store_method), METH_FASTCALL,
          "store(inputs, before)\n\nput inputs into their places that are others" },
        { NULL, NULL, 0, NULL },
    };
    PyType_Slot slots[] = {
        SLOT(Py_tp_new, reads_new),
        SLOT(Py_tp_dealloc, reads_dealloc),
        SLOT(Py_tp_traverse, reads_traverse),
        SLOT(Py_tp_clear, reads_clear),
        { Py_tp_methods, methods },
        { 0, NULL },
    };
    state->reads = type_add(state->module, "drjit._core._Reads", sizeof(Reads),
                            Py_TPFLAGS_HAVE_GC, slots);
    if (!state->reads)
        return false;
    for (int i = 0; i < READ_KINDS; i++) {
        char name[24];
        PyOS_snprintf(name, sizeof(name), "_READ_%s", kind_names[i]);
        if (PyModule_AddIntConstant(state->module, name, i) < 0)
            return false;
    }
    return true;
}

/*
 * spec_codec.c -- see spec_codec.h
 */
#include "python/freeze/spec_codec.h"

#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/freeze/exact.h"
#include "python/memory/access.h"
#include "python/shape/size.h"

static const char name[] = "freeze";

static const char *const kind_names[] = {
    [NODE_TUPLE] = "tuple",        [NODE_LIST] = "list",
    [NODE_DICTIONARY] = "dict",    [NODE_NAMED_TUPLE] = "fields",
    [NODE_DATACLASS] = "fields",   [NODE_STRUCT] = "fields",
};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

/* ---------------------------------------------------------------- rows */

PyObject *spec_rows_numbers(const void *numbers, size_t count, size_t bytes)
{
    PyObject *list = PyList_New((Py_ssize_t) count);
    for (size_t i = 0; list && i < count; i++) {
        const unsigned long long number = bytes == sizeof(uint32_t)
                                              ? ((const uint32_t *) numbers)[i]
                                              : ((const uint64_t *) numbers)[i];
        PyObject *made = PyLong_FromUnsignedLongLong(number);
        if (made)
            PyList_SET_ITEM(list, (Py_ssize_t) i, made);
        else
            Py_CLEAR(list);
    }
    return list;
}

/* Outlines have the class of objects with fields; outputs have what others are made
 * from. */
static PyObject *row_of_container(const TreeNode *node)
{
    PyObject *keys = node->plan ? node->plan->names : node->keys;
    PyObject *object =
        node->plan && !PyType_Check(node->object) ? node->object : Py_None;
    PyObject *cls = !node->plan         ? Py_None
                    : object == Py_None ? node->object
                                        : (PyObject *) Py_TYPE(object);
    return Py_BuildValue("snOOO", kind_names[node->kind], node->count, cls,
                         keys ? keys : Py_None, object);
}

/* A list as a tuple; it is stolen. */
static PyObject *tuple_of(PyObject *list)
{
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

static PyObject *row_of_array(const FlattenedInputs *c, const FlattenedLeaf *place,
                              PyObject *object)
{
    const Tensor *t = place->info->kind == KIND_TENSOR ? array_tensor((Array *) object)
                                                       : NULL;
    PyObject *shape =
        t ? tuple_of(spec_rows_numbers(t->extents, t->ndim, sizeof(size_t)))
          : Py_NewRef(Py_None);
    PyObject *numbers = tuple_of(spec_rows_numbers(c->numbers + place->first,
                                                   place->count, sizeof(*c->numbers)));
    PyObject *row = NULL;
    if (numbers && shape)
        row = Py_BuildValue("sOOO", "array", numbers, (PyObject *) Py_TYPE(object),
                            shape);
    Py_XDECREF(numbers);
    Py_XDECREF(shape);
    return row;
}

static PyObject *row_of_entries(const Array *a)
{
    return Py_BuildValue("sOy#", "entries", (PyObject *) Py_TYPE(a), array_data(a),
                         (Py_ssize_t) (array_count(a) * a->info->var_size));
}

bool spec_rows_is_plain(PyObject *object)
{
    return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
           PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyUnicode_CheckExact(object);
}

PyObject *spec_rows_of_object(const State *state, PyObject *object, bool unordered)
{
    if (spec_rows_is_plain(object))
        return Py_NewRef(object);
    if (size_is(object))
        return Py_BuildValue("sN", "value", size_plain(object));
    if (array_check(state, object) && array_of(object)->info->kind != KIND_TENSOR)
        return row_of_entries(array_of(object));
    PyObject *content =
        unordered && PyAnySet_Check(object) ? PyFrozenSet_New(object)
                                            : exact_content(object);
    if (content || PyErr_Occurred())
        return content ? Py_BuildValue("sON", "content", (PyObject *) Py_TYPE(object),
                                       content)
                       : NULL;
    if (!exact_by_identity(object))
        return PyErr_Occurred() ? NULL : Py_BuildValue("sO", "value", object);
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        return Py_BuildValue("sO", "value", object);
    }
    return reference ? Py_BuildValue("sN", "object", reference) : NULL;
}

bool spec_rows_is_reference(PyObject *row)
{
    return PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(row, 0), "object") == 0;
}

PyObject *spec_rows_of_cycle(size_t levels)
{
    return Py_BuildValue("sn", "cycle", (Py_ssize_t) levels);
}

/* Sets have no order that another process could have. */
static PyObject *without_order(PyObject *row)
{
    PyObject *content = PyTuple_GET_ITEM(row, 2);
    PyObject *entries = PyTuple_GetSlice(content, 0, PyTuple_GET_SIZE(content) / 2);
    PyObject *set = entries ? PyFrozenSet_New(entries) : NULL;
    Py_XDECREF(entries);
    return set ? Py_BuildValue("OON", PyTuple_GET_ITEM(row, 0),
                               PyTuple_GET_ITEM(row, 1), set)
               : NULL;
}

/* Of what spec_rows_of_object() has given. */
static PyObject *row_of_leaf(PyObject *leaf)
{
    if (!PyTuple_CheckExact(leaf))
        return Py_BuildValue("sO", "value", leaf);
    const bool set = PyTuple_GET_SIZE(leaf) == 3 &&
                     PyTuple_GET_ITEM(leaf, 1) == (PyObject *) &PySet_Type;
    return set && PyTuple_CheckExact(PyTuple_GET_ITEM(leaf, 2)) ? without_order(leaf)
                                                                : Py_NewRef(leaf);
}

PyObject *spec_rows_make(const FlattenedInputs *spec)
{
    const FlattenedInputs *c = spec;
    PyObject *rows = PyList_New((Py_ssize_t) c->tree.node_count);
    for (size_t i = 0, leaf = 0; rows && i < c->tree.node_count; i++) {
        const TreeNode *node = &c->tree.nodes[i];
        PyObject *row;
        if (node->kind != NODE_LEAF)
            row = row_of_container(node);
        else if (c->places[leaf].info)
            row = row_of_array(c, &c->places[leaf], c->tree.leaves[leaf]);
        else
            row = row_of_leaf(c->tree.leaves[leaf]);
        leaf += node->kind == NODE_LEAF;
        if (row)
            PyList_SET_ITEM(rows, (Py_ssize_t) i, row);
        else
            Py_CLEAR(rows);
    }
    return rows;
}

static PyObject *list_variables(const JitFreezeInput *inputs, size_t count)
{
    PyObject *list = PyList_New((Py_ssize_t) count);
    for (size_t i = 0; list && i < count; i++) {
        const JitFreezeInput *in = &inputs[i];
        PyObject *row =
            Py_BuildValue("IBNNK", in->size, in->type, PyBool_FromLong(in->literal),
                          PyBool_FromLong(in->padded), (unsigned long long) in->bits);
        if (row)
            PyList_SET_ITEM(list, (Py_ssize_t) i, row);
        else
            Py_CLEAR(list);
    }
    return list;
}

PyObject *spec_rows_of_inputs(const FlattenedInputs *spec,
                              const JitFreezeInput *variables)
{
    PyObject *rows = spec_rows_make(spec);
    PyObject *list = rows ? list_variables(variables, spec->id_count) : NULL;
    PyObject *both = list ? PyTuple_Pack(2, rows, list) : NULL;
    Py_XDECREF(rows);
    Py_XDECREF(list);
    return both;
}

/* ---------------------------------------------------------------- from rows */

static bool fail(Py_ssize_t row, const char *what)
{
    return error_raise(PyExc_ValueError, name, NULL, 0, "row %zd of a saved tree: %s",
                       row, what);
}

/* An instance that no constructor has seen. */
static PyObject *make_instance(PyTypeObject *cls, NodeKind kind)
{
    PyTypeObject *base = kind == NODE_NAMED_TUPLE ? &PyTuple_Type : &PyBaseObject_Type;
    return PyObject_CallMethod((PyObject *) base, "__new__", "O", (PyObject *) cls);
}

static bool take_container(State *state, PyObject *row, Py_ssize_t number,
                           TreeNode *node)
{
    const char *text;
    PyObject *cls, *keys, *object;
    if (!PyArg_ParseTuple(row, "snOOO:_freeze_load", &text, &node->count, &cls, &keys,
                          &object))
        return false;
    for (int k = NODE_TUPLE; k < KINDS && !node->kind; k++)
        if (strcmp(kind_names[k], text) == 0)
            node->kind = (NodeKind) k;
    Py_ssize_t count = node->count;
    if (node->kind == NODE_DICTIONARY && PyList_CheckExact(keys)) {
        node->keys = Py_NewRef(keys);
        count = PyList_GET_SIZE(keys);
    } else if (node->kind == NODE_NAMED_TUPLE && PyType_Check(cls)) {
        if (!plan_of_class(state, name, (PyTypeObject *) cls, &node->kind, &node->plan))
            return false;
        if (!node->plan)
            return fail(number, "the class has no fields");
        node->object = object != Py_None ? Py_NewRef(object)
                                         : make_instance((PyTypeObject *) cls,
                                                         node->kind);
        if (!node->object)
            return false;
        count = Py_TYPE(node->object) == (PyTypeObject *) cls
                    ? PyTuple_GET_SIZE(node->plan->names)
                    : -1;
    } else if (node->kind != NODE_TUPLE && node->kind != NODE_LIST) {
        return fail(number, "it is of no kind");
    }
    return (count >= 0 && count == node->count) ||
           fail(number, "the number of children does not fit");
}

/* An array of a class, as large as another one would have to be. */
static Array *make_array(PyTypeObject *cls, const TypeInfo *info, PyObject *shape,
                         Py_ssize_t count)
{
    size_t extents[TENSOR_MAX_DIMS];
    const Py_ssize_t ndim = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : 0;
    for (Py_ssize_t i = 0; i < ndim && i < TENSOR_MAX_DIMS; i++)
        extents[i] = PyLong_AsSize_t(PyTuple_GET_ITEM(shape, i));
    if (PyErr_Occurred())
        return NULL;
    Array *like = info->kind == KIND_TENSOR
                      ? array_new_tensor(info, (size_t) ndim, extents)
                  : info->dynamic ? array_new_dynamic(info, (size_t) count)
                                  : array_new(info);
    if (!like || cls == info->py)
        return like;
    Array *made = array_new_subclass(cls, info, like);
    Py_DECREF(like);
    return made;
}

bool spec_rows_take_numbers(PyObject *list, uint32_t *numbers, size_t count,
                            size_t bound)
{
    for (size_t i = 0; i < count; i++) {
        const size_t number =
            PyLong_AsSize_t(PySequence_Fast_GET_ITEM(list, (Py_ssize_t) i));
        if (PyErr_Occurred() || number > bound)
            return false;
        numbers[i] = (uint32_t) number;
    }
    return true;
}

static bool take_numbers(FlattenedInputs *c, PyObject *numbers, Py_ssize_t number,
                         FlattenedLeaf *place)
{
    place->first = c->number_count;
    place->count = (size_t) PyTuple_GET_SIZE(numbers);
    const size_t wanted = c->number_count + place->count;
    uint32_t *grown = PyMem_Realloc(c->numbers, (wanted + 1) * sizeof(*grown));
    if (!grown)
        return PyErr_NoMemory() != NULL;
    c->numbers = grown;
    c->number_count = wanted;
    return spec_rows_take_numbers(numbers, grown + place->first, place->count,
                                  UINT32_MAX) ||
           (!PyErr_Occurred() && fail(number, "a variable does not exist"));
}

static PyObject *take_array(FlattenedInputs *c, PyObject *row, Py_ssize_t number,
                            FlattenedLeaf *place)
{
    const char *text;
    PyObject *numbers, *cls, *shape;
    if (!PyArg_ParseTuple(row, "sO!O!O:_freeze_load", &text, &PyTuple_Type, &numbers,
                          &PyType_Type, &cls, &shape))
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(numbers);
    if (!type_state((PyTypeObject *) cls) ||
        !(place->info = type_of_class(c->state, (PyTypeObject *) cls)) ||
        !place->info->jit ||
        (PyTuple_Check(shape) && PyTuple_GET_SIZE(shape) > TENSOR_MAX_DIMS)) {
        fail(number, "it is not a class of arrays");
        return NULL;
    }
    Array *made = make_array((PyTypeObject *) cls, place->info, shape, count);
    if (made && array_count(made) != (size_t) count) {
        Py_CLEAR(made);
        fail(number, "the number of variables does not fit");
    }
    if (made && !take_numbers(c, numbers, number, place))
        Py_CLEAR(made);
    return (PyObject *) made;
}

/* An array of drjit.scalar. */
static PyObject *take_entries(const FlattenedInputs *c, PyObject *row,
                              Py_ssize_t number)
{
    const char *text, *entries;
    PyObject *cls;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(row, "sO!y#:_freeze_load", &text, &PyType_Type, &cls,
                          &entries, &size))
        return NULL;
    const TypeInfo *info = type_state((PyTypeObject *) cls)
                               ? type_of_class(c->state, (PyTypeObject *) cls)
                               : NULL;
    if (!info || info->jit || info->kind == KIND_TENSOR || !info->var_size) {
        fail(number, "it is not a class of scalar arrays");
        return NULL;
    }
    const Py_ssize_t count = size / (Py_ssize_t) info->var_size;
    Array *made = make_array((PyTypeObject *) cls, info, Py_None, count);
    if (made && array_count(made) * info->var_size != (size_t) size) {
        Py_CLEAR(made);
        fail(number, "the number of entries does not fit");
    }
    if (made && size)
        memcpy(array_data(made), entries, (size_t) size);
    return (PyObject *) made;
}

/* A set; other content cannot be had from files. */
static PyObject *take_content(PyObject *row, Py_ssize_t number)
{
    PyObject *text, *cls, *content;
    if (!PyArg_ParseTuple(row, "OOO:_freeze_load", &text, &cls, &content))
        return NULL;
    if (cls == (PyObject *) &PySet_Type && PyFrozenSet_CheckExact(content))
        return PySet_New(content);
    fail(number, "it is not a content of a set");
    return NULL;
}

/* The kind of a row; NULL: exception. */
static const char *kind_of(PyObject *row, Py_ssize_t number)
{
    PyObject *kind = PyTuple_CheckExact(row) && PyTuple_GET_SIZE(row)
                         ? PyTuple_GET_ITEM(row, 0)
                         : NULL;
    if (kind && PyUnicode_Check(kind))
        return PyUnicode_AsUTF8(kind);
    fail(number, "it is not a tuple with a kind");
    return NULL;
}

/* An object; NULL without exception: the row is of a container. */
static PyObject *take_leaf(FlattenedInputs *c, const char *kind, PyObject *row,
                           Py_ssize_t number)
{
    if (strcmp(kind, "array") == 0)
        return take_array(c, row, number, &c->places[c->tree.leaf_count]);
    if (strcmp(kind, "entries") == 0)
        return take_entries(c, row, number);
    if (strcmp(kind, "content") == 0)
        return take_content(row, number);
    if (strcmp(kind, "value") != 0)
        return NULL;
    if (PyTuple_GET_SIZE(row) == 2)
        return Py_NewRef(PyTuple_GET_ITEM(row, 1));
    fail(number, "it has no value");
    return NULL;
}

static bool take_row(FlattenedInputs *c, PyObject *row, Py_ssize_t number)
{
    Tree *tree = &c->tree;
    TreeNode *node = &tree->nodes[tree->node_count++];
    const char *kind = kind_of(row, number);
    PyObject *leaf = kind ? take_leaf(c, kind, row, number) : NULL;
    if (leaf)
        tree->leaves[tree->leaf_count++] = leaf;
    return leaf ||
           (!PyErr_Occurred() && take_container(c->state, row, number, node));
}

bool spec_rows_take(State *state, PyObject *rows, FlattenedInputs *c)
{
    const Py_ssize_t count = PyList_Check(rows) ? PyList_GET_SIZE(rows) : 0;
    Py_ssize_t open = 1; /* nodes that are missing */
    const size_t room = (size_t) count + 1;
    *c = (FlattenedInputs){ .state = state };
    c->tree.nodes = PyMem_Calloc(room, sizeof(*c->tree.nodes));
    c->tree.leaves = PyMem_Calloc(room, sizeof(*c->tree.leaves));
    c->places = PyMem_Calloc(room, sizeof(*c->places));
    if (!c->tree.nodes || !c->tree.leaves || !c->places)
        return PyErr_NoMemory();
    c->tree.node_capacity = c->tree.leaf_capacity = room;
    for (Py_ssize_t i = 0; i < count && open > 0; i++) {
        if (!take_row(c, PyList_GET_ITEM(rows, i), i))
            return false;
        open += c->tree.nodes[i].count - 1;
    }
    return (open == 0 && c->tree.node_count == (size_t) count) ||
           fail(count, "the tree is not complete");
}

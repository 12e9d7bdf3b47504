/*
 * tree_functions.c -- functions on whole PyTrees: schedule, eval, copy, width, shape
 */
#include "python/docstrings.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/shape.h"
#include "python/object/size.h"
#include "python/object/tables.h"
#include "python/tree/compatible.h"
#include "python/tree/tree.h"

enum { SEQUENCE_DEPTH_LIMIT = 100 };

/* Visit each argument. */
static bool visit_all(State *state, const char *operation, PyObject *const *args,
                      Py_ssize_t n, TreeVisit visit, void *context)
{
    for (Py_ssize_t i = 0; i < n; i++)
        if (!tree_visit(state, operation, args[i], visit, context))
            return false;
    return true;
}

/* ---------------------------------------------------------------- evaluation */

typedef struct Scheduling {
    State *state;
    const char *operation;
    bool any;
} Scheduling;

static bool schedule_leaf(void *context, PyObject *leaf)
{
    Scheduling *s = context;
    Array *a = array_traced(s->state, leaf);
    for (size_t i = 0; a && i < array_count(a); i++) {
        VarIndex own = array_leaves(a)[i];
        s->any |= !var_is_empty(own) && var_schedule(own);
    }
    return true;
}

/* Schedule the arrays in all arguments. False: exception. */
static bool schedule_all(Scheduling *s, PyObject *const *args, Py_ssize_t n)
{
    jit_error_clear();
    return visit_all(s->state, s->operation, args, n, schedule_leaf, s) &&
           (jit_error() == JIT_OK || error_from_core(s->operation, args, n));
}

static PyObject *schedule(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Scheduling s = { state_of_module(module), "schedule", false };
    return schedule_all(&s, args, n) ? PyBool_FromLong(s.any) : NULL;
}

static PyObject *eval(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Scheduling s = { state_of_module(module), "eval", false };
    if (!schedule_all(&s, args, n))
        return NULL;
    if (!evaluate_scheduled())
        return error_from_core("eval", args, n);
    return PyBool_FromLong(s.any);
}

static bool make_leaf_opaque(void *context, PyObject *leaf)
{
    Scheduling *s = context;
    Array *a = array_traced(s->state, leaf);
    for (size_t i = 0; a && i < array_count(a); i++) {
        VarIndex own = array_leaves(a)[i];
        int scheduled = 0;
        if (var_is_empty(own))
            continue;
        VarIndex opaque = var_schedule_force(own, &scheduled);
        if (!opaque)
            return error_from_core(s->operation, &leaf, 1);
        array_set_leaf(a, i, opaque);
        s->any |= scheduled;
    }
    return true;
}

static PyObject *make_opaque(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Scheduling s = { state_of_module(module), "make_opaque", false };
    if (!visit_all(s.state, s.operation, args, n, make_leaf_opaque, &s))
        return NULL;
    if (!evaluate_scheduled())
        return error_from_core("make_opaque", args, n);
    Py_RETURN_NONE;
}

/* ---------------------------------------------------------------- copy */

static PyObject *copy_leaf(void *context, PyObject *const *leaves)
{
    State *state = context;
    if (!array_check(state, leaves[0]))
        return Py_NewRef(leaves[0]);
    return array_finish(array_duplicate((const Array *) leaves[0]), leaves, 1);
}

static PyObject *copy(PyObject *module, PyObject *arg)
{
    State *state = state_of_module(module);
    return tree_map(state, "copy", &arg, 1, copy_leaf, state);
}

/* ---------------------------------------------------------------- width */

typedef struct Width {
    State *state;
    PyObject *const *args; /* for the error */
    Py_ssize_t n;
    size_t width;
    VarIndex leaf; /* one that is so wide, or 0 */
    bool any;
} Width;

/* The lanes of an array, which nothing depends on yet. */
static bool peek_lanes(Array *a, size_t *lanes)
{
    return a->info->jit ? shape_peek(a, lanes, "width")
                        : shape_lanes(a, lanes, "width");
}

static bool width_leaf(void *context, PyObject *leaf)
{
    Width *w = context;
    if (!array_check(w->state, leaf))
        return true;
    size_t width = 1;
    const Array *a = (Array *) leaf;
    if (!peek_lanes((Array *) leaf, &width))
        return false;
    if (!w->any || w->width == 1) {
        w->width = width;
        w->leaf = shape_widest(a, width);
    }
    else if (width != 1 && width != w->width)
        return error_raise(PyExc_RuntimeError, "width", w->args, w->n,
                           "the input is ragged: it has arrays of sizes %zu and %zu",
                           w->width, width);
    w->any = true;
    return true;
}

static PyObject *width(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    Width w = { state_of_module(module), args, n, n ? 1 : 0, 0, false };
    if (!visit_all(w.state, "width", args, n, width_leaf, &w))
        return NULL;
    return size_of_leaf(w.state, w.leaf, w.width);
}

static PyObject *opaque_width(PyObject *module, PyObject *arg)
{
    State *state = state_of_module(module);
    Array *a = array_traced(state, arg);
    if (!a)
        return error_raise(PyExc_TypeError, "opaque_width", &arg, 1,
                           "expected a just-in-time compiled array");
    size_t lanes;
    if (!shape_peek(a, &lanes, "opaque_width"))
        return NULL;
    const TypeInfo *leaf =
        &state->types[type_find(a->info->family, KIND_FLAT, 0, NULL, VarTypeUInt32)];
    const VarIndex wide = shape_widest(a, lanes);
    const uint32_t none = 0;
    const VarIndex opaque = wide ? var_opaque_width(wide) : var_copy(leaf, &none, 1);
    if (!opaque)
        return error_from_core("opaque_width", &arg, 1);
    return (PyObject *) array_new_leaf(leaf, opaque);
}

/* ---------------------------------------------------------------- shape */

static PyObject *shape_of(State *state, PyObject *arg, int depth);

/* Combine the shapes of two entries of a sequence: extents of 1 broadcast. */
static PyObject *merge_shapes(PyObject *a, PyObject *b)
{
    Py_ssize_t n = PyTuple_GET_SIZE(a), number;
    bool fits = n == PyTuple_GET_SIZE(b);
    PyObject *merged = fits ? PyTuple_New(n) : NULL;
    for (Py_ssize_t i = 0; merged && i < n; i++) {
        Extent x, y;
        fits = fits && extent_read(PyTuple_GET_ITEM(a, i), &number, &x) &&
               extent_read(PyTuple_GET_ITEM(b, i), &number, &y) &&
               (x.n == 1 || y.n == 1 || extent_equal(x, y));
        PyTuple_SET_ITEM(merged, i,
                         Py_NewRef(PyTuple_GET_ITEM(fits && x.n == 1 ? b : a, i)));
    }
    if (!fits) {
        Py_XDECREF(merged);
        return error_raise(PyExc_RuntimeError, "shape", NULL, 0,
                           "the input is ragged: it has entries of shapes %R and %R", a,
                           b);
    }
    return merged;
}

static PyObject *shape_of_sequence(State *state, PyObject *sequence, int depth)
{
    if (depth == SEQUENCE_DEPTH_LIMIT)
        return error_raise(PyExc_RecursionError, "shape", NULL, 0,
                           "the sequence is nested more than %d levels deep",
                           SEQUENCE_DEPTH_LIMIT);
    PyObject *inner = NULL;
    Py_ssize_t count = 0;
    for (; count < PySequence_Fast_GET_SIZE(sequence); count++) {
        PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(sequence, count));
        PyObject *shape = shape_of(state, item, depth + 1);
        Py_DECREF(item);
        PyObject *merged =
            shape && inner ? merge_shapes(inner, shape) : Py_XNewRef(shape);
        Py_XDECREF(shape);
        Py_XDECREF(inner);
        inner = merged;
        if (!inner)
            return NULL;
    }
    Py_ssize_t ndim = inner ? PyTuple_GET_SIZE(inner) : 0;
    PyObject *result = PyTuple_New(ndim + 1);
    PyObject *extent = result ? PyLong_FromSsize_t(count) : NULL;
    if (!extent)
        Py_CLEAR(result);
    else
        PyTuple_SET_ITEM(result, 0, extent);
    for (Py_ssize_t i = 0; result && i < ndim; i++)
        PyTuple_SET_ITEM(result, i + 1, Py_NewRef(PyTuple_GET_ITEM(inner, i)));
    Py_XDECREF(inner);
    return result;
}

static bool are_extents(PyObject *shape)
{
    bool ok = PyTuple_Check(shape);
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(shape); i++) {
        PyObject *extent = PyTuple_GET_ITEM(shape, i);
        ok = size_is_int(extent) && PyLong_AsSsize_t(extent) >= 0;
    }
    PyErr_Clear(); /* of an extent that is too large */
    return ok;
}

static PyObject *shape_of(State *state, PyObject *arg, int depth)
{
    if (array_check(state, arg))
        return shape_of_array((Array *) arg, "shape");
    if (size_is_int(arg) || PyFloat_Check(arg))
        return PyTuple_New(0);
    if (PyList_Check(arg) || PyTuple_Check(arg))
        return shape_of_sequence(state, arg, depth);
    PyObject *shape = PyObject_GetAttrString(arg, "shape"); /* NumPy and its like */
    if (shape && are_extents(shape))
        return shape;
    Py_XDECREF(shape);
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        error_raise(PyExc_TypeError, "shape", &arg, 1,
                    "expected an array, a sequence or a number");
    }
    return NULL;
}

static PyObject *shape(PyObject *module, PyObject *arg)
{
    return shape_of(state_of_module(module), arg, 0);
}

/* ---------------------------------------------------------------- for Python */

/* (object, keys of its children); of a leaf (object, None). */
static PyObject *describe_node(const TreeNode *node, PyObject *leaf)
{
    if (node->kind == NODE_LEAF)
        return PyTuple_Pack(2, leaf, Py_None);
    PyObject *keys = node->plan ? node->plan->names : node->keys;
    keys = keys ? Py_NewRef(keys)
                : PyObject_CallFunction((PyObject *) &PyRange_Type, "n", node->count);
    PyObject *pair = keys ? PyTuple_Pack(2, node->object, keys) : NULL;
    Py_XDECREF(keys);
    return pair;
}

/* The next entry of a list, whose reference moves; a failure leaves no list. */
static void put_entry(PyObject **list, size_t i, PyObject *entry)
{
    if (entry)
        PyList_SET_ITEM(*list, (Py_ssize_t) i, entry);
    else
        Py_CLEAR(*list);
}

static PyObject *list_nodes(const Tree *tree)
{
    PyObject *list = PyList_New((Py_ssize_t) tree->node_count);
    for (size_t i = 0, leaf = 0; list && i < tree->node_count; i++) {
        const TreeNode *node = &tree->nodes[i];
        bool is_leaf = node->kind == NODE_LEAF;
        put_entry(&list, i, describe_node(node, is_leaf ? tree->leaves[leaf++] : NULL));
    }
    return list;
}

static PyObject *list_paths(const Tree *tree)
{
    PyObject *list = PyList_New((Py_ssize_t) tree->leaf_count);
    for (size_t i = 0; list && i < tree->leaf_count; i++) {
        PyObject *path = tree_leaf_path(tree, i);
        put_entry(&list, i, path ? PyTuple_Pack(2, path, tree->leaves[i]) : NULL);
        Py_XDECREF(path);
    }
    return list;
}

/* A list that is made of the tree that is the second argument, after the name of the
 * operation. */
static PyObject *list_of(PyObject *module, PyObject *args, const char *format,
                         PyObject *(*make)(const Tree *tree))
{
    const char *operation;
    PyObject *object, *list;
    Tree tree;
    if (!PyArg_ParseTuple(args, format, &operation, &object))
        return NULL;
    bool ok = tree_flatten(state_of_module(module), operation, object, &tree);
    list = ok ? make(&tree) : NULL;
    tree_free(&tree);
    return list;
}

static PyObject *tree_nodes(PyObject *module, PyObject *args)
{
    return list_of(module, args, "sO:_tree_nodes", list_nodes);
}

static PyObject *tree_paths(PyObject *module, PyObject *args)
{
    return list_of(module, args, "sO:_tree_paths", list_paths);
}

typedef struct Calls {
    PyObject *function;
    int n; /* arguments: a leaf of each tree */
} Calls;

static PyObject *call_function(void *context, PyObject *const *leaves)
{
    const Calls *c = context;
    return PyObject_Vectorcall(c->function, leaves, (size_t) c->n, NULL);
}

static PyObject *map_leaves(PyObject *module, PyObject *args)
{
    PyObject *trees[2] = { NULL, NULL };
    const char *operation;
    Calls c = { NULL, 1 };
    if (!PyArg_ParseTuple(args, "sOO|O:_tree_map", &operation, &c.function, &trees[0],
                          &trees[1]))
        return NULL;
    c.n += trees[1] != NULL;
    return tree_map(state_of_module(module), operation, trees, c.n, call_function, &c);
}

static PyObject *map_leaves_alike(PyObject *module, PyObject *args)
{
    PyObject *tree;
    const char *operation;
    Calls c = { NULL, 1 };
    if (!PyArg_ParseTuple(args, "sOO:_tree_map_alike", &operation, &c.function, &tree))
        return NULL;
    State *state = state_of_module(module);
    return tree_map_alike(state, operation, tree, call_function, &c);
}

static PyObject *check_compatibility(PyObject *module, PyObject *args)
{
    PyObject *first, *second;
    int widths;
    const char *name;
    if (!PyArg_ParseTuple(args, "OOps:check_compatibility", &first, &second, &widths,
                          &name) ||
        !tree_check_compatible(state_of_module(module), "detail.check_compatibility",
                               name, first, second, widths))
        return NULL;
    Py_RETURN_NONE;
}

PyMethodDef tree_functions[] = {
    { "_tree_paths", tree_paths, METH_VARARGS,
      "_tree_paths(operation, tree, /)\n--\n\nA list of the leaves of a PyTree: "
      "(path, leaf)." },
    { "_tree_nodes", tree_nodes, METH_VARARGS,
      "_tree_nodes(operation, tree, /)\n--\n\nA list of the nodes of a PyTree, parents "
      "before children: (container, keys of its children)\nor (leaf, None)." },
    { "_tree_map", map_leaves, METH_VARARGS,
      "_tree_map(operation, function, tree, other=None, /)\n--\n\nA new tree with "
      "function(leaf), or\nfunction(leaf, leaf of the other tree of the same "
      "structure), in the place of each leaf." },
    { "_tree_map_alike", map_leaves_alike, METH_VARARGS,
      "_tree_map_alike(operation, function, tree, /)\n--\n\nThe same of one tree, but "
      "no constructor is called: what\nobjects have besides their fields is that of "
      "the original." },
    { "_check_compatibility", check_compatibility, METH_VARARGS,
      DOC__check_compatibility },
    { "schedule", METHOD(schedule), METH_FASTCALL, DOC_schedule },
    { "eval", METHOD(eval), METH_FASTCALL, DOC_eval },
    { "make_opaque", METHOD(make_opaque), METH_FASTCALL, DOC_make_opaque },
    { "copy", copy, METH_O, DOC_copy },
    { "width", METHOD(width), METH_FASTCALL, DOC_width },
    { "opaque_width", opaque_width, METH_O, DOC_opaque_width },
    { "shape", shape, METH_O, DOC_shape },
    { NULL, NULL, 0, NULL },
};

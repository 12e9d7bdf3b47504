/*
 * compatible.c -- see compatible.h
 *
 * The nodes of both trees are compared in order, parents before children: as long as
 * there is no difference, node i of one stands where node i of the other does.
 */
#include "python/shape/shape.h"
#include "python/tree/compatible.h"

#include "python/base/error.h"

typedef struct Comparison {
    State *state;
    const char *operation, *name;
    const Tree *tree;
    size_t node;
    bool widths;
} Comparison;

/* "inconsistent sizes for field 'state[0].x' (1 and 2)": takes the references to what
 * was found, NULL: exception. */
static bool fail(const Comparison *c, const char *what, PyObject *first,
                 PyObject *second)
{
    PyObject *path = first && second ? tree_node_path(c->tree, c->node) : NULL;
    if (path)
        error_raise(PyExc_RuntimeError, c->operation, NULL, 0,
                    "inconsistent %s for field '%s%U' (%S and %S)", what, c->name, path,
                    first, second);
    Py_XDECREF(path);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return false;
}

static bool fail_sizes(const Comparison *c, size_t first, size_t second)
{
    return fail(c, "sizes", PyLong_FromSize_t(first), PyLong_FromSize_t(second));
}

PyObject *tree_class_name(PyObject *object)
{
    PyObject *cls = (PyObject *) Py_TYPE(object);
    PyObject *module = PyObject_GetAttrString(cls, "__module__");
    PyObject *name = module ? PyObject_GetAttrString(cls, "__qualname__") : NULL;
    bool builtin = name && PyUnicode_Check(module) &&
                   PyUnicode_CompareWithASCIIString(module, "builtins") == 0;
    PyObject *text = !name     ? NULL
                     : builtin ? PyUnicode_FromFormat("'%S'", name)
                               : PyUnicode_FromFormat("'%S.%S'", module, name);
    Py_XDECREF(module);
    Py_XDECREF(name);
    return text;
}

static bool compare_arrays(const Comparison *c, Array *first, Array *second)
{
    const TypeInfo *info = first->info;
    bool components = info->dynamic && (info->jit || info->ndim > 1);
    Py_ssize_t counts[2] = { 0, 0 };
    if (components) {
        counts[0] = PyObject_Size((PyObject *) first);
        counts[1] = counts[0] < 0 ? -1 : PyObject_Size((PyObject *) second);
        if (counts[1] < 0)
            return false;
    }
    if (counts[0] != counts[1])
        return fail_sizes(c, (size_t) counts[0], (size_t) counts[1]);
    size_t widths[2];
    if (!c->widths || !info->jit)
        return true;
    if (!shape_lanes(first, &widths[0], c->operation) ||
        !shape_lanes(second, &widths[1], c->operation))
        return false;
    return widths[0] == widths[1] || widths[0] == 1 || widths[1] == 1 ||
           fail_sizes(c, widths[0], widths[1]);
}

static bool compare_objects(const Comparison *c, PyObject *first, PyObject *second)
{
    int equal = first == second ? 1 : PyObject_RichCompareBool(first, second, Py_EQ);
    if (equal)
        return equal > 0;
    PyObject *path = tree_node_path(c->tree, c->node);
    PyObject *name = path ? tree_class_name(first) : NULL;
    if (name)
        error_raise(PyExc_RuntimeError, c->operation, NULL, 0,
                    "inconsistent scalar Python object of type %U for field '%s%U'",
                    name, c->name, path);
    Py_XDECREF(path);
    Py_XDECREF(name);
    return false;
}

static bool compare_containers(const Comparison *c, const TreeNode *first,
                               const TreeNode *second)
{
    if (first->kind != NODE_DICTIONARY)
        return first->count == second->count ||
               fail_sizes(c, (size_t) first->count, (size_t) second->count);
    int equal = PyObject_RichCompareBool(first->keys, second->keys, Py_EQ);
    if (equal == 0)
        fail(c, "dictionary keys", Py_NewRef(first->keys), Py_NewRef(second->keys));
    return equal > 0;
}

static bool compare_trees(Comparison *c, const Tree *first, const Tree *second)
{
    size_t leaf = 0;
    for (c->node = 0; c->node < first->node_count; ++c->node) {
        const TreeNode *x = &first->nodes[c->node], *y = &second->nodes[c->node];
        /* Up to here the trees agree, so both are at their next leaf. */
        PyObject *one = x->kind == NODE_LEAF ? first->leaves[leaf] : x->object;
        PyObject *other = y->kind == NODE_LEAF ? second->leaves[leaf] : y->object;
        if (Py_TYPE(one) != Py_TYPE(other))
            return fail(c, "types", tree_class_name(one), tree_class_name(other));
        bool same = x->kind != NODE_LEAF ? compare_containers(c, x, y)
                    : array_check(c->state, one)
                        ? compare_arrays(c, (Array *) one, (Array *) other)
                        : compare_objects(c, one, other);
        if (!same)
            return false;
        leaf += x->kind == NODE_LEAF;
    }
    return true;
}

bool tree_check_compatible(State *state, const char *operation, const char *name,
                           PyObject *first, PyObject *second, bool widths)
{
    Tree trees[2] = { { 0 } };
    bool ok = tree_flatten(state, operation, first, &trees[0]) &&
              tree_flatten(state, operation, second, &trees[1]);
    Comparison c = { state, operation, name, &trees[0], 0, widths };
    ok = ok && compare_trees(&c, &trees[0], &trees[1]);
    tree_free(&trees[0]);
    tree_free(&trees[1]);
    return ok;
}

/*
 * contents.c -- what is in a value that a function reads by name
 *
 * Whether that counts as an input is decided by Implicit (drjit._freeze_implicit), and
 * for containers anew in each call.
 */
#include "python/object/error.h"
#include "python/object/tables.h"
#include "python/tree/tree.h"

enum { OTHER_THINGS, PLAIN_VALUES, ARRAYS_OR_A_LEAF };

static bool is_plain(PyObject *leaf)
{
    return leaf == Py_None || PyLong_Check(leaf) || PyFloat_Check(leaf) ||
           PyUnicode_Check(leaf) || PyBytes_Check(leaf) || PyComplex_Check(leaf);
}

static int contents_of(const State *state, PyObject *value, const Tree *tree)
{
    bool plain = true;
    for (size_t i = 0; i < tree->leaf_count; i++) {
        PyObject *leaf = tree->leaves[i];
        if (leaf == value && tree->node_count == 1)
            return ARRAYS_OR_A_LEAF;
        if (is_plain(leaf))
            continue;
        if (array_check(state, leaf) && array_of(leaf)->info->jit)
            return ARRAYS_OR_A_LEAF;
        plain = false;
    }
    return plain ? PLAIN_VALUES : OTHER_THINGS;
}

static PyObject *contents(PyObject *module, PyObject *value)
{
    State *state = state_of_module(module);
    Tree tree = { 0 };
    int found = OTHER_THINGS;
    const bool ok = tree_flatten(state, "freeze", value, &tree);
    if (ok)
        found = contents_of(state, value, &tree);
    tree_free(&tree);
    return ok ? PyLong_FromLong(found) : NULL;
}

PyMethodDef contents_functions[] = {
    { "_freeze_contents", contents, METH_O,
      "_freeze_contents(value)\n\n2: it has traced arrays, or is a leaf; 1: all of its "
      "leaves are numbers and the like; else 0" },
    { NULL, NULL, 0, NULL },
};

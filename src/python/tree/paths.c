/*
 * paths.c -- the paths of nodes and leaves of a tree, for messages: see tree.h
 */
#include "python/tree/tree.h"

/* The step from a container to child i. */
static PyObject *step_to(const TreeNode *node, Py_ssize_t i)
{
    if (node->kind == NODE_DICTIONARY)
        return PyUnicode_FromFormat("[%S]", PyList_GET_ITEM(node->keys, i));
    if (node->plan)
        return PyUnicode_FromFormat(".%U", PyTuple_GET_ITEM(node->plan->names, i));
    return PyUnicode_FromFormat("[%zd]", i);
}

/* Nodes stand before their children. So on the way back from a place, a node whose
 * children have all been passed is complete, and one that lacks some contains it. */
PyObject *tree_node_path(const Tree *tree, size_t place)
{
    PyObject *path = PyUnicode_FromString("");
    Py_ssize_t complete = 0; /* since the last container: children before the place */
    while (path && place--) {
        const TreeNode *node = &tree->nodes[place];
        if (node->count <= complete) {
            complete += 1 - node->count;
            continue;
        }
        PyObject *step = step_to(node, complete);
        PyObject *longer = step ? PyUnicode_Concat(step, path) : NULL;
        Py_XDECREF(step);
        Py_SETREF(path, longer);
        complete = 0;
    }
    return path;
}

PyObject *tree_leaf_path(const Tree *tree, size_t leaf)
{
    size_t place = 0;
    for (size_t leaves = 0;; ++place)
        if (tree->nodes[place].kind == NODE_LEAF && leaves++ == leaf)
            return tree_node_path(tree, place);
}

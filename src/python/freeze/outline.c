/*
 * outline.c -- see outline.h
 */
#include "python/freeze/outline.h"

#include "python/freeze/rows.h"
#include "python/memory/access.h"

/* An empty array like this one. */
static PyObject *empty_like(const TypeInfo *info, PyObject *array)
{
    PyTypeObject *cls = Py_TYPE(array);
    const bool counted = info->dynamic || info->kind == KIND_TENSOR;
    if (cls == info->py && !counted)
        return (PyObject *) array_new(info);
    Array *like = counted ? array_new_like(info, (Array *) array) : NULL;
    if (counted && (!like || cls == info->py))
        return (PyObject *) like;
    Array *made = access_make(cls, info, like);
    Py_XDECREF(like);
    return (PyObject *) made;
}

bool outline_nodes(Tree *tree, const Tree *from)
{
    tree->nodes = PyMem_Calloc(from->node_count + 1, sizeof(*tree->nodes));
    if (!tree->nodes)
        return PyErr_NoMemory() != NULL;
    for (; tree->node_count < from->node_count; tree->node_count++) {
        const TreeNode *node = &from->nodes[tree->node_count];
        TreeNode *copy = &tree->nodes[tree->node_count];
        *copy = (TreeNode){ node->kind, node->count, NULL, Py_XNewRef(node->keys),
                            node->plan, node->above };
        if (node->plan) {
            node->plan->references++;
            copy->object = Py_NewRef((PyObject *) Py_TYPE(node->object));
        }
    }
    return true;
}

/* What is kept of leaf i, whose node this is. */
static PyObject *make_leaf(const Collection *c, const TreeNode *node, size_t i)
{
    PyObject *leaf = c->tree.leaves[i];
    if (node->above)
        return rows_of_cycle(node->above);
    return c->places[i].info ? empty_like(c->places[i].info, leaf)
                             : rows_of_object(c->state, leaf);
}

static bool make_leaves(Tree *tree, const Collection *c)
{
    const Tree *from = &c->tree;
    tree->leaves = PyMem_Calloc(from->leaf_count + 1, sizeof(*tree->leaves));
    if (!tree->leaves)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < from->node_count; i++) {
        if (from->nodes[i].kind != NODE_LEAF)
            continue;
        PyObject *leaf = make_leaf(c, &from->nodes[i], tree->leaf_count);
        if (!leaf)
            return false;
        tree->leaves[tree->leaf_count++] = leaf;
    }
    return true;
}

/* A copy of an array of C; NULL: exception. */
static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = PyMem_Malloc(count * size + 1);
    if (!copy)
        return PyErr_NoMemory();
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

bool outline_make(Collection *outline, const Collection *c)
{
    *outline = (Collection){ .state = c->state, .number_count = c->number_count,
                             .id_count = c->id_count,
                             .repeated_count = c->repeated_count };
    outline->places = copy_of(c->places, c->tree.leaf_count, sizeof(*c->places));
    outline->numbers = copy_of(c->numbers, c->number_count, sizeof(*c->numbers));
    outline->repeated = copy_of(c->repeated, c->repeated_count, sizeof(*c->repeated));
    return outline->places && outline->numbers && outline->repeated &&
           outline_nodes(&outline->tree, &c->tree) && make_leaves(&outline->tree, c);
}

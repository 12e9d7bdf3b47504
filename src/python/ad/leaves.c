/*
 * leaves.c -- see leaves.h
 */
#include "python/ad/leaves.h"

#include "python/ad/gradient.h"
#include "python/tree/tree.h"

void leaves_drop(Leaves *l)
{
    while (l->count)
        var_unref(l->leaves[--l->count]);
    PyMem_Free(l->leaves);
    l->leaves = NULL;
}

bool leaves_add(Leaves *l, VarIndex var)
{
    if (l->count == l->capacity) {
        const size_t capacity = 2 * l->capacity + 8;
        VarIndex *leaves = PyMem_Realloc(l->leaves, capacity * sizeof(*leaves));
        if (!leaves)
            return PyErr_NoMemory();
        l->leaves = leaves;
        l->capacity = capacity;
    }
    l->leaves[l->count++] = var_ref(var);
    return true;
}

static bool collect_leaf(void *context, PyObject *object)
{
    Leaves *l = context;
    Array *a = array_check(l->state, object) ? (Array *) object : NULL;
    if (!a || !gradient_is_float(a->info))
        return true;
    for (size_t i = 0; i < array_count(a); i++)
        if (!leaves_add(l, array_leaves(a)[i]))
            return false;
    return true;
}

bool leaves_collect(Leaves *l, const char *operation, PyObject *tree)
{
    return tree_visit(l->state, operation, tree, collect_leaf, l);
}

/*
 * frozen_escapes.c -- arrays that a function leaves behind, where nobody looks: in a
 * cache, in a queue, in a generator that goes on later
 *
 * The core knows how many references variables have, and who holds them. What remains
 * are those of arrays in Python. Those in results and inputs are listed here; others
 * would not get their values from a repetition.
 */
#include "python/freeze/frozen.h"

#include <stdlib.h>

#include "python/base/error.h"

typedef struct Known {
    const Array **roots; /* that own leaves */
    size_t root_count;
    uint32_t *ids; /* one for each reference */
    size_t count;
} Known;

static int compare_addresses(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) *(void *const *) a;
    const uintptr_t y = (uintptr_t) *(void *const *) b;
    return (x > y) - (x < y);
}

static void add_roots(Known *known, const State *state, const Tree *tree)
{
    for (size_t i = 0; i < tree->leaf_count; i++) {
        const Array *array = array_check(state, tree->leaves[i])
                                 ? array_of(tree->leaves[i])
                                 : NULL;
        if (array && array->info->jit)
            known->roots[known->root_count++] = array->root ? array->root : array;
    }
}

/* Each array counts once. */
static bool add_leaves(Known *known, size_t more)
{
    size_t kept = 0, total = more;
    if (known->root_count)
        qsort(known->roots, known->root_count, sizeof(*known->roots),
              compare_addresses);
    for (size_t i = 0; i < known->root_count; i++)
        if (!i || known->roots[i] != known->roots[i - 1]) {
            known->roots[kept++] = known->roots[i];
            total += array_count(known->roots[i]);
        }
    known->ids = PyMem_New(uint32_t, total + 1);
    if (!known->ids)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < kept; i++)
        for (size_t k = 0; k < array_count(known->roots[i]); k++)
            known->ids[known->count++] = var_jit(array_leaves(known->roots[i])[k]);
    return true;
}

/* How many have escaped, and one of them; SIZE_MAX: exception. */
static size_t count_escaped(const Known *known, uint32_t *one)
{
    const size_t count = jit_freeze_escaped(known->count, known->ids, 1, one);
    if (count == SIZE_MAX)
        error_from_core("freeze", NULL, 0);
    return count;
}

/* The arrays that custom operations have: a list. NULL: exception. */
static PyObject *find_kept(void)
{
    PyObject *module = PyImport_ImportModule("drjit._freeze.ad");
    PyObject *list = module ? PyObject_CallMethod(module, "kept_by_operations", NULL)
                            : NULL;
    Py_XDECREF(module);
    return list;
}

/* Why variables have escaped that do not belong to these trees. 'kept': further
 * arrays, NULL: none. */
static PyObject *say_why(const State *state, const Tree *inputs,
                         const FlattenedInputs *outputs, const uint32_t *sizes,
                         size_t size_count, PyObject *kept)
{
    Known known = { 0 };
    PyObject *reason = NULL;
    Tree more = { 0 };
    uint32_t one = 0;
    size_t count = 0;
    if (kept && !tree_flatten((State *) state, "freeze", kept, &more))
        return NULL;
    known.roots =
        PyMem_New(const Array *, inputs->leaf_count + outputs->tree.leaf_count +
                                     more.leaf_count + 1);
    if (!known.roots) {
        tree_free(&more);
        return PyErr_NoMemory();
    }
    add_roots(&known, state, inputs);
    add_roots(&known, state, &outputs->tree);
    add_roots(&known, state, &more);
    if (add_leaves(&known, outputs->id_count + size_count)) {
        for (size_t i = 0; i < outputs->id_count; i++)
            known.ids[known.count++] = outputs->ids[i];
        for (size_t i = 0; i < size_count; i++)
            known.ids[known.count++] = sizes[i];
        count = count_escaped(&known, &one);
    }
    if (count && count != SIZE_MAX)
        reason = PyUnicode_FromFormat(
            "it leaves behind an array of %zu entries, which something else holds",
            jit_var_peek_size(one));
    PyMem_Free(known.roots);
    PyMem_Free(known.ids);
    tree_free(&more);
    return reason;
}

PyObject *frozen_find_escaped(const State *state, const Tree *inputs,
                              const FlattenedInputs *outputs, const uint32_t *sizes,
                              size_t size_count)
{
    PyObject *reason = say_why(state, inputs, outputs, sizes, size_count, NULL);
    if (!reason)
        return NULL;
    Py_DECREF(reason);
    PyGC_Collect(); /* cycles may hold them */
    PyObject *kept = find_kept();
    reason = kept ? say_why(state, inputs, outputs, sizes, size_count, kept) : NULL;
    Py_XDECREF(kept);
    return reason;
}

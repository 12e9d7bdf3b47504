/*
 * frozen_objects.c -- which objects of a result are the same, and which are inputs
 *
 * A function that returns an array twice, or one of its inputs, gives the same object
 * in both places, whose changes are seen in both. So does a repetition.
 */
#include "python/freeze/frozen.h"

#include <stdlib.h>

#include "python/base/error.h"
#include "python/freeze/exact.h"
#include "python/freeze/finder.h"
#include "python/freeze/spec_codec.h"

/* Can anybody tell whether it is the same object? */
static bool counts(const TreeNode *node, PyObject *object)
{
    if (node->kind != NODE_LEAF)
        return node->count || (node->kind != NODE_TUPLE);
    return exact_is_identity(object) || PyAnySet_Check(object) ||
           PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE) ||
           (PyObject_CheckBuffer(object) && !PyBytes_CheckExact(object));
}

/* The object of a node, whose leaves come in order. */
static PyObject *object_of(const Tree *tree, size_t node, size_t *leaf)
{
    return tree->nodes[node].kind == NODE_LEAF ? tree->leaves[(*leaf)++]
                                               : tree->nodes[node].object;
}

/* The node after one, and all below it. */
static size_t node_behind(const Tree *tree, size_t node)
{
    TreePlace at = { node, 0 };
    tree_skip(tree, &at);
    return at.node;
}

/* Of what the function reads by name, only the inputs are looked at when it is
 * repeated: the list in a tuple of two. The other entry goes from node 'first' to
 * 'end'. */
static void find_values(const Tree *inputs, size_t *first, size_t *end)
{
    size_t node = 1;
    for (int part = 0; part < 2 && node < inputs->node_count; part++)
        node = node_behind(inputs, node);
    *first = *end = inputs->node_count;
    if (node >= inputs->node_count || inputs->nodes[node].kind != NODE_TUPLE)
        return;
    *end = node_behind(inputs, node);
    *first = node_behind(inputs, node + 1);
}

/* The node of an object + 1; 0: none has it. */
static uint32_t find(const Finder *met, const PyObject *object)
{
    return finder_get(met, (uintptr_t) object) + 1;
}

static bool meet(Finder *met, const PyObject *object, size_t node)
{
    return find(met, object) || finder_put(met, (uintptr_t) object, (uint32_t) node);
}

static bool meet_inputs(Finder *met, const Tree *inputs)
{
    size_t first, end;
    bool ok = true;
    find_values(inputs, &first, &end);
    for (size_t i = 0, leaf = 0; ok && i < inputs->node_count; i++) {
        PyObject *object = object_of(inputs, i, &leaf);
        if ((i < first || i >= end) && counts(&inputs->nodes[i], object))
            ok = meet(met, object, i);
    }
    return ok;
}

static int compare_sizes(const void *a, const void *b)
{
    const size_t x = *(const size_t *) a, y = *(const size_t *) b;
    return (x > y) - (x < y);
}

/* From nodes of the inputs + 1 to their places in a list without repetitions. */
static bool number_returned(Frozen *f, size_t count)
{
    f->returned = PyMem_New(size_t, count + 1);
    if (!f->returned)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < count; i++)
        f->linked |= f->same[i] || f->given[i];
    for (size_t i = 0; i < count; i++)
        if (f->given[i])
            f->returned[f->returned_count++] = f->given[i] - 1;
    if (!f->returned_count)
        return true;
    qsort(f->returned, f->returned_count, sizeof(*f->returned), compare_sizes);
    size_t kept = 1;
    for (size_t i = 1; i < f->returned_count; i++)
        if (f->returned[i] != f->returned[kept - 1])
            f->returned[kept++] = f->returned[i];
    f->returned_count = kept;
    for (size_t i = 0; i < count; i++) {
        const size_t node = f->given[i] - (size_t) 1;
        const size_t *place = !f->given[i] ? NULL
                                           : bsearch(&node, f->returned, kept,
                                                     sizeof(node), compare_sizes);
        f->given[i] = place ? (uint32_t) (place - f->returned) + 1 : 0;
    }
    return true;
}

/* Are both nodes leaves, or both containers? */
static bool are_alike(const Tree *tree, size_t a, size_t b)
{
    return (tree->nodes[a].kind == NODE_LEAF) == (tree->nodes[b].kind == NODE_LEAF);
}

/* Which nodes are what they are: the tuple, the list of changes, and in that the arrays
 * that have been changed in place, each an array of its own that carries the new value.
 * NULL: exception. */
static bool *find_fixed(const Frozen *f, const Tree *outputs)
{
    bool *fixed = PyMem_Calloc(outputs->node_count + 1, sizeof(*fixed));
    const size_t changes = node_behind(outputs, 1); /* a list, after the result */
    if (!fixed) {
        PyErr_NoMemory();
        return NULL;
    }
    fixed[0] = fixed[changes] = true;
    for (size_t node = changes + 1, k = 0; k < f->change_count; k++) {
        fixed[node] = !f->changes[k].replaced;
        node = node_behind(outputs, node);
    }
    return fixed;
}

/* What an object is a part of; NULL: it is not part of an array. */
static Array *whole_of(const Frozen *f, const TreeNode *node, PyObject *object)
{
    return node->kind == NODE_LEAF && array_check(f->state, object)
               ? array_of(object)->root
               : NULL;
}

static bool note_object(Frozen *f, const Tree *outputs, size_t i, PyObject *object,
                        const Finder *inputs, Finder *met)
{
    f->given[i] = find(inputs, object);
    const uint32_t same = f->given[i] ? 0 : find(met, object);
    if (same && are_alike(outputs, same - 1, i))
        f->same[i] = same;
    return f->given[i] || meet(met, object, i);
}

/* Parts of arrays, when all arrays are known that are whole. */
static bool note_parts(Frozen *f, const Tree *outputs, const bool *fixed,
                       const Finder *inputs, Finder *met)
{
    bool ok = true;
    for (size_t i = 0, leaf = 0; ok && i < outputs->node_count; i++) {
        PyObject *object = object_of(outputs, i, &leaf);
        const Array *whole = whole_of(f, &outputs->nodes[i], object);
        if (fixed[i] || !whole)
            continue;
        f->given[i] = find(inputs, (PyObject *) whole);
        f->same[i] = f->given[i] ? 0 : find(met, (PyObject *) whole);
        if (f->given[i] || f->same[i])
            f->leaves[leaf - 1].part = (uint32_t) array_of(object)->offset + 1;
        else
            ok = note_object(f, outputs, i, object, inputs, met);
    }
    return ok;
}

static bool note_objects(Frozen *f, const Tree *outputs, const bool *fixed,
                         const Finder *inputs, Finder *met)
{
    bool ok = true;
    for (size_t i = 0, leaf = 0; ok && i < outputs->node_count; i++) {
        PyObject *object = object_of(outputs, i, &leaf);
        if (!fixed[i] && counts(&outputs->nodes[i], object) &&
            !whole_of(f, &outputs->nodes[i], object))
            ok = note_object(f, outputs, i, object, inputs, met);
    }
    return ok && note_parts(f, outputs, fixed, inputs, met);
}

/* The leaf of a node; SIZE_MAX: it has none. */
static size_t leaf_of_node(const Tree *tree, size_t node)
{
    size_t leaf = 0;
    for (size_t i = 0; i < node && i < tree->node_count; i++)
        leaf += tree->nodes[i].kind == NODE_LEAF;
    return node < tree->node_count && tree->nodes[node].kind == NODE_LEAF ? leaf
                                                                          : SIZE_MAX;
}

/* Is there an array that an output can be a part of? */
static bool has_whole(const Frozen *f, const FlattenedInputs *inputs, size_t node,
                      const OutputLeaf *out)
{
    const size_t first = out->part - (size_t) 1;
    const bool given = f->given[node];
    const size_t leaf = given ? leaf_of_node(&inputs->tree, f->given[node] - (size_t) 1)
                              : leaf_of_node(&f->tree, f->same[node] - (size_t) 1);
    if (leaf == SIZE_MAX || (given && f->same[node]))
        return false;
    const TypeInfo *info = given ? inputs->places[leaf].info : f->leaves[leaf].info;
    const size_t count = given ? inputs->places[leaf].count : f->leaves[leaf].count;
    return out->cls && info && info->family == out->info->family &&
           info->entry == out->info->entry && first <= count &&
           out->count <= count - first &&
           (given || !(f->leaves[leaf].part || f->same[f->same[node] - 1] ||
                       f->given[f->same[node] - 1]));
}

/* Is a node of the outputs the same as one before, if any? */
static bool is_same_before(const Frozen *f, size_t node)
{
    return !f->same[node] || (f->same[node] <= node && !f->given[node] &&
                              are_alike(&f->tree, f->same[node] - 1, node));
}

bool frozen_take_objects(Frozen *f, const FlattenedInputs *inputs, PyObject *same,
                         PyObject *given, PyObject *parts)
{
    const size_t count = f->tree.node_count, leaves = f->tree.leaf_count;
    uint32_t *numbers = PyMem_Calloc(leaves + 1, sizeof(*numbers));
    bool ok = numbers && (size_t) PyList_GET_SIZE(same) == count &&
              (size_t) PyList_GET_SIZE(given) == count &&
              (size_t) PyList_GET_SIZE(parts) == leaves &&
              spec_rows_take_numbers(same, f->same, count, count) &&
              spec_rows_take_numbers(given, f->given, count, inputs->tree.node_count) &&
              spec_rows_take_numbers(parts, numbers, leaves, UINT32_MAX);
    bool *fixed = ok ? find_fixed(f, &f->tree) : NULL;
    for (size_t i = 0; ok && i < leaves; i++)
        f->leaves[i].part = numbers[i];
    for (size_t i = 0, leaf = 0; fixed && ok && i < count; i++) {
        const bool is_leaf = f->tree.nodes[i].kind == NODE_LEAF;
        const OutputLeaf *out = is_leaf ? &f->leaves[leaf++] : NULL;
        ok = (out && out->part ? has_whole(f, inputs, i, out) : is_same_before(f, i)) &&
             !(fixed[i] && (f->given[i] || f->same[i]));
    }
    ok = ok && fixed;
    PyMem_Free(fixed);
    PyMem_Free(numbers);
    if (ok)
        return number_returned(f, count);
    PyErr_Clear();
    return error_raise(PyExc_RuntimeError, "load_frozen", NULL, 0,
                       "the objects of the outputs are not numbers of others");
}

bool frozen_keep_objects(Frozen *f, const Tree *inputs, const Tree *outputs)
{
    Finder before = { 0 }, met = { 0 };
    const size_t count = outputs->node_count;
    f->same = PyMem_Calloc(count, sizeof(*f->same));
    f->given = PyMem_Calloc(count, sizeof(*f->given));
    bool ok = f->same && f->given;
    if (!ok)
        PyErr_NoMemory();
    ok = ok && meet_inputs(&before, inputs);
    bool *fixed = ok ? find_fixed(f, outputs) : NULL;
    ok = fixed && note_objects(f, outputs, fixed, &before, &met) &&
         number_returned(f, count);
    PyMem_Free(fixed);
    finder_free(&before);
    finder_free(&met);
    return ok;
}

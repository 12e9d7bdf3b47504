/*
 * frozen_objects.c -- which objects of a result are the same, and which are inputs
 *
 * A function that returns an array twice, or one of its inputs, gives the same object
 * in both places, whose changes are seen in both. So does a repetition.
 */
#include "python/freeze/frozen.h"

#include <stdlib.h>

#include "python/freeze/exact.h"
#include "python/object/error.h"

/* Objects, and the node where each was met first. Open addressing. */
typedef struct Met {
    PyObject **objects;
    uint32_t *nodes;
    size_t mask;
} Met;

static bool met_make(Met *met, size_t count)
{
    size_t room = 16;
    while (room < 2 * count)
        room *= 2;
    *met = (Met){ PyMem_Calloc(room, sizeof(*met->objects)),
                  PyMem_New(uint32_t, room), room - 1 };
    return (met->objects && met->nodes) || PyErr_NoMemory() != NULL;
}

static void met_free(Met *met)
{
    PyMem_Free(met->objects);
    PyMem_Free(met->nodes);
}

static size_t slot_of(const Met *met, const PyObject *object)
{
    size_t slot = ((uintptr_t) object >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32 &
                  met->mask;
    while (met->objects[slot] && met->objects[slot] != object)
        slot = (slot + 1) & met->mask;
    return slot;
}

/* The node of an object that was met before + 1; 0: it is met now, at this one. */
static uint32_t meet(Met *met, PyObject *object, size_t node)
{
    const size_t slot = slot_of(met, object);
    if (met->objects[slot])
        return met->nodes[slot] + 1;
    met->objects[slot] = object;
    met->nodes[slot] = (uint32_t) node;
    return 0;
}

static uint32_t find(const Met *met, const PyObject *object)
{
    const size_t slot = slot_of(met, object);
    return met->objects[slot] ? met->nodes[slot] + 1 : 0;
}

/* Can anybody tell whether it is the same object? */
static bool counts(const TreeNode *node, PyObject *object)
{
    if (node->kind != NODE_LEAF)
        return node->count || (node->kind != NODE_TUPLE);
    return exact_is_identity(object) || PyAnySet_Check(object) ||
           (PyObject_CheckBuffer(object) && !PyBytes_CheckExact(object));
}

/* The object of a node, whose leaves come in order. */
static PyObject *object_of(const Tree *tree, size_t node, size_t *leaf)
{
    return tree->nodes[node].kind == NODE_LEAF ? tree->leaves[(*leaf)++]
                                               : tree->nodes[node].object;
}

/* The node behind one, and all below it. */
static size_t node_behind(const Tree *tree, size_t node)
{
    for (size_t left = 1; left; left--) {
        const TreeNode *at = &tree->nodes[node++];
        left += at->kind == NODE_LEAF ? 0 : (size_t) at->count;
    }
    return node;
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

static bool meet_inputs(Met *met, const Tree *inputs)
{
    if (!met_make(met, inputs->node_count))
        return false;
    size_t first, end;
    find_values(inputs, &first, &end);
    for (size_t i = 0, leaf = 0; i < inputs->node_count; i++) {
        PyObject *object = object_of(inputs, i, &leaf);
        if ((i < first || i >= end) && counts(&inputs->nodes[i], object))
            meet(met, object, i);
    }
    return true;
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
    const size_t changes = node_behind(outputs, 1); /* a list, behind the result */
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

static void note_objects(Frozen *f, const Tree *outputs, const bool *fixed,
                         const Met *inputs, Met *met)
{
    for (size_t i = 0, leaf = 0; i < outputs->node_count; i++) {
        PyObject *object = object_of(outputs, i, &leaf);
        if (fixed[i] || !counts(&outputs->nodes[i], object))
            continue;
        f->given[i] = find(inputs, object);
        const uint32_t same = f->given[i] ? 0 : meet(met, object, i);
        if (same && are_alike(outputs, same - 1, i))
            f->same[i] = same;
    }
}

/* The numbers of a list, of which each is at most a bound. */
static bool take_numbers(PyObject *list, uint32_t *numbers, size_t count, size_t bound)
{
    for (size_t i = 0; i < count; i++) {
        const size_t number = PyLong_AsSize_t(PyList_GET_ITEM(list, (Py_ssize_t) i));
        if (PyErr_Occurred() || number > bound)
            return false;
        numbers[i] = (uint32_t) number;
    }
    return true;
}

bool frozen_take_objects(Frozen *f, const Tree *outputs, size_t inputs, PyObject *same,
                         PyObject *given)
{
    const size_t count = outputs->node_count;
    bool ok = (size_t) PyList_GET_SIZE(same) == count &&
              (size_t) PyList_GET_SIZE(given) == count &&
              take_numbers(same, f->same, count, count) &&
              take_numbers(given, f->given, count, inputs);
    bool *fixed = ok ? find_fixed(f, outputs) : NULL;
    for (size_t i = 0; fixed && ok && i < count; i++)
        ok = (!f->same[i] || (f->same[i] <= i && !f->given[i] && !fixed[i] &&
                              are_alike(outputs, f->same[i] - 1, i))) &&
             !(fixed[i] && f->given[i]);
    ok = ok && fixed;
    PyMem_Free(fixed);
    if (ok)
        return number_returned(f, count);
    PyErr_Clear();
    error_raise(PyExc_RuntimeError, "load_frozen", NULL, 0,
                "the objects of the outputs are not numbers of others");
    return false;
}

bool frozen_keep_objects(Frozen *f, const Tree *inputs, const Tree *outputs)
{
    Met before = { 0 }, met = { 0 };
    const size_t count = outputs->node_count;
    f->same = PyMem_Calloc(count, sizeof(*f->same));
    f->given = PyMem_Calloc(count, sizeof(*f->given));
    bool ok = f->same && f->given;
    if (!ok)
        PyErr_NoMemory();
    ok = ok && meet_inputs(&before, inputs) && met_make(&met, count);
    bool *fixed = ok ? find_fixed(f, outputs) : NULL;
    if (fixed)
        note_objects(f, outputs, fixed, &before, &met);
    ok = fixed && number_returned(f, count);
    PyMem_Free(fixed);
    met_free(&before);
    met_free(&met);
    return ok;
}

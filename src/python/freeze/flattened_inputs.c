/*
 * flattened_inputs.c -- see flattened_inputs.h
 */
#include "python/freeze/flattened_inputs.h"

#include "python/base/error.h"
#include "python/flow/local.h"
#include "python/freeze/finder.h"

enum { FIRST_ROOM = 16 };

static bool make_room(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : FIRST_ROOM;
    void *grown = PyMem_Realloc(*(void **) items, wanted * size);
    if (!grown)
        return PyErr_NoMemory();
    *(void **) items = grown;
    *capacity = wanted;
    return true;
}

bool flattened_add(FlattenedInputs *c, uint32_t id, uint32_t *number)
{
    if (!make_room(&c->ids, c->id_count, &c->id_capacity, sizeof(*c->ids)))
        return false;
    c->ids[c->id_count] = jit_var_inc_ref(id);
    *number = (uint32_t) ++c->id_count;
    return true;
}

/* The number of a variable, a new one if it is met for the first time; UINT32_MAX:
 * exception. */
static uint32_t number_of(FlattenedInputs *c, Finder *f, uint32_t id)
{
    const uint32_t known = finder_get(f, id);
    uint32_t number;
    if (known != FINDER_NONE)
        return known;
    return flattened_add(c, id, &number) && finder_put(f, id, number) ? number
                                                                       : UINT32_MAX;
}

static bool add_array(FlattenedInputs *c, Finder *f, FlattenedLeaf *place,
                      const Array *a)
{
    place->info = a->info;
    place->first = c->number_count;
    place->count = array_count(a);
    for (size_t i = 0; i < place->count; i++) {
        const VarIndex var = array_leaves(a)[i];
        uint32_t number = 0;
        if (!var_is_empty(var) &&
            (number = number_of(c, f, var_jit(var))) == UINT32_MAX)
            return false;
        if (!make_room(&c->numbers, c->number_count, &c->number_capacity,
                       sizeof(*c->numbers)))
            return false;
        c->numbers[c->number_count++] = number;
        c->tracked |= var_node(var) != 0;
    }
    return true;
}

static bool add_leaf(FlattenedInputs *c, Finder *f, const char *operation, size_t leaf)
{
    PyObject *object = c->tree.leaves[leaf];
    const Array *array = array_check(c->state, object) ? array_of(object) : NULL;
    if (array && array->info->jit)
        return add_array(c, f, &c->places[leaf], array);
    if (!local_check(c->state, object))
        return true;
    PyObject *path = tree_leaf_path(&c->tree, leaf);
    if (path)
        error_raise(PyExc_TypeError, operation, NULL, 0,
                    "'%U' is a local array, which only exists in kernels", path);
    Py_XDECREF(path);
    return false;
}

/* ---------------------------------------------------------------- objects */

bool flattened_is_mutable(const TreeNode *node, bool array)
{
    switch (node->kind) {
        case NODE_LEAF: return array;
        case NODE_TUPLE:
        case NODE_NAMED_TUPLE: return false;
        default: return node->count;
    }
}

/* Has a node, or one below it, a variable? Others are counted: 'loose'. */
static bool has_variable(const FlattenedInputs *c, const JitFreezeInput *described,
                         TreePlace *at, size_t *loose)
{
    const TreeNode *node = &c->tree.nodes[at->node++];
    bool found = false;
    if (node->kind != NODE_LEAF) {
        for (Py_ssize_t i = 0; i < node->count; i++)
            found |= has_variable(c, described, at, loose);
        *loose += !found && flattened_is_mutable(node, false);
        return found;
    }
    const FlattenedLeaf *place = &c->places[at->leaf++];
    for (size_t i = 0; i < place->count; i++) {
        const uint32_t number = c->numbers[place->first + i];
        found |= number && !described[number - 1].literal;
    }
    *loose += !found && place->info;
    return found;
}

bool flattened_tells_objects(const FlattenedInputs *c, const JitFreezeInput *described)
{
    TreePlace at = { 0 };
    size_t loose = 0, given = 0;
    for (size_t i = 0; i < c->number_count; i++)
        given += c->numbers[i] != 0;
    has_variable(c, described, &at, &loose);
    return given > c->id_count || loose > 1;
}

enum { PART_OF_ARRAY = 1 << 30 }; /* beyond the numbers of nodes */

static const Array *view_of(const State *state, PyObject *object)
{
    return array_check(state, object) && array_of(object)->root ? array_of(object)
                                                                : NULL;
}

/* The first node with the same object, or with the array that it is a part of, as one
 * before, or this one; UINT32_MAX: exception. */
static uint32_t first_of(const State *state, Finder *met, PyObject *object, size_t node)
{
    const Array *view = view_of(state, object);
    const uint64_t key = (uintptr_t) (view ? (const void *) view->root : object);
    const uint32_t first = finder_get(met, key);
    if (first != FINDER_NONE)
        return first;
    return finder_put(met, key, (uint32_t) node) ? (uint32_t) node : UINT32_MAX;
}

uint64_t *flattened_repeated(const State *state, PyObject *const *objects, size_t count,
                             size_t *pair_count)
{
    Finder met = { 0 };
    uint32_t *firsts = PyMem_New(uint32_t, count + 1);
    uint8_t *repeated = PyMem_Calloc(count + 1, 1); /* by the first node */
    uint64_t *pairs = PyMem_New(uint64_t, 2 * count + 1);
    bool ok = firsts && repeated && pairs;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < count; i++) {
        firsts[i] = objects[i] ? first_of(state, &met, objects[i], i) : (uint32_t) i;
        ok = firsts[i] != UINT32_MAX;
        if (ok && firsts[i] != i)
            repeated[firsts[i]] = 1;
    }
    *pair_count = 0;
    for (size_t i = 0; ok && i < count; i++) {
        if (!repeated[firsts[i]])
            continue;
        const Array *view = view_of(state, objects[i]);
        pairs[(*pair_count)++] = (uint64_t) i << 32 | firsts[i];
        if (view)
            pairs[(*pair_count)++] = (uint64_t) i << 32 | PART_OF_ARRAY | view->offset;
    }
    finder_free(&met);
    PyMem_Free(firsts);
    PyMem_Free(repeated);
    if (!ok) {
        PyMem_Free(pairs);
        pairs = NULL;
    }
    return pairs;
}

bool flattened_find_repeated(FlattenedInputs *c)
{
    const Tree *tree = &c->tree;
    PyObject **objects = PyMem_Calloc(tree->node_count + 1, sizeof(*objects));
    if (!objects)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0, leaf = 0; i < tree->node_count; i++) {
        const TreeNode *node = &tree->nodes[i];
        const bool array = node->kind == NODE_LEAF && c->places[leaf].info;
        if (flattened_is_mutable(node, array))
            objects[i] = array ? tree->leaves[leaf] : node->object;
        leaf += node->kind == NODE_LEAF;
    }
    c->repeated =
        flattened_repeated(c->state, objects, tree->node_count, &c->repeated_count);
    PyMem_Free(objects);
    return c->repeated;
}

bool flattened_take(FlattenedInputs *c, State *state, const char *operation,
                    PyObject *object)
{
    Finder finder = { 0 };
    c->state = state;
    if (!tree_flatten(state, operation, object, &c->tree))
        return false;
    c->places = PyMem_Calloc(c->tree.leaf_count + 1, sizeof(*c->places));
    bool ok = c->places != NULL;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < c->tree.leaf_count; i++)
        ok = add_leaf(c, &finder, operation, i);
    finder_free(&finder);
    return ok;
}

void flattened_free(FlattenedInputs *c)
{
    for (size_t i = 0; c->ids && i < c->id_count; i++)
        jit_var_dec_ref(c->ids[i]);
    PyMem_Free(c->ids);
    PyMem_Free(c->numbers);
    PyMem_Free(c->places);
    PyMem_Free(c->repeated);
    tree_free(&c->tree);
    *c = (FlattenedInputs){ 0 };
}

JitBackend flattened_backend(const FlattenedInputs *c)
{
    for (size_t i = 0; i < c->tree.leaf_count; i++)
        if (c->places[i].info)
            return (JitBackend) c->places[i].info->backend;
    return JitBackendNone;
}

/* Fill in the paths of variables that have none yet. */
static bool put_paths(const FlattenedInputs *c, size_t leaf, PyObject *list)
{
    const FlattenedLeaf *place = &c->places[leaf];
    PyObject *path = place->count ? tree_leaf_path(&c->tree, leaf) : NULL;
    for (size_t i = 0; path && i < place->count; i++) {
        const uint32_t number = c->numbers[place->first + i];
        if (!number || PyList_GET_ITEM(list, number - 1))
            continue;
        PyObject *own = place->count > 1 ? PyUnicode_FromFormat("%U[%zu]", path, i)
                                         : Py_NewRef(path);
        if (!own)
            Py_CLEAR(path);
        else
            PyList_SET_ITEM(list, number - 1, own);
    }
    Py_XDECREF(path);
    return path || !place->count;
}

PyObject *flattened_paths(const FlattenedInputs *c)
{
    PyObject *list = PyList_New((Py_ssize_t) c->id_count);
    for (size_t leaf = 0; list && leaf < c->tree.leaf_count; leaf++)
        if (!put_paths(c, leaf, list))
            Py_CLEAR(list);
    return list;
}

size_t flattened_find(const FlattenedInputs *c, uint32_t number, size_t *component)
{
    for (size_t leaf = 0; leaf < c->tree.leaf_count; leaf++) {
        const FlattenedLeaf *place = &c->places[leaf];
        for (*component = 0; *component < place->count; ++*component)
            if (c->numbers[place->first + *component] == number)
                return leaf;
    }
    return SIZE_MAX;
}

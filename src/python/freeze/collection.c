/*
 * collection.c -- see collection.h
 */
#include "python/freeze/collection.h"

#include "python/flow/local.h"
#include "python/object/error.h"

enum { FIRST_ROOM = 16, FEW = 8 }; /* variables that are looked for one by one */

static bool make_room(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : FIRST_ROOM;
    void *grown = PyMem_Realloc(*(void **) items, wanted * size);
    if (!grown) {
        PyErr_NoMemory();
        return false;
    }
    *(void **) items = grown;
    *capacity = wanted;
    return true;
}

/* Where variables are in 'ids': open addressing, once there are more than a few. */
typedef struct Finder {
    uint32_t *slots; /* numbers; 0: free */
    size_t mask;
} Finder;

static size_t slot_of(const Finder *f, const Collection *c, uint32_t id)
{
    size_t slot = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    while (f->slots[slot & f->mask] && c->ids[f->slots[slot & f->mask] - 1] != id)
        ++slot;
    return slot & f->mask;
}

/* Twice as many slots as there can be variables before the next time. */
static bool rebuild(Finder *f, const Collection *c)
{
    PyMem_Free(f->slots);
    f->mask = 4 * c->id_capacity - 1;
    f->slots = PyMem_Calloc(f->mask + 1, sizeof(*f->slots));
    if (!f->slots) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < c->id_count; i++)
        f->slots[slot_of(f, c, c->ids[i])] = (uint32_t) i + 1;
    return true;
}

/* The number of a variable, a new one if it is met for the first time; UINT32_MAX:
 * exception. */
static uint32_t number_of(Collection *c, Finder *f, uint32_t id)
{
    const size_t before = c->id_capacity;
    if (!make_room(&c->ids, c->id_count, &c->id_capacity, sizeof(*c->ids)) ||
        (c->id_capacity != before && c->id_capacity > FEW && !rebuild(f, c)))
        return UINT32_MAX;
    size_t slot = 0;
    if (f->slots) {
        slot = slot_of(f, c, id);
        if (f->slots[slot])
            return f->slots[slot];
        f->slots[slot] = (uint32_t) c->id_count + 1;
    } else {
        for (size_t i = 0; i < c->id_count; i++)
            if (c->ids[i] == id)
                return (uint32_t) i + 1;
    }
    c->ids[c->id_count] = jit_var_inc_ref(id);
    return (uint32_t) ++c->id_count;
}

bool collection_add(Collection *c, uint32_t id, uint32_t *number)
{
    if (!make_room(&c->ids, c->id_count, &c->id_capacity, sizeof(*c->ids)))
        return false;
    c->ids[c->id_count] = jit_var_inc_ref(id);
    *number = (uint32_t) ++c->id_count;
    return true;
}

static bool add_array(Collection *c, Finder *f, CollectedLeaf *place, const Array *a)
{
    place->info = a->info;
    place->first = c->number_count;
    place->count = array_count(a);
    for (size_t i = 0; i < place->count; i++) {
        const Leaf leaf = array_leaves(a)[i];
        uint32_t number = 0;
        if (leaf && (number = number_of(c, f, leaf_index(leaf))) == UINT32_MAX)
            return false;
        if (!make_room(&c->numbers, c->number_count, &c->number_capacity,
                       sizeof(*c->numbers)))
            return false;
        c->numbers[c->number_count++] = number;
        c->tracked |= leaf_node(leaf) != 0;
    }
    return true;
}

static bool add_leaf(Collection *c, Finder *f, const char *operation, size_t leaf)
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

/* Can its parts be changed in place? */
static bool is_mutable(const Collection *c, const TreeNode *node, size_t leaf)
{
    switch (node->kind) {
        case NODE_LEAF: return c->places[leaf].info;
        case NODE_TUPLE:
        case NODE_NAMED_TUPLE: return false;
        default: return true;
    }
}

static bool add_repeated(Collection *c, uint64_t pair)
{
    if (!make_room(&c->repeated, c->repeated_count, &c->repeated_capacity,
                   sizeof(*c->repeated)))
        return false;
    c->repeated[c->repeated_count++] = pair;
    return true;
}

enum { PART_OF_ARRAY = 1 << 30 }; /* beyond the numbers of nodes */

static bool find_repeated(Collection *c)
{
    if (c->number_count == c->id_count) /* variables do not occur again either */
        return true;
    size_t room = 64, leaf = 0;
    while (room < 2 * c->tree.node_count)
        room *= 2;
    PyObject **objects = PyMem_Calloc(room, sizeof(*objects));
    uint32_t *nodes = PyMem_New(uint32_t, room);
    bool ok = objects && nodes;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < c->tree.node_count; i++) {
        const TreeNode *node = &c->tree.nodes[i];
        const size_t own = leaf;
        leaf += node->kind == NODE_LEAF;
        if (!is_mutable(c, node, own))
            continue;
        PyObject *object = node->kind == NODE_LEAF ? c->tree.leaves[own] : node->object;
        const Array *view = node->kind == NODE_LEAF ? array_of(object) : NULL;
        if (view && view->root) { /* a part of an array is that, from an offset on */
            object = (PyObject *) view->root;
            ok = add_repeated(c, (uint64_t) i << 32 | PART_OF_ARRAY | view->offset);
        }
        size_t slot = ((uintptr_t) object >> 4) * 0x9e3779b1u & (room - 1);
        while (objects[slot] && objects[slot] != object)
            slot = (slot + 1) & (room - 1);
        if (objects[slot])
            ok = add_repeated(c, (uint64_t) i << 32 | nodes[slot]);
        objects[slot] = object;
        nodes[slot] = (uint32_t) i;
    }
    PyMem_Free(objects);
    PyMem_Free(nodes);
    return ok;
}

bool collection_take(Collection *c, State *state, const char *operation,
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
    PyMem_Free(finder.slots);
    return ok && find_repeated(c);
}

void collection_free(Collection *c)
{
    for (size_t i = 0; c->ids && i < c->id_count; i++)
        jit_var_dec_ref(c->ids[i]);
    PyMem_Free(c->ids);
    PyMem_Free(c->numbers);
    PyMem_Free(c->places);
    PyMem_Free(c->repeated);
    tree_free(&c->tree);
    *c = (Collection){ 0 };
}

JitBackend collection_backend(const Collection *c)
{
    for (size_t i = 0; i < c->tree.leaf_count; i++)
        if (c->places[i].info)
            return (JitBackend) c->places[i].info->backend;
    return JitBackendNone;
}

/* Fill in the paths of variables that have none yet. */
static bool put_paths(const Collection *c, size_t leaf, PyObject *list)
{
    const CollectedLeaf *place = &c->places[leaf];
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

PyObject *collection_paths(const Collection *c)
{
    PyObject *list = PyList_New((Py_ssize_t) c->id_count);
    for (size_t leaf = 0; list && leaf < c->tree.leaf_count; leaf++)
        if (!put_paths(c, leaf, list))
            Py_CLEAR(list);
    return list;
}

PyObject *collection_path(const Collection *c, uint32_t number)
{
    for (size_t leaf = 0; leaf < c->tree.leaf_count; leaf++) {
        const CollectedLeaf *place = &c->places[leaf];
        for (size_t i = 0; i < place->count; i++)
            if (c->numbers[place->first + i] == number)
                return tree_leaf_path(&c->tree, leaf);
    }
    return PyUnicode_FromString("");
}

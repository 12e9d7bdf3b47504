/*
 * region_tree.c -- PyTrees of arrays <-> lists of variables
 *
 * Bodies are the user's code and may change any tree that they get hold of, also the
 * template. So everything about a leaf is checked again when it is used.
 */
#include "python/flow/region.h"
#include "python/memory/access.h"
#include "python/object/error.h"
#include "python/tree/tree.h"

/* A leaf as a type and variables. */
typedef struct Parts {
    const TypeInfo *info;
    bool local;
    size_t count;
    const Leaf *leaves;  /* of an array */
    const uint32_t *ids; /* of a local array */
} Parts;

static bool find_parts(const State *state, PyObject *object, Parts *parts)
{
    *parts = (Parts){ 0 };
    if (region_is_local(state, object)) {
        const Local *local = (const Local *) object;
        *parts = (Parts){ .info = local->info, .local = true, .count = local->count,
                          .ids = local->ids };
        return true;
    }
    if (!array_check(state, object) || !((Array *) object)->info->jit)
        return false;
    const Array *array = (const Array *) object;
    *parts = (Parts){ .info = array->info, .count = array_count(array),
                      .leaves = array_leaves(array) };
    return true;
}

static uint32_t part(const Parts *parts, size_t i)
{
    return parts->local ? parts->ids[i] : leaf_index(parts->leaves[i]);
}

/* ---------------------------------------------------------------- taking apart */

typedef struct Taking {
    const RegionPlace *place;
    const Tree *tree;
    size_t leaf; /* number, for errors */
    Leaves *leaves;
} Taking;

static bool append(Leaves *leaves, uint32_t id)
{
    if (leaves->count == leaves->capacity) {
        size_t capacity = leaves->capacity ? 2 * leaves->capacity : 8;
        uint32_t *ids = PyMem_Realloc(leaves->ids, capacity * sizeof(*ids));
        if (!ids) {
            PyErr_NoMemory();
            return false;
        }
        leaves->ids = ids;
        leaves->capacity = capacity;
    }
    leaves->ids[leaves->count++] = jit_var_inc_ref(id);
    return true;
}

static const char *article(const Parts *parts)
{
    return parts->local ? "local array of " : "";
}

/* Raise "the state: '[1].x' is ...". */
static bool fail(const Taking *t, PyObject *cls, const char *format, ...)
{
    PyObject *path = tree_leaf_path(t->tree, t->leaf);
    va_list arguments;
    va_start(arguments, format);
    PyObject *text = path ? PyUnicode_FromFormatV(format, arguments) : NULL;
    va_end(arguments);
    if (text && PyUnicode_GET_LENGTH(path))
        error_raise(cls, t->place->operation, NULL, 0, "%s: '%U' %U", t->place->what,
                    path, text);
    else if (text)
        error_raise(cls, t->place->operation, NULL, 0, "%s: the value %U",
                    t->place->what, text);
    Py_XDECREF(path);
    Py_XDECREF(text);
    return false;
}

static bool same_shape(PyObject *a, PyObject *b)
{
    const Tensor *x = array_tensor((Array *) a), *y = array_tensor((Array *) b);
    return x->ndim == y->ndim &&
           memcmp(x->shape, y->shape, x->ndim * sizeof(*x->shape)) == 0;
}

/* Has the leaf the type, number of components and shape that it had before? */
static bool check_same(const Taking *t, PyObject *leaf, const Parts *now,
                       PyObject *like)
{
    Parts before;
    if (!find_parts(t->place->state, like, &before))
        return fail(t, PyExc_TypeError, "is of type %s%s, expected %s as before",
                    article(now), now->info->name, Py_TYPE(like)->tp_name);
    if (now->info != before.info || now->local != before.local)
        return fail(t, PyExc_TypeError, "is of type %s%s, expected %s%s as before",
                    article(now), now->info->name, article(&before), before.info->name);
    if (now->count != before.count)
        return fail(t, PyExc_ValueError, "has %zu components, expected %zu as before",
                    now->count, before.count);
    if (!now->local && now->info->kind == KIND_TENSOR && !same_shape(leaf, like))
        return fail(t, PyExc_ValueError,
                    "is a tensor of another shape, expected the same as before");
    return true;
}

static bool take(const Taking *t, PyObject *leaf, PyObject *like)
{
    Parts parts;
    if (leaf == Py_None && (!like || like == Py_None))
        return true;
    if (!find_parts(t->place->state, leaf, &parts))
        return fail(t, PyExc_TypeError, "is of type %s, expected %s",
                    Py_TYPE(leaf)->tp_name,
                    like ? Py_TYPE(like)->tp_name : "a just-in-time compiled array");
    if (like && !check_same(t, leaf, &parts, like))
        return false;
    for (size_t i = 0; i < parts.count; i++) {
        if (!part(&parts, i))
            return fail(t, PyExc_ValueError,
                        "is an empty %s, expected at least one entry",
                        parts.info->name);
        if (!append(t->leaves, part(&parts, i)))
            return false;
    }
    return true;
}

bool region_take(const RegionPlace *place, PyObject *tree, PyObject *like,
                 Leaves *leaves)
{
    Tree before, now = { 0 };
    bool ok = tree_flatten(place->state, place->operation, like ? like : tree, &before);
    if (ok && like)
        ok = tree_flatten_like(place->state, place->operation, &before, tree, &now);
    Taking t = { .place = place, .tree = &before, .leaves = leaves };
    for (; ok && t.leaf < before.leaf_count; ++t.leaf)
        ok = like ? take(&t, now.leaves[t.leaf], before.leaves[t.leaf])
                  : take(&t, before.leaves[t.leaf], NULL);
    tree_free(&before);
    tree_free(&now);
    return ok;
}

void region_drop(Leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; i++)
        jit_var_dec_ref(leaves->ids[i]);
    PyMem_Free(leaves->ids);
    *leaves = (Leaves){ 0 };
}

/* ---------------------------------------------------------------- putting together */

typedef struct Giving {
    const RegionPlace *place;
    const Leaves *leaves;
    size_t next;
} Giving;

/* Are these the next variables? */
static bool check_next(const Giving *g, const Parts *like)
{
    bool ok = like->count <= g->leaves->count - g->next;
    for (size_t i = 0; ok && i < like->count; i++)
        ok = jit_var_type(g->leaves->ids[g->next + i]) == (VarType) like->info->entry;
    return ok || error_raise(PyExc_RuntimeError, g->place->operation, NULL, 0,
                             "%s was changed while it was in use", g->place->what);
}

/* The entries of a tensor are as many as its shape says. */
static bool check_tensor(const Giving *g, Array *made, uint32_t id)
{
    size_t expected = 0, found = jit_var_size(id);
    const Tensor *tensor = array_tensor(made);
    if (!array_shape_size(tensor->ndim, tensor->shape, &expected))
        return false;
    return found == expected ||
           error_raise(PyExc_RuntimeError, g->place->operation, NULL, 0,
                       "%s: a tensor has %zu entries, expected %zu as before",
                       g->place->what, found, expected);
}

static PyObject *give_leaf(void *context, PyObject *const *trees)
{
    Giving *g = context;
    PyObject *like = trees[0];
    Parts parts;
    if (!find_parts(g->place->state, like, &parts))
        return Py_NewRef(like);
    if (!check_next(g, &parts))
        return NULL;
    const uint32_t *ids = g->leaves->ids + g->next;
    g->next += parts.count;
    if (parts.local)
        return region_new_local(g->place->state, parts.info, parts.count, ids);
    Array *made = access_make(Py_TYPE(like), parts.info, (const Array *) like);
    if (!made || (parts.info->kind == KIND_TENSOR && !check_tensor(g, made, ids[0]))) {
        Py_XDECREF(made);
        return NULL;
    }
    for (size_t i = 0; i < parts.count; i++)
        array_set_leaf(made, i, jit_var_inc_ref(ids[i]));
    return (PyObject *) made;
}

PyObject *region_give(const RegionPlace *place, PyObject *like, const Leaves *leaves)
{
    Giving g = { .place = place, .leaves = leaves };
    return tree_map(place->state, place->operation, &like, 1, give_leaf, &g);
}

PyObject *region_copy(const RegionPlace *place, PyObject *tree)
{
    Leaves leaves = { 0 };
    PyObject *copy = region_take(place, tree, NULL, &leaves)
                         ? region_give(place, tree, &leaves)
                         : NULL;
    region_drop(&leaves);
    return copy;
}

/* ---------------------------------------------------------------- single arguments */

uint32_t region_mask(const RegionPlace *place, PyObject *object)
{
    const TypeInfo *info =
        array_check(place->state, object) ? ((Array *) object)->info : NULL;
    if (!info || !info->jit || info->kind != KIND_LEAF || !type_is_mask(info)) {
        error_raise(PyExc_TypeError, place->operation, NULL, 0,
                    "%s is of type %s, expected a just-in-time compiled Bool",
                    place->what, Py_TYPE(object)->tp_name);
        return 0;
    }
    uint32_t id = array_index((Array *) object);
    if (!id)
        error_raise(PyExc_ValueError, place->operation, NULL, 0,
                    "%s is empty, expected at least one entry",
                    place->what);
    return jit_var_inc_ref(id);
}

bool region_name(const char *operation, PyObject *object, const char **name)
{
    *name = NULL;
    if (!object || object == Py_None)
        return true;
    if (!PyUnicode_Check(object))
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "'name' is of type %s, expected a str",
                           Py_TYPE(object)->tp_name);
    *name = PyUnicode_AsUTF8(object);
    return *name;
}

/*
 * frozen_same.c -- is a recording due to be checked, does it fit, and does another one
 * do the same?
 *
 * A function is checked by recording it once more. The core compares what is done to
 * arrays; what becomes of the outputs is compared here.
 */
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/base/tables.h"
#include "python/freeze/exact.h"
#include "python/freeze/frozen.h"
#include "python/freeze/snapshot.h"
#include "python/memory/access.h"

static const char name[] = "freeze";

bool frozen_is_due(const Frozen *f)
{
    const uint32_t flags = jit_flags();
    if (f->check == FROZEN_NEVER)
        return false;
    return (flags & JitFlagFreezingCheckAll) ||
           (f->check != FROZEN_UNASKED && f->repeated >= f->check &&
            !(flags & JitFlagFreezingCheckNone));
}

PyObject *frozen_due(PyObject *self, PyObject *snapshot)
{
    const Frozen *f = (Frozen *) self;
    if (Py_TYPE(snapshot) != f->state->snapshot)
        return error_raise(PyExc_TypeError, name, NULL, 0, "expected a snapshot");
    if (!frozen_is_due(f))
        Py_RETURN_FALSE;
    size_t count;
    const uint32_t *ids = snapshot_ids((const Snapshot *) snapshot, &count);
    int fits;
    GIL_RELEASE_BEGIN
    fits = jit_freeze_dry_run(f->recording, count, ids);
    GIL_RELEASE_END
    return fits < 0 ? error_from_core(name, NULL, 0) : PyBool_FromLong(fits);
}

/* ---------------------------------------------------------------- comparing */

static bool same_numbers(const uint32_t *a, const uint32_t *b, size_t count)
{
    return !count || memcmp(a, b, count * sizeof(*a)) == 0;
}

static bool same_sizes(const OutputLeaf *a, const OutputLeaf *b, size_t count)
{
    if (!a->sizes || !b->sizes)
        return a->sizes == b->sizes;
    return same_numbers(a->sizes, b->sizes, count);
}

/* Extents that are numbers; others are compared as sizes. */
static bool same_extents(const OutputLeaf *a, const OutputLeaf *b)
{
    const Tensor *s = array_tensor(a->like), *t = array_tensor(b->like);
    bool same = s->ndim == t->ndim && same_sizes(a, b, s->ndim);
    for (size_t i = 0; same && i < s->ndim; i++)
        same = (a->sizes && a->sizes[i]) || s->extents[i] == t->extents[i];
    return same;
}

static bool same_entries(const Array *a, const Array *b)
{
    return a->info == b->info && array_count(a) == array_count(b) &&
           memcmp(array_data(a), array_data(b), array_count(a) * a->info->var_size) ==
               0;
}

/* Values that are not arrays of the core. 1, 0, -1: exception. */
static int same_value(const State *state, PyObject *a, PyObject *b)
{
    if (a == b || Py_TYPE(a) != Py_TYPE(b))
        return a == b;
    if (PyFunction_Check(a))
        return PyFunction_GET_CODE(a) == PyFunction_GET_CODE(b);
    if (array_check(state, a) && array_of(a)->info->kind != KIND_TENSOR)
        return same_entries(array_of(a), array_of(b));
    PyObject *x = exact_content(a), *y = x ? exact_content(b) : NULL;
    const int same = PyErr_Occurred() ? -1
                     : x && y         ? exact_equal(x, y)
                                      : exact_equal(a, b);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return same;
}

static int same_leaf(const Frozen *a, const Frozen *b, size_t leaf)
{
    const OutputLeaf *s = &a->leaves[leaf], *t = &b->leaves[leaf];
    if (s->cls != t->cls || s->info != t->info)
        return 0;
    if (!s->cls && (s->sizes || t->sizes)) /* a number that is a size */
        return same_sizes(s, t, 1);
    if (!s->cls)
        return same_value(a->state, a->tree.leaves[leaf], b->tree.leaves[leaf]);
    return s->first == t->first && s->count == t->count && s->part == t->part &&
           (s->info->kind != KIND_TENSOR || same_extents(s, t));
}

static int same_node(const TreeNode *a, const TreeNode *b)
{
    if (a->kind != b->kind || a->count != b->count || a->plan != b->plan ||
        a->above != b->above || !a->object != !b->object ||
        (a->object && Py_TYPE(a->object) != Py_TYPE(b->object)))
        return 0;
    return a->keys && b->keys ? exact_equal(a->keys, b->keys) : a->keys == b->keys;
}

static int same_tree(const Frozen *a, const Frozen *b)
{
    int same = a->tree.node_count == b->tree.node_count &&
               a->tree.leaf_count == b->tree.leaf_count;
    for (size_t i = 0; same > 0 && i < a->tree.node_count; i++)
        same = same_node(&a->tree.nodes[i], &b->tree.nodes[i]);
    for (size_t i = 0; same > 0 && i < a->tree.leaf_count; i++)
        same = same_leaf(a, b, i);
    return same;
}

/* Which variables outputs are, and which objects are the same. */
static bool same_places(const Frozen *a, const Frozen *b)
{
    const size_t nodes = a->tree.node_count;
    size_t numbers = 0;
    for (size_t i = 0; i < a->tree.leaf_count; i++)
        numbers += a->leaves[i].count;
    bool same = a->output_count == b->output_count && a->size_count == b->size_count &&
                a->change_count == b->change_count &&
                a->inputs->suspended == b->inputs->suspended &&
                a->returned_count == b->returned_count &&
                same_numbers(a->numbers, b->numbers, numbers) &&
                same_numbers(a->same, b->same, nodes) &&
                same_numbers(a->given, b->given, nodes);
    for (size_t i = 0; same && i < a->change_count; i++)
        same = a->changes[i].leaf == b->changes[i].leaf &&
               a->changes[i].replaced == b->changes[i].replaced;
    for (size_t i = 0; same && i < a->returned_count; i++)
        same = a->returned[i] == b->returned[i];
    return same;
}

PyObject *frozen_same(PyObject *self, PyObject *other)
{
    const Frozen *a = (Frozen *) self, *b = (Frozen *) other;
    if (Py_TYPE(other) != Py_TYPE(self))
        return error_raise(PyExc_TypeError, name, NULL, 0, "expected a recording");
    int core;
    GIL_RELEASE_BEGIN
    core = jit_freeze_same(a->recording, b->recording);
    GIL_RELEASE_END
    if (core < 0)
        return error_from_core(name, NULL, 0);
    if (core != 1)
        return PyLong_FromLong(core);
    const int tree = same_tree(a, b);
    return tree < 0 ? NULL : PyLong_FromLong(tree && same_places(a, b));
}

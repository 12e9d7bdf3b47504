/*
 * tracker_compare.c -- does one PyTree of states follow another one?
 *
 * Trees are compared node by node, in the order in which they were flattened: up to the
 * first difference, which is the error. tracker_match() is the same question without an
 * answer in words, for results of calls.
 */
#include "python/base/error.h"
#include "python/flow/tracker.h"
#include "python/shape/extent.h"
#include "python/tree/compatible.h"

typedef struct Change {
    const Tracker *before, *after;
    size_t place;
    PyObject *from, *to; /* what stands there */
} Change;

/* "the type of state variable 'x' changed from A to B<rest>". Takes the references to
 * A and B; NULL: exception. */
static bool fail_change(const Change *c, const char *what, PyObject *from, PyObject *to,
                        const char *rest)
{
    PyObject *name = from && to ? tracker_name(c->before, c->place) : NULL;
    if (name)
        error_raise(PyExc_RuntimeError, c->before->operation, NULL, 0,
                    "the %s state variable %U changed from %S to %S%s", what, name,
                    from, to, rest);
    Py_XDECREF(name);
    Py_XDECREF(from);
    Py_XDECREF(to);
    return false;
}

static PyObject *type_text(PyObject *object)
{
    return tracker_unbound(object) ? PyUnicode_FromString("'not assigned'")
                              : tree_class_name(object);
}

static bool is_number(PyObject *object)
{
    return PyLong_Check(object) || PyFloat_Check(object);
}

/* Can this object be converted to the type of this array? */
static bool is_number_for(PyObject *object, PyObject *array)
{
    return PyLong_Check(object) ||
           (PyFloat_Check(object) && type_is_float(((Array *) array)->info));
}

#define REFUSED ", which is not permitted"

/* What keeps the type: "begin with drjit.llvm.Float(0) instead of 0". NULL:
 * exception. */
static PyObject *type_remedy(const Change *c)
{
    const bool loop = strcmp(c->before->operation, "while_loop") == 0;
    const bool from_array = array_check(c->before->state, c->from);
    const bool to_array = array_check(c->before->state, c->to);
    const char *from = Py_TYPE(c->from)->tp_name, *to = Py_TYPE(c->to)->tp_name;
    if (from_array && to_array && loop)
        return PyUnicode_FromFormat(REFUSED "; begin with a %s, or convert what 'body' "
                                            "returns: %s(...)",
                                    to, from);
    if (from_array && to_array)
        return PyUnicode_FromFormat(REFUSED "; convert one of them: %s(...)", from);
    if (to_array && is_number_for(c->from, c->to))
        return PyUnicode_FromFormat(REFUSED "; %s %s(%S) instead of %S",
                                    loop ? "begin with" : "write", to, c->from,
                                    c->from);
    if (from_array && is_number_for(c->to, c->from))
        return PyUnicode_FromFormat(REFUSED "; %s %s(%S) instead of %S",
                                    loop ? "return" : "write", from, c->to, c->to);
    if (loop && is_number(c->from) && is_number(c->to))
        return PyUnicode_FromString(REFUSED "; make it an array before the loop");
    return PyUnicode_FromString(REFUSED);
}

static bool fail_type(const Change *c)
{
    PyObject *remedy = type_remedy(c);
    const char *rest = remedy ? PyUnicode_AsUTF8(remedy) : NULL;
    if (rest)
        fail_change(c, "type of", type_text(c->from), type_text(c->to), rest);
    Py_XDECREF(remedy);
    return false;
}

static bool compare_containers(const Change *c, const TreeNode *from,
                               const TreeNode *to)
{
    if (from->kind == NODE_DICTIONARY) {
        const int equal = PyObject_RichCompareBool(from->keys, to->keys, Py_EQ);
        return equal > 0 ||
               (equal == 0 && fail_change(c, "keys of", PyObject_Repr(from->keys),
                                          PyObject_Repr(to->keys), ""));
    }
    return from->count == to->count ||
           tracker_fail_resized(c->before, c->place, c->from, (size_t) from->count,
                                (size_t) to->count);
}

static PyObject *shape_of(PyObject *tensor)
{
    return PyObject_GetAttrString(tensor, "shape");
}

static bool compare_arrays(const Change *c, const TrackedLeaf *from,
                           const TrackedLeaf *to)
{
    if (from->info != to->info || from->local != to->local)
        return fail_type(c);
    if (from->count != to->count)
        return tracker_fail_resized(c->before, c->place, c->from, from->count,
                                    to->count);
    if (!from->local && from->info->kind == KIND_TENSOR && !c->before->copied) {
        Extents before, after;
        extents_of((Array *) c->from, &before);
        extents_of((Array *) c->to, &after);
        /* One without axes is a number, as an array of one entry. */
        if (!extents_equal(&before, &after) && before.ndim && after.ndim)
            return fail_change(c, "shape of", shape_of(c->from), shape_of(c->to),
                               ", which is not permitted");
    }
    for (size_t i = 0; !from->local && !c->before->copied && i < from->count; i++) {
        const size_t one = var_peek_size(c->before->variables.ids[from->first + i]);
        const size_t two = var_peek_size(c->after->variables.ids[to->first + i]);
        if (one != two && one != 1 && two != 1)
            return tracker_fail_resized(c->before, c->place, c->from, one, two);
    }
    return true;
}

static bool compare_objects(const Change *c, bool strict)
{
    if (c->from == c->to)
        return true;
    if (Py_TYPE(c->from) != Py_TYPE(c->to))
        return fail_type(c);
    const bool array = array_check(c->before->state, c->from);
    if (!strict || (array && c->before->empties))
        return true;
    const int equal = array ? 0 : PyObject_RichCompareBool(c->from, c->to, Py_EQ);
    if (equal)
        return equal > 0;
    PyObject *name = tracker_name(c->before, c->place);
    PyObject *cls = name ? tree_class_name(c->from) : NULL;
    if (cls)
        error_raise(PyExc_RuntimeError, c->before->operation, NULL, 0,
                    "the non-array state variable %U of type %U changed from '%S' to "
                    "'%S'%s",
                    name, cls, c->from, c->to,
                    c->before->copied
                        ? ""
                        : "; make it an array before, or annotate the loop or "
                          "conditional with strict=False to disable this check");
    Py_XDECREF(name);
    Py_XDECREF(cls);
    return false;
}

static size_t entries_of(const Tracker *t, const TrackedLeaf *leaf)
{
    return leaf->count ? var_peek_size(t->variables.ids[leaf->first]) : 0;
}

static bool compare_leaves(const Change *c, const TrackedLeaf *from,
                           const TrackedLeaf *to, bool strict)
{
    if (from->unbound || to->unbound)
        return true;
    if (from->count && to->count)
        return compare_arrays(c, from, to);
    if (!from->count && !to->count)
        return compare_objects(c, strict);
    if (Py_TYPE(c->from) != Py_TYPE(c->to))
        return fail_type(c);
    return tracker_fail_resized(c->before, c->place, c->from, /* none, and some */
                                entries_of(c->before, from), entries_of(c->after, to));
}

bool tracker_follows(const Tracker *before, const Tracker *after, bool strict)
{
    const Tree *x = &before->tree, *y = &after->tree;
    Change c = { .before = before, .after = after };
    size_t leaf = 0;
    bool ok = true;
    for (; ok && c.place < x->node_count; c.place++) {
        /* Up to here the trees agree, so both are at their next leaf. */
        const TreeNode *from = &x->nodes[c.place], *to = &y->nodes[c.place];
        c.from = from->kind == NODE_LEAF ? x->leaves[leaf] : from->object;
        c.to = to->kind == NODE_LEAF ? y->leaves[leaf] : to->object;
        if (from->kind != to->kind || (from->plan && Py_TYPE(c.from) != Py_TYPE(c.to)))
            ok = fail_type(&c);
        else if (from->kind != NODE_LEAF)
            ok = compare_containers(&c, from, to);
        else
            ok =
                compare_leaves(&c, &before->leaves[leaf], &after->leaves[leaf], strict);
        leaf += from->kind == NODE_LEAF;
    }
    return ok;
}

/* The leaves of an object that is such a leaf, or such a tuple of leaves; else NULL. */
static PyObject *const *leaves_of(const Tree *like, PyObject *const *object)
{
    const TreeNode *root = &like->nodes[0];
    if (like->node_count == 1 && root->kind == NODE_LEAF)
        return object;
    if (root->kind != NODE_TUPLE || like->node_count != like->leaf_count + 1 ||
        !PyTuple_CheckExact(*object) ||
        (size_t) PyTuple_GET_SIZE(*object) != like->leaf_count)
        return NULL;
    return ((PyTupleObject *) *object)->ob_item;
}

bool tracker_match(const Tracker *before, PyObject *object, VarIndex *ids)
{
    PyObject *const *leaves = leaves_of(&before->tree, &object);
    for (size_t i = 0; leaves && i < before->tree.leaf_count; i++) {
        const TrackedLeaf *like = &before->leaves[i];
        if (like->count == 0 && !like->unbound && leaves[i] == before->tree.leaves[i])
            continue;
        if (like->count == 0 || like->local || !array_check(before->state, leaves[i]))
            return false;
        const Array *array = (const Array *) leaves[i];
        if (array->info != like->info || array_count(array) != like->count)
            return false;
        for (size_t k = 0; k < like->count; k++)
            if (var_is_empty(ids[like->first + k] = array_leaves(array)[k]))
                return false;
    }
    return leaves;
}

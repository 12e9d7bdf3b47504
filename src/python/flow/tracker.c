/*
 * tracker.c -- see tracker.h; what is compared is in tracker_compare.c
 */
#include "python/flow/tracker.h"

#include <stdlib.h>

#include "python/base/error.h"
#include "python/flow/leaf_map.h"
#include "python/flow/local.h"
#include "python/memory/access.h"
#include "python/tree/compatible.h"

/* Leaves for which there is room without taking memory. */
enum { FEW = 8 };

/* A leaf as a type and its variables. */
typedef struct Parts {
    const TypeInfo *info;
    bool local;
    size_t count;
    const VarIndex *leaves;  /* of an array */
    const VarIndex *ids; /* of a local array */
} Parts;

/* False: the object has no variables. */
static bool find_parts(const State *state, PyObject *object, Parts *parts)
{
    const Array *array = array_traced(state, object);
    if (array) {
        *parts = (Parts){ .info = array->info,
                          .count = array_count(array),
                          .leaves = array_leaves(array) };
        return true;
    }
    *parts = (Parts){ 0 };
    if (!local_check(state, object))
        return false;
    const Local *local = (const Local *) object;
    *parts = (Parts){
        .info = local->info, .local = true, .count = local->count, .ids = local->ids
    };
    return true;
}

/* 0: an empty leaf. */
static VarIndex part(const Parts *parts, size_t i)
{
    return parts->local ? parts->ids[i] : parts->leaves[i];
}

/* ---------------------------------------------------------------- names */

/* The label of an entry of the tuple, and the rest of the path; NULL: no exception. */
static PyObject *label_of(const Tracker *t, const char **rest)
{
    if (!t->labels || **rest != '[')
        return NULL;
    char *end;
    const long entry = strtol(*rest + 1, &end, 10);
    if (*end != ']' || entry >= PyTuple_GET_SIZE(t->labels))
        return NULL;
    *rest = end + 1;
    return PyTuple_GET_ITEM(t->labels, entry);
}

PyObject *tracker_name(const Tracker *t, size_t place)
{
    PyObject *path = tree_node_path(&t->tree, place);
    const char *rest = path ? PyUnicode_AsUTF8(path) : NULL;
    PyObject *label = rest ? label_of(t, &rest) : NULL;
    PyObject *name = !rest   ? NULL
                     : label ? PyUnicode_FromFormat("'%U%s'", label, rest)
                             : PyUnicode_FromFormat("'%s%s'", t->what, rest);
    Py_XDECREF(path);
    return name;
}

/* "the size of state variable 'x' of type 'list' changed from 1 to 2" */
bool tracker_fail_resized(const Tracker *t, size_t place, PyObject *object, size_t from,
                          size_t to)
{
    PyObject *name = tracker_name(t, place);
    PyObject *cls = name ? tree_class_name(object) : NULL;
    if (cls)
        error_raise(PyExc_RuntimeError, t->operation, NULL, 0,
                    "the size of state variable %U of type %U changed from %zu to %zu, "
                    "which is not permitted",
                    name, cls, from, to);
    Py_XDECREF(name);
    Py_XDECREF(cls);
    return false;
}

/* ---------------------------------------------------------------- same objects */

/* The first leaf of those that are the same object. */
static bool find_first_uses(Tracker *t)
{
    LeafMap map;
    if (t->tree.leaf_count < 2)
        return true;
    if (!leaf_map_make(&map, t->tree.leaf_count))
        return false;
    for (size_t i = 0; i < t->tree.leaf_count; i++)
        t->leaves[i].first_use = leaf_map_add(&map, t->tree.leaves[i], i);
    leaf_map_free(&map);
    return true;
}

/* ---------------------------------------------------------------- snapshots */

static bool fail_empty(const Tracker *t, const TrackedLeaf *leaf, PyObject *object)
{
    PyObject *name = tracker_name(t, leaf->place);
    PyObject *cls = name ? tree_class_name(object) : NULL;
    if (cls)
        error_raise(PyExc_RuntimeError, t->operation, NULL, 0,
                    "state variable %U of type %U is uninitialized", name, cls);
    Py_XDECREF(name);
    Py_XDECREF(cls);
    return false;
}

/* Its class is found by a name that no class statement gives: it is Python's, and
 * seldom there. */
bool tracker_unbound(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;
    return name[0] == '<' && strcmp(name, "<unbound>") == 0;
}

static bool add_variables(Tracker *t, TrackedLeaf *leaf, PyObject *object)
{
    Parts parts;
    leaf->first = t->variables.count;
    leaf->origin = NO_ORIGIN;
    if (!find_parts(t->state, object, &parts)) {
        leaf->unbound = tracker_unbound(object);
        return true;
    }
    leaf->info = parts.info;
    leaf->local = parts.local;
    leaf->count = parts.count;
    for (size_t i = 0; i < parts.count; i++) {
        const VarIndex id = part(&parts, i);
        if (var_is_empty(id) && t->empties) {
            leaf->count = 0;
            return true;
        }
        if (var_is_empty(id)) {
            t->failed_empty = true;
            return fail_empty(t, leaf, object);
        }
        if (!variables_append(&t->variables, id))
            return false;
    }
    return true;
}

bool tracker_open(Tracker *t, PyObject *object)
{
    Tree *tree = &t->tree;
    if (!tree_flatten(t->state, t->operation, object, tree))
        return false;
    t->leaves = PyMem_Calloc(tree->leaf_count + 1, sizeof(*t->leaves));
    if (!t->leaves)
        return PyErr_NoMemory();
    size_t leaf = 0;
    for (size_t place = 0; place < tree->node_count; place++) {
        if (tree->nodes[place].kind != NODE_LEAF)
            continue;
        t->leaves[leaf].place = place;
        if (!add_variables(t, &t->leaves[leaf], tree->leaves[leaf]))
            return false;
        ++leaf;
    }
    return find_first_uses(t);
}

static void drop_fresh(Tracker *t)
{
    for (size_t i = 0; t->leaves && i < t->tree.leaf_count; i++)
        Py_CLEAR(t->leaves[i].fresh);
}

void tracker_close(Tracker *t)
{
    drop_fresh(t);
    PyMem_Free(t->leaves);
    t->leaves = NULL;
    tree_free(&t->tree);
    variables_drop(&t->variables);
}

/* ---------------------------------------------------------------- fresh arrays */

/* An array like another one, with these variables. */
static PyObject *make_like(const Tracker *t, PyObject *like, const VarIndex *ids,
                           size_t count)
{
    Parts parts;
    find_parts(t->state, like, &parts);
    if (parts.count != count)
        return error_raise(PyExc_RuntimeError, t->operation, NULL, 0,
                           "an array was resized while it was in use");
    if (parts.local)
        return local_new(t->state, parts.info, count, ids);
    if (Py_TYPE(like) == parts.info->py && parts.info->kind == KIND_FLAT)
        return (PyObject *) array_new_leaf(parts.info, var_ref(ids[0]));
    Array *made = access_make(Py_TYPE(like), parts.info, (const Array *) like);
    if (made && t->copied && parts.info->kind == KIND_TENSOR) {
        const size_t lanes = count ? var_size(ids[0]) : 0;
        if (!array_set_shape(made, 1, &lanes))
            Py_CLEAR(made);
    }
    for (size_t i = 0; made && i < count; i++)
        array_set_leaf(made, i, var_ref(ids[i]));
    return (PyObject *) made;
}

/* Let an array have other variables. Code of the user's may have changed it. */
static void set_variables(const Tracker *t, PyObject *object, const VarIndex *ids,
                          size_t count)
{
    Parts parts;
    find_parts(t->state, object, &parts);
    for (size_t i = 0; i < parts.count && i < count; i++) {
        if (part(&parts, i) == ids[i])
            continue;
        var_ref(ids[i]);
        if (parts.local) {
            VarIndex *own = &((Local *) object)->ids[i];
            const VarIndex former = *own;
            *own = ids[i];
            var_unref(former);
        } else {
            array_set_leaf((Array *) object, i, ids[i]);
        }
    }
}

bool tracker_has(const Tracker *t, PyObject *object, const VarIndex *ids, size_t count)
{
    Parts parts;
    find_parts(t->state, object, &parts);
    if (parts.count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (part(&parts, i) != ids[i])
            return false;
    return true;
}

PyObject *tracker_give(Tracker *t)
{
    const VarIndex *ids = t->variables.ids;
    const size_t count = t->tree.leaf_count;
    PyObject *few[FEW], *result = NULL;
    PyObject **leaves = count > FEW ? PyMem_New(PyObject *, count) : few;
    if (!leaves)
        return PyErr_NoMemory();
    drop_fresh(t);
    size_t i = 0;
    for (; i < count; i++) {
        TrackedLeaf *leaf = &t->leaves[i];
        leaves[i] = t->tree.leaves[i];
        if (!leaf->count)
            continue;
        if (leaf->first_use < i && !t->apart)
            leaf->fresh = Py_NewRef(t->leaves[leaf->first_use].fresh);
        else
            leaf->fresh = make_like(t, leaves[i], ids + leaf->first, leaf->count);
        if (!(leaves[i] = leaf->fresh))
            break;
    }
    if (i == count)
        result = t->copied ? tree_unflatten(t->operation, &t->tree, leaves)
                           : tree_place(t->operation, &t->tree, NULL, leaves);
    if (leaves != few)
        PyMem_Free(leaves);
    return result;
}

bool tracker_give_leaves(const Tracker *t, PyObject **leaves)
{
    const VarIndex *ids = t->variables.ids;
    for (size_t i = 0; i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i];
        PyObject *object = t->tree.leaves[i];
        if (!leaf->count)
            leaves[i] = Py_NewRef(object);
        else if (leaf->first_use < i && !t->apart)
            leaves[i] = Py_NewRef(leaves[leaf->first_use]);
        else
            leaves[i] = make_like(t, object, ids + leaf->first, leaf->count);
        if (leaves[i])
            continue;
        while (i)
            Py_DECREF(leaves[--i]);
        return false;
    }
    return true;
}

void tracker_unite_names(Tracker *t)
{
    VarIndex *ids = t->variables.ids;
    for (size_t i = 0; !t->apart && i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i], *first = &t->leaves[leaf->first_use];
        for (size_t k = 0; leaf != first && k < leaf->count; k++) {
            const VarIndex former = ids[leaf->first + k];
            ids[leaf->first + k] = var_ref(ids[first->first + k]);
            var_unref(former);
        }
    }
}

void tracker_set(const Tracker *t)
{
    const VarIndex *ids = t->variables.ids;
    for (size_t i = 0; i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i];
        if (leaf->fresh)
            set_variables(t, leaf->fresh, ids + leaf->first, leaf->count);
    }
}

bool tracker_check_containers(const Tracker *t)
{
    for (size_t place = 0; place < t->tree.node_count; place++) {
        const TreeNode *node = &t->tree.nodes[place];
        const Py_ssize_t now = node->kind == NODE_LIST ? PyList_GET_SIZE(node->object)
                               : node->kind == NODE_DICTIONARY
                                   ? PyDict_GET_SIZE(node->object)
                                   : node->count;
        if (now != node->count)
            return tracker_fail_resized(t, place, node->object, (size_t) node->count,
                                        (size_t) now);
    }
    return true;
}

/* A leaf of what fits a variable that is not assigned. */
static PyObject *take_marker(void *marker, PyObject *const *leaves)
{
    (void) leaves;
    return Py_NewRef(marker);
}

/* What takes the place of an entry: a new reference. */
static PyObject *fit_entry(const Tracker *t, PyObject *before, PyObject *after)
{
    if (tracker_unbound(before))
        return Py_NewRef(before);
    if (!tracker_unbound(after))
        return Py_NewRef(after);
    PyObject *made = tree_map(t->state, t->operation, &before, 1, take_marker, after);
    if (made || PyErr_ExceptionMatches(PyExc_MemoryError) ||
        !PyErr_ExceptionMatches(PyExc_Exception))
        return made;
    PyErr_Clear(); /* the user's class wants numbers: then it does not follow */
    return Py_NewRef(after);
}

/* The root of the tree and what is to follow it, if both are tuples of one size of
 * which one has a variable that is not assigned; else NULL. */
static PyObject *find_pair(const Tracker *t, PyObject *returned)
{
    PyObject *root = t->tree.node_count ? t->tree.nodes[0].object : NULL;
    if (!root || !PyTuple_CheckExact(root) || !PyTuple_CheckExact(returned) ||
        PyTuple_GET_SIZE(root) != PyTuple_GET_SIZE(returned))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(root); i++)
        if (tracker_unbound(PyTuple_GET_ITEM(root, i)) !=
            tracker_unbound(PyTuple_GET_ITEM(returned, i)))
            return root;
    return NULL;
}

PyObject *tracker_fit(const Tracker *before, PyObject *returned)
{
    PyObject *root = find_pair(before, returned);
    if (!root)
        return Py_NewRef(returned);
    const Py_ssize_t count = PyTuple_GET_SIZE(root);
    PyObject *fitting = PyTuple_New(count);
    for (Py_ssize_t i = 0; fitting && i < count; i++) {
        PyObject *entry = fit_entry(before, PyTuple_GET_ITEM(root, i),
                                    PyTuple_GET_ITEM(returned, i));
        if (entry)
            PyTuple_SET_ITEM(fitting, i, entry);
        else
            Py_CLEAR(fitting);
    }
    return fitting;
}

PyObject *tracker_unfit(PyObject *result, PyObject *returned)
{
    const Py_ssize_t count = PyTuple_CheckExact(returned) ? PyTuple_GET_SIZE(returned)
                                                         : 0;
    bool any = false;
    for (Py_ssize_t i = 0; i < count; i++)
        any |= tracker_unbound(PyTuple_GET_ITEM(returned, i)) &&
               !tracker_unbound(PyTuple_GET_ITEM(result, i));
    PyObject *made = any ? PyTuple_New(count) : Py_NewRef(result);
    for (Py_ssize_t i = 0; any && made && i < count; i++) {
        PyObject *marker = PyTuple_GET_ITEM(returned, i);
        PyTuple_SET_ITEM(made, i,
                         Py_NewRef(tracker_unbound(marker)
                                       ? marker
                                       : PyTuple_GET_ITEM(result, i)));
    }
    Py_DECREF(result);
    return made;
}

bool tracker_trace(Tracker *returned, const Tracker *given)
{
    LeafMap map;
    if (!leaf_map_make(&map, given->tree.leaf_count))
        return false;
    for (size_t i = 0; i < given->tree.leaf_count; i++)
        if (given->leaves[i].fresh)
            leaf_map_add(&map, given->leaves[i].fresh, i);
    for (size_t i = 0; i < returned->tree.leaf_count; i++) {
        const LeafMapEntry *found = leaf_map_find(&map, returned->tree.leaves[i]);
        returned->leaves[i].origin =
            found->object ? (Py_ssize_t) found->leaf : NO_ORIGIN;
    }
    leaf_map_free(&map);
    return true;
}

bool tracker_restore(const Tracker *t)
{
    PyObject *error = error_fetch();
    const bool ok = tree_restore(&t->tree);
    if (error) {
        if (!ok)
            PyErr_WriteUnraisable(NULL);
        error_restore(error);
    }
    return ok;
}

/* ---------------------------------------------------------------- local arrays */

static uint32_t make_position(uint32_t array, size_t k)
{
    VarInfo info;
    return jit_var_peek_info(array, &info) ? jit_var_u32(info.backend, (uint32_t) k)
                                           : 0;
}

static bool append_entries(Variables *spread, uint32_t array)
{
    const size_t length = jit_array_length(array);
    bool ok = true;
    for (size_t k = 0; ok && k < length; k++) {
        const uint32_t position = make_position(array, k);
        const uint32_t entry = position ? jit_array_read(array, position, 0) : 0;
        ok = entry && variables_append(spread, var_of(entry));
        if (!entry)
            error_from_core("Local.read", NULL, 0);
        jit_var_dec_ref(position);
        jit_var_dec_ref(entry);
    }
    return ok;
}

bool tracker_spread(const Tracker *t, Variables *spread)
{
    bool ok = true;
    for (size_t i = 0; ok && i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i];
        for (size_t k = 0; ok && k < leaf->count; k++) {
            const VarIndex id = t->variables.ids[leaf->first + k];
            ok = leaf->local ? append_entries(spread, var_jit(id))
                             : variables_append(spread, id);
        }
    }
    return ok;
}

/* A local array like another one with these entries: a new reference. 0: exception. */
static uint32_t unite(uint32_t like, const VarIndex *entries, size_t length,
                      size_t lanes)
{
    VarInfo info;
    uint32_t array = jit_var_info(like, &info)
                         ? jit_array_create(info.backend, info.type, length, lanes)
                         : 0;
    for (size_t k = 0; array && k < length; k++) {
        const uint32_t position = make_position(like, k);
        const uint32_t next =
            position ? jit_array_write(array, position, var_jit(entries[k]), 0) : 0;
        jit_var_dec_ref(position);
        jit_var_dec_ref(array);
        array = next;
    }
    if (!array)
        error_from_core("Local.write", NULL, 0);
    return array;
}

bool tracker_unite(Tracker *t, const Variables *spread, size_t lanes)
{
    Variables united = { 0 };
    size_t next = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i];
        for (size_t k = 0; ok && k < leaf->count; k++) {
            const uint32_t like = var_jit(t->variables.ids[leaf->first + k]);
            const size_t length = leaf->local ? jit_array_length(like) : 1;
            const VarIndex *ids = spread->ids + next;
            const VarIndex id = leaf->local ? var_of(unite(like, ids, length, lanes))
                                        : var_ref(ids[0]);
            ok = id && variables_append(&united, id);
            var_unref(id);
            next += length;
        }
    }
    if (ok) {
        variables_drop(&t->variables);
        t->variables = united;
    } else {
        variables_drop(&united);
    }
    return ok;
}

/* ---------------------------------------------------------------- agreement */

bool tracker_fail_size(const Tracker *t, size_t size)
{
    for (size_t i = 0; size > 1 && i < t->tree.leaf_count; i++) {
        const TrackedLeaf *leaf = &t->leaves[i];
        for (size_t k = 0; k < leaf->count; k++) {
            const size_t own = var_peek_size(t->variables.ids[leaf->first + k]);
            if (own == size || own == 1)
                continue;
            PyObject *name = tracker_name(t, leaf->place);
            char place[VAR_PLACES];
            var_place(t->variables.ids[leaf->first + k], place);
            if (name)
                error_raise(PyExc_RuntimeError, t->operation, NULL, 0,
                            "this operation processes arrays of size %zu, while state "
                            "variable %U has an incompatible size %zu%s",
                            size, name, own, place);
            Py_XDECREF(name);
            return false;
        }
    }
    return error_from_core(t->operation, NULL, 0);
}

bool tracker_fail(const Tracker *t, size_t size)
{
    if (jit_error() == JIT_ERROR_ARGUMENT)
        return tracker_fail_size(t, size);
    return error_from_core(t->operation, NULL, 0);
}

bool tracker_check_backend(const Tracker *t, const TypeInfo *like)
{
    size_t i = 0;
    while (i < t->tree.leaf_count &&
           (!t->leaves[i].count || t->leaves[i].info->backend == like->backend))
        ++i;
    if (i == t->tree.leaf_count)
        return true;
    PyObject *name = tracker_name(t, t->leaves[i].place);
    if (name)
        error_raise(PyExc_TypeError, t->operation, NULL, 0,
                    "%U is of type %s, expected an array of the backend of %s", name,
                    t->leaves[i].info->name, like->name);
    Py_XDECREF(name);
    return false;
}

/* As many zeros as 'like' has variables. */
static bool append_zeros(const Tracker *before, const TrackedLeaf *like,
                         Variables *variables)
{
    static const uint64_t zero;
    for (size_t i = 0; i < like->count; i++) {
        const VarIndex id = before->variables.ids[like->first + i];
        const VarIndex none = var_of(jit_var_literal(
            var_backend(id), jit_var_type(var_jit(id)), &zero, 1, 0));
        const bool ok = none && variables_append(variables, none);
        var_unref(none);
        if (!ok)
            return none ? false : error_from_core(before->operation, NULL, 0);
    }
    return true;
}

static bool has_unbound(const Tracker *t)
{
    size_t i = 0;
    while (i < t->tree.leaf_count && !t->leaves[i].unbound)
        ++i;
    return i < t->tree.leaf_count;
}

/* A tensor without axes gets those that the other one has. */
static void align_shapes(const Tracker *before, Tracker *after)
{
    for (size_t i = 0; i < after->tree.leaf_count; i++) {
        const TrackedLeaf *like = &before->leaves[i], *leaf = &after->leaves[i];
        if (!leaf->count || !like->count || leaf->local ||
            leaf->info->kind != KIND_TENSOR)
            continue;
        PyObject *from = before->tree.leaves[i], *to = after->tree.leaves[i];
        const size_t axes = array_tensor((Array *) to)->ndim;
        if ((array_tensor((Array *) from)->ndim == 0) == (axes == 0))
            continue;
        if (axes == 0)
            Py_SETREF(after->tree.leaves[i], Py_NewRef(from));
        after->leaves[i].origin = NO_ORIGIN;
    }
}

bool tracker_align(const Tracker *before, Tracker *after)
{
    Variables aligned = { 0 };
    bool ok = true;
    align_shapes(before, after);
    if (!has_unbound(before) && !has_unbound(after))
        return true;
    for (size_t i = 0; ok && i < after->tree.leaf_count; i++) {
        const TrackedLeaf *like = &before->leaves[i];
        TrackedLeaf *leaf = &after->leaves[i];
        const size_t first = aligned.count;
        if (!like->unbound && !leaf->unbound) {
            for (size_t k = 0; ok && k < leaf->count; k++)
                ok = variables_append(&aligned, after->variables.ids[leaf->first + k]);
        } else {
            ok = append_zeros(before, like, &aligned);
            if (like->unbound && !leaf->unbound)
                Py_SETREF(after->tree.leaves[i], Py_NewRef(before->tree.leaves[i]));
            leaf->unbound = true;
            leaf->count = like->count;
            leaf->origin = NO_ORIGIN;
        }
        leaf->first = first;
    }
    variables_drop(&after->variables);
    after->variables = aligned;
    return ok;
}

/* ---------------------------------------------------------------- results */

/* What stands in the result, a new reference. The caller's array does where a leaf
 * comes from it; if others that come from it have other variables, the first has it.
 * An array that somebody else has, too, who may go on with it, is not the result's. */
static PyObject *final_leaf(const Tracker *initial, const Tracker *after, size_t i,
                            const TrackedLeaf **claims)
{
    const TrackedLeaf *leaf = &after->leaves[i];
    const VarIndex *ids = after->variables.ids;
    PyObject *object = after->tree.leaves[i];
    if (!leaf->count || leaf->unbound ||
        (leaf->origin == NO_ORIGIN && Py_REFCNT(object) == 1 &&
         tracker_has(after, object, ids + leaf->first, leaf->count)))
        return Py_NewRef(object);
    if (leaf->origin != NO_ORIGIN) {
        const size_t first = initial->leaves[leaf->origin].first_use;
        const TrackedLeaf **claim = &claims[first];
        *claim = *claim ? *claim : leaf;
        if (!initial->apart || /* one fresh object: one value */
            memcmp(ids + (*claim)->first, ids + leaf->first,
                   leaf->count * sizeof(*ids)) == 0)
            return Py_NewRef(initial->tree.leaves[first]);
    }
    return make_like(after, object, ids + leaf->first, leaf->count);
}

PyObject *tracker_commit(const Tracker *initial, const Tracker *after,
                         const Tracker *other)
{
    const size_t count = after->tree.leaf_count, caller = initial->tree.leaf_count;
    const TrackedLeaf *few_claims[FEW] = { NULL };
    PyObject *few[FEW], *result = NULL;
    PyObject **leaves = count > FEW ? PyMem_New(PyObject *, count) : few;
    const TrackedLeaf **claims =
        caller > FEW ? PyMem_Calloc(caller, sizeof(*claims)) : few_claims;
    size_t made = 0;
    if (!leaves || !claims)
        PyErr_NoMemory();
    else
        while (made < count &&
               (leaves[made] = final_leaf(initial, after, made, claims)))
            ++made;
    if (claims && leaves && made == count)
        result = tree_place(after->operation, &after->tree, other ? &other->tree : NULL,
                            leaves);
    for (size_t i = 0; result && i < caller; i++)
        if (claims[i] && !claims[i]->left_alone)
            set_variables(after, initial->tree.leaves[i],
                          after->variables.ids + claims[i]->first, claims[i]->count);
    while (made)
        Py_DECREF(leaves[--made]);
    if (leaves != few)
        PyMem_Free(leaves);
    if (claims != few_claims)
        PyMem_Free(claims);
    return result;
}

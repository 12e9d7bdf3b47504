/*
 * frozen_keep.c -- the end of a recording: what is kept of a call that was recorded
 *
 * Of the inputs, their spec; of the result, and of what the function has changed among
 * the inputs, a tree and where variables and sizes come from. Which of these are
 * tracked is not looked at: drjit._freeze.ad notes it.
 */
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/freeze/exact.h"
#include "python/freeze/frozen.h"
#include "python/freeze/frozen_match.h"
#include "python/freeze/reads.h"
#include "python/freeze/spec_codec.h"
#include "python/memory/access.h"
#include "python/tree/build.h"
#include "python/type/lazy_function.h"

static const char name[] = "freeze";

/* ---------------------------------------------------------------- changes */

/* Has the array that was a leaf of the inputs other variables now? */
static bool is_other(const Snapshot *s, size_t leaf)
{
    const FlattenedLeaf *place = &s->inputs.places[leaf];
    if (!place->info)
        return false;
    const Array *array = array_of(s->inputs.tree.leaves[leaf]);
    if (array_count(array) != place->count)
        return true;
    for (size_t i = 0; i < place->count; i++) {
        const uint32_t number = s->inputs.numbers[place->first + i];
        if (var_jit(array_leaves(array)[i]) !=
            (number ? s->inputs.ids[number - 1] : 0))
            return true;
    }
    return false;
}

/* What has become of a leaf of the inputs? */
static bool has_changed(const Snapshot *s, size_t leaf, PyObject *now, bool *replaced)
{
    *replaced = now != s->inputs.tree.leaves[leaf];
    return *replaced || is_other(s, leaf);
}

static bool has_leaf(const Tree *tree, const PyObject *object)
{
    size_t i = 0;
    while (i < tree->leaf_count && tree->leaves[i] != object)
        i++;
    return i < tree->leaf_count;
}

/* Does an array of the inputs that was changed in place stand elsewhere only? Changes
 * are made again in the places of the inputs. */
static bool has_moved(const Frozen *f, const Snapshot *s, const Tree *now,
                      const Tree *outputs)
{
    for (size_t k = 0; k < f->change_count; k++) {
        const size_t leaf = f->changes[k].leaf;
        const PyObject *before = s->inputs.tree.leaves[leaf];
        bool stays = false;
        if (!f->changes[k].replaced || !is_other(s, leaf))
            continue;
        for (size_t i = 0; !stays && i < now->leaf_count; i++)
            stays = now->leaves[i] == before && s->inputs.tree.leaves[i] == before;
        if (!stays && has_leaf(outputs, before))
            return true;
    }
    return false;
}

/* Has a value that is not an array become another one? */
static bool has_other_value(const Snapshot *s, size_t leaf, PyObject *now)
{
    PyObject *before = s->inputs.tree.leaves[leaf];
    return now != before && !array_check(s->state, before) &&
           !array_check(s->state, now) && exact_equal(before, now) <= 0;
}

/* Are the keys of all dictionaries in the order that they had? */
static bool is_ordered(const Tree *tree, size_t *node)
{
    for (*node = 0; *node < tree->node_count; ++*node) {
        const TreeNode *at = &tree->nodes[*node];
        Py_ssize_t position = 0, i = 0;
        PyObject *key;
        if (at->kind != NODE_DICTIONARY)
            continue;
        for (; i < at->count && PyDict_Next(at->object, &position, &key, NULL); i++)
            if (key != PyList_GET_ITEM(at->keys, i))
                return false;
    }
    return true;
}

/* The first place among the inputs where the function has changed what a recording
 * does not change: its path. NULL: there is none, or an exception. */
static PyObject *find_changed_value(const Snapshot *s, const Tree *now)
{
    const Tree *tree = &s->inputs.tree;
    size_t node, leaf = snapshot_changed_content(s);
    for (size_t i = 0; leaf == SIZE_MAX && !PyErr_Occurred() && i < now->leaf_count;
         i++)
        if (has_other_value(s, i, now->leaves[i]))
            leaf = i;
    if (PyErr_Occurred())
        return NULL;
    if (leaf != SIZE_MAX)
        return tree_leaf_path(tree, leaf);
    return is_ordered(tree, &node) ? NULL : tree_node_path(tree, node);
}

/* Fill in the changes, and a list of what stands there now. */
static PyObject *find_changes(Frozen *f, const Snapshot *s, const Tree *now)
{
    PyObject *list = PyList_New(0);
    f->changes = PyMem_Calloc(now->leaf_count + 1, sizeof(*f->changes));
    if (list && !f->changes) {
        PyErr_NoMemory();
        Py_CLEAR(list);
    }
    for (size_t i = 0; list && i < now->leaf_count; i++) {
        bool replaced;
        if (!has_changed(s, i, now->leaves[i], &replaced))
            continue;
        f->changes[f->change_count++] = (Change){ i, replaced };
        if (PyList_Append(list, now->leaves[i]) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* ---------------------------------------------------------------- outputs */

/* The outputs of the core: variables, then a literal for each size that the result
 * has. */
typedef struct Outputs {
    const FlattenedInputs *c;
    JitBackend backend;
    uint32_t *ids; /* references of the literals only */
    JitSize *sizes;
    size_t size_count, capacity;
} Outputs;

static void free_outputs(Outputs *o)
{
    for (size_t i = 0; i < o->size_count; i++)
        jit_var_dec_ref(o->ids[o->c->id_count + i]);
    PyMem_Free(o->ids);
    PyMem_Free(o->sizes);
}

static bool reserve_size(Outputs *o)
{
    if (o->size_count < o->capacity)
        return true;
    const size_t wanted = o->capacity ? 2 * o->capacity : 4;
    uint32_t *ids = PyMem_Realloc(o->ids, (o->c->id_count + wanted) * sizeof(*ids));
    if (!ids)
        return PyErr_NoMemory() != NULL;
    o->ids = ids;
    JitSize *sizes = PyMem_Realloc(o->sizes, wanted * sizeof(*sizes));
    if (!sizes)
        return PyErr_NoMemory() != NULL;
    o->sizes = sizes;
    o->capacity = wanted;
    return true;
}

/* The number of a size among the outputs, from 1 on; 0: it is just a number.
 * UINT32_MAX: exception. */
static uint32_t output_size(Outputs *o, Extent extent)
{
    if (!extent.size || extent.n > UINT32_MAX) {
        extent_number(extent);
        return 0;
    }
    for (size_t i = 0; i < o->size_count; i++)
        if (o->sizes[i] == extent.size)
            return (uint32_t) i + 1;
    if (!reserve_size(o))
        return UINT32_MAX;
    const uint32_t id = var_jit(var_of_size(o->backend, extent_next(extent)));
    if (!id) {
        error_from_core(name, NULL, 0);
        return UINT32_MAX;
    }
    o->ids[o->c->id_count + o->size_count] = id;
    o->sizes[o->size_count] = extent.size;
    return (uint32_t) ++o->size_count;
}

/* Extents and the entries of the storage have to agree when it is repeated. */
static void check_storage(const Array *tensor, const Extents *shape)
{
    const VarIndex var = tensor->info->jit ? array_var(tensor) : 0;
    Extent total;
    if (!var || !extents_total(shape, &total))
        PyErr_Clear(); /* there are no such tensors */
    else if (!extent_equal(extent_of_leaf(var, var_peek_size(var)), total))
        extent_number(total); /* one entry for all */
}

static bool keep_sizes(OutputLeaf *out, Outputs *o, const Extents *shape)
{
    out->sizes = PyMem_Calloc(shape->ndim + 1, sizeof(*out->sizes));
    if (!out->sizes)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < shape->ndim; i++) {
        out->sizes[i] = output_size(o, extents_get(shape, i));
        if (out->sizes[i] == UINT32_MAX)
            return false;
    }
    return true;
}

/* A number that is a size. */
static bool keep_number(Frozen *f, Outputs *o, size_t leaf)
{
    Py_ssize_t value;
    Extents one;
    extents_set_numbers(&one, 0, NULL);
    Extent extent = extent_of(0);
    if (!extent_read(o->c->tree.leaves[leaf], &value, &extent))
        return !PyErr_Occurred(); /* it is negative, and bound */
    if (extent.n > UINT32_MAX) { /* no variable has that many entries */
        extent_number(extent);
        return true;
    }
    extents_append(&one, extent);
    return !one.sized || keep_sizes(&f->leaves[leaf], o, &one);
}

/* An array of the result, without its variables. */
static bool keep_leaf(Frozen *f, Outputs *o, size_t leaf)
{
    const FlattenedLeaf *place = &o->c->places[leaf];
    OutputLeaf *out = &f->leaves[leaf];
    PyObject *object = o->c->tree.leaves[leaf];
    if (!place->info)
        return !size_is(object) || keep_number(f, o, leaf);
    out->cls = (PyTypeObject *) Py_NewRef((PyObject *) Py_TYPE(object));
    out->info = place->info;
    out->first = place->first;
    out->count = place->count;
    const bool tensor = place->info->kind == KIND_TENSOR;
    if (place->info->dynamic || tensor)
        out->like = array_new_like(place->info, (Array *) object);
    if (!tensor || !out->like)
        return out->like || !(place->info->dynamic || tensor);
    Extents shape;
    extents_of((Array *) object, &shape);
    check_storage((Array *) object, &shape);
    return array_set_shape(out->like, shape.ndim, shape.dims) && /* without sizes */
           (!shape.sized || keep_sizes(out, o, &shape));
}

PyObject *frozen_own_leaf(const State *state, PyObject *leaf)
{
    if (Py_IS_TYPE(leaf, &PySet_Type))
        return PySet_New(leaf);
    if (size_is(leaf))
        return size_plain(leaf);
    return array_check(state, leaf) ? (PyObject *) array_copy(array_of(leaf))
                                    : Py_NewRef(leaf);
}

/* A tree of such leaves, with containers of its own. */
static bool keep_containers(Frozen *f, const Tree *tree, PyObject *const *leaves)
{
    PyObject *skeleton = tree_unflatten_as(name, tree, leaves, NULL, NULL);
    const bool ok = skeleton && tree_flatten(f->state, name, skeleton, &f->tree);
    Py_XDECREF(skeleton);
    if (ok && f->tree.leaf_count != tree->leaf_count)
        error_raise(PyExc_TypeError, name, NULL, 0,
                    "the result has an object that cannot be made without its fields");
    return ok && f->tree.leaf_count == tree->leaf_count;
}

/* Are there objects with fields, which take an object to be made from? */
static bool has_fields(const Tree *tree)
{
    size_t i = 0;
    while (i < tree->node_count && !tree->nodes[i].plan)
        i++;
    return i < tree->node_count;
}

/* A tree like that of the outputs, in which arrays are None, so that it keeps none of
 * them alive. */
static bool keep_tree(Frozen *f, const FlattenedInputs *c)
{
    const size_t count = c->tree.leaf_count;
    PyObject **leaves = PyMem_New(PyObject *, count + 1);
    if (!leaves)
        return PyErr_NoMemory() != NULL;
    bool ok = false;
    size_t made = 0;
    for (; made < count; made++) {
        leaves[made] = c->places[made].info
                           ? Py_NewRef(Py_None)
                           : frozen_own_leaf(f->state, c->tree.leaves[made]);
        if (!leaves[made])
            break;
    }
    if (made == count && !has_fields(&c->tree)) {
        f->tree.leaves = leaves;
        f->tree.leaf_count = made;
        return input_spec_nodes(&f->tree, &c->tree);
    }
    if (made == count)
        ok = keep_containers(f, &c->tree, leaves);
    while (made)
        Py_DECREF(leaves[--made]);
    PyMem_Free(leaves);
    return ok;
}

/* What is to be known of the arrays, whose tree is in 'f' already. */
static bool keep_leaves(Frozen *f, Outputs *o)
{
    const FlattenedInputs *c = o->c;
    f->leaves = PyMem_Calloc(c->tree.leaf_count + 1, sizeof(*f->leaves));
    f->numbers = PyMem_New(uint32_t, c->number_count + 1);
    if (!f->leaves || !f->numbers)
        return PyErr_NoMemory() != NULL;
    if (c->number_count)
        memcpy(f->numbers, c->numbers, c->number_count * sizeof(*f->numbers));
    bool ok = reserve_size(o);
    for (size_t i = 0; ok && i < c->tree.leaf_count; i++)
        ok = keep_leaf(f, o, i);
    f->output_count = c->id_count;
    f->size_count = o->size_count;
    if (ok && c->id_count)
        memcpy(o->ids, c->ids, c->id_count * sizeof(*o->ids));
    return ok;
}

bool frozen_keep_leaves(Frozen *f, const FlattenedInputs *outputs)
{
    Outputs o = { .c = outputs };
    const size_t count = outputs->tree.node_count;
    bool ok = keep_leaves(f, &o);
    f->same = PyMem_Calloc(count + 1, sizeof(*f->same));
    f->given = PyMem_Calloc(count + 1, sizeof(*f->given));
    if (ok && (!f->same || !f->given))
        ok = PyErr_NoMemory() != NULL;
    free_outputs(&o);
    return ok;
}

/* ---------------------------------------------------------------- input specs */

bool frozen_outputs(const Frozen *f, FlattenedInputs *outputs)
{
    const size_t count = f->tree.leaf_count;
    *outputs = (FlattenedInputs){ .state = f->state,
                                  .tree = f->tree,
                                  .numbers = f->numbers,
                                  .id_count = f->output_count };
    outputs->tree.leaf_count = 0;
    outputs->tree.leaves = PyMem_New(PyObject *, count + 1);
    outputs->places = PyMem_Calloc(count + 1, sizeof(*outputs->places));
    bool ok = outputs->tree.leaves && outputs->places;
    if (!ok)
        PyErr_NoMemory();
    for (size_t i = 0; ok && i < count; i++) {
        const OutputLeaf *out = &f->leaves[i];
        PyObject *leaf = out->cls
                             ? (PyObject *) access_make(out->cls, out->info, out->like)
                             : spec_rows_of_object(f->state, f->tree.leaves[i], true);
        if (out->cls)
            outputs->places[i] = (FlattenedLeaf){ out->info, out->first, out->count };
        ok = leaf;
        if (ok)
            outputs->tree.leaves[outputs->tree.leaf_count++] = leaf;
    }
    return ok;
}

void frozen_outputs_free(FlattenedInputs *outputs)
{
    while (outputs->tree.leaf_count)
        Py_DECREF(outputs->tree.leaves[--outputs->tree.leaf_count]);
    PyMem_Free(outputs->tree.leaves);
    PyMem_Free(outputs->places);
}

/* ---------------------------------------------------------------- the end */

/* End the recording: the outputs of the core. A str says why it cannot be repeated. */
static PyObject *stop_core(Frozen *f, const Outputs *o)
{
    GIL_RELEASE_BEGIN
    f->recording = jit_freeze_stop(o->c->id_count + o->size_count, o->ids);
    GIL_RELEASE_END
    if (f->recording)
        return Py_NewRef((PyObject *) f);
    if (jit_error() != JIT_ERROR_UNSUPPORTED)
        return error_from_core(name, NULL, 0);
    const char *message = jit_error_message(), *reason = strstr(message, "repeated: ");
    return PyUnicode_FromString(reason ? reason + strlen("repeated: ") : message);
}

static bool is_repeatable(const Snapshot *s, PyObject *object);

static bool are_repeatable(const Snapshot *s, PyObject *set)
{
    PyObject *list = PySequence_List(set);
    bool ok = list;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(list); i++)
        ok = is_repeatable(s, PyList_GET_ITEM(list, i));
    Py_XDECREF(list);
    return ok;
}

/* Is it an object that may change, although its class says what is equal? Those of
 * libraries do not, nor do members of enumerations. */
static bool is_changeable(PyObject *object)
{
    PyTypeObject *cls = Py_TYPE(object);
    if (!PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE))
        return false;
    PyObject *members = PyUnicode_InternFromString("_member_map_");
    const bool enumerator = members && class_attribute(cls, members);
    PyObject *module = PyImport_ImportModule("drjit._freeze.reads");
    PyObject *place = PyObject_GetAttrString((PyObject *) cls, "__module__");
    PyObject *quiet = module && place ? PyObject_CallMethod(module, "is_quiet_module",
                                                            "O", place)
                                      : NULL;
    const bool library = quiet && PyObject_IsTrue(quiet) > 0;
    Py_XDECREF(members);
    Py_XDECREF(module);
    Py_XDECREF(place);
    Py_XDECREF(quiet);
    return !enumerator && !library;
}

/* Will each call have this leaf among its results? Values, what is an input, and
 * whatever has a name; not an object that the function makes. */
static bool is_repeatable(const Snapshot *s, PyObject *object)
{
    if (PyAnySet_CheckExact(object))
        return are_repeatable(s, object);
    if (PyLong_Check(object) || PyFloat_Check(object) || PyUnicode_Check(object) ||
        object == Py_None || object == Py_Ellipsis || PyType_Check(object) ||
        PyModule_Check(object) || PyCFunction_Check(object) || size_is(object) ||
        lazy_function_check(object) ||
        array_check(s->state, object) || has_leaf(&s->inputs.tree, object))
        return true;
    if (PyFunction_Check(object))
        return !PyFunction_GetClosure(object);
    const bool value = !PyMethod_Check(object) && !exact_by_identity(object) &&
                       !is_changeable(object);
    PyErr_Clear(); /* of a hash: for this purpose, there is none */
    return value && !PyObject_HasAttrString((PyObject *) Py_TYPE(object), "__dlpack__");
}

/* Is an attribute that is not a field the same each time? */
static bool is_fixed(const Snapshot *s, PyObject *value)
{
    const bool named = PyType_Check(value) || PyModule_Check(value) ||
                       PyCFunction_Check(value) || PyFunction_Check(value) ||
                       lazy_function_check(value);
    const bool given =
        !named && exact_is_identity(value) && has_leaf(&s->inputs.tree, value);
    return !PyAnySet_CheckExact(value) && !array_check(s->state, value) && !given &&
           is_repeatable(s, value);
}

/* The first of some attributes that is not a field, and may differ each time. */
static PyObject *find_further(const Snapshot *s, const Plan *plan, PyObject *attributes)
{
    Py_ssize_t position = 0;
    PyObject *key, *value;
    while (PyDict_Next(attributes, &position, &key, &value))
        if (PySequence_Contains(plan->names, key) == 0 && !is_fixed(s, value))
            return key;
    return NULL;
}

/* Why no object like this one can be made of its fields; NULL: it can be, or an
 * exception. */
static PyObject *find_unlike(const Snapshot *s, const Plan *plan, PyObject *object)
{
    const char *type = Py_TYPE(object)->tp_name;
    const PyTypeObject *base = build_base(Py_TYPE(object));
    if (plan->kind != NODE_NAMED_TUPLE && base != &PyBaseObject_Type)
        return PyUnicode_FromFormat("a result is an object of type %s, which is a %s, "
                                    "too", type, base->tp_name);
    if (plan->kind != NODE_NAMED_TUPLE && build_has_code(plan, Py_TYPE(object)))
        return PyUnicode_FromFormat("a result is an object of type %s, which sets a "
                                    "field by code", type);
    PyObject *attributes = build_attributes(object);
    PyObject *further = attributes ? find_further(s, plan, attributes) : NULL;
    PyObject *reason = !further ? NULL
                                : PyUnicode_FromFormat(
                                      "a result is an object of type %s, whose "
                                      "attribute '%S' is not a field", type, further);
    Py_XDECREF(attributes);
    return reason;
}

/* The same of all objects with fields in a result. */
static PyObject *find_all_unlike(const Frozen *f, const Snapshot *s)
{
    PyObject *reason = NULL;
    for (size_t i = 0; !reason && !PyErr_Occurred() && i < f->tree.node_count; i++) {
        const TreeNode *node = &f->tree.nodes[i];
        if (node->plan && !f->given[i] && !f->same[i])
            reason = find_unlike(s, node->plan, node->object);
    }
    return reason;
}

/* A part of an array of which a repetition makes an array of its own; NULL: it is
 * not one. */
static const Array *own_part(const Frozen *f, const FlattenedInputs *c, size_t leaf)
{
    PyObject *object = c->tree.leaves[leaf];
    const Array *a = c->places[leaf].info ? array_of(object) : NULL;
    return a && a->root && !f->leaves[leaf].part ? a : NULL;
}

/* Are there a part of an array and a part of that, but not the array itself? */
static bool has_parts_of_parts(const Frozen *f, const FlattenedInputs *c)
{
    for (size_t i = 0; i < c->tree.leaf_count; i++) {
        const Array *a = own_part(f, c, i);
        for (size_t k = 0; a && k < i; k++) {
            const Array *b = own_part(f, c, k);
            if (b && a != b && a->root == b->root && a->offset < b->offset + b->count &&
                b->offset < a->offset + a->count)
                return true;
        }
    }
    return false;
}

/* Does code of a class set a field that the function has replaced? A repetition would
 * give it what it has made of a value already. */
static bool is_set_by_code(const Frozen *f)
{
    for (size_t k = 0; k < f->change_count; k++) {
        const TreeNode *node = &f->inputs->c.tree.nodes[f->places[k].node];
        PyTypeObject *cls = node->plan ? (PyTypeObject *) node->object : NULL;
        if (f->changes[k].replaced && cls &&
            ((node->kind == NODE_STRUCT &&
              cls->tp_setattro != PyObject_GenericSetAttr) ||
             build_has_code(node->plan, cls)))
            return true;
    }
    return false;
}

/* Why the leaves of a tree make it impossible to repeat; NULL: they do not, or an
 * exception. */
static PyObject *find_made(const Snapshot *s, const Tree *results)
{
    if (tree_has_cycles(results))
        return PyUnicode_FromString("a result, or what it changes, contains itself");
    for (size_t i = 0; i < results->leaf_count; i++)
        if (!is_repeatable(s, results->leaves[i]))
            return PyUnicode_FromFormat("a result is an object of type %s, and each "
                                        "call makes another one",
                                        Py_TYPE(results->leaves[i])->tp_name);
    return NULL;
}

/* The same of a result without what was printed, which may show such objects. */
static PyObject *find_made_within(const Snapshot *s, PyObject *plain, PyObject *changed)
{
    Tree tree = { 0 };
    PyObject *both = PyTuple_Pack(2, plain, changed), *reason = NULL;
    if (both && tree_flatten(s->state, name, both, &tree))
        reason = find_made(s, &tree);
    tree_free(&tree);
    Py_XDECREF(both);
    return reason;
}

static bool keep_outputs(Frozen *f, const Snapshot *s, Outputs *o)
{
    f->inputs = (InputSpec *) Py_NewRef((PyObject *) s->spec);
    return keep_tree(f, o->c) && keep_leaves(f, o) &&
           frozen_keep_objects(f, &s->inputs.tree, &o->c->tree) &&
           frozen_match_keep(f);
}

/* 'plain' is the result without what the function has printed. */
static PyObject *stop(Frozen *f, const Snapshot *s, const Tree *now, PyObject *result,
                      PyObject *plain)
{
    FlattenedInputs outputs = { 0 };
    PyObject *changed = find_changes(f, s, now);
    PyObject *both = changed ? PyTuple_Pack(2, result, changed) : NULL;
    PyObject *ended = NULL;
    Outputs core = { .c = &outputs, .backend = flattened_backend(&s->inputs) };
    if (both && flattened_take(&outputs, f->state, name, both)) {
        ended = result == plain ? find_made(s, &outputs.tree)
                                : find_made_within(s, plain, changed);
        if (!ended && !PyErr_Occurred() && has_moved(f, s, now, &outputs.tree))
            ended = PyUnicode_FromString(
                "an input is changed in place, and is in another place after the call");
        if (!ended && !PyErr_Occurred() && keep_outputs(f, s, &core)) {
            ended = find_all_unlike(f, s);
            if (!ended && !PyErr_Occurred() && has_parts_of_parts(f, &outputs))
                ended =
                    PyUnicode_FromString("a result is a part of a part of an array");
            if (!ended && !PyErr_Occurred() && is_set_by_code(f))
                ended = PyUnicode_FromString(
                    "code of a class sets what the function changes");
            if (!ended && !PyErr_Occurred())
                ended = frozen_find_escaped(f->state, now, &outputs,
                                            core.ids + outputs.id_count,
                                            core.size_count);
        }
        if (!ended && !PyErr_Occurred())
            ended = stop_core(f, &core);
    }
    free_outputs(&core);
    flattened_free(&outputs);
    Py_XDECREF(both);
    Py_XDECREF(changed);
    return ended;
}

/* (snapshot, inputs, reads, result with prints, result) */
static PyObject *stop_or_say_why(Frozen *f, const Snapshot *s, PyObject *const *args)
{
    Tree now = { 0 };
    PyObject *ended = NULL;
    if (tree_flatten_like(s->state, name, &s->inputs.tree, args[1], &now)) {
        PyObject *path = find_changed_value(s, &now);
        if (path)
            ended = PyUnicode_FromFormat("the function changes %U", path);
        else if (PyErr_Occurred())
            ended = NULL;
        else
            ended = stop(f, s, &now, args[3], args[4]);
        Py_XDECREF(path);
    } else if (PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        ended = PyUnicode_FromString("the structure of the inputs has changed");
    }
    tree_free(&now);
    return ended;
}

/* Are all inputs as they were when the snapshot was taken? */
static bool is_untouched(const Snapshot *s, const Tree *now)
{
    bool replaced, same = true;
    for (size_t i = 0; same && i < now->leaf_count; i++)
        same = !has_changed(s, i, now->leaves[i], &replaced);
    return same && snapshot_changed_content(s) == SIZE_MAX && !PyErr_Occurred();
}

PyObject *frozen_untouched(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_argument(module, args, n, 2);
    Tree now = { 0 };
    if (!s)
        return NULL;
    const bool alike =
        tree_flatten_like(s->state, name, &s->inputs.tree, args[1], &now);
    const bool same = alike && is_untouched(s, &now);
    tree_free(&now);
    if (!alike && PyErr_ExceptionMatches(PyExc_ValueError))
        PyErr_Clear(); /* another structure */
    return PyErr_Occurred() ? NULL : PyBool_FromLong(same);
}

PyObject *frozen_stop(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    const Snapshot *s = snapshot_argument(module, args, n, 5);
    if (!s) {
        jit_freeze_abort();
        return NULL;
    }
    Frozen *f = frozen_new(s->state);
    if (f && reads_check(s->state, args[2]))
        f->reads = Py_NewRef(args[2]);
    PyObject *ended = f ? stop_or_say_why(f, s, args) : NULL;
    Py_XDECREF(f);
    jit_freeze_abort(); /* if it has not ended */
    return ended;
}

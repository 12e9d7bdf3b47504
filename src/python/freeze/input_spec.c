/*
 * input_spec.c -- see input_spec.h
 */
#include "python/freeze/input_spec.h"

#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/freeze/exact.h"
#include "python/freeze/spec_codec.h"
#include "python/memory/access.h"

enum {
    PARTS = 4,      /* of inputs, without those of derivatives */
    NAMED = 2,      /* which of them is what the function reads by name */
    FEW = 8,        /* variables that are compared with each other one by one */
    QUICK_DEPTH = 8 /* of containers that input_spec_quick() looks into */
};

/* ---------------------------------------------------------------- flattened inputs */

/* An empty array like this one. */
static PyObject *empty_like(const TypeInfo *info, PyObject *array)
{
    PyTypeObject *cls = Py_TYPE(array);
    const bool counted = info->dynamic || info->kind == KIND_TENSOR;
    if (cls == info->py && !counted)
        return (PyObject *) array_new(info);
    Array *like = counted ? array_new_like(info, (Array *) array) : NULL;
    if (counted && (!like || cls == info->py))
        return (PyObject *) like;
    Array *made = access_make(cls, info, like);
    Py_XDECREF(like);
    return (PyObject *) made;
}

bool input_spec_nodes(Tree *tree, const Tree *from)
{
    tree->nodes = PyMem_Calloc(from->node_count + 1, sizeof(*tree->nodes));
    if (!tree->nodes)
        return PyErr_NoMemory() != NULL;
    for (; tree->node_count < from->node_count; tree->node_count++) {
        const TreeNode *node = &from->nodes[tree->node_count];
        TreeNode *copy = &tree->nodes[tree->node_count];
        *copy = (TreeNode){ node->kind, node->count, NULL, Py_XNewRef(node->keys),
                            node->plan, node->above };
        if (node->plan) {
            node->plan->references++;
            copy->object = Py_NewRef((PyObject *) Py_TYPE(node->object));
        }
    }
    return true;
}

static bool make_leaves(Tree *tree, const FlattenedInputs *c, bool unordered)
{
    const Tree *from = &c->tree;
    tree->leaves = PyMem_Calloc(from->leaf_count + 1, sizeof(*tree->leaves));
    if (!tree->leaves)
        return PyErr_NoMemory() != NULL;
    for (size_t i = 0; i < from->node_count; i++) {
        const TreeNode *node = &from->nodes[i];
        if (node->kind != NODE_LEAF)
            continue;
        PyObject *leaf = from->leaves[tree->leaf_count], *made;
        const TypeInfo *info = c->places[tree->leaf_count].info;
        made = node->above ? spec_rows_of_cycle(node->above)
               : info      ? empty_like(info, leaf)
                           : spec_rows_of_object(c->state, leaf, unordered);
        if (!made)
            return false;
        tree->leaves[tree->leaf_count++] = made;
    }
    return true;
}

/* A copy of an array of C; NULL: exception. */
static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = PyMem_Malloc(count * size + 1);
    if (!copy)
        return PyErr_NoMemory();
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

bool input_spec_make(FlattenedInputs *spec, const FlattenedInputs *c, bool unordered)
{
    *spec = (FlattenedInputs){ .state = c->state, .number_count = c->number_count,
                             .id_count = c->id_count,
                             .repeated_count = c->repeated_count };
    spec->places = copy_of(c->places, c->tree.leaf_count, sizeof(*c->places));
    spec->numbers = copy_of(c->numbers, c->number_count, sizeof(*c->numbers));
    spec->repeated = copy_of(c->repeated, c->repeated_count, sizeof(*c->repeated));
    return spec->places && spec->numbers && spec->repeated &&
           input_spec_nodes(&spec->tree, &c->tree) &&
           make_leaves(&spec->tree, c, unordered);
}

/* ---------------------------------------------------------------- variables, sizes */

static size_t count_extents(const FlattenedInputs *c)
{
    size_t count = 0;
    for (size_t i = 0; i < c->tree.leaf_count; i++)
        if (c->places[i].info && c->places[i].info->kind == KIND_TENSOR)
            count += array_tensor(array_of(c->tree.leaves[i]))->ndim;
    return count;
}

static bool put_variables(InputSpec *o, bool literals, SizeClasses *sizes)
{
    for (size_t i = 0; i < o->c.id_count; i++) {
        const JitFreezeInput *in = &o->described[i];
        const bool said = literals || !in->literal;
        const uint64_t size = said ? size_classes_get(sizes, in->size, i) : 0;
        if (size == UINT64_MAX)
            return false;
        o->words[o->word_count++] = size << 16 | (uint64_t) in->type << 8 |
                                    in->literal << 1;
        o->words[o->word_count++] = in->literal && said ? in->bits : 0;
    }
    return true;
}

/* Extents of tensors are sizes that are inputs, too, after the variables. A tensor
 * without entries may have some that no variable can have. */
static bool put_shape(InputSpec *o, const Tensor *t, SizeClasses *sizes)
{
    for (size_t i = 0; i < t->ndim; i++) {
        const size_t extent = t->extents[i], before = sizes->count;
        const bool number = extent < FIRST_CLASS || extent > UINT32_MAX;
        const uint64_t class =
            number ? extent
                   : size_classes_get(sizes, (uint32_t) extent,
                                      o->c.id_count + sizes->extra);
        if (class == UINT64_MAX)
            return false;
        sizes->extra += sizes->count - before;
        o->words[o->word_count++] = class << 1 | number;
        o->extents[o->extent_count++] =
            number ? INPUT_SPEC_NUMBER : sizes->classes[class - FIRST_CLASS].input;
    }
    return true;
}

static bool put_sizes(InputSpec *o, const FlattenedInputs *c, bool literals,
                      SizeClasses *sizes)
{
    const size_t extents = count_extents(c);
    o->words = PyMem_New(uint64_t, 2 * c->id_count + extents + 1);
    o->extents = PyMem_New(uint32_t, extents + 1);
    bool ok = o->words && o->extents;
    if (!ok)
        PyErr_NoMemory();
    ok = ok && put_variables(o, literals, sizes);
    for (size_t i = 0; ok && i < c->tree.leaf_count; i++)
        if (c->places[i].info && c->places[i].info->kind == KIND_TENSOR)
            ok = put_shape(o, array_tensor(array_of(c->tree.leaves[i])), sizes);
    o->extra = sizes->extra;
    return ok;
}

/* ---------------------------------------------------------------- hashes */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of_plain(PyObject *value)
{
    uint64_t bits;
    if (!PyFloat_CheckExact(value)) /* whose hash is not always that of its bits */
        return (uint64_t) PyObject_Hash(value);
    const double number = PyFloat_AS_DOUBLE(value);
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* False: exception. */
static bool hash_of_mark(PyObject *mark, uint64_t *hash)
{
    *hash = 1;
    if (!PyTuple_CheckExact(mark)) {
        *hash = hash_of_plain(mark);
        return true;
    }
    PyObject *last = PyTuple_GET_ITEM(mark, PyTuple_GET_SIZE(mark) - 1);
    if (spec_rows_is_reference(mark))
        *hash = (uintptr_t) last;
    else if (!PyComplex_CheckExact(last) && !exact_by_identity(last))
        *hash = (uint64_t) PyObject_Hash(last);
    return !PyErr_Occurred();
}

static bool make_hash(InputSpec *o)
{
    const FlattenedInputs *c = &o->c;
    uint64_t hash = mix(c->id_count, o->suspended), own;
    for (size_t i = 0; i < o->word_count; i++)
        hash = mix(hash, o->words[i]);
    for (size_t i = 0; i < c->number_count; i++)
        hash = mix(hash, c->numbers[i]);
    for (size_t i = 0; i < c->repeated_count; i++)
        hash = mix(hash, c->repeated[i]);
    for (size_t i = 0, leaf = 0; i < c->tree.node_count; i++) {
        const TreeNode *node = &c->tree.nodes[i];
        hash = mix(hash, (uint64_t) node->kind << 56 | (uint64_t) node->count);
        own = (uintptr_t) node->object;
        if (node->kind == NODE_LEAF && c->places[leaf].info)
            own = (uintptr_t) Py_TYPE(c->tree.leaves[leaf]);
        else if (node->kind == NODE_LEAF && !hash_of_mark(c->tree.leaves[leaf], &own))
            return false;
        leaf += node->kind == NODE_LEAF;
        hash = mix(hash, own);
    }
    o->hash = hash == UINT64_MAX ? 0 : (Py_hash_t) hash;
    return true;
}

/* The containers that a walk is in. */
typedef struct Within {
    PyObject *object;
    const struct Within *outer;
    int depth;
} Within;

static bool is_within(const Within *w, PyObject *object)
{
    while (w && w->object != object)
        w = w->outer;
    return w;
}

static NodeKind plain_kind(PyObject *object)
{
    return PyTuple_CheckExact(object)  ? NODE_TUPLE
           : PyList_CheckExact(object) ? NODE_LIST
           : PyDict_CheckExact(object) ? NODE_DICTIONARY
                                       : NODE_LEAF;
}

static uint64_t mix_container(uint64_t hash, NodeKind kind, Py_ssize_t count)
{
    return mix(hash, (uint64_t) kind << 56 | (uint64_t) count);
}

static uint64_t mix_object(const State *state, uint64_t hash, PyObject *object,
                           const Within *outer)
{
    const Within within = { object, outer, outer ? outer->depth + 1 : 1 };
    const NodeKind kind = plain_kind(object);
    if (kind == NODE_LEAF) {
        if (spec_rows_is_plain(object))
            return mix(hash, hash_of_plain(object));
        const bool array = array_check(state, object) && array_of(object)->info->jit;
        return mix(hash, array ? (uintptr_t) Py_TYPE(object) : 0);
    }
    if (within.depth > QUICK_DEPTH || is_within(outer, object))
        return mix(hash, 0);
    if (kind == NODE_DICTIONARY) {
        Py_ssize_t position = 0;
        hash = mix_container(hash, kind, PyDict_GET_SIZE(object));
        for (PyObject *child; PyDict_Next(object, &position, NULL, &child);)
            hash = mix_object(state, hash, child, &within);
        return hash;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    hash = mix_container(hash, kind, count);
    for (Py_ssize_t i = 0; i < count; i++)
        hash = mix_object(state, hash, PySequence_Fast_GET_ITEM(object, i), &within);
    return hash;
}

uint64_t input_spec_quick(const State *state, PyObject *args, PyObject *kwargs,
                          PyObject *state_value)
{
    const uint64_t hash = mix_object(state, 1, args, NULL);
    return mix_object(state, mix_object(state, hash, kwargs, NULL), state_value, NULL);
}

/* ---------------------------------------------------------------- making one */

/* Where what the function reads by name is among inputs. */
static void find_parts(InputSpec *o)
{
    const Tree *tree = &o->c.tree;
    TreePlace at = { 1, 0 };
    if (tree->nodes[0].kind != NODE_TUPLE || tree->nodes[0].count != PARTS)
        return;
    for (size_t i = 0; i <= NAMED; i++)
        tree_skip(tree, &at);
    o->behind_named = at;
}

/* May comparing the inputs run any code? */
static bool runs_code(const Tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        const TreeNode *node = &tree->nodes[i];
        if (node->kind == NODE_DATACLASS || node->kind == NODE_STRUCT)
            return true;
        for (Py_ssize_t k = 0; node->keys && k < node->count; k++)
            if (!PyUnicode_CheckExact(PyList_GET_ITEM(node->keys, k)))
                return true;
    }
    for (size_t i = 0; i < tree->leaf_count; i++)
        if (PyTuple_CheckExact(tree->leaves[i]))
            return true;
    return false;
}

static bool make_slots(InputSpec *o)
{
    size_t room = 1;
    while (room < 2 * o->c.id_count)
        room *= 2;
    o->mask = room - 1;
    if (o->c.id_count <= FEW)
        return true;
    o->slots = PyMem_Calloc(room, sizeof(*o->slots));
    return o->slots || PyErr_NoMemory() != NULL;
}

InputSpec *input_spec_new(FlattenedInputs *c, const JitFreezeInput *described,
                          bool literals, bool suspended, bool unordered,
                          SizeClasses *sizes)
{
    InputSpec *o = PyObject_GC_New(InputSpec, c->state->input_spec);
    if (!o)
        return NULL;
    memset((char *) o + sizeof(PyObject), 0, sizeof(*o) - sizeof(PyObject));
    o->suspended = suspended;
    o->unordered = unordered;
    o->tells_objects = flattened_tells_objects(c, described);
    o->described = copy_of(described, c->id_count, sizeof(*described));
    bool ok = o->described &&
              (!o->tells_objects || c->repeated || flattened_find_repeated(c)) &&
              input_spec_make(&o->c, c, unordered) &&
              put_sizes(o, c, literals, sizes) && make_slots(o) && make_hash(o);
    if (ok) {
        o->runs_code = runs_code(&o->c.tree);
        find_parts(o);
    }
    PyObject_GC_Track(o);
    if (!ok)
        Py_CLEAR(o);
    return o;
}

/* ---------------------------------------------------------------- the class */

static int input_spec_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    return tree_references(&((InputSpec *) self)->c.tree, visit, arg);
}

static int input_spec_clear(PyObject *self)
{
    InputSpec *o = (InputSpec *) self;
    flattened_free(&o->c);
    o->word_count = o->extent_count = o->extra = 0;
    return 0;
}

static void input_spec_dealloc(PyObject *self)
{
    InputSpec *o = (InputSpec *) self;
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    input_spec_clear(self);
    PyMem_Free(o->described);
    PyMem_Free(o->words);
    PyMem_Free(o->extents);
    PyMem_Free(o->slots);
    PyObject_GC_Del(self);
    Py_DECREF(cls);
}

static Py_hash_t input_spec_hash(PyObject *self)
{
    return ((InputSpec *) self)->hash;
}

static bool equal_bytes(const void *a, const void *b, size_t count, size_t size)
{
    return !count || memcmp(a, b, count * size) == 0;
}

/* 1, 0, -1: exception. */
static int nodes_equal(const Tree *a, const Tree *b)
{
    int equal = 1;
    for (size_t i = 0; equal > 0 && i < a->node_count; i++) {
        const TreeNode *x = &a->nodes[i], *y = &b->nodes[i];
        equal = x->kind == y->kind && x->count == y->count && x->object == y->object &&
                x->above == y->above;
        if (equal && x->keys)
            equal = exact_equal(x->keys, y->keys);
    }
    return equal;
}

static int leaves_equal(const FlattenedInputs *a, const FlattenedInputs *b)
{
    int equal = 1;
    for (size_t i = 0; equal > 0 && i < a->tree.leaf_count; i++) {
        PyObject *x = a->tree.leaves[i], *y = b->tree.leaves[i];
        const TypeInfo *info = a->places[i].info;
        if (info != b->places[i].info)
            return 0;
        equal = !info ? exact_equal(x, y)
                      : Py_TYPE(x) == Py_TYPE(y) &&
                            a->places[i].count == b->places[i].count &&
                            (info->kind != KIND_TENSOR ||
                             array_tensor(array_of(x))->ndim ==
                                 array_tensor(array_of(y))->ndim);
    }
    return equal;
}

static int outlines_equal(const InputSpec *a, const InputSpec *b)
{
    const FlattenedInputs *x = &a->c, *y = &b->c;
    if (a->hash != b->hash || a->suspended != b->suspended ||
        a->word_count != b->word_count || x->number_count != y->number_count ||
        x->repeated_count != y->repeated_count ||
        x->tree.node_count != y->tree.node_count ||
        x->tree.leaf_count != y->tree.leaf_count ||
        !equal_bytes(a->words, b->words, a->word_count, sizeof(*a->words)) ||
        !equal_bytes(x->numbers, y->numbers, x->number_count, sizeof(*x->numbers)) ||
        !equal_bytes(x->repeated, y->repeated, x->repeated_count,
                     sizeof(*x->repeated)))
        return 0;
    const int equal = nodes_equal(&x->tree, &y->tree);
    return equal > 0 ? leaves_equal(x, y) : equal;
}

static PyObject *input_spec_compare(PyObject *self, PyObject *other, int op)
{
    if (Py_TYPE(self) != Py_TYPE(other) || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    const int equal = outlines_equal((InputSpec *) self, (InputSpec *) other);
    return equal < 0 ? NULL : PyBool_FromLong((op == Py_EQ) == (equal != 0));
}

PyTypeObject *input_spec_class(State *state)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_traverse, input_spec_traverse),
        SLOT(Py_tp_clear, input_spec_clear),
        SLOT(Py_tp_dealloc, input_spec_dealloc),
        SLOT(Py_tp_hash, input_spec_hash),
        SLOT(Py_tp_richcompare, input_spec_compare),
        { 0, NULL },
    };
    return type_make(state->module, "drjit._core._Outline", sizeof(InputSpec),
                     Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
}

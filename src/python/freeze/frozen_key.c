/*
 * frozen_key.c -- see frozen_key.h
 */
#include "python/freeze/frozen_key.h"

#include "python/freeze/exact.h"
#include "python/object/error.h"
#include "python/object/tables.h"

typedef struct Key {
    PyObject_HEAD PyObject *objects; /* a list: values, or weak references */
    uint64_t *words;
    size_t count, capacity;
    Py_hash_t hash;
    bool unordered; /* sets have no order */
} Key;

/* ---------------------------------------------------------------- the class */

static int key_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((Key *) self)->objects);
    return 0;
}

static int key_clear(PyObject *self)
{
    Py_CLEAR(((Key *) self)->objects);
    return 0;
}

static void key_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    key_clear(self);
    PyMem_Free(((Key *) self)->words);
    PyObject_GC_Del(self);
    Py_DECREF(cls);
}

static Py_hash_t key_hash(PyObject *self)
{
    return ((Key *) self)->hash;
}

/* 1, 0, -1: exception. */
static int objects_equal(PyObject *a, PyObject *b)
{
    return a && b ? exact_equal(a, b) : a == b;
}

static PyObject *key_compare(PyObject *self, PyObject *other, int op)
{
    if (Py_TYPE(self) != Py_TYPE(other) || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    const Key *a = (Key *) self, *b = (Key *) other;
    int equal = a->count == b->count &&
                memcmp(a->words, b->words, a->count * sizeof(*a->words)) == 0;
    if (equal)
        equal = objects_equal(a->objects, b->objects);
    return equal < 0 ? NULL : PyBool_FromLong((op == Py_EQ) == (equal != 0));
}

PyTypeObject *frozen_key_class(State *state)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_traverse, key_traverse),   SLOT(Py_tp_clear, key_clear),
        SLOT(Py_tp_dealloc, key_dealloc),     SLOT(Py_tp_hash, key_hash),
        SLOT(Py_tp_richcompare, key_compare), { 0, NULL },
    };
    PyType_Spec spec = { .name = "drjit._core._FrozenKey",
                         .basicsize = sizeof(Key),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                  Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         .slots = slots };
    return (PyTypeObject *) PyType_FromModuleAndSpec(state->module, &spec, NULL);
}

/* ---------------------------------------------------------------- its content */

static bool put(Key *key, uint64_t word)
{
    if (key->count == key->capacity) {
        const size_t wanted = key->capacity ? 2 * key->capacity : 32;
        uint64_t *grown = PyMem_Realloc(key->words, wanted * sizeof(*grown));
        if (!grown) {
            PyErr_NoMemory();
            return false;
        }
        key->words = grown;
        key->capacity = wanted;
    }
    key->words[key->count++] = word;
    return true;
}

static bool put_address(Key *key, const void *address)
{
    return put(key, (uintptr_t) address);
}

/* An object that is compared by ==; its reference is stolen. */
static bool add_object(Key *key, PyObject *object)
{
    if (object && !key->objects)
        key->objects = PyList_New(0);
    const bool ok = object && key->objects && PyList_Append(key->objects, object) == 0;
    Py_XDECREF(object);
    return ok;
}

static bool put_double(Key *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return put(key, bits);
}

/* Numbers are their bits: 0.0 and -0.0 are equal, and not the same. 0: it is none of
 * these types, 1: it was put, -1: exception. */
static int put_number(Key *key, PyObject *object)
{
    if (PyFloat_CheckExact(object))
        return put_double(key, PyFloat_AS_DOUBLE(object)) ? 1 : -1;
    if (PyComplex_CheckExact(object))
        return put_double(key, PyComplex_RealAsDouble(object)) &&
                       put_double(key, PyComplex_ImagAsDouble(object))
                   ? 1
                   : -1;
    return 0;
}

/* A value with a hash; its reference is stolen. */
static bool put_value(Key *key, PyObject *value)
{
    const Py_hash_t hash = value ? PyObject_Hash(value) : -1;
    if (hash != -1 && put(key, (uint64_t) hash))
        return add_object(key, value);
    Py_XDECREF(value);
    return false;
}

/* Its hash; -1: it has none to compare, or an exception is set. */
static Py_hash_t hash_of(PyObject *object)
{
    const Py_hash_t hash = exact_is_identity(object) ? -1 : PyObject_Hash(object);
    if (hash == -1 && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Clear(); /* a tuple of things without hashes, and the like */
    return hash;
}

bool frozen_key_by_identity(PyObject *object)
{
    return hash_of(object) == -1 && !PyErr_Occurred();
}

static bool put_object(Key *key, PyObject *object)
{
    if (!put_address(key, Py_TYPE(object)))
        return false;
    const int number = put_number(key, object);
    if (number)
        return number > 0;
    PyObject *content = key->unordered && PyAnySet_Check(object)
                            ? PyFrozenSet_New(object)
                            : exact_content(object);
    if (content || PyErr_Occurred())
        return put_value(key, content);
    const Py_hash_t hash = hash_of(object);
    if (hash != -1)
        return put(key, (uint64_t) hash) && add_object(key, Py_NewRef(object));
    if (PyErr_Occurred() || !put_address(key, object))
        return false;
    if (object == Py_None || object == Py_Ellipsis) /* which are never anything else */
        return true;
    PyObject *reference = PyWeakref_NewRef(object, NULL);
    if (!reference && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        reference = PyTuple_Pack(1, object); /* kept alive, as is its address */
    }
    return add_object(key, reference);
}

/* Entries of drjit.scalar are values. */
static bool put_entries(Key *key, const Array *a)
{
    const size_t bytes = array_count(a) * a->info->leaf_size;
    return put_address(key, Py_TYPE(a)) &&
           put_value(key, PyBytes_FromStringAndSize(array_data(a), (Py_ssize_t) bytes));
}

/* Extents of tensors are sizes that are inputs, too, behind the variables. A tensor
 * without entries may have some that no variable can have. */
static bool put_shape(Key *key, const Array *tensor, size_t variables,
                      SizeClasses *sizes)
{
    const Tensor *t = (const Tensor *) tensor;
    bool ok = put(key, t->ndim);
    for (size_t i = 0; ok && i < t->ndim; i++) {
        const size_t extent = t->extents[i], input = variables + sizes->extra;
        const bool number = extent < FIRST_CLASS || extent > UINT32_MAX;
        const size_t before = sizes->count;
        const uint64_t class =
            number ? extent : size_classes_get(sizes, (uint32_t) extent, input);
        sizes->extra += sizes->count - before;
        ok = class != UINT64_MAX && put(key, class << 1 | number);
    }
    return ok;
}

static bool put_leaf(Key *key, const Collection *c, size_t leaf, SizeClasses *sizes)
{
    PyObject *object = c->tree.leaves[leaf];
    const CollectedLeaf *place = &c->places[leaf];
    const Array *array = array_check(c->state, object) ? array_of(object) : NULL;
    if (!place->info)
        return (array && array->info->kind != KIND_TENSOR ? put_entries(key, array)
                                                          : put_object(key, object));
    bool ok = put(key, (uint64_t) place->info->id << 32 | (uint32_t) place->count);
    if (Py_TYPE(object) != place->info->py)
        ok = ok && put_address(key, Py_TYPE(object));
    if (place->info->kind == KIND_TENSOR)
        ok = ok && put_shape(key, (Array *) object, c->id_count, sizes);
    for (size_t i = 0; ok && i < place->count; i++)
        ok = put(key, c->numbers[place->first + i]);
    return ok;
}

static bool put_tree(Key *key, const Collection *c, SizeClasses *sizes)
{
    size_t leaf = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < c->tree.node_count; i++) {
        const TreeNode *node = &c->tree.nodes[i];
        if (node->above) {
            ok = put(key, UINT64_MAX) && put(key, node->above);
            leaf++;
            continue;
        }
        if (node->kind == NODE_LEAF) {
            ok = put_leaf(key, c, leaf++, sizes);
            continue;
        }
        ok = put(key, (uint64_t) node->kind << 56 | (uint64_t) node->count);
        if (node->plan)
            ok = ok && put_address(key, Py_TYPE(node->object));
        if (node->keys)
            ok = ok && add_object(key, Py_NewRef(node->keys));
    }
    return ok;
}

static bool put_variables(Key *key, const Collection *c, const JitFreezeInput *inputs,
                          bool literals, SizeClasses *sizes)
{
    bool ok = true;
    for (size_t i = 0; ok && i < c->id_count; i++) {
        const JitFreezeInput *in = &inputs[i];
        const uint64_t size =
            in->literal && !literals ? 0 : size_classes_get(sizes, in->size, i);
        ok = size != UINT64_MAX && put(key, size << 16 | (uint64_t) in->type << 8 |
                                                in->literal << 1 | in->padded);
        if (in->literal && literals)
            ok = ok && put(key, in->bits);
    }
    return ok;
}

static Py_hash_t hash_words(const Key *key)
{
    uint64_t hash = key->count;
    for (size_t i = 0; i < key->count; i++) {
        hash = (hash ^ key->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash == (uint64_t) -1 ? 0 : (Py_hash_t) hash;
}

PyObject *frozen_key_make(PyTypeObject *cls, const Collection *c,
                          const JitFreezeInput *inputs, bool literals, bool suspended,
                          bool unordered, SizeClasses *sizes)
{
    Key *key = PyObject_GC_New(Key, cls);
    if (!key)
        return NULL;
    key->objects = NULL;
    key->words = NULL;
    key->count = key->capacity = 0;
    key->unordered = unordered;
    bool ok = put(key, literals | suspended << 1) &&
                    put_variables(key, c, inputs, literals, sizes) &&
                    put_tree(key, c, sizes);
    for (size_t i = 0; ok && i < c->repeated_count; i++)
        ok = put(key, c->repeated[i]);
    key->hash = hash_words(key);
    PyObject_GC_Track(key);
    if (ok)
        return (PyObject *) key;
    Py_DECREF(key);
    return NULL;
}

/*
 * copies.c -- copies and pickles of arrays
 *
 * The state of a pickled array is a tuple (shape of a tensor or None, the entries of
 * each variable (drjit.scalar: of all), instance dictionary of a subclass or None),
 * applied to an empty array by __setstate__, which trusts nothing. Entries are bytes;
 * a pickle.PickleBuffer of the memory itself (protocol 5, PEP 574); or, of a literal,
 * (bytes of one entry, how many).
 */
#include "python/array/reads.h"
#include "python/index/index.h"
#include "python/shape/shape.h"

#include "python/array/evaluate.h"
#include "python/base/deferred.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/value.h"

/* Fewer bytes are written into the pickle itself. */
enum { SMALL = 1024, BUFFER_PROTOCOL = 5 };

/* ---------------------------------------------------------------- copies */

/* The instance dictionary of a subclass: new reference, None if there is none. */
static PyObject *dictionary_of(PyObject *self)
{
    PyObject *dictionary = PyObject_GetAttrString(self, "__dict__");
    if (!dictionary && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return Py_NewRef(Py_None);
    }
    return dictionary;
}

/* Add the entries of a dictionary to that of a subclass's instance. */
static bool update_dictionary(PyObject *self, PyObject *source)
{
    if (source == Py_None)
        return true;
    PyObject *own = dictionary_of(self);
    const bool ok = own && own != Py_None && PyDict_Check(own) && PyDict_Check(source)
                        ? PyDict_Update(own, source) == 0
                        : false;
    if (!ok && !PyErr_Occurred())
        PyErr_Format(
            PyExc_TypeError,
            "%s.__setstate__(): an object of this class has no attributes of its own",
            Py_TYPE(self)->tp_name);
    Py_XDECREF(own);
    return ok;
}

/* An array of the same class and leaves; attributes are shared as copy.copy() does. */
static PyObject *copy(PyObject *self, PyObject *unused)
{
    (void) unused;
    Array *a = (Array *) self;
    if (Py_TYPE(self) == a->info->py)
        return (PyObject *) array_duplicate(a);
    PyObject *result = (PyObject *) array_new_subclass(Py_TYPE(self), a->info, a);
    if (!result)
        return NULL;
    reads_note_copy(a, 0, array_count(a));
    for (size_t i = 0; i < array_count((Array *) result); i++)
        value_store((Array *) result, i, value_of(a, i));
    PyObject *attributes = dictionary_of(self);
    if (!attributes || !update_dictionary(result, attributes))
        Py_CLEAR(result);
    Py_XDECREF(attributes);
    return result;
}

/* Replace the attributes of a copy by deep copies. They may refer to the array itself,
 * so the memo learns of its copy first. */
static bool copy_attributes(PyObject *self, PyObject *result, PyObject *attributes,
                            PyObject *memo)
{
    PyObject *id = PyLong_FromVoidPtr(self);
    PyObject *module = id ? PyImport_ImportModule("copy") : NULL;
    PyObject *copied = NULL;
    if (module && PyObject_SetItem(memo, id, result) == 0)
        copied = PyObject_CallMethod(module, "deepcopy", "OO", attributes, memo);
    const bool ok = copied && update_dictionary(result, copied);
    Py_XDECREF(id);
    Py_XDECREF(module);
    Py_XDECREF(copied);
    return ok;
}

/* The same with copies of the attributes. */
static PyObject *deep_copy(PyObject *self, PyObject *memo)
{
    PyObject *result = copy(self, NULL);
    PyObject *own = result ? dictionary_of(result) : NULL;
    if (!own || (PyDict_Check(own) && PyDict_GET_SIZE(own) &&
                 !copy_attributes(self, result, own, memo)))
        Py_CLEAR(result);
    Py_XDECREF(own);
    return result;
}

/* ---------------------------------------------------------------- memory */

/* The memory of a variable, for as long as somebody looks at it. */
typedef struct Entries {
    PyObject_HEAD
    VarIndex variable;
    void *data;
    Py_ssize_t bytes;
} Entries;

static int entries_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    const Entries *e = (const Entries *) self;
    return PyBuffer_FillInfo(view, self, e->data, e->bytes, 1, flags);
}

static void entries_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    var_unref(((Entries *) self)->variable);
    PyObject_Free(self);
    Py_DECREF(type);
}

bool copies_bind(State *state)
{
    PyType_Slot slots[] = {
        SLOT(Py_tp_dealloc, entries_dealloc),
        SLOT(Py_bf_getbuffer, entries_get_buffer),
        { 0, NULL },
    };
    state->entries =
        type_make(state->module, "drjit._core._Entries", sizeof(Entries),
                  Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->entries;
}

/* Takes the reference to the variable. */
static PyObject *entries_new(State *state, VarIndex variable, void *data, size_t bytes)
{
    Entries *e = PyObject_New(Entries, state->entries);
    if (!e) {
        var_unref(variable);
        return NULL;
    }
    e->variable = variable;
    e->data = data;
    e->bytes = (Py_ssize_t) bytes;
    PyObject *buffer = PyPickleBuffer_FromObject((PyObject *) e);
    Py_DECREF(e);
    return buffer;
}

/* ---------------------------------------------------------------- pickles */

static PyObject *fail_reduce(Array *a)
{
    return error_from_core(".__reduce__", &(PyObject *){ (PyObject *) a }, 1);
}

/* One entry, and how many there are. */
static PyObject *literal_of(Array *a, VarIndex leaf)
{
    uint64_t bits = 0;
    if (!evaluate_read(leaf, 0, &bits))
        return fail_reduce(a);
    return Py_BuildValue("(y#n)", (const char *) &bits,
                         (Py_ssize_t) a->info->entry_size,
                         (Py_ssize_t) var_size(leaf));
}

/* The entries of variable i, or of a whole array of drjit.scalar. */
static PyObject *entries_of(Array *a, size_t i, bool shared)
{
    const size_t entry = a->info->entry_size;
    if (!a->info->jit)
        return PyBytes_FromStringAndSize(array_data(a),
                                         (Py_ssize_t) (array_count(a) * entry));
    const VarIndex leaf = array_leaves(a)[i];
    VarIndex evaluated;
    void *data;
    reads_note_whole(a);
    if (leaf && var_state(leaf) == VarStateLiteral)
        return literal_of(a, leaf);
    if (!evaluate_data(a->info, leaf, &evaluated, &data))
        return fail_reduce(a);
    const size_t bytes = evaluated ? var_size(evaluated) * entry : 0;
    if (shared && bytes >= SMALL)
        return entries_new(a->info->state, evaluated, data, bytes);
    PyObject *copied = PyBytes_FromStringAndSize(data, (Py_ssize_t) bytes);
    var_unref(evaluated);
    return copied;
}

/* The entries of all variables as a tuple. */
static PyObject *parts_of(Array *a, bool shared)
{
    const size_t n = a->info->jit ? array_count(a) : 1;
    PyObject *parts = PyTuple_New((Py_ssize_t) n);
    for (size_t i = 0; i < n && parts; i++) {
        PyObject *entries = entries_of(a, i, shared);
        if (entries)
            PyTuple_SET_ITEM(parts, (Py_ssize_t) i, entries);
        else
            Py_CLEAR(parts);
    }
    return parts;
}

static PyObject *reduced(PyObject *self, bool shared)
{
    Array *a = (Array *) self;
    const bool tensor = a->info->kind == KIND_TENSOR;
    PyObject *parts = parts_of(a, shared);
    PyObject *shape = !parts   ? NULL
                      : tensor ? shape_of_array(a, "shape")
                               : Py_NewRef(Py_None);
    PyObject *attributes = shape ? dictionary_of(self) : NULL;
    PyObject *module = attributes ? PyImport_ImportModule("copyreg") : NULL;
    PyObject *make = module ? PyObject_GetAttrString(module, "__newobj__") : NULL;
    PyObject *result = NULL;
    if (make)
        result =
            Py_BuildValue("(O(O)(OOO))", make, Py_TYPE(self), shape, parts, attributes);
    Py_XDECREF(parts);
    Py_XDECREF(shape);
    Py_XDECREF(attributes);
    Py_XDECREF(module);
    Py_XDECREF(make);
    return result;
}

static PyObject *reduce(PyObject *self, PyObject *unused)
{
    (void) unused;
    return reduced(self, false);
}

/* Does a class of the program's have a __reduce__ of its own? -1: exception. */
static int has_own_reduce(PyObject *self)
{
    PyTypeObject *base = ((Array *) self)->info->state->array_base;
    PyObject *own = PyObject_GetAttrString((PyObject *) Py_TYPE(self), "__reduce__");
    PyObject *usual = own ? PyObject_GetAttrString((PyObject *) base, "__reduce__")
                          : NULL;
    const int differs = usual ? own != usual : -1;
    Py_XDECREF(own);
    Py_XDECREF(usual);
    return differs;
}

static PyObject *reduce_ex(PyObject *self, PyObject *protocol)
{
    const long number = PyLong_AsLong(protocol);
    const int own = number == -1 && PyErr_Occurred() ? -1 : has_own_reduce(self);
    if (own < 0)
        return NULL;
    return own ? PyObject_CallMethod(self, "__reduce__", NULL)
               : reduced(self, number >= BUFFER_PROTOCOL);
}

/* ---------------------------------------------------------------- what arrives */

/* The entries of a variable in a state. */
typedef struct Part {
    Deferred work; /* which gives memory back that an array has shared */
    Py_buffer memory;
    size_t count; /* of entries */
    bool literal; /* one entry in memory, 'count' times */
} Part;

static PyObject *fail_state(PyObject *self)
{
    return PyErr_Format(
        PyExc_ValueError,
        "%s.__setstate__(): the state is another object, expected that of such an "
        "array",
        Py_TYPE(self)->tp_name);
}

/* Are all of them valid entries? Masks hold 0 and 1 only. */
static bool check_entries(const Array *a, const Py_buffer *memory)
{
    const unsigned char *data = memory->buf;
    for (Py_ssize_t i = 0; type_is_mask(a->info) && i < memory->len; i++)
        if (data[i] > 1)
            return false;
    return true;
}

static void part_close(Part *part)
{
    if (part->memory.obj)
        PyBuffer_Release(&part->memory);
    PyMem_Free(part);
}

static void part_end(Deferred *work) { part_close((Part *) work); }

static void part_release(void *entries, void *payload)
{
    (void) entries;
    deferred_add(&((Part *) payload)->work);
}

/* How often the entry of a literal occurs; false: it is no such number. */
static bool literal_count(PyObject *pair, size_t *count)
{
    PyObject *number = PyTuple_GET_ITEM(pair, 1);
    *count = PyLong_Check(number) ? PyLong_AsSize_t(number) : 0;
    PyErr_Clear();
    return *count > 0 && *count < UINT32_MAX;
}

/* Open the entries of a variable. NULL: exception. */
static Part *part_open(PyObject *self, PyObject *object)
{
    const Array *a = (const Array *) self;
    const size_t entry = a->info->entry_size;
    Part *part = PyMem_Calloc(1, sizeof(*part));
    if (!part)
        return (Part *) PyErr_NoMemory();
    part->work.run = part_end;
    bool ok = true;
    if (PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 && a->info->jit) {
        part->literal = true;
        ok = literal_count(object, &part->count);
        object = PyTuple_GET_ITEM(object, 0);
    }
    ok = ok && PyObject_CheckBuffer(object) &&
         PyObject_GetBuffer(object, &part->memory, PyBUF_SIMPLE) == 0;
    if (!part->literal)
        part->count = (size_t) part->memory.len / entry;
    if (ok && (size_t) part->memory.len == (part->literal ? 1 : part->count) * entry &&
        check_entries(a, &part->memory))
        return part;
    PyErr_Clear();
    part_close(part);
    return (Part *) fail_state(self);
}

/* Memory that is not copied: there is enough of it, where entries may be. */
static bool is_shareable(const Part *part, size_t entry)
{
    return !part->literal && part->memory.len >= SMALL &&
           (uintptr_t) part->memory.buf % entry == 0;
}

/* A variable with these entries, which takes the part. False: exception. */
static bool restore_variable(Array *a, size_t i, Part *part)
{
    const TypeInfo *info = a->info;
    void *data = part->memory.buf;
    const size_t count = part->count;
    const bool share = is_shareable(part, info->entry_size);
    VarIndex index = 0;
    if (part->literal) {
        uint64_t aligned = 0;
        memcpy(&aligned, data, info->entry_size);
        index = var_literal(info, &aligned, count);
    } else if (share) {
        index = var_share(info, data, count, part_release, part);
    } else if (count) {
        index = var_copy(info, data, count);
    }
    if (!index || !share)
        part_close(part);
    if (count && !index)
        return error_from_core(".__setstate__", &(PyObject *){ (PyObject *) a }, 1);
    array_set_leaf(a, i, index);
    return true;
}

/* The extents in a tuple of exact integers; -1 if it is not one. */
static Py_ssize_t parse_extents(PyObject *tuple, size_t *shape)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) > TENSOR_MAX_DIMS)
        return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *extent = PyTuple_GET_ITEM(tuple, i);
        shape[i] = PyLong_Check(extent) ? PyLong_AsSize_t(extent) : SIZE_MAX;
        if (shape[i] == SIZE_MAX) {
            PyErr_Clear();
            return -1;
        }
    }
    return PyTuple_GET_SIZE(tuple);
}

/* An empty array with the outline that a state describes: 'n' variables (drjit.scalar:
 * entries) with 'size' entries in all. NULL: exception. */
static Array *outline(PyObject *self, PyObject *shape_tuple, size_t n, size_t size)
{
    const TypeInfo *info = ((Array *) self)->info;
    size_t shape[TENSOR_MAX_DIMS];
    if (info->kind == KIND_TENSOR) {
        size_t expected;
        const Py_ssize_t ndim = parse_extents(shape_tuple, shape);
        if (ndim < 0 || !array_shape_size((size_t) ndim, shape, &expected) ||
            expected != size || (info->jit && n != 1)) {
            PyErr_Clear();
            return (Array *) fail_state(self);
        }
        return array_new_tensor(info, (size_t) ndim, shape);
    }
    if (info->dynamic)
        return array_new_dynamic(info, n);
    return n == info->leaves ? array_new(info) : (Array *) fail_state(self);
}

/* An array of what a state has; takes the parts. NULL: exception. */
static Array *restore(PyObject *self, PyObject *shape, Part **parts, size_t count)
{
    const TypeInfo *info = ((Array *) self)->info;
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i]->count;
    Array *made = !info->jit && count != 1
                      ? (Array *) fail_state(self)
                      : outline(self, shape, info->jit ? count : size, size);
    bool ok = made;
    if (ok && !info->jit && size)
        memcpy(array_data(made), parts[0]->memory.buf, size * info->entry_size);
    for (size_t i = 0; i < count; i++) {
        if (ok && info->jit)
            ok = restore_variable(made, i, parts[i]);
        else
            part_close(parts[i]);
    }
    if (!ok)
        Py_CLEAR(made);
    return made;
}

static PyObject *set_state(PyObject *self, PyObject *state)
{
    if (!PyTuple_Check(state) || PyTuple_GET_SIZE(state) != 3 ||
        !PyTuple_Check(PyTuple_GET_ITEM(state, 1)))
        return fail_state(self);
    PyObject *entries = PyTuple_GET_ITEM(state, 1);
    const size_t count = (size_t) PyTuple_GET_SIZE(entries);
    Part **parts = PyMem_Calloc(count + 1, sizeof(*parts));
    if (!parts)
        return PyErr_NoMemory();
    size_t opened = 0;
    while (opened < count && (parts[opened] = part_open(
                                  self, PyTuple_GET_ITEM(entries, opened))))
        opened++;
    Array *made = NULL;
    if (opened == count)
        made = restore(self, PyTuple_GET_ITEM(state, 0), parts, count);
    else
        while (opened > 0)
            part_close(parts[--opened]);
    PyMem_Free(parts);
    const bool ok = made && array_replace((Array *) self, made) &&
                    update_dictionary(self, PyTuple_GET_ITEM(state, 2));
    Py_XDECREF((PyObject *) made);
    return ok ? Py_NewRef(Py_None) : NULL;
}

PyMethodDef copy_methods[] = {
    { "__copy__", copy, METH_NOARGS,
      "__copy__($self, /)\n--\n\nAn array with the same entries (copy on write)." },
    { "__deepcopy__", deep_copy, METH_O,
      "__deepcopy__($self, memo, /)\n--\n\nAn array with the same entries (copy on "
      "write)." },
    { "__reduce__", reduce, METH_NOARGS,
      "__reduce__($self, /)\n--\n\nHelper for pickle. Evaluates the array." },
    { "__reduce_ex__", reduce_ex, METH_O,
      "__reduce_ex__($self, protocol, /)\n--\n\nHelper for pickle. Evaluates the "
      "array; with protocol 5, the memory is a buffer that need not be copied." },
    { "__setstate__", set_state, METH_O,
      "__setstate__($self, state, /)\n--\n\nHelper for pickle." },
    { NULL, NULL, 0, NULL },
};

/*
 * local.c -- local arrays: a few entries that each lane has for itself
 *
 * An entry can be any just-in-time compiled array type of a fixed shape; each of its
 * leaves is a local array of the core. Those are values, of which a write makes a new
 * version; the object refers to the current ones.
 */
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/docstrings.h"
#include "python/flow/local.h"
#include "python/memory/access.h"

bool local_check(const State *state, PyObject *object)
{
    return Py_TYPE(object) == state->local;
}

PyObject *local_new(State *state, const TypeInfo *info, size_t count,
                    const VarIndex *ids)
{
    Local *local = (Local *) state->local->tp_alloc(state->local, 0);
    if (!local)
        return NULL;
    local->info = info;
    state->references++;
    local->ids = PyMem_Calloc(count + 1, sizeof(VarIndex));
    if (!local->ids) {
        Py_DECREF(local);
        return PyErr_NoMemory();
    }
    for (; local->count < count; local->count++)
        local->ids[local->count] = var_ref(ids[local->count]);
    return (PyObject *) local;
}

static State *state_of(const Local *local)
{
    return local->info->state;
}

static void release_ids(VarIndex *ids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        var_unref(ids[i]);
    PyMem_Free(ids);
}

static void local_dealloc(PyObject *self)
{
    PyTypeObject *cls = Py_TYPE(self);
    State *state = state_of((Local *) self);
    release_ids(((Local *) self)->ids, ((Local *) self)->count);
    cls->tp_free(self);
    state_unref(state);
    Py_DECREF(cls);
}

/* ---------------------------------------------------------------- making */

static const TypeInfo *entry_type(State *state, const char *operation, PyObject *cls)
{
    const TypeInfo *info =
        PyType_Check(cls) ? type_of_class(state, (PyTypeObject *) cls) : NULL;
    if (info && info->jit && info->kind != KIND_TENSOR)
        return info;
    error_raise(PyExc_TypeError, operation, NULL, 0,
                "'dtype' is %R, expected a just-in-time compiled array type that is "
                "not a tensor",
                cls);
    return NULL;
}

/* How many leaves an entry has, 0: exception. The value says it of dynamic types. */
static size_t leaf_count(const char *operation, const TypeInfo *info,
                         const Array *value)
{
    const size_t count = !info->dynamic ? info->leaves : value ? array_count(value) : 0;
    if (!count)
        error_raise(PyExc_TypeError, operation, NULL, 0,
                    "'dtype' is %R, whose number of components each array has for "
                    "itself: expected a 'value' with one component at least",
                    (PyObject *) type_class(info));
    return count;
}

/* One local array, all entries of which are 'value' (0: zeros). */
static VarIndex make_array(const TypeInfo *info, size_t length, VarIndex value)
{
    uint32_t zeros = jit_array_create(info->backend, info->entry, length, 1);
    if (!zeros || !value)
        return var_of(zeros);
    const VarIndex filled = ad_array_init(zeros, value);
    jit_var_dec_ref(zeros);
    return filled;
}

/* Entries of 'count' leaves. */
static PyObject *make_local(State *state, const char *operation, const TypeInfo *info,
                            size_t count, size_t length, const Array *value)
{
    VarIndex *ids = PyMem_Calloc(count, sizeof(VarIndex));
    if (!ids)
        return PyErr_NoMemory();
    size_t made = 0;
    for (; made < count; made++) {
        const VarIndex start = value ? array_leaves(value)[made] : 0;
        ids[made] = make_array(info, length, start);
        if (!ids[made])
            break;
    }
    PyObject *local = made == count ? local_new(state, info, made, ids)
                                    : error_from_core(operation, NULL, 0);
    release_ids(ids, made);
    return local;
}

static PyObject *alloc_local(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *names)
{
    static const char *const parameters[] = { "dtype", "size", "value" };
    static const Signature signature = { "alloc_local", parameters, 3, 2, 0 };
    State *state = state_of_module(module);
    PyObject *v[3];
    size_t length;
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    const TypeInfo *info = entry_type(state, signature.function, v[0]);
    if (!info || !arguments_count(signature.function, "size", v[1], &length))
        return NULL;
    Array *value = NULL;
    if (v[2] && v[2] != Py_None) {
        value = convert_to(info, v[2], signature.function);
        if (!value)
            return NULL;
    }
    const size_t count = leaf_count(signature.function, info, value);
    PyObject *local =
        count ? make_local(state, signature.function, info, count, length, value)
              : NULL;
    Py_XDECREF(value);
    return local;
}

/* ---------------------------------------------------------------- access */

/* Index and mask as variables. They stay alive as long as 'access'. */
static bool use(Access *access, const Local *local, uint32_t *index, uint32_t *mask)
{
    Array *at, *active;
    if (!access_use(access, local->info, &at, &active))
        return false;
    *index = array_index(at);
    *mask = active ? array_index(active) : 0;
    if (!*index || (active && !*mask))
        return error_raise(PyExc_ValueError, access->operation, NULL, 0,
                           "the %s is empty, expected at least one entry",
                           *index ? "mask" : "index");
    return true;
}

static PyObject *read_entry(const Local *local, const char *operation, uint32_t index,
                            uint32_t mask)
{
    Array *entry = local->info->dynamic ? array_new_dynamic(local->info, local->count)
                                        : array_new(local->info);
    if (!entry)
        return NULL;
    for (size_t i = 0; i < local->count; i++) {
        const VarIndex id = ad_array_read(local->ids[i], index, mask);
        if (!id) {
            Py_DECREF(entry);
            return error_from_core(operation, NULL, 0);
        }
        array_set_leaf(entry, i, id);
    }
    return (PyObject *) entry;
}

static PyObject *load(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    static const char *const parameters[] = { "index", "active" };
    static const Signature signature = { "Local.read", parameters, 2, 1, 0 };
    const Local *local = (const Local *) self;
    PyObject *v[2];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Access access;
    access_start(&access, state_of(local), signature.function, v[0], v[1]);
    uint32_t index, mask;
    PyObject *entry = use(&access, local, &index, &mask)
                          ? read_entry(local, signature.function, index, mask)
                          : NULL;
    access_end(&access);
    return entry;
}

/* An entry for writing; NULL: exception. */
static Array *take_entry(const Local *local, const char *operation, PyObject *value)
{
    Array *entry = convert_to(local->info, value, operation);
    const size_t found = entry ? array_count(entry) : 0;
    if (!entry || !local->info->dynamic || found == 1 || found == local->count)
        return entry;
    Py_DECREF(entry);
    error_raise(PyExc_ValueError, operation, NULL, 0,
                "'value' has %zu components, expected 1 or %zu", found, local->count);
    return NULL;
}

/* All leaves are written, or none. One component of a dynamic type serves all. */
static bool write_entry(Local *local, const char *operation, uint32_t index,
                        uint32_t mask, const Array *value)
{
    VarIndex *ids = PyMem_Calloc(local->count, sizeof(VarIndex));
    if (!ids)
        return PyErr_NoMemory();
    const bool one = local->info->dynamic && array_count(value) == 1;
    size_t written = 0;
    for (; written < local->count; written++) {
        ids[written] = ad_array_write(local->ids[written], index,
                                      array_leaves(value)[one ? 0 : written], mask);
        if (!ids[written])
            break;
    }
    if (written < local->count) {
        release_ids(ids, written);
        return error_from_core(operation, NULL, 0);
    }
    release_ids(local->ids, local->count);
    local->ids = ids;
    return true;
}

static PyObject *store(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *names)
{
    static const char *const parameters[] = { "value", "index", "active" };
    static const Signature signature = { "Local.write", parameters, 3, 2, 0 };
    Local *local = (Local *) self;
    PyObject *v[3];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Array *value = take_entry(local, signature.function, v[0]);
    if (!value)
        return NULL;
    Access access;
    access_start(&access, state_of(local), signature.function, v[1], v[2]);
    uint32_t index, mask;
    bool ok = use(&access, local, &index, &mask) &&
              write_entry(local, signature.function, index, mask, value);
    access_end(&access);
    Py_DECREF(value);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* Versions are values: a copy has the same ones. */
static PyObject *copy(PyObject *self, PyObject *unused)
{
    (void) unused;
    const Local *local = (const Local *) self;
    return local_new(state_of(local), local->info, local->count, local->ids);
}

/* Become a copy of another one of the same type. */
static PyObject *assign(PyObject *self, PyObject *other)
{
    Local *local = (Local *) self;
    const Local *from = (const Local *) other;
    if (!local_check(state_of(local), other) || from->info != local->info)
        return error_raise(PyExc_TypeError, "Local.assign", NULL, 0,
                           "the argument is of type %s, expected a local array of the "
                           "same type",
                           Py_TYPE(other)->tp_name);
    for (size_t i = 0; i < local->count; i++) {
        const VarIndex former = local->ids[i];
        local->ids[i] = var_ref(from->ids[i]);
        var_unref(former);
    }
    Py_RETURN_NONE;
}

static Py_ssize_t length_of(PyObject *self)
{
    return (Py_ssize_t) jit_array_length(var_jit(((Local *) self)->ids[0]));
}

/* Another one like it, of zeros. */
static PyObject *zeros(PyObject *self, PyObject *unused)
{
    (void) unused;
    const Local *local = (const Local *) self;
    return make_local(state_of(local), "Local.zeros", local->info, local->count,
                      (size_t) length_of(self), NULL);
}

/* ---------------------------------------------------------------- tables */

static PyMethodDef local_methods[] = {
    { "assign", assign, METH_O, DOC_Local_assign },
    { "copy", copy, METH_NOARGS, DOC_Local_copy },
    { "zeros", zeros, METH_NOARGS, DOC_Local_zeros },
    { "read", METHOD(load), METH_FASTCALL | METH_KEYWORDS, DOC_Local_read },
    { "write", METHOD(store), METH_FASTCALL | METH_KEYWORDS, DOC_Local_write },
    { NULL, NULL, 0, NULL },
};

bool local_bind(State *state)
{
    PyType_Slot slots[] = {
        { Py_tp_doc, (void *) DOC_Local },
        SLOT(Py_tp_dealloc, local_dealloc),
        { Py_tp_methods, local_methods },
        SLOT(Py_sq_length, length_of),
        { 0, NULL },
    };
    state->local = type_add(state->module, "drjit._core._Local", sizeof(Local),
                            Py_TPFLAGS_DISALLOW_INSTANTIATION, slots);
    return state->local;
}

PyMethodDef local_functions[] = {
    { "_alloc_local", METHOD(alloc_local), METH_FASTCALL | METH_KEYWORDS,
      "_alloc_local(dtype, size, value=None)\n\nsee drjit.alloc_local" },
    { NULL, NULL, 0, NULL },
};

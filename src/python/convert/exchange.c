/*
 * exchange.c -- arrays as memory that others can use
 *
 * The buffer protocol is the way to NumPy, in both directions: it needs no NumPy
 * headers, and `import drjit` does not import NumPy. A buffer is exported by the array
 * itself; the owner of its memory travels in Py_buffer.internal.
 */
#include "python/convert/exchange.h"
#include "python/array/reads.h"
#include "python/convert/convert.h"
#include "python/shape/shape.h"

#include "python/array/evaluate.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/docstrings.h"

/* ---------------------------------------------------------------- memory */

size_t memory_size(const Memory *m)
{
    size_t size = 1;
    for (int i = 0; i < m->ndim; i++)
        size *= (size_t) m->shape[i];
    return size;
}

bool memory_is_contiguous(const Memory *m)
{
    Py_ssize_t stride = (Py_ssize_t) memory_entry_size(m);
    if (memory_size(m) == 0)
        return true;
    for (int i = m->ndim - 1; i >= 0; i--) {
        if (m->shape[i] != 1 && m->strides[i] != stride)
            return false;
        stride *= m->shape[i];
    }
    return true;
}

static void set_row_major(Memory *m)
{
    Py_ssize_t stride = (Py_ssize_t) memory_entry_size(m);
    for (int i = m->ndim - 1; i >= 0; i--) {
        m->strides[i] = stride;
        stride *= m->shape[i];
    }
}

void owner_release(Owner *owner)
{
    if (owner->variable)
        var_gather_whole_back(owner->variable);
    if (owner->block)
        block_unref(owner->block);
    Py_CLEAR(owner->object);
    owner->variable = 0;
    owner->block = NULL;
}

/* ---------------------------------------------------------------- export */

static void set_shape_of_tensor(Array *a, Memory *m)
{
    const size_t *shape = extents_bind(a);
    m->ndim = (int) array_tensor(a)->ndim;
    for (int i = 0; i < m->ndim; i++)
        m->shape[i] = (Py_ssize_t) shape[i];
}

/* One variable. Evaluating a literal makes another variable, and so does lending one
 * that is read; the array takes it over, so that both see later changes of the memory.
 * But a body that is being recorded would have to see the array change. */
static bool export_variable(Array *a, int place, Memory *m, Owner *owner,
                            const char *operation)
{
    VarIndex var = array_var(a);
    size_t size = var ? var_size(var) : 0;
    const bool recorded =
        jit_flag(JitFlagSymbolicScope) || jit_flag(JitFlagFreezingScope);
    const bool moved = place != exchange_place(a);
    const bool literal = var && var_peek_state(var) == VarStateLiteral;
    reads_note_whole(a);
    if (!evaluate_lend(a->info, var, place == PLACE_HOST, &owner->variable,
                       &m->data)) {
        PyObject *self = (PyObject *) a;
        return error_from_core(operation, &self, 1);
    }
    m->place = place;
    if (!var_is_empty(var) && array_var(a) == var && owner->variable != var &&
        !moved && (literal || !recorded)) {
        var_ref(owner->variable);
        array_set_leaf(a, 0, owner->variable);
    }
    if (a->info->kind == KIND_TENSOR) {
        set_shape_of_tensor(a, m);
        if (memory_size(m) != size) {
            owner_release(owner);
            return error_raise(PyExc_RuntimeError, operation, (PyObject **) &a, 1,
                               "the tensor changed while it was evaluated");
        }
    } else {
        m->ndim = 1;
        m->shape[0] = (Py_ssize_t) size;
    }
    return true;
}

/* Copy a leaf of 'size' entries to every 'step'-th place of the target, repeated if it
 * has one entry only. */
static void copy_leaf(char *target, size_t step, const char *source, size_t size,
                      size_t lanes, size_t entry_size)
{
    if (step == 1 && size == lanes) {
        memcpy(target, source, lanes * entry_size);
        return;
    }
    size_t source_step = size > 1 ? entry_size : 0;
    for (size_t i = 0; i < lanes; i++)
        memcpy(target + i * step * entry_size, source + i * source_step, entry_size);
}

/* Evaluate all leaves with one kernel, then put them behind each other:
 * [variable][lane], or [lane][part] for complex numbers. */
static bool export_leaves(Array *a, Memory *m, Owner *owner, const char *operation)
{
    const TypeInfo *info = a->info;
    size_t count = array_count(a), lanes, bytes, step = m->complex ? count : 1;
    PyObject *self = (PyObject *) a;
    reads_note_whole(a);
    if (!shape_width(a, &lanes, operation))
        return false;
    if (__builtin_mul_overflow(lanes * info->entry_size, count, &bytes))
        return PyErr_NoMemory();
    char *target = block_new(bytes);
    if (!target)
        return false;
    owner->block = target;
    m->data = target;
    for (size_t i = 0; i < count; i++)
        if (array_leaves(a)[i])
            (void) var_schedule(array_leaves(a)[i]);
    for (size_t i = 0; i < count; i++) {
        VarIndex var = array_leaves(a)[i], evaluated;
        size_t size = var ? var_size(var) : 0;
        void *data;
        if (!evaluate_data(info, var, &evaluated, &data)) {
            owner_release(owner);
            return error_from_core(operation, &self, 1);
        }
        bool fits = size == lanes || size == 1;
        if (fits && lanes)
            copy_leaf(target + (m->complex ? i : i * lanes) * info->entry_size, step,
                      data, size, lanes, info->entry_size);
        var_unref(evaluated);
        if (!fits) {
            owner_release(owner);
            return error_raise(PyExc_RuntimeError, operation, &self, 1,
                               "the array changed while it was evaluated");
        }
    }
    int axes = m->complex ? 0 : info->ndim;
    for (int i = 0; i < axes; i++)
        m->shape[i] = i == 0 && info->dynamic ? (Py_ssize_t) count : info->dims[i];
    m->shape[axes] = (Py_ssize_t) lanes;
    m->ndim = axes + 1;
    return true;
}

/* drjit.scalar: the entries are in memory already. */
static bool export_entries(Array *a, Memory *m, Owner *owner)
{
    const TypeInfo *info = a->info;
    Array *root = a->root ? a->root : a;
    m->data = array_data(a);
    if (root->info->dynamic || root->info->kind == KIND_TENSOR) {
        owner->block = root->data;
        block_ref(root->data);
    } else {
        owner->object = Py_NewRef((PyObject *) root);
    }
    if (info->kind == KIND_TENSOR) {
        set_shape_of_tensor(a, m);
        return true;
    }
    m->ndim = m->complex ? 0 : info->ndim;
    for (int i = 0; i < m->ndim; i++)
        m->shape[i] =
            i == 0 && info->dynamic ? (Py_ssize_t) array_count(a) : info->dims[i];
    return true;
}

static bool is_variable(const Array *a)
{
    return a->info->jit && (a->info->kind == KIND_FLAT || a->info->kind == KIND_TENSOR);
}

int exchange_place(const Array *a)
{
    return is_variable(a) ? a->info->place : PLACE_HOST;
}

bool exchange_export(Array *a, int place, Memory *m, Owner *owner,
                     const char *operation)
{
    const TypeInfo *info = a->info;
    memset(owner, 0, sizeof(*owner));
    m->place = PLACE_HOST;
    m->type = info->entry;
    m->complex = info->kind == KIND_COMPLEX;
    m->read_only = false;
    bool ok = is_variable(a) ? export_variable(a, place, m, owner, operation)
              : info->jit    ? export_leaves(a, m, owner, operation)
                             : export_entries(a, m, owner);
    if (!ok)
        return false;
    set_row_major(m);
    return true;
}

/* ---------------------------------------------------------------- buffer protocol */

static const char *buffer_format(const Memory *m)
{
    static const char *const formats[VarTypeCount] = {
        [VarTypeBool] = "?",    [VarTypeInt8] = "b",    [VarTypeUInt8] = "B",
        [VarTypeInt16] = "h",   [VarTypeUInt16] = "H",  [VarTypeInt32] = "i",
        [VarTypeUInt32] = "I",  [VarTypeInt64] = "q",   [VarTypeUInt64] = "Q",
        [VarTypeFloat16] = "e", [VarTypeFloat32] = "f", [VarTypeFloat64] = "d",
    };
    if (m->complex)
        return m->type == VarTypeFloat64 ? "Zd" : "Zf";
    return formats[m->type];
}

typedef struct Export {
    Memory memory;
    Owner owner;
} Export;

static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    view->obj = NULL;
    if (!(flags & PyBUF_FORMAT)) {
        /* Such a consumer takes entries for bytes: int(x) and float(x) would parse them
         * as text. */
        PyErr_Format(PyExc_BufferError,
                     "%s: the entries are not bytes; use a memoryview",
                     Py_TYPE(self)->tp_name);
        return -1;
    }
    Export *e = PyMem_Malloc(sizeof(Export));
    if (!e) {
        PyErr_NoMemory();
        return -1;
    }
    if (!exchange_export((Array *) self, PLACE_HOST, &e->memory, &e->owner, ".numpy")) {
        PyMem_Free(e);
        return -1;
    }
    Memory *m = &e->memory;
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && m->ndim > 1) {
        PyErr_Format(
            PyExc_BufferError,
            "%s: the entries are in row-major order, not in column-major order",
            Py_TYPE(self)->tp_name);
        owner_release(&e->owner);
        PyMem_Free(e);
        return -1;
    }
    view->buf = m->data ? m->data : (void *) e; /* an address even for no entries */
    view->obj = Py_NewRef(self);
    view->itemsize = (Py_ssize_t) memory_entry_size(m);
    view->len = (Py_ssize_t) memory_size(m) * view->itemsize;
    view->readonly = 0;
    view->ndim = m->ndim;
    view->format = flags & PyBUF_FORMAT ? (char *) buffer_format(m) : NULL;
    view->shape = flags & PyBUF_ND ? m->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? m->strides : NULL;
    view->suboffsets = NULL;
    view->internal = e;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view)
{
    (void) self;
    Export *e = view->internal;
    owner_release(&e->owner);
    PyMem_Free(e);
}

/* ---------------------------------------------------------------- methods */

/* NumPy reads a memoryview entry by entry, into an array of its own, where it has no
 * memory to use it. Steals the result; NULL: exception. */
static PyObject *shared_only(PyObject *array)
{
    PyObject *base = array ? PyObject_GetAttrString(array, "base") : NULL;
    if (base ? base == Py_None : PyErr_ExceptionMatches(PyExc_NotImplementedError)) {
        PyErr_SetString(PyExc_MemoryError, "drjit.numpy(): out of memory: NumPy cannot "
                                           "share the entries of the array.");
        Py_CLEAR(array);
    } else if (!base) {
        Py_CLEAR(array);
    }
    Py_XDECREF(base);
    return array;
}

static PyObject *to_numpy(PyObject *self)
{
    PyObject *name = PyUnicode_InternFromString("numpy");
    PyObject *function = PyUnicode_InternFromString("asarray");
    PyObject *module = name && function ? PyImport_GetModule(name) : NULL;
    if (!module && name && function && !PyErr_Occurred())
        module = PyImport_Import(name);
    PyObject *view = module ? PyMemoryView_FromObject(self) : NULL;
    PyObject *array =
        view ? shared_only(PyObject_CallMethodOneArg(module, function, view)) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(function);
    Py_XDECREF(view);
    Py_XDECREF(module);
    return array;
}

/* What a function of drjit._later makes of the array. */
static PyObject *call_later(PyObject *self, const char *function)
{
    PyObject *module = PyImport_ImportModule("drjit._later");
    PyObject *made = module ? PyObject_CallMethod(module, function, "O", self) : NULL;
    Py_XDECREF(module);
    return made;
}

static bool wants_values(const char *name, PyObject *const *args, Py_ssize_t n,
                         PyObject *names, bool *now)
{
    static const char *const parameters[] = { "eval" };
    const Signature signature = { name, parameters, 1, 0, 0 };
    PyObject *eval;
    return arguments_parse(&signature, args, n, names, &eval) &&
           arguments_bool(name, "eval", eval, true, now);
}

static PyObject *numpy(PyObject *self, PyObject *const *args, Py_ssize_t n,
                       PyObject *names)
{
    bool now;
    if (!wants_values("ArrayBase.numpy", args, n, names, &now))
        return NULL;
    return now ? to_numpy(self) : call_later(self, "numpy");
}

/* __array__(dtype=None, copy=None), as NumPy calls it. */
static PyObject *array_interface(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                 PyObject *names)
{
    static const char *const parameters[] = {"dtype", "copy"};
    static const Signature signature = { "ArrayBase.__array__", parameters, 2, 0, 0 };
    PyObject *values[2];
    if (!arguments_parse(&signature, args, n, names, values))
        return NULL;
    PyObject *array = to_numpy(self);
    if (array && values[0] && values[0] != Py_None) {
        PyObject *cast = PyObject_CallMethod(array, "astype", "O", values[0]);
        Py_DECREF(array);
        array = cast;
    }
    if (array && values[1] == Py_True) {
        PyObject *copy = PyObject_CallMethod(array, "copy", NULL);
        Py_DECREF(array);
        array = copy;
    }
    return array;
}

static PyObject *memview(PyObject *self, PyObject *unused)
{
    (void) unused;
    return PyMemoryView_FromObject(self);
}

/* from_dlpack of a framework, given the module that has it. */
static PyObject *through_dlpack(PyObject *self, const char *module_name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *made =
        module ? PyObject_CallMethod(module, "from_dlpack", "O", self) : NULL;
    Py_XDECREF(module);
    return made;
}

static PyObject *torch(PyObject *self, PyObject *const *args, Py_ssize_t n,
                       PyObject *names)
{
    bool now;
    if (!wants_values("ArrayBase.torch", args, n, names, &now))
        return NULL;
    return now ? through_dlpack(self, "torch.utils.dlpack")
               : call_later(self, "torch");
}

/* (type of flat arrays, object) */
static PyObject *map_memory(PyObject *module, PyObject *args)
{
    PyObject *cls, *object;
    if (!PyArg_ParseTuple(args, "O!O:_map_memory", &PyType_Type, &cls, &object))
        return NULL;
    const TypeInfo *info =
        type_of_class(state_of_module(module), (PyTypeObject *) cls);
    if (!info || !info->jit || info->kind != KIND_FLAT)
        return PyErr_Format(PyExc_TypeError,
                            "_map_memory(): found %R, expected a traced flat type",
                            cls);
    return (PyObject *) convert_map(info, object);
}

PyMethodDef exchange_functions[] = {
    { "_map_memory", map_memory, METH_VARARGS,
      "_map_memory(cls, object)\n\nsee drjit._later" },
    { NULL, NULL, 0, NULL },
};

static PyObject *jax(PyObject *self, PyObject *unused)
{
    (void) unused;
    return through_dlpack(self, "jax.dlpack");
}

static PyObject *tensorflow(PyObject *self, PyObject *unused)
{
    (void) unused;
    PyObject *module = PyImport_ImportModule("tensorflow.experimental.dlpack");
    Array *a = (Array *) self;
    PyObject *capsule =
        module ? dlpack_export(a, exchange_place(a), false, false) : NULL;
    PyObject *made =
        capsule ? PyObject_CallMethod(module, "from_dlpack", "O", capsule) : NULL;
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    return made;
}

/* Does the consumer know DLPack 1.x? max_version is None or (major, minor). */
static bool wants_versioned(PyObject *max_version)
{
    if (!max_version || !PyTuple_Check(max_version) ||
        PyTuple_GET_SIZE(max_version) < 1)
        return false;
    long major = PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0));
    PyErr_Clear();
    return major >= 1;
}

static PyObject *dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n,
                        PyObject *names)
{
    static const char *const parameters[] = { "stream", "max_version", "dl_device",
                                              "copy" };
    static const Signature signature = { "ArrayBase.__dlpack__", parameters, 4, 0, 0 };
    PyObject *values[4];
    if (!arguments_parse(&signature, args, n, names, values))
        return NULL;
    const int own = exchange_place((Array *) self);
    long place = own;
    if (values[2] && values[2] != Py_None) {
        place = PyTuple_Check(values[2]) && PyTuple_GET_SIZE(values[2]) == 2
                    ? PyLong_AsLong(PyTuple_GET_ITEM(values[2], 0)) : -1;
        if (PyErr_Occurred())
            return NULL;
        if (place != own && place != PLACE_HOST)
            return error_raise(PyExc_BufferError, ".__dlpack__", &self, 1,
                               "the array is in %s memory (%d, 0), not on %R",
                               own == PLACE_HOST ? "CPU" : "device", own, values[2]);
    }
    return dlpack_export((Array *) self, (int) place, wants_versioned(values[1]),
                         values[3] == Py_True);
}

static PyObject *dlpack_device(PyObject *self, PyObject *unused)
{
    (void) unused;
    return Py_BuildValue("(ii)", exchange_place((Array *) self), 0);
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS

PyMethodDef exchange_methods[] = {
    { "numpy", METHOD(numpy), KEYWORDS, DOC_ArrayBase_numpy },
    { "to_numpy", METHOD(numpy), KEYWORDS, DOC_ArrayBase_to_numpy },
    { "__array__", METHOD(array_interface), KEYWORDS,
      "__array__(dtype=None, copy=None)\n--\n\nThe array as a NumPy array." },
    { "memview", memview, METH_NOARGS, DOC_ArrayBase_memview },
    { "torch", METHOD(torch), KEYWORDS, DOC_ArrayBase_torch },
    { "jax", jax, METH_NOARGS, DOC_ArrayBase_jax },
    { "tf", tensorflow, METH_NOARGS, DOC_ArrayBase_tf },
    { "__dlpack__", METHOD(dlpack), KEYWORDS,
      "__dlpack__(stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA "
      "DLPack "
      "capsule with the array's memory." },
    { "__dlpack_device__", dlpack_device, METH_NOARGS,
      "__dlpack_device__()\n--\n\nWhere the memory is; (1, 0): the CPU." },
    { NULL, NULL, 0, NULL },
};

PyType_Slot exchange_slots[] = {
    SLOT(Py_bf_getbuffer, get_buffer),
    SLOT(Py_bf_releasebuffer, release_buffer),
    {0, NULL},
};

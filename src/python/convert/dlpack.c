/*
 * dlpack.c -- DLPack, versions 0.8 and 1.x
 *
 * The structures are those of the DLPack standard (Apache TVM/DMLC), restated here
 * because it consists of nothing but them. A capsule named "dltensor"
 * ("dltensor_versioned") owns its tensor until a consumer renames it to "used_..." and
 * calls the deleter itself.
 */
#include "python/convert/exchange.h"

#include "python/base/error.h"

enum { PLACE_PINNED = 3 }; /* memory of the host that a GPU reaches, too */
enum { CODE_INT = 0, CODE_UINT = 1, CODE_FLOAT = 2, CODE_COMPLEX = 5, CODE_BOOL = 6 };

/* As type_entry_nature() gives them; of complex numbers, their parts. */
static const char natures[] = { 'i', 'u',
                                'f', [CODE_COMPLEX] = 'f', [CODE_BOOL] = 'b' };
enum { FLAG_READ_ONLY = 1, FLAG_COPIED = 2 };

typedef struct DLDevice {
    int32_t type, id;
} DLDevice;

typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType type;
    int64_t *shape, *strides; /* strides in entries; NULL: row-major */
    uint64_t offset;          /* of the first entry, in bytes */
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor tensor;
    void *context;
    void (*deleter)(struct DLManagedTensor *);
} DLManagedTensor;

typedef struct DLManagedTensorVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct DLManagedTensorVersioned *);
    uint64_t flags;
    DLTensor tensor;
} DLManagedTensorVersioned;

static const char *const names[] = {"dltensor", "dltensor_versioned"};
static const char *const used_names[] = {"used_dltensor", "used_dltensor_versioned"};

/* ---------------------------------------------------------------- export */

typedef struct Package {
    DLManagedTensor plain;
    DLManagedTensorVersioned versioned;
    Owner owner;
    int64_t shape[EXCHANGE_MAX_DIMS], strides[EXCHANGE_MAX_DIMS];
} Package;

/* Consumers may call this from any thread. */
static void drop(Package *package)
{
    if (!Py_IsInitialized())
        return; /* the process ends; the memory goes with it */
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *exception = error_fetch();
    owner_release(&package->owner);
    PyMem_Free(package);
    error_restore(exception);
    PyGILState_Release(gil);
}

static void delete_plain(DLManagedTensor *tensor)
{
    drop(tensor->context);
}

static void delete_versioned(DLManagedTensorVersioned *tensor)
{
    drop(tensor->context);
}

/* A capsule that nobody consumed. */
static void capsule_destructor(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, names[0])) {
        DLManagedTensor *t = PyCapsule_GetPointer(capsule, names[0]);
        t->deleter(t);
    } else if (PyCapsule_IsValid(capsule, names[1])) {
        DLManagedTensorVersioned *t = PyCapsule_GetPointer(capsule, names[1]);
        t->deleter(t);
    }
}

static DLDataType data_type(const Memory *m)
{
    DLDataType t = {.bits = (uint8_t) (8 * memory_entry_size(m)), .lanes = 1};
    while (natures[t.code] != type_entry_nature(m->type))
        t.code++;
    if (m->complex)
        t.code = CODE_COMPLEX;
    return t;
}

/* Replace the memory by a copy of it. */
static bool own_copy(Memory *m, Owner *owner)
{
    size_t bytes = memory_size(m) * memory_entry_size(m);
    void *block = block_new(bytes);
    if (!block)
        return false;
    if (bytes)
        memcpy(block, m->data, bytes);
    owner_release(owner);
    owner->block = block;
    m->data = block;
    return true;
}

PyObject *dlpack_export(Array *a, int place, bool versioned, bool copy)
{
    Memory m;
    Package *p = PyMem_Calloc(1, sizeof(Package));
    if (!p)
        return PyErr_NoMemory();
    if (!exchange_export(a, copy ? PLACE_HOST : place, &m, &p->owner, ".__dlpack__")) {
        PyMem_Free(p);
        return NULL;
    }
    bool is_copy = a->info->jit && p->owner.block; /* the leaves were put together */
    if (copy && !is_copy && !own_copy(&m, &p->owner)) {
        drop(p);
        return NULL;
    }
    for (int i = 0; i < m.ndim; i++) {
        p->shape[i] = m.shape[i];
        p->strides[i] = m.strides[i] / (Py_ssize_t) memory_entry_size(&m);
    }
    DLTensor tensor = {.data = m.data, .device = {m.place, 0}, .ndim = m.ndim,
                       .type = data_type(&m), .shape = p->shape, .strides = p->strides};
    p->plain = (DLManagedTensor) {tensor, p, delete_plain};
    p->versioned = (DLManagedTensorVersioned){
        1, 0, p, delete_versioned, copy || is_copy ? FLAG_COPIED : 0, tensor
    };
    PyObject *capsule = PyCapsule_New(versioned ? (void *) &p->versioned : &p->plain,
                                      names[versioned], capsule_destructor);
    if (!capsule)
        drop(p);
    return capsule;
}

/* ---------------------------------------------------------------- import */

static bool read_type(DLDataType t, Memory *m)
{
    m->complex = t.code == CODE_COMPLEX;
    char nature = t.code < sizeof(natures) ? natures[t.code] : 0;
    size_t size = m->complex ? t.bits / 16 : t.bits / 8;
    m->type = t.bits % 8 == 0 ? type_entry_find(nature, size) : VarTypeVoid;
    return t.lanes == 1 && m->type != VarTypeVoid;
}

/* Shape and strides; false if they are not those of an array in memory. */
static bool read_layout(const DLTensor *t, Memory *m)
{
    Py_ssize_t entry = (Py_ssize_t) memory_entry_size(m), row_major = entry;
    m->ndim = t->ndim;
    if (t->ndim && !t->shape)
        return false;
    for (int i = t->ndim - 1; i >= 0; i--) {
        m->shape[i] = (Py_ssize_t) t->shape[i];
        m->strides[i] = row_major;
        if (m->shape[i] < 0 ||
            (t->strides &&
             __builtin_mul_overflow(t->strides[i], entry, &m->strides[i])) ||
            __builtin_mul_overflow(row_major, m->shape[i] ? m->shape[i] : 1,
                                   &row_major))
            return false;
    }
    return t->data || memory_size(m) == 0;
}

static bool read_tensor(const DLTensor *t, bool read_only, PyObject *object, Memory *m)
{
    m->place = t->device.type == PLACE_PINNED ? PLACE_HOST : t->device.type;
    if (!type_backend_at(m->place))
        return error_raise(PyExc_BufferError, "ArrayBase.__init__", &object, 1,
                           "the array is on a device of type %d, expected CPU memory",
                           (int) t->device.type);
    if (!read_type(t->type, m))
        return error_raise(
            PyExc_TypeError, "ArrayBase.__init__", &object, 1,
            "the entries have DLPack code %d, %d bits and %d lanes, which no array "
            "type has",
            t->type.code, t->type.bits, t->type.lanes);
    if (t->ndim < 0 || t->ndim > EXCHANGE_MAX_DIMS)
        return error_raise(PyExc_ValueError, "ArrayBase.__init__", &object, 1,
                           "the array has %d axes, expected at most %d", (int) t->ndim,
                           EXCHANGE_MAX_DIMS);
    if (!read_layout(t, m))
        return error_raise(
            PyExc_ValueError, "ArrayBase.__init__", &object, 1,
            "the extents, strides and address in the capsule are not those "
            "of an array in memory");
    m->data = t->data ? (char *) t->data + t->offset : NULL;
    m->read_only = read_only;
    return true;
}

/* The keeper of an imported tensor: a capsule of our own that calls the deleter. */
static void delete_imported(PyObject *capsule)
{
    for (int versioned = 0; versioned < 2; versioned++) {
        if (!PyCapsule_IsValid(capsule, used_names[versioned]))
            continue;
        void *pointer = PyCapsule_GetPointer(capsule, used_names[versioned]);
        DLManagedTensor *plain = pointer;
        DLManagedTensorVersioned *with_version = pointer;
        if (versioned && with_version->deleter)
            with_version->deleter(with_version);
        else if (!versioned && plain->deleter)
            plain->deleter(plain);
    }
}

/* Ask for a capsule: DLPack 1.x producers take max_version, older ones no argument.
 * NULL without exception: the object says that it has no such method. */
static PyObject *ask(State *state, PyObject *object)
{
    PyObject *method = PyObject_GetAttr(object, state->str_dlpack);
    if (!method && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    PyObject *none = method ? PyTuple_New(0) : NULL;
    PyObject *options = none ? Py_BuildValue("{s(ii)}", "max_version", 1, 0) : NULL;
    PyObject *capsule = options ? PyObject_Call(method, none, options) : NULL;
    if (!capsule && options && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, none, NULL);
    }
    Py_XDECREF(options);
    Py_XDECREF(none);
    Py_XDECREF(method);
    return capsule;
}

bool dlpack_import(State *state, PyObject *object, Memory *memory, PyObject **keeper)
{
    *keeper = NULL;
    PyObject *capsule = PyCapsule_CheckExact(object) ? Py_NewRef(object)
                                                     : ask(state, object);
    if (!capsule)
        return false;
    bool versioned = PyCapsule_IsValid(capsule, names[1]);
    if (!versioned && !PyCapsule_IsValid(capsule, names[0])) {
        Py_DECREF(capsule);
        return error_raise(PyExc_TypeError, "ArrayBase.__init__", &object, 1,
                           "__dlpack__() did not return an unused DLPack capsule");
    }
    void *pointer = PyCapsule_GetPointer(capsule, names[versioned]);
    const DLManagedTensorVersioned *with_version = pointer;
    bool ok = true;
    if (versioned && with_version->major > 1) {
        error_raise(PyExc_BufferError, "ArrayBase.__init__", &object, 1,
                    "the capsule has DLPack version %u, expected version 1 or before",
                    (unsigned) with_version->major);
        ok = false;
    }
    ok = ok &&
         (versioned ? read_tensor(&with_version->tensor,
                                  with_version->flags & FLAG_READ_ONLY, object, memory)
                    : read_tensor(&((DLManagedTensor *) pointer)->tensor, false, object,
                                  memory));
    if (ok)
        *keeper = PyCapsule_New(pointer, used_names[versioned], delete_imported);
    if (*keeper)
        PyCapsule_SetName(capsule, used_names[versioned]);
    Py_DECREF(capsule);
    return *keeper;
}

/*
 * foreign.c -- arrays from the memory of NumPy, DLPack producers and buffer exporters
 *
 * A constructor refers to memory that is what an array of one leaf would have, and
 * holds it as long as a variable needs it; it is never written to. All else is copied,
 * made contiguous and converted to the target's entry type on the way, then split into
 * leaves. So are the operands of operations: kernels that run later must not see what
 * the program, which knows nothing of them, writes to it meanwhile.
 */
#include "python/convert/convert.h"
#include "python/shape/shape.h"

#include "python/base/deferred.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/convert/operand.h"

/* ---------------------------------------------------------------- copying */

static bool is_aligned(const Memory *m)
{
    return (uintptr_t) m->data % type_entry_size(m->type) == 0;
}

/* Copy strided entries after each other. */
static void copy_strided(const Memory *m, int axis, const char *from, char **to)
{
    size_t entry = memory_entry_size(m);
    if (axis == m->ndim) {
        memcpy(*to, from, entry);
        *to += entry;
        return;
    }
    for (Py_ssize_t i = 0; i < m->shape[axis]; i++)
        copy_strided(m, axis + 1, from + i * m->strides[axis], to);
}

/* The entries in row-major order with entry type 'type' (complex ones as pairs), in
 * a buffer that the caller frees; NULL: exception. */
static void *contiguous_copy(const Borrowed *s, VarType type)
{
    const Memory *m = &s->memory;
    size_t numbers = memory_size(m) << m->complex;
    if (numbers > PY_SSIZE_T_MAX / sizeof(uint64_t) - 1)
        return PyErr_NoMemory();
    void *entries = PyMem_Malloc(numbers * type_entry_size(type) + 1);
    if (!entries)
        return PyErr_NoMemory();
    bool contiguous = memory_is_contiguous(m) && is_aligned(m);
    char *staging = NULL;
    const void *source = m->data;
    if (!contiguous) {
        staging = m->type == type
                      ? entries
                      : PyMem_Malloc(numbers * type_entry_size(m->type) + 1);
        if (!staging) {
            PyMem_Free(entries);
            return PyErr_NoMemory();
        }
        char *end = staging;
        if (numbers)
            copy_strided(m, 0, m->data, &end);
        source = staging;
    }
    bool ok = true;
    if (m->type != type)
        ok = jit_host_cast(m->type, type, 0, numbers, source, entries);
    else if (contiguous && numbers)
        memcpy(entries, source, numbers * type_entry_size(type));
    if (staging && staging != (char *) entries)
        PyMem_Free(staging);
    if (!ok) {
        PyMem_Free(entries);
        return error_from_core("ArrayBase.__init__", &s->object, 1);
    }
    return entries;
}

/* ---------------------------------------------------------------- variables */

static bool can_copy_at_once(const Borrowed *s, VarType type)
{
    const Memory *m = &s->memory;
    return m->type == type && !m->complex && memory_is_contiguous(m) && is_aligned(m);
}

/* A copy of that many entries. 0: exception, or there are none. */
static VarIndex copy_entries(const Borrowed *s, const TypeInfo *info,
                             const void *entries, size_t count)
{
    if (!count)
        return 0;
    VarIndex var;
    GIL_RELEASE_BEGIN
    var = var_copy(info, entries, count);
    GIL_RELEASE_END
    if (!var)
        error_from_core("ArrayBase.__init__", &s->object, 1);
    return var;
}

/* Memory that a variable refers to. It is given back with the GIL. */
typedef struct Loan {
    Deferred work;
    Borrowed source;
} Loan;

static void end_loan(Deferred *work)
{
    Loan *loan = (Loan *) work;
    borrow_close(&loan->source);
    PyMem_Free(loan);
}

static void release(void *entries, void *payload)
{
    (void) entries;
    deferred_add(&((Loan *) payload)->work);
}

/* The memory itself, which is not ours to close any more. 'writes': to it, too. */
static VarIndex share_entries(Borrowed *s, const TypeInfo *info, size_t count,
                              bool writes)
{
    Loan *loan = PyMem_Malloc(sizeof(*loan));
    if (!loan) {
        PyErr_NoMemory();
        return 0;
    }
    *loan = (Loan){ .work.run = end_loan, .source = *s };
    VarIndex var = writes ? var_map(info, s->memory.data, count, release, loan)
                       : var_share(info, s->memory.data, count, release, loan);
    if (var) {
        s->buffer.obj = NULL;
        s->keeper = NULL;
        return var;
    }
    PyMem_Free(loan);
    error_from_core("ArrayBase.__init__", &s->object, 1);
    return 0;
}

/* A variable with these entries; 0 with an exception, or for none without. */
static VarIndex variable_of(Borrowed *s, const TypeInfo *info)
{
    size_t count = memory_size(&s->memory) << s->memory.complex;
    if (s->shared && !s->memory.read_only && count && can_copy_at_once(s, info->entry))
        return share_entries(s, info, count, false);
    if (can_copy_at_once(s, info->entry))
        return copy_entries(s, info, s->memory.data, count);
    void *entries = contiguous_copy(s, info->entry);
    VarIndex var = entries ? copy_entries(s, info, entries, count) : 0;
    PyMem_Free(entries);
    return var;
}

/* ---------------------------------------------------------------- building arrays */

/* What to do if lanes are the first axis, as is usual elsewhere. */
static const char *hint(const Memory *m, const TypeInfo *info)
{
    bool lanes_first = info->jit && info->ndim && m->ndim == info->ndim + 1;
    for (int i = 0; lanes_first && i < info->ndim; i++)
        lanes_first = info->dims[i] == DYNAMIC || m->shape[i + 1] == info->dims[i];
    return !lanes_first      ? ""
           : info->ndim == 1 ? ". Components come first: its transpose '.T' fits"
                             : ". Lanes come last: 'numpy.moveaxis(array, 0, -1)' fits";
}

static Array *wrong_shape(const Borrowed *s, const TypeInfo *info)
{
    size_t dims[EXCHANGE_MAX_DIMS];
    for (int i = 0; i < s->memory.ndim; i++)
        dims[i] = (size_t) s->memory.shape[i];
    Extents extents;
    extents_set_numbers(&extents, (size_t) s->memory.ndim, dims);
    PyObject *shape = extents_tuple(info->state, &extents);
    if (!shape)
        return NULL;
    PyErr_Format(
        PyExc_TypeError,
        "%s.__init__(): unable to initialize from a '%s' of shape %R with %s%s "
        "entries%s",
        info->name, Py_TYPE(s->object)->tp_name, shape,
        s->memory.complex ? "complex " : "", type_entry_name(s->memory.type),
        hint(&s->memory, info));
    Py_DECREF(shape);
    return NULL;
}

static Array *make_flat(Borrowed *s, const TypeInfo *info)
{
    VarIndex var = variable_of(s, info);
    return PyErr_Occurred() ? NULL : array_new_leaf(info, var);
}

static Array *make_tensor(Borrowed *s, const TypeInfo *info)
{
    size_t shape[EXCHANGE_MAX_DIMS];
    for (int i = 0; i < s->memory.ndim; i++)
        shape[i] = (size_t) s->memory.shape[i];
    Array *a = array_new_tensor(info, (size_t) s->memory.ndim, shape);
    if (!a)
        return NULL;
    if (info->jit) {
        VarIndex var = variable_of(s, info);
        if (PyErr_Occurred())
            Py_CLEAR(a);
        else
            array_set_leaf(a, 0, var);
        return a;
    }
    void *entries = contiguous_copy(s, info->entry);
    if (!entries)
        Py_CLEAR(a);
    else if (array_count(a))
        memcpy(array_data(a), entries, array_count(a) * info->entry_size);
    PyMem_Free(entries);
    return a;
}

/* Leaves i of a traced nested array: lanes entries each, from [leaf][lane], or
 * [lane][part] of complex numbers. */
static bool fill_leaves(Array *a, const Borrowed *s, const char *entries, size_t lanes)
{
    const TypeInfo *info = a->info;
    size_t count = array_count(a), size = info->entry_size;
    bool real_only = info->kind == KIND_COMPLEX && !s->memory.complex;
    char *part = NULL;
    if (s->memory.complex && lanes) {
        part = PyMem_Malloc(lanes * size);
        if (!part)
            return PyErr_NoMemory();
    }
    bool ok = true;
    for (size_t i = 0; ok && i < count && lanes; i++) {
        const uint64_t zero = 0;
        if (real_only && i == 1) {
            VarIndex none = var_literal(info, &zero, 1);
            array_set_leaf(a, 1, none);
            if (!none)
                error_from_core("ArrayBase.__init__", &s->object, 1);
            ok = none;
            break;
        }
        const char *source = entries + i * lanes * size;
        if (part) {
            for (size_t lane = 0; lane < lanes; lane++)
                memcpy(part + lane * size, entries + (lane * count + i) * size, size);
            source = part;
        }
        VarIndex index = var_copy(info, source, lanes);
        ok = index;
        if (ok)
            array_set_leaf(a, i, index);
        else
            error_from_core("ArrayBase.__init__", &s->object, 1);
    }
    PyMem_Free(part);
    return ok;
}

/* Do the first axes of the memory match the extents of the type? */
static bool extents_match(const Memory *m, const TypeInfo *info)
{
    for (int i = 0; i < info->ndim; i++)
        if (info->dims[i] != DYNAMIC && info->dims[i] != m->shape[i])
            return false;
    return true;
}

static Array *make_nested(const Borrowed *s, const TypeInfo *info)
{
    const Memory *m = &s->memory;
    bool is_complex = info->kind == KIND_COMPLEX; /* one entry is one number */
    int axes = is_complex ? 0 : info->ndim;
    bool with_lanes = m->ndim == axes + 1,
         fits = with_lanes ? info->jit : m->ndim == axes;
    if (!fits || (!is_complex && (m->complex || !extents_match(m, info))))
        return wrong_shape(s, info);
    size_t lanes = with_lanes ? (size_t) m->shape[axes] : 1;
    Array *a = info->dynamic ? array_new_dynamic(info, (size_t) m->shape[0])
                             : array_new(info);
    void *entries = a ? contiguous_copy(s, info->entry) : NULL;
    bool ok = entries;
    if (ok && info->jit)
        ok = fill_leaves(a, s, entries, lanes);
    else if (ok && array_count(a))
        memcpy(array_data(a), entries, array_count(a) * info->entry_size);
    PyMem_Free(entries);
    if (!ok)
        Py_CLEAR(a);
    return a;
}

/* A single number stands for all components. */
static Array *make_from_number(const Borrowed *s, const TypeInfo *info)
{
    const Memory *m = &s->memory;
    PyObject *number = NULL;
    if (m->complex) {
        double *parts = contiguous_copy(s, VarTypeFloat64);
        number = parts ? PyComplex_FromDoubles(parts[0], parts[1]) : NULL;
        PyMem_Free(parts);
    } else {
        void *entry = contiguous_copy(s, m->type);
        number = entry ? convert_entry(m->type, entry) : NULL;
        PyMem_Free(entry);
    }
    Array *a = number ? convert_to(info, number, NULL) : NULL;
    Py_XDECREF(number);
    return a;
}

/* Memory that the host cannot read: an array of the backend that can. */
static Array *make_on_device(Borrowed *s, const TypeInfo *info)
{
    const JitBackend backend = type_backend_at(s->memory.place);
    const TypeInfo *there = type_of_backend(info->state, backend, KIND_TENSOR,
                                            s->memory.type);
    if (!there || !can_copy_at_once(s, s->memory.type))
        return wrong_shape(s, info);
    s->shared = true;
    s->memory.read_only = false; /* it is not written to */
    Array *tensor = type_class(there) ? make_tensor(s, there) : NULL;
    Array *made = tensor ? convert_array(info, tensor, NULL) : NULL;
    Py_XDECREF((PyObject *) tensor);
    return made;
}

static Array *make(Borrowed *s, const TypeInfo *info)
{
    const Memory *m = &s->memory;
    if (m->place != PLACE_HOST)
        return make_on_device(s, info);
    if (info->kind == KIND_TENSOR)
        return m->complex ? wrong_shape(s, info) : make_tensor(s, info);
    if (m->ndim == 0)
        return make_from_number(s, info);
    if (info->kind == KIND_FLAT)
        return m->ndim == 1 && !m->complex ? make_flat(s, info) : wrong_shape(s, info);
    return make_nested(s, info);
}

/* The object has no memory that we can use. */
static void refuse(const Borrowed *s, Opening opening)
{
    PyObject *object = s->object;
    const Py_buffer *b = &s->buffer;
    if (opening == BORROW_STRANGE)
        error_raise(PyExc_TypeError, "ArrayBase.__init__", &object, 1,
                    "the memory has entries of format '%s' and %d axes, which no array "
                    "type has",
                    b->format ? b->format : "B", b->ndim);
    else if (PyObject_CheckBuffer(object))
        error_raise(PyExc_TypeError, "ArrayBase.__init__", &object, 1,
                    "the object gives no access to its memory");
}

/* What an object of a user's class says that it is: an array of ours. */
static Array *array_by_method(const TypeInfo *info, PyObject *object)
{
    PyObject *found =
        PyObject_CallMethodNoArgs(object, info->state->str_array);
    if (!found)
        return NULL;
    Array *made = array_check(info->state, found)
                      ? convert_array(info, (Array *) found, NULL)
                      : NULL;
    if (!made && !PyErr_Occurred())
        error_raise(PyExc_TypeError, "ArrayBase.__init__", &object, 1,
                    "__drjit_array__() returned an object of type %s, expected a "
                    "Dr.Jit array",
                    Py_TYPE(found)->tp_name);
    Py_DECREF(found);
    return made;
}

bool convert_foreign(const TypeInfo *info, PyObject *object, bool share, Array **result)
{
    *result = NULL;
    if (class_defines(Py_TYPE(object), info->state->str_array)) {
        *result = array_by_method(info, object);
        return true;
    }
    Borrowed *opened = operand_memory(object);
    if (opened) {
        *result = make(opened, info);
        return true;
    }
    Borrowed s;
    Opening opening = borrow_open(info->state, object, &s);
    if (opening == BORROW_NONE)
        return false;
    s.shared = share;
    if (opening == BORROW_OPEN)
        *result = make(&s, info);
    else
        refuse(&s, opening);
    borrow_close(&s);
    return true;
}

Array *convert_map(const TypeInfo *info, PyObject *object)
{
    Borrowed s;
    Opening opening = borrow_open(info->state, object, &s);
    if (opening == BORROW_ERROR)
        return NULL;
    const size_t count = opening == BORROW_OPEN ? memory_size(&s.memory) : 0;
    Array *a = NULL;
    const bool here = s.memory.place == PLACE_HOST;
    if (here && count && !s.memory.read_only && can_copy_at_once(&s, info->entry)) {
        VarIndex var = share_entries(&s, info, count, true);
        a = var ? array_new_leaf(info, var) : NULL;
    } else {
        error_raise(PyExc_TypeError, "ArrayBase.__init__", &object, 1,
                    "the memory cannot be written to as entries of %s", info->name);
    }
    if (opening != BORROW_NONE)
        borrow_close(&s);
    return a;
}

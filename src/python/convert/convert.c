/*
 * convert.c -- constructors: arrays from numbers, sequences, arrays and foreign objects
 *
 * A sequence fills an array component by component, and a component may be anything
 * that its type can be made from. What Python code run on the way (__float__, __iter__,
 * ...) does to the sequence has no effect: its items are taken first. Entries of a
 * one-dimensional sequence are collected in one buffer, which becomes a variable at
 * once.
 *
 * A number alone is converted like float(x), int(x) or bool(x) do. Among other entries
 * it must be of a fitting Python type: an integer for integer entries, a bool for
 * masks.
 */
#include "python/convert/convert.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/deferred.h"
#include "python/base/error.h"
#include "python/convert/convert_array.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"

/* ---------------------------------------------------------------- numbers */

/* Scalar types of NumPy are known by name: NumPy may not be imported. */
static bool is_numpy_bool(PyObject *o)
{
    const char *name = Py_TYPE(o)->tp_name;
    return strcmp(name, "numpy.bool") == 0 || strcmp(name, "numpy.bool_") == 0;
}

static bool is_complex(PyObject *o)
{
    return PyComplex_Check(o) || strncmp(Py_TYPE(o)->tp_name, "numpy.complex", 13) == 0;
}

/* One value without components? (NumPy's arrays also have nb_float.) */
bool convert_is_number(PyObject *o)
{
    if (PyFloat_Check(o) || PyLong_Check(o))
        return true;
    const PyTypeObject *type = Py_TYPE(o);
    return type->tp_as_number && !type->tp_iter && !is_complex(o) &&
           (type->tp_as_number->nb_float || type->tp_as_number->nb_index ||
            is_numpy_bool(o));
}

static bool store_double(VarType type, double number, void *entry)
{
    if (type == VarTypeFloat64) {
        memcpy(entry, &number, sizeof(number));
    } else if (type == VarTypeFloat32) {
        const float narrow = (float) number;
        memcpy(entry, &narrow, sizeof(narrow));
    } else if (!jit_host_cast(VarTypeFloat64, type, 0, 1, &number, entry)) {
        return error_from_core(NULL, NULL, 0);
    }
    return true;
}

static bool fail_range(VarType type, PyObject *number)
{
    return PyErr_Format(PyExc_OverflowError,
                        "%R is out of range for an entry of type %s", number,
                        type_entry_name(type));
}

/* An exact integer into an entry; two's complement in the low bytes. */
static bool store_integer(VarType type, PyObject *number, void *entry)
{
    const unsigned bits = 8 * (unsigned) type_entry_size(type);
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (value == -1 && !overflow && PyErr_Occurred())
        return false;
    uint64_t pattern = (uint64_t) value;
    if (type == VarTypeUInt64) {
        if (overflow > 0) {
            pattern = PyLong_AsUnsignedLongLong(number);
            if (pattern == UINT64_MAX && PyErr_Occurred()) {
                PyErr_Clear();
                return fail_range(type, number);
            }
        } else if (overflow || value < 0) {
            return fail_range(type, number);
        }
    } else if (overflow) {
        return fail_range(type, number);
    } else if (type_is_signed(type)) {
        const long long limit = bits == 64 ? INT64_MAX : (1ll << (bits - 1)) - 1;
        if (value > limit || value < -limit - 1)
            return fail_range(type, number);
    } else if (value < 0 || (unsigned long long) value >> bits) {
        return fail_range(type, number);
    }
    memcpy(entry, &pattern, bits / 8); /* little endian, as the core's literals are */
    return true;
}

static bool fail_entry(VarType type, PyObject *number)
{
    return PyErr_Format(PyExc_TypeError,
                        "a value of type %s cannot become an entry of type %s",
                        Py_TYPE(number)->tp_name, type_entry_name(type));
}

/* A number among others, or ('only') one that the caller asked to have converted. */
static bool store_number(VarType type, PyObject *number, bool only, void *entry)
{
    if (type >= VarTypeFloat16) {
        const double value = PyLong_CheckExact(number) ? PyLong_AsDouble(number)
                                                       : PyFloat_AsDouble(number);
        return !(value == -1.0 && PyErr_Occurred()) && store_double(type, value, entry);
    }
    if (type == VarTypeBool) {
        const bool fits = PyBool_Check(number) || is_numpy_bool(number) || only;
        const int truth = fits ? PyObject_IsTrue(number) : -1;
        if (truth < 0)
            return fits ? false : fail_entry(type, number);
        *(uint8_t *) entry = (uint8_t) truth;
        return true;
    }
    if (PyLong_Check(number))
        return store_integer(type, number, entry);
    PyObject *integer = PyIndex_Check(number)           ? PyNumber_Index(number)
                        : only || is_numpy_bool(number) ? PyNumber_Long(number)
                                                        : NULL;
    if (!integer)
        return PyErr_Occurred() ? false : fail_entry(type, number);
    const bool ok = store_integer(type, integer, entry);
    Py_DECREF(integer);
    return ok;
}

bool convert_number(VarType type, PyObject *number, uint64_t *bits)
{
    *bits = 0;
    if (!convert_is_number(number))
        return fail_entry(type, number);
    return store_number(type, number, false, bits);
}

PyObject *convert_entry(VarType type, const void *entry)
{
    double number;
    long long integer = 0;
    switch (type) {
    case VarTypeBool:
        return PyBool_FromLong(*(const uint8_t *) entry != 0);
    case VarTypeInt8:
        integer = *(const int8_t *) entry;
        break;
    case VarTypeUInt8:
        integer = *(const uint8_t *) entry;
        break;
    case VarTypeInt16:
        integer = *(const int16_t *) entry;
        break;
    case VarTypeUInt16:
        integer = *(const uint16_t *) entry;
        break;
    case VarTypeInt32:
        integer = *(const int32_t *) entry;
        break;
    case VarTypeUInt32:
        integer = *(const uint32_t *) entry;
        break;
    case VarTypeInt64:
        integer = *(const int64_t *) entry;
        break;
    case VarTypeUInt64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *) entry);
    case VarTypeFloat32:
        return PyFloat_FromDouble((double) *(const float *) entry);
    case VarTypeFloat64:
        return PyFloat_FromDouble(*(const double *) entry);
    default:
        if (!jit_host_cast(type, VarTypeFloat64, 0, 1, entry, &number))
            return error_from_core(NULL, NULL, 0);
        return PyFloat_FromDouble(number);
    }
    return PyLong_FromLongLong(integer);
}

/* ---------------------------------------------------------------- sequences */

static bool fail_element(const Conversion *c, PyObject *value)
{
    return convert_array_fail(c, PyExc_TypeError,
                              "could not initialize an element with a value of type %s",
                              operand_class(value)->tp_name);
}

/* The items of something iterable as a tuple of our own; NULL: exception. */
PyObject *convert_items(const Conversion *c, PyObject *value)
{
    if (PyUnicode_Check(value) ||
        (!Py_TYPE(value)->tp_iter && !PySequence_Check(value))) {
        fail_element(c, value);
        return NULL;
    }
    PyObject *items = PySequence_Tuple(value);
    if (!items)
        convert_array_fail(c, PyExc_TypeError, "could not read a sequence of type %s",
                           operand_class(value)->tp_name);
    return items;
}

/* A foreign array as one of ours: true and *result set (NULL: exception). */
bool convert_is_foreign(const TypeInfo *info, PyObject *value, bool share,
                        Array **result)
{
    return !PyUnicode_Check(value) && !PyTuple_CheckExact(value) &&
           !PyList_CheckExact(value) && convert_foreign(info, value, share, result);
}

/* Store the items as entries: the common exact types first. */
bool convert_fill_buffer(const Conversion *c, VarType type, PyObject *const *items,
                         size_t n, char *buffer)
{
    const size_t step = type_entry_size(type);
    for (size_t i = 0; i < n; i++, buffer += step) {
        PyObject *item = items[i];
        if (PyFloat_CheckExact(item) && type == VarTypeFloat32)
            *(float *) buffer = (float) PyFloat_AS_DOUBLE(item);
        else if (PyFloat_CheckExact(item) && type == VarTypeFloat64)
            *(double *) buffer = PyFloat_AS_DOUBLE(item);
        else if (!convert_is_number(item) || !store_number(type, item, false, buffer))
            return fail_element(c, item);
    }
    return true;
}

/* An exact list of exact floats needs no tuple: no Python code runs. */
static bool is_list_of_floats(PyObject *value)
{
    if (!PyList_CheckExact(value))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
        if (!PyFloat_CheckExact(PyList_GET_ITEM(value, i)))
            return false;
    return true;
}

/* A leaf of a jit family from the items of a sequence. */
static bool fill_leaf_items(const Conversion *c, Array *target, size_t leaf,
                            PyObject *const *items, size_t n)
{
    const TypeInfo *info = target->info;
    const VarType type = (VarType) info->entry;
    VarIndex index = 0;
    if (n) {
        char *buffer = PyMem_Malloc(n * info->entry_size);
        if (!buffer)
            return PyErr_NoMemory();
        bool ok = convert_fill_buffer(c, type, items, n, buffer);
        if (ok) {
            index = n == 1 ? var_literal(info, buffer, 1) : var_copy(info, buffer, n);
            ok = index || convert_array_fail_core(c);
        }
        PyMem_Free(buffer);
        if (!ok)
            return false;
    }
    array_set_leaf(target, leaf, index);
    return true;
}

static bool fill_number(const Conversion *c, Array *target, size_t leaf,
                        PyObject *number, bool only)
{
    const TypeInfo *info = target->info;
    uint64_t bits = 0;
    if (!store_number((VarType) info->entry, number, only, &bits))
        return fail_element(c, number);
    if (!info->jit) {
        memcpy((char *) array_data(target) + leaf * info->var_size, &bits,
               info->var_size);
        return true;
    }
    const VarIndex index = var_literal(info, &bits, 1);
    if (!index)
        return convert_array_fail_core(c);
    array_set_leaf(target, leaf, index);
    return true;
}

static bool fill_items(const Conversion *c, Array *target, const TypeInfo *part,
                       size_t first, PyObject *const *items, size_t n);

/* The part at leaf 'first' from anything. */
static bool fill_part(const Conversion *c, Array *target, const TypeInfo *part,
                      size_t first, PyObject *value, bool only)
{
    State *state = c->info->state;
    if (array_check(state, value))
        return convert_array_fill(c, target, part, first, (Array *) value);
    if (convert_is_number(value)) {
        const size_t n = part->dynamic ? array_count(target) : part->leaves;
        if (!part->dynamic && !n)
            return convert_array_fail_size(c, 0, 1);
        return !n || (fill_number(c, target, first, value, only) &&
                      convert_array_repeat(target, first, n));
    }
    if (!part->jit && part->ndim == 0)
        return fail_element(c, value);
    Array *made;
    if (convert_is_foreign(part, value, false, &made)) {
        const bool ok = made && convert_array_fill(c, target, part, first, made);
        Py_XDECREF((PyObject *) made);
        return ok;
    }
    if (part->ndim == 0 && is_list_of_floats(value))
        return fill_leaf_items(c, target, first, PySequence_Fast_ITEMS(value),
                               (size_t) PyList_GET_SIZE(value));
    PyObject *items = convert_items(c, value);
    if (!items)
        return false;
    const bool ok = fill_items(c, target, part, first, PySequence_Fast_ITEMS(items),
                               (size_t) PyTuple_GET_SIZE(items));
    Py_DECREF(items);
    return ok;
}

/* The part at leaf 'first' from items: entries of a leaf, or one for each component. A
 * matrix also takes all of its elements, row by row. */
static bool fill_items(const Conversion *c, Array *target, const TypeInfo *part,
                       size_t first, PyObject *const *items, size_t n)
{
    if (part->ndim == 0)
        return fill_leaf_items(c, target, first, items, n);
    const TypeInfo *component = &c->info->state->types[part->value];
    const size_t extent = part->dynamic ? array_count(target) : (size_t) part->dims[0];
    if (part->kind == KIND_MATRIX && n == extent * extent && n != extent)
        component = &c->info->state->types[component->value];
    else if (n != extent)
        return convert_array_fail_size(c, extent, n);
    for (size_t i = 0; i < n; i++)
        if (!fill_part(c, target, component, first + i * component->leaves, items[i],
                       false))
            return false;
    return true;
}

static Array *from_items(const Conversion *c, PyObject *const *items, size_t n)
{
    Array *target = convert_array_start(c, n);
    if (target && !fill_items(c, target, c->info, 0, items, n))
        Py_CLEAR(target);
    return target;
}

/* ---------------------------------------------------------------- one value */

/* A complex number needs a type with two parts. */
static bool fill_complex(const Conversion *c, Array *target, PyObject *value)
{
    const Py_complex number = PyComplex_AsCComplex(value);
    PyObject *parts[] = { NULL, NULL };
    if (!PyErr_Occurred()) {
        parts[0] = PyFloat_FromDouble(number.real);
        parts[1] = PyFloat_FromDouble(number.imag);
    }
    const bool ok = parts[0] && parts[1] && fill_items(c, target, c->info, 0, parts, 2);
    Py_XDECREF(parts[0]);
    Py_XDECREF(parts[1]);
    return ok;
}

/* A number alone: it fills plain arrays, is the diagonal of matrices and the real part
 * of complex numbers and quaternions. */
static Array *from_number(const Conversion *c, PyObject *number)
{
    const TypeInfo *info = c->info;
    if (!type_is_special(info)) {
        Array *target = convert_array_start(c, 1);
        if (target && !fill_part(c, target, info, 0, number, true))
            Py_CLEAR(target);
        return target;
    }
    Array *target = array_new(info);
    const size_t n = info->kind == KIND_MATRIX ? (size_t) info->dims[0] : 1;
    const size_t step = info->kind == KIND_MATRIX ? info->leaves / (n * n) : 1;
    const size_t start = info->kind == KIND_QUATERNION ? 3 : 0;
    bool ok = target && convert_array_zero(c, target, 0, info->leaves);
    for (size_t i = 0; i < n && ok; i++) {
        const size_t first = start + i * (n + 1) * step;
        ok = fill_number(c, target, first, number, true) &&
             convert_array_repeat(target, first, step);
    }
    if (!ok)
        Py_CLEAR(target);
    return target;
}

static Array *from_complex(const Conversion *c, PyObject *value)
{
    Array *target = array_new(c->info);
    if (target && !fill_complex(c, target, value))
        Py_CLEAR(target);
    return target;
}

/* A sequence, or a one-dimensional one for a leaf. */
static Array *from_sequence(const Conversion *c, PyObject *value)
{
    if (c->info->ndim == 0) {
        Array *target = array_new(c->info);
        if (target && !fill_part(c, target, c->info, 0, value, true))
            Py_CLEAR(target);
        return target;
    }
    PyObject *items = convert_items(c, value);
    if (!items)
        return NULL;
    Array *target =
        from_items(c, PySequence_Fast_ITEMS(items), (size_t) PyTuple_GET_SIZE(items));
    Py_DECREF(items);
    return target;
}

static Array *from_value(const Conversion *c, PyObject *value)
{
    const TypeInfo *info = c->info;
    Array *made;
    if (array_check(info->state, value))
        return convert_array(info, (Array *) value, c->operation);
    if (info->kind == KIND_TENSOR)
        return convert_tensor_value(c, value);
    if (convert_is_number(value))
        return from_number(c, value);
    if (is_complex(value) && info->kind == KIND_COMPLEX)
        return from_complex(c, value);
    if (convert_is_foreign(info, value, c->share, &made))
        return made;
    return from_sequence(c, value);
}

/* ---------------------------------------------------------------- entry points */

/* Arrays with other entries are read; the others are referred to. */
static bool evaluate_converted(const Conversion *c, PyObject *const *args, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n && (reads_open || jit_pending_writes()); i++) {
        const Array *a = array_of(args[i]);
        if (!a || a->info->entry == c->info->entry)
            continue;
        reads_note_whole(a);
        if (!evaluate_writes(c->operation, &args[i], 1))
            return false;
    }
    return true;
}

static Array *construct(const Conversion *c, PyObject *const *args, Py_ssize_t n)
{
    if (!evaluate_converted(c, args, n))
        return NULL;
    if (n == 0)
        return convert_array_start(c, 0);
    return n == 1 ? from_value(c, args[0]) : from_items(c, args, (size_t) n);
}

/* The keyword argument flip_axes, and no others; 'values' are those of the names. */
static bool read_flip(const Conversion *c, PyObject *const *values, PyObject *names,
                      bool *flip)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (PyUnicode_CompareWithASCIIString(name, "flip_axes") != 0)
            return convert_array_fail(c, PyExc_TypeError,
                                      "there is no argument named '%U'", name);
        if (!PyBool_Check(values[i]))
            return convert_array_fail(c, PyExc_TypeError,
                                      "'flip_axes' is not a bool, expected True or "
                                      "False");
        *flip = values[i] == Py_True;
    }
    return true;
}

/* From a tensor, or an array of NumPy or the like, whose axes are taken in opposite
 * order: lanes are the first one. Other values have no axes. */
static Array *from_flipped(const Conversion *c, PyObject *value)
{
    const TypeInfo *info = c->info;
    const TypeInfo *wide = &info->state->types[type_find(
        (Family) info->family, KIND_TENSOR, 0, NULL, (VarType) info->entry)];
    Array *tensor = NULL;
    if (array_check(info->state, value) && ((Array *) value)->info->kind == KIND_TENSOR)
        tensor = (Array *) Py_NewRef(value);
    else if (array_check(info->state, value) || convert_is_number(value) ||
             !convert_is_foreign(wide, value, false, &tensor))
        return from_value(c, value);
    if (tensor && array_tensor(tensor)->ndim < 2) { /* one axis stays what it is */
        Py_DECREF((PyObject *) tensor);
        return from_value(c, value);
    }
    PyObject *module = tensor ? PyImport_ImportModule("drjit._shape.rearrange") : NULL;
    PyObject *flipped =
        module ? PyObject_CallMethod(module, "transpose", "O", tensor) : NULL;
    if (flipped && info->jit &&
        array_tensor((Array *) flipped)->ndim == (size_t) info->ndim) {
        PyObject *wider = PyObject_CallMethod(module, "expand_dims", "Oi", flipped, -1);
        Py_DECREF(flipped); /* with an axis of lanes */
        flipped = wider;
    }
    Array *made = flipped ? convert_array(info, (Array *) flipped, c->operation) : NULL;
    Py_XDECREF(flipped);
    Py_XDECREF(module);
    Py_XDECREF((PyObject *) tensor);
    return made;
}

Array *convert_construct(const TypeInfo *info, PyObject *const *args, Py_ssize_t n,
                         PyObject *names)
{
    const Conversion c = { info, NULL, true };
    bool flip = false;
    if (info->kind == KIND_TENSOR)
        return convert_tensor_construct(&c, args, n, names);
    if (!read_flip(&c, args + n, names, &flip))
        return NULL;
    return flip && n == 1 ? from_flipped(&c, args[0]) : construct(&c, args, n);
}

Array *convert_to(const TypeInfo *info, PyObject *value, const char *operation)
{
    const Conversion c = { info, operation, false };
    if (info->py && PyObject_TypeCheck(value, info->py))
        return (Array *) Py_NewRef(value);
    return from_value(&c, value);
}

/* ---------------------------------------------------------------- slots */

PyObject *convert_tp_new(PyTypeObject *cls, PyObject *args, PyObject *kwargs)
{
    (void) args, (void) kwargs;
    State *state = type_state(cls);
    const TypeInfo *info = state ? type_of_class(state, cls) : NULL;
    if (!info)
        return PyErr_Format(PyExc_TypeError,
                            "%s(): this class cannot be instantiated; use one of the "
                            "array types in drjit.scalar, drjit.llvm, ...",
                            cls->tp_name);
    return (PyObject *) array_new_subclass(cls, info, NULL);
}

/* The constructor of user's classes, and X.__init__() called by hand. */
int convert_tp_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Array *a = (Array *) self;
    Py_ssize_t n = PyTuple_GET_SIZE(args), names = kwargs ? PyDict_GET_SIZE(kwargs) : 0;
    PyObject **all = PyMem_Malloc(((size_t) (n + names) + 1) * sizeof(PyObject *));
    if (!all) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        all[i] = PyTuple_GET_ITEM(args, i);
    PyObject *keys = names ? PyDict_Keys(kwargs) : NULL;
    PyObject *name_tuple = keys ? PyList_AsTuple(keys) : NULL;
    bool ok = !names || name_tuple;
    for (Py_ssize_t i = 0; ok && i < names; i++)
        all[n + i] = PyDict_GetItem(kwargs, PyTuple_GET_ITEM(name_tuple, i));
    Array *made = ok ? convert_construct(a->info, all, n, name_tuple) : NULL;
    ok = made && array_replace(a, made);
    Py_XDECREF(made);
    Py_XDECREF(keys);
    Py_XDECREF(name_tuple);
    PyMem_Free(all);
    return ok ? 0 : -1;
}

PyObject *convert_vectorcall(PyObject *cls, PyObject *const *args, size_t nargsf,
                             PyObject *names)
{
    State *state = type_state((PyTypeObject *) cls);
    deferred_run();
    return (PyObject *) convert_construct(type_of_class(state, (PyTypeObject *) cls),
                                          args, PyVectorcall_NARGS(nargsf), names);
}

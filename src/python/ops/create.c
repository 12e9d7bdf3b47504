/*
 * create.c -- zeros, ones, full, opaque, empty, ..._like, and what arange is made of
 *
 * A Fill says what every leaf becomes; make() builds one array from it and a shape, and
 * build_from_class() calls that for every array of a structure. Results are literals
 * (opaque: in memory; empty: undefined), which take no memory.
 */
#include "python/array/evaluate.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/base/tables.h"
#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/docstrings.h"
#include "python/shape/extent.h"
#include "python/tree/build.h"
#include "python/tree/tree.h"

typedef enum Mode { MODE_VALUE, MODE_OPAQUE, MODE_EMPTY } Mode;

/* What to make. */
typedef struct Fill {
    State *state;
    const char *operation;
    Mode mode;
    PyObject *value; /* borrowed */
    bool whole; /* 'shape' is one integer: the number of lanes */
    Extents shape;
} Fill;

/* ---------------------------------------------------------------- shapes */

static PyObject *fail(const Fill *f, PyObject *type, const TypeInfo *info,
                      const char *what)
{
    return error_raise(type, f->operation, NULL, 0, "dtype %s: %s", info->name, what);
}

/* One extent: a non-negative integer; false: exception. */
static bool read_extent(Fill *f, PyObject *object)
{
    Py_ssize_t value;
    Extent extent;
    if (extent_read(object, &value, &extent)) {
        extents_append(&f->shape, extent);
        return true;
    }
    if (!PyErr_Occurred())
        error_raise(PyExc_ValueError, f->operation, &object, 1,
                    "'shape' has the extent %zd, expected 0 or more", value);
    else if (PyErr_ExceptionMatches(PyExc_OverflowError))
        error_raise(PyExc_OverflowError, f->operation, &object, 1,
                    "an extent of 'shape' does not fit into 64 bits");
    else if (PyErr_ExceptionMatches(PyExc_TypeError))
        error_raise(PyExc_TypeError, f->operation, &object, 1,
                    "'shape' holds other objects, expected integers");
    return false;
}

static bool read_shape(Fill *f, PyObject *object)
{
    extents_set_numbers(&f->shape, 0, NULL);
    f->whole = true;
    if (!object) {
        extents_append(&f->shape, extent_of(1));
        return true;
    }
    PyObject *tuple = arguments_shape(f->operation, object, &f->whole);
    if (!tuple)
        return false;
    const size_t ndim = (size_t) PyTuple_GET_SIZE(tuple);
    bool ok = ndim <= TENSOR_MAX_DIMS;
    if (!ok)
        error_raise(PyExc_ValueError, f->operation, &object, 1,
                    "'shape' has %zu axes, expected at most %d", ndim,
                    TENSOR_MAX_DIMS);
    for (size_t i = 0; i < ndim && ok; i++)
        ok = read_extent(f, PyTuple_GET_ITEM(tuple, (Py_ssize_t) i));
    Py_DECREF(tuple);
    return ok;
}

/* An array without leaves yet, and its lanes; NULL: exception. */
static Array *outline(const Fill *f, const TypeInfo *info, Extent *lanes)
{
    const Extents *shape = &f->shape;
    *lanes = extent_of(1);
    if (info->kind == KIND_TENSOR)
        return extents_total(shape, lanes) ? extents_new_tensor(info, shape) : NULL;
    if (f->whole) {
        *lanes = extents_get(shape, 0);
        if (!info->jit && info->dynamic)
            return array_new_dynamic(info, extent_number(*lanes));
        return info->dynamic ? array_new_dynamic(info, 1) : array_new(info);
    }
    bool fits = shape->ndim == (size_t) info->ndim + info->jit;
    for (int i = 0; i < info->ndim && fits; i++) {
        const size_t extent = extent_number(extents_get(shape, (size_t) i));
        fits = info->dims[i] == DYNAMIC || (size_t) info->dims[i] == extent;
    }
    if (!fits)
        return (Array *) fail(f, PyExc_RuntimeError, info,
                              "'shape' and 'dtype' are incompatible");
    if (info->jit)
        *lanes = extents_get(shape, shape->ndim - 1);
    return info->dynamic ? array_new_dynamic(info, shape->dims[0]) : array_new(info);
}

/* ---------------------------------------------------------------- leaves */

/* A variable with these bits and as many entries as 'model' or, without one, the extent
 * says; one without entries is empty. */
static bool set_leaf(const Fill *f, Array *a, size_t i, uint64_t bits, VarIndex model,
                     Extent extent)
{
    const TypeInfo *info = a->info;
    if (!info->jit) {
        value_store(a, i, bits);
        return true;
    }
    const bool known = !model || var_next_like(model);
    const size_t lanes = model ? var_peek_size(model) : extent_next(extent);
    const VarIndex var = !lanes || !known         ? 0
                      : f->mode == MODE_EMPTY  ? var_undefined(info, lanes)
                      : f->mode == MODE_OPAQUE ? var_opaque(info, &bits, lanes)
                                               : var_literal(info, &bits, lanes);
    if (lanes && !var)
        return error_from_core(f->operation, NULL, 0);
    array_set_leaf(a, i, var);
    return true;
}

/* Is leaf i an imaginary part, which a real number leaves 0? */
static bool is_imaginary(const TypeInfo *info, size_t i)
{
    return (info->kind == KIND_COMPLEX && i == 1) ||
           (info->kind == KIND_QUATERNION && i < 3);
}

/* The lanes of all leaves are given by 'lanes', or those of 'like'. */
static bool set_leaves(const Fill *f, Array *a, uint64_t bits, Extent lanes,
                       const Array *like)
{
    const size_t n = array_count(a);
    for (size_t i = 0; i < n; i++) {
        const VarIndex model = like && like->info->jit ? array_leaves(like)[i] : 0;
        if (!set_leaf(f, a, i, is_imaginary(a->info, i) ? 0 : bits, model,
                      like ? extent_of(0) : lanes))
            return false;
    }
    return true;
}

/* The bits of the value; masks take any integer. */
static bool read_bits(const Fill *f, const TypeInfo *info, uint64_t *bits)
{
    PyObject *number = Py_NewRef(f->value);
    if (type_is_mask(info) && size_is_int(number)) {
        const int truth = PyObject_IsTrue(number);
        Py_SETREF(number, truth < 0 ? NULL : PyBool_FromLong(truth));
    }
    const bool ok = number && convert_number((VarType) info->entry, number, bits);
    Py_XDECREF(number);
    if (!ok)
        fail(f, PyExc_TypeError, info, "the value cannot become entries of this type");
    return ok;
}

/* Leaves from a value with components of its own: each is repeated for all lanes. */
static bool set_from_value(const Fill *f, Array *a, Extent lanes)
{
    const bool tensor = a->info->kind == KIND_TENSOR;
    const TypeInfo *info = tensor ? &a->info->state->types[a->info->array] : a->info;
    Array *value = convert_to(info, f->value, f->operation);
    const size_t n = array_count(a);
    bool ok = value && (array_count(value) == n || (tensor && array_count(value) == 1));
    for (size_t i = 0; i < n && ok; i++) {
        if (!a->info->jit) {
            value_store(a, i, value_of(value, array_count(value) == 1 ? 0 : i));
            continue;
        }
        const VarIndex var = array_leaves(value)[i];
        const bool some = !var_is_empty(var) && lanes.n;
        VarIndex wide = some ? var_resize(var, extent_next(lanes)) : 0;
        if (wide && f->mode == MODE_OPAQUE) {
            int scheduled;
            const VarIndex forced = var_schedule_force(wide, &scheduled);
            var_unref(wide);
            wide = forced;
        }
        ok = wide || !lanes.n;
        array_set_leaf(a, i, wide);
    }
    if (value && !ok)
        fail(f, PyExc_RuntimeError, a->info, "the value and 'shape' are incompatible");
    Py_XDECREF((PyObject *) value);
    return ok;
}

/* ---------------------------------------------------------------- objects */

/* The array as an instance of a user's subclass. Consumes it. */
static PyObject *as_class(PyTypeObject *cls, Array *a)
{
    if (!a || cls == a->info->py)
        return (PyObject *) a;
    Array *result = array_new_subclass(cls, a->info, a);
    if (result && !array_replace(result, a))
        Py_CLEAR(result);
    Py_DECREF((PyObject *) a);
    return (PyObject *) result;
}

static PyObject *make_array(const Fill *f, PyTypeObject *cls, const TypeInfo *info)
{
    Extent lanes;
    uint64_t bits = 0;
    Array *a = outline(f, info, &lanes);
    if (!a)
        return NULL;
    const bool number = f->mode == MODE_EMPTY || convert_is_number(f->value);
    const bool ok = number ? (f->mode == MODE_EMPTY || read_bits(f, info, &bits)) &&
                                 set_leaves(f, a, bits, lanes, NULL)
                           : set_from_value(f, a, lanes);
    if (!ok)
        Py_CLEAR(a);
    return as_class(cls, a);
}

/* Containers and strings, which say nothing of what they hold: they become empty ones,
 * as fields of structures, too. */
static bool is_container(PyObject *cls)
{
    return PyType_FastSubclass((PyTypeObject *) cls,
                               Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS |
                                   Py_TPFLAGS_DICT_SUBCLASS |
                                   Py_TPFLAGS_BYTES_SUBCLASS |
                                   Py_TPFLAGS_UNICODE_SUBCLASS);
}

/* PyTreeMake: an array, or a number of Python. */
static PyObject *make(void *context, PyObject *cls)
{
    const Fill *f = context;
    const TypeInfo *info = type_of_class(f->state, (PyTypeObject *) cls);
    if (is_container(cls))
        return PyObject_CallNoArgs(cls);
    return info ? make_array(f, (PyTypeObject *) cls, info)
                : PyObject_CallOneArg(cls, f->value);
}

static PyObject *build(Fill *f, PyObject *cls, PyObject *shape)
{
    if (!PyType_Check(cls))
        return error_raise(PyExc_TypeError, f->operation, &cls, 1,
                           "expected a type as 'dtype'");
    if (!read_shape(f, shape))
        return NULL;
    const TypeInfo *info = type_of_class(f->state, (PyTypeObject *) cls);
    PyObject *result = info && cls == (PyObject *) info->py
                           ? make_array(f, info->py, info)
                       : cls == (PyObject *) &PyComplex_Type
                           ? PyObject_CallOneArg(cls, f->value)
                           : build_from_class(f->state, f->operation, cls, make, f);
    if (!result || f->mode != MODE_OPAQUE || convert_is_number(f->value))
        return result;
    if (!evaluate_scheduled()) {
        error_from_core(f->operation, NULL, 0);
        Py_CLEAR(result);
    }
    return result;
}

/* ---------------------------------------------------------------- zeros ... opaque */

static PyObject *constant(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *names, const char *operation, long value, Mode mode)
{
    static const char *const parameters[] = { "dtype", "shape" };
    const Signature signature = { operation, parameters, 2, 1, 0 };
    PyObject *v[2], *number = NULL, *result = NULL;
    if (arguments_parse(&signature, args, nargs, names, v))
        number = PyLong_FromLong(value);
    if (number) {
        Fill f = { .state = state_of_module(module),
                   .operation = operation,
                   .mode = mode,
                   .value = number };
        result = build(&f, v[0], v[1]);
        Py_DECREF(number);
    }
    return result;
}

static PyObject *zeros(PyObject *module, PyObject *const *args, Py_ssize_t n,
                       PyObject *names)
{
    return constant(module, args, n, names, "zeros", 0, MODE_VALUE);
}

static PyObject *ones(PyObject *module, PyObject *const *args, Py_ssize_t n,
                      PyObject *names)
{
    return constant(module, args, n, names, "ones", 1, MODE_VALUE);
}

static PyObject *empty(PyObject *module, PyObject *const *args, Py_ssize_t n,
                       PyObject *names)
{
    return constant(module, args, n, names, "empty", 0, MODE_EMPTY);
}

static PyObject *filled(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names, const char *operation, Mode mode)
{
    static const char *const parameters[] = { "dtype", "value", "shape" };
    const Signature signature = { operation, parameters, 3, 2, 0 };
    PyObject *v[3];
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    Fill f = { .state = state_of_module(module),
               .operation = operation,
               .mode = mode,
               .value = v[1] };
    return build(&f, v[0], v[2]);
}

static PyObject *full(PyObject *module, PyObject *const *args, Py_ssize_t n,
                      PyObject *names)
{
    return filled(module, args, n, names, "full", MODE_VALUE);
}

/* opaque(value): a PyTree of the same values. */
static PyObject *opaque_copy(PyObject *module, PyObject *value)
{
    PyObject *copy = PyObject_CallMethod(module, "copy", "(O)", value);
    PyObject *done =
        copy ? PyObject_CallMethod(module, "make_opaque", "(O)", copy) : NULL;
    if (!done)
        Py_CLEAR(copy);
    Py_XDECREF(done);
    return copy;
}

static PyObject *opaque(PyObject *module, PyObject *const *args, Py_ssize_t n,
                        PyObject *names)
{
    return n == 1 && !names && !PyType_Check(args[0])
               ? opaque_copy(module, args[0])
               : filled(module, args, n, names, "opaque", MODE_OPAQUE);
}

/* ---------------------------------------------------------------- ..._like */

/* Is it an array of another framework, or a number of NumPy? */
static bool is_foreign(PyObject *leaf)
{
    PyObject *cls = (PyObject *) Py_TYPE(leaf);
    return PyObject_HasAttrString(cls, "__array__") ||
           PyObject_HasAttrString(cls, "__dlpack__");
}

/* Is it a number of NumPy? Code that has one has imported NumPy.
 * False: or an exception. */
static bool is_numpy_number(PyObject *leaf)
{
    PyObject *name = PyUnicode_FromString("numpy");
    PyObject *numpy = name ? PyImport_GetModule(name) : NULL;
    static const char *const classes[] = { "number", "bool_" };
    bool found = false;
    for (size_t i = 0; numpy && !found && i < 2; i++) {
        PyObject *cls = PyObject_GetAttrString(numpy, classes[i]);
        found = cls && PyObject_IsInstance(leaf, cls) == 1;
        Py_XDECREF(cls);
    }
    Py_XDECREF(numpy);
    Py_XDECREF(name);
    return found;
}

/* TreeMap: the same shape with other entries; what is not a number passes. */
static PyObject *make_like(void *context, PyObject *const *leaves)
{
    Fill *f = context;
    PyObject *leaf = leaves[0];
    if (size_is(leaf))
        return PyObject_CallOneArg((PyObject *) &PyLong_Type, f->value);
    if (PyBool_Check(leaf) || PyLong_CheckExact(leaf) || PyFloat_CheckExact(leaf))
        return PyObject_CallOneArg((PyObject *) Py_TYPE(leaf), f->value);
    if (!array_check(f->state, leaf)) {
        if (is_foreign(leaf) && is_numpy_number(leaf))
            return PyObject_CallOneArg((PyObject *) Py_TYPE(leaf), f->value);
        if (PyErr_Occurred())
            return NULL;
        if (is_foreign(leaf))
            return error_raise(PyExc_TypeError, f->operation, NULL, 0,
                               "a value is of type %s, expected an array of Dr.Jit; "
                               "convert it first",
                               Py_TYPE(leaf)->tp_name);
        return Py_NewRef(leaf);
    }
    const Array *like = (const Array *) leaf;
    uint64_t bits = 0;
    if (!read_bits(f, like->info, &bits)) /* first: its __float__ may change 'like' */
        return NULL;
    Array *a = array_new_like(like->info, like);
    if (a && !set_leaves(f, a, bits, extent_of(1), like))
        Py_CLEAR(a);
    return as_class(Py_TYPE(leaf), a);
}

static PyObject *like(PyObject *module, PyObject *tree, const char *operation,
                      PyObject *value, Mode mode)
{
    if (!value)
        return NULL;
    Fill f = { .state = state_of_module(module),
               .operation = operation,
               .mode = mode,
               .value = value };
    PyObject *result = tree_map(f.state, operation, &tree, 1, make_like, &f);
    Py_DECREF(value);
    return result;
}

static PyObject *zeros_like(PyObject *module, PyObject *tree)
{
    return like(module, tree, "zeros_like", PyLong_FromLong(0), MODE_VALUE);
}

static PyObject *ones_like(PyObject *module, PyObject *tree)
{
    return like(module, tree, "ones_like", PyLong_FromLong(1), MODE_VALUE);
}

static PyObject *empty_like(PyObject *module, PyObject *tree)
{
    return like(module, tree, "empty_like", PyLong_FromLong(0), MODE_EMPTY);
}

static PyObject *full_like(PyObject *module, PyObject *args)
{
    PyObject *tree, *value;
    if (!PyArg_ParseTuple(args, "OO:full_like", &tree, &value))
        return NULL;
    return like(module, tree, "full_like", Py_NewRef(value), MODE_VALUE);
}

/* ---------------------------------------------------------------- counters */

/* A one-dimensional type whose entries count; NULL: exception. */
static const TypeInfo *sequence_type(PyObject *module, const char *operation,
                                     PyObject *cls, bool only_floats)
{
    State *state = state_of_module(module);
    const TypeInfo *info =
        PyType_Check(cls) ? type_of_class(state, (PyTypeObject *) cls) : NULL;
    const bool flat = info && (info->kind == KIND_FLAT || info->kind == KIND_TENSOR ||
                               (!info->jit && info->dynamic && info->ndim == 1));
    if (flat && !type_is_mask(info) && (!only_floats || type_is_float(info)))
        return info;
    error_raise(PyExc_TypeError, operation, NULL, 0,
                "'dtype' is %R, expected a flat array type of %s", cls,
                only_floats ? "floating point numbers" : "numbers");
    return NULL;
}

static PyObject *check_sequence(PyObject *module, PyObject *args)
{
    const char *operation;
    PyObject *cls;
    int only_floats;
    return PyArg_ParseTuple(args, "sOp:_check_sequence", &operation, &cls,
                            &only_floats) &&
                   sequence_type(module, operation, cls, only_floats)
               ? Py_NewRef(Py_None)
               : NULL;
}

/* Do the entries have room for a number? */
static bool check_fit(const TypeInfo *info, long long value)
{
    uint64_t bits;
    PyObject *number = PyLong_FromLongLong(value);
    const bool ok = number && (type_is_float(info) ||
                               convert_number((VarType) info->entry, number, &bits));
    Py_XDECREF(number);
    if (!ok)
        error_raise(PyExc_OverflowError, "arange", NULL, 0,
                    "%lld is out of range for the entries of %s", value, info->name);
    return ok;
}

/* The argument of arange(dtype, size). Those of what is being recorded stay sizes, but
 * not for narrow entries. */
static bool read_size(const TypeInfo *info, PyObject *object, Extent *n)
{
    Py_ssize_t value;
    if (info->jit && info->entry_size >= 4 && size_is(object) &&
        extent_read(object, &value, n))
        return true;
    value = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred())
        return error_raise(PyErr_ExceptionMatches(PyExc_OverflowError)
                               ? PyExc_OverflowError
                               : PyExc_TypeError,
                           "arange", &object, 1, "expected an integer of 64 bits");
    *n = extent_of((size_t) value);
    if (value >= 0 && value <= UINT32_MAX)
        return value == 0 || check_fit(info, value - 1);
    if (value < 0)
        error_raise(PyExc_RuntimeError, "arange", NULL, 0,
                    "the size is negative: from 0 to %zd in steps of 1", value);
    else
        error_raise(PyExc_OverflowError, "arange", NULL, 0,
                    "the size is %zd, expected at most 2^32 - 1", value);
    return false;
}

/* The number of the lane in each of n lanes. 0: the core's error is set. */
static VarIndex lane_as(const TypeInfo *info, Extent n)
{
    const VarIndex lane = var_counter((JitBackend) info->backend, extent_next(n));
    const VarIndex cast = lane ? var_cast(lane, (VarType) info->entry) : 0;
    var_unref(lane);
    return cast;
}

static bool store_entries(Array *a)
{
    const size_t entry = a->info->entry_size;
    for (size_t i = 0; i < array_count(a); i++)
        if (!jit_host_cast(VarTypeUInt64, (VarType) a->info->entry, 0, 1, &i,
                           (char *) array_data(a) + i * entry))
            return false;
    return true;
}

/* arange(dtype, size) */
static PyObject *counter(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    Extents shape;
    Extent n;
    const TypeInfo *info =
        nargs == 2 ? sequence_type(module, "arange", args[0], false) : NULL;
    if (!info || !read_size(info, args[1], &n))
        return NULL;
    extents_set_numbers(&shape, 0, NULL);
    extents_append(&shape, n);
    Array *a = info->kind == KIND_TENSOR ? extents_new_tensor(info, &shape)
               : info->jit               ? array_new(info)
                                         : array_new_dynamic(info, extent_number(n));
    const VarIndex var = a && info->jit && n.n ? lane_as(info, n) : 0;
    if (a && (info->jit ? n.n && !var : !store_entries(a))) {
        Py_CLEAR(a);
        return error_from_core("arange", NULL, 0);
    }
    if (var)
        array_set_leaf(a, 0, var);
    return as_class((PyTypeObject *) args[0], a);
}

/* ---------------------------------------------------------------- table */

#define KEYWORDS(function) METHOD(function), METH_FASTCALL | METH_KEYWORDS

PyMethodDef create_functions[] = {
    { "zeros", KEYWORDS(zeros), DOC_zeros },
    { "ones", KEYWORDS(ones), DOC_ones },
    { "empty", KEYWORDS(empty), DOC_empty },
    { "full", KEYWORDS(full), DOC_full },
    { "opaque", KEYWORDS(opaque), DOC_opaque },
    { "_counter", METHOD(counter), METH_FASTCALL,
      "_counter(dtype, size)\n\nThe numbers of the lanes." },
    { "_check_sequence", check_sequence, METH_VARARGS,
      "_check_sequence(operation, dtype, only_floats)" },
    { "zeros_like", zeros_like, METH_O, DOC_zeros_like },
    { "ones_like", ones_like, METH_O, DOC_ones_like },
    { "empty_like", empty_like, METH_O, DOC_empty_like },
    { "full_like", full_like, METH_VARARGS, DOC_full_like },
    { NULL, NULL, 0, NULL },
};

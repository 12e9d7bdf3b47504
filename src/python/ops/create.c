/*
 * create.c -- zeros, ones, full, opaque, empty, arange, linspace, and ..._like
 *
 * A Fill says what every leaf becomes; make() builds one array from it and a shape, and
 * build_from_class() calls that for every array of a structure. Results are literals
 * (opaque: in memory; empty: undefined), which take no memory.
 */
#include <math.h>

#include "python/convert/convert.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/object/arguments.h"
#include "python/object/error.h"
#include "python/object/evaluate.h"
#include "python/object/extent.h"
#include "python/object/tables.h"
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

/* A leaf with these bits and as many entries as 'model' or, without one, the extent
 * says; one without entries is empty. */
static bool set_leaf(const Fill *f, Array *a, size_t i, uint64_t bits, Leaf model,
                     Extent extent)
{
    const TypeInfo *info = a->info;
    if (!info->jit) {
        value_store(a, i, bits);
        return true;
    }
    const bool known = !model || leaf_next_like(model);
    const size_t lanes = model ? leaf_peek_size(model) : extent_next(extent);
    const Leaf leaf = !lanes || !known         ? 0
                      : f->mode == MODE_EMPTY  ? leaf_undefined(info, lanes)
                      : f->mode == MODE_OPAQUE ? leaf_opaque(info, &bits, lanes)
                                               : leaf_literal(info, &bits, lanes);
    if (lanes && !leaf) {
        error_from_core(f->operation, NULL, 0);
        return false;
    }
    array_set_leaf(a, i, leaf);
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
        const Leaf model = like && like->info->jit ? array_leaves(like)[i] : 0;
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
        const Leaf leaf = array_leaves(value)[i];
        const bool some = !leaf_is_empty(leaf) && lanes.n;
        Leaf wide = some ? leaf_resize(leaf, extent_next(lanes)) : 0;
        if (wide && f->mode == MODE_OPAQUE) {
            int scheduled;
            const Leaf forced = leaf_schedule_force(wide, &scheduled);
            leaf_unref(wide);
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

/* PyTreeMake: an array, or a number of Python. */
static PyObject *make(void *context, PyObject *cls)
{
    const Fill *f = context;
    const TypeInfo *info = type_of_class(f->state, (PyTypeObject *) cls);
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

/* TreeMap: the same shape with other entries; what is not a number passes. */
static PyObject *make_like(void *context, PyObject *const *leaves)
{
    Fill *f = context;
    PyObject *leaf = leaves[0];
    if (size_is(leaf))
        return PyObject_CallOneArg((PyObject *) &PyLong_Type, f->value);
    if (PyBool_Check(leaf) || PyLong_CheckExact(leaf) || PyFloat_CheckExact(leaf))
        return PyObject_CallOneArg((PyObject *) Py_TYPE(leaf), f->value);
    if (!array_check(f->state, leaf))
        return Py_NewRef(leaf);
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

/* ---------------------------------------------------------------- sequences */

/* A one-dimensional type whose entries count; NULL: exception. */
static const TypeInfo *sequence_type(PyObject *module, const char *operation,
                                     PyObject *cls, bool only_floats)
{
    State *state = state_of_module(module);
    const TypeInfo *info =
        PyType_Check(cls) ? type_of_class(state, (PyTypeObject *) cls) : NULL;
    const bool flat = info && (info->kind == KIND_LEAF || info->kind == KIND_TENSOR ||
                               (!info->jit && info->dynamic && info->ndim == 1));
    if (flat && !type_is_mask(info) && (!only_floats || type_is_float(info)))
        return info;
    error_raise(PyExc_TypeError, operation, NULL, 0,
                "'dtype' is %R, expected a flat array type of %s", cls,
                only_floats ? "floating point numbers" : "numbers");
    return NULL;
}

/* A new one-dimensional array or tensor whose storage is a variable (stolen, jit). */
static Array *wrap(const TypeInfo *info, Extent n, Leaf leaf)
{
    Extents shape;
    extents_set_numbers(&shape, 0, NULL);
    extents_append(&shape, n);
    Array *a = info->kind == KIND_TENSOR ? extents_new_tensor(info, &shape)
               : info->jit               ? array_new(info)
                                         : array_new_dynamic(info, n.n);
    if (a && info->jit)
        array_set_leaf(a, 0, leaf);
    else
        leaf_unref(leaf);
    return a;
}

/* a * b + c with literals b and c of this type; consumes a. */
static Leaf affine(JitBackend backend, VarType type, Leaf a, const void *b,
                   const void *c)
{
    const Leaf factor = leaf_constant(backend, type, b);
    const Leaf start = leaf_constant(backend, type, c);
    const Leaf result = a && factor && start ? leaf_fma(a, factor, start) : 0;
    leaf_unref(a);
    leaf_unref(factor);
    leaf_unref(start);
    return result;
}

/* The lane number in another type. */
static Leaf lane_as(JitBackend backend, VarType type, Extent n)
{
    const Leaf lane = leaf_counter(backend, extent_next(n));
    const Leaf cast = lane ? leaf_cast(lane, type) : 0;
    leaf_unref(lane);
    return cast;
}

/* The same in another type and at least n entries; consumes. */
static Leaf finish(Leaf leaf, VarType type, Extent n)
{
    const Leaf cast = leaf ? leaf_cast(leaf, type) : 0;
    const Leaf wide = cast ? leaf_resize(cast, extent_next(n)) : 0;
    leaf_unref(leaf);
    leaf_unref(cast);
    return wide;
}

/* ---------------------------------------------------------------- arange */

static Array *arange_entries(const TypeInfo *info, long long start, long long step,
                             size_t n)
{
    Array *a = wrap(info, extent_of(n), 0);
    const size_t entry = info->entry_size;
    for (size_t i = 0; i < n && a; i++) {
        const int64_t value = start + (long long) i * step;
        if (!jit_host_cast(VarTypeInt64, (VarType) info->entry, 0, 1, &value,
                           (char *) array_data(a) + i * entry)) {
            error_from_core("arange", NULL, 0);
            Py_CLEAR(a);
        }
    }
    return a;
}

/* Computed in integers, 32 bits wide where that is enough, and rounded once. */
static Array *arange_traced(const TypeInfo *info, long long start, long long step,
                            Extent size)
{
    const JitBackend backend = (JitBackend) info->backend;
    const size_t n = size.n;
    const long long last = start + (long long) (n ? n - 1 : 0) * step;
    const bool narrow =
        start == (int32_t) start && last == (int32_t) last && step == (int32_t) step;
    const int32_t start32 = (int32_t) start, step32 = (int32_t) step;
    const VarType type = narrow ? VarTypeInt32 : VarTypeInt64;
    Leaf leaf = 0;
    if (n && start == 0 && step == 1) {
        leaf = lane_as(backend, (VarType) info->entry, size);
        if (!leaf)
            return (Array *) error_from_core("arange", NULL, 0);
    } else if (n) {
        leaf = affine(backend, type, lane_as(backend, type, size),
                      narrow ? (const void *) &step32 : &step,
                      narrow ? (const void *) &start32 : &start);
        leaf = finish(leaf, (VarType) info->entry, size);
        if (!leaf)
            return (Array *) error_from_core("arange", NULL, 0);
    }
    return wrap(info, size, leaf);
}

/* Do both ends fit into the entries? */
static bool check_fit(const TypeInfo *info, long long value)
{
    if (type_is_float(info))
        return true;
    uint64_t bits;
    PyObject *number = PyLong_FromLongLong(value);
    const bool ok = number && convert_number((VarType) info->entry, number, &bits);
    Py_XDECREF(number);
    if (!ok)
        error_raise(PyExc_OverflowError, "arange", NULL, 0,
                    "%lld is out of range for the entries of %s", value, info->name);
    return ok;
}

/* Number of values, -1 with an exception. */
static long long arange_size(long long start, long long stop, long long step)
{
    long long distance, size;
    if (step == 0) {
        error_raise(PyExc_ValueError, "arange", NULL, 0,
                    "'step' is 0, expected another number");
        return -1;
    }
    if (__builtin_sub_overflow(stop, start, &distance) || step == INT64_MIN ||
        distance == INT64_MIN) {
        error_raise(PyExc_OverflowError, "arange", NULL, 0,
                    "the range does not fit into 64 bits");
        return -1;
    }
    size = distance / step + (distance % step != 0 && (distance < 0) == (step < 0));
    if (distance != 0 && (distance < 0) != (step < 0)) {
        error_raise(PyExc_RuntimeError, "arange", NULL, 0,
                    "the size is negative: from %lld to %lld in steps of %lld", start,
                    stop, step);
        return -1;
    }
    if (size > UINT32_MAX) {
        error_raise(PyExc_OverflowError, "arange", NULL, 0,
                    "the size is %lld, expected at most 2^32 - 1", size);
        return -1;
    }
    return size;
}

/* An integer argument (also NumPy's); false: exception. */
static bool read_integer(const char *operation, PyObject *object, long long *value)
{
    PyObject *integer = PyNumber_Index(object);
    *value = integer ? PyLong_AsLongLong(integer) : -1;
    Py_XDECREF(integer);
    if (*value != -1 || !PyErr_Occurred())
        return true;
    error_raise(PyErr_ExceptionMatches(PyExc_OverflowError) ? PyExc_OverflowError
                                                            : PyExc_TypeError,
                operation, &object, 1, "expected an integer of 64 bits");
    return false;
}

/* v: dtype, start, stop, step; of arange(dtype, size) the size is the stop. */
static bool arange_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                             PyObject **v)
{
    static const char *const parameters[] = { "dtype", "start", "stop", "step" };
    static const char *const brief_parameters[] = { "dtype", "size" };
    static const Signature signature = { "arange", parameters, 4, 1, 0 };
    static const Signature brief_signature = { "arange", brief_parameters, 2, 2, 0 };
    bool brief = nargs == 2 && !names;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        brief |=
            PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "size") == 0;
    v[1] = v[2] = v[3] = NULL;
    if (brief) {
        PyObject *short_form[2];
        if (!arguments_parse(&brief_signature, args, nargs, names, short_form))
            return false;
        v[0] = short_form[0];
        v[2] = short_form[1];
        return true;
    }
    if (!arguments_parse(&signature, args, nargs, names, v))
        return false;
    if (!v[2])
        error_raise(PyExc_TypeError, "arange", NULL, 0,
                    "expected (dtype, size) or (dtype, start, stop, step=1)");
    return v[2];
}

/* 0, 1, ... up to a size of a recording, whatever that is? Not for narrow entries. */
static bool arange_sized(const TypeInfo *info, PyObject **v, Extent *n)
{
    Py_ssize_t value;
    return info->jit && info->entry_size >= 4 && !v[1] && !v[3] &&
           size_is(v[2]) && extent_read(v[2], &value, n);
}

static PyObject *arange(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    PyObject *v[4];
    if (!arange_arguments(args, nargs, names, v))
        return NULL;
    const TypeInfo *info = sequence_type(module, "arange", v[0], false);
    long long start = 0, stop = 0, step = 1;
    Extent n = { 0, 0 };
    if (!info)
        return NULL;
    const bool sized = arange_sized(info, v, &n);
    stop = (long long) n.n;
    if ((v[1] && !read_integer("arange", v[1], &start)) ||
        (!sized && !read_integer("arange", v[2], &stop)) ||
        (v[3] && !read_integer("arange", v[3], &step)))
        return NULL;
    const long long size = arange_size(start, stop, step);
    if (size < 0 || (size && (!check_fit(info, start) ||
                              !check_fit(info, start + (size - 1) * step))))
        return NULL;
    if (!sized)
        n = extent_of((size_t) size);
    return as_class((PyTypeObject *) v[0],
                    info->jit ? arange_traced(info, start, step, n)
                              : arange_entries(info, start, step, n.n));
}

/* ---------------------------------------------------------------- linspace */

typedef struct Interval {
    double first, last, step;
    Extent n;
    bool closed; /* entry n - 1 is exactly 'last' */
} Interval;

/* A number of the working precision. */
static Leaf working_number(JitBackend backend, VarType type, double value)
{
    const float narrow = (float) value;
    return leaf_constant(backend, type,
                         type == VarTypeFloat64 ? (const void *) &value : &narrow);
}

/* n, or n - 1 if the interval is closed. */
static Leaf count_steps(JitBackend backend, const Interval *s)
{
    if (!s->n.size)
        return leaf_u32(backend, (uint32_t) (s->n.n - s->closed));
    const Leaf n = extent_times(backend, s->n, 1);
    const Leaf less = leaf_u32(backend, s->closed);
    const Leaf steps = n && less ? leaf_sub(n, less) : 0;
    leaf_unref(n);
    leaf_unref(less);
    return steps;
}

/* The step, which is computed in double precision. */
static Leaf step_width(JitBackend backend, VarType type, const Interval *s, Leaf steps)
{
    if (!s->n.size)
        return working_number(backend, type, s->step);
    const Leaf length = working_number(backend, VarTypeFloat64, s->last - s->first);
    const Leaf count = leaf_cast(steps, VarTypeFloat64);
    const Leaf width = length && count ? leaf_div(length, count) : 0;
    const Leaf result = width ? leaf_cast(width, type) : 0;
    leaf_unref(length);
    leaf_unref(count);
    leaf_unref(width);
    return result;
}

/* The entries in working precision: fma(i, step, first). */
static Leaf trace_interval(const TypeInfo *info, VarType type, const Interval *s)
{
    const JitBackend backend = (JitBackend) info->backend;
    const Leaf lane = leaf_counter(backend, extent_next(s->n));
    const Leaf number = lane ? leaf_cast(lane, type) : 0;
    const Leaf steps = number ? count_steps(backend, s) : 0;
    const Leaf step = steps ? step_width(backend, type, s, steps) : 0;
    const Leaf first = working_number(backend, type, s->first);
    Leaf leaf = step && first ? leaf_fma(number, step, first) : 0;
    if (leaf && s->closed) {
        const Leaf last = working_number(backend, type, s->last);
        const Leaf is_end = last ? leaf_eq(lane, steps) : 0;
        const Leaf chosen = is_end ? leaf_select(is_end, last, leaf) : 0;
        leaf_unref(last);
        leaf_unref(is_end);
        leaf_unref(leaf);
        leaf = chosen;
    }
    leaf_unref(lane);
    leaf_unref(number);
    leaf_unref(steps);
    leaf_unref(step);
    leaf_unref(first);
    return finish(leaf, (VarType) info->entry, s->n);
}

static bool compute_interval(const TypeInfo *info, VarType type, const Interval *s,
                             char *entries)
{
    for (size_t i = 0; i < s->n.n; i++) {
        const bool end = s->closed && i == s->n.n - 1;
        const double wide = end ? s->last : fma((double) i, s->step, s->first);
        const float narrow = end ? (float) s->last
                                 : fmaf((float) i, (float) s->step, (float) s->first);
        if (!jit_host_cast(type, (VarType) info->entry, 0, 1,
                           type == VarTypeFloat64 ? (const void *) &wide : &narrow,
                           entries + i * info->entry_size))
            return false;
    }
    return true;
}

static bool read_bound(const char *parameter, PyObject *object, double *value)
{
    if (!array_of(object)) {
        *value = PyFloat_AsDouble(object);
        if (*value != -1 || !PyErr_Occurred())
            return true;
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return false;
    }
    error_raise(PyExc_TypeError, "linspace", &object, 1, "expected a number as '%s'",
                parameter);
    return false;
}

/* A number of entries that does not fit: an error of drjit that is a ValueError. */
static PyObject *refuse_count(long long n)
{
    PyObject *axes = PyImport_ImportModule("drjit._shape.axes");
    PyObject *cls = axes ? PyObject_GetAttrString(axes, "ShapeError") : NULL;
    if (cls)
        error_raise(cls, "linspace", NULL, 0,
                    n < 0 ? "'num' is %lld, expected 0 or more"
                          : "'num' is %lld, expected at most 2^32 - 1",
                    n);
    Py_XDECREF(axes);
    Py_XDECREF(cls);
    return NULL;
}

static PyObject *linspace(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                          PyObject *names)
{
    static const char *const parameters[] = { "dtype", "start", "stop", "num",
                                              "endpoint" };
    static const Signature signature = { "linspace", parameters, 5, 4, 0 };
    PyObject *v[5];
    Interval s;
    long long n;
    Py_ssize_t value;
    if (!arguments_parse(&signature, args, nargs, names, v))
        return NULL;
    const TypeInfo *info = sequence_type(module, "linspace", v[0], true);
    const int endpoint = !info ? -1 : v[4] ? PyObject_IsTrue(v[4]) : 1;
    if (endpoint < 0 || !read_bound("start", v[1], &s.first) ||
        !read_bound("stop", v[2], &s.last))
        return NULL;
    if (info->jit && size_is(v[3]) &&
        extent_read(v[3], &value, &s.n))
        n = (long long) s.n.n;
    else if (read_integer("linspace", v[3], &n))
        s.n = extent_of((size_t) n);
    else
        return NULL;
    if (n < 0 || n > UINT32_MAX)
        return refuse_count(n);
    const long long steps = endpoint ? n - 1 : n;
    s.step = steps > 0 ? (s.last - s.first) / (double) steps : 0;
    s.closed = endpoint && n > 1;
    const VarType type =
        info->entry == VarTypeFloat64 ? VarTypeFloat64 : VarTypeFloat32;
    const Leaf leaf = info->jit && n ? trace_interval(info, type, &s) : 0;
    if (info->jit && n && !leaf)
        return error_from_core("linspace", NULL, 0);
    Array *a = wrap(info, s.n, leaf);
    if (a && !info->jit && !compute_interval(info, type, &s, array_data(a))) {
        Py_CLEAR(a);
        return error_from_core("linspace", NULL, 0);
    }
    return as_class((PyTypeObject *) v[0], a);
}

/* ---------------------------------------------------------------- table */

#define KEYWORDS(function) METHOD(function), METH_FASTCALL | METH_KEYWORDS

PyMethodDef create_functions[] = {
    { "zeros", KEYWORDS(zeros),
      "zeros($module, /, dtype, shape=1)\n--\n\nAn array, tensor, number or structure "
      "of zeros "
      "(False for masks). 'shape' is a sequence with all extents, or the number of "
      "lanes." },
    { "ones", KEYWORDS(ones),
      "ones($module, /, dtype, shape=1)\n--\n\nAs zeros(), of ones (True for masks)." },
    { "empty", KEYWORDS(empty),
      "empty($module, /, dtype, shape=1)\n--\n\nAs zeros(), with arbitrary contents, "
      "for "
      "targets that are about to be overwritten." },
    { "full", KEYWORDS(full),
      "full($module, /, dtype, value, shape=1)\n--\n\nAs zeros(), of a given value." },
    { "opaque", KEYWORDS(opaque),
      "opaque($module, /, dtype, value, shape=1)\n--\n\nAs full(), evaluated: kernels "
      "do not "
      "contain the value, so another value needs no other kernel." },
    { "arange", KEYWORDS(arange),
      "arange(dtype, start=None, stop=None, step=1, *, size=None)\n--\n\n"
      "arange(dtype, size) or arange(dtype, start, stop, step=1): the integers start, "
      "start + step, ... before 'stop' as a one-dimensional array." },
    { "linspace", KEYWORDS(linspace),
      "linspace(dtype, start, stop, num, endpoint=True)\n--\n\n"
      "'num' evenly spaced floats. "
      "The first is 'start', the last exactly 'stop', or one step before it if "
      "'endpoint' is False." },
    { "zeros_like", zeros_like, METH_O,
      "zeros_like($module, arg, /)\n--\n\nZeros with the type and shape of 'arg'." },
    { "ones_like", ones_like, METH_O,
      "ones_like($module, arg, /)\n--\n\nOnes with the type and shape of 'arg'." },
    { "empty_like", empty_like, METH_O,
      "empty_like($module, arg, /)\n--\n\nArbitrary contents with the type and shape "
      "of "
      "'arg'." },
    { "full_like", full_like, METH_VARARGS,
      "full_like($module, arg, value, /)\n--\n\nA value with the type and shape of "
      "'arg'." },
    { NULL, NULL, 0, NULL },
};

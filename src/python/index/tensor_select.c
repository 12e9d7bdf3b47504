/*
 * tensor_select.c -- from an indexing expression to places in the storage
 *
 * Two steps. The key is read once, from left to right, which gives output axes and
 * index arrays. Then the places are computed: in drjit.scalar by counting through the
 * axes, in a just-in-time family as an expression of the lane number,
 *
 *     lane -> (lane / n) % m, ... -> offset + coordinate * stride + ...
 *
 * for which neighbouring axes that lie evenly in memory are merged first: most
 * selections are one multiplication and one addition. All is 32-bit arithmetic; that
 * places and lanes fit is checked here with 64 bits.
 */
#include "python/index/tensor_select.h"

#include "python/convert/convert.h"
#include "python/index/key.h"
#include "python/index/lanes.h"
#include "python/object/error.h"

/* ---------------------------------------------------------------- errors */

static bool fail(const Selection *s, PyObject *type, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    PyObject *text = PyUnicode_FromFormatV(format, ap);
    va_end(ap);
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    if (utf8 && type == PyExc_IndexError)
        error_raise_both("IndexError", s->operation, NULL, 0, "%s", utf8);
    else if (utf8)
        error_raise(type, s->operation, NULL, 0, "%s", utf8);
    Py_XDECREF(text);
    return false;
}

void tensor_select_clear(Selection *s)
{
    for (size_t i = 0; i < s->array_count; i++) {
        leaf_unref(s->arrays[i].variable);
        PyMem_Free(s->arrays[i].positions);
    }
    s->array_count = 0;
}

/* ---------------------------------------------------------------- index arrays */

/* What parsing keeps of a key that is an index array. */
typedef struct Key {
    Array *array; /* borrowed */
    size_t axis;  /* of the tensor */
    size_t place; /* output axis before which it was found */
} Key;

static const TypeInfo *type_at(const Selection *s, uint16_t id)
{
    return &s->info->state->types[id];
}

static bool is_index_array(const Selection *s, PyObject *key)
{
    const State *state = s->info->state;
    if (!array_check(state, key) || ((Array *) key)->info->kind != KIND_TENSOR)
        return key_is_positions(state, key);
    const TypeInfo *info = ((Array *) key)->info;
    return !type_is_mask(info) && !type_is_float(info);
}

/* Axes of an index array. */
static size_t key_shape(Array *a, size_t *shape)
{
    if (a->info->kind == KIND_TENSOR) {
        memcpy(shape, array_tensor(a)->shape, array_tensor(a)->ndim * sizeof(size_t));
        return array_tensor(a)->ndim;
    }
    const Leaf index = a->info->jit ? array_leaf(a) : 0;
    shape[0] = !a->info->jit ? array_count(a) : index ? leaf_size(index) : 0;
    return 1;
}

/* Broadcast 'shape' by another one; false: they do not fit. */
static bool combine(size_t *ndim, size_t *shape, size_t other_ndim, const size_t *other)
{
    while (*ndim < other_ndim) { /* prepend axes of extent 1 */
        memmove(shape + 1, shape, *ndim * sizeof(size_t));
        shape[0] = 1;
        ++*ndim;
    }
    for (size_t i = 1; i <= other_ndim; i++) {
        size_t *extent = &shape[*ndim - i];
        const size_t found = other[other_ndim - i];
        if (*extent == 1)
            *extent = found;
        else if (found != 1 && found != *extent)
            return false;
    }
    return true;
}

static bool fail_bounds(const Selection *s, long long index, size_t axis, size_t extent)
{
    return fail(s, PyExc_IndexError,
                "index %lld is out of bounds for axis %zu with size %zu", index, axis,
                extent);
}

/* Reading index arrays may wait; another thread may change one of them meanwhile. */
static bool fail_changed(const Selection *s)
{
    return fail(s, PyExc_RuntimeError,
                "an index array changed its size while it was read");
}

/* The n entries of an index array as one UInt32 variable; 0: exception. */
static Leaf key_variable(const Selection *s, const Key *key, size_t n, size_t extent)
{
    const TypeInfo *info = key->array->info;
    const bool is_signed = type_is_signed((VarType) info->entry);
    const VarType entry = is_signed ? VarTypeInt32 : VarTypeUInt32;
    const Kind kind = info->kind == KIND_TENSOR ? KIND_TENSOR : KIND_LEAF;
    Array *a = convert_array(
        type_at(s, type_find((Family) s->info->family, kind, 0, NULL, entry)),
        key->array, s->operation);
    if (!a)
        return 0;
    Leaf index = leaf_ref(array_leaf(a));
    Py_DECREF((PyObject *) a);
    VarInfo found;
    if (extent == 0 || !index || leaf_size(index) != n) {
        if (extent == 0)
            fail(s, PyExc_IndexError, "axis %zu has size 0, there is nothing to index",
                 key->axis);
        else
            fail_changed(s);
        leaf_unref(index);
        return 0;
    }
    if (leaf_info(index, &found) && found.state == VarStateLiteral) {
        const long long value =
            is_signed ? (int32_t) found.literal : (long long) found.literal;
        if (value >= (long long) extent || value < -(long long) extent) {
            fail_bounds(s, value, key->axis, extent);
            leaf_unref(index);
            return 0;
        }
    }
    if (is_signed)
        index = lanes_wrap((JitBackend) s->info->backend, index, extent);
    if (!index)
        error_from_core(s->operation, NULL, 0);
    return index;
}

/* Entries of an index array as positions in memory; NULL: exception. */
static size_t *key_positions(const Selection *s, const Key *key, size_t n,
                             size_t extent)
{
    const Kind kind = key->array->info->kind == KIND_TENSOR ? KIND_TENSOR : KIND_ARRAY;
    const int8_t dims[] = { DYNAMIC };
    Array *a =
        convert_array(type_at(s, type_find(FAMILY_SCALAR, kind, kind == KIND_ARRAY,
                                           dims, VarTypeInt64)),
                      key->array, s->operation);
    size_t *positions = a ? PyMem_Malloc((n + 1) * sizeof(size_t)) : NULL;
    if (a && !positions)
        PyErr_NoMemory();
    if (positions && array_count(a) != n) {
        fail_changed(s);
        PyMem_Free(positions);
        positions = NULL;
    }
    for (size_t i = 0; i < n && positions; i++) {
        const int64_t value = ((int64_t *) array_data(a))[i];
        const int64_t wrapped = value < 0 ? value + (int64_t) extent : value;
        if (wrapped < 0 || wrapped >= (int64_t) extent) {
            fail_bounds(s, value, key->axis, extent);
            PyMem_Free(positions);
            positions = NULL;
        } else {
            positions[i] = (size_t) wrapped;
        }
    }
    Py_XDECREF((PyObject *) a);
    return positions;
}

/* Entries that are in host memory are checked now. Those of a just-in-time array may
 * not be known yet: with JitFlagDebug, the gather checks them. */
static bool check_entries(const Selection *s, const Key *key, size_t n, size_t extent)
{
    if (key->array->info->jit)
        return true;
    size_t *positions = key_positions(s, key, n, extent);
    PyMem_Free(positions);
    return positions != NULL;
}

/* Give an index array the shape of the block. */
static bool expand(const Selection *s, IndexArray *array, size_t ndim,
                   const size_t *shape, size_t block_ndim, const size_t *block)
{
    Selection spread;
    if (array->size == 1)
        return true;
    if (!tensor_select_broadcast(&spread, s->info, ndim, shape, block_ndim, block))
        return fail_changed(s);
    if (spread.total == array->size)
        return true;
    if (s->info->jit) {
        const Leaf places = spread.total ? tensor_select_trace(&spread) : 0;
        const Leaf wide =
            places ? leaf_gather(array->variable, places, 0, ReduceModeAuto) : 0;
        leaf_unref(places);
        leaf_unref(array->variable);
        array->variable = wide;
        if (!wide && spread.total) {
            error_from_core(s->operation, NULL, 0);
            return false;
        }
    } else {
        size_t *places = tensor_select_list(&spread);
        for (size_t i = 0; i < spread.total && places; i++)
            places[i] = array->positions[places[i]];
        PyMem_Free(array->positions);
        array->positions = places;
        if (!places)
            return false;
    }
    array->size = spread.total;
    return true;
}

/* Read the index arrays and insert the axes of their block into the output. */
static bool add_block(Selection *s, const Key *keys, size_t n, const size_t *extents,
                      const size_t *strides, bool adjacent)
{
    size_t ndim = 0, shape[TENSOR_MAX_DIMS], one[TENSOR_MAX_DIMS], size;
    for (size_t i = 0; i < n; i++) {
        const size_t one_ndim = key_shape(keys[i].array, one);
        if (!combine(&ndim, shape, one_ndim, one))
            return fail(
                s, PyExc_IndexError,
                "index array %zu has another size than those before it, expected equal "
                "sizes or 1",
                i);
    }
    if (s->ndim + ndim > TENSOR_MAX_DIMS)
        return fail(s, PyExc_IndexError, "the result has more than %d axes",
                    TENSOR_MAX_DIMS);
    for (size_t i = 0; i < n; i++) {
        IndexArray *array = &s->arrays[i];
        const size_t one_ndim = key_shape(keys[i].array, one);
        *array = (IndexArray){ .stride = strides[keys[i].axis] };
        s->array_count = i + 1;
        if (!array_shape_size(one_ndim, one, &array->size))
            return false;
        const size_t extent = extents[keys[i].axis];
        if (!array->size)
            continue;
        if (!s->info->jit)
            array->positions = key_positions(s, &keys[i], array->size, extent);
        else if (check_entries(s, &keys[i], array->size, extent))
            array->variable = key_variable(s, &keys[i], array->size, extent);
        if ((!array->variable && !array->positions) ||
            !expand(s, array, one_ndim, one, ndim, shape))
            return false;
    }
    if (!array_shape_size(ndim, shape, &size))
        return false;
    s->block = adjacent ? keys[0].place : 0;
    s->block_ndim = ndim;
    const size_t after = s->ndim - s->block;
    memmove(s->shape + s->block + ndim, s->shape + s->block, after * sizeof(size_t));
    memmove(s->stride + s->block + ndim, s->stride + s->block, after * sizeof(int64_t));
    memcpy(s->shape + s->block, shape, ndim * sizeof(size_t));
    memset(s->stride + s->block, 0, ndim * sizeof(int64_t));
    s->ndim += ndim;
    return true;
}

/* ---------------------------------------------------------------- the key */

static bool add_axis(Selection *s, size_t extent, int64_t stride)
{
    if (s->ndim == TENSOR_MAX_DIMS)
        return fail(s, PyExc_IndexError, "the result has more than %d axes",
                    TENSOR_MAX_DIMS);
    s->shape[s->ndim] = extent;
    s->stride[s->ndim++] = stride;
    return true;
}

static bool add_integer(Selection *s, PyObject *key, size_t axis, size_t extent,
                        size_t stride)
{
    const Py_ssize_t found = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (found == -1 && PyErr_Occurred())
        return false;
    const Py_ssize_t index = found < 0 ? found + (Py_ssize_t) extent : found;
    if (index < 0 || index >= (Py_ssize_t) extent)
        return fail_bounds(s, (long long) found, axis, extent);
    s->offset += (size_t) index * stride;
    return true;
}

static bool add_slice(Selection *s, PyObject *key, size_t extent, size_t stride)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0)
        return false;
    const Py_ssize_t n =
        PySlice_AdjustIndices((Py_ssize_t) extent, &start, &stop, step);
    if (n)
        s->offset += (size_t) start * stride;
    return add_axis(s, (size_t) n, n > 1 ? (int64_t) (step * (Py_ssize_t) stride) : 0);
}

static bool consumes_axis(PyObject *key)
{
    return key != Py_None && key != Py_Ellipsis;
}

/* Distance of neighbours along each axis; false if the size exceeds 63 bits. */
static bool strides_of(const Selection *s, size_t ndim, const size_t *shape,
                       size_t *strides)
{
    size_t size = 1;
    for (size_t i = ndim; i-- > 0;) {
        strides[i] = size;
        if (__builtin_mul_overflow(size, shape[i] ? shape[i] : 1, &size) ||
            size > INT64_MAX)
            return fail(s, PyExc_OverflowError,
                        "the number of entries of the tensor exceeds 63 bits");
    }
    return true;
}

/* Lanes and places are UInt32 in a jit family. */
static bool check_range(Selection *s, size_t size)
{
    if (!array_shape_size(s->ndim, s->shape, &s->total))
        return false;
    if (!s->info->jit || !s->total)
        return true;
    size_t largest = s->offset;
    for (size_t i = 0; i < s->ndim; i++)
        if (s->stride[i] > 0)
            largest += (s->shape[i] - 1) * (size_t) s->stride[i];
    if (s->array_count && size)
        largest = size - 1;
    if (largest > UINT32_MAX || s->total > UINT32_MAX)
        return fail(
            s, PyExc_OverflowError,
            "indices of a selection of %zu entries up to position %zu do not fit into "
            "32 bits",
            s->total, largest);
    return true;
}

static bool parse_items(Selection *s, size_t ndim, const size_t *shape,
                        PyObject *const *items, size_t n)
{
    size_t strides[TENSOR_MAX_DIMS], consumed = 0, axis = 0, key_count = 0, size;
    Key keys[TENSOR_MAX_DIMS];
    bool ellipsis = false, adjacent = true, interrupted = false;
    for (size_t i = 0; i < n; i++)
        consumed += consumes_axis(items[i]);
    if (consumed > ndim)
        return fail(s, PyExc_IndexError,
                    "found %zu indices, expected at most %zu: one for each axis",
                    consumed, ndim);
    if (!strides_of(s, ndim, shape, strides) || !array_shape_size(ndim, shape, &size))
        return false;
    for (size_t i = 0; i < n; i++) {
        PyObject *key = items[i];
        bool ok = true;
        interrupted |= key_count && !key_is_integer(key) && !is_index_array(s, key);
        if (key == Py_None) {
            ok = add_axis(s, 1, 0);
        } else if (key == Py_Ellipsis) {
            if (ellipsis)
                return fail(s, PyExc_IndexError,
                            "found several ellipses (...), expected at most one");
            ellipsis = true;
            for (size_t k = consumed; k < ndim && ok; k++, axis++)
                ok = add_axis(s, shape[axis], (int64_t) strides[axis]);
        } else if (key_is_integer(key)) {
            ok = add_integer(s, key, axis, shape[axis], strides[axis]);
            axis++;
        } else if (PySlice_Check(key)) {
            ok = add_slice(s, key, shape[axis], strides[axis]);
            axis++;
        } else if (is_index_array(s, key)) {
            adjacent &= !interrupted;
            keys[key_count++] = (Key){ (Array *) key, axis, s->ndim };
            axis++;
        } else {
            return fail(s, PyExc_TypeError,
                        "the key is of type %s, expected an integer, slice, index "
                        "array, None or ...",
                        Py_TYPE(key)->tp_name);
        }
        if (!ok)
            return false;
    }
    for (; axis < ndim; axis++)
        if (!add_axis(s, shape[axis], (int64_t) strides[axis]))
            return false;
    return (!key_count || add_block(s, keys, key_count, shape, strides, adjacent)) &&
           check_range(s, size);
}

bool tensor_select_parse(Selection *s, const TypeInfo *info, const char *operation,
                         size_t ndim, const size_t *shape, PyObject *key)
{
    s->info = info;
    s->operation = operation;
    s->ndim = s->offset = s->total = 0;
    s->block = s->block_ndim = s->array_count = 0;
    if (!PyTuple_Check(key))
        return parse_items(s, ndim, shape, &key, 1);
    return parse_items(s, ndim, shape, PySequence_Fast_ITEMS(key),
                       (size_t) PyTuple_GET_SIZE(key));
}

bool tensor_select_broadcast(Selection *s, const TypeInfo *info, size_t ndim,
                             const size_t *shape, size_t to_ndim, const size_t *to)
{
    *s = (Selection){
        .info = info, .operation = "broadcast", .ndim = to_ndim, .total = 1
    };
    size_t stride = 1;
    for (; ndim > to_ndim; ndim--, shape++)
        if (shape[0] != 1)
            return false;
    for (size_t i = to_ndim; i-- > 0;) {
        const bool has = i + ndim >= to_ndim;
        const size_t extent = has ? shape[i + ndim - to_ndim] : 1;
        if (extent != 1 && extent != to[i])
            return false;
        s->shape[i] = to[i];
        s->stride[i] = extent == 1 ? 0 : (int64_t) stride;
        stride *= extent;
        s->total *= to[i];
    }
    return true;
}

void tensor_select_transpose(Selection *s, const TypeInfo *info, size_t ndim,
                             const size_t *shape)
{
    *s = (Selection){ .info = info, .operation = "mT", .ndim = ndim, .total = 1 };
    for (size_t i = ndim; i-- > 0;) {
        s->shape[i] = shape[i];
        s->stride[i] = (int64_t) s->total;
        s->total *= shape[i];
    }
    const size_t extent = s->shape[ndim - 1];
    const int64_t stride = s->stride[ndim - 1];
    s->shape[ndim - 1] = s->shape[ndim - 2];
    s->stride[ndim - 1] = s->stride[ndim - 2];
    s->shape[ndim - 2] = extent;
    s->stride[ndim - 2] = stride;
}

/* ---------------------------------------------------------------- merged axes */

/* Output axes with neighbours merged where memory allows; the block is one axis. */
typedef struct Axis {
    size_t extent;
    int64_t stride;
    bool block;
} Axis;

static size_t merge(const Selection *s, Axis *axes)
{
    size_t n = 0;
    for (size_t i = 0; i < s->ndim; i++) {
        const bool block = i >= s->block && i < s->block + s->block_ndim;
        Axis *last = n ? &axes[n - 1] : NULL;
        if (s->shape[i] == 1)
            continue;
        if (last && block && last->block)
            last->extent *= s->shape[i];
        else if (last && !block && !last->block &&
                 last->stride == s->stride[i] * (int64_t) s->shape[i])
            *last = (Axis){ last->extent * s->shape[i], s->stride[i], false };
        else
            axes[n++] = (Axis){ s->shape[i], s->stride[i], block };
    }
    return n;
}

bool tensor_select_is_prefix(const Selection *s)
{
    Axis axes[TENSOR_MAX_DIMS];
    const size_t n = merge(s, axes);
    return s->offset == 0 && !s->array_count &&
           (n == 0 || (n == 1 && axes[0].stride == 1));
}

/* ---------------------------------------------------------------- traced places */

/* An operation that consumes its operands; 0 if one of them is. */
static Leaf combine_variables(JitOp op, Leaf a, Leaf b)
{
    const Leaf result = a && b ? leaf_op(op, 2, (Leaf[]){ a, b }) : 0;
    leaf_unref(a);
    leaf_unref(b);
    return result;
}

static Leaf constant(const Selection *s, uint64_t value)
{
    return leaf_u32((JitBackend) s->info->backend, (uint32_t) value);
}

/* place += coordinate * stride; consumes 'place' and 'coordinate'. */
static Leaf advance(const Selection *s, Leaf place, Leaf coordinate, int64_t stride)
{
    const Leaf scaled =
        combine_variables(JitOpMul, coordinate, constant(s, (uint64_t) stride));
    return combine_variables(JitOpAdd, place, scaled);
}

/* Add what the index arrays say at a block coordinate (consumed; 0: the only one). */
static Leaf advance_block(const Selection *s, Leaf place, Leaf coordinate, bool whole)
{
    for (size_t i = 0; i < s->array_count; i++) {
        const IndexArray *array = &s->arrays[i];
        const bool direct = array->size == 1 || whole;
        const Leaf index = direct ? leaf_ref(array->variable)
                                  : leaf_gather(array->variable, coordinate, 0,
                                                ReduceModeAuto);
        place = advance(s, place, index, (int64_t) array->stride);
    }
    leaf_unref(coordinate);
    return place;
}

Leaf tensor_select_trace(const Selection *s)
{
    Axis axes[TENSOR_MAX_DIMS];
    const size_t n = merge(s, axes);
    bool seen = false;
    Leaf place = constant(s, s->offset);
    Leaf rest = leaf_counter((JitBackend) s->info->backend, s->total);
    for (size_t i = n; i-- > 0;) {
        Leaf coordinate = rest ? leaf_ref(rest) : 0;
        if (i) { /* coordinate = rest % extent, rest = rest / extent */
            const Leaf quotient =
                combine_variables(JitOpDiv, rest, constant(s, axes[i].extent));
            rest = quotient;
            const Leaf multiple = quotient
                                      ? combine_variables(JitOpMul, leaf_ref(quotient),
                                                          constant(s, axes[i].extent))
                                      : 0;
            coordinate = combine_variables(JitOpSub, coordinate, multiple);
        }
        if (axes[i].block)
            place = advance_block(s, place, coordinate, n == 1);
        else if (axes[i].stride)
            place = advance(s, place, coordinate, axes[i].stride);
        else
            leaf_unref(coordinate);
        seen |= axes[i].block;
    }
    if (!seen)
        place = advance_block(s, place, 0, true);
    /* Without a lane number in it the expression has one entry: repeat it. */
    Leaf result = place ? leaf_resize(place, s->total) : 0;
    leaf_unref(place);
    leaf_unref(rest);
    return result;
}

/* ---------------------------------------------------------------- places in memory */

size_t *tensor_select_list(const Selection *s)
{
    if (s->total > PY_SSIZE_T_MAX / sizeof(size_t) - 1)
        return (size_t *) PyErr_NoMemory();
    size_t *places = PyMem_Malloc((s->total + 1) * sizeof(size_t));
    if (!places)
        return (size_t *) PyErr_NoMemory();
    size_t coordinate[TENSOR_MAX_DIMS] = { 0 };
    for (size_t lane = 0; lane < s->total; lane++) {
        size_t place = s->offset, block = 0;
        for (size_t i = 0; i < s->ndim; i++) {
            place += coordinate[i] * (size_t) s->stride[i];
            if (i >= s->block && i < s->block + s->block_ndim)
                block = block * s->shape[i] + coordinate[i];
        }
        for (size_t i = 0; i < s->array_count; i++) {
            const IndexArray *array = &s->arrays[i];
            place += array->positions[array->size == 1 ? 0 : block] * array->stride;
        }
        places[lane] = place;
        for (size_t i = s->ndim; i-- > 0;) {
            if (++coordinate[i] < s->shape[i])
                break;
            coordinate[i] = 0;
        }
    }
    return places;
}

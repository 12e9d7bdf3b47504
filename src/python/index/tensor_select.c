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

#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/index/key.h"
#include "python/index/lanes.h"
#include "python/index/slice_indices.h"
#include "python/memory/access.h"
#include "python/ops/broadcast.h"

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
        var_unref(s->arrays[i].variable);
        PyMem_Free(s->arrays[i].indices);
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
        return key_is_indices(state, key);
    const TypeInfo *info = ((Array *) key)->info;
    return !type_is_mask(info) && !type_is_float(info);
}

/* Axes of an index array. */
static void key_shape(Array *a, Extents *shape)
{
    if (a->info->kind == KIND_TENSOR) {
        extents_of(a, shape);
        return;
    }
    extents_set_numbers(shape, 0, NULL);
    extents_append(shape, access_extent(a));
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
static VarIndex key_variable(const Selection *s, const Key *key, size_t n,
                             Extent extent)
{
    const TypeInfo *info = key->array->info;
    const bool is_signed = type_is_signed((VarType) info->entry);
    const VarType entry = is_signed ? VarTypeInt32 : VarTypeUInt32;
    const Kind kind = info->kind == KIND_TENSOR ? KIND_TENSOR : KIND_FLAT;
    Array *a = convert_array(
        type_at(s, type_find((Family) s->info->family, kind, 0, NULL, entry)),
        key->array, s->operation);
    if (!a)
        return 0;
    VarIndex index = var_ref(array_var(a));
    Py_DECREF((PyObject *) a);
    VarInfo found;
    if (extent.n == 0 || !index || var_peek_size(index) != n) {
        if (extent.n == 0)
            fail(s, PyExc_IndexError, "axis %zu has size 0, there is nothing to index",
                 key->axis);
        else
            fail_changed(s);
        var_unref(index);
        return 0;
    }
    if (var_info(index, &found) && found.state == VarStateLiteral) {
        const long long value =
            is_signed ? (int32_t) found.literal : (long long) found.literal;
        if (!extent_exceeds(extent, (size_t) (value < 0 ? -(value + 1) : value))) {
            fail_bounds(s, value, key->axis, extent.n);
            var_unref(index);
            return 0;
        }
    }
    if (is_signed)
        index = lanes_wrap((JitBackend) s->info->backend, index, extent);
    if (!index)
        error_from_core(s->operation, NULL, 0);
    return index;
}

/* Entries of an index array as indices in memory; NULL: exception. */
static size_t *key_indices(const Selection *s, const Key *key, size_t n,
                             size_t extent)
{
    const Kind kind = key->array->info->kind == KIND_TENSOR ? KIND_TENSOR : KIND_ARRAY;
    const int8_t dims[] = { DYNAMIC };
    Array *a =
        convert_array(type_at(s, type_find(FAMILY_SCALAR, kind, kind == KIND_ARRAY,
                                           dims, VarTypeInt64)),
                      key->array, s->operation);
    size_t *indices = a ? PyMem_Malloc((n + 1) * sizeof(size_t)) : NULL;
    if (a && !indices)
        PyErr_NoMemory();
    if (indices && array_count(a) != n) {
        fail_changed(s);
        PyMem_Free(indices);
        indices = NULL;
    }
    for (size_t i = 0; i < n && indices; i++) {
        const int64_t value = ((int64_t *) array_data(a))[i];
        const int64_t wrapped = value < 0 ? value + (int64_t) extent : value;
        if (wrapped < 0 || wrapped >= (int64_t) extent) {
            fail_bounds(s, value, key->axis, extent);
            PyMem_Free(indices);
            indices = NULL;
        } else {
            indices[i] = (size_t) wrapped;
        }
    }
    Py_XDECREF((PyObject *) a);
    return indices;
}

/* Entries that are in host memory are checked now. Those of a just-in-time array may
 * not be known yet: with JitFlagDebug, the gather checks them. */
static bool check_entries(const Selection *s, const Key *key, size_t n, Extent extent)
{
    if (key->array->info->jit)
        return true;
    size_t *indices = key_indices(s, key, n, extent_number(extent));
    PyMem_Free(indices);
    return indices != NULL;
}

/* Give an index array the shape of the block. */
static bool expand(const Selection *s, IndexArray *array, const Extents *shape,
                   const Extents *block)
{
    Selection spread;
    if (array->size.n == 1)
        return true;
    if (!tensor_select_broadcast(&spread, s->info, shape, block))
        return fail_changed(s);
    if (extent_equal(spread.total, array->size))
        return true;
    if (s->info->jit) {
        const VarIndex places = spread.total.n ? tensor_select_trace(&spread) : 0;
        const VarIndex wide = places ? var_gather_whole(array->variable, places) : 0;
        var_unref(places);
        var_unref(array->variable);
        array->variable = wide;
        if (!wide && spread.total.n)
            return error_from_core(s->operation, NULL, 0);
    } else {
        size_t *places = tensor_select_list(&spread);
        for (size_t i = 0; i < spread.total.n && places; i++)
            places[i] = array->indices[places[i]];
        PyMem_Free(array->indices);
        array->indices = places;
        if (!places)
            return false;
    }
    array->size = spread.total;
    return true;
}

/* Insert the axes of a block into the output. */
static void insert_block(Selection *s, size_t at, const Extents *block)
{
    const Extents shape = s->shape;
    const size_t after = shape.ndim - at;
    extents_set_numbers(&s->shape, 0, NULL);
    for (size_t i = 0; i < at; i++)
        extents_append(&s->shape, extents_get(&shape, i));
    for (size_t i = 0; i < block->ndim; i++)
        extents_append(&s->shape, extents_get(block, i));
    for (size_t i = at; i < shape.ndim; i++)
        extents_append(&s->shape, extents_get(&shape, i));
    memmove(s->stride + at + block->ndim, s->stride + at, after * sizeof(Stride));
    memset(s->stride + at, 0, block->ndim * sizeof(Stride));
    s->block = at;
    s->block_ndim = block->ndim;
}

/* Read the index arrays and insert the axes of their block into the output. */
static bool add_block(Selection *s, const Key *keys, size_t n, const Extents *extents,
                      const Extents *strides, bool adjacent)
{
    Extents block, one;
    extents_set_numbers(&block, 0, NULL);
    for (size_t i = 0; i < n; i++) {
        key_shape(keys[i].array, &one);
        if (!broadcast_merge(&block, &one))
            return fail(
                s, PyExc_IndexError,
                "index array %zu has another size than those before it, expected equal "
                "sizes or 1",
                i);
    }
    if (s->shape.ndim + block.ndim > TENSOR_MAX_DIMS)
        return fail(s, PyExc_IndexError, "the result has more than %d axes",
                    TENSOR_MAX_DIMS);
    for (size_t i = 0; i < n; i++) {
        IndexArray *array = &s->arrays[i];
        key_shape(keys[i].array, &one);
        *array = (IndexArray){ .stride = extents_get(strides, keys[i].axis) };
        s->array_count = i + 1;
        if (!extents_total(&one, &array->size))
            return false;
        const Extent extent = extents_get(extents, keys[i].axis);
        const size_t size = array->size.n;
        if (!size)
            continue;
        if (!s->info->jit)
            array->indices = key_indices(s, &keys[i], size, extent.n);
        else if (check_entries(s, &keys[i], size, extent))
            array->variable = key_variable(s, &keys[i], size, extent);
        if ((!array->variable && !array->indices) || !expand(s, array, &one, &block))
            return false;
    }
    size_t size;
    if (!array_shape_size(block.ndim, block.dims, &size))
        return false;
    insert_block(s, adjacent ? keys[0].place : 0, &block);
    return true;
}

/* ---------------------------------------------------------------- the key */

static bool add_axis(Selection *s, Extent extent, Extent distance, bool down)
{
    if (s->shape.ndim == TENSOR_MAX_DIMS)
        return fail(s, PyExc_IndexError, "the result has more than %d axes",
                    TENSOR_MAX_DIMS);
    s->stride[s->shape.ndim] = (Stride) { distance, down };
    extents_append(&s->shape, extent);
    return true;
}

static bool add_integer(Selection *s, PyObject *key, size_t axis, Extent extent,
                        Extent stride)
{
    const Py_ssize_t found = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (found == -1 && PyErr_Occurred())
        return false;
    const size_t distance = (size_t) (found < 0 ? -(found + 1) : found);
    if (!extent_exceeds(extent, distance))
        return fail_bounds(s, (long long) found, axis, extent.n);
    const Extent index = found < 0 ? extent_sub(extent, extent_of(distance + 1))
                                   : extent_of(distance);
    s->offset = extent_add(s->offset, extent_mul(index, stride));
    return true;
}

static bool add_slice(Selection *s, PyObject *key, Extent extent, Extent stride)
{
    SliceIndices p;
    if (!slice_indices(key, extent, &p))
        return false;
    if (p.count.n)
        s->offset = extent_add(s->offset, extent_mul(p.start, stride));
    const size_t step = p.count.n > 1 ? p.step : 0;
    return add_axis(s, p.count, extent_mul(extent_of(step), stride), p.down);
}

static bool consumes_axis(PyObject *key)
{
    return key != Py_None && key != Py_Ellipsis;
}

/* Distance of neighbours along each axis; false if the size exceeds 63 bits. */
static bool strides_of(const Selection *s, const Extents *shape, Extents *strides)
{
    Extent size = extent_of(1);
    size_t check = 1;
    extents_set_numbers(strides, shape->ndim, shape->dims);
    for (size_t i = shape->ndim; i-- > 0;) {
        const Extent extent = extents_get(shape, i);
        extents_set(strides, i, size);
        if (__builtin_mul_overflow(check, extent.n ? extent.n : 1, &check) ||
            check > INT64_MAX)
            return fail(s, PyExc_OverflowError,
                        "the number of entries of the tensor exceeds 63 bits");
        size = extent.n ? extent_mul(size, extent) : size;
    }
    return true;
}

/* Lanes and places are UInt32 in a jit family. */
static bool check_range(Selection *s, size_t size)
{
    if (!extents_total(&s->shape, &s->total))
        return false;
    if (!s->info->jit || !s->total.n)
        return true;
    size_t largest = s->offset.n;
    for (size_t i = 0; i < s->shape.ndim; i++)
        if (!s->stride[i].down)
            largest += (s->shape.dims[i] - 1) * s->stride[i].distance.n;
    if (s->array_count && size)
        largest = size - 1;
    if (largest > UINT32_MAX || s->total.n > UINT32_MAX)
        return fail(
            s, PyExc_OverflowError,
            "indices of a selection of %zu entries up to position %zu do not fit into "
            "32 bits",
            s->total.n, largest);
    return true;
}

static bool parse_items(Selection *s, const Extents *shape, PyObject *const *items,
                        size_t n)
{
    const size_t ndim = shape->ndim;
    size_t consumed = 0, axis = 0, key_count = 0, size;
    Extents strides;
    Key keys[TENSOR_MAX_DIMS];
    bool ellipsis = false, adjacent = true, interrupted = false;
    for (size_t i = 0; i < n; i++)
        consumed += consumes_axis(items[i]);
    if (consumed > ndim)
        return fail(s, PyExc_IndexError,
                    "found %zu indices, expected at most %zu: one for each axis",
                    consumed, ndim);
    if (!strides_of(s, shape, &strides) || !array_shape_size(ndim, shape->dims, &size))
        return false;
    for (size_t i = 0; i < n; i++) {
        PyObject *key = items[i];
        bool ok = true;
        interrupted |= key_count && !key_is_integer(key) && !is_index_array(s, key);
        if (key == Py_None) {
            ok = add_axis(s, extent_of(1), extent_of(0), false);
        } else if (key == Py_Ellipsis) {
            if (ellipsis)
                return fail(s, PyExc_IndexError,
                            "found several ellipses (...), expected at most one");
            ellipsis = true;
            for (size_t k = consumed; k < ndim && ok; k++, axis++)
                ok = add_axis(s, extents_get(shape, axis), extents_get(&strides, axis),
                              false);
        } else if (key_is_integer(key)) {
            ok = add_integer(s, key, axis, extents_get(shape, axis),
                             extents_get(&strides, axis));
            axis++;
        } else if (PySlice_Check(key)) {
            ok = add_slice(s, key, extents_get(shape, axis),
                           extents_get(&strides, axis));
            axis++;
        } else if (is_index_array(s, key)) {
            adjacent &= !interrupted;
            keys[key_count++] = (Key){ (Array *) key, axis, s->shape.ndim };
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
        if (!add_axis(s, extents_get(shape, axis), extents_get(&strides, axis), false))
            return false;
    return (!key_count || add_block(s, keys, key_count, shape, &strides, adjacent)) &&
           check_range(s, size);
}

bool tensor_select_parse(Selection *s, const TypeInfo *info, const char *operation,
                         const Extents *shape, PyObject *key)
{
    s->info = info;
    s->operation = operation;
    extents_set_numbers(&s->shape, 0, NULL);
    s->offset = s->total = extent_of(0);
    s->block = s->block_ndim = s->array_count = 0;
    if (!PyTuple_Check(key))
        return parse_items(s, shape, &key, 1);
    return parse_items(s, shape, PySequence_Fast_ITEMS(key),
                       (size_t) PyTuple_GET_SIZE(key));
}

bool tensor_select_broadcast(Selection *s, const TypeInfo *info, const Extents *shape,
                             const Extents *to)
{
    size_t excess = shape->ndim > to->ndim ? shape->ndim - to->ndim : 0;
    const size_t missing = excess ? 0 : to->ndim - shape->ndim;
    Extent stride = extent_of(1);
    s->info = info;
    s->operation = "broadcast";
    s->shape = *to;
    s->offset = extent_of(0);
    s->total = extent_of(1);
    s->block = s->block_ndim = s->array_count = 0;
    for (size_t i = 0; i < excess; i++)
        if (shape->dims[i] != 1)
            return false;
    for (size_t i = to->ndim; i-- > 0;) {
        const Extent wanted = extents_get(to, i);
        const Extent extent = i < missing
                                  ? extent_of(1)
                                  : extents_get(shape, i + excess - missing);
        if (extent.n != 1 && !extent_equal(extent, wanted))
            return false;
        s->stride[i] = (Stride) { extent.n == 1 ? extent_of(0) : stride, false };
        stride = extent_mul(stride, extent);
        s->total = extent_mul(s->total, wanted);
    }
    return true;
}

void tensor_select_transpose(Selection *s, const TypeInfo *info, const Extents *shape)
{
    const size_t ndim = shape->ndim;
    s->info = info;
    s->operation = "mT";
    s->shape = *shape;
    s->offset = extent_of(0);
    s->total = extent_of(1);
    s->block = s->block_ndim = s->array_count = 0;
    for (size_t i = ndim; i-- > 0;) {
        s->stride[i] = (Stride) { s->total, false };
        s->total = extent_mul(s->total, extents_get(shape, i));
    }
    const Stride stride = s->stride[ndim - 1];
    s->stride[ndim - 1] = s->stride[ndim - 2];
    s->stride[ndim - 2] = stride;
    extents_set(&s->shape, ndim - 1, extents_get(shape, ndim - 2));
    extents_set(&s->shape, ndim - 2, extents_get(shape, ndim - 1));
}

/* ---------------------------------------------------------------- merged axes */

/* Output axes with neighbours merged where memory allows; the block is one axis. */
typedef struct Axis {
    Extent extent;
    Stride stride;
    bool block;
} Axis;

/* Does an axis follow another one evenly in memory? */
static bool follows(Stride outer, Stride inner, Extent extent)
{
    return outer.down == inner.down &&
           extent_equal(outer.distance, extent_mul(inner.distance, extent));
}

static size_t merge(const Selection *s, Axis *axes)
{
    size_t n = 0;
    for (size_t i = 0; i < s->shape.ndim; i++) {
        const bool block = i >= s->block && i < s->block + s->block_ndim;
        const Extent extent = extents_get(&s->shape, i);
        Axis *last = n ? &axes[n - 1] : NULL;
        if (extent.n == 1)
            continue;
        if (last && block && last->block)
            last->extent = extent_mul(last->extent, extent);
        else if (last && !block && !last->block &&
                 follows(last->stride, s->stride[i], extent))
            *last = (Axis){ extent_mul(last->extent, extent), s->stride[i], false };
        else
            axes[n++] = (Axis){ extent, s->stride[i], block };
    }
    return n;
}

bool tensor_select_is_prefix(const Selection *s)
{
    Axis axes[TENSOR_MAX_DIMS];
    const size_t n = merge(s, axes);
    return s->offset.n == 0 && !s->array_count &&
           (n == 0 || (n == 1 && axes[0].stride.distance.n == 1 &&
                       !axes[0].stride.down));
}

bool tensor_select_is_by_lanes(const Selection *s)
{
    for (size_t i = 0; i < s->shape.ndim; i++)
        if ((i < s->block || i >= s->block + s->block_ndim) && s->shape.dims[i] != 1)
            return false;
    return s->array_count > 0;
}

/* ---------------------------------------------------------------- traced places */

/* An operation that consumes its operands; 0 if one of them is. */
static VarIndex combine_variables(JitOp op, VarIndex a, VarIndex b)
{
    const VarIndex result = a && b ? var_op(op, 2, (VarIndex[]){ a, b }) : 0;
    var_unref(a);
    var_unref(b);
    return result;
}

static JitBackend backend_of(const Selection *s)
{
    return (JitBackend) s->info->backend;
}

/* place += coordinate * stride; consumes 'place' and 'coordinate'. */
static VarIndex advance(const Selection *s, VarIndex place, VarIndex coordinate,
                        Stride stride)
{
    const VarIndex distance =
        extent_times(backend_of(s), stride.distance, stride.down ? UINT32_MAX : 1);
    const VarIndex scaled = combine_variables(JitOpMul, coordinate, distance);
    return combine_variables(JitOpAdd, place, scaled);
}

/* Add what the index arrays say at a block coordinate (consumed; 0: the only one). */
static VarIndex advance_block(const Selection *s, VarIndex place, VarIndex coordinate,
                              bool whole)
{
    for (size_t i = 0; i < s->array_count; i++) {
        const IndexArray *array = &s->arrays[i];
        const bool direct = array->size.n == 1 || whole;
        const VarIndex index = direct ? var_ref(array->variable)
                                  : var_gather_whole(array->variable, coordinate);
        place = advance(s, place, index, (Stride) { array->stride, false });
    }
    var_unref(coordinate);
    return place;
}

/* The lane's coordinate along the last axis of those that are left: '*rest' becomes its
 * number along the others. */
static VarIndex take_coordinate(const Selection *s, Extent extent, VarIndex *rest)
{
    const VarIndex n = extent_times(backend_of(s), extent, 1);
    const VarIndex lane = *rest ? var_ref(*rest) : 0;
    *rest = combine_variables(JitOpDiv, *rest, n ? var_ref(n) : 0);
    const VarIndex multiple =
        combine_variables(JitOpMul, *rest ? var_ref(*rest) : 0, n);
    return combine_variables(JitOpSub, lane, multiple);
}

VarIndex tensor_select_trace(const Selection *s)
{
    Axis axes[TENSOR_MAX_DIMS];
    const size_t n = merge(s, axes);
    bool seen = false;
    VarIndex place = extent_times(backend_of(s), s->offset, 1);
    VarIndex rest = var_counter(backend_of(s), extent_next(s->total));
    for (size_t i = n; i-- > 0;) {
        const VarIndex coordinate = i      ? take_coordinate(s, axes[i].extent, &rest)
                                : rest ? var_ref(rest)
                                       : 0;
        if (axes[i].block)
            place = advance_block(s, place, coordinate, n == 1);
        else if (axes[i].stride.distance.n)
            place = advance(s, place, coordinate, axes[i].stride);
        else
            var_unref(coordinate);
        seen |= axes[i].block;
    }
    if (!seen)
        place = advance_block(s, place, 0, true);
    /* Without a lane number in it the expression has one entry: repeat it. */
    VarIndex result = place ? var_resize(place, extent_next(s->total)) : 0;
    var_unref(place);
    var_unref(rest);
    return result;
}

/* ---------------------------------------------------------------- places in memory */

size_t *tensor_select_list(const Selection *s)
{
    const size_t total = s->total.n, ndim = s->shape.ndim;
    if (total > PY_SSIZE_T_MAX / sizeof(size_t) - 1)
        return (size_t *) PyErr_NoMemory();
    size_t *places = PyMem_Malloc((total + 1) * sizeof(size_t));
    if (!places)
        return (size_t *) PyErr_NoMemory();
    size_t coordinate[TENSOR_MAX_DIMS] = { 0 };
    for (size_t lane = 0; lane < total; lane++) {
        size_t place = s->offset.n, block = 0;
        for (size_t i = 0; i < ndim; i++) {
            const size_t distance = coordinate[i] * s->stride[i].distance.n;
            place += s->stride[i].down ? -distance : distance;
            if (i >= s->block && i < s->block + s->block_ndim)
                block = block * s->shape.dims[i] + coordinate[i];
        }
        for (size_t i = 0; i < s->array_count; i++) {
            const IndexArray *array = &s->arrays[i];
            place += array->indices[array->size.n == 1 ? 0 : block] * array->stride.n;
        }
        places[lane] = place;
        for (size_t i = ndim; i-- > 0;) {
            if (++coordinate[i] < s->shape.dims[i])
                break;
            coordinate[i] = 0;
        }
    }
    return places;
}

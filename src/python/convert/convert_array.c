/*
 * convert_array.c -- conversions between array types
 *
 * Between two nested arrays the rule is:
 *
 *     same leading extent       component by component
 *     the source has the shape  it is used for every component (rows of Array22f
 *     of a component            from an Array2f; the components of an Array3f from a
 *                               Float, ...)
 *
 * Matrices take one leaf for the diagonal, and a matrix of another size by cropping or
 * by extending it with the identity. Complex numbers and quaternions take one leaf for
 * the real part. Tensors and nested arrays exchange entries in C order; the lanes of
 * a just-in-time compiled array are the last axis.
 */
#include "python/array/reads.h"
#include "python/convert/convert_array.h"
#include "python/shape/shape.h"

#include "python/array/evaluate.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/convert/value.h"

/* ---------------------------------------------------------------- errors */

enum { NAME_ROOM = 64 };

/* The operation as errors name it: "llvm.Float.__init__" if no other has called us. */
static const char *operation_name(const Conversion *c, char name[NAME_ROOM])
{
    PyOS_snprintf(name, NAME_ROOM, "%s.__init__", strchr(c->info->name, '.') + 1);
    return c->operation ? c->operation : name;
}

bool convert_array_fail(const Conversion *c, PyObject *type, const char *format, ...)
{
    if (PyErr_Occurred() && (!PyErr_ExceptionMatches(PyExc_Exception) ||
                             PyErr_ExceptionMatches(PyExc_MemoryError) ||
                             PyErr_ExceptionMatches(PyExc_RecursionError)))
        return false;
    PyObject *cause = error_fetch();
    va_list ap;
    va_start(ap, format);
    PyObject *text = PyUnicode_FromFormatV(format, ap);
    va_end(ap);
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    if (!utf8) {
        Py_XDECREF(text);
        Py_XDECREF(cause);
        return false;
    }
    error_restore(cause);
    char name[NAME_ROOM];
    error_raise(type, operation_name(c, name), NULL, 0, "%s", utf8);
    Py_DECREF(text);
    return false;
}

bool convert_array_fail_core(const Conversion *c)
{
    char name[NAME_ROOM];
    return error_from_core(operation_name(c, name), NULL, 0);
}

bool convert_array_fail_size(const Conversion *c, size_t expected, size_t got)
{
    return convert_array_fail(
        c, PyExc_TypeError, "the input has %zu elements, expected %zu", got, expected);
}

static bool fail_type(const Conversion *c, const Array *from)
{
    return convert_array_fail(c, PyExc_TypeError,
                              "could not initialize an element with a value of type %s",
                              from->info->name);
}

/* ---------------------------------------------------------------- leaves */

/* Read the only entry of a variable, in the entry type of 'to'. */
static bool read_value(const Conversion *c, const Array *from, size_t f, Value *value)
{
    const VarIndex var = array_leaves(from)[f];
    const size_t size = var ? var_peek_size(var) : 0;
    if (size != 1)
        return convert_array_fail(
            c, PyExc_TypeError,
            "an element is of type %s with %zu entries, expected a single number",
            from->info->name, size);
    *value = 0;
    reads_note_whole(from);
    return evaluate_read(var, 0, value) || convert_array_fail_core(c);
}

/* target[t] = from[f], with a cast between entry types and families. One without
 * derivatives leaves these behind. */
static bool fill_leaf(const Conversion *c, Array *target, size_t t, const Array *from,
                      size_t f)
{
    const TypeInfo *source = from->info;
    Value value, cast;
    reads_note_copy(from, f, 1);
    if (source->jit && source->leaf == target->info->leaf) {
        array_set_leaf(target, t, var_copied(array_leaves(from)[f]));
        return true;
    }
    if (source->jit && !target->info->jit) {
        if (!read_value(c, from, f, &value))
            return false;
        source = &source->state->types[type_in_family(
            &source->state->types[source->leaf], FAMILY_SCALAR)];
    } else {
        value = value_of(from, f);
    }
    const bool ok = value_cast(source, target->info, value, &cast);
    value_release(source, value);
    if (!ok)
        return convert_array_fail_core(c);
    value_store(target, t, cast);
    return true;
}

bool convert_array_repeat(Array *target, size_t first, size_t count)
{
    for (size_t i = 1; i < count; i++)
        value_store(target, first + i, value_of(target, first));
    return true;
}

bool convert_array_zero(const Conversion *c, Array *target, size_t first, size_t count)
{
    Value zero;
    if (!target->info->jit || !count)
        return true; /* new leaves of drjit.scalar are zero */
    if (!value_constant(target->info, 0, &zero))
        return convert_array_fail_core(c);
    value_store(target, first, zero);
    return convert_array_repeat(target, first, count);
}

/* ---------------------------------------------------------------- nested parts */

static const TypeInfo *value_of_type(const TypeInfo *info)
{
    return &info->state->types[info->value];
}

static size_t count_of(const TypeInfo *type, const Array *a)
{
    return type->dynamic ? array_count(a) : (size_t) type->dims[0];
}

static bool same_dims(const TypeInfo *a, const TypeInfo *b)
{
    return a->ndim == b->ndim && memcmp(a->dims, b->dims, (size_t) a->ndim) == 0;
}

/* The part 'to' of target at leaf t, from the part 'source' of from at leaf f. */
static bool fill_part(const Conversion *c, Array *target, const TypeInfo *to, size_t t,
                      const Array *from, const TypeInfo *source, size_t f)
{
    if (to->ndim == 0)
        return source->ndim == 0 ? fill_leaf(c, target, t, from, f)
                                 : fail_type(c, from);
    const TypeInfo *component = value_of_type(to);
    const size_t n = count_of(to, target), step = component->leaves;
    if (source->ndim == 0)
        return !n || (fill_leaf(c, target, t, from, f) &&
                      convert_array_repeat(target, t, n * step));
    /* Is it one component? */
    const bool whole = source->kind == KIND_ARRAY && same_dims(source, component);
    const TypeInfo *part = whole ? source : value_of_type(source);
    if (!whole && count_of(source, from) != n)
        return convert_array_fail_size(c, n, count_of(source, from));
    for (size_t i = 0; i < n; i++)
        if (!fill_part(c, target, component, t + i * step, from, part,
                       whole ? f : f + i * part->leaves))
            return false;
    return true;
}

/* One leaf: the diagonal of a matrix, the real part of the others. */
static bool fill_special(const Conversion *c, Array *target, const Array *from)
{
    const TypeInfo *to = target->info;
    if (!convert_array_zero(c, target, 0, to->leaves))
        return false;
    if (to->kind != KIND_MATRIX)
        return fill_leaf(c, target, to->kind == KIND_QUATERNION ? 3 : 0, from, 0);
    const size_t n = (size_t) to->dims[0], step = to->leaves / (n * n);
    for (size_t i = 0; i < n; i++) {
        const size_t first = i * (n + 1) * step;
        if (!fill_leaf(c, target, first, from, 0) ||
            !convert_array_repeat(target, first, step))
            return false;
    }
    return true;
}

/* A matrix of another size: the common part, and the identity for the rest. */
static bool fill_embedded(const Conversion *c, Array *target, const Array *from)
{
    const size_t n = (size_t) target->info->dims[0], m = (size_t) from->info->dims[0];
    Value one;
    uint64_t bits;
    if (!convert_array_zero(c, target, 0, n * n))
        return false;
    PyObject *number = PyLong_FromLong(1);
    const bool ok =
        number && convert_number((VarType) target->info->entry, number, &bits);
    Py_XDECREF(number);
    if (!ok)
        return false;
    for (size_t i = 0; i < n * n; i++) {
        const size_t row = i / n, column = i % n;
        if (row < m && column < m) {
            if (!fill_leaf(c, target, i, from, row * m + column))
                return false;
        } else if (row == column) {
            if (!value_constant(target->info, bits, &one))
                return convert_array_fail_core(c);
            value_store(target, i, one);
        }
    }
    return true;
}

static bool matrix_of_other_size(const TypeInfo *to, const TypeInfo *from)
{
    return to->kind == KIND_MATRIX && from->kind == KIND_MATRIX && to->ndim == 2 &&
           from->ndim == 2 && to->dims[0] != from->dims[0];
}

/* ------------------------------------------------------------- one-dimensional data */

/* A one-dimensional array of drjit.scalar into one variable. */
static bool pack(const Conversion *c, Array *target, size_t t, const Array *from)
{
    const TypeInfo *to = target->info;
    const size_t n = array_count(from);
    if (n == 1)
        return fill_leaf(c, target, t, from, 0);
    VarIndex var = 0;
    if (n) {
        void *buffer = PyMem_Malloc(n * to->entry_size);
        if (!buffer)
            return PyErr_NoMemory();
        if (jit_host_cast((VarType) from->info->entry, (VarType) to->entry, 0, n,
                          array_data(from), buffer))
            var = var_copy(to, buffer, n);
        PyMem_Free(buffer);
        if (!var)
            return convert_array_fail_core(c);
    }
    array_set_leaf(target, t, var);
    return true;
}

/* One variable into a one-dimensional array of drjit.scalar with as many entries. */
static bool unpack(const Conversion *c, Array *target, VarIndex var,
                   const TypeInfo *from)
{
    VarIndex evaluated;
    void *data;
    if (!evaluate_data(from, var, &evaluated, &data))
        return convert_array_fail_core(c);
    const VarType type = (VarType) target->info->entry;
    const bool ok =
        !evaluated || jit_host_cast((VarType) from->entry, type, 0, array_count(target),
                                    data, array_data(target));
    var_unref(evaluated);
    return ok || convert_array_fail_core(c);
}

static bool is_one_dimensional(const TypeInfo *info)
{
    return info->kind == KIND_ARRAY && info->ndim == 1;
}

/* ---------------------------------------------------------------- tensors */

/* Write 'part' to target[lane * step + start] for all lanes; consumes the references to
 * the target and 'start' and returns the written variable. */
static VarIndex put(JitBackend backend, VarIndex target, VarIndex part, Extent lanes,
                    size_t step, VarIndex start)
{
    const VarIndex lane = var_counter(backend, extent_next(lanes));
    const VarIndex factor = var_u32(backend, (uint32_t) step);
    const VarIndex position =
        lane && factor && start ? var_fma(lane, factor, start) : 0;
    const VarIndex next = position
                              ? var_scatter_whole(target, part, position,
                                                  ReduceOpIdentity, ReduceModeParts)
                              : 0;
    var_unref(lane);
    var_unref(factor);
    var_unref(start);
    var_unref(position);
    var_unref(target);
    return next;
}

VarIndex convert_array_concat(const TypeInfo *leaf, const VarIndex *parts,
                              const size_t *sizes, size_t n)
{
    const JitBackend backend = (JitBackend) leaf->backend;
    size_t total = 0, offset = 0;
    for (size_t i = 0; i < n; i++)
        total += sizes[i];
    VarIndex target = var_undefined(leaf, total);
    for (size_t i = 0; i < n && target; i++) {
        if (sizes[i])
            target = put(backend, target, parts[i], extent_of(sizes[i]), 1,
                         var_u32(backend, (uint32_t) offset));
        offset += sizes[i];
    }
    return target;
}

/* Position of leaf i when the axes are taken in opposite order. */
static size_t flipped(const TypeInfo *info, size_t n, size_t i)
{
    if (info->dynamic)
        return i;
    size_t place = 0, stride = n, factor = 1;
    for (int d = 0; d < info->ndim; d++) {
        stride /= (size_t) info->dims[d];
        place += i / stride * factor;
        i %= stride;
        factor *= (size_t) info->dims[d];
    }
    return place;
}

/* All leaves of an array, of 'size' entries, in one variable: leaf after leaf, or lane
 * after lane. */
static VarIndex join(const Array *from, size_t size, bool flip)
{
    const TypeInfo *info = from->info;
    const JitBackend backend = (JitBackend) info->backend;
    const size_t n = array_count(from);
    const Extent width = extent_of_leaf(shape_widest(from, size / n), size / n);
    VarIndex target =
        var_undefined(info, extent_next(extent_mul(width, extent_of(n))));
    for (size_t i = 0; i < n && target; i++)
        target = put(backend, target, array_leaves(from)[i], width, flip ? n : 1,
                     flip ? var_u32(backend, (uint32_t) flipped(info, n, i))
                          : extent_times(backend, width, i));
    return target;
}

static void reverse(Extents *shape)
{
    for (size_t i = 0; i < shape->ndim / 2; i++) {
        const Extent extent = extents_get(shape, i);
        extents_set(shape, i, extents_get(shape, shape->ndim - 1 - i));
        extents_set(shape, shape->ndim - 1 - i, extent);
    }
}

/* The leaves of a jit array as the storage of a jit tensor. */
static bool fill_storage(const Conversion *c, Array *target, Array *from, size_t size,
                         bool flip)
{
    const size_t n = array_count(from);
    if (!size)
        return true;
    if (size > UINT32_MAX)
        return convert_array_fail(c, PyExc_RuntimeError,
                                  "the tensor has %zu entries, expected at most 2^32 - "
                                  "1",
                                  size);
    const VarIndex joined =
        n == 1 ? var_ref(array_leaves(from)[0]) : join(from, size, flip);
    VarIndex storage = 0;
    const bool ok = joined && value_cast(from->info, target->info, joined, &storage);
    var_unref(joined);
    if (!ok)
        return convert_array_fail_core(c);
    array_set_leaf(target, 0, storage);
    return true;
}

/* Entries of drjit.scalar, with flipped axes on request, in another entry type. */
static bool fill_entries(const Conversion *c, Array *target, const Array *from,
                         bool flip)
{
    const size_t n = array_count(from);
    for (size_t i = 0; i < n && flip; i++)
        if (!fill_leaf(c, target, flipped(from->info, n, i), from, i))
            return false;
    return flip ||
           jit_host_cast((VarType) from->info->entry, (VarType) target->info->entry, 0,
                         n, array_data(from), array_data(target)) ||
           convert_array_fail_core(c);
}

/* Without entries. */
static bool copy_none(const Conversion *c, Array *target, const Array *from)
{
    VarIndex var;
    if (!var_none(target->info, (int) array_count(from), array_leaves(from), &var))
        return convert_array_fail_core(c);
    array_set_leaf(target, 0, var);
    return true;
}

/* Between the storages of two tensors, or a 1D array and a tensor. */
static bool copy_storage(const Conversion *c, Array *target, Array *from, size_t size,
                         bool flip)
{
    if (!size && target->info->jit && from->info->jit)
        return copy_none(c, target, from);
    if (!size)
        return true;
    if (target->info->jit)
        return from->info->jit ? fill_storage(c, target, from, size, flip)
                               : pack(c, target, 0, from);
    if (!from->info->jit)
        return fill_entries(c, target, from, flip);
    const VarIndex joined = array_count(from) == 1
                            ? var_ref(array_leaves(from)[0])
                            : join(from, size, flip);
    const bool ok = joined ? unpack(c, target, joined, from->info)
                           : convert_array_fail_core(c);
    var_unref(joined);
    return ok;
}

Array *convert_array_tensor(const Conversion *c, Array *from, bool flip)
{
    Extents shape;
    size_t size;
    if (!shape_get(from, &shape, NULL) ||
        !array_shape_size(shape.ndim, shape.dims, &size)) {
        convert_array_fail(c, PyExc_TypeError,
                           "the input is ragged, expected arrays of one size");
        return NULL;
    }
    if (flip)
        reverse(&shape);
    Array *target = extents_new_tensor(c->info, &shape);
    if (!target)
        return NULL;
    reads_note_copy(from, 0, array_count(from));
    bool ok;
    if (flip && target->info->jit && !from->info->jit) { /* reorder, then transfer */
        const TypeInfo *info = from->info;
        const TypeInfo *scalar = &info->state->types[type_find(
            FAMILY_SCALAR, KIND_TENSOR, 0, NULL, (VarType) info->entry)];
        Array *entries = extents_new_tensor(scalar, &shape);
        ok = entries && fill_entries(c, entries, from, true) &&
             copy_storage(c, target, entries, size, false);
        Py_XDECREF(entries);
    } else {
        ok = copy_storage(c, target, from, size, flip);
    }
    if (!ok)
        Py_CLEAR(target);
    return target;
}

/* ---------------------------------------------------------------- from tensors */

/* Does the tensor's shape suit the type (lanes are the last axis)? */
static bool check_tensor_shape(const Conversion *c, const TypeInfo *to,
                               const Extents *shape)
{
    const size_t ndim = (size_t) to->ndim + to->jit;
    if (shape->ndim != ndim)
        return convert_array_fail(c, PyExc_TypeError,
                                  "the input has %zu dimensions, expected %zu",
                                  shape->ndim, ndim);
    for (size_t i = 0; i < (size_t) to->ndim; i++) {
        const size_t extent = extent_number(extents_get(shape, i));
        if (to->dims[i] != DYNAMIC && (size_t) to->dims[i] != extent)
            return convert_array_fail_size(c, (size_t) to->dims[i], extent);
    }
    return true;
}

/* VarIndex i of the target = entries [i * width, (i + 1) * width) of the storage. */
static bool split(const Conversion *c, Array *target, VarIndex storage, Extent width)
{
    const JitBackend backend = (JitBackend) target->info->backend;
    const size_t n = array_count(target);
    for (size_t i = 0; i < n; i++) {
        VarIndex var = 0;
        if (n == 1) {
            var = var_ref(storage);
        } else {
            const VarIndex lane = var_counter(backend, extent_next(width));
            const VarIndex start = extent_times(backend, width, i);
            const VarIndex position = lane && start ? var_add(lane, start) : 0;
            var = position ? var_gather_whole(storage, position) : 0;
            var_unref(lane);
            var_unref(start);
            var_unref(position);
        }
        if (!var)
            return convert_array_fail_core(c);
        array_set_leaf(target, i, var);
    }
    return true;
}

/* A plain or special array from a tensor of its shape. */
static Array *from_tensor(const Conversion *c, Array *from)
{
    Extents shape;
    size_t size;
    extents_of(from, &shape);
    if (!check_tensor_shape(c, c->info, &shape) ||
        !array_shape_size(shape.ndim, shape.dims, &size))
        return NULL;
    const Extent width =
        c->info->jit ? extents_get(&shape, shape.ndim - 1) : extent_of(1);
    Array *target = convert_array_start(c, c->info->dynamic ? shape.dims[0] : 0);
    if (target && !size && c->info->jit && from->info->jit &&
        !array_set_none(target, 1, array_leaves(from))) {
        convert_array_fail_core(c);
        return NULL;
    }
    if (!target || !size)
        return target;
    bool ok;
    if (c->info->jit) {
        Array *storage = array_new(&c->info->state->types[c->info->leaf]);
        ok = storage && copy_storage(c, storage, from, size, false) &&
             split(c, target, array_var(storage), width);
        Py_XDECREF(storage);
    } else {
        ok = copy_storage(c, target, from, size, false);
    }
    if (!ok)
        Py_CLEAR(target);
    return target;
}

/* ---------------------------------------------------------------- backends */

static VarIndex migrate(VarIndex var, void *backend)
{
    return var_migrate(var, *(JitBackend *) backend);
}

static bool move_leaves(const Conversion *c, Array *target, const Array *from)
{
    JitBackend backend = (JitBackend) c->info->backend;
    for (size_t i = 0; i < array_count(target); i++) {
        const VarIndex var = array_leaves(from)[i];
        if (var_node(var) && c->info->diff)
            return convert_array_fail(c, PyExc_TypeError,
                                      "the input of type %s is tracked: derivatives do "
                                      "not go from one backend to another; use "
                                      "drjit.detach()",
                                      from->info->name);
        const VarIndex moved =
            var_is_empty(var) ? 0 : evaluate_call(migrate, var, &backend);
        if (!moved && !var_is_empty(var))
            return convert_array_fail_core(c);
        array_set_leaf(target, i, moved);
    }
    return true;
}

static bool is_elsewhere(const Conversion *c, const Array *from)
{
    return c->info->jit && from->info->jit && c->info->backend != from->info->backend;
}

/* A copy on the backend of the type. Only constructors move arrays. */
static Array *move(const Conversion *c, Array *from)
{
    const TypeInfo *to = c->info, *source = from->info;
    if (c->operation) {
        convert_array_fail(c, PyExc_TypeError,
                           "an input is of type %s, expected an array of the backend "
                           "of %s; the constructor of a type moves arrays to it",
                           source->name, to->name);
        return NULL;
    }
    reads_note_whole(from);
    const uint16_t id = type_in_family(source, family_with(to->family, false));
    Array *moved = array_new_like(&to->state->types[id], from);
    Py_INCREF((PyObject *) from); /* evaluation lets other threads run */
    if (moved && !move_leaves(c, moved, from))
        Py_CLEAR(moved);
    Py_DECREF((PyObject *) from);
    return moved;
}

/* ---------------------------------------------------------------- entry points */

Array *convert_array_start(const Conversion *c, size_t count)
{
    return c->info->dynamic ? array_new_dynamic(c->info, count) : array_new(c->info);
}

/* A tensor without axes is one number. */
static bool is_single(Array *a)
{
    return a->info->kind == KIND_TENSOR && array_tensor(a)->ndim == 0 &&
           (!a->info->jit || !var_is_empty(array_var(a)));
}

static bool fill(const Conversion *c, Array *target, const TypeInfo *to, size_t first,
                 Array *from)
{
    const TypeInfo *source = from->info;
    const bool has_room = to->dynamic || to->leaves;
    if (!has_room && !source->ndim && source->jit && !var_is_empty(array_var(from)))
        return convert_array_fail_size(c, 0, 1);
    if (is_single(from)) {
        const size_t n = to->dynamic ? array_count(target) : to->leaves;
        return !n || (fill_leaf(c, target, first, from, 0) &&
                      convert_array_repeat(target, first, n));
    }
    if (source->kind == KIND_TENSOR) {
        const Conversion part = { to, c->operation, false };
        Array *made = from_tensor(&part, from);
        const bool ok = made && fill_part(c, target, to, first, made, to, 0);
        Py_XDECREF(made);
        return ok;
    }
    const bool packs = to->jit && to->ndim == 0 && !source->jit && source->ndim == 1;
    return packs ? pack(c, target, first, from)
                 : fill_part(c, target, to, first, from, source, 0);
}

bool convert_array_fill(const Conversion *c, Array *target, const TypeInfo *to,
                        size_t first, Array *from)
{
    if (!is_elsewhere(c, from))
        return fill(c, target, to, first, from);
    Array *there = move(c, from);
    const bool ok = there && fill(c, target, to, first, there);
    Py_XDECREF((PyObject *) there);
    return ok;
}

/* All of a new target that is not a tensor, from an array that is not one either. */
static bool fill_whole(const Conversion *c, Array *target, Array *from)
{
    const TypeInfo *to = target->info, *source = from->info;
    const bool special = to->kind >= KIND_MATRIX && to->kind <= KIND_QUATERNION;
    if (special && source->ndim == 0)
        return fill_special(c, target, from);
    if (matrix_of_other_size(to, source))
        return fill_embedded(c, target, from);
    if (to->kind == KIND_MATRIX && source->kind == KIND_ARRAY &&
        same_dims(source, value_of_type(to)))
        return convert_array_fail(c, PyExc_TypeError,
                                  "the input is one row of type %s, expected a matrix",
                                  source->name);
    const bool lanes =
        !to->jit && is_one_dimensional(to) && source->jit && !source->ndim;
    if (lanes && (to->dynamic || var_size(array_var(from)) == array_count(target)))
        return unpack(c, target, array_var(from), source);
    return fill(c, target, to, 0, from);
}

/* Leaves of a dynamic target that is made from this array. */
static size_t count_for(const TypeInfo *to, const Array *from)
{
    const TypeInfo *source = from->info;
    if (source->ndim)
        return count_of(source, from);
    if (to->jit || !source->jit)
        return 1; /* of drjit.scalar: a tensor with one entry */
    const VarIndex index = array_var(from);
    return index ? var_size(index) : 0;
}

static Array *convert(const Conversion *c, Array *from)
{
    if (c->info == from->info)
        return array_duplicate(from);
    if (c->info->kind == KIND_TENSOR)
        return convert_array_tensor(c, from, false);
    if (from->info->kind == KIND_TENSOR && !is_single(from))
        return from_tensor(c, from);
    Array *target =
        convert_array_start(c, c->info->dynamic ? count_for(c->info, from) : 0);
    if (target && !fill_whole(c, target, from))
        Py_CLEAR(target);
    return target;
}

Array *convert_family(const TypeInfo *like, Array *a, const char *operation)
{
    if (!like->jit || a->info->family == like->family ||
        a->info->backend != like->backend)
        return (Array *) Py_NewRef((PyObject *) a);
    const uint16_t id = type_in_family(a->info, (Family) like->family);
    return convert_array(&like->state->types[id], a, operation);
}

Array *convert_array(const TypeInfo *info, Array *from, const char *operation)
{
    const Conversion c = { info, operation, false };
    Array *there = is_elsewhere(&c, from) ? move(&c, from)
                                          : (Array *) Py_NewRef((PyObject *) from);
    Array *result = there ? convert(&c, there) : NULL; /* other threads may run */
    Py_XDECREF((PyObject *) there);
    return result;
}

Array *convert_entries(const TypeInfo *info, Array *a, const char *operation)
{
    if (a->info->entry == info->entry && a->info->family == info->family)
        return (Array *) Py_NewRef((PyObject *) a);
    const TypeInfo *types = info->state->types;
    const uint16_t moved = type_in_family(a->info, (Family) info->family),
                   id = type_with_entry(&types[moved], (VarType) info->entry);
    if (id == TYPE_NONE)
        return convert_array(info, a, operation);
    const Conversion c = { &types[id], operation, false };
    Array *cast = array_new_like(c.info, a);
    for (size_t i = 0; cast && i < array_count(a); i++) {
        Value leaf;
        if (value_cast(a->info, c.info, value_peek(a, i), &leaf)) {
            value_store(cast, i, leaf);
        } else {
            convert_array_fail_core(&c);
            Py_CLEAR(cast);
        }
    }
    return cast;
}

/*
 * reduce_array.c -- reductions of nested arrays and of single variables
 *
 *     Array3f, shape (3, n)    axis 0 combines leaves: traced, a[0] + a[1] + a[2]
 *                              axis 1 (trailing) combines the entries of each leaf
 *
 * Axes over leaves are reduced first, so that fewer variables remain for the trailing
 * one. A nested array of drjit.scalar has axes over leaves only.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/convert/value.h"
#include "python/memory/access.h"
#include "python/reduce/reduce.h"

static const size_t evaluate_limit = (size_t) 1 << 30; /* bytes */

/* ---------------------------------------------------------------- variables */

VarIndex reduce_identity_variable(const TypeInfo *info, ReduceOp op, Extent size)
{
    uint64_t bits;
    if (!jit_reduce_identity((VarType) info->entry, op, &bits))
        return 0;
    return var_literal(info, &bits, extent_next(size));
}

typedef struct Call {
    ReduceOp op;
    Extent block;
} Call;

static VarIndex run_evaluated(VarIndex leaf, void *argument)
{
    const Call *call = argument;
    return call->block.n ? var_block_reduce(call->op, leaf, extent_next(call->block))
                         : var_reduce(leaf, call->op);
}

/* Lane i is scattered to entry i / block. */
static VarIndex run_symbolic(const TypeInfo *info, ReduceOp op, VarIndex index,
                             Extent block)
{
    JitBackend backend = (JitBackend) info->backend;
    const Extent size = extent_of_leaf(index, var_peek_size(index));
    VarIndex target = reduce_identity_variable(
        info, op, block.n ? extent_div(size, block) : extent_of(1));
    VarIndex position = 0, result = 0;
    if (block.n) {
        VarIndex counter = var_counter(backend, extent_next(size));
        VarIndex divisor = extent_times(backend, block, 1);
        position = counter && divisor ? var_div(counter, divisor) : 0;
        var_unref(counter);
        var_unref(divisor);
    } else {
        position = var_u32(backend, 0);
    }
    if (target && position)
        result = var_scatter_whole(target, index, position, op, ReduceModeAuto);
    var_unref(target);
    var_unref(position);
    return result;
}

bool reduce_prefers_symbolic(const TypeInfo *info, ReduceOp op, Strategy strategy,
                             VarIndex var)
{
    const size_t size = var_peek_size(var);
    const size_t most = evaluate_limit / info->entry_size - 1;
    if (strategy != STRATEGY_AUTO)
        return strategy == STRATEGY_SYMBOLIC;
    return (size > most || size_is_recording()) &&
           var_state(var) == VarStateUnevaluated &&
           jit_can_scatter_reduce((JitBackend) info->backend, (VarType) info->entry,
                                  op) &&
           extent_exceeds(extent_of_leaf(var, size), most);
}

VarIndex reduce_variable(const TypeInfo *info, ReduceOp op, Strategy strategy,
                         VarIndex var, Extent block)
{
    if (block.n == 1 || var_peek_size(var) == 1)
        return var_ref(var);
    if (reduce_prefers_symbolic(info, op, strategy, var))
        return run_symbolic(info, op, var, block);
    Call call = { op, block };
    return evaluate_command(run_evaluated, var, 0, &call);
}

bool reduce_open(const char *operation, const Array *value, size_t *width)
{
    *width = 1;
    reads_note_whole(value);
    if (!evaluate_writes(operation, (PyObject *const *) &value, 1))
        return false;
    const size_t count = array_count(value);
    for (size_t k = 0; count > 1 && k < count; k++) {
        VarIndex var = array_leaves(value)[k];
        size_t size = var ? var_size(var) : 0;
        if (size != 1)
            *width = size;
    }
    return true;
}

bool reduce_leaf_variable(const char *operation, const Array *value, size_t i,
                          size_t width, VarIndex *index)
{
    VarIndex var = array_leaves(value)[i];
    if (var_is_empty(var) || !width)
        *index = 0;
    else if (width == 1 || var_peek_size(var) != 1)
        *index = var_ref(var);
    else if (!(*index = var_resize(var, width)))
        return error_from_core(operation, (PyObject *const *) &value, 1);
    return true;
}

/* ---------------------------------------------------------------- over leaves */

/* The type that remains; NULL with an exception. */
static const TypeInfo *remaining_type(const Reduction *r, Array *value,
                                      const bool *axes)
{
    const TypeInfo *info = value->info;
    int8_t dims[3];
    int ndim = 0;
    for (int i = 0; i < info->ndim; i++)
        if (!axes[i])
            dims[ndim++] = info->dims[i];
    Kind kind = ndim ? KIND_ARRAY : KIND_FLAT;
    uint16_t id =
        type_find((Family) info->family, kind, ndim, dims, (VarType) info->entry);
    if (id != TYPE_NONE)
        return &r->state->types[id];
    error_raise(PyExc_RuntimeError, r->operation, (PyObject **) &value, 1,
                "there is no type for the result");
    return NULL;
}

/* Combine leaf 'from' of the value into *total, which starts as 'none yet'. */
static bool add_leaf(const Reduction *r, Array *value, size_t from, bool *started,
                     Value *total)
{
    const TypeInfo *info = value->info;
    Value next = value_of(value, from), sum = 0;
    if (!*started) {
        *started = true;
        *total = next;
        return true;
    }
    bool ok = value_op2(info, access_step(r->op), *total, next, &sum);
    value_release(info, *total);
    value_release(info, next);
    *total = sum;
    if (!ok)
        error_from_core(r->operation, (PyObject **) &value, 1);
    return ok;
}

/* Place of leaf i in the result; leaves are in row-major order. */
static size_t remaining_place(const TypeInfo *info, const bool *axes, size_t i)
{
    size_t place = 0, stride = 1;
    for (int d = info->ndim - 1; d >= 0; d--) {
        size_t extent = info->dims[d] == DYNAMIC ? SIZE_MAX : (size_t) info->dims[d];
        if (!axes[d]) {
            place += i % extent * stride;
            stride *= extent;
        }
        i /= extent;
    }
    return place;
}

/* Reduce over leaves into 'count' values, which are all owned by 'values' afterwards,
 * also on failure. Several leaves go to one place in their order. */
static bool reduce_leaves(const Reduction *r, Array *value, const bool *axes,
                          Value *values, bool *started)
{
    size_t leaves = array_count(value);
    for (size_t i = 0; i < leaves; i++) {
        size_t place = remaining_place(value->info, axes, i);
        if (!add_leaf(r, value, i, &started[place], &values[place]))
            return false;
    }
    return true;
}

/* A drjit.scalar ArrayX is long: the order of its sum is that of the jit backends. */
static PyObject *reduce_entries(const Reduction *r, Array *value)
{
    uint64_t entry = 0;
    if (!jit_host_reduce(r->op, (VarType) value->info->entry, array_count(value),
                         array_data(value), &entry))
        return error_from_core(r->operation, (PyObject **) &value, 1);
    if (!r->keepdims)
        return convert_entry((VarType) value->info->entry, &entry);
    Array *kept = array_new_dynamic(value->info, 1);
    if (kept)
        memcpy(array_data(kept), &entry, value->info->entry_size);
    return (PyObject *) kept;
}

/* The value with axes over leaves reduced: an array, or a number. */
static PyObject *over_leaves(const Reduction *r, Array *value, const bool *axes)
{
    const TypeInfo *info = value->info;
    if (!info->jit && info->dynamic && array_count(value))
        return reduce_entries(r, value);
    const TypeInfo *left = remaining_type(r, value, axes);
    if (!left)
        return NULL;
    if (array_count(value) == 0)
        return reduce_identity_number(r->op);
    size_t count = left->leaves;
    Value *values = PyMem_Calloc(count, sizeof(*values));
    bool *started = PyMem_Calloc(count, sizeof(*started));
    PyObject *result = NULL;
    if (!values || !started) {
        PyErr_NoMemory();
    } else if (reduce_leaves(r, value, axes, values, started)) {
        if (left->kind == KIND_FLAT && !left->jit)
            result = convert_entry((VarType) left->entry, &values[0]);
        else
            result = (PyObject *) array_new(left);
        if (result && (left->jit || left->kind == KIND_ARRAY))
            for (size_t i = 0; i < count; i++) {
                value_store((Array *) result, i, values[i]);
                values[i] = 0;
            }
    }
    for (size_t i = 0; values && i < count; i++)
        value_release(info, values[i]);
    PyMem_Free(values);
    PyMem_Free(started);
    return result;
}

/* ---------------------------------------------------------------- trailing axis */

static PyObject *over_entries(const Reduction *r, Array *value)
{
    size_t width;
    if (!reduce_open(r->operation, value, &width))
        return NULL;
    Array *result = array_new_like(value->info, value);
    const size_t count = result ? array_count(result) : 0;
    for (size_t i = 0; count > 1 && i < count; i++)
        if (!var_is_empty(array_leaves(value)[i]))
            var_schedule(array_leaves(value)[i]); /* one kernel for all */
    for (size_t i = 0; result && i < count; i++) {
        VarIndex var, reduced;
        if (!reduce_leaf_variable(r->operation, value, i, width, &var)) {
            Py_CLEAR(result);
            break;
        }
        reduced =
            var ? reduce_variable(value->info, r->op, r->strategy, var, extent_of(0))
                : var_of_none(
                      reduce_identity_variable(value->info, r->op, extent_of(1)), 1,
                      &array_leaves(value)[i]);
        var_unref(var);
        if (reduced) {
            array_set_leaf(result, i, reduced);
        } else {
            Py_CLEAR(result);
            error_from_core(r->operation, (PyObject **) &value, 1);
        }
    }
    return (PyObject *) result;
}

PyObject *reduce_array(const Reduction *r, Array *value)
{
    const TypeInfo *info = value->info;
    bool axes[4], leaves = false;
    size_t ndim = (size_t) (info->ndim + info->jit);
    reads_note_whole(value);
    if (!reduce_axes(r, (PyObject *) value, ndim, false, axes))
        return NULL;
    bool trailing = info->jit && axes[ndim - 1];
    for (int i = 0; i < info->ndim; i++)
        leaves |= axes[i];
    bool kept = !leaves || (!info->jit && info->dynamic);
    if (r->keepdims && !kept)
        return error_raise(
            PyExc_RuntimeError, r->operation, (PyObject **) &value, 1,
            "'keepdims=True' is possible for tensors, and where nothing but "
            "a trailing dynamic axis is reduced");
    if (!leaves && !trailing)
        return (PyObject *) array_copy(value);
    PyObject *result = leaves ? over_leaves(r, value, axes) : Py_NewRef(value);
    if (result && trailing && array_check(r->state, result)) {
        PyObject *reduced = over_entries(r, (Array *) result);
        Py_SETREF(result, reduced);
    }
    return result;
}

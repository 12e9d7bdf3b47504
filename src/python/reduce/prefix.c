/*
 * prefix.c -- prefix reductions, reductions of blocks, compress
 *
 * Everything ends in block operations on flat arrays: along axis d of a tensor, an
 * entry's predecessors are 'inner' entries apart (the product of the later extents), as
 * in the columns of a matrix.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/convert/value.h"
#include "python/memory/access.h"
#include "python/reduce/reduce.h"
#include "python/tree/tree.h"
#include "python/type/enums.h"

typedef struct Prefix {
    State *state;
    const char *operation;
    ReduceOp op;
    Strategy strategy;
    bool exclusive, reverse;
    Extent block;
} Prefix;

static bool read_op(State *state, const char *operation, PyObject *object, ReduceOp *op)
{
    long number;
    if (!enum_read(state, operation, "ReduceOp", object, ReduceOpCount, &number))
        return false;
    *op = (ReduceOp) number;
    if (*op == ReduceOpIdentity)
        error_raise(PyExc_RuntimeError, operation, &object, 1,
                    "'op' is ReduceOp.Identity, which does not combine entries");
    return *op != ReduceOpIdentity;
}

static bool check_type(const Prefix *p, PyObject *value, const TypeInfo *info)
{
    const Reduction r = { .operation = p->operation, .op = p->op };
    return reduce_check_type(&r, value, info);
}

/* ---------------------------------------------------------------- flat arrays */

/* The variable with neutral elements appended up to that many entries. */
static VarIndex pad(VarIndex var, ReduceOp op, size_t size)
{
    VarInfo info;
    uint64_t bits;
    if (!var_info(var, &info) || !jit_reduce_identity(info.type, op, &bits))
        return 0;
    VarIndex lane = var_counter(info.backend, size);
    VarIndex limit = var_u32(info.backend, (uint32_t) info.size);
    VarIndex inside = lane && limit ? var_lt(lane, limit) : 0;
    VarIndex neutral = var_constant(info.backend, info.type, &bits);
    VarIndex entries = inside ? var_gather(var, lane, inside, ReduceModeAuto) : 0;
    VarIndex result = entries && neutral ? var_select(inside, entries, neutral) : 0;
    var_unref(lane);
    var_unref(limit);
    var_unref(inside);
    var_unref(neutral);
    var_unref(entries);
    return result;
}

/* Blocks of 0 entries: all of it is one. */
static VarIndex prefix_blocks(const Prefix *p, VarIndex var, Extent block)
{
    return var_block_prefix_reduce(p->op, var, extent_next(block), p->exclusive,
                                   p->reverse);
}

/* The last block may be incomplete. */
static VarIndex run_prefix(VarIndex var, void *argument)
{
    const Prefix *p = argument;
    if (!p->block.n || var_peek_size(var) % p->block.n == 0) /* the core sees to it */
        return prefix_blocks(p, var, p->block);
    size_t size = var_size(var), block = extent_number(p->block), rest = size % block;
    VarIndex padded = pad(var, p->op, size - rest + block);
    VarIndex reduced = padded ? prefix_blocks(p, padded, p->block) : 0;
    VarIndex result = reduced ? var_shrink(reduced, size) : 0;
    var_unref(padded);
    var_unref(reduced);
    return result;
}

/* The variable of variable i of 'value' after the operation; false: exception. */
static bool prefix_leaf(const Prefix *p, const Array *value, size_t i, size_t width,
                        VarIndex *out)
{
    VarIndex var;
    *out = 0;
    if (!reduce_leaf_variable(p->operation, value, i, width, &var))
        return false;
    if (!var)
        return var_none(value->info, 1, &array_leaves(value)[i], out) ||
               error_from_core(p->operation, (PyObject **) &value, 1);
    Prefix call = *p;
    if (call.block.n > var_peek_size(var) && var_size(var)) {
        (void) extent_number(call.block);
        call.block = extent_of(0);
    }
    *out = evaluate_call(run_prefix, var, &call);
    var_unref(var);
    if (!*out)
        error_from_core(p->operation, (PyObject **) &value, 1);
    return *out;
}

/* Entries in memory, all of them if the block size is 0. */
static bool prefix_entries(const Prefix *p, const Array *value, void *out)
{
    size_t count = array_count(value), block = p->block.n ? p->block.n : count;
    if (count == 0)
        return true;
    VarType type = (VarType) value->info->entry;
    size_t rest = count % block, start = (count - rest) * value->info->entry_size;
    bool ok = (rest == count ||
               jit_host_prefix_reduce(p->op, type, count - rest, block, p->exclusive,
                                      p->reverse, array_data(value), out)) &&
              (rest == 0 ||
               jit_host_prefix_reduce(p->op, type, rest, rest, p->exclusive, p->reverse,
                                      (const char *) array_data(value) + start,
                                      (char *) out + start));
    if (!ok)
        error_from_core(p->operation, (PyObject **) &value, 1);
    return ok;
}

/* Along the entries of every leaf (jit), or of a flat array. */
static PyObject *prefix_trailing(const Prefix *p, Array *value)
{
    Array *result = array_new_like(value->info, value);
    size_t width;
    bool ok = result && (value->info->jit
                             ? reduce_open(p->operation, value, &width)
                             : prefix_entries(p, value, array_data(result)));
    for (size_t i = 0; ok && value->info->jit && i < array_count(result); i++) {
        VarIndex out;
        ok = prefix_leaf(p, value, i, width, &out);
        if (ok)
            array_set_leaf(result, i, out);
    }
    if (!ok)
        Py_CLEAR(result);
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- over leaves */

/* VarIndex i, i + inner, ... are combined: extent of them, starting at 'first'. */
static bool prefix_line(const Prefix *p, Array *value, Array *result, size_t first,
                        size_t extent, size_t inner)
{
    const TypeInfo *info = value->info;
    uint64_t bits;
    Value total;
    if (!jit_reduce_identity((VarType) info->entry, p->op, &bits) ||
        !value_constant(info, bits, &total))
        return error_from_core(p->operation, (PyObject **) &value, 1);
    for (size_t k = 0; k < extent; k++) {
        size_t place = first + (p->reverse ? extent - 1 - k : k) * inner;
        Value next = value_of(value, place), sum = 0;
        bool ok = true;
        if (k == 0 && !p->exclusive) {
            value_release(info, total);
            total = sum = next;
            next = 0;
        } else {
            ok = value_op2(info, access_step(p->op), total, next, &sum);
            value_release(info, next);
            if (ok && p->exclusive)
                value_store(result, place, total);
            else
                value_release(info, total);
            total = sum;
        }
        if (!ok)
            return error_from_core(p->operation, (PyObject **) &value, 1);
        if (!p->exclusive) { /* 'total' goes on and is stored */
            if (info->jit && total)
                var_ref(total);
            value_store(result, place, total);
        }
    }
    value_release(info, total);
    return true;
}

static PyObject *prefix_leaves(const Prefix *p, Array *value, int axis)
{
    const TypeInfo *info = value->info;
    Array *result = array_new_like(info, value);
    size_t inner = 1, count = array_count(value);
    reads_note_whole(value);
    for (int d = axis + 1; d < info->ndim; d++)
        inner *= (size_t) info->dims[d];
    size_t extent = info->dims[axis] == DYNAMIC ? count : (size_t) info->dims[axis];
    for (size_t i = 0; result && extent && i < count; i++)
        if (i / inner % extent == 0 && !prefix_line(p, value, result, i, extent, inner))
            Py_CLEAR(result);
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- tensors */

typedef struct Line {
    Prefix prefix;
    Extent outer, extent, inner;
} Line;

/* May wait: runs without the GIL. */
static VarIndex run_line(VarIndex leaf, void *argument)
{
    const Line *l = argument;
    const Prefix *p = &l->prefix;
    const Extent entries = extent_mul(extent_mul(l->outer, l->extent), l->inner);
    VarIndex wide = var_resize(leaf, extent_next(entries));
    /* All of it is one block. */
    const bool single = l->outer.n == 1 && l->inner.n == 1;
    const Extent extent = single ? extent_of(0) : l->extent;
    const uint64_t sizes[] = { l->extent.size, l->inner.size };
    const JitAxis axis = { l->extent.n, l->inner.n, sizes };
    VarIndex result = 0;
    if (wide && l->inner.n == 1)
        result = prefix_blocks(p, wide, extent);
    else if (wide)
        result = var_axis_prefix_reduce(p->op, wide, &axis, p->exclusive, p->reverse);
    var_unref(wide);
    return result;
}

static bool line_entries(const Line *l, const Array *value, char *out)
{
    const size_t size = value->info->entry_size, extent = l->extent.n;
    const size_t outer = l->outer.n, inner = l->inner.n;
    const char *in = array_data(value);
    char *line = PyMem_Malloc(extent * size);
    if (!line)
        return PyErr_NoMemory();
    bool ok = true;
    for (size_t i = 0; i < outer * inner && ok; i++) {
        size_t first = i / inner * extent * inner + i % inner;
        for (size_t k = 0; k < extent; k++)
            memcpy(line + k * size, in + (first + k * inner) * size, size);
        ok = jit_host_prefix_reduce(l->prefix.op, (VarType) value->info->entry,
                                    extent, extent, l->prefix.exclusive,
                                    l->prefix.reverse, line, line);
        for (size_t k = 0; k < extent; k++)
            memcpy(out + (first + k * inner) * size, line + k * size, size);
    }
    PyMem_Free(line);
    if (!ok)
        error_from_core(l->prefix.operation, NULL, 0);
    return ok;
}

static PyObject *prefix_tensor(const Prefix *p, Array *value, size_t axis)
{
    Extents shape;
    reads_note_whole(value);
    extents_of(value, &shape);
    /* One entry without axes has no predecessors. */
    const Extent one = extent_of(1);
    Line line = { *p, one, shape.ndim ? extents_get(&shape, axis) : one, one };
    for (size_t d = 0; d < shape.ndim; d++) {
        Extent *total = d < axis ? &line.outer : &line.inner;
        if (d != axis)
            *total = extent_mul(*total, extents_get(&shape, d));
    }
    Array *result = extents_new_tensor(value->info, &shape);
    if (!result || line.outer.n * line.extent.n * line.inner.n == 0)
        return (PyObject *) result;
    bool ok;
    if (value->info->jit) {
        VarIndex out = evaluate_call(run_line, array_var(value), &line);
        ok = out;
        if (ok)
            array_set_leaf(result, 0, out);
        else
            error_from_core(p->operation, (PyObject **) &value, 1);
    } else {
        ok = line_entries(&line, value, array_data(result));
    }
    if (!ok)
        Py_CLEAR(result);
    return (PyObject *) result;
}

/* ---------------------------------------------------------------- prefix_reduce */

static PyObject *prefix_axis(const Prefix *p, PyObject *value, size_t axis)
{
    Array *a = (Array *) value;
    if (a->info->kind == KIND_TENSOR)
        return prefix_tensor(p, a, axis);
    if (access_is_flat(a->info) || (a->info->jit && axis == (size_t) a->info->ndim))
        return prefix_trailing(p, a);
    return prefix_leaves(p, a, (int) axis);
}

static PyObject *prefix_array(const Prefix *p, PyObject *value, PyObject *axis)
{
    Array *a = (Array *) value;
    size_t ndim = a->info->kind == KIND_TENSOR
                      ? array_tensor(a)->ndim
                      : (size_t) (a->info->ndim + a->info->jit);
    const Reduction r = { .operation = p->operation, .op = p->op, .axis = axis };
    bool axes[TENSOR_MAX_DIMS];
    if (!check_type(p, value, a->info) || !reduce_axes(&r, value, ndim, false, axes))
        return NULL;
    if (a->info->kind == KIND_TENSOR && array_tensor(a)->ndim != ndim)
        return error_raise(PyExc_RuntimeError, p->operation, &value, 1,
                           "the tensor changed its shape while 'axis' was read");
    if (ndim == 0)
        return prefix_tensor(p, a, 0);
    bool selected = false;
    PyObject *result = Py_NewRef(value);
    for (size_t d = 0; d < ndim && result; d++)
        if (axes[d]) {
            selected = true;
            Py_SETREF(result, prefix_axis(p, result, d));
        }
    if (result && !selected)
        Py_SETREF(result, (PyObject *) array_copy(a));
    return result;
}

/* Python's sequences: a list of partial results. */
static bool fill_list(const Prefix *p, PyObject *items, PyObject *list)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    PyObject *total = p->exclusive ? reduce_identity_number(p->op) : NULL;
    for (Py_ssize_t k = 0; k < n && (total || !p->exclusive); k++) {
        Py_ssize_t place = p->reverse ? n - 1 - k : k;
        PyObject *item = PySequence_Fast_GET_ITEM(items, place);
        if (p->exclusive)
            PyList_SET_ITEM(list, place, Py_NewRef(total));
        if (p->exclusive && k == n - 1)
            break; /* the last sum is not needed */
        PyObject *sum =
            total ? reduce_objects(p->state, p->op, total, item) : Py_NewRef(item);
        Py_XDECREF(total);
        total = sum;
        if (!total)
            return false;
        if (!p->exclusive)
            PyList_SET_ITEM(list, place, Py_NewRef(total));
    }
    bool ok = total || n == 0;
    Py_XDECREF(total);
    return ok;
}

static PyObject *prefix_sequence(const Prefix *p, PyObject *value, PyObject *axis)
{
    bool is_zero = false;
    if (PyTuple_Check(axis) && PyTuple_GET_SIZE(axis) == 1)
        axis = PyTuple_GET_ITEM(axis, 0);
    if (PyIndex_Check(axis)) {
        Py_ssize_t number = PyNumber_AsSsize_t(axis, PyExc_IndexError);
        if (number == -1 && PyErr_Occurred())
            return NULL;
        is_zero = number == 0;
    }
    if (PyUnicode_Check(value) || PyBytes_Check(value) || !PySequence_Check(value))
        return error_raise(PyExc_TypeError, p->operation, &value, 1,
                           "expected an array, a tensor or a sequence");
    if (!is_zero)
        return error_raise(PyExc_RuntimeError, p->operation, &value, 1,
                           "'axis' is not 0, the only axis of a Python sequence");
    PyObject *items = PySequence_Tuple(value);
    PyObject *list = items ? PyList_New(PyTuple_GET_SIZE(items)) : NULL;
    if (list && !fill_list(p, items, list)) {
        Py_CLEAR(list);
        error_raise(PyExc_RuntimeError, p->operation, &value, 1,
                    "the elements could not be combined");
    }
    Py_XDECREF(items);
    return list;
}

PyObject *prefix_reduce(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    static const char *const parameters[] = { "op", "value", "axis", "exclusive",
                                              "reverse" };
    static const Signature signature = { "prefix_reduce", parameters, 5, 2, 0 };
    PyObject *v[5];
    Prefix p = { .state = state_of_module(module), .operation = "prefix_reduce" };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !read_op(p.state, p.operation, v[0], &p.op) ||
        !arguments_bool(p.operation, "exclusive", v[3], true, &p.exclusive) ||
        !arguments_bool(p.operation, "reverse", v[4], false, &p.reverse))
        return NULL;
    PyObject *zero = PyLong_FromLong(0);
    if (!zero)
        return NULL;
    PyObject *axis = v[2] ? v[2] : zero, *result;
    if (axis == Py_None || axis == Py_Ellipsis)
        result = error_raise(PyExc_TypeError, p.operation, &v[1], 1,
                             "'axis' is %R, expected an int or a tuple of ints", axis);
    else if (array_check(p.state, v[1]))
        result = prefix_array(&p, v[1], axis);
    else
        result = prefix_sequence(&p, v[1], axis);
    Py_DECREF(zero);
    return result;
}

/* ---------------------------------------------------------------- blocks */

/* An array with a trailing dynamic axis; tensors are an error, the rest passes. */
static int block_operand(const Prefix *p, PyObject *value)
{
    if (!array_check(p->state, value))
        return 0;
    const TypeInfo *info = ((Array *) value)->info;
    if (info->kind == KIND_TENSOR) {
        error_raise(PyExc_RuntimeError, p->operation, &value, 1,
                    "tensors are not supported; reshape them and reduce along an axis");
        return -1;
    }
    if (!info->jit && !access_is_flat(info))
        return 0;
    return check_type(p, value, info) ? 1 : -1;
}

static PyObject *block_prefix_leaf(void *context, PyObject *const *leaves)
{
    const Prefix *p = context;
    PyObject *value = leaves[0];
    int operand = block_operand(p, value);
    if (operand <= 0)
        return operand ? NULL : Py_NewRef(value);
    return prefix_trailing(p, (Array *) value);
}

/* The last block may be shorter. */
static VarIndex reduce_incomplete(const Prefix *p, const TypeInfo *info, VarIndex var)
{
    const size_t peek = var_peek_size(var);
    if (peek == 1 || peek % p->block.n == 0)
        return reduce_variable(info, p->op, p->strategy, var, p->block);
    const size_t size = var_size(var), block = extent_number(p->block);
    if (block > size)
        return reduce_variable(info, p->op, p->strategy, var, extent_of(size));
    VarIndex padded = pad(var, p->op, size - size % block + block);
    VarIndex result =
        padded ? reduce_variable(info, p->op, p->strategy, padded, p->block) : 0;
    var_unref(padded);
    return result;
}

/* Reduce blocks of a var. An array whose leaves all have one entry stays as it is: it
 * may stand for any number of lanes. */
static bool reduce_leaf(const Prefix *p, Array *value, size_t i, size_t width,
                        Array *result)
{
    VarIndex var, out;
    if (!reduce_leaf_variable(p->operation, value, i, width, &var))
        return false;
    const bool ok = var ? (out = reduce_incomplete(p, value->info, var)) != 0
                         : var_none(value->info, 1, &array_leaves(value)[i], &out);
    var_unref(var);
    if (ok)
        array_set_leaf(result, i, out);
    else
        error_from_core(p->operation, (PyObject **) &value, 1);
    return ok;
}

static Array *reduce_blocks(const Prefix *p, Array *value)
{
    const size_t count = array_count(value), size = value->info->entry_size;
    const size_t block = count <= 1 ? 1 : p->block.n < count ? p->block.n : count;
    const size_t blocks = count / block + (count % block != 0);
    Array *result = array_new_dynamic(value->info, blocks);
    for (size_t i = 0; result && i < blocks; i++) {
        const size_t rest = count - i * block;
        if (!jit_host_reduce(p->op, (VarType) value->info->entry,
                             rest < block ? rest : block,
                             (char *) array_data(value) + i * block * size,
                             (char *) array_data(result) + i * size)) {
            error_from_core(p->operation, (PyObject **) &value, 1);
            Py_CLEAR(result);
        }
    }
    return result;
}

static PyObject *block_reduce_leaf(void *context, PyObject *const *leaves)
{
    const Prefix *p = context;
    PyObject *value = leaves[0];
    int operand = block_operand(p, value);
    if (operand <= 0)
        return operand ? NULL : Py_NewRef(value);
    Array *a = (Array *) value;
    if (!a->info->jit)
        return (PyObject *) reduce_blocks(p, a);
    size_t width;
    if (!reduce_open(p->operation, a, &width))
        return NULL;
    Array *result = array_new_like(a->info, a);
    for (size_t i = 0; result && i < array_count(result); i++)
        if (!reduce_leaf(p, a, i, width, result))
            Py_CLEAR(result);
    return (PyObject *) result;
}

static bool read_block(Prefix *p, PyObject *object)
{
    if (!extent_argument(p->operation, "block_size", object, &p->block))
        return false;
    if (p->block.n == 0)
        error_raise(PyExc_RuntimeError, p->operation, NULL, 0,
                    "'block_size' is 0, expected 1 or more");
    return p->block.n;
}

PyObject *prefix_block_reduce(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *names)
{
    static const char *const parameters[] = { "op", "value", "block_size", "mode" };
    static const Signature signature = { "block_reduce", parameters, 4, 3, 0 };
    PyObject *v[4];
    Prefix p = { .state = state_of_module(module), .operation = "block_reduce" };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !read_op(p.state, p.operation, v[0], &p.op) || !read_block(&p, v[2]) ||
        !reduce_strategy(p.operation, v[3], &p.strategy))
        return NULL;
    return tree_map(p.state, p.operation, &v[1], 1, block_reduce_leaf, &p);
}

PyObject *prefix_block_sum(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *names)
{
    static const char *const parameters[] = { "value", "block_size", "mode" };
    static const Signature signature = { "block_sum", parameters, 3, 2, 0 };
    PyObject *v[3];
    Prefix p = { .state = state_of_module(module),
                 .operation = "block_sum",
                 .op = ReduceOpAdd };
    if (!arguments_parse(&signature, args, nargs, names, v) || !read_block(&p, v[1]) ||
        !reduce_strategy(p.operation, v[2], &p.strategy))
        return NULL;
    return tree_map(p.state, p.operation, &v[0], 1, block_reduce_leaf, &p);
}

PyObject *prefix_block(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *names)
{
    static const char *const parameters[] = { "op", "value", "block_size", "exclusive",
                                              "reverse" };
    static const Signature signature = { "block_prefix_reduce", parameters, 5, 3, 0 };
    PyObject *v[5];
    Prefix p = { .state = state_of_module(module), .operation = "block_prefix_reduce" };
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !read_op(p.state, p.operation, v[0], &p.op) || !read_block(&p, v[2]) ||
        !arguments_bool(p.operation, "exclusive", v[3], true, &p.exclusive) ||
        !arguments_bool(p.operation, "reverse", v[4], false, &p.reverse))
        return NULL;
    return tree_map(p.state, p.operation, &v[1], 1, block_prefix_leaf, &p);
}

/* ---------------------------------------------------------------- compress */

/* A temporary mask has two references: of its array, and of evaluate_command(). */
static VarIndex run_compress(VarIndex var, void *temporary)
{
    return var_compress(var, *(bool *) temporary ? 2 : 0);
}

static PyObject *compress_entries(const TypeInfo *info, const Array *mask)
{
    const uint8_t *bits = array_data(mask);
    size_t count = array_count(mask), set = 0;
    for (size_t i = 0; i < count; i++)
        set += bits[i] != 0;
    Array *result = array_new_dynamic(info, set);
    uint32_t *out = result ? array_data(result) : NULL;
    for (size_t i = 0; result && i < count; i++)
        if (bits[i])
            *out++ = (uint32_t) i;
    return (PyObject *) result;
}

PyObject *prefix_compress(PyObject *module, PyObject *argument)
{
    State *state = state_of_module(module);
    if (!array_check(state, argument))
        return error_raise(PyExc_TypeError, "compress", &argument, 1,
                           "expected a flat mask array");
    Array *mask = (Array *) argument;
    if (!access_is_flat(mask->info) || !type_is_mask(mask->info))
        return error_raise(PyExc_RuntimeError, "compress", &argument, 1,
                           "expected a flat (1D) mask array");
    const TypeInfo *info = access_flat(state, mask->info, VarTypeUInt32);
    if (!mask->info->jit)
        return compress_entries(info, mask);
    VarIndex index = array_var(mask), indices = 0;
    bool temporary = argument_is_temporary(argument);
    reads_note_whole(mask);
    if (index && !(indices = evaluate_command(run_compress, index, 0, &temporary)))
        return error_from_core("compress", &argument, 1);
    if (indices && var_peek_size(indices) == 0) { /* arrays know 0 as empty */
        var_unref(indices);
        indices = 0;
    }
    return (PyObject *) array_new_leaf(info, indices);
}

/*
 * apply.c -- elementwise operations on arrays of any type
 *
 * A Job is one call. Its operands are brought to the type that promotion found, without
 * making arrays where that can be avoided:
 *
 *   numbers, single variables     one Value that serves all leaves
 *   arrays with the right leaves  borrowed as they are
 *   other entry type or family    their leaves converted, in a new array
 *   fewer leaves                  a map from leaves of the result to their own
 *
 * Then there is one loop over leaves: each step records a node (just-in-time families)
 * or one call computes all entries (drjit.scalar). Tensors of different shapes are
 * repeated to their common shape first.
 */
#include "python/ops/apply.h"

#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/convert/operand.h"
#include "python/convert/promote.h"
#include "python/convert/value.h"
#include "python/ops/broadcast.h"
#include "python/ops/matmul.h"
#include "python/ops/sized.h"
#include "python/ops/special.h"

/* ---------------------------------------------------------------- the operations */

const ApplyRow apply_rows[APPLY_COUNT] = {
#define ROW(id, name, op, arity, entries, result, special, derivative) \
    [APPLY_##id] = { #name, ENTRIES_##entries, op,                     \
                     arity, RESULT_##result,   SPECIAL_##special },
#include "python/ops/apply.def"
};

/* The columns of each row agree with each other. */
#define ROW(id, name, op, arity, entries, result, special, derivative)  \
    _Static_assert(RESULT_##result == RESULT_MASK                       \
                       ? DERIVATIVE_##derivative == DERIVATIVE_COMPARES \
                   : ENTRIES_##entries & ENTRIES_FLOATS                 \
                       ? DERIVATIVE_##derivative <= DERIVATIVE_STEPS    \
                       : DERIVATIVE_##derivative >= DERIVATIVE_INTEGER, \
                   "the derivative of " #name                           \
                   " does not fit the types of its entries");
#include "python/ops/apply.def"

/* ---------------------------------------------------------------- operands */

enum { LEAF_LIMIT = 64 };

typedef struct JobOperand {
    const TypeInfo *info; /* entry type and family of the leaves */
    Array *array;         /* owned; NULL: 'value' serves all leaves */
    Value value;          /* owned */
    bool repeated;        /* the array has one leaf, which serves all */
    bool mapped;          /* 'map' says which leaf serves which */
    uint8_t map[LEAF_LIMIT];
} JobOperand;

typedef struct Job {
    State *state;
    Apply which;
    PyObject *const *args; /* operands; named in errors */
    int arity;
    const TypeInfo *info; /* in which to compute */
    const TypeInfo *result;
    JobOperand operands[3];
    Extents *shapes; /* of the operands, if they are tensors; NULL */
} Job;

static const char *name_of(const Job *job)
{
    return apply_rows[job->which].name;
}

static void fail(const Job *job)
{
    error_from_core(name_of(job), job->args, job->arity);
}

static void release(JobOperand *o)
{
    if (o->array)
        Py_DECREF(o->array);
    else if (o->info)
        value_release(o->info, o->value);
    o->array = NULL;
    o->info = NULL;
}

bool apply_number(const TypeInfo *info, PyObject *number, uint64_t *bits)
{
    *bits = 0;
    if (PyFloat_CheckExact(number) && info->entry == VarTypeFloat32) {
        float value = (float) PyFloat_AS_DOUBLE(number);
        memcpy(bits, &value, sizeof(value));
        return true;
    }
    return convert_number((VarType) info->entry, number, bits);
}

static bool take_number(Job *job, const TypeInfo *info, PyObject *number, JobOperand *o)
{
    uint64_t bits;
    if (!apply_number(info, number, &bits)) {
        if (PyErr_ExceptionMatches(PyExc_OverflowError))
            error_raise_both("OverflowError", name_of(job), job->args, job->arity,
                             "%R is out of range for the entries of %s", number,
                             info->name);
        return false;
    }
    if (!value_constant(info, bits, &o->value)) {
        fail(job);
        return false;
    }
    o->info = info;
    return true;
}

/* One variable for all leaves. */
static bool take_leaf(Job *job, const TypeInfo *info, const Array *a, JobOperand *o)
{
    Value leaf = value_of(a, 0);
    bool ok = value_cast(a->info, info, leaf, &o->value);
    value_release(a->info, leaf);
    if (!ok)
        fail(job);
    else
        o->info = info;
    return ok;
}

static bool same_dims(const int8_t *a, const int8_t *b, int n)
{
    return n >= 0 && memcmp(a, b, (size_t) n) == 0;
}

/* Which of its own leaves an array of extents 'from' gives to each leaf of 'to'. Axes
 * are aligned at the front, but an array that has the type of the elements is repeated
 * as a whole: each row of Array33f + Array3f is that Array3f. */
static void fill_map(const TypeInfo *from, const TypeInfo *to, uint8_t *map)
{
    size_t stride[3] = { 0, 0, 0 }, step = from->leaves;
    bool elements = from->kind == KIND_ARRAY;
    for (int d = 0, a = 0; d < to->ndim && a < from->ndim; d++) {
        int rest = from->ndim - a;
        if (elements && to->ndim - d - 1 == rest &&
            same_dims(from->dims + a, to->dims + d + 1, rest))
            continue;
        step /= (size_t) from->dims[a];
        stride[d] = from->dims[a] == 1 ? 0 : step;
        a++;
    }
    for (size_t i = 0; i < to->leaves; i++) {
        size_t rest = i, position = 0;
        for (int d = to->ndim - 1; d >= 0; d--) {
            position += rest % (size_t) to->dims[d] * stride[d];
            rest /= (size_t) to->dims[d];
        }
        map[i] = (uint8_t) position;
    }
}

static bool take_tensor(Job *job, const TypeInfo *info, Array *a, JobOperand *o)
{
    o->array = a->info == info ? (Array *) Py_NewRef((PyObject *) a)
                               : convert_array(info, a, name_of(job));
    o->info = o->array ? info : NULL;
    return o->array; /* its shape is read when all operands are here */
}

static bool take_nested(Job *job, const TypeInfo *info, Array *a, JobOperand *o)
{
    o->array = convert_entries(info, a, name_of(job));
    if (!o->array)
        return false;
    o->info = info;
    const TypeInfo *from = a->info;
    if (info->dynamic)
        return true; /* counts are compared when all are known */
    o->mapped = from->ndim != info->ndim ||
                memcmp(from->dims, info->dims, (size_t) info->ndim) != 0;
    if (o->mapped)
        fill_map(from, info, o->map);
    return true;
}

static bool take_converted(Job *job, const TypeInfo *info, PyObject *arg, JobOperand *o)
{
    o->array = convert_to(info, arg, name_of(job));
    if (!o->array) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) ||
            PyErr_ExceptionMatches(PyExc_ValueError))
            error_raise(PyExc_RuntimeError, name_of(job), job->args, job->arity,
                        "an operand is of type %s, expected something that can be "
                        "converted to %s",
                        operand_class(arg)->tp_name, info->name);
        return false;
    }
    if (info->kind == KIND_TENSOR) {
        Array *made = o->array;
        bool ok = take_tensor(job, info, made, o);
        Py_DECREF(made);
        return ok;
    }
    o->info = info;
    return true;
}

/* Bring one operand to 'info'. 'embed': a single value stands for a complex number, a
 * multiple of the identity, ... and not for each component. */
static bool take(Job *job, const TypeInfo *info, PyObject *arg, bool embed,
                 JobOperand *o)
{
    Array *a = array_of(arg);
    if (!a && promote_number(arg) >= 0)
        return embed ? take_converted(job, info, arg, o)
                     : take_number(job, info, arg, o);
    if (!a)
        return take_converted(job, info, arg, o);
    if (a->info->kind == KIND_TENSOR)
        return take_tensor(job, info, a, o);
    if (a->info->kind == KIND_FLAT)
        return embed ? take_converted(job, info, arg, o) : take_leaf(job, info, a, o);
    return take_nested(job, info, a, o);
}

/* ---------------------------------------------------------------- computing */

static size_t position(const JobOperand *o, size_t i)
{
    return o->mapped ? o->map[i] : o->repeated ? 0 : i;
}

void apply_error(const char *operation, PyObject *const *args, Py_ssize_t n,
                 const VarIndex *indices, int count)
{
    size_t empty = 0, other = 0;
    for (int k = 0; k < count; k++) {
        empty += var_is_empty(indices[k]);
        if (var_size(indices[k]) > other)
            other = var_size(indices[k]);
    }
    if (empty && other)
        error_raise(PyExc_RuntimeError, operation, args, n,
                    "operands have incompatible sizes 0 and %zu, expected equal sizes "
                    "or 1",
                    other);
    else
        error_from_core(operation, args, n);
}

/* Ordering of masks: false is less than true. */
static VarIndex order_masks(JitOp op, const VarIndex *in)
{
    bool negate_first = op == JitOpLt || op == JitOpLe;
    VarIndex negated = var_not(in[negate_first ? 0 : 1]);
    VarIndex other = in[negate_first ? 1 : 0];
    VarIndex result = 0;
    if (negated)
        result = op == JitOpLt || op == JitOpGt ? var_and(negated, other)
                                                : var_or(negated, other);
    var_unref(negated);
    return result;
}

static bool orders_masks(const Job *job)
{
    return job->info->entry == VarTypeBool &&
           apply_rows[job->which].special == SPECIAL_UNORDERED;
}

/* An operand is at fault for leaf i. In a nested array that error becomes the cause of
 * the whole operation's. */
static bool fail_leaf(const Job *job, size_t i, const VarIndex *in)
{
    const char *name = name_of(job);
    const TypeInfo *info = job->info;
    if (info->kind == KIND_FLAT || info->kind == KIND_TENSOR) {
        apply_error(name, job->args, job->arity, in, job->arity);
        return false;
    }
    char path[24 * 4] = "", rest[sizeof(path)] = "";
    for (int d = info->ndim - 1; d >= 0; d--) {
        const size_t extent = d ? (size_t) info->dims[d] : SIZE_MAX;
        snprintf(path, sizeof(path), "[%zu]%s", i % extent, rest);
        memcpy(rest, path, sizeof(rest));
        i /= extent;
    }
    apply_error(name, NULL, 0, in, job->arity);
    return error_raise(PyExc_RuntimeError, name, job->args, job->arity,
                       "component %s failed, see the error before", path);
}

/* With an operand that is empty, others of one entry have none for it either. */
static bool is_empty(const VarIndex *in, int arity)
{
    for (int k = 0; k < arity; k++)
        if (!var_is_empty(in[k]) && var_peek_size(in[k]) != 1)
            return false;
    return true;
}

static bool compute_traced(const Job *job, Array *out)
{
    size_t count = array_count(out);
    JitOp op = apply_rows[job->which].op;
    bool masks = orders_masks(job);
    for (size_t i = 0; i < count; i++) {
        VarIndex in[3];
        int empty = 0;
        for (int k = 0; k < job->arity; k++) {
            const JobOperand *o = &job->operands[k];
            in[k] = o->array ? array_leaves(o->array)[position(o, i)] : o->value;
            empty += var_is_empty(in[k]);
        }
        if (empty && is_empty(in, job->arity)) {
            if (!var_none(out->info, job->arity, in, &array_leaves(out)[i]))
                return fail_leaf(job, i, in);
            continue;
        }
        VarIndex var = empty   ? 0
                    : masks ? order_masks(op, in)
                            : var_op(op, job->arity, in);
        if (!var)
            return fail_leaf(job, i, in);
        array_leaves(out)[i] = var;
    }
    return true;
}

static bool compute_now(const Job *job, Array *out)
{
    size_t count = array_count(out);
    JitHostOperand in[3];
    const char *data[3];
    bool mapped = false;
    VarType type = (VarType) job->info->entry;
    JitOp op = apply_rows[job->which].op;
    if (orders_masks(job))
        type = VarTypeUInt8; /* masks are bytes 0 and 1 */
    for (int k = 0; k < job->arity; k++) {
        const JobOperand *o = &job->operands[k];
        data[k] = o->array ? array_data(o->array) : (const char *) &o->value;
        in[k].data = data[k];
        in[k].step = o->array && !o->repeated;
        mapped |= o->mapped;
    }
    bool ok = true;
    if (!mapped) {
        ok = jit_host_op(op, type, count, in, array_data(out));
    } else {
        char *target = array_data(out);
        for (size_t i = 0; ok && i < count; i++) {
            for (int k = 0; k < job->arity; k++) {
                const JobOperand *o = &job->operands[k];
                if (o->array)
                    in[k].data = data[k] + position(o, i) * o->array->info->var_size;
            }
            ok = jit_host_op(op, type, 1, in, target + i * out->info->var_size);
        }
    }
    if (!ok)
        fail(job);
    return ok;
}

static bool compute(const Job *job, Array *out)
{
    return job->info->jit ? compute_traced(job, out) : compute_now(job, out);
}

/* ---------------------------------------------------------------- dynamic arrays */

/* The number of leaves that operands of ArrayX... have in common. */
static bool dynamic_count(Job *job, size_t *count)
{
    bool any = false;
    *count = 1;
    for (int k = 0; k < job->arity; k++) {
        const JobOperand *o = &job->operands[k];
        size_t own = o->array ? array_count(o->array) : 1;
        if (!any || *count == 1) {
            *count = own;
        } else if (own != *count && own != 1) {
            return error_raise(
                PyExc_RuntimeError, name_of(job), job->args, job->arity,
                "operands have incompatible sizes %zu and %zu, expected equal "
                "sizes or 1",
                *count, own);
        }
        any = true;
    }
    for (int k = 0; k < job->arity; k++) {
        JobOperand *o = &job->operands[k];
        o->repeated = o->array && array_count(o->array) == 1;
    }
    return true;
}

/* ---------------------------------------------------------------- tensors */

static bool shape_error(const Job *job)
{
    PyObject *text = PyUnicode_FromString("");
    for (int k = 0; text && k < job->arity; k++) {
        PyObject *shape = broadcast_text(job->state, &job->shapes[k]);
        PyObject *longer =
            shape ? PyUnicode_FromFormat("%U%s%U", text, k ? " and " : "", shape)
                  : NULL;
        Py_XDECREF(shape);
        Py_DECREF(text);
        text = longer;
    }
    if (text)
        error_raise(PyExc_RuntimeError, name_of(job), job->args, job->arity,
                    "operands have incompatible shapes: %U", text);
    Py_XDECREF(text);
    return false;
}

static bool expand_traced(const Job *job, const Extents *shape, int k, JobOperand *o)
{
    VarIndex index = o->array ? array_var(o->array) : o->value;
    index = broadcast_variable(index, &job->shapes[k], shape);
    if (!index) {
        fail(job);
        return false;
    }
    const TypeInfo *info = o->info;
    release(o);
    o->info = info;
    o->value = index;
    return true;
}

static bool expand_entries(const Job *job, const Extents *shape, int k, JobOperand *o)
{
    Array *all = extents_new_tensor(o->info, shape);
    if (!all)
        return false;
    broadcast_entries(o->info->entry_size, array_data(o->array), &job->shapes[k],
                      all->data, shape);
    Py_DECREF(o->array);
    o->array = all;
    return true;
}

/* Converting an operand may have run code that changed another one. */
static void read_shapes(Job *job)
{
    for (int k = 0; k < job->arity; k++) {
        const JobOperand *o = &job->operands[k];
        if (o->array) {
            extents_of(o->array, &job->shapes[k]);
            continue;
        }
        extents_set_numbers(&job->shapes[k], 0, NULL);
        const VarIndex var = job->info->jit ? o->value : 0;
        const size_t size = var ? var_peek_size(var) : !job->info->jit;
        if (size != 1) /* a flat array */
            extents_append(&job->shapes[k], extent_of_leaf(var, size));
    }
}

/* Repeat operands to the common shape. What has one entry repeats itself. */
static bool expand(Job *job, Extents *shape, Extent *size)
{
    *shape = job->shapes[0];
    for (int k = 1; k < job->arity; k++)
        if (!broadcast_merge(shape, &job->shapes[k]))
            return shape_error(job);
    if (!extents_total(shape, size))
        return false;
    if (job->info->jit && size->n > UINT32_MAX)
        return error_raise(PyExc_RuntimeError, name_of(job), job->args, job->arity,
                           "the result has %zu entries, at most 2^32 - 1 are possible",
                           size->n);
    for (int k = 0; size->n && k < job->arity; k++) {
        JobOperand *o = &job->operands[k];
        Extent own;
        if (!extents_total(&job->shapes[k], &own))
            return false;
        o->repeated = own.n == 1;
        if (own.n == 1 || extent_equal(own, *size))
            continue;
        if (!(job->info->jit ? expand_traced : expand_entries)(job, shape, k, o))
            return false;
    }
    return true;
}

/* A tensor whose entries are one repeated value has a variable of its full size. */
static bool fill_size(const Job *job, Array *out, Extent size)
{
    VarIndex index = array_var(out);
    if (var_peek_size(index) == size.n)
        return true;
    index = var_resize(index, extent_next(size));
    if (!index)
        fail(job);
    else
        array_set_leaf(out, 0, index);
    return index;
}

static Array *without_entries(const Job *job, Array *out)
{
    VarIndex in[3];
    for (int k = 0; job->info->jit && k < job->arity; k++) {
        const JobOperand *o = &job->operands[k];
        in[k] = o->array ? array_var(o->array) : o->value;
    }
    out = array_set_none(out, job->arity, in);
    if (!out)
        fail(job);
    return out;
}

static Array *apply_tensors(Job *job)
{
    Extents shape, shapes[3];
    Extent size;
    job->shapes = shapes;
    read_shapes(job);
    if (!expand(job, &shape, &size))
        return NULL;
    Array *out = extents_new_tensor(job->result, &shape);
    if (!out)
        return NULL;
    if (size.n == 0)
        return without_entries(job, out);
    if (!compute(job, out) || (job->info->jit && !fill_size(job, out, size)))
        Py_CLEAR(out);
    return out;
}

/* ---------------------------------------------------------------- one call */

static Array *elementwise(Job *job)
{
    if (job->info->kind == KIND_TENSOR)
        return apply_tensors(job);
    size_t count = 0;
    if (job->info->dynamic && !dynamic_count(job, &count))
        return NULL;
    Array *out = job->info->dynamic ? array_new_dynamic(job->result, count)
                                    : array_new(job->result);
    if (out && !compute(job, out))
        Py_CLEAR(out);
    return out;
}

/* An operand of lower rank than what it divides: its reciprocal is taken once. */
static bool has_lower_rank(const Job *job, PyObject *divisor)
{
    const Array *a = array_of(divisor);
    if (!a)
        return promote_number(divisor) >= 0;
    return a->info->kind != KIND_TENSOR && job->info->kind != KIND_TENSOR &&
           a->info->ndim < job->info->ndim;
}

static bool invert_operand(Job *job, JobOperand *o)
{
    size_t count = o->array ? array_count(o->array) : 1;
    Array *inverse = o->array ? array_new_like(o->array->info, o->array) : NULL;
    if (o->array && !inverse)
        return false;
    for (size_t i = 0; i < count; i++) {
        Value leaf = o->array ? value_of(o->array, i) : o->value, result;
        bool ok = value_op(o->info, JitOpRcp, &leaf, &result);
        value_release(o->info, leaf);
        if (!o->array)
            o->value = ok ? result : 0;
        else if (ok)
            value_store(inverse, i, result);
        if (!ok) {
            fail(job);
            Py_XDECREF(inverse);
            return false;
        }
    }
    if (inverse) {
        Py_DECREF(o->array);
        o->array = inverse;
    }
    return true;
}

static Array *start(Job *job, bool scaling)
{
    bool divides = job->which == APPLY_TRUEDIV && has_lower_rank(job, job->args[1]);
    bool embed = type_is_special(job->info) && !scaling;
    for (int k = 0; k < job->arity; k++) {
        const TypeInfo *info = job->info;
        bool mask = job->which == APPLY_SELECT && k == 0;
        if (mask)
            info = &job->state->types[info->mask];
        if (!take(job, info, job->args[k], embed && !mask, &job->operands[k]))
            return NULL;
    }
    if (divides) {
        if (!invert_operand(job, &job->operands[1]))
            return NULL;
        job->which = APPLY_MUL;
    }
    return elementwise(job);
}

static Array *run(Job *job, bool scaling)
{
    const ApplyRow *row = &apply_rows[job->which];
    uint16_t result = row->result == RESULT_MASK ? job->info->mask
                      : row->result == RESULT_WIDE
                          ? type_with_entry(job->info, job->info->entry == VarTypeInt32
                                                           ? VarTypeInt64
                                                           : VarTypeUInt64)
                          : job->info->id;
    if (result == TYPE_NONE) {
        error_raise(PyExc_RuntimeError, row->name, job->args, job->arity,
                    "there is no type for the result of this operation on %s",
                    job->info->name);
        return NULL;
    }
    job->result = &job->state->types[result];
    Array *out = start(job, scaling);
    for (int k = 0; k < job->arity; k++)
        release(&job->operands[k]);
    return out;
}

/* ---------------------------------------------------------------- special types */

static const TypeInfo *info_of(PyObject *object)
{
    const Array *a = array_of(object);
    return a ? a->info : NULL;
}

static bool is_kind(PyObject *object, Kind kind)
{
    const TypeInfo *info = info_of(object);
    return info && info->kind == kind;
}

/* a / b with a special type on either side, as a * rcp(b). */
static PyObject *divide_special(State *state, PyObject *const *args, bool slot)
{
    PyObject *inverse = apply(state, APPLY_RCP, &args[1], slot);
    if (!inverse || inverse == Py_NotImplemented)
        return inverse;
    PyObject *const factors[] = { args[0], inverse };
    PyObject *result = apply(state, APPLY_MUL, factors, slot);
    Py_DECREF(inverse);
    return result;
}

static PyObject *run_special(Job *job)
{
    const char *name = name_of(job);
    Array *operands[3] = { NULL, NULL, NULL };
    bool ok = true;
    for (int k = 0; ok && k < job->arity; k++)
        ok = (operands[k] = convert_to(job->info, job->args[k], name));
    PyObject *result = ok ? special_apply(job->info, job->which, operands, name) : NULL;
    for (int k = 0; k < job->arity; k++)
        Py_XDECREF(operands[k]);
    Array *array = result ? array_of(result) : NULL;
    return array ? array_finish(array, job->args, job->arity) : result;
}

/* ---------------------------------------------------------------- entry */

static PyObject *refuse(const Job *job, bool slot)
{
    if (slot)
        Py_RETURN_NOTIMPLEMENTED;
    return error_raise(PyExc_RuntimeError, name_of(job), job->args, job->arity,
                       "operation not supported for entries of this type");
}

static Promotion find_type(Job *job)
{
    if (job->which == APPLY_SELECT)
        return promote_select(job->state, name_of(job), job->args, &job->info);
    if (job->arity == 1) {
        job->info = info_of(job->args[0]);
        return job->info ? PROMOTION_FOUND : PROMOTION_NONE;
    }
    return promote_operands(job->state, name_of(job), job->args, job->arity,
                            &job->info);
}

/* Is it a mask, or what can be converted into one? */
static bool is_mask(State *state, PyObject *object)
{
    const TypeInfo *info = info_of(object);
    if (info)
        return type_is_mask(info);
    int class = promote_class(object);
    if (class >= 0 && class < TYPE_COUNT)
        return type_is_mask(&state->types[class]);
    return class == OPERAND_BOOL;
}

/* x & mask. */
static PyObject *masked(State *state, PyObject *const *args, bool slot)
{
    PyObject *zero = PyLong_FromLong(0);
    if (!zero)
        return NULL;
    PyObject *const selection[] = { args[1], args[0], zero };
    PyObject *result = apply(state, APPLY_SELECT, selection, slot);
    Py_DECREF(zero);
    return result;
}

static PyObject *apply_operands(State *state, Apply which, PyObject *const *args,
                                bool slot)
{
    const ApplyRow *row = &apply_rows[which];
    Job job = { .state = state, .which = which, .args = args, .arity = row->arity };
    bool matrix = job.arity == 2 &&
                  (is_kind(args[0], KIND_MATRIX) || is_kind(args[1], KIND_MATRIX));
    if (which == APPLY_MUL && matrix && !promote_is_single(args[0]) &&
        !promote_is_single(args[1]))
        return matmul_apply(state, args, false, false);
    if (which == APPLY_AND && info_of(args[0]) && !type_is_mask(info_of(args[0])) &&
        is_mask(state, args[1]))
        return masked(state, args, slot);
    if (which == APPLY_TRUEDIV && matrix && !promote_is_single(args[1]))
        return divide_special(state, args, slot);

    Promotion found = find_type(&job);
    if (found == PROMOTION_NONE) {
        if (slot)
            Py_RETURN_NOTIMPLEMENTED;
        promote(state, row->name, args, job.arity); /* says which one */
        return PyErr_Occurred()
                   ? NULL
                   : error_raise(PyExc_TypeError, row->name, args, job.arity,
                                 "none of the arguments is a Dr.Jit array");
    }
    if (found == PROMOTION_ERROR)
        return NULL;
    if (!apply_accepts(which, (VarType) job.info->entry))
        return refuse(&job, slot);
    bool special = type_is_special(job.info);
    if (special && row->special == SPECIAL_UNORDERED)
        return error_raise(
            PyExc_RuntimeError, row->name, args, job.arity,
            "inequality comparisons are not defined for complex numbers, "
            "quaternions and matrices");
    if (special && special_refuses((Kind) job.info->kind, which))
        return error_raise(PyExc_RuntimeError, row->name, args, job.arity,
                           "operation not supported for this type");
    bool scaling =
        special && (which == APPLY_MUL || which == APPLY_TRUEDIV) &&
        promote_is_single(
            args[which == APPLY_MUL && promote_is_single(args[0]) ? 0 : 1]);
    if (special && !scaling && special_has((Kind) job.info->kind, which))
        return run_special(&job);
    return array_finish(run(&job, scaling), args, job.arity);
}

static PyObject *apply_plain(State *state, Apply which, PyObject *const *args,
                             bool slot)
{
    PyObject *operands[3];
    int arity = apply_rows[which].arity;
    if (!operand_open(state, args, arity, operands))
        return NULL;
    if (reads_open)
        reads_note_operands(operands, arity);
    PyObject *result = evaluate_writes(apply_rows[which].name, operands, arity)
                           ? apply_operands(state, which, operands, slot)
                           : NULL;
    operand_close(operands, arity);
    return result;
}

PyObject *apply(State *state, Apply which, PyObject *const *args, bool slot)
{
    bool sized = false;
    state->slow_paths++;
    for (int k = 0; k < apply_rows[which].arity; k++)
        sized |= size_is(args[k]);
    PyObject *opened[3];
    if (!sized || !size_is_general())
        return apply_plain(state, which, args, slot);
    if (!sized_open(state, &which, apply_rows[which].arity, args, opened))
        return NULL;
    PyObject *result = apply_plain(state, which, opened, slot);
    operand_close(opened, apply_rows[which].arity);
    return result;
}

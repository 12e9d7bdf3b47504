/*
 * scatter.c -- scatter, scatter_reduce, scatter_add
 *
 * Three passes, so that a wrong argument is found before anything is written: the
 * PyTrees are taken apart into pairs of a target and a value (converted to its type),
 * sizes and indices of all pairs are checked, then each is written. Components of a
 * nested value go to a flat target in packets, laid out as memory.c reads them.
 *
 * A variable is written in place if the array holds the only reference to it, so none
 * is taken here. What has to be computed first is computed without the GIL beforehand.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/arguments.h"
#include "python/base/error.h"
#include "python/convert/convert.h"
#include "python/memory/gather.h"
#include "python/tree/tree.h"
#include "python/type/enums.h"

typedef struct Pair {
    Array *target; /* both owned */
    Array *value;
    bool components; /* nested value, flat target */
} Pair;

typedef struct Scatter {
    Access access;
    ReduceOp op;
    ReduceMode mode;
    Pair *pairs;
    size_t count, capacity;
} Scatter;

/* ---------------------------------------------------------------- pairs */

static bool wrong_value(const Scatter *s, const Array *target, PyObject *value)
{
    return error_raise(PyExc_TypeError, s->access.operation, NULL, 0,
                       "a value of type %s cannot be written to a target of type %s",
                       Py_TYPE(value)->tp_name, target->info->name);
}

/* Convert what is not an array, as the target's constructor would. */
static Array *convert_value(const Scatter *s, const Array *target, PyObject *value)
{
    Array *converted = convert_to(target->info, value, s->access.operation);
    if (!converted && !PyErr_ExceptionMatches(PyExc_MemoryError))
        wrong_value(s, target, value);
    return converted;
}

/* Are entries tracked that a conversion to the target's type has detached? */
static bool loses_derivative(const Array *value, const Array *converted)
{
    const size_t n = value->info->jit ? array_count(value) : 0;
    for (size_t i = 0; i < n && i < array_count(converted); i++)
        if (var_node(array_leaves(value)[i]) && !var_node(array_leaves(converted)[i]) &&
            ad_grad_enabled(array_leaves(value)[i]))
            return true;
    return false;
}

static bool check_pair(const Scatter *s, Pair *pair, PyObject *target, PyObject *value)
{
    static const char *const instead =
        "slice assignments for scatters that involve them";
    State *state = s->access.state;
    const char *operation = s->access.operation;
    if (!array_check(state, target))
        return error_raise(
            PyExc_TypeError, operation, NULL, 0,
            "'target' is of type %s, expected a dynamic 1D array, or a value of the "
            "target's type",
            Py_TYPE(target)->tp_name);
    Array *t = (Array *) target;
    bool is_array = array_check(state, value);
    if (t->info->kind == KIND_TENSOR ||
        (is_array && ((Array *) value)->info->kind == KIND_TENSOR))
        return access_no_tensors(operation, instead);
    bool flat = access_is_flat(t->info);
    if (!is_array) {
        if (!flat || value == Py_None)
            return wrong_value(s, t, value);
        pair->value = convert_value(s, t, value);
        return pair->value;
    }
    Array *source = convert_family(t->info, (Array *) value, operation);
    if (!source)
        return false;
    if (loses_derivative((Array *) value, source)) {
        Py_DECREF((PyObject *) source);
        return error_raise(PyExc_TypeError, operation, NULL, 0,
                           "the value has a derivative, which a target of type %s "
                           "cannot have; write to an array of %s, or detach() the "
                           "value",
                           t->info->name, ((Array *) value)->info->name);
    }
    const TypeInfo *from = source->info;
    bool same = from == t->info && (flat || t->info->jit);
    pair->components = flat && from != t->info && from->family == t->info->family &&
                       from->entry == t->info->entry;
    bool ok = same || pair->components || wrong_value(s, t, value);
    if (ok && same && array_count(t) != array_count(source) && t->info->jit)
        ok = error_raise(PyExc_RuntimeError, operation, NULL, 0,
                         "the value has %zu components, expected %zu as the target has",
                         array_count(source), array_count(t));
    if (!ok)
        Py_CLEAR(source);
    pair->value = source;
    return ok;
}

static bool add_pair(Scatter *s, PyObject *target, PyObject *value)
{
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 4;
        Pair *pairs = PyMem_Realloc(s->pairs, capacity * sizeof(Pair));
        if (!pairs)
            return PyErr_NoMemory();
        s->pairs = pairs;
        s->capacity = capacity;
    }
    Pair pair = { 0 };
    if (!check_pair(s, &pair, target, value))
        return false;
    pair.target = (Array *) Py_NewRef(target);
    s->pairs[s->count++] = pair;
    return true;
}

static bool collect_pairs(Scatter *s, PyObject *target, PyObject *value)
{
    State *state = s->access.state;
    const char *operation = s->access.operation;
    if (!plan_is_container(state, target) || Py_TYPE(target) != Py_TYPE(value))
        return add_pair(s, target, value);
    Tree targets, values = { 0 };
    bool ok = tree_flatten(state, operation, target, &targets) &&
              tree_flatten_like(state, operation, &targets, value, &values);
    for (size_t i = 0; ok && i < targets.leaf_count; i++)
        if (array_check(state, targets.leaves[i]) ||
            array_check(state, values.leaves[i])) /* others stay as they are */
            ok = add_pair(s, targets.leaves[i], values.leaves[i]);
    if (ok && !s->count && targets.leaf_count) /* none is an array */
        ok = add_pair(s, targets.leaves[0], values.leaves[0]);
    tree_free(&targets);
    tree_free(&values);
    return ok;
}

/* ---------------------------------------------------------------- jit */

typedef struct Operands {
    VarIndex *values; /* n of them */
    size_t n;
    VarIndex index, mask;
} Operands;

/* One write into leaf i of the target; the packet's values start at 'first'. */
static bool write_packet(const Scatter *s, Array *target, size_t i, const Operands *o,
                         size_t p, VarIndex position, size_t first)
{
    VarIndex old = array_leaves(target)[i];
    VarIndex written =
        p == 1 ? var_scatter(old, o->values[first], position, o->mask, s->op, s->mode)
               : var_scatter_packet(p, old, o->values + first, position, o->mask, s->op,
                                    s->mode);
    if (!written)
        return error_from_core(s->access.operation, NULL, 0);
    array_set_leaf(target, i, written);
    return true;
}

static bool write_leaf(const Scatter *s, Array *target, size_t i, const Operands *o)
{
    const char *operation = s->access.operation;
    VarIndex old = array_leaves(target)[i];
    if (var_is_empty(old))
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "'target' is empty, expected at least one entry");
    if (!gather_prepare_target(operation, old))
        return false;
    size_t p = o->n == 1 ? 1 : gather_packet_of(o->n, old);
    bool ok = true;
    for (size_t j = 0; j < o->n / p && ok; j++) {
        VarIndex position = gather_scaled_index(o->index, o->n / p, j);
        if (!position)
            return error_from_core(operation, NULL, 0);
        ok = write_packet(s, target, i, o, p, position, j * p);
        var_unref(position);
    }
    return ok;
}

static bool has_empty_leaf(const Array *target)
{
    for (size_t i = 0; i < array_count(target); i++)
        if (var_is_empty(array_leaves(target)[i]))
            return true;
    return false;
}

/* The lanes of a write; 0 is nothing to do, as where no lane is active, and there would
 * be no entry to write to. */
static bool write_lanes(const Scatter *s, const Pair *pair, const Array *index,
                        const Array *mask, size_t *lanes)
{
    size_t sizes[3] = { access_size(index), mask ? access_size(mask) : 1, 1 };
    VarIndex vars[3] = { access_peek(index), access_peek(mask), 0 };
    VarIndex wide = 0;
    *lanes = 1;
    for (size_t k = 0; k < array_count(pair->value); k++) {
        size_t part;
        vars[2] = array_leaves(pair->value)[k];
        sizes[2] = vars[2] ? var_peek_size(vars[2]) : 0;
        if (!access_lanes(s->access.operation, sizes, vars, 3, &part))
            return false;
        const size_t both[] = { *lanes, part };
        if (!access_lanes(s->access.operation, both, (VarIndex[]){ wide, vars[2] }, 2,
                          lanes))
            return false;
        if (part != 1)
            wide = vars[2];
    }
    if (*lanes && has_empty_leaf(pair->target) && access_is_inactive(mask))
        *lanes = 0;
    return true;
}

static bool check_jit(const Scatter *s, const Pair *pair, const Array *index,
                      const Array *mask)
{
    const TypeInfo *info = pair->target->info;
    size_t lanes;
    if (!write_lanes(s, pair, index, mask, &lanes))
        return false;
    if (lanes && has_empty_leaf(pair->target))
        return error_raise(PyExc_RuntimeError, s->access.operation, NULL, 0,
                           "'target' is empty, expected at least one entry");
    if (s->op == ReduceOpIdentity ||
        jit_can_scatter_reduce((JitBackend) info->backend, (VarType) info->entry,
                               s->op))
        return true;
    return error_raise(PyExc_RuntimeError, s->access.operation, NULL, 0,
                       "this reduction is not defined for entries of %s", info->name);
}

/* Nothing is written, by values of which some may be tracked. */
static bool write_nothing(const Scatter *s, Array *target, size_t i, size_t n,
                          const VarIndex *values)
{
    const VarIndex old = array_leaves(target)[i];
    const int m = (int) n;
    VarIndex own = 0;
    const bool ok = var_node(old) ? (own = var_ref(old)) != 0
                    : var_is_empty(old)
                        ? var_none(target->info, m, values, &own)
                        : (own = var_of_none(var_ref(old), m, values)) != 0;
    if (ok)
        array_set_leaf(target, i, own);
    else
        error_from_core(s->access.operation, NULL, 0);
    return ok;
}

static bool write_jit(Scatter *s, const Pair *pair, const Array *index,
                      const Array *mask)
{
    size_t n = array_count(pair->value), lanes;
    VarIndex *values = PyMem_New(VarIndex, n ? n : 1);
    if (!values)
        return PyErr_NoMemory();
    for (size_t k = 0; k < n; k++) /* held: the value may be the target */
        values[k] = var_ref(array_leaves(pair->value)[k]);
    Operands all = { values, n, access_variable(index), access_variable(mask) };
    bool ok = write_lanes(s, pair, index, mask, &lanes);
    if (ok && !pair->components && array_count(pair->target) != n) {
        error_raise(PyExc_RuntimeError, s->access.operation, NULL, 0,
                    "the number of components changed while arguments were converted");
        ok = false;
    }
    if (ok && n && pair->components) {
        ok = lanes ? write_leaf(s, pair->target, 0, &all)
                   : write_nothing(s, pair->target, 0, n, values);
    } else {
        for (size_t i = 0; i < n && ok; i++) {
            const Operands one = { values + i, 1, all.index, all.mask };
            ok = lanes ? write_leaf(s, pair->target, i, &one)
                       : write_nothing(s, pair->target, i, 1, values + i);
        }
    }
    for (size_t k = 0; k < n; k++)
        var_unref(values[k]);
    var_unref(all.index);
    var_unref(all.mask);
    PyMem_Free(values);
    return ok;
}

/* ---------------------------------------------------------------- drjit.scalar */

/* Check everything, and find the number of lanes; 0 is nothing to do. */
static bool check_scalar(const Scatter *s, const Pair *pair, const Array *index,
                         const Array *mask, size_t *lanes)
{
    const char *operation = s->access.operation;
    const TypeInfo *info = pair->target->info;
    size_t count = array_count(pair->value), n = pair->components ? count : 1;
    const size_t sizes[] = { access_size(index), mask ? access_size(mask) : 1,
                             pair->components ? 1 : count };
    bool bitwise = s->op == ReduceOpAnd || s->op == ReduceOpOr;
    if (!access_lanes(operation, sizes, NULL, 3, lanes))
        return false;
    if (n == 0)
        *lanes = 0;
    if (*lanes && s->op != ReduceOpIdentity &&
        (type_is_mask(info) ? !bitwise : bitwise && type_is_float(info)))
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "this reduction is not defined for entries of %s",
                           info->name);
    return *lanes == 0 || access_check(operation, pair->target, index, mask, *lanes, n);
}

static bool write_scalar(Scatter *s, const Pair *pair, const Array *index,
                         const Array *mask)
{
    const char *operation = s->access.operation;
    size_t count = array_count(pair->value), n = pair->components ? count : 1, lanes;
    if (!check_scalar(s, pair, index, mask, &lanes))
        return false;
    if (lanes == 0)
        return true;
    size_t bytes = count * pair->value->info->entry_size;
    void *value = PyMem_Malloc(bytes ? bytes : 1); /* a copy: it may be the target */
    if (!value)
        return PyErr_NoMemory();
    memcpy(value, array_data(pair->value), bytes);
    bool ok = access_store(operation, pair->target, index, mask, lanes, n, value,
                           pair->components || count == 1, s->op);
    PyMem_Free(value);
    return ok;
}

/* ---------------------------------------------------------------- functions */

static bool check_sizes(Scatter *s, const Pair *pair)
{
    Array *index, *mask;
    size_t lanes;
    if (!access_use(&s->access, pair->target->info, &index, &mask))
        return false;
    return pair->target->info->jit ? check_jit(s, pair, index, mask)
                                   : check_scalar(s, pair, index, mask, &lanes);
}

static bool write_pair(Scatter *s, const Pair *pair)
{
    Array *index, *mask;
    if (!access_use(&s->access, pair->target->info, &index, &mask))
        return false;
    return pair->target->info->jit ? write_jit(s, pair, index, mask)
                                   : write_scalar(s, pair, index, mask);
}

/* v: target, value, index, active */
static PyObject *scatter_mode(State *state, const char *operation, ReduceOp op,
                              ReduceMode mode, PyObject *const *v)
{
    Scatter s = { .op = op, .mode = mode };
    if (!evaluate_writes(operation, &v[1], 3)) /* the target's may wait */
        return NULL;
    access_start(&s.access, state, operation, v[2], v[3]);
    bool ok = collect_pairs(&s, v[0], v[1]);
    for (size_t i = 0; i < s.count && ok; i++) {
        Array *index, *mask; /* all conversions before the first write */
        ok = access_use(&s.access, s.pairs[i].target->info, &index, &mask);
    }
    for (size_t i = 0; i < s.count && ok; i++)
        ok = check_sizes(&s, &s.pairs[i]) &&
             reads_check_write(operation, s.pairs[i].target);
    for (size_t i = 0; i < s.count && ok; i++)
        ok = write_pair(&s, &s.pairs[i]);
    for (size_t i = 0; i < s.count; i++) {
        Py_DECREF(s.pairs[i].target);
        Py_DECREF(s.pairs[i].value);
    }
    PyMem_Free(s.pairs);
    access_end(&s.access);
    if (!ok)
        return NULL;
    Py_RETURN_NONE;
}

/* v: those, and the mode */
static PyObject *scatter(PyObject *module, const char *operation, ReduceOp op,
                         PyObject **v)
{
    long mode = ReduceModeAuto;
    State *state = state_of_module(module);
    if (!access_sort_mode(state, &v[3], &v[4]))
        return NULL;
    if (v[4] &&
        !enum_read(state, operation, "ReduceMode", v[4], ReduceModeCount, &mode))
        return NULL;
    if (op != ReduceOpIdentity && mode == ReduceModePermute)
        return error_raise(PyExc_RuntimeError, operation, NULL, 0,
                           "'mode' is ReduceMode.Permute, which is for scatters that "
                           "do not reduce");
    return scatter_mode(state, operation, op, (ReduceMode) mode, v);
}

static const char *const parameters[] = { "op",    "target", "value",
                                          "index", "active", "mode" };

PyObject *scatter_plain(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *names)
{
    static const Signature signature = { "scatter", parameters + 1, 5, 3, 0 };
    PyObject *v[5];
    return arguments_parse(&signature, args, nargs, names, v)
               ? scatter(module, "scatter", ReduceOpIdentity, v)
               : NULL;
}

PyObject *scatter_part(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                       PyObject *names)
{
    static const Signature signature = { "_scatter_part", parameters + 1, 4, 3, 0 };
    PyObject *v[4];
    return arguments_parse(&signature, args, nargs, names, v)
               ? scatter_mode(state_of_module(module), "_scatter_part",
                              ReduceOpIdentity, ReduceModeParts, v)
               : NULL;
}

PyObject *scatter_add(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *names)
{
    static const Signature signature = { "scatter_add", parameters + 1, 5, 3, 0 };
    PyObject *v[5];
    return arguments_parse(&signature, args, nargs, names, v)
               ? scatter(module, "scatter_add", ReduceOpAdd, v)
               : NULL;
}

PyObject *scatter_reduce(PyObject *module, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *names)
{
    static const Signature signature = { "scatter_reduce", parameters, 6, 4, 0 };
    PyObject *v[6];
    long op;
    if (!arguments_parse(&signature, args, nargs, names, v) ||
        !enum_read(state_of_module(module), "scatter_reduce", "ReduceOp", v[0],
                   ReduceOpCount, &op))
        return NULL;
    return scatter(module, "scatter_reduce", (ReduceOp) op, v + 1);
}

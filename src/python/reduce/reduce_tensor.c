/*
 * reduce_tensor.c -- reductions of tensors along any axes
 *
 * Neighbouring axes that are treated alike are merged into groups, kept (K) or reduced
 * (R):
 *
 *     R          one reduction of everything
 *     K R        the entries to combine follow each other: a block reduction
 *     R K, K R K they are in columns: a reduction of an axis
 *     R K R, ... sums and products of floats: the first R changes places with the K
 *                after it, until there is one R; others reduce one R after the other
 *
 * These evaluate the input. Symbolically each entry is scattered to its place.
 *
 * Order of a sum: that of the entries, with the kept groups fixed.
 */
#include "python/array/evaluate.h"
#include "python/array/reads.h"
#include "python/base/error.h"
#include "python/base/gil.h"
#include "python/reduce/reduce.h"

typedef struct Group {
    Extent extent, stride; /* stride: in entries of the input */
    bool reduced;
} Group;

typedef struct Plan {
    Group groups[TENSOR_MAX_DIMS];
    int count;
    Extent kept, reduced; /* entries of the result, entries combined in each */
    Extents shape;        /* of the result */
} Plan;

static void plan_groups(Plan *p, const Extents *shape, const bool *axes)
{
    Extent stride = extent_of(1);
    Group reversed[TENSOR_MAX_DIMS];
    int n = 0;
    for (size_t d = shape->ndim; d-- > 0;) {
        const Extent extent = extents_get(shape, d);
        if (extent.n == 1)
            continue;
        if (n && reversed[n - 1].reduced == axes[d])
            reversed[n - 1].extent = extent_mul(reversed[n - 1].extent, extent);
        else
            reversed[n++] = (Group){ extent, stride, axes[d] };
        stride = extent_mul(stride, extent);
    }
    for (int i = 0; i < n; i++)
        p->groups[i] = reversed[n - 1 - i];
    p->count = n;
}

static void make_plan(Plan *p, const Reduction *r, const Extents *shape,
                      const bool *axes)
{
    p->kept = p->reduced = extent_of(1);
    extents_set_numbers(&p->shape, 0, NULL);
    for (size_t d = 0; d < shape->ndim; d++) {
        const Extent extent = extents_get(shape, d);
        Extent *total = axes[d] ? &p->reduced : &p->kept;
        *total = extent_mul(*total, extent);
        if (!axes[d] || r->keepdims)
            extents_append(&p->shape, axes[d] ? extent_of(1) : extent);
    }
    plan_groups(p, shape, axes);
}

/* Entries of the input. */
static Extent entries_of(const Plan *p)
{
    return extent_mul(p->kept, p->reduced);
}

/* Are the entries of each result already next to each other? */
static bool in_order(const Plan *p)
{
    return p->count < 2 || (p->count == 2 && !p->groups[0].reduced);
}

/* ---------------------------------------------------------------- variables */

/* *lane = *lane / extent; returns the old *lane modulo extent, times factor. The last
 * (outermost) coordinate needs no modulo. 0: the core's error is set. */
static VarIndex take_coordinate(JitBackend backend, VarIndex *lane, Extent extent,
                                Extent factor, bool last)
{
    VarIndex e = last ? var_u32(backend, 0) : extent_times(backend, extent, 1);
    VarIndex f = extent_times(backend, factor, 1);
    VarIndex part = 0, rest = 0, result = 0;
    if (e && f) {
        part = last ? var_ref(*lane) : var_mod(*lane, e);
        rest = last ? var_ref(*lane) : var_div(*lane, e);
        result = part && rest ? var_mul(part, f) : 0;
    }
    if (result) {
        var_unref(*lane);
        *lane = rest;
        rest = 0;
    }
    var_unref(part);
    var_unref(rest);
    var_unref(e);
    var_unref(f);
    return result;
}

/* Sum over the given groups, last one fastest, of (coordinate of the lane) * factor. */
static VarIndex linear_index(JitBackend backend, Extent size, int n,
                             const Extent *extents, const Extent *factors)
{
    VarIndex lane = var_counter(backend, extent_next(size));
    VarIndex total = var_u32(backend, 0);
    for (int i = n - 1; i >= 0 && lane && total; i--) {
        VarIndex part = take_coordinate(backend, &lane, extents[i], factors[i], i == 0);
        VarIndex sum = part ? var_add(total, part) : 0;
        var_unref(part);
        var_unref(total);
        total = sum;
    }
    var_unref(lane);
    return total;
}

/* Where each entry of the input goes in the result. */
static VarIndex target_index(JitBackend backend, const Plan *p)
{
    Extent extents[TENSOR_MAX_DIMS], factors[TENSOR_MAX_DIMS], stride = extent_of(1);
    for (int i = p->count - 1; i >= 0; i--) {
        const Group *g = &p->groups[i];
        extents[i] = g->extent;
        factors[i] = g->reduced ? extent_of(0) : stride;
        stride = g->reduced ? stride : extent_mul(stride, g->extent);
    }
    return linear_index(backend, entries_of(p), p->count, extents, factors);
}

typedef struct Call {
    const Reduction *reduction;
    const TypeInfo *info;
    const Plan *plan;
} Call;

static VarIndex scatter_entries(const Call *c, VarIndex index)
{
    JitBackend backend = (JitBackend) c->info->backend;
    ReduceOp op = c->reduction->op;
    VarIndex target = reduce_identity_variable(c->info, op, c->plan->kept);
    VarIndex position = target ? target_index(backend, c->plan) : 0, result = 0;
    if (position)
        result = var_scatter_whole(target, index, position, op, ReduceModeAuto);
    var_unref(target);
    var_unref(position);
    return result;
}

/* The only group that is reduced, NULL: there are several. */
static const Group *only_reduced(const Plan *p)
{
    const Group *found = NULL;
    for (int i = 0; i < p->count; i++) {
        if (p->groups[i].reduced && found)
            return NULL;
        if (p->groups[i].reduced)
            found = &p->groups[i];
    }
    return found;
}

typedef struct Columns {
    ReduceOp op;
    JitAxis axis;
    VarIndex position;
} Columns;

static VarIndex run_columns(VarIndex leaf, void *argument)
{
    const Columns *columns = argument;
    return var_axis_reduce(columns->op, leaf, &columns->axis, columns->position);
}

static VarIndex reduce_groups(const Call *c, VarIndex var);

static VarIndex reduce_columns(const Call *c, VarIndex var, const Group *group)
{
    const uint64_t sizes[] = { group->extent.size, group->stride.size };
    Columns columns = { c->reduction->op,
                        { group->extent.n, group->stride.n, sizes }, 0 };
    if (var_node(var) &&
        !(columns.position = target_index((JitBackend) c->info->backend, c->plan)))
        return 0;
    VarIndex result = evaluate_command(run_columns, var, 0, &columns);
    var_unref(columns.position);
    return result;
}

/* After a change: groups that are treated alike become one, and all else follows. */
static void arrange(Plan *p)
{
    Group *g = p->groups;
    int n = 0;
    for (int k = 0; k < p->count; k++)
        if (n && g[n - 1].reduced == g[k].reduced)
            g[n - 1].extent = extent_mul(g[n - 1].extent, g[k].extent);
        else
            g[n++] = g[k];
    p->count = n;
    p->kept = p->reduced = extent_of(1);
    Extent stride = extent_of(1);
    while (n-- > 0) {
        Extent *total = g[n].reduced ? &p->reduced : &p->kept;
        *total = extent_mul(*total, g[n].extent);
        g[n].stride = stride;
        stride = extent_mul(stride, g[n].extent);
    }
}

/* Of several groups that are reduced, the first one. */
static int first_reduced(const Plan *p)
{
    int i = 0;
    while (!p->groups[i].reduced)
        i++;
    return i;
}

static VarIndex run_exchange(VarIndex var, void *axes)
{
    return var_transpose(var, axes);
}

/* The first group that is reduced changes places with the kept one after it. */
static VarIndex reduce_exchanged(const Call *c, VarIndex var)
{
    Plan plan = *c->plan;
    Group *g = &plan.groups[first_reduced(&plan)];
    const Group first = g[0];
    const Extent items = g[1].stride;
    const uint64_t sizes[] = { g[0].extent.size, g[1].extent.size, items.size };
    JitTranspose axes = { g[0].extent.n, g[1].extent.n, items.n, sizes };
    VarIndex turned = evaluate_command(run_exchange, var, 0, &axes), result = 0;
    g[0] = g[1];
    g[1] = first;
    arrange(&plan);
    if (turned)
        result = reduce_groups(&(Call){ c->reduction, c->info, &plan }, turned);
    var_unref(turned);
    return result;
}

/* The first group by itself, then the others: where the order of entries does not
 * matter. */
static VarIndex reduce_first(const Call *c, VarIndex var)
{
    Plan plan = *c->plan, others = *c->plan;
    const int first = first_reduced(&plan);
    for (int k = 0; k < plan.count; k++)
        plan.groups[k].reduced = k == first;
    arrange(&plan);
    others.count--;
    memmove(&others.groups[first], &others.groups[first + 1],
            (size_t) (others.count - first) * sizeof(Group));
    arrange(&others);
    VarIndex fewer = reduce_groups(&(Call){ c->reduction, c->info, &plan }, var);
    const Call rest = { c->reduction, c->info, &others };
    VarIndex result = fewer ? reduce_groups(&rest, fewer) : 0;
    var_unref(fewer);
    return result;
}

static VarIndex reduce_groups(const Call *c, VarIndex var)
{
    const Plan *p = c->plan;
    ReduceOp op = c->reduction->op;
    const Extent entries = entries_of(p);
    if (p->reduced.n == 1)
        return var_ref(var);
    if (var_peek_size(var) == 1 && entries.n > 1) { /* give it its real size */
        VarIndex wide = var_resize(var, extent_next(entries));
        VarIndex result = wide ? reduce_groups(c, wide) : 0;
        var_unref(wide);
        return result;
    }
    /* All of it is one block. */
    const Extent block = p->kept.n == 1 ? extent_of(0) : p->reduced;
    if (in_order(p))
        return reduce_variable(c->info, op, c->reduction->strategy, var, block);
    if (reduce_prefers_symbolic(c->info, op, c->reduction->strategy, var))
        return scatter_entries(c, var);
    const Group *group = only_reduced(p);
    if (group)
        return reduce_columns(c, var, group);
    const bool ordered = (op == ReduceOpAdd || op == ReduceOpMul) &&
                         type_is_float(c->info);
    return ordered ? reduce_exchanged(c, var) : reduce_first(c, var);
}

static bool store_variable(const Call *c, Array *value, Array *result)
{
    VarIndex var = array_var(value), reduced = 0;
    const char *operation = c->reduction->operation;
    if (c->plan->kept.n == 0)
        return true; /* nothing: the empty variable */
    if (c->plan->kept.n > UINT32_MAX || c->plan->reduced.n > UINT32_MAX)
        return error_raise(PyExc_RuntimeError, operation, (PyObject **) &value, 1,
                           "the result has more than 2^32 - 1 entries");
    var_ref(var);
    reduced = c->plan->reduced.n == 0 || var_is_empty(var)
                  ? var_of_none(reduce_identity_variable(c->info, c->reduction->op,
                                                         c->plan->kept),
                                1, &var)
                  : reduce_groups(c, var);
    var_unref(var);
    if (reduced)
        array_set_leaf(result, 0, reduced);
    else
        error_from_core(operation, (PyObject **) &value, 1);
    return reduced;
}

/* ---------------------------------------------------------------- drjit.scalar */

/* Position in the input of entry j of result i. */
static size_t entry_position(const Plan *p, size_t kept, size_t reduced)
{
    size_t position = 0;
    for (int i = p->count - 1; i >= 0; i--) {
        const Group *g = &p->groups[i];
        size_t *rest = g->reduced ? &reduced : &kept;
        position += *rest % g->extent.n * g->stride.n;
        *rest /= g->extent.n;
    }
    return position;
}

static bool reduce_entries(const Call *c, const Array *value, char *out)
{
    const Plan *p = c->plan;
    const size_t kept = p->kept.n, reduced = p->reduced.n;
    if (kept == 0)
        return true;
    size_t size = c->info->entry_size;
    VarType type = (VarType) c->info->entry;
    const char *in = array_data(value);
    uint64_t identity = 0;
    char *block = PyMem_Malloc(reduced ? reduced * size : 1); /* <= the input */
    if (!block)
        return PyErr_NoMemory();
    bool ok = reduced || jit_reduce_identity(type, c->reduction->op, &identity);
    for (size_t i = 0; i < kept && ok; i++, out += size) {
        for (size_t j = 0; j < reduced; j++)
            memcpy(block + j * size, in + entry_position(p, i, j) * size, size);
        if (reduced)
            ok = jit_host_reduce(c->reduction->op, type, reduced, block, out);
        else
            memcpy(out, &identity, size);
    }
    PyMem_Free(block);
    if (!ok)
        error_from_core(c->reduction->operation, NULL, 0);
    return ok;
}

/* ---------------------------------------------------------------- entry point */

PyObject *reduce_tensor(const Reduction *r, Array *value)
{
    bool axes[TENSOR_MAX_DIMS] = { false }; /* __index__ may change the tensor */
    Extents shape;
    size_t size;
    reads_note_whole(value);
    if (!reduce_axes(r, (PyObject *) value, array_tensor(value)->ndim, true, axes))
        return NULL;
    extents_of(value, &shape);
    if (!array_shape_size(shape.ndim, shape.dims, &size))
        return NULL;
    Plan plan;
    make_plan(&plan, r, &shape, axes);
    const Call call = { r, value->info, &plan };
    Array *result = extents_new_tensor(value->info, &plan.shape);
    bool ok =
        result && (value->info->jit ? store_variable(&call, value, result)
                                    : reduce_entries(&call, value, array_data(result)));
    if (!ok)
        Py_CLEAR(result);
    return (PyObject *) result;
}

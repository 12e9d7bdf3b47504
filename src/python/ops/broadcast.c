/*
 * broadcast.c -- NumPy's rules for tensors of different shapes
 */
#include "python/ops/broadcast.h"

#include "python/array/evaluate.h"

/* The extent of axis d, counted from the end. */
static Extent extent(const Extents *shape, size_t d)
{
    return d < shape->ndim ? extents_get(shape, shape->ndim - 1 - d) : extent_of(1);
}

bool broadcast_merge(Extents *all, const Extents *other)
{
    size_t ndim = all->ndim > other->ndim ? all->ndim : other->ndim;
    Extents merged;
    merged.ndim = ndim;
    merged.sized = false;
    for (size_t d = 0; d < ndim; d++) {
        Extent a = extent(all, d), b = extent(other, d);
        if (a.n != 1 && b.n != 1 && !extent_equal(a, b))
            return false;
        extents_set(&merged, ndim - 1 - d, a.n == 1 ? b : a);
    }
    *all = merged;
    return true;
}

/* Runs of axes that are all repeated or all kept count as one axis each. */
typedef struct Axis {
    Extent extent; /* in the target */
    Extent stride; /* in the source, 0: repeated */
} Axis;

/* Axes from the last to the first. */
static size_t collapse(const Extents *from, const Extents *to, Axis *axes)
{
    size_t n = 0;
    Extent stride = extent_of(1);
    for (size_t d = 0; d < to->ndim; d++) {
        Extent target = extent(to, d), source = extent(from, d);
        bool repeated = source.n == 1 && target.n != 1;
        if (target.n == 1)
            continue;
        if (n && (axes[n - 1].stride.n == 0) == repeated)
            axes[n - 1].extent = extent_mul(axes[n - 1].extent, target);
        else
            axes[n++] = (Axis){ target, repeated ? extent_of(0) : stride };
        stride = extent_mul(stride, source);
    }
    return n;
}

/* UInt32 number 'value' combined with 'a', which is consumed. */
static VarIndex with_constant(JitBackend backend, JitOp op, VarIndex a, Extent value)
{
    const VarIndex operands[] = { a, extent_times(backend, value, 1) };
    VarIndex result = a && operands[1] ? var_op(op, 2, operands) : 0;
    var_unref(operands[0]);
    var_unref(operands[1]);
    return result;
}

/* Indices in the source of all entries of the target. 'lane' is consumed. */
static VarIndex source_indices(JitBackend backend, VarIndex lane, const Axis *axes,
                               size_t n)
{
    VarIndex index = var_u32(backend, 0);
    for (size_t i = 0; i < n && lane && index; i++) {
        bool last = i + 1 == n;
        if (axes[i].stride.n) {
            VarIndex coordinate = var_ref(lane);
            if (!last)
                coordinate =
                    with_constant(backend, JitOpMod, coordinate, axes[i].extent);
            coordinate = with_constant(backend, JitOpMul, coordinate, axes[i].stride);
            VarIndex sum = coordinate ? var_add(coordinate, index) : 0;
            var_unref(coordinate);
            var_unref(index);
            index = sum;
        }
        if (!last)
            lane = with_constant(backend, JitOpDiv, lane, axes[i].extent);
    }
    if (!lane) {
        var_unref(index);
        index = 0;
    }
    var_unref(lane);
    return index;
}

typedef struct Gather {
    VarIndex indices;
    Extent inner; /* entries of the blocks that are repeated, 0: of all */
} Gather;

static VarIndex gather(VarIndex leaf, void *argument)
{
    const Gather *g = argument;
    const size_t inner = g->inner.n ? extent_next(g->inner) : 0;
    return var_broadcast(leaf, g->indices, inner);
}

/* The target as far as one run of axes is repeated, from the last on, and the source
 * before. False: there is no other run. */
static bool first_run(const Extents *from, const Extents *to, Extents *middle)
{
    int run = 0; /* even: not in one */
    *middle = *to;
    for (size_t d = 0; d < to->ndim; d++) {
        const Extent target = extent(to, d), source = extent(from, d);
        if (target.n != 1 && (source.n == 1) != (run & 1))
            ++run;
        if (run > 2)
            extents_set(middle, to->ndim - 1 - d, source);
    }
    return run > 2;
}

static VarIndex broadcast_once(VarIndex var, const Extents *from, const Extents *to)
{
    Axis axes[TENSOR_MAX_DIMS];
    size_t n = collapse(from, to, axes);
    const bool rows = n && !axes[0].stride.n;
    Gather g = { .inner = rows ? extent_of(1) : n > 2 ? axes[0].extent : extent_of(0) };
    Extent size = extent_of(1);
    for (size_t d = 0; d < to->ndim; d++)
        size = extent_mul(size, extents_get(to, d));
    JitBackend backend = var_backend(var);
    VarIndex lane = var_counter(backend, extent_next(size));
    g.indices = lane ? source_indices(backend, lane, axes, n) : 0;
    VarIndex result = g.indices ? evaluate_call(gather, var, &g) : 0;
    var_unref(g.indices);
    return result;
}

/* With derivatives, one run of axes after the other: so each is a sum in reverse. */
VarIndex broadcast_variable(VarIndex var, const Extents *from, const Extents *to)
{
    Extents middle;
    if (!var_node(var) || !first_run(from, to, &middle))
        return broadcast_once(var, from, to);
    const VarIndex part = broadcast_once(var, from, &middle);
    const VarIndex result = part ? broadcast_variable(part, &middle, to) : 0;
    var_unref(part);
    return result;
}

void broadcast_entries(size_t entry_size, const void *source, const Extents *from,
                       void *target, const Extents *to)
{
    Axis axes[TENSOR_MAX_DIMS];
    size_t n = collapse(from, to, axes), size = 1;
    for (size_t d = 0; d < to->ndim; d++)
        size *= to->dims[d];
    for (size_t i = 0; i < size; i++) {
        size_t rest = i, position = 0;
        for (size_t k = 0; k < n; k++) {
            position += rest % axes[k].extent.n * axes[k].stride.n;
            rest /= axes[k].extent.n;
        }
        memcpy((char *) target + i * entry_size,
               (const char *) source + position * entry_size, entry_size);
    }
}

PyObject *broadcast_text(State *state, const Extents *shape)
{
    PyObject *tuple = extents_tuple(state, shape);
    PyObject *text = tuple ? PyObject_Repr(tuple) : NULL;
    Py_XDECREF(tuple);
    return text;
}

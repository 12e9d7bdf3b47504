/*
 * broadcast.c -- NumPy's rules for tensors of different shapes
 */
#include "python/ops/broadcast.h"

#include "python/object/evaluate.h"

/* The extent of axis d, counted from the end. */
static size_t extent(const Extents *shape, size_t d)
{
    return d < shape->ndim ? shape->dims[shape->ndim - 1 - d] : 1;
}

bool broadcast_merge(Extents *all, const Extents *other)
{
    size_t ndim = all->ndim > other->ndim ? all->ndim : other->ndim;
    Extents merged = { .ndim = ndim };
    for (size_t d = 0; d < ndim; d++) {
        size_t a = extent(all, d), b = extent(other, d);
        if (a != b && a != 1 && b != 1)
            return false;
        merged.dims[ndim - 1 - d] = a == 1 ? b : a;
    }
    *all = merged;
    return true;
}

bool broadcast_size(const Extents *shape, size_t *size)
{
    return array_shape_size(shape->ndim, shape->dims, size);
}

/* Runs of axes that are all repeated or all kept count as one axis each. */
typedef struct Axis {
    size_t extent; /* in the target */
    size_t stride; /* in the source, 0: repeated */
} Axis;

/* Axes from the last to the first. */
static size_t collapse(const Extents *from, const Extents *to, Axis *axes)
{
    size_t n = 0, stride = 1;
    for (size_t d = 0; d < to->ndim; d++) {
        size_t target = extent(to, d), source = extent(from, d);
        bool repeated = source == 1 && target != 1;
        if (target == 1)
            continue;
        if (n && (axes[n - 1].stride == 0) == repeated) {
            axes[n - 1].extent *= target;
        } else {
            axes[n].extent = target;
            axes[n++].stride = repeated ? 0 : stride;
        }
        stride *= source;
    }
    return n;
}

/* u32 constant 'value' combined with 'a', which is consumed. */
static Leaf with_constant(JitBackend backend, JitOp op, Leaf a, uint32_t value)
{
    const Leaf operands[] = { a, leaf_u32(backend, value) };
    Leaf result = a && operands[1] ? leaf_op(op, 2, operands) : 0;
    leaf_unref(operands[0]);
    leaf_unref(operands[1]);
    return result;
}

/* Positions in the source of all entries of the target. 'lane' is consumed. */
static Leaf source_positions(JitBackend backend, Leaf lane, const Axis *axes, size_t n)
{
    Leaf position = leaf_u32(backend, 0);
    for (size_t i = 0; i < n && lane && position; i++) {
        bool last = i + 1 == n;
        if (axes[i].stride) {
            Leaf coordinate = leaf_ref(lane);
            if (!last)
                coordinate = with_constant(backend, JitOpMod, coordinate,
                                           (uint32_t) axes[i].extent);
            coordinate =
                with_constant(backend, JitOpMul, coordinate, (uint32_t) axes[i].stride);
            Leaf sum = coordinate ? leaf_add(coordinate, position) : 0;
            leaf_unref(coordinate);
            leaf_unref(position);
            position = sum;
        }
        if (!last)
            lane = with_constant(backend, JitOpDiv, lane, (uint32_t) axes[i].extent);
    }
    if (!lane) {
        leaf_unref(position);
        position = 0;
    }
    leaf_unref(lane);
    return position;
}

static Leaf gather(Leaf leaf, void *positions)
{
    return leaf_gather(leaf, *(Leaf *) positions, 0, ReduceModeAuto);
}

Leaf broadcast_variable(Leaf leaf, const Extents *from, const Extents *to)
{
    Axis axes[TENSOR_MAX_DIMS];
    size_t n = collapse(from, to, axes), size = 1;
    for (size_t d = 0; d < to->ndim; d++)
        size *= to->dims[d];
    JitBackend backend = leaf_backend(leaf);
    Leaf lane = leaf_counter(backend, size);
    Leaf positions = lane ? source_positions(backend, lane, axes, n) : 0;
    Leaf result = positions ? evaluate_call(gather, leaf, &positions) : 0;
    leaf_unref(positions);
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
            position += rest % axes[k].extent * axes[k].stride;
            rest /= axes[k].extent;
        }
        memcpy((char *) target + i * entry_size,
               (const char *) source + position * entry_size, entry_size);
    }
}

PyObject *broadcast_text(const Extents *shape)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t) shape->ndim);
    for (size_t d = 0; tuple && d < shape->ndim; d++) {
        PyObject *item = PyLong_FromSize_t(shape->dims[d]);
        if (item)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t) d, item);
        else
            Py_CLEAR(tuple);
    }
    PyObject *text = tuple ? PyObject_Repr(tuple) : NULL;
    Py_XDECREF(tuple);
    return text;
}

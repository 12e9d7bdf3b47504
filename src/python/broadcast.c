/*
 * broadcast.c -- NumPy's rules for tensors of different shapes
 */
#include "python/broadcast.h"

#include "python/evaluate.h"

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
static uint32_t with_constant(JitOp op, uint32_t a, uint32_t value)
{
    const uint32_t operands[] = { a, jit_var_u32(JitBackendLLVM, value) };
    uint32_t result = a && operands[1] ? jit_var_op(op, operands) : 0;
    jit_var_dec_ref(operands[0]);
    jit_var_dec_ref(operands[1]);
    return result;
}

/* Positions in the source of all entries of the target. 'lane' is consumed. */
static uint32_t source_positions(uint32_t lane, const Axis *axes, size_t n)
{
    uint32_t position = jit_var_u32(JitBackendLLVM, 0);
    for (size_t i = 0; i < n && lane && position; i++) {
        bool last = i + 1 == n;
        if (axes[i].stride) {
            uint32_t coordinate = lane;
            jit_var_inc_ref(lane);
            if (!last)
                coordinate =
                    with_constant(JitOpMod, coordinate, (uint32_t) axes[i].extent);
            coordinate = with_constant(JitOpMul, coordinate, (uint32_t) axes[i].stride);
            const uint32_t operands[] = { coordinate, position };
            uint32_t sum = coordinate ? jit_var_op(JitOpAdd, operands) : 0;
            jit_var_dec_ref(coordinate);
            jit_var_dec_ref(position);
            position = sum;
        }
        if (!last)
            lane = with_constant(JitOpDiv, lane, (uint32_t) axes[i].extent);
    }
    if (!lane) {
        jit_var_dec_ref(position);
        position = 0;
    }
    jit_var_dec_ref(lane);
    return position;
}

static uint32_t gather(uint32_t index, void *positions)
{
    return jit_var_gather(index, *(uint32_t *) positions, 0);
}

uint32_t broadcast_variable(uint32_t index, const Extents *from, const Extents *to)
{
    Axis axes[TENSOR_MAX_DIMS];
    size_t n = collapse(from, to, axes), size = 1;
    for (size_t d = 0; d < to->ndim; d++)
        size *= to->dims[d];
    uint32_t lane = jit_var_counter(JitBackendLLVM, size);
    uint32_t positions = lane ? source_positions(lane, axes, n) : 0;
    uint32_t result = positions ? evaluate_call(gather, index, &positions) : 0;
    jit_var_dec_ref(positions);
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

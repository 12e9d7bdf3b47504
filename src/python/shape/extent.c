/*
 * extent.c -- see extent.h
 */
#include "python/shape/extent.h"

#include "python/base/arguments.h"
#include "python/base/error.h"

/* ---------------------------------------------------------------- one */

/* An extent of more than one entry stays so, others stay what they are: then they are
 * numbers. 0 as a size is an error of the core: both operands are bound. */
static Extent checked(size_t n, JitSize size)
{
    if (!size || n <= 1 || !size_stays_many(size)) {
        size_pin(size);
        return extent_of(n);
    }
    return (Extent) { n, size };
}

bool extent_read(PyObject *object, Py_ssize_t *value, Extent *extent)
{
    const JitSize size = size_handle(object);
    *value = size ? (Py_ssize_t) jit_freeze_size_value(size)
                  : PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (*value < 0)
        size_pin(size);
    else
        *extent = checked((size_t) *value, size);
    return *value >= 0;
}

bool extent_argument(const char *function, const char *name, PyObject *value,
                     Extent *extent)
{
    Py_ssize_t number;
    if (size_handle(value) && extent_read(value, &number, extent))
        return true;
    *extent = extent_of(0);
    return arguments_count(function, name, value, &extent->n);
}

Extent extent_of_leaf(VarIndex var, size_t n)
{
    return checked(n, var ? size_of_variable(var) : 0);
}

PyObject *extent_object(State *state, Extent extent)
{
    return size_object(state, extent.size, extent.n);
}

static JitSize handle_of(Extent extent)
{
    return extent.size ? extent.size : size_number(extent.n);
}

static Extent combine(JitSizeOp op, Extent a, Extent b, size_t n)
{
    if (!a.size && !b.size)
        return extent_of(n);
    const JitSize size = size_combine(op, handle_of(a), handle_of(b));
    if (!size) {
        size_pin(a.size);
        size_pin(b.size);
    }
    return checked(n, size);
}

Extent extent_mul(Extent a, Extent b)
{
    if (a.n <= 1)
        return a.n ? b : a;
    return b.n <= 1 ? (b.n ? a : b) : combine(JitSizeMul, a, b, a.n * b.n);
}

Extent extent_div(Extent a, Extent b)
{
    return b.n == 1 ? a : combine(JitSizeDiv, a, b, a.n / b.n);
}

Extent extent_add(Extent a, Extent b)
{
    return a.n == 0 ? b : b.n == 0 ? a : combine(JitSizeAdd, a, b, a.n + b.n);
}

Extent extent_sub(Extent a, Extent b)
{
    return b.n == 0 ? a : combine(JitSizeSub, a, b, a.n - b.n);
}

bool extent_equal(Extent a, Extent b)
{
    const bool both = a.n > 1 && b.n > 1; /* 0 and 1 differ from sizes anyway */
    if (a.size != b.size && both &&
        !size_compare(JitSizeEqual, handle_of(a), handle_of(b))) {
        size_pin(a.size);
        size_pin(b.size);
    }
    return a.n == b.n;
}

bool extent_divides(Extent block, Extent a)
{
    if (block.size || a.size) {
        const JitSize rest = size_combine(JitSizeMod, handle_of(a), handle_of(block));
        if (!rest || !size_compare(JitSizeEqual, rest, size_number(0))) {
            size_pin(a.size);
            size_pin(block.size);
        }
    }
    return a.n % block.n == 0;
}

bool extent_exceeds(Extent a, size_t n)
{
    if (a.size && !size_compare(JitSizeNotLess, a.size, size_number(n + 1)))
        size_pin(a.size);
    return a.n > n;
}

size_t extent_number(Extent extent)
{
    size_pin(extent.size);
    return extent.n;
}

size_t extent_next(Extent extent)
{
    size_next(extent.size);
    return extent.n;
}

/* The number of entries that a literal has. */
static VarIndex extent_variable(JitBackend backend, Extent extent)
{
    const VarIndex like = var_of_size(backend, extent_next(extent));
    const VarIndex variable = like ? var_opaque_width(like) : 0;
    var_unref(like);
    return variable;
}

VarIndex extent_times(JitBackend backend, Extent extent, size_t factor)
{
    if (factor == 0)
        return var_u32(backend, 0);
    if (!extent.size || !size_is_general())
        return var_u32(backend, (uint32_t) (extent_number(extent) * factor));
    const VarIndex one = extent_variable(backend, extent);
    const VarIndex times = one && factor != 1 ? var_u32(backend, (uint32_t) factor) : 0;
    const VarIndex result = times ? var_op(JitOpMul, 2, (VarIndex[]) { one, times })
                        : factor == 1 ? var_ref(one) : 0;
    var_unref(one);
    var_unref(times);
    return result;
}

/* ---------------------------------------------------------------- all */

void extents_of(const Array *tensor, Extents *out)
{
    const Tensor *t = (const Tensor *) tensor;
    extents_set_numbers(out, t->ndim, t->extents);
    if (!t->sizes || !size_is_recording())
        return;
    /* Another thread's recording has the tensor as an input, too, or an earlier one had
     * it: where its extents come from is not known here. */
    bool known = true;
    for (size_t i = 0; known && i < t->ndim; i++)
        known = !t->sizes[i] || size_is_known(t->sizes[i]);
    if (!known) {
        size_pin_all();
        return;
    }
    out->sized = true;
    memcpy(out->sizes, t->sizes, t->ndim * sizeof(JitSize));
}

const size_t *extents_bind(const Array *tensor)
{
    const Tensor *t = (const Tensor *) tensor;
    if (t->sizes) {
        Extents e;
        extents_of(tensor, &e);
        for (size_t i = 0; i < e.ndim; i++)
            extent_number(extents_get(&e, i));
    }
    return t->extents;
}

void extents_set(Extents *e, size_t axis, Extent extent)
{
    if (extent.size && !e->sized) {
        memset(e->sizes, 0, sizeof(e->sizes));
        e->sized = true;
    }
    e->dims[axis] = extent.n;
    if (e->sized)
        e->sizes[axis] = extent.size;
}

void extents_set_numbers(Extents *e, size_t ndim, const size_t *dims)
{
    e->ndim = ndim;
    e->sized = false;
    if (ndim)
        memcpy(e->dims, dims, ndim * sizeof(size_t));
}

bool extents_total(const Extents *e, Extent *total)
{
    *total = extent_of(1);
    if (!array_shape_size(e->ndim, e->dims, &total->n))
        return false;
    if (!e->sized || total->n == 0)
        return true;
    *total = extent_of(1);
    for (size_t i = 0; i < e->ndim; i++)
        *total = extent_mul(*total, extents_get(e, i));
    return true;
}

bool extents_equal(const Extents *a, const Extents *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (size_t i = 0; i < a->ndim; i++)
        if (!extent_equal(extents_get(a, i), extents_get(b, i)))
            return false;
    return true;
}

Array *extents_new_tensor(const TypeInfo *info, const Extents *e)
{
    Array *tensor = array_new_tensor(info, e->ndim, e->dims);
    if (tensor && e->sized && !array_set_sizes(tensor, e->sizes))
        Py_CLEAR(tensor);
    return tensor;
}

PyObject *extents_tuple(State *state, const Extents *e)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t) e->ndim);
    for (size_t i = 0; i < e->ndim && tuple; i++) {
        PyObject *extent = extent_object(state, extents_get(e, i));
        if (extent)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t) i, extent);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

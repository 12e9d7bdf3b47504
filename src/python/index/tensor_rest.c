/*
 * tensor_rest.c -- see tensor_rest.h
 *
 * A selection by slices that leave nothing out between two places is a box. The rest
 * are boxes as well: for each axis what is before it and what is after it, with the
 * box's own coordinates along the axes before, and all along those after.
 *
 *     0 0 0 0
 *     2 s s 3      axis 0: boxes 0 and 1, axis 1: boxes 2 and 3
 *     1 1 1 1
 */
#include "python/index/tensor_rest.h"

#include "python/shape/size.h"

/* Coordinates along one axis. */
typedef struct Range {
    size_t start, count;
} Range;

typedef struct Box {
    size_t ndim, strides[TENSOR_MAX_DIMS];
    Range ranges[TENSOR_MAX_DIMS];
} Box;

/* How many places there are along an axis of this stride. Axes of the selection that
 * are found are counted. */
static size_t count_along(const Selection *s, size_t stride, size_t *found)
{
    for (size_t i = 0; i < s->shape.ndim; i++)
        if (s->shape.dims[i] > 1 && s->stride[i].distance.n == stride) {
            ++*found;
            return s->shape.dims[i];
        }
    return 1;
}

/* The box of a tensor that is selected, if that is what a selection is. */
static bool find_box(const Selection *s, const size_t *dims, size_t ndim, Box *box)
{
    size_t found = 0, wide = 0, stride = 1;
    for (size_t i = 0; i < s->shape.ndim; i++) {
        wide += s->shape.dims[i] > 1;
        if (s->stride[i].down)
            return false;
    }
    box->ndim = ndim;
    for (size_t i = ndim; i-- > 0; stride *= dims[i]) {
        const size_t start = s->offset.n / stride % dims[i];
        const size_t count = dims[i] > 1 ? count_along(s, stride, &found) : 1;
        if (count > dims[i] - start)
            return false;
        box->strides[i] = stride;
        box->ranges[i] = (Range) { start, count };
    }
    return found == wide && !s->array_count;
}

static Selection select_box(const Selection *like, const Box *box)
{
    Selection s = { .info = like->info, .operation = like->operation };
    size_t offset = 0, total = 1;
    extents_set_numbers(&s.shape, 0, NULL);
    for (size_t i = 0; i < box->ndim; i++) {
        extents_append(&s.shape, extent_of(box->ranges[i].count));
        s.stride[i] = (Stride) { extent_of(box->strides[i]), false };
        offset += box->ranges[i].start * box->strides[i];
        total *= box->ranges[i].count;
    }
    s.offset = extent_of(offset);
    s.total = extent_of(total);
    return s;
}

/* The entries of a box; 'to' is replaced. */
static bool copy_box(const Selection *like, const Box *box, VarIndex from, VarIndex *to)
{
    const Selection s = select_box(like, box);
    if (!s.total.n)
        return true;
    const VarIndex places = tensor_select_trace(&s);
    const VarIndex entries = places ? var_gather_whole(from, places) : 0;
    const VarIndex written =
        entries
            ? var_scatter_whole(*to, entries, places, ReduceOpIdentity, ReduceModeAuto)
            : 0;
    var_unref(places);
    var_unref(entries);
    var_unref(*to);
    *to = written;
    return written != 0;
}

/* Is the storage an array in memory which somebody else has, and are there no
 * derivatives and no recordings, which would see other operations? */
static bool is_shared(const Array *tensor, VarIndex value)
{
    const VarIndex target = array_var(tensor);
    return !var_node(target) && !var_node(value) &&
           var_state(target) == VarStateEvaluated &&
           var_is_shared(target) && !size_is_recording() &&
           !jit_flag(JitFlagSymbolicScope);
}

VarIndex tensor_rest_copy(const Selection *s, const Array *tensor, VarIndex value)
{
    enum { LEAST = 1 << 16, MOST_AXES = 3 }; /* entries; beyond, boxes are small */
    Extents shape;
    Box box;
    if (!is_shared(tensor, value))
        return 0;
    extents_of(tensor, &shape);
    const VarIndex from = array_var(tensor);
    const size_t size = var_peek_size(from);
    if (size < LEAST || s->total.n < size / 2 || shape.ndim > MOST_AXES ||
        !find_box(s, shape.dims, shape.ndim, &box))
        return 0;
    VarIndex to = var_undefined(s->info, size);
    Box rest = box;
    for (size_t i = 0; i < box.ndim; i++)
        rest.ranges[i] = (Range) { 0, shape.dims[i] };
    for (size_t i = 0; i < box.ndim && to; i++) {
        const Range own = box.ranges[i];
        const size_t end = own.start + own.count;
        rest.ranges[i] = (Range) { 0, own.start };
        bool ok = copy_box(s, &rest, from, &to);
        rest.ranges[i] = (Range) { end, shape.dims[i] - end };
        ok = ok && copy_box(s, &rest, from, &to);
        rest.ranges[i] = own;
    }
    if (!to)
        jit_error_clear();
    return to;
}

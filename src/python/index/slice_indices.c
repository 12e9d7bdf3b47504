/*
 * slice_indices.c -- see slice_indices.h
 *
 * As Python computes it; of an axis whose extent is a size, start and count are
 * computed from the size where that is possible: x[1:], x[:-1], x[::2], x[::-1], ...
 */
#include "python/index/slice_indices.h"

/* A bound of a slice that runs upwards: the place, at most n. */
static Extent bound(Extent n, Py_ssize_t i)
{
    if (i == PY_SSIZE_T_MAX)
        return n;
    if (i < 0) {
        const size_t back = (size_t) -(i + 1);
        return extent_exceeds(n, back) ? extent_sub(n, extent_of(back + 1))
                                       : extent_of(0);
    }
    return i == 0 || extent_exceeds(n, (size_t) i - 1) ? extent_of((size_t) i) : n;
}

/* (n + step - 1) / step */
static Extent steps(Extent n, size_t step)
{
    return step == 1 ? n
                     : extent_div(extent_add(n, extent_of(step - 1)), extent_of(step));
}

/* Of more than one place; false: they have to be counted in numbers. */
static bool compute(Extent n, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step,
                    SliceIndices *p)
{
    if (step < 0) {
        if (start != PY_SSIZE_T_MAX || stop != PY_SSIZE_T_MIN)
            return false;
        p->step = (size_t) -(step + 1) + 1;
        p->start = extent_sub(n, extent_of(1));
        p->count = steps(n, p->step);
        p->down = true;
        return true;
    }
    const Extent last = bound(n, stop);
    p->step = (size_t) step;
    p->start = bound(n, start);
    p->down = false;
    if (last.n <= p->start.n)
        return false;
    p->count = steps(extent_sub(last, p->start), p->step);
    return true;
}

bool slice_indices(PyObject *slice, Extent n, SliceIndices *p)
{
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(slice, &start, &stop, &step) < 0)
        return false;
    if (n.size && compute(n, start, stop, step, p))
        return true;
    const Py_ssize_t places = (Py_ssize_t) extent_number(n);
    const Py_ssize_t count = PySlice_AdjustIndices(places, &start, &stop, step);
    p->start = extent_of(count ? (size_t) start : 0);
    p->count = extent_of((size_t) count);
    p->down = step < 0;
    p->step = step < 0 ? (size_t) -(step + 1) + 1 : (size_t) step;
    return true;
}

/*
 * slice_indices.h -- what a slice selects of an axis
 */
#ifndef PYTHON_SLICE_INDICES_H
#define PYTHON_SLICE_INDICES_H

#include "python/shape/extent.h"

/** LeafMap start, start + step, ..., or start, start - step, ... */
typedef struct SliceIndices {
    Extent start, count;
    size_t step;
    bool down;
} SliceIndices;

/** The places of a slice object among n. False: exception. */
bool slice_indices(PyObject *slice, Extent n, SliceIndices *places);

#endif

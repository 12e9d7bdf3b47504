/*
 * slice_places.h -- what a slice selects of an axis
 */
#ifndef PYTHON_SLICE_PLACES_H
#define PYTHON_SLICE_PLACES_H

#include "python/object/extent.h"

/** Places start, start + step, ..., or start, start - step, ... */
typedef struct SlicePlaces {
    Extent start, count;
    size_t step;
    bool down;
} SlicePlaces;

/** The places of a slice object among n. False: exception. */
bool slice_places(PyObject *slice, Extent n, SlicePlaces *places);

#endif

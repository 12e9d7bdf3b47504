/*
 * tensor_select.h -- which entries of a tensor an indexing expression means
 *
 * A selection gives every entry of the result its place in the storage:
 *
 *     place = offset + sum over output axes (coordinate * stride)
 *                    + sum over index arrays (array[block coordinate] * stride)
 *
 * Strides count entries and may be negative (slices that run backwards) or 0
 * (broadcasting). Index arrays are paired: together they take one block of output axes.
 */
#ifndef PYTHON_TENSOR_SELECT_H
#define PYTHON_TENSOR_SELECT_H

#include "python/shape/extent.h"

/** A broadcast index array: 1 entry, or one for each coordinate of the block. */
typedef struct IndexArray {
    VarIndex variable;     /* jit: UInt32, owned */
    size_t *indices; /* drjit.scalar: owned */
    Extent size;
    Extent stride;
} IndexArray;

/** From one coordinate to the next one. */
typedef struct Stride {
    Extent distance;
    bool down; /* towards the start of the storage */
} Stride;

typedef struct Selection {
    const TypeInfo *info;  /* of the tensor: family */
    const char *operation; /* named in errors */
    Extents shape;         /* of the result */
    Stride stride[TENSOR_MAX_DIMS];
    Extent offset;
    Extent total;             /* entries of the result */
    size_t block, block_ndim; /* output axes of the index arrays */
    IndexArray arrays[TENSOR_MAX_DIMS];
    size_t array_count;
} Selection;

/** The selection tensor[key] for a tensor of this shape. False: exception. Either way
 *  the caller calls tensor_select_clear(). */
bool tensor_select_parse(Selection *s, const TypeInfo *info, const char *operation,
                         const Extents *shape, PyObject *key);

/** The selection that broadcasts a tensor to another shape, axes aligned at the end.
 *  False without an exception if that is not possible. */
bool tensor_select_broadcast(Selection *s, const TypeInfo *info, const Extents *shape,
                             const Extents *to);

/** The selection that exchanges the last two axes. */
void tensor_select_transpose(Selection *s, const TypeInfo *info, const Extents *shape);

void tensor_select_clear(Selection *s);

/** Does it mean the first 'total' entries in order, and no others? A recording depends
 *  on the answer. */
bool tensor_select_is_prefix(const Selection *s);

/** Do the index arrays have an entry for each of the result? Then it is one for each
 *  lane, of which some may not take part. */
bool tensor_select_is_by_lanes(const Selection *s);

/** LeafMap as a UInt32 variable with 'total' entries (not 0). 0: the core's error is
 *  set. */
VarIndex tensor_select_trace(const Selection *s);

/** LeafMap in memory, to be freed with PyMem_Free. NULL: exception. For drjit.scalar,
 *  where index arrays were checked. */
size_t *tensor_select_list(const Selection *s);

#endif

/*
 * access.h -- what all gathers and scatters share: indices, masks, flat arrays
 */
#ifndef PYTHON_ACCESS_H
#define PYTHON_ACCESS_H

#include "python/shape/extent.h"

/** Where and on which lanes memory is accessed. The same arguments may serve arrays of
 *  several families (in a PyTree), so they are converted when one is met. */
typedef struct Access {
    State *state;
    const char *operation;        /* "gather", ... */
    PyObject *index, *active;     /* the caller's arguments; borrowed */
    ReduceMode mode; /* of a gather: how its reverse derivative is scattered */
    Array *indices[FAMILY_COUNT]; /* UInt (jit) or ArrayXu, NULL: not yet converted */
    Array *masks[FAMILY_COUNT];   /* Bool or ArrayXb */
} Access;

/** 'active' may be NULL or True: all lanes. Release with access_end(). */
void access_start(Access *access, State *state, const char *operation, PyObject *index,
                  PyObject *active);
void access_end(Access *access);

/** The fourth argument may be a mode, as programs for the published package have it:
 *  then it goes to its place. A member is neither an int nor a mask. False:
 *  exception. */
bool access_sort_mode(State *state, PyObject **active, PyObject **mode);

/** Indices and mask for a family (borrowed from 'access'; *mask is NULL if all lanes
 *  are active). False: exception. */
bool access_use(Access *access, const TypeInfo *like, Array **index, Array **mask);

/** Is it a dynamic one-dimensional array (Float, drjit.scalar.ArrayXf)? */
static inline bool access_is_flat(const TypeInfo *info)
{
    return info->jit ? info->kind == KIND_FLAT
                     : info->kind == KIND_ARRAY && info->dynamic;
}

/** The dynamic one-dimensional type with these entries, in the same family. */
const TypeInfo *access_flat(State *state, const TypeInfo *info, VarType entry);

/** A new object of 'cls' (info's class or a subclass) with the counts of 'like', which
 * may be NULL for types without dynamic extents. */
Array *access_make(PyTypeObject *cls, const TypeInfo *info, const Array *like);

/** Number of entries of a flat array, or lanes of a variable, for comparisons. */
size_t access_size(const Array *flat);
/** The same for everything else. */
Extent access_extent(const Array *flat);

/** The size that operands of these sizes have together: 1 adapts to any other, 0
 *  included. False with a RuntimeError if they do not fit; in debug mode it says where
 *  the variables of these sizes (NULL, or 0: not known) were made. */
bool access_lanes(const char *operation, const size_t *sizes, const VarIndex *vars,
                  int n, size_t *lanes);
/** The variable of a flat jit array, borrowed; 0: it has none. */
VarIndex access_peek(const Array *flat);
/** Is it known, or can it be computed now, that no lane is active? NULL: all are. */
bool access_is_inactive(const Array *mask);

/** The variable of a flat jit array, as a new reference (0 if it is empty or NULL). */
VarIndex access_variable(const Array *flat);

/** Would using this variable's data start or wait for a kernel? */
bool access_waits(VarIndex index);

/** Raise the TypeError about tensors. Returns NULL. */
void *access_no_tensors(const char *operation, const char *instead);

/* ---- drjit.scalar: entries in memory (access_scalar.c) */

/** result[lane * n + k] = source[index[lane] * n + k], 0 where masked. */
bool access_load(const char *operation, const Array *source, const Array *index,
                 const Array *mask, size_t lanes, size_t n, void *result);

/** Do all active lanes access entries that 'target' has? An IndexError if not. */
bool access_check(const char *operation, const Array *target, const Array *index,
                  const Array *mask, size_t lanes, size_t n);

/** target[index[lane] * n + k] = op(target[...], value of lane and component k), where
 *  component k of the value stands at value[k] if 'shared', or at value[lane] if n
 * is 1. */
bool access_store(const char *operation, Array *target, const Array *index,
                  const Array *mask, size_t lanes, size_t n, const void *value,
                  bool shared, ReduceOp op);

/** The operation on two values: for masks And and Or, too. */
JitOp access_step(ReduceOp op);

#endif

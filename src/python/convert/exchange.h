/*
 * exchange.h -- memory shared with NumPy, DLPack consumers and buffer users
 *
 *     borrow.c    their memory, opened
 *     foreign.c   their memory -> our arrays     (convert_foreign)
 *     exchange.c  our arrays -> their memory     (Memory, the methods of ArrayBase)
 *     dlpack.c    both directions of DLPack
 */
#ifndef PYTHON_EXCHANGE_H
#define PYTHON_EXCHANGE_H

#include "python/array/array.h"

enum { EXCHANGE_MAX_DIMS = TENSOR_MAX_DIMS };

/** A strided block of entries in memory, ours or theirs. */
typedef struct Memory {
    void *data;
    VarType type;
    bool complex;     /* entries are pairs of 'type' */
    bool read_only;
    int place;        /* kind of device, as DLPack numbers them */
    int ndim;
    Py_ssize_t shape[EXCHANGE_MAX_DIMS], strides[EXCHANGE_MAX_DIMS]; /* in bytes */
} Memory;

static inline size_t memory_entry_size(const Memory *m)
{
    return type_entry_size(m->type) << m->complex;
}

/** Number of entries. */
size_t memory_size(const Memory *m);

/** Do the entries follow each other in row-major order? */
bool memory_is_contiguous(const Memory *m);

/** What keeps the memory of an exported array: one reference to a variable, to a block,
 *  or to the array itself (static arrays of drjit.scalar). */
typedef struct Owner {
    VarIndex variable;
    void *block;
    PyObject *object;
} Owner;

void owner_release(Owner *owner);

/** The entries of an array as memory, evaluated: in place where the array is one leaf,
 *  a tensor, or of drjit.scalar, and that is its place; else a copy with the lanes
 *  innermost, which the host can read. False: exception. */
bool exchange_export(Array *a, int place, Memory *memory, Owner *owner,
                     const char *operation);

/** Where the entries of an array are or, if it is nested, a copy of them will be. */
int exchange_place(const Array *a);

/** A capsule for __dlpack__. 'versioned' selects the structure of DLPack 1.x. */
PyObject *dlpack_export(Array *a, int place, bool versioned, bool copy);

/** The memory behind an object with __dlpack__; *keeper (new reference) keeps it
 *  alive. False: exception, or without one if looking the method up says that there
 *  is none. */
bool dlpack_import(State *state, PyObject *object, Memory *memory, PyObject **keeper);

#endif

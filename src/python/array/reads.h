/*
 * reads.h -- what the body of a recorded loop reads before it writes to it
 *
 *     v = dr.gather(Float, buf, i)       noted
 *     dr.scatter(buf, v + 1, i)          an error: the next iteration would have to
 *                                        read what this one has written
 *
 * An iteration of an evaluated loop sees what the ones before it have written. In a
 * recorded loop all of them would read the array as it was before the loop. While one
 * is open, each array object that its thread reads is noted with the line: one from
 * outside as the object that it is, as two arrays may have one variable, and one that
 * was made within (a state, a detached copy) by its variable. The GIL guards all.
 */
#ifndef PYTHON_READS_H
#define PYTHON_READS_H

#include "python/array/array.h"

typedef struct Read Read;

/** Of a body. */
typedef struct Reads {
    struct Reads *outer; /* of the same thread */
    bool recorded;       /* of a recorded loop, which must not write to what it reads */
    const VarIndex *states;  /* its placeholders, while the body runs; borrowed */
    size_t state_count;
    Read *entries;       /* in no order */
    size_t count, capacity;
    uint32_t *slots;     /* 1 + number of an entry; open addressing */
    size_t room;         /* slots, a power of two, or 0 */
} Reads;

/** Bodies that are open, of all threads: nothing has to be noted otherwise. */
extern unsigned reads_open;

/** Between the two, a body runs. What it has read, the one around has read. */
void reads_begin(Reads *reads, bool recorded);
void reads_end(Reads *reads);

/** The thread gathers from an array. If out of memory, less is found. */
void reads_note_gather(const Array *array);
/** It computes with these objects, arrays or not. */
void reads_note_operands(PyObject *const *objects, Py_ssize_t n);
/** It reads an array as a whole (a sum, an order), or its entries on the host. */
static inline void reads_note_whole(const Array *array)
{
    PyObject *object = (PyObject *) array;
    if (reads_open)
        reads_note_operands(&object, 1);
}
/** It copies leaves of an array, so that others have the same variables. Where nobody
 *  can tell these apart later (literals, what is not computed yet), that is a read. */
void reads_note_copied(const Array *array, size_t first, size_t count);
static inline void reads_note_copy(const Array *array, size_t first, size_t count)
{
    if (reads_open)
        reads_note_copied(array, first, count);
}
/** The innermost loop has ended, whose state 'state' leaf i of this array was: code
 *  that has read the state has read the array. */
void reads_note_state(VarIndex state, const Array *array, size_t i);

/** Has the body read an array from outside, as this object? */
bool reads_has(const Reads *reads, PyObject *object);

/** The thread is about to write to the leaves of an array; noted for undo.h. False: a
 *  recorded loop has read it, and there is a RuntimeError (or a MemoryError). */
bool reads_check_write(const char *operation, const Array *target);

#endif

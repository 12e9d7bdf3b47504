/*
 * undo.h -- arrays that the body of an evaluated loop writes to, as they were before
 *
 * Its iterations run at once, so what they have written is there when a later one
 * raises. The first write to an array from outside is noted with what it was, which
 * has the write go to a copy. The GIL guards all.
 */
#ifndef PYTHON_UNDO_H
#define PYTHON_UNDO_H

#include "python/array/array.h"

typedef struct UndoEntry UndoEntry;

typedef struct Undo {
    struct Undo *outer; /* of the same thread */
    UndoEntry *entries; /* in order */
    size_t count, capacity;
} Undo;

/** Loops that are open, of all threads. */
extern unsigned undo_open;

void undo_begin(Undo *undo);
/** The loop has ended, or ('ok' false) its arrays are to be what they were. */
void undo_end(Undo *undo, bool ok);
/** The thread is about to write to an array. False: out of memory. */
bool undo_note(const Array *target);

#endif

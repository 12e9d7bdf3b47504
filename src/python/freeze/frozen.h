/*
 * frozen.h -- recordings of frozen functions
 *
 * A Frozen is a recording of the core, and what becomes of its outputs: the result's
 * tree, and arrays that the function has changed among its inputs.
 */
#ifndef PYTHON_FROZEN_H
#define PYTHON_FROZEN_H

#include "python/freeze/collection.h"

/** What is left of an array: where its variables come from. */
typedef struct OutputLeaf {
    PyTypeObject *cls; /* of arrays, a reference; NULL: the tree's leaf is the result */
    Array *like;       /* without variables, for what has a shape; NULL */
    size_t first, count;
    uint32_t *sizes; /* of each extent of a tensor, or of a number; 0: as in 'like'.
                        NULL: all are 0 */
} OutputLeaf;

/** A leaf of the inputs that the function has changed. */
typedef struct Change {
    size_t leaf;
    bool replaced; /* there is another object in its place now */
} Change;

typedef struct Frozen {
    PyObject_HEAD
    State *state;
    JitRecording *recording;
    Tree tree;          /* (result, [what has changed]); arrays are None */
    OutputLeaf *leaves;
    uint32_t *numbers;  /* of outputs, from 1 on */
    size_t output_count;
    size_t size_count;  /* further outputs: literals with so many entries */
    Change *changes;
    size_t change_count;
    bool suspended;     /* derivatives were, see ad_scope_suspends_all() */
    PyObject *rows;     /* of inputs, their variables, outputs: see rows.h */
    PyObject *paths;    /* see frozen_export.h */
} Frozen;

/** Members by which recordings are saved (frozen_file.c). */
extern PyGetSetDef frozen_file_members[];

/** Make the class. */
bool frozen_bind(State *state);
/** An empty one. NULL: exception. */
Frozen *frozen_new(State *state);
/** What is to be known of the outputs' arrays, whose extents are numbers; for outputs
 *  that were read from a file. False: exception. */
bool frozen_keep_leaves(Frozen *f, const Collection *outputs);

#endif

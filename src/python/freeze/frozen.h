/*
 * frozen.h -- recordings of frozen functions
 *
 * A Frozen is a recording of the core, and what becomes of its outputs: the result's
 * tree, and arrays that the function has changed among its inputs.
 */
#ifndef PYTHON_FROZEN_H
#define PYTHON_FROZEN_H

#include "python/freeze/snapshot.h"

/** What is left of an array: where its variables come from. */
typedef struct OutputLeaf {
    PyTypeObject *cls; /* of arrays, a reference; NULL: the tree's leaf is the result */
    const TypeInfo *info; /* of these arrays */
    Array *like;       /* without variables, for what has a shape; NULL */
    size_t first, count;
    uint32_t *sizes; /* of each extent of a tensor, or of a number; 0: as in 'like'.
                        NULL: all are 0 */
    uint32_t part;   /* a part of what 'same' or 'given' of its node says, from this
                        leaf of that on, + 1; 0: that itself, or an array of its own */
} OutputLeaf;

/** A leaf of the inputs that the function has changed. */
typedef struct Change {
    size_t leaf;
    bool replaced; /* there is another object in its place now */
} Change;

/** Where a leaf is: child number 'child' of a node. */
typedef struct ChildPlace {
    size_t node;
    Py_ssize_t child;
} ChildPlace;

typedef struct Frozen {
    PyObject_HEAD
    State *state;
    JitRecording *recording;
    Tree tree;          /* (result, [what has changed]); arrays are None */
    OutputLeaf *leaves;
    uint32_t *numbers;  /* of outputs, from 1 on */
    size_t output_count;
    size_t size_count;  /* further outputs: literals that stand for sizes */
    uint32_t *same;     /* of nodes of the tree: the first that is the same object, + 1;
                           0: it is that itself. Parts of arrays may come before */
    uint32_t *given;    /* of nodes of the tree: which of 'returned' it is, + 1; 0:
                           none */
    bool linked;        /* some are */
    size_t *returned;   /* nodes of the inputs whose objects the tree has, in order */
    size_t returned_count;
    Change *changes;
    ChildPlace *places; /* of these, in the inputs */
    size_t change_count;
    bool in_tuples;     /* it replaces some there */
    bool direct;        /* its result may be handed out as it is */
    InputSpec *inputs;
    Py_ssize_t repeated, check; /* after how many repetitions the function is to
                                  be checked; or FROZEN_... */
    PyObject *reads;           /* where the function reads besides its arguments:
                                  reads.h; NULL: nowhere */
} Frozen;

enum {
    FROZEN_UNASKED = -1, /* checked if a flag says so */
    FROZEN_NEVER = -2
};

/** Members by which recordings are saved (frozen_file.c). */
extern PyGetSetDef frozen_file_members[];

/** Make the class. */
bool frozen_bind(State *state);
/** An empty one. NULL: exception. */
Frozen *frozen_new(State *state);
/** Repeat it for inputs of the core: (the function's result, a list of what the inputs
 *  that it has changed are now). 'objects' are those of 'returned'. NotImplemented: the
 *  recording does not fit. NULL: exception. */
PyObject *frozen_repeat(const Frozen *f, const uint32_t *inputs, size_t input_count,
                        PyObject *const *objects);

/* ---- checks (frozen_same.c) */

/** Is the function to be called in the place of the next repetition? */
bool frozen_is_due(const Frozen *f);
/** Methods. due(snapshot): is it so for these inputs, as far as can be told without
 *  repeating it? same(recording): 1, 0, or 2, see jit_freeze_same(). */
PyObject *frozen_due(PyObject *self, PyObject *snapshot);
PyObject *frozen_same(PyObject *self, PyObject *other);

/* ---- what is kept (frozen_keep.c) */

/** (snapshot, inputs, reads, result with prints, result): end the recording. It, or a
 *  str that says why there is none. */
PyObject *frozen_stop(PyObject *module, PyObject *const *args, Py_ssize_t n);
/** (snapshot, inputs): has the function that is being recorded changed none of them? */
PyObject *frozen_untouched(PyObject *module, PyObject *const *args, Py_ssize_t n);
/** Note which objects of the outputs, (result, changes), are the same, and which are
 *  inputs. False: exception. */
bool frozen_keep_objects(Frozen *f, const Tree *inputs, const Tree *outputs);
/** The same from lists with a number for each node of the outputs, or each leaf. */
bool frozen_take_objects(Frozen *f, const FlattenedInputs *inputs, PyObject *same,
                         PyObject *given, PyObject *parts);
/** Why variables that a recording has made are not where they are looked for: 'inputs'
 *  as they are now, outputs, and literals that stand for sizes. A str; NULL: they are,
 *  or an exception. */
PyObject *frozen_find_escaped(const State *state, const Tree *inputs,
                              const FlattenedInputs *outputs, const uint32_t *sizes,
                              size_t size_count);
/** The outputs, flattened, with empty arrays; nodes are those of the recording. Free it
 *  after failure too. False: exception. */
bool frozen_outputs(const Frozen *f, FlattenedInputs *outputs);
void frozen_outputs_free(FlattenedInputs *outputs);
/** A leaf that is not an array of the core. Those of drjit.scalar, and sets, belong to
 *  the caller. A new reference; NULL: exception. */
PyObject *frozen_own_leaf(const State *state, PyObject *leaf);
/** What is to be known of the outputs' arrays, whose extents are numbers; for outputs
 *  that were read from a file. False: exception. */
bool frozen_keep_leaves(Frozen *f, const FlattenedInputs *outputs);

#endif

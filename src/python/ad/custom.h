/*
 * custom.h -- custom operations of users: what the graph of derivatives keeps of one
 */
#ifndef PYTHON_CUSTOM_H
#define PYTHON_CUSTOM_H

#include "python/array/array.h"

/** A reference of the graph to an operation, as an object, so that the collector sees
 *  it. The graph has one reference to this, which has one to the operation. */
typedef struct Operation {
    PyObject_HEAD State *state;
    PyObject *op; /* a drjit.CustomOp; NULL: collected */
    bool held;    /* by the graph */
    size_t n_in, n_out;
    const TypeInfo **infos; /* of the leaves of inputs, of outputs; owned */
} Operation;

/** What the graph calls when it lets go of one. */
void custom_release(void *operation);

bool custom_bind(State *state);

#endif

/*
 * borrow.h -- the memory of an array of another library
 */
#ifndef PYTHON_BORROW_H
#define PYTHON_BORROW_H

#include "python/convert/exchange.h"

/** Open memory, and what keeps it open. */
typedef struct Borrowed {
    PyObject *object; /* borrowed: whose memory it is */
    Memory memory;
    Py_buffer buffer; /* buffer.obj is NULL for DLPack */
    PyObject *keeper; /* DLPack */
    bool shared;      /* an array may refer to it */
} Borrowed;

typedef enum Opening {
    BORROW_ERROR = -1, /* exception: the one that the object has raised */
    BORROW_NONE,       /* the object offers no memory */
    BORROW_STRANGE,    /* entries or axes that no array has; needs borrow_close() */
    BORROW_OPEN
} Opening;

/** Ask an object for its memory: through the buffer protocol, or else DLPack. */
Opening borrow_open(State *state, PyObject *object, Borrowed *b);

/** What it calls (__release_buffer__, a DLPack deleter) sees no exception that is set,
 *  and does not change it. */
void borrow_close(Borrowed *b);

#endif

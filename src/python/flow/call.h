/*
 * call.h -- calls of which each lane makes one of several: what call.c and
 * call_evaluated.c share
 */
#ifndef PYTHON_CALL_H
#define PYTHON_CALL_H

#include "python/flow/tracker.h"

enum { MOST_LEAVES = 16 };

typedef struct Call {
    State *state;
    const char *operation, *label;
    const TypeInfo *index; /* the type of the lanes' instances */
    JitBackend backend;    /* of it */
    bool symbolic;
    PyObject *functions;   /* a tuple, so nobody changes it */
    PyObject *target;      /* what is called, with entries of 'functions' as its first
                              argument, or (a str) the method of these; NULL: they are
                              what is called */
    uint32_t instances;    /* one for each function ... */
    uint32_t *numbers;     /* ... with these ids, ascending; NULL: 1, 2, ... */
    uint32_t bound;        /* the largest one */
    uint32_t ids;          /* the lanes' instances; 0: none */
    uint32_t mask;         /* 0: all lanes */
    size_t size;           /* lanes */
    uint32_t handle;       /* of a symbolic call; 0: the core has ended it */
    Tracker args;          /* (positional, named) */
    bool flat;             /* these are MOST_LEAVES leaves at most, in no containers */
    PyObject *names;       /* then: of the named ones, a tuple; NULL: there are none */
    Variables spread;      /* of an evaluated call: theirs; of local arrays, entries */
    Tracker first, next;   /* what the functions have returned */
    size_t returned;       /* number of functions that have */
    VarIndex *matched;         /* room for what one has returned; NULL: not yet */
} Call;

/** Call a function with arrays, and containers, of its own. NULL: exception. */
PyObject *call_function(Call *call, uint32_t callable);
/** Take what a function has returned: as the template, or like it. NULL: exception. */
Tracker *call_take_returned(Call *call, PyObject *result);

/** An evaluated call: its result. NULL: exception. */
PyObject *call_run_evaluated(Call *call);
/** Functions of such a call run under a mask of their own, whatever is around the call:
 *  all of their lanes, which have been chosen (0: no lane of the call's). False:
 *  exception. */
bool call_push_mask(Call *call, uint32_t lanes);
bool call_pop_mask(Call *call);

#endif

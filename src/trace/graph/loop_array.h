/*
 * loop_array.h -- loops that are being recorded, and their states that are accessed by
 * index as whole arrays
 */
#ifndef TRACE_GRAPH_LOOP_ARRAY_H
#define TRACE_GRAPH_LOOP_ARRAY_H

#include "trace/graph/record.h"

typedef struct LoopState {
    VarId initial;     /* owned; 0: the caller has it (an array that is written to) */
    VarId placeholder; /* owned; 0: the caller has the value itself */
    VarId next;        /* what the body makes of it; owned, in the end */
    VarId array;       /* accesses as a whole go there; held by effects or 'initial'; a
                          state of the loop around it: where that one's go */
    uint32_t size;
    uint8_t type, local;
    size_t length;     /* of a local array */
    bool whole;        /* accessed as a whole; in a loop that is run at once and has the
                          initial value: perhaps, the next state tells */
    VarIds written;    /* owned; in such a loop: copies of it that are written to, of
                          which one may be what the state is from now on */
    bool fixed;        /* it never changes */
    bool used;         /* the body needs the placeholder */
    VarId given;       /* owned; what the state is if there is no iteration, 0: as
                          'initial' (freezing_loop.c) */
    VarId full;        /* owned; see loop_compress.c, 0: none */
    bool changed;      /* 'full' is out of date for the lanes that are left */
} LoopState;

typedef struct Loop {
    Body body;
    VarId mask;        /* lanes that enter; owned */
    VarId active[2];   /* before and after the test; owned */
    VarId condition;   /* owned; 0: not known yet */
    bool never;        /* the condition is false: the body does not run (again) */
    bool evaluated;    /* nothing is recorded: 'initial' is the state before an
                          iteration, active[0] the mask of lanes that go on */
    /* Run at once, with JitFlagCompressLoops (loop_compress.c): */
    bool compress;     /* lanes may be taken out */
    bool ran;          /* there has been an iteration */
    uint32_t width;    /* lanes that there were */
    VarId kept;        /* indices of the active lanes; owned */
    VarId lanes;       /* which lanes are left, 0: all; owned */
    VarId present;     /* mask of those that are not padding, 0: all; owned */
    uint32_t count;
    LoopState states[];
} Loop;

/** Is this a copy of the state that was written to? */
bool loop_array_is_copy(const LoopState *s, VarId id);
/** The array behind 'id', which is to be read or written by index as a whole: 'id'
 *  itself, or, for a state of a loop, its initial value. The loop must not change that
 *  state then (borrowed). */
VarId loop_array(ThreadState *ts, VarId id);
/** What a state began as before the loops that are being recorded; any other variable
 *  is itself (borrowed). */
VarId loop_array_begin(ThreadState *ts, VarId id);
/** References to array 'id' that loops which are run at once and conditionals hold and
 *  that are not to make it look shared, or else each write would copy it. A literal may
 *  be another variable, too, and is never written to. */
uint32_t loop_array_holders(const ThreadState *ts, VarId id);
/** Is 'target' the state of a loop that has been written to, after which is array
 *  'id'? Another side of a conditional may write to it ('*again'); else it is a copy of
 *  the state that was made before the write, which cannot have a memory of its own:
 *  false, with an error. */
bool loop_array_settled(ThreadState *ts, VarId target, VarId id, bool *again);
/** There will be a write to 'target', after which is array 'id'. It goes to 'written':
 *  the array itself, of which the loops let go, or a copy. False: out of memory. */
bool loop_array_written(ThreadState *ts, VarId target, VarId id, VarId written);
/** What was written to 'from' goes to 'to' after all. */
void loop_array_replaced(ThreadState *ts, VarId from, VarId to);

#endif

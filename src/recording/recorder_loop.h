/*
 * recorder_loop.h -- a loop in the making, see recorder_loop.c
 *
 *     recorder_loop.c     tests; which iteration is the block; the end
 *     recorder_close.c    iterations become a FrozenLoop
 *     recorder_compare.c  is an iteration like another one?
 *     recorder_merge.c    is a kernel like another one, if arrays are one?
 *     recorder_block.c    an iteration is dropped, or becomes the block
 */
#ifndef RECORDING_RECORDER_LOOP_H
#define RECORDING_RECORDER_LOOP_H

#include "recording/recording.h"

struct Program; /* ir/program.h */

/** What an array that is used in a block is besides the number of a state. */
enum {
    ROLE_OUTSIDE = UINT32_MAX, /* no state */
    ROLE_UNKNOWN = UINT32_MAX - 1
};

/** Where the host asks whether there is another iteration: so much was recorded, and
 *  this is the state. */
typedef struct Test {
    uint32_t commands, arrays, uses, bounds, extents, contents, reads, loops, states;
    uint32_t condition; /* array, RECORDER_UNKNOWN: not known from one */
    uint32_t *values;   /* arrays, or RECORDER_UNKNOWN */
    uint64_t *bits;     /* of literals */
} Test;

/** What was recorded between two tests. */
typedef struct Iteration {
    const Test *before, *behind;
    uint32_t *roles; /* of its uses, then of what states of loops in it are before */
} Iteration;

enum { MOST_PEELED = 3 }; /* iterations that may be different in the beginning */

struct RecorderLoop {
    RecorderLoop *outer;
    const void *who;
    bool within; /* an iteration of another loop that is going to be compared */
    uint32_t states;
    Test start, end, last, now; /* the block is between 'start' and 'end', the latest
                                   iteration between 'last' and 'now' */
    Test peels[MOST_PEELED + 1]; /* before iterations that stay what they are, if
                                    'within' */
    uint32_t peel_count;
    uint32_t first;             /* arrays from here on were made by iterations */
    uint32_t *roles;            /* of the block */
    uint32_t lost;              /* the array that buffers of single iterations are */
    uint32_t equal, peeled;     /* iterations */
    bool begun, has_block;
    bool conditional;           /* the latest iteration has conditions of its own, */
    bool block_conditional;     /* and so has the block */
};

static inline bool iteration_has(const Iteration *i, uint32_t array)
{
    return array >= i->before->arrays && array < i->behind->arrays;
}

/** A role for each use and state in between, all unknown. NULL: out of memory. */
uint32_t *recorder_roles(const Test *before, const Test *behind);
/** Is 'part' an iteration like 'whole', in which loops may have gone round more often?
 *  Then the roles of 'whole' are known as far as both tell them, and its loops may have
 *  as many iterations as in both. */
bool recorder_compare(Recorder *r, const Iteration *whole, const Iteration *part);

/** Is 'q' what 'p' becomes if some of its parameters are one? params[] has, for each
 *  parameter of 'p', which one of 'q' it is. */
bool recorder_merge(Recorder *r, const struct Program *p, const struct Program *q,
                    const uint32_t *params);

/** What is between two tests, in an open loop whose state now is 'values', becomes a
 *  FrozenLoop, which may have up to 'most' iterations. False: out of memory. */
bool recorder_close(Recorder *r, const Test *start, const Test *end, uint32_t again,
                    uint32_t most, const LoopValue *values);

/** Forget the latest iteration, but for its arrays, which are the state. False: out of
 *  memory. */
bool recorder_block_drop(Recorder *r);
/** Forget the block: the latest iteration, with these roles, is what it stands for from
 *  now on. '*done' is false, and nothing has changed, if it uses arrays that cannot be
 *  told from those of the block. False: out of memory. */
bool recorder_block_replace(Recorder *r, uint32_t *roles, bool *done);

#endif

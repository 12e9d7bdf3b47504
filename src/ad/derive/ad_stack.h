/*
 * ad_stack.h -- the states with which iterations of a loop begin, without memory
 *
 * Where nothing can be evaluated, or where states are local arrays, which exist in
 * kernels only, there is no tape in memory, and without a bound no tape in lanes. So
 * the states are computed again in the reverse loop, from checkpoints in local arrays:
 * a *stack*, whose lowest entry is the beginning. On the way from the topmost
 * checkpoint to the iteration that is wanted there is a new one in the middle, one in
 * the middle of what is left, and so on; those after the iteration are popped.
 *
 *     iteration 0             7       11  13 14 15 wanted       checkpoints
 *               ├─────────────┼───────┼───┼──┼──┤               0 7 11 13 14
 *               ├─────────────┼───────┼───┼──┤ 14               the same, used
 *               ├─────────────┼───────┼───┤ 13                  0 7 11 13, used
 *               ├─────────────┼───────┼─┤ 12                    0 7 11, from 11 on
 *               ├─────────────┼───────┤ 11                      the same, used
 *               ├─────────────┼─┼─┼─┤ 10                        0 7 8 9, from 7 on
 *
 * Each iteration is computed again log2(n) / 2 times or less. A stack has one entry for
 * each bit of the number of iterations, and that of the beginning; if this is more than
 * there is room for, then fewer, and a part after the last one that is left is
 * computed from there each time.
 *
 * The loop that computes an iteration has the stack among its values, and so has the
 * reverse loop: the top, the positions, and an array for each state that changes. If
 * the derivative is to be differentiated, arrays are tracked like all values.
 *
 * Functions take the lock themselves.
 */
#ifndef AD_DERIVE_AD_STACK_H
#define AD_DERIVE_AD_STACK_H

#include "ad/derive/ad_run.h"

typedef struct AdStack {
    LoopDerivative *d;
    size_t depth;     /* entries */
    uint32_t count;   /* of values; 0: there are no checkpoints but the beginning */
    uint64_t *values; /* with which it begins; references, owned */
} AdStack;

/** Have one with an entry for the beginning, for that many iterations at most (0: not
 *  known). Without that, or if there is next to no room, states are computed from the
 *  beginning. False: error recorded;
 *  ad_stack_free() is due all the same. */
bool ad_stack_begin(AdStack *s, LoopDerivative *d, uint64_t most);
void ad_stack_free(AdStack *s);
/** The states with which iteration 'number' begins, by state, those that are needed;
 *  new references. The values of 'run' from number 'first' on are those of the stack,
 *  and become what it is then. */
bool ad_stack_compute(const AdStack *s, AdRun *run, uint32_t first, uint32_t number,
                      const bool *needed, uint64_t *states);

#endif

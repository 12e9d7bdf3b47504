/*
 * ad_run.h -- a loop that is recorded from the template of another one
 *
 * Its values are the states that change, if they are wanted, and others after them,
 * which the caller goes on with:
 *
 *     ad_run_open()        values are those with which an iteration begins
 *     ad_run_condition()   the template's, or one of the caller's own
 *     ad_run_body()        the body, or the body and its derivative
 *     ad_run_set()         for each of the others
 *     ad_run_end()         the values are results now
 *     ad_run_free()
 *
 * All values are tracked if the derivative is to be (ad_block.h).
 *
 * Functions take the lock themselves.
 */
#ifndef AD_DERIVE_AD_RUN_H
#define AD_DERIVE_AD_RUN_H

#include "ad/derive/ad_loop_derivative.h"

typedef struct AdRun {
    LoopDerivative *d;
    RegionReplay replay;
    bool replays, masked;
    uint32_t handle;
    uint64_t *values; /* owned */
    uint32_t primal;  /* this many are states */
    uint32_t count;
    uint64_t *states; /* by state: with which the iteration has begun, 0: not known;
                         references, owned */
    uint64_t *gradients; /* by state: of its gradient; the same */
    uint32_t number; /* of the iteration, where the derivative has it; 0: it has not */
} AdRun;

/** What state k was before the loop, tracked if the derivative is to be. A new
 *  reference. */
uint64_t ad_run_initial(const LoopDerivative *d, uint32_t k);
/** The gradient of state k before the loop: a new reference; 0: error recorded. */
uint64_t ad_run_given(const LoopDerivative *d, uint32_t k);
/** Is an entry's gradient summed up over the iterations? */
bool ad_run_is_summed(const LoopDerivative *d, uint32_t entry);
/** Begin. With 'states' (or, if there are none to begin with, the initial ones) if they
 *  are wanted; in any case with 'others', whose references move. False: error recorded;
 *  ad_run_end() and ad_run_free() are due all the same. */
bool ad_run_open(AdRun *run, LoopDerivative *d, bool wanted, const uint64_t *states,
                 uint32_t count, const uint64_t *others);
/** The condition of the template, if that is wanted and 'more' (0: none) where it
 *  holds, a mask. '*again' is 0 if there is no iteration. */
bool ad_run_condition(AdRun *run, bool wanted, uint32_t more, int *again);
/** The states with which the iteration begins are these; by state, 0: not known. */
bool ad_run_set_states(AdRun *run, const uint64_t *states);
/** The gradient of state k is this one. */
bool ad_run_set_gradient(AdRun *run, uint32_t k, uint64_t value);
/** A placeholder of the body's derivative is this number (borrowed until the end). */
bool ad_run_set_number(AdRun *run, uint32_t placeholder, uint32_t number);
/** Let the states be what the body makes of them. If that is wanted, record its
 *  derivative, too, and what this makes: 'roots' become 'found' (new references; 0:
 *  none). */
bool ad_run_body(AdRun *run, bool derivative, uint32_t count, const uint64_t *roots,
                 uint64_t *found);
/** The value number i of the others (borrowed); it is this from now on (the reference
 *  moves). */
uint64_t ad_run_get(const AdRun *run, uint32_t i);
bool ad_run_set(AdRun *run, uint32_t i, uint64_t value);
/** 'ok': the results are in values[]. */
bool ad_run_end(AdRun *run, bool ok);
void ad_run_free(AdRun *run);
/** Let go of a list, and of the references in it; NULL is fine. */
void ad_run_drop_list(size_t n, uint64_t *list);

/** number + by, of type UInt32; new references. */
uint32_t ad_run_advance(uint32_t number, int by);
/** The launch fails in which lanes make more iterations than 'max_iterations', which is
 *  a bound: the mask of the others, where each has made 'count'. A new reference; 0:
 *  error recorded. */
uint32_t ad_run_check(const AdTemplate *t, uint32_t count);
/** Run a loop again with a body that was recorded in the place of its own and has
 *  effects only. 'iteration': a placeholder in it for the number of the iteration.
 *  '*count' receives how many each lane has made, a new reference. */
bool ad_run_repeat(AdTemplate *t, RecordedBody *body, ReplayGap *gaps,
                   uint32_t iteration, uint32_t *count);

#endif

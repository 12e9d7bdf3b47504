/*
 * ad_loop_derivative.h -- the derivative of a recorded loop, under way
 *
 * Its body is traced once, with the variables of the template (ad_derive_loop.c), and
 * loops are recorded from that (ad_run.h). Gradients that go round with the loop are
 * placeholders.
 */
#ifndef AD_DERIVE_AD_LOOP_DERIVATIVE_H
#define AD_DERIVE_AD_LOOP_DERIVATIVE_H

#include "ad/array/ad_last.h"
#include "ad/derive/ad_block.h"

typedef struct LoopDerivative {
    AdTemplate *t;
    bool forward;
    bool arrays;            /* gradients of those that it writes to are wanted */
    bool tracked;           /* the loops that are recorded can be differentiated, too */
    uint64_t *given, *made; /* as those of ad_derive() */
    uint32_t made_count;
    uint64_t *gradients; /* by state: placeholder of its gradient in the body, 0: none;
                            owned */
    uint64_t *out; /* what the body makes: forward by state, its tangent; reverse by
                      entry, the gradient; 0: none; owned */
    uint32_t out_count;
    RecordedBody body;
    ReplayGap *gaps;            /* owned */
    AdBlock block;              /* if 'tracked': the body and its derivative */
    uint32_t *gradient_entries; /* by state: 1 + its entry's number; owned */
    AdLast last; /* who has written last, if that is needed and this is the outermost
                    region; owned */
    uint32_t number; /* placeholder of that of the iteration in the body's derivative;
                        0: it does not matter; a reference */
} LoopDerivative;

#endif

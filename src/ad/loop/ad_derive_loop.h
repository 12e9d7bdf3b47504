/*
 * ad_derive_loop.h -- the derivative of the body of a recorded loop
 *
 * It is traced once, with the variables of the template. Gradients that go round with
 * the loop are placeholders, *slots*. Loops are recorded from it then (ad_run.h):
 * forward by ad_derive_loop.c, reverse by ad_reverse.c.
 */
#ifndef AD_LOOP_AD_DERIVE_LOOP_H
#define AD_LOOP_AD_DERIVE_LOOP_H

#include "ad/loop/ad_block.h"
#include "ad/region/ad_overwrite.h"

typedef struct LoopDerivative {
    AdTemplate *t;
    bool forward;
    bool arrays;            /* gradients of those that it writes to are wanted */
    bool tracked;           /* the loops that are recorded can be differentiated, too */
    uint64_t *given, *made; /* as those of ad_derive() */
    uint32_t made_count;
    uint64_t *slots; /* by state: placeholder of its gradient in the body, 0: none;
                        owned */
    uint64_t *out;   /* what the body makes: forward by state, its tangent; reverse by
                      entry, the gradient; 0: none; owned */
    uint32_t out_count;
    RecordedBody body;
    ReplayGap *gaps;        /* owned */
    AdBlock block;          /* if 'tracked': the body and its derivative */
    uint32_t *slot_entries; /* by state: 1 + number of the slot's entry; owned */
    AdLast last; /* who has written last, if that is needed and this is the outermost
                    region; owned */
    uint32_t number; /* placeholder of that of the iteration in the body's derivative;
                        0: it does not matter; a reference */
} LoopDerivative;

/** ad_derive() of a loop. Without lock, as all of these. */
bool ad_derive_loop(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
                    const bool *wanted);
/** Run the loop again: see ad_loop_hooks.h. */
bool ad_derive_loop_repeat(AdTemplate *t, RecordedBody *body, ReplayGap *gaps,
                           uint32_t iteration, uint32_t *count);
/** The backend of the loop. */
JitBackend ad_derive_loop_backend(const AdTemplate *t);
/** The gradient with which the slot of a state begins: a new reference; 0: error
 *  recorded. */
uint64_t ad_derive_loop_given(const LoopDerivative *d, uint32_t k);
/** Is an entry's gradient summed up over the iterations? */
bool ad_derive_loop_is_summed(const LoopDerivative *d, uint32_t entry);

#endif

/*
 * ad_loop_hooks.h -- what regions need of the room above them, that of loops
 *
 * The table is declared here and defined in ad_loop.c.
 */
#ifndef AD_REGION_AD_LOOP_HOOKS_H
#define AD_REGION_AD_LOOP_HOOKS_H

#include "ad/region/ad_region.h"

typedef struct AdLoopHooks {
    /** ad_derive() of a loop. Without lock. */
    bool (*derive)(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
                   const bool *wanted);
    /** Run a loop again with a body that was recorded in the place of its own and has
     *  effects only. 'iteration': a placeholder in it for the number of the iteration.
     *  '*count' receives how many each lane has made, a new reference. Without lock. */
    bool (*repeat)(AdTemplate *t, RecordedBody *body, ReplayGap *gaps,
                   uint32_t iteration, uint32_t *count);
    /** Release what belongs to a loop that is open; NULL is fine. With the lock. */
    void (*release)(AdLoop *loop);
} AdLoopHooks;

extern const AdLoopHooks ad_loop_hooks;

#endif

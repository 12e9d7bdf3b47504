/*
 * ad_derive_loop.h -- the derivative of the body of a recorded loop
 *
 * It is traced once, with the variables of the template. Gradients that go round with
 * the loop are placeholders. Loops are recorded from it then (ad_run.h):
 * forward by ad_derive_loop.c, reverse by ad_reverse.c.
 */
#ifndef AD_DERIVE_AD_DERIVE_LOOP_H
#define AD_DERIVE_AD_DERIVE_LOOP_H

#include "ad/region/ad_template.h"

/** ad_derive() of a loop. Without lock. */
bool ad_derive_loop(AdTemplate *t, ADMode mode, uint64_t *given, uint64_t *made,
                    const bool *wanted);
#endif

/*
 * ad_reverse.h -- the derivative of a recorded loop in reverse mode, as other loops
 */
#ifndef AD_DERIVE_AD_REVERSE_H
#define AD_DERIVE_AD_REVERSE_H

#include "ad/derive/ad_loop_derivative.h"

/** Record it, once the derivative of the body is there: gradients of the entries for
 *  values of lanes become those in d->made. False: error recorded. Without lock. */
bool ad_reverse(LoopDerivative *d);

#endif

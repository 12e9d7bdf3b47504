/*
 * native_choose.h -- which CPU code is made for
 */
#ifndef ENGINE_NATIVE_NATIVE_CHOOSE_H
#define ENGINE_NATIVE_NATIVE_CHOOSE_H

#include "engine/native/plan/native_target.h"

/** More targets, which are in use if DRJIT_NATIVE_ISA names one: the tests have some.
 *  To be called before anything else here. They have the same NativeCpu; the caller
 *  keeps the array and what it points to. */
void native_choose_offer(const NativeTarget *const *more, uint32_t count);
/** The target in use, NULL if this CPU has none. */
const NativeTarget *native_choose_target(void);
/** Packets at a time if somebody has set that, else 0. */
uint32_t native_choose_packets(void);

#endif

/*
 * native_build.h -- what the two scans over a Program share
 *
 * Both meet every instruction of Programs that may have a million, and most of their
 * time would go into branches that cannot be predicted: what depends on operation and
 * type alone comes from tables.
 */
#ifndef ENGINE_NATIVE_PLAN_NATIVE_BUILD_H
#define ENGINE_NATIVE_PLAN_NATIVE_BUILD_H

#include "engine/native/plan/native.h"

/** What the forward scan leaves to the backward one. */
typedef struct NativeScan {
    uint32_t candidates; /* instructions that may be steps, in steps[] */
    bool pointers;       /* parameters that are pointers may have to be computed */
    bool renamed;        /* may a value have another number than its position? */
} NativeScan;

/** Of these operations packets are not computed side by side: those whose effects have
 *  an order, whose rows have jumps, and what the frame has once. */
#define NATIVE_SINGLE(op, group) \
    (((group) & (GROUP_MEMORY | GROUP_REPORT)) != 0 || (op) == OP_WORKER || \
     (op) == OP_RETURN)

static inline bool native_is_address(const Inst *inst, uint32_t k)
{
    return op_role((Op) inst->op, k) == ROLE_POINTER;
}

/** Find loops that end after a known number of iterations (NativeRegion.most), between
 *  the two scans. */
void native_count(NativeFunction *f);
/** Make the steps. False: out of memory. */
bool native_steps(const Native *n, NativeFunction *f, const NativeScan *scan);

#endif

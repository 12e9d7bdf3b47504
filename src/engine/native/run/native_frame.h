/*
 * native_frame.h -- memory of a worker while a kernel runs
 *
 *     scratch:  NativeFrame | spill slots | areas of calls | rows |
 *               local arrays | tails
 *                            ^ NativeCpu.slots points here, plus a bias
 *
 * Generated code has the distances between these as constants. A kernel is entered once
 * for all whole packets and once more for the last, partial one; for that the addresses
 * of outputs in the arguments are replaced by those of tails, from which the valid
 * entries are copied afterwards. So the code itself stores whole packets only. Where it
 * computes several packets at a time, inputs have tails as well, because it would read
 * further behind their end than there is memory. Spill slots then stand side by side:
 * slot 0 of each packet, slot 1 of each packet ...
 */
#ifndef ENGINE_NATIVE_RUN_NATIVE_FRAME_H
#define ENGINE_NATIVE_RUN_NATIVE_FRAME_H

#include "base/interrupt.h"
#include "lanes/lanes.h"

enum {
    NATIVE_COPIES = 4,         /* most packets at a time */
    NATIVE_HELPER_SLOTS = 6,   /* result and up to five operands */
    NATIVE_HELPER_BYTES = 128, /* LANE_GROUP entries of 8 bytes */
    NATIVE_STASH_BYTES = 256,
    /* Two more registers of the LaneFrame: the local arrays and the areas of calls. */
    NATIVE_LOCAL_SLOT = NATIVE_HELPER_SLOTS,
    NATIVE_AREA_SLOT,
    NATIVE_FRAME_SLOTS
};

typedef struct NativeFrame {
    /* Lanes that are not behind the end: of 32 bits, and of 64 bits. Each packet has a
     * vector, in which mask registers are the first word: one bit for each lane. */
    _Alignas(64) uint32_t valid[NATIVE_COPIES * 16];
    uint64_t valid_wide[NATIVE_COPIES * 8];
    uint8_t stash[NATIVE_STASH_BYTES];
    uint8_t operands[NATIVE_HELPER_SLOTS][NATIVE_HELPER_BYTES];
    LaneFrame lanes;
    const LaneStep *steps; /* those that the code calls */
    void *slot[NATIVE_FRAME_SLOTS];
    void *rows; /* what LaneFrame.values is for, of 128 bytes each */
    Interrupt interrupt; /* loops look at it at their back edges */
    void *stack;         /* the CPU's, at the end of a kernel with loops */
    /* Of the innermost loop that counts its iterations: those that are left when the
     * register has counted down; what the register had before the loop; and what it has
     * during a call. */
    uint32_t left, outer, kept;
} NativeFrame;

/** Entry of a kernel: lanes 'begin' to 'end' - 1 in whole packets. 'frame' is the begin
 *  of scratch. */
typedef void (*NativeEntry)(uint32_t begin, uint32_t end, const uint64_t *args,
                            NativeFrame *frame, const void *pool);

#endif

/*
 * native_launch.h -- code that was made, and how it is launched
 *
 * A NativeCode is all that running a kernel takes: what native.c makes in memory, and
 * what exported functions (src/export) have as constants. Its pointers belong to who
 * made it. The memory of a worker is laid out by each launch (native_frame.h):
 *
 *     NativeFrame | spill slots | areas of calls | rows | local arrays |
 *     arrays and arguments of the last, partial packets
 */
#ifndef ENGINE_NATIVE_RUN_NATIVE_LAUNCH_H
#define ENGINE_NATIVE_RUN_NATIVE_LAUNCH_H

#include "device/cpu/launch/cpu_code.h"
#include "engine/native/run/native_frame.h"

typedef struct NativeArray {
    uint32_t slot, size; /* of an entry */
} NativeArray;

typedef struct NativeCode {
    CpuCode cpu;
    NativeEntry entry;
    void *pool;          /* constants; aligned to 64 bytes, with as many behind it */
    LaneStep *steps;     /* of the interpreter, that the code calls */
    NativeArray *arrays; /* the outputs, then inputs that must not be read past their
                            end */
    uint32_t output_count, array_count;
    uint32_t lanes, packets; /* lanes of a packet, packets at a time */
    uint32_t vector_bytes;   /* of a whole register */
    uint32_t param_count;
    uint32_t report, log; /* slots, PROGRAM_NONE */
    bool mask_bits;       /* masks are bits, not vectors */
    uint32_t rows;        /* most of one PRINT or product with a matrix */
    size_t areas, row_area, locals, tail; /* places in scratch memory */
} NativeCode;

/** CpuCode.run of such code. */
void native_launch(const CpuCode *cpu, const uint64_t *args, uint32_t begin,
                   uint32_t end, uint32_t worker, uint32_t requests, void *scratch);

/** Bytes of an array in the last, partial packets. */
static inline size_t native_launch_tail_bytes(const NativeCode *code)
{
    enum { LINE = 64 };
    return (size_t) code->packets * LINE;
}

/** LaneFrame.extra: places in the frame's registers that steps have as operands. */
extern const uint32_t native_launch_extra[];

#endif

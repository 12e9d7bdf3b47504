/*
 * ptx_kernel.h -- a legalised Program as PTX
 *
 * A kernel is one .entry, drjit_<hash>, with one thread for each lane, or for four if
 * its memory accesses gain from it (PtxKernel.lanes). Its parameters are one block:
 *
 *     .param .align 8 .b8 params[16 + 8 * n]
 *     | PtxLaunch | a 64-bit word for each parameter of the Program |
 *
 * Thread t (%ctaid.x * %ntid.x + %tid.x) computes lanes begin + t * lanes, ..., as far
 * as they lie before 'end'. Blocks are one-dimensional, any multiple of 32 threads.
 *
 * Words mean what they mean for code of the CPU (engine.h,
 * docs/dev/adding-an-engine.md), with two exceptions: PARAM_PRINT is the address of a
 * PrintArea (ir/print_area.h), to which the kernel appends, and there is no
 * CPU_PARTIALS or CPU_STREAMED. All addresses are those of global memory.
 *
 * The text is a value: no state is kept, and all functions may be called by any thread.
 */
#ifndef ENGINE_PTX_PTX_KERNEL_H
#define ENGINE_PTX_PTX_KERNEL_H

#include "base/hash.h"
#include "base/text.h"
#include "ir/program.h"

/** What a kernel is written for. */
typedef struct PtxTarget {
    uint32_t sm;  /* compute capability, ten times the major number and the minor one:
                  * 50 to 121 */
    bool flushes; /* may additions of f32 in memory flush subnormal numbers to zero, as
                   * the instruction for it does? Else they are loops, of the same bits
                   * as on every other engine */
} PtxTarget;

/** What its parameters begin with. */
typedef struct PtxLaunch {
    uint32_t begin, end; /* lanes */
    uint32_t worker;     /* value of WORKER */
    uint32_t unused;     /* 0 */
} PtxLaunch;

/** What a launch has to know of a kernel. */
typedef struct PtxKernel {
    uint32_t lanes;       /* of a thread: 1 or 4 */
    bool words_in_memory; /* the words do not fit into parameters: PtxLaunch is followed
                           * by the address of global memory that holds them */
} PtxKernel;

enum { PTX_NAME_SIZE = 40 };
/** The name of the .entry. */
void ptx_kernel_name(Hash128 hash, char name[PTX_NAME_SIZE]);

/** Append the PTX of a Program that was legalised for ptx_kernel_supports(). False:
 *  error recorded. */
bool ptx_kernel_write(const Program *program, Hash128 hash, const PtxTarget *target,
                      Text *out, PtxKernel *kernel);

/** Engine.supports() */
bool ptx_kernel_supports(Op op, VarType type, VarType operand);

#endif

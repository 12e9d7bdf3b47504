/*
 * sim.h -- PTX is executed, by rules that are stricter than those of hardware
 *
 * A module is parsed from text; its kernels are launched in grids of blocks, which run
 * in the calling thread: warps of 32 lanes in lock step, blocks and warps interleaved
 * in quanta of random length. Everything random comes from the seed of the launch.
 *
 * What is reported as a fault, with kernel, line of the text, block and thread:
 *
 *   - an access outside of all allocations, to one that was released, or misaligned;
 *   - the use of what was never written: a register, a word of shared, local or global
 *     memory. To pass such a value on is none; to use it as address, condition, operand
 *     of an atomic operation, or store it to global memory, is;
 *   - ld.global.nc of what the launch writes;
 *   - two accesses to a word of shared memory, one of them a store, by different warps
 *     with no barrier in between; by different threads of a warp with no barrier of the
 *     warp in between;
 *   - a barrier that a part of the block has not reached when the others have exited or
 *     wait elsewhere, or that others wait for;
 *   - an integer division by zero, or of the least integer by -1;
 *   - .ftz, .approx (unless allowed), and add, sub, mul, fma, div, sqrt, rcp of floats
 *     without a rounding;
 *   - a launch that makes no progress (blocks that wait for others which have not
 *     begun are given a chance: blocks start in random order).
 *
 * Memory is weak: plain stores of a block reach other blocks late and in any order,
 * unless a fence or a release of the GPU or the system comes in between; its own
 * threads see them at once. Strong and atomic accesses go to memory at once, but those
 * that are relaxed publish nothing else.
 *
 * Threads: modules and kernels are immutable once parsed, and may be launched by
 * several threads at once, with memory that they share or not.
 */
#ifndef CUDA_SIM_SIM_H
#define CUDA_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct SimModule SimModule;
typedef struct SimKernel SimKernel;
typedef struct SimMemory SimMemory;

enum { SIM_WARP = 32, SIM_MESSAGE = 400 };

/* ---- modules */

/** What a module may have that our own kernels must not: for PTX of others. */
typedef enum SimDialect {
    SIM_STRICT,
    SIM_FOREIGN /* .ftz and .approx, floats without rounding (they are not contracted),
                 * division by zero: what hardware does; ld.global.nc of what the
                 * thread writes afterwards */
} SimDialect;

/** Parse a module. NULL: 'error' says in which line, and why. */
SimModule *sim_parse(const char *text, SimDialect dialect, char error[SIM_MESSAGE]);
void sim_free(SimModule *module);
/** The .entry of this name; NULL. */
const SimKernel *sim_find(const SimModule *module, const char *name);
/** Number 'i' of its kernels, NULL behind the last. */
const SimKernel *sim_kernel_at(const SimModule *module, uint32_t i);
const char *sim_kernel_name(const SimKernel *kernel);
/** Where parameter 'i' of a kernel begins in SimLaunch.params, and its size in bytes.
 *  False: it has no such parameter. */
bool sim_kernel_param(const SimKernel *kernel, uint32_t i, uint32_t *offset,
                      uint32_t *bytes);
/** Address of a module's .global or .const variable for kernels; NULL. '*bytes' is its
 *  size. */
void *sim_find_variable(const SimModule *module, const char *name, size_t *bytes);

/* ---- memory */

/** Allocations, each with a state for every byte: written or not. Memory of the host is
 *  behind them, at the same addresses. */
SimMemory *sim_memory_new(void);
void sim_memory_delete(SimMemory *memory);
/** Memory of its own between others that nobody owns; aligned to 256 bytes, contents
 *  are arbitrary and count as unwritten. NULL: out of memory. Thread-safe, as are the
 *  following ones. */
void *sim_memory_get(SimMemory *memory, size_t bytes);
/** Give it back: using it from now on is a fault. False: there is no such one. */
bool sim_memory_put(SimMemory *memory, void *address);
/** The host has written these bytes (of an allocation), or has had them written. */
void sim_memory_written(SimMemory *memory, const void *address, size_t bytes);
/** The allocation that an address lies in: its first byte and size; NULL. */
void *sim_memory_find(SimMemory *memory, const void *address, size_t *bytes);

/* ---- launches */

typedef enum SimOrder {
    SIM_LOWEST_PC, /* of the lanes of a warp those go on that are farthest behind */
    SIM_RANDOM_PC  /* any group of those at one place */
} SimOrder;

typedef struct SimLaunch {
    const SimKernel *kernel;
    uint32_t grid[3], block[3]; /* 0 counts as 1 */
    uint32_t shared_bytes;      /* of .extern .shared arrays */
    const void *params;         /* the parameters one after the other, as the driver
                                 * takes them with CU_LAUNCH_PARAM_BUFFER_POINTER */
    size_t param_bytes;
    SimMemory *memory; /* NULL: any address of the host may be accessed; only what can
                        * be known of it is checked: alignment, the address
                        * sanitizer */
    SimOrder order;
    uint64_t seed;
    uint64_t step_limit;      /* warp instructions, 0: none; beyond is a fault */
    bool (*stop)(void *data); /* optional: asked now and then; true: leave, no fault */
    void *stop_data;
} SimLaunch;

typedef struct SimResult {
    uint64_t lane_steps, warp_steps; /* instructions */
    bool stopped;
    uint32_t line;             /* of the fault */
    char message[SIM_MESSAGE]; /* "" if there was none: kernel, line and the text of the
                                * instruction, block, thread, what is wrong */
} SimResult;

/** Run a launch to its end, or to its first fault: false. */
bool sim_run(const SimLaunch *launch, SimResult *result);

#endif

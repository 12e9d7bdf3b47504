/*
 * sim_memory.h -- allocations of a SimMemory, as a launch sees them
 */
#ifndef CUDA_SIM_SIM_MEMORY_H
#define CUDA_SIM_SIM_MEMORY_H

#include "sim.h"

/* An allocation outlives its release while a launch runs, so that it may be kept. */
typedef struct SimAllocation {
    uint8_t *begin;
    size_t bytes;
    void *block;                 /* that it lies in, with nobody's memory around it */
    uint8_t *written;            /* a bit for each byte; set by several threads */
    bool released;               /* written under the lock, read without */
    struct SimAllocation *later; /* among those that were released */
} SimAllocation;

/** The allocation that an address lies in, released or not; NULL. */
SimAllocation *memory_find(SimMemory *memory, uint64_t address);
bool memory_is_released(const SimAllocation *allocation);
/** Are all of up to eight bytes written? They do not cross a multiple of eight. */
bool memory_is_written(const SimAllocation *allocation, uint64_t address,
                       uint32_t bytes);
void memory_set_written(SimAllocation *allocation, uint64_t address, uint32_t bytes);
/** Between these two no allocation goes away. */
void memory_enter(SimMemory *memory);
void memory_leave(SimMemory *memory);

#endif

/*
 * ptx_usage.h -- what a kernel needs of a GPU, as the assembler of PTX says
 *
 * Registers of a thread bound how many threads a GPU runs at once; what does not fit
 * into them, and local arrays, are in its local memory, which is slow.
 */
#ifndef ENGINE_PTX_PTX_USAGE_H
#define ENGINE_PTX_PTX_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/** Of one thread. */
typedef struct PtxUsage {
    uint32_t registers;
    uint32_t stack;   /* bytes of local memory, what is spilled included */
    uint32_t spilled; /* bytes that are stored because registers are short */
} PtxUsage;

/** Read what 'ptxas -v' writes, or the driver's information log. False: it says nothing
 *  of registers. */
bool ptx_usage_read(const char *log, PtxUsage *usage);
/** Log it at level Info. */
void ptx_usage_log(const PtxUsage *usage, const char *kernel);

#endif

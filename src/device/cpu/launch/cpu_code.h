/*
 * cpu_code.h -- code that the CPU runs: what engines for it make
 *
 * CpuCode is the first member of an engine's own record.
 */
#ifndef DEVICE_CPU_LAUNCH_CPU_CODE_H
#define DEVICE_CPU_LAUNCH_CPU_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/interrupt.h"
#include "device/code.h"

/** What running it is expected to take, in picoseconds in one thread. Loops count as if
 *  they ran once. */
typedef struct CpuCost {
    uint64_t lane;  /* each */
    uint64_t block; /* for every CPU_BLOCK lanes that have begun, on top of that */
    bool loops;     /* so it can take any time */
} CpuCost;

/** Of the array whose address is an argument, lane l uses entry l / lanes and no other.
 *  'lanes' is 0 if that is not known, or if it is the argument 'by'. */
typedef struct CpuSpan {
    uint32_t word, lanes, by;
} CpuSpan;
enum { CPU_SPANS = 16 };
#define CPU_NO_WORD UINT32_MAX

/** Of other arguments nothing is known. */
typedef struct CpuSpans {
    CpuSpan list[CPU_SPANS];
    uint32_t count;
    bool full;
} CpuSpans;

enum {
    CPU_BLOCK = 512,  /* lanes */
    CPU_GRANULE = 64  /* blocks of lanes begin at multiples of it */
};

/* Where values are only reduced (Param.reduced), the address of their array may be that
 * of CPU_PARTIAL_BYTES of partial results instead, + CPU_PARTIALS: code that adds
 * (CpuCode.adds) combines the value of lane l with partial result l modulo their
 * number. There are whole multiples of that many lanes then. */
enum { CPU_PARTIALS = 1, CPU_PARTIAL_BYTES = 256 };
/* Of other outputs it may be the address + CPU_STREAMED, if the output is one of
 * CpuCode.streams and begins at a multiple of CPU_GRANULE bytes: it is written past the
 * caches. Who uses it in another thread needs Lanes.stream_end() in between. */
enum { CPU_STREAMED = 2, CPU_STREAMS = 64 };

typedef struct CpuCode CpuCode;
struct CpuCode {
    Code code;
    /** Compute lanes begin ... end-1 of a launch. 'args' has one 64-bit word for each
     *  parameter slot (addresses and value bits). 'worker' is distinct for everything
     *  that runs at the same time in a launch; 'scratch' points to memory of this
     *  worker (64-byte aligned, arbitrary contents), where code that needs a deep stack
     *  has it: those of threads may be small. Cannot fail. 'begin' is a multiple of
     *  CPU_GRANULE. Many at once. Leaves at the back edge of a loop when
     *  interrupt_requests() is not 'requests' any more. */
    void (*run)(const CpuCode *code, const uint64_t *args, uint32_t begin, uint32_t end,
                uint32_t worker, uint32_t requests, void *scratch);
    size_t scratch; /* bytes for each worker */
    bool adds;      /* knows CPU_PARTIALS, where reduce_rule_adds() */
    uint64_t streams; /* arguments, a bit each, that may be CPU_STREAMED */
    /* Picoseconds that an operation takes, about: for each lane, and once for every
     * CPU_BLOCK lanes on top of that. */
    uint16_t lane_ps, block_ps;
    CpuCost cost;   /* both are filled in by Device.describe() */
    CpuSpans spans;
};

/** Run code in the calling thread. */
static inline void cpu_code_run(const Code *code, const uint64_t *args, uint32_t begin,
                                uint32_t end, uint32_t worker, void *scratch)
{
    const CpuCode *cpu = (const CpuCode *) (const void *) code;
    cpu->run(cpu, args, begin, end, worker, interrupt_requests(), scratch);
}

static inline size_t cpu_code_scratch(const Code *code)
{
    return ((const CpuCode *) (const void *) code)->scratch;
}

#endif

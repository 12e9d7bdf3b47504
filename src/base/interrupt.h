/*
 * interrupt.h -- a request that running work should stop
 *
 * interrupt_raise() may be called from a signal handler. Work remembers the number of
 * requests when it was begun. If that has changed by the time it ends, it has failed:
 * so kernels may leave at the back edge of any loop where they see that, and a thread
 * that hands out blocks of lanes hands out no more.
 */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdatomic.h>
#include <stdint.h>

/** Requests so far. Generated code reads it at the address in an Interrupt. */
extern _Atomic uint32_t interrupt_count;

/** What generated code finds in its memory: it goes on while *count == requests. */
typedef struct Interrupt {
    const _Atomic uint32_t *count;
    uint32_t requests; /* when the work was submitted */
} Interrupt;

/** Ask all work that was begun so far to stop. Async-signal-safe. */
void interrupt_raise(void);

static inline uint32_t interrupt_requests(void)
{
    return atomic_load_explicit(&interrupt_count, memory_order_acquire);
}

#endif

/*
 * interrupt.h -- a request that running work should stop
 *
 * interrupt_raise() may be called from a signal handler. Kernels look at the word at
 * the back edges of loops, and whoever hands out blocks of lanes looks at it between
 * blocks: when it is not 0 they leave, and what they compute is garbage from then on.
 * So the word only saves time; what is right is decided by the count. Work remembers
 * the count from when it was decided on, and if it has changed by the time the work ends, the
 * work has failed.
 */
#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Not 0: leave. Generated code reads it, at this address. */
extern _Atomic uint32_t interrupt_word;
/** Requests so far. Raised before the word is. */
extern _Atomic uint32_t interrupt_count;

/** Ask all work that was begun so far to stop. Async-signal-safe. */
void interrupt_raise(void);
/** Work that was submitted after the last request is about to run. */
void interrupt_clear(void);

static inline bool interrupt_wanted(void)
{
    return atomic_load_explicit(&interrupt_word, memory_order_relaxed) != 0;
}

static inline uint32_t interrupt_requests(void)
{
    return atomic_load_explicit(&interrupt_count, memory_order_acquire);
}

#endif

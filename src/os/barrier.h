/*
 * barrier.h -- a memory barrier in all threads of the process
 *
 * It is expensive, so that what it pairs with costs nothing: threads that would need a
 * barrier at each step do without, and who rarely needs to know what they did calls
 * barrier_everywhere().
 */
#ifndef OS_BARRIER_H
#define OS_BARRIER_H

#include <stdbool.h>

/** Is there one? False: the system has nothing of the kind, or a tool watches that does
 *  not know it. */
bool barrier_is_known(void);
/** On return, each thread of the process has passed a full memory barrier. Does nothing
 *  where there is none. */
void barrier_everywhere(void);

#endif

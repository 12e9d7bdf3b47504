/*
 * threads.h -- what the library asks of threads beyond POSIX threads
 *
 * (Mutexes, conditions and fork handlers are those of pthread.h, everywhere.)
 */
#ifndef OS_THREADS_H
#define OS_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Start a thread that receives no signals, which are for the program's own threads.
 *  'stack': its size in bytes, 0 for the usual one. False, without an error recorded,
 *  if it cannot be had. A fallible step of the hostile build. */
bool threads_start(pthread_t *thread, size_t stack, void *(*run)(void *argument),
                   void *argument);
/** Give a thread a name of at most 15 characters, for tools that list threads. */
void threads_name(pthread_t thread, const char *name);
/** Let another thread have this CPU: the caller waits for something. */
void threads_yield(void);
/** The number by which tools know the calling thread. */
uint64_t threads_id(void);

#endif

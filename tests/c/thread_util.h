/*
 * thread_util.h -- what threads of tests expect
 *
 * cmocka's assertions belong to the main thread: others count what is wrong and say it.
 */
#ifndef THREAD_UTIL_H
#define THREAD_UTIL_H

#include <stdatomic.h>

#include "test_util.h"

static _Atomic uint32_t faults;

static void fault(const char *what, int line)
{
    atomic_fetch_add(&faults, 1);
    fprintf(stderr, "line %d: %s: %s\n", line, what, jit_error_message());
}
#define EXPECT(expression) ((expression) ? (void) 0 : fault(#expression, __LINE__))

#endif

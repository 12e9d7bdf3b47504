/*
 * barrier.c -- see barrier.h
 */
#include "os/barrier.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define WATCHED 1 /* by the thread sanitizer, which does not know membarrier */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WATCHED 1
#endif
#endif

#if defined(__linux__) && defined(__NR_membarrier) && !defined(WATCHED)
#include <linux/membarrier.h>
static long membarrier(int command) { return syscall(__NR_membarrier, command, 0, 0); }

bool barrier_is_known(void)
{
    const long wanted =
        MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    const long known = membarrier(MEMBARRIER_CMD_QUERY);
    return known >= 0 && (known & wanted) == wanted;
}

/* The process registers when a barrier is needed, which most never do: with several
 * threads, that takes the kernel a grace period, about ten milliseconds. If the kernel
 * lacks memory for it, there is the slow way. */
void barrier_everywhere(void)
{
    while ((membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0 ||
            membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0) &&
           membarrier(MEMBARRIER_CMD_SHARED) != 0)
        sched_yield();
}
#else
bool barrier_is_known(void) { return false; }
void barrier_everywhere(void) {}
#endif

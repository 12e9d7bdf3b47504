/*
 * barrier.c -- see barrier.h
 */
#include "os/barrier.h"

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
bool barrier_register(void)
{
    return syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ==
           0;
}
void barrier_everywhere(void)
{
    syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}
#else
bool barrier_register(void) { return false; }
void barrier_everywhere(void) {}
#endif

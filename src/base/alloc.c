/*
 * alloc.c -- malloc with a recorded error and injectable failure
 *
 * Everything is a thin wrapper of the C library, so alloc_free() can release what any
 * of the functions returned. In a hostile build (JIT_HOSTILE) each request first takes
 * one step of a process-wide counter and fails when the counter reaches the chosen
 * number.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum {
    ALLOC_ALIGNMENT = 64,
    SMALL = 1024, /* blocks that malloc() finds in the thread's cache; calloc() of the
                     GNU C library does not look there */
};

#if defined(JIT_HOSTILE)

/* The tests set these while the library is idle and only compare for equality, so
 * relaxed order is enough: exactly one thread sees its step equal to 'failing_step'. */
static _Atomic uint64_t failing_step;
static _Atomic uint64_t steps_taken;

/* Exported, since tests of the Python package see the shared library only. */
JIT_EXPORT void alloc_fail_at(uint64_t n)
{
    atomic_store_explicit(&steps_taken, 0, memory_order_relaxed);
    atomic_store_explicit(&failing_step, n, memory_order_relaxed);
}

JIT_EXPORT uint64_t alloc_steps(void)
{
    return atomic_load_explicit(&steps_taken, memory_order_relaxed);
}

bool alloc_fault(void)
{
    uint64_t before = atomic_fetch_add_explicit(&steps_taken, 1, memory_order_relaxed);
    return before + 1 == atomic_load_explicit(&failing_step, memory_order_relaxed);
}

#else

void alloc_fail_at(uint64_t n)
{
    (void) n;
}

uint64_t alloc_steps(void)
{
    return 0;
}

bool alloc_fault(void)
{
    return false;
}

#endif

static void *fail(size_t size)
{
    error_set(JIT_ERROR_MEMORY, "out of memory: a request for %zu bytes failed", size);
    return NULL;
}

void *alloc_get(size_t size)
{
    void *ptr = alloc_fault() ? NULL : malloc(size ? size : 1);
    return ptr ? ptr : fail(size);
}

void *alloc_zero(size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        return fail(SIZE_MAX);
    if (total <= SMALL) {
        void *small = alloc_get(total);
        return small ? memset(small, 0, total) : NULL;
    }
    void *ptr = alloc_fault() ? NULL : calloc(1, total);
    return ptr ? ptr : fail(total);
}

void *alloc_resize(void *ptr, size_t size)
{
    void *result = alloc_fault() ? NULL : realloc(ptr, size ? size : 1);
    return result ? result : fail(size);
}

void *alloc_aligned(size_t size)
{
    void *ptr = NULL;
    if (alloc_fault() || posix_memalign(&ptr, ALLOC_ALIGNMENT, size ? size : 1) != 0)
        return fail(size);
    return ptr;
}

char *alloc_string(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = alloc_get(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void alloc_free(void *ptr)
{
    free(ptr);
}

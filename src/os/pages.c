/*
 * pages.c -- see pages.h
 */
#include "os/pages.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/error.h"

enum { PAGE = 4096, LARGEST_PAGE = 1 << 16, WORTH_TOUCHING = 1 << 16 };

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static size_t round_to_pages(size_t size)
{
    return (size + LARGEST_PAGE - 1) / LARGEST_PAGE * LARGEST_PAGE;
}

void *pages_get(size_t size, size_t alignment)
{
    size_t kept = round_to_pages(size);
    size_t total = kept + alignment; /* more than needed, on both sides */
    char *block = alloc_fault() ? MAP_FAILED
                                : mmap(NULL, total, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        error_set(JIT_ERROR_MEMORY, "out of memory: a request for %zu bytes failed",
                  size);
        return NULL;
    }
    size_t before = -(uintptr_t) block & (alignment - 1);
    if (before)
        (void) munmap(block, before);
    if (before < alignment)
        (void) munmap(block + before + kept, alignment - before);
    return block + before;
}

void pages_release(void *ptr, size_t size)
{
    (void) munmap(ptr, round_to_pages(size));
}

void pages_prefer_large(void *ptr, size_t size)
{
    (void) madvise(ptr, size, MADV_HUGEPAGE);
}

void pages_touch(void *ptr, size_t size)
{
    static atomic_bool unknown; /* to systems before Linux 5.14 */
    if (size < WORTH_TOUCHING || atomic_load_explicit(&unknown, memory_order_relaxed))
        return;
    uintptr_t begin = ((uintptr_t) ptr + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t) ptr + size) / PAGE * PAGE;
    if (madvise((void *) begin, end - begin, MADV_POPULATE_WRITE) != 0 &&
        errno == EINVAL)
        atomic_store_explicit(&unknown, true, memory_order_relaxed);
}

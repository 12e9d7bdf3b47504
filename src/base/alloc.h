/*
 * alloc.h -- the library's only door to malloc
 *
 * All memory of the library comes from here, or from the system by the page
 * (os/pages.h, os/code_pages.h). The hostile build makes the n-th request fail
 * (alloc_fail_at), so every caller handles NULL; on failure the functions record
 * JIT_ERROR_MEMORY for the calling thread.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** 'size' bytes, uninitialised. NULL (error recorded) on failure; size 0 gives a
 *  pointer. */
void *alloc_get(size_t size);
/** 'count' * 'size' bytes set to zero; the product is checked. */
void *alloc_zero(size_t count, size_t size);
/** Grow or shrink; on failure NULL is returned and 'ptr' stays valid. */
void *alloc_resize(void *ptr, size_t size);
/** 'size' bytes aligned to 64. Released by alloc_free() too. */
void *alloc_aligned(size_t size);
/** A copy of a string. */
char *alloc_string(const char *text);
/** Release; NULL is fine. */
void alloc_free(void *ptr);

/** Does the address sanitizer see where blocks of the C library end? */
#if defined(__SANITIZE_ADDRESS__)
#  define ALLOC_WATCHED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define ALLOC_WATCHED 1
#  endif
#endif
#ifndef ALLOC_WATCHED
#  define ALLOC_WATCHED 0
#endif

/** Hostile tests: let the n-th fallible step from now on (1 = the next) fail, 0 = none.
 *  The counter is shared by allocations, file operations and loader calls (see
 *  alloc_fault). */
void alloc_fail_at(uint64_t n);
/** Fallible steps taken since the last alloc_fail_at(). */
uint64_t alloc_steps(void);
/** Count one fallible step; true if it is the one that has to fail. For use by
 *  src/os and loaders. Compiles to 'false' unless built with JIT_HOSTILE. */
bool alloc_fault(void);

#endif

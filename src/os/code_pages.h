/*
 * code_pages.h -- memory for machine code
 *
 * No page is ever writable and executable at once. There are two ways to have it:
 *
 *  - pages for one piece of code, which are writable first and executable then;
 *  - a window: pages that are executable, and whose content is written somewhere else,
 *    one piece after the other. Not every system has these.
 *
 * Code that is about to run for the first time is made known to the CPU by the caller
 * (__builtin___clear_cache). Thread-safe, but for two calls about one window.
 */
#ifndef OS_CODE_PAGES_H
#define OS_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Writable pages for 'size' bytes, all 0. NULL: JIT_ERROR_MEMORY if there is no memory
 *  left, JIT_ERROR_SYSTEM if the system refuses it. This and the next are fallible
 *  steps of the hostile build. */
void *code_pages_get(size_t size);
/** From now on they can be executed, and not be written. False: JIT_ERROR_SYSTEM. */
bool code_pages_seal(void *pages, size_t size);
/** Give back what code_pages_get() or a window has for 'size' bytes. */
void code_pages_release(void *pages, size_t size);

typedef struct CodeWindow {
    uint8_t *code; /* executable; stays when the window is closed */
    size_t size;
    /* Where it is written, and what that is known by. */
    int file;
    uint64_t device, number;
} CodeWindow;

/** Make a window of 'size' bytes, a multiple of 64 KiB. False, without an error
 *  recorded, if that cannot be had. A fallible step. */
bool code_pages_open(CodeWindow *window, size_t size);
/** Can it still be written? Programs that close files which are not theirs exist. */
bool code_pages_is_open(const CodeWindow *window);
/** Write this many bytes, within the window. False, without an error recorded, if the
 *  system refuses. */
bool code_pages_write(const CodeWindow *window, size_t offset, const void *bytes,
                      size_t size);
/** Nothing more will be written. */
void code_pages_close(const CodeWindow *window);

#endif

/*
 * text.h -- text builder
 *
 * Append as much as you like and test once at the end: after a failed allocation the
 * builder stays empty-handed and text_get() returns NULL.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drjit-core/jit.h"

typedef struct Text {
    char *data;
    size_t size, capacity; /* size without the final 0 */
    bool failed;
} Text;

/** A zeroed Text is a valid empty one. */
void text_put(Text *text, const char *string);
void text_put_n(Text *text, const char *string, size_t size);
void text_put_char(Text *text, char c);
void text_put_u64(Text *text, uint64_t value);
void text_put_i64(Text *text, int64_t value);
/** 16 hexadecimal digits. */
void text_put_hex64(Text *text, uint64_t value);
void text_putf(Text *text, const char *format, ...) JIT_PRINTF(2, 3);
void text_vputf(Text *text, const char *format, va_list args);
/** The text so far, 0-terminated ("" if empty), owned by the builder; NULL (error
 *  recorded) if memory ran out on the way. */
const char *text_get(Text *text);
/** Hand the string to the caller (alloc_free) and empty the builder; NULL on
 *  failure. */
char *text_take(Text *text);
void text_clear(Text *text);
void text_free(Text *text);

/** Human-readable quantities, for logs: "2.98 KiB", "33.417 ms" (input in seconds). */
void text_put_bytes(Text *text, uint64_t bytes);
void text_put_seconds(Text *text, double seconds);

#endif

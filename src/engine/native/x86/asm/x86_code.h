/*
 * x86_code.h -- the buffer that code grows in, for the encoder
 *
 * Words are stored whole, past the end of what counts: behind 'limit' there are bytes
 * for a few instructions more, so one question per instruction is enough.
 */
#ifndef ENGINE_NATIVE_X86_ASM_X86_CODE_H
#define ENGINE_NATIVE_X86_ASM_X86_CODE_H

#include <string.h>

#include "engine/native/x86/asm/x86.h"

/** There is no room: after a failure write over the same bytes from now on, else make
 *  room for 'size' bytes and a few instructions more. */
void x86_grow(X86 *x, size_t size);

/** Write the field of 1 or 4 bytes at 'at', which refers to 'label'. */
void x86_refer(X86 *x, uint8_t *at, X86Label label, int32_t addend, uint32_t size);

static inline void x86_put16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void x86_put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void x86_put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}
#endif

/*
 * native_engine.h -- machine code by our own generator, made in microseconds
 */
#ifndef ENGINE_NATIVE_NATIVE_ENGINE_H
#define ENGINE_NATIVE_NATIVE_ENGINE_H

#include "engine/engine.h"
#include "engine/native/run/native_launch.h"

extern const Engine native_engine;

/** What code consists of, to be written into another program: it has no addresses. */
typedef struct NativeParts {
    const NativeCode *code;
    const void *bytes; /* machine code; its entry is the first one */
    size_t size, pool_size;
    uint32_t step_count;
    const char *target; /* "avx2", "avx512" */
    uint32_t extensions; /* of the CPU that it uses beyond these (base/isa.h) */
} NativeParts;

/** The parts of code, which keeps them; false if another engine has made it. */
bool native_parts(const Code *code, NativeParts *parts);

#endif

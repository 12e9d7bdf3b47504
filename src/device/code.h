/*
 * code.h -- machine code of a kernel, as devices and kernels share it
 *
 * An engine makes it, a kernel keeps it, and each launch that has not ended holds a
 * reference. What is in it is known to the engine and to the device that runs it, which
 * have the same CodeKind: struct Code is the first member of their own struct.
 */
#ifndef DEVICE_CODE_H
#define DEVICE_CODE_H

#include <stdatomic.h>
#include <stdint.h>

/** What a device runs and an engine makes. */
typedef enum CodeKind {
    CODE_CPU /* a function of this process (device/cpu/launch/cpu_code.h) */
} CodeKind;

typedef struct Code Code;
struct Code {
    _Atomic uint32_t refs;
    void (*release)(Code *code); /* frees it; no launch of it is running */
    uint64_t name; /* of its kernel, as in logs, for profiles; 0: none */
};

static inline Code *code_retain(Code *code)
{
    atomic_fetch_add_explicit(&code->refs, 1, memory_order_relaxed);
    return code;
}

static inline void code_release(Code *code)
{
    if (code && atomic_fetch_sub_explicit(&code->refs, 1, memory_order_acq_rel) == 1)
        code->release(code);
}

#endif

/*
 * x86_native.h -- x86-64 for the native engine: the context of a compile, registers
 * with a fixed meaning, hooks
 */
#ifndef ENGINE_NATIVE_X86_X86_NATIVE_H
#define ENGINE_NATIVE_X86_X86_NATIVE_H

#include "engine/native/plan/native_emit.h"
#include "engine/native/x86/asm/x86.h"

/** What the plan knows is behind the rest. */
typedef struct X86Native {
    X86Listing listing;
    X86 x;
    Native native;
} X86Native;

/** The assembler of the compile. */
static inline X86 *x86_native(Native *n)
{
    return (X86 *) (void *) ((char *) n - offsetof(X86Native, native) +
                             offsetof(X86Native, x));
}

/** Registers with a fixed meaning (x86_frame.c). */
enum {
    X86_LANE = X86_RBX, /* first lane of the packet */
    X86_ARGS = X86_R12,
    X86_SLOTS = X86_R13, /* see native_frame.h */
    X86_POOL = X86_R14,
    X86_END = X86_R15,
    X86_INPUTS = X86_RBP, /* callables: their inputs */
    X86_AREA = X86_RDI    /* calls of them: the area */
};

/** NativeTarget.slot_bias and pool_bias: the middle of what 8 bits reach, in bytes, and
 *  in units of the operand (EVEX). */
enum { X86_BIAS_BYTES = 128, X86_BIAS_SLOTS = 64 * 64, X86_BIAS_POOL = 128 * 4 };

extern const NativeCpu x86_cpu;

/* ---- hooks of x86_cpu, as NativeCpu says */

void x86_frame_choose(Native *n);
void x86_frame_hoist(Native *n);
void x86_frame_enter(Native *n);
void x86_frame_leave(Native *n);
void x86_frame_next_packet(Native *n, NativeLabel top);
void x86_frame_loop_back(Native *n, NativeLabel top);
void x86_frame_count(Native *n, uint32_t most);
void x86_frame_count_back(Native *n, NativeLabel top);
void x86_frame_count_end(Native *n);
/** In such a loop, before a call of C and x86_frame_hoist(). */
void x86_frame_keep_count(Native *n);

void x86_call_prefetch_scatter(Native *n, NativeOperand indices);
void x86_call_prefetch_packets(Native *n, NativeOperand indices, uint32_t bytes);
void x86_call_begin(Native *n, uint32_t distance);
void x86_call_step(Native *n);
void x86_call_enter_callable(Native *n, NativeLabel entry);
void x86_call_leave_callable(Native *n);
void x86_call_note_lanes(Native *n, NativeReg mask, NativeLabel done);
NativeOperand x86_call_note_number(Native *n, NativeOperand numbers);
void x86_call_check_number(Native *n, uint32_t count, NativeLabel others);
void x86_call_number(Native *n, NativeLabel table);
void x86_call_entry(Native *n, NativeLabel entry);
void x86_call_begin_table(Native *n, NativeLabel table);
void x86_call_add_entry(Native *n, NativeLabel entry, NativeLabel table);

#endif

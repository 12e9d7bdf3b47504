/*
 * x86_text.h -- instructions as text
 *
 * Intel syntax as the Zydis disassembler writes it. The functions are called by x86.c
 * right before it writes an instruction, when a listing is attached.
 */
#ifndef ENGINE_NATIVE_X86_ASM_X86_TEXT_H
#define ENGINE_NATIVE_X86_ASM_X86_TEXT_H

#include "engine/native/x86/asm/x86.h"

/** Names of the conditional jumps. */
extern const char *const x86_jcc_names[16];

/** Append a line to the listing of 'x', at the current position. 'mem' is NULL or the
 *  memory operand. */
void x86_list(X86 *x, X86Form form, uint32_t regs, const X86Mem *mem, int32_t imm);
void x86_list_mov(X86 *x, int reg, uint64_t value);
void x86_list_jump(X86 *x, const char *name, X86Label label);
void x86_list_label(X86 *x, X86Label label);
void x86_list_nop(X86 *x);

#endif

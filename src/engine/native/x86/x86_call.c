/*
 * x86_call.c -- calls on x86-64: of C, of callables; what is fetched before
 *
 *     C            rdi  a LaneStep    rsi  the LaneFrame
 *     callables    rdi  the area, before and after; rbp in the callable
 *                  rax  lanes that are left, a bit each
 *                  rcx  the first one of them
 *                  edx  its number, 1 less from check_number() on
 */
#include "engine/native/x86/forms.h"

/* ---- of C */

void x86_call_begin(Native *n, uint32_t distance)
{
    X86 *x = x86_native(n);
    x86_rm(x, X86_MOV | X86_W, X86_RDI,
           forms_mem(native_memory_frame(n, offsetof(NativeFrame, steps))));
    x86_rm(x, X86_LEA | X86_W, X86_RSI,
           forms_mem(native_memory_frame(n, offsetof(NativeFrame, lanes))));
    if (distance)
        x86_ri(x, X86_ADD_I | X86_W, X86_RDI, (int32_t) distance);
}

void x86_call_step(Native *n)
{
    x86_frame_keep_count(n);
    x86_m(x86_native(n), X86_CALL_R, x86_at(X86_RDI, 0));
}

/* ---- of callables */

void x86_call_enter_callable(Native *n, NativeLabel entry)
{
    X86 *x = x86_native(n);
    x86_align(x, 16);
    x86_bind(x, entry);
    x86_r(x, X86_PUSH, X86_INPUTS);
    x86_rr(x, X86_MOV | X86_W, X86_INPUTS, X86_AREA);
}

void x86_call_leave_callable(Native *n)
{
    X86 *x = x86_native(n);
    x86_rr(x, X86_MOV | X86_W, X86_AREA, X86_INPUTS);
    x86_r(x, X86_POP, X86_INPUTS);
    x86_0(x, X86_RET);
}

void x86_call_note_lanes(Native *n, NativeReg mask, NativeLabel done)
{
    X86 *x = x86_native(n);
    forms_target(n)->mask_to_general(n, X86_RAX, mask, 32);
    x86_rr(x, X86_TEST, X86_RAX, X86_RAX);
    x86_jcc(x, X86_CC_E, done);
}

NativeOperand x86_call_note_number(Native *n, NativeOperand numbers)
{
    X86 *x = x86_native(n);
    numbers.index = X86_RCX;
    numbers.shift = 2;
    x86_rr(x, X86_TZCNT, X86_RCX, X86_RAX);
    x86_rm(x, X86_MOV, X86_RDX, forms_mem(numbers));
    return numbers;
}

void x86_call_check_number(Native *n, uint32_t count, NativeLabel others)
{
    X86 *x = x86_native(n);
    x86_ri(x, X86_SUB_I, X86_RDX, 1);
    x86_ri(x, X86_CMP_I, X86_RDX, (int32_t) count);
    x86_jcc(x, X86_CC_AE, others);
}

void x86_call_number(Native *n, NativeLabel table)
{
    X86 *x = x86_native(n);
    x86_rm(x, X86_LEA | X86_W, X86_RSI, x86_at_label(table, 0));
    x86_rm(x, X86_MOVSXD, X86_RDX, x86_at_index(X86_RSI, X86_RDX, 2, 0));
    x86_rr(x, X86_ADD | X86_W, X86_RDX, X86_RSI);
    x86_r(x, X86_CALL_R, X86_RDX);
}

void x86_call_entry(Native *n, NativeLabel entry)
{
    x86_call(x86_native(n), entry);
}

void x86_call_begin_table(Native *n, NativeLabel table)
{
    x86_align_data(x86_native(n), 4);
    x86_bind(x86_native(n), table);
}

void x86_call_add_entry(Native *n, NativeLabel entry, NativeLabel table)
{
    x86_distance(x86_native(n), entry, table);
}

/* ---- scatters: each update of an entry waits for its cache line if nobody has asked
 * for that before. The packet after the next is asked for if its indices are in an
 * array, else the current one. */

/* Indices of the packet after the next, or the current ones again if that is beyond the
 * end; 'value' is that of the latter, an input. */
static X86Mem indices_ahead(Native *n, uint32_t value)
{
    X86 *x = x86_native(n);
    NativeReg lane = native_temp_general(n);
    NativeReg array = native_memory_address(n, n->f->program->insts[value].aux);
    x86_rm(x, X86_LEA | X86_W, lane, x86_at(X86_LANE, (int32_t) (2 * n->lanes)));
    x86_rr(x, X86_CMP | X86_W, lane, X86_END);
    x86_rr(x, X86_CMOVCC | X86_CC(X86_CC_AE) | X86_W, lane, X86_LANE);
    return x86_at_index(array, lane, 2, 0);
}

void x86_call_prefetch_scatter(Native *n, NativeOperand indices)
{
    X86 *x = x86_native(n);
    uint32_t value = n->f->root[n->args[2]];
    int shift = __builtin_ctz(type_info[native_type(n, 1)].size);
    NativeReg base = native_use_address(n, 0), entry = native_temp_general(n);
    X86Mem index = forms_mem(indices);
    if (n->f->values[value].source == NATIVE_INPUT)
        index = indices_ahead(n, value);
    for (uint32_t i = 0; i < n->lanes; ++i, index.disp += 4) {
        x86_rm(x, X86_MOV, entry, index);
        x86_m(x, X86_PREFETCHW, x86_at_index(base, entry, shift, 0));
    }
    native_alloc_unpin(n);
}

void x86_call_prefetch_packets(Native *n, NativeOperand indices, uint32_t bytes)
{
    X86 *x = x86_native(n);
    int32_t size = (int32_t) bytes;
    uint32_t value = n->f->root[n->args[1]];
    NativeReg base = native_use_address(n, 0), place = native_temp_general(n);
    X86Mem index = forms_mem(indices);
    if (n->f->values[value].source == NATIVE_INPUT)
        index = indices_ahead(n, value);
    else
        x86_mr(x, X86_VMOVUPS_ST | forms_length(n, VarTypeUInt32), index,
               native_use(n, 1));
    for (uint32_t i = 0; i < n->lanes; ++i, index.disp += 4) {
        x86_rm(x, X86_MOV, place, index);
        x86_rri(x, X86_IMUL_I | X86_W, place, place, size);
        x86_m(x, X86_PREFETCHW, x86_at_index(base, place, 0, 0));
        if (size & (size - 1)) /* it may begin in one line and end in the next */
            x86_m(x, X86_PREFETCHW, x86_at_index(base, place, 0, size - 1));
    }
    native_alloc_unpin(n);
}

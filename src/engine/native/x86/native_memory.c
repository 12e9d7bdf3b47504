/*
 * native_memory.c -- the frame of a kernel on x86-64
 *
 *     rbx  first lane of the packet    rax, rcx, rdx, rsi  temporaries
 *     r12  arguments of the launch     r8-r10  addresses of arrays
 *     r13  spill slots                 r11     one more; with loops: iterations to go
 *     r14  constants                           until the next look at the interrupt,
 *                                              or to the end of an innermost loop
 *     r15  end                         rbp     one more; with callables: their inputs
 *                                      rdi     a temporary; or the last address, if
 *                                              then all are in registers
 *
 * r13 and r14 point into the middle of what an 8-bit displacement can reach: 128 bytes
 * behind the begin, or 64 vectors and 128 small constants where displacements count in
 * units of the operand (EVEX). Spill slots have the size of a whole vector register.
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

enum { BIAS_BYTES = 128, BIAS_SLOTS = 4096, BIAS_POOL = 512 };

static const uint8_t saved[] = { X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15 };
enum { SAVED = sizeof saved };

/* Where loops count down. */
enum { ITERATIONS = X86_R11, MOST_ITERATIONS = 64 };

static int32_t slot_bias(const Native *n)
{
    return n->target->broadcasts ? BIAS_SLOTS : BIAS_BYTES;
}

static int32_t pool_bias(const Native *n)
{
    return n->target->broadcasts ? BIAS_POOL : BIAS_BYTES;
}

/* ---- places */

NativeOperand native_memory_slot(const Native *n, uint32_t slot)
{
    return native_at(NATIVE_SLOTS,
                     (int32_t) (slot * n->copies * n->target->vector_bytes) -
                         slot_bias(n));
}

NativeOperand native_memory_frame(const Native *n, size_t offset)
{
    return native_at(NATIVE_SLOTS,
                     (int32_t) offset - (int32_t) sizeof(NativeFrame) - slot_bias(n));
}

static X86Mem frame_at(const Native *n, size_t offset)
{
    return forms_mem(native_memory_frame(n, offset));
}

NativeOperand native_memory_pool(const Native *n, uint32_t place)
{
    return native_at(NATIVE_POOL, (int32_t) place - pool_bias(n));
}

NativeReg native_memory_address(Native *n, uint32_t slot)
{
    for (uint32_t i = 0; i < n->hoisted_count; ++i)
        if (n->hoisted[i] == slot)
            return n->addresses[i];
    NativeReg to = native_temp_general(n);
    x86_rm(&n->x, X86_MOV | X86_W, to, x86_at(NATIVE_ARGS, (int32_t) slot * 8));
    return to;
}

NativeOperand native_memory_array(Native *n, uint32_t slot, VarType type)
{
    NativeOperand place = native_at(native_memory_address(n, slot), 0);
    place.index = NATIVE_LANE;
    place.shift = (uint8_t) __builtin_ctz(type_info[type].size);
    return place;
}

/* ---- moves */

static X86Form vector_form(X86Op op, uint32_t bytes)
{
    return op | X86_LENGTH(bytes >> 5);
}

void native_memory_move(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                        NativeReg from)
{
    X86Form form = class == NATIVE_MASK ? X86_KMOVW : vector_form(X86_VMOVAPS, bytes);
    x86_rr(&n->x, form, to, from);
}

void native_memory_spill(Native *n, NativeClass class, uint32_t bytes, NativeOperand to,
                         NativeReg from)
{
    X86Form form =
        class == NATIVE_MASK ? X86_KMOVW_ST : vector_form(X86_VMOVUPS_ST, bytes);
    x86_mr(&n->x, form, forms_mem(to), from);
}

void native_memory_reload(Native *n, NativeClass class, uint32_t bytes, NativeReg to,
                          NativeOperand from)
{
    X86Form form = class == NATIVE_MASK ? X86_KMOVW : vector_form(X86_VMOVUPS, bytes);
    x86_rm(&n->x, form, to, forms_mem(from));
}

/* ---- what is needed later */

X86Mem native_memory_ahead(Native *n, uint32_t value, uint32_t lanes)
{
    X86 *x = &n->x;
    NativeReg lane = native_temp_general(n);
    NativeReg array = native_memory_address(n, n->f->program->insts[value].aux);
    x86_rm(x, X86_LEA | X86_W, lane, x86_at(NATIVE_LANE, (int32_t) lanes));
    x86_rr(x, X86_CMP | X86_W, lane, NATIVE_END);
    x86_rr(x, X86_CMOVCC | X86_CC(X86_CC_AE) | X86_W, lane, NATIVE_LANE);
    return x86_at_index(array, lane, 2, 0);
}

/* ---- frame */

void native_memory_choose(Native *n)
{
    uint32_t most = 0;
    n->addresses[most++] = X86_R8;
    n->addresses[most++] = X86_R9;
    n->addresses[most++] = X86_R10;
    if (!n->may_last)
        n->addresses[most++] = X86_R11;
    if (!n->root_program->callable_count) {
        n->addresses[most++] = X86_RBP;
        if (n->hoisted_all && n->hoisted_count == most + 1) {
            n->addresses[most++] = X86_RDI;
            n->general_free &= ~(1u << X86_RDI);
        }
    }
    if (n->hoisted_count > most)
        n->hoisted_count = most;
}

void native_memory_hoist(Native *n)
{
    for (uint32_t i = 0; i < n->hoisted_count; ++i)
        x86_rm(&n->x, X86_MOV | X86_W, n->addresses[i],
               x86_at(NATIVE_ARGS, (int32_t) n->hoisted[i] * 8));
    if (n->counts)
        x86_rm(&n->x, X86_MOV, ITERATIONS, frame_at(n, offsetof(NativeFrame, kept)));
    else if (n->may_last) /* what was called may have taken long */
        x86_mov_imm(&n->x, ITERATIONS, 1);
}

/* begin, end, args, frame, pool: rdi, rsi, rdx, rcx, r8. */
void native_memory_enter(Native *n)
{
    X86 *x = &n->x;
    for (uint32_t i = 0; i < SAVED; ++i)
        x86_r(x, X86_PUSH, saved[i]);
    x86_ri(x, X86_SUB_I | X86_W, X86_RSP, 8); /* aligned to 16 from here on */
    x86_rr(x, X86_MOV, NATIVE_LANE, X86_RDI);
    x86_rr(x, X86_MOV, NATIVE_END, X86_RSI);
    x86_rr(x, X86_MOV | X86_W, NATIVE_ARGS, X86_RDX);
    x86_rm(x, X86_LEA | X86_W, NATIVE_SLOTS,
           x86_at(X86_RCX, (int32_t) sizeof(NativeFrame) + slot_bias(n)));
    x86_rm(x, X86_LEA | X86_W, NATIVE_POOL, x86_at(X86_R8, pool_bias(n)));
    native_memory_hoist(n);
    if (!n->may_last)
        return;
    n->left = x86_label(x);
    x86_mr(x, X86_MOV_ST | X86_W, frame_at(n, offsetof(NativeFrame, stack)), X86_RSP);
}

void native_memory_loop(Native *n, X86Label top)
{
    x86_ri(&n->x, X86_ADD_I | X86_W, NATIVE_LANE, (int32_t) (n->copies * n->lanes));
    x86_rr(&n->x, X86_CMP | X86_W, NATIVE_LANE, NATIVE_END);
    x86_jcc(&n->x, X86_CC_B, top);
}

/* To 'top' while the register counts; else compare the numbers of requests to stop. */
static void count_down(Native *n, X86Label top)
{
    X86 *x = &n->x;
    size_t place = offsetof(NativeFrame, interrupt);
    NativeReg count = native_temp_general(n);
    x86_ri(x, X86_SUB_I, ITERATIONS, 1); /* with the jump, one operation of the CPU */
    x86_jcc(x, X86_CC_NE, top);
    x86_mov_imm(x, ITERATIONS, MOST_ITERATIONS);
    x86_rm(x, X86_MOV | X86_W, count, frame_at(n, place + offsetof(Interrupt, count)));
    x86_rm(x, X86_MOV, count, x86_at(count, 0));
    x86_rm(x, X86_CMP, count, frame_at(n, place + offsetof(Interrupt, requests)));
}

void native_memory_loop_back(Native *n, X86Label top)
{
    count_down(n, top);
    x86_jcc(&n->x, X86_CC_E, top);
    x86_jmp(&n->x, n->left);
    native_alloc_unpin(n);
}

/* ---- loops that count their iterations, up to MOST_ITERATIONS at a time */

void native_memory_count(Native *n, uint32_t most)
{
    X86 *x = &n->x;
    uint32_t now = most < MOST_ITERATIONS ? most : MOST_ITERATIONS;
    NativeReg left = native_temp_general(n);
    x86_mr(x, X86_MOV_ST, frame_at(n, offsetof(NativeFrame, outer)), ITERATIONS);
    x86_mov_imm(x, left, most - now);
    x86_mr(x, X86_MOV_ST, frame_at(n, offsetof(NativeFrame, left)), left);
    x86_mov_imm(x, ITERATIONS, now);
    native_alloc_unpin(n);
}

void native_memory_count_back(Native *n, X86Label top)
{
    X86 *x = &n->x;
    count_down(n, top);
    x86_jcc(x, X86_CC_NE, n->left);
    NativeReg left = native_temp_general(n);
    X86Mem place = frame_at(n, offsetof(NativeFrame, left));
    x86_rm(x, X86_MOV, left, place);
    x86_rr(x, X86_CMP, left, ITERATIONS);
    x86_rr(x, X86_CMOVCC | X86_CC(X86_CC_B), ITERATIONS, left);
    x86_rr(x, X86_SUB, left, ITERATIONS);
    x86_mr(x, X86_MOV_ST, place, left);
    x86_rr(x, X86_TEST, ITERATIONS, ITERATIONS);
    x86_jcc(x, X86_CC_NE, top);
    native_alloc_unpin(n);
}

void native_memory_count_end(Native *n)
{
    x86_rm(&n->x, X86_MOV, ITERATIONS, frame_at(n, offsetof(NativeFrame, outer)));
}

void native_memory_keep_count(Native *n)
{
    if (n->counts)
        x86_mr(&n->x, X86_MOV_ST, frame_at(n, offsetof(NativeFrame, kept)), ITERATIONS);
}

void native_memory_clear(Native *n, uint32_t slot)
{
    enum { WORD = 8 };
    X86Mem place = forms_mem(native_memory_slot(n, slot));
    NativeReg zero = native_temp_general(n);
    x86_mov_imm(&n->x, zero, 0);
    for (uint32_t i = 0; i < n->copies * n->target->vector_bytes; i += WORD) {
        x86_mr(&n->x, X86_MOV_ST | X86_W, place, zero);
        place.disp += WORD;
    }
    native_alloc_unpin(n);
}

void native_memory_leave(Native *n)
{
    X86 *x = &n->x;
    if (n->may_last) {
        x86_bind(x, n->left);
        x86_rm(x, X86_MOV | X86_W, X86_RSP, frame_at(n, offsetof(NativeFrame, stack)));
    }
    x86_0(x, X86_VZEROUPPER);
    x86_ri(x, X86_ADD_I | X86_W, X86_RSP, 8);
    for (uint32_t i = SAVED; i-- > 0;)
        x86_r(x, X86_POP, saved[i]);
    x86_0(x, X86_RET);
}

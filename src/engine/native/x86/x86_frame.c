/*
 * x86_frame.c -- the frame of a kernel on x86-64
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

static const uint8_t saved[] = { X86_RBX, X86_RBP, X86_R12, X86_R13, X86_R14, X86_R15 };
enum { SAVED = sizeof saved };

/* Where loops count down. */
enum { ITERATIONS = X86_R11, MOST_ITERATIONS = 64 };

static X86Mem frame_at(const Native *n, size_t offset)
{
    return forms_mem(native_memory_frame(n, offset));
}

void x86_frame_choose(Native *n)
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

void x86_frame_hoist(Native *n)
{
    X86 *x = x86_native(n);
    for (uint32_t i = 0; i < n->hoisted_count; ++i)
        x86_rm(x, X86_MOV | X86_W, n->addresses[i],
               x86_at(X86_ARGS, (int32_t) n->hoisted[i] * 8));
    if (n->counts)
        x86_rm(x, X86_MOV, ITERATIONS, frame_at(n, offsetof(NativeFrame, kept)));
    else if (n->may_last) /* what was called may have taken long */
        x86_mov_imm(x, ITERATIONS, 1);
}

static void begin_copies(Native *n)
{
    uint32_t vectors = native_alloc_share(n, NATIVE_VECTOR);
    uint32_t masks = native_alloc_share(n, NATIVE_MASK);
    x86_native(n)->copies =
        (X86Copies){ .count = n->copies,
                     .vectors = (uint8_t) __builtin_popcount(vectors),
                     .masks = (uint8_t) __builtin_popcount(masks),
                     .index = X86_LANE,
                     .index_step = (int32_t) n->lanes,
                     .base = X86_SLOTS,
                     .base_step = (int32_t) n->target->vector_bytes,
                     .refused = &n->refused };
}

/* begin, end, args, frame, pool: rdi, rsi, rdx, rcx, r8. */
void x86_frame_enter(Native *n)
{
    X86 *x = x86_native(n);
    for (uint32_t i = 0; i < SAVED; ++i)
        x86_r(x, X86_PUSH, saved[i]);
    x86_ri(x, X86_SUB_I | X86_W, X86_RSP, 8); /* aligned to 16 from here on */
    x86_rr(x, X86_MOV, X86_LANE, X86_RDI);
    x86_rr(x, X86_MOV, X86_END, X86_RSI);
    x86_rr(x, X86_MOV | X86_W, X86_ARGS, X86_RDX);
    x86_rm(x, X86_LEA | X86_W, X86_SLOTS,
           x86_at(X86_RCX, (int32_t) sizeof(NativeFrame) + n->target->slot_bias));
    x86_rm(x, X86_LEA | X86_W, X86_POOL, x86_at(X86_R8, n->target->pool_bias));
    x86_frame_hoist(n);
    if (n->may_last) {
        X86Mem stack = frame_at(n, offsetof(NativeFrame, stack));
        n->left = x86_label(x);
        x86_mr(x, X86_MOV_ST | X86_W, stack, X86_RSP);
    }
    begin_copies(n);
}

void x86_frame_next_packet(Native *n, NativeLabel top)
{
    X86 *x = x86_native(n);
    x->copies.count = 0;
    x86_ri(x, X86_ADD_I | X86_W, X86_LANE, (int32_t) (n->copies * n->lanes));
    x86_rr(x, X86_CMP | X86_W, X86_LANE, X86_END);
    x86_jcc(x, X86_CC_B, top);
}

/* ---- back edges: what jumps is written once */

/* To 'top' while the register counts; else compare the numbers of requests to stop. */
static void count_down(Native *n, NativeLabel top)
{
    X86 *x = x86_native(n);
    x->copies.count = 0;
    size_t place = offsetof(NativeFrame, interrupt);
    NativeReg count = native_temp_general(n);
    x86_ri(x, X86_SUB_I, ITERATIONS, 1); /* with the jump, one operation of the CPU */
    x86_jcc(x, X86_CC_NE, top);
    x86_mov_imm(x, ITERATIONS, MOST_ITERATIONS);
    x86_rm(x, X86_MOV | X86_W, count, frame_at(n, place + offsetof(Interrupt, count)));
    x86_rm(x, X86_MOV, count, x86_at(count, 0));
    x86_rm(x, X86_CMP, count, frame_at(n, place + offsetof(Interrupt, requests)));
}

void x86_frame_loop_back(Native *n, NativeLabel top)
{
    X86 *x = x86_native(n);
    count_down(n, top);
    x86_jcc(x, X86_CC_E, top);
    x86_jmp(x, n->left);
    x->copies.count = n->copies;
    native_alloc_unpin(n);
}

/* ---- loops that count their iterations, up to MOST_ITERATIONS at a time */

void x86_frame_count(Native *n, uint32_t most)
{
    X86 *x = x86_native(n);
    uint32_t now = most < MOST_ITERATIONS ? most : MOST_ITERATIONS;
    NativeReg left = native_temp_general(n);
    x86_mr(x, X86_MOV_ST, frame_at(n, offsetof(NativeFrame, outer)), ITERATIONS);
    x86_mov_imm(x, left, most - now);
    x86_mr(x, X86_MOV_ST, frame_at(n, offsetof(NativeFrame, left)), left);
    x86_mov_imm(x, ITERATIONS, now);
    native_alloc_unpin(n);
}

void x86_frame_count_back(Native *n, NativeLabel top)
{
    X86 *x = x86_native(n);
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
    x->copies.count = n->copies;
    native_alloc_unpin(n);
}

void x86_frame_count_end(Native *n)
{
    X86Mem outer = frame_at(n, offsetof(NativeFrame, outer));
    x86_rm(x86_native(n), X86_MOV, ITERATIONS, outer);
}

void x86_frame_keep_count(Native *n)
{
    X86Mem kept = frame_at(n, offsetof(NativeFrame, kept));
    if (n->counts)
        x86_mr(x86_native(n), X86_MOV_ST, kept, ITERATIONS);
}

void x86_frame_leave(Native *n)
{
    X86 *x = x86_native(n);
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

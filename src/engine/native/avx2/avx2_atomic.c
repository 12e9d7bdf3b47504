/*
 * avx2_atomic.c -- counters and checks (see forms_atomic.c)
 */
#include "engine/native/avx2/avx2.h"

/* Bytes 0, 1, 2, ... deposited into the lanes' bytes are their ranks. */
static void add_ranks(Native *n, const FormsRanks *r)
{
    X86 *x = native_x86(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg bits = r->general[0], ranks = r->general[1];
    NativeOperand ones = native_const(n, 64, 0x0101010101010101);
    x86_rr(x, X86_VMOVMSKPS | length, bits, r->lanes);
    x86_rrm(x, X86_PDEP | X86_W, bits, bits, forms_mem(ones));
    x86_rri(x, X86_IMUL_I | X86_W, bits, bits, 0xff);
    x86_mov_imm(x, ranks, 0x0706050403020100);
    x86_rrr(x, X86_PDEP | X86_W, ranks, ranks, bits);
    x86_rr(x, X86_VMOVQ, r->spare, ranks);
    x86_rr(x, X86_VPMOVZXBD | length, r->spare, r->spare);
    x86_rrr(x, X86_VPADDD | length, r->spare, r->spare, r->first);
    x86_rrrr(x, X86_VBLENDVPS | length, r->to, r->to, r->spare, r->lanes);
}

bool avx2_atomic_increment(Native *n, const NativeRow *row)
{
    (void) row;
    return forms_increment(n, add_ranks);
}

/* Not below: the larger one is the index. */
static void find_outside(Native *n, NativeReg lanes, NativeReg index, X86Mem bound,
                         NativeReg spare)
{
    X86 *x = native_x86(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    x86_rm(x, X86_VPBROADCASTD | length, spare, bound);
    x86_rrr(x, X86_VPMAXUD | length, spare, spare, index);
    x86_rrr(x, X86_VPCMPEQD | length, spare, spare, index);
    x86_rrr(x, X86_VPANDD | length, lanes, lanes, spare);
}

bool avx2_atomic_check(Native *n, const NativeRow *row)
{
    (void) row;
    return forms_check(n, find_outside);
}

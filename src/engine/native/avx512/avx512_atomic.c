/*
 * avx512_atomic.c -- counters and checks (see forms_atomic.c)
 */
#include "engine/native/avx512/avx512.h"

/* 0, 1, 2, ... expanded into the lanes are their ranks. */
static void add_ranks(Native *n, const FormsRanks *r)
{
    static const uint32_t steps[] = { 0, 1, 2,  3,  4,  5,  6,  7,
                                      8, 9, 10, 11, 12, 13, 14, 15 };
    X86Form length = forms_length(n, VarTypeUInt32) | X86_K(r->lanes);
    NativeOperand ranks = native_const_vector(n, steps, sizeof steps);
    x86_rm(native_x86(n), X86_VPEXPANDD | length | X86_Z, r->spare, forms_mem(ranks));
    x86_rrr(native_x86(n), X86_VPADDD | length, r->to, r->spare, r->first);
}

bool avx512_atomic_increment(Native *n, const NativeRow *row)
{
    (void) row;
    return forms_increment(n, add_ranks);
}

static void find_outside(Native *n, NativeReg lanes, NativeReg index, X86Mem bound,
                         NativeReg spare)
{
    (void) spare;
    X86Form form = X86_VPCMPUD_K | forms_length(n, VarTypeUInt32) | X86_B;
    x86_rrmi(native_x86(n), form | X86_K(lanes), lanes, index, bound, X86_PCMP_GE);
}

bool avx512_atomic_check(Native *n, const NativeRow *row)
{
    (void) row;
    return forms_check(n, find_outside);
}

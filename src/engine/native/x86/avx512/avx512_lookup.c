/*
 * avx512_lookup.c -- tables
 *
 * One instruction looks up in a register, another one in two. A table smaller than a
 * register is repeated in it: then bits of the index above those that count do no harm.
 * All lanes of a register are looked up, also where a packet has half as many, since
 * smaller registers would take more instructions for the same table.
 */
#include "engine/native/x86/avx512/avx512.h"

enum { REGISTER = 64 /* bytes */ };

/* to = entries of two registers of the table, from 'first' on. */
static void look_up_two(Native *n, const NativeRow *row, NativeReg to, NativeReg index,
                        uint32_t first)
{
    NativeOperand low = forms_table(n, first, REGISTER);
    NativeOperand high = forms_table(n, first + row->param, REGISTER);
    x86_rm(x86_native(n), X86_VMOVUPS | X86_512, to, forms_mem(low));
    forms_rrx(n, row->extra | X86_512, to, index, high);
}

bool avx512_lookup(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    uint32_t entries = native_inst(n)->count - 1u, two = 2 * row->param;
    NativeReg index = native_use(n, 0);
    if (entries <= row->param) {
        NativeOperand table = forms_table(n, 0, REGISTER);
        forms_rrx(n, row->inst | X86_512, native_result(n), index, table);
        return true;
    }
    NativeReg to = native_result_fresh(n);
    look_up_two(n, row, to, index, 0);
    if (entries > two) { /* of 64 bits */
        NativeReg high = native_temp(n), mask = native_temp_mask(n);
        look_up_two(n, row, high, index, two);
        forms_rrx(n, X86_VPTESTMQ_K | X86_512, mask, index, native_const(n, 64, two));
        x86_rr(x, X86_VMOVAPD | X86_512 | X86_K(mask), to, high);
    }
    return true;
}

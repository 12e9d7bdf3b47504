/*
 * avx512_memory.c -- gathers and scatters
 *
 * An index counts entries from 0 to 2^32 - 1, but the instructions extend 32-bit
 * indices with their sign. Packets of 8 lanes extend to 64 bits first. Those of 16
 * would need two gathers for that; instead, the index less 2^31 is used, in the signed
 * range, and the base address moves the other way.
 *
 * Scatters of 8 and 16 bits, and sums, are those of forms_scatter.c.
 */
#include "engine/native/x86/avx512/avx512.h"

static uint32_t log_size(VarType type)
{
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

/* Operand k, an index, as the place [base + (index << shift)] for each lane. */
static X86Mem use_places(Native *n, NativeReg base, uint32_t k, uint32_t shift)
{
    X86 *x = x86_native(n);
    NativeReg index = native_temp(n);
    if (native_lanes(n) == 8) {
        forms_rx(n, X86_VPMOVZXDQ | X86_512, index, forms_use_whole(n, k));
        return x86_at_index(base, index, (int) shift, 0);
    }
    NativeReg a = native_use(n, k), biased = native_temp_general(n);
    forms_rrx(n, X86_VPXORD | X86_512, index, a, native_const(n, 32, 0x80000000));
    x86_mov_imm(x, biased, UINT64_C(0x80000000) << shift);
    x86_rr(x, X86_ADD | X86_W, biased, base);
    return x86_at_index(biased, index, (int) shift, 0);
}

/* The instruction for indices of 32 bits ('inst') or of 64 bits ('extra'). */
static X86Form indexed_form(const Native *n, const NativeRow *row, NativeReg mask)
{
    return (native_lanes(n) == 8 ? row->extra : row->inst) | X86_512 | X86_K(mask);
}

/* Often all lanes want the same entry (data of an instance, tables), or entries that
 * are close to each other, in order: then those from the first lane's on are loaded as
 * a vector, from which each lane takes its own, in a fraction of the time. What is
 * loaded beyond is in the same page of memory, which can be read. 'to' = the entries
 * then, else a jump to 'apart'. With the index of masked lanes set to 0 the first lane
 * stands for all. */
static void load_window(Native *n, NativeReg to, NativeReg base, NativeReg index,
                        NativeReg mask, X86Label apart)
{
    enum { PAGE = 4096 };
    X86 *x = x86_native(n);
    VarType type = native_result_type(n);
    X86Form lanes = X86_LENGTH(native_lanes(n) >> 3);
    X86Form permute = forms_by_width(n, type, X86_VPERMD, X86_VPERMQ);
    NativeReg far = native_temp_mask(n), entry = native_temp_general(n);
    NativeReg place = native_temp_general(n);
    NativeOperand count = native_const(n, 32, native_lanes(n));
    x86_rr(x, X86_VMOVDQA32 | lanes | X86_K(mask) | X86_Z, to, index);
    x86_rr(x, X86_VMOVD_ST, entry, to);
    x86_rr(x, X86_VPBROADCASTD | lanes, to, to);
    x86_rrr(x, X86_VPSUBD | lanes, to, index, to);
    x86_rrmi(x, X86_VPCMPUD_K | lanes | X86_B | X86_K(mask), far, to, forms_mem(count),
             X86_PCMP_GE);
    x86_rr(x, X86_KORTESTW, far, far);
    x86_jcc(x, X86_CC_NE, apart);
    x86_rm(x, X86_LEA | X86_W, entry,
           x86_at_index(base, entry, (int) log_size(type), 0));
    x86_rr(x, X86_MOV, place, entry);
    x86_ri(x, X86_AND_I, place, PAGE - 1);
    x86_ri(x, X86_CMP_I, place, (int32_t) (PAGE - native_bytes(n, type)));
    x86_jcc(x, X86_CC_A, apart);
    if (forms_bits(type) == 64)
        x86_rr(x, X86_VPMOVZXDQ | X86_512, to, to);
    x86_rrm(x, permute | X86_K(mask) | X86_Z, to, to, x86_at(entry, 0));
}

bool avx512_memory_gather(Native *n, const NativeRow *row)
{
    if (forms_repeat_gather(n) || forms_near_gather(n) || forms_runs_gather(n))
        return true;
    X86 *x = x86_native(n);
    VarType type = native_result_type(n);
    NativeReg base = native_use_address(n, 0), index = native_use(n, 1);
    X86Mem places = use_places(n, base, 1, log_size(type));
    NativeReg mask = native_use_active(n, 2, forms_bits(type));
    NativeReg to = native_result_fresh(n);
    bool jumps = x->copies.count < 2;
    X86Label apart = x86_label(x), done = x86_label(x);
    if (jumps) {
        load_window(n, to, base, index, mask, apart);
        x86_jmp_short(x, done);
    }
    x86_bind(x, apart);
    x86_rrr(x, X86_VPXORD, to, to, to);
    x86_rm(x, indexed_form(n, row, mask), to, places);
    x86_bind(x, done);
    return true;
}

/* Lanes often write one entry after the other: then these are stored as a vector, in a
 * fraction of the time. No index goes round behind 2^32 - 1, as that of a lane that
 * takes no part could. Else the code goes on at 'apart'. */
static void store_row(Native *n, VarType type, NativeReg base, NativeReg value,
                      NativeReg index, NativeReg mask, X86Label apart)
{
    X86 *x = x86_native(n);
    X86Form lanes = X86_LENGTH(native_lanes(n) >> 3);
    X86Form store = forms_by_width(n, type, X86_VMOVDQU32_ST, X86_VMOVDQU64_ST);
    NativeReg start = native_temp(n), first = native_temp(n);
    NativeReg others = native_temp_mask(n), entry = native_temp_general(n);
    forms_rrx(n, X86_VPSUBD | lanes, start, index, forms_lane_numbers(n));
    x86_rr(x, X86_VMOVD_ST, entry, start);
    x86_rr(x, X86_VPBROADCASTD | lanes, first, start);
    x86_rrri(x, X86_VPCMPUD_K | lanes, others, start, first, X86_PCMP_NE);
    x86_rr(x, X86_KORTESTW, others, others);
    x86_jcc(x, X86_CC_NE, apart);
    x86_ri(x, X86_CMP_I, entry, -(int32_t) native_lanes(n));
    x86_jcc(x, X86_CC_A, apart);
    x86_mr(x, store | X86_K(mask), x86_at_index(base, entry, (int) log_size(type), 0),
           value);
}

bool avx512_memory_scatter(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    VarType type = native_type(n, 1);
    if (forms_runs_scatter(n))
        return true;
    if ((native_inst(n)->aux & 0xff) != ReduceOpIdentity)
        return forms_scatter(n, row);
    NativeReg base = native_use_address(n, 0), value = native_use(n, 1);
    NativeReg index = native_use(n, 2);
    X86Mem places = use_places(n, base, 2, log_size(type));
    NativeReg mask = native_use_active(n, 3, forms_bits(type));
    X86Label apart = x86_label(x), done = x86_label(x);
    store_row(n, type, base, value, index, mask, apart);
    x86_jmp_short(x, done);
    x86_bind(x, apart);
    x86_mr(x, indexed_form(n, row, mask), places, value);
    x86_bind(x, done);
    return true;
}

/*
 * avx512_local.c -- local arrays (see forms_local.c)
 */
#include "engine/native/x86/avx512/avx512.h"

static X86Form under(NativeReg lanes)
{
    return lanes == NATIVE_NO_REG ? 0 : X86_K(lanes);
}

static void load(Native *n, VarType type, NativeReg to, NativeReg lanes, X86Mem from)
{
    X86Form form = forms_by_width(n, type, X86_VMOVUPS, X86_VMOVUPD);
    x86_rm(x86_native(n), form | under(lanes) | (lanes == NATIVE_NO_REG ? 0 : X86_Z),
           to, from);
}

static void store(Native *n, VarType type, X86Mem to, NativeReg lanes, NativeReg value,
                  NativeReg spare)
{
    (void) spare;
    X86Form form = forms_by_width(n, type, X86_VMOVUPS_ST, X86_VMOVUPD_ST);
    x86_mr(x86_native(n), form | under(lanes), to, value);
}

static void agree(Native *n, const FormsLocalLanes *a)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg first = a->entry.part, index = a->entry.index;
    x86_rr(x, X86_VPBROADCASTD | length, first, index);
    x86_rrri(x, X86_VPCMPUD_K | length, a->inside_mask, first, index, X86_PCMP_NE);
    x86_rr(x, X86_KORTESTW, a->inside_mask, a->inside_mask);
}

/* The places index * W + lane, in 'inside', where that is inside. */
static FormsEntries find_places(Native *n, const FormsLocalLanes *a, X86Form zeroing)
{
    X86Form length = forms_length(n, VarTypeUInt32);
    forms_rrxi(n, X86_VPCMPUD_K | length | under(a->lanes), a->inside_mask,
               a->entry.index, native_const(n, 32, a->count), X86_PCMP_LT);
    forms_shift(n, X86_VPSLLD_I | length | X86_K(a->inside_mask) | zeroing, a->inside,
                a->entry.index, (uint32_t) __builtin_ctz(native_lanes(n)));
    forms_rrx(n, X86_VPADDD | length, a->inside, a->inside, forms_lane_numbers(n));
    FormsEntries entry = a->entry;
    entry.index = a->inside;
    return entry;
}

static void gather(Native *n, const FormsLocalLanes *a, NativeReg to)
{
    FormsEntries entry = find_places(n, a, X86_Z);
    forms_load_entries(n, &entry, to);
    x86_rr(x86_native(n),
           forms_by_width(n, entry.type, X86_VMOVUPS, X86_VMOVUPD) | X86_Z |
               X86_K(a->inside_mask),
           to, to);
}

static void scatter(Native *n, const FormsLocalLanes *a, NativeReg value)
{
    NativeOperand spare_row = native_const(n, 32, a->count * native_lanes(n));
    x86_rm(x86_native(n), X86_VPBROADCASTD | forms_length(n, VarTypeUInt32), a->inside,
           forms_mem(spare_row));
    FormsEntries entry = find_places(n, a, 0);
    forms_store_entries(n, &entry, value);
}

const FormsLocal avx512_local = {
    .load = load, .store = store, .agree = agree, .gather = gather, .scatter = scatter
};

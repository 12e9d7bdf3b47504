/*
 * avx2_local.c -- local arrays (see forms_local.c)
 *
 * Lanes that must not read read entry 0 and forget it, lanes that must not write write
 * to the spare row. So entries that lanes have for themselves need no branches.
 */
#include "engine/native/x86/avx2/avx2.h"

static void load(Native *n, VarType type, NativeReg to, NativeReg lanes, X86Mem from)
{
    X86Form length = forms_length(n, type);
    if (lanes == NATIVE_NO_REG)
        x86_rm(x86_native(n), X86_VMOVUPS | length, to, from);
    else
        x86_rrm(x86_native(n), X86_VPANDD | length, to, lanes, from);
}

/* Masked stores are slow, and nobody else has these lanes. */
static void store(Native *n, VarType type, X86Mem to, NativeReg lanes, NativeReg value,
                  NativeReg spare)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, type);
    if (lanes != NATIVE_NO_REG) {
        x86_rm(x, X86_VMOVUPS | length, spare, to);
        x86_rrrr(x, forms_by_width(n, type, X86_VBLENDVPS, X86_VBLENDVPD), spare, spare,
                 value, lanes);
        value = spare;
    }
    x86_mr(x, X86_VMOVUPS_ST | length, to, value);
}

static void agree(Native *n, const FormsLocalLanes *a)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg first = a->entry.part, index = a->entry.index;
    x86_rr(x, X86_VPBROADCASTD | length, first, index);
    x86_rrr(x, X86_VPXORD | length, first, first, index);
    x86_rr(x, X86_VPTEST | length, first, first);
}

/* The entries index * W + lane; the index is in 'places'. */
static FormsEntries find_places(Native *n, const FormsLocalLanes *a)
{
    X86Form length = forms_length(n, VarTypeUInt32);
    FormsEntries entry = a->entry;
    entry.index = entry.places;
    forms_shift(n, X86_VPSLLD_I | length, entry.index, entry.index,
                (uint32_t) __builtin_ctz(native_lanes(n)));
    forms_rrx(n, X86_VPORD | length, entry.index, entry.index, forms_lane_numbers(n));
    return entry;
}

static void gather(Native *n, const FormsLocalLanes *a, NativeReg to)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg inside = a->inside, index = a->entry.index;
    forms_rrx(n, X86_VPMINUD | length, inside, index,
              native_const(n, 32, a->count - 1));
    x86_rrr(x, X86_VPCMPEQD | length, inside, inside, index);
    if (a->narrow != NATIVE_NO_REG)
        x86_rrr(x, X86_VPANDD | length, inside, inside, a->narrow);
    x86_rrr(x, X86_VPANDD | length, a->entry.places, index, inside);
    FormsEntries entry = find_places(n, a);
    forms_load_entries(n, &entry, to);
    if (forms_bits(entry.type) == 64)
        x86_rr(x, X86_VPMOVSXDQ | X86_256, inside, inside);
    x86_rrr(x, X86_VPANDD | forms_length(n, entry.type), to, to, inside);
}

static void scatter(Native *n, const FormsLocalLanes *a, NativeReg value)
{
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg places = a->entry.places, spare = a->inside;
    NativeOperand spare_row = native_const(n, 32, a->count);
    forms_rrx(n, X86_VPMINUD | length, places, a->entry.index, spare_row);
    if (a->narrow != NATIVE_NO_REG) {
        forms_rx(n, X86_VMOVUPS | length, spare, spare_row);
        x86_rrrr(x86_native(n), X86_VBLENDVPS | length, places, spare, places,
                 a->narrow);
    }
    FormsEntries entry = find_places(n, a);
    forms_store_entries(n, &entry, value);
}

const FormsLocal avx2_local = {
    .load = load, .store = store, .agree = agree, .gather = gather, .scatter = scatter
};

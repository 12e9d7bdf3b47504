/*
 * forms_entries.c -- entries of memory, one load or store for each lane
 *
 * On Zen 4, instructions that gather or scatter take longer than this: with 16 lanes,
 * 0.64 instead of 0.36 ns a lane to read and 0.62 instead of 0.42 to write what is in
 * the nearest cache. Indices leave their vector register in pairs; four entries of 32
 * bits, or two of 64, are put together in 128 bits:
 *
 *     index | i0 i1 i2 i3 | i4 ...      rax, rdx = i0, i1
 *     to    | e0 e1 e2 e3 | e4 ...      e0 = [base + rax * 4], e1 = [base + rdx * 4]
 *
 * All lanes load and store: the caller sees to it that those that must not have an
 * index that does no harm.
 */
#include "engine/native/x86/forms.h"

/* Indices i and i + 1 of 128 bits. */
static void take_pair(Native *n, const FormsEntries *e, NativeReg index, uint32_t i)
{
    X86 *x = x86_native(n);
    if (i == 0)
        x86_rr(x, X86_VMOVQ_ST, e->odd, index);
    else
        x86_rri(x, X86_VPEXTRQ, e->odd, index, 1);
    x86_rr(x, X86_MOV, e->even, e->odd);
    x86_ri(x, X86_SHR_I | X86_W, e->odd, 32);
}

/* 128 bits with the indices of these lanes. */
static NativeReg find_indices(Native *n, const FormsEntries *e, uint32_t lane)
{
    if (lane < 4)
        return e->index;
    if (lane % 4 == 0)
        x86_rri(x86_native(n), X86_VEXTRACTI32X4 | forms_length(n, VarTypeUInt32),
                e->places, e->index, (int32_t) (lane / 4));
    return e->places;
}

void forms_take_indices(Native *n, const FormsEntries *e, uint32_t lane)
{
    take_pair(n, e, find_indices(n, e, lane), lane % 4);
}

static bool is_wide(const FormsEntries *e)
{
    return forms_bits(e->type) == 64;
}

static X86Mem entry_at(const FormsEntries *e, NativeReg index)
{
    return x86_at_index(e->base, index, (is_wide(e) ? 3 : 2) - e->halves, e->disp);
}

static void load_pair(Native *n, const FormsEntries *e, NativeReg to, uint32_t i)
{
    X86 *x = x86_native(n);
    X86Mem even = entry_at(e, e->even), odd = entry_at(e, e->odd);
    bool wide = is_wide(e);
    X86Form insert = wide ? X86_VPINSRQ : X86_VPINSRD;
    if (i == 0)
        x86_rm(x, wide ? X86_VMOVQ_X : X86_VMOVD, to, even);
    else
        x86_rrmi(x, insert, to, to, even, (int32_t) i);
    x86_rrmi(x, insert, to, to, odd, (int32_t) i + 1);
}

void forms_load_entries(Native *n, const FormsEntries *e, NativeReg to)
{
    uint32_t count = is_wide(e) ? 2 : 4; /* in 128 bits */
    for (uint32_t first = 0; first < native_lanes(n); first += count) {
        NativeReg part = first ? e->part : to;
        NativeReg indices = find_indices(n, e, first);
        for (uint32_t i = 0; i < count; i += 2) {
            take_pair(n, e, indices, (first + i) % 4);
            load_pair(n, e, part, i);
        }
        if (first)
            x86_rrri(x86_native(n), X86_VINSERTI32X4 | forms_length(n, e->type), to, to,
                     part, (int32_t) (first / count));
    }
}

static void store_pair(Native *n, const FormsEntries *e, NativeReg from, uint32_t i)
{
    X86 *x = x86_native(n);
    X86Form form = is_wide(e) ? X86_VPEXTRQ : X86_VPEXTRD;
    x86_mri(x, form, entry_at(e, e->even), from, (int32_t) i);
    x86_mri(x, form, entry_at(e, e->odd), from, (int32_t) i + 1);
}

void forms_store_entries(Native *n, const FormsEntries *e, NativeReg value)
{
    uint32_t count = is_wide(e) ? 2 : 4;
    for (uint32_t first = 0; first < native_lanes(n); first += count) {
        NativeReg part = first ? e->part : value;
        if (first)
            x86_rri(x86_native(n), X86_VEXTRACTI32X4 | forms_length(n, e->type), part,
                    value, (int32_t) (first / count));
        NativeReg indices = find_indices(n, e, first);
        for (uint32_t i = 0; i < count; i += 2) {
            take_pair(n, e, indices, (first + i) % 4);
            store_pair(n, e, part, i);
        }
    }
}

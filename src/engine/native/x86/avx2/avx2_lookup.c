/*
 * avx2_lookup.c -- tables
 *
 * There is one instruction for it, VPERMPS, whose table is a register of eight entries
 * of 32 bits; an entry of 64 bits is two of them. Larger tables have several registers,
 * and the bits of the index that say which of them are moved to the sign, by which
 * VBLENDVPS chooses. From sixteen entries of 64 bits on a gather takes less time.
 */
#include "engine/native/x86/avx2/avx2.h"

enum { REGISTER = 32 /* bytes */, MOST_PARTS = 4 };

typedef struct Lookup {
    X86Form shift, blend;
    NativeReg index, places; /* as it is; as VPERMPS wants it */
    NativeReg choice, spare;
    uint32_t entries;        /* of a register */
    uint32_t sign;           /* number of the bit */
} Lookup;

/* The index of an entry of 64 bits, as those of its halves. */
static void find_halves(Native *n, NativeReg to, NativeReg index)
{
    X86 *x = x86_native(n);
    NativeOperand second = native_const(n, 64, UINT64_C(1) << 32);
    forms_shift(n, X86_VPSLLQ_I | X86_256, to, index, 1);
    x86_rr(x, X86_VMOVSLDUP | X86_256, to, to);
    forms_rrx(n, X86_VPORD | X86_256, to, to, second);
}

/* to = bit 'bit' of the index ? high : to */
static void choose(Native *n, const Lookup *l, NativeReg to, NativeReg high,
                   uint32_t bit)
{
    forms_shift(n, l->shift, l->choice, l->index, l->sign - bit);
    x86_rrrr(x86_native(n), l->blend, to, to, high, l->choice);
}

static void look_up_part(Native *n, const Lookup *l, NativeReg to, uint32_t part)
{
    NativeOperand table = forms_table(n, part * l->entries, REGISTER);
    forms_rrx(n, X86_VPERMPS | X86_256, to, l->places, table);
}

static void look_up_two(Native *n, const Lookup *l, NativeReg to, uint32_t part)
{
    look_up_part(n, l, to, part);
    look_up_part(n, l, l->spare, part + 1);
    choose(n, l, to, l->spare, (uint32_t) __builtin_ctz(l->entries));
}

/* Entries of 64 bits. */
static void gather(Native *n, uint32_t entries)
{
    X86 *x = x86_native(n);
    NativeReg index = native_use(n, 0), places = native_temp(n), all = native_temp(n);
    NativeReg to = native_result_fresh(n);
    NativeOperand table = forms_table(n, 0, entries * (uint32_t) sizeof(uint64_t));
    forms_rrx(n, X86_VPANDD | X86_256, places, index, native_const(n, 64, entries - 1));
    x86_rrr(x, X86_VPCMPEQD | X86_256, all, all, all);
    x86_rrr(x, X86_VPXORD | X86_128, to, to, to);
    x86_rmr(x, X86_VPGATHERQQ_V | X86_256, to,
            x86_at_index(table.base, places, 3, table.disp), all);
}

bool avx2_lookup(Native *n, const NativeRow *row)
{
    (void) row;
    uint32_t size = type_info[native_result_type(n)].size, entry = REGISTER / size;
    uint32_t entries = native_inst(n)->count - 1u, parts = entries / entry;
    bool wide = size == sizeof(uint64_t);
    if (wide && parts >= MOST_PARTS) {
        gather(n, entries);
        return true;
    }
    Lookup l = { .shift = (wide ? X86_VPSLLQ_I : X86_VPSLLD_I) | X86_256,
                 .blend = (wide ? X86_VBLENDVPD : X86_VBLENDVPS) | X86_256,
                 .index = native_use(n, 0),
                 .entries = entry,
                 .sign = 8 * size - 1 };
    l.places = l.index;
    if (wide)
        find_halves(n, l.places = native_temp(n), l.index);
    if (parts <= 1) {
        look_up_part(n, &l, native_result(n), 0);
        return true;
    }
    l.choice = native_temp(n);
    l.spare = native_temp(n);
    NativeReg to = native_result_fresh(n);
    look_up_two(n, &l, to, 0);
    if (parts == MOST_PARTS) {
        NativeReg high = native_temp(n);
        look_up_two(n, &l, high, 2);
        choose(n, &l, to, high, (uint32_t) __builtin_ctz(2 * l.entries));
    }
    return true;
}

/*
 * native_avx512_memory.c -- gathers and scatters
 *
 * An index counts entries from 0 to 2^32 - 1, but the instructions extend 32-bit
 * indices with their sign. Packets of 8 lanes extend to 64 bits first. Those of 16
 * would need two gathers for that; instead, the index less 2^31 is used, in the signed
 * range, and the base address moves the other way.
 *
 * Entries of 8 and 16 bits are gathered as the aligned 32 bits around them, which lie
 * in the same page, and shifted into place. Scatters of these, and sums, visit the
 * lanes that are set one by one:
 *
 *     indices, values --> stash;   for each bit of the mask: entry[index] op= value
 */
#include "engine/native/native_avx512.h"

enum { STASH_VALUES = 64 /* behind the indices */ };

static uint32_t log_size(VarType type)
{
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

/* ---- entries of 32 and 64 bits */

/* Operand k, an index, as the place [base + (index << shift)] for each lane. */
static X86Mem use_places(Native *n, NativeReg base, uint32_t k, uint32_t shift)
{
    X86 *x = native_x86(n);
    NativeReg index = native_temp(n);
    if (native_lanes(n) == 8) {
        forms_rx(n, X86_VPMOVZXDQ | X86_512, index, native_avx512_use_whole(n, k));
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

bool native_avx512_memory_gather(Native *n, const NativeRow *row)
{
    VarType type = native_result_type(n);
    NativeReg base = native_use_address(n, 0);
    X86Mem places = use_places(n, base, 1, log_size(type));
    NativeReg mask = native_use_active(n, 2, native_avx512_bits(type));
    NativeReg to = native_result_fresh(n);
    x86_rrr(native_x86(n), X86_VPXORD, to, to, to);
    x86_rm(native_x86(n), indexed_form(n, row, mask), to, places);
    return true;
}

bool native_avx512_memory_scatter(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 1);
    if ((native_inst(n)->aux & 0xff) != ReduceOpIdentity)
        return native_avx512_memory_scatter_lanes(n, row);
    NativeReg base = native_use_address(n, 0), value = native_use(n, 1);
    X86Mem places = use_places(n, base, 2, log_size(type));
    NativeReg mask = native_use_active(n, 3, native_avx512_bits(type));
    x86_mr(native_x86(n), indexed_form(n, row, mask), places, value);
    return true;
}

/* ---- entries of 8 and 16 bits */

/* A place within 32 bits is (index + low bits of the address) modulo 'entries'. */
bool native_avx512_memory_gather_narrow(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = native_x86(n);
    VarType type = native_result_type(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    uint32_t shift = log_size(type), entries = 4u >> shift;
    NativeReg base = native_use_address(n, 0);
    NativeOperand index = native_use_rm(n, 1);
    NativeReg mask = native_use_active(n, 2, 32);
    NativeReg aligned = native_temp_general(n), rest = native_temp_general(n);
    NativeReg place = native_temp(n), words = native_temp(n);

    x86_rr(x, X86_MOV | X86_W, aligned, base);
    x86_rr(x, X86_MOV, rest, base);
    x86_ri(x, X86_AND_I | X86_W, aligned, -4);
    x86_ri(x, X86_AND_I, rest, 3);
    if (shift)
        x86_ri(x, X86_SHR_I, rest, (int32_t) shift);
    x86_rr(x, X86_VPBROADCASTD_R | length, place, rest);
    forms_rrx(n, X86_VPADDD | length, place, place, index);
    x86_rri(x, X86_VPSRLD_I | length, words, place, 2 - (int32_t) shift);
    NativeReg found = native_temp(n);
    x86_rrr(x, X86_VPXORD, found, found, found);
    x86_rm(x, X86_VPGATHERDD | length | X86_K(mask), found,
           x86_at_index(aligned, words, 2, 0));
    x86_rri(x, X86_VPSLLD_I | length, place, place, 3 + (int32_t) shift);
    forms_rrx(n, X86_VPANDD | length, place, place,
              native_const(n, 32, (entries - 1) * (8u << shift)));
    x86_rrr(x, X86_VPSRLVD | length, found, found, place);
    if (type == VarTypeBool)
        forms_rrx(n, X86_VPTESTMD_K | length, native_result_mask(n, 32), found,
                  native_const(n, 32, 0xff));
    else
        native_avx512_extend(n, type, native_result(n), found);
    return true;
}

/* ---- lane by lane */

/* entry[index] op= value, from and to general registers: atomic, and for targets that
 * nobody else touches. By the logarithm of the entry's size. */
typedef struct LaneForm {
    uint16_t atomic[4], plain[4];
} LaneForm;

static const LaneForm lane_forms[ReduceOpCount] = {
    [ReduceOpIdentity] = { .atomic = { X86_MOV8_ST, X86_MOV16_ST } },
    [ReduceOpAdd] = { .atomic = { X86_LOCK_XADD8, X86_LOCK_XADD16, X86_LOCK_ADD,
                                  X86_LOCK_ADD },
                      .plain = { 0, 0, X86_ADD_ST, X86_ADD_ST } },
    [ReduceOpAnd] = { .atomic = { 0, 0, X86_LOCK_AND, X86_LOCK_AND },
                      .plain = { 0, 0, X86_AND_ST, X86_AND_ST } },
    [ReduceOpOr] = { .atomic = { 0, 0, X86_LOCK_OR, X86_LOCK_OR },
                     .plain = { 0, 0, X86_OR_ST, X86_OR_ST } },
};

/* The same in the first lane of a vector register, Float32 and Float64, plain. */
static const uint16_t float_forms[ReduceOpCount][2] = {
    [ReduceOpAdd] = { X86_VADDSS, X86_VADDSD },
    [ReduceOpMul] = { X86_VMULSS, X86_VMULSD },
};

/* The instruction, 0 if there is none. In mode Local, neighbours with one target shall
 * be combined first, which is not done here. */
static uint16_t find_form(ReduceOp op, ReduceMode mode, VarType type)
{
    bool plain = mode == ReduceModeNoConflicts || mode == ReduceModePermute ||
                 mode == ReduceModeExpand;
    uint32_t size = log_size(type);
    const LaneForm *forms = &lane_forms[op];
    if (op == ReduceOpIdentity)
        return forms->atomic[size];
    if (type_info[type].is_float)
        return plain && size >= 2 ? float_forms[op][size - 2] : 0;
    if (plain && forms->plain[size])
        return forms->plain[size];
    return plain || mode == ReduceModeDirect ? forms->atomic[size] : 0;
}

static X86Mem stash_place(NativeOperand stash, int32_t offset, NativeReg lane,
                          uint32_t shift)
{
    return x86_at_index(stash.base, lane, (int) shift, stash.disp + offset);
}

/* A mask becomes lanes of 0 and 1. */
static NativeReg use_value(Native *n, uint32_t k)
{
    if (native_type(n, k) != VarTypeBool)
        return native_use(n, k);
    NativeReg mask = native_use_mask(n, k, 32), value = native_temp(n);
    x86_rm(native_x86(n),
           X86_VPBROADCASTD | forms_length(n, VarTypeUInt32) | X86_K(mask) | X86_Z,
           value, forms_mem(native_const(n, 32, 1)));
    return value;
}

bool native_avx512_memory_scatter_lanes(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = native_x86(n);
    VarType type = native_type(n, 1);
    uint32_t aux = native_inst(n)->aux, shift = log_size(type);
    uint16_t form = find_form((ReduceOp) (aux & 0xff), (ReduceMode) (aux >> 8), type);
    if (!form)
        return false;
    bool wide = shift == 3, real = type_info[type].is_float && form != X86_MOV16_ST;
    NativeReg base = native_use_address(n, 0);
    NativeReg value = use_value(n, 1), index = native_use(n, 2);
    NativeReg mask = native_use_active(n, 3, native_avx512_bits(type));
    NativeReg left = native_temp_general(n), lane = native_temp_general(n);
    NativeReg entry = native_temp_general(n);
    NativeReg sum = real ? native_temp(n) : 0;
    NativeOperand stash = native_stash(n);
    X86Mem entries = stash_place(stash, STASH_VALUES, lane, wide ? 3 : 2);
    X86Label top = x86_label(x), done = x86_label(x);

    x86_mr(x, X86_VMOVUPS_ST | forms_length(n, VarTypeUInt32),
           stash_place(stash, 0, X86_NO_INDEX, 0), index);
    x86_mr(x, X86_VMOVUPS_ST | forms_length(n, type),
           stash_place(stash, STASH_VALUES, X86_NO_INDEX, 0), value);
    x86_rr(x, X86_KMOVW_RK, left, mask);
    x86_rr(x, X86_TEST, left, left);
    x86_jcc_short(x, X86_CC_E, done);
    x86_bind(x, top);
    x86_rr(x, X86_TZCNT, lane, left);
    if (real) {
        x86_rm(x, X86_MOV, entry, stash_place(stash, 0, lane, 2));
        X86Mem target = x86_at_index(base, entry, (int) shift, 0);
        x86_rm(x, wide ? X86_VMOVSD : X86_VMOVSS, sum, target);
        x86_rrm(x, form, sum, sum, entries);
        x86_mr(x, wide ? X86_VMOVSD_ST : X86_VMOVSS_ST, target, sum);
    } else {
        x86_rm(x, wide ? X86_MOV | X86_W : (X86Form) X86_MOV, entry, entries);
        x86_rm(x, X86_MOV, lane, stash_place(stash, 0, lane, 2));
        x86_mr(x, wide ? form | X86_W : (X86Form) form,
               x86_at_index(base, lane, (int) shift, 0), entry);
    }
    x86_rr(x, X86_BLSR, left, left);
    x86_jcc(x, X86_CC_NE, top);
    x86_bind(x, done);
    return true;
}

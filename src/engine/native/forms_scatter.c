/*
 * forms_scatter.c -- scatters that visit the active lanes one by one
 *
 *     indices, values --> stash;   for each bit of the mask: entry[index] op= value
 *
 * Each lane is one scalar instruction with the entry as its memory operand, atomic
 * where the mode asks for that. Atomic sums of floats do not exist.
 *
 * Private copies of a target (mode Expand) are often small, and then neighbours meet in
 * one entry: one lane would wait for the sum of the one before. So if all lanes of a
 * packet agree in the index, their values are summed first.
 */
#include "engine/native/forms.h"
#include "engine/native/native.h"

static uint32_t log_size(VarType type)
{
    return (uint32_t) __builtin_ctz(type_info[type].size);
}

enum { STASH_VALUES = 64 /* behind the indices */ };

/* entry[index] op= value, from and to general registers: atomic, and for targets that
 * nobody else touches. By the logarithm of the entry's size. */
typedef struct LaneForm {
    uint16_t atomic[4], plain[4];
} LaneForm;

static const LaneForm lane_forms[ReduceOpCount] = {
    [ReduceOpIdentity] = { .atomic = { X86_MOV8_ST, X86_MOV16_ST, X86_MOV_ST,
                                       X86_MOV_ST } },
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

/* Masks are stored as bytes, all others as they are in registers. */
static void store_values(Native *n, VarType type, NativeReg value)
{
    NativeOperand to = native_stash(n);
    to.disp += STASH_VALUES;
    if (type == VarTypeBool)
        n->target->store(n, type, to, value, 32);
    else
        x86_mr(native_x86(n), X86_VMOVUPS_ST | forms_length(n, type), forms_mem(to),
               value);
}

/* Sum of a packet's values in the stash, added to the entry they all have for target;
 * goes on at 'done'. If they do not agree, or not all are active: at 'apart'. */
static void add_together(Native *n, VarType type, NativeReg base, NativeReg left,
                         NativeReg lane, NativeReg entry, NativeReg sum, X86Label apart,
                         X86Label done)
{
    X86 *x = native_x86(n);
    bool wide = type_info[type].size == 8, real = type_info[type].is_float;
    X86Form vector = real ? (wide ? X86_VADDPD : X86_VADDPS)
                          : (wide ? X86_VPADDQ : X86_VPADDD);
    X86Form width = wide ? X86_W : 0;
    uint32_t lanes = native_lanes(n), size = type_info[type].size;
    NativeOperand stash = native_stash(n);

    x86_ri(x, X86_CMP_I, left, (int32_t) ((1u << lanes) - 1));
    x86_jcc(x, X86_CC_NE, apart);
    x86_rm(x, X86_MOV, entry, stash_place(stash, 0, X86_NO_INDEX, 0));
    x86_rr(x, X86_MOV, lane, entry);
    x86_ri(x, X86_SHL_I | X86_W, lane, 32);
    x86_rr(x, X86_OR | X86_W, lane, entry);
    for (uint32_t k = 0; k < lanes; k += 2) {
        x86_rm(x, X86_CMP | X86_W, lane,
               stash_place(stash, (int32_t) k * 4, X86_NO_INDEX, 0));
        x86_jcc(x, X86_CC_NE, apart);
    }
    for (uint32_t bytes = native_bytes(n, type) / 2; bytes >= 16; bytes /= 2) {
        X86Form length = X86_LENGTH(bytes >> 5);
        X86Mem first = stash_place(stash, STASH_VALUES, X86_NO_INDEX, 0);
        X86Mem second = first;
        second.disp += (int32_t) bytes;
        x86_rm(x, X86_VMOVUPS | length, sum, first);
        x86_rrm(x, vector | length, sum, sum, second);
        x86_mr(x, X86_VMOVUPS_ST | length, first, sum);
    }
    X86Mem target = x86_at_index(base, entry, wide ? 3 : 2, 0);
    X86Form scalar = wide ? X86_VADDSD : X86_VADDSS;
    for (uint32_t at = 0; at < 16; at += size) {
        X86Mem value =
            stash_place(stash, (int32_t) (STASH_VALUES + at), X86_NO_INDEX, 0);
        if (real && at == 0)
            x86_rm(x, wide ? X86_VMOVSD : X86_VMOVSS, sum, value);
        else if (real)
            x86_rrm(x, scalar, sum, sum, value);
        else
            x86_rm(x, (at ? X86_ADD : X86_MOV) | width, lane, value);
    }
    if (real) {
        x86_rrm(x, scalar, sum, sum, target);
        x86_mr(x, wide ? X86_VMOVSD_ST : X86_VMOVSS_ST, target, sum);
    } else {
        x86_mr(x, X86_ADD_ST | width, target, lane);
    }
    x86_jmp(x, done);
}

bool forms_scatter(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = native_x86(n);
    VarType type = native_type(n, 1);
    uint32_t aux = native_inst(n)->aux, shift = log_size(type);
    ReduceOp op = (ReduceOp) (aux & 0xff);
    uint16_t form = find_form(op, (ReduceMode) (aux >> 8), type);
    if (!form)
        return false;
    bool bytes = type == VarTypeBool, wide = shift == 3;
    bool real = type_info[type].is_float && op != ReduceOpIdentity;
    NativeReg base = native_use_address(n, 0);
    NativeReg value = bytes ? native_use_mask(n, 1, 32) : native_use(n, 1);
    NativeReg index = native_use(n, 2), mask = native_use_active(n, 3, 32);
    NativeReg left = native_temp_general(n), lane = native_temp_general(n);
    bool together = (ReduceMode) (aux >> 8) == ReduceModeExpand &&
                    op == ReduceOpAdd && shift >= 2;
    NativeReg entry = native_temp_general(n);
    NativeReg sum = real || together ? native_temp(n) : 0;
    NativeOperand stash = native_stash(n);
    X86Mem entries = stash_place(stash, STASH_VALUES, lane, bytes ? 0 : wide ? 3 : 2);
    X86Label top = x86_label(x), apart = x86_label(x), done = x86_label(x);

    x86_mr(x, X86_VMOVUPS_ST | forms_length(n, VarTypeUInt32), forms_mem(stash), index);
    store_values(n, type, value);
    n->target->mask_to_general(n, left, mask, 32);
    if (together)
        add_together(n, type, base, left, lane, entry, sum, apart, done);
    x86_bind(x, apart);
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
        X86Form width = wide ? X86_W : 0;
        x86_rm(x, (bytes ? X86_MOVZX8 : X86_MOV) | width, entry, entries);
        x86_rm(x, X86_MOV, lane, stash_place(stash, 0, lane, 2));
        x86_mr(x, form | width, x86_at_index(base, lane, (int) shift, 0), entry);
    }
    x86_rr(x, X86_BLSR, left, left);
    x86_jcc(x, X86_CC_NE, top);
    x86_bind(x, done);
    return true;
}

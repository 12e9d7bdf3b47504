/*
 * forms_atomic.c -- counters and checks of indices
 *
 * SCATTER_INC is one atomic addition for each distinct address, of how many lanes have
 * it. Their results are what was there and, on top, the number of lanes with the same
 * address before them, as if one lane had followed the other. Once a lane is found that
 * has its address for itself, the others are likely to, and are taken one by one.
 *
 *     address   a  b  a  a  b        a: adds 3, found 7       result   7  4  8  9  5
 *                                    b: adds 2, found 4
 *
 * CHECK compares with the low half of the bound, which is in the launch's report. Only
 * if a lane fails, the high half and the report's other members matter.
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

enum { STASH_RESULTS = 64 /* behind the indices */ };

/* Lane by lane from the first one of 'left' on, with the indices in the stash. */
static void increment_singles(Native *n, NativeReg base, NativeReg left, NativeReg to,
                              NativeReg entry, NativeReg found)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeOperand stash = native_stash(n);
    X86Mem results = x86_at(stash.base, stash.disp + STASH_RESULTS);
    X86Label top = x86_label(x);
    x86_mr(x, X86_VMOVUPS_ST | length, results, to);
    x86_bind(x, top);
    x86_rr(x, X86_TZCNT, entry, left);
    x86_rm(x, X86_MOV, entry, x86_at_index(stash.base, entry, 2, stash.disp));
    x86_mov_imm(x, found, 1);
    x86_mr(x, X86_LOCK_XADD, x86_at_index(base, entry, 2, 0), found);
    x86_rr(x, X86_TZCNT, entry, left);
    x86_mr(x, X86_MOV_ST, x86_at_index(stash.base, entry, 2, results.disp), found);
    x86_rr(x, X86_BLSR, left, left);
    x86_jcc(x, X86_CC_NE, top);
    x86_rm(x, X86_VMOVUPS | length, to, results);
}

bool forms_increment(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    const FormsTarget *t = forms_target(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    bool masks = t->native.registers[NATIVE_MASK];
    NativeReg base = native_use_address(n, 0), index = native_use(n, 1);
    NativeReg active = native_use_active(n, 2, 32), to = native_result_fresh(n);
    NativeReg left = native_temp_general(n), entry = native_temp_general(n);
    NativeReg count = native_temp_general(n);
    NativeReg all = native_temp(n), rank = native_temp(n);
    NativeReg same = masks ? native_temp_mask(n) : native_temp(n);
    NativeOperand stash = native_stash(n);
    X86Label top = x86_label(x), apart = x86_label(x), done = x86_label(x);

    x86_rrr(x, X86_VPXORD, to, to, to);
    t->mask_to_general(n, left, active, 32);
    x86_rr(x, X86_TEST, left, left);
    x86_jcc(x, X86_CC_E, done);
    x86_mr(x, X86_VMOVUPS_ST | length, forms_mem(stash), index);
    x86_bind(x, top);
    x86_rr(x, X86_TZCNT, entry, left);
    x86_rm(x, X86_MOV, entry, x86_at_index(stash.base, entry, 2, stash.disp));
    x86_rr(x, X86_VMOVD, all, entry);
    x86_rr(x, X86_VPBROADCASTD | length, all, all);
    t->native.match(n, same, all, index);
    t->native.and_mask(n, same, same, active);
    t->mask_to_general(n, count, same, 32);
    x86_rr(x, X86_BLSR, count, count);
    x86_jcc(x, X86_CC_E, apart);
    t->mask_to_general(n, count, same, 32);
    x86_rr(x, X86_XOR, left, count);
    x86_rr(x, X86_POPCNT, count, count);
    x86_mr(x, X86_LOCK_XADD, x86_at_index(base, entry, 2, 0), count);
    x86_rr(x, X86_VMOVD, all, count);
    x86_rr(x, X86_VPBROADCASTD | length, all, all);
    t->add_ranks(n, to, same, all, rank, (NativeReg[]){ entry, count });
    x86_rr(x, X86_TEST, left, left);
    x86_jcc(x, X86_CC_NE, top);
    x86_jmp(x, done);
    x86_bind(x, apart);
    increment_singles(n, base, left, to, entry, count);
    x86_bind(x, done);
    return true;
}

/* Of the lanes that failed, how many there are and the last one's index. 'count' and
 * 'last' are destroyed. */
static void report(Native *n, X86Mem reports, NativeReg index, NativeReg count,
                   NativeReg last)
{
    X86 *x = x86_native(n);
    NativeOperand stash = native_stash(n);
    X86Mem place = reports;
    x86_mr(x, X86_VMOVUPS_ST | forms_length(n, VarTypeUInt32), forms_mem(stash), index);
    x86_rr(x, X86_BSR, last, count);
    x86_rm(x, X86_MOV, last, x86_at_index(stash.base, last, 2, stash.disp));
    x86_rr(x, X86_POPCNT, count, count);
    place.disp = reports.disp + (int32_t) offsetof(CheckReport, count);
    x86_mr(x, X86_LOCK_ADD, place, count);
    place.disp = reports.disp + (int32_t) offsetof(CheckReport, index);
    x86_mr(x, X86_MOV_ST, place, last);
}

bool forms_check(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    const FormsTarget *t = forms_target(n);
    uint32_t slot = n->root_program->param_count - 1;
    NativeReg mask = native_use_mask(n, 0, 32), index = native_use(n, 1);
    NativeReg wrong = native_use_active(n, 0, 32);
    NativeReg reports = native_temp_general(n), count = native_temp_general(n);
    NativeReg last = native_temp_general(n), spare = native_temp(n);
    NativeReg to = native_result_mask_fresh(n, 32);
    X86Label none = x86_label(x), done = x86_label(x);

    x86_rm(x, X86_MOV | X86_W, reports, x86_at(X86_ARGS, (int32_t) slot * 8));
    X86Mem at = x86_at(reports, (int32_t) (native_inst(n)->aux * sizeof(CheckReport)));
    X86Mem bound = at, high = at;
    bound.disp += (int32_t) offsetof(CheckReport, bound);
    high.disp = bound.disp + 4;
    t->find_outside(n, wrong, index, bound, spare);
    t->test_masks(n, wrong, wrong, 32);
    x86_jcc(x, X86_CC_E, done);
    x86_mi(x, X86_CMP_I, high, 0);
    x86_jcc(x, X86_CC_NE, none);
    t->mask_to_general(n, count, wrong, 32);
    report(n, at, index, count, last);
    x86_jmp(x, done);
    x86_bind(x, none);
    t->native.literal_mask(n, wrong, false);
    x86_bind(x, done);
    t->native.without_mask(n, to, mask, wrong);
    return true;
}

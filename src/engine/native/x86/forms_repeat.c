/*
 * forms_repeat.c -- gathers that repeat each entry for a row of lanes
 *
 * What was computed for each row of a matrix comes back to the lanes of the row by a
 * gather whose index is the number of the lane divided by the length of a row, d. If
 * rows are as long as a packet, it has entries of one row, or of two:
 *
 *     lane                  end of row q
 *     │                     │
 *     q q q q q q q q q q q │ q+1 q+1 q+1 q+1 q+1
 *
 * So q is computed once for the packet, with the units for integers, which are idle
 * meanwhile, and one entry is loaded for all lanes; few packets get a second one. Such
 * an index is not a step (native_build.c).
 *
 * Row q + 1 may not exist where the lanes behind 'end' are those of no entry.
 */
#include "engine/native/x86/forms.h"
#include "engine/native/plan/native.h"

/* Registers: of the array, the row's number, the lane with which the next begins. */
typedef struct Row {
    NativeReg base, number, next;
} Row;

/* See forms_divide.c. In 64 bits nothing overflows, since the factor has 32 bits. */
void forms_repeat_quotient(Native *n, NativeReg to, NativeReg a, NativeReg spare,
                           uint32_t d)
{
    X86 *x = x86_native(n);
    if ((d & (d - 1)) == 0) {
        x86_rr(x, X86_MOV, to, a);
        x86_ri(x, X86_SHR_I, to, __builtin_ctz(d));
        return;
    }
    FormsFactor factor = forms_divide_factor(d);
    x86_rm(x, X86_LEA | X86_W, to, x86_at(a, factor.down));
    x86_mov_imm(x, spare, factor.m);
    x86_rr(x, X86_IMUL | X86_W, to, spare);
    x86_ri(x, X86_SHR_I | X86_W, to, 32 + (int32_t) factor.p);
}

void forms_repeat_first_lanes(Native *n, VarType type, NativeReg mask, NativeReg left)
{
    X86 *x = x86_native(n);
    X86Form lanes = forms_length(n, VarTypeUInt32);
    X86Mem numbers = forms_mem(forms_lane_numbers(n));
    if (n->target->registers[NATIVE_MASK])
        x86_rrmi(x, X86_VPCMPUD_K | lanes, mask, left, numbers, X86_PCMP_GT);
    else
        x86_rrm(x, X86_VPCMPGTD | lanes, mask, left, numbers);
    if (!n->target->registers[NATIVE_MASK] && forms_bits(type) == 64)
        n->target->convert_mask(n, mask, mask, 64);
}

/* If the packet reaches into the next row, lanes get the entry behind 'entry'. */
static void load_second(Native *n, const Row *r, uint32_t d, NativeReg to,
                        NativeOperand entry)
{
    X86 *x = x86_native(n);
    VarType type = native_result_type(n);
    NativeReg second = native_temp(n), left = native_temp(n), mask = left;
    NativeReg rest = native_temp_general(n);
    X86Label done = x86_label(x);
    if (n->target->registers[NATIVE_MASK])
        mask = native_temp_mask(n);
    x86_rri(x, X86_IMUL_I | X86_W, r->next, r->number, (int32_t) d);
    x86_ri(x, X86_ADD_I | X86_W, r->next, (int32_t) d);
    x86_rr(x, X86_MOV, rest, r->next);
    x86_rr(x, X86_SUB, rest, X86_LANE);
    x86_ri(x, X86_CMP_I, rest, (int32_t) native_lanes(n));
    x86_jcc(x, X86_CC_AE, done);
    x86_rr(x, X86_CMP | X86_W, r->next, X86_END);
    x86_jcc(x, X86_CC_AE, done);
    entry.disp = type_info[type].size;
    n->target->load_first(n, type, second, entry);
    forms_target(n)->spread(n, left, rest);
    forms_repeat_first_lanes(n, type, mask, left);
    n->target->blend(n, native_bytes(n, type), forms_bits(type), to, mask, to, second);
    x86_bind(x, done);
}

bool forms_repeat_gather(Native *n)
{
    uint32_t d = native_repeats(n->f->program, native_inst(n), native_lanes(n));
    if (!d)
        return false;
    VarType type = native_result_type(n);
    Row r = { .base = native_use_address(n, 0), .number = native_temp_general(n),
              .next = native_temp_general(n) };
    NativeReg to = native_result_fresh(n);
    NativeOperand entry = {
        .base = r.base, .index = r.number, .kind = NATIVE_IN_MEMORY,
        .shift = (uint8_t) __builtin_ctz(type_info[type].size)
    };
    forms_repeat_quotient(n, r.number, X86_LANE, r.next, d);
    n->target->load_first(n, type, to, entry);
    if (d % native_lanes(n)) /* packets begin at multiples of their size */
        load_second(n, &r, d, to, entry);
    return true;
}

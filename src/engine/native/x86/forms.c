/*
 * forms.c -- see forms.h
 */
#include "engine/native/x86/forms.h"

#include <string.h>

bool forms_is_literal(const Native *n, uint32_t k, uint64_t *bits)
{
    if (!native_is_literal(n, k, bits))
        return false;
    *bits &= UINT64_MAX >> (64 - 8 * type_info[native_type(n, k)].size);
    return true;
}

bool forms_is_number(const Native *n, uint32_t k, uint64_t *magnitude)
{
    bool wide = native_type(n, k) == VarTypeFloat64;
    uint64_t bits;
    if (!native_is_literal(n, k, &bits))
        return false;
    *magnitude = bits & (wide ? UINT64_MAX >> 1 : UINT32_MAX >> 1);
    return *magnitude <= (wide ? UINT64_C(0x7ff) << 52 : 0x7f800000);
}

NativeOperand forms_table(Native *n, uint32_t first, uint32_t size)
{
    char data[INST_LOOKUP_MOST * sizeof(uint64_t)];
    const Inst *inst = native_inst(n);
    const uint64_t *literals = n->f->program->literals;
    uint32_t entry = type_info[inst->type].size, entries = inst->count - 1u;
    for (uint32_t i = 0; i * entry < size; ++i) {
        uint32_t at = n->args[1 + (first + i) % entries];
        memcpy(data + i * entry, &literals[n->insts[at].aux], entry);
    }
    return native_const_vector(n, data, size);
}

bool forms_unary(Native *n, const NativeRow *row)
{
    NativeOperand a = native_use_rm(n, 0);
    X86Form form = row->inst | forms_length(n, native_type(n, 0));
    NativeReg to = forms_result_merged(n, &form);
    forms_rx(n, form, to, a);
    return true;
}

bool forms_unary_imm(Native *n, const NativeRow *row)
{
    NativeOperand a = native_use_rm(n, 0);
    X86Form form = row->inst | forms_length(n, native_type(n, 0));
    NativeReg to = forms_result_merged(n, &form);
    forms_rxi(n, form, to, a, (int32_t) row->param);
    return true;
}

static bool binary(Native *n, const NativeRow *row, uint32_t first)
{
    NativeReg a = native_use(n, first);
    NativeOperand b = native_use_rm(n, 1 - first);
    X86Form form = row->inst | forms_length(n, native_type(n, 0));
    NativeReg to = forms_result_merged(n, &form);
    forms_rrx(n, form, to, a, b);
    return true;
}

bool forms_binary(Native *n, const NativeRow *row)
{
    return binary(n, row, 0);
}

bool forms_commute(Native *n, const NativeRow *row)
{
    return binary(n, row, !native_in_register(n, 0) && native_in_register(n, 1));
}

bool forms_multiply(Native *n, const NativeRow *row)
{
    uint32_t other = native_doubles(n, native_inst(n), 0);
    if (!other && !native_doubles(n, native_inst(n), 1))
        return forms_commute(n, row);
    NativeReg a = native_use(n, other);
    X86Form form = row->extra | forms_length(n, native_type(n, other));
    NativeReg to = forms_result_merged(n, &form);
    x86_rrr(x86_native(n), form, to, a, a);
    return true;
}

bool forms_multiply_halves(Native *n)
{
    static const NativeRow row = { .inst = X86_VPMULUDQ };
    return native_is_half(n->f, n->args[0]) && native_is_half(n->f, n->args[1]) &&
           forms_commute(n, &row);
}

bool forms_unary_const(Native *n, const NativeRow *row)
{
    NativeReg a = native_use(n, 0);
    NativeOperand b =
        native_const(n, row->extra, (uint64_t) (int64_t) (int32_t) row->param);
    NativeReg to = native_result(n);
    forms_rrx(n, row->inst | forms_length(n, native_type(n, 0)), to, a, b);
    return true;
}

/* VFMADD, VFMSUB (- c), VFNMADD (- a * b) and VFNMSUB (both) stand in this order. */
enum { NEXT_SIGN = X86_VFMSUB132PS - X86_VFMADD132PS };
_Static_assert(X86_VFNMADD132PS == X86_VFMADD132PS + 2 * NEXT_SIGN &&
                   X86_VFNMSUB132PS == X86_VFMADD132PS + 3 * NEXT_SIGN,
               "the order of x86.def");

/* What to add to an instruction for the signs of its operands. */
static X86Form fma_signs(const Native *n)
{
    bool product = native_is_negated(n, 0) != native_is_negated(n, 1);
    return NEXT_SIGN * (2u * product + native_is_negated(n, 2));
}

/* The result takes the register of an operand that ends here: of the sum (231), or of a
 * factor (213), which spares loading a sum that is in memory. */
static uint32_t fma_over(const Native *n)
{
    bool keeps = !native_dies(n, 2) || !native_in_register(n, 2);
    if (keeps && (native_dies(n, 0) || native_dies(n, 1)))
        return !native_dies(n, 0);
    return 2;
}

/* Only the last operand of the instruction may be in memory. */
bool forms_fma(Native *n, const NativeRow *row)
{
    X86Form form = fma_signs(n) | forms_length(n, native_type(n, 0));
    uint32_t over = native_merged_over(n, fma_over(n));
    if (over < 2) {
        NativeReg b = native_use(n, 1 - over);
        NativeOperand c = native_use_rm(n, 2);
        NativeReg to = forms_result_over_merged(n, over, &form);
        forms_rrx(n, row->extra + form, to, b, c);
        return true;
    }
    uint32_t last = native_in_register(n, 1) && !native_in_register(n, 0) ? 0 : 1;
    NativeReg a = native_use(n, 1 - last);
    NativeOperand b = native_use_rm(n, last);
    NativeReg to = forms_result_over_merged(n, 2, &form);
    forms_rrx(n, row->inst + form, to, a, b);
    return true;
}

/*
 * MIN and MAX: one operand ('over': b of MIN, a of MAX) is the result where the other
 * is NaN. Else VMINPS(b, a) is right: it gives a where they are equal or b is NaN, as
 * does VMAXPS(a, b) with b. A literal spares the test: if it is the other operand
 * because it is not a NaN; if it is 'over', as second source, unless zeros could meet.
 */
bool forms_choose_literal(Native *n, const NativeRow *row)
{
    X86Form form = row->inst | forms_length(n, native_type(n, 0));
    uint32_t over = row->param, other = 1 - over;
    uint64_t magnitude;
    bool swap = forms_is_number(n, over, &magnitude) && magnitude != 0;
    if (!swap && !forms_is_number(n, other, &magnitude))
        return false;
    uint32_t first = swap ? other : over;
    NativeReg a = native_use(n, first);
    NativeOperand b = native_use_rm(n, 1 - first);
    NativeReg to = forms_result_merged(n, &form);
    forms_rrx(n, form, to, a, b);
    return true;
}

bool forms_same(Native *n, const NativeRow *row)
{
    (void) row;
    native_result_same(n, 0);
    return true;
}

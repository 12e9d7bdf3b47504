/*
 * avx2_float.c -- floats, selections and masks
 *
 * Where C and ops.def say more than an instruction does about NaN and the sign of zero,
 * the comments give the difference. In short: VMINPS and VMAXPS give their second
 * source if a source is NaN or both are zeros.
 */
#include "engine/native/x86/avx2/avx2.h"

bool avx2_float_copysign(Native *n, const NativeRow *row)
{
    (void) row;
    VarType type = native_type(n, 0);
    uint32_t bits = forms_bits(type);
    uint64_t sign = UINT64_C(1) << (type_info[type].size * 8 - 1);
    X86Form length = forms_length(n, type);
    NativeReg a = native_use(n, 0), b = native_use(n, 1), signs = native_temp(n);
    NativeReg to = native_result(n);
    forms_rrx(n, X86_VPANDD | length, signs, b, native_const(n, bits, sign));
    forms_rrx(n, X86_VPANDD | length, to, a, native_const(n, bits, sign - 1));
    x86_rrr(x86_native(n), X86_VPORD | length, to, to, signs);
    return true;
}

/* ---- smaller and larger */

/* to = a where 'a' is not a NaN, else b. */
static void prefer_number(Native *n, VarType type, NativeReg to, NativeReg a,
                          NativeReg value, NativeReg b)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, type);
    bool wide = type == VarTypeFloat64;
    NativeReg nan = native_temp(n);
    x86_rrri(x, (wide ? X86_VCMPPD : X86_VCMPPS) | length, nan, a, a, X86_CMP_UNORD_Q);
    x86_rrrr(x, (wide ? X86_VBLENDVPD : X86_VBLENDVPS) | length, to, value, b, nan);
}

/* See forms_choose_literal(). */
bool avx2_float_choose(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    X86Form form = row->inst | forms_length(n, type);
    uint32_t over = row->param, other = 1 - over;
    if (forms_choose_literal(n, row))
        return true;
    NativeReg a = native_use(n, over), test = native_use(n, other);
    NativeReg chosen = native_temp(n), to = native_result(n);
    x86_rrr(x86_native(n), form, chosen, a, test);
    prefer_number(n, type, to, test, chosen, a);
    return true;
}

/*
 * FMIN and FMAX. NaN in 'a' gives way to b, and VMINPS(b, a) leaves out NaN in 'b'. It
 * gives a where they are equal; zeros may have two signs, of which the bits of b lead
 * to the right one: 'extra' combines them with the mask of equal lanes, 'param' that
 * with the result.
 */
bool avx2_float_range(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    VarType type = native_type(n, 0);
    X86Form length = forms_length(n, type);
    X86Op compare = type == VarTypeFloat64 ? X86_VCMPPD : X86_VCMPPS;
    uint64_t magnitude;
    NativeReg first = native_use(n, 0), b = native_use(n, 1), a = first;
    if (!forms_is_number(n, 0, &magnitude)) {
        a = native_temp(n);
        prefer_number(n, type, a, first, first, b);
    }
    NativeReg equal = native_temp(n), chosen = native_temp(n);
    NativeReg to = native_result(n);
    x86_rrri(x, compare | length, equal, a, b, X86_CMP_EQ_OQ);
    x86_rrr(x, row->inst | length, chosen, b, a);
    x86_rrr(x, row->extra | length, equal, b, equal);
    x86_rrr(x, row->param | length, to, equal, chosen);
    return true;
}

/* ---- comparisons: 'param' is the predicate, 'extra' that of swapped operands */

bool avx2_float_compare(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    uint64_t bits;
    bool swap = native_is_literal(n, 0, &bits) ||
                (!native_in_register(n, 0) && native_in_register(n, 1));
    NativeReg a = native_use(n, swap);
    NativeOperand b = native_use_rm(n, !swap);
    NativeReg to = native_result_mask(n, forms_bits(type));
    forms_rrxi(n, row->inst | forms_length(n, type), to, a, b,
               swap ? row->extra : (int32_t) row->param);
    return true;
}

/* ---- selections */

/* 'inst' selects. m ? a : 0 is m & a, and m ? 0 : b is ~m & b. */
bool avx2_float_select(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 1);
    X86Form length = forms_length(n, type);
    uint64_t bits;
    bool no_a = forms_is_literal(n, 1, &bits) && bits == 0;
    bool no_b = forms_is_literal(n, 2, &bits) && bits == 0;
    NativeReg mask = native_use_mask(n, 0, forms_bits(type));
    if (no_a || no_b) {
        NativeOperand value = native_use_rm(n, no_b ? 1 : 2);
        NativeReg to = native_result(n);
        forms_rrx(n, (no_b ? X86_VPANDD : X86_VPANDND) | length, to, mask, value);
        return true;
    }
    NativeReg b = native_use(n, 2);
    NativeOperand a = native_use_rm(n, 1);
    NativeReg to = native_result(n);
    if (a.kind == NATIVE_IN_REG)
        x86_rrrr(x86_native(n), row->inst | length, to, b, a.reg, mask);
    else
        x86_rrmr(x86_native(n), row->inst | length, to, b, forms_mem(a), mask);
    return true;
}

/* ---- masks */

/* The wider one of the lanes that operands have, as they are cheaper to make; those of
 * literals do not count. */
static uint32_t common_bits(const Native *n)
{
    uint32_t bits = 32;
    uint64_t literal;
    for (uint32_t k = 0; k < native_inst(n)->count; ++k)
        if (!native_is_literal(n, k, &literal) && native_mask_bits(n, k) == 64)
            bits = 64;
    return bits;
}

bool avx2_float_mask(Native *n, const NativeRow *row)
{
    uint32_t bits = common_bits(n);
    NativeReg a = native_use_mask(n, 0, bits), b = native_use_mask(n, 1, bits);
    NativeReg to = native_result_mask(n, bits);
    x86_rrr(x86_native(n), row->inst | avx2_mask_length(n, bits), to, a, b);
    return true;
}

bool avx2_float_mask_not(Native *n, const NativeRow *row)
{
    uint32_t bits = common_bits(n);
    NativeReg a = native_use_mask(n, 0, bits);
    NativeReg to = native_result_mask(n, bits);
    forms_rrx(n, row->inst | avx2_mask_length(n, bits), to, a,
              native_const(n, 64, UINT64_MAX));
    return true;
}

bool avx2_float_mask_select(Native *n, const NativeRow *row)
{
    uint32_t bits = common_bits(n);
    NativeReg mask = native_use_mask(n, 0, bits);
    NativeReg a = native_use_mask(n, 1, bits), b = native_use_mask(n, 2, bits);
    NativeReg to = native_result_mask(n, bits);
    x86_rrrr(x86_native(n), row->inst | avx2_mask_length(n, bits), to, b, a, mask);
    return true;
}

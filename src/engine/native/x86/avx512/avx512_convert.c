/*
 * avx512_convert.c -- casts
 *
 * Conversions to integers saturate and make NaN 0. The instructions give MIN (signed)
 * or all ones (unsigned) for whatever does not fit, so that
 *
 *     signed     a zeroing mask leaves NaN out, and what is too large is inverted: ~MIN
 *     unsigned   VMAXPS(a, 0) gives 0 for negative numbers and if a is NaN
 *     8, 16 bits are clamped before
 *
 * forms_convert.c has the other casts.
 */
#include "engine/native/x86/avx512/avx512.h"

static X86Form longer(const Native *n, VarType a, VarType b)
{
    X86Form of_a = forms_length(n, a), of_b = forms_length(n, b);
    return of_a > of_b ? of_a : of_b;
}

/* From 64 bits to 8, 16 or 32. */
bool avx512_convert_cut_long(Native *n, const NativeRow *row)
{
    (void) row;
    VarType type = native_result_type(n);
    NativeReg a = native_use(n, 0), to = native_result(n);
    x86_rr(x86_native(n), X86_VPMOVQD | forms_cast_length(n), to, a);
    if (type_info[type].size < 4 && !native_takes_form(n, NATIVE_LOOSE))
        forms_extend(n, type, to, to);
    return true;
}

/* ---- masks */

/* Lanes that are not 0, with the sign of floats left out ('param'). */
bool avx512_convert_to_mask(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    X86Form form = row->inst | forms_length(n, type);
    NativeReg a = native_use(n, 0);
    if (!row->param) {
        x86_rrr(x86_native(n), form, native_result_mask(n, 32), a, a);
        return true;
    }
    uint64_t sign = UINT64_C(1) << (type_info[type].size * 8 - 1);
    NativeOperand others = native_const(n, forms_bits(type), sign - 1);
    forms_rrx(n, form, native_result_mask(n, 32), a, others);
    return true;
}

/* 'param' is the number 1, in the upper half of lanes of 64 bits if 'extra'. */
bool avx512_convert_from_mask(Native *n, const NativeRow *row)
{
    VarType type = native_result_type(n);
    uint32_t bits = forms_bits(type);
    NativeReg mask = native_use_mask(n, 0, bits), to = native_result(n);
    NativeOperand one = native_const(n, bits, (uint64_t) row->param << row->extra);
    X86Form form = forms_by_width(n, type, X86_VPBROADCASTD, X86_VPBROADCASTQ);
    x86_rm(x86_native(n), form | X86_K(mask) | X86_Z, to, forms_mem(one));
    return true;
}

/* ---- Float16 */

/* Truncated to Float32, with the last bit set if that lost something. */
bool avx512_convert_double_to_half(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    NativeReg a = native_use(n, 0);
    NativeReg back = native_temp(n), inexact = native_temp_mask(n);
    NativeOperand one = native_const(n, 32, 1);
    NativeReg to = native_result_fresh(n);
    x86_rr(x, X86_VCVTPD2PS | X86_512 | X86_RZ, to, a);
    x86_rr(x, X86_VCVTPS2PD | X86_512, back, to);
    x86_rrri(x, X86_VCMPPD_K | X86_512, inexact, back, a, X86_CMP_NEQ_UQ);
    forms_rrx(n, X86_VPORD | X86_256 | X86_K(inexact), to, to, one);
    forms_narrow(n, to, to);
    return true;
}

/*
 * a * b + c in Float16, rounded once: in Float32 the product is exact, and the sum is
 * rounded to odd. That is the odd one of the sums rounded down and rounded up, which
 * are neighbours if they differ, or that rounded up, as which x - x is +0. Rounding is
 * given with vectors of 512 bits only.
 */
bool avx512_convert_half_fma(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeFloat32);
    NativeReg wide[3], odd = native_temp_mask(n), up = native_temp(n);
    for (uint32_t k = 0; k < 3; ++k) {
        NativeReg a = native_use(n, k);
        wide[k] = native_temp(n);
        forms_widen(n, wide[k], a);
    }
    NativeOperand one = native_const(n, 32, 1);
    NativeReg to = native_result(n);
    x86_rr(x, X86_VMOVAPS | X86_512, up, wide[0]);
    x86_rrr(x, X86_VFMADD213PS | X86_512 | X86_RU, up, wide[1], wide[2]);
    x86_rrr(x, X86_VFMADD213PS | X86_512 | X86_RD, wide[0], wide[1], wide[2]);
    forms_rrx(n, X86_VPTESTMD_K | length, odd, wide[0], one);
    x86_rr(x, X86_VMOVAPS | length | X86_K(odd), up, wide[0]);
    forms_narrow(n, to, up);
    return true;
}

/* ---- floats to integers; 'inst' converts */

bool avx512_convert_to_unsigned(Native *n, const NativeRow *row)
{
    VarType from, type = native_result_type(n);
    NativeReg a = forms_use_float(n, &from), inside = native_temp(n),
              to = native_result(n);
    X86Form most = forms_by_width(n, from, X86_VMINPS, X86_VMINPD);
    X86Form least = forms_by_width(n, from, X86_VMAXPS, X86_VMAXPD);
    forms_rrx(n, least, inside, a, forms_number(n, from, 0));
    if (type_info[type].size < 4) {
        double limit = (1 << type_info[type].size * 8) - 1;
        forms_rrx(n, most, inside, inside, forms_number(n, from, limit));
    }
    x86_rr(x86_native(n), row->inst | longer(n, from, type), to, inside);
    return true;
}

bool avx512_convert_to_signed(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    VarType from, type = native_result_type(n);
    NativeReg a = forms_use_float(n, &from);
    NativeReg number = native_temp_mask(n), large = native_temp_mask(n);
    X86Form compare = forms_by_width(n, from, X86_VCMPPS_K, X86_VCMPPD_K);
    uint32_t width = type_info[type].size * 8;
    double limit = (double) (UINT64_C(1) << (width - 1));
    NativeOperand most = forms_number(n, from, width < 32 ? limit - 1 : limit);
    NativeReg inside = a;

    x86_rrri(x, compare, number, a, a, X86_CMP_ORD_Q);
    if (width < 32) {
        inside = native_temp(n);
        NativeOperand least = forms_number(n, from, -limit);
        forms_rrx(n, forms_by_width(n, from, X86_VMINPS, X86_VMINPD), inside, a,
                  most);
        forms_rrx(n, forms_by_width(n, from, X86_VMAXPS, X86_VMAXPD), inside,
                  inside, least);
    } else {
        forms_rrxi(n, compare, large, a, most, X86_CMP_GE_OQ);
    }
    NativeReg to = native_result(n);
    x86_rr(x, row->inst | longer(n, from, type) | X86_K(number) | X86_Z, to, inside);
    if (width >= 32) {
        X86Form invert = forms_by_width(n, type, X86_VPTERNLOGD, X86_VPTERNLOGQ);
        x86_rrri(x, invert | X86_K(large), to, to, to, 0x55);
    }
    return true;
}

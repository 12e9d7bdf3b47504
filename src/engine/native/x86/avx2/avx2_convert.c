/*
 * avx2_convert.c -- casts
 *
 * Conversions to integers saturate and make NaN 0, mostly by bringing the number into
 * range first. There are instructions to and from Int32 only; others use that the sum
 * of 2^52 and a smaller integer has that integer in its low bits, and likewise
 *
 *     2^84 + 2^32 * h    for upper halves of 64 bits
 *     2^23 + l, 2^39 + 2^16 * h   for halves of UInt32 in single precision
 *
 * so that all but the last addition is exact.
 *
 * Float16 from Float64 through Float32 would be rounded twice, as would Float32 from
 * 64-bit integers through Float64; so the first rounding is towards odd: bits that go
 * leave a 1 behind (forms_convert.c has the other casts).
 */
#include "engine/native/x86/avx2/avx2.h"

#define TWO_52 UINT64_C(0x4330000000000000)

enum { DOWN = 9, TO_ZERO = 11, ODD_LANES = 0xaa };

/* ---- between integers */

void avx2_low_halves(Native *n, NativeReg to, NativeReg from)
{
    X86 *x = x86_native(n);
    x86_rri(x, X86_VEXTRACTI32X4 | X86_256, to, from, 1);
    x86_rrri(x, X86_VSHUFPS | X86_128, to, from, to, 0x88);
}

/* From 64 bits to 8, 16 or 32. */
bool avx2_convert_cut_long(Native *n, const NativeRow *row)
{
    (void) row;
    VarType type = native_result_type(n);
    NativeReg a = native_use(n, 0), to = native_result_fresh(n);
    avx2_low_halves(n, to, a);
    if (type_info[type].size < 4 && !native_takes_form(n, NATIVE_LOOSE))
        forms_extend(n, type, to, to);
    return true;
}

/* ---- masks */

/* Integers that are not 0: 'inst' compares for equality. */
bool avx2_convert_to_mask(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    X86Form length = forms_length(n, type);
    NativeReg a = native_use(n, 0),
              to = native_result_mask(n, forms_bits(type));
    forms_rrx(n, row->inst | length, to, a, native_const(n, 64, 0));
    forms_rrx(n, X86_VPXORD | length, to, to, native_const(n, 64, UINT64_MAX));
    return true;
}

/* Unsigned numbers of 8 and 16 bits are positive as signed ones of 32; so are floats
 * without their sign (the bits in 'param'). */
bool avx2_convert_small_to_mask(Native *n, const NativeRow *row)
{
    X86Form length = forms_length(n, native_type(n, 0));
    NativeReg a = native_use(n, 0), to = native_result_mask(n, 32);
    if (row->param) {
        forms_rrx(n, X86_VPANDD | length, to, a, native_const(n, 32, row->param));
        a = to;
    }
    forms_rrx(n, X86_VPCMPGTD | length, to, a, native_const(n, 32, 0));
    return true;
}

bool avx2_convert_float_to_mask(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    NativeReg a = native_use(n, 0),
              to = native_result_mask(n, forms_bits(type));
    forms_rrxi(n, row->inst | forms_length(n, type), to, a, native_const(n, 64, 0),
               X86_CMP_NEQ_UQ);
    return true;
}

/* 'param' is the number 1, in the upper half of lanes of 64 bits if 'extra'. */
bool avx2_convert_from_mask(Native *n, const NativeRow *row)
{
    VarType type = native_result_type(n);
    uint32_t bits = forms_bits(type);
    NativeReg mask = native_use_mask(n, 0, bits), to = native_result(n);
    forms_rrx(n, X86_VPANDD | forms_length(n, type), to, mask,
              native_const(n, bits, (uint64_t) row->param << row->extra));
    return true;
}

/* ---- UInt32 to floats */

/* Float32, rounded once. */
bool avx2_convert_u32_to_single(Native *n, const NativeRow *row)
{
    (void) row;
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg a = native_use(n, 0), lower = native_temp(n), upper = native_temp(n);
    NativeReg to = native_result(n);
    forms_rrxi(n, X86_VPBLENDW | length, lower, a, native_const(n, 32, 0x4b000000),
               ODD_LANES);
    forms_shift(n, X86_VPSRLD_I | length, upper, a, 16);
    forms_rrx(n, X86_VPORD | length, upper, upper, native_const(n, 32, 0x53000000));
    forms_rrx(n, X86_VSUBPS | length, upper, upper, native_const(n, 32, 0x53000080));
    x86_rrr(x86_native(n), X86_VADDPS | length, to, lower, upper);
    return true;
}

bool avx2_convert_u32_to_double(Native *n, const NativeRow *row)
{
    (void) row;
    NativeOperand a = native_use_rm(n, 0), bias = native_const(n, 64, TWO_52);
    NativeReg to = native_result(n);
    forms_rx(n, X86_VPMOVZXDQ | X86_256, to, a);
    forms_rrx(n, X86_VPORD | X86_256, to, to, bias);
    forms_rrx(n, X86_VSUBPD | X86_256, to, to, bias);
    return true;
}

/* ---- 64-bit integers to floats */

/* to = 'a' as Float64, rounded once. 2^63 makes signed numbers unsigned. */
static void long_to_double(Native *n, NativeReg to, NativeReg a, bool is_signed)
{
    uint64_t top = is_signed ? 0x80000000 : 0,
             both = UINT64_C(0x4530000000100000) + top;
    NativeReg lower = native_temp(n);
    forms_rrxi(n, X86_VPBLENDD | X86_256, lower, a, native_const(n, 64, TWO_52),
               ODD_LANES);
    forms_shift(n, X86_VPSRLQ_I | X86_256, to, a, 32);
    forms_rrx(n, X86_VPXORD | X86_256, to, to,
              native_const(n, 64, UINT64_C(0x4530000000000000) + top));
    forms_rrx(n, X86_VSUBPD | X86_256, to, to, native_const(n, 64, both));
    x86_rrr(x86_native(n), X86_VADDPD | X86_256, to, to, lower);
}

bool avx2_convert_long_to_double(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), to = native_result(n);
    long_to_double(n, to, a, type_info[native_type(n, 0)].is_signed);
    return true;
}

/* to = 'a' without its 'count' lowest bits, rounded to odd. */
static void round_to_odd(Native *n, NativeReg to, NativeReg a, uint32_t count)
{
    const uint64_t low = (UINT64_C(1) << count) - 1;
    NativeReg rest = native_temp(n);
    forms_rrx(n, X86_VPANDD | X86_256, rest, a, native_const(n, 64, low));
    forms_rrx(n, X86_VPADDQ | X86_256, rest, rest, native_const(n, 64, low));
    x86_rrr(x86_native(n), X86_VPORD | X86_256, rest, rest, a);
    forms_rrx(n, X86_VPANDD | X86_256, to, rest, native_const(n, 64, ~low));
}

/* Numbers of more than 53 bits leave out 11, so that all are exact in Float64. */
bool avx2_convert_long_to_single(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    bool is_signed = type_info[native_type(n, 0)].is_signed;
    NativeReg a = native_use(n, 0), odd = native_temp(n), small = native_temp(n);
    NativeReg to = native_result(n);
    round_to_odd(n, odd, a, 11);
    if (is_signed)
        forms_rrx(n, X86_VPADDQ | X86_256, small, a,
                  native_const(n, 64, UINT64_C(1) << 53));
    forms_shift(n, X86_VPSRLQ_I | X86_256, small, is_signed ? small : a,
                      is_signed ? 54 : 53);
    forms_rrx(n, X86_VPCMPEQQ | X86_256, small, small, native_const(n, 64, 0));
    x86_rrrr(x, X86_VBLENDVPD | X86_256, odd, odd, a, small);
    long_to_double(n, odd, odd, is_signed);
    x86_rr(x, X86_VCVTPD2PS | X86_256, to, odd);
    return true;
}

/* ---- Float16 */

/* Numbers from 2^20 on are infinite. */
bool avx2_convert_u32_to_half(Native *n, const NativeRow *row)
{
    (void) row;
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg a = native_use(n, 0), to = native_result(n);
    forms_rrx(n, X86_VPMINUD | length, to, a, native_const(n, 32, 1 << 20));
    x86_rr(x86_native(n), X86_VCVTDQ2PS | length, to, to);
    forms_narrow(n, to, to);
    return true;
}

bool avx2_convert_long_to_half(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), to = native_result(n);
    long_to_double(n, to, a, type_info[native_type(n, 0)].is_signed);
    x86_rr(x86_native(n), X86_VCVTPD2PS | X86_256, to, to);
    forms_narrow(n, to, to);
    return true;
}

bool avx2_convert_double_to_half(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), to = native_result(n);
    round_to_odd(n, to, a, 29);
    x86_rr(x86_native(n), X86_VCVTPD2PS | X86_256, to, to);
    forms_narrow(n, to, to);
    return true;
}

/* ---- floats to integers */

/* to = 'a' with 0 for NaN: a maximum gives its second source, other numbers need a
 * mask. */
static void leave_out_nan(Native *n, VarType from, NativeReg to, NativeReg a,
                          bool is_signed)
{
    X86Form length = forms_length(n, from);
    if (!is_signed) {
        forms_rrx(n, forms_by_width(n, from, X86_VMAXPS, X86_VMAXPD), to, a,
                  native_const(n, 64, 0));
        return;
    }
    NativeReg ordered = native_temp(n);
    x86_rrri(x86_native(n), forms_by_width(n, from, X86_VCMPPS, X86_VCMPPD), ordered, a,
             a, X86_CMP_ORD_Q);
    x86_rrr(x86_native(n), X86_VPANDD | length, to, a, ordered);
}

/* What does not exceed Int32, and what fits Int32 from Float64: 'inst' gives MIN for
 * what is too small for that. */
bool avx2_convert_to_integer(Native *n, const NativeRow *row)
{
    VarType from, type = native_result_type(n);
    bool is_signed = type_info[type].is_signed;
    uint32_t width = type_info[type].size * 8;
    double limit = (double) (UINT64_C(1) << (width - is_signed));
    NativeReg a = forms_use_float(n, &from), inside = native_temp(n),
              to = native_result(n);
    leave_out_nan(n, from, inside, a, is_signed);
    forms_rrx(n, forms_by_width(n, from, X86_VMINPS, X86_VMINPD), inside, inside,
              forms_number(n, from, limit - 1));
    if (is_signed && width < 32)
        forms_rrx(n, forms_by_width(n, from, X86_VMAXPS, X86_VMAXPD), inside,
                  inside, forms_number(n, from, -limit));
    x86_rr(x86_native(n), row->inst | forms_length(n, from), to, inside);
    return true;
}

/* MIN, inverted where the number is too large. */
bool avx2_convert_single_to_i32(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    VarType from;
    X86Form length = forms_length(n, VarTypeInt32);
    NativeReg a = forms_use_float(n, &from), large = native_temp(n),
              result = native_temp(n);
    NativeReg to = native_result(n);
    x86_rr(x, X86_VCVTTPS2DQ | length, result, a);
    forms_rrxi(n, X86_VCMPPS | length, large, a, forms_number(n, from, 0x1p31),
               X86_CMP_GE_OQ);
    x86_rrr(x, X86_VPXORD | length, result, result, large);
    x86_rrri(x, X86_VCMPPS | length, large, a, a, X86_CMP_ORD_Q);
    x86_rrr(x, X86_VPANDD | length, to, result, large);
    return true;
}

/* Numbers from 2^31 on become 2^31, to which the rest is added; numbers from 2^32 on
 * have all bits set. */
bool avx2_convert_single_to_u32(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    VarType from;
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg a = forms_use_float(n, &from), inside = native_temp(n),
              rest = native_temp(n);
    NativeReg large = native_temp(n), to = native_result(n);
    leave_out_nan(n, from, inside, a, false);
    forms_rrx(n, X86_VSUBPS | length, rest, inside,
              forms_number(n, from, 0x1p31));
    forms_rrxi(n, X86_VCMPPS | length, large, inside,
               forms_number(n, from, 0x1p32), X86_CMP_GE_OQ);
    x86_rr(x, X86_VCVTTPS2DQ | length, inside, inside);
    x86_rr(x, X86_VCVTTPS2DQ | length, rest, rest);
    x86_rrr(x, X86_VPORD | length, large, large, inside);
    forms_shift(n, X86_VPSRAD_I | length, inside, inside, 31);
    x86_rrr(x, X86_VPANDD | length, rest, rest, inside);
    x86_rrr(x, X86_VPORD | length, to, large, rest);
    return true;
}

bool avx2_convert_double_to_u32(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), inside = native_temp(n);
    NativeReg to = native_result(n);
    leave_out_nan(n, VarTypeFloat64, inside, a, false);
    forms_rrx(n, X86_VMINPD | X86_256, inside, inside,
              forms_number(n, VarTypeFloat64, UINT32_MAX));
    x86_rri(x86_native(n), X86_VROUNDPD | X86_256, inside, inside, TO_ZERO);
    forms_rrx(n, X86_VADDPD | X86_256, inside, inside, native_const(n, 64, TWO_52));
    avx2_low_halves(n, to, inside);
    return true;
}

/*
 * Both halves of a whole number: the upper one is rounded down, so that the lower one
 * is not negative. 3 * 2^51 takes the place of 2^52 where numbers may be negative.
 */
bool avx2_convert_to_long(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    bool is_signed = type_info[native_result_type(n)].is_signed;
    double limit = is_signed ? 0x1p63 : 0x1p64;
    VarType from, f64 = VarTypeFloat64;
    NativeReg a = forms_use_float(n, &from), number = native_temp(n),
              upper = native_temp(n);
    NativeReg large = native_temp(n);
    NativeReg to = native_result_fresh(n);
    if (from == VarTypeFloat32) {
        x86_rr(x, X86_VCVTPS2PD | X86_256, number, a);
        a = number;
    }
    leave_out_nan(n, f64, number, a, is_signed);
    if (is_signed)
        forms_rrx(n, X86_VMAXPD | X86_256, number, number,
                  forms_number(n, f64, -limit));
    forms_rrxi(n, X86_VCMPPD | X86_256, large, number,
               forms_number(n, f64, limit), X86_CMP_GE_OQ);
    x86_rri(x, X86_VROUNDPD | X86_256, number, number, TO_ZERO);
    forms_rrx(n, X86_VMULPD | X86_256, upper, number,
              forms_number(n, f64, 0x1p-32));
    x86_rri(x, X86_VROUNDPD | X86_256, upper, upper, DOWN);
    NativeReg scale = native_temp(n);
    forms_rx(n, X86_VMOVUPS | X86_256, scale, forms_number(n, f64, 0x1p32));
    x86_rrr(x, X86_VFNMADD231PD | X86_256, number, upper, scale);
    forms_rrx(n, X86_VADDPD | X86_256, upper, upper,
              forms_number(n, f64, is_signed ? 0x1.8p52 : 0x1p52));
    forms_rrx(n, X86_VADDPD | X86_256, number, number, native_const(n, 64, TWO_52));
    forms_shift(n, X86_VPSLLQ_I | X86_256, upper, upper, 32);
    x86_rrri(x, X86_VPBLENDD | X86_256, to, number, upper, ODD_LANES);
    if (!is_signed) {
        x86_rrr(x, X86_VPORD | X86_256, to, to, large);
        return true;
    }
    NativeReg most = native_temp(n);
    forms_rx(n, X86_VMOVUPS | X86_256, most, native_const(n, 64, INT64_MAX));
    x86_rrrr(x, X86_VBLENDVPD | X86_256, to, to, most, large);
    return true;
}

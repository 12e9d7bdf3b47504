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
 * Float16 goes through Float32, which holds all of its values. Towards it that would
 * round Float64 twice, so the first rounding is towards odd (narrow_f64() in
 * lanes_ops.h). Integers that Float32 has to round are infinite in Float16.
 */
#include "engine/native/avx512/avx512.h"

static X86Form longer(const Native *n, VarType a, VarType b)
{
    X86Form of_a = forms_length(n, a), of_b = forms_length(n, b);
    return of_a > of_b ? of_a : of_b;
}

/* The length of the wider side. */
static X86Form cast_length(const Native *n)
{
    return longer(n, native_type(n, 0), native_result_type(n));
}

/* ---- between lanes of one kind */

static bool convert(Native *n, const NativeRow *row)
{
    NativeOperand a = native_use_rm(n, 0);
    NativeReg to = native_result(n);
    forms_rx(n, row->inst | cast_length(n), to, a);
    return true;
}

/* For instructions that cannot broadcast. */
static bool convert_whole(Native *n, const NativeRow *row)
{
    NativeOperand a = forms_use_whole(n, 0);
    NativeReg to = native_result(n);
    forms_rx(n, row->inst | cast_length(n), to, a);
    return true;
}

/* To 8 or 16 bits. */
static bool cut(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), to = native_result(n);
    forms_extend(n, native_result_type(n), to, a);
    return true;
}

/* From 64 bits to 8, 16 or 32. */
static bool cut_long(Native *n, const NativeRow *row)
{
    (void) row;
    VarType type = native_result_type(n);
    NativeReg a = native_use(n, 0), to = native_result(n);
    x86_rr(native_x86(n), X86_VPMOVQD | cast_length(n), to, a);
    if (type_info[type].size < 4)
        forms_extend(n, type, to, to);
    return true;
}

/* ---- masks */

/* Lanes that are not 0, with the sign of floats left out ('param'). */
static bool to_mask(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    X86Form form = row->inst | forms_length(n, type);
    NativeReg a = native_use(n, 0);
    if (!row->param) {
        x86_rrr(native_x86(n), form, native_result_mask(n, 32), a, a);
        return true;
    }
    uint64_t sign = UINT64_C(1) << (type_info[type].size * 8 - 1);
    NativeOperand others = native_const(n, forms_bits(type), sign - 1);
    forms_rrx(n, form, native_result_mask(n, 32), a, others);
    return true;
}

/* 'param' is the number 1, in the upper half of lanes of 64 bits if 'extra'. */
static bool from_mask(Native *n, const NativeRow *row)
{
    VarType type = native_result_type(n);
    uint32_t bits = forms_bits(type);
    NativeReg mask = native_use_mask(n, 0, bits), to = native_result(n);
    NativeOperand one = native_const(n, bits, (uint64_t) row->param << row->extra);
    X86Form form = row->inst | forms_length(n, type) | X86_K(mask) | X86_Z;
    x86_rm(native_x86(n), form, to, forms_mem(one));
    return true;
}

/* ---- Float16 */

/* to (Float32) = the Float16 in register 'a'. */
static void widen(Native *n, NativeReg to, NativeReg a)
{
    X86Form length = forms_length(n, VarTypeFloat16);
    x86_rr(native_x86(n), X86_VPMOVDW | length, to, a);
    x86_rr(native_x86(n), X86_VCVTPH2PS | length, to, to);
}

/* to (Float16) = the Float32 in 'a', rounded to even whatever MXCSR says. */
static void narrow(Native *n, NativeReg to, NativeReg a)
{
    X86Form length = forms_length(n, VarTypeFloat16);
    x86_rri(native_x86(n), X86_VCVTPS2PH | length, to, a, 0);
    x86_rr(native_x86(n), X86_VPMOVZXWD | length, to, to);
}

/* Float16 -> Float32, and on with 'inst' if there is one. */
static bool from_half(Native *n, const NativeRow *row)
{
    NativeReg a = native_use(n, 0), to = native_result(n);
    widen(n, to, a);
    if (row->inst)
        x86_rr(native_x86(n), row->inst | cast_length(n), to, to);
    return true;
}

/* -> Float16, to Float32 with 'inst' first if there is one. */
static bool to_half(Native *n, const NativeRow *row)
{
    NativeReg to;
    if (row->inst) {
        NativeOperand a = native_use_rm(n, 0);
        to = native_result(n);
        forms_rx(n, row->inst | cast_length(n), to, a);
        narrow(n, to, to);
    } else {
        NativeReg a = native_use(n, 0);
        to = native_result(n);
        narrow(n, to, a);
    }
    return true;
}

/* Truncated to Float32, with the last bit set if that lost something. */
static bool double_to_half(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = native_x86(n);
    NativeReg a = native_use(n, 0);
    NativeReg back = native_temp(n), inexact = native_temp_mask(n);
    NativeOperand one = native_const(n, 32, 1);
    NativeReg to = native_result_fresh(n);
    x86_rr(x, X86_VCVTPD2PS | X86_512 | X86_RZ, to, a);
    x86_rr(x, X86_VCVTPS2PD | X86_512, back, to);
    x86_rrri(x, X86_VCMPPD_K | X86_512, inexact, back, a, X86_CMP_NEQ_UQ);
    forms_rrx(n, X86_VPORD | X86_256 | X86_K(inexact), to, to, one);
    narrow(n, to, to);
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
    X86 *x = native_x86(n);
    X86Form length = forms_length(n, VarTypeFloat32);
    NativeReg wide[3], odd = native_temp_mask(n), up = native_temp(n);
    for (uint32_t k = 0; k < 3; ++k) {
        NativeReg a = native_use(n, k);
        wide[k] = native_temp(n);
        widen(n, wide[k], a);
    }
    NativeOperand one = native_const(n, 32, 1);
    NativeReg to = native_result(n);
    x86_rr(x, X86_VMOVAPS | X86_512, up, wide[0]);
    x86_rrr(x, X86_VFMADD213PS | X86_512 | X86_RU, up, wide[1], wide[2]);
    x86_rrr(x, X86_VFMADD213PS | X86_512 | X86_RD, wide[0], wide[1], wide[2]);
    forms_rrx(n, X86_VPTESTMD_K | length, odd, wide[0], one);
    x86_rr(x, X86_VMOVAPS | length | X86_K(odd), up, wide[0]);
    narrow(n, to, up);
    return true;
}

/* ---- floats to integers; 'inst' converts */

/* Operand 0 as Float32 or Float64. */
static NativeReg use_float(Native *n, VarType *type)
{
    NativeReg a = native_use(n, 0);
    *type = native_type(n, 0);
    if (*type != VarTypeFloat16)
        return a;
    NativeReg wide = native_temp(n);
    widen(n, wide, a);
    *type = VarTypeFloat32;
    return wide;
}

static bool to_unsigned(Native *n, const NativeRow *row)
{
    VarType from, type = native_result_type(n);
    NativeReg a = use_float(n, &from), inside = native_temp(n), to = native_result(n);
    X86Form most = forms_by_width(n, from, X86_VMINPS, X86_VMINPD);
    X86Form least = forms_by_width(n, from, X86_VMAXPS, X86_VMAXPD);
    forms_rrx(n, least, inside, a, forms_number(n, from, 0));
    if (type_info[type].size < 4) {
        double limit = (1 << type_info[type].size * 8) - 1;
        forms_rrx(n, most, inside, inside, forms_number(n, from, limit));
    }
    x86_rr(native_x86(n), row->inst | longer(n, from, type), to, inside);
    return true;
}

static bool to_signed(Native *n, const NativeRow *row)
{
    X86 *x = native_x86(n);
    VarType from, type = native_result_type(n);
    NativeReg a = use_float(n, &from);
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

/* ---- the table: [to][from] */

#define FROM(type, ...) [VarType##type] = { .emit = __VA_ARGS__ }
#define FROM_32(...) FROM(Int32, __VA_ARGS__), FROM(UInt32, __VA_ARGS__)
#define FROM_64(...) FROM(Int64, __VA_ARGS__), FROM(UInt64, __VA_ARGS__)
#define FROM_8_16(...)                                \
    FROM(Int8, __VA_ARGS__), FROM(UInt8, __VA_ARGS__), \
        FROM(Int16, __VA_ARGS__), FROM(UInt16, __VA_ARGS__)
#define FROM_FLOATS(function, single, double_)                   \
    FROM(Float16, function, single), FROM(Float32, function, single), \
        FROM(Float64, function, double_)
#define FROM_BOOL_32(one) FROM(Bool, from_mask, X86_VPBROADCASTD, 0, one)
#define FROM_BOOL_64(one, shift) FROM(Bool, from_mask, X86_VPBROADCASTQ, shift, one)
/* What a value of 8 or 16 bits becomes when its lane stays as it is. */
#define SAME forms_same

const NativeCasts avx512_casts = {
    [VarTypeBool] = {
        FROM_8_16(to_mask, X86_VPTESTMD_K),
        FROM_32(to_mask, X86_VPTESTMD_K),
        FROM_64(to_mask, X86_VPTESTMQ_K),
        FROM(Float16, to_mask, X86_VPTESTMD_K, 0, 1),
        FROM(Float32, to_mask, X86_VPTESTMD_K, 0, 1),
        FROM(Float64, to_mask, X86_VPTESTMQ_K, 0, 1),
    },
    [VarTypeInt8] = {
        FROM_BOOL_32(1),
        FROM_8_16(cut),
        FROM_32(cut),
        FROM_64(cut_long),
        FROM_FLOATS(to_signed, X86_VCVTTPS2DQ, X86_VCVTTPD2DQ),
    },
    [VarTypeUInt8] = {
        FROM_BOOL_32(1),
        FROM_8_16(cut),
        FROM_32(cut),
        FROM_64(cut_long),
        FROM_FLOATS(to_unsigned, X86_VCVTTPS2DQ, X86_VCVTTPD2DQ),
    },
    [VarTypeInt16] = {
        FROM_BOOL_32(1),
        FROM(Int8, SAME),
        FROM(UInt8, SAME),
        FROM(UInt16, cut),
        FROM_32(cut),
        FROM_64(cut_long),
        FROM_FLOATS(to_signed, X86_VCVTTPS2DQ, X86_VCVTTPD2DQ),
    },
    [VarTypeUInt16] = {
        FROM_BOOL_32(1),
        FROM(Int8, cut),
        FROM(UInt8, SAME),
        FROM(Int16, cut),
        FROM_32(cut),
        FROM_64(cut_long),
        FROM_FLOATS(to_unsigned, X86_VCVTTPS2DQ, X86_VCVTTPD2DQ),
    },
    [VarTypeInt32] = {
        FROM_BOOL_32(1),
        FROM_8_16(SAME),
        FROM_32(SAME),
        FROM_64(cut_long),
        FROM_FLOATS(to_signed, X86_VCVTTPS2DQ, X86_VCVTTPD2DQ),
    },
    [VarTypeUInt32] = {
        FROM_BOOL_32(1),
        FROM_8_16(SAME),
        FROM_32(SAME),
        FROM_64(cut_long),
        FROM_FLOATS(to_unsigned, X86_VCVTTPS2UDQ, X86_VCVTTPD2UDQ),
    },
    [VarTypeInt64] = {
        FROM_BOOL_64(1, 0),
        FROM(Int8, convert_whole, X86_VPMOVSXDQ),
        FROM(UInt8, convert_whole, X86_VPMOVZXDQ),
        FROM(Int16, convert_whole, X86_VPMOVSXDQ),
        FROM(UInt16, convert_whole, X86_VPMOVZXDQ),
        FROM(Int32, convert_whole, X86_VPMOVSXDQ),
        FROM(UInt32, convert_whole, X86_VPMOVZXDQ),
        FROM_64(SAME),
        FROM_FLOATS(to_signed, X86_VCVTTPS2QQ, X86_VCVTTPD2QQ),
    },
    [VarTypeUInt64] = {
        FROM_BOOL_64(1, 0),
        FROM(Int8, convert_whole, X86_VPMOVSXDQ),
        FROM(UInt8, convert_whole, X86_VPMOVZXDQ),
        FROM(Int16, convert_whole, X86_VPMOVSXDQ),
        FROM(UInt16, convert_whole, X86_VPMOVZXDQ),
        FROM(Int32, convert_whole, X86_VPMOVSXDQ),
        FROM(UInt32, convert_whole, X86_VPMOVZXDQ),
        FROM_64(SAME),
        FROM_FLOATS(to_unsigned, X86_VCVTTPS2UQQ, X86_VCVTTPD2UQQ),
    },
    [VarTypeFloat16] = {
        FROM_BOOL_32(0x3c00),
        FROM_8_16(to_half, X86_VCVTDQ2PS),
        FROM(Int32, to_half, X86_VCVTDQ2PS),
        FROM(UInt32, to_half, X86_VCVTUDQ2PS),
        FROM(Int64, to_half, X86_VCVTQQ2PS),
        FROM(UInt64, to_half, X86_VCVTUQQ2PS),
        FROM(Float16, SAME),
        FROM(Float32, to_half),
        FROM(Float64, double_to_half),
    },
    [VarTypeFloat32] = {
        FROM_BOOL_32(0x3f800000),
        FROM_8_16(convert, X86_VCVTDQ2PS),
        FROM(Int32, convert, X86_VCVTDQ2PS),
        FROM(UInt32, convert, X86_VCVTUDQ2PS),
        FROM(Int64, convert, X86_VCVTQQ2PS),
        FROM(UInt64, convert, X86_VCVTUQQ2PS),
        FROM(Float16, from_half),
        FROM(Float32, SAME),
        FROM(Float64, convert, X86_VCVTPD2PS),
    },
    [VarTypeFloat64] = {
        FROM_BOOL_64(0x3ff00000, 32),
        FROM_8_16(convert, X86_VCVTDQ2PD),
        FROM(Int32, convert, X86_VCVTDQ2PD),
        FROM(UInt32, convert, X86_VCVTUDQ2PD),
        FROM(Int64, convert, X86_VCVTQQ2PD),
        FROM(UInt64, convert, X86_VCVTUQQ2PD),
        FROM(Float16, from_half, X86_VCVTPS2PD),
        FROM(Float32, convert, X86_VCVTPS2PD),
        FROM(Float64, SAME),
    },
};

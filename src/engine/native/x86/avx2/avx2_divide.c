/*
 * avx2_divide.c -- integer division, in floats
 *
 * As in avx512_divide.c: 24 bits (53) of precision are enough for quotients of
 * 16 (32) bits, conversions back truncate and give MIN for MIN / -1 by themselves.
 * Unsigned 32-bit numbers become doubles as low bits of 2^52, and doubles numbers
 * likewise.
 */
#include "engine/native/x86/avx2/avx2.h"

/* 'to' holds the quotient, of divisors 0 anything; make it the result. */
static void finish(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeInt32);
    NativeReg undefined = native_temp(n);
    forms_rrx(n, X86_VPCMPEQD | length, undefined, b, native_const(n, 32, 0));
    x86_rrr(x, X86_VPANDND | length, to, undefined, to);
    forms_divide_rest(n, to, a, b);
}

/* ---- 8 and 16 bits, in single precision */

bool avx2_divide_narrow(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    VarType type = native_type(n, 0);
    X86Form length = forms_length(n, type);
    NativeReg a = native_use(n, 0), b = native_use(n, 1), divisor = native_temp(n);
    NativeReg to = native_result_fresh(n);
    x86_rr(x, X86_VCVTDQ2PS | length, divisor, b);
    x86_rr(x, X86_VCVTDQ2PS | length, to, a);
    x86_rrr(x, X86_VDIVPS | length, to, to, divisor);
    x86_rr(x, X86_VCVTTPS2DQ | length, to, to);
    finish(n, to, a, b);
    if (type_info[type].is_signed && native_inst(n)->op == OP_DIV)
        forms_extend(n, type, to, to);
    return true;
}

/* ---- 32 bits, in double precision */

/* Four quotients; of signed numbers, */
static void divide_signed(Native *n, NativeReg to, NativeReg a, NativeReg b,
                          NativeReg scratch)
{
    X86 *x = x86_native(n);
    x86_rr(x, X86_VCVTDQ2PD | X86_256, scratch, b);
    x86_rr(x, X86_VCVTDQ2PD | X86_256, to, a);
    x86_rrr(x, X86_VDIVPD | X86_256, to, to, scratch);
    x86_rr(x, X86_VCVTTPD2DQ | X86_256, to, to);
}

static void widen(Native *n, NativeReg to, NativeReg a)
{
    NativeOperand bias = native_const(n, 64, UINT64_C(0x4330000000000000));
    x86_rr(x86_native(n), X86_VPMOVZXDQ | X86_256, to, a);
    forms_rrx(n, X86_VPORD | X86_256, to, to, bias);
    forms_rrx(n, X86_VSUBPD | X86_256, to, to, bias);
}

/* and of unsigned ones. */
static void divide_unsigned(Native *n, NativeReg to, NativeReg a, NativeReg b,
                            NativeReg scratch)
{
    enum { TO_ZERO = 11 };
    X86 *x = x86_native(n);
    widen(n, scratch, b);
    widen(n, to, a);
    x86_rrr(x, X86_VDIVPD | X86_256, scratch, to, scratch);
    x86_rri(x, X86_VROUNDPD | X86_256, scratch, scratch, TO_ZERO);
    forms_rrx(n, X86_VADDPD | X86_256, scratch, scratch,
              native_const(n, 64, UINT64_C(0x4330000000000000)));
    avx2_low_halves(n, to, scratch);
}

bool avx2_divide(Native *n, const NativeRow *row)
{
    (void) row;
    if (forms_divide_literal(n))
        return true;
    X86 *x = x86_native(n);
    void (*divide)(Native *, NativeReg, NativeReg, NativeReg, NativeReg) =
        type_info[native_type(n, 0)].is_signed ? divide_signed : divide_unsigned;
    NativeReg a = native_use(n, 0), b = native_use(n, 1), scratch = native_temp(n);
    NativeReg to = native_result_fresh(n);
    if (native_lanes(n) == 8) {
        NativeReg upper_a = native_temp(n), upper_b = native_temp(n);
        NativeReg upper = native_temp(n);
        x86_rri(x, X86_VEXTRACTI32X4 | X86_256, upper_a, a, 1);
        x86_rri(x, X86_VEXTRACTI32X4 | X86_256, upper_b, b, 1);
        divide(n, upper, upper_a, upper_b, scratch);
        divide(n, to, a, b, scratch);
        x86_rrri(x, X86_VINSERTI32X4 | X86_256, to, to, upper, 1);
    } else {
        divide(n, to, a, b, scratch);
    }
    finish(n, to, a, b);
    return true;
}

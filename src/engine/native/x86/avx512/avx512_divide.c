/*
 * avx512_divide.c -- integer division, in floats
 *
 * Vector units divide floats only. 24 bits (53) of precision are enough for quotients
 * of 16 (32) bits: an exact quotient that is not an integer lies too far below the next
 * one for rounding to reach that. Conversions back truncate, give MIN for MIN / -1 by
 * themselves (what does not fit becomes MIN), and 0 for divisors 0 under a zeroing
 * mask. Remainders follow as a - a / b * b, which is a for b = 0.
 *
 * Divisions of 32 bits by literals are multiplications (forms_divide.c).
 *
 * Division of 64 bits takes two steps. Where everything is rounded down, a / b
 * estimated in double precision is never too large, and too small by 2^-50 of it, and
 * one more for being cut to an integer. So the first estimate leaves a rest below 2^15
 * b, and the second one a rest below 2 b.
 */
#include "engine/native/x86/avx512/avx512.h"

/* ---- 8 and 16 bits, in single precision */

bool avx512_divide_narrow(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeInt32);
    NativeReg a = native_use(n, 0), b = native_use(n, 1);
    NativeReg divisor = native_temp(n), nonzero = native_temp_mask(n);
    NativeReg to = native_result_fresh(n);
    x86_rrr(x, X86_VPTESTMD_K | length, nonzero, b, b);
    x86_rr(x, X86_VCVTDQ2PS | length, divisor, b);
    x86_rr(x, X86_VCVTDQ2PS | length, to, a);
    x86_rrr(x, X86_VDIVPS | length, to, to, divisor);
    x86_rr(x, X86_VCVTTPS2DQ | length | X86_K(nonzero) | X86_Z, to, to);
    forms_divide_rest(n, to, a, b);
    VarType type = native_type(n, 0);
    if (type_info[type].is_signed && native_inst(n)->op == OP_DIV)
        forms_extend(n, type, to, to);
    return true;
}

/* ---- 32 bits, in double precision */

/* Eight quotients of doubles, from the low halves of two vectors; 'inst' converts to
 * double, 'extra' back. */
static void divide_8(Native *n, const NativeRow *row, X86Form mask, NativeReg to,
                     NativeReg a, NativeReg b, NativeReg scratch)
{
    X86 *x = x86_native(n);
    x86_rr(x, row->inst | X86_512, scratch, b);
    x86_rr(x, row->inst | X86_512, to, a);
    x86_rrr(x, X86_VDIVPD | X86_512, to, to, scratch);
    x86_rr(x, row->extra | X86_512 | mask, to, to);
}

bool avx512_divide(Native *n, const NativeRow *row)
{
    if (forms_divide_literal(n))
        return true;
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeInt32);
    NativeReg a = native_use(n, 0), b = native_use(n, 1);
    NativeReg scratch = native_temp(n), nonzero = native_temp_mask(n);
    X86Form mask = X86_K(nonzero) | X86_Z;
    if (native_lanes(n) == 8) {
        NativeReg to = native_result_fresh(n);
        x86_rrr(x, X86_VPTESTMD_K | length, nonzero, b, b);
        divide_8(n, row, mask, to, a, b, scratch);
        forms_divide_rest(n, to, a, b);
        return true;
    }
    NativeReg high = native_temp(n), low = native_temp(n);
    NativeReg to = native_result_fresh(n);
    x86_rrr(x, X86_VPTESTMD_K | length, nonzero, b, b);
    x86_rri(x, X86_VEXTRACTI32X8 | X86_512, high, a, 1);
    x86_rri(x, X86_VEXTRACTI32X8 | X86_512, to, b, 1);
    divide_8(n, row, 0, high, high, to, scratch);
    divide_8(n, row, 0, low, a, b, scratch);
    x86_rrri(x, X86_VINSERTI32X8 | X86_512 | mask, to, low, high, 1);
    forms_divide_rest(n, to, a, b);
    return true;
}

/* ---- 64 bits */

/* Estimate of a / b, where 'inverse' is 1 / b rounded down; rest = a - estimate * b. */
static void estimate(Native *n, NativeReg to, NativeReg rest, NativeReg a, NativeReg b,
                     NativeReg inverse)
{
    X86 *x = x86_native(n);
    x86_rr(x, X86_VCVTUQQ2PD | X86_512 | X86_RZ, to, a);
    x86_rrr(x, X86_VMULPD | X86_512 | X86_RZ, to, to, inverse);
    x86_rr(x, X86_VCVTTPD2UQQ | X86_512, to, to);
    x86_rrr(x, X86_VPMULLQ | X86_512, rest, to, b);
    x86_rrr(x, X86_VPSUBQ | X86_512, rest, a, rest);
}

/* Operand k without its sign, if it has one. */
static NativeReg use_size(Native *n, uint32_t k)
{
    NativeReg a = native_use(n, k);
    if (!type_info[native_type(n, k)].is_signed)
        return a;
    NativeReg size = native_temp(n);
    x86_rr(x86_native(n), X86_VPABSQ | X86_512, size, a);
    return size;
}

/* Lanes with a negative result: of quotients where the signs differ, of remainders
 * where that of a is set. */
static NativeReg find_negative(Native *n, NativeReg scratch, bool mod)
{
    NativeReg a = native_use(n, 0), negative = native_temp_mask(n);
    if (!mod)
        x86_rrr(x86_native(n), X86_VPXORQ | X86_512, scratch, a, native_use(n, 1));
    x86_rr(x86_native(n), X86_VPMOVQ2M | X86_512, negative, mod ? a : scratch);
    return negative;
}

/* Divisors 0 leave a as the rest, as it should be. */
bool avx512_divide_long(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    bool mod = native_inst(n)->op == OP_MOD;
    NativeReg a = use_size(n, 0), b = use_size(n, 1);
    NativeReg one = native_const_reg(n, 64, 0x3ff0000000000000);
    NativeReg inverse = native_temp(n), rest = native_temp(n), more = native_temp(n);
    NativeReg last = native_temp(n);
    NativeReg again = native_temp_mask(n), nonzero = native_temp_mask(n);
    NativeReg to = native_result_fresh(n);

    x86_rr(x, X86_VCVTUQQ2PD | X86_512 | X86_RU, inverse, b);
    x86_rrr(x, X86_VDIVPD | X86_512 | X86_RZ, inverse, one, inverse);
    estimate(n, to, rest, a, b, inverse);
    estimate(n, more, last, rest, b, inverse);
    x86_rrri(x, X86_VPCMPUQ_K | X86_512, again, last, b, X86_PCMP_GE);
    if (mod) {
        x86_rr(x, X86_VMOVAPS | X86_512, to, last);
        x86_rrr(x, X86_VPSUBQ | X86_512 | X86_K(again), to, to, b);
    } else {
        x86_rrr(x, X86_VPTESTMQ_K | X86_512, nonzero, b, b);
        x86_rrr(x, X86_VPADDQ | X86_512 | X86_K(nonzero) | X86_Z, to, to, more);
        x86_rrr(x, X86_KANDW, again, again, nonzero);
        forms_rrx(n, X86_VPADDQ | X86_512 | X86_K(again), to, to,
                  native_const(n, 64, 1));
    }
    if (type_info[native_type(n, 0)].is_signed) {
        NativeReg negative = find_negative(n, more, mod);
        x86_rrr(x, X86_VPXORD, rest, rest, rest);
        x86_rrr(x, X86_VPSUBQ | X86_512 | X86_K(negative), to, rest, to);
    }
    return true;
}

/*
 * forms_divide.c -- division of 32-bit integers by literals
 *
 * Division by d is a multiplication by m = (2^(32+p) + e) / d, where e > 0 makes that
 * an integer: a m / 2^(32+p) exceeds a / d by e a / 2^(32+p) / d, less than 1 / d and
 * so harmless for all a if e <= 2^p (signed: 2^(p+1), since a has a bit less). See
 * Granlund and Montgomery, "Division by invariant integers using multiplication"
 * (1994).
 */
#include "engine/native/x86/forms.h"

/* m and p for the divisor d, no power of two; 'spare' is 1 for signed numbers. */
static uint64_t find_factor(uint32_t d, uint32_t spare, uint32_t *p)
{
    for (*p = 0;; ++*p) {
        uint64_t power = UINT64_C(1) << (32 + *p), e = d - power % d;
        if (e <= UINT64_C(1) << (*p + spare))
            return (power + e) / d;
    }
}

/* Where m would need 33 bits, it is rounded down instead and multiplied with a + 1,
 * which is right with the p that makes m as large as it may be. */
FormsFactor forms_divide_factor(uint32_t d)
{
    FormsFactor f;
    f.m = find_factor(d, 0, &f.p);
    f.down = f.m >> 32;
    if (f.down) {
        f.p = 31 - (uint32_t) __builtin_clz(d);
        f.m = (UINT64_C(1) << (32 + f.p)) / d;
    }
    return f;
}

static void divide_unsigned(Native *n, NativeReg to, NativeReg a, uint32_t d)
{
    FormsFactor f = forms_divide_factor(d);
    NativeOperand factor = native_const(n, 64, f.m);
    forms_target(n)->high_product(n, X86_VPMULUDQ, to, a, factor, factor,
                                  f.down ? f.m : 0);
    if (f.p)
        x86_rri(x86_native(n), X86_VPSRLD_I | forms_length(n, VarTypeUInt32), to, to,
                (int32_t) f.p);
}

/* Read as signed, an m with 32 bits is too small by 2^32. Shifts round down; negative
 * quotients get the 1 that is missing for rounding to zero. */
static void divide_signed(Native *n, NativeReg to, NativeReg a, int32_t d)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeInt32);
    uint32_t p;
    uint64_t m = find_factor(d < 0 ? 0 - (uint32_t) d : (uint32_t) d, 1, &p);
    NativeOperand factor = native_const(n, 64, (uint32_t) m);
    NativeReg sign = native_temp(n);
    forms_target(n)->high_product(n, X86_VPMULDQ, to, a, factor, factor, 0);
    if (m >> 31)
        x86_rrr(x, X86_VPADDD | length, to, to, a);
    if (p)
        x86_rri(x, X86_VPSRAD_I | length, to, to, (int32_t) p);
    x86_rri(x, X86_VPSRAD_I | length, sign, a, 31);
    x86_rrr(x, X86_VPSUBD | length, to, d < 0 ? sign : to, d < 0 ? to : sign);
}

/* By 2^k, k > 0: negative numbers are moved up by 2^k - 1 first. */
static void divide_by_power(Native *n, NativeReg to, NativeReg a, uint32_t k,
                            bool is_signed)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeInt32);
    if (!is_signed) {
        x86_rri(x, X86_VPSRLD_I | length, to, a, (int32_t) k);
        return;
    }
    x86_rri(x, X86_VPSRAD_I | length, to, a, 31);
    x86_rri(x, X86_VPSRLD_I | length, to, to, 32 - (int32_t) k);
    x86_rrr(x, X86_VPADDD | length, to, to, a);
    x86_rri(x, X86_VPSRAD_I | length, to, to, (int32_t) k);
}

void forms_divide_rest(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    X86Form length = forms_length(n, VarTypeInt32);
    if (native_inst(n)->op != OP_MOD)
        return;
    x86_rrr(x86_native(n), X86_VPMULLD | length, to, to, b);
    x86_rrr(x86_native(n), X86_VPSUBD | length, to, a, to);
}

bool forms_divide_literal(Native *n)
{
    uint64_t literal;
    if (!forms_is_literal(n, 1, &literal))
        return false;
    uint32_t d = (uint32_t) literal;
    bool is_signed = type_info[native_type(n, 0)].is_signed;
    uint32_t size = is_signed && d >> 31 ? 0 - d : d;
    bool power = (size & (size - 1)) == 0;
    if (size < 2 || size >> 31 || (power && size != d))
        return false;
    NativeReg a = native_use(n, 0), to = native_result_fresh(n);
    if (power)
        divide_by_power(n, to, a, (uint32_t) __builtin_ctz(d), is_signed);
    else if (is_signed)
        divide_signed(n, to, a, (int32_t) d);
    else
        divide_unsigned(n, to, a, d);
    if (native_inst(n)->op == OP_MOD) {
        X86Form length = forms_length(n, VarTypeInt32);
        forms_rrx(n, X86_VPMULLD | length, to, to, native_const(n, 32, d));
        x86_rrr(x86_native(n), X86_VPSUBD | length, to, a, to);
    }
    return true;
}

/*
 * avx2_long.c -- integers of 64 bits
 *
 * AVX2 adds, shifts and compares (signed) lanes of 64 bits. Products are made of 32-bit
 * ones, arithmetic shifts of logical ones.
 */
#include "engine/native/x86/avx2/avx2.h"

static NativeReg zero(Native *n)
{
    return native_const_reg(n, 64, 0);
}

/* A temporary register with the sign of each lane in all bits. */
static NativeReg signs(Native *n, NativeReg a)
{
    NativeReg to = native_temp(n);
    x86_rrr(x86_native(n), X86_VPCMPGTQ | X86_256, to, zero(n), a);
    return to;
}

bool avx2_long_abs(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    NativeReg a = native_use(n, 0), negative = signs(n, a), to = native_result(n);
    x86_rrr(x, X86_VPXORD | X86_256, to, a, negative);
    x86_rrr(x, X86_VPSUBQ | X86_256, to, to, negative);
    return true;
}

/* ---- products */

/* One factor in a register, the halves of the other: of a literal in memory. */
typedef struct Factors {
    NativeReg a;
    NativeOperand low, high;
    bool has_high;
} Factors;

static Factors use_factors(Native *n)
{
    uint64_t bits;
    uint32_t last = !native_is_literal(n, 0, &bits);
    Factors f = { .a = native_use(n, 1 - last), .has_high = true };
    if (native_is_literal(n, last, &bits)) {
        f.low = native_const(n, 64, bits);
        f.high = native_const(n, 64, bits >> 32);
        f.has_high = bits >> 32;
        return f;
    }
    f.low = (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use(n, last) };
    f.high = (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_temp(n) };
    forms_shift(n, X86_VPSRLQ_I | X86_256, f.high.reg, f.low.reg, 32);
    return f;
}

/* to = al * bl + ((ah * bl + al * bh) << 32) */
static void multiply(Native *n, NativeReg to, const Factors *f)
{
    X86 *x = x86_native(n);
    NativeReg upper = native_temp(n);
    forms_shift(n, X86_VPSRLQ_I | X86_256, upper, f->a, 32);
    forms_rrx(n, X86_VPMULUDQ | X86_256, upper, upper, f->low);
    if (f->has_high) {
        NativeReg other = native_temp(n);
        forms_rrx(n, X86_VPMULUDQ | X86_256, other, f->a, f->high);
        x86_rrr(x, X86_VPADDQ | X86_256, upper, upper, other);
    }
    forms_shift(n, X86_VPSLLQ_I | X86_256, upper, upper, 32);
    forms_rrx(n, X86_VPMULUDQ | X86_256, to, f->a, f->low);
    x86_rrr(x, X86_VPADDQ | X86_256, to, to, upper);
}

bool avx2_long_mul(Native *n, const NativeRow *row)
{
    (void) row;
    if (forms_multiply_halves(n))
        return true;
    Factors f = use_factors(n);
    multiply(n, native_result(n), &f);
    return true;
}

bool avx2_long_fma(Native *n, const NativeRow *row)
{
    (void) row;
    Factors f = use_factors(n);
    NativeOperand c = native_use_rm(n, 2);
    NativeReg product = native_temp(n), to = native_result(n);
    multiply(n, product, &f);
    forms_rrx(n, X86_VPADDQ | X86_256, to, product, c);
    return true;
}

/* to -= b where a is negative. */
static void subtract_if_negative(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    X86 *x = x86_native(n);
    NativeReg negative = signs(n, a);
    x86_rrr(x, X86_VPANDD | X86_256, negative, negative, b);
    x86_rrr(x, X86_VPSUBQ | X86_256, to, to, negative);
}

void avx2_subtract_negative(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    subtract_if_negative(n, to, a, b);
    subtract_if_negative(n, to, b, a);
}

/* ---- smaller and larger */

static NativeReg flip(Native *n, NativeReg a)
{
    NativeReg to = native_temp(n);
    forms_rrx(n, X86_VPXORD | X86_256, to, a, native_const(n, 64, UINT64_C(1) << 63));
    return to;
}

/* MIN, or with 'param' MAX. */
bool avx2_long_choose(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    NativeReg a = native_use(n, 0), b = native_use(n, 1), greater = native_temp(n);
    bool is_signed = type_info[native_type(n, 0)].is_signed;
    NativeReg first = is_signed ? a : flip(n, a), second = is_signed ? b : flip(n, b);
    NativeReg to = native_result(n);
    x86_rrr(x, X86_VPCMPGTQ | X86_256, greater, first, second);
    x86_rrrr(x, X86_VBLENDVPD | X86_256, to, row->param ? b : a, row->param ? a : b,
             greater);
    return true;
}

/* ---- arithmetic shifts */

/* The sign, moved to bit 63 - count, is extended by (x ^ m) - m with m = that bit. */
static void shift_literal(Native *n, uint32_t count)
{
    NativeOperand sign = native_const(n, 64, UINT64_C(1) << (63 - count));
    NativeReg a = native_use(n, 0), to = native_result(n);
    forms_shift(n, X86_VPSRLQ_I | X86_256, to, a, count);
    forms_rrx(n, X86_VPXORD | X86_256, to, to, sign);
    forms_rrx(n, X86_VPSUBQ | X86_256, to, to, sign);
}

bool avx2_long_shr(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    uint64_t count;
    if (native_is_literal(n, 1, &count)) {
        shift_literal(n, count < 63 ? (uint32_t) count : 63);
        return true;
    }
    NativeReg a = native_use(n, 0);
    NativeOperand b = native_use_rm(n, 1);
    NativeReg negative = signs(n, a), shifted = native_temp(n), to = native_result(n);
    x86_rrr(x, X86_VPXORD | X86_256, shifted, a, negative);
    forms_rrx(n, X86_VPSRLVQ | X86_256, shifted, shifted, b);
    x86_rrr(x, X86_VPXORD | X86_256, to, shifted, negative);
    return true;
}

/* ---- counting bits */

static void sum_bytes(Native *n, NativeReg to)
{
    forms_rrx(n, X86_VPSADBW | X86_256, to, to, native_const(n, 64, 0));
}

bool avx2_long_popc(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), to = native_result(n);
    avx2_count_bytes(n, X86_256, to, a);
    sum_bytes(n, to);
    return true;
}

/* Those of the upper half, and if that is 0, of the lower half. */
bool avx2_long_clz(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    NativeReg a = native_use(n, 0), counts = native_temp(n), lower = native_temp(n);
    NativeReg to = native_result(n);
    avx2_leading(n, X86_256, counts, a, 158, 32);
    forms_shift(n, X86_VPSRLQ_I | X86_256, to, counts, 32);
    forms_rrx(n, X86_VPCMPEQQ | X86_256, lower, to, native_const(n, 64, 32));
    forms_rrx(n, X86_VPANDD | X86_256, counts, counts, native_const(n, 64, UINT32_MAX));
    x86_rrr(x, X86_VPANDD | X86_256, lower, lower, counts);
    x86_rrr(x, X86_VPADDQ | X86_256, to, to, lower);
    return true;
}

/* Bits below the lowest one: ~a & (a - 1). */
bool avx2_long_ctz(Native *n, const NativeRow *row)
{
    (void) row;
    NativeReg a = native_use(n, 0), below = native_temp(n), to = native_result(n);
    forms_rrx(n, X86_VPADDQ | X86_256, below, a, native_const(n, 64, UINT64_MAX));
    x86_rrr(x86_native(n), X86_VPANDND | X86_256, below, a, below);
    avx2_count_bytes(n, X86_256, to, below);
    sum_bytes(n, to);
    return true;
}

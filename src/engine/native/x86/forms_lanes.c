/*
 * forms_lanes.c -- rows for narrow integers, and other small sequences that both
 * targets have
 *
 * Values of 8 and 16 bits live in lanes of 32, so a row for them computes in 32 bits
 * and extends the result again, unless the result is extended anyway.
 */
#include "engine/native/x86/forms.h"

/* ---- integers */

void forms_extend(Native *n, VarType type, NativeReg to, NativeReg from)
{
    uint32_t above = 32 - 8 * type_info[type].size;
    X86Form length = forms_length(n, type);
    if (!type_info[type].is_signed || type_info[type].is_float) {
        forms_rrx(n, X86_VPANDD | length, to, from,
                  native_const(n, 32, UINT32_MAX >> above));
        return;
    }
    forms_shift(n, X86_VPSLLD_I | length, to, from, above);
    forms_shift(n, X86_VPSRAD_I | length, to, to, above);
}

void forms_scale(Native *n, NativeReg to, NativeReg index, uint32_t factor)
{
    X86Form length = forms_length(n, VarTypeUInt32);
    if (factor & (factor - 1))
        forms_rrx(n, X86_VPMULLD | length, to, index, native_const(n, 32, factor));
    else
        forms_shift(n, X86_VPSLLD_I | length, to, index,
                    (uint32_t) __builtin_ctz(factor));
}

NativeOperand forms_use_whole(Native *n, uint32_t k)
{
    NativeOperand a = native_use_rm(n, k);
    if (a.kind == NATIVE_IN_BROADCAST)
        a = (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use(n, k) };
    return a;
}

/* Is there anything above the bits of an operand? */
static bool is_loose(const Native *n)
{
    bool loose = false;
    for (uint32_t k = 0; k < native_inst(n)->count; ++k)
        loose |= native_has_form(n, k, NATIVE_LOOSE);
    return loose;
}

static void finish(Native *n, const NativeRow *row, NativeReg to)
{
    if ((row->param & FORMS_EXTEND || is_loose(n)) &&
        !native_takes_form(n, NATIVE_LOOSE))
        forms_extend(n, native_result_type(n), to, to);
}

static NativeOperand use_rm(Native *n, const NativeRow *row, uint32_t k)
{
    return row->param & FORMS_WHOLE ? forms_use_whole(n, k) : native_use_rm(n, k);
}

bool forms_integer_unary(Native *n, const NativeRow *row)
{
    NativeOperand a = use_rm(n, row, 0);
    NativeReg to = native_result(n);
    forms_rx(n, row->inst | forms_length(n, native_type(n, 0)), to, a);
    finish(n, row, to);
    return true;
}

bool forms_integer_binary(Native *n, const NativeRow *row)
{
    uint32_t first = op_info[native_inst(n)->op].flags & F_COMMUTES &&
                     !native_in_register(n, 0) && native_in_register(n, 1);
    NativeReg a = native_use(n, first);
    NativeOperand b = use_rm(n, row, 1 - first);
    NativeReg to = native_result(n);
    forms_rrx(n, row->inst | forms_length(n, native_type(n, 0)), to, a, b);
    finish(n, row, to);
    return true;
}

bool forms_integer_neg(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    NativeOperand a = use_rm(n, row, 0);
    NativeReg zero = native_const_reg(n, forms_bits(type), 0);
    X86Form form = row->inst | forms_length(n, type);
    NativeReg to = row->param ? native_result(n) : forms_result_merged(n, &form);
    forms_rrx(n, form, to, zero, a);
    finish(n, row, to);
    return true;
}

/* a * b + c: 'inst' multiplies, 'extra' adds. */
bool forms_integer_fma(Native *n, const NativeRow *row)
{
    X86Form length = forms_length(n, native_type(n, 0));
    uint32_t first = !native_in_register(n, 0) && native_in_register(n, 1);
    NativeReg a = native_use(n, first);
    NativeOperand b = use_rm(n, row, 1 - first), c = use_rm(n, row, 2);
    NativeReg product = native_temp(n), to = native_result(n);
    forms_rrx(n, row->inst | length, product, a, b);
    forms_rrx(n, row->extra | length, to, product, c);
    finish(n, row, to);
    return true;
}

/* MUL_HI of 8 and 16 bits: the product in 32 bits, shifted ('extra') by 'param'. */
bool forms_integer_mul_shift(Native *n, const NativeRow *row)
{
    X86Form length = forms_length(n, native_type(n, 0));
    uint32_t first = !native_in_register(n, 0) && native_in_register(n, 1);
    NativeReg a = native_use(n, first);
    NativeOperand b = native_use_rm(n, 1 - first);
    NativeReg to = native_result(n);
    forms_rrx(n, row->inst | length, to, a, b);
    forms_shift(n, row->extra | length, to, to, row->param);
    return true;
}

/* ---- shifts */

/* VEX shifts a register by an immediate, not what is in memory. */
static NativeOperand use_shifted(Native *n)
{
    if (n->target->broadcasts)
        return native_use_rm(n, 0);
    return (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use(n, 0) };
}

/* Left shifts of narrow types go to the top of the lane at once, from where the
 * extension comes back. */
static void shift_literal(Native *n, const NativeRow *row, uint32_t count)
{
    VarType type = native_type(n, 0);
    uint32_t above = forms_bits(type) - 8 * type_info[type].size;
    X86Form length = forms_length(n, type), form = row->extra | length;
    NativeOperand a = use_shifted(n);
    if (!(row->param & FORMS_EXTEND)) {
        NativeReg to = forms_result_merged(n, &form);
        forms_rxi(n, form, to, a, (int32_t) count);
        return;
    }
    NativeReg to = native_result(n);
    X86Form back = type_info[type].is_signed ? X86_VPSRAD_I : X86_VPSRLD_I;
    forms_rxi(n, form, to, a, (int32_t) (count + above));
    forms_shift(n, back | length, to, to, above);
}

bool forms_integer_shift(Native *n, const NativeRow *row)
{
    uint64_t count;
    if (forms_is_literal(n, 1, &count)) {
        uint32_t bits = forms_bits(native_type(n, 0));
        shift_literal(n, row, count < bits ? (uint32_t) count : bits);
        return true;
    }
    return row->param & FORMS_EXTEND ? forms_integer_binary(n, row)
                                     : forms_binary(n, row);
}

/* ---- wide products */

/* A literal is the same in odd and even lanes. */
bool forms_integer_mul_hi(Native *n, const NativeRow *row)
{
    uint64_t bits;
    uint32_t last = !forms_is_literal(n, 0, &bits);
    NativeReg a = native_use(n, 1 - last);
    NativeOperand b, b_odd;
    if (forms_is_literal(n, last, &bits)) {
        b = b_odd = native_const(n, n->target->broadcasts ? 64 : 32, bits);
    } else {
        b = b_odd =
            (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use(n, last) };
        b_odd.reg = native_temp(n);
        x86_rr(x86_native(n), X86_VMOVSHDUP | forms_length(n, VarTypeUInt32), b_odd.reg,
               b.reg);
    }
    forms_target(n)->high_product(n, row->inst, native_result(n), a, b, b_odd, 0);
    return true;
}

/*
 * 64 x 64 bits in schoolbook manner from halves; no sum overflows:
 *
 *     mixed = al * bh + (al * bl >> 32)
 *     other = ah * bl + low half of mixed
 *     high  = ah * bh + (mixed >> 32) + (other >> 32)
 *
 * Read as unsigned, a negative factor is too large by 2^64: signed results subtract the
 * other one.
 */
bool forms_integer_mul_hi_long(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt64);
    NativeReg a = native_use(n, 0), b = native_use(n, 1);
    NativeReg ah = native_temp(n), bh = native_temp(n);
    NativeReg mixed = native_temp(n), other = native_temp(n);
    NativeReg to = native_result_fresh(n);
    forms_shift(n, X86_VPSRLQ_I | length, ah, a, 32);
    forms_shift(n, X86_VPSRLQ_I | length, bh, b, 32);
    x86_rrr(x, X86_VPMULUDQ | length, other, a, b);
    forms_shift(n, X86_VPSRLQ_I | length, other, other, 32);
    x86_rrr(x, X86_VPMULUDQ | length, mixed, a, bh);
    x86_rrr(x, X86_VPADDQ | length, mixed, mixed, other);
    x86_rrr(x, X86_VPMULUDQ | length, to, ah, bh);
    x86_rrr(x, X86_VPMULUDQ | length, ah, ah, b);
    forms_rrx(n, row->inst | length, other, mixed, native_const(n, 64, UINT32_MAX));
    x86_rrr(x, X86_VPADDQ | length, other, other, ah);
    forms_shift(n, X86_VPSRLQ_I | length, mixed, mixed, 32);
    forms_shift(n, X86_VPSRLQ_I | length, other, other, 32);
    x86_rrr(x, X86_VPADDQ | length, to, to, mixed);
    x86_rrr(x, X86_VPADDQ | length, to, to, other);
    if (row->param)
        forms_target(n)->subtract_negative(n, to, a, b);
    return true;
}

/* 32 x 32 = 64 bits: 'inst' multiplies the low halves of 64-bit lanes, 'extra' makes
 * those. */
static NativeOperand use_wide(Native *n, const NativeRow *row, uint32_t k)
{
    uint64_t bits;
    if (forms_is_literal(n, k, &bits))
        return native_const(n, 64, bits);
    NativeOperand a = forms_use_whole(n, k);
    NativeReg wide = native_temp(n);
    forms_rx(n, row->extra | forms_length(n, VarTypeUInt64), wide, a);
    return (NativeOperand){ .kind = NATIVE_IN_REG, .reg = wide };
}

bool forms_integer_mul_wide(Native *n, const NativeRow *row)
{
    uint64_t bits = 0;
    uint32_t last = !forms_is_literal(n, 0, &bits);
    NativeOperand a = use_wide(n, row, 1 - last), b = use_wide(n, row, last);
    if (a.kind != NATIVE_IN_REG) { /* both are literals */
        b = a;
        a = (NativeOperand){ .kind = NATIVE_IN_REG,
                             .reg = native_const_reg(n, 64, bits) };
    }
    NativeReg to = native_result(n);
    forms_rrx(n, row->inst | forms_length(n, VarTypeUInt64), to, a.reg, b);
    return true;
}

/* ---- floats */

NativeOperand forms_number(Native *n, VarType type, double value)
{
    union { double d; uint64_t bits; } wide = { .d = value };
    union { float f; uint32_t bits; } narrow = { .f = (float) value };
    return type == VarTypeFloat64 ? native_const(n, 64, wide.bits)
                                  : native_const(n, 32, narrow.bits);
}

/* Combine with the sign bit, or (param) with all others. */
bool forms_sign(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    NativeReg a = native_use(n, 0);
    uint64_t sign = UINT64_C(1) << (type_info[type].size * 8 - 1);
    NativeOperand bits =
        native_const(n, forms_bits(type), row->param ? sign - 1 : sign);
    X86Form form = row->inst | forms_length(n, type);
    NativeReg to = forms_result_merged(n, &form);
    forms_rrx(n, form, to, a, bits);
    return true;
}

bool forms_rcp(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    NativeOperand a = native_use_rm(n, 0);
    NativeReg numerator = type == VarTypeFloat64
                              ? native_const_reg(n, 64, 0x3ff0000000000000)
                              : native_const_reg(n, 32, 0x3f800000);
    X86Form form = row->inst | forms_length(n, type);
    NativeReg to = forms_result_merged(n, &form);
    forms_rrx(n, form, to, numerator, a);
    return true;
}

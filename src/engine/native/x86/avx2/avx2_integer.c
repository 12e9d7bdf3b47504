/*
 * avx2_integer.c -- integers of up to 32 bits, and comparisons of all
 *
 * There are comparisons for equality and for the order of signed numbers, of which
 * those of 8 and 16 bits in 32-bit lanes are a part. Unsigned 32-bit numbers are
 * compared by their minimum: a <= b if min(a, b) = a.
 *
 * Bits are counted and reversed by a table of 16 entries, a half of a byte at a time;
 * zeros at either end are seen in the exponent of a float.
 */
#include <string.h>

#include "engine/native/x86/avx2/avx2.h"

/* ---- comparisons */

static void invert(Native *n, X86Form length, NativeReg to)
{
    forms_rrx(n, X86_VPXORD | length, to, to, native_const(n, 64, UINT64_MAX));
}

/* Operand k with its top bit flipped. */
static NativeOperand use_flipped(Native *n, uint32_t k)
{
    const uint64_t top = UINT64_C(1) << 63;
    uint64_t bits;
    if (forms_is_literal(n, k, &bits))
        return native_const(n, 64, bits ^ top);
    NativeReg a = native_use(n, k), flipped = native_temp(n);
    forms_rrx(n, X86_VPXORD | X86_256, flipped, a, native_const(n, 64, top));
    return (NativeOperand){ .kind = NATIVE_IN_REG, .reg = flipped };
}

static bool compare_flipped(Native *n, const NativeRow *row)
{
    uint32_t first = row->param & NATIVE_AVX2_SWAP;
    NativeOperand a = use_flipped(n, first), b = use_flipped(n, 1 - first);
    if (a.kind != NATIVE_IN_REG) {
        NativeReg reg = native_temp(n);
        x86_rm(x86_native(n), X86_VMOVUPS | X86_256, reg, forms_mem(a));
        a.reg = reg;
    }
    NativeReg to = native_result_mask(n, 64);
    forms_rrx(n, row->inst | X86_256, to, a.reg, b);
    if (row->param & NATIVE_AVX2_INVERT)
        invert(n, X86_256, to);
    return true;
}

bool avx2_integer_compare(Native *n, const NativeRow *row)
{
    if (row->param & NATIVE_AVX2_FLIP)
        return compare_flipped(n, row);
    VarType type = native_type(n, 0);
    X86Form length = forms_length(n, type);
    uint32_t first = row->param & NATIVE_AVX2_SWAP;
    if (op_info[native_inst(n)->op].flags & F_COMMUTES)
        first = !native_in_register(n, 0) && native_in_register(n, 1);
    NativeReg a = native_use(n, first);
    NativeOperand b = native_use_rm(n, 1 - first);
    NativeReg to = native_result_mask(n, forms_bits(type));
    forms_rrx(n, row->inst | length, to, a, b);
    if (row->param & NATIVE_AVX2_INVERT)
        invert(n, length, to);
    return true;
}

/* inst(a, b) == a, where 'inst' is a minimum or maximum of 32 bits. */
bool avx2_integer_bound(Native *n, const NativeRow *row)
{
    X86Form length = forms_length(n, native_type(n, 0));
    NativeReg a = native_use(n, 0);
    NativeOperand b = native_use_rm(n, 1);
    NativeReg bound = native_temp(n), to = native_result_mask(n, 32);
    forms_rrx(n, row->inst | length, bound, a, b);
    x86_rrr(x86_native(n), X86_VPCMPEQD | length, to, bound, a);
    if (row->param & NATIVE_AVX2_INVERT)
        invert(n, length, to);
    return true;
}

/* a < b and a > b are opposites of the above. But a < 5 is a <= 4: then the other one
 * of minimum and maximum ('extra') needs no inversion. */
bool avx2_integer_order(Native *n, const NativeRow *row)
{
    uint64_t bits;
    bool less = row->inst == X86_VPMAXUD;
    uint32_t value = 0;
    if (native_is_literal(n, 0, &bits)) {
        value = 1;
        less = !less;
    }
    uint64_t none = less ? 0 : UINT32_MAX;
    if (!forms_is_literal(n, 1 - value, &bits) || bits == none)
        return avx2_integer_bound(n, row);
    X86Form length = forms_length(n, native_type(n, 0));
    NativeReg a = native_use(n, value), bound = native_temp(n);
    NativeReg to = native_result_mask(n, 32);
    forms_rrx(n, (less ? X86_VPMINUD : X86_VPMAXUD) | length, bound, a,
              native_const(n, 32, (uint32_t) (less ? bits - 1 : bits + 1)));
    x86_rrr(x86_native(n), X86_VPCMPEQD | length, to, bound, a);
    return true;
}

/* ---- high halves of products */

void avx2_high_product(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                       NativeOperand b, NativeOperand b_odd, uint64_t addend)
{
    enum { ODD_LANES = 0xaa };
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg odd = native_temp(n);
    x86_rr(x, X86_VMOVSHDUP | length, odd, a);
    forms_rrx(n, multiply | length, odd, odd, b_odd);
    forms_rrx(n, multiply | length, to, a, b);
    if (addend) {
        NativeOperand c = native_const(n, 64, addend);
        forms_rrx(n, X86_VPADDQ | length, odd, odd, c);
        forms_rrx(n, X86_VPADDQ | length, to, to, c);
    }
    x86_rr(x, X86_VMOVSHDUP | length, to, to);
    x86_rrri(x, X86_VPBLENDD | length, to, to, odd, ODD_LANES);
}

/* ---- tables of 16 bytes */

static NativeReg use_table(Native *n, const uint8_t entries[16])
{
    uint8_t whole[32];
    memcpy(whole, entries, 16);
    memcpy(whole + 16, entries, 16);
    NativeReg to = native_temp(n);
    x86_rm(x86_native(n), X86_VMOVUPS | X86_256, to,
           forms_mem(native_const_vector(n, whole, sizeof whole)));
    return to;
}

/* to = combine(low[lower half of a byte], high[upper half]) */
static void look_up(Native *n, X86Form length, X86Op combine, NativeReg to, NativeReg a,
                    NativeReg low, NativeReg high)
{
    X86 *x = x86_native(n);
    NativeReg upper = native_temp(n), lower = native_temp(n);
    NativeOperand half = native_const(n, 32, 0x0f0f0f0f);
    forms_rrx(n, X86_VPANDD | length, lower, a, half);
    forms_shift(n, X86_VPSRLD_I | length, upper, a, 4);
    forms_rrx(n, X86_VPANDD | length, upper, upper, half);
    x86_rrr(x, X86_VPSHUFB | length, lower, low, lower);
    x86_rrr(x, X86_VPSHUFB | length, upper, high, upper);
    x86_rrr(x, combine | length, to, lower, upper);
}

void avx2_count_bytes(Native *n, X86Form length, NativeReg to, NativeReg a)
{
    static const uint8_t counts[16] = {
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4
    };
    NativeReg table = use_table(n, counts);
    look_up(n, length, X86_VPADDB, to, a, table, table);
}

/* 'param' is the width. Pairs of bytes are added, then pairs of the sums. */
bool avx2_integer_popc(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    X86Form length = forms_length(n, type);
    NativeReg a = native_use(n, 0), to = native_result(n);
    if (type_info[type].is_signed && row->param < 32) {
        forms_extend(n, type_bits(type), to, a);
        a = to;
    }
    avx2_count_bytes(n, length, to, a);
    forms_rrx(n, X86_VPMADDUBSW | length, to, to, native_const(n, 32, 0x01010101));
    forms_rrx(n, X86_VPMADDWD | length, to, to, native_const(n, 32, 0x00010001));
    return true;
}

/* Bytes are reversed by a shuffle, the halves of each by tables. */
bool avx2_integer_brev(Native *n, const NativeRow *row)
{
    static const uint8_t reversed[2][16] = {
        { 0x00, 0x80, 0x40, 0xc0, 0x20, 0xa0, 0x60, 0xe0, 0x10, 0x90, 0x50, 0xd0, 0x30,
          0xb0, 0x70, 0xf0 },
        { 0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15 }
    };
    VarType type = native_type(n, 0);
    X86Form length = forms_length(n, type);
    uint32_t entry = forms_bits(type) / 8;
    uint8_t order[32];
    for (uint32_t i = 0; i < sizeof order; ++i)
        order[i] = (uint8_t) ((i ^ (entry - 1)) & 15);
    NativeReg a = native_use(n, 0);
    NativeReg low = use_table(n, reversed[0]), high = use_table(n, reversed[1]);
    NativeReg to = native_result(n);
    forms_rrx(n, X86_VPSHUFB | length, to, a,
              native_const_vector(n, order, sizeof order));
    look_up(n, length, X86_VPORD, to, to, low, high);
    X86Op back = type_info[type].is_signed ? X86_VPSRAD_I : X86_VPSRLD_I;
    if (row->param < 32)
        forms_shift(n, back | length, to, to, 32 - row->param);
    return true;
}

/* ---- zeros at the ends, by exponents */

/* Without the bits behind ones, numbers are not rounded up to the next power of two.
 * The sign that the conversion gives to the topmost bit makes the result negative. */
void avx2_leading(Native *n, X86Form length, NativeReg to, NativeReg a,
                         uint32_t base, uint32_t most)
{
    X86 *x = x86_native(n);
    NativeReg exponent = native_temp(n), minuend = native_temp(n);
    forms_rx(n, X86_VMOVUPS | length, minuend, native_const(n, 32, base));
    forms_shift(n, X86_VPSRLD_I | length, exponent, a, 1);
    x86_rrr(x, X86_VPANDND | length, exponent, exponent, a);
    x86_rr(x, X86_VCVTDQ2PS | length, exponent, exponent);
    forms_shift(n, X86_VPSRLD_I | length, exponent, exponent, 23);
    x86_rrr(x, X86_VPSUBD | length, to, minuend, exponent);
    forms_rrx(n, X86_VPMAXSD | length, to, to, native_const(n, 32, 0));
    forms_rrx(n, X86_VPMINSD | length, to, to, native_const(n, 32, most));
}

bool avx2_integer_clz(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    uint32_t width = row->param;
    NativeReg a = native_use(n, 0), to = native_result(n);
    if (type_info[type].is_signed && width < 32) {
        forms_extend(n, type_bits(type), to, a);
        a = to;
    }
    avx2_leading(n, forms_length(n, type), to, a, 158 - (32 - width), width);
    return true;
}

/* The exponent of the lowest one; that of 0 is, unsigned, larger than all others. */
bool avx2_integer_ctz(Native *n, const NativeRow *row)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, native_type(n, 0));
    NativeReg a = native_use(n, 0), zero = native_const_reg(n, 32, 0);
    NativeReg to = native_result(n), own = native_temp(n);
    x86_rrr(x, X86_VPSUBD | length, own, zero, a);
    x86_rrr(x, X86_VPANDD | length, to, own, a);
    x86_rr(x, X86_VCVTDQ2PS | length, to, to);
    forms_shift(n, X86_VPSLLD_I | length, to, to, 1);
    forms_shift(n, X86_VPSRLD_I | length, to, to, 24);
    forms_rrx(n, X86_VPADDD | length, to, to, native_const(n, 32, (uint32_t) -127));
    forms_rrx(n, X86_VPMINUD | length, to, to, native_const(n, 32, row->param));
    return true;
}

/*
 * avx512_integer.c -- integer arithmetic
 *
 * Shift counts need no care: VPSLLV and its like give 0 (or sign bits) for every count
 * that is too large. Products of 32 bits exist for every other lane only, with results
 * of 64 bits; high halves of all lanes are computed as even and odd lanes and merged.
 */
#include "base/isa.h"
#include "engine/native/x86/avx512/avx512.h"

enum {
    FIRST_OR_SECOND = 0xd8, /* VPTERNLOG: third ? second : first */
    NOT_THIRD = 0x55
};

bool avx512_integer_not(Native *n, const NativeRow *row)
{
    (void) row;
    X86Form form = forms_by_width(n, native_type(n, 0), X86_VPTERNLOGD, X86_VPTERNLOGQ);
    NativeReg a = native_use(n, 0), to = forms_result_merged(n, &form);
    x86_rrri(x86_native(n), form, to, a, a, NOT_THIRD);
    return true;
}

/* Whole products of 64 bits take three times as long. */
bool avx512_integer_mul_long(Native *n, const NativeRow *row)
{
    return forms_multiply_halves(n) || forms_commute(n, row);
}

/* ---- logic */

/* The operation on columns of a truth table. */
static uint32_t apply(Op op, uint32_t a, uint32_t b)
{
    return op == OP_AND ? a & b : op == OP_OR ? a | b : a ^ b;
}

/* VPTERNLOG wants its first and second operand in registers. */
static void two_operations(Native *n, uint32_t third, Op op)
{
    enum { FIRST = 0xf0, SECOND = 0xcc, THIRD = 0xaa };
    VarType type = native_type(n, 0);
    X86Form form = forms_by_width(n, type, X86_VPTERNLOGD, X86_VPTERNLOGQ);
    uint32_t over = native_dies(n, 1) && !native_dies(n, 0), other = 1 - over;
    Op own = (Op) native_inst(n)->op;
    bool swap = !native_in_register(n, other) && n->values[third].reg != NATIVE_NO_REG;
    NativeReg second = swap ? native_use_value(n, third) : native_use(n, other);
    NativeOperand last = swap ? native_use_rm(n, other) : native_use_value_rm(n, third);
    NativeReg to = native_result_over(n, over);
    uint32_t table = swap ? apply(op, apply(own, FIRST, THIRD), SECOND)
                          : apply(op, apply(own, FIRST, SECOND), THIRD);
    forms_rrxi(n, form, to, second, last, (int32_t) table);
}

static void rotate(Native *n)
{
    NativeReg a = native_use(n, 0);
    NativeOperand turn = native_use_rm(n, 1);
    NativeReg to = native_result(n);
    forms_rrx(n, X86_VPRORVD | forms_length(n, VarTypeUInt32), to, a, turn);
}

bool avx512_integer_logic(Native *n, const NativeRow *row)
{
    uint32_t third;
    Op op;
    if (native_is_rotation(n->f, native_inst(n)))
        rotate(n);
    else if (native_is_merged(n, 0) || native_is_merged(n, 1))
        native_result_same(n, native_is_merged(n, 1));
    else if (native_merge_logic(n, &third, &op))
        two_operations(n, third, op);
    else
        return forms_commute(n, row);
    return true;
}

/* ---- high halves of products */

void avx512_high_product(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                         NativeOperand b, NativeOperand b_odd, uint64_t addend)
{
    X86 *x = x86_native(n);
    X86Form length = forms_length(n, VarTypeUInt32);
    NativeReg even = native_temp(n), even_lanes = native_temp_mask(n);
    x86_rm(x, X86_KMOVW, even_lanes, forms_mem(native_const(n, 32, 0x5555)));
    forms_rrx(n, multiply | length, even, a, b);
    x86_rr(x, X86_VMOVSHDUP | length, to, a);
    forms_rrx(n, multiply | length, to, to, b_odd);
    if (addend) {
        NativeOperand c = native_const(n, 64, addend);
        forms_rrx(n, X86_VPADDQ | length, even, even, c);
        forms_rrx(n, X86_VPADDQ | length, to, to, c);
    }
    x86_rr(x, X86_VMOVSHDUP | length | X86_K(even_lanes), to, even);
}

void avx512_subtract_negative(Native *n, NativeReg to, NativeReg a, NativeReg b)
{
    X86Form length = forms_length(n, VarTypeUInt64);
    NativeReg negative = native_temp_mask(n);
    x86_rr(x86_native(n), X86_VPMOVQ2M | length, negative, a);
    x86_rrr(x86_native(n), X86_VPSUBQ | length | X86_K(negative), to, to, b);
    x86_rr(x86_native(n), X86_VPMOVQ2M | length, negative, b);
    x86_rrr(x86_native(n), X86_VPSUBQ | length | X86_K(negative), to, to, a);
}

/* ---- counting bits; 'param' is the width */

/* Code that is to use an extension says so: it may run elsewhere (src/export). */
static bool use(Native *n, uint32_t extension)
{
    if (!(isa_extensions() & extension))
        return false;
    n->extensions |= extension;
    return true;
}

bool avx512_integer_popc(Native *n, const NativeRow *row)
{
    if (!use(n, ISA_VPOPCNTDQ))
        return false;
    VarType type = native_type(n, 0);
    X86Form form = row->inst | forms_length(n, type);
    if (!type_info[type].is_signed || row->param >= 32) {
        NativeOperand a = native_use_rm(n, 0);
        NativeReg to = native_result(n);
        forms_rx(n, form, to, a);
        return true;
    }
    NativeReg a = native_use(n, 0), to = native_result(n);
    forms_extend(n, type_bits(type), to, a);
    x86_rr(x86_native(n), form, to, to);
    return true;
}

/* Narrow values are moved to the top of the lane, with a one behind them. */
bool avx512_integer_clz(Native *n, const NativeRow *row)
{
    if (!use(n, ISA_CD))
        return false;
    X86Form length = forms_length(n, native_type(n, 0));
    NativeOperand a = native_use_rm(n, 0);
    NativeReg to = native_result(n);
    if (row->param >= 32) {
        forms_rx(n, row->inst | length, to, a);
        return true;
    }
    forms_rxi(n, X86_VPSLLD_I | length, to, a, 32 - (int32_t) row->param);
    forms_rrx(n, X86_VPORD | length, to, to,
              native_const(n, 32, UINT32_C(1) << (31 - row->param)));
    x86_rr(x86_native(n), row->inst | length, to, to);
    return true;
}

/* Bits below the lowest one: ~a & (a - 1). */
bool avx512_integer_ctz(Native *n, const NativeRow *row)
{
    if (!use(n, ISA_VPOPCNTDQ))
        return false;
    VarType type = native_type(n, 0);
    uint32_t bits = forms_bits(type);
    X86Form length = forms_length(n, type);
    NativeReg a = native_use(n, 0), below = native_temp(n), to = native_result(n);
    if (row->param < 32) {
        forms_rrx(n, X86_VPORD | length, to, a,
                  native_const(n, 32, UINT32_C(1) << row->param));
        a = to;
    }
    forms_rrx(n, forms_by_width(n, type, X86_VPADDD, X86_VPADDQ), below, a,
              native_const(n, bits, UINT64_MAX >> (64 - bits)));
    x86_rrr(x86_native(n), X86_VPANDND | length, below, a, below);
    x86_rr(x86_native(n), row->inst | length, to, below);
    return true;
}

/* Bits of bytes, reversed by a multiplication with a matrix of bits. */
static void reverse_in_bytes(Native *n, X86Form length, NativeReg to, NativeReg a)
{
    NativeOperand matrix = native_const(n, 64, UINT64_C(0x8040201008040201));
    forms_rrxi(n, X86_VGF2P8AFFINEQB | length, to, a, matrix, 0);
}

/* The same by looking up the halves of bytes. */
static void look_up_in_bytes(Native *n, X86Form length, NativeReg to, NativeReg a)
{
    static const uint8_t lookup[2][16] = {
        { 0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15 },
        { 0x00, 0x80, 0x40, 0xc0, 0x20, 0xa0, 0x60, 0xe0, 0x10, 0x90, 0x50, 0xd0, 0x30,
          0xb0, 0x70, 0xf0 }
    };
    X86 *x = x86_native(n);
    NativeOperand half = native_const(n, 32, 0x0f0f0f0f);
    NativeReg table = native_temp(n), low = native_temp(n), high = native_temp(n);
    forms_rrx(n, X86_VPANDD | length, low, a, half);
    forms_shift(n, X86_VPSRLD_I | length, high, a, 4);
    forms_rrx(n, X86_VPANDD | length, high, high, half);
    x86_rm(x, X86_VBROADCASTI32X4 | length, table,
           forms_mem(native_const_vector(n, lookup[1], 16)));
    x86_rrr(x, X86_VPSHUFB | length, low, table, low);
    x86_rm(x, X86_VBROADCASTI32X4 | length, table,
           forms_mem(native_const_vector(n, lookup[0], 16)));
    x86_rrr(x, X86_VPSHUFB | length, high, table, high);
    x86_rrr(x, X86_VPORD | length, to, low, high);
}

bool avx512_integer_brev(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    uint32_t bytes = native_bytes(n, type), entry = forms_bits(type) / 8;
    X86Form length = forms_length(n, type);
    uint8_t order[64];
    for (uint32_t i = 0; i < bytes; ++i)
        order[i] = (uint8_t) ((i ^ (entry - 1)) & 15);

    NativeReg a = native_use(n, 0), to = native_result(n);
    if (use(n, ISA_GFNI))
        reverse_in_bytes(n, length, to, a);
    else
        look_up_in_bytes(n, length, to, a);
    x86_rrm(x86_native(n), X86_VPSHUFB | length, to, to,
            forms_mem(native_const_vector(n, order, bytes)));
    if (row->param < 32)
        forms_shift(n,
                    (type_info[type].is_signed ? X86_VPSRAD_I : X86_VPSRLD_I) | length,
                    to, to, 32 - row->param);
    return true;
}

/*
 * avx512_float.c -- floats, comparisons, selections and masks
 *
 * Where C and ops.def say more than an instruction does about NaN and the sign of zero,
 * the comments give the difference. In short: VMINPS and VMAXPS give their second
 * source if a source is NaN or both are zeros; VRANGEPS is the IEEE minimum (-0 < +0, a
 * quiet NaN is missing data), but a signalling NaN wins.
 */
#include "engine/native/x86/avx512/avx512.h"

enum { SCRATCH_MASK = 0 }; /* not in the allocator's hands */

static uint64_t sign_bit(VarType type)
{
    return UINT64_C(1) << (type_info[type].size * 8 - 1);
}

/* ---- signs */

bool avx512_float_copysign(Native *n, const NativeRow *row)
{
    (void) row;
    /* Truth tables of "third ? second : first" and "third ? first : second". */
    enum { SECOND = 0xd8, FIRST = 0xe4 };
    VarType type = native_type(n, 0);
    X86Form form = forms_by_width(n, type, X86_VPTERNLOGD, X86_VPTERNLOGQ);
    uint32_t over = native_merged_over(n, native_dies(n, 1) && !native_dies(n, 0));
    NativeReg other = native_use(n, 1 - over);
    NativeOperand sign = native_const(n, forms_bits(type), sign_bit(type));
    NativeReg to = forms_result_over_merged(n, over, &form);
    forms_rrxi(n, form, to, other, sign, over ? FIRST : SECOND);
    return true;
}

/* ---- smaller and larger */

/* See forms_choose_literal(). */
bool avx512_float_choose(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    X86Form form = row->inst | forms_length(n, type);
    uint32_t over = row->param, other = 1 - over;
    if (forms_choose_literal(n, row))
        return true;
    NativeReg test = native_use(n, other), ordered = native_temp_mask(n);
    NativeReg to = native_result_over(n, over);
    x86_rrri(x86_native(n), forms_by_width(n, type, X86_VCMPPS_K, X86_VCMPPD_K),
             ordered, test, test, X86_CMP_ORD_Q);
    x86_rrr(x86_native(n), form | X86_K(ordered), to, to, test);
    return true;
}

/* A signalling NaN in operand k made quiet: VRANGE of it with itself. */
static NativeReg use_quiet(Native *n, uint32_t k, X86Form form, int32_t imm)
{
    uint64_t magnitude;
    NativeReg a = native_use(n, k);
    if (forms_is_number(n, k, &magnitude))
        return a;
    NativeReg quiet = native_temp(n);
    x86_rrri(x86_native(n), form, quiet, a, a, imm);
    return quiet;
}

/* FMIN and FMAX. */
bool avx512_float_range(Native *n, const NativeRow *row)
{
    X86Form form = row->inst | forms_length(n, native_type(n, 0));
    int32_t imm = (int32_t) row->param;
    NativeReg a = use_quiet(n, 0, form, imm), b = use_quiet(n, 1, form, imm);
    NativeReg to = native_result(n);
    x86_rrri(x86_native(n), form, to, a, b, imm);
    return true;
}

/* ---- comparisons: 'param' is the predicate, 'extra' that of swapped operands */

enum { INVERSE = 4 /* bit of predicates: X86_CMP_..., X86_PCMP_... */ };

bool avx512_float_compare(Native *n, const NativeRow *row)
{
    uint64_t bits;
    bool swap = native_is_literal(n, 0, &bits) ||
                (!native_in_register(n, 0) && native_in_register(n, 1));
    NativeReg a = native_use(n, swap);
    NativeOperand b = native_use_rm(n, !swap);
    int32_t predicate = swap ? row->extra : (int32_t) row->param;
    predicate ^= native_inverts(n) ? INVERSE : 0;
    NativeReg filter, to = native_result_filtered(n, &filter);
    forms_rrxi(n, row->inst | forms_length(n, native_type(n, 0)) | X86_K(filter), to, a,
               b, predicate);
    return true;
}

/* Comparisons with zero need no constant. */
bool avx512_float_compare_integer(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 0);
    uint64_t bits;
    bool is_sign = row->param == X86_PCMP_LT && type_info[type].is_signed;
    bool is_zero = native_is_literal(n, 1, &bits) &&
                   (bits & (UINT64_MAX >> (64 - 8 * type_info[type].size))) == 0;
    if (!is_zero ||
        !(row->param == X86_PCMP_EQ || row->param == X86_PCMP_NE || is_sign))
        return avx512_float_compare(n, row);
    NativeReg a = native_use(n, 0), to = native_result_mask(n, 32);
    X86 *x = x86_native(n);
    if (is_sign)
        x86_rr(x, forms_by_width(n, type, X86_VPMOVD2M, X86_VPMOVQ2M), to, a);
    else if ((row->param == X86_PCMP_EQ) != native_inverts(n))
        x86_rrr(x, forms_by_width(n, type, X86_VPTESTNMD_K, X86_VPTESTNMQ_K), to, a,
                a);
    else
        x86_rrr(x, forms_by_width(n, type, X86_VPTESTMD_K, X86_VPTESTMQ_K), to, a,
                a);
    return true;
}

/* ---- selections */

/* m ? a : 0 is a move that clears the other lanes. */
static void select_or_zero(Native *n, VarType type, uint32_t k)
{
    NativeReg mask = native_use_mask(n, 0, forms_bits(type));
    NativeOperand a = native_use_rm(n, k);
    NativeReg to = native_result(n);
    X86Form move = forms_by_width(n, type, X86_VMOVDQU32, X86_VMOVDQU64);
    X86Form spread = forms_by_width(n, type, X86_VPBROADCASTD, X86_VPBROADCASTQ);
    X86Form form =
        (a.kind == NATIVE_IN_BROADCAST ? spread : move) | X86_K(mask) | X86_Z;
    if (a.kind == NATIVE_IN_REG)
        x86_rr(x86_native(n), form, to, a.reg);
    else
        x86_rm(x86_native(n), form, to, forms_mem(a));
}

/* Operand 'yes' is for the lanes of the mask, 'no' for others. */
bool avx512_float_select(Native *n, const NativeRow *row)
{
    VarType type = native_type(n, 1);
    uint32_t yes = native_is_inverted(n) ? 2 : 1, no = 3 - yes;
    uint64_t bits;
    if (native_is_merged(n, yes)) {
        native_result_same(n, yes);
        return true;
    }
    if (native_is_literal(n, no, &bits) && bits == 0) {
        select_or_zero(n, type, yes);
        return true;
    }
    NativeReg mask = native_use_mask(n, 0, forms_bits(type));
    NativeReg b = native_use(n, no);
    NativeOperand a = native_use_rm(n, yes);
    NativeReg to = native_result(n);
    forms_rrx(n, row->inst | forms_length(n, type) | X86_K(mask), to, b, a);
    return true;
}

/* ---- masks. 'inst' is the instruction for 16 bits, 'extra' the one for 8, which
 * clears the bits above. */

static X86Form mask_form(const Native *n, const NativeRow *row)
{
    return native_lanes(n) == 8 && row->extra ? row->extra : row->inst;
}

bool avx512_float_mask(Native *n, const NativeRow *row)
{
    for (uint32_t k = 0; k < 2; ++k)
        if (native_inst(n)->op == OP_AND && native_is_filtered(n, k)) {
            native_result_same(n, k);
            return true;
        }
    NativeReg a = native_use_mask(n, 0, 32), b = native_use_mask(n, 1, 32);
    NativeReg to = native_result_mask(n, 32);
    x86_rrr(x86_native(n), mask_form(n, row), to, a, b);
    return true;
}

bool avx512_float_mask_not(Native *n, const NativeRow *row)
{
    NativeReg a = native_use_mask(n, 0, 32);
    NativeReg to = native_result_mask(n, 32);
    x86_rr(x86_native(n), mask_form(n, row), to, a);
    return true;
}

bool avx512_float_mask_select(Native *n, const NativeRow *row)
{
    (void) row;
    X86 *x = x86_native(n);
    NativeReg mask = native_use_mask(n, 0, 32);
    NativeReg a = native_use_mask(n, 1, 32), b = native_use_mask(n, 2, 32);
    NativeReg to = native_result_mask(n, 32);
    x86_rrr(x, X86_KANDW, SCRATCH_MASK, mask, a);
    x86_rrr(x, X86_KANDNW, to, mask, b);
    x86_rrr(x, X86_KORW, to, to, SCRATCH_MASK);
    return true;
}

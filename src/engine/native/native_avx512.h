/*
 * native_avx512.h -- what the parts of the AVX-512 target share
 *
 *     native_avx512.c          the table of rows (the hooks: native_avx512_moves.c)
 *     native_avx512_float.c    emit functions: floats, comparisons, selections, masks
 *     native_avx512_integer.c  ... for integers
 *     native_avx512_divide.c   ... for integer division
 *     native_avx512_convert.c  ... for casts, and their table
 *     native_avx512_memory.c   ... for gathers and scatters
 *
 * Values of 8 and 16 bits live in lanes of 32, so a row for them computes in 32 bits
 * and extends the result again, unless the result is extended anyway.
 */
#ifndef ENGINE_NATIVE_NATIVE_AVX512_H
#define ENGINE_NATIVE_NATIVE_AVX512_H

#include "engine/native/forms.h"

/** NativeRow.param of integer rows. */
enum {
    NATIVE_AVX512_WHOLE = 1, /* the instruction cannot broadcast an entry */
    NATIVE_AVX512_EXTEND = 2 /* the result must be extended from its width again */
};

/** Width of the lanes that hold a type: 32 or 64. */
static inline uint32_t native_avx512_bits(VarType type)
{
    return type_info[type].size == 8 ? 64 : 32;
}

/** The instruction for lanes of 32 or of 64 bits, with the length of the type's
 *  vector. */
static inline X86Form native_avx512_form(const Native *n, VarType type, X86Op d,
                                         X86Op q)
{
    X86Op op = type_info[type].size == 8 ? q : d;
    return (X86Form) op | forms_length(n, type);
}

/** Operand k for instructions that cannot broadcast. */
static inline NativeOperand native_avx512_use_whole(Native *n, uint32_t k)
{
    NativeOperand a = native_use_rm(n, k);
    if (a.kind == NATIVE_IN_BROADCAST)
        a = (NativeOperand){ .kind = NATIVE_IN_REG, .reg = native_use(n, k) };
    return a;
}

/** to = the low bits of the 32-bit lanes of 'from', extended as this type wants. */
void native_avx512_extend(Native *n, VarType type, NativeReg to, NativeReg from);

/** to = high halves of a * b + addend, in 64 bits; 'multiply' is VPMULDQ or VPMULUDQ,
 *  'b_odd' has the odd lanes of 'b' in the even ones. */
void native_avx512_high_product(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                                NativeOperand b, NativeOperand b_odd,
                                uint64_t addend);

/** A number of type Float32 or Float64 as an operand to broadcast. */
NativeOperand native_avx512_number(Native *n, VarType type, double value);

#define NATIVE_AVX512_EMIT(name) \
    bool native_avx512_##name(Native *n, const NativeRow *row)

/* native_avx512_float.c */
NATIVE_AVX512_EMIT(float_sign);
NATIVE_AVX512_EMIT(float_copysign);
NATIVE_AVX512_EMIT(float_rcp);
NATIVE_AVX512_EMIT(float_rsqrt);
NATIVE_AVX512_EMIT(float_choose);
NATIVE_AVX512_EMIT(float_range);
NATIVE_AVX512_EMIT(float_compare);
NATIVE_AVX512_EMIT(float_compare_integer);
NATIVE_AVX512_EMIT(float_select);
NATIVE_AVX512_EMIT(float_mask);
NATIVE_AVX512_EMIT(float_mask_not);
NATIVE_AVX512_EMIT(float_mask_select);

/* native_avx512_integer.c */
NATIVE_AVX512_EMIT(integer_unary);
NATIVE_AVX512_EMIT(integer_binary);
NATIVE_AVX512_EMIT(integer_neg);
NATIVE_AVX512_EMIT(integer_not);
NATIVE_AVX512_EMIT(integer_shift);
NATIVE_AVX512_EMIT(integer_fma);
NATIVE_AVX512_EMIT(integer_mul_shift);
NATIVE_AVX512_EMIT(integer_mul_wide);
NATIVE_AVX512_EMIT(integer_mul_hi);
NATIVE_AVX512_EMIT(integer_mul_hi_long);
NATIVE_AVX512_EMIT(integer_popc);
NATIVE_AVX512_EMIT(integer_clz);
NATIVE_AVX512_EMIT(integer_ctz);
NATIVE_AVX512_EMIT(integer_brev);

/* native_avx512_divide.c */
NATIVE_AVX512_EMIT(divide_narrow);
NATIVE_AVX512_EMIT(divide);
NATIVE_AVX512_EMIT(divide_long);

/* native_avx512_convert.c */
NATIVE_AVX512_EMIT(convert_half_fma);

/* native_avx512_memory.c */
NATIVE_AVX512_EMIT(memory_gather);
NATIVE_AVX512_EMIT(memory_gather_narrow);
NATIVE_AVX512_EMIT(memory_scatter);

#undef NATIVE_AVX512_EMIT

#endif

/*
 * avx512.h -- what the parts of the AVX-512 target share
 *
 *     avx512.c          the tables of rows
 *     avx512_moves.c    the hooks
 *     avx512_float.c    emit functions: floats, comparisons, selections, masks
 *     avx512_integer.c  ... for integers
 *     avx512_divide.c   ... for integer division
 *     avx512_convert.c  ... for casts
 *     avx512_memory.c   ... for gathers and scatters
 *     avx512_lookup.c   ... for tables
 *     avx512_local.c    what local arrays need
 */
#ifndef ENGINE_NATIVE_X86_AVX512_AVX512_H
#define ENGINE_NATIVE_X86_AVX512_AVX512_H

#include "engine/native/x86/forms.h"

/** Hooks of the target. */
void avx512_high_product(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                         NativeOperand b, NativeOperand b_odd, uint64_t addend);
void avx512_subtract_negative(Native *n, NativeReg to, NativeReg a, NativeReg b);
extern const NativeRows avx512_rows;
extern const NativeCasts avx512_casts;
extern const FormsTarget avx512_target;
extern const FormsLocal avx512_local;

/* avx512_float.c */
NativeEmit avx512_float_copysign, avx512_float_choose, avx512_float_range,
    avx512_float_compare, avx512_float_compare_integer, avx512_float_select,
    avx512_float_mask, avx512_float_mask_not, avx512_float_mask_select;
/* avx512_integer.c */
NativeEmit avx512_integer_not, avx512_integer_logic, avx512_integer_mul_long,
    avx512_integer_popc, avx512_integer_clz, avx512_integer_ctz, avx512_integer_brev;
/* avx512_divide.c, avx512_memory.c, avx512_lookup.c */
NativeEmit avx512_divide_narrow, avx512_divide, avx512_divide_long,
    avx512_memory_gather, avx512_memory_scatter, avx512_lookup;
/* avx512_convert.c */
NativeEmit avx512_convert_cut_long, avx512_convert_to_mask, avx512_convert_from_mask,
    avx512_convert_double_to_half, avx512_convert_half_fma, avx512_convert_to_unsigned,
    avx512_convert_to_signed;

#endif

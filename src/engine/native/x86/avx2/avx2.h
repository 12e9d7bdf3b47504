/*
 * avx2.h -- what the parts of the AVX2 target share
 *
 *     avx2.c          the tables of rows
 *     avx2_moves.c    the hooks
 *     avx2_float.c    emit functions for floats, selections, masks
 *     avx2_integer.c  ... for integers of up to 32 bits, and comparisons
 *     avx2_long.c     ... for integers of 64 bits
 *     avx2_divide.c   ... for integer division
 *     avx2_convert.c  ... for casts
 *     avx2_memory.c   ... for gathers
 *     avx2_lookup.c   ... for tables
 *     avx2_local.c    what local arrays need
 *
 * Rows that only EVEX can encode must not be used, among them shifts by an immediate of
 * an operand in memory.
 */
#ifndef ENGINE_NATIVE_X86_AVX2_AVX2_H
#define ENGINE_NATIVE_X86_AVX2_AVX2_H

#include "engine/native/x86/forms.h"

/** NativeRow.param of comparisons. */
enum {
    NATIVE_AVX2_SWAP = 1,   /* b > a instead of a > b */
    NATIVE_AVX2_INVERT = 2, /* the opposite of what the instruction says */
    NATIVE_AVX2_FLIP = 4    /* unsigned: flip the top bits first */
};

/** Length of a mask's vector. */
static inline X86Form avx2_mask_length(const Native *n, uint32_t bits)
{
    return X86_LENGTH(bits / 8 * native_lanes(n) >> 5);
}

/** to = number of set bits of each byte. */
void avx2_count_bytes(Native *n, X86Form length, NativeReg to, NativeReg a);

/** to = base - exponent of each 32-bit lane, between 0 and 'most'. With base 158 that
 *  is the number of zeros above the highest one. */
void avx2_leading(Native *n, X86Form length, NativeReg to, NativeReg a, uint32_t base,
                  uint32_t most);

/** to = low halves of the 64-bit lanes of 'from', which is another register. */
void avx2_low_halves(Native *n, NativeReg to, NativeReg from);

/** Hooks of the target. */
void avx2_high_product(Native *n, X86Form multiply, NativeReg to, NativeReg a,
                       NativeOperand b, NativeOperand b_odd, uint64_t addend);
void avx2_subtract_negative(Native *n, NativeReg to, NativeReg a, NativeReg b);
extern const NativeRows avx2_rows;
extern const NativeCasts avx2_casts;
extern const FormsTarget avx2_target;
extern const FormsLocal avx2_local;

/* avx2_float.c */
NativeEmit avx2_float_copysign, avx2_float_choose, avx2_float_range, avx2_float_compare,
    avx2_float_select, avx2_float_mask, avx2_float_mask_not, avx2_float_mask_select;
/* avx2_integer.c */
NativeEmit avx2_integer_compare, avx2_integer_bound, avx2_integer_order,
    avx2_integer_popc, avx2_integer_clz, avx2_integer_ctz, avx2_integer_brev;
/* avx2_long.c */
NativeEmit avx2_long_abs, avx2_long_mul, avx2_long_fma, avx2_long_choose, avx2_long_shr,
    avx2_long_popc, avx2_long_clz, avx2_long_ctz;
/* avx2_divide.c, avx2_memory.c, avx2_lookup.c */
NativeEmit avx2_divide_narrow, avx2_divide, avx2_memory_gather, avx2_memory_gather_long,
    avx2_lookup;
/* avx2_convert.c */
NativeEmit avx2_convert_cut_long, avx2_convert_to_mask, avx2_convert_small_to_mask,
    avx2_convert_float_to_mask, avx2_convert_from_mask, avx2_convert_u32_to_single,
    avx2_convert_u32_to_double, avx2_convert_long_to_double,
    avx2_convert_long_to_single, avx2_convert_u32_to_half, avx2_convert_long_to_half,
    avx2_convert_double_to_half, avx2_convert_to_integer, avx2_convert_single_to_i32,
    avx2_convert_single_to_u32, avx2_convert_double_to_u32, avx2_convert_to_long;

#endif

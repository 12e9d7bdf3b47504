/*
 * avx2.h -- what the parts of the AVX2 target share
 *
 *     avx2.c          the table of rows (the hooks: avx2_moves.c)
 *     avx2_float.c    emit functions for floats, selections, masks
 *     avx2_integer.c  ... for integers of up to 32 bits, and comparisons
 *     avx2_long.c     ... for integers of 64 bits
 *     avx2_divide.c   ... for integer division
 *     avx2_convert.c  ... for casts, and their table
 *     avx2_memory.c   ... for gathers
 *     avx2_lookup.c   ... for tables
 *     avx2_atomic.c   ... for counters and checks
 *     avx2_local.c    ... for local arrays
 *     avx2_packet.c   ... for packets of entries
 *
 * Rows that only EVEX can encode must not be used, among them shifts by an immediate of
 * an operand in memory.
 */
#ifndef ENGINE_NATIVE_AVX2_AVX2_H
#define ENGINE_NATIVE_AVX2_AVX2_H

#include "engine/native/core/forms.h"

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

/** See forms.h. */
FormsHighProduct avx2_high_product;

/** to = number of set bits of each byte. */
void avx2_count_bytes(Native *n, X86Form length, NativeReg to, NativeReg a);

/** to = base - exponent of each 32-bit lane, between 0 and 'most'. With base 158 that
 *  is the number of zeros above the highest one. */
void avx2_leading(Native *n, X86Form length, NativeReg to, NativeReg a,
                         uint32_t base, uint32_t most);

/** to = low halves of the 64-bit lanes of 'from', which is another register. */
void avx2_low_halves(Native *n, NativeReg to, NativeReg from);

#define NATIVE_AVX2_EMIT(name) bool avx2_##name(Native *n, const NativeRow *row)

/* avx2_float.c */
NATIVE_AVX2_EMIT(float_copysign);
NATIVE_AVX2_EMIT(float_choose);
NATIVE_AVX2_EMIT(float_range);
NATIVE_AVX2_EMIT(float_compare);
NATIVE_AVX2_EMIT(float_select);
NATIVE_AVX2_EMIT(float_mask);
NATIVE_AVX2_EMIT(float_mask_not);
NATIVE_AVX2_EMIT(float_mask_select);

/* avx2_integer.c */
NATIVE_AVX2_EMIT(integer_compare);
NATIVE_AVX2_EMIT(integer_bound);
NATIVE_AVX2_EMIT(integer_order);
NATIVE_AVX2_EMIT(integer_shift);
NATIVE_AVX2_EMIT(integer_mul_hi);
NATIVE_AVX2_EMIT(integer_popc);
NATIVE_AVX2_EMIT(integer_clz);
NATIVE_AVX2_EMIT(integer_ctz);
NATIVE_AVX2_EMIT(integer_brev);

/* avx2_long.c */
NATIVE_AVX2_EMIT(long_abs);
NATIVE_AVX2_EMIT(long_mul);
NATIVE_AVX2_EMIT(long_fma);
NATIVE_AVX2_EMIT(long_mul_hi);
NATIVE_AVX2_EMIT(long_choose);
NATIVE_AVX2_EMIT(long_shr);
NATIVE_AVX2_EMIT(long_popc);
NATIVE_AVX2_EMIT(long_clz);
NATIVE_AVX2_EMIT(long_ctz);

/* avx2_divide.c */
NATIVE_AVX2_EMIT(divide_narrow);
NATIVE_AVX2_EMIT(divide);

/* avx2_memory.c */
NATIVE_AVX2_EMIT(memory_gather);
NATIVE_AVX2_EMIT(memory_gather_long);
NATIVE_AVX2_EMIT(memory_gather_narrow);

/* avx2_lookup.c */
NATIVE_AVX2_EMIT(lookup);

/* avx2_atomic.c */
NATIVE_AVX2_EMIT(atomic_increment);
NATIVE_AVX2_EMIT(atomic_check);

/* avx2_local.c */
NATIVE_AVX2_EMIT(local);
NATIVE_AVX2_EMIT(local_read);
NATIVE_AVX2_EMIT(local_write);
NATIVE_AVX2_EMIT(local_move);

/* avx2_packet.c */
NATIVE_AVX2_EMIT(packet_gather);

#undef NATIVE_AVX2_EMIT

#endif

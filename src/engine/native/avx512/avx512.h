/*
 * avx512.h -- what the parts of the AVX-512 target share
 *
 *     avx512.c          the table of rows (the hooks: avx512_moves.c)
 *     avx512_float.c    emit functions: floats, comparisons, selections, masks
 *     avx512_integer.c  ... for integers
 *     avx512_divide.c   ... for integer division
 *     avx512_convert.c  ... for casts, and their table
 *     avx512_memory.c   ... for gathers and scatters
 *     avx512_lookup.c   ... for tables
 *     avx512_atomic.c   ... for counters and checks
 *     avx512_local.c    ... for local arrays
 *     avx512_packet.c   ... for packets of entries
 */
#ifndef ENGINE_NATIVE_AVX512_AVX512_H
#define ENGINE_NATIVE_AVX512_AVX512_H

#include "engine/native/core/forms.h"

/** See forms.h. */
FormsHighProduct avx512_high_product;

#define NATIVE_AVX512_EMIT(name) \
    bool avx512_##name(Native *n, const NativeRow *row)

/* avx512_float.c */
NATIVE_AVX512_EMIT(float_copysign);
NATIVE_AVX512_EMIT(float_choose);
NATIVE_AVX512_EMIT(float_range);
NATIVE_AVX512_EMIT(float_compare);
NATIVE_AVX512_EMIT(float_compare_integer);
NATIVE_AVX512_EMIT(float_select);
NATIVE_AVX512_EMIT(float_mask);
NATIVE_AVX512_EMIT(float_mask_not);
NATIVE_AVX512_EMIT(float_mask_select);

/* avx512_integer.c */
NATIVE_AVX512_EMIT(integer_not);
NATIVE_AVX512_EMIT(integer_logic);
NATIVE_AVX512_EMIT(integer_mul_long);
NATIVE_AVX512_EMIT(integer_shift);
NATIVE_AVX512_EMIT(integer_mul_hi);
NATIVE_AVX512_EMIT(integer_mul_hi_long);
NATIVE_AVX512_EMIT(integer_popc);
NATIVE_AVX512_EMIT(integer_clz);
NATIVE_AVX512_EMIT(integer_ctz);
NATIVE_AVX512_EMIT(integer_brev);

/* avx512_divide.c */
NATIVE_AVX512_EMIT(divide_narrow);
NATIVE_AVX512_EMIT(divide);
NATIVE_AVX512_EMIT(divide_long);

/* avx512_convert.c */
NATIVE_AVX512_EMIT(convert_half_fma);

/* avx512_memory.c */
NATIVE_AVX512_EMIT(memory_gather);
NATIVE_AVX512_EMIT(memory_gather_narrow);
NATIVE_AVX512_EMIT(memory_scatter);

/* avx512_lookup.c */
NATIVE_AVX512_EMIT(lookup);

/* avx512_atomic.c */
NATIVE_AVX512_EMIT(atomic_increment);
NATIVE_AVX512_EMIT(atomic_check);

/* avx512_local.c */
NATIVE_AVX512_EMIT(local);
NATIVE_AVX512_EMIT(local_read);
NATIVE_AVX512_EMIT(local_write);
NATIVE_AVX512_EMIT(local_move);

/* avx512_packet.c */
NATIVE_AVX512_EMIT(packet_gather);

#undef NATIVE_AVX512_EMIT

#endif

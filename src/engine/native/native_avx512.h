/*
 * native_avx512.h -- what the parts of the AVX-512 target share
 *
 *     native_avx512.c          the table of rows (the hooks: native_avx512_moves.c)
 *     native_avx512_float.c    emit functions: floats, comparisons, selections, masks
 *     native_avx512_integer.c  ... for integers
 *     native_avx512_divide.c   ... for integer division
 *     native_avx512_convert.c  ... for casts, and their table
 *     native_avx512_memory.c   ... for gathers and scatters
 *     native_avx512_lookup.c   ... for tables
 *     native_avx512_atomic.c   ... for counters and checks
 *     native_avx512_local.c    ... for local arrays
 *     native_avx512_packet.c   ... for packets of entries
 */
#ifndef ENGINE_NATIVE_NATIVE_AVX512_H
#define ENGINE_NATIVE_NATIVE_AVX512_H

#include "engine/native/forms.h"

/** See forms.h. */
FormsHighProduct native_avx512_high_product;

#define NATIVE_AVX512_EMIT(name) \
    bool native_avx512_##name(Native *n, const NativeRow *row)

/* native_avx512_float.c */
NATIVE_AVX512_EMIT(float_copysign);
NATIVE_AVX512_EMIT(float_choose);
NATIVE_AVX512_EMIT(float_range);
NATIVE_AVX512_EMIT(float_compare);
NATIVE_AVX512_EMIT(float_compare_integer);
NATIVE_AVX512_EMIT(float_select);
NATIVE_AVX512_EMIT(float_mask);
NATIVE_AVX512_EMIT(float_mask_not);
NATIVE_AVX512_EMIT(float_mask_select);

/* native_avx512_integer.c */
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

/* native_avx512_lookup.c */
NATIVE_AVX512_EMIT(lookup);

/* native_avx512_atomic.c */
NATIVE_AVX512_EMIT(atomic_increment);
NATIVE_AVX512_EMIT(atomic_check);

/* native_avx512_local.c */
NATIVE_AVX512_EMIT(local);
NATIVE_AVX512_EMIT(local_read);
NATIVE_AVX512_EMIT(local_write);
NATIVE_AVX512_EMIT(local_move);

/* native_avx512_packet.c */
NATIVE_AVX512_EMIT(packet_gather);

#undef NATIVE_AVX512_EMIT

#endif

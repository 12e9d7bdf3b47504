/*
 * reduce_lanes.c -- inner loops of the block primitives
 *
 * This file is compiled once for each instruction set with -DREDUCE_ISA=<name> and
 * gives one table, reduce_lanes_<name>; isa_choice.c chooses among them. The
 * loops are plain C for the vectoriser (-O3), except for scans, which use vectors of
 * the compiler, and for the compaction of masks. Floating point is never
 * contracted or reassociated, so every instruction set gives the same bits.
 *
 * reduce_lanes_core.inc has the loops on accumulators; here are the conversions
 * between entries and accumulators, dot products, masks and the tables.
 */
#include "device/cpu/loops/reduce_lanes.h"

#include <math.h>
#include <string.h>

#include "lanes/lanes_half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define CONCAT_(a, b) a##b
#define CONCAT(a, b) CONCAT_(a, b)
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Lanes of 16, 32 and 64 bits in a vector of scans: at most a group. Most shuffles of
 * AVX2 stay within 16 bytes, so that wider vectors are for AVX-512 only. */
#if defined(__AVX512BW__)
#define LANES_16 16
#define LANES_32 16
#define LANES_64 8
#else
#define LANES_16 8
#define LANES_32 4
#define LANES_64 2
#endif

#if defined(__AVX512BW__)
#define WIDE_BYTES 64
#elif defined(__AVX2__)
#define WIDE_BYTES 32
#else
#define WIDE_BYTES 16
#endif
#define UNROLL _Pragma("GCC unroll 16")

typedef uint8_t VecU8 __attribute__((vector_size(16)));
typedef int8_t VecI8 __attribute__((vector_size(16)));
typedef uint16_t VecU16 __attribute__((vector_size(2 * LANES_16)));
typedef int16_t VecI16 __attribute__((vector_size(2 * LANES_16)));
typedef uint32_t VecU32 __attribute__((vector_size(4 * LANES_32)));
typedef int32_t VecI32 __attribute__((vector_size(4 * LANES_32)));
typedef uint64_t VecU64 __attribute__((vector_size(8 * LANES_64)));
typedef int64_t VecI64 __attribute__((vector_size(8 * LANES_64)));
typedef float VecF32 __attribute__((vector_size(4 * LANES_32)));
typedef double VecF64 __attribute__((vector_size(8 * LANES_64)));

/* SHIFT_<h>_<lanes>(x, n): lanes whose number has bit h set get the last lane of the h
 * lanes before their group of h; the others get the neutral element. */
#define SHUFFLE __builtin_shufflevector
#define SHIFT_1_2(x, n) SHUFFLE(x, n, 2, 0)
#define SHIFT_1_4(x, n) SHUFFLE(x, n, 4, 0, 4, 2)
#define SHIFT_2_4(x, n) SHUFFLE(x, n, 4, 4, 1, 1)
#define SHIFT_1_8(x, n) SHUFFLE(x, n, 8, 0, 8, 2, 8, 4, 8, 6)
#define SHIFT_2_8(x, n) SHUFFLE(x, n, 8, 8, 1, 1, 8, 8, 5, 5)
#define SHIFT_4_8(x, n) SHUFFLE(x, n, 8, 8, 8, 8, 3, 3, 3, 3)
#define SHIFT_1_16(x, n) \
    SHUFFLE(x, n, 16, 0, 16, 2, 16, 4, 16, 6, 16, 8, 16, 10, 16, 12, 16, 14)
#define SHIFT_2_16(x, n) \
    SHUFFLE(x, n, 16, 16, 1, 1, 16, 16, 5, 5, 16, 16, 9, 9, 16, 16, 13, 13)
#define SHIFT_4_16(x, n) \
    SHUFFLE(x, n, 16, 16, 16, 16, 3, 3, 3, 3, 16, 16, 16, 16, 11, 11, 11, 11)
#define SHIFT_8_16(x, n) \
    SHUFFLE(x, n, 16, 16, 16, 16, 16, 16, 16, 16, 7, 7, 7, 7, 7, 7, 7, 7)
/* BEHIND_<lanes>(a, b): the last lane of a, then b without its last lane. */
#define BEHIND_2(a, b) SHUFFLE(a, b, 1, 2)
#define BEHIND_4(a, b) SHUFFLE(a, b, 3, 4, 5, 6)
#define BEHIND_8(a, b) SHUFFLE(a, b, 7, 8, 9, 10, 11, 12, 13, 14)
#define BEHIND_16(a, b) \
    SHUFFLE(a, b, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30)
#define LAST_2(x) SHUFFLE(x, x, 1, 1)
#define LAST_4(x) SHUFFLE(x, x, 3, 3, 3, 3)
#define LAST_8(x) SHUFFLE(x, x, 7, 7, 7, 7, 7, 7, 7, 7)
#define LAST_16(x) \
    SHUFFLE(x, x, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15)

/* ------------------------------------------------------------ past the cache */

#if defined(__x86_64__)

/* 16, 32 or 64 bytes, aligned to as many, by the widest stores there are. */
static ALWAYS_INLINE void stream_bytes(char *to, const char *from, size_t size)
{
    size_t j = 0;
#if defined(__AVX512F__)
    for (; j + 64 <= size; j += 64)
        _mm512_stream_si512((void *) (to + j), _mm512_loadu_si512(from + j));
#endif
#if defined(__AVX2__)
    for (; j + 32 <= size; j += 32)
        _mm256_stream_si256((void *) (to + j),
                            _mm256_loadu_si256((const void *) (from + j)));
#endif
    for (; j < size; j += 16)
        _mm_stream_si128((void *) (to + j), _mm_loadu_si128((const void *) (from + j)));
}

static void copy_stream(void *out, const void *in, size_t size)
{
    char *to = out;
    const char *from = in;
    size_t head = -(uintptr_t) to % 64; /* up to the first whole cache line */
    head = head < size ? head : size;
    memcpy(to, from, head);
    size_t i = head;
    for (; i + 64 <= size; i += 64)
        stream_bytes(to + i, from + i, 64);
    memcpy(to + i, from + i, size - i);
}

static void end_stream(void)
{
    _mm_sfence();
}

#else

static ALWAYS_INLINE void stream_bytes(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
}

static void copy_stream(void *out, const void *in, size_t size)
{
    memcpy(out, in, size);
}

static void end_stream(void)
{
}

#endif

/* The order of summation, see the head of reduce.c. LANES_RUN rows are added up before
 * they go to the totals, which keeps rounding errors small. FOLD_PART goes on with
 * 'total' and 'part', FOLD_BODY does all of it. Used with 'in', 'count', 'out' and
 * 'op'. */
#define FOLD_PART(name, load)                                               \
    while (count > 0) {                                                     \
        size_t rows = count / row < LANES_RUN ? count / row : LANES_RUN;    \
        for (size_t j = 0; j < row; ++j)                                    \
            part[j] = CONCAT(neutral_, name)(op);                           \
        for (size_t i = 0; i < rows; ++i, in += row)                        \
            for (size_t j = 0; j < row; ++j)                                \
                part[j] = CONCAT(combine_, name)(op, part[j], load(in[j])); \
        count -= rows * row;                                                \
        if (rows < LANES_RUN) {                                             \
            for (size_t j = 0; j < count; ++j)                              \
                part[j] = CONCAT(combine_, name)(op, part[j], load(in[j])); \
            count = 0;                                                      \
        }                                                                   \
        for (size_t j = 0; j < row; ++j)                                    \
            total[j] = CONCAT(combine_, name)(op, total[j], part[j]);       \
    }
#define FOLD_BODY(acc, name, load)               \
    enum { row = LANES_TOTALS / sizeof(acc) };   \
    acc total[row], part[row];                   \
    for (size_t j = 0; j < row; ++j)             \
        total[j] = CONCAT(neutral_, name)(op);   \
    FOLD_PART(name, load)                        \
    *out = CONCAT(tree_, name)(op, total);
/* With the totals in memory, before and after. */
#define FOLD_ON(acc, name, load)               \
    enum { row = LANES_TOTALS / sizeof(acc) }; \
    acc total[row], part[row];                 \
    memcpy(total, totals, sizeof total);       \
    FOLD_PART(name, load)                      \
    memcpy(totals, total, sizeof total);

#define LOAD_SAME(x) (x)

#define ACC uint8_t
#define NAME u8
#define VECTOR VecU8
#define PER_VECTOR 16
#define IS_FLOAT 0
#define ALL_OPS 1
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC uint16_t
#define NAME u16
#define VECTOR VecU16
#define PER_VECTOR LANES_16
#define IS_FLOAT 0
#define ALL_OPS 1
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC uint32_t
#define NAME u32
#define VECTOR VecU32
#define PER_VECTOR LANES_32
#define IS_FLOAT 0
#define ALL_OPS 1
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC uint64_t
#define NAME u64
#define VECTOR VecU64
#define PER_VECTOR LANES_64
#define IS_FLOAT 0
#define ALL_OPS 1
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC int8_t
#define NAME i8
#define VECTOR VecI8
#define PER_VECTOR 16
#define IS_FLOAT 0
#define ALL_OPS 0
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC int16_t
#define NAME i16
#define VECTOR VecI16
#define PER_VECTOR LANES_16
#define IS_FLOAT 0
#define ALL_OPS 0
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC int32_t
#define NAME i32
#define VECTOR VecI32
#define PER_VECTOR LANES_32
#define IS_FLOAT 0
#define ALL_OPS 0
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC int64_t
#define NAME i64
#define VECTOR VecI64
#define PER_VECTOR LANES_64
#define IS_FLOAT 0
#define ALL_OPS 0
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC float
#define NAME f32
#define VECTOR VecF32
#define PER_VECTOR LANES_32
#define IS_FLOAT 1
#define ALL_OPS 1
#include "device/cpu/loops/reduce_lanes_core.inc"

#define ACC double
#define NAME f64
#define VECTOR VecF64
#define PER_VECTOR LANES_64
#define IS_FLOAT 1
#define ALL_OPS 1
#include "device/cpu/loops/reduce_lanes_core.inc"

/* ------------------------------------------------------------- conversions */

/* Keys of floats: the bits as a signed integer, negative numbers with all other bits
 * inverted. NaNs all become the one quiet NaN that sorts last: the positive one for
 * Min, the negative one for Max. The same map leads back. */
#define KEYS(bits, unsigned_type, signed_type, infinity, quiet)                      \
    static ALWAYS_INLINE signed_type key_turn_##bits(unsigned_type b)                \
    {                                                                                \
        signed_type k = (signed_type) b;                                             \
        return (signed_type) (k ^ (k < 0 ? (signed_type) INT##bits##_MAX : 0));      \
    }                                                                                \
    static ALWAYS_INLINE signed_type key_min_##bits(unsigned_type b)                 \
    {                                                                                \
        signed_type magnitude = (signed_type) (b & INT##bits##_MAX);                 \
        return magnitude > (infinity) ? (signed_type) (quiet) : key_turn_##bits(b);  \
    }                                                                                \
    static ALWAYS_INLINE signed_type key_max_##bits(unsigned_type b)                 \
    {                                                                                \
        signed_type magnitude = (signed_type) (b & INT##bits##_MAX);                 \
        return magnitude > (infinity) ? (signed_type) ~(quiet) : key_turn_##bits(b); \
    }                                                                                \
    static ALWAYS_INLINE unsigned_type key_store_##bits(signed_type k)               \
    {                                                                                \
        return (unsigned_type) key_turn_##bits((unsigned_type) k);                   \
    }

KEYS(16, uint16_t, int16_t, 0x7c00, 0x7e00)
KEYS(32, uint32_t, int32_t, 0x7f800000, 0x7fc00000)
KEYS(64, uint64_t, int64_t, INT64_C(0x7ff0000000000000), INT64_C(0x7ff8000000000000))

#define CONVERSIONS(name, entry, acc, convert_in, convert_out)                         \
    static ALWAYS_INLINE void load_row_##name(const entry *in, size_t count,           \
                                              bool reverse, acc *out)                  \
    {                                                                                  \
        if (reverse)                                                                   \
            for (size_t i = 0; i < count; ++i)                                         \
                out[i] = convert_in(in[count - 1 - i]);                                \
        else                                                                           \
            for (size_t i = 0; i < count; ++i)                                         \
                out[i] = convert_in(in[i]);                                            \
    }                                                                                  \
    static ALWAYS_INLINE void store_row_##name(const acc *in, size_t count,            \
                                               bool reverse, entry *out)               \
    {                                                                                  \
        if (reverse)                                                                   \
            for (size_t i = 0; i < count; ++i)                                         \
                out[count - 1 - i] = convert_out(in[i]);                               \
        else                                                                           \
            for (size_t i = 0; i < count; ++i)                                         \
                out[i] = convert_out(in[i]);                                           \
    }                                                                                  \
    static void load_##name(const LaneKernel *k, const void *restrict from,            \
                            size_t block, size_t stride, size_t rows, bool reverse,    \
                            void *restrict to)                                         \
    {                                                                                  \
        const entry *in = from;                                                        \
        acc *out = to, neutral;                                                        \
        if (block == stride) {                                                         \
            load_row_##name(in, block *rows, reverse, out);                            \
            return;                                                                    \
        }                                                                              \
        memcpy(&neutral, &k->neutral, sizeof neutral);                                 \
        for (; rows > 0; --rows, in += block, out += stride) {                         \
            load_row_##name(in, block, reverse, out);                                  \
            for (size_t i = block; i < stride; ++i)                                    \
                out[i] = neutral;                                                      \
        }                                                                              \
    }                                                                                  \
    static void store_##name(const void *in, size_t block, size_t stride, size_t rows, \
                             bool reverse, void *out)                                  \
    {                                                                                  \
        const acc *restrict source = in;                                               \
        entry *restrict target = out;                                                  \
        if (block == stride) {                                                         \
            store_row_##name(source, block *rows, reverse, target);                    \
            return;                                                                    \
        }                                                                              \
        for (; rows > 0; --rows, target += block, source += stride)                    \
            store_row_##name(source, block, reverse, target);                          \
    }

#define SAME(x) (x)
CONVERSIONS(u8, uint8_t, uint8_t, SAME, SAME)
CONVERSIONS(u16, uint16_t, uint16_t, SAME, SAME)
CONVERSIONS(u32, uint32_t, uint32_t, SAME, SAME)
CONVERSIONS(u64, uint64_t, uint64_t, SAME, SAME)
CONVERSIONS(half, uint16_t, float, half_load, half_store)
CONVERSIONS(min16, uint16_t, int16_t, key_min_16, key_store_16)
CONVERSIONS(min32, uint32_t, int32_t, key_min_32, key_store_32)
CONVERSIONS(min64, uint64_t, int64_t, key_min_64, key_store_64)
CONVERSIONS(max16, uint16_t, int16_t, key_max_16, key_store_16)
CONVERSIONS(max32, uint32_t, int32_t, key_max_32, key_store_32)
CONVERSIONS(max64, uint64_t, int64_t, key_max_64, key_store_64)

/* ------------------------------------------------------------------ kernels */

/* A kernel: operation 'op' on entries with conversion 'conversion' to accumulators
 * 'core'. */
#define KERNEL_TABLE(op, core, conversion, entry, acc, fold, more, merge,          \
                     neutral_bits, is_direct)                                      \
    static const LaneKernel op##_##core##_##conversion = {                         \
        &op##_core_##core, fold,              more,                                \
        merge,             load_##conversion, store_##conversion,                  \
        neutral_bits,      sizeof(entry),     sizeof(acc),                         \
        is_direct,                                                                 \
    };

/* Entries that are their own accumulators, moved as integers of their size. */
#define DIRECT(op, core, bits, neutral_bits)                                          \
    KERNEL_TABLE(op, core, u##bits, uint##bits##_t, uint##bits##_t, op##_fold_##core, \
                 op##_part_##core, op##_merge_##core, neutral_bits, true)

#define CONVERTED(op, core, conversion, entry, acc, convert_in, neutral_bits)          \
    static void op##_chunk_##conversion(const void *start, size_t count, void *result) \
    {                                                                                  \
        const ReduceOp op_ = ReduceOp##op;                                             \
        fold_##conversion##_##core(op_, start, count, result);                         \
    }                                                                                  \
    static void op##_part_##conversion(const void *start, size_t count, void *totals)  \
    {                                                                                  \
        const ReduceOp op_ = ReduceOp##op;                                             \
        part_##conversion##_##core(op_, start, count, totals);                         \
    }                                                                                  \
    static void op##_merge_##conversion(void *restrict to, const void *restrict from,  \
                                        size_t stride, size_t count, size_t rows)      \
    {                                                                                  \
        acc *into = to;                                                                \
        const entry *in = from;                                                        \
        for (; rows > 0; --rows, into += count, in += stride)                          \
            for (size_t i = 0; i < count; ++i)                                         \
                into[i] = combine_##core(ReduceOp##op, into[i], convert_in(in[i]));    \
    }                                                                                  \
    KERNEL_TABLE(op, core, conversion, entry, acc, op##_chunk_##conversion,            \
                 op##_part_##conversion, op##_merge_##conversion, neutral_bits, false)

#define CONVERTED_FOLD(core, conversion, entry, acc, convert_in)                       \
    static ALWAYS_INLINE void fold_##conversion##_##core(ReduceOp op, const entry *in, \
                                                         size_t count, acc *out)       \
    {                                                                                  \
        FOLD_BODY(acc, core, convert_in)                                               \
    }                                                                                  \
    static ALWAYS_INLINE void part_##conversion##_##core(ReduceOp op, const entry *in, \
                                                         size_t count, void *totals)   \
    {                                                                                  \
        FOLD_ON(acc, core, convert_in)                                                 \
    }

#define ZERO_MINUS_32 UINT32_C(0x80000000)
#define ZERO_MINUS_64 UINT64_C(0x8000000000000000)

#define INTEGERS(bits)                           \
    DIRECT(Add, u##bits, bits, 0)                \
    DIRECT(Mul, u##bits, bits, 1)                \
    DIRECT(And, u##bits, bits, UINT##bits##_MAX) \
    DIRECT(Or, u##bits, bits, 0)                 \
    DIRECT(Min, u##bits, bits, UINT##bits##_MAX) \
    DIRECT(Max, u##bits, bits, 0)                \
    DIRECT(Min, i##bits, bits, INT##bits##_MAX)  \
    DIRECT(Max, i##bits, bits, (uint##bits##_t) INT##bits##_MIN)

INTEGERS(8)
INTEGERS(16)
INTEGERS(32)
INTEGERS(64)
DIRECT(Add, f32, 32, ZERO_MINUS_32)
DIRECT(Mul, f32, 32, UINT32_C(0x3f800000))
DIRECT(Add, f64, 64, ZERO_MINUS_64)
DIRECT(Mul, f64, 64, UINT64_C(0x3ff0000000000000))

CONVERTED_FOLD(f32, half, uint16_t, float, half_load)
CONVERTED_FOLD(i16, min16, uint16_t, int16_t, key_min_16)
CONVERTED_FOLD(i32, min32, uint32_t, int32_t, key_min_32)
CONVERTED_FOLD(i64, min64, uint64_t, int64_t, key_min_64)
CONVERTED_FOLD(i16, max16, uint16_t, int16_t, key_max_16)
CONVERTED_FOLD(i32, max32, uint32_t, int32_t, key_max_32)
CONVERTED_FOLD(i64, max64, uint64_t, int64_t, key_max_64)

CONVERTED(Add, f32, half, uint16_t, float, half_load, ZERO_MINUS_32)
CONVERTED(Mul, f32, half, uint16_t, float, half_load, UINT32_C(0x3f800000))

/* Neutral keys are the ends of the range, beyond the key of NaN: combined with
 * anything, they disappear, and every result has at least one entry. */
#define KEYED(bits)                                                                   \
    CONVERTED(Min, i##bits, min##bits, uint##bits##_t, int##bits##_t, key_min_##bits, \
              INT##bits##_MAX)                                                        \
    CONVERTED(Max, i##bits, max##bits, uint##bits##_t, int##bits##_t, key_max_##bits, \
              (uint##bits##_t) INT##bits##_MIN)

KEYED(16)
KEYED(32)
KEYED(64)

/* ------------------------------------------------------------- dot products */

#if defined(__FMA__)
#define FMA_F32 __builtin_fmaf
#define FMA_F64 __builtin_fma
#else
#define FMA_F32 fmaf
#define FMA_F64 fma
#endif

/* FOLD_ON with two inputs; a scalar operand becomes a row that is used again and
 * again. */
#define DOT(name, core, entry, acc, convert_in, fma_function)                       \
    static void dot_part_##name(const void *a_start, bool a_scalar,                 \
                                const void *b_start, bool b_scalar, size_t count,   \
                                void *totals)                                       \
    {                                                                               \
        enum { row = LANES_TOTALS / sizeof(acc) };                                  \
        const entry *a = a_start, *b = b_start;                                     \
        size_t a_stride = a_scalar ? 0 : row, b_stride = b_scalar ? 0 : row;        \
        entry a_row[row], b_row[row];                                               \
        acc total[row], part[row];                                                  \
        memcpy(total, totals, sizeof total);                                        \
        for (size_t j = 0; j < row; ++j) {                                          \
            a_row[j] = a[0];                                                        \
            b_row[j] = b[0];                                                        \
        }                                                                           \
        a = a_scalar ? a_row : a;                                                   \
        b = b_scalar ? b_row : b;                                                   \
        while (count > 0) {                                                         \
            size_t rows = count / row < LANES_RUN ? count / row : LANES_RUN;        \
            for (size_t j = 0; j < row; ++j)                                        \
                part[j] = (acc) -0.0;                                               \
            for (size_t i = 0; i < rows; ++i, a += a_stride, b += b_stride)         \
                for (size_t j = 0; j < row; ++j)                                    \
                    part[j] =                                                       \
                        fma_function(convert_in(a[j]), convert_in(b[j]), part[j]);  \
            count -= rows * row;                                                    \
            if (rows < LANES_RUN) {                                                 \
                for (size_t j = 0; j < count; ++j)                                  \
                    part[j] =                                                       \
                        fma_function(convert_in(a[j]), convert_in(b[j]), part[j]);  \
                count = 0;                                                          \
            }                                                                       \
            for (size_t j = 0; j < row; ++j)                                        \
                total[j] += part[j];                                                \
        }                                                                           \
        memcpy(totals, total, sizeof total);                                        \
    }                                                                               \
    static void dot_##name(const void *a, bool a_scalar, const void *b,             \
                           bool b_scalar, size_t count, void *out)                  \
    {                                                                               \
        acc total[LANES_TOTALS / sizeof(acc)];                                      \
        for (size_t j = 0; j < LANES_TOTALS / sizeof(acc); ++j)                     \
            total[j] = (acc) -0.0;                                                  \
        dot_part_##name(a, a_scalar, b, b_scalar, count, total);                    \
        *(acc *) out = tree_##core(ReduceOpAdd, total);                             \
    }

DOT(half, f32, uint16_t, float, half_load, FMA_F32)
DOT(f32, f32, float, float, SAME, FMA_F32)
DOT(f64, f64, double, double, SAME, FMA_F64)

/* -------------------------------------------------------------------- masks */

static size_t count_mask(const uint8_t *mask, size_t count)
{
    size_t total = 0;
    while (count > 0) {
        /* Counts of at most 255 rows fit into bytes. */
        uint8_t part[64] = { 0 };
        size_t rows = count / 64 < 255 ? count / 64 : 255;
        for (size_t i = 0; i < rows; ++i, mask += 64)
            for (size_t j = 0; j < 64; ++j)
                part[j] = (uint8_t) (part[j] + (mask[j] != 0));
        for (size_t j = 0; j < 64; ++j)
            total += part[j];
        count -= rows * 64;
        if (rows < 255) {
            for (size_t j = 0; j < count; ++j)
                total += mask[j] != 0;
            count = 0;
        }
    }
    return total;
}

/* Other threads write right behind out[found - 1], so nothing may be stored there. */
static void write_mask(const uint8_t *mask, size_t count, uint32_t first, size_t found,
                       uint32_t *out)
{
    size_t i = 0, done = 0;
#if defined(__AVX512F__)
    __m512i position = _mm512_add_epi32(
        _mm512_set1_epi32((int) first),
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    for (; i + 16 <= count && done + 16 <= found; i += 16) {
        __m128i bytes = _mm_loadu_si128((const void *) (mask + i));
        __mmask16 set = _mm_test_epi8_mask(bytes, bytes);
        _mm512_storeu_si512(out + done, _mm512_maskz_compress_epi32(set, position));
        position = _mm512_add_epi32(position, _mm512_set1_epi32(16));
        done += (size_t) __builtin_popcount(set);
    }
#endif
    for (; done < found && i < count; ++i) {
        out[done] = first + (uint32_t) i;
        done += mask[i] != 0;
    }
}

/* ------------------------------------------------------------------- tables */

#ifndef REDUCE_ISA
#error "REDUCE_ISA must be baseline, avx2 or avx512"
#endif

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

#define INTEGER_ROW(op, u, i, bits)                 \
    [VarTypeInt##bits] = &op##_##i##bits##_u##bits, \
    [VarTypeUInt##bits] = &op##_##u##bits##_u##bits

#define INTEGER_ROWS(op, u, i)                                                      \
    INTEGER_ROW(op, u, i, 8), INTEGER_ROW(op, u, i, 16), INTEGER_ROW(op, u, i, 32), \
        INTEGER_ROW(op, u, i, 64)

extern const Lanes CONCAT(reduce_lanes_, REDUCE_ISA);
const Lanes CONCAT(reduce_lanes_, REDUCE_ISA) = {
    .isa = TEXT(REDUCE_ISA),
    .kernel = {
        [ReduceOpAdd] = { INTEGER_ROWS(Add, u, u), [VarTypeFloat16] = &Add_f32_half,
                          [VarTypeFloat32] = &Add_f32_u32,
                          [VarTypeFloat64] = &Add_f64_u64 },
        [ReduceOpMul] = { INTEGER_ROWS(Mul, u, u), [VarTypeFloat16] = &Mul_f32_half,
                          [VarTypeFloat32] = &Mul_f32_u32,
                          [VarTypeFloat64] = &Mul_f64_u64 },
        [ReduceOpMin] = { INTEGER_ROWS(Min, u, i), [VarTypeFloat16] = &Min_i16_min16,
                          [VarTypeFloat32] = &Min_i32_min32,
                          [VarTypeFloat64] = &Min_i64_min64 },
        [ReduceOpMax] = { INTEGER_ROWS(Max, u, i), [VarTypeFloat16] = &Max_i16_max16,
                          [VarTypeFloat32] = &Max_i32_max32,
                          [VarTypeFloat64] = &Max_i64_max64 },
        [ReduceOpAnd] = { INTEGER_ROWS(And, u, u), [VarTypeBool] = &And_u8_u8 },
        [ReduceOpOr] = { INTEGER_ROWS(Or, u, u), [VarTypeBool] = &Or_u8_u8 },
    },
    .dot = {
        [VarTypeFloat16] = { dot_half, dot_part_half, &Add_f32_half },
        [VarTypeFloat32] = { dot_f32, dot_part_f32, &Add_f32_u32 },
        [VarTypeFloat64] = { dot_f64, dot_part_f64, &Add_f64_u64 },
    },
    .mask_count = count_mask,
    .mask_write = write_mask,
    .stream = copy_stream,
    .stream_end = end_stream,
};

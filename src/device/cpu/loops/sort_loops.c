/*
 * sort_loops.c -- see sort_loops.h
 *
 * The loops move entries to computed places, so vectors would not help: plain C,
 * compiled once. Tables of 2048 counters and as many open cache lines fit the second
 * cache; fewer buckets would need another pass over memory.
 */
#include "device/cpu/loops/sort_loops.h"

#include <string.h>

#include "ir/type.h"

enum { RUN = 8 /* pairs sorted by insertion before merging begins */ };

static inline unsigned digit_of(uint64_t key, unsigned shift)
{
    return (unsigned) (key >> shift) & (SORT_BUCKETS - 1);
}

/* ---- keys */

#define INTEGER_KEY(U)                          \
    static inline U key_##U(const U *x, U flip) \
    {                                           \
        return (U) (*x ^ flip);                 \
    }
INTEGER_KEY(uint8_t)
INTEGER_KEY(uint16_t)
INTEGER_KEY(uint32_t)
INTEGER_KEY(uint64_t)

/* 'infinity': its bits */
#define FLOAT_KEY(F, U, infinity)                                   \
    static inline U key_##F(const U *x, U flip)                     \
    {                                                               \
        const U sign = (U) ~((U) -1 >> 1), size = (U) (*x & ~sign); \
        U key = (U) (*x & sign ? sign - size : sign + size);        \
        if (size > (infinity))                                      \
            key = (U) -1;                                           \
        return (U) (key ^ flip);                                    \
    }
FLOAT_KEY(f16, uint16_t, 0x7c00)
FLOAT_KEY(f32, uint32_t, 0x7f800000)
FLOAT_KEY(f64, uint64_t, UINT64_C(0x7ff0000000000000))

static inline uint32_t key_pair(const SortPair *x, uint32_t flip)
{
    (void) flip;
    return x->key;
}

static inline uint64_t key_wide(const SortPairWide *x, uint64_t flip)
{
    (void) flip;
    return x->key;
}

/* ---- loops */

#define DIGITS_OF(U) ((sizeof(U) * 8 + SORT_BITS - 1) / SORT_BITS)

/* T: entry, U: key */
#define LOOPS_BASIC(name, T, U)                                                        \
    static void count_##name(const void *in, size_t count, uint64_t flip,              \
                             unsigned shift, uint32_t *table)                          \
    {                                                                                  \
        const T *x = in;                                                               \
        for (size_t i = 0; i < count; ++i)                                             \
            ++table[digit_of(key_##name(x + i, (U) flip), shift)];                     \
    }                                                                                  \
    static void move_##name(const void *in, size_t count, uint64_t flip,               \
                            unsigned shift, uint32_t *table, void *out)                \
    {                                                                                  \
        const T *x = in;                                                               \
        for (size_t i = 0; i < count; ++i)                                             \
            ((T *) out)[table[digit_of(key_##name(x + i, (U) flip), shift)]++] = x[i]; \
    }

#define LOOPS_ENTRY(name, T, Pair, pair_loops)                                         \
    LOOPS_BASIC(name, T, T)                                                            \
    static void count_all_##name(const void *in, size_t count, uint64_t flip,          \
                                 uint32_t *tables)                                     \
    {                                                                                  \
        const T *x = in;                                                               \
        for (size_t i = 0; i < count; ++i) {                                           \
            const T key = key_##name(x + i, (T) flip);                                 \
            for (unsigned digit = 0; digit < DIGITS_OF(T); ++digit)                    \
                ++tables[digit * SORT_BUCKETS + digit_of(key, digit * SORT_BITS)];     \
        }                                                                              \
    }                                                                                  \
    static void pair_##name(const void *in, uint32_t first, size_t count,              \
                            uint64_t flip, unsigned shift, uint32_t *table, void *out) \
    {                                                                                  \
        const T *x = in;                                                               \
        for (size_t i = 0; i < count; ++i) {                                           \
            const T key = key_##name(x + i, (T) flip);                                 \
            ((Pair *) out)[table[digit_of(key, shift)]++] =                            \
                (Pair){ key, first + (uint32_t) i };                                   \
        }                                                                              \
    }                                                                                  \
    static void index_##name(const void *in, uint32_t first, size_t count,             \
                             uint64_t flip, unsigned shift, uint32_t *table,           \
                             void *out)                                                \
    {                                                                                  \
        const T *x = in;                                                               \
        for (size_t i = 0; i < count; ++i) {                                           \
            const T key = key_##name(x + i, (T) flip);                                 \
            ((uint32_t *) out)[table[digit_of(key, shift)]++] = first + (uint32_t) i;  \
        }                                                                              \
    }                                                                                  \
    static void load_##name(const void *in, uint32_t first, size_t count,              \
                            uint64_t flip, SortPairWide *out)                          \
    {                                                                                  \
        const T *x = in;                                                               \
        for (size_t i = 0; i < count; ++i)                                             \
            out[i] =                                                                   \
                (SortPairWide){ key_##name(x + i, (T) flip), first + (uint32_t) i };   \
    }                                                                                  \
    static const SortLoops loops_##name = { .count_all = count_all_##name,             \
                                            .count = count_##name,                     \
                                            .move = move_##name,                       \
                                            .pair = pair_##name,                       \
                                            .index = index_##name,                     \
                                            .load = load_##name,                       \
                                            .pairs = &pair_loops,                      \
                                            .size = sizeof(T),                         \
                                            .pair_size = sizeof(Pair),                 \
                                            .digits = DIGITS_OF(T) };

#define LOOPS_PAIR(name, Pair, U)                                                \
    LOOPS_BASIC(name, Pair, U)                                                   \
    static void index_##name(const void *in, uint32_t first, size_t count,       \
                             uint64_t flip, unsigned shift, uint32_t *table,     \
                             void *out)                                          \
    {                                                                            \
        (void) first;                                                            \
        (void) flip;                                                             \
        const Pair *x = in;                                                      \
        for (size_t i = 0; i < count; ++i)                                       \
            ((uint32_t *) out)[table[digit_of(x[i].key, shift)]++] = x[i].index; \
    }                                                                            \
    static const SortLoops loops_##name = { .count = count_##name,               \
                                            .move = move_##name,                 \
                                            .index = index_##name,               \
                                            .size = sizeof(Pair),                \
                                            .digits = DIGITS_OF(U) };

LOOPS_PAIR(pair, SortPair, uint32_t)
LOOPS_PAIR(wide, SortPairWide, uint64_t)
LOOPS_ENTRY(uint8_t, uint8_t, SortPair, loops_pair)
LOOPS_ENTRY(uint16_t, uint16_t, SortPair, loops_pair)
LOOPS_ENTRY(uint32_t, uint32_t, SortPair, loops_pair)
LOOPS_ENTRY(uint64_t, uint64_t, SortPairWide, loops_wide)
LOOPS_ENTRY(f16, uint16_t, SortPair, loops_pair)
LOOPS_ENTRY(f32, uint32_t, SortPair, loops_pair)
LOOPS_ENTRY(f64, uint64_t, SortPairWide, loops_wide)

const SortLoops *sort_loops_get(VarType type)
{
    static const SortLoops *const loops[VarTypeCount] = {
        [VarTypeBool] = &loops_uint8_t,    [VarTypeInt8] = &loops_uint8_t,
        [VarTypeUInt8] = &loops_uint8_t,   [VarTypeInt16] = &loops_uint16_t,
        [VarTypeUInt16] = &loops_uint16_t, [VarTypeInt32] = &loops_uint32_t,
        [VarTypeUInt32] = &loops_uint32_t, [VarTypeInt64] = &loops_uint64_t,
        [VarTypeUInt64] = &loops_uint64_t, [VarTypeFloat16] = &loops_f16,
        [VarTypeFloat32] = &loops_f32,     [VarTypeFloat64] = &loops_f64
    };
    return (unsigned) type < VarTypeCount ? loops[type] : NULL;
}

uint64_t sort_loops_flip(VarType type, bool descending)
{
    uint64_t flip = descending ? UINT64_MAX : 0;
    if (type_info[type].is_integer && type_info[type].is_signed)
        flip ^= UINT64_C(1) << (type_info[type].size * 8 - 1);
    return flip;
}

/* ---- few pairs */

static void insert_runs(SortPairWide *pairs, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const SortPairWide pair = pairs[i];
        size_t at = i;
        for (; at % RUN && pairs[at - 1].key > pair.key; --at)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

/* Of equal keys, those of 'a' come first. */
static void merge_runs(const SortPairWide *a, size_t a_count, const SortPairWide *b,
                       size_t b_count, SortPairWide *out)
{
    const SortPairWide *a_end = a + a_count, *b_end = b + b_count;
    while (a < a_end && b < b_end) {
        bool second = b->key < a->key;
        *out++ = *(second ? b : a);
        b += second;
        a += !second;
    }
    memcpy(out, a, (size_t) (a_end - a) * sizeof *out);
    out += a_end - a;
    memcpy(out, b, (size_t) (b_end - b) * sizeof *out);
}

SortPairWide *sort_loops_merge(SortPairWide *pairs, SortPairWide *other, size_t count)
{
    insert_runs(pairs, count);
    for (size_t run = RUN; run < count; run *= 2) {
        for (size_t i = 0; i < count; i += 2 * run) {
            size_t left = count - i, a = left < run ? left : run;
            size_t b = left - a < run ? left - a : run;
            merge_runs(pairs + i, a, pairs + i + a, b, other + i);
        }
        SortPairWide *swap = pairs;
        pairs = other;
        other = swap;
    }
    return pairs;
}

/*
 * lanes_memory.h -- lane loops that touch arrays
 *
 * Part of lanes.c. These loops stop at the exact number of lanes, and a lane
 * that is masked off reads or writes nothing, whatever its index is. Scatters run over
 * arrays much larger than the caches, where the time goes into waiting for memory: the
 * targets of lanes some way ahead are prefetched. Atomic operations need no order among
 * themselves (relaxed): what a kernel wrote is seen by others through the streams' own
 * synchronisation.
 */
#ifndef LANES_LANES_MEMORY_H
#define LANES_LANES_MEMORY_H

#include <stdbool.h>

#include "lanes/lanes.h"
#include "lanes/lanes_ops.h"

enum { AHEAD = 24 /* lanes between prefetch and use */ };

/* ---- gather and plain scatter, by entry size */

/* Lanes that take part do 'put' with entry to[index[i]] and value[i]. */
#define DEFINE_SCATTER(name, T, put)                                   \
    static const LaneStep *name(const LaneStep *s, const LaneFrame *f) \
    {                                                                  \
        T *to = *(T *const *) f->regs[s->out];                         \
        const T *value = f->regs[s->arg[0]];                           \
        const u32 *index = f->regs[s->arg[1]];                         \
        const u8 *mask = f->regs[s->arg[2]];                           \
        for (u32 i = 0, count = f->count; i < count; ++i) {            \
            if (i + AHEAD < count)                                     \
                __builtin_prefetch(to + index[i + AHEAD], 1);          \
            if (mask[i])                                               \
                put;                                                   \
        }                                                              \
        NEXT(s, f);                                                    \
    }

#define DEFINE_MOVES(U)                                                                \
    static const LaneStep *gather_##U(const LaneStep *s, const LaneFrame *f)           \
    {                                                                                  \
        U *restrict out = f->regs[s->out];                                             \
        const U *from = *(const U *const *) f->regs[s->arg[0]];                        \
        const u32 *restrict index = f->regs[s->arg[1]];                                \
        const u8 *restrict mask = f->regs[s->arg[2]];                                  \
        static const U zero = 0;                                                       \
        for (u32 i = 0; i < f->count; ++i)                                             \
            out[i] = *(mask[i] ? from + index[i] : &zero);                             \
        NEXT(s, f);                                                                    \
    }                                                                                  \
    static const LaneStep *gather_all_##U(const LaneStep *s, const LaneFrame *f)       \
    {                                                                                  \
        U *restrict out = f->regs[s->out];                                             \
        const U *from = *(const U *const *) f->regs[s->arg[0]];                        \
        const u32 *restrict index = f->regs[s->arg[1]];                                \
        const u32 count = f->count;                                                    \
        for (u32 i = 0; i < count; ++i)                                                \
            out[i] = from[index[i]];                                                   \
        NEXT(s, f);                                                                    \
    }                                                                                  \
    DEFINE_SCATTER(scatter_##U, U, to[index[i]] = value[i])                            \
    static const LaneStep *exchange_##U(const LaneStep *s, const LaneFrame *f)         \
    {                                                                                  \
        U *out = f->regs[s->out], *to = *(U *const *) f->regs[s->arg[0]];              \
        const U *value = f->regs[s->arg[1]];                                           \
        const u32 *index = f->regs[f->extra[s->arg[2]]];                               \
        const u8 *mask = f->regs[f->extra[s->arg[2] + 1]];                             \
        for (u32 i = 0; i < f->count; ++i)                                             \
            out[i] = mask[i] ? __atomic_exchange_n(to + index[i], value[i],            \
                                                   __ATOMIC_RELAXED)                   \
                             : 0;                                                      \
        NEXT(s, f);                                                                    \
    }                                                                                  \
    static const LaneStep *compare_exchange_##U(const LaneStep *s, const LaneFrame *f) \
    {                                                                                  \
        U *out = f->regs[s->out], *to = *(U *const *) f->regs[s->arg[0]];              \
        const U *value = f->regs[s->arg[1]];                                           \
        const u32 *index = f->regs[f->extra[s->arg[2]]];                               \
        const u8 *mask = f->regs[f->extra[s->arg[2] + 1]];                             \
        const U *compare = f->regs[f->extra[s->arg[2] + 2]];                           \
        for (u32 i = 0; i < f->count; ++i) {                                           \
            U found = mask[i] ? compare[i] : 0;                                        \
            if (mask[i])                                                               \
                __atomic_compare_exchange_n(to + index[i], &found, value[i], false,    \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED);       \
            out[i] = found;                                                            \
        }                                                                              \
        NEXT(s, f);                                                                    \
    }
DEFINE_MOVES(u8)
DEFINE_MOVES(u16)
DEFINE_MOVES(u32)
DEFINE_MOVES(u64)

/* ---- reductions into memory: target = op(target, value) */

/* 'update' is one atomic operation on entry 'p' with value 'v' of type T, done on its
 * bits of type U; it may return what was there. The loops for distinct targets, for
 * any, and for runs of equal ones. */
#define DEFINE_REDUCE(op, T, U)                                                       \
    static inline T update_##op##_##T(T *p, T v)                                      \
    {                                                                                 \
        U found = __atomic_load_n((U *) (void *) p, __ATOMIC_RELAXED);                \
        U wanted;                                                                     \
        T old;                                                                        \
        do {                                                                          \
            memcpy(&old, &found, sizeof old);                                         \
            T result = op##_##T(old, v);                                              \
            memcpy(&wanted, &result, sizeof wanted);                                  \
        } while (!__atomic_compare_exchange_n((U *) (void *) p, &found, wanted, true, \
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED));   \
        return old;                                                                   \
    }                                                                                 \
    DEFINE_REDUCE_LOOPS(op, T)

#define DEFINE_REDUCE_FETCH(op, T, fetch)           \
    static inline void update_##op##_##T(T *p, T v) \
    {                                               \
        fetch(p, v, __ATOMIC_RELAXED);              \
    }                                               \
    DEFINE_REDUCE_LOOPS(op, T)

#define DEFINE_REDUCE_LOOPS(op, T)                                                  \
    DEFINE_SCATTER(plain_##op##_##T, T,                                             \
                   to[index[i]] = op##_##T(to[index[i]], value[i]))                 \
    DEFINE_SCATTER(atomic_##op##_##T, T,                                            \
                   update_##op##_##T(to + index[i], value[i]))                      \
    static const LaneStep *runs_##op##_##T(const LaneStep *s, const LaneFrame *f)   \
    {                                                                               \
        T *to = *(T *const *) f->regs[s->out];                                      \
        const T *value = f->regs[s->arg[0]];                                        \
        const u32 *index = f->regs[s->arg[1]];                                      \
        const u8 *mask = f->regs[s->arg[2]];                                        \
        const u32 count = f->count;                                                 \
        for (u32 i = 0; i < count;) {                                               \
            if (i + AHEAD < count)                                                  \
                __builtin_prefetch(to + index[i + AHEAD], 1);                       \
            u32 first = i++;                                                        \
            if (!mask[first])                                                       \
                continue;                                                           \
            T sum = value[first];                                                   \
            for (; i < count && mask[i] && index[i] == index[first]; ++i)           \
                sum = op##_##T(sum, value[i]);                                      \
            update_##op##_##T(to + index[first], sum);                              \
        }                                                                           \
        NEXT(s, f);                                                                 \
    }

#define DEFINE_REDUCE_INTEGER(U, S)                 \
    DEFINE_REDUCE_FETCH(add, U, __atomic_fetch_add) \
    DEFINE_REDUCE_FETCH(and, U, __atomic_fetch_and) \
    DEFINE_REDUCE_FETCH(or, U, __atomic_fetch_or)   \
    DEFINE_REDUCE(mul, U, U)                        \
    DEFINE_REDUCE(min, U, U)                        \
    DEFINE_REDUCE(max, U, U)                        \
    DEFINE_REDUCE(min, S, U)                        \
    DEFINE_REDUCE(max, S, U)
DEFINE_REDUCE_INTEGER(u8, i8)
DEFINE_REDUCE_INTEGER(u16, i16)
DEFINE_REDUCE_INTEGER(u32, i32)
DEFINE_REDUCE_INTEGER(u64, i64)

/* Additions that tell what they found. */
#define DEFINE_FETCH_ADD(F)                                                     \
    static const LaneStep *fetch_add_##F(const LaneStep *s, const LaneFrame *f) \
    {                                                                           \
        F *out = f->regs[s->out], *to = *(F *const *) f->regs[s->arg[0]];       \
        const F *value = f->regs[s->arg[1]];                                    \
        const u32 *index = f->regs[f->extra[s->arg[2]]];                        \
        const u8 *mask = f->regs[f->extra[s->arg[2] + 1]];                      \
        for (u32 i = 0; i < f->count; ++i)                                      \
            out[i] = mask[i] ? update_add_##F(to + index[i], value[i]) : 0;     \
        NEXT(s, f);                                                             \
    }

/* A type of its own keeps f16 apart from u16 in function names. */
#define DEFINE_REDUCE_FLOAT(F, U) \
    DEFINE_REDUCE(add, F, U)      \
    DEFINE_REDUCE(mul, F, U)      \
    DEFINE_REDUCE(fmin, F, U)     \
    DEFINE_REDUCE(fmax, F, U)     \
    DEFINE_FETCH_ADD(F)
DEFINE_REDUCE_FLOAT(f16, u16)
DEFINE_REDUCE_FLOAT(f32, u32)
DEFINE_REDUCE_FLOAT(f64, u64)

/* ---- counters and checks */

/* Neighbours with the same target share one atomic operation: all lanes counting in one
 * place is the usual case. */
static const LaneStep *increment(const LaneStep *s, const LaneFrame *f)
{
    u32 *out = f->regs[s->out], *to = *(u32 *const *) f->regs[s->arg[0]];
    const u32 *index = f->regs[s->arg[1]];
    const u8 *mask = f->regs[s->arg[2]];
    for (u32 i = 0; i < f->count;) {
        if (!mask[i]) {
            out[i++] = 0;
            continue;
        }
        u32 end = i + 1;
        while (end < f->count && mask[end] && index[end] == index[i])
            ++end;
        u32 next = __atomic_fetch_add(to + index[i], end - i, __ATOMIC_RELAXED);
        while (i < end)
            out[i++] = next++;
    }
    NEXT(s, f);
}

static const LaneStep *check(const LaneStep *s, const LaneFrame *f)
{
    u8 *restrict out = f->regs[s->out];
    const u8 *restrict mask = f->regs[s->arg[0]];
    const u32 *restrict index = f->regs[s->arg[1]];
    CheckReport *report = f->reports + s->arg[2];
    const u64 bound = report->bound;
    const u32 top = bound > UINT32_MAX ? UINT32_MAX : (u32) bound;
    const bool none = bound > UINT32_MAX;
    u32 failed = 0, where = 0;
    for (u32 i = 0; i < f->count; ++i) {
        u8 inside = none | (index[i] < top), wrong = mask[i] & !inside;
        out[i] = mask[i] & inside;
        failed += wrong;
        where = wrong ? index[i] : where;
    }
    if (failed) {
        __atomic_fetch_add(&report->count, failed, __ATOMIC_RELAXED);
        __atomic_store_n(&report->index, where, __ATOMIC_RELAXED);
    }
    NEXT(s, f);
}

#endif

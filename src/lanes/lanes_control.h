/*
 * lanes_control.h -- lane loops of control flow, local arrays and prints
 *
 * Part of lanes.c. Lanes in excess of 'count' may hold anything, also in masks:
 * code that asks whether a lane is active looks at 'count' lanes exactly, or a loop
 * might never end.
 */
#ifndef LANES_LANES_CONTROL_H
#define LANES_LANES_CONTROL_H

#include <stdbool.h>

#include "lanes/lanes.h"
#include "lanes/lanes_loops.h"
#include "lanes/lanes_ops.h"

/* ---- masks */

static inline bool any_lane(const u8 *mask, u32 count)
{
    const size_t end = whole_groups(count);
    u8 found = 0;
    for (size_t i = 0; i < end; ++i)
        found |= mask[i];
    for (size_t i = end; i < count; ++i)
        found |= mask[i];
    return found != 0;
}

static const LaneStep *without(const LaneStep *s, const LaneFrame *f)
{
    u8 *restrict out = f->regs[s->out];
    const u8 *restrict a = f->regs[s->arg[0]];
    const u8 *restrict b = f->regs[s->arg[1]];
    const size_t end = whole_groups(f->lanes);
    FOR_LANES(i, end, out[i] = a[i] & (b[i] ^ 1);)
    NEXT(s, f);
}

static const LaneStep *match(const LaneStep *s, const LaneFrame *f)
{
    u8 *restrict out = f->regs[s->out];
    const u8 *restrict mask = f->regs[s->arg[0]];
    const u32 *restrict number = f->regs[s->arg[1]];
    const u32 wanted = s->arg[2];
    const size_t end = whole_groups(f->lanes);
    FOR_LANES(i, end, out[i] = mask[i] & (u8) (number[i] == wanted);)
    NEXT(s, f);
}

static const LaneStep *narrow(const LaneStep *s, const LaneFrame *f)
{
    u8 *restrict active = f->regs[s->out];
    const u8 *restrict test = f->regs[s->arg[0]];
    const size_t end = whole_groups(f->lanes);
    FOR_LANES(i, end, active[i] &= test[i];)
    if (!any_lane(active, f->count))
        return s + s->arg[1];
    NEXT(s, f);
}

static const LaneStep *skip(const LaneStep *s, const LaneFrame *f)
{
    if (!any_lane(f->regs[s->arg[0]], f->count))
        return s + s->arg[1];
    NEXT(s, f);
}

/* ---- blends and local arrays, by entry size */

/* Entry k of an array is a row of 'lanes' values. A move may have one array twice. */
#define DEFINE_CONTROL(U)                                                             \
    static const LaneStep *blend_##U(const LaneStep *s, const LaneFrame *f)           \
    {                                                                                 \
        U *restrict out = f->regs[s->out];                                            \
        const U *restrict a = f->regs[s->arg[0]];                                     \
        const u8 *restrict mask = f->regs[s->arg[1]];                                 \
        const size_t end = whole_groups(f->lanes);                                    \
        FOR_LANES(i, end, out[i] = mask[i] ? a[i] : out[i];)                          \
        NEXT(s, f);                                                                   \
    }                                                                                 \
    static const LaneStep *local_fill_##U(const LaneStep *s, const LaneFrame *f)      \
    {                                                                                 \
        U *restrict row = f->regs[s->out];                                            \
        const U *restrict value = f->regs[s->arg[0]];                                 \
        const size_t end = whole_groups(f->lanes);                                    \
        for (u32 k = s->arg[1]; k > 0; --k, row += f->lanes)                          \
            FOR_LANES(i, end, row[i] = value[i];)                                     \
        NEXT(s, f);                                                                   \
    }                                                                                 \
    static const LaneStep *local_read_##U(const LaneStep *s, const LaneFrame *f)      \
    {                                                                                 \
        U *restrict out = f->regs[s->out];                                            \
        const U *restrict array = f->regs[s->arg[0]];                                 \
        const u32 *restrict index = f->regs[s->arg[1]];                               \
        const u8 *restrict mask = f->regs[f->extra[s->arg[2]]];                       \
        const u32 entries = f->extra[s->arg[2] + 1];                                  \
        const size_t lanes = f->lanes;                                                \
        for (u32 i = 0; i < f->count; ++i)                                            \
            out[i] = mask[i] && index[i] < entries ? array[index[i] * lanes + i] : 0; \
        NEXT(s, f);                                                                   \
    }                                                                                 \
    static const LaneStep *local_write_##U(const LaneStep *s, const LaneFrame *f)     \
    {                                                                                 \
        U *restrict array = f->regs[s->out];                                          \
        const U *restrict value = f->regs[s->arg[0]];                                 \
        const u32 *restrict index = f->regs[s->arg[1]];                               \
        const u8 *restrict mask = f->regs[f->extra[s->arg[2]]];                       \
        const u32 entries = f->extra[s->arg[2] + 1];                                  \
        const size_t lanes = f->lanes;                                                \
        for (u32 i = 0; i < f->count; ++i)                                            \
            if (mask[i] && index[i] < entries)                                        \
                array[index[i] * lanes + i] = value[i];                               \
        NEXT(s, f);                                                                   \
    }                                                                                 \
    static const LaneStep *local_move_##U(const LaneStep *s, const LaneFrame *f)      \
    {                                                                                 \
        U *row = f->regs[s->out];                                                     \
        const U *from = f->regs[s->arg[0]];                                           \
        const u8 *mask = f->regs[s->arg[1]];                                          \
        const size_t end = whole_groups(f->lanes);                                    \
        for (u32 k = s->arg[2]; k > 0; --k, row += f->lanes, from += f->lanes)        \
            FOR_LANES(i, end, row[i] = mask[i] ? from[i] : row[i];)                   \
        NEXT(s, f);                                                                   \
    }
DEFINE_CONTROL(u8)
DEFINE_CONTROL(u16)
DEFINE_CONTROL(u32)
DEFINE_CONTROL(u64)

/* ---- prints */

static const LaneStep *print(const LaneStep *s, const LaneFrame *f)
{
    const u8 *mask = f->regs[s->arg[0]];
    const u32 *values = f->extra + s->arg[1];
    for (u32 i = 0; i < s->arg[2]; ++i)
        f->values[i] = f->regs[values[i]];
    if (any_lane(mask, f->count))
        f->log->append(f->log, s->out, f->begin, f->count, mask, f->values);
    NEXT(s, f);
}

#endif
